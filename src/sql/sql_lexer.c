// SQL text to tokens: names, strings with their escapes, numbers with their suffixes, operators; comments and hints are dropped.
#include "sql/sql_parse.h"

struct lexer {
    struct fz_arena *arena;
    struct fz_str sql;
    size_t at;
    int line;
    size_t line_start;
    size_t counted; // characters of this line up to here are in `chars`
    int chars;
    struct sql_token *tokens;
    size_t n, cap;
    struct fz_err *err;
};

// Rejects with the line of the text and a caret under the place, as Spark shows it.
enum fz_code fz_sql_fail_at(struct fz_err *err, enum fz_code code, const char *condition, struct fz_str sql,
                            size_t offset, size_t len, int line, int column, const char *message) {
    size_t begin = offset < sql.len ? offset : sql.len, end = begin;
    while (begin > 0 && sql.ptr[begin - 1] != '\n' && offset - begin < 100) {
        begin--;
    }
    while (begin < offset && ((unsigned char)sql.ptr[begin] & 0xc0) == 0x80) {
        begin++; // not in the middle of a character
    }
    while (end < sql.len && sql.ptr[end] != '\n' && end - offset < 60) {
        end++;
    }
    while (end < sql.len && end > offset && ((unsigned char)sql.ptr[end] & 0xc0) == 0x80) {
        end--;
    }
    struct fz_buf caret = {0};
    for (size_t i = begin; i < offset && i < sql.len; i++) {
        if (((unsigned char)sql.ptr[i] & 0xc0) != 0x80) {
            fz_buf_putc(&caret, sql.ptr[i] == '\t' ? '\t' : '-');
        }
    }
    size_t n_carets =
        offset < sql.len ? fz_utf8_length(sql.ptr + offset, len < sql.len - offset ? len : sql.len - offset) : 1;
    n_carets = n_carets < 1 ? 1 : n_carets > 40 ? 40 : n_carets;
    for (size_t i = 0; i < n_carets; i++) {
        fz_buf_putc(&caret, '^');
    }
    enum fz_code rc =
        fz_fail_cond(err, code, condition, "%s (line %d, column %d)\n%.*s\n%s", message, line, column,
                     (int)(end - begin), sql.ptr == NULL ? "" : sql.ptr + begin, caret.ptr == NULL ? "^" : caret.ptr);
    fz_err_at(err, line, column);
    fz_buf_dispose(&caret);
    return rc;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
static bool is_word(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (unsigned char)c >= 0x80;
}
static char at(const struct lexer *x, size_t i) {
    return i < x->sql.len ? x->sql.ptr[i] : 0;
}

// The column of a byte of the current line, in characters. Goes forward only, so a long line is counted once.
static int column_of(struct lexer *x, size_t offset) {
    if (x->counted < x->line_start) {
        x->counted = x->line_start;
        x->chars = 0;
    }
    for (; x->counted < offset; x->counted++) {
        x->chars += ((unsigned char)x->sql.ptr[x->counted] & 0xc0) != 0x80;
    }
    return x->chars + 1;
}

static enum fz_code fail_here(struct lexer *x, size_t offset, const char *message) {
    return fz_sql_fail_at(x->err, FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR", x->sql, offset, 1, x->line, column_of(x, offset),
                          message);
}

// Comments nest, as in Spark. `i` stands on the slash; returns the place behind, or 0 when unclosed.
static size_t skip_block_comment(struct fz_str sql, size_t i) {
    int depth = 0;
    while (i + 1 < sql.len) {
        if (sql.ptr[i] == '/' && sql.ptr[i + 1] == '*') {
            depth++;
            i += 2;
        } else if (sql.ptr[i] == '*' && sql.ptr[i + 1] == '/') {
            depth--;
            i += 2;
            if (depth == 0) {
                return i;
            }
        } else {
            i++;
        }
    }
    return 0;
}
static size_t skip_line_comment(struct fz_str sql, size_t i) {
    while (i < sql.len && sql.ptr[i] != '\n') {
        i += sql.ptr[i] == '\\' && i + 1 < sql.len && sql.ptr[i + 1] == '\n' ? 2u : 1u;
    }
    return i;
}

static void count_lines(struct lexer *x, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        if (x->sql.ptr[i] == '\n') {
            x->line++;
            x->line_start = i + 1;
        }
    }
}

static enum fz_code skip_blanks(struct lexer *x) {
    while (x->at < x->sql.len) {
        char c = x->sql.ptr[x->at];
        size_t next = x->at;
        if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
            next = x->at + 1;
        } else if (c == (char)0xc2 && at(x, x->at + 1) == (char)0xa0) {
            next = x->at + 2; // no-break space, comes with pasted text
        } else if (c == '-' && at(x, x->at + 1) == '-') {
            next = skip_line_comment(x->sql, x->at);
        } else if (c == '/' && at(x, x->at + 1) == '*') {
            next = skip_block_comment(x->sql, x->at);
            if (next == 0) {
                return fail_here(x, x->at, "Found an unclosed bracketed comment");
            }
        } else {
            return FZ_OK;
        }
        count_lines(x, x->at, next);
        x->at = next;
    }
    return FZ_OK;
}

