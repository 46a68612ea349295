// Variants: a group of metadata, value and, when shredded, typed_value. The group is read like any struct into a column of its own
// and each row is put together to one byte string (data/variant.h). What is not shredded keeps its bytes; what is shredded is built
// again as the Parquet format says ("Variant Shredding").
#include "data/variant.h"
#include "format/parquet/parquet_reader_priv.h"

enum { MAX_LEVELS = FZ_PQR_MAX_DEPTH + 1 };

struct level { // scratch of one depth
    struct fz_buf values;
    struct fz_variant_member *members;
    size_t cap;
};
struct fz_pqr_variant {
    struct fz_column group; // as the file has it
    struct fz_buf all; // the batch's variants
    size_t *ends, cap_ends;
    struct level levels[MAX_LEVELS];
};

struct builder {
    struct fz_pqr_variant *state;
    const struct fz_pqr_leaf *leaf; // for messages
    struct fz_str metadata;
    struct fz_err *err;
};

static const struct fz_pqr_node *child_named(const struct fz_pqr_node *node, const struct fz_column *column,
                                             const char *name, const struct fz_column **out) {
    for (size_t i = 0; i < node->n_children; i++) {
        if (strcmp(node->children[i].name, name) == 0) {
            *out = &column->children[i];
            return &node->children[i];
        }
    }
    *out = NULL;
    return NULL;
}

static struct fz_str bytes_at(const struct fz_column *column, size_t row) {
    const struct fz_string *s = (const struct fz_string *)column->data + row;
    return (struct fz_str){fz_string_ptr(s), s->length};
}

bool fz_pqr_is_variant(const struct fz_pqr_node *node) {
    if (node->kind != FZ_PQR_STRUCT) {
        return false;
    }
    const struct fz_pqr_node *metadata = fz_pqr_child_by_name(node, "metadata"),
                             *value = fz_pqr_child_by_name(node, "value"),
                             *typed = fz_pqr_child_by_name(node, "typed_value");
    return metadata != NULL && metadata->kind == FZ_PQR_LEAF && metadata->type->id == FZ_TYPE_BINARY &&
           (value != NULL || typed != NULL) &&
           (value == NULL || (value->kind == FZ_PQR_LEAF && value->type->id == FZ_TYPE_BINARY));
}

enum fz_code fz_pqr_variant_new(const struct fz_pqr_node *node, struct fz_pqr_variant **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_NEW(*out, err);
    rc = fz_column_init(&(*out)->group, node->type, FZ_BATCH_ROWS, err);
out:
    return rc;
}

void fz_pqr_variant_free(struct fz_pqr_variant *v) {
    if (v == NULL) {
        return;
    }
    fz_column_dispose(&v->group);
    fz_buf_dispose(&v->all);
    fz_free(v->ends);
    for (size_t i = 0; i < MAX_LEVELS; i++) {
        fz_buf_dispose(&v->levels[i].values);
        fz_free(v->levels[i].members);
    }
    fz_free(v);
}

struct fz_column *fz_pqr_variant_group(struct fz_pqr_variant *v) {
    return &v->group;
}

// ---- typed values

static enum fz_code put_integer(struct builder *b, const struct fz_pqr_node *node, int32_t v, struct fz_buf *out) {
    const struct fz_pq_schema_element *e = node->element;
    int bits = e->logical == FZ_PQ_LOGICAL_INTEGER                                       ? e->logical_bit_width
               : e->logical != FZ_PQ_LOGICAL_NONE                                        ? 32
               : e->converted == FZ_PQ_CONV_INT_8                                        ? 8
               : e->converted == FZ_PQ_CONV_INT_16                                       ? 16
               : e->converted <= FZ_PQ_CONV_UINT_64 && e->converted >= FZ_PQ_CONV_UINT_8 ? 0
                                                                                         : 32;
    if (bits == 0 || (e->logical == FZ_PQ_LOGICAL_INTEGER && !e->logical_signed)) {
        return fz_pqr_corrupt(b->leaf, b->err, "a variant is shredded as an unsigned number");
    }
    int8_t byte = (int8_t)v;
    int16_t small = (int16_t)v;
    if (bits == 8 && byte == v) {
        fz_variant_put_primitive(out, FZ_VARIANT_INT8, &byte, 1);
    } else if (bits <= 16 && small == v) {
        fz_variant_put_primitive(out, FZ_VARIANT_INT16, &small, 2);
    } else {
        fz_variant_put_primitive(out, FZ_VARIANT_INT32, &v, 4);
    }
    return FZ_OK;
}

