// The JSON reader: see json.h.
#include "cdc/json.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "base/text.h"

static bool fail(struct fz_json *json, const char *text) {
    if (json->error == NULL) {
        json->error = text;
        json->p = json->end;
    }
    return false;
}

void fz_json_init(struct fz_json *json, struct fz_str text, struct fz_arena *arena) {
    *json = (struct fz_json){.p = text.ptr, .end = text.ptr == NULL ? NULL : text.ptr + text.len, .arena = arena};
}

static inline void blanks(struct fz_json *json) {
    while (json->p < json->end && (*json->p == ' ' || *json->p == '\n' || *json->p == '\t' || *json->p == '\r')) {
        json->p++;
    }
}

enum fz_json_kind fz_json_peek(struct fz_json *json) {
    blanks(json);
    if (json->error != NULL || json->p >= json->end) {
        return FZ_JSON_END;
    }
    switch (*json->p) {
    case '{':
        return FZ_JSON_OBJECT;
    case '[':
        return FZ_JSON_ARRAY;
    case '"':
        return FZ_JSON_STRING;
    case 't':
    case 'f':
        return FZ_JSON_BOOL;
    case 'n':
        return FZ_JSON_NULL;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return FZ_JSON_NUMBER;
    default:
        fail(json, "a character that begins no JSON value");
        return FZ_JSON_END;
    }
}

// Moves behind the closing quote of a string whose opening quote has been passed. *escapes: it has backslashes.
static bool string_end(struct fz_json *json, bool *escapes) {
    const char *p = json->p, *end = json->end;
    while (p < end) {
        while (end - p >= 8) { // eight bytes without a quote, a backslash or a control character
            const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
            uint64_t w, quote, backslash;
            memcpy(&w, p, 8);
            quote = w ^ ones * '"';
            backslash = w ^ ones * '\\';
            w = (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | ((w - ones * 0x20) & ~w)) & high;
            if (w != 0) { // the lowest mark is exact, those above it may be carries
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
                p += __builtin_ctzll(w) / 8;
#endif
                break;
            }
            p += 8;
        }
        if (p >= end) {
            break;
        }
        unsigned char c = (unsigned char)*p;
        if (c == '"') {
            json->p = p + 1;
            return true;
        }
        if (c == '\\') {
            *escapes = true;
            p++;
            if (p >= end) {
                break;
            }
        } else if (c < 0x20) {
            return fail(json, "a control character inside a string");
        }
        p++;
    }
    return fail(json, "a string without end");
}

static bool hex4(const char *p, const char *end, unsigned *out) {
    if (end - p < 4) {
        return false;
    }
    unsigned v = 0;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        unsigned d;
        if (c >= '0' && c <= '9') {
            d = (unsigned)(c - '0');
        } else if (c >= 'a' && c <= 'f') {
            d = (unsigned)(c - 'a') + 10;
        } else if (c >= 'A' && c <= 'F') {
            d = (unsigned)(c - 'A') + 10;
        } else {
            return false;
        }
        v = v << 4 | d;
    }
    *out = v;
    return true;
}

static char *put_utf8(char *o, unsigned c) {
    if (c < 0x80) {
        *o++ = (char)c;
    } else if (c < 0x800) {
        *o++ = (char)(0xc0 | c >> 6);
        *o++ = (char)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *o++ = (char)(0xe0 | c >> 12);
        *o++ = (char)(0x80 | (c >> 6 & 0x3f));
        *o++ = (char)(0x80 | (c & 0x3f));
    } else {
        *o++ = (char)(0xf0 | c >> 18);
        *o++ = (char)(0x80 | (c >> 12 & 0x3f));
        *o++ = (char)(0x80 | (c >> 6 & 0x3f));
        *o++ = (char)(0x80 | (c & 0x3f));
    }
    return o;
}

// \uXXXX at p (behind the u), with its second half where it is a surrogate.
static const char *unescape_unicode(const char *p, const char *end, char **o) {
    unsigned c, low;
    if (!hex4(p, end, &c)) {
        return NULL;
    }
    p += 4;
    if (c >= 0xd800 && c < 0xdc00) {
        if (end - p < 6 || p[0] != '\\' || p[1] != 'u' || !hex4(p + 2, end, &low) || low < 0xdc00 || low > 0xdfff) {
            return NULL;
        }
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        p += 6;
    } else if (c >= 0xdc00 && c <= 0xdfff) {
        return NULL;
    }
    *o = put_utf8(*o, c);
    return p;
}

