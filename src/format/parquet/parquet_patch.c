// Column chunks of which some rows are left out or get new values: pages without such a row are copied byte for byte, the others decoded,
// changed and encoded again by the writer's own column machinery, into the same chunk. The dictionary grows, so that copied pages keep
// their indexes; counts, bounds, encodings and page index are made anew from the pages that are written. When nearly all bytes would be
// encoded again anyway the whole chunk is. docs/partial-rewrite.md section 4.
#include "format/parquet/parquet_copy_priv.h"
#include "format/parquet/parquet_prune.h"

enum { WHOLE_PERCENT = 70 }; // of a chunk's bytes in pages that are touched: then all of it is encoded again

struct patch {
    struct fz_pc_job *job;
    struct fz_parquet_encoder *w;
    struct fz_pw_leaf *leaf;
    const struct fz_parquet_patch *rows;
    const struct fz_column *values; // NULL: rows only go away
    const struct fz_pq_column_chunk *from;
    const struct fz_pc_piece *chunk;
    struct fz_pc_pages pages;
    uint8_t *touched; // per page
    bool whole;
    bool has_index; // entries of copied pages are known
    struct fz_pq_column_index index;
    // decoding
    struct fz_pqr_leaf cursor;
    struct fz_pqr_target target;
    struct fz_column column;
    struct fz_buf scratch;
    bool has_dict, dict_full;
    size_t next_gone, next_row; // in the patch
    // old rows
    bool old_lo, old_hi; // bounds of the old chunk are known, exact or not
    struct fz_pw_range old, removed, kept;
    int64_t touched_nulls, touched_values; // of pages that are encoded again, before
};

static enum fz_code damaged(const struct patch *p, const char *what, struct fz_err *err) {
    return fz_pc_corrupt(p->job, p->leaf, what, err);
}

// ---- which pages

// Our own pages without a dictionary are in the form that was chosen for their column: encoding all of the chunk anew would give the same
// again, at the price of choosing it and of the pages that nothing touches.
static bool is_well_formed(const struct patch *p) {
    const char *by = p->job->copy->file->meta.created_by;
    return p->pages.dict_size == 0 && by != NULL && strncmp(by, "frazil version", 14) == 0;
}

// Marks pages with a row that goes away or changes. Whether so many bytes would be encoded again that the whole chunk may be: pages that go
// away as a whole do not count.
static bool mark_touched(struct patch *p) {
    const struct fz_parquet_patch *rows = p->rows;
    size_t touched = 0, left = 0, g = 0, u = 0;
    for (size_t i = 0; i < p->pages.n; i++) {
        const struct fz_pc_page *page = &p->pages.items[i];
        int64_t end = page->first_row + page->n_values;
        size_t g0 = g, u0 = u;
        while (g < rows->n_gone && rows->gone[g] < end) {
            g++;
        }
        while (p->values != NULL && u < rows->n_rows && rows->rows[u] < end) {
            u++;
        }
        p->touched[i] = g > g0 || u > u0;
        bool goes_away = g - g0 == (size_t)page->n_values;
        touched += p->touched[i] && !goes_away ? page->size : 0;
        left += goes_away ? 0 : page->size;
    }
    return !is_well_formed(p) && touched * 100 > left * WHOLE_PERCENT;
}

// The old column index, when it says something of every page that is written as it is.
static enum fz_code load_index(struct patch *p, const struct fz_pc_piece *piece, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (piece->len == 0 || !fz_pc_order_is_known(&p->job->copy->file->meta)) {
        return FZ_OK;
    }
    FZ_TRY(fz_pq_column_index_decode(&p->w->group_arena, piece->bytes, piece->len, &p->index, err));
    p->has_index = p->index.n_pages == p->pages.n && p->index.null_counts != NULL;
    struct fz_pw_range probe = {0};
    for (size_t i = 0; p->has_index && i < p->pages.n; i++) {
        p->has_index = p->index.null_counts[i] >= 0 && p->index.null_counts[i] <= p->pages.items[i].n_values &&
                       (p->index.null_pages[i] || (fz_pc_parse_side(p->leaf, p->index.min_values[i], false, &probe) &&
                                                   fz_pc_parse_side(p->leaf, p->index.max_values[i], true, &probe)));
    }
    rc = fz_pw_range_check(&probe, err);
    fz_pw_range_dispose(&probe);
out:
    return rc;
}

