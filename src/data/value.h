// One value: literals of expressions, partition tuples, column bounds, defaults. Immutable, arena-allocated, borrowed.
#ifndef FZ_DATA_VALUE_H
#define FZ_DATA_VALUE_H

#include "data/batch.h"

struct fz_value {
    const struct fz_type *type;
    bool is_null;
    union {
        bool boolean;
        int64_t i64; // byte, short, int, long, date, time, timestamp*, intervals
        float f32;
        double f64;
        struct fz_i128
            i128; // decimal (unscaled), any precision; uuid as the plain big-endian number; calendar interval: its 16 bytes
        struct fz_str bytes; // string, fixed, binary, variant
        struct {
            const struct fz_value *items; // struct: one per field; list: elements; map: key, value, key, value …
            size_t n;
        } nested;
    } u;
};

struct fz_value fz_value_null(const struct fz_type *type);
const struct fz_value *fz_value_copy(struct fz_arena *arena, const struct fz_value *value); // deep
// Order of the spec for bounds and sorting: numbers by value, -0.0 < +0.0, NaN greatest, text and binary bytewise,
// booleans false < true. Both non-NULL and of the same type id. Structs and lists element by element, NULL first.
int fz_value_compare(const struct fz_value *a, const struct fz_value *b);
bool fz_value_equal(const struct fz_value *a,
                    const struct fz_value *b); // NULL equals NULL; -0.0 and 0.0 differ, NaN equals NaN
// Reads row `row` of a column (strings borrow from the column). Without memory for a nested value it reads as NULL.
struct fz_value fz_value_at(const struct fz_column *column, size_t row, struct fz_arena *arena /* nested only */);
// Writes into row `row` of an owned column (primitives and nested; strings borrow from the value). Grows the column. BUG when value
// and column are of different types; LIMIT when an integer or decimal does not fit the column's width.
enum fz_code fz_value_store(struct fz_column *column, size_t row, const struct fz_value *value, struct fz_err *err);

// Spec appendix D "Binary single-value serialization" (bounds, partition summaries).
enum fz_code fz_value_to_bound(struct fz_buf *out, const struct fz_value *value, struct fz_err *err);
// Decodes by byte length, so bounds written before a type promotion (int→long, float→double, date→timestamp) still read.
// Text that is not UTF-8 is CORRUPT. Bytes are copied into the arena; with arena NULL they are borrowed.
enum fz_code fz_value_from_bound(struct fz_arena *arena, const struct fz_type *type, struct fz_str bytes,
                                 struct fz_value *out, struct fz_err *err);
// Spec appendix C "JSON single-value serialization" (defaults), as JSON text.
enum fz_code fz_value_to_json(struct fz_buf *out, const struct fz_value *value, struct fz_err *err);
// Text for people, partition paths and SQL results: the conformance rendering without escapes ("2024-01-31", "199.90", hex for binary).
void fz_value_print(struct fz_buf *out, const struct fz_value *value);

// Decimal helpers. Unscaled 128-bit numbers.
void fz_decimal_print(struct fz_buf *out, __int128 unscaled, int scale);
bool fz_decimal_parse(struct fz_str text, int scale, __int128 *out,
                      bool *exact); // rounds HALF_UP to `scale`; false: not a number or > 38 digits
bool fz_decimal_rescale(__int128 value, int from_scale, int to_scale,
                        __int128 *out); // HALF_UP when the scale shrinks; false on overflow
int fz_decimal_digits(__int128 value); // of the absolute value; 1 for 0
__int128 fz_decimal_pow10(int n); // 0 <= n <= 38
size_t fz_decimal_to_bytes(__int128 value, uint8_t out[16]); // minimal big-endian two's complement; returns the length
bool fz_decimal_from_bytes(const uint8_t *bytes, size_t len, __int128 *out); // false when it does not fit 128 bits

// Truncation for bounds (spec: metrics modes). Lower: first n code points or bytes. Upper: then incremented; false = no upper bound possible.
bool fz_bound_truncate(struct fz_arena *arena, const struct fz_value *value, size_t n, bool upper,
                       struct fz_value *out);

#endif
