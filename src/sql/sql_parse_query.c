// Queries: WITH, set operations, SELECT with its clauses, FROM-first forms and pipe operators, ORDER BY / LIMIT around all of it.
#include "sql/sql_parse.h"

// Does a parenthesis here hold a whole query? What follows its end tells ((SELECT 1) UNION …) from ((SELECT 1) + 1).
static bool opens_query(const struct sql_parser *p, size_t ahead) {
    static const char *const followers[] = {")",        "UNION",      "INTERSECT", "EXCEPT", "MINUS",
                                            "SETMINUS", "ORDER",      "LIMIT",     "OFFSET", "SORT",
                                            "CLUSTER",  "DISTRIBUTE", "|>",        ";"};
    size_t first = ahead;
    while (fz_sql_is(p, ahead, "(")) {
        ahead++;
    }
    if (ahead - first > SQL_MAX_DEPTH || !fz_sql_starts_query(p, ahead)) {
        return false;
    }
    size_t i = first, depth = 0;
    do {
        depth += fz_sql_is(p, i, "(") ? 1u : 0u;
        depth -= fz_sql_is(p, i, ")") ? 1u : 0u;
        i++;
    } while (depth > 0 && fz_sql_peek(p, i)->kind != SQL_END);
    for (size_t k = 0; k < sizeof followers / sizeof followers[0]; k++) {
        if (fz_sql_is(p, i, followers[k])) {
            return true;
        }
    }
    return fz_sql_peek(p, i)->kind == SQL_END;
}

bool fz_sql_starts_query(const struct sql_parser *p, size_t ahead) {
    if (fz_sql_is(p, ahead, "(")) {
        return opens_query(p, ahead);
    }
    if (fz_sql_peek(p, ahead)->kind != SQL_WORD) {
        return false;
    }
    if (fz_sql_is(p, ahead, "SELECT")) {
        return !fz_sql_is(p, ahead + 1, ",") && !fz_sql_is(p, ahead + 1, ")") && !fz_sql_is(p, ahead + 1, ".");
    }
    if (fz_sql_is(p, ahead, "WITH")) {
        return fz_sql_is_ident(p, ahead + 1) &&
               (fz_sql_is(p, ahead + 2, "AS") || fz_sql_is(p, ahead + 2, "(") || fz_sql_is(p, ahead + 1, "RECURSIVE"));
    }
    if (fz_sql_is(p, ahead, "VALUES")) {
        const struct sql_token *t = fz_sql_peek(p, ahead + 1);
        return t->kind == SQL_NUMBER || t->kind == SQL_STRING || fz_sql_is(p, ahead + 1, "(") ||
               fz_sql_is(p, ahead + 1, "NULL") || t->kind == SQL_WORD;
    }
    if (fz_sql_is(p, ahead, "FROM") || fz_sql_is(p, ahead, "TABLE")) {
        return fz_sql_is_ident(p, ahead + 1) || (fz_sql_is(p, ahead, "FROM") && fz_sql_is(p, ahead + 1, "("));
    }
    return fz_sql_is(p, ahead, "MAP") && fz_sql_is(p, ahead + 1, "USING");
}

static struct fz_ast_query *new_query(struct sql_parser *p, enum fz_ast_query_kind kind, struct fz_pos pos) {
    struct fz_ast_query *q = SQL_NODE(p, struct fz_ast_query);
    q->kind = kind;
    q->pos = pos;
    return q;
}
static void add_star(struct sql_parser *p, struct fz_ast_query *q) {
    size_t cap = 0;
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_STAR, q->pos);
    q->items = NULL;
    q->n_items = 0;
    struct fz_ast_select_item *item = SQL_PUSH(p, q->items, q->n_items, cap);
    item->expr = e;
}
// SELECT * FROM (q)
static struct fz_ast_query *wrap(struct sql_parser *p, struct fz_ast_query *inner) {
    struct fz_ast_query *q = new_query(p, FZ_AST_SELECT, inner->pos);
    struct fz_ast_rel *rel = SQL_NODE(p, struct fz_ast_rel);
    size_t cap = 0;
    rel->kind = FZ_AST_DERIVED;
    rel->pos = inner->pos;
    rel->query = inner;
    struct fz_ast_rel **slot = SQL_PUSH(p, q->from, q->n_from, cap);
    *slot = rel;
    add_star(p, q);
    return q;
}

