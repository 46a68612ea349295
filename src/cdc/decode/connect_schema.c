// Kafka Connect schemas as JSON: see connect_schema.h. Semantic names are Debezium's and Connect's own.
#include "cdc/decode/connect_schema.h"

#include "base/text.h"

enum { MAX_FIELDS = 10000, MAX_DEPTH = 16 };

struct schema_reader {
    struct fz_arena *arena;
    const char *why;
};

// Members of one schema node, as raw texts where they are nested.
struct node {
    struct fz_str type, name, field, fields, items, keys, values, parameters;
};

static bool set_why(struct schema_reader *r, const char *why) {
    if (r->why == NULL) {
        r->why = why;
    }
    return false;
}

static bool read_node(struct schema_reader *r, struct fz_str text, struct node *n) {
    struct fz_json json;
    bool first = true;
    struct fz_str member;
    *n = (struct node){0};
    fz_json_init(&json, text, r->arena);
    if (!fz_json_enter(&json, '{')) {
        return set_why(r, "a schema is an object");
    }
    while (fz_json_next_member(&json, &first, &member)) {
        struct {
            const char *name;
            struct fz_str *raw;
        } raws[] = {{"fields", &n->fields},
                    {"items", &n->items},
                    {"keys", &n->keys},
                    {"values", &n->values},
                    {"parameters", &n->parameters}};
        struct {
            const char *name;
            struct fz_str *text;
        } texts[] = {{"type", &n->type}, {"name", &n->name}, {"field", &n->field}};
        bool done = false;
        for (size_t i = 0; i < 3 && !done; i++) {
            if (fz_str_eq(member, fz_str_of(texts[i].name)) && fz_json_peek(&json) == FZ_JSON_STRING) {
                fz_json_read_string(&json, texts[i].text);
                done = true;
            }
        }
        for (size_t i = 0; i < 5 && !done; i++) {
            if (fz_str_eq(member, fz_str_of(raws[i].name))) {
                fz_json_skip(&json, raws[i].raw);
                done = true;
            }
        }
        if (!done) {
            fz_json_skip(&json, NULL);
        }
    }
    return json.error == NULL || set_why(r, json.error);
}

static int parameter(struct schema_reader *r, const struct node *n, const char *name, int fallback) {
    struct fz_json json;
    bool first = true;
    struct fz_str member, text;
    int64_t v = fallback;
    if (n->parameters.ptr == NULL) {
        return fallback;
    }
    fz_json_init(&json, n->parameters, r->arena);
    if (!fz_json_enter(&json, '{')) {
        return fallback;
    }
    while (fz_json_next_member(&json, &first, &member)) {
        if (fz_str_eq(member, fz_str_of(name)) && fz_json_peek(&json) == FZ_JSON_STRING) {
            if (!fz_json_read_string(&json, &text) || !fz_parse_i64(text, &v) || v < -1000 || v > 1000) {
                v = fallback;
            }
        } else if (!fz_json_skip(&json, NULL)) {
            break;
        }
    }
    return (int)v;
}

