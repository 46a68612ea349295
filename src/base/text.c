// Implementation of base/text.h.
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

bool fz_utf8_valid(const char *text, size_t len) {
    const unsigned char *p = (const unsigned char *)text, *end = p + len;
    while (p < end) {
        if (end - p >= 8) { // eight ASCII bytes at a time
            uint64_t word;
            memcpy(&word, p, 8);
            if ((word & 0x8080808080808080u) == 0) {
                p += 8;
                continue;
            }
        }
        unsigned char c = *p;
        if (c < 0x80) {
            p++;
            continue;
        }
        size_t n = c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
        if (c < 0xC2 || c > 0xF4 || (size_t)(end - p) < n) {
            return false;
        }
        uint32_t cp = n == 4 ? c & 7u : n == 3 ? c & 15u : c & 31u;
        for (size_t i = 1; i < n; i++) {
            if ((p[i] & 0xC0) != 0x80) {
                return false;
            }
            cp = cp << 6 | (p[i] & 0x3Fu);
        }
        if ((n == 3 && cp < 0x800) || (n == 4 && cp < 0x10000) || cp > 0x10FFFF || (cp >= 0xD800 && cp < 0xE000)) {
            return false;
        }
        p += n;
    }
    return true;
}

size_t fz_utf8_truncate(const char *text, size_t len, size_t n_chars) {
    size_t i = 0;
    for (; i < len; i++) {
        if (((unsigned char)text[i] & 0xC0) != 0x80 && n_chars-- == 0) {
            break;
        }
    }
    return i;
}

size_t fz_utf8_length(const char *text, size_t len) {
    size_t n = 0;
    for (size_t i = 0; i < len; i++) {
        n += ((unsigned char)text[i] & 0xC0) != 0x80;
    }
    return n;
}

