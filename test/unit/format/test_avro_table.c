// Avro files as table data: all kinds of columns, read by id into other types and shapes than they were written with, by name, and in
// small batches. Files are written here with the container writer; what is expected is what was written.
#include "leak_check.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "data/value.h"
#include "format/avro/avro.h"
#include "format/avro/avro_table.h"

static const char schema_json[] =
    "{\"type\":\"record\",\"name\":\"row\",\"fields\":["
    "{\"name\":\"id\",\"type\":\"int\",\"field-id\":1},"
    "{\"name\":\"gone\",\"type\":[\"string\",\"null\",\"int\"],\"field-id\":20},"
    "{\"name\":\"s\",\"type\":[\"string\",\"null\"],\"field-id\":2},"
    "{\"name\":\"n\",\"type\":[\"null\",{\"type\":\"record\",\"name\":\"n\",\"fields\":["
    "  {\"name\":\"b\",\"type\":\"float\",\"field-id\":4},"
    "  {\"name\":\"old\",\"type\":{\"type\":\"fixed\",\"name\":\"f3\",\"size\":3},\"field-id\":21},"
    "  {\"name\":\"a\",\"type\":[\"null\",\"long\"],\"field-id\":5}]}],\"field-id\":3},"
    "{\"name\":\"l\",\"type\":{\"type\":\"array\",\"items\":[\"null\",\"int\"],\"element-id\":7},\"field-id\":6},"
    "{\"name\":\"m\",\"type\":{\"type\":\"map\",\"values\":\"double\",\"key-id\":9,\"value-id\":10},\"field-id\":8},"
    "{\"name\":\"p\",\"type\":{\"type\":\"array\",\"logicalType\":\"map\",\"items\":{\"type\":\"record\",\"name\":"
    "\"k11_v12\","
    "  \"fields\":[{\"name\":\"key\",\"type\":\"int\",\"field-id\":12},"
    "  {\"name\":\"value\",\"type\":\"boolean\",\"field-id\":13}]}},\"field-id\":11},"
    "{\"name\":\"dec\",\"type\":{\"type\":\"bytes\",\"logicalType\":\"decimal\",\"precision\":9,\"scale\":2},\"field-"
    "id\":14},"
    "{\"name\":\"u\",\"type\":{\"type\":\"fixed\",\"name\":\"uu\",\"size\":16,\"logicalType\":\"uuid\"},\"field-id\":"
    "15},"
    "{\"name\":\"ts\",\"type\":{\"type\":\"long\",\"logicalType\":\"timestamp-nanos\",\"adjust-to-utc\":false},\"field-"
    "id\":16},"
    "{\"name\":\"d\",\"type\":{\"type\":\"int\",\"logicalType\":\"date\"},\"field-id\":17},"
    "{\"name\":\"e\",\"type\":{\"type\":\"enum\",\"name\":\"ee\",\"symbols\":[\"RED\",\"GREEN\"]},\"field-id\":18}]}";

enum { ROWS = 5000 };

