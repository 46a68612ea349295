// Reading manifests of any writer and version: by field id, with what entries inherit from the manifest list filled in
// (spec "Manifests", "Sequence Number Inheritance", "First Row ID Inheritance").
#include "base/text.h"
#include "table/json_priv.h"
#include "table/manifest_priv.h"

enum { MAX_ENTRIES = 50 * 1000 * 1000 };

static const struct fz_name_id entry_names[] = {
    {"status", 0}, {"snapshot_id", 1}, {"sequence_number", 3}, {"file_sequence_number", 4}, {"data_file", 2}};
static const struct fz_name_id file_names[] = {
    {"content", 134},           {"file_path", 100},
    {"file_format", 101},       {"partition", 102},
    {"record_count", 103},      {"file_size_in_bytes", 104},
    {"column_sizes", 108},      {"value_counts", 109},
    {"null_value_counts", 110}, {"nan_value_counts", 137},
    {"lower_bounds", 125},      {"upper_bounds", 128},
    {"key_metadata", 131},      {"split_offsets", 132},
    {"equality_ids", 135},      {"sort_order_id", 140},
    {"first_row_id", 142},      {"referenced_data_file", 143},
    {"content_offset", 144},    {"content_size_in_bytes", 145},
};

struct manifest_reader {
    struct fz_arena *arena;
    struct fz_avro_reader *avro;
    struct fz_avro_field *entry, *file, *partition;
    size_t n_entry, n_file, n_partition;
    int *partition_slot; // Avro partition field -> field of `tuple`, -1: none
    const struct fz_type *tuple; // partition type of the spec
    int32_t spec_id;
    struct fz_id_count *counts; // scratch
    size_t cap_counts;
    struct fz_id_bytes *bytes;
    size_t cap_bytes;
    int64_t *longs;
    size_t cap_longs;
    struct fz_err *err;
};

static enum fz_code copy_text(struct manifest_reader *r, struct fz_str *out) {
    struct fz_str raw;
    enum fz_code rc = fz_avro_get_bytes(r->avro, &raw, r->err);
    if (rc == FZ_OK) {
        *out = (struct fz_str){fz_arena_strndup(r->arena, raw.ptr, raw.len), raw.len};
        rc = out->ptr != NULL ? FZ_OK : fz_fail_nomem(r->err, raw.len);
    }
    return rc;
}

// A map is an array of key-value records; some writers use Avro maps with the id as text.
static enum fz_code read_key(struct manifest_reader *r, bool avro_map, int32_t *id) {
    int64_t v = 0;
    struct fz_str text;
    enum fz_code rc = avro_map ? fz_avro_get_bytes(r->avro, &text, r->err) : fz_avro_get_long(r->avro, &v, r->err);
    if (rc == FZ_OK && avro_map && !fz_parse_i64(text, &v)) {
        rc = fz_fail(r->err, FZ_CORRUPT, "manifest: a metrics map has a key that is no field id");
    }
    if (rc == FZ_OK && (v < INT32_MIN || v > INT32_MAX)) {
        rc = fz_fail(r->err, FZ_CORRUPT, "manifest: a metrics map has a key out of range");
    }
    *id = (int32_t)v;
    return rc;
}

static bool key_value_shape(const struct fz_avro_field *f, bool bytes, bool *value_first) {
    const json_t *item = json_object_get(f->schema, f->kind == FZ_AVRO_MAP ? "values" : "items");
    const char *want_bytes = "bytes";
    if (f->kind == FZ_AVRO_MAP) {
        const char *name = json_string_value(item);
        *value_first = false;
        return name != NULL &&
               (bytes ? strcmp(name, want_bytes) == 0 : strcmp(name, "long") == 0 || strcmp(name, "int") == 0);
    }
    const json_t *fields = json_object_get(item, "fields");
    if (json_array_size(fields) != 2) {
        return false;
    }
    const char *first = json_string_value(json_object_get(json_array_get(fields, 0), "name"));
    *value_first = first != NULL && strcmp(first, "value") == 0;
    const char *key = json_string_value(json_object_get(json_array_get(fields, *value_first ? 1 : 0), "type"));
    const char *value = json_string_value(json_object_get(json_array_get(fields, *value_first ? 0 : 1), "type"));
    return key != NULL && value != NULL && (strcmp(key, "int") == 0 || strcmp(key, "long") == 0) &&
           (bytes ? strcmp(value, want_bytes) == 0 : strcmp(value, "long") == 0 || strcmp(value, "int") == 0);
}

