// Queries: SELECT blocks, set operations, VALUES. Resolves aliases, ordinals, stars, grouping; checks what Spark checks. Also pushes
// conditions down to the scans for pruning and collects which columns each scan needs.
#include "sql/sql_bind_priv.h"

static struct fz_sql_query *new_query(fz_binder *b, struct fz_sql_rel *root, const struct fz_sql_item *items,
                                      size_t n) {
    struct fz_sql_query *q = FZ_ARENA_NEW(b->arena, struct fz_sql_query);
    struct fz_field *columns = fz_arena_array(b->arena, n ? n : 1, sizeof *columns);
    if (q == NULL || columns == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        columns[i] = (struct fz_field){.id = (int32_t)i + 1,
                                       .name = items[i].name,
                                       .required = !items[i].expr->nullable,
                                       .type = items[i].expr->type};
    }
    q->columns = columns;
    q->n_columns = n;
    q->root = root;
    return q;
}

// ---- grouping ----
struct group_check {
    const struct fz_sql_rel *block;
    const struct fz_sql_scope *scope;
    const struct fz_expr *bad;
};
static bool of_scope(const struct fz_sql_scope *s, const struct fz_expr *column) {
    for (size_t i = 0; i < s->n; i++) {
        const struct fz_expr *e = s->cols[i].expr;
        while (e->n_args > 0 && e->kind != FZ_EXPR_COLUMN) {
            e = e->args[0];
        }
        if (e->kind == FZ_EXPR_COLUMN && e->u.column.relation == column->u.column.relation) {
            return true;
        }
    }
    return false;
}

// The first column that is neither grouped nor inside an aggregate; NULL: all fine.
static const struct fz_expr *ungrouped(const struct fz_sql_rel *block, const struct fz_sql_scope *s,
                                       const struct fz_expr *e) {
    for (size_t i = 0; i < block->n_groups; i++) {
        if (fz_expr_same(block->groups[i], e)) {
            return NULL;
        }
    }
    if (e->kind == FZ_EXPR_AGGREGATE) {
        return NULL;
    }
    if (e->kind == FZ_EXPR_COLUMN) {
        return of_scope(s, e) ? e : NULL;
    }
    for (size_t i = 0; i < e->n_args; i++) {
        const struct fz_expr *bad = ungrouped(block, s, e->args[i]);
        if (bad != NULL) {
            return bad;
        }
    }
    if (e->kind == FZ_EXPR_WINDOW && e->u.call.window != NULL) {
        const struct fz_sql_window *w = e->u.call.window;
        for (size_t i = 0; i < w->n_partition_by + w->n_order_by; i++) {
            const struct fz_expr *part =
                i < w->n_partition_by ? w->partition_by[i] : w->order_by[i - w->n_partition_by].expr;
            const struct fz_expr *bad = ungrouped(block, s, part);
            if (bad != NULL) {
                return bad;
            }
        }
    }
    return NULL;
}

static enum fz_code check_grouped(fz_binder *b, const struct fz_sql_rel *block, const struct fz_sql_scope *s,
                                  const struct fz_expr *e) {
    const struct fz_expr *bad = ungrouped(block, s, e);
    if (bad == NULL) {
        return FZ_OK;
    }
    if (block->n_groups == 0) {
        return fz_fail_cond(
            b->err, FZ_INVALID_ARG, "MISSING_GROUP_BY",
            "The query does not include a GROUP BY clause, but `%s` is not inside an aggregate function",
            bad->u.column.name ? bad->u.column.name : "?");
    }
    return fz_fail_cond(b->err, FZ_INVALID_ARG, "MISSING_AGGREGATION",
                        "`%s` is neither in GROUP BY nor inside an aggregate function",
                        bad->u.column.name ? bad->u.column.name : "?");
}

static bool has_kind(const struct fz_expr *e, enum fz_expr_kind kind) {
    if (e->kind == kind) {
        return true;
    }
    for (size_t i = 0; i < e->n_args; i++) {
        if (has_kind(e->args[i], kind)) {
            return true;
        }
    }
    return false;
}

// ---- the SELECT list ----
struct items {
    struct fz_sql_item *v;
    size_t n, cap;
};
static enum fz_code add_item(fz_binder *b, struct items *list, const char *name, const struct fz_expr *e,
                             bool aliased) {
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 16;
        struct fz_sql_item *v = fz_arena_array(b->arena, cap, sizeof *v);
        FZ_SOME(b, v);
        if (list->n > 0) {
            memcpy(v, list->v, list->n * sizeof *v);
        }
        list->v = v;
        list->cap = cap;
    }
    FZ_SOME(b, name);
    list->v[list->n++] = (struct fz_sql_item){name, e, aliased};
    return FZ_OK;
}

