// Implementation of data/batch.h: storage of columns and the copy kernels, specialised by the width of a value.
#include "data/batch.h"

size_t fz_type_width(const struct fz_type *type) {
    switch (type->id) {
    case FZ_TYPE_BOOLEAN:
    case FZ_TYPE_BYTE:
        return 1;
    case FZ_TYPE_SHORT:
        return 2;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_INTERVAL_YM:
    case FZ_TYPE_UNKNOWN:
        return 4;
    case FZ_TYPE_LONG:
    case FZ_TYPE_DOUBLE:
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
    case FZ_TYPE_INTERVAL_DT:
        return 8;
    case FZ_TYPE_DECIMAL:
        return type->precision <= 4 ? 2 : type->precision <= 9 ? 4 : type->precision <= 18 ? 8 : 16;
    case FZ_TYPE_STRING:
    case FZ_TYPE_UUID:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_VARIANT:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
    case FZ_TYPE_INTERVAL_CAL:
        return 16;
    case FZ_TYPE_STRUCT:
        return 0;
    }
    return 0;
}

bool fz_type_is_strings(const struct fz_type *type) {
    switch ((int)type->id) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_VARIANT:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
        return true;
    default:
        return false;
    }
}

static bool holds_spans(const struct fz_type *type) {
    return type->id == FZ_TYPE_LIST || type->id == FZ_TYPE_MAP;
}

static size_t words_for(size_t rows) {
    return rows / 64 + (rows % 64 != 0);
}

enum fz_code fz_batch_init(struct fz_batch *batch, const struct fz_field *fields, size_t n, size_t capacity,
                           struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *batch = (struct fz_batch){0};
    batch->columns = fz_calloc(n, sizeof *batch->columns);
    if (batch->columns == NULL) {
        return fz_fail_nomem(err, n * sizeof *batch->columns);
    }
    for (size_t i = 0; i < n; i++) {
        batch->n_columns = i + 1;
        FZ_TRY(fz_column_init(&batch->columns[i], fields[i].type, capacity, err));
        batch->columns[i].field_id = fields[i].id;
    }
out:
    if (rc != FZ_OK) {
        fz_batch_dispose(batch);
    }
    return rc;
}

void fz_batch_dispose(struct fz_batch *batch) {
    for (size_t i = 0; i < batch->n_columns; i++) {
        fz_column_dispose(&batch->columns[i]);
    }
    fz_free(batch->columns);
    *batch = (struct fz_batch){0};
}

// Types of the children of `column`: a struct's fields, a list's element, a map's entry (made here, owned by the child).
static enum fz_code init_children(struct fz_column *column, size_t capacity, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *type = column->type;
    size_t n = type->id == FZ_TYPE_STRUCT ? type->n_fields : 1;
    column->children = fz_calloc(n, sizeof *column->children);
    if (column->children == NULL) {
        return fz_fail_nomem(err, n * sizeof *column->children);
    }
    if (type->id == FZ_TYPE_MAP) {
        struct fz_type *entry = NULL;
        FZ_NEW(entry, err);
        *entry = (struct fz_type){.id = FZ_TYPE_STRUCT, .n_fields = type->n_fields, .fields = type->fields};
        column->n_children = 1;
        rc = fz_column_init(&column->children[0], entry, 0, err);
        column->children[0].owned_type = entry; // freed by the dispose of the child, also after a failure
        return rc;
    }
    for (size_t i = 0; i < n; i++) {
        column->n_children = i + 1;
        FZ_TRY(fz_column_init(&column->children[i], type->fields[i].type, holds_spans(type) ? 0 : capacity, err));
        column->children[i].field_id = type->fields[i].id;
    }
out:
    return rc;
}

enum fz_code fz_column_init(struct fz_column *column, const struct fz_type *type, size_t capacity, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *column = (struct fz_column){.type = type, .owned_data = true};
    if (!fz_type_is_primitive(type)) {
        FZ_TRY(init_children(column, capacity, err));
    }
    if (capacity > 0) {
        FZ_TRY(fz_column_reserve(column, capacity, err));
    }
out:
    if (rc != FZ_OK) {
        fz_column_dispose(column);
    }
    return rc;
}

void fz_column_dispose(struct fz_column *column) {
    for (size_t i = 0; i < column->n_children; i++) {
        fz_column_dispose(&column->children[i]);
    }
    fz_free(column->children);
    if (column->owned_data) {
        fz_free(column->data);
        fz_free(column->validity_storage);
    }
    fz_free(column->owned_type);
    *column = (struct fz_column){0};
}

// Grows one zeroed array of a column from `old_bytes` to `bytes`.
static enum fz_code grow_storage(void **storage, size_t old_bytes, size_t bytes, int fill, struct fz_err *err) {
    void *grown = fz_realloc(*storage, bytes);
    if (grown == NULL) {
        return fz_fail_nomem(err, bytes);
    }
    memset((char *)grown + old_bytes, fill, bytes - old_bytes);
    *storage = grown;
    return FZ_OK;
}

