// Types and encodings as text: see encoding.h.
#include "cdc/encoding.h"

#include "base/text.h"

static const struct {
    const char *name;
    enum fz_cdc_encoding_kind kind;
} ENCODINGS[] = {
    {"plain", FZ_ENC_PLAIN},
    {"number", FZ_ENC_NUMBER},
    {"decimal-bytes", FZ_ENC_DECIMAL_BYTES},
    {"decimal-string", FZ_ENC_DECIMAL_STRING},
    {"struct-scale", FZ_ENC_STRUCT_SCALE},
    {"unsigned64", FZ_ENC_UNSIGNED64},
    {"epoch-days", FZ_ENC_EPOCH_DAYS},
    {"epoch-millis", FZ_ENC_EPOCH_MILLIS},
    {"epoch-micros", FZ_ENC_EPOCH_MICROS},
    {"epoch-nanos", FZ_ENC_EPOCH_NANOS},
    {"millis-of-day", FZ_ENC_MILLIS_OF_DAY},
    {"micros-of-day", FZ_ENC_MICROS_OF_DAY},
    {"nanos-of-day", FZ_ENC_NANOS_OF_DAY},
    {"micros", FZ_ENC_MICROS},
    {"iso-zoned", FZ_ENC_ISO_ZONED},
    {"iso-time-zoned", FZ_ENC_ISO_TIME_ZONED},
    {"iso-local", FZ_ENC_ISO_LOCAL},
    {"interval-micros", FZ_ENC_INTERVAL_MICROS},
    {"iso-period", FZ_ENC_ISO_PERIOD},
    {"base64", FZ_ENC_BASE64},
    {"hex", FZ_ENC_HEX},
    {"bit-le", FZ_ENC_BIT_LE},
    {"json-text", FZ_ENC_JSON_TEXT},
    {"json-object", FZ_ENC_JSON_OBJECT},
    {"map", FZ_ENC_MAP},
    {"list", FZ_ENC_LIST},
    {"uuid-text", FZ_ENC_UUID_TEXT},
    {"enum-text", FZ_ENC_ENUM_TEXT},
    {"point", FZ_ENC_POINT},
    {"struct", FZ_ENC_STRUCT},
    {"json", FZ_ENC_JSON_RAW},
};

static const struct {
    const char *name;
    enum fz_type_id id;
} TYPES[] = {
    {"boolean", FZ_TYPE_BOOLEAN},
    {"byte", FZ_TYPE_INT},
    {"tinyint", FZ_TYPE_INT},
    {"short", FZ_TYPE_INT},
    {"smallint", FZ_TYPE_INT},
    {"int", FZ_TYPE_INT},
    {"integer", FZ_TYPE_INT},
    {"long", FZ_TYPE_LONG},
    {"bigint", FZ_TYPE_LONG},
    {"float", FZ_TYPE_FLOAT},
    {"real", FZ_TYPE_FLOAT},
    {"double", FZ_TYPE_DOUBLE},
    {"date", FZ_TYPE_DATE},
    {"time", FZ_TYPE_TIME},
    {"timestamp_ntz", FZ_TYPE_TIMESTAMP},
    {"timestamptz", FZ_TYPE_TIMESTAMPTZ},
    {"timestamp_ltz", FZ_TYPE_TIMESTAMPTZ},
    {"string", FZ_TYPE_STRING},
    {"uuid", FZ_TYPE_UUID},
    {"binary", FZ_TYPE_BINARY},
};

// ---- types

struct type_text {
    const char *p, *end;
    struct fz_arena *arena;
    struct fz_str whole;
    int depth;
};

static enum fz_code type_error(const struct type_text *t, const char *why, struct fz_err *err) {
    return fz_fail(err, FZ_SCHEMA_MISMATCH, "type \"%.*s\": %s", (int)t->whole.len, t->whole.ptr, why);
}

static void type_blanks(struct type_text *t) {
    while (t->p < t->end && *t->p == ' ') {
        t->p++;
    }
}

static bool type_char(struct type_text *t, char c) {
    type_blanks(t);
    if (t->p < t->end && *t->p == c) {
        t->p++;
        return true;
    }
    return false;
}

