// An Avro schema as a tree of Iceberg shape (spec appendix A "Avro"): optional fields are unions with null, maps whose keys are not
// text are arrays of key-value records with logicalType "map", ids are the attributes field-id, element-id, key-id and value-id.
#include "format/avro/avro_table_priv.h"

enum { MAX_DEPTH = 48 };

static int32_t id_of(const json_t *object, const char *key) {
    const json_t *id = json_object_get(object, key);
    return json_is_integer(id) && json_integer_value(id) >= 0 && json_integer_value(id) <= INT32_MAX
               ? (int32_t)json_integer_value(id)
               : -1;
}

static bool is_text(const json_t *object, const char *key, const char *text) {
    const char *value = json_string_value(json_object_get(object, key));
    return value != NULL && strcmp(value, text) == 0;
}

static enum fz_code build(struct fz_arena *arena, const json_t *schema, const char *name, int32_t id, int depth,
                          struct fz_avro_node *out, struct fz_err *err);

// The type without what wraps it: {"type": {…}}, and the union with null.
static const json_t *unwrap(const json_t *schema, struct fz_avro_node *out) {
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        if (json_is_array(schema)) {
            size_t n = json_array_size(schema), value = SIZE_MAX;
            if (out->n_branches > 0) {
                return NULL; // a union in a union
            }
            out->n_branches = (int)n;
            for (size_t i = 0; i < n; i++) {
                if (fz_avro_kind(json_array_get(schema, i)) == AVRO_NULL) {
                    out->null_branch = (int)i;
                } else if (value != SIZE_MAX) {
                    return NULL; // several kinds of values
                } else {
                    value = i;
                }
            }
            if (n > 2) {
                return NULL;
            }
            schema = value != SIZE_MAX ? json_array_get(schema, value) : n > 0 ? json_array_get(schema, 0) : NULL;
        } else if (json_is_object(schema) && !json_is_string(json_object_get(schema, "type"))) {
            schema = json_object_get(schema, "type");
        } else {
            return schema;
        }
    }
    return NULL;
}

static enum fz_code take_children(struct fz_arena *arena, struct fz_avro_node *node, size_t n, struct fz_err *err) {
    node->children = fz_arena_array(arena, n > 0 ? n : 1, sizeof *node->children);
    node->n_children = n;
    return node->children != NULL ? FZ_OK : fz_fail_nomem(err, n * sizeof *node->children);
}

static enum fz_code build_struct(struct fz_arena *arena, const json_t *schema, int depth, struct fz_avro_node *out,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const json_t *fields = json_object_get(schema, "fields");
    size_t n = json_array_size(fields), n_typed = 0;
    struct fz_field *typed = fz_arena_array(arena, n > 0 ? n : 1, sizeof *typed);
    if (typed == NULL) {
        return fz_fail_nomem(err, n * sizeof *typed);
    }
    out->shape = FZ_AVRO_STRUCT;
    FZ_TRY(take_children(arena, out, n, err));
    for (size_t i = 0; i < n; i++) {
        const json_t *field = json_array_get(fields, i);
        struct fz_avro_node *child = &out->children[i];
        FZ_TRY(build(arena, json_object_get(field, "type"), json_string_value(json_object_get(field, "name")),
                     id_of(field, "field-id"), depth + 1, child, err));
        if (child->type != NULL) {
            typed[n_typed++] = (struct fz_field){
                .id = child->field_id, .name = child->name, .required = child->required, .type = child->type};
        }
    }
    out->type = fz_type_struct(arena, typed, n_typed);
    rc = out->type != NULL ? FZ_OK : fz_fail_nomem(err, n * sizeof *typed);
out:
    return rc;
}

