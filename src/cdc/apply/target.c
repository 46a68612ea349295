// The Iceberg table behind a stream's table: loading, creating on first use, new columns. See apply.h.
#include "cdc/apply/apply.h"

#include <stdio.h>

#include "base/text.h"
#include "cdc/encoding.h"

static struct fz_apply_table *target_of(const struct fz_cdc_table *table) {
    return table->apply_state;
}

// `into`, or catalog.schema.table of a discovered table. A name without its catalog gets the pipeline's.
const char *fz_apply_into(struct fz_apply *apply, const struct fz_cdc_table *table) {
    const char *into = table->config == NULL ? NULL : table->config->into, *catalog = apply->pipeline->catalog;
    if (into == NULL) { // the last two parts of "pg.public.orders"
        const char *dot = strrchr(table->match, '.');
        into = table->match;
        for (const char *p = dot; p != NULL && p > table->match; p--) {
            if (p < dot && *p == '.') {
                into = p + 1;
                break;
            }
        }
        if (dot == NULL) {
            into = fz_arena_printf(apply->arena, "default.%s", into);
        }
    }
    if (into == NULL || catalog == NULL) {
        return into;
    }
    size_t n = strlen(catalog), dots = 0;
    for (const char *p = into; *p != 0; p++) {
        dots += *p == '.';
    }
    bool named = strncmp(into, catalog, n) == 0 && into[n] == '.';
    return named || dots >= 2 ? into : fz_arena_printf(apply->arena, "%s.%s", catalog, into);
}

bool fz_apply_has_guard(const struct fz_apply *apply, const struct fz_cdc_table *table) {
    const struct fz_apply_table *target = target_of(table);
    if (target != NULL && target->metadata != NULL) {
        const struct fz_type *type = fz_metadata_current_schema(target->metadata)->type;
        for (size_t i = 0; i < type->n_fields; i++) {
            if (strcmp(type->fields[i].name, FZ_POSITION_COLUMN) == 0) {
                return type->fields[i].type->id == FZ_TYPE_STRING;
            }
        }
        return false;
    }
    bool keyless = table->key_known
                       ? table->n_key == 0
                       : table->config != NULL && table->config->keyless_append && table->config->n_key == 0;
    return apply->pipeline->format == FZ_FORMAT_DEBEZIUM_JSON && !keyless &&
           (table->config == NULL || table->config->n_order_by == 0) &&
           (table->connector == NULL || strcmp(table->connector, "other") != 0);
}

static bool is_own_column(const struct fz_cdc_table *table, const char *name) {
    const struct fz_pipeline_table *config = table->config;
    return strcmp(name, FZ_POSITION_COLUMN) == 0 ||
           (config != NULL && config->deletes == FZ_DELETES_SOFT &&
            (strcmp(name, config->soft_flag) == 0 || (config->soft_at != NULL && strcmp(name, config->soft_at) == 0)));
}

// ---- loading

static const struct fz_pipeline_column *declared_column(const struct fz_cdc_table *table, const char *name) {
    for (size_t i = 0; table->config != NULL && i < table->config->n_columns; i++) {
        if (strcmp(table->config->columns[i].name, name) == 0) {
            return &table->config->columns[i];
        }
    }
    return NULL;
}

static enum fz_code take_default(struct fz_cdc_table *table, const struct fz_pipeline_column *declared,
                                 struct fz_cdc_column *column, struct fz_err *err) {
    if (declared == NULL || declared->default_text == NULL) {
        return FZ_OK;
    }
    return fz_cdc_default_parse(table->arena, declared->default_text, column->type, &column->default_value, err);
}

