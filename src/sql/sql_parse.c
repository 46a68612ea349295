// Helpers of the SQL parser (tokens, names, errors) and its entry points.
#include "sql/sql_parse.h"

#include <stdio.h>

static void *out_of_memory(struct sql_parser *p, size_t size) {
    if (!p->failed) {
        fz_fail_nomem(p->err, size);
        p->failed = true;
        p->at = p->n_tokens - 1;
    }
    memset(p->dummy, 0, sizeof p->dummy);
    return p->dummy;
}

void *fz_sql_node(struct sql_parser *p, size_t size) {
    void *node = fz_arena_alloc(p->arena, size);
    return node != NULL ? node : out_of_memory(p, size);
}

void *fz_sql_push(struct sql_parser *p, void *items_ptr, size_t *n, size_t *cap, size_t size) {
    void *items;
    memcpy(&items, items_ptr, sizeof items);
    if (*n == *cap) {
        size_t grown_cap = *cap == 0 ? 4 : *cap * 2;
        void *grown = fz_arena_array(p->arena, grown_cap, size);
        if (grown == NULL) {
            return out_of_memory(p, grown_cap * size);
        }
        if (*n > 0) {
            memcpy(grown, items, *n * size);
        }
        memcpy(items_ptr, &grown, sizeof grown);
        items = grown;
        *cap = grown_cap;
    }
    return (char *)items + (*n)++ * size;
}

const struct sql_token *fz_sql_peek(const struct sql_parser *p, size_t ahead) {
    size_t i = p->at + ahead;
    return &p->tokens[i < p->n_tokens ? i : p->n_tokens - 1];
}

bool fz_sql_is(const struct sql_parser *p, size_t ahead, const char *word_or_op) {
    const struct sql_token *t = fz_sql_peek(p, ahead);
    if (t->kind != SQL_WORD && t->kind != SQL_OP) {
        return false;
    }
    for (size_t i = 0; i < t->raw.len; i++) {
        char c = t->raw.ptr[i];
        if (c >= 'a' && c <= 'z') {
            c = (char)(c - 32);
        }
        if (c != word_or_op[i]) {
            return false;
        }
    }
    return word_or_op[t->raw.len] == 0;
}

bool fz_sql_accept(struct sql_parser *p, const char *word_or_op) {
    if (!fz_sql_is(p, 0, word_or_op)) {
        return false;
    }
    p->at++;
    return true;
}
bool fz_sql_accept2(struct sql_parser *p, const char *a, const char *b) {
    if (!fz_sql_is(p, 0, a) || !fz_sql_is(p, 1, b)) {
        return false;
    }
    p->at += 2;
    return true;
}
void fz_sql_expect(struct sql_parser *p, const char *word_or_op) {
    if (!fz_sql_accept(p, word_or_op)) {
        fz_sql_syntax(p, word_or_op);
    }
}

void fz_sql_fail(struct sql_parser *p, enum fz_code code, const char *condition, const char *fmt, ...) {
    if (p->failed) {
        return;
    }
    char message[600];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(message, sizeof message, fmt, ap);
    va_end(ap);
    const struct sql_token *t = fz_sql_peek(p, 0);
    fz_sql_fail_at(p->err, code, condition, p->sql, t->offset, t->raw.len, t->line, t->column, message);
    p->failed = true;
    p->at = p->n_tokens - 1;
}

void fz_sql_syntax(struct sql_parser *p, const char *expected) {
    const struct sql_token *t = fz_sql_peek(p, 0);
    size_t len = fz_utf8_truncate(t->raw.ptr, t->raw.len, 40);
    if (t->kind == SQL_END) {
        fz_sql_fail(p, FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR", "Syntax error at or near end of input%s%s",
                    expected ? ": expected " : "", expected ? expected : "");
    } else {
        fz_sql_fail(p, FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR", "Syntax error at or near '%.*s'%s%s", (int)len, t->raw.ptr,
                    expected ? ": expected " : "", expected ? expected : "");
    }
}

