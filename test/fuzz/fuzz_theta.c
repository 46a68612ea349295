// Theta sketches: of what a sketch by anybody says, nothing may be impossible; and a sketch of our own says what was put in.
#include "format/puffin/theta.h"
#include "fuzz.h"

static void describe(const uint8_t *data, size_t size) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_theta_info info;
    if (fz_theta_describe(data, size, &info, &err) != FZ_OK) {
        return;
    }
    bool possible = info.theta > 0 && info.theta <= 1 && info.estimate >= (double)info.retained &&
                    (uint64_t)info.retained * 8 <= size && (!info.empty || info.estimate == 0);
    if (!possible) {
        abort();
    }
}

// The input as values of 1 to 8 bytes, by its first byte.
static void write_and_describe(const uint8_t *data, size_t size) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_theta *theta = NULL;
    struct fz_theta_info info;
    struct fz_buf out = {0};
    if (size == 0 || fz_theta_new(&theta, &err) != FZ_OK) {
        return;
    }
    size_t width = (size_t)(data[0] & 7) + 1, n = (size - 1) / width;
    for (size_t i = 0; i < n; i++) {
        fz_theta_add(theta, data + 1 + i * width, width);
    }
    if (fz_theta_encode(theta, &out, &err) == FZ_OK) {
        if (fz_theta_describe(out.ptr, out.len, &info, &err) != FZ_OK || info.retained > n || info.empty != (n == 0) ||
            info.estimate != fz_theta_estimate(theta)) {
            abort();
        }
    }
    fz_buf_dispose(&out);
    fz_theta_free(theta);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size > 0 && data[0] >= 0x80) { // the bits that describe does not look at
        write_and_describe(data, size);
    } else {
        describe(data, size);
    }
    return 0;
}
