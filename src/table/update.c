// base + updates -> new metadata, by the rules of Java's TableMetadata.Builder, and the requirements that guard a commit.
#include "table/update.h"

#include <stdlib.h>

#include "base/text.h"
#include "base/map.h"
#include "table/json_priv.h"
#include "table/metadata_copy_priv.h"

struct builder {
    struct fz_metadata *m;
    const struct fz_metadata *base;
    int64_t now_ms;
    int64_t updated_ms; // of a snapshot added here, else -1
    int32_t last_schema, last_spec, last_order; // last added, -1: none
    size_t first_new_snapshot; // index in m->snapshots
    bool removed_snapshots;
    struct fz_err *err;
};

static enum fz_code assign_uuid(struct builder *b, const char *uuid) {
    if (b->m->table_uuid != NULL && fz_strcasecmp(b->m->table_uuid, uuid) != 0) {
        return fz_fail(b->err, FZ_INVALID_ARG, "table uuid %s cannot become %s", b->m->table_uuid, uuid);
    }
    return fz_text_copy(&b->m->arena, uuid, &b->m->table_uuid, b->err);
}

static enum fz_code upgrade(struct builder *b, int32_t version) {
    if (version < b->m->format_version) {
        return fz_fail(b->err, FZ_INVALID_ARG, "cannot downgrade v%d table to v%d", b->m->format_version, version);
    }
    if (version > 3) {
        return fz_fail(b->err, FZ_UNSUPPORTED, "cannot upgrade table to unsupported format version v%d (supported: v3)",
                       version);
    }
    b->m->format_version = version;
    return FZ_OK;
}

