// INSERT INTO, INSERT OVERWRITE and TRUNCATE: rows of a query into new files; what is overwritten leaves as whole files.
#include <inttypes.h>

#include "base/text.h"
#include "change/change_priv.h"
#include "table/prune.h"

struct insert {
    const struct fz_change_context *context;
    const struct fz_change_target *target;
    struct fz_table_writer *writer;
    struct fz_arena arena;
    struct fz_data_file *added, *removed;
    size_t n_added, n_removed;
    struct fz_scan_plan *plan; // overwrite: the live files
    char operation_id[37];
};

struct insert_sink {
    struct fz_sink base;
    struct fz_table_writer *writer;
};
static enum fz_code push(struct fz_sink *base, const struct fz_batch *batch, struct fz_err *err) {
    return fz_table_writer_push(((struct insert_sink *)base)->writer, batch, NULL, batch->n_rows, err);
}
static const struct fz_sink_vtable INSERT_SINK = {.push = push};

// Sorted tables are pulled in order; all others are pushed by all threads.
static enum fz_code write_rows(struct insert *in, const struct fz_bound_insert *bound, int64_t *rows,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0}, order = {0};
    struct fz_duck_result *result = NULL;
    const struct fz_schema *schema = fz_metadata_current_schema(in->target->metadata);
    size_t n = schema->type->n_fields;
    FZ_TRY(fz_sort_order_sql(in->context->duck, in->target->metadata, "o", &order, err));
    struct fz_table_writer_options options = {
        .store = in->target->store,
        .metadata = in->target->metadata,
        .operation_id = in->operation_id,
        .cancel = in->context->cancel,
        .progress = in->context->progress,
        .temp_directory = fz_duck_temp_directory(in->context->duck),
        .memory_bytes = in->context->budget != NULL ? in->context->budget->limit_bytes / 4 : 0,
        .sort_order_id = order.len > 0 ? in->target->metadata->default_sort_order_id : 0,
    };
    FZ_TRY(fz_table_writer_new(&options, &in->writer, err));
    const struct fz_field *fields = schema->type->fields;
    const struct fz_field none = {.id = 1, .name = "c1", .type = fz_type_primitive(FZ_TYPE_BOOLEAN)};
    fz_buf_puts(&sql, n == 0 ? "SELECT true AS c1" : "SELECT ");
    if (n == 0) { // no row may come, which the writer says
        fields = &none;
    }
    for (size_t i = 0; i < n; i++) {
        fz_buf_printf(&sql, "%sc%zu AS o%d", i > 0 ? ", " : "", i + 1, schema->type->fields[i].id);
    }
    fz_buf_puts(&sql, " FROM (");
    FZ_TRY(fz_duck_register_kernels(in->context->duck, bound->query->kernels, bound->query->n_kernels, err));
    FZ_TRY(fz_sql_print_query(&sql, bound->query, err));
    fz_buf_puts(&sql, ") AS q");
    if (order.len > 0) {
        fz_buf_printf(&sql, " ORDER BY %s", order.ptr);
    }
    FZ_TRY(fz_buf_check(&sql, err));
    *rows = 0;
    if (order.len == 0) {
        struct insert_sink sink = {.base = {&INSERT_SINK}, .writer = in->writer};
        FZ_TRY(fz_duck_run_into(in->context->duck, sql.ptr, fields, n == 0 ? 1 : n, &sink.base, rows, err));
    } else {
        FZ_TRY(fz_duck_query(in->context->duck, sql.ptr, schema->type->fields, n, &result, err));
        for (const struct fz_batch *batch;;) {
            FZ_TRY(fz_duck_result_next(result, &batch, err));
            if (batch == NULL) {
                break;
            }
            FZ_TRY(fz_table_writer_push(in->writer, batch, NULL, batch->n_rows, err));
            *rows += (int64_t)batch->n_rows;
        }
    }
    FZ_TRY(fz_table_writer_finish(in->writer, &in->arena, &in->added, &in->n_added, err));
    FZ_FAIL_POINT("write.done");
