// Folded batches into Iceberg tables: one MERGE per table and batch, built as a bound tree, with the source positions in the summary of
// the same snapshot; bad records into the quarantine table. Owns what a run knows about its target tables. Called by run.c.
//
// Snapshot summary of every commit of a pipeline: frazil.pipeline (its name), frazil.positions (JSON: {"topic": {"partition": next
// offset}}, for the streams of this table), frazil.run-id. The newest snapshot in the lineage of the head that names the pipeline counts.
#ifndef FZ_CDC_APPLY_H
#define FZ_CDC_APPLY_H

#include "cdc/flow.h"
#include "cdc/pipeline.h"
#include "cdc/run.h"
#include "change/change.h"

#define FZ_POSITION_COLUMN "_frazil_position"

struct fz_apply { // of a run; borrowed by everything below
    const struct fz_cdc_session *session;
    const struct fz_pipeline *pipeline;
    struct fz_arena *arena; // of the run
    char run_id[37];
};
struct fz_apply_table {
    const char *dotted;
    struct fz_catalog *catalog;
    struct fz_table_name name;
    struct fz_metadata *metadata; // NULL: the table does not exist yet
    char *positions; // as the head's lineage carries them; NULL: none
};

// target.c: the table behind a stream's table. Loads it, takes over its columns and positions. Called once, when the table is met.
enum fz_code fz_apply_open(struct fz_apply *apply, struct fz_cdc_table *table, struct fz_err *err);
void fz_apply_close(struct fz_cdc_table *table);
// Declared columns that no event has had so far become columns too.
enum fz_code fz_apply_declare(struct fz_cdc_table *table, struct fz_err *err);
// Creates the table, or adds and widens columns that the events brought.
enum fz_code fz_apply_prepare(struct fz_apply *apply, struct fz_cdc_table *table, struct fz_err *err);
// For `check`: the metadata that the table would get, in memory only.
enum fz_code fz_apply_preview(struct fz_apply *apply, struct fz_cdc_table *table, struct fz_err *err);
enum fz_code fz_apply_make_namespace(struct fz_apply_table *target,
                                     struct fz_err *err); // and its parents, where missing
// The CREATE TABLE as SQL text, for people.
enum fz_code fz_apply_print_ddl(struct fz_apply *apply, struct fz_cdc_table *table, struct fz_buf *out,
                                struct fz_err *err);
// Does the table have, or get, the guard's column?
bool fz_apply_has_guard(const struct fz_apply *apply, const struct fz_cdc_table *table);
const char *fz_apply_into(struct fz_apply *apply,
                          const struct fz_cdc_table *table); // dotted name; NULL only when out of memory

// positions.c
enum fz_code fz_positions_print(struct fz_buf *out, const struct fz_map *positions, struct fz_err *err);
enum fz_code fz_positions_parse(struct fz_map *positions, const char *json,
                                struct fz_err *err); // keeps the larger one of two
// The newest snapshot in the lineage of the current one that carries this pipeline's positions; NULL: none.
const char *fz_positions_of(const struct fz_metadata *metadata, const char *pipeline);

// fold_source.c, merge_tree.c: the batch as a relation and the MERGE over it. The tree lives in `arena`.
enum fz_apply_column_kind {
    FZ_APPLY_IS_DELETE,
    FZ_APPLY_INSERTABLE, // the row is whole: it may be inserted
    FZ_APPLY_POSITION,
    FZ_APPLY_DELETED_AT,
    FZ_APPLY_VALUE, // of a table column
    FZ_APPLY_KEEP, // the table's own value stays in that column
    FZ_APPLY_NULL, // a column that the stream does not have
};
struct fz_apply_column {
    enum fz_apply_column_kind kind;
    size_t column; // of the fz_cdc_table
};
struct fz_apply_merge {
    struct fz_bound_change bound;
    struct fz_field *fields; // of the source
    size_t n_fields;
    const struct fz_apply_column *columns; // what each field is made of
    bool has_deletes, has_upserts;
};
enum fz_code fz_apply_build_merge(struct fz_apply *apply, const struct fz_fold *fold, struct fz_arena *arena,
                                  struct fz_apply_merge *out, struct fz_err *err);
