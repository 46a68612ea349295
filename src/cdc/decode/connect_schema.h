// The `schema` part of a record (Kafka Connect's JSON converter with schemas.enable=true): fields with Iceberg types and encodings.
#ifndef FZ_CDC_CONNECT_SCHEMA_H
#define FZ_CDC_CONNECT_SCHEMA_H

#include "cdc/flow.h"
#include "cdc/json.h"

struct fz_connect_field {
    const char *name;
    const struct fz_type *type;
    struct fz_cdc_encoding encoding;
};
struct fz_connect_schema { // of the rows (`after`) of an envelope, or of a plain struct (key, flattened value)
    struct fz_connect_field *fields;
    size_t n_fields;
};
// NULL with *why set when the text is no schema of a struct. Everything lives in `arena`.
const struct fz_connect_schema *fz_connect_schema_parse(struct fz_arena *arena, struct fz_str json, const char **why);

#endif
