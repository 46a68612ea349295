// Expressions by precedence: OR, AND, NOT, predicates, then value operators, then primaries with their postfix forms.
#include "sql/sql_parse.h"

struct fz_ast_expr *fz_sql_expr_new(struct sql_parser *p, enum fz_ast_expr_kind kind, struct fz_pos pos) {
    struct fz_ast_expr *e = SQL_NODE(p, struct fz_ast_expr);
    e->kind = kind;
    e->pos = pos;
    fz_sql_end_pos(p, &e->pos);
    return e;
}
void fz_sql_add_arg(struct sql_parser *p, struct fz_ast_expr *e, size_t *cap, struct fz_ast_expr *arg) {
    struct fz_ast_expr **slot = SQL_PUSH(p, e->args, e->n_args, *cap);
    *slot = arg;
}
static struct fz_ast_expr *with_args(struct sql_parser *p, enum fz_ast_expr_kind kind, const char *op,
                                     struct fz_ast_expr *a, struct fz_ast_expr *b) {
    struct fz_ast_expr *e = fz_sql_expr_new(p, kind, a->pos);
    size_t cap = 0;
    e->op = op;
    fz_sql_add_arg(p, e, &cap, a);
    if (b != NULL) {
        fz_sql_add_arg(p, e, &cap, b);
    }
    return e;
}

struct fz_ast_expr **fz_sql_expr_list(struct sql_parser *p, size_t *n) {
    struct fz_ast_expr **items = NULL;
    size_t cap = 0;
    *n = 0;
    do {
        struct fz_ast_expr *e = fz_sql_expr(p), **slot = SQL_PUSH(p, items, *n, cap);
        *slot = e;
    } while (fz_sql_accept(p, ","));
    return items;
}

// ---- primaries ----

// Words that end an expression rather than name a column.
static bool blocks_name(const struct sql_parser *p) {
    static const char *const words[] = {"SELECT", "FROM", "WHERE", "GROUP",   "HAVING", "ORDER", "UNION", "INTERSECT",
                                        "EXCEPT", "JOIN", "ON",    "WHEN",    "THEN",   "ELSE",  "AND",   "OR",
                                        "IN",     "IS",   "LIKE",  "BETWEEN", "USING",  "AS"};
    if (fz_sql_peek(p, 0)->kind != SQL_WORD || fz_sql_is(p, 1, ".")) {
        return false;
    }
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (fz_sql_is(p, 0, words[i])) {
            return true;
        }
    }
    return false;
}

static struct fz_ast_expr *star(struct sql_parser *p, struct fz_pos pos, struct fz_ast_name name) {
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_STAR, pos);
    e->name = name;
    if (fz_sql_is(p, 0, "EXCEPT") && fz_sql_is(p, 1, "(") && !fz_sql_starts_query(p, 2)) {
        size_t cap = 0;
        p->at += 2;
        do {
            struct fz_pos at = fz_sql_pos(p);
            struct fz_ast_name column = fz_sql_name(p);
            struct fz_ast_expr *arg = fz_sql_expr_new(p, FZ_AST_NAME, at);
            arg->name = column;
            fz_sql_add_arg(p, e, &cap, arg);
        } while (fz_sql_accept(p, ","));
        fz_sql_expect(p, ")");
    }
    fz_sql_end_pos(p, &e->pos);
    return e;
}

static struct fz_ast_expr *case_expr(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_CASE, pos);
    size_t cap = 0;
    fz_sql_expect(p, "CASE");
    if (!fz_sql_is(p, 0, "WHEN")) {
        e->base = fz_sql_expr(p);
    }
    if (!fz_sql_is(p, 0, "WHEN")) {
        fz_sql_syntax(p, "WHEN");
    }
    while (fz_sql_accept(p, "WHEN")) {
        fz_sql_add_arg(p, e, &cap, fz_sql_expr(p));
        fz_sql_expect(p, "THEN");
        fz_sql_add_arg(p, e, &cap, fz_sql_expr(p));
    }
    if (fz_sql_accept(p, "ELSE")) {
        fz_sql_add_arg(p, e, &cap, fz_sql_expr(p));
    }
    fz_sql_expect(p, "END");
    fz_sql_end_pos(p, &e->pos);
    return e;
}

