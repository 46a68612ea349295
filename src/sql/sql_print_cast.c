// Casts as DuckDB SQL (spark-on-duckdb sections 4 and 5). Every pair has a form that gives NULL on failure; ANSI and store mode put the
// error around it, or use DuckDB's own cast where its error says the same.
#include "duck/duck.h"
#include "sql/sql_print_priv.h"

#include <stdio.h>

struct form { // how one pair of types is cast
    struct fz_buf text;
    const char *condition; // NULL: cannot fail, or the native form raises by itself
    bool native; // `text` raises by itself; with TRY_ in front of its CAST it gives NULL
    bool number_check; // text to decimal: two conditions
};

static bool is_integer(const struct fz_type *t) {
    return fz_type_is_integer(t);
}
static bool is_float(const struct fz_type *t) {
    return t->id == FZ_TYPE_DOUBLE || t->id == FZ_TYPE_FLOAT;
}
static bool is_tz(const struct fz_type *t) {
    return t->id == FZ_TYPE_TIMESTAMPTZ || t->id == FZ_TYPE_TIMESTAMPTZ_NS;
}
static bool is_ntz(const struct fz_type *t) {
    return t->id == FZ_TYPE_TIMESTAMP || t->id == FZ_TYPE_TIMESTAMP_NS;
}

static void type(struct fz_buf *out, const struct fz_type *t) {
    fz_duck_type_print(out, t);
}
static void cast_to(struct fz_buf *out, const char *word, const char *open, struct fz_str x, const char *close,
                    const struct fz_type *t) {
    fz_buf_printf(out, "%s(%s", word, open);
    fz_buf_append(out, x.ptr, x.len);
    fz_buf_printf(out, "%s AS ", close);
    type(out, t);
    fz_buf_putc(out, ')');
}
static void call1(struct fz_buf *out, const char *fn, struct fz_str x, const char *rest) {
    fz_buf_printf(out, "%s(", fn);
    fz_buf_append(out, x.ptr, x.len);
    fz_buf_printf(out, "%s)", rest);
}
#define ZONE ", current_setting('TimeZone')"

static bool from_text(struct form *f, struct fz_str x, const struct fz_type *to, const char *cast) {
    (void)cast;
    f->condition = "CAST_INVALID_INPUT";
    switch ((int)to->id) {
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
        cast_to(&f->text, "TRY_CAST", "fz_str_to_int(", x, ")", to);
        return true;
    case FZ_TYPE_INT:
        call1(&f->text, "fz_str_to_int", x, "");
        return true;
    case FZ_TYPE_LONG:
        call1(&f->text, "fz_str_to_bigint", x, "");
        return true;
    case FZ_TYPE_DOUBLE:
        call1(&f->text, "fz_str_to_double", x, "");
        return true;
    case FZ_TYPE_FLOAT:
        call1(&f->text, "fz_str_to_float", x, "");
        return true;
    case FZ_TYPE_BOOLEAN:
        call1(&f->text, "fz_str_to_bool", x, "");
        return true;
    case FZ_TYPE_DECIMAL:
        fz_buf_puts(&f->text, "CAST(fz_str_to_dec(");
        fz_buf_append(&f->text, x.ptr, x.len);
        fz_buf_printf(&f->text, ", %d, %d) * ", to->precision, to->scale);
        if (to->scale == 0) {
            fz_buf_puts(&f->text, "1::DECIMAL(1,0)");
        } else {
            fz_buf_puts(&f->text, "'0.");
            for (int i = 1; i < to->scale; i++) {
                fz_buf_putc(&f->text, '0');
            }
            fz_buf_printf(&f->text, "1'::DECIMAL(%d,%d)", to->scale, to->scale);
        }
        fz_buf_puts(&f->text, " AS ");
        type(&f->text, to);
        fz_buf_putc(&f->text, ')');
        f->number_check = true;
        return true;
    case FZ_TYPE_DATE:
        call1(&f->text, "fz_str_to_date", x, "");
        return true;
    case FZ_TYPE_TIMESTAMPTZ:
        call1(&f->text, "fz_str_to_ts", x, ZONE);
        return true;
    case FZ_TYPE_TIMESTAMP:
        call1(&f->text, "fz_str_to_ntz", x, "");
        return true;
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
        call1(&f->text, "encode", x, "");
        f->condition = NULL;
        return true;
    case FZ_TYPE_UUID:
        cast_to(&f->text, "TRY_CAST", "", x, "", to);
        return true;
    default:
        return false;
    }
}