static enum fz_code take_column(struct fz_cdc_table *table, const struct fz_field *field, const char *dotted,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pipeline_column *declared = declared_column(table, field->name);
    struct fz_cdc_column column = {.name = fz_arena_strdup(table->arena, field->name),
                                   .type = fz_type_copy(table->arena, field->type),
                                   .type_declared = true};
    size_t index;
    if (column.name == NULL || column.type == NULL) {
        return fz_fail_nomem(err, sizeof column);
    }
    if (declared != NULL && !fz_type_equal(declared->type, field->type, true, false)) {
        struct fz_buf want = {0}, have = {0};
        fz_type_print_sql(&want, declared->type);
        fz_type_print_sql(&have, field->type);
        rc = fz_fail(err, FZ_SCHEMA_MISMATCH,
                     "column %s: the pipeline declares %s, table %s has %s; change the declaration, or ALTER TABLE",
                     field->name, want.ptr == NULL ? "?" : want.ptr, dotted, have.ptr == NULL ? "?" : have.ptr);
        fz_err_at(err, declared->line, declared->column);
        fz_buf_dispose(&want);
        fz_buf_dispose(&have);
        return rc;
    }
    if (declared != NULL && declared->encoding.kind != FZ_ENC_NONE) {
        column.encoding = declared->encoding;
        column.encoding_declared = true;
    } else if (field->type->id == FZ_TYPE_STRING && declared == NULL) {
        column.encoding.kind = FZ_ENC_JSON_RAW; // what JSON typing made of text, objects and arrays
    } else {
        FZ_TRY(fz_cdc_encoding_default(table->arena, column.type, &column.encoding, err));
    }
    FZ_TRY(take_default(table, declared, &column, err));
    FZ_TRY(fz_cdc_table_add_column(table, &column, &index, err));
out:
    return rc;
}

static enum fz_code take_columns(struct fz_cdc_table *table, const struct fz_apply_table *target, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *type = fz_metadata_current_schema(target->metadata)->type;
    for (size_t i = 0; i < type->n_fields; i++) {
        if (!is_own_column(table, type->fields[i].name)) {
            FZ_TRY(take_column(table, &type->fields[i], target->dotted, err));
        }
    }
    table->settled = true;
out:
    return rc;
}

static enum fz_code take_positions(struct fz_apply *apply, struct fz_apply_table *target, struct fz_map *positions,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const char *text = fz_positions_of(target->metadata, apply->pipeline->name);
    if (text != NULL) {
        FZ_TRY(fz_positions_parse(positions, text, err));
        target->positions = fz_strdup(text);
        rc = target->positions == NULL ? fz_fail_nomem(err, strlen(text)) : FZ_OK;
    }
out:
    return rc;
}

enum fz_code fz_apply_open(struct fz_apply *apply, struct fz_cdc_table *table, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_apply_table *target = NULL;
    struct fz_err load = FZ_ERR_INIT;
    FZ_NEW(target, err);
    table->apply_state = target;
    target->dotted = fz_apply_into(apply, table);
    if (target->dotted == NULL) {
        rc = fz_fail_nomem(err, 64);
        goto out;
    }
    FZ_TRY(apply->session->resolve(apply->session->ctx, apply->arena, target->dotted, &target->catalog, &target->name,
                                   err));
    rc = target->catalog->vtable->load(target->catalog, &target->name, &target->metadata, &load);
    if (rc == FZ_NOT_FOUND) {
        rc = FZ_OK;
        target->metadata = NULL;
    } else if (rc != FZ_OK) {
        *err = load;
    } else {
        FZ_TRY(take_columns(table, target, err));
        FZ_TRY(take_positions(apply, target, &table->positions, err));
    }
out:
    if (rc != FZ_OK) {
        fz_err_context(err, "table %s", table->match);
    }
    return rc;
}

void fz_apply_close(struct fz_cdc_table *table) {
    struct fz_apply_table *target = target_of(table);
    if (target != NULL) {
        fz_metadata_unref(target->metadata);
        fz_free(target->positions);
        fz_free(target);
        table->apply_state = NULL;
    }
}

enum fz_code fz_apply_declare(struct fz_cdc_table *table, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; table->config != NULL && i < table->config->n_columns; i++) {
        const struct fz_pipeline_column *declared = &table->config->columns[i];
        size_t index;
        if (fz_map_find(&table->by_name, fz_str_of(declared->name)) != NULL) {
            continue;
        }
        struct fz_cdc_column column = {.name = declared->name,
                                       .type = declared->type,
                                       .type_declared = true,
                                       .encoding = declared->encoding,
                                       .encoding_declared = declared->encoding.kind != FZ_ENC_NONE};
        if (!column.encoding_declared) {
            FZ_TRY(fz_cdc_encoding_default(table->arena, column.type, &column.encoding, err));
        }
        FZ_TRY(take_default(table, declared, &column, err));
        FZ_TRY(fz_cdc_table_add_column(table, &column, &index, err));
    }
out:
    return rc;
}

// ---- creating

struct plan { // what CREATE TABLE would say
    struct fz_arena *arena;
    struct fz_field *fields;
    size_t n_fields;
    struct fz_partition_field *partition;
    size_t n_partition;
    struct fz_property *properties;
    size_t n_properties;
};

