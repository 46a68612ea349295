// Bloom filters of column chunks (split blocks, XXH64 of the PLAIN bytes). Hashes are kept until the row group is complete, so that a
// filter is as large as its distinct values need, unless the table says how many to expect. Values of a dictionary are hashed
// once each.
#include "base/hash.h"
#include "format/parquet/parquet_prune.h"
#include "format/parquet/parquet_writer_priv.h"

#include <math.h>

enum { MAX_HASHES = 4 << 20 };

static enum fz_code fill_largest(struct fz_pw_bloom *bloom, struct fz_err *err);

static enum fz_code room_for(struct fz_pw_bloom *bloom, size_t n, struct fz_err *err) {
    if (bloom->words == NULL && bloom->n + n > MAX_HASHES) {
        return fill_largest(bloom, err); // so many values need the largest filter anyway
    }
    return bloom->words != NULL
               ? FZ_OK
               : fz_grow((void **)&bloom->hashes, &bloom->cap, bloom->n + n, sizeof *bloom->hashes, err);
}

static inline void put(struct fz_pw_bloom *bloom, uint64_t hash) {
    if (bloom->words != NULL) {
        fz_parquet_bloom_add(bloom->words, bloom->n_bytes / 32, hash);
    } else {
        bloom->hashes[bloom->n++] = hash;
    }
}

static enum fz_code make_words(struct fz_pw_bloom *bloom, size_t n_bytes, struct fz_err *err) {
    bloom->words = fz_calloc(n_bytes, 1);
    if (bloom->words == NULL) {
        return fz_fail_nomem(err, n_bytes);
    }
    bloom->n_bytes = n_bytes;
    for (size_t i = 0; i < bloom->n; i++) {
        fz_parquet_bloom_add(bloom->words, n_bytes / 32, bloom->hashes[i]);
    }
    bloom->n = 0;
    return FZ_OK;
}

static enum fz_code fill_largest(struct fz_pw_bloom *bloom, struct fz_err *err) {
    return make_words(bloom, fz_parquet_bloom_bytes(SIZE_MAX, bloom->options.fpp, bloom->options.max_bytes), err);
}

enum fz_code fz_pw_bloom_add(struct fz_pw_bloom *bloom, size_t width, const void *values, size_t n,
                             struct fz_err *err) {
    enum fz_code rc = room_for(bloom, n, err);
    if (rc != FZ_OK) {
        return rc;
    }
    if (width == 0) {
        const struct fz_string *s = values;
        for (size_t i = 0; i < n; i++) {
            put(bloom, fz_hash64(fz_string_ptr(&s[i]), s[i].length, 0));
        }
    } else {
        const char *p = values;
        for (size_t i = 0; i < n; i++, p += width) {
            put(bloom, fz_hash64(p, width, 0));
        }
    }
    return FZ_OK;
}

enum fz_code fz_pw_bloom_add_dict(struct fz_pw_bloom *bloom, const struct fz_pw_dict *dict, struct fz_err *err) {
    if (dict->width > 0) {
        return dict->n > 0 ? fz_pw_bloom_add(bloom, dict->width, dict->values.ptr, dict->n, err) : FZ_OK;
    }
    enum fz_code rc = room_for(bloom, dict->n, err);
    for (uint32_t i = 0; i < dict->n && rc == FZ_OK; i++) {
        put(bloom, fz_hash64(dict->values.ptr + dict->spans[i].offset, dict->spans[i].length, 0));
    }
    return rc;
}

// How many different hashes there are, within about one percent: bits of a map that stay empty (linear counting).
static enum fz_code count_distinct(const struct fz_pw_bloom *bloom, size_t *out, struct fz_err *err) {
    size_t bits = 1024, zeros = 0;
    while (bits < bloom->n * 2) {
        bits *= 2;
    }
    uint64_t *map = fz_calloc(bits / 64, sizeof *map);
    if (map == NULL) {
        return fz_fail_nomem(err, bits / 8);
    }
    for (size_t i = 0; i < bloom->n; i++) {
        size_t at = bloom->hashes[i] & (bits - 1);
        map[at / 64] |= (uint64_t)1 << at % 64;
    }
    for (size_t i = 0; i < bits / 64; i++) {
        zeros += 64 - (size_t)__builtin_popcountll(map[i]);
    }
    fz_free(map);
    *out = (size_t)(-(double)bits * log((double)zeros / (double)bits)) + 1;
    return FZ_OK;
}

enum fz_code fz_pw_bloom_finish(struct fz_pw_bloom *bloom, struct fz_arena *arena, struct fz_str *out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf buf = {0};
    size_t n = 1;
    if (bloom->words == NULL && bloom->options.ndv > 0 && !bloom->options.adaptive) {
        n = (size_t)bloom->options.ndv;
    } else if (bloom->words == NULL && bloom->n > 0) {
        FZ_TRY(count_distinct(bloom, &n, err));
    }
    if (bloom->words == NULL) {
        FZ_TRY(make_words(bloom, fz_parquet_bloom_bytes(n, bloom->options.fpp, bloom->options.max_bytes), err));
    }
    fz_parquet_bloom_header_encode(&buf, bloom->n_bytes);
    fz_buf_append(&buf, bloom->words, bloom->n_bytes);
    FZ_TRY(fz_buf_check(&buf, err));
    *out = (struct fz_str){fz_arena_memdup(arena, buf.ptr, buf.len), buf.len};
    rc = out->ptr == NULL ? fz_fail_nomem(err, buf.len) : FZ_OK;
out:
    fz_buf_dispose(&buf);
    fz_free(bloom->words);
    bloom->words = NULL;
    bloom->n_bytes = bloom->n = 0;
    return rc;
}

void fz_pw_bloom_dispose(struct fz_pw_bloom *bloom) {
    fz_free(bloom->hashes);
    fz_free(bloom->words);
    *bloom = (struct fz_pw_bloom){0};
}
