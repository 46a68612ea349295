// Binary single-value serialization (spec appendix D) and the truncation of bounds (the binary part of data/value.h).
#include "data/value.h"

#include "base/text.h"

static void put_le(struct fz_buf *out, uint64_t v, size_t n) {
    uint8_t bytes[8];
    for (size_t i = 0; i < n; i++) {
        bytes[i] = (uint8_t)(v >> (8 * i));
    }
    fz_buf_append(out, bytes, n);
}

static uint64_t get_le(const uint8_t *p, size_t n) {
    uint64_t v = 0;
    for (size_t i = n; i-- > 0;) {
        v = v << 8 | p[i];
    }
    return v;
}

static void put_uuid(struct fz_buf *out, struct fz_i128 v) {
    uint8_t bytes[16];
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)((uint64_t)v.upper >> (56 - 8 * i));
        bytes[i + 8] = (uint8_t)(v.lower >> (56 - 8 * i));
    }
    fz_buf_append(out, bytes, sizeof bytes);
}

enum fz_code fz_value_to_bound(struct fz_buf *out, const struct fz_value *value, struct fz_err *err) {
    if (value->is_null) {
        return fz_fail(err, FZ_BUG, "NULL has no binary form");
    }
    switch (value->type->id) {
    case FZ_TYPE_BOOLEAN:
        fz_buf_putc(out, value->u.boolean ? 1 : 0);
        break;
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        put_le(out, (uint64_t)value->u.i64, 4);
        break;
    case FZ_TYPE_LONG:
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        put_le(out, (uint64_t)value->u.i64, 8);
        break;
    case FZ_TYPE_FLOAT: {
        uint32_t bits;
        memcpy(&bits, &value->u.f32, sizeof bits);
        put_le(out, bits, 4);
        break;
    }
    case FZ_TYPE_DOUBLE: {
        uint64_t bits;
        memcpy(&bits, &value->u.f64, sizeof bits);
        put_le(out, bits, 8);
        break;
    }
    case FZ_TYPE_DECIMAL: {
        uint8_t bytes[16];
        size_t n = fz_decimal_to_bytes(fz_i128_get(value->u.i128), bytes);
        fz_buf_append(out, bytes, n);
        break;
    }
    case FZ_TYPE_UUID:
        put_uuid(out, value->u.i128);
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
        fz_buf_append(out, value->u.bytes.ptr, value->u.bytes.len);
        break;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
    case FZ_TYPE_UNKNOWN:
    case FZ_TYPE_VARIANT:
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
    case FZ_TYPE_INTERVAL_CAL:
        return fz_fail(err, FZ_UNSUPPORTED, "a value of this type has no binary form");
    }
    return fz_buf_check(out, err);
}

static enum fz_code bad_bound(const struct fz_type *type, size_t len, struct fz_err *err) {
    struct fz_buf name = {0};
    fz_type_print(&name, type);
    enum fz_code rc = fz_fail(err, FZ_CORRUPT, "%zu bytes are not the binary form of a value of type %s", len,
                              name.ptr != NULL ? name.ptr : "?");
    fz_buf_dispose(&name);
    return rc;
}

// A number of `len` bytes as int (4) or long (8); dates written before a promotion to a timestamp are scaled up.
static bool integer_from(const struct fz_type *type, struct fz_str bytes, int64_t *out) {
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    bool narrow =
        type->id == FZ_TYPE_INT || type->id == FZ_TYPE_DATE || type->id == FZ_TYPE_BYTE || type->id == FZ_TYPE_SHORT;
    if (bytes.len == 8 && !narrow) {
        *out = (int64_t)get_le(p, 8);
        return true;
    }
    if (bytes.len != 4) {
        return false;
    }
    int64_t v = (int32_t)get_le(p, 4);
    int64_t per_day = 1;
    if (type->id == FZ_TYPE_TIMESTAMP || type->id == FZ_TYPE_TIMESTAMPTZ) {
        per_day = INT64_C(86400000000);
    } else if (type->id == FZ_TYPE_TIMESTAMP_NS || type->id == FZ_TYPE_TIMESTAMPTZ_NS) {
        per_day = INT64_C(86400000000000);
    } else if (type->id == FZ_TYPE_TIME) {
        return false;
    }
    return !__builtin_mul_overflow(v, per_day, out);
}

static bool double_from(const struct fz_type *type, struct fz_str bytes, struct fz_value *out) {
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    if (bytes.len == 4) {
        uint32_t bits = (uint32_t)get_le(p, 4);
        float v;
        memcpy(&v, &bits, sizeof v);
        if (type->id == FZ_TYPE_FLOAT) {
            out->u.f32 = v;
        } else {
            out->u.f64 = (double)v;
        }
        return true;
    }
    if (bytes.len == 8 && type->id == FZ_TYPE_DOUBLE) {
        uint64_t bits = get_le(p, 8);
        memcpy(&out->u.f64, &bits, sizeof bits);
        return true;
    }
    return false;
}

