// Schemas, partition specs and sort orders: JSON of spec appendix C, members in the order Java writes them.
#include "table/json_priv.h"

#include "base/map.h"
#include "base/text.h"

enum { MAX_DEPTH = 64 };

struct parser {
    struct fz_arena *arena;
    struct fz_map ids; // field id -> seen
    struct fz_err *err;
};

static enum fz_code parse_type(struct parser *p, const json_t *json, int depth, const struct fz_type **out);

static enum fz_code claim_id(struct parser *p, int32_t id) {
    bool added;
    struct fz_map_entry *entry;
    enum fz_code rc = fz_map_put(&p->ids, (struct fz_str){(const char *)&id, sizeof id}, &entry, &added, p->err);
    if (rc == FZ_OK && !added) {
        rc = fz_fail(p->err, FZ_CORRUPT, "schema uses field id %d twice", id);
    }
    return rc;
}

static enum fz_code parse_bool(const json_t *object, const char *key, bool *out, struct fz_err *err) {
    const json_t *member = json_object_get(object, key);
    if (!json_is_boolean(member)) {
        return fz_fail(err, FZ_CORRUPT, "member \"%s\" is missing or not a boolean", key);
    }
    *out = json_is_true(member);
    return FZ_OK;
}

static enum fz_code parse_default(struct parser *p, const json_t *json, const char *key, const struct fz_type *type,
                                  const struct fz_value **out) {
    const json_t *member = json_object_get(json, key);
    if (member == NULL || json_is_null(member)) {
        return FZ_OK;
    }
    struct fz_value *value = FZ_ARENA_NEW(p->arena, struct fz_value);
    if (value == NULL) {
        return fz_fail_nomem(p->err, sizeof *value);
    }
    enum fz_code rc = fz_value_from_json(p->arena, type, member, 0, value, p->err);
    fz_err_context(p->err, "%s", key);
    *out = value;
    return rc;
}

static enum fz_code parse_struct(struct parser *p, const json_t *json, int depth, const struct fz_type **out) {
    enum fz_code rc = FZ_OK;
    const json_t *fields;
    struct fz_map names = {0};
    FZ_TRY(fz_metadata_json_array(json, "fields", true, &fields, p->err));
    size_t n = json_array_size(fields);
    struct fz_field *items = fz_arena_array(p->arena, n + 1, sizeof *items);
    if (items == NULL) {
        rc = fz_fail_nomem(p->err, n * sizeof *items);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *field = json_array_get(fields, i);
        if (!json_is_object(field)) {
            rc = fz_fail(p->err, FZ_CORRUPT, "field %zu of a struct is not an object", i);
            goto out;
        }
        FZ_TRY(fz_metadata_json_i32(field, "id", true, &items[i].id, p->err));
        FZ_TRY(fz_metadata_json_text(p->arena, field, "name", true, &items[i].name, p->err));
        FZ_TRY(parse_bool(field, "required", &items[i].required, p->err));
        FZ_TRY(fz_metadata_json_text(p->arena, field, "doc", false, &items[i].doc, p->err));
        bool added;
        struct fz_map_entry *entry;
        FZ_TRY(fz_map_put(&names, fz_str_of(items[i].name), &entry, &added, p->err));
        if (!added) {
            rc = fz_fail(p->err, FZ_CORRUPT, "schema has two fields named \"%.200s\"", items[i].name);
            goto out;
        }
        FZ_TRY(claim_id(p, items[i].id));
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *field = json_array_get(fields, i);
        const json_t *type = json_object_get(field, "type");
        rc = type == NULL ? fz_fail(p->err, FZ_CORRUPT, "member \"type\" is missing")
                          : parse_type(p, type, depth + 1, &items[i].type);
        if (rc == FZ_OK) {
            rc = parse_default(p, field, "initial-default", items[i].type, &items[i].initial_default);
        }
        if (rc == FZ_OK) {
            rc = parse_default(p, field, "write-default", items[i].type, &items[i].write_default);
        }
        if (rc != FZ_OK) {
            fz_err_context(p->err, "field %.100s", items[i].name);
            goto out;
        }
    }
    *out = fz_type_struct(p->arena, items, n);
    rc = *out != NULL ? FZ_OK : fz_fail_nomem(p->err, 0);
out:
    fz_map_dispose(&names);
    return rc;
}

