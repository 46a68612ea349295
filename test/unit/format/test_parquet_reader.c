// The Parquet reader on files that PyArrow wrote (test/data/parquet, made by make_reader_files.py there). Every expected value is the
// generator's formula for the row.
#include "leak_check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/value.h"
#include "format/parquet/parquet_reader.h"

enum { N = 3000 };

static struct fz_err err;
static struct fz_store *store;
static struct fz_arena arena;

static int begin(void **state) {
    fz_test_begin(state);
    err = FZ_ERR_INIT;
    return fz_store_local_new(&store, &err) == FZ_OK ? 0 : -1;
}
static int end(void **state) {
    fz_store_unref(store);
    fz_arena_dispose(&arena);
    return fz_test_end(state);
}
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

static struct fz_parquet_file *open_file(const char *name) {
    char path[1024];
    struct fz_parquet_file *file = NULL;
    snprintf(path, sizeof path, "%s/test/data/parquet/%s.parquet", FZ_SOURCE_DIR, name);
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, path, -1, NULL, &file, &err), &err);
    return file;
}

static const struct fz_type *prim(enum fz_type_id id) {
    return fz_type_primitive(id);
}

typedef void (*check_fn)(const struct fz_batch *batch, size_t row, int64_t i);

// Reads all row groups and checks every row.
static void read_all(struct fz_parquet_file *file, const struct fz_field *fields, size_t n, bool by_name,
                     check_fn check) {
    int64_t rows = 0;
    for (size_t g = 0; g < fz_parquet_file_meta(file)->n_row_groups; g++) {
        struct fz_batch batch = {0};
        struct fz_parquet_reader *reader = NULL;
        struct fz_parquet_read read = {.fields = fields, .n_fields = n, .row_group = g, .by_name = by_name};
        FZ_OK_OR_FAIL(fz_batch_init(&batch, fields, n, FZ_BATCH_ROWS, &err), &err);
        FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
        for (;;) {
            int64_t first = -1;
            FZ_OK_OR_FAIL(fz_parquet_reader_next(reader, &batch, &first, &err), &err);
            assert_int_equal(first, rows);
            if (batch.n_rows == 0) {
                break;
            }
            assert_true(batch.n_rows <= FZ_BATCH_ROWS);
            for (size_t row = 0; row < batch.n_rows; row++) {
                check(&batch, row, rows + (int64_t)row);
            }
            rows += (int64_t)batch.n_rows;
        }
        fz_parquet_reader_close(reader);
        fz_batch_dispose(&batch);
    }
    assert_int_equal(rows, N);
    fz_parquet_file_unref(file);
}

static bool is_null_row(int64_t i) {
    return i % 7 == 3;
}

static bool check_null(const struct fz_column *c, size_t row, bool null) {
    assert_int_equal(!fz_column_is_valid(c, row), null);
    return null;
}

static void check_i64(const struct fz_column *c, size_t row, bool null, int64_t want) {
    if (!check_null(c, row, null)) {
        size_t w = fz_type_width(c->type);
        int64_t got = w == 1   ? ((const uint8_t *)c->data)[row]
                      : w == 2 ? ((const int16_t *)c->data)[row]
                      : w == 4 ? ((const int32_t *)c->data)[row]
                               : ((const int64_t *)c->data)[row];
        assert_int_equal(got, want);
    }
}

static void check_i128(const struct fz_column *c, size_t row, bool null, __int128 want) {
    if (!check_null(c, row, null)) {
        assert_true(fz_i128_get(((const struct fz_i128 *)c->data)[row]) == want);
    }
}

static void check_bytes(const struct fz_column *c, size_t row, bool null, const void *want, size_t len) {
    if (!check_null(c, row, null)) {
        const struct fz_string *s = (const struct fz_string *)c->data + row;
        assert_int_equal(s->length, len);
        assert_memory_equal(fz_string_ptr(s), want, len);
        if (len < 12) { // unused inline bytes are zero
            static const char zero[12];
            assert_memory_equal(s->prefix + len, zero, 12 - len);
        }
    }
}

static void check_text(const struct fz_column *c, size_t row, bool null, int64_t i) {
    char want[80];
    int n = i % 3 != 0 ? snprintf(want, sizeof want, "v%d", (int)i)
                       : snprintf(want, sizeof want,
                                  "Stra\xc3\x9f"
                                  "e %d, a text that is long",
                                  (int)(i % 50));
    check_bytes(c, row, null, want, (size_t)n);
}

