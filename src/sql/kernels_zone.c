// Time zones: TZif files of the machine's zone database (RFC 8536, version 2 data and its POSIX rule for years after the table),
// fixed offsets, UTC±h. Loaded once per name and kept.
#include "sql/kernels_priv.h"

#include <ctype.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct zone_type {
    int32_t offset_s;
    char abbreviation[12];
};
struct posix_rule {
    int month, week, day; // M form; month 0: none
    int time_s;
};
struct fz_zone {
    char name[64];
    size_t n_times;
    int64_t *times; // seconds
    uint8_t *kinds;
    size_t n_types;
    struct zone_type *types;
    struct zone_type std, dst; // after the table
    struct posix_rule from, to;
    bool has_rule, has_dst;
    struct fz_zone *next;
};
static struct fz_zone *_Atomic zones; // grows at the front, entries never change: read without the lock
static pthread_mutex_t zones_lock = PTHREAD_MUTEX_INITIALIZER;

static int64_t be(const unsigned char *p, int n) {
    int64_t v = (signed char)p[0];
    for (int i = 1; i < n; i++) {
        v = (int64_t)((uint64_t)v << 8 | p[i]);
    }
    return v;
}

static const char *posix_name(const char *p, char out[12]) {
    size_t n = 0;
    bool quoted = *p == '<';
    p += quoted;
    while (*p && (quoted ? *p != '>' : isalpha((unsigned char)*p))) {
        if (n < 11) {
            out[n++] = *p;
        }
        p++;
    }
    out[n] = 0;
    return quoted && *p ? p + 1 : p;
}
static const char *posix_time(const char *p, int *out) { // [+-]h[:m[:s]]
    int sign = 1, part[3] = {0, 0, 0};
    if (*p == '+' || *p == '-') {
        sign = *p++ == '-' ? -1 : 1;
    }
    for (int i = 0; i < 3; i++) {
        while (isdigit((unsigned char)*p)) {
            part[i] = part[i] < 10000 ? part[i] * 10 + (*p - '0') : part[i];
            p++;
        }
        if (*p != ':') {
            break;
        }
        p++;
    }
    *out = sign * (part[0] * 3600 + part[1] * 60 + part[2]);
    return p;
}
static const char *posix_date(const char *p, struct posix_rule *r) {
    if (p[0] != ',' || p[1] != 'M' || sscanf(p + 2, "%d.%d.%d", &r->month, &r->week, &r->day) != 3) {
        r->month = 0;
        return p;
    }
    p++;
    while (*p && *p != ',' && *p != '/') {
        p++;
    }
    r->time_s = 7200;
    return *p == '/' ? posix_time(p + 1, &r->time_s) : p;
}
static void read_posix(struct fz_zone *z, const char *p) {
    int t = 0;
    p = posix_name(p, z->std.abbreviation);
    p = posix_time(p, &t);
    z->std.offset_s = -t;
    z->has_rule = true;
    if (*p == 0 || *p == ',') {
        return;
    }
    p = posix_name(p, z->dst.abbreviation);
    z->dst.offset_s = z->std.offset_s + 3600;
    if (*p && *p != ',') {
        p = posix_time(p, &t);
        z->dst.offset_s = -t;
    }
    p = posix_date(p, &z->from);
    posix_date(p, &z->to);
    z->has_dst = z->from.month > 0 && z->to.month > 0;
}