static void take_old_bounds(struct patch *p) {
    const struct fz_pq_statistics *s = &p->from->statistics;
    if (s->deprecated || !fz_pc_order_is_known(&p->job->copy->file->meta)) {
        return;
    }
    p->old_lo = s->has_min && fz_pc_parse_side(p->leaf, s->min, false, &p->old);
    p->old_hi = s->has_max && fz_pc_parse_side(p->leaf, s->max, true, &p->old);
    p->old.set = true;
}

// ---- ranges of decoded values

// Widens `range` by the valid ones among `n` rows of a column (`rows` NULL: the first n).
static enum fz_code add_to_range(struct patch *p, const struct fz_column *column, const uint32_t *rows, size_t n,
                                 struct fz_pw_range *range, struct fz_err *err) {
    size_t width = fz_type_width(column->type), k = 0;
    bool widen = p->leaf->kind == FZ_PW_I16;
    int64_t nans = 0;
    fz_buf_clear(&p->scratch);
    if (!fz_buf_reserve(&p->scratch, n * (widen ? 4 : width) + 1)) {
        return fz_buf_check(&p->scratch, err);
    }
    for (size_t i = 0; i < n; i++) {
        size_t row = rows == NULL ? i : rows[i];
        if (!fz_column_is_valid(column, row)) {
            continue;
        }
        if (widen) {
            int32_t v = ((const int16_t *)column->data)[row];
            memcpy(p->scratch.ptr + k * 4, &v, 4);
        } else {
            memcpy(p->scratch.ptr + k * width, (const char *)column->data + row * width, width);
        }
        k++;
    }
    fz_pw_range_add(range, p->leaf->kind, p->scratch.ptr, k, &nans);
    return fz_pw_range_check(range, err);
}

// ---- decoding

static enum fz_code open_cursor(struct patch *p, const struct fz_pqr_node *node, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pqr_leaf *leaf = &p->cursor;
    *leaf = (struct fz_pqr_leaf){.file = p->job->copy->file, .node = node, .chunk = p->from};
    if (!fz_pqr_conv_choose(node->element, p->leaf->type, &leaf->conv)) {
        return fz_fail(err, FZ_BUG, "column %s cannot be decoded", p->leaf->name);
    }
    leaf->ahead_def = fz_malloc(FZ_PQR_LEVELS);
    leaf->ahead_rep = fz_malloc(FZ_PQR_LEVELS);
    if (leaf->ahead_def == NULL || leaf->ahead_rep == NULL) {
        return fz_fail_nomem(err, FZ_PQR_LEVELS);
    }
    p->target = (struct fz_pqr_target){.fill = FZ_PQR_FILL_LEAF, .type = p->leaf->type, .node = node, .leaf = leaf};
    FZ_TRY(fz_column_init(&p->column, p->leaf->type, FZ_BATCH_ROWS, err));
    if (p->pages.dict_size > 0) {
        FZ_TRY(fz_pqr_page_open(leaf, (const uint8_t *)p->chunk->bytes, p->pages.dict_size, p->chunk->offset, err));
    }
out:
    return rc;
}

static enum fz_code open_page(struct patch *p, size_t i, struct fz_err *err) {
    const struct fz_pc_page *page = &p->pages.items[i];
    return fz_pqr_page_open(&p->cursor, (const uint8_t *)p->chunk->bytes + page->at, page->size,
                            p->chunk->offset + (int64_t)page->at, err);
}

