// A few rows of values as a source: quarantine rows, keys to look up. See apply.h.
#include "cdc/apply/apply.h"

struct rows_source {
    struct fz_source base;
    struct fz_field *fields; // owned
    const struct fz_value *values;
    size_t n_rows;
    _Atomic size_t next_row;
};
struct rows_reader {
    size_t n_columns;
    size_t columns[];
};

static void source_free(struct fz_source *source) {
    struct rows_source *s = (struct rows_source *)source;
    fz_free(s->fields);
    fz_free(s);
}

static enum fz_code reader_open(struct fz_source *source, const size_t *columns, size_t n_columns, void **out,
                                struct fz_err *err) {
    (void)source;
    struct rows_reader *r = fz_malloc(sizeof *r + n_columns * sizeof *columns);
    if (r == NULL) {
        return fz_fail_nomem(err, sizeof *r + n_columns * sizeof *columns);
    }
    r->n_columns = n_columns;
    memcpy(r->columns, columns, n_columns * sizeof *columns);
    *out = r;
    return FZ_OK;
}

static enum fz_code reader_next(struct fz_source *source, void *reader, struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct rows_source *s = (struct rows_source *)source;
    struct rows_reader *r = reader;
    size_t from = atomic_fetch_add(&s->next_row, FZ_BATCH_ROWS), n = 0;
    if (from < s->n_rows) {
        n = s->n_rows - from < FZ_BATCH_ROWS ? s->n_rows - from : FZ_BATCH_ROWS;
    }
    for (size_t c = 0; c < r->n_columns; c++) {
        for (size_t i = 0; i < n; i++) {
            const struct fz_value *v = &s->values[(from + i) * s->base.n_fields + r->columns[c]];
            if (v->is_null) {
                fz_column_set_null(&batch->columns[c], i);
            } else {
                struct fz_value typed = *v;
                typed.type = batch->columns[c].type;
                FZ_TRY(fz_value_store(&batch->columns[c], i, &typed, err));
            }
        }
    }
    batch->n_rows = n;
out:
    return rc;
}

static void reader_close(struct fz_source *source, void *reader) {
    (void)source;
    fz_free(reader);
}

static const struct fz_source_vtable VTABLE = {source_free, reader_open, reader_next, reader_close};

enum fz_code fz_rows_source_new(const struct fz_field *fields, size_t n_fields, const struct fz_value *values,
                                size_t n_rows, struct fz_source **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct rows_source *s = NULL;
    FZ_NEW(s, err);
    s->fields = fz_calloc(n_fields + 1, sizeof *fields);
    if (s->fields == NULL) {
        fz_free(s);
        rc = fz_fail_nomem(err, n_fields * sizeof *fields);
        goto out;
    }
    memcpy(s->fields, fields, n_fields * sizeof *fields);
    s->values = values;
    s->n_rows = n_rows;
    s->base = (struct fz_source){.vtable = &VTABLE,
                                 .refs = 1,
                                 .fields = s->fields,
                                 .n_fields = n_fields,
                                 .estimated_rows = (int64_t)n_rows,
                                 .max_threads = 1};
    *out = &s->base;
out:
    return rc;
}
