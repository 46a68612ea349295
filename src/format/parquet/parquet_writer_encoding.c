// How the values of pages without a dictionary lie: PLAIN, DELTA_BINARY_PACKED, DELTA_LENGTH_BYTE_ARRAY, DELTA_BYTE_ARRAY or
// BYTE_STREAM_SPLIT (Parquet "Encodings"). Chosen a column and row group by what the first values of its first page weigh in each
// form, compressed: a few thousand values say what the whole chunk needs, and bytes that need no compressor cost no time there.
#include "format/parquet/parquet_writer_priv.h"

enum {
    BLOCK = 128, // values of a DELTA_BINARY_PACKED block, in four miniblocks: what every writer uses
    MINIBLOCK = 32,
    SAMPLE = 4096, // values that choose the form
    SMALL_SAMPLE = 256, // of a short page, where more would cost as much as the page itself
    FEW = 64, // values of a page below which there is nothing to choose
    KEEP_GROUPS = 8, // row groups that keep the form
};

// ---- DELTA_BINARY_PACKED -------------------------------------------------------------------------------------------------

static char *put_varint(char *p, uint64_t v) {
    while (v >= 0x80) {
        *p++ = (char)(uint8_t)(v | 0x80);
        v >>= 7;
    }
    *p++ = (char)(uint8_t)v;
    return p;
}

static uint64_t zigzag(int64_t v) {
    return (uint64_t)v << 1 ^ (uint64_t)(v >> 63);
}

// 32 values of `width` bits, lowest bits first: 4 * width bytes.
static char *pack_miniblock(char *p, const uint64_t *values, int width) {
    if (width == 64) {
        memcpy(p, values, MINIBLOCK * sizeof *values);
        return p + MINIBLOCK * sizeof *values;
    }
    uint64_t acc = 0;
    int bits = 0;
    for (int i = 0; i < MINIBLOCK; i++) {
        acc |= values[i] << bits;
        bits += width;
        if (bits >= 64) {
            memcpy(p, &acc, 8);
            p += 8;
            bits -= 64;
            acc = bits > 0 ? values[i] >> (width - bits) : 0;
        }
    }
    memcpy(p, &acc, 4); // an odd width ends with half a word
    return p + bits / 8;
}

// One block: `deltas` has n of them (1 to 128), the room behind is scratch. `p` has room for 1100 bytes.
static char *put_block(char *p, uint64_t *deltas, size_t n, bool narrow) {
    int64_t least = narrow ? (int32_t)deltas[0] : (int64_t)deltas[0];
    for (size_t i = 1; i < n; i++) {
        int64_t d = narrow ? (int32_t)deltas[i] : (int64_t)deltas[i];
        least = d < least ? d : least;
    }
    p = put_varint(p, zigzag(least));
    uint8_t *widths = (uint8_t *)p;
    p += BLOCK / MINIBLOCK;
    uint64_t keep = narrow ? UINT32_MAX : UINT64_MAX;
    for (size_t i = 0; i < n; i++) {
        deltas[i] = (deltas[i] - (uint64_t)least) & keep;
    }
    memset(deltas + n, 0, (BLOCK - n) * sizeof *deltas);
    for (int m = 0; m < BLOCK / MINIBLOCK; m++) {
        const uint64_t *part = deltas + m * MINIBLOCK;
        uint64_t all = 0;
        for (int i = 0; i < MINIBLOCK; i++) {
            all |= part[i];
        }
        int width = all == 0 ? 0 : 64 - __builtin_clzll(all);
        widths[m] = (uint8_t)width;
        if (width > 0) {
            p = pack_miniblock(p, part, width);
        }
    }
    return p;
}

// Integers one after the other, `width` 4 or 8 bytes each. Differences wrap around, as the specification wants.
static void put_deltas(struct fz_buf *out, const char *values, size_t n, size_t width) {
    bool narrow = width == 4;
    uint64_t deltas[BLOCK];
    int64_t last = 0;
    if (!fz_buf_reserve(out, 64)) {
        return;
    }
    if (n > 0 && narrow) {
        int32_t first;
        memcpy(&first, values, 4);
        last = first;
    } else if (n > 0) {
        memcpy(&last, values, 8);
    }
    char *p = out->ptr + out->len;
    p = put_varint(p, BLOCK);
    p = put_varint(p, BLOCK / MINIBLOCK);
    p = put_varint(p, n);
    p = put_varint(p, zigzag(last));
    out->len = (size_t)(p - out->ptr);
    for (size_t at = 1; at < n; at += BLOCK) {
        size_t m = n - at < BLOCK ? n - at : BLOCK;
        if (narrow) {
            for (size_t i = 0; i < m; i++) {
                uint32_t a, b;
                memcpy(&a, values + (at + i - 1) * 4, 4);
                memcpy(&b, values + (at + i) * 4, 4);
                deltas[i] = b - a;
            }
        } else {
            for (size_t i = 0; i < m; i++) {
                uint64_t a, b;
                memcpy(&a, values + (at + i - 1) * 8, 8);
                memcpy(&b, values + (at + i) * 8, 8);
                deltas[i] = b - a;
            }
        }
        if (!fz_buf_reserve(out, 1100)) {
            return;
        }
        out->len = (size_t)(put_block(out->ptr + out->len, deltas, m, narrow) - out->ptr);
    }
}

