// Values out of variants: variant_get and casts to any type, variant_explode. docs: interface.md; every rule was asked of Spark
// (test/conformance/functions/variant*.test).
#include <math.h>
#include <stdio.h>

#include "data/variant.h"
#include "sql/kernels_priv.h"

#include "sql/ast.h"

static int64_t zone_offset(const void *zone, int64_t utc_us) {
    return zone != NULL ? fz_zone_offset_us(zone, utc_us) : 0;
}

// ---- paths: $.name['name']["name"][0] ----
enum { MAX_PATH_STEPS = 256 };
struct step {
    struct fz_str name; // ptr NULL: an index
    uint64_t index;
};

static bool read_bracket(const char **p, const char *end, struct step *out) { // behind [
    const char *at = *p;
    if (at < end && (*at == '\'' || *at == '"')) {
        const char *close = memchr(at + 1, *at, (size_t)(end - at - 1));
        if (close == NULL || close + 1 >= end || close[1] != ']') {
            return false;
        }
        *out = (struct step){.name = {at + 1, (size_t)(close - at - 1)}};
        *p = close + 2;
        return true;
    }
    *out = (struct step){0};
    while (at < end && *at >= '0' && *at <= '9' && out->index <= INT32_MAX) {
        out->index = out->index * 10 + (uint64_t)(*at++ - '0');
    }
    if (at == *p || at >= end || *at != ']' || out->index > INT32_MAX) {
        return false;
    }
    *p = at + 1;
    return true;
}

// Steps of a path; -1: it is none.
static int read_path(struct fz_str path, struct step *steps) {
    const char *p = path.ptr, *end = p + path.len;
    int n = 0;
    if (p >= end || *p++ != '$') {
        return -1;
    }
    while (p < end) {
        if (n == MAX_PATH_STEPS) {
            return -1;
        }
        if (*p == '[') {
            p++;
            if (!read_bracket(&p, end, &steps[n++])) {
                return -1;
            }
            continue;
        }
        if (*p++ != '.') {
            return -1;
        }
        const char *start = p;
        while (p < end && *p != '.' && *p != '[') {
            p++;
        }
        if (p == start) {
            return -1;
        }
        steps[n++] = (struct step){.name = {start, (size_t)(p - start)}};
    }
    return n;
}

bool fz_variant_path_ok(struct fz_str path) {
    struct step steps[MAX_PATH_STEPS];
    return read_path(path, steps) >= 0;
}

static bool follow(struct fz_variant_item *item, const struct step *steps, int n) {
    struct fz_variant_view v;
    for (int i = 0; i < n; i++) {
        bool found = steps[i].name.ptr != NULL
                         ? fz_variant_find(*item, steps[i].name, item)
                         : fz_variant_view(*item, &v) && v.kind == FZ_VARIANT_ARRAY && steps[i].index < v.n &&
                               fz_variant_child(*item, (size_t)steps[i].index, NULL, item);
        if (!found) {
            return false;
        }
    }
    return true;
}

// ---- values of a variant as SQL values ----
struct taker {
    struct fz_variant_builder *builder;
    struct fz_buf *text;
    struct fz_str zone_name;
    const struct fz_zone *zone;
    struct fz_arena *strings;
    struct fz_err *err;
    enum fz_code rc;
    bool failed; // some value does not fit the type that is wanted
};

static bool take(struct taker *k, struct fz_variant_item item, struct fz_column *c, size_t row);

static bool put_i64(struct fz_column *c, size_t row, int64_t v) { // false: out of range
    switch ((int)c->type->id) {
    case FZ_TYPE_BYTE:
        ((int8_t *)c->data)[row] = (int8_t)v;
        return v == (int8_t)v;
    case FZ_TYPE_SHORT:
        ((int16_t *)c->data)[row] = (int16_t)v;
        return v == (int16_t)v;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        ((int32_t *)c->data)[row] = (int32_t)v;
        return v == (int32_t)v;
    case FZ_TYPE_BOOLEAN:
        ((uint8_t *)c->data)[row] = v != 0;
        return true;
    case FZ_TYPE_FLOAT:
        ((float *)c->data)[row] = (float)v;
        return true;
    case FZ_TYPE_DOUBLE:
        ((double *)c->data)[row] = (double)v;
        return true;
    default:
        ((int64_t *)c->data)[row] = v;
        return true;
    }
}

