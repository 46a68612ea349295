// Test material for duck/: a source whose rows are a pure function of the row number, in every type, and a sink that compares
// what arrives with the same function.
#ifndef FZ_TEST_DUCK_ROWS_H
#define FZ_TEST_DUCK_ROWS_H

#include "leak_check.h"

#include <stdio.h>

#include "duck/duck.h"

static inline const struct fz_value *rows_value(struct fz_arena *arena, const struct fz_type *type, int64_t row,
                                                int salt) {
    struct fz_value *v = fz_arena_alloc(arena, sizeof *v);
    v->type = type;
    uint64_t mix = (uint64_t)(row * 7 + salt * 13 + 5);
    v->is_null = mix % 11 == 3 || type->id == FZ_TYPE_UNKNOWN;
    if (v->is_null) {
        return v;
    }
    int64_t sign = mix % 2 ? 1 : -1;
    switch ((int)type->id) {
    case FZ_TYPE_BOOLEAN:
        v->u.boolean = mix % 3 == 0;
        break;
    case FZ_TYPE_BYTE:
        v->u.i64 = (int64_t)(mix % 256) - 128;
        break;
    case FZ_TYPE_SHORT:
        v->u.i64 = (int64_t)(mix % 65536) - 32768;
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
    case FZ_TYPE_INTERVAL_YM:
        v->u.i64 = sign * (int64_t)(mix * 101 % 2000000);
        break;
    case FZ_TYPE_TIME:
        v->u.i64 = (int64_t)(mix * 1000003 % 86400000000);
        break;
    case FZ_TYPE_FLOAT:
        v->u.f32 = (float)(sign * (int64_t)(mix % 1000)) / 8;
        break;
    case FZ_TYPE_DOUBLE:
        v->u.f64 = (double)(sign * (int64_t)mix) / 16;
        break;
    case FZ_TYPE_DECIMAL: {
        __int128 x = 1;
        for (int i = 0; i < type->precision; i++) {
            x = x * 10 - (i % 3);
        }
        v->u.i128 = fz_i128_of(sign * (x / (__int128)(1 + mix % 9)) / 2);
        break;
    }
    case FZ_TYPE_UUID:
        v->u.i128 = (struct fz_i128){mix, (int64_t)(mix * 0x9e3779b97f4a7c15u)};
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY: {
        char text[64];
        int n = mix % 5 == 0  ? 0
                : mix % 5 < 3 ? snprintf(text, sizeof text, "s%lld", (long long)row)
                              : snprintf(text, sizeof text, "longer than inline ü %lld", (long long)row);
        v->u.bytes = (struct fz_str){fz_arena_strndup(arena, text, (size_t)n), (size_t)n};
        break;
    }
    case FZ_TYPE_FIXED: {
        char *bytes = fz_arena_alloc(arena, (size_t)type->length);
        memset(bytes, (int)(mix % 200), (size_t)type->length);
        v->u.bytes = (struct fz_str){bytes, (size_t)type->length};
        break;
    }
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP: {
        size_t n = type->id == FZ_TYPE_STRUCT ? type->n_fields : mix % 4, per = type->id == FZ_TYPE_MAP ? 2 : 1;
        struct fz_value *items = fz_arena_array(arena, n * per + 1, sizeof *items);
        for (size_t i = 0; i < n * per; i++) {
            const struct fz_field *f = &type->fields[type->id == FZ_TYPE_STRUCT ? i
                                                     : type->id == FZ_TYPE_MAP  ? i % 2
                                                                                : 0];
            items[i] = *rows_value(arena, f->type, row + (int64_t)i, salt + 1);
            if (type->id == FZ_TYPE_MAP && i % 2 == 0) { // keys: not NULL and different
                items[i] = (struct fz_value){.type = f->type, .u.i64 = row * 4 + (int64_t)i};
            }
        }
        v->u.nested.items = items;
        v->u.nested.n = type->id == FZ_TYPE_MAP ? n * 2 : n;
        break;
    }
    default: // long and all timestamps
        v->u.i64 = sign * (int64_t)(mix * 1000003);
    }
    return v;
}