static enum fz_code bad_map(struct manifest_reader *r, const struct fz_avro_field *f) {
    return fz_fail(r->err, FZ_CORRUPT, "manifest field %s is no map of field ids", f->name);
}

static enum fz_code read_counts(struct manifest_reader *r, const struct fz_avro_field *f,
                                const struct fz_id_count **out, size_t *n_out) {
    enum fz_code rc = FZ_OK;
    size_t n = 0;
    int64_t items;
    bool value_first = false, sorted = true;
    if (!key_value_shape(f, false, &value_first)) {
        return bad_map(r, f);
    }
    for (;;) {
        FZ_TRY(fz_avro_get_block(r->avro, &items, r->err));
        if (items == 0) {
            break;
        }
        FZ_TRY(fz_grow((void **)&r->counts, &r->cap_counts, n + (size_t)items, sizeof *r->counts, r->err));
        for (int64_t i = 0; i < items; i++, n++) {
            if (value_first) {
                FZ_TRY(fz_avro_get_long(r->avro, &r->counts[n].count, r->err));
            }
            FZ_TRY(read_key(r, f->kind == FZ_AVRO_MAP, &r->counts[n].id));
            if (!value_first) {
                FZ_TRY(fz_avro_get_long(r->avro, &r->counts[n].count, r->err));
            }
            sorted = sorted && (n == 0 || r->counts[n - 1].id < r->counts[n].id);
        }
    }
    for (size_t i = 1; !sorted && i < n; i++) { // nearly always sorted already
        struct fz_id_count item = r->counts[i];
        size_t j = i;
        for (; j > 0 && r->counts[j - 1].id > item.id; j--) {
            r->counts[j] = r->counts[j - 1];
        }
        r->counts[j] = item;
    }
    *out = fz_arena_memdup(r->arena, n > 0 ? (void *)r->counts : "", n * sizeof *r->counts);
    *n_out = n;
    rc = *out != NULL ? FZ_OK : fz_fail_nomem(r->err, n);
out:
    return rc;
}

static enum fz_code read_bounds(struct manifest_reader *r, const struct fz_avro_field *f,
                                const struct fz_id_bytes **out, size_t *n_out) {
    enum fz_code rc = FZ_OK;
    size_t n = 0;
    int64_t items;
    bool value_first = false, sorted = true;
    if (!key_value_shape(f, true, &value_first)) {
        return bad_map(r, f);
    }
    for (;;) {
        FZ_TRY(fz_avro_get_block(r->avro, &items, r->err));
        if (items == 0) {
            break;
        }
        FZ_TRY(fz_grow((void **)&r->bytes, &r->cap_bytes, n + (size_t)items, sizeof *r->bytes, r->err));
        for (int64_t i = 0; i < items; i++, n++) {
            if (value_first) {
                FZ_TRY(copy_text(r, &r->bytes[n].bytes));
            }
            FZ_TRY(read_key(r, f->kind == FZ_AVRO_MAP, &r->bytes[n].id));
            if (!value_first) {
                FZ_TRY(copy_text(r, &r->bytes[n].bytes));
            }
            sorted = sorted && (n == 0 || r->bytes[n - 1].id < r->bytes[n].id);
        }
    }
    for (size_t i = 1; !sorted && i < n; i++) {
        struct fz_id_bytes item = r->bytes[i];
        size_t j = i;
        for (; j > 0 && r->bytes[j - 1].id > item.id; j--) {
            r->bytes[j] = r->bytes[j - 1];
        }
        r->bytes[j] = item;
    }
    *out = fz_arena_memdup(r->arena, n > 0 ? (void *)r->bytes : "", n * sizeof *r->bytes);
    *n_out = n;
    rc = *out != NULL ? FZ_OK : fz_fail_nomem(r->err, n);
out:
    return rc;
}

// Into r->longs.
static enum fz_code read_longs(struct manifest_reader *r, const struct fz_avro_field *f, size_t *n) {
    enum fz_code rc = FZ_OK;
    int64_t items;
    *n = 0;
    const char *item = json_string_value(json_object_get(f->schema, "items"));
    if (f->kind != FZ_AVRO_ARRAY || item == NULL || (strcmp(item, "long") != 0 && strcmp(item, "int") != 0)) {
        return fz_fail(r->err, FZ_CORRUPT, "manifest field %s is no list of numbers", f->name);
    }
    for (;;) {
        FZ_TRY(fz_avro_get_block(r->avro, &items, r->err));
        if (items == 0) {
            break;
        }
        FZ_TRY(fz_grow((void **)&r->longs, &r->cap_longs, *n + (size_t)items, sizeof *r->longs, r->err));
        for (int64_t i = 0; i < items; i++) {
            FZ_TRY(fz_avro_get_long(r->avro, &r->longs[(*n)++], r->err));
        }
    }
out:
    return rc;
}

