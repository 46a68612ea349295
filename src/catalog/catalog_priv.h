// What the catalogs share: names as text, the errors that everybody raises alike, metadata files, and the commit protocol of
// catalogs that keep one pointer to a metadata file per table (memory, SQL; iceberg-facts 9.1, 9.3).
#ifndef FZ_CATALOG_CATALOG_PRIV_H
#define FZ_CATALOG_CATALOG_PRIV_H

#include "catalog/catalog.h"

// ---- names (catalog.c)

void fz_namespace_print(struct fz_buf *out,
                        const struct fz_table_name *name); // levels joined by '.', unquoted: the key of SQL catalogs
// Splits at '.' into levels of `arena`.
enum fz_code fz_namespace_split(struct fz_arena *arena, const char *text, struct fz_table_name *out,
                                struct fz_err *err);
// "<root>/<levels>/<name>"; name NULL: of the namespace.
char *fz_catalog_path(struct fz_arena *arena, const char *root, const struct fz_table_name *name);

enum fz_code fz_fail_no_table(struct fz_err *err, const struct fz_table_name *name);
enum fz_code fz_fail_table_exists(struct fz_err *err, const struct fz_table_name *name);
enum fz_code fz_fail_no_namespace(struct fz_err *err, const struct fz_table_name *name);
enum fz_code fz_fail_namespace_exists(struct fz_err *err, const struct fz_table_name *name);
enum fz_code fz_fail_namespace_not_empty(struct fz_err *err, const struct fz_table_name *name, const char *what,
                                         int64_t n);

// What a commit makes of the table as it was loaded (`loaded`: how that ended, `why` its error; `current` NULL when there is none):
// checks that it is there, or not there when it is to be created, checks the requirements and applies the updates. Without updates
// *out is a reference to `current`.
enum fz_code fz_catalog_next(const struct fz_table_name *name, enum fz_code loaded, const struct fz_err *why,
                             struct fz_metadata *current, const struct fz_requirement *requirements, size_t n_req,
                             const struct fz_update *updates, size_t n_updates, struct fz_metadata **out,
                             struct fz_err *err);

// From namespaces of any depth, those of one level below `parent`. Calls `fn` for each.
enum fz_code fz_child_namespaces(const struct fz_table_name *parent, const char *const *namespaces, size_t n,
                                 fz_name_fn fn, void *ctx, struct fz_err *err);
// Sorts `properties` by key and adds `location` when it is missing.
enum fz_code fz_namespace_finish_properties(struct fz_catalog *catalog, const struct fz_table_name *ns,
                                            struct fz_arena *arena, struct fz_property **properties, size_t *n,
                                            struct fz_err *err);

// ---- metadata files (metadata_file.c)

// Reads and decodes; CORRUPT when the file is missing (the catalog says that it is there).
enum fz_code fz_metadata_file_read(struct fz_store *store, const char *location, struct fz_metadata **out,
                                   struct fz_err *err);
// Appends the bytes of the file of `metadata`.
enum fz_code fz_metadata_file_encode(const struct fz_metadata *metadata, bool gzip, struct fz_buf *out,
                                     struct fz_err *err);
bool fz_metadata_is_gzip(const struct fz_metadata *metadata);
// "<metadata folder>/<NNNNN>-<uuid>.metadata.json", one version above `base` (NULL: 00000).
char *fz_metadata_file_name(struct fz_arena *arena, const struct fz_metadata *metadata, const struct fz_metadata *base);
// write.metadata.delete-after-commit.enabled: removes the files that fell off the metadata log. Failures do not matter.
void fz_metadata_files_expire(struct fz_store *store, const struct fz_metadata *base,
                              const struct fz_metadata *metadata);

// Metadata documents by location, immutable and shared; the oldest goes when full. Thread-safe.
enum { FZ_METADATA_CACHE_SLOTS = 32 };
struct fz_metadata_cache {
    pthread_mutex_t lock;
    struct fz_metadata *slots[FZ_METADATA_CACHE_SLOTS];
    size_t next;
};
void fz_metadata_cache_init(struct fz_metadata_cache *cache);
void fz_metadata_cache_dispose(struct fz_metadata_cache *cache);
struct fz_metadata *fz_metadata_cache_get(struct fz_metadata_cache *cache,
                                          const char *location); // a reference, or NULL
void fz_metadata_cache_put(struct fz_metadata_cache *cache, struct fz_metadata *metadata);

#endif
