// Folding: see fold.h.
#include "cdc/fold/fold.h"

void fz_fold_init(struct fz_fold *fold, struct fz_cdc_table *table) {
    *fold = (struct fz_fold){.table = table};
}

void fz_fold_dispose(struct fz_fold *fold) {
    fz_map_dispose(&fold->by_key);
    fz_free(fold->rows);
    fz_buf_dispose(&fold->key);
    fz_arena_dispose(&fold->arena);
    fz_fold_init(fold, fold->table);
}

bool fz_fold_is_empty(const struct fz_fold *fold) {
    return fold->n_rows == 0 && !fold->truncated;
}

size_t fz_fold_bytes(const struct fz_fold *fold) {
    return fold->arena.used_bytes + fold->by_key.keys.used_bytes + fold->by_key.cap * sizeof(struct fz_map_entry) +
           fold->by_key.n_slots * sizeof(uint32_t) + fold->rows_cap * sizeof(void *);
}

// ---- keys

static void key_part(struct fz_buf *out, const struct fz_value *v) {
    switch (v->type->id) {
    case FZ_TYPE_BOOLEAN:
        fz_buf_putc(out, v->u.boolean ? 1 : 0);
        break;
    case FZ_TYPE_FLOAT:
        fz_buf_append(out, &v->u.f32, sizeof v->u.f32);
        break;
    case FZ_TYPE_DOUBLE:
        fz_buf_append(out, &v->u.f64, sizeof v->u.f64);
        break;
    case FZ_TYPE_DECIMAL:
    case FZ_TYPE_UUID:
        fz_buf_append(out, &v->u.i128, sizeof v->u.i128);
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY: {
        uint32_t len = (uint32_t)v->u.bytes.len;
        fz_buf_append(out, &len, sizeof len);
        fz_buf_append(out, v->u.bytes.ptr, v->u.bytes.len);
        break;
    }
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        fz_buf_append(out, &v->u.nested.n, sizeof v->u.nested.n);
        for (size_t i = 0; i < v->u.nested.n; i++) {
            fz_buf_putc(out, v->u.nested.items[i].is_null);
            if (!v->u.nested.items[i].is_null) {
                key_part(out, &v->u.nested.items[i]); // as deep as the column's type, which is capped
            }
        }
        break;
    default: // whole numbers, dates and times
        fz_buf_append(out, &v->u.i64, sizeof v->u.i64);
        break;
    }
}

void fz_fold_key(struct fz_buf *out, const struct fz_cdc_table *table, const struct fz_value *values) {
    fz_buf_clear(out);
    for (size_t i = 0; i < table->n_key; i++) {
        key_part(out, &values[i]);
    }
}

static enum fz_code key_of_row(struct fz_fold *fold, const struct fz_value *row, struct fz_str *out,
                               struct fz_err *err) {
    fz_buf_clear(&fold->key);
    for (size_t i = 0; i < fold->table->n_key; i++) {
        key_part(&fold->key, &row[fold->table->key[i]]);
    }
    *out = (struct fz_str){fold->key.ptr == NULL ? "" : fold->key.ptr, fold->key.len};
    return fz_buf_check(&fold->key, err);
}

struct fz_fold_row *fz_fold_find(const struct fz_fold *fold, struct fz_str key) {
    struct fz_map_entry *entry = fz_map_find(&fold->by_key, key);
    return entry == NULL ? NULL : entry->value.ptr;
}

// ---- rows

static enum fz_code copy_value(struct fz_fold *fold, const struct fz_value *from, struct fz_value *to,
                               struct fz_err *err) {
    *to = *from;
    if (from->is_null) {
        return FZ_OK;
    }
    switch (from->type->id) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        if (from->u.bytes.len > 0) {
            to->u.bytes.ptr = fz_arena_memdup(&fold->arena, from->u.bytes.ptr, from->u.bytes.len);
            if (to->u.bytes.ptr == NULL) {
                return fz_fail_nomem(err, from->u.bytes.len);
            }
        } else {
            to->u.bytes.ptr = "";
        }
        break;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP: {
        const struct fz_value *copy = fz_value_copy(&fold->arena, from);
        if (copy == NULL) {
            return fz_fail_nomem(err, sizeof *copy);
        }
        *to = *copy;
        break;
    }
    default:
        break;
    }
    return FZ_OK;
}

