// The statement tree as parsed, before any name is resolved. Arena-allocated. Every node knows where it stands in the text.
// Spark SQL grammar (4.1) plus Iceberg's extensions. Written by sql/parser, read by sql/binder and engine/ (DDL).
#ifndef FZ_SQL_AST_H
#define FZ_SQL_AST_H

#include "data/type.h"
#include "data/value.h"
#include "table/metadata.h"

struct fz_pos {
    int line, column; // 1-based
    size_t offset, length; // in the statement's text
};
struct fz_ast_name { // a.b.c, quotes removed
    const char **parts;
    size_t n;
    struct fz_pos pos;
};

enum fz_ast_expr_kind {
    FZ_AST_LITERAL, // value (typed by its spelling)
    FZ_AST_NAME, // column reference or lambda variable
    FZ_AST_STAR, // * or t.*  (name may be empty); EXCEPT list in args
    FZ_AST_UNARY, // op: "-", "+", "~", "NOT"
    FZ_AST_BINARY, // op: + - * / % DIV || & | ^ << >> >>> = <> < <= > >= <=> AND OR ("==" and "!=" come as "=" and "<>")
    FZ_AST_IS, // args[0] IS [NOT] what: "NULL", "TRUE", "FALSE", "UNKNOWN", "DISTINCT" (args[1])
    FZ_AST_BETWEEN, // args[0] [NOT] BETWEEN args[1] AND args[2]
    FZ_AST_IN, // args[0] [NOT] IN (args[1..])   or query
    FZ_AST_LIKE, // op: "LIKE", "ILIKE", "RLIKE"; args[0], args[1..]; quantifier "ANY"/"ALL"/"SOME" in text; escape
    FZ_AST_CASE, // args as in data/expr.h; operand in `base` (may be NULL)
    FZ_AST_CAST, // args[0], type; op "CAST" or "TRY_CAST" (also ::). A TIMESTAMP '…' literal without an
    // offset depends on the session's zone: it is a CAST with text "TIMESTAMP" over a TIMESTAMP_NTZ literal
    // (or over the STRING, checked, when it names a zone or says now, today, …)
    FZ_AST_CALL, // name, args; distinct, filter, over, ignore_nulls, named args. Special forms become plain
    // calls: extract('field', src), substring(s, p[, n]), position(sub, s), overlay(s, r, p[, n]),
    // trim/ltrim/rtrim/btrim(chars FROM s) as btrim/ltrim/rtrim(s, chars) with text "FROM",
    // timestampadd('unit', n, t), timestampdiff('unit', a, b); struct(x AS a): a in arg_names;
    // current_date and the like without parentheses: no args, text "KEYWORD"
    FZ_AST_INDEX, // args[0][args[1]]
    FZ_AST_DOT, // args[0].text  (after something that is not a plain name)
    FZ_AST_LAMBDA, // params -> args[0]
    FZ_AST_SUBQUERY, // (SELECT …) scalar
    FZ_AST_EXISTS,
    FZ_AST_ROW, // (a, b): struct
    FZ_AST_INTERVAL, // not produced: intervals are folded into LITERAL
    FZ_AST_DEFAULT, // the keyword, as an assigned value
    FZ_AST_PARAMETER, // text: the name of :name, NULL for ?
};

struct fz_ast_query;
struct fz_ast_window;
struct fz_ast_order;
struct fz_ast_expr {
    enum fz_ast_expr_kind kind;
    struct fz_pos pos;
    const char *op, *text; // see the kinds; text: field name of DOT, quantifier of LIKE, what of IS
    bool negated;
    const struct fz_value *literal;
    struct fz_ast_name name;
    struct fz_ast_expr **args;
    size_t n_args;
    const char **arg_names; // CALL with name => value: parallel to args, NULL entries for positional ones; or NULL
    struct fz_ast_expr *base, *escape, *filter;
    bool distinct, ignore_nulls, respect_nulls;
    struct fz_ast_order *within_group; // WITHIN GROUP (ORDER BY …)
    size_t n_within_group;
    struct fz_ast_window *over;
    const struct fz_type *type; // CAST
    const char **params; // LAMBDA
    size_t n_params;
    struct fz_ast_query *query; // SUBQUERY, EXISTS, IN
};

