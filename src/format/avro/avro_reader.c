// Reading Avro object container files. Bytes are distrusted: every read is checked against the end of the block, every
// block against the end of the file, counts against the bytes that could hold them.
#include "format/avro/avro_codec_priv.h"
#include "format/avro/avro_table_priv.h"

struct fz_avro_pair {
    struct fz_str key, value; // point into the file
};

struct fz_avro_reader {
    struct fz_str file;
    size_t file_pos; // behind the current block
    json_t *schema;
    struct fz_avro_pair *metadata;
    size_t n_metadata, cap_metadata;
    enum fz_avro_codec codec;
    char sync[16];
    struct fz_buf block_buf; // decompressed
    struct fz_str block; // the block's plain bytes: the file itself for codec null
    size_t pos; // in block
    int64_t records_left; // not started yet
    int64_t blocks; // begun
    fz_avro_more more; // NULL: the whole file is there
    void *more_ctx;
    size_t header_len;
};

enum { MAX_METADATA = 10000, SKIP_DEPTH = 64 };
static const int64_t max_empty_records = 1 << 16;

static bool varint(struct fz_str in, size_t *pos, int64_t *out) {
    uint64_t n = 0;
    for (unsigned shift = 0; shift < 64 && *pos < in.len; shift += 7) {
        uint8_t byte = (uint8_t)in.ptr[(*pos)++];
        if (shift == 63 && byte > 1) {
            return false;
        }
        n |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
            return true;
        }
    }
    return false;
}

static bool sized(struct fz_str in, size_t *pos, struct fz_str *out) {
    int64_t n;
    if (!varint(in, pos, &n) || n < 0 || (uint64_t)n > in.len - *pos) {
        return false;
    }
    *out = (struct fz_str){in.ptr + *pos, (size_t)n};
    *pos += (size_t)n;
    return true;
}

static enum fz_code header_broken(struct fz_err *err) {
    return fz_fail(err, FZ_CORRUPT, "Avro file header is broken or cut off");
}

static enum fz_code read_metadata(struct fz_avro_reader *reader, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (;;) {
        int64_t count, bytes;
        if (!varint(reader->file, &reader->file_pos, &count) || count == INT64_MIN) {
            return header_broken(err);
        }
        if (count == 0) {
            return FZ_OK;
        }
        if (count < 0) {
            count = -count;
            if (!varint(reader->file, &reader->file_pos, &bytes)) {
                return header_broken(err);
            }
        }
        for (int64_t i = 0; i < count; i++) {
            if (reader->n_metadata >= MAX_METADATA) {
                return fz_fail(err, FZ_LIMIT, "Avro file has more than %d metadata entries", MAX_METADATA);
            }
            rc = fz_grow((void **)&reader->metadata, &reader->cap_metadata, reader->n_metadata + 1,
                         sizeof *reader->metadata, err);
            if (rc != FZ_OK) {
                return rc;
            }
            struct fz_avro_pair *pair = &reader->metadata[reader->n_metadata];
            if (!sized(reader->file, &reader->file_pos, &pair->key) ||
                !sized(reader->file, &reader->file_pos, &pair->value)) {
                return header_broken(err);
            }
            reader->n_metadata++;
        }
    }
}

