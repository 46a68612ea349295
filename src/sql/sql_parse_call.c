// Function calls, the forms with a grammar of their own, and windows.
#include "sql/sql_parse.h"

static struct fz_ast_name builtin(struct sql_parser *p, const char *name, struct fz_pos pos) {
    struct fz_ast_name n = {.pos = pos};
    size_t cap = 0;
    const char **part = SQL_PUSH(p, n.parts, n.n, cap);
    *part = name;
    return n;
}
static struct fz_ast_expr *new_call(struct sql_parser *p, const char *name, struct fz_pos pos) {
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_CALL, pos);
    e->name = builtin(p, name, pos);
    return e;
}

struct fz_ast_order *fz_sql_order_list(struct sql_parser *p, size_t *n) {
    struct fz_ast_order *items = NULL;
    size_t cap = 0;
    *n = 0;
    do {
        struct fz_ast_order item = {.expr = fz_sql_expr(p)};
        item.descending = fz_sql_accept(p, "DESC");
        if (!item.descending) {
            fz_sql_accept(p, "ASC");
        }
        if (fz_sql_accept(p, "NULLS")) {
            item.nulls_set = true;
            item.nulls_last = fz_sql_accept(p, "LAST");
            if (!item.nulls_last) {
                fz_sql_expect(p, "FIRST");
            }
        }
        struct fz_ast_order *slot = SQL_PUSH(p, items, *n, cap);
        *slot = item;
    } while (fz_sql_accept(p, ","));
    return items;
}

static struct fz_ast_bound frame_bound(struct sql_parser *p) {
    struct fz_ast_bound b = {0};
    if (fz_sql_accept(p, "UNBOUNDED")) {
        b.kind = FZ_BOUND_UNBOUNDED_PRECEDING;
        if (fz_sql_accept(p, "FOLLOWING")) {
            b.kind = FZ_BOUND_UNBOUNDED_FOLLOWING;
        } else {
            fz_sql_expect(p, "PRECEDING");
        }
        return b;
    }
    if (fz_sql_accept2(p, "CURRENT", "ROW")) {
        b.kind = FZ_BOUND_CURRENT;
        return b;
    }
    b.expr = fz_sql_expr(p);
    b.kind = FZ_BOUND_PRECEDING;
    if (fz_sql_accept(p, "FOLLOWING")) {
        b.kind = FZ_BOUND_FOLLOWING;
    } else {
        fz_sql_expect(p, "PRECEDING");
    }
    return b;
}

static void window_frame(struct sql_parser *p, struct fz_ast_window *w) {
    w->range = fz_sql_is(p, 0, "RANGE");
    if (!w->range && !fz_sql_is(p, 0, "ROWS")) {
        return;
    }
    p->at++;
    w->has_frame = true;
    if (fz_sql_accept(p, "BETWEEN")) {
        w->from = frame_bound(p);
        fz_sql_expect(p, "AND");
        w->to = frame_bound(p);
    } else {
        w->from = frame_bound(p);
        w->to.kind = FZ_BOUND_CURRENT;
    }
}

struct fz_ast_window *fz_sql_window(struct sql_parser *p) {
    struct fz_ast_window *w = SQL_NODE(p, struct fz_ast_window);
    if (!fz_sql_accept(p, "(")) {
        w->name = fz_sql_ident(p);
        return w;
    }
    if (fz_sql_is_ident(p, 0) && fz_sql_is(p, 1, ")")) {
        w->name = fz_sql_ident(p);
    }
    if (fz_sql_accept2(p, "CLUSTER", "BY")) {
        w->partition_by = fz_sql_expr_list(p, &w->n_partition_by);
    } else {
        if (fz_sql_accept2(p, "PARTITION", "BY") || fz_sql_accept2(p, "DISTRIBUTE", "BY")) {
            w->partition_by = fz_sql_expr_list(p, &w->n_partition_by);
        }
        if (fz_sql_accept2(p, "ORDER", "BY") || fz_sql_accept2(p, "SORT", "BY")) {
            w->order_by = fz_sql_order_list(p, &w->n_order_by);
        }
    }
    window_frame(p, w);
    fz_sql_expect(p, ")");
    return w;
}

