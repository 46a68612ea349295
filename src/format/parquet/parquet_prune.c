// Implementation of format/parquet/parquet_prune.h.
#include "format/parquet/parquet_prune.h"

#include <math.h>

#include "base/hash.h"
#include "format/parquet/parquet_reader_priv.h"
#include "format/parquet/parquet_thrift.h"

enum { BLOCK_WORDS = 8, BLOCK_BYTES = 32, MAX_BLOOM_BYTES = 128 << 20, HEADER_BYTES = 64, MAX_INDEX_BYTES = 64 << 20 };

static enum fz_code read_bytes(const struct fz_parquet_file *file, int64_t offset, int64_t len, const char *what,
                               struct fz_cancel *cancel, struct fz_arena *arena, uint8_t **out, struct fz_err *err) {
    int64_t end = 0;
    if (offset < 4 || len < 0 || __builtin_add_overflow(offset, len, &end) || end > file->size_bytes - 8) {
        return fz_fail(err, FZ_CORRUPT, "%s: %s lies outside of the file", file->location, what);
    }
    *out = fz_arena_alloc(arena, (size_t)len + FZ_PQR_SLACK);
    if (*out == NULL) {
        return fz_fail_nomem(err, (size_t)len);
    }
    return fz_store_read(file->store, file->location, offset, (size_t)len, *out, cancel, err);
}

// ---- page index

static enum fz_code fill_pages(const struct fz_pqr_conv *conv, const struct fz_type *type, int64_t num_rows,
                               const struct fz_pq_offset_index *offsets, const struct fz_pq_column_index *columns,
                               struct fz_arena *arena, struct fz_parquet_page **out, size_t *n, struct fz_err *err) {
    struct fz_parquet_page *pages = fz_arena_array(arena, offsets->n_pages + 1, sizeof *pages);
    if (pages == NULL) {
        return fz_fail_nomem(err, offsets->n_pages * sizeof *pages);
    }
    for (size_t i = 0; i < offsets->n_pages; i++) {
        int64_t first = offsets->pages[i].first_row_index;
        int64_t next = i + 1 < offsets->n_pages ? offsets->pages[i + 1].first_row_index : num_rows;
        if (first != (i == 0 ? 0 : pages[i - 1].first_row + pages[i - 1].n_rows) || next < first || next > num_rows) {
            return FZ_OK; // an index that does not cover the rows says nothing
        }
        pages[i] = (struct fz_parquet_page){.first_row = first, .n_rows = next - first, .null_count = -1};
        pages[i].all_null = columns->null_pages[i];
        if (columns->null_counts != NULL && columns->null_counts[i] >= 0 && columns->null_counts[i] <= next - first) {
            pages[i].null_count = columns->null_counts[i];
        }
        if (!pages[i].all_null) {
            pages[i].min = fz_pqr_bound(conv, type, columns->min_values[i], true, arena);
            pages[i].max = fz_pqr_bound(conv, type, columns->max_values[i], false, arena);
            pages[i].has_min_max = pages[i].min != NULL && pages[i].max != NULL;
        }
    }
    *out = pages;
    *n = offsets->n_pages;
    return FZ_OK;
}

enum fz_code fz_pqr_page_locations(const struct fz_parquet_file *file, const struct fz_pq_column_chunk *chunk,
                                   int64_t num_rows, struct fz_cancel *cancel, struct fz_arena *arena,
                                   const struct fz_pq_page_location **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pq_offset_index offsets;
    uint8_t *bytes = NULL;
    *n = 0;
    if (chunk->offset_index_offset < 0 || chunk->offset_index_length <= 0 ||
        chunk->offset_index_length > MAX_INDEX_BYTES) {
        return FZ_OK;
    }
    FZ_TRY(read_bytes(file, chunk->offset_index_offset, chunk->offset_index_length, "an offset index", cancel, arena,
                      &bytes, err));
    FZ_TRY(fz_pq_offset_index_decode(arena, bytes, (size_t)chunk->offset_index_length, &offsets, err));
    int64_t at = chunk->data_page_offset, row = 0, end = 0;
    for (size_t i = 0; i < offsets.n_pages; i++) { // every page, one after the other, from the first row on
        const struct fz_pq_page_location *p = &offsets.pages[i];
        if (p->offset != at || p->compressed_page_size <= 0 || p->first_row_index < row ||
            (i == 0 && p->first_row_index != 0) || p->first_row_index >= num_rows ||
            __builtin_add_overflow(at, p->compressed_page_size, &at)) {
            return FZ_OK;
        }
        row = p->first_row_index + 1;
    }
    int64_t start = chunk->dictionary_page_offset > 0 && chunk->dictionary_page_offset < chunk->data_page_offset
                        ? chunk->dictionary_page_offset
                        : chunk->data_page_offset;
    if (!__builtin_add_overflow(start, chunk->total_compressed_size, &end) && at <= end) {
        *out = offsets.pages;
        *n = offsets.n_pages;
    }
out:
    return rc;
}

