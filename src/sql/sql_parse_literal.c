// Literals typed by their spelling: numbers, DATE / TIMESTAMP / TIME / X'…', intervals.
#include "sql/sql_parse.h"

#include <float.h>

struct fz_ast_expr *fz_sql_literal_node(struct sql_parser *p, struct fz_pos pos, const struct fz_value *value) {
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_LITERAL, pos);
    e->literal = value;
    return e;
}
struct fz_ast_expr *fz_sql_string_node(struct sql_parser *p, struct fz_pos pos, struct fz_str text) {
    struct fz_value *v = SQL_NODE(p, struct fz_value);
    v->type = fz_type_primitive(FZ_TYPE_STRING);
    v->u.bytes = text;
    return fz_sql_literal_node(p, pos, v);
}

static bool digit(char c) {
    return c >= '0' && c <= '9';
}

// ---- numbers ----

static void out_of_range(struct sql_parser *p, struct fz_str raw, const char *type) {
    fz_sql_fail(p, FZ_SQL_SYNTAX, "INVALID_NUMERIC_LITERAL_RANGE", "The number %.*s is outside the range of %s",
                (int)(raw.len > 60 ? 60 : raw.len), raw.ptr, type);
}

static void too_many_digits(struct sql_parser *p, struct fz_str raw) {
    fz_sql_fail(p, FZ_INVALID_ARG, "DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
                "The number %.*s needs more than 38 digits", (int)(raw.len > 60 ? 60 : raw.len), raw.ptr);
}
// The exact decimal of digits, fraction and exponent. Leading zeros do not count: 0.10 is DECIMAL(2,2), 1e3BD is DECIMAL(4,0).
static void decimal_value(struct sql_parser *p, struct fz_str raw, struct fz_str text, bool negative,
                          struct fz_value *v) {
    __int128 unscaled = 0;
    int digits = 0;
    int64_t scale = 0;
    bool fraction = false;
    size_t i = 0;
    for (; i < text.len && (digit(text.ptr[i]) || text.ptr[i] == '.'); i++) {
        if (text.ptr[i] == '.') {
            fraction = true;
            continue;
        }
        if (unscaled != 0 || text.ptr[i] != '0') {
            digits++;
        }
        if (digits > 38) {
            too_many_digits(p, raw);
            return;
        }
        unscaled = unscaled * 10 + (text.ptr[i] - '0');
        scale += fraction;
    }
    int64_t exponent = 0;
    if (i < text.len && !fz_parse_i64((struct fz_str){text.ptr + i + 1, text.len - i - 1}, &exponent)) {
        exponent = INT32_MAX;
    }
    if (exponent > 1000 || exponent < -1000) {
        too_many_digits(p, raw);
        return;
    }
    scale -= exponent;
    for (; scale < 0; scale++) {
        if (unscaled == 0) {
            continue;
        }
        if (++digits > 38) {
            too_many_digits(p, raw);
            return;
        }
        unscaled *= 10;
    }
    if (scale > 38) {
        too_many_digits(p, raw);
        return;
    }
    int precision = digits > (int)scale ? digits : (int)scale;
    v->type = fz_type_decimal(p->arena, precision < 1 ? 1 : precision, (int)scale);
    if (v->type == NULL) {
        v->type = fz_sql_node(p, sizeof *v->type);
    }
    unscaled = negative ? -unscaled : unscaled;
    memcpy(&v->u.i128, &unscaled, sizeof unscaled);
}

static void float_value(struct sql_parser *p, struct fz_str raw, struct fz_str text, bool negative, bool single,
                        struct fz_value *v) {
    double d = 0;
    struct fz_buf full = {0}; // ".5" and "1." get their zero
    fz_buf_puts(&full, text.len > 0 && text.ptr[0] == '.' ? "0" : "");
    for (size_t i = 0; i < text.len; i++) {
        fz_buf_putc(&full, text.ptr[i]);
        if (text.ptr[i] == '.' && (i + 1 == text.len || !digit(text.ptr[i + 1]))) {
            fz_buf_putc(&full, '0');
        }
    }
    bool ok = full.ptr != NULL && fz_parse_double((struct fz_str){full.ptr, full.len}, &d) &&
              d <= (single ? (double)FLT_MAX : DBL_MAX);
    fz_buf_dispose(&full);
    if (!ok) {
        out_of_range(p, raw, single ? "FLOAT" : "DOUBLE");
        return;
    }
    d = negative ? -d : d;
    v->type = fz_type_primitive(single ? FZ_TYPE_FLOAT : FZ_TYPE_DOUBLE);
    if (single) {
        v->u.f32 = (float)d;
    } else {
        v->u.f64 = d;
    }
}

