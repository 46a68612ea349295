// Reads the structures of parquet.thrift into plain data: footer, page headers, page index. Bytes are not trusted: every count is
// held against the bytes that are left before memory is taken for it, and what a reader relies on is checked here once.
#include "format/parquet/parquet_meta_decode.h"

// Fewest bytes that a well-formed element takes; keeps a short hostile footer from asking for much memory.
enum { MIN_SCHEMA_ELEMENT = 3, MIN_COLUMN_CHUNK = 8, MIN_ROW_GROUP = 7, MIN_KEY_VALUE = 3 };

void *fz_pq_decoder_take(struct fz_pq_decoder *d, size_t n, size_t size) {
    void *p = fz_arena_array(d->arena, n > 0 ? n : 1, size);
    if (p == NULL) {
        d->no_memory = true;
        fz_thrift_fault(&d->in, "out of memory");
    }
    return p;
}

struct fz_str fz_pq_decoder_keep(struct fz_pq_decoder *d, struct fz_str s) {
    const char *p = fz_arena_strndup(d->arena, s.ptr, s.len);
    if (p == NULL) {
        d->no_memory = true;
        fz_thrift_fault(&d->in, "out of memory");
        return (struct fz_str){"", 0};
    }
    return (struct fz_str){p, s.len};
}

static bool fz_pq_decoder_get(struct fz_pq_decoder *d, const struct fz_thrift_field *f, struct fz_str *out) {
    struct fz_str s;
    if (!fz_thrift_get_binary(&d->in, f, &s)) {
        return false;
    }
    *out = fz_pq_decoder_keep(d, s);
    return d->in.fault == NULL;
}

static void get_text(struct fz_pq_decoder *d, const struct fz_thrift_field *f, const char **out) {
    struct fz_str s;
    if (fz_pq_decoder_get(d, f, &s)) {
        *out = s.ptr;
    }
}

enum fz_code fz_pq_decoder_finish(struct fz_pq_decoder *d, const char *what, struct fz_err *err) {
    if (d->no_memory) {
        return fz_fail(err, FZ_NOMEM, "out of memory while decoding the %s", what);
    }
    if (d->in.fault != NULL) {
        return fz_fail(err, FZ_CORRUPT, "the %s is damaged: %s", what, d->in.fault);
    }
    return FZ_OK;
}

void fz_pq_statistics_decode(struct fz_pq_decoder *d, struct fz_pq_statistics *out) {
    struct fz_pq_statistics s = {.min_exact = true, .max_exact = true, .null_count = -1, .distinct_count = -1};
    struct fz_str old_min = {0}, old_max = {0};
    bool has_old_min = false, has_old_max = false;
    struct fz_thrift_field f = {0};
    while (fz_thrift_next_field(&d->in, &f)) {
        switch (f.id) {
        case 1:
            has_old_max = fz_pq_decoder_get(d, &f, &old_max);
            break;
        case 2:
            has_old_min = fz_pq_decoder_get(d, &f, &old_min);
            break;
        case 3:
            fz_thrift_get_i64(&d->in, &f, &s.null_count);
            break;
        case 4:
            fz_thrift_get_i64(&d->in, &f, &s.distinct_count);
            break;
        case 5:
            s.has_max = fz_pq_decoder_get(d, &f, &s.max);
            break;
        case 6:
            s.has_min = fz_pq_decoder_get(d, &f, &s.min);
            break;
        case 7:
            fz_thrift_get_bool(&d->in, &f, &s.max_exact);
            break;
        case 8:
            fz_thrift_get_bool(&d->in, &f, &s.min_exact);
            break;
        default:
            fz_thrift_skip(&d->in, &f);
        }
    }
    if (!s.has_min && !s.has_max && (has_old_min || has_old_max)) {
        s.deprecated = true;
        s.has_min = has_old_min;
        s.has_max = has_old_max;
        s.min = old_min;
        s.max = old_max;
    }
    if (s.null_count < 0) {
        s.null_count = -1;
    }
    *out = s;
}

static void decode_time_unit(struct fz_pq_decoder *d, struct fz_pq_schema_element *e) {
    struct fz_thrift_field f = {0};
    while (fz_thrift_next_field(&d->in, &f)) {
        if (f.id >= FZ_PQ_MILLIS && f.id <= FZ_PQ_NANOS) {
            e->unit = (enum fz_pq_time_unit)f.id;
        }
        fz_thrift_skip(&d->in, &f);
    }
}

