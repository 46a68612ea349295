// Temporary views, namespaces, USE.
#include <stdlib.h>

#include "base/text.h"
#include "engine/engine_priv.h"

// CREATE TEMPORARY VIEW v USING parquet OPTIONS (path '…'): a query over the files.
static enum fz_code files_query(struct fz_statement *s, const struct fz_ast_query **out, const char **text,
                                struct fz_err *err) {
    const struct fz_ast_stmt *a = s->ast;
    const char *path = NULL;
    struct fz_ast_query *query = NULL;
    struct fz_buf b = {0};
    for (size_t i = 0; i < a->n_properties; i++) {
        path = fz_strcasecmp(a->properties[i].key, "path") == 0 ? a->properties[i].value : path;
    }
    if (a->provider == NULL || path == NULL) {
        return fz_fail(err, FZ_INVALID_ARG,
                       "a temporary view without a query needs USING a file format and OPTIONS (path '…')");
    }
    fz_buf_printf(&b, "SELECT * FROM %s.`", a->provider);
    for (const char *p = path; *p != 0; p++) {
        fz_buf_puts(&b, *p == '`' ? "`" : "");
        fz_buf_putc(&b, *p);
    }
    fz_buf_putc(&b, '`');
    enum fz_code rc = fz_buf_check(&b, err);
    *text = rc == FZ_OK ? fz_arena_strdup(&s->arena, b.ptr) : NULL;
    fz_buf_dispose(&b);
    if (*text == NULL) {
        return rc != FZ_OK ? rc : fz_fail_nomem(err, 64);
    }
    rc = fz_sql_parse_query(&s->arena, fz_str_of(*text), &query, err);
    *out = query;
    return rc;
}

enum fz_code fz_ddl_create_view(struct fz_statement *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_ast_stmt *a = s->ast;
    struct fz_engine *e = s->engine;
    if (!a->temporary) {
        return fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE",
                            "views in a catalog are not there yet; CREATE TEMPORARY VIEW is");
    }
    if (a->name.n != 1 && !(a->global && a->name.n == 2 && fz_strcasecmp(a->name.parts[0], "global_temp") == 0)) {
        return fz_fail_cond(err, FZ_SQL_SYNTAX, "TEMP_VIEW_NAME_TOO_MANY_NAME_PARTS",
                            "a temporary view has a plain name, without a namespace");
    }
    const char *view_name = a->name.parts[a->name.n - 1], *query_text = a->value;
    view_name = a->global ? fz_arena_printf(&s->arena, "global_temp.%s", view_name) : view_name;
    if (view_name == NULL) {
        return fz_fail_nomem(err, 64);
    }
    struct fz_engine_view *old = fz_engine_find_view(e, view_name);
    if (old != NULL && !a->or_replace) {
        return a->if_not_exists
                   ? FZ_OK
                   : fz_fail_cond(err, FZ_EXISTS, "TEMP_TABLE_OR_VIEW_ALREADY_EXISTS",
                                  "the temporary view %s is there already; write CREATE OR REPLACE", view_name);
    }
    const struct fz_ast_query *ast = a->query;
    if (ast == NULL) {
        FZ_TRY(files_query(s, &ast, &query_text, err));
    }
    // Bound once now, so that mistakes show here and not at the first use.
    struct fz_sql_query *query;
    struct fz_sql_env env = fz_statement_env(s);
    FZ_TRY(fz_sql_bind_query(&s->arena, &env, ast, &query, err));
    size_t n_names = a->n_column_defs;
    if (n_names > 0 && n_names != query->n_columns) {
        return fz_fail_cond(err, FZ_INVALID_ARG, "CREATE_VIEW_COLUMN_ARITY_MISMATCH",
                            "view %s names %zu columns, its query has %zu", view_name, n_names, query->n_columns);
    }
    struct fz_engine_view fresh = {.n_columns = n_names};
    FZ_TRY(fz_grow((void **)&e->views, &e->cap_views, e->n_views + 1, sizeof *e->views, err));
    old = fz_engine_find_view(e, view_name);
    fresh.name = fz_strdup(view_name);
    fresh.query_text = fz_strdup(query_text);
    fresh.columns = fz_calloc(n_names, sizeof *fresh.columns);
    for (size_t i = 0; fresh.columns != NULL && i < n_names; i++) {
        fresh.columns[i] = fz_strdup(a->column_defs[i].name);
    }
    if (old == NULL) {
        e->views[e->n_views++] = fresh;
    } else {
        struct fz_engine_view gone = *old;
        *old = fresh;
        fz_free(gone.name);
        fz_free(gone.query_text);
        for (size_t i = 0; i < gone.n_columns; i++) {
            fz_free(gone.columns[i]);
        }
        fz_free(gone.columns);
    }
