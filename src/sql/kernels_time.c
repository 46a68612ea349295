// Dates and times: Java's patterns in and out, zones, month arithmetic (spark-on-duckdb section 5).
#include "sql/kernels_priv.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <strings.h>

#define EACH(row) for (size_t row = 0; row < n_rows; row++)

static const char *const months[] = {"January", "February", "March",     "April",   "May",      "June",
                                     "July",    "August",   "September", "October", "November", "December"};
static const char *const weekdays[] = {"Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
static const int64_t day_us = 86400000000;

struct clock {
    int64_t year, days;
    int month, day, hour, minute, second, us, weekday, year_day; // weekday 0 = Sunday
};
static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}
static struct clock clock_of(int64_t local_us) {
    struct clock c = {.days = floor_div(local_us, day_us)};
    int64_t rest = local_us - c.days * day_us;
    fz_civil_from_days(c.days, &c.year, &c.month, &c.day);
    c.hour = (int)(rest / 3600000000);
    c.minute = (int)(rest / 60000000 % 60);
    c.second = (int)(rest / 1000000 % 60);
    c.us = (int)(rest % 1000000);
    c.weekday = (int)(((c.days + 4) % 7 + 7) % 7);
    c.year_day = (int)(c.days - fz_days_from_civil(c.year, 1, 1)) + 1;
    return c;
}

static bool last_day(int64_t y, int m, int d) {
    return d == (int)((m == 12 ? fz_days_from_civil(y + 1, 1, 1) : fz_days_from_civil(y, m + 1, 1)) -
                      fz_days_from_civil(y, m, 1));
}

// ---- formatting ----
static void offset_text(struct fz_buf *out, int64_t offset_us, const char *hour_only, const char *colon, bool seconds) {
    int64_t s = offset_us / 1000000, a = s < 0 ? -s : s;
    fz_buf_printf(out, "%c%02d", s < 0 ? '-' : '+', (int)(a / 3600));
    if (*hour_only == 0 || a / 60 % 60 != 0) {
        fz_buf_printf(out, "%s%02d", colon, (int)(a / 60 % 60));
    }
    if (seconds && a % 60 != 0) {
        fz_buf_printf(out, "%s%02d", colon, (int)(a % 60));
    }
}

