// Shared by the kernels: values out of text as Spark reads them, zones, writing results. Kernels are pure and never raise: NULL on failure.
#ifndef FZ_SQL_KERNELS_PRIV_H
#define FZ_SQL_KERNELS_PRIV_H

#include "base/text.h"
#include "duck/duck.h"

// kernels_parse.c: text as Spark's casts take it (trimmed of blanks and control characters). False: not such a value.
struct fz_str fz_text_trim(struct fz_str s);
bool fz_text_to_i64(struct fz_str s, int64_t *out);
bool fz_text_to_double(struct fz_str s, double *out);
bool fz_text_to_bool(struct fz_str s, bool *out);
bool fz_text_to_date(struct fz_str s, int32_t *out);
// Local time and, when the text has one, its zone (offset or name). `has_date` false: a bare time.
struct fz_text_time {
    int64_t local_us;
    bool has_date, has_zone, fixed; // fixed: offset_us holds
    int64_t offset_us;
    struct fz_str zone;
};
bool fz_text_to_time(struct fz_str s, struct fz_text_time *out);
bool fz_text_to_ntz(struct fz_str s, int64_t *out);
bool fz_text_to_ts(struct fz_str s, const char *session_zone, int64_t *out);
float fz_float_of_double(double v); // kernels_cast.c: past the largest float: infinity
void fz_print_repaired(struct fz_buf *out, struct fz_str bytes); // kernels_cast.c: what is no UTF-8 becomes U+FFFD
bool fz_text_to_decimal(struct fz_str s, int precision, int scale, __int128 *out, bool *is_number);

// kernels_zone.c: IANA rules from the machine's zone database, offsets, UTC±h. NULL when the zone is unknown. Zones are cached for ever.
struct fz_zone;
const struct fz_zone *fz_zone_find(struct fz_str name);
int64_t fz_zone_offset_us(const struct fz_zone *zone, int64_t utc_us); // local = utc + offset
int64_t fz_zone_to_utc(const struct fz_zone *zone, int64_t local_us); // gap: forward; overlap: the earlier instant
const char *fz_zone_name(const struct fz_zone *zone);
const char *fz_zone_abbreviation(const struct fz_zone *zone, int64_t utc_us);

// kernels_number.c
bool fz_dec_div_exact(__int128 a, int sa, __int128 b, int sb, int scale,
                      __int128 *out); // HALF_UP; false: does not fit 38 digits

// kernels_time.c: Java patterns. Parsing gives local time (ntz) or the instant; false when the text does not fit.
bool fz_java_parse(struct fz_str text, struct fz_str pattern, const struct fz_zone *session, bool ntz, int64_t *out);
bool fz_java_format(struct fz_buf *out, struct fz_str pattern, int64_t local_us, const struct fz_zone *zone,
                    int64_t utc_us);

// kernels_json_tree.c: a tolerant JSON parser (Jackson's switches) into nodes that live until the next parse.
enum fz_json_kind {
    FZ_JSON_NULL,
    FZ_JSON_TRUE,
    FZ_JSON_FALSE,
    FZ_JSON_INTEGER,
    FZ_JSON_FLOAT,
    FZ_JSON_NAN,
    FZ_JSON_TEXT,
    FZ_JSON_ARRAY,
    FZ_JSON_OBJECT
};
struct fz_json_node {
    enum fz_json_kind kind;
    struct fz_str text; // numbers as written, texts decoded
    struct fz_str key; // member of an object
    int32_t child, next; // -1 none
};
struct fz_json_tree {
    bool no_single_quotes, unquoted_names, leading_zeros, no_nan, comments, control_characters, any_escape,
        primitives_as_string;
    struct fz_json_node *nodes;
    size_t n_nodes, cap_nodes;
    struct fz_arena texts; // decoded texts
    const char *p, *end;
};
bool fz_json_parse(struct fz_json_tree *t, struct fz_str text); // nodes[0] is the value; what follows it is ignored
void fz_json_dispose(struct fz_json_tree *t);
void fz_json_print(struct fz_buf *out, const struct fz_json_tree *t, int32_t node); // compact, numbers printed again
void fz_json_number(struct fz_buf *out, const struct fz_json_node *n);

// Column access.
static inline struct fz_str fz_col_str(const struct fz_column *c, size_t row) {
    const struct fz_string *s = (const struct fz_string *)c->data + row;
    return (struct fz_str){fz_string_ptr(s), s->length};
}
static inline int64_t fz_col_i64(const struct fz_column *c, size_t row) {
    switch (fz_type_width(c->type)) {
    case 1:
        return ((const int8_t *)c->data)[row];
    case 2:
        return ((const int16_t *)c->data)[row];
    case 4:
        return ((const int32_t *)c->data)[row];
    default:
        return ((const int64_t *)c->data)[row];
    }
}
static inline __int128 fz_col_dec(const struct fz_column *c, size_t row) {
    return fz_type_width(c->type) == 16 ? fz_i128_get(((const struct fz_i128 *)c->data)[row]) : fz_col_i64(c, row);
}
enum fz_code fz_col_put_str(struct fz_column *out, size_t row, const char *ptr, size_t len, struct fz_arena *strings,
                            struct fz_err *err); // copies