static void decode_logical_body(struct fz_pq_decoder *d, struct fz_pq_schema_element *e) {
    struct fz_thrift_field f = {0};
    int32_t number = 0;
    while (fz_thrift_next_field(&d->in, &f)) {
        if (e->logical == FZ_PQ_LOGICAL_DECIMAL && f.id == 1) {
            fz_thrift_get_i32(&d->in, &f, &e->scale);
        } else if (e->logical == FZ_PQ_LOGICAL_DECIMAL && f.id == 2) {
            fz_thrift_get_i32(&d->in, &f, &e->precision);
        } else if ((e->logical == FZ_PQ_LOGICAL_TIME || e->logical == FZ_PQ_LOGICAL_TIMESTAMP) && f.id == 1) {
            fz_thrift_get_bool(&d->in, &f, &e->logical_utc);
        } else if ((e->logical == FZ_PQ_LOGICAL_TIME || e->logical == FZ_PQ_LOGICAL_TIMESTAMP) && f.id == 2) {
            if (fz_thrift_get_struct(&d->in, &f)) {
                decode_time_unit(d, e);
            }
        } else if (e->logical == FZ_PQ_LOGICAL_INTEGER && f.id == 1) {
            if (fz_thrift_get_i32(&d->in, &f, &number)) {
                e->logical_bit_width = number;
            }
        } else if (e->logical == FZ_PQ_LOGICAL_INTEGER && f.id == 2) {
            fz_thrift_get_bool(&d->in, &f, &e->logical_signed);
        } else {
            fz_thrift_skip(&d->in, &f);
        }
    }
}

static void decode_logical(struct fz_pq_decoder *d, struct fz_pq_schema_element *e) {
    struct fz_thrift_field f = {0};
    while (fz_thrift_next_field(&d->in, &f)) {
        if (f.type != FZ_THRIFT_STRUCT || f.id < FZ_PQ_LOGICAL_STRING || f.id > FZ_PQ_LOGICAL_GEOGRAPHY || f.id == 9) {
            fz_thrift_skip(&d->in, &f); // a logical type of a later version: the physical type is what we know
            continue;
        }
        e->logical = (enum fz_pq_logical)f.id;
        decode_logical_body(d, e);
    }
    bool timed = e->logical == FZ_PQ_LOGICAL_TIME || e->logical == FZ_PQ_LOGICAL_TIMESTAMP;
    if (timed && (e->unit < FZ_PQ_MILLIS || e->unit > FZ_PQ_NANOS)) {
        e->logical = FZ_PQ_LOGICAL_NONE; // a unit of a later version
    }
}

static void decode_schema_element(struct fz_pq_decoder *d, struct fz_pq_schema_element *e) {
    *e = (struct fz_pq_schema_element){.type = -1, .repetition = -1, .converted = FZ_PQ_CONV_NONE, .field_id = -1};
    struct fz_thrift_field f = {0};
    int32_t number = 0;
    while (fz_thrift_next_field(&d->in, &f)) {
        switch (f.id) {
        case 1:
            if (fz_thrift_get_i32(&d->in, &f, &number)) {
                if (number < FZ_PQ_BOOLEAN || number > FZ_PQ_FIXED) {
                    fz_thrift_fault(&d->in, "a column has an unknown physical type");
                }
                e->type = number;
            }
            break;
        case 2:
            fz_thrift_get_i32(&d->in, &f, &e->type_length);
            break;
        case 3:
            if (fz_thrift_get_i32(&d->in, &f, &number)) {
                if (number < FZ_PQ_REQUIRED || number > FZ_PQ_REPEATED) {
                    fz_thrift_fault(&d->in, "a column has an unknown repetition");
                }
                e->repetition = number;
            }
            break;
        case 4:
            get_text(d, &f, &e->name);
            break;
        case 5:
            fz_thrift_get_i32(&d->in, &f, &e->num_children);
            break;
        case 6:
            if (fz_thrift_get_i32(&d->in, &f, &number) && number >= FZ_PQ_CONV_UTF8 && number <= FZ_PQ_CONV_INTERVAL) {
                e->converted = number;
            }
            break;
        case 7:
            fz_thrift_get_i32(&d->in, &f, &e->scale);
            break;
        case 8:
            fz_thrift_get_i32(&d->in, &f, &e->precision);
            break;
        case 9:
            fz_thrift_get_i32(&d->in, &f, &e->field_id);
            break;
        case 10:
            if (fz_thrift_get_struct(&d->in, &f)) {
                decode_logical(d, e);
            }
            break;
        default:
            fz_thrift_skip(&d->in, &f);
        }
    }
    if (d->in.fault == NULL && e->name == NULL) {
        fz_thrift_fault(&d->in, "a schema element has no name");
    }
}