static enum fz_code parse_list(struct parser *p, const json_t *json, int depth, const struct fz_type **out) {
    enum fz_code rc = FZ_OK;
    int32_t id = 0;
    bool required = false;
    const struct fz_type *element = NULL;
    FZ_TRY(fz_metadata_json_i32(json, "element-id", true, &id, p->err));
    FZ_TRY(parse_bool(json, "element-required", &required, p->err));
    FZ_TRY(claim_id(p, id));
    FZ_TRY(parse_type(p, json_object_get(json, "element"), depth + 1, &element));
    *out = fz_type_list(p->arena, id, required, element);
    rc = *out != NULL ? FZ_OK : fz_fail_nomem(p->err, 0);
out:
    return rc;
}

static enum fz_code parse_map(struct parser *p, const json_t *json, int depth, const struct fz_type **out) {
    enum fz_code rc = FZ_OK;
    int32_t key_id = 0, value_id = 0;
    bool required = false;
    const struct fz_type *key = NULL, *value = NULL;
    FZ_TRY(fz_metadata_json_i32(json, "key-id", true, &key_id, p->err));
    FZ_TRY(fz_metadata_json_i32(json, "value-id", true, &value_id, p->err));
    FZ_TRY(parse_bool(json, "value-required", &required, p->err));
    FZ_TRY(claim_id(p, key_id));
    FZ_TRY(claim_id(p, value_id));
    FZ_TRY(parse_type(p, json_object_get(json, "key"), depth + 1, &key));
    FZ_TRY(parse_type(p, json_object_get(json, "value"), depth + 1, &value));
    *out = fz_type_map(p->arena, key_id, key, value_id, required, value);
    rc = *out != NULL ? FZ_OK : fz_fail_nomem(p->err, 0);
out:
    return rc;
}

static enum fz_code parse_type(struct parser *p, const json_t *json, int depth, const struct fz_type **out) {
    if (depth > MAX_DEPTH) {
        return fz_fail(p->err, FZ_LIMIT, "schema is nested deeper than %d", MAX_DEPTH);
    }
    if (json_is_string(json)) {
        struct fz_str text = {json_string_value(json), json_string_length(json)};
        struct fz_err inner = FZ_ERR_INIT;
        enum fz_code rc = fz_type_parse(p->arena, text, out, &inner);
        if (rc == FZ_NOMEM) {
            return fz_fail_nomem(p->err, 0);
        }
        return rc == FZ_OK ? FZ_OK : fz_fail(p->err, FZ_CORRUPT, "unknown type \"%.200s\"", text.ptr);
    }
    const char *kind = json_string_value(json_object_get(json, "type"));
    if (kind != NULL && strcmp(kind, "struct") == 0) {
        return parse_struct(p, json, depth, out);
    }
    if (kind != NULL && strcmp(kind, "list") == 0) {
        return parse_list(p, json, depth, out);
    }
    if (kind != NULL && strcmp(kind, "map") == 0) {
        return parse_map(p, json, depth, out);
    }
    return fz_fail(p->err, FZ_CORRUPT, "a type is neither a name nor a struct, list or map");
}