// One run of a pattern letter. False: not a letter we format.
static bool format_run(struct fz_buf *out, char letter, int n, const struct clock *c, const struct fz_zone *zone,
                       int64_t utc_us) {
    int64_t offset = zone ? fz_zone_offset_us(zone, utc_us) : 0;
    switch (letter) {
    case 'y':
    case 'u':
        if (n == 2) {
            fz_buf_printf(out, "%02d", (int)(((c->year % 100) + 100) % 100));
        } else {
            if (n >= 4 && c->year > 9999 && n == 4) {
                fz_buf_putc(out, '+');
            }
            fz_buf_printf(out, "%0*lld", n == 1 ? 1 : n, (long long)c->year);
        }
        return true;
    case 'Q':
    case 'q':
        if (n >= 3) {
            static const char *const full[] = {"1st quarter", "2nd quarter", "3rd quarter", "4th quarter"};
            if (n == 3) {
                fz_buf_printf(out, "Q%d", (c->month + 2) / 3);
            } else {
                fz_buf_puts(out, full[(c->month - 1) / 3]);
            }
            return n <= 4;
        }
        fz_buf_printf(out, "%0*d", n, (c->month + 2) / 3);
        return true;
    case 'M':
    case 'L':
        if (n >= 3) {
            fz_buf_printf(out, "%.*s", n == 3 ? 3 : 20, months[c->month - 1]);
            return n <= 4;
        }
        fz_buf_printf(out, "%0*d", n, c->month);
        return true;
    case 'd':
        fz_buf_printf(out, "%0*d", n, c->day);
        return n <= 2;
    case 'D':
        fz_buf_printf(out, "%0*d", n, c->year_day);
        return n <= 3;
    case 'F':
        fz_buf_printf(out, "%d", (c->day - 1) % 7 + 1);
        return n == 1;
    case 'E':
        fz_buf_printf(out, "%.*s", n <= 3 ? 3 : 20, weekdays[c->weekday]);
        return n <= 4;
    case 'a':
        fz_buf_puts(out, c->hour < 12 ? "AM" : "PM");
        return n == 1;
    case 'G':
        fz_buf_puts(out, n == 4 ? (c->year > 0 ? "Anno Domini" : "Before Christ") : c->year > 0 ? "AD" : "BC");
        return n <= 4;
    case 'H':
        fz_buf_printf(out, "%0*d", n, c->hour);
        return n <= 2;
    case 'k':
        fz_buf_printf(out, "%0*d", n, c->hour == 0 ? 24 : c->hour);
        return n <= 2;
    case 'K':
        fz_buf_printf(out, "%0*d", n, c->hour % 12);
        return n <= 2;
    case 'h':
        fz_buf_printf(out, "%0*d", n, c->hour % 12 == 0 ? 12 : c->hour % 12);
        return n <= 2;
    case 'm':
        fz_buf_printf(out, "%0*d", n, c->minute);
        return n <= 2;
    case 's':
        fz_buf_printf(out, "%0*d", n, c->second);
        return n <= 2;
    case 'S': {
        char digits[16];
        snprintf(digits, sizeof digits, "%06d000", c->us);
        fz_buf_printf(out, "%.*s", n, digits);
        return n <= 9;
    }
    case 'X':
        if (offset == 0) {
            fz_buf_putc(out, 'Z');
            return n <= 5;
        }
        offset_text(out, offset, n == 1 ? "h" : "", n == 3 || n == 5 ? ":" : "", n >= 4);
        return n <= 5;
    case 'x':
        offset_text(out, offset, n == 1 ? "h" : "", n == 3 || n == 5 ? ":" : "", n >= 4);
        return n <= 5;
    case 'Z':
        if (n == 4) {
            fz_buf_puts(out, "GMT");
        }
        if (n == 5 && offset == 0) {
            fz_buf_putc(out, 'Z');
        } else if (n != 4 || offset != 0) {
            offset_text(out, offset, "", n >= 4 ? ":" : "", n == 5);
        }
        return n <= 5;
    case 'O':
        fz_buf_puts(out, "GMT");
        if (offset != 0) {
            int64_t a = (offset < 0 ? -offset : offset) / 60000000;
            fz_buf_printf(out, n == 1 ? "%c%d" : "%c%02d", offset < 0 ? '-' : '+', (int)(a / 60));
            if (n == 4 || a % 60 != 0) {
                fz_buf_printf(out, ":%02d", (int)(a % 60));
            }
        }
        return n == 1 || n == 4;
    case 'V':
        fz_buf_puts(out, zone ? fz_zone_name(zone) : "UTC");
        return n == 2;
    case 'z':
        fz_buf_puts(out, zone ? fz_zone_abbreviation(zone, utc_us) : "UTC");
        return n <= 4;
    default:
        return false;
    }
}

static bool format_pattern(struct fz_buf *out, struct fz_str p, int64_t local_us, const struct fz_zone *zone,
                           int64_t utc_us) {
    struct clock c = clock_of(local_us);
    for (size_t i = 0; i < p.len;) {
        char ch = p.ptr[i];
        if (ch == '\'') {
            if (i + 1 < p.len && p.ptr[i + 1] == '\'') {
                fz_buf_putc(out, '\'');
                i += 2;
                continue;
            }
            for (i++; i < p.len && !(p.ptr[i] == '\'' && !(i + 1 < p.len && p.ptr[i + 1] == '\'')); i++) {
                fz_buf_putc(out, p.ptr[i]);
                i += p.ptr[i] == '\'';
            }
            i++;
        } else if (isalpha((unsigned char)ch)) {
            size_t n = 1;
            while (i + n < p.len && p.ptr[i + n] == ch) {
                n++;
            }
            if (n > 20 || !format_run(out, ch, (int)n, &c, zone, utc_us)) {
                return false;
            }
            i += n;
        } else {
            if (ch != '[' && ch != ']') {
                fz_buf_putc(out, ch);
            }
            i++;
        }
    }
    return true;
}