static enum fz_code read_number(struct manifest_reader *r, const struct fz_avro_field *f, int64_t *out) {
    enum fz_code rc = fz_avro_expect(f, FZ_AVRO_NUMBER, r->err);
    return rc == FZ_OK ? fz_avro_get_long(r->avro, out, r->err) : rc;
}

static enum fz_code fixed_value(struct manifest_reader *r, const struct fz_type *type, struct fz_str raw,
                                struct fz_value *out) {
    __int128 number;
    switch (type->id) {
    case FZ_TYPE_DECIMAL:
        if (!fz_decimal_from_bytes((const uint8_t *)raw.ptr, raw.len, &number)) {
            return fz_fail(r->err, FZ_CORRUPT, "manifest: a decimal partition value has more than 128 bits");
        }
        out->u.i128 = fz_i128_of(number);
        return FZ_OK;
    case FZ_TYPE_UUID: {
        unsigned __int128 bits = 0;
        if (raw.len != 16) {
            return fz_fail(r->err, FZ_CORRUPT, "manifest: a uuid partition value does not have 16 bytes");
        }
        for (size_t i = 0; i < 16; i++) {
            bits = bits << 8 | (uint8_t)raw.ptr[i];
        }
        out->u.i128 = fz_i128_of((__int128)bits);
        return FZ_OK;
    }
    default:
        if (type->id != FZ_TYPE_STRING && type->id != FZ_TYPE_BINARY && type->id != FZ_TYPE_FIXED) {
            return fz_fail(r->err, FZ_CORRUPT, "manifest: a partition value does not have the type of its field");
        }
        if (type->id == FZ_TYPE_STRING && !fz_utf8_valid(raw.ptr, raw.len)) {
            return fz_fail(r->err, FZ_CORRUPT, "manifest: a partition value is not valid UTF-8");
        }
        if (type->id == FZ_TYPE_FIXED && raw.len != (size_t)type->length) {
            return fz_fail(r->err, FZ_CORRUPT, "manifest: a fixed partition value has %zu bytes, not %d", raw.len,
                           type->length);
        }
        out->u.bytes = (struct fz_str){fz_arena_strndup(r->arena, raw.ptr, raw.len), raw.len};
        return out->u.bytes.ptr != NULL ? FZ_OK : fz_fail_nomem(r->err, raw.len);
    }
}

static bool is_number_type(enum fz_type_id id) {
    return id == FZ_TYPE_INT || id == FZ_TYPE_LONG || id == FZ_TYPE_DATE || id == FZ_TYPE_TIME ||
           id == FZ_TYPE_TIMESTAMP || id == FZ_TYPE_TIMESTAMPTZ || id == FZ_TYPE_TIMESTAMP_NS ||
           id == FZ_TYPE_TIMESTAMPTZ_NS;
}

static enum fz_code read_partition_value(struct manifest_reader *r, const struct fz_avro_field *f,
                                         const struct fz_type *type, struct fz_value *out) {
    enum fz_code rc = FZ_OK;
    bool present;
    struct fz_str raw;
    float f32 = 0;
    FZ_TRY(fz_avro_present(r->avro, f, &present, r->err));
    *out = fz_value_null(type);
    if (!present) {
        return FZ_OK;
    }
    out->is_null = false;
    switch ((enum fz_avro_shape)f->kind) {
    case FZ_AVRO_NUMBER:
        FZ_TRY(fz_avro_get_long(r->avro, &out->u.i64, r->err));
        if (is_number_type(type->id)) {
            return FZ_OK;
        }
        break;
    case FZ_AVRO_FLAG:
        FZ_TRY(fz_avro_get_boolean(r->avro, &out->u.boolean, r->err));
        if (type->id == FZ_TYPE_BOOLEAN) {
            return FZ_OK;
        }
        break;
    case FZ_AVRO_FLOAT:
        FZ_TRY(fz_avro_get_float(r->avro, &f32, r->err));
        if (type->id == FZ_TYPE_FLOAT) {
            out->u.f32 = f32;
            return FZ_OK;
        }
        if (type->id == FZ_TYPE_DOUBLE) { // written before the column was promoted
            out->u.f64 = (double)f32;
            return FZ_OK;
        }
        break;
    case FZ_AVRO_DOUBLE:
        FZ_TRY(fz_avro_get_double(r->avro, &out->u.f64, r->err));
        if (type->id == FZ_TYPE_DOUBLE) {
            return FZ_OK;
        }
        break;
    case FZ_AVRO_TEXT:
        FZ_TRY(fz_avro_get_bytes(r->avro, &raw, r->err));
        return fixed_value(r, type, raw, out);
    case FZ_AVRO_FIXED:
        FZ_TRY(
            fz_avro_get_fixed(r->avro, (size_t)json_integer_value(json_object_get(f->schema, "size")), &raw, r->err));
        return fixed_value(r, type, raw, out);
    case FZ_AVRO_ARRAY:
    case FZ_AVRO_MAP:
    case FZ_AVRO_RECORD:
    case FZ_AVRO_OTHER:
        break;
    }
    rc = fz_fail(r->err, FZ_CORRUPT, "manifest: the value of partition field %s does not have the type of its field",
                 f->name);
out:
    return rc;
}

