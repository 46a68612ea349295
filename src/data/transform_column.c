// Transforms of whole columns, one loop per physical type. NULL rows of the source may hold anything, so text and binary look
// at the validity first; for numbers the loop runs over all rows and the NULLs are put in afterwards.
#include "data/transform_priv.h"

#include "base/hash.h"
#include "base/text.h"

// Calls `body` with `v` = the number of row i, for the four widths of integers.
#define FOR_EACH_INTEGER(in, n, body)                                                                                  \
    do {                                                                                                               \
        size_t width_of_in = fz_type_width((in)->type);                                                                \
        if (width_of_in == 8) {                                                                                        \
            const int64_t *data_of_in = (in)->data;                                                                    \
            for (size_t i = 0; i < (n); i++) {                                                                         \
                int64_t v = data_of_in[i];                                                                             \
                body;                                                                                                  \
            }                                                                                                          \
        } else if (width_of_in == 4) {                                                                                 \
            const int32_t *data_of_in = (in)->data;                                                                    \
            for (size_t i = 0; i < (n); i++) {                                                                         \
                int64_t v = data_of_in[i];                                                                             \
                body;                                                                                                  \
            }                                                                                                          \
        } else if (width_of_in == 2) {                                                                                 \
            const int16_t *data_of_in = (in)->data;                                                                    \
            for (size_t i = 0; i < (n); i++) {                                                                         \
                int64_t v = data_of_in[i];                                                                             \
                body;                                                                                                  \
            }                                                                                                          \
        } else {                                                                                                       \
            const int8_t *data_of_in = (in)->data;                                                                     \
            for (size_t i = 0; i < (n); i++) {                                                                         \
                int64_t v = data_of_in[i];                                                                             \
                body;                                                                                                  \
            }                                                                                                          \
        }                                                                                                              \
    } while (0)

static void copy_nulls(struct fz_column *out, const struct fz_column *in, size_t n) {
    if (in->validity == NULL) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if ((i & 63) == 0 && in->validity[i >> 6] == UINT64_MAX) {
            i += 63;
        } else if (!fz_column_is_valid(in, i)) {
            fz_column_set_null(out, i);
        }
    }
}

static void bucket_strings(const struct fz_column *in, size_t n, int32_t buckets, int32_t *out) {
    const struct fz_string *strings = in->data;
    for (size_t i = 0; i < n; i++) {
        if (fz_column_is_valid(in, i)) {
            uint32_t hash = fz_murmur3_32(fz_string_ptr(&strings[i]), strings[i].length, 0);
            out[i] = fz_bucket_of_hash(hash, buckets);
        }
    }
}

static void bucket_column(const struct fz_column *in, size_t n, int32_t buckets, int32_t *out) {
    switch ((int)in->type->id) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        bucket_strings(in, n, buckets, out);
        break;
    case FZ_TYPE_UUID: {
        const struct fz_i128 *data = in->data;
        for (size_t i = 0; i < n; i++) {
            struct fz_i128 v = {data[i].lower, data[i].upper ^ INT64_MIN};
            out[i] = fz_bucket_of_uuid(v, buckets);
        }
        break;
    }
    case FZ_TYPE_DECIMAL:
        if (fz_type_width(in->type) == 16) {
            const struct fz_i128 *data = in->data;
            for (size_t i = 0; i < n; i++) {
                out[i] = fz_bucket_of_decimal(fz_i128_get(data[i]), buckets);
            }
        } else {
            FOR_EACH_INTEGER(in, n, out[i] = fz_bucket_of_decimal(v, buckets));
        }
        break;
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        FOR_EACH_INTEGER(in, n, out[i] = fz_bucket_of_long(fz_floor_div(v, 1000), buckets));
        break;
    default:
        FOR_EACH_INTEGER(in, n, out[i] = fz_bucket_of_long(v, buckets));
    }
}

static void truncate_strings(const struct fz_column *in, size_t n, size_t width, struct fz_string *out) {
    const struct fz_string *strings = in->data;
    bool text = in->type->id == FZ_TYPE_STRING;
    for (size_t i = 0; i < n; i++) {
        if (!fz_column_is_valid(in, i)) {
            continue;
        }
        size_t len = strings[i].length;
        if (len > width) { // at most `width` code points otherwise
            const char *ptr = fz_string_ptr(&strings[i]);
            len = text ? fz_utf8_truncate(ptr, len, width) : width;
        }
        out[i] = len == strings[i].length ? strings[i] : fz_string_of(fz_string_ptr(&strings[i]), len);
    }
}

static enum fz_code truncate_decimals(const struct fz_column *in, size_t n, int32_t width, struct fz_column *out,
                                      struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n; i++) { // may leave the column's width, so each one is checked
        if (fz_column_is_valid(in, i)) {
            struct fz_value v = fz_value_at(in, i, NULL);
            v.u.i128 = fz_i128_of(fz_truncate_i128(fz_i128_get(v.u.i128), width));
            FZ_TRY(fz_value_store(out, i, &v, err));
        }
    }