// The next n rows of the page at hand.
static enum fz_code read_rows(struct patch *p, size_t n, struct fz_err *err) {
    fz_pqr_leaf_release(&p->cursor);
    return fz_pqr_fill_column(&p->target, &p->column, n, err);
}

// Puts the old dictionary's entries into the new one, under the same numbers; dict_full when that cannot be.
static enum fz_code load_dictionary(struct patch *p, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_leaf *leaf = p->leaf;
    struct fz_parquet_encoder *w = p->w;
    size_t n = p->cursor.n_dict, page_bytes = w->page_bytes_max, cap = w->dict_bytes_max;
    struct fz_column entries = {.type = leaf->type, .data = p->cursor.dict, .capacity = n};
    leaf->dict_used = leaf->use_dict = true;
    leaf->dict.limit_bytes = w->page_bytes_max = SIZE_MAX / 4;
    FZ_TRY(fz_pw_leaf_append_flat(w, leaf, &entries, 0, NULL, n, err));
    bool same = leaf->use_dict && leaf->dict.n == n; // no entry twice: with each the numbers go up by one
    p->dict_full = !same || n >= 1 << 20;
    leaf->dict.limit_bytes = cap > leaf->dict.values.len ? cap : leaf->dict.values.len;
    if (!same) {
        fz_pw_dict_clear(&leaf->dict);
        leaf->dict_page_n = 0;
    }
    // None of them is a value of the column yet, nor of its first page.
    for (uint32_t i = 0; leaf->width == 0 && i < leaf->dict.n; i++) {
        leaf->dict.spans[i].page = 0;
    }
    leaf->n_levels = leaf->n_present = leaf->page_plain_bytes = 0;
    leaf->page_rows = leaf->chunk_nans = 0;
    fz_buf_clear(&leaf->plain);
    fz_pw_range_clear(&leaf->page_range);
out:
    w->page_bytes_max = page_bytes;
    return rc;
}

// ---- writing

static enum fz_code copy_page(struct patch *p, size_t i, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_leaf *leaf = p->leaf;
    const struct fz_pc_page *page = &p->pages.items[i];
    FZ_TRY(fz_pw_page_cut(p->w, leaf, err));
    FZ_TRY(fz_grow((void **)&leaf->pages, &leaf->pages_cap, leaf->n_pages + 1, sizeof *leaf->pages, err));
    struct fz_pw_page_entry *entry = &leaf->pages[leaf->n_pages++];
    *entry = (struct fz_pw_page_entry){
        .offset = (int64_t)leaf->chunk.len, .compressed_page_size = (int32_t)page->size, .first_row = leaf->chunk_rows};
    if (p->has_index) {
        entry->null_count = p->index.null_counts[i];
        entry->null_page = p->index.null_pages[i];
        entry->min = entry->null_page ? (struct fz_str){0} : p->index.min_values[i];
        entry->max = entry->null_page ? (struct fz_str){0} : p->index.max_values[i];
    }
    fz_buf_append(&leaf->chunk, p->chunk->bytes + page->at, page->size);
    FZ_TRY(fz_buf_check(&leaf->chunk, err));
    if (page->encoding >= 0 && page->encoding <= FZ_PQ_BYTE_STREAM_SPLIT) {
        (page->is_v2 ? leaf->page_counts_v2 : leaf->page_counts)[page->encoding]++;
    }
    leaf->chunk_uncompressed += page->raw;
    leaf->chunk_values += page->n_values;
    leaf->chunk_rows += page->n_values;
    if (p->job->copy->counts != NULL) {
        p->job->copy->counts->pages_copied++;
        p->job->copy->counts->bytes_copied += (int64_t)page->size;
    }
out:
    return rc;
}

static bool is_dictionary(int encoding) {
    return encoding == FZ_PQ_PLAIN_DICTIONARY || encoding == FZ_PQ_RLE_DICTIONARY;
}

