// What fuzz targets share. A target is one file with LLVMFuzzerTestOneInput; clang makes a fuzzer of it (FZ_FUZZ), any compiler a program
// that replays inputs (replay.c).
#ifndef FZ_TEST_FUZZ_H
#define FZ_TEST_FUZZ_H

#include <stdint.h>
#include <stdlib.h>

#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A memory store that has the input under `place`; NULL when out of memory.
static inline struct fz_store *fuzz_store(const char *place, const uint8_t *data, size_t size) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store = NULL;
    if (fz_store_memory_new(&store, &err) != FZ_OK) {
        return NULL;
    }
    if (fz_store_put(store, place, size > 0 ? (const void *)data : "", size, false, &err) != FZ_OK) {
        fz_store_unref(store);
        return NULL;
    }
    return store;
}

#endif
