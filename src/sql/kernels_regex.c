// Regular expressions with Java's meaning on PCRE2: `.` excludes line ends, `$` also before a final line end, \w \d \s ASCII, no POSIX
// classes, empty matches found after a non-empty one. Patterns are compiled once per batch and pattern.
#include "sql/kernels_priv.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#define EACH(row) for (size_t row = 0; row < n_rows; row++)

struct regex { // the last pattern seen
    struct fz_str text;
    pcre2_code *code;
    pcre2_match_data *match;
    uint32_t n_groups;
};
static void regex_close(struct regex *r) {
    pcre2_match_data_free(r->match);
    pcre2_code_free(r->code);
    *r = (struct regex){0};
}

// Java has no [:alpha:]: inside a class `[` opens a union there. The colon form is written apart, so PCRE2 reads plain characters.
static bool java_pattern(struct fz_str p, struct fz_buf *out) {
    for (size_t i = 0; i < p.len; i++) {
        if (p.ptr[i] == '\\' && i + 1 < p.len) {
            fz_buf_append(out, p.ptr + i, 2);
            i++;
        } else if (p.ptr[i] == '[' && i + 1 < p.len &&
                   (p.ptr[i + 1] == ':' || p.ptr[i + 1] == '.' || p.ptr[i + 1] == '=') && i > 0 &&
                   p.ptr[i - 1] == '[') {
            while (i < p.len && p.ptr[i] != ']') { // [[:alpha:]] is the set of its characters
                if (p.ptr[i] != '[') {
                    fz_buf_puts(out, strchr(":.=", p.ptr[i]) != NULL ? "\\" : "");
                    fz_buf_putc(out, p.ptr[i]);
                }
                i++;
            }
        } else {
            fz_buf_putc(out, p.ptr[i]);
        }
    }
    return !out->failed;
}

static bool regex_open(struct regex *r, struct fz_str pattern) {
    if (r->code != NULL && fz_str_eq(r->text, pattern)) {
        return true;
    }
    regex_close(r);
    struct fz_buf text = {0};
    int code;
    PCRE2_SIZE at;
    if (java_pattern(pattern, &text)) {
        r->code = pcre2_compile((PCRE2_SPTR)(text.ptr ? text.ptr : ""), text.len,
                                PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_NEVER_BACKSLASH_C, &code, &at, NULL);
    }
    fz_buf_dispose(&text);
    if (r->code == NULL) {
        return false;
    }
    pcre2_jit_compile(r->code, PCRE2_JIT_COMPLETE);
    r->match = pcre2_match_data_create_from_pattern(r->code, NULL);
    pcre2_pattern_info(r->code, PCRE2_INFO_CAPTURECOUNT, &r->n_groups);
    r->text = pattern;
    return r->match != NULL;
}

// Match at or after `from`; the pair of offsets, false when none.
static bool find(struct regex *r, struct fz_str s, size_t from, size_t *start, size_t *end) {
    if (from > s.len || pcre2_match(r->code, (PCRE2_SPTR)s.ptr, s.len, from, PCRE2_NO_UTF_CHECK, r->match, NULL) < 0) {
        return false;
    }
    PCRE2_SIZE *o = pcre2_get_ovector_pointer(r->match);
    *start = o[0];
    *end = o[1];
    return *end >= *start;
}
static size_t next_char(struct fz_str s, size_t at) {
    at++;
    while (at < s.len && ((unsigned char)s.ptr[at] & 0xc0) == 0x80) {
        at++;
    }
    return at;
}
// Where the search goes on: after an empty match one character further.
static size_t after(struct fz_str s, size_t start, size_t end) {
    return end > start ? end : next_char(s, end);
}
static bool group(const struct regex *r, uint32_t g, struct fz_str s, struct fz_str *out) {
    PCRE2_SIZE *o = pcre2_get_ovector_pointer(r->match);
    bool part = o[2 * g] != PCRE2_UNSET && o[2 * g + 1] >= o[2 * g];
    *out = part ? (struct fz_str){s.ptr + o[2 * g], o[2 * g + 1] - o[2 * g]} : (struct fz_str){"", 0};
    return part;
}

