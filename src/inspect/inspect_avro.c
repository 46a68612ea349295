// Avro containers: manifests and manifest lists as what they say, any other file with its schema and first records.
#include "base/text.h"
#include "format/avro/avro.h"
#include "inspect/inspect_priv.h"
#include "table/manifest.h"

enum { FIRST_RECORDS = 20, MAX_DEPTH = 32, MAX_ITEMS = 1000 };

// ---- any container -------------------------------------------------------------------------------------------------------

static const char *type_of(const json_t *schema) {
    const json_t *type = json_is_object(schema) ? json_object_get(schema, "type") : schema;
    const char *name = json_string_value(json_is_object(type) ? json_object_get(type, "type") : type);
    return name != NULL ? name : "";
}

static enum fz_code read_value(struct fz_inspect *in, struct fz_avro_reader *reader, const json_t *schema, int depth,
                               json_t **out);

static enum fz_code read_items(struct fz_inspect *in, struct fz_avro_reader *reader, const json_t *schema, bool map,
                               int depth, json_t *into) {
    enum fz_code rc = FZ_OK;
    const json_t *item = json_object_get(schema, map ? "values" : "items");
    int64_t n;
    for (;;) {
        FZ_TRY(fz_avro_get_block(reader, &n, in->err));
        if (n == 0) {
            break;
        }
        for (int64_t i = 0; i < n; i++) {
            json_t *value = NULL;
            struct fz_str key = {0};
            if (map) {
                FZ_TRY(fz_avro_get_bytes(reader, &key, in->err));
            }
            char *name = fz_arena_strndup(&in->arena, key.ptr != NULL ? key.ptr : "", key.len);
            if (json_array_size(into) >= MAX_ITEMS || json_object_size(into) >= MAX_ITEMS) {
                FZ_TRY(fz_avro_skip(reader, item, in->err));
                continue;
            }
            FZ_TRY(read_value(in, reader, item, depth + 1, &value));
            if (map) {
                fz_inspect_put(in, into, name != NULL && fz_utf8_valid(name, strlen(name)) ? name : "", value);
            } else {
                fz_inspect_add(in, into, value);
            }
        }
    }
out:
    return rc;
}

static enum fz_code read_record(struct fz_inspect *in, struct fz_avro_reader *reader, const json_t *schema, int depth,
                                json_t *into) {
    enum fz_code rc = FZ_OK;
    const json_t *fields = json_object_get(schema, "fields");
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const json_t *field = json_array_get(fields, i);
        const char *name = json_string_value(json_object_get(field, "name"));
        json_t *value = NULL;
        FZ_TRY(read_value(in, reader, json_object_get(field, "type"), depth + 1, &value));
        fz_inspect_put(in, into, name != NULL ? name : "", value);
    }
out:
    return rc;
}

