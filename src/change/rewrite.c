// Copy-on-write, second pass: the rows of touched files that did not change go to the same writers as the new rows. It does not pass
// through DuckDB; files are shared out to threads, so the order of rows inside a file is kept.
#include "change/change_priv.h"

struct copier {
    struct fz_change *change;
    const size_t *files;
    size_t n_files;
    _Atomic size_t next;
    _Atomic int64_t copied_rows;
    pthread_mutex_t lock;
    struct fz_err err;
    const struct fz_field *fields;
    size_t n_fields;
    const size_t *columns;
};

static enum fz_code copy_file(struct copier *copier, size_t file_ix, struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_change *c = copier->change;
    struct fz_source *source = NULL;
    void *reader = NULL;
    uint8_t *only = fz_calloc(c->plan->n_files, 1);
    struct fz_positions **skip = fz_calloc(c->plan->n_files, sizeof *skip);
    if (only == NULL || skip == NULL) {
        rc = fz_fail_nomem(err, c->plan->n_files * sizeof *skip);
        goto out;
    }
    only[file_ix] = 1;
    skip[file_ix] = c->files[file_ix].changed;
    struct fz_scan_source_options options = {
        .plan = c->plan,
        .store = c->target->store,
        .fields = copier->fields,
        .n_fields = copier->n_fields,
        .only_files = only,
        .skip = skip,
        .cancel = c->context->cancel,
        .max_threads = 1,
    };
    FZ_TRY(fz_scan_source_new(&options, &source, err));
    FZ_TRY(source->vtable->open(source, copier->columns, copier->n_fields, &reader, err));
    for (;;) {
        FZ_TRY(fz_cancel_check(c->context->cancel, err));
        FZ_TRY(source->vtable->next(source, reader, batch, err));
        if (batch->n_rows == 0) {
            break;
        }
        FZ_TRY(fz_table_writer_push(c->writer, batch, NULL, batch->n_rows, err));
        atomic_fetch_add(&copier->copied_rows, (int64_t)batch->n_rows);
    }
out:
    if (reader != NULL) {
        source->vtable->close(source, reader);
    }
    fz_source_unref(source);
    fz_free(only);
    fz_free(skip);
    return rc;
}

static void *copy_some(void *ctx) {
    struct copier *copier = ctx;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch batch = {0};
    enum fz_code rc = fz_batch_init(&batch, copier->fields, copier->n_fields, FZ_BATCH_ROWS, &err);
    for (size_t i; rc == FZ_OK && (i = atomic_fetch_add(&copier->next, 1)) < copier->n_files;) {
        rc = copy_file(copier, copier->files[i], &batch, &err);
    }
    if (rc != FZ_OK) {
        pthread_mutex_lock(&copier->lock);
        if (copier->err.code == FZ_OK) {
            copier->err = err;
        }
        pthread_mutex_unlock(&copier->lock);
        atomic_store(&copier->next, copier->n_files); // the others stop after their file
    }
    fz_batch_dispose(&batch);
    return NULL;
}

enum fz_code fz_change_copy_rows(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = c->schema->type->n_fields, n_fields = n + (c->lineage ? 2 : 0);
    size_t *files = fz_arena_array(&c->arena, c->plan->n_files, sizeof *files), *columns = fz_arena_array(&c->arena, n_fields, sizeof *columns);
    struct fz_field *fields = fz_arena_array(&c->arena, n_fields, sizeof *fields);
    if (files == NULL || columns == NULL || fields == NULL) {
        return fz_fail_nomem(err, n_fields * sizeof *fields);
    }
    struct copier copier = {.change = c, .files = files, .fields = fields, .n_fields = n_fields, .columns = columns};
    for (size_t i = 0; i < c->plan->n_files; i++) {
        if (c->files[i].changed != NULL) {
            files[copier.n_files++] = i;
        }
    }
    if (copier.n_files == 0) {
        return FZ_OK;
    }
    for (size_t i = 0; i < n_fields; i++) {
        columns[i] = i;
    }
    memcpy(fields, c->schema->type->fields, n * sizeof *fields);
    if (c->lineage) {
        const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG);
        fields[n] = (struct fz_field){.id = FZ_ID_ROW_ID, .name = "_row_id", .type = lng};
        fields[n + 1] = (struct fz_field){.id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER, .name = "_last_updated_sequence_number", .type = lng};
    }
    pthread_mutex_init(&copier.lock, NULL);
    pthread_t threads[16];
    int n_threads = 0, want = fz_machine_cores() - 1;
    want = want > 16 ? 16 : want;
    for (; n_threads < want && (size_t)n_threads + 1 < copier.n_files; n_threads++) {
        if (pthread_create(&threads[n_threads], NULL, copy_some, &copier) != 0) {
            break;
        }
    }
    copy_some(&copier);
    for (int i = 0; i < n_threads; i++) {
        pthread_join(threads[i], NULL);
    }
    pthread_mutex_destroy(&copier.lock);
    c->stats.rows_copied = atomic_load(&copier.copied_rows);
    if (copier.err.code != FZ_OK) {
        if (err != NULL && err->code == FZ_OK) {
            *err = copier.err;
        }
        rc = copier.err.code;
    }
    return rc;
}
