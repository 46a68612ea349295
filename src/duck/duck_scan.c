// Sources as the table function fz_scan(id). Every thread of the engine has its own reader; a flat column is decoded straight
// into the engine's vector, strings keep their pointers until the next call (duckdb-facts.md section a).
#include <stdio.h>

#include "duck/duck_priv.h"

enum fz_code fz_duck_register(struct fz_duck *duck, struct fz_source *source, int64_t *out_id, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    pthread_mutex_lock(&duck->lock);
    FZ_TRY(fz_grow((void **)&duck->sources, &duck->sources_cap, duck->n_sources + 1, sizeof *duck->sources, err));
    duck->sources[duck->n_sources].id = ++duck->next_source_id;
    duck->sources[duck->n_sources].source = fz_source_ref(source);
    duck->sources[duck->n_sources].scanned_in = 0;
    duck->n_sources++;
    *out_id = duck->next_source_id;
out:
    pthread_mutex_unlock(&duck->lock);
    return rc;
}

void fz_duck_unregister(struct fz_duck *duck, int64_t id) {
    struct fz_source *gone = NULL;
    pthread_mutex_lock(&duck->lock);
    for (size_t i = 0; i < duck->n_sources; i++) {
        if (duck->sources[i].id == id) {
            gone = duck->sources[i].source;
            duck->sources[i] = duck->sources[--duck->n_sources];
            break;
        }
    }
    pthread_mutex_unlock(&duck->lock);
    if (gone) {
        fz_source_unref(gone);
    }
}

static struct fz_source *find_source(struct fz_duck *duck, int64_t id) {
    struct fz_source *found = NULL;
    pthread_mutex_lock(&duck->lock);
    for (size_t i = 0; i < duck->n_sources && !found; i++) {
        if (duck->sources[i].id == id) {
            found = fz_source_ref(duck->sources[i].source);
        }
    }
    pthread_mutex_unlock(&duck->lock);
    return found;
}

static void unref_source(void *source) {
    fz_source_unref(source);
}

static void bind_scan(duckdb_bind_info info) {
    struct fz_duck *duck = duckdb_bind_get_extra_info(info);
    duckdb_value value = duckdb_bind_get_parameter(info, 0);
    int64_t id = duckdb_get_int64(value);
    duckdb_destroy_value(&value);
    struct fz_source *source = find_source(duck, id);
    if (!source) {
        struct fz_err err = FZ_ERR_INIT;
        fz_fail(&err, FZ_BUG, "fz_scan(%lld): no source is registered under this number", (long long)id);
        fz_duck_slot_put(duck, &err);
        duckdb_bind_set_error(info, err.message);
        return;
    }
    duckdb_bind_set_bind_data(info, source, unref_source);
    for (size_t i = 0; i < source->n_fields; i++) {
        const struct fz_field *field = &source->fields[i];
        duckdb_logical_type type = fz_duck_type_new(field->type);
        char name[24];
        snprintf(name, sizeof name, "c%d", field->id);
        if (!type) {
            struct fz_err err = FZ_ERR_INIT;
            fz_fail(&err, FZ_UNSUPPORTED,
                    "column %s (field id %d) has a type the engine cannot hold (a struct without fields?)",
                    field->name ? field->name : name, field->id);
            fz_duck_slot_put(duck, &err);
            duckdb_bind_set_error(info, err.message);
            return;
        }
        duckdb_bind_add_result_column(info, name, type);
        duckdb_destroy_logical_type(&type);
    }
    if (source->n_fields ==
        0) { // a table without columns has rows still; the engine wants a column, which nobody reads
        duckdb_logical_type type = duckdb_create_logical_type(DUCKDB_TYPE_BOOLEAN);
        duckdb_bind_add_result_column(info, "c0", type);
        duckdb_destroy_logical_type(&type);
    }
    duckdb_bind_set_cardinality(info, source->estimated_rows > 0 ? (idx_t)source->estimated_rows : 0, false);
}

// Readers of a source share its rows, so two scans of one source in a statement would each see a part of them.
static bool begin_scan(struct fz_duck *duck, const struct fz_source *source) {
    bool again = false;
    pthread_mutex_lock(&duck->lock);
    for (size_t i = 0; i < duck->n_sources; i++) {
        if (duck->sources[i].source == source) {
            again = again || duck->sources[i].scanned_in == duck->statement;
            duck->sources[i].scanned_in = duck->statement;
        }
    }
    pthread_mutex_unlock(&duck->lock);
    return !again;
}

static void init_scan(duckdb_init_info info) {
    struct fz_duck *duck = duckdb_init_get_extra_info(info);
    struct fz_source *source = duckdb_init_get_bind_data(info);
    if (!begin_scan(duck, source)) {
        struct fz_err err = FZ_ERR_INIT;
        fz_fail(&err, FZ_BUG, "one source is read twice in a statement; register one for each reference");
        fz_duck_slot_put(duck, &err);
        duckdb_init_set_error(info, err.message);
        return;
    }
    duckdb_init_set_max_threads(info, source->max_threads > 0 ? (idx_t)source->max_threads : 1);
}

struct scan_local { // one thread
    struct fz_duck *duck;
    struct fz_source *source; // own reference: local state may outlive the bind data
    void *reader;
    struct fz_batch batch;
    uint64_t (*validity)[FZ_DUCK_VALIDITY_WORDS]; // storage for the flat columns' NULLs
};