// The words that may follow an expression are no aliases, unless AS says so.
bool fz_sql_is_alias(const struct sql_parser *p) {
    static const char *const words[] = {
        "FROM",    "WHERE",       "GROUP",     "HAVING",  "ORDER",   "SORT",     "CLUSTER", "DISTRIBUTE", "LIMIT",
        "OFFSET",  "UNION",       "INTERSECT", "EXCEPT",  "MINUS",   "SETMINUS", "JOIN",    "INNER",      "LEFT",
        "RIGHT",   "FULL",        "CROSS",     "NATURAL", "SEMI",    "ANTI",     "ON",      "USING",      "LATERAL",
        "WINDOW",  "WHEN",        "THEN",      "ELSE",    "END",     "AND",      "OR",      "NOT",        "IN",
        "IS",      "LIKE",        "ILIKE",     "RLIKE",   "REGEXP",  "BETWEEN",  "AS",      "SET",        "PIVOT",
        "UNPIVOT", "TABLESAMPLE", "VALUES",    "SELECT",  "ASC",     "DESC",     "NULLS",   "INSERT",     "WITH",
        "FOR",     "DIV",         "ESCAPE",    "IGNORE",  "RESPECT", "COLLATE"};
    const struct sql_token *t = fz_sql_peek(p, 0);
    if (t->kind == SQL_QUOTED) {
        return true;
    }
    if (t->kind != SQL_WORD) {
        return false;
    }
    if (fz_sql_is(p, 1, "AS") && fz_sql_is(p, 2, "OF")) {
        return false; // VERSION AS OF, TIMESTAMP AS OF
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (fz_sql_is(p, 0, words[i])) {
            return false;
        }
    }
    return true;
}

struct fz_ast_select_item fz_sql_select_item(struct sql_parser *p) {
    struct fz_ast_select_item item = {.expr = fz_sql_expr(p)};
    if (fz_sql_accept(p, "AS")) {
        if (fz_sql_accept(p, "(")) {
            item.aliases = fz_sql_ident_list(p, &item.n_aliases);
            fz_sql_expect(p, ")");
        } else {
            item.alias = fz_sql_ident(p);
        }
    } else if (fz_sql_is_alias(p)) {
        item.alias = fz_sql_ident(p);
    } else if (fz_sql_is(p, 0, "(") && fz_sql_is_ident(p, 1) && (fz_sql_is(p, 2, ",") || fz_sql_is(p, 2, ")"))) {
        p->at++;
        item.aliases = fz_sql_ident_list(p, &item.n_aliases);
        fz_sql_expect(p, ")");
    }
    return item;
}

static void nulls_option(struct sql_parser *p, struct fz_ast_expr *call) {
    if (fz_sql_accept2(p, "IGNORE", "NULLS")) {
        call->ignore_nulls = true;
    } else if (fz_sql_accept2(p, "RESPECT", "NULLS")) {
        call->respect_nulls = true;
    }
}

// `aliases`: struct(x AS a, y b).
void fz_sql_args(struct sql_parser *p, struct fz_ast_expr *call, bool aliases) {
    size_t cap = 0, n_names = 0, names_cap = 0;
    const char **names = NULL;
    bool named = false;
    if (fz_sql_accept(p, ")")) {
        return;
    }
    do {
        const char *name = NULL;
        struct fz_ast_expr *arg = NULL;
        if (fz_sql_is_ident(p, 0) && fz_sql_is(p, 1, "=>")) {
            name = fz_sql_ident(p);
            p->at += !p->failed;
            named = true;
        } else if (named && !aliases) {
            fz_sql_fail(p, FZ_INVALID_ARG, "UNEXPECTED_POSITIONAL_ARGUMENT",
                        "A positional argument may not follow a named one");
        }
        if (aliases) {
            struct fz_ast_select_item item = fz_sql_select_item(p);
            arg = item.expr;
            name = item.alias;
            named = named || name != NULL;
        } else if (fz_sql_starts_query(p, 0) && fz_sql_is(p, 0, "TABLE")) {
            fz_sql_unsupported(p, "A TABLE argument of a function");
        } else {
            arg = fz_sql_expr(p);
        }
        const char **slot = SQL_PUSH(p, names, n_names, names_cap);
        *slot = name;
        fz_sql_add_arg(p, call, &cap, arg);
    } while (fz_sql_accept(p, ","));
    nulls_option(p, call);
    fz_sql_expect(p, ")");
    call->arg_names = named ? names : NULL;
}

static void call_tail(struct sql_parser *p, struct fz_ast_expr *e) {
    if (fz_sql_is(p, 0, "WITHIN") && fz_sql_is(p, 1, "GROUP")) {
        p->at += 2;
        fz_sql_expect(p, "(");
        fz_sql_expect(p, "ORDER");
        fz_sql_expect(p, "BY");
        e->within_group = fz_sql_order_list(p, &e->n_within_group);
        fz_sql_expect(p, ")");
    }
    if (fz_sql_is(p, 0, "FILTER") && fz_sql_is(p, 1, "(")) {
        p->at += 2;
        fz_sql_expect(p, "WHERE");
        e->filter = fz_sql_expr(p);
        fz_sql_expect(p, ")");
    }
    nulls_option(p, e);
    if (fz_sql_is(p, 0, "OVER") && (fz_sql_is(p, 1, "(") || fz_sql_is_ident(p, 1))) {
        p->at++;
        e->over = fz_sql_window(p);
    }
    fz_sql_end_pos(p, &e->pos);
}

