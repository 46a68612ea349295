// FROM: tables, views, common table expressions, derived tables, joins with ON, USING and NATURAL, VALUES, table functions,
// LATERAL VIEW and generators. Fills the scope and builds the relational tree.
#include "sql/sql_bind_priv.h"

#include <strings.h>

struct fz_sql_rel *fz_bind_rel(fz_binder *b, enum fz_rel_kind kind) {
    struct fz_sql_rel *rel = FZ_ARENA_NEW(b->arena, struct fz_sql_rel);
    if (rel != NULL) {
        rel->kind = kind;
        rel->relation = b->next_relation++;
    }
    return rel;
}

static enum fz_code too_many(fz_binder *b) {
    return fz_fail(b->err, FZ_LIMIT,
                   "the statement reads more than %d relations (a WITH query counts each time it is named)",
                   FZ_BIND_MAX_RELATIONS);
}

enum fz_code fz_bind_scope_of_query(fz_binder *b, struct fz_sql_scope *s, struct fz_sql_query *q, int32_t relation,
                                    const char *qualifier, const char *full, const char **aliases, size_t n_aliases) {
    if (n_aliases > 0 && n_aliases != q->n_columns) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "ASSIGNMENT_ARITY_MISMATCH",
                            "Number of column aliases (%zu) does not match number of columns (%zu)", n_aliases,
                            q->n_columns);
    }
    for (size_t i = 0; i < q->n_columns; i++) {
        const char *name = n_aliases > 0 ? aliases[i] : q->columns[i].name;
        const struct fz_expr *e =
            fz_expr_column(b->arena, relation, (int32_t)i + 1, name, q->columns[i].type, !q->columns[i].required);
        FZ_SOME(b, e);
        FZ_RET(fz_scope_add(b, s, (struct fz_sql_col){.name = name, .qualifier = qualifier, .full = full, .expr = e}));
    }
    return FZ_OK;
}

static enum fz_code query_rel(fz_binder *b, struct fz_sql_scope *s, struct fz_sql_query *q, const char *qualifier,
                              const char *full, const char **aliases, size_t n_aliases, bool lateral,
                              struct fz_sql_rel **out) {
    struct fz_sql_rel *rel = fz_bind_rel(b, FZ_REL_QUERY);
    FZ_SOME(b, rel);
    rel->query = q;
    rel->lateral = lateral;
    *out = rel;
    return fz_bind_scope_of_query(b, s, q, rel->relation, qualifier, full, aliases, n_aliases);
}

// ---- tables ----
static enum fz_code scan_rel(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                             const struct fz_sql_table *table, struct fz_sql_rel **out) {
    struct fz_sql_rel *node = fz_bind_rel(b, FZ_REL_SCAN);
    struct fz_sql_scan *scan = FZ_ARENA_NEW(b->arena, struct fz_sql_scan);
    if (node == NULL || scan == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    scan->table = *table;
    scan->relation = node->relation;
    scan->registered_id = -1;
    node->scan = scan;
    if (b->n_uses == b->cap_uses) {
        size_t cap = b->cap_uses ? 2 * b->cap_uses : 8;
        void *grown = fz_arena_array(b->arena, cap, sizeof *b->uses);
        FZ_SOME(b, grown);
        if (b->n_uses > 0) {
            memcpy(grown, b->uses, b->n_uses * sizeof *b->uses);
        }
        b->uses = grown;
        b->cap_uses = cap;
    }
    bool *used;
    FZ_ALLOC(b, used, bool, table->n_fields + table->n_hidden);
    b->uses[b->n_uses].scan = scan;
    b->uses[b->n_uses].used = used;
    b->uses[b->n_uses++].filter = NULL;
    if (rel->n_column_aliases > 0 && rel->n_column_aliases != table->n_fields) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "ASSIGNMENT_ARITY_MISMATCH",
                            "Number of column aliases (%zu) does not match number of columns (%zu)",
                            rel->n_column_aliases, table->n_fields);
    }
    const char *qualifier = rel->alias                  ? rel->alias
                            : rel->kind == FZ_AST_TABLE ? rel->name.parts[rel->name.n - 1]
                                                        : NULL;
    for (size_t i = 0; i < table->n_fields + table->n_hidden; i++) {
        bool hidden = i >= table->n_fields;
        const struct fz_field *f = hidden ? &table->hidden[i - table->n_fields] : &table->fields[i];
        const char *name = !hidden && rel->n_column_aliases > 0 ? rel->column_aliases[i] : f->name;
        const struct fz_expr *e = fz_expr_column(b->arena, node->relation, f->id, name, f->type, !f->required);
        FZ_SOME(b, e);
        FZ_RET(fz_scope_add(b, s,
                            (struct fz_sql_col){.name = name,
                                                .qualifier = qualifier,
                                                .full = rel->alias ? NULL : table->name,
                                                .expr = e,
                                                .hidden = hidden}));
    }
    *out = node;
    return FZ_OK;
}

