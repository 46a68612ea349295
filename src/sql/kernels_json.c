// JSON: from_json, to_json, get_json_object and their like (spark-on-duckdb section 6).
#include "sql/kernels_priv.h"

enum fz_code fz_kernel_from_json(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out, struct fz_arena *strings, struct fz_err *err) {
    (void)args, (void)n_args, (void)n_rows, (void)out, (void)strings;
    return fz_fail(err, FZ_UNSUPPORTED, "from_json is not supported");
}