static bool excepted(const struct fz_ast_expr *star, const struct fz_sql_col *c, bool *hit) {
    for (size_t i = 0; i < star->n_args; i++) {
        const struct fz_ast_name *n = &star->args[i]->name;
        if (star->args[i]->kind == FZ_AST_NAME && fz_strcasecmp(n->parts[n->n - 1], c->name) == 0 &&
            (n->n == 1 || (c->qualifier != NULL && fz_strcasecmp(n->parts[n->n - 2], c->qualifier) == 0))) {
            hit[i] = true;
            return true;
        }
    }
    return false;
}

static bool star_fits(const struct fz_sql_col *c, const struct fz_ast_name *name) {
    if (c->hidden) {
        return false;
    }
    if (name->n == 0) {
        return !c->merged;
    }
    if (name->n == 1) {
        return c->qualifier != NULL && fz_strcasecmp(c->qualifier, name->parts[0]) == 0;
    }
    struct fz_buf full = {0};
    for (size_t i = 0; i < name->n; i++) {
        fz_buf_printf(&full, "%s%s", i ? "." : "", name->parts[i]);
    }
    size_t len = c->full ? strlen(c->full) : 0;
    bool ok = c->full != NULL && full.len <= len &&
              fz_str_ieq((struct fz_str){c->full + len - full.len, full.len}, (struct fz_str){full.ptr, full.len}) &&
              (full.len == len || c->full[len - full.len - 1] == '.');
    fz_buf_dispose(&full);
    return ok;
}

static enum fz_code expand_star(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *star,
                                struct items *list) {
    bool *hit, any = false;
    FZ_ALLOC(b, hit, bool, star->n_args);
    for (size_t i = 0; i < s->n; i++) {
        const struct fz_sql_col *c = &s->cols[i];
        if (!star_fits(c, &star->name)) {
            continue;
        }
        any = true;
        if (!excepted(star, c, hit)) {
            fz_bind_mark(b, c->expr);
            FZ_RET(add_item(b, list, c->name, c->expr, false));
        }
    }
    if (!any && star->name.n > 0) { // a struct's fields
        const struct fz_expr *e;
        FZ_RET(fz_bind_resolve_name(b, s, &star->name, true, &e));
        if (e == NULL || e->type->id != FZ_TYPE_STRUCT) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "CANNOT_RESOLVE_STAR_EXPAND",
                                "Cannot resolve `%s`.* : there is no such relation or struct",
                                star->name.parts[star->name.n - 1]);
        }
        for (size_t i = 0; i < e->type->n_fields; i++) {
            const struct fz_expr *f = fz_bind_field_ix(b, e, i);
            FZ_SOME(b, f);
            FZ_RET(add_item(b, list, e->type->fields[i].name, f, false));
        }
        return FZ_OK;
    }
    for (size_t i = 0; i < star->n_args; i++) {
        if (!hit[i]) {
            return star->args[i]->kind == FZ_AST_NAME ? fz_bind_unresolved(b, s, &star->args[i]->name) : FZ_OK;
        }
    }
    return FZ_OK;
}

static enum fz_code generator_item(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_select_item *item,
                                   struct fz_sql_rel *block, struct items *list) {
    struct fz_sql_rel *u;
    struct fz_sql_col *cols;
    size_t n;
    const char *one[1] = {item->alias};
    const char **aliases = item->n_aliases > 0 ? item->aliases : item->alias ? one : NULL;
    size_t n_aliases = item->n_aliases > 0 ? item->n_aliases : item->alias ? 1 : 0;
    FZ_RET(fz_bind_generator(b, s, item->expr, false, NULL, aliases, n_aliases, &u, &cols, &n));
    u->lateral = true;
    const struct fz_expr *on = fz_bind_bool(b, true);
    FZ_SOME(b, on);
    block->from = block->from == NULL ? u : fz_bind_join_rel(b, block->from, u, u->all ? "LEFT JOIN" : "JOIN", on);
    FZ_SOME(b, block->from);
    for (size_t i = 0; i < n; i++) {
        FZ_RET(add_item(b, list, cols[i].name, cols[i].expr, n_aliases > 0));
    }
    return FZ_OK;
}

static enum fz_code bind_items(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_query *q,
                               struct fz_sql_rel *block) {
    struct items list = {0};
    for (size_t i = 0; i < q->n_items; i++) {
        const struct fz_ast_expr *e = q->items[i].expr;
        if (e->kind == FZ_AST_STAR) {
            FZ_RET(expand_star(b, s, e, &list));
            continue;
        }
        s->items = list.v; // aliases to the left may be used
        s->n_items = list.n;
        s->aliases = FZ_ALIAS_AFTER;
        if (fz_bind_is_generator(e)) {
            FZ_RET(generator_item(b, s, &q->items[i], block, &list));
            continue;
        }
        const struct fz_expr *bound;
        FZ_RET(fz_bind(b, s, e, &bound));
        const char *name = q->items[i].alias ? q->items[i].alias : fz_bind_output_name(b, s, e);
        FZ_RET(add_item(b, &list, name, bound, q->items[i].alias != NULL));
    }
    block->items = list.v;
    block->n_items = list.n;
    s->items = list.v;
    s->n_items = list.n;
    s->aliases = FZ_ALIAS_NONE;
    return FZ_OK;
}

