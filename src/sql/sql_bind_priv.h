// Private to sql/: the relational tree behind fz_sql_query, the function table, and what the binder's files share.
// Reading order: sql_types.c (widening, which casts exist), sql_funcs.c + functions.def (what a function takes, gives and prints
// as), sql_bind_name.c (scopes), sql_bind_expr.c, sql_bind_call.c, sql_bind_from.c, sql_bind_query.c, sql_bind_change.c, sql_print*.c.
#ifndef FZ_SQL_BIND_PRIV_H
#define FZ_SQL_BIND_PRIV_H

#include "base/text.h"
#include "sql/bound.h"

// ---- functions.def ----
enum {
    FZ_FN_AGG = 1, // aggregate
    FZ_FN_WIN = 2, // only with OVER
    FZ_FN_NONDET = 4, // rand(), uuid()
    FZ_FN_NULLABLE = 8, // may give NULL for arguments that are not NULL
    FZ_FN_NOTNULL = 16, // never NULL
    FZ_FN_SPECIAL = 32, // bound by code in sql_bind_call.c / sql_bind_lambda.c
    FZ_FN_INTERNAL = 64, // not callable by name
    FZ_FN_ORDERED = 128, // window function that needs ORDER BY
};
struct fz_func {
    const char *name;
    unsigned flags;
    const char *args; // see functions.def
    const char *result;
    const char *print; // DuckDB template
};
const char *fz_func_near(const char *name); // a public function whose name is nearly that; NULL: none
const struct fz_func *fz_func_find(const char *name,
                                   size_t *n_rows); // first row of that name (case-insensitive); rows are adjacent
const struct fz_func *fz_func_internal(const char *name); // a row that must exist
size_t fz_func_count(void);
const struct fz_func *fz_func_at(size_t ix);

// ---- relational tree ----
struct fz_sql_order {
    const struct fz_expr *expr;
    int ordinal; // > 0: printed as that output column
    bool descending, nulls_last;
};
struct fz_sql_bound_frame {
    int kind; // as in struct fz_ast_bound
    const struct fz_expr *expr;
};
struct fz_sql_window {
    const struct fz_expr **partition_by;
    size_t n_partition_by;
    struct fz_sql_order *order_by;
    size_t n_order_by;
    bool has_frame, range;
    struct fz_sql_bound_frame from, to;
};
struct fz_sql_item {
    const char *name;
    const struct fz_expr *expr;
    bool aliased;
};
enum fz_rel_kind {
    FZ_REL_SCAN, // fz_scan(id) or a file reader
    FZ_REL_QUERY, // (query) AS r
    FZ_REL_VALUES, // rows of expressions
    FZ_REL_RANGE, // range(a, b, step): column c1
    FZ_REL_UNNEST, // lateral unnest of a list: c1 = element, or c1 = position, c2 = element
    FZ_REL_JOIN,
    FZ_REL_RECURSIVE, // WITH RECURSIVE w<relation> AS (left UNION ALL right)
    FZ_REL_SELF, // reference to the recursive relation inside its own definition
    FZ_REL_BLOCK, // SELECT … FROM … WHERE … GROUP BY … HAVING … ORDER BY … LIMIT
    FZ_REL_SETOP,
};
struct fz_sql_rel {
    enum fz_rel_kind kind;
    int32_t relation;
    bool lateral;
    struct fz_sql_scan *scan;
    struct fz_sql_query *query, *query2; // QUERY; RECURSIVE and SETOP: both sides
    const struct fz_expr **cells; // VALUES (row by row), RANGE (start, end, step), UNNEST (the list)
    size_t n_rows, n_cols;
    bool with_position;
    int32_t self; // SELF: relation of the RECURSIVE node
    // JOIN
    struct fz_sql_rel *left, *right;
    const char *join; // "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN", "CROSS JOIN", "SEMI JOIN", "ANTI JOIN"
    const struct fz_expr *on;
    // BLOCK
    struct fz_sql_rel *from;
    const struct fz_expr *where, *having;
    bool distinct, grouped;
    const struct fz_expr **groups;
    size_t n_groups;
    uint64_t *sets; // grouping sets as bit masks over groups; NULL: one plain set
    size_t n_sets;
    struct fz_sql_item *items;
    size_t n_items;
    const char *setop; // "UNION", "INTERSECT", "EXCEPT"
    bool all;
    // BLOCK and SETOP
    struct fz_sql_order *order_by;
    size_t n_order_by;
    const struct fz_expr *limit, *offset;
    const struct fz_expr *sample; // Bernoulli percentage over `from`
};

