// CREATE TABLE (also AS SELECT and REPLACE), DROP TABLE, RENAME TABLE.
#include <ctype.h>
#include <stdlib.h>

#include "base/text.h"
#include "engine/engine_priv.h"

const struct fz_field *fz_find_column(const struct fz_type *type, const struct fz_ast_name *name) {
    const struct fz_field *found = NULL;
    for (size_t p = 0; p < name->n; p++) {
        found = NULL;
        for (size_t i = 0; i < type->n_fields && found == NULL; i++) {
            if (fz_strcasecmp(type->fields[i].name, name->parts[p]) == 0) {
                found = &type->fields[i];
            }
        }
        if (found == NULL) {
            return NULL;
        }
        type = found->type;
    }
    return found;
}

// Iceberg has no 8 and 16 bit integers, no intervals: TINYINT and SMALLINT become INT (as Spark writes them).
static enum fz_code storable(struct fz_arena *arena, const struct fz_type *type, const char *column,
                             int64_t format_version, int32_t *next_id, const struct fz_type **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (type->n_fields == 0) {
        bool small = type->id == FZ_TYPE_BYTE || type->id == FZ_TYPE_SHORT;
        bool newer = type->id == FZ_TYPE_UNKNOWN || type->id == FZ_TYPE_VARIANT || type->id == FZ_TYPE_GEOMETRY ||
                     type->id == FZ_TYPE_GEOGRAPHY || type->id == FZ_TYPE_TIMESTAMP_NS ||
                     type->id == FZ_TYPE_TIMESTAMPTZ_NS;
        if (type->id >= FZ_TYPE_INTERVAL_DT || (newer && format_version < 3)) {
            struct fz_buf b = {0};
            fz_type_print_sql(&b, type);
            rc = fz_fail_cond(err, FZ_UNSUPPORTED, "", "column %s: Iceberg tables%s cannot hold the type %s", column,
                              newer ? " below 'format-version' 3" : "", b.ptr ? b.ptr : "");
            fz_buf_dispose(&b);
            return rc;
        }
        *out = small ? fz_type_primitive(FZ_TYPE_INT) : type;
        return FZ_OK;
    }
    struct fz_field *fields = fz_arena_memdup(arena, type->fields, type->n_fields * sizeof *fields);
    struct fz_type *copy = fz_arena_memdup(arena, type, sizeof *type);
    if (fields == NULL || copy == NULL) {
        return fz_fail_nomem(err, type->n_fields * sizeof *fields);
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        fields[i].id = (*next_id)++;
        FZ_TRY(storable(arena, fields[i].type, column, format_version, next_id, &fields[i].type, err));
    }
    copy->fields = fields;
    *out = copy;
out:
    return rc;
}

static const char *const TRANSFORM_SUFFIX[] = {"", "_bucket", "_trunc", "_year", "_month", "_day", "_hour", "_null"};

static bool transform_of(const struct fz_ast_transform *item, struct fz_transform *out) {
    static const struct {
        const char *name;
        enum fz_transform_kind kind;
    } names[] = {
        {"identity", FZ_TRANSFORM_IDENTITY}, {"bucket", FZ_TRANSFORM_BUCKET}, {"truncate", FZ_TRANSFORM_TRUNCATE},
        {"years", FZ_TRANSFORM_YEAR},        {"year", FZ_TRANSFORM_YEAR},     {"months", FZ_TRANSFORM_MONTH},
        {"month", FZ_TRANSFORM_MONTH},       {"days", FZ_TRANSFORM_DAY},      {"day", FZ_TRANSFORM_DAY},
        {"date", FZ_TRANSFORM_DAY},          {"hours", FZ_TRANSFORM_HOUR},    {"hour", FZ_TRANSFORM_HOUR},
        {"date_hour", FZ_TRANSFORM_HOUR},    {"void", FZ_TRANSFORM_VOID},
    };
    *out = (struct fz_transform){.kind = FZ_TRANSFORM_IDENTITY};
    if (item->function == NULL) {
        return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(item->function, names[i].name) == 0) {
            out->kind = names[i].kind;
            out->param = (int32_t)item->param;
            return true;
        }
    }
    return false;
}

