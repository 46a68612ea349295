// Reading and checking variants.
#include "base/text.h"
#include "data/variant_priv.h"

// ---- metadata

bool fz_variant_read_names(struct fz_str variant, struct fz_variant_names *out) {
    const uint8_t *p = (const uint8_t *)variant.ptr;
    if (variant.len < 3 || (p[0] & 15) != 1) {
        return false;
    }
    size_t width = (size_t)(p[0] >> 6) + 1, len = variant.len - 1;
    if (len < width) {
        return false;
    }
    size_t n = fz_variant_read_le(p + 1, width);
    len -= width;
    if (n >= len / width) { // n + 1 offsets
        return false;
    }
    *out = (struct fz_variant_names){.offsets = p + 1 + width, .width = width, .n = n};
    out->bytes = out->offsets + (n + 1) * width;
    len -= (n + 1) * width;
    out->n_bytes = fz_variant_read_le(out->offsets + n * width, width);
    out->size = 1 + width + (n + 1) * width + out->n_bytes;
    return out->n_bytes <= len;
}

bool fz_variant_name_at(const struct fz_variant_names *names, size_t id, struct fz_str *out) {
    if (id >= names->n) {
        return false;
    }
    size_t start = fz_variant_read_le(names->offsets + id * names->width, names->width),
           end = fz_variant_read_le(names->offsets + (id + 1) * names->width, names->width);
    if (start > end || end > names->n_bytes) {
        return false;
    }
    *out = (struct fz_str){(const char *)names->bytes + start, end - start};
    return true;
}

size_t fz_variant_metadata_size(struct fz_str variant) {
    struct fz_variant_names names;
    return fz_variant_read_names(variant, &names) ? names.size : 0;
}

bool fz_variant_name_id(struct fz_str metadata, struct fz_str name, uint32_t *id) {
    struct fz_variant_names names;
    struct fz_str text;
    if (!fz_variant_read_names(metadata, &names)) {
        return false;
    }
    for (size_t i = 0; i < names.n; i++) {
        if (fz_variant_name_at(&names, i, &text) && fz_str_eq(text, name)) {
            *id = (uint32_t)i;
            return true;
        }
    }
    return false;
}

// ---- values

static const uint8_t primitive_sizes[] = {0, 0, 0, 1, 2, 4, 8, 8, 5, 9, 17, 4, 8, 8, 4, 0, 0, 8, 8, 8, 16};

static bool read_primitive(struct fz_variant_level *v, const uint8_t *p, size_t len) {
    if (v->header >= (int)sizeof primitive_sizes) {
        return false;
    }
    if (v->header == FZ_VARIANT_BINARY || v->header == FZ_VARIANT_STRING) {
        if (len < 5) {
            return false;
        }
        v->n = fz_variant_read_le(p + 1, 4);
        v->data = p + 5;
        v->size = 5 + v->n;
        return v->n <= len - 5;
    }
    v->n = primitive_sizes[v->header];
    v->data = p + 1;
    v->size = 1 + v->n;
    return v->size <= len;
}

bool fz_variant_read_level(const uint8_t *p, size_t len, struct fz_variant_level *v) {
    if (len == 0) {
        return false;
    }
    *v = (struct fz_variant_level){.basic = p[0] & 3, .header = p[0] >> 2};
    if (v->basic == FZ_VARIANT_BASIC_PRIMITIVE) {
        return read_primitive(v, p, len);
    }
    if (v->basic == FZ_VARIANT_BASIC_SHORT_TEXT) {
        v->n = (size_t)v->header;
        v->data = p + 1;
        v->size = 1 + v->n;
        return v->size <= len;
    }
    bool object = v->basic == FZ_VARIANT_BASIC_OBJECT, large = (v->header >> (object ? 4 : 2) & 1) != 0;
    size_t n_width = large ? 4 : 1;
    v->offset_width = (size_t)(v->header & 3) + 1;
    v->id_width = object ? (size_t)(v->header >> 2 & 3) + 1 : 0;
    if (len - 1 < n_width) {
        return false;
    }
    v->n = fz_variant_read_le(p + 1, n_width);
    size_t left = len - 1 - n_width, each = v->id_width + v->offset_width;
    if (left < v->offset_width || v->n > (left - v->offset_width) / each) {
        return false;
    }
    v->ids = p + 1 + n_width;
    v->offsets = v->ids + v->n * v->id_width;
    v->data = v->offsets + (v->n + 1) * v->offset_width;
    left -= v->n * each + v->offset_width;
    v->n_data = fz_variant_read_le(v->offsets + v->n * v->offset_width, v->offset_width);
    v->size = 1 + n_width + v->n * each + v->offset_width + v->n_data;
    return v->n_data <= left;
}

