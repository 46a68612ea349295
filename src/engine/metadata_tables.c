// Iceberg's metadata tables (iceberg-facts 4): which there are, their columns, and a source of each one's rows.
#include <stdlib.h>

#include "base/text.h"
#include "engine/metadata_tables_priv.h"
#include "scan/scan.h"

static const char *const NAMES[] = {
    "snapshots",    "history",   "refs",           "metadata_log_entries", "files",     "data_files",
    "delete_files", "all_files", "all_data_files", "all_delete_files",     "manifests", "all_manifests",
    "partitions",   "entries",   "all_entries",    "position_deletes",     "changes"};

bool fz_is_metadata_table(const char *name) {
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (fz_strcasecmp(name, NAMES[i]) == 0) {
            return true;
        }
    }
    return false;
}

// Column lists, written as Spark DDL and parsed once a statement.
static const char SNAPSHOTS[] = "committed_at timestamp, snapshot_id bigint, parent_id bigint, operation string, "
                                "manifest_list string, summary map<string,string>";
static const char HISTORY[] =
    "made_current_at timestamp, snapshot_id bigint, parent_id bigint, is_current_ancestor boolean";
static const char REFS[] = "name string, type string, snapshot_id bigint, max_reference_age_in_ms bigint, "
                           "min_snapshots_to_keep int, max_snapshot_age_in_ms bigint";
static const char LOG[] =
    "timestamp timestamp, file string, latest_snapshot_id bigint, latest_schema_id int, latest_sequence_number bigint";
static const char MANIFESTS[] =
    "content int, path string, length bigint, partition_spec_id int, added_snapshot_id bigint, added_data_files_count "
    "int, existing_data_files_count int, "
    "deleted_data_files_count int, added_delete_files_count int, existing_delete_files_count int, "
    "deleted_delete_files_count int, "
    "partition_summaries "
    "array<struct<contains_null:boolean,contains_nan:boolean,lower_bound:string,upper_bound:string>>";
static const char ALL_MANIFESTS_TAIL[] = "reference_snapshot_id bigint, key_metadata binary";
static const char FILE_HEAD[] = "content int, file_path string, file_format string, spec_id int";
static const char FILE_TAIL[] = "record_count bigint, file_size_in_bytes bigint, column_sizes map<int,bigint>, "
                                "value_counts map<int,bigint>, null_value_counts map<int,bigint>, "
                                "nan_value_counts map<int,bigint>, lower_bounds map<int,binary>, upper_bounds "
                                "map<int,binary>, key_metadata binary, split_offsets array<bigint>, "
                                "equality_ids array<int>, sort_order_id int, first_row_id bigint, referenced_data_file "
                                "string, content_offset bigint, content_size_in_bytes bigint";
static const char PARTITION_TAIL[] = "record_count bigint, file_count int, total_data_file_size_in_bytes bigint, "
                                     "position_delete_record_count bigint, position_delete_file_count int, "
                                     "equality_delete_record_count bigint, equality_delete_file_count int, "
                                     "last_updated_at timestamp, last_updated_snapshot_id bigint";

static enum fz_code parse_columns(struct fz_arena *arena, const char *ddl, const struct fz_type **out,
                                  struct fz_err *err) {
    char *text = fz_arena_printf(arena, "struct<%s>", ddl);
    if (text == NULL) {
        return fz_fail_nomem(err, strlen(ddl));
    }
    return fz_sql_parse_type(arena, fz_str_of(text), out, err);
}

static bool is_any(const char *name, const char *a, const char *b, const char *c) {
    return fz_strcasecmp(name, a) == 0 || fz_strcasecmp(name, b) == 0 || fz_strcasecmp(name, c) == 0;
}
bool fz_metadata_is_files(const char *name) {
    return is_any(name, "files", "data_files", "delete_files") ||
           is_any(name, "all_files", "all_data_files", "all_delete_files");
}
bool fz_metadata_is_entries(const char *name) {
    return is_any(name, "entries", "all_entries", "entries");
}

