// Pages and column chunks: levels and values of the page that is full become encoded, compressed bytes with header and CRC in the
// leaf's chunk buffer; a finished chunk has its dictionary page and what footer and page index need.
#include <zstd.h>

#include "base/hash.h"
#include "format/parquet/parquet_writer_priv.h"

enum { INDEX_MAX_LEN = 64, STATISTICS_MAX_LEN = 256 };

size_t fz_pw_leaf_page_bytes(const struct fz_pw_leaf *leaf) {
    if (leaf->kind == FZ_PW_BOOL) {
        return leaf->n_present / 8;
    }
    return leaf->use_dict ? 2 * leaf->n_present : leaf->plain.len;
}

// ---- compression ---------------------------------------------------------------------------------------------------------

// Bytes of numbers and of random text hold few repetitions worth finding: a small table of places and longer steps between them take
// two thirds of the time there, and what is left to the entropy coder is often smaller by a fifth. Text with repetitions gets larger,
// so one page in many is compressed both ways.
static const struct quick_setting {
    ZSTD_cParameter name;
    int value;
} QUICK[] = {
    {ZSTD_c_targetLength, 2},
    {ZSTD_c_hashLog, 12},
    {ZSTD_c_experimentalParam5, 1}, // literals are compressed although the target length is set
};
enum { N_QUICK = sizeof QUICK / sizeof *QUICK, QUICK_PAGES = 60, QUICK_MIN = 4096 };

static enum fz_code zstd(ZSTD_CCtx *zstd, int level, bool quick, const void *data, size_t len, struct fz_buf *out,
                         struct fz_err *err) {
    size_t bound = ZSTD_compressBound(len), n = 0;
    if (!fz_buf_reserve(out, bound)) {
        return fz_buf_check(out, err);
    }
    n = ZSTD_CCtx_setParameter(zstd, ZSTD_c_compressionLevel, level);
    for (size_t i = 0; i < N_QUICK && !ZSTD_isError(n); i++) {
        n = ZSTD_CCtx_setParameter(zstd, QUICK[i].name, quick ? QUICK[i].value : 0);
    }
    if (!ZSTD_isError(n)) {
        n = ZSTD_compress2(zstd, out->ptr + out->len, bound, data, len);
    }
    if (ZSTD_isError(n)) {
        return fz_fail(err, FZ_BUG, "zstd refuses to compress a page: %s", ZSTD_getErrorName(n));
    }
    out->len += n;
    return FZ_OK;
}

// A page in the way that was smaller for an earlier one; at times in both ways, to see which is. A hundredth more is fine for the
// quicker one.
static enum fz_code zstd_either(struct fz_parquet_encoder *w, size_t leaf, const void *data, size_t len,
                                struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_scratch *s = &w->scratch;
    if (leaf >= s->quick_cap) {
        size_t before = s->quick_cap;
        FZ_TRY(fz_grow((void **)&s->quick, &s->quick_cap, w->n_leaves, sizeof *s->quick, err));
        memset(s->quick + before, 0, (s->quick_cap - before) * sizeof *s->quick);
    }
    struct fz_pw_quick *quick = &s->quick[leaf];
    size_t start = out->len;
    FZ_TRY(zstd(s->compressor, 1, quick->on, data, len, out, err));
    if (quick->pages == 0) {
        fz_buf_clear(&s->trial);
        FZ_TRY(zstd(s->compressor, 1, !quick->on, data, len, &s->trial, err));
        size_t n = out->len - start, other = s->trial.len;
        bool better = quick->on ? other + other / 100 < n : other <= n + n / 100;
        if (better) {
            out->len = start;
            fz_buf_append(out, s->trial.ptr, other);
            quick->on = !quick->on;
        }
        quick->pages = QUICK_PAGES;
    }
    quick->pages--;
    rc = fz_buf_check(out, err);
out:
    return rc;
}