// Element i of an object or array.
bool fz_variant_element_at(const struct fz_variant_level *v, size_t i, const uint8_t **p, size_t *len) {
    size_t at = fz_variant_read_le(v->offsets + i * v->offset_width, v->offset_width);
    if (at >= v->n_data) {
        return false;
    }
    *p = v->data + at;
    *len = v->n_data - at;
    return true;
}

// `work`: values still allowed to be looked at. Offsets may make elements share bytes, so that a small variant could otherwise say it
// has very many values.
static bool check_value(const struct fz_variant_names *names, const uint8_t *p, size_t len, int depth, size_t *work,
                        size_t *size) {
    struct fz_variant_level v;
    if (depth > FZ_VARIANT_MAX_DEPTH || (*work)-- == 0 || !fz_variant_read_level(p, len, &v)) {
        return false;
    }
    *size = v.size;
    if (v.basic == FZ_VARIANT_BASIC_SHORT_TEXT ||
        (v.basic == FZ_VARIANT_BASIC_PRIMITIVE && v.header == FZ_VARIANT_STRING)) {
        return fz_utf8_valid((const char *)v.data, v.n);
    }
    if (v.basic == FZ_VARIANT_BASIC_PRIMITIVE) {
        bool decimal = v.header >= FZ_VARIANT_DECIMAL4 && v.header <= FZ_VARIANT_DECIMAL16;
        return !decimal || v.data[0] <= 38;
    }
    for (size_t i = 0; i < v.n; i++) {
        const uint8_t *element;
        size_t left, used;
        struct fz_str name;
        if (v.ids != v.offsets &&
            !fz_variant_name_at(names, fz_variant_read_le(v.ids + i * v.id_width, v.id_width), &name)) {
            return false;
        }
        if (!fz_variant_element_at(&v, i, &element, &left) ||
            !check_value(names, element, left, depth + 1, work, &used)) {
            return false;
        }
    }
    return true;
}

enum fz_code fz_variant_check(struct fz_str variant, struct fz_err *err) {
    struct fz_variant_names names;
    struct fz_str name;
    size_t size = 0, work = variant.len + 16;
    if (!fz_variant_read_names(variant, &names)) {
        return fz_fail(err, FZ_CORRUPT, "a variant's metadata is damaged or not of version 1");
    }
    for (size_t i = 0; i < names.n; i++) {
        if (!fz_variant_name_at(&names, i, &name) || !fz_utf8_valid(name.ptr, name.len)) {
            return fz_fail(err, FZ_CORRUPT, "a variant's metadata is damaged: name %zu", i);
        }
    }
    const uint8_t *value = (const uint8_t *)variant.ptr + names.size;
    if (!check_value(&names, value, variant.len - names.size, 0, &work, &size) || size != variant.len - names.size) {
        return fz_fail(err, FZ_CORRUPT, "a variant's value is damaged, or nested deeper than %d levels",
                       FZ_VARIANT_MAX_DEPTH);
    }
    return FZ_OK;
}

bool fz_variant_members(struct fz_str metadata, struct fz_str value, struct fz_variant_member *out, size_t *n) {
    struct fz_variant_level v;
    struct fz_variant_names names;
    size_t room = *n;
    if (!fz_variant_read_names(metadata, &names) || !fz_variant_read_level((const uint8_t *)value.ptr, value.len, &v) ||
        v.basic != FZ_VARIANT_BASIC_OBJECT) {
        return false;
    }
    *n = v.n;
    for (size_t i = 0; i < v.n && i < room; i++) {
        const uint8_t *element;
        size_t left;
        struct fz_variant_level inner;
        out[i].id = fz_variant_read_le(v.ids + i * v.id_width, v.id_width);
        if (!fz_variant_name_at(&names, out[i].id, &out[i].name) || !fz_variant_element_at(&v, i, &element, &left) ||
            !fz_variant_read_level(element, left, &inner)) {
            return false;
        }
        out[i].start = (size_t)((const char *)element - value.ptr);
        out[i].end = out[i].start + inner.size;
    }
    return true;
}