static bool to_text(struct form *f, struct fz_str x, const struct fz_type *from) {
    const struct fz_type *string = fz_sql_type(FZ_TYPE_STRING);
    if (from->n_fields > 0) {
        call1(&f->text, "fz_to_str", x, ZONE);
        return true;
    }
    switch ((int)from->id) {
    case FZ_TYPE_DOUBLE:
        call1(&f->text, "fz_double_to_str", x, "");
        return true;
    case FZ_TYPE_FLOAT:
        call1(&f->text, "fz_float_to_str", x, "");
        return true;
    case FZ_TYPE_DECIMAL:
        if (from->precision == from->scale && from->precision < 38) { // DuckDB prints .05
            fz_buf_puts(&f->text, "CAST(");
            cast_to(&f->text, "CAST", "", x, "",
                    &(struct fz_type){.id = FZ_TYPE_DECIMAL, .precision = from->precision + 1, .scale = from->scale});
            fz_buf_puts(&f->text, " AS VARCHAR)");
        } else {
            cast_to(&f->text, "CAST", "", x, "", string);
        }
        return true;
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        call1(&f->text, "fz_ntz_to_str(CAST", x, "");
        f->text.len--; // CAST(x AS TIMESTAMP))
        fz_buf_puts(&f->text, " AS TIMESTAMP))");
        return true;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMP_NS:
        call1(&f->text, "fz_ntz_to_str", x, "");
        return true;
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
        call1(&f->text, "fz_binary_to_str", x, "");
        return true;
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
        fz_buf_puts(&f->text, from->id == FZ_TYPE_INTERVAL_DT ? "fz_dt_to_str(" : "fz_ym_to_str(");
        fz_buf_append(&f->text, x.ptr, x.len);
        fz_buf_printf(&f->text, ", %d, %d)", from->precision, from->scale);
        return true;
    case FZ_TYPE_INTERVAL_CAL:
        call1(&f->text, "fz_cal_to_str", x, "");
        return true;
    case FZ_TYPE_DATE:
        call1(&f->text, "fz_date_to_str", x, "");
        return true;
    case FZ_TYPE_VARIANT:
        call1(&f->text, "fz_variant_to_str", x, ZONE);
        return true;
    default:
        cast_to(&f->text, "CAST", "", x, "", string);
        return true;
    }
}

static bool number_to_number(struct form *f, struct fz_str x, const struct fz_type *from, const struct fz_type *to,
                             const char *cast) {
    f->native = true;
    f->condition = to->id == FZ_TYPE_DECIMAL ? "NUMERIC_VALUE_OUT_OF_RANGE" : "CAST_OVERFLOW";
    if (is_integer(to)) {
        bool cut = is_float(from) || from->id == FZ_TYPE_DECIMAL;
        cast_to(&f->text, cast, cut ? "trunc(" : "", x, cut ? ")" : "", to);
        return true;
    }
    if (to->id == FZ_TYPE_DECIMAL && is_float(from)) { // through the shortest text, HALF_UP; NaN and Infinity give NULL
        fz_buf_puts(&f->text, "(CASE WHEN isfinite(");
        fz_buf_append(&f->text, x.ptr, x.len);
        fz_buf_puts(&f->text, ") THEN ");
        cast_to(&f->text, cast, "CAST(CAST(", x, " AS DOUBLE) AS VARCHAR)", to);
        fz_buf_puts(&f->text, " END)");
        return true;
    }
    if (to->id == FZ_TYPE_DECIMAL) {
        cast_to(&f->text, cast, "", x, "", to);
        return true;
    }
    f->condition = NULL;
    if (to->id == FZ_TYPE_DOUBLE && from->id == FZ_TYPE_DECIMAL && from->precision > 15) { // correctly rounded
        cast_to(&f->text, "CAST", "CAST(", x, " AS VARCHAR)", to);
    } else if (to->id == FZ_TYPE_FLOAT && from->id == FZ_TYPE_DOUBLE) {
        call1(&f->text, "fz_double_to_float", x, "");
    } else {
        cast_to(&f->text, "CAST", "", x, "", to);
    }
    return true;
}