enum fz_code fz_parquet_file_pages(const struct fz_parquet_file *file, size_t row_group, int32_t field_id,
                                   const struct fz_type *type, struct fz_cancel *cancel, struct fz_arena *arena,
                                   struct fz_parquet_page **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pqr_conv conv;
    struct fz_pq_offset_index offsets;
    struct fz_pq_column_index columns;
    uint8_t *bytes = NULL;
    *n = 0;
    const struct fz_pqr_node *leaf = fz_pqr_find_leaf(&file->root, field_id);
    if (row_group >= file->meta.n_row_groups || leaf == NULL || leaf->max_rep > 0 ||
        !fz_pqr_conv_choose(leaf->element, type, &conv) || conv.op == FZ_PQR_OP_I96 || conv.op == FZ_PQR_OP_NULL) {
        return FZ_OK;
    }
    const struct fz_pq_row_group *group = &file->meta.row_groups[row_group];
    const struct fz_pq_column_chunk *chunk = &group->columns[leaf->leaf];
    if (chunk->encrypted || chunk->type != leaf->element->type || chunk->offset_index_offset < 0 ||
        chunk->column_index_offset < 0 || chunk->offset_index_length <= 0 || chunk->column_index_length <= 0 ||
        chunk->offset_index_length > MAX_INDEX_BYTES || chunk->column_index_length > MAX_INDEX_BYTES) {
        return FZ_OK;
    }
    FZ_TRY(read_bytes(file, chunk->column_index_offset, chunk->column_index_length, "a column index", cancel, arena,
                      &bytes, err));
    FZ_TRY(fz_pq_column_index_decode(arena, bytes, (size_t)chunk->column_index_length, &columns, err));
    FZ_TRY(read_bytes(file, chunk->offset_index_offset, chunk->offset_index_length, "an offset index", cancel, arena,
                      &bytes, err));
    FZ_TRY(fz_pq_offset_index_decode(arena, bytes, (size_t)chunk->offset_index_length, &offsets, err));
    if (offsets.n_pages == columns.n_pages && offsets.n_pages > 0) {
        FZ_TRY(fill_pages(&conv, type, group->num_rows, &offsets, &columns, arena, out, n, err));
    }
out:
    return rc;
}

// ---- bloom filters

static const uint32_t SALT[BLOCK_WORDS] = {0x47b6137bu, 0x44974d91u, 0x8824ad5bu, 0xa2b7289du,
                                           0x705495c7u, 0x2df1424bu, 0x9efc4947u, 0x5c6bfb31u};

static size_t block_of(uint64_t hash, size_t n_blocks) {
    return (size_t)((hash >> 32) * n_blocks >> 32);
}

static uint32_t bit_of(uint64_t hash, int word) {
    return (uint32_t)1 << ((uint32_t)hash * SALT[word] >> 27);
}

void fz_parquet_bloom_add(uint32_t *words, size_t n_blocks, uint64_t hash) {
    uint32_t *block = words + block_of(hash, n_blocks) * BLOCK_WORDS;
    for (int i = 0; i < BLOCK_WORDS; i++) {
        block[i] |= bit_of(hash, i);
    }
}

static bool may_have(const struct fz_parquet_bloom *bloom, uint64_t hash) {
    const uint32_t *block = bloom->words + block_of(hash, bloom->n_blocks) * BLOCK_WORDS;
    uint32_t missing = 0;
    for (int i = 0; i < BLOCK_WORDS; i++) {
        missing |= ~block[i] & bit_of(hash, i);
    }
    return missing == 0;
}

bool fz_parquet_bloom_may_have(const struct fz_parquet_bloom *bloom, int64_t key) {
    switch (bloom->physical) {
    case FZ_PQ_INT32: {
        int32_t narrow = (int32_t)key;
        return narrow == key && may_have(bloom, fz_hash64(&narrow, sizeof narrow, 0));
    }
    case FZ_PQ_INT64:
        return may_have(bloom, fz_hash64(&key, sizeof key, 0));
    default:
        return may_have(bloom, (uint64_t)key);
    }
}

// Only where the stored bytes follow from the key without doubt: another unit, width or sign is hashed differently.
static bool can_ask(const struct fz_pqr_conv *conv, const struct fz_pq_schema_element *e) {
    switch (conv->op) {
    case FZ_PQR_OP_COPY4:
    case FZ_PQR_OP_I32_I64:
        return e->type == FZ_PQ_INT32;
    case FZ_PQR_OP_COPY8:
        return e->type == FZ_PQ_INT64;
    case FZ_PQR_OP_STRING:
    case FZ_PQR_OP_UUID:
        return true;
    default:
        return false;
    }
}

struct header {
    int32_t n_bytes;
    bool block, xxhash, uncompressed;
};

static void decode_union(struct fz_thrift_in *in, bool *is_first) {
    struct fz_thrift_field f = {0};
    while (fz_thrift_next_field(in, &f)) {
        *is_first = f.id == 1;
        fz_thrift_skip(in, &f);
    }
}