// ---- taking apart

bool fz_variant_root(struct fz_str variant, struct fz_variant_item *out) {
    size_t size = fz_variant_metadata_size(variant);
    *out = (struct fz_variant_item){variant, {variant.ptr + size, variant.len - size}};
    return size > 0 && size < variant.len;
}

bool fz_variant_view(struct fz_variant_item item, struct fz_variant_view *out) {
    struct fz_variant_level v;
    float f;
    if (!fz_variant_read_level((const uint8_t *)item.bytes.ptr, item.bytes.len, &v)) {
        return false;
    }
    *out = (struct fz_variant_view){.kind = v.header, .size = v.size};
    if (v.basic == FZ_VARIANT_BASIC_OBJECT || v.basic == FZ_VARIANT_BASIC_ARRAY) {
        out->kind = v.basic == FZ_VARIANT_BASIC_OBJECT ? FZ_VARIANT_OBJECT : FZ_VARIANT_ARRAY;
        out->n = v.n;
        return true;
    }
    if (v.basic == FZ_VARIANT_BASIC_SHORT_TEXT) {
        out->kind = FZ_VARIANT_STRING;
    }
    switch (out->kind) {
    case FZ_VARIANT_STRING:
    case FZ_VARIANT_BINARY:
    case FZ_VARIANT_UUID:
        out->text = (struct fz_str){(const char *)v.data, v.n};
        return true;
    case FZ_VARIANT_DOUBLE:
        memcpy(&out->f64, v.data, 8);
        return true;
    case FZ_VARIANT_FLOAT:
        memcpy(&f, v.data, 4);
        out->f64 = (double)f;
        return true;
    case FZ_VARIANT_DECIMAL4:
    case FZ_VARIANT_DECIMAL8:
    case FZ_VARIANT_DECIMAL16:
        out->scale = v.data[0];
        out->decimal = v.n == 17 ? fz_variant_read_i128(v.data + 1) : fz_variant_read_signed(v.data + 1, v.n - 1);
        return out->scale <= 38;
    default:
        out->i64 = v.n > 0 ? fz_variant_read_signed(v.data, v.n) : out->kind == FZ_VARIANT_TRUE;
        return true;
    }
}

bool fz_variant_child(struct fz_variant_item item, size_t i, struct fz_str *name, struct fz_variant_item *out) {
    struct fz_variant_level v;
    struct fz_variant_names names;
    const uint8_t *element;
    size_t left;
    if (!fz_variant_read_level((const uint8_t *)item.bytes.ptr, item.bytes.len, &v) ||
        v.basic < FZ_VARIANT_BASIC_OBJECT || i >= v.n || !fz_variant_element_at(&v, i, &element, &left)) {
        return false;
    }
    *out = (struct fz_variant_item){item.metadata, {(const char *)element, left}};
    if (name == NULL || v.basic != FZ_VARIANT_BASIC_OBJECT) {
        return true;
    }
    return fz_variant_read_names(item.metadata, &names) &&
           fz_variant_name_at(&names, fz_variant_read_le(v.ids + i * v.id_width, v.id_width), name);
}

bool fz_variant_find(struct fz_variant_item object, struct fz_str name, struct fz_variant_item *out) {
    struct fz_variant_level v;
    struct fz_variant_names names;
    struct fz_str text;
    if (!fz_variant_read_level((const uint8_t *)object.bytes.ptr, object.bytes.len, &v) ||
        v.basic != FZ_VARIANT_BASIC_OBJECT || !fz_variant_read_names(object.metadata, &names)) {
        return false;
    }
    for (size_t i = 0; i < v.n; i++) { // in the order of their names, but by which order of texts writers do not agree
        if (fz_variant_name_at(&names, fz_variant_read_le(v.ids + i * v.id_width, v.id_width), &text) &&
            fz_str_eq(text, name)) {
            return fz_variant_child(object, i, NULL, out);
        }
    }
    return false;
}