// ---- GROUP BY ----
static bool is_ordinal(const struct fz_ast_expr *e) {
    return e->kind == FZ_AST_LITERAL && e->literal->type->id == FZ_TYPE_INT && !e->literal->is_null;
}

static const char *set_operation_on(const struct fz_type *t) {
    return fz_sql_has_variant(t) ? "UNSUPPORTED_FEATURE.SET_OPERATION_ON_VARIANT_TYPE"
                                 : "UNSUPPORTED_FEATURE.SET_OPERATION_ON_MAP_TYPE";
}

static enum fz_code check_group_type(fz_binder *b, const struct fz_expr *e) {
    return !fz_sql_has_variant(e->type)
               ? FZ_OK
               : fz_fail_cond(b->err, FZ_INVALID_ARG, "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE",
                              "Values of type %s cannot be grouped", fz_sql_type_text(b->arena, e->type));
}

static enum fz_code bind_group_expr(fz_binder *b, struct fz_sql_scope *s, const struct fz_sql_rel *block,
                                    const struct fz_ast_expr *e, const struct fz_expr **out) {
    if (is_ordinal(e)) {
        int64_t k = e->literal->u.i64;
        if (k < 1 || (size_t)k > block->n_items) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "GROUP_BY_POS_OUT_OF_RANGE",
                                "GROUP BY position %lld is not in select list (valid range is [1, %zu])", (long long)k,
                                block->n_items);
        }
        *out = block->items[k - 1].expr;
        if (has_kind(*out, FZ_EXPR_AGGREGATE)) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "GROUP_BY_POS_AGGREGATE",
                                "GROUP BY %lld refers to an aggregate", (long long)k);
        }
        return check_group_type(b, *out);
    }
    s->aliases = FZ_ALIAS_AFTER;
    s->no_aggregates = s->no_windows = true;
    s->clause = "GROUP BY";
    enum fz_code rc = fz_bind(b, s, e, out);
    s->aliases = FZ_ALIAS_NONE;
    s->no_aggregates = s->no_windows = false;
    FZ_RET(rc);
    if (has_kind(*out, FZ_EXPR_AGGREGATE)) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "GROUP_BY_AGGREGATE",
                            "Aggregate functions are not allowed in GROUP BY");
    }
    return check_group_type(b, *out);
}

static enum fz_code add_group(fz_binder *b, struct fz_sql_rel *block, const struct fz_expr *e, size_t cap, size_t *ix) {
    for (size_t i = 0; i < block->n_groups; i++) {
        if (fz_expr_same(block->groups[i], e)) {
            *ix = i;
            return FZ_OK;
        }
    }
    if (block->n_groups >= cap) {
        return fz_fail(b->err, FZ_BUG, "more grouping expressions than counted");
    }
    *ix = block->n_groups;
    block->groups[block->n_groups++] = e;
    return FZ_OK;
}

static enum fz_code bind_groups(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_query *q,
                                struct fz_sql_rel *block) {
    const struct fz_ast_group *g = q->group_by;
    block->grouped = true;
    size_t cap = block->n_items, ix = 0;
    for (size_t i = 0; i < g->n_sets; i++) {
        cap += g->set_sizes[i];
    }
    FZ_ALLOC(b, block->groups, const struct fz_expr *, cap);
    if (g->kind == FZ_GROUP_ALL) {
        for (size_t i = 0; i < block->n_items; i++) {
            if (!has_kind(block->items[i].expr, FZ_EXPR_AGGREGATE)) {
                FZ_RET(add_group(b, block, block->items[i].expr, cap, &ix));
            }
        }
        return FZ_OK;
    }
    bool sets = g->kind != FZ_GROUP_PLAIN;
    if (sets) {
        FZ_ALLOC(b, block->sets, uint64_t, g->n_sets);
        block->n_sets = g->n_sets;
    }
    for (size_t i = 0; i < g->n_sets; i++) {
        for (size_t k = 0; k < g->set_sizes[i]; k++) {
            const struct fz_expr *e;
            FZ_RET(bind_group_expr(b, s, block, g->sets[i][k], &e));
            FZ_RET(add_group(b, block, e, cap, &ix));
            if (sets && ix >= 64) {
                return fz_fail(b->err, FZ_LIMIT, "grouping sets over more than 64 expressions are not supported");
            }
            if (sets) {
                block->sets[i] |= (uint64_t)1 << ix;
            }
        }
    }
    return FZ_OK;
}

// ---- ORDER BY, LIMIT ----
static int item_of(const struct fz_sql_rel *block, const struct fz_expr *e) {
    for (size_t i = 0; i < block->n_items; i++) {
        if (fz_expr_same(block->items[i].expr, e)) {
            return (int)i + 1;
        }
    }
    return 0;
}

