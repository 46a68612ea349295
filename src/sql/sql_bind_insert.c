// INSERT INTO, INSERT OVERWRITE, REPLACE WHERE: by position, by column list, BY NAME, with static partitions. The bound query gives all
// target columns in table order, cast by store assignment.
#include "sql/sql_bind_priv.h"

struct insert {
    fz_binder b;
    const struct fz_ast_stmt *stmt;
    struct fz_bound_insert *out;
    struct fz_sql_query *input;
    size_t *input_of; // per target column: input column + 1, 0 none
    const struct fz_expr **fixed; // per target column: value of a static partition, or NULL
    bool by_name;
};

static int column_ix(const struct fz_sql_table *t, const char *name) {
    for (size_t i = 0; i < t->n_fields; i++) {
        if (fz_strcasecmp(t->fields[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static enum fz_code unknown_column(struct insert *c, const struct fz_ast_name *name) {
    struct fz_sql_scope s = {0};
    for (size_t i = 0; i < c->out->target.n_fields; i++) {
        const struct fz_field *f = &c->out->target.fields[i];
        const struct fz_expr *e = fz_expr_column(c->b.arena, 0, f->id, f->name, f->type, !f->required);
        FZ_SOME(&c->b, e);
        FZ_RET(fz_scope_add(&c->b, &s, (struct fz_sql_col){.name = f->name, .expr = e}));
    }
    return fz_bind_unresolved(&c->b, &s, name);
}

static enum fz_code bind_target(struct insert *c) {
    fz_binder *b = &c->b;
    struct fz_ast_rel rel = {.kind = FZ_AST_TABLE, .pos = c->stmt->name.pos, .name = c->stmt->name};
    struct fz_ast_query *view = NULL;
    const char **columns = NULL;
    enum fz_code rc = b->env->resolve(b->env->ctx, b->arena, &rel, &c->out->target, &view, &columns, b->err);
    if (rc != FZ_OK) {
        fz_err_at(b->err, rel.pos.line, rel.pos.column);
        return rc;
    }
    if (view != NULL || c->out->target.is_view || !c->out->target.is_iceberg_table) {
        return fz_fail_cond(b->err, FZ_UNSUPPORTED, "UNSUPPORTED_INSERT.RDD_BASED",
                            "`%s` is not a table that takes rows", rel.name.parts[rel.name.n - 1]);
    }
    return FZ_OK;
}

// The keyword DEFAULT among the VALUES becomes the column's default.
static enum fz_code replace_defaults(struct insert *c, const struct fz_ast_query *q, const struct fz_ast_query **out) {
    fz_binder *b = &c->b;
    *out = q;
    if (q->kind != FZ_AST_QUERY_VALUES || q->values == NULL || q->values->kind != FZ_AST_VALUES) {
        return FZ_OK;
    }
    const struct fz_ast_rel *v = q->values;
    bool any = false;
    for (size_t i = 0; i < v->n_rows; i++) {
        for (size_t j = 0; j < v->n_cols; j++) {
            any |= v->rows[i][j]->kind == FZ_AST_DEFAULT;
        }
    }
    if (!any) {
        return FZ_OK;
    }
    struct fz_ast_query *copy = fz_arena_memdup(b->arena, q, sizeof *q);
    struct fz_ast_rel *rel = fz_arena_memdup(b->arena, v, sizeof *v);
    struct fz_ast_expr ***rows;
    FZ_ALLOC(b, rows, struct fz_ast_expr **, v->n_rows);
    if (copy == NULL || rel == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    copy->values = rel;
    rel->rows = rows;
    for (size_t i = 0; i < v->n_rows; i++) {
        FZ_ALLOC(b, rows[i], struct fz_ast_expr *, v->n_cols);
        for (size_t j = 0; j < v->n_cols; j++) {
            rows[i][j] = v->rows[i][j];
            if (rows[i][j]->kind != FZ_AST_DEFAULT) {
                continue;
            }
            size_t ix = j;
            for (size_t k = 0; c->stmt->n_columns > 0 && j < c->stmt->n_columns && k < c->out->target.n_fields; k++) {
                ix = fz_strcasecmp(c->out->target.fields[k].name, c->stmt->columns[j]) == 0 ? k : ix;
            }
            if (ix >= c->out->target.n_fields) {
                continue;
            }
            const struct fz_field *f = &c->out->target.fields[ix];
            if (f->required && f->write_default == NULL) {
                return fz_fail_cond(
                    b->err, FZ_INVALID_ARG, "NO_DEFAULT_COLUMN_VALUE_AVAILABLE",
                    "Can't determine the default value for `%s` since it is not nullable and it has no default value",
                    f->name);
            }
            struct fz_ast_expr *lit = fz_arena_memdup(b->arena, rows[i][j], sizeof *lit);
            struct fz_value null = fz_value_null(fz_sql_type(FZ_TYPE_UNKNOWN));
            FZ_SOME(b, lit);
            lit->kind = FZ_AST_LITERAL;
            lit->literal = f->write_default ? f->write_default : fz_value_copy(b->arena, &null);
            FZ_SOME(b, lit->literal);
            rows[i][j] = lit;
        }
    }
    *out = copy;
    return FZ_OK;
}

static enum fz_code bind_partition(struct insert *c) {
    fz_binder *b = &c->b;
    const struct fz_sql_table *t = &c->out->target;
    struct fz_sql_scope none = {.no_aggregates = true, .no_windows = true, .clause = "PARTITION"};
    for (size_t i = 0; i < c->stmt->n_partition; i++) {
        const struct fz_ast_name *name = &c->stmt->partition[i].column;
        int ix = column_ix(t, name->parts[name->n - 1]);
        bool is_partition = false;
        for (size_t k = 0; ix >= 0 && k < t->n_partition_ids; k++) {
            is_partition |= t->partition_ids[k] == t->fields[ix].id;
        }
        if (!is_partition) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "NON_PARTITION_COLUMN",
                                "PARTITION clause cannot contain the non-partition column `%s`",
                                name->parts[name->n - 1]);
        }
        bool again = false;
        for (size_t k = 0; k < i; k++) {
            const struct fz_ast_name *other = &c->stmt->partition[k].column;
            again |= column_ix(t, other->parts[other->n - 1]) == ix;
        }
        if (again) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "DUPLICATE_KEY", "Found duplicate keys `%s` in PARTITION",
                                name->parts[name->n - 1]);
        }
        if (c->stmt->partition[i].value == NULL) {
            continue; // dynamic
        }
        const struct fz_expr *v;
        FZ_RET(fz_bind(b, &none, c->stmt->partition[i].value, &v));
        v = fz_sql_is_null(v->type) ? fz_bind_null(b, t->fields[ix].type) : v;
        FZ_SOME(b, v);
        // a static partition value is cast, whatever its type
        FZ_RET(fz_bind_cast_checked(b, v, t->fields[ix].type, FZ_CAST_ANSI, &c->fixed[ix]));
    }
    return FZ_OK;
}

static enum fz_code arity(struct insert *c, size_t have, size_t want) {
    return fz_bind_type_error(&c->b,
                              have < want ? "INSERT_COLUMN_ARITY_MISMATCH.NOT_ENOUGH_DATA_COLUMNS"
                                          : "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS",
                              "Cannot write to `%s`: the table takes %zu column(s), the query gives %zu",
                              c->out->target.name ? c->out->target.name : "?", want, have);
}

static enum fz_code by_list(struct insert *c) { // INSERT INTO t (a, b)
    fz_binder *b = &c->b;
    const struct fz_sql_table *t = &c->out->target;
    for (size_t i = 0; i < c->stmt->n_columns; i++) {
        int ix = column_ix(t, c->stmt->columns[i]);
        if (ix < 0) {
            const char *parts[1] = {c->stmt->columns[i]};
            struct fz_ast_name name = {.parts = parts, .n = 1, .pos = c->stmt->pos};
            return unknown_column(c, &name);
        }
        if (c->input_of[ix] > 0 || c->fixed[ix] != NULL) {
            return fz_fail_cond(b->err, FZ_EXISTS, "COLUMN_ALREADY_EXISTS", "The column `%s` is listed twice",
                                c->stmt->columns[i]);
        }
        c->input_of[ix] = i + 1;
    }
    return c->input->n_columns == c->stmt->n_columns ? FZ_OK : arity(c, c->input->n_columns, c->stmt->n_columns);
}

static enum fz_code by_names(struct insert *c) {
    const struct fz_sql_table *t = &c->out->target;
    c->by_name = true;
    for (size_t i = 0; i < c->input->n_columns; i++) {
        int ix = column_ix(t, c->input->columns[i].name);
        if (ix < 0 || c->fixed[ix] != NULL) {
            return fz_bind_type_error(&c->b, "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS",
                                      "Cannot write extra columns `%s`", c->input->columns[i].name);
        }
        if (c->input_of[ix] > 0) {
            return fz_fail_cond(c->b.err, FZ_INVALID_ARG, "INCOMPATIBLE_DATA_FOR_TABLE.AMBIGUOUS_COLUMN_NAME",
                                "The input has several columns named `%s`", c->input->columns[i].name);
        }
        c->input_of[ix] = i + 1;
    }
    return FZ_OK;
}

static enum fz_code by_position(struct insert *c) {
    const struct fz_sql_table *t = &c->out->target;
    size_t want = 0;
    for (size_t i = 0; i < t->n_fields; i++) {
        if (c->fixed[i] == NULL) {
            c->input_of[i] = ++want;
        }
    }
    return c->input->n_columns == want ? FZ_OK : arity(c, c->input->n_columns, want);
}

static const struct fz_expr *column_value(fz_binder *b, const struct fz_expr *unused, size_t i, void *ctx) {
    struct insert *c = ctx;
    (void)unused;
    (void)b;
    return c->fixed[i];
}

static enum fz_code build(struct insert *c) {
    fz_binder *b = &c->b;
    const struct fz_sql_table *t = &c->out->target;
    // the wrapper block numbers its leaf next; its columns are named here
    int32_t leaf = b->next_relation;
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct fz_field *f = &t->fields[i];
        const struct fz_expr *v = c->fixed[i];
        if (v == NULL && c->input_of[i] > 0) {
            const struct fz_field *in = &c->input->columns[c->input_of[i] - 1];
            v = fz_expr_column(b->arena, leaf, (int32_t)c->input_of[i], in->name, in->type, !in->required);
        } else if (v == NULL) {
            if (f->required && f->write_default == NULL) {
                return fz_bind_type_error(b, "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA",
                                          "Cannot find data for the output column `%s`", f->name);
            }
            v = fz_bind_default(b, f);
        }
        FZ_SOME(b, v);
        FZ_RET(fz_bind_store(b, v, f, c->by_name, &c->fixed[i]));
    }
    return fz_bind_query_cast(b, c->input, column_value, c, t->fields, t->n_fields, &c->out->query);
}

static enum fz_code bind_overwrite(struct insert *c) {
    fz_binder *b = &c->b;
    const struct fz_sql_table *t = &c->out->target;
    c->out->overwrite = c->stmt->overwrite || c->stmt->replace_where != NULL;
    struct fz_sql_scope s = {.no_aggregates = true, .no_windows = true, .clause = "REPLACE WHERE"};
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct fz_field *f = &t->fields[i];
        const struct fz_expr *e = fz_expr_column(b->arena, 0, f->id, f->name, f->type, !f->required);
        FZ_SOME(b, e);
        FZ_RET(fz_scope_add(b, &s, (struct fz_sql_col){.name = f->name, .expr = e}));
        if (c->fixed[i] != NULL && c->stmt->overwrite) {
            const struct fz_expr *eq;
            FZ_RET(fz_bind_compare(b, "<=>", e, c->fixed[i], &eq));
            c->out->overwrite_filter = fz_expr_and(b->arena, c->out->overwrite_filter, eq);
            FZ_SOME(b, c->out->overwrite_filter);
        }
    }
    if (c->stmt->replace_where == NULL) {
        return FZ_OK;
    }
    FZ_RET(fz_bind_boolean(b, &s, c->stmt->replace_where, "REPLACE WHERE", &c->out->overwrite_filter));
    // in the form that pruning reads
    const struct fz_expr *parts[64], *all = NULL;
    size_t n = fz_expr_conjuncts(c->out->overwrite_filter, parts, 64);
    for (size_t i = 0; i < n && i < 64; i++) {
        const struct fz_expr *p = fz_sql_prune_form(b->arena, parts[i]);
        all = fz_expr_and(b->arena, all, p->kind == FZ_EXPR_STARTS_WITH ? parts[i] : p);
        FZ_SOME(b, all);
    }
    if (n <= 64) {
        c->out->overwrite_filter = all;
    }
    return FZ_OK;
}

