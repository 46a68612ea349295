// Records into typed changes: Debezium envelopes and flattened rows (ExtractNewRecordState), with and without the schema part.
// A record that cannot be read is not an error: it comes out as FZ_CDC_BAD with a reason, for the quarantine. Errors are what
// must stop the run. Discovers tables and columns on the way (schema_changes decides). Called by run.c.
#ifndef FZ_CDC_DECODE_DEBEZIUM_H
#define FZ_CDC_DECODE_DEBEZIUM_H

#include "cdc/flow.h"
#include "cdc/pipeline.h"

enum fz_cdc_outcome {
    FZ_CDC_CHANGE,
    FZ_CDC_SKIP, // tombstone, heartbeat, transaction or DDL record, a table that the pipeline does not have
    FZ_CDC_APPLIED, // below the position that the table has already
    FZ_CDC_BAD,
};
struct fz_cdc_decoded {
    enum fz_cdc_outcome outcome;
    struct fz_cdc_table *table; // NULL when not known
    struct fz_cdc_change changes[2]; // a change of the key in one record is a delete and a create
    int n_changes;
    const char *reason; // BAD: a code such as BAD_VALUE; text: for people, without the value
    char text[400];
};
struct fz_cdc_decoder;
// Borrows both for its life. Tables are added to `tables` as they are met.
enum fz_code fz_cdc_decoder_new(const struct fz_pipeline *pipeline, struct fz_cdc_tables *tables,
                                struct fz_cdc_decoder **out, struct fz_err *err);
void fz_cdc_decoder_free(struct fz_cdc_decoder *decoder);
// What *out points to lives until the next call.
enum fz_code fz_cdc_decode(struct fz_cdc_decoder *decoder, const struct fz_cdc_record *record,
                           struct fz_cdc_decoded *out, struct fz_err *err);
// Forgets which table a topic belongs to and what is applied (after the tables' positions were changed).
void fz_cdc_decoder_reset(struct fz_cdc_decoder *decoder);

#endif