// Row i: s NULL every third; n NULL every fourth, its a NULL every second; l has i % 4 elements, the second NULL.
static void write_file(struct fz_store *store, const char *place, enum fz_avro_codec codec) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_avro_writer *w;
    struct fz_buf out = {0};
    char text[64];
    FZ_OK_OR_FAIL(fz_avro_writer_open(schema_json, codec, -1, &w, &err), &err);
    for (int64_t i = 0; i < ROWS; i++) {
        fz_avro_put_long(w, i);
        fz_avro_put_long(w, i % 3);
        if (i % 3 == 0) {
            fz_avro_put_bytes(w, "x", 1);
        } else if (i % 3 == 2) {
            fz_avro_put_long(w, 7);
        }
        fz_avro_put_long(w, i % 3 == 0);
        if (i % 3 != 0) {
            int n = snprintf(text, sizeof text, "text number %lld", (long long)i);
            fz_avro_put_bytes(w, text, (size_t)n);
        }
        fz_avro_put_long(w, i % 4 != 0);
        if (i % 4 != 0) {
            fz_avro_put_float(w, (float)i / 2);
            fz_avro_put_raw(w, "abc", 3);
            fz_avro_put_long(w, i % 2);
            if (i % 2) {
                fz_avro_put_long(w, -i);
            }
        }
        if (i % 4 > 0) {
            fz_avro_put_long(w, i % 4);
            for (int64_t k = 0; k < i % 4; k++) {
                fz_avro_put_long(w, k != 1);
                if (k != 1) {
                    fz_avro_put_long(w, i + k);
                }
            }
        }
        fz_avro_put_long(w, 0);
        fz_avro_put_long(w, 1);
        fz_avro_put_bytes(w, "key", 3);
        fz_avro_put_double(w, (double)i * 1.5);
        fz_avro_put_long(w, 0);
        fz_avro_put_long(w, 2);
        for (int64_t k = 0; k < 2; k++) {
            fz_avro_put_long(w, i + k);
            fz_avro_put_boolean(w, k == 1);
        }
        fz_avro_put_long(w, 0);
        uint8_t decimal[4] = {(uint8_t)((uint64_t)-i >> 24), (uint8_t)((uint64_t)-i >> 16),
                              (uint8_t)((uint64_t)-i >> 8), (uint8_t)-i};
        fz_avro_put_bytes(w, decimal, 4);
        uint8_t uuid[16] = {0x80, [14] = (uint8_t)(i >> 8), [15] = (uint8_t)i};
        fz_avro_put_raw(w, uuid, 16);
        fz_avro_put_long(w, -1 - i * 1000);
        fz_avro_put_long(w, i - 100);
        fz_avro_put_long(w, i % 2);
        FZ_OK_OR_FAIL(fz_avro_writer_end_record(w, &err), &err);
    }
    FZ_OK_OR_FAIL(fz_avro_writer_close(w, &out, &err), &err);
    FZ_OK_OR_FAIL(fz_store_put(store, place, out.ptr, out.len, false, &err), &err);
    fz_buf_dispose(&out);
}

static void print_row(struct fz_buf *out, const struct fz_batch *batch, const struct fz_field *fields, size_t row) {
    struct fz_arena arena = {0};
    for (size_t c = 0; c < batch->n_columns; c++) {
        struct fz_value v = fz_value_at(&batch->columns[c], row, &arena);
        v.type = fields[c].type;
        fz_buf_puts(out, c > 0 ? "|" : "");
        if (v.is_null) {
            fz_buf_puts(out, "NULL");
        } else {
            fz_value_print(out, &v);
        }
    }
    fz_arena_dispose(&arena);
}

static void expect_row(struct fz_buf *out, int64_t i) {
    fz_buf_clear(out);
    fz_buf_printf(out, "%lld|", (long long)i);
    fz_buf_printf(out, i % 3 != 0 ? "text number %lld|" : "NULL|", (long long)i);
    if (i % 4 == 0) {
        fz_buf_puts(out, "NULL|[");
    } else {
        fz_buf_printf(out, i % 2 ? "{\"a\":%lld,\"new\":5," : "{\"a\":null,\"new\":5,", (long long)-i);
        fz_buf_printf(out, "\"b\":%.1f}|[", (double)i / 2);
    }
    for (int64_t k = 0; k < i % 4; k++) {
        fz_buf_puts(out, k > 0 ? "," : "");
        fz_buf_printf(out, k == 1 ? "null" : "%lld", (long long)(i + k));
    }
    char first[32], second[32]; // shown in the order of their texts
    snprintf(first, sizeof first, "\"%lld\":false", (long long)i);
    snprintf(second, sizeof second, "\"%lld\":true", (long long)i + 1);
    bool swap = strcmp(first, second) > 0;
    fz_buf_printf(out, "]|{\"key\":%.1f}|{%s,%s}|", (double)i * 1.5, swap ? second : first, swap ? first : second);
    fz_buf_printf(out, "%s%lld.%02lld|", i > 0 ? "-" : "", (long long)(i / 100), (long long)(i % 100));
    fz_buf_printf(out, "80000000-0000-0000-0000-00000000%04llx|", (long long)i);
    int64_t us = -1 - i; // -1 - i * 1000 nanoseconds, rounded down
    fz_buf_printf(out, "1969-12-31 23:59:59.%06lld", (long long)(1000000 + us));
    while (out->ptr[out->len - 1] == '0') {
        out->ptr[--out->len] = 0;
    }
    fz_buf_putc(out, '|');
    fz_format_timestamp(out, (i - 100) * INT64_C(86400000000), ' ');
    fz_buf_printf(out, "|%s|NULL|seven", i % 2 ? "GREEN" : "RED");
}