enum fz_code fz_avro_reader_open(const void *data, size_t len, struct fz_avro_reader **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_avro_reader *reader = NULL;
    FZ_NEW(reader, err);
    reader->file = (struct fz_str){data, len};
    if (len < 4 || memcmp(data, "Obj\x01", 4) != 0) {
        rc = fz_fail(err, FZ_CORRUPT, "not an Avro file: it does not begin with \"Obj\" and version 1");
        goto out;
    }
    reader->file_pos = 4;
    FZ_TRY(read_metadata(reader, err));
    if (len - reader->file_pos < sizeof reader->sync) {
        rc = header_broken(err);
        goto out;
    }
    memcpy(reader->sync, reader->file.ptr + reader->file_pos, sizeof reader->sync);
    reader->file_pos += sizeof reader->sync;
    reader->header_len = reader->file_pos;
    struct fz_str text = {0};
    if (fz_avro_reader_metadata(reader, "avro.codec", &text) && text.len > 0 &&
        !fz_avro_codec_parse(text, &reader->codec)) {
        rc = fz_fail(err, FZ_UNSUPPORTED, "Avro codec \"%.*s\" is not supported (null, deflate, snappy, zstandard are)",
                     (int)(text.len < 64 ? text.len : 64), text.ptr);
        goto out;
    }
    if (!fz_avro_reader_metadata(reader, "avro.schema", &text)) {
        rc = fz_fail(err, FZ_CORRUPT, "Avro file has no avro.schema");
        goto out;
    }
    FZ_TRY(fz_avro_schema_parse(text, &reader->schema, err));
    *out = reader;
    reader = NULL;
out:
    fz_avro_reader_close(reader);
    return rc;
}

enum fz_code fz_avro_reader_blocks(const struct fz_avro_reader *header, fz_avro_more more, void *ctx,
                                   struct fz_avro_reader **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_avro_reader *reader = NULL;
    FZ_NEW(reader, err);
    reader->schema = json_incref(header->schema);
    reader->codec = header->codec;
    memcpy(reader->sync, header->sync, sizeof reader->sync);
    reader->file = (struct fz_str){"", 0};
    reader->more = more;
    reader->more_ctx = ctx;
    *out = reader;
out:
    return rc;
}

size_t fz_avro_reader_header_len(const struct fz_avro_reader *reader) {
    return reader->header_len;
}

void fz_avro_reader_close(struct fz_avro_reader *reader) {
    if (reader == NULL) {
        return;
    }
    json_decref(reader->schema);
    fz_free(reader->metadata);
    fz_buf_dispose(&reader->block_buf);
    fz_free(reader);
}

const json_t *fz_avro_reader_schema(const struct fz_avro_reader *reader) {
    return reader->schema;
}

bool fz_avro_reader_metadata(const struct fz_avro_reader *reader, const char *key, struct fz_str *out) {
    for (size_t i = 0; i < reader->n_metadata; i++) {
        if (fz_str_eq(reader->metadata[i].key, fz_str_of(key))) {
            *out = reader->metadata[i].value;
            return true;
        }
    }
    return false;
}

bool fz_avro_reader_metadata_at(const struct fz_avro_reader *reader, size_t at, struct fz_str *key,
                                struct fz_str *value) {
    if (at >= reader->n_metadata) {
        return false;
    }
    *key = reader->metadata[at].key;
    *value = reader->metadata[at].value;
    return true;
}

int64_t fz_avro_reader_block_count(const struct fz_avro_reader *reader) {
    return reader->blocks;
}

// Makes sure that `need` bytes from the current place on are there, if the file has them.
static enum fz_code ensure(struct fz_avro_reader *reader, size_t need, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (reader->more != NULL && reader->file.len - reader->file_pos < need) {
        FZ_TRY(reader->more(reader->more_ctx, reader->file_pos, need, &reader->file, err));
        reader->file_pos = 0;
    }
out:
    return rc;
}

// Count, size, bytes and marker of a block, when its head says how long it is.
static enum fz_code ensure_block(struct fz_avro_reader *reader, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t count, size;
    FZ_TRY(ensure(reader, 20, err));
    size_t pos = reader->file_pos;
    if (varint(reader->file, &pos, &count) && varint(reader->file, &pos, &size) && size >= 0 && size <= INT32_MAX) {
        rc = ensure(reader, pos - reader->file_pos + (size_t)size + sizeof reader->sync, err);
    }
out:
    return rc;
}

