// Implementation of data/type.h: shared instances, constructors, comparison and the two spellings (Iceberg's, Spark's).
#include "data/type.h"

#include "base/text.h"
#include "data/value.h"

static const struct fz_type shared_types[] = {
    [FZ_TYPE_BOOLEAN] = {.id = FZ_TYPE_BOOLEAN},
    [FZ_TYPE_INT] = {.id = FZ_TYPE_INT},
    [FZ_TYPE_LONG] = {.id = FZ_TYPE_LONG},
    [FZ_TYPE_FLOAT] = {.id = FZ_TYPE_FLOAT},
    [FZ_TYPE_DOUBLE] = {.id = FZ_TYPE_DOUBLE},
    [FZ_TYPE_DATE] = {.id = FZ_TYPE_DATE},
    [FZ_TYPE_TIME] = {.id = FZ_TYPE_TIME},
    [FZ_TYPE_TIMESTAMP] = {.id = FZ_TYPE_TIMESTAMP},
    [FZ_TYPE_TIMESTAMPTZ] = {.id = FZ_TYPE_TIMESTAMPTZ},
    [FZ_TYPE_TIMESTAMP_NS] = {.id = FZ_TYPE_TIMESTAMP_NS},
    [FZ_TYPE_TIMESTAMPTZ_NS] = {.id = FZ_TYPE_TIMESTAMPTZ_NS},
    [FZ_TYPE_STRING] = {.id = FZ_TYPE_STRING},
    [FZ_TYPE_UUID] = {.id = FZ_TYPE_UUID},
    [FZ_TYPE_BINARY] = {.id = FZ_TYPE_BINARY},
    [FZ_TYPE_UNKNOWN] = {.id = FZ_TYPE_UNKNOWN},
    [FZ_TYPE_VARIANT] = {.id = FZ_TYPE_VARIANT},
    [FZ_TYPE_GEOMETRY] = {.id = FZ_TYPE_GEOMETRY},
    [FZ_TYPE_GEOGRAPHY] = {.id = FZ_TYPE_GEOGRAPHY},
    [FZ_TYPE_BYTE] = {.id = FZ_TYPE_BYTE},
    [FZ_TYPE_SHORT] = {.id = FZ_TYPE_SHORT},
    [FZ_TYPE_INTERVAL_DT] = {.id = FZ_TYPE_INTERVAL_DT, .precision = 0, .scale = 3},
    [FZ_TYPE_INTERVAL_YM] = {.id = FZ_TYPE_INTERVAL_YM, .precision = 0, .scale = 1},
    [FZ_TYPE_INTERVAL_CAL] = {.id = FZ_TYPE_INTERVAL_CAL},
};

enum { N_TYPE_IDS = sizeof shared_types / sizeof shared_types[0] };

// Spellings of types without parameters: Iceberg's, then Spark's.
static const struct {
    const char *iceberg, *sql;
} type_names[] = {
    [FZ_TYPE_BOOLEAN] = {"boolean", "boolean"},
    [FZ_TYPE_INT] = {"int", "int"},
    [FZ_TYPE_LONG] = {"long", "bigint"},
    [FZ_TYPE_FLOAT] = {"float", "float"},
    [FZ_TYPE_DOUBLE] = {"double", "double"},
    [FZ_TYPE_DECIMAL] = {"decimal", "decimal"},
    [FZ_TYPE_DATE] = {"date", "date"},
    [FZ_TYPE_TIME] = {"time", "time"},
    [FZ_TYPE_TIMESTAMP] = {"timestamp", "timestamp_ntz"},
    [FZ_TYPE_TIMESTAMPTZ] = {"timestamptz", "timestamp"},
    [FZ_TYPE_TIMESTAMP_NS] = {"timestamp_ns", "timestamp_ns"},
    [FZ_TYPE_TIMESTAMPTZ_NS] = {"timestamptz_ns", "timestamptz_ns"},
    [FZ_TYPE_STRING] = {"string", "string"},
    [FZ_TYPE_UUID] = {"uuid", "string"},
    [FZ_TYPE_FIXED] = {"fixed", "binary"},
    [FZ_TYPE_BINARY] = {"binary", "binary"},
    [FZ_TYPE_STRUCT] = {"struct", "struct"},
    [FZ_TYPE_LIST] = {"list", "array"},
    [FZ_TYPE_MAP] = {"map", "map"},
    [FZ_TYPE_UNKNOWN] = {"unknown", "void"},
    [FZ_TYPE_VARIANT] = {"variant", "variant"},
    [FZ_TYPE_GEOMETRY] = {"geometry", "geometry"},
    [FZ_TYPE_GEOGRAPHY] = {"geography", "geography"},
    [FZ_TYPE_BYTE] = {"byte", "tinyint"},
    [FZ_TYPE_SHORT] = {"short", "smallint"},
    [FZ_TYPE_INTERVAL_DT] = {"interval_day_time", "interval"},
    [FZ_TYPE_INTERVAL_YM] = {"interval_year_month", "interval"},
    [FZ_TYPE_INTERVAL_CAL] = {"interval", "interval"},
};
_Static_assert(sizeof type_names / sizeof type_names[0] == N_TYPE_IDS, "every type has a name");

