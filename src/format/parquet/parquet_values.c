// The values of a page, in each of Parquet's encodings, into the batch layout. Only values that are there are stored in a page, so
// all of this is dense; parquet_assemble.c spreads them over the rows.
#include "base/text.h"
#include "format/parquet/parquet_reader_priv.h"

static bool text_ok(const struct fz_pqr_leaf *leaf, const uint8_t *p, size_t len) {
    return leaf->ascii || fz_utf8_valid((const char *)p, len);
}

static enum fz_code bad_text(const struct fz_pqr_leaf *leaf, struct fz_err *err) {
    return fz_pqr_corrupt(leaf, err, "a text is not valid UTF-8");
}

static enum fz_code bad_value(const struct fz_pqr_leaf *leaf, struct fz_err *err) {
    return fz_pqr_corrupt(leaf, err, "a value does not fit the column's type");
}

static enum fz_code too_few(const struct fz_pqr_leaf *leaf, struct fz_err *err) {
    return fz_pqr_corrupt(leaf, err, "a page has fewer values than its header says");
}

static enum fz_code plain_booleans(struct fz_pqr_leaf *leaf, size_t n, uint8_t *dst, struct fz_err *err) {
    size_t avail = (size_t)(leaf->values_end - leaf->values) * 8 - leaf->bit;
    if (n > avail) {
        return too_few(leaf, err);
    }
    const uint8_t *bits = leaf->values;
    for (size_t i = 0, at = leaf->bit; i < n; i++, at++) {
        dst[i] = bits[at >> 3] >> (at & 7) & 1;
    }
    leaf->bit += n;
    return FZ_OK;
}

static enum fz_code plain_strings(struct fz_pqr_leaf *leaf, size_t n, struct fz_string *dst, struct fz_err *err) {
    const uint8_t *p = leaf->values, *end = leaf->values_end;
    const bool check = leaf->conv.utf8 && !leaf->ascii;
    for (size_t i = 0; i < n; i++) {
        if (end - p < 4) {
            return too_few(leaf, err);
        }
        uint32_t len = fz_pqr_load32(p);
        p += 4;
        if (len > (size_t)(end - p)) {
            return fz_pqr_corrupt(leaf, err, "a value is longer than its page");
        }
        if (check && !fz_utf8_valid((const char *)p, len)) {
            return bad_text(leaf, err);
        }
        fz_pqr_put_string(&dst[i], p, len);
        p += len;
    }
    leaf->values = p;
    return FZ_OK;
}

static enum fz_code plain_bytes(struct fz_pqr_leaf *leaf, size_t n, void *dst, struct fz_err *err) {
    for (size_t i = 0; i < n; i++) {
        size_t avail = (size_t)(leaf->values_end - leaf->values);
        if (avail < 4) {
            return too_few(leaf, err);
        }
        uint32_t len = fz_pqr_load32(leaf->values);
        if (len > avail - 4) {
            return fz_pqr_corrupt(leaf, err, "a value is longer than its page");
        }
        if (!fz_pqr_convert_bytes(&leaf->conv, leaf->values + 4, len, dst, i)) {
            return bad_value(leaf, err);
        }
        leaf->values += 4 + len;
    }
    return FZ_OK;
}

enum fz_code fz_pqr_values_plain(struct fz_pqr_leaf *leaf, size_t n, void *dst, struct fz_err *err) {
    int type = leaf->node->element->type;
    if (type == FZ_PQ_BOOLEAN) {
        return plain_booleans(leaf, n, dst, err);
    }
    if (type == FZ_PQ_BYTE_ARRAY) {
        return leaf->conv.op == FZ_PQR_OP_STRING ? plain_strings(leaf, n, dst, err) : plain_bytes(leaf, n, dst, err);
    }
    size_t width = leaf->conv.src_width;
    if (n > (size_t)(leaf->values_end - leaf->values) / width) {
        return too_few(leaf, err);
    }
    if (!fz_pqr_convert(&leaf->conv, leaf->values, n, dst)) {
        return bad_value(leaf, err);
    }
    leaf->values += n * width;
    return FZ_OK;
}