FZ_KERNEL_RUN(k_like) {
    FZ_KERNEL_UNUSED;
    struct regex r = {0};
    EACH(i) {
        size_t a, b;
        if (!regex_open(&r, fz_col_str(&args[1], i))) {
            fz_column_set_null(out, i);
            continue;
        }
        ((uint8_t *)out->data)[i] = find(&r, fz_col_str(&args[0], i), 0, &a, &b);
    }
    regex_close(&r);
    return FZ_OK;
}

static bool append_replacement(struct fz_buf *out, struct regex *r, struct fz_str s, struct fz_str with) {
    for (size_t k = 0; k < with.len; k++) {
        if (with.ptr[k] == '\\' && k + 1 < with.len) {
            fz_buf_putc(out, with.ptr[++k]);
        } else if (with.ptr[k] == '$' && k + 1 < with.len && with.ptr[k + 1] >= '0' && with.ptr[k + 1] <= '9') {
            uint32_t g = (uint32_t)(with.ptr[++k] - '0');
            if (g > r->n_groups) {
                return false;
            }
            while (k + 1 < with.len && with.ptr[k + 1] >= '0' && with.ptr[k + 1] <= '9' &&
                   g * 10 + (uint32_t)(with.ptr[k + 1] - '0') <= r->n_groups) {
                g = g * 10 + (uint32_t)(with.ptr[++k] - '0');
            }
            struct fz_str part;
            group(r, g, s, &part);
            fz_buf_append(out, part.ptr, part.len);
        } else {
            fz_buf_putc(out, with.ptr[k]);
        }
    }
    return true;
}

FZ_KERNEL_RUN(k_replace) { // (text, pattern, replacement, position from 1)
    (void)n_args;
    struct regex r = {0};
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        struct fz_str s = fz_col_str(&args[0], i), with = fz_col_str(&args[2], i);
        int64_t from = fz_col_i64(&args[3], i);
        size_t at = 0, start, end;
        bool ok = regex_open(&r, fz_col_str(&args[1], i)) && from >= 1;
        for (int64_t k = 1; k < from && at < s.len; k++) {
            at = next_char(s, at);
        }
        size_t done = 0;
        while (ok && find(&r, s, at, &start, &end)) {
            fz_buf_append(&buf, s.ptr + done, start - done);
            ok = append_replacement(&buf, &r, s, with);
            done = end;
            at = after(s, start, end);
        }
        if (!ok) {
            fz_column_set_null(out, i);
            fz_buf_clear(&buf);
            continue;
        }
        fz_buf_append(&buf, s.ptr + done, s.len - done);
        rc = fz_col_take_buf(out, i, &buf, strings, err);
    }
    regex_close(&r);
    fz_buf_dispose(&buf);
    return rc;
}

FZ_KERNEL_RUN(k_extract) { // (text, pattern, group)
    (void)n_args;
    struct regex r = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        struct fz_str s = fz_col_str(&args[0], i), part = {"", 0};
        int64_t g = fz_col_i64(&args[2], i);
        size_t a, b;
        if (!regex_open(&r, fz_col_str(&args[1], i)) || g < 0 || g > (int64_t)r.n_groups) {
            fz_column_set_null(out, i);
            continue;
        }
        if (find(&r, s, 0, &a, &b)) {
            group(&r, (uint32_t)g, s, &part);
        }
        rc = fz_col_put_str(out, i, part.ptr, part.len, strings, err);
    }
    regex_close(&r);
    return rc;
}

struct parts {
    struct fz_str *v;
    size_t n, cap;
};
static enum fz_code add_part(struct parts *p, struct fz_str s, struct fz_err *err) {
    enum fz_code rc = fz_grow((void **)&p->v, &p->cap, p->n + 1, sizeof *p->v, err);
    if (rc == FZ_OK) {
        p->v[p->n++] = s;
    }
    return rc;
}

FZ_KERNEL_RUN(k_extract_all) {
    (void)n_args;
    struct regex r = {0};
    struct parts parts = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        struct fz_str s = fz_col_str(&args[0], i);
        int64_t g = fz_col_i64(&args[2], i);
        bool null =
            !fz_column_is_valid(&args[0], i) || !fz_column_is_valid(&args[1], i) || !fz_column_is_valid(&args[2], i);
        if (null || !regex_open(&r, fz_col_str(&args[1], i)) || g < 0 || g > (int64_t)r.n_groups) {
            fz_column_set_null(out, i);
            continue;
        }
        size_t at = 0, start, end;
        parts.n = 0;
        while (rc == FZ_OK && find(&r, s, at, &start, &end)) {
            struct fz_str part;
            group(&r, (uint32_t)g, s, &part);
            rc = add_part(&parts, part, err);
            at = after(s, start, end);
        }
        rc = rc == FZ_OK ? fz_col_append_list(out, i, parts.v, parts.n, strings, err) : rc;
    }
    fz_free(parts.v);
    regex_close(&r);
    return rc;
}

