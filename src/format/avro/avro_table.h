// Avro files as table data: rows into column batches, by field id or by name. The counterpart of parquet_reader.h for files whose
// manifest entry says AVRO. A file is read from its beginning to its end by one thread, a window of it at a time.
#ifndef FZ_FORMAT_AVRO_AVRO_TABLE_H
#define FZ_FORMAT_AVRO_AVRO_TABLE_H

#include "data/batch.h"
#include "store/store.h"

struct fz_avro_file; // the header; immutable, ref-counted
struct fz_avro_table_reader; // one thread's pass over the rows

// `size_bytes` -1: asks the store. CORRUPT names the file.
enum fz_code fz_avro_file_open(struct fz_store *store, const char *location, int64_t size_bytes,
                               struct fz_cancel *cancel, struct fz_avro_file **out, struct fz_err *err);
struct fz_avro_file *fz_avro_file_ref(struct fz_avro_file *file);
void fz_avro_file_unref(struct fz_avro_file *file); // NULL is fine
const struct fz_type *
fz_avro_file_schema(const struct fz_avro_file *file); // a struct; types as Iceberg writes them to Avro
bool fz_avro_file_has_ids(const struct fz_avro_file *file);
bool fz_avro_file_has_field(const struct fz_avro_file *file, int32_t field_id); // top level

// Wanted fields in the caller's types, matched by id or name as in struct fz_parquet_read; what the file lacks is read as
// initial_default or NULL. SCHEMA_MISMATCH when a column cannot be read as the wanted type.
enum fz_code fz_avro_table_reader_open(struct fz_avro_file *file, const struct fz_field *fields, size_t n_fields,
                                       bool by_name, struct fz_cancel *cancel, struct fz_avro_table_reader **out,
                                       struct fz_err *err);
// Up to `max_rows` rows; n_rows 0 at the end. Strings stay valid until the next call.
enum fz_code fz_avro_table_reader_next(struct fz_avro_table_reader *reader, struct fz_batch *batch, size_t max_rows,
                                       int64_t *first_row_pos, struct fz_err *err);
void fz_avro_table_reader_close(struct fz_avro_table_reader *reader); // NULL is fine

#endif