#define GATHER(TYPE)                                                                                                   \
    do {                                                                                                               \
        TYPE *to = dst;                                                                                                \
        const TYPE *from = dict;                                                                                       \
        for (size_t i = 0; i < n; i++) {                                                                               \
            to[i] = from[indexes[i]];                                                                                  \
        }                                                                                                              \
    } while (0)

static void gather(void *dst, const void *dict, size_t width, const uint32_t *indexes, size_t n) {
    switch (width) {
    case 1:
        GATHER(uint8_t);
        break;
    case 2:
        GATHER(uint16_t);
        break;
    case 4:
        GATHER(uint32_t);
        break;
    case 8:
        GATHER(uint64_t);
        break;
    default:
        GATHER(struct fz_i128);
        break;
    }
}

#define REPEAT(TYPE)                                                                                                   \
    do {                                                                                                               \
        TYPE *to = dst, v;                                                                                             \
        memcpy(&v, value, sizeof v);                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                                               \
            to[i] = v;                                                                                                 \
        }                                                                                                              \
    } while (0)

static void repeat(void *dst, const void *value, size_t width, size_t n) {
    switch (width) {
    case 1:
        REPEAT(uint8_t);
        break;
    case 2:
        REPEAT(uint16_t);
        break;
    case 4:
        REPEAT(uint32_t);
        break;
    case 8:
        REPEAT(uint64_t);
        break;
    default:
        REPEAT(struct fz_i128);
        break;
    }
}

static enum fz_code read_dict(struct fz_pqr_leaf *leaf, size_t n, uint8_t *dst, struct fz_err *err) {
    struct fz_pqr_rle *rle = &leaf->indexes;
    const size_t width = leaf->conv.dst_width;
    uint32_t indexes[FZ_PQR_BLOCK];
    while (n > 0) {
        if (!fz_pqr_rle_run(rle)) {
            return too_few(leaf, err);
        }
        size_t take = n < rle->left ? n : rle->left;
        if (rle->repeated) {
            if (rle->value >= leaf->n_dict) {
                return fz_pqr_corrupt(leaf, err, "an index points outside the dictionary");
            }
            repeat(dst, leaf->dict + rle->value * width, width, take);
            rle->left -= take;
        } else {
            take = take < FZ_PQR_BLOCK ? take : FZ_PQR_BLOCK;
            fz_pqr_rle_unpack(rle, take, indexes);
            uint32_t largest = 0;
            for (size_t i = 0; i < take; i++) {
                largest = indexes[i] > largest ? indexes[i] : largest;
            }
            if (largest >= leaf->n_dict) {
                return fz_pqr_corrupt(leaf, err, "an index points outside the dictionary");
            }
            gather(dst, leaf->dict, width, indexes, take);
        }
        dst += take * width;
        n -= take;
    }
    return FZ_OK;
}

static enum fz_code read_delta(struct fz_pqr_leaf *leaf, size_t n, uint8_t *dst, struct fz_err *err) {
    int64_t wide[FZ_PQR_BLOCK];
    int32_t narrow[FZ_PQR_BLOCK];
    const bool is_narrow = leaf->node->element->type == FZ_PQ_INT32;
    if (leaf->conv.op == FZ_PQR_OP_COPY8) {
        return fz_pqr_delta_read(&leaf->delta, n, (int64_t *)(void *)dst) ? FZ_OK : too_few(leaf, err);
    }
    while (n > 0) {
        size_t take = n < FZ_PQR_BLOCK ? n : FZ_PQR_BLOCK;
        if (!fz_pqr_delta_read(&leaf->delta, take, wide)) {
            return too_few(leaf, err);
        }
        if (is_narrow) { // 32-bit deltas wrap around
            for (size_t i = 0; i < take; i++) {
                narrow[i] = (int32_t)(uint32_t)wide[i];
            }
        }
        if (!fz_pqr_convert(&leaf->conv, is_narrow ? (const uint8_t *)narrow : (const uint8_t *)wide, take, dst)) {
            return bad_value(leaf, err);
        }
        dst += take * leaf->conv.dst_width;
        n -= take;
    }
    return FZ_OK;
}

