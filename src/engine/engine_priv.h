// What the files of engine/ share: the session's state, one running statement, small row sets.
#ifndef FZ_ENGINE_ENGINE_PRIV_H
#define FZ_ENGINE_ENGINE_PRIV_H

#include "base/map.h"
#include "engine/session.h"

struct fz_engine_view { // a temporary view: its query's text, parsed again at each use
    char *name, *query_text;
    char **columns;
    size_t n_columns;
};

struct fz_engine {
    struct fz_log log;
    struct fz_map settings; // key -> char * (owned)
    struct fz_map initial; // the settings the session was opened with, which RESET brings back
    struct fz_store *store;
    struct fz_cancel cancel;
    struct fz_budget budget;
    struct fz_progress progress; // of the running statement
    struct fz_duck *duck;
    struct fz_catalog **catalogs; // opened ones
    size_t n_catalogs, cap_catalogs;
    char *current_catalog;
    char **current_levels; // current namespace
    size_t n_current_levels;
    struct fz_engine_view *views;
    size_t n_views, cap_views;
    int64_t statement_now_us;
};

// A table as a statement sees it: behind fz_sql_table.handle.
enum fz_table_kind { FZ_TABLE_DATA, FZ_TABLE_METADATA, FZ_TABLE_FILES };
struct fz_engine_table {
    enum fz_table_kind kind;
    struct fz_catalog *catalog;
    struct fz_table_name name;
    struct fz_metadata *metadata; // released with the statement
    const struct fz_schema *schema;
    int64_t snapshot_id; // -1: empty
    const char *branch; // NULL: main, or not a branch
    const char *wap_id; // writes are staged under this id
    bool wap_conflict; // both kinds of write-audit-publish are asked for: may not be written to
    const char *metadata_table; // "snapshots"
    bool time_travel; // a snapshot, tag or time: may not be written to
    bool appended; // only what appends after this snapshot have added, which is an ancestor
    int64_t after_snapshot_id;
    struct fz_parquet_files *files; // parquet.`path`; released with the statement
};

struct loaded;
// One running statement; lives until its result is freed.
struct fz_statement {
    struct fz_engine *engine;
    struct fz_arena arena;
    const char *sql;
    struct fz_ast_stmt *ast;
    struct loaded *loaded; // tables loaded so far, resolve.c
    struct fz_metadata **metadata; // to unref
    size_t n_metadata, cap_metadata;
    struct fz_parquet_files **files; // to unref
    size_t n_files, cap_files;
    int64_t *registered; // engine sources to unregister
    size_t n_registered, cap_registered;
    struct fz_engine_scanned { // data scans of the statement, for the line that says what they read
        struct fz_source *source;
        struct fz_scan_plan *plan;
        const char *name;
    } * scanned;
    size_t n_scanned, cap_scanned;
};

// parquet_files.c: parquet.`path` by our own reader. `quoted`: the path as an SQL literal; `fields`: what the engine sees. *out stays NULL
// where the engine's reader loses nothing.
enum fz_code fz_parquet_files_open(struct fz_engine *engine, struct fz_duck *duck, const char *quoted,
                                   const struct fz_field *fields, size_t n_fields, struct fz_parquet_files **out,
                                   struct fz_err *err);
void fz_parquet_files_unref(struct fz_parquet_files *files);
const struct fz_field *fz_parquet_files_fields(const struct fz_parquet_files *files, const char *const **names,
                                               size_t *n); // named c1 … cn; `names`: what they are called in the files
enum fz_code fz_parquet_files_source(struct fz_parquet_files *files, int threads, struct fz_source **out,
                                     struct fz_err *err); // takes a reference of its own

