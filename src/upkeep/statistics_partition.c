// Counts by partition: every entry of the snapshot's manifests, live ones counted, removed ones only as a change of the partition.
#include <stdio.h>
#include <stdlib.h>

#include "base/map.h"
#include "base/text.h"
#include "format/parquet/parquet_writer.h"
#include "scan/scan.h"
#include "upkeep/statistics_priv.h"

struct partition {
    int32_t spec_id;
    struct fz_value tuple; // of the union of all specs' fields
    int64_t data_records, data_files, data_bytes, position_records, position_files, equality_records, equality_files,
        dvs;
    int64_t updated_ms, updated_snapshot_id; // -1: not known
};

enum { N_COLUMNS = 13, N_COLUMNS_V2 = 12 };
static const struct {
    int32_t id;
    const char *name;
    enum fz_type_id type;
    bool required, required_v3;
} COLUMNS[N_COLUMNS - 1] = {{2, "spec_id", FZ_TYPE_INT, true, true},
                            {3, "data_record_count", FZ_TYPE_LONG, true, true},
                            {4, "data_file_count", FZ_TYPE_INT, true, true},
                            {5, "total_data_file_size_in_bytes", FZ_TYPE_LONG, true, true},
                            {6, "position_delete_record_count", FZ_TYPE_LONG, false, true},
                            {7, "position_delete_file_count", FZ_TYPE_INT, false, true},
                            {8, "equality_delete_record_count", FZ_TYPE_LONG, false, true},
                            {9, "equality_delete_file_count", FZ_TYPE_INT, false, true},
                            {10, "total_record_count", FZ_TYPE_LONG, false, false},
                            {11, "last_updated_at", FZ_TYPE_LONG, false, false},
                            {12, "last_updated_snapshot_id", FZ_TYPE_LONG, false, false},
                            {13, "dv_count", FZ_TYPE_INT, true, true}};

// The tuple of one spec as a tuple of the union: fields by id, what the spec lacks is NULL.
static enum fz_code widen(struct fz_arena *arena, const struct fz_type *type, const struct fz_value *tuple,
                          struct fz_value *out, struct fz_err *err) {
    struct fz_value *items = fz_arena_array(arena, type->n_fields + 1, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, type->n_fields * sizeof *items);
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        items[i] = fz_value_null(type->fields[i].type);
        for (size_t k = 0; k < tuple->u.nested.n; k++) {
            const struct fz_value *v = &tuple->u.nested.items[k];
            if (tuple->type->fields[k].id == type->fields[i].id && !v->is_null && v->type->id == items[i].type->id) {
                items[i] = *v;
            }
        }
    }
    *out = (struct fz_value){.type = type, .u.nested = {items, type->n_fields}};
    return FZ_OK;
}

static void count_entry(struct partition *p, const struct fz_manifest_entry *e, const struct fz_metadata *m) {
    const struct fz_snapshot *snapshot = fz_metadata_snapshot(m, e->snapshot_id);
    const struct fz_data_file *f = &e->file;
    if (e->status != FZ_ENTRY_DELETED) {
        switch (f->content) {
        case FZ_CONTENT_DATA:
            p->data_records += f->record_count;
            p->data_files++;
            p->data_bytes += f->file_size_in_bytes;
            break;
        case FZ_CONTENT_POSITION_DELETES: {
            bool vector = strcmp(f->file_format, "PUFFIN") == 0;
            p->position_records += f->record_count;
            p->dvs += vector;
            p->position_files += !vector;
            break;
        }
        case FZ_CONTENT_EQUALITY_DELETES:
            p->equality_records += f->record_count;
            p->equality_files++;
            break;
        }
    }
    if (snapshot != NULL && snapshot->timestamp_ms > p->updated_ms) {
        p->updated_ms = snapshot->timestamp_ms;
        p->updated_snapshot_id = snapshot->snapshot_id;
    }
}

