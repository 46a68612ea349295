// Implementation of change/file_options_priv.h.
#include "change/file_options_priv.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/text.h"

static const struct {
    const char *name;
    enum fz_pq_codec codec;
} CODECS[] = {
    {"zstd", FZ_PQ_ZSTD},         {"snappy", FZ_PQ_SNAPPY}, {"gzip", FZ_PQ_GZIP},
    {"brotli", FZ_PQ_BROTLI},     {"lz4", FZ_PQ_LZ4_RAW},   {"uncompressed", FZ_PQ_UNCOMPRESSED},
    {"none", FZ_PQ_UNCOMPRESSED},
};

// A property that delete files may override: write.delete.parquet.X, else write.parquet.X.
static const char *parquet_property(const struct fz_metadata *m, bool deletes, const char *key, const char *fallback) {
    char full[96];
    const char *value = NULL;
    if (deletes) {
        snprintf(full, sizeof full, "write.delete.parquet.%s", key);
        value = fz_metadata_property(m, full, NULL);
    }
    snprintf(full, sizeof full, "write.parquet.%s", key);
    return value != NULL ? value : fz_metadata_property(m, full, fallback);
}

static enum fz_code number(const struct fz_metadata *m, const char *key, int64_t fallback, int64_t *out,
                           struct fz_err *err) {
    const char *text = fz_metadata_property(m, key, NULL);
    *out = fallback;
    if (text != NULL && (!fz_parse_i64(fz_str_of(text), out) || *out <= 0)) {
        return fz_fail(err, FZ_INVALID_ARG, "table property %s is '%s'; it must be a positive number", key, text);
    }
    return FZ_OK;
}

static enum fz_code parquet_number(const struct fz_metadata *m, bool deletes, const char *key, int64_t fallback,
                                   int64_t *out, struct fz_err *err) {
    const char *text = parquet_property(m, deletes, key, NULL);
    *out = fallback;
    if (text != NULL && (!fz_parse_i64(fz_str_of(text), out) || *out <= 0)) {
        return fz_fail(err, FZ_INVALID_ARG, "table property write.parquet.%s is '%s'; it must be a positive number",
                       key, text);
    }
    return FZ_OK;
}

// frazil.parquet.encodings: delta (default), plain for readers that know no other encodings, all.
static enum fz_code encodings(const struct fz_metadata *m, enum fz_parquet_encodings *out, struct fz_err *err) {
    const char *text = fz_metadata_property(m, "frazil.parquet.encodings", "delta");
    if (fz_strcasecmp(text, "delta") == 0) {
        *out = FZ_ENCODINGS_DELTA;
    } else if (fz_strcasecmp(text, "plain") == 0) {
        *out = FZ_ENCODINGS_PLAIN;
    } else if (fz_strcasecmp(text, "all") == 0) {
        *out = FZ_ENCODINGS_ALL;
    } else {
        return fz_fail(
            err, FZ_INVALID_ARG,
            "table property frazil.parquet.encodings is '%s'; known are delta (the default), plain (dictionary "
            "and PLAIN only) and all (BYTE_STREAM_SPLIT too)",
            text);
    }
    return FZ_OK;
}

