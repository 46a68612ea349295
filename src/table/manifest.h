// Manifest lists and manifests (spec "Manifests", "Manifest Lists"): decoded to plain data, encoded to Avro bytes.
#ifndef FZ_TABLE_MANIFEST_H
#define FZ_TABLE_MANIFEST_H

#include "table/metadata.h"

enum fz_content { FZ_CONTENT_DATA = 0, FZ_CONTENT_POSITION_DELETES = 1, FZ_CONTENT_EQUALITY_DELETES = 2 };
enum fz_entry_status { FZ_ENTRY_EXISTING = 0, FZ_ENTRY_ADDED = 1, FZ_ENTRY_DELETED = 2 };

struct fz_id_count { // sorted by id
    int32_t id;
    int64_t count;
};
struct fz_id_bytes {
    int32_t id;
    struct fz_str bytes;
};

struct fz_data_file { // spec struct data_file; -1 / NULL / empty = not set
    enum fz_content content;
    const char *file_path, *file_format; // format in upper case: PARQUET, AVRO, ORC, PUFFIN
    int32_t spec_id; // of the manifest
    struct fz_value partition; // struct value of the spec's partition type
    int64_t record_count, file_size_in_bytes;
    const struct fz_id_count *column_sizes, *value_counts, *null_value_counts, *nan_value_counts;
    size_t n_column_sizes, n_value_counts, n_null_value_counts, n_nan_value_counts;
    const struct fz_id_bytes *lower_bounds, *upper_bounds;
    size_t n_lower_bounds, n_upper_bounds;
    struct fz_str key_metadata;
    const int64_t *split_offsets;
    size_t n_split_offsets;
    const int32_t *equality_ids;
    size_t n_equality_ids;
    int32_t sort_order_id;
    int64_t first_row_id;
    const char *referenced_data_file;
    int64_t content_offset, content_size_in_bytes;
};

struct fz_manifest_entry {
    enum fz_entry_status status;
    int64_t snapshot_id; // after inheritance when read; -1 = write null
    int64_t sequence_number; // data sequence number; -1 = write null (inherit)
    int64_t file_sequence_number; // -1 = write null
    struct fz_data_file file;
};

struct fz_field_summary {
    bool contains_null;
    int contains_nan; // -1 not set
    bool has_bounds;
    struct fz_str lower_bound, upper_bound;
};
struct fz_manifest_file { // one row of a manifest list
    const char *manifest_path;
    int64_t manifest_length;
    int32_t partition_spec_id;
    int content; // 0 data, 1 deletes
    int64_t sequence_number, min_sequence_number, added_snapshot_id;
    int32_t added_files_count, existing_files_count, deleted_files_count; // -1: not written (v1)
    int64_t added_rows_count, existing_rows_count, deleted_rows_count;
    const struct fz_field_summary *partitions;
    size_t n_partitions;
    struct fz_str key_metadata;
    int64_t first_row_id; // -1 null
};

// Decoding: everything lands in `arena`. CORRUPT names what is wrong.
enum fz_code fz_manifest_list_decode(struct fz_arena *arena, const void *data, size_t len,
                                     struct fz_manifest_file **out, size_t *n, struct fz_err *err);
// `file` (from the list) gives what entries inherit: snapshot id, sequence numbers, first_row_id (spec rules). Live and deleted entries alike.
// With `metadata`, partition tuples are typed by the manifest's spec of that table; else by the manifest's own schema metadata.
enum fz_code fz_manifest_decode(struct fz_arena *arena, const void *data, size_t len,
                                const struct fz_manifest_file *file, const struct fz_metadata *metadata,
                                struct fz_manifest_entry **out, size_t *n, struct fz_err *err);

// Encoding. Manifest: all entries of one spec and one content kind; fills `out_file` (counts, rows, partition summaries, length,
// min_sequence_number: -1 when inherited) except manifest_path, sequence_number, added_snapshot_id.
struct fz_manifest_encode {
    const struct fz_metadata *metadata; // format version, schema, spec, write.manifest.compression-codec
    int32_t spec_id;
    bool deletes;
    const struct fz_manifest_entry *entries;
    size_t n_entries;
};
enum fz_code fz_manifest_encode(struct fz_arena *arena, const struct fz_manifest_encode *in, struct fz_buf *out,
                                struct fz_manifest_file *out_file, struct fz_err *err);
enum fz_code fz_manifest_list_encode(const struct fz_metadata *metadata, const struct fz_manifest_file *files, size_t n,
                                     int64_t snapshot_id, int64_t parent_snapshot_id, int64_t sequence_number,
                                     int64_t first_row_id, struct fz_buf *out, struct fz_err *err);

#endif