enum fz_code fz_pw_compress(struct fz_parquet_encoder *w, const struct fz_pw_leaf *leaf, const void *data, size_t len,
                            struct fz_buf *out, struct fz_err *err) {
    if (w->codec != FZ_PQ_ZSTD) {
        return fz_pq_compress((int)w->codec, w->level, data, len, out, err);
    }
    if (w->scratch.compressor == NULL) { // kept: making one costs more than compressing a page
        w->scratch.compressor = ZSTD_createCCtx();
        if (w->scratch.compressor == NULL) {
            return fz_fail_nomem(err, len);
        }
    }
    if (w->level == -1 && leaf != NULL && len >= QUICK_MIN) {
        return zstd_either(w, (size_t)(leaf - w->leaves), data, len, out, err);
    }
    return zstd(w->scratch.compressor, w->level == -1 ? 1 : w->level, false, data, len, out, err);
}

enum fz_code fz_pw_leaf_to_plain(struct fz_pw_leaf *leaf, struct fz_err *err) {
    fz_pw_dict_expand(&leaf->dict, leaf->indexes, leaf->n_present, &leaf->plain);
    leaf->use_dict = false;
    if (!leaf->dict_used) {
        if (leaf->bloom.options.enabled) {
            enum fz_code rc = fz_pw_bloom_add_dict(&leaf->bloom, &leaf->dict, err);
            if (rc != FZ_OK) {
                return rc;
            }
        }
        fz_pw_dict_dispose(&leaf->dict); // no page refers to it; its memory may be better used
    }
    return fz_buf_check(&leaf->plain, err);
}

enum fz_code fz_pw_leaf_start(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, struct fz_err *err) {
    (void)err;
    leaf->use_dict = leaf->kind != FZ_PW_BOOL && !leaf->no_dictionary && w->dict_bytes_max > 0;
    leaf->dict_used = false;
    memset(leaf->page_counts, 0, sizeof leaf->page_counts);
    memset(leaf->page_counts_v2, 0, sizeof leaf->page_counts_v2);
    if (leaf->encoding_groups-- <= 0) {
        leaf->encoding = -1;
        leaf->encoding_groups = 0;
    }
    leaf->dict.width = leaf->width;
    leaf->dict.limit_bytes = w->dict_bytes_max;
    fz_pw_dict_clear(&leaf->dict);
    fz_buf_clear(&leaf->chunk);
    leaf->chunk_uncompressed = leaf->chunk_values = leaf->chunk_nulls = leaf->chunk_nans = leaf->chunk_rows = 0;
    fz_pw_range_clear(&leaf->chunk_range);
    fz_pw_range_clear(&leaf->previous_range);
    leaf->ascending = leaf->descending = leaf->index_ok = true;
    leaf->n_pages = 0;
    return FZ_OK;
}

static enum fz_code append_levels(struct fz_parquet_encoder *w, const uint8_t *levels, uint8_t uniform, size_t n,
                                  uint8_t max, struct fz_err *err) {
    struct fz_buf *body = &w->scratch.body;
    size_t at = body->len;
    uint32_t length = 0;
    fz_buf_append(body, &length, 4);
    int width = fz_pw_bit_width(max);
    if (levels == NULL) {
        fz_pw_rle_run(body, uniform, n, width);
    } else {
        enum fz_code rc =
            fz_grow((void **)&w->scratch.widened, &w->scratch.widened_cap, n, sizeof *w->scratch.widened, err);
        if (rc != FZ_OK) {
            return rc;
        }
        for (size_t i = 0; i < n; i++) {
            w->scratch.widened[i] = levels[i];
        }
        fz_pw_rle_append(body, w->scratch.widened, n, width);
    }
    if (!body->failed) {
        length = (uint32_t)(body->len - at - 4);
        memcpy(body->ptr + at, &length, 4);
    }
    return fz_buf_check(body, err);
}

static void append_booleans(struct fz_buf *body, const struct fz_buf *plain) {
    size_t n = plain->len, bytes = (n + 7) / 8;
    if (!fz_buf_reserve(body, bytes)) {
        return;
    }
    uint8_t *out = (uint8_t *)body->ptr + body->len;
    memset(out, 0, bytes);
    for (size_t i = 0; i < n; i++) {
        out[i / 8] = (uint8_t)(out[i / 8] | (plain->ptr[i] != 0) << (i % 8));
    }
    body->len += bytes;
}