static bool is_position_deletes(const char *name) {
    return fz_strcasecmp(name, "position_deletes") == 0;
}

// The columns of position_deletes; what each is into `columns`, which has room for 8.
static enum fz_code delete_columns(struct fz_arena *arena, const struct fz_engine_table *t,
                                   enum fz_delete_column *columns, const struct fz_type **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *partition, *row = fz_metadata_current_schema(t->metadata)->type;
    const struct fz_type *text = fz_type_primitive(FZ_TYPE_STRING), *lng = fz_type_primitive(FZ_TYPE_LONG);
    FZ_TRY(fz_metadata_partition_type(arena, t->metadata, &partition, err));
    const struct {
        struct fz_field field;
        enum fz_delete_column column;
        bool use;
    } all[8] = {
        {{.name = "file_path", .type = text, .doc = "Path of a file in which a deleted row is stored"},
         FZ_DELETE_FILE_PATH,
         true},
        {{.name = "pos", .type = lng, .doc = "Ordinal position of a deleted row in the data file"},
         FZ_DELETE_POS,
         true},
        {{.name = "row", .type = row, .doc = "Deleted row values"}, FZ_DELETE_ROW, row->n_fields > 0},
        {{.name = "partition", .type = partition, .doc = "Partition that position delete row belongs to"},
         FZ_DELETE_PARTITION,
         partition->n_fields > 0},
        {{.name = "spec_id",
          .type = fz_type_primitive(FZ_TYPE_INT),
          .doc = "Spec ID used to track the file containing a row"},
         FZ_DELETE_SPEC_ID,
         true},
        {{.name = "delete_file_path", .type = text, .doc = "Path of the file in which a row is stored"},
         FZ_DELETE_DELETE_FILE_PATH,
         true},
        {{.name = "content_offset", .type = lng, .doc = "The offset in the DV where the content starts"},
         FZ_DELETE_CONTENT_OFFSET,
         t->metadata->format_version >= 3},
        {{.name = "content_size_in_bytes", .type = lng, .doc = "The length in bytes of the DV blob"},
         FZ_DELETE_CONTENT_SIZE,
         t->metadata->format_version >= 3},
    };
    struct fz_field fields[8];
    size_t n = 0;
    for (size_t i = 0; i < 8; i++) {
        if (all[i].use) {
            columns[n] = all[i].column;
            fields[n++] = all[i].field;
        }
    }
    *out = fz_type_struct(arena, fields, n);
    rc = *out == NULL ? fz_fail_nomem(err, sizeof fields) : FZ_OK;
out:
    return rc;
}

static int by_name(const void *a, const void *b) {
    return strcmp(((const struct fz_metadata_leaf *)a)->name, ((const struct fz_metadata_leaf *)b)->name);
}
static enum fz_code collect_leaves(struct fz_arena *arena, const struct fz_type *type, const char *prefix,
                                   struct fz_metadata_leaf **out, size_t *n, size_t *cap, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct fz_field *f = &type->fields[i];
        char *name = fz_arena_printf(arena, "%s%s", prefix, f->name);
        if (name == NULL) {
            return fz_fail_nomem(err, 64);
        }
        if (f->type->n_fields > 0) {
            char *inner = fz_arena_printf(arena, "%s.", name);
            FZ_TRY(collect_leaves(arena, f->type, inner ? inner : "", out, n, cap, err));
        } else {
            FZ_TRY(fz_grow((void **)out, cap, *n + 1, sizeof **out, err));
            (*out)[(*n)++] = (struct fz_metadata_leaf){name, f};
        }
    }
out:
    return rc;
}