static enum fz_code bind_order_item(fz_binder *b, struct fz_sql_scope *s, struct fz_sql_rel *block,
                                    const struct fz_ast_order *in, struct fz_sql_order *o) {
    if (is_ordinal(in->expr)) {
        int64_t k = in->expr->literal->u.i64;
        if (k < 1 || (size_t)k > block->n_items) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "ORDER_BY_POS_OUT_OF_RANGE",
                                "ORDER BY position %lld is not in select list (valid range is [1, %zu])", (long long)k,
                                block->n_items);
        }
        o->ordinal = (int)k;
        o->expr = block->items[k - 1].expr;
    } else {
        bool had_aggregates = block->grouped;
        s->aliases = FZ_ALIAS_BEFORE;
        s->saw_aggregate = false;
        enum fz_code rc = fz_bind(b, s, in->expr, &o->expr);
        s->aliases = FZ_ALIAS_NONE;
        FZ_RET(rc);
        o->ordinal = item_of(block, o->expr);
        bool foreign = o->ordinal == 0 && (block->distinct || (block->having != NULL && s->saw_aggregate));
        if (foreign && !fz_expr_is_literal(o->expr)) {
            return fz_fail_cond(b->err, FZ_NOT_FOUND, "UNRESOLVED_COLUMN.WITH_SUGGESTION",
                                "ORDER BY %s here may only use columns of the SELECT list",
                                fz_bind_output_name(b, s, in->expr));
        }
        if (had_aggregates && o->ordinal == 0) {
            FZ_RET(check_grouped(b, block, s, o->expr));
        }
    }
    if (fz_sql_is_unordered(o->expr->type)) {
        return fz_bind_type_error(b, "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "Values of type %s cannot be ordered",
                                  fz_sql_type_text(b->arena, o->expr->type));
    }
    o->descending = in->descending;
    o->nulls_last = in->nulls_set ? in->nulls_last : in->descending;
    return FZ_OK;
}

static enum fz_code bind_order(fz_binder *b, struct fz_sql_scope *s, struct fz_sql_rel *block,
                               const struct fz_ast_order *in, size_t n) {
    bool all = n == 1 && in[0].expr->kind == FZ_AST_NAME && in[0].expr->name.n == 1 &&
               fz_strcasecmp(in[0].expr->name.parts[0], "all") == 0;
    for (size_t i = 0; all && i < block->n_items; i++) {
        all = fz_strcasecmp(block->items[i].name, "all") != 0;
    }
    size_t count = all ? block->n_items : n;
    FZ_ALLOC(b, block->order_by, struct fz_sql_order, count);
    for (size_t i = 0; i < count; i++) {
        if (all) {
            bool last = in[0].nulls_set ? in[0].nulls_last : in[0].descending;
            block->order_by[i] = (struct fz_sql_order){block->items[i].expr, (int)i + 1, in[0].descending, last};
        } else {
            FZ_RET(bind_order_item(b, s, block, &in[i], &block->order_by[i]));
        }
    }
    block->n_order_by = count;
    return FZ_OK;
}

static enum fz_code bind_limit(fz_binder *b, const struct fz_ast_expr *e, const char *what,
                               const struct fz_expr **out) {
    struct fz_sql_scope empty = {.no_aggregates = true, .no_windows = true, .clause = what};
    FZ_RET(fz_bind(b, &empty, e, out));
    if (!fz_type_is_integer((*out)->type)) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "INVALID_LIMIT_LIKE_EXPRESSION.DATA_TYPE",
                            "The %s expression must be an integer, not %s", what,
                            fz_sql_type_text(b->arena, (*out)->type));
    }
    if ((*out)->kind == FZ_EXPR_LITERAL && !(*out)->u.literal->is_null && (*out)->u.literal->u.i64 < 0) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "INVALID_LIMIT_LIKE_EXPRESSION.IS_NEGATIVE",
                            "The %s expression must not be negative", what);
    }
    return FZ_OK;
}

// ---- blocks ----
static enum fz_code bind_from_list(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_query *q,
                                   struct fz_sql_rel *block) {
    for (size_t i = 0; i < q->n_from; i++) {
        struct fz_sql_rel *rel;
        FZ_RET(fz_bind_from(b, s, q->from[i], &rel));
        if (block->from == NULL) {
            block->from = rel;
            continue;
        }
        const struct fz_expr *on = rel->lateral ? fz_bind_bool(b, true) : NULL;
        block->from = fz_bind_join_rel(b, block->from, rel,
                                       !rel->lateral                            ? "CROSS JOIN"
                                       : rel->kind == FZ_REL_UNNEST && rel->all ? "LEFT JOIN"
                                                                                : "JOIN",
                                       on);
        FZ_SOME(b, block->from);
    }
    return FZ_OK;
}

static enum fz_code bind_tail(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_query *q,
                              struct fz_sql_rel *block) {
    if (q->n_order_by > 0) {
        FZ_RET(bind_order(b, s, block, q->order_by, q->n_order_by));
    } else if (q->n_sort_by > 0) {
        FZ_RET(bind_order(b, s, block, q->sort_by, q->n_sort_by));
    }
    if (q->limit != NULL) {
        FZ_RET(bind_limit(b, q->limit, "limit", &block->limit));
    }
    return q->offset != NULL ? bind_limit(b, q->offset, "offset", &block->offset) : FZ_OK;
}

