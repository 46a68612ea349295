// The expression tree: typed, bound by field id. Built by sql/ (binder) and by cdc/; read by pruning (table/, scan/), by the
// DuckDB printer (sql/), by the text printer, and by the vector evaluator here. Arena-allocated, immutable.
#ifndef FZ_DATA_EXPR_H
#define FZ_DATA_EXPR_H

#include "data/value.h"

enum fz_expr_kind {
    FZ_EXPR_LITERAL, // value
    FZ_EXPR_COLUMN, // column of a relation
    FZ_EXPR_FIELD, // args[0] . field (struct field by index and id)
    FZ_EXPR_CAST, // args[0] cast to type; `cast` says how strictly
    FZ_EXPR_AND, // args
    FZ_EXPR_OR, // args
    FZ_EXPR_NOT,
    FZ_EXPR_EQ, // args[0] = args[1], three-valued
    FZ_EXPR_NE,
    FZ_EXPR_LT,
    FZ_EXPR_LE,
    FZ_EXPR_GT,
    FZ_EXPR_GE,
    FZ_EXPR_NULL_EQ, // <=>
    FZ_EXPR_IS_NULL,
    FZ_EXPR_IN, // args[0] IN (args[1..])
    FZ_EXPR_STARTS_WITH, // args[0] begins with literal args[1]; what LIKE 'x%' becomes for pruning
    FZ_EXPR_CASE, // args: when, then, when, then, …, [else]; odd count = has else
    FZ_EXPR_CALL, // function `fn` over args
    FZ_EXPR_LAMBDA, // args[0] = body; params named by lambda_params
    FZ_EXPR_LAMBDA_VAR,
    FZ_EXPR_AGGREGATE, // fn over args, distinct, filter, order
    FZ_EXPR_WINDOW, // fn or aggregate over a window
    FZ_EXPR_SUBQUERY, // scalar / exists / in: sql/ owns the query
};

enum fz_cast_mode {
    FZ_CAST_ANSI, // explicit CAST and implicit casts: fails at run time
    FZ_CAST_TRY, // try_cast: NULL instead
    FZ_CAST_STORE, // store assignment: CAST_OVERFLOW_IN_TABLE_INSERT
};

struct fz_func; // a row of sql/functions.def
struct fz_sql_query; // a bound query, sql/bound.h
struct fz_sql_window; // window specification, sql/bound.h

struct fz_expr {
    enum fz_expr_kind kind;
    const struct fz_type *type; // result type, never NULL in a bound tree
    bool nullable; // false only when provably never NULL
    size_t n_args;
    const struct fz_expr *const *args;
    union {
        const struct fz_value *literal;
        struct {
            int32_t
                relation; // which relation of the statement (0 = target of a MERGE, 1 = its source, …); see sql/bound.h
            int32_t field_id; // Iceberg field id, or ordinal + 1 where the relation is a query
            const char *name; // for messages and output names
        } column;
        struct {
            int32_t index, field_id;
            const char *name;
        } field;
        enum fz_cast_mode cast;
        struct {
            const struct fz_func *fn;
            const char *name; // as listed in functions.def
            bool distinct, ignore_nulls;
            const struct fz_expr *filter; // aggregates: FILTER (WHERE …)
            const struct fz_sql_window *window; // windows only
        } call;
        struct {
            const char *const *params;
            size_t n_params;
        } lambda;
        struct {
            const char *name;
        } lambda_var;
        struct {
            const struct fz_sql_query *query;
            enum { FZ_SUBQUERY_SCALAR, FZ_SUBQUERY_EXISTS, FZ_SUBQUERY_IN } form; // IN: args are the left side
        } subquery;
    } u;
};

// Constructors (arena; NULL only when out of memory). `args` is copied.
const struct fz_expr *fz_expr_literal(struct fz_arena *arena, const struct fz_value *value);
const struct fz_expr *fz_expr_column(struct fz_arena *arena, int32_t relation, int32_t field_id, const char *name,
                                     const struct fz_type *type, bool nullable);
const struct fz_expr *fz_expr_op(struct fz_arena *arena, enum fz_expr_kind kind, const struct fz_type *type,
                                 const struct fz_expr *const *args, size_t n);
const struct fz_expr *fz_expr_and(struct fz_arena *arena, const struct fz_expr *a,
                                  const struct fz_expr *b); // either may be NULL
const struct fz_expr *fz_expr_cast(struct fz_arena *arena, const struct fz_expr *arg, const struct fz_type *type,
                                   enum fz_cast_mode mode);

// Splits a condition at its ANDs into at most `cap` conjuncts; returns how many there are.
size_t fz_expr_conjuncts(const struct fz_expr *condition, const struct fz_expr **out, size_t cap);
// Which relations a tree mentions: bit r for relation r < 32. Subqueries count as bit 31.
uint32_t fz_expr_relations(const struct fz_expr *expr);
bool fz_expr_walk(const struct fz_expr *expr, bool (*visit)(void *ctx, const struct fz_expr *expr),
                  void *ctx); // false from visit stops
void fz_expr_print(struct fz_buf *out, const struct fz_expr *expr); // for messages: (id = 5)

// The small vector evaluator: literals, columns, = <> < <= > >= <=> IN IS NULL AND OR NOT STARTS_WITH over one batch whose
// columns are found by field id. `fz_expr_evaluable` says whether a tree has only those. Result: one byte a row, 0 false,
// 1 true, 2 NULL.
bool fz_expr_evaluable(const struct fz_expr *expr);
enum fz_code fz_expr_evaluate(const struct fz_expr *expr, const struct fz_batch *batch, uint8_t *out,
                              struct fz_err *err);

// The comparison that says the same with its sides exchanged: a < b is b > a.
enum fz_expr_kind fz_expr_mirrored(enum fz_expr_kind kind);

#endif