static enum fz_code common(const struct fz_metadata *m, bool deletes, struct fz_arena *arena,
                           struct fz_file_options *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *out = (struct fz_file_options){0};
    const char *format = fz_metadata_property(m, deletes ? "write.delete.format.default" : "write.format.default",
                                              fz_metadata_property(m, "write.format.default", "parquet"));
    if (fz_strcasecmp(format, "parquet") != 0) {
        return fz_fail(
            err, FZ_UNSUPPORTED,
            "the table wants new files in the format %s; frazil writes Parquet: ALTER TABLE … SET TBLPROPERTIES "
            "('write.format.default'='parquet')",
            format);
    }
    const char *data_path = fz_metadata_property(m, "write.data.path", NULL);
    out->data_path = data_path != NULL ? data_path : fz_arena_printf(arena, "%s/data", m->location);
    if (out->data_path == NULL) {
        return fz_fail_nomem(err, strlen(m->location));
    }
    out->object_storage = fz_metadata_property_bool(m, "write.object-storage.enabled", false);
    out->object_storage_partitioned = fz_metadata_property_bool(m, "write.object-storage.partitioned-paths", true);
    const char *codec = parquet_property(m, deletes, "compression-codec", "gzip");
    size_t c = 0;
    while (c < sizeof CODECS / sizeof *CODECS && fz_strcasecmp(codec, CODECS[c].name) != 0) {
        c++;
    }
    if (c == sizeof CODECS / sizeof *CODECS) {
        return fz_fail(
            err, FZ_INVALID_ARG,
            "table property write.parquet.compression-codec is '%s'; known are zstd, snappy, gzip, brotli, lz4, "
            "uncompressed",
            codec);
    }
    out->parquet.codec = CODECS[c].codec;
    int64_t level;
    const char *level_text = parquet_property(m, deletes, "compression-level", NULL);
    out->parquet.level = -1;
    if (level_text != NULL) {
        if (!fz_parse_i64(fz_str_of(level_text), &level) || level < INT16_MIN || level > INT16_MAX) {
            return fz_fail(err, FZ_INVALID_ARG,
                           "table property write.parquet.compression-level is '%s'; it must be a number", level_text);
        }
        out->parquet.level = (int)level;
    }
    FZ_TRY(encodings(m, &out->parquet.encodings, err));
    FZ_TRY(parquet_number(m, deletes, "row-group-size-bytes", 134217728, &out->parquet.row_group_size_bytes, err));
    FZ_TRY(parquet_number(m, deletes, "page-size-bytes", 1048576, &out->parquet.page_size_bytes, err));
    FZ_TRY(parquet_number(m, deletes, "page-row-limit", 20000, &out->parquet.page_rows, err));
    FZ_TRY(parquet_number(m, deletes, "dict-size-bytes", 2097152, &out->parquet.dict_size_bytes, err));
out:
    return rc;
}

static bool parse_metrics_mode(const char *text, enum fz_metrics_mode *mode, int *length) {
    int64_t n;
    size_t len = strlen(text);
    if (fz_strcasecmp(text, "none") == 0) {
        *mode = FZ_METRICS_NONE;
    } else if (fz_strcasecmp(text, "counts") == 0) {
        *mode = FZ_METRICS_COUNTS;
    } else if (fz_strcasecmp(text, "full") == 0) {
        *mode = FZ_METRICS_FULL;
    } else if (len > 10 && strncmp(text, "truncate(", 9) == 0 && text[len - 1] == ')' &&
               fz_parse_i64((struct fz_str){text + 9, len - 10}, &n) && n > 0 && n < 1 << 20) {
        *mode = FZ_METRICS_TRUNCATE;
        *length = (int)n;
    } else {
        return false;
    }
    return true;
}

// Leaves of the schema in the order in which Java counts them for max-inferred-column-defaults, with their dotted names.
struct leaves {
    struct fz_arena *arena;
    const struct fz_schema *schema;
    struct fz_parquet_column_options *items;
    size_t n, cap;
};
static enum fz_code collect_leaves(struct leaves *leaves, const struct fz_type *type, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < type->n_fields; i++) { // outer level first
        if (type->fields[i].type->n_fields == 0) {
            FZ_TRY(fz_grow((void **)&leaves->items, &leaves->cap, leaves->n + 1, sizeof *leaves->items, err));
            leaves->items[leaves->n++].field_id = type->fields[i].id;
        }
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        if (type->fields[i].type->n_fields > 0) {
            FZ_TRY(collect_leaves(leaves, type->fields[i].type, err));
        }
    }
out:
    return rc;
}

static const char *column_property(const struct fz_metadata *m, struct fz_arena *arena, const char *key,
                                   const char *column) {
    const char *full = fz_arena_printf(arena, "write.parquet.bloom-filter-%s.column.%s", key, column);
    return full != NULL ? fz_metadata_property(m, full, NULL) : NULL;
}

// write.parquet.bloom-filter-*: on by column; false-positive rate and expected distinct values by column; size for all.
static enum fz_code bloom_options(const struct fz_metadata *m, const char *column, struct fz_arena *arena,
                                  struct fz_parquet_bloom_options *out, struct fz_err *err) {
    int64_t max_bytes = 1 << 20;
    *out = (struct fz_parquet_bloom_options){0};
    const char *enabled = column_property(m, arena, "enabled", column);
    if (enabled == NULL || fz_strcasecmp(enabled, "true") != 0) {
        return FZ_OK;
    }
    out->enabled = true;
    out->adaptive = fz_metadata_property_bool(m, "write.parquet.bloom-filter-adaptive-enabled", false);
    const char *fpp = column_property(m, arena, "fpp", column), *ndv = column_property(m, arena, "ndv", column);
    char *end = NULL;
    out->fpp = fpp != NULL ? strtod(fpp, &end) : 0.01;
    if (fpp != NULL && (end == fpp || *end != 0 || !(out->fpp > 0 && out->fpp < 1))) {
        return fz_fail(
            err, FZ_INVALID_ARG,
            "table property write.parquet.bloom-filter-fpp.column.%s is '%s'; it must be a number between 0 and 1",
            column, fpp);
    }
    if (ndv != NULL && (!fz_parse_i64(fz_str_of(ndv), &out->ndv) || out->ndv <= 0)) {
        return fz_fail(err, FZ_INVALID_ARG,
                       "table property write.parquet.bloom-filter-ndv.column.%s is '%s'; it must be a positive number",
                       column, ndv);
    }
    enum fz_code rc = parquet_number(m, false, "bloom-filter-max-bytes", max_bytes, &max_bytes, err);
    out->max_bytes = max_bytes > 32 ? (size_t)max_bytes : 32;
    return rc;
}

