// Equality deletes: their keys as one hash set per group, each key with the largest sequence number it was deleted at. So a
// table with many small delete files (streaming writers) costs one look-up per row and group, not one per row and file.
#include "scan/scan_priv.h"

enum { MAX_PATH = 7 };

// Child indexes from a top-level field down to the field with this id, through structs only.
static bool find_path(const struct fz_type *type, int32_t id, int32_t *path, int depth) {
    for (size_t i = 0; depth < MAX_PATH && i < type->n_fields; i++) {
        path[depth] = (int32_t)i;
        if (type->fields[i].id == id) {
            path[depth + 1] = -1;
            return true;
        }
        if (type->fields[i].type->id == FZ_TYPE_STRUCT && find_path(type->fields[i].type, id, path, depth + 1)) {
            return true;
        }
    }
    return false;
}

// The plan's schema first; a column that is gone from it still deletes, with the type of the newest schema that had it.
static bool locate(const struct fz_scan_plan_impl *impl, int32_t id, const struct fz_type **out, int32_t *path) {
    if (find_path(impl->base.schema->type, id, path, 0)) {
        *out = impl->base.schema->type;
        return true;
    }
    const struct fz_schema *best = NULL;
    const struct fz_metadata *metadata = impl->base.metadata;
    for (size_t i = 0; i < metadata->n_schemas; i++) {
        const struct fz_schema *schema = &metadata->schemas[i];
        if (find_path(schema->type, id, path, 0) && (!best || schema->schema_id > best->schema_id)) {
            best = schema;
        }
    }
    if (best) {
        find_path(best->type, id, path, 0);
        *out = best->type;
    }
    return best != NULL;
}

static const struct fz_type *type_below(const struct fz_type *type, const int32_t *path) {
    for (; *path >= 0; path++) {
        type = type->fields[*path].type;
    }
    return type;
}

enum fz_code fz_scan_group_prepare(struct fz_scan_plan_impl *impl, struct fz_scan_equality_group *group,
                                   struct fz_err *err) {
    struct fz_arena *arena = &impl->base.arena;
    group->fields = fz_arena_array(arena, group->n_ids, sizeof *group->fields);
    group->paths = fz_arena_array(arena, group->n_ids, sizeof *group->paths);
    if (!group->fields || !group->paths) {
        return fz_fail_nomem(err, group->n_ids * sizeof *group->fields);
    }
    for (size_t i = 0; i < group->n_ids; i++) {
        int32_t path[MAX_PATH + 1];
        const struct fz_type *type = NULL;
        if (!locate(impl, group->ids[i], &type, path)) {
            return fz_fail(err, FZ_CORRUPT,
                           "equality delete file %s deletes by field id %d, which no schema of the table has",
                           group->files[0]->file.file_path, group->ids[i]);
        }
        group->fields[i] = type->fields[path[0]];
        memcpy(group->paths[i], path + 1, sizeof path - sizeof path[0]);
        group->paths[i][MAX_PATH] = -1;
    }
    const struct fz_type *only = type_below(group->fields[0].type, group->paths[0]);
    group->is_integer = group->n_ids == 1 && group->paths[0][0] < 0 && fz_type_is_primitive(only) &&
                        fz_type_width(only) <= sizeof(uint64_t);
    return FZ_OK;
}

static const struct fz_column *descend(const struct fz_column *column, const int32_t *path) {
    for (; *path >= 0; path++) {
        column = &column->children[*path];
    }
    return column;
}

static bool is_bytes(const struct fz_type *type) {
    switch ((int)type->id) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        return true;
    default:
        return false;
    }
}

struct key_part {
    const struct fz_column *column, *top; // the column itself; the top-level column it is below
    const int32_t *path;
    size_t width;
    bool bytes;
};

static enum fz_code make_parts(const struct fz_scan_equality_group *group, const struct fz_column *const *columns,
                               struct key_part *parts, struct fz_err *err) {
    for (size_t i = 0; i < group->n_ids; i++) {
        const struct fz_column *column = descend(columns[i], group->paths[i]);
        if (!fz_type_is_primitive(column->type)) {
            return fz_fail(err, FZ_CORRUPT,
                           "equality delete file %s deletes by field id %d, which is not a primitive column",
                           group->files[0]->file.file_path, group->ids[i]);
        }
        parts[i] = (struct key_part){.column = column,
                                     .top = columns[i],
                                     .path = group->paths[i],
                                     .width = fz_type_width(column->type),
                                     .bytes = is_bytes(column->type)};
    }
    return FZ_OK;
}

