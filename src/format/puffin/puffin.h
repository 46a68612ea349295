// Puffin files (puffin spec) and the deletion-vector blob with its 64-bit Roaring bitmap (iceberg-facts 7.11).
#ifndef FZ_FORMAT_PUFFIN_PUFFIN_H
#define FZ_FORMAT_PUFFIN_PUFFIN_H

#include "store/store.h"

// A set of row positions, 0 .. 2^63-1. Not thread-safe for writing.
struct fz_positions;
enum fz_code fz_positions_new(struct fz_positions **out, struct fz_err *err);
void fz_positions_free(struct fz_positions *p);
enum fz_code fz_positions_add(struct fz_positions *p, int64_t pos, struct fz_err *err);
enum fz_code fz_positions_add_range(struct fz_positions *p, int64_t from, int64_t to_exclusive, struct fz_err *err);
enum fz_code fz_positions_union(struct fz_positions *into, const struct fz_positions *other, struct fz_err *err);
bool fz_positions_contains(const struct fz_positions *p, int64_t pos);
// True when any position lies in [from, from + n); cheap test for whole batches.
bool fz_positions_any(const struct fz_positions *p, int64_t from, int64_t n);
// The positions in [from, from + n) as distances from `from`, ascending, into `out` (room for n); returns how many there are.
size_t fz_positions_within(const struct fz_positions *p, int64_t from, uint32_t n, uint32_t *out);
int64_t fz_positions_count(const struct fz_positions *p);
enum fz_code fz_positions_each(const struct fz_positions *p,
                               enum fz_code (*fn)(void *ctx, int64_t pos, struct fz_err *err), void *ctx,
                               struct fz_err *err); // ascending
// The blob with length, magic, vector, CRC.
enum fz_code fz_dv_encode(struct fz_positions *p, struct fz_buf *out, struct fz_err *err); // run-optimises
enum fz_code fz_dv_decode(const void *data, size_t len, struct fz_positions **out, struct fz_err *err);

struct fz_puffin_blob {
    const char *type; // "deletion-vector-v1"
    const int32_t *fields;
    size_t n_fields;
    int64_t snapshot_id, sequence_number, offset, length;
    const char *compression_codec; // NULL none
    struct fz_puffin_property {
        const char *key, *value;
    } * properties;
    size_t n_properties;
};
// Writing: blobs are appended as they come; offset and length are filled into the copy given back.
struct fz_puffin_writer;
enum fz_code fz_puffin_writer_open(struct fz_writer *sink, struct fz_puffin_writer **out,
                                   struct fz_err *err); // takes the sink over
enum fz_code fz_puffin_writer_add(struct fz_puffin_writer *w, const struct fz_puffin_blob *blob, const void *data,
                                  size_t len, int64_t *out_offset, struct fz_err *err);
enum fz_code fz_puffin_writer_close(struct fz_puffin_writer *w, int64_t *out_file_size, struct fz_err *err);
void fz_puffin_writer_abort(struct fz_puffin_writer *w);
// Reading the footer.
enum fz_code fz_puffin_footer_read(struct fz_store *store, const char *location, int64_t size_bytes,
                                   struct fz_arena *arena, struct fz_puffin_blob **out, size_t *n, struct fz_err *err);
// The plain bytes of a blob (codecs none, lz4, zstd), appended; LIMIT above max_bytes.
enum fz_code fz_puffin_blob_read(struct fz_store *store, const char *location, const struct fz_puffin_blob *blob,
                                 size_t max_bytes, struct fz_buf *out, struct fz_err *err);

#endif
