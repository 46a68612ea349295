// Schemas of manifests and manifest lists: one table of fields, turned into Iceberg types, and those into Avro schemas with
// field ids. Docs are part of what Java writes and are kept word for word.
#include <stdio.h>

#include "base/text.h"
#include "table/json_priv.h"
#include "table/manifest_priv.h"

enum shape { INT, LONG, STRING, BINARY, BOOLEAN, ID_TO_LONG, ID_TO_BYTES, LIST_LONG, LIST_INT, PARTITION, SUMMARIES };

struct row {
    int32_t id;
    const char *name;
    enum shape shape;
    int required_from; // version from which it is required; 9: never
    int from, to; // versions that have it
    int32_t first_id, second_id; // element, or key and value
    const char *doc;
};

static const struct row data_file_rows[] = {
    {134, "content", INT, 2, 2, 3, 0, 0, "Contents of the file: 0=data, 1=position deletes, 2=equality deletes"},
    {100, "file_path", STRING, 1, 1, 3, 0, 0, "Location URI with FS scheme"},
    {101, "file_format", STRING, 1, 1, 3, 0, 0, "File format name: avro, orc, or parquet"},
    {102, "partition", PARTITION, 1, 1, 3, 0, 0, "Partition data tuple, schema based on the partition spec"},
    {103, "record_count", LONG, 1, 1, 3, 0, 0, "Number of records in the file"},
    {104, "file_size_in_bytes", LONG, 1, 1, 3, 0, 0, "Total file size in bytes"},
    {105, "block_size_in_bytes", LONG, 1, 1, 1, 0, 0, NULL},
    {108, "column_sizes", ID_TO_LONG, 9, 1, 3, 117, 118, "Map of column id to total size on disk"},
    {109, "value_counts", ID_TO_LONG, 9, 1, 3, 119, 120, "Map of column id to total count, including null and NaN"},
    {110, "null_value_counts", ID_TO_LONG, 9, 1, 3, 121, 122, "Map of column id to null value count"},
    {137, "nan_value_counts", ID_TO_LONG, 9, 1, 3, 138, 139, "Map of column id to number of NaN values in the column"},
    {125, "lower_bounds", ID_TO_BYTES, 9, 1, 3, 126, 127, "Map of column id to lower bound"},
    {128, "upper_bounds", ID_TO_BYTES, 9, 1, 3, 129, 130, "Map of column id to upper bound"},
    {131, "key_metadata", BINARY, 9, 1, 3, 0, 0, "Encryption key metadata blob"},
    {132, "split_offsets", LIST_LONG, 9, 1, 3, 133, 0, "Splittable offsets"},
    {135, "equality_ids", LIST_INT, 9, 2, 3, 136, 0, "Equality comparison field IDs"},
    {140, "sort_order_id", INT, 9, 1, 3, 0, 0, "Sort order ID"},
    {142, "first_row_id", LONG, 9, 3, 3, 0, 0, "The first row ID assigned to the first row in the data file"},
    {143, "referenced_data_file", STRING, 9, 2, 3, 0, 0,
     "Fully qualified location (URI with FS scheme) of a data file that all deletes reference"},
    {144, "content_offset", LONG, 9, 3, 3, 0, 0, "The offset in the file where the content starts"},
    {145, "content_size_in_bytes", LONG, 9, 3, 3, 0, 0, "The length of referenced content stored in the file"},
};

static const struct row entry_rows[] = {
    {0, "status", INT, 1, 1, 3, 0, 0, NULL},
    {1, "snapshot_id", LONG, 9, 1, 3, 0, 0, NULL},
    {3, "sequence_number", LONG, 9, 2, 3, 0, 0, NULL},
    {4, "file_sequence_number", LONG, 9, 2, 3, 0, 0, NULL},
};

static const struct row summary_rows[] = {
    {509, "contains_null", BOOLEAN, 1, 1, 3, 0, 0, "True if any file has a null partition value"},
    {518, "contains_nan", BOOLEAN, 9, 1, 3, 0, 0, "True if any file has a nan partition value"},
    {510, "lower_bound", BINARY, 9, 1, 3, 0, 0, "Partition lower bound for all files"},
    {511, "upper_bound", BINARY, 9, 1, 3, 0, 0, "Partition upper bound for all files"},
};