static bool from_tz(struct form *f, struct fz_str x, const struct fz_type *to, const char *cast) {
    if (to->id == FZ_TYPE_DATE) {
        cast_to(&f->text, "CAST", "CAST(", x, " AS TIMESTAMP)", to);
        return true;
    }
    if (is_ntz(to)) {
        cast_to(&f->text, "CAST", "", x, "", to);
        return true;
    }
    if (is_integer(to)) { // seconds, floor
        f->native = true;
        f->condition = "CAST_OVERFLOW";
        cast_to(&f->text, cast, "floor(epoch_us(", x, ") / 1000000.0::DOUBLE)", to);
        return true;
    }
    if (is_float(to)) {
        cast_to(&f->text, "CAST", "epoch_us(", x, ") / 1e6", to);
        return true;
    }
    if (to->id == FZ_TYPE_DECIMAL) {
        f->native = true;
        f->condition = "NUMERIC_VALUE_OUT_OF_RANGE";
        cast_to(&f->text, cast, "CAST(epoch_us(", x, ") AS DECIMAL(38,0)) * 0.000001::DECIMAL(6,6)", to);
        return true;
    }
    return false;
}

static bool to_tz(struct form *f, struct fz_str x, const struct fz_type *from) {
    if (from->id == FZ_TYPE_DATE) {
        call1(&f->text, "fz_ntz_to_ts(CAST", x, "");
        f->text.len--;
        fz_buf_puts(&f->text, " AS TIMESTAMP)" ZONE ")");
        return true;
    }
    if (is_ntz(from)) {
        call1(&f->text, "fz_ntz_to_ts", x, ZONE);
        return true;
    }
    if (is_integer(from)) {
        fz_buf_puts(&f->text, "make_timestamptz(");
        cast_to(&f->text, "CAST", "", x, "", fz_sql_type(FZ_TYPE_LONG));
        fz_buf_puts(&f->text, " * 1000000)");
        return true;
    }
    if (is_float(from) || from->id == FZ_TYPE_DECIMAL) {
        fz_buf_puts(&f->text, "make_timestamptz(");
        cast_to(&f->text, "CAST", "trunc(", x, is_float(from) ? " * 1000000)" : " * 1000000::DECIMAL(7,0))",
                fz_sql_type(FZ_TYPE_LONG));
        fz_buf_putc(&f->text, ')');
        return true;
    }
    return false;
}

static bool atomic_form(struct form *f, struct fz_str x, const struct fz_type *from, const struct fz_type *to,
                        const char *cast);

static bool is_ns(const struct fz_type *t) {
    return t->id == FZ_TYPE_TIMESTAMP_NS || t->id == FZ_TYPE_TIMESTAMPTZ_NS;
}