enum fz_code fz_partition_field_of(struct fz_arena *arena, const struct fz_type *schema,
                                   const struct fz_ast_transform *item, struct fz_partition_field *out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf name = {0};
    for (size_t i = 0; i < item->column.n; i++) {
        fz_buf_printf(&name, "%s%s", i > 0 ? "." : "", item->column.parts[i]);
    }
    FZ_TRY(fz_buf_check(&name, err));
    const struct fz_field *column = fz_find_column(schema, &item->column);
    if (column == NULL) {
        rc = fz_fail_cond(err, FZ_NOT_FOUND, "", "there is no column %s to partition by", name.ptr);
        goto out;
    }
    if (!transform_of(item, &out->transform)) {
        rc = fz_fail_cond(
            err, FZ_UNSUPPORTED, "",
            "%s is not a partition transform; there are bucket(n, c), truncate(n, c), years, months, days and hours",
            item->function);
        goto out;
    }
    bool needs_param = out->transform.kind == FZ_TRANSFORM_BUCKET || out->transform.kind == FZ_TRANSFORM_TRUNCATE;
    if (needs_param && item->param <= 0) {
        rc = fz_fail(err, FZ_UNSUPPORTED, "%s of %s needs a positive number", item->function, name.ptr);
        goto out;
    }
    const struct fz_type *result;
    struct fz_err refused = FZ_ERR_INIT;
    rc = fz_transform_result_type(&out->transform, column->type, &result, &refused);
    if (rc != FZ_OK) {
        rc = fz_fail(err, rc == FZ_SCHEMA_MISMATCH ? FZ_INVALID_ARG : rc, "Cannot partition or sort by %s of %s: %s",
                     item->function ? item->function : "identity", name.ptr, refused.message);
        goto out;
    }
    fz_buf_clear(&name);
    for (size_t i = 0; i < item->column.n; i++) { // the column's own spelling
        struct fz_ast_name prefix = {.parts = item->column.parts, .n = i + 1};
        fz_buf_printf(&name, "%s%s", i > 0 ? "." : "", fz_find_column(schema, &prefix)->name);
    }
    fz_buf_puts(&name, TRANSFORM_SUFFIX[out->transform.kind]);
    out->source_id = column->id;
    out->name = fz_arena_strdup(arena, name.ptr);
    rc = out->name == NULL ? fz_fail_nomem(err, name.len) : FZ_OK;
out:
    fz_err_at(err, item->pos.line, item->pos.column);
    fz_buf_dispose(&name);
    return rc;
}

// The columns of a CREATE TABLE: written ones, or those of its query.
static enum fz_code build_schema(struct fz_statement *s, const struct fz_sql_query *query, int64_t format_version,
                                 const struct fz_type **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_ast_stmt *a = s->ast;
    size_t n = query != NULL ? query->n_columns : a->n_column_defs;
    int32_t next_id = (int32_t)n + 1;
    struct fz_field *fields = fz_arena_array(&s->arena, n, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, n * sizeof *fields);
    }
    for (size_t i = 0; i < n; i++) {
        const struct fz_ast_column_def *def = query == NULL ? &a->column_defs[i] : NULL;
        fields[i] = (struct fz_field){
            .id = (int32_t)i + 1,
            .name = def ? def->name : query->columns[i].name,
            .required = def ? def->not_null : false,
            .doc = def ? def->comment : NULL,
        };
        if (def != NULL && def->default_value != NULL) {
            return fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE.TABLE_OPERATION",
                                "column %s: column defaults cannot be declared for Iceberg tables", def->name);
        }
        FZ_TRY(storable(&s->arena, def ? def->type : query->columns[i].type, fields[i].name, format_version, &next_id,
                        &fields[i].type, err));
        for (size_t k = 0; k < i; k++) {
            if (fz_strcasecmp(fields[k].name, fields[i].name) == 0) {
                return fz_fail_cond(err, FZ_EXISTS, "COLUMN_ALREADY_EXISTS", "the column %s is there twice",
                                    fields[i].name);
            }
        }
    }
    *out = fz_type_struct(&s->arena, fields, n);
    rc = *out == NULL ? fz_fail_nomem(err, n * sizeof *fields) : FZ_OK;
