// From definition and repetition levels to columns. A flat column goes straight from its pages into the batch. For structs, lists and
// maps every leaf below first reads the levels and values of the batch's rows; then the tree is walked once and each node takes its
// shape from the levels of one leaf below it. A "slot" is a row of a column at its place in the tree: a row of the batch at the
// top, an element inside a list. `space_def` is the definition level from which an entry of levels is such a slot.
#include "data/value.h"
#include "format/parquet/parquet_reader_priv.h"

static size_t words_for(size_t rows) {
    return (rows + 63) / 64;
}

// Rows of NULLs to begin with. The storage may be absent when there are no rows.
static uint64_t *clear_bits(struct fz_column *column, size_t rows) {
    if (rows > 0) {
        memset(column->validity_storage, 0, words_for(rows) * 8);
    }
    return column->validity_storage;
}

static bool bit_at(const uint64_t *bits, size_t i) {
    return bits[i >> 6] >> (i & 63) & 1;
}

// Moves the `present` dense values at the front of `data` to the rows that are valid, from the last on; others become zero. Without
// branches, because which rows are NULL is not predictable. `from` never passes below 0, nor above the row at hand.
#define SPREAD(TYPE, ZERO)                                                                                             \
    do {                                                                                                               \
        TYPE *v = data;                                                                                                \
        for (size_t i = rows, from = present; i-- > 0;) {                                                              \
            bool there = bit_at(valid, i);                                                                             \
            from -= there;                                                                                             \
            TYPE moved = v[from];                                                                                      \
            v[i] = there ? moved : ZERO;                                                                               \
        }                                                                                                              \
    } while (0)

static void spread_wide(struct fz_i128 *v, const uint64_t *valid, size_t rows, size_t present) {
    for (size_t i = rows, from = present; i-- > 0;) {
        uint64_t there = bit_at(valid, i), mask = -there;
        from -= there;
        uint64_t low = v[from].lower, high = (uint64_t)v[from].upper;
        v[i] = (struct fz_i128){low & mask, (int64_t)(high & mask)};
    }
}

static void spread(void *data, size_t width, const uint64_t *valid, size_t rows, size_t present) {
    switch (width) {
    case 1:
        SPREAD(uint8_t, 0);
        break;
    case 2:
        SPREAD(uint16_t, 0);
        break;
    case 4:
        SPREAD(uint32_t, 0);
        break;
    case 8:
        SPREAD(uint64_t, 0);
        break;
    default:
        spread_wide(data, valid, rows, present);
        break;
    }
}

static enum fz_code bad_levels(const struct fz_pqr_leaf *leaf, struct fz_err *err) {
    return fz_pqr_corrupt(leaf, err, "the levels of a page are damaged");
}

// Passes over rows of a flat column that nobody wants; whole pages are left out by fz_pqr_page_next.
static enum fz_code skip_flat(struct fz_pqr_leaf *leaf, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    while (leaf->skip > 0) {
        FZ_TRY(fz_pqr_page_next(leaf, err));
        if (leaf->done) {
            break;
        }
        uint64_t bits[FZ_BATCH_ROWS / 64] = {0};
        size_t take = leaf->page_left < FZ_BATCH_ROWS ? leaf->page_left : FZ_BATCH_ROWS, here = 0;
        take = leaf->skip < (int64_t)take ? (size_t)leaf->skip : take;
        if (leaf->node->max_def == 0) {
            here = take;
        } else if (!fz_pqr_rle_read_bits(&leaf->def, take, bits, 0, &here)) {
            return bad_levels(leaf, err);
        }
        FZ_TRY(fz_pqr_values_skip(leaf, here, err));
        leaf->page_left -= take;
        leaf->skip -= (int64_t)take;
    }
out:
    return rc;
}

