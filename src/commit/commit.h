// Turning written files into a snapshot: manifests, manifest list, summary, conflict validation, compare-and-swap with retry,
// reconciliation of unknown outcomes. iceberg-facts 5, 7.3-7.6, 8. The only code that makes rows visible.
#ifndef FZ_COMMIT_COMMIT_H
#define FZ_COMMIT_COMMIT_H

#include "catalog/catalog.h"
#include "data/expr.h"
#include "table/manifest.h"

enum fz_commit_kind {
    FZ_COMMIT_APPEND, // INSERT: only adds data; merge-append
    FZ_COMMIT_OVERWRITE, // copy-on-write: removes data files (and their file-scoped deletes), adds data files
    FZ_COMMIT_ROW_DELTA, // merge-on-read: adds data and delete files, removes delete files that new ones replace
    FZ_COMMIT_REPLACE, // compaction: same rows in other files
};
enum fz_isolation { FZ_ISOLATION_NONE, FZ_ISOLATION_SNAPSHOT, FZ_ISOLATION_SERIALIZABLE };

struct fz_commit_request {
    struct fz_catalog *catalog;
    const struct fz_table_name *table;
    struct fz_store *store;
    struct fz_metadata *base; // what was scanned and written against
    const char *branch; // NULL = main
    const char *wap_id; // write-audit-publish: the snapshot is added and no branch moves; NULL: not staged
    enum fz_commit_kind kind;
    const struct fz_data_file *added; // data and delete files; `content` says which
    size_t n_added;
    const struct fz_data_file
        *removed; // data and delete files as read from the manifests (path, content, counts, DV offset)
    size_t n_removed;
    const char *operation; // NULL: derived as Java does (iceberg-facts 8.1); else forced ("delete" for DELETE)
    // Conflict validation against everything committed after base's head.
    enum fz_isolation isolation;
    const struct fz_expr *conflict_filter; // NULL: all rows
    int64_t scanned_snapshot_id; // -1: table was empty
    bool validate_deletes_too; // UPDATE / MERGE merge-on-read: also new delete files and files removed by deletes
    const char *const *
        referenced_files; // data files that must still be there (position deletes point at them, or they are rewritten)
    size_t n_referenced_files;
    const struct fz_property *summary; // extra entries (spark.merge-into.*, frazil.*, engine-name …)
    size_t n_summary;
    bool replace_partitions; // dynamic overwrite: also writes replace-partitions=true
    int64_t
        added_data_sequence_number; // REPLACE: age of the added data files (use-starting-sequence-number); 0: this commit's
    // Re-checked on every attempt with the metadata the attempt builds on (a pipeline's source positions); NULL: none.
    enum fz_code (*check_head)(void *ctx, const struct fz_metadata *head, struct fz_err *err);
    void *check_ctx;
    struct fz_cancel *cancel; // honoured until the swap
    const struct fz_log *log;
};
struct fz_commit_result {
    struct fz_metadata *metadata; // the caller unrefs
    int64_t snapshot_id;
    int attempts;
};
// Commits one snapshot, also when nothing was added or removed. On failure the manifests and lists of this commit are removed
// (never data files: their writer does that, and never when the outcome is unknown).
// CONFLICT: validation failed (message as Java's, flag not retryable) or all retries lost. COMMIT_UNKNOWN: see architecture.md 4.7.
enum fz_code fz_commit_snapshot(const struct fz_commit_request *request, struct fz_commit_result *out,
                                struct fz_err *err);

// Plain metadata changes (ALTER TABLE): load, let `build` make updates for what it finds, commit, retry on conflict.
typedef enum fz_code (*fz_build_updates_fn)(void *ctx, struct fz_arena *arena, struct fz_metadata *current,
                                            struct fz_update **updates, size_t *n, struct fz_err *err);
enum fz_code fz_commit_updates(struct fz_catalog *catalog, const struct fz_table_name *table, fz_build_updates_fn build,
                               void *ctx, struct fz_metadata **out, struct fz_err *err);

#endif
