// The MERGE of a batch as a bound tree, without SQL text in between. See apply.h.
//
//   MERGE INTO t USING batch s ON t.key = s.key
//   WHEN MATCHED AND s.is_delete AND newer THEN DELETE                          (hard deletes)
//   WHEN MATCHED AND newer THEN UPDATE SET c = CASE WHEN s.keep_c THEN t.c ELSE s.c END, …, flag = s.is_delete, _frazil_position = s.position
//   WHEN NOT MATCHED AND s.insertable THEN INSERT …
//   WHEN NOT MATCHED BY SOURCE AND (t._frazil_position IS NULL OR t._frazil_position <= truncate) THEN DELETE      (after a truncate)
//
// newer: s.position > t._frazil_position, true where one of them is NULL; by order_by columns where the pipeline names some.
#include "cdc/apply/apply.h"

#include "base/text.h"

enum field_role { ROLE_OTHER, ROLE_VALUE, ROLE_POSITION, ROLE_FLAG, ROLE_AT };

struct builder {
    struct fz_arena *arena;
    const struct fz_fold *fold;
    const struct fz_cdc_table *table;
    const struct fz_pipeline_table *config;
    const struct fz_type *schema; // of the target
    enum field_role *roles; // per target field
    size_t *column_of; // per target field: the stream's column
    struct fz_field *fields; // of the source; ids are ordinals from 1
    struct fz_apply_column *columns;
    size_t n_fields;
    size_t *value_field, *keep_field; // per stream column: source field, SIZE_MAX none
    size_t is_delete, insertable, position, deleted_at; // source fields
    bool soft, guarded, failed;
};

static const struct fz_expr *checked(struct builder *b, const struct fz_expr *e) {
    b->failed = b->failed || e == NULL;
    return e;
}
static const struct fz_expr *op(struct builder *b, enum fz_expr_kind kind, const struct fz_type *type,
                                const struct fz_expr *x, const struct fz_expr *y, const struct fz_expr *z) {
    const struct fz_expr *args[] = {x, y, z};
    if (b->failed) {
        return NULL;
    }
    return checked(b, fz_expr_op(b->arena, kind, type, args, z != NULL ? 3 : y != NULL ? 2 : 1));
}
static const struct fz_expr *truth(struct builder *b, enum fz_expr_kind kind, const struct fz_expr *x,
                                   const struct fz_expr *y) {
    return op(b, kind, fz_type_primitive(FZ_TYPE_BOOLEAN), x, y, NULL);
}
static const struct fz_expr *either(struct builder *b, const struct fz_expr *x, const struct fz_expr *y) {
    return truth(b, FZ_EXPR_OR, x, y);
}
static const struct fz_expr *is_null(struct builder *b, const struct fz_expr *x) {
    return truth(b, FZ_EXPR_IS_NULL, x, NULL);
}
static const struct fz_expr *both(struct builder *b, const struct fz_expr *x,
                                  const struct fz_expr *y) { // either may be NULL: no condition
    return x == NULL ? y : y == NULL ? x : truth(b, FZ_EXPR_AND, x, y);
}
static const struct fz_expr *target(struct builder *b, size_t i) {
    const struct fz_field *f = &b->schema->fields[i];
    const char *name = fz_arena_printf(b->arena, "t.%s", f->name); // for `frazil check` and messages
    return checked(b, fz_expr_column(b->arena, 0, f->id, name == NULL ? f->name : name, f->type, true));
}
static const struct fz_expr *source(struct builder *b, size_t i) {
    const struct fz_field *f = &b->fields[i];
    const char *name = fz_arena_printf(b->arena, "s.%s", f->name);
    return checked(
        b, fz_expr_column(b->arena, 1, f->id, name == NULL ? f->name : name, f->type, f->type->id != FZ_TYPE_BOOLEAN));
}
static const struct fz_expr *literal(struct builder *b, const struct fz_value *v) {
    return checked(b, fz_expr_literal(b->arena, v));
}
static const struct fz_expr *text_literal(struct builder *b, const char *text, size_t len) {
    struct fz_value *v = FZ_ARENA_NEW(b->arena, struct fz_value);
    char *copy = fz_arena_strndup(b->arena, text, len);
    if (v == NULL || copy == NULL) {
        b->failed = true;
        return NULL;
    }
    *v = (struct fz_value){.type = fz_type_primitive(FZ_TYPE_STRING)};
    v->u.bytes = (struct fz_str){copy, len};
    return literal(b, v);
}
static const struct fz_expr *null_of(struct builder *b, const struct fz_type *type) {
    struct fz_value *v = FZ_ARENA_NEW(b->arena, struct fz_value);
    if (v == NULL) {
        b->failed = true;
        return NULL;
    }
    *v = fz_value_null(type);
    return literal(b, v);
}

