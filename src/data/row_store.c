// Implementation of data/row_store.h. A pushed batch is copied into a page of FZ_BATCH_ROWS rows that one thread at a time fills;
// the lock is held only to take a page and to put it back.
#include "data/row_store.h"

enum { MAX_READERS = 64 };

struct page {
    struct fz_batch batch;
    struct fz_arena strings;
    size_t charged; // bytes asked of the budget
};

struct fz_row_store {
    struct fz_sink sink; // first: the sink is the store
    _Atomic int refs;
    struct fz_field *fields;
    size_t n_fields;
    size_t page_bytes; // of an empty page
    int64_t max_bytes;
    struct fz_budget *budget;
    pthread_mutex_t lock;
    struct page **pages;
    size_t n_pages, cap_pages;
    struct page **open; // not full, nobody fills them
    size_t n_open, cap_open;
    _Atomic int64_t bytes, rows;
    _Atomic bool full;
};

static void free_page(struct page *page) {
    if (page != NULL) {
        fz_batch_dispose(&page->batch);
        fz_arena_dispose(&page->strings);
        fz_free(page);
    }
}

struct fz_row_store *fz_row_store_ref(struct fz_row_store *store) {
    atomic_fetch_add_explicit(&store->refs, 1, memory_order_relaxed);
    return store;
}

