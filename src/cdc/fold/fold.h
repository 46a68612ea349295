// One winner per key inside a batch: column by column (values not sent again keep the older one), in stream order, never a change
// whose position is older than the winner's; deletes, re-inserts, key changes and truncates included. architecture.md section 5.
// A fold (flow.h) holds the changes of one table; its arena dies with the batch. Used by run.c, read by apply/.
#ifndef FZ_CDC_FOLD_H
#define FZ_CDC_FOLD_H

#include "cdc/flow.h"
#include "cdc/pipeline.h"

void fz_fold_init(struct fz_fold *fold, struct fz_cdc_table *table);
void fz_fold_dispose(struct fz_fold *fold); // also makes it empty for the next batch of the same table
bool fz_fold_is_empty(const struct fz_fold *fold);
size_t fz_fold_bytes(const struct fz_fold *fold);
// Adds a change (copies what it keeps). *bad_reason and *bad_text are set (and nothing is changed) when it must be quarantined.
// SCHEMA_MISMATCH for a truncate where the pipeline says stop.
enum fz_code fz_fold_add(struct fz_fold *fold, const struct fz_cdc_change *change, const char **bad_reason,
                         const char **bad_text, struct fz_err *err);
// Key of a row as bytes, equal for equal keys.
void fz_fold_key(struct fz_buf *out, const struct fz_cdc_table *table,
                 const struct fz_value *values /* one per key column */);
struct fz_fold_row *fz_fold_find(const struct fz_fold *fold, struct fz_str key);

#endif