static struct fz_ast_expr *subquery(struct sql_parser *p, enum fz_ast_expr_kind kind,
                                    struct fz_pos pos) { // after the parenthesis
    struct fz_ast_query *query = fz_sql_query(p);
    fz_sql_expect(p, ")");
    struct fz_ast_expr *e = fz_sql_expr_new(p, kind, pos);
    e->query = query;
    return e;
}

// x -> …, (x, y) -> …
static struct fz_ast_expr *lambda(struct sql_parser *p) {
    size_t i = 0;
    bool parens = fz_sql_is(p, 0, "(");
    if (parens) {
        i = 1;
        while (fz_sql_is_ident(p, i) && fz_sql_is(p, i + 1, ",")) {
            i += 2;
        }
        if (!fz_sql_is_ident(p, i) || !fz_sql_is(p, i + 1, ")") || !fz_sql_is(p, i + 2, "->")) {
            return NULL;
        }
    } else if (!fz_sql_is_ident(p, 0) || !fz_sql_is(p, 1, "->")) {
        return NULL;
    }
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_LAMBDA, fz_sql_pos(p));
    size_t cap = 0;
    p->at += parens;
    e->params = fz_sql_ident_list(p, &e->n_params);
    p->at += parens && !p->failed;
    fz_sql_expect(p, "->");
    fz_sql_add_arg(p, e, &cap, fz_sql_expr(p));
    fz_sql_end_pos(p, &e->pos);
    return e;
}

static struct fz_ast_expr *parenthesized(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    struct fz_ast_expr *e = lambda(p);
    if (e != NULL) {
        return e;
    }
    fz_sql_expect(p, "(");
    if (fz_sql_starts_query(p, 0)) {
        return subquery(p, FZ_AST_SUBQUERY, pos);
    }
    struct fz_ast_select_item item = fz_sql_select_item(p);
    if (!fz_sql_is(p, 0, ",") && item.alias == NULL) {
        fz_sql_expect(p, ")");
        return item.expr;
    }
    struct fz_ast_expr *row = fz_sql_expr_new(p, FZ_AST_ROW, pos);
    size_t cap = 0, names_cap = 0, n_names = 0;
    bool named = false;
    const char **names = NULL;
    for (;;) {
        const char **name = SQL_PUSH(p, names, n_names, names_cap);
        *name = item.alias;
        named = named || item.alias != NULL;
        fz_sql_add_arg(p, row, &cap, item.expr);
        if (!fz_sql_accept(p, ",")) {
            break;
        }
        item = fz_sql_select_item(p);
    }
    row->arg_names = named ? names : NULL;
    fz_sql_expect(p, ")");
    fz_sql_end_pos(p, &row->pos);
    return row;
}

static const struct fz_value *constant(struct sql_parser *p, enum fz_type_id type, bool is_null, bool value) {
    struct fz_value *v = SQL_NODE(p, struct fz_value);
    v->type = fz_type_primitive(type);
    v->is_null = is_null;
    v->u.boolean = value;
    return v;
}

// NULL, TRUE, FALSE, numbers, strings, parameters; NULL when there is none here.
static struct fz_ast_expr *literal(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    enum sql_token_kind kind = fz_sql_peek(p, 0)->kind;
    if (kind == SQL_NUMBER) {
        return fz_sql_literal_node(p, pos, fz_sql_number(p, false));
    }
    if (kind == SQL_STRING) {
        return fz_sql_string_node(p, pos, fz_sql_string_bytes(p));
    }
    bool dotted = fz_sql_is(p, 1, ".");
    if (!dotted && fz_sql_accept(p, "NULL")) {
        return fz_sql_literal_node(p, pos, constant(p, FZ_TYPE_UNKNOWN, true, false));
    }
    if (!dotted && fz_sql_is(p, 0, "TRUE")) {
        p->at++;
        return fz_sql_literal_node(p, pos, constant(p, FZ_TYPE_BOOLEAN, false, true));
    }
    if (!dotted && fz_sql_accept(p, "FALSE")) {
        return fz_sql_literal_node(p, pos, constant(p, FZ_TYPE_BOOLEAN, false, false));
    }
    if (fz_sql_accept(p, "?")) {
        return fz_sql_expr_new(p, FZ_AST_PARAMETER, pos);
    }
    if (fz_sql_is(p, 0, ":") && fz_sql_is_ident(p, 1)) {
        p->at++;
        const char *name = fz_sql_ident(p);
        struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_PARAMETER, pos);
        e->text = name;
        return e;
    }
    if (fz_sql_is(p, 0, "INTERVAL")) {
        const struct sql_token *t = fz_sql_peek(p, 1);
        bool sign = fz_sql_is(p, 1, "-") || fz_sql_is(p, 1, "+");
        const struct sql_token *amount = sign ? fz_sql_peek(p, 2) : t;
        if (amount->kind == SQL_NUMBER || amount->kind == SQL_STRING) {
            return fz_sql_interval(p);
        }
    }
    return fz_sql_typed_literal(p);
}

