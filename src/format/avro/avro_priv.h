// Shared by the files of format/avro/: kinds of types and the schema parser.
#ifndef FZ_FORMAT_AVRO_AVRO_PRIV_H
#define FZ_FORMAT_AVRO_AVRO_PRIV_H

#include "format/avro/avro.h"

// Same numbers as in fz_avro_kind(): primitives first, then the complex ones, unions, and what is none of them.
enum fz_avro_kind_id {
    AVRO_NULL,
    AVRO_BOOLEAN,
    AVRO_INT,
    AVRO_LONG,
    AVRO_FLOAT,
    AVRO_DOUBLE,
    AVRO_BYTES,
    AVRO_STRING,
    AVRO_RECORD,
    AVRO_ENUM,
    AVRO_ARRAY,
    AVRO_MAP,
    AVRO_FIXED,
    AVRO_UNION,
    AVRO_NONE,
};

// Parses and resolves a schema; the caller owns one reference. CORRUPT, UNSUPPORTED (recursive), LIMIT.
enum fz_code fz_avro_schema_parse(struct fz_str text, json_t **out, struct fz_err *err);
int fz_avro_kind(const json_t *schema); // enum fz_avro_kind_id; AVRO_NONE when it is no type

#endif