FZ_KERNEL_RUN(k_date_format) { // (local time, pattern, zone, instant)
    (void)n_args;
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        const struct fz_zone *zone = fz_zone_find(fz_col_str(&args[2], i));
        if (!format_pattern(&buf, fz_col_str(&args[1], i), ((const int64_t *)args[0].data)[i], zone,
                            ((const int64_t *)args[3].data)[i])) {
            fz_column_set_null(out, i);
            fz_buf_clear(&buf);
            continue;
        }
        rc = fz_col_take_buf(out, i, &buf, strings, err);
    }
    fz_buf_dispose(&buf);
    return rc;
}

// ---- parsing ----
struct parsed {
    int64_t year;
    int month, day, hour, minute, second, us, half, year_day; // half: 0 AM, 1 PM, -1 none
    bool has_year, hour12, has_offset;
    int64_t offset_us;
    const struct fz_zone *zone;
};
struct text_at {
    const char *p, *end;
};

static bool read_number(struct text_at *t, int least, int most, int *out) {
    int n = 0, v = 0;
    while (t->p < t->end && n < most && isdigit((unsigned char)*t->p)) {
        v = v * 10 + (*t->p++ - '0');
        n++;
    }
    *out = v;
    return n >= least;
}
static bool read_word(struct text_at *t, const char *const *words, int n_words, int shorten, int *out) {
    for (int i = 0; i < n_words; i++) {
        size_t n = shorten > 0 ? (size_t)shorten : strlen(words[i]);
        if ((size_t)(t->end - t->p) >= n && strncasecmp(t->p, words[i], n) == 0) {
            t->p += n;
            *out = i;
            return true;
        }
    }
    return false;
}

static bool read_offset(struct text_at *t, char letter, int n, struct parsed *r) {
    if (t->p < t->end && *t->p == 'Z' && (letter == 'X' || (letter == 'Z' && n == 5))) {
        t->p++;
        r->has_offset = true;
        return true;
    }
    if (t->p >= t->end || (*t->p != '+' && *t->p != '-')) {
        return false;
    }
    int sign = *t->p++ == '-' ? -1 : 1, h = 0, m = 0, s = 0;
    bool colon = (letter != 'Z' && (n == 3 || n == 5)) || (letter == 'Z' && n == 5);
    if (!read_number(t, 2, 2, &h)) {
        return false;
    }
    if (n > 1 || letter == 'Z' || (t->p < t->end && isdigit((unsigned char)*t->p))) {
        if (colon && (t->p >= t->end || *t->p++ != ':')) {
            return false;
        }
        if (!read_number(t, 2, 2, &m)) {
            return false;
        }
        if (n >= 4 && letter != 'Z' && t->p < t->end && (isdigit((unsigned char)*t->p) || (colon && *t->p == ':'))) {
            t->p += colon;
            if (!read_number(t, 2, 2, &s)) {
                return false;
            }
        }
    }
    r->has_offset = true;
    r->offset_us = (int64_t)sign * (h * 3600 + m * 60 + s) * 1000000;
    return h <= 18 && m < 60 && s < 60;
}

static bool read_zone_name(struct text_at *t, struct parsed *r) {
    const char *start = t->p;
    while (t->p < t->end && (isalnum((unsigned char)*t->p) || strchr("/_+-:", *t->p) != NULL)) {
        t->p++;
    }
    struct fz_str name = {start, (size_t)(t->p - start)};
    r->zone = fz_zone_find(name);
    return r->zone != NULL;
}