static enum fz_code add_field(struct plan *plan, const char *name, const struct fz_type *type, const char *doc,
                              struct fz_err *err) {
    for (size_t i = 0; i < plan->n_fields; i++) {
        if (fz_strcasecmp(plan->fields[i].name, name) == 0) {
            return fz_fail(err, FZ_SCHEMA_MISMATCH,
                           "two columns are named %s; give one of them another name with rename:", name);
        }
    }
    plan->fields[plan->n_fields] =
        (struct fz_field){.id = (int32_t)plan->n_fields + 1, .name = name, .type = type, .doc = doc};
    plan->n_fields++;
    return FZ_OK;
}

// Ids for nested fields of a type tree whose fields have none.
static const struct fz_type *with_ids(struct fz_arena *arena, const struct fz_type *type, int32_t *next) {
    if (type->n_fields == 0) {
        return type;
    }
    struct fz_type *copy = fz_arena_memdup(arena, type, sizeof *type);
    struct fz_field *fields = fz_arena_memdup(arena, type->fields, type->n_fields * sizeof *fields);
    if (copy == NULL || fields == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        fields[i].id = (*next)++;
        fields[i].required = type->id == FZ_TYPE_MAP && i == 0;
        fields[i].type = with_ids(arena, type->fields[i].type, next);
        if (fields[i].name == NULL) {
            fields[i].name = type->id == FZ_TYPE_LIST ? "element" : i == 0 ? "key" : "value";
        }
        if (fields[i].type == NULL) {
            return NULL;
        }
    }
    copy->fields = fields;
    return copy;
}

static enum fz_code plan_columns(struct fz_apply *apply, struct fz_cdc_table *table, struct plan *plan,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pipeline_table *config = table->config;
    plan->fields = fz_arena_array(plan->arena, table->n_columns + 3, sizeof *plan->fields);
    if (plan->fields == NULL) {
        return fz_fail_nomem(err, table->n_columns * sizeof *plan->fields);
    }
    for (size_t i = 0; i < table->n_columns; i++) {
        FZ_TRY(add_field(plan, table->columns[i].name, table->columns[i].type, NULL, err));
    }
    if (config != NULL && config->deletes == FZ_DELETES_SOFT) {
        FZ_TRY(add_field(plan, config->soft_flag, fz_type_primitive(FZ_TYPE_BOOLEAN), NULL, err));
        if (config->soft_at != NULL) {
            FZ_TRY(add_field(plan, config->soft_at, fz_type_primitive(FZ_TYPE_TIMESTAMPTZ), NULL, err));
        }
    }
    if (fz_apply_has_guard(apply, table)) {
        FZ_TRY(add_field(plan, FZ_POSITION_COLUMN, fz_type_primitive(FZ_TYPE_STRING),
                         "position in the source's log of the last change to this row", err));
    }
    int32_t next = (int32_t)plan->n_fields + 1;
    for (size_t i = 0; i < plan->n_fields; i++) {
        plan->fields[i].type = with_ids(plan->arena, plan->fields[i].type, &next);
        if (plan->fields[i].type == NULL) {
            return fz_fail_nomem(err, 64);
        }
    }
out:
    return rc;
}

