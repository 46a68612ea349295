// Higher-order functions. Lambda variables get names that are unique in the statement; functions over maps become functions over
// their entries, zip_with becomes transform over arrays_zip.
#include "sql/sql_bind_priv.h"

bool fz_bind_is_lambda_call(const struct fz_ast_expr *e) {
    for (size_t i = 0; i < e->n_args; i++) {
        if (e->args[i]->kind == FZ_AST_LAMBDA) {
            return true;
        }
    }
    return false;
}

const struct fz_expr *fz_bind_variable(fz_binder *b, const struct fz_type *type, const char **name) {
    struct fz_expr *e = FZ_ARENA_NEW(b->arena, struct fz_expr);
    *name = fz_arena_printf(b->arena, "fz_l%d", (int)b->next_lambda++);
    if (e == NULL || *name == NULL) {
        return NULL;
    }
    e->kind = FZ_EXPR_LAMBDA_VAR;
    e->type = type;
    e->nullable = true;
    e->u.lambda_var.name = *name;
    return e;
}

const struct fz_expr *fz_bind_lambda_node(fz_binder *b, const struct fz_expr *body, const char *const *params,
                                          size_t n) {
    struct fz_expr *e = FZ_ARENA_NEW(b->arena, struct fz_expr);
    const struct fz_expr **args = fz_arena_memdup(b->arena, &body, sizeof body);
    const char **names = fz_arena_memdup(b->arena, params, n * sizeof *params);
    if (e == NULL || args == NULL || names == NULL) {
        return NULL;
    }
    e->kind = FZ_EXPR_LAMBDA;
    e->type = body->type;
    e->nullable = body->nullable;
    e->args = args;
    e->n_args = 1;
    e->u.lambda.params = names;
    e->u.lambda.n_params = n;
    return e;
}

// Binds the body with the lambda's parameters standing for `values`.
static enum fz_code body_of(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *lambda,
                            const struct fz_expr *const *values, size_t least, size_t most,
                            const struct fz_expr **out) {
    if (lambda->kind != FZ_AST_LAMBDA || lambda->n_params < least || lambda->n_params > most) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "INVALID_LAMBDA_FUNCTION_CALL.NUM_ARGS_MISMATCH",
                            "The lambda has %zu parameters, expected %zu%s",
                            lambda->kind == FZ_AST_LAMBDA ? lambda->n_params : 0, least,
                            most > least ? " or one more" : "");
    }
    struct fz_sql_lambda *saved = s->lambdas;
    for (size_t i = 0; i < lambda->n_params; i++) {
        struct fz_sql_lambda *l = FZ_ARENA_NEW(b->arena, struct fz_sql_lambda);
        FZ_SOME(b, l);
        *l = (struct fz_sql_lambda){s->lambdas, lambda->params[i], values[i]};
        s->lambdas = l;
    }
    enum fz_code rc = fz_bind(b, s, lambda->args[0], out);
    s->lambdas = saved;
    return rc;
}

static enum fz_code need_list(fz_binder *b, const char *name, const struct fz_expr *e) {
    return e->type->id == FZ_TYPE_LIST
               ? FZ_OK
               : fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "`%s` takes an array, not %s", name,
                                    fz_sql_type_text(b->arena, e->type));
}

