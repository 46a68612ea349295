// Between decode_debezium.c (envelopes, routing) and decode_row.c (columns, rows, keys).
#ifndef FZ_CDC_DECODE_ROW_PRIV_H
#define FZ_CDC_DECODE_ROW_PRIV_H

#include "cdc/decode/connect_schema.h"
#include "cdc/decode/decode_debezium.h"
#include "cdc/decode/decode_value.h"
#include "cdc/json.h"

struct fz_row_buffer {
    struct fz_value *values;
    uint8_t *cells;
    size_t cap_values, cap_cells;
};
struct fz_decode_table { // decode's own state of a table
    const struct fz_connect_schema *schema; // of the last event; NULL: none
    struct fz_cdc_encoding *by_schema; // per column, kind NONE: the schema does not have it
    size_t n_by_schema, cap_by_schema;
};
struct fz_cdc_decoder {
    const struct fz_pipeline *pipeline;
    struct fz_cdc_tables *tables;
    struct fz_arena scratch; // of the record in hand
    struct fz_value_decoder values;
    struct fz_row_buffer rows[2];
    struct fz_value *old_key;
    size_t cap_old_key;
    struct fz_map schemas; // raw schema text -> struct fz_connect_schema *
    struct fz_map streams; // topic, partition -> struct fz_decode_stream *
    struct fz_map by_name; // "schema.table" -> table or NULL
    struct fz_buf key; // scratch for map keys
    struct fz_cdc_decoded *out;
};

// All return OK with `out->outcome` set to BAD (and *good = false) for a bad record.
enum fz_code fz_decode_bad(struct fz_cdc_decoder *d, bool *good, const char *reason, const char *fmt, ...)
    FZ_PRINTF(4, 5);
// The cached schema of a raw text; NULL after a bad one (then the record is bad).
enum fz_code fz_decode_schema(struct fz_cdc_decoder *d, struct fz_str raw, const struct fz_connect_schema **out,
                              bool *good, struct fz_err *err);
// Tells the table's columns of the schema part of its events (NULL: there is none).
enum fz_code fz_decode_use_schema(struct fz_cdc_decoder *d, struct fz_cdc_table *table,
                                  const struct fz_connect_schema *schema, struct fz_err *err);
void fz_row_clear(struct fz_row_buffer *row); // all cells absent
enum fz_code fz_row_reserve(struct fz_row_buffer *row, size_t n_columns, struct fz_err *err);
enum { FZ_ROW_ALL, FZ_ROW_KEY_ONLY, FZ_ROW_FLAT /* members that begin with __ are not columns */ };
// Members of a JSON object into a row; cells of members that are not there stay as they are.
enum fz_code fz_decode_row(struct fz_cdc_decoder *d, struct fz_cdc_table *table, struct fz_str object, int what,
                           struct fz_row_buffer *row, bool *good, struct fz_err *err);
// The record's key (perhaps with a schema part) into the key columns of a row; decides what the key is when nothing else has.
enum fz_code fz_decode_key(struct fz_cdc_decoder *d, struct fz_cdc_table *table, struct fz_str key,
                           struct fz_row_buffer *row, bool *good, struct fz_err *err);
// {"schema": …, "payload": …} -> its two parts; false when it is something else.
bool fz_decode_unwrap(struct fz_arena *arena, struct fz_str text, struct fz_str *schema, struct fz_str *payload);

#endif