// ---- binder ----
struct fz_sql_col { // something a name can mean
    const char *name;
    const char *qualifier; // alias, or the table's own name; NULL none
    const char *full; // "ice.db.t" when the table has no alias
    const struct fz_expr *expr;
    bool hidden; // metadata column: found by name, not in *
    bool merged; // the second of two USING columns: found by qualified name only
};
struct fz_sql_lambda {
    struct fz_sql_lambda *outer;
    const char *name;
    const struct fz_expr *expr;
};
enum fz_alias_mode {
    FZ_ALIAS_NONE,
    FZ_ALIAS_AFTER,
    FZ_ALIAS_BEFORE
}; // select items seen after or before input columns
struct fz_sql_scope {
    struct fz_sql_scope *outer; // enclosing query, for correlation
    struct fz_sql_col *cols;
    size_t n, cap;
    const struct fz_sql_item *items;
    size_t n_items;
    enum fz_alias_mode aliases;
    struct fz_sql_lambda *lambdas;
    const struct fz_ast_query *windows; // for OVER name
    bool no_aggregates, no_windows; // in WHERE, GROUP BY, …: refused
    const char *clause; // "WHERE": for messages
    bool in_aggregate, in_window;
    bool saw_aggregate;
};
struct fz_sql_cte_frame {
    struct fz_sql_cte_frame *outer;
    const struct fz_ast_cte *cte;
    bool recursive;
    // while the recursive part is bound:
    const struct fz_field *self_columns;
    size_t n_self_columns;
    int32_t self_relation;
};
struct fz_sql_binder {
    struct fz_arena *arena;
    const struct fz_sql_env *env;
    struct fz_err *err;
    int32_t next_relation;
    int32_t next_lambda;
    int depth;
    struct fz_sql_cte_frame *ctes;
    struct {
        struct fz_sql_scan *scan;
        bool *used; // parallel to fields, then hidden
        const struct fz_expr *filter;
    } * uses;
    size_t n_uses, cap_uses;
    struct fz_scalar_kernel *kernels;
    size_t n_kernels, cap_kernels;
};
typedef struct fz_sql_binder fz_binder;

#define FZ_BIND_NOMEM(b) fz_fail_nomem((b)->err, 64)
enum { FZ_BIND_MAX_DEPTH = 500, FZ_BIND_MAX_RELATIONS = 4000 };

// sql_types.c
const struct fz_type *fz_sql_type(enum fz_type_id id);
const struct fz_type *fz_sql_common_type(struct fz_arena *arena, const struct fz_type *a,
                                         const struct fz_type *b); // NULL: none
const struct fz_type *fz_sql_decimal_of(struct fz_arena *arena, const struct fz_type *type); // integers as decimals
const struct fz_type *fz_sql_decimal_bounded(struct fz_arena *arena, int precision, int scale); // p > 38: the loss rule
enum fz_cast_rule { FZ_CAST_NO, FZ_CAST_OK, FZ_CAST_SUGGEST, FZ_CAST_CONF };
enum fz_cast_rule fz_sql_can_cast(const struct fz_type *from, const struct fz_type *to);
bool fz_sql_can_store(const struct fz_type *from, const struct fz_type *to);
bool fz_sql_can_widen_strict(const struct fz_type *from, const struct fz_type *to); // STRICT store policy
bool fz_sql_implicit_cast(const struct fz_type *from, const struct fz_type *to); // function arguments
bool fz_sql_is_string(const struct fz_type *t);
bool fz_sql_is_binary(const struct fz_type *t);
bool fz_sql_is_null(const struct fz_type *t);
bool fz_sql_same_type(const struct fz_type *a, const struct fz_type *b); // field names included, nullability not
bool fz_sql_has_map(const struct fz_type *t);
bool fz_sql_has_variant(const struct fz_type *t);
bool fz_variant_readable(const struct fz_type *t); // what variant_get and casts make of a variant (sql_bind_variant.c)
bool fz_variant_castable(const struct fz_type *from, const struct fz_type *to); // nested types with variants inside
bool fz_variant_writable(const struct fz_type *t,
                         bool objects); // what becomes a variant; structs and maps with `objects`
bool fz_sql_is_unordered(const struct fz_type *t); // maps and variants: neither < nor =
const char *fz_sql_type_text(struct fz_arena *arena,
                             const struct fz_type *type); // "DECIMAL(5,2)" as in Spark's messages
int fz_sql_interval_parse(struct fz_str text, const struct fz_type *type, int64_t *out); // 0 = not an interval

// sql_fold.c
const struct fz_expr *fz_sql_fold(struct fz_arena *arena, const struct fz_expr *expr,
                                  const char *zone); // same tree when nothing folds
const struct fz_expr *fz_sql_literal(struct fz_arena *arena,
                                     const struct fz_value *value); // copies the value (not its bytes)