// Room for the columns that the table has now; new cells get `cell`.
static enum fz_code widen(struct fz_fold *fold, struct fz_fold_row *row, uint8_t cell, struct fz_err *err) {
    size_t n = fold->table->n_columns;
    if (row->n_columns >= n && row->values != NULL) {
        return FZ_OK;
    }
    struct fz_value *values = fz_arena_array(&fold->arena, n, sizeof *values);
    uint8_t *cells = fz_arena_alloc(&fold->arena, n);
    if (values == NULL || cells == NULL) {
        return fz_fail_nomem(err, n * sizeof *values);
    }
    if (row->n_columns > 0) {
        memcpy(values, row->values, row->n_columns * sizeof *values);
        memcpy(cells, row->cells, row->n_columns);
    }
    memset(cells + row->n_columns, cell, n - row->n_columns);
    row->values = values;
    row->cells = cells;
    row->n_columns = n;
    return FZ_OK;
}

static enum fz_code new_row(struct fz_fold *fold, struct fz_fold_row **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_fold_row *row = FZ_ARENA_NEW(&fold->arena, struct fz_fold_row);
    if (row == NULL) {
        return fz_fail_nomem(err, sizeof *row);
    }
    FZ_TRY(fz_grow((void **)&fold->rows, &fold->rows_cap, fold->n_rows + 1, sizeof(struct fz_fold_row *), err));
    FZ_TRY(widen(fold, row, FZ_CELL_UNAVAILABLE, err));
    fold->rows[fold->n_rows++] = row;
    *out = row;
out:
    return rc;
}

static enum fz_code copy_key(struct fz_fold *fold, const struct fz_value *key, const struct fz_value **out,
                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_value *copy = fz_arena_array(&fold->arena, fold->table->n_key, sizeof *copy);
    if (copy == NULL) {
        return fz_fail_nomem(err, sizeof *copy);
    }
    for (size_t i = 0; i < fold->table->n_key; i++) {
        FZ_TRY(copy_value(fold, &key[i], &copy[i], err));
    }
    *out = copy;
out:
    return rc;
}

// ---- order

// -1: the change is older than the row by the pipeline's order_by columns; 0 where they do not say.
static int compare_order_by(const struct fz_cdc_table *table, const struct fz_cdc_change *change,
                            const struct fz_fold_row *row) {
    for (size_t i = 0; table->config != NULL && i < table->config->n_order_by; i++) {
        struct fz_map_entry *entry = fz_map_find(&table->by_name, fz_str_of(table->config->order_by[i]));
        size_t ix = entry == NULL ? SIZE_MAX : (size_t)entry->value.i64;
        if (ix >= change->n_columns || ix >= row->n_columns || change->cells[ix] != FZ_CELL_VALUE ||
            row->cells[ix] != FZ_CELL_VALUE || change->row[ix].is_null || row->values[ix].is_null) {
            return 0;
        }
        int c = fz_value_compare(&change->row[ix], &row->values[ix]);
        if (c != 0) {
            return c;
        }
    }
    return 0;
}

static bool by_position(const struct fz_cdc_table *table) {
    return table->config == NULL || table->config->n_order_by == 0;
}

static bool is_stale(const struct fz_fold *fold, const struct fz_cdc_change *change, const struct fz_fold_row *row) {
    const struct fz_cdc_table *table = fold->table;
    if (!by_position(table)) {
        return row != NULL && change->op != FZ_CDC_DELETE && !row->is_delete &&
               compare_order_by(table, change, row) < 0;
    }
    if (change->order.n > 0 && fold->truncated && fold->truncate_order.n > 0 &&
        fz_cdc_order_compare(&change->order, &fold->truncate_order) < 0) {
        return true;
    }
    if (row == NULL) {
        return false;
    }
    if (change->order.n > 0 && row->order.n > 0) {
        return fz_cdc_order_compare(&change->order, &row->order) < 0;
    }
    return change->order.n == 0 && change->op == FZ_CDC_READ && !row->is_snapshot && table->config != NULL &&
           table->config->keep_streamed;
}

// ---- changes