static enum fz_code grow_column(struct fz_column *column, size_t rows, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t width = fz_type_width(column->type), bytes, words = words_for(rows);
    bool own_validity = column->validity != NULL && column->validity == column->validity_storage;
    if (!column->owned_data) {
        return fz_fail(err, FZ_BUG, "a column with borrowed storage for %zu rows cannot hold %zu", column->capacity,
                       rows);
    }
    if (!fz_mul_size(rows, width, &bytes)) {
        return fz_fail_nomem(err, SIZE_MAX);
    }
    if (width > 0) {
        FZ_TRY(grow_storage(&column->data, column->capacity * width, bytes, 0, err));
    }
    void *validity = column->validity_storage;
    FZ_TRY(grow_storage(&validity, words_for(column->capacity) * 8, words * 8, 0xff, err));
    column->validity_storage = validity;
    if (own_validity) {
        column->validity = column->validity_storage;
    }
    column->capacity = rows;
out:
    return rc;
}

enum fz_code fz_column_reserve(struct fz_column *column, size_t rows, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (rows > column->capacity) {
        size_t twice = column->capacity <= SIZE_MAX / 4 ? column->capacity * 2 : rows;
        FZ_TRY(grow_column(column, rows > twice ? rows : twice, err));
    }
    if (column->type->id == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < column->n_children; i++) {
            FZ_TRY(fz_column_reserve(&column->children[i], rows, err));
        }
    }
out:
    return rc;
}

void fz_column_reset(struct fz_column *column) {
    column->validity = NULL;
    column->used_rows = 0;
    for (size_t i = 0; i < column->n_children; i++) {
        fz_column_reset(&column->children[i]);
    }
}

// Points `validity` to the column's own storage, all rows valid.
static void own_validity(struct fz_column *column) {
    if (column->validity == NULL) {
        memset(column->validity_storage, 0xff, words_for(column->capacity) * 8);
        column->validity = column->validity_storage;
    }
}

static void clear_value(struct fz_column *column, size_t row) {
    size_t width = fz_type_width(column->type);
    if (width > 0) {
        memset((char *)column->data + row * width, 0, width);
    }
}

void fz_column_set_null(struct fz_column *column, size_t row) {
    own_validity(column);
    column->validity[row >> 6] &= ~(UINT64_C(1) << (row & 63));
    clear_value(column, row);
    if (column->type->id == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < column->n_children; i++) {
            fz_column_set_null(&column->children[i], row);
        }
    }
}

size_t fz_column_child_end(const struct fz_column *column, size_t row) {
    const struct fz_list_span *spans = column->data;
    size_t end = column->children[0].used_rows;
    while (row-- > 0) { // rows are filled in order, so the nearest list that is not empty is the last one in the child
        if (fz_column_is_valid(column, row) && spans[row].length > 0) {
            size_t last = (size_t)(spans[row].offset + spans[row].length);
            return last > end ? last : end;
        }
    }
    return end;
}

static bool any_null(const struct fz_column *src, size_t src_row, const uint32_t *selection, size_t n) {
    if (src->validity == NULL) {
        return false;
    }
    if (selection == NULL) {
        size_t i = src_row, end = src_row + n;
        for (; i < end && (i & 63) != 0; i++) {
            if (!fz_column_is_valid(src, i)) {
                return true;
            }
        }
        for (; i + 64 <= end; i += 64) {
            if (src->validity[i >> 6] != UINT64_MAX) {
                return true;
            }
        }
        for (; i < end; i++) {
            if (!fz_column_is_valid(src, i)) {
                return true;
            }
        }
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!fz_column_is_valid(src, selection[i])) {
            return true;
        }
    }
    return false;
}

static void set_all_valid(struct fz_column *dst, size_t dst_row, size_t n) {
    if (dst->validity != NULL) {
        for (size_t i = dst_row; i < dst_row + n; i++) {
            dst->validity[i >> 6] |= UINT64_C(1) << (i & 63);
        }
    }
}

// Copies the bits of validity; says whether there is a NULL among the rows.
static bool copy_validity(struct fz_column *dst, size_t dst_row, const struct fz_column *src, size_t src_row,
                          const uint32_t *selection, size_t n) {
    if (!any_null(src, src_row, selection, n)) {
        set_all_valid(dst, dst_row, n);
        return false;
    }
    own_validity(dst);
    for (size_t i = 0; i < n; i++) {
        size_t from = selection != NULL ? selection[i] : src_row + i, to = dst_row + i;
        uint64_t bit = UINT64_C(1) << (to & 63), valid = src->validity[from >> 6] >> (from & 63) & 1;
        uint64_t *word = &dst->validity[to >> 6];
        *word = (*word & ~bit) | (valid << (to & 63));
    }
    return true;
}

#define FZ_GATHER(type)                                                                                                \
    do {                                                                                                               \
        type *to = (type *)dst;                                                                                        \
        const type *from = (const type *)src;                                                                          \
        for (size_t i = 0; i < n; i++) {                                                                               \
            to[i] = from[selection[i]];                                                                                \
        }                                                                                                              \
    } while (0)