out:
    fz_duck_result_free(result);
    fz_buf_dispose(&sql);
    fz_buf_dispose(&order);
    return rc;
}

static enum fz_code plan_all(struct insert *in, const struct fz_expr *filter, struct fz_err *err) {
    const struct fz_snapshot *head = fz_branch_head(in->target->metadata, in->target->branch);
    struct fz_scan_options options = {
        .store = in->target->store,
        .metadata = in->target->metadata,
        .snapshot_id = head != NULL ? head->snapshot_id : -1,
        .schema = fz_metadata_current_schema(in->target->metadata),
        .filter = filter,
        .cancel = in->context->cancel,
    };
    enum fz_code rc = fz_scan_plan_new(&options, &in->plan, err);
    if (rc == FZ_OK) {
        in->removed = fz_arena_array(&in->arena, in->plan->n_files, sizeof *in->removed);
        rc = in->removed == NULL ? fz_fail_nomem(err, in->plan->n_files) : FZ_OK;
    }
    return rc;
}

static bool partition_is_added(const struct insert *in, const struct fz_data_file *file) {
    for (size_t i = 0; i < in->n_added; i++) {
        if (in->added[i].spec_id == file->spec_id &&
            (file->partition.u.nested.n == 0 || fz_value_equal(&in->added[i].partition, &file->partition))) {
            return true;
        }
    }
    return false;
}

struct overwritten {
    const struct insert *in;
    const struct fz_expr *filter;
    bool dynamic;
};
static bool is_overwritten(void *ctx, const struct fz_data_file *file) {
    const struct overwritten *o = ctx;
    return o->dynamic ? partition_is_added(o->in, file) : fz_prune_file_all(o->filter, o->in->target->metadata, file);
}

// Adds the delete files of what is overwritten to what is removed.
static enum fz_code remove_covered_deletes(struct insert *in, const struct fz_expr *filter, bool dynamic,
                                           struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct overwritten overwritten = {.in = in, .filter = filter, .dynamic = dynamic};
    struct fz_data_file *deletes;
    size_t n;
    FZ_TRY(fz_change_covered_deletes(in->target, is_overwritten, &overwritten, &in->arena, &deletes, &n, err));
    if (n > 0) {
        struct fz_data_file *all = fz_arena_array(&in->arena, in->n_removed + n, sizeof *all);
        if (all == NULL) {
            return fz_fail_nomem(err, (in->n_removed + n) * sizeof *all);
        }
        memcpy(all, in->removed, in->n_removed * sizeof *all);
        memcpy(all + in->n_removed, deletes, n * sizeof *all);
        in->removed = all;
        in->n_removed += n;
    }
out:
    return rc;
}

// Which live files an overwrite replaces. A filter must take files whole (Iceberg's rule for overwrite by filter).
static enum fz_code choose_removed(struct insert *in, const struct fz_expr *filter, bool dynamic, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(plan_all(in, filter, err));
    for (size_t i = 0; i < in->plan->n_files; i++) {
        const struct fz_data_file *file = &in->plan->files[i].entry->file;
        if (dynamic && !partition_is_added(in, file)) {
            continue;
        }
        if (filter != NULL && !fz_prune_file_all(filter, in->target->metadata, file)) {
            rc = fz_fail(err, FZ_INVALID_ARG,
                         "Cannot delete file where some, but not all, rows match filter: %s. Overwrite whole "
                         "partitions, or use DELETE and INSERT",
                         file->file_path);
            goto out;
        }
        in->removed[in->n_removed++] = *file;
    }
    FZ_TRY(remove_covered_deletes(in, filter, dynamic, err));
out:
    return rc;
}