static enum fz_code fill_flat(struct fz_pqr_leaf *leaf, struct fz_column *column, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const bool optional = leaf->node->max_def > 0;
    const size_t width = leaf->conv.dst_width;
    size_t present = 0;
    FZ_TRY(skip_flat(leaf, err));
    FZ_TRY(fz_column_reserve(column, n, err));
    if (optional) {
        clear_bits(column, n);
    }
    for (size_t row = 0; row < n;) {
        FZ_TRY(fz_pqr_page_next(leaf, err));
        if (leaf->done) {
            rc = fz_pqr_corrupt(leaf, err, "the column has fewer rows than its row group");
            goto out;
        }
        size_t take = n - row < leaf->page_left ? n - row : leaf->page_left, here = 0;
        if (!optional) {
            here = take;
        } else if (!fz_pqr_rle_read_bits(&leaf->def, take, column->validity_storage, row, &here)) {
            rc = bad_levels(leaf, err);
            goto out;
        }
        FZ_TRY(fz_pqr_values_read(leaf, here, (uint8_t *)column->data + present * width, err));
        present += here;
        row += take;
        leaf->page_left -= take;
    }
    column->validity = NULL;
    if (present < n) {
        column->validity = column->validity_storage;
        spread(column->data, width, column->validity, n, present);
    }
out:
    return rc;
}

// A column, or field of a struct, that the file does not have. Where the surrounding struct is NULL it is NULL too.
static enum fz_code fill_missing(struct fz_column *column, const struct fz_field *field, size_t n,
                                 const uint64_t *parent, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_value *value = field != NULL ? field->initial_default : NULL;
    FZ_TRY(fz_column_reserve(column, n, err));
    fz_column_reset(column);
    if (value != NULL && !value->is_null && parent == NULL && n > 0 && fz_type_is_primitive(column->type)) {
        size_t width = fz_type_width(column->type);
        FZ_TRY(fz_value_store(column, 0, value, err));
        for (size_t i = 1; i < n; i++) {
            memcpy((char *)column->data + i * width, column->data, width);
        }
        column->validity = NULL;
        goto out;
    }
    if (value != NULL && !value->is_null) {
        for (size_t i = 0; i < n; i++) {
            if (parent == NULL || bit_at(parent, i)) {
                FZ_TRY(fz_value_store(column, i, value, err));
            } else {
                fz_column_set_null(column, i);
            }
        }
        goto out;
    }
    column->validity = clear_bits(column, n);
    if (column->data != NULL && n > 0) {
        memset(column->data, 0, n * fz_type_width(column->type));
    }
    if (column->type->id == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < column->n_children; i++) {
            FZ_TRY(fill_missing(&column->children[i], NULL, n, NULL, err));
        }
    }
out:
    return rc;
}

static enum fz_code grow_levels(struct fz_pqr_leaf *leaf, size_t need, struct fz_err *err) {
    if (need > FZ_PQR_MAX_SLOTS) {
        return fz_fail(err, FZ_LIMIT, "%s: column %s: more than %d list elements in one batch of rows",
                       leaf->file->location, leaf->node->name, FZ_PQR_MAX_SLOTS);
    }
    if (need <= leaf->cap_levels) {
        return FZ_OK;
    }
    size_t cap = leaf->cap_levels * 2 > need ? leaf->cap_levels * 2 : need + FZ_BATCH_ROWS;
    uint8_t *def = fz_realloc(leaf->batch_def, cap);
    leaf->batch_def = def != NULL ? def : leaf->batch_def;
    uint8_t *rep = fz_realloc(leaf->batch_rep, cap);
    leaf->batch_rep = rep != NULL ? rep : leaf->batch_rep;
    if (def == NULL || rep == NULL) {
        return fz_fail_nomem(err, cap);
    }
    leaf->cap_levels = cap;
    return FZ_OK;
}

static bool read_level_run(struct fz_pqr_rle *rle, int max_level, size_t n, uint8_t *out) {
    if (max_level == 0) {
        memset(out, 0, n);
        return true;
    }
    if (!fz_pqr_rle_read_u8(rle, n, out)) {
        return false;
    }
    uint8_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = out[i] > largest ? out[i] : largest;
    }
    return largest <= max_level;
}

