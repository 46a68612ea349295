// include/frazil/frazil.h: pipelines. Argument checks and hand-over to cdc/.
#include "api/api_priv.h"
#include "cdc/run.h"

struct fz_pipeline {
    struct fz_cdc_session session;
    struct fz_cdc_pipeline *inner;
};

int fz_pipeline_open(fz_session *session, const char *yaml_path, fz_pipeline **out, fz_error *error) {
    enum fz_code rc = FZ_OK;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_pipeline *p = NULL;
    if (session == NULL || yaml_path == NULL || out == NULL) {
        rc = fz_fail(&err, FZ_INVALID_ARG,
                     "fz_pipeline_open needs a session, the path of a pipeline file and a place for the pipeline");
        goto out;
    }
    FZ_NEW(p, &err);
    p->session = fz_engine_cdc_session(session->engine);
    FZ_TRY(fz_cdc_pipeline_open(&p->session, yaml_path, &p->inner, &err));
    *out = p;
    p = NULL;
out:
    fz_free(p);
    return fz_api_error(rc, &err, error);
}

int fz_pipeline_check(fz_pipeline *pipeline, void (*line)(void *ctx, const char *text), void *ctx, fz_error *error) {
    struct fz_err err = FZ_ERR_INIT;
    return fz_api_error(fz_cdc_pipeline_check(pipeline->inner, line, ctx, &err), &err, error);
}

int fz_pipeline_run(fz_pipeline *pipeline, int once, void (*status)(void *ctx, const char *text), void *ctx,
                    fz_run_stats *out, fz_error *error) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_cdc_stats stats = {0};
    enum fz_code rc = fz_cdc_pipeline_run(pipeline->inner, once != 0, status, ctx, &stats, &err);
    if (out != NULL) {
        *out = (fz_run_stats){.events = stats.events,
                              .changes = stats.changes,
                              .quarantined = stats.quarantined,
                              .commits = stats.commits,
                              .seconds = stats.seconds};
    }
    return fz_api_error(rc, &err, error);
}

void fz_pipeline_close(fz_pipeline *pipeline) {
    if (pipeline != NULL) {
        fz_cdc_pipeline_close(pipeline->inner);
        fz_free(pipeline);
    }
}