static bool put_decimal(struct fz_column *c, size_t row, __int128 v, int scale) {
    if (!fz_decimal_rescale(v, scale, c->type->scale, &v) || fz_decimal_digits(v) > c->type->precision) {
        return false;
    }
    fz_column_put_decimal(c, row, v);
    return true;
}

static bool decimal_of_double(struct fz_column *c, size_t row, double v) {
    struct fz_buf text = {0};
    __int128 d = 0;
    bool number = false, ok;
    fz_java_double(&text, v);
    ok = isfinite(v) && text.ptr != NULL &&
         fz_text_to_decimal((struct fz_str){text.ptr, text.len}, c->type->precision, c->type->scale, &d, &number) &&
         put_decimal(c, row, d, c->type->scale);
    fz_buf_dispose(&text);
    return ok;
}

static bool from_integer(struct fz_column *c, size_t row, int64_t v) {
    if (c->type->id == FZ_TYPE_DECIMAL) {
        return put_decimal(c, row, v, 0);
    }
    if (c->type->id == FZ_TYPE_TIMESTAMPTZ) { // seconds
        return !__builtin_mul_overflow(v, (int64_t)1000000, &v) && put_i64(c, row, v);
    }
    return (fz_type_is_numeric(c->type) || c->type->id == FZ_TYPE_BOOLEAN) && put_i64(c, row, v);
}

static bool from_double(struct fz_column *c, size_t row, double v) {
    switch ((int)c->type->id) {
    case FZ_TYPE_DECIMAL:
        return decimal_of_double(c, row, v);
    case FZ_TYPE_DOUBLE:
        ((double *)c->data)[row] = v;
        return true;
    case FZ_TYPE_FLOAT:
        ((float *)c->data)[row] = fz_float_of_double(v);
        return true;
    case FZ_TYPE_BOOLEAN:
        ((uint8_t *)c->data)[row] = v != 0;
        return true;
    case FZ_TYPE_TIMESTAMPTZ: // seconds
        if (!isfinite(v)) {
            return false;
        }
        v *= 1e6;
        return v < 9223372036854775808.0 && v >= -9223372036854775808.0 && put_i64(c, row, (int64_t)v);
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        return isfinite(v) && trunc(v) >= -9223372036854775808.0 && trunc(v) < 9223372036854775808.0 &&
               put_i64(c, row, (int64_t)v);
    default:
        return false;
    }
}

static bool from_decimal(struct fz_column *c, size_t row, __int128 v, int scale) {
    struct fz_buf text = {0};
    double d = 0;
    __int128 whole = v / fz_decimal_pow10(scale);
    switch ((int)c->type->id) {
    case FZ_TYPE_DECIMAL:
        return put_decimal(c, row, v, scale);
    case FZ_TYPE_BOOLEAN:
        return put_i64(c, row, v != 0);
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
        fz_decimal_print(&text, v, scale);
        fz_parse_double((struct fz_str){text.ptr != NULL ? text.ptr : "0", text.len}, &d);
        fz_buf_dispose(&text);
        return from_double(c, row, d);
    case FZ_TYPE_TIMESTAMPTZ: // seconds; what is below a microsecond is cut
        if (scale < 6) {
            return !__builtin_mul_overflow(v, fz_decimal_pow10(6 - scale), &whole) && whole == (int64_t)whole &&
                   put_i64(c, row, (int64_t)whole);
        }
        whole = v / fz_decimal_pow10(scale - 6);
        return whole == (int64_t)whole && put_i64(c, row, (int64_t)whole);
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        return whole == (int64_t)whole && put_i64(c, row, (int64_t)whole);
    default:
        return false;
    }
}

