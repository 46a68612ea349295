// Implementation of change/change.h: one row-level change from its bound tree to its commit. Reads as the list of steps of
// docs/architecture.md section 4; each step is a file of its own.
#include "change/change_priv.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "table/prune.h"

const struct fz_snapshot *fz_branch_head(const struct fz_metadata *metadata, const char *branch) {
    if (branch == NULL || strcmp(branch, "main") == 0) {
        return fz_metadata_current_snapshot(metadata);
    }
    const struct fz_snapshot_ref *ref = fz_metadata_find_ref(metadata, branch);
    return ref == NULL ? fz_metadata_current_snapshot(metadata) : fz_metadata_snapshot(metadata, ref->snapshot_id);
}

enum fz_code fz_change_add_file(struct fz_change *c, const struct fz_data_file *file, struct fz_err *err) {
    enum fz_code rc = fz_grow((void **)&c->added, &c->cap_added, c->n_added + 1, sizeof *c->added, err);
    if (rc == FZ_OK) {
        c->added[c->n_added++] = *file;
    }
    return rc;
}

enum fz_code fz_change_remove_file(struct fz_change *c, const struct fz_data_file *file, struct fz_err *err) {
    enum fz_code rc = fz_grow((void **)&c->removed, &c->cap_removed, c->n_removed + 1, sizeof *c->removed, err);
    if (rc == FZ_OK) {
        c->removed[c->n_removed++] = *file;
    }
    return rc;
}

enum fz_code fz_change_reference(struct fz_change *c, const char *path, struct fz_err *err) {
    enum fz_code rc =
        fz_grow((void **)&c->referenced, &c->cap_referenced, c->n_referenced + 1, sizeof *c->referenced, err);
    if (rc == FZ_OK) {
        c->referenced[c->n_referenced++] = path;
    }
    return rc;
}

static const char *operation_name(const struct fz_change *c) {
    return c->bound->kind == FZ_STMT_MERGE ? "merge" : c->bound->kind == FZ_STMT_UPDATE ? "update" : "delete";
}

static enum fz_code choose_mode(struct fz_change *c, struct fz_err *err) {
    char key[64];
    snprintf(key, sizeof key, "write.%s.mode", operation_name(c));
    const char *mode = fz_metadata_property(c->metadata, key, "copy-on-write");
    if (fz_strcasecmp(mode, "merge-on-read") == 0) {
        c->mode = FZ_MERGE_ON_READ;
    } else if (fz_strcasecmp(mode, "copy-on-write") == 0) {
        c->mode = FZ_COPY_ON_WRITE;
    } else {
        return fz_fail(err, FZ_INVALID_ARG, "table property %s is '%s'; it must be copy-on-write or merge-on-read", key,
                       mode);
    }
    if (c->mode == FZ_MERGE_ON_READ && c->metadata->format_version < 2) {
        return fz_fail(
            err, FZ_INVALID_ARG,
            "merge-on-read needs format version 2 or newer, the table has version %d: set %s to copy-on-write, or "
            "'format-version' to 2",
            c->metadata->format_version, key);
    }
    return FZ_OK;
}

static void look_at_clauses(struct fz_change *c) {
    for (size_t i = 0; i < c->bound->n_clauses; i++) {
        const struct fz_bound_clause *clause = &c->bound->clauses[i];
        c->has_matched |= clause->match == FZ_MATCHED;
        c->has_not_matched |= clause->match == FZ_NOT_MATCHED;
        c->has_by_source |= clause->match == FZ_NOT_MATCHED_BY_SOURCE;
        c->has_update |= clause->action == FZ_MERGE_UPDATE;
        c->produces_rows |= clause->action != FZ_MERGE_DELETE;
    }
    bool insert_only = c->has_not_matched && !c->has_matched && !c->has_by_source;
    c->lineage = c->metadata->format_version >= 3 && !insert_only;
}

static enum fz_code init(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    pthread_mutex_init(&c->stats_lock, NULL);
    c->bound = c->request->bound;
    c->target = c->request->target;
    c->metadata = c->target->metadata;
    c->schema = fz_metadata_current_schema(c->metadata);
    const struct fz_snapshot *head = fz_branch_head(c->metadata, c->target->branch);
    c->head_snapshot_id = head != NULL ? head->snapshot_id : -1;
    fz_uuid_v4(c->operation_id);
    FZ_TRY(choose_mode(c, err));
    look_at_clauses(c);
    c->clause_rows = fz_arena_array(&c->arena, c->bound->n_clauses + 1, sizeof *c->clause_rows);
    rc = c->clause_rows == NULL ? fz_fail_nomem(err, c->bound->n_clauses * sizeof *c->clause_rows) : FZ_OK;
out:
    return rc;
}

