// Spark's type rules (ANSI mode): the common type of two, decimal precision, which casts exist, store assignment.
// docs: spark-on-duckdb sections 4 and 5. Pure; called by the binder.
#include "sql/sql_bind_priv.h"

const struct fz_type *fz_sql_type(enum fz_type_id id) {
    return fz_type_primitive(id);
}
bool fz_sql_is_string(const struct fz_type *t) {
    return t->id == FZ_TYPE_STRING || t->id == FZ_TYPE_UUID;
}
bool fz_sql_is_binary(const struct fz_type *t) {
    return t->id == FZ_TYPE_BINARY || t->id == FZ_TYPE_FIXED;
}
bool fz_sql_is_null(const struct fz_type *t) {
    return t->id == FZ_TYPE_UNKNOWN;
}
static bool is_timestamp(const struct fz_type *t) {
    return t->id == FZ_TYPE_TIMESTAMP || t->id == FZ_TYPE_TIMESTAMPTZ || t->id == FZ_TYPE_TIMESTAMP_NS ||
           t->id == FZ_TYPE_TIMESTAMPTZ_NS;
}
static bool is_tz(const struct fz_type *t) {
    return t->id == FZ_TYPE_TIMESTAMPTZ || t->id == FZ_TYPE_TIMESTAMPTZ_NS;
}
static bool is_nanos(const struct fz_type *t) {
    return t->id == FZ_TYPE_TIMESTAMP_NS || t->id == FZ_TYPE_TIMESTAMPTZ_NS;
}
static bool is_interval(const struct fz_type *t) {
    return t->id == FZ_TYPE_INTERVAL_DT || t->id == FZ_TYPE_INTERVAL_YM || t->id == FZ_TYPE_INTERVAL_CAL;
}
static int integer_rank(const struct fz_type *t) { // 0: not an integer
    switch ((int)t->id) {
    case FZ_TYPE_BYTE:
        return 1;
    case FZ_TYPE_SHORT:
        return 2;
    case FZ_TYPE_INT:
        return 3;
    case FZ_TYPE_LONG:
        return 4;
    default:
        return 0;
    }
}

bool fz_sql_same_type(const struct fz_type *a, const struct fz_type *b) {
    return a == b || fz_type_equal(a, b, true, false);
}

static bool has_type(const struct fz_type *t, enum fz_type_id id) {
    bool found = t->id == id;
    for (size_t i = 0; i < t->n_fields && !found; i++) {
        found = has_type(t->fields[i].type, id);
    }
    return found;
}

bool fz_sql_has_map(const struct fz_type *t) {
    return has_type(t, FZ_TYPE_MAP);
}
bool fz_sql_has_variant(const struct fz_type *t) {
    return has_type(t, FZ_TYPE_VARIANT);
}
bool fz_sql_is_unordered(const struct fz_type *t) {
    return fz_sql_has_map(t) || fz_sql_has_variant(t);
}

const struct fz_type *fz_sql_decimal_bounded(struct fz_arena *arena, int p, int s) {
    if (p > 38) {
        int digits = p - s;
        int least = s < 6 ? s : 6;
        s = 38 - digits > least ? 38 - digits : least;
        p = 38;
    }
    return fz_type_decimal(arena, p, s);
}

const struct fz_type *fz_sql_decimal_of(struct fz_arena *arena, const struct fz_type *t) {
    static const int digits[] = {0, 3, 5, 10, 20};
    if (t->id == FZ_TYPE_DECIMAL) {
        return t;
    }
    int rank = integer_rank(t);
    return rank ? fz_type_decimal(arena, digits[rank], 0) : NULL;
}

static const struct fz_type *widen_decimals(struct fz_arena *arena, const struct fz_type *a, const struct fz_type *b) {
    int scale = a->scale > b->scale ? a->scale : b->scale;
    int whole = a->precision - a->scale > b->precision - b->scale ? a->precision - a->scale : b->precision - b->scale;
    if (whole + scale > 38) { // the integer digits win
        if (whole > 38) {
            whole = 38;
        }
        scale = 38 - whole;
        return fz_type_decimal(arena, 38, scale);
    }
    return fz_type_decimal(arena, whole + scale, scale);
}

