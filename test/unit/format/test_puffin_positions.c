// Positions and the deletion-vector blob: against plain arithmetic, the byte layout of the Puffin and Roaring specs written out by
// hand, and blobs of other writers (test/data is not needed: FRAZIL_TEST_DATA names the folder with the recorded files).
#include "leak_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/hash.h"
#include "format/puffin/puffin_priv.h"

static enum fz_code collect(void *ctx, int64_t pos, struct fz_err *err) {
    (void)err;
    struct fz_buf *text = ctx;
    fz_buf_printf(text, "%lld\n", (long long)pos);
    return FZ_OK;
}

static uint64_t positions_hash(const struct fz_positions *p) { // as in the expectation files: decimal text, a line each
    struct fz_buf text = {0};
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_positions_each(p, collect, &text, &err), &err);
    uint64_t h = fz_hash64(text.ptr != NULL ? text.ptr : "", text.len, 0);
    fz_buf_dispose(&text);
    return h;
}

static void sets_agree_with_arithmetic(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_positions *p = NULL, *q = NULL;
    FZ_OK_OR_FAIL(fz_positions_new(&p, &err), &err);
    FZ_OK_OR_FAIL(fz_positions_new(&q, &err), &err);
    const int64_t far = (int64_t)5 << 32;
    for (int64_t i = 0; i < 300000; i += 3) {
        FZ_OK_OR_FAIL(fz_positions_add(p, i, &err), &err);
    }
    FZ_OK_OR_FAIL(fz_positions_add(p, INT64_MAX, &err), &err);
    FZ_OK_OR_FAIL(fz_positions_add_range(q, far - 10, far + 10, &err),
                  &err); // crosses from one 32-bit bitmap into the next
    assert_int_equal(fz_positions_count(p), 100001);
    assert_int_equal(fz_positions_count(q), 20);
    assert_true(fz_positions_contains(q, far - 10) && fz_positions_contains(q, far) &&
                fz_positions_contains(q, far + 9));
    assert_false(fz_positions_contains(q, far - 11) || fz_positions_contains(q, far + 10) ||
                 fz_positions_contains(q, -1));
    FZ_OK_OR_FAIL(fz_positions_union(p, q, &err), &err);
    FZ_OK_OR_FAIL(fz_positions_union(p, p, &err), &err);
    assert_int_equal(fz_positions_count(p), 100021);
    assert_true(fz_positions_any(p, 0, 1));
    assert_false(fz_positions_any(p, 1, 2));
    assert_true(fz_positions_any(p, 1, 3));
    assert_false(fz_positions_any(p, 300000, far - 300010));
    assert_true(fz_positions_any(p, 300000, far - 300009));
    assert_true(fz_positions_any(p, INT64_MAX, 1) && fz_positions_any(p, INT64_MAX - 5, 100));
    assert_false(fz_positions_any(p, far + 10, INT64_MAX - far - 10) || fz_positions_any(p, 5, 0));
    const int64_t starts[] = {-5, 0, 1, 299990, far - 100, far - 10, far - 1, far, far + 9, INT64_MAX - 63, INT64_MAX};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) { // the same as asking one by one
        uint32_t rows[64];
        uint32_t n = starts[i] > INT64_MAX - 63 ? 1 : 64;
        size_t found = fz_positions_within(p, starts[i], n, rows), at = 0;
        for (uint32_t r = 0; starts[i] >= 0 && r < n; r++) {
            if (fz_positions_contains(p, starts[i] + r)) {
                assert_true(at < found && rows[at] == r);
                at++;
            }
        }
        assert_int_equal(at, found);
    }
    FZ_OK_OR_FAIL(fz_positions_add_range(q, 7, 7, &err), &err);
    assert_int_equal(fz_positions_count(q), 20);
    assert_int_equal(fz_positions_add(q, -1, &err), FZ_INVALID_ARG);
    fz_err_reset(&err);
    assert_int_equal(fz_positions_add_range(q, 5, 4, &err), FZ_INVALID_ARG);
    fz_err_reset(&err);
    assert_int_equal(fz_positions_add_range(q, 0, INT64_MAX, &err), FZ_LIMIT);
    fz_positions_free(p);
    fz_positions_free(q);
    fz_positions_free(NULL);
}

