// include/frazil/frazil.h: fz_inspect. Argument checks and hand-over to inspect/.
#include "api/api_priv.h"
#include "inspect/inspect.h"

static int inspect(const char *path, const struct fz_inspect_options *options,
                   void (*text)(void *ctx, const char *data, size_t len), void *ctx, fz_error *error) {
    enum fz_code rc = FZ_OK;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store = NULL;
    struct fz_buf out = {0};
    if (path == NULL || text == NULL) {
        rc = fz_fail(&err, FZ_INVALID_ARG, "fz_inspect needs the path of a file and a function that takes the text");
        goto out;
    }
    FZ_TRY(fz_store_local_new(&store, &err));
    FZ_TRY(fz_inspect_file(store, path, options, &out, &err));
    text(ctx, out.ptr != NULL ? out.ptr : "", out.len);
out:
    fz_buf_dispose(&out);
    fz_store_unref(store);
    return fz_api_error(rc, &err, error);
}

int fz_inspect(const char *path, int flags, void (*text)(void *ctx, const char *data, size_t len), void *ctx,
               fz_error *error) {
    struct fz_inspect_options options = {.json = (flags & FZ_INSPECT_JSON) != 0, .all = (flags & FZ_INSPECT_ALL) != 0};
    return inspect(path, &options, text, ctx, error);
}

int fz_inspect_first_rows(const char *path, int64_t max_rows, int flags,
                          void (*text)(void *ctx, const char *data, size_t len), void *ctx, fz_error *error) {
    struct fz_inspect_options options = {.json = (flags & FZ_INSPECT_JSON) != 0,
                                         .all = (flags & FZ_INSPECT_ALL) != 0,
                                         .only_rows = true,
                                         .max_rows = max_rows > 0 ? max_rows : 0};
    return inspect(path, &options, text, ctx, error);
}
