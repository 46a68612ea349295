// Functions whose result type or form depends on more than the types of their arguments: constructors, constants of the statement,
// date parts and units, rounding, JSON with a schema, overloads by kind. Everything else is a row of functions.def.
#include <stdio.h>

#include "data/transform.h"
#include "sql/sql_bind_special.h"

// ---- conditions ----
static enum fz_code bind_if(struct special *c) {
    COUNT(c, 3, 3);
    if (fz_sql_is_null(c->args[0]->type)) {
        c->args[0] = fz_bind_null(c->b, BOOLEAN);
        FZ_SOME(c->b, c->args[0]);
    }
    if (c->args[0]->type->id != FZ_TYPE_BOOLEAN) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                  "The condition of IF must be BOOLEAN, not %s",
                                  fz_sql_type_text(c->b->arena, c->args[0]->type));
    }
    const struct fz_type *t;
    FZ_RET(fz_bind_unify(c->b, "IF", c->args + 1, 2, &t));
    return done(c, fz_expr_op(c->b->arena, FZ_EXPR_CASE, t, c->args, 3));
}

static enum fz_code bind_isnull(struct special *c) {
    COUNT(c, 1, 1);
    const struct fz_expr *e = fz_expr_op(c->b->arena, FZ_EXPR_IS_NULL, BOOLEAN, c->args, 1);
    if (e != NULL && is_one(c->name, "isnotnull")) {
        e = fz_expr_op(c->b->arena, FZ_EXPR_NOT, BOOLEAN, &e, 1);
    }
    return done(c, e);
}

static enum fz_code bind_decode(struct special *c) {
    if (c->n == 2) { // (binary, charset)
        FZ_RET(cast_arg(c, 0, fz_sql_type(FZ_TYPE_BINARY)));
        FZ_RET(cast_arg(c, 1, STRING));
        return done(c, call(c, "op.decode", STRING, 2));
    }
    COUNT(c, 3, 1000);
    const struct fz_expr **parts;
    size_t k = 0;
    FZ_ALLOC(c->b, parts, const struct fz_expr *, c->n);
    const struct fz_expr **values;
    size_t n_values = 0;
    FZ_ALLOC(c->b, values, const struct fz_expr *, c->n);
    for (size_t i = 1; i < c->n; i += 2) {
        values[n_values++] = i + 1 < c->n ? c->args[i + 1] : c->args[i];
    }
    const struct fz_type *t;
    FZ_RET(fz_bind_unify(c->b, "decode", values, n_values, &t));
    for (size_t i = 1, v = 0; i < c->n; i += 2) {
        if (i + 1 < c->n) {
            FZ_RET(fz_bind_compare(c->b, "<=>", c->args[0], c->args[i], &parts[k++]));
        }
        parts[k++] = values[v++];
    }
    return done(c, fz_expr_op(c->b->arena, FZ_EXPR_CASE, t, parts, k));
}

static enum fz_code bind_elt(struct special *c) {
    COUNT(c, 2, 1000);
    const struct fz_expr **parts;
    size_t k = 0;
    size_t n_parts = 2 * c->n;
    FZ_ALLOC(c->b, parts, const struct fz_expr *, n_parts);
    FZ_RET(cast_arg(c, 0, INT));
    for (size_t i = 1; i < c->n; i++) {
        FZ_RET(cast_arg(c, i, STRING));
        FZ_RET(fz_bind_compare(c->b, "=", c->args[0], fz_bind_int(c->b, FZ_TYPE_INT, (int64_t)i), &parts[k++]));
        parts[k++] = c->args[i];
    }
    return done(c, fz_expr_op(c->b->arena, FZ_EXPR_CASE, STRING, parts, k));
}

// ---- constructors and collections ----
static enum fz_code bind_concat(struct special *c) {
    if (c->n == 0) {
        return done(c, fz_bind_text(c->b, ""));
    }
    bool lists = false, binary = true;
    for (size_t i = 0; i < c->n; i++) {
        lists |= c->args[i]->type->id == FZ_TYPE_LIST;
        binary &= fz_sql_is_binary(c->args[i]->type);
    }
    if (lists) {
        const struct fz_type *t;
        FZ_RET(fz_bind_unify(c->b, "concat", c->args, c->n, &t));
        const struct fz_expr *all = c->args[0];
        for (size_t i = 1; i < c->n; i++) {
            const struct fz_expr *two[2] = {all, c->args[i]};
            all = fz_bind_internal(c->b, "op.list_concat", t, two, 2);
            FZ_SOME(c->b, all);
        }
        return done(c, all);
    }
    for (size_t i = 0; i < c->n && !binary; i++) {
        if (fz_sql_is_string(c->args[i]->type)) {
            continue;
        }
        if (!fz_sql_implicit_cast(c->args[i]->type, STRING)) {
            return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.DATA_DIFF_TYPES", "concat does not take %s",
                                      fz_sql_type_text(c->b->arena, c->args[i]->type));
        }
        FZ_RET(cast_arg(c, i, STRING));
    }
    return done(
        c, call(c, binary ? "op.concat_binary" : "op.concat", binary ? fz_sql_type(FZ_TYPE_BINARY) : STRING, c->n));
}

