// Manifest lists and manifests; the first byte chooses.
#include "fuzz.h"
#include "table/manifest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_manifest_file *files = NULL,
                            file = {.manifest_path = "memory://fuzz/m.avro", .added_snapshot_id = 1, .first_row_id = 0};
    struct fz_manifest_entry *entries = NULL;
    size_t n = 0;
    if (size == 0) {
        return 0;
    }
    if (data[0] & 1) {
        (void)fz_manifest_list_decode(&arena, data + 1, size - 1, &files, &n, &err);
    } else {
        file.content = data[0] >> 1 & 1;
        (void)fz_manifest_decode(&arena, data + 1, size - 1, &file, NULL, &entries, &n, &err);
    }
    fz_arena_dispose(&arena);
    return 0;
}