static struct fz_str type_word(struct type_text *t) {
    type_blanks(t);
    const char *from = t->p;
    while (t->p < t->end && strchr(" <>(),:[]", *t->p) == NULL) {
        t->p++;
    }
    return (struct fz_str){from, (size_t)(t->p - from)};
}

static bool type_number(struct type_text *t, int *out) {
    int64_t v;
    if (!fz_parse_i64(type_word(t), &v) || v < 0 || v > INT32_MAX) {
        return false;
    }
    *out = (int)v;
    return true;
}

static enum fz_code parse_type(struct type_text *t, const struct fz_type **out, struct fz_err *err);

static enum fz_code parse_decimal(struct type_text *t, const struct fz_type **out, struct fz_err *err) {
    int precision = 10, scale = 0;
    if (type_char(t, '(')) {
        if (!type_number(t, &precision) || (type_char(t, ',') && !type_number(t, &scale)) || !type_char(t, ')')) {
            return type_error(t, "a decimal is written decimal(precision,scale)", err);
        }
    }
    if (precision < 1 || precision > 38 || scale > precision) {
        return type_error(t, "precision is 1 to 38, scale 0 to the precision; wider numbers fit a string", err);
    }
    *out = fz_type_decimal(t->arena, precision, scale);
    return *out == NULL ? fz_fail_nomem(err, sizeof **out) : FZ_OK;
}

static enum fz_code parse_fixed(struct type_text *t, const struct fz_type **out, struct fz_err *err) {
    int length = 0;
    bool round = type_char(t, '(');
    if ((!round && !type_char(t, '[')) || !type_number(t, &length) || length < 1 || !type_char(t, round ? ')' : ']')) {
        return type_error(t, "a fixed is written fixed(length)", err);
    }
    *out = fz_type_fixed(t->arena, length);
    return *out == NULL ? fz_fail_nomem(err, sizeof **out) : FZ_OK;
}

static enum fz_code parse_struct(struct type_text *t, const struct fz_type **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_field *fields = NULL;
    size_t n = 0, cap = 0;
    do {
        struct fz_str name = type_word(t);
        if (name.len == 0 || n == 1000) {
            rc = type_error(t, "a struct is written struct<name:type,…>", err);
            goto out;
        }
        FZ_TRY(fz_grow((void **)&fields, &cap, n + 1, sizeof *fields, err));
        fields[n].name = fz_arena_strndup(t->arena, name.ptr, name.len);
        type_char(t, ':');
        FZ_TRY(parse_type(t, &fields[n].type, err));
        n++;
    } while (type_char(t, ','));
    if (!type_char(t, '>')) {
        rc = type_error(t, "a > is missing", err);
        goto out;
    }
    *out = fz_type_struct(t->arena, fields, n);
    rc = *out == NULL ? fz_fail_nomem(err, sizeof **out) : FZ_OK;
out:
    fz_free(fields);
    return rc;
}

static enum fz_code parse_nested(struct type_text *t, struct fz_str word, const struct fz_type **out,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *a = NULL, *b = NULL;
    if (!type_char(t, '<')) {
        return type_error(t, "element types stand in <…>", err);
    }
    if (++t->depth > 16) {
        return type_error(t, "nested more than 16 deep", err);
    }
    if (fz_str_ieq(word, FZ_STR_LIT("struct"))) {
        FZ_TRY(parse_struct(t, out, err));
        t->depth--;
        return FZ_OK;
    }
    FZ_TRY(parse_type(t, &a, err));
    if (fz_str_ieq(word, FZ_STR_LIT("map"))) {
        if (!type_char(t, ',')) {
            return type_error(t, "a map is written map<key,value>", err);
        }
        FZ_TRY(parse_type(t, &b, err));
        *out = fz_type_map(t->arena, 0, a, 0, false, b);
    } else {
        *out = fz_type_list(t->arena, 0, false, a);
    }
    if (!type_char(t, '>')) {
        return type_error(t, "a > is missing", err);
    }
    t->depth--;
    return *out == NULL ? fz_fail_nomem(err, sizeof **out) : FZ_OK;
out:
    return rc;
}

// Spark's TIMESTAMP is marked by precision 1 until fz_cdc_type_settle decides about its zone.
static enum fz_code parse_timestamp(struct type_text *t, const struct fz_type **out, struct fz_err *err) {
    struct fz_type *type = FZ_ARENA_NEW(t->arena, struct fz_type);
    if (type == NULL) {
        return fz_fail_nomem(err, sizeof *type);
    }
    type->id = FZ_TYPE_TIMESTAMP;
    type->precision = 1;
    *out = type;
    return FZ_OK;
}