static enum fz_code read_partition(struct manifest_reader *r, struct fz_data_file *file) {
    enum fz_code rc = FZ_OK;
    struct fz_value *items = fz_arena_array(r->arena, r->tuple->n_fields + 1, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(r->err, r->tuple->n_fields);
    }
    for (size_t i = 0; i < r->tuple->n_fields; i++) {
        items[i] = fz_value_null(r->tuple->fields[i].type);
    }
    for (size_t i = 0; i < r->n_partition; i++) {
        if (r->partition_slot[i] < 0) {
            FZ_TRY(fz_avro_skip(r->avro, r->partition[i].whole, r->err));
        } else {
            size_t at = (size_t)r->partition_slot[i];
            FZ_TRY(read_partition_value(r, &r->partition[i], r->tuple->fields[at].type, &items[at]));
        }
    }
    file->partition = (struct fz_value){.type = r->tuple, .u.nested = {items, r->tuple->n_fields}};
out:
    return rc;
}

static const char *format_name(struct manifest_reader *r, struct fz_str text) {
    static const char *const known[] = {"PARQUET", "AVRO", "ORC", "PUFFIN"};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        if (fz_str_ieq(text, fz_str_of(known[i]))) {
            return known[i];
        }
    }
    char *copy = fz_arena_strndup(r->arena, text.ptr, text.len);
    for (size_t i = 0; copy != NULL && i < text.len; i++) {
        copy[i] = (char)(copy[i] >= 'a' && copy[i] <= 'z' ? copy[i] - 32 : copy[i]);
    }
    return copy;
}

static enum fz_code read_small_int(struct manifest_reader *r, const struct fz_avro_field *f, int32_t *out) {
    int64_t v = 0;
    enum fz_code rc = read_number(r, f, &v);
    if (rc == FZ_OK && (v < INT32_MIN || v > INT32_MAX)) {
        rc = fz_fail(r->err, FZ_CORRUPT, "manifest: %s is out of range", f->name);
    }
    *out = (int32_t)v;
    return rc;
}

static enum fz_code read_equality_ids(struct manifest_reader *r, const struct fz_avro_field *f,
                                      struct fz_data_file *file) {
    size_t n = 0;
    enum fz_code rc = read_longs(r, f, &n);
    int32_t *ids = rc == FZ_OK ? fz_arena_array(r->arena, n + 1, sizeof *ids) : NULL;
    if (ids == NULL) {
        return rc != FZ_OK ? rc : fz_fail_nomem(r->err, n);
    }
    for (size_t i = 0; i < n; i++) {
        ids[i] = (int32_t)r->longs[i];
    }
    file->equality_ids = ids;
    file->n_equality_ids = n;
    return FZ_OK;
}

static enum fz_code read_split_offsets(struct manifest_reader *r, const struct fz_avro_field *f,
                                       struct fz_data_file *file) {
    size_t n = 0;
    enum fz_code rc = read_longs(r, f, &n);
    if (rc == FZ_OK) {
        file->split_offsets = fz_arena_memdup(r->arena, n > 0 ? (void *)r->longs : "", n * sizeof *r->longs);
        file->n_split_offsets = n;
        rc = file->split_offsets != NULL ? FZ_OK : fz_fail_nomem(r->err, n);
    }
    return rc;
}

