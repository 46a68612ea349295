// Column chunks of which some rows are left out or get new values: pages without such a row are copied byte for byte, the others decoded,
// changed and encoded again by the writer's own column machinery, into the same chunk. The dictionary grows, so that copied pages keep
// their indexes; counts, bounds, encodings and page index are made anew from the pages that are written. When nearly all bytes would be
// encoded again anyway the whole chunk is. docs/partial-rewrite.md section 4.
#include "format/parquet/parquet_patch_priv.h"
#include "format/parquet/parquet_prune.h"

enum { WHOLE_PERCENT = 70 }; // of a chunk's bytes in pages that are touched: then all of it is encoded again

static enum fz_code damaged(const struct fz_pp *p, const char *what, struct fz_err *err) {
    return fz_pc_corrupt(p->job, p->leaf, what, err);
}

// ---- which pages

// Our own pages without a dictionary are in the form that was chosen for their column: encoding all of the chunk anew would give the same
// again, at the price of choosing it and of the pages that nothing touches.
static bool is_well_formed(const struct fz_pp *p) {
    const char *by = p->job->copy->file->meta.created_by;
    return p->pages.dict_size == 0 && by != NULL && strncmp(by, FZ_PC_OURS, strlen(FZ_PC_OURS)) == 0;
}

// Marks pages with a row that goes away or changes. Whether so many bytes would be encoded again that the whole chunk may be: pages that go
// away as a whole do not count.
static bool mark_touched(struct fz_pp *p) {
    const struct fz_parquet_patch *rows = p->rows;
    size_t touched = 0, left = 0, g = 0, u = 0;
    for (size_t i = 0; i < p->pages.n; i++) {
        const struct fz_pc_page *page = &p->pages.items[i];
        int64_t end = page->first_row + page->n_rows;
        size_t g0 = g, u0 = u;
        while (g < rows->n_gone && rows->gone[g] < end) {
            g++;
        }
        while (p->values != NULL && u < rows->n_rows && rows->rows[u] < end) {
            u++;
        }
        p->touched[i] = g > g0 || u > u0;
        bool goes_away = g - g0 == (size_t)page->n_rows;
        touched += p->touched[i] && !goes_away ? page->size : 0;
        left += goes_away ? 0 : page->size;
    }
    return !is_well_formed(p) && touched * 100 > left * WHOLE_PERCENT;
}

// ---- decoding

