// Fuzz target of puffin/: the first byte chooses deletion-vector blob, bare 64-bit Roaring map, or a whole Puffin file; what decodes is used
// and encoded again, and must come back the same.
#include <stdint.h>
#include <stdlib.h>

#include "format/puffin/puffin_priv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void use_positions(struct fz_positions *p) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf blob = {0};
    struct fz_positions *again = NULL;
    int64_t count = fz_positions_count(p);
    if (fz_positions_any(p, 0, INT64_MAX) != (count > 0) && !fz_positions_contains(p, INT64_MAX)) {
        abort();
    }
    if (fz_dv_encode(p, &blob, &err) != FZ_OK || fz_dv_decode(blob.ptr, blob.len, &again, &err) != FZ_OK ||
        fz_positions_count(again) != count) {
        abort();
    }
    fz_positions_free(again);
    fz_buf_dispose(&blob);
}

static void read_footer(const uint8_t *data, size_t size) {
    static const char place[] = "memory://fuzz/x.puffin";
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store = NULL;
    struct fz_arena arena = {0};
    struct fz_puffin_blob *blobs = NULL;
    size_t n = 0;
    if (fz_store_memory_new(&store, &err) == FZ_OK && fz_store_put(store, place, data, size, false, &err) == FZ_OK &&
        fz_puffin_footer_read(store, place, (int64_t)size, &arena, &blobs, &n, &err) == FZ_OK) {
        for (size_t i = 0; i < n; i++) {
            if (blobs[i].offset < 0 || blobs[i].length < 0 || (uint64_t)(blobs[i].offset + blobs[i].length) > size) {
                abort();
            }
        }
    }
    fz_arena_dispose(&arena);
    fz_store_unref(store);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_positions *p = NULL;
    if (size == 0) {
        return 0;
    }
    uint8_t choice = data[0] % 3;
    data++;
    size--;
    if (choice == 2) {
        read_footer(data, size);
    } else if ((choice == 0 ? fz_dv_decode(data, size, &p, &err) : fz_positions_decode_vector(data, size, &p, &err)) ==
               FZ_OK) {
        use_positions(p);
        fz_positions_free(p);
    }
    return 0;
}
