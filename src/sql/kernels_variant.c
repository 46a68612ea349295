// Variants out of SQL: parse_json, to_variant_object and casts to VARIANT; is_variant_null. docs: interface.md; every rule was asked of
// Spark (test/conformance/functions/variant*.test).
#include <math.h>

#include "data/variant.h"
#include "sql/kernels_priv.h"

#include "sql/ast.h"

// ---- parse_json ----
// Numbers without an exponent that fit a decimal are decimals, as Spark reads them.
static void put_fraction(struct fz_buf *out, struct fz_str text) {
    __int128 v = 0;
    double d = 0;
    const char *dot = memchr(text.ptr, '.', text.len);
    size_t scale = dot != NULL ? text.len - (size_t)(dot - text.ptr) - 1 : 0;
    bool exact = true, exponent = false;
    for (size_t i = 0; i < text.len; i++) {
        exponent |= text.ptr[i] == 'e' || text.ptr[i] == 'E';
    }
    if (!exponent && scale <= 38 && fz_decimal_parse(text, (int)scale, &v, &exact) && exact) {
        fz_variant_put_number(out, (int)scale, v);
        return;
    }
    if (!fz_parse_double(text, &d)) {
        d = *text.ptr == '-' ? -INFINITY : INFINITY; // too large
    }
    fz_variant_put_primitive(out, FZ_VARIANT_DOUBLE, &d, 8);
}

bool fz_variant_put_json(struct fz_variant_builder *b, const struct fz_json_tree *t, int32_t node) {
    const struct fz_json_node *n = &t->nodes[node];
    int64_t v;
    switch (n->kind) {
    case FZ_JSON_NULL:
    case FZ_JSON_TRUE:
    case FZ_JSON_FALSE:
        fz_variant_put_primitive(&b->values,
                                 n->kind == FZ_JSON_NULL   ? FZ_VARIANT_NULL
                                 : n->kind == FZ_JSON_TRUE ? FZ_VARIANT_TRUE
                                                           : FZ_VARIANT_FALSE,
                                 "", 0);
        return true;
    case FZ_JSON_INTEGER:
        if (fz_parse_i64(n->text, &v)) {
            fz_variant_put_integer(&b->values, v);
        } else {
            put_fraction(&b->values, n->text);
        }
        return true;
    case FZ_JSON_FLOAT:
        put_fraction(&b->values, n->text);
        return true;
    case FZ_JSON_NAN:
        return false;
    case FZ_JSON_TEXT:
        fz_variant_put_text(&b->values, n->text);
        return true;
    case FZ_JSON_ARRAY:
    case FZ_JSON_OBJECT: {
        bool object = n->kind == FZ_JSON_OBJECT;
        size_t mark = fz_variant_builder_open(b);
        for (int32_t k = n->child; k >= 0; k = t->nodes[k].next) {
            fz_variant_builder_member(b, object ? t->nodes[k].key : (struct fz_str){0});
            if (!fz_variant_put_json(b, t, k)) {
                return false;
            }
        }
        return fz_variant_builder_close(b, mark, object);
    }
    }
    return false;
}

FZ_KERNEL_RUN(k_parse_json) { // NULL: not JSON, or a name twice in an object
    (void)n_args;
    struct fz_json_tree tree = {.no_single_quotes = true, .no_nan = true};
    struct fz_variant_builder b = {0};
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        fz_variant_builder_clear(&b);
        if (fz_column_is_valid(&args[0], i) && fz_json_parse(&tree, fz_col_str(&args[0], i)) &&
            fz_variant_put_json(&b, &tree, 0)) {
            fz_variant_builder_finish(&b, &buf);
            rc = fz_col_take_buf(out, i, &buf, strings, err);
        } else {
            fz_column_set_null(out, i);
            rc = b.failed || b.values.failed ? fz_fail_nomem(err, 64) : FZ_OK;
        }
    }
    fz_buf_dispose(&buf);
    fz_variant_builder_dispose(&b);
    fz_json_dispose(&tree);
    return rc;
}

FZ_KERNEL_RUN(k_is_variant_null) {
    FZ_KERNEL_UNUSED;
    for (size_t i = 0; i < n_rows; i++) {
        struct fz_variant_item item;
        struct fz_variant_view v;
        ((uint8_t *)out->data)[i] = fz_column_is_valid(&args[0], i) &&
                                    fz_variant_root(fz_col_str(&args[0], i), &item) && fz_variant_view(item, &v) &&
                                    v.kind == FZ_VARIANT_NULL;
    }
    return FZ_OK;
}

// ---- SQL values as variants ----
static bool put_sql(struct fz_variant_builder *b, const struct fz_column *c, size_t row, const struct fz_type *t,
                    int depth);

