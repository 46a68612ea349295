// PIVOT as GROUP BY over all other columns with one filtered aggregate per value, UNPIVOT as an unnested array of pairs
// (spark-on-duckdb section 10). Both hand a bound query to the enclosing FROM.
#include "sql/sql_bind_priv.h"

struct pivot {
    fz_binder *b;
    struct fz_sql_scope inner;
    struct fz_sql_rel *block;
    size_t cap;
};

static enum fz_code add(struct pivot *p, const char *name, const struct fz_expr *e) {
    fz_binder *b = p->b;
    if (p->block->n_items == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 16;
        struct fz_sql_item *v = fz_arena_array(b->arena, cap, sizeof *v);
        FZ_SOME(b, v);
        if (p->block->n_items > 0) {
            memcpy(v, p->block->items, p->block->n_items * sizeof *v);
        }
        p->block->items = v;
        p->cap = cap;
    }
    if (name == NULL || e == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    p->block->items[p->block->n_items++] = (struct fz_sql_item){name, e, true};
    return FZ_OK;
}

static bool mentions(const struct fz_expr *e, const struct fz_expr *column) {
    if (e->kind == FZ_EXPR_COLUMN) {
        return e->u.column.relation == column->u.column.relation && e->u.column.field_id == column->u.column.field_id;
    }
    for (size_t i = 0; i < e->n_args; i++) {
        if (mentions(e->args[i], column)) {
            return true;
        }
    }
    return false;
}

static enum fz_code finish(struct pivot *p, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                           struct fz_sql_rel **out) {
    fz_binder *b = p->b;
    struct fz_sql_query *q = FZ_ARENA_NEW(b->arena, struct fz_sql_query);
    struct fz_field *columns;
    FZ_SOME(b, q);
    FZ_ALLOC(b, columns, struct fz_field, p->block->n_items);
    for (size_t i = 0; i < p->block->n_items; i++) {
        const struct fz_sql_item *it = &p->block->items[i];
        columns[i] = (struct fz_field){
            .id = (int32_t)i + 1, .name = it->name, .required = !it->expr->nullable, .type = it->expr->type};
    }
    q->columns = columns;
    q->n_columns = p->block->n_items;
    q->root = p->block;
    struct fz_sql_rel *leaf = fz_bind_rel(b, FZ_REL_QUERY);
    FZ_SOME(b, leaf);
    leaf->query = q;
    *out = leaf;
    return fz_bind_scope_of_query(b, s, q, leaf->relation, rel->alias, NULL, rel->column_aliases,
                                  rel->n_column_aliases);
}

static enum fz_code start(struct pivot *p, fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel) {
    p->b = b;
    p->inner.outer = s->outer;
    p->block = FZ_ARENA_NEW(b->arena, struct fz_sql_rel);
    FZ_SOME(b, p->block);
    p->block->kind = FZ_REL_BLOCK;
    p->block->relation = -1;
    return fz_bind_from(b, &p->inner, rel->left, &p->block->from);
}

static const struct fz_expr *filtered(fz_binder *b, const struct fz_expr *e, const struct fz_expr *when) {
    struct fz_expr *copy = fz_arena_memdup(b->arena, e, sizeof *e);
    if (copy == NULL) {
        return NULL;
    }
    if (e->kind == FZ_EXPR_AGGREGATE) {
        copy->u.call.filter = fz_expr_and(b->arena, e->u.call.filter, when);
        if (copy->u.call.filter == NULL) {
            return NULL;
        }
        copy->nullable = true;
        if (strcmp(e->u.call.fn->name, "count") == 0) { // the count of an absent cell is NULL
            const struct fz_expr *zero = fz_bind_int(b, FZ_TYPE_LONG, 0), *both[2] = {copy, zero};
            return zero ? fz_bind_call_node(b, fz_func_find("nullif", NULL), e->type, both, 2) : NULL;
        }
        return copy;
    }
    if (e->n_args == 0) {
        return e;
    }
    const struct fz_expr **args = fz_arena_array(b->arena, e->n_args, sizeof *args);
    for (size_t i = 0; args != NULL && i < e->n_args; i++) {
        args[i] = filtered(b, e->args[i], when);
        if (args[i] == NULL) {
            return NULL;
        }
    }
    copy->args = args;
    return args ? copy : NULL;
}

static enum fz_code pivot_condition(struct pivot *p, const struct fz_ast_expr *on, const struct fz_ast_expr *value,
                                    const struct fz_expr **out) {
    fz_binder *b = p->b;
    size_t n = on->kind == FZ_AST_ROW ? on->n_args : 1;
    *out = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct fz_expr *l, *r, *eq;
        const struct fz_ast_expr *v = on->kind != FZ_AST_ROW                           ? value
                                      : value->kind == FZ_AST_ROW && i < value->n_args ? value->args[i]
                                                                                       : NULL;
        if (v == NULL) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "PIVOT_VALUE_DATA_TYPE_MISMATCH",
                                "A PIVOT value needs as many parts as there are columns");
        }
        FZ_RET(fz_bind(b, &p->inner, on->kind == FZ_AST_ROW ? on->args[i] : on, &l));
        FZ_RET(fz_bind(b, &p->inner, v, &r));
        FZ_RET(fz_bind_compare(b, "<=>", l, r, &eq));
        *out = fz_expr_and(b->arena, *out, eq);
        FZ_SOME(b, *out);
    }
    return FZ_OK;
}