static enum fz_code plan_target(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_options options = {
        .store = c->target->store,
        .metadata = c->metadata,
        .snapshot_id = c->head_snapshot_id,
        .schema = c->schema,
        .filter = c->prune_filter,
        .cancel = c->context->cancel,
    };
    FZ_TRY(fz_scan_plan_new(&options, &c->plan, err));
    c->files = fz_arena_array(&c->arena, c->plan->n_files, sizeof *c->files);
    if (c->files == NULL) {
        rc = fz_fail_nomem(err, c->plan->n_files * sizeof *c->files);
        goto out;
    }
    for (size_t i = 0; i < c->plan->n_files; i++) {
        pthread_mutex_init(&c->files[i].lock, NULL);
        c->stats.bytes_read += c->plan->files[i].entry->file.file_size_in_bytes;
    }
    c->stats.files_scanned = (int64_t)c->plan->n_files;
out:
    return rc;
}

static enum fz_code open_writer(struct fz_change *c, struct fz_err *err) {
    struct fz_table_writer_options options = {
        .store = c->target->store,
        .metadata = c->metadata,
        .with_lineage = c->lineage,
        .operation_id = c->operation_id,
        .cancel = c->context->cancel,
        .progress = c->context->progress,
        .temp_directory = fz_duck_temp_directory(c->context->duck),
        .memory_bytes = c->context->budget != NULL ? c->context->budget->limit_bytes / 4 : 0,
        .sort_order_id = fz_change_is_sorted(c) ? c->metadata->default_sort_order_id : 0,
    };
    return fz_table_writer_new(&options, &c->writer, err);
}

// A DELETE whose condition holds for every row of every file it may touch removes the files and reads nothing.
static bool deletes_whole_files(const struct fz_change *c) {
    if (c->bound->kind != FZ_STMT_DELETE || (c->bound->on != NULL && (fz_expr_relations(c->bound->on) & ~1u) != 0)) {
        return false;
    }
    for (size_t i = 0; i < c->plan->n_files; i++) {
        if (!fz_prune_file_all(c->bound->on, c->metadata, &c->plan->files[i].entry->file)) {
            return false;
        }
    }
    return true;
}

// Deletion vectors and, from version 3 on, file-scoped position deletes go with their data file.
static enum fz_code remove_data_file(struct fz_change *c, size_t ix, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_scan_file *file = &c->plan->files[ix];
    FZ_TRY(fz_change_remove_file(c, &file->entry->file, err));
    FZ_TRY(fz_change_reference(c, file->entry->file.file_path, err));
    for (size_t d = 0; d < file->n_deletes; d++) {
        const struct fz_data_file *deletes = &file->deletes[d]->file;
        if (deletes->content == FZ_CONTENT_POSITION_DELETES && fz_delete_is_file_scoped(deletes) &&
            (deletes->content_offset >= 0 || c->metadata->format_version >= 3)) {
            FZ_TRY(fz_change_remove_file(c, deletes, err));
        }
    }
out:
    return rc;
}

static enum fz_code remove_touched_files(struct fz_change *c, bool all, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < c->plan->n_files; i++) {
        if (all || c->files[i].changed != NULL) {
            FZ_TRY(remove_data_file(c, i, err));
            c->stats.files_rewritten++;
            c->stats.bytes_rewritten += c->plan->files[i].entry->file.file_size_in_bytes;
            c->stats.rows_deleted += all ? c->plan->files[i].entry->file.record_count : 0;
        }
    }
out:
    return rc;
}

static bool is_deleted_whole(void *ctx, const struct fz_data_file *file) {
    const struct fz_change *c = ctx;
    bool with_data_file = fz_delete_is_file_scoped(file) &&
                          (file->content_offset >= 0 || c->metadata->format_version >= 3); // remove_data_file
    return !with_data_file && fz_prune_file_all(c->bound->on, c->metadata, file);
}

// DELETE of whole files: the data files, and the delete files whose partitions the condition covers.
static enum fz_code remove_whole_files(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_data_file *deletes;
    size_t n;
    FZ_TRY(remove_touched_files(c, true, err));
    FZ_TRY(fz_change_covered_deletes(c->target, is_deleted_whole, c, &c->arena, &deletes, &n, err));
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(fz_change_remove_file(c, &deletes[i], err));
    }
