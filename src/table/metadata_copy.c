// Deep copies of metadata documents. A document never borrows from an older one, so a long row of commits holds one document
// and not its whole history.
#include "table/metadata_copy_priv.h"

enum { MAX_DEPTH = 64 };

enum fz_code fz_text_copy(struct fz_arena *arena, const char *in, const char **out, struct fz_err *err) {
    *out = in != NULL ? fz_arena_strdup(arena, in) : NULL;
    return in == NULL || *out != NULL ? FZ_OK : fz_fail_nomem(err, strlen(in));
}

static void *room(struct fz_arena *arena, size_t n, size_t size, enum fz_code *rc, struct fz_err *err) {
    void *items = fz_arena_array(arena, n + 1, size);
    if (items == NULL) {
        *rc = fz_fail_nomem(err, n * size);
    }
    return items;
}

enum fz_code fz_schema_copy(struct fz_arena *arena, const struct fz_schema *in, struct fz_schema *out,
                            struct fz_err *err) {
    *out = *in;
    out->type = fz_type_copy(arena, in->type);
    out->identifier_field_ids =
        fz_arena_memdup(arena, in->n_identifier_field_ids > 0 ? (const void *)in->identifier_field_ids : "",
                        in->n_identifier_field_ids * sizeof *in->identifier_field_ids);
    return out->type != NULL && out->identifier_field_ids != NULL ? FZ_OK : fz_fail_nomem(err, 0);
}

static enum fz_code copy_transform(struct fz_arena *arena, struct fz_transform *transform, struct fz_err *err) {
    return fz_text_copy(arena, transform->name, &transform->name, err);
}

enum fz_code fz_spec_copy(struct fz_arena *arena, const struct fz_partition_spec *in, struct fz_partition_spec *out,
                          struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_partition_field *fields = room(arena, in->n_fields, sizeof *fields, &rc, err);
    for (size_t i = 0; rc == FZ_OK && i < in->n_fields; i++) {
        fields[i] = in->fields[i];
        FZ_TRY(fz_text_copy(arena, in->fields[i].name, &fields[i].name, err));
        FZ_TRY(copy_transform(arena, &fields[i].transform, err));
    }
    *out = *in;
    out->fields = fields;
out:
    return rc;
}

enum fz_code fz_sort_order_copy(struct fz_arena *arena, const struct fz_sort_order *in, struct fz_sort_order *out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_sort_field *fields = room(arena, in->n_fields, sizeof *fields, &rc, err);
    for (size_t i = 0; rc == FZ_OK && i < in->n_fields; i++) {
        fields[i] = in->fields[i];
        FZ_TRY(copy_transform(arena, &fields[i].transform, err));
    }
    *out = *in;
    out->fields = fields;
out:
    return rc;
}

static enum fz_code copy_properties(struct fz_arena *arena, const struct fz_property *in, size_t n, size_t extra,
                                    struct fz_property **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_property *items = room(arena, n + extra, sizeof *items, &rc, err);
    for (size_t i = 0; rc == FZ_OK && i < n; i++) {
        FZ_TRY(fz_text_copy(arena, in[i].key, &items[i].key, err));
        FZ_TRY(fz_text_copy(arena, in[i].value, &items[i].value, err));
    }
    *out = items;
out:
    return rc;
}

enum fz_code fz_snapshot_copy(struct fz_arena *arena, const struct fz_snapshot *in, struct fz_snapshot *out,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_property *summary = NULL;
    *out = *in;
    FZ_TRY(fz_text_copy(arena, in->manifest_list, &out->manifest_list, err));
    FZ_TRY(fz_text_copy(arena, in->operation, &out->operation, err));
    FZ_TRY(fz_text_copy(arena, in->key_id, &out->key_id, err));
    FZ_TRY(copy_properties(arena, in->summary, in->n_summary, 0, &summary, err));
    out->summary = summary;
    const char **manifests = room(arena, in->n_manifests, sizeof *manifests, &rc, err);
    for (size_t i = 0; rc == FZ_OK && i < in->n_manifests; i++) {
        rc = fz_text_copy(arena, in->manifests[i], &manifests[i], err);
    }
    out->manifests = manifests;
out:
    return rc;
}

enum fz_code fz_ref_copy(struct fz_arena *arena, const struct fz_snapshot_ref *in, struct fz_snapshot_ref *out,
                         struct fz_err *err) {
    *out = *in;
    return fz_text_copy(arena, in->name, &out->name, err);
}

static enum fz_code copy_log(struct fz_arena *arena, const struct fz_log_entry *in, size_t n, size_t extra,
                             struct fz_log_entry **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_log_entry *items = room(arena, n + extra, sizeof *items, &rc, err);
    for (size_t i = 0; rc == FZ_OK && i < n; i++) {
        items[i] = in[i];
        rc = fz_text_copy(arena, in[i].file, &items[i].file, err);
    }
    *out = items;
    return rc;
}

