// Numbers as text and back: number bases, grouping, Java's formatter, to_char and to_number.
#include "sql/kernels_priv.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <utf8proc.h>

#define ARG(k) fz_col_str(&args[k], i)
#define NUM(k) fz_col_i64(&args[k], i)

// ---- numbers as text ----
static int digit_of(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'z' ? c - 'a' + 10
           : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                  : 99;
}
// Digits in the source base as an unsigned 64-bit number; *overflow when they do not fit.
static uint64_t read_base(struct fz_str s, int64_t base, bool *overflow) {
    uint64_t v = 0;
    for (size_t i = 0; i < s.len && digit_of(s.ptr[i]) < base; i++) {
        if (__builtin_mul_overflow(v, (uint64_t)base, &v) ||
            __builtin_add_overflow(v, (uint64_t)digit_of(s.ptr[i]), &v)) {
            *overflow = true;
            return UINT64_MAX;
        }
    }
    return v;
}
static int conv(struct fz_buf *out, struct fz_str s, int64_t from, int64_t to) { // 1 value, 0 NULL, -1 overflow
    int64_t target = to < 0 ? -to : to;
    s = fz_text_trim(s);
    if (from < 2 || from > 36 || target < 2 || target > 36 || s.len == 0) {
        return 0;
    }
    bool negative = *s.ptr == '-', overflow = false;
    s.ptr += negative;
    s.len -= negative;
    uint64_t v = read_base(s, from, &overflow);
    if (overflow) {
        return -1;
    }
    if (negative && to > 0) {
        v = (int64_t)v < 0 ? UINT64_MAX : -v;
    }
    bool minus = false;
    if (to < 0) {
        if (negative) {
            v = -v;
        }
        if ((int64_t)v < 0) {
            v = -v;
            minus = true;
        }
    }
    char text[65];
    int n = 0;
    do {
        text[n++] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[v % (uint64_t)target];
        v /= (uint64_t)target;
    } while (v > 0);
    fz_buf_puts(out, minus ? "-" : "");
    while (n > 0) {
        fz_buf_putc(out, text[--n]);
    }
    return 1;
}
FZ_KERNEL_TO_BYTES(k_conv, conv(&buf, ARG(0), NUM(1), NUM(2)) > 0)
FZ_KERNEL_RUN(k_conv_overflows) {
    FZ_KERNEL_UNUSED;
    struct fz_buf buf = {0};
    for (size_t i = 0; i < n_rows; i++) {
        ((uint8_t *)out->data)[i] = conv(&buf, ARG(0), NUM(1), NUM(2)) < 0;
        fz_buf_clear(&buf);
    }
    fz_buf_dispose(&buf);
    return FZ_OK;
}

static bool number_of(struct fz_str s, int scale, __int128 *v) { // of the text of a number, HALF_UP
    bool exact;
    return fz_decimal_parse(s, scale, v, &exact);
}
// Rounded HALF_EVEN to `scale` digits.
static bool half_even(struct fz_str s, int scale, __int128 *out) {
    __int128 wide;
    int more = scale + 15 > 30 ? 30 : scale + 15;
    if (!number_of(s, more, &wide)) {
        return false;
    }
    __int128 p = 1;
    for (int i = scale; i < more; i++) {
        p *= 10;
    }
    __int128 q = wide / p, r = wide % p, m = r < 0 ? -r : r;
    if (m > p - m || (m == p - m && q % 2 != 0)) {
        q += wide < 0 ? -1 : 1;
    }
    *out = q;
    return true;
}
static void put_grouped(struct fz_buf *out, const char *digits, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fz_buf_putc(out, digits[i]);
        if ((n - 1 - i) % 3 == 0 && i + 1 < n) {
            fz_buf_putc(out, ',');
        }
    }
}
static bool format_number(struct fz_buf *out, struct fz_str s, int64_t scale) {
    __int128 v;
    struct fz_buf text = {0};
    if (fz_str_ieq(s, FZ_STR_LIT("nan")) || fz_str_ieq(s, FZ_STR_LIT("inf")) || fz_str_ieq(s, FZ_STR_LIT("-inf"))) {
        fz_buf_puts(out, fz_str_ieq(s, FZ_STR_LIT("nan")) ? "NaN" : s.ptr[0] == '-' ? "-\u221e" : "\u221e");
        return true;
    }
    if (scale < 0 || scale > 20 || !half_even(s, (int)scale, &v)) {
        return false;
    }
    bool negative = s.len > 0 && s.ptr[0] == '-';
    fz_decimal_print(&text, v < 0 ? -v : v, (int)scale);
    const char *dot = text.ptr ? strchr(text.ptr, '.') : NULL;
    size_t whole = dot ? (size_t)(dot - text.ptr) : text.len;
    fz_buf_puts(out, negative ? "-" : "");
    put_grouped(out, text.ptr ? text.ptr : "", whole);
    fz_buf_puts(out, dot ? dot : "");
    fz_buf_dispose(&text);
    return true;
}
FZ_KERNEL_TO_BYTES(k_format_number, format_number(&buf, ARG(0), NUM(1)))

