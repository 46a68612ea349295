// Values by encoding: edge values that the Debezium documentation and the captures' README name, and what must be refused.
#include "leak_check.h"

#include "cdc/decode/decode_number.h"
#include "cdc/decode/decode_value.h"
#include "cdc/decode/iso_time.h"
#include "cdc/encoding.h"

struct value_case {
    const char *type, *encoding, *json;
    enum fz_decoded result;
    const char *text; // as fz_value_print writes it
};
static const struct value_case CASES[] = {
    {"decimal(12,2)", "decimal-bytes(2)", "\"ImYV\"", FZ_DECODED_VALUE, "22543.57"},
    {"decimal(12,2)", "decimal-bytes(2)", "\"/w==\"", FZ_DECODED_VALUE, "-0.01"},
    {"decimal(12,4)", "decimal-bytes(2)", "\"ImYV\"", FZ_DECODED_VALUE, "22543.5700"},
    {"decimal(12,1)", "decimal-bytes(2)", "\"ImYV\"", FZ_DECODED_FOREIGN, NULL}, // would round
    {"decimal(4,2)", "decimal-bytes(2)", "\"ImYV\"", FZ_DECODED_FOREIGN, NULL}, // too large
    {"decimal(12,2)", "decimal-bytes(2)", "\"\"", FZ_DECODED_FOREIGN, NULL},
    {"decimal(12,2)", "decimal-bytes(2)", "\"?\"", FZ_DECODED_FOREIGN, NULL},
    {"decimal(38,0)", "decimal-bytes(0)", "\"SzuoyP//////////////8A==\"", FZ_DECODED_FOREIGN,
     NULL}, // wider than 128 bits of 38 digits
    {"string", "decimal-bytes(30)", "\"AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"", FZ_DECODED_VALUE, NULL},
    {"string", "struct-scale", "{\"scale\":3,\"value\":\"GoU=\"}", FZ_DECODED_VALUE, "6.789"},
    {"decimal(10,2)", "struct-scale", "{\"scale\":1,\"value\":\"ew==\"}", FZ_DECODED_VALUE, "12.30"},
    {"decimal(10,2)", "struct-scale", "{\"scale\":3,\"value\":\"MDk=\"}", FZ_DECODED_FOREIGN, NULL},
    {"decimal(12,2)", "decimal-string", "\"1.5E+3\"", FZ_DECODED_VALUE, "1500.00"},
    {"decimal(12,2)", "decimal-string", "\"NAN\"", FZ_DECODED_BEYOND, NULL},
    {"string", "decimal-string", "\"POSITIVE_INFINITY\"", FZ_DECODED_VALUE, "Infinity"},
    {"decimal(20,0)", "unsigned64", "-1", FZ_DECODED_VALUE, "18446744073709551615"},
    {"decimal(20,0)", "unsigned64", "1.5", FZ_DECODED_FOREIGN, NULL},
    {"date", "epoch-days", "20526", FZ_DECODED_VALUE, "2026-03-14"},
    {"date", "epoch-days", "-2147472692", FZ_DECODED_BEYOND, NULL},
    {"date", "epoch-days", "\"2026-03-14\"", FZ_DECODED_FOREIGN, NULL},
    {"date", "iso-local", "\"2026-03-14Z\"", FZ_DECODED_VALUE, "2026-03-14"},
    {"date", "iso-local", "\"2026-02-30\"", FZ_DECODED_FOREIGN, NULL},
    {"timestamp_ntz", "epoch-millis", "1772600767891", FZ_DECODED_VALUE, "2026-03-04 05:06:07.891"},
    {"timestamp_ntz", "epoch-micros", "-1", FZ_DECODED_VALUE, "1969-12-31 23:59:59.999999"},
    {"timestamp_ntz", "epoch-nanos", "-1", FZ_DECODED_VALUE, "1969-12-31 23:59:59.999999"},
    {"timestamp_ntz", "epoch-millis", "9223372036854775807", FZ_DECODED_BEYOND, NULL},
    {"timestamp_ntz", "epoch-micros", "9223372036825200000", FZ_DECODED_BEYOND, NULL}, // infinity
    {"time", "micros-of-day", "86399999999", FZ_DECODED_VALUE, "23:59:59.999999"},
    {"time", "micros-of-day", "86400000000", FZ_DECODED_BEYOND, NULL},
    {"time", "iso-time-zoned", "\"01:15:00+05:30\"", FZ_DECODED_VALUE, "19:45:00"},
    {"time", "iso-local", "\"24:00:00\"", FZ_DECODED_BEYOND, NULL},
    {"int", "plain", "2147483648", FZ_DECODED_FOREIGN, NULL},
    {"int", "plain", "\"1\"", FZ_DECODED_FOREIGN, NULL},
    {"long", "plain", "9223372036854775807", FZ_DECODED_VALUE, "9223372036854775807"},
    {"boolean", "plain", "1", FZ_DECODED_FOREIGN, NULL},
    {"string", "plain", "\"\"", FZ_DECODED_VALUE, ""},
    {"string", "plain", "1", FZ_DECODED_FOREIGN, NULL},
    {"double", "number", "\"-Infinity\"", FZ_DECODED_VALUE, "-Infinity"},
    {"double", "number", "\"x\"", FZ_DECODED_FOREIGN, NULL},
    {"decimal(12,2)", "number", "0.1", FZ_DECODED_VALUE, "0.10"},
    {"string", "json-text", "\"{\\\"a\\\": 1e400}\"", FZ_DECODED_VALUE, "{\"a\": 1e400}"},
    {"string", "json-text", "\"{\"", FZ_DECODED_FOREIGN, NULL},
    {"string", "plain", "\"__debezium_unavailable_value\"", FZ_DECODED_UNAVAILABLE, NULL},
    {"binary", "base64", "\"X19kZWJleml1bV91bmF2YWlsYWJsZV92YWx1ZQ==\"", FZ_DECODED_UNAVAILABLE, NULL},
    {"array<string>", "list(plain)", "[\"__debezium_unavailable_value\"]", FZ_DECODED_UNAVAILABLE, NULL},
    {"array<int>", "list(plain)",
     "[95,95,100,101,98,101,122,105,117,109,95,117,110,97,118,97,105,108,97,98,108,101,95,118,97,108,117,101]",
     FZ_DECODED_UNAVAILABLE, NULL},
    {"array<string>", "list(plain)", "[\"__debezium_unavailable_value\",\"x\"]", FZ_DECODED_FOREIGN, NULL},
    {"array<int>", "list(plain)", "{}", FZ_DECODED_FOREIGN, NULL},
    {"uuid", "uuid-text", "\"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11\"", FZ_DECODED_VALUE,
     "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"},
    {"uuid", "uuid-text", "\"a0eebc99\"", FZ_DECODED_FOREIGN, NULL},
};

static void values(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_value_decoder d;
    FZ_OK_OR_FAIL(fz_value_decoder_init(&d, &arena, "__debezium_unavailable_value", &err), &err);
    d.arena = &arena;
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        const struct value_case *c = &CASES[i];
        const struct fz_type *type;
        struct fz_cdc_encoding encoding;
        struct fz_json json;
        struct fz_value v;
        struct fz_buf text = {0};
        FZ_OK_OR_FAIL(fz_cdc_type_parse(&arena, fz_str_of(c->type), &type, &err), &err);
        FZ_OK_OR_FAIL(fz_cdc_encoding_parse(&arena, fz_str_of(c->encoding), &encoding, &err), &err);
        type = fz_cdc_type_settle(&arena, type, &encoding);
        assert_true(fz_cdc_encoding_fits(&encoding, type));
        fz_json_init(&json, fz_str_of(c->json), &arena);
        enum fz_decoded result = fz_cdc_decode_value(&d, &json, &encoding, type, &v);
        if (result == FZ_DECODED_VALUE) {
            fz_value_print(&text, &v);
        }
        if (result != c->result || (c->text != NULL && strcmp(text.ptr == NULL ? "" : text.ptr, c->text) != 0)) {
            print_error("%s as %s, %s: result %d %s\n", c->json, c->encoding, c->type, result,
                        text.ptr == NULL ? "" : text.ptr);
            fail();
        }
        assert_true(result == FZ_DECODED_FOREIGN || fz_json_at_end(&json));
        fz_buf_dispose(&text);
    }
    fz_value_decoder_dispose(&d);
    fz_arena_dispose(&arena);
}