static bool read_tzif(struct fz_zone *z, const unsigned char *d, size_t len) {
    if (len < 44 || memcmp(d, "TZif", 4) != 0 || d[4] < '2') {
        return false;
    }
    size_t c[6];
    for (int i = 0; i < 6; i++) {
        c[i] = (size_t)be(d + 20 + 4 * i, 4);
    }
    for (int i = 0; i < 6; i++) {
        if (c[i] > 100000) {
            return false;
        }
    }
    size_t skip = 44 + c[3] * 5 + c[4] * 6 + c[5] + c[2] * 8 + c[1] + c[0]; // version 1 block
    if (skip + 44 > len) {
        return false;
    }
    d += skip;
    len -= skip;
    for (int i = 0; i < 6; i++) {
        c[i] = (size_t)be(d + 20 + 4 * i, 4);
        if (c[i] > 100000) {
            return false;
        }
    }
    size_t n_times = c[3], n_types = c[4], n_chars = c[5];
    size_t need = 44 + n_times * 9 + n_types * 6 + n_chars + c[2] * 12 + c[1] + c[0];
    if (need > len || n_types == 0) {
        return false;
    }
    const unsigned char *times = d + 44, *kinds = times + n_times * 8, *types = kinds + n_times,
                        *chars = types + n_types * 6;
    z->times = malloc((n_times ? n_times : 1) * sizeof *z->times);
    z->kinds = malloc(n_times ? n_times : 1);
    z->types = calloc(n_types, sizeof *z->types);
    if (z->times == NULL || z->kinds == NULL || z->types == NULL) {
        return false;
    }
    z->n_times = n_times;
    z->n_types = n_types;
    for (size_t i = 0; i < n_times; i++) {
        z->times[i] = be(times + i * 8, 8);
        z->kinds[i] = kinds[i] < n_types ? kinds[i] : 0;
    }
    for (size_t i = 0; i < n_types; i++) {
        z->types[i].offset_s = (int32_t)be(types + i * 6, 4);
        size_t at = types[i * 6 + 5];
        for (size_t k = 0; at + k < n_chars && k < 11 && chars[at + k]; k++) {
            z->types[i].abbreviation[k] = (char)chars[at + k];
        }
    }
    if (need + 2 <= len && d[need] == '\n') {
        char footer[100];
        size_t n = 0;
        for (size_t i = need + 1; i < len && d[i] != '\n' && n < sizeof footer - 1; i++) {
            footer[n++] = (char)d[i];
        }
        footer[n] = 0;
        if (n > 0) {
            read_posix(z, footer);
        }
    }
    return true;
}

static bool load(struct fz_zone *z) {
    char path[128];
    if (z->name[0] == '/' || strstr(z->name, "..") != NULL || z->name[0] == 0) {
        return false;
    }
    snprintf(path, sizeof path, "/usr/share/zoneinfo/%s", z->name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return false;
    }
    unsigned char *data = malloc(1 << 20);
    size_t len = data ? fread(data, 1, 1 << 20, f) : 0;
    fclose(f);
    bool ok = data != NULL && read_tzif(z, data, len);
    free(data);
    return ok;
}

static bool fixed_zone(struct fz_zone *z) { // UTC, GMT, Z, UTC+3, +03:00
    const char *p = z->name;
    static const char *const prefixes[] = {"UTC", "GMT", "UT", "Z"};
    for (size_t i = 0; i < 4; i++) {
        size_t n = strlen(prefixes[i]);
        if (strncmp(p, prefixes[i], n) == 0 && (p[n] == 0 || p[n] == '+' || p[n] == '-')) {
            p += n;
            break;
        }
    }
    int t = 0;
    if (*p != 0) {
        if ((*p != '+' && *p != '-') || !isdigit((unsigned char)p[1])) {
            return false;
        }
        const char *end = posix_time(p, &t);
        size_t n_digits = strspn(p + 1, "0123456789");
        if (n_digits == 4 && *end == 0) { // +hhmm
            int v = t / 3600;
            t = (v / 100) * 3600 + (v % 100) * 60;
        }
        if (*end != 0 || t > 18 * 3600 || t < -18 * 3600) {
            return false;
        }
    }
    z->std.offset_s = t;
    snprintf(z->std.abbreviation, sizeof z->std.abbreviation, "%s", t == 0 ? "UTC" : "");
    z->has_rule = true;
    return true;
}

