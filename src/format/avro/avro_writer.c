// Writing Avro object container files into memory. Blocks are closed at about 64 KB, as Java's writer does, so that readers
// which decode block by block need little memory.
#include "format/avro/avro_codec_priv.h"
#include "format/avro/avro_priv.h"

#include "base/sys.h"

struct fz_avro_writer {
    enum fz_avro_codec codec;
    int level;
    char sync[16];
    struct fz_buf head; // metadata entries so far
    int64_t n_metadata;
    bool header_written;
    struct fz_buf block; // plain bytes of the open block
    int64_t n_records; // in the open block
    struct fz_buf packed; // scratch
    struct fz_buf file;
};

static const size_t block_bytes = 64000;

static void put_long(struct fz_buf *buf, int64_t v) {
    uint64_t n = ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
    char bytes[10];
    size_t len = 0;
    while (n > 0x7f) {
        bytes[len++] = (char)(n | 0x80);
        n >>= 7;
    }
    bytes[len++] = (char)n;
    fz_buf_append(buf, bytes, len);
}

static void put_sized(struct fz_buf *buf, const void *data, size_t len) {
    put_long(buf, (int64_t)len);
    fz_buf_append(buf, data, len);
}

enum fz_code fz_avro_writer_open(const char *schema_json, enum fz_avro_codec codec, int level,
                                 struct fz_avro_writer **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_avro_writer *writer = NULL;
    json_t *checked = NULL;
    FZ_NEW(writer, err);
    FZ_TRY(fz_avro_schema_parse(fz_str_of(schema_json), &checked, err));
    writer->codec = codec;
    writer->level = level;
    for (size_t i = 0; i < sizeof writer->sync; i += sizeof(uint64_t)) {
        uint64_t bits = fz_random_u64();
        memcpy(writer->sync + i, &bits, sizeof bits);
    }
    const char *name = fz_avro_codec_name(codec);
    FZ_TRY(fz_avro_writer_metadata(writer, "avro.schema", fz_str_of(schema_json), err));
    FZ_TRY(fz_avro_writer_metadata(writer, "avro.codec", fz_str_of(name), err));
    *out = writer;
    writer = NULL;
out:
    json_decref(checked);
    fz_avro_writer_abort(writer);
    return rc;
}

enum fz_code fz_avro_writer_metadata(struct fz_avro_writer *writer, const char *key, struct fz_str value,
                                     struct fz_err *err) {
    if (writer->header_written) {
        return fz_fail(err, FZ_BUG, "Avro metadata key %s comes after the first block", key);
    }
    put_sized(&writer->head, key, strlen(key));
    put_sized(&writer->head, value.ptr, value.len);
    writer->n_metadata++;
    return fz_buf_check(&writer->head, err);
}

void fz_avro_put_long(struct fz_avro_writer *writer, int64_t v) {
    put_long(&writer->block, v);
}

void fz_avro_put_boolean(struct fz_avro_writer *writer, bool v) {
    fz_buf_putc(&writer->block, v ? 1 : 0);
}

void fz_avro_put_float(struct fz_avro_writer *writer, float v) {
    fz_buf_append(&writer->block, &v, sizeof v);
}

void fz_avro_put_double(struct fz_avro_writer *writer, double v) {
    fz_buf_append(&writer->block, &v, sizeof v);
}

void fz_avro_put_bytes(struct fz_avro_writer *writer, const void *data, size_t len) {
    put_sized(&writer->block, data, len);
}

void fz_avro_put_raw(struct fz_avro_writer *writer, const void *data, size_t len) {
    fz_buf_append(&writer->block, data, len);
}

static void write_header(struct fz_avro_writer *writer) {
    if (writer->header_written) {
        return;
    }
    fz_buf_append(&writer->file, "Obj\x01", 4);
    put_long(&writer->file, writer->n_metadata);
    fz_buf_append(&writer->file, writer->head.ptr, writer->head.len);
    put_long(&writer->file, 0);
    fz_buf_append(&writer->file, writer->sync, sizeof writer->sync);
    writer->header_written = true;
}

static enum fz_code flush_block(struct fz_avro_writer *writer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    write_header(writer);
    if (writer->n_records == 0) {
        goto out;
    }
    FZ_TRY(fz_buf_check(&writer->block, err));
    struct fz_str plain = {writer->block.ptr, writer->block.len};
    FZ_TRY(fz_avro_compress(writer->codec, writer->level, plain, &writer->packed, err));
    put_long(&writer->file, writer->n_records);
    put_sized(&writer->file, writer->packed.ptr, writer->packed.len);
    fz_buf_append(&writer->file, writer->sync, sizeof writer->sync);
    fz_buf_clear(&writer->block);
    writer->n_records = 0;
out:
    return rc == FZ_OK ? fz_buf_check(&writer->file, err) : rc;
}

enum fz_code fz_avro_writer_end_record(struct fz_avro_writer *writer, struct fz_err *err) {
    writer->n_records++;
    if (writer->block.len >= block_bytes) {
        return flush_block(writer, err);
    }
    return fz_buf_check(&writer->block, err);
}

enum fz_code fz_avro_writer_close(struct fz_avro_writer *writer, struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(flush_block(writer, err));
    fz_buf_append(out, writer->file.ptr, writer->file.len);
    rc = fz_buf_check(out, err);
out:
    fz_avro_writer_abort(writer);
    return rc;
}

void fz_avro_writer_abort(struct fz_avro_writer *writer) {
    if (writer == NULL) {
        return;
    }
    fz_buf_dispose(&writer->head);
    fz_buf_dispose(&writer->block);
    fz_buf_dispose(&writer->packed);
    fz_buf_dispose(&writer->file);
    fz_free(writer);
}