static enum fz_code read_text(struct manifest_reader *r, const struct fz_avro_field *f, struct fz_str *out) {
    enum fz_code rc = fz_avro_expect(f, FZ_AVRO_TEXT, r->err);
    return rc == FZ_OK ? copy_text(r, out) : rc;
}

static enum fz_code read_file_field(struct manifest_reader *r, const struct fz_avro_field *f,
                                    struct fz_data_file *file) {
    enum fz_code rc = FZ_OK;
    int32_t small = 0;
    struct fz_str text = {0};
    switch (f->id) {
    case 134:
        FZ_TRY(read_small_int(r, f, &small));
        if (small < 0 || small > 2) {
            return fz_fail(r->err, FZ_CORRUPT, "manifest: unknown content %d", small);
        }
        file->content = (enum fz_content)small;
        break;
    case 100:
        FZ_TRY(read_text(r, f, &text));
        file->file_path = text.ptr;
        break;
    case 101:
        FZ_TRY(read_text(r, f, &text));
        file->file_format = format_name(r, text);
        rc = file->file_format != NULL ? FZ_OK : fz_fail_nomem(r->err, 0);
        break;
    case 102:
        FZ_TRY(fz_avro_expect(f, FZ_AVRO_RECORD, r->err));
        rc = read_partition(r, file);
        break;
    case 103:
        rc = read_number(r, f, &file->record_count);
        break;
    case 104:
        rc = read_number(r, f, &file->file_size_in_bytes);
        break;
    case 108:
        rc = read_counts(r, f, &file->column_sizes, &file->n_column_sizes);
        break;
    case 109:
        rc = read_counts(r, f, &file->value_counts, &file->n_value_counts);
        break;
    case 110:
        rc = read_counts(r, f, &file->null_value_counts, &file->n_null_value_counts);
        break;
    case 137:
        rc = read_counts(r, f, &file->nan_value_counts, &file->n_nan_value_counts);
        break;
    case 125:
        rc = read_bounds(r, f, &file->lower_bounds, &file->n_lower_bounds);
        break;
    case 128:
        rc = read_bounds(r, f, &file->upper_bounds, &file->n_upper_bounds);
        break;
    case 131:
        rc = read_text(r, f, &file->key_metadata);
        break;
    case 132:
        rc = read_split_offsets(r, f, file);
        break;
    case 135:
        rc = read_equality_ids(r, f, file);
        break;
    case 140:
        rc = read_small_int(r, f, &file->sort_order_id);
        break;
    case 142:
        rc = read_number(r, f, &file->first_row_id);
        break;
    case 143:
        FZ_TRY(read_text(r, f, &text));
        file->referenced_data_file = text.ptr;
        break;
    case 144:
        rc = read_number(r, f, &file->content_offset);
        break;
    case 145:
        rc = read_number(r, f, &file->content_size_in_bytes);
        break;
    default:
        rc = fz_fail(r->err, FZ_BUG, "unplanned manifest field %d", f->id);
    }
out:
    return rc;
}

static bool is_file_field(int32_t id) {
    for (size_t i = 0; i < sizeof file_names / sizeof file_names[0]; i++) {
        if (file_names[i].id == id) {
            return true;
        }
    }
    return false;
}

static enum fz_code read_file(struct manifest_reader *r, struct fz_data_file *file) {
    enum fz_code rc = FZ_OK;
    *file = (struct fz_data_file){
        .spec_id = r->spec_id, .record_count = -1, .file_size_in_bytes = -1, .sort_order_id = -1, .first_row_id = -1};
    file->content_offset = file->content_size_in_bytes = -1;
    file->partition = (struct fz_value){.type = r->tuple, .u.nested = {(const struct fz_value *)"", 0}};
    for (size_t i = 0; i < r->n_file; i++) {
        const struct fz_avro_field *f = &r->file[i];
        bool present;
        if (!is_file_field(f->id)) {
            FZ_TRY(fz_avro_skip(r->avro, f->whole, r->err));
            continue;
        }
        FZ_TRY(fz_avro_present(r->avro, f, &present, r->err));
        if (present) {
            FZ_TRY(read_file_field(r, f, file));
        }
    }
    if (file->file_path == NULL || file->file_path[0] == 0 || file->file_format == NULL || file->record_count < 0) {
        rc = fz_fail(r->err, FZ_CORRUPT, "manifest entry has no file path, no format or a negative record count");
    } else if (file->content == FZ_CONTENT_EQUALITY_DELETES && file->n_equality_ids == 0) {
        rc = fz_fail(r->err, FZ_CORRUPT, "equality delete file %s has no equality_ids", file->file_path);
    }
out:
    return rc;
}

