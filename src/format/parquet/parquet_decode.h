// Bit-level decoders of Parquet's encodings: the RLE / bit-packed hybrid (levels, dictionary indexes, booleans) and
// DELTA_BINARY_PACKED. They read from memory that has FZ_PQR_SLACK readable bytes behind its end, so that a wide load may run
// over; what lies there never reaches a result. Private to the Parquet reader.
#ifndef FZ_FORMAT_PARQUET_PARQUET_DECODE_H
#define FZ_FORMAT_PARQUET_PARQUET_DECODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FZ_PQR_SLACK = 32 };

static inline uint64_t fz_pqr_load64(const uint8_t *p) {
    uint64_t v;
    memcpy(&v, p, 8);
    return v;
}
static inline uint32_t fz_pqr_load32(const uint8_t *p) {
    uint32_t v;
    memcpy(&v, p, 4);
    return v;
}

struct fz_pqr_rle {
    const uint8_t *pos, *end;
    unsigned width; // bits of a value, 0..32
    size_t left; // values left in the run at hand
    bool repeated; // the run is one value again and again, else literal
    bool big_endian; // literal runs have the most significant bit first
    uint32_t value; // of a repeated run
    const uint8_t *packed; // of a literal run
    size_t packed_at; // index of its next value
};
void fz_pqr_rle_init(struct fz_pqr_rle *rle, const uint8_t *data, size_t len, unsigned width);
// BIT_PACKED: one literal run.
void fz_pqr_rle_init_packed(struct fz_pqr_rle *rle, const uint8_t *data, size_t len, unsigned width, bool big_endian);
// Makes sure a run is at hand; false when the bytes are used up or damaged.
bool fz_pqr_rle_run(struct fz_pqr_rle *rle);
// Next `n` values of the run at hand (n <= left).
void fz_pqr_rle_unpack(struct fz_pqr_rle *rle, size_t n, uint32_t *out);
// Next `n` values across runs; false when there are not that many. Widths above 8 do not fit.
bool fz_pqr_rle_read_u8(struct fz_pqr_rle *rle, size_t n, uint8_t *out);
// Next `n` values of width 1 as bits from bit `at` of `bits`, which are zero before. Adds the ones to *ones.
bool fz_pqr_rle_read_bits(struct fz_pqr_rle *rle, size_t n, uint64_t *bits, size_t at, size_t *ones);

struct fz_pqr_delta {
    const uint8_t *pos, *end;
    size_t left; // values not yet read
    size_t per_mini, minis;
    bool first; // the next value is `last` itself
    int64_t last, min_delta;
    const uint8_t *widths;
    size_t mini; // index of the miniblock at hand, == minis: a block header comes next
    size_t mini_left; // values left in it
    unsigned width;
    size_t bit; // position in it
    const uint8_t *packed;
};
// An empty range is a sequence without values. False: damaged.
bool fz_pqr_delta_init(struct fz_pqr_delta *delta, const uint8_t *data, size_t len);
bool fz_pqr_delta_read(struct fz_pqr_delta *delta, size_t n, int64_t *out);
// Where the sequence ends, without decoding it; NULL when damaged.
const uint8_t *fz_pqr_delta_end(const struct fz_pqr_delta *delta);

#endif