static enum fz_code look_ahead(struct fz_pqr_leaf *leaf, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(fz_pqr_page_next(leaf, err));
    leaf->ahead_at = 0;
    leaf->ahead_n = leaf->page_left < FZ_PQR_LEVELS ? leaf->page_left : FZ_PQR_LEVELS;
    if (leaf->ahead_n > 0) {
        if (!read_level_run(&leaf->rep, leaf->node->max_rep, leaf->ahead_n, leaf->ahead_rep) ||
            !read_level_run(&leaf->def, leaf->node->max_def, leaf->ahead_n, leaf->ahead_def)) {
            rc = bad_levels(leaf, err);
        }
        leaf->page_left -= leaf->ahead_n;
    }
out:
    return rc;
}

// How many of the levels ahead belong to the rows still wanted; counts the rows they begin.
static size_t take_rows(const struct fz_pqr_leaf *leaf, size_t *rows, size_t n_rows) {
    size_t at = leaf->ahead_at;
    if (leaf->node->max_rep == 0) {
        size_t take = leaf->ahead_n - at < n_rows - *rows ? leaf->ahead_n - at : n_rows - *rows;
        *rows += take;
        return take;
    }
    for (; at < leaf->ahead_n; at++) {
        if (leaf->ahead_rep[at] == 0) {
            if (*rows == n_rows) {
                break;
            }
            (*rows)++;
        }
    }
    return at - leaf->ahead_at;
}

static size_t count_present(const struct fz_pqr_leaf *leaf, size_t n) {
    size_t present = 0;
    for (size_t i = 0; i < n; i++) {
        present += leaf->ahead_def[leaf->ahead_at + i] == leaf->node->max_def;
    }
    return present;
}

// Passes over rows that nobody wants. A row of a list ends where the next one begins.
static enum fz_code skip_leaf(struct fz_pqr_leaf *leaf, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool inside = false;
    while (leaf->skip > 0 || inside) {
        if (leaf->ahead_at == leaf->ahead_n) {
            FZ_TRY(look_ahead(leaf, err));
            if (leaf->done) {
                break;
            }
        }
        size_t rows = 0, take = take_rows(leaf, &rows, (size_t)leaf->skip), present = count_present(leaf, take);
        inside = leaf->node->max_rep > 0 && leaf->ahead_at + take == leaf->ahead_n;
        leaf->ahead_at += take;
        leaf->skip -= (int64_t)rows;
        if (!leaf->levels_only) {
            FZ_TRY(fz_pqr_values_skip(leaf, present, err));
        }
    }
out:
    return rc;
}

enum fz_code fz_pqr_read_levels(struct fz_pqr_leaf *leaf, struct fz_column *column, size_t n_rows, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const size_t width = leaf->conv.dst_width;
    size_t rows = 0;
    leaf->n_levels = 0;
    leaf->n_present = 0;
    FZ_TRY(skip_leaf(leaf, err));
    for (;;) {
        if (leaf->ahead_at == leaf->ahead_n) {
            if (rows == n_rows && leaf->node->max_rep == 0) {
                break;
            }
            FZ_TRY(look_ahead(leaf, err));
            if (leaf->done) {
                break;
            }
        }
        if (rows == 0 && leaf->ahead_rep[leaf->ahead_at] != 0) {
            rc = bad_levels(leaf, err); // the first entry does not begin a row
            goto out;
        }
        size_t take = take_rows(leaf, &rows, n_rows), present = count_present(leaf, take);
        if (take == 0) {
            break;
        }
        FZ_TRY(grow_levels(leaf, leaf->n_levels + take, err));
        memcpy(leaf->batch_def + leaf->n_levels, leaf->ahead_def + leaf->ahead_at, take);
        memcpy(leaf->batch_rep + leaf->n_levels, leaf->ahead_rep + leaf->ahead_at, take);
        leaf->n_levels += take;
        leaf->ahead_at += take;
        if (column != NULL && present > 0) {
            FZ_TRY(fz_column_reserve(column, leaf->n_present + present, err));
            FZ_TRY(fz_pqr_values_read(leaf, present, (uint8_t *)column->data + leaf->n_present * width, err));
        }
        leaf->n_present += present;
    }
    if (rows != n_rows) {
        rc = fz_pqr_corrupt(leaf, err, "the column has fewer rows than its row group");
    }
out:
    return rc;
}

