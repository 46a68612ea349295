// Implementation of data/transform.h for single values: parsing, result types, the functions themselves, text for paths.
// Whole columns: transform_column.c.
#include "data/transform_priv.h"

#include <inttypes.h>

#include "base/hash.h"
#include "base/text.h"

static const char *const transform_names[] = {
    [FZ_TRANSFORM_IDENTITY] = "identity", [FZ_TRANSFORM_BUCKET] = "bucket", [FZ_TRANSFORM_TRUNCATE] = "truncate",
    [FZ_TRANSFORM_YEAR] = "year",         [FZ_TRANSFORM_MONTH] = "month",   [FZ_TRANSFORM_DAY] = "day",
    [FZ_TRANSFORM_HOUR] = "hour",         [FZ_TRANSFORM_VOID] = "void",
};

static bool has_param(enum fz_transform_kind kind) {
    return kind == FZ_TRANSFORM_BUCKET || kind == FZ_TRANSFORM_TRUNCATE;
}

enum fz_code fz_transform_parse(struct fz_arena *arena, struct fz_str text, struct fz_transform *out,
                                struct fz_err *err) {
    const char *bracket = text.len > 0 ? memchr(text.ptr, '[', text.len) : NULL;
    struct fz_str name = {text.ptr, bracket != NULL ? (size_t)(bracket - text.ptr) : text.len};
    for (int kind = 0; kind < FZ_TRANSFORM_OTHER; kind++) {
        if (!fz_str_ieq(name, fz_str_of(transform_names[kind])) ||
            has_param((enum fz_transform_kind)kind) != (bracket != NULL)) {
            continue;
        }
        *out = (struct fz_transform){.kind = (enum fz_transform_kind)kind};
        if (bracket != NULL) {
            int64_t param = 0;
            size_t len = text.len - name.len;
            if (text.ptr[text.len - 1] != ']' || len < 3 ||
                !fz_parse_i64((struct fz_str){bracket + 1, len - 2}, &param) || param < 1 || param > INT32_MAX) {
                return fz_fail(err, FZ_INVALID_ARG, "the parameter of the transform \"%.*s\" is not a number above 0",
                               (int)(text.len < 100 ? text.len : 100), text.ptr);
            }
            out->param = (int32_t)param;
        }
        return FZ_OK;
    }
    if (text.len == 0) {
        return fz_fail(err, FZ_INVALID_ARG, "the name of a transform is empty");
    }
    *out = (struct fz_transform){.kind = FZ_TRANSFORM_OTHER, .name = fz_arena_strndup(arena, text.ptr, text.len)};
    return out->name != NULL ? FZ_OK : fz_fail_nomem(err, text.len);
}

void fz_transform_print(struct fz_buf *out, const struct fz_transform *t) {
    if (t->kind == FZ_TRANSFORM_OTHER) {
        fz_buf_puts(out, t->name);
    } else if (has_param(t->kind)) {
        fz_buf_printf(out, "%s[%d]", transform_names[t->kind], t->param);
    } else {
        fz_buf_puts(out, transform_names[t->kind]);
    }
}

static bool is_timestamp(const struct fz_type *type) {
    return type->id >= FZ_TYPE_TIMESTAMP && type->id <= FZ_TYPE_TIMESTAMPTZ_NS;
}

static bool can_bucket(const struct fz_type *type) {
    switch ((int)type->id) {
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
    case FZ_TYPE_DECIMAL:
    case FZ_TYPE_DATE:
    case FZ_TYPE_TIME:
    case FZ_TYPE_STRING:
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        return true;
    default:
        return is_timestamp(type);
    }
}

static bool can_identity(const struct fz_type *type) {
    return fz_type_is_primitive(type) && type->id != FZ_TYPE_VARIANT && type->id != FZ_TYPE_GEOMETRY &&
           type->id != FZ_TYPE_GEOGRAPHY;
}

static bool can_truncate(const struct fz_type *type) {
    return fz_type_is_integer(type) || type->id == FZ_TYPE_DECIMAL || type->id == FZ_TYPE_STRING ||
           type->id == FZ_TYPE_BINARY;
}