// ---- columns

static size_t add_source_field(struct builder *b, const char *name, const struct fz_type *type,
                               enum fz_apply_column_kind kind, size_t column) {
    size_t i = b->n_fields++;
    b->fields[i] = (struct fz_field){.id = (int32_t)i + 1, .name = name, .type = type};
    b->columns[i] = (struct fz_apply_column){kind, column};
    return i;
}

static void find_roles(struct builder *b) {
    for (size_t i = 0; i < b->schema->n_fields; i++) {
        const char *name = b->schema->fields[i].name;
        struct fz_map_entry *entry = fz_map_find(&b->table->by_name, fz_str_of(name));
        b->roles[i] = ROLE_OTHER;
        if (strcmp(name, FZ_POSITION_COLUMN) == 0) {
            b->roles[i] = b->schema->fields[i].type->id == FZ_TYPE_STRING ? ROLE_POSITION : ROLE_OTHER;
            b->guarded = b->roles[i] == ROLE_POSITION;
        } else if (b->soft && strcmp(name, b->config->soft_flag) == 0) {
            b->roles[i] = ROLE_FLAG;
        } else if (b->soft && b->config->soft_at != NULL && strcmp(name, b->config->soft_at) == 0) {
            b->roles[i] = ROLE_AT;
        } else if (entry != NULL) {
            b->roles[i] = ROLE_VALUE;
            b->column_of[i] = (size_t)entry->value.i64;
        }
    }
}

static bool is_kept_somewhere(const struct fz_fold *fold, size_t column, bool soft) {
    for (size_t i = 0; i < fold->n_rows; i++) {
        const struct fz_fold_row *row = fold->rows[i];
        if (row->is_delete && !soft) {
            continue; // its values are not looked at
        }
        if (column >= row->n_columns || row->cells[column] != FZ_CELL_VALUE) {
            return true;
        }
    }
    return false;
}

static enum fz_code plan_source(struct builder *b, struct fz_err *err) {
    size_t most = b->schema->n_fields * 2 + 4, n_columns = b->table->n_columns + 1;
    b->roles = fz_arena_array(b->arena, b->schema->n_fields + 1, sizeof *b->roles);
    b->column_of = fz_arena_array(b->arena, b->schema->n_fields + 1, sizeof *b->column_of);
    b->fields = fz_arena_array(b->arena, most, sizeof *b->fields);
    b->columns = fz_arena_array(b->arena, most, sizeof *b->columns);
    b->value_field = fz_arena_array(b->arena, n_columns, sizeof *b->value_field);
    b->keep_field = fz_arena_array(b->arena, n_columns, sizeof *b->keep_field);
    if (b->roles == NULL || b->column_of == NULL || b->fields == NULL || b->columns == NULL || b->value_field == NULL ||
        b->keep_field == NULL) {
        return fz_fail_nomem(err, most * sizeof *b->fields);
    }
    const struct fz_type *boolean = fz_type_primitive(FZ_TYPE_BOOLEAN);
    find_roles(b);
    memset(b->value_field, 0xff, n_columns * sizeof *b->value_field);
    memset(b->keep_field, 0xff, n_columns * sizeof *b->keep_field);
    b->is_delete = add_source_field(b, "is_delete", boolean, FZ_APPLY_IS_DELETE, 0);
    b->insertable = add_source_field(b, "insertable", boolean, FZ_APPLY_INSERTABLE, 0);
    if (b->guarded) {
        b->position = add_source_field(b, "position", fz_type_primitive(FZ_TYPE_STRING), FZ_APPLY_POSITION, 0);
    }
    for (size_t i = 0; i < b->schema->n_fields; i++) {
        if (b->roles[i] == ROLE_AT) {
            b->deleted_at =
                add_source_field(b, "deleted_at", fz_type_primitive(FZ_TYPE_TIMESTAMPTZ), FZ_APPLY_DELETED_AT, 0);
        } else if (b->roles[i] == ROLE_VALUE) {
            b->value_field[b->column_of[i]] = add_source_field(b, b->schema->fields[i].name, b->schema->fields[i].type,
                                                               FZ_APPLY_VALUE, b->column_of[i]);
        }
    }
    for (size_t i = 0; i < b->schema->n_fields; i++) {
        if (b->roles[i] == ROLE_VALUE && is_kept_somewhere(b->fold, b->column_of[i], b->soft)) {
            const char *name = fz_arena_printf(b->arena, "keep_%s", b->schema->fields[i].name);
            b->keep_field[b->column_of[i]] =
                add_source_field(b, name == NULL ? "keep" : name, boolean, FZ_APPLY_KEEP, b->column_of[i]);
        }
    }
    return FZ_OK;
}

