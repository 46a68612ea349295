// Copied row groups: a file copied row group by row group holds the same bytes in its chunks and the same values, counts and bounds as
// the one it was copied from. With FRAZIL_COPY="IN:OUT" a file of any writer is copied, for test/interop/test_copied_files.py.
#include "leak_check.h"

#include "format/parquet/parquet_copy.h"
#include "format/parquet_sample.h"

static const struct fz_parquet_write DEFAULTS = {
    .codec = FZ_PQ_ZSTD, .level = -1, .default_metrics = FZ_METRICS_TRUNCATE, .default_metrics_length = 16};

struct copied {
    struct sample_sink sink;
    struct fz_arena arena;
    struct fz_parquet_metrics metrics;
    size_t n_fields_copied;
};

// The fields that cannot be copied, decoded into the encoder.
static void encode_rest(struct fz_parquet_file *file, size_t row_group, const struct fz_field *fields, size_t n,
                        const uint8_t *copied_fields, struct fz_parquet_encoder *encoder) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_field wanted[64];
    size_t columns[64], k = 0;
    for (size_t i = 0; i < n; i++) {
        if (!copied_fields[i]) {
            wanted[k] = fields[i];
            columns[k++] = i;
        }
    }
    struct fz_batch batch = {0};
    struct fz_column *all = fz_calloc(n, sizeof *all);
    FZ_OK_OR_FAIL(fz_batch_init(&batch, wanted, k, FZ_BATCH_ROWS, &err), &err);
    struct fz_parquet_reader *reader;
    struct fz_parquet_read read = {.fields = wanted, .n_fields = k, .row_group = row_group};
    FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
    fz_parquet_encoder_leave_out(encoder, copied_fields);
    for (;;) {
        FZ_OK_OR_FAIL(fz_parquet_reader_next(reader, &batch, NULL, &err), &err);
        if (batch.n_rows == 0) {
            break;
        }
        for (size_t i = 0; i < k; i++) {
            all[columns[i]] = batch.columns[i];
        }
        struct fz_batch view = {.n_rows = batch.n_rows, .n_columns = n, .columns = all};
        size_t done;
        FZ_OK_OR_FAIL(fz_parquet_encoder_append(encoder, &view, 0, NULL, batch.n_rows, &done, &err), &err);
        assert_int_equal(done, batch.n_rows);
    }
    fz_parquet_reader_close(reader);
    fz_batch_dispose(&batch);
    fz_free(all);
}

static void copy_file(struct fz_store *store, const char *location, const struct fz_field *fields, size_t n,
                      struct copied *out) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_parquet_file *file;
    struct fz_parquet_writer *writer;
    struct fz_parquet_write options = DEFAULTS;
    options.fields = fields;
    options.n_fields = n;
    assert_true(n <= 64);
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, location, -1, NULL, &file, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_writer_open(sample_open(&out->sink), &options, &writer, &err), &err);
    const struct fz_pq_file *meta = fz_parquet_file_meta(file);
    for (size_t g = 0; g < meta->n_row_groups; g++) {
        uint8_t copied_fields[64] = {0};
        struct fz_parquet_encoder *encoder;
        struct fz_parquet_group *group;
        struct fz_parquet_copy copy = {.file = file, .row_group = g};
        FZ_OK_OR_FAIL(fz_parquet_encoder_open(&options, &encoder, &err), &err);
        out->n_fields_copied = fz_parquet_copy_fields(encoder, &copy, copied_fields);
        if (out->n_fields_copied < n) {
            encode_rest(file, g, fields, n, copied_fields, encoder);
        }
        FZ_OK_OR_FAIL(fz_parquet_copy_group(encoder, &copy, copied_fields, NULL, &group, &err), &err);
        assert_int_equal(fz_parquet_group_rows(group), meta->row_groups[g].num_rows);
        FZ_OK_OR_FAIL(fz_parquet_writer_add(writer, group, &err), &err);
        fz_parquet_encoder_free(encoder);
    }
    FZ_OK_OR_FAIL(fz_parquet_writer_close(writer, &out->arena, &out->metrics, &err), &err);
    fz_parquet_file_unref(file);
}

static void put(struct fz_store *store, const char *location, const struct fz_buf *bytes) {
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_store_put(store, location, bytes->ptr, bytes->len, false, &err), &err);
}

