// Runs Spark SQL text through parser, binder, printer and the engine: a fake session with views (kept as text) and table shapes.
#ifndef FZ_TEST_SQL_RUN_H
#define FZ_TEST_SQL_RUN_H

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "duck/duck.h"
#include "sql/bound.h"

struct fake_view {
    const char *name, *sql;
};
struct fake_table {
    const char *name; // "ice.db.t"
    const char *columns; // "id INT, v STRING NOT NULL" as a schema text; ids are 1..n
};
struct fake_session {
    const struct fake_view *views;
    size_t n_views;
    const struct fake_table *tables;
    size_t n_tables;
    const char *policy; // spark.sql.storeAssignmentPolicy
    struct fz_sql_env env;
    struct fz_duck *duck;
};

static enum fz_code fake_resolve(void *ctx, struct fz_arena *arena, const struct fz_ast_rel *rel,
                                 struct fz_sql_table *out, struct fz_ast_query **view, const char ***view_columns,
                                 struct fz_err *err) {
    struct fake_session *s = ctx;
    const char *name = rel->name.parts[rel->name.n - 1];
    (void)view_columns;
    for (size_t i = 0; i < s->n_views; i++) {
        if (fz_strcasecmp(s->views[i].name, name) == 0) {
            return fz_sql_parse_query(arena, fz_str_of(s->views[i].sql), view, err);
        }
    }
    for (size_t i = 0; i < s->n_tables; i++) {
        const char *last = strrchr(s->tables[i].name, '.');
        if (fz_strcasecmp(last ? last + 1 : s->tables[i].name, name) == 0) {
            const struct fz_type *type;
            enum fz_code rc = fz_sql_parse_schema(arena, fz_str_of(s->tables[i].columns), &type, err);
            if (rc != FZ_OK) {
                return rc;
            }
            struct fz_field *fields = fz_arena_memdup(arena, type->fields, type->n_fields * sizeof *fields);
            for (size_t k = 0; k < type->n_fields; k++) {
                fields[k].id = (int32_t)k + 1;
            }
            struct fz_field *hidden = fz_arena_alloc(arena, sizeof *hidden);
            *hidden = (struct fz_field){
                .id = 2147483646, .name = "_file", .required = true, .type = fz_type_primitive(FZ_TYPE_STRING)};
            *out = (struct fz_sql_table){.name = s->tables[i].name,
                                         .fields = fields,
                                         .n_fields = type->n_fields,
                                         .hidden = hidden,
                                         .n_hidden = 1,
                                         .is_iceberg_table = true};
            return FZ_OK;
        }
    }
    return fz_fail_cond(err, FZ_NOT_FOUND, "TABLE_OR_VIEW_NOT_FOUND", "The table or view `%s` cannot be found", name);
}
static const char *fake_setting(void *ctx, const char *key) {
    struct fake_session *s = ctx;
    return strcmp(key, "spark.sql.storeAssignmentPolicy") == 0 ? s->policy : NULL;
}

static inline void fake_env(struct fake_session *s, const char *zone) {
    s->env = (struct fz_sql_env){.ctx = s,
                                 .resolve = fake_resolve,
                                 .setting = fake_setting,
                                 .now_us = 1718880000123456,
                                 .time_zone = zone,
                                 .current_catalog = "ice",
                                 .current_namespace = "db",
                                 .user = "tester"};
}
static inline enum fz_code fake_open(struct fake_session *s, const char *zone, struct fz_err *err) {
    size_t n;
    struct fz_duck_options options = {.memory_bytes = 512 << 20, .threads = 1, .time_zone = zone};
    fake_env(s, zone);
    enum fz_code rc = fz_duck_open(&options, &s->duck, err);
    if (rc == FZ_OK) {
        const struct fz_scalar_kernel *kernels = fz_sql_kernels(&n);
        rc = fz_duck_register_kernels(s->duck, kernels, n, err);
    }
    return rc;
}