static enum fz_code bind_view(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel, const char *full,
                              const struct fz_ast_query *view, const char **columns, struct fz_sql_rel **out) {
    struct fz_sql_query *q;
    struct fz_sql_cte_frame *saved = b->ctes;
    b->ctes = NULL; // a view does not see the statement's names
    enum fz_code rc = fz_bind_subquery(b, NULL, view, &q);
    b->ctes = saved;
    FZ_RET(rc);
    const char **aliases = rel->n_column_aliases > 0 ? rel->column_aliases : columns;
    size_t n = rel->n_column_aliases > 0 ? rel->n_column_aliases : columns != NULL ? q->n_columns : 0;
    const char *qualifier = rel->alias ? rel->alias : rel->name.parts[rel->name.n - 1];
    return query_rel(b, s, q, qualifier, rel->alias ? NULL : full, aliases, n, false, out);
}

static enum fz_code bind_cte(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                             struct fz_sql_cte_frame *frame, struct fz_sql_rel **out);

static enum fz_code bind_table(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                               struct fz_sql_rel **out) {
    if (b->next_relation > FZ_BIND_MAX_RELATIONS) {
        return too_many(b);
    }
    for (struct fz_sql_cte_frame *f = b->ctes; f != NULL && rel->kind == FZ_AST_TABLE && rel->name.n == 1;
         f = f->outer) {
        if (fz_strcasecmp(f->cte->name, rel->name.parts[0]) == 0) {
            return bind_cte(b, s, rel, f, out);
        }
    }
    struct fz_sql_table table = {0};
    struct fz_ast_query *view = NULL;
    const char **columns = NULL;
    enum fz_code rc = b->env->resolve(b->env->ctx, b->arena, rel, &table, &view, &columns, b->err);
    if (rc != FZ_OK) {
        fz_err_at(b->err, rel->pos.line, rel->pos.column);
        return rc;
    }
    return view != NULL ? bind_view(b, s, rel, table.name, view, columns, out) : scan_rel(b, s, rel, &table, out);
}

// WITH RECURSIVE: both parts become one node; inside its own definition the name is a SELF reference.
static enum fz_code bind_recursive(fz_binder *b, struct fz_sql_cte_frame *f, struct fz_sql_query **out) {
    const struct fz_ast_query *def = f->cte->query;
    if (def->kind != FZ_AST_SETOP || strcmp(def->setop, "UNION") != 0) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "INVALID_RECURSIVE_CTE",
                            "The recursive query %s must be anchor UNION [ALL] recursive part", f->cte->name);
    }
    struct fz_sql_query *anchor, *step;
    FZ_RET(fz_bind_subquery(b, NULL, def->left, &anchor));
    if (f->cte->n_columns > 0 && f->cte->n_columns != anchor->n_columns) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "ASSIGNMENT_ARITY_MISMATCH",
                            "The recursive query %s names %zu columns but has %zu", f->cte->name, f->cte->n_columns,
                            anchor->n_columns);
    }
    struct fz_field *columns;
    FZ_ALLOC(b, columns, struct fz_field, anchor->n_columns);
    for (size_t i = 0; i < anchor->n_columns; i++) {
        columns[i] = anchor->columns[i];
        columns[i].required = false;
        columns[i].name = f->cte->n_columns > 0 ? f->cte->columns[i] : columns[i].name;
    }
    struct fz_sql_rel *node = fz_bind_rel(b, FZ_REL_RECURSIVE);
    FZ_SOME(b, node);
    f->self_columns = columns;
    f->n_self_columns = anchor->n_columns;
    f->self_relation = node->relation;
    enum fz_code rc = fz_bind_subquery(b, NULL, def->right, &step);
    f->self_columns = NULL;
    FZ_RET(rc);
    if (step->n_columns != anchor->n_columns) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "NUM_COLUMNS_MISMATCH",
                            "The parts of the recursive query %s have %zu and %zu columns", f->cte->name,
                            anchor->n_columns, step->n_columns);
    }
    const struct fz_type **types;
    FZ_ALLOC(b, types, const struct fz_type *, anchor->n_columns);
    for (size_t i = 0; i < anchor->n_columns; i++) {
        types[i] = columns[i].type;
        if (fz_sql_can_cast(step->columns[i].type, types[i]) != FZ_CAST_OK) {
            return fz_bind_type_error(b, "INCOMPATIBLE_COLUMN_TYPE", "Column %zu of the recursive part is %s, not %s",
                                      i + 1, fz_sql_type_text(b->arena, step->columns[i].type),
                                      fz_sql_type_text(b->arena, types[i]));
        }
    }
    FZ_RET(fz_bind_query_to_types(b, step, types, &step));
    struct fz_sql_query *q = FZ_ARENA_NEW(b->arena, struct fz_sql_query);
    FZ_SOME(b, q);
    node->query = anchor;
    node->query2 = step;
    node->all = def->all;
    q->columns = columns;
    q->n_columns = anchor->n_columns;
    q->root = node;
    *out = q;
    return FZ_OK;
}

