// hash (murmur3, Spark's tail), xxhash64, sha2, crc32, base64, hex forms, character sets. Hash chains over its arguments; NULL leaves the seed.
#include "sql/kernels_priv.h"

#include <math.h>
#include <openssl/evp.h>
#include <stdio.h>

#include "base/hash.h"

#define EACH(row) for (size_t row = 0; row < n_rows; row++)

// ---- murmur3 ----
static uint32_t rotl32(uint32_t v, int n) {
    return v << n | v >> (32 - n);
}
static uint32_t mix_k1(uint32_t k) {
    return rotl32(k * 0xcc9e2d51u, 15) * 0x1b873593u;
}
static uint32_t mix_h1(uint32_t h, uint32_t k) {
    return rotl32(h ^ k, 13) * 5 + 0xe6546b64u;
}
static uint32_t finish(uint32_t h, uint32_t len) {
    h ^= len;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}
static uint32_t murmur_int(uint32_t v, uint32_t seed) {
    return finish(mix_h1(seed, mix_k1(v)), 4);
}
static uint32_t murmur_long(uint64_t v, uint32_t seed) {
    return finish(mix_h1(mix_h1(seed, mix_k1((uint32_t)v)), mix_k1((uint32_t)(v >> 32))), 8);
}
static uint32_t murmur_bytes(struct fz_str s, uint32_t seed) { // words, then each byte of the tail signed
    uint32_t h = seed;
    size_t i = 0;
    for (; i + 4 <= s.len; i += 4) {
        uint32_t w;
        memcpy(&w, s.ptr + i, 4);
        h = mix_h1(h, mix_k1(w));
    }
    for (; i < s.len; i++) {
        h = mix_h1(h, mix_k1((uint32_t)(int32_t)(signed char)s.ptr[i]));
    }
    return finish(h, (uint32_t)s.len);
}

// ---- xxhash64 of numbers; bytes by base/hash ----
static const uint64_t P1 = 0x9E3779B185EBCA87u, P2 = 0xC2B2AE3D27D4EB4Fu, P3 = 0x165667B19E3779F9u,
                      P4 = 0x85EBCA77C2B2AE63u, P5 = 0x27D4EB2F165667C5u;
static uint64_t rotl64(uint64_t v, int n) {
    return v << n | v >> (64 - n);
}
static uint64_t avalanche(uint64_t h) {
    h = (h ^ h >> 33) * P2;
    h = (h ^ h >> 29) * P3;
    return h ^ h >> 32;
}
static uint64_t xx_int(uint32_t v, uint64_t seed) {
    uint64_t h = seed + P5 + 4;
    h ^= (uint64_t)v * P1;
    return avalanche(rotl64(h, 23) * P2 + P3);
}
static uint64_t xx_long(uint64_t v, uint64_t seed) {
    uint64_t h = seed + P5 + 8;
    h ^= rotl64(v * P2, 31) * P1;
    return avalanche(rotl64(h, 27) * P1 + P4);
}

struct hasher {
    bool xx;
    uint64_t h;
};
static void hash_int(struct hasher *s, uint32_t v) {
    s->h = s->xx ? xx_int(v, s->h) : murmur_int(v, (uint32_t)s->h);
}
static void hash_long(struct hasher *s, uint64_t v) {
    s->h = s->xx ? xx_long(v, s->h) : murmur_long(v, (uint32_t)s->h);
}
static void hash_bytes(struct hasher *s, struct fz_str v) {
    s->h = s->xx ? fz_hash64(v.ptr, v.len, s->h) : murmur_bytes(v, (uint32_t)s->h);
}

