// Life and look-ups of table metadata. Everything here is read-only on a finished document; see metadata_decode.c and
// update.c for how one comes to be.
#include "table/metadata.h"

#include "base/text.h"

struct fz_metadata *fz_metadata_ref(struct fz_metadata *metadata) {
    if (metadata != NULL) {
        metadata->refs++;
    }
    return metadata;
}

void fz_metadata_unref(struct fz_metadata *metadata) {
    while (metadata != NULL && --metadata->refs == 0) {
        struct fz_metadata *base = metadata->base;
        fz_arena_dispose(&metadata->arena);
        fz_free(metadata);
        metadata = base;
    }
}

const struct fz_schema *fz_metadata_schema(const struct fz_metadata *m, int32_t schema_id) {
    for (size_t i = 0; i < m->n_schemas; i++) {
        if (m->schemas[i].schema_id == schema_id) {
            return &m->schemas[i];
        }
    }
    return NULL;
}

const struct fz_schema *fz_metadata_current_schema(const struct fz_metadata *m) {
    return fz_metadata_schema(m, m->current_schema_id);
}

const struct fz_partition_spec *fz_metadata_spec(const struct fz_metadata *m, int32_t spec_id) {
    for (size_t i = 0; i < m->n_specs; i++) {
        if (m->specs[i].spec_id == spec_id) {
            return &m->specs[i];
        }
    }
    return NULL;
}

const struct fz_sort_order *fz_metadata_sort_order(const struct fz_metadata *m, int32_t order_id) {
    for (size_t i = 0; i < m->n_sort_orders; i++) {
        if (m->sort_orders[i].order_id == order_id) {
            return &m->sort_orders[i];
        }
    }
    static const struct fz_sort_order unsorted = {0}; // every table has it, listed or not
    return order_id == 0 ? &unsorted : NULL;
}

const struct fz_snapshot *fz_metadata_snapshot(const struct fz_metadata *m, int64_t snapshot_id) {
    for (size_t i = m->n_snapshots; i-- > 0;) { // the newest are asked for most
        if (m->snapshots[i].snapshot_id == snapshot_id) {
            return &m->snapshots[i];
        }
    }
    return NULL;
}

const struct fz_snapshot *fz_metadata_current_snapshot(const struct fz_metadata *m) {
    return m->current_snapshot_id < 0 ? NULL : fz_metadata_snapshot(m, m->current_snapshot_id);
}

const struct fz_snapshot_ref *fz_metadata_find_ref(const struct fz_metadata *m, const char *name) {
    for (size_t i = 0; i < m->n_snapshot_refs; i++) {
        if (strcmp(m->snapshot_refs[i].name, name) == 0) {
            return &m->snapshot_refs[i];
        }
    }
    return NULL;
}

static const char *property_of(const struct fz_property *items, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(items[i].key, key) == 0) {
            return items[i].value;
        }
    }
    return NULL;
}

const char *fz_metadata_property(const struct fz_metadata *m, const char *key, const char *fallback) {
    const char *value = property_of(m->properties, m->n_properties, key);
    return value != NULL ? value : fallback;
}

int64_t fz_metadata_property_i64(const struct fz_metadata *m, const char *key, int64_t fallback) {
    const char *text = property_of(m->properties, m->n_properties, key);
    int64_t value;
    return text != NULL && fz_parse_i64(fz_str_of(text), &value) ? value : fallback;
}

bool fz_metadata_property_bool(const struct fz_metadata *m, const char *key, bool fallback) {
    const char *text = property_of(m->properties, m->n_properties, key);
    return text == NULL ? fallback : fz_strcasecmp(text, "true") == 0;
}

const char *fz_snapshot_summary(const struct fz_snapshot *s, const char *key) {
    return property_of(s->summary, s->n_summary, key);
}
