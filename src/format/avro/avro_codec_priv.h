// Block codecs of Avro containers; used by the reader and the writer only.
#ifndef FZ_FORMAT_AVRO_AVRO_CODEC_PRIV_H
#define FZ_FORMAT_AVRO_AVRO_CODEC_PRIV_H

#include "format/avro/avro.h"

bool fz_avro_codec_parse(struct fz_str name, enum fz_avro_codec *out);
const char *fz_avro_codec_name(enum fz_avro_codec codec); // as in the file: "deflate"
// `out` is cleared first and holds the result. CORRUPT, or LIMIT for blocks above 512 MB.
enum fz_code fz_avro_decompress(enum fz_avro_codec codec, struct fz_str in, struct fz_buf *out, struct fz_err *err);
enum fz_code fz_avro_compress(enum fz_avro_codec codec, int level, struct fz_str in, struct fz_buf *out,
                              struct fz_err *err);

#endif