static bool parse_run(struct text_at *t, char letter, int n, bool digits_follow, struct parsed *r) {
    int v = 0;
    const char *start = t->p;
    switch (letter) {
    case 'y':
    case 'u':
        r->has_year = true;
        if (n == 2) {
            if (!read_number(t, 2, 2, &v)) {
                return false;
            }
            r->year = 2000 + v;
            return true;
        }
        {
            int sign = 1;
            if (t->p < t->end && (*t->p == '+' || *t->p == '-') && n >= 4) {
                sign = *t->p++ == '-' ? -1 : 1;
            }
            if (!read_number(t, n, digits_follow ? n : n == 1 ? 9 : n == 4 ? 4 : 9, &v)) {
                return false;
            }
            r->year = (int64_t)sign * v;
        }
        return true;
    case 'M':
    case 'L':
        if (n >= 3) {
            bool ok = read_word(t, months, 12, n == 3 ? 3 : 0, &v);
            r->month = v + 1;
            return ok && n <= 4;
        }
        if (!read_number(t, n, 2, &v)) {
            return false;
        }
        r->month = v;
        return true;
    case 'd':
        if (!read_number(t, n, 2, &v)) {
            return false;
        }
        r->day = v;
        return true;
    case 'D':
        if (!read_number(t, n, 3, &v)) {
            return false;
        }
        r->year_day = v;
        return v >= 1 && v <= 366;
    case 'H':
    case 'h':
    case 'k':
    case 'K':
        if (!read_number(t, n, 2, &v)) {
            return false;
        }
        r->hour12 = letter == 'h' || letter == 'K';
        r->hour = letter == 'k' && v == 24 ? 0 : letter == 'h' && v == 12 ? 0 : v;
        return letter == 'h'   ? v >= 1 && v <= 12
               : letter == 'K' ? v <= 11
               : letter == 'k' ? v >= 1 && v <= 24
                               : v <= 23;
    case 'm':
        if (!read_number(t, n, 2, &r->minute)) {
            return false;
        }
        return r->minute < 60;
    case 's':
        if (!read_number(t, n, 2, &r->second)) {
            return false;
        }
        return r->second < 60;
    case 'S': {
        int got = 0, us = 0;
        while (t->p < t->end && got < n && isdigit((unsigned char)*t->p)) {
            us = got < 6 ? us * 10 + (*t->p - '0') : us;
            t->p++;
            got++;
        }
        for (int k = got; k < 6; k++) {
            us *= 10;
        }
        r->us = us;
        return got > 0;
    }
    case 'a':
        if (t->end - t->p < 2 || (t->p[1] != 'M' && t->p[1] != 'm')) {
            return false;
        }
        r->half = *t->p == 'P' || *t->p == 'p';
        if (!r->half && *t->p != 'A' && *t->p != 'a') {
            return false;
        }
        t->p += 2;
        return true;
    case 'X':
    case 'x':
        return read_offset(t, letter, n, r);
    case 'Z':
        if (n == 4) {
            if (t->end - t->p < 3 || strncmp(t->p, "GMT", 3) != 0) {
                return false;
            }
            t->p += 3;
            return t->p >= t->end || (*t->p != '+' && *t->p != '-') || read_offset(t, 'x', 3, r);
        }
        return read_offset(t, 'Z', n, r);
    case 'V':
    case 'z':
    case 'O':
        return read_zone_name(t, r);
    case 'G':
        t->p += t->end - t->p >= 2 ? 2 : 0;
        return t->p > start;
    case 'Q':
    case 'q':
        return read_number(t, n, 2, &v) && v >= 1 && v <= 4;
    default:
        return false;
    }
}

static bool parse_from(struct text_at *t, const char *p, const char *end, struct parsed *r, int depth);

// [ … ] is taken when it fits.
static const char *closing(const char *p, const char *end) {
    int depth = 1;
    for (; p < end; p++) {
        depth += *p == '[' ? 1 : *p == ']' ? -1 : 0;
        if (depth == 0) {
            return p;
        }
    }
    return end;
}