// v1 has its own order (the summaries before the row counts), so rows of 507 appear for both.
static const struct row list_rows[] = {
    {500, "manifest_path", STRING, 1, 1, 3, 0, 0, "Location URI with FS scheme"},
    {501, "manifest_length", LONG, 1, 1, 3, 0, 0, "Total file size in bytes"},
    {502, "partition_spec_id", INT, 1, 1, 3, 0, 0, "Spec ID used to write"},
    {517, "content", INT, 2, 2, 3, 0, 0, "Contents of the manifest: 0=data, 1=deletes"},
    {515, "sequence_number", LONG, 2, 2, 3, 0, 0, "Sequence number when the manifest was added"},
    {516, "min_sequence_number", LONG, 2, 2, 3, 0, 0, "Lowest sequence number in the manifest"},
    {503, "added_snapshot_id", LONG, 1, 1, 3, 0, 0, "Snapshot ID that added the manifest"},
    {504, "added_files_count", INT, 2, 1, 3, 0, 0, "Added entry count"},
    {505, "existing_files_count", INT, 2, 1, 3, 0, 0, "Existing entry count"},
    {506, "deleted_files_count", INT, 2, 1, 3, 0, 0, "Deleted entry count"},
    {507, "partitions", SUMMARIES, 9, 1, 1, 508, 0, "Summary for each partition"},
    {512, "added_rows_count", LONG, 2, 1, 3, 0, 0, "Added rows count"},
    {513, "existing_rows_count", LONG, 2, 1, 3, 0, 0, "Existing rows count"},
    {514, "deleted_rows_count", LONG, 2, 1, 3, 0, 0, "Deleted rows count"},
    {507, "partitions", SUMMARIES, 9, 2, 3, 508, 0, "Summary for each partition"},
    {519, "key_metadata", BINARY, 9, 1, 3, 0, 0, "Encryption key metadata blob"},
    {520, "first_row_id", LONG, 9, 3, 3, 0, 0, "Starting row ID to assign to new rows in ADDED data files"},
};

static const struct fz_type *struct_of(struct fz_arena *arena, const struct row *rows, size_t n, int version,
                                       const struct fz_type *partition, const struct fz_field *last);

static const struct fz_type *type_of(struct fz_arena *arena, const struct row *row, int version,
                                     const struct fz_type *partition) {
    const struct fz_type *i32 = fz_type_primitive(FZ_TYPE_INT), *i64 = fz_type_primitive(FZ_TYPE_LONG);
    switch (row->shape) {
    case INT:
        return i32;
    case LONG:
        return i64;
    case STRING:
        return fz_type_primitive(FZ_TYPE_STRING);
    case BINARY:
        return fz_type_primitive(FZ_TYPE_BINARY);
    case BOOLEAN:
        return fz_type_primitive(FZ_TYPE_BOOLEAN);
    case ID_TO_LONG:
        return fz_type_map(arena, row->first_id, i32, row->second_id, true, i64);
    case ID_TO_BYTES:
        return fz_type_map(arena, row->first_id, i32, row->second_id, true, fz_type_primitive(FZ_TYPE_BINARY));
    case LIST_LONG:
        return fz_type_list(arena, row->first_id, true, i64);
    case LIST_INT:
        return fz_type_list(arena, row->first_id, true, i32);
    case PARTITION:
        return partition;
    case SUMMARIES: {
        const struct fz_type *summary =
            struct_of(arena, summary_rows, sizeof summary_rows / sizeof summary_rows[0], version, NULL, NULL);
        return summary != NULL ? fz_type_list(arena, row->first_id, true, summary) : NULL;
    }
    }
    return NULL;
}

