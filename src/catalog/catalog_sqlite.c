// Iceberg's JDBC catalog in an SQLite file (iceberg-facts 9.1): the same tables, keys and marker rows that Java's JdbcCatalog and
// PyIceberg's SqlCatalog use, so the file can be shared with them. One connection per catalog, one statement at a time.
#include <sqlite3.h>

#include "catalog/pointer.h"

#include "base/text.h"

enum { BUSY_TIMEOUT_MS = 10000 };

struct sqlite_catalog {
    struct fz_pointer_catalog pointer;
    pthread_mutex_t lock; // over db
    sqlite3 *db;
    bool has_type; // schema V1: the column iceberg_type is there
};

// ---- statements

// A prepared statement with the lock held until `finish`.
struct query {
    struct sqlite_catalog *catalog;
    sqlite3_stmt *stmt;
};

static enum fz_code fail_sqlite(struct sqlite_catalog *c, struct fz_err *err) {
    int code = sqlite3_errcode(c->db) & 0xff;
    const char *text = sqlite3_errmsg(c->db), *file = sqlite3_db_filename(c->db, "main");
    enum fz_code fz = code == SQLITE_NOMEM                              ? FZ_NOMEM
                      : code == SQLITE_CORRUPT || code == SQLITE_NOTADB ? FZ_CORRUPT
                      : code == SQLITE_ERROR || code == SQLITE_MISUSE   ? FZ_BUG
                                                                        : FZ_IO;
    enum fz_code rc = fz_fail(err, fz, "SQLite catalog %s (%s): %s",
                              c->pointer.base.name != NULL ? c->pointer.base.name : "", file != NULL ? file : "", text);
    if (err != NULL && code == SQLITE_BUSY) {
        err->flags |= FZ_ERR_RETRYABLE;
    }
    return rc;
}

static enum fz_code prepare(struct query *q, struct sqlite_catalog *c, const char *sql, struct fz_err *err) {
    *q = (struct query){.catalog = c};
    return sqlite3_prepare_v2(c->db, sql, -1, &q->stmt, NULL) == SQLITE_OK ? FZ_OK : fail_sqlite(c, err);
}

// Binds the i-th parameter (from 1); NULL text binds NULL. The text must stay until the statement is done.
static void bind(struct query *q, int i, const char *text) {
    if (text == NULL) {
        sqlite3_bind_null(q->stmt, i);
    } else {
        sqlite3_bind_text(q->stmt, i, text, -1, SQLITE_STATIC);
    }
}

// The next row: true; no more: false; `*rc` tells an error.
static bool step(struct query *q, enum fz_code *rc, struct fz_err *err) {
    int result = sqlite3_step(q->stmt);
    if (result != SQLITE_ROW && result != SQLITE_DONE) {
        *rc = fail_sqlite(q->catalog, err);
    }
    return result == SQLITE_ROW;
}

static void finish(struct query *q) {
    sqlite3_finalize(q->stmt);
    q->stmt = NULL;
}

static const char *column_text(struct query *q, int i) {
    const char *text = (const char *)sqlite3_column_text(q->stmt, i);
    return text != NULL ? text : "";
}

static enum fz_code execute(struct sqlite_catalog *c, const char *sql, struct fz_err *err) {
    return sqlite3_exec(c->db, sql, NULL, NULL, NULL) == SQLITE_OK ? FZ_OK : fail_sqlite(c, err);
}

// `BEGIN IMMEDIATE` takes the write lock at once, so that nothing read inside can be out of date at the end.
static enum fz_code begin(struct sqlite_catalog *c, struct fz_err *err) {
    return execute(c, "BEGIN IMMEDIATE", err);
}

static enum fz_code end(struct sqlite_catalog *c, enum fz_code rc, struct fz_err *err) {
    if (rc == FZ_OK) {
        rc = execute(c, "COMMIT", err);
    }
    if (rc != FZ_OK && !sqlite3_get_autocommit(c->db)) {
        sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    }
    return rc;
}

static enum fz_code enter(struct sqlite_catalog *c, const struct fz_table_name *name, struct fz_buf *ns,
                          struct fz_err *err) {
    fz_namespace_print(ns, name);
    pthread_mutex_lock(&c->lock);
    return fz_buf_check(ns, err);
}

static void leave(struct sqlite_catalog *c, struct fz_buf *ns) {
    pthread_mutex_unlock(&c->lock);
    fz_buf_dispose(ns);
}

