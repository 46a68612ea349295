// A pipeline over a session: what engine/ and api/ call. cdc/ knows nothing of engine/: what it needs of a session comes in
// struct fz_cdc_session, which engine/ fills.
#ifndef FZ_CDC_RUN_H
#define FZ_CDC_RUN_H

#include "catalog/catalog.h"
#include "duck/duck.h"

struct fz_cdc_session { // borrowed for the pipeline's life
    void *ctx;
    // The embedded engine, opened on first use.
    enum fz_code (*duck)(void *ctx, struct fz_duck **out, struct fz_err *err);
    // "lake.silver.orders" or "silver.orders" (current catalog) -> catalog and name; parts live in `arena`.
    enum fz_code (*resolve)(void *ctx, struct fz_arena *arena, const char *dotted, struct fz_catalog **out_catalog,
                            struct fz_table_name *out_name, struct fz_err *err);
    struct fz_store *store;
    struct fz_cancel *cancel;
    struct fz_budget *budget;
    const struct fz_log *log;
};
struct fz_cdc_stats {
    int64_t events; // records that belong to tables, those applied before left out
    int64_t changes; // rows inserted, updated and deleted in tables
    int64_t quarantined;
    int64_t commits; // snapshots, those of the quarantine included
    double seconds;
};
typedef void (*fz_cdc_line_fn)(void *ctx, const char *text);

struct fz_cdc_pipeline;
// Reads and checks the file; err->line and err->column point into it.
enum fz_code fz_cdc_pipeline_open(const struct fz_cdc_session *session, const char *path, struct fz_cdc_pipeline **out,
                                  struct fz_err *err);
void fz_cdc_pipeline_close(struct fz_cdc_pipeline *pipeline);
// The configuration, and for each table its columns with types and encodings, the DDL and the MERGE that a run would use, and
// warnings; reads the first 10,000 records of the source, writes nothing. OK when the pipeline could run.
enum fz_code fz_cdc_pipeline_check(struct fz_cdc_pipeline *pipeline, fz_cdc_line_fn line, void *ctx,
                                   struct fz_err *err);
// `once`: until the end of what the source holds now; else until cancelled (which then is no error; an unfinished batch is
// read again the next time). `status` gets a line per commit, "0 changes" when there was none. CONFLICT: another instance writes the
// same table. COMMIT_UNKNOWN: see commit/.
enum fz_code fz_cdc_pipeline_run(struct fz_cdc_pipeline *pipeline, bool once, fz_cdc_line_fn status, void *ctx,
                                 struct fz_cdc_stats *out, struct fz_err *err);

#endif