static const struct fz_zone *known_zone(struct fz_str name) {
    for (const struct fz_zone *z = atomic_load_explicit(&zones, memory_order_acquire); z != NULL; z = z->next) {
        if (strlen(z->name) == name.len && memcmp(z->name, name.ptr, name.len) == 0) {
            return z;
        }
    }
    return NULL;
}

const struct fz_zone *fz_zone_find(struct fz_str name) {
    if (name.len == 0 || name.len >= 64 || memchr(name.ptr, 0, name.len) != NULL) {
        return NULL;
    }
    const struct fz_zone *found = known_zone(name);
    if (found != NULL) {
        return found;
    }
    pthread_mutex_lock(&zones_lock);
    found = known_zone(name);
    struct fz_zone *z = found == NULL ? calloc(1, sizeof *z) : NULL;
    if (z != NULL) {
        memcpy(z->name, name.ptr, name.len);
        if (fixed_zone(z) || load(z)) {
            z->next = atomic_load_explicit(&zones, memory_order_relaxed);
            atomic_store_explicit(&zones, z, memory_order_release);
            found = z;
        } else {
            free(z->times);
            free(z->kinds);
            free(z->types);
            free(z);
        }
    }
    pthread_mutex_unlock(&zones_lock);
    return found;
}

const char *fz_zone_name(const struct fz_zone *zone) {
    return zone->name;
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static int64_t rule_seconds(int64_t year, const struct posix_rule *r) { // local seconds of the change
    int64_t first = fz_days_from_civil(year, r->month, 1);
    int64_t weekday = ((first + 4) % 7 + 7) % 7;
    int64_t day = first + (r->day - weekday + 7) % 7 + (int64_t)(r->week - 1) * 7;
    int64_t next = r->month == 12 ? fz_days_from_civil(year + 1, 1, 1) : fz_days_from_civil(year, r->month + 1, 1);
    while (day >= next) {
        day -= 7;
    }
    return day * 86400 + r->time_s;
}

static const struct zone_type *type_at(const struct fz_zone *z, int64_t utc_us) {
    int64_t s = floor_div(utc_us, 1000000);
    if (z->n_times > 0 && s < z->times[0]) {
        return &z->types[0];
    }
    if (z->n_times > 0 && (s < z->times[z->n_times - 1] || !z->has_rule)) {
        size_t lo = 0, hi = z->n_times;
        while (hi - lo > 1) {
            size_t mid = (lo + hi) / 2;
            if (z->times[mid] <= s) {
                lo = mid;
            } else {
                hi = mid;
            }
        }
        return &z->types[z->kinds[lo]];
    }
    if (!z->has_rule) {
        return z->n_types > 0 ? &z->types[0] : &z->std;
    }
    if (!z->has_dst) {
        return &z->std;
    }
    int64_t year;
    int m, d;
    fz_civil_from_days(floor_div(s + z->std.offset_s, 86400), &year, &m, &d);
    int64_t on = rule_seconds(year, &z->from) - z->std.offset_s, off = rule_seconds(year, &z->to) - z->dst.offset_s;
    bool dst = on < off ? s >= on && s < off : s >= on || s < off;
    return dst ? &z->dst : &z->std;
}

int64_t fz_zone_offset_us(const struct fz_zone *zone, int64_t utc_us) {
    return (int64_t)type_at(zone, utc_us)->offset_s * 1000000;
}
const char *fz_zone_abbreviation(const struct fz_zone *zone, int64_t utc_us) {
    return type_at(zone, utc_us)->abbreviation;
}

int64_t fz_zone_to_utc(const struct fz_zone *zone, int64_t local_us) {
    const int64_t day = 86400000000;
    int64_t before = fz_zone_offset_us(zone, local_us - day), after = fz_zone_offset_us(zone, local_us + day);
    int64_t a = local_us - before; // the offset in force before a change nearby
    if (fz_zone_offset_us(zone, a) == before) {
        return a;
    }
    int64_t b = local_us - after;
    if (fz_zone_offset_us(zone, b) == after) {
        return b;
    }
    return a; // a gap: moved forward by its length
}
