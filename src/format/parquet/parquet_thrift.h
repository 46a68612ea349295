// Thrift's compact protocol, only what the Parquet structures need. Reading is bounds-checked and sticky: after the first fault
// every call returns zeroes and `fault` says what is wrong. Counts never exceed what the bytes that are left could hold.
// Used by parquet_meta_decode.c and parquet_meta_encode.c.
#ifndef FZ_FORMAT_PARQUET_PARQUET_THRIFT_H
#define FZ_FORMAT_PARQUET_PARQUET_THRIFT_H

#include "base/mem.h"

enum fz_thrift_type {
    FZ_THRIFT_STOP = 0,
    FZ_THRIFT_TRUE = 1,
    FZ_THRIFT_FALSE = 2,
    FZ_THRIFT_I8 = 3,
    FZ_THRIFT_I16 = 4,
    FZ_THRIFT_I32 = 5,
    FZ_THRIFT_I64 = 6,
    FZ_THRIFT_DOUBLE = 7,
    FZ_THRIFT_BINARY = 8,
    FZ_THRIFT_LIST = 9,
    FZ_THRIFT_SET = 10,
    FZ_THRIFT_MAP = 11,
    FZ_THRIFT_STRUCT = 12,
    FZ_THRIFT_UUID = 13,
};

struct fz_thrift_in {
    const uint8_t *pos, *end;
    const char *fault; // NULL while all is well
};
// One field header of a struct; start each struct with a zeroed one.
struct fz_thrift_field {
    int id;
    enum fz_thrift_type type;
};

// Steps to the next field of a struct; false at its end or on a fault.
bool fz_thrift_next_field(struct fz_thrift_in *in, struct fz_thrift_field *field);
// The value of the field just stepped to. Integers of any width are accepted for any integer field; a value of another kind is
// skipped and leaves *out untouched (what generated readers do).
bool fz_thrift_get_i64(struct fz_thrift_in *in, const struct fz_thrift_field *field, int64_t *out);
bool fz_thrift_get_i32(struct fz_thrift_in *in, const struct fz_thrift_field *field,
                       int32_t *out); // out of range is a fault
bool fz_thrift_get_bool(struct fz_thrift_in *in, const struct fz_thrift_field *field, bool *out);
bool fz_thrift_get_binary(struct fz_thrift_in *in, const struct fz_thrift_field *field, struct fz_str *out); // borrows
// Opens a list whose elements take at least `min_bytes` bytes each; false when it is not one of `element` kind (then skipped).
bool fz_thrift_get_list(struct fz_thrift_in *in, const struct fz_thrift_field *field, enum fz_thrift_type element,
                        size_t min_bytes, size_t *out_count);
bool fz_thrift_get_struct(struct fz_thrift_in *in,
                          const struct fz_thrift_field *field); // true: the struct's fields follow
void fz_thrift_skip(struct fz_thrift_in *in, const struct fz_thrift_field *field);
// Elements of a list.
int64_t fz_thrift_read_int(struct fz_thrift_in *in);
int32_t fz_thrift_read_i32(struct fz_thrift_in *in);
bool fz_thrift_read_bool(struct fz_thrift_in *in);
struct fz_str fz_thrift_read_binary(struct fz_thrift_in *in);
void fz_thrift_fault(struct fz_thrift_in *in, const char *what);

// Writing. `last` is the id of the last field written in the struct at hand (0 at its start).
struct fz_thrift_out {
    struct fz_buf *buf;
};
void fz_thrift_put_varint(struct fz_thrift_out *out, uint64_t value);
void fz_thrift_put_field(struct fz_thrift_out *out, int *last, int id, enum fz_thrift_type type);
void fz_thrift_put_i8(struct fz_thrift_out *out, int *last, int id, int value);
void fz_thrift_put_i32(struct fz_thrift_out *out, int *last, int id, int32_t value);
void fz_thrift_put_i64(struct fz_thrift_out *out, int *last, int id, int64_t value);
void fz_thrift_put_bool(struct fz_thrift_out *out, int *last, int id, bool value);
void fz_thrift_put_binary(struct fz_thrift_out *out, int *last, int id, struct fz_str value);
void fz_thrift_put_list(struct fz_thrift_out *out, int *last, int id, enum fz_thrift_type element, size_t count);
void fz_thrift_put_struct(struct fz_thrift_out *out, int *last,
                          int id); // then its fields with an own `last`, then put_stop
void fz_thrift_put_stop(struct fz_thrift_out *out);
// Elements of a list.
void fz_thrift_write_int(struct fz_thrift_out *out, int64_t value);
void fz_thrift_write_binary(struct fz_thrift_out *out, struct fz_str value);
void fz_thrift_write_bool(struct fz_thrift_out *out, bool value);

#endif