struct fz_ast_order {
    struct fz_ast_expr *expr;
    bool descending, nulls_set, nulls_last;
};
struct fz_ast_bound { // frame bound
    enum {
        FZ_BOUND_UNBOUNDED_PRECEDING,
        FZ_BOUND_PRECEDING,
        FZ_BOUND_CURRENT,
        FZ_BOUND_FOLLOWING,
        FZ_BOUND_UNBOUNDED_FOLLOWING
    } kind;
    struct fz_ast_expr *expr;
};
struct fz_ast_window {
    const char *name; // OVER name, or base window
    struct fz_ast_expr **partition_by;
    size_t n_partition_by;
    struct fz_ast_order *order_by;
    size_t n_order_by;
    bool has_frame, range;
    struct fz_ast_bound from, to;
};

struct fz_ast_select_item {
    struct fz_ast_expr *expr;
    const char *alias;
    const char **aliases; // AS (a, b) of a generator; alias is NULL then
    size_t n_aliases;
};

enum fz_ast_rel_kind {
    FZ_AST_TABLE,
    FZ_AST_FILE /* parquet.`path` */,
    FZ_AST_DERIVED,
    FZ_AST_JOIN,
    FZ_AST_VALUES,
    FZ_AST_FUNCTION,
    FZ_AST_LATERAL_VIEW,
    FZ_AST_PIVOT,
    FZ_AST_UNPIVOT
};
struct fz_ast_rel {
    enum fz_ast_rel_kind kind;
    struct fz_pos pos;
    const char *alias;
    const char **column_aliases;
    size_t n_column_aliases;
    struct fz_ast_name name; // TABLE; FILE: format in parts[0], path in parts[1]
    struct fz_ast_expr *version_as_of, *timestamp_as_of;
    struct fz_property *options; // WITH (k = v) on a table
    size_t n_options;
    struct fz_ast_query *query; // DERIVED
    bool lateral, outer; // LATERAL; LATERAL VIEW OUTER
    struct fz_ast_rel *left, *right; // JOIN, LATERAL_VIEW (left), PIVOT (left)
    const char *join; // "INNER", "LEFT", "RIGHT", "FULL", "CROSS", "LEFT SEMI", "LEFT ANTI"
    bool natural;
    struct fz_ast_expr *on;
    const char **using_columns;
    size_t n_using;
    struct fz_ast_expr ***rows; // VALUES: rows[i][j]
    size_t n_rows, n_cols;
    struct fz_ast_expr *call; // FUNCTION, LATERAL_VIEW generator
    struct fz_ast_select_item *pivot_items; // PIVOT: aggregates. UNPIVOT: the value column(s), a NAME each
    size_t n_pivot_items;
    struct fz_ast_expr
        *pivot_for; // PIVOT: column, or ROW of columns. UNPIVOT: NAME of the name column; `outer`: INCLUDE NULLS
    struct fz_ast_select_item *pivot_values; // PIVOT: literals or ROWs. UNPIVOT: columns or ROWs of columns
    size_t n_pivot_values;
    struct fz_ast_expr *sample_percent; // TABLESAMPLE
    struct fz_ast_expr *sample_rows;
};

