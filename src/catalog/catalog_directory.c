// The Hadoop catalog (iceberg-facts 9.2): a namespace is a folder, a table is a folder with metadata/v<N>.metadata.json, and a
// commit is the creation of v<N+1>.metadata.json, which must not exist yet. version-hint.text only saves looking around.
#include "catalog/catalog_priv.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"

struct directory_catalog {
    struct fz_catalog base;
    struct fz_store *store;
};

enum { MAX_VERSION = 1000000000 };

// ---- versions of a table

// Location of version `n`; Java names compressed files v<N>.gz.metadata.json.
static char *version_path(struct fz_arena *arena, const char *table, int64_t n, bool gzip) {
    return fz_arena_printf(arena, "%s/metadata/v%" PRId64 "%s.metadata.json", table, n, gzip ? ".gz" : "");
}

// The file of version `n` under one of its names; NULL (and OK) when there is none.
static enum fz_code find_version(struct directory_catalog *d, struct fz_arena *arena, const char *table, int64_t n,
                                 const char **out, struct fz_err *err) {
    *out = NULL;
    for (int gzip = 0; gzip < 2 && *out == NULL; gzip++) {
        struct fz_err inner = FZ_ERR_INIT;
        int64_t size;
        char *path = version_path(arena, table, n, gzip != 0);
        if (path == NULL) {
            return fz_fail_nomem(err, strlen(table));
        }
        enum fz_code rc = fz_store_size(d->store, path, &size, &inner);
        if (rc == FZ_OK) {
            *out = path;
        } else if (rc != FZ_NOT_FOUND) {
            if (err != NULL && err->code == FZ_OK) {
                *err = inner;
            }
            return rc;
        }
    }
    return FZ_OK;
}

// What the hint says; 0 when it is missing or not a number.
static int64_t read_hint(struct directory_catalog *d, const char *table) {
    struct fz_buf path = {0}, text = {0};
    struct fz_err ignored = FZ_ERR_INIT;
    int64_t version = 0;
    fz_buf_printf(&path, "%s/metadata/version-hint.text", table);
    if (!path.failed && fz_store_read_all(d->store, path.ptr, 64, &text, &ignored) == FZ_OK) {
        while (text.len > 0 && (unsigned char)text.ptr[text.len - 1] <= ' ') {
            text.len--;
        }
        if (!fz_parse_i64((struct fz_str){text.ptr, text.len}, &version) || version < 1 || version > MAX_VERSION) {
            version = 0;
        }
    }
    fz_buf_dispose(&path);
    fz_buf_dispose(&text);
    return version;
}

// N of "…/v<N>.metadata.json" or "…/v<N>.gz.metadata.json"; 0 for other names.
static int64_t version_of_name(const char *location) {
    const char *slash = strrchr(location, '/'), *name = slash != NULL ? slash + 1 : location;
    int64_t n;
    size_t digits = name[0] == 'v' ? strspn(name + 1, "0123456789") : 0;
    const char *rest = name + 1 + digits;
    bool fits = digits > 0 && (strcmp(rest, ".metadata.json") == 0 || strcmp(rest, ".gz.metadata.json") == 0);
    return fits && fz_parse_i64((struct fz_str){name + 1, digits}, &n) && n <= MAX_VERSION ? n : 0;
}

static enum fz_code note_version(void *ctx, const struct fz_list_entry *entry, struct fz_err *err) {
    int64_t n = entry->size_bytes >= 0 ? version_of_name(entry->location) : 0, *max = ctx;
    (void)err;
    *max = n > *max ? n : *max;
    return FZ_OK;
}