// list_transform / list_filter / … over `list` with a lambda of one variable, or two with the position.
static enum fz_code over_list(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *lambda,
                              const struct fz_expr *list, size_t most, const struct fz_expr **out_lambda) {
    const char *names[2];
    const struct fz_expr *x = fz_bind_variable(b, list->type->fields[0].type, &names[0]),
                         *i = fz_bind_variable(b, fz_sql_type(FZ_TYPE_LONG), &names[1]);
    if (x == NULL || i == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    const struct fz_expr *values[2] = {x, fz_bind_internal(b, "op.lambda_index", fz_sql_type(FZ_TYPE_INT), &i, 1)},
                         *body;
    FZ_SOME(b, values[1]);
    FZ_RET(body_of(b, s, lambda, values, 1, most, &body));
    *out_lambda = fz_bind_lambda_node(b, body, names, lambda->n_params);
    FZ_SOME(b, *out_lambda);
    return FZ_OK;
}

static enum fz_code node(fz_binder *b, const char *fn, const struct fz_type *type, const struct fz_expr *a,
                         const struct fz_expr *c, const struct fz_expr **out) {
    const struct fz_expr *args[2] = {a, c};
    *out = type ? fz_bind_internal(b, fn, type, args, 2) : NULL;
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code bind_aggregate(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                                   const struct fz_expr **out) {
    const struct fz_expr *list, *init, *body;
    if (e->n_args < 3 || e->n_args > 4) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                            "aggregate takes an array, a start value, a merge and a finish lambda");
    }
    FZ_RET(fz_bind(b, s, e->args[0], &list));
    FZ_RET(need_list(b, "aggregate", list));
    FZ_RET(fz_bind(b, s, e->args[1], &init));
    // the engine's reduce wants an accumulator of the element's type: else both travel in one struct
    const struct fz_type *element = list->type->fields[0].type;
    bool plain = fz_type_equal(init->type, element, true, false);
    const char *names[2], *fields[2] = {"acc", "x"};
    const struct fz_expr *nulls[2] = {fz_bind_null(b, init->type), fz_bind_null(b, element)};
    const struct fz_expr *both = nulls[0] && nulls[1] ? fz_bind_struct(b, fields, nulls, 2) : NULL;
    FZ_SOME(b, both);
    const struct fz_expr *vars[2] = {fz_bind_variable(b, plain ? init->type : both->type, &names[0]),
                                     fz_bind_variable(b, plain ? element : both->type, &names[1])};
    if (vars[0] == NULL || vars[1] == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    const struct fz_expr *values[2] = {plain ? vars[0] : fz_bind_field_ix(b, vars[0], 0),
                                       plain ? vars[1] : fz_bind_field_ix(b, vars[1], 1)};
    if (values[0] == NULL || values[1] == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    FZ_RET(body_of(b, s, e->args[2], values, 2, 2, &body));
    if (fz_sql_can_cast(body->type, init->type) != FZ_CAST_OK) {
        return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                  "The merge lambda of aggregate gives %s, the start value is %s",
                                  fz_sql_type_text(b->arena, body->type), fz_sql_type_text(b->arena, init->type));
    }
    body = fz_bind_cast(b, body, init->type);
    FZ_SOME(b, body);
    if (!plain) {
        const struct fz_expr *next[2] = {body, values[1]};
        body = fz_bind_struct(b, fields, next, 2);
        FZ_SOME(b, body);
    }
    const struct fz_expr *args[3] = {list, fz_bind_lambda_node(b, body, names, 2), init};
    const struct fz_expr *reduced = fz_bind_internal(b, plain ? "op.reduce" : "op.reduce_any", init->type, args, 3);
    FZ_SOME(b, reduced);
    if (e->n_args == 3) {
        *out = reduced;
        return FZ_OK;
    }
    const char *name;
    const struct fz_expr *acc = fz_bind_variable(b, init->type, &name), *finish;
    FZ_SOME(b, acc);
    FZ_RET(body_of(b, s, e->args[3], &acc, 1, 1, &finish));
    const struct fz_expr *l = fz_bind_lambda_node(b, finish, &name, 1);
    FZ_SOME(b, l);
    return node(b, "op.let", finish->type, reduced, l, out);
}

static enum fz_code bind_zip_with(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                                  const struct fz_expr **out) {
    const struct fz_expr *lists[2], *zipped, *body;
    if (e->n_args != 3) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                            "zip_with takes two arrays and a lambda");
    }
    for (size_t i = 0; i < 2; i++) {
        FZ_RET(fz_bind(b, s, e->args[i], &lists[i]));
        FZ_RET(need_list(b, "zip_with", lists[i]));
    }
    FZ_RET(fz_bind_function(b, "arrays_zip", lists, 2, &zipped));
    const char *name;
    const struct fz_expr *v = fz_bind_variable(b, zipped->type->fields[0].type, &name);
    FZ_SOME(b, v);
    const struct fz_expr *values[2] = {fz_bind_field_ix(b, v, 0), fz_bind_field_ix(b, v, 1)};
    if (values[0] == NULL || values[1] == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    FZ_RET(body_of(b, s, e->args[2], values, 2, 2, &body));
    const struct fz_expr *l = fz_bind_lambda_node(b, body, &name, 1);
    FZ_SOME(b, l);
    return node(b, "op.transform", fz_type_list(b->arena, 0, false, body->type), zipped, l, out);
}

