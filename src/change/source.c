// The source of a MERGE: run once into a temporary table, then asked for the range of its keys, which becomes the filter that
// prunes the target.
#include <inttypes.h>

#include "change/change_priv.h"

enum { MAX_KEYS = 8, MAX_CONJUNCTS = 64, MAX_KEY_SET = 200 };

enum fz_code fz_change_load_source(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    FZ_TRY(fz_duck_register_kernels(c->context->duck, c->bound->kernels, c->bound->n_kernels, err));
    if (c->bound->kind != FZ_STMT_MERGE) {
        return FZ_OK;
    }
    fz_buf_puts(&sql, "CREATE OR REPLACE TEMP TABLE fz_src AS SELECT true AS c0, q.* FROM ");
    if (c->bound->source != NULL) {
        c->source_fields = c->bound->source->columns;
        c->n_source_fields = c->bound->source->n_columns;
        fz_buf_putc(&sql, '(');
        FZ_TRY(fz_sql_print_query(&sql, c->bound->source, err));
        fz_buf_puts(&sql, ") AS q");
    } else {
        c->source_fields = c->request->source_fields;
        c->n_source_fields = c->request->n_source_fields;
        fz_buf_printf(&sql, "fz_scan(%" PRId64 ") AS q", c->request->source_id);
    }
    FZ_TRY(fz_buf_check(&sql, err));
    FZ_TRY(fz_duck_exec(c->context->duck, sql.ptr, err));
out:
    fz_buf_dispose(&sql);
    return rc;
}

// An equality between a target column and something of the source.
struct key_pair {
    const struct fz_expr *column; // COLUMN of relation 0
    const struct fz_expr *value;  // over relation 1 only
    bool null_safe;
};

// The target column below casts that keep order and lose nothing (int -> long).
static const struct fz_expr *plain_column(const struct fz_expr *e) {
    while (e->kind == FZ_EXPR_CAST && fz_type_is_integer(e->type) && fz_type_is_integer(e->args[0]->type) &&
           e->type->id > e->args[0]->type->id) {
        e = e->args[0];
    }
    return e->kind == FZ_EXPR_COLUMN && e->u.column.relation == 0 ? e : NULL;
}

// Types whose min and max bound all equal values: floats are out (NaN, -0.0), nested ones too.
static bool has_range(const struct fz_type *type) {
    switch (type->id) {
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
    case FZ_TYPE_DATE:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_STRING:
    case FZ_TYPE_DECIMAL:
        return true;
    default:
        return false;
    }
}

static bool as_key_pair(const struct fz_expr *conjunct, struct key_pair *out) {
    if (conjunct->kind != FZ_EXPR_EQ && conjunct->kind != FZ_EXPR_NULL_EQ) {
        return false;
    }
    for (int side = 0; side < 2; side++) {
        const struct fz_expr *column = plain_column(conjunct->args[side]), *value = conjunct->args[1 - side];
        if (column != NULL && fz_expr_relations(value) == 2 && has_range(column->type) && has_range(value->type)) {
            bool same = fz_type_equal(column->type, value->type, false, false);
            if (same || (fz_type_is_integer(column->type) && fz_type_is_integer(value->type))) {
                *out = (struct key_pair){column, value, conjunct->kind == FZ_EXPR_NULL_EQ};
                return true;
            }
        }
    }
    return false;
}

static const struct fz_expr *compare(struct fz_arena *arena, enum fz_expr_kind kind, const struct fz_expr *column, const struct fz_value *value) {
    const struct fz_value *copy = fz_value_copy(arena, value);
    const struct fz_expr *literal = copy ? fz_expr_literal(arena, copy) : NULL;
    return literal ? fz_expr_op(arena, kind, fz_type_primitive(FZ_TYPE_BOOLEAN), (const struct fz_expr *[]){column, literal}, 2) : NULL;
}

// A bigint of the source as a value of the column's type. Outside an int column's range it is cut to the nearest int, which
// keeps the range right: such a key matches nothing.
static struct fz_value fit(const struct fz_type *type, struct fz_value v) {
    if (type->id == FZ_TYPE_INT && v.type->id != FZ_TYPE_INT) {
        v.u.i64 = v.u.i64 > INT32_MAX ? INT32_MAX : v.u.i64 < INT32_MIN ? INT32_MIN : v.u.i64;
    }
    v.type = type;
    return v;
}

// column IN (the source's keys), when there are few of them; NULL in *out when there are too many.
static enum fz_code key_set(struct fz_change *c, const struct key_pair *pair, const struct fz_expr **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    struct fz_duck_result *result = NULL;
    const struct fz_expr *args[MAX_KEY_SET + 1] = {pair->column};
    size_t n = 1;
    fz_buf_puts(&sql, "SELECT DISTINCT k FROM (SELECT ");
    FZ_TRY(fz_sql_print_expr(&sql, pair->value, err));
    fz_buf_printf(&sql, " AS k FROM fz_src AS r1) WHERE k IS NOT NULL LIMIT %d", MAX_KEY_SET + 1);
    FZ_TRY(fz_buf_check(&sql, err));
    struct fz_field field = {.id = 1, .name = "k", .type = pair->value->type};
    FZ_TRY(fz_duck_query(c->context->duck, sql.ptr, &field, 1, &result, err));
    for (const struct fz_batch *batch;;) {
        FZ_TRY(fz_duck_result_next(result, &batch, err));
        if (batch == NULL) {
            break;
        }
        for (size_t i = 0; i < batch->n_rows; i++) {
            if (n > MAX_KEY_SET) {
                goto out; // too many: the range alone
            }
            struct fz_value v = fit(pair->column->type, fz_value_at(&batch->columns[0], i, NULL));
            const struct fz_value *copy = fz_value_copy(&c->arena, &v);
            args[n] = copy ? fz_expr_literal(&c->arena, copy) : NULL;
            if (args[n++] == NULL) {
                rc = fz_fail_nomem(err, sizeof v);
                goto out;
            }
        }
    }
    if (n > 1) {
        *out = fz_expr_op(&c->arena, FZ_EXPR_IN, fz_type_primitive(FZ_TYPE_BOOLEAN), args, n);
    }
out:
    fz_duck_result_free(result);
    fz_buf_dispose(&sql);
    return rc;
}