// Nanoseconds go by microseconds, rounded down (DuckDB's own cast rounds toward 1970), with what is below them added again where the
// result has nanoseconds too. With a zone and without, they are the same TIMESTAMP_NS to DuckDB.
static bool ns_form(struct form *f, struct fz_str x, const struct fz_type *from, const struct fz_type *to,
                    const char *cast) {
    const struct fz_type *mid = fz_sql_type(is_tz(is_ns(from) ? from : to) ? FZ_TYPE_TIMESTAMPTZ : FZ_TYPE_TIMESTAMP);
    struct fz_buf us = {0};
    struct form inner = {0};
    int len = (int)x.len;
    bool ok = true;
    if (is_ns(from) && to->id == FZ_TYPE_STRING) {
        fz_buf_printf(&f->text, "fz_ns_to_str(epoch_ns(%.*s), %s)", len, x.ptr,
                      is_tz(from) ? "current_setting('TimeZone')" : "'UTC'");
        return true;
    }
    if (!is_ns(from)) { // to nanoseconds
        if (from->id == mid->id) {
            fz_buf_append(&inner.text, x.ptr, x.len);
        } else {
            ok = atomic_form(&inner, x, from, mid, cast);
        }
        fz_buf_printf(&f->text, "make_timestamp_ns(epoch_us(%s) * 1000)", inner.text.ptr ? inner.text.ptr : "");
        f->condition = inner.condition;
        f->native = inner.native;
        f->number_check = inner.number_check;
    } else {
        fz_buf_printf(&us, "%s((epoch_ns(%.*s) - ((epoch_ns(%.*s) %% 1000 + 1000) %% 1000)) // 1000)",
                      is_tz(from) ? "make_timestamptz" : "make_timestamp", len, x.ptr, len, x.ptr);
        struct fz_str text = {us.ptr ? us.ptr : "", us.len};
        if (!is_ns(to)) {
            if (to->id == mid->id) {
                fz_buf_append(&f->text, text.ptr, text.len);
            } else {
                ok = atomic_form(f, text, mid, to, cast);
            }
        } else {
            ok = atomic_form(&inner, text, mid, fz_sql_type(is_tz(to) ? FZ_TYPE_TIMESTAMPTZ : FZ_TYPE_TIMESTAMP), cast);
            fz_buf_printf(&f->text, "make_timestamp_ns(epoch_us(%s) * 1000 + (epoch_ns(%.*s) %% 1000 + 1000) %% 1000)",
                          inner.text.ptr ? inner.text.ptr : "", len, x.ptr);
        }
    }
    f->text.failed |= us.failed || inner.text.failed;
    fz_buf_dispose(&us);
    fz_buf_dispose(&inner.text);
    return ok;
}

static bool atomic_form(struct form *f, struct fz_str x, const struct fz_type *from, const struct fz_type *to,
                        const char *cast) {
    if ((is_ns(from) || is_ns(to)) && from->id != to->id) {
        return ns_form(f, x, from, to, cast);
    }
    if (from->id == FZ_TYPE_STRING && to->id != FZ_TYPE_STRING) {
        return from_text(f, x, to, cast);
    }
    if (to->id == FZ_TYPE_STRING) {
        return to_text(f, x, from);
    }
    if (fz_type_is_numeric(from) && fz_type_is_numeric(to)) {
        return number_to_number(f, x, from, to, cast);
    }
    if (from->id == FZ_TYPE_BOOLEAN && to->id == FZ_TYPE_DECIMAL) {
        f->native = true;
        f->condition = "NUMERIC_VALUE_OUT_OF_RANGE";
        cast_to(&f->text, cast, "CAST(", x, " AS INTEGER)", to);
        return true;
    }
    if (from->id == FZ_TYPE_BOOLEAN || to->id == FZ_TYPE_BOOLEAN || from->id == FZ_TYPE_UUID) {
        cast_to(&f->text, "CAST", "", x, "", to);
        return true;
    }
    if (is_tz(to) && !is_tz(from)) {
        return to_tz(f, x, from);
    }
    if (is_tz(from) && !is_tz(to)) {
        return from_tz(f, x, to, cast);
    }
    if ((from->id == FZ_TYPE_DATE || is_ntz(from) || is_tz(from)) &&
        (to->id == FZ_TYPE_DATE || is_ntz(to) || is_tz(to))) {
        cast_to(&f->text, "CAST", "", x, "", to);
        return true;
    }
    if (from->id == to->id ||
        (fz_sql_is_binary(from) && fz_sql_is_binary(to))) { // intervals of another range, fixed and binary
        fz_buf_append(&f->text, x.ptr, x.len);
        return true;
    }
    if (from->id == FZ_TYPE_INTERVAL_DT && is_integer(to)) { // counts in the last field
        static const char *const units[] = {"86400000000", "3600000000", "60000000", "1000000"};
        f->native = true;
        f->condition = "CAST_OVERFLOW";
        fz_buf_printf(&f->text, "%s(", cast);
        fz_buf_append(&f->text, x.ptr, x.len);
        fz_buf_printf(&f->text, " // %s AS ", units[from->scale & 3]);
        type(&f->text, to);
        fz_buf_putc(&f->text, ')');
        return true;
    }
    if (to->id == FZ_TYPE_INTERVAL_DT && is_integer(from)) {
        static const char *const units[] = {"86400000000", "3600000000", "60000000", "1000000"};
        cast_to(&f->text, "(CAST", "", x, "", fz_sql_type(FZ_TYPE_LONG));
        fz_buf_printf(&f->text, " * %s)", units[to->scale & 3]);
        return true;
    }
    if ((from->id == FZ_TYPE_INTERVAL_YM && is_integer(to)) || (to->id == FZ_TYPE_INTERVAL_YM && is_integer(from))) {
        bool months = (from->id == FZ_TYPE_INTERVAL_YM ? from->scale : to->scale) == 1;
        fz_buf_puts(&f->text, "CAST((");
        fz_buf_append(&f->text, x.ptr, x.len);
        fz_buf_puts(&f->text, months ? ") AS " : from->id == FZ_TYPE_INTERVAL_YM ? ") // 12 AS " : ") * 12 AS ");
        type(&f->text, to);
        fz_buf_putc(&f->text, ')');
        return true;
    }
    return false;
}

