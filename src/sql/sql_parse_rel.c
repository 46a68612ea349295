// What stands in FROM: tables, subqueries, VALUES, table functions, joins, LATERAL VIEW, PIVOT, UNPIVOT, samples.
#include "sql/sql_parse.h"

static struct fz_ast_rel *new_rel(struct sql_parser *p, enum fz_ast_rel_kind kind, struct fz_pos pos) {
    struct fz_ast_rel *r = SQL_NODE(p, struct fz_ast_rel);
    r->kind = kind;
    r->pos = pos;
    fz_sql_end_pos(p, &r->pos);
    return r;
}

void fz_sql_alias(struct sql_parser *p, struct fz_ast_rel *rel) {
    if (fz_sql_accept(p, "AS")) {
        rel->alias = fz_sql_ident(p);
    } else if (fz_sql_is_alias(p)) {
        rel->alias = fz_sql_ident(p);
    } else {
        return;
    }
    if (fz_sql_is(p, 0, "(") && fz_sql_is_ident(p, 1)) {
        p->at++;
        rel->column_aliases = fz_sql_ident_list(p, &rel->n_column_aliases);
        fz_sql_expect(p, ")");
    }
}

static struct fz_ast_expr *version(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    const struct sql_token *t = fz_sql_peek(p, 0);
    if (t->kind == SQL_STRING) {
        return fz_sql_string_node(p, pos, fz_sql_string_bytes(p));
    }
    if (t->kind != SQL_NUMBER) {
        fz_sql_syntax(p, "a snapshot id or the name of a branch or tag");
    }
    return fz_sql_literal_node(p, pos, fz_sql_number(p, false));
}

static void temporal(struct sql_parser *p, struct fz_ast_rel *rel) {
    size_t ahead = fz_sql_is(p, 0, "FOR") ? 1 : 0;
    if (!fz_sql_is(p, ahead + 1, "AS") || !fz_sql_is(p, ahead + 2, "OF")) {
        return;
    }
    if (fz_sql_is(p, ahead, "VERSION") || fz_sql_is(p, ahead, "SYSTEM_VERSION")) {
        p->at += ahead + 3;
        rel->version_as_of = version(p);
    } else if (fz_sql_is(p, ahead, "TIMESTAMP") || fz_sql_is(p, ahead, "SYSTEM_TIME")) {
        p->at += ahead + 3;
        rel->timestamp_as_of = fz_sql_value_expr(p);
    }
}

static void sample(struct sql_parser *p, struct fz_ast_rel *rel) {
    if (!fz_sql_accept(p, "TABLESAMPLE")) {
        return;
    }
    fz_sql_expect(p, "(");
    if (fz_sql_is(p, 0, "BUCKET")) {
        fz_sql_unsupported(p, "TABLESAMPLE (BUCKET …)");
        return;
    }
    struct fz_ast_expr *amount = fz_sql_expr(p);
    if (fz_sql_accept(p, "PERCENT")) {
        rel->sample_percent = amount;
    } else {
        fz_sql_expect(p, "ROWS");
        rel->sample_rows = amount;
    }
    fz_sql_expect(p, ")");
    if (fz_sql_accept(p, "REPEATABLE")) {
        fz_sql_expect(p, "(");
        fz_sql_integer(p);
        fz_sql_expect(p, ")");
    }
}

// parquet.`path`: a file when the format is one of ours and the second part was quoted and looks like a path.
static bool is_file(struct sql_parser *p, const struct fz_ast_name *name) {
    static const char *const formats[] = {"parquet", "csv", "json", "jsonl", "avro", "orc", "text", "iceberg"};
    if (p->failed || name->n != 2 || p->tokens[p->at - 1].kind != SQL_QUOTED ||
        strpbrk(name->parts[1], "/.*") == NULL) {
        return false;
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        if (fz_strcasecmp(name->parts[0], formats[i]) == 0) {
            return true;
        }
    }
    return false;
}

