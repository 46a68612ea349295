// Implementation of base/hash.h over libdeflate and xxhash; murmur3 is written out from its published description.
#include "base/hash.h"

#include <libdeflate.h>
#include <string.h>
#include <xxhash.h>

static uint32_t rotl32(uint32_t x, int r) {
    return (x << r) | (x >> (32 - r));
}

uint32_t fz_murmur3_32(const void *data, size_t len, uint32_t seed) {
    const uint8_t *p = data;
    const uint32_t c1 = 0xcc9e2d51, c2 = 0x1b873593;
    uint32_t h = seed, k;
    size_t n = len / 4;
    for (size_t i = 0; i < n; i++) {
        memcpy(&k, p + i * 4, 4);
        h ^= rotl32(k * c1, 15) * c2;
        h = rotl32(h, 13) * 5 + 0xe6546b64;
    }
    k = 0;
    for (size_t i = len & 3; i > 0; i--) {
        k = (k << 8) | p[n * 4 + i - 1];
    }
    if (len & 3) {
        h ^= rotl32(k * c1, 15) * c2;
    }
    h ^= (uint32_t)len;
    h = (h ^ (h >> 16)) * 0x85ebca6b;
    h = (h ^ (h >> 13)) * 0xc2b2ae35;
    return h ^ (h >> 16);
}

uint64_t fz_hash64(const void *data, size_t len, uint64_t seed) {
    return XXH64(data, len, seed);
}

uint32_t fz_crc32(uint32_t crc, const void *data, size_t len) {
    return len == 0 ? crc : libdeflate_crc32(crc, data, len);
}