static enum fz_code bind_cte(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                             struct fz_sql_cte_frame *f, struct fz_sql_rel **out) {
    const char *qualifier = rel->alias ? rel->alias : f->cte->name;
    struct fz_sql_query *q = NULL;
    if (f->self_columns != NULL) { // inside its own definition
        struct fz_sql_rel *self = fz_bind_rel(b, FZ_REL_SELF);
        struct fz_sql_query shape = {.columns = f->self_columns, .n_columns = f->n_self_columns};
        FZ_SOME(b, self);
        self->self = f->self_relation;
        *out = self;
        return fz_bind_scope_of_query(b, s, &shape, self->relation, qualifier, NULL, rel->column_aliases,
                                      rel->n_column_aliases);
    }
    struct fz_sql_cte_frame *saved = b->ctes;
    if (++b->depth > FZ_BIND_MAX_DEPTH) {
        b->depth--;
        return fz_fail(b->err, FZ_LIMIT, "queries are nested deeper than %d levels", FZ_BIND_MAX_DEPTH);
    }
    // its definition sees the names before it; itself only when recursive
    b->ctes = f->recursive ? f : f->outer;
    enum fz_code rc;
    bool self_reference = f->recursive && f->cte->query->kind == FZ_AST_SETOP;
    if (self_reference) {
        rc = bind_recursive(b, f, &q);
    } else {
        b->ctes = f->outer;
        rc = fz_bind_subquery(b, NULL, f->cte->query, &q);
    }
    b->ctes = saved;
    b->depth--;
    FZ_RET(rc);
    const char **aliases = rel->n_column_aliases > 0 ? rel->column_aliases : f->cte->columns;
    size_t n = rel->n_column_aliases > 0 ? rel->n_column_aliases : f->cte->n_columns;
    return query_rel(b, s, q, qualifier, NULL, aliases, n, false, out);
}

// ---- joins ----
struct fz_sql_rel *fz_bind_join_rel(fz_binder *b, struct fz_sql_rel *left, struct fz_sql_rel *right, const char *join,
                                    const struct fz_expr *on) {
    struct fz_sql_rel *j = FZ_ARENA_NEW(b->arena, struct fz_sql_rel);
    if (j != NULL) {
        j->kind = FZ_REL_JOIN;
        j->relation = -1;
        j->left = left;
        j->right = right;
        j->join = join;
        j->on = on;
    }
    return j;
}

static struct fz_sql_col *using_column(struct fz_sql_scope *s, size_t from, size_t to, const char *name) {
    for (size_t i = from; i < to; i++) {
        if (!s->cols[i].hidden && !s->cols[i].merged && fz_strcasecmp(s->cols[i].name, name) == 0) {
            return &s->cols[i];
        }
    }
    return NULL;
}