enum fz_code fz_metadata_metrics_type(struct fz_arena *arena, const struct fz_schema *schema,
                                      struct fz_metadata_leaf **leaves, size_t *n_leaves, const struct fz_type **out,
                                      struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata_leaf *items = NULL;
    size_t n = 0, cap = 0;
    FZ_TRY(collect_leaves(arena, schema->type, "", &items, &n, &cap, err));
    if (n > 0) {
        qsort(items, n, sizeof *items, by_name);
    }
    const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG);
    struct fz_field *fields = fz_arena_array(arena, n, sizeof *fields);
    for (size_t i = 0; fields != NULL && i < n; i++) {
        struct fz_field members[6] = {{.name = "column_size", .type = lng},
                                      {.name = "value_count", .type = lng},
                                      {.name = "null_value_count", .type = lng},
                                      {.name = "nan_value_count", .type = lng},
                                      {.name = "lower_bound", .type = items[i].field->type},
                                      {.name = "upper_bound", .type = items[i].field->type}};
        fields[i] = (struct fz_field){.name = items[i].name, .type = fz_type_struct(arena, members, 6)};
    }
    *out = fields ? fz_type_struct(arena, fields, n) : NULL;
    *leaves = fz_arena_memdup(arena, items, n * sizeof *items);
    *n_leaves = n;
    rc = *out == NULL || *leaves == NULL ? fz_fail_nomem(err, n * sizeof *items) : FZ_OK;
out:
    fz_free(items);
    return rc;
}

// The struct of a data file's columns; the partition column only for partitioned tables.
static enum fz_code file_columns(struct fz_arena *arena, const struct fz_engine_table *t, bool metrics,
                                 const struct fz_type **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *head, *tail, *partition, *readable = NULL;
    struct fz_metadata_leaf *leaves;
    size_t n_leaves;
    FZ_TRY(parse_columns(arena, FILE_HEAD, &head, err));
    FZ_TRY(parse_columns(arena, FILE_TAIL, &tail, err));
    FZ_TRY(fz_metadata_partition_type(arena, t->metadata, &partition, err));
    if (metrics) {
        FZ_TRY(fz_metadata_metrics_type(arena, fz_metadata_current_schema(t->metadata), &leaves, &n_leaves, &readable,
                                        err));
    }
    size_t n = 0;
    struct fz_field *fields = fz_arena_array(arena, head->n_fields + tail->n_fields + 2, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, 32 * sizeof *fields);
    }
    for (size_t i = 0; i < head->n_fields; i++) {
        fields[n++] = head->fields[i];
    }
    if (partition->n_fields > 0) {
        fields[n++] = (struct fz_field){.name = "partition", .type = partition};
    }
    for (size_t i = 0; i < tail->n_fields; i++) {
        fields[n++] = tail->fields[i];
    }
    if (metrics) {
        fields[n++] = (struct fz_field){.name = "readable_metrics", .type = readable};
    }
    *out = fz_type_struct(arena, fields, n);
    rc = *out == NULL ? fz_fail_nomem(err, n * sizeof *fields) : FZ_OK;
out:
    return rc;
}

