// The Parquet writer: bytes of the RLE hybrid as in the spec's example, footer and page index decoded again and compared with
// arithmetic on the sample formulas, errors, and every value read back through the reader. Other readers: test/interop.
#include "leak_check.h"

#include <math.h>

#include "format/parquet/parquet_reader.h"
#include "format/parquet/parquet_writer_priv.h"
#include "format/parquet_sample.h"

static const struct fz_parquet_write DEFAULTS = {
    .codec = FZ_PQ_ZSTD, .level = -1, .default_metrics = FZ_METRICS_TRUNCATE, .default_metrics_length = 16};

static void rle_hybrid_as_in_the_spec(void **state) {
    (void)state;
    struct fz_buf out = {0};
    const uint32_t up[] = {0, 1, 2, 3, 4, 5, 6, 7}; // the spec's example of bit packing
    fz_pw_rle_append(&out, up, 8, 3);
    const uint8_t packed[] = {3, 0x88, 0xC6, 0xFA};
    assert_int_equal(out.len, sizeof packed);
    assert_memory_equal(out.ptr, packed, sizeof packed);
    fz_buf_clear(&out);
    uint32_t mixed[8 + 100 + 3]; // literals that borrow from a run, the run, literals that end early
    for (size_t i = 0; i < 111; i++) {
        mixed[i] = i < 4 ? (uint32_t)i : i < 108 ? 5 : (uint32_t)(i - 106);
    }
    fz_pw_rle_append(&out, mixed, 111, 3);
    // one group (0 1 2 3 5 5 5 5), RLE run of 100 fives, one group (2 3 4 0 …)
    const uint8_t want[] = {3, 0x88, 0xD6, 0xB6, 0xC8, 1, 5, 3, 0x1A, 1, 0};
    assert_int_equal(out.len, sizeof want);
    assert_memory_equal(out.ptr, want, sizeof want);
    fz_buf_clear(&out);
    fz_pw_rle_run(&out, 300, 1000, 9);
    const uint8_t run[] = {0xD0, 0x0F, 0x2C, 0x01};
    assert_memory_equal(out.ptr, run, sizeof run);
    assert_int_equal(fz_pw_bit_width(0), 0);
    assert_int_equal(fz_pw_bit_width(1), 1);
    assert_int_equal(fz_pw_bit_width(255), 8);
    assert_int_equal(fz_pw_bit_width(256), 9);
    fz_buf_dispose(&out);
}

struct opened {
    struct sample_sink sink;
    struct fz_arena arena;
    struct fz_parquet_metrics metrics;
    struct fz_pq_file file;
};
static void decode_footer(struct opened *o) {
    struct fz_err err = FZ_ERR_INIT;
    const struct fz_buf *b = &o->sink.bytes;
    uint32_t len;
    assert_true(b->len > 12 && o->sink.closed && !o->sink.aborted);
    assert_memory_equal(b->ptr, "PAR1", 4);
    assert_memory_equal(b->ptr + b->len - 4, "PAR1", 4);
    memcpy(&len, b->ptr + b->len - 8, 4);
    assert_true(len < b->len - 12);
    FZ_OK_OR_FAIL(fz_pq_file_decode(&o->arena, b->ptr + b->len - 8 - len, len, &o->file, &err), &err);
    assert_int_equal(o->metrics.file_size_bytes, b->len);
}
static void dispose(struct opened *o) {
    fz_buf_dispose(&o->sink.bytes);
    fz_arena_dispose(&o->arena);
}

