// Reading a plan to the end with several threads, rows as JSON lines in the form of the shared data's README (sorted by bytes).
#ifndef FZ_TEST_SCAN_ROWS_H
#define FZ_TEST_SCAN_ROWS_H

#include "leak_check.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/text.h"
#include "scan/scan.h"

static inline void json_text(struct fz_buf *out, const char *ptr, size_t len) {
    fz_buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        if (ptr[i] == '"' || ptr[i] == '\\') {
            fz_buf_printf(out, "\\%c", ptr[i]);
        } else if ((unsigned char)ptr[i] < 0x20) {
            fz_buf_printf(out, "\\u%04x", ptr[i]);
        } else {
            fz_buf_putc(out, ptr[i]);
        }
    }
    fz_buf_putc(out, '"');
}

static inline void json_time(struct fz_buf *out, int64_t of_day, int64_t per_second, int digits) {
    int64_t s = of_day / per_second;
    fz_buf_printf(out, "%02d:%02d:%02d.%0*lld", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60), digits,
                  (long long)(of_day % per_second));
}

static inline void json_timestamp(struct fz_buf *out, int64_t v, int64_t per_second, int digits, bool zone) {
    int64_t per_day = 86400 * per_second, days = v / per_day, rest = v % per_day;
    if (rest < 0) {
        rest += per_day;
        days--;
    }
    fz_buf_putc(out, '"');
    fz_format_date(out, (int32_t)days);
    fz_buf_putc(out, 'T');
    json_time(out, rest, per_second, digits);
    fz_buf_puts(out, zone ? "+00:00\"" : "\"");
}

