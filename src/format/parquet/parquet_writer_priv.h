// Inside of the Parquet writer, shared by parquet_writer*.c only. Path of a value:
//
//   batch column -> shred (levels, present rows) -> column (gather, range, dictionary or PLAIN) -> page (form, compress)
//                -> chunk buffer -> row group in memory -> file
//
// An encoder makes row groups and knows no file, so each thread can have its own; a writer puts complete row groups into a file, be
// they encoded or copied from another file (parquet_copy.c). A leaf keeps the page it is filling as level bytes plus dictionary
// indexes or PLAIN bytes; pages that are complete are kept encoded until their row group is. Nothing is kept per row.
#ifndef FZ_FORMAT_PARQUET_PARQUET_WRITER_PRIV_H
#define FZ_FORMAT_PARQUET_PARQUET_WRITER_PRIV_H

#include "format/parquet/parquet_writer.h"

// How a leaf's values lie in the batch and in the file.
enum fz_pw_kind {
    FZ_PW_BOOL,
    FZ_PW_I16, // short decimals, widened to INT32
    FZ_PW_I32,
    FZ_PW_I64,
    FZ_PW_F32,
    FZ_PW_F64,
    FZ_PW_DECIMAL128, // FIXED, big-endian, minimal length
    FZ_PW_UUID, // FIXED(16), top bit of the batch's form flipped back
    FZ_PW_BYTES, // BYTE_ARRAY
    FZ_PW_FIXED, // FIXED(length) out of batch strings
};

// Smallest and greatest value. Integers, short decimals and floats (as order-preserving integers: -0.0 < +0.0, no NaN) in
// lo/hi; long decimals and UUIDs in wide_*; text and bytes as copies.
struct fz_pw_range {
    bool set;
    int64_t lo, hi;
    struct fz_i128 wide_lo, wide_hi;
    struct fz_buf bytes_lo, bytes_hi;
};

// Distinct values of a column chunk in order of appearance, as the PLAIN bytes of the dictionary page, with an open-addressing
// table over them. `width` 4 and 8 have tables with the key inside; other widths and text hash.
struct fz_pw_dict {
    size_t width; // bytes of a value, 0: text
    uint32_t n;
    struct fz_buf values;
    struct fz_pw_span { // text only
        uint64_t head, tail; // the halves of the batch's string: length and prefix, rest or (above 12 bytes) 0
        uint32_t offset, length;
        uint32_t page; // number of the page that had it last
    } * spans;
    size_t spans_cap;
    void *slots;
    size_t n_slots;
    size_t limit_bytes;
    bool nomem;
};

// What a bloom filter is made of: hashes until the row group ends, or the largest filter when there are too many.
struct fz_pw_bloom {
    struct fz_parquet_bloom_options options;
    uint64_t *hashes;
    size_t n, cap;
    uint32_t *words;
    size_t n_bytes;
};

struct fz_pw_page_entry { // one page of the row group being built; offset relative to the first data page
    int64_t offset;
    int32_t compressed_page_size;
    int64_t first_row;
    int64_t null_count;
    bool null_page;
    struct fz_str min, max; // arena of the writer
};

