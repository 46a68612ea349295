// What a rewrite does with each row group of the files it touches: it is copied, encoded again, or gone. And which rows of one go away or
// change.
#include "change/rewrite_priv.h"

enum {
    // Smaller row groups are encoded again: repeated small changes must not leave files of ever more, ever smaller row groups.
    SMALL_GROUP_ROWS = 20000,
    SMALL_GROUP_BYTES = 1 << 20,
};

// ---- the rows of a row group that go away or change

void fz_rewrite_touched_dispose(struct fz_rewrite_touched *t) {
    fz_free(t->gone);
    fz_free(t->rows);
}

// Merges two ascending lists of n and m distinct numbers in `a` and `b` into `a`, which has room.
static size_t unite(uint32_t *a, size_t n, const uint32_t *b, size_t m) {
    size_t same = 0;
    for (size_t i = 0, k = 0; i < n && k < m;) {
        same += a[i] == b[k];
        bool step_a = a[i] <= b[k], step_b = b[k] <= a[i];
        i += step_a;
        k += step_b;
    }
    size_t total = n + m - same;
    for (size_t at = total; at > 0 && m > 0;) {
        if (n > 0 && a[n - 1] >= b[m - 1]) {
            m -= a[n - 1] == b[m - 1];
            a[--at] = a[--n];
        } else {
            a[--at] = b[--m];
        }
    }
    return total;
}

enum fz_code fz_rewrite_find_touched(const struct fz_rewrite *copier, size_t file_ix, int64_t first, int64_t n,
                                     struct fz_rewrite_touched *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_positions *deleted = NULL, *removed = copier->in->removed[file_ix];
    uint32_t *more = NULL;
    *out = (struct fz_rewrite_touched){.patch = {.assigned = copier->assigned}};
    FZ_TRY(fz_scan_deleted_positions(copier->in->plan, file_ix, &deleted, err));
    bool any_deleted = deleted != NULL && fz_positions_any(deleted, first, n);
    bool any_removed = removed != NULL && fz_positions_any(removed, first, n);
    if (any_deleted || any_removed) {
        out->gone = fz_malloc((size_t)n * 2 * sizeof *out->gone); // one list behind the other while they are united
        if (out->gone == NULL) {
            rc = fz_fail_nomem(err, (size_t)n * 2 * sizeof *out->gone);
            goto out;
        }
        if (any_removed) {
            out->patch.n_gone = fz_positions_within(removed, first, (uint32_t)n, out->gone);
        }
        if (any_deleted && !any_removed) {
            out->patch.n_gone = fz_positions_within(deleted, first, (uint32_t)n, out->gone);
        } else if (any_deleted) {
            more = fz_malloc((size_t)n * sizeof *more);
            if (more == NULL) {
                rc = fz_fail_nomem(err, (size_t)n * sizeof *more);
                goto out;
            }
            size_t n_more = fz_positions_within(deleted, first, (uint32_t)n, more);
            out->patch.n_gone = unite(out->gone, out->patch.n_gone, more, n_more);
        }
        out->patch.gone = out->gone;
    }
    if (copier->in->updates != NULL) {
        out->held = fz_held_rows_find(copier->in->updates, file_ix, first, first + n, &out->patch.n_rows);
    }
    if (out->patch.n_rows > 0) {
        out->rows = fz_malloc(out->patch.n_rows * sizeof *out->rows);
        if (out->rows == NULL) {
            rc = fz_fail_nomem(err, out->patch.n_rows * sizeof *out->rows);
            goto out;
        }
        for (size_t i = 0; i < out->patch.n_rows; i++) {
            out->rows[i] = (uint32_t)(out->held[i].pos - first);
        }
        out->patch.rows = out->rows;
    }
out:
    fz_free(more);
    return rc;
}

// ---- what is copied

static bool has_equality_deletes(const struct fz_scan_file *file) {
    for (size_t d = 0; d < file->n_deletes; d++) {
        if (file->deletes[d]->file.content == FZ_CONTENT_EQUALITY_DELETES) {
            return true;
        }
    }
    return false;
}

// A lineage value that is NULL in the file stands for one that depends on the file it is in.
static void leave_out_inherited(const struct fz_rewrite *copier, const struct fz_rewrite_file *copied, size_t row_group,
                                uint8_t *fields) {
    struct fz_arena arena = {0};
    for (size_t i = copier->in->schema->type->n_fields; i < copier->n_fields; i++) {
        struct fz_parquet_stats stats;
        if (!fz_parquet_file_stats(copied->file, row_group, copier->fields[i].id, copier->fields[i].type, &arena,
                                   &stats) ||
            stats.null_count != 0) {
            fields[i] = 0;
        }
    }
    fz_arena_dispose(&arena);
}

