// Writing Puffin files: magic, blobs as they come, footer with an uncompressed JSON payload.
#include "base/text.h"
#include "format/puffin/puffin_priv.h"

static const char MAGIC[] = "PFA1";

struct fz_puffin_writer {
    struct fz_writer *sink;
    struct fz_buf blobs; // JSON of the blobs so far, separated by commas
    int64_t pos;
};

static enum fz_code write_raw(struct fz_puffin_writer *w, const void *data, size_t len, struct fz_err *err) {
    enum fz_code rc = fz_writer_append(w->sink, data, len, err);
    w->pos += (int64_t)len;
    return rc;
}

enum fz_code fz_puffin_writer_open(struct fz_writer *sink, struct fz_puffin_writer **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_puffin_writer *w = NULL;
    FZ_NEW(w, err);
    w->sink = sink;
    FZ_TRY(write_raw(w, MAGIC, 4, err));
    *out = w;
    return FZ_OK;
out:
    fz_free(w);
    fz_writer_abort(sink);
    return rc;
}

static void describe_blob(struct fz_buf *out, const struct fz_puffin_blob *blob, int64_t offset, size_t len) {
    fz_buf_puts(out, out->len > 0 ? ",{\"type\":" : "{\"type\":");
    fz_json_quote(out, fz_str_of(blob->type));
    fz_buf_puts(out, ",\"fields\":[");
    for (size_t i = 0; i < blob->n_fields; i++) {
        fz_buf_printf(out, i > 0 ? ",%d" : "%d", blob->fields[i]);
    }
    fz_buf_printf(out, "],\"snapshot-id\":%lld,\"sequence-number\":%lld,\"offset\":%lld,\"length\":%zu",
                  (long long)blob->snapshot_id, (long long)blob->sequence_number, (long long)offset, len);
    if (blob->compression_codec != NULL) {
        fz_buf_puts(out, ",\"compression-codec\":");
        fz_json_quote(out, fz_str_of(blob->compression_codec));
    }
    for (size_t i = 0; i < blob->n_properties; i++) {
        fz_buf_puts(out, i > 0 ? "," : ",\"properties\":{");
        fz_json_quote(out, fz_str_of(blob->properties[i].key));
        fz_buf_putc(out, ':');
        fz_json_quote(out, fz_str_of(blob->properties[i].value));
    }
    fz_buf_puts(out, blob->n_properties > 0 ? "}}" : "}");
}

enum fz_code fz_puffin_writer_add(struct fz_puffin_writer *w, const struct fz_puffin_blob *blob, const void *data,
                                  size_t len, int64_t *out_offset, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t offset = w->pos;
    describe_blob(&w->blobs, blob, offset, len);
    FZ_TRY(fz_buf_check(&w->blobs, err));
    FZ_TRY(write_raw(w, data, len, err));
    *out_offset = offset;
out:
    return rc;
}

enum fz_code fz_puffin_writer_close(struct fz_puffin_writer *w, int64_t *out_file_size, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf footer = {0};
    fz_buf_append(&footer, MAGIC, 4);
    fz_buf_puts(&footer, "{\"blobs\":[");
    fz_buf_append(&footer, w->blobs.ptr, w->blobs.len);
    fz_buf_puts(&footer, "],\"properties\":{\"created-by\":\"frazil 0.1.0\"}}");
    if (footer.len - 4 > INT32_MAX) {
        rc = fz_fail(err, FZ_LIMIT, "the footer of a Puffin file may not be larger than 2 GB");
        goto out;
    }
    uint32_t tail[2] = {(uint32_t)(footer.len - 4), 0}; // payload length, flags
    fz_buf_append(&footer, tail, sizeof tail);
    fz_buf_append(&footer, MAGIC, 4);
    FZ_TRY(fz_buf_check(&footer, err));
    FZ_TRY(write_raw(w, footer.ptr, footer.len, err));
    struct fz_writer *sink = w->sink;
    w->sink = NULL;
    FZ_TRY(fz_writer_close(sink, err));
    *out_file_size = w->pos;
out:
    fz_buf_dispose(&footer);
    fz_puffin_writer_abort(w);
    return rc;
}

void fz_puffin_writer_abort(struct fz_puffin_writer *w) {
    if (w == NULL) {
        return;
    }
    if (w->sink != NULL) {
        fz_writer_abort(w->sink);
    }
    fz_buf_dispose(&w->blobs);
    fz_free(w);
}