static enum fz_code read_below(struct fz_pqr_target *t, struct fz_column *column, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (t->fill == FZ_PQR_FILL_LEAF) {
        return fz_pqr_read_levels(t->leaf, column, n, err);
    }
    if (t->fill == FZ_PQR_FILL_VARIANT) {
        return read_below(&t->children[0], fz_pqr_variant_group(t->variant), n, err);
    }
    if (t->leaf != NULL && t->leaf->levels_only && t->own_leaf) {
        FZ_TRY(fz_pqr_read_levels(t->leaf, NULL, n, err));
    }
    struct fz_column *parent = t->fill == FZ_PQR_FILL_MAP ? &column->children[0] : column;
    for (size_t i = 0; i < t->n_children; i++) {
        FZ_TRY(read_below(&t->children[i], &parent->children[i], n, err));
    }
out:
    return rc;
}

static enum fz_code uneven(const struct fz_pqr_leaf *leaf, struct fz_err *err) {
    return fz_pqr_corrupt(leaf, err, "columns of one list or struct have different lengths");
}

static enum fz_code assemble(struct fz_pqr_target *t, struct fz_column *column, int space_def, size_t slots,
                             const uint64_t *parent, struct fz_err *err);

static enum fz_code assemble_leaf(struct fz_pqr_leaf *leaf, struct fz_column *column, int space_def, size_t slots,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const int max_def = leaf->node->max_def;
    FZ_TRY(fz_column_reserve(column, slots, err));
    uint64_t *valid = clear_bits(column, slots);
    size_t slot = 0;
    for (size_t i = 0; i < leaf->n_levels; i++) {
        if (leaf->batch_def[i] < space_def) {
            continue;
        }
        if (slot == slots) {
            rc = uneven(leaf, err);
            goto out;
        }
        valid[slot >> 6] |= (uint64_t)(leaf->batch_def[i] == max_def) << (slot & 63);
        slot++;
    }
    if (slot != slots) {
        rc = uneven(leaf, err);
        goto out;
    }
    column->validity = NULL;
    if (leaf->n_present < slots) {
        column->validity = valid;
        spread(column->data, leaf->conv.dst_width, valid, slots, leaf->n_present);
    }
out:
    return rc;
}

static enum fz_code assemble_struct(struct fz_pqr_target *t, struct fz_column *column, int space_def, size_t slots,
                                    const uint64_t *parent, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pqr_leaf *leaf = t->leaf;
    const uint64_t *valid = parent;
    FZ_TRY(fz_column_reserve(column, slots, err));
    column->validity = NULL;
    if (t->node->def_present > space_def) {
        uint64_t *bits = clear_bits(column, slots);
        size_t slot = 0, nulls = 0;
        for (size_t i = 0; i < leaf->n_levels; i++) {
            if (leaf->batch_rep[i] > t->node->rep || leaf->batch_def[i] < space_def) {
                continue;
            }
            if (slot == slots) {
                rc = uneven(leaf, err);
                goto out;
            }
            bool there = leaf->batch_def[i] >= t->node->def_present;
            bits[slot >> 6] |= (uint64_t)there << (slot & 63);
            nulls += !there;
            slot++;
        }
        if (slot != slots) {
            rc = uneven(leaf, err);
            goto out;
        }
        column->validity = nulls > 0 ? bits : NULL;
        valid = column->validity;
    }
    for (size_t i = 0; i < t->n_children; i++) {
        FZ_TRY(assemble(&t->children[i], &column->children[i], space_def, slots, valid, err));
    }
out:
    return rc;
}