// The encoding that a page had, where the writer has it too.
static int own_encoding(const struct fz_pw_leaf *leaf, int encoding) {
    bool number = leaf->kind == FZ_PW_I32 || leaf->kind == FZ_PW_I64 || leaf->kind == FZ_PW_I16;
    bool real = leaf->kind == FZ_PW_F32 || leaf->kind == FZ_PW_F64;
    bool text = leaf->kind == FZ_PW_BYTES;
    bool fits = (encoding == FZ_PQ_DELTA_BINARY_PACKED && number) || (encoding == FZ_PQ_BYTE_STREAM_SPLIT && real) ||
                ((encoding == FZ_PQ_DELTA_LENGTH_BYTE_ARRAY || encoding == FZ_PQ_DELTA_BYTE_ARRAY) && text);
    return fits ? encoding : FZ_PQ_PLAIN;
}

static void choose_encoding(struct patch *p, size_t i) {
    const struct fz_pc_page *page = &p->pages.items[i];
    if (p->whole) {
        return; // as the writer likes
    }
    bool all_null = p->has_index && p->index.null_pages[i];
    p->leaf->use_dict = p->has_dict && !p->dict_full && (is_dictionary(page->encoding) || all_null);
    p->leaf->encoding = own_encoding(p->leaf, page->encoding);
}

static void set_value(struct fz_column *to, size_t row, const struct fz_column *from, size_t i) {
    if (!fz_column_is_valid(from, i)) {
        fz_column_set_null(to, row);
        return;
    }
    size_t width = fz_type_width(to->type);
    memcpy((char *)to->data + row * width, (const char *)from->data + i * width, width);
    if (to->validity != NULL) {
        to->validity[row >> 6] |= UINT64_C(1) << (row & 63);
    }
}

// Applies the patch to n decoded rows from `first` on. Rows that stay go to `stay`, when not all do.
static enum fz_code change_rows(struct patch *p, int64_t first, size_t n, uint32_t *stay, size_t *n_stay,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_parquet_patch *rows = p->rows;
    uint32_t lost[FZ_BATCH_ROWS];
    size_t n_lost = 0, g = p->next_gone, u = p->next_row, u0 = u;
    int64_t end = first + (int64_t)n;
    for (; g < rows->n_gone && rows->gone[g] < end; g++) {
        lost[n_lost++] = (uint32_t)(rows->gone[g] - first);
    }
    *n_stay = n - n_lost;
    if (n_lost > 0) {
        for (size_t i = 0, k = 0, at = 0; i < n; i++) {
            if (k < n_lost && lost[k] == i) {
                k++;
            } else {
                stay[at++] = (uint32_t)i;
            }
        }
    }
    for (; p->values != NULL && u < rows->n_rows && rows->rows[u] < end; u++) {
        lost[n_lost++] = (uint32_t)(rows->rows[u] - first);
    }
    if (n_lost > 0 && !p->whole) {
        FZ_TRY(add_to_range(p, &p->column, lost, n_lost, &p->removed, err));
    }
    for (size_t i = u0; i < u; i++) {
        set_value(&p->column, (size_t)(rows->rows[i] - first), p->values, i);
    }
    p->next_gone = g;
    p->next_row = u;
out:
    return rc;
}

// Whether a page that was encoded again ends here. All columns of the row group decide the same: by rows alone.
static bool ends_page(const struct patch *p, size_t i) {
    const struct fz_pc_page *next = i + 1 < p->pages.n ? &p->pages.items[i + 1] : NULL;
    if (next == NULL || !p->touched[i + 1] || p->leaf->page_rows >= p->w->page_rows_max / 4) {
        return true;
    }
    // A page that shrank goes together with the next one, if that loses rows in all columns too.
    bool next_shrinks =
        p->next_gone < p->rows->n_gone && p->rows->gone[p->next_gone] < next->first_row + next->n_values;
    return !next_shrinks;
}