static enum fz_code bind_concat_ws(struct special *c) {
    COUNT(c, 1, 1000);
    FZ_RET(cast_arg(c, 0, STRING));
    bool lists = false;
    for (size_t i = 1; i < c->n; i++) {
        lists |= c->args[i]->type->id == FZ_TYPE_LIST;
    }
    if (!lists) {
        for (size_t i = 1; i < c->n; i++) {
            FZ_RET(cast_arg(c, i, STRING));
        }
        if (c->n == 1) {
            c->n = 1;
        }
        return done(c, fz_bind_call_node(c->b, fz_func_find("concat_ws", NULL), STRING, c->args, c->n));
    }
    const struct fz_type *list = fz_type_list(c->b->arena, 0, false, STRING);
    const struct fz_expr *all = NULL;
    FZ_SOME(c->b, list);
    for (size_t i = 1; i < c->n; i++) {
        const struct fz_expr *part = c->args[i];
        if (part->type->id == FZ_TYPE_LIST) {
            part = fz_bind_cast(c->b, part, list);
            part = part ? fz_bind_internal(c->b, "op.null_to_empty", list, &part, 1) : NULL;
        } else {
            part = fz_bind_cast(c->b, part, STRING);
            part = part ? fz_bind_internal(c->b, "op.array", list, &part, 1) : NULL;
        }
        FZ_SOME(c->b, part);
        const struct fz_expr *two[2] = {all, part};
        all = all ? fz_bind_internal(c->b, "op.list_concat", list, two, 2) : part;
        FZ_SOME(c->b, all);
    }
    const struct fz_expr *two[2] = {c->args[0], all};
    return done(c, fz_bind_internal(c->b, "op.concat_ws_list", STRING, two, 2));
}

static enum fz_code bind_array(struct special *c) {
    const struct fz_type *t;
    FZ_RET(fz_bind_unify(c->b, "array", c->args, c->n, &t));
    bool nullable = false;
    for (size_t i = 0; i < c->n; i++) {
        nullable |= c->args[i]->nullable;
    }
    const struct fz_type *list = fz_type_list(c->b->arena, 0, !nullable, t);
    FZ_SOME(c->b, list);
    return done(c, call(c, "op.array", list, c->n));
}

static enum fz_code map_of(struct special *c, const struct fz_expr *entries, const struct fz_type *key,
                           const struct fz_type *value) {
    const struct fz_type *t = fz_type_map(c->b->arena, 0, key, 0, false, value);
    FZ_SOME(c->b, t);
    return done(c, fz_bind_internal(c->b, "op.map_from_entries", t, &entries, 1));
}

static enum fz_code bind_map(struct special *c) {
    if (c->n % 2 != 0) {
        return wrong_count(c);
    }
    size_t n = c->n / 2;
    const struct fz_expr **keys, **values;
    const struct fz_type *kt, *vt;
    FZ_ALLOC(c->b, keys, const struct fz_expr *, n);
    FZ_ALLOC(c->b, values, const struct fz_expr *, n);
    for (size_t i = 0; i < n; i++) {
        keys[i] = c->args[2 * i];
        values[i] = c->args[2 * i + 1];
        if (keys[i]->kind == FZ_EXPR_LITERAL && keys[i]->u.literal->is_null) {
            return fz_fail_cond(c->b->err, FZ_CONSTRAINT, "NULL_MAP_KEY", "Cannot use null as map key");
        }
    }
    FZ_RET(fz_bind_unify(c->b, "map", keys, n, &kt));
    FZ_RET(fz_bind_unify(c->b, "map", values, n, &vt));
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++) {
            if (keys[i]->kind == FZ_EXPR_LITERAL && fz_expr_same(keys[i], keys[k])) {
                return fz_fail_cond(c->b->err, FZ_CONSTRAINT, "DUPLICATED_MAP_KEY", "Duplicate map key was found");
            }
        }
    }
    if (fz_sql_has_variant(kt)) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.INVALID_MAP_KEY_TYPE", "The keys of a map cannot be %s",
                                  fz_sql_type_text(c->b->arena, kt));
    }
    const struct fz_type *kl = fz_type_list(c->b->arena, 0, true, kt), *vl = fz_type_list(c->b->arena, 0, false, vt);
    const struct fz_type *mt = fz_type_map(c->b->arena, 0, kt, 0, false, vt);
    if (kl == NULL || vl == NULL || mt == NULL) {
        return FZ_BIND_NOMEM(c->b);
    }
    const struct fz_expr *two[2] = {fz_bind_internal(c->b, "op.array", kl, keys, n),
                                    fz_bind_internal(c->b, "op.array", vl, values, n)};
    return done(c, fz_bind_internal(c->b, "op.map", mt, two, 2));
}

static enum fz_code bind_map_arrays(struct special *c) { // map_from_arrays(keys, values)
    COUNT(c, 2, 2);
    if (c->args[0]->type->id != FZ_TYPE_LIST || c->args[1]->type->id != FZ_TYPE_LIST) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "map_from_arrays takes two arrays");
    }
    const struct fz_type *mt =
        fz_type_map(c->b->arena, 0, c->args[0]->type->fields[0].type, 0, false, c->args[1]->type->fields[0].type);
    FZ_SOME(c->b, mt);
    return done(c, call(c, "op.map", mt, 2));
}

static const struct fz_type *entry_list(fz_binder *b, const struct fz_type *map) {
    struct fz_field fields[2] = {{.name = "key", .required = true, .type = map->fields[0].type},
                                 {.name = "value", .type = map->fields[1].type}};
    const struct fz_type *entry = fz_type_struct(b->arena, fields, 2);
    return entry ? fz_type_list(b->arena, 0, true, entry) : NULL;
}

static enum fz_code need_map(struct special *c, size_t i) {
    if (i >= c->n || c->args[i]->type->id != FZ_TYPE_MAP) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "`%s` takes a map", c->name);
    }
    return FZ_OK;
}