static enum fz_code bind_select(fz_binder *b, struct fz_sql_scope *outer, const struct fz_ast_query *q,
                                struct fz_sql_query **out) {
    struct fz_sql_scope s = {.outer = outer, .windows = q};
    struct fz_sql_rel *block = FZ_ARENA_NEW(b->arena, struct fz_sql_rel);
    FZ_SOME(b, block);
    block->kind = FZ_REL_BLOCK;
    block->relation = -1;
    block->distinct = q->distinct;
    FZ_RET(bind_from_list(b, &s, q, block));
    if (q->where != NULL) {
        s.no_aggregates = s.no_windows = true;
        s.clause = "WHERE";
        FZ_RET(fz_bind_boolean(b, &s, q->where, "WHERE", &block->where));
        s.no_aggregates = s.no_windows = false;
        if (block->from != NULL) {
            FZ_RET(fz_bind_push_filter(b, block->from, block->where));
        }
    }
    FZ_RET(bind_items(b, &s, q, block));
    bool aggregates = s.saw_aggregate;
    if (q->group_by != NULL) {
        FZ_RET(bind_groups(b, &s, q, block));
    }
    if (q->having != NULL) {
        s.aliases = FZ_ALIAS_AFTER;
        s.no_windows = true;
        s.clause = "HAVING";
        FZ_RET(fz_bind_boolean(b, &s, q->having, "HAVING", &block->having));
        s.no_windows = false;
        s.aliases = FZ_ALIAS_NONE;
    }
    block->grouped |= aggregates || q->having != NULL;
    for (size_t i = 0; block->grouped && i < block->n_items; i++) {
        FZ_RET(check_grouped(b, block, &s, block->items[i].expr));
    }
    if (block->having != NULL) {
        FZ_RET(check_grouped(b, block, &s, block->having));
    }
    for (size_t i = 0; block->distinct && i < block->n_items; i++) {
        if (fz_sql_is_unordered(block->items[i].expr->type)) {
            return fz_bind_type_error(b, set_operation_on(block->items[i].expr->type),
                                      "DISTINCT cannot compare columns of type %s",
                                      fz_sql_type_text(b->arena, block->items[i].expr->type));
        }
    }
    FZ_RET(bind_tail(b, &s, q, block));
    *out = new_query(b, block, block->items, block->n_items);
    FZ_SOME(b, *out);
    (*out)->ordered = block->n_order_by > 0;
    return FZ_OK;
}

