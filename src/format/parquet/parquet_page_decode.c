// Reads page headers, offset indexes and column indexes of parquet.thrift; see parquet_meta_decode.c.
#include "format/parquet/parquet_meta_decode.h"

enum { MIN_PAGE_LOCATION = 7 }; // bytes of a well-formed one

static void decode_data_page(struct fz_pq_decoder *d, struct fz_pq_page_header *h) {
    struct fz_thrift_field f = {0};
    while (fz_thrift_next_field(&d->in, &f)) {
        switch (f.id) {
        case 1:
            fz_thrift_get_i32(&d->in, &f, &h->num_values);
            break;
        case 2:
            fz_thrift_get_i32(&d->in, &f, &h->encoding);
            break;
        case 3:
            fz_thrift_get_i32(&d->in, &f, &h->definition_level_encoding);
            break;
        case 4:
            fz_thrift_get_i32(&d->in, &f, &h->repetition_level_encoding);
            break;
        case 5:
            if (fz_thrift_get_struct(&d->in, &f)) {
                fz_pq_statistics_decode(d, &h->statistics);
            }
            break;
        default:
            fz_thrift_skip(&d->in, &f);
        }
    }
}

static void decode_dictionary_page(struct fz_pq_decoder *d, struct fz_pq_page_header *h) {
    struct fz_thrift_field f = {0};
    while (fz_thrift_next_field(&d->in, &f)) {
        switch (f.id) {
        case 1:
            fz_thrift_get_i32(&d->in, &f, &h->num_values);
            break;
        case 2:
            fz_thrift_get_i32(&d->in, &f, &h->encoding);
            break;
        case 3:
            fz_thrift_get_bool(&d->in, &f, &h->is_sorted);
            break;
        default:
            fz_thrift_skip(&d->in, &f);
        }
    }
}

static void decode_data_page_v2(struct fz_pq_decoder *d, struct fz_pq_page_header *h) {
    struct fz_thrift_field f = {0};
    h->is_compressed = true;
    while (fz_thrift_next_field(&d->in, &f)) {
        switch (f.id) {
        case 1:
            fz_thrift_get_i32(&d->in, &f, &h->num_values);
            break;
        case 2:
            fz_thrift_get_i32(&d->in, &f, &h->num_nulls);
            break;
        case 3:
            fz_thrift_get_i32(&d->in, &f, &h->num_rows);
            break;
        case 4:
            fz_thrift_get_i32(&d->in, &f, &h->encoding);
            break;
        case 5:
            fz_thrift_get_i32(&d->in, &f, &h->definition_levels_byte_length);
            break;
        case 6:
            fz_thrift_get_i32(&d->in, &f, &h->repetition_levels_byte_length);
            break;
        case 7:
            fz_thrift_get_bool(&d->in, &f, &h->is_compressed);
            break;
        case 8:
            if (fz_thrift_get_struct(&d->in, &f)) {
                fz_pq_statistics_decode(d, &h->statistics);
            }
            break;
        default:
            fz_thrift_skip(&d->in, &f);
        }
    }
}

static void check_page_header(struct fz_pq_decoder *d, int type, const struct fz_pq_page_header *h, int body) {
    if (d->in.fault != NULL) {
        return;
    }
    static const int body_of[] = {5, 6, 7, 8};
    if (type < FZ_PQ_DATA_PAGE || type > FZ_PQ_DATA_PAGE_V2) {
        fz_thrift_fault(&d->in, "unknown page type");
    } else if (type != FZ_PQ_INDEX_PAGE && body != body_of[type]) {
        fz_thrift_fault(&d->in, "the page type and the header that follows do not fit each other");
    } else if (h->uncompressed_page_size < 0 || h->compressed_page_size < 0) {
        fz_thrift_fault(&d->in, "page size missing or negative");
    } else if (h->num_values < 0 || h->num_nulls < 0 || h->num_rows < 0 || h->num_nulls > h->num_values) {
        fz_thrift_fault(&d->in, "value, null or row count is negative or too large");
    } else if (h->definition_levels_byte_length < 0 || h->repetition_levels_byte_length < 0) {
        fz_thrift_fault(&d->in, "levels have a negative length");
    }
}