static void blob_has_the_layout_of_the_specs(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_positions *p = NULL;
    struct fz_buf out = {0};
    FZ_OK_OR_FAIL(fz_positions_new(&p, &err), &err);
    static const int64_t some[] = {1, 3, 5, 7, 9};
    for (size_t i = 0; i < 5; i++) {
        FZ_OK_OR_FAIL(fz_positions_add(p, some[i], &err), &err);
    }
    FZ_OK_OR_FAIL(fz_dv_encode(p, &out, &err), &err);
    static const uint8_t want[] = {
        0,    0,    0, 42, 0xD1, 0xD3, 0x39, 0x64, // length (big-endian), magic
        1,    0,    0, 0,  0,    0,    0,    0,    0, 0, 0, 0, // one bitmap, key 0
        0x3A, 0x30, 0, 0,  1,    0,    0,    0, // cookie 12346, one container
        0,    0,    4, 0,  16,   0,    0,    0, // its key, cardinality - 1, offset
        1,    0,    3, 0,  5,    0,    7,    0,    9, 0, // the array
    };
    assert_int_equal(out.len, sizeof want + 4);
    assert_memory_equal(out.ptr, want, sizeof want);
    // This blob is also in Iceberg Go's fixtures; its bytes are known by hash (XXH64, recorded with another program).
    assert_true(fz_hash64(out.ptr, out.len, 0) == 0x8cd47e28ce1ee44f);
    fz_positions_free(p);
    p = NULL;
    FZ_OK_OR_FAIL(fz_dv_decode(out.ptr, out.len, &p, &err), &err);
    assert_int_equal(fz_positions_count(p), 5);
    fz_positions_free(p);
    fz_buf_dispose(&out);
}

static void round_trip(const struct fz_positions *p) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_positions *copy = NULL, *back = NULL;
    struct fz_buf blob = {0};
    FZ_OK_OR_FAIL(fz_positions_new(&copy, &err), &err);
    FZ_OK_OR_FAIL(fz_positions_union(copy, p, &err), &err);
    FZ_OK_OR_FAIL(fz_dv_encode(copy, &blob, &err), &err);
    FZ_OK_OR_FAIL(fz_dv_decode(blob.ptr, blob.len, &back, &err), &err);
    assert_int_equal(fz_positions_count(back), fz_positions_count(p));
    assert_true(positions_hash(back) == positions_hash(p));
    fz_positions_free(copy);
    fz_positions_free(back);
    fz_buf_dispose(&blob);
}

static void every_container_kind_round_trips(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_positions *p = NULL;
    FZ_OK_OR_FAIL(fz_positions_new(&p, &err), &err);
    round_trip(p); // empty
    FZ_OK_OR_FAIL(fz_positions_add_range(p, 0, 70000, &err), &err); // runs
    for (int64_t i = 0; i < 60000; i += 2) {
        FZ_OK_OR_FAIL(fz_positions_add(p, 200000 + i, &err), &err); // bitset
    }
    for (int64_t i = 0; i < 4096; i++) {
        FZ_OK_OR_FAIL(fz_positions_add(p, ((int64_t)1 << 40) + i * 7, &err), &err); // largest array, far away
    }
    FZ_OK_OR_FAIL(fz_positions_add(p, INT64_MAX, &err), &err);
    round_trip(p);
    fz_positions_free(p);
}