static enum fz_code read_entry(struct manifest_reader *r, struct fz_manifest_entry *e) {
    enum fz_code rc = FZ_OK;
    int64_t status = -1;
    *e = (struct fz_manifest_entry){.snapshot_id = -1, .sequence_number = -1, .file_sequence_number = -1};
    for (size_t i = 0; i < r->n_entry; i++) {
        const struct fz_avro_field *f = &r->entry[i];
        bool present;
        if (f->id < 0 || f->id > 4) {
            FZ_TRY(fz_avro_skip(r->avro, f->whole, r->err));
            continue;
        }
        FZ_TRY(fz_avro_present(r->avro, f, &present, r->err));
        if (!present) {
            continue;
        }
        if (f->id == 2) {
            FZ_TRY(fz_avro_expect(f, FZ_AVRO_RECORD, r->err));
            FZ_TRY(read_file(r, &e->file));
        } else {
            FZ_TRY(read_number(r, f,
                               f->id == 0   ? &status
                               : f->id == 1 ? &e->snapshot_id
                               : f->id == 3 ? &e->sequence_number
                                            : &e->file_sequence_number));
        }
    }
    if (status < 0 || status > 2 || e->file.file_path == NULL) {
        rc = fz_fail(r->err, FZ_CORRUPT, "manifest entry has no file or an unknown status");
    }
    e->status = (enum fz_entry_status)status;
out:
    return rc;
}

static enum fz_code inherit(const struct fz_manifest_file *list, bool has_sequence, struct fz_manifest_entry *e,
                            int64_t *next_row_id, struct fz_err *err) {
    if (list == NULL) {
        return FZ_OK;
    }
    e->snapshot_id = e->snapshot_id < 0 ? list->added_snapshot_id : e->snapshot_id;
    bool may_inherit = list->sequence_number == 0 || e->status == FZ_ENTRY_ADDED;
    if (e->sequence_number < 0 && !may_inherit && has_sequence) {
        return fz_fail(err, FZ_CORRUPT, "manifest entry of %s is not new and has no sequence number",
                       e->file.file_path);
    }
    int64_t number = may_inherit ? list->sequence_number : 0; // carried over from v1: older than every delete
    e->sequence_number = e->sequence_number < 0 ? number : e->sequence_number;
    e->file_sequence_number = e->file_sequence_number >= 0 ? e->file_sequence_number
                              : may_inherit                ? number
                                                           : e->sequence_number;
    if (list->first_row_id < 0 || list->content != 0) {
        e->file.first_row_id = -1;
    } else if (e->status != FZ_ENTRY_DELETED && e->file.first_row_id < 0) {
        e->file.first_row_id = *next_row_id;
        *next_row_id += e->file.record_count;
    }
    return FZ_OK;
}

static const struct fz_type *type_of_avro(struct fz_arena *arena, const struct fz_avro_field *f) {
    const char *logical = json_string_value(json_object_get(f->schema, "logicalType"));
    logical = logical != NULL ? logical : "";
    bool zoned = json_is_true(json_object_get(f->schema, "adjust-to-utc"));
    const json_t *type = json_is_string(f->schema) ? f->schema : json_object_get(f->schema, "type");
    const char *name = json_string_value(type);
    bool is_long = name != NULL && strcmp(name, "long") == 0;
    switch ((enum fz_avro_shape)f->kind) {
    case FZ_AVRO_NUMBER:
        return fz_type_primitive(
            strcmp(logical, "date") == 0               ? FZ_TYPE_DATE
            : strcmp(logical, "time-micros") == 0      ? FZ_TYPE_TIME
            : strcmp(logical, "timestamp-micros") == 0 ? zoned ? FZ_TYPE_TIMESTAMPTZ : FZ_TYPE_TIMESTAMP
            : strcmp(logical, "timestamp-nanos") == 0  ? zoned ? FZ_TYPE_TIMESTAMPTZ_NS : FZ_TYPE_TIMESTAMP_NS
            : is_long                                  ? FZ_TYPE_LONG
                                                       : FZ_TYPE_INT);
    case FZ_AVRO_FLAG:
        return fz_type_primitive(FZ_TYPE_BOOLEAN);
    case FZ_AVRO_FLOAT:
        return fz_type_primitive(FZ_TYPE_FLOAT);
    case FZ_AVRO_DOUBLE:
        return fz_type_primitive(FZ_TYPE_DOUBLE);
    case FZ_AVRO_TEXT:
    case FZ_AVRO_FIXED:
        if (strcmp(logical, "decimal") == 0) {
            int64_t precision = json_integer_value(json_object_get(f->schema, "precision"));
            int64_t scale = json_integer_value(json_object_get(f->schema, "scale"));
            return precision >= 1 && precision <= 38 && scale >= 0 && scale <= precision
                       ? fz_type_decimal(arena, (int)precision, (int)scale)
                       : NULL;
        }
        if (f->kind == FZ_AVRO_FIXED) {
            return strcmp(logical, "uuid") == 0
                       ? fz_type_primitive(FZ_TYPE_UUID)
                       : fz_type_fixed(arena, (int)json_integer_value(json_object_get(f->schema, "size")));
        }
        return fz_type_primitive(name != NULL && strcmp(name, "bytes") == 0 ? FZ_TYPE_BINARY : FZ_TYPE_STRING);
    case FZ_AVRO_ARRAY:
    case FZ_AVRO_MAP:
    case FZ_AVRO_RECORD:
    case FZ_AVRO_OTHER:
        break;
    }
    return NULL;
}

