// What the files of scan/ share: the plan with its caches, equality-delete groups, the projection of a data file. Included only here.
#ifndef FZ_SCAN_SCAN_PRIV_H
#define FZ_SCAN_SCAN_PRIV_H

#include <pthread.h>

#include "base/map.h"
#include "format/avro/avro_table.h"
#include "format/parquet/parquet_reader.h"
#include "scan/scan.h"

// Field ids of position delete files (iceberg-facts 7.10).
enum { FZ_ID_DELETE_FILE_PATH = 2147483546, FZ_ID_DELETE_POS = 2147483545, FZ_ID_DELETE_ROW = 2147483544 };
enum { FZ_SCAN_MAX_MANIFEST_BYTES = 1 << 30 };

// A position delete file of the plan, read once: positions per data file of the plan.
struct fz_scan_position_file {
    const struct fz_manifest_entry *entry;
    pthread_mutex_t lock;
    bool loaded;
    struct fz_map by_file; // key: the bytes of file_ix; value.ptr = struct fz_positions *
};

struct fz_scan_integer_key {
    uint64_t key;
    int64_t sequence_number;
};

// Equality deletes with the same columns and the same reach (one partition, or everywhere): one set of keys, each with the
// largest sequence number it was deleted at. A row goes when its key is there with a larger number than its file's.
struct fz_scan_equality_group {
    const int32_t *ids;
    size_t n_ids;
    const struct fz_manifest_entry **files;
    size_t n_files, files_cap;
    int64_t max_sequence_number;
    struct fz_field
        *fields; // top-level columns to read, one per id; types of the plan's schema, or of the newest that has it
    int32_t (*paths)[8]; // where below fields[i] the column is: child indexes, ended by -1
    pthread_mutex_t lock;
    bool loaded;
    struct fz_map keys; // value.i64 = sequence number
    // One column of at most 8 bytes: the usual case, without building keys.
    bool is_integer;
    struct fz_scan_integer_key *slots; // open addressing, sequence_number 0 = empty
    size_t n_slots, n_slots_used;
    uint64_t min_key, max_key;
    int64_t null_sequence_number; // 0: NULL is not deleted
};

struct fz_scan_file_state { // per data file
    pthread_mutex_t lock;
    bool loaded;
    struct fz_positions *owned; // DV, or a union
    const struct fz_positions *deleted; // what applies: owned or borrowed from a position file
    int64_t *sorted; // the same as an array, when it is not too long
    size_t n_sorted;
    size_t *position_files; // indexes
    size_t n_position_files;
    size_t *groups; // equality groups that may hit rows of this file
    size_t n_groups;
};

struct fz_name_mapping; // scan_name.c

struct fz_scan_plan_impl {
    struct fz_scan_plan base;
    struct fz_store *store;
    const struct fz_expr *filter;
    struct fz_arena *arenas; // of the threads that decoded manifests
    size_t n_arenas;
    struct fz_map file_by_path; // value.i64 = file_ix
    struct fz_scan_position_file *position_files;
    size_t n_position_files;
    struct fz_scan_equality_group *groups;
    size_t n_groups;
    struct fz_scan_file_state *states; // n_files
    struct fz_name_mapping *names; // NULL: the table has none
};
static inline struct fz_scan_plan_impl *fz_scan_impl(struct fz_scan_plan *plan) {
    return (struct fz_scan_plan_impl *)plan;
}

// scan_manifest.c: entries of manifests, in order of the list. With `impl`, decoding may use several threads and their arenas
// go to the plan; else everything lands in `arena`. `keep[i]` 0 leaves manifest i out (NULL: all).
struct fz_scan_manifests {
    struct fz_manifest_file *files;
    size_t n_files;
    struct fz_manifest_entry **entries; // per manifest
    size_t *n_entries;
};
enum fz_code fz_scan_manifest_list(struct fz_store *store, const struct fz_snapshot *snapshot, struct fz_arena *arena,
                                   struct fz_scan_manifests *out, struct fz_err *err);
enum fz_code fz_scan_manifests_read(struct fz_store *store, struct fz_metadata *metadata, const uint8_t *keep,
                                    struct fz_arena *arena, struct fz_scan_plan_impl *impl, struct fz_cancel *cancel,
                                    struct fz_scan_manifests *inout, struct fz_err *err);

// scan_appended.c: entries of data files for a plan with options->appended; of `end` and its ancestors.
enum fz_code fz_scan_appended(const struct fz_scan_options *options, const struct fz_snapshot *end,
                              struct fz_arena *arena, const struct fz_manifest_entry ***out, size_t *n,
                              struct fz_err *err);

// scan_plan.c: a plan whose files are given, whatever they hold; no deletes apply to them. The entries must live as long.
enum fz_code fz_scan_plan_of_files(struct fz_store *store, struct fz_metadata *metadata,
                                   const struct fz_manifest_entry *const *entries, size_t n, struct fz_scan_plan **out,
                                   struct fz_err *err);

// scan_attach.c: which deletes apply to which file of the plan.
enum fz_code fz_scan_attach(struct fz_scan_plan_impl *impl, const struct fz_manifest_entry *const *deletes, size_t n,
                            struct fz_err *err);
