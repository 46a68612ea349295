// MERGE, UPDATE and DELETE. The target is relation 0, the source of a MERGE relation 1 (its columns numbered from 1; those that nothing
// reads become NULL literals). Assignments are aligned to the table's columns; nested ones build the struct.
#include "sql/sql_bind_priv.h"

#include <stdio.h>

struct change {
    fz_binder b;
    const struct fz_ast_stmt *stmt;
    struct fz_bound_change *out;
    struct fz_sql_scope target, source, both;
    struct fz_sql_item *source_items;
    size_t n_source;
};

static enum fz_code bind_target(struct change *c) {
    fz_binder *b = &c->b;
    struct fz_ast_rel rel = {
        .kind = FZ_AST_TABLE, .pos = c->stmt->name.pos, .alias = c->stmt->alias, .name = c->stmt->name};
    struct fz_ast_query *view = NULL;
    const char **view_columns = NULL;
    struct fz_sql_table *t = &c->out->target;
    enum fz_code rc = b->env->resolve(b->env->ctx, b->arena, &rel, t, &view, &view_columns, b->err);
    if (rc != FZ_OK) {
        fz_err_at(b->err, rel.pos.line, rel.pos.column);
        return rc;
    }
    if (view != NULL || t->is_view) {
        return fz_fail_cond(b->err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE.TABLE_OPERATION",
                            "`%s` is a view: it cannot be the target of a change", rel.name.parts[rel.name.n - 1]);
    }
    if (!t->is_iceberg_table && c->stmt->kind != FZ_STMT_MERGE) {
        return fz_fail(b->err, FZ_UNSUPPORTED, "the rows of `%s` cannot be changed: it is not a table of data",
                       rel.name.parts[rel.name.n - 1]);
    }
    if (!t->is_iceberg_table) { // a metadata table: Spark misses its _file column
        return fz_fail(b->err, FZ_NOT_FOUND, "`%s` is not a table whose rows can be merged",
                       rel.name.parts[rel.name.n - 1]);
    }
    const char *qualifier = c->stmt->alias ? c->stmt->alias : rel.name.parts[rel.name.n - 1];
    for (size_t i = 0; i < t->n_fields + t->n_hidden; i++) {
        bool hidden = i >= t->n_fields;
        const struct fz_field *f = hidden ? &t->hidden[i - t->n_fields] : &t->fields[i];
        const struct fz_expr *e = fz_expr_column(b->arena, 0, f->id, f->name, f->type, !f->required);
        FZ_SOME(b, e);
        struct fz_sql_col col = {.name = f->name,
                                 .qualifier = qualifier,
                                 .full = c->stmt->alias ? NULL : t->name,
                                 .expr = e,
                                 .hidden = hidden};
        FZ_RET(fz_scope_add(b, &c->target, col));
        FZ_RET(fz_scope_add(b, &c->both, col));
    }
    return FZ_OK;
}

static enum fz_code bind_source(struct change *c) {
    fz_binder *b = &c->b;
    struct fz_sql_scope s = {0};
    struct fz_sql_rel *block = FZ_ARENA_NEW(b->arena, struct fz_sql_rel);
    const struct fz_ast_rel *rel = c->stmt->source;
    FZ_SOME(b, block);
    if (rel->n_column_aliases > 0) {
        return fz_fail_cond(b->err, FZ_SQL_SYNTAX, "COLUMN_ALIASES_NOT_ALLOWED",
                            "Column aliases are not allowed in MERGE: put them into a subquery");
    }
    block->kind = FZ_REL_BLOCK;
    block->relation = -1;
    FZ_RET(fz_bind_from(b, &s, rel, &block->from));
    FZ_ALLOC(b, c->source_items, struct fz_sql_item, s.n);
    for (size_t i = 0; i < s.n; i++) {
        const struct fz_sql_col *col = &s.cols[i];
        if (col->hidden || col->merged) {
            continue;
        }
        const struct fz_expr *e =
            fz_expr_column(b->arena, 1, (int32_t)c->n_source + 1, col->name, col->expr->type, col->expr->nullable);
        FZ_SOME(b, e);
        c->source_items[c->n_source++] = (struct fz_sql_item){col->name, col->expr, false};
        struct fz_sql_col seen = *col;
        seen.expr = e;
        FZ_RET(fz_scope_add(b, &c->source, seen));
        FZ_RET(fz_scope_add(b, &c->both, seen));
    }
    block->items = c->source_items;
    block->n_items = c->n_source;
    struct fz_sql_query *q = FZ_ARENA_NEW(b->arena, struct fz_sql_query);
    struct fz_field *columns;
    FZ_SOME(b, q);
    FZ_ALLOC(b, columns, struct fz_field, c->n_source);
    for (size_t i = 0; i < c->n_source; i++) {
        const struct fz_expr *e = c->source_items[i].expr;
        columns[i] = (struct fz_field){
            .id = (int32_t)i + 1, .name = c->source_items[i].name, .required = !e->nullable, .type = e->type};
    }
    q->root = block;
    q->columns = columns;
    q->n_columns = c->n_source;
    c->out->source = q;
    return FZ_OK;
}

