// base/: errors, memory, maps, hashes, text, clock, cancel, budget.
#include "leak_check.h"

#include <stdio.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/sys.h"
#include "base/text.h"

static void first_raise_wins_and_long_text_is_cut_in_the_middle(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    assert_int_equal(fz_fail_cond(&err, FZ_NOT_FOUND, "TABLE_OR_VIEW_NOT_FOUND", "no table %s", "db.t"), FZ_NOT_FOUND);
    assert_int_equal(fz_fail(&err, FZ_IO, "later"), FZ_NOT_FOUND);
    assert_string_equal(err.message, "no table db.t");
    assert_string_equal(err.condition, "TABLE_OR_VIEW_NOT_FOUND");
    fz_err_context(&err, "manifest %d", 1);
    fz_err_context(&err, "table x");
    assert_string_equal(err.context, "manifest 1 / table x");
    fz_err_reset(&err);
    char big[4000];
    memset(big, 'a', sizeof big);
    big[sizeof big - 2] = 'Z';
    big[sizeof big - 1] = 0;
    fz_fail(&err, FZ_BUG, "%s", big);
    assert_true(strlen(err.message) < sizeof err.message);
    assert_non_null(strstr(err.message, " … "));
    assert_int_equal(err.message[strlen(err.message) - 1], 'Z');
}

static void arena_and_buffers(void **state) {
    (void)state;
    struct fz_arena arena = {0};
    for (size_t i = 1; i < 20000; i += 37) {
        char *p = fz_arena_alloc(&arena, i);
        assert_non_null(p);
        assert_int_equal((uintptr_t)p % 16, 0);
        assert_int_equal(p[i - 1], 0);
        memset(p, 1, i);
    }
    assert_string_equal(fz_arena_printf(&arena, "%s-%d", "a", 5), "a-5");
    assert_null(fz_arena_array(&arena, SIZE_MAX / 2, 16));
    fz_arena_dispose(&arena);
    struct fz_buf buf = {0};
    for (int i = 0; i < 1000; i++) {
        fz_buf_printf(&buf, "%d,", i);
    }
    assert_int_equal(buf.len, 10 * 2 + 90 * 3 + 900 * 4);
    char *text = fz_buf_take(&buf);
    assert_memory_equal(text, "0,1,2,", 6);
    fz_free(text);
}

static void letters_have_two_cases(void **state) { // pairs as Java's equalsIgnoreCase has them
    (void)state;
    static const char *const same[][2] = {{"Aé", "aÉ"},     {"ÿ", "Ÿ"},     {"Straße", "STRAßE"}, {"ŁÓDŹ", "łódź"},
                                          {"ΟΔΌΣ", "οδός"}, {"ЁЖЇ", "ёжї"}, {"ƯỐ", "ưố"},         {"ԱՖ", "աֆ"}};
    static const char *const other[][2] = {{"×", "÷"},       {"ü", "u"},         {"Ü", "Ö"},
                                           {"ß", "ss"},      {"é", "e\xCC\x81"}, {"\xC3", "\xC3\x9C"},
                                           {"\xFF", "\xFE"}, {"", "\xC3"},       {"aü", "a"}};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        assert_int_equal(fz_strcasecmp(same[i][0], same[i][1]), 0);
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        assert_int_not_equal(fz_strcasecmp(other[i][0], other[i][1]), 0);
        assert_int_not_equal(fz_strcasecmp(other[i][1], other[i][0]), 0);
    }
}

static void maps_keep_insertion_order(void **state) {
    (void)state;
    struct fz_map map = {0};
    struct fz_err err = FZ_ERR_INIT;
    for (int i = 0; i < 3000; i++) {
        char key[16];
        int n = snprintf(key, sizeof key, "k%d", i % 1500);
        struct fz_map_entry *e;
        bool added;
        FZ_OK_OR_FAIL(fz_map_put(&map, (struct fz_str){key, (size_t)n}, &e, &added, &err), &err);
        assert_int_equal(added, i < 1500);
        e->value.i64 += i;
    }
    assert_int_equal(map.n_live, 1500);
    assert_int_equal(fz_map_find(&map, FZ_STR_LIT("k7"))->value.i64, 7 + 1507);
    assert_true(fz_map_remove(&map, FZ_STR_LIT("k0")));
    assert_null(fz_map_find(&map, FZ_STR_LIT("k0")));
    assert_true(fz_str_eq(fz_map_next(&map, NULL)->key, FZ_STR_LIT("k1")));
    fz_map_dispose(&map);
}