static bool format_pattern(struct fz_buf *out, struct fz_str s, struct fz_str pattern) { // '#,##0.0##'
    int least = 0, most = 0, whole = 0;
    bool fraction = false, group = memchr(pattern.ptr, ',', pattern.len) != NULL;
    for (size_t i = 0; i < pattern.len; i++) {
        fraction |= pattern.ptr[i] == '.';
        least += fraction && pattern.ptr[i] == '0';
        most += fraction && (pattern.ptr[i] == '0' || pattern.ptr[i] == '#');
        whole += !fraction && pattern.ptr[i] == '0';
    }
    __int128 v;
    struct fz_buf text = {0};
    if (most > 20 || !half_even(s, most, &v)) {
        return false;
    }
    fz_decimal_print(&text, v < 0 ? -v : v, most);
    char *dot = text.ptr ? strchr(text.ptr, '.') : NULL;
    size_t n = dot ? (size_t)(dot - text.ptr) : text.len;
    fz_buf_puts(out, v < 0 ? "-" : "");
    for (int k = (int)n; k < whole; k++) {
        fz_buf_putc(out, '0');
    }
    if (group) {
        put_grouped(out, text.ptr, n);
    } else {
        fz_buf_append(out, text.ptr, n);
    }
    if (dot != NULL) {
        size_t keep = text.len - n - 1;
        while (keep > (size_t)least && dot[keep] == '0') {
            keep--;
        }
        if (keep > 0) {
            fz_buf_append(out, dot, keep + 1);
        }
    }
    fz_buf_dispose(&text);
    return true;
}
FZ_KERNEL_TO_BYTES(k_format_pattern, format_pattern(&buf, ARG(0), ARG(1)))