static void dispose(struct copied *c) {
    fz_buf_dispose(&c->sink.bytes);
    fz_arena_dispose(&c->arena);
}

static void same_metrics(const struct fz_parquet_metrics *a, const struct fz_parquet_metrics *b) {
    assert_int_equal(a->record_count, b->record_count);
    assert_int_equal(a->n_columns, b->n_columns);
    for (size_t i = 0; i < a->n_columns; i++) {
        const struct fz_parquet_column_metrics *x = &a->columns[i], *y = &b->columns[i];
        assert_int_equal(x->field_id, y->field_id);
        assert_int_equal(x->value_count, y->value_count);
        assert_int_equal(x->null_count, y->null_count);
        assert_int_equal(x->nan_count, y->nan_count);
        assert_int_equal(x->has_counts, y->has_counts);
        assert_int_equal(x->has_bounds, y->has_bounds);
        for (int upper = 0; upper < 2 && x->has_bounds; upper++) {
            struct fz_err err = FZ_ERR_INIT;
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

// Chunks byte for byte, statistics and page indexes alike; `skip` columns were encoded again.
static void same_chunks(struct fz_store *store, const char *a, const char *b, const uint8_t *skip) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_parquet_file *x, *y;
    struct fz_buf one = {0}, two = {0};
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, a, -1, NULL, &x, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, b, -1, NULL, &y, &err), &err);
    FZ_OK_OR_FAIL(fz_store_read_all(store, a, 1 << 30, &one, &err), &err);
    FZ_OK_OR_FAIL(fz_store_read_all(store, b, 1 << 30, &two, &err), &err);
    const struct fz_pq_file *mx = fz_parquet_file_meta(x), *my = fz_parquet_file_meta(y);
    struct fz_arena arena = {0};
    assert_int_equal(mx->n_row_groups, my->n_row_groups);
    for (size_t g = 0; g < mx->n_row_groups; g++) {
        for (size_t i = 0; i < mx->row_groups[g].n_columns; i++) {
            const struct fz_pq_column_chunk *p = &mx->row_groups[g].columns[i], *q = &my->row_groups[g].columns[i];
            if (skip != NULL && skip[i]) {
                continue;
            }
            assert_int_equal(p->total_compressed_size, q->total_compressed_size);
            assert_int_equal(p->total_uncompressed_size, q->total_uncompressed_size);
            assert_int_equal(p->num_values, q->num_values);
            assert_int_equal(p->statistics.null_count, q->statistics.null_count);
            assert_true(fz_str_eq(p->statistics.min, q->statistics.min) &&
                        fz_str_eq(p->statistics.max, q->statistics.max));
            int64_t start_p = p->dictionary_page_offset > 0 ? p->dictionary_page_offset : p->data_page_offset;
            int64_t start_q = q->dictionary_page_offset > 0 ? q->dictionary_page_offset : q->data_page_offset;
            assert_memory_equal(one.ptr + start_p, two.ptr + start_q, (size_t)p->total_compressed_size);
            struct fz_pq_offset_index ip, iq;
            FZ_OK_OR_FAIL(fz_pq_offset_index_decode(&arena, one.ptr + p->offset_index_offset,
                                                    (size_t)p->offset_index_length, &ip, &err),
                          &err);
            FZ_OK_OR_FAIL(fz_pq_offset_index_decode(&arena, two.ptr + q->offset_index_offset,
                                                    (size_t)q->offset_index_length, &iq, &err),
                          &err);
            assert_int_equal(ip.n_pages, iq.n_pages);
            for (size_t k = 0; k < ip.n_pages; k++) {
                assert_int_equal(ip.pages[k].offset - start_p, iq.pages[k].offset - start_q);
                assert_int_equal(ip.pages[k].first_row_index, iq.pages[k].first_row_index);
                assert_int_equal(ip.pages[k].compressed_page_size, iq.pages[k].compressed_page_size);
            }
            assert_int_equal(p->column_index_length, q->column_index_length);
            if (p->column_index_offset > 0) {
                assert_memory_equal(one.ptr + p->column_index_offset, two.ptr + q->column_index_offset,
                                    (size_t)p->column_index_length);
            }
        }
    }
    fz_arena_dispose(&arena);
    fz_buf_dispose(&one);
    fz_buf_dispose(&two);
    fz_parquet_file_unref(x);
    fz_parquet_file_unref(y);
}

