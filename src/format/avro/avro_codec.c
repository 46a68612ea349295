// Block codecs of Avro containers: null, deflate (raw), snappy (with the big-endian CRC-32 of the plain bytes), zstandard.
#include "format/avro/avro_codec_priv.h"

#include <limits.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "base/hash.h"

// One block; Java writes blocks of 64 KB, others one block per file.
static const size_t max_block_bytes = (size_t)512 << 20;

static const char *const names[] = {"null", "deflate", "snappy", "zstandard"};

bool fz_avro_codec_parse(struct fz_str name, enum fz_avro_codec *out) {
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (fz_str_eq(name, fz_str_of(names[i]))) {
            *out = (enum fz_avro_codec)i;
            return true;
        }
    }
    return false;
}

const char *fz_avro_codec_name(enum fz_avro_codec codec) {
    return names[codec];
}

static enum fz_code too_big(struct fz_err *err) {
    return fz_fail(err, FZ_LIMIT, "Avro block holds more than %zu bytes", max_block_bytes);
}

static enum fz_code inflate_block(struct fz_str in, struct fz_buf *out, struct fz_err *err) {
    z_stream z = {0};
    if (inflateInit2(&z, -15) != Z_OK) {
        return fz_fail_nomem(err, 0);
    }
    enum fz_code rc = FZ_OK;
    z.next_in = (Bytef *)(uintptr_t)in.ptr;
    z.avail_in = (uInt)in.len;
    int status = Z_OK;
    while (rc == FZ_OK && status != Z_STREAM_END) {
        if (!fz_buf_reserve(out, in.len * 4 + 4096)) {
            rc = fz_fail_nomem(err, in.len * 4);
            break;
        }
        size_t room = out->cap - out->len - 1;
        room = room > UINT_MAX ? UINT_MAX : room;
        z.next_out = (Bytef *)out->ptr + out->len;
        z.avail_out = (uInt)room;
        status = inflate(&z, Z_NO_FLUSH);
        size_t made = room - z.avail_out;
        out->len += made;
        if (status != Z_OK && status != Z_STREAM_END) {
            rc = fz_fail(err, FZ_CORRUPT, "Avro block is not valid deflate data");
        } else if (out->len > max_block_bytes) {
            rc = too_big(err);
        } else if (status == Z_OK && made == 0 && z.avail_in == 0) {
            rc = fz_fail(err, FZ_CORRUPT, "Avro block ends in the middle of deflate data");
        }
    }
    inflateEnd(&z);
    return rc;
}

static enum fz_code unsnappy_block(struct fz_str in, struct fz_buf *out, struct fz_err *err) {
    size_t plain = 0;
    if (in.len < 4 || snappy_uncompressed_length(in.ptr, in.len - 4, &plain) != SNAPPY_OK) {
        return fz_fail(err, FZ_CORRUPT, "Avro block is not valid snappy data");
    }
    if (plain > max_block_bytes) {
        return too_big(err);
    }
    if (!fz_buf_reserve(out, plain + 1)) {
        return fz_fail_nomem(err, plain);
    }
    size_t made = plain;
    if (snappy_uncompress(in.ptr, in.len - 4, out->ptr, &made) != SNAPPY_OK || made != plain) {
        return fz_fail(err, FZ_CORRUPT, "Avro block is not valid snappy data");
    }
    out->len = plain;
    const uint8_t *sum = (const uint8_t *)in.ptr + in.len - 4;
    uint32_t want = (uint32_t)sum[0] << 24 | (uint32_t)sum[1] << 16 | (uint32_t)sum[2] << 8 | sum[3];
    if (fz_crc32(0, out->ptr, out->len) != want) {
        return fz_fail(err, FZ_CORRUPT, "Avro block has a wrong checksum");
    }
    return FZ_OK;
}

static enum fz_code unzstd_block(struct fz_str in, struct fz_buf *out, struct fz_err *err) {
    ZSTD_DStream *z = ZSTD_createDStream();
    if (z == NULL) {
        return fz_fail_nomem(err, 0);
    }
    enum fz_code rc = FZ_OK;
    ZSTD_inBuffer input = {in.ptr, in.len, 0};
    size_t status = 1;
    while (rc == FZ_OK && (input.pos < input.size || status != 0)) {
        if (!fz_buf_reserve(out, in.len * 4 + 4096)) {
            rc = fz_fail_nomem(err, in.len * 4);
            break;
        }
        ZSTD_outBuffer output = {out->ptr + out->len, out->cap - out->len - 1, 0};
        size_t before = input.pos;
        status = ZSTD_decompressStream(z, &output, &input);
        out->len += output.pos;
        if (ZSTD_isError(status)) {
            rc = fz_fail(err, FZ_CORRUPT, "Avro block is not valid zstd data: %s", ZSTD_getErrorName(status));
        } else if (out->len > max_block_bytes) {
            rc = too_big(err);
        } else if (output.pos == 0 && input.pos == before) {
            rc = fz_fail(err, FZ_CORRUPT, "Avro block ends in the middle of zstd data");
        }
    }
    ZSTD_freeDStream(z);
    return rc;
}