// Test vectors of the Iceberg spec, appendix B.
static void murmur3_vectors(void **state) {
    (void)state;
    int64_t v = 34;
    assert_int_equal((int32_t)fz_murmur3_32(&v, 8, 0), 2017239379);
    assert_int_equal((int32_t)fz_murmur3_32("iceberg", 7, 0), 1210000089);
    assert_int_equal((int32_t)fz_murmur3_32("\x00\x01\x02\x03", 4, 0), -188683207);
    assert_int_equal(fz_crc32(0, "123456789", 9), 0xCBF43926u);
}

static void text_helpers(void **state) {
    (void)state;
    assert_true(fz_utf8_valid("Ünïcödé 😀 plain ascii text", strlen("Ünïcödé 😀 plain ascii text")));
    assert_false(fz_utf8_valid("\xC0\x80", 2));
    assert_false(fz_utf8_valid("\xED\xA0\x80", 3));
    assert_false(fz_utf8_valid("abc\xE2\x82", 5));
    assert_int_equal(fz_utf8_truncate("äöü", 6, 2), 4);
    int64_t i;
    assert_true(fz_parse_i64(FZ_STR_LIT("-9223372036854775808"), &i) && i == INT64_MIN);
    assert_false(fz_parse_i64(FZ_STR_LIT("9223372036854775808"), &i));
    assert_false(fz_parse_i64(FZ_STR_LIT(""), &i));
    struct fz_buf b = {0};
    const double values[] = {0.1, 3, 1e16, 1.5e-7, 0.0001, -0.0, 123456.789, 1e15};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++) {
        fz_format_double(&b, values[k]);
        fz_buf_putc(&b, ' ');
    }
    fz_format_float(&b, 0.1f);
    assert_string_equal(b.ptr, "0.1 3.0 1e+16 1.5e-07 0.0001 -0.0 123456.789 1000000000000000.0 0.1");
    fz_buf_clear(&b);
    assert_true(fz_base64_decode(&b, FZ_STR_LIT("ImYV")));
    assert_memory_equal(b.ptr, "\x22\x66\x15", 3);
    fz_buf_clear(&b);
    fz_format_timestamp(&b, -1, ' ');
    assert_string_equal(b.ptr, "1969-12-31 23:59:59.999999");
    assert_int_equal(fz_days_from_civil(2017, 11, 16), 17486);
    assert_int_equal(fz_edit_distance(FZ_STR_LIT("amuont"), FZ_STR_LIT("Amount")), 2);
    fz_buf_dispose(&b);
}

static void cancel_and_budget(void **state) {
    (void)state;
    struct fz_cancel c;
    struct fz_err err = FZ_ERR_INIT;
    fz_cancel_init(&c);
    assert_int_equal(fz_cancel_check(&c, &err), FZ_OK);
    fz_cancel_fire(&c);
    assert_int_equal(fz_cancel_check(&c, &err), FZ_CANCELLED);
    fz_cancel_dispose(&c);
    struct fz_budget budget = {.limit_bytes = 100};
    assert_true(fz_budget_take(&budget, 60));
    assert_false(fz_budget_take(&budget, 41));
    fz_budget_give(&budget, 60);
    assert_true(fz_budget_take(&budget, 100));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(first_raise_wins_and_long_text_is_cut_in_the_middle),
        FZ_TEST(arena_and_buffers),
        FZ_TEST(letters_have_two_cases),
        FZ_TEST(maps_keep_insertion_order),
        FZ_TEST(murmur3_vectors),
        FZ_TEST(text_helpers),
        FZ_TEST(cancel_and_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