// Rows made by the engine itself (SHOW, DESCRIBE, metadata tables).
struct fz_rows {
    struct fz_arena arena; // values
    const struct fz_field *fields;
    size_t n_fields;
    struct fz_value *values; // n_rows * n_fields
    size_t n_rows, cap_values;
};
void fz_rows_init(struct fz_rows *rows, const struct fz_field *fields, size_t n_fields);
void fz_rows_dispose(struct fz_rows *rows);
enum fz_code fz_rows_add(struct fz_rows *rows, const struct fz_value *values,
                         struct fz_err *err); // borrows nested parts and bytes
// A source over the rows; takes them over (the struct is emptied).
enum fz_code fz_rows_source(struct fz_rows *rows, struct fz_source **out, struct fz_err *err);

struct fz_engine_result {
    struct fz_statement *statement;
    const struct fz_field *fields;
    size_t n_fields;
    struct fz_duck_result *duck; // or rows:
    struct fz_source *source;
    void *reader;
    struct fz_batch batch;
};

// settings.c
const char *fz_setting(struct fz_engine *e, const char *key, const char *fallback);
enum fz_code fz_setting_set(struct fz_engine *e, const char *key, const char *value, struct fz_err *err);
bool fz_setting_is_secret(const char *key);

// catalogs.c
enum fz_code fz_engine_catalog(struct fz_engine *e, const char *name, struct fz_catalog **out,
                               struct fz_err *err); // NOT_FOUND
bool fz_engine_has_catalog(struct fz_engine *e, const char *name);
// Catalog, namespace and object of a written name; levels in `arena`. `is_namespace`: all parts are levels.
enum fz_code fz_engine_split_name(struct fz_engine *e, struct fz_arena *arena, const struct fz_ast_name *name,
                                  bool is_namespace, struct fz_catalog **catalog, struct fz_table_name *out,
                                  struct fz_err *err);

// Catalog and table name of "lake.silver.orders" or "silver.orders" (current catalog); parts in `arena`.
enum fz_code fz_engine_resolve_name(struct fz_engine *e, struct fz_arena *arena, const char *dotted,
                                    struct fz_catalog **out_catalog, struct fz_table_name *out_name,
                                    struct fz_err *err);

// resolve.c
enum fz_code fz_engine_load_table(struct fz_statement *s, const struct fz_ast_name *name, struct fz_engine_table **out,
                                  struct fz_err *err);
enum fz_code fz_engine_env_resolve(void *ctx, struct fz_arena *arena, const struct fz_ast_rel *rel,
                                   struct fz_sql_table *out, struct fz_ast_query **view_query,
                                   const char ***view_columns, struct fz_err *err);
struct fz_sql_env fz_statement_env(struct fz_statement *s);
struct fz_engine_view *fz_engine_find_view(struct fz_engine *e, const char *name);
struct fz_engine_view *fz_engine_named_view(struct fz_engine *e,
                                            const struct fz_ast_name *name); // v or global_temp.v; NULL: none

// The value of an expression without columns, cast to `type` (ANSI); its bytes live as long as the statement.
enum fz_code fz_statement_constant(struct fz_statement *s, const struct fz_ast_expr *ast, const struct fz_type *type,
                                   struct fz_value *out, struct fz_err *err);

// time_travel.c: reading at a branch or tag; at what AS OF and the read options (WITH) of a relation say.
enum fz_code fz_engine_use_ref(struct fz_engine_table *table, const char *ref_name, bool want_tag, struct fz_err *err);
enum fz_code fz_engine_travel(struct fz_statement *s, struct fz_engine_table *table, const struct fz_ast_rel *rel,
                              struct fz_err *err);

// metadata_tables.c
bool fz_is_metadata_table(const char *name);
enum fz_code fz_metadata_table_fields(struct fz_arena *arena, const struct fz_engine_table *table,
                                      const struct fz_field **out, size_t *n, struct fz_err *err);
// A source of its rows; `fields` are those of fz_metadata_table_fields and must live as long.
enum fz_code fz_metadata_table_source(struct fz_engine *e, const struct fz_engine_table *table,
                                      const struct fz_field *fields, size_t n, struct fz_source **out,
                                      struct fz_err *err);

