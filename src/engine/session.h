// The session: settings, catalogs, the embedded engine, temporary views, statement dispatch. The only folder that sees all of
// the others. Called by api/ only; one thread at a time.
#ifndef FZ_ENGINE_SESSION_H
#define FZ_ENGINE_SESSION_H

#include "catalog/catalog.h"
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

// The result of one statement: columns and batches. No columns: nothing to show.
struct fz_engine_result;
enum fz_code fz_engine_execute(struct fz_engine *engine, const char *sql, struct fz_engine_result **out, struct fz_err *err);
const struct fz_field *fz_engine_result_columns(const struct fz_engine_result *result, size_t *n);
enum fz_code fz_engine_result_next(struct fz_engine_result *result, const struct fz_batch **out, struct fz_err *err); // NULL at the end
void fz_engine_result_free(struct fz_engine_result *result);

// What cdc/ needs of a session. Borrowed.
struct fz_duck *fz_engine_duck(struct fz_engine *engine, struct fz_err *err); // opens the database on first use
struct fz_store *fz_engine_store(struct fz_engine *engine);
struct fz_cancel *fz_engine_cancel_token(struct fz_engine *engine);
struct fz_budget *fz_engine_budget(struct fz_engine *engine);
const struct fz_log *fz_engine_log(struct fz_engine *engine);
// Catalog and table name of "lake.silver.orders" or "silver.orders" (current catalog); parts in `arena`.
enum fz_code fz_engine_resolve_name(struct fz_engine *engine, struct fz_arena *arena, const char *dotted, struct fz_catalog **out_catalog,
                                    struct fz_table_name *out_name, struct fz_err *err);
struct fz_sql_env fz_engine_sql_env(struct fz_engine *engine);

#endif
