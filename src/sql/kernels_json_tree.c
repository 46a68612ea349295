// A tolerant JSON parser into a flat vector of nodes, reused from row to row. Strict where Jackson is strict by default.
#include "sql/kernels_priv.h"

#include <ctype.h>

enum { MAX_JSON_DEPTH = 1000, MAX_JSON_NODES = 1 << 24 };

static int32_t parse_value(struct fz_json_tree *t, int depth);

static int32_t new_node(struct fz_json_tree *t, enum fz_json_kind kind, struct fz_str text) {
    struct fz_err err = FZ_ERR_INIT;
    if (t->n_nodes >= MAX_JSON_NODES ||
        fz_grow((void **)&t->nodes, &t->cap_nodes, t->n_nodes + 1, sizeof *t->nodes, &err) != FZ_OK) {
        return -1;
    }
    t->nodes[t->n_nodes] = (struct fz_json_node){.kind = kind, .text = text, .child = -1, .next = -1};
    return (int32_t)t->n_nodes++;
}

static bool skip_space(struct fz_json_tree *t) {
    for (;;) {
        while (t->p < t->end && (*t->p == ' ' || *t->p == '\t' || *t->p == '\n' || *t->p == '\r')) {
            t->p++;
        }
        if (!t->comments || t->end - t->p < 2 || *t->p != '/') {
            return t->p < t->end;
        }
        if (t->p[1] == '/') {
            while (t->p < t->end && *t->p != '\n') {
                t->p++;
            }
        } else if (t->p[1] == '*') {
            const char *q = t->p + 2;
            while (q + 1 < t->end && !(q[0] == '*' && q[1] == '/')) {
                q++;
            }
            if (q + 1 >= t->end) {
                return false;
            }
            t->p = q + 2;
        } else {
            return true;
        }
    }
}

