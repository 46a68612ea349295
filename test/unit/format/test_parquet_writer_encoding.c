// The forms of values in pages without dictionary, read back by decoders that follow the specification bit by bit; and which form
// the writer chooses.
#include "leak_check.h"

#include "format/parquet/parquet_reader_priv.h"
#include "format/parquet/parquet_writer_priv.h"
#include "format/parquet_sample.h"

// ---- the specification, slowly -------------------------------------------------------------------------------------------

struct bytes {
    const uint8_t *p;
    size_t len, at;
};

static uint64_t varint(struct bytes *b) {
    uint64_t v = 0;
    for (int shift = 0;; shift += 7) {
        assert_true(b->at < b->len && shift < 64);
        uint8_t byte = b->p[b->at++];
        v |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            return v;
        }
    }
}

static int64_t unzigzag(uint64_t v) {
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

// Values of a DELTA_BINARY_PACKED run into out (room for n); `narrow`: INT32.
static void read_deltas(struct bytes *b, bool narrow, size_t n, int64_t *out) {
    uint64_t block = varint(b), minis = varint(b), count = varint(b);
    int64_t value = unzigzag(varint(b));
    assert_int_equal(block % 128, 0);
    assert_int_equal(block / minis % 32, 0);
    assert_int_equal(count, n);
    size_t done = 0;
    if (n > 0) {
        out[done++] = value;
    }
    while (done < n) {
        int64_t least = unzigzag(varint(b));
        const uint8_t *widths = b->p + b->at;
        b->at += minis;
        assert_true(b->at <= b->len);
        for (uint64_t m = 0; m < minis && done < n; m++) {
            size_t start = b->at * 8;
            for (size_t i = 0; i < block / minis && done < n; i++) {
                uint64_t packed = 0;
                for (unsigned bit = 0; bit < widths[m]; bit++) {
                    size_t at = start + i * widths[m] + bit;
                    assert_true(at / 8 < b->len);
                    packed |= (uint64_t)(b->p[at / 8] >> (at % 8) & 1) << bit;
                }
                uint64_t next = (uint64_t)value + (uint64_t)least + packed;
                value = narrow ? (int32_t)(uint32_t)next : (int64_t)next;
                out[done++] = value;
            }
            b->at += block / minis * widths[m] / 8;
        }
    }
    assert_true(b->at <= b->len);
}

static uint64_t random_state = 88172645463325252u;
static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static int64_t number(int kind, size_t i) {
    switch (kind) {
    case 0:
        return (int64_t)i * 3 - 5;
    case 1:
        return i % 2 ? INT64_MAX : INT64_MIN;
    case 2: // every width
        return (int64_t)(next_random() >> (i / 100 % 64));
    case 3:
        return -(int64_t)(next_random() >> (i / 7 % 64));
    case 4:
        return 7;
    default:
        return i % 3 == 0 ? INT32_MIN : i % 3 == 1 ? INT32_MAX : (int64_t)(next_random() % 1000);
    }
}

static void deltas(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 31, 32, 33, 34, 127, 128, 129, 130, 257, 6700};
    struct fz_pw_scratch scratch = {0};
    struct fz_err err = FZ_ERR_INIT;
    for (int kind = 0; kind < 6; kind++) {
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
            for (size_t width = 4; width <= 8; width += 4) {
                size_t n = sizes[s];
                struct fz_buf plain = {0}, out = {0};
                int64_t *want = test_calloc(n + 1, sizeof *want), *got = test_calloc(n + 1, sizeof *got);
                for (size_t i = 0; i < n; i++) {
                    want[i] = width == 4 ? (int32_t)(uint32_t)number(kind, i) : number(kind, i);
                    fz_buf_append(&plain, &want[i], width);
                }
                FZ_OK_OR_FAIL(fz_pw_encode_values(&scratch, FZ_PQ_DELTA_BINARY_PACKED, width, plain.ptr, plain.len, n,
                                                  &out, &err),
                              &err);
                struct bytes b = {(const uint8_t *)out.ptr, out.len, 0};
                read_deltas(&b, width == 4, n, got);
                assert_int_equal(b.at, out.len);
                assert_memory_equal(got, want, n * sizeof *want);
                test_free(want);
                test_free(got);
                fz_buf_dispose(&plain);
                fz_buf_dispose(&out);
            }
        }
    }
    fz_pw_scratch_dispose(&scratch);
}