static enum fz_code read_value(struct fz_inspect *in, struct fz_avro_reader *reader, const json_t *schema, int depth,
                               json_t **out) {
    enum fz_code rc = FZ_OK;
    int64_t number = 0;
    struct fz_str bytes;
    *out = NULL;
    if (depth > MAX_DEPTH) {
        FZ_TRY(fz_avro_skip(reader, schema, in->err));
        *out = json_string("…");
        return FZ_OK;
    }
    if (json_is_array(schema)) {
        FZ_TRY(fz_avro_get_long(reader, &number, in->err));
        if (number < 0 || (uint64_t)number >= json_array_size(schema)) {
            return fz_fail(in->err, FZ_CORRUPT, "an Avro union has no branch %lld", (long long)number);
        }
        return read_value(in, reader, json_array_get(schema, (size_t)number), depth + 1, out);
    }
    if (json_is_object(schema) && json_is_object(json_object_get(schema, "type"))) { // {"type": {"type": …}}
        return read_value(in, reader, json_object_get(schema, "type"), depth + 1, out);
    }
    const char *type = type_of(schema);
    if (strcmp(type, "null") == 0) {
        *out = json_null();
    } else if (strcmp(type, "boolean") == 0) {
        bool b;
        FZ_TRY(fz_avro_get_boolean(reader, &b, in->err));
        *out = json_boolean(b);
    } else if (strcmp(type, "int") == 0 || strcmp(type, "long") == 0) {
        FZ_TRY(fz_avro_get_long(reader, &number, in->err));
        *out = json_integer(number);
    } else if (strcmp(type, "enum") == 0) {
        FZ_TRY(fz_avro_get_long(reader, &number, in->err));
        const json_t *symbols = json_object_get(schema, "symbols");
        *out = number >= 0 && (uint64_t)number < json_array_size(symbols)
                   ? json_deep_copy(json_array_get(symbols, (size_t)number))
                   : json_integer(number);
    } else if (strcmp(type, "float") == 0 || strcmp(type, "double") == 0) {
        double d;
        float f;
        if (type[0] == 'f') {
            FZ_TRY(fz_avro_get_float(reader, &f, in->err));
            d = (double)f;
        } else {
            FZ_TRY(fz_avro_get_double(reader, &d, in->err));
        }
        *out = d - d == 0 ? json_real(d) : json_string(d > 0 ? "Infinity" : d < 0 ? "-Infinity" : "NaN");
    } else if (strcmp(type, "bytes") == 0 || strcmp(type, "string") == 0) {
        FZ_TRY(fz_avro_get_bytes(reader, &bytes, in->err));
        *out = type[0] == 's' ? fz_inspect_text(bytes.ptr, bytes.len) : fz_inspect_bound(in, NULL, bytes);
    } else if (strcmp(type, "fixed") == 0) {
        json_int_t size = json_integer_value(json_object_get(schema, "size"));
        FZ_TRY(fz_avro_get_fixed(reader, size > 0 ? (size_t)size : 0, &bytes, in->err));
        *out = fz_inspect_bound(in, NULL, bytes);
    } else {
        bool map = strcmp(type, "map") == 0, array = strcmp(type, "array") == 0;
        *out = array ? json_array() : json_object();
        if (*out == NULL) {
            return fz_fail_nomem(in->err, 64);
        }
        rc = map || array ? read_items(in, reader, schema, map, depth, *out)
                          : read_record(in, reader, schema, depth, *out);
        if (rc != FZ_OK) {
            json_decref(*out);
            *out = NULL;
        }
    }
out:
    return rc;
}

// Every record is walked, so a damaged file is noticed; the first ones are shown when `rows` is not NULL.
static enum fz_code walk_records(struct fz_inspect *in, struct fz_avro_reader *reader, json_t *rows, int64_t *count) {
    enum fz_code rc = FZ_OK;
    const json_t *schema = fz_avro_reader_schema(reader);
    for (*count = 0;; ++*count) {
        bool more;
        FZ_TRY(fz_avro_reader_next(reader, &more, in->err));
        if (!more) {
            break;
        }
        if (rows != NULL && json_array_size(rows) < FIRST_RECORDS) {
            json_t *value = NULL;
            FZ_TRY(read_value(in, reader, schema, 0, &value));
            fz_inspect_add(in, rows, value);
        } else {
            FZ_TRY(fz_avro_skip(reader, schema, in->err));
        }
    }
out:
    return rc;
}

// ---- manifests -----------------------------------------------------------------------------------------------------------

static const char *const CONTENTS[] = {"data", "position deletes", "equality deletes"};
static const char *const STATUSES[] = {"existing", "added", "deleted"};

static void put_known(struct fz_inspect *in, json_t *row, const char *key, int64_t value) {
    fz_inspect_put(in, row, key, value >= 0 ? json_integer(value) : json_null());
}

static void put_partition(struct fz_inspect *in, json_t *row, const struct fz_value *tuple) {
    json_t *list = fz_inspect_array(in, row, "partition");
    for (size_t i = 0; i < tuple->u.nested.n; i++) {
        struct fz_buf text = {0};
        fz_buf_printf(&text, "%s=", tuple->type->fields[i].name);
        if (tuple->u.nested.items[i].is_null) {
            fz_buf_puts(&text, "null");
        } else {
            fz_value_print(&text, &tuple->u.nested.items[i]);
        }
        fz_inspect_add(in, list, text.failed ? NULL : fz_inspect_text(text.ptr, text.len));
        fz_buf_dispose(&text);
    }
}

static json_t *column_entry(struct fz_inspect *in, json_t *columns, const struct fz_schema *schema, int32_t id) {
    for (size_t i = 0; i < json_array_size(columns); i++) {
        json_t *entry = json_array_get(columns, i);
        if (json_integer_value(json_object_get(entry, "field_id")) == id) {
            return entry;
        }
    }
    json_t *entry = fz_inspect_row(in, columns);
    fz_inspect_put(in, entry, "field_id", json_integer(id));
    const char *name = schema->type != NULL ? fz_inspect_name(in, schema->type, id) : NULL;
    if (name != NULL) {
        fz_inspect_put(in, entry, "column", fz_inspect_cstr(name));
    }
    return entry;
}

