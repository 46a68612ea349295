// What is the same in every catalog: names as text, default locations, the errors about names, sorted listings.
#include "catalog/catalog_priv.h"

#include <ctype.h>
#include <stdlib.h>

#include "base/text.h"

void fz_catalog_free(struct fz_catalog *catalog) {
    if (catalog != NULL) {
        catalog->vtable->free(catalog);
    }
}

static void print_part(struct fz_buf *out, const char *part) {
    bool plain = isalpha((unsigned char)part[0]) || part[0] == '_';
    for (const char *p = part; *p != 0; p++) {
        plain = plain && (isalnum((unsigned char)*p) || *p == '_');
    }
    if (plain) {
        fz_buf_puts(out, part);
        return;
    }
    fz_buf_putc(out, '`');
    for (const char *p = part; *p != 0; p++) {
        fz_buf_puts(out, *p == '`' ? "`" : "");
        fz_buf_putc(out, *p);
    }
    fz_buf_putc(out, '`');
}

void fz_table_name_print(struct fz_buf *out, const struct fz_table_name *name) {
    for (size_t i = 0; i < name->n_levels; i++) {
        fz_buf_puts(out, i > 0 ? "." : "");
        print_part(out, name->levels[i]);
    }
    if (name->name != NULL) {
        fz_buf_puts(out, name->n_levels > 0 ? "." : "");
        print_part(out, name->name);
    }
}

void fz_namespace_print(struct fz_buf *out, const struct fz_table_name *name) {
    fz_buf_puts(out, ""); // the namespace of no levels is the empty text
    for (size_t i = 0; i < name->n_levels; i++) {
        fz_buf_puts(out, i > 0 ? "." : "");
        fz_buf_puts(out, name->levels[i]);
    }
}

enum fz_code fz_namespace_split(struct fz_arena *arena, const char *text, struct fz_table_name *out,
                                struct fz_err *err) {
    size_t n = 1;
    for (const char *p = text; *p != 0; p++) {
        n += *p == '.';
    }
    char *copy = fz_arena_strdup(arena, text);
    const char **levels = fz_arena_array(arena, n, sizeof *levels);
    if (copy == NULL || levels == NULL) {
        return fz_fail_nomem(err, strlen(text));
    }
    *out = (struct fz_table_name){.levels = levels};
    while (*copy != 0) {
        char *dot = strchr(copy, '.');
        levels[out->n_levels++] = copy;
        if (dot == NULL) {
            break;
        }
        *dot = 0;
        copy = dot + 1;
    }
    return FZ_OK;
}

char *fz_catalog_path(struct fz_arena *arena, const char *root, const struct fz_table_name *name) {
    struct fz_buf path = {0};
    fz_buf_puts(&path, root);
    for (size_t i = 0; i < name->n_levels; i++) {
        fz_buf_printf(&path, "/%s", name->levels[i]);
    }
    if (name->name != NULL) {
        fz_buf_printf(&path, "/%s", name->name);
    }
    char *out = path.failed ? NULL : fz_arena_strndup(arena, path.ptr, path.len);
    fz_buf_dispose(&path);
    return out;
}

// Names become folders: one that leads out of its own would write over the files of others.
static enum fz_code check_path_part(const char *part, struct fz_err *err) {
    for (const char *p = part;; p++) {
        size_t len = strcspn(p, "/\\");
        if (len == 0 || (len <= 2 && strncmp(p, "..", len) == 0)) {
            return fz_fail(err, FZ_INVALID_ARG,
                           "'%s' cannot be the name of a folder; choose another name, or give the table a LOCATION",
                           part);
        }
        p += len;
        if (*p == 0) {
            return FZ_OK;
        }
    }
}

enum fz_code fz_catalog_default_location(struct fz_catalog *catalog, const struct fz_table_name *name,
                                         struct fz_arena *arena, const char **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_table_name ns = {.levels = name->levels, .n_levels = name->n_levels};
    bool exists = false;
    struct fz_property *properties = NULL;
    size_t n = 0;
    const char *location = NULL;
    for (size_t i = 0; i < name->n_levels; i++) {
        FZ_TRY(check_path_part(name->levels[i], err));
    }
    FZ_TRY(check_path_part(name->name, err));
    if (name->n_levels > 0) {
        FZ_TRY(catalog->vtable->namespace_exists(catalog, &ns, &exists, err));
    }
    if (exists) {
        FZ_TRY(catalog->vtable->namespace_properties(catalog, &ns, arena, &properties, &n, err));
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(properties[i].key, "location") == 0 && properties[i].value[0] != 0) {
            size_t len = strlen(properties[i].value);
            while (len > 1 && properties[i].value[len - 1] == '/') {
                len--;
            }
            location = fz_arena_printf(arena, "%.*s/%s", (int)len, properties[i].value, name->name);
            *out = location;
            return location != NULL ? FZ_OK : fz_fail_nomem(err, len);
        }
    }
    location = fz_catalog_path(arena, catalog->warehouse, name);
    if (location == NULL) {
        return fz_fail_nomem(err, strlen(catalog->warehouse));
    }
    *out = location;
out:
    return rc;
}

// "there is no <what> <name>" or "there already is a <what> <name>".
static enum fz_code fail_about(struct fz_err *err, enum fz_code code, const char *condition, const char *what,
                               const struct fz_table_name *name) {
    struct fz_buf text = {0};
    fz_table_name_print(&text, name);
    enum fz_code rc = fz_fail_cond(err, code, condition, "there %s %s %s", code == FZ_EXISTS ? "already is a" : "is no",
                                   what, text.ptr != NULL ? text.ptr : "");
    fz_buf_dispose(&text);
    return rc;
}

