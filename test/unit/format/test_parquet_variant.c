// Variants in Parquet files by others, plain and shredded: printed as JSON and compared with test/data/parquet/variants.jsonl, which
// make_variants.py recorded with DuckDB (and put into Spark's form). Then damaged variants, which must be refused.
#include "leak_check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

#include "data/value.h"
#include "data/variant.h"
#include "format/parquet/parquet_reader_priv.h"

// Rows of one column as JSON lines, NULL as an empty one.
static enum fz_code read_variants(const char *path, const char *column, struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_store *store = NULL;
    struct fz_parquet_file *file = NULL;
    struct fz_parquet_reader *reader = NULL;
    struct fz_batch batch = {0};
    FZ_TRY(fz_store_local_new(&store, err));
    FZ_TRY(fz_parquet_file_open(store, path, -1, NULL, &file, err));
    struct fz_field field = {.id = 1, .name = column, .type = fz_type_primitive(FZ_TYPE_VARIANT)};
    FZ_TRY(fz_batch_init(&batch, &field, 1, FZ_BATCH_ROWS, err));
    for (size_t g = 0; g < file->meta.n_row_groups; g++) {
        struct fz_parquet_read read = {.fields = &field, .n_fields = 1, .row_group = g, .by_name = true};
        FZ_TRY(fz_parquet_reader_open(file, &read, NULL, &reader, err));
        for (;;) {
            FZ_TRY(fz_parquet_reader_next_upto(reader, &batch, 7, NULL, err));
            if (batch.n_rows == 0) {
                break;
            }
            for (size_t i = 0; i < batch.n_rows; i++) {
                struct fz_value v = fz_value_at(&batch.columns[0], i, NULL);
                if (!v.is_null) {
                    fz_value_print(out, &v);
                }
                fz_buf_putc(out, '\n');
            }
        }
        fz_parquet_reader_close(reader);
        reader = NULL;
    }
out:
    fz_parquet_reader_close(reader);
    fz_batch_dispose(&batch);
    fz_parquet_file_unref(file);
    fz_store_unref(store);
    return rc;
}

static void variants_of_other_writers(void **state) {
    (void)state;
    const char *env = getenv("FRAZIL_SHARED_DATA"), *folder = env != NULL ? env : FZ_SOURCE_DIR "/../shared/data";
    FILE *in = fopen(FZ_SOURCE_DIR "/test/data/parquet/variants.jsonl", "r");
    char *line = NULL;
    size_t cap = 0;
    int files = 0, wrong = 0;
    assert_non_null(in);
    while (getline(&line, &cap, in) > 0) {
        json_error_t je;
        json_t *want = json_loads(line, 0, &je);
        struct fz_err err = FZ_ERR_INIT;
        struct fz_buf have = {0};
        char path[2048];
        assert_non_null(want);
        snprintf(path, sizeof path, "%s/parquet/good/%s", folder, json_string_value(json_object_get(want, "file")));
        FILE *there = fopen(path, "r");
        if (there == NULL) {
            json_decref(want);
            continue;
        }
        fclose(there);
        enum fz_code rc = read_variants(path, json_string_value(json_object_get(want, "column")), &have, &err);
        const char *text = json_string_value(json_object_get(want, "rows"));
        if (rc != FZ_OK || strcmp(text, have.ptr != NULL ? have.ptr : "") != 0) {
            print_error("%s: %s %s\n--- want\n%s--- have\n%s", path, fz_code_name(rc), err.message, text,
                        have.ptr != NULL ? have.ptr : "");
            wrong++;
        }
        files++;
        fz_buf_dispose(&have);
        json_decref(want);
    }
    free(line);
    fclose(in);
    print_message("%d files with variants, %d wrong\n", files, wrong);
    assert_int_equal(wrong, 0);
    if (files == 0) {
        skip();
    }
}

static struct fz_str bytes(const char *p, size_t n) {
    return (struct fz_str){p, n};
}
#define BYTES(text) bytes(text, sizeof(text) - 1)

static void expect(struct fz_str variant, const char *json, const char *cast) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf out = {0};
    bool null;
    assert_int_equal(fz_variant_check(variant, &err), FZ_OK);
    assert_true(fz_variant_print(&out, variant, NULL, NULL));
    assert_string_equal(out.ptr, json);
    fz_buf_clear(&out);
    assert_true(fz_variant_print_cast(&out, variant, NULL, NULL, &null));
    assert_string_equal(out.ptr, cast);
    fz_buf_dispose(&out);
}

// Bytes by hand from the format's description; texts as Spark 4.1 prints them.
static void prints_as_spark_does(void **state) {
    (void)state;
    expect(BYTES("\001\000\000\000"), "null", "null");
    expect(BYTES("\001\000\000\025x\"\001\t\n"), "\"x\\\"\\u0001\\t\\n\"", "x\"\001\t\n");
    expect(BYTES("\001\000\000\034\000\000\000\000\000\000\360\177"), "\"Infinity\"", "Infinity");
    expect(BYTES("\001\000\000\034\100\214\265\170\035\257\025\104"), "1.0E20", "1.0E20");
    expect(BYTES("\001\000\000\040\004\120\324\022\000"), "123.4", "123.4"); // 123.4000
    expect(BYTES("\001\000\000\040\000\144\000\000\000"), "100", "100");
    expect(BYTES("\001\000\000\060\377\377\377\377\377\377\377\377"), "\"1969-12-31 23:59:59.999999+00:00\"",
           "1969-12-31 23:59:59.999999");
    expect(BYTES("\001\000\000\074\003\000\000\000ab\377"), "\"YWL/\"", "ab\377");
    expect(BYTES("\001\002\000\001\002ba\002\002\001\000\000\002\004\014\005\014\006"), "{\"a\":5,\"b\":6}",
           "{\"a\":5,\"b\":6}");
    expect(BYTES("\001\000\000\003\002\000\001\003\000\014\007"), "[null,7]", "[null,7]");
}

static void damaged_variants_are_refused(void **state) {
    (void)state;
    static const char whole[] = "\001\002\000\001\002ba\002\002\001\000\000\002\004\014\005\014\006";
    struct fz_err err = FZ_ERR_INIT;
    for (size_t n = 0; n < sizeof whole - 1; n++) {
        char *cut = malloc(n + 1); // its own block: reading behind it is seen
        memcpy(cut, whole, n);
        assert_int_not_equal(fz_variant_check(bytes(cut, n), &err), FZ_OK);
        free(cut);
    }
    assert_int_not_equal(fz_variant_check(BYTES("\002\000\000\000"), &err), FZ_OK); // version 2
    assert_int_not_equal(fz_variant_check(BYTES("\001\000\000\000\000"), &err), FZ_OK); // a byte too many
    assert_int_not_equal(fz_variant_check(BYTES("\001\000\000\005\377"), &err), FZ_OK); // not UTF-8
    assert_int_not_equal(fz_variant_check(BYTES("\001\000\000\144"), &err), FZ_OK); // no such type
    // elements that share bytes: 2^20 values in a few hundred bytes
    char bomb[20 * 6 + 8] = "\001\000\000";
    size_t n = 3;
    for (int i = 0; i < 20; i++) {
        int left = (20 - i - 1) * 5 + 1;
        bomb[n++] = 3;
        bomb[n++] = 2;
        bomb[n++] = 0;
        bomb[n++] = 0;
        bomb[n++] = (char)left;
    }
    bomb[n++] = 0;
    assert_int_not_equal(fz_variant_check(bytes(bomb, n), &err), FZ_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(variants_of_other_writers),
        FZ_TEST(prints_as_spark_does),
        FZ_TEST(damaged_variants_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
