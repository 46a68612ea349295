// CALL: finds the procedure, matches and evaluates its arguments, resolves its table, runs it.
#include <stdio.h>

#include "engine/call_priv.h"

#include "base/text.h"

static const struct fz_procedure PROCEDURES[] = {
    {"rollback_to_snapshot", "table STRING, snapshot_id BIGINT", 2,
     "previous_snapshot_id BIGINT, current_snapshot_id BIGINT", fz_call_rollback_to_snapshot},
    {"rollback_to_timestamp", "table STRING, timestamp TIMESTAMP", 2,
     "previous_snapshot_id BIGINT, current_snapshot_id BIGINT", fz_call_rollback_to_timestamp},
    {"set_current_snapshot", "table STRING, snapshot_id BIGINT, ref STRING", 1,
     "previous_snapshot_id BIGINT, current_snapshot_id BIGINT", fz_call_set_current_snapshot},
    {"ancestors_of", "table STRING, snapshot_id BIGINT", 1, "snapshot_id BIGINT, timestamp BIGINT",
     fz_call_ancestors_of},
    {"fast_forward", "table STRING, branch STRING, to STRING", 3,
     "branch_updated STRING, previous_ref BIGINT, updated_ref BIGINT", fz_call_fast_forward},
    {"cherrypick_snapshot", "table STRING, snapshot_id BIGINT", 2,
     "source_snapshot_id BIGINT, current_snapshot_id BIGINT", fz_call_cherrypick_snapshot},
    {"publish_changes", "table STRING, wap_id STRING", 2, "source_snapshot_id BIGINT, current_snapshot_id BIGINT",
     fz_call_publish_changes},
    {"rewrite_data_files",
     "table STRING, strategy STRING, sort_order STRING, options MAP<STRING, STRING>, where STRING, branch STRING", 1,
     "rewritten_data_files_count INT, added_data_files_count INT, rewritten_bytes_count BIGINT, "
     "failed_data_files_count INT, removed_delete_files_count INT",
     fz_call_rewrite_data_files},
    {"compute_table_stats", "table STRING, snapshot_id BIGINT, columns ARRAY<STRING>", 1, "statistics_file STRING",
     fz_call_compute_table_stats},
    {"compute_partition_stats", "table STRING, snapshot_id BIGINT", 1, "partition_statistics_file STRING",
     fz_call_compute_partition_stats},
};

const char *fz_call_text(struct fz_call *call, size_t param) {
    const struct fz_value *v = &call->args[param];
    return v->is_null ? NULL : fz_arena_strndup(&call->s->arena, v->u.bytes.ptr, v->u.bytes.len);
}

enum fz_code fz_call_add_numbers(struct fz_call *call, const int64_t *numbers, size_t n, struct fz_err *err) {
    struct fz_value values[FZ_CALL_MAX_PARAMS];
    for (size_t i = 0; i < n; i++) {
        values[i] = (struct fz_value){.type = call->rows->fields[i].type, .is_null = numbers[i] < 0};
        values[i].u.i64 = numbers[i];
    }
    return fz_rows_add(call->rows, values, err);
}

static const struct fz_procedure *find(struct fz_statement *s, struct fz_ast_name *catalog, struct fz_err *err) {
    const struct fz_ast_name *name = &s->ast->name;
    const char *last = name->parts[name->n - 1];
    *catalog = (struct fz_ast_name){.parts = name->parts, .n = name->n >= 3 ? name->n - 2 : 0};
    if (name->n >= 2 && name->n <= 3 && strcmp(name->parts[name->n - 2], "system") == 0) {
        for (size_t i = 0; i < sizeof PROCEDURES / sizeof *PROCEDURES; i++) {
            if (strcmp(PROCEDURES[i].name, last) == 0) {
                return &PROCEDURES[i];
            }
        }
    }
    const char *near = NULL;
    size_t best = 4;
    for (size_t i = 0; i < sizeof PROCEDURES / sizeof *PROCEDURES; i++) {
        size_t d = fz_edit_distance(fz_str_of(PROCEDURES[i].name), fz_str_of(last));
        if (d < best) {
            best = d;
            near = PROCEDURES[i].name;
        }
    }
    static const char later[] = // Iceberg has them
        " add_files create_changelog_view expire_snapshots migrate register_table remove_orphan_files "
        "rewrite_manifests "
        "rewrite_position_delete_files rewrite_table_path snapshot ";
    char word[64];
    snprintf(word, sizeof word, " %s ", last);
    if (strstr(later, word) != NULL) {
        struct fz_buf names = {0};
        for (size_t i = 0; i < sizeof PROCEDURES / sizeof *PROCEDURES; i++) {
            fz_buf_printf(&names, "%s%s", i > 0 ? ", " : "", PROCEDURES[i].name);
        }
        fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE",
                     "the procedure %s is not there yet; those there are: %s", last,
                     names.ptr != NULL ? names.ptr : "");
        fz_buf_dispose(&names);
        return NULL;
    }
    fz_fail_cond(err, FZ_NOT_FOUND, "FAILED_TO_LOAD_ROUTINE",
                 "there is no procedure %s; procedures are called as catalog.system.name%s%s", last,
                 near ? ". Did you mean system." : "", near ? near : "");
    return NULL;
}