static const struct fz_type *struct_of(struct fz_arena *arena, const struct row *rows, size_t n, int version,
                                       const struct fz_type *partition, const struct fz_field *last) {
    struct fz_field *fields = fz_arena_array(arena, n + 1, sizeof *fields);
    size_t used = 0;
    for (size_t i = 0; fields != NULL && i < n; i++) {
        if (version < rows[i].from || version > rows[i].to) {
            continue;
        }
        fields[used] = (struct fz_field){
            .id = rows[i].id, .name = rows[i].name, .required = version >= rows[i].required_from, .doc = rows[i].doc};
        if (rows[i].shape == PARTITION && version == 1) {
            fields[used].doc = NULL;
        }
        fields[used].type = type_of(arena, &rows[i], version, partition);
        if (fields[used++].type == NULL) {
            return NULL;
        }
    }
    if (fields != NULL && last != NULL) {
        fields[used++] = *last;
    }
    return fields != NULL ? fz_type_struct(arena, fields, used) : NULL;
}

const struct fz_type *fz_manifest_entry_type(struct fz_arena *arena, int format_version,
                                             const struct fz_type *partition) {
    size_t n = sizeof data_file_rows / sizeof data_file_rows[0];
    struct fz_field file = {.id = 2, .name = "data_file", .required = true};
    file.type = struct_of(arena, data_file_rows, n, format_version, partition, NULL);
    return file.type != NULL
               ? struct_of(arena, entry_rows, sizeof entry_rows / sizeof entry_rows[0], format_version, NULL, &file)
               : NULL;
}

const struct fz_type *fz_manifest_list_type(struct fz_arena *arena, int format_version) {
    return struct_of(arena, list_rows, sizeof list_rows / sizeof list_rows[0], format_version, NULL, NULL);
}

struct avro_printer {
    struct fz_buf *out;
    struct fz_buf defined; // names of fixed types so far, each between blanks
    struct fz_err *err;
};

static enum fz_code print_type(struct avro_printer *p, const struct fz_type *type, const char *record_name, int depth);

// A fixed type is defined once and named afterwards.
static void print_fixed(struct avro_printer *p, const char *name, size_t size, const char *attributes) {
    struct fz_buf mark = {0};
    fz_buf_printf(&mark, " %s ", name);
    if (p->defined.ptr != NULL && mark.ptr != NULL && strstr(p->defined.ptr, mark.ptr) != NULL) {
        fz_buf_printf(p->out, "\"%s\"", name);
    } else {
        fz_buf_puts(&p->defined, mark.ptr != NULL ? mark.ptr : "");
        fz_buf_printf(p->out, "{\"type\":\"fixed\",\"name\":\"%s\",\"size\":%zu%s}", name, size, attributes);
    }
    p->out->failed = p->out->failed || mark.failed;
    fz_buf_dispose(&mark);
}

// Bytes that hold every unscaled value of the precision in two's complement.
static size_t decimal_bytes(int precision) {
    unsigned __int128 max = 1;
    for (int i = 0; i < precision && i < 38; i++) {
        max *= 10;
    }
    size_t bytes = 1;
    while (bytes < 16 && max - 1 > ((unsigned __int128)1 << (8 * bytes - 1)) - 1) {
        bytes++;
    }
    return bytes;
}

static void print_timestamp(struct avro_printer *p, const char *unit, bool zoned) {
    fz_buf_printf(p->out, "{\"type\":\"long\",\"logicalType\":\"timestamp-%s\",\"adjust-to-utc\":%s}", unit,
                  zoned ? "true" : "false");
}

