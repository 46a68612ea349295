// What the files of special functions share: functions whose result type or form depends on more than the types of their
// arguments. Each file has a table of handlers by name.
#ifndef FZ_SQL_SQL_BIND_SPECIAL_H
#define FZ_SQL_SQL_BIND_SPECIAL_H

#include "sql/kernels_priv.h"
#include "sql/sql_bind_priv.h"

#define BOOLEAN fz_sql_type(FZ_TYPE_BOOLEAN)
#define STRING fz_sql_type(FZ_TYPE_STRING)
#define INT fz_sql_type(FZ_TYPE_INT)
#define LONG fz_sql_type(FZ_TYPE_LONG)
#define DOUBLE fz_sql_type(FZ_TYPE_DOUBLE)
#define DATE fz_sql_type(FZ_TYPE_DATE)
#define TIMESTAMP fz_sql_type(FZ_TYPE_TIMESTAMPTZ)
#define NTZ fz_sql_type(FZ_TYPE_TIMESTAMP)

struct special { // what a handler gets
    fz_binder *b;
    struct fz_sql_scope *s;
    const struct fz_ast_expr *e; // NULL when called for an operator
    const char *name;
    const struct fz_expr **args;
    size_t n;
    const struct fz_expr **out;
};

static inline enum fz_code done(struct special *c, const struct fz_expr *e) {
    *c->out = e;
    FZ_SOME(c->b, e);
    return FZ_OK;
}
static inline const struct fz_expr *call(struct special *c, const char *fn, const struct fz_type *type, size_t n) {
    return fz_bind_internal(c->b, fn, type, c->args, n);
}
static inline enum fz_code cast_arg(struct special *c, size_t i, const struct fz_type *type) {
    if (!fz_sql_implicit_cast(c->args[i]->type, type) && fz_sql_can_cast(c->args[i]->type, type) != FZ_CAST_OK) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                  "Argument %zu of `%s` must be %s, not %s", i + 1, c->name,
                                  fz_sql_type_text(c->b->arena, type), fz_sql_type_text(c->b->arena, c->args[i]->type));
    }
    c->args[i] = fz_bind_cast(c->b, c->args[i], type);
    FZ_SOME(c->b, c->args[i]);
    return FZ_OK;
}
static inline enum fz_code wrong_count(struct special *c) {
    return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                        "The function `%s` does not take %zu argument(s)", c->name, c->n);
}
#define COUNT(c, low, high)                                                                                            \
    do {                                                                                                               \
        if ((c)->n + 1 <= (low) || (c)->n > (high)) {                                                                  \
            return wrong_count(c);                                                                                     \
        }                                                                                                              \
    } while (0)

static inline bool is_one(const char *name, const char *list) { // "a b c"
    size_t len = strlen(name);
    for (const char *p = list; *p;) {
        const char *end = strchr(p, ' ');
        size_t n = end ? (size_t)(end - p) : strlen(p);
        if (n == len && fz_str_ieq((struct fz_str){p, n}, (struct fz_str){name, len})) {
            return true;
        }
        p += n + (end != NULL);
    }
    return false;
}

static inline enum fz_code literal_int(struct special *c, size_t i, int64_t *out) {
    const struct fz_expr *e = c->args[i];
    if (e->kind != FZ_EXPR_LITERAL || !fz_type_is_integer(e->type) || e->u.literal->is_null) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
                                  "Argument %zu of `%s` must be an integer literal", i + 1, c->name);
    }
    *out = e->u.literal->u.i64;
    return FZ_OK;
}

struct special_handler {
    const char *names; // "mod pmod"
    enum fz_code (*bind)(struct special *c);
};
enum fz_code fz_special_now(struct special *c); // current_timestamp and its like
extern const struct special_handler fz_special_numbers[]; // numbers, dates and times
extern const size_t fz_n_special_numbers;
extern const struct special_handler fz_special_collections[]; // arrays, maps, structs, concatenation
extern const size_t fz_n_special_collections;
extern const struct special_handler fz_special_aggregates[];
extern const size_t fz_n_special_aggregates;
extern const struct special_handler fz_special_variants[];
extern const size_t fz_n_special_variants;

#endif
