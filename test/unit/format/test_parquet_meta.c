// Thrift structures of Parquet (bytes put together by hand after the compact protocol, and the footer of a file by PyArrow) and page
// codecs (bytes made by PyArrow's and Python's compressors).
#include "leak_check.h"

#include <stdio.h>
#include <stdlib.h>

#include "format/parquet/parquet_meta.h"

static struct fz_err err;
static struct fz_arena arena;

static int begin(void **state) {
    err = FZ_ERR_INIT;
    return fz_test_begin(state);
}
static int end(void **state) {
    fz_arena_dispose(&arena);
    return fz_test_end(state);
}
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

// type 0, sizes 100 and 50, crc 0xffffffff, data_page_header {5 values, PLAIN, RLE, RLE}
static const uint8_t page_v1[] = {0x15, 0x00, 0x15, 0xc8, 0x01, 0x15, 0x64, 0x15, 0x01, 0x1c,
                                  0x15, 0x0a, 0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00};
// type 3, sizes 9 and 7, data_page_header_v2 {5 values, 2 nulls, 4 rows, RLE_DICTIONARY, 3 and 1 bytes of levels, not compressed}
static const uint8_t page_v2[] = {0x15, 0x06, 0x15, 0x12, 0x15, 0x0e, 0x5c, 0x15, 0x0a, 0x15, 0x04,
                                  0x15, 0x08, 0x15, 0x10, 0x15, 0x06, 0x15, 0x02, 0x12, 0x00, 0x00};
// type 2, sizes 9 and 7, dictionary_page_header {300 values, PLAIN_DICTIONARY, sorted}
static const uint8_t page_dict[] = {0x15, 0x04, 0x15, 0x12, 0x15, 0x0e, 0x4c, 0x15,
                                    0xd8, 0x04, 0x15, 0x04, 0x11, 0x00, 0x00};

static void encodes_back(const struct fz_pq_page_header *h, const uint8_t *bytes, size_t len) {
    struct fz_buf out = {0};
    fz_pq_page_header_encode(&out, h);
    assert_int_equal(out.len, len);
    assert_memory_equal(out.ptr, bytes, len);
    fz_buf_dispose(&out);
}

static void page_headers(void **state) {
    (void)state;
    struct fz_pq_page_header h;
    size_t used = 0;
    FZ_OK_OR_FAIL(fz_pq_page_header_decode(&arena, page_v1, sizeof page_v1, &h, &used, &err), &err);
    assert_int_equal(used, sizeof page_v1);
    assert_int_equal(h.type, FZ_PQ_DATA_PAGE);
    assert_int_equal(h.uncompressed_page_size, 100);
    assert_int_equal(h.compressed_page_size, 50);
    assert_true(h.has_crc && h.crc == UINT32_MAX);
    assert_int_equal(h.num_values, 5);
    assert_int_equal(h.definition_level_encoding, FZ_PQ_RLE);
    encodes_back(&h, page_v1, sizeof page_v1);
    FZ_OK_OR_FAIL(fz_pq_page_header_decode(&arena, page_v2, sizeof page_v2, &h, &used, &err), &err);
    assert_int_equal(h.num_nulls, 2);
    assert_int_equal(h.num_rows, 4);
    assert_int_equal(h.encoding, FZ_PQ_RLE_DICTIONARY);
    assert_int_equal(h.definition_levels_byte_length, 3);
    assert_int_equal(h.repetition_levels_byte_length, 1);
    assert_false(h.is_compressed);
    encodes_back(&h, page_v2, sizeof page_v2);
    FZ_OK_OR_FAIL(fz_pq_page_header_decode(&arena, page_dict, sizeof page_dict, &h, &used, &err), &err);
    assert_int_equal(h.num_values, 300);
    assert_true(h.is_sorted);
    encodes_back(&h, page_dict, sizeof page_dict);
}

