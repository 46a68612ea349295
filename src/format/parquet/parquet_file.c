// A Parquet file opened for reading: footer, schema tree, row positions. Shared by any number of readers, immutable.
#include <stdatomic.h>

#include "format/parquet/parquet_reader_priv.h"

enum { TAIL_BYTES = 64 << 10, MIN_FILE_BYTES = 12, MAX_FOOTER_BYTES = 256 << 20 };

static uint32_t le32(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

// Reads the end of the file: one request, a second one when the footer is longer. *out: the footer's bytes within `buf`.
static enum fz_code read_footer(struct fz_parquet_file *file, struct fz_cancel *cancel, struct fz_buf *buf,
                                struct fz_str *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t tail = file->size_bytes < TAIL_BYTES ? (size_t)file->size_bytes : TAIL_BYTES;
    if (file->size_bytes < MIN_FILE_BYTES) {
        return fz_fail(err, FZ_CORRUPT, "%s: not a Parquet file: it has only %lld bytes", file->location,
                       (long long)file->size_bytes);
    }
    if (!fz_buf_reserve(buf, tail)) {
        return fz_buf_check(buf, err);
    }
    FZ_TRY(fz_store_read(file->store, file->location, file->size_bytes - (int64_t)tail, tail, buf->ptr, cancel, err));
    const uint8_t *end = (const uint8_t *)buf->ptr + tail;
    if (memcmp(end - 4, "PARE", 4) == 0) {
        return fz_fail(err, FZ_UNSUPPORTED, "%s: the Parquet footer is encrypted, which is not supported",
                       file->location);
    }
    if (memcmp(end - 4, "PAR1", 4) != 0) {
        return fz_fail(err, FZ_CORRUPT, "%s: not a Parquet file: it does not end with PAR1", file->location);
    }
    size_t len = le32(end - 8);
    if ((int64_t)len > file->size_bytes - MIN_FILE_BYTES || len > MAX_FOOTER_BYTES) {
        return fz_fail(err, FZ_CORRUPT, "%s: the footer's length of %zu bytes does not fit a file of %lld bytes",
                       file->location, len, (long long)file->size_bytes);
    }
    if (len + 8 <= tail) {
        *out = (struct fz_str){buf->ptr + tail - 8 - len, len};
        return FZ_OK;
    }
    if (!fz_buf_reserve(buf, len)) {
        return fz_buf_check(buf, err);
    }
    FZ_TRY(fz_store_read(file->store, file->location, file->size_bytes - 8 - (int64_t)len, len, buf->ptr, cancel, err));
    *out = (struct fz_str){buf->ptr, len};
out:
    return rc;
}

// Row counts and columns of the row groups against the schema.
static enum fz_code check_row_groups(struct fz_parquet_file *file, struct fz_err *err) {
    const struct fz_pq_file *meta = &file->meta;
    file->first_rows = fz_arena_array(&file->arena, meta->n_row_groups + 1, sizeof *file->first_rows);
    if (file->first_rows == NULL) {
        return fz_fail_nomem(err, meta->n_row_groups * sizeof *file->first_rows);
    }
    int64_t rows = 0;
    for (size_t i = 0; i < meta->n_row_groups; i++) {
        const struct fz_pq_row_group *g = &meta->row_groups[i];
        if (g->n_columns != file->n_leaves) {
            return fz_fail(err, FZ_CORRUPT, "%s: row group %zu has %zu columns, the schema %zu", file->location, i,
                           g->n_columns, file->n_leaves);
        }
        file->first_rows[i] = rows;
        if (__builtin_add_overflow(rows, g->num_rows, &rows)) {
            return fz_fail(err, FZ_CORRUPT, "%s: the row groups have more rows than can be counted", file->location);
        }
    }
    file->first_rows[meta->n_row_groups] = rows;
    return FZ_OK;
}

enum fz_code fz_parquet_file_open(struct fz_store *store, const char *location, int64_t size_bytes,
                                  struct fz_cancel *cancel, struct fz_parquet_file **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_file *file = NULL;
    struct fz_buf buf = {0};
    struct fz_str footer = {0};
    struct fz_err inner = FZ_ERR_INIT;
    FZ_NEW(file, err);
    file->refs = 1;
    file->store = fz_store_ref(store);
    file->location = fz_arena_strdup(&file->arena, location);
    if (file->location == NULL) {
        rc = fz_fail_nomem(err, strlen(location));
        goto out;
    }
    file->size_bytes = size_bytes;
    if (size_bytes < 0) {
        FZ_TRY(fz_store_size(store, location, &file->size_bytes, err));
    }
    FZ_TRY(read_footer(file, cancel, &buf, &footer, err));
    rc = fz_pq_file_decode(&file->arena, footer.ptr, footer.len, &file->meta, &inner);
    if (rc != FZ_OK) {
        rc = fz_fail(err, rc, "%s: %s", location, inner.message);
        goto out;
    }
    FZ_TRY(fz_pqr_schema_build(file, err));
    FZ_TRY(check_row_groups(file, err));
    *out = file;
out:
    fz_buf_dispose(&buf);
    if (rc != FZ_OK) {
        fz_parquet_file_unref(file);
    }
    return rc;
}

struct fz_parquet_file *fz_parquet_file_ref(struct fz_parquet_file *file) {
    atomic_fetch_add(&file->refs, 1);
    return file;
}

void fz_parquet_file_unref(struct fz_parquet_file *file) {
    if (file != NULL && atomic_fetch_sub(&file->refs, 1) == 1) {
        fz_store_unref(file->store);
        fz_arena_dispose(&file->arena);
        fz_free(file);
    }
}

const struct fz_pq_file *fz_parquet_file_meta(const struct fz_parquet_file *file) {
    return &file->meta;
}

static bool has_field(const struct fz_pqr_node *node, int32_t field_id) {
    for (size_t i = 0; i < node->n_children; i++) {
        if (node->children[i].field_id == field_id || has_field(&node->children[i], field_id)) {
            return true;
        }
    }
    return false;
}

bool fz_parquet_file_has_field(const struct fz_parquet_file *file, int32_t field_id) {
    return has_field(&file->root, field_id);
}

bool fz_parquet_file_has_ids(const struct fz_parquet_file *file) {
    return file->has_ids;
}

const struct fz_type *fz_parquet_file_schema(const struct fz_parquet_file *file) {
    return file->root.type;
}