static enum fz_code encode_page(struct patch *p, size_t i, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pc_page *page = &p->pages.items[i];
    struct fz_pw_leaf *leaf = p->leaf;
    bool split = page->n_values > 2 * p->w->page_rows_max;
    uint32_t stay[FZ_BATCH_ROWS];
    FZ_TRY(open_page(p, i, err));
    if (leaf->n_levels == 0) {
        choose_encoding(p, i);
    }
    for (int64_t done = 0; done < page->n_values;) {
        size_t n = page->n_values - done < FZ_BATCH_ROWS ? (size_t)(page->n_values - done) : FZ_BATCH_ROWS, n_stay = 0;
        FZ_TRY(fz_cancel_check(p->job->cancel, err));
        FZ_TRY(read_rows(p, n, err));
        for (size_t k = 0; p->column.validity != NULL && k < n; k++) {
            p->touched_nulls += !fz_column_is_valid(&p->column, k);
        }
        FZ_TRY(change_rows(p, page->first_row + done, n, stay, &n_stay, err));
        for (size_t from = 0; from < n_stay;) {
            int64_t room = split ? p->w->page_rows_max - leaf->page_rows : FZ_BATCH_ROWS;
            size_t m = n_stay - from < (size_t)room ? n_stay - from : (size_t)room;
            bool had_dict = leaf->use_dict;
            FZ_TRY(fz_pw_leaf_append_flat(p->w, leaf, &p->column, n_stay == n ? from : 0,
                                          n_stay == n ? NULL : stay + from, m, err));
            p->dict_full |= had_dict && !leaf->use_dict;
            from += m;
            if (split && leaf->page_rows >= p->w->page_rows_max) {
                FZ_TRY(fz_pw_page_cut(p->w, leaf, err));
            }
        }
        done += (int64_t)n;
    }
    p->touched_values += page->n_values;
    if (ends_page(p, i)) {
        FZ_TRY(fz_pw_page_cut(p->w, leaf, err));
    }
out:
    return rc;
}

// ---- bounds

// Exact bounds of the pages that are copied, by their entries where those are exact, else by looking at the values: at as few pages as
// can tell. `lo`, `hi`: which sides are wanted.
static enum fz_code range_of_copied(struct patch *p, bool lo, bool hi, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    enum fz_pw_kind kind = p->leaf->kind;
    bool exact = p->has_index && kind != FZ_PW_BYTES && kind != FZ_PW_FIXED;
    struct fz_pw_range entry = {0};
    for (size_t i = 0; i < p->pages.n; i++) {
        if (p->touched[i] || (p->has_index && p->index.null_pages[i])) {
            continue;
        }
        if (p->has_index) {
            entry.set = fz_pc_parse_side(p->leaf, p->index.min_values[i], false, &entry) &&
                        fz_pc_parse_side(p->leaf, p->index.max_values[i], true, &entry);
            FZ_TRY(fz_pw_range_check(&entry, err));
            if (exact) {
                fz_pw_range_merge(&p->kept, kind, &entry);
                continue;
            }
            bool lower = lo && (!p->kept.set || fz_pw_range_compare(kind, &entry, &p->kept, false) < 0);
            bool higher = hi && (!p->kept.set || fz_pw_range_compare(kind, &entry, &p->kept, true) > 0);
            if (entry.set && !lower && !higher) {
                continue;
            }
        }
        FZ_TRY(open_page(p, i, err));
        for (int32_t left = p->pages.items[i].n_values; left > 0;) {
            size_t n = left < FZ_BATCH_ROWS ? (size_t)left : FZ_BATCH_ROWS;
            FZ_TRY(fz_cancel_check(p->job->cancel, err));
            FZ_TRY(read_rows(p, n, err));
            FZ_TRY(add_to_range(p, &p->column, NULL, n, &p->kept, err));
            left -= (int32_t)n;
        }
        bool done_lo = !lo || (p->old_lo && p->kept.set && fz_pw_range_compare(kind, &p->kept, &p->old, false) <= 0);
        bool done_hi = !hi || (p->old_hi && p->kept.set && fz_pw_range_compare(kind, &p->kept, &p->old, true) >= 0);
        if (done_lo && done_hi) {
            break;
        }
    }
    rc = fz_pw_range_check(&p->kept, err);
out:
    fz_pw_range_dispose(&entry);
    return rc;
}