static bool parse_from(struct text_at *t, const char *p, const char *end, struct parsed *r, int depth) {
    if (depth > 32) {
        return false;
    }
    while (p < end) {
        if (*p == '\'') {
            bool quote = p + 1 < end && p[1] == '\'';
            const char *stop = quote ? p + 2 : p + 1;
            if (quote) {
                if (t->p >= t->end || *t->p++ != '\'') {
                    return false;
                }
            } else {
                for (; stop < end && *stop != '\''; stop++) {
                    if (t->p >= t->end || tolower((unsigned char)*t->p++) != tolower((unsigned char)*stop)) {
                        return false;
                    }
                }
                stop++;
            }
            p = stop;
        } else if (*p == '[') {
            const char *close = closing(p + 1, end);
            struct text_at try_at = *t;
            struct parsed try_r = *r;
            if (parse_from(&try_at, p + 1, close, &try_r, depth + 1)) {
                *t = try_at;
                *r = try_r;
            }
            p = close < end ? close + 1 : end;
        } else if (isalpha((unsigned char)*p)) {
            int n = 1;
            while (p + n < end && p[n] == *p && n < 20) {
                n++;
            }
            bool digits_follow = p + n < end && strchr("yMdHhmsSD", p[n]) != NULL;
            if (!parse_run(t, *p, n, digits_follow, r)) {
                return false;
            }
            p += n;
        } else {
            if (*p != ']' && (t->p >= t->end || *t->p++ != *p)) {
                return false;
            }
            p++;
        }
    }
    return true;
}

static bool parse_pattern(struct fz_str text, struct fz_str pattern, struct parsed *r, int64_t *local_us) {
    struct text_at t = {text.ptr, text.ptr + text.len};
    *r = (struct parsed){.year = 1970, .month = 1, .day = 1, .half = -1};
    if (!parse_from(&t, pattern.ptr, pattern.ptr + pattern.len, r, 0) || t.p != t.end) {
        return false;
    }
    if (r->hour12 && r->half == 1) {
        r->hour += 12;
    }
    static const int longest[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (r->year % 4 == 0 && r->year % 100 != 0) || r->year % 400 == 0;
    if (r->month < 1 || r->month > 12 || r->day < 1 || r->day > longest[r->month - 1] + (r->month == 2 && leap) ||
        r->hour > 23 || r->year > 294000 || r->year < -290000) {
        return false;
    }
    int64_t days = r->year_day > 0 ? fz_days_from_civil(r->year, 1, 1) + r->year_day - 1
                                   : fz_days_from_civil(r->year, r->month, r->day);
    *local_us = days * day_us + ((int64_t)r->hour * 3600 + r->minute * 60 + r->second) * 1000000 + r->us;
    return true;
}

bool fz_java_parse(struct fz_str text, struct fz_str pattern, const struct fz_zone *session, bool ntz, int64_t *out) {
    struct parsed r;
    int64_t us;
    if (!parse_pattern(text, pattern, &r, &us)) {
        return false;
    }
    if (r.has_offset || r.zone != NULL) {
        int64_t utc = r.has_offset ? us - r.offset_us : fz_zone_to_utc(r.zone, us);
        us = ntz && session ? utc + fz_zone_offset_us(session, utc) : utc;
    } else if (!ntz && session != NULL) {
        us = fz_zone_to_utc(session, us);
    }
    *out = us;
    return true;
}
bool fz_java_format(struct fz_buf *out, struct fz_str pattern, int64_t local_us, const struct fz_zone *zone,
                    int64_t utc_us) {
    return format_pattern(out, pattern, local_us, zone, utc_us);
}

static void parse_rows(const struct fz_column *args, size_t n_rows, struct fz_column *out, bool ntz) {
    EACH(i) {
        int64_t us = 0;
        const struct fz_zone *session = fz_zone_find(fz_col_str(&args[2], i));
        if (session == NULL || !fz_java_parse(fz_col_str(&args[0], i), fz_col_str(&args[1], i), session, ntz, &us)) {
            fz_column_set_null(out, i);
        }
        ((int64_t *)out->data)[i] = us;
    }
}
FZ_KERNEL_RUN(k_parse_ntz) {
    FZ_KERNEL_UNUSED;
    parse_rows(args, n_rows, out, true);
    return FZ_OK;
}
FZ_KERNEL_RUN(k_parse_ts) {
    FZ_KERNEL_UNUSED;
    parse_rows(args, n_rows, out, false);
    return FZ_OK;
}

// ---- zones ----
#define ZONED(name, zone_arg, expression)                                                                              \
    FZ_KERNEL_RUN(name) {                                                                                              \
        FZ_KERNEL_UNUSED;                                                                                              \
        EACH(i) {                                                                                                      \
            const struct fz_zone *zone = fz_zone_find(fz_col_str(&args[zone_arg], i));                                 \
            int64_t us = ((const int64_t *)args[0].data)[i];                                                           \
            if (zone == NULL) {                                                                                        \
                fz_column_set_null(out, i);                                                                            \
                continue;                                                                                              \
            }                                                                                                          \
            ((int64_t *)out->data)[i] = (expression);                                                                  \
        }                                                                                                              \
        return FZ_OK;                                                                                                  \
    }
ZONED(k_ntz_to_ts, 1, fz_zone_to_utc(zone, us))
ZONED(k_from_utc, 1, us + fz_zone_offset_us(zone, us))
ZONED(k_to_utc, 1, fz_zone_to_utc(zone, us))

// The hour or day (`unit` microseconds) of the session's clock in which `us` lies. Where the clock is set back an hour comes twice: it
// stays the one of `us`, as in Java, while ICU takes the later one.
static int64_t clock_start(const struct fz_zone *zone, int64_t us, int64_t unit) {
    int64_t offset = fz_zone_offset_us(zone, us), past = (us + offset) % unit;
    int64_t start = us - past - (past < 0 ? unit : 0);
    return fz_zone_offset_us(zone, start) == offset ? start : fz_zone_to_utc(zone, start + offset);
}
ZONED(k_trunc_clock, 1, clock_start(zone, us, ((const int64_t *)args[2].data)[i]))

// (time, months, zone): months further on the session's clock, the day cut to the month's last. An hour that comes twice is the one
// with the offset of the start, as in Java; ICU takes the later one.
FZ_KERNEL_RUN(k_add_months) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        const struct fz_zone *zone = fz_zone_find(fz_col_str(&args[2], i));
        int64_t us = ((const int64_t *)args[0].data)[i], offset = zone != NULL ? fz_zone_offset_us(zone, us) : 0;
        struct clock c = clock_of(us + offset);
        int64_t month = c.year * 12 + c.month - 1 + ((const int32_t *)args[1].data)[i], year = floor_div(month, 12);
        if (zone == NULL || year > 290000 || year < -290000) { // what 64 bits of microseconds hold
            fz_column_set_null(out, i);
            continue;
        }
        int m = (int)(month - year * 12) + 1;
        int64_t first = fz_days_from_civil(year, m, 1);
        int64_t length = (m == 12 ? fz_days_from_civil(year + 1, 1, 1) : fz_days_from_civil(year, m + 1, 1)) - first;
        int64_t day = first + (c.day < length ? c.day : length) - 1;
        int64_t local = day * day_us + (us + offset - c.days * day_us);
        int64_t same = local - offset;
        ((int64_t *)out->data)[i] = fz_zone_offset_us(zone, same) == offset ? same : fz_zone_to_utc(zone, local);
    }
    return FZ_OK;
}

