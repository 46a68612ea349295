// The small vector evaluator of data/expr.h: one result byte a row (0 false, 1 true, 2 NULL), one loop per physical type.
// Comparison is SQL's: -0.0 = 0.0, NaN = NaN and greater than everything else; text and binary bytewise.
#include "data/expr.h"

#include <math.h>
#include <stdlib.h>

enum { NULL_RESULT = 2, FEW_ITEMS = 12 };

// ---- what can be evaluated

static const struct fz_expr *column_root(const struct fz_expr *expr) {
    while (expr->kind == FZ_EXPR_FIELD) {
        expr = expr->args[0];
    }
    return expr->kind == FZ_EXPR_COLUMN ? expr : NULL;
}

static bool is_operand(const struct fz_expr *expr) {
    return expr->kind == FZ_EXPR_LITERAL || column_root(expr) != NULL;
}

static bool is_null_literal(const struct fz_expr *expr) {
    return expr->kind == FZ_EXPR_LITERAL && expr->u.literal->is_null;
}

static bool is_comparable_type(const struct fz_type *type) {
    switch ((int)type->id) {
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
    case FZ_TYPE_VARIANT:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
    case FZ_TYPE_UNKNOWN:
    case FZ_TYPE_INTERVAL_CAL:
        return false;
    default:
        return true;
    }
}

static bool are_comparable(const struct fz_expr *a, const struct fz_expr *b) {
    if (!is_operand(a) || !is_operand(b)) {
        return false;
    }
    if (is_null_literal(a) || is_null_literal(b)) {
        return true;
    }
    if (fz_type_is_integer(a->type) && fz_type_is_integer(b->type)) {
        return true;
    }
    return a->type->id == b->type->id && a->type->scale == b->type->scale && is_comparable_type(a->type);
}

bool fz_expr_evaluable(const struct fz_expr *expr) {
    switch (expr->kind) {
    case FZ_EXPR_AND:
    case FZ_EXPR_OR:
    case FZ_EXPR_NOT:
        for (size_t i = 0; i < expr->n_args; i++) {
            if (!fz_expr_evaluable(expr->args[i])) {
                return false;
            }
        }
        return true;
    case FZ_EXPR_EQ:
    case FZ_EXPR_NE:
    case FZ_EXPR_LT:
    case FZ_EXPR_LE:
    case FZ_EXPR_GT:
    case FZ_EXPR_GE:
    case FZ_EXPR_NULL_EQ:
        return expr->n_args == 2 && are_comparable(expr->args[0], expr->args[1]);
    case FZ_EXPR_IS_NULL:
        return is_operand(expr->args[0]) || fz_expr_evaluable(expr->args[0]);
    case FZ_EXPR_IN:
        for (size_t i = 1; i < expr->n_args; i++) {
            if (expr->args[i]->kind != FZ_EXPR_LITERAL || !are_comparable(expr->args[0], expr->args[i])) {
                return false;
            }
        }
        return expr->n_args > 1;
    case FZ_EXPR_STARTS_WITH:
        return expr->n_args == 2 && expr->args[1]->kind == FZ_EXPR_LITERAL &&
               are_comparable(expr->args[0], expr->args[1]) &&
               (expr->args[0]->type->id == FZ_TYPE_STRING || is_null_literal(expr->args[0]));
    case FZ_EXPR_LITERAL:
        return expr->u.literal->is_null || expr->type->id == FZ_TYPE_BOOLEAN;
    case FZ_EXPR_COLUMN:
    case FZ_EXPR_FIELD:
        return expr->type->id == FZ_TYPE_BOOLEAN && column_root(expr) != NULL;
    case FZ_EXPR_CAST:
    case FZ_EXPR_CASE:
    case FZ_EXPR_CALL:
    case FZ_EXPR_LAMBDA:
    case FZ_EXPR_LAMBDA_VAR:
    case FZ_EXPR_AGGREGATE:
    case FZ_EXPR_WINDOW:
    case FZ_EXPR_SUBQUERY:
        return false;
    }
    return false;
}

// ---- operands

// A column of the batch, or a literal.
struct operand {
    const struct fz_column *column; // NULL: literal
    const struct fz_value *literal;
};

static const struct fz_column *find_column(const struct fz_expr *expr, const struct fz_batch *batch) {
    if (expr->kind == FZ_EXPR_COLUMN) {
        for (size_t i = 0; i < batch->n_columns; i++) {
            if (batch->columns[i].field_id == expr->u.column.field_id) {
                return &batch->columns[i];
            }
        }
        return NULL;
    }
    const struct fz_column *parent = find_column(expr->args[0], batch);
    for (size_t i = 0; parent != NULL && i < parent->n_children; i++) {
        if (parent->children[i].field_id == expr->u.field.field_id) {
            return &parent->children[i];
        }
    }
    return NULL;
}