// "days(created_at)", "bucket(16, id)", "country"
static enum fz_code plan_partition(struct plan *plan, const char *text, struct fz_partition_field *out,
                                   struct fz_err *err) {
    static const struct {
        const char *name, *transform, *suffix;
    } KINDS[] = {{"years", "year", "_year"},
                 {"year", "year", "_year"},
                 {"months", "month", "_month"},
                 {"month", "month", "_month"},
                 {"days", "day", "_day"},
                 {"day", "day", "_day"},
                 {"date", "day", "_day"},
                 {"hours", "hour", "_hour"},
                 {"hour", "hour", "_hour"},
                 {"bucket", "bucket", "_bucket"},
                 {"truncate", "truncate", "_trunc"},
                 {"identity", "identity", ""}};
    enum fz_code rc = FZ_OK;
    const char *open = strchr(text, '('), *transform = "identity", *suffix = "";
    char column[512], number[32] = "", spelled[128];
    if (strlen(text) >= sizeof column) {
        return fz_fail(err, FZ_INVALID_ARG, "partition_by: \"%.60s…\" is too long", text);
    }
    if (open == NULL) {
        strcpy(column, text);
    } else {
        bool known = false;
        for (size_t i = 0; i < sizeof KINDS / sizeof *KINDS; i++) {
            if (strlen(KINDS[i].name) == (size_t)(open - text) &&
                strncmp(text, KINDS[i].name, (size_t)(open - text)) == 0) {
                transform = KINDS[i].transform;
                suffix = KINDS[i].suffix;
                known = true;
            }
        }
        const char *from = open + 1, *close = strrchr(text, ')'), *comma = strchr(text, ',');
        bool wants_number = strcmp(transform, "bucket") == 0 || strcmp(transform, "truncate") == 0;
        if (!known || close == NULL || close[1] != 0 || wants_number != (comma != NULL)) {
            return fz_fail(err, FZ_INVALID_ARG,
                           "partition_by: \"%s\" is none of column, years(c), months(c), days(c), hours(c), bucket(n, "
                           "c), truncate(n, c)",
                           text);
        }
        if (comma != NULL) {
            snprintf(number, sizeof number, "%.*s", (int)(comma - from), from);
            from = comma + 1;
        }
        from += strspn(from, " ");
        snprintf(column, sizeof column, "%.*s", (int)(close - from), from);
    }
    const struct fz_field *source = NULL;
    for (size_t i = 0; i < plan->n_fields; i++) {
        source = fz_strcasecmp(plan->fields[i].name, column) == 0 ? &plan->fields[i] : source;
    }
    if (source == NULL) {
        return fz_fail(err, FZ_INVALID_ARG, "partition_by: the table has no column %s", column);
    }
    snprintf(spelled, sizeof spelled, number[0] != 0 ? "%s[%s]" : "%s%s", transform, number);
    *out = (struct fz_partition_field){
        .source_id = source->id, .field_id = 1000, .name = fz_arena_printf(plan->arena, "%s%s", source->name, suffix)};
    FZ_TRY(fz_transform_parse(plan->arena, fz_str_of(spelled), &out->transform, err));
    const struct fz_type *result;
    FZ_TRY(fz_transform_result_type(&out->transform, source->type, &result, err));
    rc = out->name == NULL ? fz_fail_nomem(err, 64) : FZ_OK;
out:
    return rc;
}

static void add_property(struct plan *plan, const char *key, const char *value) {
    for (size_t i = 0; i < plan->n_properties; i++) {
        if (strcmp(plan->properties[i].key, key) == 0) {
            return; // the pipeline's own properties win
        }
    }
    plan->properties[plan->n_properties++] = (struct fz_property){key, value};
}

static enum fz_code make_plan(struct fz_apply *apply, struct fz_cdc_table *table, struct plan *plan,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pipeline_table *config = table->config;
    size_t n_own = config == NULL ? 0 : config->n_properties, n_partition = config == NULL ? 0 : config->n_partition_by;
    FZ_TRY(fz_apply_declare(table, err));
    FZ_TRY(plan_columns(apply, table, plan, err));
    plan->partition = fz_arena_array(plan->arena, n_partition + 1, sizeof *plan->partition);
    plan->properties = fz_arena_array(plan->arena, n_own + 5, sizeof *plan->properties);
    if (plan->partition == NULL || plan->properties == NULL) {
        rc = fz_fail_nomem(err, 256);
        goto out;
    }
    for (size_t i = 0; i < n_partition; i++) {
        FZ_TRY(plan_partition(plan, config->partition_by[i], &plan->partition[i], err));
        plan->partition[i].field_id = 1000 + (int32_t)i;
        plan->n_partition++;
    }
    for (size_t i = 0; i < n_own; i++) {
        add_property(plan, config->properties[i].key, config->properties[i].value);
    }
    const char *mode = config != NULL && config->mode == FZ_MODE_COPY_ON_WRITE ? "copy-on-write" : "merge-on-read";
    add_property(plan, "format-version", "2");
    add_property(plan, "write.delete.mode", mode);
    add_property(plan, "write.update.mode", mode);
    add_property(plan, "write.merge.mode", mode);
out:
    return rc;
}

