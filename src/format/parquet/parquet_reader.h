// Reading Parquet files into column batches, by field id. One file = one shared, immutable `fz_parquet_file` (footer, schema
// mapping); any number of threads read different row groups of it, each with its own reader.
#ifndef FZ_FORMAT_PARQUET_PARQUET_READER_H
#define FZ_FORMAT_PARQUET_PARQUET_READER_H

#include "data/batch.h"
#include "format/parquet/parquet_meta.h"
#include "store/store.h"

struct fz_parquet_file; // ref-counted
struct fz_parquet_reader; // one thread's cursor over one row group

// Reads the footer. `size_bytes` -1: asks the store. CORRUPT names the file and what is wrong.
enum fz_code fz_parquet_file_open(struct fz_store *store, const char *location, int64_t size_bytes,
                                  struct fz_cancel *cancel, struct fz_parquet_file **out, struct fz_err *err);
struct fz_parquet_file *fz_parquet_file_ref(struct fz_parquet_file *file);
void fz_parquet_file_unref(struct fz_parquet_file *file);
const struct fz_pq_file *fz_parquet_file_meta(const struct fz_parquet_file *file);
bool fz_parquet_file_has_field(const struct fz_parquet_file *file, int32_t field_id);
bool fz_parquet_file_has_ids(const struct fz_parquet_file *file); // any field id at all
// The file's own schema as an Iceberg struct type (for files without a table): ids as in the file, else assigned from 1 in
// pre-order. Lives as long as the file.
const struct fz_type *fz_parquet_file_schema(const struct fz_parquet_file *file);
// The same with VARIANT where a group is annotated as one; types that differ from the file's own are in `arena`. NULL: no memory.
const struct fz_type *fz_parquet_file_logical_schema(const struct fz_parquet_file *file, struct fz_arena *arena);
// Statistics of a column of a row group as values of `type` (promoted where the file's type is narrower); false when there are none.
struct fz_parquet_stats {
    bool has_min_max;
    struct fz_value *min, *max; // in the caller's arena
    int64_t value_count, null_count; // -1 unknown
};
bool fz_parquet_file_stats(const struct fz_parquet_file *file, size_t row_group, int32_t field_id,
                           const struct fz_type *type, struct fz_arena *arena, struct fz_parquet_stats *out);

// A projection: wanted fields in the caller's types; a column of the file is matched by field id (nested ones too), promoted where
// Iceberg allows, and read as NULL, or as initial_default where the field has one, when the file lacks it. With `names` the match is by name (files without ids).
struct fz_parquet_row_range {
    int64_t start, end; // rows of a row group, end not included
};
struct fz_parquet_read {
    const struct fz_field *fields; // batch column i = fields[i]
    size_t n_fields;
    size_t row_group;
    bool by_name;
    bool deferred; // bytes are asked for by the first call of next, not at once
    // Only these rows will be read, ascending and apart, the others are passed over with fz_parquet_reader_skip: pages of flat columns
    // that hold none of them are not fetched, where the file has an offset index. NULL: all rows. Borrowed for the call of open.
    const struct fz_parquet_row_range *rows;
    size_t n_rows;
    // Special columns that are not in the file: field ids 2147483645 (_pos) are filled with the row's position in the file.
};
enum fz_code fz_parquet_reader_open(struct fz_parquet_file *file, const struct fz_parquet_read *read,
                                    struct fz_cancel *cancel, struct fz_parquet_reader **out, struct fz_err *err);
// Up to FZ_BATCH_ROWS rows into the batch's columns (storage prepared by the caller, see data/batch.h); n_rows 0 at the end.
// Strings stay valid until the next call. `first_row_pos` (may be NULL): position in the file of the batch's first row.
enum fz_code fz_parquet_reader_next(struct fz_parquet_reader *reader, struct fz_batch *batch, int64_t *first_row_pos,
                                    struct fz_err *err);
// The same with at most `max_rows` rows (at least 1).
enum fz_code fz_parquet_reader_next_upto(struct fz_parquet_reader *reader, struct fz_batch *batch, size_t max_rows,
                                         int64_t *first_row_pos, struct fz_err *err);
// Passes over the next `rows` rows (at most to the end of the row group). Pages of flat columns that hold only such rows are neither
// inflated nor decoded; the work is done by the next call of next.
enum fz_code fz_parquet_reader_skip(struct fz_parquet_reader *reader, int64_t rows, struct fz_err *err);
int64_t fz_parquet_reader_bytes(const struct fz_parquet_reader *reader); // of the chunks or pages it reads, compressed
size_t fz_parquet_reader_batch_rows(const struct fz_parquet_reader *reader); // most rows that one call of next gives
void fz_parquet_reader_close(struct fz_parquet_reader *reader);

#endif
