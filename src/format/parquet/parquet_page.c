// Pages of one column chunk: header, checksum, decompression, dictionary, and setting up the level and value decoders. Nothing here
// trusts a size: what a page says is held against the chunk, and an inflated size against what its codec can reach.
#include "base/hash.h"
#include "format/parquet/parquet_reader_priv.h"

enum fz_code fz_pqr_corrupt(const struct fz_pqr_leaf *leaf, struct fz_err *err, const char *what) {
    const struct fz_pq_column_chunk *c = leaf->chunk;
    struct fz_buf path = {0};
    for (size_t i = 0; i < c->n_path && i < 8; i++) {
        fz_buf_printf(&path, "%s%.*s", i > 0 ? "." : "", (int)(c->path[i].len < 100 ? c->path[i].len : 100),
                      c->path[i].ptr);
    }
    enum fz_code rc = fz_fail(err, FZ_CORRUPT, "%s: column %s: %s (before byte %lld)", leaf->file->location,
                              path.len > 0 ? path.ptr : leaf->node->name, what, (long long)leaf->offset);
    fz_buf_dispose(&path);
    return rc;
}

struct fz_pqr_block *fz_pqr_block_take(struct fz_pqr_leaf *leaf, size_t size, struct fz_err *err) {
    struct fz_pqr_block *block = leaf->spare;
    if (block != NULL && block->size >= size && block->size / 4 <= size) {
        leaf->spare = NULL;
        block->next = NULL;
        return block;
    }
    block = fz_malloc(sizeof *block + size + FZ_PQR_SLACK);
    if (block == NULL) {
        fz_fail_nomem(err, size);
        return NULL;
    }
    block->next = NULL;
    block->size = size;
    memset(block->bytes + size, 0, FZ_PQR_SLACK);
    return block;
}

void fz_pqr_leaf_release(struct fz_pqr_leaf *leaf) {
    while (leaf->kept != NULL) {
        struct fz_pqr_block *block = leaf->kept;
        leaf->kept = block->next;
        if (leaf->spare == NULL) {
            leaf->spare = block;
        } else {
            fz_free(block);
        }
    }
}

void fz_pqr_leaf_dispose(struct fz_pqr_leaf *leaf) {
    fz_pqr_leaf_release(leaf);
    fz_free(leaf->spare);
    fz_free(leaf->page);
    fz_free(leaf->dict);
    fz_free(leaf->dict_block);
    fz_free(leaf->ahead_def);
    fz_free(leaf->ahead_rep);
    fz_free(leaf->batch_def);
    fz_free(leaf->batch_rep);
    fz_buf_dispose(&leaf->last);
    *leaf = (struct fz_pqr_leaf){0};
}

static void keep_page(struct fz_pqr_leaf *leaf) {
    if (leaf->page != NULL) {
        leaf->page->next = leaf->kept;
        leaf->kept = leaf->page;
        leaf->page = NULL;
    }
}

// No codec reaches more than this: zstd needs four bytes to say 128 KB of one byte, Brotli a few to copy up to 16 MB.
static bool plausible_size(int codec, size_t len, size_t out_len) {
    switch (codec) {
    case FZ_PQ_SNAPPY:
        return out_len <= len * 64 + 64;
    case FZ_PQ_LZ4:
    case FZ_PQ_LZ4_RAW:
        return out_len <= len * 256 + 64;
    case FZ_PQ_GZIP:
        return out_len <= len * 1100 + 1024;
    case FZ_PQ_ZSTD:
        return out_len <= ((size_t)64 << 20) || out_len / ((128 << 10) / 4) <= len;
    default:
        return out_len <= ((size_t)64 << 20) || out_len / (4 << 20) <= len;
    }
}

