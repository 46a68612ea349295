// data/row_store.h: what is pushed by several threads comes back whole, as often as it is asked for; the memory bound holds.
#include "leak_check.h"

#include <pthread.h>
#include <stdio.h>

#include "data/row_store.h"

enum { THREADS = 4, BATCHES = 50, ROWS = 333 };

static const struct fz_field *fields(void) {
    static struct fz_field f[2];
    f[0] = (struct fz_field){.id = 1, .name = "n", .type = fz_type_primitive(FZ_TYPE_LONG)};
    f[1] = (struct fz_field){.id = 2, .name = "s", .type = fz_type_primitive(FZ_TYPE_STRING)};
    return f;
}

static const char *text_of(int64_t n, char out[40]) {
    snprintf(out, 40, n % 3 == 0 ? "%lld" : "a text of some length, %lld", (long long)n);
    return out;
}

struct work {
    struct fz_row_store *store;
    int64_t from;
    enum fz_code rc;
};

// Every seventh row's text is NULL. The texts live on the stack of the call: the store must copy them.
static void *push_some(void *ctx) {
    struct work *w = ctx;
    struct fz_err err = FZ_ERR_INIT;
    for (int b = 0; b < BATCHES && w->rc == FZ_OK; b++) {
        struct fz_batch batch;
        char texts[ROWS][40];
        w->rc = fz_batch_init(&batch, fields(), 2, ROWS, &err);
        for (int i = 0; i < ROWS && w->rc == FZ_OK; i++) {
            int64_t n = w->from + b * ROWS + i;
            ((int64_t *)batch.columns[0].data)[i] = n;
            const char *text = text_of(n, texts[i]);
            ((struct fz_string *)batch.columns[1].data)[i] = fz_string_of(text, strlen(text));
            if (n % 7 == 0) {
                fz_column_set_null(&batch.columns[1], (size_t)i);
            }
        }
        batch.n_rows = ROWS;
        struct fz_sink *sink = fz_row_store_sink(w->store);
        w->rc = w->rc == FZ_OK ? sink->vtable->push(sink, &batch, &err) : w->rc;
        fz_batch_dispose(&batch);
    }
    return NULL;
}

static void read_all(struct fz_row_store *store, int64_t total) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_source *source;
    void *reader;
    struct fz_batch batch;
    size_t columns[] = {1, 0}; // the other way round
    struct fz_field wanted[] = {fields()[1], fields()[0]};
    char *seen = fz_calloc((size_t)total, 1), text[40];
    FZ_OK_OR_FAIL(fz_row_store_source(store, &source, &err), &err);
    assert_int_equal(source->estimated_rows, total);
    FZ_OK_OR_FAIL(fz_batch_init(&batch, wanted, 2, FZ_BATCH_ROWS, &err), &err);
    FZ_OK_OR_FAIL(source->vtable->open(source, columns, 2, &reader, &err), &err);
    int64_t count = 0;
    for (;;) {
        FZ_OK_OR_FAIL(source->vtable->next(source, reader, &batch, &err), &err);
        if (batch.n_rows == 0) {
            break;
        }
        for (size_t i = 0; i < batch.n_rows; i++, count++) {
            int64_t n = ((int64_t *)batch.columns[1].data)[i];
            assert_true(n >= 0 && n < total && !seen[n]);
            seen[n] = 1;
            assert_int_equal(fz_column_is_valid(&batch.columns[0], i), n % 7 != 0);
            const struct fz_string *s = &((struct fz_string *)batch.columns[0].data)[i];
            if (n % 7 != 0) {
                text_of(n, text);
                assert_int_equal(s->length, strlen(text));
                assert_memory_equal(fz_string_ptr(s), text, s->length);
            }
        }
    }
    assert_int_equal(count, total);
    source->vtable->close(source, reader);
    fz_source_unref(source);
    fz_batch_dispose(&batch);
    fz_free(seen);
}

static void rows_come_back(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_row_store *store;
    struct fz_budget budget = {.limit_bytes = 64 << 20};
    pthread_t threads[THREADS];
    struct work work[THREADS];
    FZ_OK_OR_FAIL(fz_row_store_new(fields(), 2, INT64_MAX, &budget, &store, &err), &err);
    for (int i = 0; i < THREADS; i++) {
        work[i] = (struct work){store, (int64_t)i * BATCHES * ROWS, FZ_OK};
        assert_int_equal(pthread_create(&threads[i], NULL, push_some, &work[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(work[i].rc, FZ_OK);
    }
    int64_t total = (int64_t)THREADS * BATCHES * ROWS;
    assert_int_equal(fz_row_store_rows(store), total);
    assert_true(budget.used_bytes > total * 24); // a long and a string each, and the long texts
    read_all(store, total);
    read_all(store, total);
    fz_row_store_unref(store);
    assert_int_equal(budget.used_bytes, 0);
}

static void the_bound_holds(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    for (int by_budget = 0; by_budget < 2; by_budget++) {
        struct fz_row_store *store;
        struct fz_budget budget = {.limit_bytes = by_budget ? 200000 : INT64_MAX};
        FZ_OK_OR_FAIL(fz_row_store_new(fields(), 2, by_budget ? INT64_MAX : 200000, &budget, &store, &err), &err);
        struct work work = {store, 0, FZ_OK};
        push_some(&work);
        assert_int_equal(work.rc, FZ_LIMIT);
        assert_true(fz_row_store_is_full(store));
        assert_true(budget.used_bytes <= 200000);
        fz_row_store_unref(store);
        assert_int_equal(budget.used_bytes, 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(rows_come_back), FZ_TEST(the_bound_holds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
