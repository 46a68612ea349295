// Rows of data files into new data files, without DuckDB: second pass of copy-on-write, and compaction. Row groups are copied byte for byte,
// in touched ones the chunks and pages without a changed row; what cannot be copied is read and encoded again. docs/partial-rewrite.md.
#ifndef FZ_CHANGE_ROW_REWRITE_H
#define FZ_CHANGE_ROW_REWRITE_H

#include "change/held_rows.h"
#include "change/table_writer.h"
#include "scan/scan.h"

struct fz_row_rewrite {
    struct fz_scan_plan *plan;
    struct fz_store *store;
    struct fz_table_writer *writer; // has the lineage columns when `lineage` is set
    const struct fz_schema *schema;
    bool lineage; // v3: _row_id and _last_updated_sequence_number are carried
    struct fz_cancel *cancel;
    const uint8_t *files; // per file of the plan: nonzero when it is rewritten
    struct fz_positions *const
        *removed; // per file: rows left out besides those that are deleted already; entries may be NULL
    const struct fz_held_rows *updates; // sorted; NULL: no row gets new values
    const size_t *update_fields; // per field of the schema: its number in `updates`, SIZE_MAX: keeps its values
    bool
        like_new; // nothing is copied that the writer would make in another codec, or with a bloom filter that is not there
    int64_t memory_bytes; // for row groups that are being copied; at least one is, whatever its size
};
struct fz_row_rewrite_stats {
    int64_t rows_kept; // unchanged rows that are in new files now
    int64_t groups_copied, groups_patched, groups_encoded, groups_removed;
    int64_t chunks_copied, chunks_patched, chunks_encoded, pages_copied, pages_encoded,
        bytes_copied; // of the first two
};
// Everything goes into the writer, which the caller finishes. On all cores.
enum fz_code fz_row_rewrite_run(const struct fz_row_rewrite *rewrite, struct fz_row_rewrite_stats *out,
                                struct fz_err *err);

#endif