// The body of a page as it is read: inflated into a block, or where it lies in the chunk. The first `raw` bytes are never compressed.
static enum fz_code page_body(struct fz_pqr_leaf *leaf, const struct fz_pq_page_header *h, bool compressed, size_t raw,
                              const uint8_t *data, struct fz_pqr_block **block, const uint8_t **out, size_t *out_len,
                              struct fz_err *err) {
    size_t len = (size_t)h->compressed_page_size, full = (size_t)h->uncompressed_page_size;
    if (leaf->chunk->codec == FZ_PQ_UNCOMPRESSED || !compressed) {
        *out = data;
        *out_len = len;
        return FZ_OK;
    }
    if (raw > len || raw > full) {
        return fz_pqr_corrupt(leaf, err, "levels are longer than their page");
    }
    if (!plausible_size(leaf->chunk->codec, len - raw, full - raw)) {
        return fz_pqr_corrupt(leaf, err, "a page says that it inflates to more than its codec can reach");
    }
    *block = fz_pqr_block_take(leaf, full, err);
    if (*block == NULL) {
        return FZ_NOMEM;
    }
    memcpy((*block)->bytes, data, raw);
    struct fz_err inner = FZ_ERR_INIT;
    enum fz_code rc =
        fz_pq_decompress(leaf->chunk->codec, data + raw, len - raw, (*block)->bytes + raw, full - raw, &inner);
    if (rc == FZ_CORRUPT) {
        return fz_pqr_corrupt(leaf, err, inner.message);
    }
    if (rc != FZ_OK) {
        return fz_fail(err, rc, "%s: column %s: %s", leaf->file->location, leaf->node->name, inner.message);
    }
    *out = (*block)->bytes;
    *out_len = full;
    return FZ_OK;
}

static bool all_ascii(const uint8_t *p, size_t len) {
    uint64_t high = 0;
    for (; len >= 32; p += 32, len -= 32) {
        high |= fz_pqr_load64(p) | fz_pqr_load64(p + 8) | fz_pqr_load64(p + 16) | fz_pqr_load64(p + 24);
    }
    for (; len > 0; p++, len--) {
        high |= *p;
    }
    return (high & UINT64_C(0x8080808080808080)) == 0;
}

static enum fz_code load_dictionary(struct fz_pqr_leaf *leaf, const struct fz_pq_page_header *h, const uint8_t *data,
                                    struct fz_err *err) {
    if (leaf->dict != NULL) {
        return fz_pqr_corrupt(leaf, err, "there is a second dictionary");
    }
    if (h->encoding != FZ_PQ_PLAIN && h->encoding != FZ_PQ_PLAIN_DICTIONARY) {
        return fz_pqr_corrupt(leaf, err, "the dictionary has an encoding other than PLAIN");
    }
    const uint8_t *body = NULL;
    size_t len = 0, n = (size_t)h->num_values;
    enum fz_code rc = FZ_OK;
    FZ_TRY(page_body(leaf, h, true, 0, data, &leaf->dict_block, &body, &len, err));
    int type = leaf->node->element->type;
    size_t smallest = type == FZ_PQ_BYTE_ARRAY ? 4 : leaf->conv.src_width;
    if (type == FZ_PQ_BOOLEAN ? n > len * 8 : n > len / smallest) {
        return fz_pqr_corrupt(leaf, err, "the dictionary has fewer values than its header says");
    }
    leaf->dict = fz_malloc(n * leaf->conv.dst_width + 1);
    if (leaf->dict == NULL) {
        return fz_fail_nomem(err, n * leaf->conv.dst_width);
    }
    leaf->values = body;
    leaf->values_end = body + len;
    leaf->bit = 0;
    leaf->ascii = leaf->conv.utf8 && all_ascii(body, len);
    FZ_TRY(fz_pqr_values_plain(leaf, n, leaf->dict, err));
    leaf->n_dict = n;
out:
    return rc;
}

static unsigned bits_for(int max_level) {
    return max_level == 0 ? 0 : 32 - (unsigned)__builtin_clz((unsigned)max_level);
}

// The deprecated BIT_PACKED levels are specified with the most significant bit first, which parquet-mr does; what others wrote, and
// all other readers expect, has the least significant bit first.
static bool packs_big_endian(const struct fz_parquet_file *file) {
    return file->meta.created_by != NULL && strncmp(file->meta.created_by, "parquet-mr", 10) == 0;
}

// Levels at the start of a version 1 page.
static enum fz_code open_levels(struct fz_pqr_leaf *leaf, int encoding, int max_level, size_t n, const uint8_t **pos,
                                const uint8_t *end, struct fz_pqr_rle *out, struct fz_err *err) {
    if (max_level == 0) {
        return FZ_OK;
    }
    size_t avail = (size_t)(end - *pos), len;
    if (encoding == FZ_PQ_BIT_PACKED) {
        len = (n * bits_for(max_level) + 7) / 8;
    } else if (encoding == FZ_PQ_RLE) {
        len = avail >= 4 ? fz_pqr_load32(*pos) : SIZE_MAX;
        avail = avail >= 4 ? avail - 4 : 0;
        *pos += len != SIZE_MAX ? 4 : 0;
    } else {
        return fz_pqr_corrupt(leaf, err, "levels have an encoding other than RLE and BIT_PACKED");
    }
    if (len > avail) {
        return fz_pqr_corrupt(leaf, err, "levels are longer than their page");
    }
    if (encoding == FZ_PQ_RLE) {
        fz_pqr_rle_init(out, *pos, len, bits_for(max_level));
    } else {
        fz_pqr_rle_init_packed(out, *pos, len, bits_for(max_level), packs_big_endian(leaf->file));
    }
    *pos += len;
    return FZ_OK;
}