static bool decode_header(const uint8_t *data, size_t len, struct header *out, size_t *used) {
    struct fz_thrift_in in = {.pos = data, .end = data + len};
    struct fz_thrift_field f = {0};
    *out = (struct header){.n_bytes = -1};
    while (fz_thrift_next_field(&in, &f)) {
        if (f.id == 1) {
            fz_thrift_get_i32(&in, &f, &out->n_bytes);
        } else if (f.id >= 2 && f.id <= 4 && f.type == FZ_THRIFT_STRUCT && fz_thrift_get_struct(&in, &f)) {
            decode_union(&in, f.id == 2 ? &out->block : f.id == 3 ? &out->xxhash : &out->uncompressed);
        } else {
            fz_thrift_skip(&in, &f);
        }
    }
    *used = (size_t)(in.pos - data);
    return in.fault == NULL;
}

enum fz_code fz_parquet_file_bloom_bytes(const struct fz_parquet_file *file, const struct fz_pq_column_chunk *chunk,
                                         struct fz_cancel *cancel, struct fz_arena *arena, struct fz_str *out,
                                         size_t *header_len, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct header h;
    uint8_t *bytes = NULL;
    size_t used = 0;
    *out = (struct fz_str){0};
    if (chunk->encrypted || chunk->bloom_filter_offset < 4) {
        return FZ_OK;
    }
    int64_t offset = chunk->bloom_filter_offset, rest = file->size_bytes - 8 - offset;
    int64_t len = chunk->bloom_filter_length > 0 ? chunk->bloom_filter_length : HEADER_BYTES;
    len = len < rest ? len : rest;
    if (len > MAX_BLOOM_BYTES + HEADER_BYTES) {
        return FZ_OK;
    }
    FZ_TRY(read_bytes(file, offset, len, "a bloom filter", cancel, arena, &bytes, err));
    if (!decode_header(bytes, (size_t)len, &h, &used)) {
        rc = fz_fail(err, FZ_CORRUPT, "%s: the header of a bloom filter is damaged", file->location);
        goto out;
    }
    if (!h.block || !h.xxhash || !h.uncompressed || h.n_bytes < BLOCK_BYTES || h.n_bytes % BLOCK_BYTES != 0 ||
        h.n_bytes > MAX_BLOOM_BYTES) {
        return FZ_OK; // another algorithm
    }
    if ((size_t)len < used + (size_t)h.n_bytes) { // older writers do not say how long it is
        FZ_TRY(read_bytes(file, offset, (int64_t)used + h.n_bytes, "a bloom filter", cancel, arena, &bytes, err));
    }
    *out = (struct fz_str){(const char *)bytes, used + (size_t)h.n_bytes};
    *header_len = used;
out:
    return rc;
}

enum fz_code fz_parquet_file_bloom(const struct fz_parquet_file *file, size_t row_group, int32_t field_id,
                                   const struct fz_type *type, struct fz_cancel *cancel, struct fz_arena *arena,
                                   struct fz_parquet_bloom *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pqr_conv conv;
    struct fz_str bytes;
    size_t header_len = 0;
    *out = (struct fz_parquet_bloom){0};
    const struct fz_pqr_node *leaf = fz_pqr_find_leaf(&file->root, field_id);
    if (row_group >= file->meta.n_row_groups || leaf == NULL || leaf->max_rep > 0 ||
        !fz_pqr_conv_choose(leaf->element, type, &conv) || !can_ask(&conv, leaf->element)) {
        return FZ_OK;
    }
    const struct fz_pq_column_chunk *chunk = &file->meta.row_groups[row_group].columns[leaf->leaf];
    if (chunk->type != leaf->element->type) {
        return FZ_OK;
    }
    FZ_TRY(fz_parquet_file_bloom_bytes(file, chunk, cancel, arena, &bytes, &header_len, err));
    if (bytes.len > 0) {
        size_t n = bytes.len - header_len;
        uint32_t *words = fz_arena_memdup(arena, bytes.ptr + header_len, n); // aligned
        if (words == NULL) {
            rc = fz_fail_nomem(err, n);
            goto out;
        }
        *out = (struct fz_parquet_bloom){words, n / BLOCK_BYTES, leaf->element->type};
    }
out:
    return rc;
}

size_t fz_parquet_bloom_bytes(size_t n_distinct, double fpp, size_t max_bytes) {
    double bits = -8.0 * (double)n_distinct / log(1 - pow(fpp, 1.0 / 8));
    size_t bytes = BLOCK_BYTES;
    while (bytes < MAX_BLOOM_BYTES && (double)bytes * 8 < bits && bytes * 2 <= max_bytes) {
        bytes *= 2;
    }
    return bytes;
}

void fz_parquet_bloom_header_encode(struct fz_buf *buf, size_t n_bytes) {
    struct fz_thrift_out out = {.buf = buf};
    int last = 0;
    fz_thrift_put_i32(&out, &last, 1, (int32_t)n_bytes);
    for (int id = 2; id <= 4;
         id++) { // algorithm BLOCK, hash XXHASH, compression UNCOMPRESSED: each a union with an empty struct
        int in_union = 0;
        fz_thrift_put_struct(&out, &last, id);
        fz_thrift_put_struct(&out, &in_union, 1);
        fz_thrift_put_stop(&out);
        fz_thrift_put_stop(&out);
    }
    fz_thrift_put_stop(&out);
}