// ---- conditions ----
struct found {
    bool aggregate, window, subquery, random;
};
static bool look(void *ctx, const struct fz_expr *e) {
    struct found *f = ctx;
    f->aggregate |= e->kind == FZ_EXPR_AGGREGATE;
    f->window |= e->kind == FZ_EXPR_WINDOW;
    f->subquery |= e->kind == FZ_EXPR_SUBQUERY;
    f->random |= (e->kind == FZ_EXPR_CALL || e->kind == FZ_EXPR_AGGREGATE) && e->u.call.fn->flags & FZ_FN_NONDET;
    return true;
}

static enum fz_code bind_condition(struct change *c, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                                   const char *what, bool merge_on, const struct fz_expr **out) {
    fz_binder *b = &c->b;
    struct found f = {0};
    FZ_RET(fz_bind(b, s, e, out));
    fz_expr_walk(*out, look, &f);
    const char *kind = f.window      ? NULL
                       : f.random    ? "NON_DETERMINISTIC"
                       : f.subquery  ? "SUBQUERY"
                       : f.aggregate ? "AGGREGATE"
                                     : NULL;
    enum fz_code rc = FZ_OK;
    if (f.window) {
        rc = fz_fail_cond(b->err, FZ_UNSUPPORTED, "UNSUPPORTED_EXPR_FOR_OPERATOR",
                          "Window functions are not allowed in the %s condition", what);
    } else if (kind != NULL) {
        const char *condition = fz_arena_printf(b->arena, "UNSUPPORTED_MERGE_CONDITION.%s", kind);
        rc = fz_fail_cond(b->err, FZ_UNSUPPORTED, condition ? condition : "",
                          "MERGE does not take %s in the %s condition",
                          f.random     ? "non-deterministic expressions"
                          : f.subquery ? "subqueries"
                                       : "aggregate functions",
                          what);
    } else if (!merge_on && fz_sql_is_null((*out)->type)) {
        *out = fz_bind_null(b, fz_sql_type(FZ_TYPE_BOOLEAN));
        FZ_SOME(b, *out);
    } else if ((*out)->type->id != FZ_TYPE_BOOLEAN) {
        rc = fz_bind_type_error(
            b, merge_on ? "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE" : "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
            "The %s condition has the type %s, expected BOOLEAN", what, fz_sql_type_text(b->arena, (*out)->type));
    }
    if (rc != FZ_OK) {
        fz_err_at(b->err, e->pos.line, e->pos.column);
    }
    return rc;
}

// ---- assignments ----
struct assigned { // one path of a column
    const struct fz_expr *path; // COLUMN, or FIELDs over one
    const struct fz_ast_expr *value;
    const char *name;
};

static enum fz_code bad_assignment(fz_binder *b, const char *fmt, const char *name) {
    char text[256];
    snprintf(text, sizeof text, fmt, name);
    return fz_fail_cond(b->err, FZ_INVALID_ARG, "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS", "%s",
                        text);
}

static const struct fz_expr *root_of(const struct fz_expr *path) {
    while (path->kind == FZ_EXPR_FIELD) {
        path = path->args[0];
    }
    return path;
}

static bool is_prefix(const struct fz_expr *shorter, const struct fz_expr *longer) {
    for (;; longer = longer->args[0]) {
        if (fz_expr_same(shorter, longer)) {
            return true;
        }
        if (longer->kind != FZ_EXPR_FIELD) {
            return false;
        }
    }
}

