// Theta sketches: how many distinct values there are, from the 4,096 smallest hashes. Serialised as Apache DataSketches' compact form
// (the Puffin blob apache-datasketches-theta-v1), so Spark, Trino and the DataSketches libraries read them, and we theirs.
#ifndef FZ_FORMAT_PUFFIN_THETA_H
#define FZ_FORMAT_PUFFIN_THETA_H

#include "base/mem.h"

struct fz_theta; // one thread at a time
enum fz_code fz_theta_new(struct fz_theta **out, struct fz_err *err);
void fz_theta_free(struct fz_theta *theta); // NULL is fine
// Adds one value by its bytes (Iceberg: single-value serialization).
void fz_theta_add(struct fz_theta *theta, const void *bytes, size_t len);
// `n` values of `width` bytes each, one after the other.
void fz_theta_add_fixed(struct fz_theta *theta, const void *values, size_t width, size_t n);
enum fz_code fz_theta_union(struct fz_theta *into, const struct fz_theta *other, struct fz_err *err);
double fz_theta_estimate(const struct fz_theta *theta);
// The compact, ordered form, appended.
enum fz_code fz_theta_encode(const struct fz_theta *theta, struct fz_buf *out, struct fz_err *err);

// What a serialised sketch says; versions of other writers too (unordered ones, any number of hashes).
struct fz_theta_info {
    bool empty, ordered;
    uint32_t retained;
    uint16_t seed_hash;
    double theta; // 0 < theta <= 1; 1: exact
    double estimate;
};
enum fz_code fz_theta_describe(const void *data, size_t len, struct fz_theta_info *out, struct fz_err *err);

#endif