static enum fz_code build_map(struct fz_arena *arena, const json_t *schema, int depth, struct fz_avro_node *out,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const json_t *pair = json_object_get(schema, "items"), *fields = json_object_get(pair, "fields");
    out->shape = fz_avro_kind(schema) == AVRO_MAP ? FZ_AVRO_MAP : FZ_AVRO_PAIRS;
    FZ_TRY(take_children(arena, out, 2, err));
    if (out->shape == FZ_AVRO_MAP) {
        out->children[0] = (struct fz_avro_node){.name = "key",
                                                 .field_id = id_of(schema, "key-id"),
                                                 .null_branch = -1,
                                                 .shape = FZ_AVRO_LEAF,
                                                 .kind = AVRO_STRING,
                                                 .type = fz_type_primitive(FZ_TYPE_STRING),
                                                 .required = true};
        FZ_TRY(build(arena, json_object_get(schema, "values"), "value", id_of(schema, "value-id"), depth + 1,
                     &out->children[1], err));
    } else {
        for (size_t i = 0; i < 2; i++) {
            const json_t *field = json_array_get(fields, i);
            FZ_TRY(build(arena, json_object_get(field, "type"), json_string_value(json_object_get(field, "name")),
                         id_of(field, "field-id"), depth + 1, &out->children[i], err));
        }
    }
    const struct fz_avro_node *key = &out->children[0], *value = &out->children[1];
    if (key->type == NULL || value->type == NULL) {
        out->shape = FZ_AVRO_OTHER;
        goto out;
    }
    out->type = fz_type_map(arena, key->field_id, key->type, value->field_id, value->required, value->type);
    rc = out->type != NULL ? FZ_OK : fz_fail_nomem(err, sizeof *out->type);
out:
    return rc;
}

static enum fz_code build_list(struct fz_arena *arena, const json_t *schema, int depth, struct fz_avro_node *out,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    out->shape = FZ_AVRO_LIST;
    FZ_TRY(take_children(arena, out, 1, err));
    FZ_TRY(build(arena, json_object_get(schema, "items"), "element", id_of(schema, "element-id"), depth + 1,
                 &out->children[0], err));
    const struct fz_avro_node *element = &out->children[0];
    if (element->type == NULL) {
        out->shape = FZ_AVRO_OTHER;
        goto out;
    }
    out->type = fz_type_list(arena, element->field_id, element->required, element->type);
    rc = out->type != NULL ? FZ_OK : fz_fail_nomem(err, sizeof *out->type);
out:
    return rc;
}

static const struct fz_type *timed_type(const struct fz_avro_node *n, const json_t *schema) {
    if (n->time_of_day != FZ_AVRO_NO_TIME) {
        return fz_type_primitive(FZ_TYPE_TIME);
    }
    bool utc = json_is_true(json_object_get(schema, "adjust-to-utc"));
    return n->timestamp == FZ_AVRO_NANOS ? fz_type_primitive(utc ? FZ_TYPE_TIMESTAMPTZ_NS : FZ_TYPE_TIMESTAMP_NS)
                                         : fz_type_primitive(utc ? FZ_TYPE_TIMESTAMPTZ : FZ_TYPE_TIMESTAMP);
}

static const struct fz_type *decimal_type(struct fz_arena *arena, const json_t *schema) {
    json_int_t precision = json_integer_value(json_object_get(schema, "precision")),
               scale = json_integer_value(json_object_get(schema, "scale"));
    return precision >= 1 && precision <= 38 && scale >= 0 && scale <= precision
               ? fz_type_decimal(arena, (int)precision, (int)scale)
               : NULL;
}

static void read_logical(const json_t *schema, struct fz_avro_node *out) {
    static const struct {
        const char *name;
        int kind;
        enum fz_avro_time time_of_day, timestamp;
    } timed[] = {
        {"time-millis", AVRO_INT, FZ_AVRO_MILLIS, 0},
        {"time-micros", AVRO_LONG, FZ_AVRO_MICROS, 0},
        {"timestamp-millis", AVRO_LONG, 0, FZ_AVRO_MILLIS},
        {"timestamp-micros", AVRO_LONG, 0, FZ_AVRO_MICROS},
        {"timestamp-nanos", AVRO_LONG, 0, FZ_AVRO_NANOS},
        {"local-timestamp-millis", AVRO_LONG, 0, FZ_AVRO_MILLIS},
        {"local-timestamp-micros", AVRO_LONG, 0, FZ_AVRO_MICROS},
        {"local-timestamp-nanos", AVRO_LONG, 0, FZ_AVRO_NANOS},
    };
    for (size_t i = 0; i < sizeof timed / sizeof timed[0]; i++) {
        if (out->kind == timed[i].kind && is_text(schema, "logicalType", timed[i].name)) {
            out->time_of_day = timed[i].time_of_day;
            out->timestamp = timed[i].timestamp;
        }
    }
    out->date = out->kind == AVRO_INT && is_text(schema, "logicalType", "date");
    out->uuid = is_text(schema, "logicalType", "uuid") && ((out->kind == AVRO_FIXED && out->size == 16));
    out->decimal = is_text(schema, "logicalType", "decimal") && (out->kind == AVRO_FIXED || out->kind == AVRO_BYTES);
}

