// The source over a plan: files are opened one after another by whichever thread comes first, their row groups are handed out as
// morsels.
#include "scan/scan_source_priv.h"

#include "table/prune.h"

// ---- handing out work

struct stats_ctx {
    const struct fz_parquet_file *file;
    size_t row_group;
    struct fz_arena arena;
};
static bool row_group_range(void *ptr, int32_t field_id, const struct fz_type *type, struct fz_column_range *out) {
    struct stats_ctx *ctx = ptr;
    struct fz_parquet_stats stats = {0};
    if (field_id >= FZ_FIRST_RESERVED_ID ||
        !fz_parquet_file_stats(ctx->file, ctx->row_group, field_id, type, &ctx->arena, &stats)) {
        return false;
    }
    *out = (struct fz_column_range){.min = stats.has_min_max ? stats.min : NULL,
                                    .max = stats.has_min_max ? stats.max : NULL,
                                    .value_count = stats.value_count,
                                    .null_count = stats.null_count,
                                    .nan_count = -1};
    return true;
}

static bool row_group_may_match(const struct fz_scan_source *source, const struct fz_parquet_file *file,
                                size_t row_group) {
    // Rows to be copied (`skip`: all but the changed ones) are wanted whether they match or not.
    if (!source->plan->filter || source->skip || !fz_parquet_file_has_ids(file)) {
        return true;
    }
    struct stats_ctx ctx = {.file = file, .row_group = row_group};
    bool may = fz_prune_may_match(source->plan->filter, row_group_range, &ctx);
    fz_arena_dispose(&ctx.arena);
    return may;
}

// Row groups without ids are matched by name, which pruning does not do.
static enum fz_code judge_row_group(struct fz_scan_source *source, struct fz_parquet_file *file, size_t row_group,
                                    bool *may, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    enum fz_scan_verdict verdict = FZ_SCAN_KEEP;
    source->counters.row_groups++;
    *may = row_group_may_match(source, file, row_group);
    if (!*may) {
        source->counters.row_groups_by_range++;
    } else if (source->keys && fz_parquet_file_has_ids(file)) {
        FZ_TRY(fz_scan_keys_may_match_group(source->keys, file, row_group, source->cancel, &verdict, err));
        source->counters.row_groups_by_keys += verdict == FZ_SCAN_NOT_BY_KEYS;
        source->counters.row_groups_by_bloom += verdict == FZ_SCAN_NOT_BY_BLOOM;
        *may = verdict == FZ_SCAN_KEEP;
    }
    if (!*may) {
        const struct fz_pq_row_group *group = &fz_parquet_file_meta(file)->row_groups[row_group];
        for (size_t i = 0; i < group->n_columns; i++) {
            source->counters.bytes_by_groups += group->columns[i].total_compressed_size;
        }
    }
out:
    return rc;
}

static bool claim_file(struct fz_scan_source *source, size_t *out) { // under the lock
    while (source->next_file < source->plan->base.n_files) {
        size_t ix = source->next_file++;
        if (source->only_files && !source->only_files[ix]) {
            continue;
        }
        source->counters.files++;
        const struct fz_data_file *file = &source->plan->base.files[ix].entry->file;
        if (source->keys && !fz_scan_keys_may_match_file(source->keys, file)) {
            source->counters.files_by_keys++;
            fz_progress_add(source->progress, 0, file->record_count, 0);
            continue;
        }
        *out = ix;
        return true;
    }
    return false;
}

// Under the lock; takes a reference to the file.
static enum fz_code push_morsel(struct fz_scan_source *source, struct fz_scan_morsel morsel, struct fz_err *err) {
    if (source->queue_head == source->n_queue) {
        source->queue_head = source->n_queue = 0;
    }
    enum fz_code rc =
        fz_grow((void **)&source->queue, &source->queue_cap, source->n_queue + 1, sizeof *source->queue, err);
    if (rc == FZ_OK) {
        source->queue[source->n_queue++] = morsel;
        if (morsel.avro) {
            fz_avro_file_ref(morsel.avro);
        } else {
            fz_parquet_file_ref(morsel.file);
        }
        pthread_cond_signal(&source->changed);
    }
    return rc;
}