static void integer_value(struct sql_parser *p, struct fz_str raw, struct fz_str text, bool negative, char suffix,
                          struct fz_value *v) {
    static const struct {
        char suffix;
        enum fz_type_id type;
        const char *name;
        int64_t min, max;
    } kinds[] = {{'y', FZ_TYPE_BYTE, "TINYINT", INT8_MIN, INT8_MAX},
                 {'s', FZ_TYPE_SHORT, "SMALLINT", INT16_MIN, INT16_MAX},
                 {0, FZ_TYPE_INT, "INT", INT32_MIN, INT32_MAX},
                 {'l', FZ_TYPE_LONG, "BIGINT", INT64_MIN, INT64_MAX},
                 {0, FZ_TYPE_LONG, "BIGINT", INT64_MIN, INT64_MAX}};
    char signed_text[64];
    int64_t n = 0;
    while (text.len > 1 && text.ptr[0] == '0') {
        text.ptr++;
        text.len--;
    }
    bool fits = text.len < sizeof signed_text - 1;
    if (fits) {
        signed_text[0] = '-';
        memcpy(signed_text + 1, text.ptr, text.len);
        fits = fz_parse_i64((struct fz_str){negative ? signed_text : signed_text + 1, text.len + (negative ? 1u : 0u)},
                            &n);
    }
    const char *name = "BIGINT";
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (kinds[i].suffix != suffix) {
            continue;
        }
        name = kinds[i].name;
        if (fits && n >= kinds[i].min && n <= kinds[i].max) {
            v->type = fz_type_primitive(kinds[i].type);
            v->u.i64 = n;
            return;
        }
    }
    if (suffix != 0) {
        out_of_range(p, raw, name);
        return;
    }
    decimal_value(p, raw, text, negative, v);
}

const struct fz_value *fz_sql_number(struct sql_parser *p, bool negative) {
    struct fz_value *v = SQL_NODE(p, struct fz_value);
    struct fz_str raw = fz_sql_peek(p, 0)->raw, text = raw;
    if (fz_sql_peek(p, 0)->kind != SQL_NUMBER) {
        fz_sql_syntax(p, "a number");
        return v;
    }
    char suffix = 0;
    char last = (char)(text.ptr[text.len - 1] | 0x20);
    if (last >= 'a' && last <= 'z') {
        bool big = last == 'd' && text.len > 2 && (text.ptr[text.len - 2] | 0x20) == 'b';
        suffix = big ? 'b' : last;
        text.len -= big ? 2u : 1u;
    }
    bool plain = true, exponent = false;
    for (size_t i = 0; i < text.len; i++) {
        plain = plain && digit(text.ptr[i]);
        exponent = exponent || (text.ptr[i] | 0x20) == 'e';
    }
    if (suffix == 'd' || suffix == 'f' || (suffix == 0 && exponent)) {
        float_value(p, raw, text, negative, suffix == 'f', v);
    } else if (suffix == 'b' || !plain) {
        decimal_value(p, raw, text, negative, v);
    } else {
        integer_value(p, raw, text, negative, suffix, v);
    }
    if (!p->failed) {
        p->at++;
    }
    return v;
}

// ---- dates and times ----

struct scan {
    struct fz_str s;
    size_t i;
};
// Up to `max` digits, at least `min`.
static bool scan_digits(struct scan *x, int min, int max, int64_t *out) {
    int n = 0;
    *out = 0;
    while (x->i < x->s.len && digit(x->s.ptr[x->i]) && n < max) {
        *out = *out * 10 + (x->s.ptr[x->i] - '0');
        x->i++;
        n++;
    }
    return n >= min && !(x->i < x->s.len && digit(x->s.ptr[x->i]));
}
static bool scan_char(struct scan *x, char c) {
    if (x->i < x->s.len && x->s.ptr[x->i] == c) {
        x->i++;
        return true;
    }
    return false;
}
static bool scan_end(const struct scan *x) {
    return x->i == x->s.len;
}