FZ_KERNEL_RUN(k_convert_zone) { // (from, to, local time)
    FZ_KERNEL_UNUSED;
    EACH(i) {
        const struct fz_zone *from = fz_zone_find(fz_col_str(&args[0], i)), *to = fz_zone_find(fz_col_str(&args[1], i));
        if (from == NULL || to == NULL) {
            fz_column_set_null(out, i);
            continue;
        }
        int64_t utc = fz_zone_to_utc(from, ((const int64_t *)args[2].data)[i]);
        ((int64_t *)out->data)[i] = utc + fz_zone_offset_us(to, utc);
    }
    return FZ_OK;
}

// ---- arithmetic ----
// Seconds since midnight of the session's clock: what has passed, which a day of a clock change has an hour more or less of.
static double seconds_of_day(const struct fz_zone *zone, int64_t us, int64_t local_us) {
    const int64_t day = 86400000000;
    int64_t past = local_us % day, midnight = local_us - past - (past < 0 ? day : 0);
    return (double)((us - fz_zone_to_utc(zone, midnight)) / 1000000);
}
FZ_KERNEL_RUN(k_months_between) { // (time, time, whether to round, zone)
    FZ_KERNEL_UNUSED;
    EACH(i) {
        const struct fz_zone *zone = fz_zone_find(fz_col_str(&args[3], i));
        if (zone == NULL) {
            fz_column_set_null(out, i);
            continue;
        }
        int64_t us_a = ((const int64_t *)args[0].data)[i], us_b = ((const int64_t *)args[1].data)[i];
        int64_t local_a = us_a + fz_zone_offset_us(zone, us_a), local_b = us_b + fz_zone_offset_us(zone, us_b);
        struct clock a = clock_of(local_a), b = clock_of(local_b);
        double n = (double)((a.year - b.year) * 12 + (a.month - b.month)), *r = &((double *)out->data)[i];
        if (a.day == b.day || (last_day(a.year, a.month, a.day) && last_day(b.year, b.month, b.day))) {
            *r = n;
            continue;
        }
        double sa = a.day * 86400.0 + seconds_of_day(zone, us_a, local_a),
               sb = b.day * 86400.0 + seconds_of_day(zone, us_b, local_b);
        *r = n + (sa - sb) / (31 * 86400.0);
        if (((const uint8_t *)args[2].data)[i]) {
            *r = round(*r * 1e8) / 1e8;
        }
    }
    return FZ_OK;
}