// Differences of every width, read back in pieces of all sizes.
static void deltas_of_all_widths(void **state) {
    (void)state;
    enum { N = 1500 };
    static int64_t want[N], got[N];
    struct fz_pw_scratch scratch = {0};
    struct fz_err err = FZ_ERR_INIT;
    for (unsigned width = 0; width <= 64; width++) {
        uint64_t mask = width == 64 ? UINT64_MAX : (UINT64_C(1) << width) - 1;
        uint64_t value = next_random(), step = next_random();
        for (size_t i = 0; i < N; i++) {
            value += step + (i % 32 == 0 ? mask : next_random() & mask); // each miniblock has the widest one
            want[i] = (int64_t)value;
        }
        struct fz_buf out = {0};
        FZ_OK_OR_FAIL(
            fz_pw_encode_values(&scratch, FZ_PQ_DELTA_BINARY_PACKED, 8, (const char *)want, sizeof want, N, &out, &err),
            &err);
        size_t len = out.len;
        fz_buf_append(&out, "0123456789abcdef", 16); // pages have room behind them
        for (int round = 0; round < 20; round++) {
            struct fz_pqr_delta delta;
            assert_true(fz_pqr_delta_init(&delta, (const uint8_t *)out.ptr, len));
            assert_ptr_equal(fz_pqr_delta_end(&delta), (const uint8_t *)out.ptr + len);
            for (size_t done = 0; done < N;) {
                size_t piece = round == 0 ? N : 1 + next_random() % (round < 10 ? 20 : 400);
                piece = piece < N - done ? piece : N - done;
                assert_true(fz_pqr_delta_read(&delta, piece, got + done));
                done += piece;
            }
            assert_memory_equal(got, want, sizeof want);
            assert_false(fz_pqr_delta_read(&delta, 1, got));
        }
        fz_buf_dispose(&out);
    }
    fz_pw_scratch_dispose(&scratch);
}

static size_t text(size_t i, char *out) {
    static const char filler[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    return (size_t)snprintf(out, 64, "%.*s%zu%.*s", (int)(i % 20), filler, i / 3, (int)(i * 7 % 11), filler);
}

static void byte_arrays(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 129, 4000};
    struct fz_pw_scratch scratch = {0};
    struct fz_err err = FZ_ERR_INIT;
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        for (int prefixes = 0; prefixes < 2; prefixes++) {
            size_t n = sizes[s];
            struct fz_buf plain = {0}, out = {0};
            char value[64], last[64] = {0};
            for (size_t i = 0; i < n; i++) {
                uint32_t length = (uint32_t)text(i, value);
                fz_buf_append(&plain, &length, 4);
                fz_buf_append(&plain, value, length);
            }
            int encoding = prefixes ? FZ_PQ_DELTA_BYTE_ARRAY : FZ_PQ_DELTA_LENGTH_BYTE_ARRAY;
            FZ_OK_OR_FAIL(fz_pw_encode_values(&scratch, encoding, 0, plain.ptr, plain.len, n, &out, &err), &err);
            struct bytes b = {(const uint8_t *)out.ptr, out.len, 0};
            int64_t *same = test_calloc(n + 1, sizeof *same), *lengths = test_calloc(n + 1, sizeof *lengths);
            if (prefixes) {
                read_deltas(&b, true, n, same);
            }
            read_deltas(&b, true, n, lengths);
            for (size_t i = 0; i < n; i++) {
                size_t length = text(i, value);
                assert_true(same[i] >= 0 && lengths[i] >= 0 && b.at + (size_t)lengths[i] <= b.len);
                assert_int_equal((size_t)(same[i] + lengths[i]), length);
                memcpy(last + same[i], b.p + b.at, (size_t)lengths[i]); // the first same[i] bytes stay
                b.at += (size_t)lengths[i];
                assert_memory_equal(last, value, length);
            }
            assert_int_equal(b.at, b.len);
            test_free(same);
            test_free(lengths);
            fz_buf_dispose(&plain);
            fz_buf_dispose(&out);
        }
    }
    fz_pw_scratch_dispose(&scratch);
}

