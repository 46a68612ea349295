#include "data/variant.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "data/value.h"

enum { BASIC_PRIMITIVE, BASIC_SHORT_TEXT, BASIC_OBJECT, BASIC_ARRAY };

static uint32_t read_le(const uint8_t *p, size_t width) {
    uint32_t v = 0;
    for (size_t i = 0; i < width; i++) {
        v |= (uint32_t)p[i] << 8 * i;
    }
    return v;
}
static int64_t read_signed(const uint8_t *p, size_t width) {
    uint64_t v = 0;
    for (size_t i = 0; i < width; i++) {
        v |= (uint64_t)p[i] << 8 * i;
    }
    size_t unused = 64 - 8 * width;
    return (int64_t)(v << unused) >> unused;
}
static __int128 read_i128(const uint8_t *p) {
    uint64_t low, high;
    memcpy(&low, p, 8);
    memcpy(&high, p + 8, 8);
    return (__int128)((unsigned __int128)high << 64 | low);
}

// ---- metadata

struct names {
    const uint8_t *offsets, *bytes;
    size_t width, n, n_bytes, size; // size: of the whole metadata
};

static bool read_names(struct fz_str variant, struct names *out) {
    const uint8_t *p = (const uint8_t *)variant.ptr;
    if (variant.len < 3 || (p[0] & 15) != 1) {
        return false;
    }
    size_t width = (size_t)(p[0] >> 6) + 1, len = variant.len - 1;
    if (len < width) {
        return false;
    }
    size_t n = read_le(p + 1, width);
    len -= width;
    if (n >= len / width) { // n + 1 offsets
        return false;
    }
    *out = (struct names){.offsets = p + 1 + width, .width = width, .n = n};
    out->bytes = out->offsets + (n + 1) * width;
    len -= (n + 1) * width;
    out->n_bytes = read_le(out->offsets + n * width, width);
    out->size = 1 + width + (n + 1) * width + out->n_bytes;
    return out->n_bytes <= len;
}

static bool name_at(const struct names *names, size_t id, struct fz_str *out) {
    if (id >= names->n) {
        return false;
    }
    size_t start = read_le(names->offsets + id * names->width, names->width),
           end = read_le(names->offsets + (id + 1) * names->width, names->width);
    if (start > end || end > names->n_bytes) {
        return false;
    }
    *out = (struct fz_str){(const char *)names->bytes + start, end - start};
    return true;
}

size_t fz_variant_metadata_size(struct fz_str variant) {
    struct names names;
    return read_names(variant, &names) ? names.size : 0;
}

bool fz_variant_name_id(struct fz_str metadata, struct fz_str name, uint32_t *id) {
    struct names names;
    struct fz_str text;
    if (!read_names(metadata, &names)) {
        return false;
    }
    for (size_t i = 0; i < names.n; i++) {
        if (name_at(&names, i, &text) && fz_str_eq(text, name)) {
            *id = (uint32_t)i;
            return true;
        }
    }
    return false;
}

// ---- values

struct value { // a value's parts, checked against the bytes there are
    int basic, header;
    const uint8_t *data; // behind the header; of objects and arrays: the elements
    size_t n; // elements; bytes of a text, binary or primitive
    const uint8_t *ids, *offsets;
    size_t id_width, offset_width, n_data, size; // n_data: bytes of all elements; size: of the whole value
};

static const uint8_t primitive_sizes[] = {0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, 0, 0, 8, 8, 8, 16};

static bool read_primitive(struct value *v, const uint8_t *p, size_t len) {
    if (v->header >= (int)sizeof primitive_sizes) {
        return false;
    }
    if (v->header == FZ_VARIANT_BINARY || v->header == FZ_VARIANT_STRING) {
        if (len < 5) {
            return false;
        }
        v->n = read_le(p + 1, 4);
        v->data = p + 5;
        v->size = 5 + v->n;
        return v->n <= len - 5;
    }
    v->n = primitive_sizes[v->header];
    v->data = p + 1;
    v->size = 1 + v->n;
    return v->size <= len;
}

