// Bloom filters and the page index of written files, asked again: every value is found, of others about as many as the false-positive
// rate says; sizes follow from the format's formula. Readers of others: test/interop/bloom.py.
#include "leak_check.h"

#include <stdio.h>

#include "base/hash.h"
#include "format/parquet/parquet_prune.h"
#include "format/parquet/parquet_writer.h"
#include "store/store.h"

enum { ROWS = 30000 };

static struct fz_parquet_file *write_and_open(struct fz_store *store, const struct fz_parquet_bloom_options *bloom,
                                              bool no_dictionary, struct fz_arena *arena) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_field fields[] = {{.id = 1, .name = "l", .type = fz_type_primitive(FZ_TYPE_LONG)},
                                {.id = 2, .name = "i", .type = fz_type_primitive(FZ_TYPE_INT)},
                                {.id = 3, .name = "s", .type = fz_type_primitive(FZ_TYPE_STRING)},
                                {.id = 4, .name = "few", .type = fz_type_primitive(FZ_TYPE_LONG)},
                                {.id = 5, .name = "none", .type = fz_type_primitive(FZ_TYPE_LONG)},
                                {.id = 6, .name = "b", .type = fz_type_primitive(FZ_TYPE_BOOLEAN)}};
    struct fz_parquet_column_options columns[6];
    for (int i = 0; i < 6; i++) {
        columns[i] = (struct fz_parquet_column_options){
            .field_id = i + 1, .metrics = FZ_METRICS_FULL, .no_dictionary = no_dictionary, .bloom = *bloom};
    }
    columns[4].bloom.enabled = false;
    struct fz_parquet_write options = {.fields = fields,
                                       .n_fields = 6,
                                       .codec = FZ_PQ_ZSTD,
                                       .level = -1,
                                       .page_rows = 1000,
                                       .columns = columns,
                                       .n_columns = 6,
                                       .default_metrics = FZ_METRICS_FULL};
    struct fz_writer *sink = NULL;
    struct fz_parquet_writer *writer = NULL;
    struct fz_parquet_metrics metrics;
    struct fz_batch batch;
    FZ_OK_OR_FAIL(fz_store_writer_open(store, "memory://f.parquet", &sink, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_writer_open(sink, &options, &writer, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&batch, fields, 6, FZ_BATCH_ROWS, &err), &err);
    for (int64_t at = 0; at < ROWS; at += 1000) {
        batch.n_rows = 1000;
        for (size_t r = 0; r < 1000; r++) {
            int64_t n = at + (int64_t)r;
            char *text = fz_arena_printf(arena, "a text of some length %lld", (long long)n);
            ((int64_t *)batch.columns[0].data)[r] = n * 3;
            ((int32_t *)batch.columns[1].data)[r] = (int32_t)(n - 5000);
            ((struct fz_string *)batch.columns[2].data)[r] = fz_string_of(text, strlen(text));
            ((int64_t *)batch.columns[3].data)[r] = n % 7;
            ((int64_t *)batch.columns[4].data)[r] = n;
            ((uint8_t *)batch.columns[5].data)[r] = n % 2 == 0;
        }
        FZ_OK_OR_FAIL(fz_parquet_writer_append(writer, &batch, 0, NULL, batch.n_rows, &err), &err);
    }
    fz_batch_dispose(&batch);
    FZ_OK_OR_FAIL(fz_parquet_writer_close(writer, arena, &metrics, &err), &err);
    struct fz_parquet_file *file = NULL;
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, "memory://f.parquet", -1, NULL, &file, &err), &err);
    return file;
}

static struct fz_parquet_bloom bloom_of(struct fz_parquet_file *file, int32_t id, enum fz_type_id type,
                                        struct fz_arena *arena) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_parquet_bloom bloom;
    FZ_OK_OR_FAIL(fz_parquet_file_bloom(file, 0, id, fz_type_primitive(type), NULL, arena, &bloom, &err), &err);
    return bloom;
}

static int64_t text_key(int64_t n) {
    char text[64];
    int len = snprintf(text, sizeof text, "a text of some length %lld", (long long)n);
    return (int64_t)fz_hash64(text, (size_t)len, 0);
}

