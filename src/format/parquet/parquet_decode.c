// See parquet_decode.h. Written after the encodings document of the Parquet format.
#include "format/parquet/parquet_decode.h"

static bool read_varint(const uint8_t **pos, const uint8_t *end, uint64_t *out) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        if (*pos >= end) {
            return false;
        }
        uint8_t b = *(*pos)++;
        value |= (uint64_t)(b & 0x7f) << shift;
        if ((b & 0x80) == 0) {
            *out = value;
            return true;
        }
    }
    return false;
}

void fz_pqr_rle_init(struct fz_pqr_rle *rle, const uint8_t *data, size_t len, unsigned width) {
    *rle = (struct fz_pqr_rle){.pos = data, .end = data + len, .width = width};
}

void fz_pqr_rle_init_packed(struct fz_pqr_rle *rle, const uint8_t *data, size_t len, unsigned width, bool big_endian) {
    *rle = (struct fz_pqr_rle){
        .pos = data + len, .end = data + len, .width = width, .big_endian = big_endian, .packed = data};
    rle->left = width > 0 ? len * 8 / width : 0;
}

bool fz_pqr_rle_run(struct fz_pqr_rle *rle) {
    while (rle->left == 0) {
        uint64_t header;
        if (rle->pos == rle->end && rle->width == 0) { // nothing needs to be said about values without bits
            rle->repeated = true;
            rle->value = 0;
            rle->left = INT32_MAX;
            return true;
        }
        if (!read_varint(&rle->pos, rle->end, &header) || header >> 1 > INT32_MAX) {
            return false;
        }
        size_t avail = (size_t)(rle->end - rle->pos), count = (size_t)(header >> 1);
        if (count == 0) { // no writer makes a run of nothing
            return false;
        }
        if (header & 1) {
            size_t bytes = count * rle->width;
            rle->repeated = false;
            rle->packed = rle->pos;
            rle->packed_at = 0;
            rle->left = count * 8;
            if (bytes > avail) { // the last group may be cut short where nothing needs it
                bytes = avail;
                rle->left = avail * 8 / rle->width;
            }
            rle->pos += bytes;
        } else {
            size_t bytes = (rle->width + 7) / 8;
            if (bytes > avail) {
                return false;
            }
            uint32_t value = 0;
            memcpy(&value, rle->pos, bytes);
            rle->pos += bytes;
            if (rle->width < 32 && value >> rle->width != 0) {
                return false;
            }
            rle->repeated = true;
            rle->value = value;
            rle->left = count;
        }
    }
    return true;
}

static uint32_t unpack_big_endian(const struct fz_pqr_rle *rle, size_t index) {
    uint32_t value = 0;
    for (size_t bit = index * rle->width, end = bit + rle->width; bit < end; bit++) {
        value = value << 1 | (rle->packed[bit >> 3] >> (7 - (bit & 7)) & 1);
    }
    return value;
}

void fz_pqr_rle_unpack(struct fz_pqr_rle *rle, size_t n, uint32_t *out) {
    rle->left -= n;
    if (rle->repeated) {
        for (size_t i = 0; i < n; i++) {
            out[i] = rle->value;
        }
        return;
    }
    size_t at = rle->packed_at;
    rle->packed_at += n;
    if (rle->big_endian) {
        for (size_t i = 0; i < n; i++) {
            out[i] = unpack_big_endian(rle, at + i);
        }
        return;
    }
    const uint8_t *packed = rle->packed;
    const unsigned width = rle->width;
    if (width == 8) {
        for (size_t i = 0; i < n; i++) {
            out[i] = packed[at + i];
        }
        return;
    }
    const uint64_t mask = (UINT64_C(1) << width) - 1;
    size_t bit = at * width, i = 0;
    if (width <= 14) { // four values a load
        for (; i + 4 <= n; i += 4, bit += 4 * (size_t)width) {
            uint64_t v = fz_pqr_load64(packed + (bit >> 3)) >> (bit & 7);
            out[i] = (uint32_t)(v & mask);
            out[i + 1] = (uint32_t)(v >> width & mask);
            out[i + 2] = (uint32_t)(v >> 2 * width & mask);
            out[i + 3] = (uint32_t)(v >> 3 * width & mask);
        }
    }
    for (; i < n; i++, bit += width) {
        out[i] = (uint32_t)(fz_pqr_load64(packed + (bit >> 3)) >> (bit & 7) & mask);
    }
}