static enum fz_code bind_operand(const struct fz_expr *expr, const struct fz_batch *batch, struct operand *out,
                                 struct fz_err *err) {
    *out = (struct operand){0};
    if (expr->kind == FZ_EXPR_LITERAL) {
        out->literal = expr->u.literal;
        return FZ_OK;
    }
    out->column = find_column(expr, batch);
    const struct fz_expr *root = column_root(expr);
    if (out->column == NULL) {
        return fz_fail(err, FZ_BUG, "a condition is evaluated on rows without its column %s",
                       root->u.column.name != NULL ? root->u.column.name : "?");
    }
    if (out->column->type->id != expr->type->id || out->column->type->scale != expr->type->scale) {
        return fz_fail(err, FZ_BUG, "a condition is evaluated on a column %s of another type",
                       root->u.column.name != NULL ? root->u.column.name : "?");
    }
    return FZ_OK;
}

static void null_out(const struct fz_column *column, size_t n, uint8_t *out, uint8_t result) {
    if (column->validity == NULL) {
        return;
    }
    for (size_t i = 0; i < n; i++) {
        out[i] = fz_column_is_valid(column, i) ? out[i] : result;
    }
}

static uint8_t boolean_at(const struct fz_column *column, size_t row) {
    return fz_column_is_valid(column, row) ? ((const uint8_t *)column->data)[row] != 0 : NULL_RESULT;
}

// ---- three-way comparison: 0 less, 1 equal, 2 greater

static uint8_t three_way(int c) {
    return (uint8_t)((c > 0) - (c < 0) + 1);
}

static int compare_doubles(double a, double b) {
    if (isnan(a) || isnan(b)) {
        return (int)isnan(a) - (int)isnan(b);
    }
    return (a > b) - (a < b);
}

static int compare_strings(const char *a, size_t na, const char *b, size_t nb) {
    size_t n = na < nb ? na : nb;
    int c = n > 0 ? memcmp(a, b, n) : 0;
    return c != 0 ? c : (na > nb) - (na < nb);
}

// As fz_value_compare, but -0.0 equals 0.0 and integers of all widths compare.
static int compare_sql(const struct fz_value *a, const struct fz_value *b) {
    if (a->type->id == FZ_TYPE_DOUBLE) {
        return compare_doubles(a->u.f64, b->u.f64);
    }
    if (a->type->id == FZ_TYPE_FLOAT) {
        return compare_doubles((double)a->u.f32, (double)b->u.f32);
    }
    return fz_value_compare(a, b);
}

#define COMPARE_ALL(ctype, literal)                                                                                    \
    do {                                                                                                               \
        const ctype *values = column->data;                                                                            \
        for (size_t i = 0; i < n; i++) {                                                                               \
            out[i] = (uint8_t)((values[i] > (literal)) - (values[i] < (literal)) + 1);                                 \
        }                                                                                                              \
    } while (0)

static void compare_i64(const struct fz_column *column, size_t n, int64_t literal, uint8_t *out) {
    switch (fz_type_width(column->type)) {
    case 1:
        COMPARE_ALL(int8_t, literal);
        break;
    case 2:
        COMPARE_ALL(int16_t, literal);
        break;
    case 4:
        COMPARE_ALL(int32_t, literal);
        break;
    default:
        COMPARE_ALL(int64_t, literal);
        break;
    }
}

static void compare_decimal(const struct fz_column *column, size_t n, __int128 literal, uint8_t *out) {
    if (fz_type_width(column->type) < 16) {
        if (literal == (int64_t)literal) {
            compare_i64(column, n, (int64_t)literal, out);
        } else {
            memset(out, literal > 0 ? 0 : 2, n);
        }
        return;
    }
    const struct fz_i128 *values = column->data;
    for (size_t i = 0; i < n; i++) {
        __int128 v = fz_i128_get(values[i]);
        out[i] = (uint8_t)((v > literal) - (v < literal) + 1);
    }
}

static void compare_uuid(const struct fz_column *column, size_t n, struct fz_i128 literal, uint8_t *out) {
    const struct fz_i128 *values = column->data; // top bit flipped: signed order is the order of the bytes
    literal.upper ^= INT64_MIN;
    __int128 wanted = fz_i128_get(literal);
    for (size_t i = 0; i < n; i++) {
        __int128 v = fz_i128_get(values[i]);
        out[i] = (uint8_t)((v > wanted) - (v < wanted) + 1);
    }
}

