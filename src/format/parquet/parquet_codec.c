// Page compression: one call in, one call out, for every codec of parquet.thrift but LZO. Sizes are known from the page header, so
// nothing is ever inflated beyond what was announced.
#include <brotli/decode.h>
#include <brotli/encode.h>
#include <lz4.h>
#include <lz4frame.h>
#include <snappy-c.h>
#include <zlib.h>
#include <zstd.h>

#include "format/parquet/parquet_meta.h"

static const char *codec_name(int codec) {
    static const char *const names[] = {"uncompressed", "snappy", "gzip", "lzo", "brotli", "lz4", "zstd", "lz4_raw"};
    return codec >= 0 && codec <= FZ_PQ_LZ4_RAW ? names[codec] : "unknown";
}

// Several gzip members (or a zlib stream) one after the other.
static bool gunzip(const uint8_t *data, size_t len, uint8_t *out, size_t out_len) {
    z_stream z = {0};
    if (inflateInit2(&z, 15 + 32) != Z_OK) {
        return false;
    }
    bool ok = false;
    z.next_in = (Bytef *)(uintptr_t)data;
    z.avail_in = (uInt)len;
    z.next_out = out;
    z.avail_out = (uInt)out_len;
    for (;;) {
        int rc = inflate(&z, Z_FINISH);
        if (rc != Z_STREAM_END) {
            break;
        }
        if (z.avail_out == 0) {
            ok = true;
            break;
        }
        if (z.avail_in == 0 || inflateReset(&z) != Z_OK) {
            break;
        }
    }
    inflateEnd(&z);
    return ok;
}

static uint32_t be32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

// Hadoop's framing: blocks of {big-endian inflated length, then chunks of {big-endian length, raw LZ4}} until that length is full.
static bool lz4_hadoop(const uint8_t *data, size_t len, uint8_t *out, size_t out_len) {
    size_t in = 0, done = 0;
    while (in < len) {
        if (len - in < 8) {
            return false;
        }
        size_t want = be32(data + in);
        in += 4;
        if (want > out_len - done) {
            return false;
        }
        for (size_t filled = 0; filled < want;) {
            if (len - in < 4) {
                return false;
            }
            size_t chunk = be32(data + in);
            in += 4;
            if (chunk > len - in || chunk == 0) {
                return false;
            }
            int n = LZ4_decompress_safe((const char *)data + in, (char *)out + done, (int)chunk, (int)(want - filled));
            if (n <= 0) {
                return false;
            }
            in += chunk;
            filled += (size_t)n;
            done += (size_t)n;
        }
        if (want == 0) {
            in += 4; // an empty block still carries its (zero) chunk length
        }
    }
    return done == out_len;
}

static bool lz4_frames(const uint8_t *data, size_t len, uint8_t *out, size_t out_len) {
    LZ4F_dctx *ctx = NULL;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION))) {
        return false;
    }
    size_t in = 0, done = 0, hint = 1;
    bool ok = true;
    while (ok && in < len) { // a frame is over when the hint is 0; another one may follow
        size_t src = len - in, dst = out_len - done;
        hint = LZ4F_decompress(ctx, out + done, &dst, data + in, &src, NULL);
        ok = !LZ4F_isError(hint) && (src > 0 || dst > 0);
        in += src;
        done += dst;
    }
    ok = ok && hint == 0;
    LZ4F_freeDecompressionContext(ctx);
    return ok && done == out_len;
}

static bool lz4_raw(const void *data, size_t len, void *out, size_t out_len) {
    return LZ4_decompress_safe(data, out, (int)len, (int)out_len) == (int)out_len;
}

// The codec number 5 has been used for three framings.
static bool lz4_any(const uint8_t *data, size_t len, uint8_t *out, size_t out_len) {
    static const uint8_t magic[4] = {0x04, 0x22, 0x4d, 0x18};
    if (len >= 4 && memcmp(data, magic, 4) == 0 && lz4_frames(data, len, out, out_len)) {
        return true;
    }
    return lz4_hadoop(data, len, out, out_len) || lz4_raw(data, len, out, out_len);
}

enum fz_code fz_pq_decompress(int codec, const void *data, size_t len, void *out, size_t out_len, struct fz_err *err) {
    bool ok = false;
    if (len > INT32_MAX || out_len > INT32_MAX) {
        return fz_fail(err, FZ_CORRUPT, "a page of %zu bytes (%zu inflated) is larger than Parquet allows", len,
                       out_len);
    }
    if (out_len == 0 && codec != FZ_PQ_LZO) {
        return FZ_OK;
    }
    switch (codec) {
    case FZ_PQ_UNCOMPRESSED:
        ok = len == out_len;
        if (ok) {
            memcpy(out, data, len);
        }
        break;
    case FZ_PQ_SNAPPY: {
        size_t n = 0;
        ok = snappy_uncompressed_length(data, len, &n) == SNAPPY_OK && n == out_len &&
             snappy_uncompress(data, len, out, &n) == SNAPPY_OK && n == out_len;
        break;
    }
    case FZ_PQ_GZIP:
        ok = gunzip(data, len, out, out_len);
        break;
    case FZ_PQ_BROTLI: {
        size_t n = out_len;
        ok = BrotliDecoderDecompress(len, data, &n, out) == BROTLI_DECODER_RESULT_SUCCESS && n == out_len;
        break;
    }
    case FZ_PQ_ZSTD:
        ok = ZSTD_decompress(out, out_len, data, len) == out_len;
        break;
    case FZ_PQ_LZ4:
        ok = lz4_any(data, len, out, out_len);
        break;
    case FZ_PQ_LZ4_RAW:
        ok = lz4_raw(data, len, out, out_len);
        break;
    default:
        return fz_fail(err, FZ_UNSUPPORTED, "compression codec %d (%s) is not supported", codec, codec_name(codec));
    }
    if (!ok) {
        return fz_fail(err, FZ_CORRUPT, "%s bytes do not inflate to the %zu bytes the page header says",
                       codec_name(codec), out_len);
    }
    return FZ_OK;
}

