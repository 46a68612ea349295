// What run.c and check.c share: the stages of one run, put together.
#ifndef FZ_CDC_RUN_PRIV_H
#define FZ_CDC_RUN_PRIV_H

#include "cdc/apply/apply.h"
#include "cdc/decode/decode_debezium.h"
#include "cdc/fold/fold.h"
#include "cdc/run.h"

struct fz_cdc_pipeline {
    struct fz_cdc_session session;
    struct fz_pipeline *pipeline;
};
struct fz_run {
    struct fz_cdc_pipeline *p;
    struct fz_arena arena;
    struct fz_apply apply;
    struct fz_cdc_tables tables;
    struct fz_fold **folds; // one per table
    size_t cap_folds;
    struct fz_cdc_decoder *decoder;
    struct fz_cdc_source *source;
    struct fz_map start; // stream -> first offset wanted
    struct fz_quarantine quarantine;
    struct fz_cdc_stats stats;
    fz_cdc_line_fn line;
    void *line_ctx;
    struct fz_buf key, text;
    int64_t batch_started_us, batch_changes, forced_until;
    int64_t n_unrouted;
};
enum fz_code fz_run_open(struct fz_run *run, struct fz_cdc_pipeline *p, fz_cdc_line_fn line, void *ctx,
                         struct fz_err *err);
void fz_run_close(struct fz_run *run);
// Decodes one record and folds it in, or puts it into the quarantine.
enum fz_code fz_run_record(struct fz_run *run, const struct fz_cdc_record *record, struct fz_err *err);
void fz_run_line(struct fz_run *run, const char *fmt, ...) FZ_PRINTF(2, 3);

#endif
