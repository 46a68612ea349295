// The source over a plan: files are opened one after another by whichever thread comes first, their row groups are handed out as
// morsels, and each reader decodes only the asked columns straight into the caller's batch, adds what is not in the file
// (partition constants, metadata columns, lineage) and takes deleted rows out.
#include "scan/scan_priv.h"

#include "table/prune.h"

struct morsel {
    size_t file_ix, row_group;
    struct fz_parquet_file *file; // a reference; of an Avro file, which is one morsel, NULL
    struct fz_avro_file *avro;
    int64_t first_row;
};

struct scan_source {
    struct fz_source base;
    struct fz_arena arena;
    struct fz_scan_plan_impl *plan;
    struct fz_store *store;
    struct fz_cancel *cancel;
    struct fz_progress *progress;
    bool keep_deleted;
    const uint8_t *only_files;
    struct fz_positions *const *skip;
    const uint8_t *const *only_groups;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next_file; // not yet claimed
    int opening; // threads that are opening a file
    struct morsel *queue;
    size_t n_queue, queue_cap; // a stack would mix files; taken from `queue_head` on
    size_t queue_head;

    struct fz_scan_keys *keys; // NULL: all rows
    bool keys_optional;
    struct { // as in struct fz_scan_counters
        _Atomic int64_t files, files_by_keys, row_groups, row_groups_by_range, row_groups_by_keys, row_groups_by_bloom;
        _Atomic int64_t pages, pages_by_keys, rows, rows_by_keys, bytes_by_groups, bytes, bytes_read;
    } counters;
};

enum slot_kind { SLOT_FILE, SLOT_CONSTANT, SLOT_POS, SLOT_DELETED, SLOT_ROW_ID, SLOT_SEQUENCE };
struct slot { // how one column comes about in the current file
    enum slot_kind kind;
    struct fz_value constant;
    bool in_file; // also read from the file (lineage may be stored)
};

struct scan_reader {
    struct scan_source *source;
    const struct fz_field **fields; // asked
    size_t n_fields;
    bool needs_file; // something that only the file or its deletes know was asked

    size_t file_ix; // SIZE_MAX: none yet
    struct fz_arena file_arena; // of the projection
    struct slot *slots; // per asked column
    const struct fz_positions *deleted, *skip;
    struct fz_scan_equality_group **groups;
    size_t n_groups;
    struct fz_batch extra; // key columns of equality deletes that were not asked for; own storage
    struct slot *extra_slots;
    const struct fz_column **group_columns; // per group and id, in order
    size_t *group_column_ix; // index of the asked column, or n_fields + index in extra
    size_t n_group_columns;

    struct morsel morsel;
    bool has_morsel;
    struct fz_parquet_reader *parquet; // the key columns, or all when there are no keys
    struct fz_avro_table_reader *avro; // all columns of an Avro file
    struct fz_parquet_reader *rest; // the other columns, read where a key was found; NULL: there are none
    size_t n_first; // how many of the fields are read by `parquet`; the rest by `rest`
    size_t key_of[FZ_SCAN_MAX_KEYS], n_keys; // for the first n_keys read fields: which key
    bool surveys; // nothing is read
    bool sparse; // few rows have keys: several readings are put together
    struct fz_batch own; // one such reading
    struct fz_arena strings; // texts of the batch handed out
    bool no_key; // a column that is not in the file has a value that no key has
    bool bytes_counted; // those of `rest`
    struct fz_arena rows_arena;
    struct fz_scan_rows rows; // of the row group, by its page index
    size_t next_range;
    struct fz_field *read_fields;
    size_t *read_columns; // what each read field is: asked column, or n_fields + index in extra
    size_t n_read;
    struct fz_column *read_batch;
    int64_t next_pos, end_pos; // without a parquet reader: rows still to make up

    struct fz_buf key;
    uint8_t mark[FZ_BATCH_ROWS], keep[FZ_BATCH_ROWS];
    uint32_t selection[FZ_BATCH_ROWS];
};

// ---- handing out work

struct stats_ctx {
    const struct fz_parquet_file *file;
    size_t row_group;
    struct fz_arena arena;
};
static bool row_group_range(void *ptr, int32_t field_id, const struct fz_type *type, struct fz_column_range *out) {
    struct stats_ctx *ctx = ptr;
    struct fz_parquet_stats stats = {0};
    if (!fz_parquet_file_stats(ctx->file, ctx->row_group, field_id, type, &ctx->arena, &stats)) {
        return false;
    }
    *out = (struct fz_column_range){.min = stats.has_min_max ? stats.min : NULL,
                                    .max = stats.has_min_max ? stats.max : NULL,
                                    .value_count = stats.value_count,
                                    .null_count = stats.null_count,
                                    .nan_count = -1};
    return true;
}