static const char *catalog_name(const struct sqlite_catalog *c) {
    return c->pointer.base.name;
}

// SQL of one of two layouts: with the type column, views are not tables.
static const char *by_layout(const struct sqlite_catalog *c, const char *v1, const char *v0) {
    return c->has_type ? v1 : v0;
}

#define IS_TABLE " AND (iceberg_type = 'TABLE' OR iceberg_type IS NULL)"
#define WHERE_TABLE " WHERE catalog_name = ?1 AND table_namespace = ?2 AND table_name = ?3"
// ?2 itself, or below it: '/' is the character after '.', so this is a range of the primary key, and it minds the case.
#define IN_NAMESPACE(column) "(" column " = ?2 OR (" column " > ?2 || '.' AND " column " < ?2 || '/'))"

// ---- pointers

static enum fz_code read_locked(struct sqlite_catalog *c, const char *ns, const struct fz_table_name *name,
                                struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct query q = {0};
    FZ_TRY(prepare(&q, c,
                   by_layout(c, "SELECT metadata_location FROM iceberg_tables" WHERE_TABLE IS_TABLE,
                             "SELECT metadata_location FROM iceberg_tables" WHERE_TABLE),
                   err));
    bind(&q, 1, catalog_name(c));
    bind(&q, 2, ns);
    bind(&q, 3, name->name);
    if (step(&q, &rc, err)) {
        fz_buf_puts(out, column_text(&q, 0));
    } else if (rc == FZ_OK) {
        rc = fz_fail_no_table(err, name);
    }
out:
    finish(&q);
    return rc;
}

static enum fz_code read_pointer(struct fz_pointer_catalog *base, const struct fz_table_name *name, struct fz_buf *out,
                                 struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    FZ_TRY(enter(c, name, &ns, err));
    FZ_TRY(read_locked(c, ns.ptr, name, out, err));
out:
    leave(c, &ns);
    return rc;
}

static bool is_constraint(struct sqlite_catalog *c) {
    return (sqlite3_errcode(c->db) & 0xff) == SQLITE_CONSTRAINT;
}

static bool is_busy(struct sqlite_catalog *c) {
    int code = sqlite3_errcode(c->db) & 0xff;
    return code == SQLITE_BUSY || code == SQLITE_LOCKED;
}

static enum fz_code insert_pointer(struct fz_pointer_catalog *base, const struct fz_table_name *name,
                                   const char *location, struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    struct query q = {0};
    struct fz_err inner = FZ_ERR_INIT;
    FZ_TRY(enter(c, name, &ns, err));
    FZ_TRY(
        prepare(&q, c,
                by_layout(c,
                          "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, "
                          "previous_metadata_location, iceberg_type) VALUES (?1, ?2, ?3, ?4, NULL, 'TABLE')",
                          "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location, "
                          "previous_metadata_location) VALUES (?1, ?2, ?3, ?4, NULL)"),
                err));
    bind(&q, 1, catalog_name(c));
    bind(&q, 2, ns.ptr);
    bind(&q, 3, name->name);
    bind(&q, 4, location);
    step(&q, &rc, &inner);
    if (rc != FZ_OK && is_constraint(c)) {
        rc = fz_fail_table_exists(err, name);
    } else if (rc != FZ_OK && err != NULL && err->code == FZ_OK) {
        *err = inner;
    }
out:
    finish(&q);
    leave(c, &ns);
    return rc;
}

static enum fz_code fail_conflict(struct fz_err *err, const char *why) {
    enum fz_code rc = fz_fail(err, FZ_CONFLICT, "%s", why);
    if (err != NULL) {
        err->flags |= FZ_ERR_RETRYABLE;
    }
    return rc;
}