static __int128 ten_to(int n) {
    __int128 v = 1;
    while (n-- > 0) {
        v *= 10;
    }
    return v;
}

static void check_f32(const struct fz_column *c, size_t row, bool null, float want) {
    if (!check_null(c, row, null)) {
        assert_true(((const float *)c->data)[row] == want);
    }
}
static void check_f64(const struct fz_column *c, size_t row, bool null, double want) {
    if (!check_null(c, row, null)) {
        assert_true(((const double *)c->data)[row] == want);
    }
}

// Any column of flat.parquet in its own type, by its field id.
static void check_flat_column(const struct fz_column *c, size_t row, int64_t i) {
    bool null = is_null_row(i);
    uint8_t bytes[32] = {0};
    switch (c->field_id) {
    case 1:
        check_i64(c, row, null, i % 3 == 0);
        break;
    case 2:
        check_i64(c, row, null, i * 3 - 4000);
        break;
    case 3:
        check_i64(c, row, null, i * 1000000000000 - 5);
        break;
    case 4:
        check_f32(c, row, null, (float)i / 4);
        break;
    case 5:
        check_f64(c, row, null, (double)i / 8 - 100);
        break;
    case 6:
        check_i64(c, row, null, i % 9999);
        break;
    case 7:
        check_i64(c, row, null, -i * 1001);
        break;
    case 8:
        check_i64(c, row, null, i * 10000000000000);
        break;
    case 9:
        check_i128(c, row, null, (i - 2500) * ten_to(26));
        break;
    case 10:
        check_i64(c, row, null, i - 2000);
        break;
    case 11:
        check_i64(c, row, null, i * 1000003);
        break;
    case 12:
        check_i64(c, row, null, i * 86400000001 - 1000000000000000);
        break;
    case 13:
        check_i64(c, row, null, i * 3600000000);
        break;
    case 14:
        check_i64(c, row, null, (i * 1001 - 1000000) * 1000);
        break;
    case 15:
        check_i64(c, row, null, i * 1001 - 1000000);
        break;
    case 16:
        check_text(c, row, null, i);
        break;
    case 17: // the top bit is flipped in the batch
        check_i128(c, row, null, (__int128)(((unsigned __int128)((i & 255) ^ 128) << 120) | (unsigned __int128)i));
        break;
    case 18:
        bytes[0] = (uint8_t)i;
        bytes[1] = (uint8_t)(i >> 8);
        bytes[2] = 7;
        check_bytes(c, row, null, bytes, 3);
        break;
    case 19:
        memset(bytes, (int)(i & 255), sizeof bytes);
        check_bytes(c, row, null, bytes, (size_t)(i % 20));
        break;
    case 20:
        check_i64(c, row, false, i);
        break;
    case 21:
        check_i64(c, row, null, 4294967295 - i);
        break;
    case 22:
        check_f32(c, row, null, (float)(i % 2048) / 2);
        break;
    default:
        fail();
    }
}

static void check_flat_row(const struct fz_batch *batch, size_t row, int64_t i) {
    for (size_t k = 0; k < batch->n_columns; k++) {
        check_flat_column(&batch->columns[k], row, i);
    }
}

static struct fz_field flat_fields[22];
static void make_flat_fields(void) {
    static const enum fz_type_id ids[22] = {
        FZ_TYPE_BOOLEAN,     FZ_TYPE_INT,       FZ_TYPE_LONG,         FZ_TYPE_FLOAT,  FZ_TYPE_DOUBLE, FZ_TYPE_DECIMAL,
        FZ_TYPE_DECIMAL,     FZ_TYPE_DECIMAL,   FZ_TYPE_DECIMAL,      FZ_TYPE_DATE,   FZ_TYPE_TIME,   FZ_TYPE_TIMESTAMP,
        FZ_TYPE_TIMESTAMPTZ, FZ_TYPE_TIMESTAMP, FZ_TYPE_TIMESTAMP_NS, FZ_TYPE_STRING, FZ_TYPE_UUID,   FZ_TYPE_FIXED,
        FZ_TYPE_BINARY,      FZ_TYPE_LONG,      FZ_TYPE_LONG,         FZ_TYPE_FLOAT};
    for (int k = 0; k < 22; k++) {
        flat_fields[k] = (struct fz_field){.id = k + 1, .name = "c", .type = prim(ids[k])};
    }
    flat_fields[5].type = fz_type_decimal(&arena, 4, 2);
    flat_fields[6].type = fz_type_decimal(&arena, 9, 3);
    flat_fields[7].type = fz_type_decimal(&arena, 18, 0);
    flat_fields[8].type = fz_type_decimal(&arena, 38, 2);
    flat_fields[17].type = fz_type_fixed(&arena, 3);
}