enum fz_code fz_fold_source_new(const struct fz_apply *apply, const struct fz_fold *fold,
                                const struct fz_apply_merge *merge, struct fz_source **out, struct fz_err *err);
// The MERGE as SQL text, for people.
enum fz_code fz_apply_print_merge(struct fz_apply *apply, const struct fz_fold *fold, struct fz_buf *out,
                                  struct fz_err *err);

// rows_source.c: rows of values (n_rows * n_fields, row by row) as a source; all is borrowed but the fields.
enum fz_code fz_rows_source_new(const struct fz_field *fields, size_t n_fields, const struct fz_value *values,
                                size_t n_rows, struct fz_source **out, struct fz_err *err);

// Bad records of a batch.
struct fz_bad_record {
    struct fz_cdc_position position;
    const char *reason, *text;
    struct fz_str raw;
    const char *table; // match of the table, or NULL
};
struct fz_quarantine {
    struct fz_apply_table target;
    bool is_open;
    struct fz_arena arena; // of the batch
    struct fz_bad_record *items;
    size_t n, cap;
    struct fz_map positions; // what the quarantine table has
    struct fz_map met; // streams of this run's bad records and how far they were read
};
// quarantine.c
enum fz_code fz_quarantine_open(struct fz_apply *apply, struct fz_quarantine *quarantine,
                                const struct fz_cdc_tables *tables, struct fz_err *err);
void fz_quarantine_close(struct fz_quarantine *quarantine);
// Copies the record; *added false when the table has it already.
enum fz_code fz_quarantine_add(struct fz_quarantine *quarantine, const struct fz_bad_record *record, bool *added,
                               struct fz_err *err);
// Writes and commits what was added, in one snapshot with its own positions.
enum fz_code fz_quarantine_commit(struct fz_apply *apply, struct fz_quarantine *quarantine, int64_t *snapshot_id,
                                  struct fz_err *err);

// append.c: rows of a source (columns = the table's, in order) as new data files in one append snapshot.
enum fz_code fz_apply_append(struct fz_apply *apply, struct fz_apply_table *target, struct fz_source *source,
                             const struct fz_property *summary, size_t n_summary, struct fz_change_stats *out,
                             struct fz_err *err);
// lookup.c: values that an event left out and that stand in the table under another key (the row moved) are read; rows without any
// older value leave the fold and go to `each`.
enum fz_code fz_apply_lookup(struct fz_apply *apply, struct fz_fold *fold,
                             enum fz_code (*each)(void *ctx, const struct fz_fold_row *row, struct fz_err *err),
                             void *ctx, struct fz_err *err);

// apply.c: one batch of one table. CONFLICT when another instance moved the positions.
enum fz_code fz_apply_fold(struct fz_apply *apply, struct fz_fold *fold, struct fz_change_stats *out,
                           struct fz_err *err);
// Summary entries for a commit with these positions, in `arena`.
enum fz_code fz_apply_summary(struct fz_apply *apply, const struct fz_map *positions, struct fz_arena *arena,
                              struct fz_property **out, size_t *n, struct fz_err *err);
// Fresh metadata; CONFLICT when its positions are not those that the run knows.
enum fz_code fz_apply_reload(struct fz_apply *apply, struct fz_apply_table *target, struct fz_err *err);
// check_head of fz_commit: ctx is a struct fz_apply_head.
struct fz_apply_head {
    struct fz_apply *apply;
    struct fz_apply_table *target;
    bool is_other_instance;
};
enum fz_code fz_apply_check_head(void *ctx, const struct fz_metadata *head, struct fz_err *err);

#endif
