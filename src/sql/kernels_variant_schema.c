// schema_of_variant: the smallest type that a variant's values have in common, as Spark names it.
#include <stdlib.h>

#include "data/variant.h"
#include "sql/kernels_priv.h"

enum shape_kind {
    SHAPE_VOID,
    SHAPE_BOOLEAN,
    SHAPE_BIGINT,
    SHAPE_FLOAT,
    SHAPE_DOUBLE,
    SHAPE_DECIMAL,
    SHAPE_DATE,
    SHAPE_NTZ,
    SHAPE_TIMESTAMP,
    SHAPE_TIME,
    SHAPE_NTZ_NS,
    SHAPE_TIMESTAMP_NS,
    SHAPE_BINARY,
    SHAPE_STRING,
    SHAPE_UUID,
    SHAPE_ARRAY,
    SHAPE_OBJECT,
    SHAPE_VARIANT
};
static const char *const shape_names[] = {
    "VOID",    "BOOLEAN",          "BIGINT",       "FLOAT",  "DOUBLE", "DECIMAL", "DATE",  "TIMESTAMP_NTZ", "TIMESTAMP",
    "TIME(6)", "TIMESTAMP_NTZ(9)", "TIMESTAMP(9)", "BINARY", "STRING", "UUID",    "ARRAY", "OBJECT",        "VARIANT"};
struct shape;
struct member {
    struct fz_str name;
    const struct shape *shape;
};
struct shape { // immutable, in an arena; names are borrowed
    enum shape_kind kind;
    int precision, scale;
    const struct member *members; // object: by name; array: one
    size_t n;
};
static const struct shape shape_void = {.kind = SHAPE_VOID}, shape_variant = {.kind = SHAPE_VARIANT};

static const struct shape *new_shape(struct fz_arena *a, struct shape s) { // without memory: a variant
    const struct shape *kept = fz_arena_memdup(a, &s, sizeof s);
    return kept != NULL ? kept : &shape_variant;
}

static int by_name(const void *a, const void *b) {
    struct fz_str x = ((const struct member *)a)->name, y = ((const struct member *)b)->name;
    size_t n = x.len < y.len ? x.len : y.len;
    int order = n > 0 ? memcmp(x.ptr, y.ptr, n) : 0;
    return order != 0 ? order : (x.len > y.len) - (x.len < y.len);
}

static const struct shape *merge(struct fz_arena *a, const struct shape *x, const struct shape *y);

static const struct shape *merge_objects(struct fz_arena *a, const struct shape *x, const struct shape *y) {
    struct member *all = fz_arena_array(a, x->n + y->n + 1, sizeof *all);
    size_t n = 0, i = 0, k = 0;
    if (all == NULL) {
        return &shape_variant;
    }
    while (i < x->n || k < y->n) {
        int order = i == x->n ? 1 : k == y->n ? -1 : by_name(&x->members[i], &y->members[k]);
        if (order == 0) {
            all[n] = (struct member){x->members[i].name, merge(a, x->members[i].shape, y->members[k].shape)};
        } else {
            all[n] = order < 0 ? x->members[i] : y->members[k];
        }
        n++;
        i += order <= 0;
        k += order >= 0;
    }
    return new_shape(a, (struct shape){.kind = SHAPE_OBJECT, .members = all, .n = n});
}

static const struct shape *merge_decimals(struct fz_arena *a, const struct shape *x, const struct shape *y) {
    int xp = x->kind == SHAPE_BIGINT ? 20 : x->precision, xs = x->kind == SHAPE_BIGINT ? 0 : x->scale,
        yp = y->kind == SHAPE_BIGINT ? 20 : y->precision, ys = y->kind == SHAPE_BIGINT ? 0 : y->scale;
    int scale = xs > ys ? xs : ys, whole = xp - xs > yp - ys ? xp - xs : yp - ys;
    if (scale + whole > 38) {
        return new_shape(a, (struct shape){.kind = SHAPE_DOUBLE});
    }
    return new_shape(a, (struct shape){.kind = SHAPE_DECIMAL, .precision = scale + whole, .scale = scale});
}

static bool is_exact(const struct shape *s) {
    return s->kind == SHAPE_BIGINT || s->kind == SHAPE_DECIMAL;
}
static bool is_time(const struct shape *s) {
    return s->kind == SHAPE_DATE || s->kind == SHAPE_NTZ || s->kind == SHAPE_TIMESTAMP;
}

