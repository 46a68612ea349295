// Keys known at run time: the values that some columns of a table must have for a row to be of interest (the equality keys of a
// MERGE's source). Collected by any number of threads, sealed, then asked by all readers of a scan: can a range hold a key, which
// rows of a batch have one. The answer may be "maybe" for rows that have none (hashes, a bloom filter when the budget refuses
// more); it is never "no" for a row that has one. architecture.md section 4.3.
#ifndef FZ_SCAN_SCAN_KEYS_H
#define FZ_SCAN_SCAN_KEYS_H

#include "base/sys.h"
#include "data/value.h"

enum { FZ_SCAN_MAX_KEYS = 8 };
struct fz_scan_keys; // ref-counted
struct fz_scan_key_column {
    int32_t field_id;
    const struct fz_type *type; // of the table's column
    const struct fz_type *value_type; // of the keys that are added: the same, or another integer
    bool null_matches; // <=>: a NULL key matches NULL rows
};
// Whether rows of a column of that type can be told apart by keys of the other.
bool fz_scan_key_type_ok(const struct fz_type *type, const struct fz_type *value_type);
// `budget` (may be NULL) must outlive the keys.
enum fz_code fz_scan_keys_new(const struct fz_scan_key_column *columns, size_t n, struct fz_budget *budget,
                              struct fz_scan_keys **out, struct fz_err *err);
struct fz_scan_keys *fz_scan_keys_ref(struct fz_scan_keys *keys);
void fz_scan_keys_unref(struct fz_scan_keys *keys);
// One batch of keys, column i = column i of `new`. Any thread.
enum fz_code fz_scan_keys_add(struct fz_scan_keys *keys, const struct fz_batch *batch, struct fz_err *err);
enum fz_code fz_scan_keys_seal(struct fz_scan_keys *keys, struct fz_err *err); // after it: immutable

// ---- of sealed keys
size_t fz_scan_keys_count(const struct fz_scan_keys *keys); // columns
const struct fz_scan_key_column *fz_scan_keys_column(const struct fz_scan_keys *keys, size_t i);
int64_t fz_scan_keys_rows(const struct fz_scan_keys *keys); // rows added
struct fz_scan_key_facts {
    int64_t n_values, n_nulls; // of the rows added
    int64_t n_distinct; // -1: not counted (a bloom filter stands for the keys)
    bool has_range; // min and max are set: values of value_type, borrowed from the keys
    struct fz_value min, max;
    const int64_t
        *sorted; // integers (dates, timestamps, decimals up to 18 digits): the distinct values, ascending; else NULL
    const char *form; // "bitmap", "hash table", "bloom filter", "range": for EXPLAIN
};
void fz_scan_keys_facts(const struct fz_scan_keys *keys, size_t i, struct fz_scan_key_facts *out);
// Can a place whose non-NULL values of column i lie in [min, max] (NULL: not known) hold a matching row? Values of the column's type.
bool fz_scan_keys_may_lie_in(const struct fz_scan_keys *keys, size_t i, const struct fz_value *min,
                             const struct fz_value *max, int64_t value_count, int64_t null_count);
bool fz_scan_keys_has(const struct fz_scan_keys *keys, size_t i, const struct fz_value *value); // NULL values too
// Sets keep[r] to 0 for rows of column i that match nothing; others keep what they have. Returns how many are left.
size_t fz_scan_keys_filter(const struct fz_scan_keys *keys, size_t i, const struct fz_column *column, size_t n,
                           uint8_t *keep);
// The keys of column i in [min, max] for a bloom filter, at most `cap`: integers, or for text, binary and UUID the XXH64 of the
// bytes that Parquet hashes. Returns how many there are (more than cap: too many), SIZE_MAX when they are not known one by one.
size_t fz_scan_keys_list(const struct fz_scan_keys *keys, size_t i, const struct fz_value *min,
                         const struct fz_value *max, int64_t *out, size_t cap);
bool fz_scan_keys_are_hashes(const struct fz_scan_keys *keys, size_t i);

#endif