static size_t put_utf8(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c < 0x800) {
        out[0] = (char)(0xc0 | (c >> 6));
        out[1] = (char)(0x80 | (c & 0x3f));
        return 2;
    }
    if (c < 0x10000) {
        out[0] = (char)(0xe0 | (c >> 12));
        out[1] = (char)(0x80 | ((c >> 6) & 0x3f));
        out[2] = (char)(0x80 | (c & 0x3f));
        return 3;
    }
    out[0] = (char)(0xf0 | (c >> 18));
    out[1] = (char)(0x80 | ((c >> 12) & 0x3f));
    out[2] = (char)(0x80 | ((c >> 6) & 0x3f));
    out[3] = (char)(0x80 | (c & 0x3f));
    return 4;
}

static bool hex_at(struct fz_str s, size_t i, size_t n, uint32_t *out) {
    if (i + n > s.len) {
        return false;
    }
    uint32_t v = 0;
    for (size_t k = 0; k < n; k++) {
        char c = s.ptr[i + k];
        uint32_t d = is_digit(c)              ? (uint32_t)(c - '0')
                     : (c >= 'a' && c <= 'f') ? (uint32_t)(c - 'a' + 10)
                     : (c >= 'A' && c <= 'F') ? (uint32_t)(c - 'A' + 10)
                                              : 16;
        if (d > 15) {
            return false;
        }
        v = v * 16 + d;
    }
    *out = v;
    return true;
}

// One backslash escape at s[i] (which is the backslash). Writes at most 4 bytes, returns how many were read.
static size_t unescape(struct fz_str s, size_t i, char *out, size_t *written) {
    char c = i + 1 < s.len ? s.ptr[i + 1] : '\\';
    uint32_t v = 0, low = 0;
    *written = 1;
    if (c == 'u' && hex_at(s, i + 2, 4, &v)) {
        if (v >= 0xd800 && v < 0xdc00 && i + 7 < s.len && s.ptr[i + 6] == '\\' && s.ptr[i + 7] == 'u' &&
            hex_at(s, i + 8, 4, &low) && low >= 0xdc00 && low < 0xe000) {
            *written = put_utf8(out, 0x10000 + ((v - 0xd800) << 10) + (low - 0xdc00));
            return 12;
        }
        *written = put_utf8(out, v >= 0xd800 && v < 0xe000 ? (uint32_t)'?' : v); // a lone surrogate, as Java encodes it
        return 6;
    }
    if (c == 'U' && hex_at(s, i + 2, 8, &v)) {
        *written = put_utf8(out, v > 0x10ffff || (v >= 0xd800 && v < 0xe000) ? (uint32_t)'?' : v);
        return 10;
    }
    if (c >= '0' && c <= '1' && i + 3 < s.len && s.ptr[i + 2] >= '0' && s.ptr[i + 2] <= '7' && s.ptr[i + 3] >= '0' &&
        s.ptr[i + 3] <= '7') {
        v = (uint32_t)((c - '0') * 64 + (s.ptr[i + 2] - '0') * 8 + (s.ptr[i + 3] - '0'));
        *written = put_utf8(out, v);
        return 4;
    }
    static const char from[] = "0bnrtZ", to[] = {0, '\b', '\n', '\r', '\t', 26};
    const char *known = c == 0 ? NULL : strchr(from, c);
    if (known != NULL) {
        out[0] = to[known - from];
        return 2;
    }
    if (c == '%' || c == '_') {
        out[0] = '\\';
        out[1] = c;
        *written = 2;
        return 2;
    }
    out[0] = c;
    return 2;
}

// Where the string or quoted name that begins at `i` ends (behind the closing quote), 0 when unclosed.
static size_t find_close(struct fz_str sql, size_t i, bool raw) {
    char quote = sql.ptr[i];
    for (i++; i < sql.len; i++) {
        if (sql.ptr[i] == '\\' && quote != '`' && !raw) {
            i++;
        } else if (sql.ptr[i] == quote) {
            if (!raw && i + 1 < sql.len && sql.ptr[i + 1] == quote) {
                i++;
                continue;
            }
            return i + 1;
        }
    }
    return 0;
}