// Python: int.from_bytes(b, 'big', signed=True) / 10**scale, written out
static void wide_numbers(void **state) {
    (void)state;
    static const struct {
        uint8_t bytes[20];
        size_t n;
        int scale;
        const char *text;
    } NUMBERS[] = {
        {{0x00}, 1, 3, "0.000"},
        {{0xff}, 1, 0, "-1"},
        {{0x80}, 1, 2, "-1.28"},
        {{0x80, 0, 0, 0}, 4, 0, "-2147483648"},
        {{0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 17, 0, "340282366920938463463374607431768211456"},
        {{0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 17, 5, "-3402823669209384634633746074317682.11456"},
        {{0x3b, 0x9a, 0xca, 0x00}, 4, 0, "1000000000"},
        {{0x07}, 1, -2, "700"},
    };
    for (size_t i = 0; i < sizeof NUMBERS / sizeof *NUMBERS; i++) {
        struct fz_buf text = {0};
        assert_true(fz_exact_print_bytes(&text, NUMBERS[i].bytes, NUMBERS[i].n, NUMBERS[i].scale));
        assert_string_equal(text.ptr, NUMBERS[i].text);
        fz_buf_dispose(&text);
    }
}

static void exact_text(void **state) {
    (void)state;
    __int128 v;
    assert_int_equal(fz_exact_from_text(FZ_STR_LIT("-12.30"), 2, &v), FZ_EXACT_OK);
    assert_true(v == -1230);
    assert_int_equal(fz_exact_from_text(FZ_STR_LIT("100"), 0, &v), FZ_EXACT_OK);
    assert_true(v == 100);
    assert_int_equal(fz_exact_from_text(FZ_STR_LIT("1e-2"), 2, &v), FZ_EXACT_OK);
    assert_true(v == 1);
    assert_int_equal(fz_exact_from_text(FZ_STR_LIT("1.000"), 0, &v), FZ_EXACT_OK);
    assert_true(v == 1);
    assert_int_equal(fz_exact_from_text(FZ_STR_LIT("0.001"), 2, &v), FZ_EXACT_INEXACT);
    assert_int_equal(fz_exact_from_text(FZ_STR_LIT("1e39"), 0, &v), FZ_EXACT_TOO_LARGE);
    assert_int_equal(fz_exact_from_text(FZ_STR_LIT("1e999999"), 0, &v), FZ_EXACT_TOO_LARGE);
    assert_int_equal(fz_exact_from_text(FZ_STR_LIT("1e-999999"), 0, &v), FZ_EXACT_INEXACT);
    assert_int_equal(fz_exact_from_text(FZ_STR_LIT("0e999"), 0, &v), FZ_EXACT_OK);
    static const char *const BAD[] = {"", "-", ".", "e5", "1e", "1x", "1.2.3", "0x1"};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        assert_int_equal(fz_exact_from_text(fz_str_of(BAD[i]), 0, &v), FZ_EXACT_NO_NUMBER);
    }
}

static void iso_times(void **state) {
    (void)state;
    int64_t v;
    assert_int_equal(fz_iso_timestamp(FZ_STR_LIT("2026-03-04T03:06:07.890123Z"), FZ_ISO_ZONE_REQUIRED, &v), FZ_ISO_OK);
    assert_true(v == INT64_C(1772593567890123)); // date -u -d 2026-03-04T03:06:07 +%s
    assert_int_equal(fz_iso_timestamp(FZ_STR_LIT("2026-03-04T05:06:07+02:00"), FZ_ISO_ZONE_REQUIRED, &v), FZ_ISO_OK);
    assert_true(v == INT64_C(1772593567000000));
    assert_int_equal(fz_iso_timestamp(FZ_STR_LIT("1969-12-31T23:59:59Z"), FZ_ISO_ZONE_REQUIRED, &v), FZ_ISO_OK);
    assert_true(v == -1000000);
    assert_int_equal(fz_iso_timestamp(FZ_STR_LIT("+294247-01-10T04:00:54.775807Z"), FZ_ISO_ZONE_REQUIRED, &v),
                     FZ_ISO_OK);
    assert_true(v == INT64_MAX);
    assert_int_equal(fz_iso_timestamp(FZ_STR_LIT("+294247-01-10T04:00:54.775808Z"), FZ_ISO_ZONE_REQUIRED, &v),
                     FZ_ISO_BEYOND);
    assert_int_equal(fz_iso_timestamp(FZ_STR_LIT("2026-03-04T03:06:07"), FZ_ISO_ZONE_REQUIRED, &v), FZ_ISO_BAD);
    assert_int_equal(fz_iso_timestamp(FZ_STR_LIT("2026-03-04T03:06:07+02:00"), FZ_ISO_ZONE_IGNORED, &v), FZ_ISO_BAD);
    assert_int_equal(fz_iso_date(FZ_STR_LIT("-0043-03-15"), &v), FZ_ISO_OK); // 44 BC
    assert_true(v == -735160);
    assert_int_equal(fz_iso_date(FZ_STR_LIT("2023-02-29"), &v), FZ_ISO_BAD);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(values), FZ_TEST(wide_numbers), FZ_TEST(exact_text), FZ_TEST(iso_times)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
