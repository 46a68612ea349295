// Filters over ranges. Every sub-expression is given the set of outcomes it can have for rows whose columns lie in the known
// ranges: TRUE possible -> the place may match; only TRUE possible -> all rows match. So one evaluator gives the inclusive
// and the strict answer, and NOT needs no rewriting. What is not understood can be anything.
#include <math.h>

#include "table/prune_priv.h"

enum { MAX_DEPTH = 200 };

bool fz_prune_comparable(const struct fz_type *a, const struct fz_type *b) {
    return a->id == b->id && (a->id != FZ_TYPE_DECIMAL || a->scale == b->scale) && a->n_fields == 0 &&
           a->id != FZ_TYPE_VARIANT && a->id != FZ_TYPE_GEOMETRY && a->id != FZ_TYPE_GEOGRAPHY &&
           a->id != FZ_TYPE_UNKNOWN;
}

static bool is_nan(const struct fz_value *v) {
    return (v->type->id == FZ_TYPE_FLOAT && isnan(v->u.f32)) || (v->type->id == FZ_TYPE_DOUBLE && isnan(v->u.f64));
}

// SQL's order: -0.0 equals 0.0 (the order of bounds tells them apart).
static int compare(const struct fz_value *a, const struct fz_value *b) {
    if (a->type->id == FZ_TYPE_FLOAT && a->u.f32 == 0 && b->u.f32 == 0) {
        return 0;
    }
    if (a->type->id == FZ_TYPE_DOUBLE && a->u.f64 == 0 && b->u.f64 == 0) {
        return 0;
    }
    return fz_value_compare(a, b);
}

static bool has_prefix(const struct fz_value *v, const struct fz_value *prefix) {
    return v->u.bytes.len >= prefix->u.bytes.len &&
           memcmp(v->u.bytes.ptr, prefix->u.bytes.ptr, prefix->u.bytes.len) == 0;
}

// Order of a bound's head against the prefix: 0 when it begins with it.
static int compare_prefix(const struct fz_value *v, const struct fz_value *prefix) {
    size_t n = v->u.bytes.len < prefix->u.bytes.len ? v->u.bytes.len : prefix->u.bytes.len;
    int order = n > 0 ? memcmp(v->u.bytes.ptr, prefix->u.bytes.ptr, n) : 0;
    return order != 0 ? order : v->u.bytes.len < prefix->u.bytes.len ? -1 : 0;
}

static int starts_with(const struct fz_value *prefix, const struct fz_value *min, const struct fz_value *max) {
    bool can = (min == NULL || compare_prefix(min, prefix) <= 0) && (max == NULL || compare_prefix(max, prefix) >= 0);
    bool must = min != NULL && max != NULL && has_prefix(min, prefix) && has_prefix(max, prefix);
    return (can ? FZ_CAN_TRUE : 0) | (must ? 0 : FZ_CAN_FALSE);
}

// Outcomes for values that are not NULL and not NaN.
static int compare_range(enum fz_expr_kind op, const struct fz_value *literal, const struct fz_value *min,
                         const struct fz_value *max) {
    int low = min != NULL ? compare(min, literal) : -1; // unknown: may lie below
    int high = max != NULL ? compare(max, literal) : 1; // unknown: may lie above
    bool can_true = true, can_false = true;
    switch ((int)op) {
    case FZ_EXPR_EQ:
        can_true = low <= 0 && high >= 0;
        can_false = low != 0 || high != 0;
        break;
    case FZ_EXPR_LT:
        can_true = low < 0;
        can_false = high >= 0;
        break;
    case FZ_EXPR_LE:
        can_true = low <= 0;
        can_false = high > 0;
        break;
    case FZ_EXPR_GT:
        can_true = high > 0;
        can_false = low <= 0;
        break;
    case FZ_EXPR_GE:
        can_true = high >= 0;
        can_false = low < 0;
        break;
    default:
        break;
    }
    return (can_true ? FZ_CAN_TRUE : 0) | (can_false ? FZ_CAN_FALSE : 0);
}

