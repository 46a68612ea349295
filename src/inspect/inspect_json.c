// Building the document: values, bounds and types as JSON that reads well.
#include <stdio.h>

#include "base/text.h"
#include "inspect/inspect_priv.h"

void fz_inspect_put(struct fz_inspect *in, json_t *object, const char *key, json_t *value) {
    in->nomem |= value == NULL || json_object_set_new(object, key, value) != 0;
}

void fz_inspect_add(struct fz_inspect *in, json_t *array, json_t *value) {
    in->nomem |= value == NULL || json_array_append_new(array, value) != 0;
}

json_t *fz_inspect_object(struct fz_inspect *in, json_t *parent, const char *key) {
    json_t *object = json_object();
    fz_inspect_put(in, parent, key, object);
    return object;
}

json_t *fz_inspect_array(struct fz_inspect *in, json_t *parent, const char *key) {
    json_t *array = json_array();
    fz_inspect_put(in, parent, key, array);
    return array;
}

json_t *fz_inspect_row(struct fz_inspect *in, json_t *array) {
    json_t *object = json_object();
    fz_inspect_add(in, array, object);
    return object;
}

json_t *fz_inspect_text(const void *bytes, size_t len) {
    if (fz_utf8_valid(bytes, len)) {
        return json_stringn(bytes, len);
    }
    struct fz_buf hex = {0};
    fz_buf_puts(&hex, "0x");
    fz_hex_encode(&hex, bytes, len);
    json_t *text = hex.failed ? NULL : json_stringn(hex.ptr, hex.len);
    fz_buf_dispose(&hex);
    return text;
}

json_t *fz_inspect_cstr(const char *text) {
    return text != NULL ? fz_inspect_text(text, strlen(text)) : json_null();
}

json_t *fz_inspect_value(const struct fz_value *value) {
    if (value->is_null) {
        return json_null();
    }
    switch (value->type->id) {
    case FZ_TYPE_BOOLEAN:
        return json_boolean(value->u.boolean);
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        return json_integer(value->u.i64);
    case FZ_TYPE_STRING:
        return fz_inspect_text(value->u.bytes.ptr, value->u.bytes.len);
    default: {
        struct fz_buf text = {0};
        fz_value_print(&text, value);
        json_t *out = text.failed ? NULL : fz_inspect_text(text.ptr != NULL ? text.ptr : "", text.len);
        fz_buf_dispose(&text);
        return out;
    }
    }
}

json_t *fz_inspect_bound(struct fz_inspect *in, const struct fz_type *type, struct fz_str bytes) {
    struct fz_value value;
    struct fz_err ignored = FZ_ERR_INIT;
    if (type != NULL && fz_type_is_primitive(type) &&
        fz_value_from_bound(&in->arena, type, bytes, &value, &ignored) == FZ_OK) {
        return fz_inspect_value(&value);
    }
    struct fz_buf hex = {0};
    fz_buf_puts(&hex, "0x");
    fz_hex_encode(&hex, bytes.ptr, bytes.len);
    json_t *text = hex.failed ? NULL : json_stringn(hex.ptr, hex.len);
    fz_buf_dispose(&hex);
    return text;
}

json_t *fz_inspect_type(const struct fz_type *type) {
    struct fz_buf text = {0};
    fz_type_print(&text, type);
    json_t *out = text.failed ? NULL : fz_inspect_text(text.ptr, text.len);
    fz_buf_dispose(&text);
    return out;
}

json_t *fz_inspect_time(int64_t micros) {
    struct fz_buf text = {0};
    fz_format_timestamp(&text, micros, 'T');
    fz_buf_putc(&text, 'Z');
    json_t *out = text.failed ? NULL : json_stringn(text.ptr, text.len);
    fz_buf_dispose(&text);
    return out;
}

const struct fz_field *fz_inspect_field(const struct fz_type *type, int32_t field_id) {
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct fz_field *field = &type->fields[i];
        const struct fz_field *below = field->id == field_id ? field : fz_inspect_field(field->type, field_id);
        if (below != NULL) {
            return below;
        }
    }
    return NULL;
}

const char *fz_inspect_name(struct fz_inspect *in, const struct fz_type *type, int32_t field_id) {
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct fz_field *field = &type->fields[i];
        if (field->id == field_id) {
            return field->name;
        }
        const char *below = fz_inspect_name(in, field->type, field_id);
        if (below != NULL) {
            return fz_arena_printf(&in->arena, "%s.%s", field->name, below);
        }
    }
    return NULL;
}