struct fz_ast_cte *fz_sql_ctes(struct sql_parser *p, size_t *n, bool *recursive) {
    struct fz_ast_cte *items = NULL;
    size_t cap = 0;
    *n = 0;
    *recursive = fz_sql_is(p, 0, "RECURSIVE") && fz_sql_is_ident(p, 1);
    p->at += *recursive;
    do {
        struct fz_ast_cte cte = {.pos = fz_sql_pos(p)};
        cte.name = fz_sql_ident(p);
        if (fz_sql_accept(p, "(")) {
            cte.columns = fz_sql_ident_list(p, &cte.n_columns);
            fz_sql_expect(p, ")");
        }
        if (fz_sql_accept2(p, "MAX", "RECURSION")) {
            fz_sql_accept(p, "LEVEL");
            fz_sql_integer(p);
        }
        fz_sql_accept(p, "AS");
        fz_sql_expect(p, "(");
        cte.query = fz_sql_query(p);
        fz_sql_expect(p, ")");
        struct fz_ast_cte *slot = SQL_PUSH(p, items, *n, cap);
        *slot = cte;
    } while (fz_sql_accept(p, ","));
    return items;
}

// ---- GROUP BY ----

struct sets {
    struct fz_ast_expr ***items;
    size_t *sizes;
    size_t n, cap, sizes_cap, n_sizes;
};
static void add_set(struct sql_parser *p, struct sets *s, struct fz_ast_expr **items, size_t n) {
    if (s->n >= SQL_MAX_GROUPS) {
        fz_sql_fail(p, FZ_SQL_SYNTAX, "GROUPING_SIZE_LIMIT_EXCEEDED", "More than %d grouping sets", SQL_MAX_GROUPS);
        return;
    }
    struct fz_ast_expr ***slot = SQL_PUSH(p, s->items, s->n, s->cap);
    *slot = items;
    size_t *size = SQL_PUSH(p, s->sizes, s->n_sizes, s->sizes_cap);
    *size = n;
}
static void add_product(struct sql_parser *p, struct sets *out, const struct sets *a, const struct sets *b) {
    for (size_t i = 0; i < a->n && !p->failed; i++) {
        for (size_t j = 0; j < b->n && !p->failed; j++) {
            size_t n = a->sizes[i] + b->sizes[j];
            struct fz_ast_expr **items = fz_sql_node(p, (n + 1) * sizeof *items);
            if (p->failed) {
                return;
            }
            for (size_t k = 0; k < n; k++) {
                items[k] = k < a->sizes[i] ? a->items[i][k] : b->items[j][k - a->sizes[i]];
            }
            add_set(p, out, items, n);
        }
    }
}
// ( ) or (a, b) or a
static void grouping_element(struct sql_parser *p, struct sets *out) {
    if (fz_sql_accept2(p, "(", ")")) {
        add_set(p, out, NULL, 0);
        return;
    }
    struct fz_ast_expr *e = fz_sql_expr(p);
    if (!p->failed && e->kind == FZ_AST_ROW) {
        add_set(p, out, e->args, e->n_args);
        return;
    }
    struct fz_ast_expr **one = SQL_NODE(p, struct fz_ast_expr *);
    *one = e;
    add_set(p, out, one, 1);
}
static void rollup_or_cube(struct sql_parser *p, const struct sets *elements, bool cube, struct sets *out) {
    if (cube && elements->n > 12) {
        fz_sql_fail(p, FZ_SQL_SYNTAX, "GROUPING_SIZE_LIMIT_EXCEEDED", "CUBE of more than 12 columns");
        return;
    }
    size_t n_sets = cube ? (size_t)1 << elements->n : elements->n + 1;
    for (size_t s = 0; s < n_sets && !p->failed; s++) {
        struct sets sum = {0};
        add_set(p, &sum, NULL, 0);
        for (size_t k = 0; k < elements->n; k++) {
            bool in = cube ? ((n_sets - 1 - s) >> (elements->n - 1 - k) & 1) != 0 : k < elements->n - s;
            if (in) {
                struct sets next = {0}, one = {.items = elements->items + k, .sizes = elements->sizes + k, .n = 1};
                add_product(p, &next, &sum, &one);
                sum = next;
            }
        }
        if (!p->failed) {
            add_set(p, out, sum.items[0], sum.sizes[0]);
        }
    }
}
// One item of the list: an expression, ROLLUP(…), CUBE(…) or GROUPING SETS(…). Returns whether it was one of the latter.
static bool grouping_item(struct sql_parser *p, struct sets *out) {
    bool rollup = fz_sql_is(p, 0, "ROLLUP") && fz_sql_is(p, 1, "("),
         cube = fz_sql_is(p, 0, "CUBE") && fz_sql_is(p, 1, "(");
    if (rollup || cube) {
        struct sets elements = {0};
        p->at += 2;
        do {
            grouping_element(p, &elements);
        } while (fz_sql_accept(p, ","));
        fz_sql_expect(p, ")");
        rollup_or_cube(p, &elements, cube, out);
        return true;
    }
    if (fz_sql_accept2(p, "GROUPING", "SETS")) {
        fz_sql_expect(p, "(");
        if (!fz_sql_enter(p)) {
            p->depth--;
            return true;
        }
        do {
            if (fz_sql_is(p, 0, "ROLLUP") || fz_sql_is(p, 0, "CUBE") || fz_sql_is(p, 0, "GROUPING")) {
                grouping_item(p, out);
            } else {
                grouping_element(p, out);
            }
        } while (fz_sql_accept(p, ","));
        p->depth--;
        fz_sql_expect(p, ")");
        return true;
    }
    struct fz_ast_expr **one = SQL_NODE(p, struct fz_ast_expr *);
    *one = fz_sql_expr(p);
    add_set(p, out, one, 1);
    return false;
}

