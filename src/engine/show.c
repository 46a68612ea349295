// SHOW …: small row sets about catalogs, namespaces and tables, with Spark's columns. What one table is made of: describe.c.
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "engine/engine_priv.h"

// Columns of an answer, all text unless said: "name" or "name:boolean".
enum fz_code fz_answer_begin(struct fz_statement *s, struct fz_answer *answer, const char *const *names, size_t n,
                             struct fz_err *err) {
    struct fz_field *fields = fz_arena_array(&s->arena, n, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, n * sizeof *fields);
    }
    for (size_t i = 0; i < n; i++) {
        const char *colon = strchr(names[i], ':');
        fields[i] = (struct fz_field){
            .id = (int32_t)i + 1,
            .name = colon ? fz_arena_strndup(&s->arena, names[i], (size_t)(colon - names[i])) : names[i],
            .type = fz_type_primitive(colon ? FZ_TYPE_BOOLEAN : FZ_TYPE_STRING),
        };
    }
    fz_rows_init(&answer->rows, fields, n);
    answer->has_rows = true;
    return FZ_OK;
}

enum fz_code fz_answer_add(struct fz_answer *answer, struct fz_err *err, const char *a, const char *b, const char *c) {
    const char *const texts[3] = {a, b, c};
    struct fz_value values[3];
    for (size_t i = 0; i < answer->rows.n_fields && i < 3; i++) {
        const struct fz_type *type = answer->rows.fields[i].type;
        values[i] = (struct fz_value){.type = type, .is_null = texts[i] == NULL};
        if (texts[i] != NULL && type->id == FZ_TYPE_BOOLEAN) {
            values[i].u.boolean = strcmp(texts[i], "true") == 0;
        } else if (texts[i] != NULL) {
            values[i].u.bytes = fz_str_of(fz_arena_strdup(&answer->rows.arena, texts[i]));
        }
    }
    return fz_rows_add(&answer->rows, values, err);
}

// LIKE of SHOW: * is anything, | separates alternatives, case does not matter.
static bool matches(const char *pattern, size_t len, const char *text) {
    if (len == 0) {
        return *text == 0;
    }
    if (*pattern == '*' || *pattern == '%') {
        return matches(pattern + 1, len - 1, text) || (*text != 0 && matches(pattern, len, text + 1));
    }
    char p[2] = {*pattern, 0}, t[2] = {*text, 0};
    return *text != 0 && (*pattern == '_' || fz_strcasecmp(p, t) == 0) && matches(pattern + 1, len - 1, text + 1);
}
static bool like(const char *pattern, const char *text) {
    if (pattern == NULL) {
        return true;
    }
    for (const char *p = pattern;; p++) {
        size_t len = strcspn(p, "|");
        if (matches(p, len, text)) {
            return true;
        }
        p += len;
        if (*p == 0) {
            return false;
        }
    }
}

static void join_levels(struct fz_buf *out, const struct fz_table_name *name) {
    for (size_t i = 0; i < name->n_levels; i++) {
        fz_buf_printf(out, "%s%s", i > 0 ? "." : "", name->levels[i]);
    }
}

struct lister {
    struct fz_statement *s;
    struct fz_answer *answer;
};
static enum fz_code add_namespace(void *ctx, const struct fz_table_name *name, struct fz_err *err) {
    struct lister *l = ctx;
    struct fz_buf b = {0};
    join_levels(&b, name);
    enum fz_code rc =
        b.ptr != NULL && like(l->s->ast->pattern, b.ptr) ? fz_answer_add(l->answer, err, b.ptr, NULL, NULL) : FZ_OK;
    fz_buf_dispose(&b);
    return rc;
}
static enum fz_code add_table(void *ctx, const struct fz_table_name *name, struct fz_err *err) {
    struct lister *l = ctx;
    struct fz_buf b = {0};
    join_levels(&b, name);
    enum fz_code rc = like(l->s->ast->pattern, name->name)
                          ? fz_answer_add(l->answer, err, b.ptr ? b.ptr : "", name->name, "false")
                          : FZ_OK;
    fz_buf_dispose(&b);
    return rc;
}

