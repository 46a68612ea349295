// The Parquet footer and page headers (parquet.thrift) as plain data, with Thrift compact decode and encode. Shared by reader and
// writer. Everything decoded lands in an arena; counts are capped by the bytes there are.
#ifndef FZ_FORMAT_PARQUET_PARQUET_META_H
#define FZ_FORMAT_PARQUET_PARQUET_META_H

#include "base/mem.h"

enum fz_pq_type {
    FZ_PQ_BOOLEAN,
    FZ_PQ_INT32,
    FZ_PQ_INT64,
    FZ_PQ_INT96,
    FZ_PQ_FLOAT,
    FZ_PQ_DOUBLE,
    FZ_PQ_BYTE_ARRAY,
    FZ_PQ_FIXED
};
enum fz_pq_repetition { FZ_PQ_REQUIRED, FZ_PQ_OPTIONAL, FZ_PQ_REPEATED };
enum fz_pq_encoding {
    FZ_PQ_PLAIN = 0,
    FZ_PQ_PLAIN_DICTIONARY = 2,
    FZ_PQ_RLE = 3,
    FZ_PQ_BIT_PACKED = 4,
    FZ_PQ_DELTA_BINARY_PACKED = 5,
    FZ_PQ_DELTA_LENGTH_BYTE_ARRAY = 6,
    FZ_PQ_DELTA_BYTE_ARRAY = 7,
    FZ_PQ_RLE_DICTIONARY = 8,
    FZ_PQ_BYTE_STREAM_SPLIT = 9,
};
enum fz_pq_codec {
    FZ_PQ_UNCOMPRESSED,
    FZ_PQ_SNAPPY,
    FZ_PQ_GZIP,
    FZ_PQ_LZO,
    FZ_PQ_BROTLI,
    FZ_PQ_LZ4,
    FZ_PQ_ZSTD,
    FZ_PQ_LZ4_RAW
};
enum fz_pq_converted { // ConvertedType
    FZ_PQ_CONV_UTF8,
    FZ_PQ_CONV_MAP,
    FZ_PQ_CONV_MAP_KEY_VALUE,
    FZ_PQ_CONV_LIST,
    FZ_PQ_CONV_ENUM,
    FZ_PQ_CONV_DECIMAL,
    FZ_PQ_CONV_DATE,
    FZ_PQ_CONV_TIME_MILLIS,
    FZ_PQ_CONV_TIME_MICROS,
    FZ_PQ_CONV_TIMESTAMP_MILLIS,
    FZ_PQ_CONV_TIMESTAMP_MICROS,
    FZ_PQ_CONV_UINT_8,
    FZ_PQ_CONV_UINT_16,
    FZ_PQ_CONV_UINT_32,
    FZ_PQ_CONV_UINT_64,
    FZ_PQ_CONV_INT_8,
    FZ_PQ_CONV_INT_16,
    FZ_PQ_CONV_INT_32,
    FZ_PQ_CONV_INT_64,
    FZ_PQ_CONV_JSON,
    FZ_PQ_CONV_BSON,
    FZ_PQ_CONV_INTERVAL,
    FZ_PQ_CONV_NONE = -1
};
enum fz_pq_logical { // LogicalType union field ids
    FZ_PQ_LOGICAL_NONE = 0,
    FZ_PQ_LOGICAL_STRING = 1,
    FZ_PQ_LOGICAL_MAP = 2,
    FZ_PQ_LOGICAL_LIST = 3,
    FZ_PQ_LOGICAL_ENUM = 4,
    FZ_PQ_LOGICAL_DECIMAL = 5,
    FZ_PQ_LOGICAL_DATE = 6,
    FZ_PQ_LOGICAL_TIME = 7,
    FZ_PQ_LOGICAL_TIMESTAMP = 8,
    FZ_PQ_LOGICAL_INTEGER = 10,
    FZ_PQ_LOGICAL_UNKNOWN = 11,
    FZ_PQ_LOGICAL_JSON = 12,
    FZ_PQ_LOGICAL_BSON = 13,
    FZ_PQ_LOGICAL_UUID = 14,
    FZ_PQ_LOGICAL_FLOAT16 = 15,
    FZ_PQ_LOGICAL_VARIANT = 16,
    FZ_PQ_LOGICAL_GEOMETRY = 17,
    FZ_PQ_LOGICAL_GEOGRAPHY = 18,
};
enum fz_pq_time_unit { FZ_PQ_MILLIS = 1, FZ_PQ_MICROS = 2, FZ_PQ_NANOS = 3 };