static const struct fz_type *common_nested(struct fz_arena *arena, const struct fz_type *a, const struct fz_type *b) {
    if (a->id != b->id || a->n_fields != b->n_fields) {
        return NULL;
    }
    struct fz_field *fields = fz_arena_array(arena, a->n_fields ? a->n_fields : 1, sizeof *fields);
    if (fields == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < a->n_fields; i++) {
        if (a->id == FZ_TYPE_STRUCT && fz_strcasecmp(a->fields[i].name, b->fields[i].name) != 0) {
            return NULL;
        }
        fields[i] = a->fields[i];
        fields[i].required = a->fields[i].required && b->fields[i].required;
        fields[i].type = fz_sql_common_type(arena, a->fields[i].type, b->fields[i].type);
        if (fields[i].type == NULL) {
            return NULL;
        }
    }
    if (a->id == FZ_TYPE_LIST) {
        return fz_type_list(arena, 0, fields[0].required, fields[0].type);
    }
    if (a->id == FZ_TYPE_MAP) {
        return fz_type_map(arena, 0, fields[0].type, 0, fields[1].required, fields[1].type);
    }
    return fz_type_struct(arena, fields, a->n_fields);
}

const struct fz_type *fz_sql_common_type(struct fz_arena *arena, const struct fz_type *a, const struct fz_type *b) {
    if (fz_sql_same_type(a, b)) {
        return a;
    }
    if (fz_sql_is_null(a)) {
        return b;
    }
    if (fz_sql_is_null(b)) {
        return a;
    }
    if (a->n_fields > 0 || b->n_fields > 0) {
        return common_nested(arena, a, b);
    }
    bool na = fz_type_is_numeric(a), nb = fz_type_is_numeric(b);
    if (na && nb) {
        int ra = integer_rank(a), rb = integer_rank(b);
        if (ra && rb) {
            return ra >= rb ? a : b;
        }
        bool da = a->id == FZ_TYPE_DOUBLE || a->id == FZ_TYPE_FLOAT,
             db = b->id == FZ_TYPE_DOUBLE || b->id == FZ_TYPE_FLOAT;
        if (da || db) {
            return fz_sql_type(FZ_TYPE_DOUBLE);
        }
        return widen_decimals(arena, fz_sql_decimal_of(arena, a), fz_sql_decimal_of(arena, b));
    }
    if (fz_sql_is_string(a) && fz_sql_is_string(b)) {
        return fz_sql_type(FZ_TYPE_STRING);
    }
    if (fz_sql_is_string(a) || fz_sql_is_string(b)) {
        const struct fz_type *other = fz_sql_is_string(a) ? b : a;
        if (integer_rank(other)) {
            return fz_sql_type(FZ_TYPE_LONG);
        }
        if (fz_type_is_numeric(other)) {
            return fz_sql_type(FZ_TYPE_DOUBLE);
        }
        return is_interval(other) ? NULL : other;
    }
    if (fz_sql_is_binary(a) && fz_sql_is_binary(b)) {
        return fz_sql_type(FZ_TYPE_BINARY);
    }
    if (a->id == FZ_TYPE_DATE && is_timestamp(b)) {
        return b;
    }
    if (b->id == FZ_TYPE_DATE && is_timestamp(a)) {
        return a;
    }
    if (is_timestamp(a) && is_timestamp(b) && (is_nanos(a) || is_nanos(b))) {
        return fz_sql_type(is_tz(a) || is_tz(b) ? FZ_TYPE_TIMESTAMPTZ_NS : FZ_TYPE_TIMESTAMP_NS);
    }
    if (is_timestamp(a) && is_timestamp(b)) {
        return fz_sql_type(is_tz(a) || is_tz(b) ? FZ_TYPE_TIMESTAMPTZ : FZ_TYPE_TIMESTAMP);
    }
    if (a->id == b->id && (a->id == FZ_TYPE_INTERVAL_DT || a->id == FZ_TYPE_INTERVAL_YM)) {
        struct fz_type *t = fz_arena_memdup(arena, a, sizeof *a);
        if (t != NULL) {
            t->precision = a->precision < b->precision ? a->precision : b->precision;
            t->scale = a->scale > b->scale ? a->scale : b->scale;
        }
        return t;
    }
    return NULL;
}

