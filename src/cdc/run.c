// The loop of a pipeline: read, decode, fold, and apply a batch when it is full, old enough or the source has no more. See run.h.
#include "cdc/run.h"

#include <inttypes.h>
#include <stdio.h>

#include "cdc/run_priv.h"
#include "cdc/source/source_file.h"

enum { POLL_US = 200000, EXTRA_RECORDS = 100000 };

void fz_run_line(struct fz_run *run, const char *fmt, ...) {
    va_list ap;
    char text[2048];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (run->line != NULL) {
        run->line(run->line_ctx, text);
    }
}

// ---- life

enum fz_code fz_cdc_pipeline_open(const struct fz_cdc_session *session, const char *path, struct fz_cdc_pipeline **out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_cdc_pipeline *p = NULL;
    FZ_NEW(p, err);
    p->session = *session;
    FZ_TRY(fz_pipeline_load(path, &p->pipeline, err));
    *out = p;
    p = NULL;
out:
    fz_cdc_pipeline_close(p);
    return rc;
}

void fz_cdc_pipeline_close(struct fz_cdc_pipeline *p) {
    if (p != NULL) {
        fz_pipeline_free(p->pipeline);
        fz_free(p);
    }
}

static enum fz_code on_table(void *ctx, struct fz_cdc_table *table, struct fz_err *err) {
    struct fz_run *run = ctx;
    enum fz_code rc = FZ_OK;
    FZ_TRY(fz_grow((void **)&run->folds, &run->cap_folds, table->number + 1, sizeof(struct fz_fold *), err));
    FZ_NEW(run->folds[table->number], err);
    fz_fold_init(run->folds[table->number], table);
    FZ_TRY(fz_apply_open(&run->apply, table, err));
out:
    return rc;
}

// A stream is read from the lowest position that any table of it has. Bare values of one file may belong to several tables: it is read
// from the top unless all of them have a position in it.
static enum fz_code collect_start(struct fz_run *run, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < run->tables.n; i++) {
        for (struct fz_map_entry *e = NULL; (e = fz_map_next(&run->tables.items[i]->positions, e)) != NULL;) {
            struct fz_map_entry *entry;
            bool added, everywhere = true;
            for (size_t k = 0; !run->p->pipeline->records_kafka && k < run->tables.n; k++) {
                everywhere = everywhere && fz_map_find(&run->tables.items[k]->positions, e->key) != NULL;
            }
            if (everywhere) {
                FZ_TRY(fz_map_put(&run->start, e->key, &entry, &added, err));
                entry->value.i64 = added || e->value.i64 < entry->value.i64 ? e->value.i64 : entry->value.i64;
            }
        }
    }
out:
    return rc;
}

enum fz_code fz_run_open(struct fz_run *run, struct fz_cdc_pipeline *p, fz_cdc_line_fn line, void *ctx,
                         struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *run = (struct fz_run){.p = p, .line = line, .line_ctx = ctx};
    run->tables = (struct fz_cdc_tables){.arena = &run->arena, .on_add = on_table, .on_add_ctx = run};
    run->apply = (struct fz_apply){.session = &p->session, .pipeline = p->pipeline, .arena = &run->arena};
    fz_uuid_v4(run->apply.run_id);
    for (size_t i = 0; i < p->pipeline->n_tables; i++) {
        struct fz_cdc_table *table;
        FZ_TRY(fz_cdc_tables_add(&run->tables, &p->pipeline->tables[i], p->pipeline->tables[i].match, &table, err));
    }
    FZ_TRY(fz_cdc_decoder_new(p->pipeline, &run->tables, &run->decoder, err));
    FZ_TRY(collect_start(run, err));
    struct fz_source_file_options options = {.pattern = p->pipeline->source_path,
                                             .records_kafka = p->pipeline->records_kafka,
                                             .start = &run->start,
                                             .arena = &run->arena,
                                             .cancel = p->session.cancel,
                                             .log = p->session.log};
    FZ_TRY(fz_cdc_source_file_open(&options, &run->source, err));
out:
    return rc;
}

void fz_run_close(struct fz_run *run) {
    if (run->source != NULL) {
        run->source->vtable->free(run->source);
    }
    fz_cdc_decoder_free(run->decoder);
    for (size_t i = 0; i < run->tables.n; i++) {
        if (i < run->cap_folds && run->folds[i] != NULL) {
            fz_fold_dispose(run->folds[i]);
            fz_free(run->folds[i]);
        }
        fz_apply_close(run->tables.items[i]);
    }
    fz_quarantine_close(&run->quarantine);
    fz_cdc_tables_dispose(&run->tables);
    fz_free(run->folds);
    fz_map_dispose(&run->start);
    fz_buf_dispose(&run->key);
    fz_buf_dispose(&run->text);
    fz_arena_dispose(&run->arena);
}

// ---- records