static void put_metrics(struct fz_inspect *in, json_t *row, const struct fz_data_file *f,
                        const struct fz_schema *schema) {
    const struct {
        const char *key;
        const struct fz_id_count *items;
        size_t n;
    } counts[] = {{"bytes", f->column_sizes, f->n_column_sizes},
                  {"values", f->value_counts, f->n_value_counts},
                  {"nulls", f->null_value_counts, f->n_null_value_counts},
                  {"nans", f->nan_value_counts, f->n_nan_value_counts}};
    json_t *columns = fz_inspect_array(in, row, "columns");
    for (size_t k = 0; k < sizeof counts / sizeof *counts; k++) {
        for (size_t i = 0; i < counts[k].n; i++) {
            fz_inspect_put(in, column_entry(in, columns, schema, counts[k].items[i].id), counts[k].key,
                           json_integer(counts[k].items[i].count));
        }
    }
    for (int upper = 0; upper < 2; upper++) {
        const struct fz_id_bytes *bounds = upper ? f->upper_bounds : f->lower_bounds;
        for (size_t i = 0; i < (upper ? f->n_upper_bounds : f->n_lower_bounds); i++) {
            const struct fz_field *field = schema->type != NULL ? fz_inspect_field(schema->type, bounds[i].id) : NULL;
            fz_inspect_put(in, column_entry(in, columns, schema, bounds[i].id), upper ? "upper" : "lower",
                           fz_inspect_bound(in, field != NULL ? field->type : NULL, bounds[i].bytes));
        }
    }
}

static enum fz_code put_manifest(struct fz_inspect *in, const struct fz_buf *file, const struct fz_schema *schema) {
    enum fz_code rc = FZ_OK;
    struct fz_manifest_entry *entries;
    size_t n;
    FZ_TRY(fz_manifest_decode(&in->arena, file->ptr, file->len, NULL, NULL, &entries, &n, in->err));
    json_t *rows = fz_inspect_array(in, in->root, "entries");
    for (size_t i = 0; i < n; i++) {
        const struct fz_manifest_entry *e = &entries[i];
        const struct fz_data_file *f = &e->file;
        json_t *row = fz_inspect_row(in, rows);
        fz_inspect_put(in, row, "status", json_string(STATUSES[e->status]));
        fz_inspect_put(in, row, "content", json_string(CONTENTS[f->content]));
        put_partition(in, row, &f->partition);
        fz_inspect_put(in, row, "records", json_integer(f->record_count));
        fz_inspect_put(in, row, "bytes", json_integer(f->file_size_in_bytes));
        put_known(in, row, "snapshot_id", e->snapshot_id);
        put_known(in, row, "sequence_number", e->sequence_number);
        put_known(in, row, "file_sequence_number", e->file_sequence_number);
        fz_inspect_put(in, row, "format", fz_inspect_cstr(f->file_format));
        if (f->first_row_id >= 0) {
            put_known(in, row, "first_row_id", f->first_row_id);
        }
        if (f->n_equality_ids > 0) {
            json_t *ids = fz_inspect_array(in, row, "equality_ids");
            for (size_t k = 0; k < f->n_equality_ids; k++) {
                fz_inspect_add(in, ids, json_integer(f->equality_ids[k]));
            }
        }
        if (f->content_offset >= 0) {
            put_known(in, row, "content_offset", f->content_offset);
            put_known(in, row, "content_bytes", f->content_size_in_bytes);
        }
        if (f->referenced_data_file != NULL) {
            fz_inspect_put(in, row, "deletes_from", fz_inspect_cstr(f->referenced_data_file));
        }
        fz_inspect_put(in, row, "path", fz_inspect_cstr(f->file_path));
        put_metrics(in, row, f, schema);
    }
out:
    return rc;
}

