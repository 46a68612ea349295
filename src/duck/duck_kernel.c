// Own scalar functions: kernels of sql/kernels seen by DuckDB. Arguments are views over its vectors; a flat result is computed in
// the result vector itself, text is copied into its heap, nested results level by level. Kernels never raise for a value.
#include "duck/duck_priv.h"

// Bind data: types of the arguments of one call in a statement. Shared by the copies DuckDB makes of the expression.
struct call_types {
    _Atomic int refs;
    struct fz_arena arena;
    struct fz_field *args;
    size_t n_args;
};

struct call_state { // one thread
    const struct fz_duck_kernel *kernel;
    struct call_types *types;
    struct fz_duck_view view;
    void **cleared; // per argument: values with zeros in NULL rows, made when needed
    struct fz_field result_field;
    struct fz_column out; // storage of its own unless `direct`
    bool direct; // flat and not text: computed in the vector
    uint64_t validity[FZ_DUCK_VALIDITY_WORDS];
    struct fz_arena strings;
};

static void free_types(void *ptr) {
    struct call_types *types = ptr;
    if (types && atomic_fetch_sub(&types->refs, 1) == 1) {
        fz_arena_dispose(&types->arena);
        fz_free(types);
    }
}
static void *copy_types(void *ptr) {
    struct call_types *types = ptr;
    atomic_fetch_add(&types->refs, 1);
    return types;
}

static enum fz_code read_arguments(struct call_types *types, duckdb_bind_info info, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < types->n_args; i++) {
        duckdb_expression argument = duckdb_scalar_function_bind_get_argument(info, i);
        duckdb_logical_type type = duckdb_expression_return_type(argument);
        rc = fz_duck_type_read(&types->arena, type, false, &types->args[i].type, err);
        duckdb_destroy_logical_type(&type);
        duckdb_destroy_expression(&argument);
        if (rc != FZ_OK) {
            return rc;
        }
    }
    return rc;
}

static const struct fz_type *declared(const struct fz_scalar_kernel *def, size_t arg) {
    return def->n_args == SIZE_MAX ? def->args[0] : def->args[arg];
}

static void bind_kernel(duckdb_bind_info info) {
    enum fz_code rc = FZ_OK;
    const struct fz_duck_kernel *kernel = duckdb_scalar_function_bind_get_extra_info(info);
    struct fz_err err = FZ_ERR_INIT;
    struct call_types *types = NULL;
    FZ_NEW(types, &err);
    types->refs = 1;
    types->n_args = duckdb_scalar_function_bind_get_argument_count(info);
    types->args = fz_arena_array(&types->arena, types->n_args ? types->n_args : 1, sizeof *types->args);
    if (!types->args) {
        rc = fz_fail_nomem(&err, types->n_args * sizeof *types->args);
        goto out;
    }
    FZ_TRY(read_arguments(types, info, &err));
    for (size_t i = 0; i < types->n_args; i++) { // where a type is declared DuckDB casts to it after the bind
        const struct fz_type *type = declared(&kernel->def, i);
        types->args[i].type = type ? type : types->args[i].type;
    }
    duckdb_scalar_function_set_bind_data(info, types, free_types);
    duckdb_scalar_function_set_bind_data_copy(info, copy_types);
    types = NULL;
out:
    free_types(types);
    if (rc != FZ_OK) {
        fz_duck_slot_put(kernel->duck, &err);
        duckdb_scalar_function_bind_set_error(info, err.message);
    }
}

static void free_state(void *ptr) {
    struct call_state *state = ptr;
    for (size_t i = 0; state->cleared && i < state->types->n_args; i++) {
        fz_free(state->cleared[i]);
    }
    fz_free(state->cleared);
    fz_duck_view_dispose(&state->view);
    if (!state->direct) {
        fz_column_dispose(&state->out);
    }
    fz_arena_dispose(&state->strings);
    free_types(state->types);
    fz_free(state);
}

static bool is_text(const struct fz_type *type) {
    return fz_type_width(type) == sizeof(struct fz_string) && fz_duck_type_is_flat(type) && type->id != FZ_TYPE_UUID &&
           type->id != FZ_TYPE_DECIMAL && type->id != FZ_TYPE_INTERVAL_CAL;
}

