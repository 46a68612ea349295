// Which columns an UPDATE or MERGE can change at all, and updates that leave rows where they are: copy-on-write then needs the new values of
// those columns only, and everything else of the file can be copied (row_rewrite.h). A row whose partition changes moves: it is taken
// out of its file and written as a new row.
#include "change/change_priv.h"

enum { MAX_CONJUNCTS = 64, HELD_SHARE = 8, HELD_BYTES = 256 << 20 };

// ---- which columns change

static const struct fz_expr *without_casts(const struct fz_expr *e) {
    while (e->kind == FZ_EXPR_CAST && fz_type_equal(e->type, e->args[0]->type, false, true)) {
        e = e->args[0];
    }
    return e;
}

static bool is_column(const struct fz_expr *e, int32_t relation, int32_t field_id) {
    return e->kind == FZ_EXPR_COLUMN && e->u.column.relation == relation && e->u.column.field_id == field_id;
}

// Types of which equal values are the same value: not floats (-0.0 = 0.0).
static bool equal_is_same(const struct fz_type *type) {
    return fz_type_is_primitive(type) && type->id != FZ_TYPE_FLOAT && type->id != FZ_TYPE_DOUBLE &&
           type->id != FZ_TYPE_UNKNOWN && type->id != FZ_TYPE_VARIANT;
}

// Whether ON says that the target's column equals this column of the source.
static bool is_joined(const struct fz_change *c, const struct fz_field *field, const struct fz_expr *value) {
    const struct fz_expr *conjuncts[MAX_CONJUNCTS];
    if (c->bound->on == NULL || value->kind != FZ_EXPR_COLUMN || value->u.column.relation != 1 ||
        !equal_is_same(field->type) || !fz_type_equal(field->type, value->type, false, true)) {
        return false;
    }
    size_t n = fz_expr_conjuncts(c->bound->on, conjuncts, MAX_CONJUNCTS);
    for (size_t i = 0; i < n && n <= MAX_CONJUNCTS; i++) {
        const struct fz_expr *e = conjuncts[i];
        for (size_t side = 0; (e->kind == FZ_EXPR_EQ || e->kind == FZ_EXPR_NULL_EQ) && side < 2; side++) {
            if (is_column(e->args[side], 0, field->id) && is_column(e->args[1 - side], 1, value->u.column.field_id)) {
                return true;
            }
        }
    }
    return false;
}

static bool keeps_value(const struct fz_change *c, const struct fz_bound_clause *clause, size_t column) {
    const struct fz_bound_assignment *a = &clause->values[column];
    const struct fz_field *field = &c->schema->type->fields[column];
    if (a->is_unchanged) {
        return true;
    }
    const struct fz_expr *value = a->value != NULL ? without_casts(a->value) : NULL;
    return value != NULL &&
           (is_column(value, 0, field->id) ||
            (c->bound->kind == FZ_STMT_MERGE && clause->match == FZ_MATCHED && is_joined(c, field, value)));
}

static bool is_assigned(const struct fz_change *c, size_t column) {
    for (size_t k = 0; k < c->bound->n_clauses; k++) {
        if (c->bound->clauses[k].action == FZ_MERGE_UPDATE && !keeps_value(c, &c->bound->clauses[k], column)) {
            return true;
        }
    }
    return false;
}

bool fz_change_needs_value(const struct fz_change *c, const struct fz_bound_clause *clause, size_t column) {
    return c->held == NULL || c->may_move || clause->action != FZ_MERGE_UPDATE || c->held_fields[column] != SIZE_MAX;
}

// ---- whether rows stay in place

static bool holds_id(const struct fz_field *field, int32_t id) {
    if (field->id == id) {
        return true;
    }
    for (size_t i = 0; field->type->id == FZ_TYPE_STRUCT && i < field->type->n_fields; i++) {
        if (holds_id(&field->type->fields[i], id)) {
            return true;
        }
    }
    return false;
}

static bool is_partition_source(const struct fz_change *c, const struct fz_field *field) {
    const struct fz_partition_spec *spec = fz_metadata_spec(c->metadata, c->metadata->default_spec_id);
    for (size_t i = 0; i < spec->n_fields; i++) {
        if (spec->fields[i].transform.kind != FZ_TRANSFORM_VOID && holds_id(field, spec->fields[i].source_id)) {
            return true;
        }
    }
    return false;
}

