// data/batch.h: widths, growth, NULLs and the copy kernels against a row-by-row reading.
#include "leak_check.h"

#include <stdio.h>

#include "data/value.h"

static struct fz_value int_value(const struct fz_type *type, int64_t v) {
    return (struct fz_value){.type = type, .u.i64 = v};
}

static void widths_follow_the_engine(void **state) {
    (void)state;
    struct fz_arena a = {0};
    static const int precision[] = {1, 4, 5, 9, 10, 18, 19, 38}, width[] = {2, 2, 4, 4, 8, 8, 16, 16};
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(fz_type_width(fz_type_decimal(&a, precision[i], 0)), width[i]);
    }
    assert_int_equal(fz_type_width(fz_type_primitive(FZ_TYPE_BOOLEAN)), 1);
    assert_int_equal(fz_type_width(fz_type_primitive(FZ_TYPE_SHORT)), 2);
    assert_int_equal(fz_type_width(fz_type_primitive(FZ_TYPE_DATE)), 4);
    assert_int_equal(fz_type_width(fz_type_primitive(FZ_TYPE_TIMESTAMPTZ)), 8);
    assert_int_equal(fz_type_width(fz_type_primitive(FZ_TYPE_UUID)), 16);
    assert_int_equal(sizeof(struct fz_string), 16);
    fz_arena_dispose(&a);
}

static void strings_are_inline_up_to_twelve(void **state) {
    (void)state;
    const char *long_text = "thirteen char", *short_text = "twelve chars";
    struct fz_string s = fz_string_of(short_text, 12), l = fz_string_of(long_text, 13), e = fz_string_of(NULL, 0);
    assert_ptr_not_equal(fz_string_ptr(&s), short_text);
    assert_memory_equal(fz_string_ptr(&s), short_text, 12);
    assert_ptr_equal(fz_string_ptr(&l), long_text);
    assert_memory_equal(l.prefix, "thir", 4);
    struct fz_string zero;
    memset(&zero, 0, sizeof zero);
    assert_memory_equal(&e, &zero, sizeof e);
}

static void nulls_and_growth(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_column c;
    FZ_OK_OR_FAIL(fz_column_init(&c, fz_type_primitive(FZ_TYPE_LONG), 10, &err), &err);
    ((int64_t *)c.data)[3] = 33;
    fz_column_set_null(&c, 5);
    assert_true(fz_column_is_valid(&c, 4) && !fz_column_is_valid(&c, 5) && fz_column_is_valid(&c, 9));
    FZ_OK_OR_FAIL(fz_column_reserve(&c, 5000, &err), &err);
    assert_true(c.capacity >= 5000);
    assert_int_equal(((int64_t *)c.data)[3], 33);
    assert_int_equal(((int64_t *)c.data)[4999], 0);
    assert_true(!fz_column_is_valid(&c, 5) && fz_column_is_valid(&c, 4999) && fz_column_is_valid(&c, 63) &&
                fz_column_is_valid(&c, 64));
    fz_column_reset(&c);
    assert_null(c.validity);
    fz_column_set_null(&c, 4999);
    assert_true(fz_column_is_valid(&c, 5) && !fz_column_is_valid(&c, 4999));
    assert_int_equal(fz_column_reserve(&c, SIZE_MAX / 4, &err), FZ_NOMEM);
    fz_column_dispose(&c);
}

static void borrowed_storage_does_not_grow(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_column c;
    FZ_OK_OR_FAIL(fz_column_init(&c, fz_type_primitive(FZ_TYPE_INT), 0, &err), &err);
    int32_t data[64];
    uint64_t words[1] = {0};
    c.data = data;
    c.validity_storage = words;
    c.capacity = 64;
    c.owned_data = false;
    FZ_OK_OR_FAIL(fz_column_reserve(&c, 64, &err), &err);
    fz_column_set_null(&c, 0);
    assert_int_equal(words[0], UINT64_MAX - 1);
    assert_int_equal(fz_column_reserve(&c, 65, &err), FZ_BUG);
    fz_column_dispose(&c);
}

// Fills a column of any fixed-width type with 0, 1, 2, …; every 7th row NULL.
static void fill(struct fz_column *c, size_t n) {
    struct fz_err err = FZ_ERR_INIT;
    for (size_t i = 0; i < n; i++) {
        struct fz_value v = int_value(c->type, (int64_t)i % 100);
        if (c->type->id == FZ_TYPE_DECIMAL) {
            v.u.i128 = fz_i128_of((__int128)i % 100);
        }
        if (i % 7 == 3) {
            v.is_null = true;
        }
        FZ_OK_OR_FAIL(fz_value_store(c, i, &v, &err), &err);
    }
}