static void every_flat_type_in_both_page_versions(void **state) {
    (void)state;
    make_flat_fields();
    read_all(open_file("flat"), flat_fields, 22, false, check_flat_row);
    read_all(open_file("flat_v2"), flat_fields, 22, false, check_flat_row);
}

static void every_encoding(void **state) {
    (void)state;
    static const char *const files[] = {"delta_v1",    "delta_v2", "lengths_v1", "lengths_v2", "prefixes_v1",
                                        "prefixes_v2", "split_v1", "split_v2",   "fallback",   "rle_bool"};
    make_flat_fields();
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        struct fz_parquet_file *file = open_file(files[k]);
        struct fz_field fields[22];
        size_t n = 0;
        for (int f = 0; f < 22; f++) {
            if (fz_parquet_file_has_field(file, f + 1)) {
                fields[n++] = flat_fields[f];
            }
        }
        assert_true(n >= 2);
        read_all(file, fields, n, false, check_flat_row);
    }
}

static void check_int96(const struct fz_batch *batch, size_t row, int64_t i) {
    check_i64(&batch->columns[0], row, is_null_row(i), i * 86400000001 - 1000000000000000);
    check_i64(&batch->columns[1], row, is_null_row(i), (i * 86400000001 - 1000000000000000) * 1000);
}
static void int96_in_both_units(void **state) {
    (void)state;
    struct fz_field fields[] = {{.id = 12, .name = "ts", .type = prim(FZ_TYPE_TIMESTAMPTZ)},
                                {.id = 12, .name = "ts", .type = prim(FZ_TYPE_TIMESTAMP_NS)}};
    read_all(open_file("int96"), fields, 2, false, check_int96);
}

static void check_promoted(const struct fz_batch *batch, size_t row, int64_t i) {
    bool null = is_null_row(i);
    check_i64(&batch->columns[0], row, null, i * 3 - 4000);
    check_f64(&batch->columns[1], row, null, (double)((float)i / 4));
    check_i64(&batch->columns[2], row, null, i % 9999);
    check_i128(&batch->columns[3], row, null, -(__int128)i * 1001);
    check_i64(&batch->columns[4], row, null, (i - 2000) * 86400000000);
    check_i64(&batch->columns[5], row, null, (i - 2000) * 86400000000000);
    check_i64(&batch->columns[6], row, false, i);
    check_null(&batch->columns[7], row, true);
    check_bytes(&batch->columns[8], row, false, "the default that is long", 24);
    check_text(&batch->columns[9], row, null, i);
    check_f64(&batch->columns[10], row, null, (double)(float)(i % 2048) / 2);
}
static void promotions_positions_and_missing_columns(void **state) {
    (void)state;
    struct fz_value text = {.type = prim(FZ_TYPE_STRING), .u.bytes = FZ_STR_LIT("the default that is long")};
    struct fz_field fields[] = {
        {.id = 2, .name = "i", .type = prim(FZ_TYPE_LONG)},
        {.id = 4, .name = "f", .type = prim(FZ_TYPE_DOUBLE)},
        {.id = 6, .name = "dec4", .type = fz_type_decimal(&arena, 12, 2)},
        {.id = 7, .name = "dec9", .type = fz_type_decimal(&arena, 30, 3)},
        {.id = 10, .name = "date", .type = prim(FZ_TYPE_TIMESTAMP)},
        {.id = 10, .name = "date", .type = prim(FZ_TYPE_TIMESTAMP_NS)},
        {.id = 2147483645, .name = "_pos", .type = prim(FZ_TYPE_LONG)},
        {.id = 900, .name = "new", .type = prim(FZ_TYPE_INT)},
        {.id = 901, .name = "defaulted", .type = prim(FZ_TYPE_STRING), .initial_default = &text},
        {.id = 16, .name = "renamed", .type = prim(FZ_TYPE_STRING)},
        {.id = 22, .name = "h", .type = prim(FZ_TYPE_DOUBLE)},
    };
    read_all(open_file("flat"), fields, sizeof fields / sizeof *fields, false, check_promoted);
}

