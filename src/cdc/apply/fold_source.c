// A folded batch as a source of rows, in the columns that merge_tree.c planned. Filled column by column; any number of threads.
#include "cdc/apply/apply.h"

struct fold_source {
    struct fz_source base;
    const struct fz_fold *fold; // outlives the source's use: the caller unregisters before it disposes the fold
    const struct fz_apply_column *columns; // owned
    struct fz_field *fields; // owned
    bool soft;
    _Atomic size_t next_row;
};
struct fold_reader {
    size_t *columns;
    size_t n_columns;
    char (*positions)[FZ_CDC_ORDER_TEXT]; // texts of the rows in hand
};

static void source_free(struct fz_source *source) {
    struct fold_source *s = (struct fold_source *)source;
    fz_free((void *)(uintptr_t)s->columns);
    fz_free(s->fields);
    fz_free(s);
}

static void reader_close(struct fz_source *source, void *reader) {
    struct fold_reader *r = reader;
    (void)source;
    fz_free(r->columns);
    fz_free(r->positions);
    fz_free(r);
}

static enum fz_code reader_open(struct fz_source *source, const size_t *columns, size_t n_columns, void **out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fold_reader *r = NULL;
    FZ_NEW(r, err);
    r->columns = fz_calloc(n_columns + 1, sizeof *columns);
    r->positions = fz_calloc(FZ_BATCH_ROWS, FZ_CDC_ORDER_TEXT);
    if (r->columns == NULL || r->positions == NULL) {
        rc = fz_fail_nomem(err, (size_t)FZ_BATCH_ROWS * FZ_CDC_ORDER_TEXT);
        goto out;
    }
    memcpy(r->columns, columns, n_columns * sizeof *columns);
    r->n_columns = n_columns;
    *out = r;
    r = NULL;
out:
    if (r != NULL) {
        reader_close(source, r);
    }
    return rc;
}

static bool is_insertable(const struct fold_source *s, const struct fz_fold_row *row) {
    return row->has_row && (!row->is_delete || s->soft);
}

static void fill_flags(const struct fold_source *s, const struct fz_apply_column *from, struct fz_fold_row *const *rows,
                       size_t n, uint8_t *out) {
    for (size_t i = 0; i < n; i++) {
        const struct fz_fold_row *row = rows[i];
        if (from->kind == FZ_APPLY_IS_DELETE) {
            out[i] = row->is_delete;
        } else if (from->kind == FZ_APPLY_INSERTABLE) {
            out[i] = is_insertable(s, row);
        } else {
            out[i] = from->column >= row->n_columns || row->cells[from->column] != FZ_CELL_VALUE;
        }
    }
}

// Types that promotion joins: a value may have been decoded before its column was widened.
static void fill_number(const struct fz_value *v, const struct fz_column *column, size_t i) {
    switch (column->type->id) {
    case FZ_TYPE_BOOLEAN:
        ((uint8_t *)column->data)[i] = v->u.boolean;
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        ((int32_t *)column->data)[i] = (int32_t)v->u.i64;
        break;
    case FZ_TYPE_FLOAT:
        ((float *)column->data)[i] = v->u.f32;
        break;
    case FZ_TYPE_DOUBLE:
        ((double *)column->data)[i] = v->type->id == FZ_TYPE_FLOAT ? (double)v->u.f32 : v->u.f64;
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
        ((struct fz_string *)column->data)[i] = fz_string_of(v->u.bytes.ptr, v->u.bytes.len);
        break;
    default: // 64-bit numbers, times
        ((int64_t *)column->data)[i] = v->u.i64;
        break;
    }
}

static enum fz_code fill_values(const struct fold_source *s, size_t ix, struct fz_fold_row *const *rows, size_t n,
                                struct fz_column *column, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool direct =
        column->type->n_fields == 0 && column->type->id != FZ_TYPE_DECIMAL && column->type->id != FZ_TYPE_UUID;
    for (size_t i = 0; i < n; i++) {
        const struct fz_fold_row *row = rows[i];
        const struct fz_value *v = ix < row->n_columns && row->cells[ix] == FZ_CELL_VALUE
                                       ? &row->values[ix]
                                       : s->fold->table->columns[ix].default_value;
        if (v == NULL || v->is_null) { // a kept value is not read; an inserted row gets the default
            fz_column_set_null(column, i);
        } else if (direct) {
            fill_number(v, column, i);
        } else {
            struct fz_value typed = *v;
            typed.type = column->type;
            FZ_TRY(fz_value_store(column, i, &typed, err));
        }
    }
out:
    return rc;
}