static __int128 decimal_at(const struct fz_column *c, size_t row) {
    switch (fz_type_width(c->type)) {
    case 2:
        return ((const int16_t *)c->data)[row];
    case 4:
        return ((const int32_t *)c->data)[row];
    case 8:
        return ((const int64_t *)c->data)[row];
    default:
        return fz_i128_get(((const struct fz_i128 *)c->data)[row]);
    }
}

static void put_uuid(struct fz_buf *out, struct fz_i128 v) {
    uint8_t bytes[16];
    uint64_t high = (uint64_t)v.upper ^ UINT64_C(0x8000000000000000);
    for (size_t i = 0; i < 8; i++) {
        bytes[i] = (uint8_t)(high >> (56 - 8 * i));
        bytes[8 + i] = (uint8_t)(v.lower >> (56 - 8 * i));
    }
    fz_variant_put_primitive(out, FZ_VARIANT_UUID, bytes, sizeof bytes);
}

static enum fz_code put_leaf(struct builder *b, const struct fz_pqr_node *node, const struct fz_column *c, size_t row,
                             struct fz_buf *out) {
    static const enum fz_variant_primitive timed[] = {
        [FZ_TYPE_TIME] = FZ_VARIANT_TIME,
        [FZ_TYPE_TIMESTAMP] = FZ_VARIANT_TIMESTAMP,
        [FZ_TYPE_TIMESTAMPTZ] = FZ_VARIANT_TIMESTAMPTZ,
        [FZ_TYPE_TIMESTAMP_NS] = FZ_VARIANT_TIMESTAMP_NS,
        [FZ_TYPE_TIMESTAMPTZ_NS] = FZ_VARIANT_TIMESTAMPTZ_NS,
    };
    int physical = node->element->type;
    switch ((int)c->type->id) {
    case FZ_TYPE_BOOLEAN:
        fz_variant_put_primitive(out, ((const uint8_t *)c->data)[row] != 0 ? FZ_VARIANT_TRUE : FZ_VARIANT_FALSE, NULL,
                                 0);
        return FZ_OK;
    case FZ_TYPE_INT:
        return put_integer(b, node, ((const int32_t *)c->data)[row], out);
    case FZ_TYPE_LONG:
        if (physical == FZ_PQ_INT64) {
            fz_variant_put_primitive(out, FZ_VARIANT_INT64, (const int64_t *)c->data + row, 8);
            return FZ_OK;
        }
        break;
    case FZ_TYPE_FLOAT:
        if (physical == FZ_PQ_FLOAT) {
            fz_variant_put_primitive(out, FZ_VARIANT_FLOAT, (const float *)c->data + row, 4);
            return FZ_OK;
        }
        break;
    case FZ_TYPE_DOUBLE:
        fz_variant_put_primitive(out, FZ_VARIANT_DOUBLE, (const double *)c->data + row, 8);
        return FZ_OK;
    case FZ_TYPE_DECIMAL:
        if (fz_type_width(c->type) <= 8 || physical == FZ_PQ_BYTE_ARRAY || physical == FZ_PQ_FIXED) {
            fz_variant_put_decimal(out,
                                   physical == FZ_PQ_INT32   ? FZ_VARIANT_DECIMAL4
                                   : physical == FZ_PQ_INT64 ? FZ_VARIANT_DECIMAL8
                                                             : FZ_VARIANT_DECIMAL16,
                                   c->type->scale, decimal_at(c, row));
            return FZ_OK;
        }
        break;
    case FZ_TYPE_DATE:
        fz_variant_put_primitive(out, FZ_VARIANT_DATE, (const int32_t *)c->data + row, 4);
        return FZ_OK;
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        fz_variant_put_primitive(out, timed[c->type->id], (const int64_t *)c->data + row, 8);
        return FZ_OK;
    case FZ_TYPE_STRING:
        fz_variant_put_text(out, bytes_at(c, row));
        return FZ_OK;
    case FZ_TYPE_BINARY: {
        struct fz_str bytes = bytes_at(c, row);
        fz_variant_put_primitive(out, FZ_VARIANT_BINARY, bytes.ptr, bytes.len);
        return FZ_OK;
    }
    case FZ_TYPE_UUID:
        put_uuid(out, ((const struct fz_i128 *)c->data)[row]);
        return FZ_OK;
    default:
        break;
    }
    return fz_pqr_corrupt(b->leaf, b->err, "a variant is shredded as a type that variants do not have");
}

