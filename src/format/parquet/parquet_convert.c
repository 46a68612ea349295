// From Parquet's physical values to the batch layout of Iceberg types (data/batch.h). Which conversion a column needs is chosen once
// (annotation, physical type, wanted type); the loops below know all widths. Iceberg's promotions (int to long, float to double,
// wider decimals, date to timestamp) are conversions like others.
#include "format/parquet/parquet_reader_priv.h"

#define US_PER_DAY INT64_C(86400000000)
#define NS_PER_DAY INT64_C(86400000000000)

// What a leaf holds, annotations of both generations read together.
enum source {
    SRC_BOOL,
    SRC_INT, // signed, 32 or 64 bits by the physical type
    SRC_UINT8,
    SRC_UINT16,
    SRC_UINT32,
    SRC_UINT64,
    SRC_DATE,
    SRC_TIME,
    SRC_TIMESTAMP,
    SRC_INT96,
    SRC_FLOAT,
    SRC_DOUBLE,
    SRC_FLOAT16,
    SRC_DECIMAL,
    SRC_TEXT,
    SRC_BYTES,
    SRC_FIXED,
    SRC_UUID,
    SRC_GEOMETRY,
    SRC_GEOGRAPHY,
    SRC_NULL,
};
struct source_type {
    enum source source;
    enum fz_pq_time_unit unit;
    bool utc;
};

static bool classify_integer(const struct fz_pq_schema_element *e, struct source_type *out) {
    int bits = 0;
    bool is_signed = true;
    if (e->logical == FZ_PQ_LOGICAL_INTEGER) {
        bits = e->logical_bit_width;
        is_signed = e->logical_signed;
    } else if (e->logical == FZ_PQ_LOGICAL_NONE && e->converted >= FZ_PQ_CONV_UINT_8 &&
               e->converted <= FZ_PQ_CONV_INT_64) {
        static const int widths[] = {8, 16, 32, 64};
        bits = widths[(e->converted - FZ_PQ_CONV_UINT_8) & 3];
        is_signed = e->converted >= FZ_PQ_CONV_INT_8;
    }
    if (bits == 0 || is_signed) {
        out->source = SRC_INT;
    } else if (e->type == FZ_PQ_INT64) {
        out->source = bits == 64 ? SRC_UINT64 : SRC_INT;
    } else {
        out->source = bits == 8 ? SRC_UINT8 : bits == 16 ? SRC_UINT16 : SRC_UINT32;
    }
    return true;
}

static bool classify_timed(const struct fz_pq_schema_element *e, struct source_type *out) {
    if (e->logical == FZ_PQ_LOGICAL_TIME || e->logical == FZ_PQ_LOGICAL_TIMESTAMP) {
        out->source = e->logical == FZ_PQ_LOGICAL_TIME ? SRC_TIME : SRC_TIMESTAMP;
        out->unit = e->unit;
        out->utc = e->logical_utc;
        return true;
    }
    if (e->logical != FZ_PQ_LOGICAL_NONE || e->converted < FZ_PQ_CONV_TIME_MILLIS ||
        e->converted > FZ_PQ_CONV_TIMESTAMP_MICROS) {
        return false;
    }
    out->utc = true; // what the old annotations mean
    out->source = e->converted <= FZ_PQ_CONV_TIME_MICROS ? SRC_TIME : SRC_TIMESTAMP;
    out->unit = e->converted == FZ_PQ_CONV_TIME_MILLIS || e->converted == FZ_PQ_CONV_TIMESTAMP_MILLIS ? FZ_PQ_MILLIS
                                                                                                      : FZ_PQ_MICROS;
    return true;
}

static bool is_decimal(const struct fz_pq_schema_element *e) {
    bool annotated =
        e->logical == FZ_PQ_LOGICAL_DECIMAL || (e->logical == FZ_PQ_LOGICAL_NONE && e->converted == FZ_PQ_CONV_DECIMAL);
    return annotated && e->precision >= 1 && e->precision <= 38 && e->scale >= 0 && e->scale <= e->precision;
}