static void decode_encodings(struct fz_pq_decoder *d, const struct fz_thrift_field *f, struct fz_pq_column_chunk *c) {
    size_t n = 0;
    if (!fz_thrift_get_list(&d->in, f, FZ_THRIFT_I32, 1, &n)) {
        return;
    }
    int *encodings = fz_pq_decoder_take(d, n, sizeof *encodings);
    for (size_t i = 0; i < n && d->in.fault == NULL; i++) {
        encodings[i] = fz_thrift_read_i32(&d->in);
    }
    c->encodings = encodings;
    c->n_encodings = n;
}

static void decode_encoding_stats(struct fz_pq_decoder *d, const struct fz_thrift_field *f,
                                  struct fz_pq_column_chunk *c) {
    size_t n = 0;
    if (!fz_thrift_get_list(&d->in, f, FZ_THRIFT_STRUCT, 1, &n)) {
        return;
    }
    struct fz_pq_encoding_stats *stats = fz_pq_decoder_take(d, n, sizeof *stats);
    for (size_t i = 0; i < n && d->in.fault == NULL; i++) {
        struct fz_thrift_field inner = {0};
        stats[i] = (struct fz_pq_encoding_stats){-1, -1, 0};
        while (fz_thrift_next_field(&d->in, &inner)) {
            switch (inner.id) {
            case 1:
                fz_thrift_get_i32(&d->in, &inner, &stats[i].page_type);
                break;
            case 2:
                fz_thrift_get_i32(&d->in, &inner, &stats[i].encoding);
                break;
            case 3:
                fz_thrift_get_i32(&d->in, &inner, &stats[i].count);
                break;
            default:
                fz_thrift_skip(&d->in, &inner);
            }
        }
    }
    c->encoding_stats = stats;
    c->n_encoding_stats = n;
}

static void decode_path(struct fz_pq_decoder *d, const struct fz_thrift_field *f, struct fz_pq_column_chunk *c) {
    size_t n = 0;
    if (!fz_thrift_get_list(&d->in, f, FZ_THRIFT_BINARY, 1, &n)) {
        return;
    }
    struct fz_str *path = fz_pq_decoder_take(d, n, sizeof *path);
    for (size_t i = 0; i < n && d->in.fault == NULL; i++) {
        path[i] = fz_pq_decoder_keep(d, fz_thrift_read_binary(&d->in));
    }
    c->path = path;
    c->n_path = n;
}

static void decode_column_meta(struct fz_pq_decoder *d, struct fz_pq_column_chunk *c) {
    struct fz_thrift_field f = {0};
    while (fz_thrift_next_field(&d->in, &f)) {
        switch (f.id) {
        case 1:
            fz_thrift_get_i32(&d->in, &f, &c->type);
            break;
        case 2:
            decode_encodings(d, &f, c);
            break;
        case 3:
            decode_path(d, &f, c);
            break;
        case 4:
            fz_thrift_get_i32(&d->in, &f, &c->codec);
            break;
        case 5:
            fz_thrift_get_i64(&d->in, &f, &c->num_values);
            break;
        case 6:
            fz_thrift_get_i64(&d->in, &f, &c->total_uncompressed_size);
            break;
        case 7:
            fz_thrift_get_i64(&d->in, &f, &c->total_compressed_size);
            break;
        case 9:
            fz_thrift_get_i64(&d->in, &f, &c->data_page_offset);
            break;
        case 10:
            fz_thrift_get_i64(&d->in, &f, &c->index_page_offset);
            break;
        case 11:
            fz_thrift_get_i64(&d->in, &f, &c->dictionary_page_offset);
            break;
        case 12:
            if (fz_thrift_get_struct(&d->in, &f)) {
                fz_pq_statistics_decode(d, &c->statistics);
            }
            break;
        case 13:
            decode_encoding_stats(d, &f, c);
            break;
        case 14:
            fz_thrift_get_i64(&d->in, &f, &c->bloom_filter_offset);
            break;
        case 15:
            fz_thrift_get_i64(&d->in, &f, &c->bloom_filter_length);
            break;
        default:
            fz_thrift_skip(&d->in, &f);
        }
    }
}

