// The memory catalog: pointers and namespaces in two small tables under one lock. For tests and for tables that need not last.
#include "catalog/pointer.h"

#include <stdlib.h>

struct memory_table {
    char *ns, *name, *location; // owned
};
struct memory_namespace {
    char *ns;
    struct fz_property *properties; // owned, and so are its texts
    size_t n, cap;
};
struct memory_catalog {
    struct fz_pointer_catalog pointer;
    pthread_mutex_t lock;
    struct memory_table *tables;
    size_t n_tables, cap_tables;
    struct memory_namespace *namespaces;
    size_t n_namespaces, cap_namespaces;
};

// ---- look-ups; the lock is held

static struct memory_table *find_table(struct memory_catalog *m, const char *ns, const char *name) {
    for (size_t i = 0; i < m->n_tables; i++) {
        if (strcmp(m->tables[i].ns, ns) == 0 && strcmp(m->tables[i].name, name) == 0) {
            return &m->tables[i];
        }
    }
    return NULL;
}

static struct memory_namespace *find_namespace(struct memory_catalog *m, const char *ns) {
    for (size_t i = 0; i < m->n_namespaces; i++) {
        if (strcmp(m->namespaces[i].ns, ns) == 0) {
            return &m->namespaces[i];
        }
    }
    return NULL;
}

static bool is_in(const char *ns, const char *parent) { // the same, or below it
    size_t len = strlen(parent);
    return strncmp(ns, parent, len) == 0 && (ns[len] == 0 || ns[len] == '.');
}

static bool namespace_is_there(struct memory_catalog *m, const char *ns) {
    bool found = ns[0] == 0; // the root always exists
    for (size_t i = 0; i < m->n_namespaces && !found; i++) {
        found = is_in(m->namespaces[i].ns, ns);
    }
    for (size_t i = 0; i < m->n_tables && !found; i++) {
        found = is_in(m->tables[i].ns, ns);
    }
    return found;
}

// Takes the lock and renders the namespace; leave with `leave`.
static enum fz_code enter(struct memory_catalog *m, const struct fz_table_name *name, struct fz_buf *ns,
                          struct fz_err *err) {
    fz_namespace_print(ns, name);
    pthread_mutex_lock(&m->lock);
    return fz_buf_check(ns, err);
}

static void leave(struct memory_catalog *m, struct fz_buf *ns) {
    pthread_mutex_unlock(&m->lock);
    fz_buf_dispose(ns);
}

// ---- pointers

static enum fz_code read_pointer(struct fz_pointer_catalog *base, const struct fz_table_name *name, struct fz_buf *out,
                                 struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    FZ_TRY(enter(m, name, &ns, err));
    struct memory_table *table = find_table(m, ns.ptr, name->name);
    if (table == NULL) {
        rc = fz_fail_no_table(err, name);
    } else {
        fz_buf_puts(out, table->location);
    }
out:
    leave(m, &ns);
    return rc;
}

static enum fz_code insert_pointer(struct fz_pointer_catalog *base, const struct fz_table_name *name,
                                   const char *location, struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    struct memory_table table = {0};
    FZ_TRY(enter(m, name, &ns, err));
    if (find_table(m, ns.ptr, name->name) != NULL) {
        rc = fz_fail_table_exists(err, name);
        goto out;
    }
    FZ_TRY(fz_grow((void **)&m->tables, &m->cap_tables, m->n_tables + 1, sizeof *m->tables, err));
    table = (struct memory_table){fz_strdup(ns.ptr), fz_strdup(name->name), fz_strdup(location)};
    if (table.ns == NULL || table.name == NULL || table.location == NULL) {
        fz_free(table.ns);
        fz_free(table.name);
        fz_free(table.location);
        rc = fz_fail_nomem(err, strlen(location));
        goto out;
    }
    m->tables[m->n_tables++] = table;
out:
    leave(m, &ns);
    return rc;
}

static enum fz_code swap_pointer(struct fz_pointer_catalog *base, const struct fz_table_name *name, const char *from,
                                 const char *to, struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    FZ_TRY(enter(m, name, &ns, err));
    struct memory_table *table = find_table(m, ns.ptr, name->name);
    if (table == NULL || strcmp(table->location, from) != 0) {
        rc = fz_fail(err, FZ_CONFLICT, "another commit changed the table since it was read");
        if (err != NULL) {
            err->flags |= FZ_ERR_RETRYABLE;
        }
        goto out;
    }
    char *copy = fz_strdup(to);
    if (copy == NULL) {
        rc = fz_fail_nomem(err, strlen(to));
        goto out;
    }
    fz_free(table->location);
    table->location = copy;
out:
    leave(m, &ns);
    return rc;
}

