// From (table, snapshot, filter, columns) to files and column batches with deletes applied. Planning reads the manifest list and
// only the manifests that may matter; reading hands row groups (morsels) to any number of threads.
#ifndef FZ_SCAN_SCAN_H
#define FZ_SCAN_SCAN_H

#include "data/expr.h"
#include "data/stream.h"
#include "format/puffin/puffin.h"
#include "scan/scan_keys.h"
#include "table/manifest.h"

// Field ids of columns that are not in the schema. The first six are Iceberg's metadata columns; the last is frazil's own.
enum {
    FZ_ID_FILE = 2147483646,
    FZ_ID_POS = 2147483645,
    FZ_ID_DELETED = 2147483644,
    FZ_ID_SPEC_ID = 2147483643,
    FZ_ID_PARTITION = 2147483642,
    FZ_ID_ROW_ID = 2147483540,
    FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER = 2147483539,
    FZ_ID_FILE_IX = 2147483400, // int, index into fz_scan_file(); never written anywhere
};

struct fz_scan_file { // a data file of the plan with the deletes that apply to it
    int32_t file_ix;
    const struct fz_manifest_entry *entry;
    const struct fz_manifest_entry *const *deletes; // position deletes, DVs, equality deletes
    size_t n_deletes;
};

struct fz_scan_plan { // immutable, ref-counted; owns an arena with all entries
    _Atomic int refs;
    struct fz_arena arena;
    struct fz_metadata *metadata;
    const struct fz_schema *schema; // the schema rows are shown in
    int64_t snapshot_id; // -1: empty table
    struct fz_scan_file *files;
    size_t n_files;
    // Planning figures, for EXPLAIN.
    int64_t manifests_read, manifests_skipped, files_skipped, bytes_kept, bytes_skipped, rows_kept;
};
struct fz_scan_options {
    struct fz_store *store; // borrowed; must outlive the plan
    struct fz_metadata *metadata;
    int64_t snapshot_id; // -1: current
    const struct fz_schema
        *schema; // NULL: current schema for a branch head, the snapshot's schema otherwise is the caller's choice
    const struct fz_expr *
        filter; // for pruning only; rows are not filtered by it. Borrowed: must live as long as sources over the plan are read
    struct fz_cancel *cancel;
    // Only files that appends have added after the snapshot `after_snapshot_id` (-1: the first), up to snapshot_id. No deletes apply: rows
    // that were appended are all there, whatever became of them.
    bool appended;
    int64_t after_snapshot_id;
};
enum fz_code fz_scan_plan_new(const struct fz_scan_options *options, struct fz_scan_plan **out, struct fz_err *err);
struct fz_scan_plan *fz_scan_plan_ref(struct fz_scan_plan *plan);
void fz_scan_plan_unref(struct fz_scan_plan *plan);

// All live entries of a snapshot, unpruned, data and deletes (metadata tables, commit-time checks). Arena-allocated.
enum fz_code fz_scan_entries(struct fz_store *store, struct fz_metadata *metadata, int64_t snapshot_id,
                             struct fz_arena *arena, struct fz_manifest_entry **out, size_t *n, struct fz_err *err);
// What the manifests say, live and deleted entries alike: of one snapshot (-1: current), or with `history` each manifest that
// any snapshot of the table lists, once.
enum fz_code fz_scan_written_entries(struct fz_store *store, struct fz_metadata *metadata, int64_t snapshot_id,
                                     bool history, struct fz_arena *arena, struct fz_manifest_entry **out, size_t *n,
                                     struct fz_err *err);

// Deleted positions of one file of the plan: DV or position delete files united; NULL in *out when none. Cached in the plan; thread-safe; borrowed.
enum fz_code fz_scan_deleted_positions(struct fz_scan_plan *plan, size_t file_ix, const struct fz_positions **out,
                                       struct fz_err *err);