struct fz_ast_rel *fz_sql_values(struct sql_parser *p) {
    struct fz_ast_rel *rel = new_rel(p, FZ_AST_VALUES, fz_sql_pos(p));
    size_t cap = 0;
    do {
        struct fz_ast_expr *e;
        struct fz_pos pos = fz_sql_pos(p);
        if (fz_sql_is(p, 0, "(") && fz_sql_is(p, 1, "DEFAULT")) { // DEFAULT is an expression only as an item of a row
            e = fz_sql_expr_new(p, FZ_AST_ROW, pos);
            size_t items = 0;
            p->at++;
            do {
                fz_sql_add_arg(p, e, &items, fz_sql_assigned(p));
            } while (fz_sql_accept(p, ","));
            fz_sql_expect(p, ")");
        } else if (fz_sql_is(p, 0, "(") && !fz_sql_starts_query(p, 1)) {
            size_t before = p->at, items = 0;
            e = fz_sql_expr_new(p, FZ_AST_ROW, pos);
            p->at++;
            do {
                fz_sql_add_arg(p, e, &items, fz_sql_assigned(p));
            } while (fz_sql_accept(p, ","));
            if (!p->failed &&
                (!fz_sql_accept(p, ")") ||
                 !(fz_sql_is(p, 0, ",") || fz_sql_is(p, 0, ")") || fz_sql_is(p, 0, ";") || fz_sql_is(p, 0, "AS") ||
                   fz_sql_is_ident(p, 0) || fz_sql_peek(p, 0)->kind == SQL_END))) {
                p->at = before; // (1 + 2) * 3, or names inside
                e = fz_sql_expr(p);
            }
        } else {
            e = fz_sql_expr(p);
        }
        struct fz_ast_expr ***row = SQL_PUSH(p, rel->rows, rel->n_rows, cap);
        if (p->failed) {
            break;
        }
        size_t n = e->kind == FZ_AST_ROW ? e->n_args : 1;
        if (e->kind == FZ_AST_ROW) {
            *row = e->args;
        } else {
            *row = SQL_NODE(p, struct fz_ast_expr *);
            (*row)[0] = e;
        }
        if (rel->n_rows > 1 && n != rel->n_cols) {
            fz_sql_fail(p, FZ_SCHEMA_MISMATCH, "INVALID_INLINE_TABLE.NUM_COLUMNS_MISMATCH",
                        "VALUES: expected %zu columns but found %zu in row %zu", rel->n_cols, n, rel->n_rows);
        }
        rel->n_cols = n;
    } while (fz_sql_accept(p, ","));
    fz_sql_end_pos(p, &rel->pos);
    return rel;
}

static struct fz_ast_rel *derived(struct sql_parser *p, struct fz_ast_query *query, struct fz_pos pos) {
    struct fz_ast_rel *rel = new_rel(p, FZ_AST_DERIVED, pos);
    rel->query = query;
    return rel;
}

// ( … ): a query or a relation. A parenthesis may open either, so look through further ones.
static struct fz_ast_rel *parenthesized(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    struct fz_ast_rel *rel;
    fz_sql_expect(p, "(");
    if (fz_sql_starts_query(p, 0)) {
        struct fz_ast_query *query = fz_sql_query(p);
        fz_sql_expect(p, ")");
        rel = derived(p, query, pos);
    } else {
        rel = fz_sql_rel(p);
        fz_sql_expect(p, ")");
        if (rel->kind == FZ_AST_JOIN || rel->alias != NULL) {
            if (fz_sql_is(p, 0, "AS") || fz_sql_is_alias(p)) { // (a JOIN b) x: a subquery with that name
                struct fz_ast_query *query = SQL_NODE(p, struct fz_ast_query);
                size_t cap = 0, items_cap = 0;
                struct fz_ast_rel **slot = SQL_PUSH(p, query->from, query->n_from, cap);
                *slot = rel;
                struct fz_ast_select_item *item = SQL_PUSH(p, query->items, query->n_items, items_cap);
                item->expr = fz_sql_expr_new(p, FZ_AST_STAR, pos);
                query->pos = pos;
                rel = derived(p, query, pos);
            }
            sample(p, rel);
            if (rel->kind == FZ_AST_DERIVED) {
                fz_sql_alias(p, rel);
            }
            return rel;
        }
    }
    sample(p, rel);
    fz_sql_alias(p, rel);
    fz_sql_end_pos(p, &rel->pos);
    return rel;
}