// A name that may be followed by dots, a call or a star.
static struct fz_ast_expr *name_or_call(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    struct fz_ast_name name = {.pos = pos};
    if (fz_sql_is(p, 0, "IDENTIFIER") && fz_sql_is(p, 1, "(")) {
        name = fz_sql_object_name(p);
    } else {
        size_t cap = 0;
        do {
            if (name.n > 0 && fz_sql_accept(p, "*")) {
                fz_sql_end_pos(p, &name.pos);
                return star(p, pos, name);
            }
            const char **part = SQL_PUSH(p, name.parts, name.n, cap);
            *part = fz_sql_ident(p);
        } while (fz_sql_accept(p, "."));
        fz_sql_end_pos(p, &name.pos);
    }
    if (fz_sql_is(p, 0, "(")) {
        return fz_sql_call(p, name, pos);
    }
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_NAME, pos);
    e->name = name;
    return e;
}

static struct fz_ast_expr *primary(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    struct fz_ast_expr *e = literal(p);
    if (e != NULL) {
        return e;
    }
    if (fz_sql_is(p, 0, "(")) {
        return parenthesized(p);
    }
    if (fz_sql_accept(p, "*")) {
        return star(p, pos, (struct fz_ast_name){0});
    }
    if (fz_sql_is(p, 0, "CASE") && !fz_sql_is(p, 1, ".") && !fz_sql_is(p, 1, ",") && !fz_sql_is(p, 1, ")") &&
        fz_sql_peek(p, 1)->kind != SQL_END) {
        return case_expr(p);
    }
    if (!fz_sql_is_ident(p, 0) || blocks_name(p)) {
        fz_sql_syntax(p, NULL);
        return fz_sql_expr_new(p, FZ_AST_NAME, pos);
    }
    e = lambda(p);
    if (e == NULL) {
        e = fz_sql_special_call(p);
    }
    return e != NULL ? e : name_or_call(p);
}

// v:a.b[0]['c']: a path into a variant, read as variant_get(v, '$.a.b[0]["c"]') with text ":".
static struct fz_ast_expr *variant_path(struct sql_parser *p, struct fz_ast_expr *base) { // after :
    struct fz_buf path = {0};
    fz_buf_puts(&path, "$");
    bool first = true;
    struct fz_pos pos = fz_sql_pos(p);
    for (; !p->failed; first = false) {
        if (fz_sql_is(p, 0, "[") && fz_sql_is(p, 2, "]") &&
            (fz_sql_peek(p, 1)->kind == SQL_NUMBER || fz_sql_peek(p, 1)->kind == SQL_STRING)) {
            const struct sql_token *key = fz_sql_peek(p, 1);
            fz_buf_printf(&path, key->kind == SQL_STRING ? "['%.*s']" : "[%.*s]", (int)key->value.len, key->value.ptr);
            p->at += 3;
        } else if (first || (fz_sql_is(p, 0, ".") && fz_sql_is_ident(p, 1))) {
            p->at += !first;
            bool quoted = fz_sql_peek(p, 0)->kind == SQL_QUOTED;
            const char *name = fz_sql_ident(p);
            fz_buf_printf(&path, quoted ? "['%s']" : ".%s", name);
        } else {
            break;
        }
    }
    struct fz_str text = {fz_sql_dup(p, (struct fz_str){path.ptr, path.len}), path.len};
    fz_buf_dispose(&path);
    struct fz_ast_expr *e = with_args(p, FZ_AST_CALL, NULL, base, fz_sql_string_node(p, pos, text));
    size_t cap = 0;
    const char **part = SQL_PUSH(p, e->name.parts, e->name.n, cap);
    *part = "variant_get";
    e->name.pos = pos;
    e->text = ":";
    return e;
}