struct fz_pw_leaf {
    // fixed
    enum fz_pw_kind kind;
    int physical; // enum fz_pq_type
    size_t width; // bytes of a PLAIN value, 0 for BYTE_ARRAY
    const struct fz_type *type;
    int32_t field_id;
    uint8_t max_def, max_rep;
    bool required; // the leaf itself
    struct fz_str *path;
    size_t n_path;
    const char *name; // dotted, for messages
    enum fz_metrics_mode metrics;
    int metrics_length;
    bool no_dictionary;
    struct fz_pw_bloom bloom;
    bool left_out; // not encoded: its chunk is copied from another file
    // page being filled
    uint8_t *defs, *reps;
    size_t defs_cap, reps_cap, n_levels;
    bool has_defs; // else all max_def
    size_t n_present;
    int64_t page_rows;
    uint32_t *indexes;
    size_t indexes_cap;
    struct fz_buf plain; // PLAIN bytes; one byte per boolean
    size_t page_plain_bytes; // what the page would weigh as PLAIN
    struct fz_pw_range page_range;
    // row group being built
    bool use_dict;
    bool dict_used; // a page refers to it
    int encoding; // of pages without the dictionary; -1: not chosen yet
    int encoding_groups; // row groups that keep it
    int32_t page_counts[FZ_PQ_BYTE_STREAM_SPLIT + 1]; // data pages by encoding
    int32_t page_counts_v2[FZ_PQ_BYTE_STREAM_SPLIT + 1]; // those of version 2, which are only copied
    // A dictionary page copied from another file with the pages that refer to it (parquet_patch.c): written as it is when no entry came
    // to its dict_page_n; len 0: none.
    struct fz_str dict_page;
    int64_t dict_page_raw;
    int dict_page_encoding;
    uint32_t dict_page_n;
    struct fz_pw_dict dict;
    struct fz_buf chunk; // finished pages
    int64_t chunk_uncompressed;
    int64_t chunk_values, chunk_nulls, chunk_nans, chunk_rows;
    struct fz_pw_range chunk_range, previous_range; // previous page, for the boundary order
    bool ascending, descending, index_ok;
    struct fz_pw_page_entry *pages;
    size_t n_pages, pages_cap;
    int64_t page_in, page_out; // bytes before and after compression, all row groups so far, for the size estimate
};

enum fz_pw_node_kind { FZ_PW_LEAF, FZ_PW_STRUCT, FZ_PW_LIST, FZ_PW_MAP };
struct fz_pw_node {
    enum fz_pw_node_kind kind;
    const char *name;
    int32_t field_id;
    bool required;
    bool left_out; // roots only: no leaf below is encoded
    bool variant; // struct of metadata and value, made of one byte string of the batch
    uint8_t def, rep; // levels of a value that is there (lists: of the list itself, its elements have one more of each)
    size_t column_ix; // in the batch or in the struct column
    size_t leaf;
    struct fz_pw_node *children;
    size_t n_children;
    // slots handed to the children (shred)
    uint32_t *rows;
    uint8_t *defs, *reps;
    size_t rows_cap, defs_cap, reps_cap;
};

struct fz_pw_index { // page index of a column chunk
    bool has_columns;
    struct fz_pq_offset_index offsets;
    struct fz_pq_column_index columns;
};

// A complete column chunk. Offsets in `meta` and `index` count from its first byte until it is put into a file.
struct fz_pw_chunk {
    struct fz_pq_column_chunk meta;
    struct fz_pw_index index;
    struct fz_str bloom; // header and bits of the filter, in the group's arena; len 0: none
    struct fz_buf dictionary, pages; // encoded; or
    const char *copied; // bytes of another file, in the group's `copied`
    size_t copied_len;
    int64_t nulls, nans;
    struct fz_pw_range range;
};
#define FZ_PW_COPIED_FROM "frazil.copied-from"
struct fz_parquet_group {
    struct fz_arena arena; // what meta and index point to
    int64_t rows;
    struct fz_pw_chunk *chunks; // one per leaf
    size_t n_chunks;
    char *copied;
    const char *copied_from; // who wrote what is copied, when it was not us: names with "; " between; or NULL
};

// Whether pages of a leaf are compressed with few searches for what came before (parquet_writer_page.c), and for how many of them that
// has been settled.
struct fz_pw_quick {
    bool on;
    uint8_t pages;
};

// Room in which values get their form; needed only while rows are appended or a row group is finished.
struct fz_pw_scratch {
    void *compressor; // ZSTD_CCtx
    struct fz_pw_quick *quick; // per leaf
    size_t quick_cap;
    struct fz_buf numbers, suffixes, bytes, trial, compressed, body, gather;
    uint32_t *present, *widened;
    size_t present_cap, widened_cap;
    uint8_t *levels;
    size_t levels_cap;
};