static enum fz_code print_primitive(struct avro_printer *p, const struct fz_type *type) {
    char name[64], attributes[96];
    switch (type->id) {
    case FZ_TYPE_BOOLEAN:
        fz_buf_puts(p->out, "\"boolean\"");
        return FZ_OK;
    case FZ_TYPE_INT:
        fz_buf_puts(p->out, "\"int\"");
        return FZ_OK;
    case FZ_TYPE_LONG:
        fz_buf_puts(p->out, "\"long\"");
        return FZ_OK;
    case FZ_TYPE_FLOAT:
        fz_buf_puts(p->out, "\"float\"");
        return FZ_OK;
    case FZ_TYPE_DOUBLE:
        fz_buf_puts(p->out, "\"double\"");
        return FZ_OK;
    case FZ_TYPE_STRING:
        fz_buf_puts(p->out, "\"string\"");
        return FZ_OK;
    case FZ_TYPE_BINARY:
        fz_buf_puts(p->out, "\"bytes\"");
        return FZ_OK;
    case FZ_TYPE_DATE:
        fz_buf_puts(p->out, "{\"type\":\"int\",\"logicalType\":\"date\"}");
        return FZ_OK;
    case FZ_TYPE_TIME:
        fz_buf_puts(p->out, "{\"type\":\"long\",\"logicalType\":\"time-micros\"}");
        return FZ_OK;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        print_timestamp(p, "micros", type->id == FZ_TYPE_TIMESTAMPTZ);
        return FZ_OK;
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        print_timestamp(p, "nanos", type->id == FZ_TYPE_TIMESTAMPTZ_NS);
        return FZ_OK;
    case FZ_TYPE_UUID:
        print_fixed(p, "uuid_fixed", 16, ",\"logicalType\":\"uuid\"");
        return FZ_OK;
    case FZ_TYPE_FIXED:
        (void)snprintf(name, sizeof name, "fixed_%d", type->length);
        print_fixed(p, name, (size_t)type->length, "");
        return FZ_OK;
    case FZ_TYPE_DECIMAL:
        (void)snprintf(name, sizeof name, "decimal_%d_%d", type->precision, type->scale);
        (void)snprintf(attributes, sizeof attributes, ",\"logicalType\":\"decimal\",\"precision\":%d,\"scale\":%d",
                       type->precision, type->scale);
        print_fixed(p, name, decimal_bytes(type->precision), attributes);
        return FZ_OK;
    case FZ_TYPE_UNKNOWN:
        fz_buf_puts(p->out, "\"null\"");
        return FZ_OK;
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
    return fz_fail(p->err, FZ_UNSUPPORTED, "a partition field cannot have this type in a manifest");
}

// Avro names are [A-Za-z_][A-Za-z0-9_]*; Java escapes what is not.
static bool print_avro_name(struct fz_buf *out, const char *name) {
    bool changed = name[0] == 0;
    for (size_t i = 0; name[i] != 0; i++) {
        unsigned char c = (unsigned char)name[i];
        bool letter = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_', digit = c >= '0' && c <= '9';
        if (letter || (digit && i > 0)) {
            fz_buf_putc(out, (char)c);
        } else if (digit) {
            fz_buf_printf(out, "_%c", c);
            changed = true;
        } else {
            fz_buf_printf(out, "_x%X", c);
            changed = true;
        }
    }
    return changed;
}

static enum fz_code print_record(struct avro_printer *p, const struct fz_type *type, const char *name, int depth) {
    enum fz_code rc = FZ_OK;
    fz_buf_printf(p->out, "{\"type\":\"record\",\"name\":\"%s\",\"fields\":[", name);
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct fz_field *f = &type->fields[i];
        char below[32];
        (void)snprintf(below, sizeof below, "r%d", f->id);
        fz_buf_puts(p->out, i > 0 ? ",{\"name\":\"" : "{\"name\":\"");
        bool changed = print_avro_name(p->out, f->name);
        fz_buf_puts(p->out, f->required ? "\",\"type\":" : "\",\"type\":[\"null\",");
        bool bare_null = f->type->id == FZ_TYPE_UNKNOWN && !f->required; // a union may not hold null twice
        if (bare_null) {
            p->out->len -= strlen("[\"null\",");
        }
        FZ_TRY(print_type(p, f->type, below, depth + 1));
        fz_buf_puts(p->out, f->required || bare_null ? "" : "]");
        if (f->doc != NULL) {
            fz_buf_puts(p->out, ",\"doc\":");
            fz_json_quote(p->out, fz_str_of(f->doc));
        }
        fz_buf_puts(p->out, f->required ? "" : ",\"default\":null");
        if (changed) {
            fz_buf_puts(p->out, ",\"iceberg-field-name\":");
            fz_json_quote(p->out, fz_str_of(f->name));
        }
        fz_buf_printf(p->out, ",\"field-id\":%d}", f->id);
    }
    fz_buf_puts(p->out, "]}");
out:
    return rc;
}

