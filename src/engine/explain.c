// EXPLAIN: changes of tables are explained by change/, everything that is a query by the plan of the engine underneath.
#include "engine/engine_priv.h"

static enum fz_code explain_change(struct fz_statement *s, struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_bound_change *bound;
    struct fz_change_target target;
    struct fz_sql_env env = fz_statement_env(s);
    FZ_TRY(fz_sql_bind_change(&s->arena, &env, s->ast->inner, &bound, err));
    FZ_TRY(fz_statement_change_target(&bound->target, s->engine, &target, err));
    FZ_TRY(fz_duck_register_kernels(s->engine->duck, bound->kernels, bound->n_kernels, err));
    if (bound->source != NULL) {
        FZ_TRY(fz_statement_open_scans(s, bound->source->scans, bound->source->n_scans, err));
    }
    FZ_TRY(fz_statement_open_scans(s, bound->scans, bound->n_scans, err));
    struct fz_change_context context = fz_statement_change_context(s);
    struct fz_change_request request = {.bound = bound, .target = &target};
    FZ_TRY(fz_change_explain(&context, &request, s->ast->dry_run, out, err));
out:
    return rc;
}

static enum fz_code explain_query(struct fz_statement *s, struct fz_sql_query *query, struct fz_buf *out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    struct fz_duck_result *result = NULL;
    const struct fz_type *text = fz_type_primitive(FZ_TYPE_STRING);
    struct fz_field fields[2] = {{.id = 1, .name = "kind", .type = text}, {.id = 2, .name = "plan", .type = text}};
    FZ_TRY(fz_duck_register_kernels(s->engine->duck, query->kernels, query->n_kernels, err));
    FZ_TRY(fz_statement_open_scans(s, query->scans, query->n_scans, err));
    fz_buf_puts(&sql, "EXPLAIN ");
    FZ_TRY(fz_sql_print_query(&sql, query, err));
    FZ_TRY(fz_buf_check(&sql, err));
    FZ_TRY(fz_duck_query(s->engine->duck, sql.ptr, fields, 2, &result, err));
    for (const struct fz_batch *batch;;) {
        FZ_TRY(fz_duck_result_next(result, &batch, err));
        if (batch == NULL) {
            break;
        }
        for (size_t i = 0; i < batch->n_rows; i++) {
            struct fz_value v = fz_value_at(&batch->columns[1], i, NULL);
            if (!v.is_null) {
                fz_buf_append(out, v.u.bytes.ptr, v.u.bytes.len);
            }
        }
    }
    FZ_TRY(fz_statement_explain_scans(s, query->scans, query->n_scans, out, err));
out:
    fz_duck_result_free(result);
    fz_buf_dispose(&sql);
    return rc;
}

static enum fz_code explain_insert(struct fz_statement *s, struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_bound_insert *bound;
    struct fz_sql_env env = fz_statement_env(s);
    FZ_TRY(fz_sql_bind_insert(&s->arena, &env, s->ast->inner, &bound, err));
    fz_buf_printf(out, "%s %s\n", bound->overwrite ? "INSERT OVERWRITE" : "INSERT INTO", bound->target.name);
    FZ_TRY(explain_query(s, bound->query, out, err));
out:
    return rc;
}

enum fz_code fz_explain(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    static const struct fz_type text = {.id = FZ_TYPE_STRING};
    static const struct fz_field field = {.id = 1, .name = "plan", .type = &text};
    enum fz_code rc = FZ_OK;
    struct fz_buf out = {0};
    struct fz_sql_query *query;
    struct fz_sql_env env = fz_statement_env(s);
    if (fz_engine_duck(s->engine, err) == NULL) {
        return err != NULL ? err->code : FZ_ENGINE;
    }
    enum fz_ast_kind kind = s->ast->inner->kind;
    bool is_change = kind == FZ_STMT_MERGE || kind == FZ_STMT_UPDATE || kind == FZ_STMT_DELETE;
    if (s->ast->dry_run && !is_change) {
        return fz_fail(err, FZ_UNSUPPORTED, "EXPLAIN DRY RUN is for MERGE, UPDATE and DELETE");
    }
    if (is_change) {
        FZ_TRY(explain_change(s, &out, err));
    } else if (kind == FZ_STMT_QUERY) {
        FZ_TRY(fz_sql_bind_query(&s->arena, &env, s->ast->inner->query, &query, err));
        FZ_TRY(explain_query(s, query, &out, err));
    } else if (kind == FZ_STMT_INSERT) {
        FZ_TRY(explain_insert(s, &out, err));
    } else {
        return fz_fail(err, FZ_UNSUPPORTED, "EXPLAIN is for queries, MERGE, UPDATE, DELETE and INSERT");
    }
    FZ_TRY(fz_buf_check(&out, err));
    fz_rows_init(&answer->rows, &field, 1);
    struct fz_value value = {.type = field.type};
    size_t len = out.len > 0 && out.ptr[out.len - 1] == '\n' ? out.len - 1 : out.len;
    value.u.bytes = (struct fz_str){fz_arena_strndup(&answer->rows.arena, out.ptr != NULL ? out.ptr : "", len), len};
    if (value.u.bytes.ptr == NULL) {
        rc = fz_fail_nomem(err, len);
        goto out;
    }
    answer->has_rows = true;
    rc = fz_rows_add(&answer->rows, &value, err);
out:
    fz_buf_dispose(&out);
    return rc;
}