out:
    return rc;
}

static enum fz_code finish_writer(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_data_file *files;
    size_t n;
    FZ_TRY(fz_table_writer_finish(c->writer, &c->arena, &files, &n, err));
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(fz_change_add_file(c, &files[i], err));
        c->stats.bytes_written += files[i].file_size_in_bytes;
    }
    c->stats.files_added = (int64_t)n;
out:
    return rc;
}

// How long each step took, for people who look for the time (log level debug).
static void log_step(const struct fz_change *c, const char *step, int64_t *since_us) {
    int64_t now_us = fz_monotonic_us();
    fz_log_write(c->context->log, 4, "%s: %.4f s", step, (double)(now_us - *since_us) / 1e6);
    *since_us = now_us;
}

// Back to before the match, to do it again without holding updated rows.
static enum fz_code start_again(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_change_stats before = {.files_scanned = c->stats.files_scanned, .bytes_read = c->stats.bytes_read};
    fz_change_leave_in_place(c);
    fz_table_writer_abort(c->writer);
    fz_table_writer_free(c->writer);
    c->writer = NULL;
    for (size_t i = 0; i < c->plan->n_files; i++) {
        fz_positions_free(c->files[i].changed);
        fz_positions_free(c->files[i].matched);
        fz_positions_free(c->files[i].removed);
        c->files[i].changed = c->files[i].matched = c->files[i].removed = NULL;
    }
    memset(c->clause_rows, 0, c->bound->n_clauses * sizeof *c->clause_rows);
    c->stats = before;
    fz_duck_unregister(c->context->duck, c->target_scan_id);
    c->target_scan_id = 0;
    fz_source_unref(c->target_source);
    c->target_source = NULL;
    fz_free(c->match_sql);
    c->match_sql = NULL;
    FZ_TRY(fz_change_build_match(c, err));
    FZ_TRY(open_writer(c, err));
out:
    return rc;
}

static enum fz_code match_rows(struct fz_change *c, struct fz_err *err) {
    struct fz_err why = FZ_ERR_INIT;
    enum fz_code rc = fz_change_run_match(c, &why);
    if (rc != FZ_OK && c->held != NULL && fz_held_rows_is_full(c->held)) {
        FZ_TRY(start_again(c, err));
        return fz_change_run_match(c, err);
    }
    if (rc != FZ_OK) {
        *err = why;
    } else if (c->held != NULL) {
        rc = fz_held_rows_sort(c->held, err);
    }
out:
    return rc;
}

static enum fz_code write_changes(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t since_us = fz_monotonic_us();
    FZ_TRY(fz_change_build_match(c, err));
    FZ_TRY(open_writer(c, err));
    if (fz_change_is_sorted(c) && c->produces_rows) {
        FZ_TRY(fz_change_write_sorted(c, err));
    } else {
        FZ_TRY(match_rows(c, err));
        log_step(c, "match", &since_us);
        if (c->mode == FZ_COPY_ON_WRITE) {
            FZ_TRY(fz_change_copy_rows(c, err));
            log_step(c, "copied rows", &since_us);
        }
    }
    FZ_TRY(finish_writer(c, err));
    log_step(c, "data files closed", &since_us);
    if (c->mode == FZ_COPY_ON_WRITE) {
        FZ_TRY(remove_touched_files(c, false, err));
    } else {
        FZ_TRY(fz_change_write_deletes(c, err));
        log_step(c, "delete files", &since_us);
    }
    FZ_FAIL_POINT("write.done");
out:
    return rc;
}

// The eight counters Spark writes for a MERGE that may change rows, and the caller's own entries.
static enum fz_code build_summary(struct fz_change *c, struct fz_property **out, size_t *n, struct fz_err *err) {
    const struct fz_change_stats *s = &c->stats;
    const struct {
        const char *key;
        int64_t value;
    } counters[] = {
        {"copied", s->rows_copied},
        {"deleted", s->matched_deleted + s->by_source_deleted},
        {"updated", s->matched_updated + s->by_source_updated},
        {"inserted", s->rows_inserted},
        {"matched-updated", s->matched_updated},
        {"matched-deleted", s->matched_deleted},
        {"not-matched-by-source-updated", s->by_source_updated},
        {"not-matched-by-source-deleted", s->by_source_deleted},
    };
    bool is_merge =
        c->bound->kind == FZ_STMT_MERGE && (c->has_matched || c->has_by_source); // one that only inserts is an append
    size_t n_counters = is_merge ? sizeof counters / sizeof *counters : 0;
    struct fz_property *items = fz_arena_array(&c->arena, n_counters + c->context->n_summary, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, sizeof *items);
    }
    for (size_t i = 0; i < n_counters; i++) {
        items[i].key = fz_arena_printf(&c->arena, "spark.merge-into.num-target-rows-%s", counters[i].key);
        items[i].value = fz_arena_printf(&c->arena, "%" PRId64, counters[i].value);
        if (items[i].key == NULL || items[i].value == NULL) {
            return fz_fail_nomem(err, 64);
        }
    }
    if (c->context->n_summary > 0) {
        memcpy(items + n_counters, c->context->summary, c->context->n_summary * sizeof *items);
    }
    *out = items;
    *n = n_counters + c->context->n_summary;
    return FZ_OK;
}

