// Values out of text as Spark's ANSI casts read them (spark-on-duckdb sections 4 and 5). Used by the cast kernels, from_json and by
// the constant folder, so that planning and running read a text alike.
#include "sql/kernels_priv.h"

#include <math.h>
#include <stdlib.h>

struct fz_str fz_text_trim(struct fz_str s) { // blanks and control characters, both ends
    while (s.len > 0 && ((unsigned char)*s.ptr <= ' ' || *s.ptr == 0x7f)) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && ((unsigned char)s.ptr[s.len - 1] <= ' ' || s.ptr[s.len - 1] == 0x7f)) {
        s.len--;
    }
    return s;
}

bool fz_text_to_i64(struct fz_str s, int64_t *out) {
    s = fz_text_trim(s);
    return fz_parse_i64(s, out);
}

bool fz_text_to_double(struct fz_str s, double *out) {
    s = fz_text_trim(s);
    char copy[400];
    if (s.len == 0 || s.len >= sizeof copy) {
        return false;
    }
    struct fz_str word = s;
    double sign = 1;
    if (*word.ptr == '+' || *word.ptr == '-') {
        sign = *word.ptr == '-' ? -1 : 1;
        word.ptr++;
        word.len--;
    }
    if (fz_str_ieq(word, FZ_STR_LIT("inf")) || fz_str_ieq(word, FZ_STR_LIT("infinity"))) {
        *out = sign * INFINITY;
        return true;
    }
    if (word.ptr == s.ptr && fz_str_ieq(word, FZ_STR_LIT("nan"))) {
        *out = NAN;
        return true;
    }
    bool hex = word.len > 2 && word.ptr[0] == '0' && (word.ptr[1] == 'x' || word.ptr[1] == 'X');
    bool digits = false, exponent = false;
    size_t len = s.len;
    if (len > 1 && strchr("dDfF", s.ptr[len - 1]) != NULL &&
        (!hex || memchr(s.ptr, 'p', len) != NULL || memchr(s.ptr, 'P', len) != NULL)) {
        len--; // Java's suffix
    }
    for (size_t i = (size_t)(word.ptr - s.ptr) + (hex ? 2 : 0); i < len; i++) {
        char c = s.ptr[i];
        if ((c >= '0' && c <= '9') || (hex && !exponent && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))) {
            digits = true;
        } else if ((hex ? c == 'p' || c == 'P' : c == 'e' || c == 'E') && digits && !exponent) {
            exponent = true;
        } else if (!(c == '.' && !exponent) &&
                   !((c == '+' || c == '-') && exponent && strchr("eEpP", s.ptr[i - 1]) != NULL)) {
            return false;
        }
    }
    if (!digits || (hex && !exponent)) {
        return false;
    }
    if (!hex) { // locale-independent; overflow to infinity as Java
        struct fz_str number = {s.ptr, len};
        if (fz_parse_double(number, out)) {
            return true;
        }
    }
    memcpy(copy, s.ptr, len);
    copy[len] = 0;
    char *end = NULL;
    *out = strtod(copy, &end);
    return end == copy + len;
}

bool fz_text_to_bool(struct fz_str s, bool *out) {
    static const char *const yes[] = {"true", "t", "yes", "y", "1"}, *const no[] = {"false", "f", "no", "n", "0"};
    s = fz_text_trim(s);
    for (size_t i = 0; i < 5; i++) {
        if (fz_str_ieq(s, fz_str_of(yes[i])) || fz_str_ieq(s, fz_str_of(no[i]))) {
            *out = fz_str_ieq(s, fz_str_of(yes[i]));
            return true;
        }
    }
    return false;
}

bool fz_text_to_decimal(struct fz_str s, int precision, int scale, __int128 *out, bool *is_number) {
    s = fz_text_trim(s);
    bool exact;
    *is_number = false;
    if (s.len == 0 || s.len > 4096) {
        return false;
    }
    bool digits = false;
    for (size_t i = 0; i < s.len; i++) {
        digits |= s.ptr[i] >= '0' && s.ptr[i] <= '9';
        if (strchr("0123456789.+-eE", s.ptr[i]) == NULL || s.ptr[i] == 0) {
            return false;
        }
    }
    *is_number = digits;
    return fz_decimal_parse(s, scale, out, &exact) && fz_decimal_digits(*out) <= precision;
}

// ---- dates and times ----
struct cursor {
    const char *p, *end;
};
static int digits(struct cursor *c, int least, int most, int *out) { // how many were read, -1: too few or too many
    int n = 0, v = 0;
    while (c->p < c->end && *c->p >= '0' && *c->p <= '9') {
        if (n == most) {
            return -1;
        }
        v = v * 10 + (*c->p - '0');
        c->p++;
        n++;
    }
    *out = v;
    return n < least ? -1 : n;
}

