// Inside of a key set (scan/scan_keys.h): scan_keys.c builds it, scan_keys_ask.c answers, scan_keys_value.c says what a value is as a key.
#ifndef FZ_SCAN_SCAN_KEYS_PRIV_H
#define FZ_SCAN_SCAN_KEYS_PRIV_H

#include "scan/scan_keys.h"

enum {
    FZ_KEY_CHUNK_SHIFT = 12,
    FZ_KEY_CHUNK_WORDS = (1 << FZ_KEY_CHUNK_SHIFT) / 64,
    FZ_KEY_BLOOM_WORDS = 8, // of 32 bits: one block
};

enum fz_scan_key_form { FORM_RANGE, FORM_BITMAP, FORM_TABLE, FORM_BLOOM };

struct fz_scan_key {
    struct fz_scan_key_column c;
    bool is_integer;
    enum fz_scan_key_form form;
    int64_t n_values, n_nulls;
    int64_t min, max; // integers
    struct fz_buf lo, hi; // text and binary
    int64_t *list; // integers or hashes; sorted and distinct once sealed (integers), as added (hashes)
    size_t n_list, cap_list;
    int64_t n_distinct;
    uint32_t *chunks; // FORM_BITMAP: which chunk of `bits` holds the bit of value - min; 0: no key there
    uint64_t *bits; // chunks of 4,096 bits; the first is empty
    uint64_t *slots; // FORM_TABLE: 0 empty; zero itself apart
    size_t slot_mask;
    bool has_zero;
    uint64_t *marks; // in front of the table: a bit for the hash of each key, few of them set; NULL: none
    unsigned mark_shift;
    uint32_t *bloom; // FORM_BLOOM
    size_t n_blocks;
};

struct fz_scan_keys {
    _Atomic int refs;
    pthread_mutex_t lock;
    struct fz_budget *budget;
    int64_t taken_bytes;
    int64_t n_rows;
    bool sealed;
    size_t n;
    struct fz_scan_key columns[FZ_SCAN_MAX_KEYS];
};

// ---- scan_keys_value.c: a value as 64 bits, itself or its hash
bool fz_scan_key_is_text(const struct fz_type *type);
// Rows [0, n) as numbers or hashes. What NULL rows get does not matter; their data are not followed.
void fz_scan_key_canonical(const struct fz_scan_key *key, const struct fz_column *column, size_t n, int64_t *out);
int64_t fz_scan_key_canonical_value(const struct fz_scan_key *key, const struct fz_value *value);
int fz_scan_key_compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len);

static inline uint64_t fz_scan_key_mix(uint64_t x) { // a permutation of 64 bits
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static inline uint64_t fz_scan_key_mark(const struct fz_scan_key *key, uint64_t v) {
    return v * 0x9E3779B97F4A7C15u >> key->mark_shift;
}

// ---- bloom filter for keys that do not fit the budget

static inline uint32_t *fz_scan_key_bloom_block(const struct fz_scan_key *key, uint64_t h) {
    return key->bloom + ((h >> 32) * key->n_blocks >> 32) * FZ_KEY_BLOOM_WORDS;
}

static const uint32_t FZ_KEY_SALT[FZ_KEY_BLOOM_WORDS] = {0x47b6137bu, 0x44974d91u, 0x8824ad5bu, 0xa2b7289du,
                                                         0x705495c7u, 0x2df1424bu, 0x9efc4947u, 0x5c6bfb31u};

static inline void fz_scan_key_bloom_add(struct fz_scan_key *key, int64_t value) {
    uint64_t h = fz_scan_key_mix((uint64_t)value);
    uint32_t *block = fz_scan_key_bloom_block(key, h);
    for (int i = 0; i < FZ_KEY_BLOOM_WORDS; i++) {
        block[i] |= (uint32_t)1 << ((uint32_t)h * FZ_KEY_SALT[i] >> 27);
    }
}

static inline bool fz_scan_key_bloom_has(const struct fz_scan_key *key, int64_t value) {
    uint64_t h = fz_scan_key_mix((uint64_t)value);
    const uint32_t *block = fz_scan_key_bloom_block(key, h);
    uint32_t missing = 0;
    for (int i = 0; i < FZ_KEY_BLOOM_WORDS; i++) {
        missing |= ~block[i] & (uint32_t)1 << ((uint32_t)h * FZ_KEY_SALT[i] >> 27);
    }
    return missing == 0;
}

#endif
