// Store assignment: a value made fit for a table column (Spark's ANSI policy; STRICT and LEGACY are refused where Spark refuses them).
// Structs by field name in MERGE, UPDATE and BY NAME, by position in INSERT; NULL into a required column fails when a row is written.
#include "sql/sql_bind_priv.h"

static enum fz_code store(fz_binder *b, const struct fz_expr *v, const struct fz_type *type, bool required,
                          const char *path, bool by_name, const struct fz_expr **out);

static enum fz_code cannot_cast(fz_binder *b, const struct fz_expr *v, const struct fz_type *type, const char *path) {
    return fz_bind_type_error(b, "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST",
                              "Cannot write incompatible data for the column `%s`: cannot safely cast %s to %s", path,
                              fz_sql_type_text(b->arena, v->type), fz_sql_type_text(b->arena, type));
}

static const struct fz_expr *assert_not_null(fz_binder *b, const struct fz_expr *v, const char *path) {
    const struct fz_expr *args[2] = {v, fz_bind_text(b, path)};
    const struct fz_expr *e = args[1] ? fz_bind_internal(b, "op.assert_not_null", v->type, args, 2) : NULL;
    return e;
}

static bool same_names(const struct fz_type *a, const struct fz_type *c) {
    if (a->n_fields != c->n_fields) {
        return false;
    }
    for (size_t i = 0; i < a->n_fields; i++) {
        if (a->id == FZ_TYPE_STRUCT && fz_strcasecmp(a->fields[i].name, c->fields[i].name) != 0) {
            return false;
        }
        if (!same_names(a->fields[i].type, c->fields[i].type)) {
            return false;
        }
    }
    return true;
}
static bool has_required(const struct fz_type *t) {
    for (size_t i = 0; i < t->n_fields; i++) {
        if ((t->id == FZ_TYPE_STRUCT && t->fields[i].required) || has_required(t->fields[i].type)) {
            return true;
        }
    }
    return false;
}

