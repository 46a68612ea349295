// Table metadata: what a person asks of it (schema, partitioning, snapshots, refs, statistics), times and types in words.
#include "inspect/inspect_priv.h"
#include "table/metadata.h"

static void put_fields(struct fz_inspect *in, json_t *rows, const struct fz_type *type, const char *above) {
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct fz_field *f = &type->fields[i];
        const char *path = above[0] == 0 ? f->name : fz_arena_printf(&in->arena, "%s.%s", above, f->name);
        json_t *row = fz_inspect_row(in, rows);
        fz_inspect_put(in, row, "field_id", json_integer(f->id));
        fz_inspect_put(in, row, "column", fz_inspect_cstr(path));
        static const char *const nested[] = {"struct", "list", "map"};
        if (fz_type_is_primitive(f->type)) {
            fz_inspect_put(in, row, "type", fz_inspect_type(f->type));
        } else {
            fz_inspect_put(in, row, "type",
                           json_string(nested[f->type->id == FZ_TYPE_STRUCT ? 0
                                              : f->type->id == FZ_TYPE_LIST ? 1
                                                                            : 2]));
        }
        fz_inspect_put(in, row, "required", json_boolean(f->required));
        if (f->doc != NULL) {
            fz_inspect_put(in, row, "doc", fz_inspect_cstr(f->doc));
        }
        if (path != NULL) {
            put_fields(in, rows, f->type, path);
        }
    }
}

static const char *transform_text(struct fz_inspect *in, const struct fz_metadata *m,
                                  const struct fz_transform *transform, int32_t source_id) {
    struct fz_buf text = {0};
    fz_transform_print(&text, transform);
    const char *column = NULL;
    for (size_t i = m->n_schemas; column == NULL && i > 0; i--) {
        column = fz_schema_name_of(&m->schemas[i - 1], source_id, &in->arena);
    }
    const char *out =
        fz_arena_printf(&in->arena, "%s(%s)", text.ptr != NULL ? text.ptr : "", column != NULL ? column : "?");
    fz_buf_dispose(&text);
    return out;
}

static void put_layout(struct fz_inspect *in, const struct fz_metadata *m) {
    json_t *rows = fz_inspect_array(in, in->root, "partition_specs");
    for (size_t s = 0; s < m->n_specs; s++) {
        json_t *row = fz_inspect_row(in, rows);
        fz_inspect_put(in, row, "spec_id", json_integer(m->specs[s].spec_id));
        fz_inspect_put(in, row, "default", json_boolean(m->specs[s].spec_id == m->default_spec_id));
        json_t *fields = fz_inspect_array(in, row, "fields");
        for (size_t i = 0; i < m->specs[s].n_fields; i++) {
            const struct fz_partition_field *f = &m->specs[s].fields[i];
            fz_inspect_add(in, fields,
                           fz_inspect_cstr(fz_arena_printf(&in->arena, "%d: %s = %s", f->field_id, f->name,
                                                           transform_text(in, m, &f->transform, f->source_id))));
        }
    }
    rows = fz_inspect_array(in, in->root, "sort_orders");
    for (size_t s = 0; s < m->n_sort_orders; s++) {
        json_t *row = fz_inspect_row(in, rows);
        fz_inspect_put(in, row, "order_id", json_integer(m->sort_orders[s].order_id));
        fz_inspect_put(in, row, "default", json_boolean(m->sort_orders[s].order_id == m->default_sort_order_id));
        json_t *fields = fz_inspect_array(in, row, "fields");
        for (size_t i = 0; i < m->sort_orders[s].n_fields; i++) {
            const struct fz_sort_field *f = &m->sort_orders[s].fields[i];
            fz_inspect_add(in, fields,
                           fz_inspect_cstr(fz_arena_printf(
                               &in->arena, "%s %s nulls %s", transform_text(in, m, &f->transform, f->source_id),
                               f->descending ? "desc" : "asc", f->nulls_last ? "last" : "first")));
        }
    }
}