enum fz_code fz_apply_make_namespace(struct fz_apply_table *target, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t n = 1; n <= target->name.n_levels; n++) { // parents first
        struct fz_table_name ns = {target->name.levels, n, NULL};
        bool exists = false;
        struct fz_err create = FZ_ERR_INIT;
        FZ_TRY(target->catalog->vtable->namespace_exists(target->catalog, &ns, &exists, err));
        if (!exists && target->catalog->vtable->namespace_create(target->catalog, &ns, NULL, 0, &create) != FZ_OK &&
            create.code != FZ_EXISTS) {
            *err = create;
            rc = create.code;
            goto out;
        }
    }
out:
    return rc;
}

static enum fz_code create_table(struct fz_apply *apply, struct fz_apply_table *target, struct plan *plan,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *initial = NULL;
    struct fz_table_create create = {.partition = plan->partition,
                                     .n_partition = plan->n_partition,
                                     .properties = plan->properties,
                                     .n_properties = plan->n_properties};
    FZ_TRY(fz_apply_make_namespace(target, err));
    FZ_TRY(fz_catalog_default_location(target->catalog, &target->name, plan->arena, &create.location, err));
    create.schema = fz_type_struct(plan->arena, plan->fields, plan->n_fields);
    if (create.schema == NULL) {
        rc = fz_fail_nomem(err, 64);
        goto out;
    }
    FZ_TRY(fz_metadata_create(&create, fz_now_us() / 1000, &initial, err));
    FZ_TRY(target->catalog->vtable->create(target->catalog, &target->name, initial, &target->metadata, err));
    fz_log_write(apply->session->log, 2, "created table %s", target->dotted);
out:
    fz_metadata_unref(initial);
    return rc;
}

// ---- evolving

struct evolve {
    struct fz_cdc_table *table;
    bool changed;
};

static const struct fz_cdc_column *column_named(const struct fz_cdc_table *table, const char *name) {
    struct fz_map_entry *entry = fz_map_find(&table->by_name, fz_str_of(name));
    return entry == NULL ? NULL : &table->columns[entry->value.i64];
}

static bool widens(const struct fz_type *from, const struct fz_type *to) {
    return (from->id == FZ_TYPE_INT && to->id == FZ_TYPE_LONG) ||
           (from->id == FZ_TYPE_FLOAT && to->id == FZ_TYPE_DOUBLE) ||
           (from->id == FZ_TYPE_DECIMAL && to->id == FZ_TYPE_DECIMAL && from->scale == to->scale &&
            to->precision > from->precision);
}

static enum fz_code evolve_updates(void *ctx, struct fz_arena *arena, struct fz_metadata *current,
                                   struct fz_update **updates, size_t *n, struct fz_err *err) {
    struct evolve *e = ctx;
    const struct fz_schema *schema = fz_metadata_current_schema(current);
    struct fz_field *fields = fz_arena_array(arena, schema->type->n_fields + e->table->n_columns, sizeof *fields);
    struct fz_schema *next = FZ_ARENA_NEW(arena, struct fz_schema);
    struct fz_update *u = fz_arena_array(arena, 2, sizeof *u);
    if (fields == NULL || next == NULL || u == NULL) {
        return fz_fail_nomem(err, sizeof *fields);
    }
    size_t count = 0;
    int32_t id = current->last_column_id + 1;
    e->changed = false;
    for (size_t i = 0; i < schema->type->n_fields; i++) {
        fields[count] = schema->type->fields[i];
        const struct fz_cdc_column *column = column_named(e->table, fields[count].name);
        if (column != NULL && widens(fields[count].type, column->type)) {
            fields[count].type = column->type;
            e->changed = true;
        }
        count++;
    }
    for (size_t i = 0; i < e->table->n_columns; i++) {
        const struct fz_cdc_column *column = &e->table->columns[i];
        bool found = false;
        for (size_t k = 0; k < schema->type->n_fields && !found; k++) {
            found = strcmp(schema->type->fields[k].name, column->name) == 0;
        }
        if (!found) {
            fields[count] = (struct fz_field){.id = id++, .name = column->name};
            fields[count].type = with_ids(arena, column->type, &id);
            if (fields[count].type == NULL) {
                return fz_fail_nomem(err, 64);
            }
            count++;
            e->changed = true;
        }
    }
    *n = 0;
    if (!e->changed) {
        return FZ_OK;
    }
    *next = *schema;
    next->type = fz_type_struct(arena, fields, count);
    if (next->type == NULL) {
        return fz_fail_nomem(err, 64);
    }
    u[0] = (struct fz_update){.kind = FZ_UPDATE_ADD_SCHEMA, .u.schema = next};
    u[1] = (struct fz_update){.kind = FZ_UPDATE_SET_CURRENT_SCHEMA, .u.id = -1};
    *updates = u;
    *n = 2;
    return FZ_OK;
}

