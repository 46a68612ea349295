// Catalogs of a session, opened on first use from spark.sql.catalog.NAME.* keys; names of objects.
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "engine/engine_priv.h"

static const char *catalog_setting(struct fz_engine *e, const char *name, const char *key, const char *fallback) {
    char full[256];
    snprintf(full, sizeof full, "spark.sql.catalog.%s%s%s", name, key[0] ? "." : "", key);
    return fz_setting(e, full, fallback);
}

bool fz_engine_has_catalog(struct fz_engine *e, const char *name) {
    if (catalog_setting(e, name, "", NULL) != NULL || catalog_setting(e, name, "type", NULL) != NULL) {
        return true;
    }
    return strcmp(name, "local") == 0 && strcmp(e->current_catalog, "local") == 0;
}

// Class names are taken where they name what there is.
static const char *type_of_class(const char *impl) {
    static const struct {
        const char *name, *type;
    } classes[] = {
        {"org.apache.iceberg.jdbc.JdbcCatalog", "jdbc"},
        {"org.apache.iceberg.hadoop.HadoopCatalog", "hadoop"},
        {"org.apache.iceberg.inmemory.InMemoryCatalog", "memory"},
        {"org.apache.iceberg.rest.RESTCatalog", "rest"},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        if (strcmp(impl, classes[i].name) == 0) {
            return classes[i].type;
        }
    }
    return impl;
}

// Keys of a catalog that mean something to frazil or to Spark and Iceberg; a last '*' stands for anything.
static const char *const KNOWN_KEYS[] = {
    "type",
    "catalog-impl",
    "uri",
    "warehouse",
    "io-impl",
    "clients",
    "cache-enabled",
    "default-namespace",
    "lock-impl",
    "metrics-reporter-impl",
    "credential",
    "token",
    "scope",
    "prefix",
    "user",
    "app-id",
    "adls.*",
    "cache.*",
    "client.*",
    "dynamodb.*",
    "encryption.*",
    "gcs.*",
    "glue.*",
    "hadoop.*",
    "header.*",
    "http-client.*",
    "jdbc.*",
    "list-all-tables",
    "lock.*",
    "oauth2-server-uri",
    "rest.*",
    "rest-*",
    "s3.*",
    "table-default.*",
    "table-override.*",
    "token-*",
    "unique-table-location",
    "use-nullable-query-schema",
    "view-default.*",
    "view-override.*",
};

static void warn_of_unknown_key(struct fz_engine *e, const char *catalog, const char *key) {
    const char *nearest = NULL;
    size_t distance = strlen(key) / 2 + 1;
    for (size_t i = 0; i < sizeof KNOWN_KEYS / sizeof *KNOWN_KEYS; i++) {
        const char *known = KNOWN_KEYS[i];
        size_t len = strlen(known);
        if (known[len - 1] == '*' ? strncmp(key, known, len - 1) == 0 : strcmp(key, known) == 0) {
            return;
        }
        size_t d = fz_edit_distance(fz_str_of(key), fz_str_of(known));
        if (d < distance && known[len - 1] != '*') {
            distance = d;
            nearest = known;
        }
    }
    if (nearest != NULL) {
        fz_log_write(&e->log, 1, "unknown key spark.sql.catalog.%s.%s; did you mean spark.sql.catalog.%s.%s?", catalog,
                     key, catalog, nearest);
    } else {
        fz_log_write(&e->log, 1, "unknown key spark.sql.catalog.%s.%s; it has no effect", catalog, key);
    }
}

