// Decimal arithmetic on unscaled 128-bit numbers (the decimal part of data/value.h).
#include "data/value.h"

static const uint64_t small_powers[20] = {
    1u,
    10u,
    100u,
    1000u,
    10000u,
    100000u,
    1000000u,
    10000000u,
    100000000u,
    1000000000u,
    10000000000u,
    100000000000u,
    1000000000000u,
    10000000000000u,
    100000000000000u,
    1000000000000000u,
    10000000000000000u,
    100000000000000000u,
    1000000000000000000u,
    10000000000000000000u,
};

enum { MAX_DIGITS = 38 };

__int128 fz_decimal_pow10(int n) {
    if (n < 0 || n > MAX_DIGITS) {
        return 0;
    }
    return n <= 19 ? (__int128)small_powers[n] : (__int128)small_powers[19] * (__int128)small_powers[n - 19];
}

static unsigned __int128 magnitude(__int128 v) {
    return v < 0 ? -(unsigned __int128)v : (unsigned __int128)v;
}

int fz_decimal_digits(__int128 value) {
    unsigned __int128 m = magnitude(value);
    int n = 1;
    while (n < MAX_DIGITS && m >= (unsigned __int128)fz_decimal_pow10(n)) {
        n++;
    }
    return n == MAX_DIGITS && m / 10 >= (unsigned __int128)fz_decimal_pow10(MAX_DIGITS - 1) ? n + 1 : n;
}

void fz_decimal_print(struct fz_buf *out, __int128 unscaled, int scale) {
    char digits[40];
    int n = 0;
    for (unsigned __int128 m = magnitude(unscaled); m != 0 || n == 0; m /= 10) {
        digits[n++] = (char)('0' + (int)(m % 10));
    }
    if (unscaled < 0) {
        fz_buf_putc(out, '-');
    }
    if (n <= scale) {
        fz_buf_puts(out, "0.");
        for (int i = scale; i > n; i--) {
            fz_buf_putc(out, '0');
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        fz_buf_putc(out, digits[i]);
        if (i == scale && i > 0) {
            fz_buf_putc(out, '.');
        }
    }
}

struct decimal_text {
    bool negative;
    const char *digits; // first significant digit; a '.' may stand between digits
    const char *end;
    int64_t n_digits; // significant digits, the point not counted
    int64_t exponent; // of the last digit
};

static bool scan_exponent(const char *p, const char *end, int64_t *out) {
    bool negative = p < end && *p == '-';
    p += p < end && (*p == '-' || *p == '+');
    if (p == end) {
        return false;
    }
    int64_t v = 0;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9') {
            return false;
        }
        v = v < 1000000000 ? v * 10 + (*p - '0') : v; // so large that only zero survives it
    }
    *out = negative ? -v : v;
    return true;
}

// Splits "[+-]digits[.digits][e[+-]digits]"; at least one digit.
static bool scan_decimal(struct fz_str text, struct decimal_text *out) {
    const char *p = text.ptr, *end = text.ptr + text.len;
    *out = (struct decimal_text){0};
    if (p < end && (*p == '-' || *p == '+')) {
        out->negative = *p == '-';
        p++;
    }
    int64_t n_all = 0, n_fraction = 0;
    bool point = false;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.' && !point) {
            point = true;
            continue;
        }
        if (*p < '0' || *p > '9') {
            return false;
        }
        n_all++;
        n_fraction += point;
        if (out->digits == NULL && *p != '0') {
            out->digits = p;
        }
        out->n_digits += out->digits != NULL;
    }
    out->end = p;
    int64_t exponent = 0;
    if (n_all == 0 || (p < end && !scan_exponent(p + 1, end, &exponent))) {
        return false;
    }
    out->exponent = exponent - n_fraction;
    return true;
}

bool fz_decimal_parse(struct fz_str text, int scale, __int128 *out, bool *exact) {
    struct decimal_text d;
    if (text.ptr == NULL || !scan_decimal(text, &d)) {
        return false;
    }
    int64_t shift = d.exponent + scale, keep = d.n_digits + shift; // digits of the result before rounding
    bool is_exact = true, round_up = false;
    __int128 v = 0;
    if (d.n_digits > 0) {
        if (keep > MAX_DIGITS) {
            return false;
        }
        int64_t i = 0;
        for (const char *p = d.digits; p < d.end; p++) {
            if (*p == '.') {
                continue;
            }
            if (i < keep) {
                v = v * 10 + (*p - '0');
            } else {
                round_up = i == keep ? *p >= '5' : round_up;
                is_exact = is_exact && *p == '0';
            }
            i++;
        }
        if (shift > 0) {
            v *= fz_decimal_pow10((int)shift);
        }
    }
    v += round_up;
    if (fz_decimal_digits(v) > MAX_DIGITS) {
        return false;
    }
    *out = d.negative ? -v : v;
    if (exact != NULL) {
        *exact = is_exact;
    }
    return true;
}

bool fz_decimal_rescale(__int128 value, int from_scale, int to_scale, __int128 *out) {
    unsigned __int128 m = magnitude(value);
    int by = to_scale - from_scale;
    if (by >= 0) {
        if (m != 0 && (by > MAX_DIGITS || m > (unsigned __int128)(fz_decimal_pow10(MAX_DIGITS) - 1) /
                                                  (unsigned __int128)fz_decimal_pow10(by))) {
            return false;
        }
        m = m == 0 ? 0 : m * (unsigned __int128)fz_decimal_pow10(by);
    } else if (-by > MAX_DIGITS) {
        m = 0;
    } else {
        unsigned __int128 power = (unsigned __int128)fz_decimal_pow10(-by), rest = m % power;
        m = m / power + (rest >= power / 2 + power % 2);
    }
    if (m > (unsigned __int128)(fz_decimal_pow10(MAX_DIGITS) - 1)) {
        return false;
    }
    *out = value < 0 ? -(__int128)m : (__int128)m;
    return true;
}

size_t fz_decimal_to_bytes(__int128 value, uint8_t out[16]) {
    size_t n = 1;
    while (n < 16 && (value >> (n * 8 - 1)) != 0 && (value >> (n * 8 - 1)) != -1) {
        n++;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = (uint8_t)(value >> ((n - 1 - i) * 8));
    }
    return n;
}

bool fz_decimal_from_bytes(const uint8_t *bytes, size_t len, __int128 *out) {
    if (len == 0) {
        return false;
    }
    uint8_t sign = (bytes[0] & 0x80) != 0 ? 0xff : 0;
    while (len > 16) { // more than 16 bytes only when they repeat the sign
        if (bytes[0] != sign || ((bytes[1] & 0x80) != 0) != (sign != 0)) {
            return false;
        }
        bytes++;
        len--;
    }
    unsigned __int128 v = sign != 0 ? ~(unsigned __int128)0 : 0;
    for (size_t i = 0; i < len; i++) {
        v = v << 8 | bytes[i];
    }
    *out = (__int128)v;
    return true;
}