static enum fz_code push_morsels(struct fz_scan_source *source, size_t file_ix, struct fz_parquet_file *file,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pq_file *meta = fz_parquet_file_meta(file);
    int64_t first_row = 0;
    for (size_t g = 0; g < meta->n_row_groups; g++) {
        const uint8_t *only = source->only_groups ? source->only_groups[file_ix] : NULL;
        bool may = false;
        if (!only || only[g]) {
            FZ_TRY(judge_row_group(source, file, g, &may, err));
        }
        pthread_mutex_lock(&source->lock);
        if (may) {
            struct fz_scan_morsel morsel = {.file_ix = file_ix, .row_group = g, .file = file, .first_row = first_row};
            rc = push_morsel(source, morsel, err);
        }
        pthread_mutex_unlock(&source->lock);
        FZ_TRY(rc);
        fz_progress_add(source->progress, 0, may ? 0 : meta->row_groups[g].num_rows, 0);
        first_row += meta->row_groups[g].num_rows;
    }
out:
    return rc;
}

static enum fz_code open_file(struct fz_scan_source *source, size_t file_ix, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_data file = {0};
    const struct fz_data_file *data = &source->plan->base.files[file_ix].entry->file;
    FZ_TRY(fz_cancel_check(source->cancel, err));
    FZ_TRY(fz_scan_data_open(source->store, data, source->cancel, &file, err));
    if (file.avro) {
        pthread_mutex_lock(&source->lock);
        rc = push_morsel(source, (struct fz_scan_morsel){.file_ix = file_ix, .avro = file.avro}, err);
        pthread_mutex_unlock(&source->lock);
        goto out;
    }
    FZ_TRY(push_morsels(source, file_ix, file.parquet, err));
out:
    fz_scan_data_close(&file);
    if (rc != FZ_OK && rc != FZ_CANCELLED) {
        fz_err_context(err, "data file %s", data->file_path);
    }
    return rc;
}

// The next morsel; *found false when all work is handed out. A thread waits only while another one is opening a file.
enum fz_code fz_scan_take_morsel(struct fz_scan_source *source, struct fz_scan_morsel *out, bool *found,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *found = false;
    pthread_mutex_lock(&source->lock);
    while (rc == FZ_OK) {
        size_t file_ix = 0;
        if (source->queue_head < source->n_queue) {
            *out = source->queue[source->queue_head++];
            *found = true;
            break;
        }
        if (claim_file(source, &file_ix)) {
            source->opening++;
            pthread_mutex_unlock(&source->lock);
            rc = open_file(source, file_ix, err);
            pthread_mutex_lock(&source->lock);
            source->opening--;
            pthread_cond_broadcast(&source->changed);
        } else if (source->opening > 0) {
            pthread_cond_wait(&source->changed, &source->lock);
        } else {
            break;
        }
    }
    pthread_mutex_unlock(&source->lock);
    return rc;
}

// Without a file to read: a whole file as one morsel of so many rows.
bool fz_scan_take_counted(struct fz_scan_source *source, struct fz_scan_morsel *out) {
    pthread_mutex_lock(&source->lock);
    size_t file_ix = 0;
    bool found = claim_file(source, &file_ix);
    pthread_mutex_unlock(&source->lock);
    *out = (struct fz_scan_morsel){.file_ix = file_ix};
    return found;
}

// ---- the source

static void free_source(struct fz_source *base) {
    struct fz_scan_source *source = (struct fz_scan_source *)base;
    for (size_t i = source->queue_head; i < source->n_queue; i++) { // not read to the end
        struct fz_scan_data data = {source->queue[i].file, source->queue[i].avro};
        fz_scan_data_close(&data);
    }
    fz_free(source->queue);
    if (source->plan) {
        fz_scan_plan_unref(&source->plan->base);
    }
    fz_scan_keys_unref(source->keys);
    pthread_cond_destroy(&source->changed);
    pthread_mutex_destroy(&source->lock);
    fz_arena_dispose(&source->arena);
    fz_free(source);
}

static const struct fz_source_vtable vtable = {free_source, fz_scan_reader_open, fz_scan_reader_next,
                                               fz_scan_reader_close};