static enum fz_code bind_map_entries(struct special *c) {
    COUNT(c, 1, 1);
    FZ_RET(need_map(c, 0));
    const struct fz_type *t = entry_list(c->b, c->args[0]->type);
    FZ_SOME(c->b, t);
    return done(c, call(c, "op.map_entries", t, 1));
}

static enum fz_code bind_map_from_entries(struct special *c) {
    COUNT(c, 1, 1);
    const struct fz_type *t = c->args[0]->type;
    if (t->id != FZ_TYPE_LIST || t->fields[0].type->id != FZ_TYPE_STRUCT || t->fields[0].type->n_fields != 2) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.MAP_FROM_ENTRIES_WRONG_TYPE",
                                  "map_from_entries takes an array of pairs, not %s", fz_sql_type_text(c->b->arena, t));
    }
    return map_of(c, c->args[0], t->fields[0].type->fields[0].type, t->fields[0].type->fields[1].type);
}

static enum fz_code bind_map_concat(struct special *c) {
    COUNT(c, 1, 100);
    const struct fz_type *t;
    FZ_RET(need_map(c, 0));
    FZ_RET(fz_bind_unify(c->b, "map_concat", c->args, c->n, &t));
    const struct fz_type *list = entry_list(c->b, t);
    const struct fz_expr *all = NULL;
    FZ_SOME(c->b, list);
    for (size_t i = 0; i < c->n; i++) {
        const struct fz_expr *part = fz_bind_internal(c->b, "op.map_entries", list, &c->args[i], 1);
        const struct fz_expr *two[2] = {all, part};
        all = all && part ? fz_bind_internal(c->b, "op.list_concat", list, two, 2) : part;
        FZ_SOME(c->b, all);
    }
    return map_of(c, all, t->fields[0].type, t->fields[1].type);
}

static enum fz_code bind_str_to_map(struct special *c) {
    COUNT(c, 1, 3);
    const struct fz_expr *args[3] = {c->args[0], c->n > 1 ? c->args[1] : fz_bind_text(c->b, ","),
                                     c->n > 2 ? c->args[2] : fz_bind_text(c->b, ":")};
    struct fz_field fields[2] = {{.name = "key", .required = true, .type = STRING}, {.name = "value", .type = STRING}};
    const struct fz_type *entry = fz_type_struct(c->b->arena, fields, 2),
                         *list = entry ? fz_type_list(c->b->arena, 0, true, entry) : NULL;
    for (size_t i = 0; i < 3; i++) {
        args[i] = fz_bind_cast(c->b, args[i], STRING);
        FZ_SOME(c->b, args[i]);
    }
    const struct fz_expr *entries = list ? fz_bind_internal(c->b, "op.str_to_entries", list, args, 3) : NULL;
    FZ_SOME(c->b, entries);
    return map_of(c, entries, STRING, STRING);
}

static enum fz_code bind_named_struct(struct special *c) {
    if (c->n % 2 != 0 || c->n == 0) {
        return wrong_count(c);
    }
    const char **names;
    const struct fz_expr **values;
    FZ_ALLOC(c->b, names, const char *, c->n / 2);
    FZ_ALLOC(c->b, values, const struct fz_expr *, c->n / 2);
    for (size_t i = 0; i < c->n / 2; i++) {
        FZ_RET(fz_bind_literal_text(c->b, c->args[2 * i], "field name", &names[i]));
        values[i] = c->args[2 * i + 1];
    }
    return done(c, fz_bind_struct(c->b, names, values, c->n / 2));
}

static enum fz_code bind_struct(struct special *c) {
    const char **names;
    FZ_ALLOC(c->b, names, const char *, c->n);
    for (size_t i = 0; i < c->n; i++) {
        const struct fz_ast_expr *a = c->e != NULL && i < c->e->n_args ? c->e->args[i] : NULL;
        if (c->e != NULL && c->e->arg_names != NULL && c->e->arg_names[i] != NULL) {
            names[i] = c->e->arg_names[i];
        } else if (a != NULL && (a->kind == FZ_AST_NAME || a->kind == FZ_AST_DOT)) {
            names[i] = a->kind == FZ_AST_NAME ? a->name.parts[a->name.n - 1] : a->text;
        } else {
            names[i] = fz_arena_printf(c->b->arena, "col%zu", i + 1);
        }
        FZ_SOME(c->b, names[i]);
    }
    return done(c, fz_bind_struct(c->b, names, c->args, c->n));
}

static enum fz_code bind_array_set(struct special *c) { // array_union, array_intersect, array_except
    COUNT(c, 2, 2);
    const struct fz_type *t;
    FZ_RET(fz_bind_unify(c->b, c->name, c->args, 2, &t));
    if (t->id != FZ_TYPE_LIST) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.BINARY_ARRAY_DIFF_TYPES", "`%s` takes two arrays", c->name);
    }
    const char *fn = is_one(c->name, "array_union")    ? "op.list_concat"
                     : is_one(c->name, "array_except") ? "op.array_except"
                                                       : "op.array_intersect";
    const struct fz_expr *e = call(c, fn, t, 2);
    FZ_SOME(c->b, e);
    return done(c, fz_bind_call_node(c->b, fz_func_find("array_distinct", NULL), t, &e, 1));
}