FZ_KERNEL_RUN(k_month_diff) { // whole months from a to b, cut toward zero
    FZ_KERNEL_UNUSED;
    EACH(i) {
        int64_t a = ((const int64_t *)args[0].data)[i], b = ((const int64_t *)args[1].data)[i];
        struct clock ca = clock_of(a), cb = clock_of(b);
        int64_t n = (cb.year - ca.year) * 12 + (cb.month - ca.month);
        int64_t ra = (int64_t)ca.day * day_us + (a - ca.days * day_us),
                rb = (int64_t)cb.day * day_us + (b - cb.days * day_us);
        if (n > 0 && rb < ra) {
            n--;
        } else if (n < 0 && rb > ra) {
            n++;
        }
        ((int64_t *)out->data)[i] = n;
    }
    return FZ_OK;
}

FZ_KERNEL_RUN(k_next_day) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        struct fz_str s = fz_col_str(&args[1], i);
        int want = -1;
        for (int k = 0; k < 7; k++) {
            size_t full = strlen(weekdays[k]);
            if ((s.len == 2 || s.len == 3 || s.len == full) && strncasecmp(s.ptr, weekdays[k], s.len) == 0) {
                want = k;
            }
        }
        int32_t day = ((const int32_t *)args[0].data)[i];
        if (want < 0) {
            fz_column_set_null(out, i);
            continue;
        }
        int now = (int)((((int64_t)day + 4) % 7 + 7) % 7), step = (want - now + 7) % 7;
        ((int32_t *)out->data)[i] = day + (step == 0 ? 7 : step);
    }
    return FZ_OK;
}

static bool valid_date(int64_t y, int64_t m, int64_t d) {
    static const int longest[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return m >= 1 && m <= 12 && d >= 1 && d <= longest[m - 1] + (m == 2 && leap) && y >= -200000 && y <= 200000;
}
FZ_KERNEL_RUN(k_make_date) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        int64_t y = fz_col_i64(&args[0], i), m = fz_col_i64(&args[1], i), d = fz_col_i64(&args[2], i);
        if (valid_date(y, m, d)) {
            ((int32_t *)out->data)[i] = (int32_t)fz_days_from_civil(y, (int)m, (int)d);
        } else {
            fz_column_set_null(out, i);
        }
    }
    return FZ_OK;
}
FZ_KERNEL_RUN(k_make_ntz) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        int64_t y = fz_col_i64(&args[0], i), m = fz_col_i64(&args[1], i), d = fz_col_i64(&args[2], i),
                h = fz_col_i64(&args[3], i), min = fz_col_i64(&args[4], i);
        double s = ((const double *)args[5].data)[i];
        int64_t us = (int64_t)llround(s * 1e6);
        bool full_minute = us == 60000000; // second 60 is the next minute
        if (!valid_date(y, m, d) || h < 0 || h > 23 || min < 0 || min > 59 || us < 0 ||
            (us >= 60000000 && !full_minute)) {
            fz_column_set_null(out, i);
            continue;
        }
        ((int64_t *)out->data)[i] =
            fz_days_from_civil(y, (int)m, (int)d) * day_us + (h * 3600 + min * 60) * 1000000 + us;
    }
    return FZ_OK;
}

