// Table metadata from JSON (spec "Table Metadata Fields"): all versions, gzip detected, every member checked. Where Java is
// lenient about something another writer does, so are we; what would make later steps guess is CORRUPT.
#include <stdlib.h>
#include <zlib.h>

#include "base/map.h"
#include "base/text.h"
#include "table/json_priv.h"

enum { MAX_SNAPSHOTS = 10 * 1000 * 1000 };
static const size_t max_document_bytes = (size_t)1 << 30;

static enum fz_code gunzip(const void *data, size_t len, struct fz_buf *out, struct fz_err *err) {
    z_stream z = {0};
    if (len > UINT32_MAX || inflateInit2(&z, 15 + 16) != Z_OK) {
        return fz_fail_nomem(err, len);
    }
    enum fz_code rc = FZ_OK;
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)len;
    int status = Z_OK;
    while (rc == FZ_OK && status != Z_STREAM_END) {
        if (!fz_buf_reserve(out, (size_t)1 << 16)) {
            rc = fz_fail_nomem(err, (size_t)1 << 16);
            break;
        }
        size_t room = out->cap - out->len - 1;
        room = room > UINT32_MAX ? UINT32_MAX : room;
        z.next_out = (Bytef *)out->ptr + out->len;
        z.avail_out = (uInt)room;
        status = inflate(&z, Z_NO_FLUSH);
        size_t made = room - z.avail_out;
        out->len += made;
        if ((status != Z_OK && status != Z_STREAM_END) || (status == Z_OK && made == 0 && z.avail_in == 0)) {
            rc = fz_fail(err, FZ_CORRUPT, "metadata file is not valid gzip data");
        } else if (out->len > max_document_bytes) {
            rc = fz_fail(err, FZ_LIMIT, "metadata file unpacks to more than %zu bytes", max_document_bytes);
        }
    }
    inflateEnd(&z);
    return rc;
}

struct decoder {
    struct fz_metadata *m;
    struct fz_arena *arena;
    const json_t *root;
    struct fz_err *err;
};

static void *array_of(struct decoder *d, size_t n, size_t size, enum fz_code *rc) {
    void *items = fz_arena_array(d->arena, n + 1, size);
    if (items == NULL) {
        *rc = fz_fail_nomem(d->err, n * size);
    }
    return items;
}

static enum fz_code decode_schemas(struct decoder *d) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = d->m;
    const json_t *list;
    FZ_TRY(fz_metadata_json_array(d->root, "schemas", m->format_version > 1, &list, d->err));
    size_t n = list != NULL ? json_array_size(list) : 1;
    m->schemas = array_of(d, n, sizeof *m->schemas, &rc);
    if (rc != FZ_OK) {
        goto out;
    }
    if (list == NULL) { // v1
        const json_t *schema = json_object_get(d->root, "schema");
        rc = schema == NULL ? fz_fail(d->err, FZ_CORRUPT, "member \"schema\" is missing")
                            : fz_schema_from_json(d->arena, schema, &m->schemas[0], d->err);
        m->current_schema_id = m->schemas[0].schema_id;
        m->n_schemas = 1;
        goto out;
    }
    FZ_TRY(fz_metadata_json_i32(d->root, "current-schema-id", true, &m->current_schema_id, d->err));
    for (size_t i = 0; i < n; i++) {
        rc = fz_schema_from_json(d->arena, json_array_get(list, i), &m->schemas[i], d->err);
        if (rc != FZ_OK) {
            fz_err_context(d->err, "schemas[%zu]", i);
            goto out;
        }
        for (size_t j = 0; j < i; j++) {
            if (m->schemas[j].schema_id == m->schemas[i].schema_id) {
                rc = fz_fail(d->err, FZ_CORRUPT, "schema id %d is used twice", m->schemas[i].schema_id);
                goto out;
            }
        }
    }
    m->n_schemas = n;
    if (fz_metadata_current_schema(m) == NULL) {
        rc = fz_fail(d->err, FZ_CORRUPT, "current-schema-id %d is not among the schemas", m->current_schema_id);
    }
out:
    return rc;
}