static void streams(void **state) {
    (void)state;
    struct fz_pw_scratch scratch = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf out = {0};
    const char plain[] = "abcdefghijkl"; // three values of four bytes
    FZ_OK_OR_FAIL(fz_pw_encode_values(&scratch, FZ_PQ_BYTE_STREAM_SPLIT, 4, plain, 12, 3, &out, &err), &err);
    assert_int_equal(out.len, 12);
    assert_memory_equal(out.ptr, "aeibfjcgkdhl", 12);
    fz_buf_dispose(&out);
    fz_pw_scratch_dispose(&scratch);
}

// ---- choosing ------------------------------------------------------------------------------------------------------------

enum { COLUMNS = 7, ROWS = 30000 };

static void fill(struct fz_batch *batch, int64_t from, size_t n, char (*texts)[2][32]) {
    for (size_t i = 0; i < n; i++) {
        int64_t r = from + (int64_t)i;
        ((int64_t *)batch->columns[0].data)[i] = r * 10; // ids
        ((int64_t *)batch->columns[1].data)[i] = (int64_t)next_random(); // nothing to gain
        ((int64_t *)batch->columns[2].data)[i] = 1700000000000000 + r / 3 * 1000000; // slowly changing
        ((int64_t *)batch->columns[3].data)[i] = r % 5; // dictionary
        ((double *)batch->columns[4].data)[i] = 20 + (double)(next_random() % 100000) / 1024;
        snprintf(texts[i][0], 32, "customer-%012lld", (long long)r); // sorted keys
        snprintf(texts[i][1], 32, "%016llx", (unsigned long long)next_random());
        for (int t = 0; t < 2; t++) {
            ((struct fz_string *)batch->columns[5 + t].data)[i] =
                fz_string_of(texts[i][t], (uint32_t)strlen(texts[i][t]));
        }
    }
}