bool fz_pqr_rle_read_u8(struct fz_pqr_rle *rle, size_t n, uint8_t *out) {
    uint32_t values[128];
    while (n > 0) {
        if (!fz_pqr_rle_run(rle)) {
            return false;
        }
        size_t take = n < rle->left ? n : rle->left;
        if (rle->repeated) {
            memset(out, (int)rle->value, take);
            rle->left -= take;
        } else {
            take = take < 128 ? take : 128;
            fz_pqr_rle_unpack(rle, take, values);
            for (size_t i = 0; i < take; i++) {
                out[i] = (uint8_t)values[i];
            }
        }
        out += take;
        n -= take;
    }
    return true;
}

// ORs the low `n` bits of `v` (n <= 64, the rest zero) into `bits` at bit `at`.
static inline void put_bits(uint64_t *bits, size_t at, uint64_t v, size_t n) {
    bits[at >> 6] |= v << (at & 63);
    if ((at & 63) + n > 64) {
        bits[(at >> 6) + 1] |= v >> (64 - (at & 63));
    }
}

bool fz_pqr_rle_read_bits(struct fz_pqr_rle *rle, size_t n, uint64_t *bits, size_t at, size_t *ones) {
    while (n > 0) {
        if (!fz_pqr_rle_run(rle)) {
            return false;
        }
        size_t take = n < rle->left ? n : rle->left;
        if (rle->repeated) {
            if (rle->value != 0) {
                *ones += take;
                for (size_t done = 0; done < take;) {
                    size_t step = take - done < 64 ? take - done : 64;
                    put_bits(bits, at + done, step == 64 ? UINT64_MAX : (UINT64_C(1) << step) - 1, step);
                    done += step;
                }
            }
        } else {
            take = take < 56 ? take : 56;
            uint64_t v = 0;
            if (rle->big_endian) {
                for (size_t i = 0; i < take; i++) {
                    v |= (uint64_t)unpack_big_endian(rle, rle->packed_at + i) << i;
                }
            } else {
                v = fz_pqr_load64(rle->packed + (rle->packed_at >> 3)) >> (rle->packed_at & 7);
                v &= (UINT64_C(1) << take) - 1;
            }
            rle->packed_at += take;
            *ones += (size_t)__builtin_popcountll(v);
            put_bits(bits, at, v, take);
        }
        rle->left -= take;
        at += take;
        n -= take;
    }
    return true;
}

enum { MAX_BLOCK = 1 << 20, MAX_MINIS = 1 << 12 };

