// Files with values that are formulas of the row number, shared by the writer's unit tests and by the program that
// test/interop/test_parquet_files.py runs. The Python script computes the same formulas on its own.
#ifndef FZ_TEST_PARQUET_SAMPLE_H
#define FZ_TEST_PARQUET_SAMPLE_H

#include <stdio.h>
#include <stdlib.h>

#include "format/parquet/parquet_writer.h"

// A sink that collects bytes, or writes them to a file when `path` is set.
struct sample_sink {
    struct fz_writer base;
    struct fz_buf bytes;
    bool closed, aborted;
};
static inline enum fz_code sample_append(struct fz_writer *w, const void *data, size_t len, struct fz_err *err) {
    struct sample_sink *s = (struct sample_sink *)w;
    fz_buf_append(&s->bytes, data, len);
    return fz_buf_check(&s->bytes, err);
}
static inline enum fz_code sample_close(struct fz_writer *w, struct fz_err *err) {
    (void)err;
    ((struct sample_sink *)w)->closed = true;
    return FZ_OK;
}
static inline void sample_abort(struct fz_writer *w) {
    ((struct sample_sink *)w)->aborted = true;
}
static const struct fz_writer_vtable sample_vtable = {sample_append, sample_close, sample_abort};
static inline struct fz_writer *sample_open(struct sample_sink *s) {
    memset(s, 0, sizeof *s);
    s->base.vtable = &sample_vtable;
    return &s->base;
}

// ---- all primitive types ---------------------------------------------------------------------------------------------------

enum { SAMPLE_FLAT_FIELDS = 20 };
static inline void sample_flat_fields(struct fz_arena *arena, struct fz_field *fields) {
    const struct fz_type *types[SAMPLE_FLAT_FIELDS] = {
        fz_type_primitive(FZ_TYPE_BOOLEAN),
        fz_type_primitive(FZ_TYPE_INT),
        fz_type_primitive(FZ_TYPE_LONG),
        fz_type_primitive(FZ_TYPE_FLOAT),
        fz_type_primitive(FZ_TYPE_DOUBLE),
        fz_type_decimal(arena, 4, 2),
        fz_type_decimal(arena, 9, 3),
        fz_type_decimal(arena, 18, 4),
        fz_type_decimal(arena, 38, 10),
        fz_type_primitive(FZ_TYPE_DATE),
        fz_type_primitive(FZ_TYPE_TIME),
        fz_type_primitive(FZ_TYPE_TIMESTAMP),
        fz_type_primitive(FZ_TYPE_TIMESTAMPTZ),
        fz_type_primitive(FZ_TYPE_TIMESTAMP_NS),
        fz_type_primitive(FZ_TYPE_TIMESTAMPTZ_NS),
        fz_type_primitive(FZ_TYPE_STRING),
        fz_type_primitive(FZ_TYPE_UUID),
        fz_type_fixed(arena, 5),
        fz_type_primitive(FZ_TYPE_BINARY),
        fz_type_primitive(FZ_TYPE_LONG),
    };
    static const char *const names[SAMPLE_FLAT_FIELDS] = {"b",       "i",     "l",    "f",     "d",   "dec4", "dec9",
                                                          "dec18",   "dec38", "date", "time",  "ts",  "tstz", "ts_ns",
                                                          "tstz_ns", "s",     "uuid", "fixed", "bin", "r"};
    for (int i = 0; i < SAMPLE_FLAT_FIELDS; i++) {
        fields[i] =
            (struct fz_field){.id = i + 1, .name = names[i], .required = i == SAMPLE_FLAT_FIELDS - 1, .type = types[i]};
    }
}

static inline bool sample_is_null(int column, int64_t r) {
    return column < SAMPLE_FLAT_FIELDS - 1 && r % (5 + column) == column % 5;
}

