// Exact decimals: see decode_number.h.
#include "cdc/decode/decode_number.h"

#include "base/text.h"

static const __int128 LIMIT38 = ((__int128)5421010862427522170 << 64 | (__int128)687399551400673280u); // 10^38

enum fz_exact fz_exact_rescale(__int128 value, int from_scale, int to_scale, __int128 *out) {
    for (; from_scale < to_scale && value != 0; from_scale++) {
        if (__builtin_mul_overflow(value, (__int128)10, &value) || value >= LIMIT38 || value <= -LIMIT38) {
            return FZ_EXACT_TOO_LARGE;
        }
    }
    for (; from_scale > to_scale && value != 0; from_scale--) {
        if (value % 10 != 0) {
            return FZ_EXACT_INEXACT;
        }
        value /= 10;
    }
    *out = value;
    return FZ_EXACT_OK;
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

enum fz_exact fz_exact_from_text(struct fz_str text, int scale, __int128 *out) {
    const char *p = text.ptr, *end = text.ptr + text.len;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) {
        p++;
    }
    __int128 v = 0;
    int64_t own_scale = 0, exponent = 0, zeros = 0; // zeros: seen but not yet multiplied in
    bool any = false, point = false;
    for (; p < end && (is_digit(*p) || (*p == '.' && !point)); p++) {
        if (*p == '.') {
            point = true;
            continue;
        }
        any = true;
        own_scale += point;
        if (*p == '0') {
            zeros++;
            continue;
        }
        for (; v != 0 && zeros >= 0; zeros--) { // the held-back zeros and the place of this digit
            if (__builtin_mul_overflow(v, (__int128)10, &v) || v >= LIMIT38) {
                return FZ_EXACT_TOO_LARGE;
            }
        }
        v += *p - '0';
        zeros = 0;
        if (v >= LIMIT38) {
            return FZ_EXACT_TOO_LARGE;
        }
    }
    if (!any) {
        return FZ_EXACT_NO_NUMBER;
    }
    if (p < end && (*p == 'e' || *p == 'E')) {
        p++;
        if (!fz_parse_i64((struct fz_str){p, (size_t)(end - p)}, &exponent) || exponent > 1000000 ||
            exponent < -1000000) {
            return FZ_EXACT_NO_NUMBER;
        }
        p = end;
    }
    if (p != end || text.len > 1000000) {
        return FZ_EXACT_NO_NUMBER;
    }
    int64_t from = own_scale - zeros - exponent;
    if (v == 0) {
        *out = 0;
        return FZ_EXACT_OK;
    }
    if (from - scale > 40) {
        return FZ_EXACT_INEXACT;
    }
    if (scale - from > 40) {
        return FZ_EXACT_TOO_LARGE;
    }
    return fz_exact_rescale(negative ? -v : v, (int)from, scale, out);
}

bool fz_exact_print_bytes(struct fz_buf *out, const uint8_t *bytes, size_t len, int scale) {
    enum { MAX = 4096 };
    if (len > MAX || len == 0) {
        return false;
    }
    uint32_t limbs[MAX / 4 + 1]; // big end first
    size_t n = (len + 3) / 4;
    bool negative = (bytes[0] & 0x80) != 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t v = 0;
        for (size_t k = 0; k < 4; k++) {
            size_t at = i * 4 + k + len; // bytes are aligned to the right end of n * 4
            v = v << 8 | (at < n * 4 ? (negative ? 0xffu : 0u) : bytes[at - n * 4]);
        }
        limbs[i] = negative ? ~v : v;
    }
    for (size_t i = n; negative && i-- > 0;) { // two's complement: invert and add one
        if (++limbs[i] != 0) {
            break;
        }
    }
    struct fz_buf digits = {0}; // least significant first
    size_t first = 0;
    while (first < n) {
        uint64_t rest = 0;
        for (size_t i = first; i < n; i++) {
            rest = rest << 32 | limbs[i];
            limbs[i] = (uint32_t)(rest / 1000000000);
            rest %= 1000000000;
        }
        for (int d = 0; d < 9; d++) {
            fz_buf_putc(&digits, (char)('0' + rest % 10));
            rest /= 10;
        }
        while (first < n && limbs[first] == 0) {
            first++;
        }
    }
    size_t count = digits.len;
    while (count > 1 && digits.ptr != NULL && digits.ptr[count - 1] == '0') {
        count--;
    }
    bool ok = !digits.failed;
    if (ok) {
        size_t fraction = scale > 0 ? (size_t)scale : 0;
        if (negative) {
            fz_buf_putc(out, '-');
        }
        for (size_t i = count > fraction ? count : fraction + 1; i-- > 0;) {
            fz_buf_putc(out, i < count ? digits.ptr[i] : '0');
            if (i == fraction && i > 0) {
                fz_buf_putc(out, '.');
            }
        }
        for (int i = scale; i < 0; i++) {
            fz_buf_putc(out, '0');
        }
    }
    fz_buf_dispose(&digits);
    return ok && !out->failed;
}
