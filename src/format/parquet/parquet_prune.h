// What a Parquet file knows of a column beside the row group's statistics: the page index and bloom filters. Both are hints: what is
// absent says nothing; damage in them is CORRUPT, which a reader that only wants to leave rows out may pass over.
#ifndef FZ_FORMAT_PARQUET_PARQUET_PRUNE_H
#define FZ_FORMAT_PARQUET_PARQUET_PRUNE_H

#include "format/parquet/parquet_reader.h"

struct fz_parquet_page {
    int64_t first_row, n_rows; // within the row group
    bool has_min_max;
    struct fz_value *min, *max;
    int64_t null_count; // -1 unknown
    bool all_null;
};
// The pages of a flat column as values of `type`, in `arena`; *n 0 when the file has no page index for it.
enum fz_code fz_parquet_file_pages(const struct fz_parquet_file *file, size_t row_group, int32_t field_id,
                                   const struct fz_type *type, struct fz_cancel *cancel, struct fz_arena *arena,
                                   struct fz_parquet_page **out, size_t *n, struct fz_err *err);

// Split-block bloom filters (parquet-format BloomFilter.md).
struct fz_parquet_bloom {
    const uint32_t *words; // 8 a block
    size_t n_blocks;
    int physical; // enum fz_pq_type of the column: what was hashed
};
// The filter of a flat column; n_blocks 0 when there is none, or none that can be asked with keys of `type`.
enum fz_code fz_parquet_file_bloom(const struct fz_parquet_file *file, size_t row_group, int32_t field_id,
                                   const struct fz_type *type, struct fz_cancel *cancel, struct fz_arena *arena,
                                   struct fz_parquet_bloom *out, struct fz_err *err);
// `key`: the number (integers, dates, timestamps, short decimals), or the XXH64 of the bytes (text, binary, fixed, UUID, long decimals).
bool fz_parquet_bloom_may_have(const struct fz_parquet_bloom *bloom, int64_t key);

// The filter of a column chunk as it stands in the file, header and bits; len 0: there is none, or one of an unknown kind.
enum fz_code fz_parquet_file_bloom_bytes(const struct fz_parquet_file *file, const struct fz_pq_column_chunk *chunk,
                                         struct fz_cancel *cancel, struct fz_arena *arena, struct fz_str *out,
                                         size_t *header_len, struct fz_err *err);

// For the writer: bytes of a filter for so many distinct values (a power of two, 32 .. max_bytes), setting bits, the header.
size_t fz_parquet_bloom_bytes(size_t n_distinct, double fpp, size_t max_bytes);
void fz_parquet_bloom_add(uint32_t *words, size_t n_blocks, uint64_t hash);
void fz_parquet_bloom_header_encode(struct fz_buf *out, size_t n_bytes);

#endif
