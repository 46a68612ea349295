// What a file of a table is and holds, for people and as JSON: Parquet, Avro (manifests, manifest lists), Puffin (deletion vectors,
// sketches), table metadata, the version hint. Looks at bytes only: no catalog, no table. Used by api/.
#ifndef FZ_INSPECT_INSPECT_H
#define FZ_INSPECT_INSPECT_H

#include "store/store.h"

struct fz_inspect_options {
    bool json; // one JSON document, everything in it
    bool all; // text: no list is cut
    bool only_rows; // the first rows of a Parquet or Avro file, and nothing else
    int64_t max_rows;
};
// Appends the description to `out`. UNSUPPORTED: a file of no kind that is known (ORC too); CORRUPT names what is damaged.
enum fz_code fz_inspect_file(struct fz_store *store, const char *location, const struct fz_inspect_options *options,
                             struct fz_buf *out, struct fz_err *err);

#endif