static bool is_text(const struct fz_pq_schema_element *e) {
    switch (e->logical) {
    case FZ_PQ_LOGICAL_STRING:
    case FZ_PQ_LOGICAL_ENUM:
    case FZ_PQ_LOGICAL_JSON:
        return true;
    case FZ_PQ_LOGICAL_NONE:
        return e->converted == FZ_PQ_CONV_UTF8 || e->converted == FZ_PQ_CONV_ENUM || e->converted == FZ_PQ_CONV_JSON;
    default:
        return false;
    }
}

static struct source_type classify(const struct fz_pq_schema_element *e) {
    struct source_type s = {.source = SRC_BYTES};
    if (e->logical == FZ_PQ_LOGICAL_UNKNOWN) {
        s.source = SRC_NULL;
        return s;
    }
    switch (e->type) {
    case FZ_PQ_BOOLEAN:
        s.source = SRC_BOOL;
        break;
    case FZ_PQ_INT32:
    case FZ_PQ_INT64:
        if (is_decimal(e)) {
            s.source = SRC_DECIMAL;
        } else if (e->type == FZ_PQ_INT32 && (e->logical == FZ_PQ_LOGICAL_DATE ||
                                              (e->logical == FZ_PQ_LOGICAL_NONE && e->converted == FZ_PQ_CONV_DATE))) {
            s.source = SRC_DATE;
        } else if (!classify_timed(e, &s)) {
            classify_integer(e, &s);
        }
        break;
    case FZ_PQ_INT96:
        s.source = SRC_INT96;
        break;
    case FZ_PQ_FLOAT:
        s.source = SRC_FLOAT;
        break;
    case FZ_PQ_DOUBLE:
        s.source = SRC_DOUBLE;
        break;
    case FZ_PQ_BYTE_ARRAY:
        s.source = is_decimal(e)                           ? SRC_DECIMAL
                   : is_text(e)                            ? SRC_TEXT
                   : e->logical == FZ_PQ_LOGICAL_GEOMETRY  ? SRC_GEOMETRY
                   : e->logical == FZ_PQ_LOGICAL_GEOGRAPHY ? SRC_GEOGRAPHY
                                                           : SRC_BYTES;
        break;
    default:
        s.source = is_decimal(e)                                                ? SRC_DECIMAL
                   : e->logical == FZ_PQ_LOGICAL_UUID && e->type_length == 16   ? SRC_UUID
                   : e->logical == FZ_PQ_LOGICAL_FLOAT16 && e->type_length == 2 ? SRC_FLOAT16
                                                                                : SRC_FIXED;
        break;
    }
    return s;
}

