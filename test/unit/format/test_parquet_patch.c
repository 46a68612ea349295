// Row groups of which some rows are left out or changed: the patched file has the rows, counts and bounds of one that is written anew, its
// pages without such a row are those of the old file, and damaged input is an error at worst.
#include "leak_check.h"

#include "format/parquet/parquet_copy.h"
#include "format/parquet_sample.h"

enum { ROWS = 20000, GROUP = 7000, N = SAMPLE_FLAT_FIELDS - 2, OFFSET = 20003 };

static const struct fz_parquet_write DEFAULTS = {.codec = FZ_PQ_ZSTD,
                                                 .level = -1,
                                                 .row_group_rows = GROUP,
                                                 .page_rows = 500,
                                                 .default_metrics = FZ_METRICS_TRUNCATE,
                                                 .default_metrics_length = 16};

// Floats are left away: some are NaN, and how many a row group has no file says.
static void patch_fields(struct fz_arena *types, struct fz_field *fields, int *columns) {
    struct fz_field all[SAMPLE_FLAT_FIELDS];
    sample_flat_fields(types, all);
    for (int i = 0, n = 0; i < SAMPLE_FLAT_FIELDS; i++) {
        if (all[i].type->id != FZ_TYPE_FLOAT && all[i].type->id != FZ_TYPE_DOUBLE) {
            fields[n] = all[i];
            columns[n++] = i;
        }
    }
}

struct pattern {
    int64_t gone_every, row_every; // 0: none
    int64_t gone_from, gone_to; // and a range
    bool all_columns; // else every second one is assigned
    size_t dict_bytes;
};
static bool is_gone(const struct pattern *p, int64_t r) {
    return (p->gone_every > 0 && r % p->gone_every == 5) || (r >= p->gone_from && r < p->gone_to);
}
static bool is_changed(const struct pattern *p, int64_t r) {
    return p->row_every > 0 && r % p->row_every == 7 && !is_gone(p, r);
}
static bool is_assigned(const struct pattern *p, int i) {
    return p->all_columns || i % 2 == 1;
}

static void put_value(struct fz_column *to, int column, size_t at, int64_t r, struct fz_arena *strings) {
    if (sample_is_null(column, r)) {
        fz_column_set_null(to, at);
    } else {
        sample_flat_value(to, column, at, r, strings);
    }
}

// The row number whose formula gives column i of row r after the change.
static int64_t formula_row(const struct pattern *p, int i, int64_t r) {
    return is_changed(p, r) && is_assigned(p, i) ? r + OFFSET : r;
}

// The rows that stay, as they are after the change, written anew.
static void write_expected(const struct pattern *p, const struct fz_field *fields, const int *columns,
                           struct fz_arena *arena, struct fz_parquet_metrics *out) {
    struct fz_err err = FZ_ERR_INIT;
    struct sample_sink sink;
    struct fz_parquet_writer *writer;
    struct fz_parquet_write options = DEFAULTS;
    struct fz_batch batch = {0};
    struct fz_arena strings = {0};
    options.fields = fields;
    options.n_fields = N;
    FZ_OK_OR_FAIL(fz_parquet_writer_open(sample_open(&sink), &options, &writer, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&batch, fields, N, FZ_BATCH_ROWS, &err), &err);
    for (int64_t r = 0; r < ROWS;) {
        size_t n = 0;
        for (int i = 0; i < N; i++) {
            fz_column_reset(&batch.columns[i]);
        }
        for (; r < ROWS && n < FZ_BATCH_ROWS; r++) {
            for (int i = 0; i < N && !is_gone(p, r); i++) {
                put_value(&batch.columns[i], columns[i], n, formula_row(p, i, r), &strings);
            }
            n += !is_gone(p, r);
        }
        batch.n_rows = n;
        FZ_OK_OR_FAIL(fz_parquet_writer_append(writer, &batch, 0, NULL, n, &err), &err);
        fz_arena_dispose(&strings);
    }
    FZ_OK_OR_FAIL(fz_parquet_writer_close(writer, arena, out, &err), &err);
    fz_batch_dispose(&batch);
    fz_buf_dispose(&sink.bytes);
}