static enum fz_code parse_type(struct type_text *t, const struct fz_type **out, struct fz_err *err) {
    struct fz_str word = type_word(t);
    for (size_t i = 0; i < sizeof TYPES / sizeof *TYPES; i++) {
        if (fz_str_ieq(word, fz_str_of(TYPES[i].name))) {
            *out = fz_type_primitive(TYPES[i].id);
            return FZ_OK;
        }
    }
    if (fz_str_ieq(word, FZ_STR_LIT("timestamp"))) {
        return parse_timestamp(t, out, err);
    }
    if (fz_str_ieq(word, FZ_STR_LIT("decimal")) || fz_str_ieq(word, FZ_STR_LIT("numeric")) ||
        fz_str_ieq(word, FZ_STR_LIT("dec"))) {
        return parse_decimal(t, out, err);
    }
    if (fz_str_ieq(word, FZ_STR_LIT("fixed"))) {
        return parse_fixed(t, out, err);
    }
    if (fz_str_ieq(word, FZ_STR_LIT("list")) || fz_str_ieq(word, FZ_STR_LIT("array")) ||
        fz_str_ieq(word, FZ_STR_LIT("map")) || fz_str_ieq(word, FZ_STR_LIT("struct"))) {
        return parse_nested(t, word, out, err);
    }
    return type_error(t,
                      "no such type. There are boolean, int, bigint, float, double, decimal(p,s), date, time, "
                      "timestamp, timestamp_ntz, string, "
                      "uuid, binary, fixed(n), array<…>, map<…,…>, struct<name:…>",
                      err);
}

enum fz_code fz_cdc_type_parse(struct fz_arena *arena, struct fz_str text, const struct fz_type **out,
                               struct fz_err *err) {
    struct type_text t = {.p = text.ptr, .end = text.ptr + text.len, .arena = arena, .whole = text};
    enum fz_code rc = parse_type(&t, out, err);
    if (rc == FZ_OK) {
        type_blanks(&t);
        if (t.p < t.end) {
            rc = type_error(&t, "something stands behind the type", err);
        }
    }
    return rc;
}

static bool has_no_zone(enum fz_cdc_encoding_kind kind) {
    return kind == FZ_ENC_EPOCH_MILLIS || kind == FZ_ENC_EPOCH_MICROS || kind == FZ_ENC_EPOCH_NANOS ||
           kind == FZ_ENC_ISO_LOCAL;
}

const struct fz_type *fz_cdc_type_settle(struct fz_arena *arena, const struct fz_type *type,
                                         const struct fz_cdc_encoding *encoding) {
    static const struct fz_cdc_encoding none = {0};
    if (type->id == FZ_TYPE_TIMESTAMP && type->precision == 1) {
        return fz_type_primitive(has_no_zone(encoding->kind) ? FZ_TYPE_TIMESTAMP : FZ_TYPE_TIMESTAMPTZ);
    }
    if (type->n_fields == 0) {
        return type;
    }
    struct fz_type *copy = fz_arena_memdup(arena, type, sizeof *type);
    struct fz_field *fields = fz_arena_memdup(arena, type->fields, type->n_fields * sizeof *fields);
    if (copy == NULL || fields == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct fz_cdc_encoding *e = &none;
        if (type->id == FZ_TYPE_STRUCT && i < encoding->n_fields) {
            e = &encoding->fields[i];
        } else if (i + 1 == type->n_fields && encoding->element != NULL) {
            e = encoding->element;
        }
        fields[i].type = fz_cdc_type_settle(arena, fields[i].type, e);
        if (fields[i].type == NULL) {
            return NULL;
        }
    }
    copy->fields = fields;
    return copy;
}

// ---- encodings