static bool same_layout(const struct fz_type *a, const struct fz_type *b) { // what DuckDB sees is the same
    if (a->n_fields == 0 || b->n_fields == 0) {
        return fz_type_equal(a, b, false, false) || (fz_sql_is_binary(a) && fz_sql_is_binary(b)) ||
               (a->id == b->id && a->id >= FZ_TYPE_INTERVAL_DT);
    }
    if (a->id != b->id || a->n_fields != b->n_fields) {
        return false;
    }
    for (size_t i = 0; i < a->n_fields; i++) {
        if (!same_layout(a->fields[i].type, b->fields[i].type)) {
            return false;
        }
    }
    return true;
}

static enum fz_code nested_cast(struct fz_buf *out, struct fz_str x, const struct fz_type *from,
                                const struct fz_type *to, enum fz_cast_mode mode, int depth, struct fz_err *err) {
    char var[24], part[96];
    snprintf(var, sizeof var, "fz_c%d", depth);
    if (to->id == FZ_TYPE_LIST) {
        fz_buf_puts(out, "list_transform(");
        fz_buf_append(out, x.ptr, x.len);
        fz_buf_printf(out, ", lambda %s: ", var);
        FZ_RET(fz_print_cast_text(out, fz_str_of(var), from->fields[0].type, to->fields[0].type, mode, depth + 1, err));
        fz_buf_putc(out, ')');
        return FZ_OK;
    }
    if (to->id == FZ_TYPE_MAP) {
        fz_buf_puts(out, "map_from_entries(list_transform(map_entries(");
        fz_buf_append(out, x.ptr, x.len);
        fz_buf_printf(out, "), lambda %s: struct_pack(k := ", var);
        snprintf(part, sizeof part, "%s.key", var);
        FZ_RET(
            fz_print_cast_text(out, fz_str_of(part), from->fields[0].type, to->fields[0].type, mode, depth + 1, err));
        fz_buf_puts(out, ", v := ");
        snprintf(part, sizeof part, "%s.value", var);
        FZ_RET(
            fz_print_cast_text(out, fz_str_of(part), from->fields[1].type, to->fields[1].type, mode, depth + 1, err));
        fz_buf_puts(out, ")))");
        return FZ_OK;
    }
    // struct, by position, bound once
    fz_buf_puts(out, "list_extract(list_transform([");
    fz_buf_append(out, x.ptr, x.len);
    fz_buf_printf(out, "], lambda %s: CASE WHEN %s IS NULL THEN NULL ELSE struct_pack(", var, var);
    for (size_t i = 0; i < to->n_fields; i++) {
        fz_buf_printf(out, "%sf%zu := ", i ? ", " : "", i + 1);
        snprintf(part, sizeof part, "struct_extract(%s, 'f%zu')", var, i + 1);
        FZ_RET(
            fz_print_cast_text(out, fz_str_of(part), from->fields[i].type, to->fields[i].type, mode, depth + 1, err));
    }
    fz_buf_puts(out, ") END), 1)");
    return FZ_OK;
}