static bool valid_day(int64_t y, int m, int d) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (m < 1 || m > 12 || d < 1) {
        return false;
    }
    bool leap = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0;
    return d <= days[m - 1] + (m == 2 && leap);
}

// [+-]y{4,7}[-M{1,2}[-d{1,2}]]
static bool read_date(struct cursor *c, int64_t *days) {
    int sign = 1, y = 0, m = 1, d = 1;
    if (c->p < c->end && (*c->p == '+' || *c->p == '-')) {
        sign = *c->p == '-' ? -1 : 1;
        c->p++;
    }
    if (digits(c, 4, 7, &y) < 0) {
        return false;
    }
    if (c->p < c->end && *c->p == '-') {
        c->p++;
        if (digits(c, 1, 2, &m) < 0) {
            return false;
        }
        if (c->p < c->end && *c->p == '-') {
            c->p++;
            if (digits(c, 1, 2, &d) < 0) {
                return false;
            }
        }
    }
    if (!valid_day((int64_t)sign * y, m, d)) {
        return false;
    }
    *days = fz_days_from_civil((int64_t)sign * y, m, d);
    return true;
}

bool fz_text_to_date(struct fz_str s, int32_t *out) {
    s = fz_text_trim(s);
    struct cursor c = {s.ptr, s.ptr + s.len};
    int64_t days = 0, today = fz_now_us() / 86400000000 - (fz_now_us() % 86400000000 < 0);
    static const struct {
        const char *word;
        int shift;
    } words[] = {{"today", 0}, {"now", 0}, {"yesterday", -1}, {"tomorrow", 1}};
    if (fz_str_ieq(s, FZ_STR_LIT("epoch"))) {
        *out = 0;
        return true;
    }
    for (size_t i = 0; i < 4; i++) {
        if (fz_str_ieq(s, fz_str_of(words[i].word))) {
            *out = (int32_t)today + words[i].shift;
            return true;
        }
    }
    if (s.len == 0 || !read_date(&c, &days)) {
        return false;
    }
    if (c.p < c.end) { // after a full date only: T or blank, then anything
        int dashes = 0;
        for (const char *p = s.ptr + 1; p < c.p; p++) {
            dashes += *p == '-';
        }
        if (dashes < 2 || (*c.p != 'T' && *c.p != ' ')) {
            return false;
        }
    }
    *out = (int32_t)days;
    return days >= INT32_MIN && days <= INT32_MAX;
}

static bool read_offset(struct cursor *c, int64_t *us) { // +h[h][:mm[:ss]] or +hhmm
    int sign = *c->p == '-' ? -1 : 1, h = 0, m = 0, sec = 0;
    c->p++;
    int n = digits(c, 1, 4, &h);
    if (n < 0 || n == 3) {
        return false;
    }
    if (n == 4) {
        m = h % 100;
        h /= 100;
    } else if (c->p < c->end && *c->p == ':') {
        c->p++;
        if (digits(c, 1, 2, &m) < 0) {
            return false;
        }
        if (c->p < c->end && *c->p == ':') {
            c->p++;
            if (digits(c, 1, 2, &sec) < 0) {
                return false;
            }
        }
    }
    if (h > 18 || m > 59 || sec > 59 || c->p != c->end) {
        return false;
    }
    *us = (int64_t)sign * (h * 3600 + m * 60 + sec) * 1000000;
    return true;
}

static bool read_zone(struct cursor *c, struct fz_text_time *out) {
    while (c->p < c->end && *c->p == ' ') {
        c->p++;
    }
    out->has_zone = true;
    struct fz_str rest = {c->p, (size_t)(c->end - c->p)};
    if (rest.len == 1 && *rest.ptr == 'Z') {
        out->fixed = true;
        return true;
    }
    static const char *const prefixes[] = {"UTC", "GMT", "UT"};
    for (size_t i = 0; i < 3; i++) {
        size_t len = strlen(prefixes[i]);
        if (rest.len >= len && memcmp(rest.ptr, prefixes[i], len) == 0) {
            if (rest.len == len) {
                out->fixed = true;
                return true;
            }
            if (rest.ptr[len] == '+' || rest.ptr[len] == '-') {
                c->p += len;
                out->fixed = true;
                return read_offset(c, &out->offset_us);
            }
        }
    }
    if (rest.len > 0 && (*rest.ptr == '+' || *rest.ptr == '-')) {
        out->fixed = true;
        return read_offset(c, &out->offset_us);
    }
    out->zone = rest;
    return rest.len > 0 && fz_zone_find(rest) != NULL;
}

