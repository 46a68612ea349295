// Columns into DuckDB's vectors and views over them. The layouts are the same, so flat columns move by pointer or memcpy and
// nested ones level by level; what is added here is validity and the rule that a NULL struct's children are NULL too.
#include "duck/duck_priv.h"

#include "base/text.h"

bool fz_duck_type_is_flat(const struct fz_type *type) {
    return fz_type_is_primitive(type) && type->id != FZ_TYPE_UNKNOWN;
}

static size_t n_words(size_t rows) {
    return (rows + 63) / 64;
}

// Copies strings into the vector's own heap. Text that is not UTF-8 becomes NULL: inside DuckDB it would end the database.
static void write_strings(duckdb_vector vector, const struct fz_column *column, size_t n) {
    struct fz_string *to = duckdb_vector_get_data(vector);
    const struct fz_string *from = column->data;
    bool text = column->type->id == FZ_TYPE_STRING;
    for (size_t i = 0; i < n; i++) {
        if (!fz_column_is_valid(column, i)) {
            memset(&to[i], 0, sizeof to[i]);
            continue;
        }
        const char *bytes = fz_string_ptr(&from[i]);
        if (text && !fz_utf8_valid(bytes, from[i].length)) {
            memset(&to[i], 0, sizeof to[i]);
            duckdb_vector_ensure_validity_writable(vector);
            duckdb_validity_set_row_invalid(duckdb_vector_get_validity(vector), i);
        } else if (from[i].length <= 12) {
            to[i] = from[i];
        } else {
            duckdb_unsafe_vector_assign_string_element_len(vector, i, bytes, from[i].length);
        }
    }
}

// `parent`: validity words of the struct above, NULL when all its rows are there.
static enum fz_code write_rows(duckdb_vector vector, const struct fz_column *column, size_t n, const uint64_t *parent,
                               bool copy_strings, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    uint64_t *validity = NULL;
    bool all_null = column->type->id == FZ_TYPE_UNKNOWN;
    if (n > 0 && (column->validity || parent || all_null)) {
        duckdb_vector_ensure_validity_writable(vector);
        validity = duckdb_vector_get_validity(vector);
        for (size_t w = 0; w < n_words(n); w++) {
            validity[w] = all_null ? 0
                                   : (column->validity ? column->validity[w] : ~UINT64_C(0)) &
                                         (parent ? parent[w] : ~UINT64_C(0));
        }
    }
    if (all_null || n == 0) {
        if (column->type->id != FZ_TYPE_LIST && column->type->id != FZ_TYPE_MAP) {
            return FZ_OK;
        }
    }
    switch ((int)column->type->id) {
    case FZ_TYPE_STRUCT:
        for (size_t i = 0; i < column->n_children; i++) {
            FZ_TRY(write_rows(duckdb_struct_vector_get_child(vector, i), &column->children[i], n, validity,
                              copy_strings, err));
        }
        break;
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP: {
        struct fz_list_span *to = duckdb_vector_get_data(vector);
        const struct fz_list_span *from = column->data;
        uint64_t n_child = 0;
        for (size_t i = 0; i < n; i++) {
            if (validity && !(validity[i >> 6] >> (i & 63) & 1)) {
                to[i] = (struct fz_list_span){0, 0};
                continue;
            }
            to[i] = from[i];
            uint64_t end = from[i].offset + from[i].length;
            n_child = end > n_child ? end : n_child;
        }
        if (duckdb_list_vector_reserve(vector, n_child) != DuckDBSuccess) {
            return fz_fail_nomem(err, n_child);
        }
        FZ_TRY(
            write_rows(duckdb_list_vector_get_child(vector), &column->children[0], n_child, NULL, copy_strings, err));
        if (duckdb_list_vector_set_size(vector, n_child) != DuckDBSuccess) {
            return fz_fail(err, FZ_BUG, "a list of %llu elements does not fit a vector", (unsigned long long)n_child);
        }
        break;
    }
    default:
        if (copy_strings && fz_type_is_strings(column->type)) {
            write_strings(vector, column, n);
        } else {
            void *to = duckdb_vector_get_data(vector);
            if (to != column->data) {
                memcpy(to, column->data, n * fz_type_width(column->type));
            }
        }
    }
out:
    return rc;
}

enum fz_code fz_duck_vector_write(duckdb_vector vector, const struct fz_column *column, size_t n, bool copy_strings,
                                  struct fz_err *err) {
    return write_rows(vector, column, n, NULL, copy_strings, err);
}

