// From a written name to what the binder sees: tables (with branch, tag, snapshot or time), metadata tables, temporary views,
// file sources.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "engine/engine_priv.h"
#include "scan/scan.h"

struct fz_engine_view *fz_engine_find_view(struct fz_engine *e, const char *name) {
    for (size_t i = 0; i < e->n_views; i++) {
        if (fz_strcasecmp(e->views[i].name, name) == 0) {
            return &e->views[i];
        }
    }
    return NULL;
}

struct fz_engine_view *fz_engine_named_view(struct fz_engine *e, const struct fz_ast_name *name) {
    if (name->n == 1) {
        return fz_engine_find_view(e, name->parts[0]);
    }
    for (size_t i = 0; name->n == 2 && fz_strcasecmp(name->parts[0], "global_temp") == 0 && i < e->n_views; i++) {
        if (strncmp(e->views[i].name, "global_temp.", 12) == 0 &&
            fz_strcasecmp(e->views[i].name + 12, name->parts[1]) == 0) {
            return &e->views[i];
        }
    }
    return NULL;
}

enum fz_code fz_statement_keep(struct fz_statement *s, struct fz_metadata *metadata, struct fz_err *err) {
    enum fz_code rc = fz_grow((void **)&s->metadata, &s->cap_metadata, s->n_metadata + 1, sizeof *s->metadata, err);
    if (rc == FZ_OK) {
        s->metadata[s->n_metadata++] = metadata;
    } else {
        fz_metadata_unref(metadata);
    }
    return rc;
}

static bool same_name(const struct fz_table_name *a, const struct fz_table_name *b) {
    if (a->n_levels != b->n_levels || strcmp(a->name, b->name) != 0) {
        return false;
    }
    for (size_t i = 0; i < a->n_levels; i++) {
        if (strcmp(a->levels[i], b->levels[i]) != 0) {
            return false;
        }
    }
    return true;
}

// One load a table and statement: a table named twice is the same snapshot both times.
struct loaded {
    struct fz_catalog *catalog;
    struct fz_table_name name;
    struct fz_metadata *metadata;
    struct loaded *next;
};

static enum fz_code load_once(struct fz_statement *s, struct fz_catalog *catalog, const struct fz_table_name *name,
                              struct fz_metadata **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (struct loaded *l = s->loaded; l != NULL; l = l->next) {
        if (l->catalog == catalog && same_name(&l->name, name)) {
            *out = l->metadata;
            return FZ_OK;
        }
    }
    struct fz_metadata *metadata;
    FZ_TRY(catalog->vtable->load(catalog, name, &metadata, err));
    FZ_TRY(fz_statement_keep(s, metadata, err));
    struct loaded *l = FZ_ARENA_NEW(&s->arena, struct loaded);
    if (l == NULL) {
        return fz_fail_nomem(err, sizeof *l);
    }
    *l = (struct loaded){catalog, *name, metadata, s->loaded};
    s->loaded = l;
    *out = metadata;
out:
    return rc;
}

// Write-audit-publish, when the table allows it and its name says no branch: reads and writes go to the branch spark.wap.branch (reads
// fall back to main until it exists), or writes are staged under spark.wap.id.
static void use_wap(struct fz_engine *e, struct fz_engine_table *t) {
    const char *branch = fz_setting(e, "spark.wap.branch", NULL), *id = fz_setting(e, "spark.wap.id", NULL);
    if ((branch == NULL && id == NULL) || !fz_metadata_property_bool(t->metadata, "write.wap.enabled", false)) {
        return;
    }
    t->wap_id = id;
    t->wap_conflict = branch != NULL && id != NULL;
    if (branch != NULL) {
        const struct fz_snapshot_ref *ref = fz_metadata_find_ref(t->metadata, branch);
        t->branch = branch;
        t->snapshot_id = ref != NULL ? ref->snapshot_id : t->snapshot_id;
    }
}