// Values of one fixed width. `dst` points to the first row to fill, `src` to row 0.
static void gather(void *dst, const void *src, size_t width, const uint32_t *selection, size_t n) {
    switch (width) {
    case 1:
        FZ_GATHER(uint8_t);
        break;
    case 2:
        FZ_GATHER(uint16_t);
        break;
    case 4:
        FZ_GATHER(uint32_t);
        break;
    case 8:
        FZ_GATHER(uint64_t);
        break;
    case 16:
        FZ_GATHER(struct fz_i128);
        break;
    default:
        break;
    }
}

static void copy_values(struct fz_column *dst, size_t dst_row, const struct fz_column *src, size_t src_row,
                        const uint32_t *selection, size_t n, size_t width) {
    char *to = (char *)dst->data + dst_row * width;
    if (selection == NULL) {
        memmove(to, (const char *)src->data + src_row * width, n * width);
    } else {
        gather(to, src->data, width, selection, n);
    }
}

// Zeroes the values of NULL rows, so that nothing borrowed from the source stays in them.
static void clear_nulls(struct fz_column *dst, size_t dst_row, size_t n) {
    for (size_t i = dst_row; i < dst_row + n; i++) {
        if (!fz_column_is_valid(dst, i)) {
            clear_value(dst, i);
        }
    }
}

// Moves the bytes of long strings in dst[dst_row, +n) into one block of `arena`.
static enum fz_code own_strings(struct fz_column *dst, size_t dst_row, size_t n, struct fz_arena *arena,
                                struct fz_err *err) {
    struct fz_string *strings = (struct fz_string *)dst->data + dst_row;
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += strings[i].length > 12 ? strings[i].length : 0;
    }
    if (total == 0) {
        return FZ_OK;
    }
    char *bytes = fz_arena_alloc(arena, total);
    if (bytes == NULL) {
        return fz_fail_nomem(err, total);
    }
    for (size_t i = 0; i < n; i++) {
        if (strings[i].length > 12) {
            memcpy(bytes, strings[i].u.ptr, strings[i].length);
            strings[i].u.ptr = bytes;
            bytes += strings[i].length;
        }
    }
    return FZ_OK;
}

// Lists and maps: appends the elements to the child, neighbouring lists in one go, and writes the new spans.
static enum fz_code copy_lists(struct fz_column *dst, size_t dst_row, const struct fz_column *src, size_t src_row,
                               const uint32_t *selection, size_t n, struct fz_arena *arena, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_list_span *from = src->data;
    struct fz_list_span *to = (struct fz_list_span *)dst->data + dst_row;
    struct fz_column *child = &dst->children[0];
    size_t end = fz_column_child_end(dst, dst_row), run_start = 0, run_length = 0;
    for (size_t i = 0; i < n; i++) {
        size_t row = selection != NULL ? selection[i] : src_row + i;
        struct fz_list_span span = fz_column_is_valid(src, row) ? from[row] : (struct fz_list_span){0};
        size_t offset = (size_t)span.offset, length = (size_t)span.length;
        if (length > 0 && run_length > 0 && offset != run_start + run_length) {
            FZ_TRY(fz_column_copy(child, end, &src->children[0], run_start, NULL, run_length, arena, err));
            end += run_length;
            run_length = 0;
        }
        to[i] = (struct fz_list_span){fz_column_is_valid(src, row) ? end + run_length : 0, length};
        if (length > 0) {
            run_start = run_length == 0 ? offset : run_start;
            run_length += length;
        }
    }
    if (run_length > 0) {
        FZ_TRY(fz_column_copy(child, end, &src->children[0], run_start, NULL, run_length, arena, err));
        end += run_length;
    }
    child->used_rows = end;
out:
    return rc;
}

enum fz_code fz_column_copy(struct fz_column *dst, size_t dst_row, const struct fz_column *src, size_t src_row,
                            const uint32_t *selection, size_t n, struct fz_arena *strings, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t width = fz_type_width(dst->type), rows;
    if (src->type->id != dst->type->id || width != fz_type_width(src->type) || src->n_children != dst->n_children) {
        return fz_fail(err, FZ_BUG, "columns of different types are copied (%d to %d)", (int)src->type->id,
                       (int)dst->type->id);
    }
    if (n == 0) {
        return FZ_OK;
    }
    if (!fz_add_size(dst_row, n, &rows)) {
        return fz_fail_nomem(err, SIZE_MAX);
    }
    FZ_TRY(fz_column_reserve(dst, rows, err));
    bool nulls = copy_validity(dst, dst_row, src, src_row, selection, n);
    if (dst->type->id == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < dst->n_children; i++) {
            FZ_TRY(fz_column_copy(&dst->children[i], dst_row, &src->children[i], src_row, selection, n, strings, err));
        }
        goto out;
    }
    if (holds_spans(dst->type)) {
        rc = copy_lists(dst, dst_row, src, src_row, selection, n, strings, err);
        goto out;
    }
    copy_values(dst, dst_row, src, src_row, selection, n, width);
    if (nulls) {
        clear_nulls(dst, dst_row, n);
    }
    if (strings != NULL && fz_type_is_strings(dst->type)) {
        rc = own_strings(dst, dst_row, n, strings, err);
    }
out:
    return rc;
}
