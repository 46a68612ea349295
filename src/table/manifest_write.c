// Writing manifests (spec "Manifests", iceberg-facts 7.4): entries in the version's layout, and what the manifest list says
// about them.
#include <math.h>
#include <stdio.h>

#include "table/json_priv.h"
#include "table/manifest_priv.h"

static const int64_t v1_block_size = 64 * 1024 * 1024; // what Java writes into the field nobody reads

static void put_optional(struct fz_avro_writer *w, int64_t v) {
    fz_avro_put_long(w, v >= 0);
    if (v >= 0) {
        fz_avro_put_long(w, v);
    }
}

static void put_counts(struct fz_avro_writer *w, const struct fz_id_count *items, size_t n) {
    fz_avro_put_long(w, n > 0);
    if (n > 0) {
        fz_avro_put_long(w, (int64_t)n);
        for (size_t i = 0; i < n; i++) {
            fz_avro_put_long(w, items[i].id);
            fz_avro_put_long(w, items[i].count);
        }
        fz_avro_put_long(w, 0);
    }
}

static void put_bounds(struct fz_avro_writer *w, const struct fz_id_bytes *items, size_t n) {
    fz_avro_put_long(w, n > 0);
    if (n > 0) {
        fz_avro_put_long(w, (int64_t)n);
        for (size_t i = 0; i < n; i++) {
            fz_avro_put_long(w, items[i].id);
            fz_avro_put_bytes(w, items[i].bytes.ptr, items[i].bytes.len);
        }
        fz_avro_put_long(w, 0);
    }
}

static void put_lists(struct fz_avro_writer *w, const struct fz_data_file *f, int version) {
    fz_avro_put_long(w, f->n_split_offsets > 0);
    if (f->n_split_offsets > 0) {
        fz_avro_put_long(w, (int64_t)f->n_split_offsets);
        for (size_t i = 0; i < f->n_split_offsets; i++) {
            fz_avro_put_long(w, f->split_offsets[i]);
        }
        fz_avro_put_long(w, 0);
    }
    if (version == 1) {
        return;
    }
    fz_avro_put_long(w, f->n_equality_ids > 0);
    if (f->n_equality_ids > 0) {
        fz_avro_put_long(w, (int64_t)f->n_equality_ids);
        for (size_t i = 0; i < f->n_equality_ids; i++) {
            fz_avro_put_long(w, f->equality_ids[i]);
        }
        fz_avro_put_long(w, 0);
    }
}

static void put_decimal(struct fz_avro_writer *w, const struct fz_value *v, size_t size) {
    uint8_t bytes[16];
    __int128 unscaled = fz_i128_get(v->u.i128);
    for (size_t i = 0; i < size && i < sizeof bytes; i++) {
        bytes[size - 1 - i] = (uint8_t)(unscaled >> (8 * i));
    }
    fz_avro_put_raw(w, bytes, size);
}

static size_t decimal_size(int precision) {
    unsigned __int128 max = 1;
    for (int i = 0; i < precision && i < 38; i++) {
        max *= 10;
    }
    size_t size = 1;
    while (size < 16 && max - 1 > ((unsigned __int128)1 << (8 * size - 1)) - 1) {
        size++;
    }
    return size;
}

// One partition value; its type is that of the spec's field, which the schema was made of.
static enum fz_code put_value(struct fz_avro_writer *w, const struct fz_type *type, const struct fz_value *v,
                              struct fz_err *err) {
    if (type->id == FZ_TYPE_UNKNOWN) {
        return FZ_OK; // bare null
    }
    if (v == NULL || v->is_null) {
        fz_avro_put_long(w, 0);
        return FZ_OK;
    }
    if (v->type->id != type->id || (type->id == FZ_TYPE_DECIMAL && v->type->scale != type->scale) ||
        (type->id == FZ_TYPE_FIXED && v->u.bytes.len != (size_t)type->length)) {
        return fz_fail(err, FZ_BUG, "partition value has another type than its partition field");
    }
    fz_avro_put_long(w, 1);
    switch (type->id) {
    case FZ_TYPE_BOOLEAN:
        fz_avro_put_boolean(w, v->u.boolean);
        return FZ_OK;
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
    case FZ_TYPE_DATE:
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        fz_avro_put_long(w, v->u.i64);
        return FZ_OK;
    case FZ_TYPE_FLOAT:
        fz_avro_put_float(w, v->u.f32);
        return FZ_OK;
    case FZ_TYPE_DOUBLE:
        fz_avro_put_double(w, v->u.f64);
        return FZ_OK;
    case FZ_TYPE_DECIMAL:
        put_decimal(w, v, decimal_size(type->precision));
        return FZ_OK;
    case FZ_TYPE_UUID:
        put_decimal(w, v, 16);
        return FZ_OK;
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        fz_avro_put_bytes(w, v->u.bytes.ptr, v->u.bytes.len);
        return FZ_OK;
    case FZ_TYPE_FIXED:
        fz_avro_put_raw(w, v->u.bytes.ptr, v->u.bytes.len);
        return FZ_OK;
    case FZ_TYPE_UNKNOWN:
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
    case FZ_TYPE_VARIANT:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
    case FZ_TYPE_INTERVAL_CAL:
        break;
    }
    return fz_fail(err, FZ_BUG, "a partition value cannot have this type");
}