static void decode_column_chunk(struct fz_pq_decoder *d, struct fz_pq_column_chunk *c) {
    *c = (struct fz_pq_column_chunk){.type = -1,
                                     .codec = -1,
                                     .num_values = -1,
                                     .total_uncompressed_size = -1,
                                     .total_compressed_size = -1,
                                     .data_page_offset = -1,
                                     .index_page_offset = -1,
                                     .dictionary_page_offset = -1,
                                     .bloom_filter_offset = -1,
                                     .bloom_filter_length = -1,
                                     .offset_index_offset = -1,
                                     .column_index_offset = -1};
    c->statistics =
        (struct fz_pq_statistics){.min_exact = true, .max_exact = true, .null_count = -1, .distinct_count = -1};
    bool has_meta = false;
    struct fz_thrift_field f = {0};
    while (fz_thrift_next_field(&d->in, &f)) {
        switch (f.id) {
        case 1:
            get_text(d, &f, &c->file_path);
            break;
        case 3:
            if (fz_thrift_get_struct(&d->in, &f)) {
                has_meta = true;
                decode_column_meta(d, c);
            }
            break;
        case 4:
            fz_thrift_get_i64(&d->in, &f, &c->offset_index_offset);
            break;
        case 5:
            fz_thrift_get_i32(&d->in, &f, &c->offset_index_length);
            break;
        case 6:
            fz_thrift_get_i64(&d->in, &f, &c->column_index_offset);
            break;
        case 7:
            fz_thrift_get_i32(&d->in, &f, &c->column_index_length);
            break;
        case 8:
        case 9:
            c->encrypted = true;
            fz_thrift_skip(&d->in, &f);
            break;
        default:
            fz_thrift_skip(&d->in, &f);
        }
    }
    if (d->in.fault != NULL || c->encrypted) {
        return;
    }
    if (!has_meta) {
        fz_thrift_fault(&d->in, "a column chunk has no metadata");
    } else if (c->type < 0 || c->codec < 0 || c->num_values < 0 || c->total_compressed_size < 0 ||
               c->data_page_offset < 0) {
        fz_thrift_fault(&d->in,
                        "a column chunk lacks its type, codec, value count, size or offset, or one is negative");
    }
}

static void decode_sorting(struct fz_pq_decoder *d, const struct fz_thrift_field *f, struct fz_pq_row_group *g) {
    size_t n = 0;
    if (!fz_thrift_get_list(&d->in, f, FZ_THRIFT_STRUCT, 1, &n)) {
        return;
    }
    int32_t(*sorting)[3] = fz_pq_decoder_take(d, n, sizeof *sorting);
    for (size_t i = 0; i < n && d->in.fault == NULL; i++) {
        struct fz_thrift_field s = {0};
        bool flag = false;
        while (fz_thrift_next_field(&d->in, &s)) {
            if (s.id == 1) {
                fz_thrift_get_i32(&d->in, &s, &sorting[i][0]);
            } else if (s.id == 2 || s.id == 3) {
                if (fz_thrift_get_bool(&d->in, &s, &flag)) {
                    sorting[i][s.id - 1] = flag;
                }
            } else {
                fz_thrift_skip(&d->in, &s);
            }
        }
    }
    g->sorting = (const int32_t(*)[3])sorting;
    g->n_sorting = n;
}

static void decode_row_group(struct fz_pq_decoder *d, struct fz_pq_row_group *g) {
    *g = (struct fz_pq_row_group){.num_rows = -1, .file_offset = -1, .total_compressed_size = -1};
    struct fz_thrift_field f = {0};
    size_t n = 0;
    while (fz_thrift_next_field(&d->in, &f)) {
        switch (f.id) {
        case 1:
            if (fz_thrift_get_list(&d->in, &f, FZ_THRIFT_STRUCT, MIN_COLUMN_CHUNK, &n)) {
                struct fz_pq_column_chunk *columns = fz_pq_decoder_take(d, n, sizeof *columns);
                for (size_t i = 0; i < n && d->in.fault == NULL; i++) {
                    decode_column_chunk(d, &columns[i]);
                }
                g->columns = columns;
                g->n_columns = n;
            }
            break;
        case 2:
            fz_thrift_get_i64(&d->in, &f, &g->total_byte_size);
            break;
        case 3:
            fz_thrift_get_i64(&d->in, &f, &g->num_rows);
            break;
        case 4:
            decode_sorting(d, &f, g);
            break;
        case 5:
            fz_thrift_get_i64(&d->in, &f, &g->file_offset);
            break;
        case 6:
            fz_thrift_get_i64(&d->in, &f, &g->total_compressed_size);
            break;
        default:
            fz_thrift_skip(&d->in, &f);
        }
    }
    if (d->in.fault == NULL && g->num_rows < 0) {
        fz_thrift_fault(&d->in, "a row group has no row count or a negative one");
    }
}