static enum fz_code print_type(struct avro_printer *p, const struct fz_type *type, const char *record_name, int depth) {
    enum fz_code rc = FZ_OK;
    char below[32];
    if (depth > 16) {
        return fz_fail(p->err, FZ_BUG, "manifest schema is nested too deep");
    }
    if (type->id == FZ_TYPE_STRUCT) {
        rc = print_record(p, type, record_name, depth);
    } else if (type->id == FZ_TYPE_LIST) {
        (void)snprintf(below, sizeof below, "r%d", type->fields[0].id);
        fz_buf_puts(p->out, "{\"type\":\"array\",\"items\":");
        rc = print_type(p, type->fields[0].type, below, depth + 1);
        fz_buf_printf(p->out, ",\"element-id\":%d}", type->fields[0].id);
    } else if (type->id == FZ_TYPE_MAP) {
        (void)snprintf(below, sizeof below, "k%d_v%d", type->fields[0].id, type->fields[1].id);
        struct fz_field pair[2] = {type->fields[0], type->fields[1]};
        pair[0].name = "key";
        pair[1].name = "value";
        const struct fz_type item = {.id = FZ_TYPE_STRUCT, .n_fields = 2, .fields = pair};
        pair[0].required = true;
        fz_buf_puts(p->out, "{\"type\":\"array\",\"items\":");
        rc = print_record(p, &item, below, depth + 1);
        fz_buf_puts(p->out, ",\"logicalType\":\"map\"}");
    } else {
        rc = print_primitive(p, type);
    }
    return rc;
}

enum fz_code fz_type_to_avro(struct fz_buf *out, const struct fz_type *type, const char *record_name,
                             struct fz_err *err) {
    struct avro_printer p = {.out = out, .err = err};
    enum fz_code rc = print_type(&p, type, record_name, 0);
    out->failed = out->failed || p.defined.failed;
    fz_buf_dispose(&p.defined);
    return rc == FZ_OK ? fz_buf_check(out, err) : rc;
}

enum fz_code fz_manifest_codec(const struct fz_metadata *m, enum fz_avro_codec *codec, int *level, struct fz_err *err) {
    static const struct {
        const char *name;
        enum fz_avro_codec codec;
    } codecs[] = {
        {"gzip", FZ_AVRO_DEFLATE}, {"zstd", FZ_AVRO_ZSTD}, {"snappy", FZ_AVRO_SNAPPY}, {"uncompressed", FZ_AVRO_NULL}};
    const char *name = fz_metadata_property(m, "write.manifest.compression-codec", "gzip");
    *level = (int)fz_metadata_property_i64(m, "write.manifest.compression-level", -1);
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        if (fz_strcasecmp(name, codecs[i].name) == 0) {
            *codec = codecs[i].codec;
            return FZ_OK;
        }
    }
    return fz_fail(err, FZ_INVALID_ARG,
                   "write.manifest.compression-codec \"%.50s\" is none of gzip, zstd, snappy, uncompressed", name);
}

enum fz_code fz_manifest_writer_open(const struct fz_metadata *m, const struct fz_type *type, const char *record_name,
                                     struct fz_avro_writer **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf text = {0};
    struct fz_avro_writer *writer = NULL;
    enum fz_avro_codec codec;
    int level;
    FZ_TRY(fz_manifest_codec(m, &codec, &level, err));
    FZ_TRY(fz_type_to_avro(&text, type, record_name, err));
    FZ_TRY(fz_avro_writer_open(text.ptr, codec, level, &writer, err));
    fz_buf_clear(&text);
    const struct fz_schema schema = {.type = type};
    fz_schema_to_json(&text, &schema, err);
    FZ_TRY(fz_buf_check(&text, err));
    FZ_TRY(fz_avro_writer_metadata(writer, "iceberg.schema", (struct fz_str){text.ptr, text.len}, err));
    *out = writer;
    writer = NULL;
out:
    fz_avro_writer_abort(writer);
    fz_buf_dispose(&text);
    return rc;
}