static void pages_end_at_the_same_rows(void **state) {
    (void)state;
    struct opened o = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_parquet_write options = DEFAULTS;
    options.row_group_rows = 42000;
    FZ_OK_OR_FAIL(sample_write_flat(sample_open(&o.sink), options, 100000, &o.arena, &o.metrics, &err), &err);
    decode_footer(&o);
    assert_int_equal(o.file.num_rows, 100000);
    assert_int_equal(o.file.n_row_groups, 3);
    assert_int_equal(o.file.n_column_orders, SAMPLE_FLAT_FIELDS);
    int64_t first = 0;
    for (size_t g = 0; g < 3; g++) {
        const struct fz_pq_row_group *group = &o.file.row_groups[g];
        int64_t rows = g < 2 ? 42000 : 16000;
        assert_int_equal(group->num_rows, rows);
        assert_int_equal(o.metrics.split_offsets[g], group->columns[0].dictionary_page_offset > 0
                                                         ? group->columns[0].dictionary_page_offset
                                                         : group->columns[0].data_page_offset);
        for (size_t c = 0; c < SAMPLE_FLAT_FIELDS; c++) {
            const struct fz_pq_column_chunk *chunk = &group->columns[c];
            struct fz_pq_offset_index offsets;
            struct fz_pq_column_index index;
            FZ_OK_OR_FAIL(fz_pq_offset_index_decode(&o.arena, o.sink.bytes.ptr + chunk->offset_index_offset,
                                                    (size_t)chunk->offset_index_length, &offsets, &err),
                          &err);
            assert_int_equal(offsets.n_pages, g < 2 ? 3 : 1);
            FZ_OK_OR_FAIL(fz_pq_column_index_decode(&o.arena, o.sink.bytes.ptr + chunk->column_index_offset,
                                                    (size_t)chunk->column_index_length, &index, &err),
                          &err);
            assert_int_equal(index.n_pages, offsets.n_pages);
            int64_t nulls = 0;
            for (size_t p = 0; p < offsets.n_pages; p++) {
                assert_int_equal(offsets.pages[p].first_row_index, (int64_t)p * 20000);
                int64_t from = first + (int64_t)p * 20000, to = p + 1 < offsets.n_pages ? from + 20000 : first + rows,
                        here = 0;
                for (int64_t r = from; r < to; r++) {
                    here += sample_is_null((int)c, r);
                }
                assert_int_equal(index.null_counts[p], here);
                assert_false(index.null_pages[p]);
                nulls += here;
                struct fz_pq_page_header header;
                size_t used = 0;
                FZ_OK_OR_FAIL(fz_pq_page_header_decode(&o.arena, o.sink.bytes.ptr + offsets.pages[p].offset,
                                                       (size_t)offsets.pages[p].compressed_page_size, &header, &used,
                                                       &err),
                              &err);
                assert_int_equal((int64_t)used + header.compressed_page_size, offsets.pages[p].compressed_page_size);
                assert_int_equal(header.num_values, to - from);
                assert_true(header.has_crc);
            }
            assert_int_equal(chunk->statistics.null_count, nulls);
            assert_int_equal(chunk->num_values, rows);
        }
        const struct fz_pq_column_chunk *r =
            &group->columns[SAMPLE_FLAT_FIELDS - 1]; // r: ascending, its bounds are its ends
        struct fz_pq_column_index index;
        FZ_OK_OR_FAIL(fz_pq_column_index_decode(&o.arena, o.sink.bytes.ptr + r->column_index_offset,
                                                (size_t)r->column_index_length, &index, &err),
                      &err);
        assert_int_equal(index.boundary_order, 1);
        int64_t lo, hi, last = first + rows - 1;
        memcpy(&lo, r->statistics.min.ptr, 8);
        memcpy(&hi, r->statistics.max.ptr, 8);
        assert_true(lo == first && hi == last);
        first += rows;
    }
    dispose(&o);
}

// One optional column with the given values; `null` rows are NULL.
static void write_column(struct opened *o, const struct fz_type *type, struct fz_parquet_write options, size_t n,
                         void (*fill)(struct fz_column *, size_t)) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_field field = {.id = 9, .name = "v", .type = type};
    struct fz_batch batch = {0};
    struct fz_parquet_writer *w = NULL;
    options.fields = &field;
    options.n_fields = 1;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, &field, 1, FZ_BATCH_ROWS, &err), &err);
    fz_column_reset(&batch.columns[0]);
    batch.n_rows = n;
    for (size_t i = 0; i < n; i++) {
        fill(&batch.columns[0], i);
    }
    FZ_OK_OR_FAIL(fz_parquet_writer_open(sample_open(&o->sink), &options, &w, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_writer_append(w, &batch, 0, NULL, n, &err), &err);
    assert_int_equal(fz_parquet_writer_rows(w), n);
    FZ_OK_OR_FAIL(fz_parquet_writer_close(w, &o->arena, &o->metrics, &err), &err);
    fz_batch_dispose(&batch);
    decode_footer(o);
}

