// Pruning of manifests by their partition summaries and of files by partition tuple and column bounds. A predicate on a
// column is carried through the partition transform: all but bucket keep the order, so comparisons carry over; bucket keeps
// equality only.
#include "table/prune_priv.h"

struct tuple_range { // one partition field
    struct fz_value_set set;
    struct fz_value min, max;
};

struct place {
    struct fz_arena arena;
    const struct fz_metadata *metadata;
    const struct fz_partition_spec *spec;
    struct tuple_range *ranges; // one per spec field
    const struct fz_data_file *file;
    struct fz_value bound[2]; // of the last range asked for
};

static bool keeps_order(enum fz_transform_kind kind) {
    return kind == FZ_TRANSFORM_TRUNCATE || kind == FZ_TRANSFORM_YEAR || kind == FZ_TRANSFORM_MONTH ||
           kind == FZ_TRANSFORM_DAY || kind == FZ_TRANSFORM_HOUR;
}

// truncate[W] of a prefix of at most W characters is the prefix; a longer one is cut, and only TRUE can be excluded then.
static int starts_with_mask(const struct fz_leaf *leaf, const struct fz_value *literal,
                            const struct fz_value_set *set) {
    struct fz_leaf through = *leaf;
    through.literal = literal;
    bool cut = literal->u.bytes.len < leaf->literal->u.bytes.len;
    return fz_prune_leaf(&through, set) | (cut ? FZ_CAN_FALSE : 0);
}

// Source < literal implies transform(source) <= transform(literal), and transform(source) < transform(literal) implies
// source < literal; so TRUE is judged with the loose comparison and FALSE with the strict one.
static int ordered_mask(const struct fz_leaf *leaf, const struct fz_value *literal, const struct fz_value_set *set) {
    struct fz_leaf loose = *leaf, strict = *leaf;
    loose.literal = strict.literal = literal;
    if (leaf->op == FZ_EXPR_EQ) {
        return fz_prune_leaf(&loose, set) | FZ_CAN_FALSE;
    }
    bool below = leaf->op == FZ_EXPR_LT || leaf->op == FZ_EXPR_LE;
    loose.op = below ? FZ_EXPR_LE : FZ_EXPR_GE;
    strict.op = below ? FZ_EXPR_LT : FZ_EXPR_GT;
    return (fz_prune_leaf(&loose, set) & ~FZ_CAN_FALSE) | (fz_prune_leaf(&strict, set) & FZ_CAN_FALSE);
}

// truncate[W] of an integer within W of the lowest one wraps around (the reference does it in int and long arithmetic), so the
// highest partition values may hold the lowest integers: no order there.
static bool may_wrap(const struct fz_transform *transform, const struct fz_value *v) {
    if (transform->kind != FZ_TRANSFORM_TRUNCATE || v == NULL || !fz_type_is_integer(v->type)) {
        return false;
    }
    return v->u.i64 > (v->type->id == FZ_TYPE_INT ? INT32_MAX : INT64_MAX) - (int64_t)transform->param;
}

static int field_mask(const struct fz_leaf *leaf, const struct fz_partition_field *field,
                      const struct fz_value_set *set) {
    if (leaf->op == FZ_EXPR_IS_NULL) {
        return fz_prune_leaf(leaf, set); // these transforms give NULL for NULL and only for NULL
    }
    if (field->transform.kind == FZ_TRANSFORM_IDENTITY) {
        return fz_prune_leaf(leaf, set);
    }
    struct fz_value literal;
    struct fz_err ignored = FZ_ERR_INIT;
    if (fz_transform_apply(&field->transform, leaf->literal, &literal, &ignored) != FZ_OK || literal.is_null) {
        return FZ_CAN_ANY;
    }
    if (keeps_order(field->transform.kind) && field->transform.kind != FZ_TRANSFORM_TRUNCATE && literal.u.i64 < 0) {
        return FZ_CAN_ANY; // early releases of Java were off by one before 1970
    }
    if ((set->min != NULL && !fz_prune_comparable(set->min->type, literal.type)) ||
        (set->max != NULL && !fz_prune_comparable(set->max->type, literal.type))) {
        return FZ_CAN_ANY;
    }
    if (may_wrap(&field->transform, &literal) || may_wrap(&field->transform, set->max)) {
        return FZ_CAN_ANY;
    }
    if (leaf->op == FZ_EXPR_STARTS_WITH) {
        return field->transform.kind == FZ_TRANSFORM_TRUNCATE ? starts_with_mask(leaf, &literal, set) : FZ_CAN_ANY;
    }
    if (field->transform.kind == FZ_TRANSFORM_BUCKET && leaf->op != FZ_EXPR_EQ) {
        return FZ_CAN_ANY;
    }
    return ordered_mask(leaf, &literal, set);
}

