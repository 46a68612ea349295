// Row group statistics as values of Iceberg types, for pruning. Only what is safe to prune by comes out: the deprecated bounds (order
// unknown but for signed numbers), NaN bounds and INT96 are left out, zeros get the sign that makes the range wider.
#include <math.h>

#include "base/text.h"
#include "data/value.h"
#include "format/parquet/parquet_reader_priv.h"

const struct fz_pqr_node *fz_pqr_find_leaf(const struct fz_pqr_node *node, int32_t field_id) {
    if (node->kind == FZ_PQR_LEAF) {
        return node->field_id == field_id ? node : NULL;
    }
    for (size_t i = 0; i < node->n_children && node->kind == FZ_PQR_STRUCT; i++) {
        const struct fz_pqr_node *found = fz_pqr_find_leaf(&node->children[i], field_id);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

static bool deprecated_order_is_known(const struct fz_pq_schema_element *e, const struct fz_pqr_conv *conv) {
    bool is_unsigned = conv->op == FZ_PQR_OP_U8 || conv->op == FZ_PQR_OP_U16 || conv->op == FZ_PQR_OP_U32_I64 ||
                       conv->op == FZ_PQR_OP_U64_I128;
    return e->type != FZ_PQ_BYTE_ARRAY && e->type != FZ_PQ_FIXED && !is_unsigned;
}

// One bound. Goes through the conversion that values take, in a column of one row.
struct fz_value *fz_pqr_bound(const struct fz_pqr_conv *conv, const struct fz_type *type, struct fz_str bytes,
                              bool is_min, struct fz_arena *arena) {
    uint8_t *copy = fz_arena_alloc(arena, bytes.len + FZ_PQR_SLACK);
    void *data = fz_arena_alloc(arena, 16);
    if (copy == NULL || data == NULL) {
        return NULL;
    }
    memcpy(copy, bytes.ptr, bytes.len);
    struct fz_column column = {.type = type, .data = data, .capacity = 1};
    if (conv->op == FZ_PQR_OP_BOOL) {
        *(uint8_t *)data = copy[0] & 1;
        if (bytes.len != 1) {
            return NULL;
        }
    } else if (conv->src_width > 0 ? bytes.len != conv->src_width || !fz_pqr_convert(conv, copy, 1, data)
                                   : !fz_pqr_convert_bytes(conv, copy, bytes.len, data, 0)) {
        return NULL;
    }
    if (conv->utf8 && !fz_utf8_valid((const char *)copy, bytes.len)) {
        return NULL;
    }
    struct fz_value value = fz_value_at(&column, 0, arena);
    if (type->id == FZ_TYPE_FLOAT) {
        if (isnan(value.u.f32)) {
            return NULL;
        }
        value.u.f32 = value.u.f32 == 0 ? (is_min ? -0.0F : 0.0F) : value.u.f32;
    } else if (type->id == FZ_TYPE_DOUBLE) {
        if (isnan(value.u.f64)) {
            return NULL;
        }
        value.u.f64 = value.u.f64 == 0 ? (is_min ? -0.0 : 0.0) : value.u.f64;
    }
    return (struct fz_value *)fz_arena_memdup(arena, &value, sizeof value); // strings point into `copy` or `data`
}

bool fz_parquet_file_stats(const struct fz_parquet_file *file, size_t row_group, int32_t field_id,
                           const struct fz_type *type, struct fz_arena *arena, struct fz_parquet_stats *out) {
    *out = (struct fz_parquet_stats){.value_count = -1, .null_count = -1};
    const struct fz_pqr_node *leaf = fz_pqr_find_leaf(&file->root, field_id);
    struct fz_pqr_conv conv;
    if (row_group >= file->meta.n_row_groups || leaf == NULL || leaf->max_rep > 0 ||
        !fz_pqr_conv_choose(leaf->element, type, &conv)) {
        return false;
    }
    const struct fz_pq_column_chunk *chunk = &file->meta.row_groups[row_group].columns[leaf->leaf];
    const struct fz_pq_statistics *s = &chunk->statistics;
    if (chunk->encrypted || chunk->type != leaf->element->type) {
        return false;
    }
    out->value_count = chunk->num_values;
    out->null_count = s->null_count <= chunk->num_values ? s->null_count : -1;
    bool usable = s->has_min && s->has_max && conv.op != FZ_PQR_OP_I96 && conv.op != FZ_PQR_OP_NULL;
    if (usable && (!s->deprecated || deprecated_order_is_known(leaf->element, &conv))) {
        out->min = fz_pqr_bound(&conv, type, s->min, true, arena);
        out->max = fz_pqr_bound(&conv, type, s->max, false, arena);
        out->has_min_max = out->min != NULL && out->max != NULL;
    }
    return out->has_min_max || out->null_count >= 0;
}