out:
    return rc;
}

bool fz_property_is_clause(const char *key) {
    static const char *const keys[] = {"provider", "location", "owner", "external", "is_managed_location"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

static enum fz_code build_properties(struct fz_statement *s, struct fz_property **out, size_t *n, struct fz_err *err) {
    const struct fz_ast_stmt *a = s->ast;
    struct fz_property *items = fz_arena_array(&s->arena, a->n_properties + 3, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, (a->n_properties + 3) * sizeof *items);
    }
    size_t k = 0;
    const char *user = getenv("USER");
    items[k++] = (struct fz_property){"owner", user ? user : "root"};
    if (a->comment != NULL) {
        items[k++] = (struct fz_property){"comment", a->comment};
    }
    if (a->provider != NULL && fz_strcasecmp(a->provider, "iceberg") != 0) {
        items[k++] = (struct fz_property){"write.format.default", a->provider};
    }
    for (size_t i = 0; i < a->n_properties; i++) {
        if (fz_property_is_clause(a->properties[i].key)) {
            return fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY",
                                "the property %s is reserved: there is a clause of CREATE TABLE for it",
                                a->properties[i].key);
        }
        items[k++] = a->properties[i];
    }
    *out = items;
    *n = k;
    return FZ_OK;
}

// A table that does not exist for others until its first commit: CREATE TABLE … AS SELECT, REPLACE TABLE … AS SELECT. `load` shows the
// prepared metadata, `commit` publishes it together with the snapshot.
struct staged_catalog {
    struct fz_catalog base;
    struct fz_catalog *real;
    struct fz_metadata *prepared;
    bool replaces; // the table is there: prepared = current + `updates`
    const struct fz_update *updates;
    size_t n_updates;
    const char *uuid;
};
static enum fz_code staged_load(struct fz_catalog *base, const struct fz_table_name *name, struct fz_metadata **out,
                                struct fz_err *err) {
    (void)name;
    (void)err;
    *out = fz_metadata_ref(((struct staged_catalog *)base)->prepared);
    return FZ_OK;
}
static enum fz_code staged_commit(struct fz_catalog *base, const struct fz_table_name *name,
                                  const struct fz_requirement *requirements, size_t n_req,
                                  const struct fz_update *updates, size_t n, struct fz_metadata **out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct staged_catalog *c = (struct staged_catalog *)base;
    struct fz_metadata *full = NULL;
    struct fz_update *all = NULL;
    if (!c->replaces) {
        FZ_TRY(fz_metadata_apply(c->prepared, updates, n, fz_now_us() / 1000, &full, err));
        full->n_metadata_log = 0; // the prepared document was never written
        FZ_TRY(c->real->vtable->create(c->real, name, full, out, err));
        goto out;
    }
    (void)requirements;
    (void)n_req;
    all = fz_calloc(c->n_updates + n, sizeof *all);
    if (all == NULL) {
        rc = fz_fail_nomem(err, (c->n_updates + n) * sizeof *all);
        goto out;
    }
    memcpy(all, c->updates, c->n_updates * sizeof *all);
    memcpy(all + c->n_updates, updates, n * sizeof *all);
    struct fz_requirement same = {.kind = FZ_REQUIRE_UUID, .text = c->uuid};
    FZ_TRY(c->real->vtable->commit(c->real, name, &same, 1, all, c->n_updates + n, out, err));
out:
    fz_free(all);
    fz_metadata_unref(full);
    return rc;
}
static const struct fz_catalog_vtable STAGED = {.type = "staged", .load = staged_load, .commit = staged_commit};