static void every_value_is_found(void **state) {
    (void)state;
    for (int round = 0; round < 2; round++) { // dictionary given up on the way, and none at all
        struct fz_arena arena = {0};
        struct fz_err err = FZ_ERR_INIT;
        struct fz_store *store = NULL;
        FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
        struct fz_parquet_bloom_options options = {.enabled = true, .fpp = 0.01};
        struct fz_parquet_file *file = write_and_open(store, &options, round == 1, &arena);
        struct fz_parquet_bloom l = bloom_of(file, 1, FZ_TYPE_LONG, &arena), i = bloom_of(file, 2, FZ_TYPE_INT, &arena),
                                wide = bloom_of(file, 2, FZ_TYPE_LONG, &arena),
                                s = bloom_of(file, 3, FZ_TYPE_STRING, &arena),
                                few = bloom_of(file, 4, FZ_TYPE_LONG, &arena);
        // 30,000 values at 1 %: 8 * 30000 / -ln(1 - 0.01^(1/8)) = 290,391 bits, so 65,536 bytes; 7 values fit 32 bytes
        assert_int_equal(l.n_blocks * 32, 65536);
        assert_int_equal(s.n_blocks * 32, 65536);
        assert_int_equal(few.n_blocks * 32, 32);
        assert_int_equal(bloom_of(file, 5, FZ_TYPE_LONG, &arena).n_blocks, 0);
        assert_int_equal(bloom_of(file, 6, FZ_TYPE_BOOLEAN, &arena).n_blocks, 0);
        int wrong = 0;
        for (int64_t n = 0; n < ROWS; n++) {
            assert_true(fz_parquet_bloom_may_have(&l, n * 3));
            assert_true(fz_parquet_bloom_may_have(&i, n - 5000) && fz_parquet_bloom_may_have(&wide, n - 5000));
            assert_true(fz_parquet_bloom_may_have(&s, text_key(n)));
            assert_true(fz_parquet_bloom_may_have(&few, n % 7));
            wrong += fz_parquet_bloom_may_have(&l, n * 3 + 1);
            wrong += fz_parquet_bloom_may_have(&s, text_key(n + ROWS));
        }
        assert_true(wrong < 2 * ROWS / 50 && wrong > 0);
        assert_false(fz_parquet_bloom_may_have(&wide, (int64_t)1 << 40)); // no int has it
        fz_parquet_file_unref(file);
        fz_store_unref(store);
        fz_arena_dispose(&arena);
    }
}

static void sizes_follow_the_options(void **state) {
    (void)state;
    static const struct {
        struct fz_parquet_bloom_options options;
        size_t bytes;
    } cases[] = {{{.enabled = true, .ndv = 1000}, 2048}, // 9,680 bits
                 {{.enabled = true, .ndv = 1000, .adaptive = true}, 65536},
                 {{.enabled = true, .max_bytes = 5000}, 4096},
                 {{.enabled = true, .fpp = 0.5}, 16384}}; // 96,000 bits or so
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        struct fz_arena arena = {0};
        struct fz_err err = FZ_ERR_INIT;
        struct fz_store *store = NULL;
        FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
        struct fz_parquet_file *file = write_and_open(store, &cases[c].options, false, &arena);
        struct fz_parquet_bloom l = bloom_of(file, 1, FZ_TYPE_LONG, &arena);
        assert_int_equal(l.n_blocks * 32, cases[c].bytes);
        for (int64_t n = 0; n < ROWS; n++) {
            assert_true(fz_parquet_bloom_may_have(&l, n * 3));
        }
        fz_parquet_file_unref(file);
        fz_store_unref(store);
        fz_arena_dispose(&arena);
    }
}

static void pages_tell_their_bounds(void **state) {
    (void)state;
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store = NULL;
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    struct fz_parquet_bloom_options options = {.enabled = false};
    struct fz_parquet_file *file = write_and_open(store, &options, false, &arena);
    struct fz_parquet_page *pages = NULL;
    size_t n = 0;
    FZ_OK_OR_FAIL(fz_parquet_file_pages(file, 0, 2, fz_type_primitive(FZ_TYPE_LONG), NULL, &arena, &pages, &n, &err),
                  &err);
    assert_int_equal(n, ROWS / 1000);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(pages[i].first_row, 1000 * i);
        assert_int_equal(pages[i].n_rows, 1000);
        assert_int_equal(pages[i].min->u.i64, (int64_t)i * 1000 - 5000);
        assert_int_equal(pages[i].max->u.i64, (int64_t)i * 1000 - 4001);
        assert_int_equal(pages[i].null_count, 0);
    }
    FZ_OK_OR_FAIL(fz_parquet_file_pages(file, 0, 77, fz_type_primitive(FZ_TYPE_LONG), NULL, &arena, &pages, &n, &err),
                  &err);
    assert_int_equal(n, 0);
    fz_parquet_file_unref(file);
    fz_store_unref(store);
    fz_arena_dispose(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(every_value_is_found),
        FZ_TEST(sizes_follow_the_options),
        FZ_TEST(pages_tell_their_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