static enum fz_cast_rule can_cast_nested(const struct fz_type *from, const struct fz_type *to) {
    if (from->id != to->id || from->n_fields != to->n_fields) {
        return FZ_CAST_NO;
    }
    for (size_t i = 0; i < from->n_fields; i++) {
        enum fz_cast_rule rule = fz_sql_can_cast(from->fields[i].type, to->fields[i].type);
        if (rule != FZ_CAST_OK) {
            return FZ_CAST_NO;
        }
    }
    return FZ_CAST_OK;
}

enum fz_cast_rule fz_sql_can_cast(const struct fz_type *from, const struct fz_type *to) {
    if (fz_sql_is_null(from) || fz_sql_same_type(from, to)) {
        return FZ_CAST_OK;
    }
    if (to->id == FZ_TYPE_VARIANT) {
        return fz_variant_writable(from, false) ? FZ_CAST_OK : FZ_CAST_NO;
    }
    if (from->id == FZ_TYPE_VARIANT && !fz_sql_is_string(to)) {
        return fz_variant_readable(to) ? FZ_CAST_OK : FZ_CAST_NO;
    }
    if (from->n_fields > 0 && to->n_fields > 0 && (fz_sql_has_variant(from) || fz_sql_has_variant(to))) {
        return fz_variant_castable(from, to) ? FZ_CAST_OK : FZ_CAST_NO;
    }
    if (from->n_fields > 0 && fz_sql_has_variant(from)) {
        return FZ_CAST_NO; // to text: a nested value's text does not know which of its binaries are variants
    }
    if (fz_sql_is_string(to)) {
        return FZ_CAST_OK;
    }
    if (from->n_fields > 0 || to->n_fields > 0) {
        return can_cast_nested(from, to);
    }
    bool to_number = fz_type_is_numeric(to);
    bool to_time = to->id == FZ_TYPE_DATE || is_timestamp(to);
    switch ((int)from->id) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_UUID:
        return FZ_CAST_OK;
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        if (to_number || to->id == FZ_TYPE_BOOLEAN || is_tz(to) || is_interval(to)) {
            return FZ_CAST_OK;
        }
        return fz_sql_is_binary(to) ? FZ_CAST_CONF : to->id == FZ_TYPE_DATE ? FZ_CAST_SUGGEST : FZ_CAST_NO;
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
        return to_number || to->id == FZ_TYPE_BOOLEAN || is_tz(to) ? FZ_CAST_OK
               : to->id == FZ_TYPE_DATE                            ? FZ_CAST_SUGGEST
                                                                   : FZ_CAST_NO;
    case FZ_TYPE_DECIMAL:
        return to_number || to->id == FZ_TYPE_BOOLEAN || is_tz(to) || to->id == FZ_TYPE_INTERVAL_DT ? FZ_CAST_OK
               : to->id == FZ_TYPE_DATE                                                             ? FZ_CAST_SUGGEST
                                                                                                    : FZ_CAST_NO;
    case FZ_TYPE_BOOLEAN:
        return to_number ? FZ_CAST_OK : FZ_CAST_NO;
    case FZ_TYPE_DATE:
        return is_timestamp(to) ? FZ_CAST_OK : to_number ? FZ_CAST_SUGGEST : FZ_CAST_NO;
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        return to_number || to_time ? FZ_CAST_OK : FZ_CAST_NO;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMP_NS:
        return to_time ? FZ_CAST_OK : to_number ? FZ_CAST_SUGGEST : FZ_CAST_NO;
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
        return to->id == from->id || to_number ? FZ_CAST_OK : FZ_CAST_NO;
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        return fz_sql_is_binary(to) ? FZ_CAST_OK : FZ_CAST_NO;
    default:
        return FZ_CAST_NO;
    }
}