const struct fz_type *fz_pqr_leaf_type(struct fz_arena *arena, const struct fz_pq_schema_element *e) {
    struct source_type s = classify(e);
    switch (s.source) {
    case SRC_BOOL:
        return fz_type_primitive(FZ_TYPE_BOOLEAN);
    case SRC_INT:
        return fz_type_primitive(e->type == FZ_PQ_INT64 ? FZ_TYPE_LONG : FZ_TYPE_INT);
    case SRC_UINT8:
    case SRC_UINT16:
        return fz_type_primitive(FZ_TYPE_INT);
    case SRC_UINT32:
        return fz_type_primitive(FZ_TYPE_LONG);
    case SRC_UINT64:
        return fz_type_decimal(arena, 20, 0);
    case SRC_DATE:
        return fz_type_primitive(FZ_TYPE_DATE);
    case SRC_TIME:
        return fz_type_primitive(FZ_TYPE_TIME);
    case SRC_TIMESTAMP:
        if (s.unit == FZ_PQ_NANOS) {
            return fz_type_primitive(s.utc ? FZ_TYPE_TIMESTAMPTZ_NS : FZ_TYPE_TIMESTAMP_NS);
        }
        return fz_type_primitive(s.utc ? FZ_TYPE_TIMESTAMPTZ : FZ_TYPE_TIMESTAMP);
    case SRC_INT96:
        return fz_type_primitive(FZ_TYPE_TIMESTAMPTZ);
    case SRC_FLOAT:
    case SRC_FLOAT16:
        return fz_type_primitive(FZ_TYPE_FLOAT);
    case SRC_DOUBLE:
        return fz_type_primitive(FZ_TYPE_DOUBLE);
    case SRC_DECIMAL:
        return fz_type_decimal(arena, e->precision, e->scale);
    case SRC_TEXT:
        return fz_type_primitive(FZ_TYPE_STRING);
    case SRC_BYTES:
        return fz_type_primitive(FZ_TYPE_BINARY);
    case SRC_FIXED:
        return fz_type_fixed(arena, e->type_length);
    case SRC_UUID:
        return fz_type_primitive(FZ_TYPE_UUID);
    case SRC_GEOMETRY:
        return fz_type_primitive(FZ_TYPE_GEOMETRY);
    case SRC_GEOGRAPHY:
        return fz_type_primitive(FZ_TYPE_GEOGRAPHY);
    case SRC_NULL:
        return fz_type_primitive(FZ_TYPE_UNKNOWN);
    }
    return NULL;
}

static bool set_op(struct fz_pqr_conv *out, enum fz_pqr_op op, int64_t factor) {
    out->op = op;
    out->factor = factor;
    return true;
}

static bool choose_integer(enum source source, bool wide, const struct fz_type *type, struct fz_pqr_conv *out) {
    switch ((int)type->id) {
    case FZ_TYPE_INT:
        if (wide) {
            return false;
        }
        return source == SRC_INT      ? set_op(out, FZ_PQR_OP_COPY4, 1)
               : source == SRC_UINT8  ? set_op(out, FZ_PQR_OP_U8, 1)
               : source == SRC_UINT16 ? set_op(out, FZ_PQR_OP_U16, 1)
                                      : false;
    case FZ_TYPE_LONG:
        if (wide) {
            return source == SRC_INT && set_op(out, FZ_PQR_OP_COPY8, 1);
        }
        return set_op(out, source == SRC_INT ? FZ_PQR_OP_I32_I64 : FZ_PQR_OP_U32_I64, 1);
    case FZ_TYPE_BYTE:
        return !wide && source == SRC_INT && set_op(out, FZ_PQR_OP_I32_I8, 1);
    case FZ_TYPE_SHORT:
        return !wide && (source == SRC_INT || source == SRC_UINT8) && set_op(out, FZ_PQR_OP_I32_I16, 1);
    case FZ_TYPE_DECIMAL: // how an unsigned 64-bit number is shown
        return source == SRC_UINT64 && type->precision >= 20 && type->scale == 0 && set_op(out, FZ_PQR_OP_U64_I128, 1);
    case FZ_TYPE_DATE:
        return !wide && source == SRC_INT && set_op(out, FZ_PQR_OP_COPY4, 1);
    default:
        return false;
    }
}

static bool choose_decimal(const struct fz_pq_schema_element *e, const struct fz_type *type, struct fz_pqr_conv *out) {
    if (type->id != FZ_TYPE_DECIMAL || type->scale != e->scale || type->precision < e->precision) {
        return false;
    }
    size_t width = fz_type_width(type);
    if (e->type == FZ_PQ_INT32) {
        return set_op(out,
                      width == 2   ? FZ_PQR_OP_I32_I16
                      : width == 4 ? FZ_PQR_OP_COPY4
                      : width == 8 ? FZ_PQR_OP_I32_I64
                                   : FZ_PQR_OP_I32_I128,
                      1);
    }
    if (e->type == FZ_PQ_INT64) {
        return set_op(out,
                      width == 2   ? FZ_PQR_OP_I64_I16
                      : width == 4 ? FZ_PQR_OP_I64_I32
                      : width == 8 ? FZ_PQR_OP_COPY8
                                   : FZ_PQR_OP_I64_I128,
                      1);
    }
    return set_op(out,
                  width == 2   ? FZ_PQR_OP_DEC16
                  : width == 4 ? FZ_PQR_OP_DEC32
                  : width == 8 ? FZ_PQR_OP_DEC64
                               : FZ_PQR_OP_DEC128,
                  1);
}