// The newest version of a table: from the hint, or from a listing when the hint is of no use, then forward as long as there are
// files (a hint may be behind, never ahead). *out NULL: there is no table.
static enum fz_code current_version(struct directory_catalog *d, struct fz_arena *arena, const char *table,
                                    const char **out, int64_t *n_out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t n = read_hint(d, table);
    const char *found = NULL;
    if (n > 0) {
        FZ_TRY(find_version(d, arena, table, n, &found, err));
    }
    if (found == NULL) {
        n = 0;
        char *folder = fz_arena_printf(arena, "%s/metadata", table);
        if (folder == NULL) {
            return fz_fail_nomem(err, strlen(table));
        }
        FZ_TRY(fz_store_list_folder(d->store, folder, note_version, &n, err));
        if (n > 0) {
            FZ_TRY(find_version(d, arena, table, n, &found, err));
        }
    }
    for (const char *next = found; next != NULL;) {
        FZ_TRY(find_version(d, arena, table, n + 1, &next, err));
        if (next != NULL) {
            found = next;
            n++;
        }
    }
    *out = found;
    *n_out = n;
out:
    return rc;
}

// Table at its newest version; NOT_FOUND when there is none. Not cached: a table that was dropped and made again has the same names.
static enum fz_code load_table(struct directory_catalog *d, const struct fz_table_name *name, const char *table,
                               struct fz_metadata **out, int64_t *version, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    const char *location = NULL;
    FZ_TRY(current_version(d, &arena, table, &location, version, err));
    rc = location == NULL ? fz_fail_no_table(err, name) : fz_metadata_file_read(d->store, location, out, err);
out:
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code path_of(struct directory_catalog *d, struct fz_arena *arena, const struct fz_table_name *name,
                            char **out, struct fz_err *err) {
    for (size_t i = 0; i <= name->n_levels; i++) {
        const char *part = i < name->n_levels ? name->levels[i] : name->name;
        if (part != NULL &&
            (part[0] == 0 || strchr(part, '/') != NULL || strcmp(part, ".") == 0 || strcmp(part, "..") == 0)) {
            return fz_fail(err, FZ_INVALID_ARG, "'%s' cannot be the name of a folder", part);
        }
    }
    *out = fz_catalog_path(arena, d->base.warehouse, name);
    return *out != NULL ? FZ_OK : fz_fail_nomem(err, strlen(d->base.warehouse));
}

static enum fz_code directory_load(struct fz_catalog *base, const struct fz_table_name *name, struct fz_metadata **out,
                                   struct fz_err *err) {
    struct directory_catalog *d = (struct directory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    char *table;
    int64_t version;
    FZ_TRY(path_of(d, &arena, name, &table, err));
    FZ_TRY(load_table(d, name, table, out, &version, err));
out:
    fz_arena_dispose(&arena);
    return rc;
}

// ---- commit

// After a put that failed: is what is there what we wrote?
static bool is_ours(struct directory_catalog *d, const char *location, const struct fz_buf *bytes) {
    struct fz_buf there = {0};
    struct fz_err ignored = FZ_ERR_INIT;
    bool same = fz_store_read_all(d->store, location, bytes->len, &there, &ignored) == FZ_OK &&
                fz_str_eq((struct fz_str){there.ptr, there.len}, (struct fz_str){bytes->ptr, bytes->len});
    fz_buf_dispose(&there);
    return same;
}

// Stores whose failed put has certainly not happened when nothing is there.
static bool is_synchronous(const char *location) {
    struct fz_str scheme = fz_location_scheme(location);
    return scheme.len == 0 || fz_str_eq(scheme, FZ_STR_LIT("file")) || fz_str_eq(scheme, FZ_STR_LIT("memory"));
}

static void write_hint(struct directory_catalog *d, const char *table, int64_t version) {
    struct fz_buf path = {0};
    struct fz_err ignored = FZ_ERR_INIT;
    char text[24];
    int len = snprintf(text, sizeof text, "%" PRId64, version);
    fz_buf_printf(&path, "%s/metadata/version-hint.text", table);
    if (!path.failed) {
        fz_store_put(d->store, path.ptr, text, (size_t)len, false, &ignored); // readers look further than the hint
    }
    fz_buf_dispose(&path);
}

// Both writers of a race must aim at one name, so the base says whether the file is compressed.
static enum fz_code publish(struct directory_catalog *d, const char *table, const struct fz_metadata *base,
                            struct fz_metadata *metadata, int64_t version, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf bytes = {0};
    struct fz_err inner = FZ_ERR_INIT;
    bool gzip = fz_metadata_is_gzip(base != NULL ? base : metadata);
    const char *other = NULL;
    FZ_TRY(find_version(d, &metadata->arena, table, version, &other, err));
    metadata->metadata_location = version_path(&metadata->arena, table, version, gzip);
    if (metadata->metadata_location == NULL) {
        rc = fz_fail_nomem(err, strlen(table));
        goto out;
    }
    FZ_TRY(fz_metadata_file_encode(metadata, gzip, &bytes, err));
    FZ_FAIL_POINT("commit.metadata");
    rc = other != NULL ? FZ_EXISTS
                       : fz_store_put(d->store, metadata->metadata_location, bytes.ptr, bytes.len, true, &inner);
    FZ_FAIL_POINT("commit.swapped");
    if (rc != FZ_OK && other == NULL && is_ours(d, metadata->metadata_location, &bytes)) {
        rc = FZ_OK; // it took place, only the answer was lost
    } else if (rc == FZ_EXISTS) {
        rc = fz_fail(err, FZ_CONFLICT, "another commit made version %" PRId64 " of the table", version);
        if (err != NULL) {
            err->flags |= FZ_ERR_RETRYABLE;
        }
    } else if (rc != FZ_OK && !is_synchronous(metadata->metadata_location)) {
        rc = fz_fail(err, FZ_COMMIT_UNKNOWN,
                     "it is not known whether %s was made: %s. Nothing was removed; look whether it is there before "
                     "trying again",
                     metadata->metadata_location, inner.message);
        if (err != NULL) {
            err->flags |= FZ_ERR_STATE_UNKNOWN;
        }
    } else if (rc != FZ_OK && err != NULL && err->code == FZ_OK) {
        *err = inner;
    }
    if (rc == FZ_OK) {
        write_hint(d, table, version);
        fz_metadata_files_expire(d->store, base, metadata);
    }
out:
    fz_buf_dispose(&bytes);
    return rc;
}

static enum fz_code check_place(const struct fz_metadata *metadata, const char *table, struct fz_err *err) {
    size_t len = strlen(metadata->location);
    while (len > 0 && metadata->location[len - 1] == '/') {
        len--;
    }
    if (len != strlen(table) || strncmp(metadata->location, table, len) != 0) {
        return fz_fail(err, FZ_UNSUPPORTED, "a table of a directory catalog lives in %s; it cannot be at %s", table,
                       metadata->location);
    }
    if (fz_metadata_property(metadata, "write.metadata.path", NULL) != NULL) {
        return fz_fail(err, FZ_UNSUPPORTED, "write.metadata.path cannot be set on a table of a directory catalog");
    }
    return FZ_OK;
}

static enum fz_code directory_commit(struct fz_catalog *base, const struct fz_table_name *name,
                                     const struct fz_requirement *requirements, size_t n_req,
                                     const struct fz_update *updates, size_t n_updates, struct fz_metadata **out,
                                     struct fz_err *err) {
    struct directory_catalog *d = (struct directory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_metadata *current = NULL, *metadata = NULL;
    struct fz_err inner = FZ_ERR_INIT;
    char *table;
    int64_t version = 0;
    FZ_TRY(path_of(d, &arena, name, &table, err));
    rc = load_table(d, name, table, &current, &version, &inner);
    FZ_TRY(fz_catalog_next(name, rc, &inner, current, requirements, n_req, updates, n_updates, &metadata, err));
    if (metadata == current) { // nothing to do
        *out = metadata;
        metadata = NULL;
        goto out;
    }
    if (current == NULL || strcmp(metadata->location, current->location) != 0 ||
        fz_metadata_property(metadata, "write.metadata.path", NULL) != NULL) {
        FZ_TRY(check_place(metadata, table, err)); // a table that was moved as a whole keeps its old location
    }
    FZ_TRY(publish(d, table, current, metadata, version + 1, err));
    *out = metadata;
    metadata = NULL;
out:
    fz_metadata_unref(metadata);
    fz_metadata_unref(current);
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code directory_create(struct fz_catalog *base, const struct fz_table_name *name,
                                     struct fz_metadata *initial, struct fz_metadata **out, struct fz_err *err) {
    struct directory_catalog *d = (struct directory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    const char *there = NULL;
    char *table;
    int64_t version = 0;
    struct fz_err inner = FZ_ERR_INIT;
    FZ_TRY(path_of(d, &arena, name, &table, err));
    FZ_TRY(check_place(initial, table, err));
    FZ_TRY(current_version(d, &arena, table, &there, &version, err));
    rc = there != NULL ? FZ_CONFLICT : publish(d, table, NULL, initial, 1, &inner);
    if (rc == FZ_CONFLICT) {
        rc = fz_fail_table_exists(err, name);
    } else if (rc != FZ_OK && err != NULL && err->code == FZ_OK) {
        *err = inner;
    }
    if (rc == FZ_OK) {
        *out = fz_metadata_ref(initial);
    }
out:
    fz_arena_dispose(&arena);
    return rc;
}

// The folder is the table, so dropping it removes the folder; the hint and the metadata go first, so that it is gone at once.
static enum fz_code directory_drop(struct fz_catalog *base, const struct fz_table_name *name, struct fz_err *err) {
    struct directory_catalog *d = (struct directory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    const char *there = NULL;
    char *table;
    int64_t version = 0;
    FZ_TRY(path_of(d, &arena, name, &table, err));
    FZ_TRY(current_version(d, &arena, table, &there, &version, err));
    if (there == NULL) {
        rc = fz_fail_no_table(err, name);
        goto out;
    }
    char *metadata = fz_arena_printf(&arena, "%s/metadata", table);
    if (metadata == NULL) {
        rc = fz_fail_nomem(err, strlen(table));
        goto out;
    }
    FZ_TRY(fz_store_remove_folder(d->store, metadata, err));
    FZ_TRY(fz_store_remove_folder(d->store, table, err));
out:
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code directory_rename(struct fz_catalog *base, const struct fz_table_name *from,
                                     const struct fz_table_name *to, struct fz_err *err) {
    (void)base;
    (void)from;
    (void)to;
    return fz_fail(err, FZ_UNSUPPORTED, "tables of a directory catalog cannot be renamed: their name is their folder");
}

// ---- namespaces

struct folders {
    struct fz_arena arena;
    const char **names; // of the folders, without the path
    size_t n, cap;
    size_t n_files;
};

static enum fz_code note_folder(void *ctx, const struct fz_list_entry *entry, struct fz_err *err) {
    struct folders *f = ctx;
    const char *slash = strrchr(entry->location, '/');
    if (entry->size_bytes >= 0) {
        f->n_files++;
        return FZ_OK;
    }
    enum fz_code rc = fz_grow((void **)&f->names, &f->cap, f->n + 1, sizeof *f->names, err);
    if (rc != FZ_OK) {
        return rc;
    }
    f->names[f->n] = fz_arena_strdup(&f->arena, slash != NULL ? slash + 1 : entry->location);
    return f->names[f->n++] != NULL ? FZ_OK : fz_fail_nomem(err, 1);
}

static void folders_dispose(struct folders *f) {
    fz_free(f->names);
    fz_arena_dispose(&f->arena);
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum fz_code folders_of(struct directory_catalog *d, const char *path, struct folders *out, struct fz_err *err) {
    enum fz_code rc = fz_store_list_folder(d->store, path, note_folder, out, err);
    if (rc == FZ_OK && out->n > 1) {
        qsort(out->names, out->n, sizeof *out->names, compare_texts);
    }
    return rc;
}

// A folder that holds a table.
static enum fz_code is_table(struct directory_catalog *d, const char *path, bool *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf folder = {0};
    int64_t n = 0;
    fz_buf_printf(&folder, "%s/metadata", path);
    FZ_TRY(fz_buf_check(&folder, err));
    FZ_TRY(fz_store_list_folder(d->store, folder.ptr, note_version, &n, err));
    *out = n > 0;
out:
    fz_buf_dispose(&folder);
    return rc;
}

struct search {
    const char *name;
    bool found;
};

static enum fz_code note_name(void *ctx, const struct fz_list_entry *entry, struct fz_err *err) {
    struct search *s = ctx;
    const char *slash = strrchr(entry->location, '/');
    (void)err;
    s->found = s->found || (entry->size_bytes < 0 && slash != NULL && strcmp(slash + 1, s->name) == 0);
    return FZ_OK;
}

static enum fz_code namespace_is_there(struct directory_catalog *d, const struct fz_table_name *ns, const char *path,
                                       bool *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    bool table = false;
    *out = ns->n_levels == 0;
    if (*out) {
        return FZ_OK;
    }
    struct fz_table_name parent = {.levels = ns->levels, .n_levels = ns->n_levels - 1};
    struct search search = {.name = ns->levels[ns->n_levels - 1]};
    char *parent_path;
    FZ_TRY(path_of(d, &arena, &parent, &parent_path, err));
    FZ_TRY(fz_store_list_folder(d->store, parent_path, note_name, &search, err));
    if (search.found) {
        FZ_TRY(is_table(d, path, &table, err));
    }
    *out = search.found && !table;
out:
    fz_arena_dispose(&arena);
    return rc;
}

// Path of a namespace that must exist.
static enum fz_code require_namespace(struct directory_catalog *d, struct fz_arena *arena,
                                      const struct fz_table_name *name, char **path, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_table_name ns = {.levels = name->levels, .n_levels = name->n_levels};
    bool exists = false;
    FZ_TRY(path_of(d, arena, &ns, path, err));
    FZ_TRY(namespace_is_there(d, &ns, *path, &exists, err));
    rc = exists ? FZ_OK : fz_fail_no_namespace(err, &ns);
out:
    return rc;
}

// Tables, or namespaces, among the folders of a namespace.
static enum fz_code list_children(struct directory_catalog *d, const struct fz_table_name *parent, bool tables,
                                  fz_name_fn fn, void *ctx, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct folders folders = {0};
    char *path;
    FZ_TRY(require_namespace(d, &arena, parent, &path, err));
    FZ_TRY(folders_of(d, path, &folders, err));
    const char **levels = fz_arena_array(&arena, parent->n_levels + 1, sizeof *levels);
    if (levels == NULL) {
        rc = fz_fail_nomem(err, parent->n_levels);
        goto out;
    }
    for (size_t i = 0; i < parent->n_levels; i++) {
        levels[i] = parent->levels[i];
    }
    for (size_t i = 0; i < folders.n; i++) {
        bool table = false;
        char *child = fz_arena_printf(&arena, "%s/%s", path, folders.names[i]);
        if (child == NULL) {
            rc = fz_fail_nomem(err, strlen(path));
            goto out;
        }
        FZ_TRY(is_table(d, child, &table, err));
        if (table == tables) {
            levels[parent->n_levels] = folders.names[i];
            struct fz_table_name name = {
                .levels = levels, .n_levels = parent->n_levels + !tables, .name = tables ? folders.names[i] : NULL};
            FZ_TRY(fn(ctx, &name, err));
        }
    }
out:
    folders_dispose(&folders);
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code directory_list_tables(struct fz_catalog *base, const struct fz_table_name *ns, fz_name_fn fn,
                                          void *ctx, struct fz_err *err) {
    return list_children((struct directory_catalog *)base, ns, true, fn, ctx, err);
}

static enum fz_code directory_namespace_list(struct fz_catalog *base, const struct fz_table_name *parent, fz_name_fn fn,
                                             void *ctx, struct fz_err *err) {
    return list_children((struct directory_catalog *)base, parent, false, fn, ctx, err);
}

static enum fz_code directory_namespace_exists(struct fz_catalog *base, const struct fz_table_name *ns, bool *out,
                                               struct fz_err *err) {
    struct directory_catalog *d = (struct directory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    char *path;
    FZ_TRY(path_of(d, &arena, ns, &path, err));
    FZ_TRY(namespace_is_there(d, ns, path, out, err));
out:
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code no_properties(struct fz_err *err) {
    return fz_fail(err, FZ_UNSUPPORTED, "namespaces of a directory catalog have no properties");
}

static enum fz_code directory_namespace_create(struct fz_catalog *base, const struct fz_table_name *ns,
                                               const struct fz_property *properties, size_t n, struct fz_err *err) {
    struct directory_catalog *d = (struct directory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    bool exists = false;
    char *path;
    (void)properties;
    if (n > 0) {
        return no_properties(err);
    }
    FZ_TRY(path_of(d, &arena, ns, &path, err));
    FZ_TRY(namespace_is_there(d, ns, path, &exists, err));
    if (exists) {
        rc = fz_fail_namespace_exists(err, ns);
        goto out;
    }
    FZ_TRY(fz_store_make_folder(d->store, path, err));
out:
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code directory_namespace_drop(struct fz_catalog *base, const struct fz_table_name *ns,
                                             struct fz_err *err) {
    struct directory_catalog *d = (struct directory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct folders folders = {0};
    char *path, *marker;
    if (ns->n_levels == 0) {
        return fz_fail_no_namespace(err, ns);
    }
    FZ_TRY(require_namespace(d, &arena, ns, &path, err));
    FZ_TRY(folders_of(d, path, &folders, err));
    if (folders.n + folders.n_files > 0) {
        rc = fz_fail_namespace_not_empty(err, ns, "table(s), child namespace(s) or file(s)",
                                         (int64_t)(folders.n + folders.n_files));
        goto out;
    }
    marker = fz_arena_printf(&arena, "%s/", path);
    if (marker == NULL) {
        rc = fz_fail_nomem(err, strlen(path));
        goto out;
    }
    FZ_TRY(fz_store_remove(d->store, marker, err));
out:
    folders_dispose(&folders);
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code directory_namespace_properties(struct fz_catalog *base, const struct fz_table_name *ns,
                                                   struct fz_arena *arena, struct fz_property **out, size_t *n,
                                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    char *path;
    FZ_TRY(require_namespace((struct directory_catalog *)base, arena, ns, &path, err));
    *out = NULL;
    *n = 0;
    FZ_TRY(fz_namespace_finish_properties(base, ns, arena, out, n, err));
out:
    return rc;
}

static enum fz_code directory_namespace_set_properties(struct fz_catalog *base, const struct fz_table_name *ns,
                                                       const struct fz_property *set, size_t n_set,
                                                       const char *const *remove, size_t n_remove, struct fz_err *err) {
    (void)base;
    (void)ns;
    (void)set;
    (void)remove;
    return n_set + n_remove == 0 ? FZ_OK : no_properties(err);
}

static void directory_free(struct fz_catalog *base) {
    struct directory_catalog *d = (struct directory_catalog *)base;
    fz_free((char *)d->base.name);
    fz_free((char *)d->base.warehouse);
    fz_free(d);
}

static const struct fz_catalog_vtable directory_vtable = {
    .type = "hadoop",
    .free = directory_free,
    .load = directory_load,
    .commit = directory_commit,
    .create = directory_create,
    .drop = directory_drop,
    .rename = directory_rename,
    .list_tables = directory_list_tables,
    .namespace_create = directory_namespace_create,
    .namespace_drop = directory_namespace_drop,
    .namespace_exists = directory_namespace_exists,
    .namespace_list = directory_namespace_list,
    .namespace_properties = directory_namespace_properties,
    .namespace_set_properties = directory_namespace_set_properties,
};

enum fz_code fz_catalog_directory_new(const char *name, const char *warehouse, const struct fz_property *properties,
                                      size_t n, struct fz_store *store, struct fz_catalog **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct directory_catalog *d = NULL;
    size_t len = strlen(warehouse);
    (void)properties;
    (void)n;
    while (len > 1 && warehouse[len - 1] == '/') {
        len--;
    }
    FZ_NEW(d, err);
    d->base.vtable = &directory_vtable;
    d->base.name = fz_strdup(name);
    d->base.warehouse = fz_strndup(warehouse, len);
    d->store = store;
    if (d->base.name == NULL || d->base.warehouse == NULL) {
        directory_free(&d->base);
        rc = fz_fail_nomem(err, len);
        goto out;
    }
    *out = &d->base;
out:
    return rc;
}