// NaN is equal to itself and greater than everything else.
static int compare_nan(enum fz_expr_kind op, const struct fz_value *literal) {
    bool same = is_nan(literal);
    bool holds = op == FZ_EXPR_EQ || op == FZ_EXPR_LE ? same : op == FZ_EXPR_GT ? !same : op == FZ_EXPR_GE;
    return holds ? FZ_CAN_TRUE : FZ_CAN_FALSE;
}

int fz_prune_leaf(const struct fz_leaf *leaf, const struct fz_value_set *set) {
    if (leaf->op == FZ_EXPR_IS_NULL) {
        return (set->may_null ? FZ_CAN_TRUE : 0) | (set->may_value || set->may_nan ? FZ_CAN_FALSE : 0);
    }
    int mask = set->may_null ? FZ_CAN_NULL : 0;
    if (set->may_value) {
        mask |= leaf->op == FZ_EXPR_STARTS_WITH ? starts_with(leaf->literal, set->min, set->max)
                                                : compare_range(leaf->op, leaf->literal, set->min, set->max);
    }
    if (set->may_nan) {
        mask |= compare_nan(leaf->op, leaf->literal);
    }
    return mask;
}

static void set_of_range(const struct fz_type *type, const struct fz_column_range *range, bool nested,
                         struct fz_value_set *set) {
    bool floating = type->id == FZ_TYPE_FLOAT || type->id == FZ_TYPE_DOUBLE;
    set->min =
        range->min != NULL && !range->min->is_null && fz_prune_comparable(range->min->type, type) && !is_nan(range->min)
            ? range->min
            : NULL;
    set->max =
        range->max != NULL && !range->max->is_null && fz_prune_comparable(range->max->type, type) && !is_nan(range->max)
            ? range->max
            : NULL;
    bool counted = range->value_count > 0 && range->null_count >= 0 && !nested;
    set->may_null = nested || range->null_count != 0;
    set->may_nan = floating && range->nan_count != 0;
    set->may_value = true;
    if (counted && range->null_count == range->value_count) {
        set->may_value = set->may_nan = false;
    } else if (counted && range->nan_count > 0 && range->nan_count + range->null_count == range->value_count) {
        set->may_value = false;
    }
}

// The column of a leaf: a column of the table, or a field of a struct column.
static bool column_of(const struct fz_expr *e, int32_t *field_id, bool *nested) {
    *nested = e->kind == FZ_EXPR_FIELD;
    int32_t id = e->kind == FZ_EXPR_COLUMN ? e->u.column.field_id : e->kind == FZ_EXPR_FIELD ? e->u.field.field_id : 0;
    const struct fz_expr *root = e;
    for (int depth = 0; root->kind == FZ_EXPR_FIELD && root->n_args == 1 && depth < MAX_DEPTH; depth++) {
        root = root->args[0];
    }
    *field_id = id;
    return root->kind == FZ_EXPR_COLUMN && root->u.column.relation == 0 && id > 0;
}

static int eval_leaf(const struct fz_prune *p, const struct fz_leaf *leaf, bool nested) {
    int mask = FZ_CAN_ANY;
    if (leaf->op == FZ_EXPR_IS_NULL) {
        mask &= ~FZ_CAN_NULL;
    }
    struct fz_column_range range = {NULL, NULL, -1, -1, -1};
    if (p->range != NULL && p->range(p->range_ctx, leaf->field_id, leaf->type, &range)) {
        struct fz_value_set set = {0};
        set_of_range(leaf->type, &range, nested, &set);
        mask &= fz_prune_leaf(leaf, &set);
    }
    if (p->partition != NULL && !nested) {
        mask &= p->partition(p->partition_ctx, leaf);
    }
    return mask;
}