static bool same_text(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool same_default(const struct fz_value *a, const struct fz_value *b) {
    return a == b || (a != NULL && b != NULL && fz_value_equal(a, b));
}

// fz_type_equal does not look at docs, defaults and nullability of what it compares; schemas that differ there are not equal.
static bool same_details(const struct fz_type *a, const struct fz_type *b, int depth) {
    for (size_t i = 0; depth < 64 && i < a->n_fields; i++) {
        const struct fz_field *f = &a->fields[i], *g = &b->fields[i];
        if (f->required != g->required || !same_text(f->doc, g->doc) ||
            !same_default(f->initial_default, g->initial_default) ||
            !same_default(f->write_default, g->write_default) || !same_details(f->type, g->type, depth + 1)) {
            return false;
        }
    }
    return true;
}

static bool same_schema(const struct fz_schema *a, const struct fz_schema *b) {
    return a->n_identifier_field_ids == b->n_identifier_field_ids &&
           (a->n_identifier_field_ids == 0 ||
            memcmp(a->identifier_field_ids, b->identifier_field_ids,
                   a->n_identifier_field_ids * sizeof *a->identifier_field_ids) == 0) &&
           fz_type_equal(a->type, b->type, true, true) && same_details(a->type, b->type, 0);
}

static enum fz_code add_schema(struct builder *b, const struct fz_schema *schema) {
    struct fz_metadata *m = b->m;
    int32_t max_id = fz_type_max_field_id(schema->type);
    m->last_column_id = max_id > m->last_column_id ? max_id : m->last_column_id;
    int32_t id = 0;
    for (size_t i = 0; i < m->n_schemas; i++) {
        if (same_schema(&m->schemas[i], schema)) {
            b->last_schema = m->schemas[i].schema_id;
            return FZ_OK;
        }
        id = m->schemas[i].schema_id >= id ? m->schemas[i].schema_id + 1 : id;
    }
    struct fz_schema *added = &m->schemas[m->n_schemas];
    enum fz_code rc = fz_schema_copy(&m->arena, schema, added, b->err);
    if (rc == FZ_OK) {
        added->schema_id = b->last_schema = id;
        m->n_schemas++;
    }
    return rc;
}

static enum fz_code resolve_last(struct builder *b, int32_t id, int32_t last, const char *what, int32_t *out) {
    if (id == -1 && last < 0) {
        return fz_fail(b->err, FZ_INVALID_ARG, "cannot set last added %s: no %s has been added", what, what);
    }
    *out = id == -1 ? last : id;
    return FZ_OK;
}

static enum fz_code set_current_schema(struct builder *b, int32_t id) {
    enum fz_code rc = resolve_last(b, id, b->last_schema, "schema", &id);
    if (rc == FZ_OK && fz_metadata_schema(b->m, id) == NULL) {
        rc = fz_fail(b->err, FZ_INVALID_ARG, "cannot set current schema to unknown schema: %d", id);
    }
    if (rc == FZ_OK) {
        b->m->current_schema_id = id;
    }
    return rc;
}

static bool same_transform(const struct fz_transform *a, const struct fz_transform *b) {
    return a->kind == b->kind && a->param == b->param && (a->kind != FZ_TRANSFORM_OTHER || same_text(a->name, b->name));
}

static bool compatible_specs(const struct fz_partition_spec *a, const struct fz_partition_spec *b) {
    bool same = a->n_fields == b->n_fields;
    for (size_t i = 0; same && i < a->n_fields; i++) {
        const struct fz_partition_field *f = &a->fields[i], *g = &b->fields[i];
        same = f->source_id == g->source_id && same_transform(&f->transform, &g->transform) &&
               strcmp(f->name, g->name) == 0;
    }
    return same;
}

// A field without id (0) takes that of an equal field of any spec, else the next one.
static void number_partition_field(struct fz_metadata *m, struct fz_partition_field *field) {
    for (size_t i = 0; field->field_id <= 0 && i < m->n_specs; i++) {
        for (size_t j = 0; j < m->specs[i].n_fields; j++) {
            const struct fz_partition_field *old = &m->specs[i].fields[j];
            if (old->source_id == field->source_id && same_transform(&old->transform, &field->transform)) {
                field->field_id = old->field_id;
                break;
            }
        }
    }
    if (field->field_id <= 0) {
        field->field_id = m->last_partition_id + 1;
    }
    m->last_partition_id = field->field_id > m->last_partition_id ? field->field_id : m->last_partition_id;
}

static enum fz_code add_spec(struct builder *b, const struct fz_partition_spec *spec) {
    struct fz_metadata *m = b->m;
    int32_t id = 0;
    for (size_t i = 0; i < m->n_specs; i++) {
        if (compatible_specs(&m->specs[i], spec)) {
            b->last_spec = m->specs[i].spec_id;
            return FZ_OK;
        }
        id = m->specs[i].spec_id >= id ? m->specs[i].spec_id + 1 : id;
    }
    struct fz_partition_spec *added = &m->specs[m->n_specs];
    enum fz_code rc = fz_spec_copy(&m->arena, spec, added, b->err);
    if (rc != FZ_OK) {
        return rc;
    }
    for (size_t i = 0; i < added->n_fields; i++) {
        number_partition_field(m, (struct fz_partition_field *)(uintptr_t)&added->fields[i]); // our own copy
    }
    added->spec_id = b->last_spec = id;
    m->n_specs++;
    return FZ_OK;
}

static enum fz_code set_default_spec(struct builder *b, int32_t id) {
    enum fz_code rc = resolve_last(b, id, b->last_spec, "spec", &id);
    if (rc == FZ_OK && fz_metadata_spec(b->m, id) == NULL) {
        rc = fz_fail(b->err, FZ_INVALID_ARG, "cannot set default partition spec to unknown spec: %d", id);
    }
    if (rc == FZ_OK) {
        b->m->default_spec_id = id;
    }
    return rc;
}

static bool same_order(const struct fz_sort_order *a, const struct fz_sort_order *b) {
    bool same = a->n_fields == b->n_fields;
    for (size_t i = 0; same && i < a->n_fields; i++) {
        const struct fz_sort_field *f = &a->fields[i], *g = &b->fields[i];
        same = f->source_id == g->source_id && same_transform(&f->transform, &g->transform) &&
               f->descending == g->descending && f->nulls_last == g->nulls_last;
    }
    return same;
}

static enum fz_code add_sort_order(struct builder *b, const struct fz_sort_order *order) {
    struct fz_metadata *m = b->m;
    int32_t id = order->n_fields == 0 ? 0 : 1;
    for (size_t i = 0; i < m->n_sort_orders; i++) {
        if (same_order(&m->sort_orders[i], order)) {
            b->last_order = m->sort_orders[i].order_id;
            return FZ_OK;
        }
        id = order->n_fields > 0 && m->sort_orders[i].order_id >= id ? m->sort_orders[i].order_id + 1 : id;
    }
    struct fz_sort_order *added = &m->sort_orders[m->n_sort_orders];
    enum fz_code rc = fz_sort_order_copy(&m->arena, order, added, b->err);
    if (rc == FZ_OK) {
        added->order_id = b->last_order = id;
        m->n_sort_orders++;
    }
    return rc;
}

static enum fz_code set_default_sort_order(struct builder *b, int32_t id) {
    enum fz_code rc = resolve_last(b, id, b->last_order, "sort order", &id);
    if (rc == FZ_OK && fz_metadata_sort_order(b->m, id) == NULL) {
        rc = fz_fail(b->err, FZ_INVALID_ARG, "cannot set default sort order to unknown sort order: %d", id);
    }
    if (rc == FZ_OK) {
        b->m->default_sort_order_id = id;
    }
    return rc;
}

static enum fz_code add_snapshot(struct builder *b, const struct fz_snapshot *snapshot) {
    struct fz_metadata *m = b->m;
    if (fz_metadata_snapshot(m, snapshot->snapshot_id) != NULL) {
        return fz_fail(b->err, FZ_INVALID_ARG, "snapshot already exists for id: %lld",
                       (long long)snapshot->snapshot_id);
    }
    if (m->format_version > 1 && snapshot->sequence_number <= m->last_sequence_number &&
        snapshot->parent_snapshot_id >= 0) {
        return fz_fail(b->err, FZ_CONFLICT,
                       "cannot add snapshot with sequence number %lld older than last sequence number %lld",
                       (long long)snapshot->sequence_number, (long long)m->last_sequence_number);
    }
    if (m->format_version >= 3) {
        if (snapshot->first_row_id < 0 || snapshot->added_rows < 0) {
            return fz_fail(b->err, FZ_INVALID_ARG,
                           "cannot add a snapshot without first-row-id and added-rows to a v3 table");
        }
        if (snapshot->first_row_id < m->next_row_id) {
            return fz_fail(b->err, FZ_CONFLICT,
                           "cannot add a snapshot, first-row-id is behind table next-row-id: %lld < %lld",
                           (long long)snapshot->first_row_id, (long long)m->next_row_id);
        }
        if (__builtin_add_overflow(m->next_row_id, snapshot->added_rows, &m->next_row_id)) {
            return fz_fail(b->err, FZ_LIMIT, "row ids of the table are used up");
        }
    }
    enum fz_code rc = fz_snapshot_copy(&m->arena, snapshot, &m->snapshots[m->n_snapshots], b->err);
    if (rc != FZ_OK) {
        return rc;
    }
    m->n_snapshots++;
    m->last_sequence_number =
        snapshot->sequence_number > m->last_sequence_number ? snapshot->sequence_number : m->last_sequence_number;
    b->updated_ms = snapshot->timestamp_ms;
    return FZ_OK;
}

static bool added_here(const struct builder *b, int64_t snapshot_id) {
    for (size_t i = b->first_new_snapshot; i < b->m->n_snapshots; i++) {
        if (b->m->snapshots[i].snapshot_id == snapshot_id) {
            return true;
        }
    }
    return false;
}

static bool same_ref(const struct fz_snapshot_ref *a, const struct fz_snapshot_ref *b) {
    return a->snapshot_id == b->snapshot_id && a->is_tag == b->is_tag &&
           a->min_snapshots_to_keep == b->min_snapshots_to_keep && a->max_snapshot_age_ms == b->max_snapshot_age_ms &&
           a->max_ref_age_ms == b->max_ref_age_ms;
}

static enum fz_code set_ref(struct builder *b, const struct fz_snapshot_ref *ref) {
    struct fz_metadata *m = b->m;
    if (fz_metadata_snapshot(m, ref->snapshot_id) == NULL) {
        return fz_fail(b->err, FZ_INVALID_ARG, "cannot set %s to unknown snapshot: %lld", ref->name,
                       (long long)ref->snapshot_id);
    }
    size_t at = 0;
    while (at < m->n_snapshot_refs && strcmp(m->snapshot_refs[at].name, ref->name) != 0) {
        at++;
    }
    if (at < m->n_snapshot_refs && same_ref(&m->snapshot_refs[at], ref)) {
        return FZ_OK;
    }
    enum fz_code rc = fz_ref_copy(&m->arena, ref, &m->snapshot_refs[at], b->err);
    if (rc != FZ_OK) {
        return rc;
    }
    m->n_snapshot_refs += at == m->n_snapshot_refs;
    if (strcmp(ref->name, "main") == 0 && m->current_snapshot_id != ref->snapshot_id) {
        m->current_snapshot_id = ref->snapshot_id;
        int64_t when =
            added_here(b, ref->snapshot_id) ? fz_metadata_snapshot(m, ref->snapshot_id)->timestamp_ms : b->now_ms;
        m->snapshot_log[m->n_snapshot_log++] = (struct fz_log_entry){when, ref->snapshot_id, NULL};
    }
    return FZ_OK;
}

static enum fz_code remove_ref(struct builder *b, const char *name) {
    struct fz_metadata *m = b->m;
    for (size_t i = 0; i < m->n_snapshot_refs; i++) {
        if (strcmp(m->snapshot_refs[i].name, name) == 0) {
            memmove(&m->snapshot_refs[i], &m->snapshot_refs[i + 1],
                    (m->n_snapshot_refs - i - 1) * sizeof *m->snapshot_refs);
            m->n_snapshot_refs--;
            break;
        }
    }
    if (strcmp(name, "main") == 0) {
        m->current_snapshot_id = -1; // the log stays: it is the history of what main was
    }
    return FZ_OK;
}

// Statistics files of snapshots that are gone are dropped with them.
static enum fz_code prune_statistics(struct builder *b, const char *key) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = b->m;
    json_t *list = NULL;
    char *text = NULL;
    for (size_t i = 0; i < m->n_other_members; i++) {
        if (strcmp(m->other_members[i].key, key) != 0) {
            continue;
        }
        list = json_loads(m->other_members[i].value, 0, NULL);
        for (size_t j = json_array_size(list); j-- > 0;) {
            const json_t *id = json_object_get(json_array_get(list, j), "snapshot-id");
            if (json_is_integer(id) && fz_metadata_snapshot(m, json_integer_value(id)) == NULL) {
                (void)json_array_remove(list, j);
            }
        }
        text = list != NULL ? json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
        if (text != NULL) {
            FZ_TRY(fz_text_copy(&m->arena, text, &m->other_members[i].value, b->err));
        }
        break;
    }
out:
    free(text);
    json_decref(list);
    return rc;
}