static enum fz_code parse_identifiers(struct parser *p, const json_t *json, struct fz_schema *out) {
    const json_t *ids;
    enum fz_code rc = fz_metadata_json_array(json, "identifier-field-ids", false, &ids, p->err);
    size_t n = json_array_size(ids);
    if (rc != FZ_OK || n == 0) {
        return rc;
    }
    int32_t *items = fz_arena_array(p->arena, n, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(p->err, n);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_array_get(ids, i);
        items[i] = (int32_t)json_integer_value(id);
        const struct fz_field *field = json_is_integer(id) ? fz_schema_find(out, items[i]) : NULL;
        if (field == NULL || !fz_type_is_primitive(field->type) || !field->required ||
            field->type->id == FZ_TYPE_FLOAT || field->type->id == FZ_TYPE_DOUBLE) {
            return fz_fail(
                p->err, FZ_CORRUPT,
                "identifier-field-ids: item %zu is not a required primitive field other than float and double", i);
        }
    }
    out->identifier_field_ids = items;
    out->n_identifier_field_ids = n;
    return FZ_OK;
}

enum fz_code fz_schema_from_json(struct fz_arena *arena, const json_t *json, struct fz_schema *out,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct parser p = {.arena = arena, .err = err};
    memset(out, 0, sizeof *out);
    FZ_TRY(fz_metadata_json_i32(json, "schema-id", false, &out->schema_id, err));
    FZ_TRY(parse_type(&p, json, 0, &out->type));
    if (out->type->id != FZ_TYPE_STRUCT) {
        rc = fz_fail(err, FZ_CORRUPT, "schema is not a struct");
        goto out;
    }
    FZ_TRY(parse_identifiers(&p, json, out));
out:
    fz_map_dispose(&p.ids);
    return rc;
}

static void quote(struct fz_buf *out, const char *text) {
    fz_json_quote(out, fz_str_of(text));
}

static void print_type(struct fz_buf *out, const struct fz_type *type, struct fz_err *err);

static void print_default(struct fz_buf *out, const char *key, const struct fz_value *value, struct fz_err *err) {
    if (value != NULL && !value->is_null) {
        fz_buf_printf(out, ",\"%s\":", key);
        (void)fz_value_to_json(out, value, err);
    }
}

static void print_fields(struct fz_buf *out, const struct fz_type *type, struct fz_err *err) {
    fz_buf_puts(out, "\"fields\":[");
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct fz_field *f = &type->fields[i];
        fz_buf_printf(out, "%s{\"id\":%d,\"name\":", i > 0 ? "," : "", f->id);
        quote(out, f->name);
        fz_buf_printf(out, ",\"required\":%s,\"type\":", f->required ? "true" : "false");
        print_type(out, f->type, err);
        if (f->doc != NULL) {
            fz_buf_puts(out, ",\"doc\":");
            quote(out, f->doc);
        }
        print_default(out, "initial-default", f->initial_default, err);
        print_default(out, "write-default", f->write_default, err);
        fz_buf_putc(out, '}');
    }
    fz_buf_putc(out, ']');
}

static void print_type(struct fz_buf *out, const struct fz_type *type, struct fz_err *err) {
    const struct fz_field *f = type->fields;
    if (type->id == FZ_TYPE_STRUCT) {
        fz_buf_puts(out, "{\"type\":\"struct\",");
        print_fields(out, type, err);
        fz_buf_putc(out, '}');
    } else if (type->id == FZ_TYPE_LIST) {
        fz_buf_printf(out, "{\"type\":\"list\",\"element-id\":%d,\"element\":", f[0].id);
        print_type(out, f[0].type, err);
        fz_buf_printf(out, ",\"element-required\":%s}", f[0].required ? "true" : "false");
    } else if (type->id == FZ_TYPE_MAP) {
        fz_buf_printf(out, "{\"type\":\"map\",\"key-id\":%d,\"key\":", f[0].id);
        print_type(out, f[0].type, err);
        fz_buf_printf(out, ",\"value-id\":%d,\"value\":", f[1].id);
        print_type(out, f[1].type, err);
        fz_buf_printf(out, ",\"value-required\":%s}", f[1].required ? "true" : "false");
    } else {
        struct fz_buf name = {0};
        fz_type_print(&name, type);
        quote(out, name.ptr != NULL ? name.ptr : "");
        out->failed = out->failed || name.failed;
        fz_buf_dispose(&name);
    }
}

