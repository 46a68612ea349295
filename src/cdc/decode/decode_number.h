// Exact decimals from text and from big-endian bytes of any length.
#ifndef FZ_CDC_DECODE_NUMBER_H
#define FZ_CDC_DECODE_NUMBER_H

#include "base/mem.h"

enum fz_exact {
    FZ_EXACT_OK,
    FZ_EXACT_INEXACT /* more fraction digits than the scale */,
    FZ_EXACT_TOO_LARGE,
    FZ_EXACT_NO_NUMBER
};
// "-12.30", "1.5E+3" as an unscaled number of `scale`.
enum fz_exact fz_exact_from_text(struct fz_str text, int scale, __int128 *out);
enum fz_exact fz_exact_rescale(__int128 value, int from_scale, int to_scale, __int128 *out);
// Big-endian two's complement with a scale, written out in full ("-0.050"). At most 4,096 bytes; false when out of memory or longer.
bool fz_exact_print_bytes(struct fz_buf *out, const uint8_t *bytes, size_t len, int scale);

#endif
