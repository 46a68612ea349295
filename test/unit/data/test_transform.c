// data/transform.h against the spec's hash vectors and against PyIceberg; whole columns against single values.
#include "leak_check.h"

#include <stdio.h>

#include "data/transform_priv.h"
#include "base/hash.h"

static struct fz_value number(enum fz_type_id id, int64_t v) {
    return (struct fz_value){.type = fz_type_primitive(id), .u.i64 = v};
}
static struct fz_value text(const char *t) {
    return (struct fz_value){.type = fz_type_primitive(FZ_TYPE_STRING), .u.bytes = fz_str_of(t)};
}
static struct fz_transform make(enum fz_transform_kind kind, int32_t param) {
    return (struct fz_transform){.kind = kind, .param = param};
}
static struct fz_value apply(struct fz_transform t, struct fz_value v) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_value out = {0};
    FZ_OK_OR_FAIL(fz_transform_apply(&t, &v, &out, &err), &err);
    return out;
}

static void hashes_of_the_spec(void **state) {
    (void)state;
    assert_int_equal((int32_t)fz_murmur3_long(34), 2017239379);
    assert_int_equal((int32_t)fz_murmur3_long(17486), -653330422); // 2017-11-16
    assert_int_equal((int32_t)fz_murmur3_long(INT64_C(81068000000)), -662762989); // 22:31:08
    assert_int_equal((int32_t)fz_murmur3_long(INT64_C(1510871468000000)), -2047944441); // 2017-11-16T22:31:08
    assert_int_equal((int32_t)fz_murmur3_long(INT64_C(1510871468000001)), -1207196810);
    uint8_t bytes[16];
    size_t n = fz_decimal_to_bytes(1420, bytes);
    assert_int_equal((int32_t)fz_murmur3_32(bytes, n, 0), -500754589);
    assert_int_equal((int32_t)fz_murmur3_32("iceberg", 7, 0), 1210000089);
    assert_int_equal((int32_t)fz_murmur3_32("\0\1\2\3", 4, 0), -188683207);
    // a bucket count of 2^31-1 shows the hash itself
    struct fz_transform all = make(FZ_TRANSFORM_BUCKET, INT32_MAX);
    struct fz_value uuid = {.type = fz_type_primitive(FZ_TYPE_UUID),
                            .u.i128 = {UINT64_C(0xa4793f349cb785e7), (int64_t)UINT64_C(0xf79c3e09677c4bbd)}};
    assert_int_equal(apply(all, uuid).u.i64, 1488055340);
    assert_int_equal(apply(all, number(FZ_TYPE_TIMESTAMP_NS, INT64_C(1510871468000001999))).u.i64,
                     (uint32_t)-1207196810 & 0x7fffffff);
}

static void buckets_of_pyiceberg(void **state) {
    (void)state;
    struct fz_arena a = {0};
    static const int64_t decimals[] = {1420, -1420, 0, -128, 128, -1}, decimal_buckets[] = {3, 7, 7, 13, 5, 13};
    for (size_t i = 0; i < 6; i++) {
        struct fz_value v = {.type = fz_type_decimal(&a, 9, 2), .u.i128 = fz_i128_of(decimals[i])};
        assert_int_equal(apply(make(FZ_TRANSFORM_BUCKET, 16), v).u.i64, decimal_buckets[i]);
    }
    __int128 big;
    assert_true(fz_decimal_parse(FZ_STR_LIT("12345678901234567890123456789012.3456"), 4, &big, NULL));
    struct fz_value wide = {.type = fz_type_decimal(&a, 38, 4), .u.i128 = fz_i128_of(big)};
    assert_int_equal(apply(make(FZ_TRANSFORM_BUCKET, 100), wide).u.i64, 39);
    wide.u.i128 = fz_i128_of(-big);
    assert_int_equal(apply(make(FZ_TRANSFORM_BUCKET, 100), wide).u.i64, 8);
    static const int64_t longs[] = {34, 0, -1, INT64_MAX, INT64_MIN}, long_buckets[] = {79, 76, 12, 99, 29};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(apply(make(FZ_TRANSFORM_BUCKET, 100), number(FZ_TYPE_LONG, longs[i])).u.i64, long_buckets[i]);
    }
    static const char *const texts[] = {"iceberg", "", "a", "日本語テキスト", "thirteen chars long"};
    static const int64_t text_buckets[] = {9, 0, 2, 13, 10};
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(apply(make(FZ_TRANSFORM_BUCKET, 16), text(texts[i])).u.i64, text_buckets[i]);
    }
    fz_arena_dispose(&a);
}