bool fz_sql_can_widen_strict(const struct fz_type *from, const struct fz_type *to) {
    if (fz_sql_is_null(from) || fz_sql_same_type(from, to)) {
        return true;
    }
    int ra = integer_rank(from), rb = integer_rank(to);
    if (ra && rb) {
        return ra <= rb;
    }
    if (ra && to->id == FZ_TYPE_DECIMAL) {
        static const int digits[] = {0, 3, 5, 10, 20};
        return to->precision - to->scale >= digits[ra];
    }
    if (from->id == FZ_TYPE_DECIMAL && to->id == FZ_TYPE_DECIMAL) {
        return to->scale >= from->scale && to->precision - to->scale >= from->precision - from->scale;
    }
    if ((ra || from->id == FZ_TYPE_FLOAT) && (to->id == FZ_TYPE_DOUBLE || to->id == FZ_TYPE_FLOAT)) {
        return true;
    }
    if (from->id == FZ_TYPE_DATE && is_timestamp(to)) {
        return true;
    }
    return fz_sql_is_string(to) && from->n_fields == 0 && !fz_sql_is_binary(from);
}

bool fz_sql_can_store(const struct fz_type *from, const struct fz_type *to) {
    if (fz_sql_is_null(from) || fz_sql_same_type(from, to)) {
        return true;
    }
    if (from->n_fields > 0 || to->n_fields > 0) {
        if (from->id != to->id || (from->id != FZ_TYPE_STRUCT && from->n_fields != to->n_fields)) {
            return false;
        }
        if (from->id == FZ_TYPE_STRUCT) {
            return true; // by name, checked by the caller
        }
        for (size_t i = 0; i < from->n_fields; i++) {
            if (!fz_sql_can_store(from->fields[i].type, to->fields[i].type)) {
                return false;
            }
        }
        return true;
    }
    if (fz_sql_is_string(to)) {
        return !is_interval(from) || true;
    }
    if (fz_type_is_numeric(from) && fz_type_is_numeric(to)) {
        return true;
    }
    if (fz_sql_is_binary(from) && fz_sql_is_binary(to)) {
        return true;
    }
    bool time_from = from->id == FZ_TYPE_DATE || is_timestamp(from),
         time_to = to->id == FZ_TYPE_DATE || is_timestamp(to);
    if (time_from && time_to) {
        return true;
    }
    return is_interval(from) && from->id == to->id;
}

bool fz_sql_implicit_cast(const struct fz_type *from, const struct fz_type *to) {
    if (fz_sql_is_null(from) || fz_sql_same_type(from, to)) {
        return true;
    }
    if (from->n_fields > 0 || to->n_fields > 0) {
        if (from->id != to->id || from->n_fields != to->n_fields) {
            return false;
        }
        for (size_t i = 0; i < from->n_fields; i++) {
            if (!fz_sql_implicit_cast(from->fields[i].type, to->fields[i].type)) {
                return false;
            }
        }
        return true;
    }
    if (fz_sql_is_string(to)) {
        return !is_interval(from);
    }
    if (fz_sql_is_string(from)) {
        return !is_interval(to);
    }
    if (fz_type_is_numeric(from) && fz_type_is_numeric(to)) { // no narrowing
        if (to->id == FZ_TYPE_DOUBLE) {
            return true;
        }
        int ra = integer_rank(from), rb = integer_rank(to);
        if (ra && rb) {
            return ra <= rb;
        }
        return (ra && (to->id == FZ_TYPE_FLOAT || to->id == FZ_TYPE_DECIMAL));
    }
    if (fz_sql_is_binary(from) && fz_sql_is_binary(to)) {
        return true;
    }
    bool time_from = from->id == FZ_TYPE_DATE || is_timestamp(from),
         time_to = to->id == FZ_TYPE_DATE || is_timestamp(to);
    return time_from && time_to;
}

const char *fz_sql_type_text(struct fz_arena *arena, const struct fz_type *type) {
    struct fz_buf buf = {0};
    fz_type_print_sql(&buf, type);
    char *text =
        buf.failed || buf.ptr == NULL ? fz_arena_strdup(arena, "?") : fz_arena_strndup(arena, buf.ptr, buf.len);
    fz_buf_dispose(&buf);
    bool quoted = false;
    for (char *p = text; p != NULL && *p != 0; p++) {
        quoted = *p == '`' ? !quoted : quoted;
        if (!quoted && *p >= 'a' && *p <= 'z') {
            *p = (char)(*p - 'a' + 'A');
        }
    }
    return text;
}
