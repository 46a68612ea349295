// Pages of one column chunk under a footer that is sound. The first five bytes choose physical type, annotation, codec, repetition and
// how many rows the footer says; the rest is the chunk: page headers and pages.
#include "fuzz_parquet.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int codecs[] = {FZ_PQ_UNCOMPRESSED, FZ_PQ_SNAPPY, FZ_PQ_GZIP, FZ_PQ_ZSTD,
                                 FZ_PQ_LZ4_RAW,      FZ_PQ_BROTLI, FZ_PQ_LZ4};
    static const enum fz_pq_logical annotations[] = {FZ_PQ_LOGICAL_NONE, FZ_PQ_LOGICAL_STRING, FZ_PQ_LOGICAL_UUID};
    if (size < 6) {
        return 0;
    }
    int type = data[0] % 8, shape = data[3] % 4;
    int32_t rows = data[4] | (data[5] & 15) << 8;
    struct fz_pq_schema_element schema[4] = {
        {.name = "root", .type = -1, .repetition = -1, .num_children = 1, .field_id = -1}};
    size_t n_schema = 1;
    if (shape == 3) { // a list
        schema[n_schema++] = (struct fz_pq_schema_element){.name = "l",
                                                           .type = -1,
                                                           .repetition = FZ_PQ_OPTIONAL,
                                                           .num_children = 1,
                                                           .logical = FZ_PQ_LOGICAL_LIST,
                                                           .converted = FZ_PQ_CONV_LIST,
                                                           .field_id = 1};
        schema[n_schema++] = (struct fz_pq_schema_element){.name = "list",
                                                           .type = -1,
                                                           .repetition = FZ_PQ_REPEATED,
                                                           .num_children = 1,
                                                           .field_id = -1,
                                                           .converted = FZ_PQ_CONV_NONE};
    }
    schema[0].converted = FZ_PQ_CONV_NONE;
    schema[n_schema++] = (struct fz_pq_schema_element){.name = "c",
                                                       .type = type,
                                                       .type_length = type == FZ_PQ_FIXED ? 16 : 0,
                                                       .repetition = shape == 2   ? FZ_PQ_REPEATED
                                                                     : shape == 0 ? FZ_PQ_REQUIRED
                                                                                  : FZ_PQ_OPTIONAL,
                                                       .field_id = 2,
                                                       .converted = FZ_PQ_CONV_NONE,
                                                       .logical = type >= FZ_PQ_BYTE_ARRAY ? annotations[data[1] % 3]
                                                                                           : FZ_PQ_LOGICAL_NONE};
    int64_t length = (int64_t)size - 6;
    const struct fz_str path[] = {FZ_STR_LIT("c")};
    struct fz_pq_column_chunk chunk = {.type = type,
                                       .codec = codecs[data[2] % 7],
                                       .path = path,
                                       .n_path = 1,
                                       .num_values = shape >= 2 ? rows * 2 : rows,
                                       .total_compressed_size = length,
                                       .total_uncompressed_size = length,
                                       .data_page_offset = 4,
                                       .dictionary_page_offset = -1,
                                       .index_page_offset = -1,
                                       .bloom_filter_offset = -1,
                                       .bloom_filter_length = -1,
                                       .offset_index_offset = -1,
                                       .column_index_offset = -1};
    struct fz_pq_row_group group = {.columns = &chunk, .n_columns = 1, .num_rows = rows, .total_byte_size = length};
    struct fz_pq_file file = {.version = 1,
                              .schema = schema,
                              .n_schema = n_schema,
                              .num_rows = rows,
                              .row_groups = &group,
                              .n_row_groups = 1};
    struct fz_buf bytes = {0};
    fz_buf_append(&bytes, "PAR1", 4);
    fz_buf_append(&bytes, data + 6, (size_t)length);
    size_t start = bytes.len;
    fz_pq_file_encode(&bytes, &file);
    uint32_t footer = (uint32_t)(bytes.len - start);
    fz_buf_append(&bytes, &footer, 4);
    fz_buf_append(&bytes, "PAR1", 4);
    if (!bytes.failed) {
        fuzz_parquet((const uint8_t *)bytes.ptr, bytes.len);
    }
    fz_buf_dispose(&bytes);
    return 0;
}
