// Numbers: decimal arithmetic beyond 38 digits in between (256-bit), exact division and average, rounding by the shortest text, shifts,
// libm functions DuckDB lacks. Decimal results are unscaled DECIMAL(38,0); the printer scales them.
#include "sql/kernels_priv.h"

#include <math.h>

#define EACH(row) for (size_t row = 0; row < n_rows; row++)

// ---- 256-bit unsigned, little-endian 64-bit words ----
struct u256 {
    uint64_t w[4];
};
static struct u256 u256_of(unsigned __int128 v) {
    return (struct u256){{(uint64_t)v, (uint64_t)(v >> 64), 0, 0}};
}
static bool mul_small(struct u256 *a, uint64_t m) { // false on overflow
    unsigned __int128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)a->w[i] * m;
        a->w[i] = (uint64_t)carry;
        carry >>= 64;
    }
    return carry == 0;
}
static bool mul_pow10(struct u256 *a, int n) {
    for (; n >= 19; n -= 19) {
        if (!mul_small(a, 10000000000000000000u)) {
            return false;
        }
    }
    uint64_t m = 1;
    while (n-- > 0) {
        m *= 10;
    }
    return mul_small(a, m);
}
static struct u256 mul_128(unsigned __int128 a, unsigned __int128 b) {
    uint64_t x[2] = {(uint64_t)a, (uint64_t)(a >> 64)}, y[2] = {(uint64_t)b, (uint64_t)(b >> 64)};
    struct u256 r = {{0}};
    for (int i = 0; i < 2; i++) {
        unsigned __int128 carry = 0;
        for (int j = 0; j < 2; j++) {
            carry += (unsigned __int128)x[i] * y[j] + r.w[i + j];
            r.w[i + j] = (uint64_t)carry;
            carry >>= 64;
        }
        r.w[i + 2] += (uint64_t)carry;
    }
    return r;
}
static int cmp(const struct u256 *a, const struct u256 *b) {
    for (int i = 3; i >= 0; i--) {
        if (a->w[i] != b->w[i]) {
            return a->w[i] < b->w[i] ? -1 : 1;
        }
    }
    return 0;
}
static void sub(struct u256 *a, const struct u256 *b) {
    uint64_t borrow = 0;
    for (int i = 0; i < 4; i++) {
        unsigned __int128 d = (unsigned __int128)a->w[i] - b->w[i] - borrow;
        a->w[i] = (uint64_t)d;
        borrow = (uint64_t)(d >> 64) & 1;
    }
}
static void add(struct u256 *a, const struct u256 *b) {
    unsigned __int128 carry = 0;
    for (int i = 0; i < 4; i++) {
        carry += (unsigned __int128)a->w[i] + b->w[i];
        a->w[i] = (uint64_t)carry;
        carry >>= 64;
    }
}
static void divmod(const struct u256 *a, const struct u256 *b, struct u256 *q, struct u256 *r) {
    if (a->w[2] == 0 && a->w[3] == 0 && b->w[2] == 0 && b->w[3] == 0) {
        unsigned __int128 x = ((unsigned __int128)a->w[1] << 64) | a->w[0],
                          y = ((unsigned __int128)b->w[1] << 64) | b->w[0];
        *q = u256_of(x / y);
        *r = u256_of(x % y);
        return;
    }
    *q = (struct u256){{0}};
    *r = (struct u256){{0}};
    for (int i = 255; i >= 0; i--) {
        for (int k = 3; k > 0; k--) {
            r->w[k] = r->w[k] << 1 | r->w[k - 1] >> 63;
        }
        r->w[0] = r->w[0] << 1 | (a->w[i / 64] >> (i % 64) & 1);
        if (cmp(r, b) >= 0) {
            sub(r, b);
            q->w[i / 64] |= (uint64_t)1 << (i % 64);
        }
    }
}
static unsigned __int128 magnitude(__int128 v) {
    return v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
}
static bool to_i128(const struct u256 *v, bool negative, __int128 *out) { // at most 38 digits
    unsigned __int128 m = ((unsigned __int128)v->w[1] << 64) | v->w[0];
    const unsigned __int128 limit = (unsigned __int128)10000000000000000000u * 10000000000000000000u;
    if (v->w[2] != 0 || v->w[3] != 0 || m >= limit) {
        return false;
    }
    *out = negative ? -(__int128)m : (__int128)m;
    return true;
}
// a / b, rounded HALF_UP.
static bool div_round(const struct u256 *a, const struct u256 *b, bool negative, __int128 *out) {
    struct u256 q, r, twice;
    divmod(a, b, &q, &r);
    twice = r;
    add(&twice, &r);
    if (cmp(&twice, b) >= 0) {
        struct u256 one = u256_of(1);
        add(&q, &one);
    }
    return to_i128(&q, negative, out);
}
static bool drop_digits(struct u256 *v, int n, bool negative, __int128 *out) { // v / 10^n HALF_UP
    struct u256 p = u256_of(1);
    return mul_pow10(&p, n) && div_round(v, &p, negative, out);
}

