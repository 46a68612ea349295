// Variants as text: JSON as Spark's to_json prints it, and what a cast to text gives.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/text.h"
#include "data/value.h"
#include "data/variant_priv.h"

struct printer {
    struct fz_buf *out;
    struct fz_variant_names names;
    int64_t (*offset_us)(const void *zone, int64_t utc_us);
    const void *zone;
    bool no_zone; // the local time alone
};

static void print_fraction(struct fz_buf *out, int64_t fraction, int digits) {
    char text[24];
    int n = snprintf(text, sizeof text, "%0*" PRId64, digits, fraction);
    while (n > 0 && text[n - 1] == '0') {
        n--;
    }
    if (n > 0) {
        fz_buf_putc(out, '.');
        fz_buf_append(out, text, (size_t)n);
    }
}

static void print_clock(struct fz_buf *out, int64_t of_day, int64_t per_second, int digits) {
    int64_t s = of_day / per_second;
    fz_buf_printf(out, "%02d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
    print_fraction(out, of_day % per_second, digits);
}

static void print_timestamp(const struct printer *p, int64_t v, bool nanos, bool zone) {
    int64_t per_second = nanos ? 1000000000 : 1000000, per_day = 86400 * per_second, offset_us = 0;
    if (zone && p->offset_us != NULL) {
        offset_us = p->offset_us(p->zone, nanos ? v / 1000 - (v % 1000 < 0) : v);
    }
    int64_t days = v / per_day - (v % per_day < 0), rest = v % per_day + (v % per_day < 0 ? per_day : 0);
    rest += offset_us * (nanos ? 1000 : 1);
    days += rest / per_day - (rest % per_day < 0);
    rest -= (rest / per_day - (rest % per_day < 0)) * per_day;
    fz_buf_putc(p->out, '"');
    fz_format_date(p->out, (int32_t)days);
    fz_buf_putc(p->out, ' ');
    print_clock(p->out, rest, per_second, nanos ? 9 : 6);
    if (zone && !p->no_zone) {
        int64_t minutes = (offset_us < 0 ? -offset_us : offset_us) / 60000000;
        fz_buf_printf(p->out, "%c%02d:%02d", offset_us < 0 ? '-' : '+', (int)(minutes / 60), (int)(minutes % 60));
    }
    fz_buf_putc(p->out, '"');
}

static void print_decimal(struct fz_buf *out, __int128 v, int scale) {
    while (scale > 0 && v % 10 == 0) {
        v /= 10;
        scale--;
    }
    fz_decimal_print(out, v, scale);
}

static void print_float(struct fz_buf *out, double v, bool single) {
    bool quoted = !isfinite(v);
    fz_buf_puts(out, quoted ? "\"" : "");
    if (single) {
        fz_java_float(out, (float)v);
    } else {
        fz_java_double(out, v);
    }
    fz_buf_puts(out, quoted ? "\"" : "");
}

static void print_primitive(const struct printer *p, const struct fz_variant_level *v) {
    struct fz_buf *out = p->out;
    const uint8_t *d = v->data;
    float f;
    double g;
    switch ((enum fz_variant_primitive)v->header) {
    case FZ_VARIANT_NULL:
        fz_buf_puts(out, "null");
        break;
    case FZ_VARIANT_TRUE:
        fz_buf_puts(out, "true");
        break;
    case FZ_VARIANT_FALSE:
        fz_buf_puts(out, "false");
        break;
    case FZ_VARIANT_INT8:
    case FZ_VARIANT_INT16:
    case FZ_VARIANT_INT32:
    case FZ_VARIANT_INT64:
        fz_buf_printf(out, "%" PRId64, fz_variant_read_signed(d, v->n));
        break;
    case FZ_VARIANT_DOUBLE:
        memcpy(&g, d, 8);
        print_float(out, g, false);
        break;
    case FZ_VARIANT_FLOAT:
        memcpy(&f, d, 4);
        print_float(out, (double)f, true);
        break;
    case FZ_VARIANT_DECIMAL4:
    case FZ_VARIANT_DECIMAL8:
        print_decimal(out, fz_variant_read_signed(d + 1, v->n - 1), d[0]);
        break;
    case FZ_VARIANT_DECIMAL16:
        print_decimal(out, fz_variant_read_i128(d + 1), d[0]);
        break;
    case FZ_VARIANT_DATE:
        fz_buf_putc(out, '"');
        fz_format_date(out, (int32_t)fz_variant_read_signed(d, 4));
        fz_buf_putc(out, '"');
        break;
    case FZ_VARIANT_TIMESTAMPTZ:
    case FZ_VARIANT_TIMESTAMP:
        print_timestamp(p, fz_variant_read_signed(d, 8), false, v->header == FZ_VARIANT_TIMESTAMPTZ);
        break;
    case FZ_VARIANT_TIMESTAMPTZ_NS:
    case FZ_VARIANT_TIMESTAMP_NS:
        print_timestamp(p, fz_variant_read_signed(d, 8), true, v->header == FZ_VARIANT_TIMESTAMPTZ_NS);
        break;
    case FZ_VARIANT_TIME:
        fz_buf_putc(out, '"');
        print_clock(out, fz_variant_read_signed(d, 8), 1000000, 6);
        fz_buf_putc(out, '"');
        break;
    case FZ_VARIANT_BINARY:
        fz_buf_putc(out, '"');
        fz_base64_encode(out, d, v->n);
        fz_buf_putc(out, '"');
        break;
    case FZ_VARIANT_STRING:
        fz_json_text(out, (struct fz_str){(const char *)d, v->n});
        break;
    case FZ_VARIANT_UUID:
        fz_buf_putc(out, '"');
        for (int i = 0; i < 16; i++) {
            fz_buf_printf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", d[i]);
        }
        fz_buf_putc(out, '"');
        break;
    }
}

static bool print_value(const struct printer *p, const uint8_t *bytes, size_t len, int depth) {
    struct fz_variant_level v;
    if (depth > FZ_VARIANT_MAX_DEPTH || p->out->failed || !fz_variant_read_level(bytes, len, &v)) {
        return false;
    }
    if (v.basic == FZ_VARIANT_BASIC_PRIMITIVE) {
        print_primitive(p, &v);
        return true;
    }
    if (v.basic == FZ_VARIANT_BASIC_SHORT_TEXT) {
        fz_json_text(p->out, (struct fz_str){(const char *)v.data, v.n});
        return true;
    }
    bool object = v.basic == FZ_VARIANT_BASIC_OBJECT;
    fz_buf_putc(p->out, object ? '{' : '[');
    for (size_t i = 0; i < v.n; i++) {
        const uint8_t *element;
        size_t left;
        struct fz_str name;
        fz_buf_puts(p->out, i > 0 ? "," : "");
        if (object) {
            if (!fz_variant_name_at(&p->names, fz_variant_read_le(v.ids + i * v.id_width, v.id_width), &name)) {
                return false;
            }
            fz_json_text(p->out, name);
            fz_buf_putc(p->out, ':');
        }
        if (!fz_variant_element_at(&v, i, &element, &left) || !print_value(p, element, left, depth + 1)) {
            return false;
        }
    }
    fz_buf_putc(p->out, object ? '}' : ']');
    return true;
}

bool fz_variant_item_print(struct fz_buf *out, struct fz_variant_item item, int64_t (*offset_us)(const void *, int64_t),
                           const void *zone) {
    struct printer p = {.out = out, .offset_us = offset_us, .zone = zone};
    return fz_variant_read_names(item.metadata, &p.names) &&
           print_value(&p, (const uint8_t *)item.bytes.ptr, item.bytes.len, 0);
}

bool fz_variant_print(struct fz_buf *out, struct fz_str variant, int64_t (*offset_us)(const void *, int64_t),
                      const void *zone) {
    struct fz_variant_item item;
    return fz_variant_root(variant, &item) && fz_variant_item_print(out, item, offset_us, zone);
}

bool fz_variant_item_print_cast(struct fz_buf *out, struct fz_variant_item item,
                                int64_t (*offset_us)(const void *, int64_t), const void *zone, bool *is_null) {
    struct printer p = {.out = out, .offset_us = offset_us, .zone = zone};
    struct fz_variant_level v;
    *is_null = false;
    if (!fz_variant_read_names(item.metadata, &p.names) ||
        !fz_variant_read_level((const uint8_t *)item.bytes.ptr, item.bytes.len, &v)) {
        return false;
    }
    if (v.basic == FZ_VARIANT_BASIC_SHORT_TEXT ||
        (v.basic == FZ_VARIANT_BASIC_PRIMITIVE && v.header == FZ_VARIANT_STRING)) {
        fz_buf_append(out, v.data, v.n);
        return true;
    }
    if (v.basic != FZ_VARIANT_BASIC_PRIMITIVE) {
        return fz_variant_item_print(out, item, offset_us, zone);
    }
    *is_null = v.header == FZ_VARIANT_NULL;
    if (v.header == FZ_VARIANT_BINARY) {
        fz_buf_append(out, v.data, v.n);
        return true;
    }
    p.no_zone = true;
    size_t start = out->len;
    print_primitive(&p, &v);
    if (out->len > start && !out->failed && out->ptr[start] == '"') { // what JSON puts in quotes stands without them
        memmove(out->ptr + start, out->ptr + start + 1, out->len - start - 2);
        out->len -= 2;
        out->ptr[out->len] = 0;
    }
    return true;
}

bool fz_variant_print_cast(struct fz_buf *out, struct fz_str variant, int64_t (*offset_us)(const void *, int64_t),
                           const void *zone, bool *is_null) {
    struct fz_variant_item item;
    *is_null = false;
    return fz_variant_root(variant, &item) && fz_variant_item_print_cast(out, item, offset_us, zone, is_null);
}