static enum fz_code swap_pointer(struct fz_pointer_catalog *base, const struct fz_table_name *name, const char *from,
                                 const char *to, struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    struct query q = {0};
    struct fz_err inner = FZ_ERR_INIT;
    FZ_TRY(enter(c, name, &ns, err));
    FZ_TRY(prepare(
        &q, c,
        by_layout(c,
                  "UPDATE iceberg_tables SET metadata_location = ?4, previous_metadata_location = ?5" WHERE_TABLE
                  " AND metadata_location = ?5" IS_TABLE,
                  "UPDATE iceberg_tables SET metadata_location = ?4, previous_metadata_location = ?5" WHERE_TABLE
                  " AND metadata_location = ?5"),
        err));
    bind(&q, 1, catalog_name(c));
    bind(&q, 2, ns.ptr);
    bind(&q, 3, name->name);
    bind(&q, 4, to);
    bind(&q, 5, from);
    step(&q, &rc, &inner);
    if (rc == FZ_OK && sqlite3_changes(c->db) != 1) {
        rc = fail_conflict(err, "another commit changed the table since it was read");
    } else if (rc != FZ_OK && is_busy(c)) { // the lock was never ours
        rc = fail_conflict(err, "the catalog file was locked by another process for too long");
    } else if (rc != FZ_OK && err != NULL && err->code == FZ_OK) {
        *err = inner;
    }
out:
    finish(&q);
    leave(c, &ns);
    return rc;
}

static const struct fz_pointer_vtable sqlite_pointers = {
    .synchronous = true, .read = read_pointer, .insert = insert_pointer, .swap = swap_pointer};

// ---- namespaces and tables; `ns` is the text of the namespace, the lock is held

static enum fz_code count(struct sqlite_catalog *c, const char *sql, const char *ns, int64_t *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct query q = {0};
    FZ_TRY(prepare(&q, c, sql, err));
    bind(&q, 1, catalog_name(c));
    bind(&q, 2, ns);
    if (step(&q, &rc, err)) {
        *out = sqlite3_column_int64(q.stmt, 0);
    }
out:
    finish(&q);
    return rc;
}

static enum fz_code namespace_is_there(struct sqlite_catalog *c, const char *ns, bool *out, struct fz_err *err) {
    int64_t n = 1; // the root always exists
    enum fz_code rc = FZ_OK;
    if (ns[0] != 0) {
        rc =
            count(c,
                  "SELECT EXISTS (SELECT 1 FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND " IN_NAMESPACE(
                      "namespace") ") OR EXISTS (SELECT 1 FROM iceberg_tables WHERE catalog_name = ?1 "
                                   "AND " IN_NAMESPACE("table_namespace") ")",
                  ns, &n, err);
    }
    *out = n != 0;
    return rc;
}

static enum fz_code require_namespace(struct sqlite_catalog *c, const char *ns, const struct fz_table_name *name,
                                      struct fz_err *err) {
    bool exists = false;
    enum fz_code rc = namespace_is_there(c, ns, &exists, err);
    return rc != FZ_OK || exists ? rc : fz_fail_no_namespace(err, name);
}

static enum fz_code sqlite_drop(struct fz_catalog *base, const struct fz_table_name *name, struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    struct query q = {0};
    FZ_TRY(enter(c, name, &ns, err));
    FZ_TRY(prepare(
        &q, c,
        by_layout(c, "DELETE FROM iceberg_tables" WHERE_TABLE IS_TABLE, "DELETE FROM iceberg_tables" WHERE_TABLE),
        err));
    bind(&q, 1, catalog_name(c));
    bind(&q, 2, ns.ptr);
    bind(&q, 3, name->name);
    step(&q, &rc, err);
    if (rc == FZ_OK && sqlite3_changes(c->db) == 0) {
        rc = fz_fail_no_table(err, name);
    }
out:
    finish(&q);
    leave(c, &ns);
    return rc;
}

static enum fz_code rename_locked(struct sqlite_catalog *c, const char *from_ns, const struct fz_table_name *from,
                                  const char *to_ns, const struct fz_table_name *to, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct query q = {0};
    struct fz_err inner = FZ_ERR_INIT;
    const struct fz_table_name target = {.levels = to->levels, .n_levels = to->n_levels};
    struct fz_buf location = {0};
    FZ_TRY(read_locked(c, from_ns, from, &location, err));
    FZ_TRY(require_namespace(c, to_ns, &target, err));
    FZ_TRY(prepare(&q, c, "UPDATE iceberg_tables SET table_namespace = ?4, table_name = ?5" WHERE_TABLE, err));
    bind(&q, 1, catalog_name(c));
    bind(&q, 2, from_ns);
    bind(&q, 3, from->name);
    bind(&q, 4, to_ns);
    bind(&q, 5, to->name);
    step(&q, &rc, &inner);
    if (rc != FZ_OK && is_constraint(c)) {
        rc = fz_fail_table_exists(err, to);
    } else if (rc != FZ_OK && err != NULL && err->code == FZ_OK) {
        *err = inner;
    }
out:
    finish(&q);
    fz_buf_dispose(&location);
    return rc;
}