static enum fz_code resolve_paths(struct change *c, const struct fz_ast_assignment *in, size_t n, bool nested_allowed,
                                  struct assigned **out) {
    fz_binder *b = &c->b;
    FZ_ALLOC(b, *out, struct assigned, n);
    for (size_t i = 0; i < n; i++) {
        struct assigned *a = &(*out)[i];
        a->value = in[i].value;
        a->name = in[i].column.parts[in[i].column.n - 1];
        FZ_RET(fz_bind_resolve_name(b, &c->target, &in[i].column, false, &a->path));
        if (root_of(a->path)->kind != FZ_EXPR_COLUMN) {
            return bad_assignment(b, "`%s` lies inside an array or map: assign the whole column", a->name);
        }
        if (a->path->kind == FZ_EXPR_FIELD && !nested_allowed) {
            return bad_assignment(b, "`%s` is a nested field: INSERT takes whole columns only", a->name);
        }
        for (size_t k = 0; k < i; k++) {
            if (is_prefix((*out)[k].path, a->path) || is_prefix(a->path, (*out)[k].path)) {
                return bad_assignment(b, "`%s` is assigned twice", a->name);
            }
        }
    }
    return FZ_OK;
}

static enum fz_code bind_value(struct change *c, struct fz_sql_scope *s, const struct fz_ast_expr *value,
                               const struct fz_field *column, const struct fz_expr **out) {
    fz_binder *b = &c->b;
    if (value->kind == FZ_AST_DEFAULT) {
        *out = fz_bind_default(b, column);
        FZ_SOME(b, *out);
    } else {
        s->no_aggregates = s->no_windows = true;
        s->clause = "an assigned value";
        FZ_RET(fz_bind(b, s, value, out));
        s->no_aggregates = s->no_windows = false;
    }
    enum fz_code rc = fz_bind_store(b, *out, column, true, out);
    if (rc != FZ_OK) {
        fz_err_at(b->err, value->pos.line, value->pos.column);
    }
    return rc;
}

// The new value of `base` (a column or a field of one), whose parts are assigned by some of `list`.
static enum fz_code build(struct change *c, struct fz_sql_scope *s, const struct fz_expr *base,
                          const struct fz_field *field, const struct assigned *list, size_t n,
                          const struct fz_expr **out) {
    fz_binder *b = &c->b;
    bool inside = false;
    for (size_t i = 0; i < n; i++) {
        if (fz_expr_same(list[i].path, base)) {
            return bind_value(c, s, list[i].value, field, out);
        }
        inside |= is_prefix(base, list[i].path);
    }
    if (!inside) {
        *out = base;
        return FZ_OK;
    }
    const struct fz_expr **args;
    const struct fz_type *t = base->type;
    FZ_ALLOC(b, args, const struct fz_expr *, t->n_fields);
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct fz_expr *part = fz_bind_field_ix(b, base, i);
        FZ_SOME(b, part);
        FZ_RET(build(c, s, part, &t->fields[i], list, n, &args[i]));
        if (t->fields[i].required && args[i] == part &&
            base->nullable) { // a NULL struct comes into being: its required fields are missing
            FZ_RET(fz_bind_store(b, part, &t->fields[i], true, &args[i]));
        }
    }
    *out = fz_bind_internal(b, "op.struct", t, args, t->n_fields);
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code update_values(struct change *c, struct fz_sql_scope *s, const struct fz_ast_assignment *in,
                                  size_t n, struct fz_bound_assignment **out) {
    fz_binder *b = &c->b;
    const struct fz_sql_table *t = &c->out->target;
    struct assigned *list;
    FZ_RET(resolve_paths(c, in, n, true, &list));
    FZ_ALLOC(b, *out, struct fz_bound_assignment, t->n_fields);
    for (size_t i = 0; i < t->n_fields; i++) {
        struct fz_bound_assignment *a = &(*out)[i];
        a->field_id = t->fields[i].id;
        const struct fz_expr *column = c->target.cols[i].expr;
        FZ_RET(build(c, s, column, &t->fields[i], list, n, &a->value));
        if (a->value == column) {
            a->is_unchanged = true;
            a->value = NULL;
        }
    }
    return FZ_OK;
}