static struct fz_ast_rel *primary_rel(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    struct fz_ast_rel *rel;
    if (fz_sql_is(p, 0, "(")) {
        return parenthesized(p);
    }
    if (fz_sql_is(p, 0, "VALUES") && !fz_sql_is(p, 1, ".") && !fz_sql_is(p, 1, ",") && !fz_sql_is(p, 1, ")") &&
        fz_sql_peek(p, 1)->kind != SQL_END) {
        p->at++;
        rel = fz_sql_values(p);
        fz_sql_alias(p, rel);
        return rel;
    }
    if (fz_sql_is(p, 0, "STREAM") && (fz_sql_is(p, 1, "(") || fz_sql_is_ident(p, 1))) {
        fz_sql_unsupported(p, "STREAM");
    }
    if (fz_sql_peek(p, 0)->kind == SQL_WORD && !fz_sql_is_alias(p) && !fz_sql_is(p, 1, ".") &&
        !fz_sql_is(p, 0, "VERSION") && !fz_sql_is(p, 0, "TIMESTAMP")) {
        fz_sql_syntax(p, "a table");
    }
    struct fz_ast_name name = fz_sql_object_name(p);
    if (fz_sql_is(p, 0, "(") && !p->failed) {
        rel = new_rel(p, FZ_AST_FUNCTION, pos);
        rel->call = fz_sql_call(p, name, pos);
        fz_sql_alias(p, rel);
        return rel;
    }
    rel = new_rel(p, is_file(p, &name) ? FZ_AST_FILE : FZ_AST_TABLE, pos);
    rel->name = name;
    temporal(p, rel);
    if (fz_sql_is(p, 0, "WITH") && fz_sql_is(p, 1, "(")) {
        p->at++;
        rel->options = fz_sql_properties(p, &rel->n_options);
    }
    sample(p, rel);
    fz_sql_alias(p, rel);
    fz_sql_end_pos(p, &rel->pos);
    return rel;
}

// ---- joins ----

static const char *join_kind(struct sql_parser *p) {
    if (fz_sql_accept2(p, "INNER", "JOIN") || fz_sql_accept(p, "JOIN")) {
        return "INNER";
    }
    if (fz_sql_accept2(p, "CROSS", "JOIN")) {
        return "CROSS";
    }
    static const char *const sides[] = {"LEFT", "RIGHT", "FULL"};
    for (size_t i = 0; i < 3; i++) {
        if (!fz_sql_is(p, 0, sides[i])) {
            continue;
        }
        bool left = i == 0, semi = left && fz_sql_is(p, 1, "SEMI"), anti = left && fz_sql_is(p, 1, "ANTI");
        size_t outer = semi || anti || fz_sql_is(p, 1, "OUTER") ? 1 : 0;
        if (!fz_sql_is(p, 1 + outer, "JOIN")) {
            return NULL;
        }
        p->at += 2 + outer;
        return semi ? "LEFT SEMI" : anti ? "LEFT ANTI" : sides[i];
    }
    if (fz_sql_accept2(p, "SEMI", "JOIN")) {
        return "LEFT SEMI";
    }
    return fz_sql_accept2(p, "ANTI", "JOIN") ? "LEFT ANTI" : NULL;
}

struct fz_ast_rel *fz_sql_join(struct sql_parser *p, struct fz_ast_rel *left, bool *any) {
    size_t first = p->at;
    bool natural = fz_sql_accept(p, "NATURAL");
    const char *kind = join_kind(p);
    *any = kind != NULL;
    if (kind == NULL) {
        p->at = first;
        return left;
    }
    struct fz_ast_rel *join = new_rel(p, FZ_AST_JOIN, left->pos);
    join->join = kind;
    join->natural = natural;
    join->left = left;
    bool lateral = fz_sql_accept(p, "LATERAL");
    join->right = primary_rel(p);
    join->right->lateral = lateral;
    if (natural) {
        return join;
    }
    if (fz_sql_accept(p, "ON")) {
        join->on = fz_sql_expr(p);
    } else if (fz_sql_accept2(p, "USING", "(")) {
        join->using_columns = fz_sql_ident_list(p, &join->n_using);
        fz_sql_expect(p, ")");
    }
    fz_sql_end_pos(p, &join->pos);
    return join;
}

static struct fz_ast_select_item *items_in(struct sql_parser *p, size_t *n) { // ( item [AS alias], … )
    struct fz_ast_select_item *items = NULL;
    size_t cap = 0;
    fz_sql_expect(p, "(");
    do {
        struct fz_ast_select_item item = fz_sql_select_item(p), *slot = SQL_PUSH(p, items, *n, cap);
        *slot = item;
    } while (fz_sql_accept(p, ","));
    fz_sql_expect(p, ")");
    return items;
}

static struct fz_ast_rel *pivot(struct sql_parser *p, struct fz_ast_rel *left) { // after PIVOT
    struct fz_ast_rel *rel = new_rel(p, FZ_AST_PIVOT, left->pos);
    size_t cap = 0;
    rel->left = left;
    fz_sql_expect(p, "(");
    do {
        struct fz_ast_select_item item = fz_sql_select_item(p),
                                  *slot = SQL_PUSH(p, rel->pivot_items, rel->n_pivot_items, cap);
        *slot = item;
    } while (fz_sql_accept(p, ","));
    fz_sql_expect(p, "FOR");
    rel->pivot_for = fz_sql_value_expr(p);
    fz_sql_expect(p, "IN");
    rel->pivot_values = items_in(p, &rel->n_pivot_values);
    fz_sql_expect(p, ")");
    fz_sql_alias(p, rel);
    return rel;
}

