// The match: which columns of the target are read, and the query that joins target and source, decides the action of every row
// and computes the new values. Output columns: action (clause number from 1), file_ix, pos, [row_id], the table's columns.
#include <inttypes.h>

#include "change/change_priv.h"

struct needed {
    const struct fz_change *change;
    struct fz_field *fields;
    size_t n, cap;
    struct fz_err *err;
    enum fz_code rc;
};

static const struct fz_field *target_field(const struct fz_change *c, int32_t id) {
    for (size_t i = 0; i < c->schema->type->n_fields; i++) {
        if (c->schema->type->fields[i].id == id) {
            return &c->schema->type->fields[i];
        }
    }
    for (size_t i = 0; i < c->bound->target.n_hidden; i++) {
        if (c->bound->target.hidden[i].id == id) {
            return &c->bound->target.hidden[i];
        }
    }
    return NULL;
}

static bool need(struct needed *needed, const struct fz_field *field) {
    for (size_t i = 0; i < needed->n; i++) {
        if (needed->fields[i].id == field->id) {
            return true;
        }
    }
    needed->rc = fz_grow((void **)&needed->fields, &needed->cap, needed->n + 1, sizeof *needed->fields, needed->err);
    if (needed->rc == FZ_OK) {
        needed->fields[needed->n++] = *field;
    }
    return needed->rc == FZ_OK;
}

static bool visit_column(void *ctx, const struct fz_expr *e) {
    struct needed *needed = ctx;
    if (e->kind == FZ_EXPR_COLUMN && e->u.column.relation == 0) {
        const struct fz_field *field = target_field(needed->change, e->u.column.field_id);
        if (field == NULL) {
            needed->rc = fz_fail(needed->err, FZ_BUG, "target column %s (id %d) is not a column of the table",
                                 e->u.column.name, e->u.column.field_id);
            return false;
        }
        return need(needed, field);
    }
    if (e->kind == FZ_EXPR_SUBQUERY) { // may be correlated with any column
        for (size_t i = 0; i < needed->change->schema->type->n_fields; i++) {
            if (!need(needed, &needed->change->schema->type->fields[i])) {
                return false;
            }
        }
    }
    return true;
}

static enum fz_code collect_needed(struct fz_change *c, struct needed *needed, struct fz_err *err) {
    *needed = (struct needed){.change = c, .err = err};
    static const struct {
        int32_t id;
        enum fz_type_id type;
        const char *name;
    } own[] = {{FZ_ID_FILE_IX, FZ_TYPE_INT, "_file_ix"},
               {FZ_ID_POS, FZ_TYPE_LONG, "_pos"},
               {FZ_ID_ROW_ID, FZ_TYPE_LONG, "_row_id"}};
    for (size_t i = 0; i < (c->lineage ? 3 : 2); i++) {
        struct fz_field f = {.id = own[i].id, .name = own[i].name, .type = fz_type_primitive(own[i].type)};
        need(needed, &f);
    }
    if (c->bound->on != NULL) {
        fz_expr_walk(c->bound->on, visit_column, needed);
    }
    for (size_t k = 0; k < c->bound->n_clauses && needed->rc == FZ_OK; k++) {
        const struct fz_bound_clause *clause = &c->bound->clauses[k];
        if (clause->condition != NULL) {
            fz_expr_walk(clause->condition, visit_column, needed);
        }
        for (size_t i = 0; clause->action != FZ_MERGE_DELETE && i < c->schema->type->n_fields && needed->rc == FZ_OK;
             i++) {
            if (!fz_change_needs_value(c, clause, i)) {
                continue;
            }
            if (clause->values[i].is_unchanged) {
                need(needed, &c->schema->type->fields[i]);
            } else if (clause->values[i].value != NULL) {
                fz_expr_walk(clause->values[i].value, visit_column, needed);
            }
        }
    }
    return needed->rc;
}

static enum fz_code register_target(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct needed needed = {0};
    FZ_TRY(collect_needed(c, &needed, err));
    struct fz_scan_source_options options = {
        .plan = c->plan,
        .store = c->target->store,
        .fields = needed.fields,
        .n_fields = needed.n,
        .cancel = c->context->cancel,
        .progress = c->context->progress,
        .keys = c->keys,
    };
    FZ_TRY(fz_scan_source_new(&options, &c->target_source, err));
    FZ_TRY(fz_duck_register(c->context->duck, c->target_source, &c->target_scan_id, err));
out:
    fz_free(needed.fields);
    return rc;
}