static void fill_zeros(struct fz_column *c, size_t i) { // 0.0, -0.0, NaN, NULL, 0.0 …
    if (i % 4 == 3) {
        fz_column_set_null(c, i);
    } else {
        ((double *)c->data)[i] = i % 4 == 0 ? 0.0 : i % 4 == 1 ? -0.0 : NAN;
    }
}
static void fill_positive_zero(struct fz_column *c, size_t i) {
    ((double *)c->data)[i] = i == 0 ? 0.0 : 1.5;
}
static void fill_nan(struct fz_column *c, size_t i) {
    ((double *)c->data)[i] = NAN;
}
static void fill_null(struct fz_column *c, size_t i) {
    fz_column_set_null(c, i);
}

static double as_double(struct fz_str s) {
    double d;
    assert_int_equal(s.len, 8);
    memcpy(&d, s.ptr, 8);
    return d;
}

static void floats_follow_the_rules_of_the_specs(void **state) {
    (void)state;
    const struct fz_type *f64 = fz_type_primitive(FZ_TYPE_DOUBLE);
    struct opened o = {0};
    write_column(&o, f64, DEFAULTS, 400, fill_zeros);
    const struct fz_pq_statistics *s = &o.file.row_groups[0].columns[0].statistics;
    assert_true(s->has_min && s->has_max && s->null_count == 100);
    assert_true(as_double(s->min) == 0 && signbit(as_double(s->min)) && as_double(s->max) == 0 &&
                !signbit(as_double(s->max)));
    const struct fz_parquet_column_metrics *m = &o.metrics.columns[0];
    assert_true(m->has_bounds && m->value_count == 400 && m->null_count == 100 && m->nan_count == 100);
    assert_true(signbit(m->lower.u.f64) && !signbit(m->upper.u.f64)); // Iceberg: -0.0 < +0.0
    dispose(&o);

    o = (struct opened){0};
    write_column(&o, f64, DEFAULTS, 10, fill_positive_zero);
    s = &o.file.row_groups[0].columns[0].statistics;
    assert_true(signbit(as_double(s->min)) && as_double(s->max) == 1.5);
    assert_false(signbit(o.metrics.columns[0].lower.u.f64)); // exact for Iceberg
    dispose(&o);

    o = (struct opened){0};
    write_column(&o, f64, DEFAULTS, 10, fill_nan);
    s = &o.file.row_groups[0].columns[0].statistics;
    assert_false(s->has_min || s->has_max);
    assert_int_equal(o.file.row_groups[0].columns[0].column_index_offset,
                     -1); // a page of NaN only cannot be in a column index
    assert_true(o.file.row_groups[0].columns[0].offset_index_offset > 0);
    assert_false(o.metrics.columns[0].has_bounds);
    assert_int_equal(o.metrics.columns[0].nan_count, 10);
    dispose(&o);

    o = (struct opened){0};
    write_column(&o, f64, DEFAULTS, 10, fill_null);
    const struct fz_pq_column_chunk *chunk = &o.file.row_groups[0].columns[0];
    struct fz_pq_column_index index;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_pq_column_index_decode(&o.arena, o.sink.bytes.ptr + chunk->column_index_offset,
                                            (size_t)chunk->column_index_length, &index, &err),
                  &err);
    assert_true(index.n_pages == 1 && index.null_pages[0] && index.null_counts[0] == 10);
    assert_false(o.metrics.columns[0].has_bounds);
    dispose(&o);
}

static char long_text[1001];
static void fill_long(struct fz_column *c, size_t i) { // 0: 1,000 times 'a'; 1: 1,000 times 'ü' halves
    memset(long_text, 'a', 1000);
    ((struct fz_string *)c->data)[i] = fz_string_of(long_text, 1000);
}
static char highest[400];
static void fill_highest(struct fz_column *c, size_t i) { // U+10FFFF a hundred times: nothing is greater
    for (size_t j = 0; j < 100; j++) {
        memcpy(highest + 4 * j, "\xF4\x8F\xBF\xBF", 4);
    }
    ((struct fz_string *)c->data)[i] = fz_string_of(highest, 400);
}