static void unknown_fields_are_skipped(void **state) {
    (void)state;
    // page_v1 with a field 9 that is a map<string, list<struct>>, a double as field 10 and a uuid as field 11
    uint8_t bytes[64];
    size_t n = sizeof page_v1 - 1;
    memcpy(bytes, page_v1, n);
    static const uint8_t extra[] = {0x4b, 0x01, 0x89, 0x01, 'k', 0x2c, 0x11, 0x00, 0x00, 0x17, 1, 2,
                                    3,    4,    5,    6,    7,   8,    0x1d, 0,    0,    0,    0, 0,
                                    0,    0,    0,    0,    0,   0,    0,    0,    0,    0,    0, 0x00};
    memcpy(bytes + n, extra, sizeof extra);
    n += sizeof extra;
    struct fz_pq_page_header h;
    size_t used = 0;
    FZ_OK_OR_FAIL(fz_pq_page_header_decode(&arena, bytes, n, &h, &used, &err), &err);
    assert_int_equal(used, n);
    assert_int_equal(h.num_values, 5);
}

static void damaged_structures_are_refused(void **state) {
    (void)state;
    struct fz_pq_page_header h;
    for (size_t n = 0; n < sizeof page_v1; n++) { // cut anywhere
        err = FZ_ERR_INIT;
        uint8_t *copy = malloc(n + 1); // on its own, so that a sanitizer sees a read too far
        memcpy(copy, page_v1, n);
        assert_int_equal(fz_pq_page_header_decode(&arena, copy, n, &h, NULL, &err), FZ_CORRUPT);
        free(copy);
    }
    static const uint8_t no_body[] = {0x15, 0x00, 0x15, 0x02, 0x15, 0x02, 0x00};
    static const uint8_t negative[] = {0x15, 0x00, 0x15, 0x01, 0x15, 0x02, 0x2c, 0x15, 0x02, 0x00, 0x00};
    static const uint8_t long_number[] = {0x15, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01, 0x00};
    err = FZ_ERR_INIT;
    assert_int_equal(fz_pq_page_header_decode(&arena, no_body, sizeof no_body, &h, NULL, &err), FZ_CORRUPT);
    err = FZ_ERR_INIT;
    assert_int_equal(fz_pq_page_header_decode(&arena, negative, sizeof negative, &h, NULL, &err), FZ_CORRUPT);
    assert_non_null(strstr(err.message, "page size missing or negative"));
    err = FZ_ERR_INIT;
    assert_int_equal(fz_pq_page_header_decode(&arena, long_number, sizeof long_number, &h, NULL, &err), FZ_CORRUPT);
    // Lists within lists without end, as an unknown field.
    uint8_t deep[400] = {0x15, 0x00, 0x89};
    memset(deep + 3, 0x19, sizeof deep - 3);
    err = FZ_ERR_INIT;
    assert_int_equal(fz_pq_page_header_decode(&arena, deep, sizeof deep, &h, NULL, &err), FZ_CORRUPT);
    assert_non_null(strstr(err.message, "nested too deeply"));
    // A footer whose schema claims 2^31 elements.
    static const uint8_t huge[] = {0x15, 0x02, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07, 0x00};
    struct fz_pq_file file;
    err = FZ_ERR_INIT;
    assert_int_equal(fz_pq_file_decode(&arena, huge, sizeof huge, &file, &err), FZ_CORRUPT);
    assert_non_null(strstr(err.message, "more elements than the bytes that are left"));
    assert_true(arena.used_bytes < 1 << 20);
}

static char *read_file(const char *name, size_t *len) {
    char path[1024];
    snprintf(path, sizeof path, "%s/test/data/parquet/%s.parquet", FZ_SOURCE_DIR, name);
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    fseek(in, 0, SEEK_END);
    *len = (size_t)ftell(in);
    rewind(in);
    char *bytes = malloc(*len);
    assert_int_equal(fread(bytes, 1, *len, in), *len);
    fclose(in);
    return bytes;
}

static size_t footer_of(const char *bytes, size_t len, const char **footer) {
    uint32_t n;
    memcpy(&n, bytes + len - 8, 4);
    *footer = bytes + len - 8 - n;
    return n;
}