static enum fz_code bind_arrays_zip(struct special *c) {
    if (c->n != 2) {
        return fz_fail(c->b->err, FZ_UNSUPPORTED, "arrays_zip of %zu arrays is not supported, only of two", c->n);
    }
    struct fz_field fields[2];
    for (size_t i = 0; i < 2; i++) {
        if (c->args[i]->type->id != FZ_TYPE_LIST) {
            return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "arrays_zip takes arrays");
        }
        const struct fz_ast_expr *a = c->e != NULL && i < c->e->n_args ? c->e->args[i] : NULL;
        const char *name = a != NULL && a->kind == FZ_AST_NAME ? a->name.parts[a->name.n - 1] : i ? "1" : "0";
        fields[i] = (struct fz_field){.name = name, .type = c->args[i]->type->fields[0].type};
    }
    const struct fz_type *st = fz_type_struct(c->b->arena, fields, 2),
                         *t = st ? fz_type_list(c->b->arena, 0, true, st) : NULL;
    FZ_SOME(c->b, t);
    return done(c, call(c, "op.arrays_zip2", t, 2));
}

static enum fz_code bind_sequence(struct special *c) {
    COUNT(c, 2, 3);
    const struct fz_type *t;
    FZ_RET(fz_bind_unify(c->b, "sequence", c->args, 2, &t));
    const struct fz_type *list = fz_type_list(c->b->arena, 0, true, t);
    FZ_SOME(c->b, list);
    bool integers = fz_type_is_integer(t);
    if (!integers && t->id != FZ_TYPE_DATE && t->id != FZ_TYPE_TIMESTAMP && t->id != FZ_TYPE_TIMESTAMPTZ) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.SEQUENCE_WRONG_INPUT_TYPES", "sequence does not take %s",
                                  fz_sql_type_text(c->b->arena, t));
    }
    if (c->n == 2) {
        return done(c, call(c, integers ? "op.sequence" : "op.sequence_date", list, 2));
    }
    if (integers) {
        FZ_RET(cast_arg(c, 2, t));
        return done(c, call(c, "op.sequence_step", list, 3));
    }
    if (c->args[2]->type->id != FZ_TYPE_INTERVAL_YM && c->args[2]->type->id != FZ_TYPE_INTERVAL_DT) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.SEQUENCE_WRONG_INPUT_TYPES",
                                  "The step of sequence must be an interval");
    }
    return done(c, call(c, c->args[2]->type->id == FZ_TYPE_INTERVAL_YM ? "op.sequence_ym" : "op.sequence_dt", list, 3));
}

static enum fz_code bind_sort_array(struct special *c) {
    COUNT(c, 1, 2);
    if (c->args[0]->type->id != FZ_TYPE_LIST) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "sort_array takes an array");
    }
    bool descending = false;
    if (c->n == 2) {
        if (c->args[1]->kind != FZ_EXPR_LITERAL || c->args[1]->type->id != FZ_TYPE_BOOLEAN) {
            return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                      "The second argument of sort_array must be true or false");
        }
        descending = !c->args[1]->u.literal->u.boolean;
    }
    const struct fz_func *fn = descending ? fz_func_internal("op.sort_array_desc") : fz_func_find("sort_array", NULL);
    return done(c, fz_bind_call_node(c->b, fn, c->args[0]->type, c->args, 1));
}

static enum fz_code bind_array_join(struct special *c) {
    COUNT(c, 2, 3);
    const struct fz_type *list = fz_type_list(c->b->arena, 0, false, STRING);
    FZ_SOME(c->b, list);
    FZ_RET(cast_arg(c, 0, list));
    for (size_t i = 1; i < c->n; i++) {
        FZ_RET(cast_arg(c, i, STRING));
    }
    return done(c, call(c, c->n == 3 ? "op.array_join_null" : "op.array_join", STRING, c->n));
}

// ---- constants of the statement ----
static enum fz_code constant_i64(struct special *c, enum fz_type_id id, int64_t v) {
    return done(c, fz_bind_int(c->b, id, v));
}
enum fz_code fz_special_now(struct special *c) {
    const struct fz_sql_env *env = c->b->env;
    const struct fz_zone *zone = fz_zone_find(fz_str_of(env->time_zone));
    int64_t local = env->now_us + (zone ? fz_zone_offset_us(zone, env->now_us) : 0);
    if (is_one(c->name, "current_date curdate")) {
        return constant_i64(c, FZ_TYPE_DATE, local / 86400000000 - (local % 86400000000 < 0));
    }
    if (is_one(c->name, "localtimestamp")) {
        return constant_i64(c, FZ_TYPE_TIMESTAMP, local);
    }
    if (is_one(c->name, "unix_timestamp")) {
        return constant_i64(c, FZ_TYPE_LONG, env->now_us / 1000000);
    }
    return constant_i64(c, FZ_TYPE_TIMESTAMPTZ, env->now_us);
}
static enum fz_code bind_session(struct special *c) {
    const struct fz_sql_env *env = c->b->env;
    const char *v = "";
    if (is_one(c->name, "current_catalog")) {
        v = env->current_catalog;
    } else if (is_one(c->name, "current_database current_schema")) {
        v = env->current_namespace;
    } else if (is_one(c->name, "current_user user session_user")) {
        v = env->user;
    } else if (is_one(c->name, "current_timezone")) {
        v = env->time_zone;
    } else if (is_one(c->name, "version")) {
        v = "4.1.4 frazil";
    }
    return done(c, fz_bind_text(c->b, v ? v : ""));
}
static enum fz_code bind_typeof(struct special *c) {
    COUNT(c, 1, 1);
    struct fz_buf buf = {0};
    fz_type_print_sql(&buf, c->args[0]->type);
    const char *text = buf.ptr ? fz_arena_strndup(c->b->arena, buf.ptr, buf.len) : "";
    fz_buf_dispose(&buf);
    FZ_SOME(c->b, text);
    return done(c, fz_bind_text(c->b, text));
}