static int negated(int mask) {
    return (mask & FZ_CAN_NULL) | (mask & FZ_CAN_TRUE ? FZ_CAN_FALSE : 0) | (mask & FZ_CAN_FALSE ? FZ_CAN_TRUE : 0);
}

static int eval_compare(const struct fz_prune *p, const struct fz_expr *e) {
    if (e->n_args != 2) {
        return FZ_CAN_ANY;
    }
    const struct fz_expr *column = e->args[0], *literal = e->args[1];
    enum fz_expr_kind op = e->kind;
    if (column->kind == FZ_EXPR_LITERAL && op != FZ_EXPR_STARTS_WITH) {
        column = e->args[1];
        literal = e->args[0];
        op = fz_expr_mirrored(op);
    }
    if (literal->kind != FZ_EXPR_LITERAL) {
        return FZ_CAN_ANY;
    }
    bool null_safe = op == FZ_EXPR_NULL_EQ, not_equal = op == FZ_EXPR_NE;
    struct fz_leaf leaf = {
        .op = null_safe || not_equal ? FZ_EXPR_EQ : op, .type = column->type, .literal = literal->u.literal};
    bool nested;
    if (literal->u.literal->is_null && !null_safe) {
        return FZ_CAN_NULL; // whatever the column holds
    }
    if (!column_of(column, &leaf.field_id, &nested)) {
        return FZ_CAN_ANY;
    }
    if (literal->u.literal->is_null) {
        leaf.op = FZ_EXPR_IS_NULL;
        return eval_leaf(p, &leaf, nested);
    }
    if (!fz_prune_comparable(column->type, literal->u.literal->type) ||
        (op == FZ_EXPR_STARTS_WITH && column->type->id != FZ_TYPE_STRING && column->type->id != FZ_TYPE_BINARY)) {
        return FZ_CAN_ANY;
    }
    int mask = eval_leaf(p, &leaf, nested);
    if (null_safe && (mask & FZ_CAN_NULL)) {
        mask = (mask & ~FZ_CAN_NULL) | FZ_CAN_FALSE;
    }
    return not_equal ? negated(mask) : mask;
}

static int eval_in(const struct fz_prune *p, const struct fz_expr *e) {
    struct fz_leaf leaf = {.op = FZ_EXPR_EQ, .type = e->n_args > 0 ? e->args[0]->type : NULL};
    bool nested, null_item = false;
    if (e->n_args < 2 || !column_of(e->args[0], &leaf.field_id, &nested)) {
        return FZ_CAN_ANY;
    }
    int any_true = 0, all_false = FZ_CAN_FALSE, nulls = 0;
    for (size_t i = 1; i < e->n_args; i++) {
        const struct fz_expr *item = e->args[i];
        if (item->kind != FZ_EXPR_LITERAL) {
            return FZ_CAN_ANY;
        }
        if (item->u.literal->is_null) {
            null_item = true;
            continue;
        }
        if (!fz_prune_comparable(leaf.type, item->u.literal->type)) {
            return FZ_CAN_ANY;
        }
        leaf.literal = item->u.literal;
        int mask = eval_leaf(p, &leaf, nested);
        any_true |= mask & FZ_CAN_TRUE;
        nulls |= mask & FZ_CAN_NULL;
        if (!(mask & FZ_CAN_FALSE)) {
            all_false = 0; // this item alone makes every non-NULL row TRUE
        }
        if (any_true && nulls && i + 1 < e->n_args && i > 64) {
            return FZ_CAN_ANY; // long list, nothing left to learn
        }
    }
    if (null_item) { // what is not found is NULL, not FALSE
        nulls |= all_false ? FZ_CAN_NULL : 0;
        all_false = 0;
    }
    return any_true | all_false | nulls;
}

static int eval(const struct fz_prune *p, const struct fz_expr *e, int depth);