// Joins by column names; the scope then lists the join columns first, the rest of left, the rest of right.
static enum fz_code bind_using(fz_binder *b, struct fz_sql_scope *s, size_t n0, size_t n1, const char **names,
                               size_t n_names, const char *join, const struct fz_expr **on) {
    size_t n2 = s->n, k = 0;
    struct fz_sql_col *merged;
    FZ_ALLOC(b, merged, struct fz_sql_col, n_names);
    *on = NULL;
    for (size_t i = 0; i < n_names; i++) {
        struct fz_sql_col *l = using_column(s, n0, n1, names[i]), *r = using_column(s, n1, n2, names[i]);
        if (l == NULL || r == NULL) {
            return fz_fail_cond(b->err, FZ_NOT_FOUND, "UNRESOLVED_USING_COLUMN_FOR_JOIN",
                                "USING column `%s` cannot be resolved on the %s side of the join", names[i],
                                l == NULL ? "left" : "right");
        }
        const struct fz_expr *eq;
        fz_bind_mark(b, l->expr);
        fz_bind_mark(b, r->expr);
        FZ_RET(fz_bind_compare(b, "=", l->expr, r->expr, &eq));
        *on = fz_expr_and(b->arena, *on, eq);
        FZ_SOME(b, *on);
        if (strcmp(join, "FULL") == 0) {
            const struct fz_expr *both[2] = {l->expr, r->expr};
            merged[k] = (struct fz_sql_col){.name = l->name};
            FZ_RET(fz_bind_function(b, "coalesce", both, 2, &merged[k++].expr));
            l->merged = r->merged = true;
        } else if (strcmp(join, "RIGHT") == 0) {
            merged[k++] = *r;
            l->merged = true;
            r->name = NULL; // moved
        } else {
            merged[k++] = *l;
            r->merged = true;
            l->name = NULL;
        }
    }
    struct fz_sql_col *all;
    size_t at = 0;
    FZ_ALLOC(b, all, struct fz_sql_col, n2 - n0 + k);
    for (size_t i = 0; i < k; i++) {
        all[at++] = merged[i];
    }
    for (size_t i = n0; i < n2; i++) {
        if (s->cols[i].name != NULL) {
            all[at++] = s->cols[i];
        }
    }
    s->n = n0;
    for (size_t i = 0; i < at; i++) {
        FZ_RET(fz_scope_add(b, s, all[i]));
    }
    return FZ_OK;
}

static enum fz_code natural_names(fz_binder *b, struct fz_sql_scope *s, size_t n0, size_t n1, const char ***names,
                                  size_t *n) {
    FZ_ALLOC(b, *names, const char *, n1 - n0);
    *n = 0;
    for (size_t i = n0; i < n1; i++) {
        if (!s->cols[i].hidden && !s->cols[i].merged && using_column(s, n1, s->n, s->cols[i].name) != NULL) {
            (*names)[(*n)++] = s->cols[i].name;
        }
    }
    return FZ_OK;
}

static enum fz_code push_on(fz_binder *b, const struct fz_sql_rel *j) {
    bool left = strcmp(j->join, "JOIN") == 0 || strcmp(j->join, "RIGHT JOIN") == 0 || strcmp(j->join, "SEMI JOIN") == 0;
    bool right = strcmp(j->join, "JOIN") == 0 || strcmp(j->join, "LEFT JOIN") == 0 ||
                 strcmp(j->join, "SEMI JOIN") == 0 || strcmp(j->join, "ANTI JOIN") == 0;
    if (left) {
        FZ_RET(fz_bind_push_filter(b, j->left, j->on));
    }
    return right ? fz_bind_push_filter(b, j->right, j->on) : FZ_OK;
}

static enum fz_code bind_join(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                              struct fz_sql_rel **out) {
    size_t n0 = s->n;
    struct fz_sql_rel *left, *right;
    FZ_RET(fz_bind_from(b, s, rel->left, &left));
    size_t n1 = s->n;
    FZ_RET(fz_bind_from(b, s, rel->right, &right));
    const struct fz_expr *on = NULL;
    const char **names = rel->using_columns;
    size_t n_names = rel->n_using;
    if (rel->natural) {
        FZ_RET(natural_names(b, s, n0, n1, &names, &n_names));
    }
    bool semi = strcmp(rel->join, "LEFT SEMI") == 0, anti = strcmp(rel->join, "LEFT ANTI") == 0;
    if (n_names > 0) {
        FZ_RET(bind_using(b, s, n0, n1, names, n_names, rel->join, &on));
    } else if (rel->on != NULL) {
        struct fz_sql_scope only = {.outer = s->outer,
                                    .cols = s->cols + n0,
                                    .n = s->n - n0,
                                    .no_aggregates = true,
                                    .no_windows = true,
                                    .clause = "JOIN"};
        FZ_RET(fz_bind(b, &only, rel->on, &on));
        if (on->type->id != FZ_TYPE_BOOLEAN) {
            return fz_bind_type_error(b, "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE",
                                      "The join condition has the type %s, expected BOOLEAN",
                                      fz_sql_type_text(b->arena, on->type));
        }
    }
    if (semi || anti) { // only the left side goes on
        s->n = n1; // after USING too: the join columns of the left side, its other columns, then the right side
    }
    const char *kind = semi                              ? "SEMI JOIN"
                       : anti                            ? "ANTI JOIN"
                       : strcmp(rel->join, "LEFT") == 0  ? "LEFT JOIN"
                       : strcmp(rel->join, "RIGHT") == 0 ? "RIGHT JOIN"
                       : strcmp(rel->join, "FULL") == 0  ? "FULL JOIN"
                       : on == NULL                      ? "CROSS JOIN"
                                                         : "JOIN";
    if (on == NULL && strcmp(kind, "CROSS JOIN") != 0) {
        on = fz_bind_bool(b, true);
        FZ_SOME(b, on);
    }
    *out = fz_bind_join_rel(b, left, right, kind, on);
    FZ_SOME(b, *out);
    return on != NULL ? push_on(b, *out) : FZ_OK;
}

