// Partition and sort transforms (spec "Partition Transforms").
#ifndef FZ_DATA_TRANSFORM_H
#define FZ_DATA_TRANSFORM_H

#include "data/value.h"

enum fz_transform_kind {
    FZ_TRANSFORM_IDENTITY,
    FZ_TRANSFORM_BUCKET,
    FZ_TRANSFORM_TRUNCATE,
    FZ_TRANSFORM_YEAR,
    FZ_TRANSFORM_MONTH,
    FZ_TRANSFORM_DAY,
    FZ_TRANSFORM_HOUR,
    FZ_TRANSFORM_VOID,
    FZ_TRANSFORM_OTHER, // unknown name: tables are readable, not writable, never pruned by it
};
struct fz_transform {
    enum fz_transform_kind kind;
    int32_t param; // bucket count or width
    const char *name; // as written for OTHER
};
enum fz_code fz_transform_parse(struct fz_arena *arena, struct fz_str text, struct fz_transform *out,
                                struct fz_err *err); // "bucket[16]"
void fz_transform_print(struct fz_buf *out, const struct fz_transform *t); // "bucket[16]"
// NULL when the source type does not fit (raises SCHEMA_MISMATCH).
enum fz_code fz_transform_result_type(const struct fz_transform *t, const struct fz_type *source,
                                      const struct fz_type **out, struct fz_err *err);
// NULL in, NULL out. Strings of the result may borrow from the value.
enum fz_code fz_transform_apply(const struct fz_transform *t, const struct fz_value *value, struct fz_value *out,
                                struct fz_err *err);
// Whole column: out column (owned storage of the result type, capacity >= n) gets n rows. Strings borrow from the source.
enum fz_code fz_transform_apply_column(const struct fz_transform *t, const struct fz_column *in, size_t n,
                                       struct fz_column *out, struct fz_err *err);
// As a kernel of the engine, registered per type of value and result: (transform as text, the same in every row; value).
enum fz_code fz_kernel_transform(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                                 struct fz_arena *strings, struct fz_err *err);
// Text for a partition path: "2017-11-16", "2017-11", "null", base64 for binary (not URL-encoded).
void fz_transform_print_value(struct fz_buf *out, const struct fz_transform *t, const struct fz_value *value);

#endif