static bool put_nested(struct fz_variant_builder *b, const struct fz_column *c, size_t row, const struct fz_type *t,
                       int depth) {
    bool ok = true;
    size_t mark = fz_variant_builder_open(b);
    if (t->id == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < t->n_fields && i < c->n_children && ok; i++) {
            fz_variant_builder_member(b, fz_str_of(t->fields[i].name));
            ok = put_sql(b, &c->children[i], row, t->fields[i].type, depth + 1);
        }
        return fz_variant_builder_close(b, mark, true) && ok;
    }
    struct fz_list_span span = ((const struct fz_list_span *)c->data)[row];
    bool map = t->id == FZ_TYPE_MAP;
    const struct fz_column *items = &c->children[0];
    for (size_t i = 0; i < span.length && ok; i++) {
        size_t at = (size_t)span.offset + i;
        fz_variant_builder_member(b, map ? fz_col_str(&items->children[0], at) : (struct fz_str){0});
        ok = put_sql(b, map ? &items->children[1] : items, at, t->fields[map ? 1 : 0].type, depth + 1);
    }
    return fz_variant_builder_close(b, mark, map) && ok;
}

static bool put_sql(struct fz_variant_builder *b, const struct fz_column *c, size_t row, const struct fz_type *t,
                    int depth) {
    struct fz_buf *out = &b->values;
    struct fz_variant_item item;
    int32_t day;
    int64_t us;
    if (depth > FZ_VARIANT_MAX_DEPTH) {
        return false;
    }
    if (!fz_column_is_valid(c, row)) {
        fz_variant_put_primitive(out, FZ_VARIANT_NULL, "", 0);
        return true;
    }
    switch ((int)t->id) {
    case FZ_TYPE_BOOLEAN:
        fz_variant_put_primitive(out, ((const uint8_t *)c->data)[row] ? FZ_VARIANT_TRUE : FZ_VARIANT_FALSE, "", 0);
        return true;
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        fz_variant_put_integer(out, fz_col_i64(c, row));
        return true;
    case FZ_TYPE_FLOAT:
        fz_variant_put_primitive(out, FZ_VARIANT_FLOAT, (const float *)c->data + row, 4);
        return true;
    case FZ_TYPE_DOUBLE:
        fz_variant_put_primitive(out, FZ_VARIANT_DOUBLE, (const double *)c->data + row, 8);
        return true;
    case FZ_TYPE_DECIMAL:
        fz_variant_put_number(out, t->scale, fz_col_dec(c, row));
        return true;
    case FZ_TYPE_DATE:
        day = ((const int32_t *)c->data)[row];
        fz_variant_put_primitive(out, FZ_VARIANT_DATE, &day, 4);
        return true;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        us = ((const int64_t *)c->data)[row];
        fz_variant_put_primitive(out, t->id == FZ_TYPE_TIMESTAMP ? FZ_VARIANT_TIMESTAMP : FZ_VARIANT_TIMESTAMPTZ, &us,
                                 8);
        return true;
    case FZ_TYPE_STRING:
        fz_variant_put_text(out, fz_col_str(c, row));
        return true;
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
        fz_variant_put_primitive(out, FZ_VARIANT_BINARY, fz_col_str(c, row).ptr, fz_col_str(c, row).len);
        return true;
    case FZ_TYPE_VARIANT:
        return fz_variant_root(fz_col_str(c, row), &item) && fz_variant_builder_copy(b, item);
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
    case FZ_TYPE_STRUCT:
        return put_nested(b, c, row, t, depth);
    default:
        return false;
    }
}

FZ_KERNEL_RUN(k_to_variant) { // (value, its type as text)
    (void)n_args;
    struct fz_arena arena = {0};
    struct fz_variant_builder b = {0};
    struct fz_buf buf = {0};
    const struct fz_type *type = NULL;
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        if (!fz_column_is_valid(&args[0], i)) {
            fz_column_set_null(out, i);
            continue;
        }
        if (type == NULL) {
            rc = fz_sql_parse_type(&arena, fz_col_str(&args[1], i), &type, err);
        }
        fz_variant_builder_clear(&b);
        if (rc == FZ_OK && put_sql(&b, &args[0], i, type, 0)) {
            fz_variant_builder_finish(&b, &buf);
            rc = fz_col_take_buf(out, i, &buf, strings, err);
        } else {
            fz_column_set_null(out, i);
            rc = rc == FZ_OK && (b.failed || b.values.failed) ? fz_fail_nomem(err, 64) : rc;
        }
    }
    fz_buf_dispose(&buf);
    fz_variant_builder_dispose(&b);
    fz_arena_dispose(&arena);
    return rc;
}

const struct fz_kernel_row fz_kernels_variant[] = {
    {"fz_parse_json", "s", "v", false, k_parse_json},
    {"fz_is_variant_null", "v", "b", false, k_is_variant_null},
    {"fz_to_variant", "as", "v", false, k_to_variant},
};
FZ_KERNELS(kernels_variant);
