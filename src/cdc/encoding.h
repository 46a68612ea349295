// The types and encodings of columns as a pipeline writes them: `type: "decimal(12,2)"`, `encoding: decimal-bytes(2)`.
// Types are Spark's spelling (bigint, timestamp, timestamp_ntz, array<int>) or Iceberg's (long, timestamptz, list<int>, uuid, time).
#ifndef FZ_CDC_ENCODING_H
#define FZ_CDC_ENCODING_H

#include "cdc/flow.h"

// SCHEMA_MISMATCH with the text and what it could be. `timestamp` is Spark's, with zone; fz_cdc_type_settle makes it Iceberg's
// timestamp (no zone) where the declared encoding has no zone.
enum fz_code fz_cdc_type_parse(struct fz_arena *arena, struct fz_str text, const struct fz_type **out,
                               struct fz_err *err);
enum fz_code fz_cdc_encoding_parse(struct fz_arena *arena, struct fz_str text, struct fz_cdc_encoding *out,
                                   struct fz_err *err);
// Final type for a parsed type and its declared encoding (kind NONE when none is declared).
const struct fz_type *fz_cdc_type_settle(struct fz_arena *arena, const struct fz_type *type,
                                         const struct fz_cdc_encoding *encoding);
// The connector's documented default for a type. NULL-kind never comes out.
enum fz_code fz_cdc_encoding_default(struct fz_arena *arena, const struct fz_type *type, struct fz_cdc_encoding *out,
                                     struct fz_err *err);
// Whether values of the encoding can become values of the type.
bool fz_cdc_encoding_fits(const struct fz_cdc_encoding *encoding, const struct fz_type *type);
void fz_cdc_encoding_print(struct fz_buf *out, const struct fz_cdc_encoding *encoding);
// A default written in the pipeline ("0", "2024-01-31", "new") as a value of the type; INVALID_ARG when it is none.
enum fz_code fz_cdc_default_parse(struct fz_arena *arena, const char *text, const struct fz_type *type,
                                  const struct fz_value **out, struct fz_err *err);

#endif