static enum fz_code read_lengths(struct fz_pqr_leaf *leaf, size_t n, uint8_t *dst, struct fz_err *err) {
    int64_t lengths[FZ_PQR_BLOCK];
    while (n > 0) {
        size_t take = n < FZ_PQR_BLOCK ? n : FZ_PQR_BLOCK;
        if (!fz_pqr_delta_read(&leaf->delta, take, lengths)) {
            return too_few(leaf, err);
        }
        for (size_t i = 0; i < take; i++) {
            size_t len = (size_t)lengths[i];
            if (lengths[i] < 0 || len > (size_t)(leaf->values_end - leaf->values)) {
                return fz_pqr_corrupt(leaf, err, "a value is longer than its page");
            }
            if (leaf->conv.utf8 && !text_ok(leaf, leaf->values, len)) {
                return bad_text(leaf, err);
            }
            if (!fz_pqr_convert_bytes(&leaf->conv, leaf->values, len, dst, i)) {
                return bad_value(leaf, err);
            }
            leaf->values += len;
        }
        dst += take * leaf->conv.dst_width;
        n -= take;
    }
    return FZ_OK;
}

enum { MAX_PREFIXED_BYTES = 128 << 20 };

// Lengths of a block of front-coded values; *total is what they need. Every prefix must fit the value before.
static enum fz_code plan_prefixed(struct fz_pqr_leaf *leaf, size_t n, int64_t *prefixes, int64_t *suffixes,
                                  size_t *total, struct fz_err *err) {
    if (!fz_pqr_delta_read(&leaf->delta, n, prefixes) || !fz_pqr_delta_read(&leaf->suffixes, n, suffixes)) {
        return too_few(leaf, err);
    }
    size_t before = leaf->last.len, avail = (size_t)(leaf->values_end - leaf->values);
    *total = 0;
    for (size_t i = 0; i < n; i++) {
        if (prefixes[i] < 0 || suffixes[i] < 0 || (size_t)prefixes[i] > before || (size_t)suffixes[i] > avail) {
            return fz_pqr_corrupt(leaf, err, "a shared prefix or the rest of a value has an impossible length");
        }
        avail -= (size_t)suffixes[i];
        before = (size_t)prefixes[i] + (size_t)suffixes[i];
        *total += before;
        if (*total > MAX_PREFIXED_BYTES) {
            return fz_fail(err, FZ_LIMIT,
                           "%s: column %s: %zu values need more than %d MB; write the column without DELTA_BYTE_ARRAY",
                           leaf->file->location, leaf->node->name, n, MAX_PREFIXED_BYTES >> 20);
        }
    }
    return FZ_OK;
}