static inline void json_float(struct fz_buf *out, double v, int digits) {
    if (isnan(v)) {
        fz_buf_puts(out, "\"NaN\"");
    } else if (isinf(v)) {
        fz_buf_puts(out, v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    } else {
        fz_buf_printf(out, "%.*g", digits, v);
    }
}

// Variants in the form of the recorded rows: {"TYPE":"text"}, null, objects and arrays as JSON. Written from the format's description,
// apart from src/data/variant.c.
static inline uint32_t variant_uint(const unsigned char *p, int width) {
    uint32_t v = 0;
    for (int i = 0; i < width; i++) {
        v |= (uint32_t)p[i] << (8 * i);
    }
    return v;
}
static inline int64_t variant_int(const unsigned char *p, int width) {
    int64_t v = (signed char)p[width - 1];
    for (int i = width - 2; i >= 0; i--) {
        v = v * 256 + p[i];
    }
    return v;
}
static inline void variant_key(struct fz_buf *out, const unsigned char *metadata, uint32_t id) {
    int width = (metadata[0] >> 6) + 1;
    uint32_t n = variant_uint(metadata + 1, width);
    const unsigned char *offsets = metadata + 1 + width, *bytes = offsets + (n + 1) * (uint32_t)width;
    uint32_t from = variant_uint(offsets + id * (uint32_t)width, width),
             to = variant_uint(offsets + (id + 1) * (uint32_t)width, width);
    json_text(out, (const char *)bytes + from, to - from);
}
static inline void json_variant(struct fz_buf *out, const unsigned char *metadata, const unsigned char *p) {
    static const char *const names[] = {"",
                                        "BOOLEAN_TRUE",
                                        "BOOLEAN_FALSE",
                                        "INT8",
                                        "INT16",
                                        "INT32",
                                        "INT64",
                                        "DOUBLE",
                                        "DECIMAL4",
                                        "DECIMAL8",
                                        "DECIMAL16",
                                        "DATE",
                                        "TIMESTAMPTZ",
                                        "TIMESTAMPNTZ",
                                        "FLOAT",
                                        "BINARY",
                                        "STRING",
                                        "TIME",
                                        "TIMESTAMPTZ_NANOS",
                                        "TIMESTAMPNTZ_NANOS",
                                        "UUID"};
    int basic = p[0] & 3, header = p[0] >> 2;
    if (basic >= 2) {
        bool object = basic == 2, large = (header >> (object ? 4 : 2)) & 1;
        int offset_width = (header & 3) + 1, id_width = object ? ((header >> 2) & 3) + 1 : 0;
        uint32_t n = variant_uint(p + 1, large ? 4 : 1);
        const unsigned char *ids = p + (large ? 5 : 2), *offsets = ids + n * (uint32_t)id_width,
                            *data = offsets + (n + 1) * (uint32_t)offset_width;
        fz_buf_putc(out, object ? '{' : '[');
        for (uint32_t i = 0; i < n; i++) {
            fz_buf_puts(out, i ? "," : "");
            if (object) {
                variant_key(out, metadata, variant_uint(ids + i * (uint32_t)id_width, id_width));
                fz_buf_putc(out, ':');
            }
            json_variant(out, metadata, data + variant_uint(offsets + i * (uint32_t)offset_width, offset_width));
        }
        fz_buf_putc(out, object ? '}' : ']');
        return;
    }
    int type = basic == 1 ? 16 : header;
    const unsigned char *d = p + 1;
    if (type == 0) {
        fz_buf_puts(out, "null");
        return;
    }
    fz_buf_printf(out, "{\"%s\":", names[type]);
    double g;
    float f;
    uint32_t length = basic == 1 ? (uint32_t)header : variant_uint(d, 4);
    if (type == 16) {
        json_text(out, (const char *)(basic == 1 ? d : d + 4), length);
        fz_buf_putc(out, '}');
        return;
    }
    fz_buf_puts(out, type <= 2 ? "" : "\"");
    switch (type) {
    case 1:
    case 2:
        fz_buf_puts(out, type == 1 ? "true" : "false");
        break;
    case 3:
    case 4:
    case 5:
    case 6:
        fz_buf_printf(out, "%lld", (long long)variant_int(d, 1 << (type - 3)));
        break;
    case 7:
        memcpy(&g, d, 8);
        fz_buf_printf(out, "%g", g);
        break;
    case 14:
        memcpy(&f, d, 4);
        fz_buf_printf(out, "%g", (double)f);
        break;
    case 8:
    case 9:
        fz_decimal_print(out, variant_int(d + 1, type == 8 ? 4 : 8), d[0]);
        break;
    case 10:
        fz_decimal_print(
            out, (__int128)variant_int(d + 9, 8) * ((__int128)1 << 64) + (__int128)(uint64_t)variant_int(d + 1, 8),
            d[0]);
        break;
    case 11:
        fz_buf_printf(out, "%lld", (long long)variant_int(d, 4));
        break;
    case 15:
        fz_hex_encode(out, d + 4, length);
        break;
    case 20:
        for (int i = 0; i < 16; i++) {
            fz_buf_printf(out, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", d[i]);
        }
        break;
    default: // times: the stored number
        fz_buf_printf(out, "%lld", (long long)variant_int(d, 8));
    }
    fz_buf_puts(out, type <= 2 ? "}" : "\"}");
}
static inline void json_variant_blob(struct fz_buf *out, struct fz_str blob) {
    const unsigned char *p = (const unsigned char *)blob.ptr;
    int width = (p[0] >> 6) + 1;
    uint32_t n = variant_uint(p + 1, width);
    const unsigned char *offsets = p + 1 + width;
    json_variant(out, p, offsets + (n + 1) * (uint32_t)width + variant_uint(offsets + n * (uint32_t)width, width));
}

static inline int compare_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static inline void json_value(struct fz_buf *out, const struct fz_value *v) {
    if (v->is_null) {
        fz_buf_puts(out, "null");
        return;
    }
    switch ((int)v->type->id) {
    case FZ_TYPE_BOOLEAN:
        fz_buf_puts(out, v->u.boolean ? "true" : "false");
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        fz_buf_printf(out, "%lld", (long long)v->u.i64);
        break;
    case FZ_TYPE_FLOAT:
        json_float(out, (double)v->u.f32, 9);
        break;
    case FZ_TYPE_DOUBLE:
        json_float(out, v->u.f64, 17);
        break;
    case FZ_TYPE_TIME:
        fz_buf_putc(out, '"');
        json_time(out, v->u.i64, 1000000, 6);
        fz_buf_putc(out, '"');
        break;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        json_timestamp(out, v->u.i64, 1000000, 6, v->type->id == FZ_TYPE_TIMESTAMPTZ);
        break;
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        json_timestamp(out, v->u.i64, 1000000000, 9, v->type->id == FZ_TYPE_TIMESTAMPTZ_NS);
        break;
    case FZ_TYPE_STRING:
        json_text(out, v->u.bytes.ptr, v->u.bytes.len);
        break;
    case FZ_TYPE_VARIANT:
        json_variant_blob(out, v->u.bytes);
        break;
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        fz_buf_putc(out, '"');
        fz_hex_encode(out, v->u.bytes.ptr, v->u.bytes.len);
        fz_buf_putc(out, '"');
        break;
    case FZ_TYPE_STRUCT:
        fz_buf_putc(out, '{');
        for (size_t i = 0; i < v->u.nested.n; i++) {
            fz_buf_puts(out, i ? "," : "");
            json_text(out, v->type->fields[i].name, strlen(v->type->fields[i].name));
            fz_buf_putc(out, ':');
            json_value(out, &v->u.nested.items[i]);
        }
        fz_buf_putc(out, '}');
        break;
    case FZ_TYPE_LIST:
        fz_buf_putc(out, '[');
        for (size_t i = 0; i < v->u.nested.n; i++) {
            fz_buf_puts(out, i ? "," : "");
            json_value(out, &v->u.nested.items[i]);
        }
        fz_buf_putc(out, ']');
        break;
    case FZ_TYPE_MAP: {
        size_t n = v->u.nested.n / 2;
        char **pairs = calloc(n + 1, sizeof *pairs);
        for (size_t i = 0; i < n; i++) {
            struct fz_buf pair = {0};
            fz_buf_putc(&pair, '[');
            json_value(&pair, &v->u.nested.items[2 * i]);
            fz_buf_putc(&pair, ',');
            json_value(&pair, &v->u.nested.items[2 * i + 1]);
            fz_buf_putc(&pair, ']');
            pairs[i] = fz_buf_take(&pair);
        }
        qsort(pairs, n, sizeof *pairs, compare_text);
        fz_buf_putc(out, '[');
        for (size_t i = 0; i < n; i++) {
            fz_buf_printf(out, "%s%s", i ? "," : "", pairs[i]);
            fz_free(pairs[i]);
        }
        fz_buf_putc(out, ']');
        free(pairs);
        break;
    }
    default: // decimal, date, uuid
        fz_buf_putc(out, '"');
        fz_value_print(out, v);
        fz_buf_putc(out, '"');
    }
}

struct scan_rows {
    char **lines;
    size_t n, cap;
    pthread_mutex_t lock;
    struct fz_source *source;
    struct fz_err err;
    int n_readers_with_rows;
};

static inline void scan_rows_add(struct scan_rows *rows, const struct fz_batch *batch, const struct fz_field *fields) {
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    for (size_t r = 0; r < batch->n_rows; r++) {
        struct fz_buf line = {0};
        fz_buf_putc(&line, '{');
        for (size_t i = 0; i < batch->n_columns; i++) {
            struct fz_value v = fz_value_at(&batch->columns[i], r, &arena);
            fz_buf_puts(&line, i ? "," : "");
            json_text(&line, fields[i].name, strlen(fields[i].name));
            fz_buf_putc(&line, ':');
            json_value(&line, &v);
        }
        fz_buf_putc(&line, '}');
        pthread_mutex_lock(&rows->lock);
        fz_grow((void **)&rows->lines, &rows->cap, rows->n + 1, sizeof *rows->lines, &err);
        rows->lines[rows->n++] = fz_buf_take(&line);
        pthread_mutex_unlock(&rows->lock);
    }
    fz_arena_dispose(&arena);
}

static inline void *read_some(void *ptr) {
    struct scan_rows *rows = ptr;
    struct fz_source *source = rows->source;
    struct fz_batch batch = {0};
    struct fz_err err = FZ_ERR_INIT;
    void *reader = NULL;
    size_t columns[256];
    enum fz_code rc = FZ_OK;
    bool any = false;
    for (size_t i = 0; i < source->n_fields; i++) {
        columns[i] = i;
    }
    FZ_TRY(fz_batch_init(&batch, source->fields, source->n_fields, FZ_BATCH_ROWS, &err));
    FZ_TRY(source->vtable->open(source, columns, source->n_fields, &reader, &err));
    for (;;) {
        FZ_TRY(source->vtable->next(source, reader, &batch, &err));
        if (batch.n_rows == 0) {
            break;
        }
        any = true;
        scan_rows_add(rows, &batch, source->fields);
    }
out:
    if (reader) {
        source->vtable->close(source, reader);
    }
    fz_batch_dispose(&batch);
    pthread_mutex_lock(&rows->lock);
    if (rc != FZ_OK && rows->err.code == FZ_OK) {
        rows->err = err;
    }
    rows->n_readers_with_rows += any;
    pthread_mutex_unlock(&rows->lock);
    return NULL;
}

static inline void scan_rows_sort(struct scan_rows *rows) {
    if (rows->n) {
        qsort(rows->lines, rows->n, sizeof *rows->lines, compare_text);
    }
}

// Of a source, which it takes over.
static inline enum fz_code scan_rows_drain(struct fz_source *source, int threads, struct scan_rows *out) {
    pthread_t ids[8];
    *out = (struct scan_rows){.source = source};
    pthread_mutex_init(&out->lock, NULL);
    for (int i = 0; i < threads; i++) {
        pthread_create(&ids[i], NULL, read_some, out);
    }
    for (int i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
    fz_source_unref(out->source);
    scan_rows_sort(out);
    return out->err.code;
}

static inline enum fz_code scan_rows_read(const struct fz_scan_source_options *options, int threads,
                                          struct scan_rows *out) {
    struct fz_source *source = NULL;
    struct fz_err err = FZ_ERR_INIT;
    if (fz_scan_source_new(options, &source, &err) != FZ_OK) {
        *out = (struct scan_rows){.err = err};
        return err.code;
    }
    return scan_rows_drain(source, threads, out);
}

static inline uint64_t scan_rows_hash(const struct scan_rows *rows) {
    struct fz_buf all = {0};
    for (size_t i = 0; i < rows->n; i++) {
        fz_buf_puts(&all, rows->lines[i]);
        fz_buf_putc(&all, '\n');
    }
    uint64_t hash = fz_hash64(all.ptr ? all.ptr : "", all.len, 0);
    fz_buf_dispose(&all);
    return hash;
}

static inline void scan_rows_dispose(struct scan_rows *rows) {
    for (size_t i = 0; i < rows->n; i++) {
        fz_free(rows->lines[i]);
    }
    fz_free(rows->lines);
    *rows = (struct scan_rows){0};
}

#endif