static void check_footer(const struct fz_pq_file *f) {
    assert_int_equal(f->num_rows, 3000);
    assert_int_equal(f->n_schema, 23);
    assert_int_equal(f->n_row_groups, 2);
    assert_int_equal(f->row_groups[0].num_rows, 2200);
    assert_int_equal(f->row_groups[1].n_columns, 22);
    assert_non_null(strstr(f->created_by, "parquet-cpp-arrow"));
    assert_int_equal(f->n_column_orders, 22);
    const struct fz_pq_schema_element *e = &f->schema[9]; // dec38
    assert_string_equal(e->name, "dec38");
    assert_int_equal(e->type, FZ_PQ_FIXED);
    assert_int_equal(e->type_length, 16);
    assert_int_equal(e->logical, FZ_PQ_LOGICAL_DECIMAL);
    assert_int_equal(e->precision, 38);
    assert_int_equal(e->scale, 2);
    assert_int_equal(e->field_id, 9);
    e = &f->schema[13]; // tstz
    assert_int_equal(e->logical, FZ_PQ_LOGICAL_TIMESTAMP);
    assert_int_equal(e->unit, FZ_PQ_MICROS);
    assert_true(e->logical_utc);
    assert_int_equal(e->converted, FZ_PQ_CONV_TIMESTAMP_MICROS);
    e = &f->schema[21]; // u32
    assert_int_equal(e->logical_bit_width, 32);
    assert_false(e->logical_signed);
    assert_int_equal(f->schema[22].logical, FZ_PQ_LOGICAL_FLOAT16);
    assert_int_equal(f->schema[20].repetition, FZ_PQ_REQUIRED);
    const struct fz_pq_column_chunk *c = &f->row_groups[0].columns[1];
    assert_int_equal(c->codec, FZ_PQ_ZSTD);
    assert_int_equal(c->num_values, 2200);
    assert_int_equal(c->n_path, 1);
    assert_memory_equal(c->path[0].ptr, "i", 1);
    assert_int_equal(c->statistics.null_count, 314);
    int32_t min;
    assert_int_equal(c->statistics.min.len, 4);
    memcpy(&min, c->statistics.min.ptr, 4);
    assert_int_equal(min, -4000);
    assert_true(c->dictionary_page_offset > 0 && c->dictionary_page_offset < c->data_page_offset);
}

static void footer_of_another_writer_there_and_back(void **state) {
    (void)state;
    size_t len;
    const char *footer;
    char *bytes = read_file("flat", &len);
    size_t n = footer_of(bytes, len, &footer);
    struct fz_pq_file f;
    FZ_OK_OR_FAIL(fz_pq_file_decode(&arena, footer, n, &f, &err), &err);
    check_footer(&f);
    struct fz_buf out = {0};
    fz_pq_file_encode(&out, &f);
    struct fz_pq_file again;
    FZ_OK_OR_FAIL(fz_pq_file_decode(&arena, out.ptr, out.len, &again, &err), &err);
    check_footer(&again);
    for (size_t cut = 1; cut < n; cut += 7) {
        err = FZ_ERR_INIT;
        assert_int_equal(fz_pq_file_decode(&arena, footer, n - cut, &again, &err), FZ_CORRUPT);
    }
    fz_buf_dispose(&out);
    free(bytes);
}