static bool row_group_may_match(const struct scan_source *source, const struct fz_parquet_file *file,
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
static enum fz_code judge_row_group(struct scan_source *source, struct fz_parquet_file *file, size_t row_group,
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

static bool claim_file(struct scan_source *source, size_t *out) { // under the lock
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
static enum fz_code push_morsel(struct scan_source *source, struct morsel morsel, struct fz_err *err) {
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

static enum fz_code push_morsels(struct scan_source *source, size_t file_ix, struct fz_parquet_file *file,
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
            struct morsel morsel = {.file_ix = file_ix, .row_group = g, .file = file, .first_row = first_row};
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

static enum fz_code open_file(struct scan_source *source, size_t file_ix, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_data file = {0};
    const struct fz_data_file *data = &source->plan->base.files[file_ix].entry->file;
    FZ_TRY(fz_cancel_check(source->cancel, err));
    FZ_TRY(fz_scan_data_open(source->store, data, source->cancel, &file, err));
    if (file.avro) {
        pthread_mutex_lock(&source->lock);
        rc = push_morsel(source, (struct morsel){.file_ix = file_ix, .avro = file.avro}, err);
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
static enum fz_code take_morsel(struct scan_source *source, struct morsel *out, bool *found, struct fz_err *err) {
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
static bool take_counted(struct scan_source *source, struct morsel *out) {
    pthread_mutex_lock(&source->lock);
    size_t file_ix = 0;
    bool found = claim_file(source, &file_ix);
    pthread_mutex_unlock(&source->lock);
    *out = (struct morsel){.file_ix = file_ix};
    return found;
}

// ---- the projection of one file

static const struct fz_value *identity_value(const struct scan_reader *reader, const struct fz_data_file *data,
                                             int32_t field_id) {
    const struct fz_partition_spec *spec = fz_metadata_spec(reader->source->plan->base.metadata, data->spec_id);
    for (size_t i = 0; spec && i < spec->n_fields && !data->partition.is_null && i < data->partition.u.nested.n; i++) {
        if (spec->fields[i].source_id == field_id && spec->fields[i].transform.kind == FZ_TRANSFORM_IDENTITY) {
            return &data->partition.u.nested.items[i];
        }
    }
    return NULL;
}

// The file's tuple shown as the union of all specs: by partition field id, NULL where the file's spec has no such field.
static enum fz_code partition_value(struct scan_reader *reader, const struct fz_data_file *data,
                                    const struct fz_type *type, struct fz_value *out, struct fz_err *err) {
    const struct fz_partition_spec *spec = fz_metadata_spec(reader->source->plan->base.metadata, data->spec_id);
    struct fz_value *items = fz_arena_array(&reader->file_arena, type->n_fields + 1, sizeof *items);
    if (!items) {
        return fz_fail_nomem(err, type->n_fields * sizeof *items);
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        items[i] = fz_value_null(type->fields[i].type);
        for (size_t k = 0; spec && k < spec->n_fields && !data->partition.is_null && k < data->partition.u.nested.n;
             k++) {
            if (spec->fields[k].field_id == type->fields[i].id) {
                items[i] = fz_scan_promote(&data->partition.u.nested.items[k], type->fields[i].type);
            }
        }
    }
    *out = (struct fz_value){.type = type};
    out->u.nested.items = items;
    out->u.nested.n = type->n_fields;
    return FZ_OK;
}

static enum fz_code special_slot(struct scan_reader *reader, const struct fz_scan_file *file,
                                 const struct fz_field *field, struct slot *slot, bool *special, struct fz_err *err) {
    const struct fz_data_file *data = &file->entry->file;
    slot->constant = (struct fz_value){.type = field->type};
    slot->kind = SLOT_CONSTANT;
    *special = true;
    switch (field->id) {
    case FZ_ID_FILE:
        slot->constant.u.bytes = fz_str_of(data->file_path);
        return FZ_OK;
    case FZ_ID_SPEC_ID:
        slot->constant.u.i64 = data->spec_id;
        return FZ_OK;
    case FZ_ID_FILE_IX:
        slot->constant.u.i64 = file->file_ix;
        return FZ_OK;
    case FZ_ID_PARTITION:
        return partition_value(reader, data, field->type, &slot->constant, err);
    case FZ_ID_POS:
        slot->kind = SLOT_POS;
        return FZ_OK;
    case FZ_ID_DELETED:
        slot->kind = SLOT_DELETED;
        return FZ_OK;
    case FZ_ID_ROW_ID:
        slot->kind = SLOT_ROW_ID;
        return FZ_OK;
    case FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER:
        slot->kind = SLOT_SEQUENCE;
        return FZ_OK;
    default:
        *special = false;
        return FZ_OK;
    }
}

// Decides where a column comes from (spec "Column Projection") and, when from the file, under which name it is asked there.
static enum fz_code plan_column(struct scan_reader *reader, const struct fz_scan_data *data,
                                const struct fz_field *field, size_t column, struct slot *slot, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_scan_file *file = &reader->source->plan->base.files[reader->file_ix];
    const struct fz_field *read = NULL;
    bool special = false;
    FZ_TRY(special_slot(reader, file, field, slot, &special, err));
    bool lineage = slot->kind == SLOT_ROW_ID || slot->kind == SLOT_SEQUENCE;
    if (special && !lineage) {
        return FZ_OK;
    }
    if (!special) {
        slot->kind = SLOT_FILE;
    }
    if (!data) {
        goto out;
    }
    if (fz_scan_data_has_ids(data)) {
        read = fz_scan_data_has_field(data, field->id) ? field : NULL;
    } else if (!special) {
        FZ_TRY(fz_name_mapping_field(reader->source->plan->names, fz_scan_data_schema(data), field, &reader->file_arena,
                                     &read, err));
    }
    if (read) {
        reader->read_fields[reader->n_read] = *read;
        if (lineage) { // stored values may be NULL whatever the wanted field says
            reader->read_fields[reader->n_read].required = false;
        }
        reader->read_columns[reader->n_read++] = column;
        slot->in_file = true;
    } else if (!special) {
        const struct fz_value *identity = identity_value(reader, &file->entry->file, field->id);
        slot->kind = SLOT_CONSTANT;
        slot->constant = identity                 ? fz_scan_promote(identity, field->type)
                         : field->initial_default ? fz_scan_promote(field->initial_default, field->type)
                                                  : fz_value_null(field->type);
    }
out:
    return rc;
}

// Key columns of the equality deletes that may hit this file: asked ones are used as they are, others are read besides.
static enum fz_code plan_groups(struct scan_reader *reader, const struct fz_scan_data *data, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_plan_impl *plan = reader->source->plan;
    const struct fz_scan_file_state *state = &plan->states[reader->file_ix];
    struct fz_arena *arena = &reader->file_arena;
    size_t n_keys = 0;
    for (size_t g = 0; g < state->n_groups; g++) {
        n_keys += plan->groups[state->groups[g]].n_ids;
    }
    reader->n_groups = state->n_groups;
    reader->groups = fz_arena_array(arena, state->n_groups + 1, sizeof *reader->groups);
    reader->group_columns = fz_arena_array(arena, n_keys + 1, sizeof *reader->group_columns);
    reader->group_column_ix = fz_arena_array(arena, n_keys + 1, sizeof *reader->group_column_ix);
    struct fz_field *extra_fields = fz_arena_array(arena, n_keys + 1, sizeof *extra_fields);
    reader->extra_slots = fz_arena_array(arena, n_keys + 1, sizeof *reader->extra_slots);
    if (!reader->groups || !reader->group_columns || !reader->group_column_ix || !extra_fields ||
        !reader->extra_slots) {
        return fz_fail_nomem(err, n_keys * sizeof *extra_fields);
    }
    size_t n_extra = 0;
    reader->n_group_columns = 0;
    for (size_t g = 0; g < state->n_groups; g++) {
        struct fz_scan_equality_group *group = &plan->groups[state->groups[g]];
        FZ_TRY(fz_scan_group_load(plan, group, reader->source->cancel, err));
        reader->groups[g] = group;
        for (size_t i = 0; i < group->n_ids; i++) {
            const struct fz_field *want = &group->fields[i];
            size_t found = SIZE_MAX;
            for (size_t c = 0; c < reader->n_fields && found == SIZE_MAX; c++) {
                bool same = reader->fields[c]->id == want->id && reader->slots[c].kind == SLOT_FILE;
                found = same && fz_type_equal(reader->fields[c]->type, want->type, false, true) ? c : SIZE_MAX;
            }
            for (size_t e = 0; e < n_extra && found == SIZE_MAX; e++) {
                bool same =
                    extra_fields[e].id == want->id && fz_type_equal(extra_fields[e].type, want->type, false, true);
                found = same ? reader->n_fields + e : SIZE_MAX;
            }
            if (found == SIZE_MAX) {
                found = reader->n_fields + n_extra;
                extra_fields[n_extra] = *want;
                FZ_TRY(plan_column(reader, data, want, found, &reader->extra_slots[n_extra], err));
                n_extra++;
            }
            reader->group_column_ix[reader->n_group_columns++] = found;
        }
    }
    if (n_extra > 0) {
        FZ_TRY(fz_batch_init(&reader->extra, extra_fields, n_extra, FZ_BATCH_ROWS, err));
    }
out:
    return rc;
}

// Whether so many of the rows seen have keys that reading the key columns first costs more than it saves.
static bool keys_are_common(struct scan_source *source) {
    int64_t rows = source->counters.rows, without = source->counters.rows_by_keys;
    return source->keys_optional && rows >= 8 * FZ_BATCH_ROWS && rows - without > rows / 32;
}

// Puts the columns that have keys to the front of what is read; where such a column is constant in the file, asks at once.
static void order_by_keys(struct scan_reader *reader, const struct morsel *morsel) {
    const struct fz_scan_keys *keys = reader->source->keys;
    reader->n_keys = 0;
    reader->no_key = false;
    for (size_t k = 0; keys && k < fz_scan_keys_count(keys); k++) {
        int32_t id = fz_scan_keys_column(keys, k)->field_id;
        for (size_t c = 0; c < reader->n_fields; c++) {
            if (reader->fields[c]->id == id && reader->slots[c].kind == SLOT_CONSTANT) {
                reader->no_key = reader->no_key || !fz_scan_keys_has(keys, k, &reader->slots[c].constant);
            }
        }
        for (size_t i = reader->n_keys; i < reader->n_read; i++) {
            size_t column = reader->read_columns[i];
            if (column < reader->n_fields && reader->fields[column]->id == id) {
                struct fz_field field = reader->read_fields[i];
                reader->read_fields[i] = reader->read_fields[reader->n_keys];
                reader->read_columns[i] = reader->read_columns[reader->n_keys];
                reader->read_fields[reader->n_keys] = field;
                reader->read_columns[reader->n_keys] = column;
                reader->key_of[reader->n_keys++] = k;
                break;
            }
        }
    }
    if (morsel->avro ||
        keys_are_common(reader->source)) { // avro: rows are stored one by one, nothing is won by reading keys first
        reader->n_keys = 0;
    }
    reader->n_first = reader->n_keys > 0 ? reader->n_keys : reader->n_read;
}

static enum fz_code plan_file(struct scan_reader *reader, const struct morsel *morsel, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct scan_source *source = reader->source;
    struct fz_arena *arena = &reader->file_arena;
    const size_t file_ix = morsel->file_ix;
    const struct fz_scan_data both = {morsel->file, morsel->avro}, *data = both.parquet || both.avro ? &both : NULL;
    fz_batch_dispose(&reader->extra);
    fz_arena_dispose(arena);
    reader->file_ix = file_ix;
    reader->n_read = 0;
    reader->n_groups = reader->n_group_columns = 0;
    size_t n_keys = 0;
    const struct fz_scan_file_state *state = &source->plan->states[file_ix];
    for (size_t g = 0; g < state->n_groups; g++) {
        n_keys += source->plan->groups[state->groups[g]].n_ids;
    }
    size_t most = reader->n_fields + n_keys + 1;
    reader->slots = fz_arena_array(arena, most, sizeof *reader->slots);
    reader->read_fields = fz_arena_array(arena, most, sizeof *reader->read_fields);
    reader->read_columns = fz_arena_array(arena, most, sizeof *reader->read_columns);
    reader->read_batch = fz_arena_array(arena, most, sizeof *reader->read_batch);
    if (!reader->slots || !reader->read_fields || !reader->read_columns || !reader->read_batch) {
        return fz_fail_nomem(err, most * sizeof *reader->read_fields);
    }
    for (size_t i = 0; i < reader->n_fields; i++) {
        FZ_TRY(plan_column(reader, data, reader->fields[i], i, &reader->slots[i], err));
    }
    FZ_TRY(fz_scan_positions_of(source->plan, file_ix, source->cancel, &reader->deleted, err));
    reader->skip = source->skip ? source->skip[file_ix] : NULL;
    if (state->n_groups > 0) {
        FZ_TRY(plan_groups(reader, data, err));
    }
    order_by_keys(reader, morsel);
out:
    if (rc != FZ_OK) {
        reader->file_ix = SIZE_MAX;
    }
    return rc;
}

// ---- reading

static void drop_morsel(struct scan_reader *reader) {
    if (reader->parquet) {
        fz_parquet_reader_close(reader->parquet);
        reader->parquet = NULL;
    }
    if (reader->rest) {
        fz_parquet_reader_close(reader->rest);
        reader->rest = NULL;
    }
    if (reader->has_morsel && reader->morsel.file) {
        const struct fz_pq_file *meta = fz_parquet_file_meta(reader->morsel.file);
        fz_progress_add(reader->source->progress, 0, meta->row_groups[reader->morsel.row_group].num_rows, 0);
        fz_parquet_file_unref(reader->morsel.file);
    }
    fz_avro_table_reader_close(reader->avro);
    reader->avro = NULL;
    if (reader->has_morsel) {
        fz_avro_file_unref(reader->morsel.avro);
    }
    reader->has_morsel = false;
}

static enum fz_code open_parquet(struct scan_reader *reader, const struct morsel *morsel, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct scan_source *source = reader->source;
    bool has_ids = fz_parquet_file_has_ids(morsel->file);
    struct fz_parquet_read read = {.fields = reader->read_fields,
                                   .n_fields = reader->n_first,
                                   .row_group = morsel->row_group,
                                   .by_name = !has_ids};
    fz_arena_dispose(&reader->rows_arena);
    reader->rows = (struct fz_scan_rows){0};
    reader->next_range = 0;
    if (reader->n_keys > 0 && has_ids) {
        FZ_TRY(fz_scan_keys_pages(source->keys, morsel->file, morsel->row_group, source->cancel, &reader->rows_arena,
                                  &reader->rows, err));
        source->counters.pages += (int64_t)reader->rows.n_pages;
        source->counters.pages_by_keys += (int64_t)reader->rows.n_pages_out;
    }
    read.rows = reader->rows.known ? reader->rows.ranges : NULL;
    read.n_rows = reader->rows.n;
    read.deferred = reader->surveys || (reader->rows.known && reader->rows.n == 0);
    FZ_TRY(fz_parquet_reader_open(morsel->file, &read, source->cancel, &reader->parquet, err));
    source->counters.bytes += fz_parquet_reader_bytes(reader->parquet);
    source->counters.bytes_read += read.deferred ? 0 : fz_parquet_reader_bytes(reader->parquet);
    if (reader->n_first < reader->n_read) {
        read.fields = reader->read_fields + reader->n_first;
        read.n_fields = reader->n_read - reader->n_first;
        read.deferred = true;
        reader->bytes_counted = false;
        FZ_TRY(fz_parquet_reader_open(morsel->file, &read, source->cancel, &reader->rest, err));
        source->counters.bytes += fz_parquet_reader_bytes(reader->rest);
    }
out:
    return rc;
}

static enum fz_code open_avro(struct scan_reader *reader, const struct morsel *morsel, struct fz_err *err) {
    struct scan_source *source = reader->source;
    int64_t bytes = source->plan->base.files[morsel->file_ix].entry->file.file_size_in_bytes;
    source->counters.bytes += bytes;
    source->counters.bytes_read += reader->surveys ? 0 : bytes;
    return fz_avro_table_reader_open(morsel->avro, reader->read_fields, reader->n_read,
                                     !fz_avro_file_has_ids(morsel->avro), source->cancel, &reader->avro, err);
}

// Equality deletes of any file make the file needed; whether there are some is known per file.
static enum fz_code next_morsel(struct scan_reader *reader, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct scan_source *source = reader->source;
    bool found = false;
    drop_morsel(reader);
    if (reader->needs_file) {
        FZ_TRY(take_morsel(source, &reader->morsel, &found, err));
    } else {
        found = take_counted(source, &reader->morsel);
    }
    reader->has_morsel = found;
    if (!found) {
        return FZ_OK;
    }
    struct morsel *morsel = &reader->morsel;
    if (morsel->file_ix != reader->file_ix) {
        FZ_TRY(plan_file(reader, morsel, err));
    } else if (source->keys_optional) {
        order_by_keys(reader, morsel); // they may have turned out to be common
    }
    reader->next_pos = morsel->first_row;
    reader->end_pos =
        morsel->first_row + (morsel->file ? fz_parquet_file_meta(morsel->file)->row_groups[morsel->row_group].num_rows
                                          : source->plan->base.files[morsel->file_ix].entry->file.record_count);
    if (reader->no_key) {
        reader->next_pos = reader->end_pos; // nothing to be found
    } else if (reader->n_read > 0 && morsel->avro) {
        FZ_TRY(open_avro(reader, morsel, err));
    } else if (reader->n_read > 0) {
        FZ_TRY(open_parquet(reader, morsel, err));
    }
out:
    return rc;
}

static struct fz_column *column_at(struct scan_reader *reader, struct fz_batch *batch, size_t ix) {
    return ix < reader->n_fields ? &batch->columns[ix] : &reader->extra.columns[ix - reader->n_fields];
}

// Rows into the columns [from, to) of those that are read. The columns are lent to the parquet reader by value, so that it decodes
// into the caller's storage.
static enum fz_code read_columns(struct scan_reader *reader, struct fz_parquet_reader *parquet, size_t from, size_t to,
                                 struct fz_batch *batch, size_t max_rows, size_t *n_rows, int64_t *first_pos,
                                 struct fz_err *err) {
    struct fz_batch lent = {.n_columns = to - from, .columns = reader->read_batch + from};
    for (size_t i = from; i < to; i++) {
        struct fz_column *column = column_at(reader, batch, reader->read_columns[i]);
        fz_column_reset(column);
        reader->read_batch[i] = *column;
    }
    enum fz_code rc = parquet ? fz_parquet_reader_next_upto(parquet, &lent, max_rows, first_pos, err)
                              : fz_avro_table_reader_next(reader->avro, &lent, max_rows, first_pos, err);
    for (size_t i = from; i < to; i++) { // also after an error: storage may have moved
        *column_at(reader, batch, reader->read_columns[i]) = reader->read_batch[i];
    }
    *n_rows = rc == FZ_OK ? lent.n_rows : 0;
    return rc;
}

// Passes over pages without keys; *most: rows to the end of the range at hand, 0 at the end of the row group.
static enum fz_code next_rows(struct scan_reader *reader, size_t *most, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t at = reader->next_pos - reader->morsel.first_row;
    if (!reader->rows.known) {
        return FZ_OK;
    }
    while (reader->next_range < reader->rows.n && reader->rows.ranges[reader->next_range].end <= at) {
        reader->next_range++;
    }
    if (reader->next_range == reader->rows.n) {
        *most = 0;
        return FZ_OK;
    }
    const struct fz_parquet_row_range *range = &reader->rows.ranges[reader->next_range];
    if (range->start > at) {
        FZ_TRY(fz_parquet_reader_skip(reader->parquet, range->start - at, err));
        if (reader->rest) {
            FZ_TRY(fz_parquet_reader_skip(reader->rest, range->start - at, err));
        }
        reader->next_pos += range->start - at;
        at = range->start;
    }
    *most = range->end - at < (int64_t)*most ? (size_t)(range->end - at) : *most;
out:
    return rc;
}

// Key-first: the key columns of so many rows, then the others only when a row is left. *n_left: rows that have keys.
static enum fz_code read_by_keys(struct scan_reader *reader, struct fz_batch *batch, size_t most, size_t *n_rows,
                                 size_t *n_left, int64_t *first_pos, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct scan_source *source = reader->source;
    size_t n = 0, same = 0;
    *n_rows = *n_left = 0;
    if (reader->rest && fz_parquet_reader_batch_rows(reader->rest) < most) {
        most = fz_parquet_reader_batch_rows(reader->rest); // long lists
    }
    FZ_TRY(next_rows(reader, &most, err));
    if (most == 0) {
        return FZ_OK;
    }
    FZ_TRY(read_columns(reader, reader->parquet, 0, reader->n_first, batch, most, &n, first_pos, err));
    size_t left = n;
    memset(reader->keep, 1, n);
    for (size_t i = 0; i < reader->n_keys && left > 0; i++) {
        const struct fz_column *column = column_at(reader, batch, reader->read_columns[i]);
        left = fz_scan_keys_filter(source->keys, reader->key_of[i], column, n, reader->keep);
    }
    reader->next_pos += (int64_t)n;
    source->counters.rows += (int64_t)n;
    source->counters.rows_by_keys += (int64_t)(n - left);
    *n_rows = n;
    *n_left = left;
    if (reader->rest && left == 0) {
        FZ_TRY(fz_parquet_reader_skip(reader->rest, (int64_t)n, err));
    } else if (reader->rest) {
        source->counters.bytes_read += reader->bytes_counted ? 0 : fz_parquet_reader_bytes(reader->rest);
        reader->bytes_counted = true;
        FZ_TRY(read_columns(reader, reader->rest, reader->n_first, reader->n_read, batch, n, &same, first_pos, err));
        if (same != n) {
            rc = fz_fail(err, FZ_BUG, "%zu rows of the key columns, %zu of the others", n, same);
        }
    }
out:
    return rc;
}

// Rows of the morsel into the columns that come from the file. `keep` is filled when the source has keys.
static enum fz_code read_rows(struct scan_reader *reader, struct fz_batch *batch, size_t most, size_t *n_rows,
                              size_t *n_left, int64_t *first_pos, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (reader->parquet && reader->n_keys > 0) {
        return read_by_keys(reader, batch, most, n_rows, n_left, first_pos, err);
    }
    if (reader->parquet || reader->avro) {
        rc = read_columns(reader, reader->parquet, 0, reader->n_first, batch, most, n_rows, first_pos, err);
        *n_left = *n_rows;
        return rc;
    }
    int64_t left = reader->end_pos - reader->next_pos;
    *n_rows = *n_left = left > (int64_t)most ? most : left > 0 ? (size_t)left : 0;
    *first_pos = reader->next_pos;
    reader->next_pos += (int64_t)*n_rows;
    return FZ_OK;
}

static void mark_positions(struct scan_reader *reader, const struct fz_positions *positions, size_t n,
                           int64_t first_pos, uint8_t bit, bool *any) {
    uint32_t rows[FZ_BATCH_ROWS];
    size_t found = positions ? fz_positions_within(positions, first_pos, (uint32_t)n, rows) : 0;
    for (size_t i = 0; i < found; i++) {
        reader->mark[rows[i]] |= bit;
    }
    *any = *any || found > 0;
}

static void mark_sorted(struct scan_reader *reader, const struct fz_scan_file_state *state, size_t n, int64_t first_pos,
                        uint8_t bit, bool *any) {
    size_t low = 0, high = state->n_sorted; // first position not below first_pos
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (state->sorted[middle] < first_pos) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < state->n_sorted && state->sorted[low] < first_pos + (int64_t)n; low++) {
        reader->mark[state->sorted[low] - first_pos] |= bit;
        *any = true;
    }
}

enum { SPARSE_ROWS = 256 }; // of a full batch
enum { MARK_DELETED = 1, MARK_SKIPPED = 2, MARK_NO_KEY = 4 };

static enum fz_code mark_rows(struct scan_reader *reader, struct fz_batch *batch, size_t n, size_t n_left,
                              int64_t first_pos, bool *any, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *any = false;
    memset(reader->mark, 0, n);
    const struct fz_scan_file_state *state = &reader->source->plan->states[reader->file_ix];
    if (state->sorted) {
        mark_sorted(reader, state, n, first_pos, MARK_DELETED, any);
    } else {
        mark_positions(reader, reader->deleted, n, first_pos, MARK_DELETED, any);
    }
    if (reader->n_groups > 0) {
        int64_t sequence_number = reader->source->plan->base.files[reader->file_ix].entry->sequence_number;
        for (size_t e = 0; e < reader->extra.n_columns; e++) {
            if (reader->extra_slots[e].kind == SLOT_CONSTANT) {
                FZ_TRY(fz_scan_fill_constant(&reader->extra.columns[e], n, &reader->extra_slots[e].constant, err));
            }
        }
        for (size_t k = 0; k < reader->n_group_columns; k++) {
            reader->group_columns[k] = column_at(reader, batch, reader->group_column_ix[k]);
        }
        const struct fz_column **columns = reader->group_columns;
        for (size_t g = 0; g < reader->n_groups; g++) {
            FZ_TRY(fz_scan_group_mark(reader->groups[g], columns, n, sequence_number, &reader->key, reader->mark, any,
                                      err));
            columns += reader->groups[g]->n_ids;
        }
    }
    mark_positions(reader, reader->skip, n, first_pos, MARK_SKIPPED, any);
    if (n_left < n) {
        *any = true;
        for (size_t r = 0; r < n; r++) {
            reader->mark[r] |= reader->keep[r] ? 0 : MARK_NO_KEY;
        }
    }
out:
    return rc;
}

// Lineage (iceberg-facts 7.6): stored value, else first_row_id + position or the data sequence number; NULL without first_row_id.
static void fill_lineage(struct scan_reader *reader, struct fz_column *column, const struct slot *slot, size_t n,
                         int64_t first_pos) {
    const struct fz_manifest_entry *entry = reader->source->plan->base.files[reader->file_ix].entry;
    bool known = entry->file.first_row_id >= 0;
    if (!slot->in_file) {
        struct fz_value null = fz_value_null(column->type);
        struct fz_err ignored = FZ_ERR_INIT;
        fz_scan_fill_constant(column, n, &null, &ignored); // NULLs cannot fail
    }
    if (known && slot->kind == SLOT_ROW_ID) {
        fz_scan_fill_missing(column, n, entry->file.first_row_id + first_pos, 1);
    } else if (known) {
        fz_scan_fill_missing(column, n, entry->sequence_number, 0);
    }
}

static enum fz_code finish_batch(struct scan_reader *reader, struct fz_batch *batch, size_t n, int64_t first_pos,
                                 bool any, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    uint8_t out_when = reader->source->keep_deleted ? MARK_SKIPPED : MARK_DELETED | MARK_SKIPPED | MARK_NO_KEY;
    size_t live = n;
    if (any) {
        live = 0;
        for (size_t r = 0; r < n; r++) {
            reader->selection[live] = (uint32_t)r;
            live += (reader->mark[r] & out_when) == 0;
        }
    }
    for (size_t i = 0; i < reader->n_fields && live > 0; i++) {
        struct fz_column *column = &batch->columns[i];
        const struct slot *slot = &reader->slots[i];
        switch (slot->kind) {
        case SLOT_FILE:
            break;
        case SLOT_CONSTANT:
            fz_column_reset(column);
            FZ_TRY(fz_scan_fill_constant(column, live, &slot->constant, err));
            continue; // nothing to take out
        case SLOT_POS:
            fz_column_reset(column);
            if (live < n) {
                for (size_t r = 0; r < live; r++) {
                    ((int64_t *)column->data)[r] = first_pos + reader->selection[r];
                }
                continue;
            }
            fz_scan_fill_positions(column, n, first_pos);
            break;
        case SLOT_DELETED:
            fz_column_reset(column);
            for (size_t r = 0; r < n; r++) {
                ((uint8_t *)column->data)[r] = reader->mark[r] & MARK_DELETED;
            }
            break;
        case SLOT_ROW_ID:
        case SLOT_SEQUENCE:
            if (!slot->in_file) {
                fz_column_reset(column);
            }
            fill_lineage(reader, column, slot, n, first_pos);
            break;
        }
        if (live < n) {
            fz_scan_compact(column, reader->selection, live);
        }
    }
    batch->n_rows = live;
out:
    return rc;
}

// The next rows, at most `most`; n_rows 0 only at the end.
static enum fz_code next_rows_of(struct scan_reader *reader, struct fz_batch *batch, size_t most, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    batch->n_rows = 0;
    while (batch->n_rows == 0) {
        size_t n = 0, n_left = 0;
        int64_t first_pos = 0;
        bool any = false;
        FZ_TRY(fz_cancel_check(reader->source->cancel, err));
        if (!reader->has_morsel) {
            FZ_TRY(next_morsel(reader, err));
            if (!reader->has_morsel) {
                return FZ_OK;
            }
        }
        FZ_TRY(read_rows(reader, batch, most, &n, &n_left, &first_pos, err));
        if (n == 0) {
            drop_morsel(reader);
        }
        if (n_left == 0) {
            continue;
        }
        FZ_TRY(mark_rows(reader, batch, n, n_left, first_pos, &any, err));
        FZ_TRY(finish_batch(reader, batch, n, first_pos, any, err));
    }
out:
    return rc;
}

// Where few rows have keys, many readings make one batch: what follows costs by the batch.
static enum fz_code next_gathered(struct scan_reader *reader, struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t filled = 0;
    fz_arena_dispose(&reader->strings);
    if (!reader->own.columns) {
        struct fz_field *fields = fz_calloc(reader->n_fields + 1, sizeof *fields);
        for (size_t i = 0; fields && i < reader->n_fields; i++) {
            fields[i] = *reader->fields[i];
        }
        rc = fields ? fz_batch_init(&reader->own, fields, reader->n_fields, FZ_BATCH_ROWS, err)
                    : fz_fail_nomem(err, reader->n_fields * sizeof *fields);
        fz_free(fields);
        FZ_TRY(rc);
    }
    for (size_t i = 0; i < reader->n_fields; i++) {
        fz_column_reset(&batch->columns[i]);
    }
    while (filled <= FZ_BATCH_ROWS / 2) {
        FZ_TRY(next_rows_of(reader, &reader->own, FZ_BATCH_ROWS - filled, err));
        if (reader->own.n_rows == 0) {
            break;
        }
        for (size_t i = 0; i < reader->n_fields; i++) {
            FZ_TRY(fz_column_copy(&batch->columns[i], filled, &reader->own.columns[i], 0, NULL, reader->own.n_rows,
                                  &reader->strings, err));
        }
        filled += reader->own.n_rows;
        reader->sparse = reader->own.n_rows <= SPARSE_ROWS;
        if (!reader->sparse) {
            break;
        }
    }
    batch->n_rows = filled;
out:
    return rc;
}

static enum fz_code next_batch(struct fz_source *base, void *ptr, struct fz_batch *batch, struct fz_err *err) {
    struct scan_source *source = (struct scan_source *)base;
    struct scan_reader *reader = ptr;
    enum fz_code rc = FZ_OK;
    if (reader->sparse) {
        rc = next_gathered(reader, batch, err);
    } else {
        rc = next_rows_of(reader, batch, FZ_BATCH_ROWS, err);
        reader->sparse = source->keys && rc == FZ_OK && batch->n_rows > 0 && batch->n_rows <= SPARSE_ROWS;
    }
    if (rc != FZ_OK && rc != FZ_CANCELLED && reader->has_morsel) {
        fz_err_context(err, "data file %s", source->plan->base.files[reader->morsel.file_ix].entry->file.file_path);
    }
    return rc;
}

// ---- readers and source

static bool is_free(int32_t field_id) { // known without looking into the file
    return field_id == FZ_ID_FILE || field_id == FZ_ID_POS || field_id == FZ_ID_SPEC_ID ||
           field_id == FZ_ID_PARTITION || field_id == FZ_ID_FILE_IX || field_id == FZ_ID_DELETED;
}

static void close_reader(struct fz_source *base, void *ptr) {
    (void)base;
    struct scan_reader *reader = ptr;
    drop_morsel(reader);
    fz_batch_dispose(&reader->extra);
    fz_arena_dispose(&reader->file_arena);
    fz_arena_dispose(&reader->rows_arena);
    fz_arena_dispose(&reader->strings);
    fz_batch_dispose(&reader->own);
    fz_buf_dispose(&reader->key);
    fz_free(reader->fields);
    fz_free(reader);
}

static enum fz_code open_reader(struct fz_source *base, const size_t *columns, size_t n_columns, void **out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct scan_source *source = (struct scan_source *)base;
    struct scan_reader *reader = NULL;
    FZ_NEW(reader, err);
    reader->source = source;
    reader->file_ix = SIZE_MAX;
    reader->fields = fz_calloc(n_columns ? n_columns : 1, sizeof *reader->fields);
    if (!reader->fields) {
        rc = fz_fail_nomem(err, n_columns * sizeof *reader->fields);
        goto out;
    }
    reader->n_fields = n_columns;
    reader->needs_file = source->plan->n_groups > 0;
    for (size_t i = 0; i < n_columns; i++) {
        if (columns[i] >= source->base.n_fields) {
            rc = fz_fail(err, FZ_BUG, "column %zu of a scan of %zu columns", columns[i], source->base.n_fields);
            goto out;
        }
        reader->fields[i] = &source->base.fields[columns[i]];
        reader->needs_file = reader->needs_file || !is_free(reader->fields[i]->id);
    }
    *out = reader;
    reader = NULL;
out:
    if (reader) {
        close_reader(base, reader);
    }
    return rc;
}

static void free_source(struct fz_source *base) {
    struct scan_source *source = (struct scan_source *)base;
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

static const struct fz_source_vtable vtable = {free_source, open_reader, next_batch, close_reader};

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
    struct scan_source *source = NULL;
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
    struct scan_source *source = (struct scan_source *)base;
    void *opened = NULL;
    size_t *columns = fz_calloc(base->n_fields + 1, sizeof *columns);
    if (!columns) {
        return fz_fail_nomem(err, base->n_fields * sizeof *columns);
    }
    for (size_t i = 0; i < base->n_fields; i++) {
        columns[i] = i;
    }
    FZ_TRY(open_reader(base, columns, base->n_fields, &opened, err));
    struct scan_reader *reader = opened;
    reader->surveys = true;
    do {
        FZ_TRY(fz_cancel_check(source->cancel, err));
        FZ_TRY(next_morsel(reader, err));
    } while (reader->has_morsel);
out:
    if (opened) {
        close_reader(base, opened);
    }
    fz_free(columns);
    return rc;
}

void fz_scan_source_counters(const struct fz_source *base, struct fz_scan_counters *out) {
    const struct scan_source *source = (const struct scan_source *)base;
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