static enum fz_code decode_quoted(struct lexer *x, struct fz_str body, char quote, bool raw, struct fz_str *out) {
    if (raw || (memchr(body.ptr, '\\', body.len) == NULL && memchr(body.ptr, quote, body.len) == NULL)) {
        *out = body;
        return FZ_OK;
    }
    char *text = fz_arena_alloc(x->arena, body.len + 8); // no escape grows
    if (text == NULL) {
        return fz_fail_nomem(x->err, body.len);
    }
    size_t n = 0;
    for (size_t i = 0; i < body.len;) {
        if (body.ptr[i] == '\\' && quote != '`') {
            size_t written = 0;
            i += unescape(body, i, text + n, &written);
            n += written;
        } else {
            text[n++] = body.ptr[i];
            i += body.ptr[i] == quote ? 2u : 1u;
        }
    }
    *out = (struct fz_str){text, n};
    return FZ_OK;
}

// Digits with fraction, exponent and suffix; 0 when the text here is a name that begins with digits.
static size_t number_end(const struct lexer *x, size_t i) {
    size_t begin = i;
    while (is_digit(at(x, i))) {
        i++;
    }
    bool fraction = false;
    if (at(x, i) == '.' && !(begin == i && !is_digit(at(x, i + 1)))) {
        // 1.5, .5, 1. — but not the dot of 1.e or of a range of names
        fraction = true;
        i++;
        while (is_digit(at(x, i))) {
            i++;
        }
    }
    size_t digits_end = i;
    if (at(x, i) == 'e' || at(x, i) == 'E') {
        size_t k = i + 1;
        if (at(x, k) == '+' || at(x, k) == '-') {
            k++;
        }
        if (is_digit(at(x, k))) {
            while (is_digit(at(x, k))) {
                k++;
            }
            i = k;
        }
    }
    bool plain = i == digits_end && !fraction;
    char c = (char)(at(x, i) | 0x20);
    if (c == 'b' && (at(x, i + 1) | 0x20) == 'd' && !is_word(at(x, i + 2))) {
        return i + 2;
    }
    if ((c == 'd' || c == 'f' || (plain && (c == 'l' || c == 's' || c == 'y'))) && !is_word(at(x, i + 1))) {
        return i + 1;
    }
    if (is_word(at(x, i))) {
        return 0;
    }
    return i;
}

static size_t op_length(const struct lexer *x) {
    static const char *const ops[] = {"<=>", "<=", ">=", "<>", "!=", "==", "!<",
                                      "!>",  "||", "|>", "->", "=>", "::", "<<"};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        size_t n = strlen(ops[i]);
        if (x->at + n <= x->sql.len && memcmp(x->sql.ptr + x->at, ops[i], n) == 0) {
            return n;
        }
    }
    return strchr("+-*/%&|^~=<>!.,;()[]{}:?@#$\\", x->sql.ptr[x->at]) != NULL && x->sql.ptr[x->at] != 0 ? 1 : 0;
}

static enum fz_code add(struct lexer *x, enum sql_token_kind kind, size_t end, struct fz_str value) {
    if (x->n == x->cap) {
        if (x->n >= SQL_MAX_TOKENS) {
            return fail_here(x, x->at, "The statement is too long");
        }
        size_t cap = x->cap == 0 ? x->sql.len / 8 + 16 : x->cap * 2;
        struct sql_token *grown = fz_arena_array(x->arena, cap, sizeof *grown);
        if (grown == NULL) {
            return fz_fail_nomem(x->err, cap * sizeof *grown);
        }
        if (x->n > 0) {
            memcpy(grown, x->tokens, x->n * sizeof *grown);
        }
        x->tokens = grown;
        x->cap = cap;
    }
    struct fz_str raw = {x->sql.ptr + x->at, end - x->at};
    x->tokens[x->n++] = (struct sql_token){.kind = kind,
                                           .raw = raw,
                                           .value = value.ptr == NULL ? raw : value,
                                           .offset = x->at,
                                           .line = x->line,
                                           .column = column_of(x, x->at)};
    if (kind == SQL_STRING || kind == SQL_QUOTED) {
        count_lines(x, x->at, end);
    }
    x->at = end;
    return FZ_OK;
}

static enum fz_code lex_quoted(struct lexer *x, size_t quote_at, bool raw) {
    char quote = x->sql.ptr[quote_at];
    size_t end = find_close(x->sql, quote_at, raw);
    if (end == 0) {
        return fail_here(x, x->at, quote == '`' ? "The quoted name is not closed" : "The string is not closed");
    }
    struct fz_str value;
    enum fz_code rc =
        decode_quoted(x, (struct fz_str){x->sql.ptr + quote_at + 1, end - quote_at - 2}, quote, raw, &value);
    return rc != FZ_OK ? rc : add(x, quote == '`' ? SQL_QUOTED : SQL_STRING, end, value);
}