static enum fz_code encoding_error(struct fz_str text, struct fz_err *err) {
    size_t best = 0, distance = SIZE_MAX;
    for (size_t i = 0; i < sizeof ENCODINGS / sizeof *ENCODINGS; i++) {
        size_t d = fz_edit_distance(text, fz_str_of(ENCODINGS[i].name));
        if (d < distance) {
            distance = d;
            best = i;
        }
    }
    return fz_fail(err, FZ_INVALID_ARG, "encoding \"%.*s\" is not known; did you mean %s%s?", (int)text.len, text.ptr,
                   ENCODINGS[best].name, ENCODINGS[best].kind == FZ_ENC_DECIMAL_BYTES ? "(scale)" : "");
}

static enum fz_code parse_encoding(struct fz_arena *arena, struct fz_str text, int depth, struct fz_cdc_encoding *out,
                                   struct fz_err *err) {
    const char *open = memchr(text.ptr, '(', text.len);
    struct fz_str name = {text.ptr, open == NULL ? text.len : (size_t)(open - text.ptr)}, arg = {NULL, 0};
    if (open != NULL) {
        if (text.ptr[text.len - 1] != ')' || depth == 16) {
            return encoding_error(text, err);
        }
        arg = (struct fz_str){open + 1, text.len - name.len - 2};
    }
    *out = (struct fz_cdc_encoding){0};
    for (size_t i = 0; i < sizeof ENCODINGS / sizeof *ENCODINGS; i++) {
        if (fz_str_eq(name, fz_str_of(ENCODINGS[i].name))) {
            out->kind = ENCODINGS[i].kind;
        }
    }
    switch (out->kind) {
    case FZ_ENC_NONE:
        return encoding_error(text, err);
    case FZ_ENC_DECIMAL_BYTES: {
        int64_t scale = -1;
        if (fz_str_eq(arg, FZ_STR_LIT("in-schema"))) {
            out->scale = -1;
        } else if (!fz_parse_i64(arg, &scale) || scale < 0 || scale > 1000) {
            return fz_fail(err, FZ_INVALID_ARG,
                           "encoding \"%.*s\" needs its scale, as in decimal-bytes(2) or decimal-bytes(in-schema)",
                           (int)text.len, text.ptr);
        } else {
            out->scale = (int)scale;
        }
        return FZ_OK;
    }
    case FZ_ENC_LIST:
    case FZ_ENC_MAP: {
        struct fz_cdc_encoding *element = FZ_ARENA_NEW(arena, struct fz_cdc_encoding);
        if (element == NULL) {
            return fz_fail_nomem(err, sizeof *element);
        }
        out->element = element;
        if (arg.len == 0) {
            return fz_fail(err, FZ_INVALID_ARG, "encoding \"%.*s\" needs that of its elements, as in list(plain)",
                           (int)text.len, text.ptr);
        }
        return parse_encoding(arena, arg, depth + 1, element, err);
    }
    default: // no argument
        return open == NULL ? FZ_OK : encoding_error(text, err);
    }
}

enum fz_code fz_cdc_encoding_parse(struct fz_arena *arena, struct fz_str text, struct fz_cdc_encoding *out,
                                   struct fz_err *err) {
    return text.len == 0 ? fz_fail(err, FZ_INVALID_ARG, "an empty encoding") : parse_encoding(arena, text, 0, out, err);
}

static enum fz_code default_nested(struct fz_arena *arena, const struct fz_type *type, struct fz_cdc_encoding *out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = type->id == FZ_TYPE_STRUCT ? type->n_fields : 1;
    struct fz_cdc_encoding *inner = fz_arena_array(arena, n, sizeof *inner);
    if (inner == NULL) {
        return fz_fail_nomem(err, n * sizeof *inner);
    }
    const struct fz_field *from = type->id == FZ_TYPE_MAP ? type->fields + 1 : type->fields;
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(fz_cdc_encoding_default(arena, from[i].type, &inner[i], err));
    }
    out->kind = type->id == FZ_TYPE_STRUCT ? FZ_ENC_STRUCT : type->id == FZ_TYPE_MAP ? FZ_ENC_MAP : FZ_ENC_LIST;
    if (type->id == FZ_TYPE_STRUCT) {
        out->fields = inner;
        out->n_fields = n;
    } else {
        out->element = inner;
    }
out:
    return rc;
}

