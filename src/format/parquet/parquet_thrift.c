// Thrift compact protocol: see parquet_thrift.h. Written after the Thrift compact protocol specification.
#include "format/parquet/parquet_thrift.h"

enum { MAX_SKIP_DEPTH = 48 };

void fz_thrift_fault(struct fz_thrift_in *in, const char *what) {
    if (in->fault == NULL) {
        in->fault = what;
    }
    in->pos = in->end;
}

static uint8_t read_byte(struct fz_thrift_in *in) {
    if (in->pos >= in->end) {
        fz_thrift_fault(in, "the bytes end in the middle of a structure");
        return 0;
    }
    return *in->pos++;
}

static uint64_t read_varint(struct fz_thrift_in *in) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
        uint8_t b = read_byte(in);
        value |= (uint64_t)(b & 0x7f) << shift;
        if ((b & 0x80) == 0) {
            return value;
        }
    }
    fz_thrift_fault(in, "a number has more than ten bytes");
    return 0;
}

int64_t fz_thrift_read_int(struct fz_thrift_in *in) {
    uint64_t v = read_varint(in);
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

int32_t fz_thrift_read_i32(struct fz_thrift_in *in) {
    int64_t v = fz_thrift_read_int(in);
    if (v < INT32_MIN || v > INT32_MAX) {
        fz_thrift_fault(in, "a number does not fit 32 bits");
        return 0;
    }
    return (int32_t)v;
}

bool fz_thrift_read_bool(struct fz_thrift_in *in) {
    return read_byte(in) == FZ_THRIFT_TRUE;
}

struct fz_str fz_thrift_read_binary(struct fz_thrift_in *in) {
    uint64_t len = read_varint(in);
    if (len > (uint64_t)(in->end - in->pos)) {
        fz_thrift_fault(in, "a text is longer than the bytes that are left");
        return (struct fz_str){"", 0};
    }
    struct fz_str s = {(const char *)in->pos, (size_t)len};
    in->pos += len;
    return s;
}

bool fz_thrift_next_field(struct fz_thrift_in *in, struct fz_thrift_field *field) {
    uint8_t b = read_byte(in);
    if (in->fault != NULL || b == FZ_THRIFT_STOP) {
        return false;
    }
    unsigned delta = b >> 4;
    if (delta != 0) {
        field->id += (int)delta;
    } else {
        int64_t id = fz_thrift_read_int(in);
        if (id < INT16_MIN || id > INT16_MAX) {
            fz_thrift_fault(in, "a field number does not fit 16 bits");
            return false;
        }
        field->id = (int)id;
    }
    if (field->id > INT16_MAX) {
        fz_thrift_fault(in, "a field number does not fit 16 bits");
        return false;
    }
    unsigned type = b & 15;
    if (type > FZ_THRIFT_UUID || type == FZ_THRIFT_STOP) {
        fz_thrift_fault(in, "a field has an unknown type");
        return false;
    }
    field->type = (enum fz_thrift_type)type;
    return in->fault == NULL;
}

static bool read_list_header(struct fz_thrift_in *in, size_t min_bytes, unsigned *element, size_t *count) {
    uint8_t b = read_byte(in);
    uint64_t n = b >> 4;
    if (n == 15) {
        n = read_varint(in);
    }
    *element = b & 15;
    if (n > (uint64_t)(in->end - in->pos) / (min_bytes > 0 ? min_bytes : 1)) {
        fz_thrift_fault(in, "a list has more elements than the bytes that are left could hold");
        n = 0;
    }
    *count = (size_t)n;
    return in->fault == NULL;
}

static void skip_value(struct fz_thrift_in *in, unsigned type, bool in_list, int depth);

static void skip_elements(struct fz_thrift_in *in, unsigned type, size_t count, int depth) {
    for (size_t i = 0; i < count && in->fault == NULL; i++) {
        skip_value(in, type, true, depth);
    }
}

static void skip_bytes(struct fz_thrift_in *in, size_t n) {
    if ((size_t)(in->end - in->pos) < n) {
        fz_thrift_fault(in, "the bytes end in the middle of a structure");
        return;
    }
    in->pos += n;
}

static void skip_map(struct fz_thrift_in *in, int depth) {
    uint64_t n = read_varint(in);
    if (n == 0 || in->fault != NULL) {
        return;
    }
    uint8_t types = read_byte(in);
    if (n > (uint64_t)(in->end - in->pos)) {
        fz_thrift_fault(in, "a map has more entries than the bytes that are left could hold");
        return;
    }
    for (uint64_t i = 0; i < n && in->fault == NULL; i++) {
        skip_value(in, types >> 4, true, depth);
        skip_value(in, types & 15, true, depth);
    }
}

static void skip_value(struct fz_thrift_in *in, unsigned type, bool in_list, int depth) {
    if (depth > MAX_SKIP_DEPTH) {
        fz_thrift_fault(in, "structures are nested too deeply");
        return;
    }
    size_t count = 0;
    unsigned element = 0;
    switch (type) {
    case FZ_THRIFT_TRUE:
    case FZ_THRIFT_FALSE:
        if (in_list) {
            skip_bytes(in, 1);
        }
        return;
    case FZ_THRIFT_I8:
        skip_bytes(in, 1);
        return;
    case FZ_THRIFT_I16:
    case FZ_THRIFT_I32:
    case FZ_THRIFT_I64:
        (void)read_varint(in);
        return;
    case FZ_THRIFT_DOUBLE:
        skip_bytes(in, 8);
        return;
    case FZ_THRIFT_BINARY:
        (void)fz_thrift_read_binary(in);
        return;
    case FZ_THRIFT_UUID:
        skip_bytes(in, 16);
        return;
    case FZ_THRIFT_LIST:
    case FZ_THRIFT_SET:
        if (read_list_header(in, 1, &element, &count)) {
            skip_elements(in, element, count, depth + 1);
        }
        return;
    case FZ_THRIFT_MAP:
        skip_map(in, depth + 1);
        return;
    case FZ_THRIFT_STRUCT: {
        struct fz_thrift_field field = {0};
        while (fz_thrift_next_field(in, &field)) {
            skip_value(in, field.type, false, depth + 1);
        }
        return;
    }
    default:
        fz_thrift_fault(in, "a value has an unknown type");
        return;
    }
}

void fz_thrift_skip(struct fz_thrift_in *in, const struct fz_thrift_field *field) {
    skip_value(in, field->type, false, 0);
}

bool fz_thrift_get_i64(struct fz_thrift_in *in, const struct fz_thrift_field *field, int64_t *out) {
    if (field->type == FZ_THRIFT_I8) {
        *out = (int8_t)read_byte(in);
    } else if (field->type == FZ_THRIFT_I16 || field->type == FZ_THRIFT_I32 || field->type == FZ_THRIFT_I64) {
        *out = fz_thrift_read_int(in);
    } else {
        fz_thrift_skip(in, field);
        return false;
    }
    return in->fault == NULL;
}

bool fz_thrift_get_i32(struct fz_thrift_in *in, const struct fz_thrift_field *field, int32_t *out) {
    int64_t v = 0;
    if (!fz_thrift_get_i64(in, field, &v)) {
        return false;
    }
    if (v < INT32_MIN || v > INT32_MAX) {
        fz_thrift_fault(in, "a number does not fit 32 bits");
        return false;
    }
    *out = (int32_t)v;
    return true;
}

bool fz_thrift_get_bool(struct fz_thrift_in *in, const struct fz_thrift_field *field, bool *out) {
    if (field->type != FZ_THRIFT_TRUE && field->type != FZ_THRIFT_FALSE) {
        fz_thrift_skip(in, field);
        return false;
    }
    *out = field->type == FZ_THRIFT_TRUE;
    return true;
}

bool fz_thrift_get_binary(struct fz_thrift_in *in, const struct fz_thrift_field *field, struct fz_str *out) {
    if (field->type != FZ_THRIFT_BINARY) {
        fz_thrift_skip(in, field);
        return false;
    }
    *out = fz_thrift_read_binary(in);
    return in->fault == NULL;
}

static bool same_kind(unsigned got, enum fz_thrift_type want) {
    if (want == FZ_THRIFT_TRUE || want == FZ_THRIFT_FALSE) {
        return got == FZ_THRIFT_TRUE || got == FZ_THRIFT_FALSE;
    }
    if (want == FZ_THRIFT_I32 || want == FZ_THRIFT_I64) {
        return got == FZ_THRIFT_I16 || got == FZ_THRIFT_I32 || got == FZ_THRIFT_I64;
    }
    return got == (unsigned)want;
}

bool fz_thrift_get_list(struct fz_thrift_in *in, const struct fz_thrift_field *field, enum fz_thrift_type element,
                        size_t min_bytes, size_t *out_count) {
    if (field->type != FZ_THRIFT_LIST && field->type != FZ_THRIFT_SET) {
        fz_thrift_skip(in, field);
        return false;
    }
    unsigned got = 0;
    size_t count = 0;
    if (!read_list_header(in, 1, &got, &count)) {
        return false;
    }
    if (count > 0 && !same_kind(got, element)) {
        skip_elements(in, got, count, 1);
        return false;
    }
    if (count > (size_t)(in->end - in->pos) / (min_bytes > 0 ? min_bytes : 1)) {
        fz_thrift_fault(in, "a list has more elements than the bytes that are left could hold");
        return false;
    }
    *out_count = count;
    return true;
}

bool fz_thrift_get_struct(struct fz_thrift_in *in, const struct fz_thrift_field *field) {
    if (field->type != FZ_THRIFT_STRUCT) {
        fz_thrift_skip(in, field);
        return false;
    }
    return true;
}

void fz_thrift_put_varint(struct fz_thrift_out *out, uint64_t value) {
    uint8_t bytes[10];
    size_t n = 0;
    while (value >= 0x80) {
        bytes[n++] = (uint8_t)(value | 0x80);
        value >>= 7;
    }
    bytes[n++] = (uint8_t)value;
    fz_buf_append(out->buf, bytes, n);
}

void fz_thrift_write_int(struct fz_thrift_out *out, int64_t value) {
    fz_thrift_put_varint(out, ((uint64_t)value << 1) ^ (uint64_t)(value >> 63));
}

void fz_thrift_write_binary(struct fz_thrift_out *out, struct fz_str value) {
    fz_thrift_put_varint(out, value.len);
    fz_buf_append(out->buf, value.ptr, value.len);
}

void fz_thrift_write_bool(struct fz_thrift_out *out, bool value) {
    fz_buf_putc(out->buf, value ? FZ_THRIFT_TRUE : FZ_THRIFT_FALSE);
}

void fz_thrift_put_field(struct fz_thrift_out *out, int *last, int id, enum fz_thrift_type type) {
    int delta = id - *last;
    if (delta > 0 && delta <= 15) {
        fz_buf_putc(out->buf, (char)(delta << 4 | (int)type));
    } else {
        fz_buf_putc(out->buf, (char)type);
        fz_thrift_write_int(out, id);
    }
    *last = id;
}

void fz_thrift_put_i8(struct fz_thrift_out *out, int *last, int id, int value) {
    fz_thrift_put_field(out, last, id, FZ_THRIFT_I8);
    fz_buf_putc(out->buf, (char)value);
}

void fz_thrift_put_i32(struct fz_thrift_out *out, int *last, int id, int32_t value) {
    fz_thrift_put_field(out, last, id, FZ_THRIFT_I32);
    fz_thrift_write_int(out, value);
}

void fz_thrift_put_i64(struct fz_thrift_out *out, int *last, int id, int64_t value) {
    fz_thrift_put_field(out, last, id, FZ_THRIFT_I64);
    fz_thrift_write_int(out, value);
}

void fz_thrift_put_bool(struct fz_thrift_out *out, int *last, int id, bool value) {
    fz_thrift_put_field(out, last, id, value ? FZ_THRIFT_TRUE : FZ_THRIFT_FALSE);
}

void fz_thrift_put_binary(struct fz_thrift_out *out, int *last, int id, struct fz_str value) {
    fz_thrift_put_field(out, last, id, FZ_THRIFT_BINARY);
    fz_thrift_write_binary(out, value);
}

void fz_thrift_put_list(struct fz_thrift_out *out, int *last, int id, enum fz_thrift_type element, size_t count) {
    fz_thrift_put_field(out, last, id, FZ_THRIFT_LIST);
    if (count < 15) {
        fz_buf_putc(out->buf, (char)(count << 4 | (size_t)element));
    } else {
        fz_buf_putc(out->buf, (char)(0xf0 | (int)element));
        fz_thrift_put_varint(out, count);
    }
}

void fz_thrift_put_struct(struct fz_thrift_out *out, int *last, int id) {
    fz_thrift_put_field(out, last, id, FZ_THRIFT_STRUCT);
}

void fz_thrift_put_stop(struct fz_thrift_out *out) {
    fz_buf_putc(out->buf, FZ_THRIFT_STOP);
}