static void check_by_name(const struct fz_batch *batch, size_t row, int64_t i) {
    check_i64(&batch->columns[0], row, is_null_row(i), i * 1000000000000 - 5);
    check_text(&batch->columns[1], row, is_null_row(i), i);
    check_null(&batch->columns[2], row, true);
}
static void files_without_ids_by_name(void **state) {
    (void)state;
    struct fz_field fields[] = {{.id = 7, .name = "l", .type = prim(FZ_TYPE_LONG)},
                                {.id = 8, .name = "s", .type = prim(FZ_TYPE_STRING)},
                                {.id = 9, .name = "absent", .type = prim(FZ_TYPE_STRING)}};
    struct fz_parquet_file *file = open_file("no_ids");
    assert_false(fz_parquet_file_has_ids(file));
    const struct fz_type *schema = fz_parquet_file_schema(file);
    assert_int_equal(schema->n_fields, 2);
    assert_int_equal(schema->fields[0].id, 1);
    assert_int_equal(schema->fields[1].id, 2);
    assert_string_equal(schema->fields[1].name, "l");
    read_all(file, fields, 3, true, check_by_name);
}

static void check_nested_row(const struct fz_batch *batch, size_t row, int64_t i) {
    char text[40];
    const struct fz_column *point = &batch->columns[0], *tags = &batch->columns[1], *items = &batch->columns[2];
    const struct fz_column *props = &batch->columns[3], *grid = &batch->columns[4];
    bool no_point = i % 5 == 1;
    check_null(point, row, no_point);
    check_i64(&point->children[0], row, no_point, i);
    snprintf(text, sizeof text, "y%d", (int)i);
    check_bytes(&point->children[1], row, no_point || is_null_row(i), text, strlen(text));
    const struct fz_list_span *span = (const struct fz_list_span *)tags->data + row;
    if (!check_null(tags, row, i % 6 == 2)) {
        assert_int_equal(span->length, i % 4);
        for (int64_t k = 0; k < i % 4; k++) {
            snprintf(text, sizeof text, "t%d.%d", (int)i, (int)k);
            check_bytes(&tags->children[0], span->offset + (size_t)k, (i + k) % 9 == 4, text, strlen(text));
        }
    }
    span = (const struct fz_list_span *)items->data + row;
    check_null(items, row, false);
    assert_int_equal(span->length, i % 3);
    for (int64_t k = 0; k < i % 3; k++) {
        size_t at = span->offset + (size_t)k;
        check_null(&items->children[0], at, false);
        check_i64(&items->children[0].children[0], at, false, i * 10 + k);
        check_f64(&items->children[0].children[1], at, false, (double)k / 2);
    }
    span = (const struct fz_list_span *)props->data + row;
    assert_int_equal(span->length, i % 3);
    for (int64_t k = 0; k < i % 3; k++) {
        size_t at = span->offset + (size_t)k;
        snprintf(text, sizeof text, "p%d", (int)k);
        check_bytes(&props->children[0].children[0], at, false, text, strlen(text));
        check_i64(&props->children[0].children[1], at, i % 10 == 7, i + k);
    }
    span = (const struct fz_list_span *)grid->data + row;
    assert_int_equal(span->length, i % 3);
    for (int64_t j = 0; j < i % 3; j++) {
        const struct fz_list_span *inner = (const struct fz_list_span *)grid->children[0].data + span->offset + j;
        assert_int_equal(inner->length, (i + j) % 3);
        for (int64_t k = 0; k < (i + j) % 3; k++) {
            check_i64(&grid->children[0].children[0], inner->offset + (size_t)k, false, i + j + k);
        }
    }
}
static void nested_columns(void **state) {
    (void)state;
    struct fz_parquet_file *file = open_file("nested");
    const struct fz_type *schema = fz_parquet_file_schema(file);
    struct fz_buf text = {0};
    fz_type_print(&text, schema);
    assert_string_equal(
        text.ptr,
        "struct<1: id: required long, 2: point: optional struct<11: x: required int, 12: y: optional string>, "
        "3: tags: optional list<string>, 4: items: optional list<struct<31: n: optional long, "
        "32: w: optional double>>, 5: props: optional map<string, int>, 6: grid: optional list<list<int>>>");
    fz_buf_dispose(&text);
    struct fz_field fields[5];
    memcpy(fields, schema->fields + 1, sizeof fields);
    read_all(file, fields, 5, false, check_nested_row);
    file = open_file("nested_v2");
    memcpy(fields, fz_parquet_file_schema(file)->fields + 1, sizeof fields);
    read_all(file, fields, 5, false, check_nested_row);
}