// CASE WHEN c1 THEN 1 WHEN c2 THEN 2 … ELSE 0 END over the clauses of one kind.
static enum fz_code print_decision(const struct fz_change *c, enum fz_merge_match match, struct fz_buf *sql,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    fz_buf_puts(sql, "CASE");
    bool any = false, always = false;
    for (size_t k = 0; k < c->bound->n_clauses && !always; k++) {
        const struct fz_bound_clause *clause = &c->bound->clauses[k];
        if (clause->match != match) {
            continue;
        }
        any = true;
        always = clause->condition == NULL;
        fz_buf_puts(sql, " WHEN ");
        if (always) {
            fz_buf_puts(sql, "true");
        } else {
            FZ_TRY(fz_sql_print_expr(sql, clause->condition, err));
        }
        fz_buf_printf(sql, " THEN %zu", k + 1);
    }
    fz_buf_puts(sql, any ? " ELSE 0 END" : " WHEN true THEN 0 END");
out:
    return rc;
}

static enum fz_code print_action(const struct fz_change *c, struct fz_buf *sql, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool one_kind = c->has_matched + c->has_not_matched + c->has_by_source == 1;
    if (one_kind) {
        return print_decision(c,
                              c->has_matched       ? FZ_MATCHED
                              : c->has_not_matched ? FZ_NOT_MATCHED
                                                   : FZ_NOT_MATCHED_BY_SOURCE,
                              sql, err);
    }
    fz_buf_printf(sql, "CASE WHEN r1.c0 IS NULL THEN ");
    FZ_TRY(print_decision(c, FZ_NOT_MATCHED_BY_SOURCE, sql, err));
    fz_buf_printf(sql, " WHEN r0.c%d IS NULL THEN ", FZ_ID_POS);
    FZ_TRY(print_decision(c, FZ_NOT_MATCHED, sql, err));
    fz_buf_puts(sql, " ELSE ");
    FZ_TRY(print_decision(c, FZ_MATCHED, sql, err));
    fz_buf_puts(sql, " END");
out:
    return rc;
}

// The new value of one column: by the clause that was chosen.
static enum fz_code print_value(const struct fz_change *c, size_t column, struct fz_buf *sql, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_field *field = &c->schema->type->fields[column];
    fz_buf_puts(sql, ", CAST(CASE fz_action");
    bool any = false;
    for (size_t k = 0; k < c->bound->n_clauses; k++) {
        const struct fz_bound_clause *clause = &c->bound->clauses[k];
        if (clause->action == FZ_MERGE_DELETE || !fz_change_needs_value(c, clause, column) ||
            (!clause->values[column].is_unchanged && clause->values[column].value == NULL)) {
            continue;
        }
        any = true;
        fz_buf_printf(sql, " WHEN %zu THEN ", k + 1);
        if (clause->values[column].is_unchanged) {
            fz_buf_printf(sql, "r0.c%d", field->id);
        } else {
            FZ_TRY(fz_sql_print_expr(sql, clause->values[column].value, err));
        }
    }
    fz_buf_puts(sql, any ? " END AS " : " WHEN 0 THEN NULL END AS ");
    fz_duck_type_print(sql, field->type);
    fz_buf_printf(sql, ") AS o%d", field->id);
out:
    return rc;
}

