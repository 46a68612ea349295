// Writes the structures of parquet.thrift: footer, page headers, page index. Called by the Parquet writer.
#include "format/parquet/parquet_meta.h"
#include "format/parquet/parquet_thrift.h"

static void put_text(struct fz_thrift_out *out, int *last, int id, const char *text) {
    fz_thrift_put_binary(out, last, id, fz_str_of(text != NULL ? text : ""));
}

static void encode_statistics(struct fz_thrift_out *out, int *parent, int id, const struct fz_pq_statistics *s) {
    if (!s->has_min && !s->has_max && s->null_count < 0 && s->distinct_count < 0) {
        return;
    }
    fz_thrift_put_struct(out, parent, id);
    int last = 0;
    if (s->deprecated && s->has_max) {
        fz_thrift_put_binary(out, &last, 1, s->max);
    }
    if (s->deprecated && s->has_min) {
        fz_thrift_put_binary(out, &last, 2, s->min);
    }
    if (s->null_count >= 0) {
        fz_thrift_put_i64(out, &last, 3, s->null_count);
    }
    if (s->distinct_count >= 0) {
        fz_thrift_put_i64(out, &last, 4, s->distinct_count);
    }
    if (!s->deprecated && s->has_max) {
        fz_thrift_put_binary(out, &last, 5, s->max);
    }
    if (!s->deprecated && s->has_min) {
        fz_thrift_put_binary(out, &last, 6, s->min);
    }
    if (!s->deprecated && s->has_max && !s->max_exact) {
        fz_thrift_put_bool(out, &last, 7, false);
    }
    if (!s->deprecated && s->has_min && !s->min_exact) {
        fz_thrift_put_bool(out, &last, 8, false);
    }
    fz_thrift_put_stop(out);
}

static void encode_empty_struct(struct fz_thrift_out *out, int *last, int id) {
    fz_thrift_put_struct(out, last, id);
    fz_thrift_put_stop(out);
}

// LogicalType is a union: one field, whose value is a struct.
static void encode_logical(struct fz_thrift_out *out, int *parent, int id, const struct fz_pq_schema_element *e) {
    if (e->logical == FZ_PQ_LOGICAL_NONE) {
        return;
    }
    fz_thrift_put_struct(out, parent, id);
    int last = 0;
    fz_thrift_put_struct(out, &last, (int)e->logical);
    int inner = 0;
    if (e->logical == FZ_PQ_LOGICAL_DECIMAL) {
        fz_thrift_put_i32(out, &inner, 1, e->scale);
        fz_thrift_put_i32(out, &inner, 2, e->precision);
    } else if (e->logical == FZ_PQ_LOGICAL_TIME || e->logical == FZ_PQ_LOGICAL_TIMESTAMP) {
        fz_thrift_put_bool(out, &inner, 1, e->logical_utc);
        fz_thrift_put_struct(out, &inner, 2);
        int unit = 0;
        encode_empty_struct(out, &unit, (int)e->unit);
        fz_thrift_put_stop(out);
    } else if (e->logical == FZ_PQ_LOGICAL_INTEGER) {
        fz_thrift_put_i8(out, &inner, 1, e->logical_bit_width);
        fz_thrift_put_bool(out, &inner, 2, e->logical_signed);
    } else if (e->logical == FZ_PQ_LOGICAL_VARIANT) {
        fz_thrift_put_i8(out, &inner, 1, 1); // specification_version
    }
    fz_thrift_put_stop(out);
    fz_thrift_put_stop(out);
}

