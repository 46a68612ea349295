// Puffin files: what the footer says must lie inside the file.
#include "format/puffin/puffin.h"
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char place[] = "memory://fuzz/x.puffin";
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_puffin_blob *blobs = NULL;
    size_t n = 0;
    struct fz_store *store = fuzz_store(place, data, size);
    if (store != NULL && fz_puffin_footer_read(store, place, (int64_t)size, &arena, &blobs, &n, &err) == FZ_OK) {
        for (size_t i = 0; i < n; i++) {
            struct fz_positions *p = NULL;
            if (blobs[i].offset < 0 || blobs[i].length < 0 || (uint64_t)(blobs[i].offset + blobs[i].length) > size) {
                abort();
            }
            if (fz_dv_decode(data + blobs[i].offset, (size_t)blobs[i].length, &p, &err) == FZ_OK) {
                fz_positions_free(p);
            }
        }
    }
    fz_arena_dispose(&arena);
    if (store != NULL) {
        fz_store_unref(store);
    }
    return 0;
}