static const struct fz_value *tuple_item(const struct fz_data_file *f, size_t i) {
    return f->partition.is_null || f->partition.type == NULL || i >= f->partition.u.nested.n
               ? NULL
               : &f->partition.u.nested.items[i];
}

static enum fz_code put_file(struct fz_avro_writer *w, int version, const struct fz_type *partition,
                             const struct fz_data_file *f, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (version > 1) {
        fz_avro_put_long(w, (int64_t)f->content);
    }
    fz_avro_put_bytes(w, f->file_path, strlen(f->file_path));
    fz_avro_put_bytes(w, f->file_format, strlen(f->file_format));
    for (size_t i = 0; i < partition->n_fields; i++) {
        FZ_TRY(put_value(w, partition->fields[i].type, tuple_item(f, i), err));
    }
    fz_avro_put_long(w, f->record_count);
    fz_avro_put_long(w, f->file_size_in_bytes);
    if (version == 1) {
        fz_avro_put_long(w, v1_block_size);
    }
    put_counts(w, f->column_sizes, f->n_column_sizes);
    put_counts(w, f->value_counts, f->n_value_counts);
    put_counts(w, f->null_value_counts, f->n_null_value_counts);
    put_counts(w, f->nan_value_counts, f->n_nan_value_counts);
    put_bounds(w, f->lower_bounds, f->n_lower_bounds);
    put_bounds(w, f->upper_bounds, f->n_upper_bounds);
    fz_avro_put_long(w, f->key_metadata.len > 0);
    if (f->key_metadata.len > 0) {
        fz_avro_put_bytes(w, f->key_metadata.ptr, f->key_metadata.len);
    }
    put_lists(w, f, version);
    put_optional(w, f->sort_order_id);
    if (version >= 3) {
        put_optional(w, f->content == FZ_CONTENT_DATA ? f->first_row_id : -1);
    }
    if (version > 1) {
        fz_avro_put_long(w, f->referenced_data_file != NULL);
        if (f->referenced_data_file != NULL) {
            fz_avro_put_bytes(w, f->referenced_data_file, strlen(f->referenced_data_file));
        }
    }
    if (version >= 3) {
        put_optional(w, f->content_size_in_bytes >= 0 ? f->content_offset : -1);
        put_optional(w, f->content_size_in_bytes);
    }
out:
    return rc;
}

static enum fz_code put_entry(struct fz_avro_writer *w, int version, const struct fz_type *partition,
                              const struct fz_manifest_entry *e, struct fz_err *err) {
    if (version > 1 && e->status != FZ_ENTRY_ADDED && (e->sequence_number < 0 || e->file_sequence_number < 0)) {
        return fz_fail(err, FZ_BUG, "manifest entry of %s is not new but has no sequence numbers", e->file.file_path);
    }
    fz_avro_put_long(w, (int64_t)e->status);
    put_optional(w, e->snapshot_id);
    if (version > 1) {
        put_optional(w, e->sequence_number);
        put_optional(w, e->status == FZ_ENTRY_ADDED ? -1 : e->file_sequence_number); // always inherited by new files
    }
    enum fz_code rc = put_file(w, version, partition, &e->file, err);
    return rc == FZ_OK ? fz_avro_writer_end_record(w, err) : rc;
}

struct summary_state {
    const struct fz_value *min, *max;
    bool contains_null, contains_nan;
};

static void observe(struct summary_state *s, const struct fz_value *v) {
    if (v == NULL || v->is_null) {
        s->contains_null = true;
        return;
    }
    if ((v->type->id == FZ_TYPE_FLOAT && isnan(v->u.f32)) || (v->type->id == FZ_TYPE_DOUBLE && isnan(v->u.f64))) {
        s->contains_nan = true;
        return;
    }
    s->min = s->min == NULL || fz_value_compare(v, s->min) < 0 ? v : s->min;
    s->max = s->max == NULL || fz_value_compare(v, s->max) > 0 ? v : s->max;
}

static enum fz_code bound_of(struct fz_arena *arena, const struct fz_value *v, struct fz_str *out, struct fz_err *err) {
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    FZ_TRY(fz_value_to_bound(&buf, v, err));
    *out = (struct fz_str){fz_arena_strndup(arena, buf.ptr != NULL ? buf.ptr : "", buf.len), buf.len};
    rc = out->ptr != NULL ? FZ_OK : fz_fail_nomem(err, buf.len);
out:
    fz_buf_dispose(&buf);
    return rc;
}