// Kleene's AND and OR over sets of outcomes.
static int eval_and(const struct fz_prune *p, const struct fz_expr *e, bool is_or, int depth) {
    int strong = is_or ? FZ_CAN_TRUE : FZ_CAN_FALSE, weak = is_or ? FZ_CAN_FALSE : FZ_CAN_TRUE;
    int mask = weak;
    for (size_t i = 0; i < e->n_args; i++) {
        int next = eval(p, e->args[i], depth + 1);
        int out = (mask | next) & strong;
        out |= mask & next & weak;
        if (((mask & FZ_CAN_NULL) && (next & (FZ_CAN_NULL | weak))) ||
            ((next & FZ_CAN_NULL) && (mask & (FZ_CAN_NULL | weak)))) {
            out |= FZ_CAN_NULL;
        }
        mask = out;
        if (mask == strong) {
            break;
        }
    }
    return mask;
}

static int eval(const struct fz_prune *p, const struct fz_expr *e, int depth) {
    if (depth > MAX_DEPTH) {
        return FZ_CAN_ANY;
    }
    switch ((int)e->kind) {
    case FZ_EXPR_LITERAL:
        if (e->u.literal->is_null) {
            return FZ_CAN_NULL;
        }
        return e->u.literal->type->id != FZ_TYPE_BOOLEAN ? FZ_CAN_ANY
               : e->u.literal->u.boolean                 ? FZ_CAN_TRUE
                                                         : FZ_CAN_FALSE;
    case FZ_EXPR_AND:
        return eval_and(p, e, false, depth);
    case FZ_EXPR_OR:
        return eval_and(p, e, true, depth);
    case FZ_EXPR_NOT:
        return e->n_args == 1 ? negated(eval(p, e->args[0], depth + 1)) : FZ_CAN_ANY;
    case FZ_EXPR_EQ:
    case FZ_EXPR_NE:
    case FZ_EXPR_LT:
    case FZ_EXPR_LE:
    case FZ_EXPR_GT:
    case FZ_EXPR_GE:
    case FZ_EXPR_NULL_EQ:
    case FZ_EXPR_STARTS_WITH:
        return eval_compare(p, e);
    case FZ_EXPR_IN:
        return eval_in(p, e);
    case FZ_EXPR_IS_NULL: {
        struct fz_leaf leaf = {.op = FZ_EXPR_IS_NULL};
        bool nested;
        if (e->n_args != 1 || !column_of(e->args[0], &leaf.field_id, &nested)) {
            return FZ_CAN_TRUE | FZ_CAN_FALSE;
        }
        leaf.type = e->args[0]->type;
        return eval_leaf(p, &leaf, nested);
    }
    case FZ_EXPR_COLUMN: { // a boolean column as condition
        const struct fz_value yes = {.type = e->type, .u.boolean = true};
        struct fz_leaf leaf = {.op = FZ_EXPR_EQ, .type = e->type, .literal = &yes};
        bool nested;
        return e->type->id == FZ_TYPE_BOOLEAN && column_of(e, &leaf.field_id, &nested) ? eval_leaf(p, &leaf, nested)
                                                                                       : FZ_CAN_ANY;
    }
    default:
        return FZ_CAN_ANY;
    }
}

int fz_prune_eval(const struct fz_prune *p, const struct fz_expr *filter) {
    return filter != NULL ? eval(p, filter, 0) : FZ_CAN_TRUE;
}

bool fz_prune_may_match(const struct fz_expr *filter, fz_range_fn range, void *ctx) {
    const struct fz_prune p = {.range = range, .range_ctx = ctx};
    return (fz_prune_eval(&p, filter) & FZ_CAN_TRUE) != 0;
}

bool fz_prune_all_match(const struct fz_expr *filter, fz_range_fn range, void *ctx) {
    const struct fz_prune p = {.range = range, .range_ctx = ctx};
    return fz_prune_eval(&p, filter) == FZ_CAN_TRUE;
}