// Java binds the default spec to the current schema; other specs may name columns that are gone.
static enum fz_code check_spec(struct decoder *d, const struct fz_partition_spec *spec, bool is_default) {
    const struct fz_schema *schema = fz_metadata_current_schema(d->m);
    for (size_t i = 0; i < spec->n_fields; i++) {
        const struct fz_partition_field *field = &spec->fields[i];
        const struct fz_field *source = fz_schema_find(schema, field->source_id);
        if (field->transform.kind == FZ_TRANSFORM_VOID || (source == NULL && !is_default)) {
            continue;
        }
        if (source == NULL) {
            return fz_fail(d->err, FZ_CORRUPT,
                           "partition field \"%.100s\" has source column %d, which the current schema lacks",
                           field->name, field->source_id);
        }
        if (!fz_type_is_primitive(source->type)) {
            return fz_fail(d->err, FZ_CORRUPT, "partition field \"%.100s\" has a source column that is not primitive",
                           field->name);
        }
        const struct fz_type *type;
        struct fz_err inner = FZ_ERR_INIT;
        if (field->transform.kind != FZ_TRANSFORM_OTHER && is_default &&
            fz_transform_result_type(&field->transform, source->type, &type, &inner) != FZ_OK) {
            return fz_fail(d->err, FZ_CORRUPT, "partition field \"%.100s\": %s", field->name, inner.message);
        }
    }
    return FZ_OK;
}

static enum fz_code decode_specs(struct decoder *d) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = d->m;
    const json_t *list;
    FZ_TRY(fz_metadata_json_array(d->root, "partition-specs", m->format_version > 1, &list, d->err));
    size_t n = list != NULL ? json_array_size(list) : 1;
    m->specs = array_of(d, n, sizeof *m->specs, &rc);
    if (rc != FZ_OK) {
        goto out;
    }
    if (list == NULL) {
        const json_t *fields = json_object_get(d->root, "partition-spec");
        rc = fields == NULL ? fz_fail(d->err, FZ_CORRUPT, "member \"partition-spec\" is missing")
                            : fz_spec_fields_from_json(d->arena, fields, &m->specs[0], d->err);
    } else {
        FZ_TRY(fz_metadata_json_i32(d->root, "default-spec-id", true, &m->default_spec_id, d->err));
    }
    for (size_t i = 0; rc == FZ_OK && list != NULL && i < n; i++) {
        const json_t *spec = json_array_get(list, i);
        FZ_TRY(fz_metadata_json_i32(spec, "spec-id", true, &m->specs[i].spec_id, d->err));
        FZ_TRY(fz_spec_fields_from_json(d->arena, json_object_get(spec, "fields"), &m->specs[i], d->err));
    }
    m->n_specs = rc == FZ_OK ? n : 0;
    m->last_partition_id = 999;
    for (size_t i = 0; i < m->n_specs; i++) {
        FZ_TRY(check_spec(d, &m->specs[i], m->specs[i].spec_id == m->default_spec_id));
        for (size_t j = 0; j < i; j++) {
            if (m->specs[j].spec_id == m->specs[i].spec_id) {
                rc = fz_fail(d->err, FZ_CORRUPT, "partition spec id %d is used twice", m->specs[i].spec_id);
                goto out;
            }
        }
        for (size_t j = 0; j < m->specs[i].n_fields; j++) {
            int32_t id = m->specs[i].fields[j].field_id;
            m->last_partition_id = id > m->last_partition_id ? id : m->last_partition_id;
        }
    }
    if (rc == FZ_OK && fz_metadata_spec(m, m->default_spec_id) == NULL) {
        rc = fz_fail(d->err, FZ_CORRUPT, "default-spec-id %d is not among the partition specs", m->default_spec_id);
    }
    if (rc == FZ_OK) {
        rc = fz_metadata_json_i32(d->root, "last-partition-id", m->format_version > 1, &m->last_partition_id, d->err);
    }
out:
    return rc;
}

