// What the files of the Parquet reader share: the file's schema as a tree of Iceberg shape, conversions from physical values to
// batch values, and the cursor over one column chunk. Flow: parquet_file.c (footer) -> parquet_schema.c (tree) ->
// parquet_reader.c (projection, I/O, batches) -> parquet_assemble.c (levels to columns) -> parquet_page.c (pages) ->
// parquet_values.c (values of a page) -> parquet_convert.c.
#ifndef FZ_FORMAT_PARQUET_PARQUET_READER_PRIV_H
#define FZ_FORMAT_PARQUET_PARQUET_READER_PRIV_H

#include "format/parquet/parquet_decode.h"
#include "format/parquet/parquet_reader.h"

enum {
    FZ_PQR_MAX_DEPTH = 64, // groups within groups
    FZ_PQR_BLOCK = 256, // values decoded at a time where a scratch is needed
    FZ_PQR_LEVELS = 1024, // levels looked ahead
    FZ_PQR_MAX_SLOTS = 1 << 24, // list elements in one batch of one column
    FZ_PQR_POS_ID = 2147483645, // _pos
};

// The file's schema: lists, maps and structs as Iceberg sees them, whatever form the groups have.
enum fz_pqr_kind { FZ_PQR_LEAF, FZ_PQR_STRUCT, FZ_PQR_LIST, FZ_PQR_MAP };
struct fz_pqr_node {
    enum fz_pqr_kind kind;
    const char *name;
    int32_t field_id; // the file's, else assigned
    bool required;
    int def_present; // from this definition level on the value is not NULL
    int def_element; // list, map: from this level on there is an element
    int rep; // list, map: repetition level of the elements; others: of the space they live in
    const struct fz_type *type;
    struct fz_pqr_node *children; // struct: fields; list: element; map: key, value
    size_t n_children;
    const struct fz_pq_schema_element *element; // leaf
    size_t leaf; // index of the column chunk (leaf), of the first leaf below (others); SIZE_MAX: no leaf below
    int max_def, max_rep; // leaf
    bool is_variant; // a group that says it is one
};

struct fz_parquet_file {
    _Atomic int refs;
    struct fz_store *store;
    struct fz_arena arena;
    const char *location;
    int64_t size_bytes;
    struct fz_pq_file meta;
    struct fz_pqr_node root; // STRUCT of the top-level columns
    size_t n_leaves;
    const struct fz_pqr_node **leaves;
    int64_t *first_rows; // of each row group
    bool has_ids;
};

enum fz_code fz_pqr_schema_build(struct fz_parquet_file *file, struct fz_err *err);
// Iceberg type of a leaf; NULL only when out of memory.
const struct fz_type *fz_pqr_leaf_type(struct fz_arena *arena, const struct fz_pq_schema_element *element);
const struct fz_pqr_node *fz_pqr_child_by_id(const struct fz_pqr_node *node, int32_t field_id);
const struct fz_pqr_node *fz_pqr_child_by_name(const struct fz_pqr_node *node, const char *name);

// Conversion of physical values to the batch layout of a type.
enum fz_pqr_op {
    FZ_PQR_OP_BOOL,
    FZ_PQR_OP_COPY4,
    FZ_PQR_OP_COPY8,
    FZ_PQR_OP_I32_I8,
    FZ_PQR_OP_I32_I16,
    FZ_PQR_OP_I32_I64,
    FZ_PQR_OP_I32_I128,
    FZ_PQR_OP_I32_MUL, // times factor, 64 bits
    FZ_PQR_OP_U8,
    FZ_PQR_OP_U16,
    FZ_PQR_OP_U32_I64,
    FZ_PQR_OP_I64_I16,
    FZ_PQR_OP_I64_I32,
    FZ_PQR_OP_I64_I128,
    FZ_PQR_OP_U64_I128,
    FZ_PQR_OP_I64_MUL, // times factor, checked
    FZ_PQR_OP_I64_DIV, // by factor, rounded down
    FZ_PQR_OP_I96, // factor: nanoseconds a unit
    FZ_PQR_OP_F32_F64,
    FZ_PQR_OP_F16_F32,
    FZ_PQR_OP_F16_F64,
    FZ_PQR_OP_STRING, // BYTE_ARRAY and FIXED
    FZ_PQR_OP_UUID,
    FZ_PQR_OP_DEC16, // big-endian bytes
    FZ_PQR_OP_DEC32,
    FZ_PQR_OP_DEC64,
    FZ_PQR_OP_DEC128,
    FZ_PQR_OP_NULL, // values that are there are not looked at
};
struct fz_pqr_conv {
    enum fz_pqr_op op;
    int64_t factor;
    size_t src_width; // bytes of a physical value, 0: BYTE_ARRAY and BOOLEAN
    size_t dst_width;
    bool utf8; // text to be validated
};
// False: the file's column cannot be read as that type.
bool fz_pqr_conv_choose(const struct fz_pq_schema_element *element, const struct fz_type *type,
                        struct fz_pqr_conv *out);