static const struct {
    const char *name;
    enum fz_type_id type;
    enum fz_cdc_encoding_kind encoding;
} SEMANTIC[] = {
    {"io.debezium.time.Date", FZ_TYPE_DATE, FZ_ENC_EPOCH_DAYS},
    {"io.debezium.time.Time", FZ_TYPE_TIME, FZ_ENC_MILLIS_OF_DAY},
    {"io.debezium.time.MicroTime", FZ_TYPE_TIME, FZ_ENC_MICROS_OF_DAY},
    {"io.debezium.time.NanoTime", FZ_TYPE_TIME, FZ_ENC_NANOS_OF_DAY},
    {"io.debezium.time.Timestamp", FZ_TYPE_TIMESTAMP, FZ_ENC_EPOCH_MILLIS},
    {"io.debezium.time.MicroTimestamp", FZ_TYPE_TIMESTAMP, FZ_ENC_EPOCH_MICROS},
    {"io.debezium.time.NanoTimestamp", FZ_TYPE_TIMESTAMP, FZ_ENC_EPOCH_NANOS},
    {"io.debezium.time.ZonedTimestamp", FZ_TYPE_TIMESTAMPTZ, FZ_ENC_ISO_ZONED},
    {"io.debezium.time.ZonedTime", FZ_TYPE_TIME, FZ_ENC_ISO_TIME_ZONED},
    {"io.debezium.time.IsoDate", FZ_TYPE_DATE, FZ_ENC_ISO_LOCAL},
    {"io.debezium.time.IsoTime", FZ_TYPE_TIME, FZ_ENC_ISO_LOCAL},
    {"io.debezium.time.IsoTimestamp", FZ_TYPE_TIMESTAMP, FZ_ENC_ISO_LOCAL},
    {"io.debezium.time.MicroDuration", FZ_TYPE_LONG, FZ_ENC_INTERVAL_MICROS},
    {"io.debezium.time.NanoDuration", FZ_TYPE_LONG, FZ_ENC_PLAIN},
    {"io.debezium.time.Interval", FZ_TYPE_STRING, FZ_ENC_ISO_PERIOD},
    {"io.debezium.time.Year", FZ_TYPE_INT, FZ_ENC_PLAIN},
    {"org.apache.kafka.connect.data.Date", FZ_TYPE_DATE, FZ_ENC_EPOCH_DAYS},
    {"org.apache.kafka.connect.data.Time", FZ_TYPE_TIME, FZ_ENC_MILLIS_OF_DAY},
    {"org.apache.kafka.connect.data.Timestamp", FZ_TYPE_TIMESTAMP, FZ_ENC_EPOCH_MILLIS},
    {"io.debezium.data.VariableScaleDecimal", FZ_TYPE_STRING, FZ_ENC_STRUCT_SCALE},
    {"io.debezium.data.Json", FZ_TYPE_STRING, FZ_ENC_JSON_TEXT},
    {"io.debezium.data.Uuid", FZ_TYPE_UUID, FZ_ENC_UUID_TEXT},
    {"io.debezium.data.Bits", FZ_TYPE_BINARY, FZ_ENC_BIT_LE},
    {"io.debezium.data.Enum", FZ_TYPE_STRING, FZ_ENC_ENUM_TEXT},
    {"io.debezium.data.EnumSet", FZ_TYPE_STRING, FZ_ENC_ENUM_TEXT},
};
static const struct {
    const char *name;
    enum fz_type_id type;
    enum fz_cdc_encoding_kind encoding;
} PRIMITIVE[] = {
    {"int8", FZ_TYPE_INT, FZ_ENC_PLAIN},        {"int16", FZ_TYPE_INT, FZ_ENC_PLAIN},
    {"int32", FZ_TYPE_INT, FZ_ENC_PLAIN},       {"int64", FZ_TYPE_LONG, FZ_ENC_PLAIN},
    {"float", FZ_TYPE_FLOAT, FZ_ENC_NUMBER},    {"float32", FZ_TYPE_FLOAT, FZ_ENC_NUMBER},
    {"double", FZ_TYPE_DOUBLE, FZ_ENC_NUMBER},  {"float64", FZ_TYPE_DOUBLE, FZ_ENC_NUMBER},
    {"boolean", FZ_TYPE_BOOLEAN, FZ_ENC_PLAIN}, {"string", FZ_TYPE_STRING, FZ_ENC_PLAIN},
    {"bytes", FZ_TYPE_BINARY, FZ_ENC_BASE64},
};

static bool resolve(struct schema_reader *r, struct fz_str text, int depth, struct fz_connect_field *out);