static enum fz_code put_aside(struct fz_run *run, const struct fz_bad_record *record, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pipeline *p = run->p->pipeline;
    bool added;
    if (!run->quarantine.is_open) {
        FZ_TRY(fz_quarantine_open(&run->apply, &run->quarantine, &run->tables, err));
    }
    FZ_TRY(fz_quarantine_add(&run->quarantine, record, &added, err));
    run->stats.quarantined += added;
    if (run->stats.quarantined > p->stop_after) {
        rc = fz_fail(
            err, FZ_LIMIT,
            "more than %" PRId64
            " records had to be quarantined (quarantine: stop_after). The last one, topic %s, partition %d, offset "
            "%" PRId64 ": %s: %s",
            p->stop_after, record->position.topic, (int)record->position.partition, record->position.offset,
            record->reason, record->text);
    }
out:
    return rc;
}

static enum fz_code advance(struct fz_run *run, struct fz_cdc_table *table, const struct fz_cdc_record *record,
                            struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_map_entry *entry;
    bool added;
    fz_cdc_stream_key(&run->key, record->position.topic, record->position.partition);
    FZ_TRY(fz_buf_check(&run->key, err));
    FZ_TRY(fz_map_put(&table->positions, (struct fz_str){run->key.ptr, run->key.len}, &entry, &added, err));
    if (added || entry->value.i64 < record->position.next_offset) {
        entry->value.i64 = record->position.next_offset;
    }
out:
    return rc;
}

enum fz_code fz_run_record(struct fz_run *run, const struct fz_cdc_record *record, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_cdc_decoded decoded;
    const char *reason = NULL, *text = NULL;
    FZ_TRY(fz_cdc_decode(run->decoder, record, &decoded, err));
    if (decoded.outcome == FZ_CDC_APPLIED) {
        goto out;
    }
    if (decoded.outcome == FZ_CDC_BAD) {
        reason = decoded.reason;
        text = decoded.text;
    }
    for (int i = 0; i < decoded.n_changes && reason == NULL; i++) {
        FZ_TRY(fz_fold_add(run->folds[decoded.table->number], &decoded.changes[i], &reason, &text, err));
        run->batch_changes++;
    }
    if (reason != NULL) {
        struct fz_bad_record bad = {.position = record->position,
                                    .reason = reason,
                                    .text = text,
                                    .raw = record->raw,
                                    .table = decoded.table == NULL ? NULL : decoded.table->match};
        FZ_TRY(put_aside(run, &bad, err));
    }
    if (decoded.table == NULL) {
        run->n_unrouted += reason == NULL;
        goto out;
    }
    run->stats.events++;
    FZ_TRY(advance(run, decoded.table, record, err));
out:
    return rc;
}

// ---- batches

static enum fz_code lost_row(void *ctx, const struct fz_fold_row *row, struct fz_err *err) {
    struct fz_run *run = ctx;
    struct fz_bad_record bad = {.position = row->position,
                                .reason = "UNAVAILABLE_VALUE",
                                .raw = row->raw,
                                .text =
                                    "a value was not sent again and the table has no older one: the row is not there"};
    return put_aside(run, &bad, err);
}

static enum fz_code commit_table(struct fz_run *run, struct fz_fold *fold, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_change_stats s = {0};
    int64_t started = fz_monotonic_us();
    FZ_TRY(fz_apply_fold(&run->apply, fold, &s, err));
    run->stats.changes += s.rows_inserted + s.rows_updated + s.rows_deleted;
    run->stats.commits++;
    const struct fz_apply_table *target = fold->table->apply_state;
    fz_run_line(run,
                "%s: %" PRId64 " events, %" PRId64 " inserted, %" PRId64 " updated, %" PRId64
                " deleted · snapshot %" PRId64 " · %.2f s",
                target->dotted, fold->n_changes, s.rows_inserted, s.rows_updated, s.rows_deleted, s.snapshot_id,
                (double)(fz_monotonic_us() - started) / 1e6);
    FZ_FAIL_POINT("cdc.applied");
out:
    return rc;
}

static enum fz_code commit_batch(struct fz_run *run, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_FAIL_POINT("cdc.folded");
    for (size_t i = 0; i < run->tables.n; i++) {
        if (run->folds[i]->n_rows > 0) {
            FZ_TRY(fz_apply_lookup(&run->apply, run->folds[i], lost_row, run, err));
        }
    }
    if (run->quarantine.n > 0) {
        size_t n = run->quarantine.n;
        int64_t snapshot_id = 0;
        FZ_TRY(fz_quarantine_commit(&run->apply, &run->quarantine, &snapshot_id, err));
        run->stats.commits++;
        fz_run_line(run, "%s: %zu bad records · snapshot %" PRId64, run->quarantine.target.dotted, n, snapshot_id);
        FZ_FAIL_POINT("cdc.applied");
    }
    for (size_t i = 0; i < run->tables.n; i++) {
        if (!fz_fold_is_empty(run->folds[i])) {
            FZ_TRY(commit_table(run, run->folds[i], err));
        }
        fz_fold_dispose(run->folds[i]);
    }
    run->batch_changes = 0;
    run->batch_started_us = 0;
out:
    return rc;
}

