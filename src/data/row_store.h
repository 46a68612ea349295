// Rows held in memory, in the batches they came in: written once by a sink, read any number of times by sources. For
// intermediate results that are small and needed more than once (the source of a MERGE); what does not fit belongs into a
// temporary table of the engine, which can spill.
#ifndef FZ_DATA_ROW_STORE_H
#define FZ_DATA_ROW_STORE_H

#include "data/stream.h"

struct fz_row_store;

// Fields are copied (their types and names are borrowed). More than max_bytes, or what the budget (may be NULL) refuses: full.
enum fz_code fz_row_store_new(const struct fz_field *fields, size_t n_fields, int64_t max_bytes,
                              struct fz_budget *budget, struct fz_row_store **out, struct fz_err *err);
struct fz_row_store *fz_row_store_ref(struct fz_row_store *store);
void fz_row_store_unref(struct fz_row_store *store);

// Takes batches of the store's fields from any number of threads. Fails with FZ_LIMIT when the store is full: its rows are then
// incomplete and good for nothing.
struct fz_sink *fz_row_store_sink(struct fz_row_store *store);
bool fz_row_store_is_full(const struct fz_row_store *store);
int64_t fz_row_store_rows(const struct fz_row_store *store);

// A source of all rows; one for each time they are read. Nothing may be pushed any more. Holds a reference to the store.
enum fz_code fz_row_store_source(struct fz_row_store *store, struct fz_source **out, struct fz_err *err);

#endif