// ---- conditions

static size_t field_of_column(const struct builder *b, size_t column) {
    for (size_t i = 0; i < b->schema->n_fields; i++) {
        if (b->roles[i] == ROLE_VALUE && b->column_of[i] == column) {
            return i;
        }
    }
    return SIZE_MAX;
}

static enum fz_code build_on(struct builder *b, const struct fz_expr **out, struct fz_err *err) {
    const struct fz_expr *on = NULL;
    for (size_t k = 0; k < b->table->n_key; k++) {
        size_t i = field_of_column(b, b->table->key[k]);
        if (i == SIZE_MAX) {
            return fz_fail(err, FZ_SCHEMA_MISMATCH, "the table has no key column %s",
                           b->table->columns[b->table->key[k]].name);
        }
        on = both(b, on, truth(b, FZ_EXPR_EQ, target(b, i), source(b, b->value_field[b->table->key[k]])));
    }
    if (on == NULL) { // a truncate before the key is known
        struct fz_value *no = FZ_ARENA_NEW(b->arena, struct fz_value);
        if (no == NULL) {
            return fz_fail_nomem(err, sizeof *no);
        }
        *no = (struct fz_value){.type = fz_type_primitive(FZ_TYPE_BOOLEAN)};
        on = literal(b, no);
    }
    *out = on;
    return FZ_OK;
}

// target column i is NULL, or less than (or, with `or_equal`, not above) the source's
static const struct fz_expr *behind(struct builder *b, size_t i, size_t source_field) {
    return either(b, either(b, is_null(b, target(b, i)), is_null(b, source(b, source_field))),
                  truth(b, FZ_EXPR_LT, target(b, i), source(b, source_field)));
}

// t.(a, b) before s.(a, b): a behind, or a equal and b behind; equal tuples are not newer. A value that is not known counts as newer.
static const struct fz_expr *behind_order_by(struct builder *b, size_t from) {
    struct fz_map_entry *entry = fz_map_find(&b->table->by_name, fz_str_of(b->config->order_by[from]));
    size_t i = entry == NULL ? SIZE_MAX : field_of_column(b, (size_t)entry->value.i64);
    if (i == SIZE_MAX) {
        return NULL;
    }
    size_t s = b->value_field[b->column_of[i]], keep = b->keep_field[b->column_of[i]];
    const struct fz_expr *e = behind(b, i, s);
    if (keep != SIZE_MAX) {
        e = either(b, e, source(b, keep));
    }
    const struct fz_expr *rest = from + 1 < b->config->n_order_by ? behind_order_by(b, from + 1) : NULL;
    return rest == NULL ? e : either(b, e, both(b, truth(b, FZ_EXPR_EQ, target(b, i), source(b, s)), rest));
}

