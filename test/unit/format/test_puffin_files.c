// Puffin files: what we write is what the Puffin spec says byte by byte, and footers of other writers (plain, LZ4, damaged) read.
#include "leak_check.h"

#include <lz4frame.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/puffin/puffin.h"

static const char PLACE[] = "memory://puffin/x.puffin";

static void writes_the_layout_of_the_spec(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store = NULL;
    struct fz_writer *sink = NULL;
    struct fz_puffin_writer *w = NULL;
    struct fz_buf bytes = {0};
    struct fz_arena arena = {0};
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    FZ_OK_OR_FAIL(fz_store_writer_open(store, PLACE, &sink, &err), &err);
    FZ_OK_OR_FAIL(fz_puffin_writer_open(sink, &w, &err), &err);
    const int32_t fields[] = {2147483645};
    struct fz_puffin_property properties[] = {{"referenced-data-file", "s3://b/\"q\".parquet"}, {"cardinality", "5"}};
    struct fz_puffin_blob dv = {.type = "deletion-vector-v1",
                                .fields = fields,
                                .n_fields = 1,
                                .snapshot_id = -1,
                                .sequence_number = -1,
                                .properties = properties,
                                .n_properties = 2};
    struct fz_puffin_blob sketch = {.type = "apache-datasketches-theta-v1",
                                    .snapshot_id = 9223372036854775807,
                                    .sequence_number = 7,
                                    .compression_codec = "zstd"};
    int64_t at[2], size = 0;
    FZ_OK_OR_FAIL(fz_puffin_writer_add(w, &dv, "abcde", 5, &at[0], &err), &err);
    FZ_OK_OR_FAIL(fz_puffin_writer_add(w, &sketch, "xyz", 3, &at[1], &err), &err);
    FZ_OK_OR_FAIL(fz_puffin_writer_close(w, &size, &err), &err);
    assert_int_equal(at[0], 4);
    assert_int_equal(at[1], 9);
    FZ_OK_OR_FAIL(fz_store_read_all(store, PLACE, 100000, &bytes, &err), &err);
    static const char json[] =
        "{\"blobs\":[{\"type\":\"deletion-vector-v1\",\"fields\":[2147483645],\"snapshot-id\":-1,\"sequence-number\":-"
        "1,\"offset\":4,"
        "\"length\":5,\"properties\":{\"referenced-data-file\":\"s3://b/\\\"q\\\".parquet\",\"cardinality\":\"5\"}},"
        "{\"type\":\"apache-datasketches-theta-v1\",\"fields\":[],\"snapshot-id\":9223372036854775807,\"sequence-"
        "number\":7,\"offset\":9,"
        "\"length\":3,\"compression-codec\":\"zstd\"}],\"properties\":{\"created-by\":\"frazil 0.1.0\"}}";
    size_t n = sizeof json - 1;
    assert_int_equal(bytes.len, 4 + 8 + 4 + n + 12);
    assert_int_equal(bytes.len, size);
    assert_memory_equal(bytes.ptr, "PFA1abcdexyzPFA1", 16);
    assert_memory_equal(bytes.ptr + 16, json, n);
    const uint8_t tail[] = {(uint8_t)n, (uint8_t)(n >> 8), 0, 0, 0, 0, 0, 0, 'P', 'F', 'A', '1'};
    assert_memory_equal(bytes.ptr + 16 + n, tail, 12);
    struct fz_puffin_blob *blobs = NULL;
    size_t n_blobs = 0;
    FZ_OK_OR_FAIL(fz_puffin_footer_read(store, PLACE, -1, &arena, &blobs, &n_blobs, &err), &err);
    assert_int_equal(n_blobs, 2);
    assert_string_equal(blobs[0].type, "deletion-vector-v1");
    assert_int_equal(blobs[0].fields[0], 2147483645);
    assert_int_equal(blobs[0].offset, 4);
    assert_int_equal(blobs[0].length, 5);
    assert_null(blobs[0].compression_codec);
    assert_string_equal(blobs[0].properties[0].value, "s3://b/\"q\".parquet");
    assert_true(blobs[1].snapshot_id == 9223372036854775807);
    assert_string_equal(blobs[1].compression_codec, "zstd");
    fz_arena_dispose(&arena);
    fz_buf_dispose(&bytes);
    fz_store_unref(store);
}

