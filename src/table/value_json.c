// JSON single values (spec appendix C) into values: column defaults in schemas.
#include "table/json_priv.h"

#include <stdio.h>

#include "base/text.h"

enum { MAX_DEPTH = 32 };

static enum fz_code misfit(const struct fz_type *type, struct fz_err *err) {
    struct fz_buf name = {0};
    fz_type_print(&name, type);
    enum fz_code rc =
        fz_fail(err, FZ_CORRUPT, "default value does not fit the type %s", name.ptr != NULL ? name.ptr : "");
    fz_buf_dispose(&name);
    return rc;
}

static bool digits(const char **p, int n, int *out) {
    *out = 0;
    for (int i = 0; i < n; i++, (*p)++) {
        if (**p < '0' || **p > '9') {
            return false;
        }
        *out = *out * 10 + (**p - '0');
    }
    return true;
}

// [+-]YYYY…-MM-DD
static bool parse_date(const char **p, int64_t *days) {
    static const int month_days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool negative = **p == '-';
    if (negative || **p == '+') {
        (*p)++;
    }
    int64_t year = 0;
    int n = 0, month, day;
    for (; **p >= '0' && **p <= '9' && n < 7; n++, (*p)++) {
        year = year * 10 + (**p - '0');
    }
    if (n < 4 || *(*p)++ != '-' || !digits(p, 2, &month) || *(*p)++ != '-' || !digits(p, 2, &day) || month < 1 ||
        month > 12 || day < 1 || day > month_days[month - 1]) {
        return false;
    }
    year = negative ? -year : year;
    if (month == 2 && day == 29 && !(year % 4 == 0 && (year % 100 != 0 || year % 400 == 0))) {
        return false;
    }
    *days = fz_days_from_civil(year, month, day);
    return true;
}

// hh:mm[:ss[.fraction]] in nanoseconds
static bool parse_time(const char **p, int64_t *nanos) {
    int h, m, s = 0;
    if (!digits(p, 2, &h) || *(*p)++ != ':' || !digits(p, 2, &m) || h > 23 || m > 59) {
        return false;
    }
    int64_t fraction = 0;
    if (**p == ':') {
        (*p)++;
        if (!digits(p, 2, &s) || s > 59) {
            return false;
        }
        if (**p == '.') {
            (*p)++;
            int64_t unit = 100000000;
            for (; **p >= '0' && **p <= '9'; (*p)++, unit /= 10) {
                fraction += (**p - '0') * unit;
            }
        }
    }
    *nanos = ((int64_t)h * 3600 + m * 60 + s) * 1000000000 + fraction;
    return true;
}

static bool parse_temporal(enum fz_type_id id, const char *text, int64_t *out) {
    const char *p = text;
    int64_t days = 0, nanos = 0;
    if (id == FZ_TYPE_TIME) {
        bool ok = parse_time(&p, &nanos) && *p == 0;
        *out = nanos / 1000;
        return ok;
    }
    if (!parse_date(&p, &days)) {
        return false;
    }
    if (id == FZ_TYPE_DATE) {
        *out = days;
        return *p == 0;
    }
    if (*p++ != 'T' || !parse_time(&p, &nanos)) {
        return false;
    }
    bool zoned = id == FZ_TYPE_TIMESTAMPTZ || id == FZ_TYPE_TIMESTAMPTZ_NS;
    if (zoned ? strcmp(p, "+00:00") != 0 && strcmp(p, "Z") != 0 : *p != 0) {
        return false;
    }
    bool ns = id == FZ_TYPE_TIMESTAMP_NS || id == FZ_TYPE_TIMESTAMPTZ_NS;
    int64_t unit = ns ? 1 : 1000;
    return !__builtin_mul_overflow(days, 86400000000000 / unit, out) &&
           !__builtin_add_overflow(*out, nanos / unit, out);
}

static bool parse_uuid(const char *text, size_t len, struct fz_value *out) {
    if (len != 36) {
        return false;
    }
    unsigned __int128 number = 0;
    for (size_t i = 0; i < len; i++) {
        char c = text[i];
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (c != '-') {
                return false;
            }
            continue;
        }
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0) {
            return false;
        }
        number = number << 4 | (unsigned)digit;
    }
    out->u.i128 = fz_i128_of((__int128)number);
    return true;
}