static inline void sample_flat_value(struct fz_column *c, int column, size_t at, int64_t r, struct fz_arena *strings) {
    char text[64] = {0};
    switch (column) {
    case 0:
        ((uint8_t *)c->data)[at] = r * 3 % 5 < 2;
        break;
    case 1:
        ((int32_t *)c->data)[at] = (int32_t)(r * 7919 % 100003 - 50000);
        break;
    case 2:
        ((int64_t *)c->data)[at] = r * 1000000007 - 5000000000000;
        break;
    case 3:
        ((float *)c->data)[at] = r % 1000 == 999 ? __builtin_nanf("") : (float)r * 0.5F - 100;
        break;
    case 4:
        ((double *)c->data)[at] = r % 1000 == 998 ? __builtin_nan("") : (double)(r % 100) * -0.25;
        break;
    case 5:
        ((int16_t *)c->data)[at] = (int16_t)(r % 19999 - 9999);
        break;
    case 6:
        ((int32_t *)c->data)[at] = (int32_t)(r * 104729 % 1999999999 - 999999999);
        break;
    case 7:
        ((int64_t *)c->data)[at] = r * 1000000000000 - 30000000000000000;
        break;
    case 8: {
        __int128 v = (r - 20000) * (__int128)1000000000000000000 * 1000000000000000 + r;
        ((struct fz_i128 *)c->data)[at] = fz_i128_of(v);
        break;
    }
    case 9:
        ((int32_t *)c->data)[at] = (int32_t)(r % 40000 - 10000);
        break;
    case 10:
        ((int64_t *)c->data)[at] = r * 1000003 % 86400000000;
        break;
    case 11:
    case 12:
        ((int64_t *)c->data)[at] = r * 8639999999 - 100000000000000 + column;
        break;
    case 13:
    case 14:
        ((int64_t *)c->data)[at] = r * 1000000007 - 1000000000 + column;
        break;
    case 15: {
        int n = snprintf(text, sizeof text, "s%d-%.*s", (int)(r % 1000), (int)(r % 23), "xxxxxxxxxxxxxxxxxxxxxxxxxxxx");
        ((struct fz_string *)c->data)[at] = fz_string_of(fz_arena_memdup(strings, text, (size_t)n), (size_t)n);
        break;
    }
    case 16: {
        uint64_t high = (uint64_t)r * 0x9E3779B97F4A7C15u;
        ((struct fz_i128 *)c->data)[at] = (struct fz_i128){(uint64_t)r, (int64_t)(high ^ (uint64_t)1 << 63)};
        break;
    }
    case 17:
        for (int j = 0; j < 5; j++) {
            text[j] = (char)(uint8_t)(r * 31 / 7 + j * 11);
        }
        ((struct fz_string *)c->data)[at] = fz_string_of(fz_arena_memdup(strings, text, 5), 5);
        break;
    case 18: {
        size_t n = (size_t)(r % 19);
        for (size_t j = 0; j < n; j++) {
            text[j] = (char)(uint8_t)(r + (int64_t)j);
        }
        ((struct fz_string *)c->data)[at] = fz_string_of(fz_arena_memdup(strings, text, n), n);
        break;
    }
    default:
        ((int64_t *)c->data)[at] = r;
        break;
    }
}

// Every second batch lies backwards and is appended through a selection that turns it round again.
static inline enum fz_code sample_append_batch(struct fz_parquet_writer *w, const struct fz_batch *batch,
                                               bool backwards, struct fz_err *err) {
    static uint32_t selection[FZ_BATCH_ROWS];
    for (size_t i = 0; i < batch->n_rows; i++) {
        selection[i] = (uint32_t)(batch->n_rows - 1 - i);
    }
    return fz_parquet_writer_append(w, batch, 0, backwards ? selection : NULL, batch->n_rows, err);
}

static inline enum fz_code sample_write_flat(struct fz_writer *sink, struct fz_parquet_write options, int64_t rows,
                                             struct fz_arena *arena, struct fz_parquet_metrics *metrics,
                                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_field fields[SAMPLE_FLAT_FIELDS];
    struct fz_arena types = {0}, strings = {0};
    struct fz_batch batch = {0};
    struct fz_parquet_writer *w = NULL;
    sample_flat_fields(&types, fields);
    options.fields = fields;
    options.n_fields = SAMPLE_FLAT_FIELDS;
    FZ_TRY(fz_batch_init(&batch, fields, SAMPLE_FLAT_FIELDS, FZ_BATCH_ROWS, err));
    FZ_TRY(fz_parquet_writer_open(sink, &options, &w, err));
    for (int64_t from = 0; from < rows; from += FZ_BATCH_ROWS) {
        bool backwards = from / FZ_BATCH_ROWS % 2 == 1;
        batch.n_rows = rows - from < FZ_BATCH_ROWS ? (size_t)(rows - from) : FZ_BATCH_ROWS;
        for (int c = 0; c < SAMPLE_FLAT_FIELDS; c++) {
            fz_column_reset(&batch.columns[c]);
            for (size_t i = 0; i < batch.n_rows; i++) {
                size_t at = backwards ? batch.n_rows - 1 - i : i;
                int64_t r = from + (int64_t)i;
                if (sample_is_null(c, r)) {
                    fz_column_set_null(&batch.columns[c], at);
                } else {
                    sample_flat_value(&batch.columns[c], c, at, r, &strings);
                }
            }
        }
        FZ_TRY(sample_append_batch(w, &batch, backwards, err));
        fz_arena_dispose(&strings);
    }
    struct fz_parquet_writer *closing = w;
    w = NULL;
    FZ_TRY(fz_parquet_writer_close(closing, arena, metrics, err));
out:
    fz_parquet_writer_abort(w);
    fz_batch_dispose(&batch);
    fz_arena_dispose(&types);
    fz_arena_dispose(&strings);
    return rc;
}