// Every single-bit change of a blob is noticed, and every change of the vector below the checksum ends in an error or a set.
static void damage_is_noticed(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_positions *p = NULL;
    struct fz_buf blob = {0};
    FZ_OK_OR_FAIL(fz_positions_new(&p, &err), &err);
    FZ_OK_OR_FAIL(fz_positions_add_range(p, 10, 30, &err), &err);
    for (int64_t i = 0; i < 40; i++) {
        FZ_OK_OR_FAIL(fz_positions_add(p, 100000 + i * i, &err), &err);
    }
    FZ_OK_OR_FAIL(fz_positions_add_range(p, 500000, 500100, &err), &err);
    FZ_OK_OR_FAIL(fz_dv_encode(p, &blob, &err), &err);
    fz_positions_free(p);
    for (size_t bit = 0; bit < blob.len * 8; bit++) {
        blob.ptr[bit / 8] = (char)(blob.ptr[bit / 8] ^ 1 << bit % 8);
        p = NULL;
        assert_int_equal(fz_dv_decode(blob.ptr, blob.len, &p, &err), FZ_CORRUPT);
        fz_err_reset(&err);
        if (bit >= 64 && bit < (blob.len - 4) * 8 &&
            fz_positions_decode_vector(blob.ptr + 8, blob.len - 12, &p, &err) == FZ_OK) {
            round_trip(p);
            fz_positions_free(p);
        }
        fz_err_reset(&err);
        blob.ptr[bit / 8] = (char)(blob.ptr[bit / 8] ^ 1 << bit % 8);
    }
    for (size_t len = 0; len < blob.len; len++) {
        char *exact = malloc(len + 1); // its end is watched by the sanitizer
        memcpy(exact, blob.ptr, len);
        assert_int_equal(fz_dv_decode(exact, len, &p, &err), FZ_CORRUPT);
        fz_err_reset(&err);
        if (len >= 8 && len != blob.len - 4) {
            assert_int_equal(fz_positions_decode_vector(exact + 8, len - 8, &p, &err), FZ_CORRUPT);
            fz_err_reset(&err);
        }
        free(exact);
    }
    fz_buf_dispose(&blob);
}

static bool read_file(const char *folder, const char *name, struct fz_buf *out) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return false;
    }
    char block[65536];
    size_t n;
    while ((n = fread(block, 1, sizeof block, f)) > 0) {
        fz_buf_append(out, block, n);
    }
    fclose(f);
    return true;
}

static void blobs_of_other_writers(void **state) {
    (void)state;
    const char *env = getenv("FRAZIL_SHARED_DATA"), *folder = env != NULL ? env : FZ_SOURCE_DIR "/../shared/data";
    char readme[1100];
    snprintf(readme, sizeof readme, "%s/iceberg/README.md", folder);
    if (access(readme, R_OK) != 0) {
        skip();
    }
    static const struct {
        const char *name;
        bool blob;
        int64_t count;
        uint64_t hash;
    } files[] = {
        // counts and hashes recorded with pyroaring and Iceberg Java
        {"iceberg/dv/64map32bitvals.bin", false, 10, 0x481a6e9064cc7bc7},
        {"iceberg/dv/64mapempty.bin", false, 0, 0xef46db3751d8e999},
        {"iceberg/dv/64mapspreadvals.bin", false, 100, 0xa30ea07f597dc35d},
        {"iceberg/dv/all-container-types-position-index.bin", true, 132561, 0x6d8a647334910bcd},
        {"iceberg/dv/empty-position-index.bin", true, 0, 0xef46db3751d8e999},
        {"iceberg/dv/small-and-large-values-position-index.bin", true, 4, 0x6b56688ae0cc5f46},
        {"bad/dv/64maphighvals.bin", false, -1, 0},
    };
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct fz_err err = FZ_ERR_INIT;
        struct fz_buf bytes = {0}, again = {0};
        struct fz_positions *p = NULL;
        assert_true(read_file(folder, files[i].name, &bytes));
        enum fz_code rc = files[i].blob ? fz_dv_decode(bytes.ptr, bytes.len, &p, &err)
                                        : fz_positions_decode_vector(bytes.ptr, bytes.len, &p, &err);
        if (files[i].count < 0) {
            assert_int_equal(rc, FZ_CORRUPT);
        } else {
            FZ_OK_OR_FAIL(rc, &err);
            assert_int_equal(fz_positions_count(p), files[i].count);
            assert_true(positions_hash(p) == files[i].hash);
            if (files[i].blob) { // Java's bytes again
                FZ_OK_OR_FAIL(fz_dv_encode(p, &again, &err), &err);
                assert_int_equal(again.len, bytes.len);
                assert_memory_equal(again.ptr, bytes.ptr, bytes.len);
            }
        }
        fz_positions_free(p);
        fz_buf_dispose(&bytes);
        fz_buf_dispose(&again);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(sets_agree_with_arithmetic),       FZ_TEST(blob_has_the_layout_of_the_specs),
        FZ_TEST(every_container_kind_round_trips), FZ_TEST(damage_is_noticed),
        FZ_TEST(blobs_of_other_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
