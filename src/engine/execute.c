// Running one statement: parse, bind, open what it reads, run it, hand out the result. And the one line after a write.
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "engine/engine_priv.h"

void fz_statement_free(struct fz_statement *s) {
    if (s == NULL) {
        return;
    }
    fz_statement_drop_scans(s);
    for (size_t i = 0; i < s->n_registered; i++) {
        fz_duck_unregister(s->engine->duck, s->registered[i]);
    }
    for (size_t i = 0; i < s->n_files; i++) {
        fz_parquet_files_unref(s->files[i]);
    }
    fz_free(s->files);
    for (size_t i = 0; i < s->n_metadata; i++) {
        fz_metadata_unref(s->metadata[i]);
    }
    fz_free(s->registered);
    fz_free(s->metadata);
    fz_arena_dispose(&s->arena);
    fz_free(s);
}

void fz_engine_result_free(struct fz_engine_result *r) {
    if (r == NULL) {
        return;
    }
    fz_duck_result_free(r->duck);
    if (r->reader != NULL) {
        r->source->vtable->close(r->source, r->reader);
    }
    fz_source_unref(r->source);
    fz_batch_dispose(&r->batch);
    fz_statement_free(r->statement);
    fz_free(r);
}

const struct fz_field *fz_engine_result_columns(const struct fz_engine_result *r, size_t *n) {
    *n = r->n_fields;
    return r->fields;
}

enum fz_code fz_engine_result_next(struct fz_engine_result *r, const struct fz_batch **out, struct fz_err *err) {
    *out = NULL;
    if (r->duck != NULL) {
        return fz_duck_result_next(r->duck, out, err);
    }
    if (r->source == NULL) {
        return FZ_OK;
    }
    enum fz_code rc = r->source->vtable->next(r->source, r->reader, &r->batch, err);
    if (rc == FZ_OK && r->batch.n_rows > 0) {
        *out = &r->batch;
    }
    return rc;
}

static enum fz_code show_rows(struct fz_engine_result *r, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    r->fields = answer->rows.fields;
    r->n_fields = answer->rows.n_fields;
    size_t *columns = fz_arena_array(&r->statement->arena, r->n_fields, sizeof *columns);
    if (columns == NULL) {
        return fz_fail_nomem(err, r->n_fields * sizeof *columns);
    }
    for (size_t i = 0; i < r->n_fields; i++) {
        columns[i] = i;
    }
    FZ_TRY(fz_batch_init(&r->batch, r->fields, r->n_fields, FZ_BATCH_ROWS, err));
    FZ_TRY(fz_rows_source(&answer->rows, &r->source, err));
    FZ_TRY(r->source->vtable->open(r->source, columns, r->n_fields, &r->reader, err));
out:
    return rc;
}

static enum fz_code run_query(struct fz_statement *s, struct fz_engine_result *r, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    struct fz_sql_query *query;
    struct fz_sql_env env = fz_statement_env(s);
    struct fz_duck *duck = fz_engine_duck(s->engine, err);
    if (duck == NULL) {
        return err != NULL ? err->code : FZ_ENGINE;
    }
    FZ_TRY(fz_sql_bind_query(&s->arena, &env, s->ast->query, &query, err));
    FZ_TRY(fz_statement_open_scans(s, query->scans, query->n_scans, err));
    FZ_TRY(fz_duck_register_kernels(duck, query->kernels, query->n_kernels, err));
    FZ_TRY(fz_sql_print_query(&sql, query, err));
    FZ_TRY(fz_buf_check(&sql, err));
    fz_log_write(&s->engine->log, 4, "%s", sql.ptr);
    FZ_TRY(fz_duck_query(duck, sql.ptr, query->columns, query->n_columns, &r->duck, err));
    r->fields = query->columns;
    r->n_fields = query->n_columns;
out:
    fz_buf_dispose(&sql);
    return rc;
}

struct fz_change_context fz_statement_change_context(struct fz_statement *s) {
    return (struct fz_change_context){
        .duck = s->engine->duck,
        .cancel = &s->engine->cancel,
        .budget = &s->engine->budget,
        .progress = &s->engine->progress,
        .log = &s->engine->log,
    };
}

