// Conditions `column = constant` and `column IN (constants)` of a query as keys of the scan (scan/scan_keys.h): bloom filters and the page
// index then say which row groups and pages can hold such a row, and of what is left the other columns are read only where the key
// columns have one. The engine still evaluates the whole condition.
#include "engine/engine_priv.h"
#include "scan/scan_keys.h"
#include "table/prune.h"

enum { MAX_CONJUNCTS = 64, MAX_IN = 10000 };

// The column and the constants of a conjunct; false: it is not of that form.
static bool take_apart(const struct fz_expr *e, const struct fz_expr **column, const struct fz_expr *const **values,
                       size_t *n) {
    if (e->kind == FZ_EXPR_EQ && e->args[0]->kind == FZ_EXPR_LITERAL && e->args[1]->kind == FZ_EXPR_COLUMN) {
        *column = e->args[1];
        *values = &e->args[0];
        *n = 1;
    } else if ((e->kind == FZ_EXPR_EQ || e->kind == FZ_EXPR_IN) && e->args[0]->kind == FZ_EXPR_COLUMN) {
        *column = e->args[0];
        *values = &e->args[1];
        *n = e->n_args - 1;
    } else {
        return false;
    }
    for (size_t i = 0; i < *n; i++) {
        const struct fz_expr *v = (*values)[i];
        if (v->kind != FZ_EXPR_LITERAL || v->u.literal->is_null ||
            v->u.literal->type->id != (*values)[0]->u.literal->type->id) {
            return false; // NULL matches nothing, and makes IN unknown instead of false: left to the engine
        }
    }
    return *n > 0 && *n <= MAX_IN;
}

static bool usable(const struct fz_sql_scan *scan, const struct fz_expr *column, const struct fz_expr *value) {
    if (column->u.column.field_id >= FZ_FIRST_RESERVED_ID) { // row lineage: what the file holds is not what is shown
        return false;
    }
    for (size_t i = 0; i < scan->n_columns; i++) {
        const struct fz_field *f = &scan->columns[i];
        if (f->id ==
            column->u.column.field_id) { // a decimal's scale and a zero's sign matter: the types must be the same
            const struct fz_type *type = value->u.literal->type;
            return type->id != FZ_TYPE_FLOAT && type->id != FZ_TYPE_DOUBLE && type->id != FZ_TYPE_BOOLEAN &&
                   fz_type_equal(column->type, f->type, false, false) && fz_scan_key_type_ok(f->type, type) &&
                   (type->id != FZ_TYPE_DECIMAL || fz_type_equal(f->type, type, false, false));
        }
    }
    return false;
}

static enum fz_code make(struct fz_statement *s, const struct fz_expr *const *columns, size_t n_columns,
                         const struct fz_expr *const *values, size_t n_rows, struct fz_scan_keys **out,
                         struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_keys *keys = NULL;
    struct fz_batch batch = {0};
    struct fz_scan_key_column key_columns[FZ_SCAN_MAX_KEYS];
    struct fz_field fields[FZ_SCAN_MAX_KEYS];
    for (size_t c = 0; c < n_columns; c++) {
        const struct fz_type *type = values[c * n_rows]->u.literal->type;
        key_columns[c] = (struct fz_scan_key_column){
            .field_id = columns[c]->u.column.field_id, .type = columns[c]->type, .value_type = type};
        fields[c] = (struct fz_field){.id = (int32_t)c + 1, .name = "key", .type = type};
    }
    FZ_TRY(fz_scan_keys_new(key_columns, n_columns, &s->engine->budget, &keys, err));
    FZ_TRY(fz_batch_init(&batch, fields, n_columns, FZ_BATCH_ROWS, err));
    for (size_t at = 0; at < n_rows; at += batch.n_rows) {
        batch.n_rows = n_rows - at < FZ_BATCH_ROWS ? n_rows - at : FZ_BATCH_ROWS;
        for (size_t c = 0; c < n_columns; c++) {
            for (size_t r = 0; r < batch.n_rows; r++) {
                FZ_TRY(fz_value_store(&batch.columns[c], r, values[c * n_rows + at + r]->u.literal, err));
            }
        }
        FZ_TRY(fz_scan_keys_add(keys, &batch, err));
    }
    FZ_TRY(fz_scan_keys_seal(keys, err));
    *out = keys;
    keys = NULL;
out:
    fz_scan_keys_unref(keys);
    fz_batch_dispose(&batch);
    return rc;
}

enum fz_code fz_filter_keys(struct fz_statement *s, const struct fz_sql_scan *scan, struct fz_scan_keys **out,
                            struct fz_err *err) {
    const struct fz_expr *conjuncts[MAX_CONJUNCTS], *columns[FZ_SCAN_MAX_KEYS], *values[FZ_SCAN_MAX_KEYS];
    const struct fz_expr *in_column = NULL, *const *in_values = NULL;
    size_t n_columns = 0, n_in = 0;
    *out = NULL;
    if (scan->filter == NULL) {
        return FZ_OK;
    }
    size_t n = fz_expr_conjuncts(scan->filter, conjuncts, MAX_CONJUNCTS);
    for (size_t i = 0; i < n && i < MAX_CONJUNCTS; i++) {
        const struct fz_expr *column, *const *list;
        size_t n_list;
        if (!take_apart(conjuncts[i], &column, &list, &n_list) || !usable(scan, column, list[0])) {
            continue;
        }
        bool again = false;
        for (size_t k = 0; k < n_columns; k++) {
            again |= columns[k]->u.column.field_id == column->u.column.field_id;
        }
        if (n_list == 1 && n_columns < FZ_SCAN_MAX_KEYS && !again) {
            columns[n_columns] = column;
            values[n_columns++] = list[0];
        } else if (n_list > 1 && (in_values == NULL || n_list < n_in)) {
            in_column = column;
            in_values = list;
            n_in = n_list;
        }
    }
    if (n_columns > 0) {
        return make(s, columns, n_columns, values, 1, out, err);
    }
    return in_values != NULL ? make(s, &in_column, 1, in_values, n_in, out, err) : FZ_OK;
}