enum fz_code fz_cdc_encoding_default(struct fz_arena *arena, const struct fz_type *type, struct fz_cdc_encoding *out,
                                     struct fz_err *err) {
    static const unsigned char BY_TYPE[] = {
        [FZ_TYPE_BOOLEAN] = FZ_ENC_PLAIN,
        [FZ_TYPE_INT] = FZ_ENC_PLAIN,
        [FZ_TYPE_LONG] = FZ_ENC_PLAIN,
        [FZ_TYPE_FLOAT] = FZ_ENC_NUMBER,
        [FZ_TYPE_DOUBLE] = FZ_ENC_NUMBER,
        [FZ_TYPE_DECIMAL] = FZ_ENC_DECIMAL_BYTES,
        [FZ_TYPE_DATE] = FZ_ENC_EPOCH_DAYS,
        [FZ_TYPE_TIME] = FZ_ENC_MICROS_OF_DAY,
        [FZ_TYPE_TIMESTAMP] = FZ_ENC_EPOCH_MICROS,
        [FZ_TYPE_TIMESTAMPTZ] = FZ_ENC_ISO_ZONED,
        [FZ_TYPE_STRING] = FZ_ENC_PLAIN,
        [FZ_TYPE_UUID] = FZ_ENC_UUID_TEXT,
        [FZ_TYPE_FIXED] = FZ_ENC_BASE64,
        [FZ_TYPE_BINARY] = FZ_ENC_BASE64,
    };
    *out = (struct fz_cdc_encoding){0};
    if (type->n_fields > 0) {
        return default_nested(arena, type, out, err);
    }
    if ((size_t)type->id < sizeof BY_TYPE) {
        out->kind = (enum fz_cdc_encoding_kind)BY_TYPE[type->id];
        out->scale = type->scale;
    }
    if (out->kind == FZ_ENC_NONE) {
        struct fz_buf text = {0};
        fz_type_print(&text, type);
        fz_fail(err, FZ_UNSUPPORTED, "columns of type %s cannot be filled from change events",
                text.ptr == NULL ? "?" : text.ptr);
        fz_buf_dispose(&text);
        return err == NULL ? FZ_UNSUPPORTED : err->code;
    }
    return FZ_OK;
}

#define BIT(id) (1u << (id))
static const unsigned LEADS_TO[] = {
    [FZ_ENC_PLAIN] = BIT(FZ_TYPE_BOOLEAN) | BIT(FZ_TYPE_INT) | BIT(FZ_TYPE_LONG) | BIT(FZ_TYPE_STRING) |
                     BIT(FZ_TYPE_FLOAT) | BIT(FZ_TYPE_DOUBLE) | BIT(FZ_TYPE_DECIMAL),
    [FZ_ENC_NUMBER] =
        BIT(FZ_TYPE_FLOAT) | BIT(FZ_TYPE_DOUBLE) | BIT(FZ_TYPE_DECIMAL) | BIT(FZ_TYPE_INT) | BIT(FZ_TYPE_LONG),
    [FZ_ENC_DECIMAL_BYTES] =
        BIT(FZ_TYPE_DECIMAL) | BIT(FZ_TYPE_STRING) | BIT(FZ_TYPE_DOUBLE) | BIT(FZ_TYPE_LONG) | BIT(FZ_TYPE_INT),
    [FZ_ENC_DECIMAL_STRING] =
        BIT(FZ_TYPE_DECIMAL) | BIT(FZ_TYPE_STRING) | BIT(FZ_TYPE_DOUBLE) | BIT(FZ_TYPE_LONG) | BIT(FZ_TYPE_INT),
    [FZ_ENC_STRUCT_SCALE] = BIT(FZ_TYPE_STRING) | BIT(FZ_TYPE_DECIMAL) | BIT(FZ_TYPE_DOUBLE),
    [FZ_ENC_UNSIGNED64] = BIT(FZ_TYPE_DECIMAL),
    [FZ_ENC_EPOCH_DAYS] = BIT(FZ_TYPE_DATE),
    [FZ_ENC_EPOCH_MILLIS] = BIT(FZ_TYPE_TIMESTAMP) | BIT(FZ_TYPE_TIMESTAMPTZ),
    [FZ_ENC_EPOCH_MICROS] = BIT(FZ_TYPE_TIMESTAMP) | BIT(FZ_TYPE_TIMESTAMPTZ),
    [FZ_ENC_EPOCH_NANOS] = BIT(FZ_TYPE_TIMESTAMP) | BIT(FZ_TYPE_TIMESTAMPTZ),
    [FZ_ENC_MILLIS_OF_DAY] = BIT(FZ_TYPE_TIME),
    [FZ_ENC_MICROS_OF_DAY] = BIT(FZ_TYPE_TIME) | BIT(FZ_TYPE_LONG),
    [FZ_ENC_NANOS_OF_DAY] = BIT(FZ_TYPE_TIME),
    [FZ_ENC_MICROS] = BIT(FZ_TYPE_LONG),
    [FZ_ENC_ISO_ZONED] = BIT(FZ_TYPE_TIMESTAMPTZ) | BIT(FZ_TYPE_TIMESTAMP),
    [FZ_ENC_ISO_TIME_ZONED] = BIT(FZ_TYPE_TIME),
    [FZ_ENC_ISO_LOCAL] = BIT(FZ_TYPE_DATE) | BIT(FZ_TYPE_TIME) | BIT(FZ_TYPE_TIMESTAMP),
    [FZ_ENC_INTERVAL_MICROS] = BIT(FZ_TYPE_LONG),
    [FZ_ENC_ISO_PERIOD] = BIT(FZ_TYPE_STRING),
    [FZ_ENC_BASE64] = BIT(FZ_TYPE_BINARY) | BIT(FZ_TYPE_FIXED),
    [FZ_ENC_HEX] = BIT(FZ_TYPE_BINARY) | BIT(FZ_TYPE_FIXED),
    [FZ_ENC_BIT_LE] = BIT(FZ_TYPE_BINARY),
    [FZ_ENC_JSON_TEXT] = BIT(FZ_TYPE_STRING),
    [FZ_ENC_JSON_OBJECT] = BIT(FZ_TYPE_STRING),
    [FZ_ENC_MAP] = BIT(FZ_TYPE_MAP),
    [FZ_ENC_LIST] = BIT(FZ_TYPE_LIST),
    [FZ_ENC_UUID_TEXT] = BIT(FZ_TYPE_UUID) | BIT(FZ_TYPE_STRING),
    [FZ_ENC_ENUM_TEXT] = BIT(FZ_TYPE_STRING),
    [FZ_ENC_POINT] = BIT(FZ_TYPE_STRUCT),
    [FZ_ENC_STRUCT] = BIT(FZ_TYPE_STRUCT),
    [FZ_ENC_JSON_RAW] = BIT(FZ_TYPE_STRING),
};