static bool wants_bounds(const struct fz_pw_leaf *leaf) {
    return leaf->metrics != FZ_METRICS_NONE && leaf->metrics != FZ_METRICS_COUNTS;
}

// One side of a range into another that may not be set yet.
static void set_side(struct fz_pw_range *to, const struct fz_pw_range *from, bool upper) {
    struct fz_buf *bytes = upper ? &to->bytes_hi : &to->bytes_lo;
    const struct fz_buf *source = upper ? &from->bytes_hi : &from->bytes_lo;
    *(upper ? &to->hi : &to->lo) = upper ? from->hi : from->lo;
    *(upper ? &to->wide_hi : &to->wide_lo) = upper ? from->wide_hi : from->wide_lo;
    fz_buf_clear(bytes);
    fz_buf_append(bytes, source->ptr, source->len);
}

// Bounds of the whole chunk: those of the new pages are in leaf->chunk_range. *known false: there are none. A side that is only a bound
// stays one (*loose).
static enum fz_code merge_bounds(struct patch *p, int64_t copied_values, bool *known, bool loose[2],
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_leaf *leaf = p->leaf;
    const struct fz_pq_statistics *s = &p->from->statistics;
    struct fz_pw_range sides = {.set = true};
    *known = true;
    if (copied_values == 0) {
        return FZ_OK;
    }
    bool exact_index = p->has_index && leaf->kind != FZ_PW_BYTES && leaf->kind != FZ_PW_FIXED;
    bool lost[2] = {true, true};
    bool is_float = leaf->kind == FZ_PW_F32 || leaf->kind == FZ_PW_F64; // a bound of zero may stand for either sign
    if (p->old_lo && !(s->min_exact && p->removed.set &&
                       (is_float || fz_pw_range_compare(leaf->kind, &p->removed, &p->old, false) <= 0))) {
        lost[0] = false;
    }
    if (p->old_hi && !(s->max_exact && p->removed.set &&
                       (is_float || fz_pw_range_compare(leaf->kind, &p->removed, &p->old, true) >= 0))) {
        lost[1] = false;
    }
    if (exact_index || lost[0] || lost[1]) {
        if (!exact_index && !wants_bounds(leaf) && !(p->old_lo && p->old_hi)) {
            *known = false; // nobody asked for them, and there were none
            return FZ_OK;
        }
        FZ_TRY(range_of_copied(p, lost[0], lost[1], err));
        if (exact_index) {
            lost[0] = lost[1] = true;
        }
        if (!p->kept.set && (lost[0] || lost[1])) { // no value after all, or only NaN
            goto out;
        }
    }
    set_side(&sides, lost[0] ? &p->kept : &p->old, false);
    set_side(&sides, lost[1] ? &p->kept : &p->old, true);
    FZ_TRY(fz_pw_range_check(&sides, err));
    loose[0] = !lost[0] && !s->min_exact;
    loose[1] = !lost[1] && !s->max_exact;
    fz_pw_range_merge(&leaf->chunk_range, leaf->kind, &sides);
    rc = fz_pw_range_check(&leaf->chunk_range, err);
out:
    fz_pw_range_dispose(&sides);
    return rc;
}

static int compare_entries(const struct fz_pw_leaf *leaf, struct fz_str a, struct fz_str b) {
    struct fz_pw_range x = {.set = true}, y = {.set = true};
    bool ok = fz_pc_parse_side(leaf, a, false, &x) && fz_pc_parse_side(leaf, b, false, &y) &&
              fz_pw_range_check(&x, NULL) == FZ_OK && fz_pw_range_check(&y, NULL) == FZ_OK;
    int c = ok ? fz_pw_range_compare(leaf->kind, &x, &y, false) : 2;
    fz_pw_range_dispose(&x);
    fz_pw_range_dispose(&y);
    return c;
}