// Which NULL a field of a struct is: its own, or that of a struct around it. They are different keys, as in Iceberg Java.
static char which_null(const struct key_part *part, size_t row) {
    const struct fz_column *column = part->top;
    char depth = 2;
    for (const int32_t *path = part->path; *path >= 0; path++, depth++) {
        if (!fz_column_is_valid(column, row)) {
            return depth;
        }
        column = &column->children[*path];
    }
    return 0;
}

// NULL equals NULL here (spec "Equality Delete Files").
static bool build_key(const struct key_part *parts, size_t n, size_t row, struct fz_buf *key) {
    size_t most = n * (1 + sizeof(struct fz_i128));
    for (size_t i = 0; i < n; i++) {
        most += parts[i].bytes && fz_column_is_valid(parts[i].column, row)
                    ? ((const struct fz_string *)parts[i].column->data)[row].length
                    : 0;
    }
    fz_buf_clear(key);
    if (!fz_buf_reserve(key, most + 1)) {
        return false;
    }
    char *p = key->ptr;
    for (size_t i = 0; i < n; i++) {
        bool valid = fz_column_is_valid(parts[i].column, row);
        *p++ = valid ? 1 : which_null(&parts[i], row);
        if (valid && parts[i].bytes) {
            const struct fz_string *s = &((const struct fz_string *)parts[i].column->data)[row];
            memcpy(p, &s->length, sizeof s->length);
            memcpy(p + sizeof s->length, fz_string_ptr(s), s->length);
            p += sizeof s->length + s->length;
        } else if (valid) {
            memcpy(p, (const char *)parts[i].column->data + row * parts[i].width, parts[i].width);
            p += parts[i].width;
        }
    }
    key->len = (size_t)(p - key->ptr);
    return true;
}

static uint64_t integer_at(const struct key_part *part, size_t row) {
    uint64_t value = 0;
    memcpy(&value, (const char *)part->column->data + row * part->width, part->width);
    return value;
}

static size_t slot_of(const struct fz_scan_equality_group *group, uint64_t key) {
    size_t slot = (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 17) & (group->n_slots - 1);
    while (group->slots[slot].sequence_number != 0 && group->slots[slot].key != key) {
        slot = (slot + 1) & (group->n_slots - 1);
    }
    return slot;
}

static enum fz_code grow_slots(struct fz_scan_equality_group *group, struct fz_err *err) {
    struct fz_scan_equality_group bigger = {.n_slots = group->n_slots ? group->n_slots * 2 : 1024};
    bigger.slots = fz_calloc(bigger.n_slots, sizeof *bigger.slots);
    if (!bigger.slots) {
        return fz_fail_nomem(err, bigger.n_slots * sizeof *bigger.slots);
    }
    for (size_t i = 0; i < group->n_slots; i++) {
        if (group->slots[i].sequence_number != 0) {
            bigger.slots[slot_of(&bigger, group->slots[i].key)] = group->slots[i];
        }
    }
    fz_free(group->slots);
    group->slots = bigger.slots;
    group->n_slots = bigger.n_slots;
    return FZ_OK;
}

// Deletes have sequence numbers from 1 on (format version 2), so 0 marks what is empty.
static enum fz_code add_integers(struct fz_scan_equality_group *group, const struct key_part *part, size_t n_rows,
                                 int64_t sequence_number, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t r = 0; r < n_rows; r++) {
        if (!fz_column_is_valid(part->column, r)) {
            group->null_sequence_number =
                group->null_sequence_number > sequence_number ? group->null_sequence_number : sequence_number;
            continue;
        }
        if ((group->n_slots_used + 1) * 2 > group->n_slots) {
            FZ_TRY(grow_slots(group, err));
        }
        uint64_t key = integer_at(part, r);
        struct fz_scan_integer_key *slot = &group->slots[slot_of(group, key)];
        if (slot->sequence_number == 0) {
            group->min_key = group->n_slots_used == 0 || key < group->min_key ? key : group->min_key;
            group->max_key = group->n_slots_used == 0 || key > group->max_key ? key : group->max_key;
            group->n_slots_used++;
            slot->key = key;
        }
        slot->sequence_number = slot->sequence_number > sequence_number ? slot->sequence_number : sequence_number;
    }
out:
    return rc;
}

static void mark_integers(const struct fz_scan_equality_group *group, const struct key_part *part, size_t n_rows,
                          int64_t sequence_number, uint8_t *mark, bool *any) {
    for (size_t r = 0; r < n_rows; r++) {
        int64_t deleted_at = group->null_sequence_number;
        if (fz_column_is_valid(part->column, r)) {
            uint64_t key = integer_at(part, r);
            bool inside = group->n_slots_used > 0 && key >= group->min_key && key <= group->max_key;
            deleted_at = inside ? group->slots[slot_of(group, key)].sequence_number : 0;
        }
        if (deleted_at > sequence_number) {
            mark[r] |= 1;
            *any = true;
        }
    }
}

