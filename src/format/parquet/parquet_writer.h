// Writing Parquet files that parquet-mr, Arrow, DuckDB and Spark read: field ids on every column, 3-level lists, standard maps,
// dictionary encoding with fallback to PLAIN or DELTA, data page v1, statistics in min_value/max_value, page index, CRC.
// iceberg-facts 7.7 (bounds) and 7.12 (physical types).
#ifndef FZ_FORMAT_PARQUET_PARQUET_WRITER_H
#define FZ_FORMAT_PARQUET_PARQUET_WRITER_H

#include "data/value.h"
#include "format/parquet/parquet_meta.h"
#include "store/store.h"

struct fz_parquet_writer; // one thread at a time

enum fz_metrics_mode { FZ_METRICS_NONE, FZ_METRICS_COUNTS, FZ_METRICS_TRUNCATE, FZ_METRICS_FULL };
struct fz_parquet_column_options { // per top-level or nested leaf field id; what is not listed gets the defaults
    int32_t field_id;
    enum fz_metrics_mode metrics;
    int metrics_length; // TRUNCATE
    struct fz_parquet_bloom_options { // columns of type boolean have none
        bool enabled;
        double fpp; // 0 < fpp < 1; 0: 0.01
        int64_t ndv; // distinct values to expect in a row group; 0: they are counted
        bool adaptive; // counted although `ndv` is given
        size_t max_bytes; // of one filter; 0: 1 MB
    } bloom;
    bool no_dictionary;
};
// What pages without a dictionary may use besides PLAIN. Spark's own vectorised reader (4.1) and Iceberg's (1.12) read all DELTA
// encodings, Spark's does not read BYTE_STREAM_SPLIT.
enum fz_parquet_encodings {
    FZ_ENCODINGS_DELTA, // DELTA_* where smaller: the default
    FZ_ENCODINGS_PLAIN, // for readers that know no other
    FZ_ENCODINGS_ALL, // also BYTE_STREAM_SPLIT for floating point numbers where smaller
};
// Scratch that encoders with the same options share; any number of threads.
struct fz_parquet_pool;
enum fz_code fz_parquet_pool_new(struct fz_parquet_pool **out, struct fz_err *err);
void fz_parquet_pool_free(struct fz_parquet_pool *pool); // after the encoders

struct fz_parquet_write {
    const struct fz_field *fields; // top level, in file order
    size_t n_fields;
    enum fz_pq_codec codec;
    int level; // -1: default; for zstd 1, or quicker where that is not larger
    enum fz_parquet_encodings encodings;
    struct fz_parquet_pool *pool; // may be NULL
    int64_t row_group_rows; // cut after this many rows, 0 = default (about 100,000)
    int64_t row_group_size_bytes; // or this many bytes
    int64_t page_rows, page_size_bytes, dict_size_bytes; // 0 = defaults 20,000 / 1 MB / 2 MB
    const struct fz_parquet_column_options *columns;
    size_t n_columns;
    enum fz_metrics_mode default_metrics; // TRUNCATE
    int default_metrics_length; // 16
    const struct fz_key_value *key_values; // e.g. iceberg.schema, delete-type
    size_t n_key_values;
};
// What Iceberg wants to know of the finished file, all in `arena`; counts and bounds only for columns outside lists and maps.
struct fz_parquet_column_metrics {
    int32_t field_id;
    int64_t column_size, value_count, null_count, nan_count; // nan_count -1: not a float
    bool has_counts, has_bounds;
    struct fz_value lower, upper; // truncated by the metrics mode; upper.is_null: no upper bound that short exists
};
struct fz_parquet_metrics {
    int64_t record_count, file_size_bytes;
    struct fz_parquet_column_metrics *columns; // every leaf, sorted by field id
    size_t n_columns;
    int64_t *split_offsets;
    size_t n_split_offsets;
};
// The writer takes the store writer over. Fields and options are copied as needed; types must outlive the writer.
enum fz_code fz_parquet_writer_open(struct fz_writer *sink, const struct fz_parquet_write *options,
                                    struct fz_parquet_writer **out, struct fz_err *err);
// Appends rows [from, from + n) of the batch, or the rows listed in `selection` (n indexes) when not NULL. Batch columns are in the
// order of options->fields. Values are copied. CONSTRAINT when a required column holds NULL (the text names the column).
enum fz_code fz_parquet_writer_append(struct fz_parquet_writer *writer, const struct fz_batch *batch, size_t from,
                                      const uint32_t *selection, size_t n, struct fz_err *err);
// Row groups made apart from the file, so that many threads encode for one file. An encoder takes rows until it is full; finish
// gives the row group (NULL in *out without rows) and starts the next one. Encoders and files that exchange row groups must be
// opened with the same fields and options.
struct fz_parquet_encoder; // one thread at a time
struct fz_parquet_group; // a complete row group in memory
enum fz_code fz_parquet_encoder_open(const struct fz_parquet_write *options, struct fz_parquet_encoder **out,
                                     struct fz_err *err);
// As fz_parquet_writer_append, but ends where the row group is full: *done says how many rows were taken.
enum fz_code fz_parquet_encoder_append(struct fz_parquet_encoder *encoder, const struct fz_batch *batch, size_t from,
                                       const uint32_t *selection, size_t n, size_t *done, struct fz_err *err);
bool fz_parquet_encoder_is_full(const struct fz_parquet_encoder *encoder);
int64_t fz_parquet_encoder_rows(const struct fz_parquet_encoder *encoder);
int64_t fz_parquet_encoder_memory(const struct fz_parquet_encoder *encoder); // what it holds, without scratch
int64_t fz_parquet_encoder_bytes(const struct fz_parquet_encoder *encoder); // estimate
enum fz_code fz_parquet_encoder_finish(struct fz_parquet_encoder *encoder, struct fz_parquet_group **out,
                                       struct fz_err *err);
void fz_parquet_encoder_free(struct fz_parquet_encoder *encoder); // NULL is fine
// Fields (in the order of options->fields) with a nonzero byte are not encoded from now on: their chunks will be copied
// (parquet_copy.h). Rows then make one row group, however many.
void fz_parquet_encoder_leave_out(struct fz_parquet_encoder *encoder, const uint8_t *fields);
int64_t fz_parquet_group_rows(const struct fz_parquet_group *group);
void fz_parquet_group_free(struct fz_parquet_group *group); // NULL is fine
// Writes the row group to the file, behind what was added before (rows appended but not yet in a row group stay behind). Takes the group over, also on error.
enum fz_code fz_parquet_writer_add(struct fz_parquet_writer *writer, struct fz_parquet_group *group,
                                   struct fz_err *err);
int64_t fz_parquet_writer_bytes(
    const struct fz_parquet_writer *writer); // written plus an estimate of what is buffered; for target file size
int64_t fz_parquet_writer_rows(const struct fz_parquet_writer *writer);
// Footer, close of the store object, metrics. Frees the writer, also on error.
enum fz_code fz_parquet_writer_close(struct fz_parquet_writer *writer, struct fz_arena *arena,
                                     struct fz_parquet_metrics *out, struct fz_err *err);
void fz_parquet_writer_abort(struct fz_parquet_writer *writer); // NULL is fine

#endif