// MERGE joins and decides in an inner query, whose two relations stand as the structs r0 and r1 (no copy: their fields are the
// joined columns). The decision is so computed once per row, and may raise errors: DuckDB refuses an alias for such an expression.
static enum fz_code print_join(struct fz_change *c, struct fz_buf *sql, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool only_inserts = c->has_not_matched && !c->has_matched && !c->has_by_source;
    bool only_by_source = c->has_by_source && !c->has_matched && !c->has_not_matched;
    fz_buf_printf(sql, " FROM (SELECT %s, CAST(", only_inserts ? "r1" : only_by_source ? "r0" : "r0, r1");
    FZ_TRY(print_action(c, sql, err));
    fz_buf_puts(sql, " AS INTEGER) AS fz_action");
    if (only_inserts) {
        fz_buf_puts(sql, " FROM ");
        FZ_TRY(fz_change_print_source(c, sql, err));
        fz_buf_printf(sql, " ANTI JOIN fz_scan(%" PRId64 ") AS r0 ON ", c->target_scan_id);
    } else if (only_by_source) {
        fz_buf_printf(sql, " FROM fz_scan(%" PRId64 ") AS r0 ANTI JOIN ", c->target_scan_id);
        FZ_TRY(fz_change_print_source(c, sql, err));
        fz_buf_puts(sql, " ON ");
    } else {
        const char *join = c->has_by_source     ? (c->has_not_matched ? "FULL" : "LEFT")
                           : c->has_not_matched ? "RIGHT"
                                                : "INNER";
        fz_buf_printf(sql, " FROM fz_scan(%" PRId64 ") AS r0 %s JOIN ", c->target_scan_id, join);
        FZ_TRY(fz_change_print_source(c, sql, err));
        fz_buf_puts(sql, " ON ");
    }
    FZ_TRY(fz_sql_print_expr(sql, c->bound->on, err));
    fz_buf_puts(sql, ") WHERE fz_action <> 0");
    if (c->bound->check_cardinality) { // matches without an action count too
        fz_buf_printf(sql, " OR (r0.c%d IS NOT NULL AND r1.c0 IS NOT NULL)", FZ_ID_POS);
    }
out:
    return rc;
}

static enum fz_code print_from(struct fz_change *c, struct fz_buf *sql, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (c->bound->kind == FZ_STMT_MERGE) {
        return print_join(c, sql, err);
    }
    fz_buf_printf(sql, " FROM fz_scan(%" PRId64 ") AS r0", c->target_scan_id);
    if (c->bound->on != NULL) {
        fz_buf_puts(sql, " WHERE ");
        FZ_TRY(fz_sql_print_expr(sql, c->bound->on, err));
    }
out:
    return rc;
}

enum fz_code fz_change_build_match(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    FZ_TRY(register_target(c, err));
    bool target_visible = c->bound->kind != FZ_STMT_MERGE || c->has_matched || c->has_by_source;
    size_t n_columns = c->produces_rows ? c->schema->type->n_fields : 0, fixed = c->lineage ? 4 : 3;
    c->n_sink_fields = fixed + n_columns;
    c->sink_fields = fz_arena_array(&c->arena, c->n_sink_fields, sizeof *c->sink_fields);
    if (c->sink_fields == NULL) {
        rc = fz_fail_nomem(err, c->n_sink_fields * sizeof *c->sink_fields);
        goto out;
    }
    const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG), *integer = fz_type_primitive(FZ_TYPE_INT);
    c->sink_fields[FZ_SINK_ACTION] = (struct fz_field){.name = "action", .type = integer};
    c->sink_fields[FZ_SINK_FILE_IX] = (struct fz_field){.name = "file_ix", .type = integer};
    c->sink_fields[FZ_SINK_POS] = (struct fz_field){.name = "pos", .type = lng};
    if (c->lineage) {
        c->sink_fields[FZ_SINK_ROW_ID] = (struct fz_field){.id = FZ_ID_ROW_ID, .name = "_row_id", .type = lng};
    }
    memcpy(c->sink_fields + fixed, c->schema->type->fields, n_columns * sizeof *c->sink_fields);
    fz_buf_puts(&sql, c->bound->kind == FZ_STMT_MERGE ? "SELECT fz_action" : "SELECT 1::INTEGER AS fz_action");
    if (target_visible) {
        fz_buf_printf(&sql, ", r0.c%d AS fz_file, r0.c%d AS fz_pos", FZ_ID_FILE_IX, FZ_ID_POS);
    } else {
        fz_buf_puts(&sql, ", NULL::INTEGER AS fz_file, NULL::BIGINT AS fz_pos");
    }
    if (c->lineage) {
        fz_buf_printf(&sql, ", r0.c%d AS fz_row_id", FZ_ID_ROW_ID);
    }
    for (size_t i = 0; i < n_columns; i++) {
        FZ_TRY(print_value(c, i, &sql, err));
    }
    FZ_TRY(print_from(c, &sql, err));
    FZ_TRY(fz_buf_check(&sql, err));
    c->match_sql = fz_buf_take(&sql);
out:
    fz_buf_dispose(&sql);
    return rc;
}