static void page_index_of_another_writer_there_and_back(void **state) {
    (void)state;
    size_t len;
    const char *footer;
    char *bytes = read_file("flat_v2", &len);
    size_t n = footer_of(bytes, len, &footer);
    struct fz_pq_file f;
    FZ_OK_OR_FAIL(fz_pq_file_decode(&arena, footer, n, &f, &err), &err);
    const struct fz_pq_column_chunk *c = &f.row_groups[0].columns[2]; // l
    assert_true(c->offset_index_offset > 0 && c->column_index_offset > 0);
    struct fz_pq_offset_index offsets, offsets2;
    struct fz_pq_column_index index, index2;
    FZ_OK_OR_FAIL(fz_pq_offset_index_decode(&arena, bytes + c->offset_index_offset, (size_t)c->offset_index_length,
                                            &offsets, &err),
                  &err);
    FZ_OK_OR_FAIL(
        fz_pq_column_index_decode(&arena, bytes + c->column_index_offset, (size_t)c->column_index_length, &index, &err),
        &err);
    assert_true(offsets.n_pages > 1);
    assert_int_equal(offsets.n_pages, index.n_pages);
    assert_int_equal(offsets.pages[0].first_row_index, 0);
    assert_int_equal(offsets.pages[0].offset, c->data_page_offset);
    assert_int_equal(index.boundary_order, 1);
    int64_t min, max, nulls = 0;
    for (size_t i = 0; i < index.n_pages; i++) { // l is i * 10^12 - 5, NULL at i % 7 == 3
        int64_t first = offsets.pages[i].first_row_index;
        int64_t last = (i + 1 < index.n_pages ? offsets.pages[i + 1].first_row_index : 3000) - 1;
        memcpy(&min, index.min_values[i].ptr, 8);
        memcpy(&max, index.max_values[i].ptr, 8);
        first += first % 7 == 3;
        last -= last % 7 == 3;
        assert_int_equal(min, first * 1000000000000 - 5);
        assert_int_equal(max, last * 1000000000000 - 5);
        nulls += index.null_counts[i];
        struct fz_pq_page_header h;
        FZ_OK_OR_FAIL(fz_pq_page_header_decode(&arena, bytes + offsets.pages[i].offset,
                                               (size_t)offsets.pages[i].compressed_page_size, &h, NULL, &err),
                      &err);
    }
    assert_int_equal(nulls, c->statistics.null_count);
    struct fz_buf out = {0};
    fz_pq_offset_index_encode(&out, &offsets);
    FZ_OK_OR_FAIL(fz_pq_offset_index_decode(&arena, out.ptr, out.len, &offsets2, &err), &err);
    assert_int_equal(offsets2.n_pages, offsets.n_pages);
    assert_memory_equal(offsets2.pages, offsets.pages, offsets.n_pages * sizeof *offsets.pages);
    fz_buf_clear(&out);
    fz_pq_column_index_encode(&out, &index);
    FZ_OK_OR_FAIL(fz_pq_column_index_decode(&arena, out.ptr, out.len, &index2, &err), &err);
    assert_int_equal(index2.n_pages, index.n_pages);
    assert_int_equal(index2.boundary_order, 1);
    assert_memory_equal(index2.null_counts, index.null_counts, index.n_pages * 8);
    assert_true(fz_str_eq(index2.max_values[1], index.max_values[1]));
    for (size_t cut = 1; cut < out.len; cut++) {
        err = FZ_ERR_INIT;
        assert_int_equal(fz_pq_column_index_decode(&arena, out.ptr, out.len - cut, &index2, &err), FZ_CORRUPT);
    }
    fz_buf_dispose(&out);
    free(bytes);
}

// "frazil " ten times, then "ice"
static const char *plain_text(void) {
    static char text[74];
    for (int i = 0; i < 10; i++) {
        memcpy(text + 7 * i, "frazil ", 7);
    }
    memcpy(text + 70, "ice", 4);
    return text;
}

struct sample {
    int codec;
    size_t len;
    const char *bytes;
};
#define SAMPLE(codec, text)                                                                                            \
    { codec, sizeof(text) - 1, text }