static bool gzip(int level, const void *data, size_t len, struct fz_buf *out) {
    z_stream z = {0};
    if (deflateInit2(&z, level < 0 ? Z_DEFAULT_COMPRESSION : level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) !=
        Z_OK) {
        return false;
    }
    uLong bound = deflateBound(&z, (uLong)len);
    bool ok = fz_buf_reserve(out, bound);
    if (ok) {
        z.next_in = (Bytef *)(uintptr_t)data;
        z.avail_in = (uInt)len;
        z.next_out = (Bytef *)out->ptr + out->len;
        z.avail_out = (uInt)bound;
        ok = deflate(&z, Z_FINISH) == Z_STREAM_END;
        out->len += bound - z.avail_out;
    }
    deflateEnd(&z);
    return ok;
}

static void put_be32(char *p, size_t v) {
    p[0] = (char)(v >> 24);
    p[1] = (char)(v >> 16);
    p[2] = (char)(v >> 8);
    p[3] = (char)v;
}

static bool lz4_compress(bool hadoop, const void *data, size_t len, struct fz_buf *out) {
    size_t bound = (size_t)LZ4_compressBound((int)len), head = hadoop ? 8 : 0;
    if (!fz_buf_reserve(out, bound + head)) {
        return false;
    }
    int n = LZ4_compress_default(data, out->ptr + out->len + head, (int)len, (int)bound);
    if (n <= 0) {
        return false;
    }
    if (hadoop) {
        put_be32(out->ptr + out->len, len);
        put_be32(out->ptr + out->len + 4, (size_t)n);
    }
    out->len += (size_t)n + head;
    return true;
}

static bool compress_into(int codec, int level, const void *data, size_t len, struct fz_buf *out) {
    size_t n = 0;
    switch (codec) {
    case FZ_PQ_SNAPPY:
        n = snappy_max_compressed_length(len);
        if (!fz_buf_reserve(out, n) || snappy_compress(data, len, out->ptr + out->len, &n) != SNAPPY_OK) {
            return false;
        }
        out->len += n;
        return true;
    case FZ_PQ_GZIP:
        return gzip(level, data, len, out);
    case FZ_PQ_BROTLI:
        n = BrotliEncoderMaxCompressedSize(len) + 16;
        if (!fz_buf_reserve(out, n) ||
            !BrotliEncoderCompress(level < 0 ? 1 : level, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, len, data, &n,
                                   (uint8_t *)out->ptr + out->len)) {
            return false;
        }
        out->len += n;
        return true;
    case FZ_PQ_ZSTD:
        n = ZSTD_compressBound(len);
        if (!fz_buf_reserve(out, n)) {
            return false;
        }
        n = ZSTD_compress(out->ptr + out->len, n, data, len, level < 0 ? 3 : level);
        if (ZSTD_isError(n)) {
            return false;
        }
        out->len += n;
        return true;
    default:
        return lz4_compress(codec == FZ_PQ_LZ4, data, len, out);
    }
}

enum fz_code fz_pq_compress(int codec, int level, const void *data, size_t len, struct fz_buf *out,
                            struct fz_err *err) {
    if (codec == FZ_PQ_LZO || codec < 0 || codec > FZ_PQ_LZ4_RAW) {
        return fz_fail(err, FZ_UNSUPPORTED, "compression codec %d (%s) is not supported", codec, codec_name(codec));
    }
    if (len > LZ4_MAX_INPUT_SIZE) {
        return fz_fail(err, FZ_LIMIT, "a page of %zu bytes is too large to compress", len);
    }
    if (codec == FZ_PQ_UNCOMPRESSED) {
        fz_buf_append(out, data, len);
        return fz_buf_check(out, err);
    }
    if (!compress_into(codec, level, data, len, out)) {
        enum fz_code rc = fz_buf_check(out, err);
        return rc != FZ_OK
                   ? rc
                   : fz_fail(err, FZ_BUG, "%s failed to compress %zu bytes at level %d", codec_name(codec), len, level);
    }
    if (out->ptr != NULL) {
        out->ptr[out->len] = 0; // a buffer's text is always ended
    }
    return FZ_OK;
}