static bool read_zigzag(const uint8_t **pos, const uint8_t *end, int64_t *out) {
    uint64_t v;
    if (!read_varint(pos, end, &v)) {
        return false;
    }
    *out = (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
    return true;
}

bool fz_pqr_delta_init(struct fz_pqr_delta *delta, const uint8_t *data, size_t len) {
    *delta = (struct fz_pqr_delta){.pos = data, .end = data + len};
    if (len == 0) {
        return true;
    }
    uint64_t block, minis, count;
    if (!read_varint(&delta->pos, delta->end, &block) || !read_varint(&delta->pos, delta->end, &minis) ||
        !read_varint(&delta->pos, delta->end, &count) || !read_zigzag(&delta->pos, delta->end, &delta->last)) {
        return false;
    }
    if (block == 0 || block > MAX_BLOCK || block % 128 != 0 || minis == 0 || minis > MAX_MINIS || block % minis != 0 ||
        block / minis % 8 != 0 || count > INT32_MAX) {
        return false;
    }
    delta->per_mini = (size_t)(block / minis);
    delta->minis = (size_t)minis;
    delta->mini = delta->minis;
    delta->left = (size_t)count;
    delta->first = true;
    return true;
}

// Steps to the next miniblock.
static bool open_mini(struct fz_pqr_delta *d) {
    if (d->mini == d->minis) {
        if (!read_zigzag(&d->pos, d->end, &d->min_delta) || (size_t)(d->end - d->pos) < d->minis) {
            return false;
        }
        d->widths = d->pos;
        d->pos += d->minis;
        d->mini = 0;
    }
    d->width = d->widths[d->mini++];
    if (d->width > 64) {
        return false;
    }
    size_t bytes = d->per_mini / 8 * d->width, avail = (size_t)(d->end - d->pos);
    if (bytes > avail) { // the last miniblock may lack its padding
        size_t needed = d->left < d->per_mini ? d->left : d->per_mini;
        if ((needed * d->width + 7) / 8 > avail) {
            return false;
        }
        bytes = avail;
    }
    d->packed = d->pos;
    d->pos += bytes;
    d->bit = 0;
    d->mini_left = d->per_mini;
    return true;
}

// Adds up `groups` times eight differences of `width` bits, a constant where it is called: places and shifts are known then. Eight of
// them are `width` bytes. Returns the last sum.
static inline __attribute__((always_inline)) uint64_t sum_groups(const uint8_t *p, unsigned width, uint64_t min_delta,
                                                                 uint64_t last, size_t groups, int64_t *out) {
    const uint64_t mask = (UINT64_C(1) << width) - 1;
    for (; groups > 0; groups--, p += width, out += 8) {
#pragma GCC unroll 8
        for (unsigned k = 0; k < 8; k++) {
            last += min_delta + (fz_pqr_load64(p + (k * width >> 3)) >> (k * width & 7) & mask);
            out[k] = (int64_t)last;
        }
    }
    return last;
}

#define CASE(width)                                                                                                    \
    case width:                                                                                                        \
        return sum_groups(p, width, min_delta, last, groups, out)
#define FOUR_CASES(width)                                                                                              \
    CASE(width);                                                                                                       \
    CASE((width) + 1);                                                                                                 \
    CASE((width) + 2);                                                                                                 \
    CASE((width) + 3)

static uint64_t sum_unrolled(const uint8_t *p, unsigned width, uint64_t min_delta, uint64_t last, size_t groups,
                             int64_t *out) {
    switch (width) {
        FOUR_CASES(1);
        FOUR_CASES(5);
        FOUR_CASES(9);
        FOUR_CASES(13);
        FOUR_CASES(17);
        FOUR_CASES(21);
        FOUR_CASES(25);
        FOUR_CASES(29);
    default:
        return last;
    }
}

enum { MAX_UNROLLED = 32 };

// `n` values of the miniblock at hand, from its bit `bit` on; returns the last one.
static uint64_t sum_mini(const struct fz_pqr_delta *d, size_t bit, size_t n, int64_t *out) {
    const unsigned width = d->width;
    const uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
    const uint64_t min_delta = (uint64_t)d->min_delta;
    uint64_t last = (uint64_t)d->last;
    size_t k = 0;
    if (width == 0) {
        for (; k < n; k++) {
            last += min_delta;
            out[k] = (int64_t)last;
        }
    } else if (width <= MAX_UNROLLED && (bit & 7) == 0) {
        last = sum_unrolled(d->packed + (bit >> 3), width, min_delta, last, n / 8, out);
        k = n / 8 * 8;
        bit += k * width;
    }
    for (; k < n; k++, bit += width) {
        const uint8_t *p = d->packed + (bit >> 3);
        const unsigned shift = bit & 7;
        uint64_t v = fz_pqr_load64(p) >> shift;
        if (width > 57 && shift > 0) {
            v |= (uint64_t)p[8] << (64 - shift);
        }
        last += min_delta + (v & mask);
        out[k] = (int64_t)last;
    }
    return last;
}

bool fz_pqr_delta_read(struct fz_pqr_delta *d, size_t n, int64_t *out) {
    if (n > d->left) {
        return false;
    }
    size_t i = 0;
    if (d->first && n > 0) {
        d->first = false;
        d->left--;
        out[i++] = d->last;
    }
    while (i < n) {
        if (d->mini_left == 0 && !open_mini(d)) {
            return false;
        }
        size_t take = n - i < d->mini_left ? n - i : d->mini_left;
        d->last = (int64_t)sum_mini(d, d->bit, take, out + i);
        d->bit += take * d->width;
        d->mini_left -= take;
        d->left -= take;
        i += take;
    }
    return true;
}

const uint8_t *fz_pqr_delta_end(const struct fz_pqr_delta *delta) {
    struct fz_pqr_delta d = *delta;
    if (d.first && d.left > 0) {
        d.first = false;
        d.left--;
    }
    while (d.left > 0) {
        if (d.mini_left == 0 && !open_mini(&d)) {
            return NULL;
        }
        size_t take = d.left < d.mini_left ? d.left : d.mini_left;
        d.mini_left -= take;
        d.left -= take;
    }
    return d.pos;
}
