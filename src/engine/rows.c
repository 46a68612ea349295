// Small sets of rows made by the engine, and the source that reads them.
#include "engine/engine_priv.h"

void fz_rows_init(struct fz_rows *rows, const struct fz_field *fields, size_t n_fields) {
    *rows = (struct fz_rows){.fields = fields, .n_fields = n_fields};
}

void fz_rows_dispose(struct fz_rows *rows) {
    fz_arena_dispose(&rows->arena);
    fz_free(rows->values);
    *rows = (struct fz_rows){0};
}

enum fz_code fz_rows_add(struct fz_rows *rows, const struct fz_value *values, struct fz_err *err) {
    enum fz_code rc = fz_grow((void **)&rows->values, &rows->cap_values, (rows->n_rows + 1) * rows->n_fields,
                              sizeof *rows->values, err);
    if (rc == FZ_OK) {
        memcpy(rows->values + rows->n_rows++ * rows->n_fields, values, rows->n_fields * sizeof *values);
    }
    return rc;
}

struct rows_source {
    struct fz_source base;
    struct fz_rows rows;
    _Atomic size_t next;
};

static void source_free(struct fz_source *base) {
    struct rows_source *s = (struct rows_source *)base;
    fz_rows_dispose(&s->rows);
    fz_free(s);
}

static enum fz_code source_next(struct fz_source *base, void *reader, struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct rows_source *s = (struct rows_source *)base;
    const struct fz_column_choice *r = reader;
    size_t from = atomic_fetch_add(&s->next, FZ_BATCH_ROWS), n = 0;
    if (from < s->rows.n_rows) {
        n = s->rows.n_rows - from < FZ_BATCH_ROWS ? s->rows.n_rows - from : FZ_BATCH_ROWS;
    }
    for (size_t c = 0; c < r->n_columns; c++) {
        fz_column_reset(&batch->columns[c]);
        for (size_t i = 0; i < n; i++) {
            FZ_TRY(fz_value_store(&batch->columns[c], i, &s->rows.values[(from + i) * s->rows.n_fields + r->columns[c]],
                                  err));
        }
    }
    batch->n_rows = n;
out:
    return rc;
}

static const struct fz_source_vtable ROWS_SOURCE = {source_free, fz_column_choice_open, source_next,
                                                    fz_column_choice_close};

enum fz_code fz_rows_source(struct fz_rows *rows, struct fz_source **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct rows_source *s;
    FZ_NEW(s, err);
    s->base.vtable = &ROWS_SOURCE;
    s->base.refs = 1;
    s->base.fields = rows->fields;
    s->base.n_fields = rows->n_fields;
    s->base.estimated_rows = (int64_t)rows->n_rows;
    s->base.max_threads = 1;
    s->rows = *rows;
    *rows = (struct fz_rows){0};
    *out = &s->base;
out:
    return rc;
}