static bool choose_time(const struct fz_pq_schema_element *e, struct source_type s, const struct fz_type *type,
                        struct fz_pqr_conv *out) {
    bool wide = e->type == FZ_PQ_INT64;
    if (type->id != FZ_TYPE_TIME) {
        return false;
    }
    if (!wide) {
        return set_op(out, FZ_PQR_OP_I32_MUL, s.unit == FZ_PQ_MILLIS ? 1000 : 1);
    }
    return s.unit == FZ_PQ_MILLIS   ? set_op(out, FZ_PQR_OP_I64_MUL, 1000)
           : s.unit == FZ_PQ_MICROS ? set_op(out, FZ_PQR_OP_COPY8, 1)
                                    : set_op(out, FZ_PQR_OP_I64_DIV, 1000);
}

static bool is_timestamp(const struct fz_type *type, bool *nanos) {
    *nanos = type->id == FZ_TYPE_TIMESTAMP_NS || type->id == FZ_TYPE_TIMESTAMPTZ_NS;
    return *nanos || type->id == FZ_TYPE_TIMESTAMP || type->id == FZ_TYPE_TIMESTAMPTZ;
}

// The zone flag of the file is not held against the table's: a stored instant and a stored local time are the same number.
static bool choose_timestamp(const struct fz_pq_schema_element *e, struct source_type s, const struct fz_type *type,
                             struct fz_pqr_conv *out) {
    bool nanos;
    if (!is_timestamp(type, &nanos) || e->type != FZ_PQ_INT64) {
        return false;
    }
    int have = (int)s.unit, want = nanos ? FZ_PQ_NANOS : FZ_PQ_MICROS;
    if (have == want) {
        return set_op(out, FZ_PQR_OP_COPY8, 1);
    }
    if (have > want) {
        return set_op(out, FZ_PQR_OP_I64_DIV, 1000);
    }
    return set_op(out, FZ_PQR_OP_I64_MUL, want - have == 2 ? 1000000 : 1000);
}