// The manifest's own schema and partition-spec keys; a tuple of what Avro says where they are missing or broken.
static enum fz_code own_tuple_type(struct manifest_reader *r, const struct fz_type **out) {
    enum fz_code rc = FZ_OK;
    struct fz_str schema_text, spec_text;
    json_t *schema_json = NULL, *spec_json = NULL;
    struct fz_err ignored = FZ_ERR_INIT;
    struct fz_schema schema;
    struct fz_partition_spec spec = {0};
    *out = NULL;
    if (fz_avro_reader_metadata(r->avro, "schema", &schema_text) &&
        fz_avro_reader_metadata(r->avro, "partition-spec", &spec_text)) {
        schema_json = json_loadb(schema_text.ptr, schema_text.len, 0, NULL);
        spec_json = json_loadb(spec_text.ptr, spec_text.len, 0, NULL);
        const json_t *fields =
            json_is_object(spec_json) ? json_object_get(spec_json, "fields") : spec_json; // some write the whole spec
        if (fz_schema_from_json(r->arena, schema_json, &schema, &ignored) == FZ_OK &&
            fz_spec_fields_from_json(r->arena, fields, &spec, &ignored) == FZ_OK) {
            rc = fz_spec_partition_type(r->arena, &schema, &spec, out, r->err);
        }
    }
    json_decref(schema_json);
    json_decref(spec_json);
    if (rc == FZ_OK && *out == NULL) {
        struct fz_field *fields = fz_arena_array(r->arena, r->n_partition + 1, sizeof *fields);
        if (fields == NULL) {
            return fz_fail_nomem(r->err, r->n_partition);
        }
        for (size_t i = 0; i < r->n_partition; i++) {
            fields[i] = (struct fz_field){
                .id = r->partition[i].id, .name = r->partition[i].name, .type = fz_type_primitive(FZ_TYPE_UNKNOWN)};
        }
        *out = fz_type_struct(r->arena, fields, r->n_partition);
        rc = *out != NULL ? FZ_OK : fz_fail_nomem(r->err, 0);
    }
    return rc;
}

// Joins the spec's fields with the Avro fields, by id, else by name; fills in types that only Avro knows.
static enum fz_code plan_partition(struct manifest_reader *r, const struct fz_metadata *metadata) {
    enum fz_code rc = FZ_OK;
    const struct fz_type *type;
    if (metadata != NULL) {
        FZ_TRY(fz_metadata_spec_type(r->arena, metadata, r->spec_id, &type, r->err));
    } else {
        FZ_TRY(own_tuple_type(r, &type));
    }
    struct fz_field *fields = fz_arena_array(r->arena, type->n_fields + 1, sizeof *fields);
    r->partition_slot = fz_arena_array(r->arena, r->n_partition + 1, sizeof *r->partition_slot);
    if (fields == NULL || r->partition_slot == NULL) {
        return fz_fail_nomem(r->err, 0);
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        fields[i] = type->fields[i];
    }
    for (size_t i = 0; i < r->n_partition; i++) {
        r->partition_slot[i] = -1;
        for (size_t j = 0; j < type->n_fields && r->partition[i].kind != FZ_AVRO_OTHER; j++) {
            bool same = r->partition[i].id >= 0 ? r->partition[i].id == fields[j].id
                                                : strcmp(r->partition[i].name, fields[j].name) == 0;
            if (same) {
                const struct fz_type *avro =
                    fields[j].type->id == FZ_TYPE_UNKNOWN ? type_of_avro(r->arena, &r->partition[i]) : NULL;
                fields[j].type = avro != NULL ? avro : fields[j].type;
                r->partition_slot[i] = fields[j].type->id == FZ_TYPE_UNKNOWN ? -1 : (int)j;
                break;
            }
        }
    }
    r->tuple = fz_type_struct(r->arena, fields, type->n_fields);
    rc = r->tuple != NULL ? FZ_OK : fz_fail_nomem(r->err, 0);
out:
    return rc;
}