static enum fz_code push_ctes(struct insert *c) {
    for (size_t i = 0; i < c->stmt->n_ctes; i++) {
        struct fz_sql_cte_frame *f = FZ_ARENA_NEW(c->b.arena, struct fz_sql_cte_frame);
        FZ_SOME(&c->b, f);
        f->outer = c->b.ctes;
        f->cte = &c->stmt->ctes[i];
        f->recursive = c->stmt->recursive;
        c->b.ctes = f;
    }
    return FZ_OK;
}

enum fz_code fz_sql_bind_insert(struct fz_arena *arena, const struct fz_sql_env *env, const struct fz_ast_stmt *stmt,
                                struct fz_bound_insert **out, struct fz_err *err) {
    struct insert c = {.b = {.arena = arena, .env = env, .err = err, .next_relation = 2}, .stmt = stmt};
    fz_binder *b = &c.b;
    FZ_ALLOC(b, c.out, struct fz_bound_insert, 1);
    FZ_RET(push_ctes(&c));
    FZ_RET(bind_target(&c));
    FZ_ALLOC(b, c.input_of, size_t, c.out->target.n_fields);
    FZ_ALLOC(b, c.fixed, const struct fz_expr *, c.out->target.n_fields);
    FZ_RET(bind_partition(&c));
    FZ_RET(bind_overwrite(&c));
    const struct fz_ast_query *query;
    FZ_RET(replace_defaults(&c, stmt->query, &query));
    FZ_RET(fz_bind_subquery(b, NULL, query, &c.input));
    FZ_RET(stmt->by_name ? by_names(&c) : stmt->n_columns > 0 ? by_list(&c) : by_position(&c));
    FZ_RET(build(&c));
    FZ_RET(fz_bind_finish(b, &c.out->query->scans, &c.out->query->n_scans));
    c.out->query->kernels = b->kernels;
    c.out->query->n_kernels = b->n_kernels;
    *out = c.out;
    return FZ_OK;
}
