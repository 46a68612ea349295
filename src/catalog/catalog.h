// Catalogs: name -> table metadata, with an atomic conditional commit (requirements, updates). One vtable; implementations:
// memory, sql (SQLite now, PostgreSQL later; Iceberg's JDBC layout), directory and rest later. Thread-safe.
#ifndef FZ_CATALOG_CATALOG_H
#define FZ_CATALOG_CATALOG_H

#include "store/store.h"
#include "table/update.h"

struct fz_table_name { // borrowed
    const char *const *levels; // namespace
    size_t n_levels;
    const char *name; // NULL: a namespace alone
};
void fz_table_name_print(struct fz_buf *out, const struct fz_table_name *name); // db.t, back-quoted where needed

struct fz_catalog;
typedef enum fz_code (*fz_name_fn)(void *ctx, const struct fz_table_name *name, struct fz_err *err);

struct fz_catalog_vtable {
    const char *type; // "jdbc", "memory"
    void (*free)(struct fz_catalog *);
    // NOT_FOUND (TABLE_OR_VIEW_NOT_FOUND) when absent.
    enum fz_code (*load)(struct fz_catalog *, const struct fz_table_name *, struct fz_metadata **out, struct fz_err *);
    // Checks the requirements against the current metadata, applies the updates, writes the new metadata file and swaps the pointer
    // if it still is what was read. REQUIRE_CREATE among the requirements: creates (updates start from `create`, see fz_catalog_create).
    // CONFLICT: somebody else was faster, nothing happened, retry with fresh metadata. COMMIT_UNKNOWN: outcome not known even after
    // asking (commit.status-check.*); nothing was deleted. EXISTS on create.
    enum fz_code (*commit)(struct fz_catalog *, const struct fz_table_name *, const struct fz_requirement *,
                           size_t n_req, const struct fz_update *, size_t n_updates, struct fz_metadata **out,
                           struct fz_err *);
    // EXISTS (TABLE_OR_VIEW_ALREADY_EXISTS) when the name is taken. Sets initial->metadata_location; *out is one more reference to it.
    enum fz_code (*create)(struct fz_catalog *, const struct fz_table_name *, struct fz_metadata *initial,
                           struct fz_metadata **out, struct fz_err *);
    enum fz_code (*drop)(struct fz_catalog *, const struct fz_table_name *,
                         struct fz_err *); // forgets the table; files stay
    enum fz_code (*rename)(struct fz_catalog *, const struct fz_table_name *from, const struct fz_table_name *to,
                           struct fz_err *);
    // Listings are sorted. NOT_FOUND (SCHEMA_NOT_FOUND) when the namespace does not exist.
    enum fz_code (*list_tables)(struct fz_catalog *, const struct fz_table_name *ns, fz_name_fn, void *ctx,
                                struct fz_err *);
    enum fz_code (*namespace_create)(struct fz_catalog *, const struct fz_table_name *ns, const struct fz_property *,
                                     size_t n, struct fz_err *); // EXISTS
    enum fz_code (*namespace_drop)(struct fz_catalog *, const struct fz_table_name *ns,
                                   struct fz_err *); // NOT_FOUND; INVALID_ARG (SCHEMA_NOT_EMPTY)
    enum fz_code (*namespace_exists)(struct fz_catalog *, const struct fz_table_name *ns, bool *out, struct fz_err *);
    enum fz_code (*namespace_list)(struct fz_catalog *, const struct fz_table_name *parent, fz_name_fn, void *ctx,
                                   struct fz_err *);
    // Sorted by key, with `location` (the default one when none was set).
    enum fz_code (*namespace_properties)(struct fz_catalog *, const struct fz_table_name *ns, struct fz_arena *,
                                         struct fz_property **out, size_t *n, struct fz_err *);
    enum fz_code (*namespace_set_properties)(struct fz_catalog *, const struct fz_table_name *ns,
                                             const struct fz_property *set, size_t n_set, const char *const *remove,
                                             size_t n_remove, struct fz_err *);
};
struct fz_catalog {
    const struct fz_catalog_vtable *vtable;
    const char *name; // "local"; owned by the implementation
    const char *warehouse; // root location
};

// `store` is used for metadata files (borrowed, must outlive the catalog).
enum fz_code fz_catalog_memory_new(const char *name, const char *warehouse, struct fz_store *store,
                                   struct fz_catalog **out, struct fz_err *err);
// uri: "jdbc:sqlite:path" or "jdbc:sqlite:file:path". Makes the tables (V1 layout) when missing, honours V0 tables by adding the type column only
// when asked (`jdbc.schema-version`).
enum fz_code fz_catalog_sqlite_new(const char *name, const char *uri, const char *warehouse,
                                   const struct fz_property *properties, size_t n, struct fz_store *store,
                                   struct fz_catalog **out, struct fz_err *err);
// Iceberg's Hadoop layout (iceberg-facts 9.2): <warehouse>/<levels>/<table>/metadata/v<N>.metadata.json.
enum fz_code fz_catalog_directory_new(const char *name, const char *warehouse, const struct fz_property *properties,
                                      size_t n, struct fz_store *store, struct fz_catalog **out, struct fz_err *err);
// Hadoop layout (iceberg-facts 9.2): a folder per namespace and table, version-hint.text and v<N>.metadata.json made with
// put-if-absent. Namespace properties, rename and table locations outside of the warehouse are UNSUPPORTED, as in Java.
enum fz_code fz_catalog_directory_new(const char *name, const char *warehouse, const struct fz_property *properties,
                                      size_t n, struct fz_store *store, struct fz_catalog **out, struct fz_err *err);
void fz_catalog_free(struct fz_catalog *catalog); // NULL is fine
// Where a table goes when CREATE TABLE names no location: <warehouse>/<levels>/<name>, or <namespace location>/<name>.
enum fz_code fz_catalog_default_location(struct fz_catalog *catalog, const struct fz_table_name *name,
                                         struct fz_arena *arena, const char **out, struct fz_err *err);

#endif