enum fz_code fz_statement_change_target(const struct fz_sql_table *table, struct fz_engine *e,
                                        struct fz_change_target *out, struct fz_err *err) {
    const struct fz_engine_table *t = table->handle;
    if (t == NULL || t->kind != FZ_TABLE_DATA || !table->is_iceberg_table) {
        return fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE.TABLE_OPERATION",
                            "%s cannot be changed: only Iceberg tables can", table->name);
    }
    if (t->time_travel) {
        return fz_fail(err, FZ_INVALID_ARG,
                       "Cannot write to table at a specific snapshot or tag: %s. Name the table or a branch",
                       table->name);
    }
    if (t->wap_conflict) {
        return fz_fail(
            err, FZ_INVALID_ARG,
            "Cannot set both WAP ID and branch: spark.wap.id and spark.wap.branch are both set; RESET one of them");
    }
    *out = (struct fz_change_target){.catalog = t->catalog,
                                     .name = t->name,
                                     .store = e->store,
                                     .metadata = t->metadata,
                                     .branch = t->branch,
                                     .wap_id = t->wap_id};
    return FZ_OK;
}

// merged 5000 rows (4800 updated, 200 inserted) · 30 files (263.1 MB) → 30 + 30 deletes (2.7 MB) · snapshot 123… · 0.31 s
// In: files that were written anew, or, where only deletes and new rows were written, files that were looked into.
static void notice_write(struct fz_statement *s, const char *verb, const struct fz_change_stats *st) {
    struct fz_buf b = {0};
    fz_buf_printf(&b, "%s %" PRId64 " rows", verb, st->rows_updated + st->rows_deleted + st->rows_inserted);
    const struct {
        const char *what;
        int64_t n;
    } parts[] = {{"updated", st->rows_updated}, {"deleted", st->rows_deleted}, {"inserted", st->rows_inserted}};
    const char *before = " (";
    for (size_t i = 0; i < 3; i++) {
        if (parts[i].n > 0) {
            fz_buf_printf(&b, "%s%" PRId64 " %s", before, parts[i].n, parts[i].what);
            before = ", ";
        }
    }
    bool anew = st->files_rewritten > 0;
    int64_t files_in = anew ? st->files_rewritten : st->files_scanned;
    fz_buf_printf(&b, "%s · %" PRId64 " files (", before[0] == ',' ? ")" : "", files_in);
    fz_buf_put_size(&b, anew ? st->bytes_rewritten : st->bytes_read);
    fz_buf_printf(&b, ") → %" PRId64, st->files_added);
    if (st->delete_files_added > 0) {
        fz_buf_printf(&b, " + %" PRId64 " deletes", st->delete_files_added);
    }
    fz_buf_puts(&b, " (");
    fz_buf_put_size(&b, st->bytes_written);
    fz_buf_printf(&b, ") · snapshot %" PRId64 " · %.3f s", st->snapshot_id, st->seconds);
    if (b.ptr != NULL && !b.failed) {
        fz_log_write(&s->engine->log, 2, "%s", b.ptr);
    }
    fz_buf_dispose(&b);
}

static enum fz_code run_change(struct fz_statement *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_bound_change *bound;
    struct fz_change_target target;
    struct fz_change_stats stats;
    struct fz_sql_env env = fz_statement_env(s);
    if (fz_engine_duck(s->engine, err) == NULL) {
        return err != NULL ? err->code : FZ_ENGINE;
    }
    FZ_TRY(fz_sql_bind_change(&s->arena, &env, s->ast, &bound, err));
    FZ_TRY(fz_statement_change_target(&bound->target, s->engine, &target, err));
    if (bound->schema_changed) {
        FZ_TRY(fz_evolve_target(s, &bound->target, &target, err));
    }
    if (bound->source != NULL) {
        FZ_TRY(fz_statement_open_scans(s, bound->source->scans, bound->source->n_scans, err));
    }
    FZ_TRY(fz_statement_open_scans(s, bound->scans, bound->n_scans, err));
    struct fz_change_context context = fz_statement_change_context(s);
    struct fz_change_request request = {.bound = bound, .target = &target};
    FZ_TRY(fz_change_run(&context, &request, &stats, err));
    notice_write(s,
                 s->ast->kind == FZ_STMT_MERGE    ? "merged"
                 : s->ast->kind == FZ_STMT_UPDATE ? "updated"
                                                  : "deleted",
                 &stats);
out:
    return rc;
}

