// Changes of table metadata and the requirements that guard them: the vocabulary of the REST commit (spec open-api,
// iceberg-facts 10.2), used by every catalog. Building a new metadata document = base + updates.
#ifndef FZ_TABLE_UPDATE_H
#define FZ_TABLE_UPDATE_H

#include "table/metadata.h"

enum fz_update_kind {
    FZ_UPDATE_ASSIGN_UUID,
    FZ_UPDATE_UPGRADE_FORMAT_VERSION,
    FZ_UPDATE_ADD_SCHEMA, // schema_id ignored: the next free one, or an equal schema's
    FZ_UPDATE_SET_CURRENT_SCHEMA, // id; -1 = last added
    FZ_UPDATE_ADD_SPEC,
    FZ_UPDATE_SET_DEFAULT_SPEC,
    FZ_UPDATE_ADD_SORT_ORDER,
    FZ_UPDATE_SET_DEFAULT_SORT_ORDER,
    FZ_UPDATE_ADD_SNAPSHOT,
    FZ_UPDATE_SET_SNAPSHOT_REF,
    FZ_UPDATE_REMOVE_SNAPSHOTS,
    FZ_UPDATE_REMOVE_SNAPSHOT_REF,
    FZ_UPDATE_SET_LOCATION,
    FZ_UPDATE_SET_PROPERTIES,
    FZ_UPDATE_REMOVE_PROPERTIES,
    FZ_UPDATE_SET_STATISTICS, // replaces what the snapshot has
    FZ_UPDATE_REMOVE_STATISTICS,
    FZ_UPDATE_SET_PARTITION_STATISTICS,
    FZ_UPDATE_REMOVE_PARTITION_STATISTICS,
};
struct fz_update {
    enum fz_update_kind kind;
    union {
        const char *text; // uuid, location, ref name to remove
        int32_t id; // format version, schema/spec/order id
        const struct fz_schema *schema;
        const struct fz_partition_spec *spec;
        const struct fz_sort_order *order;
        const struct fz_snapshot *snapshot;
        const struct fz_snapshot_ref *ref;
        struct {
            const struct fz_property *items; // removal: keys only
            size_t n;
        } properties;
        struct {
            const int64_t *ids;
            size_t n;
        } snapshots;
        struct {
            int64_t snapshot_id;
            const char *json; // the statistics file as the spec's JSON object; removal: not looked at
        } statistics;
    } u;
};

enum fz_requirement_kind {
    FZ_REQUIRE_CREATE,
    FZ_REQUIRE_UUID,
    FZ_REQUIRE_REF_SNAPSHOT, // ref at snapshot_id; -1 = must not exist
    FZ_REQUIRE_LAST_FIELD_ID,
    FZ_REQUIRE_CURRENT_SCHEMA_ID,
    FZ_REQUIRE_LAST_PARTITION_ID,
    FZ_REQUIRE_DEFAULT_SPEC_ID,
    FZ_REQUIRE_DEFAULT_SORT_ORDER_ID,
};
struct fz_requirement {
    enum fz_requirement_kind kind;
    const char *text; // uuid or ref name
    int64_t id;
};

// New metadata for a table that does not exist yet: fresh column ids from 1, partition field ids from 1000, spec 0, sort order,
// default properties as Java persists them (write.parquet.compression-codec=zstd). `properties` may hold reserved keys (format-version).
struct fz_table_create {
    const struct fz_type *schema; // struct; ids are reassigned
    const struct fz_partition_field *partition; // source_id refers to `schema`'s ids as given
    size_t n_partition;
    const struct fz_sort_field *order;
    size_t n_order;
    const char *location;
    const struct fz_property *properties;
    size_t n_properties;
};
enum fz_code fz_metadata_create(const struct fz_table_create *create, int64_t now_ms, struct fz_metadata **out,
                                struct fz_err *err);

// base (NULL only with ASSIGN_UUID first) + updates -> new metadata, last_updated_ms = now_ms, snapshot-log and metadata-log kept
// as Java keeps them (metadata-log gets base->metadata_location, capped by write.metadata.previous-versions-max).
enum fz_code fz_metadata_apply(struct fz_metadata *base, const struct fz_update *updates, size_t n, int64_t now_ms,
                               struct fz_metadata **out, struct fz_err *err);
// CONFLICT naming the requirement that does not hold. `current` NULL: the table does not exist.
enum fz_code fz_requirements_check(const struct fz_requirement *requirements, size_t n,
                                   const struct fz_metadata *current, struct fz_err *err);

#endif