// BYTE_STREAM_SPLIT: byte k of all values lies together; put back it is PLAIN.
static enum fz_code unsplit(struct fz_pqr_leaf *leaf, struct fz_err *err) {
    size_t width = leaf->conv.src_width, len = (size_t)(leaf->values_end - leaf->values);
    if (width == 0 || leaf->node->element->type == FZ_PQ_INT96) {
        return fz_pqr_corrupt(leaf, err, "BYTE_STREAM_SPLIT does not fit the column's type");
    }
    if (len % width != 0) {
        return fz_pqr_corrupt(leaf, err, "a BYTE_STREAM_SPLIT page has a broken value");
    }
    struct fz_pqr_block *block = fz_pqr_block_take(leaf, len, err);
    if (block == NULL) {
        return FZ_NOMEM;
    }
    size_t n = len / width;
    for (size_t k = 0; k < width; k++) {
        const uint8_t *stream = leaf->values + k * n;
        uint8_t *to = block->bytes + k;
        for (size_t i = 0; i < n; i++) {
            to[i * width] = stream[i];
        }
    }
    keep_page(leaf);
    leaf->page = block;
    leaf->values = block->bytes;
    leaf->values_end = block->bytes + len;
    leaf->encoding = FZ_PQR_VALUES_PLAIN;
    return FZ_OK;
}

static enum fz_code open_indexes(struct fz_pqr_leaf *leaf, struct fz_err *err) {
    size_t len = (size_t)(leaf->values_end - leaf->values);
    unsigned width = len > 0 ? leaf->values[0] : 0;
    if (width > 32) {
        return fz_pqr_corrupt(leaf, err, "dictionary indexes have more than 32 bits");
    }
    fz_pqr_rle_init(&leaf->indexes, leaf->values + (len > 0), len - (len > 0), width);
    leaf->encoding = FZ_PQR_VALUES_DICT;
    return FZ_OK;
}

static enum fz_code open_booleans(struct fz_pqr_leaf *leaf, struct fz_err *err) {
    size_t len = (size_t)(leaf->values_end - leaf->values);
    if (len > 0 && (len < 4 || fz_pqr_load32(leaf->values) > len - 4)) {
        return fz_pqr_corrupt(leaf, err, "RLE booleans are longer than their page");
    }
    fz_pqr_rle_init(&leaf->indexes, leaf->values + (len > 0 ? 4 : 0), len > 0 ? fz_pqr_load32(leaf->values) : 0, 1);
    leaf->encoding = FZ_PQR_VALUES_RLE;
    return FZ_OK;
}

// DELTA_LENGTH_BYTE_ARRAY: lengths, then all bytes. DELTA_BYTE_ARRAY: prefix lengths before that.
static enum fz_code open_lengths(struct fz_pqr_leaf *leaf, bool prefixed, struct fz_err *err) {
    const uint8_t *pos = leaf->values;
    leaf->encoding = prefixed ? FZ_PQR_VALUES_PREFIXES : FZ_PQR_VALUES_LENGTHS;
    fz_buf_clear(&leaf->last);
    bool ok = fz_pqr_delta_init(&leaf->delta, pos, (size_t)(leaf->values_end - pos));
    pos = ok ? fz_pqr_delta_end(&leaf->delta) : NULL;
    if (pos != NULL && prefixed) {
        ok = fz_pqr_delta_init(&leaf->suffixes, pos, (size_t)(leaf->values_end - pos));
        pos = ok ? fz_pqr_delta_end(&leaf->suffixes) : NULL;
    }
    if (pos == NULL) {
        return fz_pqr_corrupt(leaf, err, "the lengths of a page are damaged");
    }
    leaf->values = pos;
    return FZ_OK;
}