// Puts a file with the given footer payload and reads its footer.
static enum fz_code read_footer_of(const void *payload, size_t len, uint32_t flags, size_t *n, struct fz_err *err) {
    struct fz_store *store = NULL;
    struct fz_buf file = {0};
    struct fz_arena arena = {0};
    struct fz_puffin_blob *blobs = NULL;
    uint32_t tail[2] = {(uint32_t)len, flags};
    fz_buf_puts(&file, "PFA1blobPFA1");
    fz_buf_append(&file, payload, len);
    fz_buf_append(&file, tail, 8);
    fz_buf_puts(&file, "PFA1");
    enum fz_code rc = fz_store_memory_new(&store, err);
    rc = rc != FZ_OK ? rc : fz_store_put(store, PLACE, file.ptr, file.len, false, err);
    rc = rc != FZ_OK ? rc : fz_puffin_footer_read(store, PLACE, (int64_t)file.len, &arena, &blobs, n, err);
    fz_arena_dispose(&arena);
    fz_buf_dispose(&file);
    fz_store_unref(store);
    return rc;
}

#define BLOB(offset, length)                                                                                           \
    "{\"type\":\"t\",\"fields\":[1],\"snapshot-id\":1,\"sequence-number\":1,\"offset\":" offset ",\"length\":" length  \
    "}"

static void compressed_and_long_footers(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf json = {0};
    size_t n = 0;
    fz_buf_puts(&json, "{\"blobs\":[" BLOB("4", "4"));
    for (int i = 1; i < 3000; i++) { // larger than what the first read brings
        fz_buf_puts(&json, "," BLOB("5", "2"));
    }
    fz_buf_puts(&json, "]}");
    FZ_OK_OR_FAIL(read_footer_of(json.ptr, json.len, 0, &n, &err), &err);
    assert_int_equal(n, 3000);
    LZ4F_preferences_t preferences = {.frameInfo = {.contentSize = json.len}};
    size_t cap = LZ4F_compressFrameBound(json.len, &preferences);
    char *packed = malloc(cap);
    size_t len = LZ4F_compressFrame(packed, cap, json.ptr, json.len, &preferences);
    assert_false(LZ4F_isError(len));
    n = 0;
    FZ_OK_OR_FAIL(read_footer_of(packed, len, 1, &n, &err), &err);
    assert_int_equal(n, 3000);
    assert_int_equal(read_footer_of(packed, len - 5, 1, &n, &err), FZ_CORRUPT); // cut off
    fz_err_reset(&err);
    assert_int_equal(read_footer_of(packed, len, 0, &n, &err), FZ_CORRUPT); // not JSON
    fz_err_reset(&err);
    assert_int_equal(read_footer_of(json.ptr, json.len, 1, &n, &err), FZ_CORRUPT); // not LZ4
    free(packed);
    fz_buf_dispose(&json);
}

static void damaged_footers_are_refused(void **state) {
    (void)state;
    static const char *const bad[] = {
        "",
        "[]",
        "{}",
        "{\"blobs\":{}}",
        "{\"blobs\":[5]}",
        "{\"blobs\":[" BLOB("4", "5") "]}",
        "{\"blobs\":[" BLOB("3", "1") "]}",
        "{\"blobs\":[" BLOB("-1", "1") "]}",
        "{\"blobs\":[" BLOB("4", "-1") "]}",
        "{\"blobs\":[" BLOB("4", "9223372036854775807") "]}",
        "{\"blobs\":[" BLOB("9223372036854775807", "4") "]}",
        "{\"blobs\":[" BLOB("4", "18446744073709551616") "]}",
        "{\"blobs\":[" BLOB("\"4\"", "1") "]}",
        "{\"blobs\":[{\"fields\":[],\"snapshot-id\":1,\"sequence-number\":1,\"offset\":4,\"length\":0}]}",
        "{\"blobs\":[{\"type\":\"t\",\"fields\":[1.5],\"snapshot-id\":1,\"sequence-number\":1,\"offset\":4,\"length\":"
        "0}]}",
        "{\"blobs\":[{\"type\":\"t\",\"fields\":[],\"snapshot-id\":1,\"sequence-number\":1,\"offset\":4,\"length\":0,"
        "\"properties\":{\"a\":1}}]}",
        "{\"blobs\":[",
        "{\"blobs\":[]} x",
        "{\"blobs\":[],\"a\":\"\xFF\"}",
    };
    size_t n = 0;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct fz_err err = FZ_ERR_INIT;
        if (read_footer_of(bad[i], strlen(bad[i]), 0, &n, &err) != FZ_CORRUPT) {
            print_error("accepted: %s\n", bad[i]);
            fail();
        }
    }
    struct fz_err err = FZ_ERR_INIT;
    assert_int_equal(read_footer_of("{\"blobs\":[]}", 12, 2, &n, &err), FZ_UNSUPPORTED);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(read_footer_of("{\"blobs\":[],\"properties\":{}}", 28, 0, &n, &err), &err);
    assert_int_equal(n, 0);
}