static struct fz_str trim(struct fz_str s) {
    while (s.len > 0 && (unsigned char)s.ptr[0] <= ' ') {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && (unsigned char)s.ptr[s.len - 1] <= ' ') {
        s.len--;
    }
    return s;
}

static bool scan_date(struct scan *x, int64_t *days) {
    bool negative = false;
    if (scan_char(x, '-')) {
        negative = true;
    } else {
        scan_char(x, '+');
    }
    int64_t y, m = 1, d = 1;
    if (!scan_digits(x, 4, 7, &y)) {
        return false;
    }
    if (scan_char(x, '-')) {
        if (!scan_digits(x, 1, 2, &m)) {
            return false;
        }
        if (scan_char(x, '-') && !scan_digits(x, 1, 2, &d)) {
            return false;
        }
    }
    y = negative ? -y : y;
    if (m < 1 || m > 12 || d < 1 || d > 31) {
        return false;
    }
    *days = fz_days_from_civil(y, (int)m, (int)d);
    int64_t y2;
    int m2, d2;
    fz_civil_from_days(*days, &y2, &m2, &d2);
    return y2 == y && m2 == m && d2 == d && *days >= INT32_MIN && *days <= INT32_MAX;
}

static bool scan_time(struct scan *x, bool need_minute, int64_t *micros) {
    int64_t h, m = 0, s = 0, fraction = 0;
    if (!scan_digits(x, 1, 2, &h)) {
        return false;
    }
    if (scan_char(x, ':')) {
        if (!scan_digits(x, 1, 2, &m)) {
            return false;
        }
        if (scan_char(x, ':')) {
            if (!scan_digits(x, 1, 2, &s)) {
                return false;
            }
            if (scan_char(x, '.')) {
                int n = 0;
                for (; x->i < x->s.len && digit(x->s.ptr[x->i]); x->i++, n++) {
                    fraction = n < 6 ? fraction * 10 + (x->s.ptr[x->i] - '0') : fraction;
                }
                for (; n < 6; n++) {
                    fraction *= 10;
                }
            }
        }
    } else if (need_minute) {
        return false;
    }
    *micros = ((h * 60 + m) * 60 + s) * 1000000 + fraction;
    return h < 24 && m < 60 && s < 60;
}

// Z, UTC, GMT, +3, +03:00, UTC-01:30. False when the zone is a name, which needs the zone tables.
static bool scan_offset(struct scan *x, int64_t *micros) {
    struct fz_str rest = {x->s.ptr + x->i, x->s.len - x->i};
    *micros = 0;
    if (fz_str_eq(rest, FZ_STR_LIT("Z"))) {
        return true;
    }
    if (rest.len >= 3 && (memcmp(rest.ptr, "UTC", 3) == 0 || memcmp(rest.ptr, "GMT", 3) == 0)) {
        x->i += 3;
        if (scan_end(x)) {
            return true;
        }
    }
    bool negative = scan_char(x, '-');
    if (!negative && !scan_char(x, '+')) {
        return false;
    }
    int64_t h, m = 0, s = 0;
    if (!scan_digits(x, 1, 2, &h) ||
        (scan_char(x, ':') && (!scan_digits(x, 1, 2, &m) || (scan_char(x, ':') && !scan_digits(x, 1, 2, &s)))) ||
        !scan_end(x) || h > 18 || m > 59 || s > 59 || (h == 18 && (m > 0 || s > 0))) {
        return false;
    }
    *micros = ((h * 60 + m) * 60 + s) * (negative ? -1000000 : 1000000);
    return true;
}

// The shape of a zone name: letters, digits, / _ + - : only.
static bool looks_like_zone(struct fz_str s) {
    if (s.len == 0 || s.len > 40 || !((s.ptr[0] | 0x20) >= 'a' && (s.ptr[0] | 0x20) <= 'z')) {
        return false;
    }
    for (size_t i = 0; i < s.len; i++) {
        char c = s.ptr[i];
        if (!digit(c) && !((c | 0x20) >= 'a' && (c | 0x20) <= 'z') && strchr("/_+-:", c) == NULL) {
            return false;
        }
    }
    return true;
}