static void encode_schema_element(struct fz_thrift_out *out, const struct fz_pq_schema_element *e) {
    int last = 0;
    if (e->type >= 0) {
        fz_thrift_put_i32(out, &last, 1, e->type);
    }
    if (e->type == FZ_PQ_FIXED) {
        fz_thrift_put_i32(out, &last, 2, e->type_length);
    }
    if (e->repetition >= 0) {
        fz_thrift_put_i32(out, &last, 3, e->repetition);
    }
    put_text(out, &last, 4, e->name);
    if (e->type < 0) {
        fz_thrift_put_i32(out, &last, 5, e->num_children);
    }
    if (e->converted != FZ_PQ_CONV_NONE) {
        fz_thrift_put_i32(out, &last, 6, e->converted);
    }
    if (e->converted == FZ_PQ_CONV_DECIMAL) {
        fz_thrift_put_i32(out, &last, 7, e->scale);
        fz_thrift_put_i32(out, &last, 8, e->precision);
    }
    if (e->field_id >= 0) {
        fz_thrift_put_i32(out, &last, 9, e->field_id);
    }
    encode_logical(out, &last, 10, e);
    fz_thrift_put_stop(out);
}

static void put_optional_i64(struct fz_thrift_out *out, int *last, int id, int64_t value) {
    if (value >= 0) {
        fz_thrift_put_i64(out, last, id, value);
    }
}

static void encode_column_meta(struct fz_thrift_out *out, int *parent, int id, const struct fz_pq_column_chunk *c) {
    fz_thrift_put_struct(out, parent, id);
    int last = 0;
    fz_thrift_put_i32(out, &last, 1, c->type);
    fz_thrift_put_list(out, &last, 2, FZ_THRIFT_I32, c->n_encodings);
    for (size_t i = 0; i < c->n_encodings; i++) {
        fz_thrift_write_int(out, c->encodings[i]);
    }
    fz_thrift_put_list(out, &last, 3, FZ_THRIFT_BINARY, c->n_path);
    for (size_t i = 0; i < c->n_path; i++) {
        fz_thrift_write_binary(out, c->path[i]);
    }
    fz_thrift_put_i32(out, &last, 4, c->codec);
    fz_thrift_put_i64(out, &last, 5, c->num_values);
    fz_thrift_put_i64(out, &last, 6, c->total_uncompressed_size);
    fz_thrift_put_i64(out, &last, 7, c->total_compressed_size);
    fz_thrift_put_i64(out, &last, 9, c->data_page_offset);
    put_optional_i64(out, &last, 10, c->index_page_offset);
    put_optional_i64(out, &last, 11, c->dictionary_page_offset);
    encode_statistics(out, &last, 12, &c->statistics);
    if (c->n_encoding_stats > 0) {
        fz_thrift_put_list(out, &last, 13, FZ_THRIFT_STRUCT, c->n_encoding_stats);
        for (size_t i = 0; i < c->n_encoding_stats; i++) {
            int inner = 0;
            fz_thrift_put_i32(out, &inner, 1, c->encoding_stats[i].page_type);
            fz_thrift_put_i32(out, &inner, 2, c->encoding_stats[i].encoding);
            fz_thrift_put_i32(out, &inner, 3, c->encoding_stats[i].count);
            fz_thrift_put_stop(out);
        }
    }
    put_optional_i64(out, &last, 14, c->bloom_filter_offset);
    if (c->bloom_filter_length >= 0) {
        fz_thrift_put_i32(out, &last, 15, (int32_t)c->bloom_filter_length);
    }
    fz_thrift_put_stop(out);
}

static void encode_column_chunk(struct fz_thrift_out *out, const struct fz_pq_column_chunk *c) {
    int last = 0;
    if (c->file_path != NULL) {
        put_text(out, &last, 1, c->file_path);
    }
    fz_thrift_put_i64(out, &last, 2, 0); // file_offset: deprecated, the specification asks for 0
    encode_column_meta(out, &last, 3, c);
    if (c->offset_index_offset >= 0) {
        fz_thrift_put_i64(out, &last, 4, c->offset_index_offset);
        fz_thrift_put_i32(out, &last, 5, c->offset_index_length);
    }
    if (c->column_index_offset >= 0) {
        fz_thrift_put_i64(out, &last, 6, c->column_index_offset);
        fz_thrift_put_i32(out, &last, 7, c->column_index_length);
    }
    fz_thrift_put_stop(out);
}

