// What a table, a query or a namespace is made of, as Spark shows it: DESCRIBE …, SHOW TBLPROPERTIES, SHOW CREATE TABLE.
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "engine/engine_priv.h"

// Kept as table properties, shown in places of their own.
static bool is_reserved(const char *key) {
    static const char *const keys[] = {"comment",   "location", "provider", "owner", "external", "is_managed_location",
                                       "table_type"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

static void print_transform(struct fz_buf *b, const struct fz_schema *schema, int32_t source_id,
                            const struct fz_transform *t, bool width_first, struct fz_arena *arena) {
    static const char *const names[] = {"", "bucket", "truncate", "years", "months", "days", "hours", "void"};
    const char *column = fz_schema_name_of(schema, source_id, arena);
    column = column != NULL ? column : "?";
    if (t->kind == FZ_TRANSFORM_IDENTITY) {
        fz_buf_puts(b, column);
    } else if (t->kind == FZ_TRANSFORM_BUCKET || (t->kind == FZ_TRANSFORM_TRUNCATE && width_first)) {
        fz_buf_printf(b, "%s(%d, %s)", names[t->kind], t->param, column);
    } else if (t->kind == FZ_TRANSFORM_TRUNCATE) {
        fz_buf_printf(b, "%s(%s, %d)", names[t->kind], column, t->param);
    } else {
        fz_buf_printf(b, "%s(%s)", t->kind < FZ_TRANSFORM_OTHER ? names[t->kind] : t->name, column);
    }
}

static int by_key(const void *a, const void *b) {
    return strcmp(((const struct fz_property *)a)->key, ((const struct fz_property *)b)->key);
}

// The properties Spark shows: the table's own without the reserved ones, and the computed ones, by key.
static enum fz_code visible_properties(struct fz_statement *s, const struct fz_engine_table *t,
                                       struct fz_property **out, size_t *n_out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_metadata *m = t->metadata;
    const struct fz_schema *schema = fz_metadata_current_schema(m);
    const struct fz_snapshot *head = fz_metadata_current_snapshot(m);
    const struct fz_sort_order *order = fz_metadata_sort_order(m, m->default_sort_order_id);
    struct fz_buf ids = {0}, sort = {0};
    struct fz_property *all = fz_arena_array(&s->arena, m->n_properties + 5, sizeof *all);
    size_t n = 0;
    if (all == NULL) {
        return fz_fail_nomem(err, (m->n_properties + 5) * sizeof *all);
    }
    all[n++] = (struct fz_property){"current-snapshot-id",
                                    head ? fz_arena_printf(&s->arena, "%" PRId64, head->snapshot_id) : "none"};
    all[n++] = (struct fz_property){
        "format", fz_arena_printf(&s->arena, "iceberg/%s", fz_metadata_property(m, "write.format.default", "parquet"))};
    all[n++] = (struct fz_property){"format-version", fz_arena_printf(&s->arena, "%d", m->format_version)};
    for (size_t i = 0; i < schema->n_identifier_field_ids; i++) {
        const char *name = fz_schema_name_of(schema, schema->identifier_field_ids[i], &s->arena);
        fz_buf_printf(&ids, "%s%s", i == 0 ? "[" : ",", name ? name : "?");
    }
    if (schema->n_identifier_field_ids > 0) {
        fz_buf_putc(&ids, ']');
        FZ_TRY(fz_buf_check(&ids, err));
        all[n++] = (struct fz_property){"identifier-fields", fz_arena_strdup(&s->arena, ids.ptr)};
    }
    for (size_t i = 0; order != NULL && i < order->n_fields; i++) {
        fz_buf_puts(&sort, i > 0 ? ", " : "");
        print_transform(&sort, schema, order->fields[i].source_id, &order->fields[i].transform, false, &s->arena);
        fz_buf_printf(&sort, " %s NULLS %s", order->fields[i].descending ? "DESC" : "ASC",
                      order->fields[i].nulls_last ? "LAST" : "FIRST");
    }
    if (sort.len > 0) {
        FZ_TRY(fz_buf_check(&sort, err));
        all[n++] = (struct fz_property){"sort-order", fz_arena_strdup(&s->arena, sort.ptr)};
    }
    for (size_t i = 0; i < m->n_properties; i++) {
        if (!is_reserved(m->properties[i].key)) {
            all[n++] = m->properties[i];
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (all[i].value == NULL) {
            rc = fz_fail_nomem(err, 64);
            goto out;
        }
        all[i].value = fz_setting_is_secret(all[i].key) ? "*********(redacted)" : all[i].value;
    }
    qsort(all, n, sizeof *all, by_key);
    *out = all;
    *n_out = n;
out:
    fz_buf_dispose(&ids);
    fz_buf_dispose(&sort);
    return rc;
}

static const char *full_name(struct fz_statement *s, const struct fz_engine_table *t) {
    struct fz_buf b = {0};
    fz_buf_printf(&b, "%s.", t->catalog->name);
    fz_table_name_print(&b, &t->name);
    const char *text = b.ptr != NULL && !b.failed ? fz_arena_strdup(&s->arena, b.ptr) : NULL;
    fz_buf_dispose(&b);
    return text != NULL ? text : t->name.name;
}

enum fz_code fz_show_properties(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const columns[] = {"key", "value"};
    struct fz_engine_table *t;
    struct fz_property *all;
    size_t n;
    const char *only = s->ast->key;
    bool found = false;
    FZ_TRY(fz_engine_load_table(s, &s->ast->name, &t, err));
    FZ_TRY(visible_properties(s, t, &all, &n, err));
    FZ_TRY(fz_answer_begin(s, answer, columns, 2, err));
    for (size_t i = 0; i < n; i++) {
        if (only == NULL || strcmp(only, all[i].key) == 0) {
            FZ_TRY(fz_answer_add(answer, err, all[i].key, all[i].value, NULL));
            found = true;
        }
    }
    if (only != NULL && !found) {
        FZ_TRY(fz_answer_add(answer, err, only,
                             fz_arena_printf(&s->arena, "Table %s does not have property: %s", full_name(s, t), only),
                             NULL));
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

static void print_name(struct fz_buf *b, const char *name) {
    bool plain = *name != 0, digits = true;
    for (const char *p = name; *p != 0; p++) {
        plain = plain && (isalnum((unsigned char)*p) || *p == '_') && (unsigned char)*p < 128;
        digits = digits && isdigit((unsigned char)*p);
    }
    if (plain && !digits) {
        fz_buf_puts(b, name);
        return;
    }
    fz_buf_putc(b, '`');
    for (const char *p = name; *p != 0; p++) {
        fz_buf_puts(b, *p == '`' ? "`" : "");
        fz_buf_putc(b, *p);
    }
    fz_buf_putc(b, '`');
}

// STRUCT<x: INT NOT NULL COMMENT 'c'>: a type as DDL. Depth is that of the schema, which is bounded where it is read.
static void print_type(struct fz_buf *b, const struct fz_type *type) {
    if (type->n_fields == 0) {
        size_t start = b->len;
        fz_type_print_sql(b, type);
        for (size_t i = start; !b->failed && i < b->len; i++) {
            b->ptr[i] = (char)toupper((unsigned char)b->ptr[i]);
        }
        return;
    }
    fz_buf_puts(b, type->id == FZ_TYPE_STRUCT ? "STRUCT<" : type->id == FZ_TYPE_LIST ? "ARRAY<" : "MAP<");
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct fz_field *f = &type->fields[i];
        fz_buf_puts(b, i > 0 ? ", " : "");
        if (type->id == FZ_TYPE_STRUCT) {
            print_name(b, f->name);
            fz_buf_puts(b, ": ");
        }
        print_type(b, f->type);
        if (type->id == FZ_TYPE_STRUCT) {
            fz_buf_puts(b, f->required ? " NOT NULL" : "");
            if (f->doc != NULL) {
                fz_buf_puts(b, " COMMENT ");
                quote(b, f->doc);
            }
        }
    }
    fz_buf_putc(b, '>');
}

enum fz_code fz_show_create(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const columns[] = {"createtab_stmt"};
    struct fz_engine_table *t;
    struct fz_buf b = {0};
    struct fz_property *properties;
    size_t n;
    FZ_TRY(fz_engine_load_table(s, &s->ast->name, &t, err));
    FZ_TRY(visible_properties(s, t, &properties, &n, err));
    FZ_TRY(fz_answer_begin(s, answer, columns, 1, err));
    const struct fz_metadata *m = t->metadata;
    fz_buf_printf(&b, "CREATE TABLE %s (\n", full_name(s, t));
    for (size_t i = 0; i < t->schema->type->n_fields; i++) {
        const struct fz_field *f = &t->schema->type->fields[i];
        fz_buf_puts(&b, i > 0 ? ",\n  " : "  ");
        print_name(&b, f->name);
        fz_buf_putc(&b, ' ');
        print_type(&b, f->type);
        fz_buf_puts(&b, f->required ? " NOT NULL" : "");
        if (f->doc != NULL) {
            fz_buf_puts(&b, " COMMENT ");
            quote(&b, f->doc);
        }
    }
    fz_buf_puts(&b, ")\nUSING iceberg\n");
    const struct fz_partition_spec *spec = fz_metadata_spec(m, m->default_spec_id);
    bool partitioned = false;
    for (size_t i = 0; spec != NULL && i < spec->n_fields; i++) {
        if (spec->fields[i].transform.kind != FZ_TRANSFORM_VOID) {
            fz_buf_puts(&b, partitioned ? ", " : "PARTITIONED BY (");
            print_transform(&b, t->schema, spec->fields[i].source_id, &spec->fields[i].transform, true, &s->arena);
            partitioned = true;
        }
    }
    fz_buf_puts(&b, partitioned ? ")\n" : "");
    const char *comment = fz_metadata_property(m, "comment", NULL);
    if (comment != NULL) {
        fz_buf_puts(&b, "COMMENT ");
        quote(&b, comment);
        fz_buf_putc(&b, '\n');
    }
    fz_buf_puts(&b, "LOCATION ");
    quote(&b, m->location);
    fz_buf_puts(&b, "\nTBLPROPERTIES (");
    for (size_t i = 0; i < n; i++) {
        fz_buf_puts(&b, i > 0 ? ",\n  " : "\n  ");
        quote(&b, properties[i].key);
        fz_buf_puts(&b, " = ");
        quote(&b, properties[i].value);
    }
    fz_buf_puts(&b, ")\n");
    FZ_TRY(fz_buf_check(&b, err));
    FZ_TRY(fz_answer_add(answer, err, b.ptr, NULL, NULL));
out:
    fz_buf_dispose(&b);
    return rc;
}

static enum fz_code add_column(struct fz_answer *answer, const char *name, const struct fz_type *type,
                               const char *comment, struct fz_err *err) {
    struct fz_buf text = {0};
    fz_type_print_sql(&text, type);
    enum fz_code rc = fz_buf_check(&text, err);
    rc = rc == FZ_OK ? fz_answer_add(answer, err, name, text.ptr, comment) : rc;
    fz_buf_dispose(&text);
    return rc;
}

static enum fz_code add_title(struct fz_answer *answer, const char *title, struct fz_err *err) {
    enum fz_code rc = fz_answer_add(answer, err, "", "", "");
    return rc == FZ_OK ? fz_answer_add(answer, err, title, "", "") : rc;
}

// Identity partitions are listed as columns, all others as numbered parts.
static enum fz_code add_partitioning(struct fz_statement *s, struct fz_answer *answer, const struct fz_engine_table *t,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf b = {0};
    const struct fz_partition_spec *spec = fz_metadata_spec(t->metadata, t->metadata->default_spec_id);
    size_t live = 0, identity = 0, part = 0;
    for (size_t i = 0; spec != NULL && i < spec->n_fields; i++) {
        live += spec->fields[i].transform.kind != FZ_TRANSFORM_VOID;
        identity += spec->fields[i].transform.kind == FZ_TRANSFORM_IDENTITY;
    }
    bool as_columns = identity == live;
    if (live > 0 && as_columns) {
        FZ_TRY(fz_answer_add(answer, err, "# Partition Information", "", ""));
        FZ_TRY(fz_answer_add(answer, err, "# col_name", "data_type", "comment"));
    } else if (live > 0) {
        FZ_TRY(add_title(answer, "# Partitioning", err));
    }
    for (size_t i = 0; live > 0 && i < spec->n_fields; i++) {
        const struct fz_partition_field *f = &spec->fields[i];
        const struct fz_field *column = fz_schema_find(t->schema, f->source_id);
        if (f->transform.kind == FZ_TRANSFORM_VOID) {
            continue;
        }
        if (as_columns && column != NULL) {
            FZ_TRY(add_column(answer, fz_schema_name_of(t->schema, f->source_id, &s->arena), column->type, column->doc,
                              err));
            continue;
        }
        char name[32];
        snprintf(name, sizeof name, "Part %zu", part++);
        fz_buf_clear(&b);
        print_transform(&b, t->schema, f->source_id, &f->transform, true, &s->arena);
        FZ_TRY(fz_buf_check(&b, err));
        FZ_TRY(fz_answer_add(answer, err, name, b.ptr, ""));
    }
out:
    fz_buf_dispose(&b);
    return rc;
}

// The one metadata table that is partitioned itself, by the table's partitions.
static enum fz_code add_partition_members(struct fz_answer *answer, const struct fz_engine_table *t,
                                          const struct fz_sql_table *table, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf name = {0};
    const struct fz_type *partition = NULL;
    for (size_t i = 0; fz_strcasecmp(t->metadata_table, "position_deletes") == 0 && i < table->n_fields; i++) {
        partition = strcmp(table->fields[i].name, "partition") == 0 ? table->fields[i].type : partition;
    }
    if (partition != NULL) {
        FZ_TRY(fz_answer_add(answer, err, "# Partition Information", "", ""));
        FZ_TRY(fz_answer_add(answer, err, "# col_name", "data_type", "comment"));
    }
    for (size_t i = 0; partition != NULL && i < partition->n_fields; i++) {
        fz_buf_clear(&name);
        fz_buf_printf(&name, "partition.%s", partition->fields[i].name);
        FZ_TRY(fz_buf_check(&name, err));
        FZ_TRY(add_column(answer, name.ptr, partition->fields[i].type, NULL, err));
    }
out:
    fz_buf_dispose(&name);
    return rc;
}

// Spark's guess at the bytes of one value.
static int64_t estimated_size(const struct fz_type *type) {
    int64_t sum = 0;
    switch ((int)type->id) {
    case FZ_TYPE_BOOLEAN:
        return 1;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
    case FZ_TYPE_FLOAT:
        return 4;
    case FZ_TYPE_STRING:
        return 20;
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
        return 100;
    case FZ_TYPE_DECIMAL:
        return type->precision <= 18 ? 8 : 16;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        for (size_t i = 0; i < type->n_fields; i++) {
            sum += estimated_size(type->fields[i].type);
        }
        return sum;
    default:
        return 8;
    }
}

static enum fz_code add_details(struct fz_statement *s, struct fz_answer *answer, const struct fz_sql_table *table,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_engine_table *t = table->handle;
    static const char *const shown[] = {
        "_spec_id", "_partition", "_file", "_pos", "_deleted", "_row_id", "_last_updated_sequence_number"};
    struct fz_property *properties;
    size_t n;
    struct fz_buf b = {0};
    FZ_TRY(visible_properties(s, t, &properties, &n, err));
    FZ_TRY(add_title(answer, "# Metadata Columns", err));
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        for (size_t k = 0; k < table->n_hidden; k++) {
            if (strcmp(table->hidden[k].name, shown[i]) == 0) {
                FZ_TRY(add_column(answer, shown[i], table->hidden[k].type, "", err));
            }
        }
    }
    FZ_TRY(add_title(answer, "# Detailed Table Information", err));
    FZ_TRY(fz_answer_add(answer, err, "Name", table->name, ""));
    FZ_TRY(fz_answer_add(answer, err, "Type", "MANAGED", ""));
    const char *comment = fz_metadata_property(t->metadata, "comment", NULL);
    if (comment != NULL) {
        FZ_TRY(fz_answer_add(answer, err, "Comment", comment, ""));
    }
    FZ_TRY(fz_answer_add(answer, err, "Location", t->metadata->location, ""));
    FZ_TRY(fz_answer_add(answer, err, "Provider", "iceberg", ""));
    FZ_TRY(fz_answer_add(answer, err, "Owner", fz_metadata_property(t->metadata, "owner", ""), ""));
    FZ_TRY(fz_answer_add(answer, err, "Table_type", "EXTERNAL", ""));
    for (size_t i = 0; i < n; i++) {
        fz_buf_printf(&b, "%s%s=%s", i > 0 ? "," : "[", properties[i].key, properties[i].value);
    }
    fz_buf_putc(&b, ']');
    FZ_TRY(fz_buf_check(&b, err));
    FZ_TRY(fz_answer_add(answer, err, "Table Properties", b.ptr, ""));
    const struct fz_snapshot *head = t->snapshot_id >= 0 ? fz_metadata_snapshot(t->metadata, t->snapshot_id) : NULL;
    const char *records = head != NULL ? fz_snapshot_summary(head, "total-records") : NULL;
    int64_t rows = 0;
    if (records != NULL && (!fz_parse_i64(fz_str_of(records), &rows) || rows < 0)) {
        rows = 0;
    }
    int64_t width = estimated_size(t->schema->type), bytes;
    if (__builtin_mul_overflow(width, rows, &bytes)) {
        bytes = INT64_MAX;
    }
    fz_buf_clear(&b);
    fz_buf_printf(&b, "%" PRId64 " bytes, %" PRId64 " rows", bytes, rows);
    FZ_TRY(fz_buf_check(&b, err));
    FZ_TRY(fz_answer_add(answer, err, "Statistics", b.ptr, NULL));
out:
    fz_buf_dispose(&b);
    return rc;
}

// DESCRIBE TABLE t column: name, type and comment under one another.
static enum fz_code describe_one(struct fz_statement *s, struct fz_answer *answer, const struct fz_field *fields,
                                 size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const columns[] = {"info_name", "info_value"};
    const struct fz_ast_name *name = &s->ast->column;
    const struct fz_field *found = NULL;
    for (size_t i = 0; i < n && found == NULL; i++) {
        found = fz_strcasecmp(fields[i].name, name->parts[0]) == 0 ? &fields[i] : NULL;
    }
    if (found == NULL) {
        return fz_fail_cond(err, FZ_NOT_FOUND, "UNRESOLVED_COLUMN.WITH_SUGGESTION", "there is no column %s to describe",
                            name->parts[0]);
    }
    if (name->n > 1) {
        return fz_fail_cond(err, FZ_INVALID_ARG, "_LEGACY_ERROR_TEMP_1060",
                            "DESC TABLE COLUMN does not support nested column %s: name the whole column %s",
                            name->parts[name->n - 1], found->name);
    }
    struct fz_buf type = {0};
    fz_type_print_sql(&type, found->type);
    FZ_TRY(fz_buf_check(&type, err));
    FZ_TRY(fz_answer_begin(s, answer, columns, 2, err));
    FZ_TRY(fz_answer_add(answer, err, "col_name", found->name, NULL));
    FZ_TRY(fz_answer_add(answer, err, "data_type", type.ptr, NULL));
    FZ_TRY(fz_answer_add(answer, err, "comment", found->doc ? found->doc : "NULL", NULL));
out:
    fz_buf_dispose(&type);
    return rc;
}

static enum fz_code describe_namespace(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const info[] = {"info_name", "info_value"}, *const keys[] = {"comment", "location", "owner"},
                             *const titles[] = {"Comment", "Location", "Owner"};
    struct fz_catalog *catalog;
    struct fz_table_name ns;
    struct fz_property *properties;
    size_t n, rest = 0;
    struct fz_buf b = {0};
    FZ_TRY(fz_engine_split_name(s->engine, &s->arena, &s->ast->name, true, &catalog, &ns, err));
    FZ_TRY(catalog->vtable->namespace_properties(catalog, &ns, &s->arena, &properties, &n, err));
    FZ_TRY(fz_answer_begin(s, answer, info, 2, err));
    FZ_TRY(fz_answer_add(answer, err, "Catalog Name", catalog->name, NULL));
    FZ_TRY(fz_answer_add(answer, err, "Namespace Name", ns.n_levels ? ns.levels[ns.n_levels - 1] : "", NULL));
    if (n > 0) {
        qsort(properties, n, sizeof *properties, by_key);
    }
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < n; i++) {
            if (strcmp(properties[i].key, keys[k]) == 0) {
                FZ_TRY(fz_answer_add(answer, err, titles[k], properties[i].value, NULL));
            }
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (strcmp(properties[i].key, "comment") != 0 && strcmp(properties[i].key, "location") != 0 &&
            strcmp(properties[i].key, "owner") != 0) {
            const char *value = fz_setting_is_secret(properties[i].key) ? "*********(redacted)" : properties[i].value;
            fz_buf_printf(&b, "%s(%s,%s)", rest++ > 0 ? ", " : "(", properties[i].key, value);
        }
    }
    if (s->ast->extended) {
        fz_buf_puts(&b, rest > 0 ? ")" : "");
        FZ_TRY(fz_buf_check(&b, err));
        FZ_TRY(fz_answer_add(answer, err, "Properties", b.ptr != NULL ? b.ptr : "", NULL));
    }
out:
    fz_buf_dispose(&b);
    return rc;
}

static enum fz_code describe_query(struct fz_statement *s, struct fz_answer *answer, const struct fz_ast_query *ast,
                                   const char **names, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const columns[] = {"col_name", "data_type", "comment"};
    struct fz_sql_query *query;
    struct fz_sql_env env = fz_statement_env(s);
    FZ_TRY(fz_sql_bind_query(&s->arena, &env, ast, &query, err));
    if (s->ast->column.n > 0) {
        return describe_one(s, answer, query->columns, query->n_columns, err);
    }
    FZ_TRY(fz_answer_begin(s, answer, columns, 3, err));
    for (size_t i = 0; i < query->n_columns; i++) {
        FZ_TRY(add_column(answer, names ? names[i] : query->columns[i].name, query->columns[i].type,
                          query->columns[i].doc, err));
    }
out:
    return rc;
}

enum fz_code fz_describe(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const columns[] = {"col_name", "data_type", "comment"};
    const struct fz_ast_stmt *a = s->ast;
    if (a->text != NULL && strcmp(a->text, "NAMESPACE") == 0) {
        return describe_namespace(s, answer, err);
    }
    if (a->query != NULL) {
        return describe_query(s, answer, a->query, NULL, err);
    }
    struct fz_ast_rel rel = {.kind = FZ_AST_TABLE, .name = a->name};
    struct fz_sql_table table;
    struct fz_ast_query *view;
    const char **view_columns;
    FZ_TRY(fz_engine_env_resolve(s, &s->arena, &rel, &table, &view, &view_columns, err));
    if (view != NULL) {
        return describe_query(s, answer, view, view_columns, err);
    }
    if (a->column.n > 0) {
        return describe_one(s, answer, table.fields, table.n_fields, err);
    }
    FZ_TRY(fz_answer_begin(s, answer, columns, 3, err));
    for (size_t i = 0; i < table.n_fields; i++) {
        FZ_TRY(add_column(answer, table.fields[i].name, table.fields[i].type, table.fields[i].doc, err));
    }
    const struct fz_engine_table *t = table.handle;
    if (t != NULL && t->kind == FZ_TABLE_METADATA) {
        return add_partition_members(answer, t, &table, err);
    }
    if (t == NULL || t->kind != FZ_TABLE_DATA) {
        return FZ_OK;
    }
    FZ_TRY(add_partitioning(s, answer, t, err));
    if (a->extended) {
        FZ_TRY(add_details(s, answer, &table, err));
    }
out:
    return rc;
}