static void check_evolved(const struct fz_batch *batch, size_t row, int64_t i) {
    const struct fz_column *point = &batch->columns[0], *items = &batch->columns[1], *shape = &batch->columns[2];
    bool no_point = i % 5 == 1;
    check_null(point, row, no_point);
    check_null(&point->children[0], row, true);
    check_i64(&point->children[1], row, no_point, i);
    check_i64(&point->children[2], row, no_point, 77);
    const struct fz_list_span *span = (const struct fz_list_span *)items->data + row;
    assert_int_equal(span->length, i % 3);
    for (int64_t k = 0; k < i % 3; k++) {
        check_null(&items->children[0].children[0], span->offset + (size_t)k, true);
        check_f64(&items->children[0].children[1], span->offset + (size_t)k, false, (double)k / 2);
    }
    // Only fields the file lacks: NULL or not, and how long, still comes from the file.
    span = (const struct fz_list_span *)shape->data + row;
    assert_int_equal(span->length, i % 3);
    for (int64_t k = 0; k < i % 3; k++) {
        check_null(&shape->children[0], span->offset + (size_t)k, false);
        check_null(&shape->children[0].children[0], span->offset + (size_t)k, true);
    }
    check_null(&batch->columns[3], row, no_point);
    check_null(&batch->columns[3].children[0], row, true);
}
static void nested_schema_evolution(void **state) {
    (void)state;
    struct fz_value number = {.type = prim(FZ_TYPE_INT), .u.i64 = 77};
    struct fz_field point[] = {{.id = 500, .name = "z", .type = prim(FZ_TYPE_STRING)},
                               {.id = 11, .name = "x2", .type = prim(FZ_TYPE_LONG)},
                               {.id = 501, .name = "q", .type = prim(FZ_TYPE_INT), .initial_default = &number}};
    struct fz_field item[] = {{.id = 502, .name = "new", .type = prim(FZ_TYPE_INT)},
                              {.id = 32, .name = "w", .type = prim(FZ_TYPE_DOUBLE)}};
    struct fz_field gone[] = {{.id = 503, .name = "only new", .type = prim(FZ_TYPE_INT)}};
    struct fz_field fields[] = {
        {.id = 2, .name = "point", .type = fz_type_struct(&arena, point, 3)},
        {.id = 4, .name = "items", .type = fz_type_list(&arena, 30, false, fz_type_struct(&arena, item, 2))},
        {.id = 4, .name = "items", .type = fz_type_list(&arena, 30, false, fz_type_struct(&arena, gone, 1))},
        {.id = 2, .name = "point", .type = fz_type_struct(&arena, gone, 1)},
    };
    read_all(open_file("nested"), fields, 4, false, check_evolved);
}

static void own_memory_is_filled(void **state) {
    (void)state;
    static int64_t longs[FZ_BATCH_ROWS];
    static struct fz_string strings[FZ_BATCH_ROWS];
    static uint64_t validity[2][FZ_BATCH_ROWS / 64];
    struct fz_column columns[2] = {{.type = prim(FZ_TYPE_LONG),
                                    .field_id = 20,
                                    .data = longs,
                                    .validity_storage = validity[0],
                                    .capacity = FZ_BATCH_ROWS},
                                   {.type = prim(FZ_TYPE_STRING),
                                    .field_id = 16,
                                    .data = strings,
                                    .validity_storage = validity[1],
                                    .capacity = FZ_BATCH_ROWS}};
    struct fz_batch batch = {.n_columns = 2, .columns = columns};
    struct fz_field fields[] = {{.id = 20, .name = "id", .type = prim(FZ_TYPE_LONG)},
                                {.id = 16, .name = "s", .type = prim(FZ_TYPE_STRING)}};
    struct fz_parquet_file *file = open_file("flat");
    struct fz_parquet_reader *reader = NULL;
    struct fz_parquet_read read = {.fields = fields, .n_fields = 2, .row_group = 1};
    FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
    fz_parquet_file_unref(file); // the reader holds it
    int64_t first = 0;
    FZ_OK_OR_FAIL(fz_parquet_reader_next(reader, &batch, &first, &err), &err);
    assert_int_equal(first, 2200);
    assert_int_equal(batch.n_rows, 800);
    assert_null(columns[0].validity);
    assert_ptr_equal(columns[1].validity, validity[1]);
    assert_ptr_equal(columns[0].data, longs);
    for (size_t row = 0; row < batch.n_rows; row++) {
        check_flat_row(&batch, row, first + (int64_t)row);
    }
    fz_parquet_reader_close(reader);
}