// ---- VALUES and table functions ----
static enum fz_code bind_values(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                                struct fz_sql_rel **out) {
    struct fz_sql_rel *v = fz_bind_rel(b, FZ_REL_VALUES);
    FZ_SOME(b, v);
    v->n_rows = rel->n_rows;
    v->n_cols = rel->n_cols;
    size_t cells;
    if (!fz_mul_size(rel->n_rows, rel->n_cols, &cells)) {
        return FZ_BIND_NOMEM(b);
    }
    FZ_ALLOC(b, v->cells, const struct fz_expr *, cells);
    struct fz_sql_scope empty = {.outer = s->outer, .no_aggregates = true, .no_windows = true, .clause = "VALUES"};
    for (size_t i = 0; i < rel->n_rows; i++) {
        for (size_t j = 0; j < rel->n_cols; j++) {
            FZ_RET(fz_bind(b, &empty, rel->rows[i][j], &v->cells[i * rel->n_cols + j]));
        }
    }
    const struct fz_expr **column;
    FZ_ALLOC(b, column, const struct fz_expr *, rel->n_rows);
    if (rel->n_column_aliases > 0 && rel->n_column_aliases != rel->n_cols) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "ASSIGNMENT_ARITY_MISMATCH",
                            "Number of column aliases (%zu) does not match number of columns (%zu)",
                            rel->n_column_aliases, rel->n_cols);
    }
    for (size_t j = 0; j < rel->n_cols; j++) {
        const struct fz_type *t;
        bool nullable = false;
        for (size_t i = 0; i < rel->n_rows; i++) {
            column[i] = v->cells[i * rel->n_cols + j];
            nullable |= column[i]->nullable;
        }
        struct fz_err quiet = FZ_ERR_INIT, *saved = b->err;
        b->err = &quiet;
        enum fz_code rc = fz_bind_unify(b, "VALUES", column, rel->n_rows, &t);
        b->err = saved;
        if (rc != FZ_OK) {
            return fz_bind_type_error(b, "INVALID_INLINE_TABLE.INCOMPATIBLE_TYPES_IN_INLINE_TABLE",
                                      "Found incompatible types in column %zu of the inline table", j + 1);
        }
        for (size_t i = 0; i < rel->n_rows; i++) {
            v->cells[i * rel->n_cols + j] = column[i];
        }
        const char *name =
            rel->n_column_aliases > 0 ? rel->column_aliases[j] : fz_arena_printf(b->arena, "col%zu", j + 1);
        const struct fz_expr *e =
            name ? fz_expr_column(b->arena, v->relation, (int32_t)j + 1, name, t, nullable) : NULL;
        FZ_SOME(b, e);
        FZ_RET(fz_scope_add(b, s, (struct fz_sql_col){.name = name, .qualifier = rel->alias, .expr = e}));
    }
    *out = v;
    return FZ_OK;
}

static enum fz_code bind_range(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                               struct fz_sql_rel **out) {
    struct fz_sql_rel *r = fz_bind_rel(b, FZ_REL_RANGE);
    const struct fz_ast_expr *call = rel->call;
    const struct fz_expr *args[4];
    struct fz_sql_scope empty = {.outer = s->outer, .no_aggregates = true, .no_windows = true, .clause = "range"};
    FZ_SOME(b, r);
    if (call->n_args < 1 || call->n_args > 4) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                            "range takes 1 to 4 arguments");
    }
    for (size_t i = 0; i < call->n_args; i++) {
        FZ_RET(fz_bind(b, &empty, call->args[i], &args[i]));
        FZ_RET(fz_bind_cast_checked(b, args[i], fz_sql_type(FZ_TYPE_LONG), FZ_CAST_ANSI, &args[i]));
    }
    FZ_ALLOC(b, r->cells, const struct fz_expr *, 3);
    r->cells[0] = call->n_args == 1 ? fz_bind_int(b, FZ_TYPE_LONG, 0) : args[0];
    r->cells[1] = call->n_args == 1 ? args[0] : args[1];
    r->cells[2] = call->n_args > 2 ? args[2] : fz_bind_int(b, FZ_TYPE_LONG, 1);
    const char *name = rel->n_column_aliases > 0 ? rel->column_aliases[0] : "id";
    const struct fz_expr *e = fz_expr_column(b->arena, r->relation, 1, name, fz_sql_type(FZ_TYPE_LONG), false);
    if (r->cells[0] == NULL || r->cells[2] == NULL || e == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    *out = r;
    return fz_scope_add(b, s, (struct fz_sql_col){.name = name, .qualifier = rel->alias, .expr = e});
}