// The list `key` without the entry of a snapshot, and with `json` (may be NULL) at its end.
static enum fz_code replace_statistics(struct builder *b, const char *key, int64_t snapshot_id, const char *json) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = b->m;
    size_t at = 0;
    char *text = NULL;
    while (at < m->n_other_members && strcmp(m->other_members[at].key, key) != 0) {
        at++;
    }
    json_t *list = at < m->n_other_members ? json_loads(m->other_members[at].value, 0, NULL) : json_array();
    json_t *entry = json != NULL ? json_loads(json, 0, NULL) : NULL;
    if (list == NULL || (json != NULL && entry == NULL)) {
        rc = fz_fail(b->err, FZ_BUG, "statistics of snapshot %lld are no JSON", (long long)snapshot_id);
        goto out;
    }
    for (size_t j = json_array_size(list); j-- > 0;) {
        if (json_integer_value(json_object_get(json_array_get(list, j), "snapshot-id")) == snapshot_id) {
            (void)json_array_remove(list, j);
        }
    }
    if (entry != NULL && json_array_append(list, entry) != 0) {
        rc = fz_fail_nomem(b->err, 0);
        goto out;
    }
    if (at == m->n_other_members) {
        struct fz_property *all = fz_arena_array(&m->arena, at + 1, sizeof *all);
        if (all == NULL) {
            rc = fz_fail_nomem(b->err, at);
            goto out;
        }
        if (at > 0) {
            memcpy(all, m->other_members, at * sizeof *all);
        }
        all[at].key = key;
        m->other_members = all;
        m->n_other_members++;
    }
    text = json_dumps(list, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (text == NULL) {
        rc = fz_fail_nomem(b->err, 0);
        goto out;
    }
    FZ_TRY(fz_text_copy(&m->arena, text, &m->other_members[at].value, b->err));
out:
    free(text);
    json_decref(entry);
    json_decref(list);
    return rc;
}

