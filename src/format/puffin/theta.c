// Theta sketches (see theta.h). Values become 63-bit hashes: MurmurHash3 x64 128 with DataSketches' seed 9001, first half, shifted right.
// The sketch holds the hashes below `theta`; when twice as many as wanted are there, theta becomes the hash behind the wanted ones.
#include "format/puffin/theta.h"

#include <stdlib.h>

enum {
    NOMINAL = 4096, // hashes that stay
    SLOTS = 4 * NOMINAL, // of the open-addressing table; 0 is an empty slot
    FAMILY_COMPACT = 3,
    VERSION = 3,
    FLAG_BIG_ENDIAN = 1,
    FLAG_READ_ONLY = 2,
    FLAG_EMPTY = 4,
    FLAG_COMPACT = 8,
    FLAG_ORDERED = 16,
    FLAG_SINGLE = 32,
};
static const uint64_t SEED = 9001, THETA_ONE = (uint64_t)1 << 63;

struct fz_theta {
    uint64_t theta; // hashes below it are kept; 2^63: all
    size_t n;
    uint64_t slots[SLOTS];
    uint64_t scratch[2 * NOMINAL + 1];
};

static inline uint64_t rotate(uint64_t v, int by) {
    return v << by | v >> (64 - by);
}

static inline uint64_t mix(uint64_t v) {
    v ^= v >> 33;
    v *= 0xff51afd7ed558ccdu;
    v ^= v >> 33;
    v *= 0xc4ceb9fe1a85ec53u;
    return v ^ v >> 33;
}

static const uint64_t C1 = 0x87c37b91114253d5u, C2 = 0x4cf5ad432745937fu;

// First 64 bits of MurmurHash3 x64 128.
static uint64_t murmur(const uint8_t *p, size_t len, uint64_t seed) {
    uint64_t h1 = seed, h2 = seed, k1, k2;
    size_t left = len;
    for (; left >= 16; left -= 16, p += 16) {
        memcpy(&k1, p, 8);
        memcpy(&k2, p + 8, 8);
        h1 ^= rotate(k1 * C1, 31) * C2;
        h1 = (rotate(h1, 27) + h2) * 5 + 0x52dce729;
        h2 ^= rotate(k2 * C2, 33) * C1;
        h2 = (rotate(h2, 31) + h1) * 5 + 0x38495ab5;
    }
    uint8_t tail[16] = {0};
    memcpy(tail, p, left);
    memcpy(&k1, tail, 8);
    memcpy(&k2, tail + 8, 8);
    if (left > 8) {
        h2 ^= rotate(k2 * C2, 33) * C1;
    }
    if (left > 0) {
        h1 ^= rotate(k1 * C1, 31) * C2;
    }
    h1 ^= len;
    h2 ^= len;
    h1 += h2;
    h2 += h1;
    return mix(h1) + mix(h2);
}

static uint16_t seed_hash(void) {
    uint8_t bytes[8];
    memcpy(bytes, &SEED, 8);
    return (uint16_t)(murmur(bytes, 8, 0) & 0xffff);
}

enum fz_code fz_theta_new(struct fz_theta **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_theta *theta = NULL;
    FZ_NEW(theta, err);
    theta->theta = THETA_ONE;
    *out = theta;
out:
    return rc;
}

void fz_theta_free(struct fz_theta *theta) {
    fz_free(theta);
}

static int by_value(const void *a, const void *b) {
    uint64_t x, y;
    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    return (x > y) - (x < y);
}

static size_t slot_of(const struct fz_theta *t, uint64_t hash) {
    size_t at = (size_t)(hash * 0x9E3779B97F4A7C15u >> 50) & (SLOTS - 1);
    while (t->slots[at] != 0 && t->slots[at] != hash) {
        at = (at + 1) & (SLOTS - 1);
    }
    return at;
}

// The hashes, ascending, into `out` (room for t->n).
static void sorted(const struct fz_theta *t, uint64_t *out) {
    size_t n = 0;
    for (size_t i = 0; i < SLOTS; i++) {
        if (t->slots[i] != 0) {
            out[n++] = t->slots[i];
        }
    }
    qsort(out, n, sizeof *out, by_value);
}

// Back to the wanted number of hashes.
static void shrink(struct fz_theta *t) {
    if (t->n <= NOMINAL) {
        return;
    }
    sorted(t, t->scratch);
    t->theta = t->scratch[NOMINAL];
    t->n = NOMINAL;
    memset(t->slots, 0, sizeof t->slots);
    for (size_t i = 0; i < NOMINAL; i++) {
        t->slots[slot_of(t, t->scratch[i])] = t->scratch[i];
    }
}

static inline void add_hash(struct fz_theta *t, uint64_t hash) {
    if (hash >= t->theta || hash == 0) {
        return;
    }
    size_t at = slot_of(t, hash);
    if (t->slots[at] == 0) {
        t->slots[at] = hash;
        if (++t->n == 2 * NOMINAL) {
            shrink(t);
        }
    }
}

