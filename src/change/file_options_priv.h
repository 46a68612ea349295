// How a table wants its files: location, target size, codec, metrics modes, all from table properties (iceberg-facts 1.2-1.4).
// Shared by the writers of data files and delete files.
#ifndef FZ_CHANGE_FILE_OPTIONS_PRIV_H
#define FZ_CHANGE_FILE_OPTIONS_PRIV_H

#include "format/parquet/parquet_writer.h"
#include "table/manifest.h"

struct fz_file_options {
    const char *data_path; // <location>/data or write.data.path, no trailing slash
    bool object_storage, object_storage_partitioned;
    int64_t target_file_size_bytes;
    struct fz_parquet_write parquet; // fields not set
};
enum fz_code fz_file_options_for_data(const struct fz_metadata *metadata, const struct fz_schema *schema,
                                      struct fz_arena *arena, struct fz_file_options *out, struct fz_err *err);
// Position delete files: write.delete.parquet.* with fall-back to the data value, full metrics for file_path and pos.
enum fz_code fz_file_options_for_deletes(const struct fz_metadata *metadata, struct fz_arena *arena,
                                         struct fz_file_options *out, struct fz_err *err);
// Full location of a new file; *out is the caller's (fz_free).
enum fz_code fz_file_location(const struct fz_file_options *options, const char *partition_path, const char *file_name,
                              char **out, struct fz_err *err);
// Fills counts, sizes, bounds and split offsets of a data file from the writer's metrics.
enum fz_code fz_file_metrics_to_data_file(struct fz_arena *arena, const struct fz_parquet_metrics *metrics,
                                          struct fz_data_file *out, struct fz_err *err);

#endif