static bool choose_op(const struct fz_pq_schema_element *e, const struct fz_type *type, struct fz_pqr_conv *out) {
    struct source_type s = classify(e);
    bool nanos = false;
    if (type->id == FZ_TYPE_UNKNOWN || s.source == SRC_NULL) {
        return set_op(out, FZ_PQR_OP_NULL, 1);
    }
    switch (s.source) {
    case SRC_BOOL:
        return type->id == FZ_TYPE_BOOLEAN && set_op(out, FZ_PQR_OP_BOOL, 1);
    case SRC_INT:
    case SRC_UINT8:
    case SRC_UINT16:
    case SRC_UINT32:
    case SRC_UINT64:
        return choose_integer(s.source, e->type == FZ_PQ_INT64, type, out);
    case SRC_DATE:
        if (type->id == FZ_TYPE_DATE) {
            return set_op(out, FZ_PQR_OP_COPY4, 1);
        }
        return is_timestamp(type, &nanos) && set_op(out, FZ_PQR_OP_I32_MUL, nanos ? NS_PER_DAY : US_PER_DAY);
    case SRC_TIME:
        return choose_time(e, s, type, out);
    case SRC_TIMESTAMP:
        return choose_timestamp(e, s, type, out);
    case SRC_INT96:
        return is_timestamp(type, &nanos) && set_op(out, FZ_PQR_OP_I96, nanos ? 1 : 1000);
    case SRC_FLOAT:
        return type->id == FZ_TYPE_FLOAT    ? set_op(out, FZ_PQR_OP_COPY4, 1)
               : type->id == FZ_TYPE_DOUBLE ? set_op(out, FZ_PQR_OP_F32_F64, 1)
                                            : false;
    case SRC_DOUBLE:
        return type->id == FZ_TYPE_DOUBLE && set_op(out, FZ_PQR_OP_COPY8, 1);
    case SRC_FLOAT16:
        return type->id == FZ_TYPE_FLOAT    ? set_op(out, FZ_PQR_OP_F16_F32, 1)
               : type->id == FZ_TYPE_DOUBLE ? set_op(out, FZ_PQR_OP_F16_F64, 1)
                                            : false;
    case SRC_DECIMAL:
        return choose_decimal(e, type, out);
    case SRC_TEXT:
    case SRC_BYTES: // writers of old did not annotate text
    case SRC_GEOMETRY:
    case SRC_GEOGRAPHY:
        out->utf8 = type->id == FZ_TYPE_STRING;
        return (type->id == FZ_TYPE_STRING || type->id == FZ_TYPE_BINARY || type->id == FZ_TYPE_GEOMETRY ||
                type->id == FZ_TYPE_GEOGRAPHY) &&
               set_op(out, FZ_PQR_OP_STRING, 1);
    case SRC_UUID:
    case SRC_FIXED:
        if (type->id == FZ_TYPE_UUID) {
            return e->type_length == 16 && set_op(out, FZ_PQR_OP_UUID, 1);
        }
        return (type->id == FZ_TYPE_BINARY || (type->id == FZ_TYPE_FIXED && type->length == e->type_length)) &&
               set_op(out, FZ_PQR_OP_STRING, 1);
    case SRC_NULL:
        break;
    }
    return false;
}

bool fz_pqr_conv_choose(const struct fz_pq_schema_element *e, const struct fz_type *type, struct fz_pqr_conv *out) {
    static const size_t widths[] = {0, 4, 8, 12, 4, 8, 0, 0};
    *out = (struct fz_pqr_conv){.factor = 1};
    if (!fz_type_is_primitive(type) || !choose_op(e, type, out)) {
        return false;
    }
    out->src_width = e->type == FZ_PQ_FIXED ? (size_t)e->type_length : widths[e->type];
    out->dst_width = fz_type_width(type);
    return true;
}

static float half_to_float(uint16_t h) {
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, exponent = h >> 10 & 31, mantissa = h & 0x3ff, bits;
    if (exponent == 31) {
        bits = sign | 0x7f800000 | mantissa << 13;
    } else if (exponent != 0) {
        bits = sign | (exponent + 112) << 23 | mantissa << 13;
    } else { // zero and subnormal: mantissa * 2^-24, exact
        float f = (float)mantissa * 0x1p-24f;
        return sign != 0 ? -f : f;
    }
    float f;
    memcpy(&f, &bits, 4);
    return f;
}

// Big-endian two's complement to 128 bits; false when it does not fit. No bytes are zero, as other readers have it.
static bool decimal_bytes(const uint8_t *p, size_t len, __int128 *out) {
    unsigned __int128 v = len > 0 && p[0] >= 0x80 ? ~(unsigned __int128)0 : 0;
    const uint8_t fill = (uint8_t)v;
    while (len > 16) {
        if (*p != fill) {
            return false;
        }
        p++;
        len--;
        if (len == 16 && (*p & 0x80) != (fill & 0x80)) {
            return false;
        }
    }
    for (size_t i = 0; i < len; i++) {
        v = v << 8 | p[i];
    }
    *out = (__int128)v;
    return true;
}