static void put_snapshots(struct fz_inspect *in, const struct fz_metadata *m) {
    static const char *const counts[] = {"added-records", "deleted-records", "total-records", "total-data-files",
                                         "total-delete-files"};
    json_t *rows = fz_inspect_array(in, in->root, "snapshots");
    for (size_t s = 0; s < m->n_snapshots; s++) {
        const struct fz_snapshot *snapshot = &m->snapshots[s];
        json_t *row = fz_inspect_row(in, rows);
        fz_inspect_put(in, row, "snapshot_id", json_integer(snapshot->snapshot_id));
        fz_inspect_put(in, row, "parent_id",
                       snapshot->parent_snapshot_id >= 0 ? json_integer(snapshot->parent_snapshot_id) : json_null());
        fz_inspect_put(in, row, "sequence_number", json_integer(snapshot->sequence_number));
        fz_inspect_put(in, row, "committed", fz_inspect_time(snapshot->timestamp_ms * 1000));
        fz_inspect_put(in, row, "operation", fz_inspect_cstr(snapshot->operation));
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
            const char *value = fz_snapshot_summary(snapshot, counts[i]);
            fz_inspect_put(in, row, counts[i], fz_inspect_cstr(value));
        }
        fz_inspect_put(in, row, "manifest_list", fz_inspect_cstr(snapshot->manifest_list));
        json_t *summary = fz_inspect_object(in, row, "summary");
        for (size_t i = 0; i < snapshot->n_summary; i++) {
            fz_inspect_put(in, summary, snapshot->summary[i].key, fz_inspect_cstr(snapshot->summary[i].value));
        }
    }
    rows = fz_inspect_array(in, in->root, "refs");
    for (size_t i = 0; i < m->n_snapshot_refs; i++) {
        const struct fz_snapshot_ref *ref = &m->snapshot_refs[i];
        json_t *row = fz_inspect_row(in, rows);
        fz_inspect_put(in, row, "name", fz_inspect_cstr(ref->name));
        fz_inspect_put(in, row, "type", json_string(ref->is_tag ? "tag" : "branch"));
        fz_inspect_put(in, row, "snapshot_id", json_integer(ref->snapshot_id));
    }
}

enum fz_code fz_inspect_metadata(struct fz_inspect *in, const struct fz_buf *file) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = NULL;
    FZ_TRY(fz_metadata_decode(file->ptr, file->len, in->location, &m, in->err));
    const struct fz_schema *schema = fz_metadata_current_schema(m);
    fz_inspect_put(in, in->root, "kind", json_string("table metadata"));
    fz_inspect_put(in, in->root, "compressed", json_boolean(file->len > 1 && (uint8_t)file->ptr[0] == 0x1f));
    fz_inspect_put(in, in->root, "format_version", json_integer(m->format_version));
    fz_inspect_put(in, in->root, "table_uuid", fz_inspect_cstr(m->table_uuid));
    fz_inspect_put(in, in->root, "location", fz_inspect_cstr(m->location));
    fz_inspect_put(in, in->root, "last_updated", fz_inspect_time(m->last_updated_ms * 1000));
    fz_inspect_put(in, in->root, "last_sequence_number", json_integer(m->last_sequence_number));
    fz_inspect_put(in, in->root, "current_snapshot_id",
                   m->current_snapshot_id >= 0 ? json_integer(m->current_snapshot_id) : json_null());
    fz_inspect_put(in, in->root, "current_schema_id", json_integer(m->current_schema_id));
    fz_inspect_put(in, in->root, "schema_count", json_integer((json_int_t)m->n_schemas));
    fz_inspect_put(in, in->root, "last_column_id", json_integer(m->last_column_id));
    if (m->format_version >= 3) {
        fz_inspect_put(in, in->root, "next_row_id", json_integer(m->next_row_id));
    }
    fz_inspect_put(in, in->root, "metadata_log_entries", json_integer((json_int_t)m->n_metadata_log));
    json_t *rows = fz_inspect_array(in, in->root, "schema");
    if (schema != NULL) {
        put_fields(in, rows, schema->type, "");
    }
    put_layout(in, m);
    json_t *properties = fz_inspect_object(in, in->root, "properties");
    for (size_t i = 0; i < m->n_properties; i++) {
        fz_inspect_put(in, properties, m->properties[i].key, fz_inspect_cstr(m->properties[i].value));
    }
    put_snapshots(in, m);
    for (size_t i = 0; i < m->n_other_members; i++) {
        json_t *value = json_loads(m->other_members[i].value, JSON_DECODE_ANY, NULL);
        fz_inspect_put(in, in->root, m->other_members[i].key, value);
    }
out:
    fz_metadata_unref(m);
    return rc;
}
