// Theta sketches: hashes and forms against sketches that Apache DataSketches (its Python library) made of the same values.
#include "leak_check.h"

#include <math.h>

#include "base/text.h"
#include "format/puffin/theta.h"

static void encode(const struct fz_theta *theta, struct fz_buf *out) {
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_theta_encode(theta, out, &err), &err);
}

// Hashes of a sketch of DataSketches in hex, against ours: all behind the first `skip` bytes, and the seed hash.
static void same_hashes(const struct fz_theta *theta, const char *hex, size_t skip) {
    struct fz_buf mine = {0}, theirs = {0};
    struct fz_theta_info info;
    struct fz_err err = FZ_ERR_INIT;
    encode(theta, &mine);
    assert_true(fz_hex_decode(&theirs, fz_str_of(hex)));
    assert_int_equal(mine.len, theirs.len);
    assert_memory_equal(mine.ptr + skip, theirs.ptr + skip, mine.len - skip);
    assert_memory_equal(mine.ptr, theirs.ptr, 3); // preamble, version, family
    assert_memory_equal(mine.ptr + 6, theirs.ptr + 6, 2); // hash of the seed
    FZ_OK_OR_FAIL(fz_theta_describe(theirs.ptr, theirs.len, &info, &err), &err);
    assert_int_equal((mine.len - skip) / 8, info.retained);
    assert_true(info.ordered && info.estimate == (double)info.retained);
    fz_buf_dispose(&mine);
    fz_buf_dispose(&theirs);
}

static void known(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_theta *theta;
    FZ_OK_OR_FAIL(fz_theta_new(&theta, &err), &err);
    int64_t numbers[] = {1, 2, 3, 2, 1};
    fz_theta_add(theta, numbers, 8);
    same_hashes(theta, "01030300001acc9315f97dcbbd86a105", 8);
    fz_theta_add_fixed(theta, numbers, 8, 5);
    // bytes 12 to 15 hold the sampling rate, 1.0 in Java's form, 0 in the other
    struct fz_buf bytes = {0};
    encode(theta, &bytes);
    assert_int_equal(bytes.len, 40);
    fz_buf_dispose(&bytes);
    same_hashes(theta, "02030300001acc93030000000000000015f97dcbbd86a105c397fc1281709d1eba40b3c1da06695d", 16);
    fz_theta_free(theta);
    static const struct {
        const char *text, *hex;
    } texts[] = {{"a", "01030300001acc9317c11d528507017b"},
                 {"hello world, 16b", "01030300001acc93af4475f85f46f932"},
                 {"0123456789abcdefghijklm", "01030300001acc939d2b309147e2ad6e"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        FZ_OK_OR_FAIL(fz_theta_new(&theta, &err), &err);
        fz_theta_add(theta, texts[i].text, strlen(texts[i].text));
        fz_theta_add(theta, "", 0); // nothing
        same_hashes(theta, texts[i].hex, 8);
        fz_theta_free(theta);
    }
}

static void empty(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_theta *theta;
    struct fz_buf bytes = {0};
    struct fz_theta_info info;
    FZ_OK_OR_FAIL(fz_theta_new(&theta, &err), &err);
    assert_true(fz_theta_estimate(theta) == 0);
    encode(theta, &bytes);
    assert_int_equal(bytes.len, 8);
    assert_memory_equal(bytes.ptr, "\1\3\3\0\0\x1e\0\0", 8); // Java's empty sketch
    FZ_OK_OR_FAIL(fz_theta_describe(bytes.ptr, bytes.len, &info, &err), &err);
    assert_true(info.empty && info.retained == 0 && info.estimate == 0);
    fz_buf_dispose(&bytes);
    fz_theta_free(theta);
}

// Many values, and sketches of parts united: within 5 % (the standard error is 1.6 %), and the same hashes as of the whole.
static void many(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    for (int64_t n = 4000; n <= 400000; n *= 10) {
        struct fz_theta *whole, *parts[3];
        FZ_OK_OR_FAIL(fz_theta_new(&whole, &err), &err);
        for (int p = 0; p < 3; p++) {
            FZ_OK_OR_FAIL(fz_theta_new(&parts[p], &err), &err);
        }
        for (int64_t i = 0; i < 2 * n; i++) {
            int64_t value = i % n;
            fz_theta_add(whole, &value, 8);
            fz_theta_add(parts[i % 10 == 0 ? 0 : i % 2 + 1], &value, 8);
        }
        double estimate = fz_theta_estimate(whole);
        assert_true(n <= 4096 ? estimate == (double)n : fabs(estimate - (double)n) < 0.05 * (double)n);
        FZ_OK_OR_FAIL(fz_theta_union(parts[0], parts[1], &err), &err);
        FZ_OK_OR_FAIL(fz_theta_union(parts[0], parts[2], &err), &err);
        assert_true(fabs(fz_theta_estimate(parts[0]) - (double)n) < 0.05 * (double)n);
        struct fz_buf bytes = {0};
        struct fz_theta_info info;
        encode(parts[0], &bytes);
        FZ_OK_OR_FAIL(fz_theta_describe(bytes.ptr, bytes.len, &info, &err), &err);
        assert_true(info.retained <= 4096 && fabs(info.estimate - fz_theta_estimate(parts[0])) < 1e-6);
        fz_buf_dispose(&bytes);
        fz_theta_free(whole);
        for (int p = 0; p < 3; p++) {
            fz_theta_free(parts[p]);
        }
    }
}

static void damage(void **state) {
    (void)state;
    struct fz_theta_info info;
    const char *bad[] = {"",
                         "01030300001acc",
                         "00030300001acc93",
                         "04030300001acc930000000000000000",
                         "01020300001acc93",
                         "01030400001acc93",
                         "01030300001bcc93",
                         "02030300001acc930300000000000000",
                         "02030300001acc93ffffffff00000000",
                         "03030300001acc9300000000000000000000000000000000",
                         "03030300001acc930000000000000000ffffffffffffffff",
                         "01030300001acc9315f97dcbbd86a10515f97dcbbd86a105",
                         "01030300001acc9315f97dcbbd86a1",
                         "02030300001ecc93010000000000803f15f97dcbbd86a105"}; // empty, with a hash
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct fz_buf bytes = {0};
        struct fz_err err = FZ_ERR_INIT;
        assert_true(fz_hex_decode(&bytes, fz_str_of(bad[i])));
        assert_int_equal(fz_theta_describe(bytes.ptr, bytes.len, &info, &err), FZ_CORRUPT);
        fz_buf_dispose(&bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(known), FZ_TEST(empty), FZ_TEST(many), FZ_TEST(damage)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