// The value as JSON for nested ones, as the corpus renders the rest; NULL, empty text as nothing.
static void render_json(struct fz_buf *out, const struct fz_value *v) {
    if (v->is_null) {
        fz_buf_puts(out, "null");
        return;
    }
    switch ((int)v->type->id) {
    case FZ_TYPE_LIST:
        fz_buf_putc(out, '[');
        for (size_t i = 0; i < v->u.nested.n; i++) {
            fz_buf_puts(out, i ? ", " : "");
            render_json(out, &v->u.nested.items[i]);
        }
        fz_buf_putc(out, ']');
        return;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_MAP: {
        bool map = v->type->id == FZ_TYPE_MAP;
        size_t n = map ? v->u.nested.n / 2 : v->u.nested.n;
        fz_buf_putc(out, '{');
        for (size_t i = 0; i < n; i++) {
            fz_buf_puts(out, i ? ", " : "");
            if (map) {
                struct fz_buf key = {0};
                fz_value_print(&key, &v->u.nested.items[2 * i]);
                fz_json_quote(out, (struct fz_str){key.ptr ? key.ptr : "", key.len});
                fz_buf_dispose(&key);
            } else {
                fz_json_quote(out, fz_str_of(v->type->fields[i].name));
            }
            fz_buf_puts(out, ": ");
            render_json(out, map ? &v->u.nested.items[2 * i + 1] : &v->u.nested.items[i]);
        }
        fz_buf_putc(out, '}');
        return;
    }
    case FZ_TYPE_BOOLEAN:
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        fz_value_print(out, v);
        return;
    default: {
        struct fz_buf text = {0};
        fz_value_print(&text, v);
        fz_json_quote(out, (struct fz_str){text.ptr ? text.ptr : "", text.len});
        fz_buf_dispose(&text);
        return;
    }
    }
}
static inline void render(struct fz_buf *out, const struct fz_value *v) {
    if (v->is_null) {
        fz_buf_puts(out, "NULL");
    } else if (v->type->n_fields > 0) {
        render_json(out, v);
    } else {
        fz_value_print(out, v);
    }
}

// Binds and prints. *sql is fz_free'd by the caller.
static inline enum fz_code fake_print(struct fake_session *s, struct fz_arena *arena, const char *text,
                                      struct fz_sql_query **q, char **sql, struct fz_err *err) {
    struct fz_ast_query *ast;
    struct fz_buf buf = {0};
    enum fz_code rc = fz_sql_parse_query(arena, fz_str_of(text), &ast, err);
    rc = rc == FZ_OK ? fz_sql_bind_query(arena, &s->env, ast, q, err) : rc;
    rc = rc == FZ_OK ? fz_sql_print_query(&buf, *q, err) : rc;
    if (rc == FZ_OK) {
        *sql = fz_buf_take(&buf);
    }
    fz_buf_dispose(&buf);
    return rc;
}

// All rows, one a line, columns joined by |.
static inline enum fz_code fake_query(struct fake_session *s, struct fz_arena *arena, const char *text,
                                      struct fz_sql_query **q, struct fz_buf *out, struct fz_err *err) {
    char *sql = NULL;
    struct fz_duck_result *result = NULL;
    enum fz_code rc = fake_print(s, arena, text, q, &sql, err);
    if (rc == FZ_OK && getenv("FZ_SHOW_SQL") != NULL) {
        fprintf(stderr, "%s\n", sql);
    }
    rc = rc == FZ_OK ? fz_duck_register_kernels(s->duck, (*q)->kernels, (*q)->n_kernels, err) : rc;
    rc = rc == FZ_OK ? fz_duck_query(s->duck, sql, (*q)->columns, (*q)->n_columns, &result, err) : rc;
    while (rc == FZ_OK) {
        const struct fz_batch *batch;
        rc = fz_duck_result_next(result, &batch, err);
        if (rc != FZ_OK || batch == NULL) {
            break;
        }
        for (size_t row = 0; row < batch->n_rows; row++) {
            for (size_t c = 0; c < batch->n_columns; c++) {
                struct fz_value v = fz_value_at(&batch->columns[c], row, arena);
                fz_buf_puts(out, c ? "|" : "");
                v.type = (*q)->columns[c].type;
                render(out, &v);
            }
            fz_buf_putc(out, '\n');
        }
    }
    fz_duck_result_free(result);
    fz_free(sql);
    return rc;
}

#endif
