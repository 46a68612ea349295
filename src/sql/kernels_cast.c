// Casts from text and to text. NULL where Spark raises; the printer adds the error.
#include "sql/kernels_priv.h"

#include <math.h>
#include <stdio.h>

#define EACH(row) for (size_t row = 0; row < n_rows; row++)
#define SKIP_NULL(row)                                                                                                 \
    if (!fz_column_is_valid(&args[0], row)) {                                                                          \
        fz_column_set_null(out, row);                                                                                  \
        continue;                                                                                                      \
    }

FZ_KERNEL_RUN(str_to_int) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        int64_t v;
        SKIP_NULL(i)
        if (fz_text_to_i64(fz_col_str(&args[0], i), &v) && v >= INT32_MIN && v <= INT32_MAX) {
            ((int32_t *)out->data)[i] = (int32_t)v;
        } else {
            fz_column_set_null(out, i);
        }
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(str_to_bigint) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        SKIP_NULL(i)
        if (!fz_text_to_i64(fz_col_str(&args[0], i), &((int64_t *)out->data)[i])) {
            fz_column_set_null(out, i);
        }
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(str_to_double) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        SKIP_NULL(i)
        if (!fz_text_to_double(fz_col_str(&args[0], i), &((double *)out->data)[i])) {
            fz_column_set_null(out, i);
        }
    }
    return FZ_OK;
}
float fz_float_of_double(double v) { // past the largest float: infinity
    return isnan(v) ? NAN : v > 3.4028235677973366e38 ? INFINITY : v < -3.4028235677973366e38 ? -INFINITY : (float)v;
}
FZ_KERNEL_RUN(str_to_float) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        double v;
        SKIP_NULL(i)
        if (fz_text_to_double(fz_col_str(&args[0], i), &v)) {
            ((float *)out->data)[i] = fz_float_of_double(v);
        } else {
            fz_column_set_null(out, i);
        }
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(double_to_float) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        ((float *)out->data)[i] = fz_float_of_double(((const double *)args[0].data)[i]);
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(str_to_bool) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        bool v = false;
        SKIP_NULL(i)
        if (!fz_text_to_bool(fz_col_str(&args[0], i), &v)) {
            fz_column_set_null(out, i);
        }
        ((uint8_t *)out->data)[i] = v;
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(str_to_date) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        SKIP_NULL(i)
        if (!fz_text_to_date(fz_col_str(&args[0], i), &((int32_t *)out->data)[i])) {
            fz_column_set_null(out, i);
        }
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(str_to_ntz) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        SKIP_NULL(i)
        if (!fz_text_to_ntz(fz_col_str(&args[0], i), &((int64_t *)out->data)[i])) {
            fz_column_set_null(out, i);
        }
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(str_to_ts) {
    FZ_KERNEL_UNUSED;
    char zone[64];
    EACH(i) {
        SKIP_NULL(i)
        struct fz_str z = fz_col_str(&args[1], i);
        snprintf(zone, sizeof zone, "%.*s", (int)(z.len < 63 ? z.len : 63), z.ptr);
        if (!fz_text_to_ts(fz_col_str(&args[0], i), zone, &((int64_t *)out->data)[i])) {
            fz_column_set_null(out, i);
        }
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(str_to_dec) { // (text, precision, scale): the unscaled number
    FZ_KERNEL_UNUSED;
    EACH(i) {
        __int128 v = 0;
        bool number;
        SKIP_NULL(i)
        if (!fz_text_to_decimal(fz_col_str(&args[0], i), (int)fz_col_i64(&args[1], i), (int)fz_col_i64(&args[2], i), &v,
                                &number)) {
            fz_column_set_null(out, i);
        }
        ((struct fz_i128 *)out->data)[i] = fz_i128_of(v);
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(str_is_number) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        __int128 v;
        bool number = false;
        fz_text_to_decimal(fz_col_str(&args[0], i), 38, 0, &v, &number);
        ((uint8_t *)out->data)[i] = number;
    }
    return FZ_OK;
}

// ---- to text ----
static void print_ntz(struct fz_buf *out, int64_t us) {
    fz_format_timestamp(out, us, ' ');
}
static void print_date(struct fz_buf *out, int32_t day) {
    fz_format_date(out, day);
}

#define TO_TEXT(name, statement)                                                                                       \
    FZ_KERNEL_RUN(name) {                                                                                              \
        (void)n_args;                                                                                                  \
        struct fz_buf buf = {0};                                                                                       \
        enum fz_code rc = FZ_OK;                                                                                       \
        for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {                                                           \
            SKIP_NULL(i)                                                                                               \
            statement;                                                                                                 \
            rc = fz_col_take_buf(out, i, &buf, strings, err);                                                          \
        }                                                                                                              \
        fz_buf_dispose(&buf);                                                                                          \
        return rc;                                                                                                     \
    }
TO_TEXT(double_to_str, fz_java_double(&buf, ((const double *)args[0].data)[i]))
TO_TEXT(float_to_str, fz_java_float(&buf, ((const float *)args[0].data)[i]))
static void print_ns(struct fz_buf *out, int64_t ns, struct fz_str zone_name) { // fraction of up to nine digits
    int64_t us = ns / 1000 - (ns % 1000 < 0), below = ns - us * 1000;
    const struct fz_zone *zone = fz_zone_find(zone_name);
    print_ntz(out, us + (zone ? fz_zone_offset_us(zone, us) : 0));
    if (below != 0) {
        int64_t digits = (us % 1000000 + 1000000) % 1000000;
        while (out->len > 0 && !out->failed && out->ptr[out->len - 1] != ':') { // seconds and fraction anew
            out->len--;
        }
        int64_t second = (us / 1000000 - (us % 1000000 < 0)) % 60;
        struct fz_buf text = {0};
        fz_buf_printf(&text, "%02d.%06d%03d", (int)((second + 60) % 60), (int)digits, (int)below);
        while (text.len > 0 && text.ptr[text.len - 1] == '0') {
            text.len--;
        }
        fz_buf_append(out, text.ptr != NULL ? text.ptr : "", text.len);
        fz_buf_dispose(&text);
    }
}
TO_TEXT(ns_to_str, print_ns(&buf, ((const int64_t *)args[0].data)[i], fz_col_str(&args[1], i)))
TO_TEXT(ntz_to_str, print_ntz(&buf, ((const int64_t *)args[0].data)[i]))
TO_TEXT(date_to_str, print_date(&buf, ((const int32_t *)args[0].data)[i]))

void fz_print_repaired(struct fz_buf *out, struct fz_str s) { // bytes as they are; what is no UTF-8 becomes U+FFFD
    while (s.len > 0) {
        size_t n = 1;
        unsigned char c = (unsigned char)*s.ptr;
        n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
        if (n <= s.len && fz_utf8_valid(s.ptr, n)) {
            fz_buf_append(out, s.ptr, n);
        } else {
            fz_buf_puts(out, "\xef\xbf\xbd");
            n = 1;
        }
        s.ptr += n;
        s.len -= n;
    }
}
TO_TEXT(binary_to_str, fz_print_repaired(&buf, fz_col_str(&args[0], i)))

static const char *const dt_names[] = {"DAY", "HOUR", "MINUTE", "SECOND"};
static void print_dt(struct fz_buf *out, int64_t us, int64_t first, int64_t last) {
    first = first < 0 || first > 3 ? 0 : first;
    last = last < 0 || last > 3 ? 3 : last;
    const char *sign = us < 0 ? "-" : "";
    uint64_t v = us < 0 ? -(uint64_t)us : (uint64_t)us;
    uint64_t part[4] = {v / 86400000000u, v / 3600000000u % 24, v / 60000000u % 60, v / 1000000u % 60};
    static const uint64_t unit[] = {86400000000u, 3600000000u, 60000000u, 1000000u};
    part[first] = v / unit[first];
    fz_buf_printf(out, "INTERVAL '%s", sign);
    for (int64_t k = first; k <= last; k++) {
        fz_buf_printf(out, k == first ? (k == 0 ? "%llu" : "%02llu") : "%02llu", (unsigned long long)part[k]);
        if (k < last) {
            fz_buf_putc(out, k == 0 ? ' ' : ':');
        }
    }
    if (last == 3 && v % 1000000u != 0) {
        char fraction[8];
        snprintf(fraction, sizeof fraction, "%06llu", (unsigned long long)(v % 1000000u));
        size_t n = 6;
        while (n > 0 && fraction[n - 1] == '0') {
            n--;
        }
        fz_buf_printf(out, ".%.*s", (int)n, fraction);
    }
    fz_buf_printf(out, "' %s", dt_names[first]);
    if (last != first) {
        fz_buf_printf(out, " TO %s", dt_names[last]);
    }
}
TO_TEXT(dt_to_str, print_dt(&buf, ((const int64_t *)args[0].data)[i], fz_col_i64(&args[1], i), fz_col_i64(&args[2], i)))

static void print_ym(struct fz_buf *out, int64_t months, int64_t first, int64_t last) {
    const char *sign = months < 0 ? "-" : "";
    int64_t v = months < 0 ? -months : months;
    if (first == 0 && last == 1) {
        fz_buf_printf(out, "INTERVAL '%s%lld-%lld' YEAR TO MONTH", sign, (long long)(v / 12), (long long)(v % 12));
    } else {
        fz_buf_printf(out, "INTERVAL '%s%lld' %s", sign, (long long)(first == 0 ? v / 12 : v),
                      first == 0 ? "YEAR" : "MONTH");
    }
}
TO_TEXT(ym_to_str, print_ym(&buf, ((const int32_t *)args[0].data)[i], fz_col_i64(&args[1], i), fz_col_i64(&args[2], i)))

struct duck_interval {
    int32_t months, days;
    int64_t micros;
};
static void print_cal(struct fz_buf *out, const struct duck_interval *v) { // "1 years 2 months 3 days 4 hours"
    const struct {
        int64_t n;
        const char *unit;
    } parts[] = {{v->months / 12, "years"},
                 {v->months % 12, "months"},
                 {v->days, "days"},
                 {v->micros / 3600000000, "hours"},
                 {v->micros / 60000000 % 60, "minutes"}};
    const char *gap = "";
    for (size_t k = 0; k < 5; k++) {
        if (parts[k].n != 0) {
            fz_buf_printf(out, "%s%lld %s", gap, (long long)parts[k].n, parts[k].unit);
            gap = " ";
        }
    }
    int64_t rest = v->micros % 60000000;
    if (rest != 0 || *gap == 0) {
        char text[32];
        int n =
            snprintf(text, sizeof text, "%s%lld.%06lld", rest < 0 ? "-" : "",
                     (long long)(rest < 0 ? -rest : rest) / 1000000, (long long)(rest < 0 ? -rest : rest) % 1000000);
        while (n > 0 && text[n - 1] == '0') {
            text[--n] = 0;
        }
        if (n > 0 && text[n - 1] == '.') {
            text[--n] = 0;
        }
        fz_buf_printf(out, "%s%s seconds", gap, n > 0 ? text : "0");
    }
}
TO_TEXT(cal_to_str, print_cal(&buf, (const struct duck_interval *)args[0].data + i))

// Arrays, maps and structs: [1, null], {a -> 1}, {1, null, x}; no quotes.
static void print_any(struct fz_buf *out, const struct fz_column *c, size_t row, const struct fz_zone *zone,
                      int depth) {
    if (!fz_column_is_valid(c, row) || depth > 100) {
        fz_buf_puts(out, "null");
        return;
    }
    int64_t us;
    switch ((int)c->type->id) {
    case FZ_TYPE_LIST: {
        struct fz_list_span span = ((const struct fz_list_span *)c->data)[row];
        fz_buf_putc(out, '[');
        for (uint64_t k = 0; k < span.length; k++) {
            fz_buf_puts(out, k ? ", " : "");
            print_any(out, &c->children[0], (size_t)(span.offset + k), zone, depth + 1);
        }
        fz_buf_putc(out, ']');
        return;
    }
    case FZ_TYPE_MAP: {
        struct fz_list_span span = ((const struct fz_list_span *)c->data)[row];
        fz_buf_putc(out, '{');
        for (uint64_t k = 0; k < span.length; k++) {
            fz_buf_puts(out, k ? ", " : "");
            print_any(out, &c->children[0].children[0], (size_t)(span.offset + k), zone, depth + 1);
            fz_buf_puts(out, " -> ");
            print_any(out, &c->children[0].children[1], (size_t)(span.offset + k), zone, depth + 1);
        }
        fz_buf_putc(out, '}');
        return;
    }
    case FZ_TYPE_STRUCT:
        fz_buf_putc(out, '{');
        for (size_t k = 0; k < c->n_children; k++) {
            fz_buf_puts(out, k ? ", " : "");
            print_any(out, &c->children[k], row, zone, depth + 1);
        }
        fz_buf_putc(out, '}');
        return;
    case FZ_TYPE_DOUBLE:
        fz_java_double(out, ((const double *)c->data)[row]);
        return;
    case FZ_TYPE_FLOAT:
        fz_java_float(out, ((const float *)c->data)[row]);
        return;
    case FZ_TYPE_TIMESTAMPTZ:
        us = ((const int64_t *)c->data)[row];
        print_ntz(out, us + (zone ? fz_zone_offset_us(zone, us) : 0));
        return;
    case FZ_TYPE_TIMESTAMP:
        print_ntz(out, ((const int64_t *)c->data)[row]);
        return;
    case FZ_TYPE_BINARY:
        fz_print_repaired(out, fz_col_str(c, row));
        return;
    default: {
        struct fz_value v = fz_value_at(c, row, NULL);
        fz_value_print(out, &v);
        return;
    }
    }
}
TO_TEXT(any_to_str, print_any(&buf, &args[0], i, fz_zone_find(fz_col_str(&args[1], i)), 0))

const struct fz_kernel_row fz_kernels_cast[] = {
    {"fz_str_to_int", "s", "i", false, str_to_int},
    {"fz_str_to_bigint", "s", "l", false, str_to_bigint},
    {"fz_str_to_double", "s", "d", false, str_to_double},
    {"fz_str_to_float", "s", "f", false, str_to_float},
    {"fz_double_to_float", "d", "f", true, double_to_float},
    {"fz_str_to_bool", "s", "b", false, str_to_bool},
    {"fz_str_to_date", "s", "D", false, str_to_date},
    {"fz_str_to_ntz", "s", "N", false, str_to_ntz},
    {"fz_str_to_ts", "ss", "T", true, str_to_ts},
    {"fz_str_to_dec", "sii", "h", true, str_to_dec},
    {"fz_str_is_number", "s", "b", true, str_is_number},
    {"fz_double_to_str", "d", "s", false, double_to_str},
    {"fz_float_to_str", "f", "s", false, float_to_str},
    {"fz_ntz_to_str", "N", "s", false, ntz_to_str},
    {"fz_ns_to_str", "ls", "s", false, ns_to_str},
    {"fz_date_to_str", "D", "s", false, date_to_str},
    {"fz_binary_to_str", "x", "s", false, binary_to_str},
    {"fz_dt_to_str", "lii", "s", true, dt_to_str},
    {"fz_ym_to_str", "iii", "s", true, ym_to_str},
    {"fz_cal_to_str", "c", "s", false, cal_to_str},
    {"fz_to_str", "as", "s", false, any_to_str},
};
FZ_KERNELS(kernels_cast);