struct rows {
    uint32_t gone[GROUP], rows[GROUP];
    uint8_t assigned[N];
    struct fz_column values[N];
    struct fz_arena strings;
    struct fz_parquet_patch patch;
};
static void make_patch(const struct pattern *p, const struct fz_field *fields, const int *columns, int64_t first,
                       int64_t n, struct rows *out) {
    struct fz_err err = FZ_ERR_INIT;
    memset(out, 0, sizeof *out);
    size_t n_gone = 0, n_rows = 0;
    for (int64_t r = 0; r < n; r++) {
        if (is_gone(p, first + r)) {
            out->gone[n_gone++] = (uint32_t)r;
        } else if (is_changed(p, first + r)) {
            out->rows[n_rows++] = (uint32_t)r;
        }
    }
    for (int i = 0; i < N; i++) {
        out->assigned[i] = is_assigned(p, i);
        FZ_OK_OR_FAIL(fz_column_init(&out->values[i], fields[i].type, n_rows + 1, &err), &err);
        for (size_t k = 0; k < n_rows; k++) {
            put_value(&out->values[i], columns[i], k, first + out->rows[k] + OFFSET, &out->strings);
        }
    }
    out->patch = (struct fz_parquet_patch){.gone = out->gone,
                                           .n_gone = n_gone,
                                           .rows = out->rows,
                                           .n_rows = n_rows,
                                           .assigned = out->assigned,
                                           .values = out->values};
}
static void drop_patch(struct rows *rows) {
    for (int i = 0; i < N; i++) {
        fz_column_dispose(&rows->values[i]);
    }
    fz_arena_dispose(&rows->strings);
}

static enum fz_code patch_group(struct fz_parquet_file *file, size_t g, int64_t first, const struct pattern *p,
                                const struct fz_field *fields, const int *columns,
                                struct fz_parquet_copy_counts *counts, bool strict, struct fz_parquet_group **group,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_write options = DEFAULTS;
    struct fz_parquet_encoder *encoder = NULL;
    static struct rows rows;
    uint8_t copied[N];
    options.fields = fields;
    options.n_fields = N;
    options.dict_size_bytes = (int64_t)p->dict_bytes;
    int64_t n = fz_parquet_file_meta(file)->row_groups[g].num_rows;
    make_patch(p, fields, columns, first, n < GROUP ? n : GROUP, &rows);
    struct fz_parquet_copy copy = {.file = file, .row_group = g, .patch = &rows.patch, .counts = counts};
    *group = NULL;
    FZ_TRY(fz_parquet_encoder_open(&options, &encoder, err));
    size_t n_copied = fz_parquet_copy_fields(encoder, &copy, copied);
    if (strict) {
        assert_int_equal(n_copied, N);
    }
    if (n_copied == N) {
        FZ_TRY(fz_parquet_copy_group(encoder, &copy, copied, NULL, group, err));
    }
out:
    fz_parquet_encoder_free(encoder);
    drop_patch(&rows);
    return rc;
}

static void same_metrics(const struct fz_parquet_metrics *a, const struct fz_parquet_metrics *b) {
    assert_int_equal(a->record_count, b->record_count);
    for (size_t i = 0; i < a->n_columns; i++) {
        const struct fz_parquet_column_metrics *x = &a->columns[i], *y = &b->columns[i];
        struct fz_err err = FZ_ERR_INIT;
        assert_int_equal(x->value_count, y->value_count);
        assert_int_equal(x->null_count, y->null_count);
        assert_int_equal(x->has_bounds, y->has_bounds);
        for (int upper = 0; upper < 2 && x->has_bounds; upper++) {
            struct fz_buf one = {0}, two = {0};
            FZ_OK_OR_FAIL(fz_value_to_bound(&one, upper ? &x->upper : &x->lower, &err), &err);
            FZ_OK_OR_FAIL(fz_value_to_bound(&two, upper ? &y->upper : &y->lower, &err), &err);
            assert_int_equal(one.len, two.len);
            assert_memory_equal(one.ptr, two.ptr, one.len);
            fz_buf_dispose(&one);
            fz_buf_dispose(&two);
        }
    }
}