// Skips and reads in steps that fall inside, on and across pages, runs and batches.
static void read_with_skips(struct fz_parquet_file *file, const struct fz_field *fields, size_t n, uint32_t seed,
                            check_fn check) {
    int64_t start = 0;
    for (size_t g = 0; g < fz_parquet_file_meta(file)->n_row_groups; g++) {
        struct fz_batch batch = {0};
        struct fz_parquet_reader *reader = NULL;
        struct fz_parquet_read read = {.fields = fields, .n_fields = n, .row_group = g};
        FZ_OK_OR_FAIL(fz_batch_init(&batch, fields, n, FZ_BATCH_ROWS, &err), &err);
        FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
        int64_t rows = fz_parquet_file_meta(file)->row_groups[g].num_rows, at = 0;
        for (bool over = false; !over;) {
            seed = seed * 1664525 + 1013904223;
            int64_t skip = (seed >> 16) % 700, first = -1;
            FZ_OK_OR_FAIL(fz_parquet_reader_skip(reader, skip / 2, &err), &err);
            FZ_OK_OR_FAIL(fz_parquet_reader_skip(reader, skip - skip / 2, &err), &err);
            FZ_OK_OR_FAIL(fz_parquet_reader_next_upto(reader, &batch, seed % 90 + 1, &first, &err), &err);
            at = at + skip < rows ? at + skip : rows;
            assert_int_equal(first, start + at);
            over = batch.n_rows == 0;
            for (size_t row = 0; row < batch.n_rows; row++) {
                check(&batch, row, first + (int64_t)row);
            }
            at += (int64_t)batch.n_rows;
        }
        assert_int_equal(at, rows);
        start += rows;
        fz_parquet_reader_close(reader);
        fz_batch_dispose(&batch);
    }
}

static void rows_can_be_skipped(void **state) {
    (void)state;
    static const char *const files[] = {"flat",        "flat_v2",  "delta_v1", "lengths_v2",
                                        "prefixes_v1", "split_v2", "fallback", "rle_bool"};
    make_flat_fields();
    for (size_t k = 0; k < sizeof files / sizeof *files; k++) {
        struct fz_parquet_file *file = open_file(files[k]);
        struct fz_field fields[22];
        size_t n = 0;
        for (int f = 0; f < 22; f++) {
            if (fz_parquet_file_has_field(file, f + 1)) {
                fields[n++] = flat_fields[f];
            }
        }
        for (uint32_t seed = 1; seed <= 5; seed++) {
            read_with_skips(file, fields, n, seed, check_flat_row);
        }
        fz_parquet_file_unref(file);
    }
    for (int v = 0; v < 2; v++) {
        struct fz_parquet_file *file = open_file(v == 0 ? "nested" : "nested_v2");
        for (uint32_t seed = 1; seed <= 5; seed++) {
            read_with_skips(file, fz_parquet_file_schema(file)->fields + 1, 5, seed, check_nested_row);
        }
        fz_parquet_file_unref(file);
    }
}

static void statistics_as_values(void **state) {
    (void)state;
    struct fz_parquet_file *file = open_file("flat");
    struct fz_parquet_stats s;
    assert_true(fz_parquet_file_stats(file, 0, 2, prim(FZ_TYPE_LONG), &arena, &s)); // int promoted to long
    assert_true(s.has_min_max);
    assert_int_equal(s.min->u.i64, -4000);
    assert_int_equal(s.max->u.i64, 2199 * 3 - 4000);
    assert_int_equal(s.value_count, 2200);
    assert_int_equal(s.null_count, 314); // 3, 10, … below 2200
    assert_true(fz_parquet_file_stats(file, 1, 10, prim(FZ_TYPE_TIMESTAMP), &arena, &s));
    assert_int_equal(s.min->u.i64, 200 * 86400000000);
    assert_true(fz_parquet_file_stats(file, 1, 16, prim(FZ_TYPE_STRING), &arena, &s));
    assert_memory_equal(s.max->u.bytes.ptr, "v2998", 5); // row 2999 is NULL
    assert_true(fz_parquet_file_stats(file, 0, 9, fz_type_decimal(&arena, 38, 2), &arena, &s));
    assert_true(fz_i128_get(s.min->u.i128) == -2500 * ten_to(26));
    assert_true(fz_parquet_file_stats(file, 0, 4, prim(FZ_TYPE_DOUBLE), &arena, &s));
    assert_true(s.min->u.f64 == 0 && signbit(s.min->u.f64));
    assert_false(fz_parquet_file_stats(file, 0, 900, prim(FZ_TYPE_INT), &arena, &s));
    assert_false(fz_parquet_file_stats(file, 0, 16, prim(FZ_TYPE_INT), &arena, &s));
    fz_parquet_file_unref(file);
}