const struct fz_type *fz_type_primitive(enum fz_type_id id) {
    return id >= FZ_TYPE_BOOLEAN && (size_t)id < N_TYPE_IDS && shared_types[id].id == id ? &shared_types[id] : NULL;
}

const struct fz_type *fz_type_decimal(struct fz_arena *arena, int precision, int scale) {
    struct fz_type *type = FZ_ARENA_NEW(arena, struct fz_type);
    if (type != NULL) {
        *type = (struct fz_type){.id = FZ_TYPE_DECIMAL, .precision = precision, .scale = scale};
    }
    return type;
}

const struct fz_type *fz_type_fixed(struct fz_arena *arena, int length) {
    struct fz_type *type = FZ_ARENA_NEW(arena, struct fz_type);
    if (type != NULL) {
        *type = (struct fz_type){.id = FZ_TYPE_FIXED, .length = length};
    }
    return type;
}

static const struct fz_type *new_nested(struct fz_arena *arena, enum fz_type_id id, const struct fz_field *fields,
                                        size_t n) {
    struct fz_type *type = FZ_ARENA_NEW(arena, struct fz_type);
    struct fz_field *copy = fz_arena_array(arena, n, sizeof *copy);
    if (type == NULL || copy == NULL) {
        return NULL;
    }
    if (n > 0) {
        memcpy(copy, fields, n * sizeof *copy);
    }
    *type = (struct fz_type){.id = id, .n_fields = n, .fields = copy};
    return type;
}

const struct fz_type *fz_type_struct(struct fz_arena *arena, const struct fz_field *fields, size_t n) {
    return new_nested(arena, FZ_TYPE_STRUCT, fields, n);
}

const struct fz_type *fz_type_list(struct fz_arena *arena, int32_t element_id, bool element_required,
                                   const struct fz_type *element) {
    struct fz_field field = {.id = element_id, .name = "element", .required = element_required, .type = element};
    return new_nested(arena, FZ_TYPE_LIST, &field, 1);
}

const struct fz_type *fz_type_map(struct fz_arena *arena, int32_t key_id, const struct fz_type *key, int32_t value_id,
                                  bool value_required, const struct fz_type *value) {
    struct fz_field fields[2] = {
        {.id = key_id, .name = "key", .required = true, .type = key},
        {.id = value_id, .name = "value", .required = value_required, .type = value},
    };
    return new_nested(arena, FZ_TYPE_MAP, fields, 2);
}

static bool copy_field(struct fz_arena *arena, struct fz_field *field) {
    field->type = fz_type_copy(arena, field->type);
    if (field->type == NULL) {
        return false;
    }
    if (field->name != NULL && (field->name = fz_arena_strdup(arena, field->name)) == NULL) {
        return false;
    }
    if (field->doc != NULL && (field->doc = fz_arena_strdup(arena, field->doc)) == NULL) {
        return false;
    }
    const struct fz_value **defaults[2] = {&field->initial_default, &field->write_default};
    for (size_t i = 0; i < 2; i++) {
        if (*defaults[i] != NULL && (*defaults[i] = fz_value_copy(arena, *defaults[i])) == NULL) {
            return false;
        }
    }
    return true;
}

const struct fz_type *fz_type_copy(struct fz_arena *arena, const struct fz_type *type) {
    if (type == fz_type_primitive(type->id)) {
        return type; // shared instances are immutable and live for ever
    }
    struct fz_type *copy = fz_arena_memdup(arena, type, sizeof *type);
    if (copy == NULL) {
        return NULL;
    }
    if (type->params != NULL && (copy->params = fz_arena_strdup(arena, type->params)) == NULL) {
        return NULL;
    }
    if (type->n_fields > 0) {
        struct fz_field *fields = fz_arena_memdup(arena, type->fields, type->n_fields * sizeof *fields);
        if (fields == NULL) {
            return NULL;
        }
        for (size_t i = 0; i < type->n_fields; i++) {
            if (!copy_field(arena, &fields[i])) {
                return NULL;
            }
        }
        copy->fields = fields;
    }
    return copy;
}

bool fz_type_is_primitive(const struct fz_type *type) {
    return type->id != FZ_TYPE_STRUCT && type->id != FZ_TYPE_LIST && type->id != FZ_TYPE_MAP;
}