// The order of pages as their entries are written.
static void order_pages(struct fz_pw_leaf *leaf) {
    const struct fz_pw_page_entry *last = NULL;
    leaf->ascending = leaf->descending = true;
    for (size_t i = 0; i < leaf->n_pages && leaf->index_ok; i++) {
        const struct fz_pw_page_entry *page = &leaf->pages[i];
        if (page->null_page) {
            continue;
        }
        if (last != NULL) {
            int lo = compare_entries(leaf, last->min, page->min), hi = compare_entries(leaf, last->max, page->max);
            leaf->ascending = leaf->ascending && lo <= 0 && hi <= 0;
            leaf->descending = leaf->descending && lo >= 0 && hi >= 0 && lo < 2 && hi < 2;
        }
        last = page;
    }
}

// ---- the chunk

// The old bloom filter takes the new values in; what a chunk without one holds is not known.
static enum fz_code load_bloom(struct patch *p, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_bloom *bloom = &p->leaf->bloom;
    struct fz_str bytes;
    size_t header = 0;
    FZ_TRY(fz_parquet_file_bloom_bytes(p->job->copy->file, p->from, p->job->cancel, &p->w->group_arena, &bytes, &header,
                                       err));
    bloom->options.enabled = bytes.len > 0;
    if (bytes.len > 0) {
        bloom->n_bytes = bytes.len - header;
        bloom->words = fz_malloc(bloom->n_bytes);
        if (bloom->words == NULL) {
            rc = fz_fail_nomem(err, bloom->n_bytes);
            goto out;
        }
        memcpy(bloom->words, bytes.ptr + header, bloom->n_bytes);
    }
out:
    return rc;
}

static enum fz_code start(struct patch *p, const struct fz_pqr_node *node, bool whole, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_leaf *leaf = p->leaf;
    FZ_TRY(open_cursor(p, node, err));
    FZ_TRY(fz_pw_leaf_start(p->w, leaf, err));
    p->whole = whole;
    if (!p->whole) {
        FZ_TRY(load_bloom(p, err));
    }
    if (!p->whole && p->pages.dict_size > 0) {
        bool indexed = false;
        for (size_t i = 0; i < p->pages.n; i++) {
            indexed |= p->touched[i] && (is_dictionary(p->pages.items[i].encoding) || p->pages.items[i].n_values == 0 ||
                                         (p->has_index && p->index.null_pages[i]));
        }
        leaf->dict_page = (struct fz_str){p->chunk->bytes, p->pages.dict_size};
        leaf->dict_page_raw = p->pages.dict_raw;
        leaf->dict_page_encoding = p->pages.dict_encoding;
        leaf->dict_page_n = indexed ? (uint32_t)p->cursor.n_dict : 0;
        leaf->dict_used = true;
        p->has_dict = true;
        p->dict_full = leaf->kind == FZ_PW_BOOL || !indexed;
        if (indexed && leaf->kind != FZ_PW_BOOL && p->cursor.n_dict > 0) {
            FZ_TRY(load_dictionary(p, err));
        }
    }
    if (p->whole) {
        memset(p->touched, 1, p->pages.n);
    } else {
        leaf->use_dict = false; // until a page says otherwise
    }
out:
    return rc;
}