static void flat_chunks_are_copied(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store;
    struct copied from = {0}, to = {0}, again = {0};
    struct fz_field fields[SAMPLE_FLAT_FIELDS];
    struct fz_arena types = {0};
    struct fz_parquet_write options = DEFAULTS;
    sample_flat_fields(&types, fields);
    options.row_group_rows = 7000;
    options.page_rows = 1000;
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    FZ_OK_OR_FAIL(sample_write_flat(sample_open(&from.sink), options, 20000, &from.arena, &from.metrics, &err), &err);
    put(store, "memory://a", &from.sink.bytes);
    copy_file(store, "memory://a", fields, SAMPLE_FLAT_FIELDS, &to);
    assert_int_equal(to.n_fields_copied, SAMPLE_FLAT_FIELDS - 2); // floats may hold NaN, nothing says they do not
    put(store, "memory://b", &to.sink.bytes);
    copy_file(store, "memory://b", fields, SAMPLE_FLAT_FIELDS, &again);
    put(store, "memory://c", &again.sink.bytes);
    uint8_t floats[SAMPLE_FLAT_FIELDS] = {0};
    for (size_t i = 0; i < SAMPLE_FLAT_FIELDS; i++) {
        floats[i] = fields[i].type->id == FZ_TYPE_FLOAT || fields[i].type->id == FZ_TYPE_DOUBLE;
    }
    same_chunks(store, "memory://a", "memory://b", floats);
    same_chunks(store, "memory://b", "memory://c", NULL);
    same_metrics(&from.metrics, &to.metrics);
    same_metrics(&from.metrics, &again.metrics);
    dispose(&from);
    dispose(&to);
    dispose(&again);
    fz_arena_dispose(&types);
    fz_store_unref(store);
}

static void nested_chunks_are_copied(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store;
    struct copied from = {0}, to = {0};
    struct fz_field fields[SAMPLE_NESTED_FIELDS];
    struct fz_arena types = {0};
    struct fz_parquet_write options = DEFAULTS;
    sample_nested_fields(&types, fields);
    options.row_group_rows = 1050;
    options.page_rows = 100;
    options.page_size_bytes = 500;
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    FZ_OK_OR_FAIL(sample_write_nested(sample_open(&from.sink), options, 3000, &from.arena, &from.metrics, &err), &err);
    put(store, "memory://a", &from.sink.bytes);
    copy_file(store, "memory://a", fields, SAMPLE_NESTED_FIELDS, &to);
    assert_int_equal(to.n_fields_copied, SAMPLE_NESTED_FIELDS);
    put(store, "memory://b", &to.sink.bytes);
    same_chunks(store, "memory://a", "memory://b", NULL);
    same_metrics(&from.metrics, &to.metrics);
    dispose(&from);
    dispose(&to);
    fz_arena_dispose(&types);
    fz_store_unref(store);
}

// Every byte of the chunks' page headers damaged once: an error or a copy, never a crash (the sanitizers watch).
static void damaged_files_are_survived(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store;
    struct copied from = {0};
    struct fz_field fields[SAMPLE_FLAT_FIELDS];
    struct fz_arena types = {0};
    struct fz_parquet_write options = DEFAULTS;
    sample_flat_fields(&types, fields);
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    FZ_OK_OR_FAIL(sample_write_flat(sample_open(&from.sink), options, 50, &from.arena, &from.metrics, &err), &err);
    options.fields = fields;
    options.n_fields = SAMPLE_FLAT_FIELDS;
    for (size_t at = 4; at < from.sink.bytes.len - 8; at += 3) {
        struct fz_err inner = FZ_ERR_INIT;
        struct fz_parquet_file *file;
        char kept = from.sink.bytes.ptr[at];
        from.sink.bytes.ptr[at] = (char)(kept ^ (1 << at % 8));
        put(store, "memory://damaged", &from.sink.bytes);
        from.sink.bytes.ptr[at] = kept;
        if (fz_parquet_file_open(store, "memory://damaged", -1, NULL, &file, &inner) != FZ_OK) {
            continue;
        }
        if (fz_parquet_file_meta(file)->n_row_groups > 0) {
            struct fz_parquet_encoder *encoder;
            struct fz_parquet_group *group = NULL;
            uint8_t copied_fields[SAMPLE_FLAT_FIELDS];
            const int32_t floats[] = {fields[3].id, fields[4].id};
            struct fz_parquet_copy copy = {.file = file, .without_nans = floats, .n_without_nans = 2};
            FZ_OK_OR_FAIL(fz_parquet_encoder_open(&options, &encoder, &err), &err);
            if (fz_parquet_copy_fields(encoder, &copy, copied_fields) == SAMPLE_FLAT_FIELDS) {
                fz_parquet_copy_group(encoder, &copy, copied_fields, NULL, &group, &inner);
            }
            fz_parquet_group_free(group);
            fz_parquet_encoder_free(encoder);
        }
        fz_parquet_file_unref(file);
    }
    dispose(&from);
    fz_arena_dispose(&types);
    fz_store_unref(store);
}