static bool resolve_decimal(struct schema_reader *r, const struct node *n, struct fz_connect_field *out) {
    int scale = parameter(r, n, "scale", 0), precision = parameter(r, n, "connect.decimal.precision", 38);
    out->encoding = (struct fz_cdc_encoding){.kind = FZ_ENC_DECIMAL_BYTES, .scale = scale};
    if (precision > 38 || precision < 1 || scale < 0 || scale > 38) {
        out->type = fz_type_primitive(FZ_TYPE_STRING);
        return scale >= 0 || set_why(r, "a decimal with a negative scale");
    }
    out->type = fz_type_decimal(r->arena, precision < scale ? scale : precision, scale);
    return out->type != NULL || set_why(r, "out of memory");
}

// A point: the struct of x, y, wkb and srid, of which x and y are used.
static bool resolve_point(struct schema_reader *r, struct fz_connect_field *out) {
    struct fz_field fields[2] = {{.name = "x", .type = fz_type_primitive(FZ_TYPE_DOUBLE)},
                                 {.name = "y", .type = fz_type_primitive(FZ_TYPE_DOUBLE)}};
    out->encoding = (struct fz_cdc_encoding){.kind = FZ_ENC_POINT};
    out->type = fz_type_struct(r->arena, fields, 2);
    return out->type != NULL || set_why(r, "out of memory");
}

static bool read_fields(struct schema_reader *r, struct fz_str text, int depth, struct fz_connect_field **out,
                        size_t *n_out) {
    struct fz_json json;
    bool first = true;
    struct fz_connect_field *fields = NULL;
    size_t n = 0, cap = 0;
    fz_json_init(&json, text, r->arena);
    if (text.ptr == NULL || !fz_json_enter(&json, '[')) {
        return set_why(r, "a struct's fields are missing");
    }
    while (fz_json_next_element(&json, &first)) {
        struct fz_str raw;
        if (n == cap) {
            size_t more = cap == 0 ? 16 : cap * 2;
            struct fz_connect_field *grown = n >= MAX_FIELDS ? NULL : fz_arena_array(r->arena, more, sizeof *grown);
            if (grown == NULL) {
                return set_why(r, "more than 10,000 fields");
            }
            if (n > 0) {
                memcpy(grown, fields, n * sizeof *grown);
            }
            fields = grown;
            cap = more;
        }
        if (!fz_json_skip(&json, &raw) || !resolve(r, raw, depth + 1, &fields[n])) {
            break;
        }
        n++;
    }
    *out = fields;
    *n_out = n;
    return (json.error == NULL || set_why(r, json.error)) && r->why == NULL;
}

static bool resolve_struct(struct schema_reader *r, const struct node *n, int depth, struct fz_connect_field *out) {
    struct fz_connect_field *inner;
    size_t count;
    if (!read_fields(r, n->fields, depth, &inner, &count)) {
        return false;
    }
    struct fz_field *fields = fz_arena_array(r->arena, count + 1, sizeof *fields);
    struct fz_cdc_encoding *encodings = fz_arena_array(r->arena, count + 1, sizeof *encodings);
    if (fields == NULL || encodings == NULL) {
        return set_why(r, "out of memory");
    }
    for (size_t i = 0; i < count; i++) {
        fields[i] = (struct fz_field){.name = inner[i].name, .type = inner[i].type};
        encodings[i] = inner[i].encoding;
    }
    out->type = fz_type_struct(r->arena, fields, count);
    out->encoding = (struct fz_cdc_encoding){.kind = FZ_ENC_STRUCT, .fields = encodings, .n_fields = count};
    return out->type != NULL || set_why(r, "out of memory");
}

static bool resolve_container(struct schema_reader *r, const struct node *n, bool is_map, int depth,
                              struct fz_connect_field *out) {
    struct fz_connect_field inner = {0};
    if (!resolve(r, is_map ? n->values : n->items, depth + 1, &inner)) {
        return false;
    }
    out->type = is_map ? fz_type_map(r->arena, 0, fz_type_primitive(FZ_TYPE_STRING), 0, false, inner.type)
                       : fz_type_list(r->arena, 0, false, inner.type);
    out->encoding =
        (struct fz_cdc_encoding){.kind = is_map ? FZ_ENC_MAP : FZ_ENC_LIST,
                                 .element = fz_arena_memdup(r->arena, &inner.encoding, sizeof inner.encoding)};
    return (out->type != NULL && out->encoding.element != NULL) || set_why(r, "out of memory");
}