static enum fz_code decode_sort_orders(struct decoder *d) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = d->m;
    const json_t *list;
    FZ_TRY(fz_metadata_json_array(d->root, "sort-orders", m->format_version > 1, &list, d->err));
    size_t n = list != NULL ? json_array_size(list) : 1;
    m->sort_orders = array_of(d, n, sizeof *m->sort_orders, &rc);
    if (rc != FZ_OK) {
        goto out;
    }
    m->n_sort_orders = n;
    if (list == NULL) {
        goto out; // v1: the unsorted order, id 0
    }
    if (n == 0) {
        rc = fz_fail(d->err, FZ_CORRUPT, "member \"sort-orders\" is empty");
        goto out;
    }
    FZ_TRY(fz_metadata_json_i32(d->root, "default-sort-order-id", true, &m->default_sort_order_id, d->err));
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(fz_sort_order_from_json(d->arena, json_array_get(list, i), &m->sort_orders[i], d->err));
    }
    const struct fz_sort_order *order = fz_metadata_sort_order(m, m->default_sort_order_id);
    if (order == NULL) {
        rc = fz_fail(d->err, FZ_CORRUPT, "default-sort-order-id %d is not among the sort orders",
                     m->default_sort_order_id);
        goto out;
    }
    for (size_t i = 0; i < order->n_fields; i++) {
        if (fz_schema_find(fz_metadata_current_schema(m), order->fields[i].source_id) == NULL) {
            rc = fz_fail(d->err, FZ_CORRUPT, "the default sort order uses column %d, which the current schema lacks",
                         order->fields[i].source_id);
            goto out;
        }
    }
out:
    return rc;
}

static enum fz_code decode_snapshot(struct decoder *d, const json_t *json, struct fz_snapshot *s) {
    enum fz_code rc = FZ_OK;
    if (!json_is_object(json)) {
        return fz_fail(d->err, FZ_CORRUPT, "snapshot is not an object");
    }
    s->parent_snapshot_id = s->first_row_id = s->added_rows = -1;
    s->schema_id = -1;
    FZ_TRY(fz_metadata_json_i64(json, "snapshot-id", true, &s->snapshot_id, d->err));
    FZ_TRY(fz_metadata_json_i64(json, "parent-snapshot-id", false, &s->parent_snapshot_id, d->err));
    FZ_TRY(fz_metadata_json_i64(json, "sequence-number", json_object_get(json, "sequence-number") != NULL,
                                &s->sequence_number, d->err));
    FZ_TRY(fz_metadata_json_i64(json, "timestamp-ms", true, &s->timestamp_ms, d->err));
    FZ_TRY(fz_metadata_json_i32(json, "schema-id", false, &s->schema_id, d->err));
    FZ_TRY(fz_metadata_json_i64(json, "first-row-id", false, &s->first_row_id, d->err));
    FZ_TRY(fz_metadata_json_i64(json, "added-rows", false, &s->added_rows, d->err));
    FZ_TRY(fz_metadata_json_text(d->arena, json, "key-id", false, &s->key_id, d->err));
    FZ_TRY(fz_metadata_json_text(d->arena, json, "manifest-list", false, &s->manifest_list, d->err));
    const json_t *summary = json_object_get(json, "summary");
    if (summary != NULL && !json_is_null(summary)) {
        struct fz_property *items = NULL;
        FZ_TRY(fz_metadata_json_text(d->arena, summary, "operation", false, &s->operation, d->err));
        FZ_TRY(fz_metadata_json_strings(d->arena, json, "summary", "operation", &items, &s->n_summary, d->err));
        s->summary = items;
    }
out:
    return rc;
}

static enum fz_code decode_manifest_paths(struct decoder *d, const json_t *json, struct fz_snapshot *s) {
    enum fz_code rc = FZ_OK;
    const json_t *list;
    FZ_TRY(fz_metadata_json_array(json, "manifests", true, &list, d->err));
    const char **paths = array_of(d, json_array_size(list), sizeof *paths, &rc);
    for (size_t i = 0; rc == FZ_OK && i < json_array_size(list); i++) {
        const json_t *path = json_array_get(list, i);
        if (!json_is_string(path)) {
            return fz_fail(d->err, FZ_CORRUPT, "member \"manifests\" holds something else than strings");
        }
        paths[i] = fz_arena_strdup(d->arena, json_string_value(path));
        rc = paths[i] != NULL ? FZ_OK : fz_fail_nomem(d->err, 0);
    }
    s->manifests = paths;
    s->n_manifests = json_array_size(list);
out:
    return rc;
}