// Whether the dictionary pays, once its first page is full: against PLAIN it has to make up for its own bytes, and sorted or slowly
// changing numbers may need less room than their indexes.
static enum fz_code weigh_dictionary(struct fz_parquet_encoder *w, const struct fz_pw_leaf *leaf, int width, bool *pays,
                                     struct fz_err *err) {
    size_t indexes = leaf->n_present * (size_t)width / 8;
    bool beaten = false;
    enum fz_code rc = FZ_OK;
    *pays = indexes + leaf->dict.values.len < leaf->page_plain_bytes;
    if (*pays && w->encodings != FZ_ENCODINGS_PLAIN && leaf->dict.n >= 256) {
        rc = fz_pw_delta_beats(w, leaf, width, &beaten, err);
        *pays = !beaten;
    }
    return rc;
}

// The values of a page without dictionary.
static enum fz_code append_values(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, int *encoding,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (leaf->encoding < 0) {
        FZ_TRY(fz_pw_encoding_choose(w, leaf, err));
    }
    *encoding = leaf->n_present > 0 ? leaf->encoding : FZ_PQ_PLAIN;
    if (leaf->kind == FZ_PW_BOOL) {
        append_booleans(&w->scratch.body, &leaf->plain);
        goto out;
    }
    size_t before = w->scratch.body.len;
    FZ_TRY(fz_pw_encode_values(&w->scratch, *encoding, leaf->width, leaf->plain.ptr, leaf->plain.len, leaf->n_present,
                               &w->scratch.body, err));
    if (w->scratch.body.len - before > leaf->plain.len) { // not what the sample promised
        w->scratch.body.len = before;
        *encoding = FZ_PQ_PLAIN;
        fz_buf_append(&w->scratch.body, leaf->plain.ptr, leaf->plain.len);
    }
out:
    return rc;
}

// Levels and values into w->scratch.body; *encoding says how the values lie.
static enum fz_code encode_body(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, int *encoding,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    fz_buf_clear(&w->scratch.body);
    if (leaf->max_rep > 0) {
        FZ_TRY(append_levels(w, leaf->reps, 0, leaf->n_levels, leaf->max_rep, err));
    }
    if (leaf->max_def > 0) {
        FZ_TRY(append_levels(w, leaf->has_defs ? leaf->defs : NULL, leaf->max_def, leaf->n_levels, leaf->max_def, err));
    }
    int width = leaf->use_dict && leaf->dict.n > 0 ? fz_pw_bit_width(leaf->dict.n - 1) : 0;
    if (leaf->use_dict && !leaf->dict_used && leaf->n_present > 0) {
        bool pays;
        FZ_TRY(weigh_dictionary(w, leaf, width, &pays, err));
        if (!pays) {
            FZ_TRY(fz_pw_leaf_to_plain(leaf, err));
        }
    }
    if (leaf->use_dict && leaf->n_present > 0) {
        *encoding = FZ_PQ_RLE_DICTIONARY;
        leaf->dict_used = true;
        fz_buf_putc(&w->scratch.body, (char)width);
        fz_pw_rle_append(&w->scratch.body, leaf->indexes, leaf->n_present, width);
    } else {
        FZ_TRY(append_values(w, leaf, encoding, err));
    }
    rc = fz_buf_check(&w->scratch.body, err);
out:
    return rc;
}

// Compresses `body` and appends header + page to `out`; *size: bytes of both, *raw: the same before compression.
static enum fz_code append_page(struct fz_parquet_encoder *w, const struct fz_pw_leaf *leaf,
                                struct fz_pq_page_header *header, const void *body, size_t len,
                                struct fz_buf *compressed, struct fz_buf *out, int64_t *size, int64_t *raw,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (len > INT32_MAX) {
        return fz_fail(err, FZ_LIMIT,
                       "column '%s': a page of %zu bytes is more than Parquet allows; write fewer or smaller values",
                       leaf->name, len);
    }
    const void *bytes = body;
    size_t n = len;
    if (w->codec != FZ_PQ_UNCOMPRESSED) {
        fz_buf_clear(compressed);
        FZ_TRY(fz_pw_compress(w, header->type == FZ_PQ_DATA_PAGE ? leaf : NULL, body, len, compressed, err));
        FZ_TRY(fz_buf_check(compressed, err));
        bytes = compressed->ptr;
        n = compressed->len;
    }
    if (n > INT32_MAX) {
        return fz_fail(err, FZ_LIMIT, "column '%s': a page of %zu bytes is more than Parquet allows", leaf->name, n);
    }
    header->uncompressed_page_size = (int32_t)len;
    header->compressed_page_size = (int32_t)n;
    header->has_crc = true;
    header->crc = fz_crc32(0, bytes, n);
    size_t before = out->len;
    fz_pq_page_header_encode(out, header);
    int64_t header_bytes = (int64_t)(out->len - before);
    fz_buf_append(out, bytes, n);
    *size = header_bytes + (int64_t)n;
    *raw = header_bytes + (int64_t)len;
    rc = fz_buf_check(out, err);
out:
    return rc;
}