bool fz_dec_div_exact(__int128 a, int sa, __int128 b, int sb, int scale, __int128 *out) {
    if (b == 0) {
        return false;
    }
    struct u256 n = u256_of(magnitude(a)), d = u256_of(magnitude(b));
    int shift = scale - sa + sb;
    if (shift >= 0 ? !mul_pow10(&n, shift) : !mul_pow10(&d, -shift)) {
        return false;
    }
    return div_round(&n, &d, (a < 0) != (b < 0), out);
}

static bool dec_addsub(__int128 a, int sa, __int128 b, int sb, int scale, __int128 *out) {
    int most = sa > sb ? sa : sb;
    struct u256 x = u256_of(magnitude(a)), y = u256_of(magnitude(b));
    if (!mul_pow10(&x, most - sa) || !mul_pow10(&y, most - sb)) {
        return false;
    }
    bool negative = a < 0;
    if ((a < 0) == (b < 0)) {
        add(&x, &y);
    } else if (cmp(&x, &y) >= 0) {
        sub(&x, &y);
    } else {
        sub(&y, &x);
        x = y;
        negative = b < 0;
    }
    return scale >= most ? mul_pow10(&x, scale - most) && to_i128(&x, negative, out)
                         : drop_digits(&x, most - scale, negative, out);
}
static bool dec_mul(__int128 a, int sa, __int128 b, int sb, int scale, __int128 *out) {
    struct u256 p = mul_128(magnitude(a), magnitude(b));
    bool negative = (a < 0) != (b < 0);
    int have = sa + sb;
    return scale >= have ? mul_pow10(&p, scale - have) && to_i128(&p, negative, out)
                         : drop_digits(&p, have - scale, negative, out);
}
static bool dec_rem(__int128 a, int sa, __int128 b, int sb, int scale, bool positive, __int128 *out) {
    int most = sa > sb ? sa : sb;
    struct u256 x = u256_of(magnitude(a)), y = u256_of(magnitude(b)), q, r;
    if (b == 0 || !mul_pow10(&x, most - sa) || !mul_pow10(&y, most - sb)) {
        return false;
    }
    divmod(&x, &y, &q, &r);
    bool negative = a < 0;
    if (positive && a < 0 && (r.w[0] | r.w[1] | r.w[2] | r.w[3]) != 0) { // (r + b) % b
        if (b > 0) {
            sub(&y, &r);
            r = y;
            negative = false;
        } else {
            add(&r, &y);
            struct u256 q2, r2;
            y = u256_of(magnitude(b));
            mul_pow10(&y, most - sb);
            divmod(&r, &y, &q2, &r2);
            r = r2;
        }
    }
    return scale >= most ? mul_pow10(&r, scale - most) && to_i128(&r, negative, out)
                         : drop_digits(&r, most - scale, negative, out);
}