struct fz_ast_expr *fz_sql_call(struct sql_parser *p, struct fz_ast_name name, struct fz_pos pos) {
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_CALL, pos);
    e->name = name;
    fz_sql_expect(p, "(");
    if (!fz_sql_is(p, 1, ")") && !fz_sql_is(p, 1, ",") && !fz_sql_is(p, 1, "(")) {
        e->distinct = fz_sql_accept(p, "DISTINCT");
        if (!e->distinct) {
            fz_sql_accept(p, "ALL");
        }
    } else if (fz_sql_is(p, 0, "DISTINCT") && fz_sql_is(p, 1, "(")) {
        e->distinct = fz_sql_accept(p, "DISTINCT"); // count(DISTINCT (a, b))
    }
    bool is_struct = !p->failed && name.n == 1 && fz_strcasecmp(name.parts[0], "struct") == 0;
    fz_sql_args(p, e, is_struct);
    call_tail(p, e);
    return e;
}

// ---- special forms ----

static struct fz_ast_expr *cast_form(struct sql_parser *p, const char *op) {
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_CAST, fz_sql_pos(p));
    size_t cap = 0;
    p->at += 2;
    e->op = op;
    fz_sql_add_arg(p, e, &cap, fz_sql_expr(p));
    fz_sql_expect(p, "AS");
    e->type = fz_sql_parse_type_at(p);
    fz_sql_expect(p, ")");
    fz_sql_end_pos(p, &e->pos);
    return e;
}

static struct fz_ast_expr *extract_form(struct sql_parser *p) {
    struct fz_ast_expr *e = new_call(p, "extract", fz_sql_pos(p));
    size_t cap = 0;
    p->at += 2;
    struct fz_pos pos = fz_sql_pos(p);
    struct fz_str field = fz_sql_peek(p, 0)->value;
    p->at++;
    fz_sql_add_arg(p, e, &cap, fz_sql_string_node(p, pos, field));
    fz_sql_expect(p, "FROM");
    fz_sql_add_arg(p, e, &cap, fz_sql_value_expr(p));
    fz_sql_expect(p, ")");
    fz_sql_end_pos(p, &e->pos);
    return e;
}

// trim([BOTH|LEADING|TRAILING] [chars] FROM s); the plain call is an ordinary function.
static struct fz_ast_expr *trim_form(struct sql_parser *p) {
    size_t first = p->at;
    struct fz_pos pos = fz_sql_pos(p);
    p->at += 2;
    static const char *const sides[] = {"BOTH", "LEADING", "TRAILING"}, *const names[] = {"btrim", "ltrim", "rtrim"};
    const char *name = "btrim";
    for (size_t i = 0; i < 3; i++) {
        if (fz_sql_is(p, 0, sides[i]) && !fz_sql_is(p, 1, ")") && !fz_sql_is(p, 1, ",")) {
            p->at++;
            name = names[i];
            break;
        }
    }
    struct fz_ast_expr *chars = fz_sql_is(p, 0, "FROM") ? NULL : fz_sql_value_expr(p);
    if (!fz_sql_accept(p, "FROM")) {
        if (!p->failed) {
            p->at = first;
        }
        return NULL;
    }
    struct fz_ast_expr *e = new_call(p, name, pos);
    size_t cap = 0;
    e->text = "FROM";
    fz_sql_add_arg(p, e, &cap, fz_sql_value_expr(p));
    if (chars != NULL) {
        fz_sql_add_arg(p, e, &cap, chars);
    }
    fz_sql_expect(p, ")");
    fz_sql_end_pos(p, &e->pos);
    return e;
}

// name(a KEYWORD b [KEYWORD2 c]…): substring FROM FOR, position IN, overlay PLACING FROM FOR.
static struct fz_ast_expr *keyword_args(struct sql_parser *p, const char *name, const char *const *keywords, size_t n,
                                        size_t required) {
    size_t first = p->at, cap = 0;
    struct fz_ast_expr *e = new_call(p, name, fz_sql_pos(p));
    p->at += 2;
    fz_sql_add_arg(p, e, &cap, fz_sql_value_expr(p));
    for (size_t i = 0; i < n; i++) {
        if (!fz_sql_accept(p, keywords[i])) {
            if (i == 0 && !p->failed) {
                p->at = first;
                return NULL;
            }
            if (i < required) {
                fz_sql_syntax(p, keywords[i]);
            }
            break;
        }
        fz_sql_add_arg(p, e, &cap, fz_sql_value_expr(p));
    }
    fz_sql_expect(p, ")");
    fz_sql_end_pos(p, &e->pos);
    return e;
}