static void types_that_do_not_fit_are_named(void **state) {
    (void)state;
    struct fz_parquet_file *file = open_file("flat");
    struct fz_parquet_reader *reader = NULL;
    struct fz_field field = {.id = 16, .name = "s", .type = prim(FZ_TYPE_INT)};
    struct fz_parquet_read read = {.fields = &field, .n_fields = 1};
    assert_int_equal(fz_parquet_reader_open(file, &read, NULL, &reader, &err), FZ_SCHEMA_MISMATCH);
    assert_non_null(strstr(err.message, "flat.parquet: column s holds string, which cannot be read as int"));
    err = FZ_ERR_INIT;
    field = (struct fz_field){.id = 3, .name = "l", .type = prim(FZ_TYPE_INT)}; // narrowing
    assert_int_equal(fz_parquet_reader_open(file, &read, NULL, &reader, &err), FZ_SCHEMA_MISMATCH);
    err = FZ_ERR_INIT;
    read.row_group = 9;
    assert_int_equal(fz_parquet_reader_open(file, &read, NULL, &reader, &err), FZ_INVALID_ARG);
    fz_parquet_file_unref(file);
}

static void cancelled_before_the_bytes_are_there(void **state) {
    (void)state;
    struct fz_cancel cancel;
    fz_cancel_init(&cancel);
    struct fz_parquet_file *file = open_file("flat");
    struct fz_parquet_reader *reader = NULL;
    struct fz_batch batch = {0};
    struct fz_field field = {.id = 20, .name = "id", .type = prim(FZ_TYPE_LONG)};
    struct fz_parquet_read read = {.fields = &field, .n_fields = 1};
    FZ_OK_OR_FAIL(fz_batch_init(&batch, &field, 1, FZ_BATCH_ROWS, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, &cancel, &reader, &err), &err);
    fz_cancel_fire(&cancel);
    assert_int_equal(fz_parquet_reader_next(reader, &batch, NULL, &err), FZ_CANCELLED);
    fz_parquet_reader_close(reader);
    fz_batch_dispose(&batch);
    fz_parquet_file_unref(file);
    fz_cancel_dispose(&cancel);
}

// The bytes of a file with one of them changed.
static void damaged(const char *name, long at, uint8_t flip, struct fz_store *memory) {
    char path[1024];
    struct fz_buf bytes = {0};
    snprintf(path, sizeof path, "%s/test/data/parquet/%s.parquet", FZ_SOURCE_DIR, name);
    FZ_OK_OR_FAIL(fz_store_read_all(store, path, 1 << 24, &bytes, &err), &err);
    size_t i = at < 0 ? bytes.len - (size_t)-at : (size_t)at;
    bytes.ptr[i] = (char)((uint8_t)bytes.ptr[i] ^ flip);
    FZ_OK_OR_FAIL(fz_store_put(memory, "memory://x/damaged.parquet", bytes.ptr, bytes.len, false, &err), &err);
    fz_buf_dispose(&bytes);
}