static enum fz_code copy_all(const struct fz_metadata *base, size_t extra, struct fz_metadata *m, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena *arena = &m->arena;
    FZ_TRY(fz_text_copy(arena, base->table_uuid, &m->table_uuid, err));
    FZ_TRY(fz_text_copy(arena, base->location, &m->location, err));
    m->schemas = room(arena, base->n_schemas + extra, sizeof *m->schemas, &rc, err);
    for (size_t i = 0; rc == FZ_OK && i < base->n_schemas; i++) {
        rc = fz_schema_copy(arena, &base->schemas[i], &m->schemas[i], err);
    }
    FZ_TRY(rc);
    m->specs = room(arena, base->n_specs + extra, sizeof *m->specs, &rc, err);
    for (size_t i = 0; rc == FZ_OK && i < base->n_specs; i++) {
        rc = fz_spec_copy(arena, &base->specs[i], &m->specs[i], err);
    }
    FZ_TRY(rc);
    m->sort_orders = room(arena, base->n_sort_orders + extra, sizeof *m->sort_orders, &rc, err);
    for (size_t i = 0; rc == FZ_OK && i < base->n_sort_orders; i++) {
        rc = fz_sort_order_copy(arena, &base->sort_orders[i], &m->sort_orders[i], err);
    }
    FZ_TRY(rc);
    m->snapshots = room(arena, base->n_snapshots + extra, sizeof *m->snapshots, &rc, err);
    for (size_t i = 0; rc == FZ_OK && i < base->n_snapshots; i++) {
        rc = fz_snapshot_copy(arena, &base->snapshots[i], &m->snapshots[i], err);
    }
    FZ_TRY(rc);
    m->snapshot_refs = room(arena, base->n_snapshot_refs + extra, sizeof *m->snapshot_refs, &rc, err);
    for (size_t i = 0; rc == FZ_OK && i < base->n_snapshot_refs; i++) {
        rc = fz_ref_copy(arena, &base->snapshot_refs[i], &m->snapshot_refs[i], err);
    }
    FZ_TRY(rc);
    FZ_TRY(copy_properties(arena, base->properties, base->n_properties, 0, &m->properties, err));
    FZ_TRY(copy_properties(arena, base->other_members, base->n_other_members, 0, &m->other_members, err));
    FZ_TRY(copy_log(arena, base->snapshot_log, base->n_snapshot_log, extra, &m->snapshot_log, err));
    FZ_TRY(copy_log(arena, base->metadata_log, base->n_metadata_log, extra, &m->metadata_log, err));
out:
    return rc;
}

enum fz_code fz_metadata_copy(const struct fz_metadata *base, size_t extra, struct fz_metadata **out,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = NULL;
    const struct fz_metadata empty = {.current_snapshot_id = -1, .format_version = 2, .last_partition_id = 999};
    FZ_NEW(m, err);
    m->refs = 1;
    const struct fz_metadata *from = base != NULL ? base : &empty;
    m->format_version = from->format_version;
    m->last_sequence_number = from->last_sequence_number;
    m->last_updated_ms = from->last_updated_ms;
    m->last_column_id = from->last_column_id;
    m->current_schema_id = from->current_schema_id;
    m->default_spec_id = from->default_spec_id;
    m->last_partition_id = from->last_partition_id;
    m->default_sort_order_id = from->default_sort_order_id;
    m->next_row_id = from->next_row_id;
    m->current_snapshot_id = from->current_snapshot_id;
    m->n_schemas = from->n_schemas;
    m->n_specs = from->n_specs;
    m->n_sort_orders = from->n_sort_orders;
    m->n_properties = from->n_properties;
    m->n_snapshots = from->n_snapshots;
    m->n_snapshot_refs = from->n_snapshot_refs;
    m->n_snapshot_log = from->n_snapshot_log;
    m->n_metadata_log = from->n_metadata_log;
    m->n_other_members = from->n_other_members;
    FZ_TRY(copy_all(from, extra, m, err));
    *out = m;
    m = NULL;
out:
    fz_metadata_unref(m);
    return rc;
}

static int32_t max_id(const struct fz_type *type, int depth) {
    int32_t max = 0;
    for (size_t i = 0; depth < MAX_DEPTH && i < type->n_fields; i++) {
        int32_t below = max_id(type->fields[i].type, depth + 1);
        max = type->fields[i].id > max ? type->fields[i].id : max;
        max = below > max ? below : max;
    }
    return max;
}

int32_t fz_type_max_field_id(const struct fz_type *type) {
    return max_id(type, 0);
}
