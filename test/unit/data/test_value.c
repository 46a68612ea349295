// data/value.h against the spec's vectors: bounds (appendix D), JSON values (appendix C), order, decimals, truncation; and the
// rendering of results as recorded for Spark.
#include "leak_check.h"

#include <math.h>

#include "base/text.h"
#include "data/value.h"

static struct fz_arena arena;

static const struct fz_type *primitive(enum fz_type_id id) {
    return fz_type_primitive(id);
}
static struct fz_value number(enum fz_type_id id, int64_t v) {
    return (struct fz_value){.type = primitive(id), .u.i64 = v};
}
static struct fz_value bytes(enum fz_type_id id, const char *ptr, size_t len) {
    return (struct fz_value){.type = primitive(id), .u.bytes = {ptr, len}};
}
static struct fz_value text(const char *t) {
    return bytes(FZ_TYPE_STRING, t, strlen(t));
}
static struct fz_value decimal(int precision, int scale, __int128 v) {
    return (struct fz_value){.type = fz_type_decimal(&arena, precision, scale), .u.i128 = fz_i128_of(v)};
}
static struct fz_value real(double v) {
    return (struct fz_value){.type = primitive(FZ_TYPE_DOUBLE), .u.f64 = v};
}
static struct fz_value real32(float v) {
    return (struct fz_value){.type = primitive(FZ_TYPE_FLOAT), .u.f32 = v};
}
static struct fz_value boolean(bool v) {
    return (struct fz_value){.type = primitive(FZ_TYPE_BOOLEAN), .u.boolean = v};
}
static struct fz_value uuid_value(void) { // f79c3e09-677c-4bbd-a479-3f349cb785e7
    return (struct fz_value){.type = primitive(FZ_TYPE_UUID),
                             .u.i128 = {UINT64_C(0xa4793f349cb785e7), (int64_t)UINT64_C(0xf79c3e09677c4bbd)}};
}

static void expect_bound(struct fz_value v, const char *hex) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf buf = {0}, text_of = {0};
    FZ_OK_OR_FAIL(fz_value_to_bound(&buf, &v, &err), &err);
    fz_hex_encode(&text_of, buf.ptr, buf.len);
    assert_string_equal(text_of.ptr != NULL ? text_of.ptr : "", hex);
    struct fz_value back;
    FZ_OK_OR_FAIL(fz_value_from_bound(&arena, v.type, (struct fz_str){buf.ptr, buf.len}, &back, &err), &err);
    assert_true(fz_value_equal(&v, &back));
    fz_buf_dispose(&buf);
    fz_buf_dispose(&text_of);
}

static void bounds_are_the_spec_bytes(void **state) {
    (void)state;
    expect_bound(boolean(true), "01");
    expect_bound(boolean(false), "00");
    expect_bound(number(FZ_TYPE_INT, 34), "22000000");
    expect_bound(number(FZ_TYPE_INT, -2), "feffffff");
    expect_bound(number(FZ_TYPE_DATE, 17486), "4e440000");
    expect_bound(number(FZ_TYPE_LONG, -1), "ffffffffffffffff");
    expect_bound(number(FZ_TYPE_TIMESTAMPTZ, INT64_C(1510871468000001)), "01c3262d215e0500");
    expect_bound(real32(1.0f), "0000803f");
    expect_bound(real(-0.0), "0000000000000080");
    expect_bound(text("iceberg"), "69636562657267");
    expect_bound(text(""), "");
    expect_bound(uuid_value(), "f79c3e09677c4bbda4793f349cb785e7");
    expect_bound(bytes(FZ_TYPE_BINARY, "\0\1\2\3", 4), "00010203");
    // decimals: bytes computed by PyIceberg
    static const struct {
        const char *unscaled, *hex;
    } decimals[] = {
        {"0", "00"},
        {"1", "01"},
        {"-1", "ff"},
        {"127", "7f"},
        {"128", "0080"},
        {"-128", "80"},
        {"-129", "ff7f"},
        {"255", "00ff"},
        {"256", "0100"},
        {"1420", "058c"},
        {"-1420", "fa74"},
        {"99999999999999999999999999999999999999", "4b3b4ca85a86c47a098a223fffffffff"},
        {"-99999999999999999999999999999999999999", "b4c4b357a5793b85f675ddc000000001"},
    };
    for (size_t i = 0; i < sizeof decimals / sizeof decimals[0]; i++) {
        __int128 v;
        bool exact;
        assert_true(fz_decimal_parse(fz_str_of(decimals[i].unscaled), 0, &v, &exact) && exact);
        expect_bound(decimal(38, 0, v), decimals[i].hex);
    }
}