static void damage_is_named(void **state) {
    (void)state;
    struct fz_store *memory = NULL;
    struct fz_parquet_file *file = NULL;
    struct fz_parquet_reader *reader = NULL;
    struct fz_batch batch = {0};
    make_flat_fields();
    FZ_OK_OR_FAIL(fz_store_memory_new(&memory, &err), &err);
    damaged("flat", 60, 0x10, memory); // in the dictionary page of column b or i
    FZ_OK_OR_FAIL(fz_parquet_file_open(memory, "memory://x/damaged.parquet", -1, NULL, &file, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&batch, flat_fields, 2, FZ_BATCH_ROWS, &err), &err);
    struct fz_parquet_read read = {.fields = flat_fields, .n_fields = 2};
    FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
    assert_int_equal(fz_parquet_reader_next(reader, &batch, NULL, &err), FZ_CORRUPT);
    assert_non_null(strstr(err.message, "memory://x/damaged.parquet: column b: the checksum of a page does not match"));
    fz_parquet_reader_close(reader);
    fz_batch_dispose(&batch);
    fz_parquet_file_unref(file);
    err = FZ_ERR_INIT;
    damaged("flat", -2, 0xff, memory);
    assert_int_equal(fz_parquet_file_open(memory, "memory://x/damaged.parquet", -1, NULL, &file, &err), FZ_CORRUPT);
    assert_non_null(strstr(err.message, "not a Parquet file"));
    err = FZ_ERR_INIT;
    damaged("flat", -5, 0xff, memory);
    assert_int_equal(fz_parquet_file_open(memory, "memory://x/damaged.parquet", -1, NULL, &file, &err), FZ_CORRUPT);
    assert_non_null(strstr(err.message, "footer's length"));
    err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_store_put(memory, "memory://x/empty.parquet", "PAR1", 4, false, &err), &err);
    assert_int_equal(fz_parquet_file_open(memory, "memory://x/empty.parquet", -1, NULL, &file, &err), FZ_CORRUPT);
    fz_store_unref(memory);
}

// Text that is not UTF-8 never gets into a batch: the dictionary, or the page, is refused.
static void invalid_text_is_refused(void **state) {
    (void)state;
    struct fz_store *memory = NULL;
    struct fz_buf bytes = {0};
    FZ_OK_OR_FAIL(fz_store_memory_new(&memory, &err), &err);
    for (size_t k = 0; k < 5; k++) {
        char path[1024];
        struct fz_parquet_file *file = NULL;
        struct fz_parquet_reader *reader = NULL;
        struct fz_batch batch = {0};
        fz_buf_clear(&bytes);
        snprintf(path, sizeof path, "%s/test/data/parquet/bad_text_%zu.parquet", FZ_SOURCE_DIR, k);
        FZ_OK_OR_FAIL(fz_store_read_all(store, path, 1 << 24, &bytes, &err), &err);
        FZ_OK_OR_FAIL(fz_store_put(memory, "memory://x/text.parquet", bytes.ptr, bytes.len, false, &err), &err);
        FZ_OK_OR_FAIL(fz_parquet_file_open(memory, "memory://x/text.parquet", -1, NULL, &file, &err), &err);
        struct fz_field field = {.id = 1, .name = "s", .type = prim(FZ_TYPE_STRING)};
        struct fz_parquet_read read = {.fields = &field, .n_fields = 1, .by_name = true};
        FZ_OK_OR_FAIL(fz_batch_init(&batch, &field, 1, FZ_BATCH_ROWS, &err), &err);
        FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
        assert_int_equal(fz_parquet_reader_next(reader, &batch, NULL, &err), FZ_CORRUPT);
        assert_non_null(strstr(err.message, "memory://x/text.parquet: column s: a text is not valid UTF-8"));
        err = FZ_ERR_INIT;
        fz_parquet_reader_close(reader);
        fz_batch_dispose(&batch);
        field.type = prim(FZ_TYPE_BINARY); // as bytes the same page is fine
        FZ_OK_OR_FAIL(fz_batch_init(&batch, &field, 1, FZ_BATCH_ROWS, &err), &err);
        FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
        FZ_OK_OR_FAIL(fz_parquet_reader_next(reader, &batch, NULL, &err), &err);
        assert_int_equal(batch.n_rows, 4);
        fz_parquet_reader_close(reader);
        fz_batch_dispose(&batch);
        fz_parquet_file_unref(file);
    }
    fz_buf_dispose(&bytes);
    fz_store_unref(memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(every_flat_type_in_both_page_versions),
        TEST(every_encoding),
        TEST(int96_in_both_units),
        TEST(promotions_positions_and_missing_columns),
        TEST(files_without_ids_by_name),
        TEST(nested_columns),
        TEST(nested_schema_evolution),
        TEST(own_memory_is_filled),
        TEST(rows_can_be_skipped),
        TEST(statistics_as_values),
        TEST(types_that_do_not_fit_are_named),
        TEST(cancelled_before_the_bytes_are_there),
        TEST(damage_is_named),
        TEST(invalid_text_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