static const struct fz_type *result_type(const struct fz_transform *t, const struct fz_type *source) {
    const struct fz_type *int_type = fz_type_primitive(FZ_TYPE_INT);
    switch (t->kind) {
    case FZ_TRANSFORM_IDENTITY:
        return can_identity(source) ? source : NULL;
    case FZ_TRANSFORM_BUCKET:
        return can_bucket(source) ? int_type : NULL;
    case FZ_TRANSFORM_TRUNCATE:
        return can_truncate(source) ? source : NULL;
    case FZ_TRANSFORM_YEAR:
    case FZ_TRANSFORM_MONTH:
        return source->id == FZ_TYPE_DATE || is_timestamp(source) ? int_type : NULL;
    case FZ_TRANSFORM_DAY:
        return source->id == FZ_TYPE_DATE || is_timestamp(source) ? fz_type_primitive(FZ_TYPE_DATE) : NULL;
    case FZ_TRANSFORM_HOUR:
        return is_timestamp(source) ? int_type : NULL;
    case FZ_TRANSFORM_VOID:
        return source;
    case FZ_TRANSFORM_OTHER:
        return fz_type_primitive(FZ_TYPE_STRING);
    }
    return NULL;
}

enum fz_code fz_transform_result_type(const struct fz_transform *t, const struct fz_type *source,
                                      const struct fz_type **out, struct fz_err *err) {
    *out = result_type(t, source);
    if (*out != NULL) {
        return FZ_OK;
    }
    struct fz_buf text = {0};
    fz_buf_puts(&text, "the transform ");
    fz_transform_print(&text, t);
    fz_buf_puts(&text, " does not take a column of type ");
    fz_type_print(&text, source);
    enum fz_code rc = fz_fail(err, FZ_SCHEMA_MISMATCH, "%s", text.ptr != NULL ? text.ptr : "wrong transform");
    fz_buf_dispose(&text);
    return rc;
}

int32_t fz_year_of_days(int64_t days) {
    int64_t y;
    int m, d;
    fz_civil_from_days(days, &y, &m, &d);
    return (int32_t)(y - 1970);
}

int32_t fz_month_of_days(int64_t days) {
    int64_t y;
    int m, d;
    fz_civil_from_days(days, &y, &m, &d);
    return (int32_t)((y - 1970) * 12 + m - 1);
}

int64_t fz_units_per_day(const struct fz_type *type) {
    switch ((int)type->id) {
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        return INT64_C(86400000000);
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        return INT64_C(86400000000000);
    default:
        return 1;
    }
}

int32_t fz_bucket_of_decimal(__int128 unscaled, int32_t n) {
    uint8_t bytes[16];
    size_t len = fz_decimal_to_bytes(unscaled, bytes);
    return fz_bucket_of_hash(fz_murmur3_32(bytes, len, 0), n);
}

int32_t fz_bucket_of_uuid(struct fz_i128 v, int32_t n) {
    uint64_t parts[2] = {__builtin_bswap64((uint64_t)v.upper), __builtin_bswap64(v.lower)};
    return fz_bucket_of_hash(fz_murmur3_32(parts, sizeof parts, 0), n);
}

static int32_t bucket_of(const struct fz_value *v, int32_t n) {
    switch ((int)v->type->id) {
    case FZ_TYPE_DECIMAL:
        return fz_bucket_of_decimal(fz_i128_get(v->u.i128), n);
    case FZ_TYPE_UUID:
        return fz_bucket_of_uuid(v->u.i128, n);
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        return fz_bucket_of_hash(fz_murmur3_32(v->u.bytes.ptr, v->u.bytes.len, 0), n);
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS: // hashed as microseconds
        return fz_bucket_of_long(fz_floor_div(v->u.i64, 1000), n);
    default:
        return fz_bucket_of_long(v->u.i64, n);
    }
}

static void truncate_value(const struct fz_value *v, int32_t width, struct fz_value *out) {
    switch ((int)v->type->id) {
    case FZ_TYPE_DECIMAL:
        out->u.i128 = fz_i128_of(fz_truncate_i128(fz_i128_get(v->u.i128), width));
        break;
    case FZ_TYPE_STRING:
        out->u.bytes.len = fz_utf8_truncate(v->u.bytes.ptr, v->u.bytes.len, (size_t)width);
        break;
    case FZ_TYPE_BINARY:
        out->u.bytes.len = v->u.bytes.len < (size_t)width ? v->u.bytes.len : (size_t)width;
        break;
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
        out->u.i64 = (int32_t)(uint32_t)fz_truncate_i64(v->u.i64, width); // wraps as 32-bit arithmetic does
        break;
    default:
        out->u.i64 = fz_truncate_i64(v->u.i64, width);
    }
}