static bool is_special_day(struct fz_str s) {
    static const char *const words[] = {"epoch", "now", "today", "tomorrow", "yesterday"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (fz_str_ieq(s, fz_str_of(words[i]))) {
            return true;
        }
    }
    return false;
}

enum zone_kind { ZONE_NONE, ZONE_OFFSET, ZONE_NAMED };
static bool scan_timestamp(struct fz_str text, int64_t *micros, int64_t *offset, enum zone_kind *zone) {
    struct scan x = {.s = trim(text)};
    int64_t days, of_day = 0;
    *zone = ZONE_NONE;
    *offset = 0;
    if (!scan_date(&x, &days)) {
        return false;
    }
    if (scan_char(&x, 'T') || scan_char(&x, ' ')) {
        if (!scan_time(&x, false, &of_day)) {
            return false;
        }
        scan_char(&x, ' ');
        if (!scan_end(&x)) {
            struct scan zone_text = x;
            if (scan_offset(&zone_text, offset)) {
                *zone = ZONE_OFFSET;
            } else if (looks_like_zone((struct fz_str){x.s.ptr + x.i, x.s.len - x.i})) {
                *zone = ZONE_NAMED;
            } else {
                return false;
            }
        }
    } else if (!scan_end(&x)) {
        return false;
    }
    return !__builtin_mul_overflow(days, (int64_t)86400000000, micros) &&
           !__builtin_add_overflow(*micros, of_day, micros);
}

static struct fz_ast_expr *cast_node(struct sql_parser *p, struct fz_pos pos, enum fz_type_id type,
                                     struct fz_ast_expr *arg) {
    struct fz_ast_expr *e = fz_sql_expr_new(p, FZ_AST_CAST, pos);
    size_t cap = 0;
    e->op = "CAST";
    e->text = type == FZ_TYPE_TIMESTAMPTZ ? "TIMESTAMP" : type == FZ_TYPE_DATE ? "DATE" : "TIMESTAMP_NTZ";
    e->type = fz_type_primitive(type);
    fz_sql_add_arg(p, e, &cap, arg);
    return e;
}

static struct fz_ast_expr *timestamp_literal(struct sql_parser *p, struct fz_pos pos, enum fz_type_id type,
                                             struct fz_str text, struct fz_value *v) {
    int64_t micros, offset, time;
    enum zone_kind zone;
    struct scan alone = {.s = trim(text)};
    scan_char(&alone, 'T');
    if (scan_timestamp(text, &micros, &offset, &zone)) {
        v->type = fz_type_primitive(FZ_TYPE_TIMESTAMP);
        v->u.i64 = micros;
        if (type == FZ_TYPE_TIMESTAMP) {
            return fz_sql_literal_node(p, pos, v);
        }
        if (zone == ZONE_OFFSET) {
            v->type = fz_type_primitive(FZ_TYPE_TIMESTAMPTZ);
            v->u.i64 = micros - offset;
            return fz_sql_literal_node(p, pos, v);
        }
        return cast_node(p, pos, type,
                         zone == ZONE_NONE ? fz_sql_literal_node(p, pos, v) : fz_sql_string_node(p, pos, text));
    }
    bool time_of_today = type == FZ_TYPE_TIMESTAMPTZ && scan_time(&alone, true, &time) && scan_end(&alone);
    if (is_special_day(trim(text)) || time_of_today) {
        return cast_node(p, pos, type, fz_sql_string_node(p, pos, text));
    }
    return NULL;
}

static struct fz_ast_expr *hex_literal(struct sql_parser *p, struct fz_pos pos, struct fz_str text,
                                       struct fz_value *v) {
    struct fz_buf padded = {0}, bytes = {0};
    fz_buf_puts(&padded, text.len % 2 ? "0" : "");
    fz_buf_append(&padded, text.ptr, text.len);
    bool ok = text.len == 0 || (padded.ptr != NULL && fz_hex_decode(&bytes, (struct fz_str){padded.ptr, padded.len}));
    v->type = fz_type_primitive(FZ_TYPE_BINARY);
    v->u.bytes = (struct fz_str){fz_sql_dup(p, (struct fz_str){bytes.ptr, bytes.len}), bytes.len};
    fz_buf_dispose(&padded);
    fz_buf_dispose(&bytes);
    return ok ? fz_sql_literal_node(p, pos, v) : NULL;
}