// Entry of the page index; keeps track of the order of pages.
static enum fz_code add_page_entry(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, int64_t offset, int64_t size,
                                   struct fz_err *err) {
    enum fz_code rc = fz_grow((void **)&leaf->pages, &leaf->pages_cap, leaf->n_pages + 1, sizeof *leaf->pages, err);
    if (rc != FZ_OK) {
        return rc;
    }
    struct fz_pw_page_entry *entry = &leaf->pages[leaf->n_pages++];
    *entry = (struct fz_pw_page_entry){.offset = offset,
                                       .compressed_page_size = (int32_t)size,
                                       .first_row = leaf->chunk_rows,
                                       .null_count = (int64_t)(leaf->n_levels - leaf->n_present),
                                       .null_page = leaf->n_present == 0};
    const struct fz_pw_range *range = &leaf->page_range;
    if (!range->set) {
        leaf->index_ok &= entry->null_page; // values but no order (all NaN): the chunk cannot have a column index
        return FZ_OK;
    }
    bool exact;
    bool ok = fz_pw_range_stat(&w->group_arena, leaf, range, false, INDEX_MAX_LEN, &entry->min, &exact) &&
              (fz_pw_range_stat(&w->group_arena, leaf, range, true, INDEX_MAX_LEN, &entry->max, &exact) ||
               fz_pw_range_stat(&w->group_arena, leaf, range, true, SIZE_MAX, &entry->max, &exact));
    if (!ok) {
        return fz_fail_nomem(err, 64);
    }
    if (leaf->previous_range.set) {
        int lo = fz_pw_range_compare(leaf->kind, range, &leaf->previous_range, false);
        int hi = fz_pw_range_compare(leaf->kind, range, &leaf->previous_range, true);
        leaf->ascending &= lo >= 0 && hi >= 0;
        leaf->descending &= lo <= 0 && hi <= 0;
    }
    struct fz_pw_range spare = leaf->previous_range;
    fz_pw_range_merge(&leaf->chunk_range, leaf->kind, range);
    leaf->previous_range = leaf->page_range;
    leaf->page_range = spare;
    rc = fz_pw_range_check(&leaf->previous_range, err);
    return rc != FZ_OK ? rc : fz_pw_range_check(&leaf->chunk_range, err);
}

enum fz_code fz_pw_page_cut(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (leaf->n_levels == 0) {
        return FZ_OK;
    }
    if (leaf->n_levels > INT32_MAX) {
        return fz_fail(err, FZ_LIMIT, "column '%s': %zu values in one page are more than Parquet allows", leaf->name,
                       leaf->n_levels);
    }
    struct fz_pq_page_header header = {.type = FZ_PQ_DATA_PAGE,
                                       .num_values = (int32_t)leaf->n_levels,
                                       .definition_level_encoding = FZ_PQ_RLE,
                                       .repetition_level_encoding = FZ_PQ_RLE,
                                       .statistics = {.null_count = -1, .distinct_count = -1}};
    int64_t size = 0, raw = 0, offset = (int64_t)leaf->chunk.len;
    FZ_TRY(encode_body(w, leaf, &header.encoding, err));
    leaf->page_counts[header.encoding]++;
    FZ_TRY(append_page(w, leaf, &header, w->scratch.body.ptr, w->scratch.body.len, &w->scratch.gather, &leaf->chunk,
                       &size, &raw, err));
    FZ_TRY(add_page_entry(w, leaf, offset, size, err));
    leaf->chunk_uncompressed += raw;
    leaf->page_in += (int64_t)leaf->page_plain_bytes;
    leaf->page_out += size;
    leaf->chunk_values += (int64_t)leaf->n_levels;
    leaf->chunk_nulls += (int64_t)(leaf->n_levels - leaf->n_present);
    leaf->chunk_rows += leaf->page_rows;
    leaf->n_levels = leaf->n_present = leaf->page_plain_bytes = 0;
    leaf->page_rows = 0;
    leaf->has_defs = false;
    fz_buf_clear(&leaf->plain);
    fz_pw_range_clear(&leaf->page_range);
out:
    return rc;
}

