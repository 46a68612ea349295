// Implementation of data/value.h: copying, order and equality, and the way between a value and a row of a column.
#include "data/value.h"

// How a value is kept in the union, by type.
enum value_form { FORM_BOOLEAN, FORM_I64, FORM_F32, FORM_F64, FORM_I128, FORM_BYTES, FORM_NESTED, FORM_NONE };

static enum value_form form_of(const struct fz_type *type) {
    switch (type->id) {
    case FZ_TYPE_BOOLEAN:
        return FORM_BOOLEAN;
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
    case FZ_TYPE_DATE:
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
        return FORM_I64;
    case FZ_TYPE_FLOAT:
        return FORM_F32;
    case FZ_TYPE_DOUBLE:
        return FORM_F64;
    case FZ_TYPE_DECIMAL:
    case FZ_TYPE_UUID:
    case FZ_TYPE_INTERVAL_CAL:
        return FORM_I128;
    case FZ_TYPE_STRING:
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_VARIANT:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
        return FORM_BYTES;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        return FORM_NESTED;
    case FZ_TYPE_UNKNOWN:
        return FORM_NONE;
    }
    return FORM_NONE;
}

struct fz_value fz_value_null(const struct fz_type *type) {
    return (struct fz_value){.type = type, .is_null = true};
}

static bool copy_into(struct fz_arena *arena, struct fz_value *out, const struct fz_value *value) {
    *out = *value;
    if (value->type != NULL && (out->type = fz_type_copy(arena, value->type)) == NULL) {
        return false;
    }
    if (value->is_null || value->type == NULL) {
        return true;
    }
    enum value_form form = form_of(value->type);
    if (form == FORM_BYTES) {
        out->u.bytes.ptr = fz_arena_strndup(arena, value->u.bytes.ptr, value->u.bytes.len);
        return out->u.bytes.ptr != NULL;
    }
    if (form == FORM_NESTED) {
        struct fz_value *items = fz_arena_array(arena, value->u.nested.n, sizeof *items);
        if (items == NULL) {
            return false;
        }
        for (size_t i = 0; i < value->u.nested.n; i++) {
            if (!copy_into(arena, &items[i], &value->u.nested.items[i])) {
                return false;
            }
        }
        out->u.nested.items = items;
    }
    return true;
}

const struct fz_value *fz_value_copy(struct fz_arena *arena, const struct fz_value *value) {
    struct fz_value *copy = FZ_ARENA_NEW(arena, struct fz_value);
    return copy != NULL && copy_into(arena, copy, value) ? copy : NULL;
}

// IEEE bits as a number that sorts: negative numbers reversed, all NaN the same and greatest.
static int64_t double_rank(double v) {
    if (v != v) {
        return INT64_MAX;
    }
    int64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits < 0 ? ~bits ^ INT64_MIN : bits;
}

static int compare_i128(__int128 a, __int128 b) {
    return (a > b) - (a < b);
}

static int compare_decimal(const struct fz_value *a, const struct fz_value *b) {
    __int128 x = fz_i128_get(a->u.i128), y = fz_i128_get(b->u.i128);
    int sa = a->type->scale, sb = b->type->scale;
    if (sa == sb) {
        return compare_i128(x, y);
    }
    // A number that does not fit after widening its scale is further from zero than any that fits.
    __int128 wide;
    if (sa < sb) {
        return fz_decimal_rescale(x, sa, sb, &wide) ? compare_i128(wide, y) : (x > 0 ? 1 : -1);
    }
    return fz_decimal_rescale(y, sb, sa, &wide) ? compare_i128(x, wide) : (y > 0 ? -1 : 1);
}

static int compare_bytes(struct fz_str a, struct fz_str b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n > 0 ? memcmp(a.ptr, b.ptr, n) : 0;
    return c != 0 ? c : (a.len > b.len) - (a.len < b.len);
}

static int compare_nested(const struct fz_value *a, const struct fz_value *b) {
    size_t na = a->u.nested.n, nb = b->u.nested.n;
    for (size_t i = 0; i < na && i < nb; i++) {
        const struct fz_value *x = &a->u.nested.items[i], *y = &b->u.nested.items[i];
        int c = x->is_null || y->is_null ? (int)y->is_null - (int)x->is_null : fz_value_compare(x, y);
        if (c != 0) {
            return c;
        }
    }
    return (na > nb) - (na < nb);
}