static void dates_of_pyiceberg(void **state) {
    (void)state;
    static const int64_t stamps[][5] = {
        {0, 0, 0, 0, 0},
        {-1, -1, -1, -1, -1},
        {INT64_C(1512151975038194), 47, 575, 17501, 420042},
        {INT64_C(-86400000001), -1, -1, -2, -25},
        {INT64_C(-62135596800000000), -1969, -23628, -719162, -17259888},
        {INT64_C(253402300799999999), 8029, 96359, 2932896, 70389527},
    };
    static const enum fz_transform_kind kinds[] = {FZ_TRANSFORM_YEAR, FZ_TRANSFORM_MONTH, FZ_TRANSFORM_DAY,
                                                   FZ_TRANSFORM_HOUR};
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 4; k++) {
            assert_int_equal(apply(make(kinds[k], 0), number(FZ_TYPE_TIMESTAMP, stamps[i][0])).u.i64, stamps[i][k + 1]);
        }
    }
    static const int64_t dates[][4] = {{0, 0, 0, 0},
                                       {-1, -1, -1, -1},
                                       {17501, 47, 575, 17501},
                                       {-365, -1, -12, -365},
                                       {-719162, -1969, -23628, -719162},
                                       {2932896, 8029, 96359, 2932896}};
    for (size_t i = 0; i < 6; i++) {
        for (size_t k = 0; k < 3; k++) {
            assert_int_equal(apply(make(kinds[k], 0), number(FZ_TYPE_DATE, dates[i][0])).u.i64, dates[i][k + 1]);
        }
    }
    assert_int_equal(apply(make(FZ_TRANSFORM_DAY, 0), number(FZ_TYPE_TIMESTAMPTZ_NS, -1)).u.i64, -1);
    assert_int_equal(apply(make(FZ_TRANSFORM_DAY, 0), number(FZ_TYPE_DATE, 5)).type->id, FZ_TYPE_DATE);
}

static void truncation(void **state) {
    (void)state;
    struct fz_arena a = {0};
    static const int64_t ints[] = {1, 5, 9, 10, 11, -1, -10, -11, 0}, want[] = {0, 0, 0, 10, 10, -10, -10, -20, 0};
    for (size_t i = 0; i < 9; i++) {
        assert_int_equal(apply(make(FZ_TRANSFORM_TRUNCATE, 10), number(FZ_TYPE_INT, ints[i])).u.i64, want[i]);
        assert_int_equal(apply(make(FZ_TRANSFORM_TRUNCATE, 10), number(FZ_TYPE_LONG, ints[i])).u.i64, want[i]);
    }
    static const int64_t dec[] = {1065, -5, 128}, dec_want[] = {1050, -50, 100};
    for (size_t i = 0; i < 3; i++) {
        struct fz_value v = {.type = fz_type_decimal(&a, 9, 2), .u.i128 = fz_i128_of(dec[i])};
        assert_true(fz_i128_get(apply(make(FZ_TRANSFORM_TRUNCATE, 50), v).u.i128) == dec_want[i]);
    }
    assert_true(fz_str_eq(apply(make(FZ_TRANSFORM_TRUNCATE, 3), text("iceberg")).u.bytes, FZ_STR_LIT("ice")));
    assert_true(fz_str_eq(apply(make(FZ_TRANSFORM_TRUNCATE, 3), text("ab")).u.bytes, FZ_STR_LIT("ab")));
    assert_true(fz_str_eq(apply(make(FZ_TRANSFORM_TRUNCATE, 3), text("日本語テキスト")).u.bytes, FZ_STR_LIT("日本語")));
    struct fz_value none = fz_value_null(fz_type_primitive(FZ_TYPE_STRING));
    assert_true(apply(make(FZ_TRANSFORM_TRUNCATE, 3), none).is_null);
    assert_true(apply(make(FZ_TRANSFORM_VOID, 0), text("x")).is_null);
    fz_arena_dispose(&a);
}