static bool is_up_to_date(const struct fz_cdc_table *table, const struct fz_metadata *metadata) {
    const struct fz_type *type = fz_metadata_current_schema(metadata)->type;
    size_t found = 0;
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct fz_cdc_column *column = column_named(table, type->fields[i].name);
        if (column != NULL) {
            found++;
            if (widens(type->fields[i].type, column->type)) {
                return false;
            }
        }
    }
    return found == table->n_columns;
}

enum fz_code fz_apply_prepare(struct fz_apply *apply, struct fz_cdc_table *table, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_apply_table *target = target_of(table);
    struct fz_arena arena = {0};
    struct plan plan = {.arena = &arena};
    struct evolve evolve = {table, false};
    if (target->metadata == NULL) {
        FZ_TRY(make_plan(apply, table, &plan, err));
        FZ_TRY(create_table(apply, target, &plan, err));
        goto out;
    }
    if (!is_up_to_date(table, target->metadata)) {
        struct fz_metadata *changed = NULL;
        FZ_TRY(fz_commit_updates(target->catalog, &target->name, evolve_updates, &evolve, &changed, err));
        fz_metadata_unref(target->metadata);
        target->metadata = changed;
        fz_log_write(apply->session->log, 2, "table %s: columns added or widened as the source did", target->dotted);
    }
out:
    fz_arena_dispose(&arena);
    return rc;
}

enum fz_code fz_apply_preview(struct fz_apply *apply, struct fz_cdc_table *table, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_apply_table *target = target_of(table);
    struct fz_arena arena = {0};
    struct plan plan = {.arena = &arena};
    if (target->metadata != NULL) {
        return FZ_OK;
    }
    FZ_TRY(make_plan(apply, table, &plan, err));
    struct fz_table_create create = {.schema = fz_type_struct(&arena, plan.fields, plan.n_fields),
                                     .partition = plan.partition,
                                     .n_partition = plan.n_partition,
                                     .location = "memory://preview",
                                     .properties = plan.properties,
                                     .n_properties = plan.n_properties};
    rc = create.schema == NULL ? fz_fail_nomem(err, 64)
                               : fz_metadata_create(&create, fz_now_us() / 1000, &target->metadata, err);
out:
    fz_arena_dispose(&arena);
    return rc;
}

// ---- for people

static void print_name(struct fz_buf *out, const char *name) {
    bool plain = *name != 0 && !(*name >= '0' && *name <= '9');
    for (const char *p = name; *p != 0; p++) {
        plain =
            plain && (*p == '_' || (*p >= '0' && *p <= '9') || (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z'));
    }
    fz_buf_printf(out, plain ? "%s" : "`%s`", name);
}

enum fz_code fz_apply_print_ddl(struct fz_apply *apply, struct fz_cdc_table *table, struct fz_buf *out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_apply_table *target = target_of(table);
    struct fz_arena arena = {0};
    struct plan plan = {.arena = &arena};
    FZ_TRY(make_plan(apply, table, &plan, err));
    fz_buf_printf(out, "CREATE TABLE %s (\n", target->dotted);
    for (size_t i = 0; i < plan.n_fields; i++) {
        fz_buf_puts(out, "  ");
        print_name(out, plan.fields[i].name);
        fz_buf_putc(out, ' ');
        fz_type_print_sql(out, plan.fields[i].type);
        fz_buf_puts(out, i + 1 < plan.n_fields ? ",\n" : ")\nUSING iceberg");
    }
    for (size_t i = 0; i < plan.n_partition; i++) {
        fz_buf_printf(out, "%s%s%s", i == 0 ? "\nPARTITIONED BY (" : ", ", table->config->partition_by[i],
                      i + 1 == plan.n_partition ? ")" : "");
    }
    for (size_t i = 0; i < plan.n_properties; i++) {
        fz_buf_printf(out, "%s'%s' = '%s'%s", i == 0 ? "\nTBLPROPERTIES (" : ", ", plan.properties[i].key,
                      plan.properties[i].value, i + 1 == plan.n_properties ? ")" : "");
    }
    rc = fz_buf_check(out, err);
out:
    fz_arena_dispose(&arena);
    return rc;
}