// ---- nested ----------------------------------------------------------------------------------------------------------------

enum { SAMPLE_NESTED_FIELDS = 7 };
static inline void sample_nested_fields(struct fz_arena *a, struct fz_field *fields) {
    const struct fz_type *i32 = fz_type_primitive(FZ_TYPE_INT), *i64 = fz_type_primitive(FZ_TYPE_LONG);
    const struct fz_type *str = fz_type_primitive(FZ_TYPE_STRING), *f64 = fz_type_primitive(FZ_TYPE_DOUBLE);
    struct fz_field t[] = {{.id = 13, .name = "x", .type = str}};
    struct fz_field s[] = {{.id = 11, .name = "a", .type = i32},
                           {.id = 12, .name = "t", .type = fz_type_struct(a, t, 1)}};
    struct fz_field e[] = {{.id = 52, .name = "p", .required = true, .type = i32},
                           {.id = 53, .name = "q", .type = fz_type_list(a, 54, false, f64)}};
    fields[0] = (struct fz_field){.id = 1, .name = "r", .required = true, .type = i64};
    fields[1] = (struct fz_field){.id = 10, .name = "s", .type = fz_type_struct(a, s, 2)};
    fields[2] = (struct fz_field){.id = 20, .name = "l", .type = fz_type_list(a, 21, false, i32)};
    fields[3] =
        (struct fz_field){.id = 30, .name = "ll", .type = fz_type_list(a, 31, false, fz_type_list(a, 32, false, str))};
    fields[4] = (struct fz_field){.id = 40, .name = "m", .type = fz_type_map(a, 41, str, 42, false, i64)};
    fields[5] = (struct fz_field){.id = 50, .name = "ls", .type = fz_type_list(a, 51, false, fz_type_struct(a, e, 2))};
    fields[6] = (struct fz_field){.id = 60, .name = "rl", .required = true, .type = fz_type_list(a, 61, true, i64)};
}

static inline struct fz_string sample_text(struct fz_arena *strings, const char *text) {
    size_t n = strlen(text);
    return fz_string_of(fz_arena_memdup(strings, text, n), n);
}

struct sample_fill { // next free child rows of the batch being filled
    size_t l, ll, ll_inner, m, ls, ls_q, rl;
};

static inline void sample_span(struct fz_column *c, size_t at, size_t offset, size_t length) {
    ((struct fz_list_span *)c->data)[at] = (struct fz_list_span){offset, length};
}