static struct fz_ast_expr *timestamp_unit_form(struct sql_parser *p, const char *name) {
    if (fz_sql_peek(p, 2)->kind != SQL_WORD || !fz_sql_is(p, 3, ",") ||
        !(fz_sql_is_interval_unit(fz_sql_peek(p, 2)) || fz_sql_is(p, 2, "QUARTER") || fz_sql_is(p, 2, "DAYOFYEAR"))) {
        return NULL;
    }
    size_t i = 4; // a unit only when there are three arguments: date_add(day, 1) has columns
    int depth = 0, commas = 0;
    for (; fz_sql_peek(p, i)->kind != SQL_END; i++) {
        if (fz_sql_is(p, i, "(") || fz_sql_is(p, i, "[")) {
            depth++;
        } else if (fz_sql_is(p, i, ")") || fz_sql_is(p, i, "]")) {
            if (depth-- == 0) {
                break;
            }
        } else if (depth == 0 && fz_sql_is(p, i, ",")) {
            commas++;
        }
    }
    if (commas != 1) {
        return NULL;
    }
    struct fz_ast_expr *e = new_call(p, name, fz_sql_pos(p));
    size_t cap = 0;
    p->at += 2;
    struct fz_pos pos = fz_sql_pos(p);
    struct fz_str unit = fz_sql_peek(p, 0)->raw;
    p->at += 2;
    fz_sql_add_arg(p, e, &cap, fz_sql_string_node(p, pos, unit));
    fz_sql_add_arg(p, e, &cap, fz_sql_expr(p));
    fz_sql_expect(p, ",");
    fz_sql_add_arg(p, e, &cap, fz_sql_expr(p));
    fz_sql_expect(p, ")");
    fz_sql_end_pos(p, &e->pos);
    return e;
}

struct fz_ast_expr *fz_sql_special_call(struct sql_parser *p) {
    if (fz_sql_peek(p, 0)->kind != SQL_WORD || fz_sql_is(p, 1, ".")) {
        return NULL;
    }
    if (!fz_sql_is(p, 1, "(")) {
        // Functions without parentheses, unless there is a column of this name: the binder decides (fz_bind_keyword).
        static const char *const bare[] = {"CURRENT_DATE", "CURRENT_TIMESTAMP", "CURRENT_TIME", "CURRENT_USER",
                                           "SESSION_USER", "LOCALTIMESTAMP",    "USER"};
        for (size_t i = 0; i < sizeof bare / sizeof bare[0]; i++) {
            if (fz_sql_is(p, 0, bare[i])) {
                struct fz_pos pos = fz_sql_pos(p);
                struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_NAME, pos);
                e->name = builtin(p, fz_sql_ident(p), pos);
                e->text = "KEYWORD";
                return e;
            }
        }
        return NULL;
    }
    static const char *const from_for[] = {"FROM", "FOR"}, *const in[] = {"IN"},
                             *const placing[] = {"PLACING", "FROM", "FOR"};
    if (fz_sql_is(p, 0, "CAST")) {
        return cast_form(p, "CAST");
    }
    if (fz_sql_is(p, 0, "TRY_CAST")) {
        return cast_form(p, "TRY_CAST");
    }
    if (fz_sql_is(p, 0, "EXTRACT") && fz_sql_is(p, 3, "FROM")) {
        return extract_form(p);
    }
    if (fz_sql_is(p, 0, "TRIM")) {
        return trim_form(p);
    }
    if ((fz_sql_is(p, 0, "SUBSTRING") || fz_sql_is(p, 0, "SUBSTR")) && !fz_sql_is(p, 2, ")")) {
        return keyword_args(p, "substring", from_for, 2, 1);
    }
    if (fz_sql_is(p, 0, "POSITION") && !fz_sql_is(p, 2, ")")) {
        return keyword_args(p, "position", in, 1, 1);
    }
    if (fz_sql_is(p, 0, "OVERLAY") && !fz_sql_is(p, 2, ")")) {
        return keyword_args(p, "overlay", placing, 3, 2);
    }
    if (fz_sql_is(p, 0, "TIMESTAMPADD") || fz_sql_is(p, 0, "DATEADD") || fz_sql_is(p, 0, "DATE_ADD")) {
        return timestamp_unit_form(p, "timestampadd");
    }
    if (fz_sql_is(p, 0, "TIMESTAMPDIFF") || fz_sql_is(p, 0, "DATEDIFF") || fz_sql_is(p, 0, "DATE_DIFF")) {
        return timestamp_unit_form(p, "timestampdiff");
    }
    return NULL;
}