static int scale_of(const struct fz_column *c) {
    return c->type->id == FZ_TYPE_DECIMAL ? c->type->scale : 0;
}
static void put_dec(struct fz_column *out, size_t i, bool ok, __int128 v) {
    ((struct fz_i128 *)out->data)[i] = fz_i128_of(ok ? v : 0);
    if (!ok) {
        fz_column_set_null(out, i);
    }
}
#define DECIMAL_OP(name, expression)                                                                                   \
    FZ_KERNEL_RUN(name) {                                                                                              \
        FZ_KERNEL_UNUSED;                                                                                              \
        int sa = scale_of(&args[0]), sb = scale_of(&args[1]);                                                          \
        EACH(i) {                                                                                                      \
            __int128 a = fz_col_dec(&args[0], i), b = fz_col_dec(&args[1], i), v = 0;                                  \
            int s = n_args > 2 ? (int)fz_col_i64(&args[2], i) : 0;                                                     \
            bool ok = (expression);                                                                                    \
            put_dec(out, i, ok, v);                                                                                    \
        }                                                                                                              \
        return FZ_OK;                                                                                                  \
    }
DECIMAL_OP(k_dec_add, dec_addsub(a, sa, b, sb, s, &v))
DECIMAL_OP(k_dec_sub, dec_addsub(a, sa, -b, sb, s, &v))
DECIMAL_OP(k_dec_mul, dec_mul(a, sa, b, sb, s, &v))
DECIMAL_OP(k_dec_div, fz_dec_div_exact(a, sa, b, sb, s, &v))
DECIMAL_OP(k_dec_avg, fz_dec_div_exact(a, sa, b, sb, s, &v))
DECIMAL_OP(k_dec_rem, dec_rem(a, sa, b, sb, s, false, &v))
DECIMAL_OP(k_dec_pmod, dec_rem(a, sa, b, sb, s, true, &v))

FZ_KERNEL_RUN(k_dec_div_int) { // cut toward zero
    FZ_KERNEL_UNUSED;
    int sa = scale_of(&args[0]), sb = scale_of(&args[1]), most = sa > sb ? sa : sb;
    EACH(i) {
        __int128 a = fz_col_dec(&args[0], i), b = fz_col_dec(&args[1], i), v = 0;
        struct u256 x = u256_of(magnitude(a)), y = u256_of(magnitude(b)), q, r;
        bool ok = b != 0 && mul_pow10(&x, most - sa) && mul_pow10(&y, most - sb);
        if (ok) {
            divmod(&x, &y, &q, &r);
            ok = to_i128(&q, (a < 0) != (b < 0), &v);
        }
        put_dec(out, i, ok, v);
    }
    return FZ_OK;
}

enum round_mode { HALF_UP, HALF_EVEN, CEILING, FLOOR };
// value * 10^-scale rounded to `digits` behind the point, given at `to_scale`.
static bool round_decimal(__int128 v, int scale, int64_t digits, enum round_mode mode, int to_scale, __int128 *out) {
    if (digits >= scale) {
        return fz_decimal_rescale(v, scale, to_scale, out);
    }
    int64_t drop = scale - digits;
    __int128 p = 1, q = 0, r = v;
    if (drop <= 38) {
        for (int64_t i = 0; i < drop; i++) {
            p *= 10;
        }
        q = v / p;
        r = v % p;
    }
    unsigned __int128 m = magnitude(r);
    bool up = false;
    if (drop <= 38) {
        unsigned __int128 rest = (unsigned __int128)p - m;
        bool half = m == rest, more = m > rest;
        up = mode == HALF_UP     ? half || more
             : mode == HALF_EVEN ? more || (half && q % 2 != 0)
             : mode == CEILING   ? r > 0
                                 : r < 0;
    } else {
        up = mode == CEILING ? v > 0 : mode == FLOOR && v < 0;
    }
    if (up) {
        q += v < 0 ? -1 : 1;
    }
    for (int64_t i = digits; i < to_scale; i++) { // back to the result scale
        if (__builtin_mul_overflow(q, (__int128)10, &q)) {
            return false;
        }
    }
    *out = q;
    return true;
}
FZ_KERNEL_RUN(k_dec_round) { // (decimal, digits, mode, result scale)
    FZ_KERNEL_UNUSED;
    EACH(i) {
        __int128 v = 0;
        bool ok = round_decimal(fz_col_dec(&args[0], i), scale_of(&args[0]), fz_col_i64(&args[1], i),
                                (enum round_mode)fz_col_i64(&args[2], i), (int)fz_col_i64(&args[3], i), &v);
        put_dec(out, i, ok && fz_decimal_digits(v) <= 38, v);
    }
    return FZ_OK;
}