static bool has_work(const struct fz_run *run) {
    for (size_t i = 0; i < run->tables.n; i++) {
        if (!fz_fold_is_empty(run->folds[i])) {
            return true;
        }
    }
    return run->quarantine.n > 0;
}

// Rows between two keys are not cut apart, up to a point.
static bool may_cut(const struct fz_run *run) {
    int64_t pending = 0;
    for (size_t i = 0; i < run->tables.n; i++) {
        pending += run->folds[i]->pending_moves;
    }
    return pending == 0 || run->batch_changes >= run->p->pipeline->commit_rows + EXTRA_RECORDS;
}

static bool is_full(struct fz_run *run) {
    const struct fz_pipeline *p = run->p->pipeline;
    const struct fz_budget *budget = run->p->session.budget;
    if (run->batch_changes >= p->commit_rows) {
        return true;
    }
    if (run->batch_changes % 256 != 0) {
        return false;
    }
    int64_t limit = p->commit_bytes, bytes = 0;
    if (budget != NULL && budget->limit_bytes / 4 < limit) {
        limit = budget->limit_bytes / 4;
    }
    for (size_t i = 0; i < run->tables.n; i++) {
        bytes += (int64_t)fz_fold_bytes(run->folds[i]);
    }
    return bytes >= limit || fz_monotonic_us() - run->batch_started_us >= p->commit_every_us;
}

static enum fz_code wait_for_more(struct fz_run *run, bool *stop, struct fz_err *err) {
    (void)err;
    fz_sleep_us(POLL_US);
    *stop = fz_cancel_check(run->p->session.cancel, NULL) != FZ_OK;
    return FZ_OK;
}

static enum fz_code loop(struct fz_run *run, bool once, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool stop = false;
    while (!stop) {
        struct fz_cdc_record record;
        bool found;
        FZ_TRY(run->source->vtable->next(run->source, &record, &found, err));
        if (found) {
            if (run->batch_started_us == 0) {
                run->batch_started_us = fz_monotonic_us();
            }
            FZ_TRY(fz_run_record(run, &record, err));
            if (!is_full(run) || !may_cut(run)) {
                continue;
            }
            FZ_TRY(fz_cancel_check(run->p->session.cancel, err));
        }
        bool old = fz_monotonic_us() - run->batch_started_us >= run->p->pipeline->commit_every_us;
        if (has_work(run) && (found || once || old)) {
            FZ_TRY(commit_batch(run, err));
        }
        if (!found && once) {
            break;
        }
        if (!found) {
            FZ_TRY(wait_for_more(run, &stop, err));
        }
    }
out:
    return rc;
}

static void tell_what_was_odd(struct fz_run *run) {
    const struct fz_log *log = run->p->session.log;
    for (size_t i = 0; i < run->tables.n; i++) {
        const struct fz_cdc_table *table = run->tables.items[i];
        for (size_t c = 0; c < table->n_columns; c++) {
            if (table->columns[c].n_beyond > 0) {
                struct fz_buf type = {0};
                fz_type_print_sql(&type, table->columns[c].type);
                fz_log_write(log, 1,
                             "table %s, column %s: %" PRId64
                             " values do not exist in type %s (infinity, NaN, 24:00:00) and were written as NULL",
                             table->match, table->columns[c].name, table->columns[c].n_beyond,
                             type.ptr == NULL ? "?" : type.ptr);
                fz_buf_dispose(&type);
            }
        }
        if (table->config != NULL && table->n_columns == 0 && table->positions.n_live == 0) {
            fz_log_write(log, 1, "table %s: no event of the source belongs to it", table->match);
        }
    }
}

enum fz_code fz_cdc_pipeline_run(struct fz_cdc_pipeline *p, bool once, fz_cdc_line_fn status, void *ctx,
                                 struct fz_cdc_stats *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t started = fz_monotonic_us();
    struct fz_run run;
    struct fz_err inner = FZ_ERR_INIT;
    *out = (struct fz_cdc_stats){0};
    rc = fz_run_open(&run, p, status, ctx, &inner);
    if (rc == FZ_OK) {
        rc = loop(&run, once, &inner);
    }
    if (rc == FZ_CANCELLED && !once) {
        rc = FZ_OK; // asked to stop; what was not committed is read again
        fz_err_reset(&inner);
    }
    if (rc == FZ_OK) {
        tell_what_was_odd(&run);
        if (run.stats.commits == 0) {
            fz_run_line(&run, "0 changes");
        }
    } else {
        fz_err_context(&inner, "pipeline %s", p->pipeline->name);
        *err = inner;
    }
    *out = run.stats;
    out->seconds = (double)(fz_monotonic_us() - started) / 1e6;
    fz_run_close(&run);
    return rc;
}
