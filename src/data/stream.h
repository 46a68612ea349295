// Where rows come from and where they go, as two small vtables: a source is pulled by several threads at once (a table scan,
// the folded changes of a pipeline, a metadata table); a sink is pushed to by several threads at once (file writers).
// duck/ makes table functions of sources and drives sinks; scan/, change/, cdc/ and engine/ implement them.
#ifndef FZ_DATA_STREAM_H
#define FZ_DATA_STREAM_H

#include "base/sys.h"
#include "data/batch.h"

struct fz_source;
struct fz_source_vtable {
    void (*free)(struct fz_source *source); // last reference is gone
    // A reader is one thread's cursor. `columns`: indexes into source->fields, in the order wanted. Readers share the work.
    enum fz_code (*open)(struct fz_source *source, const size_t *columns, size_t n_columns, void **out_reader,
                         struct fz_err *err);
    // Fills up to FZ_BATCH_ROWS rows; the batch has one column per asked column, storage prepared by the caller. 0 rows = this
    // reader is done. Strings stay valid until the next call on the same reader. Callers may skip storing by reading only n_rows.
    enum fz_code (*next)(struct fz_source *source, void *reader, struct fz_batch *batch, struct fz_err *err);
    void (*close)(struct fz_source *source, void *reader);
};
struct fz_source {
    const struct fz_source_vtable *vtable;
    _Atomic int refs;
    const struct fz_field
        *fields; // columns offered, cheapest first (count(*) asks for column 0); names are c<field id>
    size_t n_fields;
    int64_t estimated_rows; // always set: without it the engine plans as for one row
    int max_threads;
};
struct fz_source *fz_source_ref(struct fz_source *source);
void fz_source_unref(struct fz_source *source);

// A reader that keeps nothing but which columns are wanted, for sources whose cursor all readers share: open and close of the vtable.
struct fz_column_choice {
    size_t n_columns, columns[];
};
enum fz_code fz_column_choice_open(struct fz_source *source, const size_t *columns, size_t n_columns, void **out_reader,
                                   struct fz_err *err);
void fz_column_choice_close(struct fz_source *source, void *reader);

struct fz_sink;
struct fz_sink_vtable {
    // Called by any number of threads at once; the batch is borrowed for the call.
    enum fz_code (*push)(struct fz_sink *sink, const struct fz_batch *batch, struct fz_err *err);
};
struct fz_sink {
    const struct fz_sink_vtable *vtable;
};

#endif