static bool from_text(struct taker *k, struct fz_column *c, size_t row, struct fz_str s) {
    int64_t v = 0;
    double d = 0;
    int32_t day = 0;
    bool flag = false;
    __int128 unscaled = 0;
    char zone[64];
    switch ((int)c->type->id) {
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        return fz_text_to_i64(s, &v) && put_i64(c, row, v);
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
        return fz_text_to_double(s, &d) && from_double(c, row, d);
    case FZ_TYPE_BOOLEAN:
        return fz_text_to_bool(s, &flag) && put_i64(c, row, flag);
    case FZ_TYPE_DATE:
        return fz_text_to_date(s, &day) && put_i64(c, row, day);
    case FZ_TYPE_TIMESTAMP:
        return fz_text_to_ntz(s, &v) && put_i64(c, row, v);
    case FZ_TYPE_TIMESTAMPTZ:
        snprintf(zone, sizeof zone, "%.*s", (int)(k->zone_name.len < 63 ? k->zone_name.len : 63), k->zone_name.ptr);
        return fz_text_to_ts(s, zone, &v) && put_i64(c, row, v);
    case FZ_TYPE_DECIMAL:
        return fz_text_to_decimal(s, c->type->precision, c->type->scale, &unscaled, &flag) &&
               put_decimal(c, row, unscaled, c->type->scale);
    case FZ_TYPE_BINARY:
        k->rc = fz_col_put_str(c, row, s.ptr, s.len, k->strings, k->err);
        return true;
    default:
        return false;
    }
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static bool from_time(struct taker *k, struct fz_column *c, size_t row, int64_t v, int kind) {
    static const int64_t day_us = 86400000000;
    bool zoned = kind == FZ_VARIANT_TIMESTAMPTZ;
    int64_t local = v;
    if (kind == FZ_VARIANT_DATE && c->type->id == FZ_TYPE_DATE) {
        return put_i64(c, row, v);
    }
    if ((kind == FZ_VARIANT_DATE && __builtin_mul_overflow(v, day_us, &local)) ||
        (zoned && __builtin_add_overflow(v, zone_offset(k->zone, v), &local))) {
        return false;
    }
    switch ((int)c->type->id) {
    case FZ_TYPE_DATE:
        return put_i64(c, row, floor_div(local, day_us));
    case FZ_TYPE_TIMESTAMP:
        return put_i64(c, row, local);
    case FZ_TYPE_TIMESTAMPTZ:
        if (!zoned && (local > INT64_MAX - 3 * day_us || local < INT64_MIN + 3 * day_us)) {
            return false;
        }
        return put_i64(c, row, zoned ? v : k->zone != NULL ? fz_zone_to_utc(k->zone, local) : local);
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        return zoned && put_i64(c, row, floor_div(v, 1000000));
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
        return zoned && from_double(c, row, (double)v / 1e6);
    case FZ_TYPE_DECIMAL:
        return zoned && put_decimal(c, row, v, 6);
    default:
        return false;
    }
}

static bool take_text(struct taker *k, struct fz_variant_item item, struct fz_column *c, size_t row) {
    bool null = false;
    if (!fz_variant_item_print_cast(k->text, item, zone_offset, k->zone, &null)) {
        fz_buf_clear(k->text);
        return false;
    }
    if (!fz_utf8_valid(k->text->ptr != NULL ? k->text->ptr : "", k->text->len)) { // a binary
        struct fz_buf repaired = {0};
        fz_print_repaired(&repaired, (struct fz_str){k->text->ptr, k->text->len});
        fz_buf_dispose(k->text);
        *k->text = repaired;
    }
    k->rc = fz_col_take_buf(c, row, k->text, k->strings, k->err);
    return true;
}

static bool take_variant(struct taker *k, struct fz_variant_item item, struct fz_column *c, size_t row) {
    fz_variant_builder_clear(k->builder);
    if (!fz_variant_builder_copy(k->builder, item)) {
        k->rc = k->builder->failed ? fz_fail_nomem(k->err, item.bytes.len) : k->rc;
        return false;
    }
    fz_variant_builder_finish(k->builder, k->text);
    k->rc = fz_col_take_buf(c, row, k->text, k->strings, k->err);
    return true;
}

static void take_or_null(struct taker *k, struct fz_variant_item item, struct fz_column *c, size_t row) {
    if (k->rc == FZ_OK && !take(k, item, c, row)) {
        k->failed = true;
        fz_column_set_null(c, row);
    }
}

static size_t list_end(const struct fz_column *c, size_t row) { // rows are filled in order
    const struct fz_list_span *spans = c->data;
    for (size_t r = row; r > 0; r--) {
        if (fz_column_is_valid(c, r - 1)) {
            return (size_t)(spans[r - 1].offset + spans[r - 1].length);
        }
    }
    return 0;
}

static bool take_list(struct taker *k, struct fz_variant_item item, size_t n, struct fz_column *c, size_t row) {
    bool map = c->type->id == FZ_TYPE_MAP;
    size_t at = list_end(c, row);
    struct fz_str name = {0};
    struct fz_variant_item child;
    k->rc = fz_column_reserve(&c->children[0], at + n, k->err);
    for (size_t i = 0; i < n && k->rc == FZ_OK; i++) {
        if (!fz_variant_child(item, i, &name, &child)) {
            return false;
        }
        if (map) {
            k->rc = fz_col_put_str(&c->children[0].children[0], at + i, name.ptr, name.len, k->strings, k->err);
        }
        take_or_null(k, child, map ? &c->children[0].children[1] : &c->children[0], at + i);
    }
    ((struct fz_list_span *)c->data)[row] = (struct fz_list_span){at, n};
    return true;
}

static bool take(struct taker *k, struct fz_variant_item item, struct fz_column *c, size_t row) {
    struct fz_variant_view v;
    struct fz_variant_item child;
    if (!fz_variant_view(item, &v)) {
        return false;
    }
    if (c->type->id == FZ_TYPE_VARIANT) {
        return take_variant(k, item, c, row);
    }
    if (v.kind == FZ_VARIANT_NULL) {
        fz_column_set_null(c, row);
        return true;
    }
    if (c->type->id == FZ_TYPE_STRUCT) {
        if (v.kind != FZ_VARIANT_OBJECT) {
            return false;
        }
        for (size_t i = 0; i < c->n_children; i++) {
            if (fz_variant_find(item, fz_str_of(c->type->fields[i].name), &child)) {
                take_or_null(k, child, &c->children[i], row);
            } else {
                fz_column_set_null(&c->children[i], row);
            }
        }
        return true;
    }
    if (c->type->n_fields > 0) {
        return v.kind == (c->type->id == FZ_TYPE_MAP ? FZ_VARIANT_OBJECT : FZ_VARIANT_ARRAY) &&
               take_list(k, item, v.n, c, row);
    }
    if (c->type->id == FZ_TYPE_STRING) {
        return take_text(k, item, c, row);
    }
    switch (v.kind) {
    case FZ_VARIANT_TRUE:
    case FZ_VARIANT_FALSE:
        return c->type->id != FZ_TYPE_TIMESTAMPTZ && from_integer(c, row, v.i64);
    case FZ_VARIANT_INT8:
    case FZ_VARIANT_INT16:
    case FZ_VARIANT_INT32:
    case FZ_VARIANT_INT64:
        return from_integer(c, row, v.i64);
    case FZ_VARIANT_DOUBLE:
    case FZ_VARIANT_FLOAT:
        return from_double(c, row, v.f64);
    case FZ_VARIANT_DECIMAL4:
    case FZ_VARIANT_DECIMAL8:
    case FZ_VARIANT_DECIMAL16:
        return from_decimal(c, row, v.decimal, v.scale);
    case FZ_VARIANT_STRING:
        return from_text(k, c, row, v.text);
    case FZ_VARIANT_DATE:
    case FZ_VARIANT_TIMESTAMPTZ:
    case FZ_VARIANT_TIMESTAMP:
        return from_time(k, c, row, v.i64, v.kind);
    case FZ_VARIANT_BINARY:
        k->rc =
            c->type->id == FZ_TYPE_BINARY ? fz_col_put_str(c, row, v.text.ptr, v.text.len, k->strings, k->err) : FZ_OK;
        return c->type->id == FZ_TYPE_BINARY;
    default:
        return false;
    }
}

// What rows of a call have in common most of the time: path and zone are read again only when they change.
struct path_cache {
    struct fz_str path;
    struct step steps[MAX_PATH_STEPS];
    int n;
};
static int cached_path(struct path_cache *c, struct fz_str path) {
    if (c->path.ptr == NULL || !fz_str_eq(c->path, path)) {
        c->n = read_path(path, c->steps);
        c->path = path;
    }
    return c->n;
}
static void set_zone(struct taker *k, struct fz_str zone) {
    if (k->zone_name.ptr == NULL || !fz_str_eq(k->zone_name, zone)) {
        k->zone = fz_zone_find(zone);
    }
    k->zone_name = zone;
}

enum outcome { OUTCOME_NULL, OUTCOME_VALUE, OUTCOME_NO_PATH, OUTCOME_NO_CAST };

static enum outcome get_one(struct taker *k, const struct fz_column *args, size_t i, struct path_cache *cache,
                            struct fz_column *c, size_t row) {
    struct fz_variant_item item;
    if (!fz_column_is_valid(&args[0], i) || !fz_column_is_valid(&args[1], i)) {
        return OUTCOME_NULL;
    }
    int n = cached_path(cache, fz_col_str(&args[1], i));
    if (n < 0) {
        return OUTCOME_NO_PATH;
    }
    if (!fz_variant_root(fz_col_str(&args[0], i), &item) || !follow(&item, cache->steps, n)) {
        return OUTCOME_NULL;
    }
    set_zone(k, fz_col_str(&args[2], i));
    k->failed = false;
    if (!take(k, item, c, row)) {
        return OUTCOME_NO_CAST;
    }
    return k->failed ? OUTCOME_NO_CAST : OUTCOME_VALUE;
}

static enum fz_code get_rows(const struct fz_column *args, size_t n_rows, struct fz_column *out, bool keep_parts,
                             struct fz_arena *strings, struct fz_err *err) {
    struct fz_variant_builder builder = {0};
    struct fz_buf text = {0};
    struct taker k = {.builder = &builder, .text = &text, .strings = strings, .err = err};
    struct path_cache *cache = fz_calloc(1, sizeof *cache);
    if (cache == NULL) {
        return fz_fail_nomem(err, sizeof *cache);
    }
    for (size_t i = 0; i < n_rows && k.rc == FZ_OK; i++) {
        enum outcome o = get_one(&k, args, i, cache, out, i);
        if (o != OUTCOME_VALUE && !(keep_parts && o == OUTCOME_NO_CAST && k.failed)) {
            fz_column_set_null(out, i);
        }
    }
    fz_free(cache);
    fz_buf_dispose(&text);
    fz_variant_builder_dispose(&builder);
    return k.rc;
}

enum fz_code fz_kernel_variant_get(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                                   struct fz_arena *strings, struct fz_err *err) {
    (void)n_args;
    return get_rows(args, n_rows, out, false, strings, err);
}
enum fz_code fz_kernel_try_variant_get(const struct fz_column *args, size_t n_args, size_t n_rows,
                                       struct fz_column *out, struct fz_arena *strings, struct fz_err *err) {
    (void)n_args;
    return get_rows(args, n_rows, out, true, strings, err);
}

FZ_KERNEL_RUN(
    k_variant_error) { // (variant, path, zone, type): why variant_get gave NULL; NULL: because there is nothing
    (void)n_args;
    struct fz_variant_builder builder = {0};
    struct fz_buf text = {0};
    struct fz_arena arena = {0}, scratch = {0};
    struct taker k = {.builder = &builder, .text = &text, .strings = &scratch, .err = err};
    struct fz_column column = {0};
    const struct fz_type *type = NULL;
    struct path_cache *cache = fz_calloc(1, sizeof *cache);
    if (cache == NULL) {
        return fz_fail_nomem(err, sizeof *cache);
    }
    for (size_t i = 0; i < n_rows && k.rc == FZ_OK; i++) {
        if (type == NULL && fz_column_is_valid(&args[3], i)) {
            k.rc = fz_sql_parse_type(&arena, fz_col_str(&args[3], i), &type, err);
            k.rc = k.rc == FZ_OK ? fz_column_init(&column, type, 1, err) : k.rc;
        }
        if (k.rc != FZ_OK) {
            break;
        }
        enum outcome o = OUTCOME_NULL;
        if (type != NULL) {
            fz_column_reset(&column);
            o = get_one(&k, args, i, cache, &column, 0);
        }
        if (scratch.used_bytes > 1 << 20) {
            fz_arena_dispose(&scratch);
        }
        const char *name = o == OUTCOME_NO_PATH   ? "INVALID_VARIANT_GET_PATH"
                           : o == OUTCOME_NO_CAST ? "INVALID_VARIANT_CAST"
                                                  : NULL;
        if (name == NULL) {
            fz_column_set_null(out, i);
        } else if (k.rc == FZ_OK) {
            k.rc = fz_col_put_str(out, i, name, strlen(name), strings, err);
        }
    }
    fz_free(cache);
    fz_column_dispose(&column);
    fz_buf_dispose(&text);
    fz_variant_builder_dispose(&builder);
    fz_arena_dispose(&scratch);
    fz_arena_dispose(&arena);
    return k.rc;
}

FZ_KERNEL_RUN(k_variant_to_str) { // (variant, session zone): what CAST(v AS STRING) gives
    (void)n_args;
    struct fz_buf text = {0};
    struct taker k = {.text = &text, .strings = strings, .err = err};
    for (size_t i = 0; i < n_rows && k.rc == FZ_OK; i++) {
        struct fz_variant_item item;
        struct fz_variant_view v;
        if (!fz_column_is_valid(&args[0], i) || !fz_variant_root(fz_col_str(&args[0], i), &item) ||
            !fz_variant_view(item, &v) || v.kind == FZ_VARIANT_NULL) {
            fz_column_set_null(out, i);
            continue;
        }
        set_zone(&k, fz_col_str(&args[1], i));
        if (!take_text(&k, item, out, i)) {
            fz_column_set_null(out, i);
        }
    }
    fz_buf_dispose(&text);
    return k.rc;
}

// ---- variant_explode ----
static enum fz_code put_entry(struct taker *k, struct fz_column *entry, size_t at, size_t pos,
                              struct fz_variant_item item) {
    struct fz_str name = {0};
    struct fz_variant_item child;
    if (!fz_variant_child(item, pos, &name, &child) || !take_variant(k, child, &entry->children[2], at)) {
        return fz_fail(k->err, FZ_CORRUPT, "a variant is damaged");
    }
    ((int32_t *)entry->children[0].data)[at] = (int32_t)pos;
    if (name.ptr == NULL) {
        fz_column_set_null(&entry->children[1], at);
    } else if (k->rc == FZ_OK) {
        k->rc = fz_col_put_str(&entry->children[1], at, name.ptr, name.len, k->strings, k->err);
    }
    return k->rc;
}

static enum fz_code explode_rows(const struct fz_column *args, size_t n_rows, struct fz_column *out, bool outer,
                                 struct fz_arena *strings, struct fz_err *err) {
    struct fz_variant_builder builder = {0};
    struct fz_buf text = {0};
    struct taker k = {.builder = &builder, .text = &text, .strings = strings, .err = err};
    size_t at = 0;
    for (size_t i = 0; i < n_rows && k.rc == FZ_OK; i++) {
        struct fz_variant_item item;
        struct fz_variant_view v = {0};
        bool found = fz_column_is_valid(&args[0], i) && fz_variant_root(fz_col_str(&args[0], i), &item) &&
                     fz_variant_view(item, &v);
        size_t n = found ? v.n : 0, n_entries = n == 0 && outer ? 1 : n;
        k.rc = fz_column_reserve(&out->children[0], at + n_entries, err);
        for (size_t e = 0; e < n && k.rc == FZ_OK; e++) {
            k.rc = put_entry(&k, &out->children[0], at + e, e, item);
        }
        if (k.rc == FZ_OK && n < n_entries) {
            fz_column_set_null(&out->children[0], at);
        }
        ((struct fz_list_span *)out->data)[i] = (struct fz_list_span){at, n_entries};
        at += n_entries;
    }
    fz_buf_dispose(&text);
    fz_variant_builder_dispose(&builder);
    return k.rc;
}

enum fz_code fz_kernel_variant_explode(const struct fz_column *args, size_t n_args, size_t n_rows,
                                       struct fz_column *out, struct fz_arena *strings, struct fz_err *err) {
    (void)n_args;
    return explode_rows(args, n_rows, out, false, strings, err);
}
enum fz_code fz_kernel_variant_explode_outer(const struct fz_column *args, size_t n_args, size_t n_rows,
                                             struct fz_column *out, struct fz_arena *strings, struct fz_err *err) {
    (void)n_args;
    return explode_rows(args, n_rows, out, true, strings, err);
}

const struct fz_kernel_row fz_kernels_variant_get[] = {
    {"fz_variant_error", "vsss", "s", false, k_variant_error},
    {"fz_variant_to_str", "vs", "s", false, k_variant_to_str},
};
FZ_KERNELS(kernels_variant_get);