static size_t position_field(const struct builder *b) {
    for (size_t i = 0; i < b->schema->n_fields; i++) {
        if (b->roles[i] == ROLE_POSITION) {
            return i;
        }
    }
    return SIZE_MAX;
}

// NULL: every change counts.
static const struct fz_expr *build_newer(struct builder *b) {
    const struct fz_expr *newer = NULL;
    if (b->config != NULL && b->config->n_order_by > 0) {
        const struct fz_expr *columns = behind_order_by(b, 0);
        newer = columns == NULL ? NULL : either(b, source(b, b->is_delete), columns); // a delete's values are made up
    } else if (b->guarded) {
        size_t i = position_field(b);
        if (b->config != NULL &&
            b->config->keep_streamed) { // a snapshot row without position never replaces a streamed one
            newer = either(b, is_null(b, target(b, i)), truth(b, FZ_EXPR_LT, target(b, i), source(b, b->position)));
        } else {
            newer = behind(b, i, b->position);
        }
    }
    if (b->config != NULL && b->config->guard != NULL) {
        struct fz_map_entry *entry = fz_map_find(&b->table->by_name, fz_str_of(b->config->guard));
        size_t i = entry == NULL ? SIZE_MAX : field_of_column(b, (size_t)entry->value.i64);
        if (i != SIZE_MAX) {
            newer = both(b, newer, either(b, source(b, b->is_delete), behind(b, i, b->value_field[b->column_of[i]])));
        }
    }
    return newer;
}

// Which rows a truncate takes away; NULL: all that the batch does not bring again.
static const struct fz_expr *build_truncated(struct builder *b) {
    if (!b->guarded || b->fold->truncate_order.n == 0) {
        return NULL;
    }
    char text[FZ_CDC_ORDER_TEXT];
    size_t len = fz_cdc_order_print(&b->fold->truncate_order, text), i = position_field(b);
    return either(b, is_null(b, target(b, i)), truth(b, FZ_EXPR_LE, target(b, i), text_literal(b, text, len)));
}

// ---- clauses

static const struct fz_expr *updated_value(struct builder *b, size_t i) {
    const struct fz_type *type = b->schema->fields[i].type;
    switch (b->roles[i]) {
    case ROLE_VALUE: {
        size_t v = b->value_field[b->column_of[i]], keep = b->keep_field[b->column_of[i]];
        return keep == SIZE_MAX ? source(b, v) : op(b, FZ_EXPR_CASE, type, source(b, keep), target(b, i), source(b, v));
    }
    case ROLE_POSITION: // a row without a position keeps the table's
        return op(b, FZ_EXPR_CASE, type, is_null(b, source(b, b->position)), target(b, i), source(b, b->position));
    case ROLE_FLAG:
        return source(b, b->is_delete);
    case ROLE_AT:
        return source(b, b->deleted_at);
    case ROLE_OTHER:
        break;
    }
    return NULL;
}

static const struct fz_expr *inserted_value(struct builder *b, size_t i) {
    switch (b->roles[i]) {
    case ROLE_VALUE:
        return source(b, b->value_field[b->column_of[i]]);
    case ROLE_POSITION:
        return source(b, b->position);
    case ROLE_FLAG:
        return source(b, b->is_delete);
    case ROLE_AT:
        return source(b, b->deleted_at);
    case ROLE_OTHER:
        break;
    }
    return null_of(b, b->schema->fields[i].type);
}

enum values_kind { VALUES_UPDATE, VALUES_INSERT, VALUES_SOFT_TRUNCATE };

