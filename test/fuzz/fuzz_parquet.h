// Reads all of a Parquet file, as the scan would and more: every column, variants put together, statistics, page index, bloom filters.
#ifndef FZ_TEST_FUZZ_PARQUET_H
#define FZ_TEST_FUZZ_PARQUET_H

#include "format/parquet/parquet_prune.h"
#include "format/parquet/parquet_reader_priv.h"
#include "fuzz.h"

enum { FUZZ_MAX_ROWS = 1 << 16 };

static inline void fuzz_read_group(struct fz_parquet_file *file, size_t group, const struct fz_field *fields, size_t n,
                                   bool by_name) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch batch = {0};
    struct fz_parquet_reader *reader = NULL;
    struct fz_parquet_read read = {.fields = fields, .n_fields = n, .row_group = group, .by_name = by_name};
    if (fz_batch_init(&batch, fields, n, FZ_BATCH_ROWS, &err) == FZ_OK &&
        fz_parquet_reader_open(file, &read, NULL, &reader, &err) == FZ_OK) {
        int64_t rows = 0;
        while (rows < FUZZ_MAX_ROWS && fz_parquet_reader_next(reader, &batch, NULL, &err) == FZ_OK &&
               batch.n_rows > 0) {
            rows += (int64_t)batch.n_rows;
            if (rows == (int64_t)batch.n_rows && fz_parquet_reader_skip(reader, 100, &err) != FZ_OK) {
                break;
            }
        }
    }
    fz_parquet_reader_close(reader);
    fz_batch_dispose(&batch);
}

static inline void fuzz_ask(const struct fz_parquet_file *file, size_t group, const struct fz_field *field) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_parquet_stats stats;
    struct fz_parquet_page *pages;
    struct fz_parquet_bloom bloom = {0};
    size_t n = 0;
    fz_parquet_file_stats(file, group, field->id, field->type, &arena, &stats);
    (void)fz_parquet_file_pages(file, group, field->id, field->type, NULL, &arena, &pages, &n, &err);
    if (fz_parquet_file_bloom(file, group, field->id, field->type, NULL, &arena, &bloom, &err) == FZ_OK &&
        bloom.n_blocks > 0) {
        fz_parquet_bloom_may_have(&bloom, 7);
    }
    fz_arena_dispose(&arena);
}

static inline void fuzz_parquet(const uint8_t *data, size_t size) {
    static const char place[] = "memory://fuzz/x.parquet";
    struct fz_err err = FZ_ERR_INIT;
    struct fz_parquet_file *file = NULL;
    struct fz_store *store = fuzz_store(place, data, size);
    if (store != NULL && fz_parquet_file_open(store, place, (int64_t)size, NULL, &file, &err) == FZ_OK) {
        const struct fz_type *schema = fz_parquet_file_schema(file);
        size_t groups = file->meta.n_row_groups < 4 ? file->meta.n_row_groups : 4;
        for (size_t g = 0; g < groups; g++) {
            fuzz_read_group(file, g, schema->fields, schema->n_fields, false);
            for (size_t i = 0; i < schema->n_fields && i < 16; i++) {
                fuzz_read_group(file, g, &schema->fields[i], 1, false); // one column's damage does not hide another's
                fuzz_ask(file, g, &schema->fields[i]);
                if (schema->fields[i].type->id == FZ_TYPE_STRUCT) {
                    struct fz_field variant = {.id = schema->fields[i].id,
                                               .name = schema->fields[i].name,
                                               .type = fz_type_primitive(FZ_TYPE_VARIANT)};
                    fuzz_read_group(file, g, &variant, 1, true);
                }
            }
        }
        fz_parquet_file_unref(file);
    }
    if (store != NULL) {
        fz_store_unref(store);
    }
}

#endif
