// Type names as Spark spells them.
#include "sql/sql_parse.h"

static const struct {
    const char *word;
    enum fz_type_id type;
} simple_types[] = {
    {"BOOLEAN", FZ_TYPE_BOOLEAN},
    {"TINYINT", FZ_TYPE_BYTE},
    {"BYTE", FZ_TYPE_BYTE},
    {"SMALLINT", FZ_TYPE_SHORT},
    {"SHORT", FZ_TYPE_SHORT},
    {"INT", FZ_TYPE_INT},
    {"INTEGER", FZ_TYPE_INT},
    {"BIGINT", FZ_TYPE_LONG},
    {"LONG", FZ_TYPE_LONG},
    {"FLOAT", FZ_TYPE_FLOAT},
    {"REAL", FZ_TYPE_FLOAT},
    {"DOUBLE", FZ_TYPE_DOUBLE},
    {"DATE", FZ_TYPE_DATE},
    {"TIME", FZ_TYPE_TIME},
    {"TIMESTAMP", FZ_TYPE_TIMESTAMPTZ},
    {"TIMESTAMP_LTZ", FZ_TYPE_TIMESTAMPTZ},
    {"TIMESTAMP_NTZ", FZ_TYPE_TIMESTAMP},
    {"TIMESTAMP_NS", FZ_TYPE_TIMESTAMP_NS}, // Iceberg's, which Spark does not have
    {"TIMESTAMPTZ_NS", FZ_TYPE_TIMESTAMPTZ_NS},
    {"STRING", FZ_TYPE_STRING},
    {"VARCHAR", FZ_TYPE_STRING},
    {"CHAR", FZ_TYPE_STRING},
    {"CHARACTER", FZ_TYPE_STRING},
    {"BINARY", FZ_TYPE_BINARY},
    {"VARIANT", FZ_TYPE_VARIANT},
    {"VOID", FZ_TYPE_UNKNOWN},
};

static const struct fz_type *checked(struct sql_parser *p, const struct fz_type *type) {
    return type != NULL ? type : fz_sql_node(p, sizeof *type);
}

static const struct fz_type *decimal_type(struct sql_parser *p) {
    int64_t precision = 10, scale = 0;
    if (fz_sql_accept(p, "(")) {
        precision = fz_sql_integer(p);
        if (fz_sql_accept(p, ",")) {
            scale = fz_sql_integer(p);
        }
        fz_sql_expect(p, ")");
    }
    if (precision > 38 || scale > 38) {
        fz_sql_fail(p, FZ_INVALID_ARG, "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
                    "Decimal precision %lld exceeds max precision 38",
                    (long long)(precision > scale ? precision : scale));
    } else if (precision < 1 || scale < 0 || scale > precision) {
        fz_sql_fail(p, FZ_INVALID_ARG, "_LEGACY_ERROR_TEMP_1228",
                    "Decimal scale (%lld) cannot be greater than precision (%lld)", (long long)scale,
                    (long long)precision);
    }
    return p->failed ? fz_type_primitive(FZ_TYPE_INT)
                     : checked(p, fz_type_decimal(p->arena, (int)precision, (int)scale));
}

static const struct fz_type *interval_type(struct sql_parser *p) {
    static const char *const ym[] = {"YEAR", "MONTH"}, *const dt[] = {"DAY", "HOUR", "MINUTE", "SECOND"};
    struct fz_type *type = SQL_NODE(p, struct fz_type);
    type->id = FZ_TYPE_INTERVAL_CAL;
    for (int family = 0; family < 2; family++) {
        const char *const *names = family == 0 ? ym : dt;
        int n = family == 0 ? 2 : 4;
        for (int from = 0; from < n; from++) {
            if (!fz_sql_accept(p, names[from])) {
                continue;
            }
            type->id = family == 0 ? FZ_TYPE_INTERVAL_YM : FZ_TYPE_INTERVAL_DT;
            type->precision = type->scale = from;
            if (fz_sql_accept(p, "TO")) {
                type->scale = -1;
                for (int to = from + 1; to < n; to++) {
                    if (fz_sql_accept(p, names[to])) {
                        type->scale = to;
                        break;
                    }
                }
                if (type->scale < 0) {
                    fz_sql_syntax(p, "a smaller interval unit");
                }
            }
            return type;
        }
    }
    return type;
}

