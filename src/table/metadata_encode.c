// Table metadata to JSON: members and their order as Java's TableMetadataParser writes them (iceberg-facts 7.1).
#include "base/text.h"
#include "table/json_priv.h"

struct printer {
    struct fz_buf *out;
    bool first; // no member of the open object yet
    struct fz_err *err;
};

static void member(struct printer *p, const char *key) {
    if (!p->first) {
        fz_buf_putc(p->out, ',');
    }
    p->first = false;
    fz_json_quote(p->out, fz_str_of(key));
    fz_buf_putc(p->out, ':');
}

static void number(struct printer *p, const char *key, int64_t value) {
    member(p, key);
    fz_buf_printf(p->out, "%lld", (long long)value);
}

static void number_unless_unset(struct printer *p, const char *key, int64_t value) {
    if (value >= 0) {
        number(p, key, value);
    }
}

static void text(struct printer *p, const char *key, const char *value) {
    member(p, key);
    fz_json_quote(p->out, fz_str_of(value));
}

static void open_object(struct printer *p) {
    fz_buf_putc(p->out, '{');
    p->first = true;
}

static void close_object(struct printer *p) {
    fz_buf_putc(p->out, '}');
    p->first = false;
}

static void item(struct printer *p, size_t i) {
    if (i > 0) {
        fz_buf_putc(p->out, ',');
    }
}

static void open_list(struct printer *p, const char *key) {
    member(p, key);
    fz_buf_putc(p->out, '[');
}

static void close_list(struct printer *p) {
    fz_buf_putc(p->out, ']');
}

static void schemas_and_specs(struct printer *p, const struct fz_metadata *m) {
    bool v1 = m->format_version == 1;
    const struct fz_schema *current = fz_metadata_current_schema(m);
    if (v1 && current != NULL) {
        member(p, "schema");
        fz_schema_to_json(p->out, current, p->err);
    }
    number(p, "current-schema-id", m->current_schema_id);
    open_list(p, "schemas");
    for (size_t i = 0; i < m->n_schemas; i++) {
        item(p, i);
        fz_schema_to_json(p->out, &m->schemas[i], p->err);
    }
    close_list(p);
    const struct fz_partition_spec *spec = fz_metadata_spec(m, m->default_spec_id);
    if (v1 && spec != NULL) {
        member(p, "partition-spec");
        fz_spec_fields_to_json(p->out, spec);
    }
    number(p, "default-spec-id", m->default_spec_id);
    open_list(p, "partition-specs");
    for (size_t i = 0; i < m->n_specs; i++) {
        item(p, i);
        fz_buf_printf(p->out, "{\"spec-id\":%d,\"fields\":", m->specs[i].spec_id);
        fz_spec_fields_to_json(p->out, &m->specs[i]);
        fz_buf_putc(p->out, '}');
    }
    close_list(p);
    number(p, "last-partition-id", m->last_partition_id);
    number(p, "default-sort-order-id", m->default_sort_order_id);
    open_list(p, "sort-orders");
    for (size_t i = 0; i < m->n_sort_orders; i++) {
        item(p, i);
        fz_sort_order_to_json(p->out, &m->sort_orders[i]);
    }
    close_list(p);
}

static void strings(struct printer *p, const struct fz_property *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        text(p, items[i].key, items[i].value);
    }
}

static void snapshot(struct printer *p, const struct fz_snapshot *s) {
    open_object(p);
    if (s->sequence_number > 0) {
        number(p, "sequence-number", s->sequence_number);
    }
    number(p, "snapshot-id", s->snapshot_id);
    number_unless_unset(p, "parent-snapshot-id", s->parent_snapshot_id);
    number(p, "timestamp-ms", s->timestamp_ms);
    if (s->operation != NULL || s->n_summary > 0) {
        member(p, "summary");
        open_object(p);
        if (s->operation != NULL) {
            text(p, "operation", s->operation);
        }
        strings(p, s->summary, s->n_summary);
        close_object(p);
    }
    if (s->manifest_list != NULL) {
        text(p, "manifest-list", s->manifest_list);
    } else {
        open_list(p, "manifests");
        for (size_t i = 0; i < s->n_manifests; i++) {
            item(p, i);
            fz_json_quote(p->out, fz_str_of(s->manifests[i]));
        }
        close_list(p);
    }
    number_unless_unset(p, "schema-id", s->schema_id);
    number_unless_unset(p, "first-row-id", s->first_row_id);
    number_unless_unset(p, "added-rows", s->added_rows);
    if (s->key_id != NULL) {
        text(p, "key-id", s->key_id);
    }
    close_object(p);
}