static void a_file_of_another_writer(void **state) {
    (void)state;
    const char *job = getenv("FRAZIL_COPY");
    if (job == NULL) {
        skip();
    }
    char in[512];
    const char *colon = strchr(job, ':');
    assert_non_null(colon);
    snprintf(in, sizeof in, "%.*s", (int)(colon - job), job);
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store;
    struct fz_parquet_file *file;
    struct copied to = {0};
    FZ_OK_OR_FAIL(fz_store_local_new(&store, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, in, -1, NULL, &file, &err), &err);
    const struct fz_type *schema = fz_parquet_file_schema(file);
    copy_file(store, in, schema->fields, schema->n_fields, &to);
    printf("copied %zu of %zu\n", to.n_fields_copied, schema->n_fields);
    FZ_OK_OR_FAIL(fz_store_put(store, colon + 1, to.sink.bytes.ptr, to.sink.bytes.len, false, &err), &err);
    fz_parquet_file_unref(file);
    dispose(&to);
    fz_store_unref(store);
}

// A required field of an optional struct is NULL where the struct is: without a null count nobody knows how often.
static void null_counts_below_optional_structs_are_wanted(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena types = {0};
    struct fz_store *store;
    struct fz_field p = {.id = 2, .name = "p", .required = true, .type = fz_type_primitive(FZ_TYPE_INT)};
    struct fz_field s = {.id = 1, .name = "s", .type = fz_type_struct(&types, &p, 1)};
    struct fz_batch batch = {0};
    struct copied file = {0};
    struct fz_parquet_writer *writer;
    struct fz_parquet_encoder *encoder;
    struct fz_parquet_file *opened;
    struct fz_parquet_write options = DEFAULTS;
    options.fields = &s;
    options.n_fields = 1;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, &s, 1, 10, &err), &err);
    for (size_t i = 0; i < 10; i++) {
        ((int32_t *)batch.columns[0].children[0].data)[i] = (int32_t)i;
        if (i % 2 == 0) {
            fz_column_set_null(&batch.columns[0], i);
        }
    }
    batch.n_rows = 10;
    FZ_OK_OR_FAIL(fz_parquet_writer_open(sample_open(&file.sink), &options, &writer, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_writer_append(writer, &batch, 0, NULL, 10, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_writer_close(writer, &file.arena, &file.metrics, &err), &err);
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    put(store, "memory://a", &file.sink.bytes);
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, "memory://a", -1, NULL, &opened, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_encoder_open(&options, &encoder, &err), &err);
    struct fz_pq_statistics *statistics =
        (struct fz_pq_statistics *)(uintptr_t)&fz_parquet_file_meta(opened)->row_groups[0].columns[0].statistics;
    struct fz_parquet_copy copy = {.file = opened};
    uint8_t fields[1];
    assert_int_equal(statistics->null_count, 5);
    assert_int_equal(fz_parquet_copy_fields(encoder, &copy, fields), 1);
    statistics->null_count = -1;
    assert_int_equal(fz_parquet_copy_fields(encoder, &copy, fields), 0);
    fz_parquet_encoder_free(encoder);
    fz_parquet_file_unref(opened);
    fz_batch_dispose(&batch);
    dispose(&file);
    fz_arena_dispose(&types);
    fz_store_unref(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(flat_chunks_are_copied),
        FZ_TEST(nested_chunks_are_copied),
        FZ_TEST(null_counts_below_optional_structs_are_wanted),
        FZ_TEST(damaged_files_are_survived),
        FZ_TEST(a_file_of_another_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