static int partition_mask(void *ctx, const struct fz_leaf *leaf) {
    const struct place *place = ctx;
    int mask = FZ_CAN_ANY;
    for (size_t i = 0; i < place->spec->n_fields; i++) {
        const struct fz_partition_field *field = &place->spec->fields[i];
        enum fz_transform_kind kind = field->transform.kind;
        bool usable = kind == FZ_TRANSFORM_IDENTITY || kind == FZ_TRANSFORM_BUCKET || keeps_order(kind);
        if (field->source_id != leaf->field_id || !usable) {
            continue;
        }
        const struct fz_value_set *set = &place->ranges[i].set;
        if (kind == FZ_TRANSFORM_IDENTITY && leaf->literal != NULL &&
            ((set->min != NULL && !fz_prune_comparable(set->min->type, leaf->literal->type)) ||
             (set->max != NULL && !fz_prune_comparable(set->max->type, leaf->literal->type)))) {
            continue;
        }
        mask &= field_mask(leaf, field, set);
    }
    return mask;
}

static bool is_nan_value(const struct fz_value *v) {
    return (v->type->id == FZ_TYPE_FLOAT && v->u.f32 != v->u.f32) ||
           (v->type->id == FZ_TYPE_DOUBLE && v->u.f64 != v->u.f64);
}

static void take_summary(struct place *place, const struct fz_type *type, const struct fz_field_summary *s,
                         struct tuple_range *out) {
    struct fz_err ignored = FZ_ERR_INIT;
    bool floating = type->id == FZ_TYPE_FLOAT || type->id == FZ_TYPE_DOUBLE;
    out->set = (struct fz_value_set){
        .may_null = s->contains_null, .may_nan = floating && s->contains_nan != 0, .may_value = true};
    if (!s->has_bounds) { // then there are only NULLs and NaNs, if the writer is to be believed; some leave bounds out
        return;
    }
    // Releases of Java order uuids in different ways, so bounds of uuids made by comparing say nothing.
    if (type->id == FZ_TYPE_UUID || type->id == FZ_TYPE_UNKNOWN) {
        return;
    }
    if (fz_value_from_bound(&place->arena, type, s->lower_bound, &out->min, &ignored) != FZ_OK ||
        fz_value_from_bound(&place->arena, type, s->upper_bound, &out->max, &ignored) != FZ_OK ||
        is_nan_value(&out->min) || is_nan_value(&out->max)) {
        return;
    }
    out->set.min = &out->min;
    out->set.max = &out->max;
}

bool fz_prune_manifest(const struct fz_expr *filter, const struct fz_metadata *metadata,
                       const struct fz_manifest_file *manifest) {
    struct place place = {.metadata = metadata, .spec = fz_metadata_spec(metadata, manifest->partition_spec_id)};
    struct fz_err ignored = FZ_ERR_INIT;
    const struct fz_type *type;
    bool may = true;
    if (filter == NULL || place.spec == NULL || place.spec->n_fields == 0 ||
        manifest->n_partitions != place.spec->n_fields) {
        return true;
    }
    place.ranges = fz_arena_array(&place.arena, place.spec->n_fields, sizeof *place.ranges);
    if (place.ranges != NULL &&
        fz_metadata_spec_type(&place.arena, metadata, manifest->partition_spec_id, &type, &ignored) == FZ_OK) {
        for (size_t i = 0; i < place.spec->n_fields; i++) {
            take_summary(&place, type->fields[i].type, &manifest->partitions[i], &place.ranges[i]);
        }
        const struct fz_prune p = {.partition = partition_mask, .partition_ctx = &place};
        may = (fz_prune_eval(&p, filter) & FZ_CAN_TRUE) != 0;
    }
    fz_arena_dispose(&place.arena);
    return may;
}