static void same_rows(struct fz_parquet_file *file, const struct pattern *p, const struct fz_field *fields,
                      const int *columns) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch batch = {0}, one = {0};
    struct fz_arena strings = {0};
    int64_t r = 0;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, fields, N, FZ_BATCH_ROWS, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&one, fields, N, 1, &err), &err);
    for (size_t g = 0; g < fz_parquet_file_meta(file)->n_row_groups; g++) {
        struct fz_parquet_reader *reader;
        struct fz_parquet_read read = {.fields = fields, .n_fields = N, .row_group = g};
        FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
        for (;;) {
            FZ_OK_OR_FAIL(fz_parquet_reader_next(reader, &batch, NULL, &err), &err);
            if (batch.n_rows == 0) {
                break;
            }
            for (size_t at = 0; at < batch.n_rows; at++, r++) {
                while (is_gone(p, r)) {
                    r++;
                }
                for (int i = 0; i < N; i++) {
                    fz_column_reset(&one.columns[i]);
                    put_value(&one.columns[i], columns[i], 0, formula_row(p, i, r), &strings);
                    struct fz_value have = fz_value_at(&batch.columns[i], at, NULL),
                                    want = fz_value_at(&one.columns[i], 0, NULL);
                    assert_true(have.is_null || want.is_null ? have.is_null && want.is_null
                                                             : fz_value_equal(&have, &want));
                }
            }
            fz_arena_dispose(&strings);
        }
        fz_parquet_reader_close(reader);
    }
    while (r < ROWS && is_gone(p, r)) {
        r++;
    }
    assert_int_equal(r, ROWS);
    fz_batch_dispose(&batch);
    fz_batch_dispose(&one);
}

static struct fz_parquet_file *open_sample(struct fz_store *store, int64_t rows, struct sample_sink *sink) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_parquet_metrics metrics;
    struct fz_parquet_file *file;
    FZ_OK_OR_FAIL(sample_write_flat(sample_open(sink), DEFAULTS, rows, &arena, &metrics, &err), &err);
    FZ_OK_OR_FAIL(fz_store_put(store, "memory://a", sink->bytes.ptr, sink->bytes.len, false, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, "memory://a", -1, NULL, &file, &err), &err);
    fz_arena_dispose(&arena);
    return file;
}