static enum fz_code namespace_of(struct fz_statement *s, struct fz_catalog **catalog, struct fz_table_name *ns,
                                 struct fz_err *err) {
    struct fz_engine *e = s->engine;
    enum fz_code rc = fz_engine_split_name(e, &s->arena, &s->ast->name, true, catalog, ns, err);
    if (rc == FZ_OK && s->ast->name.n == 0) {
        ns->levels = (const char *const *)e->current_levels;
        ns->n_levels = e->n_current_levels;
    }
    return rc;
}

enum fz_code fz_show(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const namespaces[] = {"namespace"},
                             *const tables[] = {"namespace", "tableName", "isTemporary:boolean"},
                             *const catalogs[] = {"catalog"}, *const col_name[] = {"col_name"};
    const char *what = s->ast->text;
    struct lister lister = {s, answer};
    struct fz_catalog *catalog;
    struct fz_table_name ns;
    if (strcmp(what, "NAMESPACES") == 0) {
        FZ_TRY(fz_engine_split_name(s->engine, &s->arena, &s->ast->name, true, &catalog, &ns, err));
        FZ_TRY(fz_answer_begin(s, answer, namespaces, 1, err));
        return catalog->vtable->namespace_list(catalog, &ns, add_namespace, &lister, err);
    }
    if (strcmp(what, "TABLES") == 0) {
        FZ_TRY(namespace_of(s, &catalog, &ns, err));
        bool exists = true;
        if (ns.n_levels > 0) {
            FZ_TRY(catalog->vtable->namespace_exists(catalog, &ns, &exists, err));
        }
        if (!exists) {
            return fz_fail_cond(err, FZ_NOT_FOUND, "SCHEMA_NOT_FOUND", "there is no namespace %s",
                                ns.levels[ns.n_levels - 1]);
        }
        FZ_TRY(fz_answer_begin(s, answer, tables, 3, err));
        FZ_TRY(catalog->vtable->list_tables(catalog, &ns, add_table, &lister, err));
        for (size_t i = 0; i < s->engine->n_views; i++) {
            if (like(s->ast->pattern, s->engine->views[i].name)) {
                FZ_TRY(fz_answer_add(answer, err, "", s->engine->views[i].name, "true"));
            }
        }
        return FZ_OK;
    }
    if (strcmp(what, "TBLPROPERTIES") == 0) {
        return fz_show_properties(s, answer, err);
    }
    if (strcmp(what, "CREATE TABLE") == 0) {
        return fz_show_create(s, answer, err);
    }
    if (strcmp(what, "CATALOGS") == 0) {
        FZ_TRY(fz_answer_begin(s, answer, catalogs, 1, err));
        FZ_TRY(fz_answer_add(answer, err, s->engine->current_catalog, NULL, NULL));
        for (size_t i = 0; i < s->engine->n_catalogs; i++) {
            if (strcmp(s->engine->catalogs[i]->name, s->engine->current_catalog) != 0) {
                FZ_TRY(fz_answer_add(answer, err, s->engine->catalogs[i]->name, NULL, NULL));
            }
        }
        return FZ_OK;
    }
    if (strcmp(what, "COLUMNS") == 0) {
        struct fz_engine_table *t;
        FZ_TRY(fz_engine_load_table(s, &s->ast->name, &t, err));
        FZ_TRY(fz_answer_begin(s, answer, col_name, 1, err));
        for (size_t i = 0; i < t->schema->type->n_fields; i++) {
            FZ_TRY(fz_answer_add(answer, err, t->schema->type->fields[i].name, NULL, NULL));
        }
        return FZ_OK;
    }
    if (strcmp(what, "PARTITIONS") == 0) {
        return fz_fail_cond(err, FZ_INVALID_ARG, "INVALID_PARTITION_OPERATION.PARTITION_MANAGEMENT_IS_UNSUPPORTED",
                            "SHOW PARTITIONS does not know hidden partitions: SELECT * FROM <table>.partitions");
    }
    rc = fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE", "SHOW %s is not supported", what);
out:
    return rc;
}