static enum fz_code read_prefixed_block(struct fz_pqr_leaf *leaf, size_t n, uint8_t *dst, struct fz_err *err) {
    int64_t prefixes[FZ_PQR_BLOCK], suffixes[FZ_PQR_BLOCK];
    const size_t fixed = leaf->conv.src_width;
    size_t total = 0;
    enum fz_code rc = FZ_OK;
    FZ_TRY(plan_prefixed(leaf, n, prefixes, suffixes, &total, err));
    struct fz_pqr_block *block = fz_pqr_block_take(leaf, total, err);
    if (block == NULL) {
        return FZ_NOMEM;
    }
    block->next = leaf->kept; // strings point into it until the next batch
    leaf->kept = block;
    uint8_t *at = block->bytes;
    const uint8_t *before = (const uint8_t *)leaf->last.ptr;
    size_t len = leaf->last.len;
    for (size_t i = 0; i < n; i++) {
        size_t prefix = (size_t)prefixes[i], suffix = (size_t)suffixes[i];
        if (prefix > 0) {
            memcpy(at, before, prefix);
        }
        memcpy(at + prefix, leaf->values, suffix);
        leaf->values += suffix;
        before = at;
        len = prefix + suffix;
        at += len;
        if (fixed > 0 && len != fixed) {
            return fz_pqr_corrupt(leaf, err, "a value of fixed length has another length");
        }
        if (fixed == 0 && leaf->conv.utf8 && !text_ok(leaf, before, len)) {
            return bad_text(leaf, err);
        }
        if (fixed == 0 && !fz_pqr_convert_bytes(&leaf->conv, before, len, dst, i)) {
            return bad_value(leaf, err);
        }
    }
    if (fixed > 0 && !fz_pqr_convert(&leaf->conv, block->bytes, n, dst)) {
        return bad_value(leaf, err);
    }
    struct fz_buf last = {0};
    fz_buf_append(&last, before, len);
    fz_buf_dispose(&leaf->last);
    leaf->last = last;
    rc = fz_buf_check(&last, err);
out:
    return rc;
}

static enum fz_code read_prefixed(struct fz_pqr_leaf *leaf, size_t n, uint8_t *dst, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    while (n > 0) {
        size_t take = n < FZ_PQR_BLOCK ? n : FZ_PQR_BLOCK;
        FZ_TRY(read_prefixed_block(leaf, take, dst, err));
        dst += take * leaf->conv.dst_width;
        n -= take;
    }
out:
    return rc;
}

enum fz_code fz_pqr_values_read(struct fz_pqr_leaf *leaf, size_t n, void *dst, struct fz_err *err) {
    if (n == 0) {
        return FZ_OK;
    }
    switch (leaf->encoding) {
    case FZ_PQR_VALUES_PLAIN:
        return fz_pqr_values_plain(leaf, n, dst, err);
    case FZ_PQR_VALUES_DICT:
        return read_dict(leaf, n, dst, err);
    case FZ_PQR_VALUES_RLE:
        return fz_pqr_rle_read_u8(&leaf->indexes, n, dst) ? FZ_OK : too_few(leaf, err);
    case FZ_PQR_VALUES_DELTA:
        return read_delta(leaf, n, dst, err);
    case FZ_PQR_VALUES_LENGTHS:
        return read_lengths(leaf, n, dst, err);
    case FZ_PQR_VALUES_PREFIXES:
        return read_prefixed(leaf, n, dst, err);
    case FZ_PQR_VALUES_NONE:
        break;
    }
    return too_few(leaf, err);
}

static enum fz_code skip_dict(struct fz_pqr_leaf *leaf, size_t n, struct fz_err *err) {
    while (n > 0) {
        if (!fz_pqr_rle_run(&leaf->indexes)) {
            return too_few(leaf, err);
        }
        size_t take = n < leaf->indexes.left ? n : leaf->indexes.left;
        leaf->indexes.left -= take;
        leaf->indexes.packed_at += take;
        n -= take;
    }
    return FZ_OK;
}

enum fz_code fz_pqr_values_skip(struct fz_pqr_leaf *leaf, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_i128 values[FZ_PQR_BLOCK];
    if (leaf->encoding == FZ_PQR_VALUES_DICT) {
        return skip_dict(leaf, n, err);
    }
    if (leaf->encoding == FZ_PQR_VALUES_PLAIN && leaf->conv.src_width > 0) {
        if (n > (size_t)(leaf->values_end - leaf->values) / leaf->conv.src_width) {
            return too_few(leaf, err);
        }
        leaf->values += n * leaf->conv.src_width;
        return FZ_OK;
    }
    while (n > 0) {
        size_t take = n < FZ_PQR_BLOCK ? n : FZ_PQR_BLOCK;
        FZ_TRY(fz_pqr_values_read(leaf, take, values, err));
        n -= take;
    }
out:
    return rc;
}