static enum fz_code commit(struct insert *in, enum fz_commit_kind kind, bool replace_partitions, const char *operation,
                           struct fz_change_stats *stats, struct fz_err *err) {
    const struct fz_snapshot *head = fz_branch_head(in->target->metadata, in->target->branch);
    struct fz_commit_result result = {0};
    struct fz_commit_request request = {
        .catalog = in->target->catalog,
        .table = &in->target->name,
        .store = in->target->store,
        .base = in->target->metadata,
        .branch = in->target->branch,
        .wap_id = in->target->wap_id,
        .kind = kind,
        .added = in->added,
        .n_added = in->n_added,
        .removed = in->removed,
        .n_removed = in->n_removed,
        .operation = operation,
        .isolation = FZ_ISOLATION_NONE,
        .scanned_snapshot_id = head != NULL ? head->snapshot_id : -1,
        .summary = in->context->summary,
        .n_summary = in->context->n_summary,
        .replace_partitions = replace_partitions,
        .check_head = in->context->check_head,
        .check_ctx = in->context->check_ctx,
        .cancel = in->context->cancel,
        .log = in->context->log,
    };
    enum fz_code rc = fz_commit_snapshot(&request, &result, err);
    stats->snapshot_id = result.snapshot_id;
    fz_metadata_unref(result.metadata);
    return rc;
}

static void fill_stats(const struct insert *in, struct fz_change_stats *stats) {
    stats->files_added = (int64_t)in->n_added;
    for (size_t i = 0; i < in->n_added; i++) {
        stats->bytes_written += in->added[i].file_size_in_bytes;
    }
    for (size_t i = 0; i < in->n_removed; i++) {
        if (in->removed[i].content == FZ_CONTENT_DATA) {
            stats->files_rewritten++;
            stats->bytes_rewritten += in->removed[i].file_size_in_bytes;
            stats->rows_deleted += in->removed[i].record_count;
        }
    }
}

static void dispose(struct insert *in, enum fz_code rc) {
    if (rc != FZ_OK && rc != FZ_COMMIT_UNKNOWN) {
        fz_table_writer_abort(in->writer);
    }
    fz_table_writer_free(in->writer);
    fz_scan_plan_unref(in->plan);
    fz_arena_dispose(&in->arena);
}

enum fz_code fz_change_insert(const struct fz_change_context *context, const struct fz_bound_insert *bound,
                              const struct fz_change_target *target, struct fz_change_stats *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t started_us = fz_monotonic_us();
    struct fz_change_stats stats = {0};
    struct insert in = {.context = context, .target = target};
    fz_uuid_v4(in.operation_id);
    FZ_TRY(write_rows(&in, bound, &stats.rows_inserted, err));
    bool dynamic = bound->overwrite && bound->dynamic;
    if (bound->overwrite) {
        if (dynamic && in.n_added == 0) {
            goto out; // Spark commits nothing here
        }
        FZ_TRY(choose_removed(&in, bound->overwrite_filter, dynamic, err));
    }
    fill_stats(&in, &stats);
    // An overwrite by filter that adds nothing is recorded as "delete"; one of partitions always as "overwrite" (iceberg-facts 8.1).
    const char *operation = !bound->overwrite ? NULL : dynamic || in.n_added > 0 ? "overwrite" : "delete";
    FZ_TRY(commit(&in, bound->overwrite ? FZ_COMMIT_OVERWRITE : FZ_COMMIT_APPEND, dynamic, operation, &stats, err));
    stats.seconds = (double)(fz_monotonic_us() - started_us) / 1e6;
out:
    if (rc == FZ_OK) {
        *out = stats;
    }
    dispose(&in, rc);
    return rc;
}

enum fz_code fz_change_truncate(const struct fz_change_context *context, const struct fz_change_target *target,
                                struct fz_change_stats *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_change_stats stats = {0};
    struct insert in = {.context = context, .target = target};
    FZ_TRY(choose_removed(&in, NULL, false, err));
    fill_stats(&in, &stats);
    FZ_TRY(commit(&in, FZ_COMMIT_OVERWRITE, false, "delete", &stats, err));
    *out = stats;
out:
    dispose(&in, rc);
    return rc;
}