static enum fz_code bytes_value(struct fz_arena *arena, const struct fz_type *type, const char *text, size_t len,
                                struct fz_value *out, struct fz_err *err) {
    struct fz_buf raw = {0};
    bool ok = true;
    if (type->id == FZ_TYPE_STRING) {
        fz_buf_append(&raw, text, len);
    } else {
        ok = fz_hex_decode(&raw, (struct fz_str){text, len}) &&
             (type->id != FZ_TYPE_FIXED || raw.len == (size_t)type->length);
    }
    const char *copy = fz_arena_strndup(arena, raw.ptr != NULL ? raw.ptr : "", raw.len);
    out->u.bytes = (struct fz_str){copy, raw.len};
    bool failed = raw.failed || copy == NULL;
    fz_buf_dispose(&raw);
    return !ok ? misfit(type, err) : failed ? fz_fail_nomem(err, len) : FZ_OK;
}

static enum fz_code struct_value(struct fz_arena *arena, const struct fz_type *type, const json_t *json, int depth,
                                 struct fz_value *out, struct fz_err *err) {
    struct fz_value *items = fz_arena_array(arena, type->n_fields + 1, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, type->n_fields);
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", type->fields[i].id);
        const json_t *member = json_object_get(json, key);
        enum fz_code rc = fz_value_from_json(arena, type->fields[i].type, member, depth + 1, &items[i], err);
        if (rc != FZ_OK) {
            return rc;
        }
    }
    out->u.nested.items = items;
    out->u.nested.n = type->n_fields;
    return FZ_OK;
}

static enum fz_code collection_value(struct fz_arena *arena, const struct fz_type *type, const json_t *json, int depth,
                                     struct fz_value *out, struct fz_err *err) {
    bool map = type->id == FZ_TYPE_MAP;
    const json_t *keys = map ? json_object_get(json, "keys") : NULL;
    const json_t *values = map ? json_object_get(json, "values") : json;
    if (!json_is_array(values) || (map && (!json_is_array(keys) || json_array_size(keys) != json_array_size(values)))) {
        return misfit(type, err);
    }
    size_t n = json_array_size(values) * (map ? 2 : 1);
    struct fz_value *items = fz_arena_array(arena, n + 1, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, n);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *item = !map         ? json_array_get(values, i)
                             : i % 2 == 0 ? json_array_get(keys, i / 2)
                                          : json_array_get(values, i / 2);
        enum fz_code rc =
            fz_value_from_json(arena, type->fields[map ? i % 2 : 0].type, item, depth + 1, &items[i], err);
        if (rc != FZ_OK) {
            return rc;
        }
    }
    out->u.nested.items = items;
    out->u.nested.n = n;
    return FZ_OK;
}

enum fz_code fz_value_from_json(struct fz_arena *arena, const struct fz_type *type, const json_t *json, int depth,
                                struct fz_value *out, struct fz_err *err) {
    *out = fz_value_null(type);
    if (json == NULL || json_is_null(json)) {
        return FZ_OK;
    }
    if (depth > MAX_DEPTH) {
        return fz_fail(err, FZ_LIMIT, "default value is nested deeper than %d", MAX_DEPTH);
    }
    out->is_null = false;
    const char *text = json_string_value(json);
    bool fits = false;
    switch (type->id) {
    case FZ_TYPE_BOOLEAN:
        fits = json_is_boolean(json);
        out->u.boolean = json_is_true(json);
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        out->u.i64 = json_integer_value(json);
        fits =
            json_is_integer(json) && (type->id == FZ_TYPE_LONG || (out->u.i64 >= INT32_MIN && out->u.i64 <= INT32_MAX));
        break;
    case FZ_TYPE_FLOAT:
        fits = json_is_number(json);
        out->u.f32 = (float)json_number_value(json);
        break;
    case FZ_TYPE_DOUBLE:
        fits = json_is_number(json);
        out->u.f64 = json_number_value(json);
        break;
    case FZ_TYPE_DECIMAL: {
        __int128 unscaled = 0;
        bool exact = false;
        fits = text != NULL && fz_decimal_parse(fz_str_of(text), type->scale, &unscaled, &exact) && exact;
        out->u.i128 = fz_i128_of(unscaled);
        break;
    }
    case FZ_TYPE_DATE:
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        fits = text != NULL && parse_temporal(type->id, text, &out->u.i64);
        break;
    case FZ_TYPE_UUID:
        fits = text != NULL && parse_uuid(text, json_string_length(json), out);
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        return text == NULL ? misfit(type, err) : bytes_value(arena, type, text, json_string_length(json), out, err);
    case FZ_TYPE_STRUCT:
        return !json_is_object(json) ? misfit(type, err) : struct_value(arena, type, json, depth, out, err);
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        return collection_value(arena, type, json, depth, out, err);
    case FZ_TYPE_UNKNOWN:
    case FZ_TYPE_VARIANT:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
    case FZ_TYPE_INTERVAL_CAL:
        break; // these default to NULL only
    }
    return fits ? FZ_OK : misfit(type, err);
}