struct fz_ast_expr *fz_sql_typed_literal(struct sql_parser *p) {
    if (fz_sql_peek(p, 0)->kind != SQL_WORD || fz_sql_peek(p, 1)->kind != SQL_STRING) {
        return NULL;
    }
    static const struct {
        const char *word;
        enum fz_type_id type;
    } kinds[] = {{"DATE", FZ_TYPE_DATE},
                 {"TIMESTAMP", FZ_TYPE_TIMESTAMPTZ},
                 {"TIMESTAMP_LTZ", FZ_TYPE_TIMESTAMPTZ},
                 {"TIMESTAMP_NTZ", FZ_TYPE_TIMESTAMP},
                 {"TIME", FZ_TYPE_TIME},
                 {"X", FZ_TYPE_BINARY}};
    size_t k = 0;
    while (k < sizeof kinds / sizeof kinds[0] && !fz_sql_is(p, 0, kinds[k].word)) {
        k++;
    }
    if (k == sizeof kinds / sizeof kinds[0]) {
        return NULL;
    }
    struct fz_pos pos = fz_sql_pos(p);
    size_t first = p->at++;
    struct fz_str text = fz_sql_string_bytes(p), trimmed = trim(text);
    fz_sql_end_pos(p, &pos);
    struct fz_value *v = SQL_NODE(p, struct fz_value);
    struct fz_ast_expr *e = NULL;
    if (kinds[k].type == FZ_TYPE_DATE) {
        struct scan x = {.s = trimmed};
        v->type = fz_type_primitive(FZ_TYPE_DATE);
        if (scan_date(&x, &v->u.i64) && (scan_end(&x) || scan_char(&x, 'T') || scan_char(&x, ' '))) {
            e = fz_sql_literal_node(p, pos, v);
        } else if (is_special_day(trimmed)) {
            e = cast_node(p, pos, FZ_TYPE_DATE, fz_sql_string_node(p, pos, text));
        }
    } else if (kinds[k].type == FZ_TYPE_TIME) {
        struct scan x = {.s = trimmed};
        v->type = fz_type_primitive(FZ_TYPE_TIME);
        e = scan_time(&x, true, &v->u.i64) && scan_end(&x) ? fz_sql_literal_node(p, pos, v) : NULL;
    } else if (kinds[k].type == FZ_TYPE_BINARY) {
        e = hex_literal(p, pos, text, v);
    } else {
        e = timestamp_literal(p, pos, kinds[k].type, text, v);
    }
    if (e == NULL) {
        p->at = p->failed ? p->at : first;
        fz_sql_fail(p, FZ_SQL_SYNTAX, "INVALID_TYPED_LITERAL", "The value of the typed literal %s is invalid: '%.*s'",
                    kinds[k].word, (int)fz_utf8_truncate(text.ptr, text.len, 60), text.ptr);
        e = fz_sql_literal_node(p, pos, v);
    }
    return e;
}

// ---- intervals ----

enum { UNIT_YEAR = 0, UNIT_MONTH = 1, UNIT_DAY = 0, UNIT_HOUR = 1, UNIT_MINUTE = 2, UNIT_SECOND = 3 };
struct unit {
    const char *name;
    bool months; // year-month family
    int field; // of the type
    int64_t factor; // months, or microseconds
    bool divides; // nanoseconds: factor is a divisor
};
static const struct unit units[] = {
    {"YEAR", true, UNIT_YEAR, 12, false},
    {"MONTH", true, UNIT_MONTH, 1, false},
    {"WEEK", false, UNIT_DAY, INT64_C(604800000000), false},
    {"DAY", false, UNIT_DAY, INT64_C(86400000000), false},
    {"HOUR", false, UNIT_HOUR, INT64_C(3600000000), false},
    {"MINUTE", false, UNIT_MINUTE, INT64_C(60000000), false},
    {"SECOND", false, UNIT_SECOND, INT64_C(1000000), false},
    {"MILLISECOND", false, UNIT_SECOND, INT64_C(1000), false},
    {"MICROSECOND", false, UNIT_SECOND, INT64_C(1), false},
    {"NANOSECOND", false, UNIT_SECOND, INT64_C(1000), true},
};
static const struct unit *find_unit(struct fz_str word) {
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        struct fz_str name = fz_str_of(units[i].name);
        struct fz_str singular = word;
        if (word.len == name.len + 1 && (word.ptr[word.len - 1] | 0x20) == 's') {
            singular.len--;
        }
        if (fz_str_ieq(singular, name)) {
            return &units[i];
        }
    }
    return NULL;
}
bool fz_sql_is_interval_unit(const struct sql_token *token) {
    return token->kind == SQL_WORD && find_unit(token->raw) != NULL;
}