static struct fz_i128 uuid_value(const uint8_t *p) {
    uint64_t high = __builtin_bswap64(fz_pqr_load64(p)), low = __builtin_bswap64(fz_pqr_load64(p + 8));
    return (struct fz_i128){low, (int64_t)(high ^ UINT64_C(0x8000000000000000))};
}

static bool put_decimal(enum fz_pqr_op op, const uint8_t *p, size_t len, void *dst, size_t i) {
    __int128 v;
    if (!decimal_bytes(p, len, &v)) {
        return false;
    }
    switch ((int)op) {
    case FZ_PQR_OP_DEC16:
        ((int16_t *)dst)[i] = (int16_t)v;
        return v == (int16_t)v;
    case FZ_PQR_OP_DEC32:
        ((int32_t *)dst)[i] = (int32_t)v;
        return v == (int32_t)v;
    case FZ_PQR_OP_DEC64:
        ((int64_t *)dst)[i] = (int64_t)v;
        return v == (int64_t)v;
    default:
        ((struct fz_i128 *)dst)[i] = fz_i128_of(v);
        return true;
    }
}

bool fz_pqr_convert_bytes(const struct fz_pqr_conv *conv, const uint8_t *src, size_t len, void *dst, size_t i) {
    if (conv->op == FZ_PQR_OP_STRING) {
        fz_pqr_put_string((struct fz_string *)dst + i, src, (uint32_t)len);
        return true;
    }
    if (conv->op == FZ_PQR_OP_NULL) {
        memset((char *)dst + i * conv->dst_width, 0, conv->dst_width);
        return true;
    }
    return put_decimal(conv->op, src, len, dst, i);
}

// One loop: FROM values read from possibly unaligned `src`, `expr` of v stored as TO.
#define EACH(FROM, TO, expr)                                                                                           \
    do {                                                                                                               \
        TO *to = dst;                                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            FROM v;                                                                                                    \
            memcpy(&v, src + i * sizeof v, sizeof v);                                                                  \
            to[i] = (expr);                                                                                            \
        }                                                                                                              \
    } while (0)
// The same with a check whether the narrower value is the same.
#define EACH_NARROW(FROM, TO)                                                                                          \
    do {                                                                                                               \
        TO *to = dst;                                                                                                  \
        FROM wrong = 0;                                                                                                \
        for (size_t i = 0; i < n; i++) {                                                                               \
            FROM v;                                                                                                    \
            memcpy(&v, src + i * sizeof v, sizeof v);                                                                  \
            to[i] = (TO)v;                                                                                             \
            wrong |= v ^ (FROM)to[i];                                                                                  \
        }                                                                                                              \
        return wrong == 0;                                                                                             \
    } while (0)

static bool multiply(const uint8_t *src, size_t n, int64_t factor, int64_t *dst) {
    bool overflow = false;
    for (size_t i = 0; i < n; i++) {
        int64_t v = (int64_t)fz_pqr_load64(src + i * 8);
        overflow |= __builtin_mul_overflow(v, factor, &dst[i]);
    }
    return !overflow;
}

static bool multiply32(const uint8_t *src, size_t n, int64_t factor, int64_t *dst) {
    bool overflow = false;
    for (size_t i = 0; i < n; i++) {
        int64_t v = (int32_t)fz_pqr_load32(src + i * 4);
        overflow |= __builtin_mul_overflow(v, factor, &dst[i]);
    }
    return !overflow;
}

static int64_t floor_div(int64_t v, int64_t factor) {
    int64_t q = v / factor;
    return v % factor < 0 ? q - 1 : q;
}

// INT96: nanoseconds of the day, then the Julian day. Values beyond 64 bits wrap, as in the readers that others have.
static void convert_int96(const uint8_t *src, size_t n, int64_t ns_per_unit, int64_t *dst) {
    const int64_t units_per_day = NS_PER_DAY / ns_per_unit;
    for (size_t i = 0; i < n; i++) {
        int64_t nanos = (int64_t)fz_pqr_load64(src + i * 12);
        int64_t day = (int64_t)fz_pqr_load32(src + i * 12 + 8) - 2440588;
        dst[i] = (int64_t)((uint64_t)day * (uint64_t)units_per_day + (uint64_t)floor_div(nanos, ns_per_unit));
    }
}