// The last part of the name may say which branch, tag or metadata table is meant.
static enum fz_code load_with_suffix(struct fz_statement *s, const struct fz_ast_name *name, struct fz_engine_table *t,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const char *suffix = name->parts[name->n - 1];
    struct fz_ast_name outer = *name;
    outer.n--;
    FZ_TRY(fz_engine_split_name(s->engine, &s->arena, &outer, false, &t->catalog, &t->name, err));
    FZ_TRY(load_once(s, t->catalog, &t->name, &t->metadata, err));
    t->schema = fz_metadata_current_schema(t->metadata);
    const struct fz_snapshot *head = fz_metadata_current_snapshot(t->metadata);
    t->snapshot_id = head ? head->snapshot_id : -1;
    if (strncmp(suffix, "branch_", 7) == 0) {
        FZ_TRY(fz_engine_use_ref(t, suffix + 7, false, err));
    } else if (strncmp(suffix, "tag_", 4) == 0) {
        FZ_TRY(fz_engine_use_ref(t, suffix + 4, true, err));
    } else {
        t->kind = FZ_TABLE_METADATA;
        t->metadata_table = suffix;
    }
out:
    return rc;
}

struct near_name {
    const char *wanted;
    char best[128];
    size_t distance;
};

static enum fz_code look_at_name(void *ctx, const struct fz_table_name *name, struct fz_err *err) {
    struct near_name *near = ctx;
    (void)err;
    size_t d = fz_edit_distance(fz_str_of(name->name), fz_str_of(near->wanted));
    if (d < near->distance && strlen(name->name) < sizeof near->best) {
        near->distance = d;
        snprintf(near->best, sizeof near->best, "%s", name->name);
    }
    return FZ_OK;
}

// Adds the nearest name of the namespace to the error that a table is not there.
static void suggest_table(const struct fz_engine_table *t, struct fz_err *err) {
    struct fz_err ignored = FZ_ERR_INIT;
    if (t->catalog == NULL || t->name.name == NULL || err->code != FZ_NOT_FOUND) {
        return;
    }
    const struct fz_table_name ns = {.levels = t->name.levels, .n_levels = t->name.n_levels};
    struct near_name near = {.wanted = t->name.name, .distance = strlen(t->name.name) / 2 + 1};
    bool exists = false;
    if (t->catalog->vtable->namespace_exists(t->catalog, &ns, &exists, &ignored) != FZ_OK) {
        return;
    }
    size_t len = strlen(err->message);
    struct fz_table_name outer = {.levels = ns.levels, .n_levels = ns.n_levels - 1, .name = NULL};
    struct fz_metadata *table = NULL;
    outer.name = ns.n_levels > 1 ? ns.levels[ns.n_levels - 1] : NULL;
    if (!exists && outer.name != NULL && t->catalog->vtable->load(t->catalog, &outer, &table, &ignored) == FZ_OK) {
        fz_metadata_unref(table);
        snprintf(
            err->message + len, sizeof err->message - len,
            "; %s is a table, which has no metadata table %s (there are snapshots, history, refs, files, manifests, "
            "partitions, entries and their all_ forms) and no such branch_NAME or tag_NAME",
            outer.name, t->name.name);
    } else if (!exists) {
        snprintf(err->message + len, sizeof err->message - len, "; the namespace does not exist");
    } else if (t->catalog->vtable->list_tables(t->catalog, &ns, look_at_name, &near, &ignored) == FZ_OK &&
               near.best[0] != 0) {
        snprintf(err->message + len, sizeof err->message - len, "; did you mean `%s`?", near.best);
    }
}

enum fz_code fz_engine_load_table(struct fz_statement *s, const struct fz_ast_name *name, struct fz_engine_table **out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_err plain = FZ_ERR_INIT;
    struct fz_engine_table *t = FZ_ARENA_NEW(&s->arena, struct fz_engine_table);
    if (t == NULL) {
        return fz_fail_nomem(err, sizeof *t);
    }
    *out = t;
    rc = fz_engine_split_name(s->engine, &s->arena, name, false, &t->catalog, &t->name, &plain);
    if (rc == FZ_OK) {
        rc = load_once(s, t->catalog, &t->name, &t->metadata, &plain);
    }
    const char *last = name->parts[name->n - 1];
    bool has_suffix = strncmp(last, "branch_", 7) == 0 || strncmp(last, "tag_", 4) == 0 || fz_is_metadata_table(last);
    if (rc == FZ_NOT_FOUND && has_suffix && name->n >= 3) {
        struct fz_err second = FZ_ERR_INIT;
        rc = load_with_suffix(s, name, t, &second);
        if (rc != FZ_OK && err != NULL) {
            *err = second;
        }
        goto out;
    }
    if (rc != FZ_OK) {
        if (err != NULL && err->code == FZ_OK) {
            suggest_table(t, &plain);
            *err = plain;
        }
        goto out;
    }
    t->schema = fz_metadata_current_schema(t->metadata);
    const struct fz_snapshot *head = fz_metadata_current_snapshot(t->metadata);
    t->snapshot_id = head ? head->snapshot_id : -1;
    use_wap(s->engine, t);
out:
    fz_err_at(err, name->pos.line, name->pos.column);
    return rc;
}