static enum fz_code note_without_nans(const struct fz_data_file *data, struct fz_rewrite_file *copied,
                                      struct fz_err *err) {
    copied->without_nans = fz_calloc(data->n_nan_value_counts + 1, sizeof *copied->without_nans);
    if (copied->without_nans == NULL) {
        return fz_fail_nomem(err, data->n_nan_value_counts * sizeof *copied->without_nans);
    }
    for (size_t i = 0; i < data->n_nan_value_counts; i++) {
        if (data->nan_value_counts[i].count == 0) {
            copied->without_nans[copied->n_without_nans++] = data->nan_value_counts[i].id;
        }
    }
    return FZ_OK;
}

static enum fz_code add_item(struct fz_rewrite *copier, const struct fz_rewrite_item *item, struct fz_err *err) {
    pthread_mutex_lock(&copier->lock);
    enum fz_code rc =
        fz_grow((void **)&copier->items, &copier->cap_items, copier->n_items + 1, sizeof *copier->items, err);
    if (rc == FZ_OK) {
        copier->items[copier->n_items++] = *item;
    }
    pthread_mutex_unlock(&copier->lock);
    return rc;
}

static enum fz_code plan_group(struct fz_rewrite *copier, size_t file_ix, size_t g, int64_t first, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_rewrite_file *copied = &copier->copied[file_ix];
    const struct fz_pq_row_group *group = &fz_parquet_file_meta(copied->file)->row_groups[g];
    struct fz_rewrite_touched touched = {0};
    int64_t n = group->num_rows, bytes = 0;
    copied->use[g] = FZ_GROUP_ENCODE;
    if (n <= 0 || n > INT32_MAX) {
        goto out;
    }
    for (size_t i = 0; i < group->n_columns; i++) {
        bytes += group->columns[i].total_compressed_size;
    }
    FZ_TRY(fz_rewrite_find_touched(copier, file_ix, first, n, &touched, err));
    int64_t stay = n - (int64_t)touched.patch.n_gone;
    if (stay == 0) {
        copied->use[g] = FZ_GROUP_GONE;
    } else if (stay >= SMALL_GROUP_ROWS || bytes >= SMALL_GROUP_BYTES) {
        uint8_t *fields = copied->fields + g * copier->n_fields;
        struct fz_parquet_copy copy = {.file = copied->file,
                                       .row_group = g,
                                       .without_nans = copied->without_nans,
                                       .n_without_nans = copied->n_without_nans,
                                       .patch = &touched.patch,
                                       .like_new = copier->in->like_new};
        if (fz_parquet_copy_fields(copier->schema, &copy, fields) > 0) {
            copied->use[g] = FZ_GROUP_COPY;
            leave_out_inherited(copier, copied, g, fields);
            FZ_TRY(add_item(copier, &(struct fz_rewrite_item){file_ix, g, first, bytes}, err));
        }
    }
out:
    copied->encode[g] = copied->use[g] == FZ_GROUP_ENCODE;
    fz_rewrite_touched_dispose(&touched);
    return rc;
}

// Which row groups of a file are copied, and which of their columns. By footer and positions alone.
enum fz_code fz_rewrite_plan_file(struct fz_rewrite *copier, size_t file_ix, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_row_rewrite *in = copier->in;
    struct fz_rewrite_file *copied = &copier->copied[file_ix];
    const struct fz_scan_file *planned = &in->plan->files[file_ix];
    const struct fz_data_file *data = &planned->entry->file;
    if (has_equality_deletes(planned) || strcmp(data->file_format, "PARQUET") != 0 ||
        !fz_table_writer_takes_partition(in->writer, data->spec_id, &data->partition)) {
        return FZ_OK;
    }
    FZ_TRY(fz_cancel_check(in->cancel, err));
    FZ_TRY(fz_scan_open_parquet(in->store, data, in->cancel, &copied->file, err));
    const struct fz_pq_file *meta = fz_parquet_file_meta(copied->file);
    copied->use = fz_calloc(meta->n_row_groups + 1, 1);
    copied->encode = fz_calloc(meta->n_row_groups + 1, 1);
    copied->fields = fz_calloc(meta->n_row_groups + 1, copier->n_fields);
    if (copied->use == NULL || copied->encode == NULL || copied->fields == NULL) {
        rc = fz_fail_nomem(err, meta->n_row_groups * copier->n_fields);
        goto out;
    }
    FZ_TRY(note_without_nans(data, copied, err));
    int64_t first = 0;
    for (size_t g = 0; g < meta->n_row_groups; g++) {
        FZ_TRY(plan_group(copier, file_ix, g, first, err));
        first += meta->row_groups[g].num_rows;
    }
out:
    return rc;
}