static enum fz_code next_block(struct fz_avro_reader *reader, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t count;
    struct fz_str raw;
    FZ_TRY(ensure_block(reader, err));
    size_t pos = reader->file_pos;
    if (!varint(reader->file, &pos, &count) || !sized(reader->file, &pos, &raw) || count < 0 ||
        reader->file.len - pos < sizeof reader->sync) {
        return fz_fail(err, FZ_CORRUPT, "Avro block at offset %zu is broken or cut off", reader->file_pos);
    }
    if (memcmp(reader->file.ptr + pos, reader->sync, sizeof reader->sync) != 0) {
        return fz_fail(err, FZ_CORRUPT, "Avro block at offset %zu does not end with the sync marker", reader->file_pos);
    }
    if (reader->codec == FZ_AVRO_NULL) {
        reader->block = raw;
    } else {
        FZ_TRY(fz_avro_decompress(reader->codec, raw, &reader->block_buf, err));
        reader->block = (struct fz_str){reader->block_buf.ptr, reader->block_buf.len};
    }
    if (count > max_empty_records && (uint64_t)count > reader->block.len) {
        rc = fz_fail(err, FZ_CORRUPT, "Avro block at offset %zu claims %lld records in %zu bytes", reader->file_pos,
                     (long long)count, reader->block.len);
        goto out;
    }
    reader->file_pos = pos + sizeof reader->sync;
    reader->pos = 0;
    reader->records_left = count;
    reader->blocks++;
out:
    return rc;
}

enum fz_code fz_avro_reader_next(struct fz_avro_reader *reader, bool *more, struct fz_err *err) {
    while (reader->records_left == 0) {
        if (reader->pos != reader->block.len) {
            return fz_fail(err, FZ_CORRUPT, "Avro block has %zu bytes behind its last record",
                           reader->block.len - reader->pos);
        }
        enum fz_code rc = ensure(reader, 1, err);
        if (rc != FZ_OK) {
            return rc;
        }
        if (reader->file_pos >= reader->file.len) {
            *more = false;
            return FZ_OK;
        }
        rc = next_block(reader, err);
        if (rc != FZ_OK) {
            return rc;
        }
    }
    reader->records_left--;
    *more = true;
    return FZ_OK;
}

static enum fz_code overrun(struct fz_err *err) {
    return fz_fail(err, FZ_CORRUPT, "Avro record runs past the end of its block");
}

enum fz_code fz_avro_get_long(struct fz_avro_reader *reader, int64_t *out, struct fz_err *err) {
    return varint(reader->block, &reader->pos, out) ? FZ_OK : overrun(err);
}

enum fz_code fz_avro_get_boolean(struct fz_avro_reader *reader, bool *out, struct fz_err *err) {
    if (reader->pos >= reader->block.len) {
        return overrun(err);
    }
    uint8_t byte = (uint8_t)reader->block.ptr[reader->pos++];
    if (byte > 1) {
        return fz_fail(err, FZ_CORRUPT, "Avro boolean is %d, not 0 or 1", byte);
    }
    *out = byte != 0;
    return FZ_OK;
}

enum fz_code fz_avro_get_fixed(struct fz_avro_reader *reader, size_t n, struct fz_str *out, struct fz_err *err) {
    if (n > reader->block.len - reader->pos) {
        return overrun(err);
    }
    *out = (struct fz_str){n > 0 ? reader->block.ptr + reader->pos : "", n};
    reader->pos += n;
    return FZ_OK;
}

enum fz_code fz_avro_get_float(struct fz_avro_reader *reader, float *out, struct fz_err *err) {
    struct fz_str raw;
    enum fz_code rc = fz_avro_get_fixed(reader, sizeof *out, &raw, err);
    if (rc == FZ_OK) {
        memcpy(out, raw.ptr, sizeof *out);
    }
    return rc;
}

enum fz_code fz_avro_get_double(struct fz_avro_reader *reader, double *out, struct fz_err *err) {
    struct fz_str raw;
    enum fz_code rc = fz_avro_get_fixed(reader, sizeof *out, &raw, err);
    if (rc == FZ_OK) {
        memcpy(out, raw.ptr, sizeof *out);
    }
    return rc;
}

enum fz_code fz_avro_get_bytes(struct fz_avro_reader *reader, struct fz_str *out, struct fz_err *err) {
    return sized(reader->block, &reader->pos, out) ? FZ_OK : overrun(err);
}

