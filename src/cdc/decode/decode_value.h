// One value of an event into a value of the column's type, by its encoding. Numbers stay exact; nothing is rounded.
// shared/data/debezium README "Encodings". Called by decode_debezium.c and, for defaults, by the pipeline.
#ifndef FZ_CDC_DECODE_VALUE_H
#define FZ_CDC_DECODE_VALUE_H

#include "cdc/flow.h"
#include "cdc/json.h"

enum fz_decoded {
    FZ_DECODED_VALUE, // also NULL
    FZ_DECODED_UNAVAILABLE, // the connector's placeholder for a value not sent again
    FZ_DECODED_BEYOND, // a value of the database that the type does not have (infinity, 24:00:00): *out is NULL
    FZ_DECODED_FOREIGN, // not of this encoding or too large: `why` says it
    FZ_DECODED_NOMEM,
};
struct fz_value_decoder {
    struct fz_arena *arena; // of what is decoded
    struct fz_buf bytes; // scratch
    struct fz_str placeholder, placeholder_base64, placeholder_hex, placeholder_codes;
    const char *why;
    bool inner_beyond; // an element of a list, map or struct was beyond its type
};
enum fz_code fz_value_decoder_init(struct fz_value_decoder *decoder, struct fz_arena *keep, const char *placeholder,
                                   struct fz_err *err);
void fz_value_decoder_dispose(struct fz_value_decoder *decoder);
// Reads exactly one JSON value. After FOREIGN the reader's place is undefined.
enum fz_decoded fz_cdc_decode_value(struct fz_value_decoder *decoder, struct fz_json *json,
                                    const struct fz_cdc_encoding *encoding, const struct fz_type *type,
                                    struct fz_value *out);

#endif
