// One commit in the making: what an attempt reads, plans and writes. Used by the files of commit/ only.
#ifndef FZ_COMMIT_COMMIT_PRIV_H
#define FZ_COMMIT_COMMIT_PRIV_H

#include "base/map.h"
#include "commit/commit.h"

// A manifest of the new snapshot: an old one taken over, or new entries in memory that are encoded but maybe not stored yet.
struct fz_work_manifest {
    struct fz_manifest_file file;
    struct fz_manifest_entry *entries; // NULL: not read
    size_t n_entries;
    bool is_new;
    struct fz_buf bytes; // is_new: encoded
};

struct fz_work_list {
    struct fz_work_manifest *items;
    size_t n, cap;
};

struct fz_removed_file {
    const struct fz_data_file *file; // of the request
    bool found;
};

struct fz_summary_counts {
    int64_t added_data_files, deleted_data_files, added_records, deleted_records;
    int64_t added_delete_files, removed_delete_files;
    int64_t added_position_delete_files, removed_position_delete_files, added_dvs, removed_dvs;
    int64_t added_equality_delete_files, removed_equality_delete_files;
    int64_t added_position_deletes, removed_position_deletes, added_equality_deletes, removed_equality_deletes;
    int64_t added_files_size, removed_files_size;
};

struct fz_attempt {
    struct fz_arena arena;
    struct fz_metadata *head;
    const struct fz_snapshot *parent; // of the new snapshot, NULL: none
    int64_t ref_snapshot_id; // what the branch points to, -1: the branch does not exist
    struct fz_work_list data, deletes;
    struct fz_manifest_file *old_files; // manifests of the parent
    size_t n_old_files;
    struct fz_map removed; // key of a removed file -> struct fz_removed_file *
    size_t n_missing; // removed files not found yet
    struct fz_map removed_data_paths;
    struct fz_summary_counts counts;
    struct fz_map partitions; // "<spec>/<path>" -> struct fz_summary_counts *
    int64_t manifests_created, manifests_kept, manifests_replaced;
};

struct fz_commit {
    const struct fz_commit_request *request;
    struct fz_arena arena; // lives as long as the commit
    const char *branch;
    int64_t snapshot_id;
    char uuid[37];
    int n_lists; // manifest lists written
    int n_manifests; // manifest names used
    const char **written; // locations of this commit's manifests and lists
    size_t n_written, cap_written;
};

// Name of a live file: its path, with the blob's offset for deletion vectors, of which several share a path.
enum fz_code fz_commit_file_key(struct fz_arena *arena, const struct fz_data_file *file, struct fz_str *out,
                                struct fz_err *err);
bool fz_commit_is_dv(const struct fz_data_file *file);
// Stores an object of this commit and remembers it for clean-up.
enum fz_code fz_commit_store(struct fz_commit *c, const char *location, const struct fz_buf *bytes, struct fz_err *err);
// Where metadata files of the table go: write.metadata.path or <location>/metadata.
const char *fz_commit_metadata_path(struct fz_arena *arena, const struct fz_metadata *m, const char *file_name);

// Manifests of a snapshot, from its list or (old v1) from its own array.
enum fz_code fz_commit_read_list(struct fz_commit *c, struct fz_arena *arena, const struct fz_snapshot *snapshot,
                                 struct fz_manifest_file **out, size_t *n, struct fz_err *err);
enum fz_code fz_commit_read_manifest(struct fz_commit *c, struct fz_arena *arena, const struct fz_metadata *m,
                                     const struct fz_manifest_file *file, struct fz_manifest_entry **out, size_t *n,
                                     struct fz_err *err);

// Steps of an attempt.
enum fz_code fz_commit_validate(struct fz_commit *c, struct fz_attempt *a, struct fz_err *err);
enum fz_code fz_commit_plan_manifests(struct fz_commit *c, struct fz_attempt *a,
                                      struct fz_err *err); // filter, add, merge
enum fz_code fz_commit_store_manifests(struct fz_commit *c, struct fz_attempt *a, struct fz_err *err);
void fz_work_list_dispose(struct fz_work_list *list);
enum fz_code fz_commit_count_file(struct fz_attempt *a, const struct fz_data_file *file, bool added,
                                  struct fz_err *err);
const char *fz_commit_operation(const struct fz_commit_request *request);
enum fz_code fz_commit_summary(struct fz_commit *c, struct fz_attempt *a, const struct fz_property **out, size_t *n,
                               struct fz_err *err);

#endif
