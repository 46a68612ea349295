// Special functions that make and take apart arrays, maps and structs, and texts put together of parts: their types follow from those of
// their arguments.
#include "sql/sql_bind_special.h"

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
    const char *fn = c->args[2]->type->id == FZ_TYPE_INTERVAL_YM ? "op.sequence_ym"
                     : t->id == FZ_TYPE_TIMESTAMPTZ              ? "op.sequence_tz" // hours pass, days are the clock's
                                                                 : "op.sequence_dt";
    return done(c, call(c, fn, list, 3));
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

const struct special_handler fz_special_collections[] = {
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
};
const size_t fz_n_special_collections = sizeof fz_special_collections / sizeof *fz_special_collections;