static enum fz_code truncate(struct fz_fold *fold, const struct fz_cdc_change *change, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    enum fz_pipeline_truncate policy = fold->table->config == NULL ? FZ_TRUNCATE_APPLY : fold->table->config->truncate;
    if (policy == FZ_TRUNCATE_IGNORE) {
        return FZ_OK;
    }
    if (policy == FZ_TRUNCATE_STOP) {
        return fz_fail(err, FZ_CONSTRAINT,
                       "table %s was truncated at the source (topic %s, partition %d, offset %lld) and the pipeline "
                       "says truncate: stop",
                       fold->table->match, change->record->position.topic, (int)change->record->position.partition,
                       (long long)change->record->position.offset);
    }
    bool ordered = change->order.n > 0 && by_position(fold->table);
    struct fz_map kept = {0};
    size_t n = 0;
    for (struct fz_map_entry *e = NULL; ordered && (e = fz_map_next(&fold->by_key, e)) != NULL;) {
        struct fz_fold_row *row = e->value.ptr;
        if (row->order.n > 0 &&
            fz_cdc_order_compare(&row->order, &change->order) > 0) { // from another partition: later than the truncate
            struct fz_map_entry *entry;
            FZ_TRY(fz_map_put(&kept, e->key, &entry, NULL, err));
            entry->value.ptr = row;
            fold->rows[n++] = row;
        }
    }
    fz_map_dispose(&fold->by_key);
    fold->by_key = kept;
    kept = (struct fz_map){0};
    fold->n_rows = n;
    if (!fold->truncated || !ordered || fz_cdc_order_compare(&change->order, &fold->truncate_order) > 0) {
        fold->truncate_order = ordered ? change->order : (struct fz_cdc_order){.n = 0};
    }
    fold->truncated = true;
    fold->pending_moves = 0;
out:
    fz_map_dispose(&kept);
    return rc;
}

static void stamp(struct fz_fold_row *row, const struct fz_cdc_change *change) {
    if (change->order.n > 0) {
        row->order = change->order; // a row without a position keeps the one it had
    }
    row->source_ts_us = change->source_ts_us;
    row->position = change->record->position;
    row->is_snapshot = change->op == FZ_CDC_READ;
}

static enum fz_code keep_raw(struct fz_fold *fold, struct fz_fold_row *row, const struct fz_cdc_change *change,
                             struct fz_err *err) {
    for (size_t i = 0; i < change->n_columns; i++) {
        if (change->cells[i] == FZ_CELL_UNAVAILABLE) {
            row->raw.ptr = fz_arena_memdup(&fold->arena, change->record->raw.ptr, change->record->raw.len);
            row->raw.len = change->record->raw.len;
            return row->raw.ptr == NULL ? fz_fail_nomem(err, row->raw.len) : FZ_OK;
        }
    }
    return FZ_OK;
}

static enum fz_code default_cell(const struct fz_cdc_table *table, struct fz_fold_row *row, size_t ix) {
    const struct fz_cdc_column *column = &table->columns[ix];
    row->cells[ix] = FZ_CELL_VALUE;
    row->values[ix] = column->default_value != NULL ? *column->default_value : fz_value_null(column->type);
    return FZ_OK;
}

// A row that begins anew: nothing of an older row with this key stays. Values not sent again come from the row under the old key.
static enum fz_code begin_row(struct fz_fold *fold, struct fz_fold_row *row, const struct fz_cdc_change *change,
                              const struct fz_fold_row *moved, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    row->origin = NULL;
    for (size_t i = 0; i < row->n_columns; i++) {
        uint8_t cell = i < change->n_columns ? change->cells[i] : FZ_CELL_ABSENT;
        if (cell == FZ_CELL_VALUE) {
            row->cells[i] = FZ_CELL_VALUE;
            FZ_TRY(copy_value(fold, &change->row[i], &row->values[i], err));
        } else if (cell == FZ_CELL_ABSENT) {
            FZ_TRY(default_cell(fold->table, row, i));
        } else if (moved != NULL && i < moved->n_columns && moved->cells[i] == FZ_CELL_VALUE) {
            row->cells[i] = FZ_CELL_VALUE;
            row->values[i] = moved->values[i]; // shares the arena
        } else {
            row->cells[i] = FZ_CELL_UNAVAILABLE;
            if (row->origin == NULL && moved != NULL && moved->origin != NULL) {
                row->origin = moved->origin;
            } else if (row->origin == NULL) {
                FZ_TRY(copy_key(fold, change->old_key, &row->origin, err));
            }
        }
    }
out:
    return rc;
}

