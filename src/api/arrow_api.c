// Results as Arrow C streams: the only place where Arrow is made. Arrow C data interface: schemas and arrays own copies of what they
// hold, so that a consumer may keep them after the result is gone. Formats follow the batch's types (data/batch.h).
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/api_priv.h"
#include "data/value.h"
#include "data/variant.h"

// Schemas.
static void schema_release(struct ArrowSchema *s) {
    for (int64_t i = 0; i < s->n_children; i++) {
        if (s->children[i] != NULL && s->children[i]->release != NULL) {
            s->children[i]->release(s->children[i]);
        }
        free(s->children[i]);
    }
    free(s->children);
    free((char *)(uintptr_t)s->format);
    free((char *)(uintptr_t)s->name);
    s->release = NULL;
}

static void format_of(const struct fz_type *t, char *out, size_t size) {
    static const struct {
        enum fz_type_id id;
        const char *format;
    } plain[] = {
        {FZ_TYPE_BOOLEAN, "b"},
        {FZ_TYPE_BYTE, "c"},
        {FZ_TYPE_SHORT, "s"},
        {FZ_TYPE_INT, "i"},
        {FZ_TYPE_LONG, "l"},
        {FZ_TYPE_FLOAT, "f"},
        {FZ_TYPE_DOUBLE, "g"},
        {FZ_TYPE_DATE, "tdD"},
        {FZ_TYPE_TIME, "ttu"},
        {FZ_TYPE_TIMESTAMP, "tsu:"},
        {FZ_TYPE_TIMESTAMPTZ, "tsu:UTC"},
        {FZ_TYPE_TIMESTAMP_NS, "tsn:"},
        {FZ_TYPE_TIMESTAMPTZ_NS, "tsn:UTC"},
        {FZ_TYPE_STRING, "u"},
        {FZ_TYPE_VARIANT, "u"}, // as JSON
        {FZ_TYPE_BINARY, "z"},
        {FZ_TYPE_UUID, "w:16"},
        {FZ_TYPE_STRUCT, "+s"},
        {FZ_TYPE_LIST, "+l"},
        {FZ_TYPE_MAP, "+m"},
        {FZ_TYPE_INTERVAL_DT, "tDu"},
        {FZ_TYPE_INTERVAL_YM, "i"},
    };
    if (t->id == FZ_TYPE_DECIMAL) {
        snprintf(out, size, "d:%d,%d", t->precision, t->scale);
        return;
    }
    snprintf(out, size, "%s", "z"); // fixed, geometry: bytes
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (plain[i].id == t->id) {
            snprintf(out, size, "%s", plain[i].format);
        }
    }
}

static bool schema_fill(struct ArrowSchema *s, const char *name, bool nullable, const struct fz_type *type) {
    char format[32];
    memset(s, 0, sizeof *s);
    s->release = schema_release;
    format_of(type, format, sizeof format);
    s->format = strdup(format);
    s->name = strdup(name);
    s->flags = nullable ? ARROW_FLAG_NULLABLE : 0;
    size_t n = type->id == FZ_TYPE_MAP ? 1 : type->n_fields;
    s->children = n > 0 ? calloc(n, sizeof *s->children) : NULL;
    bool ok = s->format != NULL && s->name != NULL && (n == 0 || s->children != NULL);
    for (size_t i = 0; ok && i < n; i++) {
        s->children[i] = calloc(1, sizeof **s->children);
        s->n_children++;
        if (s->children[i] == NULL) {
            return false;
        }
        if (type->id == FZ_TYPE_MAP) {
            struct fz_type entry = {.id = FZ_TYPE_STRUCT, .n_fields = 2, .fields = type->fields};
            ok = schema_fill(s->children[i], "entries", false, &entry);
        } else {
            ok = schema_fill(s->children[i], type->fields[i].name ? type->fields[i].name : "element",
                             !type->fields[i].required, type->fields[i].type);
        }
    }
    return ok;
}

// Arrays.
static void array_release(struct ArrowArray *a) {
    for (int64_t i = 0; i < a->n_children; i++) {
        if (a->children[i] != NULL && a->children[i]->release != NULL) {
            a->children[i]->release(a->children[i]);
        }
        free(a->children[i]);
    }
    free(a->children);
    for (int64_t i = 0; a->buffers != NULL && i < a->n_buffers; i++) {
        free((void *)(uintptr_t)a->buffers[i]);
    }
    free(a->buffers);
    a->release = NULL;
}

static bool array_begin(struct ArrowArray *a, size_t n_rows, int64_t n_buffers, size_t n_children) {
    memset(a, 0, sizeof *a);
    a->release = array_release;
    a->length = (int64_t)n_rows;
    a->n_buffers = n_buffers;
    a->buffers = calloc((size_t)n_buffers, sizeof *a->buffers);
    a->children = n_children ? calloc(n_children, sizeof *a->children) : NULL;
    if (a->buffers == NULL || (n_children > 0 && a->children == NULL)) {
        return false;
    }
    for (size_t i = 0; i < n_children; i++) {
        a->children[i] = calloc(1, sizeof **a->children);
        a->n_children++;
        if (a->children[i] == NULL) {
            return false;
        }
    }
    return true;
}