struct rows_source {
    struct fz_source base;
    int64_t n_rows, fail_at; // fail_at < 0: never
    _Atomic int64_t next_row;
    _Atomic int open_readers, n_opened;
    struct fz_cancel *fire_at_first; // fired from inside the callback
};
struct rows_reader {
    size_t columns[64], n;
    struct fz_arena arena;
};
static void rows_free(struct fz_source *source) {
    (void)source; // on the test's stack
}
static enum fz_code rows_open(struct fz_source *source, const size_t *columns, size_t n, void **out,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct rows_reader *reader = NULL;
    FZ_NEW(reader, err);
    memcpy(reader->columns, columns, n * sizeof *columns);
    reader->n = n;
    ((struct rows_source *)source)->open_readers++;
    ((struct rows_source *)source)->n_opened++;
    *out = reader;
out:
    return rc;
}
static enum fz_code rows_next(struct fz_source *base, void *ptr, struct fz_batch *batch, struct fz_err *err) {
    struct rows_source *source = (struct rows_source *)base;
    struct rows_reader *reader = ptr;
    int64_t from = atomic_fetch_add(&source->next_row, 1000), to = from + 1000;
    fz_arena_dispose(&reader->arena);
    to = to > source->n_rows ? source->n_rows : to;
    if (source->fire_at_first) {
        fz_cancel_fire(source->fire_at_first);
    }
    for (int64_t row = from; row < to; row++) {
        if (row == source->fail_at) {
            return fz_fail_cond(err, FZ_CORRUPT, "TEST_CONDITION", "row %lld is bad", (long long)row);
        }
        for (size_t i = 0; i < reader->n; i++) {
            const struct fz_field *field = &source->base.fields[reader->columns[i]];
            const struct fz_value *v = rows_value(&reader->arena, field->type, row, field->id);
            struct fz_value number = {.type = field->type, .u.i64 = row};
            enum fz_code rc =
                fz_value_store(&batch->columns[i], (size_t)(row - from), reader->columns[i] == 0 ? &number : v, err);
            if (rc != FZ_OK) {
                return rc;
            }
        }
    }
    batch->n_rows = to > from ? (size_t)(to - from) : 0;
    return FZ_OK;
}
static void rows_close(struct fz_source *source, void *ptr) {
    struct rows_reader *reader = ptr;
    ((struct rows_source *)source)->open_readers--;
    fz_arena_dispose(&reader->arena);
    fz_free(reader);
}
static const struct fz_source_vtable rows_vtable = {rows_free, rows_open, rows_next, rows_close};

// Field 0 is the row number.
static inline void rows_init(struct rows_source *source, const struct fz_field *fields, size_t n, int64_t n_rows) {
    *source = (struct rows_source){.base = {&rows_vtable, 1, fields, n, n_rows, 4}, .n_rows = n_rows, .fail_at = -1};
}

struct rows_sink {
    struct fz_sink base;
    const struct fz_field *fields;
    const char *reject; // raise this
    _Atomic int64_t rows, wrong, row_sum;
    pthread_t threads[16];
    pthread_mutex_t lock;
    int n_threads;
};
static enum fz_code rows_push(struct fz_sink *base, const struct fz_batch *batch, struct fz_err *err) {
    struct rows_sink *sink = (struct rows_sink *)base;
    struct fz_arena arena = {0};
    if (sink->reject) {
        return fz_fail(err, FZ_IO, "%s", sink->reject);
    }
    for (size_t r = 0; r < batch->n_rows; r++) {
        int64_t row = ((const int64_t *)batch->columns[0].data)[r];
        sink->row_sum += row;
        for (size_t i = 1; i < batch->n_columns; i++) {
            struct fz_value have = fz_value_at(&batch->columns[i], r, &arena);
            const struct fz_value *want = rows_value(&arena, sink->fields[i].type, row, sink->fields[i].id);
            if (!fz_value_equal(&have, want)) {
                if (sink->wrong++ == 0) {
                    struct fz_buf a = {0}, b = {0};
                    fz_value_print(&a, &have);
                    fz_value_print(&b, want);
                    fprintf(stderr, "row %lld field %d: have %s, want %s\n", (long long)row, sink->fields[i].id, a.ptr,
                            b.ptr);
                    fz_buf_dispose(&a);
                    fz_buf_dispose(&b);
                }
            }
        }
    }
    sink->rows += (int64_t)batch->n_rows;
    pthread_mutex_lock(&sink->lock);
    bool seen = false;
    for (int i = 0; i < sink->n_threads; i++) {
        seen |= pthread_equal(sink->threads[i], pthread_self()) != 0;
    }
    if (!seen && sink->n_threads < 16) {
        sink->threads[sink->n_threads++] = pthread_self();
    }
    pthread_mutex_unlock(&sink->lock);
    fz_arena_dispose(&arena);
    return FZ_OK;
}
static const struct fz_sink_vtable rows_sink_vtable = {rows_push};
static inline void rows_sink_init(struct rows_sink *sink, const struct fz_field *fields) {
    *sink = (struct rows_sink){.base = {&rows_sink_vtable}, .fields = fields};
    pthread_mutex_init(&sink->lock, NULL);
}

static inline struct fz_duck *open_duck(struct fz_cancel *cancel) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_duck *duck = NULL;
    struct fz_duck_options options = {.memory_bytes = 512 << 20, .threads = 2, .time_zone = "UTC", .cancel = cancel};
    FZ_OK_OR_FAIL(fz_duck_open(&options, &duck, &err), &err);
    return duck;
}

#endif
