// Writes the sample files into the folder FRAZIL_PARQUET_OUT, with the metrics beside them as text, for
// test/interop/test_parquet_files.py. Without that variable there is nothing to do.
#include "leak_check.h"

#include "base/text.h"
#include "format/parquet_sample.h"

static void save(const char *folder, const char *name, const struct sample_sink *sink,
                 const struct fz_parquet_metrics *m) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.parquet", folder, name);
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(sink->bytes.ptr, 1, sink->bytes.len, f), sink->bytes.len);
    fclose(f);
    snprintf(path, sizeof path, "%s/%s.metrics", folder, name);
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "{\"records\":%lld,\"bytes\":%lld,\"splits\":[", (long long)m->record_count,
            (long long)m->file_size_bytes);
    for (size_t i = 0; i < m->n_split_offsets; i++) {
        fprintf(f, "%s%lld", i > 0 ? "," : "", (long long)m->split_offsets[i]);
    }
    fprintf(f, "],\"columns\":{");
    for (size_t i = 0; i < m->n_columns; i++) {
        const struct fz_parquet_column_metrics *c = &m->columns[i];
        fprintf(f, "%s\"%d\":{\"size\":%lld", i > 0 ? "," : "", c->field_id, (long long)c->column_size);
        if (c->has_counts) {
            fprintf(f, ",\"values\":%lld,\"nulls\":%lld,\"nans\":%lld", (long long)c->value_count,
                    (long long)c->null_count, (long long)c->nan_count);
        }
        for (int upper = 0; upper < 2 && c->has_bounds; upper++) {
            struct fz_buf raw = {0}, hex = {0};
            struct fz_err err = FZ_ERR_INIT;
            const struct fz_value *v = upper ? &c->upper : &c->lower;
            if (!v->is_null) {
                FZ_OK_OR_FAIL(fz_value_to_bound(&raw, v, &err), &err);
                fz_hex_encode(&hex, raw.ptr, raw.len);
                fprintf(f, ",\"%s\":\"%s\"", upper ? "upper" : "lower", hex.ptr != NULL ? hex.ptr : "");
            }
            fz_buf_dispose(&raw);
            fz_buf_dispose(&hex);
        }
        fprintf(f, "}");
    }
    fprintf(f, "}}\n");
    fclose(f);
}

static void write_files(void **state) {
    (void)state;
    const char *folder = getenv("FRAZIL_PARQUET_OUT");
    if (folder == NULL) {
        skip();
    }
    static const struct {
        const char *name;
        enum fz_pq_codec codec;
    } codecs[] = {{"none", FZ_PQ_UNCOMPRESSED}, {"snappy", FZ_PQ_SNAPPY}, {"gzip", FZ_PQ_GZIP},
                  {"brotli", FZ_PQ_BROTLI},     {"zstd", FZ_PQ_ZSTD},     {"lz4", FZ_PQ_LZ4_RAW}};
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_parquet_metrics m;
    struct sample_sink sink;
    char name[64];
    const struct fz_key_value kv[] = {{"iceberg.schema", "{}"}, {"delete-type", "position"}};
    struct fz_parquet_write base = {.level = -1,
                                    .default_metrics = FZ_METRICS_TRUNCATE,
                                    .default_metrics_length = 16,
                                    .key_values = kv,
                                    .n_key_values = 2};
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        base.codec = codecs[i].codec;
        snprintf(name, sizeof name, "flat_%s", codecs[i].name);
        FZ_OK_OR_FAIL(sample_write_flat(sample_open(&sink), base, 45000, &arena, &m, &err), &err);
        save(folder, name, &sink, &m);
        fz_buf_dispose(&sink.bytes);
    }
    base.codec = FZ_PQ_ZSTD;
    FZ_OK_OR_FAIL(sample_write_flat(sample_open(&sink), base, 0, &arena, &m, &err), &err);
    save(folder, "flat_empty", &sink, &m);
    fz_buf_dispose(&sink.bytes);
    FZ_OK_OR_FAIL(sample_write_flat(sample_open(&sink), base, 1, &arena, &m, &err), &err);
    save(folder, "flat_one", &sink, &m);
    fz_buf_dispose(&sink.bytes);
    FZ_OK_OR_FAIL(sample_write_nested(sample_open(&sink), base, 50000, &arena, &m, &err), &err);
    save(folder, "nested", &sink, &m);
    fz_buf_dispose(&sink.bytes);
    base.page_rows = 100;
    base.row_group_rows = 1050;
    base.page_size_bytes = 500;
    FZ_OK_OR_FAIL(sample_write_nested(sample_open(&sink), base, 5000, &arena, &m, &err), &err);
    save(folder, "nested_small", &sink, &m);
    fz_buf_dispose(&sink.bytes);
    base.page_rows = base.row_group_rows = base.page_size_bytes = 0;
    static const int64_t text_rows[] = {250000, 250000, 5000, 50000, 120000};
    for (int kind = 0; kind < 5; kind++) {
        snprintf(name, sizeof name, "text_%d", kind);
        FZ_OK_OR_FAIL(sample_write_text(sample_open(&sink), base, kind, text_rows[kind], &arena, &m, &err), &err);
        save(folder, name, &sink, &m);
        fz_buf_dispose(&sink.bytes);
    }
    base.dict_size_bytes = 60000; // 1,000 texts fit, then no more
    FZ_OK_OR_FAIL(sample_write_text(sample_open(&sink), base, 4, 120000, &arena, &m, &err), &err);
    save(folder, "text_overflow", &sink, &m);
    fz_buf_dispose(&sink.bytes);
    base.row_group_size_bytes = 200000;
    base.encodings = FZ_ENCODINGS_PLAIN; // else 100,000 rows need less
    FZ_OK_OR_FAIL(sample_write_text(sample_open(&sink), base, 1, 250000, &arena, &m, &err), &err);
    save(folder, "text_groups", &sink, &m);
    fz_buf_dispose(&sink.bytes);
    fz_arena_dispose(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(write_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