static struct fz_ast_expr *column_node(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    struct fz_ast_name name = fz_sql_name(p);
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_NAME, pos);
    e->name = name;
    return e;
}

static struct fz_ast_rel *unpivot(struct sql_parser *p, struct fz_ast_rel *left) { // after UNPIVOT
    struct fz_ast_rel *rel = new_rel(p, FZ_AST_UNPIVOT, left->pos);
    size_t cap = 0;
    rel->left = left;
    rel->outer = fz_sql_accept2(p, "INCLUDE", "NULLS");
    if (!rel->outer) {
        fz_sql_accept2(p, "EXCLUDE", "NULLS");
    }
    fz_sql_expect(p, "(");
    bool several = fz_sql_accept(p, "(");
    do {
        struct fz_ast_expr *e = column_node(p);
        struct fz_ast_select_item *slot = SQL_PUSH(p, rel->pivot_items, rel->n_pivot_items, cap);
        slot->expr = e;
    } while (several && fz_sql_accept(p, ","));
    if (several) {
        fz_sql_expect(p, ")");
    }
    fz_sql_expect(p, "FOR");
    rel->pivot_for = column_node(p);
    fz_sql_expect(p, "IN");
    rel->pivot_values = items_in(p, &rel->n_pivot_values);
    fz_sql_expect(p, ")");
    fz_sql_alias(p, rel);
    return rel;
}

struct fz_ast_rel *fz_sql_rel(struct sql_parser *p) {
    if (!fz_sql_enter(p)) {
        p->depth--;
        return new_rel(p, FZ_AST_TABLE, fz_sql_pos(p));
    }
    bool lateral = fz_sql_is(p, 0, "LATERAL") && !fz_sql_is(p, 1, "VIEW");
    p->at += lateral;
    struct fz_ast_rel *rel = primary_rel(p);
    rel->lateral = lateral;
    bool any = true;
    for (int n = 0; any && !p->failed; n++) {
        if (n > SQL_MAX_CHAIN) {
            fz_sql_fail(p, FZ_SQL_SYNTAX, "FAILED_TO_PARSE_TOO_COMPLEX", "More than %d joins", SQL_MAX_CHAIN);
        } else if (fz_sql_is(p, 0, "PIVOT") && fz_sql_is(p, 1, "(")) {
            p->at++;
            rel = pivot(p, rel);
        } else if (fz_sql_accept(p, "UNPIVOT")) {
            rel = unpivot(p, rel);
        } else {
            rel = fz_sql_join(p, rel, &any);
        }
    }
    p->depth--;
    return rel;
}

static struct fz_ast_rel *lateral_view(struct sql_parser *p, struct fz_ast_rel *left) { // after LATERAL VIEW
    struct fz_ast_rel *rel = new_rel(p, FZ_AST_LATERAL_VIEW, left->pos);
    rel->left = left;
    rel->outer = fz_sql_accept(p, "OUTER");
    struct fz_pos pos = fz_sql_pos(p);
    struct fz_ast_name name = fz_sql_object_name(p);
    rel->call = fz_sql_call(p, name, pos);
    if (fz_sql_is_alias(p)) {
        rel->alias = fz_sql_ident(p);
    }
    if (fz_sql_accept(p, "AS") || fz_sql_is_alias(p)) {
        rel->column_aliases = fz_sql_ident_list(p, &rel->n_column_aliases);
    }
    fz_sql_end_pos(p, &rel->pos);
    return rel;
}

struct fz_ast_rel **fz_sql_from(struct sql_parser *p, size_t *n) {
    struct fz_ast_rel **items = NULL;
    size_t cap = 0;
    *n = 0;
    do {
        struct fz_ast_rel *rel = fz_sql_rel(p), **slot = SQL_PUSH(p, items, *n, cap);
        *slot = rel;
    } while (fz_sql_accept(p, ","));
    for (int views = 0; fz_sql_accept2(p, "LATERAL", "VIEW"); views++) {
        if (views > SQL_MAX_CHAIN / 10) {
            fz_sql_fail(p, FZ_SQL_SYNTAX, "FAILED_TO_PARSE_TOO_COMPLEX", "Too many LATERAL VIEW clauses");
            break;
        }
        struct fz_ast_rel *left = items[0];
        for (size_t i = 1; i < *n; i++) { // FROM a, b LATERAL VIEW: the view sees both
            struct fz_ast_rel *join = new_rel(p, FZ_AST_JOIN, left->pos);
            join->join = "CROSS";
            join->left = left;
            join->right = items[i];
            left = join;
        }
        *n = 1;
        items[0] = lateral_view(p, left);
    }
    return items;
}
