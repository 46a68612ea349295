// Deletion-vector blobs and bare 64-bit Roaring maps, which is what the first byte chooses. What decodes is used and encoded again, and
// must come back the same.
#include "format/puffin/puffin_priv.h"
#include "fuzz.h"

static void use(struct fz_positions *p) {
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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_positions *p = NULL;
    if (size == 0) {
        return 0;
    }
    bool bare = (data[0] & 1) != 0;
    data++;
    size--;
    if ((bare ? fz_positions_decode_vector(data, size, &p, &err) : fz_dv_decode(data, size, &p, &err)) == FZ_OK) {
        use(p);
        fz_positions_free(p);
    }
    return 0;
}
