// ISO dates and times: see iso_time.h.
#include "cdc/decode/iso_time.h"

#include "base/text.h"

#define DAY_US INT64_C(86400000000)

struct reader {
    const char *p, *end;
};

static bool two(struct reader *r, int *out) {
    if (r->end - r->p < 2 || r->p[0] < '0' || r->p[0] > '9' || r->p[1] < '0' || r->p[1] > '9') {
        return false;
    }
    *out = (r->p[0] - '0') * 10 + (r->p[1] - '0');
    r->p += 2;
    return true;
}
static bool one(struct reader *r, char c) {
    if (r->p < r->end && *r->p == c) {
        r->p++;
        return true;
    }
    return false;
}

static bool read_date(struct reader *r, int64_t *days, bool *beyond) {
    bool negative = one(r, '-');
    if (!negative) {
        one(r, '+');
    }
    const char *from = r->p;
    int64_t year = 0;
    while (r->p < r->end && *r->p >= '0' && *r->p <= '9' && r->p - from < 10) {
        year = year * 10 + (*r->p++ - '0');
    }
    int month, day;
    if (r->p - from < 4 || !one(r, '-') || !two(r, &month) || !one(r, '-') || !two(r, &day) || month < 1 ||
        month > 12 || day < 1 || day > 31) {
        return false;
    }
    if (year > 9999999) {
        *beyond = true;
        year = 9999999;
    }
    year = negative ? -year : year;
    *days = fz_days_from_civil(year, month, day);
    int64_t y;
    int m, d;
    fz_civil_from_days(*days, &y, &m, &d);
    return y == year && m == month && d == day; // no 31 February
}

static bool read_clock(struct reader *r, int64_t *micros) {
    int h, m, s = 0;
    if (!two(r, &h) || !one(r, ':') || !two(r, &m)) {
        return false;
    }
    if (one(r, ':') && !two(r, &s)) {
        return false;
    }
    int64_t fraction = 0;
    if (one(r, '.')) {
        const char *from = r->p;
        while (r->p < r->end && *r->p >= '0' && *r->p <= '9' && r->p - from < 9) {
            if (r->p - from < 6) {
                fraction = fraction * 10 + (*r->p - '0');
            }
            r->p++;
        }
        if (r->p == from) {
            return false;
        }
        for (long n = r->p - from; n < 6; n++) {
            fraction *= 10;
        }
    }
    if (h > 24 || m > 59 || s > 59 || (h == 24 && (m > 0 || s > 0 || fraction > 0))) {
        return false;
    }
    *micros = ((int64_t)h * 3600 + m * 60 + s) * 1000000 + fraction;
    return true;
}

// Z or ±hh[:mm[:ss]] up to the end; the offset in microseconds.
static bool read_zone(struct reader *r, int zone, int64_t *offset) {
    *offset = 0;
    if (r->p == r->end) {
        return zone != FZ_ISO_ZONE_REQUIRED;
    }
    if (one(r, 'Z')) {
        return r->p == r->end;
    }
    if (zone == FZ_ISO_ZONE_IGNORED) {
        return false;
    }
    int sign = one(r, '+') ? 1 : one(r, '-') ? -1 : 0, h = 0, m = 0, s = 0;
    if (sign == 0 || !two(r, &h) || (r->p < r->end && (one(r, ':'), !two(r, &m))) || (one(r, ':') && !two(r, &s)) ||
        r->p != r->end || h > 18 || m > 59 || s > 59) {
        return false;
    }
    *offset = sign * ((int64_t)h * 3600 + m * 60 + s) * 1000000;
    return true;
}

enum fz_iso fz_iso_date(struct fz_str text, int64_t *days) {
    struct reader r = {text.ptr, text.ptr + text.len};
    bool beyond = false;
    if (!read_date(&r, days, &beyond)) {
        return FZ_ISO_BAD;
    }
    one(&r, 'Z');
    return r.p != r.end ? FZ_ISO_BAD : beyond || *days > INT32_MAX || *days < INT32_MIN ? FZ_ISO_BEYOND : FZ_ISO_OK;
}

enum fz_iso fz_iso_time(struct fz_str text, int zone, int64_t *micros) {
    struct reader r = {text.ptr, text.ptr + text.len};
    int64_t offset;
    if (!read_clock(&r, micros) || !read_zone(&r, zone, &offset)) {
        return FZ_ISO_BAD;
    }
    if (offset != 0) {
        *micros = ((*micros - offset) % DAY_US + DAY_US) % DAY_US;
    }
    return *micros == DAY_US ? FZ_ISO_BEYOND : FZ_ISO_OK;
}

enum fz_iso fz_iso_timestamp(struct fz_str text, int zone, int64_t *micros) {
    struct reader r = {text.ptr, text.ptr + text.len};
    int64_t days, clock, offset;
    bool beyond = false;
    if (!read_date(&r, &days, &beyond) || !(one(&r, 'T') || one(&r, ' ')) || !read_clock(&r, &clock) ||
        !read_zone(&r, zone, &offset)) {
        return FZ_ISO_BAD;
    }
    int64_t at;
    if (beyond || __builtin_mul_overflow(days, DAY_US, &at) || __builtin_add_overflow(at, clock, &at) ||
        __builtin_sub_overflow(at, offset, &at)) {
        // days * DAY may pass the limit although the sum does not (the first day of the range)
        __int128 exact = (__int128)days * DAY_US + clock - offset;
        if (beyond || exact > INT64_MAX || exact < INT64_MIN) {
            return FZ_ISO_BEYOND;
        }
        at = (int64_t)exact;
    }
    *micros = at;
    return FZ_ISO_OK;
}