// What INSERT gives a column that has no value.
static enum fz_code absent_value(struct change *c, const struct fz_field *f, struct fz_bound_assignment *out) {
    if (f->required && f->write_default == NULL) {
        return bad_assignment(&c->b, "no value for the required column `%s`", f->name);
    }
    out->value = fz_bind_default(&c->b, f);
    FZ_SOME(&c->b, out->value);
    return FZ_OK;
}

static enum fz_code insert_values(struct change *c, struct fz_sql_scope *s, const struct fz_ast_assignment *in,
                                  size_t n, struct fz_bound_assignment **out) {
    fz_binder *b = &c->b;
    const struct fz_sql_table *t = &c->out->target;
    struct assigned *list;
    FZ_RET(resolve_paths(c, in, n, false, &list));
    FZ_ALLOC(b, *out, struct fz_bound_assignment, t->n_fields);
    for (size_t i = 0; i < t->n_fields; i++) {
        struct fz_bound_assignment *a = &(*out)[i];
        const struct fz_field *f = &t->fields[i];
        a->field_id = f->id;
        for (size_t k = 0; k < n; k++) {
            if (fz_expr_same(list[k].path, c->target.cols[i].expr)) {
                FZ_RET(bind_value(c, s, list[k].value, f, &a->value));
            }
        }
        if (a->value == NULL) {
            FZ_RET(absent_value(c, f, a));
        }
    }
    return FZ_OK;
}

// UPDATE SET * and INSERT *: by name, whatever the order and case; extra source columns are ignored. With schema evolution the source may
// lack columns: UPDATE keeps them, INSERT gives the default.
static enum fz_code star_values(struct change *c, bool is_insert, struct fz_bound_assignment **out) {
    fz_binder *b = &c->b;
    const struct fz_sql_table *t = &c->out->target;
    bool may_lack = c->stmt->schema_evolution && t->evolves;
    FZ_ALLOC(b, *out, struct fz_bound_assignment, t->n_fields);
    for (size_t i = 0; i < t->n_fields; i++) {
        const char *parts[1] = {t->fields[i].name};
        struct fz_ast_name name = {.parts = parts, .n = 1};
        const struct fz_expr *v;
        (*out)[i].field_id = t->fields[i].id;
        FZ_RET(fz_bind_resolve_name(b, &c->source, &name, may_lack, &v));
        if (v == NULL && is_insert) {
            FZ_RET(absent_value(c, &t->fields[i], &(*out)[i]));
        } else if (v == NULL) {
            (*out)[i].is_unchanged = true;
        } else {
            FZ_RET(fz_bind_store(b, v, &t->fields[i], true, &(*out)[i].value));
        }
    }
    return FZ_OK;
}

static enum fz_code bind_clause(struct change *c, const struct fz_ast_merge_clause *in, struct fz_bound_clause *out) {
    struct fz_sql_scope *s = in->match == FZ_MATCHED ? &c->both : in->match == FZ_NOT_MATCHED ? &c->source : &c->target;
    out->match = in->match;
    struct fz_bound_assignment *values = NULL;
    if (in->condition != NULL) {
        FZ_RET(bind_condition(c, s, in->condition,
                              in->match == FZ_MATCHED       ? "MATCHED"
                              : in->match == FZ_NOT_MATCHED ? "NOT MATCHED"
                                                            : "NOT MATCHED BY SOURCE",
                              false, &out->condition));
    }
    switch (in->action) {
    case FZ_MERGE_DELETE:
        out->action = FZ_MERGE_DELETE;
        return FZ_OK;
    case FZ_MERGE_UPDATE:
        out->action = FZ_MERGE_UPDATE;
        FZ_RET(update_values(c, s, in->assignments, in->n_assignments, &values));
        break;
    case FZ_MERGE_UPDATE_STAR:
        out->action = FZ_MERGE_UPDATE;
        FZ_RET(star_values(c, false, &values));
        break;
    case FZ_MERGE_INSERT:
        out->action = FZ_MERGE_INSERT;
        FZ_RET(insert_values(c, s, in->assignments, in->n_assignments, &values));
        break;
    case FZ_MERGE_INSERT_STAR:
        out->action = FZ_MERGE_INSERT;
        FZ_RET(star_values(c, true, &values));
        break;
    }
    out->values = values;
    return FZ_OK;
}