static enum fz_code put_manifest_list(struct fz_inspect *in, const struct fz_buf *file) {
    enum fz_code rc = FZ_OK;
    struct fz_manifest_file *files;
    size_t n;
    FZ_TRY(fz_manifest_list_decode(&in->arena, file->ptr, file->len, &files, &n, in->err));
    json_t *rows = fz_inspect_array(in, in->root, "manifests");
    for (size_t i = 0; i < n; i++) {
        const struct fz_manifest_file *f = &files[i];
        json_t *row = fz_inspect_row(in, rows);
        fz_inspect_put(in, row, "content", json_string(f->content == 0 ? "data" : "deletes"));
        fz_inspect_put(in, row, "spec_id", json_integer(f->partition_spec_id));
        put_known(in, row, "sequence_number", f->sequence_number);
        put_known(in, row, "min_sequence_number", f->min_sequence_number);
        put_known(in, row, "added_files", f->added_files_count);
        put_known(in, row, "existing_files", f->existing_files_count);
        put_known(in, row, "deleted_files", f->deleted_files_count);
        put_known(in, row, "added_rows", f->added_rows_count);
        put_known(in, row, "existing_rows", f->existing_rows_count);
        put_known(in, row, "deleted_rows", f->deleted_rows_count);
        put_known(in, row, "added_snapshot_id", f->added_snapshot_id);
        if (f->first_row_id >= 0) {
            put_known(in, row, "first_row_id", f->first_row_id);
        }
        fz_inspect_put(in, row, "bytes", json_integer(f->manifest_length));
        fz_inspect_put(in, row, "path", fz_inspect_cstr(f->manifest_path));
        json_t *summaries = fz_inspect_array(in, row, "partitions");
        for (size_t p = 0; p < f->n_partitions; p++) {
            const struct fz_field_summary *s = &f->partitions[p];
            json_t *summary = fz_inspect_row(in, summaries);
            fz_inspect_put(in, summary, "contains_null", json_boolean(s->contains_null));
            if (s->contains_nan >= 0) {
                fz_inspect_put(in, summary, "contains_nan", json_boolean(s->contains_nan));
            }
            if (s->has_bounds) {
                fz_inspect_put(in, summary, "lower", fz_inspect_bound(in, NULL, s->lower_bound));
                fz_inspect_put(in, summary, "upper", fz_inspect_bound(in, NULL, s->upper_bound));
            }
        }
    }
out:
    return rc;
}

static bool has_field(const json_t *schema, const char *wanted) {
    const json_t *fields = json_object_get(schema, "fields");
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const char *name = json_string_value(json_object_get(json_array_get(fields, i), "name"));
        if (name != NULL && strcmp(name, wanted) == 0) {
            return true;
        }
    }
    return false;
}

enum fz_code fz_inspect_avro(struct fz_inspect *in, const struct fz_buf *file) {
    enum fz_code rc = FZ_OK;
    struct fz_avro_reader *reader = NULL;
    struct fz_schema schema = {0};
    struct fz_err ignored = FZ_ERR_INIT;
    struct fz_str key, value = {0};
    int64_t records = 0;
    FZ_TRY(fz_avro_reader_open(file->ptr, file->len, &reader, in->err));
    const json_t *avro = fz_avro_reader_schema(reader);
    bool manifest = has_field(avro, "data_file") && has_field(avro, "status"), list = has_field(avro, "manifest_path");
    fz_inspect_put(in, in->root, "kind", json_string(manifest ? "manifest" : list ? "manifest list" : "Avro"));
    bool named = fz_avro_reader_metadata(reader, "avro.codec", &value) && value.len > 0;
    fz_inspect_put(in, in->root, "codec", named ? fz_inspect_text(value.ptr, value.len) : json_string("null"));
    json_t *rows = manifest || list ? NULL : json_array();
    if (rows != NULL) {
        fz_inspect_put(in, in->root, "records", json_null()); // keeps its place
        fz_inspect_put(in, in->root, "first_records", rows);
    }
    FZ_TRY(walk_records(in, reader, rows, &records));
    fz_inspect_put(in, in->root, "records", json_integer(records));
    fz_inspect_put(in, in->root, "blocks", json_integer(fz_avro_reader_block_count(reader)));
    json_t *metadata = fz_inspect_object(in, in->root, "metadata");
    for (size_t i = 0; fz_avro_reader_metadata_at(reader, i, &key, &value); i++) {
        char *name = fz_arena_strndup(&in->arena, key.ptr, key.len);
        if (name != NULL && strcmp(name, "avro.schema") == 0) {
            fz_inspect_put(in, in->root, "avro_schema", json_loadb(value.ptr, value.len, 0, NULL));
        } else if (name != NULL && strcmp(name, "avro.codec") != 0) {
            fz_inspect_put(in, metadata, fz_utf8_valid(name, strlen(name)) ? name : "",
                           fz_inspect_text(value.ptr, value.len));
        }
    }
    if (manifest) {
        if (fz_avro_reader_metadata(reader, "schema", &value)) {
            (void)fz_schema_decode(&in->arena, value, &schema, &ignored); // without it bounds stay bytes
        }
        FZ_TRY(put_manifest(in, file, &schema));
    } else if (list) {
        FZ_TRY(put_manifest_list(in, file));
    }
out:
    if (rc != FZ_OK) {
        fz_err_context(in->err, "%s", in->location);
    }
    fz_avro_reader_close(reader);
    return rc;
}