FZ_KERNEL_RUN(k_interval_field) {
    FZ_KERNEL_UNUSED;
    EACH(i) {
        int64_t us = ((const int64_t *)args[0].data)[i], v = 0;
        struct fz_str f = fz_col_str(&args[1], i);
        v = f.len == 3 ? us / day_us : f.len == 4 ? us / 3600000000 % 24 : us / 60000000 % 60;
        ((int32_t *)out->data)[i] = (int32_t)v;
    }
    return FZ_OK;
}

// (start, end, months): each step counted from the start, so that month ends stay.
FZ_KERNEL_RUN(k_sequence_months) {
    (void)n_args, (void)strings;
    size_t at = 0;
    EACH(i) {
        int64_t start = ((const int64_t *)args[0].data)[i], end = ((const int64_t *)args[1].data)[i],
                step = fz_col_i64(&args[2], i);
        struct clock c = clock_of(start);
        bool valid =
            fz_column_is_valid(&args[0], i) && fz_column_is_valid(&args[1], i) && fz_column_is_valid(&args[2], i);
        size_t n = 0;
        if (!valid || (step == 0 && start != end) || (step > 0 && start > end) || (step < 0 && start < end)) {
            fz_column_set_null(out, i);
            ((struct fz_list_span *)out->data)[i] = (struct fz_list_span){at, 0};
            continue;
        }
        for (; n < 100000; n++) {
            int64_t month = c.year * 12 + c.month - 1 + (int64_t)n * step, y = floor_div(month, 12);
            int m = (int)(month - y * 12) + 1, d = c.day;
            while (!valid_date(y, m, d) && d > 28) {
                d--;
            }
            int64_t v = fz_days_from_civil(y, m, d) * day_us + (start - c.days * day_us);
            if (step > 0 ? v > end : step < 0 ? v < end : n > 0) {
                break;
            }
            enum fz_code rc = fz_column_reserve(&out->children[0], at + n + 1, err);
            if (rc != FZ_OK) {
                return rc;
            }
            ((int64_t *)out->children[0].data)[at + n] = v;
        }
        ((struct fz_list_span *)out->data)[i] = (struct fz_list_span){at, n};
        at += n;
    }
    return FZ_OK;
}

const struct fz_kernel_row fz_kernels_time[] = {
    {"fz_date_format", "Nssl", "s", true, k_date_format},
    {"fz_parse_ntz", "sss", "N", true, k_parse_ntz},
    {"fz_parse_ts", "sss", "T", true, k_parse_ts},
    {"fz_ntz_to_ts", "Ns", "T", true, k_ntz_to_ts},
    {"fz_from_utc", "Ts", "T", true, k_from_utc},
    {"fz_to_utc", "Ts", "T", true, k_to_utc},
    {"fz_convert_zone", "ssN", "N", true, k_convert_zone},
    {"fz_months_between", "TTbs", "d", true, k_months_between},
    {"fz_add_months", "Tis", "T", true, k_add_months},
    {"fz_trunc_clock", "Tsl", "T", true, k_trunc_clock},
    {"fz_month_diff", "NN", "l", true, k_month_diff},
    {"fz_next_day", "Ds", "D", true, k_next_day},
    {"fz_make_date", "iii", "D", true, k_make_date},
    {"fz_make_ntz", "iiiiid", "N", true, k_make_ntz},
    {"fz_interval_field", "ls", "i", true, k_interval_field},
    {"fz_sequence_months", "NNi", "[N", false, k_sequence_months},
};
FZ_KERNELS(kernels_time);