// ---- unused source columns ----
struct used_columns {
    bool *used;
    size_t n;
};
static bool note_use(void *ctx, const struct fz_expr *e);
static void note_expr(struct used_columns *u, const struct fz_expr *e) {
    if (e != NULL) {
        fz_expr_walk(e, note_use, u);
    }
}
static bool note_use(void *ctx, const struct fz_expr *e) {
    struct used_columns *u = ctx;
    if (e->kind == FZ_EXPR_COLUMN && e->u.column.relation == 1 && e->u.column.field_id >= 1 &&
        (size_t)e->u.column.field_id <= u->n) {
        u->used[e->u.column.field_id - 1] = true;
    }
    if (e->kind == FZ_EXPR_SUBQUERY) { // may be correlated: all columns stay
        for (size_t i = 0; i < u->n; i++) {
            u->used[i] = true;
        }
    }
    return true;
}
static enum fz_code drop_unused(struct change *c) {
    fz_binder *b = &c->b;
    struct used_columns u = {.n = c->n_source};
    const struct fz_sql_table *t = &c->out->target;
    FZ_ALLOC(b, u.used, bool, u.n);
    note_expr(&u, c->out->on);
    for (size_t i = 0; i < c->out->n_clauses; i++) {
        const struct fz_bound_clause *clause = &c->out->clauses[i];
        note_expr(&u, clause->condition);
        for (size_t k = 0; clause->values != NULL && k < t->n_fields; k++) {
            note_expr(&u, clause->values[k].value);
        }
    }
    for (size_t i = 0; i < u.n; i++) {
        struct fz_sql_item *item = &c->source_items[i];
        if (u.used[i]) {
            fz_bind_mark(b, item->expr);
        } else if (item->expr->type->n_fields == 0) {
            item->expr = fz_bind_null(b, item->expr->type);
            FZ_SOME(b, item->expr);
        } else {
            fz_bind_mark(b, item->expr);
        }
    }
    return FZ_OK;
}

static enum fz_code push_ctes(struct change *c) {
    fz_binder *b = &c->b;
    for (size_t i = 0; i < c->stmt->n_ctes; i++) {
        struct fz_sql_cte_frame *f = FZ_ARENA_NEW(b->arena, struct fz_sql_cte_frame);
        FZ_SOME(b, f);
        f->outer = b->ctes;
        f->cte = &c->stmt->ctes[i];
        f->recursive = c->stmt->recursive;
        b->ctes = f;
    }
    return FZ_OK;
}

// After schema evolution: assignments see all columns, expressions those that were there (with their new types).
static enum fz_code rebuild_scopes(struct change *c, size_t n_old) {
    fz_binder *b = &c->b;
    const struct fz_sql_table *t = &c->out->target;
    struct fz_sql_scope target = {0}, both = {0};
    const struct fz_sql_col like = c->target.cols[0];
    for (size_t i = 0; i < t->n_fields + t->n_hidden; i++) {
        bool hidden = i >= t->n_fields;
        const struct fz_field *f = hidden ? &t->hidden[i - t->n_fields] : &t->fields[i];
        const struct fz_expr *e = fz_expr_column(b->arena, 0, f->id, f->name, f->type, !f->required);
        FZ_SOME(b, e);
        struct fz_sql_col col = {
            .name = f->name, .qualifier = like.qualifier, .full = like.full, .expr = e, .hidden = hidden};
        FZ_RET(fz_scope_add(b, &target, col));
        if (i < n_old || hidden) {
            FZ_RET(fz_scope_add(b, &both, col));
        }
    }
    for (size_t i = 0; i < c->source.n; i++) {
        FZ_RET(fz_scope_add(b, &both, c->source.cols[i]));
    }
    c->target = target;
    c->both = both;
    return FZ_OK;
}