// map_filter, transform_keys, transform_values.
static enum fz_code bind_map_lambda(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, const char *name,
                                    const struct fz_expr **out) {
    const struct fz_expr *map, *entries, *body;
    if (e->n_args != 2) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "%s takes a map and a lambda",
                            name);
    }
    FZ_RET(fz_bind(b, s, e->args[0], &map));
    if (map->type->id != FZ_TYPE_MAP) {
        return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "`%s` takes a map, not %s", name,
                                  fz_sql_type_text(b->arena, map->type));
    }
    FZ_RET(fz_bind_function(b, "map_entries", &map, 1, &entries));
    const char *var;
    const struct fz_expr *v = fz_bind_variable(b, entries->type->fields[0].type, &var);
    FZ_SOME(b, v);
    const struct fz_expr *kv[2] = {fz_bind_field_ix(b, v, 0), fz_bind_field_ix(b, v, 1)};
    if (kv[0] == NULL || kv[1] == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    FZ_RET(body_of(b, s, e->args[1], kv, 2, 2, &body));
    const struct fz_expr *list;
    if (fz_strcasecmp(name, "map_filter") == 0) {
        const struct fz_expr *l = fz_bind_lambda_node(b, body, &var, 1);
        FZ_SOME(b, l);
        FZ_RET(node(b, "op.filter", entries->type, entries, l, &list));
    } else {
        const char *names[2] = {"key", "value"};
        kv[fz_strcasecmp(name, "transform_keys") == 0 ? 0 : 1] = body;
        const struct fz_expr *pair = fz_bind_struct(b, names, kv, 2);
        FZ_SOME(b, pair);
        const struct fz_expr *l = fz_bind_lambda_node(b, pair, &var, 1);
        FZ_SOME(b, l);
        FZ_RET(node(b, "op.transform", fz_type_list(b->arena, 0, true, pair->type), entries, l, &list));
    }
    return fz_bind_function(b, "map_from_entries", &list, 1, out);
}

// map_zip_with(a, b, (k, x, y) -> …): over the keys of both.
static enum fz_code bind_map_zip(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                                 const struct fz_expr **out) {
    const struct fz_expr *maps[2], *keys[2], *all, *body, *list;
    if (e->n_args != 3) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                            "map_zip_with takes two maps and a lambda");
    }
    for (size_t i = 0; i < 2; i++) {
        FZ_RET(fz_bind(b, s, e->args[i], &maps[i]));
        if (maps[i]->type->id != FZ_TYPE_MAP) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "map_zip_with takes maps");
        }
        FZ_RET(fz_bind_function(b, "map_keys", &maps[i], 1, &keys[i]));
    }
    FZ_RET(fz_bind_function(b, "array_union", keys, 2, &all));
    const char *var;
    const struct fz_expr *k = fz_bind_variable(b, all->type->fields[0].type, &var), *values[3] = {k, NULL, NULL};
    FZ_SOME(b, k);
    FZ_RET(fz_bind_index(b, maps[0], k, &values[1]));
    FZ_RET(fz_bind_index(b, maps[1], k, &values[2]));
    FZ_RET(body_of(b, s, e->args[2], values, 3, 3, &body));
    const char *names[2] = {"key", "value"};
    const struct fz_expr *kv[2] = {k, body};
    const struct fz_expr *pair = fz_bind_struct(b, names, kv, 2);
    FZ_SOME(b, pair);
    const struct fz_expr *l = fz_bind_lambda_node(b, pair, &var, 1);
    FZ_SOME(b, l);
    FZ_RET(node(b, "op.transform", fz_type_list(b->arena, 0, true, pair->type), all, l, &list));
    return fz_bind_function(b, "map_from_entries", &list, 1, out);
}

