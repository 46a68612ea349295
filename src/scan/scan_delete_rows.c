// All position deletes of a snapshot as rows (the metadata table position_deletes): those in delete files are read by a scan over a plan
// whose "data files" they are; those in deletion vectors are made here, one vector at a time per thread.
#include "scan/scan_priv.h"

enum { MAX_LISTED = 1 << 28 };

struct delete_source {
    struct fz_source base;
    struct fz_arena arena;
    struct fz_store *store;
    struct fz_cancel *cancel;
    const enum fz_delete_column *columns; // what base.fields are
    struct fz_scan_plan *plan; // of the delete files
    struct fz_source *files; // over the plan
    size_t *file_columns; // of each of base.fields: which column of `files` it is, SIZE_MAX: none
    const struct fz_data_file **vectors;
    size_t n_vectors;
    _Atomic size_t next_vector;
};

struct delete_reader {
    size_t *columns; // asked
    size_t n_columns;
    void *files; // the reader over delete files; NULL: they are done
    struct fz_batch view; // those of the asked columns that it fills
    size_t *view_of; // per column of the view: which asked one it is
    const struct fz_data_file *vector;
    struct fz_arena arena; // of the vector's partition
    struct fz_value partition;
    int64_t *positions;
    size_t n_positions, at;
};

// ---- deletion vectors

static enum fz_code next_vector(struct delete_source *s, struct delete_reader *r, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_positions *set = NULL;
    fz_free(r->positions);
    r->positions = NULL;
    r->n_positions = r->at = 0;
    r->vector = NULL;
    size_t at = atomic_fetch_add(&s->next_vector, 1);
    if (at >= s->n_vectors) {
        return FZ_OK;
    }
    FZ_TRY(fz_scan_read_vector(s->store, s->vectors[at], s->cancel, &set, err));
    if (fz_positions_count(set) > MAX_LISTED) { // far more than rows in any file; a small damaged one can claim them
        rc = fz_fail(err, FZ_LIMIT, "the deletion vector at %lld of %s has %lld positions; at most %d are listed",
                     (long long)s->vectors[at]->content_offset, s->vectors[at]->file_path,
                     (long long)fz_positions_count(set), MAX_LISTED);
        goto out;
    }
    FZ_TRY(fz_scan_list_positions(set, &r->positions, &r->n_positions, err));
    r->vector = s->vectors[at];
    fz_arena_dispose(&r->arena);
    r->arena = (struct fz_arena){0};
    for (size_t i = 0; i < s->base.n_fields; i++) {
        if (s->columns[i] == FZ_DELETE_PARTITION) {
            FZ_TRY(fz_scan_partition_value(s->plan->metadata, r->vector, s->base.fields[i].type, &r->arena,
                                           &r->partition, err));
        }
    }
out:
    fz_positions_free(set);
    return rc;
}

static struct fz_value number_or_null(const struct fz_type *type, int64_t n) {
    struct fz_value v = {.type = type, .is_null = n < 0};
    v.u.i64 = n;
    return v;
}

static struct fz_value constant(const struct delete_reader *r, enum fz_delete_column what, const struct fz_type *type) {
    struct fz_value v = {.type = type};
    switch (what) {
    case FZ_DELETE_FILE_PATH:
    case FZ_DELETE_DELETE_FILE_PATH: {
        const char *path =
            what == FZ_DELETE_FILE_PATH ? r->vector->referenced_data_file : (const char *)r->vector->file_path;
        v.is_null = path == NULL;
        v.u.bytes = path ? fz_str_of(path) : (struct fz_str){0};
        return v;
    }
    case FZ_DELETE_PARTITION:
        return r->partition;
    case FZ_DELETE_SPEC_ID:
        return number_or_null(type, r->vector->spec_id);
    case FZ_DELETE_CONTENT_OFFSET:
        return number_or_null(type, r->vector->content_offset);
    case FZ_DELETE_CONTENT_SIZE:
        return number_or_null(type, r->vector->content_size_in_bytes);
    case FZ_DELETE_POS:
    case FZ_DELETE_ROW: // vectors have no rows
        break;
    }
    return fz_value_null(type);
}

