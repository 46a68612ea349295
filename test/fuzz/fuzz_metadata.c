// Table metadata documents. What is accepted is written, and what was written must be accepted and written the same again.
#include "fuzz.h"
#include "table/metadata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_metadata *m = NULL, *again = NULL;
    struct fz_buf first = {0}, second = {0};
    if (fz_metadata_decode(data, size, "memory://fuzz/v1.metadata.json", &m, &err) != FZ_OK) {
        return 0;
    }
    if (fz_metadata_encode(m, &first, &err) == FZ_OK) {
        if (fz_metadata_decode(first.ptr, first.len, "memory://fuzz/v2.metadata.json", &again, &err) != FZ_OK ||
            fz_metadata_encode(again, &second, &err) != FZ_OK || first.len != second.len ||
            memcmp(first.ptr, second.ptr, first.len) != 0) {
            abort();
        }
        fz_metadata_unref(again);
    }
    fz_metadata_unref(m);
    fz_buf_dispose(&first);
    fz_buf_dispose(&second);
    return 0;
}
