// Text functions DuckDB lacks or does by other rules: case mapping, code points, phonetics, URLs.
#include "sql/kernels_priv.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>

#define ARG(k) fz_col_str(&args[k], i)
#define NUM(k) fz_col_i64(&args[k], i)

// ---- code points ----
static size_t char_len(const char *p, size_t left) {
    unsigned char c = (unsigned char)*p;
    size_t n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    return n <= left ? n : left;
}
static int32_t code_at(const char *p, size_t n) {
    utf8proc_int32_t v = 0;
    return utf8proc_iterate((const utf8proc_uint8_t *)p, (utf8proc_ssize_t)n, &v) > 0 ? v : 0xfffd;
}
void fz_kernel_put_code(struct fz_buf *out, int32_t v) {
    utf8proc_uint8_t text[4];
    utf8proc_ssize_t n = utf8proc_encode_char(v, text);
    fz_buf_append(out, text, n > 0 ? (size_t)n : 0);
}

// Mappings to several code points (Unicode SpecialCasing, without conditions).
static const struct {
    int32_t from;
    const char *upper;
} special_upper[] = {{0xdf, "SS"},
                     {0x149, "\u02bcN"},
                     {0x1f0, "J\u030c"},
                     {0x390, "\u0399\u0308\u0301"},
                     {0x3b0, "\u03a5\u0308\u0301"},
                     {0x587, "\u0535\u0552"},
                     {0x1e96, "H\u0331"},
                     {0x1e97, "T\u0308"},
                     {0x1e98, "W\u030a"},
                     {0x1e99, "Y\u030a"},
                     {0x1e9a, "A\u02be"},
                     {0xfb00, "FF"},
                     {0xfb01, "FI"},
                     {0xfb02, "FL"},
                     {0xfb03, "FFI"},
                     {0xfb04, "FFL"},
                     {0xfb05, "ST"},
                     {0xfb06, "ST"}};
static void put_upper(struct fz_buf *out, int32_t c) {
    for (size_t k = 0; c >= 0xdf && k < sizeof special_upper / sizeof *special_upper; k++) {
        if (special_upper[k].from == c) {
            fz_buf_puts(out, special_upper[k].upper);
            return;
        }
    }
    fz_kernel_put_code(out, utf8proc_toupper(c));
}
static bool is_letter(int32_t c) {
    utf8proc_category_t k = utf8proc_category(c);
    return k == UTF8PROC_CATEGORY_LU || k == UTF8PROC_CATEGORY_LL || k == UTF8PROC_CATEGORY_LT ||
           k == UTF8PROC_CATEGORY_LM || k == UTF8PROC_CATEGORY_LO;
}
static void put_lower(struct fz_buf *out, int32_t c, bool final_sigma) {
    if (c == 0x130) {
        fz_buf_puts(out, "i\u0307");
    } else if (c == 0x3a3 && final_sigma) {
        fz_kernel_put_code(out, 0x3c2);
    } else {
        fz_kernel_put_code(out, utf8proc_tolower(c));
    }
}

