// Reading one level of a variant, shared by what prints, builds and takes variants apart. Every function checks against the bytes
// there are, so that they may be used on variants that nobody has checked.
#ifndef FZ_DATA_VARIANT_PRIV_H
#define FZ_DATA_VARIANT_PRIV_H

#include "data/variant.h"

enum { FZ_VARIANT_BASIC_PRIMITIVE, FZ_VARIANT_BASIC_SHORT_TEXT, FZ_VARIANT_BASIC_OBJECT, FZ_VARIANT_BASIC_ARRAY };

struct fz_variant_names { // the metadata
    const uint8_t *offsets, *bytes;
    size_t width, n, n_bytes, size; // size: of the whole metadata
};
bool fz_variant_read_names(struct fz_str variant, struct fz_variant_names *out);
bool fz_variant_name_at(const struct fz_variant_names *names, size_t id, struct fz_str *out);

struct fz_variant_level { // a value's parts, checked against the bytes there are
    int basic, header;
    const uint8_t *data; // behind the header; of objects and arrays: the elements
    size_t n; // elements; bytes of a text, binary or primitive
    const uint8_t *ids, *offsets;
    size_t id_width, offset_width, n_data, size; // n_data: bytes of all elements; size: of the whole value
};
bool fz_variant_read_level(const uint8_t *p, size_t len, struct fz_variant_level *v);
// Element i of an object or array.
bool fz_variant_element_at(const struct fz_variant_level *v, size_t i, const uint8_t **p, size_t *len);

static inline uint32_t fz_variant_read_le(const uint8_t *p, size_t width) {
    uint32_t v = 0;
    for (size_t i = 0; i < width; i++) {
        v |= (uint32_t)p[i] << 8 * i;
    }
    return v;
}
static inline int64_t fz_variant_read_signed(const uint8_t *p, size_t width) {
    uint64_t v = 0;
    for (size_t i = 0; i < width; i++) {
        v |= (uint64_t)p[i] << 8 * i;
    }
    size_t unused = 64 - 8 * width;
    return (int64_t)(v << unused) >> unused;
}
static inline __int128 fz_variant_read_i128(const uint8_t *p) {
    uint64_t low, high;
    memcpy(&low, p, 8);
    memcpy(&high, p + 8, 8);
    return (__int128)((unsigned __int128)high << 64 | low);
}

#endif