static void names(void **state) {
    (void)state;
    struct fz_arena a = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_transform t;
    static const char *const good[] = {"identity", "bucket[16]", "truncate[4]", "year",   "month", "day",
                                       "hour",     "void",       "zorder",      "bucket", "day[3]"};
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct fz_buf buf = {0};
        FZ_OK_OR_FAIL(fz_transform_parse(&a, fz_str_of(good[i]), &t, &err), &err);
        fz_transform_print(&buf, &t);
        assert_string_equal(buf.ptr, good[i]);
        assert_int_equal(t.kind == FZ_TRANSFORM_OTHER, i >= 8);
        fz_buf_dispose(&buf);
    }
    static const char *const bad[] = {
        "", "bucket[0]", "bucket[-1]", "bucket[x]", "bucket[]", "truncate[99999999999]", "bucket[16"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(fz_transform_parse(&a, fz_str_of(bad[i]), &t, &err), FZ_INVALID_ARG);
        fz_err_reset(&err);
    }
    const struct fz_type *type;
    t = make(FZ_TRANSFORM_HOUR, 0);
    assert_int_equal(fz_transform_result_type(&t, fz_type_primitive(FZ_TYPE_DATE), &type, &err), FZ_SCHEMA_MISMATCH);
    assert_non_null(strstr(err.message, "hour"));
    fz_err_reset(&err);
    t = make(FZ_TRANSFORM_BUCKET, 4);
    assert_int_equal(fz_transform_result_type(&t, fz_type_primitive(FZ_TYPE_DOUBLE), &type, &err), FZ_SCHEMA_MISMATCH);
    fz_err_reset(&err);
    t = make(FZ_TRANSFORM_IDENTITY, 0);
    assert_int_equal(
        fz_transform_result_type(&t, fz_type_list(&a, 1, false, fz_type_primitive(FZ_TYPE_INT)), &type, &err),
        FZ_SCHEMA_MISMATCH);
    fz_arena_dispose(&a);
}

static void expect_path(struct fz_transform t, struct fz_value v, const char *want) {
    struct fz_buf buf = {0};
    fz_transform_print_value(&buf, &t, &v);
    assert_string_equal(buf.ptr, want);
    fz_buf_dispose(&buf);
}

static void path_text(void **state) {
    (void)state;
    struct fz_transform identity = make(FZ_TRANSFORM_IDENTITY, 0);
    expect_path(make(FZ_TRANSFORM_YEAR, 0), number(FZ_TYPE_INT, 47), "2017");
    expect_path(make(FZ_TRANSFORM_MONTH, 0), number(FZ_TYPE_INT, 575), "2017-12");
    expect_path(make(FZ_TRANSFORM_MONTH, 0), number(FZ_TYPE_INT, -1), "1969-12");
    expect_path(make(FZ_TRANSFORM_DAY, 0), number(FZ_TYPE_DATE, 17501), "2017-12-01");
    expect_path(make(FZ_TRANSFORM_HOUR, 0), number(FZ_TYPE_INT, 420042), "2017-12-01-18");
    expect_path(make(FZ_TRANSFORM_HOUR, 0), number(FZ_TYPE_INT, -1), "1969-12-31-23");
    expect_path(make(FZ_TRANSFORM_BUCKET, 9), number(FZ_TYPE_INT, 8), "8");
    expect_path(identity, fz_value_null(fz_type_primitive(FZ_TYPE_INT)), "null");
    expect_path(identity, text("a b"), "a b");
    struct fz_value binary = {.type = fz_type_primitive(FZ_TYPE_BINARY), .u.bytes = {"\1\2\3", 3}};
    expect_path(identity, binary, "AQID");
    expect_path(identity, number(FZ_TYPE_DATE, 0), "1970-01-01");
    expect_path(identity, number(FZ_TYPE_TIMESTAMPTZ, INT64_C(1512151975038194)), "2017-12-01T18:12:55.038194Z");
    expect_path(identity, number(FZ_TYPE_TIMESTAMP, INT64_C(1512151975038194)), "2017-12-01T18:12:55.038194");
}