enum fz_code fz_col_take_buf(struct fz_column *out, size_t row, struct fz_buf *buf, struct fz_arena *strings,
                             struct fz_err *err); // copies and clears
enum fz_code fz_col_append_list(struct fz_column *out, size_t row, const struct fz_str *items, size_t n,
                                struct fz_arena *strings, struct fz_err *err);

// One table per file.
#define FZ_KERNEL_RUN(name)                                                                                            \
    static enum fz_code name(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,        \
                             struct fz_arena *strings, struct fz_err *err)
#define FZ_KERNEL_UNUSED ((void)args, (void)n_args, (void)strings, (void)err)
struct
    fz_kernel_row { // types as letters: b bool, y byte, i int, l long, d double, f float, s string, x binary, D date, T timestamptz, N timestamp, v variant,
    // h decimal(38,0), a any, [s list of strings
    const char *name, *args, *result; // args "a*": varargs
    bool null_in_null_out;
    enum fz_code (*run)(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                        struct fz_arena *strings, struct fz_err *err);
};
extern const struct fz_kernel_row fz_kernels_cast[], fz_kernels_number[], fz_kernels_text[], fz_kernels_format[],
    fz_kernels_regex[], fz_kernels_time[], fz_kernels_hash[], fz_kernels_json[], fz_kernels_variant[],
    fz_kernels_variant_schema[], fz_kernels_variant_get[];
extern const size_t fz_n_kernels_cast, fz_n_kernels_number, fz_n_kernels_text, fz_n_kernels_format, fz_n_kernels_regex,
    fz_n_kernels_time, fz_n_kernels_hash, fz_n_kernels_json, fz_n_kernels_variant, fz_n_kernels_variant_schema,
    fz_n_kernels_variant_get;
#define FZ_KERNELS(name) const size_t fz_n_##name = sizeof fz_##name / sizeof *fz_##name

// histogram_numeric over (list of numbers, bins), registered per type.
enum fz_code fz_kernel_histogram(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                                 struct fz_arena *strings, struct fz_err *err);
// from_json: registered per result type; fills `out` of any shape.
enum fz_code fz_kernel_from_json(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                                 struct fz_arena *strings, struct fz_err *err);
// variant_get(variant, path, session zone): registered per result type. Where a value does not fit the type the row is NULL, or, with
// `try`, the part that does not.
enum fz_code fz_kernel_variant_get(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                                   struct fz_arena *strings, struct fz_err *err);
enum fz_code fz_kernel_try_variant_get(const struct fz_column *args, size_t n_args, size_t n_rows,
                                       struct fz_column *out, struct fz_arena *strings, struct fz_err *err);
struct fz_variant_builder;
// A JSON value as the next value of the builder, borrowing from the tree; false: an object has a name twice.
bool fz_variant_put_json(struct fz_variant_builder *b, const struct fz_json_tree *t, int32_t node);
// variant_explode: a list of (pos, key, value) for each row; with `outer` one NULL where there would be none.
enum fz_code fz_kernel_variant_explode(const struct fz_column *args, size_t n_args, size_t n_rows,
                                       struct fz_column *out, struct fz_arena *strings, struct fz_err *err);
enum fz_code fz_kernel_variant_explode_outer(const struct fz_column *args, size_t n_args, size_t n_rows,
                                             struct fz_column *out, struct fz_arena *strings, struct fz_err *err);
bool fz_variant_path_ok(struct fz_str path);

void fz_kernel_put_code(struct fz_buf *out, int32_t code); // as UTF-8
// A kernel that fills `buf` with the text or bytes of row i; NULL where `expression` is false.
#define FZ_KERNEL_TO_BYTES(name, expression)                                                                           \
    FZ_KERNEL_RUN(name) {                                                                                              \
        (void)n_args;                                                                                                  \
        struct fz_buf buf = {0};                                                                                       \
        enum fz_code rc = FZ_OK;                                                                                       \
        for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {                                                           \
            if (expression) {                                                                                          \
                rc = fz_col_take_buf(out, i, &buf, strings, err);                                                      \
            } else {                                                                                                   \
                fz_column_set_null(out, i);                                                                            \
                fz_buf_clear(&buf);                                                                                    \
            }                                                                                                          \
        }                                                                                                              \
        fz_buf_dispose(&buf);                                                                                          \
        return rc;                                                                                                     \
    }

#endif
