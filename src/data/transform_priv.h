// The arithmetic of the transforms, shared by transform.c (single values) and transform_column.c (whole columns).
#ifndef FZ_DATA_TRANSFORM_PRIV_H
#define FZ_DATA_TRANSFORM_PRIV_H

#include "data/transform.h"

static inline int64_t fz_floor_div(int64_t a, int64_t b) { // b > 0
    int64_t q = a / b;
    return q - (a % b < 0);
}

static inline int32_t fz_bucket_of_hash(uint32_t hash, int32_t n) {
    return (int32_t)(hash & 0x7fffffffu) % n;
}

// Murmur3 x86 32-bit of the 8 little-endian bytes of `v`, seed 0: the form of ints, longs, dates, times and timestamps.
static inline uint32_t fz_murmur3_long(int64_t v) {
    uint32_t parts[2] = {(uint32_t)(uint64_t)v, (uint32_t)((uint64_t)v >> 32)}, h = 0;
    for (int i = 0; i < 2; i++) {
        uint32_t k = parts[i] * 0xcc9e2d51u;
        k = (k << 15 | k >> 17) * 0x1b873593u;
        h ^= k;
        h = (h << 13 | h >> 19) * 5 + 0xe6546b64u;
    }
    h ^= 8;
    h = (h ^ h >> 16) * 0x85ebca6bu;
    h = (h ^ h >> 13) * 0xc2b2ae35u;
    return h ^ h >> 16;
}

static inline int32_t fz_bucket_of_long(int64_t v, int32_t n) {
    return fz_bucket_of_hash(fz_murmur3_long(v), n);
}

static inline int64_t fz_truncate_i64(int64_t v, int32_t width) { // wraps like 64-bit arithmetic does
    return (int64_t)((uint64_t)v - (uint64_t)(((v % width) + width) % width));
}

static inline __int128 fz_truncate_i128(__int128 v, int32_t width) {
    return v - (((v % width) + width) % width);
}

int32_t fz_bucket_of_decimal(__int128 unscaled, int32_t n);
int32_t fz_bucket_of_uuid(struct fz_i128 v, int32_t n); // the plain big-endian number
int32_t fz_year_of_days(int64_t days);
int32_t fz_month_of_days(int64_t days);
int64_t fz_units_per_day(const struct fz_type *type); // of a timestamp's unit; 1 for the rest

#endif