// ---- java.util.Formatter for %s %d %f %e %x %c %b %n %% ----
static bool format_one(struct fz_buf *out, const char *flags, int width, int precision, char verb,
                       const struct fz_column *c, size_t row) {
    struct fz_buf text = {0};
    bool null = !fz_column_is_valid(c, row), minus = strchr(flags, '-') != NULL, zero = strchr(flags, '0') != NULL,
         ok = true;
    bool number = c->type->id == FZ_TYPE_DOUBLE || c->type->id == FZ_TYPE_FLOAT || c->type->id == FZ_TYPE_DECIMAL;
    if (null) {
        fz_buf_puts(&text, verb == 'b' || verb == 'B' ? "false" : "null");
        zero = false;
    } else if (verb == 'd' || verb == 'x' || verb == 'X' || verb == 'o') {
        ok = fz_type_is_integer(c->type);
        if (ok && verb == 'd') {
            int64_t v = fz_col_i64(c, row);
            char digits[24];
            int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)(v < 0 ? -(uint64_t)v : (uint64_t)v));
            fz_buf_puts(&text, v < 0 ? "-" : strchr(flags, '+') ? "+" : strchr(flags, ' ') ? " " : "");
            if (strchr(flags, ',') != NULL) {
                put_grouped(&text, digits, (size_t)n);
            } else {
                fz_buf_puts(&text, digits);
            }
        } else if (ok) {
            uint64_t v = (uint64_t)fz_col_i64(c, row);
            v = fz_type_width(c->type) == 4 ? (uint32_t)v : v;
            fz_buf_printf(&text, verb == 'x' ? "%llx" : verb == 'X' ? "%llX" : "%llo", (unsigned long long)v);
        }
    } else if (verb == 'f' || verb == 'e' || verb == 'E') {
        ok = number;
        struct fz_buf plain = {0};
        if (ok && c->type->id == FZ_TYPE_DECIMAL) {
            fz_decimal_print(&plain, fz_col_dec(c, row), c->type->scale);
        } else if (ok) {
            double v =
                c->type->id == FZ_TYPE_DOUBLE ? ((const double *)c->data)[row] : (double)((const float *)c->data)[row];
            if (isnan(v) || isinf(v)) {
                fz_buf_puts(&text, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
                zero = false;
            } else {
                fz_java_double(&plain, v);
            }
        }
        int digits = precision < 0 ? 6 : precision > 20 ? 20 : precision;
        __int128 v;
        double d;
        if (ok && plain.len > 0 && verb == 'f' && number_of((struct fz_str){plain.ptr, plain.len}, digits, &v)) {
            struct fz_buf shown = {0};
            fz_decimal_print(&shown, v < 0 ? -v : v, digits);
            const char *dot = strchr(shown.ptr, '.');
            size_t whole = dot ? (size_t)(dot - shown.ptr) : shown.len;
            fz_buf_puts(&text, v < 0 ? "-" : strchr(flags, '+') ? "+" : "");
            if (strchr(flags, ',') != NULL) {
                put_grouped(&text, shown.ptr, whole);
            } else {
                fz_buf_append(&text, shown.ptr, whole);
            }
            fz_buf_puts(&text, dot ? dot : "");
            fz_buf_dispose(&shown);
        } else if (ok && plain.len > 0 && fz_parse_double((struct fz_str){plain.ptr, plain.len}, &d)) {
            char shown[64];
            snprintf(shown, sizeof shown, verb == 'E' ? "%.*E" : verb == 'f' ? "%.*f" : "%.*e", digits, d);
            fz_buf_puts(&text, shown);
        }
        fz_buf_dispose(&plain);
    } else if (verb == 's' || verb == 'S') {
        if (c->type->id == FZ_TYPE_DOUBLE || c->type->id == FZ_TYPE_FLOAT) {
            if (c->type->id == FZ_TYPE_DOUBLE) {
                fz_java_double(&text, ((const double *)c->data)[row]);
            } else {
                fz_java_float(&text, ((const float *)c->data)[row]);
            }
        } else {
            struct fz_value v = fz_value_at(c, row, NULL);
            fz_value_print(&text, &v);
        }
        if (precision >= 0) {
            text.len = fz_utf8_truncate(text.ptr ? text.ptr : "", text.len, (size_t)precision);
        }
    } else if (verb == 'b' || verb == 'B') {
        fz_buf_puts(&text, c->type->id != FZ_TYPE_BOOLEAN || ((const uint8_t *)c->data)[row] ? "true" : "false");
    } else if (verb == 'c') {
        ok = fz_type_is_integer(c->type);
        if (ok) {
            fz_kernel_put_code(&text, (int32_t)fz_col_i64(c, row));
        }
    } else {
        ok = false;
    }
    int pad = width - (int)fz_utf8_length(text.ptr ? text.ptr : "", text.len);
    bool sign = zero && text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+');
    if (sign && !minus) {
        fz_buf_putc(out, text.ptr[0]);
    }
    for (int i = 0; i < pad && !minus && i < 100000; i++) {
        fz_buf_putc(out, zero && verb != 's' ? '0' : ' ');
    }
    fz_buf_append(out, text.ptr + (sign && !minus), text.len - (sign && !minus));
    for (int i = 0; i < pad && minus && i < 100000; i++) {
        fz_buf_putc(out, ' ');
    }
    fz_buf_dispose(&text);
    return ok;
}

static bool format_string(struct fz_buf *out, const struct fz_column *args, size_t n_args, size_t row) {
    struct fz_str f = fz_col_str(&args[0], row);
    size_t next = 1;
    for (size_t i = 0; i < f.len; i++) {
        if (f.ptr[i] != '%') {
            fz_buf_putc(out, f.ptr[i]);
            continue;
        }
        char flags[8] = {0};
        int width = 0, precision = -1;
        size_t n = 0, arg = 0;
        i++;
        size_t digits_at = i;
        while (i < f.len && isdigit((unsigned char)f.ptr[i])) {
            i++;
        }
        if (i < f.len && f.ptr[i] == '$' && i > digits_at) { // %2$s
            arg = (size_t)atoi(f.ptr + digits_at);
            i++;
        } else {
            i = digits_at;
        }
        while (i < f.len && strchr("-+ 0,(#", f.ptr[i]) != NULL && n < sizeof flags - 1) {
            flags[n++] = f.ptr[i++];
        }
        while (i < f.len && isdigit((unsigned char)f.ptr[i]) && width < 100000) {
            width = width * 10 + (f.ptr[i++] - '0');
        }
        if (i < f.len && f.ptr[i] == '.') {
            precision = 0;
            for (i++; i < f.len && isdigit((unsigned char)f.ptr[i]) && precision < 100000; i++) {
                precision = precision * 10 + (f.ptr[i] - '0');
            }
        }
        if (i >= f.len) {
            return false;
        }
        char verb = f.ptr[i];
        if (verb == '%' || verb == 'n') {
            fz_buf_putc(out, verb == '%' ? '%' : '\n');
            continue;
        }
        arg = arg > 0 ? arg : next++;
        if (arg >= n_args || !format_one(out, flags, width, precision, verb, &args[arg], row)) {
            return false;
        }
    }
    return true;
}
FZ_KERNEL_RUN(k_format_string) {
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        if (fz_column_is_valid(&args[0], i) && format_string(&buf, args, n_args, i)) {
            rc = fz_col_take_buf(out, i, &buf, strings, err);
        } else {
            fz_column_set_null(out, i);
            fz_buf_clear(&buf);
        }
    }
    fz_buf_dispose(&buf);
    return rc;
}