static bool read_value(const uint8_t *p, size_t len, struct value *v) {
    if (len == 0) {
        return false;
    }
    *v = (struct value){.basic = p[0] & 3, .header = p[0] >> 2};
    if (v->basic == BASIC_PRIMITIVE) {
        return read_primitive(v, p, len);
    }
    if (v->basic == BASIC_SHORT_TEXT) {
        v->n = (size_t)v->header;
        v->data = p + 1;
        v->size = 1 + v->n;
        return v->size <= len;
    }
    bool object = v->basic == BASIC_OBJECT, large = (v->header >> (object ? 4 : 2) & 1) != 0;
    size_t n_width = large ? 4 : 1;
    v->offset_width = (size_t)(v->header & 3) + 1;
    v->id_width = object ? (size_t)(v->header >> 2 & 3) + 1 : 0;
    if (len - 1 < n_width) {
        return false;
    }
    v->n = read_le(p + 1, n_width);
    size_t left = len - 1 - n_width, each = v->id_width + v->offset_width;
    if (left < v->offset_width || v->n > (left - v->offset_width) / each) {
        return false;
    }
    v->ids = p + 1 + n_width;
    v->offsets = v->ids + v->n * v->id_width;
    v->data = v->offsets + (v->n + 1) * v->offset_width;
    left -= v->n * each + v->offset_width;
    v->n_data = read_le(v->offsets + v->n * v->offset_width, v->offset_width);
    v->size = 1 + n_width + v->n * each + v->offset_width + v->n_data;
    return v->n_data <= left;
}

// Element i of an object or array.
static bool element_at(const struct value *v, size_t i, const uint8_t **p, size_t *len) {
    size_t at = read_le(v->offsets + i * v->offset_width, v->offset_width);
    if (at >= v->n_data) {
        return false;
    }
    *p = v->data + at;
    *len = v->n_data - at;
    return true;
}

// `work`: values still allowed to be looked at. Offsets may make elements share bytes, so that a small variant could otherwise say it
// has very many values.
static bool check_value(const struct names *names, const uint8_t *p, size_t len, int depth, size_t *work,
                        size_t *size) {
    struct value v;
    if (depth > FZ_VARIANT_MAX_DEPTH || (*work)-- == 0 || !read_value(p, len, &v)) {
        return false;
    }
    *size = v.size;
    if (v.basic == BASIC_SHORT_TEXT || (v.basic == BASIC_PRIMITIVE && v.header == FZ_VARIANT_STRING)) {
        return fz_utf8_valid((const char *)v.data, v.n);
    }
    if (v.basic == BASIC_PRIMITIVE) {
        bool decimal = v.header >= FZ_VARIANT_DECIMAL4 && v.header <= FZ_VARIANT_DECIMAL16;
        return !decimal || v.data[0] <= 38;
    }
    for (size_t i = 0; i < v.n; i++) {
        const uint8_t *element;
        size_t left, used;
        struct fz_str name;
        if (v.ids != v.offsets && !name_at(names, read_le(v.ids + i * v.id_width, v.id_width), &name)) {
            return false;
        }
        if (!element_at(&v, i, &element, &left) || !check_value(names, element, left, depth + 1, work, &used)) {
            return false;
        }
    }
    return true;
}

enum fz_code fz_variant_check(struct fz_str variant, struct fz_err *err) {
    struct names names;
    struct fz_str name;
    size_t size = 0, work = variant.len + 16;
    if (!read_names(variant, &names)) {
        return fz_fail(err, FZ_CORRUPT, "a variant's metadata is damaged or not of version 1");
    }
    for (size_t i = 0; i < names.n; i++) {
        if (!name_at(&names, i, &name) || !fz_utf8_valid(name.ptr, name.len)) {
            return fz_fail(err, FZ_CORRUPT, "a variant's metadata is damaged: name %zu", i);
        }
    }
    const uint8_t *value = (const uint8_t *)variant.ptr + names.size;
    if (!check_value(&names, value, variant.len - names.size, 0, &work, &size) || size != variant.len - names.size) {
        return fz_fail(err, FZ_CORRUPT, "a variant's value is damaged, or nested deeper than %d levels",
                       FZ_VARIANT_MAX_DEPTH);
    }
    return FZ_OK;
}

// ---- printing

struct printer {
    struct fz_buf *out;
    struct names names;
    int64_t (*offset_us)(const void *zone, int64_t utc_us);
    const void *zone;
    bool no_zone; // the local time alone
};

