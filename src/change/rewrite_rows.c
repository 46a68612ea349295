// Rows that a rewrite cannot copy: read, changed and encoded again; and the columns of a copied row group that are.
#include "change/rewrite_priv.h"

// ---- new values over rows that were read

struct overlay {
    struct fz_column *made; // nested columns that were put together anew, per field; type NULL: none
    uint32_t at[FZ_BATCH_ROWS]; // rows of the batch that change
    struct fz_held_row held[FZ_BATCH_ROWS];
    size_t n;
};

static enum fz_code overlay_init(struct overlay *o, const struct fz_rewrite *copier, struct fz_err *err) {
    o->n = 0;
    o->made = fz_calloc(copier->n_fields + 1, sizeof *o->made);
    return o->made == NULL ? fz_fail_nomem(err, copier->n_fields * sizeof *o->made) : FZ_OK;
}

static void overlay_drop(struct overlay *o, const struct fz_rewrite *copier) {
    for (size_t i = 0; o->made != NULL && i < copier->n_fields; i++) {
        if (o->made[i].type != NULL) {
            fz_column_dispose(&o->made[i]);
            o->made[i] = (struct fz_column){0};
        }
    }
}

static void overlay_dispose(struct overlay *o, const struct fz_rewrite *copier) {
    overlay_drop(o, copier);
    fz_free(o->made);
}

static void find_changed(struct overlay *o, const struct fz_rewrite *copier, const int32_t *file_ix, const int64_t *pos,
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
static void change_flat(const struct overlay *o, const struct fz_rewrite *copier, size_t update,
                        struct fz_column *column, size_t n_rows) {
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

static enum fz_code change_nested(struct overlay *o, const struct fz_rewrite *copier, size_t update, size_t field,
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
static enum fz_code change_column(struct overlay *o, const struct fz_rewrite *copier, size_t field,
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

// ---- reading

enum fz_code fz_rewrite_source(struct fz_rewrite *copier, const uint8_t *only_files, const uint8_t *const *only_groups,
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

enum fz_code fz_rewrite_encode_rest(struct fz_rewrite *copier, const struct fz_rewrite_item *item,
                                    const uint8_t *fields, struct fz_parquet_encoder *encoder, struct fz_err *err) {
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
    FZ_TRY(fz_rewrite_source(copier, only_files, only_groups, 1, &source, err));
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

enum fz_code fz_rewrite_encode_rows(struct fz_rewrite *copier, struct fz_err *err) {
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