static void compare_text(const struct fz_column *column, size_t n, struct fz_str literal, bool equality, uint8_t *out) {
    const struct fz_string *values = column->data;
    for (size_t i = 0; i < n; i++) {
        const struct fz_string *s = &values[i];
        if (!fz_column_is_valid(column, i)) {
            out[i] = 0;
        } else if (equality && s->length != literal.len) {
            out[i] = 0;
        } else {
            out[i] = three_way(compare_strings(fz_string_ptr(s), s->length, literal.ptr, literal.len));
        }
    }
}

// Every row of a column against one literal that is not NULL. `equality`: only "is 1" matters.
static void compare_literal(const struct fz_column *column, size_t n, const struct fz_value *literal, bool equality,
                            uint8_t *out) {
    switch ((int)column->type->id) {
    case FZ_TYPE_BOOLEAN:
        COMPARE_ALL(uint8_t, (uint8_t)literal->u.boolean);
        break;
    case FZ_TYPE_FLOAT: {
        const float *values = column->data;
        double wanted = (double)literal->u.f32;
        for (size_t i = 0; i < n; i++) {
            out[i] = (uint8_t)(compare_doubles((double)values[i], wanted) + 1);
        }
        break;
    }
    case FZ_TYPE_DOUBLE: {
        const double *values = column->data;
        for (size_t i = 0; i < n; i++) {
            out[i] = (uint8_t)(compare_doubles(values[i], literal->u.f64) + 1);
        }
        break;
    }
    case FZ_TYPE_DECIMAL:
        compare_decimal(column, n, fz_i128_get(literal->u.i128), out);
        break;
    case FZ_TYPE_UUID:
        compare_uuid(column, n, literal->u.i128, out);
        break;
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        compare_text(column, n, literal->u.bytes, equality, out);
        break;
    default:
        compare_i64(column, n, literal->u.i64, out);
    }
}

// ---- comparison operators

// Result for less, equal, greater.
static const uint8_t *outcomes(enum fz_expr_kind kind) {
    static const uint8_t eq[3] = {0, 1, 0}, ne[3] = {1, 0, 1}, lt[3] = {1, 0, 0}, le[3] = {1, 1, 0}, gt[3] = {0, 0, 1},
                         ge[3] = {0, 1, 1};
    switch ((int)kind) {
    case FZ_EXPR_NE:
        return ne;
    case FZ_EXPR_LT:
        return lt;
    case FZ_EXPR_LE:
        return le;
    case FZ_EXPR_GT:
        return gt;
    case FZ_EXPR_GE:
        return ge;
    default:
        return eq;
    }
}

static struct fz_value operand_at(const struct operand *operand, size_t row) {
    return operand->column != NULL ? fz_value_at(operand->column, row, NULL) : *operand->literal;
}

// Two columns, or two literals: row by row.
static void compare_rows(enum fz_expr_kind kind, const struct operand *a, const struct operand *b, size_t n,
                         uint8_t *out) {
    const uint8_t *result = outcomes(kind);
    for (size_t i = 0; i < n; i++) {
        struct fz_value x = operand_at(a, i), y = operand_at(b, i);
        if (x.is_null || y.is_null) {
            out[i] = kind == FZ_EXPR_NULL_EQ ? x.is_null && y.is_null : NULL_RESULT;
        } else {
            out[i] = result[three_way(compare_sql(&x, &y))];
        }
    }
}

static void is_null_of(const struct operand *operand, size_t n, uint8_t *out) {
    if (operand->column == NULL) {
        memset(out, operand->literal->is_null, n);
        return;
    }
    bool always = operand->column->type->id == FZ_TYPE_UNKNOWN;
    for (size_t i = 0; i < n; i++) {
        out[i] = always || !fz_column_is_valid(operand->column, i);
    }
}

