// Columns that are not read from the file (constants, positions, lineage), and taking deleted rows out of a batch in place.
#include "scan/scan_priv.h"

static size_t n_words(size_t n) {
    return (n + 63) / 64;
}

static void all_null(struct fz_column *column, size_t n) {
    memset(column->validity_storage, 0, n_words(n) * sizeof(uint64_t));
    column->validity = column->validity_storage;
    size_t width = fz_type_width(column->type);
    if (width > 0) {
        memset(column->data, 0, n * width);
    }
    for (size_t i = 0; column->type->id == FZ_TYPE_STRUCT && i < column->n_children; i++) {
        all_null(&column->children[i], n);
    }
}

enum fz_code fz_scan_fill_constant(struct fz_column *column, size_t n, const struct fz_value *value,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (value->is_null) {
        all_null(column, n);
        return FZ_OK;
    }
    if (!fz_type_is_primitive(column->type)) {
        for (size_t r = 0; r < n && rc == FZ_OK; r++) {
            rc = fz_value_store(column, r, value, err);
        }
        return rc;
    }
    FZ_TRY(fz_value_store(column, 0, value, err));
    size_t width = fz_type_width(column->type);
    char *data = column->data;
    for (size_t done = 1; done < n;) { // doubling copies
        size_t more = done < n - done ? done : n - done;
        memcpy(data + done * width, data, more * width);
        done += more;
    }
out:
    return rc;
}

void fz_scan_fill_positions(struct fz_column *column, size_t n, int64_t first) {
    int64_t *data = column->data;
    for (size_t r = 0; r < n; r++) {
        data[r] = first + (int64_t)r;
    }
}

void fz_scan_fill_missing(struct fz_column *column, size_t n, int64_t base, int64_t step) {
    int64_t *data = column->data;
    if (!column->validity) {
        return;
    }
    for (size_t r = 0; r < n; r++) {
        if (!fz_column_is_valid(column, r)) {
            data[r] = base + (int64_t)r * step;
        }
    }
    column->validity = NULL;
}

#define COMPACT(type)                                                                                                  \
    do {                                                                                                               \
        type *values = column->data;                                                                                   \
        for (size_t i = 0; i < n; i++) {                                                                               \
            values[i] = values[selection[i]];                                                                          \
        }                                                                                                              \
    } while (0)

void fz_scan_compact(struct fz_column *column, const uint32_t *selection, size_t n) {
    if (column->validity) {
        const uint64_t *from = column->validity;
        uint64_t *to = column->validity_storage, word = 0;
        for (size_t i = 0; i < n; i++) { // writing never overtakes reading: selection[i] >= i
            word |= (from[selection[i] >> 6] >> (selection[i] & 63) & 1) << (i & 63);
            if ((i & 63) == 63 || i + 1 == n) {
                to[i >> 6] = word;
                word = 0;
            }
        }
        column->validity = to;
    }
    switch (fz_type_width(column->type)) {
    case 1:
        COMPACT(uint8_t);
        break;
    case 2:
        COMPACT(uint16_t);
        break;
    case 4:
        COMPACT(uint32_t);
        break;
    case 8:
        COMPACT(uint64_t);
        break;
    case 16:
        COMPACT(struct fz_i128);
        break;
    default:
        break;
    }
    for (size_t i = 0; column->type->id == FZ_TYPE_STRUCT && i < column->n_children; i++) {
        fz_scan_compact(&column->children[i], selection, n);
    }
}

struct fz_value fz_scan_promote(const struct fz_value *value, const struct fz_type *type) {
    struct fz_value out = *value;
    if (!value->is_null && value->type->id != type->id) {
        if (value->type->id == FZ_TYPE_FLOAT && type->id == FZ_TYPE_DOUBLE) {
            out.u.f64 = (double)value->u.f32;
        } else if (value->type->id == FZ_TYPE_DATE && type->id == FZ_TYPE_TIMESTAMP) {
            out.u.i64 = value->u.i64 * INT64_C(86400000000);
        } else if (value->type->id == FZ_TYPE_DATE && type->id == FZ_TYPE_TIMESTAMP_NS) {
            out.u.i64 = value->u.i64 * INT64_C(86400000000000);
        }
    }
    out.type = type;
    return out;
}