static double round_double(double v, int64_t digits, enum round_mode mode) { // BigDecimal of the shortest text
    struct fz_buf text = {0};
    __int128 unscaled, rounded;
    bool exact;
    double back = v;
    if (isnan(v) || isinf(v) || fabs(v) >= 1e18 || digits > 17) {
        return v;
    }
    fz_java_double(&text, v);
    if (text.ptr != NULL && fz_decimal_parse((struct fz_str){text.ptr, text.len}, 18, &unscaled, &exact) &&
        round_decimal(unscaled, 18, digits, mode, 18, &rounded)) {
        fz_buf_clear(&text);
        fz_decimal_print(&text, rounded, 18);
        fz_parse_double((struct fz_str){text.ptr, text.len}, &back);
    }
    fz_buf_dispose(&text);
    return back + 0.0;
}
FZ_KERNEL_RUN(k_round) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        ((double *)out->data)[i] = round_double(((const double *)args[0].data)[i], fz_col_i64(&args[1], i), HALF_UP);
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(k_bround) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        ((double *)out->data)[i] = round_double(((const double *)args[0].data)[i], fz_col_i64(&args[1], i), HALF_EVEN);
    }
    return FZ_OK;
}
static void round_int(const struct fz_column *args, size_t i, enum round_mode mode, struct fz_column *out) {
    __int128 v = 0;
    bool ok = round_decimal(fz_col_i64(&args[0], i), 0, fz_col_i64(&args[1], i), mode, 0, &v) && v <= INT64_MAX &&
              v >= INT64_MIN;
    ((int64_t *)out->data)[i] = (int64_t)v;
    if (!ok) {
        fz_column_set_null(out, i);
    }
}
FZ_KERNEL_RUN(k_round_int) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        round_int(args, i, HALF_UP, out);
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(k_bround_int) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        round_int(args, i, HALF_EVEN, out);
    }
    return FZ_OK;
}

#define LIBM1(name, fn)                                                                                                \
    FZ_KERNEL_RUN(name) {                                                                                              \
        FZ_KERNEL_UNUSED;                                                                                              \
        EACH(i) {                                                                                                      \
            double x = ((const double *)args[0].data)[i];                                                              \
            ((double *)out->data)[i] = fn(x);                                                                          \
        }                                                                                                              \
        return FZ_OK;                                                                                                  \
    }
LIBM1(k_expm1, expm1)
static double cube_root(double x) { // the last digit of cbrt() may be off
    return (double)cbrtl((long double)x);
}
LIBM1(k_cbrt, cube_root)
FZ_KERNEL_RUN(k_log1p) { // NULL from -1 down
    FZ_KERNEL_UNUSED;
    EACH(i) {
        double x = ((const double *)args[0].data)[i];
        ((double *)out->data)[i] = log1p(x);
        if (x <= -1) {
            fz_column_set_null(out, i);
        }
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(k_hypot) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        ((double *)out->data)[i] = hypot(((const double *)args[0].data)[i], ((const double *)args[1].data)[i]);
    }
    return FZ_OK;
}