static bool resolve(struct schema_reader *r, struct fz_str text, int depth, struct fz_connect_field *out) {
    struct node n;
    if (depth > MAX_DEPTH) {
        return set_why(r, "a schema nested more than 16 deep");
    }
    if (text.ptr == NULL || !read_node(r, text, &n)) {
        return set_why(r, "a schema is missing");
    }
    *out = (struct fz_connect_field){
        .name = fz_arena_strndup(r->arena, n.field.ptr == NULL ? "" : n.field.ptr, n.field.len)};
    if (fz_str_eq(n.name, FZ_STR_LIT("org.apache.kafka.connect.data.Decimal"))) {
        return resolve_decimal(r, &n, out);
    }
    if (fz_str_eq(n.name, FZ_STR_LIT("io.debezium.data.geometry.Point"))) {
        return resolve_point(r, out);
    }
    for (size_t i = 0; n.name.len > 0 && i < sizeof SEMANTIC / sizeof *SEMANTIC; i++) {
        if (fz_str_eq(n.name, fz_str_of(SEMANTIC[i].name))) {
            out->type = fz_type_primitive(SEMANTIC[i].type);
            out->encoding.kind = SEMANTIC[i].encoding;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof PRIMITIVE / sizeof *PRIMITIVE; i++) {
        if (fz_str_eq(n.type, fz_str_of(PRIMITIVE[i].name))) {
            out->type = fz_type_primitive(PRIMITIVE[i].type);
            out->encoding.kind = PRIMITIVE[i].encoding;
            return true;
        }
    }
    if (fz_str_eq(n.type, FZ_STR_LIT("struct"))) {
        return resolve_struct(r, &n, depth, out);
    }
    if (fz_str_eq(n.type, FZ_STR_LIT("array"))) {
        return resolve_container(r, &n, false, depth, out);
    }
    if (fz_str_eq(n.type, FZ_STR_LIT("map"))) {
        return resolve_container(r, &n, true, depth, out);
    }
    return set_why(r, "a type that Kafka Connect does not have");
}

// The node of `after` (else `before`) in an envelope's fields; an empty text when it is no envelope.
static struct fz_str row_node(struct schema_reader *r, struct fz_str fields) {
    struct fz_json json;
    bool first = true;
    struct fz_str raw, found = {NULL, 0};
    bool envelope = false;
    fz_json_init(&json, fields, r->arena);
    if (!fz_json_enter(&json, '[')) {
        return found;
    }
    while (fz_json_next_element(&json, &first) && fz_json_skip(&json, &raw)) {
        struct node n;
        if (!read_node(r, raw, &n)) {
            break;
        }
        if (fz_str_eq(n.field, FZ_STR_LIT("after")) ||
            (fz_str_eq(n.field, FZ_STR_LIT("before")) && found.ptr == NULL)) {
            found = n.fields;
        }
        envelope = envelope || fz_str_eq(n.field, FZ_STR_LIT("op"));
    }
    return envelope ? found : (struct fz_str){NULL, 0};
}

const struct fz_connect_schema *fz_connect_schema_parse(struct fz_arena *arena, struct fz_str json, const char **why) {
    struct schema_reader r = {.arena = arena};
    struct node n;
    struct fz_connect_schema *schema = FZ_ARENA_NEW(arena, struct fz_connect_schema);
    bool ok = schema != NULL && read_node(&r, json, &n);
    if (ok) {
        struct fz_str row = n.fields.ptr == NULL ? n.fields : row_node(&r, n.fields);
        ok = read_fields(&r, row.ptr == NULL ? n.fields : row, 0, &schema->fields, &schema->n_fields);
    }
    *why = r.why == NULL ? "out of memory" : r.why;
    return ok ? schema : NULL;
}