static bool set_validity(struct ArrowArray *a, const struct fz_column *c, size_t n) {
    if (c->validity == NULL || n == 0) {
        return true;
    }
    uint8_t *bits = calloc((n + 63) / 64, 8);
    if (bits == NULL) {
        return false;
    }
    memcpy(bits, c->validity, (n + 63) / 64 * 8);
    for (size_t i = 0; i < n; i++) {
        a->null_count += !fz_column_is_valid(c, i);
    }
    a->buffers[0] = bits;
    return true;
}

static bool fill_text(struct ArrowArray *a, const struct fz_column *c, size_t n) {
    const struct fz_string *strings = c->data;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        bytes += fz_column_is_valid(c, i) ? strings[i].length : 0;
    }
    int32_t *offsets = malloc((n + 1) * sizeof *offsets);
    char *data = malloc(bytes ? bytes : 1);
    a->buffers[1] = offsets;
    a->buffers[2] = data;
    if (offsets == NULL || data == NULL || bytes > INT32_MAX) {
        return false;
    }
    offsets[0] = 0;
    for (size_t i = 0; i < n; i++) {
        size_t len = fz_column_is_valid(c, i) ? strings[i].length : 0;
        if (len > 0) {
            memcpy(data + offsets[i], fz_string_ptr(&strings[i]), len);
        }
        offsets[i + 1] = offsets[i] + (int32_t)len;
    }
    return true;
}

static bool fill_json(struct ArrowArray *a, const struct fz_column *c, size_t n) {
    const struct fz_string *variants = c->data;
    struct fz_buf text = {0};
    int32_t *offsets = malloc((n + 1) * sizeof *offsets);
    a->buffers[1] = offsets;
    bool ok = offsets != NULL;
    for (size_t i = 0; ok && i < n; i++) {
        offsets[i] = (int32_t)text.len;
        if (fz_column_is_valid(c, i)) {
            struct fz_str variant = {fz_string_ptr(&variants[i]), variants[i].length};
            ok = fz_variant_print(&text, variant, NULL, NULL) && text.len <= INT32_MAX;
        }
    }
    char *data = malloc(text.len + 1);
    a->buffers[2] = data;
    ok = ok && data != NULL && !text.failed;
    if (ok) {
        offsets[n] = (int32_t)text.len;
        memcpy(data, text.ptr != NULL ? text.ptr : "", text.len);
    }
    fz_buf_dispose(&text);
    return ok;
}

// Decimals are 128 bits in Arrow whatever their width here; uuids are plain bytes; booleans are bits.
static bool fill_fixed(struct ArrowArray *a, const struct fz_column *c, size_t n) {
    size_t width = fz_type_width(c->type);
    if (c->type->id == FZ_TYPE_BOOLEAN) {
        uint8_t *bits = calloc((n + 7) / 8 + 1, 1);
        a->buffers[1] = bits;
        for (size_t i = 0; bits != NULL && i < n; i++) {
            bits[i / 8] |= (uint8_t)((((const uint8_t *)c->data)[i] & 1) << (i % 8));
        }
        return bits != NULL;
    }
    bool wide = c->type->id == FZ_TYPE_DECIMAL || c->type->id == FZ_TYPE_UUID;
    char *out = calloc(n + 1, wide ? 16 : width);
    a->buffers[1] = out;
    if (out == NULL) {
        return false;
    }
    if (!wide) {
        memcpy(out, c->data, n * width);
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        const char *at = (const char *)c->data + i * width;
        if (!fz_column_is_valid(c, i)) {
            continue;
        }
        if (c->type->id == FZ_TYPE_UUID) {
            struct fz_i128 v;
            memcpy(&v, at, sizeof v);
            uint64_t upper = (uint64_t)v.upper ^ (UINT64_C(1) << 63);
            for (int b = 0; b < 8; b++) {
                out[i * 16 + (size_t)b] = (char)(upper >> (56 - 8 * b));
                out[i * 16 + 8 + (size_t)b] = (char)(v.lower >> (56 - 8 * b));
            }
            continue;
        }
        __int128 v = 0;
        if (width == 2) {
            int16_t x;
            memcpy(&x, at, 2);
            v = x;
        } else if (width == 4) {
            int32_t x;
            memcpy(&x, at, 4);
            v = x;
        } else if (width == 8) {
            int64_t x;
            memcpy(&x, at, 8);
            v = x;
        } else {
            struct fz_i128 x;
            memcpy(&x, at, 16);
            v = fz_i128_get(x);
        }
        memcpy(out + i * 16, &v, 16);
    }
    return true;
}

static bool array_fill(struct ArrowArray *a, const struct fz_column *c, size_t n);