// scans.c: opens a source for every scan of a bound statement.
enum fz_code fz_statement_open_scans(struct fz_statement *s, struct fz_sql_scan **scans, size_t n, struct fz_err *err);
// What scans of tables would read, level by level, as text.
enum fz_code fz_statement_explain_scans(struct fz_statement *s, struct fz_sql_scan **scans, size_t n,
                                        struct fz_buf *out, struct fz_err *err);
void fz_statement_drop_scans(struct fz_statement *s); // logs what data scans have read (level 3) and lets go of them
// filter_keys.c: the keys that rows of the scan must have by its condition; NULL in *out: none.
struct fz_scan_keys;
enum fz_code fz_filter_keys(struct fz_statement *s, const struct fz_sql_scan *scan, struct fz_scan_keys **out,
                            struct fz_err *err);
enum fz_code fz_statement_keep(struct fz_statement *s, struct fz_metadata *metadata, struct fz_err *err);

// execute.c
enum fz_code fz_execute_insert(struct fz_statement *s, const struct fz_bound_insert *bound,
                               const struct fz_change_target *target, struct fz_err *err);
struct fz_change_context fz_statement_change_context(struct fz_statement *s);
enum fz_code fz_statement_change_target(const struct fz_sql_table *table, struct fz_engine *e,
                                        struct fz_change_target *out, struct fz_err *err);
void fz_statement_free(struct fz_statement *s);

// evolving_catalog.c: the target with the schema that `table` has; its commit changes both. Lives as long as the statement.
enum fz_code fz_evolve_target(struct fz_statement *s, const struct fz_sql_table *table, struct fz_change_target *target,
                              struct fz_err *err);

// ddl_*.c and show.c. `rows` NULL-initialised; filled when the statement returns rows.
struct fz_answer {
    bool has_rows;
    struct fz_rows rows;
};
enum fz_code fz_call(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err); // call.c: CALL …
enum fz_code fz_explain(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err); // explain.c
enum fz_code fz_ddl_create_table(struct fz_statement *s, struct fz_err *err);
enum fz_code fz_ddl_drop_table(struct fz_statement *s, struct fz_err *err);
enum fz_code fz_ddl_rename_table(struct fz_statement *s, struct fz_err *err);
enum fz_code fz_ddl_alter_table(struct fz_statement *s, struct fz_err *err);
enum fz_code fz_ddl_create_view(struct fz_statement *s, struct fz_err *err);
enum fz_code fz_ddl_drop_view(struct fz_statement *s, struct fz_err *err);
enum fz_code fz_ddl_namespace(struct fz_statement *s, struct fz_err *err); // CREATE, DROP, ALTER
enum fz_code fz_ddl_use(struct fz_statement *s, struct fz_err *err);
// Columns of an answer, all text unless said: "name" or "name:boolean"; then its rows, NULL for NULL.
enum fz_code fz_answer_begin(struct fz_statement *s, struct fz_answer *answer, const char *const *names, size_t n,
                             struct fz_err *err);
enum fz_code fz_answer_add(struct fz_answer *answer, struct fz_err *err, const char *a, const char *b, const char *c);
enum fz_code fz_show(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err); // SHOW …
enum fz_code fz_show_properties(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err);
enum fz_code fz_show_create(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err);
enum fz_code fz_describe(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err); // DESCRIBE …
enum fz_code fz_set_statement(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err);
// Partition fields of CREATE TABLE / ALTER TABLE items. Names as Spark gives them in CREATE TABLE (id_bucket, s_trunc, ts_day).
enum fz_code fz_partition_field_of(struct fz_arena *arena, const struct fz_type *schema,
                                   const struct fz_ast_transform *item, struct fz_partition_field *out,
                                   struct fz_err *err);
bool fz_property_is_clause(const char *key); // set by a clause, not by TBLPROPERTIES
const struct fz_field *fz_find_column(const struct fz_type *type,
                                      const struct fz_ast_name *name); // case-insensitive, dotted

#endif