static enum fz_code summarize(struct fz_arena *arena, const struct fz_manifest_encode *in, size_t n_fields,
                              struct fz_manifest_file *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_field_summary *summaries = fz_arena_array(arena, n_fields + 1, sizeof *summaries);
    if (summaries == NULL) {
        return fz_fail_nomem(err, n_fields);
    }
    for (size_t i = 0; i < n_fields; i++) {
        struct summary_state s = {0};
        for (size_t j = 0; j < in->n_entries; j++) {
            observe(&s, tuple_item(&in->entries[j].file, i));
        }
        summaries[i].contains_null = s.contains_null;
        summaries[i].contains_nan = s.contains_nan;
        if (s.min != NULL) {
            FZ_TRY(bound_of(arena, s.min, &summaries[i].lower_bound, err));
            FZ_TRY(bound_of(arena, s.max, &summaries[i].upper_bound, err));
            summaries[i].has_bounds = true;
        }
    }
    out->partitions = summaries;
    out->n_partitions = n_fields;
out:
    return rc;
}

static void count(const struct fz_manifest_encode *in, struct fz_manifest_file *out) {
    *out = (struct fz_manifest_file){
        .partition_spec_id = in->spec_id, .content = in->deletes, .sequence_number = -1, .min_sequence_number = -1};
    out->added_snapshot_id = out->first_row_id = -1;
    for (size_t i = 0; i < in->n_entries; i++) {
        const struct fz_manifest_entry *e = &in->entries[i];
        int32_t *files = e->status == FZ_ENTRY_ADDED      ? &out->added_files_count
                         : e->status == FZ_ENTRY_EXISTING ? &out->existing_files_count
                                                          : &out->deleted_files_count;
        int64_t *rows = e->status == FZ_ENTRY_ADDED      ? &out->added_rows_count
                        : e->status == FZ_ENTRY_EXISTING ? &out->existing_rows_count
                                                         : &out->deleted_rows_count;
        (*files)++;
        *rows += e->file.record_count;
        if (e->status != FZ_ENTRY_DELETED && e->sequence_number >= 0 &&
            (out->min_sequence_number < 0 || e->sequence_number < out->min_sequence_number)) {
            out->min_sequence_number = e->sequence_number;
        }
    }
}

static enum fz_code put_header(struct fz_avro_writer *w, const struct fz_manifest_encode *in,
                               const struct fz_partition_spec *spec, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf text = {0};
    char number[16];
    const struct fz_schema *schema = fz_metadata_current_schema(in->metadata);
    fz_schema_to_json(&text, schema, err);
    FZ_TRY(fz_buf_check(&text, err));
    FZ_TRY(fz_avro_writer_metadata(w, "schema", (struct fz_str){text.ptr, text.len}, err));
    (void)snprintf(number, sizeof number, "%d", schema->schema_id);
    FZ_TRY(fz_avro_writer_metadata(w, "schema-id", fz_str_of(number), err));
    fz_buf_clear(&text);
    fz_spec_fields_to_json(&text, spec);
    FZ_TRY(fz_buf_check(&text, err));
    FZ_TRY(fz_avro_writer_metadata(w, "partition-spec", (struct fz_str){text.ptr, text.len}, err));
    (void)snprintf(number, sizeof number, "%d", in->spec_id);
    FZ_TRY(fz_avro_writer_metadata(w, "partition-spec-id", fz_str_of(number), err));
    (void)snprintf(number, sizeof number, "%d", in->metadata->format_version);
    FZ_TRY(fz_avro_writer_metadata(w, "format-version", fz_str_of(number), err));
    if (in->metadata->format_version > 1) {
        FZ_TRY(fz_avro_writer_metadata(w, "content", fz_str_of(in->deletes ? "deletes" : "data"), err));
    }
out:
    fz_buf_dispose(&text);
    return rc;
}

enum fz_code fz_manifest_encode(struct fz_arena *arena, const struct fz_manifest_encode *in, struct fz_buf *out,
                                struct fz_manifest_file *out_file, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_avro_writer *w = NULL;
    struct fz_arena scratch = {0};
    const struct fz_type *partition;
    int version = in->metadata->format_version;
    const struct fz_partition_spec *spec = fz_metadata_spec(in->metadata, in->spec_id);
    if (version == 1 && in->deletes) {
        rc = fz_fail(err, FZ_UNSUPPORTED, "a v1 table cannot hold delete files; upgrade it with 'format-version'='2'");
        goto out;
    }
    FZ_TRY(fz_metadata_spec_type(&scratch, in->metadata, in->spec_id, &partition, err));
    const struct fz_type *type = fz_manifest_entry_type(&scratch, version, partition);
    if (type == NULL) {
        rc = fz_fail_nomem(err, 0);
        goto out;
    }
    FZ_TRY(fz_manifest_writer_open(in->metadata, type, "manifest_entry", &w, err));
    FZ_TRY(put_header(w, in, spec, err));
    for (size_t i = 0; i < in->n_entries; i++) {
        FZ_TRY(put_entry(w, version, partition, &in->entries[i], err));
    }
    count(in, out_file);
    FZ_TRY(summarize(arena, in, partition->n_fields, out_file, err));
    size_t before = out->len;
    rc = fz_avro_writer_close(w, out, err);
    w = NULL;
    out_file->manifest_length = (int64_t)(out->len - before);
out:
    fz_avro_writer_abort(w);
    fz_arena_dispose(&scratch);
    return rc;
}
