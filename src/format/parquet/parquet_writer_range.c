// Smallest and greatest values of pages, chunks and files, and their three forms: Parquet statistics (signed zero rules, cut
// text), Iceberg bounds, and order between pages. Floats are kept as integers that sort like IEEE 754 totalOrder without NaN.
#include "format/parquet/parquet_writer_priv.h"

static inline int32_t float_order(uint32_t bits) {
    return (int32_t)bits < 0 ? (int32_t)(bits ^ 0x7FFFFFFF) : (int32_t)bits;
}
static inline int64_t double_order(uint64_t bits) {
    return (int64_t)bits < 0 ? (int64_t)(bits ^ 0x7FFFFFFFFFFFFFFF) : (int64_t)bits;
}

static inline bool wide_less(struct fz_i128 a, struct fz_i128 b) {
    return a.upper != b.upper ? a.upper < b.upper : a.lower < b.lower;
}

static void widen(struct fz_pw_range *range, int64_t lo, int64_t hi) {
    if (!range->set || lo < range->lo) {
        range->lo = lo;
    }
    if (!range->set || hi > range->hi) {
        range->hi = hi;
    }
    range->set = true;
}

static void add_floats(struct fz_pw_range *range, const uint32_t *values, size_t n, int64_t *nans) {
    int32_t lo = INT32_MAX, hi = INT32_MIN;
    size_t skipped = 0;
    for (size_t i = 0; i < n; i++) {
        if ((values[i] & 0x7FFFFFFF) > 0x7F800000) {
            skipped++;
            continue;
        }
        int32_t v = float_order(values[i]);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    *nans += (int64_t)skipped;
    if (skipped < n) {
        widen(range, lo, hi);
    }
}

static void add_doubles(struct fz_pw_range *range, const uint64_t *values, size_t n, int64_t *nans) {
    int64_t lo = INT64_MAX, hi = INT64_MIN;
    size_t skipped = 0;
    for (size_t i = 0; i < n; i++) {
        if ((values[i] & 0x7FFFFFFFFFFFFFFF) > 0x7FF0000000000000) {
            skipped++;
            continue;
        }
        int64_t v = double_order(values[i]);
        lo = v < lo ? v : lo;
        hi = v > hi ? v : hi;
    }
    *nans += (int64_t)skipped;
    if (skipped < n) {
        widen(range, lo, hi);
    }
}

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len) {
    size_t common = a_len < b_len ? a_len : b_len;
    int c = common == 0 ? 0 : memcmp(a, b, common);
    return c != 0 ? c : (a_len > b_len) - (a_len < b_len);
}

static inline uint32_t prefix_of(const struct fz_string *s) {
    uint32_t v;
    memcpy(&v, s->prefix, 4); // short strings are filled up with zeros
    return __builtin_bswap32(v);
}

static int compare_strings(const struct fz_string *a, const struct fz_string *b) {
    return compare_bytes(fz_string_ptr(a), a->length, fz_string_ptr(b), b->length);
}

// Texts whose first four bytes are the same: the next eight nearly always tell, without a call.
static inline bool text_less(const struct fz_string *a, const struct fz_string *b) {
    uint64_t x, y;
    memcpy(&x, a->length <= 12 ? a->u.tail : a->u.ptr + 4, 8); // short strings are filled up with zeros
    memcpy(&y, b->length <= 12 ? b->u.tail : b->u.ptr + 4, 8);
    return x != y ? __builtin_bswap64(x) < __builtin_bswap64(y) : compare_strings(a, b) < 0;
}

static void put_bytes(struct fz_buf *buf, const char *data, size_t len) {
    fz_buf_clear(buf);
    fz_buf_append(buf, data, len);
}

static void add_strings(struct fz_pw_range *range, const struct fz_string *values, size_t n) {
    const struct fz_string *lo = &values[0], *hi = &values[0];
    uint32_t lo_prefix = prefix_of(lo), hi_prefix = lo_prefix;
    for (size_t i = 1; i < n; i++) {
        uint32_t prefix = prefix_of(&values[i]);
        if (prefix < lo_prefix || (prefix == lo_prefix && text_less(&values[i], lo))) {
            lo = &values[i];
            lo_prefix = prefix;
        }
        if (prefix > hi_prefix || (prefix == hi_prefix && text_less(hi, &values[i]))) {
            hi = &values[i];
            hi_prefix = prefix;
        }
    }
    if (!range->set || compare_bytes(fz_string_ptr(lo), lo->length, range->bytes_lo.ptr, range->bytes_lo.len) < 0) {
        put_bytes(&range->bytes_lo, fz_string_ptr(lo), lo->length);
    }
    if (!range->set || compare_bytes(fz_string_ptr(hi), hi->length, range->bytes_hi.ptr, range->bytes_hi.len) > 0) {
        put_bytes(&range->bytes_hi, fz_string_ptr(hi), hi->length);
    }
    range->set = true;
}