static const struct fz_type *leaf_type(struct fz_arena *arena, const json_t *schema, const struct fz_avro_node *n) {
    switch (n->kind) {
    case AVRO_NULL:
        return fz_type_primitive(FZ_TYPE_UNKNOWN);
    case AVRO_BOOLEAN:
        return fz_type_primitive(FZ_TYPE_BOOLEAN);
    case AVRO_INT:
        return n->time_of_day != FZ_AVRO_NO_TIME ? fz_type_primitive(FZ_TYPE_TIME)
                                                 : fz_type_primitive(n->date ? FZ_TYPE_DATE : FZ_TYPE_INT);
    case AVRO_LONG:
        return n->time_of_day != FZ_AVRO_NO_TIME || n->timestamp != FZ_AVRO_NO_TIME ? timed_type(n, schema)
                                                                                    : fz_type_primitive(FZ_TYPE_LONG);
    case AVRO_FLOAT:
        return fz_type_primitive(FZ_TYPE_FLOAT);
    case AVRO_DOUBLE:
        return fz_type_primitive(FZ_TYPE_DOUBLE);
    case AVRO_STRING:
    case AVRO_ENUM:
        return fz_type_primitive(FZ_TYPE_STRING);
    case AVRO_BYTES:
        return n->decimal ? decimal_type(arena, schema) : fz_type_primitive(FZ_TYPE_BINARY);
    case AVRO_FIXED:
        return n->decimal    ? decimal_type(arena, schema)
               : n->uuid     ? fz_type_primitive(FZ_TYPE_UUID)
               : n->size > 0 ? fz_type_fixed(arena, (int)n->size)
                             : NULL;
    default:
        return NULL;
    }
}

static bool is_pairs(const json_t *schema) {
    const json_t *item = json_object_get(schema, "items"), *fields = json_object_get(item, "fields");
    return is_text(schema, "logicalType", "map") && fz_avro_kind(item) == AVRO_RECORD && json_array_size(fields) == 2;
}

static enum fz_code build(struct fz_arena *arena, const json_t *schema, const char *name, int32_t id, int depth,
                          struct fz_avro_node *out, struct fz_err *err) {
    *out = (struct fz_avro_node){
        .name = name != NULL ? name : "", .field_id = id, .schema = schema, .null_branch = -1, .shape = FZ_AVRO_OTHER};
    if (depth > MAX_DEPTH) {
        return fz_fail(err, FZ_LIMIT, "the Avro schema is nested deeper than %d", MAX_DEPTH);
    }
    const json_t *inner = unwrap(schema, out);
    out->required = out->null_branch < 0;
    if (inner == NULL) {
        return FZ_OK;
    }
    out->kind = fz_avro_kind(inner);
    switch (out->kind) {
    case AVRO_RECORD:
        return build_struct(arena, inner, depth, out, err);
    case AVRO_ARRAY:
        return is_pairs(inner) ? build_map(arena, inner, depth, out, err) : build_list(arena, inner, depth, out, err);
    case AVRO_MAP:
        return build_map(arena, inner, depth, out, err);
    case AVRO_FIXED:
        out->size = (size_t)json_integer_value(json_object_get(inner, "size"));
        break;
    case AVRO_ENUM:
        out->symbols = json_object_get(inner, "symbols");
        break;
    default:
        break;
    }
    read_logical(inner, out);
    out->type = leaf_type(arena, inner, out);
    out->shape = out->type != NULL ? FZ_AVRO_LEAF : FZ_AVRO_OTHER;
    return FZ_OK;
}

enum fz_code fz_avro_tree_build(struct fz_arena *arena, const json_t *schema, struct fz_avro_node *out, bool *has_ids,
                                struct fz_err *err) {
    enum fz_code rc = build(arena, schema, "", -1, 0, out, err);
    if (rc == FZ_OK && (out->shape != FZ_AVRO_STRUCT || out->n_branches > 0)) {
        rc = fz_fail(err, FZ_UNSUPPORTED, "the Avro schema is no record, so the file is no table data");
    }
    *has_ids = false;
    for (size_t i = 0; rc == FZ_OK && i < out->n_children; i++) {
        *has_ids = *has_ids || out->children[i].field_id >= 0;
    }
    return rc;
}