static inline void sample_nested_row(struct fz_batch *b, size_t at, int64_t r, struct sample_fill *f,
                                     struct fz_arena *strings) {
    char text[64];
    struct fz_column *c = b->columns;
    ((int64_t *)c[0].data)[at] = r;
    // s
    struct fz_column *a = &c[1].children[0], *t = &c[1].children[1];
    if (r % 11 == 5) {
        fz_column_set_null(&c[1], at);
    } else {
        ((int32_t *)a->data)[at] = (int32_t)r;
        if (r % 3 == 0) {
            fz_column_set_null(a, at);
        }
        snprintf(text, sizeof text, "x%lld", (long long)r);
        ((struct fz_string *)t->children[0].data)[at] = sample_text(strings, text);
        if (r % 4 == 1) {
            fz_column_set_null(t, at);
        } else if (r % 5 == 2) {
            fz_column_set_null(&t->children[0], at);
        }
    }
    // l
    struct fz_column *el = &c[2].children[0];
    if (r % 7 == 6) {
        fz_column_set_null(&c[2], at);
    } else {
        size_t n = (size_t)(r % 4);
        sample_span(&c[2], at, f->l, n);
        for (size_t j = 0; j < n; j++, f->l++) {
            ((int32_t *)el->data)[f->l] = (int32_t)(r * 10 + (int64_t)j);
            if ((r + (int64_t)j) % 6 == 5) {
                fz_column_set_null(el, f->l);
            }
        }
    }
    // ll
    struct fz_column *inner = &c[3].children[0];
    if (r % 9 == 8) {
        fz_column_set_null(&c[3], at);
    } else {
        size_t n = (size_t)(r % 3);
        sample_span(&c[3], at, f->ll, n);
        for (size_t j = 0; j < n; j++, f->ll++) {
            int64_t q = r + (int64_t)j;
            if (q % 5 == 4) {
                fz_column_set_null(inner, f->ll);
                continue;
            }
            size_t k = (size_t)(q % 3);
            sample_span(inner, f->ll, f->ll_inner, k);
            for (size_t x = 0; x < k; x++, f->ll_inner++) {
                snprintf(text, sizeof text, "%lld/%zu/%zu", (long long)r, j, x);
                ((struct fz_string *)inner->children[0].data)[f->ll_inner] = sample_text(strings, text);
            }
        }
    }
    // m
    struct fz_column *entries = &c[4].children[0];
    if (r % 8 == 7) {
        fz_column_set_null(&c[4], at);
    } else {
        size_t n = (size_t)(r % 3);
        sample_span(&c[4], at, f->m, n);
        for (size_t j = 0; j < n; j++, f->m++) {
            snprintf(text, sizeof text, "k%zu", j);
            ((struct fz_string *)entries->children[0].data)[f->m] = sample_text(strings, text);
            ((int64_t *)entries->children[1].data)[f->m] = r + (int64_t)j;
            if ((r + (int64_t)j) % 4 == 3) {
                fz_column_set_null(&entries->children[1], f->m);
            }
        }
    }
    // ls
    struct fz_column *st = &c[5].children[0];
    size_t n = (size_t)(r % 3);
    sample_span(&c[5], at, f->ls, n);
    for (size_t j = 0; j < n; j++, f->ls++) {
        int64_t q = r + (int64_t)j;
        if (q % 7 == 6) {
            fz_column_set_null(st, f->ls);
            continue;
        }
        ((int32_t *)st->children[0].data)[f->ls] = (int32_t)q;
        if (q % 3 == 2) {
            fz_column_set_null(&st->children[1], f->ls);
            continue;
        }
        size_t k = (size_t)(q % 2 + 1);
        sample_span(&st->children[1], f->ls, f->ls_q, k);
        for (size_t x = 0; x < k; x++, f->ls_q++) {
            ((double *)st->children[1].children[0].data)[f->ls_q] = (double)x + 0.5;
        }
    }
    // rl
    n = (size_t)(r % 3);
    sample_span(&c[6], at, f->rl, n);
    for (size_t j = 0; j < n; j++, f->rl++) {
        ((int64_t *)c[6].children[0].data)[f->rl] = r * 100 + (int64_t)j;
    }
}

static inline enum fz_code sample_reserve_children(struct fz_batch *b, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = (size_t)FZ_BATCH_ROWS * 4;
    FZ_TRY(fz_column_reserve(&b->columns[2].children[0], n, err));
    FZ_TRY(fz_column_reserve(&b->columns[3].children[0], n, err));
    FZ_TRY(fz_column_reserve(&b->columns[3].children[0].children[0], 2 * n, err));
    FZ_TRY(fz_column_reserve(&b->columns[4].children[0], n, err));
    FZ_TRY(fz_column_reserve(&b->columns[5].children[0], n, err));
    FZ_TRY(fz_column_reserve(&b->columns[5].children[0].children[1].children[0], 2 * n, err));
    FZ_TRY(fz_column_reserve(&b->columns[6].children[0], n, err));
out:
    return rc;
}