enum fz_code fz_file_options_for_data(const struct fz_metadata *m, const struct fz_schema *schema,
                                      struct fz_arena *arena, struct fz_file_options *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct leaves leaves = {.arena = arena, .schema = schema};
    FZ_TRY(common(m, false, arena, out, err));
    FZ_TRY(number(m, "write.target-file-size-bytes", 536870912, &out->target_file_size_bytes, err));
    const char *distribution = fz_metadata_property(m, "write.distribution-mode", "none");
    if (fz_strcasecmp(distribution, "none") != 0 && fz_strcasecmp(distribution, "hash") != 0 &&
        fz_strcasecmp(distribution, "range") != 0) {
        rc = fz_fail(err, FZ_INVALID_ARG,
                     "table property write.distribution-mode is '%s'; it must be none, hash or range", distribution);
        goto out;
    }
    enum fz_metrics_mode fallback = FZ_METRICS_TRUNCATE;
    int fallback_length = 16;
    const char *text = fz_metadata_property(m, "write.metadata.metrics.default", "truncate(16)");
    parse_metrics_mode(text, &fallback, &fallback_length); // Java logs and keeps its default for text it does not know
    int64_t max_inferred = fz_metadata_property_i64(m, "write.metadata.metrics.max-inferred-column-defaults", 100);
    bool explicit_default = fz_metadata_property(m, "write.metadata.metrics.default", NULL) != NULL;
    FZ_TRY(collect_leaves(&leaves, schema->type, err));
    const struct fz_sort_order *order = fz_metadata_sort_order(m, m->default_sort_order_id);
    for (size_t i = 0; i < leaves.n; i++) {
        struct fz_parquet_column_options *o = &leaves.items[i];
        bool inferred_none = !explicit_default && (int64_t)leaves.n > max_inferred && (int64_t)i >= max_inferred;
        o->metrics = inferred_none ? FZ_METRICS_NONE : fallback;
        o->metrics_length = fallback_length;
        for (size_t s = 0; order != NULL && s < order->n_fields; s++) {
            if (order->fields[s].source_id == o->field_id && o->metrics < FZ_METRICS_TRUNCATE) {
                o->metrics = FZ_METRICS_TRUNCATE;
                o->metrics_length = 16;
            }
        }
        const char *name = fz_schema_name_of(schema, o->field_id, arena);
        FZ_TRY(bloom_options(m, name ? name : "", arena, &o->bloom, err));
        char *key = fz_arena_printf(arena, "write.metadata.metrics.column.%s", name ? name : "");
        if (key == NULL) {
            rc = fz_fail_nomem(err, 64);
            goto out;
        }
        text = fz_metadata_property(m, key, NULL);
        if (text != NULL) {
            parse_metrics_mode(text, &o->metrics, &o->metrics_length);
        }
    }
    out->parquet.default_metrics = fallback;
    out->parquet.default_metrics_length = fallback_length;
    out->parquet.n_columns = leaves.n;
    out->parquet.columns = fz_arena_memdup(arena, leaves.items, leaves.n * sizeof *leaves.items);
    if (out->parquet.columns == NULL) {
        rc = fz_fail_nomem(err, leaves.n * sizeof *leaves.items);
    }
out:
    fz_free(leaves.items);
    return rc;
}

enum fz_code fz_file_options_for_deletes(const struct fz_metadata *m, struct fz_arena *arena,
                                         struct fz_file_options *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(common(m, true, arena, out, err));
    FZ_TRY(number(m, "write.delete.target-file-size-bytes", 67108864, &out->target_file_size_bytes, err));
    out->parquet.default_metrics = FZ_METRICS_FULL;
out:
    return rc;
}