// ---- to_char, to_number: number formats of 9 0 . D , G $ S MI PR ----
struct number_format {
    int whole, fraction;
    bool sign_front, sign_back, minus_front, minus_back, angle, dollar, has_point, zero;
    char groups[64]; // whole part, from the left: '9', '0' or ','
    int n_groups;
};
static bool read_format(struct fz_str f, struct number_format *out) {
    *out = (struct number_format){0};
    for (size_t i = 0; i < f.len; i++) {
        char c = f.ptr[i];
        bool mi = i + 1 < f.len && fz_str_ieq((struct fz_str){f.ptr + i, 2}, FZ_STR_LIT("MI")),
             pr = i + 1 < f.len && fz_str_ieq((struct fz_str){f.ptr + i, 2}, FZ_STR_LIT("PR"));
        bool started = out->whole + out->fraction > 0 || out->has_point;
        if (c == '9' || c == '0') {
            if (out->has_point) {
                out->fraction++;
            } else {
                out->whole++;
                if (out->n_groups < 60) {
                    out->groups[out->n_groups++] = c;
                }
            }
        } else if (c == '.' || c == 'D' || c == 'd') {
            if (out->has_point) {
                return false;
            }
            out->has_point = true;
        } else if (c == ',' || c == 'G' || c == 'g') {
            if (out->n_groups < 60) {
                out->groups[out->n_groups++] = ',';
            }
        } else if (c == '$') {
            out->dollar = true;
        } else if (c == 'S' || c == 's') {
            *(started ? &out->sign_back : &out->sign_front) = true;
        } else if (mi) {
            *(started ? &out->minus_back : &out->minus_front) = true;
            i++;
        } else if (pr) {
            out->angle = true;
            i++;
        } else {
            return false;
        }
    }
    return out->whole + out->fraction > 0 && out->whole + out->fraction <= 38;
}

static bool to_char(struct fz_buf *out, struct fz_str s, struct fz_str format) {
    struct number_format f;
    __int128 v;
    struct fz_buf text = {0};
    if (!read_format(format, &f) || !number_of(s, f.fraction, &v)) {
        return false;
    }
    bool negative = v < 0;
    __int128 exact = 0, again = 0;
    bool cut = !number_of(s, 20, &exact) || !fz_decimal_rescale(v, f.fraction, 20, &again) || exact != again;
    fz_decimal_print(&text, v < 0 ? -v : v, f.fraction);
    const char *dot = text.ptr ? strchr(text.ptr, '.') : NULL;
    size_t whole = dot ? (size_t)(dot - text.ptr) : text.len;
    if (whole == 1 && text.ptr[0] == '0' && f.whole == 0) {
        whole = 0;
    }
    struct fz_buf body = {0};
    bool fits = (int)whole <= f.whole && !cut;
    int at = f.whole; // digits from the left that the format has
    bool begun = false;
    for (int g = 0; g < f.n_groups; g++) {
        if (f.groups[g] == ',') {
            fz_buf_putc(&body, begun && fits ? ',' : ' ');
            continue;
        }
        at--;
        if (!fits) {
            fz_buf_putc(&body, '#');
            begun = true;
        } else if ((int)whole > at) {
            fz_buf_putc(&body, text.ptr[whole - 1 - (size_t)at]);
            begun = true;
        } else if (f.groups[g] == '0') {
            fz_buf_putc(&body, '0');
            begun = true;
            for (int k = g + 1; k < f.n_groups; k++) { // after a 0 all digits show
                f.groups[k] = f.groups[k] == '9' ? '0' : f.groups[k];
            }
        } else {
            fz_buf_putc(&body, ' ');
        }
    }
    if (f.has_point) {
        fz_buf_putc(&body, '.');
        for (int k = 0; k < f.fraction; k++) {
            fz_buf_putc(&body, fits ? (dot ? dot[1 + k] : '0') : '#');
        }
    }
    size_t blank = 0;
    while (blank < body.len && body.ptr[blank] == ' ') {
        blank++;
    }
    struct fz_buf shown = {0};
    for (size_t k = 0; k < blank; k++) {
        fz_buf_putc(&shown, ' ');
    }
    if (f.angle && negative) {
        fz_buf_putc(&shown, '<');
    }
    if (f.sign_front || (f.minus_front && negative)) {
        fz_buf_putc(&shown, negative ? '-' : '+');
    } else if (f.minus_front) {
        fz_buf_putc(&shown, ' ');
    }
    if (f.dollar) {
        fz_buf_clear(&shown);
        if (f.sign_front) {
            fz_buf_putc(&shown, negative ? '-' : '+');
        } else if (f.minus_front) {
            fz_buf_putc(&shown, negative ? '-' : ' ');
        }
        fz_buf_putc(&shown, '$');
        for (size_t k = 0; k < blank; k++) {
            fz_buf_putc(&shown, ' ');
        }
    }
    fz_buf_append(out, shown.ptr, shown.len);
    fz_buf_append(out, body.ptr + blank, body.len - blank);
    if (f.sign_back) {
        fz_buf_putc(out, negative ? '-' : '+');
    } else if (f.minus_back) {
        fz_buf_putc(out, negative ? '-' : ' ');
    } else if (f.angle) {
        fz_buf_puts(out, negative ? ">" : "  ");
    }
    fz_buf_dispose(&shown);
    fz_buf_dispose(&body);
    fz_buf_dispose(&text);
    return true;
}
FZ_KERNEL_TO_BYTES(k_to_char, to_char(&buf, ARG(0), ARG(1)))

