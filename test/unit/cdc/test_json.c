// The JSON reader: RFC 8259's grammar, and text that is none.
#include "leak_check.h"

#include "base/text.h"
#include "cdc/json.h"

static bool skips(const char *text) {
    struct fz_arena arena = {0};
    struct fz_json json;
    fz_json_init(&json, fz_str_of(text), &arena);
    bool ok = fz_json_skip(&json, NULL) && fz_json_at_end(&json);
    fz_arena_dispose(&arena);
    return ok;
}

static void grammar(void **state) {
    (void)state;
    static const char *const GOOD[] = {"0",
                                       "-0",
                                       "1e5",
                                       "1E+5",
                                       "-12.50",
                                       "true",
                                       "false",
                                       "null",
                                       "\"\"",
                                       "[]",
                                       "{}",
                                       "[1,[2,{\"a\":[]}]]",
                                       " { \"a\" : 1 , \"b\" : [ ] } ",
                                       "\"\\u00e4\\n\"",
                                       "\"\\ud83d\\ude00\""};
    static const char *const BAD[] = {"",        "01",         "+1",         "1.",    ".5",    "1e",     "tru",
                                      "nul",     "\"",         "\"\\",       "[",     "[1",    "[1,]",   "[,1]",
                                      "{\"a\"}", "{\"a\":}",   "{\"a\":1,}", "{1:2}", "[1 2]", "\"\n\"", "--1",
                                      "NaN",     "{\"a\":1}}", "'a'",        "[1]]"};
    for (size_t i = 0; i < sizeof GOOD / sizeof *GOOD; i++) {
        assert_true(skips(GOOD[i]));
    }
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        if (skips(BAD[i])) {
            print_error("accepted: %s\n", BAD[i]);
            fail();
        }
    }
}

static void depth(void **state) {
    (void)state;
    char text[2 * FZ_JSON_DEPTH + 3];
    memset(text, '[', FZ_JSON_DEPTH);
    memset(text + FZ_JSON_DEPTH, ']', FZ_JSON_DEPTH);
    text[2 * FZ_JSON_DEPTH] = 0;
    assert_true(skips(text));
    memset(text, '[', FZ_JSON_DEPTH + 1);
    memset(text + FZ_JSON_DEPTH + 1, ']', FZ_JSON_DEPTH + 1);
    text[2 * FZ_JSON_DEPTH + 2] = 0;
    assert_false(skips(text));
}

static void check_string(const char *text, const char *want, size_t n) {
    struct fz_arena arena = {0};
    struct fz_json json;
    struct fz_str out;
    fz_json_init(&json, fz_str_of(text), &arena);
    assert_true(fz_json_read_string(&json, &out));
    assert_int_equal(out.len, n);
    assert_memory_equal(out.ptr, want, n);
    fz_arena_dispose(&arena);
}

static void strings(void **state) {
    (void)state;
    check_string("\"plain\"", "plain", 5);
    check_string("\"a\\\"b\\\\c\\/d\\b\\f\\n\\r\\t\"", "a\"b\\c/d\b\f\n\r\t", 12);
    check_string("\"\\u0041\\u00e4\\u20ac\"", "A\xc3\xa4\xe2\x82\xac", 6);
    check_string("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80", 4);
    static const char *const BAD[] = {"\"\\ud83d\"", "\"\\ude00\"", "\"\\ud83d\\u0041\"",
                                      "\"\\x41\"",   "\"\\u00g0\"", "\"\\u00\""};
    for (size_t i = 0; i < sizeof BAD / sizeof *BAD; i++) {
        struct fz_arena arena = {0};
        struct fz_json json;
        struct fz_str out;
        fz_json_init(&json, fz_str_of(BAD[i]), &arena);
        assert_false(fz_json_read_string(&json, &out));
        assert_non_null(json.error);
        fz_arena_dispose(&arena);
    }
}