static enum fz_code evaluate_comparison(const struct fz_expr *expr, const struct fz_batch *batch, uint8_t *out,
                                        struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    enum fz_expr_kind kind = expr->kind;
    size_t n = batch->n_rows;
    struct operand a, b;
    FZ_TRY(bind_operand(expr->args[0], batch, &a, err));
    FZ_TRY(bind_operand(expr->args[1], batch, &b, err));
    if (a.column == NULL && b.column != NULL) {
        struct operand swap = a;
        a = b;
        b = swap;
        kind = fz_expr_mirrored(kind);
    }
    if (a.column == NULL || b.column != NULL) {
        compare_rows(kind, &a, &b, n, out);
    } else if (b.literal->is_null) {
        if (kind == FZ_EXPR_NULL_EQ) {
            is_null_of(&a, n, out);
        } else {
            memset(out, NULL_RESULT, n);
        }
    } else {
        const uint8_t *result = outcomes(kind);
        bool equality = kind == FZ_EXPR_EQ || kind == FZ_EXPR_NE || kind == FZ_EXPR_NULL_EQ;
        compare_literal(a.column, n, b.literal, equality, out);
        for (size_t i = 0; i < n; i++) {
            out[i] = result[out[i]];
        }
        null_out(a.column, n, out, kind == FZ_EXPR_NULL_EQ ? 0 : NULL_RESULT);
    }
out:
    return rc;
}

// ---- IN, STARTS_WITH

static int compare_items(const void *a, const void *b) {
    return compare_sql(*(const struct fz_value *const *)a, *(const struct fz_value *const *)b);
}

static bool search_items(const struct fz_value **items, size_t n_items, const struct fz_value *wanted) {
    size_t low = 0, high = n_items;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        int c = compare_sql(items[mid], wanted);
        if (c == 0) {
            return true;
        }
        low = c < 0 ? mid + 1 : low;
        high = c < 0 ? high : mid;
    }
    return false;
}

// Long lists: sorted once (binders hand them over sorted as a rule), then one binary search a row.
static void in_many(const struct operand *operand, size_t n, const struct fz_value **items, size_t n_items,
                    uint8_t *out) {
    bool sorted = true;
    for (size_t i = 1; i < n_items && sorted; i++) {
        sorted = compare_sql(items[i - 1], items[i]) <= 0;
    }
    if (!sorted) {
        qsort(items, n_items, sizeof *items, compare_items);
    }
    for (size_t i = 0; i < n; i++) {
        struct fz_value v = operand_at(operand, i);
        out[i] = !v.is_null && search_items(items, n_items, &v);
    }
}

static enum fz_code in_few(const struct operand *operand, size_t n, const struct fz_value **items, size_t n_items,
                           uint8_t *out, struct fz_err *err) {
    uint8_t *one = fz_malloc(n);
    if (one == NULL) {
        return fz_fail_nomem(err, n);
    }
    memset(out, 0, n);
    for (size_t k = 0; k < n_items; k++) {
        compare_literal(operand->column, n, items[k], true, one);
        for (size_t i = 0; i < n; i++) {
            out[i] |= one[i] == 1;
        }
    }
    fz_free(one);
    return FZ_OK;
}

static enum fz_code evaluate_in(const struct fz_expr *expr, const struct fz_batch *batch, uint8_t *out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = batch->n_rows, n_items = 0;
    struct operand operand;
    const struct fz_value **items = fz_calloc(expr->n_args, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, expr->n_args * sizeof *items);
    }
    FZ_TRY(bind_operand(expr->args[0], batch, &operand, err));
    for (size_t i = 1; i < expr->n_args; i++) {
        if (!expr->args[i]->u.literal->is_null) {
            items[n_items++] = expr->args[i]->u.literal;
        }
    }
    if (n_items <= FEW_ITEMS && operand.column != NULL) {
        FZ_TRY(in_few(&operand, n, items, n_items, out, err));
    } else {
        in_many(&operand, n, items, n_items, out);
    }
    if (n_items + 1 < expr->n_args) { // a NULL in the list: what is not found is not known
        for (size_t i = 0; i < n; i++) {
            out[i] = out[i] ? 1 : NULL_RESULT;
        }
    }
    if (operand.column != NULL) {
        null_out(operand.column, n, out, NULL_RESULT);
    } else if (operand.literal->is_null) {
        memset(out, NULL_RESULT, n);
    }
out:
    fz_free(items);
    return rc;
}

static enum fz_code evaluate_starts_with(const struct fz_expr *expr, const struct fz_batch *batch, uint8_t *out,
                                         struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct operand text;
    const struct fz_value *prefix = expr->args[1]->u.literal;
    FZ_TRY(bind_operand(expr->args[0], batch, &text, err));
    for (size_t i = 0; i < batch->n_rows; i++) {
        struct fz_value v = operand_at(&text, i);
        if (v.is_null || prefix->is_null) {
            out[i] = NULL_RESULT;
        } else {
            size_t len = prefix->u.bytes.len;
            out[i] = v.u.bytes.len >= len && (len == 0 || memcmp(v.u.bytes.ptr, prefix->u.bytes.ptr, len) == 0);
        }
    }
out:
    return rc;
}

