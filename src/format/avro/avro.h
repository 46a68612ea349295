// Avro object container files (Avro spec 1.11 "Object Container Files"), as much as Iceberg needs: schema kept as JSON with all
// attributes (field-id, logicalType), file metadata keys, codecs null, deflate, snappy, zstandard. Values are pulled and pushed
// one by one; what they mean is table/'s business.
#ifndef FZ_FORMAT_AVRO_AVRO_H
#define FZ_FORMAT_AVRO_AVRO_H

#include <jansson.h>

#include "base/mem.h"

// Reading. The whole file is in memory (manifests are a few MB); the reader borrows it.
struct fz_avro_reader;
enum fz_code fz_avro_reader_open(const void *data, size_t len, struct fz_avro_reader **out, struct fz_err *err);
void fz_avro_reader_close(struct fz_avro_reader *reader);
const json_t *
fz_avro_reader_schema(const struct fz_avro_reader *reader); // writer schema, named types resolved in place where used
bool fz_avro_reader_metadata(const struct fz_avro_reader *reader, const char *key, struct fz_str *out);
// Metadata entries by number, in the order of the file; false behind the last one.
bool fz_avro_reader_metadata_at(const struct fz_avro_reader *reader, size_t at, struct fz_str *key,
                                struct fz_str *value);
int64_t fz_avro_reader_block_count(const struct fz_avro_reader *reader); // begun so far
// Next record; false in *more at the end. Then the caller decodes the record by walking the schema with the calls below.
enum fz_code fz_avro_reader_next(struct fz_avro_reader *reader, bool *more, struct fz_err *err);

// A cursor over the current record's bytes; all bounds-checked, CORRUPT on overrun.
enum fz_code fz_avro_get_long(struct fz_avro_reader *reader, int64_t *out,
                              struct fz_err *err); // int, long, enum, union branch
enum fz_code fz_avro_get_boolean(struct fz_avro_reader *reader, bool *out, struct fz_err *err);
enum fz_code fz_avro_get_float(struct fz_avro_reader *reader, float *out, struct fz_err *err);
enum fz_code fz_avro_get_double(struct fz_avro_reader *reader, double *out, struct fz_err *err);
enum fz_code fz_avro_get_bytes(struct fz_avro_reader *reader, struct fz_str *out,
                               struct fz_err *err); // bytes, string; valid until the next block
enum fz_code fz_avro_get_fixed(struct fz_avro_reader *reader, size_t n, struct fz_str *out, struct fz_err *err);
// Items of the next array or map block: 0 = end. Call until 0. Capped by the bytes left.
enum fz_code fz_avro_get_block(struct fz_avro_reader *reader, int64_t *out_items, struct fz_err *err);
// Skips one value of this schema.
enum fz_code fz_avro_skip(struct fz_avro_reader *reader, const json_t *schema, struct fz_err *err);

// Writing into memory.
enum fz_avro_codec { FZ_AVRO_NULL, FZ_AVRO_DEFLATE, FZ_AVRO_SNAPPY, FZ_AVRO_ZSTD };
struct fz_avro_writer;
enum fz_code fz_avro_writer_open(const char *schema_json, enum fz_avro_codec codec, int level /* -1 default */,
                                 struct fz_avro_writer **out, struct fz_err *err);
enum fz_code fz_avro_writer_metadata(struct fz_avro_writer *writer, const char *key, struct fz_str value,
                                     struct fz_err *err); // before the first record
void fz_avro_put_long(struct fz_avro_writer *writer, int64_t v);
void fz_avro_put_boolean(struct fz_avro_writer *writer, bool v);
void fz_avro_put_float(struct fz_avro_writer *writer, float v);
void fz_avro_put_double(struct fz_avro_writer *writer, double v);
void fz_avro_put_bytes(struct fz_avro_writer *writer, const void *data, size_t len); // bytes, string
void fz_avro_put_raw(struct fz_avro_writer *writer, const void *data, size_t len); // fixed
enum fz_code fz_avro_writer_end_record(struct fz_avro_writer *writer, struct fz_err *err);
enum fz_code fz_avro_writer_close(struct fz_avro_writer *writer, struct fz_buf *out,
                                  struct fz_err *err); // frees the writer, also on error
void fz_avro_writer_abort(struct fz_avro_writer *writer);

#endif
