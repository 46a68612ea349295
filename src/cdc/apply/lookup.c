// Values that an event left out: read from the row that moved to another key, or checked to be in the table at all. See apply.h.
#include "cdc/apply/apply.h"

#include <inttypes.h>

struct candidate {
    struct fz_fold_row *row;
    bool found, own_found;
};
struct lookup {
    struct fz_apply *apply;
    struct fz_fold *fold;
    const struct fz_cdc_table *table;
    struct fz_apply_table *target;
    const struct fz_type *schema;
    struct fz_arena arena;
    struct candidate *candidates;
    size_t n, cap;
    size_t *wanted; // stream columns to read
    size_t n_wanted;
    struct fz_value *keys; // rows of (number, key…)
    size_t n_keys;
    struct fz_duck *duck;
    int64_t key_scan, target_scan;
    struct fz_scan_plan *plan;
};

static const struct fz_field *target_field(const struct lookup *l, size_t column) {
    for (size_t i = 0; i < l->schema->n_fields; i++) {
        if (strcmp(l->schema->fields[i].name, l->table->columns[column].name) == 0) {
            return &l->schema->fields[i];
        }
    }
    return NULL;
}

static bool has_unavailable(const struct fz_fold_row *row) {
    for (size_t i = 0; i < row->n_columns; i++) {
        if (row->cells[i] == FZ_CELL_UNAVAILABLE) {
            return true;
        }
    }
    return false;
}

static enum fz_code collect(struct lookup *l, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool *want = fz_arena_array(&l->arena, l->table->n_columns + 1, sizeof *want);
    l->wanted = fz_arena_array(&l->arena, l->table->n_columns + 1, sizeof *l->wanted);
    if (want == NULL || l->wanted == NULL) {
        return fz_fail_nomem(err, l->table->n_columns);
    }
    for (size_t i = 0; i < l->fold->n_rows; i++) {
        struct fz_fold_row *row = l->fold->rows[i];
        if (row->is_delete || !has_unavailable(row)) {
            continue;
        }
        FZ_TRY(fz_grow((void **)&l->candidates, &l->cap, l->n + 1, sizeof *l->candidates, err));
        l->candidates[l->n++] = (struct candidate){.row = row};
        for (size_t c = 0; row->origin != NULL && c < row->n_columns; c++) {
            want[c] = want[c] || row->cells[c] == FZ_CELL_UNAVAILABLE;
        }
    }
    for (size_t c = 0; c < l->table->n_columns; c++) {
        if (want[c] && target_field(l, c) != NULL) {
            l->wanted[l->n_wanted++] = c;
        }
    }
out:
    return rc;
}

// Two keys for a row that moved: where it came from, and its own (a change that comes again finds itself there).
static enum fz_code make_keys(struct lookup *l, struct fz_err *err) {
    size_t width = l->table->n_key + 1;
    l->keys = fz_arena_array(&l->arena, l->n * 2 * width, sizeof *l->keys);
    if (l->keys == NULL) {
        return fz_fail_nomem(err, l->n * 2 * width * sizeof *l->keys);
    }
    for (size_t i = 0; i < l->n; i++) {
        const struct fz_fold_row *row = l->candidates[i].row;
        for (size_t own = row->origin == NULL; own < 2; own++) {
            struct fz_value *key = &l->keys[l->n_keys++ * width];
            key[0] = (struct fz_value){.type = fz_type_primitive(FZ_TYPE_LONG)};
            key[0].u.i64 = (int64_t)(i * 2 + own);
            for (size_t k = 0; k < l->table->n_key; k++) {
                key[k + 1] = own ? row->values[l->table->key[k]] : row->origin[k];
            }
        }
    }
    return FZ_OK;
}

