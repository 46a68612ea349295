// Counts, bounds and page index of a column chunk of which some pages are copied and some encoded again: exact where the old ones were,
// docs/partial-rewrite.md section 4.1.
#include "format/parquet/parquet_patch_priv.h"

enum fz_code fz_pp_load_index(struct fz_pp *p, const struct fz_pc_piece *piece, struct fz_err *err) {
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

void fz_pp_take_old_bounds(struct fz_pp *p) {
    const struct fz_pq_statistics *s = &p->from->statistics;
    if (s->deprecated || !fz_pc_order_is_known(&p->job->copy->file->meta)) {
        return;
    }
    p->old_lo = s->has_min && fz_pc_parse_side(p->leaf, s->min, false, &p->old);
    p->old_hi = s->has_max && fz_pc_parse_side(p->leaf, s->max, true, &p->old);
    p->old.set = true;
}

enum fz_code fz_pp_add_to_range(struct fz_pp *p, const struct fz_column *column, const uint32_t *rows, size_t n,
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

// Exact bounds of the pages that are copied, by their entries where those are exact, else by looking at the values: at as few pages as
// can tell. `lo`, `hi`: which sides are wanted.
static enum fz_code range_of_copied(struct fz_pp *p, bool lo, bool hi, struct fz_err *err) {
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
        FZ_TRY(fz_pp_open_page(p, i, err));
        for (int64_t left = p->pages.items[i].n_rows; left > 0;) {
            size_t n = left < FZ_BATCH_ROWS ? (size_t)left : FZ_BATCH_ROWS, values = n;
            FZ_TRY(fz_cancel_check(p->job->cancel, err));
            FZ_TRY(fz_pp_read(p, n, &values, err));
            FZ_TRY(fz_pp_add_to_range(p, &p->column, NULL, values, &p->kept, err));
            left -= (int64_t)n;
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

enum fz_code fz_pp_merge_bounds(struct fz_pp *p, int64_t copied_values, bool *known, bool loose[2],
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

void fz_pp_order_pages(struct fz_pw_leaf *leaf) {
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
