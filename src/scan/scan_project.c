// How each asked column comes about in one file: read from it, a constant (partition value, default, metadata), a position, lineage;
// and which further columns equality deletes and keys need.
#include "scan/scan_source_priv.h"

static const struct fz_value *identity_value(const struct fz_scan_reader *reader, const struct fz_data_file *data,
                                             int32_t field_id) {
    const struct fz_partition_spec *spec = fz_metadata_spec(reader->source->plan->base.metadata, data->spec_id);
    for (size_t i = 0; spec && i < spec->n_fields && !data->partition.is_null && i < data->partition.u.nested.n; i++) {
        if (spec->fields[i].source_id == field_id && spec->fields[i].transform.kind == FZ_TRANSFORM_IDENTITY) {
            return &data->partition.u.nested.items[i];
        }
    }
    return NULL;
}

enum fz_code fz_scan_partition_value(const struct fz_metadata *metadata, const struct fz_data_file *data,
                                     const struct fz_type *type, struct fz_arena *arena, struct fz_value *out,
                                     struct fz_err *err) {
    const struct fz_partition_spec *spec = fz_metadata_spec(metadata, data->spec_id);
    struct fz_value *items = fz_arena_array(arena, type->n_fields + 1, sizeof *items);
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

static enum fz_code special_slot(struct fz_scan_reader *reader, const struct fz_scan_file *file,
                                 const struct fz_field *field, struct fz_scan_slot *slot, bool *special,
                                 struct fz_err *err) {
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
        return fz_scan_partition_value(reader->source->plan->base.metadata, data, field->type, &reader->file_arena,
                                       &slot->constant, err);
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
static enum fz_code plan_column(struct fz_scan_reader *reader, const struct fz_scan_data *data,
                                const struct fz_field *field, size_t column, struct fz_scan_slot *slot,
                                struct fz_err *err) {
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
static enum fz_code plan_groups(struct fz_scan_reader *reader, const struct fz_scan_data *data, struct fz_err *err) {
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
static bool keys_are_common(struct fz_scan_source *source) {
    int64_t rows = source->counters.rows, without = source->counters.rows_by_keys;
    return source->keys_optional && rows >= 8 * FZ_BATCH_ROWS && rows - without > rows / 32;
}

// Puts the columns that have keys to the front of what is read; where such a column is constant in the file, asks at once.
void fz_scan_order_by_keys(struct fz_scan_reader *reader, const struct fz_scan_morsel *morsel) {
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

enum fz_code fz_scan_project_file(struct fz_scan_reader *reader, const struct fz_scan_morsel *morsel,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_source *source = reader->source;
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
    fz_scan_order_by_keys(reader, morsel);
out:
    if (rc != FZ_OK) {
        reader->file_ix = SIZE_MAX;
    }
    return rc;
}
