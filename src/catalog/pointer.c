// Implementation of catalog/pointer.h.
#include "catalog/pointer.h"

enum fz_code fz_pointer_catalog_init(struct fz_pointer_catalog *catalog, const struct fz_catalog_vtable *vtable,
                                     const struct fz_pointer_vtable *pointers, const char *name, const char *warehouse,
                                     struct fz_store *store, struct fz_err *err) {
    size_t len = strlen(warehouse);
    while (len > 1 && warehouse[len - 1] == '/') {
        len--;
    }
    catalog->base.vtable = vtable;
    catalog->base.name = fz_strdup(name);
    catalog->base.warehouse = fz_strndup(warehouse, len);
    catalog->pointers = pointers;
    catalog->store = store;
    fz_metadata_cache_init(&catalog->cache);
    if (catalog->base.name == NULL || catalog->base.warehouse == NULL) {
        return fz_fail_nomem(err, len);
    }
    return FZ_OK;
}

void fz_pointer_catalog_dispose(struct fz_pointer_catalog *catalog) {
    fz_metadata_cache_dispose(&catalog->cache);
    fz_free((char *)catalog->base.name);
    fz_free((char *)catalog->base.warehouse);
}

static enum fz_code load_at(struct fz_pointer_catalog *catalog, const char *location, struct fz_metadata **out,
                            struct fz_err *err) {
    *out = fz_metadata_cache_get(&catalog->cache, location);
    if (*out != NULL) {
        return FZ_OK;
    }
    enum fz_code rc = fz_metadata_file_read(catalog->store, location, out, err);
    if (rc == FZ_OK) {
        fz_metadata_cache_put(&catalog->cache, *out);
    }
    return rc;
}