static void patched_files_are_like_new_ones(void **state) {
    (void)state;
    static const struct pattern patterns[] = {
        {.row_every = 2999}, // few pages
        {.row_every = 2999, .all_columns = true},
        {.gone_every = 4001},
        {.gone_every = 3001, .row_every = 1999, .all_columns = true},
        {.gone_from = 1900, .gone_to = 4100}, // whole pages
        {.gone_from = 7000, .gone_to = 13000, .row_every = 5003},
        {.gone_from = 0, .gone_to = 1}, // the smallest of some columns
        {.row_every = 9, .all_columns = true}, // every page
        {.gone_every = 9},
        {.row_every = 2999, .all_columns = true, .dict_bytes = 1000}, // no room for new entries
    };
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        const struct pattern *p = &patterns[k];
        struct fz_err err = FZ_ERR_INIT;
        struct fz_store *store;
        struct fz_arena types = {0}, arena = {0};
        struct fz_field fields[N];
        int columns[N];
        struct sample_sink in, out;
        struct fz_parquet_writer *writer;
        struct fz_parquet_metrics got, want;
        struct fz_parquet_copy_counts counts = {0};
        struct fz_parquet_write options = DEFAULTS;
        FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
        patch_fields(&types, fields, columns);
        struct fz_parquet_file *file = open_sample(store, ROWS, &in);
        options.fields = fields;
        options.n_fields = N;
        FZ_OK_OR_FAIL(fz_parquet_writer_open(sample_open(&out), &options, &writer, &err), &err);
        int64_t first = 0;
        for (size_t g = 0; g < fz_parquet_file_meta(file)->n_row_groups; g++) {
            struct fz_parquet_group *group;
            FZ_OK_OR_FAIL(patch_group(file, g, first, p, fields, columns, &counts, true, &group, &err), &err);
            FZ_OK_OR_FAIL(fz_parquet_writer_add(writer, group, &err), &err);
            first += fz_parquet_file_meta(file)->row_groups[g].num_rows;
        }
        FZ_OK_OR_FAIL(fz_parquet_writer_close(writer, &arena, &got, &err), &err);
        fz_parquet_file_unref(file);
        FZ_OK_OR_FAIL(fz_store_put(store, "memory://b", out.bytes.ptr, out.bytes.len, false, &err), &err);
        FZ_OK_OR_FAIL(fz_parquet_file_open(store, "memory://b", -1, NULL, &file, &err), &err);
        same_rows(file, p, fields, columns);
        write_expected(p, fields, columns, &arena, &want);
        same_metrics(&want, &got);
        bool sparse = p->row_every != 9 && p->gone_every != 9;
        assert_true(sparse ? counts.pages_copied > counts.pages_encoded : counts.pages_copied < counts.pages_encoded);
        fz_parquet_file_unref(file);
        fz_buf_dispose(&in.bytes);
        fz_buf_dispose(&out.bytes);
        fz_arena_dispose(&types);
        fz_arena_dispose(&arena);
        fz_store_unref(store);
    }
}

// ---- nested columns

static void same_nested_rows(struct fz_store *store, const char *name, const struct fz_field *fields,
                             const struct pattern *p) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch got = {0}, want = {0};
    struct fz_arena strings = {0}, values = {0};
    struct fz_parquet_file *file;
    int64_t r = 0;
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, name, -1, NULL, &file, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&got, fields, SAMPLE_NESTED_FIELDS, FZ_BATCH_ROWS, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&want, fields, SAMPLE_NESTED_FIELDS, FZ_BATCH_ROWS, &err), &err);
    FZ_OK_OR_FAIL(sample_reserve_children(&want, &err), &err);
    for (size_t g = 0; g < fz_parquet_file_meta(file)->n_row_groups; g++) {
        struct fz_parquet_reader *reader;
        struct fz_parquet_read read = {.fields = fields, .n_fields = SAMPLE_NESTED_FIELDS, .row_group = g};
        FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
        for (;;) {
            struct sample_fill fill = {0};
            FZ_OK_OR_FAIL(fz_parquet_reader_next(reader, &got, NULL, &err), &err);
            if (got.n_rows == 0) {
                break;
            }
            for (int c = 0; c < SAMPLE_NESTED_FIELDS; c++) {
                fz_column_reset(&want.columns[c]);
            }
            for (size_t i = 0; i < got.n_rows; i++, r++) {
                while (is_gone(p, r)) {
                    r++;
                }
                sample_nested_row(&want, i, r, &fill, &strings);
                for (int c = 0; c < SAMPLE_NESTED_FIELDS; c++) {
                    struct fz_value a = fz_value_at(&got.columns[c], i, &values),
                                    b = fz_value_at(&want.columns[c], i, &values);
                    assert_true(fz_value_equal(&a, &b));
                }
            }
            fz_arena_dispose(&strings);
            fz_arena_dispose(&values);
        }
        fz_parquet_reader_close(reader);
    }
    while (r < ROWS && is_gone(p, r)) {
        r++;
    }
    assert_int_equal(r, ROWS);
    fz_parquet_file_unref(file);
    fz_batch_dispose(&got);
    fz_batch_dispose(&want);
}