static enum fz_code next_of_vectors(struct delete_source *s, struct delete_reader *r, struct fz_batch *batch,
                                    struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    batch->n_rows = 0;
    do {
        FZ_TRY(fz_cancel_check(s->cancel, err));
        if (r->at == r->n_positions) {
            FZ_TRY(next_vector(s, r, err));
        }
    } while (r->vector != NULL && r->n_positions == 0);
    size_t n = r->n_positions - r->at < FZ_BATCH_ROWS ? r->n_positions - r->at : FZ_BATCH_ROWS;
    for (size_t i = 0; i < r->n_columns && n > 0; i++) {
        struct fz_column *column = &batch->columns[i];
        enum fz_delete_column what = s->columns[r->columns[i]];
        fz_column_reset(column);
        if (what == FZ_DELETE_POS) {
            memcpy(column->data, r->positions + r->at, n * sizeof *r->positions);
            continue;
        }
        struct fz_value v = constant(r, what, s->base.fields[r->columns[i]].type);
        FZ_TRY(fz_scan_fill_constant(column, n, &v, err));
    }
    r->at += n;
    batch->n_rows = n;
out:
    return rc;
}

// ---- delete files

static enum fz_code next_of_files(struct delete_source *s, struct delete_reader *r, struct fz_batch *batch,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < r->view.n_columns; i++) {
        r->view.columns[i] = batch->columns[r->view_of[i]];
    }
    rc = s->files->vtable->next(s->files, r->files, &r->view, err);
    for (size_t i = 0; i < r->view.n_columns; i++) { // their buffers may be others now
        batch->columns[r->view_of[i]] = r->view.columns[i];
    }
    FZ_TRY(rc);
    batch->n_rows = r->view.n_rows;
    for (size_t i = 0; i < r->n_columns && batch->n_rows > 0; i++) {
        if (s->file_columns[r->columns[i]] == SIZE_MAX) { // where a vector is
            struct fz_value none = fz_value_null(s->base.fields[r->columns[i]].type);
            fz_column_reset(&batch->columns[i]);
            FZ_TRY(fz_scan_fill_constant(&batch->columns[i], batch->n_rows, &none, err));
        }
    }
    if (batch->n_rows == 0) {
        s->files->vtable->close(s->files, r->files);
        r->files = NULL;
    }
out:
    return rc;
}

// ---- the source

static void source_free(struct fz_source *base) {
    struct delete_source *s = (struct delete_source *)base;
    fz_source_unref(s->files);
    fz_scan_plan_unref(s->plan);
    fz_arena_dispose(&s->arena);
    fz_free(s);
}

static void reader_close(struct fz_source *base, void *ptr) {
    struct delete_source *s = (struct delete_source *)base;
    struct delete_reader *r = ptr;
    if (r->files != NULL) {
        s->files->vtable->close(s->files, r->files);
    }
    fz_arena_dispose(&r->arena);
    fz_free(r->positions);
    fz_free(r->columns);
    fz_free(r->view_of);
    fz_free(r->view.columns); // borrowed: only the list is ours
    fz_free(r);
}

static enum fz_code reader_open(struct fz_source *base, const size_t *columns, size_t n, void **out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct delete_source *s = (struct delete_source *)base;
    size_t *asked = NULL;
    struct delete_reader *r;
    FZ_NEW(r, err);
    r->n_columns = n;
    r->columns = fz_calloc(n + 1, sizeof *r->columns);
    r->view_of = fz_calloc(n + 1, sizeof *r->view_of);
    r->view.columns = fz_calloc(n + 1, sizeof *r->view.columns);
    asked = fz_calloc(n + 1, sizeof *asked);
    if (!r->columns || !r->view_of || !r->view.columns || !asked) {
        rc = fz_fail_nomem(err, n * sizeof *r->columns);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        r->columns[i] = columns[i];
        if (s->file_columns[columns[i]] != SIZE_MAX) {
            r->view_of[r->view.n_columns] = i;
            asked[r->view.n_columns++] = s->file_columns[columns[i]];
        }
    }
    FZ_TRY(s->files->vtable->open(s->files, asked, r->view.n_columns, &r->files, err));
    *out = r;
    r = NULL;
out:
    fz_free(asked);
    if (r != NULL) {
        reader_close(base, r);
    }
    return rc;
}