static void encode_row_group(struct fz_thrift_out *out, const struct fz_pq_row_group *g, size_t ordinal) {
    int last = 0;
    fz_thrift_put_list(out, &last, 1, FZ_THRIFT_STRUCT, g->n_columns);
    for (size_t i = 0; i < g->n_columns; i++) {
        encode_column_chunk(out, &g->columns[i]);
    }
    fz_thrift_put_i64(out, &last, 2, g->total_byte_size);
    fz_thrift_put_i64(out, &last, 3, g->num_rows);
    if (g->n_sorting > 0) {
        fz_thrift_put_list(out, &last, 4, FZ_THRIFT_STRUCT, g->n_sorting);
        for (size_t i = 0; i < g->n_sorting; i++) {
            int inner = 0;
            fz_thrift_put_i32(out, &inner, 1, g->sorting[i][0]);
            fz_thrift_put_bool(out, &inner, 2, g->sorting[i][1] != 0);
            fz_thrift_put_bool(out, &inner, 3, g->sorting[i][2] != 0);
            fz_thrift_put_stop(out);
        }
    }
    put_optional_i64(out, &last, 5, g->file_offset);
    put_optional_i64(out, &last, 6, g->total_compressed_size);
    if (ordinal <= INT16_MAX) {
        fz_thrift_put_field(out, &last, 7, FZ_THRIFT_I16);
        fz_thrift_write_int(out, (int64_t)ordinal);
    }
    fz_thrift_put_stop(out);
}

void fz_pq_file_encode(struct fz_buf *buf, const struct fz_pq_file *file) {
    struct fz_thrift_out out = {buf};
    int last = 0;
    fz_thrift_put_i32(&out, &last, 1, file->version);
    fz_thrift_put_list(&out, &last, 2, FZ_THRIFT_STRUCT, file->n_schema);
    for (size_t i = 0; i < file->n_schema; i++) {
        encode_schema_element(&out, &file->schema[i]);
    }
    fz_thrift_put_i64(&out, &last, 3, file->num_rows);
    fz_thrift_put_list(&out, &last, 4, FZ_THRIFT_STRUCT, file->n_row_groups);
    for (size_t i = 0; i < file->n_row_groups; i++) {
        encode_row_group(&out, &file->row_groups[i], i);
    }
    if (file->n_key_values > 0) {
        fz_thrift_put_list(&out, &last, 5, FZ_THRIFT_STRUCT, file->n_key_values);
        for (size_t i = 0; i < file->n_key_values; i++) {
            int inner = 0;
            put_text(&out, &inner, 1, file->key_values[i].key);
            if (file->key_values[i].value != NULL) {
                put_text(&out, &inner, 2, file->key_values[i].value);
            }
            fz_thrift_put_stop(&out);
        }
    }
    if (file->created_by != NULL) {
        put_text(&out, &last, 6, file->created_by);
    }
    if (file->n_column_orders > 0) {
        fz_thrift_put_list(&out, &last, 7, FZ_THRIFT_STRUCT, file->n_column_orders);
        for (size_t i = 0; i < file->n_column_orders; i++) {
            int inner = 0;
            encode_empty_struct(&out, &inner, 1); // TYPE_ORDER
            fz_thrift_put_stop(&out);
        }
    }
    fz_thrift_put_stop(&out);
}

static void encode_data_page(struct fz_thrift_out *out, int *last, const struct fz_pq_page_header *h) {
    fz_thrift_put_struct(out, last, 5);
    int inner = 0;
    fz_thrift_put_i32(out, &inner, 1, h->num_values);
    fz_thrift_put_i32(out, &inner, 2, h->encoding);
    fz_thrift_put_i32(out, &inner, 3, h->definition_level_encoding);
    fz_thrift_put_i32(out, &inner, 4, h->repetition_level_encoding);
    encode_statistics(out, &inner, 5, &h->statistics);
    fz_thrift_put_stop(out);
}

