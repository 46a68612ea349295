// Whole Parquet files: the footer steers everything.
#include "fuzz_parquet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    fuzz_parquet(data, size);
    return 0;
}