enum fz_code fz_pointer_load(struct fz_catalog *base, const struct fz_table_name *name, struct fz_metadata **out,
                             struct fz_err *err) {
    struct fz_pointer_catalog *catalog = (struct fz_pointer_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf location = {0};
    FZ_TRY(catalog->pointers->read(catalog, name, &location, err));
    FZ_TRY(fz_buf_check(&location, err));
    FZ_TRY(load_at(catalog, location.ptr, out, err));
out:
    fz_buf_dispose(&location);
    return rc;
}

static enum fz_code set_location(struct fz_metadata *metadata, const char *location, struct fz_err *err) {
    metadata->metadata_location = fz_arena_strdup(&metadata->arena, location);
    return metadata->metadata_location != NULL ? FZ_OK : fz_fail_nomem(err, strlen(location));
}

enum outcome { OUTCOME_HAPPENED, OUTCOME_DID_NOT, OUTCOME_UNKNOWN };

// Looks once: is `location` the table's metadata, or has it been?
static enum outcome look(struct fz_pointer_catalog *catalog, const struct fz_table_name *name, const char *location) {
    struct fz_err ignored = FZ_ERR_INIT;
    struct fz_buf current = {0};
    struct fz_metadata *metadata = NULL;
    enum outcome outcome = OUTCOME_UNKNOWN;
    enum fz_code rc = catalog->pointers->read(catalog, name, &current, &ignored);
    if (rc == FZ_NOT_FOUND) {
        outcome = OUTCOME_DID_NOT;
    } else if (rc == FZ_OK && !current.failed) {
        if (strcmp(current.ptr, location) == 0) {
            outcome = OUTCOME_HAPPENED;
        } else if (load_at(catalog, current.ptr, &metadata, &ignored) == FZ_OK) {
            outcome = OUTCOME_DID_NOT;
            for (size_t i = 0; i < metadata->n_metadata_log; i++) {
                if (strcmp(metadata->metadata_log[i].file, location) == 0) {
                    outcome = OUTCOME_HAPPENED; // and somebody committed after us
                }
            }
        }
    }
    fz_metadata_unref(metadata);
    fz_buf_dispose(&current);
    return outcome;
}

// Asks the catalog until it answers (commit.status-check.*).
static enum outcome ask(struct fz_pointer_catalog *catalog, const struct fz_table_name *name,
                        const struct fz_metadata *metadata) {
    int64_t tries = fz_metadata_property_i64(metadata, "commit.status-check.num-retries", 3);
    int64_t wait_ms = fz_metadata_property_i64(metadata, "commit.status-check.min-wait-ms", 1000);
    int64_t max_wait_ms = fz_metadata_property_i64(metadata, "commit.status-check.max-wait-ms", 60000);
    int64_t total_ms = fz_metadata_property_i64(metadata, "commit.status-check.total-timeout-ms", 1800000);
    int64_t start_us = fz_monotonic_us();
    for (int64_t i = 0;; i++) {
        enum outcome outcome = look(catalog, name, metadata->metadata_location);
        if (outcome == OUTCOME_DID_NOT && !catalog->pointers->synchronous) {
            outcome = OUTCOME_UNKNOWN; // it may still be on its way
        }
        if (outcome != OUTCOME_UNKNOWN || i >= tries || (fz_monotonic_us() - start_us) / 1000 >= total_ms) {
            return outcome;
        }
        fz_sleep_us(wait_ms * 1000);
        wait_ms = wait_ms * 2 < max_wait_ms ? wait_ms * 2 : max_wait_ms;
    }
}

// The file of `metadata` is written; makes it the table's metadata: pointer from `base` (NULL: a new table) to it.
static enum fz_code publish(struct fz_pointer_catalog *catalog, const struct fz_table_name *name,
                            const struct fz_metadata *base, struct fz_metadata *metadata, struct fz_err *err) {
    struct fz_err inner = FZ_ERR_INIT;
    const char *location = metadata->metadata_location;
    enum fz_code rc = base == NULL ? catalog->pointers->insert(catalog, name, location, &inner)
                                   : catalog->pointers->swap(catalog, name, base->metadata_location, location, &inner);
    FZ_FAIL_POINT("commit.swapped");
    if (rc == FZ_OK) {
        return FZ_OK;
    }
    bool decided = rc == FZ_CONFLICT || (base == NULL && rc == FZ_EXISTS);
    enum outcome outcome = decided ? OUTCOME_DID_NOT : ask(catalog, name, metadata);
    if (outcome == OUTCOME_HAPPENED) {
        return FZ_OK;
    }
    if (outcome == OUTCOME_UNKNOWN) {
        rc = fz_fail(
            err, FZ_COMMIT_UNKNOWN,
            "it is not known whether the commit took place: %s. Nothing was removed; look whether the table's current "
            "metadata is %s before trying again",
            inner.message, location);
        if (err != NULL) {
            err->flags |= FZ_ERR_STATE_UNKNOWN;
        }
        return rc;
    }
    struct fz_err ignored = FZ_ERR_INIT;
    fz_store_remove(catalog->store, location, &ignored); // nobody has seen it
    if (err != NULL && err->code == FZ_OK) {
        *err = inner;
    }
    return rc;
}

static enum fz_code write_and_publish(struct fz_pointer_catalog *catalog, const struct fz_table_name *name,
                                      const struct fz_metadata *base, struct fz_metadata *metadata,
                                      struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_buf bytes = {0};
    char *location = fz_metadata_file_name(&arena, metadata, base);
    if (location == NULL) {
        return fz_fail_nomem(err, strlen(metadata->location));
    }
    FZ_TRY(set_location(metadata, location, err));
    FZ_TRY(fz_metadata_file_encode(metadata, fz_metadata_is_gzip(metadata), &bytes, err));
    FZ_TRY(fz_store_put(catalog->store, location, bytes.ptr, bytes.len, true, err));
    FZ_FAIL_POINT("commit.metadata");
    FZ_TRY(publish(catalog, name, base, metadata, err));
    fz_metadata_cache_put(&catalog->cache, metadata);
    fz_metadata_files_expire(catalog->store, base, metadata);
out:
    fz_buf_dispose(&bytes);
    fz_arena_dispose(&arena);
    return rc;
}

enum fz_code fz_pointer_commit(struct fz_catalog *base, const struct fz_table_name *name,
                               const struct fz_requirement *requirements, size_t n_req, const struct fz_update *updates,
                               size_t n_updates, struct fz_metadata **out, struct fz_err *err) {
    struct fz_pointer_catalog *catalog = (struct fz_pointer_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_metadata *current = NULL, *metadata = NULL;
    struct fz_err inner = FZ_ERR_INIT;
    rc = fz_pointer_load(base, name, &current, &inner);
    FZ_TRY(fz_catalog_next(name, rc, &inner, current, requirements, n_req, updates, n_updates, &metadata, err));
    if (metadata == current) { // nothing to do
        *out = metadata;
        metadata = NULL;
        goto out;
    }
    FZ_TRY(write_and_publish(catalog, name, current, metadata, err));
    *out = metadata;
    metadata = NULL;
out:
    fz_metadata_unref(metadata);
    fz_metadata_unref(current);
    return rc;
}

enum fz_code fz_pointer_create(struct fz_catalog *base, const struct fz_table_name *name, struct fz_metadata *initial,
                               struct fz_metadata **out, struct fz_err *err) {
    struct fz_pointer_catalog *catalog = (struct fz_pointer_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf location = {0};
    struct fz_err ignored = FZ_ERR_INIT;
    if (catalog->pointers->read(catalog, name, &location, &ignored) == FZ_OK) { // spares writing a file for nothing
        rc = fz_fail_table_exists(err, name);
        goto out;
    }
    FZ_TRY(write_and_publish(catalog, name, NULL, initial, err));
    *out = fz_metadata_ref(initial);
out:
    fz_buf_dispose(&location);
    return rc;
}
