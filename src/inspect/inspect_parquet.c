// Parquet: schema, columns over all row groups, row groups with their chunks (statistics, bloom filters, page index), key-values.
#include "format/parquet/parquet_prune.h"
#include "inspect/inspect_priv.h"

static const char *name_of(const char *const *names, size_t n, int at) {
    return at >= 0 && (size_t)at < n && names[at] != NULL ? names[at] : "unknown";
}
#define NAME_OF(names, at) name_of(names, sizeof(names) / sizeof *(names), at)

static const char *const TYPES[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                    "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
static const char *const REPETITIONS[] = {"required", "optional", "repeated"};
static const char *const CODECS[] = {"UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"};
static const char *const ENCODINGS[] = {"PLAIN",
                                        NULL,
                                        "PLAIN_DICTIONARY",
                                        "RLE",
                                        "BIT_PACKED",
                                        "DELTA_BINARY_PACKED",
                                        "DELTA_LENGTH_BYTE_ARRAY",
                                        "DELTA_BYTE_ARRAY",
                                        "RLE_DICTIONARY",
                                        "BYTE_STREAM_SPLIT"};
static const char *const PAGES[] = {"data", "index", "dictionary", "data v2"};
static const char *const UNITS[] = {NULL, "ms", "us", "ns"};
static const char *const ORDERS[] = {"unordered", "ascending", "descending"};

struct leaf {
    const char *path;
    int32_t field_id;
    bool flat; // statistics can be read as values
    const struct fz_type *type; // of the value; NULL: not known
};

static json_t *logical_text(struct fz_inspect *in, const struct fz_pq_schema_element *e) {
    static const char *const converted[] = {
        "UTF8",    "MAP",          "MAP_KEY_VALUE", "LIST",   "ENUM",    "DECIMAL", "DATE",    "TIME_MS",
        "TIME_US", "TIMESTAMP_MS", "TIMESTAMP_US",  "UINT_8", "UINT_16", "UINT_32", "UINT_64", "INT_8",
        "INT_16",  "INT_32",       "INT_64",        "JSON",   "BSON",    "INTERVAL"};
    static const char *const logical[] = {NULL,   "STRING",    "MAP",     "LIST",     "ENUM",     "DECIMAL", "DATE",
                                          "TIME", "TIMESTAMP", NULL,      "INTEGER",  "NULL",     "JSON",    "BSON",
                                          "UUID", "FLOAT16",   "VARIANT", "GEOMETRY", "GEOGRAPHY"};
    const char *text = NULL;
    switch (e->logical) {
    case FZ_PQ_LOGICAL_NONE:
        text = e->converted == FZ_PQ_CONV_NONE ? NULL : NAME_OF(converted, e->converted);
        if (e->converted == FZ_PQ_CONV_DECIMAL) {
            text = fz_arena_printf(&in->arena, "DECIMAL(%d,%d)", e->precision, e->scale);
        }
        break;
    case FZ_PQ_LOGICAL_DECIMAL:
        text = fz_arena_printf(&in->arena, "DECIMAL(%d,%d)", e->precision, e->scale);
        break;
    case FZ_PQ_LOGICAL_TIME:
    case FZ_PQ_LOGICAL_TIMESTAMP:
        text = fz_arena_printf(&in->arena, "%s(%s%s)", logical[e->logical], NAME_OF(UNITS, (int)e->unit),
                               e->logical_utc ? ",UTC" : "");
        break;
    case FZ_PQ_LOGICAL_INTEGER:
        text = fz_arena_printf(&in->arena, "%sINT(%d)", e->logical_signed ? "" : "U", e->logical_bit_width);
        break;
    default:
        text = NAME_OF(logical, (int)e->logical);
    }
    return fz_inspect_cstr(text);
}

// Some writers give several columns one id; such an id does not lead to its column.
static bool id_is_unique(const struct fz_pq_file *meta, int32_t field_id) {
    size_t n = 0;
    for (size_t i = 1; i < meta->n_schema; i++) {
        n += meta->schema[i].field_id == field_id;
    }
    return n == 1;
}

// The schema as rows; leaves are collected with their dotted paths. Elements are in pre-order, `left[d]` children are to come at depth d.
static enum fz_code put_schema(struct fz_inspect *in, const struct fz_parquet_file *file, struct leaf **out_leaves,
                               size_t *out_n) {
    enum fz_code rc = FZ_OK;
    enum { DEPTH = 128 };
    const struct fz_pq_file *meta = fz_parquet_file_meta(file);
    const struct fz_type *root = fz_parquet_file_schema(file);
    json_t *rows = fz_inspect_array(in, in->root, "schema");
    struct leaf *leaves = fz_arena_array(&in->arena, meta->n_schema + 1, sizeof *leaves);
    const char *paths[DEPTH] = {""};
    int32_t left[DEPTH] = {0};
    bool repeated[DEPTH] = {false};
    size_t depth = 0, n = 0;
    if (leaves == NULL) {
        return fz_fail_nomem(in->err, meta->n_schema * sizeof *leaves);
    }
    left[0] = meta->n_schema > 0 ? meta->schema[0].num_children : 0;
    for (size_t i = 1; i < meta->n_schema; i++) {
        const struct fz_pq_schema_element *e = &meta->schema[i];
        while (depth > 0 && left[depth] == 0) {
            depth--;
        }
        left[depth]--;
        const char *path = depth == 0 ? e->name : fz_arena_printf(&in->arena, "%s.%s", paths[depth], e->name);
        if (path == NULL) {
            return fz_fail_nomem(in->err, 64);
        }
        json_t *row = fz_inspect_row(in, rows);
        fz_inspect_put(in, row, "column", fz_inspect_cstr(path));
        fz_inspect_put(in, row, "field_id", e->field_id >= 0 ? json_integer(e->field_id) : json_null());
        fz_inspect_put(in, row, "repetition", json_string(NAME_OF(REPETITIONS, e->repetition)));
        if (e->type >= 0 && e->type == FZ_PQ_FIXED) {
            fz_inspect_put(in, row, "type",
                           fz_inspect_cstr(fz_arena_printf(&in->arena, "FIXED_LEN_BYTE_ARRAY(%d)", e->type_length)));
        } else {
            fz_inspect_put(in, row, "type", json_string(e->type >= 0 ? NAME_OF(TYPES, e->type) : "group"));
        }
        fz_inspect_put(in, row, "logical", logical_text(in, e));
        bool many = repeated[depth] || e->repetition == FZ_PQ_REPEATED;
        if (e->type < 0) {
            if (depth + 1 == DEPTH) {
                return fz_fail(in->err, FZ_LIMIT, "%s: groups are nested more than %d deep", in->location, DEPTH);
            }
            depth++;
            paths[depth] = path;
            left[depth] = e->num_children;
            repeated[depth] = many;
            continue;
        }
        // Files without ids have them assigned from 1 in pre-order: the reader's types then carry those, not the elements.
        bool known = e->field_id >= 0 && id_is_unique(meta, e->field_id);
        const struct fz_field *field = known ? fz_inspect_field(root, e->field_id) : NULL;
        leaves[n++] = (struct leaf){.path = path,
                                    .field_id = e->field_id,
                                    .flat = !many && field != NULL,
                                    .type = field != NULL ? field->type : NULL};
    }
    for (size_t i = 0; i < n && !fz_parquet_file_has_ids(file);
         i++) { // top-level columns of files without ids: by name
        size_t same = 0;
        for (size_t f = 0; f < root->n_fields; f++) {
            if (strcmp(root->fields[f].name, leaves[i].path) == 0) {
                same++;
                leaves[i].type = root->fields[f].type;
                leaves[i].field_id = root->fields[f].id;
            }
        }
        leaves[i].flat = same == 1 && fz_type_is_primitive(leaves[i].type);
    }
    *out_leaves = leaves;
    *out_n = n;
    return rc;
}

static void put_encodings(struct fz_inspect *in, json_t *object, uint32_t seen) {
    json_t *list = fz_inspect_array(in, object, "encodings");
    for (int e = 0; e < 32; e++) {
        if (seen >> e & 1) {
            fz_inspect_add(in, list, json_string(NAME_OF(ENCODINGS, e)));
        }
    }
}

static uint32_t encodings_of(const struct fz_pq_column_chunk *c) {
    uint32_t seen = 0;
    for (size_t i = 0; i < c->n_encodings; i++) {
        seen |= c->encodings[i] >= 0 && c->encodings[i] < 32 ? 1u << c->encodings[i] : 0;
    }
    return seen;
}

static void put_statistics(struct fz_inspect *in, json_t *row, const struct fz_pq_column_chunk *c,
                           const struct fz_parquet_stats *stats, bool flat) {
    const struct fz_pq_statistics *s = &c->statistics;
    fz_inspect_put(in, row, "nulls", s->null_count >= 0 ? json_integer(s->null_count) : json_null());
    if (s->distinct_count >= 0) {
        fz_inspect_put(in, row, "distinct", json_integer(s->distinct_count));
    }
    if (flat && stats->has_min_max) {
        fz_inspect_put(in, row, "min", fz_inspect_value(stats->min));
        fz_inspect_put(in, row, "max", fz_inspect_value(stats->max));
    } else {
        fz_inspect_put(in, row, "min", s->has_min ? fz_inspect_bound(in, NULL, s->min) : json_null());
        fz_inspect_put(in, row, "max", s->has_max ? fz_inspect_bound(in, NULL, s->max) : json_null());
    }
    if (s->deprecated || !s->min_exact || !s->max_exact) {
        fz_inspect_put(in, row, "bounds", json_string(s->deprecated ? "deprecated form" : "not exact"));
    }
}

// The page index: number of pages and their order; pages one by one in the JSON form.
static void put_pages(struct fz_inspect *in, const struct fz_parquet_file *file, size_t row_group,
                      const struct fz_pq_column_chunk *c, const struct leaf *leaf, json_t *row) {
    struct fz_err ignored = FZ_ERR_INIT;
    struct fz_parquet_page *typed = NULL;
    size_t n_typed = 0;
    struct fz_pq_offset_index offsets = {0};
    struct fz_pq_column_index columns = {0};
    const int64_t at[2] = {c->offset_index_offset, c->column_index_offset};
    const int32_t length[2] = {c->offset_index_length, c->column_index_length};
    bool good[2] = {false, false};
    for (int i = 0; i < 2; i++) {
        if (at[i] < 0 || length[i] <= 0 || at[i] > in->size_bytes || length[i] > in->size_bytes - at[i]) {
            continue;
        }
        struct fz_buf bytes = {0};
        if (fz_buf_reserve(&bytes, (size_t)length[i]) &&
            fz_store_read(in->store, in->location, at[i], (size_t)length[i], bytes.ptr, NULL, &ignored) == FZ_OK) {
            good[i] =
                i == 0
                    ? fz_pq_offset_index_decode(&in->arena, bytes.ptr, (size_t)length[i], &offsets, &ignored) == FZ_OK
                    : fz_pq_column_index_decode(&in->arena, bytes.ptr, (size_t)length[i], &columns, &ignored) == FZ_OK;
        }
        fz_buf_dispose(&bytes);
        if (!good[i]) {
            fz_inspect_put(in, row, "page_index", json_string("damaged"));
            return;
        }
    }
    if (good[1] && columns.n_pages == offsets.n_pages) {
        fz_inspect_put(in, row, "page_order", json_string(NAME_OF(ORDERS, columns.boundary_order)));
    }
    if (!good[0]) {
        return;
    }
    if (leaf->flat && fz_parquet_file_pages(file, row_group, leaf->field_id, leaf->type, NULL, &in->arena, &typed,
                                            &n_typed, &ignored) != FZ_OK) {
        n_typed = 0;
    }
    json_t *pages = fz_inspect_array(in, row, "pages");
    for (size_t i = 0; i < offsets.n_pages; i++) {
        json_t *page = fz_inspect_row(in, pages);
        fz_inspect_put(in, page, "first_row", json_integer(offsets.pages[i].first_row_index));
        fz_inspect_put(in, page, "offset", json_integer(offsets.pages[i].offset));
        fz_inspect_put(in, page, "bytes", json_integer(offsets.pages[i].compressed_page_size));
        if (good[1] && i < columns.n_pages && columns.null_counts != NULL) {
            fz_inspect_put(in, page, "nulls", json_integer(columns.null_counts[i]));
        }
        if (i < n_typed && typed[i].has_min_max) {
            fz_inspect_put(in, page, "min", fz_inspect_value(typed[i].min));
            fz_inspect_put(in, page, "max", fz_inspect_value(typed[i].max));
        } else if (good[1] && i < columns.n_pages && !columns.null_pages[i]) {
            fz_inspect_put(in, page, "min", fz_inspect_bound(in, NULL, columns.min_values[i]));
            fz_inspect_put(in, page, "max", fz_inspect_bound(in, NULL, columns.max_values[i]));
        }
    }
}

struct total {
    uint32_t encodings, codecs;
    int64_t compressed, uncompressed, values, nulls, pages, bloom;
    bool nulls_known, has_min_max, lost_min_max;
    const struct fz_value *min, *max;
};

static void put_chunk(struct fz_inspect *in, const struct fz_parquet_file *file, size_t g, size_t c,
                      const struct leaf *leaf, json_t *chunks, struct total *total) {
    const struct fz_pq_column_chunk *chunk = &fz_parquet_file_meta(file)->row_groups[g].columns[c];
    json_t *row = fz_inspect_row(in, chunks);
    struct fz_parquet_stats stats = {0};
    bool flat = leaf->flat && fz_parquet_file_stats(file, g, leaf->field_id, leaf->type, &in->arena, &stats);
    fz_inspect_put(in, row, "column", fz_inspect_cstr(leaf->path));
    fz_inspect_put(in, row, "codec", json_string(NAME_OF(CODECS, chunk->codec)));
    put_encodings(in, row, encodings_of(chunk));
    for (size_t i = 0; i < chunk->n_encoding_stats; i++) {
        json_t *list = i == 0 ? fz_inspect_array(in, row, "encoding_stats") : json_object_get(row, "encoding_stats");
        json_t *entry = fz_inspect_row(in, list);
        fz_inspect_put(in, entry, "pages", json_string(NAME_OF(PAGES, chunk->encoding_stats[i].page_type)));
        fz_inspect_put(in, entry, "encoding", json_string(NAME_OF(ENCODINGS, chunk->encoding_stats[i].encoding)));
        fz_inspect_put(in, entry, "count", json_integer(chunk->encoding_stats[i].count));
    }
    fz_inspect_put(in, row, "values", json_integer(chunk->num_values));
    put_statistics(in, row, chunk, &stats, flat);
    fz_inspect_put(in, row, "compressed_bytes", json_integer(chunk->total_compressed_size));
    fz_inspect_put(in, row, "uncompressed_bytes", json_integer(chunk->total_uncompressed_size));
    fz_inspect_put(in, row, "data_page_offset", json_integer(chunk->data_page_offset));
    if (chunk->dictionary_page_offset >= 0) {
        fz_inspect_put(in, row, "dictionary_page_offset", json_integer(chunk->dictionary_page_offset));
    }
    if (chunk->bloom_filter_offset >= 0) {
        struct fz_err ignored = FZ_ERR_INIT;
        struct fz_str bytes = {0};
        size_t header = 0;
        bool good = fz_parquet_file_bloom_bytes(file, chunk, NULL, &in->arena, &bytes, &header, &ignored) == FZ_OK &&
                    bytes.len > header;
        fz_inspect_put(in, row, "bloom_filter_offset", json_integer(chunk->bloom_filter_offset));
        fz_inspect_put(in, row, "bloom_filter_bytes",
                       good ? json_integer((json_int_t)(bytes.len - header)) : json_null());
        total->bloom += good ? (int64_t)(bytes.len - header) : 0;
    }
    put_pages(in, file, g, chunk, leaf, row);
    total->pages += (int64_t)json_array_size(json_object_get(row, "pages"));
    total->encodings |= encodings_of(chunk);
    total->codecs |= chunk->codec >= 0 && chunk->codec < 32 ? 1u << chunk->codec : 0;
    total->compressed += chunk->total_compressed_size;
    total->uncompressed += chunk->total_uncompressed_size;
    total->values += chunk->num_values;
    total->nulls += chunk->statistics.null_count >= 0 ? chunk->statistics.null_count : 0;
    total->nulls_known &= chunk->statistics.null_count >= 0;
    if (flat && stats.has_min_max) {
        total->min = total->min == NULL || fz_value_compare(stats.min, total->min) < 0 ? stats.min : total->min;
        total->max = total->max == NULL || fz_value_compare(stats.max, total->max) > 0 ? stats.max : total->max;
    } else if (chunk->statistics.null_count != chunk->num_values) {
        total->lost_min_max = true; // the others' bounds do not hold for all
    }
}

static void put_totals(struct fz_inspect *in, json_t *rows, const struct leaf *leaf, const struct total *t) {
    json_t *row = fz_inspect_row(in, rows);
    fz_inspect_put(in, row, "column", fz_inspect_cstr(leaf->path));
    json_t *codecs = fz_inspect_array(in, row, "codec");
    for (int c = 0; c < 32; c++) {
        if (t->codecs >> c & 1) {
            fz_inspect_add(in, codecs, json_string(NAME_OF(CODECS, c)));
        }
    }
    put_encodings(in, row,
                  t->encodings & ~(1u << FZ_PQ_RLE | 1u << FZ_PQ_BIT_PACKED)
                      ? t->encodings & ~(1u << FZ_PQ_RLE | 1u << FZ_PQ_BIT_PACKED)
                      : t->encodings);
    fz_inspect_put(in, row, "compressed_bytes", json_integer(t->compressed));
    fz_inspect_put(in, row, "uncompressed_bytes", json_integer(t->uncompressed));
    fz_inspect_put(in, row, "values", json_integer(t->values));
    fz_inspect_put(in, row, "nulls", t->nulls_known ? json_integer(t->nulls) : json_null());
    bool bounds = t->min != NULL && !t->lost_min_max;
    fz_inspect_put(in, row, "min", bounds ? fz_inspect_value(t->min) : json_null());
    fz_inspect_put(in, row, "max", bounds ? fz_inspect_value(t->max) : json_null());
    fz_inspect_put(in, row, "pages", t->pages > 0 ? json_integer(t->pages) : json_null());
    if (t->bloom > 0) {
        fz_inspect_put(in, row, "bloom_bytes", json_integer(t->bloom));
    }
}

static void put_groups(struct fz_inspect *in, const struct fz_parquet_file *file, const struct leaf *leaves, size_t n,
                       struct total *totals) {
    const struct fz_pq_file *meta = fz_parquet_file_meta(file);
    json_t *columns = fz_inspect_array(in, in->root, "columns"), *groups = fz_inspect_array(in, in->root, "row_groups");
    for (size_t g = 0; g < meta->n_row_groups; g++) {
        const struct fz_pq_row_group *group = &meta->row_groups[g];
        json_t *row = fz_inspect_row(in, groups);
        fz_inspect_put(in, row, "row_group", json_integer((json_int_t)g));
        fz_inspect_put(in, row, "rows", json_integer(group->num_rows));
        int64_t compressed = 0, uncompressed = 0;
        for (size_t c = 0; c < group->n_columns; c++) {
            compressed += group->columns[c].total_compressed_size;
            uncompressed += group->columns[c].total_uncompressed_size;
        }
        fz_inspect_put(in, row, "offset", group->file_offset >= 0 ? json_integer(group->file_offset) : json_null());
        fz_inspect_put(in, row, "compressed_bytes", json_integer(compressed));
        fz_inspect_put(in, row, "uncompressed_bytes", json_integer(uncompressed));
        for (size_t s = 0; s < group->n_sorting; s++) {
            json_t *list = s == 0 ? fz_inspect_array(in, row, "sorted_by") : json_object_get(row, "sorted_by");
            int32_t at = group->sorting[s][0];
            fz_inspect_add(in, list,
                           fz_inspect_cstr(fz_arena_printf(&in->arena, "%s %s nulls %s",
                                                           at >= 0 && (size_t)at < n ? leaves[at].path : "unknown",
                                                           group->sorting[s][1] ? "descending" : "ascending",
                                                           group->sorting[s][2] ? "first" : "last")));
        }
        json_t *chunks = fz_inspect_array(in, row, "columns");
        for (size_t c = 0; c < group->n_columns && c < n; c++) {
            put_chunk(in, file, g, c, &leaves[c], chunks, &totals[c]);
        }
    }
    for (size_t c = 0; c < n; c++) {
        put_totals(in, columns, &leaves[c], &totals[c]);
    }
}

enum fz_code fz_inspect_parquet(struct fz_inspect *in) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_file *file = NULL;
    struct leaf *leaves = NULL;
    size_t n = 0;
    FZ_TRY(fz_parquet_file_open(in->store, in->location, in->size_bytes, NULL, &file, in->err));
    const struct fz_pq_file *meta = fz_parquet_file_meta(file);
    fz_inspect_put(in, in->root, "kind", json_string("Parquet"));
    fz_inspect_put(in, in->root, "created_by", fz_inspect_cstr(meta->created_by));
    fz_inspect_put(in, in->root, "format_version", json_integer(meta->version));
    fz_inspect_put(in, in->root, "rows", json_integer(meta->num_rows));
    fz_inspect_put(in, in->root, "row_group_count", json_integer((json_int_t)meta->n_row_groups));
    FZ_TRY(put_schema(in, file, &leaves, &n));
    struct total *totals = fz_arena_array(&in->arena, n + 1, sizeof *totals);
    if (totals == NULL) {
        rc = fz_fail_nomem(in->err, n * sizeof *totals);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        totals[i].nulls_known = true;
    }
    put_groups(in, file, leaves, n, totals);
    json_t *values = fz_inspect_object(in, in->root, "key_values");
    for (size_t i = 0; i < meta->n_key_values; i++) {
        const char *key = meta->key_values[i].key;
        fz_inspect_put(in, values, key != NULL ? key : "", fz_inspect_cstr(meta->key_values[i].value));
    }
out:
    fz_parquet_file_unref(file);
    return rc;
}