static enum fz_code open_cursor(struct fz_pp *p, const struct fz_pqr_node *node, struct fz_err *err) {
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

enum fz_code fz_pp_open_page(struct fz_pp *p, size_t i, struct fz_err *err) {
    const struct fz_pc_page *page = &p->pages.items[i];
    return fz_pqr_page_open(&p->cursor, (const uint8_t *)p->chunk->bytes + page->at, page->size,
                            p->chunk->offset + (int64_t)page->at, err);
}

enum fz_code fz_pp_read(struct fz_pp *p, size_t n, size_t *n_values, struct fz_err *err) {
    fz_pqr_leaf_release(&p->cursor);
    if (!p->nested) {
        *n_values = n;
        return fz_pqr_fill_column(&p->target, &p->column, n, err);
    }
    enum fz_code rc = fz_pqr_read_levels(&p->cursor, &p->column, n, err);
    *n_values = p->cursor.n_present;
    return rc;
}

// Puts the old dictionary's entries into the new one, under the same numbers; dict_full when that cannot be.
static enum fz_code load_dictionary(struct fz_pp *p, struct fz_err *err) {
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

static enum fz_code copy_page(struct fz_pp *p, size_t i, struct fz_err *err) {
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
    leaf->chunk_rows += page->n_rows;
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

static void choose_encoding(struct fz_pp *p, size_t i) {
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
static enum fz_code change_rows(struct fz_pp *p, int64_t first, size_t n, uint32_t *stay, size_t *n_stay,
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
        FZ_TRY(fz_pp_add_to_range(p, &p->column, lost, n_lost, &p->removed, err));
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
static bool ends_page(const struct fz_pp *p, size_t i) {
    const struct fz_pc_page *next = i + 1 < p->pages.n ? &p->pages.items[i + 1] : NULL;
    if (next == NULL || !p->touched[i + 1] || p->leaf->page_rows >= p->w->page_rows_max / 4) {
        return true;
    }
    // A page that shrank goes together with the next one, if that loses rows in all columns too.
    bool next_shrinks = p->next_gone < p->rows->n_gone && p->rows->gone[p->next_gone] < next->first_row + next->n_rows;
    return !next_shrinks;
}

// ---- nested columns: a leaf's pages are changed at the level of its levels, whatever is around it

// Lets go of the rows that are left out among those that were read, from `first` on: levels of the others become slots.
static enum fz_code keep_levels(struct fz_pp *p, int64_t first, struct fz_pw_slots *slots, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_parquet_patch *rows = p->rows;
    const struct fz_pqr_leaf *from = &p->cursor;
    size_t g = p->next_gone, n_lost = 0, k = 0, v = 0, need = from->n_levels + 1;
    int64_t row = first - 1;
    bool lost = false;
    FZ_TRY(fz_grow((void **)&p->slot_rows, &p->slot_rows_cap, need, sizeof *p->slot_rows, err));
    FZ_TRY(fz_grow((void **)&p->lost, &p->lost_cap, need, sizeof *p->lost, err));
    for (size_t i = 0; i < from->n_levels; i++) {
        if (from->batch_rep[i] == 0) {
            row++;
            g += lost;
            lost = g < rows->n_gone && rows->gone[g] == row;
        }
        bool there = from->batch_def[i] == p->leaf->max_def;
        p->touched_nulls += !there;
        if (lost) {
            p->lost[n_lost] = (uint32_t)v;
            n_lost += there;
        } else {
            p->slot_rows[k] = there ? (uint32_t)v : FZ_PW_NO_ROW;
            from->batch_def[k] = from->batch_def[i];
            from->batch_rep[k++] = from->batch_rep[i];
        }
        v += there;
    }
    p->next_gone = g + lost;
    *slots = (struct fz_pw_slots){.rows = p->slot_rows, .defs = from->batch_def, .reps = from->batch_rep, .n = k};
    if (n_lost > 0 && !p->whole) {
        FZ_TRY(fz_pp_add_to_range(p, &p->column, p->lost, n_lost, &p->removed, err));
    }
out:
    return rc;
}

// How many of the slots, at most, make the first `rows` rows.
static size_t slots_of_rows(const struct fz_pw_slots *slots, int64_t rows) {
    size_t i = 0;
    for (; i < slots->n && (slots->reps[i] != 0 || rows > 0); i++) {
        rows -= slots->reps[i] == 0;
    }
    return i;
}

// The next n rows of the page at hand, from row `first` on.
static enum fz_code encode_levels(struct fz_pp *p, int64_t first, size_t n, bool split, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_leaf *leaf = p->leaf;
    struct fz_pw_slots slots;
    size_t n_values;
    FZ_TRY(fz_pp_read(p, n, &n_values, err));
    FZ_TRY(keep_levels(p, first, &slots, err));
    while (slots.n > 0) {
        struct fz_pw_slots part = slots;
        bool had_dict = leaf->use_dict;
        part.n = split ? slots_of_rows(&slots, p->w->page_rows_max - leaf->page_rows) : slots.n;
        FZ_TRY(fz_pw_leaf_append_slots(p->w, leaf, &p->column, &part, err));
        p->dict_full |= had_dict && !leaf->use_dict;
        if (split && leaf->page_rows >= p->w->page_rows_max) {
            FZ_TRY(fz_pw_page_cut(p->w, leaf, err));
        }
        slots.rows += part.n;
        slots.defs += part.n;
        slots.reps += part.n;
        slots.n -= part.n;
    }
out:
    return rc;
}

// ---- pages that are encoded again

static enum fz_code encode_page(struct fz_pp *p, size_t i, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pc_page *page = &p->pages.items[i];
    struct fz_pw_leaf *leaf = p->leaf;
    bool split = page->n_rows > 2 * p->w->page_rows_max;
    uint32_t stay[FZ_BATCH_ROWS];
    FZ_TRY(fz_pp_open_page(p, i, err));
    if (leaf->n_levels == 0) {
        choose_encoding(p, i);
    }
    for (int64_t done = 0; done < page->n_rows;) {
        size_t n = page->n_rows - done < FZ_BATCH_ROWS ? (size_t)(page->n_rows - done) : FZ_BATCH_ROWS, n_stay = 0;
        FZ_TRY(fz_cancel_check(p->job->cancel, err));
        if (p->nested) {
            FZ_TRY(encode_levels(p, page->first_row + done, n, split, err));
            done += (int64_t)n;
            continue;
        }
        FZ_TRY(fz_pp_read(p, n, &n_stay, err));
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

// ---- the chunk

// The old bloom filter takes the new values in; what a chunk without one holds is not known.
static enum fz_code load_bloom(struct fz_pp *p, struct fz_err *err) {
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

static enum fz_code start(struct fz_pp *p, const struct fz_pqr_node *node, bool whole, struct fz_err *err) {
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

static enum fz_code finish(struct fz_pp *p, struct fz_pw_chunk *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_leaf *leaf = p->leaf;
    const struct fz_pq_statistics *s = &p->from->statistics;
    bool known = true, loose[2] = {false, false}, nulls_known = true;
    FZ_TRY(fz_pw_page_cut(p->w, leaf, err));
    if (!p->whole) {
        nulls_known = leaf->max_def == 0 || s->null_count >= 0;
        int64_t nulls = s->null_count > 0 ? s->null_count : 0, copied_nulls = nulls - p->touched_nulls;
        int64_t copied_values = p->from->num_values - p->touched_values - copied_nulls;
        bool other_nulls = nulls_known && (copied_nulls < 0 || copied_values < 0);
        if (other_nulls && leaf->max_rep == 0) {
            rc = damaged(p, "its statistics count other NULLs than its pages hold", err);
            goto out;
        }
        nulls_known = nulls_known && !other_nulls;
        if (!nulls_known) {
            copied_nulls = 0;
        }
        if (!nulls_known || leaf->max_rep > 0) { // writers do not agree on how NULL and empty lists count
            copied_values = p->from->num_values - p->touched_values;
        }
        FZ_TRY(fz_pp_merge_bounds(p, copied_values, &known, loose, err));
        leaf->chunk_nulls += copied_nulls;
        if (!known) {
            fz_pw_range_clear(&leaf->chunk_range);
        }
        leaf->index_ok = leaf->index_ok && p->has_index && known;
        fz_pp_order_pages(leaf);
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

static void dispose(struct fz_pp *p) {
    fz_pqr_leaf_dispose(&p->cursor);
    fz_column_dispose(&p->column);
    fz_buf_dispose(&p->scratch);
    fz_pw_range_dispose(&p->old);
    fz_pw_range_dispose(&p->removed);
    fz_pw_range_dispose(&p->kept);
    fz_pc_pages_dispose(&p->pages);
    fz_free(p->touched);
    fz_free(p->slot_rows);
    fz_free(p->lost);
}

enum fz_code fz_pc_patch_leaf(struct fz_pc_job *job, struct fz_parquet_encoder *w, size_t ix,
                              const struct fz_column *values, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pqr_node *node = job->sources[ix];
    struct fz_pp p = {
        .job = job,
        .w = w,
        .leaf = &w->leaves[ix],
        .rows = job->copy->patch,
        .values = values,
        .from = &job->copy->file->meta.row_groups[job->copy->row_group].columns[node->leaf],
        .chunk = &job->pieces[FZ_PC_PIECES * ix + FZ_PC_CHUNK],
        .nested = w->leaves[ix].n_path > 1,
    };
    // The chunk keeps its codec; index and statistics go into the group's arena.
    enum fz_pq_codec codec = w->codec;
    int level = w->level;
    bool bloom = p.leaf->bloom.options.enabled;
    struct fz_arena arena = w->group_arena;
    w->group_arena = job->group->arena;
    job->group->arena = (struct fz_arena){0};
    FZ_TRY(fz_pc_pages_walk(job, p.leaf, p.chunk, p.from->num_values, &p.pages, err));
    FZ_TRY(fz_pc_pages_place(job, p.leaf, ix, &p.pages, err));
    p.touched = fz_calloc(p.pages.n, 1);
    if (p.touched == NULL) {
        rc = fz_fail_nomem(err, p.pages.n);
        goto out;
    }
    if ((int)w->codec != p.from->codec) {
        w->codec = (enum fz_pq_codec)p.from->codec;
        w->level = -1;
    }
    FZ_TRY(fz_pp_load_index(&p, &job->pieces[FZ_PC_PIECES * ix + FZ_PC_COLUMN_INDEX], err));
    fz_pp_take_old_bounds(&p);
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