// ---- generators ----
static const char *const generators[] = {"explode", "explode_outer", "posexplode", "posexplode_outer",
                                         "inline",  "inline_outer",  "stack",      "json_tuple"};
bool fz_bind_is_generator(const struct fz_ast_expr *e) {
    for (size_t i = 0; e->kind == FZ_AST_CALL && i < sizeof generators / sizeof *generators; i++) {
        if (fz_strcasecmp(e->name.parts[e->name.n - 1], generators[i]) == 0) {
            return true;
        }
    }
    return false;
}

bool fz_bind_is_variant_explode(const struct fz_ast_expr *e) {
    const char *name = e->kind == FZ_AST_CALL ? e->name.parts[e->name.n - 1] : "";
    return fz_strcasecmp(name, "variant_explode") == 0 || fz_strcasecmp(name, "variant_explode_outer") == 0;
}

static enum fz_code stack_list(fz_binder *b, const struct fz_expr **args, size_t n, const struct fz_expr **list) {
    if (n < 2 || args[0]->kind != FZ_EXPR_LITERAL || !fz_type_is_integer(args[0]->type) ||
        args[0]->u.literal->u.i64 < 1 || args[0]->u.literal->u.i64 > 100000) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                            "stack takes a positive row count and the cells");
    }
    size_t rows = (size_t)args[0]->u.literal->u.i64, cells = n - 1, cols = (cells + rows - 1) / rows;
    const char **names;
    const struct fz_expr **grid, **column, **structs;
    FZ_ALLOC(b, names, const char *, cols);
    size_t n_cells = rows * cols;
    FZ_ALLOC(b, grid, const struct fz_expr *, n_cells);
    FZ_ALLOC(b, column, const struct fz_expr *, rows);
    FZ_ALLOC(b, structs, const struct fz_expr *, rows);
    for (size_t i = 0; i < rows * cols; i++) {
        grid[i] = i < cells ? args[1 + i] : fz_bind_null(b, fz_sql_type(FZ_TYPE_UNKNOWN));
        FZ_SOME(b, grid[i]);
    }
    for (size_t c = 0; c < cols; c++) {
        names[c] = fz_arena_printf(b->arena, "col%zu", c);
        FZ_SOME(b, names[c]);
        for (size_t r = 0; r < rows; r++) {
            column[r] = grid[r * cols + c];
        }
        FZ_RET(fz_bind_unify(b, "stack", column, rows, NULL));
        for (size_t r = 0; r < rows; r++) {
            grid[r * cols + c] = column[r];
        }
    }
    for (size_t r = 0; r < rows; r++) {
        structs[r] = fz_bind_struct(b, names, &grid[r * cols], cols);
        FZ_SOME(b, structs[r]);
    }
    return fz_bind_function(b, "array", structs, rows, list);
}

static enum fz_code json_tuple_list(fz_binder *b, const struct fz_expr **args, size_t n, const struct fz_expr **list) {
    if (n < 2) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                            "json_tuple takes a text and at least one name");
    }
    const char **names;
    const struct fz_expr **values, *one;
    FZ_ALLOC(b, names, const char *, n - 1);
    FZ_ALLOC(b, values, const struct fz_expr *, n - 1);
    for (size_t i = 1; i < n; i++) {
        const char *key;
        FZ_RET(fz_bind_literal_text(b, args[i], "name in json_tuple", &key));
        const char *path = fz_arena_printf(b->arena, "$['%s']", key);
        names[i - 1] = fz_arena_printf(b->arena, "c%zu", i - 1);
        FZ_SOME(b, path);
        FZ_SOME(b, names[i - 1]);
        const struct fz_expr *two[2] = {args[0], fz_bind_text(b, path)};
        FZ_SOME(b, two[1]);
        FZ_RET(fz_bind_function(b, "get_json_object", two, 2, &values[i - 1]));
    }
    one = fz_bind_struct(b, names, values, n - 1);
    FZ_SOME(b, one);
    return fz_bind_function(b, "array", &one, 1, list);
}