static enum fz_code store_struct(fz_binder *b, const struct fz_expr *v, const struct fz_type *type, const char *path,
                                 bool by_name, const struct fz_expr **out) {
    const struct fz_expr **args;
    size_t n = type->n_fields, found = 0;
    const struct fz_type *from = v->type;
    FZ_ALLOC(b, args, const struct fz_expr *, n + 1);
    for (size_t i = 0; i < n; i++) {
        const struct fz_field *f = &type->fields[i];
        size_t at = by_name ? from->n_fields : i;
        for (size_t k = 0; by_name && k < from->n_fields; k++) {
            at = fz_strcasecmp(from->fields[k].name, f->name) == 0 ? k : at;
        }
        const char *inner = fz_arena_printf(b->arena, "%s`.`%s", path, f->name);
        FZ_SOME(b, inner);
        if (at >= from->n_fields) {
            return fz_bind_type_error(b, "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA",
                                      "Cannot find data for the output column `%s`", inner);
        }
        found++;
        bool literal_struct = v->kind == FZ_EXPR_CALL && strcmp(v->u.call.fn->name, "op.struct") == 0;
        const struct fz_expr *part = literal_struct ? v->args[at] : fz_bind_field_ix(b, v, at);
        FZ_SOME(b, part);
        // fields of a NULL struct are NULL: only the fields of a present one must not be
        FZ_RET(store(b, part, f->type, f->required && (literal_struct || from->fields[at].required == false), inner,
                     by_name, &args[i + 1]));
    }
    if (from->n_fields > found) {
        return fz_bind_type_error(b, "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_STRUCT_FIELDS",
                                  "Cannot write extra fields to the struct `%s`", path);
    }
    if (v->nullable) {
        args[0] = fz_expr_op(b->arena, FZ_EXPR_IS_NULL, fz_sql_type(FZ_TYPE_BOOLEAN), &v, 1);
        *out = args[0] ? fz_bind_internal(b, "op.struct_nullable", type, args, n + 1) : NULL;
    } else {
        *out = fz_bind_internal(b, "op.struct", type, args + 1, n);
    }
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code store_list(fz_binder *b, const struct fz_expr *v, const struct fz_type *type, const char *path,
                               bool by_name, const struct fz_expr **out) {
    const char *name, *inner = fz_arena_printf(b->arena, "%s`.`element", path);
    const struct fz_expr *var = fz_bind_variable(b, v->type->fields[0].type, &name), *body;
    if (var == NULL || inner == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    FZ_RET(store(b, var, type->fields[0].type, type->fields[0].required && !v->type->fields[0].required, inner, by_name,
                 &body));
    const struct fz_expr *args[2] = {v, fz_bind_lambda_node(b, body, &name, 1)};
    *out = args[1] ? fz_bind_internal(b, "op.transform", type, args, 2) : NULL;
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code store_map(fz_binder *b, const struct fz_expr *v, const struct fz_type *type, const char *path,
                              bool by_name, const struct fz_expr **out) {
    const struct fz_expr *entries, *kv[2];
    const char *name, *names[2] = {"key", "value"};
    FZ_RET(fz_bind_function(b, "map_entries", &v, 1, &entries));
    const struct fz_expr *var = fz_bind_variable(b, entries->type->fields[0].type, &name);
    FZ_SOME(b, var);
    for (size_t i = 0; i < 2; i++) {
        const struct fz_expr *part = fz_bind_field_ix(b, var, i);
        const char *inner = fz_arena_printf(b->arena, "%s`.`%s", path, names[i]);
        if (part == NULL || inner == NULL) {
            return FZ_BIND_NOMEM(b);
        }
        FZ_RET(store(b, part, type->fields[i].type, type->fields[i].required && i == 1 && !v->type->fields[1].required,
                     inner, by_name, &kv[i]));
    }
    const struct fz_expr *pair = fz_bind_struct(b, names, kv, 2), *list;
    FZ_SOME(b, pair);
    const struct fz_expr *args[2] = {entries, fz_bind_lambda_node(b, pair, &name, 1)};
    const struct fz_type *lt = fz_type_list(b->arena, 0, true, pair->type);
    list = args[1] && lt ? fz_bind_internal(b, "op.transform", lt, args, 2) : NULL;
    FZ_SOME(b, list);
    *out = fz_bind_internal(b, "op.map_from_entries", type, &list, 1);
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code store(fz_binder *b, const struct fz_expr *v, const struct fz_type *type, bool required,
                          const char *path, bool by_name, const struct fz_expr **out) {
    const char *policy = b->env->setting ? b->env->setting(b->env->ctx, "spark.sql.storeAssignmentPolicy") : NULL;
    if (policy != NULL && fz_strcasecmp(policy, "LEGACY") == 0) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "_LEGACY_ERROR_TEMP_1000",
                            "LEGACY store assignment policy is disallowed for tables of this catalog; set "
                            "spark.sql.storeAssignmentPolicy to ANSI");
    }
    bool strict = policy != NULL && fz_strcasecmp(policy, "STRICT") == 0;
    if (++b->depth > FZ_BIND_MAX_DEPTH) {
        b->depth--;
        return fz_fail(b->err, FZ_LIMIT, "the type of column %s is nested too deeply", path);
    }
    enum fz_code rc = FZ_OK;
    const struct fz_type *from = v->type;
    if (fz_sql_is_null(from)) {
        *out = fz_bind_null(b, type);
        rc = *out ? FZ_OK : FZ_BIND_NOMEM(b);
    } else if (from->n_fields > 0 && from->id == type->id &&
               (!fz_type_equal(from, type, true, false) || !same_names(from, type) || has_required(type))) {
        rc = type->id == FZ_TYPE_STRUCT ? store_struct(b, v, type, path, by_name, out)
             : type->id == FZ_TYPE_LIST ? store_list(b, v, type, path, by_name, out)
                                        : store_map(b, v, type, path, by_name, out);
    } else if (!fz_sql_can_store(from, type) || (strict && !fz_sql_can_widen_strict(from, type))) {
        rc = cannot_cast(b, v, type, path);
    } else if (fz_type_equal(from, type, true, false)) {
        *out = v;
    } else {
        const struct fz_expr *cast = fz_expr_cast(b->arena, v, type, FZ_CAST_STORE);
        *out = cast ? fz_sql_fold(b->arena, cast, b->env->time_zone) : NULL;
        rc = *out ? FZ_OK : FZ_BIND_NOMEM(b);
    }
    b->depth--;
    if (rc == FZ_OK && required && (*out)->nullable) {
        *out = assert_not_null(b, *out, path);
        rc = *out ? FZ_OK : FZ_BIND_NOMEM(b);
    }
    return rc;
}

enum fz_code fz_bind_store(fz_binder *b, const struct fz_expr *value, const struct fz_field *column, bool by_name,
                           const struct fz_expr **out) {
    return store(b, value, column->type, column->required, column->name, by_name, out);
}

const struct fz_expr *fz_bind_default(fz_binder *b, const struct fz_field *column) {
    return column->write_default != NULL ? fz_sql_literal(b->arena, column->write_default)
                                         : fz_bind_null(b, column->type);
}

enum fz_code fz_sql_store_cast(struct fz_arena *arena, const struct fz_sql_env *env, const struct fz_expr *value,
                               const struct fz_type *type, const char *column, const struct fz_expr **out,
                               struct fz_err *err) {
    fz_binder b = {.arena = arena, .env = env, .err = err};
    return store(&b, value, type, false, column, true, out);
}