static int hex4(const char *p, const char *end) {
    int v = 0;
    for (int i = 0; i < 4; i++) {
        if (p + i >= end || !isxdigit((unsigned char)p[i])) {
            return -1;
        }
        int c = p[i];
        v = v * 16 + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return v;
}

static char *put_utf8(char *to, uint32_t v) {
    if (v < 0x80) {
        *to++ = (char)v;
    } else if (v < 0x800) {
        *to++ = (char)(0xc0 | v >> 6);
        *to++ = (char)(0x80 | (v & 0x3f));
    } else if (v < 0x10000) {
        *to++ = (char)(0xe0 | v >> 12);
        *to++ = (char)(0x80 | (v >> 6 & 0x3f));
        *to++ = (char)(0x80 | (v & 0x3f));
    } else {
        *to++ = (char)(0xf0 | v >> 18);
        *to++ = (char)(0x80 | (v >> 12 & 0x3f));
        *to++ = (char)(0x80 | (v >> 6 & 0x3f));
        *to++ = (char)(0x80 | (v & 0x3f));
    }
    return to;
}

// One escape behind the backslash at *p; false when it is none.
static bool read_escape(const struct fz_json_tree *t, const char **p, char **to) {
    static const char from[] = "bfnrt", into[] = "\b\f\n\r\t";
    char c = **p;
    const char *at = c ? strchr(from, c) : NULL;
    if (at != NULL) {
        *(*to)++ = into[at - from];
        (*p)++;
        return true;
    }
    if (c == 'u') {
        int v = hex4(*p + 1, t->end);
        if (v < 0) {
            return false;
        }
        *p += 5;
        if (v >= 0xd800 && v < 0xdc00 && t->end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
            int low = hex4(*p + 2, t->end);
            if (low >= 0xdc00 && low < 0xe000) {
                *to = put_utf8(*to, 0x10000u + (((uint32_t)v - 0xd800u) << 10) + ((uint32_t)low - 0xdc00u));
                *p += 6;
                return true;
            }
        }
        *to = put_utf8(*to, v >= 0xd800 && v < 0xe000 ? 0xfffdu : (uint32_t)v); // a lone surrogate is no text
        return true;
    }
    if (c == '"' || c == '\\' || c == '/' || t->any_escape || (c == '\'' && !t->no_single_quotes)) {
        *(*to)++ = c;
        (*p)++;
        return true;
    }
    return false;
}

static bool read_text(struct fz_json_tree *t, struct fz_str *out) {
    char quote = *t->p++;
    const char *start = t->p, *p = start;
    while (p < t->end && *p != quote && *p != '\\') {
        if ((unsigned char)*p < ' ' && !t->control_characters) {
            return false;
        }
        p++;
    }
    if (p >= t->end) {
        return false;
    }
    if (*p == quote) { // nothing to decode
        *out = (struct fz_str){start, (size_t)(p - start)};
        t->p = p + 1;
        return true;
    }
    const char *stop = p; // the end, for the size
    while (stop < t->end && *stop != quote) {
        stop += *stop == '\\' && stop + 1 < t->end ? 2 : 1;
    }
    char *text = fz_arena_alloc(&t->texts, (size_t)(stop - start) + 4), *to = text;
    if (text == NULL) {
        return false;
    }
    memcpy(to, start, (size_t)(p - start));
    to += p - start;
    while (p < t->end && *p != quote) {
        if (*p == '\\') {
            p++;
            if (p >= t->end || !read_escape(t, &p, &to)) {
                return false;
            }
        } else {
            if ((unsigned char)*p < ' ' && !t->control_characters) {
                return false;
            }
            *to++ = *p++;
        }
    }
    if (p >= t->end) {
        return false;
    }
    *out = (struct fz_str){text, (size_t)(to - text)};
    t->p = p + 1;
    return true;
}

static bool is_quote(const struct fz_json_tree *t) {
    return *t->p == '"' || (*t->p == '\'' && !t->no_single_quotes);
}

static bool read_key(struct fz_json_tree *t, struct fz_str *out) {
    if (is_quote(t)) {
        return read_text(t, out);
    }
    const char *start = t->p;
    while (t->unquoted_names && t->p < t->end &&
           (isalnum((unsigned char)*t->p) || *t->p == '_' || *t->p == '$' || (*t->p & 0x80))) {
        t->p++;
    }
    *out = (struct fz_str){start, (size_t)(t->p - start)};
    return t->p > start;
}

static bool word(struct fz_json_tree *t, const char *text) {
    size_t n = strlen(text);
    if ((size_t)(t->end - t->p) < n || memcmp(t->p, text, n) != 0) {
        return false;
    }
    if (t->p + n < t->end && (isalnum((unsigned char)t->p[n]) || t->p[n] == '_')) {
        return false;
    }
    t->p += n;
    return true;
}

static int32_t read_number(struct fz_json_tree *t) {
    const char *start = t->p;
    bool negative = *t->p == '-', real = false;
    t->p += negative || (*t->p == '+' && !t->no_nan);
    if (!t->no_nan && (word(t, "Infinity") || word(t, "INF"))) {
        return new_node(t, FZ_JSON_NAN, negative ? FZ_STR_LIT("-Infinity") : FZ_STR_LIT("Infinity"));
    }
    if (*start == '+') {
        return -1;
    }
    const char *digits = t->p;
    while (t->p < t->end && isdigit((unsigned char)*t->p)) {
        t->p++;
    }
    if (t->p == digits || (!t->leading_zeros && *digits == '0' && t->p - digits > 1)) {
        return -1;
    }
    if (t->p < t->end && *t->p == '.') {
        const char *fraction = ++t->p;
        real = true;
        while (t->p < t->end && isdigit((unsigned char)*t->p)) {
            t->p++;
        }
        if (t->p == fraction) {
            return -1;
        }
    }
    if (t->p < t->end && (*t->p == 'e' || *t->p == 'E')) {
        real = true;
        t->p++;
        t->p += t->p < t->end && (*t->p == '+' || *t->p == '-');
        const char *exponent = t->p;
        while (t->p < t->end && isdigit((unsigned char)*t->p)) {
            t->p++;
        }
        if (t->p == exponent) {
            return -1;
        }
    }
    if (t->p < t->end && (isalnum((unsigned char)*t->p) || *t->p == '_' || *t->p == '.')) {
        return -1;
    }
    while (digits + 1 < t->p && *digits == '0' && isdigit((unsigned char)digits[1])) {
        digits++; // leading zeros that were allowed
    }
    if (negative && digits > start + 1) {
        char *text = fz_arena_alloc(&t->texts, (size_t)(t->p - digits) + 1);
        if (text == NULL) {
            return -1;
        }
        *text = '-';
        memcpy(text + 1, digits, (size_t)(t->p - digits));
        return new_node(t, real ? FZ_JSON_FLOAT : FZ_JSON_INTEGER, (struct fz_str){text, (size_t)(t->p - digits) + 1});
    }
    const char *from = negative ? start : digits;
    return new_node(t, real ? FZ_JSON_FLOAT : FZ_JSON_INTEGER, (struct fz_str){from, (size_t)(t->p - from)});
}

static int32_t read_container(struct fz_json_tree *t, bool object, int depth) {
    int32_t self = new_node(t, object ? FZ_JSON_OBJECT : FZ_JSON_ARRAY, (struct fz_str){t->p, 0}), last = -1;
    char close = object ? '}' : ']';
    t->p++;
    if (self < 0 || !skip_space(t)) {
        return -1;
    }
    if (*t->p == close) {
        t->p++;
        return self;
    }
    for (;;) {
        struct fz_str key = {0};
        if (!skip_space(t)) {
            return -1;
        }
        if (object) {
            if (!read_key(t, &key) || !skip_space(t) || *t->p++ != ':' || !skip_space(t)) {
                return -1;
            }
        }
        int32_t item = parse_value(t, depth + 1);
        if (item < 0) {
            return -1;
        }
        t->nodes[item].key = key;
        if (last < 0) {
            t->nodes[self].child = item;
        } else {
            t->nodes[last].next = item;
        }
        last = item;
        if (!skip_space(t)) {
            return -1;
        }
        if (*t->p == close) {
            t->p++;
            return self;
        }
        if (*t->p++ != ',') {
            return -1;
        }
    }
}

static int32_t parse_value(struct fz_json_tree *t, int depth) {
    struct fz_str text;
    if (depth > MAX_JSON_DEPTH || !skip_space(t)) {
        return -1;
    }
    switch (*t->p) {
    case '{':
    case '[':
        return read_container(t, *t->p == '{', depth);
    case 't':
        return word(t, "true") ? new_node(t, FZ_JSON_TRUE, FZ_STR_LIT("true")) : -1;
    case 'f':
        return word(t, "false") ? new_node(t, FZ_JSON_FALSE, FZ_STR_LIT("false")) : -1;
    case 'n':
        return word(t, "null") ? new_node(t, FZ_JSON_NULL, FZ_STR_LIT("null")) : -1;
    case 'N':
        return !t->no_nan && word(t, "NaN") ? new_node(t, FZ_JSON_NAN, FZ_STR_LIT("NaN")) : -1;
    case 'I':
        return !t->no_nan && word(t, "Infinity") ? new_node(t, FZ_JSON_NAN, FZ_STR_LIT("Infinity")) : -1;
    default:
        if (is_quote(t)) {
            return read_text(t, &text) ? new_node(t, FZ_JSON_TEXT, text) : -1;
        }
        return *t->p == '-' || *t->p == '+' || isdigit((unsigned char)*t->p) ? read_number(t) : -1;
    }
}

bool fz_json_parse(struct fz_json_tree *t, struct fz_str text) {
    if (t->texts.used_bytes > 1 << 20) {
        fz_arena_dispose(&t->texts);
    }
    t->n_nodes = 0;
    t->p = text.ptr;
    t->end = text.ptr + text.len;
    return text.len > 0 && parse_value(t, 0) == 0;
}

void fz_json_dispose(struct fz_json_tree *t) {
    fz_free(t->nodes);
    fz_arena_dispose(&t->texts);
    t->nodes = NULL;
}

void fz_json_number(struct fz_buf *out, const struct fz_json_node *n) {
    double v;
    if (n->kind == FZ_JSON_FLOAT && fz_parse_double(n->text, &v)) {
        fz_java_double(out, v);
    } else if (n->kind == FZ_JSON_NAN) {
        fz_json_text(out, n->text);
    } else if (n->kind == FZ_JSON_INTEGER && n->text.len == 2 && memcmp(n->text.ptr, "-0", 2) == 0) {
        fz_buf_putc(out, '0');
    } else {
        fz_buf_append(out, n->text.ptr, n->text.len);
    }
}

void fz_json_print(struct fz_buf *out, const struct fz_json_tree *t, int32_t node) {
    const struct fz_json_node *n = &t->nodes[node];
    switch (n->kind) {
    case FZ_JSON_TEXT:
        fz_json_text(out, n->text);
        return;
    case FZ_JSON_ARRAY:
    case FZ_JSON_OBJECT:
        fz_buf_putc(out, n->kind == FZ_JSON_ARRAY ? '[' : '{');
        for (int32_t c = n->child; c >= 0; c = t->nodes[c].next) {
            fz_buf_puts(out, c == n->child ? "" : ",");
            if (n->kind == FZ_JSON_OBJECT) {
                fz_json_text(out, t->nodes[c].key);
                fz_buf_putc(out, ':');
            }
            fz_json_print(out, t, c);
        }
        fz_buf_putc(out, n->kind == FZ_JSON_ARRAY ? ']' : '}');
        return;
    case FZ_JSON_NULL:
    case FZ_JSON_TRUE:
    case FZ_JSON_FALSE:
    case FZ_JSON_INTEGER:
    case FZ_JSON_FLOAT:
    case FZ_JSON_NAN:
        fz_json_number(out, n);
        return;
    }
}