static enum fz_code decode_snapshots(struct decoder *d) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = d->m;
    const json_t *list;
    struct fz_map ids = {0};
    FZ_TRY(fz_metadata_json_array(d->root, "snapshots", false, &list, d->err));
    size_t n = json_array_size(list);
    if (n > MAX_SNAPSHOTS) {
        rc = fz_fail(d->err, FZ_LIMIT, "metadata lists %zu snapshots", n);
        goto out;
    }
    m->snapshots = array_of(d, n, sizeof *m->snapshots, &rc);
    for (size_t i = 0; rc == FZ_OK && i < n; i++) {
        const json_t *json = json_array_get(list, i);
        struct fz_snapshot *s = &m->snapshots[i];
        rc = decode_snapshot(d, json, s);
        if (rc == FZ_OK && s->manifest_list == NULL) {
            rc = decode_manifest_paths(d, json, s);
        }
        struct fz_map_entry *entry;
        bool added = true;
        if (rc == FZ_OK) {
            rc = fz_map_put(&ids, (struct fz_str){(const char *)&s->snapshot_id, sizeof s->snapshot_id}, &entry, &added,
                            d->err);
        }
        if (rc == FZ_OK && !added) {
            rc = fz_fail(d->err, FZ_CORRUPT, "snapshot id %lld is used twice", (long long)s->snapshot_id);
        }
        if (rc == FZ_OK && s->sequence_number > m->last_sequence_number) {
            rc = fz_fail(d->err, FZ_CORRUPT, "snapshot %lld has sequence number %lld, above last-sequence-number %lld",
                         (long long)s->snapshot_id, (long long)s->sequence_number, (long long)m->last_sequence_number);
        }
        if (rc == FZ_OK && m->format_version >= 3 && s->first_row_id >= 0 && s->added_rows < 0) {
            rc = fz_fail(d->err, FZ_CORRUPT, "snapshot %lld has first-row-id but no added-rows",
                         (long long)s->snapshot_id);
        }
        if (rc != FZ_OK) {
            fz_err_context(d->err, "snapshots[%zu]", i);
        }
    }
    m->n_snapshots = n;
out:
    fz_map_dispose(&ids);
    return rc;
}

static enum fz_code decode_ref(struct decoder *d, const char *name, const json_t *json, struct fz_snapshot_ref *ref) {
    enum fz_code rc = FZ_OK;
    const char *type = json_string_value(json_object_get(json, "type"));
    ref->min_snapshots_to_keep = -1;
    ref->max_snapshot_age_ms = ref->max_ref_age_ms = -1;
    ref->name = fz_arena_strdup(d->arena, name);
    if (ref->name == NULL) {
        return fz_fail_nomem(d->err, 0);
    }
    if (type == NULL || (fz_strcasecmp(type, "tag") != 0 && fz_strcasecmp(type, "branch") != 0)) {
        return fz_fail(d->err, FZ_CORRUPT, "reference \"%.100s\" is neither a branch nor a tag", name);
    }
    ref->is_tag = fz_strcasecmp(type, "tag") == 0;
    FZ_TRY(fz_metadata_json_i64(json, "snapshot-id", true, &ref->snapshot_id, d->err));
    FZ_TRY(fz_metadata_json_i32(json, "min-snapshots-to-keep", false, &ref->min_snapshots_to_keep, d->err));
    FZ_TRY(fz_metadata_json_i64(json, "max-snapshot-age-ms", false, &ref->max_snapshot_age_ms, d->err));
    FZ_TRY(fz_metadata_json_i64(json, "max-ref-age-ms", false, &ref->max_ref_age_ms, d->err));
    if (fz_metadata_snapshot(d->m, ref->snapshot_id) == NULL) {
        rc = fz_fail(d->err, FZ_CORRUPT, "reference \"%.100s\" points to snapshot %lld, which is not there", name,
                     (long long)ref->snapshot_id);
    }
out:
    return rc;
}