static enum fz_code lex_one(struct lexer *x) {
    char c = x->sql.ptr[x->at], next = at(x, x->at + 1);
    if ((c == 'r' || c == 'R') && (next == '\'' || next == '"')) {
        return lex_quoted(x, x->at + 1, true);
    }
    if (c == '\'' || c == '"' || c == '`') {
        return lex_quoted(x, x->at, false);
    }
    if (is_digit(c) || (c == '.' && is_digit(next))) {
        size_t end = number_end(x, x->at);
        if (end > 0) {
            return add(x, SQL_NUMBER, end, (struct fz_str){0});
        }
    }
    if (is_word(c)) {
        size_t end = x->at;
        while (is_word(at(x, end))) {
            end++;
        }
        return add(x, SQL_WORD, end, (struct fz_str){0});
    }
    size_t n = op_length(x);
    if (n == 0) {
        return fail_here(x, x->at, "Unexpected character");
    }
    return add(x, SQL_OP, x->at + n, (struct fz_str){0});
}

enum fz_code fz_sql_lex(struct fz_arena *arena, struct fz_str sql, struct sql_token **out, size_t *n,
                        struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct lexer x = {.arena = arena, .sql = sql, .line = 1, .err = err};
    if (sql.len > 0x7fffffff) {
        return fz_fail_cond(err, FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR", "The statement is longer than 2 GB");
    }
    if (!fz_utf8_valid(sql.ptr == NULL ? "" : sql.ptr, sql.len)) {
        return fz_fail_cond(err, FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR", "The statement is not valid UTF-8 text");
    }
    for (;;) {
        FZ_TRY(skip_blanks(&x));
        if (x.at >= sql.len) {
            break;
        }
        FZ_TRY(lex_one(&x));
    }
    FZ_TRY(add(&x, SQL_END, x.at, FZ_STR_LIT("")));
    *out = x.tokens;
    *n = x.n;
out:
    return rc;
}

// Steps over one comment, string or quoted name at `i`; anything else is one byte.
static size_t skip_unit(struct fz_str s, size_t i) {
    char c = s.ptr[i], next = i + 1 < s.len ? s.ptr[i + 1] : 0;
    size_t end = i + 1;
    if (c == '-' && next == '-') {
        end = skip_line_comment(s, i);
    } else if (c == '/' && next == '*') {
        end = skip_block_comment(s, i);
    } else if ((c == 'r' || c == 'R') && (next == '\'' || next == '"') && (i == 0 || !is_word(s.ptr[i - 1]))) {
        end = find_close(s, i + 1, true);
    } else if (c == '\'' || c == '"' || c == '`') {
        end = find_close(s, i, false);
    }
    return end == 0 ? s.len : end; // unclosed: the rest is one statement, and the parser says so
}

// Does the text at `i` begin a compound block (BEGIN not followed by TRANSACTION or the end)?
static bool begins_block(struct fz_str s, size_t i) {
    struct fz_str word = {s.ptr + i, 5};
    return i + 5 < s.len && fz_str_ieq(word, FZ_STR_LIT("BEGIN")) && !is_word(s.ptr[i + 5]) && s.ptr[i + 5] != ';';
}

enum fz_code fz_sql_split(struct fz_arena *arena, struct fz_str sql, struct fz_sql_piece **out, size_t *n,
                          struct fz_err *err) {
    struct fz_sql_piece *pieces = NULL;
    size_t count = 0, cap = 0, content = SIZE_MAX;
    int line = 1, content_line = 1;
    bool block = false;
    for (size_t i = 0; i <= sql.len;) {
        bool at_end = i == sql.len;
        if (at_end || (sql.ptr[i] == ';' && !block)) {
            if (content != SIZE_MAX) {
                if (count == cap) {
                    size_t grown_cap = cap * 2 + 16;
                    struct fz_sql_piece *grown = fz_arena_array(arena, grown_cap, sizeof *grown);
                    if (grown == NULL) {
                        return fz_fail_nomem(err, grown_cap * sizeof *grown);
                    }
                    if (count > 0) {
                        memcpy(grown, pieces, count * sizeof *grown);
                    }
                    pieces = grown;
                    cap = grown_cap;
                }
                size_t end = i;
                while (end > content && strchr(" \t\r\n", sql.ptr[end - 1]) != NULL) {
                    end--;
                }
                pieces[count++] = (struct fz_sql_piece){{sql.ptr + content, end - content}, content_line};
            }
            content = SIZE_MAX;
            if (at_end) {
                break;
            }
            i++;
            continue;
        }
        char c = sql.ptr[i];
        size_t next = skip_unit(sql, i);
        bool comment = (c == '-' || c == '/') && next > i + 1;
        if (content == SIZE_MAX && !comment && strchr(" \t\r\n", c) == NULL) {
            content = i;
            content_line = line;
            block = begins_block(sql, i);
        }
        for (size_t k = i; k < next; k++) {
            line += sql.ptr[k] == '\n';
        }
        i = next;
    }
    *out = pieces;
    *n = count;
    return FZ_OK;
}