// Spans and validity of a list or map; *n_elements: how many elements its child has.
static enum fz_code assemble_spans(struct fz_pqr_target *t, struct fz_column *column, int space_def, size_t slots,
                                   size_t *n_elements, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pqr_leaf *leaf = t->leaf;
    const int rep = t->node->rep, def_present = t->node->def_present, def_element = t->node->def_element;
    FZ_TRY(fz_column_reserve(column, slots, err));
    uint64_t *valid = clear_bits(column, slots);
    struct fz_list_span *spans = column->data;
    size_t slot = 0, nulls = 0, count = 0;
    struct fz_list_span *open = NULL; // the list that further elements belong to
    for (size_t i = 0; i < leaf->n_levels; i++) {
        const int r = leaf->batch_rep[i], d = leaf->batch_def[i];
        if (r > rep) {
            continue;
        }
        if (r == rep) {
            if (open == NULL || d < def_element) {
                rc = bad_levels(leaf, err);
                goto out;
            }
            open->length++;
            count++;
            continue;
        }
        open = NULL;
        if (d < space_def) {
            continue;
        }
        if (slot == slots) {
            rc = uneven(leaf, err);
            goto out;
        }
        spans[slot] = (struct fz_list_span){count, 0};
        if (d >= def_element) {
            open = &spans[slot];
            open->length = 1;
            count++;
        }
        valid[slot >> 6] |= (uint64_t)(d >= def_present) << (slot & 63);
        nulls += d < def_present;
        slot++;
    }
    if (slot != slots) {
        rc = uneven(leaf, err);
        goto out;
    }
    column->validity = nulls > 0 ? valid : NULL;
    *n_elements = count;
out:
    return rc;
}

static enum fz_code assemble(struct fz_pqr_target *t, struct fz_column *column, int space_def, size_t slots,
                             const uint64_t *parent, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = 0;
    switch (t->fill) {
    case FZ_PQR_FILL_LEAF:
        return assemble_leaf(t->leaf, column, space_def, slots, err);
    case FZ_PQR_FILL_STRUCT:
        return assemble_struct(t, column, space_def, slots, parent, err);
    case FZ_PQR_FILL_LIST:
        FZ_TRY(assemble_spans(t, column, space_def, slots, &n, err));
        FZ_TRY(assemble(&t->children[0], &column->children[0], t->node->def_element, n, NULL, err));
        column->children[0].used_rows = n;
        break;
    case FZ_PQR_FILL_MAP:
        FZ_TRY(assemble_spans(t, column, space_def, slots, &n, err));
        FZ_TRY(fz_column_reserve(&column->children[0], n, err));
        column->children[0].validity = NULL;
        FZ_TRY(assemble(&t->children[0], &column->children[0].children[0], t->node->def_element, n, NULL, err));
        FZ_TRY(assemble(&t->children[1], &column->children[0].children[1], t->node->def_element, n, NULL, err));
        column->children[0].used_rows = n;
        break;
    case FZ_PQR_FILL_VARIANT:
        FZ_TRY(assemble(&t->children[0], fz_pqr_variant_group(t->variant), space_def, slots, parent, err));
        rc = fz_pqr_variant_build(t, column, slots, err);
        break;
    case FZ_PQR_FILL_MISSING:
    case FZ_PQR_FILL_POS:
        return fill_missing(column, t->field, slots, parent, err);
    }
out:
    return rc;
}

enum fz_code fz_pqr_fill_column(struct fz_pqr_target *target, struct fz_column *column, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (target->fill == FZ_PQR_FILL_LEAF && target->node->max_rep == 0 && target->node->max_def <= 1) {
        return fill_flat(target->leaf, column, n, err);
    }
    FZ_TRY(read_below(target, column, n, err));
    rc = assemble(target, column, 0, n, NULL, err);
out:
    return rc;
}