// The query of CTAS as an insert: its output columns are the table's, casts included.
static enum fz_code insert_query(struct fz_statement *s, struct fz_catalog *staged, const struct fz_table_name *name,
                                 struct fz_metadata *metadata, struct fz_sql_query *query, bool replaces,
                                 struct fz_err *err) {
    struct fz_bound_insert bound = {.query = query, .overwrite = replaces};
    struct fz_change_target target = {
        .catalog = staged, .name = *name, .store = s->engine->store, .metadata = metadata};
    return fz_execute_insert(s, &bound, &target, err);
}

// What REPLACE TABLE changes: schema, spec, order, properties; main is dropped, history stays.
static enum fz_code replace_updates(struct fz_statement *s, const struct fz_table_create *create,
                                    struct fz_metadata *current, struct fz_metadata *fresh, struct fz_update **out,
                                    size_t *n, struct fz_err *err) {
    struct fz_update *u = fz_arena_array(&s->arena, 9, sizeof *u);
    if (u == NULL) {
        return fz_fail_nomem(err, 9 * sizeof *u);
    }
    size_t k = 0;
    if (fz_metadata_find_ref(current, "main") != NULL) {
        u[k++] = (struct fz_update){.kind = FZ_UPDATE_REMOVE_SNAPSHOT_REF, .u.text = "main"};
    }
    u[k++] = (struct fz_update){.kind = FZ_UPDATE_ADD_SCHEMA, .u.schema = fz_metadata_current_schema(fresh)};
    u[k++] = (struct fz_update){.kind = FZ_UPDATE_SET_CURRENT_SCHEMA, .u.id = -1};
    u[k++] = (struct fz_update){.kind = FZ_UPDATE_ADD_SPEC, .u.spec = fz_metadata_spec(fresh, fresh->default_spec_id)};
    u[k++] = (struct fz_update){.kind = FZ_UPDATE_SET_DEFAULT_SPEC, .u.id = -1};
    u[k++] = (struct fz_update){.kind = FZ_UPDATE_ADD_SORT_ORDER,
                                .u.order = fz_metadata_sort_order(fresh, fresh->default_sort_order_id)};
    u[k++] = (struct fz_update){.kind = FZ_UPDATE_SET_DEFAULT_SORT_ORDER, .u.id = -1};
    if (create->n_properties > 0) {
        u[k] = (struct fz_update){.kind = FZ_UPDATE_SET_PROPERTIES};
        u[k].u.properties.items = create->properties;
        u[k++].u.properties.n = create->n_properties;
    }
    *out = u;
    *n = k;
    return FZ_OK;
}

static enum fz_code create_or_replace(struct fz_statement *s, struct fz_catalog *catalog,
                                      const struct fz_table_name *name, struct fz_table_create *create,
                                      struct fz_metadata *current, struct fz_sql_query *query, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *fresh = NULL, *prepared = NULL, *done = NULL;
    struct fz_update *updates = NULL;
    size_t n_updates = 0;
    FZ_TRY(fz_metadata_create(create, fz_now_us() / 1000, &fresh, err));
    if (current != NULL) {
        FZ_TRY(replace_updates(s, create, current, fresh, &updates, &n_updates, err));
        FZ_TRY(fz_metadata_apply(current, updates, n_updates, fz_now_us() / 1000, &prepared, err));
    } else {
        prepared = fz_metadata_ref(fresh);
    }
    if (query != NULL) {
        struct staged_catalog staged = {
            .base = {.vtable = &STAGED, .name = catalog->name, .warehouse = catalog->warehouse},
            .real = catalog,
            .prepared = prepared,
            .replaces = current != NULL,
            .updates = updates,
            .n_updates = n_updates,
            .uuid = prepared->table_uuid,
        };
        FZ_TRY(insert_query(s, &staged.base, name, prepared, query, current != NULL, err));
    } else if (current != NULL) {
        struct fz_requirement same = {.kind = FZ_REQUIRE_UUID, .text = current->table_uuid};
        FZ_TRY(catalog->vtable->commit(catalog, name, &same, 1, updates, n_updates, &done, err));
    } else {
        FZ_TRY(catalog->vtable->create(catalog, name, fresh, &done, err));
    }
out:
    fz_metadata_unref(fresh);
    fz_metadata_unref(prepared);
    fz_metadata_unref(done);
    return rc;
}

