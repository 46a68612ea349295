// The session: settings, catalogs, the embedded engine, temporary views, statement dispatch. The only folder that sees all of
// the others. Called by api/ only; one thread at a time.
#ifndef FZ_ENGINE_SESSION_H
#define FZ_ENGINE_SESSION_H

#include "catalog/catalog.h"
#include "cdc/run.h"
#include "change/change.h"
#include "duck/duck.h"
#include "sql/bound.h"

struct fz_engine;
struct fz_engine_options {
    const struct fz_property *settings;
    size_t n_settings;
    struct fz_log log;
};
enum fz_code fz_engine_open(const struct fz_engine_options *options, struct fz_engine **out, struct fz_err *err);
void fz_engine_close(struct fz_engine *engine);
void fz_engine_cancel(struct fz_engine *engine); // any thread
const struct fz_progress *fz_engine_progress(const struct fz_engine *engine); // any thread

// The result of one statement: columns and batches. No columns: nothing to show.
struct fz_engine_result;
enum fz_code fz_engine_execute(struct fz_engine *engine, const char *sql, struct fz_engine_result **out,
                               struct fz_err *err);
const struct fz_field *fz_engine_result_columns(const struct fz_engine_result *result, size_t *n);
enum fz_code fz_engine_result_next(struct fz_engine_result *result, const struct fz_batch **out,
                                   struct fz_err *err); // NULL at the end
void fz_engine_result_free(struct fz_engine_result *result);

// The embedded engine, opened on first use and opened again after a failure of its own. NULL on error.
struct fz_duck *fz_engine_duck(struct fz_engine *engine, struct fz_err *err);
// What cdc/ needs of a session; valid as long as the engine.
struct fz_cdc_session fz_engine_cdc_session(struct fz_engine *engine);

#endif