// scan_positions.c
enum fz_code fz_scan_read_vector(struct fz_store *store, const struct fz_data_file *dv, struct fz_cancel *cancel,
                                 struct fz_positions **out, struct fz_err *err);
enum fz_code fz_scan_list_positions(const struct fz_positions *set, int64_t **out, size_t *n,
                                    struct fz_err *err); // ascending; fz_free
void fz_scan_position_file_clear(struct fz_scan_position_file *file);
enum fz_code fz_scan_positions_of(struct fz_scan_plan_impl *impl, size_t file_ix, struct fz_cancel *cancel,
                                  const struct fz_positions **out, struct fz_err *err);
// scan_equality.c
enum fz_code fz_scan_group_prepare(struct fz_scan_plan_impl *impl, struct fz_scan_equality_group *group,
                                   struct fz_err *err);
enum fz_code fz_scan_group_load(struct fz_scan_plan_impl *impl, struct fz_scan_equality_group *group,
                                struct fz_cancel *cancel, struct fz_err *err);
// Sets mark[r] for rows whose key is in the group with a number above `sequence_number`. `columns[i]` belongs to group->fields[i].
enum fz_code fz_scan_group_mark(const struct fz_scan_equality_group *group, const struct fz_column *const *columns,
                                size_t n_rows, int64_t sequence_number, struct fz_buf *scratch, uint8_t *mark,
                                bool *any, struct fz_err *err);

// scan_name.c: files without field ids (spec "Column Projection", name mapping).
enum fz_code fz_name_mapping_new(const char *json, struct fz_name_mapping **out, struct fz_err *err);
void fz_name_mapping_free(struct fz_name_mapping *mapping);
// The field as a file without ids calls it, nested fields too; *out NULL when the file does not have it. Without a mapping
// top-level columns go by position, as Java does.
enum fz_code fz_name_mapping_field(const struct fz_name_mapping *mapping, const struct fz_type *file_schema,
                                   const struct fz_field *field, struct fz_arena *arena, const struct fz_field **out,
                                   struct fz_err *err);

// scan_keys_prune.c: files, row groups and pages that can hold one of the keys.
enum fz_scan_verdict { FZ_SCAN_KEEP, FZ_SCAN_NOT_BY_KEYS, FZ_SCAN_NOT_BY_BLOOM };
bool fz_scan_keys_may_match_file(const struct fz_scan_keys *keys, const struct fz_data_file *file);
enum fz_code fz_scan_keys_may_match_group(const struct fz_scan_keys *keys, struct fz_parquet_file *file,
                                          size_t row_group, struct fz_cancel *cancel, enum fz_scan_verdict *out,
                                          struct fz_err *err);
struct fz_scan_rows { // of a row group, by its page index; not `known`: all rows
    bool known;
    struct fz_parquet_row_range *ranges;
    size_t n, n_pages, n_pages_out;
};
enum fz_code fz_scan_keys_pages(const struct fz_scan_keys *keys, struct fz_parquet_file *file, size_t row_group,
                                struct fz_cancel *cancel, struct fz_arena *arena, struct fz_scan_rows *out,
                                struct fz_err *err);

// scan_data.c: a data or delete file in whichever format.
struct fz_scan_data { // one of them
    struct fz_parquet_file *parquet;
    struct fz_avro_file *avro;
};
enum fz_code fz_scan_data_open(struct fz_store *store, const struct fz_data_file *data, struct fz_cancel *cancel,
                               struct fz_scan_data *out, struct fz_err *err);
void fz_scan_data_close(struct fz_scan_data *data); // an empty one is fine
bool fz_scan_data_has_ids(const struct fz_scan_data *data);
bool fz_scan_data_has_field(const struct fz_scan_data *data, int32_t field_id);
const struct fz_type *fz_scan_data_schema(const struct fz_scan_data *data);
// All rows of a file, matched by id, or by name where it has no ids.
typedef enum fz_code (*fz_scan_batch_fn)(void *ctx, struct fz_batch *batch, struct fz_err *err);
enum fz_code fz_scan_data_rows(struct fz_store *store, const struct fz_data_file *data, const struct fz_field *fields,
                               size_t n_fields, struct fz_cancel *cancel, fz_scan_batch_fn on_batch, void *ctx,
                               struct fz_err *err);

// scan_project.c: the file's tuple shown as the union of all specs: by partition field id, NULL where the file's spec has no such field.
enum fz_code fz_scan_partition_value(const struct fz_metadata *metadata, const struct fz_data_file *data,
                                     const struct fz_type *type, struct fz_arena *arena, struct fz_value *out,
                                     struct fz_err *err);

// scan_column.c: filling and thinning columns.
enum fz_code fz_scan_fill_constant(struct fz_column *column, size_t n, const struct fz_value *value,
                                   struct fz_err *err);
void fz_scan_fill_positions(struct fz_column *column, size_t n, int64_t first);
// NULLs become `base` + row (step 1) or `base` (step 0): lineage columns.
void fz_scan_fill_missing(struct fz_column *column, size_t n, int64_t base, int64_t step);
void fz_scan_compact(struct fz_column *column, const uint32_t *selection, size_t n);
// The value in a wider type of the same family (a partition value written before a promotion).
struct fz_value fz_scan_promote(const struct fz_value *value, const struct fz_type *type);

#endif
