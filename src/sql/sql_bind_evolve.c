// MERGE WITH SCHEMA EVOLUTION: what the target's columns become before the clauses are bound. Only source columns that a `*` clause or an
// assignment from the column of the same name (`SET a = s.a`, `SET st.a = s.st.a`) writes take part: missing ones are added at the end of
// their struct as optional, types grow where Iceberg lets them (int to bigint, float to double, more decimal digits). A type that
// does not grow stays, and the assignment rules decide about the value. The table itself is changed by the statement's commit.
#include "sql/sql_bind_priv.h"

enum { MAX_PATH = 64 };

struct path { // names from the column down
    const char *names[MAX_PATH];
    size_t n;
};
struct evolution {
    fz_binder *b;
    bool star; // some clause writes all columns
    struct path *paths;
    size_t n_paths;
    int32_t last_id;
    bool changed;
};

static bool path_of_expr(const struct fz_expr *e, struct path *out) {
    const struct fz_expr *parts[MAX_PATH];
    size_t n = 0;
    for (; e->kind == FZ_EXPR_FIELD && n < MAX_PATH - 1; e = e->args[0]) {
        parts[n++] = e;
    }
    if (e->kind != FZ_EXPR_COLUMN) {
        return false;
    }
    out->n = 0;
    out->names[out->n++] = e->u.column.name;
    while (n > 0) {
        out->names[out->n++] = parts[--n]->u.field.name;
    }
    return true;
}

static bool same_path(const struct path *a, const struct path *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (fz_strcasecmp(a->names[i], b->names[i]) != 0) {
            return false;
        }
    }
    return true;
}

// The path of an assignment's left side, which may name a column that is not there yet.
static enum fz_code path_of_key(fz_binder *b, struct fz_sql_scope *target, const struct fz_ast_name *key,
                                struct path *out) {
    const struct fz_expr *known = NULL;
    struct fz_err ignored = FZ_ERR_INIT, *err = b->err;
    b->err = &ignored;
    enum fz_code rc = fz_bind_resolve_name(b, target, key, true, &known);
    b->err = err;
    out->n = 0;
    if (rc == FZ_OK && known != NULL) {
        path_of_expr(known, out);
        return FZ_OK;
    }
    size_t skip = key->n > 1 && target->n > 0 && target->cols[0].qualifier != NULL &&
                          fz_strcasecmp(key->parts[0], target->cols[0].qualifier) == 0
                      ? 1
                      : 0;
    for (size_t i = skip; i < key->n && out->n < MAX_PATH; i++) {
        out->names[out->n++] = key->parts[i];
    }
    return FZ_OK;
}

static enum fz_code collect(struct evolution *ev, const struct fz_ast_stmt *stmt, struct fz_sql_scope *target,
                            struct fz_sql_scope *source) {
    fz_binder *b = ev->b;
    size_t cap = 0;
    for (size_t i = 0; i < stmt->n_clauses; i++) {
        cap += stmt->clauses[i].n_assignments;
    }
    FZ_ALLOC(b, ev->paths, struct path, cap);
    for (size_t i = 0; i < stmt->n_clauses; i++) {
        const struct fz_ast_merge_clause *clause = &stmt->clauses[i];
        ev->star |= clause->action == FZ_MERGE_UPDATE_STAR || clause->action == FZ_MERGE_INSERT_STAR;
        for (size_t k = 0; clause->match != FZ_NOT_MATCHED_BY_SOURCE && k < clause->n_assignments; k++) {
            const struct fz_ast_assignment *a = &clause->assignments[k];
            const struct fz_expr *value = NULL;
            struct path from;
            if (a->value->kind != FZ_AST_NAME) {
                continue;
            }
            FZ_RET(fz_bind_resolve_name(b, source, &a->value->name, true, &value));
            if (value == NULL || !path_of_expr(value, &from)) {
                continue;
            }
            struct path *key = &ev->paths[ev->n_paths];
            FZ_RET(path_of_key(b, target, &a->column, key));
            ev->n_paths += key->n == from.n && same_path(key, &from, key->n);
        }
    }
    return FZ_OK;
}