static bool unescape(struct fz_json *json, const char *from, const char *to, struct fz_str *out) {
    char *text = fz_arena_alloc(json->arena, (size_t)(to - from) + 1);
    if (text == NULL) {
        return fail(json, "out of memory");
    }
    char *o = text;
    for (const char *p = from; p < to;) {
        if (*p != '\\') {
            *o++ = *p++;
            continue;
        }
        char c = p[1]; // string_end saw to it that there is one
        p += 2;
        switch (c) {
        case '"':
        case '\\':
        case '/':
            *o++ = c;
            break;
        case 'b':
            *o++ = '\b';
            break;
        case 'f':
            *o++ = '\f';
            break;
        case 'n':
            *o++ = '\n';
            break;
        case 'r':
            *o++ = '\r';
            break;
        case 't':
            *o++ = '\t';
            break;
        case 'u':
            p = unescape_unicode(p, to, &o);
            if (p == NULL) {
                return fail(json, "a \\u escape that is no character");
            }
            break;
        default:
            return fail(json, "an unknown escape inside a string");
        }
    }
    *out = (struct fz_str){text, (size_t)(o - text)};
    return true;
}

bool fz_json_read_string(struct fz_json *json, struct fz_str *out) {
    if (fz_json_peek(json) != FZ_JSON_STRING) {
        return fail(json, "a string was expected");
    }
    const char *from = ++json->p;
    bool escapes = false;
    if (!string_end(json, &escapes)) {
        return false;
    }
    const char *to = json->p - 1;
    if (escapes) {
        return unescape(json, from, to, out);
    }
    *out = (struct fz_str){from, (size_t)(to - from)};
    return true;
}

static const char *digits(const char *p, const char *end) {
    while (p < end && *p >= '0' && *p <= '9') {
        p++;
    }
    return p;
}

bool fz_json_read_number(struct fz_json *json, struct fz_str *out) {
    if (fz_json_peek(json) != FZ_JSON_NUMBER) {
        return fail(json, "a number was expected");
    }
    const char *from = json->p, *p = from, *end = json->end;
    if (*p == '-') {
        p++;
    }
    const char *whole = p;
    p = digits(p, end);
    if (p == whole || (*whole == '0' && p - whole > 1)) {
        return fail(json, "not a number of JSON");
    }
    if (p < end && *p == '.') {
        const char *fraction = ++p;
        p = digits(p, end);
        if (p == fraction) {
            return fail(json, "not a number of JSON");
        }
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (p < end && (*p == '+' || *p == '-')) {
            p++;
        }
        const char *exponent = p;
        p = digits(p, end);
        if (p == exponent) {
            return fail(json, "not a number of JSON");
        }
    }
    json->p = p;
    if (out != NULL) {
        *out = (struct fz_str){from, (size_t)(p - from)};
    }
    return true;
}

static bool word(struct fz_json *json, const char *text, size_t len) {
    if ((size_t)(json->end - json->p) < len || memcmp(json->p, text, len) != 0) {
        return fail(json, "a word that JSON does not have");
    }
    json->p += len;
    return true;
}

bool fz_json_read_bool(struct fz_json *json, bool *out) {
    if (fz_json_peek(json) != FZ_JSON_BOOL) {
        return fail(json, "true or false was expected");
    }
    *out = *json->p == 't';
    return *out ? word(json, "true", 4) : word(json, "false", 5);
}

bool fz_json_read_null(struct fz_json *json) {
    return fz_json_peek(json) == FZ_JSON_NULL ? word(json, "null", 4) : fail(json, "null was expected");
}

bool fz_json_enter(struct fz_json *json, char open) {
    blanks(json);
    if (json->error != NULL || json->p >= json->end || *json->p != open) {
        return fail(json, open == '{' ? "an object was expected" : "an array was expected");
    }
    json->p++;
    return true;
}

// Passes ',' between items; false at the closing bracket or on error.
static bool next_item(struct fz_json *json, bool *first, char close) {
    blanks(json);
    if (json->error != NULL) {
        return false;
    }
    if (json->p >= json->end) {
        return fail(json, "an object or array without end");
    }
    if (*json->p == close) {
        json->p++;
        return false;
    }
    if (!*first) {
        if (*json->p != ',') {
            return fail(json, "a comma was expected");
        }
        json->p++;
        blanks(json);
        if (json->p < json->end && *json->p == close) {
            return fail(json, "a comma before the closing bracket");
        }
    }
    *first = false;
    return true;
}

static bool colon(struct fz_json *json) {
    blanks(json);
    if (json->p >= json->end || *json->p != ':') {
        return fail(json, "a colon was expected");
    }
    json->p++;
    return true;
}

bool fz_json_next_member(struct fz_json *json, bool *first, struct fz_str *name) {
    return next_item(json, first, '}') && fz_json_read_string(json, name) && colon(json);
}

bool fz_json_next_element(struct fz_json *json, bool *first) {
    return next_item(json, first, ']');
}

static bool skip_string(struct fz_json *json) {
    bool escapes = false;
    json->p++;
    return string_end(json, &escapes);
}