// All keys below spark.sql.catalog.NAME. as properties; borrowed from the settings.
static enum fz_code collect_properties(struct fz_engine *e, struct fz_arena *arena, const char *name,
                                       struct fz_property **out, size_t *n, struct fz_err *err) {
    char prefix[256];
    int len = snprintf(prefix, sizeof prefix, "spark.sql.catalog.%s.", name);
    struct fz_property *items = fz_arena_array(arena, e->settings.n_live + 1, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, sizeof *items);
    }
    *n = 0;
    for (struct fz_map_entry *entry = NULL; (entry = fz_map_next(&e->settings, entry)) != NULL;) {
        if (entry->key.len > (size_t)len && memcmp(entry->key.ptr, prefix, (size_t)len) == 0) {
            items[(*n)++] = (struct fz_property){entry->key.ptr + len, entry->value.ptr};
            warn_of_unknown_key(e, name, entry->key.ptr + len);
        }
    }
    *out = items;
    return FZ_OK;
}

static enum fz_code open_local(struct fz_engine *e, struct fz_catalog **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    char *cwd = getcwd(NULL, 0);
    struct fz_buf warehouse = {0}, uri = {0};
    if (cwd == NULL) {
        return fz_fail(err, FZ_IO, "the working directory cannot be read; start frazil in a folder that exists");
    }
    fz_buf_printf(&warehouse, "%s/frazil-warehouse", cwd);
    fz_buf_printf(&uri, "jdbc:sqlite:%s/frazil-warehouse/catalog.db", cwd);
    rc = fz_buf_check(&uri, err);
    if (rc == FZ_OK) {
        mkdir(warehouse.ptr, 0777);
        static const struct fz_property v1 = {"jdbc.schema-version", "V1"};
        rc = fz_catalog_sqlite_new("local", uri.ptr, warehouse.ptr, &v1, 1, e->store, out, err);
    }
    free(cwd);
    fz_buf_dispose(&warehouse);
    fz_buf_dispose(&uri);
    return rc;
}

static enum fz_code open_configured(struct fz_engine *e, const char *name, struct fz_catalog **out,
                                    struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_property *properties = NULL;
    size_t n = 0;
    FZ_TRY(collect_properties(e, &arena, name, &properties, &n, err));
    static const char *const spark_classes[] = {"org.apache.iceberg.spark.SparkCatalog",
                                                "org.apache.iceberg.spark.SparkSessionCatalog"};
    const char *type = catalog_setting(e, name, "type", NULL), *class_name = catalog_setting(e, name, "", NULL);
    if (class_name != NULL && strcmp(class_name, spark_classes[0]) != 0 && strcmp(class_name, spark_classes[1]) != 0) {
        rc = fz_fail(err, FZ_UNSUPPORTED, "spark.sql.catalog.%s is '%s'; frazil has %s and %s", name, class_name,
                     spark_classes[0], spark_classes[1]);
        goto out;
    }
    if (type == NULL) {
        const char *impl = catalog_setting(e, name, "catalog-impl", NULL);
        type = impl != NULL ? type_of_class(impl) : "hive";
    }
    const char *warehouse = catalog_setting(e, name, "warehouse", NULL), *uri = catalog_setting(e, name, "uri", NULL);
    bool is_jdbc = strcmp(type, "jdbc") == 0;
    if (warehouse == NULL && (is_jdbc || strcmp(type, "hadoop") == 0)) {
        rc = fz_fail(err, FZ_INVALID_ARG,
                     "catalog %s has no warehouse: set spark.sql.catalog.%s.warehouse to the folder or bucket where "
                     "its tables live",
                     name, name);
    } else if (is_jdbc && (uri == NULL || strncmp(uri, "jdbc:sqlite:", 12) != 0)) {
        rc = fz_fail(err, uri == NULL ? FZ_INVALID_ARG : FZ_UNSUPPORTED,
                     "catalog %s: spark.sql.catalog.%s.uri is '%s'; this version opens jdbc:sqlite:FILE", name, name,
                     uri ? uri : "not set");
    } else if (is_jdbc) {
        rc = fz_catalog_sqlite_new(name, uri, warehouse, properties, n, e->store, out, err);
    } else if (strcmp(type, "hadoop") == 0) {
        rc = fz_catalog_directory_new(name, warehouse, properties, n, e->store, out, err);
    } else if (strcmp(type, "memory") == 0) {
        rc = fz_catalog_memory_new(name, warehouse ? warehouse : "memory://warehouse", e->store, out, err);
    } else {
        rc = fz_fail(err, FZ_UNSUPPORTED,
                     "catalog %s has the type '%s'; this version has jdbc (SQLite), hadoop and memory", name, type);
    }
out:
    fz_arena_dispose(&arena);
    return rc;
}