static const struct sample samples[] = {
    SAMPLE(FZ_PQ_SNAPPY, "\x49\x18\x66\x72\x61\x7a\x69\x6c\x20\xfa\x07\x00\x08\x69\x63\x65"),
    SAMPLE(FZ_PQ_BROTLI,
           "\x1b\x48\x00\x00\xc4\x6d\x6c\x5d\xf7\x15\x51\x10\x5c\xcd\x4a\x93\x7b\x22\x39\x73\xfc\x0e\x2a\x03"),
    SAMPLE(FZ_PQ_ZSTD,
           "\x28\xb5\x2f\xfd\x20\x49\x85\x00\x00\x50\x66\x72\x61\x7a\x69\x6c\x20\x69\x63\x65\x01\x00\x94\x54\x8c"),
    SAMPLE(FZ_PQ_LZ4_RAW, "\x7f\x66\x72\x61\x7a\x69\x6c\x20\x07\x00\x2a\x50\x6c\x20\x69\x63\x65"),
    SAMPLE(FZ_PQ_LZ4, "\x7f\x66\x72\x61\x7a\x69\x6c\x20\x07\x00\x2a\x50\x6c\x20\x69\x63\x65"), // raw block
    SAMPLE(FZ_PQ_LZ4,
           "\0\0\0\x49\0\0\0\x11\x7f\x66\x72\x61\x7a\x69\x6c\x20\x07\x00\x2a\x50\x6c\x20\x69\x63\x65"), // Hadoop
    SAMPLE(FZ_PQ_LZ4, "\x04\x22\x4d\x18\x60\x40\x82\x11\x00\x00\x00\x7f\x66\x72\x61\x7a\x69\x6c\x20\x07\x00\x2a\x50\x6c"
                      "\x20\x69\x63\x65\0\0\0\0"),
    SAMPLE(FZ_PQ_GZIP, "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\x2b\x4a\xac\xca\xcc\x51\x48\xc3\x4e\x01\x00\x3d"
                       "\x4d\xf5\x86\x1e\x00\x00\x00"
                       "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\x4b\xac\xca\xcc\x51\x48\x2b\x4a\x24\x44\x65\x26\xa7"
                       "\x02\x00\x40\xae\x39\x48\x2b\x00\x00\x00"),
    SAMPLE(FZ_PQ_GZIP, "\x78\x9c\x4b\x2b\x4a\xac\xca\xcc\x51\x48\xa3\x8c\xca\x4c\x4e\x05\x00\x09\xef\x1b\xc2"), // zlib
};

static void pages_of_other_compressors(void **state) {
    (void)state;
    char out[73];
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        memset(out, 0, sizeof out);
        FZ_OK_OR_FAIL(fz_pq_decompress(samples[i].codec, samples[i].bytes, samples[i].len, out, 73, &err), &err);
        assert_memory_equal(out, plain_text(), 73);
        err = FZ_ERR_INIT; // another length than announced, and cut bytes
        assert_int_equal(fz_pq_decompress(samples[i].codec, samples[i].bytes, samples[i].len, out, 72, &err),
                         FZ_CORRUPT);
        err = FZ_ERR_INIT;
        assert_int_equal(fz_pq_decompress(samples[i].codec, samples[i].bytes, samples[i].len / 2, out, 73, &err),
                         FZ_CORRUPT);
        err = FZ_ERR_INIT;
    }
    assert_int_equal(fz_pq_decompress(FZ_PQ_LZO, "x", 1, out, 1, &err), FZ_UNSUPPORTED);
}

static void every_codec_there_and_back(void **state) {
    (void)state;
    enum { LEN = 300000 };
    char *in = malloc(LEN), *out = malloc(LEN);
    for (size_t i = 0; i < LEN; i++) {
        in[i] = (char)(i * i / 1000);
    }
    for (int codec = FZ_PQ_UNCOMPRESSED; codec <= FZ_PQ_LZ4_RAW; codec++) {
        if (codec == FZ_PQ_LZO) {
            continue;
        }
        for (size_t len = 0; len <= LEN; len += LEN / 2) {
            struct fz_buf buf = {0};
            fz_buf_puts(&buf, "before"); // appends
            FZ_OK_OR_FAIL(fz_pq_compress(codec, -1, in, len, &buf, &err), &err);
            assert_memory_equal(buf.ptr, "before", 6);
            FZ_OK_OR_FAIL(fz_pq_decompress(codec, buf.ptr + 6, buf.len - 6, out, len, &err), &err);
            assert_memory_equal(out, in, len);
            fz_buf_dispose(&buf);
        }
    }
    struct fz_buf buf = {0};
    assert_int_equal(fz_pq_compress(FZ_PQ_LZO, -1, in, 10, &buf, &err), FZ_UNSUPPORTED);
    fz_buf_dispose(&buf);
    free(in);
    free(out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(page_headers),
        TEST(unknown_fields_are_skipped),
        TEST(damaged_structures_are_refused),
        TEST(footer_of_another_writer_there_and_back),
        TEST(page_index_of_another_writer_there_and_back),
        TEST(pages_of_other_compressors),
        TEST(every_codec_there_and_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