static enum fz_code finish(struct patch *p, struct fz_pw_chunk *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_leaf *leaf = p->leaf;
    const struct fz_pq_statistics *s = &p->from->statistics;
    bool known = true, loose[2] = {false, false}, nulls_known = true;
    FZ_TRY(fz_pw_page_cut(p->w, leaf, err));
    if (!p->whole) {
        nulls_known = leaf->required || s->null_count >= 0;
        int64_t nulls = s->null_count > 0 ? s->null_count : 0, copied_nulls = nulls - p->touched_nulls;
        int64_t copied_values = p->from->num_values - p->touched_values - copied_nulls;
        if (nulls_known && (copied_nulls < 0 || copied_values < 0)) {
            rc = damaged(p, "its statistics count other NULLs than its pages hold", err);
            goto out;
        }
        if (!nulls_known) {
            copied_nulls = 0;
            copied_values = p->from->num_values - p->touched_values;
        }
        FZ_TRY(merge_bounds(p, copied_values, &known, loose, err));
        leaf->chunk_nulls += copied_nulls;
        if (!known) {
            fz_pw_range_clear(&leaf->chunk_range);
        }
        leaf->index_ok = leaf->index_ok && p->has_index && known;
        order_pages(leaf);
    }
    int64_t encoded = (int64_t)leaf->n_pages;
    FZ_TRY(fz_pw_leaf_finish(p->w, leaf, out, err));
    out->meta.codec = (int)p->w->codec;
    if (!nulls_known) {
        out->meta.statistics.null_count = -1;
    }
    out->meta.statistics.min_exact &= !loose[0];
    out->meta.statistics.max_exact &= !loose[1];
    struct fz_parquet_copy_counts *counts = p->job->copy->counts;
    if (counts != NULL) {
        *(p->whole ? &counts->chunks_encoded : &counts->chunks_patched) += 1;
        for (size_t i = 0; i < p->pages.n; i++) {
            encoded -= !p->touched[i];
        }
        counts->pages_encoded += encoded;
    }
out:
    return rc;
}

static void dispose(struct patch *p) {
    fz_pqr_leaf_dispose(&p->cursor);
    fz_column_dispose(&p->column);
    fz_buf_dispose(&p->scratch);
    fz_pw_range_dispose(&p->old);
    fz_pw_range_dispose(&p->removed);
    fz_pw_range_dispose(&p->kept);
    fz_pc_pages_dispose(&p->pages);
    fz_free(p->touched);
}

enum fz_code fz_pc_patch_leaf(struct fz_pc_job *job, struct fz_parquet_encoder *w, size_t ix,
                              const struct fz_column *values, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pqr_node *node = job->sources[ix];
    struct patch p = {
        .job = job,
        .w = w,
        .leaf = &w->leaves[ix],
        .rows = job->copy->patch,
        .values = values,
        .from = &job->copy->file->meta.row_groups[job->copy->row_group].columns[node->leaf],
        .chunk = &job->pieces[FZ_PC_PIECES * ix + FZ_PC_CHUNK],
    };
    // The chunk keeps its codec; index and statistics go into the group's arena.
    enum fz_pq_codec codec = w->codec;
    int level = w->level;
    bool bloom = p.leaf->bloom.options.enabled;
    struct fz_arena arena = w->group_arena;
    w->group_arena = job->group->arena;
    job->group->arena = (struct fz_arena){0};
    FZ_TRY(fz_pc_pages_walk(job, p.leaf, p.chunk, p.from->num_values, &p.pages, err));
    p.touched = fz_calloc(p.pages.n, 1);
    if (p.touched == NULL) {
        rc = fz_fail_nomem(err, p.pages.n);
        goto out;
    }
    if ((int)w->codec != p.from->codec) {
        w->codec = (enum fz_pq_codec)p.from->codec;
        w->level = -1;
    }
    FZ_TRY(load_index(&p, &job->pieces[FZ_PC_PIECES * ix + FZ_PC_COLUMN_INDEX], err));
    take_old_bounds(&p);
    FZ_TRY(start(&p, node, mark_touched(&p), err));
    for (size_t i = 0; i < p.pages.n; i++) {
        FZ_TRY(p.touched[i] ? encode_page(&p, i, err) : copy_page(&p, i, err));
    }
    FZ_TRY(finish(&p, &job->group->chunks[ix], err));
out:
    job->group->arena = w->group_arena;
    w->group_arena = arena;
    w->codec = codec;
    w->level = level;
    p.leaf->bloom.options.enabled = bloom;
    p.leaf->dict_page = (struct fz_str){0};
    w->broken |= rc != FZ_OK;
    dispose(&p);
    return rc;
}