enum fz_code fz_change_choose_in_place(struct fz_change *c, struct fz_err *err) {
    size_t n = c->schema->type->n_fields;
    if (c->mode != FZ_COPY_ON_WRITE || !c->has_update || c->plan->n_files == 0 || fz_change_is_sorted(c)) {
        return FZ_OK;
    }
    c->held_fields = fz_arena_array(&c->arena, n, sizeof *c->held_fields);
    struct fz_field *fields = fz_arena_array(&c->arena, n, sizeof *fields);
    if (c->held_fields == NULL || fields == NULL) {
        return fz_fail_nomem(err, n * sizeof *fields);
    }
    int64_t row_bytes = sizeof(struct fz_held_row) + 16;
    c->n_held = 0;
    c->may_move = false;
    for (size_t i = 0; i < n; i++) {
        c->held_fields[i] = SIZE_MAX;
        if (is_assigned(c, i)) {
            fields[c->n_held] = c->schema->type->fields[i];
            c->held_fields[i] = c->n_held++;
            c->may_move = c->may_move || is_partition_source(c, &c->schema->type->fields[i]);
            row_bytes += (int64_t)fz_type_width(c->schema->type->fields[i].type);
        }
    }
    int64_t most = c->context->budget != NULL ? c->context->budget->limit_bytes / HELD_SHARE : HELD_BYTES;
    bool all_rows = c->bound->kind == FZ_STMT_UPDATE && c->bound->on == NULL;
    if (all_rows && c->plan->rows_kept > most / row_bytes) {
        return FZ_OK;
    }
    return fz_held_rows_new(fields, c->n_held, c->plan->n_files, most, c->context->budget, &c->held, err);
}

void fz_change_leave_in_place(struct fz_change *c) {
    fz_held_rows_free(c->held);
    c->held = NULL;
}

// Of the updated rows in `rows` those that stay in their partition are put to the front; returns how many.
static enum fz_code split_moved(const struct fz_change *c, const struct fz_batch *view, const int32_t *file_ix,
                                uint32_t *rows, size_t n, size_t *n_stay, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    uint8_t stays[FZ_BATCH_ROWS];
    uint32_t moved[FZ_BATCH_ROWS];
    const struct fz_value *partitions[FZ_BATCH_ROWS] = {NULL};
    size_t n_moved = 0;
    *n_stay = 0;
    for (size_t i = 0; i < n; i++) { // files of other specs are encoded again, and their rows go where they belong
        const struct fz_data_file *file = &c->plan->files[file_ix[rows[i]]].entry->file;
        partitions[i] =
            fz_table_writer_takes_partition(c->writer, file->spec_id, &file->partition) ? &file->partition : NULL;
    }
    FZ_TRY(fz_table_writer_stays(c->writer, view, rows, n, partitions, stays, err));
    for (size_t i = 0; i < n; i++) {
        if (stays[i]) {
            rows[(*n_stay)++] = rows[i];
        } else {
            moved[n_moved++] = rows[i];
        }
    }
    memcpy(rows + *n_stay, moved, n_moved * sizeof *moved);
out:
    return rc;
}

enum fz_code fz_change_hold_rows(struct fz_change *c, const struct fz_batch *view, const int32_t *file_ix,
                                 const int64_t *pos, uint32_t *rows, size_t n, size_t *n_held, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_column *columns = NULL;
    *n_held = n;
    if (c->may_move && n > 0) {
        FZ_TRY(split_moved(c, view, file_ix, rows, n, n_held, err));
    }
    for (size_t i = *n_held; i < n; i++) {
        struct fz_changed_file *file = &c->files[file_ix[rows[i]]];
        pthread_mutex_lock(&file->lock);
        rc = file->removed == NULL ? fz_positions_new(&file->removed, err) : FZ_OK;
        rc = rc == FZ_OK ? fz_positions_add(file->removed, pos[rows[i]], err) : rc;
        pthread_mutex_unlock(&file->lock);
        FZ_TRY(rc);
    }
    columns = fz_calloc(c->n_held + 1, sizeof *columns);
    if (columns == NULL) {
        rc = fz_fail_nomem(err, c->n_held * sizeof *columns);
        goto out;
    }
    for (size_t i = 0; i < c->schema->type->n_fields; i++) {
        if (c->held_fields[i] != SIZE_MAX) {
            columns[c->held_fields[i]] = view->columns[i];
        }
    }
    FZ_TRY(fz_held_rows_add(c->held, columns, file_ix, pos, rows, *n_held, err));
out:
    fz_free(columns);
    return rc;
}