// ---- casts by name: INT('5'), DATE(x) ----
static enum fz_code bind_cast_name(struct special *c) {
    static const struct {
        const char *name;
        enum fz_type_id id;
    } casts[] = {{"boolean", FZ_TYPE_BOOLEAN}, {"tinyint", FZ_TYPE_BYTE}, {"smallint", FZ_TYPE_SHORT},
                 {"int", FZ_TYPE_INT},         {"bigint", FZ_TYPE_LONG},  {"float", FZ_TYPE_FLOAT},
                 {"double", FZ_TYPE_DOUBLE},   {"date", FZ_TYPE_DATE},    {"timestamp", FZ_TYPE_TIMESTAMPTZ},
                 {"string", FZ_TYPE_STRING},   {"binary", FZ_TYPE_BINARY}};
    COUNT(c, 1, 1);
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        if (fz_strcasecmp(c->name, casts[i].name) == 0) {
            return fz_bind_cast_checked(c->b, c->args[0], fz_sql_type(casts[i].id), FZ_CAST_ANSI, c->out);
        }
    }
    const struct fz_type *t = fz_type_decimal(c->b->arena, 10, 0);
    FZ_SOME(c->b, t);
    return fz_bind_cast_checked(c->b, c->args[0], t, FZ_CAST_ANSI, c->out);
}

// ---- JSON ----
static uint64_t type_hash(const char *base, const struct fz_type *result, const struct fz_type *const *args, size_t n) {
    struct fz_buf buf = {0};
    fz_buf_puts(&buf, base);
    fz_type_print_sql(&buf, result);
    for (size_t i = 0; i < n; i++) {
        fz_buf_putc(&buf, ',');
        fz_type_print_sql(&buf, args[i]);
    }
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < buf.len; i++) {
        h = (h ^ (unsigned char)buf.ptr[i]) * 1099511628211u;
    }
    fz_buf_dispose(&buf);
    return h;
}

enum fz_code fz_bind_kernel(fz_binder *b, const char *base, fz_kernel_run *run, const struct fz_type *result,
                            const struct fz_type *const *arg_types, size_t n_args, const char **out_name) {
    const char *name =
        fz_arena_printf(b->arena, "%s_%016llx", base, (unsigned long long)type_hash(base, result, arg_types, n_args));
    FZ_SOME(b, name);
    *out_name = name;
    for (size_t i = 0; i < b->n_kernels; i++) {
        if (strcmp(b->kernels[i].name, name) == 0) {
            return FZ_OK;
        }
    }
    if (b->n_kernels == b->cap_kernels) {
        size_t cap = b->cap_kernels ? 2 * b->cap_kernels : 8;
        struct fz_scalar_kernel *grown = fz_arena_array(b->arena, cap, sizeof *grown);
        FZ_SOME(b, grown);
        if (b->n_kernels > 0) {
            memcpy(grown, b->kernels, b->n_kernels * sizeof *grown);
        }
        b->kernels = grown;
        b->cap_kernels = cap;
    }
    struct fz_scalar_kernel *k = &b->kernels[b->n_kernels++];
    *k = (struct fz_scalar_kernel){.name = name, .n_args = n_args, .result = result, .run = run};
    for (size_t i = 0; i < n_args; i++) {
        k->args[i] = arg_types[i];
    }
    return FZ_OK;
}

// Options of from_json and to_json as one text "key=value\n…".
static enum fz_code options_text(struct special *c, size_t i, const struct fz_expr **out) {
    struct fz_buf buf = {0};
    fz_buf_printf(&buf, "zone=%s\n", c->b->env->time_zone);
    if (i < c->n) {
        const struct fz_expr *m = c->args[i];
        if (m->kind != FZ_EXPR_CALL || strcmp(m->u.call.fn->name, "op.map") != 0) {
            fz_buf_dispose(&buf);
            return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "INVALID_OPTIONS.NON_MAP_FUNCTION",
                                "The options of %s must be map('key', 'value', …)", c->name);
        }
        const struct fz_expr *keys = m->args[0], *values = m->args[1];
        for (size_t k = 0; k < keys->n_args; k++) {
            const char *key, *value;
            enum fz_code rc = fz_bind_literal_text(c->b, keys->args[k], "option name", &key);
            rc = rc == FZ_OK ? fz_bind_literal_text(c->b, values->args[k], "option value", &value) : rc;
            if (rc != FZ_OK) {
                fz_buf_dispose(&buf);
                return rc;
            }
            fz_buf_printf(&buf, "%s=%s\n", key, value);
        }
    }
    const char *text = buf.failed ? NULL : fz_arena_strndup(c->b->arena, buf.ptr, buf.len);
    fz_buf_dispose(&buf);
    FZ_SOME(c->b, text);
    *out = fz_bind_text(c->b, text);
    FZ_SOME(c->b, *out);
    return FZ_OK;
}