// One query for the number of source rows and the range of every key; then each pair as a filter on its column.
static enum fz_code key_ranges(struct fz_change *c, const struct key_pair *pairs, size_t n, const struct fz_expr **filter, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    struct fz_field fields[1 + 3 * MAX_KEYS];
    struct fz_value values[1 + 3 * MAX_KEYS];
    const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG), *boolean = fz_type_primitive(FZ_TYPE_BOOLEAN);
    fields[0] = (struct fz_field){.id = 1, .name = "n", .type = lng};
    fz_buf_puts(&sql, "SELECT count(*)");
    for (size_t i = 0; i < n; i++) {
        static const char *const aggregates[3] = {"min", "max", "count"};
        for (size_t k = 0; k < 3; k++) {
            fields[1 + 3 * i + k] =
                (struct fz_field){.id = (int32_t)(2 + 3 * i + k), .name = aggregates[k], .type = k < 2 ? pairs[i].value->type : lng};
            fz_buf_printf(&sql, ", %s(", aggregates[k]);
            FZ_TRY(fz_sql_print_expr(&sql, pairs[i].value, err));
            fz_buf_putc(&sql, ')');
        }
    }
    fz_buf_puts(&sql, " FROM fz_src AS r1");
    FZ_TRY(fz_buf_check(&sql, err));
    bool found;
    FZ_TRY(fz_duck_query_row(c->context->duck, sql.ptr, fields, 1 + 3 * n, &c->arena, values, &found, err));
    c->source_rows = values[0].u.i64;
    for (size_t i = 0; i < n; i++) {
        const struct key_pair *p = &pairs[i];
        bool has_nulls = values[3 + 3 * i].u.i64 < c->source_rows;
        if (values[1 + 3 * i].is_null && !(p->null_safe && has_nulls)) {
            continue; // no key at all: nothing matches; the join finds that out for nothing
        }
        const struct fz_expr *range = NULL;
        if (!values[1 + 3 * i].is_null) {
            struct fz_value min = fit(p->column->type, values[1 + 3 * i]), max = fit(p->column->type, values[2 + 3 * i]);
            range = fz_expr_and(&c->arena, compare(&c->arena, FZ_EXPR_GE, p->column, &min), compare(&c->arena, FZ_EXPR_LE, p->column, &max));
            if (c->source_rows <= 100000) {
                const struct fz_expr *set = NULL;
                FZ_TRY(key_set(c, p, &set, err));
                range = set != NULL ? fz_expr_and(&c->arena, range, set) : range;
            }
        }
        if (p->null_safe && has_nulls) {
            const struct fz_expr *is_null = fz_expr_op(&c->arena, FZ_EXPR_IS_NULL, boolean, &p->column, 1);
            range = range == NULL ? is_null : fz_expr_op(&c->arena, FZ_EXPR_OR, boolean, (const struct fz_expr *[]){range, is_null}, 2);
        }
        *filter = fz_expr_and(&c->arena, *filter, range);
    }
out:
    fz_buf_dispose(&sql);
    return rc;
}

enum fz_code fz_change_prune_filter(struct fz_change *c, struct fz_err *err) {
    const struct fz_expr *conjuncts[MAX_CONJUNCTS], *filter = NULL;
    if (c->bound->on == NULL) {
        return FZ_OK;
    }
    size_t n = fz_expr_conjuncts(c->bound->on, conjuncts, MAX_CONJUNCTS);
    if (n > MAX_CONJUNCTS) {
        return FZ_OK; // prune nothing
    }
    if (c->has_by_source) {
        return FZ_OK; // every target row counts: rows that a target-only conjunct excludes are "not matched by source"
    }
    struct key_pair pairs[MAX_KEYS];
    size_t n_pairs = 0;
    for (size_t i = 0; i < n; i++) {
        if (fz_expr_relations(conjuncts[i]) == 1) {
            filter = fz_expr_and(&c->arena, filter, conjuncts[i]);
        } else if (n_pairs < MAX_KEYS && as_key_pair(conjuncts[i], &pairs[n_pairs])) {
            n_pairs++;
        }
    }
    c->prune_filter = filter;
    if (c->bound->kind != FZ_STMT_MERGE || n_pairs == 0) {
        return FZ_OK;
    }
    enum fz_code rc = key_ranges(c, pairs, n_pairs, &filter, err);
    c->prune_filter = filter;
    return rc;
}