static enum fz_code sqlite_rename(struct fz_catalog *base, const struct fz_table_name *from,
                                  const struct fz_table_name *to, struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0}, to_ns = {0};
    fz_namespace_print(&to_ns, to);
    FZ_TRY(enter(c, from, &ns, err));
    FZ_TRY(fz_buf_check(&to_ns, err));
    FZ_TRY(begin(c, err));
    rc = end(c, rename_locked(c, ns.ptr, from, to_ns.ptr, to, err), err);
out:
    leave(c, &ns);
    fz_buf_dispose(&to_ns);
    return rc;
}

// Texts of the first column, into `arena`.
static enum fz_code collect(struct query *q, struct fz_arena *arena, const char ***out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t cap = 0;
    const char **items = NULL;
    *n = 0;
    while (step(q, &rc, err)) {
        if (*n == cap) {
            const char **more = fz_arena_array(arena, cap * 2 + 16, sizeof *more);
            if (more == NULL) {
                return fz_fail_nomem(err, cap);
            }
            if (cap > 0) {
                memcpy(more, items, cap * sizeof *more);
            }
            items = more;
            cap = cap * 2 + 16;
        }
        items[*n] = fz_arena_strdup(arena, column_text(q, 0));
        if (items[(*n)++] == NULL) {
            return fz_fail_nomem(err, 1);
        }
    }
    *out = items;
    return rc;
}

static enum fz_code sqlite_list_tables(struct fz_catalog *base, const struct fz_table_name *name, fz_name_fn fn,
                                       void *ctx, struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    struct fz_arena arena = {0};
    struct query q = {0};
    const char **names = NULL;
    size_t n = 0;
    FZ_TRY(enter(c, name, &ns, err));
    FZ_TRY(require_namespace(c, ns.ptr, name, err));
    FZ_TRY(prepare(
        &q, c,
        by_layout(c,
                  "SELECT table_name FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2" IS_TABLE
                  " ORDER BY 1",
                  "SELECT table_name FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2 ORDER BY 1"),
        err));
    bind(&q, 1, catalog_name(c));
    bind(&q, 2, ns.ptr);
    FZ_TRY(collect(&q, &arena, &names, &n, err));
out:
    finish(&q);
    leave(c, &ns);
    for (size_t i = 0; i < n && rc == FZ_OK; i++) {
        struct fz_table_name table = {.levels = name->levels, .n_levels = name->n_levels, .name = names[i]};
        rc = fn(ctx, &table, err);
    }
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code put_property(struct sqlite_catalog *c, const char *ns, const char *key, const char *value,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct query q = {0};
    FZ_TRY(prepare(
        &q, c,
        "INSERT OR REPLACE INTO iceberg_namespace_properties (catalog_name, namespace, property_key, property_value) "
        "VALUES (?1, ?2, ?3, ?4)",
        err));
    bind(&q, 1, catalog_name(c));
    bind(&q, 2, ns);
    bind(&q, 3, key);
    bind(&q, 4, value);
    step(&q, &rc, err);
out:
    finish(&q);
    return rc;
}

static enum fz_code delete_property(struct sqlite_catalog *c, const char *ns, const char *key, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct query q = {0};
    FZ_TRY(prepare(
        &q, c,
        "DELETE FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND namespace = ?2 AND (?3 IS NULL OR "
        "property_key = ?3)",
        err));
    bind(&q, 1, catalog_name(c));
    bind(&q, 2, ns);
    bind(&q, 3, key);
    step(&q, &rc, err);
out:
    finish(&q);
    return rc;
}

static bool is_marker(const char *key) {
    return strcmp(key, "exists") == 0;
}

static enum fz_code put_properties(struct sqlite_catalog *c, const char *ns, const struct fz_property *properties,
                                   size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n; i++) {
        if (!is_marker(properties[i].key)) {
            FZ_TRY(put_property(c, ns, properties[i].key, properties[i].value, err));
        }
    }
out:
    return rc;
}

static enum fz_code create_locked(struct sqlite_catalog *c, const char *ns, const struct fz_table_name *name,
                                  const struct fz_property *properties, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool exists = false;
    FZ_TRY(namespace_is_there(c, ns, &exists, err));
    if (exists) {
        return fz_fail_namespace_exists(err, name);
    }
    FZ_TRY(put_property(c, ns, "exists", "true", err));
    FZ_TRY(put_properties(c, ns, properties, n, err));
out:
    return rc;
}