static enum fz_code bind_merge(struct change *c) {
    fz_binder *b = &c->b;
    const struct fz_ast_stmt *stmt = c->stmt;
    FZ_RET(bind_source(c));
    size_t n_source_uses = b->n_uses;
    if (stmt->schema_evolution && c->out->target.evolves) {
        size_t n_old = c->out->target.n_fields;
        FZ_RET(fz_bind_evolve(b, stmt, &c->target, &c->source, &c->out->target, &c->out->schema_changed));
        if (c->out->schema_changed) {
            FZ_RET(rebuild_scopes(c, n_old));
        }
    }
    FZ_RET(bind_condition(c, &c->both, stmt->on, "ON", true, &c->out->on));
    struct fz_bound_clause *clauses;
    FZ_ALLOC(b, clauses, struct fz_bound_clause, stmt->n_clauses);
    c->out->clauses = clauses;
    size_t n_matched = 0;
    bool all_deletes = true;
    for (size_t i = 0; i < stmt->n_clauses; i++) {
        FZ_RET(bind_clause(c, &stmt->clauses[i], &clauses[i]));
        if (clauses[i].match == FZ_MATCHED) {
            n_matched++;
            all_deletes &= clauses[i].action == FZ_MERGE_DELETE && clauses[i].condition == NULL;
        }
        c->out->n_clauses = i + 1;
    }
    c->out->check_cardinality = n_matched > 0 && !(n_matched == 1 && all_deletes);
    FZ_RET(drop_unused(c));
    struct fz_sql_scan **scans;
    size_t n;
    FZ_RET(fz_bind_finish(b, &scans, &n));
    c->out->source->scans = scans;
    c->out->source->n_scans = n_source_uses;
    c->out->scans = scans + n_source_uses;
    c->out->n_scans = n - n_source_uses;
    return FZ_OK;
}

static enum fz_code bind_update(struct change *c) {
    fz_binder *b = &c->b;
    const struct fz_ast_stmt *stmt = c->stmt;
    struct fz_bound_clause *clause;
    FZ_ALLOC(b, clause, struct fz_bound_clause, 1);
    clause->match = FZ_MATCHED;
    clause->action = stmt->kind == FZ_STMT_DELETE ? FZ_MERGE_DELETE : FZ_MERGE_UPDATE;
    c->out->clauses = clause;
    c->out->n_clauses = 1;
    if (stmt->where != NULL) {
        c->target.no_aggregates = c->target.no_windows = true;
        c->target.clause = "WHERE";
        FZ_RET(fz_bind_boolean(b, &c->target, stmt->where, "WHERE", &c->out->on));
        c->target.no_aggregates = c->target.no_windows = false;
        struct found f = {0};
        fz_expr_walk(c->out->on, look, &f);
        if (f.random) {
            return fz_fail_cond(b->err, FZ_UNSUPPORTED, "INVALID_NON_DETERMINISTIC_EXPRESSIONS",
                                "The WHERE condition of %s must be deterministic",
                                stmt->kind == FZ_STMT_DELETE ? "DELETE" : "UPDATE");
        }
    }
    if (stmt->kind == FZ_STMT_UPDATE) {
        struct fz_bound_assignment *values;
        FZ_RET(update_values(c, &c->target, stmt->assignments, stmt->n_assignments, &values));
        clause->values = values;
    }
    return fz_bind_finish(b, &c->out->scans, &c->out->n_scans);
}

enum fz_code fz_sql_bind_change(struct fz_arena *arena, const struct fz_sql_env *env, const struct fz_ast_stmt *stmt,
                                struct fz_bound_change **out, struct fz_err *err) {
    struct change c = {.b = {.arena = arena, .env = env, .err = err, .next_relation = 2}, .stmt = stmt};
    if (stmt->kind != FZ_STMT_MERGE && stmt->kind != FZ_STMT_UPDATE && stmt->kind != FZ_STMT_DELETE) {
        return fz_fail(err, FZ_BUG, "statement kind %d is no row-level change", (int)stmt->kind);
    }
    c.out = FZ_ARENA_NEW(arena, struct fz_bound_change);
    if (c.out == NULL) {
        return fz_fail_nomem(err, sizeof *c.out);
    }
    c.out->kind = stmt->kind;
    FZ_RET(push_ctes(&c));
    FZ_RET(bind_target(&c));
    FZ_RET(stmt->kind == FZ_STMT_MERGE ? bind_merge(&c) : bind_update(&c));
    c.out->kernels = c.b.kernels;
    c.out->n_kernels = c.b.n_kernels;
    *out = c.out;
    return FZ_OK;
}
