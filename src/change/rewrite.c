// Implementation of change/row_rewrite.h, and its use by copy-on-write. Row groups are the unit of work, shared out to all cores: one that
// loses or changes no row is copied, one that does is patched (parquet_patch.c), its missing columns, and on v3 their lineage, are encoded
// and added. Small row groups, and what cannot be copied at all, are read, changed and pushed to the writer as rows.
#include "change/row_rewrite.h"

#include <stdlib.h>

#include "change/change_priv.h"
#include "format/parquet/parquet_copy.h"

enum {
    MAX_THREADS = 16,
    // Smaller row groups are encoded again: repeated small changes must not leave files of ever more, ever smaller row groups.
    SMALL_GROUP_ROWS = 20000,
    SMALL_GROUP_BYTES = 1 << 20,
    LEAST_COPY_BYTES = 32 << 20,
};
enum group_use { GROUP_ENCODE, GROUP_COPY, GROUP_GONE };

struct copied_file { // one per file of the plan that is touched
    struct fz_parquet_file *file; // NULL: all of it is encoded again
    uint8_t *use; // per row group: enum group_use
    uint8_t *encode; // per row group: its rows are encoded again
    uint8_t *fields; // per row group and field: the chunks are copied
    int32_t *without_nans;
    size_t n_without_nans;
};

struct copier {
    const struct fz_row_rewrite *in;
    struct fz_arena arena;
    const struct fz_field *fields; // of the writer, then _file_ix and _pos
    size_t n_fields; // without those two
    size_t *columns; // 0..n_fields+1
    uint8_t *assigned; // per field: changed rows get a new value there
    size_t *files; // touched
    size_t n_files;
    struct copied_file *copied; // of all files of the plan
    struct copy_item {
        size_t file_ix, row_group;
        int64_t first_row, bytes;
    } * items;
    size_t n_items, cap_items;
    struct fz_source *source; // rows that are encoded again
    struct fz_parquet_encoder *schema; // only asked what can be copied
    _Atomic size_t next_file, next_item;
    _Atomic bool stop;
    pthread_mutex_t lock; // of what follows
    pthread_cond_t freed;
    int64_t bytes_in_use;
    struct fz_row_rewrite_stats stats;
    struct fz_err err;
};

// ---- the rows of a row group that go away or change

struct touched {
    struct fz_parquet_patch patch;
    uint32_t *gone, *rows; // storage
    const struct fz_held_row *held; // patch.n_rows
};