static enum fz_code sqlite_namespace_create(struct fz_catalog *base, const struct fz_table_name *name,
                                            const struct fz_property *properties, size_t n, struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    FZ_TRY(enter(c, name, &ns, err));
    FZ_TRY(begin(c, err));
    rc = end(c, create_locked(c, ns.ptr, name, properties, n, err), err);
out:
    leave(c, &ns);
    return rc;
}

static enum fz_code drop_locked(struct sqlite_catalog *c, const char *ns, const struct fz_table_name *name,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t n = 0;
    FZ_TRY(require_namespace(c, ns, name, err));
    if (ns[0] == 0) {
        return fz_fail_no_namespace(err, name);
    }
    FZ_TRY(
        count(c, "SELECT count(*) FROM iceberg_tables WHERE catalog_name = ?1 AND table_namespace = ?2", ns, &n, err));
    if (n > 0) {
        return fz_fail_namespace_not_empty(err, name, "table(s) or view(s)", n);
    }
    FZ_TRY(count(
        c,
        "SELECT count(*) FROM (SELECT namespace AS ns FROM iceberg_namespace_properties WHERE catalog_name = ?1 UNION "
        "SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ?1) WHERE ns > ?2 || '.' AND ns < ?2 || '/'",
        ns, &n, err));
    if (n > 0) {
        return fz_fail_namespace_not_empty(err, name, "child namespace(s)", n);
    }
    FZ_TRY(delete_property(c, ns, NULL, err));
out:
    return rc;
}

static enum fz_code sqlite_namespace_drop(struct fz_catalog *base, const struct fz_table_name *name,
                                          struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    FZ_TRY(enter(c, name, &ns, err));
    FZ_TRY(begin(c, err));
    rc = end(c, drop_locked(c, ns.ptr, name, err), err);
out:
    leave(c, &ns);
    return rc;
}

static enum fz_code sqlite_namespace_exists(struct fz_catalog *base, const struct fz_table_name *name, bool *out,
                                            struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    struct fz_buf ns = {0};
    enum fz_code rc = enter(c, name, &ns, err);
    if (rc == FZ_OK) {
        rc = namespace_is_there(c, ns.ptr, out, err);
    }
    leave(c, &ns);
    return rc;
}