static struct fz_ast_expr *postfix(struct sql_parser *p, struct fz_ast_expr *e) {
    for (int n = 0;; n++) {
        if (n > SQL_MAX_CHAIN) {
            fz_sql_fail(p, FZ_SQL_SYNTAX, "FAILED_TO_PARSE_TOO_COMPLEX", "More than %d operators in a row",
                        SQL_MAX_CHAIN);
        }
        if (fz_sql_accept(p, "[")) {
            struct fz_ast_expr *index = fz_sql_expr(p);
            fz_sql_expect(p, "]");
            e = with_args(p, FZ_AST_INDEX, NULL, e, index);
        } else if (fz_sql_is(p, 0, ".") && fz_sql_is_ident(p, 1)) {
            p->at++;
            const char *field = fz_sql_ident(p);
            e = with_args(p, FZ_AST_DOT, NULL, e, NULL);
            e->text = field;
        } else if (fz_sql_accept(p, "::")) {
            const struct fz_type *type = fz_sql_parse_type_at(p);
            e = with_args(p, FZ_AST_CAST, "CAST", e, NULL);
            e->type = type;
        } else if (fz_sql_is(p, 0, ":") && (fz_sql_is_ident(p, 1) || fz_sql_is(p, 1, "["))) {
            p->at++;
            e = variant_path(p, e);
        } else if (fz_sql_is(p, 0, "COLLATE") && fz_sql_is_ident(p, 1)) {
            fz_sql_unsupported(p, "COLLATE");
            return e;
        } else {
            return e;
        }
    }
}

// ---- value operators ----

struct binary {
    const char *op;
    int precedence, n_tokens;
};
static bool adjacent(const struct sql_parser *p, size_t ahead) {
    const struct sql_token *t = fz_sql_peek(p, ahead), *before = fz_sql_peek(p, ahead - 1);
    return before->offset + before->raw.len == t->offset;
}
static struct binary peek_binary(const struct sql_parser *p) {
    static const struct {
        const char *token, *op;
        int precedence;
    } ops[] = {{"*", "*", 7},   {"/", "/", 7},     {"%", "%", 7},   {"DIV", "DIV", 7}, {"+", "+", 6},   {"-", "-", 6},
               {"||", "||", 6}, {"<<", "<<", 5},   {"&", "&", 4},   {"^", "^", 3},     {"|", "|", 2},   {"=", "=", 1},
               {"==", "=", 1},  {"<>", "<>", 1},   {"!=", "<>", 1}, {"<=", "<=", 1},   {">=", ">=", 1}, {"!<", ">=", 1},
               {"!>", "<=", 1}, {"<=>", "<=>", 1}, {"<", "<", 1}};
    const struct sql_token *t = fz_sql_peek(p, 0);
    if (t->kind != SQL_OP && t->kind != SQL_WORD) {
        return (struct binary){0};
    }
    if (fz_sql_is(p, 0, ">")) {
        if (fz_sql_is(p, 1, ">") && adjacent(p, 1)) {
            bool three = fz_sql_is(p, 2, ">") && adjacent(p, 2);
            return (struct binary){three ? ">>>" : ">>", 5, three ? 3 : 2};
        }
        return (struct binary){">", 1, 1};
    }
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        if (fz_sql_is(p, 0, ops[i].token)) {
            return (struct binary){ops[i].op, ops[i].precedence, 1};
        }
    }
    return (struct binary){0};
}

static struct fz_ast_expr *unary(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    if (fz_sql_is(p, 0, "-") && fz_sql_peek(p, 1)->kind == SQL_NUMBER) {
        p->at++;
        return postfix(p, fz_sql_literal_node(p, pos, fz_sql_number(p, true)));
    }
    static const char *const ops[] = {"-", "+", "~"};
    for (size_t i = 0; i < 3; i++) {
        if (fz_sql_is(p, 0, ops[i]) && fz_sql_enter(p)) {
            p->at++;
            struct fz_ast_expr *e = with_args(p, FZ_AST_UNARY, ops[i], unary(p), NULL);
            e->pos.length += e->pos.offset - pos.offset;
            e->pos.offset = pos.offset;
            e->pos.line = pos.line;
            e->pos.column = pos.column;
            p->depth--;
            return e;
        }
    }
    return postfix(p, primary(p));
}