static enum fz_code check_special(const struct fz_field *field, struct fz_err *err) {
    static const struct {
        int32_t id;
        enum fz_type_id type;
    } rows[] = {{FZ_ID_FILE, FZ_TYPE_STRING},      {FZ_ID_POS, FZ_TYPE_LONG},
                {FZ_ID_DELETED, FZ_TYPE_BOOLEAN},  {FZ_ID_SPEC_ID, FZ_TYPE_INT},
                {FZ_ID_ROW_ID, FZ_TYPE_LONG},      {FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER, FZ_TYPE_LONG},
                {FZ_ID_PARTITION, FZ_TYPE_STRUCT}, {FZ_ID_FILE_IX, FZ_TYPE_INT}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].id == field->id && rows[i].type != field->type->id) {
            return fz_fail(err, FZ_BUG, "metadata column %d is asked with the wrong type", field->id);
        }
    }
    return FZ_OK;
}

enum fz_code fz_scan_source_new(const struct fz_scan_source_options *options, struct fz_source **out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_source *source = NULL;
    const struct fz_scan_plan *plan = options->plan;
    FZ_NEW(source, err);
    pthread_mutex_init(&source->lock, NULL);
    pthread_cond_init(&source->changed, NULL);
    source->plan = fz_scan_impl(fz_scan_plan_ref(options->plan));
    source->store = options->store;
    source->cancel = options->cancel;
    source->progress = options->progress;
    source->keep_deleted = options->keep_deleted;
    source->keys = options->keys ? fz_scan_keys_ref(options->keys) : NULL;
    source->keys_optional = options->keys_optional;
    source->only_files = options->only_files;
    source->skip = options->skip;
    source->only_groups = options->only_groups;
    struct fz_field *fields = fz_arena_memdup(&source->arena, options->fields, options->n_fields * sizeof *fields);
    if (!fields) {
        rc = fz_fail_nomem(err, options->n_fields * sizeof *fields);
        goto out;
    }
    for (size_t i = 0; i < options->n_fields; i++) {
        FZ_TRY(check_special(&fields[i], err));
    }
    source->base = (struct fz_source){.vtable = &vtable, .refs = 1, .fields = fields, .n_fields = options->n_fields};
    source->base.max_threads = options->max_threads > 0 ? options->max_threads : fz_machine_cores();
    for (size_t i = 0; i < plan->n_files; i++) {
        if (!options->only_files || options->only_files[i]) {
            source->base.estimated_rows += plan->files[i].entry->file.record_count;
        }
    }
    fz_progress_add(source->progress, source->base.estimated_rows, 0, 0);
    *out = &source->base;
    source = NULL;
out:
    if (source) {
        free_source(&source->base);
    }
    return rc;
}

enum fz_code fz_scan_source_survey(struct fz_source *base, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_source *source = (struct fz_scan_source *)base;
    void *opened = NULL;
    size_t *columns = fz_calloc(base->n_fields + 1, sizeof *columns);
    if (!columns) {
        return fz_fail_nomem(err, base->n_fields * sizeof *columns);
    }
    for (size_t i = 0; i < base->n_fields; i++) {
        columns[i] = i;
    }
    FZ_TRY(fz_scan_reader_open(base, columns, base->n_fields, &opened, err));
    struct fz_scan_reader *reader = opened;
    reader->surveys = true;
    do {
        FZ_TRY(fz_cancel_check(source->cancel, err));
        FZ_TRY(fz_scan_next_morsel(reader, err));
    } while (reader->has_morsel);
out:
    if (opened) {
        fz_scan_reader_close(base, opened);
    }
    fz_free(columns);
    return rc;
}

void fz_scan_source_counters(const struct fz_source *base, struct fz_scan_counters *out) {
    const struct fz_scan_source *source = (const struct fz_scan_source *)base;
    *out = (struct fz_scan_counters){
        .files = source->counters.files,
        .files_by_keys = source->counters.files_by_keys,
        .row_groups = source->counters.row_groups,
        .row_groups_by_range = source->counters.row_groups_by_range,
        .row_groups_by_keys = source->counters.row_groups_by_keys,
        .row_groups_by_bloom = source->counters.row_groups_by_bloom,
        .pages = source->counters.pages,
        .pages_by_keys = source->counters.pages_by_keys,
        .rows = source->counters.rows,
        .rows_by_keys = source->counters.rows_by_keys,
        .bytes_by_groups = source->counters.bytes_by_groups,
        .bytes = source->counters.bytes,
        .bytes_read = source->counters.bytes_read,
    };
}