static enum fz_code table_type(struct fz_arena *arena, const struct fz_engine_table *t, const struct fz_type **out,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const char *name = t->metadata_table;
    static const struct {
        const char *name, *ddl;
    } plain[] = {{"snapshots", SNAPSHOTS},
                 {"history", HISTORY},
                 {"refs", REFS},
                 {"metadata_log_entries", LOG},
                 {"manifests", MANIFESTS}};
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (fz_strcasecmp(name, plain[i].name) == 0) {
            return parse_columns(arena, plain[i].ddl, out, err);
        }
    }
    if (fz_metadata_is_files(name)) {
        return file_columns(arena, t, true, out, err);
    }
    if (is_position_deletes(name)) {
        enum fz_delete_column columns[8];
        return delete_columns(arena, t, columns, out, err);
    }
    const struct fz_type *partition, *tail, *file, *readable;
    if (fz_strcasecmp(name, "all_manifests") == 0) {
        char *ddl = fz_arena_printf(arena, "%s, %s", MANIFESTS, ALL_MANIFESTS_TAIL);
        return ddl ? parse_columns(arena, ddl, out, err) : fz_fail_nomem(err, sizeof MANIFESTS);
    }
    FZ_TRY(fz_metadata_partition_type(arena, t->metadata, &partition, err));
    if (fz_strcasecmp(name, "partitions") == 0) {
        FZ_TRY(parse_columns(arena, PARTITION_TAIL, &tail, err));
        struct fz_field fields[16] = {{.name = "partition", .type = partition},
                                      {.name = "spec_id", .type = fz_type_primitive(FZ_TYPE_INT)}};
        size_t n = partition->n_fields > 0 ? 2 : 0;
        for (size_t i = 0; i < tail->n_fields; i++) {
            fields[n++] = tail->fields[i];
        }
        *out = fz_type_struct(arena, fields, n);
        return *out ? FZ_OK : fz_fail_nomem(err, sizeof fields);
    }
    if (fz_metadata_is_entries(name)) {
        struct fz_metadata_leaf *leaves;
        size_t n_leaves;
        const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG);
        FZ_TRY(file_columns(arena, t, false, &file, err));
        FZ_TRY(fz_metadata_metrics_type(arena, fz_metadata_current_schema(t->metadata), &leaves, &n_leaves, &readable,
                                        err));
        struct fz_field fields[6] = {{.name = "status", .type = fz_type_primitive(FZ_TYPE_INT)},
                                     {.name = "snapshot_id", .type = lng},
                                     {.name = "sequence_number", .type = lng},
                                     {.name = "file_sequence_number", .type = lng},
                                     {.name = "data_file", .type = file},
                                     {.name = "readable_metrics", .type = readable}};
        *out = fz_type_struct(arena, fields, 6);
        return *out ? FZ_OK : fz_fail_nomem(err, sizeof fields);
    }
    rc = fz_fail(err, FZ_UNSUPPORTED,
                 "the metadata table %s is not there yet; snapshots, history, refs, files, data_files, delete_files, "
                 "entries, manifests, partitions, position_deletes and metadata_log_entries are",
                 name);
out:
    return rc;
}

enum fz_code fz_metadata_table_fields(struct fz_arena *arena, const struct fz_engine_table *t,
                                      const struct fz_field **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *type;
    FZ_TRY(table_type(arena, t, &type, err));
    struct fz_field *fields = fz_arena_memdup(arena, type->fields, type->n_fields * sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, type->n_fields * sizeof *fields);
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        fields[i].id = (int32_t)i + 1;
    }
    *out = fields;
    *n = type->n_fields;
out:
    return rc;
}

// As many as rows were deleted, so they are read when they are asked for; all other tables are made at once.
static enum fz_code delete_rows(struct fz_engine *e, const struct fz_engine_table *t, const struct fz_field *fields,
                                size_t n, struct fz_source **out, struct fz_err *err) {
    struct fz_arena arena = {0};
    enum fz_delete_column columns[8];
    const struct fz_type *type;
    enum fz_code rc = delete_columns(&arena, t, columns, &type, err);
    if (rc == FZ_OK) {
        struct fz_scan_delete_options options = {
            .store = e->store,
            .metadata = t->metadata,
            .snapshot_id = t->snapshot_id,
            .fields = fields,
            .columns = columns,
            .n_fields = n,
            .cancel = &e->cancel,
            .progress = &e->progress,
        };
        rc = fz_scan_delete_rows(&options, out, err);
    }
    fz_arena_dispose(&arena);
    return rc;
}

enum fz_code fz_metadata_table_source(struct fz_engine *e, const struct fz_engine_table *t,
                                      const struct fz_field *fields, size_t n, struct fz_source **out,
                                      struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_rows rows = {0};
    if (is_position_deletes(t->metadata_table)) {
        return delete_rows(e, t, fields, n, out, err);
    }
    fz_rows_init(&rows, fields, n);
    FZ_TRY(fz_metadata_rows(e, t, fields, n, &rows, err));
    FZ_TRY(fz_rows_source(&rows, out, err));
out:
    fz_rows_dispose(&rows);
    return rc;
}
