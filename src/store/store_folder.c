// Folders on top of a store: what is directly in one, making an empty one, removing one with all that is below.
#include "store/store.h"

#include "base/map.h"

enum { MAX_FOLDER_DEPTH = 128 };

// ---- direct children, worked out from the recursive listing

struct children {
    struct fz_map folders; // names seen
    size_t root_len;
    fz_list_fn fn;
    void *ctx;
};

static enum fz_code note_child(void *ctx, const struct fz_list_entry *entry, struct fz_err *err) {
    struct children *c = ctx;
    const char *slash = strchr(entry->location + c->root_len + 1, '/');
    if (slash == NULL) {
        return c->fn(c->ctx, entry, err);
    }
    enum fz_code rc = FZ_OK;
    struct fz_map_entry *seen;
    bool added;
    struct fz_str folder = {entry->location, (size_t)(slash - entry->location)};
    FZ_TRY(fz_map_put(&c->folders, folder, &seen, &added, err));
    if (added) {
        struct fz_list_entry as_folder = {
            .location = seen->key.ptr, .size_bytes = -1, .modified_us = entry->modified_us};
        rc = c->fn(c->ctx, &as_folder, err);
    }
out:
    return rc;
}

enum fz_code fz_store_list_folder(struct fz_store *store, const char *folder, fz_list_fn fn, void *ctx,
                                  struct fz_err *err) {
    if (store->vtable->list_folder != NULL) {
        return store->vtable->list_folder(store, folder, fn, ctx, err);
    }
    struct children c = {.root_len = strlen(folder), .fn = fn, .ctx = ctx};
    while (c.root_len > 0 && folder[c.root_len - 1] == '/') {
        c.root_len--;
    }
    enum fz_code rc = fz_store_list(store, folder, note_child, &c, err);
    fz_map_dispose(&c.folders);
    return rc;
}

// ---- making

static char *with_slash(const char *folder) {
    size_t len = strlen(folder);
    while (len > 0 && folder[len - 1] == '/') {
        len--;
    }
    char *out = fz_malloc(len + 2);
    if (out != NULL) {
        memcpy(out, folder, len);
        memcpy(out + len, "/", 2);
    }
    return out;
}

enum fz_code fz_store_make_folder(struct fz_store *store, const char *folder, struct fz_err *err) {
    char *marker = with_slash(folder);
    if (marker == NULL) {
        return fz_fail_nomem(err, strlen(folder));
    }
    enum fz_code rc = fz_store_put(store, marker, NULL, 0, false, err);
    fz_free(marker);
    return rc;
}

// ---- removing

struct contents {
    struct fz_arena arena;
    struct fz_list_entry *entries;
    size_t n, cap;
};

static enum fz_code collect_entry(void *ctx, const struct fz_list_entry *entry, struct fz_err *err) {
    struct contents *c = ctx;
    enum fz_code rc = fz_grow((void **)&c->entries, &c->cap, c->n + 1, sizeof *c->entries, err);
    if (rc != FZ_OK) {
        return rc;
    }
    c->entries[c->n] = *entry;
    c->entries[c->n].location = fz_arena_strdup(&c->arena, entry->location);
    return c->entries[c->n++].location != NULL ? FZ_OK : fz_fail_nomem(err, strlen(entry->location));
}

static enum fz_code remove_below(struct fz_store *store, const char *folder, int depth, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct contents c = {0};
    char *marker = with_slash(folder);
    if (marker == NULL || depth > MAX_FOLDER_DEPTH) {
        fz_free(marker);
        return fz_fail(err, FZ_LIMIT, "folders below %s are nested too deeply", folder);
    }
    FZ_TRY(fz_store_list_folder(store, folder, collect_entry, &c, err));
    for (size_t i = 0; i < c.n; i++) {
        if (c.entries[i].size_bytes < 0) {
            FZ_TRY(remove_below(store, c.entries[i].location, depth + 1, err));
        } else {
            FZ_TRY(fz_store_remove(store, c.entries[i].location, err));
        }
    }
    FZ_TRY(fz_store_remove(store, marker, err));
out:
    fz_free(marker);
    fz_free(c.entries);
    fz_arena_dispose(&c.arena);
    return rc;
}

enum fz_code fz_store_remove_folder(struct fz_store *store, const char *folder, struct fz_err *err) {
    return remove_below(store, folder, 0, err);
}