enum fz_code fz_bind_pivot(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                           struct fz_sql_rel **out) {
    struct pivot p = {0};
    FZ_RET(start(&p, b, s, rel));
    size_t n_agg = rel->n_pivot_items;
    const struct fz_expr **aggregates, *on;
    FZ_ALLOC(b, aggregates, const struct fz_expr *, n_agg);
    for (size_t i = 0; i < n_agg; i++) {
        FZ_RET(fz_bind(b, &p.inner, rel->pivot_items[i].expr, &aggregates[i]));
    }
    size_t n_on = rel->pivot_for->kind == FZ_AST_ROW ? rel->pivot_for->n_args : 1;
    const struct fz_expr **ons;
    FZ_ALLOC(b, ons, const struct fz_expr *, n_on);
    for (size_t i = 0; i < n_on; i++) {
        FZ_RET(fz_bind(b, &p.inner, rel->pivot_for->kind == FZ_AST_ROW ? rel->pivot_for->args[i] : rel->pivot_for,
                       &ons[i]));
    }
    FZ_ALLOC(b, p.block->groups, const struct fz_expr *, p.inner.n);
    for (size_t i = 0; i < p.inner.n; i++) { // all other columns group
        const struct fz_sql_col *c = &p.inner.cols[i];
        bool used = c->hidden || c->merged || c->expr->kind != FZ_EXPR_COLUMN;
        for (size_t k = 0; k < n_agg && !used; k++) {
            used = mentions(aggregates[k], c->expr);
        }
        for (size_t k = 0; k < n_on && !used; k++) {
            used = mentions(ons[k], c->expr);
        }
        if (!used) {
            fz_bind_mark(b, c->expr);
            p.block->groups[p.block->n_groups++] = c->expr;
            FZ_RET(add(&p, c->name, c->expr));
        }
    }
    p.block->grouped = true;
    for (size_t v = 0; v < rel->n_pivot_values; v++) {
        FZ_RET(pivot_condition(&p, rel->pivot_for, rel->pivot_values[v].expr, &on));
        const char *base = rel->pivot_values[v].alias ? rel->pivot_values[v].alias
                                                      : fz_bind_output_name(b, &p.inner, rel->pivot_values[v].expr);
        for (size_t i = 0; i < n_agg; i++) {
            const char *suffix = rel->pivot_items[i].alias ? rel->pivot_items[i].alias
                                                           : fz_bind_output_name(b, &p.inner, rel->pivot_items[i].expr);
            FZ_RET(add(&p, n_agg == 1 ? base : fz_arena_printf(b->arena, "%s_%s", base, suffix),
                       filtered(b, aggregates[i], on)));
        }
    }
    return finish(&p, s, rel, out);
}

