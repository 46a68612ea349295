// Statistics files of a snapshot: distinct values by column as theta sketches in a Puffin file, and counts by partition as a Parquet
// file (spec "Table Statistics", "Partition Statistics"). Written beside the metadata and named by it; readers may do without.
// Callers: engine/ (CALL compute_table_stats, compute_partition_stats).
#ifndef FZ_UPKEEP_STATISTICS_H
#define FZ_UPKEEP_STATISTICS_H

#include "commit/commit.h"

struct fz_statistics_request {
    struct fz_catalog *catalog;
    const struct fz_table_name *table;
    struct fz_store *store;
    struct fz_metadata *metadata; // as loaded now
    int64_t snapshot_id; // of the table; the caller has checked that it exists
    const int32_t *field_ids; // columns to count, in the order of the file's blobs (table statistics only)
    size_t n_field_ids;
    struct fz_cancel *cancel;
};
// *location: of the file that was written, in `arena`. What was written is removed again when it cannot be committed.
enum fz_code fz_compute_table_statistics(const struct fz_statistics_request *request, struct fz_arena *arena,
                                         const char **location, struct fz_err *err);
// INVALID_ARG when the table is not partitioned.
enum fz_code fz_compute_partition_statistics(const struct fz_statistics_request *request, struct fz_arena *arena,
                                             const char **location, struct fz_err *err);
bool fz_statistics_can_count(const struct fz_type *type); // a column of this type can have a sketch

#endif