static void long_text_is_cut_in_statistics_and_bounds(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    const struct fz_type *text = fz_type_primitive(FZ_TYPE_STRING);
    struct opened o = {0};
    write_column(&o, text, DEFAULTS, 10, fill_long);
    const struct fz_pq_column_chunk *chunk = &o.file.row_groups[0].columns[0];
    const struct fz_pq_statistics *s = &chunk->statistics;
    assert_true(!s->min_exact && !s->max_exact && s->min.len == 256 && s->max.len == 256);
    assert_int_equal(s->min.ptr[255], 'a');
    assert_int_equal(s->max.ptr[255], 'b');
    struct fz_pq_column_index index;
    FZ_OK_OR_FAIL(fz_pq_column_index_decode(&o.arena, o.sink.bytes.ptr + chunk->column_index_offset,
                                            (size_t)chunk->column_index_length, &index, &err),
                  &err);
    assert_int_equal(index.min_values[0].len, 64);
    assert_int_equal(index.max_values[0].len, 64);
    assert_int_equal(o.metrics.columns[0].lower.u.bytes.len, 16);
    assert_memory_equal(o.metrics.columns[0].upper.u.bytes.ptr, "aaaaaaaaaaaaaaab", 16);
    dispose(&o);

    o = (struct opened){0};
    struct fz_parquet_write options = DEFAULTS;
    options.default_metrics = FZ_METRICS_FULL;
    write_column(&o, text, options, 10, fill_long);
    assert_int_equal(o.metrics.columns[0].upper.u.bytes.len, 1000);
    dispose(&o);

    o = (struct opened){0};
    struct fz_parquet_column_options column = {.field_id = 9, .metrics = FZ_METRICS_COUNTS};
    options.columns = &column;
    options.n_columns = 1;
    write_column(&o, text, options, 10, fill_long);
    assert_true(o.metrics.columns[0].has_counts && !o.metrics.columns[0].has_bounds);
    dispose(&o);

    o = (struct opened){0};
    column.metrics = FZ_METRICS_NONE;
    write_column(&o, text, options, 10, fill_long);
    assert_true(!o.metrics.columns[0].has_counts && !o.metrics.columns[0].has_bounds &&
                o.metrics.columns[0].column_size > 0);
    dispose(&o);

    o = (struct opened){0};
    write_column(&o, text, DEFAULTS, 10, fill_highest);
    chunk = &o.file.row_groups[0].columns[0];
    FZ_OK_OR_FAIL(fz_pq_column_index_decode(&o.arena, o.sink.bytes.ptr + chunk->column_index_offset,
                                            (size_t)chunk->column_index_length, &index, &err),
                  &err);
    assert_int_equal(index.max_values[0].len, 400); // no shorter upper bound exists
    assert_true(o.metrics.columns[0].has_bounds && o.metrics.columns[0].upper.is_null &&
                !o.metrics.columns[0].lower.is_null);
    dispose(&o);
}

static void null_in_a_required_column(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_field inner = {.id = 2, .name = "n", .required = true, .type = fz_type_primitive(FZ_TYPE_LONG)};
    struct fz_field fields[] = {{.id = 1, .name = "s", .type = fz_type_struct(&arena, &inner, 1)},
                                {.id = 3, .name = "k", .required = true, .type = fz_type_primitive(FZ_TYPE_LONG)}};
    for (int at = 0; at < 3; at++) {
        struct fz_batch batch = {0};
        struct fz_parquet_writer *w = NULL;
        struct sample_sink sink;
        struct fz_parquet_write options = DEFAULTS;
        struct fz_parquet_metrics metrics;
        options.fields = fields;
        options.n_fields = 2;
        FZ_OK_OR_FAIL(fz_batch_init(&batch, fields, 2, 16, &err), &err);
        batch.n_rows = 3;
        memset(batch.columns[0].children[0].data, 0, 24);
        memset(batch.columns[1].data, 0, 24);
        fz_column_set_null(&batch.columns[0], 0); // allowed: the struct is optional
        if (at == 0) {
            fz_column_set_null(&batch.columns[0].children[0], 1);
        } else {
            fz_column_set_null(&batch.columns[1], 1);
        }
        FZ_OK_OR_FAIL(fz_parquet_writer_open(sample_open(&sink), &options, &w, &err), &err);
        if (at < 2) {
            assert_int_equal(fz_parquet_writer_append(w, &batch, 0, NULL, 3, &err), FZ_CONSTRAINT);
            assert_string_equal(err.condition, "NOT_NULL_ASSERT_VIOLATION");
            assert_non_null(strstr(err.message, at == 0 ? "'s.n'" : "'k'"));
            fz_err_reset(&err);
            assert_int_equal(fz_parquet_writer_close(w, &arena, &metrics, &err), FZ_BUG);
            fz_err_reset(&err);
            assert_true(sink.aborted && !sink.closed);
        } else {
            const uint32_t without[] = {2, 0, 2}; // the NULL row is not chosen
            FZ_OK_OR_FAIL(fz_parquet_writer_append(w, &batch, 0, without, 3, &err), &err);
            FZ_OK_OR_FAIL(fz_parquet_writer_close(w, &arena, &metrics, &err), &err);
            assert_int_equal(metrics.record_count, 3);
        }
        fz_buf_dispose(&sink.bytes);
        fz_batch_dispose(&batch);
    }
    fz_arena_dispose(&arena);
}