static enum fz_code decode_refs(struct decoder *d) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = d->m;
    m->current_snapshot_id = -1;
    FZ_TRY(fz_metadata_json_i64(d->root, "current-snapshot-id", false, &m->current_snapshot_id, d->err));
    if (m->current_snapshot_id < 0) {
        m->current_snapshot_id = -1;
    } else if (fz_metadata_current_snapshot(m) == NULL) {
        rc = fz_fail(d->err, FZ_CORRUPT, "current-snapshot-id %lld is not among the snapshots",
                     (long long)m->current_snapshot_id);
        goto out;
    }
    const json_t *refs = json_object_get(d->root, "refs");
    if (refs != NULL && !json_is_object(refs)) {
        rc = fz_fail(d->err, FZ_CORRUPT, "member \"refs\" is not an object");
        goto out;
    }
    m->snapshot_refs = array_of(d, json_object_size(refs) + 1, sizeof *m->snapshot_refs, &rc);
    if (rc != FZ_OK) {
        goto out;
    }
    const char *name;
    json_t *ref;
    json_object_foreach((json_t *)(uintptr_t)refs, name, ref) {
        FZ_TRY(decode_ref(d, name, ref, &m->snapshot_refs[m->n_snapshot_refs]));
        m->n_snapshot_refs++;
    }
    const struct fz_snapshot_ref *main_ref = fz_metadata_find_ref(m, "main");
    if (main_ref == NULL && m->current_snapshot_id >= 0) { // v1, and writers from before references
        m->snapshot_refs[m->n_snapshot_refs++] =
            (struct fz_snapshot_ref){"main", m->current_snapshot_id, false, -1, -1, -1};
    } else if (main_ref != NULL && main_ref->snapshot_id != m->current_snapshot_id) {
        rc = fz_fail(d->err, FZ_CORRUPT, "current-snapshot-id %lld is not where main points (%lld)",
                     (long long)m->current_snapshot_id, (long long)main_ref->snapshot_id);
    }
out:
    return rc;
}

static enum fz_code decode_log(struct decoder *d, const char *key, struct fz_log_entry **out, size_t *n) {
    enum fz_code rc = FZ_OK;
    const json_t *list;
    bool files = strcmp(key, "metadata-log") == 0;
    FZ_TRY(fz_metadata_json_array(d->root, key, false, &list, d->err));
    *out = array_of(d, json_array_size(list), sizeof **out, &rc);
    for (size_t i = 0; rc == FZ_OK && i < json_array_size(list); i++) {
        const json_t *json = json_array_get(list, i);
        struct fz_log_entry *entry = &(*out)[i];
        entry->snapshot_id = -1;
        FZ_TRY(fz_metadata_json_i64(json, "timestamp-ms", true, &entry->timestamp_ms, d->err));
        rc = files ? fz_metadata_json_text(d->arena, json, "metadata-file", true, &entry->file, d->err)
                   : fz_metadata_json_i64(json, "snapshot-id", true, &entry->snapshot_id, d->err);
    }
    *n = json_array_size(list);
out:
    return rc;
}

// What is kept word for word because nothing here needs to understand it.
static enum fz_code keep_other_members(struct decoder *d) {
    static const char *const known[] = {"format-version",
                                        "table-uuid",
                                        "location",
                                        "last-sequence-number",
                                        "last-updated-ms",
                                        "last-column-id",
                                        "schema",
                                        "current-schema-id",
                                        "schemas",
                                        "partition-spec",
                                        "default-spec-id",
                                        "partition-specs",
                                        "last-partition-id",
                                        "default-sort-order-id",
                                        "sort-orders",
                                        "properties",
                                        "current-snapshot-id",
                                        "next-row-id",
                                        "refs",
                                        "snapshots",
                                        "snapshot-log",
                                        "metadata-log"};
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = d->m;
    m->other_members = array_of(d, json_object_size(d->root), sizeof *m->other_members, &rc);
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)d->root, key, value) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
            is_known = is_known || strcmp(key, known[i]) == 0;
        }
        if (rc != FZ_OK || is_known) {
            continue;
        }
        bool list = strcmp(key, "statistics") == 0 || strcmp(key, "partition-statistics") == 0;
        if (list && !json_is_array(value)) {
            return fz_fail(d->err, FZ_CORRUPT, "member \"%s\" is not an array", key);
        }
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
        struct fz_property *kept = &m->other_members[m->n_other_members++];
        kept->key = fz_arena_strdup(d->arena, key);
        kept->value = text != NULL ? fz_arena_strdup(d->arena, text) : NULL;
        if (kept->key == NULL || kept->value == NULL) {
            rc = fz_fail_nomem(d->err, 0);
        }
        free(text);
    }
    return rc;
}