out:
    return rc;
}

static enum fz_code truncate_column(const struct fz_column *in, size_t n, int32_t width, struct fz_column *out,
                                    struct fz_err *err) {
    switch ((int)in->type->id) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        truncate_strings(in, n, (size_t)width, out->data);
        return FZ_OK;
    case FZ_TYPE_DECIMAL:
        return truncate_decimals(in, n, width, out, err);
    default:
        break;
    }
    switch (fz_type_width(out->type)) {
    case 8:
        FOR_EACH_INTEGER(in, n, ((int64_t *)out->data)[i] = fz_truncate_i64(v, width));
        break;
    case 4:
        FOR_EACH_INTEGER(in, n, ((int32_t *)out->data)[i] = (int32_t)(uint32_t)fz_truncate_i64(v, width));
        break;
    case 2:
        FOR_EACH_INTEGER(in, n, ((int16_t *)out->data)[i] = (int16_t)(uint16_t)fz_truncate_i64(v, width));
        break;
    default:
        FOR_EACH_INTEGER(in, n, ((int8_t *)out->data)[i] = (int8_t)(uint8_t)fz_truncate_i64(v, width));
    }
    return FZ_OK;
}

enum fz_code fz_transform_apply_column(const struct fz_transform *t, const struct fz_column *in, size_t n,
                                       struct fz_column *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *type;
    FZ_TRY(fz_transform_result_type(t, in->type, &type, err));
    if (out->type->id != type->id || fz_type_width(out->type) != fz_type_width(type)) {
        return fz_fail(err, FZ_BUG, "the result of a transform is put into a column of another type");
    }
    fz_column_reset(out);
    FZ_TRY(fz_column_reserve(out, n, err));
    int32_t *numbers = out->data;
    int64_t per_day = fz_units_per_day(in->type);
    switch (t->kind) {
    case FZ_TRANSFORM_IDENTITY:
        return fz_column_copy(out, 0, in, 0, NULL, n, NULL, err);
    case FZ_TRANSFORM_VOID:
        for (size_t i = 0; i < n; i++) {
            fz_column_set_null(out, i);
        }
        return FZ_OK;
    case FZ_TRANSFORM_BUCKET:
        bucket_column(in, n, t->param, numbers);
        break;
    case FZ_TRANSFORM_TRUNCATE:
        FZ_TRY(truncate_column(in, n, t->param, out, err));
        break;
    case FZ_TRANSFORM_YEAR:
        FOR_EACH_INTEGER(in, n, numbers[i] = fz_year_of_days(fz_floor_div(v, per_day)));
        break;
    case FZ_TRANSFORM_MONTH:
        FOR_EACH_INTEGER(in, n, numbers[i] = fz_month_of_days(fz_floor_div(v, per_day)));
        break;
    case FZ_TRANSFORM_DAY:
        FOR_EACH_INTEGER(in, n, numbers[i] = (int32_t)fz_floor_div(v, per_day));
        break;
    case FZ_TRANSFORM_HOUR:
        per_day /= 24;
        FOR_EACH_INTEGER(in, n, numbers[i] = (int32_t)fz_floor_div(v, per_day));
        break;
    case FZ_TRANSFORM_OTHER:
        return fz_fail(err, FZ_UNSUPPORTED, "values of the unknown transform \"%s\" cannot be computed", t->name);
    }
    copy_nulls(out, in, n);
out:
    return rc;
}

enum fz_code fz_kernel_transform(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                                 struct fz_arena *strings, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_transform transform = {0};
    (void)n_args;
    if (n_rows == 0) {
        return FZ_OK;
    }
    struct fz_value text = fz_value_at(&args[0], 0, NULL);
    FZ_TRY(fz_transform_parse(&arena, text.u.bytes, &transform, err));
    for (size_t i = 0; i < n_rows; i++) {
        struct fz_value in = fz_value_at(&args[1], i, NULL), result;
        FZ_TRY(fz_transform_apply(&transform, &in, &result, err));
        if (result.is_null) {
            fz_column_set_null(out, i);
            continue;
        }
        if (result.type->id == FZ_TYPE_STRING || result.type->id == FZ_TYPE_BINARY ||
            result.type->id == FZ_TYPE_FIXED) { // a prefix of the argument, or bytes of it in `in`
            char *copy = fz_arena_strndup(strings, result.u.bytes.ptr, result.u.bytes.len);
            if (copy == NULL) {
                rc = fz_fail_nomem(err, result.u.bytes.len);
                goto out;
            }
            result.u.bytes.ptr = copy;
        }
        FZ_TRY(fz_value_store(out, i, &result, err));
    }
out:
    fz_arena_dispose(&arena);
    return rc;
}