static void hash_value(struct hasher *s, const struct fz_column *c, size_t row, int depth) {
    if (!fz_column_is_valid(c, row) || depth > 100) {
        return;
    }
    switch ((int)c->type->id) {
    case FZ_TYPE_BOOLEAN:
        hash_int(s, ((const uint8_t *)c->data)[row]);
        return;
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
    case FZ_TYPE_INTERVAL_YM:
        hash_int(s, (uint32_t)(int32_t)fz_col_i64(c, row));
        return;
    case FZ_TYPE_FLOAT: {
        float v = ((const float *)c->data)[row];
        uint32_t bits = 0x7fc00000u; // one NaN
        v = v == 0 ? 0.0f : v;
        if (!isnan(v)) {
            memcpy(&bits, &v, 4);
        }
        hash_int(s, bits);
        return;
    }
    case FZ_TYPE_DOUBLE: {
        double v = ((const double *)c->data)[row];
        uint64_t bits = 0x7ff8000000000000u;
        v = v == 0 ? 0.0 : v;
        if (!isnan(v)) {
            memcpy(&bits, &v, 8);
        }
        hash_long(s, bits);
        return;
    }
    case FZ_TYPE_DECIMAL: {
        __int128 v = fz_col_dec(c, row);
        if (c->type->precision <= 18) {
            hash_long(s, (uint64_t)(int64_t)v);
        } else {
            uint8_t bytes[16];
            hash_bytes(s, (struct fz_str){(const char *)bytes, fz_decimal_to_bytes(v, bytes)});
        }
        return;
    }
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
        hash_bytes(s, fz_col_str(c, row));
        return;
    case FZ_TYPE_LIST: {
        struct fz_list_span span = ((const struct fz_list_span *)c->data)[row];
        for (uint64_t k = 0; k < span.length; k++) {
            hash_value(s, &c->children[0], (size_t)(span.offset + k), depth + 1);
        }
        return;
    }
    case FZ_TYPE_STRUCT:
        for (size_t k = 0; k < c->n_children; k++) {
            hash_value(s, &c->children[k], row, depth + 1);
        }
        return;
    default:
        if (fz_type_width(c->type) == 8) {
            hash_long(s, (uint64_t)fz_col_i64(c, row));
        }
        return;
    }
}

FZ_KERNEL_RUN(k_hash) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        struct hasher s = {.h = 42};
        for (size_t a = 0; a < n_args; a++) {
            hash_value(&s, &args[a], i, 0);
        }
        ((int32_t *)out->data)[i] = (int32_t)(uint32_t)s.h;
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(k_xxhash64) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        struct hasher s = {.xx = true, .h = 42};
        for (size_t a = 0; a < n_args; a++) {
            hash_value(&s, &args[a], i, 0);
        }
        ((int64_t *)out->data)[i] = (int64_t)s.h;
    }
    return FZ_OK;
}

// ---- a binary key that sorts like Spark orders nested values: NULL before everything, elements in turn ----
static void key_u64(struct fz_buf *out, uint64_t v) {
    for (int i = 56; i >= 0; i -= 8) {
        fz_buf_putc(out, (char)(v >> i));
    }
}
static void sort_key(struct fz_buf *out, const struct fz_column *c, size_t row, int depth) {
    if (!fz_column_is_valid(c, row) || depth > 100) {
        fz_buf_putc(out, 1);
        return;
    }
    fz_buf_putc(out, 2);
    switch ((int)c->type->id) {
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE: {
        double v =
            c->type->id == FZ_TYPE_FLOAT ? (double)((const float *)c->data)[row] : ((const double *)c->data)[row];
        uint64_t bits = 0x7ff8000000000000u;
        v = v == 0 ? 0.0 : v;
        if (!isnan(v)) {
            memcpy(&bits, &v, 8);
        }
        key_u64(out, bits >> 63 ? ~bits : bits | (uint64_t)1 << 63);
        return;
    }
    case FZ_TYPE_DECIMAL: {
        __int128 v = fz_col_dec(c, row);
        key_u64(out, (uint64_t)(v >> 64) ^ (uint64_t)1 << 63);
        key_u64(out, (uint64_t)v);
        return;
    }
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED: { // 0 becomes 0 1, the end is 0 0
        struct fz_str s = fz_col_str(c, row);
        for (size_t i = 0; i < s.len; i++) {
            fz_buf_putc(out, s.ptr[i]);
            if (s.ptr[i] == 0) {
                fz_buf_putc(out, 1);
            }
        }
        fz_buf_append(out, "\0\0", 2);
        return;
    }
    case FZ_TYPE_LIST: {
        struct fz_list_span span = ((const struct fz_list_span *)c->data)[row];
        for (uint64_t k = 0; k < span.length; k++) {
            sort_key(out, &c->children[0], (size_t)(span.offset + k), depth + 1);
        }
        fz_buf_putc(out, 0);
        return;
    }
    case FZ_TYPE_STRUCT:
        for (size_t k = 0; k < c->n_children; k++) {
            sort_key(out, &c->children[k], row, depth + 1);
        }
        return;
    default:
        key_u64(out, (uint64_t)fz_col_i64(c, row) ^ (uint64_t)1 << 63);
        return;
    }
}