enum fz_code fz_transform_apply(const struct fz_transform *t, const struct fz_value *value, struct fz_value *out,
                                struct fz_err *err) {
    const struct fz_type *type;
    enum fz_code rc = fz_transform_result_type(t, value->type, &type, err);
    if (rc != FZ_OK) {
        return rc;
    }
    if (value->is_null || t->kind == FZ_TRANSFORM_VOID) {
        *out = fz_value_null(type);
        return FZ_OK;
    }
    struct fz_value v = *value;
    v.type = type;
    int64_t days = fz_floor_div(value->u.i64, fz_units_per_day(value->type));
    switch (t->kind) {
    case FZ_TRANSFORM_IDENTITY:
    case FZ_TRANSFORM_VOID:
        break;
    case FZ_TRANSFORM_BUCKET:
        v.u.i64 = bucket_of(value, t->param);
        break;
    case FZ_TRANSFORM_TRUNCATE:
        truncate_value(value, t->param, &v);
        break;
    case FZ_TRANSFORM_YEAR:
        v.u.i64 = fz_year_of_days(days);
        break;
    case FZ_TRANSFORM_MONTH:
        v.u.i64 = fz_month_of_days(days);
        break;
    case FZ_TRANSFORM_DAY:
        v.u.i64 = days;
        break;
    case FZ_TRANSFORM_HOUR:
        v.u.i64 = fz_floor_div(value->u.i64, fz_units_per_day(value->type) / 24);
        break;
    case FZ_TRANSFORM_OTHER:
        return fz_fail(err, FZ_UNSUPPORTED, "values of the unknown transform \"%s\" cannot be computed", t->name);
    }
    *out = v;
    return FZ_OK;
}

// Clock as java.time prints it: seconds only when needed, fractions in groups of three digits.
static void print_java_clock(struct fz_buf *out, int64_t nanos_of_day) {
    int64_t seconds = nanos_of_day / 1000000000, nanos = nanos_of_day % 1000000000;
    fz_buf_printf(out, "%02d:%02d", (int)(seconds / 3600), (int)(seconds / 60 % 60));
    if (seconds % 60 == 0 && nanos == 0) {
        return;
    }
    fz_buf_printf(out, ":%02d", (int)(seconds % 60));
    if (nanos == 0) {
        return;
    }
    if (nanos % 1000000 == 0) {
        fz_buf_printf(out, ".%03d", (int)(nanos / 1000000));
    } else if (nanos % 1000 == 0) {
        fz_buf_printf(out, ".%06d", (int)(nanos / 1000));
    } else {
        fz_buf_printf(out, ".%09d", (int)nanos);
    }
}

static void print_plain(struct fz_buf *out, const struct fz_value *value) {
    switch ((int)value->type->id) {
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        fz_base64_encode(out, value->u.bytes.ptr, value->u.bytes.len);
        break;
    case FZ_TYPE_TIME:
        print_java_clock(out, value->u.i64 * 1000);
        break;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS: {
        int64_t per_day = fz_units_per_day(value->type), days = fz_floor_div(value->u.i64, per_day);
        fz_format_date(out, (int32_t)days);
        fz_buf_putc(out, 'T');
        print_java_clock(out, (value->u.i64 - days * per_day) * (INT64_C(86400000000000) / per_day));
        if (value->type->id == FZ_TYPE_TIMESTAMPTZ || value->type->id == FZ_TYPE_TIMESTAMPTZ_NS) {
            fz_buf_putc(out, 'Z');
        }
        break;
    }
    default:
        fz_value_print(out, value);
    }
}

void fz_transform_print_value(struct fz_buf *out, const struct fz_transform *t, const struct fz_value *value) {
    if (value->is_null) {
        fz_buf_puts(out, "null");
        return;
    }
    switch (t->kind) {
    case FZ_TRANSFORM_YEAR:
        fz_buf_printf(out, "%04" PRId64, 1970 + value->u.i64);
        break;
    case FZ_TRANSFORM_MONTH:
        fz_buf_printf(out, "%04" PRId64 "-%02d", 1970 + fz_floor_div(value->u.i64, 12),
                      (int)(value->u.i64 - 12 * fz_floor_div(value->u.i64, 12)) + 1);
        break;
    case FZ_TRANSFORM_DAY:
        fz_format_date(out, (int32_t)value->u.i64);
        break;
    case FZ_TRANSFORM_HOUR: {
        int64_t days = fz_floor_div(value->u.i64, 24);
        fz_format_date(out, (int32_t)days);
        fz_buf_printf(out, "-%02d", (int)(value->u.i64 - days * 24));
        break;
    }
    case FZ_TRANSFORM_IDENTITY:
    case FZ_TRANSFORM_BUCKET:
    case FZ_TRANSFORM_TRUNCATE:
    case FZ_TRANSFORM_VOID:
    case FZ_TRANSFORM_OTHER:
        print_plain(out, value);
        break;
    }
}