struct fz_parquet_encoder {
    struct fz_arena arena; // schema
    struct fz_arena group_arena; // the row group being built
    enum fz_pq_codec codec;
    int level;
    enum fz_parquet_encodings encodings;
    int64_t group_rows_max, group_bytes_max, page_rows_max;
    size_t page_bytes_max, dict_bytes_max;
    struct fz_pw_node *roots;
    size_t n_roots;
    struct fz_pw_leaf *leaves;
    size_t n_leaves, leaves_cap;
    struct fz_pq_schema_element *schema;
    size_t n_schema, schema_cap;
    int64_t group_rows, page_rows;
    bool broken; // an append failed half-way
    struct fz_parquet_pool *pool; // where scratch comes from and goes to; NULL: it is the encoder's own
    struct fz_pw_scratch scratch;
};

struct fz_pw_total { // of one leaf over the whole file
    int64_t size, values, nulls, nans;
    struct fz_pw_range range;
};

struct fz_parquet_writer {
    struct fz_writer *sink;
    struct fz_parquet_encoder *encoder; // the schema; and the rows that are appended one batch after the other
    struct fz_arena arena; // key values
    struct fz_parquet_group **added; // all row groups, kept for footer and page index; their bytes are gone
    struct fz_pq_row_group *groups;
    size_t n_groups, added_cap, groups_cap;
    struct fz_pw_total *totals;
    struct fz_key_value *key_values; // with room for one more
    size_t n_key_values;
    int64_t pos, rows;
    bool broken;
    struct fz_buf body;
};

enum { FZ_PW_NO_ROW = UINT32_MAX };
// Slots of a nested column: `rows[i]` is a row of the column, or FZ_PW_NO_ROW where an ancestor is NULL or empty; then
// defs[i] is final. reps may not be NULL here.
struct fz_pw_slots {
    const uint32_t *rows;
    const uint8_t *defs, *reps;
    size_t n;
};

// parquet_writer_schema.c
enum fz_code fz_pw_schema_build(struct fz_parquet_encoder *w, const struct fz_parquet_write *options,
                                struct fz_err *err);
void fz_pw_node_dispose(struct fz_pw_node *node);
// parquet_writer_dict.c: indexes of `n` values into out; returns how many were done, fewer when the dictionary is full (or nomem).
size_t fz_pw_dict_add(struct fz_pw_dict *dict, const void *values, size_t n, uint32_t *out);
void fz_pw_dict_clear(struct fz_pw_dict *dict); // keeps memory
size_t fz_pw_dict_memory(const struct fz_pw_dict *dict);
void fz_pw_dict_dispose(struct fz_pw_dict *dict);
// Appends the PLAIN form of the values behind `indexes`.
void fz_pw_dict_expand(const struct fz_pw_dict *dict, const uint32_t *indexes, size_t n, struct fz_buf *out);
// parquet_writer_bloom.c: `n` values (width bytes each, 0: struct fz_string); those of a dictionary; the filter, then empty again.
enum fz_code fz_pw_bloom_add(struct fz_pw_bloom *bloom, size_t width, const void *values, size_t n, struct fz_err *err);
enum fz_code fz_pw_bloom_add_dict(struct fz_pw_bloom *bloom, const struct fz_pw_dict *dict, struct fz_err *err);
enum fz_code fz_pw_bloom_finish(struct fz_pw_bloom *bloom, struct fz_arena *arena, struct fz_str *out,
                                struct fz_err *err);
void fz_pw_bloom_dispose(struct fz_pw_bloom *bloom);
// parquet_writer_range.c
// Widens the range by `n` gathered values (physical form; DECIMAL128 and UUID as struct fz_i128, text as struct fz_string).
void fz_pw_range_add(struct fz_pw_range *range, enum fz_pw_kind kind, const void *values, size_t n, int64_t *nans);
void fz_pw_range_merge(struct fz_pw_range *into, enum fz_pw_kind kind, const struct fz_pw_range *other);
void fz_pw_range_clear(struct fz_pw_range *range);
void fz_pw_range_dispose(struct fz_pw_range *range);
int fz_pw_range_compare(enum fz_pw_kind kind, const struct fz_pw_range *a, const struct fz_pw_range *b, bool upper);
enum fz_code fz_pw_range_check(const struct fz_pw_range *range, struct fz_err *err);
// The bound as Parquet statistics bytes, in `arena`; text and bytes longer than `max_len` are cut (and *exact cleared);
// false when there is no such upper bound.
bool fz_pw_range_stat(struct fz_arena *arena, const struct fz_pw_leaf *leaf, const struct fz_pw_range *range,
                      bool upper, size_t max_len, struct fz_str *out, bool *exact);