static void members(void **state) {
    (void)state;
    struct fz_arena arena = {0};
    struct fz_json json;
    struct fz_str name, raw;
    bool first = true, b = false;
    int64_t n = 7;
    fz_json_init(&json, FZ_STR_LIT("{\"a\":null,\"b\":true,\"c\":{\"x\":[1,\"}\"]},\"d\":9007199254740993}"), &arena);
    assert_true(fz_json_enter(&json, '{'));
    assert_true(fz_json_next_member(&json, &first, &name) && fz_json_read_i64(&json, &n));
    assert_int_equal(n, 7); // null leaves it alone
    assert_true(fz_json_next_member(&json, &first, &name) && fz_json_read_bool(&json, &b) && b);
    assert_true(fz_json_next_member(&json, &first, &name) && fz_json_skip(&json, &raw));
    assert_true(fz_str_eq(raw, FZ_STR_LIT("{\"x\":[1,\"}\"]}")));
    assert_true(fz_json_next_member(&json, &first, &name) && fz_json_read_i64(&json, &n));
    assert_true(n == INT64_C(9007199254740993)); // beyond what a double holds
    assert_false(fz_json_next_member(&json, &first, &name));
    assert_null(json.error);
    assert_true(fz_json_at_end(&json));
    fz_arena_dispose(&arena);
}

// Passing over text finds the same end as skipping it, wherever it stands in a block of 16 bytes.
static void passes_as_it_skips(void **state) {
    (void)state;
    static const char text[] =
        "{\"a\":[1,{\"b\":\"x]}\\\"}\"},\"\\\\\"],\"long string without anything in it\":{\"c\":[[]]}}";
    for (size_t pad = 0; pad < 40; pad++) {
        char line[200];
        memset(line, ' ', sizeof line);
        memcpy(line + pad, text, sizeof text - 1);
        memcpy(line + pad + sizeof text - 1, ",{}}]\"", 6);
        struct fz_arena arena = {0};
        struct fz_json a, b;
        struct fz_str x, y;
        fz_json_init(&a, (struct fz_str){line, pad + sizeof text + 5}, &arena);
        b = a;
        assert_true(fz_json_skip(&a, &x) && fz_json_pass(&b, &y));
        assert_true(fz_str_eq(x, y) && x.len == sizeof text - 1 && a.p == b.p);
        fz_json_init(&b, (struct fz_str){line + pad, sizeof text - 2}, &arena);
        assert_false(fz_json_pass(&b, &y));
        fz_arena_dispose(&arena);
    }
}

// Every prefix of a record, and every byte of it damaged: an error or a value, never a read past the end (sanitizers watch).
static void damaged(void **state) {
    (void)state;
    static const char text[] = "{\"topic\":\"a.b\",\"offset\":12,\"headers\":[[\"n\",\"{\\\"id\\\":8}\"]],\"value\":{"
                               "\"x\":[1.5e3,null,true,\"\\ud83d\\ude00\"]}}";
    size_t n = sizeof text - 1;
    for (size_t len = 0; len < n; len++) {
        char *copy = fz_malloc(len + 1);
        memcpy(copy, text, len);
        struct fz_arena arena = {0};
        struct fz_json json;
        fz_json_init(&json, (struct fz_str){copy, len}, &arena);
        assert_false(fz_json_skip(&json, NULL));
        fz_arena_dispose(&arena);
        fz_free(copy);
    }
    for (size_t at = 0; at < n; at++) {
        for (int c = 0; c < 256; c += 5) {
            char *copy = fz_malloc(n);
            memcpy(copy, text, n);
            copy[at] = (char)c;
            struct fz_arena arena = {0};
            struct fz_json json;
            fz_json_init(&json, (struct fz_str){copy, n}, &arena);
            fz_json_skip(&json, NULL);
            fz_arena_dispose(&arena);
            fz_free(copy);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(grammar), FZ_TEST(depth), FZ_TEST(strings), FZ_TEST(members), FZ_TEST(passes_as_it_skips),
        FZ_TEST(damaged)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