static enum fz_code sqlite_namespace_list(struct fz_catalog *base, const struct fz_table_name *parent, fz_name_fn fn,
                                          void *ctx, struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    struct fz_arena arena = {0};
    struct query q = {0};
    const char **all = NULL;
    size_t n = 0;
    FZ_TRY(enter(c, parent, &ns, err));
    FZ_TRY(require_namespace(c, ns.ptr, parent, err));
    FZ_TRY(prepare(&q, c,
                   "SELECT namespace FROM iceberg_namespace_properties WHERE catalog_name = ?1 UNION "
                   "SELECT table_namespace FROM iceberg_tables WHERE catalog_name = ?1",
                   err));
    bind(&q, 1, catalog_name(c));
    FZ_TRY(collect(&q, &arena, &all, &n, err));
out:
    finish(&q);
    leave(c, &ns);
    if (rc == FZ_OK) {
        rc = fz_child_namespaces(parent, all, n, fn, ctx, err);
    }
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code read_properties(struct sqlite_catalog *c, const char *ns, struct fz_arena *arena,
                                    struct fz_property **out, size_t *n_out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct query q = {0};
    int64_t cap = 0;
    size_t n = 0;
    FZ_TRY(count(c, "SELECT count(*) FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND namespace = ?2", ns,
                 &cap, err));
    struct fz_property *items = fz_arena_array(arena, (size_t)cap, sizeof *items);
    if (items == NULL) {
        rc = fz_fail_nomem(err, (size_t)cap);
        goto out;
    }
    FZ_TRY(prepare(&q, c,
                   "SELECT property_key, property_value FROM iceberg_namespace_properties WHERE catalog_name = ?1 AND "
                   "namespace = ?2 "
                   "AND property_key <> 'exists' ORDER BY 1 LIMIT ?3",
                   err));
    bind(&q, 1, catalog_name(c));
    bind(&q, 2, ns);
    sqlite3_bind_int64(q.stmt, 3, cap); // somebody may add rows in between
    while (step(&q, &rc, err)) {
        items[n].key = fz_arena_strdup(arena, column_text(&q, 0));
        items[n].value = fz_arena_strdup(arena, column_text(&q, 1));
        if (items[n].key == NULL || items[n].value == NULL) {
            rc = fz_fail_nomem(err, n);
            goto out;
        }
        n++;
    }
    *out = items;
    *n_out = n;
out:
    finish(&q);
    return rc;
}

static enum fz_code sqlite_namespace_properties(struct fz_catalog *base, const struct fz_table_name *name,
                                                struct fz_arena *arena, struct fz_property **out, size_t *n_out,
                                                struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    FZ_TRY(enter(c, name, &ns, err));
    FZ_TRY(require_namespace(c, ns.ptr, name, err));
    FZ_TRY(read_properties(c, ns.ptr, arena, out, n_out, err));
out:
    leave(c, &ns);
    return rc == FZ_OK ? fz_namespace_finish_properties(base, name, arena, out, n_out, err) : rc;
}

static enum fz_code change_locked(struct sqlite_catalog *c, const char *ns, const struct fz_table_name *name,
                                  const struct fz_property *set, size_t n_set, const char *const *remove,
                                  size_t n_remove, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(require_namespace(c, ns, name, err));
    FZ_TRY(put_property(c, ns, "exists", "true", err)); // stays when its last property or table goes
    for (size_t i = 0; i < n_remove; i++) {
        if (!is_marker(remove[i])) {
            FZ_TRY(delete_property(c, ns, remove[i], err));
        }
    }
    FZ_TRY(put_properties(c, ns, set, n_set, err));
out:
    return rc;
}

static enum fz_code sqlite_namespace_set_properties(struct fz_catalog *base, const struct fz_table_name *name,
                                                    const struct fz_property *set, size_t n_set,
                                                    const char *const *remove, size_t n_remove, struct fz_err *err) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    enum fz_code rc = FZ_OK;
    struct fz_buf ns = {0};
    FZ_TRY(enter(c, name, &ns, err));
    FZ_TRY(begin(c, err));
    rc = end(c, change_locked(c, ns.ptr, name, set, n_set, remove, n_remove, err), err);
out:
    leave(c, &ns);
    return rc;
}

static void sqlite_free(struct fz_catalog *base) {
    struct sqlite_catalog *c = (struct sqlite_catalog *)base;
    sqlite3_close(c->db);
    pthread_mutex_destroy(&c->lock);
    fz_pointer_catalog_dispose(&c->pointer);
    fz_free(c);
}

static const struct fz_catalog_vtable sqlite_vtable = {
    .type = "jdbc",
    .free = sqlite_free,
    .load = fz_pointer_load,
    .commit = fz_pointer_commit,
    .create = fz_pointer_create,
    .drop = sqlite_drop,
    .rename = sqlite_rename,
    .list_tables = sqlite_list_tables,
    .namespace_create = sqlite_namespace_create,
    .namespace_drop = sqlite_namespace_drop,
    .namespace_exists = sqlite_namespace_exists,
    .namespace_list = sqlite_namespace_list,
    .namespace_properties = sqlite_namespace_properties,
    .namespace_set_properties = sqlite_namespace_set_properties,
};

// ---- opening

static const char *property_of(const struct fz_property *properties, size_t n, const char *key, const char *fallback) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(properties[i].key, key) == 0) {
            return properties[i].value;
        }
    }
    return fallback;
}

// "jdbc:sqlite:<path or file: URI>", and PyIceberg's "sqlite:///<path>".
static enum fz_code path_of(const char *uri, const char **out, struct fz_err *err) {
    if (strncmp(uri, "jdbc:sqlite:", 12) == 0) {
        *out = uri + 12;
    } else if (strncmp(uri, "sqlite:///", 10) == 0) {
        *out = uri + 10;
    } else {
        return fz_fail(err, FZ_INVALID_ARG, "'%s' does not name an SQLite catalog; write jdbc:sqlite:<path>", uri);
    }
    return **out != 0 ? FZ_OK : fz_fail(err, FZ_INVALID_ARG, "'%s' names no file; write jdbc:sqlite:<path>", uri);
}

