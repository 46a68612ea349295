// Inside of puffin/: the set of positions as a sorted map of 32-bit Roaring bitmaps, and its portable 64-bit form.
#ifndef FZ_FORMAT_PUFFIN_PUFFIN_PRIV_H
#define FZ_FORMAT_PUFFIN_PUFFIN_PRIV_H

#include <roaring/roaring.h>

#include "format/puffin/puffin.h"

struct fz_positions_part { // positions key * 2^32 ...
    uint32_t key;
    roaring_bitmap_t *bitmap;
};
struct fz_positions {
    struct fz_positions_part *parts; // ascending keys
    size_t n_parts, cap;
    size_t last; // part that was added to last; callers go upwards mostly
};

// Adds a bitmap, taken over, at the end; `key` is greater than all keys there are.
enum fz_code fz_positions_append_part(struct fz_positions *p, uint32_t key, roaring_bitmap_t *bitmap,
                                      struct fz_err *err);
// Bytes of one 32-bit bitmap in the portable form at `data`, fully checked; 0 when it is damaged (*why says how).
size_t fz_roaring_check(const uint8_t *data, size_t len, const char **why);
// The 64-bit portable form without length, magic and CRC. Must fill `len` exactly.
enum fz_code fz_positions_decode_vector(const void *data, size_t len, struct fz_positions **out, struct fz_err *err);
// An LZ4 frame, appended; must fill `len` exactly and make at most about max_bytes.
enum fz_code fz_puffin_lz4_inflate(const char *data, size_t len, size_t max_bytes, struct fz_buf *out,
                                   struct fz_err *err);

#endif
