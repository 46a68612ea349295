// Dremel shredding, column by column: every node turns the slots of its parent into slots for its children (which row, or how far
// the definition level got before a NULL or an empty list), so levels come out of plain loops and not out of a walk per row.
// A slot whose ancestor ended it keeps its level all the way down.
#include "data/variant.h"
#include "format/parquet/parquet_writer_priv.h"

static enum fz_code shred_node(struct fz_parquet_encoder *w, struct fz_pw_node *node, const struct fz_column *column,
                               const struct fz_pw_slots *slots, struct fz_err *err);

static enum fz_code reserve(struct fz_pw_node *node, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(fz_grow((void **)&node->rows, &node->rows_cap, n + 1, sizeof *node->rows, err));
    FZ_TRY(fz_grow((void **)&node->defs, &node->defs_cap, n + 1, 1, err));
    FZ_TRY(fz_grow((void **)&node->reps, &node->reps_cap, n + 1, 1, err));
out:
    return rc;
}

// A variant's bytes are cut in two: metadata and value, both as they are. `slots` stand on rows that are there.
static enum fz_code shred_variant(struct fz_parquet_encoder *w, struct fz_pw_node *node, const struct fz_column *column,
                                  const struct fz_pw_slots *slots, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_string *parts[2] = {NULL, NULL};
    const struct fz_string *whole = column->data;
    size_t n = 0;
    for (size_t i = 0; i < slots->n; i++) {
        n = slots->rows[i] != FZ_PW_NO_ROW && slots->rows[i] >= n ? slots->rows[i] + (size_t)1 : n;
    }
    for (int k = 0; k < 2; k++) {
        parts[k] = fz_calloc(n + 1, sizeof *parts[k]);
        if (parts[k] == NULL) {
            rc = fz_fail_nomem(err, n * sizeof *parts[k]);
            goto out;
        }
    }
    for (size_t i = 0; i < slots->n; i++) {
        uint32_t row = slots->rows[i];
        if (row == FZ_PW_NO_ROW) {
            continue;
        }
        const char *p = fz_string_ptr(&whole[row]);
        size_t len = whole[row].length, metadata = fz_variant_metadata_size((struct fz_str){p, len});
        if (metadata == 0 || metadata >= len) {
            rc = fz_fail(err, FZ_CORRUPT, "column '%s': the bytes of a value are no variant", node->name);
            goto out;
        }
        parts[0][row] = fz_string_of(p, metadata);
        parts[1][row] = fz_string_of(p + metadata, len - metadata);
    }
    for (size_t k = 0; k < 2; k++) {
        struct fz_column part = {.type = fz_type_primitive(FZ_TYPE_BINARY), .data = parts[k], .capacity = n};
        FZ_TRY(shred_node(w, &node->children[k], &part, slots, err));
    }
out:
    fz_free(parts[0]);
    fz_free(parts[1]);
    return rc;
}

static enum fz_code shred_struct(struct fz_parquet_encoder *w, struct fz_pw_node *node, const struct fz_column *column,
                                 const struct fz_pw_slots *slots, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pw_slots inner = *slots;
    if (column->validity != NULL) {
        FZ_TRY(reserve(node, slots->n, err));
        for (size_t i = 0; i < slots->n; i++) {
            uint32_t row = slots->rows[i];
            node->rows[i] = row;
            node->defs[i] = slots->defs[i];
            if (row != FZ_PW_NO_ROW && !fz_column_is_valid(column, row)) {
                if (node->required) {
                    return fz_pw_fail_null(node->name, err);
                }
                node->rows[i] = FZ_PW_NO_ROW;
                node->defs[i] = (uint8_t)(node->def - 1);
            }
        }
        inner.rows = node->rows;
        inner.defs = node->defs;
    }
    if (node->variant) {
        return shred_variant(w, node, column, &inner, err);
    }
    for (size_t i = 0; i < node->n_children; i++) {
        struct fz_pw_node *child = &node->children[i];
        FZ_TRY(shred_node(w, child, &column->children[child->column_ix], &inner, err));
    }
out:
    return rc;
}