bool fz_cdc_encoding_fits(const struct fz_cdc_encoding *encoding, const struct fz_type *type) {
    if ((size_t)type->id >= 32 || (LEADS_TO[encoding->kind] & BIT(type->id)) == 0) {
        return false;
    }
    switch (encoding->kind) {
    case FZ_ENC_LIST:
        return fz_cdc_encoding_fits(encoding->element, type->fields[0].type);
    case FZ_ENC_MAP:
        return type->fields[0].type->id == FZ_TYPE_STRING &&
               fz_cdc_encoding_fits(encoding->element, type->fields[1].type);
    case FZ_ENC_STRUCT:
        for (size_t i = 0; i < type->n_fields; i++) {
            if (i >= encoding->n_fields || !fz_cdc_encoding_fits(&encoding->fields[i], type->fields[i].type)) {
                return false;
            }
        }
        return true;
    case FZ_ENC_POINT:
        return type->n_fields == 2 && type->fields[0].type->id == FZ_TYPE_DOUBLE &&
               type->fields[1].type->id == FZ_TYPE_DOUBLE;
    default: // no parts
        return true;
    }
}

void fz_cdc_encoding_print(struct fz_buf *out, const struct fz_cdc_encoding *encoding) {
    for (size_t i = 0; i < sizeof ENCODINGS / sizeof *ENCODINGS; i++) {
        if (ENCODINGS[i].kind == encoding->kind) {
            fz_buf_puts(out, ENCODINGS[i].name);
        }
    }
    if (encoding->kind == FZ_ENC_DECIMAL_BYTES) {
        if (encoding->scale < 0) {
            fz_buf_puts(out, "(in-schema)");
        } else {
            fz_buf_printf(out, "(%d)", encoding->scale);
        }
    } else if (encoding->element != NULL) {
        fz_buf_putc(out, '(');
        fz_cdc_encoding_print(out, encoding->element);
        fz_buf_putc(out, ')');
    }
}