static enum fz_code bind_from_json(struct special *c) {
    COUNT(c, 2, 3);
    const char *ddl, *kernel;
    const struct fz_type *type;
    FZ_RET(cast_arg(c, 0, STRING));
    FZ_RET(fz_bind_literal_text(c->b, c->args[1], "schema of from_json", &ddl));
    FZ_RET(fz_sql_parse_schema(c->b->arena, fz_str_of(ddl), &type, c->b->err));
    if (type->id != FZ_TYPE_STRUCT && type->id != FZ_TYPE_LIST && type->id != FZ_TYPE_MAP &&
        type->id != FZ_TYPE_VARIANT) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.INVALID_JSON_SCHEMA",
                                  "from_json needs a struct, array or map, not %s",
                                  fz_sql_type_text(c->b->arena, type));
    }
    const struct fz_expr *args[3] = {c->args[0], NULL, NULL};
    FZ_RET(options_text(c, 2, &args[1]));
    const struct fz_type *arg_types[2] = {STRING, STRING};
    FZ_RET(fz_bind_kernel(c->b, "fz_from_json", fz_kernel_from_json, type, arg_types, 2, &kernel));
    args[2] = fz_bind_text(c->b, kernel);
    bool failfast = strstr(args[1]->u.literal->u.bytes.ptr, "FAILFAST") != NULL;
    return done(c, fz_bind_internal(c->b, failfast ? "op.from_json_failfast" : "op.from_json", type, args, 3));
}

static enum fz_code bind_to_json(struct special *c) {
    COUNT(c, 1, 2);
    const struct fz_expr *args[3] = {c->args[0], NULL, NULL};
    const struct fz_type *t = c->args[0]->type;
    if (t->n_fields == 0 && t->id != FZ_TYPE_VARIANT) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.INVALID_JSON_SCHEMA",
                                  "to_json needs a struct, array or map, not %s", fz_sql_type_text(c->b->arena, t));
    }
    struct fz_buf buf = {0};
    fz_type_print_sql(&buf, t);
    const char *ddl = buf.failed ? NULL : fz_arena_strndup(c->b->arena, buf.ptr, buf.len);
    fz_buf_dispose(&buf);
    FZ_SOME(c->b, ddl);
    args[1] = fz_bind_text(c->b, ddl);
    FZ_RET(options_text(c, 1, &args[2]));
    return done(c, fz_bind_internal(c->b, "op.to_json", STRING, args, 3));
}

static enum fz_code bind_schema_of_json(struct special *c) {
    COUNT(c, 1, 2);
    FZ_RET(cast_arg(c, 0, STRING));
    return done(c, fz_bind_call_node(c->b, fz_func_find("schema_of_json", NULL), STRING, c->args, 1));
}

static enum fz_code bind_sentences(struct special *c) {
    COUNT(c, 1, 3);
    FZ_RET(cast_arg(c, 0, STRING));
    const struct fz_type *words = fz_type_list(c->b->arena, 0, true, STRING),
                         *t = words ? fz_type_list(c->b->arena, 0, true, words) : NULL;
    FZ_SOME(c->b, t);
    return done(c, call(c, "op.sentences", t, 1));
}

// Letters that Spark 3 and later refuse in a pattern: an error of the statement when the pattern is a literal.
static enum fz_code bind_date_format(struct special *c) {
    COUNT(c, 1, 2);
    if (c->n < 2 || c->args[1]->kind != FZ_EXPR_LITERAL || c->args[1]->u.literal->is_null ||
        !fz_sql_is_string(c->args[1]->type)) {
        return FZ_OK;
    }
    struct fz_str p = c->args[1]->u.literal->u.bytes;
    bool quoted = false;
    for (size_t i = 0; i < p.len; i++) {
        size_t run = 1;
        quoted = p.ptr[i] == '\'' ? !quoted : quoted;
        while (i + run < p.len && p.ptr[i + run] == p.ptr[i]) {
            run++;
        }
        if (quoted) {
            continue;
        }
        bool text = p.ptr[i] == 'M' || p.ptr[i] == 'L' || p.ptr[i] == 'E' || p.ptr[i] == 'G' || p.ptr[i] == 'Q' ||
                    p.ptr[i] == 'q';
        if (strchr("wWuYec", p.ptr[i]) != NULL || (text && run >= 5)) {
            return fz_fail_cond(c->b->err, FZ_INVALID_ARG,
                                "INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION",
                                "The pattern '%.*s' has a letter that is not supported", (int)p.len, p.ptr);
        }
        if (strchr("nAB", p.ptr[i]) != NULL) {
            return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "INVALID_DATETIME_PATTERN.ILLEGAL_CHARACTER",
                                "Illegal character '%c' in the pattern '%.*s'", p.ptr[i], (int)p.len, p.ptr);
        }
        i += text ? run - 1 : 0;
    }
    return FZ_OK; // the row of functions.def does the rest
}

static enum fz_code bind_format_string(struct special *c) {
    COUNT(c, 1, 1000);
    FZ_RET(cast_arg(c, 0, STRING));
    return done(c, call(c, "op.format_string", STRING, c->n));
}

