// The column batch: up to 2,048 rows. Its layout IS DuckDB's vector layout, so rows cross into and out of the engine by
// pointer or memcpy (a static assert in duck/ holds it):
//   boolean          uint8 0/1
//   byte short int long date(days) time(us) timestamp*(us or ns)   int8 int16 int32 int64 int32 int64 int64
//   float double     IEEE 754
//   decimal          int16 up to precision 4, int32 up to 9, int64 up to 18, else struct fz_i128
//   uuid             struct fz_i128 holding the big-endian value with its top bit flipped
//   intervals        day-time int64 microseconds, year-month int32 months, calendar 16 bytes {int32 months, int32 days, int64 us}
//   unknown          int32, always NULL
//   string fixed binary variant geo   struct fz_string (16 bytes: length, then inline bytes or 4-byte prefix + pointer)
//   list map         struct fz_list_entry_t {offset, length} into child rows; map child = struct(key, value) column
//   struct           no data of its own; children have the same row count; a NULL struct's children are NULL too
// Text has been validated as UTF-8 where the bytes entered (page, record, SQL literal), never later.
#ifndef FZ_DATA_BATCH_H
#define FZ_DATA_BATCH_H

#include "data/type.h"

enum { FZ_BATCH_ROWS = 2048 };

struct fz_i128 {
    uint64_t lower;
    int64_t upper;
};
static inline __int128 fz_i128_get(struct fz_i128 v) {
    return (__int128)((unsigned __int128)(uint64_t)v.upper << 64 | v.lower);
}
static inline struct fz_i128 fz_i128_of(__int128 v) {
    return (struct fz_i128){(uint64_t)v, (int64_t)(v >> 64)};
}

struct fz_string {
    uint32_t length;
    char prefix[4]; // first bytes; with length <= 12 the inline bytes go on into `tail`, unused bytes are zero
    union {
        const char *ptr;
        char tail[8];
    } u;
};
static inline const char *fz_string_ptr(const struct fz_string *s) {
    return s->length <= 12 ? s->prefix : s->u.ptr;
}
static inline struct fz_string fz_string_of(const char *ptr, size_t len) { // borrows ptr when len > 12
    struct fz_string s;
    memset(&s, 0, sizeof s);
    s.length = (uint32_t)len;
    if (len <= 12) {
        if (len > 0) {
            memcpy((char *)&s + 4, ptr, len);
        }
    } else {
        memcpy(s.prefix, ptr, 4);
        s.u.ptr = ptr;
    }
    return s;
}

struct fz_list_span {
    uint64_t offset, length;
};

struct fz_column {
    const struct fz_type *type;
    int32_t field_id; // 0 where it has none
    uint64_t *
        validity; // bit i of word i/64 = row i is not NULL; NULL pointer = no NULLs. Points to validity_storage or is borrowed
    void *data; // see above; NULL for struct
    size_t n_children; // struct: fields; list: 1 (element); map: 1 (struct of key, value)
    struct fz_column *children;
    // Storage. `data` and `validity_storage` are owned when owned_data is set; a consumer that wants a flat column to be filled
    // straight into its own memory (a DuckDB vector) sets data/validity_storage to it and clears owned_data.
    uint64_t *validity_storage;
    size_t capacity; // rows that data and validity_storage hold
    bool owned_data;
    size_t used_rows; // of a list's or map's child: rows taken so far by fz_column_copy, fz_value_store
    struct fz_type *owned_type; // of a map's child: the struct(key, value) type made by fz_column_init
};

struct fz_batch {
    size_t n_rows;
    size_t n_columns;
    struct fz_column *columns;
};

static inline bool fz_column_is_valid(const struct fz_column *c, size_t row) {
    return c->validity == NULL || (c->validity[row >> 6] >> (row & 63) & 1);
}

// Bytes of one value in the layout above; 0 for struct.
size_t fz_type_width(const struct fz_type *type);
bool fz_type_is_strings(const struct fz_type *type); // rows are struct fz_string

// One column per field, with owned storage for `capacity` rows (usually FZ_BATCH_ROWS); children of lists start empty and
// grow with fz_column_reserve.
enum fz_code fz_batch_init(struct fz_batch *batch, const struct fz_field *fields, size_t n, size_t capacity,
                           struct fz_err *err);
void fz_batch_dispose(struct fz_batch *batch);
enum fz_code fz_column_init(struct fz_column *column, const struct fz_type *type, size_t capacity, struct fz_err *err);
void fz_column_dispose(struct fz_column *column);
// Makes room for `rows` rows (children of structs too); keeps what is there.
enum fz_code fz_column_reserve(struct fz_column *column, size_t rows, struct fz_err *err);
// All rows valid again (validity = NULL), recursively.
void fz_column_reset(struct fz_column *column);
// Marks a row NULL (struct: children too) and zeroes its value. Rows up to `capacity` only; `validity` must be NULL or the column's
// own storage.
void fz_column_set_null(struct fz_column *column, size_t row);
// Copies `n` rows from `src` (from row src_row) to the end position dst_row of an owned column of the same type; strings
// are copied into `strings` (NULL: the pointers are kept). With `selection` the i-th row comes from source row selection[i]
// (src_row is not used then). NULL rows of the source are not looked at. Lists append to the child of `dst`.
enum fz_code fz_column_copy(struct fz_column *dst, size_t dst_row, const struct fz_column *src, size_t src_row,
                            const uint32_t *selection, size_t n, struct fz_arena *strings, struct fz_err *err);

// Where the next list of row `row` starts in the child: after everything that copy and store put there and after the lists
// of the rows before.
size_t fz_column_child_end(const struct fz_column *column, size_t row);

// A decimal that fits the column's precision, into a row of an own column.
static inline void fz_column_put_decimal(struct fz_column *column, size_t row, __int128 v) {
    switch (fz_type_width(column->type)) {
    case 2:
        ((int16_t *)column->data)[row] = (int16_t)v;
        break;
    case 4:
        ((int32_t *)column->data)[row] = (int32_t)v;
        break;
    case 8:
        ((int64_t *)column->data)[row] = (int64_t)v;
        break;
    default:
        ((struct fz_i128 *)column->data)[row] = fz_i128_of(v);
    }
}

#endif