struct fz_pq_schema_element {
    int type; // enum fz_pq_type, -1 for groups
    int32_t type_length;
    int repetition; // -1 for the root when not written
    const char *name;
    int32_t num_children;
    int converted; // enum fz_pq_converted
    int32_t scale, precision;
    int32_t field_id; // -1: none
    enum fz_pq_logical logical;
    bool logical_utc; // time, timestamp
    enum fz_pq_time_unit unit; // time, timestamp
    int logical_bit_width; // integer
    bool logical_signed;
};
struct fz_pq_statistics {
    bool has_min,
        has_max; // min_value / max_value (or the deprecated pair when only those exist; then deprecated is set)
    bool deprecated;
    bool min_exact, max_exact; // true unless written false
    struct fz_str min, max;
    int64_t null_count, distinct_count; // -1 unknown
};
struct fz_pq_encoding_stats {
    int page_type, encoding; // enum fz_pq_page_type, enum fz_pq_encoding
    int32_t count; // pages
};
struct fz_pq_column_chunk {
    int type;
    const struct fz_str *path; // path_in_schema
    size_t n_path;
    int codec;
    int64_t num_values, total_uncompressed_size, total_compressed_size;
    int64_t data_page_offset, index_page_offset, dictionary_page_offset; // -1: not written
    const int *encodings;
    size_t n_encodings;
    const struct fz_pq_encoding_stats *encoding_stats; // n_encoding_stats 0: not written
    size_t n_encoding_stats;
    struct fz_pq_statistics statistics;
    int64_t bloom_filter_offset, bloom_filter_length; // -1: none
    int64_t offset_index_offset, column_index_offset; // -1: none
    int32_t offset_index_length, column_index_length;
    const char *file_path; // NULL: same file
    bool encrypted;
};
struct fz_pq_row_group {
    const struct fz_pq_column_chunk *columns;
    size_t n_columns;
    int64_t total_byte_size, num_rows, file_offset, total_compressed_size;
    const int32_t (*sorting)[3]; // column_idx, descending, nulls_first
    size_t n_sorting;
};
struct fz_pq_file {
    int32_t version;
    const struct fz_pq_schema_element *schema;
    size_t n_schema;
    int64_t num_rows;
    const struct fz_pq_row_group *row_groups;
    size_t n_row_groups;
    struct fz_key_value {
        const char *key, *value;
    } * key_values;
    size_t n_key_values;
    const char *created_by;
    size_t n_column_orders; // TYPE_ORDER for each leaf when written
};
enum fz_pq_page_type { FZ_PQ_DATA_PAGE = 0, FZ_PQ_INDEX_PAGE = 1, FZ_PQ_DICTIONARY_PAGE = 2, FZ_PQ_DATA_PAGE_V2 = 3 };
struct fz_pq_page_header {
    enum fz_pq_page_type type;
    int32_t uncompressed_page_size, compressed_page_size;
    bool has_crc;
    uint32_t crc;
    int32_t num_values, num_nulls, num_rows; // nulls and rows: v2 only
    int encoding, definition_level_encoding, repetition_level_encoding;
    int32_t definition_levels_byte_length, repetition_levels_byte_length; // v2
    bool is_compressed; // v2
    bool is_sorted; // dictionary
    struct fz_pq_statistics statistics;
};
struct fz_pq_page_location {
    int64_t offset;
    int32_t compressed_page_size;
    int64_t first_row_index;
};
struct fz_pq_offset_index {
    const struct fz_pq_page_location *pages;
    size_t n_pages;
};
struct fz_pq_column_index {
    size_t n_pages;
    const bool *null_pages;
    const struct fz_str *min_values, *max_values;
    int boundary_order; // 0 unordered, 1 ascending, 2 descending
    const int64_t *null_counts; // NULL: not written
};

// Decode: `data` must hold the whole structure; returns bytes used in *used (may be NULL).
enum fz_code fz_pq_file_decode(struct fz_arena *arena, const void *data, size_t len, struct fz_pq_file *out,
                               struct fz_err *err);
enum fz_code fz_pq_page_header_decode(struct fz_arena *arena, const void *data, size_t len,
                                      struct fz_pq_page_header *out, size_t *used, struct fz_err *err);
enum fz_code fz_pq_offset_index_decode(struct fz_arena *arena, const void *data, size_t len,
                                       struct fz_pq_offset_index *out, struct fz_err *err);
enum fz_code fz_pq_column_index_decode(struct fz_arena *arena, const void *data, size_t len,
                                       struct fz_pq_column_index *out, struct fz_err *err);
// Encode (appends).
void fz_pq_file_encode(struct fz_buf *out, const struct fz_pq_file *file);
void fz_pq_page_header_encode(struct fz_buf *out, const struct fz_pq_page_header *header);
void fz_pq_offset_index_encode(struct fz_buf *out, const struct fz_pq_offset_index *index);
void fz_pq_column_index_encode(struct fz_buf *out, const struct fz_pq_column_index *index);
// Page bytes. Decompress: `out` has exactly `out_len` bytes to fill. Compress: appends. All codecs but LZO.
enum fz_code fz_pq_decompress(int codec, const void *data, size_t len, void *out, size_t out_len, struct fz_err *err);
enum fz_code fz_pq_compress(int codec, int level /* -1 default */, const void *data, size_t len, struct fz_buf *out,
                            struct fz_err *err);

#endif