enum fz_code fz_statement_constant(struct fz_statement *s, const struct fz_ast_expr *ast, const struct fz_type *type,
                                   struct fz_value *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    const struct fz_expr *expr;
    struct fz_ast_expr cast = {.kind = FZ_AST_CAST, .pos = ast->pos, .op = "CAST", .type = type, .n_args = 1};
    struct fz_ast_expr *arg = (struct fz_ast_expr *)(uintptr_t)ast;
    cast.args = &arg;
    struct fz_sql_env env = fz_statement_env(s);
    struct fz_duck *duck = fz_engine_duck(s->engine, err);
    if (duck == NULL) {
        return err != NULL ? err->code : FZ_ENGINE;
    }
    FZ_TRY(fz_sql_bind_expr(&s->arena, &env, &cast, NULL, 0, &expr, err));
    fz_buf_puts(&sql, "SELECT ");
    FZ_TRY(fz_sql_print_expr(&sql, expr, err));
    FZ_TRY(fz_buf_check(&sql, err));
    struct fz_field field = {.id = 1, .name = "v", .type = type};
    bool found;
    FZ_TRY(fz_duck_query_row(duck, sql.ptr, &field, 1, &s->arena, out, &found, err));
out:
    fz_buf_dispose(&sql);
    return rc;
}

static enum fz_code hidden_columns(struct fz_statement *s, const struct fz_engine_table *t, struct fz_sql_table *out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_field *h = fz_arena_array(&s->arena, 7, sizeof *h);
    const struct fz_type *partition;
    if (h == NULL) {
        return fz_fail_nomem(err, 7 * sizeof *h);
    }
    FZ_TRY(fz_metadata_partition_type(&s->arena, t->metadata, &partition, err));
    const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG);
    size_t n = 0;
    h[n++] = (struct fz_field){
        .id = FZ_ID_FILE, .name = "_file", .required = true, .type = fz_type_primitive(FZ_TYPE_STRING)};
    h[n++] = (struct fz_field){.id = FZ_ID_POS, .name = "_pos", .required = true, .type = lng};
    h[n++] = (struct fz_field){
        .id = FZ_ID_DELETED, .name = "_deleted", .required = true, .type = fz_type_primitive(FZ_TYPE_BOOLEAN)};
    h[n++] = (struct fz_field){
        .id = FZ_ID_SPEC_ID, .name = "_spec_id", .required = true, .type = fz_type_primitive(FZ_TYPE_INT)};
    h[n++] = (struct fz_field){.id = FZ_ID_PARTITION, .name = "_partition", .type = partition};
    if (t->metadata->format_version >= 3) {
        h[n++] = (struct fz_field){.id = FZ_ID_ROW_ID, .name = "_row_id", .type = lng};
        h[n++] = (struct fz_field){
            .id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER, .name = "_last_updated_sequence_number", .type = lng};
    }
    out->hidden = h;
    out->n_hidden = n;
out:
    return rc;
}

static enum fz_code partition_columns(struct fz_statement *s, const struct fz_engine_table *t, struct fz_sql_table *out,
                                      struct fz_err *err) {
    const struct fz_partition_spec *spec = fz_metadata_spec(t->metadata, t->metadata->default_spec_id);
    size_t n = spec != NULL ? spec->n_fields : 0;
    int32_t *ids = fz_arena_array(&s->arena, n, sizeof *ids);
    if (ids == NULL) {
        return fz_fail_nomem(err, n * sizeof *ids);
    }
    out->partition_ids = ids;
    for (size_t i = 0; i < n; i++) {
        if (spec->fields[i].transform.kind == FZ_TRANSFORM_IDENTITY) {
            ids[out->n_partition_ids++] = spec->fields[i].source_id;
        }
    }
    return FZ_OK;
}

