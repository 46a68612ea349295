// What a value is as a key: integers and what is stored as such are numbers, everything else is a 64-bit hash.
#include <math.h>

#include "base/hash.h"
#include "scan/scan_keys_priv.h"

bool fz_scan_key_is_text(const struct fz_type *type) {
    return type->id == FZ_TYPE_STRING || type->id == FZ_TYPE_BINARY || type->id == FZ_TYPE_FIXED;
}

static uint64_t hash_wide(const struct fz_type *type, struct fz_i128 v) { // the bytes that Parquet stores, big-endian
    uint64_t flip = type->id == FZ_TYPE_UUID ? (uint64_t)1 << 63 : 0;
    uint64_t halves[2] = {__builtin_bswap64((uint64_t)v.upper ^ flip), __builtin_bswap64(v.lower)};
    return fz_hash64(halves, sizeof halves, 0);
}

// NaN equals NaN and -0.0 equals 0.0, as in SQL.
static uint64_t hash_double(double v) {
    uint64_t bits = 0x7ff8000000000000u;
    v = v == 0 ? 0.0 : v;
    if (!isnan(v)) {
        memcpy(&bits, &v, sizeof bits);
    }
    return fz_scan_key_mix(bits);
}

#define EACH_AS_INT64(TYPE)                                                                                            \
    do {                                                                                                               \
        const TYPE *v = column->data;                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            out[i] = v[i];                                                                                             \
        }                                                                                                              \
    } while (0)

void fz_scan_key_canonical(const struct fz_scan_key *key, const struct fz_column *column, size_t n, int64_t *out) {
    const struct fz_type *type = column->type;
    if (key->is_integer) {
        switch (fz_type_width(type)) {
        case 1:
            EACH_AS_INT64(int8_t);
            break;
        case 2:
            EACH_AS_INT64(int16_t);
            break;
        case 4:
            EACH_AS_INT64(int32_t);
            break;
        default:
            memcpy(out, column->data, n * sizeof *out);
            break;
        }
    } else if (fz_scan_key_is_text(type)) {
        const struct fz_string *s = column->data;
        for (size_t i = 0; i < n; i++) {
            out[i] = fz_column_is_valid(column, i) ? (int64_t)fz_hash64(fz_string_ptr(&s[i]), s[i].length, 0) : 0;
        }
    } else if (type->id == FZ_TYPE_FLOAT) {
        for (size_t i = 0; i < n; i++) {
            out[i] = (int64_t)hash_double(((const float *)column->data)[i]);
        }
    } else if (type->id == FZ_TYPE_DOUBLE) {
        for (size_t i = 0; i < n; i++) {
            out[i] = (int64_t)hash_double(((const double *)column->data)[i]);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            out[i] = (int64_t)hash_wide(type, ((const struct fz_i128 *)column->data)[i]);
        }
    }
}

int64_t fz_scan_key_canonical_value(const struct fz_scan_key *key, const struct fz_value *value) {
    const struct fz_type *type = value->type;
    if (key->is_integer) {
        return type->id == FZ_TYPE_DECIMAL ? (int64_t)fz_i128_get(value->u.i128) : value->u.i64;
    }
    if (fz_scan_key_is_text(type)) {
        return (int64_t)fz_hash64(value->u.bytes.ptr, value->u.bytes.len, 0);
    }
    if (type->id == FZ_TYPE_FLOAT || type->id == FZ_TYPE_DOUBLE) {
        return (int64_t)hash_double(type->id == FZ_TYPE_FLOAT ? (double)value->u.f32 : value->u.f64);
    }
    struct fz_i128 v = value->u.i128;
    if (type->id == FZ_TYPE_UUID) { // a value holds the plain number, a batch flips its top bit
        v.upper = (int64_t)((uint64_t)v.upper ^ (uint64_t)1 << 63);
    }
    return (int64_t)hash_wide(type, v);
}

int fz_scan_key_compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len) {
    size_t n = a_len < b_len ? a_len : b_len;
    int order = n > 0 ? memcmp(a, b, n) : 0;
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}