static const struct fz_bound_assignment *assignments(struct builder *b, enum values_kind kind) {
    struct fz_bound_assignment *values = fz_arena_array(b->arena, b->schema->n_fields + 1, sizeof *values);
    if (values == NULL) {
        b->failed = true;
        return NULL;
    }
    for (size_t i = 0; i < b->schema->n_fields; i++) {
        values[i].field_id = b->schema->fields[i].id;
        if (kind == VALUES_INSERT) {
            values[i].value = inserted_value(b, i);
        } else if (kind == VALUES_UPDATE) {
            values[i].value = updated_value(b, i);
            values[i].is_unchanged = b->roles[i] == ROLE_OTHER;
        } else if (b->roles[i] == ROLE_FLAG) {
            struct fz_value *yes = FZ_ARENA_NEW(b->arena, struct fz_value);
            if (yes != NULL) {
                *yes = (struct fz_value){.type = fz_type_primitive(FZ_TYPE_BOOLEAN)};
                yes->u.boolean = true;
            }
            b->failed = b->failed || yes == NULL;
            values[i].value = yes == NULL ? NULL : literal(b, yes);
        } else {
            values[i].is_unchanged = true;
        }
    }
    return values;
}

static void build_clauses(struct builder *b, struct fz_apply_merge *out) {
    struct fz_bound_clause *clauses = fz_arena_array(b->arena, 4, sizeof *clauses);
    size_t n = 0;
    if (clauses == NULL) {
        b->failed = true;
        return;
    }
    const struct fz_expr *newer = build_newer(b);
    if (!b->soft && out->has_deletes) {
        clauses[n++] = (struct fz_bound_clause){
            .match = FZ_MATCHED, .action = FZ_MERGE_DELETE, .condition = both(b, source(b, b->is_delete), newer)};
    }
    if (b->soft || out->has_upserts) {
        const struct fz_expr *not_deleted =
            !b->soft && out->has_deletes ? truth(b, FZ_EXPR_NOT, source(b, b->is_delete), NULL) : NULL;
        clauses[n++] = (struct fz_bound_clause){.match = FZ_MATCHED,
                                                .action = FZ_MERGE_UPDATE,
                                                .condition = both(b, not_deleted, newer),
                                                .values = assignments(b, VALUES_UPDATE)};
        clauses[n++] = (struct fz_bound_clause){.match = FZ_NOT_MATCHED,
                                                .action = FZ_MERGE_INSERT,
                                                .condition = out->has_deletes ? source(b, b->insertable) : NULL,
                                                .values = assignments(b, VALUES_INSERT)};
    }
    if (b->fold->truncated) {
        const struct fz_expr *condition = build_truncated(b);
        if (b->soft) {
            size_t flag = 0;
            while (flag < b->schema->n_fields && b->roles[flag] != ROLE_FLAG) {
                flag++;
            }
            const struct fz_expr *alive =
                flag == b->schema->n_fields
                    ? NULL
                    : either(b, is_null(b, target(b, flag)), truth(b, FZ_EXPR_NOT, target(b, flag), NULL));
            clauses[n++] = (struct fz_bound_clause){.match = FZ_NOT_MATCHED_BY_SOURCE,
                                                    .action = FZ_MERGE_UPDATE,
                                                    .condition = both(b, alive, condition),
                                                    .values = assignments(b, VALUES_SOFT_TRUNCATE)};
        } else {
            clauses[n++] = (struct fz_bound_clause){
                .match = FZ_NOT_MATCHED_BY_SOURCE, .action = FZ_MERGE_DELETE, .condition = condition};
        }
    }
    out->bound.clauses = clauses;
    out->bound.n_clauses = n;
}

static enum fz_code check_name(struct builder *b, const char *what, const char *name, struct fz_err *err) {
    struct fz_map_entry *entry = fz_map_find(&b->table->by_name, fz_str_of(name));
    if (entry != NULL && field_of_column(b, (size_t)entry->value.i64) != SIZE_MAX) {
        return FZ_OK;
    }
    fz_fail(err, FZ_INVALID_ARG, "table %s: %s names %s, which is no column of it", b->table->match, what, name);
    fz_err_at(err, b->config->line, b->config->column);
    return FZ_INVALID_ARG;
}

static enum fz_code check_names(struct builder *b, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; b->config != NULL && b->table->n_columns > 0 && i < b->config->n_order_by; i++) {
        FZ_TRY(check_name(b, "order_by", b->config->order_by[i], err));
    }
    if (b->config != NULL && b->table->n_columns > 0 && b->config->guard != NULL) {
        FZ_TRY(check_name(b, "guard", b->config->guard, err));
    }
out:
    return rc;
}