static void field(struct sql_parser *p, struct fz_field *f) {
    f->name = fz_sql_ident(p);
    fz_sql_accept(p, ":");
    f->type = fz_sql_parse_type_at(p);
    for (;;) {
        if (fz_sql_accept2(p, "NOT", "NULL")) {
            f->required = true;
        } else if (fz_sql_accept(p, "COMMENT")) {
            f->doc = fz_sql_string(p);
        } else {
            return;
        }
    }
}

const struct fz_type *fz_sql_fields(struct sql_parser *p, const char *closer) {
    struct fz_field *fields = NULL;
    size_t n = 0, cap = 0;
    if (closer == NULL || !fz_sql_is(p, 0, closer)) {
        do {
            struct fz_field f = {0};
            field(p, &f);
            struct fz_field *slot = SQL_PUSH(p, fields, n, cap);
            *slot = f;
        } while (fz_sql_accept(p, ","));
    }
    if (closer != NULL) {
        fz_sql_expect(p, closer);
    }
    return checked(p, fz_type_struct(p->arena, fields, n));
}

static const struct fz_type *nested_type(struct sql_parser *p) {
    if (fz_sql_accept2(p, "STRUCT", "<>")) {
        return checked(p, fz_type_struct(p->arena, NULL, 0));
    }
    if (fz_sql_accept2(p, "STRUCT", "<")) {
        return fz_sql_fields(p, ">");
    }
    if (fz_sql_accept2(p, "ARRAY", "<")) {
        const struct fz_type *element = fz_sql_parse_type_at(p);
        fz_sql_expect(p, ">");
        return checked(p, fz_type_list(p->arena, 0, false, element));
    }
    if (fz_sql_accept2(p, "MAP", "<")) {
        const struct fz_type *key = fz_sql_parse_type_at(p);
        fz_sql_expect(p, ",");
        const struct fz_type *value = fz_sql_parse_type_at(p);
        fz_sql_expect(p, ">");
        return checked(p, fz_type_map(p->arena, 0, key, 0, false, value));
    }
    return NULL;
}

const struct fz_type *fz_sql_parse_type_at(struct sql_parser *p) {
    const struct fz_type *type = fz_type_primitive(FZ_TYPE_INT);
    if (!fz_sql_enter(p)) {
        p->depth--;
        return type;
    }
    const struct fz_type *nested = nested_type(p);
    if (nested != NULL) {
        type = nested;
    } else if (fz_sql_accept(p, "DECIMAL") || fz_sql_accept(p, "DEC") || fz_sql_accept(p, "NUMERIC")) {
        type = decimal_type(p);
    } else if (fz_sql_accept(p, "INTERVAL")) {
        type = interval_type(p);
    } else if (fz_sql_accept2(p, "TIMESTAMP", "WITHOUT")) {
        fz_sql_expect(p, "TIME");
        fz_sql_expect(p, "ZONE");
        type = fz_type_primitive(FZ_TYPE_TIMESTAMP);
    } else {
        size_t i = 0, n = sizeof simple_types / sizeof simple_types[0];
        while (i < n && !fz_sql_is(p, 0, simple_types[i].word)) {
            i++;
        }
        if (i < n) {
            bool sized =
                simple_types[i].type == FZ_TYPE_STRING && fz_sql_peek(p, 0)->raw.len != 6; // VARCHAR(n), CHAR(n)
            p->at++;
            if ((sized || simple_types[i].type == FZ_TYPE_TIME) && fz_sql_accept(p, "(")) {
                fz_sql_integer(p);
                fz_sql_expect(p, ")");
            } else if (sized) {
                fz_sql_fail(p, FZ_SQL_SYNTAX, "DATATYPE_MISSING_SIZE", "VARCHAR and CHAR need a length");
            }
            if (simple_types[i].type == FZ_TYPE_STRING && fz_sql_accept(p, "COLLATE") &&
                !fz_sql_accept(p, "UTF8_BINARY")) {
                fz_sql_unsupported(p, "A collation");
            }
            type = fz_type_primitive(simple_types[i].type);
        } else if (!fz_sql_is_ident(p, 0) || p->lenient_types) {
            fz_sql_syntax(p, "a type");
        } else {
            const struct sql_token *t = fz_sql_peek(p, 0);
            fz_sql_fail(p, FZ_UNSUPPORTED, "UNSUPPORTED_DATATYPE", "Unsupported data type \"%.*s\"",
                        (int)fz_utf8_truncate(t->raw.ptr, t->raw.len, 40), t->raw.ptr);
        }
    }
    p->depth--;
    return type;
}