static void init_kernel(duckdb_init_info info) {
    enum fz_code rc = FZ_OK;
    const struct fz_duck_kernel *kernel = duckdb_scalar_function_init_get_extra_info(info);
    struct fz_err err = FZ_ERR_INIT;
    struct call_state *state = NULL;
    FZ_NEW(state, &err);
    state->kernel = kernel;
    state->types = copy_types(duckdb_scalar_function_init_get_bind_data(info));
    state->direct = fz_duck_type_is_flat(kernel->def.result) && !is_text(kernel->def.result);
    state->cleared = fz_calloc(state->types->n_args ? state->types->n_args : 1, sizeof *state->cleared);
    if (!state->cleared) {
        rc = fz_fail_nomem(&err, state->types->n_args * sizeof *state->cleared);
        goto out;
    }
    FZ_TRY(fz_duck_view_init(&state->view, state->types->args, state->types->n_args, &err));
    if (!state->direct) {
        FZ_TRY(fz_column_init(&state->out, kernel->def.result, FZ_BATCH_ROWS, &err));
    }
    duckdb_scalar_function_init_set_state(info, state, free_state);
    state = NULL;
out:
    if (state) {
        free_state(state);
    }
    if (rc != FZ_OK) {
        fz_duck_slot_put(kernel->duck, &err);
        duckdb_scalar_function_init_set_error(info, err.message);
    }
}

// NULL rows of an argument hold whatever the engine left there; a kernel that is promised no NULLs gets zeros instead.
static enum fz_code clear_null_rows(struct call_state *state, size_t arg, size_t n, struct fz_err *err) {
    struct fz_column *column = &state->view.batch.columns[arg];
    size_t width = fz_type_width(column->type);
    if (!column->validity || width == 0) {
        return FZ_OK;
    }
    if (!state->cleared[arg]) {
        state->cleared[arg] = fz_malloc(FZ_BATCH_ROWS * width);
        if (!state->cleared[arg]) {
            return fz_fail_nomem(err, FZ_BATCH_ROWS * width);
        }
    }
    char *values = state->cleared[arg];
    memcpy(values, column->data, n * width);
    for (size_t i = 0; i < n; i++) {
        if (!fz_column_is_valid(column, i)) {
            memset(values + i * width, 0, width);
        }
    }
    column->data = values;
    return FZ_OK;
}

// Rows where no argument is NULL, in state->validity; false when all rows are such.
static bool any_null_row(struct call_state *state, size_t n) {
    bool any = false;
    memset(state->validity, 0xff, sizeof state->validity);
    for (size_t i = 0; i < state->view.batch.n_columns; i++) {
        const uint64_t *words = state->view.batch.columns[i].validity;
        for (size_t w = 0; words && w < (n + 63) / 64; w++) {
            state->validity[w] &= words[w];
            any = true;
        }
    }
    return any;
}

static enum fz_code call_kernel(struct call_state *state, duckdb_data_chunk input, duckdb_vector output,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_scalar_kernel *def = &state->kernel->def;
    size_t n = duckdb_data_chunk_get_size(input);
    uint64_t out_validity[FZ_DUCK_VALIDITY_WORDS], merged[FZ_DUCK_VALIDITY_WORDS];
    struct fz_column direct = {
        .type = def->result, .data = NULL, .validity_storage = out_validity, .capacity = FZ_BATCH_ROWS};
    struct fz_column *out = state->direct ? &direct : &state->out;
    if (state->direct) {
        direct.data = duckdb_vector_get_data(output);
    } else {
        fz_column_reset(out);
    }
    for (size_t i = 0; i < state->view.batch.n_columns; i++) {
        fz_duck_view_set(&state->view, i, duckdb_data_chunk_get_vector(input, i), n);
    }
    bool nulls = def->null_in_null_out && any_null_row(state, n);
    for (size_t i = 0; nulls && i < state->view.batch.n_columns; i++) {
        FZ_TRY(clear_null_rows(state, i, n, err));
    }
    FZ_TRY(def->run(state->view.batch.columns, state->view.batch.n_columns, n, out, &state->strings, err));
    if (nulls) {
        for (size_t w = 0; w < (n + 63) / 64; w++) {
            merged[w] = state->validity[w] & (out->validity ? out->validity[w] : ~UINT64_C(0));
        }
        out->validity = merged;
    }
    rc = fz_duck_vector_write(output, out, n, true, err);
    out->validity = NULL;
out:
    if (state->strings.used_bytes > 0) {
        fz_arena_dispose(&state->strings);
    }
    return rc;
}

static void run_kernel(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output) {
    struct fz_err err = FZ_ERR_INIT;
    struct call_state *state = duckdb_scalar_function_get_state(info);
    if (fz_cancel_check(state->kernel->duck->cancel, &err) != FZ_OK ||
        call_kernel(state, input, output, &err) != FZ_OK) {
        fz_duck_slot_put(state->kernel->duck, &err);
        duckdb_scalar_function_set_error(info, err.message);
    }
}

static duckdb_logical_type type_or_any(const struct fz_type *type) {
    return type ? fz_duck_type_new(type) : duckdb_create_logical_type(DUCKDB_TYPE_ANY);
}