static void footers_of_other_writers(void **state) {
    (void)state;
    const char *env = getenv("FRAZIL_SHARED_DATA"), *folder = env != NULL ? env : FZ_SOURCE_DIR "/../shared/data";
    char readme[1100];
    snprintf(readme, sizeof readme, "%s/iceberg/README.md", folder);
    if (access(readme, R_OK) != 0) {
        skip();
    }
    static const struct {
        const char *name;
        size_t blobs;
        int64_t offset, length; // of the first blob
        int64_t positions; // in it, -1: no deletion vector
    } files[] = {
        // from Iceberg Java and pyroaring
        {"iceberg-empty-puffin-uncompressed.bin", 0, 0, 0, -1},
        {"iceberg-go-deletion-vector-v1.puffin", 1, 4, 50, 5},
        {"iceberg-go-multi-blob-dv.puffin", 2, 4, 46, 3},
        {"iceberg-sample-metric-data-compressed-zstd.bin", 2, 4, 22, -1},
        {"iceberg-sample-metric-data-uncompressed.bin", 2, 4, 9, -1},
        {"impala-current_snapshot_id.stats", 2, 4, 29, -1},
        {"own-dv-big-0.puffin", 1, 4, 26902, 66667},
        {"own-dv-big-2.puffin", 1, 4, 24663, 113336},
        {"own-dv-multi-0.puffin", 6, 4, 44, 2},
        {"own-ndv-0.puffin", 2, 4, 3582, -1},
    };
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store = NULL;
    FZ_OK_OR_FAIL(fz_store_local_new(&store, &err), &err);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[1024];
        struct fz_arena arena = {0};
        struct fz_puffin_blob *blobs = NULL;
        size_t n = 0;
        snprintf(path, sizeof path, "%s/iceberg/puffin/%s", folder, files[i].name);
        FZ_OK_OR_FAIL(fz_puffin_footer_read(store, path, -1, &arena, &blobs, &n, &err), &err);
        if (files[i].blobs != 2 || files[i].positions >= 0) {
            assert_int_equal(n, files[i].blobs);
        } else {
            assert_true(n >= 2);
        }
        if (n > 0) {
            assert_int_equal(blobs[0].offset, files[i].offset);
            assert_int_equal(blobs[0].length, files[i].length);
        }
        if (files[i].positions >= 0) {
            char *bytes = malloc((size_t)blobs[0].length);
            struct fz_positions *p = NULL;
            FZ_OK_OR_FAIL(fz_store_read(store, path, blobs[0].offset, (size_t)blobs[0].length, bytes, NULL, &err),
                          &err);
            FZ_OK_OR_FAIL(fz_dv_decode(bytes, (size_t)blobs[0].length, &p, &err), &err);
            assert_int_equal(fz_positions_count(p), files[i].positions);
            struct fz_buf again = {0}; // Java's and Go's bytes again
            FZ_OK_OR_FAIL(fz_dv_encode(p, &again, &err), &err);
            assert_int_equal(again.len, blobs[0].length);
            assert_memory_equal(again.ptr, bytes, again.len);
            fz_buf_dispose(&again);
            fz_positions_free(p);
            free(bytes);
        }
        fz_arena_dispose(&arena);
    }
    // Lost its first four bytes, so blobs reach into the footer: Java reads the footer all the same, we are stricter on purpose.
    char path[1024];
    struct fz_arena arena = {0};
    struct fz_puffin_blob *blobs = NULL;
    size_t n = 0;
    snprintf(path, sizeof path, "%s/iceberg/puffin/impala-corrupt_file.stats", folder);
    assert_int_equal(fz_puffin_footer_read(store, path, -1, &arena, &blobs, &n, &err), FZ_CORRUPT);
    fz_arena_dispose(&arena);
    fz_store_unref(store);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(writes_the_layout_of_the_spec),
        FZ_TEST(compressed_and_long_footers),
        FZ_TEST(damaged_footers_are_refused),
        FZ_TEST(footers_of_other_writers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