// Where the engine's reader of Parquet would lose something, our own reads the files: `out` is then a table with a handle.
static enum fz_code resolve_own_files(struct fz_statement *s, struct fz_duck *duck, const char *quoted,
                                      const struct fz_field *fields, struct fz_sql_table *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_files *files = NULL;
    FZ_TRY(fz_parquet_files_open(s->engine, duck, quoted, fields, out->n_fields, &files, err));
    if (files == NULL) {
        goto out;
    }
    FZ_TRY(fz_grow((void **)&s->files, &s->cap_files, s->n_files + 1, sizeof *s->files, err));
    s->files[s->n_files++] = files;
    struct fz_parquet_files *kept = files;
    files = NULL;
    const char *const *names;
    struct fz_engine_table *t = FZ_ARENA_NEW(&s->arena, struct fz_engine_table);
    const struct fz_field *shown = fz_parquet_files_fields(kept, &names, &out->n_fields);
    struct fz_field *named = fz_arena_memdup(&s->arena, shown, out->n_fields * sizeof *named);
    if (t == NULL || named == NULL) {
        rc = fz_fail_nomem(err, sizeof *t);
        goto out;
    }
    for (size_t i = 0; i < out->n_fields; i++) {
        named[i].name = names[i];
    }
    *t = (struct fz_engine_table){.kind = FZ_TABLE_FILES, .snapshot_id = -1, .files = kept};
    out->handle = t;
    out->fields = named;
out:
    fz_parquet_files_unref(files);
    return rc;
}

static enum fz_code resolve_file(struct fz_statement *s, const struct fz_ast_rel *rel, struct fz_sql_table *out,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const struct {
        const char *format, *function, *options;
    } readers[] = {
        {"parquet", "read_parquet", ""},
        // As Spark without options: no header, texts in columns _c0, _c1 …; an empty field is NULL. Nothing is guessed from the data.
        {"csv", "read_csv",
         ", header = false, all_varchar = true, delim = ',', quote = '\"', escape = '\"', comment = '', nullstr = '', "
         "null_padding = true, "
         "strict_mode = false"},
        {"json", "read_json_auto", ""},
    };
    struct fz_buf sql = {0};
    const char *format = rel->name.parts[0], *path = rel->name.parts[1], *function = NULL, *options = "";
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        if (fz_strcasecmp(format, readers[i].format) == 0) {
            function = readers[i].function;
            options = readers[i].options;
        }
    }
    if (function == NULL) {
        return fz_fail(err, FZ_UNSUPPORTED, "files of the format %s cannot be read directly; parquet, csv and json can",
                       format);
    }
    struct fz_duck *duck = fz_engine_duck(s->engine, err);
    if (duck == NULL) {
        return err != NULL ? err->code : FZ_ENGINE;
    }
    if (strncmp(path, "file:", 5) == 0) {
        path += strncmp(path, "file://", 7) == 0 ? 7 : 5;
    }
    fz_buf_printf(&sql, "%s('", function);
    for (const char *p = path; *p != 0; p++) {
        if (*p == '\'') {
            fz_buf_putc(&sql, '\'');
        }
        fz_buf_putc(&sql, *p);
    }
    fz_buf_printf(&sql, "'%s)", options);
    FZ_TRY(fz_buf_check(&sql, err));
    char *describe = fz_arena_printf(&s->arena, "SELECT * FROM %s", sql.ptr);
    struct fz_field *fields;
    FZ_TRY(fz_duck_describe(duck, describe, &s->arena, &fields, &out->n_fields, err));
    for (size_t i = 0; i < out->n_fields; i++) {
        fields[i].id = (int32_t)i + 1; // columns print as c<id>
    }
    if (options[0] != 0) { // named by position
        struct fz_buf names = {0};
        for (size_t i = 0; i < out->n_fields; i++) {
            fields[i].name = fz_arena_printf(&s->arena, "_c%zu", i);
            fz_buf_printf(&names, "%s_c%zu", i > 0 ? ", " : "", i);
        }
        fz_buf_printf(&sql, " AS file(%s)", names.ptr);
        fz_buf_dispose(&names);
        FZ_TRY(fz_buf_check(&sql, err));
    }
    out->fields = fields;
    out->name = fz_arena_printf(&s->arena, "%s.`%s`", format, path);
    if (fz_strcasecmp(format, "parquet") == 0) {
        const char *quoted = fz_arena_strndup(&s->arena, sql.ptr + 13, sql.len - 14); // of read_parquet('…')
        if (quoted == NULL) {
            rc = fz_fail_nomem(err, sql.len);
            goto out;
        }
        FZ_TRY(resolve_own_files(s, duck, quoted, fields, out, err));
    }
    out->duck_relation = out->handle == NULL ? fz_arena_strdup(&s->arena, sql.ptr) : NULL;