static bool map_case(struct fz_buf *out, struct fz_str s, bool upper) {
    size_t i = 0;
    if (!fz_buf_reserve(out, s.len + 1)) {
        return true;
    }
    for (; i < s.len && (unsigned char)s.ptr[i] < 0x80; i++) { // ASCII first
        char c = s.ptr[i];
        fz_buf_putc(out, (char)(upper ? (c >= 'a' && c <= 'z' ? c - 32 : c) : c >= 'A' && c <= 'Z' ? c + 32 : c));
    }
    bool before = i > 0 && isalpha((unsigned char)s.ptr[i - 1]);
    while (i < s.len) {
        size_t n = char_len(s.ptr + i, s.len - i);
        int32_t c = code_at(s.ptr + i, n);
        bool letter_follows =
            i + n < s.len && is_letter(code_at(s.ptr + i + n, char_len(s.ptr + i + n, s.len - i - n)));
        if (upper) {
            put_upper(out, c);
        } else {
            put_lower(out, c, before && !letter_follows);
        }
        before = is_letter(c);
        i += n;
    }
    return true;
}
static bool initcap(struct fz_buf *out, struct fz_str s) { // words are separated by blanks
    bool start = true;
    for (size_t i = 0; i < s.len;) {
        size_t n = char_len(s.ptr + i, s.len - i);
        int32_t c = code_at(s.ptr + i, n);
        if (start) {
            fz_kernel_put_code(out, utf8proc_totitle(c));
        } else {
            put_lower(out, c, false);
        }
        start = c == ' ';
        i += n;
    }
    return true;
}
static bool reverse(struct fz_buf *out, struct fz_str s) {
    for (size_t end = s.len; end > 0;) {
        size_t start = end - 1;
        while (start > 0 && ((unsigned char)s.ptr[start] & 0xc0) == 0x80) {
            start--;
        }
        fz_buf_append(out, s.ptr + start, end - start);
        end = start;
    }
    return true;
}
FZ_KERNEL_TO_BYTES(k_upper, map_case(&buf, ARG(0), true))
FZ_KERNEL_TO_BYTES(k_lower, map_case(&buf, ARG(0), false))
FZ_KERNEL_TO_BYTES(k_initcap, initcap(&buf, ARG(0)))
FZ_KERNEL_TO_BYTES(k_reverse, reverse(&buf, ARG(0)))

static size_t skip_chars(struct fz_str s, size_t from, int64_t n) { // byte offset n characters further
    while (n > 0 && from < s.len) {
        from += char_len(s.ptr + from, s.len - from);
        n--;
    }
    return from;
}
static bool overlay(struct fz_buf *out, struct fz_str s, struct fz_str with, int64_t pos, int64_t len) {
    if (len < 0) {
        len = (int64_t)fz_utf8_length(with.ptr, with.len);
    }
    int64_t total = (int64_t)fz_utf8_length(s.ptr, s.len);
    int64_t head = pos > 0 ? pos - 1 : pos == 0 ? 0 : -1; // substring(s, 1, pos - 1)
    int64_t keep = pos - 1 > 0 ? pos - 1 : 0;
    (void)head;
    fz_buf_append(out, s.ptr, skip_chars(s, 0, keep));
    fz_buf_append(out, with.ptr, with.len);
    int64_t from = pos + len; // substring(s, pos + len)
    int64_t skip = from > 0 ? from - 1 : from == 0 ? 0 : total + from > 0 ? total + from : 0;
    size_t at = skip_chars(s, 0, skip);
    fz_buf_append(out, s.ptr + at, s.len - at);
    return true;
}
FZ_KERNEL_TO_BYTES(k_overlay, overlay(&buf, ARG(0), ARG(1), NUM(2), NUM(3)))

static bool substring_index(struct fz_buf *out, struct fz_str s, struct fz_str d, int64_t n) {
    if (d.len == 0 || n == 0) {
        return true;
    }
    if (n > 0) {
        for (size_t i = 0; i + d.len <= s.len; i++) {
            if (memcmp(s.ptr + i, d.ptr, d.len) == 0 && --n == 0) {
                fz_buf_append(out, s.ptr, i);
                return true;
            }
            if (i + d.len <= s.len && memcmp(s.ptr + i, d.ptr, d.len) == 0) {
                i += d.len - 1;
            }
        }
    } else {
        for (size_t i = s.len >= d.len ? s.len - d.len + 1 : 0; i > 0; i--) {
            if (memcmp(s.ptr + i - 1, d.ptr, d.len) == 0 && ++n == 0) {
                fz_buf_append(out, s.ptr + i - 1 + d.len, s.len - (i - 1) - d.len);
                return true;
            }
        }
    }
    fz_buf_append(out, s.ptr, s.len);
    return true;
}
FZ_KERNEL_TO_BYTES(k_substring_index, substring_index(&buf, ARG(0), ARG(1), NUM(2)))