// SELECT c1, … FROM (q) with ORDER BY and LIMIT of the whole.
static enum fz_code wrap(fz_binder *b, struct fz_sql_query *q, struct fz_sql_scope *s, struct fz_sql_rel **out) {
    struct fz_sql_rel *block = FZ_ARENA_NEW(b->arena, struct fz_sql_rel), *leaf = fz_bind_rel(b, FZ_REL_QUERY);
    if (block == NULL || leaf == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    block->kind = FZ_REL_BLOCK;
    block->relation = -1;
    block->from = leaf;
    leaf->query = q;
    FZ_RET(fz_bind_scope_of_query(b, s, q, leaf->relation, NULL, NULL, NULL, 0));
    FZ_ALLOC(b, block->items, struct fz_sql_item, q->n_columns);
    block->n_items = q->n_columns;
    for (size_t i = 0; i < q->n_columns; i++) {
        block->items[i] = (struct fz_sql_item){q->columns[i].name, s->cols[i].expr, false};
    }
    *out = block;
    return FZ_OK;
}

static enum fz_code with_tail(fz_binder *b, const struct fz_ast_query *q, struct fz_sql_query **inout) {
    if (q->n_order_by == 0 && q->n_sort_by == 0 && q->limit == NULL && q->offset == NULL) {
        return FZ_OK;
    }
    struct fz_sql_scope s = {0};
    struct fz_sql_rel *block;
    FZ_RET(wrap(b, *inout, &s, &block));
    s.items = block->items;
    s.n_items = block->n_items;
    FZ_RET(bind_tail(b, &s, q, block));
    *inout = new_query(b, block, block->items, block->n_items);
    FZ_SOME(b, *inout);
    (*inout)->ordered = block->n_order_by > 0;
    return FZ_OK;
}

enum fz_code fz_bind_query_cast(fz_binder *b, struct fz_sql_query *q,
                                const struct fz_expr *(*cast)(fz_binder *, const struct fz_expr *, size_t, void *),
                                void *ctx, const struct fz_field *columns, size_t n, struct fz_sql_query **out) {
    struct fz_sql_scope s = {0};
    struct fz_sql_rel *block;
    FZ_RET(wrap(b, q, &s, &block));
    struct fz_sql_item *items;
    FZ_ALLOC(b, items, struct fz_sql_item, n);
    for (size_t i = 0; i < n; i++) {
        const struct fz_expr *e = cast(b, i < block->n_items ? block->items[i].expr : NULL, i, ctx);
        if (e == NULL) {
            return b->err != NULL && b->err->code != FZ_OK ? b->err->code : FZ_BIND_NOMEM(b);
        }
        items[i] = (struct fz_sql_item){columns[i].name, e, false};
    }
    block->items = items;
    block->n_items = n;
    *out = new_query(b, block, items, n);
    FZ_SOME(b, *out);
    return FZ_OK;
}

static const struct fz_expr *cast_to_listed(fz_binder *b, const struct fz_expr *e, size_t i, void *ctx) {
    return fz_bind_cast(b, e, ((const struct fz_type *const *)ctx)[i]);
}

enum fz_code fz_bind_query_to_types(fz_binder *b, struct fz_sql_query *q, const struct fz_type *const *types,
                                    struct fz_sql_query **out) {
    bool same = true;
    for (size_t i = 0; i < q->n_columns; i++) {
        same &= fz_sql_same_type(q->columns[i].type, types[i]);
    }
    if (same) {
        *out = q;
        return FZ_OK;
    }
    return fz_bind_query_cast(b, q, cast_to_listed, (void *)types, q->columns, q->n_columns, out);
}

static enum fz_code bind_setop(fz_binder *b, struct fz_sql_scope *outer, const struct fz_ast_query *q,
                               struct fz_sql_query **out) {
    struct fz_sql_query *l, *r;
    FZ_RET(fz_bind_subquery(b, outer, q->left, &l));
    FZ_RET(fz_bind_subquery(b, outer, q->right, &r));
    if (l->n_columns != r->n_columns) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "NUM_COLUMNS_MISMATCH",
                            "%s can only be performed on inputs with the same number of columns, but the first input "
                            "has %zu and the second %zu",
                            q->setop, l->n_columns, r->n_columns);
    }
    const struct fz_type **types;
    struct fz_sql_item *items;
    FZ_ALLOC(b, types, const struct fz_type *, l->n_columns);
    FZ_ALLOC(b, items, struct fz_sql_item, l->n_columns);
    for (size_t i = 0; i < l->n_columns; i++) {
        types[i] = fz_sql_common_type(b->arena, l->columns[i].type, r->columns[i].type);
        if (types[i] == NULL) {
            return fz_bind_type_error(
                b, "INCOMPATIBLE_COLUMN_TYPE", "%s: column %zu is %s on one side and %s on the other", q->setop, i + 1,
                fz_sql_type_text(b->arena, l->columns[i].type), fz_sql_type_text(b->arena, r->columns[i].type));
        }
        if (fz_sql_is_unordered(types[i]) && !(q->all && strcmp(q->setop, "UNION") == 0)) {
            return fz_bind_type_error(b, set_operation_on(types[i]), "%s cannot compare columns of type %s", q->setop,
                                      fz_sql_type_text(b->arena, types[i]));
        }
    }
    FZ_RET(fz_bind_query_to_types(b, l, types, &l));
    FZ_RET(fz_bind_query_to_types(b, r, types, &r));
    struct fz_sql_rel *root = FZ_ARENA_NEW(b->arena, struct fz_sql_rel);
    FZ_SOME(b, root);
    root->kind = FZ_REL_SETOP;
    root->relation = -1;
    root->query = l;
    root->query2 = r;
    root->setop = q->setop;
    root->all = q->all;
    for (size_t i = 0; i < l->n_columns; i++) {
        bool nullable = strcmp(q->setop, "UNION") == 0 ? !l->columns[i].required || !r->columns[i].required
                                                       : !l->columns[i].required;
        const struct fz_expr *e = fz_expr_column(b->arena, -1, (int32_t)i + 1, l->columns[i].name, types[i], nullable);
        FZ_SOME(b, e);
        items[i] = (struct fz_sql_item){l->columns[i].name, e, false};
    }
    *out = new_query(b, root, items, l->n_columns);
    FZ_SOME(b, *out);
    return with_tail(b, q, out);
}

static enum fz_code bind_relation_query(fz_binder *b, struct fz_sql_scope *outer, const struct fz_ast_query *q,
                                        struct fz_sql_query **out) {
    struct fz_sql_scope s = {.outer = outer};
    struct fz_sql_rel *block = FZ_ARENA_NEW(b->arena, struct fz_sql_rel);
    struct items list = {0};
    FZ_SOME(b, block);
    block->kind = FZ_REL_BLOCK;
    block->relation = -1;
    FZ_RET(fz_bind_from(b, &s, q->values, &block->from));
    for (size_t i = 0; i < s.n; i++) {
        if (!s.cols[i].hidden && !s.cols[i].merged) {
            fz_bind_mark(b, s.cols[i].expr);
            FZ_RET(add_item(b, &list, s.cols[i].name, s.cols[i].expr, false));
        }
    }
    block->items = list.v;
    block->n_items = list.n;
    s.items = list.v;
    s.n_items = list.n;
    FZ_RET(bind_tail(b, &s, q, block));
    *out = new_query(b, block, list.v, list.n);
    FZ_SOME(b, *out);
    (*out)->ordered = block->n_order_by > 0;
    return FZ_OK;
}