enum wanted {
    WANT_NOTHING,
    WANT_SOME,
    WANT_ALL
}; // of a source field: none, what its assigned or starred children ask for, the whole

static enum wanted wanted(const struct evolution *ev, const struct path *at, bool is_struct) {
    bool below = false;
    for (size_t i = 0; i < ev->n_paths; i++) {
        const struct path *p = &ev->paths[i];
        if (p->n >= at->n && same_path(p, at, at->n)) {
            if (p->n == at->n) {
                return WANT_ALL;
            }
            below = true;
        }
    }
    if (is_struct && (below || ev->star)) {
        return WANT_SOME;
    }
    return ev->star ? WANT_ALL : WANT_NOTHING;
}

// A source type as a new column's: fresh ids, everything optional, small integers as int.
static enum fz_code fresh(struct evolution *ev, const struct fz_type *type, const char *column,
                          const struct fz_type **out) {
    fz_binder *b = ev->b;
    if (type->n_fields == 0) {
        if (fz_sql_is_null(type) || type->id >= FZ_TYPE_INTERVAL_DT) {
            return fz_fail_cond(b->err, FZ_UNSUPPORTED, "",
                                "the new column `%s` would have the type %s, which the table cannot hold: cast it",
                                column, fz_sql_type_text(b->arena, type));
        }
        *out = type->id == FZ_TYPE_BYTE || type->id == FZ_TYPE_SHORT ? fz_sql_type(FZ_TYPE_INT) : type;
        return FZ_OK;
    }
    struct fz_type *copy = fz_arena_memdup(b->arena, type, sizeof *type);
    struct fz_field *fields = copy ? fz_arena_memdup(b->arena, type->fields, type->n_fields * sizeof *fields) : NULL;
    FZ_SOME(b, fields);
    if (++b->depth > FZ_BIND_MAX_DEPTH) {
        return fz_fail(b->err, FZ_LIMIT, "the type of column %s is nested too deeply", column);
    }
    for (size_t i = 0; i < type->n_fields; i++) { // ids level by level, as for a new column of ALTER TABLE
        fields[i].id = ++ev->last_id;
        fields[i].required = type->id == FZ_TYPE_MAP && i == 0;
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        FZ_RET(fresh(ev, fields[i].type, column, &fields[i].type));
    }
    b->depth--;
    copy->fields = fields;
    *out = copy;
    return FZ_OK;
}

static bool grows(const struct fz_type *from, const struct fz_type *to) {
    return (from->id == FZ_TYPE_INT && to->id == FZ_TYPE_LONG) ||
           (from->id == FZ_TYPE_FLOAT && to->id == FZ_TYPE_DOUBLE) ||
           (from->id == FZ_TYPE_DECIMAL && to->id == FZ_TYPE_DECIMAL && from->scale == to->scale &&
            from->precision < to->precision);
}

static enum fz_code evolve_type(struct evolution *ev, const struct fz_type *type, const struct fz_type *source,
                                struct path *at, bool all, const struct fz_type **out);