static enum fz_code open_file(struct sqlite_catalog *c, const char *path, struct fz_err *err) {
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path, &c->db, flags, NULL);
    if (c->db == NULL) {
        return fz_fail_nomem(err, 1);
    }
    if (code != SQLITE_OK) {
        return fz_fail(err, FZ_IO, "cannot open the SQLite catalog %s: %s (the folder must exist)", path,
                       sqlite3_errmsg(c->db));
    }
    sqlite3_busy_timeout(c->db, BUSY_TIMEOUT_MS);
    return FZ_OK;
}

static enum fz_code has_column(struct sqlite_catalog *c, const char *table, const char *column, bool *has_table,
                               bool *has, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct query q = {0};
    FZ_TRY(prepare(&q, c, "SELECT count(*), coalesce(sum(lower(name) = ?2), 0) FROM pragma_table_info(?1)", err));
    bind(&q, 1, table);
    bind(&q, 2, column);
    if (step(&q, &rc, err)) {
        *has_table = sqlite3_column_int(q.stmt, 0) > 0;
        *has = sqlite3_column_int(q.stmt, 1) > 0;
    }
out:
    finish(&q);
    return rc;
}

// Makes what is missing. A table of the V0 layout gets its type column only when `upgrade` is asked for.
static enum fz_code make_tables(struct sqlite_catalog *c, bool upgrade, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool has_table = false;
    FZ_TRY(execute(
        c,
        "CREATE TABLE IF NOT EXISTS iceberg_tables (catalog_name VARCHAR(255) NOT NULL, "
        "table_namespace VARCHAR(255) NOT NULL, table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), "
        "previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5), "
        "PRIMARY KEY (catalog_name, table_namespace, table_name))",
        err));
    FZ_TRY(execute(c,
                   "CREATE TABLE IF NOT EXISTS iceberg_namespace_properties (catalog_name VARCHAR(255) NOT NULL, "
                   "namespace VARCHAR(255) NOT NULL, property_key VARCHAR(255), property_value VARCHAR(1000), "
                   "PRIMARY KEY (catalog_name, namespace, property_key))",
                   err));
    FZ_TRY(has_column(c, "iceberg_tables", "iceberg_type", &has_table, &c->has_type, err));
    if (!c->has_type && upgrade) {
        FZ_TRY(execute(c, "ALTER TABLE iceberg_tables ADD COLUMN iceberg_type VARCHAR(5)", err));
        c->has_type = true;
    }
out:
    return rc;
}

static enum fz_code set_up(struct sqlite_catalog *c, const struct fz_property *properties, size_t n,
                           struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool has_tables = false, has_namespaces = false, ignored = false;
    bool upgrade = fz_strcasecmp(property_of(properties, n, "jdbc.schema-version", ""), "V1") == 0;
    bool init = fz_strcasecmp(property_of(properties, n, "jdbc.init-catalog-tables", "true"), "false") != 0;
    FZ_TRY(has_column(c, "iceberg_tables", "iceberg_type", &has_tables, &c->has_type, err));
    FZ_TRY(has_column(c, "iceberg_namespace_properties", "namespace", &has_namespaces, &ignored, err));
    if (has_tables && has_namespaces && (c->has_type || !upgrade)) {
        goto out; // the usual case does not write
    }
    if (!init && !(has_tables && has_namespaces)) {
        return fz_fail(err, FZ_NOT_FOUND,
                       "the SQLite file has no catalog tables, and jdbc.init-catalog-tables is false");
    }
    FZ_TRY(begin(c, err));
    rc = end(c, make_tables(c, upgrade, err), err);
out:
    return rc;
}

enum fz_code fz_catalog_sqlite_new(const char *name, const char *uri, const char *warehouse,
                                   const struct fz_property *properties, size_t n, struct fz_store *store,
                                   struct fz_catalog **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct sqlite_catalog *c = NULL;
    const char *path = NULL;
    FZ_TRY(path_of(uri, &path, err));
    FZ_NEW(c, err);
    pthread_mutex_init(&c->lock, NULL);
    FZ_TRY(fz_pointer_catalog_init(&c->pointer, &sqlite_vtable, &sqlite_pointers, name, warehouse, store, err));
    FZ_TRY(open_file(c, path, err));
    FZ_TRY(set_up(c, properties, n, err));
    *out = &c->pointer.base;
    c = NULL;
out:
    if (c != NULL) {
        sqlite_free(&c->pointer.base);
    }
    return rc;
}
