// Building variants.
#include <stdlib.h>

#include "base/map.h"
#include "data/value.h"
#include "data/variant_priv.h"

static void put_le(struct fz_buf *out, uint64_t v, size_t width) {
    char bytes[8];
    for (size_t i = 0; i < width; i++) {
        bytes[i] = (char)(v >> 8 * i);
    }
    fz_buf_append(out, bytes, width);
}
static size_t width_of(size_t v) {
    return v < 1 << 8 ? 1 : v < 1 << 16 ? 2 : v < 1 << 24 ? 3 : 4;
}

void fz_variant_put_primitive(struct fz_buf *out, enum fz_variant_primitive type, const void *bytes, size_t len) {
    fz_buf_putc(out, (char)((unsigned)type << 2));
    if (type == FZ_VARIANT_BINARY || type == FZ_VARIANT_STRING) {
        put_le(out, len, 4);
    }
    fz_buf_append(out, bytes, len);
}

void fz_variant_put_decimal(struct fz_buf *out, enum fz_variant_primitive type, int scale, __int128 unscaled) {
    fz_buf_putc(out, (char)((unsigned)type << 2));
    fz_buf_putc(out, (char)scale);
    put_le(out, (uint64_t)unscaled, type == FZ_VARIANT_DECIMAL4 ? 4 : 8);
    if (type == FZ_VARIANT_DECIMAL16) {
        put_le(out, (uint64_t)(unscaled >> 64), 8);
    }
}

void fz_variant_put_text(struct fz_buf *out, struct fz_str text) {
    if (text.len > 63) {
        fz_variant_put_primitive(out, FZ_VARIANT_STRING, text.ptr, text.len);
        return;
    }
    fz_buf_putc(out, (char)(FZ_VARIANT_BASIC_SHORT_TEXT | text.len << 2));
    fz_buf_append(out, text.ptr, text.len);
}

static int by_name(const void *a, const void *b) {
    const struct fz_variant_member *x = a, *y = b;
    size_t n = x->name.len < y->name.len ? x->name.len : y->name.len;
    int order = n > 0 ? memcmp(x->name.ptr, y->name.ptr, n) : 0;
    return order != 0 ? order : (x->name.len > y->name.len) - (x->name.len < y->name.len);
}

static void put_elements(struct fz_buf *out, const struct fz_variant_member *e, size_t n, size_t offset_width,
                         const char *values) {
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        put_le(out, at, offset_width);
        at += e[i].end - e[i].start;
    }
    put_le(out, at, offset_width);
    for (size_t i = 0; i < n; i++) {
        fz_buf_append(out, values + e[i].start, e[i].end - e[i].start);
    }
}

static size_t total(const struct fz_variant_member *e, size_t n) {
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += e[i].end - e[i].start;
    }
    return bytes;
}

void fz_variant_put_object(struct fz_buf *out, struct fz_variant_member *members, size_t n, const char *values) {
    uint32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        largest = members[i].id > largest ? members[i].id : largest;
    }
    if (n > 1) {
        qsort(members, n, sizeof *members, by_name);
    }
    size_t id_width = width_of(largest), offset_width = width_of(total(members, n)), large = n > 255;
    fz_buf_putc(out, (char)(FZ_VARIANT_BASIC_OBJECT | (offset_width - 1) << 2 | (id_width - 1) << 4 | large << 6));
    put_le(out, n, large ? 4 : 1);
    for (size_t i = 0; i < n; i++) {
        put_le(out, members[i].id, id_width);
    }
    put_elements(out, members, n, offset_width, values);
}

void fz_variant_put_array(struct fz_buf *out, const struct fz_variant_member *elements, size_t n, const char *values) {
    size_t offset_width = width_of(total(elements, n)), large = n > 255;
    fz_buf_putc(out, (char)(FZ_VARIANT_BASIC_ARRAY | (offset_width - 1) << 2 | large << 4));
    put_le(out, n, large ? 4 : 1);
    put_elements(out, elements, n, offset_width, values);
}