void fz_row_store_unref(struct fz_row_store *store) {
    if (store == NULL || atomic_fetch_sub_explicit(&store->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < store->n_pages; i++) {
        free_page(store->pages[i]);
    }
    fz_budget_give(store->budget, store->bytes);
    pthread_mutex_destroy(&store->lock);
    fz_free(store->pages);
    fz_free(store->open);
    fz_free(store->fields);
    fz_free(store);
}

// ---- writing

static enum fz_code charge(struct fz_row_store *store, struct page *page, size_t bytes, struct fz_err *err) {
    if (bytes <= page->charged) {
        return FZ_OK;
    }
    int64_t more = (int64_t)(bytes - page->charged);
    if (atomic_load(&store->bytes) + more > store->max_bytes || !fz_budget_take(store->budget, more)) {
        atomic_store(&store->full, true);
        return fz_fail(err, FZ_LIMIT, "the rows need more memory than %lld bytes", (long long)store->max_bytes);
    }
    page->charged = bytes;
    atomic_fetch_add(&store->bytes, more);
    return FZ_OK;
}

static size_t column_bytes(const struct fz_column *column) {
    size_t total = column->capacity * fz_type_width(column->type) + column->capacity / 8;
    for (size_t i = 0; i < column->n_children; i++) {
        total += column_bytes(&column->children[i]);
    }
    return total;
}

static size_t page_bytes(const struct page *page) {
    size_t total = page->strings.used_bytes;
    for (size_t i = 0; i < page->batch.n_columns; i++) {
        total += column_bytes(&page->batch.columns[i]);
    }
    return total;
}

static enum fz_code take_page(struct fz_row_store *store, struct page **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct page *page = NULL;
    pthread_mutex_lock(&store->lock);
    if (store->n_open > 0) {
        page = store->open[--store->n_open];
    }
    pthread_mutex_unlock(&store->lock);
    if (page == NULL) {
        FZ_NEW(page, err);
        FZ_TRY(charge(store, page, store->page_bytes, err));
        FZ_TRY(fz_batch_init(&page->batch, store->fields, store->n_fields, FZ_BATCH_ROWS, err));
        pthread_mutex_lock(&store->lock);
        rc = fz_grow((void **)&store->pages, &store->cap_pages, store->n_pages + 1, sizeof(struct page *), err);
        if (rc == FZ_OK) {
            store->pages[store->n_pages++] = page;
        }
        pthread_mutex_unlock(&store->lock);
        if (rc != FZ_OK) {
            goto out;
        }
    }
    *out = page;
    page = NULL;
out:
    free_page(page);
    return rc;
}

static enum fz_code put_back(struct fz_row_store *store, struct page *page, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (page->batch.n_rows < FZ_BATCH_ROWS) {
        pthread_mutex_lock(&store->lock);
        rc = fz_grow((void **)&store->open, &store->cap_open, store->n_open + 1, sizeof(struct page *), err);
        if (rc == FZ_OK) {
            store->open[store->n_open++] = page;
        }
        pthread_mutex_unlock(&store->lock);
    }
    return rc;
}

static enum fz_code push(struct fz_sink *sink, const struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_row_store *store = (struct fz_row_store *)sink;
    for (size_t done = 0; done < batch->n_rows;) {
        struct page *page = NULL;
        FZ_TRY(take_page(store, &page, err));
        size_t room = FZ_BATCH_ROWS - page->batch.n_rows, left = batch->n_rows - done;
        size_t n = left < room ? left : room;
        for (size_t i = 0; i < store->n_fields; i++) {
            FZ_TRY(fz_column_copy(&page->batch.columns[i], page->batch.n_rows, &batch->columns[i], done, NULL, n,
                                  &page->strings, err));
        }
        page->batch.n_rows += n;
        done += n;
        FZ_TRY(charge(store, page, page_bytes(page), err));
        FZ_TRY(put_back(store, page, err));
        atomic_fetch_add(&store->rows, (int64_t)n);
    }
out:
    return rc;
}

enum fz_code fz_row_store_new(const struct fz_field *fields, size_t n_fields, int64_t max_bytes,
                              struct fz_budget *budget, struct fz_row_store **out, struct fz_err *err) {
    static const struct fz_sink_vtable vtable = {.push = push};
    enum fz_code rc = FZ_OK;
    struct fz_row_store *store;
    FZ_NEW(store, err);
    store->sink.vtable = &vtable;
    store->refs = 1;
    store->max_bytes = max_bytes;
    store->budget = budget;
    pthread_mutex_init(&store->lock, NULL);
    store->fields = fz_calloc(n_fields + 1, sizeof *store->fields);
    if (store->fields == NULL) {
        rc = fz_fail_nomem(err, n_fields * sizeof *fields);
        goto out;
    }
    memcpy(store->fields, fields, n_fields * sizeof *fields);
    store->n_fields = n_fields;
    for (size_t i = 0; i < n_fields; i++) {
        store->page_bytes += FZ_BATCH_ROWS * fz_type_width(fields[i].type) + FZ_BATCH_ROWS / 8;
    }
    *out = store;
    store = NULL;
out:
    fz_row_store_unref(store);
    return rc;
}

struct fz_sink *fz_row_store_sink(struct fz_row_store *store) {
    return &store->sink;
}

bool fz_row_store_is_full(const struct fz_row_store *store) {
    return atomic_load(&store->full);
}

int64_t fz_row_store_rows(const struct fz_row_store *store) {
    return atomic_load(&store->rows);
}

// ---- reading

struct store_source {
    struct fz_source base;
    struct fz_row_store *store;
    _Atomic size_t next;
};

static void source_free(struct fz_source *base) {
    fz_row_store_unref(((struct store_source *)base)->store);
    fz_free(base);
}

static enum fz_code source_next(struct fz_source *base, void *reader, struct fz_batch *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct store_source *s = (struct store_source *)base;
    const struct fz_column_choice *r = reader;
    out->n_rows = 0;
    size_t at = atomic_fetch_add(&s->next, 1);
    if (at >= s->store->n_pages) {
        return FZ_OK;
    }
    const struct fz_batch *page = &s->store->pages[at]->batch;
    for (size_t i = 0; i < r->n_columns; i++) { // strings stay where they are: the store outlives the reader
        fz_column_reset(&out->columns[i]);
        FZ_TRY(fz_column_copy(&out->columns[i], 0, &page->columns[r->columns[i]], 0, NULL, page->n_rows, NULL, err));
    }
    out->n_rows = page->n_rows;
out:
    return rc;
}

enum fz_code fz_row_store_source(struct fz_row_store *store, struct fz_source **out, struct fz_err *err) {
    static const struct fz_source_vtable vtable = {source_free, fz_column_choice_open, source_next,
                                                   fz_column_choice_close};
    enum fz_code rc = FZ_OK;
    struct store_source *s;
    FZ_NEW(s, err);
    s->base = (struct fz_source){.vtable = &vtable,
                                 .refs = 1,
                                 .fields = store->fields,
                                 .n_fields = store->n_fields,
                                 .estimated_rows = fz_row_store_rows(store),
                                 .max_threads = store->n_pages < MAX_READERS ? (int)store->n_pages : MAX_READERS};
    s->store = fz_row_store_ref(store);
    *out = &s->base;
out:
    return rc;
}