static enum fz_code remove_snapshots(struct builder *b, const int64_t *ids, size_t n) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = b->m;
    struct fz_map gone = {0};
    for (size_t i = 0; i < n; i++) {
        struct fz_map_entry *entry;
        FZ_TRY(fz_map_put(&gone, (struct fz_str){(const char *)&ids[i], sizeof ids[i]}, &entry, NULL, b->err));
    }
    size_t kept = 0, new_kept = 0;
    for (size_t i = 0; i < m->n_snapshots; i++) {
        struct fz_str key = {(const char *)&m->snapshots[i].snapshot_id, sizeof(int64_t)};
        if (fz_map_find(&gone, key) == NULL) {
            new_kept += i < b->first_new_snapshot;
            m->snapshots[kept++] = m->snapshots[i];
        }
    }
    b->removed_snapshots = b->removed_snapshots || kept != m->n_snapshots;
    m->n_snapshots = kept;
    b->first_new_snapshot = new_kept;
    for (size_t i = m->n_snapshot_refs; i-- > 0;) {
        if (fz_metadata_snapshot(m, m->snapshot_refs[i].snapshot_id) == NULL) {
            FZ_TRY(remove_ref(b, m->snapshot_refs[i].name));
        }
    }
    FZ_TRY(prune_statistics(b, "statistics"));
    FZ_TRY(prune_statistics(b, "partition-statistics"));