// ---- whole variants

enum { FEW_NAMES = 16 }; // are looked through, more are hashed

void fz_variant_builder_clear(struct fz_variant_builder *b) {
    fz_buf_clear(&b->values);
    b->n_members = b->n_names = 0;
    if (b->index != NULL) {
        fz_map_dispose(b->index);
        fz_free(b->index);
        b->index = NULL;
    }
}

void fz_variant_builder_dispose(struct fz_variant_builder *b) {
    fz_variant_builder_clear(b);
    fz_buf_dispose(&b->values);
    fz_free(b->members);
    fz_free(b->names);
    *b = (struct fz_variant_builder){0};
}

static bool index_names(struct fz_variant_builder *b) { // all names so far, when they become many
    struct fz_map_entry *e;
    b->index = fz_calloc(1, sizeof *b->index);
    for (size_t i = 0; b->index != NULL && i < b->n_names; i++) {
        if (fz_map_put(b->index, b->names[i], &e, NULL, NULL) != FZ_OK) {
            return false;
        }
        e->value.i64 = (int64_t)i;
    }
    return b->index != NULL;
}

static uint32_t name_id(struct fz_variant_builder *b, struct fz_str name) {
    struct fz_map_entry *e;
    bool added = false;
    if (b->n_names == FEW_NAMES && b->index == NULL && !index_names(b)) {
        b->failed = true;
        return 0;
    }
    if (b->index != NULL) {
        if (fz_map_put(b->index, name, &e, &added, NULL) != FZ_OK) {
            b->failed = true;
            return 0;
        }
        if (!added) {
            return (uint32_t)e->value.i64;
        }
        e->value.i64 = (int64_t)b->n_names;
    }
    for (size_t i = 0; b->index == NULL && i < b->n_names; i++) {
        if (fz_str_eq(b->names[i], name)) {
            return (uint32_t)i;
        }
    }
    if (fz_grow((void **)&b->names, &b->cap_names, b->n_names + 1, sizeof *b->names, NULL) != FZ_OK) {
        b->failed = true;
        return 0;
    }
    b->names[b->n_names] = name;
    return (uint32_t)b->n_names++;
}

size_t fz_variant_builder_open(struct fz_variant_builder *b) {
    fz_variant_builder_member(b, (struct fz_str){0}); // holds where the value starts
    return b->n_members;
}

void fz_variant_builder_member(struct fz_variant_builder *b, struct fz_str name) {
    if (fz_grow((void **)&b->members, &b->cap_members, b->n_members + 1, sizeof *b->members, NULL) != FZ_OK) {
        b->failed = true;
        return;
    }
    uint32_t id = name.ptr != NULL ? name_id(b, name) : 0;
    b->members[b->n_members++] = (struct fz_variant_member){.name = name, .id = id, .start = b->values.len};
}

bool fz_variant_builder_close(struct fz_variant_builder *b, size_t mark, bool object) {
    if (b->failed || b->values.failed) {
        return true;
    }
    struct fz_variant_member *m = b->members + mark;
    size_t n = b->n_members - mark, start = m[-1].start, bytes = b->values.len - start;
    uint32_t largest = 0;
    b->n_members = mark - 1;
    for (size_t i = 0; object && i < n; i++) {
        largest = m[i].id > largest ? m[i].id : largest;
    }
    if (object && n > 1) {
        qsort(m, n, sizeof *m, by_name);
    }
    for (size_t i = 1; object && i < n; i++) {
        if (m[i].id == m[i - 1].id) {
            return false;
        }
    }
    size_t id_width = object ? width_of(largest) : 0, offset_width = width_of(bytes), large = n > 255,
           header = 1 + (large ? 4u : 1u) + n * id_width + (n + 1) * offset_width;
    struct fz_buf head = {0};
    fz_buf_putc(&head,
                (char)(object ? FZ_VARIANT_BASIC_OBJECT | (offset_width - 1) << 2 | (id_width - 1) << 4 | large << 6
                              : FZ_VARIANT_BASIC_ARRAY | (offset_width - 1) << 2 | large << 4));
    put_le(&head, n, large ? 4 : 1);
    for (size_t i = 0; object && i < n; i++) {
        put_le(&head, m[i].id, id_width);
    }
    for (size_t i = 0; i < n; i++) {
        put_le(&head, m[i].start - start, offset_width);
    }
    put_le(&head, bytes, offset_width);
    fz_buf_append(&b->values, head.ptr, header < head.len ? header : head.len); // makes the room
    if (head.failed || b->values.failed) {
        b->failed = true;
    } else {
        memmove(b->values.ptr + start + header, b->values.ptr + start, bytes);
        memcpy(b->values.ptr + start, head.ptr, header);
    }
    fz_buf_dispose(&head);
    return true;
}