out:
    fz_buf_dispose(&sql);
    return rc;
}

static enum fz_code resolve_table(struct fz_statement *s, const struct fz_ast_rel *rel, struct fz_sql_table *out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_engine_table *t;
    struct fz_buf name = {0};
    FZ_TRY(fz_engine_load_table(s, &rel->name, &t, err));
    FZ_TRY(fz_engine_travel(s, t, rel, err));
    fz_buf_printf(&name, "%s.", t->catalog->name);
    fz_table_name_print(&name, &t->name);
    FZ_TRY(fz_buf_check(&name, err));
    out->handle = t;
    out->name = fz_arena_strdup(&s->arena, name.ptr);
    if (t->kind == FZ_TABLE_METADATA) {
        FZ_TRY(fz_metadata_table_fields(&s->arena, t, &out->fields, &out->n_fields, err));
        goto out;
    }
    out->is_iceberg_table = true;
    out->evolves = fz_metadata_property_bool(t->metadata, "write.spark.auto-schema-evolution.enabled", true);
    out->last_column_id = t->metadata->last_column_id;
    out->fields = t->schema->type->fields;
    out->n_fields = t->schema->type->n_fields;
    FZ_TRY(hidden_columns(s, t, out, err));
    FZ_TRY(partition_columns(s, t, out, err));
out:
    fz_buf_dispose(&name);
    return rc;
}

enum fz_code fz_engine_env_resolve(void *ctx, struct fz_arena *arena, const struct fz_ast_rel *rel,
                                   struct fz_sql_table *out, struct fz_ast_query **view_query,
                                   const char ***view_columns, struct fz_err *err) {
    struct fz_statement *s = ctx;
    *out = (struct fz_sql_table){0};
    *view_query = NULL;
    *view_columns = NULL;
    if (rel->kind == FZ_AST_FILE) {
        return resolve_file(s, rel, out, err);
    }
    struct fz_engine_view *view = fz_engine_named_view(s->engine, &rel->name);
    if (view != NULL) {
        out->is_view = true;
        out->name = view->name;
        if (view->n_columns > 0) {
            *view_columns = (const char **)view->columns;
        }
        enum fz_code rc = fz_sql_parse_query(arena, fz_str_of(view->query_text), view_query, err);
        fz_err_context(err, "view %s", view->name);
        return rc;
    }
    return resolve_table(s, rel, out, err);
}

static const char *env_setting(void *ctx, const char *key) {
    return fz_setting(((struct fz_statement *)ctx)->engine, key, NULL);
}

struct fz_sql_env fz_statement_env(struct fz_statement *s) {
    struct fz_engine *e = s->engine;
    struct fz_buf ns = {0};
    for (size_t i = 0; i < e->n_current_levels; i++) {
        fz_buf_printf(&ns, "%s%s", i > 0 ? "." : "", e->current_levels[i]);
    }
    const char *user = getenv("USER");
    struct fz_sql_env env = {
        .ctx = s,
        .resolve = fz_engine_env_resolve,
        .setting = env_setting,
        .now_us = e->statement_now_us,
        .time_zone = fz_setting(e, "spark.sql.session.timeZone", "UTC"),
        .current_catalog = e->current_catalog,
        .current_namespace = fz_arena_strdup(&s->arena, ns.ptr ? ns.ptr : ""),
        .user = user ? user : "root",
    };
    fz_buf_dispose(&ns);
    return env;
}