// Every transform over a whole column gives what it gives value by value.
static void columns_equal_values(void **state) {
    (void)state;
    struct fz_arena a = {0};
    struct fz_err err = FZ_ERR_INIT;
    const struct fz_type *types[] = {
        fz_type_primitive(FZ_TYPE_INT),
        fz_type_primitive(FZ_TYPE_LONG),
        fz_type_primitive(FZ_TYPE_DATE),
        fz_type_primitive(FZ_TYPE_TIMESTAMP),
        fz_type_primitive(FZ_TYPE_TIMESTAMPTZ_NS),
        fz_type_primitive(FZ_TYPE_STRING),
        fz_type_primitive(FZ_TYPE_BINARY),
        fz_type_primitive(FZ_TYPE_UUID),
        fz_type_decimal(&a, 4, 1),
        fz_type_decimal(&a, 9, 2),
        fz_type_decimal(&a, 18, 2),
        fz_type_decimal(&a, 38, 10),
        fz_type_primitive(FZ_TYPE_TIME),
        fz_type_primitive(FZ_TYPE_SHORT),
    };
    enum { ROWS = 300 };
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        struct fz_column in;
        FZ_OK_OR_FAIL(fz_column_init(&in, types[t], ROWS, &err), &err);
        for (size_t i = 0; i < ROWS; i++) {
            int64_t x = ((int64_t)i - 150) * (fz_type_width(types[t]) == 8 ? INT64_C(7919000000007) : 37);
            struct fz_value v = number(types[t]->id, x);
            v.type = types[t];
            v.is_null = i % 9 == 5;
            if (types[t]->id == FZ_TYPE_STRING || types[t]->id == FZ_TYPE_BINARY) {
                v.u.bytes = fz_str_of(fz_arena_printf(&a, "%.*sé%zu", (int)(i % 17), "abcdefghijklmnopq", i));
            } else if (types[t]->id == FZ_TYPE_DECIMAL || types[t]->id == FZ_TYPE_UUID) {
                v.u.i128 = fz_i128_of(x);
            }
            FZ_OK_OR_FAIL(fz_value_store(&in, i, &v, &err), &err);
        }
        static const struct fz_transform transforms[] = {
            {.kind = FZ_TRANSFORM_IDENTITY},
            {.kind = FZ_TRANSFORM_BUCKET, .param = 1000},
            {.kind = FZ_TRANSFORM_TRUNCATE, .param = 7},
            {.kind = FZ_TRANSFORM_YEAR},
            {.kind = FZ_TRANSFORM_MONTH},
            {.kind = FZ_TRANSFORM_DAY},
            {.kind = FZ_TRANSFORM_HOUR},
            {.kind = FZ_TRANSFORM_VOID},
        };
        for (size_t k = 0; k < sizeof transforms / sizeof transforms[0]; k++) {
            const struct fz_type *type;
            if (fz_transform_result_type(&transforms[k], types[t], &type, &err) != FZ_OK) {
                fz_err_reset(&err);
                continue;
            }
            struct fz_column out;
            FZ_OK_OR_FAIL(fz_column_init(&out, type, 1, &err), &err);
            for (int twice = 0; twice < 2; twice++) { // the second time into a used column
                FZ_OK_OR_FAIL(fz_transform_apply_column(&transforms[k], &in, ROWS, &out, &err), &err);
            }
            for (size_t i = 0; i < ROWS; i++) {
                struct fz_value got = fz_value_at(&out, i, NULL),
                                want = apply(transforms[k], fz_value_at(&in, i, NULL));
                assert_true(fz_value_equal(&got, &want));
            }
            fz_column_dispose(&out);
        }
        fz_column_dispose(&in);
    }
    fz_arena_dispose(&a);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(hashes_of_the_spec),
        FZ_TEST(buckets_of_pyiceberg),
        FZ_TEST(dates_of_pyiceberg),
        FZ_TEST(truncation),
        FZ_TEST(names),
        FZ_TEST(path_text),
        FZ_TEST(columns_equal_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