static const struct fz_pointer_vtable memory_pointers = {
    .synchronous = true, .read = read_pointer, .insert = insert_pointer, .swap = swap_pointer};

// ---- tables

static void remove_table(struct memory_catalog *m, struct memory_table *table) {
    fz_free(table->ns);
    fz_free(table->name);
    fz_free(table->location);
    *table = m->tables[--m->n_tables];
}

static enum fz_code memory_drop(struct fz_catalog *base, const struct fz_table_name *name, struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    FZ_TRY(enter(m, name, &ns, err));
    struct memory_table *table = find_table(m, ns.ptr, name->name);
    if (table == NULL) {
        rc = fz_fail_no_table(err, name);
    } else {
        remove_table(m, table);
    }
out:
    leave(m, &ns);
    return rc;
}

static enum fz_code memory_rename(struct fz_catalog *base, const struct fz_table_name *from,
                                  const struct fz_table_name *to, struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0}, to_ns = {0};
    char *new_ns = NULL, *new_name = NULL;
    fz_namespace_print(&to_ns, to);
    FZ_TRY(enter(m, from, &ns, err));
    FZ_TRY(fz_buf_check(&to_ns, err));
    struct memory_table *table = find_table(m, ns.ptr, from->name);
    if (table == NULL) {
        rc = fz_fail_no_table(err, from);
    } else if (!namespace_is_there(m, to_ns.ptr)) {
        struct fz_table_name target = {.levels = to->levels, .n_levels = to->n_levels};
        rc = fz_fail_no_namespace(err, &target);
    } else if (find_table(m, to_ns.ptr, to->name) != NULL) {
        rc = fz_fail_table_exists(err, to);
    } else {
        new_ns = fz_strdup(to_ns.ptr);
        new_name = fz_strdup(to->name);
        if (new_ns == NULL || new_name == NULL) {
            rc = fz_fail_nomem(err, strlen(to->name));
            goto out;
        }
        fz_free(table->ns);
        fz_free(table->name);
        table->ns = new_ns;
        table->name = new_name;
        new_ns = new_name = NULL;
    }
out:
    fz_free(new_ns);
    fz_free(new_name);
    leave(m, &ns);
    fz_buf_dispose(&to_ns);
    return rc;
}