static struct fz_ast_group *group_by(struct sql_parser *p) { // after GROUP BY
    struct fz_ast_group *g = SQL_NODE(p, struct fz_ast_group);
    struct sets sum = {0}, plain = {0};
    bool advanced = false;
    if (fz_sql_is(p, 0, "ALL") && !fz_sql_is(p, 1, ",") && !fz_sql_is(p, 1, ".") && !fz_sql_is(p, 1, "(")) {
        p->at++;
        g->kind = FZ_GROUP_ALL;
        return g;
    }
    add_set(p, &sum, NULL, 0);
    do {
        struct sets item = {0}, next = {0};
        bool special = grouping_item(p, &item);
        advanced = advanced || special;
        for (size_t i = 0; i < item.n && !special; i++) {
            add_set(p, &plain, item.items[i], item.sizes[i]);
        }
        add_product(p, &next, &sum, &item);
        sum = next;
    } while (fz_sql_accept(p, ",") && !p->failed);
    if (fz_sql_is(p, 0, "GROUPING") &&
        fz_sql_is(p, 1, "SETS")) { // GROUP BY a, b GROUPING SETS (…): the list only names the columns
        struct sets item = {0};
        grouping_item(p, &item);
        sum = item;
        advanced = true;
    } else if (fz_sql_accept2(p, "WITH", "ROLLUP") || fz_sql_is(p, 0, "WITH")) {
        bool cube = fz_sql_accept2(p, "WITH", "CUBE");
        struct sets item = {0};
        rollup_or_cube(p, &plain, cube, &item);
        sum = item;
        advanced = true;
    }
    g->kind = advanced ? FZ_GROUP_SETS : FZ_GROUP_PLAIN;
    g->sets = sum.items;
    g->set_sizes = sum.sizes;
    g->n_sets = sum.n;
    return g;
}