static int64_t count_of(const struct fz_id_count *items, size_t n, int32_t id) {
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (items[mid].id < id) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    return low < n && items[low].id == id ? items[low].count : -1;
}

static const struct fz_value *bound_of(struct place *place, const struct fz_id_bytes *items, size_t n, int32_t id,
                                       const struct fz_type *type, struct fz_value *out) {
    struct fz_err ignored = FZ_ERR_INIT;
    size_t low = 0, high = n;
    while (low < high) {
        size_t mid = low + (high - low) / 2;
        if (items[mid].id < id) {
            low = mid + 1;
        } else {
            high = mid;
        }
    }
    bool found = low < n && items[low].id == id &&
                 fz_value_from_bound(&place->arena, type, items[low].bytes, out, &ignored) == FZ_OK;
    return found ? out : NULL;
}

static bool file_range(void *ctx, int32_t field_id, const struct fz_type *type, struct fz_column_range *out) {
    struct place *place = ctx;
    const struct fz_data_file *f = place->file;
    if (field_id >= FZ_FIRST_RESERVED_ID) {
        return false;
    }
    out->value_count = count_of(f->value_counts, f->n_value_counts, field_id);
    out->null_count = count_of(f->null_value_counts, f->n_null_value_counts, field_id);
    out->nan_count = count_of(f->nan_value_counts, f->n_nan_value_counts, field_id);
    out->min = bound_of(place, f->lower_bounds, f->n_lower_bounds, field_id, type, &place->bound[0]);
    out->max = bound_of(place, f->upper_bounds, f->n_upper_bounds, field_id, type, &place->bound[1]);
    return true;
}

static int eval_file(const struct fz_expr *filter, const struct fz_metadata *metadata,
                     const struct fz_data_file *file) {
    struct place place = {.metadata = metadata, .spec = fz_metadata_spec(metadata, file->spec_id), .file = file};
    struct fz_prune p = {.range = file_range, .range_ctx = &place};
    size_t n = place.spec != NULL ? place.spec->n_fields : 0;
    if (n > 0 && !file->partition.is_null && file->partition.type != NULL && file->partition.u.nested.n == n) {
        place.ranges = fz_arena_array(&place.arena, n, sizeof *place.ranges);
        for (size_t i = 0; place.ranges != NULL && i < n; i++) {
            const struct fz_value *v = &file->partition.u.nested.items[i];
            struct fz_value_set *set = &place.ranges[i].set;
            bool nan = !v->is_null && is_nan_value(v);
            *set = (struct fz_value_set){.may_null = v->is_null, .may_nan = nan, .may_value = !v->is_null && !nan};
            set->min = set->max = set->may_value && v->type->id != FZ_TYPE_UNKNOWN ? v : NULL;
        }
        p.partition = place.ranges != NULL ? partition_mask : NULL;
        p.partition_ctx = &place;
    }
    int mask = fz_prune_eval(&p, filter);
    fz_arena_dispose(&place.arena);
    return mask;
}

bool fz_prune_file(const struct fz_expr *filter, const struct fz_metadata *metadata, const struct fz_data_file *file) {
    return filter == NULL || (eval_file(filter, metadata, file) & FZ_CAN_TRUE) != 0;
}

bool fz_prune_file_all(const struct fz_expr *filter, const struct fz_metadata *metadata,
                       const struct fz_data_file *file) {
    return filter == NULL || eval_file(filter, metadata, file) == FZ_CAN_TRUE;
}