static void with_error(struct fz_buf *out, const struct form *f, struct fz_str x, const struct fz_type *from,
                       const struct fz_type *to, enum fz_cast_mode mode) {
    const char *condition = mode == FZ_CAST_STORE ? "CAST_OVERFLOW_IN_TABLE_INSERT" : f->condition;
    fz_buf_puts(out, "coalesce(");
    fz_buf_append(out, f->text.ptr, f->text.len);
    fz_buf_puts(out, ", CASE WHEN ");
    fz_buf_append(out, x.ptr, x.len);
    if (f->number_check && strcmp(condition, "CAST_INVALID_INPUT") == 0) {
        fz_buf_puts(out, " IS NOT NULL THEN error(CASE WHEN fz_str_is_number(");
        fz_buf_append(out, x.ptr, x.len);
        fz_buf_puts(out, ") THEN 'NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION' ELSE 'CAST_INVALID_INPUT' END)::");
    } else {
        fz_buf_printf(out, " IS NOT NULL THEN error('%s", condition);
        if (mode == FZ_CAST_STORE) {
            fz_buf_puts(out, ": a value of type ");
            fz_type_print_sql(out, from);
            fz_buf_puts(out, " does not fit its column of type ");
            fz_type_print_sql(out, to);
            fz_buf_puts(out, "; try_cast gives NULL instead");
        }
        fz_buf_puts(out, "')::");
    }
    type(out, to);
    fz_buf_puts(out, " END)");
}

static enum fz_code atomic_cast(struct fz_buf *out, struct fz_str x, const struct fz_type *from,
                                const struct fz_type *to, enum fz_cast_mode mode, int depth, struct fz_err *err) {
    struct form f = {0};
    char var[24];
    enum fz_code rc = FZ_OK;
    bool repeats = mode != FZ_CAST_TRY, bound = repeats && x.len > 240;
    struct fz_buf probe = {0};
    struct form shape = {0};
    // a long argument is bound once, when the error form would repeat it
    if (!atomic_form(&shape, FZ_STR_LIT("x"), from, to, "CAST")) {
        struct fz_buf a = {0};
        fz_type_print_sql(&a, from);
        fz_buf_puts(&a, " to ");
        fz_type_print_sql(&a, to);
        rc = fz_fail(err, FZ_UNSUPPORTED, "the cast from %s is not supported", a.ptr ? a.ptr : "?");
        fz_buf_dispose(&a);
        fz_buf_dispose(&shape.text);
        return rc;
    }
    bound = bound && shape.condition != NULL && (!shape.native || mode == FZ_CAST_STORE);
    fz_buf_dispose(&shape.text);
    if (bound) {
        snprintf(var, sizeof var, "fz_c%d", depth);
        fz_buf_puts(out, "list_extract(list_transform([");
        fz_buf_append(out, x.ptr, x.len);
        fz_buf_printf(out, "], lambda %s: ", var);
        x = fz_str_of(var);
    }
    atomic_form(&f, x, from, to, mode == FZ_CAST_ANSI ? "CAST" : "TRY_CAST");
    rc = fz_buf_check(&f.text, err);
    if (rc == FZ_OK) {
        if (f.condition == NULL || mode == FZ_CAST_TRY || (f.native && mode == FZ_CAST_ANSI)) {
            fz_buf_append(out, f.text.ptr, f.text.len);
        } else {
            with_error(out, &f, x, from, to, mode);
        }
    }
    fz_buf_puts(out, bound ? "), 1)" : "");
    fz_buf_dispose(&f.text);
    fz_buf_dispose(&probe);
    return rc;
}

enum fz_code fz_print_cast_text(struct fz_buf *out, struct fz_str x, const struct fz_type *from,
                                const struct fz_type *to, enum fz_cast_mode mode, int depth, struct fz_err *err) {
    if (depth > 1000) {
        return fz_fail(err, FZ_LIMIT, "the statement is nested too deeply");
    }
    if (from->id == FZ_TYPE_UNKNOWN) {
        fz_buf_puts(out, "NULL::");
        type(out, to);
        return FZ_OK;
    }
    if (to->id != FZ_TYPE_STRING && same_layout(from, to)) {
        fz_buf_append(out, x.ptr, x.len);
        return FZ_OK;
    }
    if (from->n_fields > 0 && to->n_fields > 0) {
        return nested_cast(out, x, from, to, mode, depth, err);
    }
    return atomic_cast(out, x, from, to, mode, depth, err);
}