// List spans may point anywhere into the child rows; they are laid out anew, in order.
static bool fill_list(struct ArrowArray *a, const struct fz_column *c, size_t n) {
    const struct fz_list_span *spans = c->data;
    int32_t *offsets = malloc((n + 1) * sizeof *offsets);
    a->buffers[1] = offsets;
    if (offsets == NULL) {
        return false;
    }
    size_t total = 0;
    offsets[0] = 0;
    for (size_t i = 0; i < n; i++) {
        total += fz_column_is_valid(c, i) ? spans[i].length : 0;
        offsets[i + 1] = (int32_t)total;
    }
    struct fz_column child = {0};
    uint32_t *selection = malloc((total + 1) * sizeof *selection);
    bool ok = selection != NULL && total <= INT32_MAX &&
              fz_column_init(&child, c->children[0].type, total ? total : 1, NULL) == FZ_OK;
    size_t k = 0;
    for (size_t i = 0; ok && i < n; i++) {
        for (uint64_t j = 0; fz_column_is_valid(c, i) && j < spans[i].length; j++) {
            selection[k++] = (uint32_t)(spans[i].offset + j);
        }
    }
    ok = ok && fz_column_copy(&child, 0, &c->children[0], 0, selection, total, NULL, NULL) == FZ_OK &&
         array_fill(a->children[0], &child, total);
    fz_column_dispose(&child);
    free(selection);
    return ok;
}

static bool array_fill(struct ArrowArray *a, const struct fz_column *c, size_t n) {
    bool list = c->type->id == FZ_TYPE_LIST || c->type->id == FZ_TYPE_MAP, is_struct = c->type->id == FZ_TYPE_STRUCT;
    bool text = !list && !is_struct && fz_type_width(c->type) == sizeof(struct fz_string) &&
                c->type->id != FZ_TYPE_DECIMAL && c->type->id != FZ_TYPE_UUID;
    if (!array_begin(a, n,
                     is_struct ? 1
                     : text    ? 3
                               : 2,
                     is_struct ? c->n_children
                     : list    ? 1
                               : 0) ||
        !set_validity(a, c, n)) {
        return false;
    }
    if (is_struct) {
        for (size_t i = 0; i < c->n_children; i++) {
            if (!array_fill(a->children[i], &c->children[i], n)) {
                return false;
            }
        }
        return true;
    }
    if (c->type->id == FZ_TYPE_VARIANT) {
        return fill_json(a, c, n);
    }
    return list ? fill_list(a, c, n) : text ? fill_text(a, c, n) : fill_fixed(a, c, n);
}

// The stream.
struct stream {
    struct fz_result *result;
    char error[2400];
};

static int stream_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
    struct stream *s = stream->private_data;
    struct fz_type row = {.id = FZ_TYPE_STRUCT, .n_fields = s->result->n_fields, .fields = s->result->fields};
    if (!schema_fill(out, "", false, &row)) {
        if (out->release != NULL) {
            out->release(out);
        }
        return ENOMEM;
    }
    return 0;
}

static int stream_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
    struct stream *s = stream->private_data;
    struct fz_err err = FZ_ERR_INIT;
    const struct fz_batch *batch = NULL;
    memset(out, 0, sizeof *out);
    enum fz_code rc = fz_engine_result_next(s->result->inner, &batch, &err);
    if (rc != FZ_OK) {
        fz_error text;
        fz_api_error(rc, &err, &text);
        snprintf(s->error, sizeof s->error, "[%s] %s", text.condition[0] ? text.condition : text.code_name,
                 text.message);
        return rc == FZ_NOMEM ? ENOMEM : EIO;
    }
    if (batch == NULL) {
        return 0; // released array: the end
    }
    bool ok = array_begin(out, batch->n_rows, 1, batch->n_columns);
    for (size_t i = 0; ok && i < batch->n_columns; i++) {
        ok = array_fill(out->children[i], &batch->columns[i], batch->n_rows);
    }
    if (!ok) {
        out->release(out);
        snprintf(s->error, sizeof s->error, "out of memory");
        return ENOMEM;
    }
    return 0;
}

static const char *stream_error(struct ArrowArrayStream *stream) {
    struct stream *s = stream->private_data;
    return s->error[0] != 0 ? s->error : NULL;
}

static void stream_release(struct ArrowArrayStream *stream) {
    struct stream *s = stream->private_data;
    fz_result_close(s->result);
    free(s);
    stream->release = NULL;
}

int fz_result_stream(fz_result *result, struct ArrowArrayStream *out, fz_error *error) {
    struct fz_err err = FZ_ERR_INIT;
    struct stream *s = calloc(1, sizeof *s);
    if (s == NULL || result == NULL || out == NULL) {
        free(s);
        return fz_api_error(fz_fail(&err, FZ_INVALID_ARG, "fz_result_stream needs a result and a place for the stream"),
                            &err, error);
    }
    s->result = result;
    *out = (struct ArrowArrayStream){.get_schema = stream_schema,
                                     .get_next = stream_next,
                                     .get_last_error = stream_error,
                                     .release = stream_release,
                                     .private_data = s};
    return fz_api_error(FZ_OK, &err, error);
}