#define SHIFT(name, type, expression)                                                                                  \
    FZ_KERNEL_RUN(name) {                                                                                              \
        FZ_KERNEL_UNUSED;                                                                                              \
        EACH(i) {                                                                                                      \
            type v = ((const type *)args[0].data)[i];                                                                  \
            int n = ((const int32_t *)args[1].data)[i] & (sizeof(type) == 4 ? 31 : 63);                                \
            ((type *)out->data)[i] = (type)(expression);                                                               \
        }                                                                                                              \
        return FZ_OK;                                                                                                  \
    }
SHIFT(k_shl_int, int32_t, (uint32_t)v << n)
SHIFT(k_shl_long, int64_t, (uint64_t)v << n)
SHIFT(k_shr_int, int32_t, v >> n)
SHIFT(k_shr_long, int64_t, v >> n)
SHIFT(k_shru_int, int32_t, (uint32_t)v >> n)
SHIFT(k_shru_long, int64_t, (uint64_t)v >> n)

FZ_KERNEL_RUN(k_width_bucket) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        double v = ((const double *)args[0].data)[i], lo = ((const double *)args[1].data)[i],
               hi = ((const double *)args[2].data)[i];
        int64_t n = ((const int64_t *)args[3].data)[i], r;
        if (n <= 0 || n == INT64_MAX || isnan(v) || lo == hi || !isfinite(lo) || !isfinite(hi)) {
            fz_column_set_null(out, i);
            continue;
        }
        double lower = lo < hi ? lo : hi, upper = lo < hi ? hi : lo;
        if (lo < hi) {
            r = v < lower ? 0 : v >= upper ? n + 1 : (int64_t)((double)n * (v - lower) / (upper - lower)) + 1;
        } else {
            r = v > upper ? 0 : v <= lower ? n + 1 : (int64_t)((double)n * (upper - v) / (upper - lower)) + 1;
        }
        ((int64_t *)out->data)[i] = r;
    }
    return FZ_OK;
}

const struct fz_kernel_row fz_kernels_number[] = {
    {"fz_dec_add", "aai", "h", true, k_dec_add},
    {"fz_dec_sub", "aai", "h", true, k_dec_sub},
    {"fz_dec_mul", "aai", "h", true, k_dec_mul},
    {"fz_dec_div", "aai", "h", true, k_dec_div},
    {"fz_dec_avg", "aai", "h", true, k_dec_avg},
    {"fz_dec_rem", "aai", "h", true, k_dec_rem},
    {"fz_dec_pmod", "aai", "h", true, k_dec_pmod},
    {"fz_dec_div_int", "aa", "h", true, k_dec_div_int},
    {"fz_dec_round", "aiii", "h", true, k_dec_round},
    {"fz_round", "di", "d", true, k_round},
    {"fz_bround", "di", "d", true, k_bround},
    {"fz_round_int", "li", "l", true, k_round_int},
    {"fz_bround_int", "li", "l", true, k_bround_int},
    {"fz_log1p", "d", "d", true, k_log1p},
    {"fz_cbrt", "d", "d", true, k_cbrt},
    {"fz_expm1", "d", "d", true, k_expm1},
    {"fz_hypot", "dd", "d", true, k_hypot},
    {"fz_shl_int", "ii", "i", true, k_shl_int},
    {"fz_shl_long", "li", "l", true, k_shl_long},
    {"fz_shr_int", "ii", "i", true, k_shr_int},
    {"fz_shr_long", "li", "l", true, k_shr_long},
    {"fz_shru_int", "ii", "i", true, k_shru_int},
    {"fz_shru_long", "li", "l", true, k_shru_long},
    {"fz_width_bucket", "dddl", "l", true, k_width_bucket},
};
FZ_KERNELS(kernels_number);