static bool uuid_from(struct fz_str bytes, struct fz_value *out) {
    const uint8_t *p = (const uint8_t *)bytes.ptr;
    if (bytes.len != 16) {
        return false;
    }
    uint64_t high = 0, low = 0;
    for (size_t i = 0; i < 8; i++) {
        high = high << 8 | p[i];
        low = low << 8 | p[i + 8];
    }
    out->u.i128 = (struct fz_i128){low, (int64_t)high};
    return true;
}

enum fz_code fz_value_from_bound(struct fz_arena *arena, const struct fz_type *type, struct fz_str bytes,
                                 struct fz_value *out, struct fz_err *err) {
    struct fz_value v = {.type = type};
    bool fits = true;
    switch (type->id) {
    case FZ_TYPE_BOOLEAN:
        fits = bytes.len == 1;
        v.u.boolean = fits && bytes.ptr[0] != 0;
        break;
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
    case FZ_TYPE_LONG:
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        fits = integer_from(type, bytes, &v.u.i64);
        break;
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
        fits = double_from(type, bytes, &v);
        break;
    case FZ_TYPE_DECIMAL: {
        __int128 unscaled = 0;
        fits = fz_decimal_from_bytes((const uint8_t *)bytes.ptr, bytes.len, &unscaled);
        v.u.i128 = fz_i128_of(unscaled);
        break;
    }
    case FZ_TYPE_UUID:
        fits = uuid_from(bytes, &v);
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
        fits = type->id != FZ_TYPE_STRING || fz_utf8_valid(bytes.ptr, bytes.len);
        v.u.bytes = bytes;
        if (fits && arena != NULL) {
            v.u.bytes.ptr = fz_arena_strndup(arena, bytes.ptr, bytes.len);
            if (v.u.bytes.ptr == NULL) {
                return fz_fail_nomem(err, bytes.len);
            }
        }
        break;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
    case FZ_TYPE_UNKNOWN:
    case FZ_TYPE_VARIANT:
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
    case FZ_TYPE_INTERVAL_CAL:
        fits = false;
        break;
    }
    if (!fits) {
        return bad_bound(type, bytes.len, err);
    }
    *out = v;
    return FZ_OK;
}

static size_t last_code_point(const char *text, size_t len) {
    size_t at = len - 1;
    while (at > 0 && ((unsigned char)text[at] & 0xc0) == 0x80) {
        at--;
    }
    return at;
}

static uint32_t decode_code_point(const char *text, size_t n) {
    const unsigned char *p = (const unsigned char *)text;
    uint32_t c = n == 1 ? p[0] : n == 2 ? p[0] & 0x1fu : n == 3 ? p[0] & 0x0fu : p[0] & 0x07u;
    for (size_t i = 1; i < n; i++) {
        c = c << 6 | (p[i] & 0x3fu);
    }
    return c;
}

static size_t encode_code_point(char *out, uint32_t c) {
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    for (size_t i = n - 1; i > 0; i--) {
        out[i] = (char)(0x80u | (c & 0x3fu));
        c >>= 6;
    }
    out[0] = (char)((n == 2 ? 0xc0u : n == 3 ? 0xe0u : 0xf0u) | c);
    return n;
}

// The smallest text of at most these code points that is greater than every text beginning with them. Room for 3 more bytes.
static bool increment_text(char *text, size_t *len) {
    while (*len > 0) {
        size_t at = last_code_point(text, *len);
        uint32_t c = decode_code_point(text + at, *len - at) + 1;
        c = c == 0xd800 ? 0xe000 : c; // surrogates are not characters
        if (c <= 0x10ffff) {
            *len = at + encode_code_point(text + at, c);
            return true;
        }
        *len = at;
    }
    return false;
}

static bool increment_bytes(char *bytes, size_t *len) {
    while (*len > 0) {
        unsigned char last = (unsigned char)bytes[*len - 1];
        if (last != 0xff) {
            bytes[*len - 1] = (char)(last + 1);
            return true;
        }
        --*len;
    }
    return false;
}

bool fz_bound_truncate(struct fz_arena *arena, const struct fz_value *value, size_t n, bool upper,
                       struct fz_value *out) {
    *out = *value;
    enum fz_type_id id = value->type->id;
    if (value->is_null || (id != FZ_TYPE_STRING && id != FZ_TYPE_BINARY && id != FZ_TYPE_FIXED)) {
        return true;
    }
    bool text = id == FZ_TYPE_STRING;
    struct fz_str whole = value->u.bytes;
    size_t len = text ? fz_utf8_truncate(whole.ptr, whole.len, n) : whole.len < n ? whole.len : n;
    if (len == whole.len) {
        return true;
    }
    if (!upper) {
        out->u.bytes.len = len;
        return true;
    }
    char *copy = fz_arena_alloc(arena, len + 4);
    if (copy == NULL) {
        return false;
    }
    memcpy(copy, whole.ptr, len);
    if (!(text ? increment_text(copy, &len) : increment_bytes(copy, &len))) {
        return false;
    }
    out->u.bytes = (struct fz_str){copy, len};
    return true;
}