static void bounds_from_before_a_promotion(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_value v;
    struct fz_str minus_two = {"\xfe\xff\xff\xff", 4}, one_half = {"\0\0\0\x3f", 4}, day_one = {"\1\0\0\0", 4};
    FZ_OK_OR_FAIL(fz_value_from_bound(&arena, primitive(FZ_TYPE_LONG), minus_two, &v, &err), &err);
    assert_int_equal(v.u.i64, -2);
    FZ_OK_OR_FAIL(fz_value_from_bound(&arena, primitive(FZ_TYPE_DOUBLE), one_half, &v, &err), &err);
    assert_true(v.u.f64 == 0.5);
    FZ_OK_OR_FAIL(fz_value_from_bound(&arena, primitive(FZ_TYPE_TIMESTAMP), day_one, &v, &err), &err);
    assert_int_equal(v.u.i64, INT64_C(86400000000));
    FZ_OK_OR_FAIL(fz_value_from_bound(&arena, primitive(FZ_TYPE_TIMESTAMP_NS), day_one, &v, &err), &err);
    assert_int_equal(v.u.i64, INT64_C(86400000000000));
    FZ_OK_OR_FAIL(
        fz_value_from_bound(&arena, fz_type_decimal(&arena, 20, 2), (struct fz_str){"\xff\xff\x7f", 3}, &v, &err),
        &err);
    assert_true(fz_i128_get(v.u.i128) == -129); // longer than needed
    static const struct {
        enum fz_type_id id;
        const char *ptr;
        size_t len;
    } bad[] = {
        {FZ_TYPE_BOOLEAN, "", 0},     {FZ_TYPE_INT, "abc", 3},        {FZ_TYPE_INT, "abcdefgh", 8},
        {FZ_TYPE_LONG, NULL, 0},      {FZ_TYPE_FLOAT, "abcdefgh", 8}, {FZ_TYPE_UUID, "abcd", 4},
        {FZ_TYPE_STRING, "\xff", 1},  {FZ_TYPE_TIME, "abcd", 4},      {FZ_TYPE_TIMESTAMP, "\xff\xff\xff\x7f", 4},
        {FZ_TYPE_VARIANT, "abcd", 4},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(
            fz_value_from_bound(&arena, primitive(bad[i].id), (struct fz_str){bad[i].ptr, bad[i].len}, &v, &err),
            FZ_CORRUPT);
        fz_err_reset(&err);
    }
    assert_int_equal(fz_value_from_bound(&arena, fz_type_decimal(&arena, 9, 2), (struct fz_str){"", 0}, &v, &err),
                     FZ_CORRUPT);
    fz_err_reset(&err);
    assert_int_equal(fz_value_from_bound(&arena, fz_type_decimal(&arena, 9, 2),
                                         (struct fz_str){"\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 17}, &v, &err),
                     FZ_CORRUPT);
    fz_arena_dispose(&arena);
}

static void expect_print(struct fz_value v, const char *want) {
    struct fz_buf buf = {0};
    fz_value_print(&buf, &v);
    assert_string_equal(buf.ptr != NULL ? buf.ptr : "", want);
    fz_buf_dispose(&buf);
}
static void expect_json(struct fz_value v, const char *want) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf buf = {0};
    FZ_OK_OR_FAIL(fz_value_to_json(&buf, &v, &err), &err);
    assert_string_equal(buf.ptr, want);
    fz_buf_dispose(&buf);
}

static void printing_as_recorded(void **state) {
    (void)state;
    expect_print(fz_value_null(primitive(FZ_TYPE_INT)), "NULL");
    expect_print(boolean(true), "true");
    expect_print(number(FZ_TYPE_LONG, INT64_MIN), "-9223372036854775808");
    expect_print(decimal(9, 2, 19990), "199.90");
    expect_print(decimal(9, 2, -5), "-0.05");
    expect_print(decimal(9, 0, 7), "7");
    expect_print(real(0.1), "0.1");
    expect_print(real(3.0), "3.0");
    expect_print(real(1e16), "1e+16");
    expect_print(real(1.5e-7), "1.5e-07");
    expect_print(real(-0.0), "-0.0");
    expect_print(real((double)NAN), "NaN");
    expect_print(real32((float)-INFINITY), "-Infinity");
    expect_print(number(FZ_TYPE_DATE, 19753), "2024-01-31");
    expect_print(number(FZ_TYPE_TIMESTAMP, INT64_C(1706745599500000)), "2024-01-31 23:59:59.5");
    expect_print(number(FZ_TYPE_TIMESTAMPTZ, -1), "1969-12-31 23:59:59.999999");
    expect_print(number(FZ_TYPE_TIMESTAMP_NS, INT64_C(1000000001)), "1970-01-01 00:00:01.000000001");
    expect_print(number(FZ_TYPE_TIME, INT64_C(81068123456)), "22:31:08.123456");
    expect_print(uuid_value(), "f79c3e09-677c-4bbd-a479-3f349cb785e7");
    expect_print(bytes(FZ_TYPE_BINARY, "\x00\xff", 2), "00ff");
    expect_print(number(FZ_TYPE_INTERVAL_DT, -INT64_C(93784500000)), "-1 02:03:04.5");
    expect_print(number(FZ_TYPE_INTERVAL_YM, -14), "-1-2");
    // nested: the form of run_spark.py
    const struct fz_type *list = fz_type_list(&arena, 1, false, primitive(FZ_TYPE_DATE));
    struct fz_value items[3] = {number(FZ_TYPE_DATE, 0), fz_value_null(primitive(FZ_TYPE_DATE)),
                                number(FZ_TYPE_DATE, 1)};
    struct fz_value days = {.type = list, .u.nested = {items, 3}};
    expect_print(days, "[\"1970-01-01\",null,\"1970-01-02\"]");
    struct fz_field fields[3] = {{.id = 1, .name = "a\"b", .type = primitive(FZ_TYPE_STRING)},
                                 {.id = 2, .name = "d", .type = list},
                                 {.id = 3, .name = "x", .type = primitive(FZ_TYPE_DOUBLE)}};
    struct fz_value members[3] = {text("q\"\n\xc3\xa4"), days, real((double)NAN)};
    struct fz_value whole = {.type = fz_type_struct(&arena, fields, 3), .u.nested = {members, 3}};
    expect_print(whole, "{\"a\\\"b\":\"q\\\"\\n\xc3\xa4\",\"d\":[\"1970-01-01\",null,\"1970-01-02\"],\"x\":\"NaN\"}");
    const struct fz_type *map = fz_type_map(&arena, 4, primitive(FZ_TYPE_INT), 5, false, primitive(FZ_TYPE_STRING));
    struct fz_value entries[6] = {number(FZ_TYPE_INT, 9),  text("nine"),
                                  number(FZ_TYPE_INT, 10), text("ten"),
                                  number(FZ_TYPE_INT, -1), fz_value_null(primitive(FZ_TYPE_STRING))};
    expect_print((struct fz_value){.type = map, .u.nested = {entries, 6}},
                 "{\"-1\":null,\"10\":\"ten\",\"9\":\"nine\"}");
    expect_print((struct fz_value){.type = map}, "{}");
    fz_arena_dispose(&arena);
}

static void json_single_values(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf buf = {0};
    expect_json(boolean(true), "true");
    expect_json(number(FZ_TYPE_INT, 34), "34");
    expect_json(real(1.5), "1.5");
    expect_json(decimal(9, 2, 1420), "\"14.20\"");
    expect_json(number(FZ_TYPE_DATE, 17486), "\"2017-11-16\"");
    expect_json(number(FZ_TYPE_TIME, INT64_C(81068123456)), "\"22:31:08.123456\"");
    expect_json(number(FZ_TYPE_TIMESTAMP, INT64_C(1510871468123456)), "\"2017-11-16T22:31:08.123456\"");
    expect_json(number(FZ_TYPE_TIMESTAMPTZ, INT64_C(1510871468123456)), "\"2017-11-16T22:31:08.123456+00:00\"");
    expect_json(number(FZ_TYPE_TIMESTAMP_NS, INT64_C(1510871468123456789)), "\"2017-11-16T22:31:08.123456789\"");
    expect_json(text("ice\"berg"), "\"ice\\\"berg\"");
    expect_json(uuid_value(), "\"f79c3e09-677c-4bbd-a479-3f349cb785e7\"");
    expect_json(bytes(FZ_TYPE_BINARY, "\0\1\2\xff", 4), "\"000102ff\"");
    expect_json(fz_value_null(primitive(FZ_TYPE_INT)), "null");
    struct fz_field fields[2] = {{.id = 1, .name = "a", .type = primitive(FZ_TYPE_INT)},
                                 {.id = 2, .name = "b", .type = primitive(FZ_TYPE_STRING)}};
    struct fz_value members[2] = {number(FZ_TYPE_INT, 1), text("bar")};
    expect_json((struct fz_value){.type = fz_type_struct(&arena, fields, 2), .u.nested = {members, 2}},
                "{\"1\":1,\"2\":\"bar\"}");
    struct fz_value entries[4] = {text("a"), number(FZ_TYPE_INT, 1), text("b"), number(FZ_TYPE_INT, 2)};
    const struct fz_type *map = fz_type_map(&arena, 4, primitive(FZ_TYPE_STRING), 5, false, primitive(FZ_TYPE_INT));
    expect_json((struct fz_value){.type = map, .u.nested = {entries, 4}}, "{\"keys\":[\"a\",\"b\"],\"values\":[1,2]}");
    struct fz_value ints[3] = {number(FZ_TYPE_INT, 1), number(FZ_TYPE_INT, 2), number(FZ_TYPE_INT, 3)};
    expect_json((struct fz_value){.type = fz_type_list(&arena, 6, true, primitive(FZ_TYPE_INT)), .u.nested = {ints, 3}},
                "[1,2,3]");
    struct fz_value nan = real((double)NAN);
    assert_int_equal(fz_value_to_json(&buf, &nan, &err), FZ_UNSUPPORTED);
    fz_buf_dispose(&buf);
    fz_arena_dispose(&arena);
}

static void expect_less(struct fz_value a, struct fz_value b) {
    assert_true(fz_value_compare(&a, &b) < 0);
    assert_true(fz_value_compare(&b, &a) > 0);
    assert_true(fz_value_compare(&a, &a) == 0);
    assert_false(fz_value_equal(&a, &b));
}

static void order(void **state) {
    (void)state;
    expect_less(boolean(false), boolean(true));
    expect_less(number(FZ_TYPE_LONG, INT64_MIN), number(FZ_TYPE_LONG, INT64_MAX));
    const double doubles[] = {-INFINITY, -1e300, -1.0, -5e-324, -0.0, 0.0, 5e-324, 1.0, INFINITY, NAN};
    for (size_t i = 0; i + 1 < 10; i++) {
        expect_less(real(doubles[i]), real(doubles[i + 1]));
        if (i != 0 && i != 3 && i != 2 && i != 5 && i != 1 && i != 6) {
            expect_less(real32((float)doubles[i]), real32((float)doubles[i + 1]));
        }
    }
    struct fz_value nan = real(-(double)NAN), nan2 = real((double)NAN);
    assert_true(fz_value_equal(&nan, &nan2));
    expect_less(text("a"), text("a "));
    expect_less(text("Z"), text("a"));
    expect_less(text("z"), text("\xc3\xa4"));
    expect_less(bytes(FZ_TYPE_BINARY, "\x7f", 1), bytes(FZ_TYPE_BINARY, "\x80", 1));
    expect_less(text(""), bytes(FZ_TYPE_STRING, "\0", 1));
    struct fz_value low = uuid_value(), high = uuid_value();
    low.u.i128.upper = 1; // first byte below 0x80 sorts first
    expect_less(low, high);
    expect_less(decimal(9, 2, -100), decimal(9, 2, 99));
    expect_less(decimal(9, 2, 100), decimal(9, 1, 11)); // 1.00 < 1.1
    struct fz_value same_a = decimal(9, 2, 100), same_b = decimal(9, 1, 10);
    assert_int_equal(fz_value_compare(&same_a, &same_b), 0);
    const struct fz_type *list = fz_type_list(&arena, 1, false, primitive(FZ_TYPE_INT));
    struct fz_value null_first[2] = {fz_value_null(primitive(FZ_TYPE_INT)), number(FZ_TYPE_INT, 9)};
    struct fz_value one[2] = {number(FZ_TYPE_INT, 1), number(FZ_TYPE_INT, 0)};
    expect_less((struct fz_value){.type = list, .u.nested = {null_first, 2}},
                (struct fz_value){.type = list, .u.nested = {one, 2}});
    expect_less((struct fz_value){.type = list, .u.nested = {one, 1}},
                (struct fz_value){.type = list, .u.nested = {one, 2}});
    fz_arena_dispose(&arena);
}

static void decimals(void **state) {
    (void)state;
    static const struct {
        const char *in;
        int scale;
        const char *out; // NULL: refused
        bool exact;
    } cases[] = {
        {"1", 2, "1.00", true},
        {"-1.005", 2, "-1.01", false},
        {"1.004999", 2, "1.00", false},
        {"0.5", 0, "1", false},
        {"-0.5", 0, "-1", false},
        {"0.4999", 0, "0", false},
        {"1e3", 0, "1000", true},
        {"1.5E-1", 2, "0.15", true},
        {"+7.", 1, "7.0", true},
        {".5", 1, "0.5", true},
        {"000123.4500", 2, "123.45", true},
        {"99999999999999999999999999999999999999", 0, "99999999999999999999999999999999999999", true},
        {"99999999999999999999999999999999999999.5", 0, NULL, false},
        {"100000000000000000000000000000000000000", 0, NULL, false},
        {"1e38", 0, NULL, false},
        {"1e37", 0, "10000000000000000000000000000000000000", true},
        {"1e999999999999", 0, NULL, false},
        {"0e999999999999", 3, "0.000", true},
        {"1e-999999999999", 2, "0.00", false},
        {"", 0, NULL, false},
        {".", 0, NULL, false},
        {"-", 0, NULL, false},
        {"1e", 0, NULL, false},
        {"1.2.3", 0, NULL, false},
        {" 1", 0, NULL, false},
        {"0x1", 0, NULL, false},
        {"nan", 0, NULL, false},
        {"0.00000000000000000000000000000000000001", 38, "0.00000000000000000000000000000000000001", true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        __int128 v;
        bool exact;
        bool ok = fz_decimal_parse(fz_str_of(cases[i].in), cases[i].scale, &v, &exact);
        assert_int_equal(ok, cases[i].out != NULL);
        if (ok) {
            struct fz_buf buf = {0};
            fz_decimal_print(&buf, v, cases[i].scale);
            assert_string_equal(buf.ptr, cases[i].out);
            assert_int_equal(exact, cases[i].exact);
            fz_buf_dispose(&buf);
        }
    }
    __int128 v, limit = fz_decimal_pow10(38);
    assert_true(fz_decimal_rescale(125, 2, 1, &v) && v == 13);
    assert_true(fz_decimal_rescale(-125, 2, 1, &v) && v == -13);
    assert_true(fz_decimal_rescale(124, 2, 1, &v) && v == 12);
    assert_true(fz_decimal_rescale(5, 0, 37, &v) && v == 5 * fz_decimal_pow10(37));
    assert_false(fz_decimal_rescale(5, 0, 38, &v) && v != 5);
    assert_false(fz_decimal_rescale(10, 0, 37, &v));
    assert_true(fz_decimal_rescale(0, 0, 38, &v) && v == 0);
    assert_true(fz_decimal_rescale(limit - 1, 38, 0, &v) && v == 1);
    assert_true(fz_decimal_digits(0) == 1 && fz_decimal_digits(-999) == 3 && fz_decimal_digits(1000) == 4);
    assert_true(fz_decimal_digits(limit - 1) == 38 && fz_decimal_digits(limit) == 39);
    fz_arena_dispose(&arena);
}

static void truncated_bounds(void **state) {
    (void)state;
    struct fz_value out, v = text("iceberg");
    assert_true(fz_bound_truncate(&arena, &v, 3, false, &out) && fz_str_eq(out.u.bytes, FZ_STR_LIT("ice")));
    assert_true(fz_bound_truncate(&arena, &v, 3, true, &out) && fz_str_eq(out.u.bytes, FZ_STR_LIT("icf")));
    assert_true(fz_bound_truncate(&arena, &v, 7, true, &out) && fz_str_eq(out.u.bytes, FZ_STR_LIT("iceberg")));
    v = text("a\x7f\x7f"); // U+007F + 1 = U+0080, two bytes
    assert_true(fz_bound_truncate(&arena, &v, 2, true, &out) && fz_str_eq(out.u.bytes, FZ_STR_LIT("a\xc2\x80")));
    v = text("a\xed\x9f\xbfz"); // U+D7FF + 1: surrogates are skipped to U+E000
    assert_true(fz_bound_truncate(&arena, &v, 2, true, &out) && fz_str_eq(out.u.bytes, FZ_STR_LIT("a\xee\x80\x80")));
    v = text("a\xf4\x8f\xbf\xbfz"); // U+10FFFF has no successor: carry
    assert_true(fz_bound_truncate(&arena, &v, 2, true, &out) && fz_str_eq(out.u.bytes, FZ_STR_LIT("b")));
    v = text("\xf4\x8f\xbf\xbf\xf4\x8f\xbf\xbfz");
    assert_false(fz_bound_truncate(&arena, &v, 2, true, &out));
    assert_true(fz_bound_truncate(&arena, &v, 2, false, &out));
    v = bytes(FZ_TYPE_BINARY, "\1\xff\2", 3);
    assert_true(fz_bound_truncate(&arena, &v, 2, true, &out) && fz_str_eq(out.u.bytes, FZ_STR_LIT("\2")));
    v = bytes(FZ_TYPE_BINARY, "\xff\xff\2", 3);
    assert_false(fz_bound_truncate(&arena, &v, 2, true, &out));
    v = number(FZ_TYPE_LONG, 5);
    assert_true(fz_bound_truncate(&arena, &v, 2, true, &out) && out.u.i64 == 5);
    fz_arena_dispose(&arena);
}

static void storing_checks_type_and_width(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_column c;
    FZ_OK_OR_FAIL(fz_column_init(&c, primitive(FZ_TYPE_INT), 1, &err), &err);
    struct fz_value wide = number(FZ_TYPE_LONG, INT64_C(1) << 40), fine = number(FZ_TYPE_LONG, 77), word = text("x");
    assert_int_equal(fz_value_store(&c, 0, &wide, &err), FZ_LIMIT);
    fz_err_reset(&err);
    assert_int_equal(fz_value_store(&c, 0, &word, &err), FZ_BUG);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(fz_value_store(&c, 500, &fine, &err), &err);
    assert_int_equal(fz_value_at(&c, 500, NULL).u.i64, 77);
    fz_column_dispose(&c);
    struct fz_value id = uuid_value();
    FZ_OK_OR_FAIL(fz_column_init(&c, id.type, 1, &err), &err);
    FZ_OK_OR_FAIL(fz_value_store(&c, 0, &id, &err), &err);
    assert_true(((struct fz_i128 *)c.data)->upper ==
                (int64_t)UINT64_C(0x779c3e09677c4bbd)); // the engine's form: top bit flipped
    struct fz_value back = fz_value_at(&c, 0, NULL);
    assert_true(fz_value_equal(&id, &back));
    fz_column_dispose(&c);
    fz_arena_dispose(&arena);
}

static int dispose_and_check(void **state) {
    fz_arena_dispose(&arena);
    return fz_test_end(state);
}
#define VALUE_TEST(fn) cmocka_unit_test_setup_teardown(fn, fz_test_begin, dispose_and_check)

int main(void) {
    const struct CMUnitTest tests[] = {
        VALUE_TEST(bounds_are_the_spec_bytes),
        VALUE_TEST(bounds_from_before_a_promotion),
        VALUE_TEST(printing_as_recorded),
        VALUE_TEST(json_single_values),
        VALUE_TEST(order),
        VALUE_TEST(decimals),
        VALUE_TEST(truncated_bounds),
        VALUE_TEST(storing_checks_type_and_width),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