static bool substring_binary(struct fz_buf *out, struct fz_str s, int64_t pos, int64_t len) {
    int64_t n = (int64_t)s.len, from = pos > 0 ? pos - 1 : pos < 0 ? n + pos : 0, to = from + (len < 0 ? 0 : len);
    from = from < 0 ? 0 : from;
    to = to > n ? n : to;
    if (to > from) {
        fz_buf_append(out, s.ptr + from, (size_t)(to - from));
    }
    return true;
}
FZ_KERNEL_TO_BYTES(k_substring_binary, substring_binary(&buf, ARG(0), NUM(1), NUM(2)))

FZ_KERNEL_RUN(k_join) { // (list of texts without NULL, separator)
    (void)n_args;
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        if (!fz_column_is_valid(&args[0], i) || !fz_column_is_valid(&args[1], i) || args[0].type->id != FZ_TYPE_LIST) {
            fz_column_set_null(out, i);
            continue;
        }
        struct fz_list_span span = ((const struct fz_list_span *)args[0].data)[i];
        struct fz_str gap = ARG(1);
        for (uint64_t k = 0; k < span.length; k++) {
            struct fz_str item = fz_col_str(&args[0].children[0], (size_t)(span.offset + k));
            fz_buf_append(&buf, gap.ptr, k ? gap.len : 0);
            fz_buf_append(&buf, item.ptr, item.len);
        }
        rc = fz_col_take_buf(out, i, &buf, strings, err);
    }
    fz_buf_dispose(&buf);
    return rc;
}

// ---- phonetics, distance ----
static bool soundex(struct fz_buf *out, struct fz_str s) {
    static const char codes[] = "01230120022455012623010202"; // A..Z; H and W (0 here) do not separate
    if (s.len == 0 || !isalpha((unsigned char)s.ptr[0])) {
        fz_buf_append(out, s.ptr, s.len);
        return true;
    }
    char first = (char)toupper((unsigned char)s.ptr[0]), last = codes[first - 'A'];
    fz_buf_putc(out, first);
    int n = 1;
    for (size_t i = 1; i < s.len && n < 4; i++) {
        if (!isalpha((unsigned char)s.ptr[i])) {
            last = '0';
            continue;
        }
        char c = (char)toupper((unsigned char)s.ptr[i]), code = codes[c - 'A'];
        if (c == 'H' || c == 'W') {
            continue;
        }
        if (code != '0' && code != last) {
            fz_buf_putc(out, code);
            n++;
        }
        last = code;
    }
    while (n++ < 4) {
        fz_buf_putc(out, '0');
    }
    return true;
}
FZ_KERNEL_TO_BYTES(k_soundex, soundex(&buf, ARG(0)))

static int32_t *code_points(struct fz_str s, size_t *n) {
    int32_t *v = fz_calloc(s.len + 1, sizeof *v);
    *n = 0;
    for (size_t i = 0; v != NULL && i < s.len; i += char_len(s.ptr + i, s.len - i)) {
        v[(*n)++] = code_at(s.ptr + i, char_len(s.ptr + i, s.len - i));
    }
    return v;
}
FZ_KERNEL_RUN(k_levenshtein) { // (a, b, threshold or -1)
    (void)n_args, (void)strings;
    for (size_t i = 0; i < n_rows; i++) {
        size_t na, nb;
        int32_t *a = code_points(ARG(0), &na), *b = code_points(ARG(1), &nb), *row = fz_calloc(nb + 1, sizeof *row);
        if (a == NULL || b == NULL || row == NULL) {
            fz_free(a), fz_free(b), fz_free(row);
            return fz_fail_nomem(err, nb);
        }
        for (size_t j = 0; j <= nb; j++) {
            row[j] = (int32_t)j;
        }
        for (size_t x = 1; x <= na; x++) {
            int32_t diagonal = row[0];
            row[0] = (int32_t)x;
            for (size_t j = 1; j <= nb; j++) {
                int32_t up = row[j], best = diagonal + (a[x - 1] != b[j - 1]);
                best = up + 1 < best ? up + 1 : best;
                row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
                diagonal = up;
            }
        }
        int64_t limit = NUM(2);
        ((int32_t *)out->data)[i] = limit >= 0 && row[nb] > limit ? -1 : row[nb];
        fz_free(a), fz_free(b), fz_free(row);
    }
    return FZ_OK;
}