static int compare_texts(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static enum fz_code memory_list_tables(struct fz_catalog *base, const struct fz_table_name *name, fz_name_fn fn,
                                       void *ctx, struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    struct fz_arena arena = {0};
    size_t n = 0;
    const char **names = NULL;
    FZ_TRY(enter(m, name, &ns, err));
    names = fz_arena_array(&arena, m->n_tables, sizeof *names);
    if (!namespace_is_there(m, ns.ptr)) {
        rc = fz_fail_no_namespace(err, name);
    }
    for (size_t i = 0; i < m->n_tables && names != NULL; i++) {
        if (strcmp(m->tables[i].ns, ns.ptr) == 0) {
            names[n++] = fz_arena_strdup(&arena, m->tables[i].name);
        }
    }
out:
    leave(m, &ns);
    for (size_t i = 0; i < n && rc == FZ_OK; i++) {
        rc = names[i] == NULL ? fz_fail_nomem(err, n) : FZ_OK;
    }
    if (rc == FZ_OK && names == NULL) {
        rc = fz_fail_nomem(err, 1);
    }
    if (rc == FZ_OK && n > 1) {
        qsort(names, n, sizeof *names, compare_texts);
    }
    for (size_t i = 0; i < n && rc == FZ_OK; i++) {
        struct fz_table_name table = {.levels = name->levels, .n_levels = name->n_levels, .name = names[i]};
        rc = fn(ctx, &table, err);
    }
    fz_arena_dispose(&arena);
    return rc;
}

// ---- namespaces

static void dispose_namespace(struct memory_namespace *n) {
    for (size_t i = 0; i < n->n; i++) {
        fz_free((char *)n->properties[i].key);
        fz_free((char *)n->properties[i].value);
    }
    fz_free(n->properties);
    fz_free(n->ns);
}

static enum fz_code set_property(struct memory_namespace *n, const struct fz_property *property, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    char *key = fz_strdup(property->key), *value = fz_strdup(property->value);
    if (key == NULL || value == NULL) {
        rc = fz_fail_nomem(err, strlen(property->value));
        goto out;
    }
    for (size_t i = 0; i < n->n; i++) {
        if (strcmp(n->properties[i].key, key) == 0) {
            fz_free((char *)n->properties[i].value);
            n->properties[i].value = value;
            fz_free(key);
            return FZ_OK;
        }
    }
    FZ_TRY(fz_grow((void **)&n->properties, &n->cap, n->n + 1, sizeof *n->properties, err));
    n->properties[n->n++] = (struct fz_property){key, value};
    key = value = NULL;
out:
    fz_free(key);
    fz_free(value);
    return rc;
}

static void remove_property(struct memory_namespace *n, const char *key) {
    for (size_t i = 0; i < n->n; i++) {
        if (strcmp(n->properties[i].key, key) == 0) {
            fz_free((char *)n->properties[i].key);
            fz_free((char *)n->properties[i].value);
            n->properties[i] = n->properties[--n->n];
            return;
        }
    }
}

// The namespace's own entry, made when only tables below it made it exist.
static enum fz_code own_namespace(struct memory_catalog *m, const char *ns, struct memory_namespace **out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *out = find_namespace(m, ns);
    if (*out != NULL) {
        return FZ_OK;
    }
    FZ_TRY(fz_grow((void **)&m->namespaces, &m->cap_namespaces, m->n_namespaces + 1, sizeof *m->namespaces, err));
    struct memory_namespace fresh = {.ns = fz_strdup(ns)};
    if (fresh.ns == NULL) {
        return fz_fail_nomem(err, strlen(ns));
    }
    m->namespaces[m->n_namespaces] = fresh;
    *out = &m->namespaces[m->n_namespaces++];
out:
    return rc;
}

static enum fz_code memory_namespace_create(struct fz_catalog *base, const struct fz_table_name *name,
                                            const struct fz_property *properties, size_t n, struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    struct memory_namespace *fresh;
    FZ_TRY(enter(m, name, &ns, err));
    if (namespace_is_there(m, ns.ptr)) {
        rc = fz_fail_namespace_exists(err, name);
        goto out;
    }
    FZ_TRY(own_namespace(m, ns.ptr, &fresh, err));
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(set_property(fresh, &properties[i], err));
    }
out:
    leave(m, &ns);
    return rc;
}

static enum fz_code memory_namespace_drop(struct fz_catalog *base, const struct fz_table_name *name,
                                          struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    int64_t n_tables = 0, n_below = 0;
    FZ_TRY(enter(m, name, &ns, err));
    if (ns.len == 0 || !namespace_is_there(m, ns.ptr)) {
        rc = fz_fail_no_namespace(err, name);
        goto out;
    }
    for (size_t i = 0; i < m->n_tables; i++) {
        bool here = strcmp(m->tables[i].ns, ns.ptr) == 0;
        n_tables += here;
        n_below += !here && is_in(m->tables[i].ns, ns.ptr);
    }
    for (size_t i = 0; i < m->n_namespaces; i++) {
        n_below += is_in(m->namespaces[i].ns, ns.ptr) && strcmp(m->namespaces[i].ns, ns.ptr) != 0;
    }
    if (n_tables > 0 || n_below > 0) {
        rc = n_tables > 0 ? fz_fail_namespace_not_empty(err, name, "table(s)", n_tables)
                          : fz_fail_namespace_not_empty(err, name, "child namespace(s)", n_below);
        goto out;
    }
    struct memory_namespace *gone = find_namespace(m, ns.ptr);
    dispose_namespace(gone);
    *gone = m->namespaces[--m->n_namespaces];
out:
    leave(m, &ns);
    return rc;
}

static enum fz_code memory_namespace_exists(struct fz_catalog *base, const struct fz_table_name *name, bool *out,
                                            struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    struct fz_buf ns = {0};
    enum fz_code rc = enter(m, name, &ns, err);
    if (rc == FZ_OK) {
        *out = namespace_is_there(m, ns.ptr);
    }
    leave(m, &ns);
    return rc;
}