enum fz_code fz_pq_page_header_decode(struct fz_arena *arena, const void *data, size_t len,
                                      struct fz_pq_page_header *out, size_t *used, struct fz_err *err) {
    struct fz_pq_decoder d = {.in = {.pos = data, .end = (const uint8_t *)data + len}, .arena = arena};
    struct fz_pq_page_header h = {.uncompressed_page_size = -1, .compressed_page_size = -1};
    h.statistics =
        (struct fz_pq_statistics){.min_exact = true, .max_exact = true, .null_count = -1, .distinct_count = -1};
    struct fz_thrift_field f = {0};
    int32_t type = -1, crc = 0;
    int body = 0;
    while (fz_thrift_next_field(&d.in, &f)) {
        switch (f.id) {
        case 1:
            fz_thrift_get_i32(&d.in, &f, &type);
            break;
        case 2:
            fz_thrift_get_i32(&d.in, &f, &h.uncompressed_page_size);
            break;
        case 3:
            fz_thrift_get_i32(&d.in, &f, &h.compressed_page_size);
            break;
        case 4:
            if (fz_thrift_get_i32(&d.in, &f, &crc)) {
                h.has_crc = true;
                h.crc = (uint32_t)crc;
            }
            break;
        case 5:
        case 7:
        case 8:
            if (fz_thrift_get_struct(&d.in, &f)) {
                body = f.id;
                (f.id == 5 ? decode_data_page : f.id == 7 ? decode_dictionary_page : decode_data_page_v2)(&d, &h);
            }
            break;
        default:
            fz_thrift_skip(&d.in, &f);
        }
    }
    check_page_header(&d, type, &h, body);
    const uint8_t *end = d.in.pos;
    enum fz_code rc = fz_pq_decoder_finish(&d, "page header", err);
    if (rc == FZ_OK) {
        h.type = (enum fz_pq_page_type)type;
        *out = h;
        if (used != NULL) {
            *used = (size_t)(end - (const uint8_t *)data);
        }
    }
    return rc;
}

static void decode_page_location(struct fz_pq_decoder *d, struct fz_pq_page_location *p) {
    *p = (struct fz_pq_page_location){-1, -1, -1};
    struct fz_thrift_field f = {0};
    while (fz_thrift_next_field(&d->in, &f)) {
        if (f.id == 1) {
            fz_thrift_get_i64(&d->in, &f, &p->offset);
        } else if (f.id == 2) {
            fz_thrift_get_i32(&d->in, &f, &p->compressed_page_size);
        } else if (f.id == 3) {
            fz_thrift_get_i64(&d->in, &f, &p->first_row_index);
        } else {
            fz_thrift_skip(&d->in, &f);
        }
    }
    if (d->in.fault == NULL && (p->offset < 0 || p->compressed_page_size < 0 || p->first_row_index < 0)) {
        fz_thrift_fault(&d->in, "a page location is incomplete or negative");
    }
}

enum fz_code fz_pq_offset_index_decode(struct fz_arena *arena, const void *data, size_t len,
                                       struct fz_pq_offset_index *out, struct fz_err *err) {
    struct fz_pq_decoder d = {.in = {.pos = data, .end = (const uint8_t *)data + len}, .arena = arena};
    struct fz_pq_offset_index index = {0};
    struct fz_thrift_field f = {0};
    size_t n = 0;
    while (fz_thrift_next_field(&d.in, &f)) {
        if (f.id == 1 && fz_thrift_get_list(&d.in, &f, FZ_THRIFT_STRUCT, MIN_PAGE_LOCATION, &n)) {
            struct fz_pq_page_location *pages = fz_pq_decoder_take(&d, n, sizeof *pages);
            for (size_t i = 0; i < n && d.in.fault == NULL; i++) {
                decode_page_location(&d, &pages[i]);
                if (i > 0 && d.in.fault == NULL && pages[i].first_row_index < pages[i - 1].first_row_index) {
                    fz_thrift_fault(&d.in, "pages are not in the order of their rows");
                }
            }
            index.pages = pages;
            index.n_pages = n;
        } else if (f.id != 1) {
            fz_thrift_skip(&d.in, &f);
        }
    }
    enum fz_code rc = fz_pq_decoder_finish(&d, "offset index", err);
    if (rc == FZ_OK) {
        *out = index;
    }
    return rc;
}