out:
    fz_map_dispose(&gone);
    return rc;
}

static enum fz_code set_properties(struct builder *b, const struct fz_property *items, size_t n) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = b->m;
    struct fz_property *all = fz_arena_array(&m->arena, m->n_properties + n + 1, sizeof *all);
    if (all == NULL) {
        return fz_fail_nomem(b->err, n);
    }
    for (size_t i = 0; i < m->n_properties; i++) {
        all[i] = m->properties[i];
    }
    m->properties = all;
    for (size_t i = 0; i < n; i++) {
        size_t at = 0;
        while (at < m->n_properties && strcmp(all[at].key, items[i].key) != 0) {
            at++;
        }
        if (at == m->n_properties) {
            FZ_TRY(fz_text_copy(&m->arena, items[i].key, &all[at].key, b->err));
        }
        FZ_TRY(fz_text_copy(&m->arena, items[i].value, &all[at].value, b->err));
        m->n_properties += at == m->n_properties;
    }
out:
    return rc;
}

static void remove_properties(struct builder *b, const struct fz_property *items, size_t n) {
    struct fz_metadata *m = b->m;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m->n_properties; j++) {
            if (strcmp(m->properties[j].key, items[i].key) == 0) {
                memmove(&m->properties[j], &m->properties[j + 1], (m->n_properties - j - 1) * sizeof *m->properties);
                m->n_properties--;
                break;
            }
        }
    }
}

static enum fz_code apply(struct builder *b, const struct fz_update *u) {
    switch (u->kind) {
    case FZ_UPDATE_ASSIGN_UUID:
        return assign_uuid(b, u->u.text);
    case FZ_UPDATE_UPGRADE_FORMAT_VERSION:
        return upgrade(b, u->u.id);
    case FZ_UPDATE_ADD_SCHEMA:
        return add_schema(b, u->u.schema);
    case FZ_UPDATE_SET_CURRENT_SCHEMA:
        return set_current_schema(b, u->u.id);
    case FZ_UPDATE_ADD_SPEC:
        return add_spec(b, u->u.spec);
    case FZ_UPDATE_SET_DEFAULT_SPEC:
        return set_default_spec(b, u->u.id);
    case FZ_UPDATE_ADD_SORT_ORDER:
        return add_sort_order(b, u->u.order);
    case FZ_UPDATE_SET_DEFAULT_SORT_ORDER:
        return set_default_sort_order(b, u->u.id);
    case FZ_UPDATE_ADD_SNAPSHOT:
        return add_snapshot(b, u->u.snapshot);
    case FZ_UPDATE_SET_SNAPSHOT_REF:
        return set_ref(b, u->u.ref);
    case FZ_UPDATE_REMOVE_SNAPSHOTS:
        return remove_snapshots(b, u->u.snapshots.ids, u->u.snapshots.n);
    case FZ_UPDATE_REMOVE_SNAPSHOT_REF:
        return remove_ref(b, u->u.text);
    case FZ_UPDATE_SET_LOCATION:
        return fz_text_copy(&b->m->arena, u->u.text, &b->m->location, b->err);
    case FZ_UPDATE_SET_PROPERTIES:
        return set_properties(b, u->u.properties.items, u->u.properties.n);
    case FZ_UPDATE_REMOVE_PROPERTIES:
        remove_properties(b, u->u.properties.items, u->u.properties.n);
        return FZ_OK;
    case FZ_UPDATE_SET_STATISTICS:
        return replace_statistics(b, "statistics", u->u.statistics.snapshot_id, u->u.statistics.json);
    case FZ_UPDATE_REMOVE_STATISTICS:
        return replace_statistics(b, "statistics", u->u.statistics.snapshot_id, NULL);
    case FZ_UPDATE_SET_PARTITION_STATISTICS:
        return replace_statistics(b, "partition-statistics", u->u.statistics.snapshot_id, u->u.statistics.json);
    case FZ_UPDATE_REMOVE_PARTITION_STATISTICS:
        return replace_statistics(b, "partition-statistics", u->u.statistics.snapshot_id, NULL);
    }
    return fz_fail(b->err, FZ_BUG, "unknown metadata update %d", (int)u->kind);
}