void fz_variant_put_integer(struct fz_buf *out, int64_t v) {
    size_t width = v == (int8_t)v ? 1 : v == (int16_t)v ? 2 : v == (int32_t)v ? 4 : 8;
    enum fz_variant_primitive type = width == 1   ? FZ_VARIANT_INT8
                                     : width == 2 ? FZ_VARIANT_INT16
                                     : width == 4 ? FZ_VARIANT_INT32
                                                  : FZ_VARIANT_INT64;
    fz_buf_putc(out, (char)((unsigned)type << 2));
    put_le(out, (uint64_t)v, width);
}

void fz_variant_put_number(struct fz_buf *out, int scale, __int128 unscaled) {
    int digits = fz_decimal_digits(unscaled);
    digits = digits > scale ? digits : scale;
    fz_variant_put_decimal(out,
                           digits <= 9    ? FZ_VARIANT_DECIMAL4
                           : digits <= 18 ? FZ_VARIANT_DECIMAL8
                                          : FZ_VARIANT_DECIMAL16,
                           scale, unscaled);
}

static bool copy_value(struct fz_variant_builder *b, struct fz_variant_item item, int depth) {
    struct fz_variant_view v;
    struct fz_str name = {0};
    struct fz_variant_item child;
    b->failed |= b->values.failed;
    if (depth > FZ_VARIANT_MAX_DEPTH || b->failed || !fz_variant_view(item, &v)) {
        return false;
    }
    if (v.kind != FZ_VARIANT_OBJECT && v.kind != FZ_VARIANT_ARRAY) {
        fz_buf_append(&b->values, item.bytes.ptr, v.size);
        return true;
    }
    size_t mark = fz_variant_builder_open(b);
    for (size_t i = 0; i < v.n; i++) {
        if (!fz_variant_child(item, i, &name, &child)) {
            return false;
        }
        fz_variant_builder_member(b, name);
        if (!copy_value(b, child, depth + 1)) {
            return false;
        }
    }
    return fz_variant_builder_close(b, mark, v.kind == FZ_VARIANT_OBJECT);
}

bool fz_variant_builder_copy(struct fz_variant_builder *b, struct fz_variant_item item) {
    return copy_value(b, item, 0);
}

void fz_variant_builder_finish(struct fz_variant_builder *b, struct fz_buf *out) {
    size_t bytes = 0, at = 0;
    for (size_t i = 0; i < b->n_names; i++) {
        bytes += b->names[i].len;
    }
    size_t width = width_of(bytes > b->n_names ? bytes : b->n_names);
    fz_buf_putc(out, (char)(1 | (width - 1) << 6));
    put_le(out, b->n_names, width);
    for (size_t i = 0; i < b->n_names; i++) {
        put_le(out, at, width);
        at += b->names[i].len;
    }
    put_le(out, at, width);
    for (size_t i = 0; i < b->n_names; i++) {
        fz_buf_append(out, b->names[i].ptr, b->names[i].len);
    }
    fz_buf_append(out, b->values.ptr != NULL ? b->values.ptr : "", b->values.len);
    out->failed |= b->failed || b->values.failed;
}
