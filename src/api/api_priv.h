// What the files of api/ share: the handles behind include/frazil/frazil.h.
#ifndef FZ_API_API_PRIV_H
#define FZ_API_API_PRIV_H

#include "engine/session.h"
#include "frazil/frazil.h"

struct fz_session {
    struct fz_engine *engine;
    fz_notice_fn notice;
    void *notice_ctx;
};

struct fz_result {
    struct fz_session *session;
    struct fz_engine_result *inner;
    const struct fz_field *fields;
    size_t n_fields;
    const struct fz_batch *batch; // current one
    size_t row;
    struct fz_buf *cells; // one a column, text of the current row
    const char **values;
    char **type_names;
};

// Copies an error out; returns its code as an int (0: none).
int fz_api_error(enum fz_code rc, const struct fz_err *err, fz_error *out);

#endif