enum fz_code fz_file_location(const struct fz_file_options *options, const char *partition_path, const char *file_name,
                              char **out, struct fz_err *err) {
    struct fz_buf b = {0};
    const char *slash = partition_path[0] != 0 ? "/" : "";
    fz_buf_puts(&b, options->data_path);
    if (!options->object_storage) {
        fz_buf_printf(&b, "/%s%s%s", partition_path, slash, file_name);
    } else { // 20 bits of hash as 4/4/4/8 folders of binary digits
        struct fz_buf hashed = {0};
        fz_buf_printf(&hashed, "%s%s%s", partition_path, slash, file_name);
        uint32_t hash = fz_murmur3_32(hashed.ptr, hashed.len, 0) & 0xFFFFF;
        char digits[21];
        for (int i = 0; i < 20; i++) {
            digits[i] = hash >> (19 - i) & 1 ? '1' : '0';
        }
        digits[20] = 0;
        fz_buf_printf(&b, "/%.4s/%.4s/%.4s/%s", digits, digits + 4, digits + 8, digits + 12);
        if (options->object_storage_partitioned) {
            fz_buf_printf(&b, "/%s", hashed.ptr ? hashed.ptr : "");
        } else {
            fz_buf_printf(&b, "-%s", file_name);
        }
        b.failed |= hashed.failed;
        fz_buf_dispose(&hashed);
    }
    enum fz_code rc = fz_buf_check(&b, err);
    *out = rc == FZ_OK ? fz_buf_take(&b) : NULL;
    fz_buf_dispose(&b);
    return rc;
}

static enum fz_code bound_bytes(struct fz_arena *arena, const struct fz_value *value, struct fz_str *out,
                                struct fz_err *err) {
    struct fz_buf b = {0};
    enum fz_code rc = fz_value_to_bound(&b, value, err);
    if (rc == FZ_OK) {
        char *copy = fz_arena_memdup(arena, b.ptr, b.len);
        *out = (struct fz_str){copy, b.len};
        rc = copy == NULL ? fz_fail_nomem(err, b.len) : FZ_OK;
    }
    fz_buf_dispose(&b);
    return rc;
}

enum fz_code fz_file_metrics_to_data_file(struct fz_arena *arena, const struct fz_parquet_metrics *metrics,
                                          struct fz_data_file *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = metrics->n_columns;
    struct fz_id_count *sizes = fz_arena_array(arena, n, sizeof *sizes),
                       *values = fz_arena_array(arena, n, sizeof *values),
                       *nulls = fz_arena_array(arena, n, sizeof *nulls), *nans = fz_arena_array(arena, n, sizeof *nans);
    struct fz_id_bytes *lower = fz_arena_array(arena, n, sizeof *lower),
                       *upper = fz_arena_array(arena, n, sizeof *upper);
    if (sizes == NULL || values == NULL || nulls == NULL || nans == NULL || lower == NULL || upper == NULL) {
        return fz_fail_nomem(err, n * sizeof *sizes);
    }
    out->record_count = metrics->record_count;
    out->file_size_in_bytes = metrics->file_size_bytes;
    for (size_t i = 0; i < n; i++) {
        const struct fz_parquet_column_metrics *c = &metrics->columns[i];
        sizes[out->n_column_sizes++] = (struct fz_id_count){c->field_id, c->column_size};
        if (c->has_counts) {
            values[out->n_value_counts++] = (struct fz_id_count){c->field_id, c->value_count};
            nulls[out->n_null_value_counts++] = (struct fz_id_count){c->field_id, c->null_count};
            if (c->nan_count >= 0) {
                nans[out->n_nan_value_counts++] = (struct fz_id_count){c->field_id, c->nan_count};
            }
        }
        if (c->has_bounds && !c->lower.is_null && c->lower.type != NULL) {
            lower[out->n_lower_bounds].id = c->field_id;
            FZ_TRY(bound_bytes(arena, &c->lower, &lower[out->n_lower_bounds++].bytes, err));
        }
        if (c->has_bounds && !c->upper.is_null && c->upper.type != NULL) {
            upper[out->n_upper_bounds].id = c->field_id;
            FZ_TRY(bound_bytes(arena, &c->upper, &upper[out->n_upper_bounds++].bytes, err));
        }
    }
    out->column_sizes = sizes;
    out->value_counts = values;
    out->null_value_counts = nulls;
    out->nan_value_counts = nans;
    out->lower_bounds = lower;
    out->upper_bounds = upper;
    out->split_offsets = metrics->split_offsets;
    out->n_split_offsets = metrics->n_split_offsets;
out:
    return rc;
}