static void add_wide(struct fz_pw_range *range, const struct fz_i128 *values, size_t n) {
    struct fz_i128 lo = values[0], hi = values[0];
    for (size_t i = 1; i < n; i++) {
        lo = wide_less(values[i], lo) ? values[i] : lo;
        hi = wide_less(hi, values[i]) ? values[i] : hi;
    }
    if (!range->set || wide_less(lo, range->wide_lo)) {
        range->wide_lo = lo;
    }
    if (!range->set || wide_less(range->wide_hi, hi)) {
        range->wide_hi = hi;
    }
    range->set = true;
}

void fz_pw_range_add(struct fz_pw_range *range, enum fz_pw_kind kind, const void *values, size_t n, int64_t *nans) {
    if (n == 0) {
        return;
    }
    switch (kind) {
    case FZ_PW_BOOL: {
        const uint8_t *v = values;
        bool any_false = memchr(v, 0, n) != NULL, any_true = memchr(v, 1, n) != NULL;
        widen(range, any_false ? 0 : 1, any_true ? 1 : 0);
        return;
    }
    case FZ_PW_I16:
    case FZ_PW_I32: {
        const int32_t *v = values;
        int32_t lo = v[0], hi = v[0];
        for (size_t i = 1; i < n; i++) {
            lo = v[i] < lo ? v[i] : lo;
            hi = v[i] > hi ? v[i] : hi;
        }
        widen(range, lo, hi);
        return;
    }
    case FZ_PW_I64: {
        const int64_t *v = values;
        int64_t lo = v[0], hi = v[0];
        for (size_t i = 1; i < n; i++) {
            lo = v[i] < lo ? v[i] : lo;
            hi = v[i] > hi ? v[i] : hi;
        }
        widen(range, lo, hi);
        return;
    }
    case FZ_PW_F32:
        add_floats(range, values, n, nans);
        return;
    case FZ_PW_F64:
        add_doubles(range, values, n, nans);
        return;
    case FZ_PW_DECIMAL128:
    case FZ_PW_UUID:
        add_wide(range, values, n);
        return;
    case FZ_PW_BYTES:
    case FZ_PW_FIXED:
        add_strings(range, values, n);
        return;
    }
}

static int compare_sides(enum fz_pw_kind kind, const struct fz_pw_range *a, bool a_upper, const struct fz_pw_range *b,
                         bool b_upper) {
    switch (kind) {
    case FZ_PW_DECIMAL128:
    case FZ_PW_UUID: {
        struct fz_i128 x = a_upper ? a->wide_hi : a->wide_lo, y = b_upper ? b->wide_hi : b->wide_lo;
        return wide_less(x, y) ? -1 : wide_less(y, x);
    }
    case FZ_PW_BYTES:
    case FZ_PW_FIXED: {
        const struct fz_buf *x = a_upper ? &a->bytes_hi : &a->bytes_lo, *y = b_upper ? &b->bytes_hi : &b->bytes_lo;
        return compare_bytes(x->ptr, x->len, y->ptr, y->len);
    }
    case FZ_PW_BOOL:
    case FZ_PW_I16:
    case FZ_PW_I32:
    case FZ_PW_I64:
    case FZ_PW_F32:
    case FZ_PW_F64:
        break;
    }
    int64_t x = a_upper ? a->hi : a->lo, y = b_upper ? b->hi : b->lo;
    return (x > y) - (x < y);
}

int fz_pw_range_compare(enum fz_pw_kind kind, const struct fz_pw_range *a, const struct fz_pw_range *b, bool upper) {
    return compare_sides(kind, a, upper, b, upper);
}

void fz_pw_range_merge(struct fz_pw_range *into, enum fz_pw_kind kind, const struct fz_pw_range *other) {
    if (!other->set) {
        return;
    }
    if (!into->set || compare_sides(kind, other, false, into, false) < 0) {
        into->lo = other->lo;
        into->wide_lo = other->wide_lo;
        put_bytes(&into->bytes_lo, other->bytes_lo.ptr, other->bytes_lo.len);
    }
    if (!into->set || compare_sides(kind, other, true, into, true) > 0) {
        into->hi = other->hi;
        into->wide_hi = other->wide_hi;
        put_bytes(&into->bytes_hi, other->bytes_hi.ptr, other->bytes_hi.len);
    }
    into->set = true;
}

void fz_pw_range_clear(struct fz_pw_range *range) {
    range->set = false;
    fz_buf_clear(&range->bytes_lo);
    fz_buf_clear(&range->bytes_hi);
}

void fz_pw_range_dispose(struct fz_pw_range *range) {
    fz_buf_dispose(&range->bytes_lo);
    fz_buf_dispose(&range->bytes_hi);
}