static inline enum fz_code sample_write_nested(struct fz_writer *sink, struct fz_parquet_write options, int64_t rows,
                                               struct fz_arena *arena, struct fz_parquet_metrics *metrics,
                                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_field fields[SAMPLE_NESTED_FIELDS];
    struct fz_arena types = {0}, strings = {0};
    struct fz_batch batch = {0};
    struct fz_parquet_writer *w = NULL;
    sample_nested_fields(&types, fields);
    options.fields = fields;
    options.n_fields = SAMPLE_NESTED_FIELDS;
    FZ_TRY(fz_batch_init(&batch, fields, SAMPLE_NESTED_FIELDS, FZ_BATCH_ROWS, err));
    FZ_TRY(sample_reserve_children(&batch, err));
    FZ_TRY(fz_parquet_writer_open(sink, &options, &w, err));
    for (int64_t from = 0; from < rows; from += FZ_BATCH_ROWS) {
        bool backwards = from / FZ_BATCH_ROWS % 2 == 1;
        struct sample_fill fill = {0};
        batch.n_rows = rows - from < FZ_BATCH_ROWS ? (size_t)(rows - from) : FZ_BATCH_ROWS;
        for (int c = 0; c < SAMPLE_NESTED_FIELDS; c++) {
            fz_column_reset(&batch.columns[c]);
        }
        for (size_t i = 0; i < batch.n_rows; i++) {
            sample_nested_row(&batch, backwards ? batch.n_rows - 1 - i : i, from + (int64_t)i, &fill, &strings);
        }
        FZ_TRY(sample_append_batch(w, &batch, backwards, err));
        fz_arena_dispose(&strings);
    }
    struct fz_parquet_writer *closing = w;
    w = NULL;
    FZ_TRY(fz_parquet_writer_close(closing, arena, metrics, err));
out:
    fz_parquet_writer_abort(w);
    fz_batch_dispose(&batch);
    fz_arena_dispose(&types);
    fz_arena_dispose(&strings);
    return rc;
}

// ---- text and dictionaries -------------------------------------------------------------------------------------------------

// One string column and one long column, both formulas: `kind` 0: 50 distinct values; 1: all distinct; 2: 3,000-byte texts, all
// distinct; 3: few distinct texts of 3,000 bytes; 4: distinct count that outgrows the dictionary in the middle of a file.
static inline int64_t sample_text_number(int kind, int64_t r) {
    return kind == 0 ? r * 7 % 50 : kind == 3 ? r % 10 : kind == 4 ? (r < 30000 ? r % 1000 : r) : r;
}
static inline enum fz_code sample_write_text(struct fz_writer *sink, struct fz_parquet_write options, int kind,
                                             int64_t rows, struct fz_arena *arena, struct fz_parquet_metrics *metrics,
                                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_field fields[] = {{.id = 1, .name = "s", .type = fz_type_primitive(FZ_TYPE_STRING)},
                                {.id = 2, .name = "n", .required = true, .type = fz_type_primitive(FZ_TYPE_LONG)}};
    struct fz_arena strings = {0};
    struct fz_batch batch = {0};
    struct fz_parquet_writer *w = NULL;
    options.fields = fields;
    options.n_fields = 2;
    FZ_TRY(fz_batch_init(&batch, fields, 2, FZ_BATCH_ROWS, err));
    FZ_TRY(fz_parquet_writer_open(sink, &options, &w, err));
    size_t pad = kind == 2 || kind == 3 ? 3000 : 0;
    for (int64_t from = 0; from < rows; from += FZ_BATCH_ROWS) {
        batch.n_rows = rows - from < FZ_BATCH_ROWS ? (size_t)(rows - from) : FZ_BATCH_ROWS;
        for (size_t i = 0; i < batch.n_rows; i++) {
            int64_t v = sample_text_number(kind, from + (int64_t)i);
            char *text = fz_arena_alloc(&strings, 40 + pad);
            size_t n = (size_t)snprintf(text, 40, "value %09lld", (long long)v);
            memset(text + n, 'p', pad);
            ((struct fz_string *)batch.columns[0].data)[i] = fz_string_of(text, n + pad);
            ((int64_t *)batch.columns[1].data)[i] = v;
        }
        FZ_TRY(sample_append_batch(w, &batch, false, err));
        fz_arena_dispose(&strings);
    }
    struct fz_parquet_writer *closing = w;
    w = NULL;
    FZ_TRY(fz_parquet_writer_close(closing, arena, metrics, err));
out:
    fz_parquet_writer_abort(w);
    fz_batch_dispose(&batch);
    fz_arena_dispose(&strings);
    return rc;
}

#endif