enum fz_code fz_schema_decode(struct fz_arena *arena, struct fz_str text, struct fz_schema *out, struct fz_err *err) {
    json_error_t problem;
    json_t *json = json_loadb(text.ptr, text.len, 0, &problem);
    if (json == NULL) {
        return fz_fail(err, FZ_CORRUPT, "a schema is not valid JSON: %s", problem.text);
    }
    enum fz_code rc = fz_schema_from_json(arena, json, out, err);
    json_decref(json);
    return rc;
}

void fz_schema_encode(struct fz_buf *out, const struct fz_schema *schema, struct fz_err *err) {
    fz_schema_to_json(out, schema, err);
}

void fz_schema_to_json(struct fz_buf *out, const struct fz_schema *schema, struct fz_err *err) {
    fz_buf_printf(out, "{\"type\":\"struct\",\"schema-id\":%d,", schema->schema_id);
    if (schema->n_identifier_field_ids > 0) {
        fz_buf_puts(out, "\"identifier-field-ids\":[");
        for (size_t i = 0; i < schema->n_identifier_field_ids; i++) {
            fz_buf_printf(out, "%s%d", i > 0 ? "," : "", schema->identifier_field_ids[i]);
        }
        fz_buf_puts(out, "],");
    }
    print_fields(out, schema->type, err);
    fz_buf_putc(out, '}');
}

static enum fz_code parse_transform(struct fz_arena *arena, const json_t *json, struct fz_transform *out,
                                    struct fz_err *err) {
    const char *text = NULL;
    enum fz_code rc = fz_metadata_json_text(arena, json, "transform", true, &text, err);
    return rc != FZ_OK ? rc : fz_transform_parse(arena, fz_str_of(text), out, err);
}

// v3 may list the sources of a transform; those with more than one are unknown to us and kept under their first source.
static enum fz_code parse_source(const json_t *json, int32_t *out, struct fz_err *err) {
    const json_t *list = json_object_get(json, "source-ids");
    if (json_object_get(json, "source-id") == NULL && json_is_array(list) && json_is_integer(json_array_get(list, 0))) {
        json_int_t id = json_integer_value(json_array_get(list, 0));
        *out = (int32_t)id;
        return id >= INT32_MIN && id <= INT32_MAX ? FZ_OK
                                                  : fz_fail(err, FZ_CORRUPT, "member \"source-ids\" is out of range");
    }
    return fz_metadata_json_i32(json, "source-id", true, out, err);
}

enum fz_code fz_spec_fields_from_json(struct fz_arena *arena, const json_t *fields, struct fz_partition_spec *out,
                                      struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (!json_is_array(fields)) {
        return fz_fail(err, FZ_CORRUPT, "partition spec fields are not an array");
    }
    size_t n = json_array_size(fields);
    struct fz_partition_field *items = fz_arena_array(arena, n + 1, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, n);
    }
    size_t with_ids = 0;
    for (size_t i = 0; i < n; i++) {
        const json_t *field = json_array_get(fields, i);
        if (!json_is_object(field)) {
            return fz_fail(err, FZ_CORRUPT, "partition field %zu is not an object", i);
        }
        FZ_TRY(fz_metadata_json_text(arena, field, "name", true, &items[i].name, err));
        if (items[i].name[0] == 0) {
            return fz_fail(err, FZ_CORRUPT, "partition field %zu has an empty name", i);
        }
        FZ_TRY(parse_transform(arena, field, &items[i].transform, err));
        FZ_TRY(parse_source(field, &items[i].source_id, err));
        if (json_object_get(field, "field-id") != NULL) {
            FZ_TRY(fz_metadata_json_i32(field, "field-id", true, &items[i].field_id, err));
            with_ids++;
        } else {
            items[i].field_id = 1000 + (int32_t)i;
        }
        for (size_t j = 0; j < i; j++) {
            if (items[j].field_id == items[i].field_id || strcmp(items[j].name, items[i].name) == 0) {
                return fz_fail(err, FZ_CORRUPT, "partition spec has field id %d or name \"%.100s\" twice",
                               items[i].field_id, items[i].name);
            }
        }
    }
    if (with_ids != 0 && with_ids != n) {
        return fz_fail(err, FZ_CORRUPT, "partition spec has field ids on some fields only");
    }
    out->fields = items;
    out->n_fields = n;
