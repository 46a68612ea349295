// histogram_numeric: at most n bins (Ben-Haim and Tom-Tov): each value becomes a bin, then the two closest are merged while there are too many.
#include "sql/kernels_priv.h"

#include <stdlib.h>

struct bin {
    double x, y;
};

static double number_at(const struct fz_column *c, size_t row) {
    switch ((int)c->type->id) {
    case FZ_TYPE_DOUBLE:
        return ((const double *)c->data)[row];
    case FZ_TYPE_FLOAT:
        return (double)((const float *)c->data)[row];
    case FZ_TYPE_DECIMAL: {
        double v = (double)fz_col_dec(c, row);
        for (int i = 0; i < c->type->scale; i++) {
            v /= 10;
        }
        return v;
    }
    default:
        return (double)fz_col_i64(c, row);
    }
}

static void put_number(struct fz_column *c, size_t row, double v) {
    switch ((int)c->type->id) {
    case FZ_TYPE_DOUBLE:
        ((double *)c->data)[row] = v;
        return;
    case FZ_TYPE_FLOAT:
        ((float *)c->data)[row] = (float)v;
        return;
    case FZ_TYPE_BYTE:
        ((int8_t *)c->data)[row] = (int8_t)v;
        return;
    case FZ_TYPE_SHORT:
        ((int16_t *)c->data)[row] = (int16_t)v;
        return;
    case FZ_TYPE_INT:
        ((int32_t *)c->data)[row] = (int32_t)v;
        return;
    case FZ_TYPE_LONG:
        ((int64_t *)c->data)[row] = (int64_t)v;
        return;
    default: { // decimal
        for (int i = 0; i < c->type->scale; i++) {
            v *= 10;
        }
        __int128 unscaled = (__int128)(v < 0 ? v - 0.5 : v + 0.5);
        switch (fz_type_width(c->type)) {
        case 2:
            ((int16_t *)c->data)[row] = (int16_t)unscaled;
            return;
        case 4:
            ((int32_t *)c->data)[row] = (int32_t)unscaled;
            return;
        case 8:
            ((int64_t *)c->data)[row] = (int64_t)unscaled;
            return;
        default:
            ((struct fz_i128 *)c->data)[row] = fz_i128_of(unscaled);
            return;
        }
    }
    }
}

static size_t add_value(struct bin *bins, size_t n, size_t most, double v) { // bins has room for most + 1
    size_t at = 0;
    while (at < n && bins[at].x < v) {
        at++;
    }
    if (at < n && bins[at].x == v) {
        bins[at].y++;
        return n;
    }
    memmove(bins + at + 1, bins + at, (n - at) * sizeof *bins);
    bins[at] = (struct bin){v, 1};
    if (++n <= most) {
        return n;
    }
    size_t closest = 0;
    for (size_t i = 1; i + 1 < n; i++) {
        closest = bins[i + 1].x - bins[i].x < bins[closest + 1].x - bins[closest].x ? i : closest;
    }
    double y = bins[closest].y + bins[closest + 1].y;
    bins[closest] =
        (struct bin){(bins[closest].x * bins[closest].y + bins[closest + 1].x * bins[closest + 1].y) / y, y};
    memmove(bins + closest + 1, bins + closest + 2, (n - closest - 2) * sizeof *bins);
    return n - 1;
}

enum fz_code fz_kernel_histogram(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                                 struct fz_arena *strings, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct bin *bins = NULL;
    size_t cap = 0, at = 0;
    (void)n_args;
    (void)strings;
    for (size_t i = 0; i < n_rows; i++) {
        int64_t most = fz_column_is_valid(&args[1], i) ? fz_col_i64(&args[1], i) : 0;
        size_t n = 0;
        if (!fz_column_is_valid(&args[0], i) || most < 2 || most > 100000) {
            fz_column_set_null(out, i);
            continue;
        }
        struct fz_list_span span = ((const struct fz_list_span *)args[0].data)[i];
        FZ_TRY(fz_grow((void **)&bins, &cap, (size_t)most + 2, sizeof *bins, err));
        for (uint64_t k = 0; k < span.length; k++) {
            if (fz_column_is_valid(&args[0].children[0], (size_t)(span.offset + k))) {
                n = add_value(bins, n, (size_t)most, number_at(&args[0].children[0], (size_t)(span.offset + k)));
            }
        }
        FZ_TRY(fz_column_reserve(&out->children[0], at + n, err));
        for (size_t k = 0; k < n; k++) {
            put_number(&out->children[0].children[0], at + k, bins[k].x);
            ((double *)out->children[0].children[1].data)[at + k] = bins[k].y;
        }
        ((struct fz_list_span *)out->data)[i] = (struct fz_list_span){at, n};
        at += n;
    }
out:
    fz_free(bins);
    return rc;
}