static bool read_time(struct cursor *c, struct fz_text_time *out) {
    int h = 0, m = 0, s = 0;
    int64_t us = 0;
    bool seconds = false;
    if (digits(c, 1, 2, &h) < 0 || h > 23) {
        return false;
    }
    if (c->p < c->end && *c->p == ':') {
        c->p++;
        if (digits(c, 1, 2, &m) < 0 || m > 59) {
            return false;
        }
        if (c->p < c->end && *c->p == ':') {
            c->p++;
            if (digits(c, 1, 2, &s) < 0 || s > 59) {
                return false;
            }
            seconds = true;
            if (c->p < c->end && *c->p == '.') {
                c->p++;
                int n = 0;
                for (; c->p < c->end && *c->p >= '0' && *c->p <= '9'; c->p++, n++) {
                    us = n < 6 ? us * 10 + (*c->p - '0') : us;
                }
                for (; n < 6; n++) {
                    us *= 10;
                }
            }
        }
    } else if (!out->has_date) {
        return false; // a bare number is no time
    }
    out->local_us += ((int64_t)h * 3600 + m * 60 + s) * 1000000 + us;
    return c->p == c->end || (seconds && read_zone(c, out)); // a zone only behind seconds
}

bool fz_text_to_time(struct fz_str s, struct fz_text_time *out) {
    *out = (struct fz_text_time){0};
    s = fz_text_trim(s);
    struct cursor c = {s.ptr, s.ptr + s.len};
    const char *colon = s.len ? memchr(s.ptr, ':', s.len) : NULL,
               *dash = s.len > 1 ? memchr(s.ptr + 1, '-', s.len - 1) : NULL;
    if (s.len == 0) {
        return false;
    }
    if (*s.ptr == 'T' ||
        (colon != NULL && colon - s.ptr <= 2 && (dash == NULL || dash > colon))) { // today, at that time
        c.p += *s.ptr == 'T';
        return read_time(&c, out);
    }
    int64_t days = 0;
    const char *start = c.p;
    if (!read_date(&c, &days) || days > 106751991 || days < -106751991) {
        return false;
    }
    out->has_date = true;
    out->local_us = days * 86400000000;
    if (c.p == c.end) {
        return true;
    }
    int dashes = 0;
    for (const char *p = start + 1; p < c.p; p++) {
        dashes += *p == '-';
    }
    if (dashes < 2 || (*c.p != 'T' && *c.p != ' ')) {
        return false;
    }
    c.p++;
    return c.p < c.end && read_time(&c, out);
}

static bool special_time(struct fz_str s, int64_t *out) { // epoch, now, today, yesterday, tomorrow in UTC days
    s = fz_text_trim(s);
    int64_t now = fz_now_us(), day = 86400000000, today = now - ((now % day) + day) % day;
    if (fz_str_ieq(s, FZ_STR_LIT("epoch"))) {
        *out = 0;
    } else if (fz_str_ieq(s, FZ_STR_LIT("now"))) {
        *out = now;
    } else if (fz_str_ieq(s, FZ_STR_LIT("today"))) {
        *out = today;
    } else if (fz_str_ieq(s, FZ_STR_LIT("yesterday"))) {
        *out = today - day;
    } else if (fz_str_ieq(s, FZ_STR_LIT("tomorrow"))) {
        *out = today + day;
    } else {
        return false;
    }
    return true;
}

bool fz_text_to_ntz(struct fz_str s, int64_t *out) {
    struct fz_text_time t;
    if (special_time(s, out)) {
        return true;
    }
    if (!fz_text_to_time(s, &t) || !t.has_date) {
        return false;
    }
    *out = t.local_us;
    return true;
}

bool fz_text_to_ts(struct fz_str s, const char *session_zone, int64_t *out) {
    struct fz_text_time t;
    if (special_time(s, out)) {
        return true;
    }
    if (!fz_text_to_time(s, &t)) {
        return false;
    }
    const struct fz_zone *zone = t.fixed ? NULL : fz_zone_find(t.has_zone ? t.zone : fz_str_of(session_zone));
    if (!t.fixed && zone == NULL) {
        return false;
    }
    if (!t.has_date) { // today in that zone
        int64_t now = fz_now_us(), day = 86400000000;
        int64_t local = now + (zone ? fz_zone_offset_us(zone, now) : t.offset_us);
        t.local_us += local - ((local % day) + day) % day;
    }
    *out = t.fixed ? t.local_us - t.offset_us : fz_zone_to_utc(zone, t.local_us);
    return true;
}
