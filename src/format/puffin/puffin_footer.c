// Reading the footer of Puffin files: the tail comes in one read, payloads may be an LZ4 frame, JSON is checked field by field.
#include <jansson.h>

#include "format/puffin/puffin_priv.h"

static const char MAGIC[] = "PFA1";
enum { TAIL_BYTES = 16384, MIN_FILE = 20, MAX_PAYLOAD = 256 << 20, FLAG_COMPRESSED = 1 };

static uint32_t le32(const char *p) {
    const uint8_t *b = (const uint8_t *)p;
    return (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
}

static enum fz_code bad_blob(size_t at, const char *what, struct fz_err *err) {
    return fz_fail(err, FZ_CORRUPT, "blob %zu: '%s' is missing or wrong in the footer", at, what);
}

static const char *copy_text(struct fz_arena *arena, const json_t *value) {
    // A NUL inside would cut the text in two; nobody writes one into paths, names or codecs.
    size_t len = json_string_length(value);
    const char *text = json_string_value(value);
    return text == NULL || memchr(text, 0, len) != NULL ? NULL : fz_arena_strndup(arena, text, len);
}

static bool get_i64(const json_t *object, const char *key, int64_t *out) {
    const json_t *value = json_object_get(object, key);
    if (!json_is_integer(value)) {
        return false;
    }
    *out = json_integer_value(value);
    return true;
}

static enum fz_code parse_fields(const json_t *object, size_t at, struct fz_arena *arena, struct fz_puffin_blob *blob,
                                 struct fz_err *err) {
    const json_t *fields = json_object_get(object, "fields");
    if (!json_is_array(fields)) {
        return bad_blob(at, "fields", err);
    }
    size_t n = json_array_size(fields);
    int32_t *ids = fz_arena_array(arena, n + 1, sizeof *ids);
    if (ids == NULL) {
        return fz_fail_nomem(err, n * sizeof *ids);
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *id = json_array_get(fields, i);
        if (!json_is_integer(id) || json_integer_value(id) < INT32_MIN || json_integer_value(id) > INT32_MAX) {
            return bad_blob(at, "fields", err);
        }
        ids[i] = (int32_t)json_integer_value(id);
    }
    blob->fields = ids;
    blob->n_fields = n;
    return FZ_OK;
}

static enum fz_code parse_properties(json_t *object, size_t at, struct fz_arena *arena, struct fz_puffin_blob *blob,
                                     struct fz_err *err) {
    json_t *properties = json_object_get(object, "properties");
    if (properties == NULL || json_is_null(properties)) {
        return FZ_OK;
    }
    if (!json_is_object(properties)) {
        return bad_blob(at, "properties", err);
    }
    blob->properties = fz_arena_array(arena, json_object_size(properties) + 1, sizeof *blob->properties);
    if (blob->properties == NULL) {
        return fz_fail_nomem(err, json_object_size(properties));
    }
    const char *key;
    json_t *value;
    json_object_foreach(properties, key, value) {
        struct fz_puffin_property *p = &blob->properties[blob->n_properties++];
        p->key = fz_arena_strdup(arena, key);
        p->value = copy_text(arena, value);
        if (p->key == NULL || p->value == NULL) {
            return bad_blob(at, "properties", err);
        }
    }
    return FZ_OK;
}

static enum fz_code parse_blob(json_t *object, size_t at, int64_t blobs_end, struct fz_arena *arena,
                               struct fz_puffin_blob *blob, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    blob->type = copy_text(arena, json_object_get(object, "type"));
    if (blob->type == NULL) {
        return bad_blob(at, "type", err);
    }
    if (!get_i64(object, "snapshot-id", &blob->snapshot_id)) {
        return bad_blob(at, "snapshot-id", err);
    }
    if (!get_i64(object, "sequence-number", &blob->sequence_number)) {
        return bad_blob(at, "sequence-number", err);
    }
    if (!get_i64(object, "offset", &blob->offset) || blob->offset < 4 || blob->offset > blobs_end) {
        return bad_blob(at, "offset", err);
    }
    if (!get_i64(object, "length", &blob->length) || blob->length < 0 || blob->length > blobs_end - blob->offset) {
        return bad_blob(at, "length", err);
    }
    const json_t *codec = json_object_get(object, "compression-codec");
    if (codec != NULL && !json_is_null(codec) && (blob->compression_codec = copy_text(arena, codec)) == NULL) {
        return bad_blob(at, "compression-codec", err);
    }
    FZ_TRY(parse_fields(object, at, arena, blob, err));
    FZ_TRY(parse_properties(object, at, arena, blob, err));
out:
    return rc;
}

static enum fz_code parse_payload(const char *text, size_t len, int64_t blobs_end, struct fz_arena *arena,
                                  struct fz_puffin_blob **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    json_error_t problem;
    json_t *root = json_loadb(text, len, 0, &problem);
    if (root == NULL) {
        return fz_fail(err, FZ_CORRUPT, "the footer is not valid JSON: %s", problem.text);
    }
    const json_t *blobs = json_object_get(root, "blobs");
    if (!json_is_array(blobs)) {
        rc = fz_fail(err, FZ_CORRUPT, "the footer has no list of blobs");
        goto out;
    }
    size_t count = json_array_size(blobs);
    struct fz_puffin_blob *list = fz_arena_array(arena, count + 1, sizeof *list);
    if (list == NULL) {
        rc = fz_fail_nomem(err, count * sizeof *list);
        goto out;
    }
    for (size_t i = 0; i < count; i++) {
        FZ_TRY(parse_blob(json_array_get(blobs, i), i, blobs_end, arena, &list[i], err));
    }
    *out = list;
    *n = count;
out:
    json_decref(root);
    return rc;
}

// Payload out of the tail; reads once more when the tail was too short.
static enum fz_code take_payload(struct fz_store *store, const char *location, int64_t size, const struct fz_buf *tail,
                                 struct fz_buf *payload, bool *compressed, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const char *end = tail->ptr + tail->len;
    if (memcmp(end - 4, MAGIC, 4) != 0) {
        return fz_fail(err, FZ_CORRUPT, "it does not end with the Puffin magic");
    }
    uint32_t flags = le32(end - 8), len = le32(end - 12);
    if ((flags & ~(uint32_t)FLAG_COMPRESSED) != 0) {
        return fz_fail(err, FZ_UNSUPPORTED, "unknown flags 0x%x in the footer", flags);
    }
    if (len > MAX_PAYLOAD || (int64_t)len > size - MIN_FILE) {
        return fz_fail(err, FZ_CORRUPT, "a footer of %u bytes does not fit", len);
    }
    *compressed = (flags & FLAG_COMPRESSED) != 0;
    size_t need = (size_t)len + 4; // with the magic in front
    if (!fz_buf_reserve(payload, need)) {
        return fz_buf_check(payload, err);
    }
    if (need + 12 <= tail->len) {
        memcpy(payload->ptr, end - 12 - need, need);
    } else {
        FZ_TRY(fz_store_read(store, location, size - 12 - (int64_t)need, need, payload->ptr, NULL, err));
    }
    payload->len = need;
    if (memcmp(payload->ptr, MAGIC, 4) != 0) {
        rc = fz_fail(err, FZ_CORRUPT, "the footer does not start with the Puffin magic");
    }
out:
    return rc;
}

enum fz_code fz_puffin_footer_read(struct fz_store *store, const char *location, int64_t size_bytes,
                                   struct fz_arena *arena, struct fz_puffin_blob **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf tail = {0}, payload = {0}, inflated = {0};
    bool compressed = false;
    if (size_bytes < 0) {
        FZ_TRY(fz_store_size(store, location, &size_bytes, err));
    }
    if (size_bytes < MIN_FILE) {
        rc = fz_fail(err, FZ_CORRUPT, "%lld bytes are no Puffin file", (long long)size_bytes);
        goto out;
    }
    size_t tail_len = size_bytes < TAIL_BYTES ? (size_t)size_bytes : TAIL_BYTES;
    if (!fz_buf_reserve(&tail, tail_len)) {
        rc = fz_buf_check(&tail, err);
        goto out;
    }
    // The magic at the very start is not looked at: it says nothing that the tail does not, and would cost a second read.
    FZ_TRY(fz_store_read(store, location, size_bytes - (int64_t)tail_len, tail_len, tail.ptr, NULL, err));
    tail.len = tail_len;
    FZ_TRY(take_payload(store, location, size_bytes, &tail, &payload, &compressed, err));
    const struct fz_buf *text = &payload;
    size_t skip = 4;
    if (compressed) {
        FZ_TRY(fz_puffin_lz4_inflate(payload.ptr + 4, payload.len - 4, MAX_PAYLOAD, &inflated, err));
        text = &inflated;
        skip = 0;
    }
    int64_t blobs_end = size_bytes - 12 - (int64_t)payload.len;
    FZ_TRY(parse_payload(text->ptr + skip, text->len - skip, blobs_end, arena, out, n, err));
out:
    if (rc != FZ_OK) {
        fz_err_context(err, "Puffin file %s", location);
    }
    fz_buf_dispose(&tail);
    fz_buf_dispose(&payload);
    fz_buf_dispose(&inflated);
    return rc;
}
