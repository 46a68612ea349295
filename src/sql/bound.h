// Bound statements: every name resolved, every type known, every cast explicit. And their printing as DuckDB SQL.
// Relations of one statement are numbered; a column is (relation, field id) and prints as r<relation>.c<field id>.
// The target of MERGE/UPDATE/DELETE is relation 0, the source of a MERGE relation 1.
#ifndef FZ_SQL_BOUND_H
#define FZ_SQL_BOUND_H

#include "data/expr.h"
#include "sql/ast.h"

// A table as the engine resolved it. `handle` is the engine's; fields include hidden metadata columns at the end.
struct fz_sql_table {
    void *handle;
    const char *name; // for messages and SHOW: ice.db.t
    const struct fz_field *fields;
    size_t n_fields; // visible columns (what * expands to)
    const struct fz_field
        *hidden; // _file, _pos, _spec_id, _partition, _deleted, _row_id, _last_updated_sequence_number
    size_t n_hidden;
    bool is_iceberg_table; // may be the target of a row-level change
    bool evolves; // MERGE WITH SCHEMA EVOLUTION may change its schema
    const int32_t *partition_ids; // source columns of identity partition fields: what PARTITION (…) of INSERT may name
    size_t n_partition_ids;
    int32_t last_column_id; // highest field id ever given; new columns go on from here
    bool is_view;
    const char *
        duck_relation; // file sources: printed instead of fz_scan(id), e.g. read_parquet('…'); columns are then matched by name
};
// What the binder asks of the session.
struct fz_sql_env {
    void *ctx;
    // Resolves a table, temporary view or catalog view. A view: *view_query gets its parsed text and *view_columns its column names or NULL.
    enum fz_code (*resolve)(void *ctx, struct fz_arena *arena, const struct fz_ast_rel *rel, struct fz_sql_table *out,
                            struct fz_ast_query **view_query, const char ***view_columns, struct fz_err *err);
    const char *(*setting)(void *ctx, const char *key); // NULL when not set
    int64_t now_us; // one value per statement
    const char *time_zone;
    const char *current_catalog, *current_namespace, *user;
};

// One reading of a table inside a statement. The engine opens a source for it and stores the registered number before printing.
struct fz_sql_scan {
    struct fz_sql_table table;
    int32_t relation;
    const struct fz_field *columns; // those the statement needs (field ids of the table)
    size_t n_columns;
    const struct fz_expr *filter; // conjuncts over this relation alone, for pruning (also evaluated above the scan)
    int64_t registered_id; // set by the engine
};

struct fz_scalar_kernel; // duck/duck.h
struct fz_sql_rel; // relational tree, private to sql/
struct fz_sql_query {
    const struct fz_field *columns; // output, ids = ordinal + 1; names as Spark gives them
    size_t n_columns;
    struct fz_sql_rel *root;
    struct fz_sql_scan **scans; // all scans below, subqueries included
    size_t n_scans;
    bool ordered; // has an outer ORDER BY
    // Kernels whose result type depends on the statement (from_json): register them with fz_duck_register_kernels before running.
    const struct fz_scalar_kernel *kernels;
    size_t n_kernels;
};

struct
    fz_bound_assignment { // one per target column, in table order; NULL value for a column keeps (UPDATE) or is NULL/default (INSERT)
    int32_t field_id;
    const struct fz_expr *value; // already cast to the column's type in STORE mode
    bool is_unchanged; // UPDATE: the column is not assigned
};
struct fz_bound_clause {
    enum fz_merge_match match;
    enum fz_merge_action action; // never *_STAR
    const struct fz_expr *condition; // NULL: always
    const struct fz_bound_assignment *values; // UPDATE and INSERT: one per target column
};
struct fz_bound_change { // MERGE, UPDATE, DELETE
    enum fz_ast_kind kind;
    struct fz_sql_table target;
    struct fz_sql_query *source; // MERGE; NULL otherwise. Relation 1 = its output columns
    const struct fz_expr *on; // MERGE: ON; UPDATE/DELETE: WHERE (may be NULL)
    const struct fz_bound_clause *clauses;
    size_t n_clauses;
    bool check_cardinality; // by Spark's rule
    struct fz_sql_scan **scans; // scans of subqueries in WHERE and values (not the target, not the source query's)
    size_t n_scans;
    // WITH SCHEMA EVOLUTION: target.fields hold what the schema is to become; the caller changes the table in the same commit.
    bool schema_changed;
    const struct fz_scalar_kernel *kernels; // as in fz_sql_query, for the whole statement (the source query included)
    size_t n_kernels;
};
struct fz_bound_insert {
    struct fz_sql_table target;
    struct fz_sql_query *query; // output = all target columns in table order, cast in STORE mode
    bool overwrite;
    const struct fz_expr *
        overwrite_filter; // static partitions, REPLACE WHERE; NULL: the whole table, or with `dynamic` the partitions written to
    bool dynamic; // spark.sql.sources.partitionOverwriteMode=dynamic
};

enum fz_code fz_sql_bind_query(struct fz_arena *arena, const struct fz_sql_env *env, const struct fz_ast_query *query,
                               struct fz_sql_query **out, struct fz_err *err);
enum fz_code fz_sql_bind_change(struct fz_arena *arena, const struct fz_sql_env *env, const struct fz_ast_stmt *stmt,
                                struct fz_bound_change **out, struct fz_err *err);
enum fz_code fz_sql_bind_insert(struct fz_arena *arena, const struct fz_sql_env *env, const struct fz_ast_stmt *stmt,
                                struct fz_bound_insert **out, struct fz_err *err);
// An expression over one relation's columns (pipeline checks, CALL … where, cdc column expressions); relation number 0.
enum fz_code fz_sql_bind_expr(struct fz_arena *arena, const struct fz_sql_env *env, const struct fz_ast_expr *expr,
                              const struct fz_field *fields, size_t n_fields, const struct fz_expr **out,
                              struct fz_err *err);
// A value cast to a column's type by the store assignment rules; raises INCOMPATIBLE_DATA_FOR_TABLE.* when they refuse.
enum fz_code fz_sql_store_cast(struct fz_arena *arena, const struct fz_sql_env *env, const struct fz_expr *value,
                               const struct fz_type *type, const char *column, const struct fz_expr **out,
                               struct fz_err *err);

// Printing. Query: a complete SELECT whose output columns are c1..cn. Registered ids must be set.
enum fz_code fz_sql_print_query(struct fz_buf *out, const struct fz_sql_query *query, struct fz_err *err);
enum fz_code fz_sql_print_expr(struct fz_buf *out, const struct fz_expr *expr, struct fz_err *err);

// The kernels behind functions.def (fz_*), for fz_duck_register_kernels.
const struct fz_scalar_kernel *fz_sql_kernels(size_t *n);

#endif