static bool mask(struct fz_buf *out, struct fz_str s) {
    for (size_t i = 0; i < s.len;) {
        size_t n = char_len(s.ptr + i, s.len - i);
        utf8proc_category_t k = utf8proc_category(code_at(s.ptr + i, n));
        if (k == UTF8PROC_CATEGORY_LU || k == UTF8PROC_CATEGORY_LL || k == UTF8PROC_CATEGORY_ND) {
            fz_buf_putc(out, k == UTF8PROC_CATEGORY_LU ? 'X' : k == UTF8PROC_CATEGORY_LL ? 'x' : 'n');
        } else {
            fz_buf_append(out, s.ptr + i, n);
        }
        i += n;
    }
    return true;
}
FZ_KERNEL_TO_BYTES(k_mask, mask(&buf, ARG(0)))

static bool quote(struct fz_buf *out, struct fz_str s) {
    fz_buf_putc(out, '\'');
    for (size_t i = 0; i < s.len; i++) {
        fz_buf_puts(out, s.ptr[i] == '\'' ? "\\" : "");
        fz_buf_putc(out, s.ptr[i]);
    }
    fz_buf_putc(out, '\'');
    return true;
}
FZ_KERNEL_TO_BYTES(k_quote, quote(&buf, ARG(0)))

FZ_KERNEL_RUN(k_luhn) {
    FZ_KERNEL_UNUSED;
    for (size_t i = 0; i < n_rows; i++) {
        struct fz_str s = ARG(0);
        int sum = 0;
        bool ok = s.len > 0;
        for (size_t k = 0; k < s.len && ok; k++) {
            char c = s.ptr[s.len - 1 - k];
            ok = isdigit((unsigned char)c);
            int d = c - '0';
            d = k % 2 ? 2 * d : d;
            sum += d > 9 ? d - 9 : d;
        }
        ((uint8_t *)out->data)[i] = ok && sum % 10 == 0;
    }
    return FZ_OK;
}

// ---- URLs ----
static bool url_decode(struct fz_buf *out, struct fz_str s) {
    for (size_t i = 0; i < s.len; i++) {
        if (s.ptr[i] == '%') {
            if (i + 2 >= s.len || !isxdigit((unsigned char)s.ptr[i + 1]) || !isxdigit((unsigned char)s.ptr[i + 2])) {
                return false;
            }
            char hex[3] = {s.ptr[i + 1], s.ptr[i + 2], 0};
            fz_buf_putc(out, (char)strtol(hex, NULL, 16));
            i += 2;
        } else {
            fz_buf_putc(out, s.ptr[i] == '+' ? ' ' : s.ptr[i]);
        }
    }
    return fz_utf8_valid(out->ptr ? out->ptr : "", out->len);
}
FZ_KERNEL_TO_BYTES(k_url_decode, url_decode(&buf, ARG(0)))