// All position deletes of a snapshot as rows, live delete files and deletion vectors alike: a source of one pass. `columns[i]` says what
// fields[i] is; its type is the natural one (row: a struct of the schema's fields by id; partition: the union of all specs). What only
// a file or only a vector has is NULL for the other.
enum fz_delete_column {
    FZ_DELETE_FILE_PATH, // of the data file
    FZ_DELETE_POS,
    FZ_DELETE_ROW, // its values, where the delete file keeps them
    FZ_DELETE_PARTITION,
    FZ_DELETE_SPEC_ID,
    FZ_DELETE_DELETE_FILE_PATH,
    FZ_DELETE_CONTENT_OFFSET, // of the deletion vector
    FZ_DELETE_CONTENT_SIZE,
};
struct fz_scan_delete_options {
    struct fz_store *store; // borrowed; must outlive the source
    struct fz_metadata *metadata;
    int64_t snapshot_id; // -1: current
    const struct fz_field *fields; // copied, as are the columns
    const enum fz_delete_column *columns;
    size_t n_fields;
    struct fz_cancel *cancel;
    struct fz_progress *progress; // may be NULL
};
enum fz_code fz_scan_delete_rows(const struct fz_scan_delete_options *options, struct fz_source **out,
                                 struct fz_err *err);

// A source over the plan: one pass, whose row groups its readers share. `fields`: columns of the schema (by id) or special ids above. Rows come with deletes applied unless
// keep_deleted. `only_files` (may be NULL, n_files bytes) restricts to files with a nonzero byte; `skip` (may be NULL) has one entry per file: positions left out besides (copy-on-write).
struct fz_scan_source_options {
    struct fz_scan_plan *plan; // a reference is taken
    struct fz_store *store;
    const struct fz_field *fields;
    size_t n_fields;
    bool keep_deleted;
    const uint8_t *only_files;
    struct fz_positions *const *skip;
    const uint8_t *const *only_groups; // may be NULL; per file NULL (all) or a byte per row group, nonzero: it is read
    struct fz_cancel *cancel;
    struct fz_progress *progress; // may be NULL
    int max_threads;
    // Keys that rows must have (may be NULL; a reference is taken; sealed): files, row groups and pages that can hold none are left
    // out, of the rest the key columns are read first and the other columns only where a row is left. A row without a key may still
    // come. Not together with keep_deleted.
    struct fz_scan_keys *keys;
    // Keys that many rows have (a share found out while reading) are not read first: the rows then all come. Not for a caller that wants
    // to see few rows, only for one that wants them fast.
    bool keys_optional;
};
// What a source has read and left out so far, level by level. Files of the plan only; those that planning left out are counted there.
struct fz_scan_counters {
    int64_t files, files_by_keys; // looked at; left out by their bounds
    int64_t row_groups, row_groups_by_range, row_groups_by_keys, row_groups_by_bloom;
    int64_t pages, pages_by_keys; // of key columns with a page index that was asked
    int64_t rows, rows_by_keys; // decoded keys; of these without a match
    int64_t bytes_by_groups; // row groups that were left out, all columns
    int64_t bytes, bytes_read; // column chunks wanted of all row groups; asked of the store
};
// Goes through files, row groups and page indexes without reading rows: the counters then say what a pass over the source would read.
// The source is used up.
enum fz_code fz_scan_source_survey(struct fz_source *source, struct fz_err *err);
void fz_scan_source_counters(const struct fz_source *source, struct fz_scan_counters *out);
enum fz_code fz_scan_source_new(const struct fz_scan_source_options *options, struct fz_source **out,
                                struct fz_err *err);

// Opens a data file at the size its manifest entry gives; some writers get that wrong, then at the size it has.
struct fz_parquet_file;
enum fz_code fz_scan_open_parquet(struct fz_store *store, const struct fz_data_file *data, struct fz_cancel *cancel,
                                  struct fz_parquet_file **out, struct fz_err *err);

#endif