void fz_theta_add(struct fz_theta *t, const void *bytes, size_t len) {
    if (len > 0) { // DataSketches passes over empty input
        add_hash(t, murmur(bytes, len, SEED) >> 1);
    }
}

void fz_theta_add_fixed(struct fz_theta *t, const void *values, size_t width, size_t n) {
    const uint8_t *p = values;
    for (size_t i = 0; i < n; i++, p += width) {
        fz_theta_add(t, p, width);
    }
}

enum fz_code fz_theta_union(struct fz_theta *into, const struct fz_theta *other, struct fz_err *err) {
    (void)err;
    if (other->theta < into->theta) { // hashes above it were not kept by the other: they say nothing of the whole
        into->theta = other->theta;
        sorted(into, into->scratch);
        memset(into->slots, 0, sizeof into->slots);
        size_t n = into->n;
        into->n = 0;
        for (size_t i = 0; i < n && into->scratch[i] < into->theta; i++) {
            into->slots[slot_of(into, into->scratch[i])] = into->scratch[i];
            into->n++;
        }
    }
    for (size_t i = 0; i < SLOTS; i++) {
        add_hash(into, other->slots[i]);
    }
    return FZ_OK;
}

static double estimate(uint64_t n, uint64_t theta) {
    return (double)n / ((double)theta / (double)THETA_ONE);
}

// What fz_theta_encode would write: at most NOMINAL hashes.
static void cut(const struct fz_theta *t, uint64_t *hashes, size_t *n, uint64_t *theta) {
    sorted(t, hashes);
    *n = t->n;
    *theta = t->theta;
    if (t->n > NOMINAL) {
        *n = NOMINAL;
        *theta = hashes[NOMINAL];
    }
}

double fz_theta_estimate(const struct fz_theta *t) {
    uint64_t hashes[2 * NOMINAL], theta;
    size_t n;
    cut(t, hashes, &n, &theta);
    return estimate(n, theta);
}

enum fz_code fz_theta_encode(const struct fz_theta *t, struct fz_buf *out, struct fz_err *err) {
    uint64_t hashes[2 * NOMINAL], theta;
    size_t n;
    cut(t, hashes, &n, &theta);
    bool empty = n == 0 && theta == THETA_ONE, single = n == 1 && theta == THETA_ONE;
    int longs = empty || single ? 1 : theta == THETA_ONE ? 2 : 3;
    int flags = FLAG_READ_ONLY | FLAG_COMPACT | FLAG_ORDERED | (empty ? FLAG_EMPTY : 0) | (single ? FLAG_SINGLE : 0);
    uint16_t seed = empty ? 0 : seed_hash();
    uint8_t head[24] = {(uint8_t)longs, VERSION, FAMILY_COMPACT, 0, 0, (uint8_t)flags};
    memcpy(head + 6, &seed, 2);
    uint32_t count = (uint32_t)n;
    float p = 1.0F;
    memcpy(head + 8, &count, 4);
    memcpy(head + 12, &p, 4);
    memcpy(head + 16, &theta, 8);
    fz_buf_append(out, head, (size_t)longs * 8);
    fz_buf_append(out, hashes, n * 8);
    return fz_buf_check(out, err);
}

enum fz_code fz_theta_describe(const void *data, size_t len, struct fz_theta_info *out, struct fz_err *err) {
    const uint8_t *p = data;
    *out = (struct fz_theta_info){.theta = 1};
    if (len < 8 || p[1] != VERSION || p[2] != FAMILY_COMPACT || (p[5] & FLAG_BIG_ENDIAN) != 0) {
        return fz_fail(err, FZ_CORRUPT, "it is no compact theta sketch of version 3");
    }
    size_t longs = p[0] & 0x3f, n = 0;
    uint64_t theta = THETA_ONE;
    if (longs < 1 || longs > 3 || longs * 8 > len) {
        return fz_fail(err, FZ_CORRUPT, "a theta sketch has a preamble of %zu words", longs);
    }
    memcpy(&out->seed_hash, p + 6, 2);
    out->empty = (p[5] & FLAG_EMPTY) != 0;
    out->ordered = (p[5] & FLAG_ORDERED) != 0;
    if (longs > 1) {
        uint32_t count;
        memcpy(&count, p + 8, 4);
        n = count;
    } else {
        n = out->empty ? 0 : (len - 8) / 8;
    }
    if (longs == 3) {
        memcpy(&theta, p + 16, 8);
    }
    if (theta == 0 || theta > THETA_ONE || n != (len - longs * 8) / 8 || (len - longs * 8) % 8 != 0 ||
        (longs == 1 && n > 1) || (out->empty && n > 0)) {
        return fz_fail(err, FZ_CORRUPT, "a theta sketch does not hold the %zu hashes that it announces", n);
    }
    out->retained = (uint32_t)n;
    out->theta = (double)theta / (double)THETA_ONE;
    out->estimate = estimate(n, theta);
    return FZ_OK;
}
