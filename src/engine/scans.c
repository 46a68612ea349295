// Opens a source for every table that a bound statement reads and registers it with the embedded engine.
#include "engine/engine_priv.h"
#include "scan/scan.h"

enum { MAX_DEPTH = 200 };

// Pruning knows one table, as relation 0; in a query the table has the number of its place in FROM. NULL: no memory, or too deep: then
// there is no pruning by it.
static const struct fz_expr *as_relation_zero(struct fz_arena *arena, const struct fz_expr *e, int depth) {
    struct fz_expr *copy = fz_arena_memdup(arena, e, sizeof *e);
    const struct fz_expr **args = fz_arena_array(arena, e->n_args + 1, sizeof *args);
    if (copy == NULL || args == NULL || depth > MAX_DEPTH || e->kind == FZ_EXPR_SUBQUERY) {
        return NULL;
    }
    if (e->kind == FZ_EXPR_COLUMN) {
        copy->u.column.relation = 0;
    }
    for (size_t i = 0; i < e->n_args; i++) {
        args[i] = as_relation_zero(arena, e->args[i], depth + 1);
        if (args[i] == NULL) {
            return NULL;
        }
    }
    copy->args = args;
    return copy;
}

static enum fz_code open_data(struct fz_statement *s, const struct fz_sql_scan *scan, const struct fz_engine_table *t,
                              struct fz_scan_plan **out_plan, struct fz_source **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_plan *plan = NULL;
    struct fz_scan_keys *keys = NULL;
    struct fz_scan_options options = {
        .store = s->engine->store,
        .metadata = t->metadata,
        .snapshot_id = t->snapshot_id,
        .appended = t->appended,
        .after_snapshot_id = t->after_snapshot_id,
        .schema = t->schema,
        .filter = scan->filter != NULL ? as_relation_zero(&s->arena, scan->filter, 0) : NULL,
        .cancel = &s->engine->cancel,
    };
    FZ_TRY(fz_scan_plan_new(&options, &plan, err));
    FZ_TRY(fz_filter_keys(s, scan, &keys, err));
    struct fz_scan_source_options source = {
        .plan = plan,
        .keys = keys,
        .keys_optional = true,
        .store = s->engine->store,
        .fields = scan->columns,
        .n_fields = scan->n_columns,
        .cancel = &s->engine->cancel,
        .progress = &s->engine->progress,
    };
    FZ_TRY(fz_scan_source_new(&source, out, err));
    if (out_plan != NULL) {
        *out_plan = fz_scan_plan_ref(plan);
    }
out:
    fz_scan_keys_unref(keys);
    fz_scan_plan_unref(plan);
    return rc;
}

static enum fz_code open_metadata(struct fz_statement *s, const struct fz_engine_table *t, struct fz_source **out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_field *fields;
    size_t n;
    FZ_TRY(fz_metadata_table_fields(&s->arena, t, &fields, &n, err));
    FZ_TRY(fz_metadata_table_source(s->engine, t, fields, n, out, err));
out:
    return rc;
}

static void put_megabytes(struct fz_buf *out, int64_t bytes) {
    fz_buf_printf(out, "%.3f MB", (double)bytes / 1e6);
}

enum fz_code fz_statement_explain_scans(struct fz_statement *s, struct fz_sql_scan **scans, size_t n,
                                        struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = NULL;
    struct fz_scan_plan *plan = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct fz_engine_table *t = scans[i]->table.handle;
        if (scans[i]->table.duck_relation != NULL || t->kind != FZ_TABLE_DATA) {
            continue;
        }
        struct fz_scan_counters c;
        FZ_TRY(open_data(s, scans[i], t, &plan, &source, err));
        FZ_TRY(fz_scan_source_survey(source, err));
        fz_scan_source_counters(source, &c);
        fz_buf_printf(out, "\nscan of %s\n  files: %lld kept, %lld left out by partition and bounds, %lld by keys\n",
                      scans[i]->table.name, (long long)(c.files - c.files_by_keys), (long long)plan->files_skipped,
                      (long long)c.files_by_keys);
        fz_buf_printf(out, "  row groups: %lld kept, %lld left out by bounds, %lld by keys, %lld by bloom filter\n",
                      (long long)(c.row_groups - c.row_groups_by_range - c.row_groups_by_keys - c.row_groups_by_bloom),
                      (long long)c.row_groups_by_range, (long long)c.row_groups_by_keys,
                      (long long)c.row_groups_by_bloom);
        fz_buf_printf(out, "  pages of key columns: %lld kept, %lld left out by keys\n  columns: ",
                      (long long)(c.pages - c.pages_by_keys), (long long)c.pages_by_keys);
        put_megabytes(out, c.bytes);
        fz_buf_puts(out, " of those that are needed, of files with ");
        put_megabytes(out, plan->bytes_kept + plan->bytes_skipped);
        fz_buf_putc(out, '\n');
        fz_source_unref(source);
        fz_scan_plan_unref(plan);
        source = NULL;
        plan = NULL;
    }
    rc = fz_buf_check(out, err);
out:
    fz_source_unref(source);
    fz_scan_plan_unref(plan);
    return rc;
}

void fz_statement_drop_scans(struct fz_statement *s) {
    for (size_t i = 0; i < s->n_scanned; i++) {
        struct fz_scan_counters c;
        const struct fz_scan_plan *plan = s->scanned[i].plan;
        fz_scan_source_counters(s->scanned[i].source, &c);
        fz_log_write(
            &s->engine->log, 3,
            "scan of %s: %.3f of %.3f MB read, %lld of %lld row groups, %lld of %lld pages of key columns left out",
            s->scanned[i].name, (double)c.bytes_read / 1e6, (double)(plan->bytes_kept + plan->bytes_skipped) / 1e6,
            (long long)(c.row_groups - c.row_groups_by_range - c.row_groups_by_keys - c.row_groups_by_bloom),
            (long long)c.row_groups, (long long)c.pages_by_keys, (long long)c.pages);
        fz_source_unref(s->scanned[i].source);
        fz_scan_plan_unref(s->scanned[i].plan);
    }
    s->n_scanned = 0;
    fz_free(s->scanned);
    s->scanned = NULL;
    s->cap_scanned = 0;
}

enum fz_code fz_statement_open_scans(struct fz_statement *s, struct fz_sql_scan **scans, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = NULL;
    struct fz_scan_plan *plan = NULL;
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
               : t->kind == FZ_TABLE_FILES  ? fz_parquet_files_source(t->files, fz_machine_cores(), &source, err)
                                            : open_data(s, scans[i], t, &plan, &source, err));
        FZ_TRY(fz_duck_register(duck, source, &scans[i]->registered_id, err));
        s->registered[s->n_registered++] = scans[i]->registered_id;
        if (plan != NULL) {
            FZ_TRY(fz_grow((void **)&s->scanned, &s->cap_scanned, s->n_scanned + 1, sizeof *s->scanned, err));
            s->scanned[s->n_scanned++] = (struct fz_engine_scanned){fz_source_ref(source), plan, scans[i]->table.name};
            plan = NULL;
        }
        fz_source_unref(source);
        source = NULL;
    }
out:
    fz_source_unref(source);
    fz_scan_plan_unref(plan);
    return rc;
}
