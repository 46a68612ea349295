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

// ---- ranged reads

static uint64_t mixed(uint64_t n) {
    n = (n + 1) * 0x9E3779B97F4A7C15u;
    return n ^ n >> 29;
}

static const struct fz_field *ranged_fields(void) {
    static struct fz_field f[3];
    f[0] = (struct fz_field){.id = 1, .name = "l", .type = fz_type_primitive(FZ_TYPE_LONG)};
    f[1] = (struct fz_field){.id = 2, .name = "s", .type = fz_type_primitive(FZ_TYPE_STRING)};
    f[2] = (struct fz_field){.id = 3, .name = "few", .type = fz_type_primitive(FZ_TYPE_LONG)};
    return f;
}

// Numbers without a pattern, texts of which every fifth is NULL, and a column with a dictionary. Pages of 1,000 rows.
static struct fz_parquet_file *write_ranged(struct fz_store *store, struct fz_arena *arena) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_parquet_write options = {
        .fields = ranged_fields(), .n_fields = 3, .codec = FZ_PQ_UNCOMPRESSED, .page_rows = 1000};
    struct fz_writer *sink = NULL;
    struct fz_parquet_writer *writer = NULL;
    struct fz_parquet_metrics metrics;
    struct fz_parquet_file *file = NULL;
    struct fz_batch batch;
    FZ_OK_OR_FAIL(fz_store_writer_open(store, "memory://r.parquet", &sink, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_writer_open(sink, &options, &writer, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&batch, ranged_fields(), 3, 1000, &err), &err);
    for (int64_t at = 0; at < ROWS; at += 1000) {
        fz_column_reset(&batch.columns[1]);
        batch.n_rows = 1000;
        for (size_t r = 0; r < 1000; r++) {
            uint64_t n = (uint64_t)at + r;
            char *text = fz_arena_printf(arena, "%016llx", (unsigned long long)mixed(n));
            ((int64_t *)batch.columns[0].data)[r] = (int64_t)mixed(n);
            ((struct fz_string *)batch.columns[1].data)[r] = fz_string_of(text, 16);
            ((int64_t *)batch.columns[2].data)[r] = (int64_t)(mixed(n) % 3000);
            if (n % 5 == 0) {
                fz_column_set_null(&batch.columns[1], r);
            }
        }
        FZ_OK_OR_FAIL(fz_parquet_writer_append(writer, &batch, 0, NULL, 1000, &err), &err);
    }
    fz_batch_dispose(&batch);
    FZ_OK_OR_FAIL(fz_parquet_writer_close(writer, arena, &metrics, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, "memory://r.parquet", -1, NULL, &file, &err), &err);
    return file;
}

static int64_t read_ranges(struct fz_parquet_file *file, const struct fz_parquet_row_range *ranges, size_t n) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_parquet_reader *reader = NULL;
    struct fz_batch batch;
    struct fz_parquet_read read = {
        .fields = ranged_fields(), .n_fields = 3, .deferred = true, .rows = ranges, .n_rows = n};
    FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&batch, ranged_fields(), 3, FZ_BATCH_ROWS, &err), &err);
    int64_t bytes = fz_parquet_reader_bytes(reader), at = 0;
    for (size_t i = 0; i < n; i++) {
        FZ_OK_OR_FAIL(fz_parquet_reader_skip(reader, ranges[i].start - at, &err), &err);
        for (at = ranges[i].start; at < ranges[i].end;) {
            int64_t first = -1;
            for (size_t c = 0; c < 3; c++) {
                fz_column_reset(&batch.columns[c]);
            }
            FZ_OK_OR_FAIL(fz_parquet_reader_next_upto(reader, &batch, (size_t)(ranges[i].end - at), &first, &err),
                          &err);
            assert_int_equal(first, at);
            assert_true(batch.n_rows > 0);
            for (size_t r = 0; r < batch.n_rows; r++, at++) {
                char text[20];
                snprintf(text, sizeof text, "%016llx", (unsigned long long)mixed((uint64_t)at));
                assert_int_equal(((int64_t *)batch.columns[0].data)[r], mixed((uint64_t)at));
                assert_int_equal(((int64_t *)batch.columns[2].data)[r], mixed((uint64_t)at) % 3000);
                assert_int_equal(fz_column_is_valid(&batch.columns[1], r), at % 5 != 0);
                if (at % 5 != 0) {
                    const struct fz_string *s = &((struct fz_string *)batch.columns[1].data)[r];
                    assert_int_equal(s->length, 16);
                    assert_memory_equal(fz_string_ptr(s), text, 16);
                }
            }
        }
    }
    fz_batch_dispose(&batch);
    fz_parquet_reader_close(reader);
    return bytes;
}

static void pages_between_ranges_are_not_fetched(void **state) {
    (void)state;
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store = NULL;
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    struct fz_parquet_file *file = write_ranged(store, &arena);
    const struct fz_parquet_row_range all = {0, ROWS}, one = {12345, 12346}, ends[] = {{0, 1}, {ROWS - 1, ROWS}},
                                      some[] = {{999, 1001}, {5000, 7500}, {8000, 8001}, {29000, 29500}};
    int64_t whole = read_ranges(file, &all, 1);
    assert_true(read_ranges(file, &one, 1) < whole / 10);
    assert_true(read_ranges(file, ends, 2) < whole / 7);
    assert_true(read_ranges(file, some, 4) < whole / 3);
    for (uint64_t seed = 0; seed < 60; seed++) { // ranges at random, some of them next to each other
        struct fz_parquet_row_range ranges[40];
        size_t n = 0;
        int64_t at = 0;
        for (uint64_t k = 0; n < 40 && at < ROWS; k++) {
            int64_t start = at + (int64_t)(mixed(seed * 1000 + k) % 3000),
                    end = start + 1 + (int64_t)(mixed(k * 77 + seed) % 700);
            if (end > ROWS) {
                break;
            }
            ranges[n++] = (struct fz_parquet_row_range){start, end};
            at = end;
        }
        assert_true(n == 0 || read_ranges(file, ranges, n) <= whole);
    }
    // Rows that were not asked for are not there.
    struct fz_parquet_reader *reader = NULL;
    struct fz_batch batch;
    struct fz_parquet_read read = {.fields = ranged_fields(), .n_fields = 3, .rows = &one, .n_rows = 1};
    FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&batch, ranged_fields(), 3, FZ_BATCH_ROWS, &err), &err);
    assert_int_equal(fz_parquet_reader_next(reader, &batch, NULL, &err), FZ_BUG);
    fz_parquet_reader_close(reader);
    fz_batch_dispose(&batch);
    fz_parquet_file_unref(file);
    fz_store_unref(store);
    fz_arena_dispose(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(every_value_is_found),
        FZ_TEST(sizes_follow_the_options),
        FZ_TEST(pages_tell_their_bounds),
        FZ_TEST(pages_between_ranges_are_not_fetched),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