// ---- aggregates whose type depends on more than letters ----
static enum fz_code bind_sum(struct special *c) {
    COUNT(c, 1, 1);
    bool try_it = is_one(c->name, "try_sum try_avg"), avg = is_one(c->name, "avg mean try_avg");
    if (fz_sql_is_string(c->args[0]->type) || fz_sql_is_null(c->args[0]->type)) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
    }
    const struct fz_type *a = c->args[0]->type, *t;
    if (!fz_type_is_numeric(a) && a->id != FZ_TYPE_INTERVAL_DT && a->id != FZ_TYPE_INTERVAL_YM) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "`%s` takes numbers, not %s",
                                  c->name, fz_sql_type_text(c->b->arena, a));
    }
    if (avg) {
        if (a->id == FZ_TYPE_DECIMAL) {
            t = fz_type_decimal(c->b->arena, a->precision + 4 > 38 ? 38 : a->precision + 4,
                                a->scale + 4 > 38 ? 38 : a->scale + 4);
            return done(c, call(c, "op.avg_dec", t, 1));
        }
        if (a->id == FZ_TYPE_FLOAT) {
            FZ_RET(cast_arg(c, 0, DOUBLE));
        }
        return done(c, fz_bind_call_node(c->b, fz_func_find("avg", NULL), DOUBLE, c->args, 1));
    }
    if (a->id == FZ_TYPE_DECIMAL) {
        t = fz_type_decimal(c->b->arena, a->precision + 10 > 38 ? 38 : a->precision + 10, a->scale);
    } else if (a->id == FZ_TYPE_FLOAT) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
        t = DOUBLE;
    } else {
        t = fz_type_is_integer(a) ? LONG : a;
    }
    return done(c, fz_bind_call_node(c->b, fz_func_find(try_it ? "try_sum" : "sum", NULL), t, c->args, 1));
}

static enum fz_code bind_percentile(struct special *c) {
    COUNT(c, 2, 3);
    bool approx = is_one(c->name, "percentile_approx approx_percentile");
    const struct fz_type *a = c->args[0]->type;
    if (!approx) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
        a = DOUBLE;
    } else if (!fz_type_is_numeric(a)) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
        a = DOUBLE;
    }
    if (c->args[1]->type->id == FZ_TYPE_LIST) {
        const struct fz_type *fractions = fz_type_list(c->b->arena, 0, true, DOUBLE),
                             *t = fz_type_list(c->b->arena, 0, false, a);
        if (fractions == NULL || t == NULL) {
            return FZ_BIND_NOMEM(c->b);
        }
        FZ_RET(cast_arg(c, 1, fractions));
        return done(c, call(c, approx ? "op.percentile_approx_list" : "op.percentile_list", t, 2));
    }
    FZ_RET(cast_arg(c, 1, DOUBLE));
    const char *fn = approx                               ? "percentile_approx"
                     : is_one(c->name, "percentile_disc") ? "percentile_disc"
                                                          : "percentile";
    return done(c, fz_bind_call_node(c->b, fz_func_find(fn, NULL), a, c->args, 2));
}

static enum fz_code bind_listagg(struct special *c) {
    COUNT(c, 1, 2);
    for (size_t i = 0; i < c->n; i++) {
        FZ_RET(cast_arg(c, i, STRING));
    }
    return done(c, fz_bind_call_node(c->b, fz_func_find("listagg", NULL), STRING, c->args, c->n));
}

static enum fz_code
bind_mode(struct special *c) { // mode() WITHIN GROUP (ORDER BY x): the smallest of the most frequent
    COUNT(c, 1, 2);
    return done(c, fz_bind_call_node(c->b, fz_func_find("mode", NULL), c->args[0]->type, c->args, 1));
}

static enum fz_code bind_grouping(struct special *c) {
    bool id = is_one(c->name, "grouping_id");
    if (c->n == 0) {
        return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "UNSUPPORTED_GROUPING_EXPRESSION",
                            "grouping_id() needs its columns here");
    }
    return done(c, fz_bind_call_node(c->b, fz_func_find(id ? "grouping_id" : "grouping", NULL),
                                     id ? LONG : fz_sql_type(FZ_TYPE_BYTE), c->args, c->n));
}

static enum fz_code bind_greatest(struct special *c) {
    COUNT(c, 2, 1000);
    bool text = false, other = false;
    for (size_t i = 0; i < c->n; i++) {
        text |= fz_sql_is_string(c->args[i]->type);
        other |= fz_type_is_numeric(c->args[i]->type);
    }
    if (text && other) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.DATA_DIFF_TYPES", "`%s` does not mix text and numbers",
                                  c->name);
    }
    return FZ_OK; // the row of functions.def does the rest
}

static enum fz_code bind_histogram(struct special *c) { // histogram_numeric(x, bins)
    COUNT(c, 2, 2);
    if (!fz_type_is_numeric(c->args[0]->type)) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
    }
    FZ_RET(cast_arg(c, 1, INT));
    struct fz_field fields[2] = {{.name = "x", .type = c->args[0]->type}, {.name = "y", .type = DOUBLE}};
    const struct fz_type *bin = fz_type_struct(c->b->arena, fields, 2),
                         *t = bin ? fz_type_list(c->b->arena, 0, true, bin) : NULL;
    const struct fz_type *arg_types[2] = {fz_type_list(c->b->arena, 0, false, c->args[0]->type), INT};
    const char *kernel;
    if (t == NULL || arg_types[0] == NULL) {
        return FZ_BIND_NOMEM(c->b);
    }
    FZ_RET(fz_bind_kernel(c->b, "fz_histogram", fz_kernel_histogram, t, arg_types, 2, &kernel));
    const struct fz_expr *args[3] = {c->args[0], c->args[1], fz_bind_text(c->b, kernel)};
    return done(c, fz_bind_internal(c->b, "op.histogram", t, args, 3));
}

