// The router: a store that hands every call to the store of the location's scheme.
#include "store/store.h"

#include "base/text.h"

struct router_store {
    struct fz_store base;
    struct fz_store **stores;
    size_t n;
};

// "" and "file" are the same; so are the names that Hadoop gave to S3.
static struct fz_str canonical_scheme(struct fz_str scheme) {
    if (scheme.len == 0) {
        return FZ_STR_LIT("file");
    }
    if (fz_str_ieq(scheme, FZ_STR_LIT("s3a")) || fz_str_ieq(scheme, FZ_STR_LIT("s3n"))) {
        return FZ_STR_LIT("s3");
    }
    return scheme;
}

static enum fz_code route(struct fz_store *store, const char *location, struct fz_store **out, struct fz_err *err) {
    struct router_store *router = (struct router_store *)store;
    struct fz_str scheme = canonical_scheme(fz_location_scheme(location));
    for (size_t i = 0; i < router->n; i++) {
        if (fz_str_ieq(canonical_scheme(fz_str_of(router->stores[i]->vtable->scheme)), scheme)) {
            *out = router->stores[i];
            return FZ_OK;
        }
    }
    return fz_fail(err, FZ_UNSUPPORTED, "no store for the scheme \"%.*s\" of %s", (int)scheme.len, scheme.ptr,
                   location);
}

static void router_free(struct fz_store *store) {
    struct router_store *router = (struct router_store *)store;
    for (size_t i = 0; i < router->n; i++) {
        fz_store_unref(router->stores[i]);
    }
    fz_free(router->stores);
    fz_free(router);
}

static enum fz_code router_size(struct fz_store *store, const char *location, int64_t *out_bytes, struct fz_err *err) {
    struct fz_store *to;
    enum fz_code rc = route(store, location, &to, err);
    return rc == FZ_OK ? fz_store_size(to, location, out_bytes, err) : rc;
}

static enum fz_code router_submit(struct fz_store *store, const char *location, const struct fz_range *ranges, size_t n,
                                  struct fz_ticket **out, struct fz_err *err) {
    struct fz_store *to;
    enum fz_code rc = route(store, location, &to, err);
    return rc == FZ_OK ? fz_store_submit(to, location, ranges, n, out, err) : rc;
}

// Tickets belong to the store that made them, so none of the router's ever exists.
static enum fz_code router_wait(struct fz_ticket *ticket, struct fz_cancel *cancel, struct fz_err *err) {
    (void)ticket;
    (void)cancel;
    return fz_fail(err, FZ_BUG, "the router makes no tickets of its own");
}

static enum fz_code router_put(struct fz_store *store, const char *location, const void *data, size_t len,
                               bool if_absent, struct fz_err *err) {
    struct fz_store *to;
    enum fz_code rc = route(store, location, &to, err);
    return rc == FZ_OK ? fz_store_put(to, location, data, len, if_absent, err) : rc;
}

static enum fz_code router_writer_open(struct fz_store *store, const char *location, struct fz_writer **out,
                                       struct fz_err *err) {
    struct fz_store *to;
    enum fz_code rc = route(store, location, &to, err);
    return rc == FZ_OK ? fz_store_writer_open(to, location, out, err) : rc;
}

static enum fz_code router_list(struct fz_store *store, const char *prefix, fz_list_fn fn, void *ctx,
                                struct fz_err *err) {
    struct fz_store *to;
    enum fz_code rc = route(store, prefix, &to, err);
    return rc == FZ_OK ? fz_store_list(to, prefix, fn, ctx, err) : rc;
}

static enum fz_code router_remove(struct fz_store *store, const char *location, struct fz_err *err) {
    struct fz_store *to;
    enum fz_code rc = route(store, location, &to, err);
    return rc == FZ_OK ? fz_store_remove(to, location, err) : rc;
}

static enum fz_code router_list_folder(struct fz_store *store, const char *prefix, fz_list_fn fn, void *ctx,
                                       struct fz_err *err) {
    struct fz_store *to;
    enum fz_code rc = route(store, prefix, &to, err);
    return rc == FZ_OK ? fz_store_list_folder(to, prefix, fn, ctx, err) : rc;
}

static const struct fz_store_vtable router_vtable = {
    .scheme = "router",
    .free = router_free,
    .size = router_size,
    .submit = router_submit,
    .wait = router_wait,
    .put = router_put,
    .writer_open = router_writer_open,
    .list = router_list,
    .remove = router_remove,
    .list_folder = router_list_folder,
};

enum fz_code fz_store_router_new(struct fz_store *const *stores, size_t n, struct fz_store **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct router_store *router = NULL;
    FZ_NEW(router, err);
    router->base = (struct fz_store){.vtable = &router_vtable, .refs = 1};
    router->stores = fz_calloc(n, sizeof *router->stores);
    if (router->stores == NULL) {
        rc = fz_fail_nomem(err, n * sizeof *router->stores);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        router->stores[i] = fz_store_ref(stores[i]);
    }
    router->n = n;
    *out = &router->base;
out:
    if (rc != FZ_OK) {
        fz_free(router);
    }
    return rc;
}
