// Opens a source for every table that a bound statement reads and registers it with the embedded engine.
#include "engine/engine_priv.h"
#include "scan/scan.h"

static enum fz_code open_data(struct fz_statement *s, const struct fz_sql_scan *scan, const struct fz_engine_table *t,
                              struct fz_source **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_plan *plan = NULL;
    struct fz_scan_options options = {
        .store = s->engine->store,
        .metadata = t->metadata,
        .snapshot_id = t->snapshot_id,
        .schema = t->schema,
        .filter = scan->filter,
        .cancel = &s->engine->cancel,
    };
    FZ_TRY(fz_scan_plan_new(&options, &plan, err));
    struct fz_scan_source_options source = {
        .plan = plan,
        .store = s->engine->store,
        .fields = scan->columns,
        .n_fields = scan->n_columns,
        .cancel = &s->engine->cancel,
        .progress = &s->engine->progress,
    };
    FZ_TRY(fz_scan_source_new(&source, out, err));
out:
    fz_scan_plan_unref(plan);
    return rc;
}

static enum fz_code open_metadata(struct fz_statement *s, const struct fz_engine_table *t, struct fz_source **out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_rows rows = {0};
    const struct fz_field *fields;
    size_t n;
    FZ_TRY(fz_metadata_table_fields(&s->arena, t, &fields, &n, err));
    fz_rows_init(&rows, fields, n);
    FZ_TRY(fz_metadata_table_rows(s->engine, t, fields, n, &rows, err));
    FZ_TRY(fz_rows_source(&rows, out, err));
out:
    fz_rows_dispose(&rows);
    return rc;
}

enum fz_code fz_statement_open_scans(struct fz_statement *s, struct fz_sql_scan **scans, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = NULL;
    struct fz_duck *duck = fz_engine_duck(s->engine, err);
    if (duck == NULL) {
        return err != NULL ? err->code : FZ_ENGINE;
    }
    for (size_t i = 0; i < n; i++) {
        const struct fz_engine_table *t = scans[i]->table.handle;
        if (scans[i]->table.duck_relation != NULL || scans[i]->registered_id > 0) {
            continue;
        }
        FZ_TRY(fz_grow((void **)&s->registered, &s->cap_registered, s->n_registered + 1, sizeof *s->registered, err));
        FZ_TRY(t->kind == FZ_TABLE_METADATA ? open_metadata(s, t, &source, err)
                                            : open_data(s, scans[i], t, &source, err));
        FZ_TRY(fz_duck_register(duck, source, &scans[i]->registered_id, err));
        s->registered[s->n_registered++] = scans[i]->registered_id;
        fz_source_unref(source);
        source = NULL;
    }
out:
    fz_source_unref(source);
    return rc;
}
