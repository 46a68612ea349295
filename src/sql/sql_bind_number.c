// Special functions of numbers, dates and times: rounding, units, parts, formats.
#include <stdio.h>

#include "sql/sql_bind_special.h"

// ---- numbers ----
static enum fz_code bind_mod(struct special *c) {
    COUNT(c, 2, 2);
    return fz_bind_arith(c->b, is_one(c->name, "pmod") ? "p" : "%", c->args[0], c->args[1], c->out);
}

// round, bround, ceil and floor with digits over decimals: by our own function, exact.
static enum fz_code round_decimal(struct special *c, int64_t digits, int mode) {
    const struct fz_type *a = c->args[0]->type;
    int whole = a->precision - a->scale + 1, p, s;
    if (digits < 0) {
        p = whole > 1 - digits ? whole : (int)(1 - digits);
        s = 0;
    } else {
        s = a->scale < digits ? a->scale : (int)digits;
        p = whole + s;
    }
    p = p > 38 ? 38 : p;
    const struct fz_expr *args[3] = {c->args[0], fz_bind_int(c->b, FZ_TYPE_INT, digits),
                                     fz_bind_int(c->b, FZ_TYPE_INT, mode)};
    const struct fz_type *t = fz_type_decimal(c->b->arena, p, s);
    FZ_SOME(c->b, t);
    return done(c, fz_bind_internal(c->b, "op.dec.kround", t, args, 3));
}

static enum fz_code bind_round(struct special *c) {
    COUNT(c, 1, 2);
    bool half_even = is_one(c->name, "bround");
    int64_t digits = 0;
    if (c->n == 2) {
        FZ_RET(literal_int(c, 1, &digits));
    }
    digits = digits > 1000 ? 1000 : digits < -1000 ? -1000 : digits;
    if (!fz_type_is_numeric(c->args[0]->type)) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
    }
    const struct fz_type *t = c->args[0]->type;
    if (t->id == FZ_TYPE_DECIMAL) {
        return round_decimal(c, digits, half_even ? 1 : 0);
    }
    const struct fz_expr *args[2] = {c->args[0], fz_bind_int(c->b, FZ_TYPE_INT, digits)};
    if (fz_type_is_integer(t)) {
        if (digits >= 0) {
            return done(c, args[0]);
        }
        return done(c, fz_bind_internal(c->b, half_even ? "op.bround_int" : "op.round_int", t, args, 2));
    }
    args[0] = fz_bind_cast(c->b, args[0], DOUBLE);
    const struct fz_expr *e =
        fz_bind_internal(c->b, half_even ? "op.bround_double" : "op.round_double", DOUBLE, args, 2);
    return done(c, fz_bind_cast(c->b, e, t));
}

static enum fz_code bind_ceil(struct special *c) {
    COUNT(c, 1, 2);
    bool ceil = is_one(c->name, "ceil ceiling");
    int64_t digits = 0;
    if (c->n == 2) {
        FZ_RET(literal_int(c, 1, &digits));
        if (c->args[0]->type->id != FZ_TYPE_DECIMAL) {
            const struct fz_type *t = fz_sql_decimal_of(c->b->arena, c->args[0]->type);
            FZ_RET(cast_arg(c, 0, t ? t : fz_type_decimal(c->b->arena, 30, 15)));
        }
        return round_decimal(c, digits, ceil ? 2 : 3);
    }
    const struct fz_type *t = c->args[0]->type;
    if (t->id == FZ_TYPE_DECIMAL) {
        int p = t->precision - t->scale + 1 > 38 ? 38 : t->precision - t->scale + 1;
        return done(c, call(c, ceil ? "op.dec.ceil" : "op.dec.floor",
                            t->scale == 0 ? t : fz_type_decimal(c->b->arena, p, 0), 1));
    }
    if (fz_type_is_integer(t)) {
        return done(c, fz_bind_cast(c->b, c->args[0], LONG));
    }
    FZ_RET(cast_arg(c, 0, DOUBLE));
    return done(c, call(c, ceil ? "op.ceil" : "op.floor", LONG, 1));
}

