// Compaction of data files: the same rows in fewer, larger files, deletes applied, as one `replace` snapshot. Which files are worth it
// is decided as Iceberg's bin-pack planner does (iceberg-facts 3.2). Callers: engine/ (CALL rewrite_data_files), scheduling.
#ifndef FZ_UPKEEP_REWRITE_FILES_H
#define FZ_UPKEEP_REWRITE_FILES_H

#include "commit/commit.h"

struct fz_rewrite_options { // zero or negative: Iceberg's default
    int64_t target_file_size_bytes, min_file_size_bytes, max_file_size_bytes;
    int64_t max_group_size_bytes;
    int64_t min_input_files;
    int64_t delete_file_threshold;
    double delete_ratio_threshold;
    bool rewrite_all;
    bool keep_new_sequence_number; // use-starting-sequence-number = false
    const struct fz_expr *filter; // files that may hold such rows; NULL: all
    const char *branch; // NULL: main
};
struct fz_rewrite_request {
    struct fz_catalog *catalog;
    const struct fz_table_name *table;
    struct fz_store *store;
    struct fz_metadata *metadata; // as loaded now
    struct fz_rewrite_options options;
    struct fz_cancel *cancel;
    const struct fz_log *log;
};
struct fz_rewrite_result {
    int64_t rewritten_files, added_files, rewritten_bytes, removed_delete_files;
    int64_t snapshot_id; // -1: nothing was worth rewriting, nothing was committed
};
// CONFLICT when a rewritten file was changed meanwhile. Nothing is left behind on failure, unless the outcome is unknown.
enum fz_code fz_rewrite_data_files(const struct fz_rewrite_request *request, struct fz_rewrite_result *out,
                                   struct fz_err *err);

#endif