// INSERT INTO t WITH (…): the write options that decide where rows go and what the snapshot says; all others only say how Spark is to
// write.
static enum fz_code apply_write_options(struct fz_statement *s, struct fz_bound_insert *bound,
                                        struct fz_change_target *target, struct fz_err *err) {
    for (size_t i = 0; i < s->ast->n_properties; i++) {
        const char *key = s->ast->properties[i].key, *value = s->ast->properties[i].value;
        if (fz_strcasecmp(key, "branch") == 0) {
            if (target->branch != NULL && strcmp(target->branch, value) != 0) {
                return fz_fail(err, FZ_INVALID_ARG,
                               "the write option branch is %s, but the table is written to at branch %s", value,
                               target->branch);
            }
            target->branch = value;
        } else if (fz_strcasecmp(key, "overwrite-mode") == 0) {
            bound->dynamic =
                bound->overwrite && bound->overwrite_filter == NULL && fz_strcasecmp(value, "dynamic") == 0;
        }
    }
    return FZ_OK;
}

static enum fz_code summary_options(struct fz_statement *s, struct fz_change_context *context, struct fz_err *err) {
    static const char prefix[] = "snapshot-property.";
    size_t n = 0;
    struct fz_property *extra = fz_arena_array(&s->arena, s->ast->n_properties + 1, sizeof *extra);
    if (extra == NULL) {
        return fz_fail_nomem(err, s->ast->n_properties * sizeof *extra);
    }
    for (size_t i = 0; s->ast->kind == FZ_STMT_INSERT && i < s->ast->n_properties; i++) {
        const struct fz_property *p = &s->ast->properties[i];
        if (strncasecmp(p->key, prefix, sizeof prefix - 1) == 0 && p->key[sizeof prefix - 1] != 0) {
            extra[n++] = (struct fz_property){.key = p->key + sizeof prefix - 1, .value = p->value};
        }
    }
    context->summary = extra;
    context->n_summary = n;
    return FZ_OK;
}

enum fz_code fz_execute_insert(struct fz_statement *s, const struct fz_bound_insert *bound,
                               const struct fz_change_target *target, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_change_stats stats;
    FZ_TRY(fz_statement_open_scans(s, bound->query->scans, bound->query->n_scans, err));
    struct fz_change_context context = fz_statement_change_context(s);
    FZ_TRY(summary_options(s, &context, err));
    FZ_TRY(fz_change_insert(&context, bound, target, &stats, err));
    notice_write(s, "wrote", &stats);
out:
    return rc;
}

static enum fz_code run_insert(struct fz_statement *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_bound_insert *bound;
    struct fz_change_target target;
    struct fz_sql_env env = fz_statement_env(s);
    if (fz_engine_duck(s->engine, err) == NULL) {
        return err != NULL ? err->code : FZ_ENGINE;
    }
    FZ_TRY(fz_sql_bind_insert(&s->arena, &env, s->ast, &bound, err));
    const char *mode = fz_setting(s->engine, "spark.sql.sources.partitionOverwriteMode", "static");
    bound->dynamic = bound->overwrite && bound->overwrite_filter == NULL && fz_strcasecmp(mode, "dynamic") == 0;
    FZ_TRY(fz_statement_change_target(&bound->target, s->engine, &target, err));
    FZ_TRY(apply_write_options(s, bound, &target, err));
    FZ_TRY(fz_execute_insert(s, bound, &target, err));
out:
    return rc;
}

static enum fz_code run_truncate(struct fz_statement *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_engine_table *t;
    struct fz_change_stats stats;
    FZ_TRY(fz_engine_load_table(s, &s->ast->name, &t, err));
    if (s->ast->n_partition > 0) {
        return fz_fail_cond(err, FZ_INVALID_ARG, "INVALID_PARTITION_OPERATION.PARTITION_MANAGEMENT_IS_UNSUPPORTED",
                            "TRUNCATE TABLE takes no PARTITION here: use DELETE FROM %s WHERE …", t->name.name);
    }
    struct fz_sql_table table = {.handle = t, .name = t->name.name, .is_iceberg_table = t->kind == FZ_TABLE_DATA};
    struct fz_change_target target;
    FZ_TRY(fz_statement_change_target(&table, s->engine, &target, err));
    struct fz_change_context context = fz_statement_change_context(s);
    FZ_TRY(fz_change_truncate(&context, &target, &stats, err));
    notice_write(s, "truncated", &stats);
out:
    return rc;
}