static enum fz_code bind_to_number(struct special *c) {
    COUNT(c, 2, 2);
    const char *format;
    FZ_RET(cast_arg(c, 0, STRING));
    FZ_RET(fz_bind_literal_text(c->b, c->args[1], "number format", &format));
    int whole = 0, scale = 0;
    bool fraction = false;
    for (const char *p = format; *p; p++) {
        fraction |= *p == '.' || *p == 'D' || *p == 'd';
        if (*p == '9' || *p == '0') {
            *(fraction ? &scale : &whole) += 1;
        }
    }
    if (whole + scale == 0 || whole + scale > 38) {
        return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "INVALID_FORMAT.WRONG_NUM_DIGIT",
                            "The number format '%s' has no digits or too many", format);
    }
    const struct fz_type *t = fz_type_decimal(c->b->arena, whole + scale, scale);
    FZ_SOME(c->b, t);
    return done(c, call(c, is_one(c->name, "try_to_number") ? "op.try_to_number" : "op.to_number", t, 2));
}

// ---- dates and times ----
static const char *unit_of(const char *text) {
    static const char *const units[][4] = {{"year", "YEAR", "YYYY", "YY"},
                                           {"quarter", "QUARTER", "", ""},
                                           {"month", "MONTH", "MM", "MON"},
                                           {"week", "WEEK", "", ""},
                                           {"day", "DAY", "DD", ""},
                                           {"hour", "HOUR", "", ""},
                                           {"minute", "MINUTE", "", ""},
                                           {"second", "SECOND", "", ""},
                                           {"milliseconds", "MILLISECOND", "", ""},
                                           {"microseconds", "MICROSECOND", "", ""}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        for (size_t k = 1; k < 4; k++) {
            if (*units[i][k] && fz_strcasecmp(text, units[i][k]) == 0) {
                return units[i][0];
            }
        }
    }
    return NULL;
}

static enum fz_code bind_trunc(struct special *c) { // trunc(date, unit), date_trunc(unit, timestamp)
    COUNT(c, 2, 2);
    bool date = is_one(c->name, "trunc");
    size_t at = date ? 0 : 1;
    FZ_RET(cast_arg(c, 1 - at, STRING));
    FZ_RET(cast_arg(c, at, date ? DATE : TIMESTAMP));
    if (c->args[1 - at]->kind != FZ_EXPR_LITERAL) {
        if (date) {
            return fz_fail(c->b->err, FZ_UNSUPPORTED, "trunc needs its unit as a literal");
        }
        return done(c, call(c, "op.date_trunc_var", TIMESTAMP, 2));
    }
    const char *text;
    FZ_RET(fz_bind_literal_text(c->b, c->args[1 - at], "unit", &text));
    const char *unit = unit_of(text);
    if (unit == NULL || (date && is_one(unit, "day hour minute second milliseconds microseconds"))) {
        return done(c, fz_bind_null(c->b, date ? DATE : TIMESTAMP));
    }
    const struct fz_expr *args[2] = {c->args[at], fz_bind_text(c->b, unit)};
    const char *fn = date                                      ? "op.trunc_date"
                     : is_one(unit, "hour")                    ? "op.trunc_hour"
                     : is_one(unit, "day")                     ? "op.trunc_day"
                     : is_one(unit, "year quarter month week") ? "op.trunc_days"
                                                               : "op.date_trunc";
    return done(c, fz_bind_internal(c->b, fn, date ? DATE : TIMESTAMP, args, 2));
}

