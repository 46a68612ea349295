// Iceberg's partition transforms as functions of SQL: (name, value).
#include "data/transform.h"
#include "sql/kernels_priv.h"

enum fz_code fz_kernel_transform(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                                 struct fz_arena *strings, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_transform transform = {0};
    (void)n_args;
    if (n_rows == 0) {
        return FZ_OK;
    }
    FZ_TRY(fz_transform_parse(&arena, fz_col_str(&args[0], 0), &transform, err)); // a literal: the same in every row
    for (size_t i = 0; i < n_rows; i++) {
        struct fz_value in = fz_value_at(&args[1], i, NULL), result;
        FZ_TRY(fz_transform_apply(&transform, &in, &result, err));
        if (result.is_null) {
            fz_column_set_null(out, i);
        } else if (fz_type_width(out->type) == sizeof(struct fz_string) && out->type->id != FZ_TYPE_DECIMAL &&
                   out->type->id != FZ_TYPE_UUID) {
            FZ_TRY(fz_col_put_str(out, i, result.u.bytes.ptr, result.u.bytes.len, strings, err));
        } else {
            FZ_TRY(fz_value_store(out, i, &result, err));
        }
    }
out:
    fz_arena_dispose(&arena);
    return rc;
}