// ---- groups of value and typed_value

static enum fz_code put_group(struct builder *b, const struct fz_pqr_node *node, const struct fz_column *column,
                              size_t row, size_t depth, struct fz_buf *out, bool *missing);

static enum fz_code grow_members(struct builder *b, struct level *level, size_t n) {
    return fz_grow((void **)&level->members, &level->cap, n, sizeof *level->members, b->err);
}

// Fields of a shredded object, and with them those that were left in `rest` (NULL: none).
static enum fz_code put_object(struct builder *b, const struct fz_pqr_node *node, const struct fz_column *column,
                               size_t row, size_t depth, const struct fz_str *rest, struct fz_buf *out) {
    enum fz_code rc = FZ_OK;
    struct level *level = &b->state->levels[depth];
    size_t n = 0, n_rest = 0;
    fz_buf_clear(&level->values);
    if (rest != NULL && !fz_variant_members(b->metadata, *rest, NULL, &n_rest)) {
        return fz_pqr_corrupt(b->leaf, b->err, "a shredded variant has both an object and a value that is none");
    }
    FZ_TRY(grow_members(b, level, node->n_children + n_rest + 1));
    for (size_t i = 0; i < node->n_children; i++) {
        bool missing = false;
        struct fz_variant_member m = {.name = fz_str_of(node->children[i].name), .start = level->values.len};
        FZ_TRY(put_group(b, &node->children[i], &column->children[i], row, depth + 1, &level->values, &missing));
        if (missing) {
            continue;
        }
        m.end = level->values.len;
        if (!fz_variant_name_id(b->metadata, m.name, &m.id)) {
            return fz_pqr_corrupt(b->leaf, b->err, "a shredded variant has a field that its metadata does not name");
        }
        level->members[n++] = m;
    }
    if (rest != NULL) {
        size_t shredded = n, base = level->values.len;
        if (!fz_variant_members(b->metadata, *rest, level->members + n, &n_rest)) {
            return fz_pqr_corrupt(b->leaf, b->err, "a variant's value is damaged");
        }
        fz_buf_append(&level->values, rest->ptr, rest->len);
        for (size_t i = 0; i < n_rest; i++, n++) {
            level->members[n].start += base;
            level->members[n].end += base;
            for (size_t k = 0; k < shredded; k++) {
                if (level->members[k].id == level->members[n].id) {
                    return fz_pqr_corrupt(b->leaf, b->err, "a shredded variant has a field twice");
                }
            }
        }
    }
    FZ_TRY(fz_buf_check(&level->values, b->err));
    fz_variant_put_object(out, level->members, n, level->values.ptr);
out:
    return rc;
}

static enum fz_code put_array(struct builder *b, const struct fz_pqr_node *node, const struct fz_column *column,
                              size_t row, size_t depth, struct fz_buf *out) {
    enum fz_code rc = FZ_OK;
    struct level *level = &b->state->levels[depth];
    struct fz_list_span span = ((const struct fz_list_span *)column->data)[row];
    fz_buf_clear(&level->values);
    FZ_TRY(grow_members(b, level, (size_t)span.length + 1));
    for (size_t i = 0; i < span.length; i++) {
        bool missing = false;
        struct fz_variant_member m = {.start = level->values.len};
        FZ_TRY(put_group(b, &node->children[0], &column->children[0], (size_t)span.offset + i, depth + 1,
                         &level->values, &missing));
        if (missing) {
            fz_variant_put_primitive(&level->values, FZ_VARIANT_NULL, NULL, 0);
        }
        m.end = level->values.len;
        level->members[i] = m;
    }
    FZ_TRY(fz_buf_check(&level->values, b->err));
    fz_variant_put_array(out, level->members, (size_t)span.length, level->values.ptr);
out:
    return rc;
}