static void copies_of_every_width(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena a = {0};
    const struct fz_type *types[] = {fz_type_primitive(FZ_TYPE_BYTE), fz_type_primitive(FZ_TYPE_SHORT),
                                     fz_type_primitive(FZ_TYPE_INT), fz_type_primitive(FZ_TYPE_LONG),
                                     fz_type_decimal(&a, 38, 0)};
    for (size_t t = 0; t < 5; t++) {
        struct fz_column src, dst;
        FZ_OK_OR_FAIL(fz_column_init(&src, types[t], 500, &err), &err);
        FZ_OK_OR_FAIL(fz_column_init(&dst, types[t], 1, &err), &err);
        fill(&src, 500);
        FZ_OK_OR_FAIL(fz_column_copy(&dst, 0, &src, 65, NULL, 200, NULL, &err), &err);
        uint32_t rows[100];
        for (uint32_t i = 0; i < 100; i++) {
            rows[i] = 499 - 3 * i;
        }
        FZ_OK_OR_FAIL(fz_column_copy(&dst, 200, &src, 0, rows, 100, NULL, &err), &err);
        for (size_t i = 0; i < 300; i++) {
            struct fz_value got = fz_value_at(&dst, i, NULL),
                            want = fz_value_at(&src, i < 200 ? 65 + i : rows[i - 200], NULL);
            assert_true(fz_value_equal(&got, &want));
        }
        // rows without NULLs over rows that had some
        fz_column_reset(&src);
        FZ_OK_OR_FAIL(fz_column_copy(&dst, 0, &src, 0, NULL, 300, NULL, &err), &err);
        for (size_t i = 0; i < 300; i++) {
            assert_true(fz_column_is_valid(&dst, i));
        }
        fz_column_dispose(&src);
        fz_column_dispose(&dst);
    }
    fz_arena_dispose(&a);
}

static void copied_strings_are_owned(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena strings = {0};
    struct fz_column src, dst;
    char text[200][32];
    FZ_OK_OR_FAIL(fz_column_init(&src, fz_type_primitive(FZ_TYPE_STRING), 200, &err), &err);
    FZ_OK_OR_FAIL(fz_column_init(&dst, fz_type_primitive(FZ_TYPE_STRING), 200, &err), &err);
    for (size_t i = 0; i < 200; i++) {
        snprintf(text[i], sizeof text[i], "%s%zu", i % 2 ? "a long text in row " : "s", i);
        struct fz_string *s = (struct fz_string *)src.data + i;
        *s = fz_string_of(text[i], strlen(text[i]));
    }
    fz_column_set_null(&src, 7);
    ((struct fz_string *)src.data)[7].length = 1000; // rubbish in a NULL row is not followed
    ((struct fz_string *)src.data)[7].u.ptr = (const char *)1;
    FZ_OK_OR_FAIL(fz_column_copy(&dst, 0, &src, 0, NULL, 200, &strings, &err), &err);
    memset(text, '!', sizeof text);
    for (size_t i = 0; i < 200; i++) {
        char want[32];
        snprintf(want, sizeof want, "%s%zu", i % 2 ? "a long text in row " : "s", i);
        struct fz_value v = fz_value_at(&dst, i, NULL);
        assert_int_equal(v.is_null, i == 7);
        assert_true(i == 7 || fz_str_eq(v.u.bytes, fz_str_of(want)));
    }
    assert_int_equal(((struct fz_string *)dst.data)[7].length, 0);
    fz_column_dispose(&src);
    fz_column_dispose(&dst);
    fz_arena_dispose(&strings);
}