// ---- Iceberg's transforms: ice.system.bucket(16, x) ----
static enum fz_code bind_transform(struct special *c) {
    static const char *const one_arg[][2] = {
        {"years", "year"}, {"year", "year"},  {"months", "month"}, {"month", "month"}, {"days", "day"},
        {"day", "day"},    {"hours", "hour"}, {"hour", "hour"},    {"date", "day"},    {"date_hour", "hour"}};
    struct fz_transform t = {0};
    const struct fz_type *result;
    int64_t param = 0;
    const struct fz_expr *value;
    char text[64];
    if (is_one(c->name, "bucket truncate")) {
        COUNT(c, 2, 2);
        FZ_RET(literal_int(c, 0, &param));
        value = c->args[1];
        snprintf(text, sizeof text, "%s[%lld]", is_one(c->name, "bucket") ? "bucket" : "truncate", (long long)param);
    } else {
        COUNT(c, 1, 1);
        value = c->args[0];
        text[0] = 0;
        for (size_t i = 0; i < sizeof one_arg / sizeof *one_arg; i++) {
            if (fz_strcasecmp(c->name, one_arg[i][0]) == 0) {
                snprintf(text, sizeof text, "%s", one_arg[i][1]);
            }
        }
    }
    if (value->type->id == FZ_TYPE_BYTE || value->type->id == FZ_TYPE_SHORT) {
        value = fz_bind_cast(c->b, value, INT);
        FZ_SOME(c->b, value);
    }
    FZ_RET(fz_transform_parse(c->b->arena, fz_str_of(text), &t, c->b->err));
    FZ_RET(fz_transform_result_type(&t, value->type, &result, c->b->err));
    const struct fz_type *arg_types[2] = {STRING, value->type};
    const char *kernel;
    FZ_RET(fz_bind_kernel(c->b, "fz_transform", fz_kernel_transform, result, arg_types, 2, &kernel));
    const struct fz_expr *args[3] = {fz_bind_text(c->b, fz_arena_strdup(c->b->arena, text)), value,
                                     fz_bind_text(c->b, kernel)};
    return done(c, fz_bind_internal(c->b, "op.transform_value", result, args, 3));
}

static const struct special_handler handlers[] = {
    {"if", bind_if},
    {"isnull isnotnull", bind_isnull},
    {"decode", bind_decode},
    {"elt", bind_elt},
    {"concat", bind_concat},
    {"concat_ws", bind_concat_ws},
    {"array", bind_array},
    {"map", bind_map},
    {"map_from_arrays", bind_map_arrays},
    {"map_entries", bind_map_entries},
    {"map_from_entries", bind_map_from_entries},
    {"map_concat", bind_map_concat},
    {"str_to_map", bind_str_to_map},
    {"named_struct", bind_named_struct},
    {"struct", bind_struct},
    {"array_union array_intersect array_except", bind_array_set},
    {"arrays_zip", bind_arrays_zip},
    {"sequence", bind_sequence},
    {"sort_array", bind_sort_array},
    {"array_join", bind_array_join},
    {"current_timestamp now current_date curdate localtimestamp", fz_special_now},
    {"current_catalog current_database current_schema current_user user session_user current_timezone version "
     "input_file_name",
     bind_session},
    {"typeof", bind_typeof},
    {"boolean tinyint smallint int bigint float double decimal date timestamp string binary", bind_cast_name},
    {"from_json", bind_from_json},
    {"to_json", bind_to_json},
    {"schema_of_json", bind_schema_of_json},
    {"format_string printf", bind_format_string},
    {"sentences", bind_sentences},
    {"histogram_numeric", bind_histogram},
    {"date_format from_unixtime", bind_date_format},
    {"sum try_sum avg mean try_avg", bind_sum},
    {"percentile percentile_cont percentile_disc percentile_approx approx_percentile", bind_percentile},
    {"listagg string_agg", bind_listagg},
    {"mode", bind_mode},
    {"grouping grouping_id", bind_grouping},
    {"greatest least", bind_greatest},
};

// trim(chars FROM s): the parser gives (s, chars).
static enum fz_code bind_trim_from(struct special *c) {
    FZ_RET(cast_arg(c, 0, STRING));
    FZ_RET(cast_arg(c, 1, STRING));
    if (is_one(c->name, "btrim")) {
        return done(c, fz_bind_call_node(c->b, fz_func_find("btrim", NULL) + 1, STRING, c->args, 2));
    }
    return done(c, call(c, is_one(c->name, "ltrim") ? "op.ltrim" : "op.rtrim", STRING, 2));
}

// Whether a handler has the name; it has then run.
static bool bind_by_name(struct special *c, const struct special_handler *list, size_t n, enum fz_code *rc) {
    for (size_t i = 0; i < n; i++) {
        if (is_one(c->name, list[i].names)) {
            *rc = list[i].bind(c);
            return true;
        }
    }
    return false;
}

enum fz_code fz_bind_special(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, const char *name,
                             const struct fz_expr **args, size_t n, const struct fz_expr **out) {
    struct special c = {b, s, e, name, args, n, out};
    *out = NULL;
    if (e != NULL && e->text != NULL && strcmp(e->text, "FROM") == 0 && n == 2 && is_one(name, "btrim ltrim rtrim")) {
        return bind_trim_from(&c);
    }
    if (e != NULL && e->name.n == 3 && fz_strcasecmp(e->name.parts[1], "system") == 0) {
        return is_one(name, "bucket truncate years year months month days day hours hour date date_hour")
                   ? bind_transform(&c)
                   : FZ_OK;
    }
    enum fz_code rc = FZ_OK;
    if (!bind_by_name(&c, handlers, sizeof handlers / sizeof *handlers, &rc) &&
        !bind_by_name(&c, fz_special_variants, fz_n_special_variants, &rc)) {
        bind_by_name(&c, fz_special_numbers, fz_n_special_numbers, &rc);
    }
    return rc;
}