enum fz_code fz_bind_unpivot(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                             struct fz_sql_rel **out) {
    struct pivot p = {0};
    FZ_RET(start(&p, b, s, rel));
    size_t n = rel->n_pivot_values, width = rel->n_pivot_items;
    const struct fz_expr **values, **pairs, **parts, *list;
    const char **names;
    size_t n_values = n * width;
    FZ_ALLOC(b, values, const struct fz_expr *, n_values);
    FZ_ALLOC(b, pairs, const struct fz_expr *, n);
    FZ_ALLOC(b, parts, const struct fz_expr *, width + 1);
    FZ_ALLOC(b, names, const char *, width + 1);
    names[0] = rel->pivot_for->name.parts[rel->pivot_for->name.n - 1];
    for (size_t k = 0; k < width; k++) {
        names[k + 1] = rel->pivot_items[k].expr->name.parts[rel->pivot_items[k].expr->name.n - 1];
        const struct fz_expr **column;
        FZ_ALLOC(b, column, const struct fz_expr *, n);
        for (size_t i = 0; i < n; i++) {
            const struct fz_ast_expr *e = rel->pivot_values[i].expr;
            if (e->kind == FZ_AST_ROW && e->n_args != width) {
                return fz_fail_cond(b->err, FZ_INVALID_ARG, "UNPIVOT_VALUE_SIZE_MISMATCH",
                                    "Each UNPIVOT group needs %zu columns", width);
            }
            FZ_RET(fz_bind(b, &p.inner, e->kind == FZ_AST_ROW ? e->args[k] : e, &column[i]));
            values[i * width + k] = column[i];
        }
        FZ_RET(fz_bind_unify(b, "UNPIVOT", column, n, NULL));
        for (size_t i = 0; i < n; i++) {
            parts[0] = column[i];
            pairs[i] = NULL;
            values[i * width + k] = column[i];
        }
    }
    size_t n_sources = p.inner.n;
    for (size_t i = 0; i < n; i++) {
        const struct fz_ast_select_item *item = &rel->pivot_values[i];
        parts[0] = fz_bind_text(b, item->alias ? item->alias : fz_bind_output_name(b, &p.inner, item->expr));
        FZ_SOME(b, parts[0]);
        for (size_t k = 0; k < width; k++) {
            parts[k + 1] = values[i * width + k];
        }
        pairs[i] = fz_bind_struct(b, names, parts, width + 1);
        FZ_SOME(b, pairs[i]);
    }
    FZ_RET(fz_bind_function(b, "array", pairs, n, &list));
    struct fz_sql_rel *u = fz_bind_rel(b, FZ_REL_UNNEST);
    FZ_SOME(b, u);
    FZ_ALLOC(b, u->cells, const struct fz_expr *, 1);
    u->cells[0] = list;
    u->lateral = true;
    const struct fz_expr *yes = fz_bind_bool(b, true),
                         *entry = fz_expr_column(b->arena, u->relation, 1, "entry", list->type->fields[0].type, true);
    if (yes == NULL || entry == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    p.block->from = fz_bind_join_rel(b, p.block->from, u, "JOIN", yes);
    FZ_SOME(b, p.block->from);
    for (size_t i = 0; i < n_sources; i++) { // the columns that are not turned
        const struct fz_sql_col *c = &p.inner.cols[i];
        bool used = c->hidden || c->merged || c->expr->kind != FZ_EXPR_COLUMN;
        for (size_t k = 0; k < n * width && !used; k++) {
            used = mentions(values[k], c->expr);
        }
        if (!used) {
            fz_bind_mark(b, c->expr);
            FZ_RET(add(&p, c->name, c->expr));
        }
    }
    const struct fz_expr *all_null = NULL;
    for (size_t k = 0; k < width + 1; k++) {
        const struct fz_expr *f = fz_bind_field_ix(b, entry, k);
        FZ_SOME(b, f);
        FZ_RET(add(&p, names[k], f));
        if (k > 0) {
            const struct fz_expr *is_null = fz_expr_op(b->arena, FZ_EXPR_IS_NULL, fz_sql_type(FZ_TYPE_BOOLEAN), &f, 1);
            all_null = fz_expr_and(b->arena, all_null, is_null);
            FZ_SOME(b, all_null);
        }
    }
    if (!rel->outer && all_null != NULL) { // NULLs drop out unless INCLUDE NULLS
        p.block->where = fz_expr_op(b->arena, FZ_EXPR_NOT, fz_sql_type(FZ_TYPE_BOOLEAN), &all_null, 1);
        FZ_SOME(b, p.block->where);
    }
    return finish(&p, s, rel, out);
}