static enum fz_code reader_next(struct fz_source *base, void *reader, struct fz_batch *batch, struct fz_err *err) {
    struct delete_source *s = (struct delete_source *)base;
    struct delete_reader *r = reader;
    if (r->files != NULL) {
        enum fz_code rc = next_of_files(s, r, batch, err);
        if (rc != FZ_OK || batch->n_rows > 0) {
            return rc;
        }
    }
    return next_of_vectors(s, r, batch, err);
}

// The ids that the columns have in a scan over delete files.
static int32_t id_in_files(enum fz_delete_column what) {
    switch (what) {
    case FZ_DELETE_FILE_PATH:
        return FZ_ID_DELETE_FILE_PATH;
    case FZ_DELETE_POS:
        return FZ_ID_DELETE_POS;
    case FZ_DELETE_ROW:
        return FZ_ID_DELETE_ROW;
    case FZ_DELETE_PARTITION:
        return FZ_ID_PARTITION;
    case FZ_DELETE_SPEC_ID:
        return FZ_ID_SPEC_ID;
    case FZ_DELETE_DELETE_FILE_PATH:
        return FZ_ID_FILE;
    case FZ_DELETE_CONTENT_OFFSET:
    case FZ_DELETE_CONTENT_SIZE:
        break;
    }
    return 0;
}

enum fz_code fz_scan_delete_rows(const struct fz_scan_delete_options *options, struct fz_source **out,
                                 struct fz_err *err) {
    static const struct fz_source_vtable vtable = {source_free, reader_open, reader_next, reader_close};
    enum fz_code rc = FZ_OK;
    struct delete_source *s = NULL;
    struct fz_manifest_entry *entries;
    size_t n_entries, n_files = 0, n_columns = 0, n = options->n_fields;
    FZ_NEW(s, err);
    s->store = options->store;
    s->cancel = options->cancel;
    FZ_TRY(
        fz_scan_entries(options->store, options->metadata, options->snapshot_id, &s->arena, &entries, &n_entries, err));
    const struct fz_manifest_entry **files = fz_arena_array(&s->arena, n_entries + 1, sizeof *files);
    s->vectors = fz_arena_array(&s->arena, n_entries + 1, sizeof *s->vectors);
    struct fz_field *fields = fz_arena_memdup(&s->arena, options->fields, n * sizeof *fields);
    struct fz_field *file_fields = fz_arena_array(&s->arena, n + 1, sizeof *file_fields);
    s->columns = fz_arena_memdup(&s->arena, options->columns, n * sizeof *s->columns);
    s->file_columns = fz_arena_array(&s->arena, n + 1, sizeof *s->file_columns);
    if (!files || !s->vectors || !fields || !file_fields || !s->columns || !s->file_columns) {
        rc = fz_fail_nomem(err, n_entries * sizeof *files);
        goto out;
    }
    s->base = (struct fz_source){
        .vtable = &vtable, .refs = 1, .fields = fields, .n_fields = n, .max_threads = fz_machine_cores()};
    for (size_t i = 0; i < n_entries; i++) {
        const struct fz_data_file *file = &entries[i].file;
        if (file->content != FZ_CONTENT_POSITION_DELETES || entries[i].status == FZ_ENTRY_DELETED) {
            continue;
        }
        s->base.estimated_rows += file->record_count;
        if (strcmp(file->file_format, "PUFFIN") == 0) {
            s->vectors[s->n_vectors++] = file;
        } else {
            files[n_files++] = &entries[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        int32_t id = id_in_files(s->columns[i]);
        s->file_columns[i] = id != 0 ? n_columns : SIZE_MAX;
        if (id != 0) {
            file_fields[n_columns] = fields[i];
            file_fields[n_columns++].id = id;
        }
    }
    FZ_TRY(fz_scan_plan_of_files(options->store, options->metadata, files, n_files, &s->plan, err));
    struct fz_scan_source_options scan = {.plan = s->plan,
                                          .store = options->store,
                                          .fields = file_fields,
                                          .n_fields = n_columns,
                                          .keep_deleted = true,
                                          .cancel = options->cancel,
                                          .progress = options->progress};
    FZ_TRY(fz_scan_source_new(&scan, &s->files, err));
    *out = &s->base;
    s = NULL;
out:
    if (s != NULL) {
        source_free(&s->base);
    }
    return rc;
}
