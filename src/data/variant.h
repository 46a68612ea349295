// Variant values (Parquet's "Variant Binary Encoding" 1). In a batch a variant is one byte string: its metadata (the dictionary of
// field names) followed by its value, byte for byte as the file has them, which is also Iceberg's single-value form. Whoever lets
// variants in checks them with fz_variant_check, so that what is printed later cannot run out of bounds.
#ifndef FZ_DATA_VARIANT_H
#define FZ_DATA_VARIANT_H

#include "base/mem.h"

enum { FZ_VARIANT_MAX_DEPTH = 1000 }; // what a JSON text may have in Spark

// Bytes of the metadata at the front of a variant; 0 when it is no variant.
size_t fz_variant_metadata_size(struct fz_str variant);
// Whether metadata and value are sound: sizes, names, depth, UTF-8, nothing behind the value. CORRUPT or LIMIT says what is wrong.
enum fz_code fz_variant_check(struct fz_str variant, struct fz_err *err);
// As Spark's to_json prints it: members in the order of their names, decimals without trailing zeros, binary as base64, times as
// text. `offset_us` (may be NULL: UTC) gives the zone's offset at an instant, for values with a zone. False: not a sound variant.
bool fz_variant_print(struct fz_buf *out, struct fz_str variant, int64_t (*offset_us)(const void *zone, int64_t utc_us),
                      const void *zone);
// What CAST(v AS STRING) gives: texts and binaries as themselves, times without their zone, all else as fz_variant_print. *is_null: the
// variant null. The bytes of a binary need not be UTF-8.
bool fz_variant_print_cast(struct fz_buf *out, struct fz_str variant,
                           int64_t (*offset_us)(const void *zone, int64_t utc_us), const void *zone, bool *is_null);

// Taking variants apart. `bytes` starts with the value and may go on behind it; `metadata` is the whole variant or its metadata.
struct fz_variant_item {
    struct fz_str metadata, bytes;
};
enum { FZ_VARIANT_OBJECT = 100, FZ_VARIANT_ARRAY = 101 }; // kinds next to enum fz_variant_primitive
struct fz_variant_view {
    int kind; // enum fz_variant_primitive (booleans: FZ_VARIANT_TRUE or FALSE; all texts: FZ_VARIANT_STRING), object or array
    int64_t i64; // integers, dates, times
    double f64; // double, float
    __int128 decimal;
    int scale;
    struct fz_str text; // text, binary; uuid: its 16 bytes
    size_t n; // members of an object, elements of an array
    size_t size; // bytes of the whole value
};
bool fz_variant_root(struct fz_str variant, struct fz_variant_item *out);
bool fz_variant_view(struct fz_variant_item item, struct fz_variant_view *out); // false: damaged
// Member or element i, with its name in an object (`name` may be NULL).
bool fz_variant_child(struct fz_variant_item item, size_t i, struct fz_str *name, struct fz_variant_item *out);
bool fz_variant_find(struct fz_variant_item object, struct fz_str name, struct fz_variant_item *out);
// One value printed, as fz_variant_print and fz_variant_print_cast print a whole variant.
bool fz_variant_item_print(struct fz_buf *out, struct fz_variant_item item,
                           int64_t (*offset_us)(const void *zone, int64_t utc_us), const void *zone);
bool fz_variant_item_print_cast(struct fz_buf *out, struct fz_variant_item item,
                                int64_t (*offset_us)(const void *zone, int64_t utc_us), const void *zone,
                                bool *is_null);

// Building whole variants, in the form that Spark gives them: names in the order in which they first come, values of an object where
// they were put, its members by name. Names and texts are borrowed until fz_variant_builder_finish.
struct fz_variant_builder { // a zeroed struct is empty; clear before the next variant
    struct fz_buf values;
    struct fz_variant_member *members; // of the objects and arrays that are open
    size_t n_members, cap_members;
    struct fz_str *names;
    size_t n_names, cap_names;
    struct fz_map *index; // of the names, when they are many
    bool failed; // memory was short
};
void fz_variant_builder_clear(struct fz_variant_builder *b);
void fz_variant_builder_dispose(struct fz_variant_builder *b);
// Between open and close, member() or element() comes before each value that is put into b->values.
size_t fz_variant_builder_open(struct fz_variant_builder *b);
void fz_variant_builder_member(struct fz_variant_builder *b, struct fz_str name); // name.ptr NULL: an element
bool fz_variant_builder_close(struct fz_variant_builder *b, size_t mark, bool object); // false: two members of one name
void fz_variant_put_integer(struct fz_buf *out, int64_t v); // in the fewest bytes
void fz_variant_put_number(struct fz_buf *out, int scale, __int128 unscaled); // a decimal of up to 38 digits, likewise
bool fz_variant_builder_copy(struct fz_variant_builder *b, struct fz_variant_item item); // a value of another variant
void fz_variant_builder_finish(struct fz_variant_builder *b, struct fz_buf *out); // metadata and value

// Building values, for variants that a file holds in shredded form. Values are appended to `out`, without metadata.
enum fz_variant_primitive {
    FZ_VARIANT_NULL,
    FZ_VARIANT_TRUE,
    FZ_VARIANT_FALSE,
    FZ_VARIANT_INT8,
    FZ_VARIANT_INT16,
    FZ_VARIANT_INT32,
    FZ_VARIANT_INT64,
    FZ_VARIANT_DOUBLE,
    FZ_VARIANT_DECIMAL4,
    FZ_VARIANT_DECIMAL8,
    FZ_VARIANT_DECIMAL16,
    FZ_VARIANT_DATE,
    FZ_VARIANT_TIMESTAMPTZ,
    FZ_VARIANT_TIMESTAMP,
    FZ_VARIANT_FLOAT,
    FZ_VARIANT_BINARY,
    FZ_VARIANT_STRING,
    FZ_VARIANT_TIME,
    FZ_VARIANT_TIMESTAMPTZ_NS,
    FZ_VARIANT_TIMESTAMP_NS,
    FZ_VARIANT_UUID,
};
void fz_variant_put_primitive(struct fz_buf *out, enum fz_variant_primitive type, const void *bytes, size_t len);
void fz_variant_put_decimal(struct fz_buf *out, enum fz_variant_primitive type, int scale, __int128 unscaled);
void fz_variant_put_text(struct fz_buf *out, struct fz_str text);
struct fz_variant_member {
    struct fz_str name; // objects only
    uint32_t id; // of the name in the metadata
    size_t start, end; // of the value in the bytes given to put
};
// `members` of an object are sorted by name on the way; their names must differ.
void fz_variant_put_object(struct fz_buf *out, struct fz_variant_member *members, size_t n, const char *values);
void fz_variant_put_array(struct fz_buf *out, const struct fz_variant_member *elements, size_t n, const char *values);
// Members of an object value into `out` (room for *n, which becomes the true number); false: not an object.
bool fz_variant_members(struct fz_str metadata, struct fz_str value, struct fz_variant_member *out, size_t *n);
bool fz_variant_name_id(struct fz_str metadata, struct fz_str name, uint32_t *id); // of a name in the dictionary

#endif