int fz_value_compare(const struct fz_value *a, const struct fz_value *b) {
    switch (form_of(a->type)) {
    case FORM_BOOLEAN:
        return (int)a->u.boolean - (int)b->u.boolean;
    case FORM_I64:
        return (a->u.i64 > b->u.i64) - (a->u.i64 < b->u.i64);
    case FORM_F32: {
        int64_t x = double_rank((double)a->u.f32), y = double_rank((double)b->u.f32);
        return (x > y) - (x < y);
    }
    case FORM_F64: {
        int64_t x = double_rank(a->u.f64), y = double_rank(b->u.f64);
        return (x > y) - (x < y);
    }
    case FORM_I128:
        if (a->type->id == FZ_TYPE_UUID) { // unsigned: the bytes in big-endian order
            unsigned __int128 x = (unsigned __int128)fz_i128_get(a->u.i128);
            unsigned __int128 y = (unsigned __int128)fz_i128_get(b->u.i128);
            return (x > y) - (x < y);
        }
        return compare_decimal(a, b);
    case FORM_BYTES:
        return compare_bytes(a->u.bytes, b->u.bytes);
    case FORM_NESTED:
        return compare_nested(a, b);
    case FORM_NONE:
        return 0;
    }
    return 0;
}

bool fz_value_equal(const struct fz_value *a, const struct fz_value *b) {
    if (a->is_null || b->is_null) {
        return a->is_null == b->is_null;
    }
    if (a->type->id != b->type->id) {
        return false;
    }
    if (form_of(a->type) != FORM_NESTED) {
        return fz_value_compare(a, b) == 0;
    }
    if (a->u.nested.n != b->u.nested.n) {
        return false;
    }
    for (size_t i = 0; i < a->u.nested.n; i++) {
        if (!fz_value_equal(&a->u.nested.items[i], &b->u.nested.items[i])) {
            return false;
        }
    }
    return true;
}

static __int128 load_decimal(const void *data, size_t row, size_t width) {
    switch (width) {
    case 2:
        return ((const int16_t *)data)[row];
    case 4:
        return ((const int32_t *)data)[row];
    case 8:
        return ((const int64_t *)data)[row];
    default:
        return fz_i128_get(((const struct fz_i128 *)data)[row]);
    }
}

static int64_t load_i64(const void *data, size_t row, size_t width) {
    switch (width) {
    case 1:
        return ((const int8_t *)data)[row];
    case 2:
        return ((const int16_t *)data)[row];
    case 4:
        return ((const int32_t *)data)[row];
    default:
        return ((const int64_t *)data)[row];
    }
}

// Items of a struct (one per field), list or map (key, value, key, value …) in one array.
static bool load_nested(const struct fz_column *column, size_t row, struct fz_arena *arena, struct fz_value *out) {
    bool is_struct = column->type->id == FZ_TYPE_STRUCT, is_map = column->type->id == FZ_TYPE_MAP;
    struct fz_list_span span = {0, 0};
    if (!is_struct) {
        span = ((const struct fz_list_span *)column->data)[row];
    }
    size_t per_row = is_map ? 2 : 1;
    size_t n = is_struct ? column->n_children : (size_t)span.length * per_row;
    if (arena == NULL) {
        return false;
    }
    struct fz_value *items = fz_arena_array(arena, n, sizeof *items);
    if (items == NULL) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        const struct fz_column *child = is_struct ? &column->children[i] : &column->children[0];
        if (is_map) {
            child = &child->children[i % 2];
        }
        items[i] = fz_value_at(child, is_struct ? row : (size_t)span.offset + i / per_row, arena);
    }
    out->u.nested.items = items;
    out->u.nested.n = n;
    return true;
}

struct fz_value fz_value_at(const struct fz_column *column, size_t row, struct fz_arena *arena) {
    struct fz_value v = {.type = column->type};
    if (!fz_column_is_valid(column, row)) {
        v.is_null = true;
        return v;
    }
    switch (form_of(column->type)) {
    case FORM_BOOLEAN:
        v.u.boolean = ((const uint8_t *)column->data)[row] != 0;
        break;
    case FORM_I64:
        v.u.i64 = load_i64(column->data, row, fz_type_width(column->type));
        break;
    case FORM_F32:
        v.u.f32 = ((const float *)column->data)[row];
        break;
    case FORM_F64:
        v.u.f64 = ((const double *)column->data)[row];
        break;
    case FORM_I128:
        v.u.i128 = fz_i128_of(load_decimal(column->data, row, fz_type_width(column->type)));
        if (column->type->id == FZ_TYPE_UUID) {
            v.u.i128.upper ^= INT64_MIN;
        }
        break;
    case FORM_BYTES: {
        const struct fz_string *s = (const struct fz_string *)column->data + row;
        v.u.bytes = (struct fz_str){fz_string_ptr(s), s->length};
        break;
    }
    case FORM_NESTED:
        v.is_null = !load_nested(column, row, arena, &v);
        break;
    case FORM_NONE:
        v.is_null = true;
        break;
    }
    return v;
}