// Whether the copied dictionary page still is the whole dictionary.
static bool keeps_dictionary_page(const struct fz_pw_leaf *leaf) {
    return leaf->dict_page.len > 0 && leaf->dict.n == leaf->dict_page_n;
}

// Encodings of the chunk, and how many pages have which: only a reader that knows of pages outside the dictionary may trust it to
// hold all values.
static enum fz_code make_encodings(struct fz_parquet_encoder *w, const struct fz_pw_leaf *leaf,
                                   struct fz_pq_column_chunk *meta, struct fz_err *err) {
    enum { N = FZ_PQ_BYTE_STREAM_SPLIT + 1 };
    int *encodings = fz_arena_array(&w->group_arena, N + 1, sizeof *encodings);
    struct fz_pq_encoding_stats *stats = fz_arena_array(&w->group_arena, 2 * N + 1, sizeof *stats);
    if (encodings == NULL || stats == NULL) {
        return fz_fail_nomem(err, N * sizeof *stats);
    }
    if (leaf->max_def > 0 || leaf->max_rep > 0) {
        encodings[meta->n_encodings++] = FZ_PQ_RLE;
    }
    bool kept = keeps_dictionary_page(leaf);
    int of_dictionary = kept ? leaf->dict_page_encoding : FZ_PQ_PLAIN;
    if (leaf->dict_used) {
        stats[meta->n_encoding_stats++] = (struct fz_pq_encoding_stats){FZ_PQ_DICTIONARY_PAGE, of_dictionary, 1};
    }
    for (int e = 0; e < N; e++) {
        if (leaf->page_counts[e] > 0) {
            stats[meta->n_encoding_stats++] = (struct fz_pq_encoding_stats){FZ_PQ_DATA_PAGE, e, leaf->page_counts[e]};
        }
        if (leaf->page_counts_v2[e] > 0) {
            stats[meta->n_encoding_stats++] =
                (struct fz_pq_encoding_stats){FZ_PQ_DATA_PAGE_V2, e, leaf->page_counts_v2[e]};
        }
        if (leaf->page_counts[e] > 0 || leaf->page_counts_v2[e] > 0 || (e == of_dictionary && leaf->dict_used)) {
            encodings[meta->n_encodings++] = e;
        }
    }
    meta->encodings = encodings;
    meta->encoding_stats = stats;
    return FZ_OK;
}

static enum fz_code make_statistics(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf,
                                    struct fz_pq_statistics *out) {
    *out = (struct fz_pq_statistics){
        .null_count = leaf->chunk_nulls, .distinct_count = -1, .min_exact = true, .max_exact = true};
    if (leaf->chunk_range.set) {
        out->has_min = fz_pw_range_stat(&w->group_arena, leaf, &leaf->chunk_range, false, STATISTICS_MAX_LEN, &out->min,
                                        &out->min_exact);
        out->has_max = fz_pw_range_stat(&w->group_arena, leaf, &leaf->chunk_range, true, STATISTICS_MAX_LEN, &out->max,
                                        &out->max_exact);
    }
    return FZ_OK;
}

static enum fz_code make_index(struct fz_parquet_encoder *w, const struct fz_pw_leaf *leaf, int64_t base,
                               struct fz_pw_index *out, struct fz_err *err) {
    size_t n = leaf->n_pages;
    struct fz_pq_page_location *locations = fz_arena_array(&w->group_arena, n, sizeof *locations);
    bool *null_pages = fz_arena_array(&w->group_arena, n, sizeof *null_pages);
    int64_t *null_counts = fz_arena_array(&w->group_arena, n, sizeof *null_counts);
    struct fz_str *mins = fz_arena_array(&w->group_arena, n, sizeof *mins),
                  *maxs = fz_arena_array(&w->group_arena, n, sizeof *maxs);
    if (locations == NULL || null_pages == NULL || null_counts == NULL || mins == NULL || maxs == NULL) {
        return fz_fail_nomem(err, n * sizeof *locations);
    }
    for (size_t i = 0; i < n; i++) {
        const struct fz_pw_page_entry *p = &leaf->pages[i];
        locations[i] = (struct fz_pq_page_location){base + p->offset, p->compressed_page_size, p->first_row};
        null_pages[i] = p->null_page;
        null_counts[i] = p->null_count;
        mins[i] = p->min;
        maxs[i] = p->max;
    }
    out->offsets = (struct fz_pq_offset_index){.pages = locations, .n_pages = n};
    out->has_columns = leaf->index_ok;
    out->columns = (struct fz_pq_column_index){.n_pages = n,
                                               .null_pages = null_pages,
                                               .min_values = mins,
                                               .max_values = maxs,
                                               .boundary_order = leaf->ascending    ? 1
                                                                 : leaf->descending ? 2
                                                                                    : 0,
                                               .null_counts = null_counts};
    return FZ_OK;
}