static enum fz_code dispatch(struct fz_statement *s, struct fz_engine_result *r, struct fz_err *err) {
    struct fz_answer answer = {0};
    enum fz_code rc = FZ_OK;
    switch (s->ast->kind) {
    case FZ_STMT_QUERY:
        return run_query(s, r, err);
    case FZ_STMT_MERGE:
    case FZ_STMT_UPDATE:
    case FZ_STMT_DELETE:
        return run_change(s, err);
    case FZ_STMT_INSERT:
        return run_insert(s, err);
    case FZ_STMT_TRUNCATE:
        return run_truncate(s, err);
    case FZ_STMT_CREATE_TABLE:
        return fz_ddl_create_table(s, err);
    case FZ_STMT_DROP_TABLE:
        return fz_ddl_drop_table(s, err);
    case FZ_STMT_RENAME_TABLE:
        return fz_ddl_rename_table(s, err);
    case FZ_STMT_ALTER_TABLE:
        return fz_ddl_alter_table(s, err);
    case FZ_STMT_CREATE_VIEW:
        return fz_ddl_create_view(s, err);
    case FZ_STMT_DROP_VIEW:
        return fz_ddl_drop_view(s, err);
    case FZ_STMT_CREATE_NAMESPACE:
    case FZ_STMT_DROP_NAMESPACE:
    case FZ_STMT_ALTER_NAMESPACE:
        return fz_ddl_namespace(s, err);
    case FZ_STMT_USE:
        return fz_ddl_use(s, err);
    case FZ_STMT_CACHE:
    case FZ_STMT_REFRESH:
        return FZ_OK; // tables are read fresh at each statement
    case FZ_STMT_SET:
    case FZ_STMT_RESET:
        rc = fz_set_statement(s, &answer, err);
        break;
    case FZ_STMT_SHOW:
        rc = fz_show(s, &answer, err);
        break;
    case FZ_STMT_DESCRIBE:
        rc = fz_describe(s, &answer, err);
        break;
    case FZ_STMT_EXPLAIN:
        rc = fz_explain(s, &answer, err);
        break;
    case FZ_STMT_CALL:
        rc = fz_call(s, &answer, err);
        break;
    case FZ_STMT_ALTER_VIEW:
    case FZ_STMT_DECLARE_VARIABLE:
    case FZ_STMT_DROP_VARIABLE:
    case FZ_STMT_SET_VARIABLE:
    case FZ_STMT_EXECUTE_IMMEDIATE:
    case FZ_STMT_UNSUPPORTED:
        return fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE", "%s is not supported",
                            s->ast->text ? s->ast->text : "this statement");
    }
    if (rc == FZ_OK && answer.has_rows) {
        rc = show_rows(r, &answer, err);
    }
    fz_rows_dispose(&answer.rows);
    return rc;
}

enum fz_code fz_engine_execute(struct fz_engine *e, const char *sql, struct fz_engine_result **out,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_engine_result *r = NULL;
    fz_cancel_reset(&e->cancel);
    fz_progress_reset(&e->progress);
    e->statement_now_us = fz_now_us();
    FZ_NEW(r, err);
    FZ_NEW(r->statement, err);
    struct fz_statement *s = r->statement;
    s->engine = e;
    s->sql = fz_arena_strdup(&s->arena, sql);
    if (s->sql == NULL) {
        rc = fz_fail_nomem(err, strlen(sql));
        goto out;
    }
    FZ_TRY(fz_sql_parse(&s->arena, fz_str_of(s->sql), &s->ast, err));
    FZ_TRY(dispatch(s, r, err));
    *out = r;
    r = NULL;
out:
    fz_engine_result_free(r);
    return rc;
}