static bool skip_scalar(struct fz_json *json, enum fz_json_kind kind) {
    bool b;
    switch (kind) {
    case FZ_JSON_STRING:
        return skip_string(json);
    case FZ_JSON_NUMBER:
        return fz_json_read_number(json, NULL);
    case FZ_JSON_BOOL:
        return fz_json_read_bool(json, &b);
    case FZ_JSON_NULL:
        return fz_json_read_null(json);
    case FZ_JSON_END:
    case FZ_JSON_ARRAY:
    case FZ_JSON_OBJECT:
        break;
    }
    return fail(json, "the text ends inside a value");
}

// Reads `"name":` of a member.
static bool skip_name(struct fz_json *json) {
    blanks(json);
    if (json->p >= json->end || *json->p != '"') {
        return fail(json, "a member's name was expected");
    }
    return skip_string(json) && colon(json);
}

bool fz_json_skip(struct fz_json *json, struct fz_str *raw) {
    char stack[FZ_JSON_DEPTH];
    bool first[FZ_JSON_DEPTH];
    int depth = 0;
    enum fz_json_kind kind = fz_json_peek(json);
    const char *from = json->p;
    do {
        if (depth > 0) { // the next item of the innermost container
            if (!next_item(json, &first[depth - 1], stack[depth - 1])) {
                if (json->error != NULL) {
                    return false;
                }
                depth--;
                continue;
            }
            if (stack[depth - 1] == '}' && !skip_name(json)) {
                return false;
            }
            kind = fz_json_peek(json);
        }
        if (kind == FZ_JSON_OBJECT || kind == FZ_JSON_ARRAY) {
            if (depth == FZ_JSON_DEPTH) {
                return fail(json, "nested more than 128 deep");
            }
            json->p++;
            stack[depth] = kind == FZ_JSON_OBJECT ? '}' : ']';
            first[depth++] = true;
        } else if (!skip_scalar(json, kind)) {
            return false;
        }
    } while (depth > 0);
    if (raw != NULL) {
        *raw = (struct fz_str){from, (size_t)(json->p - from)};
    }
    return true;
}

// What a byte means outside and inside of strings while brackets are counted.
struct pass_state {
    size_t depth;
    bool in_string;
    const char *escaped; // this byte is escaped by the backslash before it
};

// True when `p` closes the outermost bracket.
static inline bool pass_byte(struct pass_state *s, const char *p) {
    if (s->in_string) {
        if (s->escaped == p) {
            return false;
        }
        if (*p == '\\') {
            s->escaped = p + 1;
        } else if (*p == '"') {
            s->in_string = false;
        }
        return false;
    }
    if (*p == '"') {
        s->in_string = true;
    } else if (*p == '{' || *p == '[') {
        s->depth++;
    } else if (*p == '}' || *p == ']') {
        return --s->depth == 0;
    }
    return false;
}

bool fz_json_pass(struct fz_json *json, struct fz_str *raw) {
    enum fz_json_kind kind = fz_json_peek(json);
    if (kind != FZ_JSON_OBJECT && kind != FZ_JSON_ARRAY) {
        return fz_json_skip(json, raw);
    }
    const char *from = json->p, *p = from, *end = json->end, *close = NULL;
    struct pass_state s = {0};
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\'), open = _mm_set1_epi8('{'),
                  shut = _mm_set1_epi8('}'), bit = _mm_set1_epi8(0x20);
    for (; close == NULL && end - p >= 16; p += 16) {
        __m128i block = _mm_loadu_si128((const __m128i *)(const void *)p),
                folded = _mm_or_si128(block, bit); // [ ] become { }
        __m128i marks = _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(block, quote), _mm_cmpeq_epi8(block, backslash)),
                                     _mm_or_si128(_mm_cmpeq_epi8(folded, open), _mm_cmpeq_epi8(folded, shut)));
        for (unsigned mask = (unsigned)_mm_movemask_epi8(marks); mask != 0 && close == NULL; mask &= mask - 1) {
            const char *at = p + __builtin_ctz(mask);
            close = pass_byte(&s, at) ? at : NULL;
        }
    }
#endif
    for (; close == NULL && p < end; p++) {
        close = pass_byte(&s, p) ? p : NULL;
    }
    if (close == NULL) {
        return fail(json, "an object or array without end");
    }
    json->p = close + 1;
    *raw = (struct fz_str){from, (size_t)(close + 1 - from)};
    return true;
}

bool fz_json_at_end(struct fz_json *json) {
    blanks(json);
    return json->error == NULL && json->p >= json->end;
}

bool fz_json_read_i64(struct fz_json *json, int64_t *out) {
    if (fz_json_peek(json) == FZ_JSON_NULL) {
        return fz_json_read_null(json);
    }
    struct fz_str text;
    if (!fz_json_read_number(json, &text)) {
        return false;
    }
    return fz_parse_i64(text, out) || fail(json, "not a whole number of 64 bits");
}