static void print_text(struct fz_buf *out, struct fz_str s) { // as Jackson escapes
    static const char from[] = "\b\f\n\r\t\"\\", into[] = "bfnrt\"\\";
    fz_buf_putc(out, '"');
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        const char *at = c != 0 ? strchr(from, c) : NULL;
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
    int64_t days = v / per_day - (v % per_day < 0), rest = v - days * per_day + offset_us * (nanos ? 1000 : 1);
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

static void print_primitive(const struct printer *p, const struct value *v) {
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
        fz_buf_printf(out, "%" PRId64, read_signed(d, v->n));
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
        print_decimal(out, read_signed(d + 1, v->n - 1), d[0]);
        break;
    case FZ_VARIANT_DECIMAL16:
        print_decimal(out, read_i128(d + 1), d[0]);
        break;
    case FZ_VARIANT_DATE:
        fz_buf_putc(out, '"');
        fz_format_date(out, (int32_t)read_signed(d, 4));
        fz_buf_putc(out, '"');
        break;
    case FZ_VARIANT_TIMESTAMPTZ:
    case FZ_VARIANT_TIMESTAMP:
        print_timestamp(p, read_signed(d, 8), false, v->header == FZ_VARIANT_TIMESTAMPTZ);
        break;
    case FZ_VARIANT_TIMESTAMPTZ_NS:
    case FZ_VARIANT_TIMESTAMP_NS:
        print_timestamp(p, read_signed(d, 8), true, v->header == FZ_VARIANT_TIMESTAMPTZ_NS);
        break;
    case FZ_VARIANT_TIME:
        fz_buf_putc(out, '"');
        print_clock(out, read_signed(d, 8), 1000000, 6);
        fz_buf_putc(out, '"');
        break;
    case FZ_VARIANT_BINARY:
        fz_buf_putc(out, '"');
        fz_base64_encode(out, d, v->n);
        fz_buf_putc(out, '"');
        break;
    case FZ_VARIANT_STRING:
        print_text(out, (struct fz_str){(const char *)d, v->n});
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
    struct value v;
    if (depth > FZ_VARIANT_MAX_DEPTH || p->out->failed || !read_value(bytes, len, &v)) {
        return false;
    }
    if (v.basic == BASIC_PRIMITIVE) {
        print_primitive(p, &v);
        return true;
    }
    if (v.basic == BASIC_SHORT_TEXT) {
        print_text(p->out, (struct fz_str){(const char *)v.data, v.n});
        return true;
    }
    bool object = v.basic == BASIC_OBJECT;
    fz_buf_putc(p->out, object ? '{' : '[');
    for (size_t i = 0; i < v.n; i++) {
        const uint8_t *element;
        size_t left;
        struct fz_str name;
        fz_buf_puts(p->out, i > 0 ? "," : "");
        if (object) {
            if (!name_at(&p->names, read_le(v.ids + i * v.id_width, v.id_width), &name)) {
                return false;
            }
            print_text(p->out, name);
            fz_buf_putc(p->out, ':');
        }
        if (!element_at(&v, i, &element, &left) || !print_value(p, element, left, depth + 1)) {
            return false;
        }
    }
    fz_buf_putc(p->out, object ? '}' : ']');
    return true;
}

bool fz_variant_print(struct fz_buf *out, struct fz_str variant, int64_t (*offset_us)(const void *, int64_t),
                      const void *zone) {
    struct printer p = {.out = out, .offset_us = offset_us, .zone = zone};
    return read_names(variant, &p.names) &&
           print_value(&p, (const uint8_t *)variant.ptr + p.names.size, variant.len - p.names.size, 0);
}

bool fz_variant_print_cast(struct fz_buf *out, struct fz_str variant, int64_t (*offset_us)(const void *, int64_t),
                           const void *zone, bool *is_null) {
    struct printer p = {.out = out, .offset_us = offset_us, .zone = zone};
    struct value v;
    *is_null = false;
    if (!read_names(variant, &p.names) ||
        !read_value((const uint8_t *)variant.ptr + p.names.size, variant.len - p.names.size, &v)) {
        return false;
    }
    if (v.basic == BASIC_SHORT_TEXT || (v.basic == BASIC_PRIMITIVE && v.header == FZ_VARIANT_STRING)) {
        fz_buf_append(out, v.data, v.n);
        return true;
    }
    if (v.basic != BASIC_PRIMITIVE) {
        return fz_variant_print(out, variant, offset_us, zone);
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

// ---- building

static void put_le(struct fz_buf *out, uint64_t v, size_t width) {
    char bytes[8];
    for (size_t i = 0; i < width; i++) {
        bytes[i] = (char)(v >> 8 * i);
    }
    fz_buf_append(out, bytes, width);
}
static size_t width_of(size_t v) {
    return v < 1 << 8 ? 1 : v < 1 << 16 ? 2 : v < 1 << 24 ? 3 : 4;
}

void fz_variant_put_primitive(struct fz_buf *out, enum fz_variant_primitive type, const void *bytes, size_t len) {
    fz_buf_putc(out, (char)((unsigned)type << 2));
    if (type == FZ_VARIANT_BINARY || type == FZ_VARIANT_STRING) {
        put_le(out, len, 4);
    }
    fz_buf_append(out, bytes, len);
}

void fz_variant_put_decimal(struct fz_buf *out, enum fz_variant_primitive type, int scale, __int128 unscaled) {
    fz_buf_putc(out, (char)((unsigned)type << 2));
    fz_buf_putc(out, (char)scale);
    put_le(out, (uint64_t)unscaled, type == FZ_VARIANT_DECIMAL4 ? 4 : 8);
    if (type == FZ_VARIANT_DECIMAL16) {
        put_le(out, (uint64_t)(unscaled >> 64), 8);
    }
}

void fz_variant_put_text(struct fz_buf *out, struct fz_str text) {
    if (text.len > 63) {
        fz_variant_put_primitive(out, FZ_VARIANT_STRING, text.ptr, text.len);
        return;
    }
    fz_buf_putc(out, (char)(BASIC_SHORT_TEXT | text.len << 2));
    fz_buf_append(out, text.ptr, text.len);
}

static int by_name(const void *a, const void *b) {
    const struct fz_variant_member *x = a, *y = b;
    size_t n = x->name.len < y->name.len ? x->name.len : y->name.len;
    int order = n > 0 ? memcmp(x->name.ptr, y->name.ptr, n) : 0;
    return order != 0 ? order : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

static void put_elements(struct fz_buf *out, const struct fz_variant_member *e, size_t n, size_t offset_width,
                         const char *values) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        put_le(out, at, offset_width);
        at += e[i].end - e[i].start;
    }
    put_le(out, at, offset_width);
    for (size_t i = 0; i < n; i++) {
        fz_buf_append(out, values + e[i].start, e[i].end - e[i].start);
    }
}

static size_t total(const struct fz_variant_member *e, size_t n) {
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += e[i].end - e[i].start;
    }
    return bytes;
}

void fz_variant_put_object(struct fz_buf *out, struct fz_variant_member *members, size_t n, const char *values) {
    uint32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = members[i].id > largest ? members[i].id : largest;
    }
    if (n > 1) {
        qsort(members, n, sizeof *members, by_name);
    }
    size_t id_width = width_of(largest), offset_width = width_of(total(members, n)), large = n > 255;
    fz_buf_putc(out, (char)(BASIC_OBJECT | (offset_width - 1) << 2 | (id_width - 1) << 4 | large << 6));
    put_le(out, n, large ? 4 : 1);
    for (size_t i = 0; i < n; i++) {
        put_le(out, members[i].id, id_width);
    }
    put_elements(out, members, n, offset_width, values);
}