bool fz_expr_is_literal(const struct fz_expr *e);
bool fz_expr_same(const struct fz_expr *a, const struct fz_expr *b);
const struct fz_expr *fz_sql_prune_form(struct fz_arena *arena,
                                        const struct fz_expr *conjunct); // for fz_sql_scan.filter

// sql_bind_name.c
enum fz_code fz_bind_resolve(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                             const struct fz_expr **out);
enum fz_code fz_bind_resolve_name(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_name *name, bool quiet,
                                  const struct fz_expr **out); // quiet: NULL when unknown
// A name that is also a function without parentheses (`user`, `current_date`; e->text is set): the call, or NULL where a column
// of this query has the name, or memory is short.
struct fz_ast_expr *fz_bind_keyword(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e);
enum fz_code fz_bind_unresolved(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_name *name);
enum fz_code fz_scope_add(fz_binder *b, struct fz_sql_scope *s, struct fz_sql_col col);
void fz_bind_mark(fz_binder *b, const struct fz_expr *column);
const char *fz_bind_output_name(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e);
enum fz_code fz_bind_field(fz_binder *b, const struct fz_expr *base, const char *field, const struct fz_pos *pos,
                           const struct fz_expr **out);

// sql_bind_expr.c
enum fz_code fz_bind(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, const struct fz_expr **out);
enum fz_code fz_bind_boolean(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, const char *what,
                             const struct fz_expr **out);
const struct fz_expr *fz_bind_cast(fz_binder *b, const struct fz_expr *e,
                                   const struct fz_type *type); // implicit; checks nothing
enum fz_code fz_bind_cast_checked(fz_binder *b, const struct fz_expr *e, const struct fz_type *type,
                                  enum fz_cast_mode mode, const struct fz_expr **out);
enum fz_code fz_bind_variant_entries(fz_binder *b, const struct fz_expr *variant, bool outer,
                                     const struct fz_expr **out); // of variant_explode: a list of structs
enum fz_code fz_bind_variant_cast(fz_binder *b, const struct fz_expr *e, const struct fz_type *type,
                                  enum fz_cast_mode mode,
                                  const struct fz_expr **out); // to or from a variant, not to text
const struct fz_expr *fz_bind_call_node(fz_binder *b, const struct fz_func *fn, const struct fz_type *type,
                                        const struct fz_expr *const *args, size_t n);
const struct fz_expr *fz_bind_internal(fz_binder *b, const char *fn, const struct fz_type *type,
                                       const struct fz_expr *const *args, size_t n);
const struct fz_expr *fz_bind_text(fz_binder *b, const char *text);
const struct fz_expr *fz_bind_int(fz_binder *b, enum fz_type_id id, int64_t v);
const struct fz_expr *fz_bind_null(fz_binder *b, const struct fz_type *type);
const struct fz_expr *fz_bind_bool(fz_binder *b, bool v);
enum fz_code fz_bind_unify(fz_binder *b, const char *what, const struct fz_expr **args, size_t n,
                           const struct fz_type **type); // casts all to the common type
enum fz_code fz_bind_compare(fz_binder *b, const char *op, const struct fz_expr *l, const struct fz_expr *r,
                             const struct fz_expr **out);
enum fz_code fz_bind_arith(fz_binder *b, const char *op, const struct fz_expr *l, const struct fz_expr *r,
                           const struct fz_expr **out);
enum fz_code fz_bind_index(fz_binder *b, const struct fz_expr *base, const struct fz_expr *ix,
                           const struct fz_expr **out);
const struct fz_expr *fz_bind_struct(fz_binder *b, const char **names, const struct fz_expr *const *args, size_t n);
const struct fz_expr *fz_bind_field_ix(fz_binder *b, const struct fz_expr *base, size_t ix);
enum fz_code fz_bind_type_error(fz_binder *b, const char *condition, const char *fmt, ...) FZ_PRINTF(3, 4);

// sql_bind_call.c, sql_bind_special.c, sql_bind_lambda.c
enum fz_code fz_bind_call(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                          const struct fz_expr **out);
enum fz_code fz_bind_function(fz_binder *b, const char *name, const struct fz_expr **args, size_t n,
                              const struct fz_expr **out);
enum fz_code fz_bind_special(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, const char *name,
                             const struct fz_expr **args, size_t n,
                             const struct fz_expr **out); // *out stays NULL: not special
enum fz_code fz_bind_lambda_call(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, const char *name,
                                 const struct fz_expr **out);
const struct fz_expr *fz_bind_variable(fz_binder *b, const struct fz_type *type,
                                       const char **name); // a fresh lambda variable
const struct fz_expr *fz_bind_lambda_node(fz_binder *b, const struct fz_expr *body, const char *const *params,
                                          size_t n);