static unsigned char lower(char c) {
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

// The letters beyond ASCII whose two cases Java's equalsIgnoreCase takes for the same: Latin, Greek, Cyrillic, Armenian.
static uint32_t fold_letter(uint32_t c) {
    if (c < 0x100) {
        return c >= 0xC0 && c <= 0xDE && c != 0xD7 ? c + 32 : c;
    }
    static const struct {
        uint16_t first, last;
        uint8_t step; // 1: the even one is the capital; 2: the odd one; else how far the small letter is
    } ranges[] = {{0x100, 0x12F, 1},  {0x132, 0x137, 1},  {0x139, 0x148, 2},  {0x14A, 0x177, 1},  {0x179, 0x17E, 2},
                  {0x1A0, 0x1A5, 1},  {0x1AF, 0x1B0, 2},  {0x1CD, 0x1DC, 2},  {0x1DE, 0x1EF, 1},  {0x1F8, 0x21F, 1},
                  {0x222, 0x233, 1},  {0x386, 0x386, 38}, {0x388, 0x38A, 37}, {0x38C, 0x38C, 64}, {0x38E, 0x38F, 63},
                  {0x391, 0x3A1, 32}, {0x3A3, 0x3AB, 32}, {0x400, 0x40F, 80}, {0x410, 0x42F, 32}, {0x460, 0x481, 1},
                  {0x48A, 0x4BF, 1},  {0x4C1, 0x4CE, 2},  {0x4D0, 0x52F, 1},  {0x531, 0x556, 48}, {0x1E00, 0x1E95, 1},
                  {0x1EA0, 0x1EFF, 1}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges && c >= ranges[i].first; i++) {
        if (c <= ranges[i].last) {
            return ranges[i].step == 1 ? c | 1 : ranges[i].step == 2 ? c + (c & 1) : c + ranges[i].step;
        }
    }
    return c == 0x178 ? 0xFF : c == 0x3C2 ? 0x3C3 : c;
}

// The next letter as its small one; bytes that are no UTF-8 stand for themselves.
static uint32_t next_folded(const char **p) {
    const unsigned char *s = (const unsigned char *)*p;
    if (s[0] >= 0xC2 && s[0] <= 0xDF && (s[1] & 0xC0) == 0x80) {
        *p += 2;
        return fold_letter((uint32_t)(s[0] & 0x1F) << 6 | (s[1] & 0x3F));
    }
    if ((s[0] & 0xF0) == 0xE0 && (s[1] & 0xC0) == 0x80 && (s[2] & 0xC0) == 0x80) {
        *p += 3;
        return fold_letter((uint32_t)(s[0] & 0x0F) << 12 | (uint32_t)(s[1] & 0x3F) << 6 | (s[2] & 0x3F));
    }
    *p += 1;
    return s[0] < 0x80 ? lower((char)s[0]) : 0x110000U + s[0];
}

int fz_strcasecmp(const char *a, const char *b) {
    while (*a != 0) {
        if (((*a | *b) & 0x80) == 0) {
            if (lower(*a) != lower(*b)) {
                break;
            }
            a++;
            b++;
            continue;
        }
        uint32_t x = next_folded(&a), y = next_folded(&b);
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return (int)lower(*a) - (int)lower(*b);
}

bool fz_str_ieq(struct fz_str a, struct fz_str b) {
    if (a.len != b.len) {
        return false;
    }
    for (size_t i = 0; i < a.len; i++) {
        if (lower(a.ptr[i]) != lower(b.ptr[i])) {
            return false;
        }
    }
    return true;
}

bool fz_parse_i64(struct fz_str text, int64_t *out) {
    size_t i = text.len > 0 && (text.ptr[0] == '-' || text.ptr[0] == '+') ? 1 : 0;
    bool neg = i == 1 && text.ptr[0] == '-';
    if (i == text.len) {
        return false;
    }
    int64_t v = 0;
    for (; i < text.len; i++) {
        int d = text.ptr[i] - '0';
        if (d < 0 || d > 9 || __builtin_mul_overflow(v, 10, &v) ||
            (neg ? __builtin_sub_overflow(v, d, &v) : __builtin_add_overflow(v, d, &v))) {
            return false;
        }
    }
    *out = v;
    return true;
}

bool fz_parse_double(struct fz_str text, double *out) {
    char copy[400];
    if (text.len == 0 || text.len >= sizeof copy) {
        return false;
    }
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (!((c >= '0' && c <= '9') || c == '.' || c == '-' || c == '+' || c == 'e' || c == 'E')) {
            return false;
        }
        copy[i] = c;
    }
    copy[text.len] = 0;
    char *end;
    double v = strtod(copy, &end); // the library never calls setlocale; the program keeps LC_NUMERIC at C
    if (*end != 0) {
        return false;
    }
    *out = v;
    return true;
}

static const char B64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void fz_base64_encode(struct fz_buf *out, const void *data, size_t len) {
    const uint8_t *p = data;
    for (size_t i = 0; i < len; i += 3) {
        uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < len ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < len ? p[i + 2] : 0u);
        char four[4] = {B64[v >> 18], B64[v >> 12 & 63], i + 1 < len ? B64[v >> 6 & 63] : '=',
                        i + 2 < len ? B64[v & 63] : '='};
        fz_buf_append(out, four, 4);
    }
}

static int b64_value(char c) {
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool fz_base64_decode(struct fz_buf *out, struct fz_str text) {
    if (text.len % 4 != 0) {
        return false;
    }
    for (size_t i = 0; i < text.len; i += 4) {
        bool last = i + 4 == text.len;
        int pad = last && text.ptr[i + 3] == '=' ? (text.ptr[i + 2] == '=' ? 2 : 1) : 0;
        uint32_t v = 0;
        for (int k = 0; k < 4 - pad; k++) {
            int d = b64_value(text.ptr[i + (size_t)k]);
            if (d < 0) {
                return false;
            }
            v |= (uint32_t)d << (18 - 6 * k);
        }
        char three[3] = {(char)(v >> 16), (char)(v >> 8), (char)v};
        fz_buf_append(out, three, (size_t)(3 - pad));
    }
    return true;
}

void fz_hex_encode(struct fz_buf *out, const void *data, size_t len) {
    const uint8_t *p = data;
    for (size_t i = 0; i < len; i++) {
        char two[2] = {"0123456789abcdef"[p[i] >> 4], "0123456789abcdef"[p[i] & 15]};
        fz_buf_append(out, two, 2);
    }
}

static int hex_value(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

bool fz_hex_decode(struct fz_buf *out, struct fz_str text) {
    if (text.len % 2 != 0) {
        return false;
    }
    for (size_t i = 0; i < text.len; i += 2) {
        int hi = hex_value(text.ptr[i]), lo = hex_value(text.ptr[i + 1]);
        if (hi < 0 || lo < 0) {
            return false;
        }
        fz_buf_putc(out, (char)(hi << 4 | lo));
    }
    return true;
}

void fz_url_encode(struct fz_buf *out, struct fz_str text) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
            c == '*' || c == '_') {
            fz_buf_putc(out, (char)c);
        } else if (c == ' ') {
            fz_buf_putc(out, '+');
        } else {
            fz_buf_printf(out, "%%%02X", c);
        }
    }
}