static void free_local(void *ptr) {
    struct scan_local *local = ptr;
    if (local->reader) {
        local->source->vtable->close(local->source, local->reader);
    }
    fz_batch_dispose(&local->batch); // flat columns own nothing
    fz_free(local->validity);
    fz_source_unref(local->source);
    fz_free(local);
}

static enum fz_code prepare_local(struct scan_local *local, const size_t *columns, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    local->batch.columns = fz_calloc(n ? n : 1, sizeof *local->batch.columns);
    local->validity = fz_calloc(n ? n : 1, sizeof *local->validity);
    if (!local->batch.columns || !local->validity) {
        return fz_fail_nomem(err, n * sizeof *local->batch.columns);
    }
    for (size_t i = 0; i < n; i++) {
        if (columns[i] >= local->source->n_fields) {
            return fz_fail(err, FZ_BUG, "the engine asked for column %zu of a source with %zu", columns[i],
                           local->source->n_fields);
        }
        const struct fz_field *field = &local->source->fields[columns[i]];
        struct fz_column *column = &local->batch.columns[i];
        if (fz_duck_type_is_flat(field->type)) {
            *column = (struct fz_column){
                .type = field->type, .validity_storage = local->validity[i], .capacity = FZ_BATCH_ROWS};
        } else {
            FZ_TRY(fz_column_init(column, field->type, FZ_BATCH_ROWS, err));
        }
        column->field_id = field->id;
        local->batch.n_columns = i + 1;
    }
    FZ_TRY(local->source->vtable->open(local->source, columns, n, &local->reader, err));
out:
    return rc;
}

static void init_local(duckdb_init_info info) {
    enum fz_code rc = FZ_OK;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_duck *duck = duckdb_init_get_extra_info(info);
    size_t n = duckdb_init_get_column_count(info);
    struct scan_local *local = NULL;
    size_t *columns = fz_calloc(n ? n : 1, sizeof *columns);
    if (!columns) {
        rc = fz_fail_nomem(&err, n * sizeof *columns);
        goto out;
    }
    FZ_NEW(local, &err);
    local->duck = duck;
    local->source = fz_source_ref(duckdb_init_get_bind_data(info));
    n = local->source->n_fields > 0 ? n : 0;
    for (size_t i = 0; i < n; i++) {
        columns[i] = duckdb_init_get_column_index(info, i);
    }
    FZ_TRY(prepare_local(local, columns, n, &err));
    duckdb_init_set_init_data(info, local, free_local);
    local = NULL;
out:
    if (local) {
        free_local(local);
    }
    fz_free(columns);
    if (rc != FZ_OK) {
        fz_duck_slot_put(duck, &err);
        duckdb_init_set_error(info, err.message);
    }
}

static enum fz_code fill_chunk(struct scan_local *local, duckdb_data_chunk chunk, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_batch *batch = &local->batch;
    FZ_TRY(fz_cancel_check(local->duck->cancel, err));
    for (size_t i = 0; i < batch->n_columns; i++) {
        struct fz_column *column = &batch->columns[i];
        fz_column_reset(column);
        if (fz_duck_type_is_flat(column->type)) {
            column->data = duckdb_vector_get_data(duckdb_data_chunk_get_vector(chunk, i));
            column->validity_storage = local->validity[i];
        }
    }
    batch->n_rows = 0;
    FZ_TRY(local->source->vtable->next(local->source, local->reader, batch, err));
    if (batch->n_rows > FZ_BATCH_ROWS) {
        rc = fz_fail(err, FZ_BUG, "a source gave %zu rows in one batch", batch->n_rows);
        goto out;
    }
    for (size_t i = 0; i < batch->n_columns && batch->n_rows > 0; i++) {
        FZ_TRY(fz_duck_vector_write(duckdb_data_chunk_get_vector(chunk, i), &batch->columns[i], batch->n_rows, false,
                                    err));
    }
    duckdb_data_chunk_set_size(chunk, batch->n_rows);
out:
    return rc;
}

static void run_scan(duckdb_function_info info, duckdb_data_chunk chunk) {
    struct fz_err err = FZ_ERR_INIT;
    struct scan_local *local = duckdb_function_get_local_init_data(info);
    if (fill_chunk(local, chunk, &err) != FZ_OK) {
        duckdb_data_chunk_set_size(chunk, 0);
        fz_duck_slot_put(local->duck, &err);
        duckdb_function_set_error(info, err.message);
    }
}

enum fz_code fz_duck_scan_install(struct fz_duck *duck, struct fz_err *err) {
    duckdb_table_function function = duckdb_create_table_function();
    duckdb_logical_type id = duckdb_create_logical_type(DUCKDB_TYPE_BIGINT);
    duckdb_table_function_set_name(function, "fz_scan");
    duckdb_table_function_add_parameter(function, id);
    duckdb_table_function_set_extra_info(function, duck, NULL);
    duckdb_table_function_set_bind(function, bind_scan);
    duckdb_table_function_set_init(function, init_scan);
    duckdb_table_function_set_local_init(function, init_local);
    duckdb_table_function_set_function(function, run_scan);
    duckdb_table_function_supports_projection_pushdown(function, true);
    duckdb_state state = duckdb_register_table_function(duck->con, function);
    duckdb_destroy_logical_type(&id);
    duckdb_destroy_table_function(&function);
    return state == DuckDBSuccess ? FZ_OK : fz_fail(err, FZ_ENGINE, "the engine refused the table function fz_scan");
}