enum fz_code fz_pw_range_check(const struct fz_pw_range *range, struct fz_err *err) {
    enum fz_code rc = fz_buf_check(&range->bytes_lo, err);
    return rc != FZ_OK ? rc : fz_buf_check(&range->bytes_hi, err);
}

static float order_float(int64_t v) {
    int32_t order = (int32_t)v;
    uint32_t bits = order < 0 ? (uint32_t)order ^ 0x7FFFFFFF : (uint32_t)order;
    float f;
    memcpy(&f, &bits, 4);
    return f;
}
static double order_double(int64_t v) {
    uint64_t bits = v < 0 ? (uint64_t)v ^ 0x7FFFFFFFFFFFFFFF : (uint64_t)v;
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

struct fz_value fz_pw_range_value(const struct fz_pw_leaf *leaf, const struct fz_pw_range *range, bool upper) {
    struct fz_value v = {.type = leaf->type};
    int64_t side = upper ? range->hi : range->lo;
    switch (leaf->kind) {
    case FZ_PW_BOOL:
        v.u.boolean = side != 0;
        break;
    case FZ_PW_I16:
    case FZ_PW_I32:
    case FZ_PW_I64:
        if (leaf->type->id == FZ_TYPE_DECIMAL) {
            v.u.i128 = fz_i128_of(side);
        } else {
            v.u.i64 = side;
        }
        break;
    case FZ_PW_F32:
        v.u.f32 = order_float(side);
        break;
    case FZ_PW_F64:
        v.u.f64 = order_double(side);
        break;
    case FZ_PW_DECIMAL128:
        v.u.i128 = upper ? range->wide_hi : range->wide_lo;
        break;
    case FZ_PW_UUID:
        v.u.i128 = upper ? range->wide_hi : range->wide_lo;
        v.u.i128.upper ^= INT64_MIN;
        break;
    case FZ_PW_BYTES:
    case FZ_PW_FIXED: {
        const struct fz_buf *b = upper ? &range->bytes_hi : &range->bytes_lo;
        v.u.bytes = (struct fz_str){b->ptr != NULL ? b->ptr : "", b->len};
        break;
    }
    }
    return v;
}

static bool bytes_stat(struct fz_arena *arena, const struct fz_pw_leaf *leaf, struct fz_str bytes, bool upper,
                       size_t max_len, struct fz_str *out, bool *exact) {
    if (bytes.len > max_len && leaf->kind == FZ_PW_BYTES) {
        struct fz_value whole = {.type = leaf->type, .u.bytes = bytes}, cut;
        if (!fz_bound_truncate(arena, &whole, max_len, upper, &cut)) {
            return false;
        }
        *exact = cut.u.bytes.len == bytes.len && memcmp(cut.u.bytes.ptr, bytes.ptr, bytes.len) == 0;
        bytes = cut.u.bytes;
    }
    out->ptr = fz_arena_memdup(arena, bytes.ptr, bytes.len);
    out->len = bytes.len;
    return out->ptr != NULL || bytes.len == 0;
}

bool fz_pw_range_stat(struct fz_arena *arena, const struct fz_pw_leaf *leaf, const struct fz_pw_range *range,
                      bool upper, size_t max_len, struct fz_str *out, bool *exact) {
    uint8_t raw[16];
    size_t len = leaf->width;
    struct fz_value v = fz_pw_range_value(leaf, range, upper);
    *exact = true;
    switch (leaf->kind) {
    case FZ_PW_BOOL:
        raw[0] = v.u.boolean;
        len = 1;
        break;
    case FZ_PW_I16:
    case FZ_PW_I32:
    case FZ_PW_I64: {
        int64_t side = upper ? range->hi : range->lo;
        memcpy(raw, &side, len); // little-endian
        break;
    }
    case FZ_PW_F32: { // a zero may stand for either sign: -0.0 as minimum, +0.0 as maximum
        float f = v.u.f32 == 0 ? (upper ? 0.0F : -0.0F) : v.u.f32;
        memcpy(raw, &f, 4);
        break;
    }
    case FZ_PW_F64: {
        double d = v.u.f64 == 0 ? (upper ? 0.0 : -0.0) : v.u.f64;
        memcpy(raw, &d, 8);
        break;
    }
    case FZ_PW_DECIMAL128:
    case FZ_PW_UUID: {
        unsigned __int128 bits = (unsigned __int128)fz_i128_get(v.u.i128);
        for (size_t i = len; i > 0; i--, bits >>= 8) {
            raw[i - 1] = (uint8_t)bits;
        }
        break;
    }
    case FZ_PW_BYTES:
    case FZ_PW_FIXED:
        return bytes_stat(arena, leaf, v.u.bytes, upper, max_len, out, exact);
    }
    out->ptr = fz_arena_memdup(arena, raw, len);
    out->len = len;
    return out->ptr != NULL;
}