enum fz_code fz_bind_generator(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *call, bool outer,
                               const char *qualifier, const char **aliases, size_t n_aliases, struct fz_sql_rel **out,
                               struct fz_sql_col **cols, size_t *n_cols) {
    const char *name = call->name.parts[call->name.n - 1];
    bool is_outer = outer || (strlen(name) > 6 && fz_strcasecmp(name + strlen(name) - 6, "_outer") == 0);
    bool position = strncasecmp(name, "pos", 3) == 0, fields = strncasecmp(name, "inline", 6) == 0;
    const struct fz_expr **args, *list;
    FZ_ALLOC(b, args, const struct fz_expr *, call->n_args);
    for (size_t i = 0; i < call->n_args; i++) {
        FZ_RET(fz_bind(b, s, call->args[i], &args[i]));
    }
    if (fz_strcasecmp(name, "stack") == 0) {
        FZ_RET(stack_list(b, args, call->n_args, &list));
        fields = true;
    } else if (fz_strcasecmp(name, "json_tuple") == 0) {
        FZ_RET(json_tuple_list(b, args, call->n_args, &list));
        fields = true;
    } else if (fz_bind_is_variant_explode(call) && call->n_args == 1) {
        FZ_RET(fz_bind_variant_entries(b, args[0], is_outer, &list));
        fields = true;
    } else if (call->n_args != 1) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION", "%s takes one argument", name);
    } else {
        list = args[0];
    }
    if (list->type->id == FZ_TYPE_MAP && !fields) {
        FZ_RET(fz_bind_function(b, "map_entries", args, 1, &list));
        fields = true;
    } else if (list->type->id != FZ_TYPE_LIST || (fields && list->type->fields[0].type->id != FZ_TYPE_STRUCT)) {
        return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "%s does not take %s", name,
                                  fz_sql_type_text(b->arena, list->type));
    }
    struct fz_sql_rel *u = fz_bind_rel(b, FZ_REL_UNNEST);
    FZ_SOME(b, u);
    FZ_ALLOC(b, u->cells, const struct fz_expr *, 1);
    u->cells[0] = list;
    u->with_position = position;
    u->all = is_outer; // the caller joins with LEFT JOIN
    const struct fz_type *element = list->type->fields[0].type;
    const struct fz_expr *value = fz_expr_column(b->arena, u->relation, position ? 2 : 1, "col", element,
                                                 is_outer || !list->type->fields[0].required);
    FZ_SOME(b, value);
    size_t n = (position ? 1 : 0) + (fields ? element->n_fields : 1), at = 0;
    if (n_aliases > 0 && n_aliases != n) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "UDTF_ALIAS_NUMBER_MISMATCH",
                            "The number of aliases (%zu) does not match the number of columns (%zu) of %s", n_aliases,
                            n, name);
    }
    FZ_ALLOC(b, *cols, struct fz_sql_col, n);
    if (position) {
        const struct fz_expr *pos = fz_expr_column(b->arena, u->relation, 1, "pos", fz_sql_type(FZ_TYPE_INT), is_outer);
        FZ_SOME(b, pos);
        (*cols)[at++] = (struct fz_sql_col){.name = "pos", .expr = pos};
    }
    for (size_t i = 0; fields && i < element->n_fields; i++) {
        const struct fz_expr *f = fz_bind_field_ix(b, value, i);
        FZ_SOME(b, f);
        (*cols)[at++] = (struct fz_sql_col){.name = element->fields[i].name, .expr = f};
    }
    if (!fields) {
        (*cols)[at++] = (struct fz_sql_col){.name = "col", .expr = value};
    }
    for (size_t i = 0; i < n; i++) {
        (*cols)[i].name = n_aliases > 0 ? aliases[i] : (*cols)[i].name;
        (*cols)[i].qualifier = qualifier;
    }
    *n_cols = n;
    *out = u;
    return FZ_OK;
}