bool fz_pqr_convert(const struct fz_pqr_conv *conv, const uint8_t *src, size_t n, void *dst) {
    const size_t width = conv->src_width;
    switch (conv->op) {
    case FZ_PQR_OP_COPY4:
        memcpy(dst, src, n * 4);
        break;
    case FZ_PQR_OP_COPY8:
        memcpy(dst, src, n * 8);
        break;
    case FZ_PQR_OP_I32_I8:
        EACH_NARROW(int32_t, int8_t);
    case FZ_PQR_OP_I32_I16:
        EACH_NARROW(int32_t, int16_t);
    case FZ_PQR_OP_I32_I64:
        EACH(int32_t, int64_t, v);
        break;
    case FZ_PQR_OP_I32_I128:
        EACH(int32_t, struct fz_i128, ((struct fz_i128){(uint64_t)(int64_t)v, v < 0 ? -1 : 0}));
        break;
    case FZ_PQR_OP_I32_MUL:
        return multiply32(src, n, conv->factor, dst);
    case FZ_PQR_OP_U8:
        EACH(uint32_t, uint32_t, v & 0xff);
        break;
    case FZ_PQR_OP_U16:
        EACH(uint32_t, uint32_t, v & 0xffff);
        break;
    case FZ_PQR_OP_U32_I64:
        EACH(uint32_t, int64_t, v);
        break;
    case FZ_PQR_OP_I64_I16:
        EACH_NARROW(int64_t, int16_t);
    case FZ_PQR_OP_I64_I32:
        EACH_NARROW(int64_t, int32_t);
    case FZ_PQR_OP_I64_I128:
        EACH(int64_t, struct fz_i128, ((struct fz_i128){(uint64_t)v, v < 0 ? -1 : 0}));
        break;
    case FZ_PQR_OP_U64_I128:
        EACH(uint64_t, struct fz_i128, ((struct fz_i128){v, 0}));
        break;
    case FZ_PQR_OP_I64_MUL:
        return multiply(src, n, conv->factor, dst);
    case FZ_PQR_OP_I64_DIV:
        EACH(int64_t, int64_t, floor_div(v, 1000));
        break;
    case FZ_PQR_OP_I96:
        convert_int96(src, n, conv->factor, dst);
        break;
    case FZ_PQR_OP_F32_F64:
        EACH(float, double, (double)v);
        break;
    case FZ_PQR_OP_F16_F32:
        EACH(uint16_t, float, half_to_float(v));
        break;
    case FZ_PQR_OP_F16_F64:
        EACH(uint16_t, double, (double)half_to_float(v));
        break;
    case FZ_PQR_OP_STRING:
        for (size_t i = 0; i < n; i++) {
            fz_pqr_put_string((struct fz_string *)dst + i, src + i * width, (uint32_t)width);
        }
        break;
    case FZ_PQR_OP_UUID:
        for (size_t i = 0; i < n; i++) {
            ((struct fz_i128 *)dst)[i] = uuid_value(src + i * 16);
        }
        break;
    case FZ_PQR_OP_DEC16:
    case FZ_PQR_OP_DEC32:
    case FZ_PQR_OP_DEC64:
    case FZ_PQR_OP_DEC128:
        for (size_t i = 0; i < n; i++) {
            if (!put_decimal(conv->op, src + i * width, width, dst, i)) {
                return false;
            }
        }
        break;
    case FZ_PQR_OP_NULL:
        memset(dst, 0, n * conv->dst_width);
        break;
    case FZ_PQR_OP_BOOL: // bits: parquet_values.c
        return false;
    }
    return true;
}