static void decode_key_values(struct fz_pq_decoder *d, const struct fz_thrift_field *f, struct fz_pq_file *out) {
    size_t n = 0;
    if (!fz_thrift_get_list(&d->in, f, FZ_THRIFT_STRUCT, MIN_KEY_VALUE, &n)) {
        return;
    }
    struct fz_key_value *pairs = fz_pq_decoder_take(d, n, sizeof *pairs);
    for (size_t i = 0; i < n && d->in.fault == NULL; i++) {
        struct fz_thrift_field s = {0};
        while (fz_thrift_next_field(&d->in, &s)) {
            if (s.id == 1) {
                get_text(d, &s, &pairs[i].key);
            } else if (s.id == 2) {
                get_text(d, &s, &pairs[i].value);
            } else {
                fz_thrift_skip(&d->in, &s);
            }
        }
        if (pairs[i].key == NULL) {
            pairs[i].key = "";
        }
    }
    out->key_values = pairs;
    out->n_key_values = n;
}

static void decode_column_orders(struct fz_pq_decoder *d, const struct fz_thrift_field *f, struct fz_pq_file *out) {
    size_t n = 0;
    if (!fz_thrift_get_list(&d->in, f, FZ_THRIFT_STRUCT, 1, &n)) {
        return;
    }
    bool all_known = true;
    for (size_t i = 0; i < n && d->in.fault == NULL; i++) {
        struct fz_thrift_field s = {0};
        bool known = false;
        while (fz_thrift_next_field(&d->in, &s)) {
            known = s.id == 1;
            fz_thrift_skip(&d->in, &s);
        }
        all_known = all_known && known;
    }
    out->n_column_orders = all_known ? n : 0;
}

enum fz_code fz_pq_file_decode(struct fz_arena *arena, const void *data, size_t len, struct fz_pq_file *out,
                               struct fz_err *err) {
    struct fz_pq_decoder d = {.in = {.pos = data, .end = (const uint8_t *)data + len}, .arena = arena};
    struct fz_pq_file file = {.num_rows = -1};
    struct fz_thrift_field f = {0};
    size_t n = 0;
    while (fz_thrift_next_field(&d.in, &f)) {
        switch (f.id) {
        case 1:
            fz_thrift_get_i32(&d.in, &f, &file.version);
            break;
        case 2:
            if (fz_thrift_get_list(&d.in, &f, FZ_THRIFT_STRUCT, MIN_SCHEMA_ELEMENT, &n)) {
                struct fz_pq_schema_element *schema = fz_pq_decoder_take(&d, n, sizeof *schema);
                for (size_t i = 0; i < n && d.in.fault == NULL; i++) {
                    decode_schema_element(&d, &schema[i]);
                }
                file.schema = schema;
                file.n_schema = n;
            }
            break;
        case 3:
            fz_thrift_get_i64(&d.in, &f, &file.num_rows);
            break;
        case 4:
            if (fz_thrift_get_list(&d.in, &f, FZ_THRIFT_STRUCT, MIN_ROW_GROUP, &n)) {
                struct fz_pq_row_group *groups = fz_pq_decoder_take(&d, n, sizeof *groups);
                for (size_t i = 0; i < n && d.in.fault == NULL; i++) {
                    decode_row_group(&d, &groups[i]);
                }
                file.row_groups = groups;
                file.n_row_groups = n;
            }
            break;
        case 5:
            decode_key_values(&d, &f, &file);
            break;
        case 6:
            get_text(&d, &f, &file.created_by);
            break;
        case 7:
            decode_column_orders(&d, &f, &file);
            break;
        default:
            fz_thrift_skip(&d.in, &f);
        }
    }
    if (d.in.fault == NULL && (file.n_schema == 0 || file.num_rows < 0)) {
        fz_thrift_fault(&d.in, file.n_schema == 0 ? "it has no schema" : "it has no row count or a negative one");
    }
    enum fz_code rc = fz_pq_decoder_finish(&d, "footer", err);
    if (rc == FZ_OK) {
        *out = file;
    }
    return rc;
}