static int find_param(const struct fz_type *params, const char *name) {
    for (size_t i = 0; i < params->n_fields; i++) {
        if (fz_strcasecmp(params->fields[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

// Which argument expression goes to which parameter. By name or by position; positions come first.
static enum fz_code match_args(const struct fz_ast_stmt *a, const struct fz_procedure *p, const struct fz_type *params,
                               const struct fz_ast_expr **out, struct fz_err *err) {
    bool named = false;
    for (size_t i = 0; i < a->n_args; i++) {
        const char *name = a->arg_names != NULL ? a->arg_names[i] : NULL;
        int at = (int)i;
        if (name != NULL) {
            named = true;
            at = find_param(params, name);
            if (at < 0) {
                return fz_fail_cond(err, FZ_INVALID_ARG, "UNRECOGNIZED_PARAMETER_NAME",
                                    "procedure %s has no parameter %s; it takes (%s)", p->name, name, p->params);
            }
        } else if (named) {
            return fz_fail_cond(err, FZ_INVALID_ARG, "UNEXPECTED_POSITIONAL_ARGUMENT",
                                "procedure %s: an argument without a name follows one with a name", p->name);
        } else if (i >= params->n_fields) {
            return fz_fail_cond(err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                                "procedure %s takes at most %zu arguments: (%s)", p->name, params->n_fields, p->params);
        }
        if (out[at] != NULL) {
            return fz_fail_cond(err, FZ_INVALID_ARG,
                                "DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE",
                                "procedure %s: parameter %s is given twice", p->name, params->fields[at].name);
        }
        out[at] = a->args[i];
    }
    for (size_t i = 0; i < p->n_required; i++) {
        if (out[i] == NULL) {
            return fz_fail_cond(err, FZ_NOT_FOUND, "REQUIRED_PARAMETER_NOT_FOUND",
                                "procedure %s needs the parameter %s; it takes (%s)", p->name, params->fields[i].name,
                                p->params);
        }
    }
    return FZ_OK;
}

// The `table` argument, inside the catalog that was called.
static enum fz_code find_table(struct fz_call *call, const struct fz_ast_name *catalog, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_engine *e = call->s->engine;
    const char *text = fz_call_text(call, 0);
    if (text == NULL || *text == 0) {
        return fz_fail(err, FZ_INVALID_ARG, "Cannot handle an empty identifier for parameter 'table'");
    }
    if (catalog->n == 1 && strcmp(catalog->parts[0], e->current_catalog) != 0) {
        size_t len = strlen(catalog->parts[0]);
        if (strncmp(text, catalog->parts[0], len) != 0 || text[len] != '.') {
            text = fz_arena_printf(&call->s->arena, "%s.%s", catalog->parts[0], text);
        }
    }
    if (text == NULL) {
        return fz_fail_nomem(err, 64);
    }
    FZ_TRY(fz_engine_resolve_name(e, &call->s->arena, text, &call->catalog, &call->table, err));
out:
    return rc;
}

enum fz_code fz_call(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_call call = {.s = s, .rows = &answer->rows};
    struct fz_ast_name catalog;
    const struct fz_type *params, *columns;
    const struct fz_ast_expr *given[FZ_CALL_MAX_PARAMS] = {NULL};
    const struct fz_procedure *p = find(s, &catalog, err);
    if (p == NULL) {
        return err != NULL ? err->code : FZ_NOT_FOUND;
    }
    FZ_TRY(fz_sql_parse_schema(&s->arena, fz_str_of(p->params), &params, err));
    FZ_TRY(fz_sql_parse_schema(&s->arena, fz_str_of(p->columns), &columns, err));
    FZ_TRY(match_args(s->ast, p, params, given, err));
    for (size_t i = 0; i < params->n_fields; i++) {
        call.args[i] = (struct fz_value){.type = params->fields[i].type, .is_null = true};
        if (given[i] != NULL) {
            FZ_TRY(fz_statement_constant(s, given[i], params->fields[i].type, &call.args[i], err));
        }
    }
    FZ_TRY(find_table(&call, &catalog, err));
    for (size_t i = 0; i < p->n_required; i++) {
        if (call.args[i].is_null) {
            return fz_fail(err, FZ_INVALID_ARG, "procedure %s: parameter %s may not be NULL", p->name,
                           params->fields[i].name);
        }
    }
    struct fz_field *fields = fz_arena_memdup(&s->arena, columns->fields, columns->n_fields * sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, columns->n_fields * sizeof *fields);
    }
    for (size_t i = 0; i < columns->n_fields; i++) {
        fields[i].id = (int32_t)i + 1;
    }
    fz_rows_init(&answer->rows, fields, columns->n_fields);
    answer->has_rows = true;
    FZ_TRY(p->run(&call, err));
out:
    return rc;
}