// Entries of snapshots added here that main has already left are dropped; an entry whose snapshot is gone takes the history
// before it along (the log must not show a gap as if nothing had happened).
static void clean_snapshot_log(struct builder *b) {
    struct fz_metadata *m = b->m;
    size_t kept = 0;
    for (size_t i = 0; i < m->n_snapshot_log; i++) {
        int64_t id = m->snapshot_log[i].snapshot_id;
        if (fz_metadata_snapshot(m, id) == NULL) {
            kept = b->removed_snapshots ? 0 : kept;
        } else if (!added_here(b, id) || id == m->current_snapshot_id) {
            m->snapshot_log[kept++] = m->snapshot_log[i];
        }
    }
    m->n_snapshot_log = kept;
}

static enum fz_code extend_metadata_log(struct builder *b) {
    struct fz_metadata *m = b->m;
    if (b->base == NULL || b->base->metadata_location == NULL) {
        return FZ_OK;
    }
    int64_t max = fz_metadata_property_i64(m, "write.metadata.previous-versions-max", 100);
    max = max < 1 ? 1 : max;
    if ((int64_t)m->n_metadata_log >= max) {
        size_t drop = m->n_metadata_log - (size_t)max + 1;
        memmove(m->metadata_log, m->metadata_log + drop, (m->n_metadata_log - drop) * sizeof *m->metadata_log);
        m->n_metadata_log -= drop;
    }
    struct fz_log_entry *entry = &m->metadata_log[m->n_metadata_log];
    *entry = (struct fz_log_entry){.timestamp_ms = b->base->last_updated_ms, .snapshot_id = -1};
    enum fz_code rc = fz_text_copy(&m->arena, b->base->metadata_location, &entry->file, b->err);
    m->n_metadata_log += rc == FZ_OK;
    return rc;
}

static enum fz_code check(struct builder *b) {
    const struct fz_metadata *m = b->m;
    const struct fz_schema *schema = fz_metadata_current_schema(m);
    const struct fz_partition_spec *spec = fz_metadata_spec(m, m->default_spec_id);
    const struct fz_sort_order *order = fz_metadata_sort_order(m, m->default_sort_order_id);
    if (m->table_uuid == NULL && m->format_version > 1) {
        return fz_fail(b->err, FZ_INVALID_ARG, "a new table needs a uuid");
    }
    if (m->location == NULL || schema == NULL || spec == NULL || order == NULL) {
        return fz_fail(b->err, FZ_INVALID_ARG,
                       "table metadata needs a location, a current schema, a default spec and a default sort order");
    }
    for (size_t i = 0; i < spec->n_fields; i++) {
        if (spec->fields[i].transform.kind != FZ_TRANSFORM_VOID &&
            fz_schema_find(schema, spec->fields[i].source_id) == NULL) {
            return fz_fail(b->err, FZ_INVALID_ARG, "cannot find source column for partition field: %d: %s",
                           spec->fields[i].field_id, spec->fields[i].name);
        }
    }
    for (size_t i = 0; i < order->n_fields; i++) {
        if (fz_schema_find(schema, order->fields[i].source_id) == NULL) {
            return fz_fail(b->err, FZ_INVALID_ARG, "cannot find source column for sort field: %d",
                           order->fields[i].source_id);
        }
    }
    return FZ_OK;
}

enum fz_code fz_metadata_apply(struct fz_metadata *base, const struct fz_update *updates, size_t n, int64_t now_ms,
                               struct fz_metadata **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = NULL;
    FZ_TRY(fz_metadata_copy(base, n + 1, &m, err));
    struct builder b = {.m = m, .base = base, .now_ms = now_ms, .updated_ms = -1, .err = err};
    b.last_schema = b.last_spec = b.last_order = -1;
    b.first_new_snapshot = m->n_snapshots;
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(apply(&b, &updates[i]));
    }
    FZ_TRY(check(&b));
    clean_snapshot_log(&b);
    FZ_TRY(extend_metadata_log(&b));
    m->last_updated_ms = b.updated_ms >= 0 ? b.updated_ms : now_ms;
    *out = m;
    m = NULL;
out:
    fz_metadata_unref(m);
    return rc;
}
