// The source of a MERGE: run once into memory, or into a temporary table when it is large, then asked for its keys. Their ranges (and small sets) become the filter
// that prunes the target's files; the keys themselves go to the scan, which leaves out what can hold none of them.
#include <inttypes.h>

#include "change/change_priv.h"
#include "table/prune.h"

enum {
    MAX_KEYS = 8,
    MAX_CONJUNCTS = 64,
    MAX_KEY_SET = 200,
    HELD_BYTES = 64 << 20, // a larger source goes into a temporary table, which can spill
    HELD_SHARE = 8, // and so does one that needs more than this part of the budget
};

// Runs the source query into memory. *out stays NULL when it is too large for that.
static enum fz_code hold_source(struct fz_change *c, const char *query, struct fz_row_store **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    struct fz_row_store *store = NULL;
    const struct fz_budget *budget = c->context->budget;
    struct fz_err why = FZ_ERR_INIT;
    int64_t max_bytes = HELD_BYTES;
    if (budget != NULL && budget->limit_bytes / HELD_SHARE < max_bytes) {
        max_bytes = budget->limit_bytes / HELD_SHARE;
    }
    size_t n = c->n_source_fields + 1;
    struct fz_field *fields = fz_arena_array(&c->arena, n, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, n * sizeof *fields);
    }
    fields[0] = (struct fz_field){.id = 0, .name = "c0", .type = fz_type_primitive(FZ_TYPE_BOOLEAN)};
    for (size_t i = 1; i < n; i++) {
        fields[i] = c->source_fields[i - 1];
        fields[i].id = (int32_t)i; // the engine's columns are c1..cn
    }
    fz_buf_printf(&sql, "SELECT true AS c0, q.* FROM %s", query);
    FZ_TRY(fz_buf_check(&sql, err));
    FZ_TRY(fz_row_store_new(fields, n, max_bytes, c->context->budget, &store, err));
    if (fz_duck_run_into(c->context->duck, sql.ptr, fields, n, fz_row_store_sink(store), NULL, &why) == FZ_OK) {
        *out = store;
        store = NULL;
    } else if (!fz_row_store_is_full(store)) {
        rc = why.code;
        if (err != NULL) {
            *err = why;
        }
    }
out:
    fz_row_store_unref(store);
    fz_buf_dispose(&sql);
    return rc;
}

enum fz_code fz_change_load_source(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf query = {0}, sql = {0};
    FZ_TRY(fz_duck_register_kernels(c->context->duck, c->bound->kernels, c->bound->n_kernels, err));
    if (c->bound->kind != FZ_STMT_MERGE) {
        return FZ_OK;
    }
    if (c->bound->source != NULL) {
        c->source_fields = c->bound->source->columns;
        c->n_source_fields = c->bound->source->n_columns;
        fz_buf_putc(&query, '(');
        FZ_TRY(fz_sql_print_query(&query, c->bound->source, err));
        fz_buf_puts(&query, ") AS q");
        FZ_TRY(fz_buf_check(&query, err));
        FZ_TRY(hold_source(c, query.ptr, &c->held_source, err));
        if (c->held_source != NULL) {
            goto out;
        }
    } else {
        c->source_fields = c->request->source_fields;
        c->n_source_fields = c->request->n_source_fields;
        fz_buf_printf(&query, "fz_scan(%" PRId64 ") AS q", c->request->source_id); // can be read once only
    }
    FZ_TRY(fz_buf_check(&query, err));
    fz_buf_printf(&sql, "CREATE OR REPLACE TEMP TABLE fz_src AS SELECT true AS c0, q.* FROM %s", query.ptr);
    FZ_TRY(fz_buf_check(&sql, err));
    FZ_TRY(fz_duck_exec(c->context->duck, sql.ptr, err));
out:
    fz_buf_dispose(&query);
    fz_buf_dispose(&sql);
    return rc;
}

void fz_change_close_source(struct fz_change *c) {
    if (c->source_scan_id != 0) {
        fz_duck_unregister(c->context->duck, c->source_scan_id);
        c->source_scan_id = 0;
    }
}

enum fz_code fz_change_print_source(struct fz_change *c, struct fz_buf *sql, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = NULL;
    if (c->held_source == NULL) {
        fz_buf_puts(sql, "fz_src AS r1");
        return FZ_OK;
    }
    fz_change_close_source(c);
    FZ_TRY(fz_row_store_source(c->held_source, &source, err));
    FZ_TRY(fz_duck_register(c->context->duck, source, &c->source_scan_id, err));
    fz_buf_printf(sql, "fz_scan(%" PRId64 ") AS r1", c->source_scan_id);
out:
    fz_source_unref(source);
    return rc;
}

// An equality between a target column and something of the source.
struct key_pair {
    const struct fz_expr *column; // COLUMN of relation 0
    const struct fz_expr *value; // over relation 1 only
    bool null_safe;
    bool in_order; // min and max of the values bound all equal rows
};