static enum fz_code memory_namespace_list(struct fz_catalog *base, const struct fz_table_name *parent, fz_name_fn fn,
                                          void *ctx, struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    struct fz_arena arena = {0};
    size_t n = 0;
    const char **all = NULL;
    FZ_TRY(enter(m, parent, &ns, err));
    if (!namespace_is_there(m, ns.ptr)) {
        rc = fz_fail_no_namespace(err, parent);
        goto out;
    }
    all = fz_arena_array(&arena, m->n_namespaces + m->n_tables, sizeof *all);
    for (size_t i = 0; all != NULL && i < m->n_namespaces; i++) {
        all[n++] = fz_arena_strdup(&arena, m->namespaces[i].ns);
    }
    for (size_t i = 0; all != NULL && i < m->n_tables; i++) {
        all[n++] = fz_arena_strdup(&arena, m->tables[i].ns);
    }
    for (size_t i = 0; i < n || all == NULL; i++) {
        if (all == NULL || all[i] == NULL) {
            rc = fz_fail_nomem(err, n);
            goto out;
        }
    }
out:
    leave(m, &ns);
    if (rc == FZ_OK) {
        rc = fz_child_namespaces(parent, all, n, fn, ctx, err);
    }
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code memory_namespace_properties(struct fz_catalog *base, const struct fz_table_name *name,
                                                struct fz_arena *arena, struct fz_property **out, size_t *n_out,
                                                struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    FZ_TRY(enter(m, name, &ns, err));
    if (!namespace_is_there(m, ns.ptr)) {
        rc = fz_fail_no_namespace(err, name);
        goto out;
    }
    const struct memory_namespace *own = find_namespace(m, ns.ptr);
    size_t n = own != NULL ? own->n : 0;
    struct fz_property *copy = fz_arena_array(arena, n, sizeof *copy);
    for (size_t i = 0; copy != NULL && i < n; i++) {
        copy[i].key = fz_arena_strdup(arena, own->properties[i].key);
        copy[i].value = fz_arena_strdup(arena, own->properties[i].value);
        if (copy[i].key == NULL || copy[i].value == NULL) {
            copy = NULL;
        }
    }
    if (copy == NULL) {
        rc = fz_fail_nomem(err, n * sizeof *copy);
        goto out;
    }
    *out = copy;
    *n_out = n;
out:
    leave(m, &ns);
    return rc == FZ_OK ? fz_namespace_finish_properties(base, name, arena, out, n_out, err) : rc;
}

static enum fz_code memory_namespace_set_properties(struct fz_catalog *base, const struct fz_table_name *name,
                                                    const struct fz_property *set, size_t n_set,
                                                    const char *const *remove, size_t n_remove, struct fz_err *err) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    struct memory_namespace *own;
    FZ_TRY(enter(m, name, &ns, err));
    if (!namespace_is_there(m, ns.ptr)) {
        rc = fz_fail_no_namespace(err, name);
        goto out;
    }
    FZ_TRY(own_namespace(m, ns.ptr, &own, err));
    for (size_t i = 0; i < n_remove; i++) {
        remove_property(own, remove[i]);
    }
    for (size_t i = 0; i < n_set; i++) {
        FZ_TRY(set_property(own, &set[i], err));
    }
out:
    leave(m, &ns);
    return rc;
}

static void memory_free(struct fz_catalog *base) {
    struct memory_catalog *m = (struct memory_catalog *)base;
    while (m->n_tables > 0) {
        remove_table(m, &m->tables[m->n_tables - 1]);
    }
    for (size_t i = 0; i < m->n_namespaces; i++) {
        dispose_namespace(&m->namespaces[i]);
    }
    fz_free(m->tables);
    fz_free(m->namespaces);
    pthread_mutex_destroy(&m->lock);
    fz_pointer_catalog_dispose(&m->pointer);
    fz_free(m);
}

static const struct fz_catalog_vtable memory_vtable = {
    .type = "memory",
    .free = memory_free,
    .load = fz_pointer_load,
    .commit = fz_pointer_commit,
    .create = fz_pointer_create,
    .drop = memory_drop,
    .rename = memory_rename,
    .list_tables = memory_list_tables,
    .namespace_create = memory_namespace_create,
    .namespace_drop = memory_namespace_drop,
    .namespace_exists = memory_namespace_exists,
    .namespace_list = memory_namespace_list,
    .namespace_properties = memory_namespace_properties,
    .namespace_set_properties = memory_namespace_set_properties,
};

enum fz_code fz_catalog_memory_new(const char *name, const char *warehouse, struct fz_store *store,
                                   struct fz_catalog **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct memory_catalog *m = NULL;
    FZ_NEW(m, err);
    pthread_mutex_init(&m->lock, NULL);
    rc = fz_pointer_catalog_init(&m->pointer, &memory_vtable, &memory_pointers, name, warehouse, store, err);
    if (rc != FZ_OK) {
        memory_free(&m->pointer.base);
        goto out;
    }
    *out = &m->pointer.base;
out:
    return rc;
}