enum fz_code fz_avro_decompress(enum fz_avro_codec codec, struct fz_str in, struct fz_buf *out, struct fz_err *err) {
    fz_buf_clear(out);
    if (in.len > max_block_bytes) {
        return too_big(err);
    }
    switch (codec) {
    case FZ_AVRO_NULL:
        fz_buf_append(out, in.ptr, in.len);
        return fz_buf_check(out, err);
    case FZ_AVRO_DEFLATE:
        return inflate_block(in, out, err);
    case FZ_AVRO_SNAPPY:
        return unsnappy_block(in, out, err);
    case FZ_AVRO_ZSTD:
        return unzstd_block(in, out, err);
    }
    return fz_fail(err, FZ_BUG, "unknown Avro codec %d", (int)codec);
}

static enum fz_code deflate_block(int level, struct fz_str in, struct fz_buf *out, struct fz_err *err) {
    z_stream z = {0};
    if (deflateInit2(&z, level < 0 || level > 9 ? Z_DEFAULT_COMPRESSION : level, Z_DEFLATED, -15, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) {
        return fz_fail_nomem(err, 0);
    }
    size_t bound = deflateBound(&z, in.len);
    if (in.len > UINT_MAX || bound > UINT_MAX || !fz_buf_reserve(out, bound + 1)) {
        deflateEnd(&z);
        return fz_fail_nomem(err, bound);
    }
    z.next_in = (Bytef *)(uintptr_t)in.ptr;
    z.avail_in = (uInt)in.len;
    z.next_out = (Bytef *)out->ptr;
    z.avail_out = (uInt)bound;
    int status = deflate(&z, Z_FINISH);
    out->len = bound - z.avail_out;
    deflateEnd(&z);
    return status == Z_STREAM_END ? FZ_OK : fz_fail(err, FZ_BUG, "deflate stopped with status %d", status);
}

static enum fz_code snappy_block(struct fz_str in, struct fz_buf *out, struct fz_err *err) {
    size_t bound = snappy_max_compressed_length(in.len);
    if (!fz_buf_reserve(out, bound + 5)) {
        return fz_fail_nomem(err, bound);
    }
    size_t made = bound;
    if (snappy_compress(in.ptr, in.len, out->ptr, &made) != SNAPPY_OK) {
        return fz_fail(err, FZ_BUG, "snappy compression failed");
    }
    out->len = made;
    uint32_t crc = fz_crc32(0, in.ptr, in.len);
    const char sum[4] = {(char)(crc >> 24), (char)(crc >> 16), (char)(crc >> 8), (char)crc};
    fz_buf_append(out, sum, sizeof sum);
    return fz_buf_check(out, err);
}

enum fz_code fz_avro_compress(enum fz_avro_codec codec, int level, struct fz_str in, struct fz_buf *out,
                              struct fz_err *err) {
    fz_buf_clear(out);
    switch (codec) {
    case FZ_AVRO_NULL:
        fz_buf_append(out, in.ptr, in.len);
        return fz_buf_check(out, err);
    case FZ_AVRO_DEFLATE:
        return deflate_block(level, in, out, err);
    case FZ_AVRO_SNAPPY:
        return snappy_block(in, out, err);
    case FZ_AVRO_ZSTD: {
        size_t bound = ZSTD_compressBound(in.len);
        if (!fz_buf_reserve(out, bound + 1)) {
            return fz_fail_nomem(err, bound);
        }
        size_t made = ZSTD_compress(out->ptr, bound, in.ptr, in.len, level < 0 ? 3 : level);
        if (ZSTD_isError(made)) {
            return fz_fail(err, FZ_BUG, "zstd compression failed: %s", ZSTD_getErrorName(made));
        }
        out->len = made;
        return FZ_OK;
    }
    }
    return fz_fail(err, FZ_BUG, "unknown Avro codec %d", (int)codec);
}