static void fill_position(struct fold_reader *r, struct fz_fold_row *const *rows, size_t n, struct fz_column *column) {
    for (size_t i = 0; i < n; i++) {
        if (rows[i]->order.n == 0) {
            fz_column_set_null(column, i);
        } else {
            size_t len = fz_cdc_order_print(&rows[i]->order, r->positions[i]);
            ((struct fz_string *)column->data)[i] = fz_string_of(r->positions[i], len);
        }
    }
}

static void fill_deleted_at(struct fz_fold_row *const *rows, size_t n, struct fz_column *column) {
    for (size_t i = 0; i < n; i++) {
        if (!rows[i]->is_delete || rows[i]->source_ts_us == INT64_MIN) {
            fz_column_set_null(column, i);
        } else {
            ((int64_t *)column->data)[i] = rows[i]->source_ts_us;
        }
    }
}

static enum fz_code reader_next(struct fz_source *source, void *reader, struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fold_source *s = (struct fold_source *)source;
    struct fold_reader *r = reader;
    size_t from = atomic_fetch_add(&s->next_row, FZ_BATCH_ROWS), n = 0;
    if (from < s->fold->n_rows) {
        n = s->fold->n_rows - from < FZ_BATCH_ROWS ? s->fold->n_rows - from : FZ_BATCH_ROWS;
    }
    struct fz_fold_row *const *rows = s->fold->rows + from;
    for (size_t c = 0; n > 0 && c < r->n_columns; c++) {
        const struct fz_apply_column *what = &s->columns[r->columns[c]];
        struct fz_column *column = &batch->columns[c];
        switch (what->kind) {
        case FZ_APPLY_IS_DELETE:
        case FZ_APPLY_INSERTABLE:
        case FZ_APPLY_KEEP:
            fill_flags(s, what, rows, n, column->data);
            break;
        case FZ_APPLY_POSITION:
            fill_position(r, rows, n, column);
            break;
        case FZ_APPLY_DELETED_AT:
            fill_deleted_at(rows, n, column);
            break;
        case FZ_APPLY_NULL:
            for (size_t i = 0; i < n; i++) {
                fz_column_set_null(column, i);
            }
            break;
        case FZ_APPLY_VALUE:
            FZ_TRY(fill_values(s, what->column, rows, n, column, err));
            break;
        }
    }
    batch->n_rows = n;
out:
    return rc;
}

static const struct fz_source_vtable VTABLE = {source_free, reader_open, reader_next, reader_close};

enum fz_code fz_fold_source_new(const struct fz_apply *apply, const struct fz_fold *fold,
                                const struct fz_apply_merge *merge, struct fz_source **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fold_source *s = NULL;
    (void)apply;
    FZ_NEW(s, err);
    s->fold = fold;
    s->soft = fold->table->config != NULL && fold->table->config->deletes == FZ_DELETES_SOFT;
    struct fz_apply_column *columns = fz_calloc(merge->n_fields, sizeof *columns);
    s->columns = columns;
    s->fields = fz_calloc(merge->n_fields, sizeof *s->fields);
    if (columns == NULL || s->fields == NULL) {
        source_free(&s->base);
        rc = fz_fail_nomem(err, merge->n_fields * sizeof *s->fields);
        goto out;
    }
    memcpy(columns, merge->columns, merge->n_fields * sizeof *columns);
    memcpy(s->fields, merge->fields, merge->n_fields * sizeof *s->fields);
    s->base = (struct fz_source){.vtable = &VTABLE,
                                 .refs = 1,
                                 .fields = s->fields,
                                 .n_fields = merge->n_fields,
                                 .estimated_rows = (int64_t)fold->n_rows,
                                 .max_threads = 8};
    *out = &s->base;
out:
    return rc;
}
