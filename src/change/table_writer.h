// Rows into data files of a table: partition by partition, at the target file size, in the table's format and properties.
// A sink for fz_duck_run_into and a plain push interface for copied rows. Files are named by operation id; what is not committed is
// removed by fz_table_writer_abort. iceberg-facts 7.8, 7.12, 1.2-1.4.
#ifndef FZ_CHANGE_TABLE_WRITER_H
#define FZ_CHANGE_TABLE_WRITER_H

#include "data/stream.h"
#include "format/parquet/parquet_writer.h"
#include "store/store.h"
#include "table/manifest.h"

struct fz_table_writer;
struct fz_table_writer_options {
    struct fz_store *store;
    struct fz_metadata *metadata; // a reference is taken; current schema, default spec, sort order, properties
    bool with_lineage; // two more columns at the end: _row_id, _last_updated_sequence_number (v3 rewrites)
    const char *operation_id; // uuid, part of every file name
    struct fz_cancel *cancel;
    struct fz_progress *progress; // may be NULL
    int64_t
        memory_bytes; // for partitions held open; past it rows of others wait in temporary files. 0: an eighth of the machine
    const char *temp_directory; // for those; NULL: $TMPDIR, or /tmp
    int32_t sort_order_id; // recorded in the files; 0 none
};
enum fz_code fz_table_writer_new(const struct fz_table_writer_options *options, struct fz_table_writer **out,
                                 struct fz_err *err);
// Batch columns: the schema's top-level fields in order (then lineage). Any thread. `selection` as in fz_parquet_writer_append.
enum fz_code fz_table_writer_push(struct fz_table_writer *writer, const struct fz_batch *batch,
                                  const uint32_t *selection, size_t n, struct fz_err *err);
// Complete row groups, for rows that are copied from other files of the table. An encoder (the caller's) has the fields and options of
// the files that are written. takes_partition: whether a file's spec and tuple are ones this writer writes to. add_group puts a row
// group of that encoder, or one copied by its schema, into the file of the partition; takes the group over, also on error. Any thread.
enum fz_code fz_table_writer_encoder(const struct fz_table_writer *writer, struct fz_parquet_encoder **out,
                                     struct fz_err *err);
bool fz_table_writer_takes_partition(const struct fz_table_writer *writer, int32_t spec_id,
                                     const struct fz_value *partition);
// For each of n rows of a batch: out[i] = 1 when the row belongs to partitions[i] (a tuple of the writer's spec; NULL: any will do).
enum fz_code fz_table_writer_stays(const struct fz_table_writer *writer, const struct fz_batch *batch,
                                   const uint32_t *rows, size_t n, const struct fz_value *const *partitions,
                                   uint8_t *out, struct fz_err *err);
enum fz_code fz_table_writer_add_group(struct fz_table_writer *writer, const struct fz_value *partition,
                                       struct fz_parquet_group *group, struct fz_err *err);
// Closes all files and gives their descriptions: the array lives in `arena`, what it points to as long as the writer. After that
// the writer can only be aborted and freed.
enum fz_code fz_table_writer_finish(struct fz_table_writer *writer, struct fz_arena *arena, struct fz_data_file **out,
                                    size_t *n, struct fz_err *err);
void fz_table_writer_abort(struct fz_table_writer *writer); // removes every file it made
void fz_table_writer_free(struct fz_table_writer *writer);

#endif
