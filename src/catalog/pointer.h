// The commit protocol of a catalog that keeps one pointer to a metadata file per table: write <V+1>-<uuid>.metadata.json, swap the
// pointer if it still is what was read, ask again when the outcome is not known. A backend implements the pointer alone.
#ifndef FZ_CATALOG_POINTER_H
#define FZ_CATALOG_POINTER_H

#include "catalog/catalog_priv.h"

struct fz_pointer_catalog;
struct fz_pointer_vtable {
    // Nothing is on its way any more when swap or insert has returned (a local database): what is not there then, never will be.
    bool synchronous;
    enum fz_code (*read)(struct fz_pointer_catalog *, const struct fz_table_name *, struct fz_buf *out_location,
                         struct fz_err *); // NOT_FOUND
    enum fz_code (*insert)(struct fz_pointer_catalog *, const struct fz_table_name *, const char *location,
                           struct fz_err *); // EXISTS
    // CONFLICT: the pointer is not `from`, nothing happened. Any other error: it may or may not have happened.
    enum fz_code (*swap)(struct fz_pointer_catalog *, const struct fz_table_name *, const char *from, const char *to,
                         struct fz_err *);
};
struct fz_pointer_catalog {
    struct fz_catalog base;
    const struct fz_pointer_vtable *pointers;
    struct fz_store *store;
    struct fz_metadata_cache cache;
};
// Copies name and warehouse (without slashes at the end).
enum fz_code fz_pointer_catalog_init(struct fz_pointer_catalog *catalog, const struct fz_catalog_vtable *vtable,
                                     const struct fz_pointer_vtable *pointers, const char *name, const char *warehouse,
                                     struct fz_store *store, struct fz_err *err);
void fz_pointer_catalog_dispose(struct fz_pointer_catalog *catalog);
// Members of the catalog's vtable.
enum fz_code fz_pointer_load(struct fz_catalog *, const struct fz_table_name *, struct fz_metadata **out,
                             struct fz_err *);
enum fz_code fz_pointer_commit(struct fz_catalog *, const struct fz_table_name *, const struct fz_requirement *,
                               size_t n_req, const struct fz_update *, size_t n_updates, struct fz_metadata **out,
                               struct fz_err *);
enum fz_code fz_pointer_create(struct fz_catalog *, const struct fz_table_name *, struct fz_metadata *initial,
                               struct fz_metadata **out, struct fz_err *);

#endif