// ---- AND, OR, NOT

static enum fz_code evaluate_connective(const struct fz_expr *expr, const struct fz_batch *batch, uint8_t *out,
                                        struct fz_err *err) {
    static const uint8_t and_of[9] = {0, 0, 0, 0, 1, 2, 0, 2, 2}, or_of[9] = {0, 1, 2, 1, 1, 1, 2, 1, 2};
    const uint8_t *table = expr->kind == FZ_EXPR_AND ? and_of : or_of;
    uint8_t neutral = expr->kind == FZ_EXPR_AND, decided = !neutral;
    size_t n = batch->n_rows;
    if (expr->n_args == 0) {
        memset(out, neutral, n);
        return FZ_OK;
    }
    enum fz_code rc = fz_expr_evaluate(expr->args[0], batch, out, err);
    uint8_t *other = expr->n_args > 1 && rc == FZ_OK ? fz_malloc(n) : NULL;
    if (rc == FZ_OK && expr->n_args > 1 && other == NULL) {
        return fz_fail_nomem(err, n);
    }
    for (size_t k = 1; k < expr->n_args && rc == FZ_OK; k++) {
        size_t n_decided = 0;
        for (size_t i = 0; i < n; i++) {
            n_decided += out[i] == decided;
        }
        if (n_decided == n) {
            break;
        }
        rc = fz_expr_evaluate(expr->args[k], batch, other, err);
        for (size_t i = 0; i < n && rc == FZ_OK; i++) {
            out[i] = table[out[i] * 3 + other[i]];
        }
    }
    fz_free(other);
    return rc;
}

static enum fz_code evaluate_is_null(const struct fz_expr *expr, const struct fz_batch *batch, uint8_t *out,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct operand operand;
    if (is_operand(expr->args[0])) {
        FZ_TRY(bind_operand(expr->args[0], batch, &operand, err));
        is_null_of(&operand, batch->n_rows, out);
        goto out;
    }
    FZ_TRY(fz_expr_evaluate(expr->args[0], batch, out, err));
    for (size_t i = 0; i < batch->n_rows; i++) {
        out[i] = out[i] == NULL_RESULT;
    }
out:
    return rc;
}

enum fz_code fz_expr_evaluate(const struct fz_expr *expr, const struct fz_batch *batch, uint8_t *out,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct operand operand;
    switch (expr->kind) {
    case FZ_EXPR_AND:
    case FZ_EXPR_OR:
        return evaluate_connective(expr, batch, out, err);
    case FZ_EXPR_NOT: {
        static const uint8_t negated[3] = {1, 0, 2};
        FZ_TRY(fz_expr_evaluate(expr->args[0], batch, out, err));
        for (size_t i = 0; i < batch->n_rows; i++) {
            out[i] = negated[out[i]];
        }
        break;
    }
    case FZ_EXPR_EQ:
    case FZ_EXPR_NE:
    case FZ_EXPR_LT:
    case FZ_EXPR_LE:
    case FZ_EXPR_GT:
    case FZ_EXPR_GE:
    case FZ_EXPR_NULL_EQ:
        return evaluate_comparison(expr, batch, out, err);
    case FZ_EXPR_IS_NULL:
        return evaluate_is_null(expr, batch, out, err);
    case FZ_EXPR_IN:
        return evaluate_in(expr, batch, out, err);
    case FZ_EXPR_STARTS_WITH:
        return evaluate_starts_with(expr, batch, out, err);
    case FZ_EXPR_LITERAL:
        memset(out, expr->u.literal->is_null ? NULL_RESULT : expr->u.literal->u.boolean, batch->n_rows);
        break;
    case FZ_EXPR_COLUMN:
    case FZ_EXPR_FIELD:
        FZ_TRY(bind_operand(expr, batch, &operand, err));
        for (size_t i = 0; i < batch->n_rows; i++) {
            out[i] = boolean_at(operand.column, i);
        }
        break;
    case FZ_EXPR_CAST:
    case FZ_EXPR_CASE:
    case FZ_EXPR_CALL:
    case FZ_EXPR_LAMBDA:
    case FZ_EXPR_LAMBDA_VAR:
    case FZ_EXPR_AGGREGATE:
    case FZ_EXPR_WINDOW:
    case FZ_EXPR_SUBQUERY:
        return fz_fail(err, FZ_BUG, "the vector evaluator was given an expression of kind %d", (int)expr->kind);
    }
out:
    return rc;
}
