// The evaluator behind prune.h: which of TRUE, FALSE and NULL a filter can still be, given what is known of the columns.
#ifndef FZ_TABLE_PRUNE_PRIV_H
#define FZ_TABLE_PRUNE_PRIV_H

#include "table/prune.h"

enum { FZ_CAN_TRUE = 1, FZ_CAN_FALSE = 2, FZ_CAN_NULL = 4, FZ_CAN_ANY = 7 };

// What is known of a set of values: those that are neither NULL nor NaN lie in [min, max].
struct fz_value_set {
    const struct fz_value *min, *max; // NULL: no bound on this side
    bool may_value, may_null, may_nan;
};

// One comparison of a column with a literal that is neither NULL nor of another type.
struct fz_leaf {
    enum fz_expr_kind op; // EQ LT LE GT GE STARTS_WITH
    int32_t field_id;
    const struct fz_type *type;
    const struct fz_value *literal; // NULL for IS NULL (op FZ_EXPR_IS_NULL)
};

struct fz_prune {
    fz_range_fn range; // NULL: none
    void *range_ctx;
    // Partition knowledge: which outcomes a leaf can have by the partition fields over its column. NULL: none.
    int (*partition)(void *ctx, const struct fz_leaf *leaf);
    void *partition_ctx;
};

int fz_prune_eval(const struct fz_prune *p, const struct fz_expr *filter); // mask of FZ_CAN_*
int fz_prune_leaf(const struct fz_leaf *leaf, const struct fz_value_set *set);
// Same type id, and the parameters that a comparison by value needs.
bool fz_prune_comparable(const struct fz_type *a, const struct fz_type *b);

#endif