static void what_cannot_be_written_is_refused(void **state) {
    (void)state;
    struct fz_arena arena = {0};
    const struct fz_type *deep = fz_type_primitive(FZ_TYPE_INT);
    for (int i = 0; i < 100; i++) {
        deep = fz_type_list(&arena, i + 10, false, deep);
    }
    const struct {
        const struct fz_type *type;
        enum fz_pq_codec codec;
        enum fz_code code;
    } cases[] = {{fz_type_primitive(FZ_TYPE_GEOMETRY), FZ_PQ_ZSTD, FZ_UNSUPPORTED},
                 {fz_type_struct(&arena, NULL, 0), FZ_PQ_ZSTD, FZ_UNSUPPORTED},
                 {fz_type_primitive(FZ_TYPE_UNKNOWN), FZ_PQ_ZSTD, FZ_UNSUPPORTED},
                 {deep, FZ_PQ_ZSTD, FZ_LIMIT},
                 {fz_type_primitive(FZ_TYPE_INT), FZ_PQ_LZO, FZ_UNSUPPORTED}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fz_err err = FZ_ERR_INIT;
        struct fz_field field = {.id = 1, .name = "v", .type = cases[i].type};
        struct fz_parquet_write options = DEFAULTS;
        struct fz_parquet_writer *w = NULL;
        struct sample_sink sink;
        options.fields = &field;
        options.n_fields = 1;
        options.codec = cases[i].codec;
        assert_int_equal(fz_parquet_writer_open(sample_open(&sink), &options, &w, &err), cases[i].code);
        assert_null(w);
        assert_true(sink.aborted);
        fz_buf_dispose(&sink.bytes);
    }
    fz_parquet_writer_abort(NULL);
    fz_arena_dispose(&arena);
}

// ---- back through the reader -------------------------------------------------------------------------------------------------

typedef void (*make_row)(struct fz_batch *batch, size_t at, int64_t r, struct sample_fill *fill,
                         struct fz_arena *strings);

static void flat_row(struct fz_batch *batch, size_t at, int64_t r, struct sample_fill *fill, struct fz_arena *strings) {
    (void)fill;
    for (int c = 0; c < SAMPLE_FLAT_FIELDS; c++) {
        if (sample_is_null(c, r)) {
            fz_column_set_null(&batch->columns[c], at);
        } else {
            sample_flat_value(&batch->columns[c], c, at, r, strings);
        }
    }
}