static void touched_dispose(struct touched *t) {
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

static enum fz_code find_touched(const struct copier *copier, size_t file_ix, int64_t first, int64_t n,
                                 struct touched *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_positions *deleted = NULL, *removed = copier->in->removed[file_ix];
    uint32_t *more = NULL;
    *out = (struct touched){.patch = {.assigned = copier->assigned}};
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

static bool is_copied_whole(const struct copier *copier, const uint8_t *fields) {
    for (size_t i = 0; i < copier->n_fields; i++) {
        if (!fields[i] && copier->fields[i].type->id != FZ_TYPE_UNKNOWN) {
            return false;
        }
    }
    return true;
}

// A lineage value that is NULL in the file stands for one that depends on the file it is in.
static void leave_out_inherited(const struct copier *copier, const struct copied_file *copied, size_t row_group,
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

static enum fz_code note_without_nans(const struct fz_data_file *data, struct copied_file *copied, struct fz_err *err) {
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

static enum fz_code add_item(struct copier *copier, const struct copy_item *item, struct fz_err *err) {
    pthread_mutex_lock(&copier->lock);
    enum fz_code rc =
        fz_grow((void **)&copier->items, &copier->cap_items, copier->n_items + 1, sizeof *copier->items, err);
    if (rc == FZ_OK) {
        copier->items[copier->n_items++] = *item;
    }
    pthread_mutex_unlock(&copier->lock);
    return rc;
}

static enum fz_code plan_group(struct copier *copier, size_t file_ix, size_t g, int64_t first, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct copied_file *copied = &copier->copied[file_ix];
    const struct fz_pq_row_group *group = &fz_parquet_file_meta(copied->file)->row_groups[g];
    struct touched touched = {0};
    int64_t n = group->num_rows, bytes = 0;
    copied->use[g] = GROUP_ENCODE;
    if (n <= 0 || n > INT32_MAX) {
        goto out;
    }
    for (size_t i = 0; i < group->n_columns; i++) {
        bytes += group->columns[i].total_compressed_size;
    }
    FZ_TRY(find_touched(copier, file_ix, first, n, &touched, err));
    int64_t stay = n - (int64_t)touched.patch.n_gone;
    if (stay == 0) {
        copied->use[g] = GROUP_GONE;
    } else if (stay >= SMALL_GROUP_ROWS || bytes >= SMALL_GROUP_BYTES) {
        uint8_t *fields = copied->fields + g * copier->n_fields;
        struct fz_parquet_copy copy = {.file = copied->file,
                                       .row_group = g,
                                       .without_nans = copied->without_nans,
                                       .n_without_nans = copied->n_without_nans,
                                       .patch = &touched.patch,
                                       .like_new = copier->in->like_new};
        if (fz_parquet_copy_fields(copier->schema, &copy, fields) > 0) {
            copied->use[g] = GROUP_COPY;
            leave_out_inherited(copier, copied, g, fields);
            FZ_TRY(add_item(copier, &(struct copy_item){file_ix, g, first, bytes}, err));
        }
    }
out:
    copied->encode[g] = copied->use[g] == GROUP_ENCODE;
    touched_dispose(&touched);
    return rc;
}

// Which row groups of a file are copied, and which of their columns. By footer and positions alone.
static enum fz_code plan_file(struct copier *copier, size_t file_ix, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_row_rewrite *in = copier->in;
    struct copied_file *copied = &copier->copied[file_ix];
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

// ---- new values over rows that were read

struct overlay {
    struct fz_column *made; // nested columns that were put together anew, per field; type NULL: none
    uint32_t at[FZ_BATCH_ROWS]; // rows of the batch that change
    struct fz_held_row held[FZ_BATCH_ROWS];
    size_t n;
};

static enum fz_code overlay_init(struct overlay *o, const struct copier *copier, struct fz_err *err) {
    o->n = 0;
    o->made = fz_calloc(copier->n_fields + 1, sizeof *o->made);
    return o->made == NULL ? fz_fail_nomem(err, copier->n_fields * sizeof *o->made) : FZ_OK;
}

static void overlay_drop(struct overlay *o, const struct copier *copier) {
    for (size_t i = 0; o->made != NULL && i < copier->n_fields; i++) {
        if (o->made[i].type != NULL) {
            fz_column_dispose(&o->made[i]);
            o->made[i] = (struct fz_column){0};
        }
    }
}

static void overlay_dispose(struct overlay *o, const struct copier *copier) {
    overlay_drop(o, copier);
    fz_free(o->made);
}

static void find_changed(struct overlay *o, const struct copier *copier, const int32_t *file_ix, const int64_t *pos,
                         size_t n_rows) {
    o->n = 0;
    for (size_t from = 0; copier->in->updates != NULL && from < n_rows;) {
        size_t to = from + 1, n = 0;
        while (to < n_rows && file_ix[to] == file_ix[from] && pos[to] > pos[to - 1]) {
            to++;
        }
        const struct fz_held_row *rows =
            fz_held_rows_find(copier->in->updates, (size_t)file_ix[from], pos[from], pos[to - 1] + 1, &n);
        for (size_t k = 0, i = from; k < n; k++) {
            while (i < to && pos[i] < rows[k].pos) {
                i++;
            }
            if (i < to && pos[i] == rows[k].pos) { // else it is deleted
                o->at[o->n] = (uint32_t)i;
                o->held[o->n++] = rows[k];
            }
        }
        from = to;
    }
}

// Flat columns change where they are. A validity that is borrowed is the reader's: it is copied first.
static void change_flat(const struct overlay *o, const struct copier *copier, size_t update, struct fz_column *column,
                        size_t n_rows) {
    if (column->validity != NULL && column->validity != column->validity_storage) {
        memcpy(column->validity_storage, column->validity, (n_rows + 63) / 64 * 8);
        column->validity = column->validity_storage;
    }
    size_t width = fz_type_width(column->type);
    for (size_t i = 0; i < o->n; i++) {
        size_t row = o->at[i];
        const struct fz_column *from =
            update != SIZE_MAX ? fz_held_rows_column(copier->in->updates, o->held[i].block, update) : NULL;
        if (from == NULL || !fz_column_is_valid(from, o->held[i].row)) {
            fz_column_set_null(column, row);
            continue;
        }
        memcpy((char *)column->data + row * width, (const char *)from->data + o->held[i].row * width, width);
        if (column->validity != NULL) {
            column->validity[row >> 6] |= UINT64_C(1) << (row & 63);
        }
    }
}

static enum fz_code change_nested(struct overlay *o, const struct copier *copier, size_t update, size_t field,
                                  struct fz_column *column, size_t n_rows, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_column *made = &o->made[field];
    size_t done = 0;
    FZ_TRY(fz_column_init(made, column->type, n_rows, err));
    for (size_t i = 0; i < o->n; i++) {
        size_t row = o->at[i];
        FZ_TRY(fz_column_copy(made, done, column, done, NULL, row - done, NULL, err));
        FZ_TRY(fz_column_copy(made, row, fz_held_rows_column(copier->in->updates, o->held[i].block, update),
                              o->held[i].row, NULL, 1, NULL, err));
        done = row + 1;
    }
    FZ_TRY(fz_column_copy(made, done, column, done, NULL, n_rows - done, NULL, err));
out:
    return rc;
}

// Changes what was read of one field; *out is the column to be written.
static enum fz_code change_column(struct overlay *o, const struct copier *copier, size_t field,
                                  struct fz_column *column, size_t n_rows, struct fz_column *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (o->n > 0 && copier->assigned[field]) {
        bool of_table = field < copier->in->schema->type->n_fields; // else lineage: written as NULL
        size_t update = of_table ? copier->in->update_fields[field] : SIZE_MAX;
        if (!fz_type_is_primitive(column->type) && update != SIZE_MAX) {
            FZ_TRY(change_nested(o, copier, update, field, column, n_rows, err));
            *out = o->made[field];
            return FZ_OK;
        }
        change_flat(o, copier, update, column, n_rows);
    }
    *out = *column;
out:
    return rc;
}

// ---- copying

static enum fz_code new_source(struct copier *copier, const uint8_t *only_files, const uint8_t *const *only_groups,
                               int max_threads, struct fz_source **out, struct fz_err *err) {
    const struct fz_row_rewrite *in = copier->in;
    struct fz_scan_source_options options = {
        .plan = in->plan,
        .store = in->store,
        .fields = copier->fields,
        .n_fields = copier->n_fields + 2,
        .only_files = only_files,
        .only_groups = only_groups,
        .skip = in->removed, // also where nothing is removed: said so that no file is pruned
        .cancel = in->cancel,
        .max_threads = max_threads,
    };
    return fz_scan_source_new(&options, out, err);
}

// The columns of a row group that its file does not have in the wanted form, through the ordinary scan into the encoder.
static enum fz_code encode_rest(struct copier *copier, const struct copy_item *item, const uint8_t *fields,
                                struct fz_parquet_encoder *encoder, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_row_rewrite *in = copier->in;
    struct fz_source *source = NULL;
    void *reader = NULL;
    struct fz_batch batch = {0}, view = {0};
    struct overlay *overlay = fz_calloc(1, sizeof *overlay);
    size_t n = 0, n_groups = fz_parquet_file_meta(copier->copied[item->file_ix].file)->n_row_groups;
    uint8_t *only_files = fz_calloc(in->plan->n_files, 1), *only = fz_calloc(n_groups, 1);
    const uint8_t **only_groups = fz_calloc(in->plan->n_files, sizeof(uint8_t *));
    struct fz_field *wanted = fz_calloc(copier->n_fields + 2, sizeof *wanted);
    size_t *columns = fz_calloc(copier->n_fields + 2, sizeof *columns);
    view.columns = fz_calloc(copier->n_fields, sizeof *view.columns);
    if (overlay == NULL || only_files == NULL || only == NULL || only_groups == NULL || wanted == NULL ||
        columns == NULL || view.columns == NULL) {
        rc = fz_fail_nomem(err, in->plan->n_files * sizeof(uint8_t *));
        goto out;
    }
    FZ_TRY(overlay_init(overlay, copier, err));
    only_files[item->file_ix] = 1;
    only[item->row_group] = 1;
    only_groups[item->file_ix] = only;
    for (size_t i = 0; i < copier->n_fields; i++) {
        if (!fields[i] && copier->fields[i].type->id != FZ_TYPE_UNKNOWN) {
            columns[n++] = i;
        }
    }
    size_t n_own = n;
    columns[n++] = copier->n_fields;
    columns[n++] = copier->n_fields + 1;
    for (size_t i = 0; i < n; i++) {
        wanted[i] = copier->fields[columns[i]];
    }
    fz_parquet_encoder_leave_out(encoder, fields);
    FZ_TRY(fz_batch_init(&batch, wanted, n, FZ_BATCH_ROWS, err));
    FZ_TRY(new_source(copier, only_files, only_groups, 1, &source, err));
    FZ_TRY(source->vtable->open(source, columns, n, &reader, err));
    for (;;) {
        FZ_TRY(source->vtable->next(source, reader, &batch, err));
        if (batch.n_rows == 0) {
            break;
        }
        find_changed(overlay, copier, batch.columns[n_own].data, batch.columns[n_own + 1].data, batch.n_rows);
        for (size_t i = 0; i < n_own; i++) {
            FZ_TRY(change_column(overlay, copier, columns[i], &batch.columns[i], batch.n_rows,
                                 &view.columns[columns[i]], err));
        }
        view.n_rows = batch.n_rows;
        view.n_columns = copier->n_fields;
        size_t done;
        FZ_TRY(fz_parquet_encoder_append(encoder, &view, 0, NULL, batch.n_rows, &done, err));
        overlay_drop(overlay, copier);
    }
out:
    if (reader != NULL) {
        source->vtable->close(source, reader);
    }
    fz_source_unref(source);
    fz_batch_dispose(&batch);
    if (overlay != NULL) {
        overlay_dispose(overlay, copier);
    }
    fz_free(overlay);
    fz_free(view.columns);
    fz_free(only_files);
    fz_free(only);
    fz_free(only_groups);
    fz_free(wanted);
    fz_free(columns);
    return rc;
}

// The new values of a row group's changed rows, for the fields that are patched.
static enum fz_code gather_values(struct copier *copier, const uint8_t *fields, const struct touched *touched,
                                  struct fz_column *values, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = touched->patch.n_rows;
    for (size_t i = 0; i < copier->n_fields && n > 0; i++) {
        if (!fields[i] || !copier->assigned[i]) {
            continue;
        }
        FZ_TRY(fz_column_init(&values[i], copier->fields[i].type, n, err));
        if (i < copier->in->schema->type->n_fields) {
            FZ_TRY(fz_held_rows_gather(copier->in->updates, copier->in->update_fields[i], touched->held, n, &values[i],
                                       err));
        } else {
            for (size_t row = 0; row < n; row++) {
                fz_column_set_null(&values[i], row);
            }
        }
    }
out:
    return rc;
}

static void add_counts(struct copier *copier, const struct fz_parquet_copy_counts *counts,
                       const struct fz_parquet_patch *patch, int64_t rows, bool whole) {
    pthread_mutex_lock(&copier->lock);
    struct fz_row_rewrite_stats *s = &copier->stats;
    s->rows_kept += rows - (int64_t)patch->n_rows;
    *(patch->n_rows > 0 || patch->n_gone > 0 || !whole ? &s->groups_patched : &s->groups_copied) += 1;
    s->chunks_copied += counts->chunks_copied;
    s->chunks_patched += counts->chunks_patched;
    s->chunks_encoded += counts->chunks_encoded;
    s->pages_copied += counts->pages_copied;
    s->pages_encoded += counts->pages_encoded;
    s->bytes_copied += counts->bytes_copied;
    pthread_mutex_unlock(&copier->lock);
}

static enum fz_code copy_item(struct copier *copier, const struct copy_item *item, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_row_rewrite *in = copier->in;
    struct copied_file *copied = &copier->copied[item->file_ix];
    const uint8_t *fields = copied->fields + item->row_group * copier->n_fields;
    struct fz_parquet_encoder *encoder = NULL;
    struct fz_parquet_group *group = NULL;
    struct fz_parquet_copy_counts counts = {0};
    struct touched touched = {0};
    struct fz_column *values = fz_calloc(copier->n_fields + 1, sizeof *values);
    if (values == NULL) {
        return fz_fail_nomem(err, copier->n_fields * sizeof *values);
    }
    int64_t n = fz_parquet_file_meta(copied->file)->row_groups[item->row_group].num_rows;
    FZ_TRY(fz_cancel_check(in->cancel, err));
    FZ_TRY(find_touched(copier, item->file_ix, item->first_row, n, &touched, err));
    FZ_TRY(gather_values(copier, fields, &touched, values, err));
    touched.patch.values = values;
    FZ_TRY(fz_table_writer_encoder(in->writer, &encoder, err));
    bool whole = is_copied_whole(copier, fields);
    if (!whole) {
        FZ_TRY(encode_rest(copier, item, fields, encoder, err));
    }
    struct fz_parquet_copy copy = {.file = copied->file,
                                   .row_group = item->row_group,
                                   .without_nans = copied->without_nans,
                                   .n_without_nans = copied->n_without_nans,
                                   .patch = &touched.patch,
                                   .counts = &counts};
    FZ_TRY(fz_parquet_copy_group(encoder, &copy, fields, in->cancel, &group, err));
    int64_t rows = fz_parquet_group_rows(group);
    FZ_TRY(fz_table_writer_add_group(in->writer, &in->plan->files[item->file_ix].entry->file.partition, group, err));
    add_counts(copier, &counts, &touched.patch, rows, whole);
out:
    for (size_t i = 0; i < copier->n_fields; i++) {
        if (values[i].type != NULL) {
            fz_column_dispose(&values[i]);
        }
    }
    fz_free(values);
    touched_dispose(&touched);
    fz_parquet_encoder_free(encoder);
    return rc;
}

// A row group is held in memory, old and new bytes, while it is copied.
static void take_memory(struct copier *copier, int64_t bytes) {
    int64_t limit = copier->in->memory_bytes > LEAST_COPY_BYTES ? copier->in->memory_bytes : LEAST_COPY_BYTES;
    pthread_mutex_lock(&copier->lock);
    while (copier->bytes_in_use > 0 && copier->bytes_in_use + bytes > limit) {
        pthread_cond_wait(&copier->freed, &copier->lock);
    }
    copier->bytes_in_use += bytes;
    pthread_mutex_unlock(&copier->lock);
}

static void give_memory(struct copier *copier, int64_t bytes) {
    pthread_mutex_lock(&copier->lock);
    copier->bytes_in_use -= bytes;
    pthread_cond_broadcast(&copier->freed);
    pthread_mutex_unlock(&copier->lock);
}

// Rows of row groups that are not copied, read, changed and pushed to the writer.
static enum fz_code encode_rows(struct copier *copier, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = copier->source;
    struct fz_batch batch = {0}, view = {.n_columns = copier->n_fields};
    void *reader = NULL;
    int64_t kept = 0;
    struct overlay *overlay = fz_calloc(1, sizeof *overlay);
    view.columns = fz_calloc(copier->n_fields + 1, sizeof *view.columns);
    if (overlay == NULL || view.columns == NULL) {
        rc = fz_fail_nomem(err, sizeof *overlay);
        goto out;
    }
    FZ_TRY(overlay_init(overlay, copier, err));
    FZ_TRY(fz_batch_init(&batch, copier->fields, copier->n_fields + 2, FZ_BATCH_ROWS, err));
    FZ_TRY(source->vtable->open(source, copier->columns, copier->n_fields + 2, &reader, err));
    while (!atomic_load(&copier->stop)) {
        FZ_TRY(source->vtable->next(source, reader, &batch, err));
        if (batch.n_rows == 0) {
            break;
        }
        find_changed(overlay, copier, batch.columns[copier->n_fields].data, batch.columns[copier->n_fields + 1].data,
                     batch.n_rows);
        for (size_t i = 0; i < copier->n_fields; i++) {
            FZ_TRY(change_column(overlay, copier, i, &batch.columns[i], batch.n_rows, &view.columns[i], err));
        }
        view.n_rows = batch.n_rows;
        FZ_TRY(fz_table_writer_push(copier->in->writer, &view, NULL, batch.n_rows, err));
        kept += (int64_t)(batch.n_rows - overlay->n);
        overlay_drop(overlay, copier);
    }
out:
    pthread_mutex_lock(&copier->lock);
    copier->stats.rows_kept += kept;
    pthread_mutex_unlock(&copier->lock);
    if (reader != NULL) {
        source->vtable->close(source, reader);
    }
    fz_batch_dispose(&batch);
    if (overlay != NULL) {
        overlay_dispose(overlay, copier);
    }
    fz_free(overlay);
    fz_free(view.columns);
    return rc;
}

// ---- threads

static void note_error(struct copier *copier, const struct fz_err *err) {
    pthread_mutex_lock(&copier->lock);
    if (copier->err.code == FZ_OK) {
        copier->err = *err;
    }
    pthread_mutex_unlock(&copier->lock);
    atomic_store(&copier->stop, true);
}

static void *plan_some(void *ctx) {
    struct copier *copier = ctx;
    struct fz_err err = FZ_ERR_INIT;
    for (size_t i; !atomic_load(&copier->stop) && (i = atomic_fetch_add(&copier->next_file, 1)) < copier->n_files;) {
        if (plan_file(copier, copier->files[i], &err) != FZ_OK) {
            note_error(copier, &err);
        }
    }
    return NULL;
}

static void *copy_some(void *ctx) {
    struct copier *copier = ctx;
    struct fz_err err = FZ_ERR_INIT;
    for (size_t i; !atomic_load(&copier->stop) && (i = atomic_fetch_add(&copier->next_item, 1)) < copier->n_items;) {
        int64_t bytes = copier->items[i].bytes * 2;
        take_memory(copier, bytes);
        if (copy_item(copier, &copier->items[i], &err) != FZ_OK) {
            note_error(copier, &err);
        }
        give_memory(copier, bytes);
    }
    if (copier->source != NULL && !atomic_load(&copier->stop) && encode_rows(copier, &err) != FZ_OK) {
        note_error(copier, &err);
    }
    return NULL;
}

static enum fz_code on_all_cores(struct copier *copier, void *(*work)(void *), struct fz_err *err) {
    pthread_t threads[MAX_THREADS];
    int n = 0, want = fz_machine_cores() - 1;
    for (; n < want && n < MAX_THREADS && pthread_create(&threads[n], NULL, work, copier) == 0; n++) {
    }
    work(copier);
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
    if (copier->err.code != FZ_OK && err != NULL && err->code == FZ_OK) {
        *err = copier->err;
    }
    return copier->err.code;
}

static int by_place(const void *a, const void *b) {
    const struct copy_item *x = a, *y = b;
    if (x->file_ix != y->file_ix) {
        return x->file_ix < y->file_ix ? -1 : 1;
    }
    return x->row_group < y->row_group ? -1 : x->row_group > y->row_group;
}

// What plan_file found: items to copy in the order of their files, and the source of the rest.
static enum fz_code share_out(struct copier *copier, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool any = false;
    size_t n_files = copier->in->plan->n_files;
    uint8_t *only_files = fz_arena_array(&copier->arena, n_files, 1);
    const uint8_t **only_groups = fz_arena_array(&copier->arena, n_files, sizeof(uint8_t *));
    if (only_files == NULL || only_groups == NULL) {
        return fz_fail_nomem(err, n_files * sizeof(uint8_t *));
    }
    for (size_t i = 0; i < copier->n_files; i++) {
        size_t file_ix = copier->files[i];
        const struct copied_file *copied = &copier->copied[file_ix];
        only_groups[file_ix] = copied->encode; // NULL: all
        only_files[file_ix] = copied->file == NULL;
        for (size_t g = 0; copied->file != NULL && g < fz_parquet_file_meta(copied->file)->n_row_groups; g++) {
            only_files[file_ix] |= copied->encode[g];
            copier->stats.groups_encoded += copied->use[g] == GROUP_ENCODE;
            copier->stats.groups_removed += copied->use[g] == GROUP_GONE;
        }
        any |= only_files[file_ix] != 0;
    }
    if (copier->n_items > 0) {
        qsort(copier->items, copier->n_items, sizeof *copier->items, by_place);
    }
    if (any) {
        FZ_TRY(new_source(copier, only_files, only_groups, 0, &copier->source, err));
    }
out:
    return rc;
}

static enum fz_code choose_fields(struct copier *copier, struct fz_err *err) {
    const struct fz_row_rewrite *in = copier->in;
    size_t n = in->schema->type->n_fields;
    copier->n_fields = n + (in->lineage ? 2 : 0);
    struct fz_field *fields = fz_arena_array(&copier->arena, copier->n_fields + 2, sizeof *fields);
    copier->columns = fz_arena_array(&copier->arena, copier->n_fields + 2, sizeof *copier->columns);
    copier->assigned = fz_arena_array(&copier->arena, copier->n_fields + 2, 1);
    if (fields == NULL || copier->columns == NULL || copier->assigned == NULL) {
        return fz_fail_nomem(err, copier->n_fields * sizeof *fields);
    }
    for (size_t i = 0; i < copier->n_fields + 2; i++) {
        copier->columns[i] = i;
    }
    const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG);
    memcpy(fields, in->schema->type->fields, n * sizeof *fields);
    if (in->lineage) {
        fields[n] = (struct fz_field){.id = FZ_ID_ROW_ID, .name = "_row_id", .type = lng};
        fields[n + 1] = (struct fz_field){
            .id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER, .name = "_last_updated_sequence_number", .type = lng};
        copier->assigned[n + 1] = in->updates != NULL; // NULL: the sequence number of the commit
    }
    fields[copier->n_fields] =
        (struct fz_field){.id = FZ_ID_FILE_IX, .name = "_file_ix", .type = fz_type_primitive(FZ_TYPE_INT)};
    fields[copier->n_fields + 1] = (struct fz_field){.id = FZ_ID_POS, .name = "_pos", .type = lng};
    for (size_t i = 0; in->updates != NULL && i < n; i++) {
        copier->assigned[i] = in->update_fields[i] != SIZE_MAX;
    }
    copier->fields = fields;
    return FZ_OK;
}

enum fz_code fz_row_rewrite_run(const struct fz_row_rewrite *rewrite, struct fz_row_rewrite_stats *out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct copier copier = {.in = rewrite};
    size_t n_files = rewrite->plan->n_files;
    pthread_mutex_init(&copier.lock, NULL);
    pthread_cond_init(&copier.freed, NULL);
    copier.files = fz_arena_array(&copier.arena, n_files, sizeof *copier.files);
    copier.copied = fz_arena_array(&copier.arena, n_files, sizeof *copier.copied);
    if (copier.files == NULL || copier.copied == NULL) {
        rc = fz_fail_nomem(err, n_files * sizeof *copier.copied);
        goto out;
    }
    for (size_t i = 0; i < n_files; i++) {
        if (rewrite->files[i]) {
            copier.files[copier.n_files++] = i;
        }
    }
    if (copier.n_files > 0) {
        FZ_TRY(choose_fields(&copier, err));
        FZ_TRY(fz_table_writer_encoder(rewrite->writer, &copier.schema, err));
        FZ_TRY(on_all_cores(&copier, plan_some, err));
        FZ_TRY(share_out(&copier, err));
        FZ_TRY(on_all_cores(&copier, copy_some, err));
    }
    *out = copier.stats;
out:
    for (size_t i = 0; copier.copied != NULL && i < n_files; i++) {
        fz_parquet_file_unref(copier.copied[i].file);
        fz_free(copier.copied[i].use);
        fz_free(copier.copied[i].encode);
        fz_free(copier.copied[i].fields);
        fz_free(copier.copied[i].without_nans);
    }
    fz_source_unref(copier.source);
    fz_parquet_encoder_free(copier.schema);
    fz_free(copier.items);
    fz_arena_dispose(&copier.arena);
    pthread_mutex_destroy(&copier.lock);
    pthread_cond_destroy(&copier.freed);
    return rc;
}

enum fz_code fz_change_copy_rows(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    uint8_t *files = fz_arena_array(&c->arena, c->plan->n_files, 1);
    struct fz_positions **removed = fz_arena_array(&c->arena, c->plan->n_files, sizeof *removed);
    if (files == NULL || removed == NULL) {
        return fz_fail_nomem(err, c->plan->n_files * sizeof *removed);
    }
    for (size_t i = 0; i < c->plan->n_files; i++) {
        files[i] = c->files[i].changed != NULL;
        removed[i] = c->held != NULL ? c->files[i].removed : c->files[i].changed;
    }
    struct fz_row_rewrite rewrite = {
        .plan = c->plan,
        .store = c->target->store,
        .writer = c->writer,
        .schema = c->schema,
        .lineage = c->lineage,
        .cancel = c->context->cancel,
        .files = files,
        .removed = removed,
        .updates = c->held,
        .update_fields = c->held_fields,
        .memory_bytes = c->context->budget != NULL ? c->context->budget->limit_bytes / 4 : 0,
    };
    FZ_TRY(fz_row_rewrite_run(&rewrite, &c->rewritten, err));
    c->stats.rows_copied = c->rewritten.rows_kept;
out:
    return rc;
}