// Columns without storage, one child per child type.
static enum fz_code view_column_init(struct fz_column *column, const struct fz_type *type, int32_t field_id,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *column = (struct fz_column){.type = type, .field_id = field_id};
    size_t n = type->id == FZ_TYPE_STRUCT ? type->n_fields : type->id == FZ_TYPE_LIST || type->id == FZ_TYPE_MAP;
    if (n == 0) {
        return FZ_OK;
    }
    column->children = fz_calloc(n, sizeof *column->children);
    if (!column->children) {
        return fz_fail_nomem(err, n * sizeof *column->children);
    }
    column->n_children = n;
    if (type->id == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < n; i++) {
            FZ_TRY(view_column_init(&column->children[i], type->fields[i].type, type->fields[i].id, err));
        }
    } else if (type->id == FZ_TYPE_LIST) {
        FZ_TRY(view_column_init(&column->children[0], type->fields[0].type, type->fields[0].id, err));
    } else { // the entries: a struct of key and value, whose type is the map's own pair of fields
        struct fz_column *entry = &column->children[0];
        entry->children = fz_calloc(2, sizeof *entry->children);
        if (!entry->children) {
            return fz_fail_nomem(err, 2 * sizeof *entry->children);
        }
        entry->n_children = 2;
        struct fz_type *entry_type = NULL;
        FZ_NEW(entry_type, err);
        *entry_type = (struct fz_type){.id = FZ_TYPE_STRUCT, .n_fields = 2, .fields = type->fields};
        entry->owned_type = entry_type;
        entry->type = entry_type;
        for (size_t i = 0; i < 2; i++) {
            FZ_TRY(view_column_init(&entry->children[i], type->fields[i].type, type->fields[i].id, err));
        }
    }
out:
    return rc;
}

static void view_column_dispose(struct fz_column *column) {
    for (size_t i = 0; i < column->n_children; i++) {
        view_column_dispose(&column->children[i]);
    }
    fz_free(column->children);
    fz_free(column->owned_type);
}

enum fz_code fz_duck_view_init(struct fz_duck_view *view, const struct fz_field *fields, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t some = n ? n : 1;
    *view = (struct fz_duck_view){0};
    view->batch.columns = fz_calloc(some, sizeof *view->batch.columns);
    view->copies = fz_calloc(some, sizeof *view->copies);
    view->types = fz_calloc(some, sizeof *view->types);
    if (!view->batch.columns || !view->copies || !view->types) {
        rc = fz_fail_nomem(err, some * sizeof *view->batch.columns);
        goto out;
    }
    view->batch.n_columns = n;
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(view_column_init(&view->batch.columns[i], fields[i].type, fields[i].id, err));
        if (fz_type_is_primitive(fields[i].type)) {
            continue;
        }
        if (!view->identity) {
            view->identity = duckdb_create_selection_vector(FZ_BATCH_ROWS);
            sel_t *rows = duckdb_selection_vector_get_data_ptr(view->identity);
            for (sel_t r = 0; r < FZ_BATCH_ROWS; r++) {
                rows[r] = r;
            }
        }
    }
out:
    if (rc != FZ_OK) {
        fz_duck_view_dispose(view);
    }
    return rc;
}

// The vector and everything under it is flat here. A NULL struct's children are made NULL, so the vector must be our copy
// where there are structs.
static void view_fill(struct fz_column *column, duckdb_vector vector, size_t n) {
    uint64_t *validity = duckdb_vector_get_validity(vector);
    column->validity = validity;
    if (column->type->id == FZ_TYPE_LIST || column->type->id == FZ_TYPE_MAP) {
        column->data = duckdb_vector_get_data(vector);
        view_fill(&column->children[0], duckdb_list_vector_get_child(vector), duckdb_list_vector_get_size(vector));
    } else if (column->n_children > 0) {
        for (size_t i = 0; i < column->n_children; i++) {
            duckdb_vector child = duckdb_struct_vector_get_child(vector, i);
            if (validity && n > 0) {
                duckdb_vector_ensure_validity_writable(child);
                uint64_t *words = duckdb_vector_get_validity(child);
                for (size_t w = 0; w < n_words(n); w++) {
                    words[w] &= validity[w];
                }
            }
            view_fill(&column->children[i], child, n);
        }
    } else {
        column->data = duckdb_vector_get_data(vector);
    }
    column->capacity = n;
}

void fz_duck_view_set(struct fz_duck_view *view, size_t column, duckdb_vector vector, size_t n_rows) {
    struct fz_column *c = &view->batch.columns[column];
    if (!fz_type_is_primitive(c->type)) {
        // DuckDB flattens the top vector only; below it constants and dictionaries stay (struct_pack(a := x, b := 5)).
        if (!view->types[column]) {
            view->types[column] = duckdb_vector_get_column_type(vector);
        }
        if (view->copies[column]) {
            duckdb_destroy_vector(&view->copies[column]);
        }
        view->copies[column] = duckdb_create_vector(view->types[column], FZ_BATCH_ROWS);
        duckdb_vector_copy_sel(vector, view->copies[column], view->identity, n_rows, 0, 0);
        vector = view->copies[column];
    }
    view_fill(c, vector, n_rows);
}

void fz_duck_view_dispose(struct fz_duck_view *view) {
    for (size_t i = 0; i < view->batch.n_columns; i++) {
        view_column_dispose(&view->batch.columns[i]);
        if (view->copies[i]) {
            duckdb_destroy_vector(&view->copies[i]);
        }
        if (view->types[i]) {
            duckdb_destroy_logical_type(&view->types[i]);
        }
    }
    if (view->identity) {
        duckdb_destroy_selection_vector(view->identity);
    }
    fz_free(view->batch.columns);
    fz_free(view->copies);
    fz_free(view->types);
    *view = (struct fz_duck_view){0};
}