enum fz_code fz_pw_leaf_finish(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, struct fz_pw_chunk *out,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pq_column_chunk *meta = &out->meta;
    FZ_TRY(fz_pw_page_cut(w, leaf, err));
    *meta = (struct fz_pq_column_chunk){.type = leaf->physical,
                                        .codec = (int)w->codec,
                                        .num_values = leaf->chunk_values,
                                        .index_page_offset = -1,
                                        .dictionary_page_offset = -1,
                                        .bloom_filter_offset = -1,
                                        .bloom_filter_length = -1,
                                        .offset_index_offset = -1,
                                        .column_index_offset = -1};
    if (leaf->dict_used && keeps_dictionary_page(leaf)) {
        fz_buf_append(&out->dictionary, leaf->dict_page.ptr, leaf->dict_page.len);
        FZ_TRY(fz_buf_check(&out->dictionary, err));
        meta->dictionary_page_offset = 0;
        leaf->chunk_uncompressed += leaf->dict_page_raw;
    } else if (leaf->dict_used) {
        struct fz_pq_page_header header = {.type = FZ_PQ_DICTIONARY_PAGE,
                                           .num_values = (int32_t)leaf->dict.n,
                                           .encoding = FZ_PQ_PLAIN,
                                           .statistics = {.null_count = -1, .distinct_count = -1}};
        int64_t size = 0, raw = 0;
        FZ_TRY(append_page(w, leaf, &header, leaf->dict.values.ptr, leaf->dict.values.len, &w->scratch.gather,
                           &out->dictionary, &size, &raw, err));
        meta->dictionary_page_offset = 0;
        leaf->chunk_uncompressed += raw;
    }
    meta->data_page_offset = (int64_t)out->dictionary.len;
    FZ_TRY(make_index(w, leaf, meta->data_page_offset, &out->index, err));
    meta->total_uncompressed_size = leaf->chunk_uncompressed;
    meta->total_compressed_size = (int64_t)(out->dictionary.len + leaf->chunk.len);
    FZ_TRY(make_encodings(w, leaf, meta, err));
    if (leaf->bloom.options.enabled) {
        FZ_TRY(fz_pw_bloom_add_dict(&leaf->bloom, &leaf->dict, err));
        FZ_TRY(fz_pw_bloom_finish(&leaf->bloom, &w->group_arena, &out->bloom, err));
    }
    FZ_TRY(make_statistics(w, leaf, &meta->statistics));
    out->nulls = leaf->chunk_nulls;
    out->nans = leaf->chunk_nans;
    out->pages = leaf->chunk;
    leaf->chunk = (struct fz_buf){0};
    out->range = leaf->chunk_range;
    leaf->chunk_range = (struct fz_pw_range){0};
    FZ_TRY(fz_pw_leaf_start(w, leaf, err));
out:
    return rc;
}

void fz_pw_leaf_dispose(struct fz_pw_leaf *leaf) {
    fz_free(leaf->defs);
    fz_free(leaf->reps);
    fz_free(leaf->indexes);
    fz_free(leaf->pages);
    fz_buf_dispose(&leaf->plain);
    fz_buf_dispose(&leaf->chunk);
    fz_pw_dict_dispose(&leaf->dict);
    fz_pw_bloom_dispose(&leaf->bloom);
    fz_pw_range_dispose(&leaf->page_range);
    fz_pw_range_dispose(&leaf->chunk_range);
    fz_pw_range_dispose(&leaf->previous_range);
}