enum fz_code fz_apply_build_merge(struct fz_apply *apply, const struct fz_fold *fold, struct fz_arena *arena,
                                  struct fz_apply_merge *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_apply_table *t = fold->table->apply_state;
    struct builder b = {.arena = arena,
                        .fold = fold,
                        .table = fold->table,
                        .config = fold->table->config,
                        .schema = fz_metadata_current_schema(t->metadata)->type};
    (void)apply;
    *out = (struct fz_apply_merge){.has_deletes = false};
    b.soft = b.config != NULL && b.config->deletes == FZ_DELETES_SOFT;
    for (size_t i = 0; i < fold->n_rows; i++) {
        out->has_deletes = out->has_deletes || fold->rows[i]->is_delete;
        out->has_upserts = out->has_upserts || !fold->rows[i]->is_delete;
    }
    FZ_TRY(plan_source(&b, err));
    FZ_TRY(check_names(&b, err));
    FZ_TRY(build_on(&b, &out->bound.on, err));
    build_clauses(&b, out);
    if (b.failed) {
        rc = fz_fail_nomem(err, 64);
        goto out;
    }
    out->fields = b.fields;
    out->n_fields = b.n_fields;
    out->columns = b.columns;
    out->bound.kind = FZ_STMT_MERGE;
    out->bound.target = (struct fz_sql_table){
        .name = t->dotted, .fields = b.schema->fields, .n_fields = b.schema->n_fields, .is_iceberg_table = true};
    out->bound.check_cardinality = false; // one row per key
out:
    return rc;
}

// ---- for people

static void print_clause(struct fz_buf *out, const struct builder *b, const struct fz_bound_clause *clause) {
    static const char *const MATCH[] = {"MATCHED", "NOT MATCHED", "NOT MATCHED BY SOURCE"};
    fz_buf_printf(out, "\nWHEN %s", MATCH[clause->match]);
    if (clause->condition != NULL) {
        fz_buf_puts(out, " AND ");
        fz_expr_print(out, clause->condition);
    }
    if (clause->action == FZ_MERGE_DELETE) {
        fz_buf_puts(out, " THEN DELETE");
        return;
    }
    fz_buf_puts(out, clause->action == FZ_MERGE_UPDATE ? " THEN UPDATE SET " : " THEN INSERT (");
    bool first = true;
    for (size_t i = 0; i < b->schema->n_fields; i++) {
        if (!clause->values[i].is_unchanged && clause->values[i].value != NULL) {
            fz_buf_printf(out, "%s%s", first ? "" : ", ", b->schema->fields[i].name);
            first = false;
            if (clause->action == FZ_MERGE_UPDATE) {
                fz_buf_puts(out, " = ");
                fz_expr_print(out, clause->values[i].value);
            }
        }
    }
    first = true;
    fz_buf_puts(out, clause->action == FZ_MERGE_UPDATE ? "" : ") VALUES (");
    for (size_t i = 0; clause->action == FZ_MERGE_INSERT && i < b->schema->n_fields; i++) {
        fz_buf_puts(out, first ? "" : ", ");
        first = false;
        fz_expr_print(out, clause->values[i].value);
    }
    fz_buf_puts(out, clause->action == FZ_MERGE_UPDATE ? "" : ")");
}

enum fz_code fz_apply_print_merge(struct fz_apply *apply, const struct fz_fold *fold, struct fz_buf *out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_apply_table *t = fold->table->apply_state;
    struct fz_arena arena = {0};
    struct fz_apply_merge merge;
    struct builder b = {.schema = fz_metadata_current_schema(t->metadata)->type};
    FZ_TRY(fz_apply_build_merge(apply, fold, &arena, &merge, err));
    fz_buf_printf(out, "MERGE INTO %s AS t USING batch AS s ON ", t->dotted);
    fz_expr_print(out, merge.bound.on);
    for (size_t i = 0; i < merge.bound.n_clauses; i++) {
        print_clause(out, &b, &merge.bound.clauses[i]);
    }
    rc = fz_buf_check(out, err);
out:
    fz_arena_dispose(&arena);
    return rc;
}