struct url {
    struct fz_str protocol, authority, user, host, path, query, file, ref;
    bool has_query, has_ref, has_authority;
};
static struct fz_str part_of(const char *from, const char *to) {
    return (struct fz_str){from, (size_t)(to - from)};
}
static bool split_url(struct fz_str s, struct url *u) {
    *u = (struct url){0};
    const char *p = s.ptr, *end = p + s.len, *colon = s.len ? memchr(p, ':', s.len) : NULL;
    if (colon != NULL && colon > p && isalpha((unsigned char)*p)) {
        u->protocol = part_of(p, colon);
        p = colon + 1;
    }
    const char *hash = memchr(p, '#', (size_t)(end - p));
    if (hash != NULL) {
        u->ref = part_of(hash + 1, end);
        u->has_ref = true;
        end = hash;
    }
    const char *question = memchr(p, '?', (size_t)(end - p)), *path_end = question ? question : end;
    if (question != NULL) {
        u->query = part_of(question + 1, end);
        u->has_query = true;
    }
    if (end - p >= 2 && p[0] == '/' && p[1] == '/') {
        const char *slash = memchr(p + 2, '/', (size_t)(path_end - p - 2)), *stop = slash ? slash : path_end;
        u->authority = part_of(p + 2, stop);
        u->has_authority = true;
        const char *at = memchr(p + 2, '@', (size_t)(stop - p - 2)), *host = at ? at + 1 : p + 2,
                   *port = memchr(host, ':', (size_t)(stop - host));
        u->user = at ? part_of(p + 2, at) : (struct fz_str){NULL, 0};
        u->host = part_of(host, port ? port : stop);
        p = stop;
    }
    u->path = part_of(p, path_end);
    u->file = part_of(p, end);
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] <= ' ') {
            return false;
        }
    }
    return true;
}
static bool parse_url(struct fz_buf *out, struct fz_str s, struct fz_str what, const struct fz_str *key) {
    struct url u;
    struct fz_str v = {0};
    if (!split_url(s, &u)) {
        return false;
    }
#define PART(name) fz_str_eq(what, FZ_STR_LIT(name))
    if (PART("HOST")) {
        v = u.host;
    } else if (PART("PATH")) {
        v = u.path;
    } else if (PART("QUERY") && u.has_query) {
        v = u.query;
    } else if (PART("REF") && u.has_ref) {
        v = u.ref;
    } else if (PART("PROTOCOL")) {
        v = u.protocol;
    } else if (PART("FILE")) {
        v = u.file;
    } else if (PART("AUTHORITY")) {
        v = u.authority;
    } else if (PART("USERINFO")) {
        v = u.user;
    }
#undef PART
    if (v.ptr == NULL) {
        return false;
    }
    if (key == NULL) {
        fz_buf_append(out, v.ptr, v.len);
        return true;
    }
    for (const char *p = v.ptr, *end = v.ptr + v.len; p < end;) {
        const char *amp = memchr(p, '&', (size_t)(end - p)), *stop = amp ? amp : end;
        if ((size_t)(stop - p) > key->len && memcmp(p, key->ptr, key->len) == 0 && p[key->len] == '=') {
            fz_buf_append(out, p + key->len + 1, (size_t)(stop - p) - key->len - 1);
            return true;
        }
        p = stop + 1;
    }
    return false;
}
FZ_KERNEL_RUN(k_parse_url) {
    (void)n_args;
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        bool present = fz_column_is_valid(&args[0], i) && fz_column_is_valid(&args[1], i),
             keyed = fz_column_is_valid(&args[2], i);
        struct fz_str key = keyed ? ARG(2) : (struct fz_str){0};
        if (present && parse_url(&buf, ARG(0), ARG(1), keyed ? &key : NULL)) {
            rc = fz_col_take_buf(out, i, &buf, strings, err);
        } else {
            fz_column_set_null(out, i);
            fz_buf_clear(&buf);
        }
    }
    fz_buf_dispose(&buf);
    return rc;
}

const struct fz_kernel_row fz_kernels_text[] = {
    {"fz_upper", "s", "s", true, k_upper},
    {"fz_lower", "s", "s", true, k_lower},
    {"fz_initcap", "s", "s", true, k_initcap},
    {"fz_reverse", "s", "s", true, k_reverse},
    {"fz_overlay", "ssii", "s", true, k_overlay},
    {"fz_substring_index", "ssi", "s", true, k_substring_index},
    {"fz_substring_binary", "xii", "x", true, k_substring_binary},
    {"fz_join", "as", "s", false, k_join},
    {"fz_soundex", "s", "s", true, k_soundex},
    {"fz_levenshtein", "ssi", "i", true, k_levenshtein},
    {"fz_mask", "s", "s", true, k_mask},
    {"fz_quote", "s", "s", true, k_quote},
    {"fz_luhn_check", "s", "b", true, k_luhn},
    {"fz_url_decode", "s", "s", true, k_url_decode},
    {"fz_parse_url", "sss", "s", false, k_parse_url},
};
FZ_KERNELS(kernels_text);