size_t fz_edit_distance(struct fz_str a, struct fz_str b) {
    enum { MAX = 128 };
    size_t row[MAX + 1];
    if (a.len > MAX || b.len > MAX) {
        return a.len > b.len ? a.len : b.len;
    }
    for (size_t j = 0; j <= b.len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t up = row[j], best = diagonal + (lower(a.ptr[i - 1]) != lower(b.ptr[j - 1]));
            best = up + 1 < best ? up + 1 : best;
            row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
            diagonal = up;
        }
    }
    return row[b.len];
}

void fz_json_quote(struct fz_buf *out, struct fz_str text) {
    fz_buf_putc(out, '"');
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c == '"' || c == '\\') {
            fz_buf_putc(out, '\\');
            fz_buf_putc(out, (char)c);
        } else if (c == '\n') {
            fz_buf_puts(out, "\\n");
        } else if (c == '\r') {
            fz_buf_puts(out, "\\r");
        } else if (c == '\t') {
            fz_buf_puts(out, "\\t");
        } else if (c < 0x20) {
            fz_buf_printf(out, "\\u%04x", c);
        } else {
            fz_buf_putc(out, (char)c);
        }
    }
    fz_buf_putc(out, '"');
}

// Plain form from 1e-4 up to below 1e16, else exponent form; the shortest digits that `same` accepts.
static void format_shortest(struct fz_buf *out, double v, bool is_float) {
    if (isnan(v) || isinf(v)) {
        fz_buf_puts(out, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
        return;
    }
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*e", digits - 1, v);
        if (is_float ? strtof(text, NULL) == (float)v : strtod(text, NULL) == v) {
            break;
        }
    }
    char *e = strchr(text, 'e');
    int exponent = atoi(e + 1);
    char digits[24];
    int n = 0;
    for (char *p = text; p < e; p++) {
        if (*p >= '0' && *p <= '9') {
            digits[n++] = *p;
        }
    }
    if (text[0] == '-') {
        fz_buf_putc(out, '-');
    }
    if (v != 0 && (exponent >= 16 || exponent < -4)) {
        fz_buf_append(out, digits, 1);
        if (n > 1) {
            fz_buf_putc(out, '.');
            fz_buf_append(out, digits + 1, (size_t)n - 1);
        }
        fz_buf_printf(out, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
    } else if (exponent < 0) {
        fz_buf_puts(out, "0.");
        for (int i = -1; i > exponent; i--) {
            fz_buf_putc(out, '0');
        }
        fz_buf_append(out, digits, (size_t)n);
    } else {
        for (int i = 0; i <= exponent || i < n; i++) {
            if (i == exponent + 1) {
                fz_buf_putc(out, '.');
            }
            fz_buf_putc(out, i < n ? digits[i] : '0');
        }
        if (n <= exponent + 1) {
            fz_buf_puts(out, ".0");
        }
    }
}

void fz_format_double(struct fz_buf *out, double v) {
    format_shortest(out, v, false);
}

void fz_format_float(struct fz_buf *out, float v) {
    format_shortest(out, (double)v, true);
}

void fz_java_double(struct fz_buf *out, double v) {
    char digits[32];
    if (isnan(v) || isinf(v)) {
        fz_buf_puts(out, isnan(v) ? "NaN" : v > 0 ? "Infinity" : "-Infinity");
        return;
    }
    if (signbit(v)) {
        fz_buf_putc(out, '-');
        v = -v;
    }
    if (v == 0) {
        fz_buf_puts(out, "0.0");
        return;
    }
    int precision = 1;
    double back;
    for (; precision < 17; precision++) { // shortest that reads back
        snprintf(digits, sizeof digits, "%.*e", precision - 1, v);
        if (fz_parse_double(fz_str_of(digits), &back) && back == v) {
            break;
        }
    }
    snprintf(digits, sizeof digits, "%.*e", precision - 1, v);
    char *e = strchr(digits, 'e');
    int exponent = 0;
    sscanf(e + 1, "%d", &exponent);
    *e = 0;
    char mantissa[32];
    size_t n = 0;
    for (char *p = digits; *p; p++) {
        if (*p != '.' && *p != ',') {
            mantissa[n++] = *p;
        }
    }
    while (n > 1 && mantissa[n - 1] == '0') {
        n--;
    }
    if (v >= 1e-3 && v < 1e7) {
        if (exponent < 0) {
            fz_buf_puts(out, "0.");
            for (int i = -1; i > exponent; i--) {
                fz_buf_putc(out, '0');
            }
            fz_buf_append(out, mantissa, n);
            return;
        }
        for (int i = 0; i <= exponent; i++) {
            fz_buf_putc(out, (size_t)i < n ? mantissa[i] : '0');
        }
        fz_buf_putc(out, '.');
        if (n > (size_t)exponent + 1) {
            fz_buf_append(out, mantissa + exponent + 1, n - (size_t)exponent - 1);
        } else {
            fz_buf_putc(out, '0');
        }
        return;
    }
    fz_buf_putc(out, mantissa[0]);
    fz_buf_putc(out, '.');
    if (n > 1) {
        fz_buf_append(out, mantissa + 1, n - 1);
    } else {
        fz_buf_putc(out, '0');
    }
    fz_buf_printf(out, "E%d", exponent);
}

void fz_java_float(struct fz_buf *out, float v) {
    char text[32];
    if (isnan(v) || isinf(v) || v == 0) {
        fz_java_double(out, (double)v);
        return;
    }
    int precision = 1;
    for (; precision < 9; precision++) {
        double back;
        snprintf(text, sizeof text, "%.*e", precision - 1, (double)v);
        if (fz_parse_double(fz_str_of(text), &back) && (float)back == v) {
            break;
        }
    }
    double shown;
    snprintf(text, sizeof text, "%.*e", precision - 1, (double)v);
    fz_java_double(out, fz_parse_double(fz_str_of(text), &shown) ? shown : (double)v);
}

int64_t fz_days_from_civil(int64_t y, int m, int d) {
    y -= m <= 2;
    int64_t era = (y >= 0 ? y : y - 399) / 400, yoe = y - era * 400;
    int64_t doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

void fz_civil_from_days(int64_t days, int64_t *y, int *m, int *d) {
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097, doe = days - era * 146097;
    int64_t yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365, doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int64_t mp = (5 * doy + 2) / 153;
    *d = (int)(doy - (153 * mp + 2) / 5 + 1);
    *m = (int)(mp < 10 ? mp + 3 : mp - 9);
    *y = yoe + era * 400 + (*m <= 2);
}

void fz_format_date(struct fz_buf *out, int32_t days) {
    int64_t y;
    int m, d;
    fz_civil_from_days(days, &y, &m, &d);
    fz_buf_printf(out,
                  y > 9999 ? "+%" PRId64 "-%02d-%02d"
                  : y < 0  ? "%05" PRId64 "-%02d-%02d"
                           : "%04" PRId64 "-%02d-%02d",
                  y, m, d);
}

void fz_format_timestamp(struct fz_buf *out, int64_t micros, char separator) {
    const int64_t day_us = INT64_C(86400000000);
    int64_t days = micros / day_us - (micros % day_us < 0), rest = micros - days * day_us;
    fz_format_date(out, (int32_t)days);
    int64_t seconds = rest / 1000000, fraction = rest % 1000000;
    fz_buf_printf(out, "%c%02d:%02d:%02d", separator, (int)(seconds / 3600), (int)(seconds / 60 % 60),
                  (int)(seconds % 60));
    if (fraction != 0) {
        char text[8];
        snprintf(text, sizeof text, "%06d", (int)fraction);
        size_t n = 6;
        while (text[n - 1] == '0') {
            n--;
        }
        fz_buf_putc(out, '.');
        fz_buf_append(out, text, n);
    }
}

void fz_json_text(struct fz_buf *out, struct fz_str s) {
    fz_buf_putc(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        static const char from[] = "\b\f\n\r\t\"\\", into[] = "bfnrt\"\\";
        const char *at = c ? strchr(from, c) : NULL;
        if (at != NULL) {
            fz_buf_putc(out, '\\');
            fz_buf_putc(out, into[at - from]);
        } else if (c < ' ') {
            fz_buf_printf(out, "\\u%04X", c);
        } else {
            fz_buf_putc(out, (char)c);
        }
    }
    fz_buf_putc(out, '"');
}