struct fz_ast_group { // ROLLUP, CUBE and mixtures arrive as SETS, written out
    enum { FZ_GROUP_PLAIN, FZ_GROUP_ROLLUP, FZ_GROUP_CUBE, FZ_GROUP_SETS, FZ_GROUP_ALL } kind;
    struct fz_ast_expr ***sets; // PLAIN: sets[0]; SETS: each one
    size_t *set_sizes;
    size_t n_sets;
};
struct fz_ast_cte {
    const char *name;
    const char **columns;
    size_t n_columns;
    struct fz_ast_query *query;
    struct fz_pos pos;
};
enum fz_ast_query_kind { FZ_AST_SELECT, FZ_AST_SETOP, FZ_AST_QUERY_VALUES, FZ_AST_QUERY_TABLE /* TABLE t */ };
struct fz_ast_query {
    enum fz_ast_query_kind kind;
    struct fz_pos pos;
    struct fz_ast_cte *ctes;
    size_t n_ctes;
    bool recursive;
    // SELECT
    bool distinct;
    struct fz_ast_select_item *items;
    size_t n_items;
    struct fz_ast_rel **from; // comma list
    size_t n_from;
    struct fz_ast_expr *where, *having;
    struct fz_ast_group *group_by; // NULL: none
    struct {
        const char *name;
        struct fz_ast_window *window;
    } * windows;
    size_t n_windows;
    // SETOP
    const char *setop; // "UNION", "INTERSECT", "EXCEPT"
    bool all;
    struct fz_ast_query *left, *right;
    struct fz_ast_rel *values; // QUERY_VALUES, QUERY_TABLE
    // all
    struct fz_ast_order *order_by;
    size_t n_order_by;
    struct fz_ast_order *sort_by; // SORT BY / CLUSTER BY
    size_t n_sort_by;
    struct fz_ast_expr **distribute_by;
    size_t n_distribute_by;
    struct fz_ast_expr *limit, *offset; // LIMIT ALL: NULL
};

struct fz_ast_assignment {
    struct fz_ast_name column;
    struct fz_ast_expr *value;
};
enum fz_merge_match { FZ_MATCHED, FZ_NOT_MATCHED, FZ_NOT_MATCHED_BY_SOURCE };
enum fz_merge_action { FZ_MERGE_UPDATE, FZ_MERGE_UPDATE_STAR, FZ_MERGE_DELETE, FZ_MERGE_INSERT, FZ_MERGE_INSERT_STAR };
struct fz_ast_merge_clause {
    enum fz_merge_match match;
    enum fz_merge_action action;
    struct fz_pos pos;
    struct fz_ast_expr *condition;
    struct fz_ast_assignment *assignments; // UPDATE and INSERT (columns) VALUES (…)
    size_t n_assignments;
};

struct fz_ast_column_def {
    const char *name; // last part of path
    struct fz_ast_name path; // ADD COLUMN p.z: all parts
    bool first; // ADD COLUMN … FIRST
    const char *after; // ADD COLUMN … AFTER x
    const struct fz_type *type;
    bool not_null;
    const char *comment;
    struct fz_ast_expr *default_value;
    struct fz_pos pos;
};
struct fz_ast_transform { // PARTITIONED BY / WRITE ORDERED BY item: identity, bucket(n, c), truncate(n, c), years(c) …
    const char *function; // lower case; NULL for a plain column
    struct fz_ast_name column;
    int64_t param; // -1 none
    bool descending, nulls_set, nulls_last; // ordering items
    struct fz_pos pos;
};

enum fz_ast_kind {
    FZ_STMT_QUERY,
    FZ_STMT_MERGE,
    FZ_STMT_UPDATE,
    FZ_STMT_DELETE,
    FZ_STMT_INSERT,
    FZ_STMT_TRUNCATE,
    FZ_STMT_CREATE_TABLE, // also CTAS, CREATE OR REPLACE, REPLACE
    FZ_STMT_DROP_TABLE,
    FZ_STMT_ALTER_TABLE,
    FZ_STMT_RENAME_TABLE,
    FZ_STMT_CREATE_VIEW, // temporary or catalog view
    FZ_STMT_DROP_VIEW,
    FZ_STMT_CREATE_NAMESPACE,
    FZ_STMT_DROP_NAMESPACE,
    FZ_STMT_ALTER_NAMESPACE,
    FZ_STMT_USE,
    FZ_STMT_SET,
    FZ_STMT_RESET,
    FZ_STMT_SHOW,
    FZ_STMT_DESCRIBE,
    FZ_STMT_EXPLAIN,
    FZ_STMT_CALL,
    FZ_STMT_CACHE,
    FZ_STMT_REFRESH,
    FZ_STMT_UNSUPPORTED, // understood, refused: `text` says what (the parser itself fails with FZ_UNSUPPORTED instead)
    FZ_STMT_ALTER_VIEW, // ALTER VIEW v AS query (query, value = its text); properties and renaming are ALTER_TABLE / RENAME_TABLE with is_view
    FZ_STMT_DECLARE_VARIABLE, // name, type (may be NULL), args[0] = default (may be NULL), or_replace
    FZ_STMT_DROP_VARIABLE, // name, if_exists
    FZ_STMT_SET_VARIABLE, // assignments; or query with the targets in `assignments` (values NULL)
    FZ_STMT_EXECUTE_IMMEDIATE, // args[0] = text of the statement, args[1..] USING (arg_names), names = INTO variables
};