static enum fz_code open_values(struct fz_pqr_leaf *leaf, int encoding, struct fz_err *err) {
    int type = leaf->node->element->type;
    enum fz_code rc = FZ_OK;
    leaf->bit = 0;
    leaf->ascii = false;
    switch (encoding) {
    case FZ_PQ_PLAIN:
        leaf->encoding = FZ_PQR_VALUES_PLAIN;
        break;
    case FZ_PQ_PLAIN_DICTIONARY:
    case FZ_PQ_RLE_DICTIONARY:
        return open_indexes(leaf, err);
    case FZ_PQ_RLE:
        if (type != FZ_PQ_BOOLEAN) {
            return fz_pqr_corrupt(leaf, err, "RLE values are for booleans only");
        }
        return open_booleans(leaf, err);
    case FZ_PQ_DELTA_BINARY_PACKED:
        if (type != FZ_PQ_INT32 && type != FZ_PQ_INT64) {
            return fz_pqr_corrupt(leaf, err, "DELTA_BINARY_PACKED is for integers only");
        }
        leaf->encoding = FZ_PQR_VALUES_DELTA;
        if (!fz_pqr_delta_init(&leaf->delta, leaf->values, (size_t)(leaf->values_end - leaf->values))) {
            return fz_pqr_corrupt(leaf, err, "the header of a DELTA_BINARY_PACKED page is damaged");
        }
        return FZ_OK;
    case FZ_PQ_DELTA_LENGTH_BYTE_ARRAY:
        if (type != FZ_PQ_BYTE_ARRAY) {
            return fz_pqr_corrupt(leaf, err, "DELTA_LENGTH_BYTE_ARRAY is for byte arrays only");
        }
        FZ_TRY(open_lengths(leaf, false, err));
        break;
    case FZ_PQ_DELTA_BYTE_ARRAY:
        if (type != FZ_PQ_BYTE_ARRAY && type != FZ_PQ_FIXED) {
            return fz_pqr_corrupt(leaf, err, "DELTA_BYTE_ARRAY is for byte arrays only");
        }
        FZ_TRY(open_lengths(leaf, true, err));
        break;
    case FZ_PQ_BYTE_STREAM_SPLIT:
        return unsplit(leaf, err);
    default:
        return fz_fail(err, FZ_UNSUPPORTED, "%s: column %s: encoding %d is not supported", leaf->file->location,
                       leaf->node->name, encoding);
    }
    leaf->ascii = leaf->conv.utf8 && all_ascii(leaf->values, (size_t)(leaf->values_end - leaf->values));
out:
    return rc;
}

static enum fz_code open_page_v1(struct fz_pqr_leaf *leaf, const struct fz_pq_page_header *h, const uint8_t *data,
                                 struct fz_err *err) {
    const uint8_t *body = NULL;
    size_t len = 0;
    enum fz_code rc = FZ_OK;
    FZ_TRY(page_body(leaf, h, true, 0, data, &leaf->page, &body, &len, err));
    const uint8_t *pos = body, *end = body + len;
    size_t n = (size_t)h->num_values;
    FZ_TRY(open_levels(leaf, h->repetition_level_encoding, leaf->node->max_rep, n, &pos, end, &leaf->rep, err));
    FZ_TRY(open_levels(leaf, h->definition_level_encoding, leaf->node->max_def, n, &pos, end, &leaf->def, err));
    leaf->values = pos;
    leaf->values_end = end;
out:
    return rc;
}

static enum fz_code open_page_v2(struct fz_pqr_leaf *leaf, const struct fz_pq_page_header *h, const uint8_t *data,
                                 struct fz_err *err) {
    const uint8_t *body = NULL;
    size_t len = 0, rep = (size_t)h->repetition_levels_byte_length, def = (size_t)h->definition_levels_byte_length;
    enum fz_code rc = FZ_OK;
    if (rep + def > (size_t)h->compressed_page_size) {
        return fz_pqr_corrupt(leaf, err, "levels are longer than their page");
    }
    FZ_TRY(page_body(leaf, h, h->is_compressed, rep + def, data, &leaf->page, &body, &len, err));
    fz_pqr_rle_init(&leaf->rep, body, rep, bits_for(leaf->node->max_rep));
    fz_pqr_rle_init(&leaf->def, body + rep, def, bits_for(leaf->node->max_def));
    leaf->values = body + rep + def;
    leaf->values_end = body + len;
out:
    return rc;
}

static enum fz_code open_page(struct fz_pqr_leaf *leaf, const struct fz_pq_page_header *h, const uint8_t *data,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (h->num_values > leaf->chunk_left) {
        return fz_pqr_corrupt(leaf, err, "the pages hold more values than the footer says");
    }
    keep_page(leaf);
    FZ_TRY(h->type == FZ_PQ_DATA_PAGE ? open_page_v1(leaf, h, data, err) : open_page_v2(leaf, h, data, err));
    leaf->encoding = FZ_PQR_VALUES_NONE;
    if (!leaf->levels_only) {
        FZ_TRY(open_values(leaf, h->encoding, err));
    }
    leaf->chunk_left -= h->num_values;
    leaf->page_left = (size_t)h->num_values;
out:
    return rc;
}