void fz_variant_put_array(struct fz_buf *out, const struct fz_variant_member *elements, size_t n, const char *values) {
    size_t offset_width = width_of(total(elements, n)), large = n > 255;
    fz_buf_putc(out, (char)(BASIC_ARRAY | (offset_width - 1) << 2 | large << 4));
    put_le(out, n, large ? 4 : 1);
    put_elements(out, elements, n, offset_width, values);
}

bool fz_variant_members(struct fz_str metadata, struct fz_str value, struct fz_variant_member *out, size_t *n) {
    struct value v;
    struct names names;
    size_t room = *n;
    if (!read_names(metadata, &names) || !read_value((const uint8_t *)value.ptr, value.len, &v) ||
        v.basic != BASIC_OBJECT) {
        return false;
    }
    *n = v.n;
    for (size_t i = 0; i < v.n && i < room; i++) {
        const uint8_t *element;
        size_t left;
        struct value inner;
        out[i].id = read_le(v.ids + i * v.id_width, v.id_width);
        if (!name_at(&names, out[i].id, &out[i].name) || !element_at(&v, i, &element, &left) ||
            !read_value(element, left, &inner)) {
            return false;
        }
        out[i].start = (size_t)((const char *)element - value.ptr);
        out[i].end = out[i].start + inner.size;
    }
    return true;
}