enum fz_alter_kind {
    FZ_ALTER_SET_PROPERTIES,
    FZ_ALTER_UNSET_PROPERTIES,
    FZ_ALTER_ADD_COLUMNS,
    FZ_ALTER_DROP_COLUMNS,
    FZ_ALTER_RENAME_COLUMN,
    FZ_ALTER_COLUMN, // TYPE, COMMENT, SET/DROP NOT NULL, FIRST/AFTER
    FZ_ALTER_ADD_PARTITION_FIELD, // transforms[0]; AS name in new_name
    FZ_ALTER_DROP_PARTITION_FIELD,
    FZ_ALTER_REPLACE_PARTITION_FIELD, // [0] old, [1] new; AS name in new_name
    FZ_ALTER_WRITE_ORDER, // ORDERED BY / LOCALLY ORDERED BY / UNORDERED / DISTRIBUTED BY PARTITION
    FZ_ALTER_SET_IDENTIFIER,
    FZ_ALTER_DROP_IDENTIFIER,
    // branch or tag name in `key`; snapshot_id, retain_ms, min_snapshots, snapshot_retain_ms
    FZ_ALTER_CREATE_BRANCH,
    FZ_ALTER_CREATE_TAG,
    FZ_ALTER_REPLACE_BRANCH,
    FZ_ALTER_REPLACE_TAG,
    FZ_ALTER_DROP_BRANCH,
    FZ_ALTER_DROP_TAG,
    FZ_ALTER_SET_LOCATION,
};