// The encodings of data pages of each column, and the chunks' sizes.
static void written(enum fz_parquet_encodings encodings, int level, int *out, int64_t *sizes) {
    const struct fz_type *types[COLUMNS] = {
        fz_type_primitive(FZ_TYPE_LONG),   fz_type_primitive(FZ_TYPE_LONG),   fz_type_primitive(FZ_TYPE_TIMESTAMP),
        fz_type_primitive(FZ_TYPE_LONG),   fz_type_primitive(FZ_TYPE_DOUBLE), fz_type_primitive(FZ_TYPE_STRING),
        fz_type_primitive(FZ_TYPE_STRING),
    };
    static const char *const names[COLUMNS] = {"id", "noise", "slow", "few", "double", "key", "hex"};
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    random_state = 88172645463325252u; // the same rows each time
    struct fz_field fields[COLUMNS];
    for (int i = 0; i < COLUMNS; i++) {
        fields[i] = (struct fz_field){.id = i + 1, .name = names[i], .required = true, .type = types[i]};
    }
    struct fz_parquet_write options = {
        .fields = fields, .n_fields = COLUMNS, .codec = FZ_PQ_ZSTD, .level = level, .encodings = encodings};
    struct sample_sink sink;
    struct fz_parquet_writer *writer = NULL;
    FZ_OK_OR_FAIL(fz_parquet_writer_open(sample_open(&sink), &options, &writer, &err), &err);
    static char texts[2000][2][32];
    static int64_t numbers[5][2000];
    static struct fz_string strings[2][2000];
    struct fz_column columns[COLUMNS] = {0};
    for (int i = 0; i < COLUMNS; i++) {
        columns[i].type = types[i];
        columns[i].data = i < 5 ? (void *)numbers[i] : (void *)strings[i - 5];
    }
    struct fz_batch batch = {.columns = columns, .n_columns = COLUMNS, .n_rows = 2000};
    for (int64_t r = 0; r < ROWS; r += 2000) {
        fill(&batch, r, 2000, texts);
        FZ_OK_OR_FAIL(fz_parquet_writer_append(writer, &batch, 0, NULL, 2000, &err), &err);
    }
    struct fz_parquet_metrics metrics;
    FZ_OK_OR_FAIL(fz_parquet_writer_close(writer, &arena, &metrics, &err), &err);
    struct fz_pq_file file;
    uint32_t footer;
    memcpy(&footer, sink.bytes.ptr + sink.bytes.len - 8, 4);
    FZ_OK_OR_FAIL(fz_pq_file_decode(&arena, sink.bytes.ptr + sink.bytes.len - 8 - footer, footer, &file, &err), &err);
    for (int i = 0; i < COLUMNS; i++) {
        const struct fz_pq_column_chunk *c = &file.row_groups[0].columns[i];
        int pages = 0;
        out[i] = -1;
        sizes[i] = c->total_compressed_size;
        for (size_t s = 0; s < c->n_encoding_stats; s++) {
            if (c->encoding_stats[s].page_type == FZ_PQ_DATA_PAGE) {
                assert_int_equal(out[i], -1); // one form for all pages
                out[i] = c->encoding_stats[s].encoding;
                pages += c->encoding_stats[s].count;
            } else {
                assert_int_equal(c->encoding_stats[s].page_type, FZ_PQ_DICTIONARY_PAGE);
                assert_int_equal(c->encoding_stats[s].count, 1);
            }
        }
        assert_int_equal(pages, 2); // 20,000 rows a page
    }
    fz_buf_dispose(&sink.bytes);
    fz_arena_dispose(&arena);
}

static void choice(void **state) {
    (void)state;
    int got[COLUMNS];
    int64_t sizes[COLUMNS];
    written(FZ_ENCODINGS_DELTA, 1, got, sizes);
    static const int delta[COLUMNS] = {FZ_PQ_DELTA_BINARY_PACKED, FZ_PQ_PLAIN, FZ_PQ_DELTA_BINARY_PACKED,
                                       FZ_PQ_RLE_DICTIONARY,      FZ_PQ_PLAIN, FZ_PQ_DELTA_BYTE_ARRAY};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(got[i], delta[i]);
    }
    assert_true(got[6] == FZ_PQ_PLAIN || got[6] == FZ_PQ_DELTA_LENGTH_BYTE_ARRAY);
    written(FZ_ENCODINGS_ALL, 1, got, sizes);
    assert_int_equal(got[4], FZ_PQ_BYTE_STREAM_SPLIT);
    written(FZ_ENCODINGS_PLAIN, 1, got, sizes);
    for (int i = 0; i < COLUMNS; i++) {
        assert_true(got[i] == FZ_PQ_PLAIN || got[i] == FZ_PQ_RLE_DICTIONARY);
    }
}

// Without a level of the user's, pages are compressed with fewer searches where that is not larger: random numbers get smaller, text with
// repetitions stays as small as level 1 makes it.
static void quick(void **state) {
    (void)state;
    int got[COLUMNS];
    int64_t one[COLUMNS], chosen[COLUMNS];
    written(FZ_ENCODINGS_PLAIN, 1, got, one);
    written(FZ_ENCODINGS_PLAIN, -1, got, chosen);
    for (int i = 0; i < COLUMNS; i++) {
        assert_true(chosen[i] <= one[i] + one[i] / 100);
    }
    assert_true(chosen[4] < one[4] - one[4] / 20); // random, within a narrow range
    assert_true(chosen[5] == one[5]); // keys, long common starts
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(deltas),      FZ_TEST(deltas_of_all_widths),
                                       FZ_TEST(byte_arrays), FZ_TEST(streams),
                                       FZ_TEST(choice),      FZ_TEST(quick)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
