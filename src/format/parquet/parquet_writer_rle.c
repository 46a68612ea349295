// The RLE/bit-packing hybrid of levels and dictionary indexes (Parquet "Encodings", RLE = 3). Runs of eight or more become RLE
// runs, the rest bit-packed groups of eight.
#include "format/parquet/parquet_writer_priv.h"

int fz_pw_bit_width(uint32_t max_value) {
    return max_value == 0 ? 0 : 32 - __builtin_clz(max_value);
}

static void append_varint(struct fz_buf *out, uint64_t v) {
    char tmp[10];
    size_t n = 0;
    do {
        uint8_t byte = (uint8_t)(v & 0x7f);
        v >>= 7;
        tmp[n++] = (char)(v != 0 ? byte | 0x80 : byte);
    } while (v != 0);
    fz_buf_append(out, tmp, n);
}

void fz_pw_rle_run(struct fz_buf *out, uint32_t value, size_t n, int bit_width) {
    append_varint(out, (uint64_t)n << 1);
    for (int bits = 0; bits < bit_width; bits += 8) {
        fz_buf_putc(out, (char)(uint8_t)(value >> bits));
    }
}

// n values as bit-packed groups; the last group is filled up with zeros.
static void append_packed(struct fz_buf *out, const uint32_t *values, size_t n, int bit_width) {
    size_t groups = (n + 7) / 8;
    append_varint(out, (uint64_t)groups << 1 | 1);
    size_t bytes = groups * (size_t)bit_width;
    if (!fz_buf_reserve(out, bytes + 8)) {
        return;
    }
    uint8_t *p = (uint8_t *)out->ptr + out->len;
    uint64_t acc = 0;
    int bits = 0;
    for (size_t i = 0; i < n; i++) {
        acc |= (uint64_t)values[i] << bits;
        bits += bit_width;
        if (bits >= 32) {
            uint32_t word = (uint32_t)acc;
            memcpy(p, &word, 4);
            p += 4;
            acc >>= 32;
            bits -= 32;
        }
    }
    uint8_t *end = (uint8_t *)out->ptr + out->len + bytes;
    while (p < end) {
        *p++ = (uint8_t)acc;
        acc >>= 8;
    }
    out->len += bytes;
}

void fz_pw_rle_append(struct fz_buf *out, const uint32_t *values, size_t n, int bit_width) {
    size_t literal_from = 0, i = 0;
    while (i < n) {
        size_t end = i + 1;
        while (end < n && values[end] == values[i]) {
            end++;
        }
        size_t fill = (8 - (i - literal_from) % 8) % 8; // literals come in eights, the run lends what is missing
        if (end - i >= fill + 8) {
            if (i + fill > literal_from) {
                append_packed(out, values + literal_from, i + fill - literal_from, bit_width);
            }
            fz_pw_rle_run(out, values[i], end - i - fill, bit_width);
            literal_from = end;
        }
        i = end;
    }
    if (n > literal_from) {
        append_packed(out, values + literal_from, n - literal_from, bit_width);
    }
}