static enum fz_code register_keys(struct lookup *l, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = NULL;
    size_t width = l->table->n_key + 1;
    struct fz_field *fields = fz_arena_array(&l->arena, width, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, width * sizeof *fields);
    }
    fields[0] = (struct fz_field){.id = 1, .name = "number", .type = fz_type_primitive(FZ_TYPE_LONG)};
    for (size_t k = 0; k < l->table->n_key; k++) {
        const struct fz_field *field = target_field(l, l->table->key[k]);
        if (field == NULL) {
            return fz_fail(err, FZ_SCHEMA_MISMATCH, "the table has no key column %s",
                           l->table->columns[l->table->key[k]].name);
        }
        fields[k + 1] = (struct fz_field){.id = (int32_t)k + 2, .name = field->name, .type = field->type};
    }
    FZ_TRY(fz_rows_source_new(fields, width, l->keys, l->n_keys, &source, err));
    FZ_TRY(fz_duck_register(l->duck, source, &l->key_scan, err));
out:
    fz_source_unref(source);
    return rc;
}

// key IN (…), for pruning, where the key is one column and there are not many.
static const struct fz_expr *prune_filter(struct lookup *l) {
    const struct fz_expr *args[513];
    const struct fz_field *field = target_field(l, l->table->key[0]);
    if (l->table->n_key != 1 || l->n_keys > 512 || field->type->n_fields > 0) {
        return NULL;
    }
    args[0] = fz_expr_column(&l->arena, 0, field->id, field->name, field->type, true);
    for (size_t i = 0; i < l->n_keys; i++) {
        struct fz_value *v = fz_arena_memdup(&l->arena, &l->keys[i * 2 + 1], sizeof *v);
        if (v == NULL) {
            return NULL;
        }
        v->type = field->type;
        args[i + 1] = fz_expr_literal(&l->arena, v);
        if (args[i + 1] == NULL) {
            return NULL;
        }
    }
    return args[0] == NULL ? NULL
                           : fz_expr_op(&l->arena, FZ_EXPR_IN, fz_type_primitive(FZ_TYPE_BOOLEAN), args, l->n_keys + 1);
}

static enum fz_code register_target(struct lookup *l, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = NULL;
    size_t n = 0;
    struct fz_field *fields = fz_arena_array(&l->arena, l->table->n_key + l->n_wanted + 1, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, sizeof *fields);
    }
    for (size_t k = 0; k < l->table->n_key; k++) {
        fields[n++] = *target_field(l, l->table->key[k]);
    }
    for (size_t i = 0; i < l->n_wanted; i++) {
        fields[n++] = *target_field(l, l->wanted[i]);
    }
    struct fz_scan_options plan = {.store = l->apply->session->store,
                                   .metadata = l->target->metadata,
                                   .snapshot_id = -1,
                                   .schema = fz_metadata_current_schema(l->target->metadata),
                                   .filter = prune_filter(l),
                                   .cancel = l->apply->session->cancel};
    FZ_TRY(fz_scan_plan_new(&plan, &l->plan, err));
    struct fz_scan_source_options scan = {.plan = l->plan,
                                          .store = l->apply->session->store,
                                          .fields = fields,
                                          .n_fields = n,
                                          .cancel = l->apply->session->cancel,
                                          .max_threads = fz_machine_cores()};
    FZ_TRY(fz_scan_source_new(&scan, &source, err));
    FZ_TRY(fz_duck_register(l->duck, source, &l->target_scan, err));
out:
    fz_source_unref(source);
    return rc;
}

static enum fz_code take_row(struct lookup *l, const struct fz_batch *batch, size_t r, struct fz_err *err) {
    struct fz_value number = fz_value_at(&batch->columns[0], r, &l->arena);
    struct candidate *c = &l->candidates[number.u.i64 / 2];
    if (number.u.i64 % 2 == 1) {
        c->own_found = true;
        return FZ_OK;
    }
    c->found = true;
    for (size_t i = 0; i < l->n_wanted; i++) {
        size_t column = l->wanted[i];
        if (column >= c->row->n_columns || c->row->cells[column] != FZ_CELL_UNAVAILABLE) {
            continue;
        }
        struct fz_value v = fz_value_at(&batch->columns[i + 1], r, &l->arena);
        const struct fz_value *copy = fz_value_copy(&l->fold->arena, &v);
        if (copy == NULL) {
            return fz_fail_nomem(err, sizeof v);
        }
        c->row->values[column] = *copy;
        c->row->cells[column] = FZ_CELL_VALUE;
    }
    return FZ_OK;
}