static enum fz_code leave_nested_group(struct fz_parquet_file *file, size_t g, int64_t first, const struct pattern *p,
                                       const struct fz_field *fields, struct fz_parquet_copy_counts *counts,
                                       bool strict, struct fz_parquet_group **group, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static uint32_t gone[GROUP];
    uint8_t copied[SAMPLE_NESTED_FIELDS], assigned[SAMPLE_NESTED_FIELDS] = {0};
    struct fz_parquet_patch patch = {.gone = gone, .assigned = assigned};
    struct fz_parquet_copy copy = {.file = file, .row_group = g, .patch = &patch, .counts = counts};
    struct fz_parquet_encoder *encoder = NULL;
    struct fz_parquet_write options = DEFAULTS;
    int64_t n = fz_parquet_file_meta(file)->row_groups[g].num_rows;
    *group = NULL;
    options.fields = fields;
    options.n_fields = SAMPLE_NESTED_FIELDS;
    for (int64_t r = 0; r < n && r < GROUP; r++) {
        gone[patch.n_gone] = (uint32_t)r;
        patch.n_gone += is_gone(p, first + r);
    }
    FZ_TRY(fz_parquet_encoder_open(&options, &encoder, err));
    size_t n_copied = fz_parquet_copy_fields(encoder, &copy, copied);
    assert_true(!strict || n_copied == SAMPLE_NESTED_FIELDS);
    if (n_copied == SAMPLE_NESTED_FIELDS) {
        FZ_TRY(fz_parquet_copy_group(encoder, &copy, copied, NULL, group, err));
    }
out:
    fz_parquet_encoder_free(encoder);
    return rc;
}

// Rows leave structs, lists and maps page by page too; what is inside keeps its footer counts.
static void rows_leave_nested_columns(void **state) {
    (void)state;
    static const struct pattern patterns[] = {{.gone_every = 4001},
                                              {.gone_from = 1900, .gone_to = 4100},
                                              {.gone_from = 0, .gone_to = 1},
                                              {.gone_from = 7000, .gone_to = 13000, .gone_every = 3001},
                                              {.gone_every = 9}};
    for (size_t k = 0; k < sizeof patterns / sizeof *patterns; k++) {
        const struct pattern *p = &patterns[k];
        struct fz_err err = FZ_ERR_INIT;
        struct fz_store *store;
        struct fz_arena types = {0}, arena = {0};
        struct fz_field fields[SAMPLE_NESTED_FIELDS];
        struct sample_sink in, out;
        struct fz_parquet_metrics metrics;
        struct fz_parquet_file *file;
        struct fz_parquet_writer *writer;
        struct fz_parquet_copy_counts counts = {0};
        struct fz_parquet_write options = DEFAULTS;
        FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
        FZ_OK_OR_FAIL(sample_write_nested(sample_open(&in), options, ROWS, &arena, &metrics, &err), &err);
        FZ_OK_OR_FAIL(fz_store_put(store, "memory://a", in.bytes.ptr, in.bytes.len, false, &err), &err);
        FZ_OK_OR_FAIL(fz_parquet_file_open(store, "memory://a", -1, NULL, &file, &err), &err);
        sample_nested_fields(&types, fields);
        options.fields = fields;
        options.n_fields = SAMPLE_NESTED_FIELDS;
        FZ_OK_OR_FAIL(fz_parquet_writer_open(sample_open(&out), &options, &writer, &err), &err);
        int64_t first = 0;
        for (size_t g = 0; g < fz_parquet_file_meta(file)->n_row_groups; g++) {
            struct fz_parquet_group *group;
            FZ_OK_OR_FAIL(leave_nested_group(file, g, first, p, fields, &counts, true, &group, &err), &err);
            FZ_OK_OR_FAIL(fz_parquet_writer_add(writer, group, &err), &err);
            first += fz_parquet_file_meta(file)->row_groups[g].num_rows;
        }
        FZ_OK_OR_FAIL(fz_parquet_writer_close(writer, &arena, &metrics, &err), &err);
        FZ_OK_OR_FAIL(fz_store_put(store, "memory://b", out.bytes.ptr, out.bytes.len, false, &err), &err);
        same_nested_rows(store, "memory://b", fields, p);
        assert_true(p->gone_every == 9 ? counts.pages_copied < counts.pages_encoded
                                       : counts.pages_copied > counts.pages_encoded);
        for (size_t c = 0; c < metrics.n_columns; c++) { // s.a is NULL with s, or by itself
            int64_t want = 0;
            for (int64_t r = 0; r < ROWS; r++) {
                want += !is_gone(p, r) && (r % 11 == 5 || r % 3 == 0);
            }
            assert_true(metrics.columns[c].field_id != 11 || metrics.columns[c].null_count == want);
        }
        fz_parquet_file_unref(file);
        fz_buf_dispose(&in.bytes);
        fz_buf_dispose(&out.bytes);
        fz_arena_dispose(&types);
        fz_arena_dispose(&arena);
        fz_store_unref(store);
    }
}