static enum fz_code evolve_fields(struct evolution *ev, const struct fz_field *old, size_t n_old,
                                  const struct fz_field *source, size_t n_source, struct path *at, bool all,
                                  struct fz_field **out, size_t *n_out) {
    fz_binder *b = ev->b;
    struct fz_field *fields;
    size_t n = n_old;
    FZ_ALLOC(b, fields, struct fz_field, n_old + n_source);
    memcpy(fields, old, n_old * sizeof *fields);
    if (at->n >= MAX_PATH) {
        return fz_fail(b->err, FZ_LIMIT, "column %s is nested more than %d levels deep", at->names[0], MAX_PATH);
    }
    for (size_t i = 0; i < n_source; i++) {
        const struct fz_field *s = &source[i];
        at->names[at->n++] = s->name;
        enum wanted want = all ? WANT_ALL : wanted(ev, at, s->type->id == FZ_TYPE_STRUCT);
        size_t k = 0;
        while (k < n_old && fz_strcasecmp(fields[k].name, s->name) != 0) {
            k++;
        }
        if (want != WANT_NOTHING && k < n_old) {
            FZ_RET(evolve_type(ev, fields[k].type, s->type, at, want == WANT_ALL, &fields[k].type));
        } else if (want != WANT_NOTHING) {
            fields[n] = (struct fz_field){.id = ++ev->last_id, .name = s->name};
            const struct fz_type *type = s->type;
            if (want == WANT_SOME && !ev->star) { // a struct of which only some fields are written
                struct fz_field *inner = NULL;
                size_t n_inner = 0;
                FZ_RET(evolve_fields(ev, NULL, 0, type->fields, type->n_fields, at, false, &inner, &n_inner));
                type = fz_type_struct(b->arena, inner, n_inner);
                FZ_SOME(b, type);
                fields[n].type = type;
            } else {
                FZ_RET(fresh(ev, type, s->name, &fields[n].type));
            }
            n++;
            ev->changed = true;
        }
        at->n--;
    }
    *out = fields;
    *n_out = n;
    return FZ_OK;
}

static enum fz_code evolve_type(struct evolution *ev, const struct fz_type *type, const struct fz_type *source,
                                struct path *at, bool all, const struct fz_type **out) {
    fz_binder *b = ev->b;
    *out = type;
    if (type->id != source->id || type->n_fields == 0) {
        if (grows(type, source)) {
            *out = source;
            ev->changed = true;
        }
        return FZ_OK;
    }
    bool before = ev->changed;
    ev->changed = false;
    struct fz_type *copy = fz_arena_memdup(b->arena, type, sizeof *type);
    FZ_SOME(b, copy);
    struct fz_field *fields;
    if (type->id == FZ_TYPE_STRUCT) {
        FZ_RET(evolve_fields(ev, type->fields, type->n_fields, source->fields, source->n_fields, at, all, &fields,
                             &copy->n_fields));
    } else { // the element of a list, key and value of a map
        FZ_ALLOC(b, fields, struct fz_field, type->n_fields);
        memcpy(fields, type->fields, type->n_fields * sizeof *fields);
        at->names[at->n++] = type->id == FZ_TYPE_LIST ? "element" : "entry";
        for (size_t i = 0; at->n < MAX_PATH && i < type->n_fields; i++) {
            FZ_RET(evolve_type(ev, fields[i].type, source->fields[i].type, at, true, &fields[i].type));
        }
        at->n--;
    }
    copy->fields = fields;
    *out = ev->changed ? copy : type;
    ev->changed |= before;
    return FZ_OK;
}

enum fz_code fz_bind_evolve(fz_binder *b, const struct fz_ast_stmt *stmt, struct fz_sql_scope *target_scope,
                            struct fz_sql_scope *source, struct fz_sql_table *target, bool *changed) {
    struct evolution ev = {.b = b, .last_id = target->last_column_id};
    struct fz_field *columns, *fields;
    size_t n = 0;
    *changed = false;
    if (!target->evolves) {
        return FZ_OK;
    }
    FZ_RET(collect(&ev, stmt, target_scope, source));
    FZ_ALLOC(b, columns, struct fz_field, source->n);
    for (size_t i = 0; i < source->n; i++) {
        columns[i] = (struct fz_field){.name = source->cols[i].name, .type = source->cols[i].expr->type};
    }
    struct path at = {.n = 0};
    FZ_RET(evolve_fields(&ev, target->fields, target->n_fields, columns, source->n, &at, false, &fields, &n));
    if (ev.changed) {
        target->fields = fields;
        target->n_fields = n;
        *changed = true;
    }
    return FZ_OK;
}