// ---- SELECT ----

static void windows(struct sql_parser *p, struct fz_ast_query *q) { // after WINDOW
    size_t cap = 0;
    do {
        const char *name = fz_sql_ident(p);
        fz_sql_expect(p, "AS");
        struct fz_ast_window *w = fz_sql_window(p);
        size_t i = q->n_windows;
        SQL_PUSH(p, q->windows, q->n_windows, cap);
        if (q->n_windows > i) {
            q->windows[i].name = name;
            q->windows[i].window = w;
        }
    } while (fz_sql_accept(p, ","));
}

static void select_list(struct sql_parser *p, struct fz_ast_query *q) {
    size_t cap = 0;
    q->distinct = fz_sql_accept(p, "DISTINCT");
    if (!q->distinct && fz_sql_is(p, 0, "ALL") && !fz_sql_is(p, 1, ",") && !fz_sql_is(p, 1, "(")) {
        p->at++;
    }
    if (fz_sql_is(p, 0, "TRANSFORM") && fz_sql_is(p, 1, "(")) {
        size_t i = 2;
        for (int depth = 1; depth > 0 && fz_sql_peek(p, i)->kind != SQL_END; i++) {
            depth += fz_sql_is(p, i, "(") ? 1 : fz_sql_is(p, i, ")") ? -1 : 0;
        }
        if (fz_sql_is(p, i, "USING")) {
            fz_sql_unsupported(p, "TRANSFORM … USING");
        }
    }
    do {
        struct fz_ast_select_item item = fz_sql_select_item(p), *slot = SQL_PUSH(p, q->items, q->n_items, cap);
        *slot = item;
    } while (fz_sql_accept(p, ","));
}

// SELECT … [FROM …] WHERE … ; `from` comes from a FROM in front of the SELECT.
struct fz_ast_query *fz_sql_query_body(struct sql_parser *p, struct fz_ast_rel **from, size_t n_from) {
    struct fz_ast_query *q = new_query(p, FZ_AST_SELECT, fz_sql_pos(p));
    fz_sql_expect(p, "SELECT");
    select_list(p, q);
    q->from = from;
    q->n_from = n_from;
    if (from == NULL && fz_sql_accept(p, "FROM")) {
        q->from = fz_sql_from(p, &q->n_from);
    }
    if (fz_sql_accept(p, "WHERE")) {
        q->where = fz_sql_expr(p);
    }
    if (fz_sql_accept2(p, "GROUP", "BY")) {
        q->group_by = group_by(p);
    }
    if (fz_sql_accept(p, "HAVING")) {
        q->having = fz_sql_expr(p);
    }
    if (fz_sql_accept(p, "WINDOW")) {
        windows(p, q);
    }
    fz_sql_end_pos(p, &q->pos);
    return q;
}