static enum fz_code too_wide(const struct fz_column *column, struct fz_err *err) {
    struct fz_buf type = {0};
    fz_type_print(&type, column->type);
    enum fz_code rc =
        fz_fail(err, FZ_LIMIT, "a value does not fit its column of type %s", type.ptr != NULL ? type.ptr : "?");
    fz_buf_dispose(&type);
    return rc;
}

static enum fz_code store_i64(struct fz_column *column, size_t row, int64_t v, struct fz_err *err) {
    switch (fz_type_width(column->type)) {
    case 1:
        ((int8_t *)column->data)[row] = (int8_t)v;
        return v == (int8_t)v ? FZ_OK : too_wide(column, err);
    case 2:
        ((int16_t *)column->data)[row] = (int16_t)v;
        return v == (int16_t)v ? FZ_OK : too_wide(column, err);
    case 4:
        ((int32_t *)column->data)[row] = (int32_t)v;
        return v == (int32_t)v ? FZ_OK : too_wide(column, err);
    default:
        ((int64_t *)column->data)[row] = v;
        return FZ_OK;
    }
}

static enum fz_code store_decimal(struct fz_column *column, size_t row, __int128 v, struct fz_err *err) {
    size_t width = fz_type_width(column->type);
    if (width < 16) {
        if (v != (int64_t)v) {
            return too_wide(column, err);
        }
        return store_i64(column, row, (int64_t)v, err);
    }
    ((struct fz_i128 *)column->data)[row] = fz_i128_of(v);
    return FZ_OK;
}

static enum fz_code store_nested(struct fz_column *column, size_t row, const struct fz_value *value,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = value->u.nested.n;
    bool is_map = column->type->id == FZ_TYPE_MAP;
    if (column->type->id == FZ_TYPE_STRUCT) {
        if (n != column->n_children) {
            return fz_fail(err, FZ_BUG, "a struct of %zu values is stored as %zu fields", n, column->n_children);
        }
        for (size_t i = 0; i < n; i++) {
            FZ_TRY(fz_value_store(&column->children[i], row, &value->u.nested.items[i], err));
        }
        goto out;
    }
    struct fz_column *child = &column->children[0];
    size_t start = fz_column_child_end(column, row), rows = is_map ? n / 2 : n;
    FZ_TRY(fz_column_reserve(child, start + rows, err));
    for (size_t i = 0; i < n; i++) {
        struct fz_column *target = is_map ? &child->children[i % 2] : child;
        FZ_TRY(fz_value_store(target, start + (is_map ? i / 2 : i), &value->u.nested.items[i], err));
    }
    child->used_rows = start + rows;
    ((struct fz_list_span *)column->data)[row] = (struct fz_list_span){start, rows};
out:
    return rc;
}

enum fz_code fz_value_store(struct fz_column *column, size_t row, const struct fz_value *value, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(fz_column_reserve(column, row + 1, err));
    enum value_form form = form_of(column->type);
    if (value->is_null || form == FORM_NONE) {
        fz_column_set_null(column, row);
        return FZ_OK;
    }
    if (value->type == NULL || form_of(value->type) != form ||
        (form != FORM_I64 && value->type->id != column->type->id) ||
        (column->type->id == FZ_TYPE_DECIMAL && value->type->scale != column->type->scale)) {
        return fz_fail(err, FZ_BUG, "a value of type %d is stored into a column of type %d",
                       value->type != NULL ? (int)value->type->id : 0, (int)column->type->id);
    }
    if (column->validity != NULL) {
        column->validity[row >> 6] |= UINT64_C(1) << (row & 63);
    }
    switch (form) {
    case FORM_BOOLEAN:
        ((uint8_t *)column->data)[row] = value->u.boolean;
        break;
    case FORM_I64:
        rc = store_i64(column, row, value->u.i64, err);
        break;
    case FORM_F32:
        ((float *)column->data)[row] = value->u.f32;
        break;
    case FORM_F64:
        ((double *)column->data)[row] = value->u.f64;
        break;
    case FORM_I128: {
        struct fz_i128 v = value->u.i128;
        v.upper ^= column->type->id == FZ_TYPE_UUID ? INT64_MIN : 0;
        rc = store_decimal(column, row, fz_i128_get(v), err);
        break;
    }
    case FORM_BYTES:
        if (value->u.bytes.len > UINT32_MAX) {
            rc = fz_fail(err, FZ_LIMIT, "a value of %zu bytes is longer than a column can hold", value->u.bytes.len);
            break;
        }
        ((struct fz_string *)column->data)[row] = fz_string_of(value->u.bytes.ptr, value->u.bytes.len);
        break;
    case FORM_NESTED:
        rc = store_nested(column, row, value, err);
        break;
    case FORM_NONE:
        break;
    }
out:
    return rc;
}