enum fz_code fz_bind_subquery(fz_binder *b, struct fz_sql_scope *outer, const struct fz_ast_query *q,
                              struct fz_sql_query **out) {
    if (++b->depth > FZ_BIND_MAX_DEPTH) {
        b->depth--;
        return fz_fail(b->err, FZ_LIMIT, "queries are nested deeper than %d levels", FZ_BIND_MAX_DEPTH);
    }
    struct fz_sql_cte_frame *saved = b->ctes;
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < q->n_ctes && rc == FZ_OK; i++) {
        struct fz_sql_cte_frame *f = FZ_ARENA_NEW(b->arena, struct fz_sql_cte_frame);
        if (f == NULL) {
            rc = FZ_BIND_NOMEM(b);
            break;
        }
        f->outer = b->ctes;
        f->cte = &q->ctes[i];
        f->recursive = q->recursive;
        b->ctes = f;
    }
    if (rc == FZ_OK) {
        switch (q->kind) {
        case FZ_AST_SELECT:
            rc = bind_select(b, outer, q, out);
            break;
        case FZ_AST_SETOP:
            rc = bind_setop(b, outer, q, out);
            break;
        case FZ_AST_QUERY_VALUES:
        case FZ_AST_QUERY_TABLE:
            rc = bind_relation_query(b, outer, q, out);
            break;
        }
    }
    b->ctes = saved;
    b->depth--;
    return rc;
}

// ---- pruning ----
// The only relation an expression reads; -1: none, -2: several, a subquery or something that may not be moved.
static void only_relation(const struct fz_expr *e, int32_t *relation) {
    if (e->kind == FZ_EXPR_COLUMN) {
        *relation = *relation == -1 || *relation == e->u.column.relation ? e->u.column.relation : -2;
        return;
    }
    if (e->kind == FZ_EXPR_SUBQUERY || e->kind == FZ_EXPR_AGGREGATE || e->kind == FZ_EXPR_WINDOW ||
        (e->kind == FZ_EXPR_CALL && e->u.call.fn->flags & FZ_FN_NONDET)) {
        *relation = -2;
        return;
    }
    for (size_t i = 0; i < e->n_args && *relation != -2; i++) {
        only_relation(e->args[i], relation);
    }
}

static const struct fz_expr *substitute(fz_binder *b, const struct fz_expr *e, int32_t relation,
                                        const struct fz_sql_rel *block) {
    if (e->kind == FZ_EXPR_COLUMN) {
        size_t ix = (size_t)e->u.column.field_id - 1;
        if (e->u.column.relation != relation) {
            return e;
        }
        const struct fz_expr *to = ix < block->n_items ? block->items[ix].expr : NULL;
        return to != NULL && (to->kind == FZ_EXPR_COLUMN || to->kind == FZ_EXPR_LITERAL || to->kind == FZ_EXPR_FIELD ||
                              to->kind == FZ_EXPR_CAST)
                   ? to
                   : NULL;
    }
    if (e->n_args == 0) {
        return e;
    }
    struct fz_expr *copy = fz_arena_memdup(b->arena, e, sizeof *e);
    const struct fz_expr **args = fz_arena_array(b->arena, e->n_args, sizeof *args);
    if (copy == NULL || args == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < e->n_args; i++) {
        args[i] = substitute(b, e->args[i], relation, block);
        if (args[i] == NULL) {
            return NULL;
        }
    }
    copy->args = args;
    return copy;
}

static void push_one(fz_binder *b, const struct fz_sql_rel *rel, int32_t relation, const struct fz_expr *e, int depth);

static void push_into_query(fz_binder *b, const struct fz_sql_query *q, int32_t relation, const struct fz_expr *e,
                            int depth) {
    const struct fz_sql_rel *root = q->root;
    if (root->kind == FZ_REL_SETOP && strcmp(root->setop, "UNION") == 0) {
        push_into_query(b, root->query, relation, e, depth + 1);
        push_into_query(b, root->query2, relation, e, depth + 1);
        return;
    }
    if (root->kind != FZ_REL_BLOCK || root->from == NULL || root->grouped || root->limit != NULL ||
        root->offset != NULL || depth > 64) {
        return;
    }
    for (size_t i = 0; i < root->n_items; i++) {
        if (has_kind(root->items[i].expr, FZ_EXPR_WINDOW)) {
            return;
        }
    }
    const struct fz_expr *inner = substitute(b, e, relation, root);
    int32_t at = -1;
    if (inner != NULL) {
        only_relation(inner, &at);
    }
    if (at >= 0) {
        push_one(b, root->from, at, inner, depth + 1);
    }
}