// A page whose rows nobody wants. Lists hide how many rows a page has.
static bool passes_over(const struct fz_pqr_leaf *leaf, const struct fz_pq_page_header *h) {
    bool is_data = h->type == FZ_PQ_DATA_PAGE || h->type == FZ_PQ_DATA_PAGE_V2;
    return is_data && leaf->node->max_rep == 0 && h->num_values <= leaf->skip && h->num_values <= leaf->chunk_left;
}

static enum fz_code read_page(struct fz_pqr_leaf *leaf, struct fz_err *err) {
    struct fz_arena arena = {0};
    struct fz_pq_page_header h = {0};
    size_t used = 0;
    struct fz_err inner = FZ_ERR_INIT;
    enum fz_code rc = fz_pq_page_header_decode(&arena, leaf->pos, (size_t)(leaf->end - leaf->pos), &h, &used, &inner);
    if (rc != FZ_OK) {
        rc = rc == FZ_CORRUPT ? fz_pqr_corrupt(leaf, err, inner.message) : fz_fail(err, rc, "%s", inner.message);
        goto out;
    }
    const uint8_t *data = leaf->pos + used;
    size_t avail = (size_t)(leaf->end - data), len = (size_t)h.compressed_page_size;
    if (len > avail) {
        rc = fz_pqr_corrupt(leaf, err, "a page is longer than its column chunk");
        goto out;
    }
    if (passes_over(leaf, &h)) {
        leaf->skip -= h.num_values;
        leaf->chunk_left -= h.num_values;
        leaf->offset += (int64_t)(used + len);
        leaf->pos = data + len;
        goto out;
    }
    if (h.has_crc && fz_crc32(0, data, len) != h.crc) {
        rc = fz_pqr_corrupt(leaf, err, "the checksum of a page does not match");
        goto out;
    }
    leaf->offset += (int64_t)(used + len);
    leaf->pos = data + len;
    switch (h.type) {
    case FZ_PQ_DICTIONARY_PAGE:
        rc = leaf->levels_only ? FZ_OK : load_dictionary(leaf, &h, data, err);
        break;
    case FZ_PQ_INDEX_PAGE:
        break;
    case FZ_PQ_DATA_PAGE:
    case FZ_PQ_DATA_PAGE_V2:
        rc = open_page(leaf, &h, data, err);
        break;
    }
out:
    fz_arena_dispose(&arena);
    return rc;
}

// To the next pages that were fetched, past the rows between, which must be passed over.
static enum fz_code enter_piece(struct fz_pqr_leaf *leaf, struct fz_err *err) {
    const struct fz_pqr_piece *piece = leaf->next_piece < leaf->n_pieces ? &leaf->pieces[leaf->next_piece] : NULL;
    int64_t gap = piece != NULL ? piece->first_row - (leaf->chunk->num_values - leaf->chunk_left) : 0;
    if (piece == NULL || gap < 0 || gap > leaf->skip) {
        return fz_fail(err, FZ_BUG, "%s: column %s: rows are read that were not asked for when it was opened",
                       leaf->file->location, leaf->node->name);
    }
    leaf->skip -= gap;
    leaf->chunk_left -= gap;
    leaf->next_piece++;
    leaf->offset = piece->offset;
    leaf->pos = piece->bytes;
    leaf->end = piece->bytes + piece->len;
    return FZ_OK;
}

enum fz_code fz_pqr_page_next(struct fz_pqr_leaf *leaf, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    while (rc == FZ_OK && leaf->page_left == 0 && !leaf->done) {
        if (leaf->chunk_left == 0) {
            leaf->done = true;
        } else if (leaf->pos >= leaf->end && leaf->pieces != NULL) {
            rc = enter_piece(leaf, err);
        } else if (leaf->pos >= leaf->end) {
            rc = fz_pqr_corrupt(leaf, err, "the pages hold fewer values than the footer says");
        } else {
            rc = read_page(leaf, err);
        }
    }
    return rc;
}

enum fz_code fz_pqr_page_open(struct fz_pqr_leaf *leaf, const uint8_t *page, size_t len, int64_t offset,
                              struct fz_err *err) {
    leaf->pos = page;
    leaf->end = page + len;
    leaf->offset = offset;
    leaf->chunk_left = INT64_MAX / 2; // the caller knows how many values there are
    leaf->page_left = leaf->ahead_at = leaf->ahead_n = 0;
    leaf->done = false;
    enum fz_code rc = read_page(leaf, err);
    leaf->chunk_left = 0;
    return rc;
}