static enum fz_code plan(struct manifest_reader *r, const struct fz_manifest_file *list,
                         const struct fz_metadata *metadata, bool *has_sequence) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(fz_avro_plan(r->arena, fz_avro_reader_schema(r->avro), entry_names,
                        sizeof entry_names / sizeof entry_names[0], &r->entry, &r->n_entry, r->err));
    const struct fz_avro_field *file = NULL, *partition = NULL;
    for (size_t i = 0; i < r->n_entry; i++) {
        file = r->entry[i].id == 2 ? &r->entry[i] : file;
        *has_sequence = *has_sequence || r->entry[i].id == 3;
    }
    if (file == NULL || file->kind != FZ_AVRO_RECORD) {
        return fz_fail(r->err, FZ_CORRUPT, "Avro file is no manifest: it has no data_file record");
    }
    FZ_TRY(fz_avro_plan(r->arena, file->schema, file_names, sizeof file_names / sizeof file_names[0], &r->file,
                        &r->n_file, r->err));
    for (size_t i = 0; i < r->n_file; i++) {
        partition = r->file[i].id == 102 ? &r->file[i] : partition;
    }
    if (partition != NULL && partition->kind == FZ_AVRO_RECORD) {
        FZ_TRY(fz_avro_plan(r->arena, partition->schema, NULL, 0, &r->partition, &r->n_partition, r->err));
    }
    struct fz_str text;
    int64_t spec_id = 0;
    if (list != NULL) {
        spec_id = list->partition_spec_id;
    } else if (fz_avro_reader_metadata(r->avro, "partition-spec-id", &text) && !fz_parse_i64(text, &spec_id)) {
        return fz_fail(r->err, FZ_CORRUPT, "manifest key partition-spec-id is no number");
    }
    r->spec_id = (int32_t)spec_id;
    rc = plan_partition(r, metadata);
out:
    return rc;
}

enum fz_code fz_manifest_decode(struct fz_arena *arena, const void *data, size_t len,
                                const struct fz_manifest_file *file, const struct fz_metadata *metadata,
                                struct fz_manifest_entry **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct manifest_reader r = {.arena = arena, .err = err};
    struct fz_manifest_entry *entries = NULL;
    size_t n_entries = 0, cap = 0;
    int64_t next_row_id = file != NULL ? file->first_row_id : -1;
    bool more, has_sequence = false;
    FZ_TRY(fz_avro_reader_open(data, len, &r.avro, err));
    FZ_TRY(plan(&r, file, metadata, &has_sequence));
    for (;;) {
        FZ_TRY(fz_avro_reader_next(r.avro, &more, err));
        if (!more) {
            break;
        }
        if (n_entries >= MAX_ENTRIES) {
            rc = fz_fail(err, FZ_LIMIT, "manifest has more than %d entries", MAX_ENTRIES);
            goto out;
        }
        FZ_TRY(fz_grow((void **)&entries, &cap, n_entries + 1, sizeof *entries, err));
        FZ_TRY(read_entry(&r, &entries[n_entries]));
        FZ_TRY(inherit(file, has_sequence, &entries[n_entries], &next_row_id, err));
        n_entries++;
    }
    *out = fz_arena_memdup(arena, n_entries > 0 ? (void *)entries : "", n_entries * sizeof *entries);
    *n = n_entries;
    rc = *out != NULL ? FZ_OK : fz_fail_nomem(err, n_entries * sizeof *entries);
out:
    if (rc != FZ_OK && file != NULL) {
        fz_err_context(err, "manifest %s", file->manifest_path);
    }
    fz_free(entries);
    fz_free(r.counts);
    fz_free(r.bytes);
    fz_free(r.longs);
    fz_avro_reader_close(r.avro);
    return rc;
}