// ---- digests and encodings ----
static void put_hex(struct fz_buf *out, const unsigned char *p, size_t n) {
    fz_hex_encode(out, p, n);
}
static bool sha2(struct fz_buf *out, struct fz_str s, int64_t bits) {
    const EVP_MD *md = bits == 224                ? EVP_sha224()
                       : bits == 256 || bits == 0 ? EVP_sha256()
                       : bits == 384              ? EVP_sha384()
                       : bits == 512              ? EVP_sha512()
                                                  : NULL;
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned n = 0;
    if (md == NULL || EVP_Digest(s.ptr, s.len, digest, &n, md, NULL) != 1) {
        return false;
    }
    put_hex(out, digest, n);
    return true;
}
static bool base64(struct fz_buf *out, struct fz_str s) { // CR LF after every 76 characters
    struct fz_buf plain = {0};
    fz_base64_encode(&plain, s.ptr, s.len);
    for (size_t i = 0; i < plain.len; i += 76) {
        fz_buf_puts(out, i ? "\r\n" : "");
        fz_buf_append(out, plain.ptr + i, plain.len - i < 76 ? plain.len - i : 76);
    }
    fz_buf_dispose(&plain);
    return true;
}
static int base64_digit(char c) {
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+'             ? 62
           : c == '/'             ? 63
                                  : -1;
}
static bool unbase64(struct fz_buf *out, struct fz_str s) { // MIME: what is not in the alphabet is passed over
    uint32_t bits = 0;
    int n = 0;
    for (size_t i = 0; i < s.len && s.ptr[i] != '='; i++) {
        int d = base64_digit(s.ptr[i]);
        if (d < 0) {
            continue;
        }
        bits = bits << 6 | (uint32_t)d;
        n += 6;
        if (n >= 8) {
            n -= 8;
            fz_buf_putc(out, (char)(bits >> n));
        }
    }
    return true;
}
static bool to_binary(struct fz_buf *out, struct fz_str s, struct fz_str format) {
    if (fz_str_ieq(format, FZ_STR_LIT("utf-8")) || fz_str_ieq(format, FZ_STR_LIT("utf8"))) {
        fz_buf_append(out, s.ptr, s.len);
        return true;
    }
    if (fz_str_ieq(format, FZ_STR_LIT("base64"))) {
        return unbase64(out, s);
    }
    if (!fz_str_ieq(format, FZ_STR_LIT("hex"))) {
        return false;
    }
    struct fz_buf even = {0};
    fz_buf_puts(&even, s.len % 2 ? "0" : "");
    fz_buf_append(&even, s.ptr, s.len);
    bool ok = even.len == 0 || fz_hex_decode(out, (struct fz_str){even.ptr, even.len});
    fz_buf_dispose(&even);
    return ok;
}