static enum fz_code install(struct fz_duck *duck, struct fz_duck_kernel *kernel, struct fz_err *err) {
    const struct fz_scalar_kernel *def = &kernel->def;
    duckdb_scalar_function function = duckdb_create_scalar_function();
    duckdb_logical_type result = fz_duck_type_new(def->result), type = NULL;
    bool ok = result != NULL;
    duckdb_scalar_function_set_name(function, def->name);
    if (def->n_args == SIZE_MAX) {
        type = type_or_any(def->args[0]);
        ok = ok && type;
        duckdb_scalar_function_set_varargs(function, type);
        duckdb_destroy_logical_type(&type);
    }
    for (size_t i = 0; def->n_args != SIZE_MAX && i < def->n_args && ok; i++) {
        type = type_or_any(def->args[i]);
        ok = type != NULL;
        if (ok) {
            duckdb_scalar_function_add_parameter(function, type);
            duckdb_destroy_logical_type(&type);
        }
    }
    if (ok) {
        duckdb_scalar_function_set_return_type(function, result);
        duckdb_scalar_function_set_special_handling(function);
        duckdb_scalar_function_set_extra_info(function, kernel, NULL);
        duckdb_scalar_function_set_bind(function, bind_kernel);
        duckdb_scalar_function_set_init(function, init_kernel);
        duckdb_scalar_function_set_function(function, run_kernel);
        ok = duckdb_register_scalar_function(duck->con, function) == DuckDBSuccess;
    }
    duckdb_destroy_logical_type(&result);
    duckdb_destroy_scalar_function(&function);
    return ok ? FZ_OK : fz_fail(err, FZ_ENGINE, "the engine refused the function %s", def->name);
}

// A copy that outlives the caller's types, under a key of name and signature; *out NULL when there is one already.
static enum fz_code remember(struct fz_duck *duck, const struct fz_scalar_kernel *def, struct fz_duck_kernel **out,
                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf key = {0};
    struct fz_map_entry *entry = NULL;
    bool added = false;
    size_t n_types = def->n_args == SIZE_MAX ? 1 : def->n_args;
    *out = NULL;
    if (n_types > sizeof def->args / sizeof def->args[0]) {
        return fz_fail(err, FZ_BUG, "kernel %s has %zu arguments", def->name, n_types);
    }
    fz_buf_printf(&key, "%s%s(", def->name, def->n_args == SIZE_MAX ? "*" : "");
    for (size_t i = 0; i < n_types; i++) {
        if (def->args[i]) {
            fz_duck_type_print(&key, def->args[i]);
        }
        fz_buf_putc(&key, ',');
    }
    FZ_TRY(fz_buf_check(&key, err));
    FZ_TRY(fz_map_put(&duck->kernel_names, (struct fz_str){key.ptr, key.len}, &entry, &added, err));
    if (!added) {
        goto out;
    }
    struct fz_duck_kernel *kernel = FZ_ARENA_NEW(&duck->kernel_arena, struct fz_duck_kernel);
    bool ok = kernel != NULL;
    if (ok) {
        kernel->duck = duck;
        kernel->def = *def;
        kernel->def.name = fz_arena_strdup(&duck->kernel_arena, def->name);
        kernel->def.result = fz_type_copy(&duck->kernel_arena, def->result);
        ok = kernel->def.name && kernel->def.result;
    }
    for (size_t i = 0; ok && i < n_types; i++) {
        if (def->args[i]) {
            kernel->def.args[i] = fz_type_copy(&duck->kernel_arena, def->args[i]);
            ok = kernel->def.args[i] != NULL;
        }
    }
    if (!ok) {
        fz_map_remove(&duck->kernel_names, (struct fz_str){key.ptr, key.len});
        rc = fz_fail_nomem(err, sizeof *kernel);
        goto out;
    }
    *(duck->last_kernel ? &duck->last_kernel->next : &duck->kernels) = kernel;
    duck->last_kernel = kernel;
    *out = kernel;
out:
    fz_buf_dispose(&key);
    return rc;
}

enum fz_code fz_duck_register_kernels(struct fz_duck *duck, const struct fz_scalar_kernel *kernels, size_t n,
                                      struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n; i++) {
        struct fz_duck_kernel *kernel = NULL;
        FZ_TRY(remember(duck, &kernels[i], &kernel, err));
        if (kernel && !duck->broken) {
            FZ_TRY(install(duck, kernel, err));
        }
    }
out:
    return rc;
}

enum fz_code fz_duck_kernels_install(struct fz_duck *duck, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (struct fz_duck_kernel *kernel = duck->kernels; kernel; kernel = kernel->next) {
        FZ_TRY(install(duck, kernel, err));
    }
out:
    return rc;
}