out:
    return rc;
}

enum fz_code fz_ddl_drop_view(struct fz_statement *s, struct fz_err *err) {
    struct fz_engine *e = s->engine;
    const struct fz_ast_stmt *a = s->ast;
    struct fz_engine_view *view = fz_engine_named_view(e, &a->name);
    if (view == NULL) {
        return a->if_exists ? FZ_OK
                            : fz_fail_cond(err, FZ_NOT_FOUND, "VIEW_NOT_FOUND", "there is no view %s",
                                           a->name.parts[a->name.n - 1]);
    }
    fz_free(view->name);
    fz_free(view->query_text);
    for (size_t i = 0; i < view->n_columns; i++) {
        fz_free(view->columns[i]);
    }
    fz_free(view->columns);
    *view = e->views[--e->n_views];
    return FZ_OK;
}

enum fz_code fz_ddl_namespace(struct fz_statement *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_ast_stmt *a = s->ast;
    struct fz_catalog *catalog;
    struct fz_table_name ns;
    FZ_TRY(fz_engine_split_name(s->engine, &s->arena, &a->name, true, &catalog, &ns, err));
    if (ns.n_levels == 0) {
        return fz_fail(err, FZ_INVALID_ARG, "the namespace has no name");
    }
    bool exists;
    FZ_TRY(catalog->vtable->namespace_exists(catalog, &ns, &exists, err));
    if (a->kind == FZ_STMT_CREATE_NAMESPACE) {
        if (exists) {
            return a->if_not_exists ? FZ_OK
                                    : fz_fail_cond(err, FZ_EXISTS, "SCHEMA_ALREADY_EXISTS",
                                                   "the namespace %s is there already", ns.levels[ns.n_levels - 1]);
        }
        struct fz_property *items = fz_arena_array(&s->arena, a->n_properties + 3, sizeof *items);
        const char *user = getenv("USER");
        size_t n = 0;
        if (items == NULL) {
            return fz_fail_nomem(err, sizeof *items);
        }
        if (a->location != NULL) {
            items[n++] = (struct fz_property){"location", a->location};
        }
        if (a->comment != NULL) {
            items[n++] = (struct fz_property){"comment", a->comment};
        }
        items[n++] = (struct fz_property){"owner", user ? user : "root"};
        for (size_t i = 0; i < a->n_properties; i++) {
            items[n++] = a->properties[i];
        }
        return catalog->vtable->namespace_create(catalog, &ns, items, n, err);
    }
    if (!exists) {
        return a->kind == FZ_STMT_DROP_NAMESPACE && a->if_exists
                   ? FZ_OK
                   : fz_fail_cond(err, FZ_NOT_FOUND, "SCHEMA_NOT_FOUND", "there is no namespace %s",
                                  ns.levels[ns.n_levels - 1]);
    }
    if (a->kind == FZ_STMT_DROP_NAMESPACE) {
        return catalog->vtable->namespace_drop(catalog, &ns, err);
    }
    return catalog->vtable->namespace_set_properties(catalog, &ns, a->properties, a->n_properties, a->names, a->n_names,
                                                     err);
out:
    return rc;
}

// USE catalog, USE catalog.namespace, USE namespace.
enum fz_code fz_ddl_use(struct fz_statement *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_engine *e = s->engine;
    struct fz_catalog *catalog;
    struct fz_table_name ns;
    FZ_TRY(fz_engine_split_name(e, &s->arena, &s->ast->name, true, &catalog, &ns, err));
    if (ns.n_levels > 0) {
        bool exists;
        FZ_TRY(catalog->vtable->namespace_exists(catalog, &ns, &exists, err));
        if (!exists) {
            return fz_fail_cond(err, FZ_NOT_FOUND, "SCHEMA_NOT_FOUND", "there is no namespace %s in catalog %s",
                                ns.levels[ns.n_levels - 1], catalog->name);
        }
    }
    char *name = fz_strdup(catalog->name), **levels = fz_calloc(ns.n_levels, sizeof *levels);
    if (name == NULL || levels == NULL) {
        fz_free(name);
        fz_free(levels);
        return fz_fail_nomem(err, 64);
    }
    for (size_t i = 0; i < ns.n_levels; i++) {
        levels[i] = fz_strdup(ns.levels[i]);
    }
    for (size_t i = 0; i < e->n_current_levels; i++) {
        fz_free(e->current_levels[i]);
    }
    fz_free(e->current_levels);
    fz_free(e->current_catalog);
    e->current_catalog = name;
    e->current_levels = levels;
    e->n_current_levels = ns.n_levels;
out:
    return rc;
}