// Bytes of the file damaged one after the other: an error or a row group, never a crash (the sanitizers watch).
static void damage(struct fz_store *store, struct fz_buf *bytes, const struct fz_field *fields, const int *columns) {
    static const struct pattern p = {.gone_every = 11, .row_every = 40, .all_columns = true};
    struct fz_err err = FZ_ERR_INIT;
    for (size_t at = 4; at < bytes->len - 8; at += 3) {
        struct fz_err inner = FZ_ERR_INIT;
        struct fz_parquet_file *file;
        struct fz_parquet_group *group = NULL;
        char kept = bytes->ptr[at];
        bytes->ptr[at] = (char)(kept ^ (1 << at % 8));
        FZ_OK_OR_FAIL(fz_store_put(store, "memory://damaged", bytes->ptr, bytes->len, false, &err), &err);
        bytes->ptr[at] = kept;
        if (fz_parquet_file_open(store, "memory://damaged", -1, NULL, &file, &inner) != FZ_OK) {
            continue;
        }
        if (fz_parquet_file_meta(file)->n_row_groups > 0 && columns != NULL) {
            patch_group(file, 0, 0, &p, fields, columns, NULL, false, &group, &inner);
        } else if (fz_parquet_file_meta(file)->n_row_groups > 0) {
            leave_nested_group(file, 0, 0, &p, fields, NULL, false, &group, &inner);
        }
        fz_parquet_group_free(group);
        fz_parquet_file_unref(file);
    }
}

static void damaged_files_are_survived(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store;
    struct fz_arena types = {0}, arena = {0};
    struct fz_field fields[N], nested[SAMPLE_NESTED_FIELDS];
    int columns[N];
    struct sample_sink in;
    struct fz_parquet_metrics metrics;
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    patch_fields(&types, fields, columns);
    fz_parquet_file_unref(open_sample(store, 60, &in));
    damage(store, &in.bytes, fields, columns);
    fz_buf_dispose(&in.bytes);
    struct fz_parquet_write options = DEFAULTS;
    options.page_rows = 20;
    options.codec = FZ_PQ_UNCOMPRESSED;
    sample_nested_fields(&types, nested);
    FZ_OK_OR_FAIL(sample_write_nested(sample_open(&in), options, 90, &arena, &metrics, &err), &err);
    damage(store, &in.bytes, nested, NULL);
    fz_buf_dispose(&in.bytes);
    fz_arena_dispose(&types);
    fz_arena_dispose(&arena);
    fz_store_unref(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(patched_files_are_like_new_ones),
        FZ_TEST(rows_leave_nested_columns),
        FZ_TEST(damaged_files_are_survived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