enum fz_code fz_avro_get_block(struct fz_avro_reader *reader, int64_t *out_items, struct fz_err *err) {
    int64_t items, bytes;
    if (!varint(reader->block, &reader->pos, &items) || items == INT64_MIN) {
        return overrun(err);
    }
    if (items < 0) {
        items = -items;
        if (!varint(reader->block, &reader->pos, &bytes) || bytes < 0 ||
            (uint64_t)bytes > reader->block.len - reader->pos) {
            return overrun(err);
        }
    }
    if ((uint64_t)items > reader->block.len - reader->pos) {
        return fz_fail(err, FZ_CORRUPT, "Avro array or map claims %lld items in %zu bytes", (long long)items,
                       reader->block.len - reader->pos);
    }
    *out_items = items;
    return FZ_OK;
}

static enum fz_code skip(struct fz_avro_reader *reader, const json_t *schema, int depth, struct fz_err *err);

static enum fz_code skip_items(struct fz_avro_reader *reader, const json_t *schema, bool map, int depth,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const json_t *item = json_object_get(schema, map ? "values" : "items");
    for (;;) {
        int64_t n;
        struct fz_str key;
        FZ_TRY(fz_avro_get_block(reader, &n, err));
        if (n == 0) {
            break;
        }
        for (int64_t i = 0; i < n; i++) {
            if (map) {
                FZ_TRY(fz_avro_get_bytes(reader, &key, err));
            }
            FZ_TRY(skip(reader, item, depth + 1, err));
        }
    }
out:
    return rc;
}

static enum fz_code skip(struct fz_avro_reader *reader, const json_t *schema, int depth, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t n;
    struct fz_str bytes;
    bool flag;
    if (depth > SKIP_DEPTH) {
        return fz_fail(err, FZ_LIMIT, "Avro value is nested deeper than %d", SKIP_DEPTH);
    }
    while (json_is_object(schema) && !json_is_string(json_object_get(schema, "type"))) {
        schema = json_object_get(schema, "type");
    }
    switch ((enum fz_avro_kind_id)fz_avro_kind(schema)) {
    case AVRO_NULL:
        return FZ_OK;
    case AVRO_BOOLEAN:
        return fz_avro_get_boolean(reader, &flag, err);
    case AVRO_INT:
    case AVRO_LONG:
    case AVRO_ENUM:
        return fz_avro_get_long(reader, &n, err);
    case AVRO_FLOAT:
        return fz_avro_get_fixed(reader, 4, &bytes, err);
    case AVRO_DOUBLE:
        return fz_avro_get_fixed(reader, 8, &bytes, err);
    case AVRO_BYTES:
    case AVRO_STRING:
        return fz_avro_get_bytes(reader, &bytes, err);
    case AVRO_FIXED:
        return fz_avro_get_fixed(reader, (size_t)json_integer_value(json_object_get(schema, "size")), &bytes, err);
    case AVRO_ARRAY:
        return skip_items(reader, schema, false, depth, err);
    case AVRO_MAP:
        return skip_items(reader, schema, true, depth, err);
    case AVRO_RECORD: {
        const json_t *fields = json_object_get(schema, "fields");
        for (size_t i = 0; i < json_array_size(fields); i++) {
            FZ_TRY(skip(reader, json_object_get(json_array_get(fields, i), "type"), depth + 1, err));
        }
        return FZ_OK;
    }
    case AVRO_UNION:
        FZ_TRY(fz_avro_get_long(reader, &n, err));
        if (n < 0 || (uint64_t)n >= json_array_size(schema)) {
            return fz_fail(err, FZ_CORRUPT, "Avro union has no branch %lld", (long long)n);
        }
        return skip(reader, json_array_get(schema, (size_t)n), depth + 1, err);
    case AVRO_NONE:
        break;
    }
    rc = fz_fail(err, FZ_CORRUPT, "Avro schema holds a value that is no type");
out:
    return rc;
}

enum fz_code fz_avro_skip(struct fz_avro_reader *reader, const json_t *schema, struct fz_err *err) {
    return skip(reader, schema, 0, err);
}