// The target column below casts that keep order and lose nothing (int -> long).
static const struct fz_expr *plain_column(const struct fz_expr *e) {
    while (e->kind == FZ_EXPR_CAST && fz_type_is_integer(e->type) && fz_type_is_integer(e->args[0]->type) &&
           e->type->id > e->args[0]->type->id) {
        e = e->args[0];
    }
    bool of_table = e->kind == FZ_EXPR_COLUMN && e->u.column.relation == 0 &&
                    e->u.column.field_id < FZ_FIRST_RESERVED_ID; // files do not hold what the others are
    return of_table ? e : NULL;
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
        if (column != NULL && fz_expr_relations(value) == 2 && fz_scan_key_type_ok(column->type, value->type)) {
            *out = (struct key_pair){column, value, conjunct->kind == FZ_EXPR_NULL_EQ,
                                     has_range(column->type) && has_range(value->type)};
            return true;
        }
    }
    return false;
}

static const struct fz_expr *compare(struct fz_arena *arena, enum fz_expr_kind kind, const struct fz_expr *column,
                                     const struct fz_value *value) {
    const struct fz_value *copy = fz_value_copy(arena, value);
    const struct fz_expr *literal = copy ? fz_expr_literal(arena, copy) : NULL;
    return literal ? fz_expr_op(arena, kind, fz_type_primitive(FZ_TYPE_BOOLEAN),
                                (const struct fz_expr *[]){column, literal}, 2)
                   : NULL;
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

// WHERE with the conjuncts of ON over the source alone: other source rows match nothing.
static enum fz_code print_source_conjuncts(const struct fz_change *c, struct fz_buf *sql, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_expr *conjuncts[MAX_CONJUNCTS];
    size_t n = fz_expr_conjuncts(c->bound->on, conjuncts, MAX_CONJUNCTS);
    const char *before = " WHERE ";
    for (size_t i = 0; i < n && n <= MAX_CONJUNCTS; i++) {
        if (fz_expr_relations(conjuncts[i]) == 2) {
            fz_buf_puts(sql, before);
            FZ_TRY(fz_sql_print_expr(sql, conjuncts[i], err));
            before = " AND ";
        }
    }
out:
    return rc;
}

static const struct fz_expr *literal_of(struct fz_change *c, const struct key_pair *pair,
                                        const struct fz_value *value) {
    struct fz_value v = fit(pair->column->type, *value);
    const struct fz_value *copy = fz_value_copy(&c->arena, &v);
    return copy != NULL ? fz_expr_literal(&c->arena, copy) : NULL;
}

// The distinct texts of a source column, when there are few; *n above MAX_KEY_SET: too many.
static enum fz_code small_text_set(struct fz_change *c, const struct key_pair *pair, const struct fz_expr **args,
                                   size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    struct fz_duck_result *result = NULL;
    fz_buf_puts(&sql, "SELECT DISTINCT k FROM (SELECT ");
    FZ_TRY(fz_sql_print_expr(&sql, pair->value, err));
    fz_buf_puts(&sql, " AS k FROM ");
    FZ_TRY(fz_change_print_source(c, &sql, err));
    FZ_TRY(print_source_conjuncts(c, &sql, err));
    fz_buf_printf(&sql, ") WHERE k IS NOT NULL LIMIT %d", MAX_KEY_SET + 1);
    FZ_TRY(fz_buf_check(&sql, err));
    struct fz_field field = {.id = 1, .name = "k", .type = pair->value->type};
    FZ_TRY(fz_duck_query(c->context->duck, sql.ptr, &field, 1, &result, err));
    for (const struct fz_batch *batch;;) {
        FZ_TRY(fz_duck_result_next(result, &batch, err));
        if (batch == NULL) {
            break;
        }
        for (size_t i = 0; i < batch->n_rows && *n <= MAX_KEY_SET; i++) {
            struct fz_value v = fz_value_at(&batch->columns[0], i, NULL);
            args[(*n)++] = literal_of(c, pair, &v);
        }
    }
out:
    fz_duck_result_free(result);
    fz_buf_dispose(&sql);
    return rc;
}

// column IN (the source's keys), when there are few of them; NULL in *out when there are too many.
static enum fz_code key_set(struct fz_change *c, size_t ix, const struct key_pair *pair, const struct fz_expr **out,
                            struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_expr *args[MAX_KEY_SET + 2] = {pair->column};
    struct fz_scan_key_facts facts;
    size_t n = 0;
    fz_scan_keys_facts(c->keys, ix, &facts);
    if (facts.n_distinct < 0 || facts.n_distinct > MAX_KEY_SET) {
        return FZ_OK; // the range alone
    }
    if (facts.sorted != NULL) {
        for (; n < (size_t)facts.n_distinct; n++) {
            struct fz_value v = {.type = pair->value->type};
            if (v.type->id == FZ_TYPE_DECIMAL) {
                v.u.i128 = fz_i128_of(facts.sorted[n]);
            } else {
                v.u.i64 = facts.sorted[n];
            }
            args[n + 1] = literal_of(c, pair, &v);
        }
    } else {
        FZ_TRY(small_text_set(c, pair, args + 1, &n, err));
    }
    for (size_t i = 1; i <= n; i++) {
        if (args[i] == NULL) {
            return fz_fail_nomem(err, sizeof *args);
        }
    }
    if (n > 0 && n <= MAX_KEY_SET) {
        *out = fz_expr_op(&c->arena, FZ_EXPR_IN, fz_type_primitive(FZ_TYPE_BOOLEAN), args, n + 1);
        rc = *out == NULL ? fz_fail_nomem(err, sizeof **out) : FZ_OK;
    }
out:
    return rc;
}

struct key_sink {
    struct fz_sink base;
    struct fz_scan_keys *keys;
};
static enum fz_code push_keys(struct fz_sink *base, const struct fz_batch *batch, struct fz_err *err) {
    return fz_scan_keys_add(((struct key_sink *)base)->keys, batch, err);
}

// One pass over the source's rows for the keys of all pairs.
static enum fz_code collect_keys(struct fz_change *c, const struct key_pair *pairs, size_t n, struct fz_err *err) {
    static const struct fz_sink_vtable vtable = {.push = push_keys};
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    struct fz_field fields[MAX_KEYS];
    struct fz_scan_key_column columns[MAX_KEYS];
    fz_buf_puts(&sql, "SELECT ");
    for (size_t i = 0; i < n; i++) {
        fields[i] = (struct fz_field){.id = (int32_t)i + 1, .name = "k", .type = pairs[i].value->type};
        columns[i] = (struct fz_scan_key_column){pairs[i].column->u.column.field_id, pairs[i].column->type,
                                                 pairs[i].value->type, pairs[i].null_safe};
        fz_buf_puts(&sql, i > 0 ? ", " : "");
        FZ_TRY(fz_sql_print_expr(&sql, pairs[i].value, err));
    }
    fz_buf_puts(&sql, " FROM ");
    FZ_TRY(fz_change_print_source(c, &sql, err));
    FZ_TRY(print_source_conjuncts(c, &sql, err));
    FZ_TRY(fz_buf_check(&sql, err));
    FZ_TRY(fz_scan_keys_new(columns, n, c->context->budget, &c->keys, err));
    struct key_sink sink = {.base = {&vtable}, .keys = c->keys};
    FZ_TRY(fz_duck_run_into(c->context->duck, sql.ptr, fields, n, &sink.base, &c->source_rows, err));
    FZ_TRY(fz_scan_keys_seal(c->keys, err));
out:
    fz_buf_dispose(&sql);
    return rc;
}

// Each pair as a filter on its column.
static enum fz_code key_ranges(struct fz_change *c, const struct key_pair *pairs, size_t n,
                               const struct fz_expr **filter, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *boolean = fz_type_primitive(FZ_TYPE_BOOLEAN);
    for (size_t i = 0; i < n; i++) {
        const struct key_pair *p = &pairs[i];
        struct fz_scan_key_facts facts;
        fz_scan_keys_facts(c->keys, i, &facts);
        bool has_nulls = facts.n_nulls > 0;
        if (!p->in_order || (!facts.has_range && (facts.n_values > 0 || !(p->null_safe && has_nulls)))) {
            continue; // keys without a range (wide decimals); or no key at all: the scan leaves everything out
        }
        const struct fz_expr *range = NULL;
        if (facts.has_range) {
            struct fz_value min = fit(p->column->type, facts.min), max = fit(p->column->type, facts.max);
            range = fz_expr_and(&c->arena, compare(&c->arena, FZ_EXPR_GE, p->column, &min),
                                compare(&c->arena, FZ_EXPR_LE, p->column, &max));
            const struct fz_expr *set = NULL;
            FZ_TRY(key_set(c, i, p, &set, err));
            range = set != NULL ? fz_expr_and(&c->arena, range, set) : range;
        }
        if (p->null_safe && has_nulls) {
            const struct fz_expr *is_null = fz_expr_op(&c->arena, FZ_EXPR_IS_NULL, boolean, &p->column, 1);
            range = range == NULL
                        ? is_null
                        : fz_expr_op(&c->arena, FZ_EXPR_OR, boolean, (const struct fz_expr *[]){range, is_null}, 2);
        }
        *filter = fz_expr_and(&c->arena, *filter, range);
    }
out:
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
    enum fz_code rc = FZ_OK;
    FZ_TRY(collect_keys(c, pairs, n_pairs, err));
    rc = key_ranges(c, pairs, n_pairs, &filter, err);
    c->prune_filter = filter;
out:
    return rc;
}