static struct fz_ast_expr *binary_expr(struct sql_parser *p, int min_precedence) {
    struct fz_ast_expr *left = unary(p);
    for (int n = 0; !p->failed; n++) {
        struct binary op = peek_binary(p);
        if (op.op == NULL || op.precedence < min_precedence) {
            break;
        }
        if (n > SQL_MAX_CHAIN) {
            fz_sql_fail(p, FZ_SQL_SYNTAX, "FAILED_TO_PARSE_TOO_COMPLEX",
                        "More than %d operators in a row; use parentheses", SQL_MAX_CHAIN);
            break;
        }
        p->at += (size_t)op.n_tokens;
        left = with_args(p, FZ_AST_BINARY, op.op, left, binary_expr(p, op.precedence + 1));
    }
    return left;
}

struct fz_ast_expr *fz_sql_value_expr(struct sql_parser *p) {
    struct fz_ast_expr *e;
    if (fz_sql_enter(p)) {
        e = binary_expr(p, 1);
    } else {
        e = fz_sql_expr_new(p, FZ_AST_NAME, fz_sql_pos(p));
    }
    p->depth--;
    return e;
}

// ---- predicates ----

static struct fz_ast_expr *in_list(struct sql_parser *p, struct fz_ast_expr *left) {
    struct fz_ast_expr *e = with_args(p, FZ_AST_IN, "IN", left, NULL);
    size_t cap = e->n_args; // so that the next push copies what is there
    fz_sql_expect(p, "(");
    if (fz_sql_starts_query(p, 0)) {
        e->query = fz_sql_query(p);
    } else {
        do {
            fz_sql_add_arg(p, e, &cap, fz_sql_expr(p));
        } while (fz_sql_accept(p, ","));
    }
    fz_sql_expect(p, ")");
    return e;
}

static struct fz_ast_expr *like(struct sql_parser *p, struct fz_ast_expr *left, const char *op) {
    struct fz_ast_expr *e = with_args(p, FZ_AST_LIKE, op, left, NULL);
    size_t cap = e->n_args;
    static const char *const quantifiers[] = {"ANY", "SOME", "ALL"};
    for (size_t i = 0; i < 3; i++) {
        if (op[0] != 'R' && fz_sql_is(p, 0, quantifiers[i]) && fz_sql_is(p, 1, "(")) {
            e->text = quantifiers[i];
            p->at += 2;
            do {
                fz_sql_add_arg(p, e, &cap, fz_sql_expr(p));
            } while (fz_sql_accept(p, ","));
            fz_sql_expect(p, ")");
            return e;
        }
    }
    fz_sql_add_arg(p, e, &cap, fz_sql_value_expr(p));
    if (op[0] != 'R' && fz_sql_accept(p, "ESCAPE")) {
        struct fz_pos pos = fz_sql_pos(p);
        struct fz_str text = fz_sql_string_bytes(p);
        if (!p->failed && fz_utf8_length(text.ptr, text.len) != 1) {
            p->at--;
            fz_sql_fail(p, FZ_SQL_SYNTAX, "INVALID_ESCAPE_CHAR", "ESCAPE takes a single character");
        }
        e->escape = fz_sql_string_node(p, pos, text);
    }
    return e;
}

static struct fz_ast_expr *is_what(struct sql_parser *p, struct fz_ast_expr *left) { // after IS
    struct fz_ast_expr *e = with_args(p, FZ_AST_IS, "IS", left, NULL);
    e->negated = fz_sql_accept(p, "NOT");
    static const char *const whats[] = {"NULL", "TRUE", "FALSE", "UNKNOWN"};
    for (size_t i = 0; i < 4; i++) {
        if (fz_sql_accept(p, whats[i])) {
            e->text = whats[i];
            return e;
        }
    }
    fz_sql_expect(p, "DISTINCT");
    fz_sql_expect(p, "FROM");
    e->text = "DISTINCT";
    size_t cap = e->n_args;
    fz_sql_add_arg(p, e, &cap, fz_sql_value_expr(p));
    return e;
}