static const struct shape *merge(struct fz_arena *a, const struct shape *x, const struct shape *y) {
    if (x->kind == SHAPE_VOID || y->kind == SHAPE_VOID) {
        return x->kind == SHAPE_VOID ? y : x;
    }
    if (x->kind > y->kind) {
        const struct shape *swap = x;
        x = y;
        y = swap;
    }
    if (x->kind == SHAPE_OBJECT && y->kind == SHAPE_OBJECT) {
        return merge_objects(a, x, y);
    }
    if (x->kind == SHAPE_ARRAY && y->kind == SHAPE_ARRAY) {
        struct member one = {.shape = merge(a, x->members->shape, y->members->shape)};
        const struct member *kept = fz_arena_memdup(a, &one, sizeof one);
        return kept != NULL ? new_shape(a, (struct shape){.kind = SHAPE_ARRAY, .members = kept, .n = 1})
                            : &shape_variant;
    }
    if (is_exact(x) && is_exact(y) && x->kind + y->kind > 2 * SHAPE_BIGINT) {
        return merge_decimals(a, x, y);
    }
    if (x->kind == y->kind || (x->kind == SHAPE_BIGINT && y->kind <= SHAPE_DOUBLE) ||
        (x->kind == SHAPE_FLOAT && y->kind == SHAPE_DOUBLE) || (is_time(x) && is_time(y))) {
        return y;
    }
    return x->kind == SHAPE_DOUBLE && y->kind == SHAPE_DECIMAL ? x : &shape_variant;
}

static const struct shape *shape_of(struct fz_arena *a, struct fz_variant_item item, int depth);

static const struct shape *shape_of_nested(struct fz_arena *a, struct fz_variant_item item, bool object, size_t n,
                                           int depth) {
    struct member *members = fz_arena_array(a, object ? n + 1 : 1, sizeof *members);
    const struct shape *common = &shape_void;
    struct fz_variant_item child;
    struct fz_str name = {0};
    if (members == NULL) {
        return &shape_variant;
    }
    for (size_t i = 0; i < n; i++) {
        if (!fz_variant_child(item, i, &name, &child)) {
            return &shape_variant;
        }
        const struct shape *s = shape_of(a, child, depth + 1);
        if (object) {
            members[i] = (struct member){name, s};
        } else {
            common = merge(a, common, s);
        }
    }
    if (object && n > 1) {
        qsort(members, n, sizeof *members, by_name);
    }
    if (!object) {
        members[0].shape = common;
    }
    return new_shape(
        a, (struct shape){.kind = object ? SHAPE_OBJECT : SHAPE_ARRAY, .members = members, .n = object ? n : 1});
}

static const struct shape *shape_of(struct fz_arena *a, struct fz_variant_item item, int depth) {
    static const enum shape_kind kinds[] = {[FZ_VARIANT_NULL] = SHAPE_VOID,
                                            [FZ_VARIANT_TRUE] = SHAPE_BOOLEAN,
                                            [FZ_VARIANT_FALSE] = SHAPE_BOOLEAN,
                                            [FZ_VARIANT_INT8] = SHAPE_BIGINT,
                                            [FZ_VARIANT_INT16] = SHAPE_BIGINT,
                                            [FZ_VARIANT_INT32] = SHAPE_BIGINT,
                                            [FZ_VARIANT_INT64] = SHAPE_BIGINT,
                                            [FZ_VARIANT_DOUBLE] = SHAPE_DOUBLE,
                                            [FZ_VARIANT_DECIMAL4] = SHAPE_DECIMAL,
                                            [FZ_VARIANT_DECIMAL8] = SHAPE_DECIMAL,
                                            [FZ_VARIANT_DECIMAL16] = SHAPE_DECIMAL,
                                            [FZ_VARIANT_DATE] = SHAPE_DATE,
                                            [FZ_VARIANT_TIMESTAMPTZ] = SHAPE_TIMESTAMP,
                                            [FZ_VARIANT_TIMESTAMP] = SHAPE_NTZ,
                                            [FZ_VARIANT_FLOAT] = SHAPE_FLOAT,
                                            [FZ_VARIANT_BINARY] = SHAPE_BINARY,
                                            [FZ_VARIANT_STRING] = SHAPE_STRING,
                                            [FZ_VARIANT_TIME] = SHAPE_TIME,
                                            [FZ_VARIANT_TIMESTAMPTZ_NS] = SHAPE_TIMESTAMP_NS,
                                            [FZ_VARIANT_TIMESTAMP_NS] = SHAPE_NTZ_NS,
                                            [FZ_VARIANT_UUID] = SHAPE_UUID};
    struct fz_variant_view v;
    if (depth > FZ_VARIANT_MAX_DEPTH || !fz_variant_view(item, &v)) {
        return &shape_variant;
    }
    if (v.kind == FZ_VARIANT_OBJECT || v.kind == FZ_VARIANT_ARRAY) {
        return shape_of_nested(a, item, v.kind == FZ_VARIANT_OBJECT, v.n, depth);
    }
    struct shape s = {.kind = kinds[v.kind]};
    if (s.kind == SHAPE_DECIMAL) {
        while (v.scale > 0 && v.decimal % 10 == 0) {
            v.decimal /= 10;
            v.scale--;
        }
        int digits = fz_decimal_digits(v.decimal);
        s.scale = v.scale;
        s.precision = digits > v.scale ? digits : v.scale;
    }
    return new_shape(a, s);
}