static void read_and_compare(struct fz_store *store, const char *place, bool by_name, size_t batch_rows) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_avro_file *file;
    struct fz_avro_table_reader *reader;
    struct fz_batch batch;
    struct fz_buf have = {0}, want = {0};
    const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG), *dbl = fz_type_primitive(FZ_TYPE_DOUBLE),
                         *str = fz_type_primitive(FZ_TYPE_STRING), *ts = fz_type_primitive(FZ_TYPE_TIMESTAMP);
    struct fz_value five = {.type = lng, .u.i64 = 5}, seven = {.type = str, .u.bytes = FZ_STR_LIT("seven")};
    const struct fz_field inner[] = {{.id = 5, .name = "a", .type = lng},
                                     {.id = 30, .name = "new", .type = lng, .initial_default = &five},
                                     {.id = 4, .name = "b", .type = dbl}}; // float to double
    const struct fz_field fields[] = {
        {.id = 1, .name = "id", .type = lng}, // int to long
        {.id = 2, .name = "s", .type = str},
        {.id = 3, .name = "n", .type = fz_type_struct(&arena, inner, 3)},
        {.id = 6, .name = "l", .type = fz_type_list(&arena, 7, false, lng)},
        {.id = 8, .name = "m", .type = fz_type_map(&arena, 9, str, 10, true, dbl)},
        {.id = 11, .name = "p", .type = fz_type_map(&arena, 12, lng, 13, true, fz_type_primitive(FZ_TYPE_BOOLEAN))},
        {.id = 14, .name = "dec", .type = fz_type_decimal(&arena, 20, 2)},
        {.id = 15, .name = "u", .type = fz_type_primitive(FZ_TYPE_UUID)},
        {.id = 16, .name = "ts", .type = ts}, // rounded down
        {.id = 17, .name = "d", .type = ts}, // date to timestamp
        {.id = 18, .name = "e", .type = str},
        {.id = 31, .name = "absent", .type = str},
        {.id = 32, .name = "absent2", .type = str, .initial_default = &seven},
    };
    enum { N = sizeof fields / sizeof fields[0] };
    FZ_OK_OR_FAIL(fz_avro_file_open(store, place, -1, NULL, &file, &err), &err);
    assert_true(fz_avro_file_has_ids(file));
    assert_true(fz_avro_file_has_field(file, 18) && !fz_avro_file_has_field(file, 31));
    FZ_OK_OR_FAIL(fz_batch_init(&batch, fields, N, FZ_BATCH_ROWS, &err), &err);
    FZ_OK_OR_FAIL(fz_avro_table_reader_open(file, fields, N, by_name, NULL, &reader, &err), &err);
    int64_t rows = 0, first = -1;
    for (;;) {
        FZ_OK_OR_FAIL(fz_avro_table_reader_next(reader, &batch, batch_rows, &first, &err), &err);
        if (batch.n_rows == 0) {
            break;
        }
        assert_int_equal(first, rows);
        for (size_t i = 0; i < batch.n_rows; i++, rows++) {
            expect_row(&want, rows);
            fz_buf_clear(&have);
            print_row(&have, &batch, fields, i);
            assert_string_equal(have.ptr, want.ptr);
        }
    }
    assert_int_equal(rows, ROWS);
    fz_avro_table_reader_close(reader);
    fz_avro_file_unref(file);
    fz_batch_dispose(&batch);
    fz_buf_dispose(&have);
    fz_buf_dispose(&want);
    fz_arena_dispose(&arena);
}