enum fz_code fz_engine_catalog(struct fz_engine *e, const char *name, struct fz_catalog **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_catalog *catalog = NULL;
    for (size_t i = 0; i < e->n_catalogs; i++) {
        if (strcmp(e->catalogs[i]->name, name) == 0) {
            *out = e->catalogs[i];
            return FZ_OK;
        }
    }
    bool configured = catalog_setting(e, name, "", NULL) != NULL || catalog_setting(e, name, "type", NULL) != NULL;
    if (!configured && strcmp(name, "local") != 0) {
        return fz_fail_cond(err, FZ_NOT_FOUND, "CATALOG_NOT_FOUND",
                            "there is no catalog %s: configure it with spark.sql.catalog.%s.type and its keys", name,
                            name);
    }
    FZ_TRY(fz_grow((void **)&e->catalogs, &e->cap_catalogs, e->n_catalogs + 1, sizeof *e->catalogs, err));
    FZ_TRY(configured ? open_configured(e, name, &catalog, err) : open_local(e, &catalog, err));
    e->catalogs[e->n_catalogs++] = catalog;
    *out = catalog;
out:
    fz_err_context(err, "catalog %s", name);
    return rc;
}

enum fz_code fz_engine_split_name(struct fz_engine *e, struct fz_arena *arena, const struct fz_ast_name *name,
                                  bool is_namespace, struct fz_catalog **catalog, struct fz_table_name *out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const char **parts = name->parts;
    size_t n = name->n;
    const char *catalog_name = e->current_catalog;
    if (n > (is_namespace ? 0u : 1u) && fz_engine_has_catalog(e, parts[0])) {
        catalog_name = parts[0];
        parts++;
        n--;
    }
    FZ_TRY(fz_engine_catalog(e, catalog_name, catalog, err));
    const char **levels = fz_arena_array(arena, n + e->n_current_levels + 1, sizeof *levels);
    if (levels == NULL) {
        return fz_fail_nomem(err, n * sizeof *levels);
    }
    size_t n_levels = 0, own = is_namespace ? n : n - 1;
    if (own == 0 && !is_namespace && strcmp(catalog_name, e->current_catalog) == 0) {
        for (; n_levels < e->n_current_levels; n_levels++) {
            levels[n_levels] = fz_arena_strdup(arena, e->current_levels[n_levels]);
        }
    }
    for (size_t i = 0; i < own; i++) {
        levels[n_levels++] = parts[i];
    }
    *out = (struct fz_table_name){.levels = levels, .n_levels = n_levels, .name = is_namespace ? NULL : parts[n - 1]};
out:
    return rc;
}

enum fz_code fz_engine_resolve_name(struct fz_engine *e, struct fz_arena *arena, const char *dotted,
                                    struct fz_catalog **out_catalog, struct fz_table_name *out_name,
                                    struct fz_err *err) {
    struct fz_ast_name name = {0};
    char *copy = fz_arena_strdup(arena, dotted);
    const char **parts = fz_arena_array(arena, strlen(dotted) + 1, sizeof *parts);
    if (copy == NULL || parts == NULL) {
        return fz_fail_nomem(err, strlen(dotted));
    }
    for (char *save = NULL, *part = strtok_r(copy, ".", &save); part != NULL; part = strtok_r(NULL, ".", &save)) {
        parts[name.n++] = part;
    }
    if (name.n == 0) {
        return fz_fail(err, FZ_INVALID_ARG,
                       "'%s' is not the name of a table; write namespace.table or catalog.namespace.table", dotted);
    }
    name.parts = parts;
    return fz_engine_split_name(e, arena, &name, false, out_catalog, out_name, err);
}
