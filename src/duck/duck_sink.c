// Rows out of DuckDB in bulk: fz_sink(…) is a volatile scalar function that every thread calls with its vectors, and the vectors
// are handed to the sink as they are (duckdb-facts.md section b). One function serves all statements: the running one's sink
// is in the database object.
#include "duck/duck_priv.h"

static void bind_sink(duckdb_bind_info info) {
    struct fz_duck *duck = duckdb_scalar_function_bind_get_extra_info(info);
    struct fz_err err = FZ_ERR_INIT;
    size_t n = duckdb_scalar_function_bind_get_argument_count(info);
    if (!duck->sink || n != duck->n_sink_fields) {
        fz_fail(&err, FZ_BUG, "the statement gives %zu columns, the sink wants %zu", n,
                duck->sink ? duck->n_sink_fields : 0);
    }
    for (size_t i = 0; i < n && err.code == FZ_OK; i++) {
        duckdb_expression argument = duckdb_scalar_function_bind_get_argument(info, i);
        duckdb_logical_type type = duckdb_expression_return_type(argument);
        if (!fz_duck_type_matches(type, duck->sink_fields[i].type)) {
            struct fz_buf text = {0};
            fz_duck_type_print(&text, duck->sink_fields[i].type);
            fz_fail(&err, FZ_BUG, "column %zu of the statement (%s) does not have the wanted type %s", i + 1,
                    duck->sink_fields[i].name ? duck->sink_fields[i].name : "unnamed", text.ptr ? text.ptr : "?");
            fz_buf_dispose(&text);
        }
        duckdb_destroy_logical_type(&type);
        duckdb_destroy_expression(&argument);
    }
    if (err.code != FZ_OK) {
        fz_duck_slot_put(duck, &err);
        duckdb_scalar_function_bind_set_error(info, err.message);
    }
}

static void free_view(void *ptr) {
    fz_duck_view_dispose(ptr);
    fz_free(ptr);
}

static void init_sink(duckdb_init_info info) {
    enum fz_code rc = FZ_OK;
    struct fz_duck *duck = duckdb_scalar_function_init_get_extra_info(info);
    struct fz_err err = FZ_ERR_INIT;
    struct fz_duck_view *view = NULL;
    FZ_NEW(view, &err);
    FZ_TRY(fz_duck_view_init(view, duck->sink_fields, duck->n_sink_fields, &err));
    duckdb_scalar_function_init_set_state(info, view, free_view);
    view = NULL;
out:
    fz_free(view);
    if (rc != FZ_OK) {
        fz_duck_slot_put(duck, &err);
        duckdb_scalar_function_init_set_error(info, err.message);
    }
}

static void run_sink(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    enum fz_code rc = FZ_OK;
    struct fz_duck *duck = duckdb_scalar_function_get_extra_info(info);
    struct fz_duck_view *view = duckdb_scalar_function_get_state(info);
    struct fz_err err = FZ_ERR_INIT;
    size_t n = duckdb_data_chunk_get_size(input);
    FZ_TRY(fz_cancel_check(duck->cancel, &err));
    for (size_t i = 0; i < view->batch.n_columns; i++) {
        fz_duck_view_set(view, i, duckdb_data_chunk_get_vector(input, i), n);
    }
    view->batch.n_rows = n;
    FZ_TRY(duck->sink->vtable->push(duck->sink, &view->batch, &err));
    duck->sink_rows += (int64_t)n;
    memset(duckdb_vector_get_data(output), 1, n);
out:
    if (rc != FZ_OK) {
        fz_duck_slot_put(duck, &err);
        duckdb_scalar_function_set_error(info, err.message);
    }
}

enum fz_code fz_duck_sink_install(struct fz_duck *duck, struct fz_err *err) {
    duckdb_scalar_function function = duckdb_create_scalar_function();
    duckdb_logical_type any = duckdb_create_logical_type(DUCKDB_TYPE_ANY);
    duckdb_logical_type boolean = duckdb_create_logical_type(DUCKDB_TYPE_BOOLEAN);
    duckdb_scalar_function_set_name(function, "fz_sink");
    duckdb_scalar_function_set_varargs(function, any);
    duckdb_scalar_function_set_return_type(function, boolean);
    duckdb_scalar_function_set_volatile(function);
    duckdb_scalar_function_set_special_handling(function);
    duckdb_scalar_function_set_extra_info(function, duck, NULL);
    duckdb_scalar_function_set_bind(function, bind_sink);
    duckdb_scalar_function_set_init(function, init_sink);
    duckdb_scalar_function_set_function(function, run_sink);
    duckdb_state state = duckdb_register_scalar_function(duck->con, function);
    duckdb_destroy_scalar_function(&function);
    duckdb_destroy_logical_type(&any);
    duckdb_destroy_logical_type(&boolean);
    return state == DuckDBSuccess ? FZ_OK : fz_fail(err, FZ_ENGINE, "the engine refused the function fz_sink");
}

enum fz_code fz_duck_run_into(struct fz_duck *duck, const char *sql, const struct fz_field *fields, size_t n_fields,
                              struct fz_sink *sink, int64_t *out_rows, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf text = {0};
    if (n_fields == 0) {
        return fz_fail(err, FZ_BUG, "a sink without columns");
    }
    FZ_TRY(fz_duck_begin(duck, err));
    duck->sink = sink;
    duck->sink_fields = fields;
    duck->n_sink_fields = n_fields;
    duck->sink_rows = 0;
    fz_buf_puts(&text, "SELECT count(*) FILTER (WHERE fz_sink(");
    for (size_t i = 0; i < n_fields; i++) {
        fz_buf_printf(&text, "%sc%zu", i ? ", " : "", i + 1);
    }
    fz_buf_printf(&text, ")) FROM (%s) q(", sql); // the columns are named here, whatever the query calls them
    for (size_t i = 0; i < n_fields; i++) {
        fz_buf_printf(&text, "%sc%zu", i ? ", " : "", i + 1);
    }
    fz_buf_puts(&text, ")");
    FZ_TRY(fz_buf_check(&text, err));
    FZ_TRY(fz_duck_exec(duck, text.ptr, err));
    if (out_rows) {
        *out_rows = duck->sink_rows;
    }
out:
    duck->sink = NULL;
    fz_buf_dispose(&text);
    return rc;
}