// A list that must have one element a page; the first such list fixes the number of pages.
static bool open_page_list(struct fz_pq_decoder *d, const struct fz_thrift_field *f, enum fz_thrift_type element,
                           bool *known, size_t *n_pages) {
    size_t n = 0;
    if (!fz_thrift_get_list(&d->in, f, element, 1, &n)) {
        return false;
    }
    if (*known && n != *n_pages) {
        fz_thrift_fault(&d->in, "its lists have different lengths");
        return false;
    }
    *known = true;
    *n_pages = n;
    return true;
}

static const struct fz_str *decode_page_values(struct fz_pq_decoder *d, size_t n) {
    struct fz_str *values = fz_pq_decoder_take(d, n, sizeof *values);
    for (size_t i = 0; i < n && d->in.fault == NULL; i++) {
        values[i] = fz_pq_decoder_keep(d, fz_thrift_read_binary(&d->in));
    }
    return values;
}

enum fz_code fz_pq_column_index_decode(struct fz_arena *arena, const void *data, size_t len,
                                       struct fz_pq_column_index *out, struct fz_err *err) {
    struct fz_pq_decoder d = {.in = {.pos = data, .end = (const uint8_t *)data + len}, .arena = arena};
    struct fz_pq_column_index index = {0};
    struct fz_thrift_field f = {0};
    bool known = false;
    size_t n = 0;
    while (fz_thrift_next_field(&d.in, &f)) {
        if (f.id == 1) {
            if (open_page_list(&d, &f, FZ_THRIFT_TRUE, &known, &n)) {
                bool *nulls = fz_pq_decoder_take(&d, n, sizeof *nulls);
                for (size_t i = 0; i < n && d.in.fault == NULL; i++) {
                    nulls[i] = fz_thrift_read_bool(&d.in);
                }
                index.null_pages = nulls;
            }
        } else if (f.id == 2 || f.id == 3) {
            if (open_page_list(&d, &f, FZ_THRIFT_BINARY, &known, &n)) {
                *(f.id == 2 ? &index.min_values : &index.max_values) = decode_page_values(&d, n);
            }
        } else if (f.id == 4) {
            int32_t order = 0;
            if (fz_thrift_get_i32(&d.in, &f, &order)) {
                index.boundary_order = order >= 0 && order <= 2 ? order : 0;
            }
        } else if (f.id == 5) {
            if (open_page_list(&d, &f, FZ_THRIFT_I64, &known, &n)) {
                int64_t *counts = fz_pq_decoder_take(&d, n, sizeof *counts);
                for (size_t i = 0; i < n && d.in.fault == NULL; i++) {
                    counts[i] = fz_thrift_read_int(&d.in);
                }
                index.null_counts = counts;
            }
        } else {
            fz_thrift_skip(&d.in, &f);
        }
    }
    if (d.in.fault == NULL && (index.null_pages == NULL || index.min_values == NULL || index.max_values == NULL)) {
        fz_thrift_fault(&d.in, "null pages or bounds are missing");
    }
    enum fz_code rc = fz_pq_decoder_finish(&d, "column index", err);
    if (rc == FZ_OK) {
        index.n_pages = n;
        *out = index;
    }
    return rc;
}