// The bound as Iceberg value (borrows bytes from the range).
struct fz_value fz_pw_range_value(const struct fz_pw_leaf *leaf, const struct fz_pw_range *range, bool upper);
// parquet_writer_column.c
enum fz_code fz_pw_leaf_append_flat(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf,
                                    const struct fz_column *column, size_t from, const uint32_t *selection, size_t n,
                                    struct fz_err *err);
enum fz_code fz_pw_leaf_append_slots(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf,
                                     const struct fz_column *column, const struct fz_pw_slots *slots,
                                     struct fz_err *err);
enum fz_code fz_pw_fail_null(const char *name, struct fz_err *err);
// parquet_writer_shred.c
enum fz_code fz_pw_shred(struct fz_parquet_encoder *w, struct fz_pw_node *node, const struct fz_column *column,
                         size_t from, const uint32_t *selection, size_t n, struct fz_err *err);
// parquet_writer_page.c
size_t fz_pw_leaf_page_bytes(const struct fz_pw_leaf *leaf); // of the page being filled, before compression
enum fz_code fz_pw_page_cut(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf,
                            struct fz_err *err); // nothing when empty
enum fz_code fz_pw_leaf_to_plain(struct fz_pw_leaf *leaf, struct fz_err *err); // the current page and those after it
enum fz_code fz_pw_leaf_start(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, struct fz_err *err);
// Moves the leaf's pages into a chunk; the leaf is empty after that.
enum fz_code fz_pw_leaf_finish(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, struct fz_pw_chunk *out,
                               struct fz_err *err);
void fz_pw_leaf_dispose(struct fz_pw_leaf *leaf);
// Appends the compressed bytes. `leaf`: whose data page it is; NULL: something else.
enum fz_code fz_pw_compress(struct fz_parquet_encoder *w, const struct fz_pw_leaf *leaf, const void *data, size_t len,
                            struct fz_buf *out, struct fz_err *err);
// parquet_writer_encoding.c
// Appends n values, given as PLAIN bytes (of `width` each, 0: byte arrays), in another form.
enum fz_code fz_pw_encode_values(struct fz_pw_scratch *scratch, int encoding, size_t width, const char *plain,
                                 size_t plain_len, size_t n, struct fz_buf *out, struct fz_err *err);
// Sets leaf->encoding by the page being filled, which has PLAIN bytes.
enum fz_code fz_pw_encoding_choose(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, struct fz_err *err);
// Whether the page being filled, which has dictionary indexes of `width` bits, would be smaller as DELTA_BINARY_PACKED, not even counting
// the dictionary.
enum fz_code fz_pw_delta_beats(struct fz_parquet_encoder *w, const struct fz_pw_leaf *leaf, int width, bool *beats,
                               struct fz_err *err);
// parquet_writer_scratch.c
void fz_pw_scratch_dispose(struct fz_pw_scratch *scratch);
void fz_pw_scratch_take(struct fz_parquet_encoder *w); // from the encoder's pool, if it has one; and back
void fz_pw_scratch_give(struct fz_parquet_encoder *w);
// parquet_encoder.c
struct fz_parquet_group *fz_pw_group_new(size_t n_leaves, struct fz_err *err); // NULL: out of memory
void fz_pw_group_drop_bytes(struct fz_parquet_group *group); // bytes and ranges; what the footer needs stays
// parquet_writer_rle.c: the RLE/bit-packing hybrid.
void fz_pw_rle_append(struct fz_buf *out, const uint32_t *values, size_t n, int bit_width);
void fz_pw_rle_run(struct fz_buf *out, uint32_t value, size_t n, int bit_width);
int fz_pw_bit_width(uint32_t max_value);

#endif