static enum fz_isolation isolation_of(const struct fz_change *c) {
    char key[64];
    snprintf(key, sizeof key, "write.%s.isolation-level", operation_name(c));
    return fz_strcasecmp(fz_metadata_property(c->metadata, key, "serializable"), "snapshot") == 0
               ? FZ_ISOLATION_SNAPSHOT
               : FZ_ISOLATION_SERIALIZABLE;
}

// Another commit came first and the two cannot both stand. A pipeline runs its batch again by itself.
static void say_run_again(const struct fz_change *c, struct fz_err *err) {
    struct fz_err whole = *err;
    if (c->context->check_head == NULL) {
        int n =
            snprintf(whole.message, sizeof whole.message,
                     "%.1200s. Nothing was changed: run the statement again, it then works on the table as it is now",
                     err->message);
        *err = n > 0 ? whole : *err;
    }
}

static enum fz_code commit(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_property *summary = NULL;
    size_t n_summary = 0;
    struct fz_commit_result result = {0};
    FZ_TRY(build_summary(c, &summary, &n_summary, err));
    bool insert_only = c->has_not_matched && !c->has_matched && !c->has_by_source;
    bool overwrites = c->mode == FZ_COPY_ON_WRITE || c->metadata_only;
    bool is_delete = c->bound->kind == FZ_STMT_DELETE;
    struct fz_commit_request request = {
        .catalog = c->target->catalog,
        .table = &c->target->name,
        .store = c->target->store,
        .base = c->metadata,
        .branch = c->target->branch,
        .wap_id = c->target->wap_id,
        .kind = insert_only  ? FZ_COMMIT_APPEND
                : overwrites ? FZ_COMMIT_OVERWRITE
                             : FZ_COMMIT_ROW_DELTA,
        .added = c->added,
        .n_added = c->n_added,
        .removed = c->removed,
        .n_removed = c->n_removed,
        // A DELETE that hits nothing is recorded as "delete" all the same (asked of Spark).
        .operation = is_delete && c->n_added == 0 && c->n_removed == 0 ? "delete" : NULL,
        .isolation = insert_only ? FZ_ISOLATION_NONE : isolation_of(c),
        .conflict_filter = c->prune_filter,
        .scanned_snapshot_id = c->head_snapshot_id,
        .validate_deletes_too = c->mode == FZ_MERGE_ON_READ && !is_delete,
        .referenced_files = c->referenced,
        .n_referenced_files = c->n_referenced,
        .summary = summary,
        .n_summary = n_summary,
        .check_head = c->context->check_head,
        .check_ctx = c->context->check_ctx,
        .cancel = c->context->cancel,
        .log = c->context->log,
    };
    FZ_TRY(fz_commit_snapshot(&request, &result, err));
    c->stats.snapshot_id = result.snapshot_id;
out:
    if (rc == FZ_CONFLICT && err != NULL) {
        say_run_again(c, err);
    }
    fz_metadata_unref(result.metadata);
    return rc;
}

// What was written and not committed goes away, unless nobody knows whether it was committed.
static void remove_written_files(struct fz_change *c) {
    fz_table_writer_abort(c->writer);
    for (size_t i = 0; i < c->n_added; i++) {
        if (c->added[i].content != FZ_CONTENT_DATA) {
            fz_store_remove(c->target->store, c->added[i].file_path, NULL);
        }
    }
}