static void push_one(fz_binder *b, const struct fz_sql_rel *rel, int32_t relation, const struct fz_expr *e, int depth) {
    if (depth > 200) {
        return;
    }
    if (rel->kind == FZ_REL_JOIN) { // not into the side that an outer join fills with NULLs
        bool left = strcmp(rel->join, "RIGHT JOIN") != 0 && strcmp(rel->join, "FULL JOIN") != 0;
        bool right = strcmp(rel->join, "LEFT JOIN") != 0 && strcmp(rel->join, "FULL JOIN") != 0 &&
                     strcmp(rel->join, "ANTI JOIN") != 0;
        if (left) {
            push_one(b, rel->left, relation, e, depth + 1);
        }
        if (right) {
            push_one(b, rel->right, relation, e, depth + 1);
        }
        return;
    }
    if (rel->relation != relation || rel->limit != NULL) {
        return;
    }
    if (rel->kind == FZ_REL_QUERY) {
        push_into_query(b, rel->query, relation, e, depth + 1);
    }
    for (size_t i = 0; rel->kind == FZ_REL_SCAN && i < b->n_uses; i++) {
        if (b->uses[i].scan->relation == relation) {
            b->uses[i].filter = fz_expr_and(b->arena, b->uses[i].filter, fz_sql_prune_form(b->arena, e));
        }
    }
}

enum fz_code fz_bind_push_filter(fz_binder *b, const struct fz_sql_rel *from, const struct fz_expr *where) {
    const struct fz_expr *stack[64];
    size_t n = fz_expr_conjuncts(where, stack, 64);
    for (size_t i = 0; i < n && i < 64; i++) {
        int32_t relation = -1;
        only_relation(stack[i], &relation);
        if (relation >= 0) {
            push_one(b, from, relation, stack[i], 0);
        }
    }
    return FZ_OK;
}

// Columns each scan needs, in the table's order; at least one.
enum fz_code fz_bind_finish(fz_binder *b, struct fz_sql_scan ***scans, size_t *n) {
    FZ_ALLOC(b, *scans, struct fz_sql_scan *, b->n_uses);
    for (size_t i = 0; i < b->n_uses; i++) {
        struct fz_sql_scan *scan = b->uses[i].scan;
        const struct fz_sql_table *t = &scan->table;
        struct fz_field *columns;
        size_t k = 0;
        FZ_ALLOC(b, columns, struct fz_field, t->n_fields + t->n_hidden);
        for (size_t c = 0; c < t->n_fields + t->n_hidden; c++) {
            if (b->uses[i].used[c]) {
                columns[k++] = c < t->n_fields ? t->fields[c] : t->hidden[c - t->n_fields];
            }
        }
        if (k == 0 && t->n_fields > 0) { // count(*): the cheapest one
            size_t best = 0;
            for (size_t c = t->n_fields; c > 0; c--) {
                const struct fz_type *ct = t->fields[c - 1].type;
                best = fz_type_is_primitive(ct) && !fz_sql_is_string(ct) && !fz_sql_is_binary(ct) ? c - 1 : best;
            }
            columns[k++] = t->fields[best];
        }
        scan->columns = columns;
        scan->n_columns = k;
        scan->filter = b->uses[i].filter;
        (*scans)[i] = scan;
    }
    *n = b->n_uses;
    return FZ_OK;
}

enum fz_code fz_sql_bind_query(struct fz_arena *arena, const struct fz_sql_env *env, const struct fz_ast_query *query,
                               struct fz_sql_query **out, struct fz_err *err) {
    fz_binder b = {.arena = arena, .env = env, .err = err, .next_relation = 2};
    struct fz_sql_query *q;
    FZ_RET(fz_bind_subquery(&b, NULL, query, &q));
    FZ_RET(fz_bind_finish(&b, &q->scans, &q->n_scans));
    q->kernels = b.kernels;
    q->n_kernels = b.n_kernels;
    *out = q;
    return FZ_OK;
}

enum fz_code fz_sql_bind_expr(struct fz_arena *arena, const struct fz_sql_env *env, const struct fz_ast_expr *expr,
                              const struct fz_field *fields, size_t n_fields, const struct fz_expr **out,
                              struct fz_err *err) {
    fz_binder binder = {.arena = arena, .env = env, .err = err, .next_relation = 2}, *b = &binder;
    struct fz_sql_scope s = {.no_aggregates = true, .no_windows = true, .clause = "this expression"};
    for (size_t i = 0; i < n_fields; i++) {
        const struct fz_expr *e =
            fz_expr_column(arena, 0, fields[i].id, fields[i].name, fields[i].type, !fields[i].required);
        FZ_SOME(b, e);
        FZ_RET(fz_scope_add(b, &s, (struct fz_sql_col){.name = fields[i].name, .expr = e}));
    }
    FZ_RET(fz_bind(b, &s, expr, out));
    if (has_kind(*out, FZ_EXPR_SUBQUERY) || b->n_kernels > 0) {
        return fz_fail(err, FZ_UNSUPPORTED, "subqueries and from_json are not supported in this expression");
    }
    return FZ_OK;
}
