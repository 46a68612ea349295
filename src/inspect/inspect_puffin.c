// Puffin: every blob; deletion vectors with how many positions they delete and the first ones, theta sketches with their estimate.
#include "format/puffin/puffin.h"
#include "format/puffin/theta.h"
#include "inspect/inspect_priv.h"

enum { MAX_BLOB = 1 << 30, FIRST_POSITIONS = 10 };

struct first {
    struct fz_inspect *in;
    json_t *list;
};

static enum fz_code take_position(void *ctx, int64_t pos, struct fz_err *err) {
    struct first *first = ctx;
    if (json_array_size(first->list) == FIRST_POSITIONS) {
        return fz_fail(err, FZ_CANCELLED, "enough");
    }
    fz_inspect_add(first->in, first->list, json_integer(pos));
    return FZ_OK;
}

static void put_vector(struct fz_inspect *in, json_t *row, const struct fz_buf *bytes) {
    struct fz_positions *positions = NULL;
    struct fz_err err = FZ_ERR_INIT;
    if (fz_dv_decode(bytes->ptr, bytes->len, &positions, &err) != FZ_OK) {
        fz_inspect_put(in, row, "damage", fz_inspect_cstr(err.message));
        return;
    }
    struct first first = {in, fz_inspect_array(in, row, "first_positions")};
    fz_inspect_put(in, row, "deleted_rows", json_integer(fz_positions_count(positions)));
    struct fz_err enough = FZ_ERR_INIT;
    (void)fz_positions_each(positions, take_position, &first, &enough);
    fz_positions_free(positions);
}

static void put_sketch(struct fz_inspect *in, json_t *row, const struct fz_buf *bytes) {
    struct fz_theta_info info;
    struct fz_err err = FZ_ERR_INIT;
    if (fz_theta_describe(bytes->ptr, bytes->len, &info, &err) != FZ_OK) {
        fz_inspect_put(in, row, "damage", fz_inspect_cstr(err.message));
        return;
    }
    fz_inspect_put(in, row, "estimate", json_real(info.estimate));
    fz_inspect_put(in, row, "theta", json_real(info.theta));
    fz_inspect_put(in, row, "retained", json_integer(info.retained));
}

enum fz_code fz_inspect_puffin(struct fz_inspect *in) {
    enum fz_code rc = FZ_OK;
    struct fz_puffin_blob *blobs = NULL;
    size_t n = 0;
    FZ_TRY(fz_puffin_footer_read(in->store, in->location, in->size_bytes, &in->arena, &blobs, &n, in->err));
    fz_inspect_put(in, in->root, "kind", json_string("Puffin"));
    json_t *rows = fz_inspect_array(in, in->root, "blobs");
    for (size_t i = 0; i < n; i++) {
        const struct fz_puffin_blob *blob = &blobs[i];
        json_t *row = fz_inspect_row(in, rows);
        fz_inspect_put(in, row, "type", fz_inspect_cstr(blob->type));
        json_t *fields = fz_inspect_array(in, row, "fields");
        for (size_t f = 0; f < blob->n_fields; f++) {
            fz_inspect_add(in, fields, json_integer(blob->fields[f]));
        }
        fz_inspect_put(in, row, "snapshot_id", json_integer(blob->snapshot_id));
        fz_inspect_put(in, row, "sequence_number", json_integer(blob->sequence_number));
        fz_inspect_put(in, row, "offset", json_integer(blob->offset));
        fz_inspect_put(in, row, "length", json_integer(blob->length));
        fz_inspect_put(in, row, "codec", fz_inspect_cstr(blob->compression_codec));
        bool vector = strcmp(blob->type, "deletion-vector-v1") == 0;
        if (vector || strcmp(blob->type, "apache-datasketches-theta-v1") == 0) {
            struct fz_buf bytes = {0};
            struct fz_err err = FZ_ERR_INIT;
            if (fz_puffin_blob_read(in->store, in->location, blob, MAX_BLOB, &bytes, &err) != FZ_OK) {
                fz_inspect_put(in, row, "damage", fz_inspect_cstr(err.message));
            } else if (vector) {
                put_vector(in, row, &bytes);
            } else {
                put_sketch(in, row, &bytes);
            }
            fz_buf_dispose(&bytes);
        }
        for (size_t p = 0; p < blob->n_properties; p++) {
            fz_inspect_put(in, row, blob->properties[p].key, fz_inspect_cstr(blob->properties[p].value));
        }
    }
out:
    return rc;
}