// `n` packed physical values (src_width bytes each) to `dst`. Strings point into `src`, which has slack behind it. False: a value
// does not fit the type.
bool fz_pqr_convert(const struct fz_pqr_conv *conv, const uint8_t *src, size_t n, void *dst);
// One BYTE_ARRAY value to dst[i].
bool fz_pqr_convert_bytes(const struct fz_pqr_conv *conv, const uint8_t *src, size_t len, void *dst, size_t i);

// parquet_stats.c: a leaf outside of lists and maps; a bound of statistics or of the page index as a value (NULL: not usable).
const struct fz_pqr_node *fz_pqr_find_leaf(const struct fz_pqr_node *node, int32_t field_id);
struct fz_value *fz_pqr_bound(const struct fz_pqr_conv *conv, const struct fz_type *type, struct fz_str bytes,
                              bool is_min, struct fz_arena *arena);

// A string of the batch from memory with slack behind it.
static inline void fz_pqr_put_string(struct fz_string *dst, const uint8_t *p, uint32_t len) {
    dst->length = len;
    if (len <= 12) {
        uint64_t low = fz_pqr_load64(p);
        uint32_t high = fz_pqr_load32(p + 8);
        if (len < 8) {
            low &= (UINT64_C(1) << 8 * len) - 1;
            high = 0;
        } else {
            high &= (uint32_t)((UINT64_C(1) << 8 * (len - 8)) - 1);
        }
        memcpy((char *)dst + 4, &low, 8);
        memcpy((char *)dst + 12, &high, 4);
    } else {
        memcpy(dst->prefix, p, 4);
        dst->u.ptr = (const char *)p;
    }
}

// Memory of pages: kept until the next batch, because strings point into it.
struct fz_pqr_block {
    struct fz_pqr_block *next;
    size_t size;
    uint8_t bytes[];
};

enum fz_pqr_values {
    FZ_PQR_VALUES_NONE,
    FZ_PQR_VALUES_PLAIN,
    FZ_PQR_VALUES_DICT,
    FZ_PQR_VALUES_RLE,
    FZ_PQR_VALUES_DELTA,
    FZ_PQR_VALUES_LENGTHS,
    FZ_PQR_VALUES_PREFIXES
};

// Neighbouring pages of a chunk that are fetched, where not all are.
struct fz_pqr_piece {
    int64_t offset, len; // in the file
    int64_t first_row;
    const uint8_t *bytes; // once they are there
};

// Cursor over one column chunk.
struct fz_pqr_leaf {
    const struct fz_parquet_file *file;
    const struct fz_pqr_node *node;
    const struct fz_pq_column_chunk *chunk;
    struct fz_pqr_conv conv;
    bool levels_only; // only the shape is wanted
    bool done; // nothing of the chunk is left
    int64_t skip; // rows to pass over before the next one that is read
    int64_t offset; // of `pos` in the file, for messages
    const uint8_t *pos, *end;
    struct fz_pqr_piece *pieces; // NULL: the whole chunk lies at pos
    size_t n_pieces, next_piece;
    int64_t chunk_left; // values (levels) in pages not yet opened
    // dictionary
    uint8_t *dict;
    size_t n_dict;
    struct fz_pqr_block *dict_block;
    // page at hand
    struct fz_pqr_block *page; // owned memory of the page, NULL: it lies in the chunk
    size_t page_left; // levels not yet read
    struct fz_pqr_rle rep, def;
    enum fz_pqr_values encoding;
    bool ascii; // no byte of the page's text has its high bit set
    const uint8_t *values, *values_end;
    size_t bit; // PLAIN booleans
    struct fz_pqr_rle indexes;
    struct fz_pqr_delta delta, suffixes;
    struct fz_buf last; // DELTA_BYTE_ARRAY: the value before
    struct fz_pqr_block *kept, *spare;
    // levels looked ahead in the page at hand, and those of the batch
    uint8_t *ahead_def, *ahead_rep;
    size_t ahead_at, ahead_n;
    uint8_t *batch_def, *batch_rep;
    size_t n_levels, cap_levels;
    size_t n_present; // values of the batch that are not NULL
};