static void read_back(struct opened *o, const struct fz_field *fields, size_t n, bool nested, int64_t rows) {
    static const char place[] = "memory://t/x.parquet";
    struct fz_err err = FZ_ERR_INIT;
    struct fz_store *store = NULL;
    struct fz_parquet_file *file = NULL;
    struct fz_batch got = {0}, want = {0};
    struct fz_arena strings = {0}, values = {0};
    FZ_OK_OR_FAIL(fz_store_memory_new(&store, &err), &err);
    FZ_OK_OR_FAIL(fz_store_put(store, place, o->sink.bytes.ptr, o->sink.bytes.len, false, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_file_open(store, place, -1, NULL, &file, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&got, fields, n, FZ_BATCH_ROWS, &err), &err);
    FZ_OK_OR_FAIL(fz_batch_init(&want, fields, n, FZ_BATCH_ROWS, &err), &err);
    if (nested) {
        FZ_OK_OR_FAIL(sample_reserve_children(&want, &err), &err);
    }
    int64_t r = 0;
    for (size_t g = 0; g < fz_parquet_file_meta(file)->n_row_groups; g++) {
        struct fz_parquet_reader *reader = NULL;
        struct fz_parquet_read read = {.fields = fields, .n_fields = n, .row_group = g};
        FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
        for (;;) {
            int64_t first = -1;
            struct sample_fill fill = {0};
            FZ_OK_OR_FAIL(fz_parquet_reader_next(reader, &got, &first, &err), &err);
            if (got.n_rows == 0) {
                break;
            }
            assert_int_equal(first, r);
            for (size_t c = 0; c < n; c++) {
                fz_column_reset(&want.columns[c]);
            }
            for (size_t i = 0; i < got.n_rows; i++, r++) {
                if (nested) {
                    sample_nested_row(&want, i, r, &fill, &strings);
                } else {
                    flat_row(&want, i, r, &fill, &strings);
                }
                for (size_t c = 0; c < n; c++) {
                    struct fz_value a = fz_value_at(&got.columns[c], i, &values),
                                    b = fz_value_at(&want.columns[c], i, &values);
                    if (!fz_value_equal(&a, &b)) {
                        print_error("row %lld of column %s differs\n", (long long)r, fields[c].name);
                        fail();
                    }
                }
            }
            fz_arena_dispose(&strings);
            fz_arena_dispose(&values);
        }
        fz_parquet_reader_close(reader);
    }
    assert_int_equal(r, rows);
    fz_batch_dispose(&got);
    fz_batch_dispose(&want);
    fz_parquet_file_unref(file);
    fz_store_unref(store);
}

static void every_value_comes_back(void **state) {
    (void)state;
    static const enum fz_pq_codec codecs[] = {FZ_PQ_UNCOMPRESSED, FZ_PQ_SNAPPY, FZ_PQ_GZIP,
                                              FZ_PQ_BROTLI,       FZ_PQ_ZSTD,   FZ_PQ_LZ4_RAW};
    struct fz_field fields[SAMPLE_FLAT_FIELDS];
    struct fz_arena types = {0};
    sample_flat_fields(&types, fields);
    for (size_t i = 0; i < sizeof codecs / sizeof codecs[0]; i++) {
        struct opened o = {0};
        struct fz_err err = FZ_ERR_INIT;
        struct fz_parquet_write options = DEFAULTS;
        options.codec = codecs[i];
        FZ_OK_OR_FAIL(sample_write_flat(sample_open(&o.sink), options, 45000, &o.arena, &o.metrics, &err), &err);
        read_back(&o, fields, SAMPLE_FLAT_FIELDS, false, 45000);
        dispose(&o);
    }
    fz_arena_dispose(&types);
}

static void nested_values_come_back(void **state) {
    (void)state;
    struct fz_field fields[SAMPLE_NESTED_FIELDS];
    struct fz_arena types = {0};
    sample_nested_fields(&types, fields);
    for (int small = 0; small < 2; small++) {
        struct opened o = {0};
        struct fz_err err = FZ_ERR_INIT;
        struct fz_parquet_write options = DEFAULTS;
        if (small) {
            options.page_rows = 100;
            options.row_group_rows = 1050;
            options.page_size_bytes = 500;
        }
        FZ_OK_OR_FAIL(sample_write_nested(sample_open(&o.sink), options, 9000, &o.arena, &o.metrics, &err), &err);
        decode_footer(&o);
        for (size_t c = 0; c < o.metrics.n_columns; c++) { // counts only outside lists and maps: r, s.a, s.t.x
            int32_t id = o.metrics.columns[c].field_id;
            assert_int_equal(o.metrics.columns[c].has_counts, id == 1 || id == 11 || id == 13);
        }
        read_back(&o, fields, SAMPLE_NESTED_FIELDS, true, 9000);
        dispose(&o);
    }
    fz_arena_dispose(&types);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(rle_hybrid_as_in_the_spec),
        FZ_TEST(pages_end_at_the_same_rows),
        FZ_TEST(floats_follow_the_rules_of_the_specs),
        FZ_TEST(long_text_is_cut_in_statistics_and_bounds),
        FZ_TEST(null_in_a_required_column),
        FZ_TEST(what_cannot_be_written_is_refused),
        FZ_TEST(every_value_comes_back),
        FZ_TEST(nested_values_come_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