static enum fz_code bind_extract(struct special *c) {
    static const char *const map[][2] = {
        {"YEAR Y YEARS YR YRS", "year"}, {"QUARTER QTR", "quarter"},      {"MONTH MON MONS MONTHS", "month"},
        {"WEEK W WEEKS", "weekofyear"},  {"DAY D DAYS", "day"},           {"DOY", "dayofyear"},
        {"DAYOFWEEK DOW", "dayofweek"},  {"HOUR H HOURS HR HRS", "hour"}, {"MINUTE M MIN MINS MINUTES", "minute"}};
    COUNT(c, 2, 2);
    const char *field;
    FZ_RET(fz_bind_literal_text(c->b, c->args[0], "field", &field));
    const struct fz_expr *arg = c->args[1];
    if (arg->type->id == FZ_TYPE_INTERVAL_DT) {
        const char *part = is_one(field, "DAY D DAYS")                  ? "day"
                           : is_one(field, "HOUR H HOURS HR HRS")       ? "hour"
                           : is_one(field, "MINUTE M MIN MINS MINUTES") ? "minute"
                                                                        : NULL;
        if (part == NULL) {
            return fz_fail(c->b->err, FZ_UNSUPPORTED, "extract(%s) of an interval is not supported", field);
        }
        const struct fz_expr *args[2] = {arg, fz_bind_text(c->b, part)};
        return done(c, fz_bind_internal(c->b, "op.dt_field", INT, args, 2));
    }
    if (fz_sql_is_string(arg->type)) {
        arg = fz_bind_cast(c->b, arg, TIMESTAMP);
        FZ_SOME(c->b, arg);
    }
    for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
        if (is_one(field, map[i][0])) {
            return fz_bind_function(c->b, map[i][1], &arg, 1, c->out);
        }
    }
    if (is_one(field, "SECOND S SEC SECONDS SECS")) {
        arg = fz_bind_cast(c->b, arg, NTZ);
        FZ_SOME(c->b, arg);
        return done(c, fz_bind_internal(c->b, "op.second_dec", fz_type_decimal(c->b->arena, 8, 6), &arg, 1));
    }
    bool iso = is_one(field, "DAYOFWEEK_ISO DOW_ISO"), iso_year = is_one(field, "YEAROFWEEK");
    if (iso || iso_year) {
        arg = fz_bind_cast(c->b, arg, DATE);
        FZ_SOME(c->b, arg);
        return done(c, fz_bind_internal(c->b, iso ? "op.dow_iso" : "op.isoyear", INT, &arg, 1));
    }
    return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "INVALID_EXTRACT_FIELD", "Cannot extract %s from %s", field,
                        fz_sql_type_text(c->b->arena, arg->type));
}

static enum fz_code bind_to_date(struct special *c) { // to_date, to_timestamp, to_timestamp_ntz, with try_
    COUNT(c, 1, 2);
    bool try_it = is_one(c->name, "try_to_date try_to_timestamp");
    bool date = is_one(c->name, "to_date try_to_date"), ntz = is_one(c->name, "to_timestamp_ntz");
    const struct fz_type *t = date ? DATE : ntz ? NTZ : TIMESTAMP;
    if (c->n == 1 || !fz_sql_is_string(c->args[0]->type)) {
        return fz_bind_cast_checked(c->b, c->args[0], t, try_it ? FZ_CAST_TRY : FZ_CAST_ANSI, c->out);
    }
    FZ_RET(cast_arg(c, 1, STRING));
    const char *fn = date     ? (try_it ? "op.try_parse_date" : "op.parse_date")
                     : ntz    ? "op.parse_ntz"
                     : try_it ? "op.try_parse_ts"
                              : "op.parse_ts";
    return done(c, call(c, fn, t, 2));
}

static enum fz_code bind_unix_timestamp(struct special *c) {
    if (c->n == 0) {
        return fz_special_now(c);
    }
    COUNT(c, 1, 2);
    if (!fz_sql_is_string(c->args[0]->type)) {
        FZ_RET(cast_arg(c, 0, TIMESTAMP));
        return done(c, fz_bind_call_node(c->b, fz_func_find("unix_timestamp", NULL), LONG, c->args, 1));
    }
    const struct fz_expr *args[2] = {c->args[0], c->n == 2 ? c->args[1] : fz_bind_text(c->b, "yyyy-MM-dd HH:mm:ss")};
    return done(c, fz_bind_internal(c->b, "op.unix_ts_text", LONG, args, 2));
}

