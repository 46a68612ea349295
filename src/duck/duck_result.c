// Results that are pulled: streamed chunk by chunk as batches for people, one row for the engine itself, and the columns of a
// query without running it. Streaming is a deprecated call of the C API with nothing in its place (duckdb-facts.md rule 4).
#include "duck/duck_priv.h"

struct fz_duck_result {
    struct fz_duck *duck;
    duckdb_result result;
    duckdb_data_chunk chunk; // the one the last batch points into
    struct fz_duck_view view;
    char *sql;
    bool opened, done;
};

static enum fz_code check_columns(duckdb_prepared_statement statement, const struct fz_field *fields, size_t n,
                                  const char *sql, struct fz_err *err) {
    size_t have = duckdb_prepared_statement_column_count(statement);
    if (n == 0 && have == 1) { // SQL has no rows without columns: one stands in
        return FZ_OK;
    }
    if (have != n) {
        return fz_fail(err, FZ_BUG, "the statement gives %zu columns, %zu are wanted: %s", have, n, sql);
    }
    for (size_t i = 0; i < n; i++) {
        duckdb_logical_type type = duckdb_prepared_statement_column_logical_type(statement, i);
        bool same = fz_duck_type_matches(type, fields[i].type);
        duckdb_destroy_logical_type(&type);
        if (!same) {
            struct fz_buf want = {0};
            fz_duck_type_print(&want, fields[i].type);
            fz_fail(err, FZ_BUG, "column %zu does not have the wanted type %s: %s", i + 1, want.ptr ? want.ptr : "?",
                    sql);
            fz_buf_dispose(&want);
            return err ? err->code : FZ_BUG;
        }
    }
    return FZ_OK;
}

enum fz_code fz_duck_query(struct fz_duck *duck, const char *sql, const struct fz_field *fields, size_t n_fields,
                           struct fz_duck_result **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    duckdb_prepared_statement statement = NULL;
    struct fz_duck_result *result = NULL;
    FZ_TRY(fz_duck_begin(duck, err));
    FZ_NEW(result, err);
    result->duck = duck;
    FZ_TRY(fz_duck_view_init(&result->view, fields, n_fields, err));
    result->sql = fz_strdup(sql);
    if (!result->sql) {
        rc = fz_fail_nomem(err, strlen(sql));
        goto out;
    }
    FZ_TRY(fz_duck_prepare(duck, sql, &statement, err));
    FZ_TRY(check_columns(statement, fields, n_fields, sql, err));
    FZ_TRY(fz_duck_execute(duck, statement, true, sql, &result->result, err));
    result->opened = true;
    duck->open_result = result;
    *out = result;
    result = NULL;
out:
    duckdb_destroy_prepare(&statement);
    fz_duck_result_free(result);
    return rc;
}

enum fz_code fz_duck_result_next(struct fz_duck_result *result, const struct fz_batch **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *out = NULL;
    while (!result->done) {
        if (result->chunk) {
            duckdb_destroy_data_chunk(&result->chunk);
        }
        FZ_TRY(fz_cancel_check(result->duck->cancel, err));
        result->chunk = duckdb_fetch_chunk(result->result);
        if (!result->chunk) { // the end, or an error
            result->done = true;
            const char *why = duckdb_result_error(&result->result);
            if (why && *why) {
                rc = fz_duck_raise(result->duck, why, result->sql, err);
            }
            break;
        }
        size_t n = duckdb_data_chunk_get_size(result->chunk);
        if (n == 0) {
            continue;
        }
        for (size_t i = 0; i < result->view.batch.n_columns; i++) {
            fz_duck_view_set(&result->view, i, duckdb_data_chunk_get_vector(result->chunk, i), n);
        }
        result->view.batch.n_rows = n;
        *out = &result->view.batch;
        break;
    }
out:
    return rc;
}

void fz_duck_result_free(struct fz_duck_result *result) {
    if (!result) {
        return;
    }
    struct fz_duck *duck = result->duck;
    bool half_read = result->opened && !result->done;
    if (duck->open_result == result) {
        duck->open_result = NULL;
    }
    if (result->chunk) {
        duckdb_destroy_data_chunk(&result->chunk);
    }
    if (result->opened) {
        duckdb_destroy_result(&result->result);
    }
    if (half_read && duck->con && !duck->broken) {
        // The scans of a half-read stream are let go by the next statement only (duckdb-facts.md rule 9): this one.
        duckdb_result nothing = {0};
        duckdb_query(duck->con, "SELECT 1", &nothing);
        duckdb_destroy_result(&nothing);
    }
    fz_duck_view_dispose(&result->view);
    fz_free(result->sql);
    fz_free(result);
}

enum fz_code fz_duck_query_row(struct fz_duck *duck, const char *sql, const struct fz_field *fields, size_t n_fields,
                               struct fz_arena *arena, struct fz_value *out_values, bool *out_found,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_duck_result *result = NULL;
    const struct fz_batch *batch = NULL;
    *out_found = false;
    FZ_TRY(fz_duck_query(duck, sql, fields, n_fields, &result, err));
    FZ_TRY(fz_duck_result_next(result, &batch, err));
    if (!batch) {
        goto out;
    }
    for (size_t i = 0; i < n_fields; i++) {
        struct fz_value borrowed = fz_value_at(&batch->columns[i], 0, arena);
        const struct fz_value *copy = fz_value_copy(arena, &borrowed);
        if (!copy) {
            rc = fz_fail_nomem(err, sizeof borrowed);
            goto out;
        }
        out_values[i] = *copy;
    }
    if (batch->n_rows == 1) { // reading on to the end closes the scans
        FZ_TRY(fz_duck_result_next(result, &batch, err));
    }
    *out_found = true;
out:
    fz_duck_result_free(result);
    return rc;
}

enum fz_code fz_duck_describe(struct fz_duck *duck, const char *sql, struct fz_arena *arena, struct fz_field **out,
                              size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    duckdb_prepared_statement statement = NULL;
    FZ_TRY(fz_duck_begin(duck, err));
    FZ_TRY(fz_duck_prepare(duck, sql, &statement, err));
    size_t count = duckdb_prepared_statement_column_count(statement);
    struct fz_field *fields = fz_arena_array(arena, count ? count : 1, sizeof *fields);
    if (!fields) {
        rc = fz_fail_nomem(err, count * sizeof *fields);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        const char *name = duckdb_prepared_statement_column_name(statement, i);
        fields[i].name = fz_arena_strdup(arena, name ? name : "");
        duckdb_free((void *)(uintptr_t)name);
        duckdb_logical_type type = duckdb_prepared_statement_column_logical_type(statement, i);
        rc = fz_duck_type_read(arena, type, true, &fields[i].type, err);
        duckdb_destroy_logical_type(&type);
        if (rc != FZ_OK) {
            fz_err_context(err, "column %s", fields[i].name);
            goto out;
        }
    }
    *out = fields;
    *n = count;
out:
    duckdb_destroy_prepare(&statement);
    return rc;
}