struct fz_ast_stmt {
    enum fz_ast_kind kind;
    struct fz_pos pos;
    const char *sql; // the statement's text, for view definitions and messages
    struct fz_ast_cte *ctes; // WITH in front of MERGE / INSERT / UPDATE / DELETE
    size_t n_ctes;
    bool recursive;
    struct fz_ast_name name; // the object
    const char *alias;
    struct fz_ast_query *query; // QUERY, INSERT, CTAS, CREATE VIEW, EXPLAIN target in `inner`
    struct fz_ast_stmt *inner; // EXPLAIN
    bool if_exists, if_not_exists, or_replace, replace, temporary, global, cascade, purge, extended, formatted, dry_run;
    const char *text; // see kinds: EXPLAIN mode, SHOW what, UNSUPPORTED feature, comment
    // MERGE / UPDATE / DELETE
    struct fz_ast_rel *source;
    struct fz_ast_expr *on, *where;
    struct fz_ast_merge_clause *clauses;
    size_t n_clauses;
    bool schema_evolution;
    struct fz_ast_assignment *assignments;
    size_t n_assignments;
    // INSERT
    bool overwrite, by_name;
    const char **columns;
    size_t n_columns;
    struct { // PARTITION (a = 1, b)
        struct fz_ast_name column;
        struct fz_ast_expr *value;
    } * partition;
    size_t n_partition;
    struct fz_ast_expr *replace_where;
    // CREATE TABLE / VIEW / NAMESPACE
    const char *provider, *location, *comment;
    struct fz_ast_column_def *column_defs;
    size_t n_column_defs;
    struct fz_ast_transform *partition_by;
    size_t n_partition_by;
    struct fz_property *properties;
    size_t n_properties;
    // ALTER
    enum fz_alter_kind alter;
    struct fz_ast_name column, new_name; // column; RENAME target; AFTER column in new_name
    const struct fz_type *type;
    int set_not_null; // 0 nothing, 1 SET, 2 DROP
    bool first, has_comment, after;
    struct fz_ast_transform *transforms; // partition fields ([0] old, [1] new for REPLACE), write order
    size_t n_transforms;
    bool ordered_locally, unordered, distributed_by_partition;
    const char **names; // identifier fields, properties to unset, columns to drop (dotted)
    struct fz_ast_name *name_paths; // the same, in parts (not for properties)
    size_t n_names;
    bool drop_default, unset, is_view; // ALTER COLUMN DROP DEFAULT; ALTER NAMESPACE UNSET; the object is a view
    struct fz_ast_expr *default_value; // ALTER COLUMN SET DEFAULT
    int64_t snapshot_id, retain_ms, min_snapshots; // branches and tags; -1 none
    int64_t snapshot_retain_ms;
    // SET key = value (value NULL: show it; key NULL: show all), SHOW … LIKE pattern, CALL
    // SHOW: text is NAMESPACES TABLES TBLPROPERTIES "CREATE TABLE" PARTITIONS COLUMNS VIEWS FUNCTIONS CATALOGS; name = FROM/IN or the table
    // DESCRIBE: text is TABLE NAMESPACE QUERY FUNCTION (column = one column). EXPLAIN: text is NULL LOGICAL FORMATTED EXTENDED CODEGEN COST
    // USE: text is NULL or CATALOG or NAMESPACE. CACHE: text is CACHE UNCACHE CLEAR; REFRESH: text is TABLE.
    // SET TIME ZONE is SET spark.sql.session.timeZone. CREATE VIEW: text of the query in `value`; CREATE TEMPORARY VIEW … USING provider
    // OPTIONS (…): provider, properties, query NULL. CREATE TABLE a LIKE b: b in `column`, text "LIKE". COMMENT ON is ALTER … SET PROPERTIES comment.
    const char *key, *value, *pattern;
    struct fz_ast_expr **args;
    const char **arg_names;
    size_t n_args;
};

// Parses a script into single statements' texts (splits at `;` outside quotes and comments). Each piece is borrowed from `sql`.
struct fz_sql_piece {
    struct fz_str text;
    int line; // of its first character, 1-based
};
enum fz_code fz_sql_split(struct fz_arena *arena, struct fz_str sql, struct fz_sql_piece **out, size_t *n,
                          struct fz_err *err);
// Parses one statement. SQL_SYNTAX with Spark's condition (PARSE_SYNTAX_ERROR, …), line and column, and a caret block in the message.
enum fz_code fz_sql_parse(struct fz_arena *arena, struct fz_str sql, struct fz_ast_stmt **out, struct fz_err *err);
// Parses a query or an expression alone (view definitions, pipeline expressions).
enum fz_code fz_sql_parse_query(struct fz_arena *arena, struct fz_str sql, struct fz_ast_query **out,
                                struct fz_err *err);
enum fz_code fz_sql_parse_expr(struct fz_arena *arena, struct fz_str sql, struct fz_ast_expr **out, struct fz_err *err);
// "a INT, b STRING" (also "a: INT", "STRUCT<…>") as a struct, for from_json and the like; any other type text gives that type. Unknown types are SQL_SYNTAX here.
enum fz_code fz_sql_parse_schema(struct fz_arena *arena, struct fz_str sql, const struct fz_type **out,
                                 struct fz_err *err);
enum fz_code fz_sql_parse_type(struct fz_arena *arena, struct fz_str sql, const struct fz_type **out,
                               struct fz_err *err); // "decimal(12,2)", "array<int>"

#endif
