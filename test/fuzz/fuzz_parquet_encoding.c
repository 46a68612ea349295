// The encodings of values and levels alone. The first byte chooses one and its width; what decodes must stay inside its buffers, and
// reading in one go must give what reading in pieces gives.
#include "fuzz.h"

#include "format/parquet/parquet_decode.h"
#include "data/variant.h"

enum { MOST = 4096 };

static void levels(const uint8_t *data, size_t size, unsigned width) {
    struct fz_pqr_rle whole, pieces;
    static uint8_t a[MOST], b[MOST];
    fz_pqr_rle_init(&whole, data, size, width);
    fz_pqr_rle_init(&pieces, data, size, width);
    bool ok = fz_pqr_rle_read_u8(&whole, MOST, a), same = true;
    for (size_t at = 0; at < MOST && same; at += 64) {
        same = fz_pqr_rle_read_u8(&pieces, 64, b + at);
    }
    if (ok && (!same || memcmp(a, b, MOST) != 0)) {
        abort();
    }
}

static void indexes(const uint8_t *data, size_t size, unsigned width, bool packed) {
    struct fz_pqr_rle rle;
    static uint32_t out[MOST];
    if (packed) {
        fz_pqr_rle_init_packed(&rle, data, size, width, (size & 1) != 0);
    } else {
        fz_pqr_rle_init(&rle, data, size, width);
    }
    for (size_t n = 0; n < 1 << 20 && fz_pqr_rle_run(&rle);) {
        size_t take = rle.left < MOST ? rle.left : MOST;
        fz_pqr_rle_unpack(&rle, take, out);
        n += take;
    }
}

static void bits(const uint8_t *data, size_t size) {
    struct fz_pqr_rle rle;
    uint64_t out[MOST / 64 + 2];
    memset(out, 0, sizeof out);
    size_t ones = 0, counted = 0;
    fz_pqr_rle_init(&rle, data, size, 1);
    if (fz_pqr_rle_read_bits(&rle, MOST - 7, out, 7, &ones)) {
        for (size_t i = 0; i < sizeof out / sizeof *out; i++) {
            counted += (size_t)__builtin_popcountll(out[i]);
        }
        if (counted != ones) {
            abort();
        }
    }
}

static void delta(const uint8_t *data, size_t size) {
    struct fz_pqr_delta d;
    static int64_t out[MOST];
    if (!fz_pqr_delta_init(&d, data, size)) {
        return;
    }
    const uint8_t *end = fz_pqr_delta_end(&d);
    if (end != NULL && (end < data || end > data + size)) {
        abort();
    }
    for (size_t n = 0; n < 1 << 20 && d.left > 0;) {
        size_t take = d.left < MOST ? d.left : MOST;
        if (!fz_pqr_delta_read(&d, take, out)) {
            break;
        }
        n += take;
    }
}

static void variant(const uint8_t *data, size_t size) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_str v = {(const char *)data, size};
    struct fz_buf out = {0};
    bool null;
    if (fz_variant_check(v, &err) == FZ_OK &&
        (!fz_variant_print(&out, v, NULL, NULL) || !fz_variant_print_cast(&out, v, NULL, NULL, &null))) {
        abort(); // what is checked can be printed
    }
    fz_buf_dispose(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) {
        return 0;
    }
    unsigned width = data[1] % 33;
    int kind = data[0] % 6;
    size -= 2;
    uint8_t *copy = malloc(size + FZ_PQR_SLACK); // the decoders may look at the slack, and at nothing behind it
    if (copy == NULL) {
        return 0;
    }
    memcpy(copy, data + 2, size);
    memset(copy + size, 0xa5, FZ_PQR_SLACK);
    switch (kind) {
    case 0:
        levels(copy, size, width % 9);
        break;
    case 1:
    case 2:
        indexes(copy, size, width, kind == 2);
        break;
    case 3:
        bits(copy, size);
        break;
    case 4:
        delta(copy, size);
        break;
    default:
        variant(data + 2, size);
    }
    free(copy);
    return 0;
}