static enum fz_code read_rows(struct lookup *l, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    struct fz_duck_result *result = NULL;
    struct fz_field *fields = fz_arena_array(&l->arena, l->n_wanted + 1, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, sizeof *fields);
    }
    fields[0] = (struct fz_field){.id = 1, .name = "number", .type = fz_type_primitive(FZ_TYPE_LONG)};
    fz_buf_puts(&sql, "SELECT k.c1");
    for (size_t i = 0; i < l->n_wanted; i++) {
        fields[i + 1] = *target_field(l, l->wanted[i]);
        fz_buf_printf(&sql, ", t.c%d", fields[i + 1].id);
    }
    fz_buf_printf(&sql, " FROM fz_scan(%" PRId64 ") t JOIN fz_scan(%" PRId64 ") k ON ", l->target_scan, l->key_scan);
    for (size_t k = 0; k < l->table->n_key; k++) {
        fz_buf_printf(&sql, "%st.c%d = k.c%zu", k == 0 ? "" : " AND ", target_field(l, l->table->key[k])->id, k + 2);
    }
    FZ_TRY(fz_buf_check(&sql, err));
    FZ_TRY(fz_duck_query(l->duck, sql.ptr, fields, l->n_wanted + 1, &result, err));
    for (;;) {
        const struct fz_batch *batch = NULL;
        FZ_TRY(fz_duck_result_next(result, &batch, err));
        if (batch == NULL) {
            break;
        }
        for (size_t r = 0; r < batch->n_rows; r++) {
            FZ_TRY(take_row(l, batch, r, err));
        }
    }
out:
    if (result != NULL) {
        fz_duck_result_free(result);
    }
    fz_buf_dispose(&sql);
    return rc;
}

// Rows with an older value stay, the others leave.
static enum fz_code settle(struct lookup *l,
                           enum fz_code (*each)(void *ctx, const struct fz_fold_row *row, struct fz_err *err),
                           void *ctx, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t at = 0, kept = 0;
    for (size_t i = 0; i < l->fold->n_rows; i++) {
        struct fz_fold_row *row = l->fold->rows[i];
        bool lost = false;
        if (at < l->n && l->candidates[at].row == row) {
            const struct candidate *c = &l->candidates[at++];
            lost = !c->found && !c->own_found;
            if (!c->found) {
                row->origin = NULL; // its own row has the values, if any
            }
        }
        if (lost) {
            FZ_TRY(each(ctx, row, err));
        } else {
            l->fold->rows[kept++] = row;
        }
    }
    l->fold->n_rows = kept;
out:
    return rc;
}

enum fz_code fz_apply_lookup(struct fz_apply *apply, struct fz_fold *fold,
                             enum fz_code (*each)(void *ctx, const struct fz_fold_row *row, struct fz_err *err),
                             void *ctx, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct lookup l = {.apply = apply, .fold = fold, .table = fold->table, .target = fold->table->apply_state};
    static const struct fz_type no_fields = {.id = FZ_TYPE_STRUCT};
    l.schema = &no_fields;
    bool any = false;
    for (size_t i = 0; i < fold->n_rows && !any; i++) {
        any = !fold->rows[i]->is_delete && has_unavailable(fold->rows[i]);
    }
    if (!any) {
        goto out;
    }
    if (l.target->metadata != NULL) {
        FZ_TRY(fz_apply_reload(apply, l.target, err));
        l.schema = fz_metadata_current_schema(l.target->metadata)->type;
    }
    FZ_TRY(collect(&l, err));
    if (l.target->metadata != NULL && l.target->metadata->current_snapshot_id >= 0) {
        FZ_TRY(apply->session->duck(apply->session->ctx, &l.duck, err));
        FZ_TRY(make_keys(&l, err));
        FZ_TRY(register_keys(&l, err));
        FZ_TRY(register_target(&l, err));
        FZ_TRY(read_rows(&l, err));
    }
    FZ_TRY(settle(&l, each, ctx, err));
out:
    if (l.key_scan != 0) {
        fz_duck_unregister(l.duck, l.key_scan);
    }
    if (l.target_scan != 0) {
        fz_duck_unregister(l.duck, l.target_scan);
    }
    fz_scan_plan_unref(l.plan);
    fz_free(l.candidates);
    fz_arena_dispose(&l.arena);
    return rc;
}