static struct fz_ast_query *query_primary(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    if (fz_sql_accept(p, "(")) {
        struct fz_ast_query *q = fz_sql_query(p);
        fz_sql_expect(p, ")");
        return q;
    }
    if (fz_sql_accept(p, "VALUES")) {
        struct fz_ast_query *q = new_query(p, FZ_AST_QUERY_VALUES, pos);
        q->values = fz_sql_values(p);
        fz_sql_alias(p, q->values);
        return q;
    }
    if (fz_sql_accept(p, "TABLE")) {
        struct fz_ast_query *q = new_query(p, FZ_AST_QUERY_TABLE, pos);
        q->values = SQL_NODE(p, struct fz_ast_rel);
        q->values->kind = FZ_AST_TABLE;
        q->values->pos = fz_sql_pos(p);
        q->values->name = fz_sql_object_name(p);
        return q;
    }
    if (fz_sql_accept(p, "FROM")) {
        size_t n = 0;
        struct fz_ast_rel **from = fz_sql_from(p, &n);
        if (fz_sql_is(p, 0, "SELECT")) {
            return fz_sql_query_body(p, from, n);
        }
        if (fz_sql_is(p, 0, "MAP") || fz_sql_is(p, 0, "REDUCE")) {
            fz_sql_unsupported(p, "TRANSFORM, MAP and REDUCE");
        }
        struct fz_ast_query *q = new_query(p, FZ_AST_SELECT, pos); // FROM t alone, a pipe follows
        q->from = from;
        q->n_from = n;
        add_star(p, q);
        return q;
    }
    if (fz_sql_is(p, 0, "MAP") || fz_sql_is(p, 0, "REDUCE")) {
        fz_sql_unsupported(p, "TRANSFORM, MAP and REDUCE");
    }
    if (!fz_sql_is(p, 0, "SELECT")) {
        fz_sql_syntax(p, "SELECT");
    }
    return fz_sql_query_body(p, NULL, 0);
}

static bool has_tail(const struct fz_ast_query *q) {
    return q->n_order_by > 0 || q->n_sort_by > 0 || q->n_distribute_by > 0 || q->limit != NULL || q->offset != NULL;
}

static struct fz_ast_query *setop(struct sql_parser *p, const char *op, struct fz_ast_query *left,
                                  struct fz_ast_query *(*operand)(struct sql_parser *)) {
    struct fz_ast_query *q = new_query(p, FZ_AST_SETOP, left->pos);
    q->setop = op;
    q->all = fz_sql_accept(p, "ALL");
    if (!q->all) {
        fz_sql_accept(p, "DISTINCT");
    }
    if (fz_sql_is(p, 0, "BY") || fz_sql_is(p, 0, "CORRESPONDING")) {
        fz_sql_unsupported(p, "UNION BY NAME");
    }
    q->left = left;
    q->right = operand(p);
    fz_sql_end_pos(p, &q->pos);
    return q;
}

static struct fz_ast_query *intersect_term(struct sql_parser *p) {
    struct fz_ast_query *q = query_primary(p);
    for (int n = 0; n < SQL_MAX_CHAIN && fz_sql_accept(p, "INTERSECT"); n++) {
        q = setop(p, "INTERSECT", q, query_primary);
    }
    return q;
}

static struct fz_ast_query *query_term(struct sql_parser *p) {
    struct fz_ast_query *q = intersect_term(p);
    for (int n = 0; !p->failed; n++) {
        const char *op = fz_sql_accept(p, "UNION") ? "UNION"
                         : fz_sql_accept(p, "EXCEPT") || fz_sql_accept(p, "MINUS") || fz_sql_accept(p, "SETMINUS")
                             ? "EXCEPT"
                             : NULL;
        if (op == NULL) {
            break;
        }
        if (n > SQL_MAX_CHAIN) {
            fz_sql_fail(p, FZ_SQL_SYNTAX, "FAILED_TO_PARSE_TOO_COMPLEX", "More than %d set operations in a row",
                        SQL_MAX_CHAIN);
        }
        q = setop(p, op, q, intersect_term);
    }
    return q;
}