static uint32_t next_code(struct fz_str s, size_t *i) { // valid UTF-8
    unsigned char c = (unsigned char)s.ptr[*i];
    int n = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
    uint32_t v = n == 1 ? c : c & (0xffu >> (n + 1));
    for (int k = 1; k < n && *i + (size_t)k < s.len; k++) {
        v = v << 6 | ((unsigned char)s.ptr[*i + (size_t)k] & 0x3fu);
    }
    *i += (size_t)n;
    return v;
}
enum charset { ASCII, LATIN1, UTF8, UTF16, UTF16BE, UTF16LE, UTF32, UNKNOWN };
static enum charset charset_of(struct fz_str name) {
    static const char *const names[] = {"US-ASCII", "ISO-8859-1", "UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE", "UTF-32"};
    for (int i = 0; i < UNKNOWN; i++) {
        if (fz_str_ieq(name, fz_str_of(names[i]))) {
            return (enum charset)i;
        }
    }
    return UNKNOWN;
}
static void put_unit(struct fz_buf *out, uint32_t u, bool little) {
    fz_buf_putc(out, (char)(little ? u : u >> 8));
    fz_buf_putc(out, (char)(little ? u >> 8 : u));
}
static bool encode(struct fz_buf *out, struct fz_str s, struct fz_str name) {
    enum charset set = charset_of(name);
    if (set == UTF8) {
        fz_buf_append(out, s.ptr, s.len);
        return true;
    }
    if (set == UTF16) {
        fz_buf_append(out, "\xfe\xff", 2);
    }
    for (size_t i = 0; i < s.len;) {
        uint32_t v = next_code(s, &i);
        if (set == ASCII || set == LATIN1) {
            if (v > (set == ASCII ? 0x7fu : 0xffu)) {
                return false;
            }
            fz_buf_putc(out, (char)v);
        } else if (set == UTF32) {
            put_unit(out, v >> 16, false);
            put_unit(out, v & 0xffff, false);
        } else if (v > 0xffff) {
            put_unit(out, 0xd800 + ((v - 0x10000) >> 10), set == UTF16LE);
            put_unit(out, 0xdc00 + ((v - 0x10000) & 0x3ff), set == UTF16LE);
        } else {
            put_unit(out, v, set == UTF16LE);
        }
    }
    return set != UNKNOWN;
}
static bool decode(struct fz_buf *out, struct fz_str s, struct fz_str name) {
    enum charset set = charset_of(name);
    const unsigned char *p = (const unsigned char *)s.ptr;
    if (set == UTF8) {
        fz_buf_append(out, s.ptr, s.len);
        return fz_utf8_valid(s.ptr, s.len);
    }
    if (set == ASCII || set == LATIN1) {
        for (size_t i = 0; i < s.len; i++) {
            if (set == ASCII && p[i] > 0x7f) {
                return false;
            }
            fz_kernel_put_code(out, (int32_t)p[i]);
        }
        return true;
    }
    bool little = set == UTF16LE;
    size_t i = 0;
    if (set == UTF16 && s.len >= 2 && ((p[0] == 0xff && p[1] == 0xfe) || (p[0] == 0xfe && p[1] == 0xff))) {
        little = p[0] == 0xff;
        i = 2;
    }
    for (; set != UTF32 && set != UNKNOWN && i + 1 < s.len; i += 2) {
        uint32_t u = little ? p[i] | (uint32_t)p[i + 1] << 8 : (uint32_t)p[i] << 8 | p[i + 1];
        if (u >= 0xd800 && u < 0xdc00 && i + 3 < s.len) {
            uint32_t l = little ? p[i + 2] | (uint32_t)p[i + 3] << 8 : (uint32_t)p[i + 2] << 8 | p[i + 3];
            if (l < 0xdc00 || l > 0xdfff) {
                return false;
            }
            u = 0x10000 + ((u - 0xd800) << 10) + (l - 0xdc00);
            i += 2;
        } else if (u >= 0xd800 && u <= 0xdfff) {
            return false;
        }
        fz_kernel_put_code(out, (int32_t)u);
    }
    return set != UTF32 && set != UNKNOWN && i == s.len;
}

FZ_KERNEL_TO_BYTES(k_sha2, sha2(&buf, fz_col_str(&args[0], i), fz_col_i64(&args[1], i)))
FZ_KERNEL_TO_BYTES(k_base64, base64(&buf, fz_col_str(&args[0], i)))
FZ_KERNEL_TO_BYTES(k_unbase64, unbase64(&buf, fz_col_str(&args[0], i)))
FZ_KERNEL_TO_BYTES(k_to_binary, to_binary(&buf, fz_col_str(&args[0], i), fz_col_str(&args[1], i)))
FZ_KERNEL_TO_BYTES(k_encode, encode(&buf, fz_col_str(&args[0], i), fz_col_str(&args[1], i)))
FZ_KERNEL_TO_BYTES(k_decode, decode(&buf, fz_col_str(&args[0], i), fz_col_str(&args[1], i)))
FZ_KERNEL_TO_BYTES(k_sort_key, (sort_key(&buf, &args[0], i, 0), fz_column_is_valid(&args[0], i)))

FZ_KERNEL_RUN(k_crc32) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        struct fz_str s = fz_col_str(&args[0], i);
        ((int64_t *)out->data)[i] = (int64_t)fz_crc32(0, s.ptr, s.len);
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(k_is_valid_utf8) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        struct fz_str s = fz_col_str(&args[0], i);
        ((uint8_t *)out->data)[i] = fz_utf8_valid(s.ptr, s.len);
    }
    return FZ_OK;
}

const struct fz_kernel_row fz_kernels_hash[] = {
    {"fz_hash", "a*", "i", false, k_hash},
    {"fz_xxhash64", "a*", "l", false, k_xxhash64},
    {"fz_sort_key", "a", "x", false, k_sort_key},
    {"fz_sha2", "xi", "s", true, k_sha2},
    {"fz_crc32", "x", "l", true, k_crc32},
    {"fz_base64", "x", "s", true, k_base64},
    {"fz_unbase64", "s", "x", true, k_unbase64},
    {"fz_to_binary", "ss", "x", true, k_to_binary},
    {"fz_encode", "ss", "x", true, k_encode},
    {"fz_decode", "xs", "s", true, k_decode},
    {"fz_is_valid_utf8", "x", "b", true, k_is_valid_utf8},
};
FZ_KERNELS(kernels_hash);
