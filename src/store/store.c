// The calls of store/store.h that every backend shares: hand-over to the vtable, whole reads, and the router.
#include "store/store.h"

struct fz_store *fz_store_ref(struct fz_store *store) {
    if (store != NULL) {
        atomic_fetch_add_explicit(&store->refs, 1, memory_order_relaxed);
    }
    return store;
}

void fz_store_unref(struct fz_store *store) {
    if (store != NULL && atomic_fetch_sub_explicit(&store->refs, 1, memory_order_acq_rel) == 1) {
        store->vtable->free(store);
    }
}

static bool is_scheme_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
           c == '.';
}

struct fz_str fz_location_scheme(const char *location) {
    size_t n = 0;
    while (is_scheme_char(location[n])) {
        n++;
    }
    bool is_uri = n > 0 && strncmp(location + n, "://", 3) == 0;
    bool is_file = n == 4 && strncmp(location, "file:", 5) == 0;
    return (struct fz_str){location, is_uri || is_file ? n : 0};
}

enum fz_code fz_store_size(struct fz_store *store, const char *location, int64_t *out_bytes, struct fz_err *err) {
    return store->vtable->size(store, location, out_bytes, err);
}

enum fz_code fz_store_submit(struct fz_store *store, const char *location, const struct fz_range *ranges, size_t n,
                             struct fz_ticket **out, struct fz_err *err) {
    for (size_t i = 0; i < n; i++) {
        if (ranges[i].offset < 0 || ranges[i].length > (size_t)(INT64_MAX - ranges[i].offset)) {
            return fz_fail(err, FZ_CORRUPT, "bytes %lld to +%zu of %s cannot exist", (long long)ranges[i].offset,
                           ranges[i].length, location);
        }
    }
    return store->vtable->submit(store, location, ranges, n, out, err);
}

enum fz_code fz_ticket_wait(struct fz_ticket *ticket, struct fz_cancel *cancel, struct fz_err *err) {
    return ticket->store->vtable->wait(ticket, cancel, err);
}

enum fz_code fz_store_read(struct fz_store *store, const char *location, int64_t offset, size_t len, void *dst,
                           struct fz_cancel *cancel, struct fz_err *err) {
    struct fz_range range = {.offset = offset, .length = len, .dst = dst};
    struct fz_ticket *ticket = NULL;
    enum fz_code rc = fz_store_submit(store, location, &range, 1, &ticket, err);
    return rc == FZ_OK ? fz_ticket_wait(ticket, cancel, err) : rc;
}

enum fz_code fz_store_read_all(struct fz_store *store, const char *location, size_t max_bytes, struct fz_buf *out,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t size = 0;
    FZ_TRY(fz_store_size(store, location, &size, err));
    if ((uint64_t)size > max_bytes) {
        return fz_fail(err, FZ_LIMIT, "%s has %lld bytes, more than the %zu allowed here", location, (long long)size,
                       max_bytes);
    }
    if (!fz_buf_reserve(out, (size_t)size)) {
        return fz_fail_nomem(err, (size_t)size);
    }
    if (size > 0) {
        FZ_TRY(fz_store_read(store, location, 0, (size_t)size, out->ptr + out->len, NULL, err));
    }
    out->len += (size_t)size;
out:
    if (out->ptr != NULL) {
        out->ptr[out->len] = 0;
    }
    return rc;
}

enum fz_code fz_store_put(struct fz_store *store, const char *location, const void *data, size_t len, bool if_absent,
                          struct fz_err *err) {
    return store->vtable->put(store, location, data, len, if_absent, err);
}

enum fz_code fz_store_writer_open(struct fz_store *store, const char *location, struct fz_writer **out,
                                  struct fz_err *err) {
    return store->vtable->writer_open(store, location, out, err);
}

enum fz_code fz_writer_append(struct fz_writer *writer, const void *data, size_t len, struct fz_err *err) {
    enum fz_code rc = writer->vtable->append(writer, data, len, err);
    if (rc == FZ_OK) {
        writer->written_bytes += (int64_t)len;
    }
    return rc;
}

enum fz_code fz_writer_close(struct fz_writer *writer, struct fz_err *err) {
    return writer->vtable->close(writer, err);
}

void fz_writer_abort(struct fz_writer *writer) {
    if (writer != NULL) {
        writer->vtable->abort(writer);
    }
}

enum fz_code fz_store_list(struct fz_store *store, const char *prefix, fz_list_fn fn, void *ctx, struct fz_err *err) {
    return store->vtable->list(store, prefix, fn, ctx, err);
}

enum fz_code fz_store_remove(struct fz_store *store, const char *location, struct fz_err *err) {
    return store->vtable->remove(store, location, err);
}