out:
    return rc;
}

static void print_transform(struct fz_buf *out, const struct fz_transform *transform) {
    struct fz_buf name = {0};
    fz_transform_print(&name, transform);
    quote(out, name.ptr != NULL ? name.ptr : "");
    out->failed = out->failed || name.failed;
    fz_buf_dispose(&name);
}

void fz_spec_fields_to_json(struct fz_buf *out, const struct fz_partition_spec *spec) {
    fz_buf_putc(out, '[');
    for (size_t i = 0; i < spec->n_fields; i++) {
        const struct fz_partition_field *f = &spec->fields[i];
        fz_buf_printf(out, "%s{\"name\":", i > 0 ? "," : "");
        quote(out, f->name);
        fz_buf_puts(out, ",\"transform\":");
        print_transform(out, &f->transform);
        fz_buf_printf(out, ",\"source-id\":%d,\"field-id\":%d}", f->source_id, f->field_id);
    }
    fz_buf_putc(out, ']');
}

static enum fz_code parse_choice(const json_t *json, const char *key, const char *no, const char *yes, bool *out,
                                 struct fz_err *err) {
    const char *text = json_string_value(json_object_get(json, key));
    if (text == NULL || (fz_strcasecmp(text, no) != 0 && fz_strcasecmp(text, yes) != 0)) {
        return fz_fail(err, FZ_CORRUPT, "member \"%s\" is neither \"%s\" nor \"%s\"", key, no, yes);
    }
    *out = fz_strcasecmp(text, yes) == 0;
    return FZ_OK;
}

enum fz_code fz_sort_order_from_json(struct fz_arena *arena, const json_t *json, struct fz_sort_order *out,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const json_t *fields;
    if (!json_is_object(json)) {
        return fz_fail(err, FZ_CORRUPT, "sort order is not an object");
    }
    FZ_TRY(fz_metadata_json_i32(json, "order-id", true, &out->order_id, err));
    FZ_TRY(fz_metadata_json_array(json, "fields", true, &fields, err));
    size_t n = json_array_size(fields);
    struct fz_sort_field *items = fz_arena_array(arena, n + 1, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, n);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *field = json_array_get(fields, i);
        if (!json_is_object(field)) {
            return fz_fail(err, FZ_CORRUPT, "sort field %zu is not an object", i);
        }
        FZ_TRY(parse_transform(arena, field, &items[i].transform, err));
        FZ_TRY(parse_source(field, &items[i].source_id, err));
        FZ_TRY(parse_choice(field, "direction", "asc", "desc", &items[i].descending, err));
        FZ_TRY(parse_choice(field, "null-order", "nulls-first", "nulls-last", &items[i].nulls_last, err));
    }
    if ((out->order_id == 0) != (n == 0)) {
        return fz_fail(err, FZ_CORRUPT, "sort order %d has %zu fields; id 0 and only id 0 is the unsorted order",
                       out->order_id, n);
    }
    out->fields = items;
    out->n_fields = n;
out:
    return rc;
}

void fz_sort_order_to_json(struct fz_buf *out, const struct fz_sort_order *order) {
    fz_buf_printf(out, "{\"order-id\":%d,\"fields\":[", order->order_id);
    for (size_t i = 0; i < order->n_fields; i++) {
        const struct fz_sort_field *f = &order->fields[i];
        fz_buf_printf(out, "%s{\"transform\":", i > 0 ? "," : "");
        print_transform(out, &f->transform);
        fz_buf_printf(out, ",\"source-id\":%d,\"direction\":\"%s\",\"null-order\":\"%s\"}", f->source_id,
                      f->descending ? "desc" : "asc", f->nulls_last ? "nulls-last" : "nulls-first");
    }
    fz_buf_puts(out, "]}");
}