bool fz_type_is_integer(const struct fz_type *type) {
    return type->id == FZ_TYPE_BYTE || type->id == FZ_TYPE_SHORT || type->id == FZ_TYPE_INT || type->id == FZ_TYPE_LONG;
}

bool fz_type_is_numeric(const struct fz_type *type) {
    return fz_type_is_integer(type) || type->id == FZ_TYPE_FLOAT || type->id == FZ_TYPE_DOUBLE ||
           type->id == FZ_TYPE_DECIMAL;
}

static bool text_equal(const char *a, const char *b) {
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool default_equal(const struct fz_value *a, const struct fz_value *b) {
    return a == b || (a != NULL && b != NULL && fz_value_equal(a, b));
}

static bool field_equal(const struct fz_field *a, const struct fz_field *b, bool names, bool with_names,
                        bool with_ids) {
    if ((with_ids && a->id != b->id) || (names && !text_equal(a->name, b->name))) {
        return false;
    }
    if (with_names && with_ids &&
        (a->required != b->required || !text_equal(a->doc, b->doc) ||
         !default_equal(a->initial_default, b->initial_default) ||
         !default_equal(a->write_default, b->write_default))) {
        return false;
    }
    return fz_type_equal(a->type, b->type, with_names, with_ids);
}

bool fz_type_equal(const struct fz_type *a, const struct fz_type *b, bool with_names, bool with_ids) {
    if (a == b) {
        return true;
    }
    if (a->id != b->id || a->precision != b->precision || a->scale != b->scale || a->length != b->length ||
        a->n_fields != b->n_fields || !text_equal(a->params, b->params)) {
        return false;
    }
    for (size_t i = 0; i < a->n_fields; i++) {
        bool names = with_names && a->id == FZ_TYPE_STRUCT;
        if (!field_equal(&a->fields[i], &b->fields[i], names, with_names, with_ids)) {
            return false;
        }
    }
    return true;
}

void fz_type_print(struct fz_buf *out, const struct fz_type *type) {
    fz_buf_puts(out, type_names[type->id].iceberg);
    if (type->id == FZ_TYPE_DECIMAL) {
        fz_buf_printf(out, "(%d, %d)", type->precision, type->scale);
    } else if (type->id == FZ_TYPE_FIXED) {
        fz_buf_printf(out, "[%d]", type->length);
    } else if (type->params != NULL) {
        fz_buf_printf(out, "(%s)", type->params);
    } else if (!fz_type_is_primitive(type)) {
        fz_buf_putc(out, '<');
        for (size_t i = 0; i < type->n_fields; i++) {
            const struct fz_field *field = &type->fields[i];
            fz_buf_puts(out, i > 0 ? ", " : "");
            if (type->id == FZ_TYPE_STRUCT) {
                fz_buf_printf(out, "%d: %s: %s ", field->id, field->name, field->required ? "required" : "optional");
            }
            fz_type_print(out, field->type);
            if (type->id == FZ_TYPE_STRUCT && field->doc != NULL) {
                fz_buf_printf(out, " (%s)", field->doc);
            }
        }
        fz_buf_putc(out, '>');
    }
}

static void print_interval_fields(struct fz_buf *out, const struct fz_type *type) {
    static const char *const day_time[] = {"day", "hour", "minute", "second"};
    static const char *const year_month[] = {"year", "month"};
    bool dt = type->id == FZ_TYPE_INTERVAL_DT;
    int last = dt ? 3 : 1, from = type->precision, to = type->scale;
    const char *const *names = dt ? day_time : year_month;
    if (from < 0 || from > last || to < from || to > last) {
        from = 0;
        to = last;
    }
    fz_buf_printf(out, " %s", names[from]);
    if (to != from) {
        fz_buf_printf(out, " to %s", names[to]);
    }
}

void fz_type_print_sql(struct fz_buf *out, const struct fz_type *type) {
    fz_buf_puts(out, type_names[type->id].sql);
    if (type->id == FZ_TYPE_DECIMAL) {
        fz_buf_printf(out, "(%d,%d)", type->precision, type->scale);
    } else if (type->id == FZ_TYPE_INTERVAL_DT || type->id == FZ_TYPE_INTERVAL_YM) {
        print_interval_fields(out, type);
    } else if (type->params != NULL) {
        fz_buf_printf(out, "(%s)", type->params);
    } else if (!fz_type_is_primitive(type)) {
        fz_buf_putc(out, '<');
        for (size_t i = 0; i < type->n_fields; i++) {
            fz_buf_puts(out, i > 0 ? "," : "");
            if (type->id == FZ_TYPE_STRUCT) {
                fz_buf_printf(out, "%s:", type->fields[i].name);
            }
            fz_type_print_sql(out, type->fields[i].type);
        }
        fz_buf_putc(out, '>');
    }
}

static struct fz_str trim(struct fz_str s) {
    while (s.len > 0 && (*s.ptr == ' ' || *s.ptr == '\t')) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && (s.ptr[s.len - 1] == ' ' || s.ptr[s.len - 1] == '\t')) {
        s.len--;
    }
    return s;
}