// array_sort(a, (l, r) -> …): by counting. The element's place is the number of elements that come before it; equal ones keep their order.
static enum fz_code bind_array_sort(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                                    const struct fz_expr **out) {
    const struct fz_expr *list, *body;
    FZ_RET(fz_bind(b, s, e->args[0], &list));
    FZ_RET(need_list(b, "array_sort", list));
    const char *names[2];
    const struct fz_type *element = list->type->fields[0].type;
    const struct fz_expr *values[2] = {fz_bind_variable(b, element, &names[0]),
                                       fz_bind_variable(b, element, &names[1])};
    if (values[0] == NULL || values[1] == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    FZ_RET(body_of(b, s, e->args[1], values, 2, 2, &body));
    if (!fz_type_is_integer(body->type)) {
        return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_RETURN_TYPE",
                                  "The comparator of array_sort must give an integer, not %s",
                                  fz_sql_type_text(b->arena, body->type));
    }
    const struct fz_expr *inner = fz_bind_lambda_node(b, body, names, 2);
    FZ_SOME(b, inner);
    return node(b, "op.array_sort_by", list->type, list, inner, out);
}

enum fz_code fz_bind_lambda_call(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, const char *name,
                                 const struct fz_expr **out) {
    static const struct {
        const char *name, *fn;
        size_t most;
        char result; // l list of the body's type, s same, b boolean
    } plain[] = {{"transform", "op.transform", 2, 'l'},
                 {"filter", "op.filter", 2, 's'},
                 {"exists", "op.exists", 1, 'b'},
                 {"any_match", "op.exists", 1, 'b'},
                 {"forall", "op.forall", 1, 'b'}};
    if (fz_strcasecmp(name, "aggregate") == 0 || fz_strcasecmp(name, "reduce") == 0) {
        return bind_aggregate(b, s, e, out);
    }
    if (fz_strcasecmp(name, "zip_with") == 0) {
        return bind_zip_with(b, s, e, out);
    }
    if (fz_strcasecmp(name, "map_zip_with") == 0) {
        return bind_map_zip(b, s, e, out);
    }
    if (fz_strcasecmp(name, "array_sort") == 0 && e->n_args == 2) {
        return bind_array_sort(b, s, e, out);
    }
    if (fz_strcasecmp(name, "map_filter") == 0 || fz_strcasecmp(name, "transform_keys") == 0 ||
        fz_strcasecmp(name, "transform_values") == 0) {
        return bind_map_lambda(b, s, e, name, out);
    }
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (fz_strcasecmp(name, plain[i].name) != 0 || e->n_args != 2) {
            continue;
        }
        const struct fz_expr *list, *lambda;
        FZ_RET(fz_bind(b, s, e->args[0], &list));
        FZ_RET(need_list(b, name, list));
        FZ_RET(over_list(b, s, e->args[1], list, plain[i].most, &lambda));
        if (plain[i].result != 'l' && lambda->type->id != FZ_TYPE_BOOLEAN) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                      "The lambda of %s must give BOOLEAN, not %s", name,
                                      fz_sql_type_text(b->arena, lambda->type));
        }
        const struct fz_type *t = plain[i].result == 'l'   ? fz_type_list(b->arena, 0, false, lambda->type)
                                  : plain[i].result == 's' ? list->type
                                                           : fz_sql_type(FZ_TYPE_BOOLEAN);
        return node(b, plain[i].fn, t, list, lambda, out);
    }
    return fz_fail_cond(b->err, FZ_INVALID_ARG, "INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION",
                        "The function `%s` does not take a lambda", name);
}