static enum fz_code check_provider(const char *provider, struct fz_err *err) {
    static const char *const known[] = {"iceberg", "parquet", "avro", "orc"};
    for (size_t i = 0; provider != NULL && i < sizeof known / sizeof *known; i++) {
        if (fz_strcasecmp(provider, known[i]) == 0) {
            return FZ_OK;
        }
    }
    return provider == NULL ? FZ_OK
                            : fz_fail(err, FZ_UNSUPPORTED,
                                      "USING %s: this catalog holds Iceberg tables; write USING iceberg", provider);
}

static int64_t wanted_version(const struct fz_ast_stmt *a, const struct fz_metadata *current) {
    int64_t version = current != NULL ? current->format_version : 2;
    for (size_t i = 0; i < a->n_properties; i++) {
        if (strcmp(a->properties[i].key, "format-version") == 0 &&
            !fz_parse_i64(fz_str_of(a->properties[i].value), &version)) {
            version = 2; // refused later, with the reason
        }
    }
    return version;
}

static enum fz_code build_partitioning(struct fz_statement *s, struct fz_table_create *create, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_ast_stmt *a = s->ast;
    struct fz_partition_field *partition = fz_arena_array(&s->arena, a->n_partition_by, sizeof *partition);
    if (partition == NULL) {
        return fz_fail_nomem(err, a->n_partition_by * sizeof *partition);
    }
    for (size_t i = 0; i < a->n_partition_by; i++) {
        FZ_TRY(fz_partition_field_of(&s->arena, create->schema, &a->partition_by[i], &partition[i], err));
    }
    create->partition = partition;
    create->n_partition = a->n_partition_by;
out:
    return rc;
}

// CREATE TABLE a LIKE b: b's columns and partitioning, not its properties.
static enum fz_code take_shape(struct fz_statement *s, struct fz_table_create *create, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_engine_table *like;
    FZ_TRY(fz_engine_load_table(s, &s->ast->column, &like, err));
    if (like->kind != FZ_TABLE_DATA) {
        return fz_fail(err, FZ_UNSUPPORTED, "%s is a metadata table: a table cannot be made like it",
                       like->metadata_table);
    }
    const struct fz_partition_spec *spec = fz_metadata_spec(like->metadata, like->metadata->default_spec_id);
    struct fz_partition_field *partition = fz_arena_array(&s->arena, spec->n_fields, sizeof *partition);
    if (partition == NULL) {
        return fz_fail_nomem(err, spec->n_fields * sizeof *partition);
    }
    for (size_t i = 0; i < spec->n_fields; i++) {
        if (spec->fields[i].transform.kind != FZ_TRANSFORM_VOID) {
            partition[create->n_partition++] = spec->fields[i];
        }
    }
    create->schema = like->schema->type;
    create->partition = partition;
out:
    return rc;
}

