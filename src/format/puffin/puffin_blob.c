// Reading blobs: their bytes, inflated.
#include <lz4frame.h>
#include <zstd.h>

#include "format/puffin/puffin_priv.h"

enum { STEP = 65536 };

enum fz_code fz_puffin_lz4_inflate(const char *data, size_t len, size_t max_bytes, struct fz_buf *out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    LZ4F_dctx *ctx = NULL;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&ctx, LZ4F_VERSION))) {
        return fz_fail_nomem(err, len);
    }
    size_t at = 0, hint = 1;
    while (hint != 0) {
        if (out->len > max_bytes) {
            rc = fz_fail(err, FZ_LIMIT, "it inflates to more than %zu bytes", max_bytes);
            goto out;
        }
        if (!fz_buf_reserve(out, STEP)) {
            break;
        }
        size_t made = STEP, used = len - at;
        hint = LZ4F_decompress(ctx, out->ptr + out->len, &made, data + at, &used, NULL);
        if (LZ4F_isError(hint) || (made == 0 && used == 0 && hint != 0)) {
            rc = fz_fail(err, FZ_CORRUPT, "its LZ4 frame is damaged");
            goto out;
        }
        at += used;
        out->len += made;
    }
    if (!out->failed && at != len) {
        rc = fz_fail(err, FZ_CORRUPT, "there are bytes behind its LZ4 frame");
        goto out;
    }
    rc = fz_buf_check(out, err);
out:
    LZ4F_freeDecompressionContext(ctx);
    return rc;
}

static enum fz_code zstd_inflate(const char *data, size_t len, size_t max_bytes, struct fz_buf *out,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    ZSTD_DCtx *ctx = ZSTD_createDCtx();
    ZSTD_inBuffer in = {data, len, 0};
    size_t hint = 1;
    if (ctx == NULL) {
        return fz_fail_nomem(err, len);
    }
    while (in.pos < len || hint != 0) {
        if (out->len > max_bytes) {
            rc = fz_fail(err, FZ_LIMIT, "it inflates to more than %zu bytes", max_bytes);
            goto out;
        }
        if (!fz_buf_reserve(out, STEP)) {
            break;
        }
        ZSTD_outBuffer to = {out->ptr + out->len, STEP, 0};
        size_t before = in.pos;
        hint = ZSTD_decompressStream(ctx, &to, &in);
        if (ZSTD_isError(hint) || (hint != 0 && to.pos == 0 && in.pos == before)) {
            rc = fz_fail(err, FZ_CORRUPT, "its zstd frame is damaged");
            goto out;
        }
        out->len += to.pos;
    }
    rc = fz_buf_check(out, err);
out:
    ZSTD_freeDCtx(ctx);
    return rc;
}

enum fz_code fz_puffin_blob_read(struct fz_store *store, const char *location, const struct fz_puffin_blob *blob,
                                 size_t max_bytes, struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf raw = {0};
    if (blob->length < 0 || (uint64_t)blob->length > max_bytes) {
        rc = fz_fail(err, FZ_LIMIT, "it has %lld bytes", (long long)blob->length);
        goto out;
    }
    if (!fz_buf_reserve(&raw, (size_t)blob->length)) {
        rc = fz_buf_check(&raw, err);
        goto out;
    }
    FZ_TRY(fz_store_read(store, location, blob->offset, (size_t)blob->length, raw.ptr, NULL, err));
    raw.len = (size_t)blob->length;
    if (blob->compression_codec == NULL) {
        fz_buf_append(out, raw.ptr, raw.len);
        rc = fz_buf_check(out, err);
    } else if (strcmp(blob->compression_codec, "lz4") == 0) {
        rc = fz_puffin_lz4_inflate(raw.ptr, raw.len, max_bytes, out, err);
    } else if (strcmp(blob->compression_codec, "zstd") == 0) {
        rc = zstd_inflate(raw.ptr, raw.len, max_bytes, out, err);
    } else {
        rc = fz_fail(err, FZ_UNSUPPORTED, "it is compressed with %s, which Puffin does not know",
                     blob->compression_codec);
    }
out:
    if (rc != FZ_OK) {
        fz_err_context(err, "blob at byte %lld of %s", (long long)blob->offset, location);
    }
    fz_buf_dispose(&raw);
    return rc;
}