static void dispose(struct fz_change *c) {
    for (size_t i = 0; c->files != NULL && i < c->plan->n_files; i++) {
        fz_positions_free(c->files[i].changed);
        fz_positions_free(c->files[i].matched);
        fz_positions_free(c->files[i].removed);
        pthread_mutex_destroy(&c->files[i].lock);
    }
    if (c->target_scan_id != 0) {
        fz_duck_unregister(c->context->duck, c->target_scan_id);
    }
    fz_change_close_source(c);
    fz_row_store_unref(c->held_source);
    fz_source_unref(c->target_source);
    fz_scan_keys_unref(c->keys);
    fz_change_leave_in_place(c);
    fz_table_writer_free(c->writer);
    fz_scan_plan_unref(c->plan);
    fz_free(c->added);
    fz_free(c->removed);
    fz_free(c->referenced);
    fz_free(c->match_sql);
    fz_arena_dispose(&c->arena);
    pthread_mutex_destroy(&c->stats_lock);
}

// All steps up to the match: the source, its keys, the files.
static enum fz_code prepare(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t since_us = fz_monotonic_us();
    FZ_TRY(fz_cancel_check(c->context->cancel, err));
    FZ_TRY(fz_change_load_source(c, err));
    log_step(c, "source", &since_us);
    FZ_TRY(fz_change_prune_filter(c, err));
    log_step(c, "keys", &since_us);
    FZ_TRY(plan_target(c, err));
    log_step(c, "plan", &since_us);
    c->metadata_only = deletes_whole_files(c);
    FZ_TRY(fz_change_choose_in_place(c, err));
out:
    return rc;
}

static enum fz_code change_rows(struct fz_change *c, struct fz_err *err) {
    return c->metadata_only ? remove_whole_files(c, err) : write_changes(c, err);
}

static void finish(struct fz_change *c, bool keep_files) {
    struct fz_duck *duck = c->context->duck;
    if (!keep_files) {
        remove_written_files(c);
    }
    if (duck != NULL && !fz_duck_is_broken(duck)) {
        fz_duck_exec(duck, "DROP TABLE IF EXISTS fz_src; DROP TABLE IF EXISTS fz_out", NULL);
    }
    dispose(c);
}

enum fz_code fz_change_run(const struct fz_change_context *context, const struct fz_change_request *request,
                           struct fz_change_stats *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t started_us = fz_monotonic_us();
    struct fz_change c = {.context = context, .request = request};
    FZ_TRY(init(&c, err));
    FZ_TRY(prepare(&c, err));
    fz_change_warn_window(&c);
    FZ_TRY(change_rows(&c, err));
    int64_t since_us = fz_monotonic_us();
    FZ_TRY(commit(&c, err));
    log_step(&c, "commit", &since_us);
    c.stats.seconds = (double)(fz_monotonic_us() - started_us) / 1e6;
    *out = c.stats;
out:
    finish(&c, rc == FZ_OK || rc == FZ_COMMIT_UNKNOWN);
    return rc;
}

// One run of EXPLAIN DRY RUN in the given mode (NULL: the table's).
static enum fz_code dry_run(const struct fz_change_context *context, const struct fz_change_request *request,
                            const enum fz_write_mode *mode, bool first, enum fz_write_mode *used, struct fz_buf *out,
                            struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t started_us = fz_monotonic_us();
    struct fz_change c = {.context = context, .request = request};
    FZ_TRY(init(&c, err));
    c.mode = mode != NULL ? *mode : c.mode;
    *used = c.mode;
    FZ_TRY(prepare(&c, err));
    FZ_TRY(change_rows(&c, err));
    c.stats.seconds = (double)(fz_monotonic_us() - started_us) / 1e6;
    fz_change_put_run(&c, first, out);
    rc = fz_buf_check(out, err);
out:
    finish(&c, false);
    return rc;
}

enum fz_code fz_change_explain(const struct fz_change_context *context, const struct fz_change_request *request,
                               bool is_dry_run, struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_change c = {.context = context, .request = request};
    enum fz_write_mode used, other;
    FZ_TRY(init(&c, err));
    fz_change_warn_window(&c);
    if (!is_dry_run) {
        FZ_TRY(prepare(&c, err));
        FZ_TRY(fz_change_put_plan(&c, out, err));
    } else {
        FZ_TRY(dry_run(context, request, NULL, true, &used, out, err));
        other = used == FZ_COPY_ON_WRITE ? FZ_MERGE_ON_READ : FZ_COPY_ON_WRITE;
        if (other == FZ_COPY_ON_WRITE || c.metadata->format_version >= 2) {
            FZ_TRY(dry_run(context, request, &other, false, &used, out, err));
        }
    }
out:
    finish(&c, false);
    return rc;
}