enum fz_code fz_ddl_create_table(struct fz_statement *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_ast_stmt *a = s->ast;
    struct fz_catalog *catalog;
    struct fz_table_name name;
    struct fz_metadata *current = NULL;
    struct fz_sql_query *query = NULL;
    struct fz_err probe = FZ_ERR_INIT;
    FZ_TRY(check_provider(a->provider, err));
    FZ_TRY(fz_engine_split_name(s->engine, &s->arena, &a->name, false, &catalog, &name, err));
    rc = catalog->vtable->load(catalog, &name, &current, &probe);
    if (rc != FZ_OK && rc != FZ_NOT_FOUND) {
        if (err != NULL && err->code == FZ_OK) {
            *err = probe;
        }
        return rc;
    }
    if (current != NULL && !a->or_replace && !a->replace) {
        fz_metadata_unref(current);
        if (a->if_not_exists) {
            return FZ_OK;
        }
        struct fz_buf text = {0};
        fz_table_name_print(&text, &name);
        rc = fz_fail_cond(
            err, FZ_EXISTS, "TABLE_OR_VIEW_ALREADY_EXISTS",
            "the table %s is there already: choose another name, drop it, or write CREATE TABLE IF NOT EXISTS",
            text.ptr ? text.ptr : name.name);
        fz_buf_dispose(&text);
        return rc;
    }
    if (current == NULL && a->replace && !a->or_replace) {
        return fz_fail_cond(err, FZ_NOT_FOUND, "TABLE_OR_VIEW_NOT_FOUND",
                            "there is no table %s to replace; write CREATE OR REPLACE TABLE", name.name);
    }
    struct fz_table_create create = {0};
    if (a->query != NULL) {
        struct fz_sql_env env = fz_statement_env(s);
        if (fz_engine_duck(s->engine, err) == NULL) {
            rc = err != NULL ? err->code : FZ_ENGINE;
            goto out;
        }
        FZ_TRY(fz_sql_bind_query(&s->arena, &env, a->query, &query, err));
    }
    if (a->text != NULL && strcmp(a->text, "LIKE") == 0) {
        FZ_TRY(take_shape(s, &create, err));
    } else {
        FZ_TRY(build_schema(s, query, wanted_version(a, current), &create.schema, err));
        FZ_TRY(build_partitioning(s, &create, err));
    }
    struct fz_property *properties = NULL;
    FZ_TRY(build_properties(s, &properties, &create.n_properties, err));
    create.properties = properties;
    if (a->location != NULL) {
        create.location = a->location;
    } else if (current != NULL) {
        create.location = current->location;
    } else {
        FZ_TRY(fz_catalog_default_location(catalog, &name, &s->arena, &create.location, err));
    }
    FZ_TRY(create_or_replace(s, catalog, &name, &create, current, query, err));
out:
    fz_metadata_unref(current);
    return rc;
}

enum fz_code fz_ddl_drop_table(struct fz_statement *s, struct fz_err *err) {
    struct fz_catalog *catalog;
    struct fz_table_name name;
    struct fz_err inner = FZ_ERR_INIT;
    enum fz_code rc = fz_engine_split_name(s->engine, &s->arena, &s->ast->name, false, &catalog, &name, err);
    if (rc != FZ_OK) {
        return rc;
    }
    rc = catalog->vtable->drop(catalog, &name, &inner);
    if (rc == FZ_NOT_FOUND && s->ast->if_exists) {
        return FZ_OK;
    }
    if (rc != FZ_OK && err != NULL && err->code == FZ_OK) {
        *err = inner;
    }
    return rc;
}

enum fz_code fz_ddl_rename_table(struct fz_statement *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_catalog *catalog, *to_catalog;
    struct fz_table_name from, to;
    FZ_TRY(fz_engine_split_name(s->engine, &s->arena, &s->ast->name, false, &catalog, &from, err));
    FZ_TRY(fz_engine_split_name(s->engine, &s->arena, &s->ast->new_name, false, &to_catalog, &to, err));
    if (to_catalog != catalog) {
        return fz_fail(err, FZ_INVALID_ARG, "a table cannot be renamed from catalog %s into catalog %s", catalog->name,
                       to_catalog->name);
    }
    FZ_TRY(catalog->vtable->rename(catalog, &from, &to, err));
out:
    return rc;
}
