// Lines of plain, gzip and zstd files: see line_reader_priv.h. The compression is told by the first bytes, not by the name.
#include "cdc/source/line_reader_priv.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

enum { CHUNK = 256 << 10, LINE_MAX_BYTES = 64 << 20 };
enum packing { PLAIN, GZIP, ZSTD };

struct fz_line_reader {
    const char *path; // owned
    int fd;
    enum packing packing;
    unsigned char *in; // CHUNK bytes of the file
    size_t in_at, in_len;
    bool file_end;
    z_stream gz;
    bool gz_open, gz_done; // done: at the end of a member
    ZSTD_DCtx *zstd;
    size_t zstd_hint; // 0: between frames
    char *text; // uncompressed
    size_t text_at, text_len, text_cap, scanned; // scanned: no line end before
    int64_t offset; // of text[text_at] in the uncompressed text
};

static enum fz_code fill_in(struct fz_line_reader *r, struct fz_err *err) {
    while (!r->file_end) {
        ssize_t n = read(r->fd, r->in, CHUNK);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            return fz_fail(err, FZ_IO, "reading %s: %s", r->path, strerror(errno));
        }
        r->in_at = 0;
        r->in_len = (size_t)n;
        r->file_end = n == 0;
        break;
    }
    return FZ_OK;
}

enum fz_code fz_line_reader_open(const char *path, struct fz_line_reader **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_line_reader *r = NULL;
    FZ_NEW(r, err);
    r->fd = -1;
    r->path = fz_strdup(path);
    r->in = fz_malloc(CHUNK);
    if (r->path == NULL || r->in == NULL) {
        rc = fz_fail_nomem(err, CHUNK);
        goto out;
    }
    r->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (r->fd < 0) {
        rc = fz_fail(err, errno == ENOENT ? FZ_NOT_FOUND : FZ_IO, "%s: %s", path, strerror(errno));
        goto out;
    }
    FZ_TRY(fill_in(r, err));
    if (r->in_len >= 2 && r->in[0] == 0x1f && r->in[1] == 0x8b) {
        r->packing = GZIP;
        r->gz_open = inflateInit2(&r->gz, 15 + 16) == Z_OK;
    } else if (r->in_len >= 4 && r->in[0] == 0x28 && r->in[1] == 0xb5 && r->in[2] == 0x2f && r->in[3] == 0xfd) {
        r->packing = ZSTD;
        r->zstd = ZSTD_createDCtx();
    }
    if ((r->packing == GZIP && !r->gz_open) || (r->packing == ZSTD && r->zstd == NULL)) {
        rc = fz_fail_nomem(err, 1 << 16);
        goto out;
    }
    *out = r;
    r = NULL;
out:
    fz_line_reader_close(r);
    return rc;
}

void fz_line_reader_close(struct fz_line_reader *r) {
    if (r == NULL) {
        return;
    }
    if (r->fd >= 0) {
        close(r->fd);
    }
    if (r->gz_open) {
        inflateEnd(&r->gz);
    }
    ZSTD_freeDCtx(r->zstd);
    fz_free(r->text);
    fz_free(r->in);
    fz_free((void *)(uintptr_t)r->path);
    fz_free(r);
}

static enum fz_code damaged(const struct fz_line_reader *r, const char *why, struct fz_err *err) {
    return fz_fail(err, FZ_CORRUPT, "%s: damaged %s data: %s", r->path, r->packing == GZIP ? "gzip" : "zstd", why);
}

// Unpacks at most `room` bytes to `dst`; *got 0 at the end.
static enum fz_code unpack_gzip(struct fz_line_reader *r, char *dst, size_t room, size_t *got, struct fz_err *err) {
    r->gz.next_in = r->in + r->in_at;
    r->gz.avail_in = (unsigned)(r->in_len - r->in_at);
    r->gz.next_out = (unsigned char *)dst;
    r->gz.avail_out = (unsigned)room;
    int status = inflate(&r->gz, Z_NO_FLUSH);
    r->in_at = r->in_len - r->gz.avail_in;
    *got = room - r->gz.avail_out;
    r->gz_done = status == Z_STREAM_END;
    if (status == Z_STREAM_END) { // perhaps another member follows
        if (r->in_at == r->in_len) {
            enum fz_code rc = fill_in(r, err);
            if (rc != FZ_OK) {
                return rc;
            }
        }
        if (r->in_at < r->in_len) {
            return inflateReset(&r->gz) == Z_OK ? FZ_OK : damaged(r, "cannot go on", err);
        }
        return FZ_OK;
    }
    if (status != Z_OK && status != Z_BUF_ERROR) {
        return damaged(r, r->gz.msg == NULL ? "unreadable" : r->gz.msg, err);
    }
    if (*got == 0 && r->file_end) {
        return damaged(r, "it ends too early", err);
    }
    return FZ_OK;
}

