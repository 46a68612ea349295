// What the files of change/ share: the state of one running row-level change and its steps, in the order they run.
#ifndef FZ_CHANGE_CHANGE_PRIV_H
#define FZ_CHANGE_CHANGE_PRIV_H

#include "change/change.h"
#include "change/file_options_priv.h"
#include "change/held_rows.h"
#include "change/row_rewrite.h"
#include "change/table_writer.h"
#include "data/row_store.h"

enum fz_write_mode { FZ_COPY_ON_WRITE, FZ_MERGE_ON_READ };

struct fz_changed_file { // one per file of the plan
    pthread_mutex_t lock;
    struct fz_positions *changed; // rows updated or deleted; NULL: none
    struct fz_positions *removed; // with fz_change.held: rows deleted or moved to another partition; NULL: none
    struct fz_positions *matched; // rows some source row matched; only when cardinality is checked
};

struct fz_change {
    const struct fz_change_context *context;
    const struct fz_change_request *request;
    const struct fz_bound_change *bound;
    const struct fz_change_target *target;
    struct fz_metadata *metadata;
    const struct fz_schema *schema;
    int64_t head_snapshot_id; // of the branch; -1 none
    enum fz_write_mode mode;
    bool lineage; // v3: _row_id and _last_updated_sequence_number are carried
    bool has_matched, has_not_matched, has_by_source, has_update;
    bool produces_rows; // some clause writes rows
    struct fz_arena arena;
    char operation_id[37];
    // source
    const struct fz_field *source_fields;
    size_t n_source_fields;
    int64_t source_rows;
    struct fz_row_store *held_source; // its rows; NULL: they are in the temporary table fz_src
    int64_t source_scan_id; // of held_source in the last printed query; 0 none
    struct fz_scan_keys *keys; // of the source, for the target's scan; NULL: all target rows are wanted
    struct fz_source *target_source;
    // match
    const struct fz_expr *prune_filter; // over target columns; NULL: none
    struct fz_scan_plan *plan;
    int64_t target_scan_id;
    struct fz_field *sink_fields; // action, file_ix, pos, [row_id], columns…
    size_t n_sink_fields;
    char *match_sql;
    struct fz_changed_file *files; // plan->n_files
    struct fz_table_writer *writer;
    // updates in place (in_place.c)
    struct fz_held_rows *held; // NULL: updated rows are taken out of their files and written as new rows
    size_t *held_fields; // per column of the table: its number in `held`, SIZE_MAX: no UPDATE changes it
    size_t n_held;
    bool may_move; // a changed column decides the partition
    struct fz_row_rewrite_stats rewritten;
    // result
    struct fz_data_file *added;
    size_t n_added, cap_added;
    struct fz_data_file *removed;
    size_t n_removed, cap_removed;
    const char **referenced;
    size_t n_referenced, cap_referenced;
    pthread_mutex_t stats_lock;
    struct fz_change_stats stats;
    int64_t *clause_rows; // rows by clause
    bool metadata_only; // a DELETE of whole files
};

enum { FZ_SINK_ACTION, FZ_SINK_FILE_IX, FZ_SINK_POS, FZ_SINK_ROW_ID /* or the first column */ };

// explain.c
enum fz_code fz_change_put_plan(struct fz_change *c, struct fz_buf *out, struct fz_err *err);
void fz_change_put_run(struct fz_change *c, bool first, struct fz_buf *out);
void fz_change_warn_window(const struct fz_change *c);
// source.c: the source query runs exactly once, into memory or into the temporary table fz_src (columns c0 = true, c1..cn).
enum fz_code fz_change_load_source(struct fz_change *c, struct fz_err *err);
// Appends the loaded source as a relation r1 of a FROM clause. Good for one run of one query: the next call takes its place.
enum fz_code fz_change_print_source(struct fz_change *c, struct fz_buf *sql, struct fz_err *err);
void fz_change_close_source(struct fz_change *c);
// From ON: what target rows can match at all. Uses min/max and small key sets of the source.
enum fz_code fz_change_prune_filter(struct fz_change *c, struct fz_err *err);
// in_place.c: decides whether updated rows are held (c->held) to be changed in place; which columns the match then has to give.
enum fz_code fz_change_choose_in_place(struct fz_change *c, struct fz_err *err);
void fz_change_leave_in_place(struct fz_change *c);
bool fz_change_needs_value(const struct fz_change *c, const struct fz_bound_clause *clause, size_t column);
// Holds updated rows of a batch; those that move to another partition are noted as removed and put to the end of `rows`, from *n_held on.
enum fz_code fz_change_hold_rows(struct fz_change *c, const struct fz_batch *view, const int32_t *file_ix,
                                 const int64_t *pos, uint32_t *rows, size_t n, size_t *n_held, struct fz_err *err);
// match_sql.c: registers the target scan and prints the match query.
enum fz_code fz_change_build_match(struct fz_change *c, struct fz_err *err);
// row_sink.c: runs the match query; fills changed positions, the writer and the counts.
enum fz_code fz_change_run_match(struct fz_change *c, struct fz_err *err);
// rewrite.c: copy-on-write, the rows of touched files that did not change.
enum fz_code fz_change_copy_rows(struct fz_change *c, struct fz_err *err);
// Rows in the table's sort order, when it has one that DuckDB can produce: runs the match into a temporary table first.
bool fz_change_is_sorted(const struct fz_change *c);
enum fz_code fz_change_write_sorted(struct fz_change *c, struct fz_err *err);
// sort_order.c: ORDER BY list over columns printed as <prefix><field id>; empty when the table is unsorted or sorts by something that has no
// order here. Registers the kernels it uses; duck NULL: only to see whether there is an order.
enum fz_code fz_sort_order_sql(struct fz_duck *duck, const struct fz_metadata *metadata, const char *prefix,
                               struct fz_buf *out, struct fz_err *err);
// delete_files.c: merge-on-read, position delete files (v2) or deletion vectors (v3) for changed positions.
enum fz_code fz_change_write_deletes(struct fz_change *c, struct fz_err *err);

enum fz_code fz_change_add_file(struct fz_change *c, const struct fz_data_file *file, struct fz_err *err);
enum fz_code fz_change_remove_file(struct fz_change *c, const struct fz_data_file *file, struct fz_err *err);
// The live delete files of the target's branch for which `covers` is true, in `arena`.
enum fz_code fz_change_covered_deletes(const struct fz_change_target *target,
                                       bool (*covers)(void *ctx, const struct fz_data_file *file), void *ctx,
                                       struct fz_arena *arena, struct fz_data_file **out, size_t *n,
                                       struct fz_err *err);
enum fz_code fz_change_reference(struct fz_change *c, const char *path, struct fz_err *err);

#endif