static bool to_number(struct fz_str s, struct fz_str format, int scale, __int128 *out) {
    struct number_format f;
    char digits[64];
    size_t n = 0;
    bool negative = false, point = false, any_sign = false;
    int whole = 0, fraction = 0;
    s = fz_text_trim(s);
    if (!read_format(format, &f) || s.len == 0) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (c == '-' || c == '+') {
            bool front = f.sign_front || f.minus_front, back = f.sign_back || f.minus_back;
            if (any_sign || (i == 0 ? !front : i + 1 == s.len ? !back : !front)) {
                return false;
            }
            any_sign = true;
            negative = c == '-';
        } else if (c == '<' && f.angle && i == 0) {
            negative = true;
        } else if (c == '>' && f.angle && i + 1 == s.len) {
            continue;
        } else if (c == '$') {
            if (!f.dollar || n > 0) {
                return false;
            }
        } else if (c == '.') {
            if (point || !f.has_point) {
                return false;
            }
            point = true;
            digits[n++] = '.';
        } else if (c == ',') {
            if (memchr(f.groups, ',', (size_t)f.n_groups) == NULL || point) {
                return false;
            }
        } else if (isdigit((unsigned char)c) && n < sizeof digits - 2) {
            digits[n++] = c;
            whole += !point;
            fraction += point;
        } else {
            return false;
        }
    }
    __int128 v;
    if (whole > f.whole || fraction > f.fraction || whole + fraction == 0 ||
        (f.dollar && memchr(s.ptr, '$', s.len) == NULL) || !number_of((struct fz_str){digits, n}, scale, &v)) {
        return false;
    }
    *out = negative ? -v : v;
    return true;
}
FZ_KERNEL_RUN(k_to_number) {
    FZ_KERNEL_UNUSED;
    for (size_t i = 0; i < n_rows; i++) {
        __int128 v = 0;
        if (!to_number(ARG(0), ARG(1), (int)NUM(2), &v)) {
            fz_column_set_null(out, i);
        }
        ((struct fz_i128 *)out->data)[i] = fz_i128_of(v);
    }
    return FZ_OK;
}

const struct fz_kernel_row fz_kernels_format[] = {
    {"fz_conv", "sii", "s", true, k_conv},
    {"fz_conv_overflows", "sii", "b", true, k_conv_overflows},
    {"fz_format_number", "si", "s", true, k_format_number},
    {"fz_format_number_pattern", "ss", "s", true, k_format_pattern},
    {"fz_format_string", "a*", "s", false, k_format_string},
    {"fz_to_char", "ss", "s", true, k_to_char},
    {"fz_to_number", "ssi", "h", true, k_to_number},
};
FZ_KERNELS(kernels_format);