static void refs(struct printer *p, const struct fz_metadata *m) {
    member(p, "refs");
    open_object(p);
    for (size_t i = 0; i < m->n_snapshot_refs; i++) {
        const struct fz_snapshot_ref *ref = &m->snapshot_refs[i];
        member(p, ref->name);
        open_object(p);
        number(p, "snapshot-id", ref->snapshot_id);
        text(p, "type", ref->is_tag ? "tag" : "branch");
        number_unless_unset(p, "min-snapshots-to-keep", ref->min_snapshots_to_keep);
        number_unless_unset(p, "max-snapshot-age-ms", ref->max_snapshot_age_ms);
        number_unless_unset(p, "max-ref-age-ms", ref->max_ref_age_ms);
        close_object(p);
    }
    close_object(p);
}

static void logs(struct printer *p, const struct fz_metadata *m) {
    open_list(p, "snapshot-log");
    for (size_t i = 0; i < m->n_snapshot_log; i++) {
        item(p, i);
        fz_buf_printf(p->out, "{\"timestamp-ms\":%lld,\"snapshot-id\":%lld}",
                      (long long)m->snapshot_log[i].timestamp_ms, (long long)m->snapshot_log[i].snapshot_id);
    }
    close_list(p);
    open_list(p, "metadata-log");
    for (size_t i = 0; i < m->n_metadata_log; i++) {
        item(p, i);
        fz_buf_printf(p->out, "{\"timestamp-ms\":%lld,\"metadata-file\":", (long long)m->metadata_log[i].timestamp_ms);
        fz_json_quote(p->out, fz_str_of(m->metadata_log[i].file));
        fz_buf_putc(p->out, '}');
    }
    close_list(p);
}

static const char *raw_member(const struct fz_metadata *m, const char *key) {
    for (size_t i = 0; i < m->n_other_members; i++) {
        if (strcmp(m->other_members[i].key, key) == 0) {
            return m->other_members[i].value;
        }
    }
    return NULL;
}

static void raw(struct printer *p, const struct fz_metadata *m, const char *key, const char *fallback) {
    const char *value = raw_member(m, key);
    value = value != NULL ? value : fallback;
    if (value != NULL) {
        member(p, key);
        fz_buf_puts(p->out, value);
    }
}

static void unknown_members(struct printer *p, const struct fz_metadata *m) {
    static const char *const placed[] = {"encryption-keys", "statistics", "partition-statistics"};
    for (size_t i = 0; i < m->n_other_members; i++) {
        bool done = false;
        for (size_t j = 0; j < sizeof placed / sizeof placed[0]; j++) {
            done = done || strcmp(m->other_members[i].key, placed[j]) == 0;
        }
        if (!done) {
            member(p, m->other_members[i].key);
            fz_buf_puts(p->out, m->other_members[i].value);
        }
    }
}

static void current_snapshot(struct printer *p, const struct fz_metadata *m) {
    if (m->current_snapshot_id < 0 && m->format_version >= 3) {
        member(p, "current-snapshot-id");
        fz_buf_puts(p->out, "null");
    } else {
        number(p, "current-snapshot-id", m->current_snapshot_id < 0 ? -1 : m->current_snapshot_id);
    }
}

enum fz_code fz_metadata_encode(const struct fz_metadata *m, struct fz_buf *out, struct fz_err *err) {
    struct fz_err inner = FZ_ERR_INIT;
    struct printer printer = {.out = out, .err = &inner}, *p = &printer;
    open_object(p);
    number(p, "format-version", m->format_version);
    if (m->table_uuid != NULL) {
        text(p, "table-uuid", m->table_uuid);
    }
    text(p, "location", m->location);
    if (m->format_version > 1) {
        number(p, "last-sequence-number", m->last_sequence_number);
    }
    number(p, "last-updated-ms", m->last_updated_ms);
    number(p, "last-column-id", m->last_column_id);
    schemas_and_specs(p, m);
    member(p, "properties");
    open_object(p);
    strings(p, m->properties, m->n_properties);
    close_object(p);
    current_snapshot(p, m);
    if (m->format_version >= 3) {
        number(p, "next-row-id", m->next_row_id);
    }
    raw(p, m, "encryption-keys", NULL);
    refs(p, m);
    open_list(p, "snapshots");
    for (size_t i = 0; i < m->n_snapshots; i++) {
        item(p, i);
        snapshot(p, &m->snapshots[i]);
    }
    close_list(p);
    raw(p, m, "statistics", "[]");
    raw(p, m, "partition-statistics", "[]");
    logs(p, m);
    unknown_members(p, m);
    close_object(p);
    if (inner.code != FZ_OK) {
        return fz_fail(err, inner.code, "table metadata cannot be written: %s", inner.message);
    }
    return fz_buf_check(out, err);
}