// ---- byte arrays ---------------------------------------------------------------------------------------------------------

// Lengths into `numbers`, bytes without them into `bytes`.
static void split_lengths(const char *plain, size_t n, struct fz_buf *numbers, struct fz_buf *bytes) {
    for (size_t i = 0; i < n; i++) {
        uint32_t length;
        memcpy(&length, plain, 4);
        fz_buf_append(numbers, &length, 4);
        fz_buf_append(bytes, plain + 4, length);
        plain += 4 + (size_t)length;
    }
}

static size_t common_prefix(const char *a, size_t a_len, const char *b, size_t b_len) {
    size_t max = a_len < b_len ? a_len : b_len, i = 0;
    while (i + 8 <= max && memcmp(a + i, b + i, 8) == 0) {
        i += 8;
    }
    while (i < max && a[i] == b[i]) {
        i++;
    }
    return i;
}

// How much of each value the one before has already, as `numbers`; then what is left, as PLAIN bytes, into `bytes`.
static void split_prefixes(const char *plain, size_t n, struct fz_buf *numbers, struct fz_buf *bytes) {
    const char *before = NULL;
    uint32_t before_len = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t length;
        memcpy(&length, plain, 4);
        const char *value = plain + 4;
        uint32_t same = (uint32_t)common_prefix(before, before_len, value, length), rest = length - same;
        fz_buf_append(numbers, &same, 4);
        fz_buf_append(bytes, &rest, 4);
        fz_buf_append(bytes, value + same, rest);
        before = value;
        before_len = length;
        plain = value + length;
    }
}

static enum fz_code put_byte_arrays(struct fz_pw_scratch *s, bool prefixes, const char *plain, size_t n,
                                    struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    fz_buf_clear(&s->numbers);
    fz_buf_clear(&s->suffixes);
    if (prefixes) {
        split_prefixes(plain, n, &s->numbers, &s->suffixes);
        FZ_TRY(fz_buf_check(&s->numbers, err));
        FZ_TRY(fz_buf_check(&s->suffixes, err));
        put_deltas(out, s->numbers.ptr, n, 4);
        fz_buf_clear(&s->numbers);
        plain = s->suffixes.ptr;
    }
    fz_buf_clear(&s->bytes);
    split_lengths(plain, n, &s->numbers, &s->bytes);
    FZ_TRY(fz_buf_check(&s->numbers, err));
    FZ_TRY(fz_buf_check(&s->bytes, err));
    put_deltas(out, s->numbers.ptr, n, 4);
    fz_buf_append(out, s->bytes.ptr, s->bytes.len);
out:
    return rc;
}

// ---- BYTE_STREAM_SPLIT ---------------------------------------------------------------------------------------------------

static void put_streams(struct fz_buf *out, const char *values, size_t n, size_t width) {
    if (!fz_buf_reserve(out, n * width)) {
        return;
    }
    for (size_t b = 0; b < width; b++) {
        char *p = out->ptr + out->len + b * n;
        for (size_t i = 0; i < n; i++) {
            p[i] = values[i * width + b];
        }
    }
    out->len += n * width;
}

enum fz_code fz_pw_encode_values(struct fz_pw_scratch *scratch, int encoding, size_t width, const char *plain,
                                 size_t plain_len, size_t n, struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    switch (encoding) {
    case FZ_PQ_DELTA_BINARY_PACKED:
        put_deltas(out, plain, n, width);
        break;
    case FZ_PQ_DELTA_LENGTH_BYTE_ARRAY:
    case FZ_PQ_DELTA_BYTE_ARRAY:
        FZ_TRY(put_byte_arrays(scratch, encoding == FZ_PQ_DELTA_BYTE_ARRAY, plain, n, out, err));
        break;
    case FZ_PQ_BYTE_STREAM_SPLIT:
        put_streams(out, plain, n, width);
        break;
    default:
        fz_buf_append(out, plain, plain_len);
    }
    rc = fz_buf_check(out, err);
out:
    return rc;
}

// ---- choosing ------------------------------------------------------------------------------------------------------------