static struct fz_ast_query *tail(struct sql_parser *p, struct fz_ast_query *q) {
    bool tail_here = fz_sql_is(p, 0, "ORDER") || fz_sql_is(p, 0, "SORT") || fz_sql_is(p, 0, "CLUSTER") ||
                     fz_sql_is(p, 0, "DISTRIBUTE") || fz_sql_is(p, 0, "LIMIT") || fz_sql_is(p, 0, "OFFSET");
    if (!tail_here) {
        return q;
    }
    if (!p->failed && (has_tail(q) || q->n_ctes > 0)) {
        q = wrap(p, q); // (SELECT … LIMIT 3) ORDER BY …
    }
    if (fz_sql_accept2(p, "ORDER", "BY")) {
        q->order_by = fz_sql_order_list(p, &q->n_order_by);
    } else if (fz_sql_accept2(p, "CLUSTER", "BY")) {
        size_t cap = 0;
        q->distribute_by = fz_sql_expr_list(p, &q->n_distribute_by);
        for (size_t i = 0; i < q->n_distribute_by && !p->failed; i++) {
            struct fz_ast_order *slot = SQL_PUSH(p, q->sort_by, q->n_sort_by, cap);
            slot->expr = q->distribute_by[i];
        }
    } else {
        if (fz_sql_accept2(p, "DISTRIBUTE", "BY")) {
            q->distribute_by = fz_sql_expr_list(p, &q->n_distribute_by);
        }
        if (fz_sql_accept2(p, "SORT", "BY")) {
            q->sort_by = fz_sql_order_list(p, &q->n_sort_by);
        }
    }
    if (fz_sql_accept(p, "WINDOW")) {
        windows(p, q);
    }
    if (fz_sql_accept(p, "LIMIT") && !fz_sql_accept(p, "ALL")) {
        q->limit = fz_sql_expr(p);
    }
    if (fz_sql_accept(p, "OFFSET")) {
        q->offset = fz_sql_expr(p);
    }
    return q;
}

// ---- pipes: each operator becomes a query over the one before ----