void fz_sql_unsupported(struct sql_parser *p, const char *feature) { // "WHAT" or "WHAT: what to do"
    const char *hint = strstr(feature, ": ");
    int n = hint != NULL ? (int)(hint - feature) : (int)strlen(feature);
    fz_sql_fail(p, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE", "%.*s is not supported%s", n, feature, hint ? hint : "");
}

bool fz_sql_enter(struct sql_parser *p) {
    if (p->depth >= SQL_MAX_DEPTH) {
        fz_sql_fail(p, FZ_SQL_SYNTAX, "FAILED_TO_PARSE_TOO_COMPLEX",
                    "The statement is nested more than %d levels deep; split it", SQL_MAX_DEPTH);
        p->depth++;
        return false;
    }
    p->depth++;
    return true;
}

const char *fz_sql_dup(struct sql_parser *p, struct fz_str text) {
    const char *copy = fz_arena_strndup(p->arena, text.ptr == NULL ? "" : text.ptr, text.len);
    return copy != NULL ? copy : out_of_memory(p, text.len);
}

bool fz_sql_is_ident(const struct sql_parser *p, size_t ahead) {
    enum sql_token_kind kind = fz_sql_peek(p, ahead)->kind;
    return kind == SQL_WORD || kind == SQL_QUOTED;
}

const char *fz_sql_ident(struct sql_parser *p) {
    const struct sql_token *t = fz_sql_peek(p, 0);
    if (!fz_sql_is_ident(p, 0) || t->value.len == 0) {
        fz_sql_syntax(p, "a name");
        return "";
    }
    if (memchr(t->value.ptr, 0, t->value.len) != NULL) {
        fz_sql_syntax(p, "a name without NUL characters");
        return "";
    }
    p->at++;
    return fz_sql_dup(p, t->value);
}

struct fz_ast_name fz_sql_name(struct sql_parser *p) {
    struct fz_ast_name name = {.pos = fz_sql_pos(p)};
    size_t cap = 0;
    do {
        const char **part = SQL_PUSH(p, name.parts, name.n, cap);
        *part = fz_sql_ident(p);
    } while (fz_sql_is(p, 0, ".") && fz_sql_accept(p, "."));
    fz_sql_end_pos(p, &name.pos);
    return name;
}

bool fz_sql_parse_name_text(struct fz_arena *arena, struct fz_str text, struct fz_ast_name *out, struct fz_err *err) {
    struct sql_parser p = {.arena = arena, .err = err, .sql = text};
    if (fz_sql_lex(arena, text, &p.tokens, &p.n_tokens, err) != FZ_OK) {
        return false;
    }
    *out = fz_sql_name(&p);
    if (fz_sql_peek(&p, 0)->kind != SQL_END) {
        fz_sql_syntax(&p, "the end of the name");
    }
    return !p.failed;
}

// IDENTIFIER('db.' || 't'): only constant text, so that it can be resolved here.
struct fz_ast_name fz_sql_object_name(struct sql_parser *p) {
    if (!fz_sql_is(p, 0, "IDENTIFIER") || !fz_sql_is(p, 1, "(")) {
        return fz_sql_name(p);
    }
    struct fz_ast_name name = {.pos = fz_sql_pos(p)};
    p->at += 2;
    struct fz_buf text = {0};
    do {
        if (fz_sql_peek(p, 0)->kind != SQL_STRING) {
            fz_sql_unsupported(p, "IDENTIFIER of something other than constant text");
            break;
        }
        struct fz_str part = fz_sql_string_bytes(p);
        fz_buf_append(&text, part.ptr, part.len);
    } while (fz_sql_accept(p, "||"));
    fz_sql_expect(p, ")");
    if (!p->failed) {
        struct fz_str copy = {fz_sql_dup(p, (struct fz_str){text.ptr, text.len}), text.len};
        struct fz_pos pos = name.pos;
        if (!p->failed && !fz_sql_parse_name_text(p->arena, copy, &name, p->err)) {
            p->failed = true;
            p->at = p->n_tokens - 1;
        }
        name.pos = pos;
        fz_sql_end_pos(p, &name.pos);
    }
    fz_buf_dispose(&text);
    return name;
}

const char **fz_sql_ident_list(struct sql_parser *p, size_t *n) {
    const char **items = NULL;
    size_t cap = 0;
    *n = 0;
    do {
        const char **item = SQL_PUSH(p, items, *n, cap);
        *item = fz_sql_ident(p);
    } while (fz_sql_accept(p, ","));
    return items;
}

struct fz_str fz_sql_string_bytes(struct sql_parser *p) {
    const struct sql_token *t = fz_sql_peek(p, 0);
    if (t->kind != SQL_STRING) {
        fz_sql_syntax(p, "a string");
        return FZ_STR_LIT("");
    }
    size_t first = p->at, total = 0;
    while (fz_sql_peek(p, 0)->kind == SQL_STRING) {
        total += fz_sql_peek(p, 0)->value.len;
        p->at++;
    }
    if (p->at == first + 1) {
        return t->value;
    }
    char *joined = fz_arena_alloc(p->arena, total + 1);
    if (joined == NULL) {
        return (struct fz_str){out_of_memory(p, total), 0};
    }
    size_t n = 0;
    for (size_t i = first; i < p->at; i++) {
        memcpy(joined + n, p->tokens[i].value.ptr, p->tokens[i].value.len);
        n += p->tokens[i].value.len;
    }
    return (struct fz_str){joined, n};
}

const char *fz_sql_string(struct sql_parser *p) {
    struct fz_str text = fz_sql_string_bytes(p);
    if (text.len > 0 && memchr(text.ptr, 0, text.len) != NULL) {
        fz_sql_fail(p, FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR", "A NUL character is not allowed in this string");
    }
    return fz_sql_dup(p, text);
}

int64_t fz_sql_integer(struct sql_parser *p) {
    int64_t v = -1;
    bool negative = fz_sql_is(p, 0, "-");
    const struct sql_token *t = fz_sql_peek(p, negative);
    struct fz_str text = negative ? (struct fz_str){fz_sql_peek(p, 0)->raw.ptr,
                                                    (size_t)(t->raw.ptr + t->raw.len - fz_sql_peek(p, 0)->raw.ptr)}
                                  : t->raw;
    if (text.len > 0 && (text.ptr[text.len - 1] == 'L' || text.ptr[text.len - 1] == 'l')) {
        text.len--;
    }
    if (t->kind != SQL_NUMBER || !fz_parse_i64(text, &v)) {
        fz_sql_syntax(p, "a whole number");
        return -1;
    }
    p->at += negative ? 2 : 1;
    return v;
}

// a.b.c for messages and dotted lists.
const char *fz_sql_dotted(struct sql_parser *p, const struct fz_ast_name *name) {
    struct fz_buf text = {0};
    for (size_t i = 0; i < name->n; i++) {
        fz_buf_puts(&text, i > 0 ? "." : "");
        fz_buf_puts(&text, name->parts[i]);
    }
    const char *copy = fz_sql_dup(p, (struct fz_str){text.ptr, text.len});
    fz_buf_dispose(&text);
    return copy;
}

struct fz_pos fz_sql_pos(const struct sql_parser *p) {
    const struct sql_token *t = fz_sql_peek(p, 0);
    return (struct fz_pos){.line = t->line, .column = t->column, .offset = t->offset, .length = t->raw.len};
}
void fz_sql_end_pos(const struct sql_parser *p, struct fz_pos *pos) {
    if (p->at > 0) {
        const struct sql_token *t = &p->tokens[p->at - 1];
        if (t->offset + t->raw.len > pos->offset) {
            pos->length = t->offset + t->raw.len - pos->offset;
        }
    }
}
struct fz_str fz_sql_text_from(const struct sql_parser *p, size_t first_token) {
    if (first_token >= p->at) {
        return FZ_STR_LIT("");
    }
    size_t begin = p->tokens[first_token].offset;
    const struct sql_token *last = &p->tokens[p->at - 1];
    return (struct fz_str){p->sql.ptr + begin, last->offset + last->raw.len - begin};
}

static enum fz_code begin_parse(struct sql_parser *p, struct fz_arena *arena, struct fz_str sql, struct fz_err *err) {
    *p = (struct sql_parser){.arena = arena, .err = err, .sql = sql};
    return fz_sql_lex(arena, sql, &p->tokens, &p->n_tokens, err);
}
static enum fz_code end_parse(struct sql_parser *p, bool semicolon) {
    while (semicolon && fz_sql_accept(p, ";")) {
    }
    if (!p->failed && fz_sql_peek(p, 0)->kind != SQL_END) {
        fz_sql_syntax(p, NULL);
    }
    return p->failed ? p->err->code : FZ_OK;
}

enum fz_code fz_sql_parse(struct fz_arena *arena, struct fz_str sql, struct fz_ast_stmt **out, struct fz_err *err) {
    struct sql_parser p;
    enum fz_code rc = FZ_OK;
    FZ_TRY(begin_parse(&p, arena, sql, err));
    struct fz_ast_stmt *stmt = fz_sql_stmt(&p);
    FZ_TRY(end_parse(&p, true));
    *out = stmt;
out:
    return rc;
}
enum fz_code fz_sql_parse_query(struct fz_arena *arena, struct fz_str sql, struct fz_ast_query **out,
                                struct fz_err *err) {
    struct sql_parser p;
    enum fz_code rc = FZ_OK;
    FZ_TRY(begin_parse(&p, arena, sql, err));
    struct fz_ast_query *query = fz_sql_query(&p);
    FZ_TRY(end_parse(&p, true));
    *out = query;
out:
    return rc;
}
enum fz_code fz_sql_parse_expr(struct fz_arena *arena, struct fz_str sql, struct fz_ast_expr **out,
                               struct fz_err *err) {
    struct sql_parser p;
    enum fz_code rc = FZ_OK;
    FZ_TRY(begin_parse(&p, arena, sql, err));
    struct fz_ast_expr *expr = fz_sql_expr(&p);
    FZ_TRY(end_parse(&p, false));
    *out = expr;
out:
    return rc;
}
enum fz_code fz_sql_parse_type(struct fz_arena *arena, struct fz_str sql, const struct fz_type **out,
                               struct fz_err *err) {
    struct sql_parser p;
    enum fz_code rc = FZ_OK;
    FZ_TRY(begin_parse(&p, arena, sql, err));
    const struct fz_type *type = fz_sql_parse_type_at(&p);
    FZ_TRY(end_parse(&p, false));
    *out = type;
out:
    return rc;
}
enum fz_code fz_sql_parse_schema(struct fz_arena *arena, struct fz_str sql, const struct fz_type **out,
                                 struct fz_err *err) {
    struct sql_parser p;
    enum fz_code rc = FZ_OK;
    FZ_TRY(begin_parse(&p, arena, sql, err));
    p.lenient_types = true;
    // "a INT" or "a: INT" begins with a name and something that can follow no type
    bool fields =
        fz_sql_is_ident(&p, 0) && (fz_sql_is_ident(&p, 1) || fz_sql_is(&p, 1, ":")) && !fz_sql_is(&p, 0, "INTERVAL");
    const struct fz_type *type = fields ? fz_sql_fields(&p, NULL) : fz_sql_parse_type_at(&p);
    FZ_TRY(end_parse(&p, false));
    *out = type;
out:
    return rc;
}