struct candidate {
    int encoding;
    double share;
};
// Forms that a kind of column may take besides PLAIN, each with the share of the best so far that it may weigh at most: reading
// DELTA_BYTE_ARRAY costs the most, so it must save the most.
static size_t candidates(const struct fz_parquet_encoder *w, const struct fz_pw_leaf *leaf, struct candidate *out) {
    size_t n = 0;
    if (w->encodings == FZ_ENCODINGS_PLAIN) {
        return 0;
    }
    switch (leaf->kind) {
    case FZ_PW_I16:
    case FZ_PW_I32:
    case FZ_PW_I64:
        out[n++] = (struct candidate){FZ_PQ_DELTA_BINARY_PACKED, 0.99};
        break;
    case FZ_PW_BYTES:
        out[n++] = (struct candidate){FZ_PQ_DELTA_LENGTH_BYTE_ARRAY, 0.97};
        out[n++] = (struct candidate){FZ_PQ_DELTA_BYTE_ARRAY, 0.85};
        break;
    case FZ_PW_F32:
    case FZ_PW_F64:
        if (w->encodings == FZ_ENCODINGS_ALL) {
            out[n++] = (struct candidate){FZ_PQ_BYTE_STREAM_SPLIT, 0.95};
        }
        break;
    case FZ_PW_BOOL:
    case FZ_PW_DECIMAL128:
    case FZ_PW_UUID:
    case FZ_PW_FIXED:
        break;
    }
    return n;
}

static size_t sample_of(const struct fz_pw_leaf *leaf) {
    size_t n = leaf->n_present / 8;
    n = n < SMALL_SAMPLE ? SMALL_SAMPLE : n > SAMPLE ? SAMPLE : n;
    return n < leaf->n_present ? n : leaf->n_present;
}

// What the sample weighs in one form: its compressed bytes, and a little for each byte the compressor is handed.
static enum fz_code weigh(struct fz_parquet_encoder *w, const struct fz_pw_leaf *leaf, int encoding, size_t n,
                          size_t plain_len, double *weight, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_scratch *s = &w->scratch;
    fz_buf_clear(&s->trial);
    FZ_TRY(fz_pw_encode_values(s, encoding, leaf->width, leaf->plain.ptr, plain_len, n, &s->trial, err));
    size_t compressed = s->trial.len;
    if (w->codec != FZ_PQ_UNCOMPRESSED) {
        fz_buf_clear(&s->compressed);
        FZ_TRY(fz_pw_compress(w, NULL, s->trial.ptr, s->trial.len, &s->compressed, err));
        compressed = s->compressed.len;
    }
    *weight = (double)compressed + (double)s->trial.len / 64;
out:
    return rc;
}

enum fz_code fz_pw_encoding_choose(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct candidate list[2];
    size_t n = sample_of(leaf);
    size_t n_list = candidates(w, leaf, list), len = n * leaf->width;
    if (n_list == 0 || leaf->n_present < FEW) {
        leaf->encoding = FZ_PQ_PLAIN;
        return FZ_OK;
    }
    for (size_t i = 0; leaf->width == 0 && i < n; i++) {
        uint32_t length;
        memcpy(&length, leaf->plain.ptr + len, 4);
        len += 4 + (size_t)length;
        if (len >= 1 << 18) { // long values: fewer of them say enough
            n = i + 1;
        }
    }
    double best;
    FZ_TRY(weigh(w, leaf, FZ_PQ_PLAIN, n, len, &best, err));
    leaf->encoding = FZ_PQ_PLAIN;
    for (size_t i = 0; i < n_list; i++) {
        double weight;
        FZ_TRY(weigh(w, leaf, list[i].encoding, n, len, &weight, err));
        if (weight < best * list[i].share) {
            best = weight;
            leaf->encoding = list[i].encoding;
        }
    }
    leaf->encoding_groups = leaf->n_present >= SAMPLE ? KEEP_GROUPS : 1;
out:
    return rc;
}

enum fz_code fz_pw_delta_beats(struct fz_parquet_encoder *w, const struct fz_pw_leaf *leaf, int width, bool *beats,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_scratch *s = &w->scratch;
    size_t n = sample_of(leaf), weights[2];
    *beats = false;
    if (leaf->kind != FZ_PW_I32 && leaf->kind != FZ_PW_I64 && leaf->kind != FZ_PW_I16) {
        return FZ_OK;
    }
    fz_buf_clear(&s->bytes);
    fz_pw_dict_expand(&leaf->dict, leaf->indexes, n, &s->bytes);
    FZ_TRY(fz_buf_check(&s->bytes, err));
    for (int deltas = 0; deltas < 2; deltas++) {
        fz_buf_clear(&s->trial);
        if (deltas) {
            put_deltas(&s->trial, s->bytes.ptr, n, leaf->width);
        } else {
            fz_pw_rle_append(&s->trial, leaf->indexes, n, width);
        }
        FZ_TRY(fz_buf_check(&s->trial, err));
        weights[deltas] = s->trial.len;
        if (w->codec != FZ_PQ_UNCOMPRESSED) {
            fz_buf_clear(&s->compressed);
            FZ_TRY(fz_pw_compress(w, NULL, s->trial.ptr, s->trial.len, &s->compressed, err));
            weights[deltas] = s->compressed.len;
        }
    }
    *beats = weights[1] < weights[0];
out:
    return rc;
}
