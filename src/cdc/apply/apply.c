// One folded batch into one table: prepare, build the MERGE, run it, retry what may be retried. See apply.h.
#include "cdc/apply/apply.h"

enum { ATTEMPTS = 5 };

struct attempt {
    struct fz_apply *apply;
    struct fz_fold *fold;
    struct fz_apply_table *target;
    struct fz_arena arena;
    struct fz_property *summary;
    size_t n_summary;
    struct fz_apply_head head;
};

static enum fz_code run_merge(struct attempt *a, struct fz_change_stats *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_cdc_session *session = a->apply->session;
    struct fz_apply_merge merge;
    struct fz_source *source = NULL;
    struct fz_duck *duck = NULL;
    int64_t source_id = 0;
    FZ_TRY(session->duck(session->ctx, &duck, err));
    FZ_TRY(fz_apply_build_merge(a->apply, a->fold, &a->arena, &merge, err));
    FZ_TRY(fz_fold_source_new(a->apply, a->fold, &merge, &source, err));
    FZ_TRY(fz_duck_register(duck, source, &source_id, err));
    struct fz_change_context context = {
        .duck = duck,
        .cancel = session->cancel,
        .budget = session->budget,
        .log = session->log,
        .summary = a->summary,
        .n_summary = a->n_summary,
        .check_head = fz_apply_check_head,
        .check_ctx = &a->head,
    };
    struct fz_change_target target = {.catalog = a->target->catalog,
                                      .name = a->target->name,
                                      .store = session->store,
                                      .metadata = a->target->metadata};
    struct fz_change_request request = {.bound = &merge.bound,
                                        .target = &target,
                                        .source_id = source_id,
                                        .source_fields = merge.fields,
                                        .n_source_fields = merge.n_fields};
    merge.bound.target.handle = &target;
    FZ_TRY(fz_change_run(&context, &request, out, err));
out:
    if (source_id != 0) {
        fz_duck_unregister(duck, source_id);
    }
    fz_source_unref(source);
    return rc;
}

// Tables without a key: rows are added. The fold's source gives values by the schema's order when nothing else is asked for.
static enum fz_code run_append(struct attempt *a, struct fz_change_stats *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *schema = fz_metadata_current_schema(a->target->metadata)->type;
    struct fz_source *source = NULL;
    struct fz_apply_merge rows = {.n_fields = schema->n_fields};
    struct fz_apply_column *columns = fz_arena_array(&a->arena, schema->n_fields + 1, sizeof *columns);
    rows.fields = fz_arena_memdup(&a->arena, schema->fields, schema->n_fields * sizeof *schema->fields);
    if (columns == NULL || rows.fields == NULL) {
        return fz_fail_nomem(err, schema->n_fields * sizeof *columns);
    }
    for (size_t i = 0; i < schema->n_fields; i++) {
        struct fz_map_entry *entry = fz_map_find(&a->fold->table->by_name, fz_str_of(schema->fields[i].name));
        // A column that the stream does not have: past the last column of every row.
        columns[i] = (struct fz_apply_column){entry == NULL ? FZ_APPLY_NULL : FZ_APPLY_VALUE,
                                              entry == NULL ? 0 : (size_t)entry->value.i64};
    }
    rows.columns = columns;
    FZ_TRY(fz_fold_source_new(a->apply, a->fold, &rows, &source, err));
    FZ_TRY(fz_apply_append(a->apply, a->target, source, a->summary, a->n_summary, out, err));
out:
    fz_source_unref(source);
    return rc;
}

// A truncate of a table without a key empties it first, under the old positions: a crash in between repeats the truncate.
static enum fz_code truncate_keyless(struct attempt *a, struct fz_change_stats *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_fold empty = {.table = a->fold->table, .truncated = true, .truncate_order = a->fold->truncate_order};
    struct attempt first = {.apply = a->apply, .fold = &empty, .target = a->target, .head = a->head};
    struct fz_property *summary = a->summary;
    if (a->fold->n_rows == 0) {
        first.summary = summary;
        first.n_summary = a->n_summary;
    }
    rc = run_merge(&first, out, err);
    fz_arena_dispose(&first.arena);
    a->head = first.head;
    if (rc == FZ_OK && a->fold->n_rows > 0) {
        rc = fz_apply_reload(a->apply, a->target, err);
    }
    return rc;
}

static enum fz_code attempt(struct attempt *a, struct fz_change_stats *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool keyless = a->fold->table->n_key == 0;
    if (keyless && a->fold->truncated) {
        FZ_TRY(truncate_keyless(a, out, err));
    }
    if (keyless && a->fold->n_rows > 0) {
        FZ_TRY(run_append(a, out, err));
    } else if (!keyless) {
        FZ_TRY(run_merge(a, out, err));
    }
out:
    return rc;
}

// After a failed attempt: whether another one makes sense, with everything ready for it.
static bool may_retry(struct attempt *a, enum fz_code rc, int n, struct fz_err *err) {
    struct fz_duck *duck = NULL;
    struct fz_err ignored = FZ_ERR_INIT;
    if (n + 1 >= ATTEMPTS || a->head.is_other_instance) {
        return false;
    }
    if (rc == FZ_ENGINE) {
        const struct fz_cdc_session *session = a->apply->session;
        return n == 0 && session->duck(session->ctx, &duck, &ignored) == FZ_OK && fz_duck_is_broken(duck) &&
               fz_duck_reopen(duck, &ignored) == FZ_OK;
    }
    if (rc != FZ_CONFLICT) {
        return false;
    }
    fz_log_write(a->apply->session->log, 3, "table %s: somebody else committed; the batch is matched again (%s)",
                 a->target->dotted, err->message);
    return fz_apply_reload(a->apply, a->target, &ignored) == FZ_OK;
}

enum fz_code fz_apply_fold(struct fz_apply *apply, struct fz_fold *fold, struct fz_change_stats *out,
                           struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct attempt a = {.apply = apply, .fold = fold, .target = fold->table->apply_state};
    a.head = (struct fz_apply_head){apply, a.target, false};
    if (a.target->metadata != NULL) {
        FZ_TRY(fz_apply_reload(apply, a.target, err));
    }
    FZ_TRY(fz_apply_prepare(apply, fold->table, err));
    FZ_TRY(fz_apply_summary(apply, &fold->table->positions, &a.arena, &a.summary, &a.n_summary, err));
    for (int n = 0;; n++) {
        struct fz_err tried = FZ_ERR_INIT;
        *out = (struct fz_change_stats){0};
        rc = attempt(&a, out, &tried);
        if (rc == FZ_OK) {
            break;
        }
        if (!may_retry(&a, rc, n, &tried)) {
            *err = tried;
            goto out;
        }
    }
    fz_free(a.target->positions);
    a.target->positions = fz_strdup(a.summary[1].value);
    if (a.target->positions == NULL) {
        rc = fz_fail_nomem(err, strlen(a.summary[1].value));
    }
out:
    fz_arena_dispose(&a.arena);
    if (rc != FZ_OK) {
        fz_err_context(err, "table %s", a.target->dotted);
    }
    return rc;
}