static enum fz_code bind_timestamp_add(struct special *c) { // timestampadd('unit', n, t)
    static const char *const units[][2] = {{"YEAR", ""},
                                           {"QUARTER", ""},
                                           {"MONTH", ""},
                                           {"WEEK", "to_weeks"},
                                           {"DAY", "to_days"},
                                           {"DAYOFYEAR", "to_days"},
                                           {"HOUR", "to_hours"},
                                           {"MINUTE", "to_minutes"},
                                           {"SECOND", "to_seconds"},
                                           {"MILLISECOND", "to_milliseconds"},
                                           {"MICROSECOND", "to_microseconds"}};
    COUNT(c, 3, 3);
    const char *unit;
    FZ_RET(fz_bind_literal_text(c->b, c->args[0], "unit", &unit));
    FZ_RET(cast_arg(c, 1, INT));
    FZ_RET(cast_arg(c, 2, TIMESTAMP));
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (fz_strcasecmp(unit, units[i][0]) == 0) {
            const struct fz_expr *n = c->args[1];
            if (i <= 2) { // as INTERVAL n MONTH
                int months = i == 0 ? 12 : i == 1 ? 3 : 1;
                FZ_RET(fz_bind_arith(c->b, "*", n, fz_bind_int(c->b, FZ_TYPE_INT, months), &n));
                const struct fz_expr *two[2] = {c->args[2], n};
                return done(c, fz_bind_internal(c->b, "op.tz_add_ym", TIMESTAMP, two, 2));
            }
            const struct fz_expr *args[3] = {n, c->args[2], fz_bind_text(c->b, units[i][1])};
            return done(c, fz_bind_internal(c->b, "op.add_units", TIMESTAMP, args, 3));
        }
    }
    return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "INVALID_PARAMETER_VALUE.DATETIME_UNIT", "%s is not a unit of time",
                        unit);
}

static enum fz_code bind_timestamp_diff(struct special *c) { // timestampdiff('unit', a, b)
    static const struct {
        const char *unit, *fn, *divisor;
    } units[] = {{"YEAR", "op.diff_months", "12"},       {"QUARTER", "op.diff_months", "3"},
                 {"MONTH", "op.diff_months", "1"},       {"WEEK", "op.diff_abs", "604800000000"},
                 {"DAY", "op.diff_abs", "86400000000"},  {"HOUR", "op.diff_abs", "3600000000"},
                 {"MINUTE", "op.diff_abs", "60000000"},  {"SECOND", "op.diff_abs", "1000000"},
                 {"MILLISECOND", "op.diff_abs", "1000"}, {"MICROSECOND", "op.diff_abs", "1"}};
    COUNT(c, 3, 3);
    const char *unit;
    FZ_RET(fz_bind_literal_text(c->b, c->args[0], "unit", &unit));
    FZ_RET(cast_arg(c, 1, TIMESTAMP));
    FZ_RET(cast_arg(c, 2, TIMESTAMP));
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (fz_strcasecmp(unit, units[i].unit) == 0) {
            const struct fz_expr *args[3] = {c->args[1], c->args[2], fz_bind_text(c->b, units[i].divisor)};
            return done(c, fz_bind_internal(c->b, units[i].fn, LONG, args, 3));
        }
    }
    return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "INVALID_PARAMETER_VALUE.DATETIME_UNIT", "%s is not a unit of time",
                        unit);
}

static enum fz_code bind_make_interval(struct special *c) {
    COUNT(c, 0, 7);
    const struct fz_expr **args;
    FZ_ALLOC(c->b, args, const struct fz_expr *, 7);
    for (size_t i = 0; i < 7; i++) {
        args[i] = i < c->n ? fz_bind_cast(c->b, c->args[i], i == 6 ? DOUBLE : INT)
                           : fz_bind_cast(c->b, fz_bind_int(c->b, FZ_TYPE_INT, 0), i == 6 ? DOUBLE : INT);
        FZ_SOME(c->b, args[i]);
    }
    struct fz_type *t;
    FZ_ALLOC(c->b, t, struct fz_type, 1);
    t->id = FZ_TYPE_INTERVAL_CAL;
    return done(c, fz_bind_internal(c->b, "op.make_interval", t, args, 7));
}

const struct special_handler fz_special_numbers[] = {
    {"mod pmod", bind_mod},
    {"round bround", bind_round},
    {"ceil ceiling floor", bind_ceil},
    {"to_number try_to_number", bind_to_number},
    {"trunc date_trunc", bind_trunc},
    {"extract date_part datepart", bind_extract},
    {"to_date try_to_date to_timestamp try_to_timestamp to_timestamp_ntz to_timestamp_ltz", bind_to_date},
    {"unix_timestamp to_unix_timestamp", bind_unix_timestamp},
    {"timestampadd", bind_timestamp_add},
    {"timestampdiff", bind_timestamp_diff},
    {"make_interval", bind_make_interval},
};
const size_t fz_n_special_numbers = sizeof fz_special_numbers / sizeof *fz_special_numbers;