FZ_KERNEL_RUN(k_split) { // (text, pattern, limit): empty parts at the end stay; limit <= 0 is no limit
    (void)n_args;
    struct regex r = {0};
    struct parts parts = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        bool null =
            !fz_column_is_valid(&args[0], i) || !fz_column_is_valid(&args[1], i) || !fz_column_is_valid(&args[2], i);
        if (null || !regex_open(&r, fz_col_str(&args[1], i))) {
            fz_column_set_null(out, i);
            continue;
        }
        struct fz_str s = fz_col_str(&args[0], i);
        int64_t limit = fz_col_i64(&args[2], i);
        size_t at = 0, done = 0, start, end;
        bool empty_pattern = r.text.len == 0;
        parts.n = 0;
        while (rc == FZ_OK && (limit <= 0 || (int64_t)parts.n < limit - 1) && find(&r, s, at, &start, &end)) {
            if (end == start &&
                (start == 0 || (empty_pattern && start == s.len))) { // an empty match at the very start gives no part
                if (start >= s.len) {
                    break;
                }
                at = next_char(s, end);
                continue;
            }
            rc = add_part(&parts, (struct fz_str){s.ptr + done, start - done}, err);
            done = end;
            at = after(s, start, end);
        }
        if (rc == FZ_OK) {
            rc = add_part(&parts, (struct fz_str){s.ptr + done, s.len - done}, err);
        }
        rc = rc == FZ_OK ? fz_col_append_list(out, i, parts.v, parts.n, strings, err) : rc;
    }
    fz_free(parts.v);
    regex_close(&r);
    return rc;
}

FZ_KERNEL_RUN(k_count) {
    FZ_KERNEL_UNUSED;
    struct regex r = {0};
    EACH(i) {
        struct fz_str s = fz_col_str(&args[0], i);
        size_t at = 0, start, end;
        int32_t n = 0;
        if (!regex_open(&r, fz_col_str(&args[1], i))) {
            fz_column_set_null(out, i);
            continue;
        }
        while (find(&r, s, at, &start, &end)) {
            n++;
            at = after(s, start, end);
        }
        ((int32_t *)out->data)[i] = n;
    }
    regex_close(&r);
    return FZ_OK;
}

FZ_KERNEL_RUN(k_substr) {
    (void)n_args;
    struct regex r = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        struct fz_str s = fz_col_str(&args[0], i);
        size_t a, b;
        if (!regex_open(&r, fz_col_str(&args[1], i)) || !find(&r, s, 0, &a, &b)) {
            fz_column_set_null(out, i);
            continue;
        }
        rc = fz_col_put_str(out, i, s.ptr + a, b - a, strings, err);
    }
    regex_close(&r);
    return rc;
}

FZ_KERNEL_RUN(k_instr) {
    FZ_KERNEL_UNUSED;
    struct regex r = {0};
    EACH(i) {
        struct fz_str s = fz_col_str(&args[0], i);
        size_t a, b;
        if (!regex_open(&r, fz_col_str(&args[1], i))) {
            fz_column_set_null(out, i);
            continue;
        }
        ((int32_t *)out->data)[i] = find(&r, s, 0, &a, &b) ? (int32_t)fz_utf8_length(s.ptr, a) + 1 : 0;
    }
    regex_close(&r);
    return FZ_OK;
}

const struct fz_kernel_row fz_kernels_regex[] = {
    {"fz_regex_like", "ss", "b", true, k_like},        {"fz_regex_replace", "sssi", "s", true, k_replace},
    {"fz_regex_extract", "ssi", "s", true, k_extract}, {"fz_regex_extract_all", "ssi", "[s", false, k_extract_all},
    {"fz_regex_split", "ssi", "[s", false, k_split},   {"fz_regex_count", "ss", "i", true, k_count},
    {"fz_regex_substr", "ss", "s", true, k_substr},    {"fz_regex_instr", "ss", "i", true, k_instr},
};
FZ_KERNELS(kernels_regex);