// map<int, list<string>> inside a struct, written and copied by row.
static void nested_round_trip(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena a = {0};
    const struct fz_type *text = fz_type_primitive(FZ_TYPE_STRING), *number = fz_type_primitive(FZ_TYPE_INT);
    const struct fz_type *list = fz_type_list(&a, 3, false, text), *map = fz_type_map(&a, 4, number, 5, false, list);
    struct fz_field fields[2] = {{.id = 1, .name = "n", .type = number}, {.id = 2, .name = "m", .type = map}};
    const struct fz_type *type = fz_type_struct(&a, fields, 2);
    struct fz_column src, dst;
    FZ_OK_OR_FAIL(fz_column_init(&src, type, 4, &err), &err);
    FZ_OK_OR_FAIL(fz_column_init(&dst, type, 1, &err), &err);
    enum { ROWS = 40 };
    for (size_t i = 0; i < ROWS; i++) {
        struct fz_value words[3], entries[6], row[2] = {int_value(number, (int64_t)i), {.type = map}};
        for (size_t k = 0; k < 3; k++) {
            words[k] = (struct fz_value){.type = text,
                                         .is_null = k == 1,
                                         .u.bytes = fz_str_of(fz_arena_printf(&a, "word %zu of row %zu", k, i))};
            entries[2 * k] = int_value(number, (int64_t)k);
            entries[2 * k + 1] = (struct fz_value){.type = list, .is_null = k == 2};
            entries[2 * k + 1].u.nested.items = words;
            entries[2 * k + 1].u.nested.n = k; // 0, 1, NULL
        }
        entries[3].u.nested.n = 3;
        row[1].u.nested.items = entries;
        row[1].u.nested.n = 2 * (i % 4);
        row[1].is_null = i % 5 == 4;
        struct fz_value whole = {.type = type, .is_null = i % 11 == 10};
        whole.u.nested.items = row;
        whole.u.nested.n = 2;
        FZ_OK_OR_FAIL(fz_value_store(&src, i, &whole, &err), &err);
        struct fz_value back = fz_value_at(&src, i, &a);
        assert_true(fz_value_equal(&back, &whole));
    }
    struct fz_arena strings = {0};
    uint32_t rows[ROWS];
    for (uint32_t i = 0; i < ROWS; i++) {
        rows[i] = (i * 7) % ROWS;
    }
    FZ_OK_OR_FAIL(fz_column_copy(&dst, 0, &src, 0, NULL, ROWS, &strings, &err), &err);
    FZ_OK_OR_FAIL(fz_column_copy(&dst, ROWS, &src, 0, rows, ROWS, &strings, &err), &err);
    FZ_OK_OR_FAIL(fz_column_copy(&dst, 2 * ROWS, &src, 5, NULL, 20, &strings, &err), &err);
    for (size_t i = 0; i < 2 * ROWS + 20; i++) {
        struct fz_value got = fz_value_at(&dst, i, &a);
        struct fz_value want = fz_value_at(&src, i < ROWS ? i : i < 2 * ROWS ? rows[i - ROWS] : i - 2 * ROWS + 5, &a);
        assert_true(fz_value_equal(&got, &want));
    }
    // a reset column starts its lists again
    fz_column_reset(&dst);
    FZ_OK_OR_FAIL(fz_column_copy(&dst, 0, &src, 0, NULL, 3, &strings, &err), &err);
    const struct fz_list_span *span = dst.children[1].data;
    assert_int_equal(span[1].offset, 0);
    assert_int_equal(span[2].offset, 1);
    fz_column_dispose(&src);
    fz_column_dispose(&dst);
    fz_arena_dispose(&strings);
    fz_arena_dispose(&a);
}

static void batches(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch batch;
    struct fz_field fields[2] = {{.id = 5, .name = "a", .type = fz_type_primitive(FZ_TYPE_LONG)},
                                 {.id = 9, .name = "b", .type = fz_type_primitive(FZ_TYPE_STRING)}};
    FZ_OK_OR_FAIL(fz_batch_init(&batch, fields, 2, FZ_BATCH_ROWS, &err), &err);
    assert_int_equal(batch.n_columns, 2);
    assert_int_equal(batch.columns[1].field_id, 9);
    assert_int_equal(batch.columns[0].capacity, FZ_BATCH_ROWS);
    assert_int_equal(fz_column_copy(&batch.columns[0], 0, &batch.columns[1], 0, NULL, 1, NULL, &err), FZ_BUG);
    fz_batch_dispose(&batch);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(fz_batch_init(&batch, NULL, 0, 8, &err), &err);
    fz_batch_dispose(&batch);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(widths_follow_the_engine), FZ_TEST(strings_are_inline_up_to_twelve),
        FZ_TEST(nulls_and_growth),         FZ_TEST(borrowed_storage_does_not_grow),
        FZ_TEST(copies_of_every_width),    FZ_TEST(copied_strings_are_owned),
        FZ_TEST(nested_round_trip),        FZ_TEST(batches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
