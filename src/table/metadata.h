// Table metadata: the JSON document of the Iceberg spec, versions 1 to 3, as plain immutable data. Pure: no network, no policy.
// A `struct fz_metadata` owns an arena and is shared by reference count; commits build a changed copy (table/update.h).
#ifndef FZ_TABLE_METADATA_H
#define FZ_TABLE_METADATA_H

#include "data/transform.h"
#include "data/type.h"

struct fz_schema {
    int32_t schema_id;
    const struct fz_type *type; // a struct type
    const int32_t *identifier_field_ids;
    size_t n_identifier_field_ids;
};

struct fz_partition_field {
    int32_t source_id, field_id;
    const char *name;
    struct fz_transform transform;
};
struct fz_partition_spec {
    int32_t spec_id;
    const struct fz_partition_field *fields;
    size_t n_fields;
};

struct fz_sort_field {
    int32_t source_id;
    struct fz_transform transform;
    bool descending, nulls_last;
};
struct fz_sort_order {
    int32_t order_id; // 0 = unsorted
    const struct fz_sort_field *fields;
    size_t n_fields;
};

struct fz_property { // also summary entries; order is kept
    const char *key, *value;
};

struct fz_snapshot {
    int64_t snapshot_id, parent_snapshot_id; // parent -1: none
    int64_t sequence_number; // 0 in v1
    int64_t timestamp_ms;
    const char *manifest_list; // NULL only in old v1 tables, then `manifests`
    const char *const *manifests;
    size_t n_manifests;
    const char *operation; // "append", …; NULL in some v1 files
    const struct fz_property *summary; // without `operation`
    size_t n_summary;
    int32_t schema_id; // -1: not written
    int64_t first_row_id, added_rows; // v3; -1: not written
    const char *key_id; // v3 encryption; NULL: none
};

struct fz_snapshot_ref {
    const char *name;
    int64_t snapshot_id;
    bool is_tag;
    int32_t min_snapshots_to_keep; // -1: not set
    int64_t max_snapshot_age_ms, max_ref_age_ms;
};

struct fz_log_entry { // snapshot-log: snapshot_id; metadata-log: file
    int64_t timestamp_ms;
    int64_t snapshot_id;
    const char *file;
};

struct fz_metadata {
    struct fz_arena arena; // owns everything below, except what it shares with `base`
    _Atomic int refs;
    struct fz_metadata *base; // a copy-on-write parent kept alive, or NULL
    const char *metadata_location; // where it was read from; NULL before the first write
    int format_version;
    const char *table_uuid, *location;
    int64_t last_sequence_number, last_updated_ms;
    int32_t last_column_id, current_schema_id, default_spec_id, last_partition_id, default_sort_order_id;
    int64_t next_row_id; // v3
    struct fz_schema *schemas;
    size_t n_schemas;
    struct fz_partition_spec *specs;
    size_t n_specs;
    struct fz_sort_order *sort_orders;
    size_t n_sort_orders;
    struct fz_property *properties;
    size_t n_properties;
    int64_t current_snapshot_id; // -1: none
    struct fz_snapshot *snapshots;
    size_t n_snapshots;
    struct fz_snapshot_ref *snapshot_refs;
    size_t n_snapshot_refs;
    struct fz_log_entry *snapshot_log, *metadata_log;
    size_t n_snapshot_log, n_metadata_log;
    // JSON text of members that are kept but not understood here: statistics, partition-statistics, encryption-keys, unknown ones.
    struct fz_property *other_members; // key, raw JSON
    size_t n_other_members;
};

struct fz_metadata *fz_metadata_ref(struct fz_metadata *metadata);
void fz_metadata_unref(struct fz_metadata *metadata);
// Decodes and validates a metadata document (gzip is detected). CORRUPT says which member is wrong and why; UNSUPPORTED for
// a format version above 3. `location` is remembered as metadata_location.
enum fz_code fz_metadata_decode(const void *data, size_t len, const char *location, struct fz_metadata **out,
                                struct fz_err *err);
// As Java writes it: same members in the same order.
enum fz_code fz_metadata_encode(const struct fz_metadata *metadata, struct fz_buf *out, struct fz_err *err);

// Look-ups; NULL when absent.
const struct fz_schema *fz_metadata_schema(const struct fz_metadata *m, int32_t schema_id);
const struct fz_schema *fz_metadata_current_schema(const struct fz_metadata *m);
const struct fz_partition_spec *fz_metadata_spec(const struct fz_metadata *m, int32_t spec_id);
const struct fz_sort_order *fz_metadata_sort_order(const struct fz_metadata *m, int32_t order_id);
const struct fz_snapshot *fz_metadata_snapshot(const struct fz_metadata *m, int64_t snapshot_id);
const struct fz_snapshot *fz_metadata_current_snapshot(const struct fz_metadata *m);
const struct fz_snapshot_ref *fz_metadata_find_ref(const struct fz_metadata *m,
                                                   const char *name); // "main" is there iff there is a current snapshot
const char *fz_metadata_property(const struct fz_metadata *m, const char *key, const char *fallback);
int64_t fz_metadata_property_i64(const struct fz_metadata *m, const char *key, int64_t fallback);
bool fz_metadata_property_bool(const struct fz_metadata *m, const char *key, bool fallback);
const char *fz_snapshot_summary(const struct fz_snapshot *s, const char *key); // NULL when absent

// A schema as the JSON text in manifests and data files ("iceberg.schema"); everything lands in `arena`.
enum fz_code fz_schema_decode(struct fz_arena *arena, struct fz_str text, struct fz_schema *out, struct fz_err *err);
void fz_schema_encode(struct fz_buf *out, const struct fz_schema *schema, struct fz_err *err); // the reverse, appended

// Schema helpers. Field lookup is over the whole tree.
const struct fz_field *fz_schema_find(const struct fz_schema *schema, int32_t field_id);
// "a.b.c", also "element"/"key"/"value"; case-insensitive unless exactly one field matches by case. NULL when absent.
const struct fz_field *fz_schema_find_name(const struct fz_schema *schema, const char *dotted_name);
const char *fz_schema_name_of(const struct fz_schema *schema, int32_t field_id, struct fz_arena *arena); // dotted
// The struct type of a spec's partition tuple: one optional field per partition field, ids = partition field ids.
enum fz_code fz_spec_partition_type(struct fz_arena *arena, const struct fz_schema *schema,
                                    const struct fz_partition_spec *spec, const struct fz_type **out,
                                    struct fz_err *err);
// The same by spec id; a source column that the current schema lacks takes its type from an older schema. CORRUPT: no such spec.
enum fz_code fz_metadata_spec_type(struct fz_arena *arena, const struct fz_metadata *m, int32_t spec_id,
                                   const struct fz_type **out, struct fz_err *err);
// The union of all specs' tuples (metadata tables show it), newest spec's names win, ordered as Java's Partitioning.partitionType.
enum fz_code fz_metadata_partition_type(struct fz_arena *arena, const struct fz_metadata *m, const struct fz_type **out,
                                        struct fz_err *err);
// "data path" pieces: name=value/name=value, URL-encoded; empty for an unpartitioned spec.
enum fz_code fz_spec_partition_path(struct fz_buf *out, const struct fz_partition_spec *spec,
                                    const struct fz_value *partition, struct fz_err *err);

#endif