static void encode_data_page_v2(struct fz_thrift_out *out, int *last, const struct fz_pq_page_header *h) {
    fz_thrift_put_struct(out, last, 8);
    int inner = 0;
    fz_thrift_put_i32(out, &inner, 1, h->num_values);
    fz_thrift_put_i32(out, &inner, 2, h->num_nulls);
    fz_thrift_put_i32(out, &inner, 3, h->num_rows);
    fz_thrift_put_i32(out, &inner, 4, h->encoding);
    fz_thrift_put_i32(out, &inner, 5, h->definition_levels_byte_length);
    fz_thrift_put_i32(out, &inner, 6, h->repetition_levels_byte_length);
    fz_thrift_put_bool(out, &inner, 7, h->is_compressed);
    encode_statistics(out, &inner, 8, &h->statistics);
    fz_thrift_put_stop(out);
}

void fz_pq_page_header_encode(struct fz_buf *buf, const struct fz_pq_page_header *h) {
    struct fz_thrift_out out = {buf};
    int last = 0;
    fz_thrift_put_i32(&out, &last, 1, (int32_t)h->type);
    fz_thrift_put_i32(&out, &last, 2, h->uncompressed_page_size);
    fz_thrift_put_i32(&out, &last, 3, h->compressed_page_size);
    if (h->has_crc) {
        fz_thrift_put_i32(&out, &last, 4, (int32_t)h->crc);
    }
    switch (h->type) {
    case FZ_PQ_DATA_PAGE:
        encode_data_page(&out, &last, h);
        break;
    case FZ_PQ_INDEX_PAGE:
        encode_empty_struct(&out, &last, 6);
        break;
    case FZ_PQ_DICTIONARY_PAGE: {
        fz_thrift_put_struct(&out, &last, 7);
        int inner = 0;
        fz_thrift_put_i32(&out, &inner, 1, h->num_values);
        fz_thrift_put_i32(&out, &inner, 2, h->encoding);
        if (h->is_sorted) {
            fz_thrift_put_bool(&out, &inner, 3, true);
        }
        fz_thrift_put_stop(&out);
        break;
    }
    case FZ_PQ_DATA_PAGE_V2:
        encode_data_page_v2(&out, &last, h);
        break;
    }
    fz_thrift_put_stop(&out);
}

void fz_pq_offset_index_encode(struct fz_buf *buf, const struct fz_pq_offset_index *index) {
    struct fz_thrift_out out = {buf};
    int last = 0;
    fz_thrift_put_list(&out, &last, 1, FZ_THRIFT_STRUCT, index->n_pages);
    for (size_t i = 0; i < index->n_pages; i++) {
        int inner = 0;
        fz_thrift_put_i64(&out, &inner, 1, index->pages[i].offset);
        fz_thrift_put_i32(&out, &inner, 2, index->pages[i].compressed_page_size);
        fz_thrift_put_i64(&out, &inner, 3, index->pages[i].first_row_index);
        fz_thrift_put_stop(&out);
    }
    fz_thrift_put_stop(&out);
}

void fz_pq_column_index_encode(struct fz_buf *buf, const struct fz_pq_column_index *index) {
    struct fz_thrift_out out = {buf};
    int last = 0;
    fz_thrift_put_list(&out, &last, 1, FZ_THRIFT_TRUE, index->n_pages);
    for (size_t i = 0; i < index->n_pages; i++) {
        fz_thrift_write_bool(&out, index->null_pages[i]);
    }
    fz_thrift_put_list(&out, &last, 2, FZ_THRIFT_BINARY, index->n_pages);
    for (size_t i = 0; i < index->n_pages; i++) {
        fz_thrift_write_binary(&out, index->min_values[i]);
    }
    fz_thrift_put_list(&out, &last, 3, FZ_THRIFT_BINARY, index->n_pages);
    for (size_t i = 0; i < index->n_pages; i++) {
        fz_thrift_write_binary(&out, index->max_values[i]);
    }
    fz_thrift_put_i32(&out, &last, 4, index->boundary_order);
    if (index->null_counts != NULL) {
        fz_thrift_put_list(&out, &last, 5, FZ_THRIFT_I64, index->n_pages);
        for (size_t i = 0; i < index->n_pages; i++) {
            fz_thrift_write_int(&out, index->null_counts[i]);
        }
    }
    fz_thrift_put_stop(&out);
}