static enum fz_code decode_head(struct decoder *d) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = d->m;
    FZ_TRY(fz_metadata_json_i32(d->root, "format-version", true, &m->format_version, d->err));
    if (m->format_version < 1 || m->format_version > 3) {
        rc =
            fz_fail(d->err, FZ_UNSUPPORTED, "table format version %d is not supported (1 to 3 are)", m->format_version);
        goto out;
    }
    FZ_TRY(fz_metadata_json_text(d->arena, d->root, "table-uuid", m->format_version > 1, &m->table_uuid, d->err));
    FZ_TRY(fz_metadata_json_text(d->arena, d->root, "location", true, &m->location, d->err));
    if (m->location[0] == 0) {
        rc = fz_fail(d->err, FZ_CORRUPT, "member \"location\" is empty");
        goto out;
    }
    FZ_TRY(
        fz_metadata_json_i64(d->root, "last-sequence-number", m->format_version > 1, &m->last_sequence_number, d->err));
    FZ_TRY(fz_metadata_json_i64(d->root, "last-updated-ms", true, &m->last_updated_ms, d->err));
    FZ_TRY(fz_metadata_json_i32(d->root, "last-column-id", true, &m->last_column_id, d->err));
    if (m->format_version >= 3) {
        FZ_TRY(fz_metadata_json_i64(d->root, "next-row-id", true, &m->next_row_id, d->err));
        if (m->next_row_id < 0) {
            rc = fz_fail(d->err, FZ_CORRUPT, "next-row-id is negative");
        }
    }
    if (m->format_version == 1) {
        m->last_sequence_number = 0;
    }
out:
    return rc;
}

static enum fz_code decode(struct decoder *d) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(decode_head(d));
    FZ_TRY(decode_schemas(d));
    FZ_TRY(decode_specs(d));
    FZ_TRY(decode_sort_orders(d));
    if (json_is_null(json_object_get(d->root, "properties"))) {
        rc = fz_fail(d->err, FZ_CORRUPT, "member \"properties\" is null");
        goto out;
    }
    FZ_TRY(fz_metadata_json_strings(d->arena, d->root, "properties", NULL, &d->m->properties, &d->m->n_properties,
                                    d->err));
    FZ_TRY(decode_snapshots(d));
    FZ_TRY(decode_refs(d));
    FZ_TRY(decode_log(d, "snapshot-log", &d->m->snapshot_log, &d->m->n_snapshot_log));
    FZ_TRY(decode_log(d, "metadata-log", &d->m->metadata_log, &d->m->n_metadata_log));
    FZ_TRY(keep_other_members(d));
out:
    return rc;
}

enum fz_code fz_metadata_decode(const void *data, size_t len, const char *location, struct fz_metadata **out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf plain = {0};
    json_t *root = NULL;
    struct fz_metadata *m = NULL;
    if (len >= 2 && memcmp(data, "\x1f\x8b", 2) == 0) {
        FZ_TRY(gunzip(data, len, &plain, err));
        data = plain.ptr;
        len = plain.len;
    }
    FZ_TRY(fz_metadata_json_parse(data, len, &root, err));
    FZ_NEW(m, err);
    m->refs = 1;
    struct decoder d = {.m = m, .arena = &m->arena, .root = root, .err = err};
    if (location != NULL) {
        m->metadata_location = fz_arena_strdup(&m->arena, location);
        if (m->metadata_location == NULL) {
            rc = fz_fail_nomem(err, 0);
            goto out;
        }
    }
    FZ_TRY(decode(&d));
    *out = m;
    m = NULL;
out:
    if (rc != FZ_OK) {
        fz_err_context(err, "table metadata %s", location != NULL ? location : "");
    }
    fz_metadata_unref(m);
    json_decref(root);
    fz_buf_dispose(&plain);
    return rc;
}