// "name" + open + inner + close. False when the text has another shape; `*inner` has no ptr when there are no brackets.
static bool split_params(struct fz_str text, char open, char close, struct fz_str *name, struct fz_str *inner) {
    const char *at = memchr(text.ptr, open, text.len);
    if (at == NULL) {
        *name = text;
        *inner = (struct fz_str){0};
        return true;
    }
    size_t before = (size_t)(at - text.ptr);
    if (text.ptr[text.len - 1] != close || text.len - before < 2) {
        return false;
    }
    *name = trim((struct fz_str){text.ptr, before});
    *inner = trim((struct fz_str){at + 1, text.len - before - 2});
    return true;
}

static bool parse_small(struct fz_str text, int64_t min, int64_t max, int *out) {
    int64_t v;
    text = trim(text);
    if (!fz_parse_i64(text, &v) || v < min || v > max) {
        return false;
    }
    *out = (int)v;
    return true;
}

static enum fz_code unknown_type(struct fz_str text, const char *why, struct fz_err *err) {
    return fz_fail(err, FZ_SCHEMA_MISMATCH, "%s: \"%.*s\"", why, (int)(text.len < 200 ? text.len : 200), text.ptr);
}

static enum fz_code parse_decimal(struct fz_arena *arena, struct fz_str text, struct fz_str inner,
                                  const struct fz_type **out, struct fz_err *err) {
    const char *comma = inner.ptr != NULL ? memchr(inner.ptr, ',', inner.len) : NULL;
    int precision, scale;
    if (comma == NULL) {
        return unknown_type(text, "not a type (a decimal needs precision and scale)", err);
    }
    size_t before = (size_t)(comma - inner.ptr);
    if (!parse_small((struct fz_str){inner.ptr, before}, 1, 38, &precision) ||
        !parse_small((struct fz_str){comma + 1, inner.len - before - 1}, 0, precision, &scale)) {
        return unknown_type(text, "not a decimal type (precision is 1 to 38, scale is 0 to precision)", err);
    }
    *out = fz_type_decimal(arena, precision, scale);
    return *out != NULL ? FZ_OK : fz_fail_nomem(err, sizeof **out);
}

static enum fz_code parse_geo(struct fz_arena *arena, struct fz_str inner, enum fz_type_id id,
                              const struct fz_type **out, struct fz_err *err) {
    struct fz_type *type = fz_arena_memdup(arena, fz_type_primitive(id), sizeof *type);
    if (type == NULL) {
        return fz_fail_nomem(err, sizeof *type);
    }
    if (inner.len > 0) {
        type->params = fz_arena_strndup(arena, inner.ptr, inner.len);
        if (type->params == NULL) {
            return fz_fail_nomem(err, inner.len);
        }
    }
    *out = type;
    return FZ_OK;
}

enum fz_code fz_type_parse(struct fz_arena *arena, struct fz_str text, const struct fz_type **out, struct fz_err *err) {
    struct fz_str name, inner, trimmed = trim(text);
    if (trimmed.len == 0) {
        return fz_fail(err, FZ_SCHEMA_MISMATCH, "the name of a type is empty");
    }
    if (split_params(trimmed, '[', ']', &name, &inner) && fz_str_ieq(name, FZ_STR_LIT("fixed"))) {
        int length;
        if (inner.ptr == NULL || !parse_small(inner, 0, INT32_MAX, &length)) {
            return unknown_type(text, "not a fixed type (a length in brackets is needed)", err);
        }
        *out = fz_type_fixed(arena, length);
        return *out != NULL ? FZ_OK : fz_fail_nomem(err, sizeof **out);
    }
    if (!split_params(trimmed, '(', ')', &name, &inner)) {
        return unknown_type(text, "not a type of Iceberg", err);
    }
    if (fz_str_ieq(name, FZ_STR_LIT("decimal"))) {
        return parse_decimal(arena, text, inner, out, err);
    }
    for (int id = FZ_TYPE_BOOLEAN; id <= FZ_TYPE_GEOGRAPHY; id++) {
        const struct fz_type *type = fz_type_primitive((enum fz_type_id)id);
        if (type == NULL || !fz_str_ieq(name, fz_str_of(type_names[id].iceberg))) {
            continue;
        }
        if (inner.ptr != NULL && (id == FZ_TYPE_GEOMETRY || id == FZ_TYPE_GEOGRAPHY)) {
            return parse_geo(arena, inner, type->id, out, err);
        }
        if (inner.ptr == NULL) {
            *out = type;
            return FZ_OK;
        }
    }
    return unknown_type(text, "not a type of Iceberg", err);
}
