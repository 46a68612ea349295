// A table's sort order as an ORDER BY list of DuckDB. Identity sorts by the column. A transform that keeps order may be left out where it
// is the last key; before other keys it is computed by a kernel, because rows equal under it are ordered by what follows.
#include <stdio.h>

#include "base/text.h"
#include "change/change_priv.h"
#include "data/transform.h"

enum { MAX_PATH = 16 };

static enum fz_code register_transform(struct fz_duck *duck, const struct fz_type *source, const struct fz_type *result,
                                       char *name, size_t size, struct fz_err *err) {
    snprintf(name, size, "fz_sort_%d_%d_%d_%d", (int)source->id, source->precision, source->scale, (int)result->id);
    struct fz_scalar_kernel kernel = {.name = name,
                                      .n_args = 2,
                                      .args = {fz_type_primitive(FZ_TYPE_STRING), source},
                                      .result = result,
                                      .null_in_null_out = true,
                                      .run = fz_kernel_transform};
    return duck != NULL ? fz_duck_register_kernels(duck, &kernel, 1, err) : FZ_OK;
}

// The fields from a top-level column down to `id`, and their ordinals; 0 when it is not there or lies inside a list or map.
struct step {
    const struct fz_field *field;
    size_t ordinal;
};
static size_t find_path(const struct fz_type *type, int32_t id, struct step *path, size_t depth) {
    for (size_t i = 0; depth < MAX_PATH && i < type->n_fields; i++) {
        path[depth] = (struct step){&type->fields[i], i + 1};
        if (type->fields[i].id == id) {
            return depth + 1;
        }
        size_t n =
            type->fields[i].type->id == FZ_TYPE_STRUCT ? find_path(type->fields[i].type, id, path, depth + 1) : 0;
        if (n > 0) {
            return n;
        }
    }
    return 0;
}

static void print_path(struct fz_buf *out, const char *prefix, const struct step *path, size_t n) {
    for (size_t i = 1; i < n; i++) {
        fz_buf_puts(out, "struct_extract(");
    }
    fz_buf_printf(out, "%s%d", prefix, path[0].field->id);
    for (size_t i = 1; i < n; i++) {
        fz_buf_printf(out, ", 'f%zu')", path[i].ordinal);
    }
}

enum fz_code fz_sort_order_sql(struct fz_duck *duck, const struct fz_metadata *m, const char *prefix,
                               struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_sort_order *order = fz_metadata_sort_order(m, m->default_sort_order_id);
    const struct fz_schema *schema = fz_metadata_current_schema(m);
    size_t start = out->len;
    for (size_t i = 0; order != NULL && i < order->n_fields; i++) {
        const struct fz_sort_field *f = &order->fields[i];
        struct step path[MAX_PATH];
        size_t n = find_path(schema->type, f->source_id, path, 0);
        const struct fz_type *source = n > 0 ? path[n - 1].field->type : NULL, *result = NULL;
        if (n == 0 || source->n_fields > 0 ||
            f->transform.kind >= FZ_TRANSFORM_VOID) { // no order here: unsorted, and the file says so
            if (out->ptr != NULL) {
                out->len = start;
                out->ptr[start] = 0;
            }
            return FZ_OK;
        }
        bool by_source = f->transform.kind == FZ_TRANSFORM_IDENTITY ||
                         (f->transform.kind != FZ_TRANSFORM_BUCKET && i + 1 == order->n_fields);
        fz_buf_puts(out, i > 0 ? ", " : "");
        if (by_source) {
            // DuckDB takes sorted columns back from the sort key, where -0.0 is 0.0: the key must not be the column itself.
            bool floating = source->id == FZ_TYPE_FLOAT || source->id == FZ_TYPE_DOUBLE;
            fz_buf_puts(out, floating ? "(1 * " : "");
            print_path(out, prefix, path, n);
            fz_buf_puts(out, floating ? ")" : "");
        } else {
            char name[64];
            FZ_TRY(fz_transform_result_type(&f->transform, source, &result, err));
            FZ_TRY(register_transform(duck, source, result, name, sizeof name, err));
            fz_buf_printf(out, "%s('", name);
            fz_transform_print(out, &f->transform);
            fz_buf_puts(out, "', ");
            print_path(out, prefix, path, n);
            fz_buf_putc(out, ')');
        }
        fz_buf_printf(out, " %s NULLS %s", f->descending ? "DESC" : "ASC", f->nulls_last ? "LAST" : "FIRST");
    }
    rc = fz_buf_check(out, err);
out:
    return rc;
}