static enum fz_code collect(const struct fz_statistics_request *request, const struct fz_type *type,
                            struct fz_arena *arena, struct partition **out, size_t *out_n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_manifest_entry *entries;
    struct partition *list = NULL;
    struct fz_map found = {0};
    struct fz_buf key = {0};
    size_t n_entries, n = 0, cap = 0;
    FZ_TRY(fz_scan_written_entries(request->store, request->metadata, request->snapshot_id, false, arena, &entries,
                                   &n_entries, err));
    for (size_t i = 0; i < n_entries; i++) {
        struct fz_value tuple;
        bool is_new;
        struct fz_map_entry *slot;
        FZ_TRY(widen(arena, type, &entries[i].file.partition, &tuple, err));
        fz_buf_clear(&key);
        fz_buf_printf(&key, "%d", entries[i].file.spec_id);
        for (size_t k = 0; k < type->n_fields; k++) {
            const struct fz_value *v = &tuple.u.nested.items[k];
            size_t start = key.len;
            fz_buf_append(&key, v->is_null ? "n____" : "v____", 5);
            if (!v->is_null) {
                FZ_TRY(fz_value_to_bound(&key, v, err));
            }
            uint32_t len = (uint32_t)(key.len - start); // so no two tuples run into one another
            fz_buf_append(&key, &len, sizeof len);
        }
        FZ_TRY(fz_buf_check(&key, err));
        FZ_TRY(fz_map_put(&found, (struct fz_str){key.ptr, key.len}, &slot, &is_new, err));
        if (is_new) {
            FZ_TRY(fz_grow((void **)&list, &cap, n + 1, sizeof *list, err));
            list[n] = (struct partition){
                .spec_id = entries[i].file.spec_id, .tuple = tuple, .updated_ms = -1, .updated_snapshot_id = -1};
            slot->value.i64 = (int64_t)n++;
        }
        count_entry(&list[slot->value.i64], &entries[i], request->metadata);
    }
    *out = list;
    *out_n = n;
    list = NULL;
out:
    fz_free(list);
    fz_map_dispose(&found);
    fz_buf_dispose(&key);
    return rc;
}

// By partition, NULL first; one partition of several specs by spec.
static int by_partition(const void *a, const void *b) {
    const struct partition *x = a, *y = b;
    for (size_t i = 0; i < x->tuple.u.nested.n; i++) {
        const struct fz_value *v = &x->tuple.u.nested.items[i], *w = &y->tuple.u.nested.items[i];
        if (v->is_null || w->is_null) {
            if (v->is_null != w->is_null) {
                return v->is_null ? -1 : 1;
            }
            continue;
        }
        int order = fz_value_compare(v, w);
        if (order != 0) {
            return order;
        }
    }
    return (x->spec_id > y->spec_id) - (x->spec_id < y->spec_id);
}

static enum fz_code fill(struct fz_batch *batch, const struct fz_field *fields, const struct partition *list, size_t n,
                         struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t r = 0; r < n; r++) {
        const struct partition *p = &list[r];
        const int64_t numbers[N_COLUMNS - 1] = {p->spec_id,          p->data_records,        p->data_files,
                                                p->data_bytes,       p->position_records,    p->position_files,
                                                p->equality_records, p->equality_files,      -1 /* not computed */,
                                                p->updated_ms,       p->updated_snapshot_id, p->dvs};
        FZ_TRY(fz_value_store(&batch->columns[0], r, &p->tuple, err));
        for (size_t c = 1; c < batch->n_columns; c++) {
            struct fz_value value = {.type = fields[c].type, .is_null = numbers[c - 1] < 0, .u.i64 = numbers[c - 1]};
            FZ_TRY(fz_value_store(&batch->columns[c], r, &value, err));
        }
    }
    batch->n_rows = n;
out:
    return rc;
}

