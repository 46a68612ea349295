// Row-level change: match -> decide -> write -> commit. MERGE, UPDATE, DELETE, INSERT in copy-on-write and merge-on-read.
// architecture.md section 4. Callers: engine/ (SQL), cdc/apply (a bound MERGE built without SQL text).
#ifndef FZ_CHANGE_CHANGE_H
#define FZ_CHANGE_CHANGE_H

#include "commit/commit.h"
#include "duck/duck.h"
#include "scan/scan.h"
#include "sql/bound.h"

struct fz_change_target { // the Iceberg table behind fz_sql_table.handle for a change
    struct fz_catalog *catalog;
    struct fz_table_name name;
    struct fz_store *store;
    struct fz_metadata *metadata; // as bound; the statement is pinned to its branch head
    const char *branch; // NULL = main
    const char *wap_id; // the snapshot is staged under this id; NULL: it is published
};
struct fz_change_context {
    struct fz_duck *duck;
    struct fz_cancel *cancel;
    struct fz_budget *budget;
    struct fz_progress *progress; // may be NULL
    const struct fz_log *log;
    const struct fz_property *summary; // extra summary entries (session's snapshot-property.*, cdc positions)
    size_t n_summary;
    enum fz_code (*check_head)(void *ctx, const struct fz_metadata *head, struct fz_err *err); // cdc
    void *check_ctx;
    // Extra files for the same commit of the same table: none yet. Time zone and now come with the bound statement.
};
struct fz_change_stats { // for the one line after a write and the summary
    int64_t rows_updated, rows_deleted, rows_inserted, rows_copied;
    int64_t matched_updated, matched_deleted, by_source_updated, by_source_deleted;
    int64_t files_scanned, files_rewritten, files_added, delete_files_added;
    int64_t bytes_read, bytes_rewritten, bytes_written; // of the files scanned, rewritten and added
    int64_t snapshot_id;
    double seconds;
};
// The source query's scans and the scans of subqueries must be registered (registered_id set) before the call.
// A source that is already a registered fz_source (cdc): pass it as `source_id`, with `source_fields`; bound->source is then NULL.
struct fz_change_request {
    const struct fz_bound_change *bound;
    const struct fz_change_target *target;
    int64_t source_id; // 0: none
    const struct fz_field *source_fields;
    size_t n_source_fields;
};
enum fz_code fz_change_run(const struct fz_change_context *context, const struct fz_change_request *request,
                           struct fz_change_stats *out, struct fz_err *err);
// EXPLAIN: how the statement would run, as text; the source is run, footers and page indexes are read. `dry_run`: everything but the
// commit, in both write modes that the table's version knows; what was written is removed.
enum fz_code fz_change_explain(const struct fz_change_context *context, const struct fz_change_request *request,
                               bool dry_run, struct fz_buf *out, struct fz_err *err);
// INSERT INTO / OVERWRITE: bound->query's scans registered.
enum fz_code fz_change_insert(const struct fz_change_context *context, const struct fz_bound_insert *bound,
                              const struct fz_change_target *target, struct fz_change_stats *out, struct fz_err *err);
// TRUNCATE TABLE.
enum fz_code fz_change_truncate(const struct fz_change_context *context, const struct fz_change_target *target,
                                struct fz_change_stats *out, struct fz_err *err);

// A branch that does not exist yet (write-audit-publish makes it at the first write) starts where main is.
const struct fz_snapshot *fz_branch_head(const struct fz_metadata *metadata, const char *branch);
bool fz_delete_is_file_scoped(const struct fz_data_file *file); // referenced_data_file or equal file_path bounds

#endif