// A row that goes on: what the change does not bring stays as it was, in the batch or in the table.
static enum fz_code continue_row(struct fz_fold *fold, struct fz_fold_row *row, const struct fz_cdc_change *change,
                                 bool is_first, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < row->n_columns; i++) {
        uint8_t cell = i < change->n_columns ? change->cells[i] : FZ_CELL_ABSENT;
        if (cell == FZ_CELL_VALUE) {
            row->cells[i] = FZ_CELL_VALUE;
            FZ_TRY(copy_value(fold, &change->row[i], &row->values[i], err));
        } else if (is_first) {
            row->cells[i] = cell;
        }
    }
out:
    return rc;
}

static bool brings_all(const struct fz_cdc_change *change) {
    for (size_t i = 0; i < change->n_columns; i++) {
        if (change->cells[i] == FZ_CELL_UNAVAILABLE) {
            return false;
        }
    }
    return true;
}

static enum fz_code upsert(struct fz_fold *fold, struct fz_str key, struct fz_fold_row *row,
                           const struct fz_cdc_change *change, const char **bad_reason, const char **bad_text,
                           struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_fold_row *moved = NULL;
    bool is_first = row == NULL, anew = row == NULL ? fold->truncated : row->is_delete;
    if (change->old_key != NULL) {
        struct fz_buf old = {0};
        fz_fold_key(&old, fold->table, change->old_key);
        moved = old.failed ? NULL : fz_fold_find(fold, (struct fz_str){old.ptr, old.len});
        fz_buf_dispose(&old);
        anew = true;
        fold->pending_moves -= fold->pending_moves > 0;
    }
    if (anew && change->old_key == NULL && !brings_all(change)) {
        *bad_reason = "UNAVAILABLE_VALUE";
        *bad_text = "a value was not sent again, but the row was deleted before: there is no older value";
        return FZ_OK;
    }
    if (is_first) {
        struct fz_map_entry *entry;
        FZ_TRY(new_row(fold, &row, err));
        if (fold->table->n_key > 0) {
            FZ_TRY(fz_map_put(&fold->by_key, key, &entry, NULL, err));
            entry->value.ptr = row;
        }
    }
    FZ_TRY(widen(fold, row, FZ_CELL_ABSENT, err));
    if (anew) {
        FZ_TRY(begin_row(fold, row, change, moved, err));
    } else {
        FZ_TRY(continue_row(fold, row, change, is_first, err));
    }
    FZ_TRY(keep_raw(fold, row, change, err));
    row->is_delete = false;
    row->has_row = true;
    stamp(row, change);
out:
    return rc;
}

static enum fz_code remove_row(struct fz_fold *fold, struct fz_str key, struct fz_fold_row *row,
                               const struct fz_cdc_change *change, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (row == NULL) {
        struct fz_map_entry *entry;
        FZ_TRY(new_row(fold, &row, err));
        FZ_TRY(fz_map_put(&fold->by_key, key, &entry, NULL, err));
        entry->value.ptr = row;
    }
    FZ_TRY(widen(fold, row, FZ_CELL_ABSENT, err));
    for (size_t i = 0; i < fold->table->n_key; i++) {
        size_t ix = fold->table->key[i];
        row->cells[ix] = FZ_CELL_VALUE;
        FZ_TRY(copy_value(fold, &change->row[ix], &row->values[ix], err));
    }
    row->is_delete = true; // its values stay: a row that moves to another key takes them along
    fold->pending_moves += change->key_moves;
    stamp(row, change);
out:
    return rc;
}

enum fz_code fz_fold_add(struct fz_fold *fold, const struct fz_cdc_change *change, const char **bad_reason,
                         const char **bad_text, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_str key = {"", 0};
    struct fz_fold_row *row = NULL;
    *bad_reason = NULL;
    fold->n_changes++;
    if (change->op == FZ_CDC_TRUNCATE) {
        return truncate(fold, change, err);
    }
    if (fold->table->n_key > 0) {
        FZ_TRY(key_of_row(fold, change->row, &key, err));
        row = fz_fold_find(fold, key);
    }
    if (is_stale(fold, change, row)) {
        fold->n_stale++;
        goto out;
    }
    if (change->op == FZ_CDC_DELETE) {
        if (fold->table->config == NULL || fold->table->config->deletes != FZ_DELETES_IGNORE) {
            FZ_TRY(remove_row(fold, key, row, change, err));
        }
    } else {
        FZ_TRY(upsert(fold, key, row, change, bad_reason, bad_text, err));
    }
out:
    return rc;
}