enum fz_code fz_pqr_corrupt(const struct fz_pqr_leaf *leaf, struct fz_err *err, const char *what);
struct fz_pqr_block *fz_pqr_block_take(struct fz_pqr_leaf *leaf, size_t size, struct fz_err *err); // with slack
void fz_pqr_leaf_release(struct fz_pqr_leaf *leaf); // the blocks of the batch before
void fz_pqr_leaf_dispose(struct fz_pqr_leaf *leaf);
// Makes sure there is a page with levels left; sets `done` at the end of the chunk.
enum fz_code fz_pqr_page_next(struct fz_pqr_leaf *leaf, struct fz_err *err);
// Makes one page, header and body of `len` bytes with slack behind, the page at hand and the last one.
enum fz_code fz_pqr_page_open(struct fz_pqr_leaf *leaf, const uint8_t *page, size_t len, int64_t offset,
                              struct fz_err *err);
// The pages of a flat chunk by its offset index, in `arena`; *n 0 when there is none, or one that does not cover the chunk.
enum fz_code fz_pqr_page_locations(const struct fz_parquet_file *file, const struct fz_pq_column_chunk *chunk,
                                   int64_t num_rows, struct fz_cancel *cancel, struct fz_arena *arena,
                                   const struct fz_pq_page_location **out, size_t *n, struct fz_err *err);
// Decodes a whole PLAIN buffer of `n` values (dictionary).
enum fz_code fz_pqr_values_plain(struct fz_pqr_leaf *leaf, size_t n, void *dst, struct fz_err *err);
// Next `n` values that are not NULL of the page at hand.
enum fz_code fz_pqr_values_read(struct fz_pqr_leaf *leaf, size_t n, void *dst, struct fz_err *err);

// Passes over as many.
enum fz_code fz_pqr_values_skip(struct fz_pqr_leaf *leaf, size_t n, struct fz_err *err);

// What fills one column of the batch.
enum fz_pqr_fill {
    FZ_PQR_FILL_LEAF,
    FZ_PQR_FILL_STRUCT,
    FZ_PQR_FILL_LIST,
    FZ_PQR_FILL_MAP,
    FZ_PQR_FILL_VARIANT, // children[0] is the group of metadata, value, typed_value
    FZ_PQR_FILL_MISSING,
    FZ_PQR_FILL_POS
};
struct fz_pqr_target {
    enum fz_pqr_fill fill;
    const struct fz_field *field;
    const struct fz_type *type;
    const struct fz_pqr_node *node;
    struct fz_pqr_leaf
        *leaf; // leaf: the values; nested: the leaf whose levels give the shape (NULL: there is none in the file)
    bool own_leaf; // nested: that leaf is read for its levels only, no child reads it
    struct fz_pqr_target *children;
    size_t n_children;
    struct fz_pqr_variant *variant; // FZ_PQR_FILL_VARIANT
};
// parquet_variant.c
bool fz_pqr_is_variant(const struct fz_pqr_node *node); // whether a group has what makes a variant
enum fz_code fz_pqr_variant_new(const struct fz_pqr_node *node, struct fz_pqr_variant **out, struct fz_err *err);
void fz_pqr_variant_free(struct fz_pqr_variant *variant);
struct fz_column *fz_pqr_variant_group(struct fz_pqr_variant *variant); // to be filled before
enum fz_code fz_pqr_variant_build(struct fz_pqr_target *target, struct fz_column *column, size_t slots,
                                  struct fz_err *err);
// Levels of the next `n_rows` rows into batch_def and batch_rep, and their values densely into `column` (NULL: levels only).
enum fz_code fz_pqr_read_levels(struct fz_pqr_leaf *leaf, struct fz_column *column, size_t n_rows, struct fz_err *err);
// Fills a top-level column with `n` rows.
enum fz_code fz_pqr_fill_column(struct fz_pqr_target *target, struct fz_column *column, size_t n, struct fz_err *err);

#endif
