// Copy-on-write, second pass: what did not change in touched files goes into the same new files as the new rows, without DuckDB. Row
// groups without a changed or deleted row are copied byte for byte (their missing columns, and on v3 their lineage, are encoded and
// added); of the others the rows that stay are read and encoded again. Both are shared out to all cores row group by row group.
#include "change/change_priv.h"
#include "format/parquet/parquet_copy.h"

enum {
    MAX_THREADS = 16,
    // Smaller row groups are encoded again: repeated small changes must not leave files of ever more, ever smaller row groups.
    SMALL_GROUP_ROWS = 20000,
    SMALL_GROUP_BYTES = 1 << 20,
};

struct copied_file { // one per file of the plan that is touched
    struct fz_parquet_file *file; // NULL: all of it is encoded again
    uint8_t *encode; // per row group: its rows are encoded again
    uint8_t *fields; // per row group and field: the chunks are copied
    int32_t *without_nans;
    size_t n_without_nans;
};

struct copier {
    struct fz_change *change;
    const struct fz_field *fields;
    size_t n_fields;
    size_t *columns; // 0..n_fields-1
    size_t *files; // touched
    size_t n_files;
    struct copied_file *copied; // of all files of the plan
    struct copy_item {
        size_t file_ix, row_group;
    } * items;
    size_t n_items;
    struct fz_source *source; // rows that are encoded again
    struct fz_parquet_encoder *schema; // only asked what can be copied
    _Atomic size_t next_file, next_item;
    _Atomic bool stop;
    _Atomic int64_t copied_rows;
    pthread_mutex_t lock;
    struct fz_err err;
};

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
    for (size_t i = copier->change->schema->type->n_fields; i < copier->n_fields; i++) {
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

// Which row groups of a file are copied, and which of their columns. By footer and positions alone.
static enum fz_code plan_file(struct copier *copier, size_t file_ix, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_change *c = copier->change;
    struct copied_file *copied = &copier->copied[file_ix];
    const struct fz_scan_file *planned = &c->plan->files[file_ix];
    const struct fz_data_file *data = &planned->entry->file;
    const struct fz_positions *deleted = NULL;
    if (has_equality_deletes(planned) || strcmp(data->file_format, "PARQUET") != 0 ||
        !fz_table_writer_takes_partition(c->writer, data->spec_id, &data->partition)) {
        return FZ_OK;
    }
    FZ_TRY(fz_cancel_check(c->context->cancel, err));
    FZ_TRY(fz_scan_deleted_positions(c->plan, file_ix, &deleted, err));
    FZ_TRY(fz_scan_open_parquet(c->target->store, data, c->context->cancel, &copied->file, err));
    const struct fz_pq_file *meta = fz_parquet_file_meta(copied->file);
    copied->encode = fz_calloc(meta->n_row_groups + 1, 1);
    copied->fields = fz_calloc(meta->n_row_groups + 1, copier->n_fields);
    if (copied->encode == NULL || copied->fields == NULL) {
        rc = fz_fail_nomem(err, meta->n_row_groups * copier->n_fields);
        goto out;
    }
    FZ_TRY(note_without_nans(data, copied, err));
    int64_t first = 0;
    for (size_t g = 0; g < meta->n_row_groups; g++) {
        int64_t n = meta->row_groups[g].num_rows, bytes = 0;
        for (size_t i = 0; i < meta->row_groups[g].n_columns; i++) {
            bytes += meta->row_groups[g].columns[i].total_compressed_size;
        }
        bool touched = fz_positions_any(c->files[file_ix].changed, first, n) ||
                       (deleted != NULL && fz_positions_any(deleted, first, n));
        bool small = n < SMALL_GROUP_ROWS && bytes < SMALL_GROUP_BYTES;
        uint8_t *fields = copied->fields + g * copier->n_fields;
        struct fz_parquet_copy copy = {copied->file, g, copied->without_nans, copied->n_without_nans};
        copied->encode[g] = touched || small || fz_parquet_copy_fields(copier->schema, &copy, fields) == 0;
        if (!copied->encode[g]) {
            leave_out_inherited(copier, copied, g, fields);
        }
        first += n;
    }
out:
    return rc;
}

// ---- copying

static enum fz_code new_source(struct copier *copier, const uint8_t *only_files, const uint8_t *const *only_groups,
                               struct fz_source **out, struct fz_err *err) {
    struct fz_change *c = copier->change;
    struct fz_positions **skip = fz_arena_array(&c->arena, c->plan->n_files, sizeof *skip);
    if (skip == NULL) {
        return fz_fail_nomem(err, c->plan->n_files * sizeof *skip);
    }
    for (size_t i = 0; i < c->plan->n_files; i++) {
        skip[i] = c->files[i].changed;
    }
    struct fz_scan_source_options options = {
        .plan = c->plan,
        .store = c->target->store,
        .fields = copier->fields,
        .n_fields = copier->n_fields,
        .only_files = only_files,
        .only_groups = only_groups,
        .skip = skip,
        .cancel = c->context->cancel,
    };
    return fz_scan_source_new(&options, out, err);
}

// The columns of a row group that its file does not have in the wanted form, through the ordinary scan into the encoder.
static enum fz_code encode_rest(struct copier *copier, const struct copy_item *item, const uint8_t *fields,
                                struct fz_parquet_encoder *encoder, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_change *c = copier->change;
    struct fz_source *source = NULL;
    void *reader = NULL;
    struct fz_batch batch = {0}, view = {0};
    size_t n = 0, n_groups = fz_parquet_file_meta(copier->copied[item->file_ix].file)->n_row_groups;
    uint8_t *only_files = fz_calloc(c->plan->n_files, 1), *only = fz_calloc(n_groups, 1);
    const uint8_t **only_groups = fz_calloc(c->plan->n_files, sizeof(uint8_t *));
    struct fz_field *wanted = fz_calloc(copier->n_fields, sizeof *wanted);
    size_t *columns = fz_calloc(copier->n_fields, sizeof *columns);
    view.columns = fz_calloc(copier->n_fields, sizeof *view.columns);
    struct fz_positions **skip =
        fz_calloc(c->plan->n_files, sizeof *skip); // nothing; said so that the file is not pruned
    if (only_files == NULL || only == NULL || only_groups == NULL || wanted == NULL || columns == NULL ||
        view.columns == NULL || skip == NULL) {
        rc = fz_fail_nomem(err, c->plan->n_files * sizeof(uint8_t *));
        goto out;
    }
    only_files[item->file_ix] = 1;
    only[item->row_group] = 1;
    only_groups[item->file_ix] = only;
    for (size_t i = 0; i < copier->n_fields; i++) {
        if (!fields[i] && copier->fields[i].type->id != FZ_TYPE_UNKNOWN) {
            wanted[n] = copier->fields[i];
            columns[n++] = i;
        }
    }
    struct fz_scan_source_options options = {
        .plan = c->plan,
        .store = c->target->store,
        .fields = copier->fields,
        .n_fields = copier->n_fields,
        .only_files = only_files,
        .only_groups = only_groups,
        .skip = skip,
        .cancel = c->context->cancel,
        .max_threads = 1,
    };
    fz_parquet_encoder_leave_out(encoder, fields);
    FZ_TRY(fz_batch_init(&batch, wanted, n, FZ_BATCH_ROWS, err));
    FZ_TRY(fz_scan_source_new(&options, &source, err));
    FZ_TRY(source->vtable->open(source, columns, n, &reader, err));
    for (;;) {
        FZ_TRY(source->vtable->next(source, reader, &batch, err));
        if (batch.n_rows == 0) {
            break;
        }
        for (size_t i = 0; i < n; i++) {
            view.columns[columns[i]] = batch.columns[i];
        }
        view.n_rows = batch.n_rows;
        view.n_columns = copier->n_fields;
        size_t done;
        FZ_TRY(fz_parquet_encoder_append(encoder, &view, 0, NULL, batch.n_rows, &done, err));
    }
out:
    if (reader != NULL) {
        source->vtable->close(source, reader);
    }
    fz_source_unref(source);
    fz_batch_dispose(&batch);
    fz_free(view.columns);
    fz_free(only_files);
    fz_free(only);
    fz_free(only_groups);
    fz_free(wanted);
    fz_free(columns);
    fz_free(skip);
    return rc;
}

static enum fz_code copy_item(struct copier *copier, const struct copy_item *item, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_change *c = copier->change;
    struct copied_file *copied = &copier->copied[item->file_ix];
    const uint8_t *fields = copied->fields + item->row_group * copier->n_fields;
    struct fz_parquet_encoder *encoder = NULL;
    struct fz_parquet_group *group = NULL;
    FZ_TRY(fz_cancel_check(c->context->cancel, err));
    FZ_TRY(fz_table_writer_encoder(c->writer, &encoder, err));
    if (!is_copied_whole(copier, fields)) {
        FZ_TRY(encode_rest(copier, item, fields, encoder, err));
    }
    struct fz_parquet_copy copy = {copied->file, item->row_group, copied->without_nans, copied->n_without_nans};
    FZ_TRY(fz_parquet_copy_group(encoder, &copy, fields, c->context->cancel, &group, err));
    int64_t rows = fz_parquet_group_rows(group);
    FZ_TRY(fz_table_writer_add_group(c->writer, &c->plan->files[item->file_ix].entry->file.partition, group, err));
    atomic_fetch_add(&copier->copied_rows, rows);
out:
    fz_parquet_encoder_free(encoder);
    return rc;
}

static enum fz_code encode_rows(struct copier *copier, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = copier->source;
    struct fz_batch batch = {0};
    void *reader = NULL;
    FZ_TRY(fz_batch_init(&batch, copier->fields, copier->n_fields, FZ_BATCH_ROWS, err));
    FZ_TRY(source->vtable->open(source, copier->columns, copier->n_fields, &reader, err));
    while (!atomic_load(&copier->stop)) {
        FZ_TRY(source->vtable->next(source, reader, &batch, err));
        if (batch.n_rows == 0) {
            break;
        }
        FZ_TRY(fz_table_writer_push(copier->change->writer, &batch, NULL, batch.n_rows, err));
        atomic_fetch_add(&copier->copied_rows, (int64_t)batch.n_rows);
    }
out:
    if (reader != NULL) {
        source->vtable->close(source, reader);
    }
    fz_batch_dispose(&batch);
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
        if (copy_item(copier, &copier->items[i], &err) != FZ_OK) {
            note_error(copier, &err);
        }
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

// What plan_file found: items to copy, and the source of the rest.
static enum fz_code share_out(struct copier *copier, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_change *c = copier->change;
    size_t cap = 0;
    bool any = false;
    uint8_t *only_files = fz_arena_array(&c->arena, c->plan->n_files, 1);
    const uint8_t **only_groups = fz_arena_array(&c->arena, c->plan->n_files, sizeof(uint8_t *));
    if (only_files == NULL || only_groups == NULL) {
        return fz_fail_nomem(err, c->plan->n_files * sizeof(uint8_t *));
    }
    for (size_t i = 0; i < copier->n_files; i++) {
        size_t file_ix = copier->files[i];
        const struct copied_file *copied = &copier->copied[file_ix];
        only_groups[file_ix] = copied->encode; // NULL: all
        only_files[file_ix] = copied->file == NULL;
        for (size_t g = 0; copied->file != NULL && g < fz_parquet_file_meta(copied->file)->n_row_groups; g++) {
            if (copied->encode[g]) {
                only_files[file_ix] = 1;
            } else {
                FZ_TRY(fz_grow((void **)&copier->items, &cap, copier->n_items + 1, sizeof *copier->items, err));
                copier->items[copier->n_items++] = (struct copy_item){file_ix, g};
            }
        }
        any |= only_files[file_ix] != 0;
    }
    if (any) {
        FZ_TRY(new_source(copier, only_files, only_groups, &copier->source, err));
    }
out:
    return rc;
}

static enum fz_code choose_fields(struct copier *copier, struct fz_err *err) {
    struct fz_change *c = copier->change;
    size_t n = c->schema->type->n_fields;
    copier->n_fields = n + (c->lineage ? 2 : 0);
    struct fz_field *fields = fz_arena_array(&c->arena, copier->n_fields, sizeof *fields);
    copier->columns = fz_arena_array(&c->arena, copier->n_fields, sizeof *copier->columns);
    if (fields == NULL || copier->columns == NULL) {
        return fz_fail_nomem(err, copier->n_fields * sizeof *fields);
    }
    for (size_t i = 0; i < copier->n_fields; i++) {
        copier->columns[i] = i;
    }
    memcpy(fields, c->schema->type->fields, n * sizeof *fields);
    if (c->lineage) {
        const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG);
        fields[n] = (struct fz_field){.id = FZ_ID_ROW_ID, .name = "_row_id", .type = lng};
        fields[n + 1] = (struct fz_field){
            .id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER, .name = "_last_updated_sequence_number", .type = lng};
    }
    copier->fields = fields;
    return FZ_OK;
}

enum fz_code fz_change_copy_rows(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct copier copier = {.change = c};
    copier.files = fz_arena_array(&c->arena, c->plan->n_files, sizeof *copier.files);
    copier.copied = fz_arena_array(&c->arena, c->plan->n_files, sizeof *copier.copied);
    if (copier.files == NULL || copier.copied == NULL) {
        return fz_fail_nomem(err, c->plan->n_files * sizeof *copier.copied);
    }
    pthread_mutex_init(&copier.lock, NULL);
    for (size_t i = 0; i < c->plan->n_files; i++) {
        if (c->files[i].changed != NULL) {
            copier.files[copier.n_files++] = i;
        }
    }
    if (copier.n_files == 0) {
        goto out;
    }
    FZ_TRY(choose_fields(&copier, err));
    FZ_TRY(fz_table_writer_encoder(c->writer, &copier.schema, err));
    FZ_TRY(on_all_cores(&copier, plan_some, err));
    FZ_TRY(share_out(&copier, err));
    FZ_TRY(on_all_cores(&copier, copy_some, err));
    c->stats.rows_copied = atomic_load(&copier.copied_rows);
out:
    for (size_t i = 0; i < c->plan->n_files; i++) {
        fz_parquet_file_unref(copier.copied[i].file);
        fz_free(copier.copied[i].encode);
        fz_free(copier.copied[i].fields);
        fz_free(copier.copied[i].without_nans);
    }
    fz_source_unref(copier.source);
    fz_parquet_encoder_free(copier.schema);
    fz_free(copier.items);
    pthread_mutex_destroy(&copier.lock);
    return rc;
}