static enum fz_code put_group(struct builder *b, const struct fz_pqr_node *node, const struct fz_column *column,
                              size_t row, size_t depth, struct fz_buf *out, bool *missing) {
    const struct fz_column *values, *typed;
    const struct fz_pqr_node *value_node = child_named(node, column, "value", &values),
                             *typed_node = child_named(node, column, "typed_value", &typed);
    if (node->kind != FZ_PQR_STRUCT || depth >= MAX_LEVELS || (value_node == NULL && typed_node == NULL) ||
        (value_node != NULL && (value_node->kind != FZ_PQR_LEAF || value_node->type->id != FZ_TYPE_BINARY))) {
        return fz_pqr_corrupt(b->leaf, b->err, "a shredded variant has a group without value and typed_value");
    }
    bool has_value = value_node != NULL && fz_column_is_valid(values, row),
         has_typed = typed_node != NULL && fz_column_is_valid(typed, row);
    struct fz_str value = has_value ? bytes_at(values, row) : (struct fz_str){0};
    *missing = !has_value && !has_typed;
    if (!has_typed) {
        fz_buf_append(out, value.ptr, value.len);
        return FZ_OK;
    }
    if (typed_node->kind == FZ_PQR_STRUCT) {
        return put_object(b, typed_node, typed, row, depth, has_value ? &value : NULL, out);
    }
    if (has_value) {
        return fz_pqr_corrupt(b->leaf, b->err, "a shredded variant has both a value and a typed value");
    }
    if (typed_node->kind == FZ_PQR_LIST) {
        return put_array(b, typed_node, typed, row, depth, out);
    }
    return typed_node->kind == FZ_PQR_LEAF
               ? put_leaf(b, typed_node, typed, row, out)
               : fz_pqr_corrupt(b->leaf, b->err, "a variant is shredded as a type that variants do not have");
}

enum fz_code fz_pqr_variant_build(struct fz_pqr_target *t, struct fz_column *column, size_t slots, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pqr_variant *v = t->variant;
    struct builder b = {.state = v, .leaf = t->leaf, .err = err};
    const struct fz_column *metadata;
    struct fz_string *out;
    child_named(t->node, &v->group, "metadata", &metadata);
    FZ_TRY(fz_column_reserve(column, slots, err));
    FZ_TRY(fz_grow((void **)&v->ends, &v->cap_ends, slots + 1, sizeof *v->ends, err));
    fz_buf_clear(&v->all);
    for (size_t i = 0; i < slots; i++) {
        size_t start = v->all.len;
        bool missing = false;
        if (fz_column_is_valid(&v->group, i)) {
            if (!fz_column_is_valid(metadata, i)) {
                rc = fz_pqr_corrupt(t->leaf, err, "a variant has no metadata");
                goto out;
            }
            b.metadata = bytes_at(metadata, i);
            fz_buf_append(&v->all, b.metadata.ptr, b.metadata.len);
            FZ_TRY(put_group(&b, t->node, &v->group, i, 0, &v->all, &missing));
            if (missing) {
                fz_variant_put_primitive(&v->all, FZ_VARIANT_NULL, NULL, 0);
            }
            FZ_TRY(fz_buf_check(&v->all, err));
            FZ_TRY(fz_variant_check((struct fz_str){v->all.ptr + start, v->all.len - start}, err));
            if (v->all.len - start > UINT32_MAX) {
                rc = fz_fail(err, FZ_LIMIT, "%s: column %s: a variant is larger than 4 GB", t->leaf->file->location,
                             t->node->name);
                goto out;
            }
        }
        v->ends[i] = v->all.len;
    }
    struct fz_pqr_block *block = fz_pqr_block_take(t->leaf, v->all.len, err);
    if (block == NULL) {
        rc = FZ_NOMEM;
        goto out;
    }
    block->next = t->leaf->kept; // until the next batch
    t->leaf->kept = block;
    if (v->all.len > 0) {
        memcpy(block->bytes, v->all.ptr, v->all.len);
    }
    out = column->data;
    for (size_t i = 0, start = 0; i < slots; i++) {
        out[i] = fz_string_of((const char *)block->bytes + start, v->ends[i] - start);
        start = v->ends[i];
    }
    column->validity = NULL;
    if (v->group.validity != NULL && slots > 0) {
        memcpy(column->validity_storage, v->group.validity, (slots + 63) / 64 * sizeof(uint64_t));
        column->validity = column->validity_storage;
    }
out:
    if (rc != FZ_OK && err->code == FZ_CORRUPT) {
        fz_err_context(err, "%s: column %s", t->leaf->file->location, t->node->name);
    }
    return rc;
}