static enum fz_code unpack_zstd(struct fz_line_reader *r, char *dst, size_t room, size_t *got, struct fz_err *err) {
    ZSTD_inBuffer in = {r->in, r->in_len, r->in_at};
    ZSTD_outBuffer out = {dst, room, 0};
    size_t hint = ZSTD_decompressStream(r->zstd, &out, &in);
    r->in_at = in.pos;
    *got = out.pos;
    if (ZSTD_isError(hint)) {
        return damaged(r, ZSTD_getErrorName(hint), err);
    }
    r->zstd_hint = hint;
    if (out.pos == 0 && r->file_end && hint != 0) {
        return damaged(r, "it ends too early", err);
    }
    return FZ_OK;
}

// More text behind what is there; *more false at the end of the file.
static enum fz_code fill_text(struct fz_line_reader *r, bool *more, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (r->text_at > 0) {
        memmove(r->text, r->text + r->text_at, r->text_len - r->text_at);
        r->text_len -= r->text_at;
        r->scanned -= r->text_at;
        r->text_at = 0;
    }
    if (r->text_len > LINE_MAX_BYTES) {
        return fz_fail(err, FZ_LIMIT, "%s: the line at byte %lld is longer than 64 MB", r->path, (long long)r->offset);
    }
    FZ_TRY(fz_grow((void **)&r->text, &r->text_cap, r->text_len + CHUNK, 1, err));
    *more = false;
    for (;;) {
        size_t got = 0;
        if (r->in_at == r->in_len && !r->file_end) {
            FZ_TRY(fill_in(r, err));
        }
        bool in_left = r->in_at < r->in_len;
        if (r->packing == PLAIN) {
            got = r->in_len - r->in_at;
            if (got > r->text_cap - r->text_len) {
                got = r->text_cap - r->text_len;
            }
            memcpy(r->text + r->text_len, r->in + r->in_at, got);
            r->in_at += got;
        } else if (r->packing == GZIP) {
            if (in_left || !r->gz_done) {
                FZ_TRY(unpack_gzip(r, r->text + r->text_len, r->text_cap - r->text_len, &got, err));
            }
        } else if (in_left || r->zstd_hint != 0) {
            FZ_TRY(unpack_zstd(r, r->text + r->text_len, r->text_cap - r->text_len, &got, err));
        }
        r->text_len += got;
        if (got > 0) {
            *more = true;
            return FZ_OK;
        }
        if (!in_left && r->file_end) {
            return FZ_OK;
        }
    }
out:
    return rc;
}

enum fz_code fz_line_reader_skip(struct fz_line_reader *r, int64_t bytes, bool *reached, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *reached = true;
    if (r->packing == PLAIN && r->text_len == 0) {
        off_t end = lseek(r->fd, 0, SEEK_END);
        if (end < 0 || bytes > end) {
            *reached = false;
            return FZ_OK;
        }
        lseek(r->fd, bytes, SEEK_SET);
        r->in_at = r->in_len = 0;
        r->file_end = false;
        r->offset = bytes;
        return FZ_OK;
    }
    while (bytes > 0) {
        size_t here = r->text_len - r->text_at;
        size_t n = (int64_t)here > bytes ? (size_t)bytes : here;
        r->text_at += n;
        r->scanned = r->text_at;
        r->offset += (int64_t)n;
        bytes -= (int64_t)n;
        if (bytes > 0) {
            bool more;
            FZ_TRY(fill_text(r, &more, err));
            if (!more) {
                *reached = false;
                return FZ_OK;
            }
        }
    }
out:
    return rc;
}

enum fz_code fz_line_reader_next(struct fz_line_reader *r, struct fz_str *line, int64_t *offset, int64_t *next_offset,
                                 bool *terminated, bool *found, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool more = true;
    const char *end = NULL;
    for (;;) {
        end = r->text_len > r->scanned ? memchr(r->text + r->scanned, '\n', r->text_len - r->scanned) : NULL;
        if (end != NULL || !more) {
            break;
        }
        r->scanned = r->text_len;
        FZ_TRY(fill_text(r, &more, err));
    }
    size_t len = (end == NULL ? r->text_len : (size_t)(end - r->text)) - r->text_at;
    size_t used = len + (end != NULL);
    *found = used > 0;
    *terminated = end != NULL;
    *line = (struct fz_str){r->text == NULL ? "" : r->text + r->text_at, len};
    if (len > 0 && line->ptr[len - 1] == '\r') {
        line->len--;
    }
    *offset = r->offset;
    r->offset += (int64_t)used;
    *next_offset = r->offset;
    r->text_at += used;
    r->scanned = r->text_at;
out:
    return rc;
}