static enum fz_code add_keys(struct fz_scan_equality_group *group, const struct key_part *parts, size_t n_rows,
                             int64_t sequence_number, struct fz_buf *key, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t r = 0; r < n_rows; r++) {
        struct fz_map_entry *slot = NULL;
        bool added = false;
        if (!build_key(parts, group->n_ids, r, key)) {
            return fz_fail_nomem(err, key->cap);
        }
        FZ_TRY(fz_map_put(&group->keys, (struct fz_str){key->ptr, key->len}, &slot, &added, err));
        if (added || slot->value.i64 < sequence_number) {
            slot->value.i64 = sequence_number;
        }
    }
out:
    return rc;
}

struct delete_rows {
    struct fz_scan_equality_group *group;
    int64_t sequence_number;
    struct key_part *parts;
    const struct fz_column **columns;
    struct fz_buf key;
};
static enum fz_code on_deletes(void *ptr, struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct delete_rows *ctx = ptr;
    struct fz_scan_equality_group *group = ctx->group;
    for (size_t i = 0; i < group->n_ids; i++) {
        ctx->columns[i] = &batch->columns[i];
    }
    FZ_TRY(make_parts(group, ctx->columns, ctx->parts, err));
    rc = group->is_integer ? add_integers(group, ctx->parts, batch->n_rows, ctx->sequence_number, err)
                           : add_keys(group, ctx->parts, batch->n_rows, ctx->sequence_number, &ctx->key, err);
out:
    return rc;
}

static enum fz_code read_delete_file(struct fz_scan_plan_impl *impl, struct fz_scan_equality_group *group,
                                     const struct fz_manifest_entry *entry, struct fz_cancel *cancel,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct delete_rows ctx = {.group = group, .sequence_number = entry->sequence_number};
    ctx.parts = fz_calloc(group->n_ids, sizeof *ctx.parts);
    ctx.columns = fz_calloc(group->n_ids, sizeof *ctx.columns);
    if (!ctx.parts || !ctx.columns) {
        rc = fz_fail_nomem(err, group->n_ids * sizeof *ctx.parts);
        goto out;
    }
    rc = fz_scan_data_rows(impl->store, &entry->file, group->fields, group->n_ids, cancel, on_deletes, &ctx, err);
out:
    if (rc != FZ_OK) {
        fz_err_context(err, "equality delete file %s", entry->file.file_path);
    }
    fz_buf_dispose(&ctx.key);
    fz_free(ctx.parts);
    fz_free(ctx.columns);
    return rc;
}

enum fz_code fz_scan_group_load(struct fz_scan_plan_impl *impl, struct fz_scan_equality_group *group,
                                struct fz_cancel *cancel, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    pthread_mutex_lock(&group->lock);
    for (size_t i = 0; !group->loaded && i < group->n_files; i++) {
        FZ_TRY(read_delete_file(impl, group, group->files[i], cancel, err));
    }
    group->loaded = true;
out:
    pthread_mutex_unlock(&group->lock);
    return rc;
}

enum fz_code fz_scan_group_mark(const struct fz_scan_equality_group *group, const struct fz_column *const *columns,
                                size_t n_rows, int64_t sequence_number, struct fz_buf *scratch, uint8_t *mark,
                                bool *any, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct key_part few[8], *parts = few;
    if (group->n_ids > 8) {
        parts = fz_calloc(group->n_ids, sizeof *parts);
        if (!parts) {
            return fz_fail_nomem(err, group->n_ids * sizeof *parts);
        }
    }
    FZ_TRY(make_parts(group, columns, parts, err));
    if (group->is_integer) {
        mark_integers(group, parts, n_rows, sequence_number, mark, any);
        n_rows = 0;
    }
    for (size_t r = 0; r < n_rows; r++) {
        if (mark[r]) {
            continue;
        }
        if (!build_key(parts, group->n_ids, r, scratch)) {
            rc = fz_fail_nomem(err, scratch->cap);
            goto out;
        }
        struct fz_map_entry *slot = fz_map_find(&group->keys, (struct fz_str){scratch->ptr, scratch->len});
        if (slot && slot->value.i64 > sequence_number) {
            mark[r] = 1;
            *any = true;
        }
    }
out:
    if (parts != few) {
        fz_free(parts);
    }
    return rc;
}
