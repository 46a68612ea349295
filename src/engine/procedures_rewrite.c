// CALL system.rewrite_data_files: bin-pack compaction (upkeep/rewrite_files.h) with Iceberg's options.
#include <stdlib.h>

#include "base/text.h"
#include "engine/call_priv.h"
#include "upkeep/rewrite_files.h"

// Options that say how the work is split over a cluster or over commits: one process and one commit need none, they are accepted.
static bool is_without_meaning(const char *key) {
    static const char *const keys[] = {"max-concurrent-file-group-rewrites",
                                       "rewrite-job-order",
                                       "partial-progress.enabled",
                                       "partial-progress.max-commits",
                                       "partial-progress.max-failed-commits",
                                       "max-file-group-input-files"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        if (strcmp(key, keys[i]) == 0) {
            return true;
        }
    }
    return false;
}

static enum fz_code set_number(const char *key, const char *text, int64_t *out, struct fz_err *err) {
    if (!fz_parse_i64(fz_str_of(text), out)) {
        return fz_fail(err, FZ_INVALID_ARG, "option %s is '%s': it must be a number", key, text);
    }
    return *out > 0 ? FZ_OK : fz_fail(err, FZ_INVALID_ARG, "'%s' is set to %s but must be > 0", key, text);
}

static enum fz_code set_bool(const char *key, const char *text, bool *out, struct fz_err *err) {
    *out = fz_strcasecmp(text, "true") == 0;
    return *out || fz_strcasecmp(text, "false") == 0
               ? FZ_OK
               : fz_fail(err, FZ_INVALID_ARG, "option %s is '%s': it must be true or false", key, text);
}

static enum fz_code set_option(const char *key, const char *text, struct fz_rewrite_options *o, struct fz_err *err) {
    struct {
        const char *key;
        int64_t *number;
    } numbers[] = {{"target-file-size-bytes", &o->target_file_size_bytes},
                   {"min-file-size-bytes", &o->min_file_size_bytes},
                   {"max-file-size-bytes", &o->max_file_size_bytes},
                   {"max-file-group-size-bytes", &o->max_group_size_bytes},
                   {"min-input-files", &o->min_input_files},
                   {"delete-file-threshold", &o->delete_file_threshold}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(key, numbers[i].key) == 0) {
            return set_number(key, text, numbers[i].number, err);
        }
    }
    if (strcmp(key, "rewrite-all") == 0) {
        return set_bool(key, text, &o->rewrite_all, err);
    }
    if (strcmp(key, "use-starting-sequence-number") == 0) {
        bool starting;
        enum fz_code rc = set_bool(key, text, &starting, err);
        o->keep_new_sequence_number = !starting;
        return rc;
    }
    if (strcmp(key, "delete-ratio-threshold") == 0) {
        char *end;
        o->delete_ratio_threshold = strtod(text, &end);
        bool good = *text != 0 && *end == 0 && o->delete_ratio_threshold > 0 && o->delete_ratio_threshold <= 1;
        return good ? FZ_OK
                    : fz_fail(err, FZ_INVALID_ARG, "'delete-ratio-threshold' is '%s' but must be > 0 and <= 1", text);
    }
    return is_without_meaning(key)
               ? FZ_OK
               : fz_fail(err, FZ_UNSUPPORTED,
                         "Cannot use option %s: it is not supported by rewrite_data_files (bin-pack)", key);
}

// `where`: a condition over the table's columns that pruning understands.
static enum fz_code bind_where(struct fz_call *call, const struct fz_metadata *m, const char *text,
                               const struct fz_expr **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_ast_expr *ast;
    struct fz_sql_env env = fz_statement_env(call->s);
    const struct fz_type *type = fz_metadata_current_schema(m)->type;
    FZ_TRY(fz_sql_parse_expr(&call->s->arena, fz_str_of(text), &ast, err));
    FZ_TRY(fz_sql_bind_expr(&call->s->arena, &env, ast, type->fields, type->n_fields, out, err));
    if (!fz_expr_evaluable(*out)) {
        rc = fz_fail(err, FZ_INVALID_ARG,
                     "where => '%s': only comparisons of columns with constants choose files, combined with AND, OR, "
                     "NOT, IN and IS NULL",
                     text);
    }
out:
    return rc;
}

enum fz_code fz_call_rewrite_data_files(struct fz_call *call, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m;
    struct fz_rewrite_result result;
    const char *strategy = fz_call_text(call, 1), *sort_order = fz_call_text(call, 2), *where = fz_call_text(call, 4);
    struct fz_rewrite_request request = {
        .catalog = call->catalog,
        .table = &call->table,
        .store = call->s->engine->store,
        .cancel = &call->s->engine->cancel,
        .log = &call->s->engine->log,
        .options = {.branch = fz_call_text(call, 5)},
    };
    if (sort_order != NULL || (strategy != NULL && fz_strcasecmp(strategy, "binpack") != 0)) {
        return fz_fail(err, FZ_UNSUPPORTED, "rewrite_data_files supports the strategy binpack only");
    }
    FZ_TRY(call->catalog->vtable->load(call->catalog, &call->table, &m, err));
    FZ_TRY(fz_statement_keep(call->s, m, err));
    request.metadata = m;
    const struct fz_value *map = &call->args[3];
    for (size_t i = 0; !map->is_null && i + 1 < map->u.nested.n; i += 2) {
        const struct fz_value *k = &map->u.nested.items[i], *v = &map->u.nested.items[i + 1];
        const char *key = fz_arena_strndup(&call->s->arena, k->u.bytes.ptr, k->u.bytes.len);
        const char *text = v->is_null ? "" : fz_arena_strndup(&call->s->arena, v->u.bytes.ptr, v->u.bytes.len);
        if (key == NULL || text == NULL) {
            return fz_fail_nomem(err, 64);
        }
        FZ_TRY(set_option(key, text, &request.options, err));
    }
    if (where != NULL) {
        FZ_TRY(bind_where(call, m, where, &request.options.filter, err));
    }
    FZ_TRY(fz_rewrite_data_files(&request, &result, err));
    FZ_TRY(fz_call_add_numbers(
        call,
        (int64_t[]){result.rewritten_files, result.added_files, result.rewritten_bytes, 0, result.removed_delete_files},
        5, err));
out:
    return rc;
}
