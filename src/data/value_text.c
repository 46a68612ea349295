// Values as text: the rendering of results (test/conformance) and the JSON single-value serialization (spec appendix C).
#include "data/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "data/variant.h"

static const int64_t us_per_second = 1000000;

// ".fraction": at least `min_digits` of `digits`, trailing zeros cut otherwise.
static void print_fraction(struct fz_buf *out, int64_t fraction, int digits, int min_digits) {
    char text[24];
    snprintf(text, sizeof text, "%0*" PRId64, digits, fraction);
    int n = digits;
    while (n > min_digits && text[n - 1] == '0') {
        n--;
    }
    if (n > 0) {
        fz_buf_putc(out, '.');
        fz_buf_append(out, text, (size_t)n);
    }
}

static void print_clock(struct fz_buf *out, int64_t seconds) {
    fz_buf_printf(out, "%02d:%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60), (int)(seconds % 60));
}

// Date, separator, clock and fraction of a count of 1/`per_second` seconds since 1970.
static void print_timestamp(struct fz_buf *out, int64_t v, int64_t per_second, int digits, int min_digits,
                            char separator) {
    int64_t per_day = per_second * 86400, days = v / per_day - (v % per_day < 0), rest = v - days * per_day;
    fz_format_date(out, (int32_t)days);
    fz_buf_putc(out, separator);
    print_clock(out, rest / per_second);
    print_fraction(out, rest % per_second, digits, min_digits);
}

static void print_uuid(struct fz_buf *out, struct fz_i128 v) {
    uint64_t high = (uint64_t)v.upper, low = v.lower;
    fz_buf_printf(out, "%08" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%04" PRIx64 "-%012" PRIx64, high >> 32,
                  high >> 16 & 0xffff, high & 0xffff, low >> 48, low & UINT64_C(0xffffffffffff));
}

static void print_day_time(struct fz_buf *out, int64_t us) {
    uint64_t v = us < 0 ? -(uint64_t)us : (uint64_t)us;
    int64_t seconds = (int64_t)(v / 1000000), fraction = (int64_t)(v % 1000000);
    fz_buf_printf(out, "%s%" PRId64 " ", us < 0 ? "-" : "", seconds / 86400);
    print_clock(out, seconds % 86400);
    print_fraction(out, fraction, 6, 0);
}

static void print_year_month(struct fz_buf *out, int64_t months) {
    int64_t v = months < 0 ? -months : months;
    fz_buf_printf(out, "%s%" PRId64 "-%" PRId64, months < 0 ? "-" : "", v / 12, v % 12);
}

static void print_part(struct fz_buf *out, size_t start, int64_t v, const char *unit) {
    if (v != 0) {
        fz_buf_printf(out, "%s%" PRId64 " %s", out->len > start ? " " : "", v, unit);
    }
}

// As Spark prints a calendar interval: "1 years 2 months 3 days 4 hours 5 minutes 6.5 seconds".
static void print_calendar(struct fz_buf *out, struct fz_i128 v) {
    int64_t months = (int32_t)(v.lower & UINT32_MAX), days = (int32_t)(v.lower >> 32), us = v.upper;
    size_t start = out->len;
    print_part(out, start, months / 12, "years");
    print_part(out, start, months % 12, "months");
    print_part(out, start, days, "days");
    print_part(out, start, us / (3600 * us_per_second), "hours");
    print_part(out, start, us / (60 * us_per_second) % 60, "minutes");
    int64_t rest = us % (60 * us_per_second);
    if (rest != 0) {
        int64_t fraction = rest % us_per_second;
        fz_buf_printf(out, "%s%s%" PRId64, out->len > start ? " " : "", rest < 0 ? "-" : "",
                      (rest < 0 ? -rest : rest) / us_per_second);
        print_fraction(out, fraction < 0 ? -fraction : fraction, 6, 0);
        fz_buf_puts(out, " seconds");
    }
    if (out->len == start) {
        fz_buf_puts(out, "0 seconds");
    }
}

static void print_nested(struct fz_buf *out, const struct fz_value *value);

// Whether JSON takes the text of a value without quotes.
static bool is_json_literal(const struct fz_value *v) {
    switch ((int)v->type->id) {
    case FZ_TYPE_BOOLEAN:
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
    case FZ_TYPE_DECIMAL:
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
    case FZ_TYPE_VARIANT:
        return true;
    case FZ_TYPE_FLOAT:
        return isfinite(v->u.f32);
    case FZ_TYPE_DOUBLE:
        return isfinite(v->u.f64);
    default:
        return false;
    }
}

// Text of a value that is not NULL.
static void print_value(struct fz_buf *out, const struct fz_value *v) {
    switch (v->type->id) {
    case FZ_TYPE_BOOLEAN:
        fz_buf_puts(out, v->u.boolean ? "true" : "false");
        break;
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        fz_buf_printf(out, "%" PRId64, v->u.i64);
        break;
    case FZ_TYPE_FLOAT:
        fz_format_float(out, v->u.f32);
        break;
    case FZ_TYPE_DOUBLE:
        fz_format_double(out, v->u.f64);
        break;
    case FZ_TYPE_DECIMAL:
        fz_decimal_print(out, fz_i128_get(v->u.i128), v->type->scale);
        break;
    case FZ_TYPE_DATE:
        fz_format_date(out, (int32_t)v->u.i64);
        break;
    case FZ_TYPE_TIME:
        print_clock(out, v->u.i64 / us_per_second);
        print_fraction(out, v->u.i64 % us_per_second, 6, 0);
        break;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        print_timestamp(out, v->u.i64, us_per_second, 6, 0, ' ');
        break;
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        print_timestamp(out, v->u.i64, 1000 * us_per_second, 9, 0, ' ');
        break;
    case FZ_TYPE_STRING:
        fz_buf_append(out, v->u.bytes.ptr, v->u.bytes.len);
        break;
    case FZ_TYPE_UUID:
        print_uuid(out, v->u.i128);
        break;
    case FZ_TYPE_VARIANT: {
        size_t start = out->len;
        if (!fz_variant_print(out, v->u.bytes, NULL, NULL) && out->len > start) { // cannot be: checked where they enter
            out->len = start;
            fz_buf_puts(out, "?");
        }
        break;
    }
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
        fz_hex_encode(out, v->u.bytes.ptr, v->u.bytes.len);
        break;
    case FZ_TYPE_INTERVAL_DT:
        print_day_time(out, v->u.i64);
        break;
    case FZ_TYPE_INTERVAL_YM:
        print_year_month(out, v->u.i64);
        break;
    case FZ_TYPE_INTERVAL_CAL:
        print_calendar(out, v->u.i128);
        break;
    case FZ_TYPE_UNKNOWN:
        fz_buf_puts(out, "NULL");
        break;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        print_nested(out, v);
        break;
    }
}

static void print_json(struct fz_buf *out, const struct fz_value *v) {
    if (v->is_null) {
        fz_buf_puts(out, "null");
        return;
    }
    if (v->type->id == FZ_TYPE_STRING) {
        fz_json_quote(out, v->u.bytes);
        return;
    }
    const char *quote = is_json_literal(v) ? "" : "\""; // what is quoted here needs no escapes
    fz_buf_puts(out, quote);
    print_value(out, v);
    fz_buf_puts(out, quote);
}

// One rendered entry of a map: its key for sorting, and the whole `"key":value`.
struct map_entry {
    size_t key_at, key_len, text_at, text_len;
};

static int compare_entries(const void *a, const void *b, void *text) {
    const struct map_entry *x = a, *y = b;
    const char *base = text;
    size_t n = x->key_len < y->key_len ? x->key_len : y->key_len;
    int c = memcmp(base + x->key_at, base + y->key_at, n);
    return c != 0 ? c : (x->key_len > y->key_len) - (x->key_len < y->key_len);
}

// A JSON object whose keys are the text of the map's keys, sorted bytewise.
static void print_map(struct fz_buf *out, const struct fz_value *value) {
    size_t n = value->u.nested.n / 2;
    struct fz_buf text = {0};
    struct map_entry *entries = fz_calloc(n, sizeof *entries);
    for (size_t i = 0; entries != NULL && i < n; i++) {
        const struct fz_value *key = &value->u.nested.items[2 * i];
        entries[i].key_at = text.len;
        fz_value_print(&text, key);
        entries[i].key_len = text.len - entries[i].key_at;
        struct fz_buf name = {0};
        fz_buf_append(&name, text.ptr != NULL ? text.ptr + entries[i].key_at : NULL, entries[i].key_len);
        entries[i].text_at = text.len;
        fz_json_quote(&text, (struct fz_str){name.ptr, name.len});
        fz_buf_dispose(&name);
        fz_buf_putc(&text, ':');
        print_json(&text, &value->u.nested.items[2 * i + 1]);
        entries[i].text_len = text.len - entries[i].text_at;
    }
    if (entries == NULL || text.failed) {
        out->failed = true;
    } else {
        if (n > 1) {
            qsort_r(entries, n, sizeof *entries, compare_entries, text.ptr);
        }
        fz_buf_putc(out, '{');
        for (size_t i = 0; i < n; i++) {
            fz_buf_puts(out, i > 0 ? "," : "");
            fz_buf_append(out, text.ptr + entries[i].text_at, entries[i].text_len);
        }
        fz_buf_putc(out, '}');
    }
    fz_free(entries);
    fz_buf_dispose(&text);
}

static void print_nested(struct fz_buf *out, const struct fz_value *value) {
    if (value->type->id == FZ_TYPE_MAP) {
        print_map(out, value);
        return;
    }
    bool is_struct = value->type->id == FZ_TYPE_STRUCT;
    fz_buf_putc(out, is_struct ? '{' : '[');
    for (size_t i = 0; i < value->u.nested.n; i++) {
        fz_buf_puts(out, i > 0 ? "," : "");
        if (is_struct && i < value->type->n_fields) {
            fz_json_quote(out, fz_str_of(value->type->fields[i].name));
            fz_buf_putc(out, ':');
        }
        print_json(out, &value->u.nested.items[i]);
    }
    fz_buf_putc(out, is_struct ? '}' : ']');
}

void fz_value_print(struct fz_buf *out, const struct fz_value *value) {
    if (value->is_null || value->type == NULL) {
        fz_buf_puts(out, "NULL");
        return;
    }
    print_value(out, value);
}

static enum fz_code nested_to_json(struct fz_buf *out, const struct fz_value *value, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_value *items = value->u.nested.items;
    size_t n = value->u.nested.n;
    if (value->type->id == FZ_TYPE_MAP) {
        for (size_t part = 0; part < 2; part++) {
            fz_buf_puts(out, part == 0 ? "{\"keys\":[" : "],\"values\":[");
            for (size_t i = part; i < n; i += 2) {
                fz_buf_puts(out, i > 1 ? "," : "");
                FZ_TRY(fz_value_to_json(out, &items[i], err));
            }
        }
        fz_buf_puts(out, "]}");
        goto out;
    }
    bool is_struct = value->type->id == FZ_TYPE_STRUCT;
    fz_buf_putc(out, is_struct ? '{' : '[');
    for (size_t i = 0; i < n; i++) {
        fz_buf_puts(out, i > 0 ? "," : "");
        if (is_struct) {
            fz_buf_printf(out, "\"%d\":", i < value->type->n_fields ? value->type->fields[i].id : 0);
        }
        FZ_TRY(fz_value_to_json(out, &items[i], err));
    }
    fz_buf_putc(out, is_struct ? '}' : ']');
out:
    return rc;
}

enum fz_code fz_value_to_json(struct fz_buf *out, const struct fz_value *value, struct fz_err *err) {
    if (value->is_null) {
        fz_buf_puts(out, "null");
        return fz_buf_check(out, err);
    }
    int64_t v = value->u.i64;
    switch ((int)value->type->id) {
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
        if (!isfinite(value->type->id == FZ_TYPE_FLOAT ? (double)value->u.f32 : value->u.f64)) {
            return fz_fail(err, FZ_UNSUPPORTED, "NaN and infinity cannot be written as a JSON value");
        }
        print_json(out, value);
        break;
    case FZ_TYPE_DECIMAL:
        fz_buf_putc(out, '"');
        fz_decimal_print(out, fz_i128_get(value->u.i128), value->type->scale);
        fz_buf_putc(out, '"');
        break;
    case FZ_TYPE_TIME:
        fz_buf_putc(out, '"');
        print_clock(out, v / us_per_second);
        print_fraction(out, v % us_per_second, 6, 6);
        fz_buf_putc(out, '"');
        break;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS: {
        bool ns = value->type->id == FZ_TYPE_TIMESTAMP_NS || value->type->id == FZ_TYPE_TIMESTAMPTZ_NS;
        bool zone = value->type->id == FZ_TYPE_TIMESTAMPTZ || value->type->id == FZ_TYPE_TIMESTAMPTZ_NS;
        fz_buf_putc(out, '"');
        print_timestamp(out, v, ns ? 1000 * us_per_second : us_per_second, ns ? 9 : 6, ns ? 9 : 6, 'T');
        fz_buf_puts(out, zone ? "+00:00\"" : "\"");
        break;
    }
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        return nested_to_json(out, value, err);
    case FZ_TYPE_VARIANT:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
    case FZ_TYPE_INTERVAL_CAL:
        return fz_fail(err, FZ_UNSUPPORTED, "a value of this type cannot be written as a JSON value");
    default:
        print_json(out, value);
    }
    return fz_buf_check(out, err);
}