static enum fz_code lateral_view(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                                 struct fz_sql_rel **out) {
    struct fz_sql_rel *left = NULL, *right;
    struct fz_sql_col *cols;
    size_t n;
    if (rel->left != NULL) {
        FZ_RET(fz_bind_from(b, s, rel->left, &left));
    }
    if (!fz_bind_is_generator(rel->call)) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "UNSUPPORTED_GENERATOR.NOT_GENERATOR",
                            "LATERAL VIEW needs a generator such as explode");
    }
    FZ_RET(fz_bind_generator(b, s, rel->call, rel->outer, rel->alias, rel->column_aliases, rel->n_column_aliases,
                             &right, &cols, &n));
    for (size_t i = 0; i < n; i++) {
        FZ_RET(fz_scope_add(b, s, cols[i]));
    }
    right->lateral = true;
    if (left == NULL) {
        *out = right;
        return FZ_OK;
    }
    const struct fz_expr *on = fz_bind_bool(b, true);
    FZ_SOME(b, on);
    *out = fz_bind_join_rel(b, left, right, right->all ? "LEFT JOIN" : "JOIN", on);
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code table_function(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                                   struct fz_sql_rel **out) {
    const char *name = rel->call->name.parts[rel->call->name.n - 1];
    if (fz_strcasecmp(name, "range") == 0) {
        return bind_range(b, s, rel, out);
    }
    if (fz_bind_is_generator(rel->call) || fz_bind_is_variant_explode(rel->call)) {
        struct fz_sql_col *cols;
        size_t n;
        struct fz_sql_scope none = {.outer = s->outer};
        FZ_RET(fz_bind_generator(b, rel->lateral ? s : &none, rel->call, false, rel->alias, rel->column_aliases,
                                 rel->n_column_aliases, out, &cols, &n));
        (*out)->lateral = true;
        for (size_t i = 0; i < n; i++) {
            FZ_RET(fz_scope_add(b, s, cols[i]));
        }
        return FZ_OK;
    }
    return fz_fail_cond(b->err, FZ_NOT_FOUND, "UNRESOLVABLE_TABLE_VALUED_FUNCTION",
                        "Could not resolve `%s` to a table-valued function", name);
}

static enum fz_code sampled(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                            struct fz_sql_rel **out) {
    if (rel->sample_percent == NULL && rel->sample_rows == NULL) {
        return FZ_OK;
    }
    // a block around it, whose columns keep their numbers: SELECT * FROM rel [LIMIT n | WHERE random() < p]
    struct fz_sql_rel *leaf = *out;
    struct fz_sql_scope empty = {.outer = s->outer};
    const struct fz_expr *v;
    FZ_RET(fz_bind(b, &empty, rel->sample_percent ? rel->sample_percent : rel->sample_rows, &v));
    if (leaf->kind == FZ_REL_JOIN) {
        return fz_fail(b->err, FZ_UNSUPPORTED, "TABLESAMPLE over a join is not supported: put it behind a table");
    }
    if (rel->sample_percent != NULL) {
        leaf->sample = fz_bind_cast(b, v, fz_sql_type(FZ_TYPE_DOUBLE));
        FZ_SOME(b, leaf->sample);
    } else {
        leaf->limit = v;
    }
    return FZ_OK;
}

static enum fz_code bind_from_kind(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel,
                                   struct fz_sql_rel **out) {
    struct fz_sql_query *q;
    switch (rel->kind) {
    case FZ_AST_TABLE:
    case FZ_AST_FILE:
        FZ_RET(bind_table(b, s, rel, out));
        return sampled(b, s, rel, out);
    case FZ_AST_DERIVED:
        FZ_RET(fz_bind_subquery(b, rel->lateral ? s : s->outer, rel->query, &q));
        FZ_RET(query_rel(b, s, q, rel->alias, NULL, rel->column_aliases, rel->n_column_aliases, rel->lateral, out));
        return sampled(b, s, rel, out);
    case FZ_AST_JOIN:
        return bind_join(b, s, rel, out);
    case FZ_AST_VALUES:
        return bind_values(b, s, rel, out);
    case FZ_AST_FUNCTION:
        return table_function(b, s, rel, out);
    case FZ_AST_LATERAL_VIEW:
        return lateral_view(b, s, rel, out);
    case FZ_AST_PIVOT:
        return fz_bind_pivot(b, s, rel, out);
    case FZ_AST_UNPIVOT:
        return fz_bind_unpivot(b, s, rel, out);
    }
    return fz_fail(b->err, FZ_BUG, "unknown relation kind %d", (int)rel->kind);
}

enum fz_code fz_bind_from(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_rel *rel, struct fz_sql_rel **out) {
    if (++b->depth > FZ_BIND_MAX_DEPTH) {
        b->depth--;
        return fz_fail(b->err, FZ_LIMIT, "FROM is nested deeper than %d levels", FZ_BIND_MAX_DEPTH);
    }
    enum fz_code rc = b->next_relation > FZ_BIND_MAX_RELATIONS ? too_many(b) : bind_from_kind(b, s, rel, out);
    if (rc != FZ_OK) {
        fz_err_at(b->err, rel->pos.line, rel->pos.column);
    }
    b->depth--;
    return rc;
}