static struct fz_ast_expr *predicate(struct sql_parser *p) {
    struct fz_ast_expr *e = fz_sql_value_expr(p);
    bool negated =
        fz_sql_is(p, 0, "NOT") && (fz_sql_is(p, 1, "BETWEEN") || fz_sql_is(p, 1, "IN") || fz_sql_is(p, 1, "LIKE") ||
                                   fz_sql_is(p, 1, "ILIKE") || fz_sql_is(p, 1, "RLIKE") || fz_sql_is(p, 1, "REGEXP"));
    p->at += negated;
    if (fz_sql_accept(p, "BETWEEN")) {
        e = with_args(p, FZ_AST_BETWEEN, "BETWEEN", e, NULL);
        size_t cap = e->n_args;
        fz_sql_add_arg(p, e, &cap, fz_sql_value_expr(p));
        fz_sql_expect(p, "AND");
        fz_sql_add_arg(p, e, &cap, fz_sql_value_expr(p));
    } else if (fz_sql_is(p, 0, "IN") && fz_sql_is(p, 1, "(")) {
        p->at++;
        e = in_list(p, e);
    } else if (fz_sql_accept(p, "LIKE")) {
        e = like(p, e, "LIKE");
    } else if (fz_sql_accept(p, "ILIKE")) {
        e = like(p, e, "ILIKE");
    } else if (fz_sql_accept(p, "RLIKE") || fz_sql_accept(p, "REGEXP")) {
        e = like(p, e, "RLIKE");
    } else if (fz_sql_accept(p, "IS")) {
        e = is_what(p, e);
    }
    e->negated = e->negated || negated;
    fz_sql_end_pos(p, &e->pos);
    return e;
}

static struct fz_ast_expr *not_expr(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    if ((fz_sql_is(p, 0, "NOT") || fz_sql_is(p, 0, "!")) && fz_sql_enter(p)) {
        p->at++;
        struct fz_ast_expr *arg = not_expr(p), *e = fz_sql_expr_new(p, FZ_AST_UNARY, pos);
        size_t cap = 0;
        e->op = "NOT";
        fz_sql_add_arg(p, e, &cap, arg);
        p->depth--;
        return e;
    }
    if (fz_sql_is(p, 0, "EXISTS") && fz_sql_is(p, 1, "(") && fz_sql_starts_query(p, 2)) {
        p->at += 2;
        return subquery(p, FZ_AST_EXISTS, pos);
    }
    return predicate(p);
}

// AND and OR chains become balanced trees: generated conditions have thousands of terms, and everything after the parser recurses.
static struct fz_ast_expr *balanced(struct sql_parser *p, const char *op, struct fz_ast_expr **items, size_t n) {
    if (n == 1) {
        return items[0];
    }
    if (n <= 3) { // the usual short chains keep their left-deep shape
        struct fz_ast_expr *left = balanced(p, op, items, n - 1);
        return with_args(p, FZ_AST_BINARY, op, left, items[n - 1]);
    }
    struct fz_ast_expr *left = balanced(p, op, items, n / 2), *right = balanced(p, op, items + n / 2, n - n / 2);
    return with_args(p, FZ_AST_BINARY, op, left, right);
}
static struct fz_ast_expr *chain(struct sql_parser *p, const char *op,
                                 struct fz_ast_expr *(*operand)(struct sql_parser *)) {
    struct fz_ast_expr *first = operand(p);
    if (!fz_sql_is(p, 0, op)) {
        return first;
    }
    struct fz_ast_expr **items = NULL;
    size_t n = 0, cap = 0;
    struct fz_ast_expr **slot = SQL_PUSH(p, items, n, cap);
    *slot = first;
    while (fz_sql_accept(p, op)) {
        struct fz_ast_expr *next = operand(p);
        slot = SQL_PUSH(p, items, n, cap);
        *slot = next;
    }
    return n > 0 ? balanced(p, op, items, n) : first;
}
static struct fz_ast_expr *and_expr(struct sql_parser *p) {
    return chain(p, "AND", not_expr);
}

struct fz_ast_expr *fz_sql_expr(struct sql_parser *p) {
    struct fz_ast_expr *e;
    if (fz_sql_enter(p)) {
        e = chain(p, "OR", and_expr);
    } else {
        e = fz_sql_expr_new(p, FZ_AST_NAME, fz_sql_pos(p));
    }
    p->depth--;
    return e;
}

struct fz_ast_expr *fz_sql_assigned(struct sql_parser *p) {
    if (fz_sql_is(p, 0, "DEFAULT") &&
        (fz_sql_is(p, 1, ",") || fz_sql_is(p, 1, ")") || fz_sql_is(p, 1, "WHEN") || fz_sql_is(p, 1, "WHERE") ||
         fz_sql_is(p, 1, ";") || fz_sql_peek(p, 1)->kind == SQL_END)) {
        struct fz_pos pos = fz_sql_pos(p);
        p->at++;
        return fz_sql_expr_new(p, FZ_AST_DEFAULT, pos);
    }
    return fz_sql_expr(p);
}