struct interval {
    int64_t months, micros;
    bool has_months, has_micros;
    int min_field, max_field;
};

// Adds "[sign]digits[.fraction]" units; a fraction only for seconds.
static bool add_amount(struct interval *out, struct fz_str text, bool negative, const struct unit *unit) {
    struct scan x = {.s = trim(text)};
    bool minus = scan_char(&x, '-');
    if (!minus) {
        scan_char(&x, '+');
    }
    negative = negative != minus;
    int64_t whole = 0, fraction = 0;
    if (!(x.i < x.s.len && x.s.ptr[x.i] == '.') && !scan_digits(&x, 1, 18, &whole)) {
        return false;
    }
    if (scan_char(&x, '.')) {
        int n = 0;
        for (; x.i < x.s.len && digit(x.s.ptr[x.i]); x.i++, n++) {
            fraction = n < 6 ? fraction * 10 + (x.s.ptr[x.i] - '0') : fraction;
        }
        for (; n < 6; n++) {
            fraction *= 10;
        }
        if (unit->factor != 1000000 || unit->months || n > 9) {
            return false;
        }
    }
    if (!scan_end(&x)) {
        return false;
    }
    int64_t amount = 0;
    if (unit->divides) {
        amount = whole / unit->factor;
    } else if (__builtin_mul_overflow(whole, unit->factor, &amount) ||
               __builtin_add_overflow(amount, fraction, &amount)) {
        return false;
    }
    amount = negative ? -amount : amount;
    bool *has = unit->months ? &out->has_months : &out->has_micros;
    int64_t *sum = unit->months ? &out->months : &out->micros;
    if (!out->has_months && !out->has_micros) {
        out->min_field = out->max_field = unit->field;
    }
    out->min_field = unit->field < out->min_field ? unit->field : out->min_field;
    out->max_field = unit->field > out->max_field ? unit->field : out->max_field;
    *has = true;
    return !__builtin_add_overflow(*sum, amount, sum) && (!unit->months || (*sum >= INT32_MIN && *sum <= INT32_MAX));
}

// "1 day -2 hours", also with a leading word interval.
static bool add_text(struct interval *out, struct fz_str text) {
    size_t i = 0;
    struct fz_str words[64];
    size_t n = 0;
    while (i < text.len) {
        while (i < text.len && (unsigned char)text.ptr[i] <= ' ') {
            i++;
        }
        size_t begin = i;
        while (i < text.len && (unsigned char)text.ptr[i] > ' ') {
            i++;
        }
        if (i > begin) {
            if (n == sizeof words / sizeof words[0]) {
                return false;
            }
            words[n++] = (struct fz_str){text.ptr + begin, i - begin};
        }
    }
    size_t k = n > 0 && fz_str_ieq(words[0], FZ_STR_LIT("interval")) ? 1 : 0;
    if (k == n) {
        return false;
    }
    while (k < n) {
        bool negative = false;
        if (words[k].len == 1 && (words[k].ptr[0] == '-' || words[k].ptr[0] == '+') && k + 1 < n) {
            negative = words[k].ptr[0] == '-';
            k++;
        }
        const struct unit *unit = k + 1 < n ? find_unit(words[k + 1]) : NULL;
        if (unit == NULL || !add_amount(out, words[k], negative, unit)) {
            return false;
        }
        k += 2;
    }
    return true;
}