static void print_name(struct fz_buf *out, struct fz_str name) { // in backquotes unless it is a plain word
    bool plain = name.len > 0, digits = true;
    for (size_t i = 0; i < name.len; i++) {
        char c = name.ptr[i];
        bool digit = c >= '0' && c <= '9';
        plain = plain && (digit || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'));
        digits = digits && digit;
    }
    if (plain && !digits) {
        fz_buf_append(out, name.ptr, name.len);
        return;
    }
    fz_buf_putc(out, '`');
    for (size_t i = 0; i < name.len; i++) {
        fz_buf_puts(out, name.ptr[i] == '`' ? "`" : "");
        fz_buf_putc(out, name.ptr[i]);
    }
    fz_buf_putc(out, '`');
}

static void print_shape(struct fz_buf *out, const struct shape *s) { // as deep as the variant was
    fz_buf_puts(out, shape_names[s->kind]);
    if (s->kind == SHAPE_DECIMAL) {
        fz_buf_printf(out, "(%d,%d)", s->precision, s->scale);
    }
    if (s->kind != SHAPE_ARRAY && s->kind != SHAPE_OBJECT) {
        return;
    }
    fz_buf_putc(out, '<');
    for (size_t i = 0; i < s->n; i++) {
        fz_buf_puts(out, i > 0 ? ", " : "");
        if (s->kind == SHAPE_OBJECT) {
            print_name(out, s->members[i].name);
            fz_buf_puts(out, ": ");
        }
        print_shape(out, s->members[i].shape);
    }
    fz_buf_putc(out, '>');
}

FZ_KERNEL_RUN(k_schema_of_variant) {
    (void)n_args;
    struct fz_arena arena = {0};
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        struct fz_variant_item item;
        if (!fz_column_is_valid(&args[0], i) || !fz_variant_root(fz_col_str(&args[0], i), &item)) {
            fz_column_set_null(out, i);
            continue;
        }
        print_shape(&buf, shape_of(&arena, item, 0));
        rc = fz_col_take_buf(out, i, &buf, strings, err);
        fz_arena_dispose(&arena);
    }
    fz_buf_dispose(&buf);
    return rc;
}

FZ_KERNEL_RUN(k_schema_of_variants) { // (list of variants, NULL for none)
    (void)n_args;
    struct fz_arena arena = {0};
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        const struct shape *s = &shape_void;
        struct fz_variant_item item;
        struct fz_list_span span = {0, 0};
        if (fz_column_is_valid(&args[0], i)) {
            span = ((const struct fz_list_span *)args[0].data)[i];
        }
        for (size_t k = 0; k < span.length; k++) {
            size_t at = (size_t)span.offset + k;
            if (fz_column_is_valid(&args[0].children[0], at) &&
                fz_variant_root(fz_col_str(&args[0].children[0], at), &item)) {
                s = merge(&arena, s, shape_of(&arena, item, 0));
            }
        }
        print_shape(&buf, s);
        rc = fz_col_take_buf(out, i, &buf, strings, err);
        fz_arena_dispose(&arena);
    }
    fz_buf_dispose(&buf);
    return rc;
}

const struct fz_kernel_row fz_kernels_variant_schema[] = {
    {"fz_schema_of_variant", "v", "s", true, k_schema_of_variant},
    {"fz_schema_of_variants", "a", "s", false, k_schema_of_variants},
};
FZ_KERNELS(kernels_variant_schema);