static void every_kind_in_every_codec(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store;
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    static const enum fz_avro_codec codecs[] = {FZ_AVRO_NULL, FZ_AVRO_DEFLATE, FZ_AVRO_SNAPPY, FZ_AVRO_ZSTD};
    for (size_t i = 0; i < 4; i++) {
        char place[64];
        snprintf(place, sizeof place, "memory://avro/%zu.avro", i);
        write_file(store, place, codecs[i]);
        read_and_compare(store, place, false, FZ_BATCH_ROWS);
        read_and_compare(store, place, true, 17);
    }
    fz_store_unref(store);
}

static void what_does_not_fit_is_refused(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store;
    struct fz_avro_file *file;
    struct fz_avro_table_reader *reader = NULL;
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    write_file(store, "memory://avro/x.avro", FZ_AVRO_ZSTD);
    FZ_OK_OR_FAIL(fz_avro_file_open(store, "memory://avro/x.avro", -1, NULL, &file, &err), &err);
    static const struct {
        int32_t id;
        enum fz_type_id type;
    } wrong[] = {{1, FZ_TYPE_STRING}, {2, FZ_TYPE_LONG}, {3, FZ_TYPE_LONG}, {6, FZ_TYPE_INT}, {15, FZ_TYPE_LONG}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct fz_field field = {.id = wrong[i].id, .name = "c", .type = fz_type_primitive(wrong[i].type)};
        struct fz_err why = FZ_ERR_INIT;
        assert_int_equal(fz_avro_table_reader_open(file, &field, 1, false, NULL, &reader, &why), FZ_SCHEMA_MISMATCH);
        assert_non_null(strstr(why.message, "cannot be read as"));
    }
    fz_avro_file_unref(file);
    FZ_OK_OR_FAIL(fz_store_put(store, "memory://avro/y.avro", "Obj\001\002", 5, false, &err), &err);
    assert_int_equal(fz_avro_file_open(store, "memory://avro/y.avro", -1, NULL, &file, &err), FZ_CORRUPT);
    fz_store_unref(store);
}

static enum fz_code read_all(struct fz_store *store, const char *path, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf bytes = {0};
    struct fz_avro_reader *reader = NULL;
    bool more = true;
    FZ_TRY(fz_store_read_all(store, path, 64 << 20, &bytes, err));
    FZ_TRY(fz_avro_reader_open(bytes.ptr, bytes.len, &reader, err));
    for (;;) {
        FZ_TRY(fz_avro_reader_next(reader, &more, err));
        if (!more) {
            break;
        }
        FZ_TRY(fz_avro_skip(reader, fz_avro_reader_schema(reader), err));
    }
out:
    fz_avro_reader_close(reader);
    fz_buf_dispose(&bytes);
    return rc;
}

// The damaged containers of the shared data that two readers refuse.
static void damaged_files_are_refused(void **state) {
    (void)state;
    const char *env = getenv("FRAZIL_SHARED_DATA"), *folder = env != NULL ? env : FZ_SOURCE_DIR "/../shared/data";
    char path[2048], *line = NULL;
    size_t cap = 0;
    int files = 0;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store;
    snprintf(path, sizeof path, "%s/bad/expect.jsonl", folder);
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        print_message("no %s: skipped\n", path);
        skip();
    }
    FZ_OK_OR_FAIL(fz_store_local_new(&store, &err), &err);
    while (getline(&line, &cap, in) > 0) {
        json_error_t je;
        json_t *entry = json_loads(line, 0, &je);
        const char *name = json_string_value(json_object_get(entry, "file"));
        if (strncmp(name, "avro/", 5) == 0) {
            struct fz_err why = FZ_ERR_INIT;
            snprintf(path, sizeof path, "%s/bad/%s", folder, name);
            enum fz_code rc = read_all(store, path, &why);
            bool must_fail = strcmp(json_string_value(json_object_get(entry, "expect")), "error") == 0;
            print_message("%s: %s %s\n", name, fz_code_name(rc), why.message);
            assert_true(rc != FZ_OK || !must_fail);
            files++;
        }
        json_decref(entry);
    }
    free(line);
    fclose(in);
    fz_store_unref(store);
    print_message("%d damaged files\n", files);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(every_kind_in_every_codec), FZ_TEST(what_does_not_fit_is_refused),
                                       FZ_TEST(damaged_files_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