bool fz_bind_is_lambda_call(const struct fz_ast_expr *e);
enum fz_code fz_bind_window_spec(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_window *w,
                                 struct fz_sql_window **out);
enum fz_code fz_bind_literal_text(fz_binder *b, const struct fz_expr *e, const char *what,
                                  const char **out); // foldable string argument
typedef enum fz_code fz_kernel_run(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                                   struct fz_arena *strings, struct fz_err *err);
enum fz_code fz_bind_kernel(fz_binder *b, const char *base, fz_kernel_run *run, const struct fz_type *result,
                            const struct fz_type *const *arg_types, size_t n_args,
                            const char **out_name); // a kernel registered on demand, per result type

// sql_bind_from.c, sql_bind_query.c
bool fz_bind_is_generator(const struct fz_ast_expr *e);
bool fz_bind_is_variant_explode(const struct fz_ast_expr *e); // (_outer): a generator that may only stand in FROM
enum fz_code fz_bind_from(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel, struct fz_sql_rel **out);
enum fz_code fz_bind_generator(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *call, bool outer,
                               const char *qualifier, const char **aliases, size_t n_aliases, struct fz_sql_rel **out,
                               struct fz_sql_col **cols, size_t *n_cols);
enum fz_code fz_bind_subquery(fz_binder *b, struct fz_sql_scope *outer, const struct fz_ast_query *q,
                              struct fz_sql_query **out);
enum fz_code fz_bind_query_cast(fz_binder *b, struct fz_sql_query *q,
                                const struct fz_expr *(*cast)(fz_binder *, const struct fz_expr *, size_t, void *),
                                void *ctx, const struct fz_field *columns, size_t n, struct fz_sql_query **out);
enum fz_code fz_bind_query_to_types(fz_binder *b, struct fz_sql_query *q, const struct fz_type *const *types,
                                    struct fz_sql_query **out);
struct fz_sql_rel *fz_bind_join_rel(fz_binder *b, struct fz_sql_rel *left, struct fz_sql_rel *right, const char *join,
                                    const struct fz_expr *on);
enum fz_code fz_bind_pivot(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel, struct fz_sql_rel **out);
enum fz_code fz_bind_unpivot(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                             struct fz_sql_rel **out);
enum fz_code fz_bind_scope_of_query(fz_binder *b, struct fz_sql_scope *s, struct fz_sql_query *q, int32_t relation,
                                    const char *qualifier, const char *full, const char **aliases, size_t n_aliases);
struct fz_sql_rel *fz_bind_rel(fz_binder *b, enum fz_rel_kind kind);
enum fz_code fz_bind_finish(fz_binder *b, struct fz_sql_scan ***scans, size_t *n);
enum fz_code fz_bind_push_filter(fz_binder *b, const struct fz_sql_rel *from, const struct fz_expr *where);

// sql_bind_store.c: assignment to a column of `type`; structs by name or by position.
enum fz_code fz_bind_store(fz_binder *b, const struct fz_expr *value, const struct fz_field *column, bool by_name,
                           const struct fz_expr **out);
const struct fz_expr *fz_bind_default(fz_binder *b, const struct fz_field *column); // write default or NULL

// sql_bind_evolve.c: MERGE WITH SCHEMA EVOLUTION. `target`'s fields become those after the change; the scopes are as before it.
enum fz_code fz_bind_evolve(fz_binder *b, const struct fz_ast_stmt *stmt, struct fz_sql_scope *target_scope,
                            struct fz_sql_scope *source, struct fz_sql_table *target, bool *changed);

// sql_print*.c
void fz_print_string(struct fz_buf *out, struct fz_str text);
enum fz_code fz_print_cast(struct fz_buf *out, struct fz_str text, const struct fz_expr *cast, struct fz_err *err);
enum fz_code fz_print_rel(struct fz_buf *out, const struct fz_sql_rel *rel, struct fz_err *err);

#define FZ_ALLOC(b, var, type, n)                                                                                      \
    do {                                                                                                               \
        (var) = fz_arena_array((b)->arena, (n) ? (n) : 1, sizeof(type));                                               \
        if ((var) == NULL) {                                                                                           \
            return FZ_BIND_NOMEM(b);                                                                                   \
        }                                                                                                              \
    } while (0)
#define FZ_RET(call)                                                                                                   \
    do {                                                                                                               \
        enum fz_code fz_ret_rc = (call);                                                                               \
        if (fz_ret_rc != FZ_OK) {                                                                                      \
            return fz_ret_rc;                                                                                          \
        }                                                                                                              \
    } while (0)
#define FZ_SOME(b, expr)                                                                                               \
    do {                                                                                                               \
        if ((expr) == NULL) {                                                                                          \
            return FZ_BIND_NOMEM(b);                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