static bool is_bare(const struct fz_ast_query *q) { // SELECT * FROM … and nothing else: clauses may be put into it
    return q->kind == FZ_AST_SELECT && q->n_items == 1 && q->items[0].expr->kind == FZ_AST_STAR &&
           q->items[0].expr->name.n == 0 && q->items[0].expr->n_args == 0 && !q->distinct && q->group_by == NULL &&
           q->having == NULL && q->n_windows == 0 && q->n_ctes == 0 && !has_tail(q);
}
static struct fz_ast_query *pipe_aggregate(struct sql_parser *p, struct fz_ast_query *q) { // after AGGREGATE
    struct fz_ast_select_item *aggregates = NULL;
    size_t n = 0, cap = 0, items_cap = 0;
    if (!fz_sql_is(p, 0, "GROUP")) {
        do {
            struct fz_ast_select_item item = fz_sql_select_item(p), *slot = SQL_PUSH(p, aggregates, n, cap);
            *slot = item;
        } while (fz_sql_accept(p, ","));
    }
    q->items = NULL;
    q->n_items = 0;
    if (fz_sql_accept2(p, "GROUP", "BY")) {
        struct fz_ast_group *g = SQL_NODE(p, struct fz_ast_group);
        struct sets sum = {0};
        struct fz_ast_expr **keys = NULL;
        size_t n_keys = 0, keys_cap = 0;
        do {
            struct fz_ast_select_item item = fz_sql_select_item(p),
                                      *slot = SQL_PUSH(p, q->items, q->n_items, items_cap);
            *slot = item;
            struct fz_ast_expr **key = SQL_PUSH(p, keys, n_keys, keys_cap);
            *key = item.expr;
        } while (fz_sql_accept(p, ","));
        add_set(p, &sum, keys, n_keys);
        g->kind = FZ_GROUP_PLAIN;
        g->sets = sum.items;
        g->set_sizes = sum.sizes;
        g->n_sets = sum.n;
        q->group_by = g;
    }
    for (size_t i = 0; i < n && !p->failed; i++) {
        struct fz_ast_select_item *slot = SQL_PUSH(p, q->items, q->n_items, items_cap);
        *slot = aggregates[i];
    }
    return q;
}
static struct fz_ast_query *pipe_step(struct sql_parser *p, struct fz_ast_query *q) { // after |>
    bool bare = is_bare(q);
    if (fz_sql_accept(p, "WHERE")) {
        q = bare && q->where == NULL ? q : wrap(p, q);
        q->where = fz_sql_expr(p);
    } else if (fz_sql_accept(p, "SELECT")) {
        q = bare ? q : wrap(p, q);
        q->items = NULL;
        q->n_items = 0;
        select_list(p, q);
    } else if (fz_sql_accept(p, "EXTEND")) {
        q = bare ? q : wrap(p, q);
        size_t cap = q->n_items;
        do {
            struct fz_ast_select_item item = fz_sql_select_item(p), *slot = SQL_PUSH(p, q->items, q->n_items, cap);
            *slot = item;
        } while (fz_sql_accept(p, ","));
    } else if (fz_sql_accept(p, "DROP")) {
        q = wrap(p, q);
        if (p->failed) {
            return q;
        }
        struct fz_ast_expr *star = q->items[0].expr;
        size_t cap = 0;
        do {
            struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_NAME, fz_sql_pos(p));
            e->name = fz_sql_name(p);
            fz_sql_add_arg(p, star, &cap, e);
        } while (fz_sql_accept(p, ","));
    } else if (fz_sql_accept(p, "AGGREGATE")) {
        q = pipe_aggregate(p, bare ? q : wrap(p, q));
    } else if (fz_sql_accept(p, "AS")) {
        const char *alias = fz_sql_ident(p);
        q = wrap(p, q);
        if (!p->failed) {
            q->from[0]->alias = alias;
        }
    } else if (fz_sql_is(p, 0, "ORDER") || fz_sql_is(p, 0, "LIMIT") || fz_sql_is(p, 0, "OFFSET")) {
        q = tail(p, q);
    } else if (fz_sql_is(p, 0, "UNION") || fz_sql_is(p, 0, "EXCEPT") || fz_sql_is(p, 0, "MINUS") ||
               fz_sql_is(p, 0, "INTERSECT")) {
        const char *op = fz_sql_is(p, 0, "UNION") ? "UNION" : fz_sql_is(p, 0, "INTERSECT") ? "INTERSECT" : "EXCEPT";
        p->at++;
        q = setop(p, op, q, query_primary);
    } else {
        bool any = false;
        q = bare && q->where == NULL && q->n_from == 1 ? q : wrap(p, q);
        if (p->failed) {
            return q;
        }
        q->from[0] = fz_sql_join(p, q->from[0], &any);
        if (!any) {
            fz_sql_unsupported(p, "This pipe operator");
        }
    }
    return q;
}

struct fz_ast_query *fz_sql_query(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    if (!fz_sql_enter(p)) {
        p->depth--;
        return new_query(p, FZ_AST_SELECT, pos);
    }
    struct fz_ast_cte *ctes = NULL;
    size_t n_ctes = 0;
    bool recursive = false;
    if (fz_sql_accept(p, "WITH")) {
        ctes = fz_sql_ctes(p, &n_ctes, &recursive);
    }
    struct fz_ast_query *q = tail(p, query_term(p));
    for (int n = 0; !p->failed && fz_sql_accept(p, "|>"); n++) {
        if (n > SQL_MAX_DEPTH) {
            fz_sql_fail(p, FZ_SQL_SYNTAX, "FAILED_TO_PARSE_TOO_COMPLEX", "More than %d pipe operators", SQL_MAX_DEPTH);
            break;
        }
        q = pipe_step(p, q);
    }
    if (n_ctes > 0) {
        if (!p->failed && q->n_ctes > 0) {
            q = wrap(p, q);
        }
        q->ctes = ctes;
        q->n_ctes = n_ctes;
        q->recursive = recursive;
        q->pos = pos;
    }
    fz_sql_end_pos(p, &q->pos);
    p->depth--;
    return q;
}