// '1-2' YEAR TO MONTH, '1 02:03:04.5' DAY TO SECOND and their parts.
static bool add_range(struct interval *out, struct fz_str text, bool negative, const struct unit *from,
                      const struct unit *to) {
    struct scan x = {.s = trim(text)};
    if (scan_char(&x, '-')) {
        negative = !negative;
    } else {
        scan_char(&x, '+');
    }
    static const char *const dt[] = {"DAY", "HOUR", "MINUTE", "SECOND"}, *const ym[] = {"YEAR", "MONTH"};
    for (int field = from->field; field <= to->field; field++) {
        const struct unit *unit = find_unit(fz_str_of(from->months ? ym[field] : dt[field]));
        char separator = from->months ? '-' : field == UNIT_HOUR ? ' ' : ':';
        int64_t value;
        if (field > from->field && !scan_char(&x, separator)) {
            return false;
        }
        size_t begin = x.i;
        if (unit == NULL || !scan_digits(&x, 1, 18, &value)) {
            return false;
        }
        if (!from->months && field == UNIT_SECOND && scan_char(&x, '.')) {
            while (x.i < x.s.len && digit(x.s.ptr[x.i])) {
                x.i++;
            }
        }
        if (field > from->field && value > (from->months ? 11 : field == UNIT_HOUR ? 23 : 59)) {
            return false;
        }
        if (!add_amount(out, (struct fz_str){x.s.ptr + begin, x.i - begin}, negative, unit)) {
            return false;
        }
    }
    return scan_end(&x);
}

static bool parse_units(struct sql_parser *p, struct interval *out) {
    do {
        bool negative = false;
        if (fz_sql_is(p, 0, "-") || fz_sql_is(p, 0, "+")) {
            negative = fz_sql_is(p, 0, "-");
            p->at++;
        }
        const struct sql_token *t = fz_sql_peek(p, 0);
        if (t->kind != SQL_NUMBER && t->kind != SQL_STRING) {
            return false;
        }
        struct fz_str text = t->value;
        p->at++;
        const struct unit *unit = find_unit(fz_sql_peek(p, 0)->raw);
        if (unit == NULL) {
            return t->kind == SQL_STRING && !negative && !out->has_months && !out->has_micros && add_text(out, text);
        }
        p->at++;
        if (fz_sql_is(p, 0, "TO") && find_unit(fz_sql_peek(p, 1)->raw) != NULL) {
            const struct unit *to = find_unit(fz_sql_peek(p, 1)->raw);
            p->at += 2;
            return t->kind == SQL_STRING && unit->months == to->months && unit->field < to->field &&
                   add_range(out, text, negative, unit, to);
        }
        if (!add_amount(out, text, negative, unit)) {
            return false;
        }
    } while (fz_sql_peek(p, 0)->kind == SQL_NUMBER ||
             (fz_sql_peek(p, 0)->kind == SQL_STRING && fz_sql_is_interval_unit(fz_sql_peek(p, 1))) ||
             ((fz_sql_is(p, 0, "-") || fz_sql_is(p, 0, "+")) &&
              (fz_sql_peek(p, 1)->kind == SQL_NUMBER || fz_sql_peek(p, 1)->kind == SQL_STRING) &&
              fz_sql_is_interval_unit(fz_sql_peek(p, 2))));
    return true;
}

struct fz_ast_expr *fz_sql_interval(struct sql_parser *p) {
    struct fz_pos pos = fz_sql_pos(p);
    size_t first = p->at++;
    struct interval sum = {0};
    bool ok = parse_units(p, &sum);
    fz_sql_end_pos(p, &pos);
    struct fz_value *v = SQL_NODE(p, struct fz_value);
    if (!ok) {
        p->at = p->failed ? p->at : first;
        fz_sql_fail(p, FZ_SQL_SYNTAX, "INVALID_INTERVAL_FORMAT", "The interval is not one that Spark understands: %.*s",
                    (int)(pos.length > 80 ? 80 : pos.length), p->sql.ptr + pos.offset);
    } else if (sum.has_months && sum.has_micros) {
        p->at = first;
        fz_sql_fail(p, FZ_SQL_SYNTAX, "_LEGACY_ERROR_TEMP_0029",
                    "Cannot mix year-month and day-time fields in one interval");
    }
    struct fz_type *type = SQL_NODE(p, struct fz_type);
    type->id = sum.has_months ? FZ_TYPE_INTERVAL_YM : FZ_TYPE_INTERVAL_DT;
    type->precision = sum.min_field;
    type->scale = sum.max_field;
    v->type = type;
    v->u.i64 = sum.has_months ? sum.months : sum.micros;
    return fz_sql_literal_node(p, pos, v);
}