// How many slots the elements of the lists need, NULL and empty ones counting as one.
static enum fz_code count_slots(const struct fz_column *column, const struct fz_pw_slots *slots, size_t *out,
                                struct fz_err *err) {
    const struct fz_list_span *spans = column->data;
    uint64_t total = 0;
    for (size_t i = 0; i < slots->n; i++) {
        uint32_t row = slots->rows[i];
        uint64_t length = row != FZ_PW_NO_ROW && fz_column_is_valid(column, row) ? spans[row].length : 0;
        total += length == 0 ? 1 : length;
        if (length > INT32_MAX || total > INT32_MAX) {
            return fz_fail(err, FZ_LIMIT, "lists of more than %d elements in one batch cannot be written", INT32_MAX);
        }
    }
    *out = (size_t)total;
    return FZ_OK;
}

static enum fz_code shred_repeated(struct fz_parquet_encoder *w, struct fz_pw_node *node,
                                   const struct fz_column *column, const struct fz_pw_slots *slots,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_list_span *spans = column->data;
    size_t n = 0, k = 0;
    FZ_TRY(count_slots(column, slots, &n, err));
    FZ_TRY(reserve(node, n, err));
    uint8_t inner_rep = (uint8_t)(node->rep + 1);
    for (size_t i = 0; i < slots->n; i++) {
        uint32_t row = slots->rows[i];
        node->reps[k] = slots->reps[i];
        node->rows[k] = FZ_PW_NO_ROW;
        if (row == FZ_PW_NO_ROW) {
            node->defs[k++] = slots->defs[i];
            continue;
        }
        if (!fz_column_is_valid(column, row)) {
            if (node->required) {
                return fz_pw_fail_null(node->name, err);
            }
            node->defs[k++] = (uint8_t)(node->def - 1);
            continue;
        }
        struct fz_list_span span = spans[row];
        if (span.length == 0) {
            node->defs[k++] = node->def;
            continue;
        }
        for (uint64_t j = 0; j < span.length; j++, k++) {
            node->rows[k] = (uint32_t)(span.offset + j);
            node->defs[k] = 0;
            node->reps[k] = j == 0 ? slots->reps[i] : inner_rep;
        }
    }
    struct fz_pw_slots inner = {node->rows, node->defs, node->reps, k};
    const struct fz_column *entries = &column->children[0];
    if (node->kind == FZ_PW_LIST) {
        FZ_TRY(shred_node(w, &node->children[0], entries, &inner, err));
    } else {
        FZ_TRY(shred_node(w, &node->children[0], &entries->children[0], &inner, err));
        FZ_TRY(shred_node(w, &node->children[1], &entries->children[1], &inner, err));
    }
out:
    return rc;
}

static enum fz_code shred_node(struct fz_parquet_encoder *w, struct fz_pw_node *node, const struct fz_column *column,
                               const struct fz_pw_slots *slots, struct fz_err *err) {
    switch (node->kind) {
    case FZ_PW_LEAF:
        return fz_pw_leaf_append_slots(w, &w->leaves[node->leaf], column, slots, err);
    case FZ_PW_STRUCT:
        return shred_struct(w, node, column, slots, err);
    case FZ_PW_LIST:
    case FZ_PW_MAP:
        return shred_repeated(w, node, column, slots, err);
    }
    return FZ_OK;
}

enum fz_code fz_pw_shred(struct fz_parquet_encoder *w, struct fz_pw_node *node, const struct fz_column *column,
                         size_t from, const uint32_t *selection, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (node->kind == FZ_PW_LEAF) {
        return fz_pw_leaf_append_flat(w, &w->leaves[node->leaf], column, from, selection, n, err);
    }
    uint32_t *rows = NULL;
    uint8_t *zeros = NULL;
    size_t rows_cap = 0, zeros_cap = 0;
    FZ_TRY(fz_grow((void **)&rows, &rows_cap, n, sizeof *rows, err));
    FZ_TRY(fz_grow((void **)&zeros, &zeros_cap, n, 1, err));
    for (size_t i = 0; i < n; i++) {
        rows[i] = selection == NULL ? (uint32_t)(from + i) : selection[i];
    }
    struct fz_pw_slots slots = {rows, zeros, zeros, n};
    rc = shred_node(w, node, column, &slots, err);
out:
    fz_free(rows);
    fz_free(zeros);
    return rc;
}
