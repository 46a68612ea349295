// Plain appends (quarantine rows, tables without a key), the re-checks of positions, and the summary of a pipeline's commits.
#include "cdc/apply/apply.h"

#include "change/table_writer.h"

enum fz_code fz_apply_summary(struct fz_apply *apply, const struct fz_map *positions, struct fz_arena *arena,
                              struct fz_property **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf text = {0};
    struct fz_property *items = fz_arena_array(arena, 3, sizeof *items);
    FZ_TRY(fz_positions_print(&text, positions, err));
    char *json = fz_arena_strndup(arena, text.ptr, text.len);
    if (items == NULL || json == NULL) {
        rc = fz_fail_nomem(err, text.len);
        goto out;
    }
    items[0] = (struct fz_property){"frazil.pipeline", apply->pipeline->name};
    items[1] = (struct fz_property){"frazil.positions", json};
    items[2] = (struct fz_property){"frazil.run-id", apply->run_id};
    *out = items;
    *n = 3;
out:
    fz_buf_dispose(&text);
    return rc;
}

static bool same_positions(const char *a, const char *b) {
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

enum fz_code fz_apply_check_head(void *ctx, const struct fz_metadata *head, struct fz_err *err) {
    struct fz_apply_head *h = ctx;
    if (same_positions(fz_positions_of(head, h->apply->pipeline->name), h->target->positions)) {
        return FZ_OK;
    }
    h->is_other_instance = true;
    return fz_fail(err, FZ_CONFLICT,
                   "table %s: another instance of pipeline %s has committed to it; only one may run at a time",
                   h->target->dotted, h->apply->pipeline->name);
}

enum fz_code fz_apply_reload(struct fz_apply *apply, struct fz_apply_table *target, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *fresh = NULL;
    struct fz_apply_head head = {apply, target, false};
    FZ_TRY(target->catalog->vtable->load(target->catalog, &target->name, &fresh, err));
    FZ_TRY(fz_apply_check_head(&head, fresh, err));
    fz_metadata_unref(target->metadata);
    target->metadata = fresh;
    fresh = NULL;
out:
    fz_metadata_unref(fresh);
    return rc;
}

static enum fz_code copy_rows(struct fz_source *source, struct fz_table_writer *writer, struct fz_change_stats *stats,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_batch batch = {0};
    void *reader = NULL;
    size_t *columns = fz_calloc(source->n_fields, sizeof *columns);
    if (columns == NULL) {
        return fz_fail_nomem(err, source->n_fields);
    }
    for (size_t i = 0; i < source->n_fields; i++) {
        columns[i] = i;
    }
    FZ_TRY(fz_batch_init(&batch, source->fields, source->n_fields, FZ_BATCH_ROWS, err));
    FZ_TRY(source->vtable->open(source, columns, source->n_fields, &reader, err));
    for (;;) {
        for (size_t i = 0; i < batch.n_columns; i++) {
            fz_column_reset(&batch.columns[i]);
        }
        FZ_TRY(source->vtable->next(source, reader, &batch, err));
        if (batch.n_rows == 0) {
            break;
        }
        FZ_TRY(fz_table_writer_push(writer, &batch, NULL, batch.n_rows, err));
        stats->rows_inserted += (int64_t)batch.n_rows;
    }
out:
    if (reader != NULL) {
        source->vtable->close(source, reader);
    }
    fz_batch_dispose(&batch);
    fz_free(columns);
    return rc;
}

enum fz_code fz_apply_append(struct fz_apply *apply, struct fz_apply_table *target, struct fz_source *source,
                             const struct fz_property *summary, size_t n_summary, struct fz_change_stats *out,
                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t started = fz_monotonic_us();
    struct fz_arena arena = {0};
    struct fz_table_writer *writer = NULL;
    struct fz_data_file *files = NULL;
    size_t n_files = 0;
    char operation_id[37];
    struct fz_commit_result result = {0};
    struct fz_apply_head head = {apply, target, false};
    fz_uuid_v4(operation_id);
    struct fz_table_writer_options options = {.store = apply->session->store,
                                              .metadata = target->metadata,
                                              .operation_id = operation_id,
                                              .cancel = apply->session->cancel};
    FZ_TRY(fz_table_writer_new(&options, &writer, err));
    FZ_TRY(copy_rows(source, writer, out, err));
    FZ_TRY(fz_table_writer_finish(writer, &arena, &files, &n_files, err));
    FZ_FAIL_POINT("write.done");
    struct fz_commit_request request = {
        .catalog = target->catalog,
        .table = &target->name,
        .store = apply->session->store,
        .base = target->metadata,
        .kind = FZ_COMMIT_APPEND,
        .added = files,
        .n_added = n_files,
        .isolation = FZ_ISOLATION_NONE,
        .scanned_snapshot_id = target->metadata->current_snapshot_id,
        .summary = summary,
        .n_summary = n_summary,
        .check_head = fz_apply_check_head,
        .check_ctx = &head,
        .cancel = apply->session->cancel,
        .log = apply->session->log,
    };
    FZ_TRY(fz_commit_snapshot(&request, &result, err));
    out->snapshot_id = result.snapshot_id;
    out->files_added = (int64_t)n_files;
    out->seconds = (double)(fz_monotonic_us() - started) / 1e6;
out:
    if (rc != FZ_OK && rc != FZ_COMMIT_UNKNOWN && writer != NULL) {
        fz_table_writer_abort(writer);
    }
    fz_table_writer_free(writer);
    fz_metadata_unref(result.metadata);
    fz_arena_dispose(&arena);
    return rc;
}