enum fz_code fz_fail_no_table(struct fz_err *err, const struct fz_table_name *name) {
    return fail_about(err, FZ_NOT_FOUND, "TABLE_OR_VIEW_NOT_FOUND", "table or view", name);
}

enum fz_code fz_fail_table_exists(struct fz_err *err, const struct fz_table_name *name) {
    return fail_about(err, FZ_EXISTS, "TABLE_OR_VIEW_ALREADY_EXISTS", "table or view", name);
}

enum fz_code fz_fail_no_namespace(struct fz_err *err, const struct fz_table_name *name) {
    return fail_about(err, FZ_NOT_FOUND, "SCHEMA_NOT_FOUND", "namespace", name);
}

enum fz_code fz_fail_namespace_exists(struct fz_err *err, const struct fz_table_name *name) {
    return fail_about(err, FZ_EXISTS, "SCHEMA_ALREADY_EXISTS", "namespace", name);
}

enum fz_code fz_fail_namespace_not_empty(struct fz_err *err, const struct fz_table_name *name, const char *what,
                                         int64_t n) {
    struct fz_buf text = {0};
    fz_table_name_print(&text, name);
    enum fz_code rc = fz_fail_cond(err, FZ_INVALID_ARG, "SCHEMA_NOT_EMPTY",
                                   "the namespace %s is not empty: it holds %lld %s; drop them first",
                                   text.ptr != NULL ? text.ptr : "", (long long)n, what);
    fz_buf_dispose(&text);
    return rc;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

// `text` = "a.b.c", `prefix` = "a" (or empty): "a.b" in `out`, or false when it is not below the prefix.
static bool child_of(struct fz_arena *arena, const char *text, struct fz_str prefix, const char **out, bool *nomem) {
    size_t start = prefix.len;
    if (start > 0) {
        if (strncmp(text, prefix.ptr, start) != 0 || text[start] != '.') {
            return false;
        }
        start++;
    }
    size_t end = start + strcspn(text + start, ".");
    if (end == start) {
        return false; // the empty namespace
    }
    *out = fz_arena_strndup(arena, text, end);
    *nomem = *nomem || *out == NULL;
    return *out != NULL;
}

enum fz_code fz_child_namespaces(const struct fz_table_name *parent, const char *const *namespaces, size_t n,
                                 fz_name_fn fn, void *ctx, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_buf prefix = {0};
    bool nomem = false;
    size_t n_children = 0;
    fz_namespace_print(&prefix, parent);
    const char **children = fz_arena_array(&arena, n, sizeof *children);
    if (children == NULL || prefix.failed) {
        rc = fz_fail_nomem(err, n * sizeof *children);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        n_children +=
            child_of(&arena, namespaces[i], (struct fz_str){prefix.ptr, prefix.len}, &children[n_children], &nomem);
    }
    if (nomem) {
        rc = fz_fail_nomem(err, n);
        goto out;
    }
    if (n_children > 1) {
        qsort(children, n_children, sizeof *children, compare_texts);
    }
    for (size_t i = 0; i < n_children; i++) {
        if (i == 0 || strcmp(children[i], children[i - 1]) != 0) {
            struct fz_table_name name;
            FZ_TRY(fz_namespace_split(&arena, children[i], &name, err));
            FZ_TRY(fn(ctx, &name, err));
        }
    }
out:
    fz_buf_dispose(&prefix);
    fz_arena_dispose(&arena);
    return rc;
}

static int compare_properties(const void *a, const void *b) {
    return strcmp(((const struct fz_property *)a)->key, ((const struct fz_property *)b)->key);
}

enum fz_code fz_namespace_finish_properties(struct fz_catalog *catalog, const struct fz_table_name *ns,
                                            struct fz_arena *arena, struct fz_property **properties, size_t *n,
                                            struct fz_err *err) {
    bool has_location = false;
    for (size_t i = 0; i < *n; i++) {
        has_location = has_location || strcmp((*properties)[i].key, "location") == 0;
    }
    if (!has_location) {
        struct fz_property *more = fz_arena_array(arena, *n + 1, sizeof *more);
        char *location = fz_catalog_path(arena, catalog->warehouse, ns);
        if (more == NULL || location == NULL) {
            return fz_fail_nomem(err, *n * sizeof *more);
        }
        if (*n > 0) {
            memcpy(more, *properties, *n * sizeof *more);
        }
        more[*n] = (struct fz_property){"location", location};
        *properties = more;
        ++*n;
    }
    qsort(*properties, *n, sizeof **properties, compare_properties);
    return FZ_OK;
}

static bool creates(const struct fz_requirement *requirements, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (requirements[i].kind == FZ_REQUIRE_CREATE) {
            return true;
        }
    }
    return false;
}

enum fz_code fz_catalog_next(const struct fz_table_name *name, enum fz_code loaded, const struct fz_err *why,
                             struct fz_metadata *current, const struct fz_requirement *requirements, size_t n_req,
                             const struct fz_update *updates, size_t n_updates, struct fz_metadata **out,
                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool create = creates(requirements, n_req);
    if (create && loaded == FZ_OK) {
        return fz_fail_table_exists(err, name);
    }
    if (loaded != FZ_OK && !(create && loaded == FZ_NOT_FOUND)) {
        if (err != NULL && err->code == FZ_OK) {
            *err = *why;
        }
        return loaded;
    }
    FZ_TRY(fz_requirements_check(requirements, n_req, current, err));
    if (n_updates == 0 && current != NULL) {
        *out = fz_metadata_ref(current);
        return FZ_OK;
    }
    FZ_TRY(fz_metadata_apply(current, updates, n_updates, fz_now_us() / 1000, out, err));
out:
    return rc;
}
