// SHOW … and DESCRIBE …: small row sets about catalogs, namespaces and tables, with Spark's columns.
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "engine/engine_priv.h"

// Columns of an answer, all text unless said: "name" or "name:boolean".
static enum fz_code begin(struct fz_statement *s, struct fz_answer *answer, const char *const *names, size_t n, struct fz_err *err) {
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

static enum fz_code add(struct fz_answer *answer, struct fz_err *err, const char *a, const char *b, const char *c) {
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
    enum fz_code rc = b.ptr != NULL && like(l->s->ast->pattern, b.ptr) ? add(l->answer, err, b.ptr, NULL, NULL) : FZ_OK;
    fz_buf_dispose(&b);
    return rc;
}
static enum fz_code add_table(void *ctx, const struct fz_table_name *name, struct fz_err *err) {
    struct lister *l = ctx;
    struct fz_buf b = {0};
    join_levels(&b, name);
    enum fz_code rc = like(l->s->ast->pattern, name->name) ? add(l->answer, err, b.ptr ? b.ptr : "", name->name, "false") : FZ_OK;
    fz_buf_dispose(&b);
    return rc;
}

static enum fz_code namespace_of(struct fz_statement *s, struct fz_catalog **catalog, struct fz_table_name *ns, struct fz_err *err) {
    struct fz_engine *e = s->engine;
    enum fz_code rc = fz_engine_split_name(e, &s->arena, &s->ast->name, true, catalog, ns, err);
    if (rc == FZ_OK && s->ast->name.n == 0) {
        ns->levels = (const char *const *)e->current_levels;
        ns->n_levels = e->n_current_levels;
    }
    return rc;
}

static enum fz_code show_properties(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const columns[] = {"key", "value"};
    struct fz_engine_table *t;
    FZ_TRY(fz_engine_load_table(s, &s->ast->name, &t, err));
    FZ_TRY(begin(s, answer, columns, 2, err));
    const struct fz_metadata *m = t->metadata;
    char text[64];
    const struct fz_snapshot *head = fz_metadata_current_snapshot(m);
    snprintf(text, sizeof text, head ? "%" PRId64 : "none", head ? head->snapshot_id : 0);
    const char *current = fz_arena_strdup(&s->arena, text);
    snprintf(text, sizeof text, "iceberg/%s", fz_metadata_property(m, "write.format.default", "parquet"));
    const char *format = fz_arena_strdup(&s->arena, text);
    snprintf(text, sizeof text, "%d", m->format_version);
    struct fz_property computed[3] = {{"current-snapshot-id", current}, {"format", format}, {"format-version", text}};
    struct fz_property *all = fz_arena_array(&s->arena, m->n_properties + 3, sizeof *all);
    if (all == NULL) {
        return fz_fail_nomem(err, sizeof *all);
    }
    size_t n = 0;
    for (size_t i = 0; i < m->n_properties + 3; i++) { // in key order, as Spark prints them
        struct fz_property p = i < 3 ? computed[i] : m->properties[i - 3];
        size_t k = n++;
        for (; k > 0 && strcmp(all[k - 1].key, p.key) > 0; k--) {
            all[k] = all[k - 1];
        }
        all[k] = p;
    }
    const char *only = s->ast->key;
    bool found = false;
    for (size_t i = 0; i < n; i++) {
        if (only == NULL || strcmp(only, all[i].key) == 0) {
            FZ_TRY(add(answer, err, all[i].key, fz_setting_is_secret(all[i].key) ? "*********(redacted)" : all[i].value, NULL));
            found = true;
        }
    }
    if (only != NULL && !found) {
        const char *none = fz_arena_printf(&s->arena, "Table %s does not have property: %s", t->name.name, only);
        FZ_TRY(add(answer, err, only, none, NULL));
    }
out:
    return rc;
}

static void quote(struct fz_buf *b, const char *text) {
    fz_buf_putc(b, '\'');
    for (; *text != 0; text++) {
        if (*text == '\'' || *text == '\\') {
            fz_buf_putc(b, '\\');
        }
        fz_buf_putc(b, *text);
    }
    fz_buf_putc(b, '\'');
}

static void print_transform_sql(struct fz_buf *b, const struct fz_schema *schema, int32_t source_id, const struct fz_transform *t, struct fz_arena *arena) {
    static const char *const names[] = {"", "bucket", "truncate", "years", "months", "days", "hours", "void"};
    const char *column = fz_schema_name_of(schema, source_id, arena);
    if (t->kind == FZ_TRANSFORM_IDENTITY) {
        fz_buf_puts(b, column ? column : "?");
    } else if (t->kind == FZ_TRANSFORM_BUCKET || t->kind == FZ_TRANSFORM_TRUNCATE) {
        fz_buf_printf(b, "%s(%d, %s)", names[t->kind], t->param, column ? column : "?");
    } else {
        fz_buf_printf(b, "%s(%s)", t->kind < FZ_TRANSFORM_OTHER ? names[t->kind] : t->name, column ? column : "?");
    }
}

static enum fz_code show_create(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const columns[] = {"createtab_stmt"};
    struct fz_engine_table *t;
    struct fz_buf b = {0};
    FZ_TRY(fz_engine_load_table(s, &s->ast->name, &t, err));
    FZ_TRY(begin(s, answer, columns, 1, err));
    const struct fz_metadata *m = t->metadata;
    fz_buf_printf(&b, "CREATE TABLE %s.", t->catalog->name);
    fz_table_name_print(&b, &t->name);
    fz_buf_puts(&b, " (\n");
    for (size_t i = 0; i < t->schema->type->n_fields; i++) {
        const struct fz_field *f = &t->schema->type->fields[i];
        fz_buf_printf(&b, "%s  %s ", i > 0 ? ",\n" : "", f->name);
        struct fz_buf type = {0};
        fz_type_print_sql(&type, f->type);
        for (size_t k = 0; k < type.len; k++) {
            fz_buf_putc(&b, type.ptr[k] >= 'a' && type.ptr[k] <= 'z' && f->type->n_fields == 0 ? (char)(type.ptr[k] - 32) : type.ptr[k]);
        }
        fz_buf_dispose(&type);
        fz_buf_puts(&b, f->required ? " NOT NULL" : "");
        if (f->doc != NULL) {
            fz_buf_puts(&b, " COMMENT ");
            quote(&b, f->doc);
        }
    }
    fz_buf_puts(&b, ")\nUSING iceberg\n");
    const struct fz_partition_spec *spec = fz_metadata_spec(m, m->default_spec_id);
    for (size_t i = 0; spec != NULL && i < spec->n_fields; i++) {
        fz_buf_puts(&b, i == 0 ? "PARTITIONED BY (" : ", ");
        print_transform_sql(&b, t->schema, spec->fields[i].source_id, &spec->fields[i].transform, &s->arena);
        fz_buf_puts(&b, i + 1 == spec->n_fields ? ")\n" : "");
    }
    fz_buf_puts(&b, "LOCATION ");
    quote(&b, m->location);
    fz_buf_printf(&b, "\nTBLPROPERTIES (\n  'format-version' = '%d'", m->format_version);
    for (size_t i = 0; i < m->n_properties; i++) {
        if (strcmp(m->properties[i].key, "owner") != 0) {
            fz_buf_puts(&b, ",\n  ");
            quote(&b, m->properties[i].key);
            fz_buf_puts(&b, " = ");
            quote(&b, m->properties[i].value);
        }
    }
    fz_buf_puts(&b, ")\n");
    FZ_TRY(fz_buf_check(&b, err));
    FZ_TRY(add(answer, err, b.ptr, NULL, NULL));
out:
    fz_buf_dispose(&b);
    return rc;
}

enum fz_code fz_show(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const namespaces[] = {"namespace"}, *const tables[] = {"namespace", "tableName", "isTemporary:boolean"}, *const catalogs[] = {"catalog"},
                             *const col_name[] = {"col_name"};
    const char *what = s->ast->text;
    struct lister lister = {s, answer};
    struct fz_catalog *catalog;
    struct fz_table_name ns;
    if (strcmp(what, "NAMESPACES") == 0) {
        FZ_TRY(fz_engine_split_name(s->engine, &s->arena, &s->ast->name, true, &catalog, &ns, err));
        FZ_TRY(begin(s, answer, namespaces, 1, err));
        return catalog->vtable->namespace_list(catalog, &ns, add_namespace, &lister, err);
    }
    if (strcmp(what, "TABLES") == 0) {
        FZ_TRY(namespace_of(s, &catalog, &ns, err));
        bool exists = true;
        if (ns.n_levels > 0) {
            FZ_TRY(catalog->vtable->namespace_exists(catalog, &ns, &exists, err));
        }
        if (!exists) {
            return fz_fail_cond(err, FZ_NOT_FOUND, "SCHEMA_NOT_FOUND", "there is no namespace %s", ns.levels[ns.n_levels - 1]);
        }
        FZ_TRY(begin(s, answer, tables, 3, err));
        FZ_TRY(catalog->vtable->list_tables(catalog, &ns, add_table, &lister, err));
        for (size_t i = 0; i < s->engine->n_views; i++) {
            if (like(s->ast->pattern, s->engine->views[i].name)) {
                FZ_TRY(add(answer, err, "", s->engine->views[i].name, "true"));
            }
        }
        return FZ_OK;
    }
    if (strcmp(what, "TBLPROPERTIES") == 0) {
        return show_properties(s, answer, err);
    }
    if (strcmp(what, "CREATE TABLE") == 0) {
        return show_create(s, answer, err);
    }
    if (strcmp(what, "CATALOGS") == 0) {
        FZ_TRY(begin(s, answer, catalogs, 1, err));
        FZ_TRY(add(answer, err, s->engine->current_catalog, NULL, NULL));
        for (size_t i = 0; i < s->engine->n_catalogs; i++) {
            if (strcmp(s->engine->catalogs[i]->name, s->engine->current_catalog) != 0) {
                FZ_TRY(add(answer, err, s->engine->catalogs[i]->name, NULL, NULL));
            }
        }
        return FZ_OK;
    }
    if (strcmp(what, "COLUMNS") == 0) {
        struct fz_engine_table *t;
        FZ_TRY(fz_engine_load_table(s, &s->ast->name, &t, err));
        FZ_TRY(begin(s, answer, col_name, 1, err));
        for (size_t i = 0; i < t->schema->type->n_fields; i++) {
            FZ_TRY(add(answer, err, t->schema->type->fields[i].name, NULL, NULL));
        }
        return FZ_OK;
    }
    rc = fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE", "SHOW %s is not there yet", what);
out:
    return rc;
}

static enum fz_code describe_column(struct fz_answer *answer, const struct fz_field *f, struct fz_err *err) {
    struct fz_buf type = {0};
    fz_type_print_sql(&type, f->type);
    enum fz_code rc = add(answer, err, f->name, type.ptr, f->doc);
    fz_buf_dispose(&type);
    return rc;
}

enum fz_code fz_describe(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const columns[] = {"col_name", "data_type", "comment"}, *const info[] = {"info_name", "info_value"};
    const struct fz_ast_stmt *a = s->ast;
    if (a->text != NULL && strcmp(a->text, "NAMESPACE") == 0) {
        struct fz_catalog *catalog;
        struct fz_table_name ns;
        struct fz_property *properties;
        size_t n;
        FZ_TRY(fz_engine_split_name(s->engine, &s->arena, &a->name, true, &catalog, &ns, err));
        FZ_TRY(catalog->vtable->namespace_properties(catalog, &ns, &s->arena, &properties, &n, err));
        FZ_TRY(begin(s, answer, info, 2, err));
        FZ_TRY(add(answer, err, "Catalog Name", catalog->name, NULL));
        FZ_TRY(add(answer, err, "Namespace Name", ns.n_levels ? ns.levels[ns.n_levels - 1] : "", NULL));
        for (size_t i = 0; i < n; i++) {
            const char *key = strcmp(properties[i].key, "location") == 0 ? "Location" : strcmp(properties[i].key, "comment") == 0 ? "Comment" : properties[i].key;
            FZ_TRY(add(answer, err, key, properties[i].value, NULL));
        }
        return FZ_OK;
    }
    FZ_TRY(begin(s, answer, columns, 3, err));
    if (a->query != NULL) {
        struct fz_sql_query *query;
        struct fz_sql_env env = fz_statement_env(s);
        FZ_TRY(fz_sql_bind_query(&s->arena, &env, a->query, &query, err));
        for (size_t i = 0; i < query->n_columns; i++) {
            FZ_TRY(describe_column(answer, &query->columns[i], err));
        }
        return FZ_OK;
    }
    struct fz_ast_rel rel = {.kind = FZ_AST_TABLE, .name = a->name};
    struct fz_sql_table table;
    struct fz_ast_query *view;
    const char **view_columns;
    FZ_TRY(fz_engine_env_resolve(s, &s->arena, &rel, &table, &view, &view_columns, err));
    if (view != NULL) {
        struct fz_sql_query *query;
        struct fz_sql_env env = fz_statement_env(s);
        FZ_TRY(fz_sql_bind_query(&s->arena, &env, view, &query, err));
        for (size_t i = 0; i < query->n_columns; i++) {
            struct fz_field f = query->columns[i];
            f.name = view_columns ? view_columns[i] : f.name;
            FZ_TRY(describe_column(answer, &f, err));
        }
        return FZ_OK;
    }
    for (size_t i = 0; i < table.n_fields; i++) {
        FZ_TRY(describe_column(answer, &table.fields[i], err));
    }
    const struct fz_engine_table *t = table.handle;
    const struct fz_partition_spec *spec = t ? fz_metadata_spec(t->metadata, t->metadata->default_spec_id) : NULL;
    if (t == NULL || t->kind != FZ_TABLE_DATA) {
        return FZ_OK;
    }
    struct fz_buf b = {0};
    for (size_t i = 0; spec != NULL && i < spec->n_fields && rc == FZ_OK; i++) {
        if (i == 0) {
            FZ_TRY(add(answer, err, "", "", ""));
            FZ_TRY(add(answer, err, "# Partitioning", "", ""));
        }
        char part[32];
        snprintf(part, sizeof part, "Part %zu", i);
        fz_buf_clear(&b);
        print_transform_sql(&b, t->schema, spec->fields[i].source_id, &spec->fields[i].transform, &s->arena);
        rc = add(answer, err, part, b.ptr, "");
    }
    fz_buf_dispose(&b);
    if (rc == FZ_OK && a->extended) {
        FZ_TRY(add(answer, err, "", "", ""));
        FZ_TRY(add(answer, err, "# Detailed Table Information", "", ""));
        FZ_TRY(add(answer, err, "Name", table.name, ""));
        FZ_TRY(add(answer, err, "Type", "MANAGED", ""));
        FZ_TRY(add(answer, err, "Location", t->metadata->location, ""));
        FZ_TRY(add(answer, err, "Provider", "iceberg", ""));
        FZ_TRY(add(answer, err, "Owner", fz_metadata_property(t->metadata, "owner", ""), ""));
    }
out:
    return rc;
}