static enum fz_code write_file(const struct fz_statistics_request *request, const struct fz_field *fields,
                               size_t n_fields, const char *schema_json, const char *location,
                               const struct partition *list, size_t n, struct fz_arena *arena, int64_t *size,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_writer *sink = NULL;
    struct fz_parquet_writer *writer = NULL;
    struct fz_batch batch = {0};
    struct fz_parquet_metrics metrics;
    const struct fz_key_value schema = {"iceberg.schema", schema_json};
    struct fz_parquet_write options = {.fields = fields,
                                       .n_fields = n_fields,
                                       .codec = FZ_PQ_ZSTD,
                                       .level = 1,
                                       .default_metrics = FZ_METRICS_NONE,
                                       .key_values = &schema,
                                       .n_key_values = 1};
    FZ_TRY(fz_store_writer_open(request->store, location, &sink, err));
    FZ_TRY(fz_parquet_writer_open(sink, &options, &writer, err));
    for (size_t at = 0; at < n; at += FZ_BATCH_ROWS) {
        size_t m = n - at < FZ_BATCH_ROWS ? n - at : FZ_BATCH_ROWS;
        fz_batch_dispose(&batch);
        FZ_TRY(fz_batch_init(&batch, fields, n_fields, FZ_BATCH_ROWS, err));
        FZ_TRY(fill(&batch, fields, list + at, m, err));
        FZ_TRY(fz_parquet_writer_append(writer, &batch, 0, NULL, m, err));
    }
    struct fz_parquet_writer *closing = writer;
    writer = NULL;
    FZ_TRY(fz_parquet_writer_close(closing, arena, &metrics, err));
    *size = metrics.file_size_bytes;
out:
    fz_parquet_writer_abort(writer);
    fz_batch_dispose(&batch);
    return rc;
}

enum fz_code fz_compute_partition_statistics(const struct fz_statistics_request *request, struct fz_arena *arena,
                                             const char **location, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *tuple;
    struct partition *list = NULL;
    size_t n = 0;
    int64_t size = 0;
    struct fz_buf schema_json = {0}, json = {0};
    char uuid[37], name[96];
    bool v3 = request->metadata->format_version >= 3;
    FZ_TRY(fz_metadata_partition_type(arena, request->metadata, &tuple, err));
    if (tuple->n_fields == 0) {
        return fz_fail(err, FZ_INVALID_ARG, "Table must be partitioned");
    }
    size_t n_fields = v3 ? N_COLUMNS : N_COLUMNS_V2;
    const struct fz_value zero = {.type = fz_type_primitive(FZ_TYPE_INT)};
    struct fz_field fields[N_COLUMNS] = {{.id = 1, .name = "partition", .required = true, .type = tuple}};
    for (size_t i = 1; i < n_fields; i++) {
        fields[i] = (struct fz_field){.id = COLUMNS[i - 1].id,
                                      .name = COLUMNS[i - 1].name,
                                      .required = v3 ? COLUMNS[i - 1].required_v3 : COLUMNS[i - 1].required,
                                      .type = fz_type_primitive(COLUMNS[i - 1].type)};
    }
    if (v3) {
        fields[N_COLUMNS - 1].initial_default = fields[N_COLUMNS - 1].write_default = &zero;
    }
    const struct fz_type *type = fz_type_struct(arena, fields, n_fields);
    if (type == NULL) {
        return fz_fail_nomem(err, sizeof fields);
    }
    struct fz_schema schema = {.schema_id = 0, .type = type};
    fz_schema_encode(&schema_json, &schema, err);
    FZ_TRY(fz_buf_check(&schema_json, err));
    FZ_TRY(collect(request, tuple, arena, &list, &n, err));
    qsort(list, n, sizeof *list, by_partition);
    fz_uuid_v4(uuid);
    snprintf(name, sizeof name, "partition-stats-%lld-%s.parquet", (long long)request->snapshot_id, uuid);
    *location = fz_statistics_path(arena, request->metadata, name);
    if (*location == NULL) {
        rc = fz_fail_nomem(err, sizeof name);
        goto out;
    }
    FZ_TRY(write_file(request, type->fields, n_fields, schema_json.ptr, *location, list, n, arena, &size, err));
    fz_buf_printf(&json, "{\"snapshot-id\":%lld,\"statistics-path\":", (long long)request->snapshot_id);
    fz_json_quote(&json, fz_str_of(*location));
    fz_buf_printf(&json, ",\"file-size-in-bytes\":%lld}", (long long)size);
    FZ_TRY(fz_buf_check(&json, err));
    FZ_TRY(fz_statistics_publish(request, FZ_UPDATE_SET_PARTITION_STATISTICS, json.ptr, *location, err));
out:
    fz_free(list);
    fz_buf_dispose(&schema_json);
    fz_buf_dispose(&json);
    return rc;
}
