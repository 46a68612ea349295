// scan/scan_keys.h against plain comparison, value by value: every type, every form that the keys may take (bitmap, hash table, bloom
// filter, range alone), NULLs, NaN and zeros, ranges.
#include "leak_check.h"

#include <math.h>

#include "scan/scan_keys.h"

static uint64_t state_of_random;
static uint64_t next_random(void) { // xorshift; the seed is fixed, so a failure comes again
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    return state_of_random ^= state_of_random << 17;
}

enum { MAX_ROWS = 6000 };
struct values { // one column
    const struct fz_type *type;
    int64_t numbers[MAX_ROWS]; // what row i stands for
    bool nulls[MAX_ROWS];
    size_t n;
};

// A number as a value of the type; equal numbers are equal values and no others.
static void put(struct fz_column *column, size_t row, int64_t number, struct fz_arena *arena) {
    switch (column->type->id) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY: {
        char *text = fz_arena_printf(arena, number % 2 ? "%lld" : "a rather long text %lld", (long long)number);
        ((struct fz_string *)column->data)[row] = fz_string_of(text, strlen(text));
        break;
    }
    case FZ_TYPE_DOUBLE: // zero has two signs, NaN many bits
        ((double *)column->data)[row] = number == 1   ? (row % 2 ? -0.0 : 0.0)
                                        : number == 2 ? (row % 2 ? NAN : -NAN)
                                                      : (double)number / 4;
        break;
    case FZ_TYPE_FLOAT:
        ((float *)column->data)[row] = number == 1   ? (row % 2 ? -0.0F : 0.0F)
                                       : number == 2 ? (row % 2 ? NAN : -NAN)
                                                     : (float)(number % 100000) + 3;
        break;
    default:
        switch (fz_type_width(column->type)) {
        case 1:
            ((int8_t *)column->data)[row] = (int8_t)number;
            break;
        case 2:
            ((int16_t *)column->data)[row] = (int16_t)number;
            break;
        case 4:
            ((int32_t *)column->data)[row] = (int32_t)number;
            break;
        case 8:
            ((int64_t *)column->data)[row] = number;
            break;
        default:
            ((struct fz_i128 *)column->data)[row] = fz_i128_of((__int128)number * (1 << 20));
        }
    }
}

static void fill(struct fz_batch *batch, const struct values *v, size_t from, struct fz_arena *arena) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_field field = {.id = 1, .name = "k", .type = v->type};
    FZ_OK_OR_FAIL(fz_batch_init(batch, &field, 1, FZ_BATCH_ROWS, &err), &err);
    batch->n_rows = v->n - from < FZ_BATCH_ROWS ? v->n - from : FZ_BATCH_ROWS;
    for (size_t i = 0; i < batch->n_rows; i++) {
        put(&batch->columns[0], i, v->numbers[from + i], arena);
        if (v->nulls[from + i]) {
            fz_column_set_null(&batch->columns[0], i);
        }
    }
}

static struct fz_scan_keys *keys_of(const struct values *v, const struct fz_type *type, bool null_matches,
                                    struct fz_budget *budget) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_scan_keys *keys = NULL;
    struct fz_scan_key_column column = {
        .field_id = 1, .type = type, .value_type = v->type, .null_matches = null_matches};
    FZ_OK_OR_FAIL(fz_scan_keys_new(&column, 1, budget, &keys, &err), &err);
    for (size_t from = 0; from < v->n; from += FZ_BATCH_ROWS) {
        struct fz_batch batch;
        fill(&batch, v, from, &arena);
        FZ_OK_OR_FAIL(fz_scan_keys_add(keys, &batch, &err), &err);
        fz_batch_dispose(&batch);
    }
    fz_arena_dispose(&arena); // nothing of the batches is borrowed
    FZ_OK_OR_FAIL(fz_scan_keys_seal(keys, &err), &err);
    return keys;
}

static bool contains(const struct values *v, int64_t number, bool null) {
    for (size_t i = 0; i < v->n; i++) {
        if (null ? v->nulls[i] : !v->nulls[i] && v->numbers[i] == number) {
            return true;
        }
    }
    return false;
}

// Never "no" where there is a key; with `exact` never "yes" where there is none.
static void check(const struct values *source, const struct fz_type *type, bool null_matches, struct fz_budget *budget,
                  const char *form, bool exact) {
    struct fz_arena arena = {0};
    struct fz_scan_keys *keys = keys_of(source, type, null_matches, budget);
    struct fz_scan_key_facts facts;
    fz_scan_keys_facts(keys, 0, &facts);
    if (form) {
        assert_string_equal(facts.form, form);
    }
    struct values *rows = fz_calloc(1, sizeof *rows);
    rows->type = type;
    rows->n = 1500;
    for (size_t i = 0; i < rows->n; i++) {
        rows->numbers[i] = i % 3 && source->n ? source->numbers[next_random() % source->n] +
                                                    (i % 3 == 2 ? (int64_t)(next_random() % 9) : 0)
                                              : (int64_t)(next_random() % 60000);
        rows->nulls[i] = next_random() % 10 == 0;
        if (fz_type_width(type) == 1) {
            rows->numbers[i] = (int8_t)rows->numbers[i];
        }
        if (fz_type_width(type) == 4) {
            rows->numbers[i] = (int32_t)rows->numbers[i];
        }
        if (fz_type_width(type) == 2) {
            rows->numbers[i] = (int16_t)rows->numbers[i];
        }
    }
    struct fz_batch batch;
    fill(&batch, rows, 0, &arena);
    uint8_t keep[FZ_BATCH_ROWS];
    memset(keep, 1, sizeof keep);
    keep[7] = 0; // decided before
    size_t left = fz_scan_keys_filter(keys, 0, &batch.columns[0], batch.n_rows, keep), counted = 0;
    assert_int_equal(keep[7], 0);
    for (size_t i = 0; i < rows->n; i++) {
        counted += keep[i];
        if (i == 7) {
            continue;
        }
        bool want = contains(source, rows->numbers[i], rows->nulls[i]) && (null_matches || !rows->nulls[i]);
        struct fz_value value = fz_value_at(&batch.columns[0], i, &arena);
        assert_int_equal(fz_scan_keys_has(keys, 0, &value), keep[i]);
        assert_true(keep[i] || !want);
        assert_true(!exact || !keep[i] || want);
        if (want && !rows->nulls[i]) { // a place that holds the row
            assert_true(fz_scan_keys_may_lie_in(keys, 0, &value, &value, 1, 0));
        }
    }
    assert_int_equal(left, counted);
    fz_batch_dispose(&batch);
    fz_free(rows);
    fz_scan_keys_unref(keys);
    fz_arena_dispose(&arena);
    if (budget) {
        assert_int_equal(budget->used_bytes, 0);
    }
}

static struct values *source_of(const struct fz_type *type, size_t n, uint64_t spread, int64_t base) {
    struct values *v = fz_calloc(1, sizeof *v);
    v->type = type;
    v->n = n;
    for (size_t i = 0; i < n; i++) {
        v->numbers[i] = (int64_t)(next_random() % spread) + base;
        v->nulls[i] = next_random() % 50 == 0;
    }
    return v;
}

static void every_type_and_form(void **state) {
    (void)state;
    state_of_random = 4711;
    struct fz_arena arena = {0};
    const struct fz_type *types[] = {
        fz_type_primitive(FZ_TYPE_INT),    fz_type_primitive(FZ_TYPE_LONG),        fz_type_primitive(FZ_TYPE_DATE),
        fz_type_primitive(FZ_TYPE_STRING), fz_type_primitive(FZ_TYPE_TIMESTAMPTZ), fz_type_primitive(FZ_TYPE_BINARY),
        fz_type_primitive(FZ_TYPE_DOUBLE), fz_type_primitive(FZ_TYPE_FLOAT),       fz_type_primitive(FZ_TYPE_UUID),
        fz_type_decimal(&arena, 4, 1),     fz_type_decimal(&arena, 9, 2),          fz_type_decimal(&arena, 18, 2),
        fz_type_decimal(&arena, 38, 3),
    };
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        for (int round = 0; round < 4; round++) {
            uint64_t spread = fz_type_width(types[t]) == 2 ? 20000 : 40000;
            struct values *source = source_of(types[t],
                                              round == 3   ? 0
                                              : round == 2 ? 5000
                                                           : 300,
                                              spread, round == 1 ? -200 : 0);
            bool exact = types[t]->id != FZ_TYPE_FLOAT; // several numbers stand for one float
            check(source, types[t], round % 2 == 0, NULL, NULL, exact && round != 3);
            struct fz_budget tiny = {.limit_bytes = 200 << 10}; // room for a small bloom filter
            check(source, types[t], round % 2 == 1, &tiny, NULL, false);
            struct fz_budget none = {.limit_bytes = 10};
            check(source, types[t], true, &none, source->n > 0 ? "range" : NULL, false);
            fz_free(source);
        }
    }
    fz_arena_dispose(&arena);
}

static void forms_are_chosen_by_how_the_keys_lie(void **state) {
    (void)state;
    state_of_random = 99;
    const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG), *integer = fz_type_primitive(FZ_TYPE_INT);
    struct values *close = source_of(lng, 3000, 100000, 5),
                  *far = source_of(lng, 5000, (uint64_t)1 << 62, -((int64_t)1 << 61));
    check(close, lng, false, NULL, "bitmap", true);
    check(close, integer, false, NULL, "bitmap", true); // an int column with bigint keys
    close->numbers[0] = 1000000000; // a few far away do not spoil it
    check(close, lng, false, NULL, "bitmap", true);
    check(far, lng, true, NULL, "hash table", true);
    check(far, integer, true, NULL, "hash table", true); // keys that no int can have
    close->numbers[0] = INT64_MIN;
    close->numbers[1] = INT64_MAX;
    check(close, lng, false, NULL, "hash table", true);
    struct fz_budget budget = {.limit_bytes = 140
                                              << 10}; // the list takes 64 kB, a table would take 128, a small filter 64
    check(far, lng, true, &budget, "bloom filter", false);
    fz_free(close);
    fz_free(far);
}

static void ranges_and_lists(void **state) {
    (void)state;
    const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG);
    struct values *v = fz_calloc(1, sizeof *v);
    static const int64_t NUMBERS[] = {50, -3, 50, 7, 900};
    v->type = lng;
    for (v->n = 0; v->n < 5; v->n++) {
        v->numbers[v->n] = NUMBERS[v->n];
    }
    v->nulls[v->n++] = true;
    struct fz_scan_keys *keys = keys_of(v, lng, false, NULL);
    struct fz_scan_key_facts facts;
    fz_scan_keys_facts(keys, 0, &facts);
    assert_int_equal(facts.n_values, 5);
    assert_int_equal(facts.n_nulls, 1);
    assert_int_equal(facts.n_distinct, 4);
    assert_int_equal(facts.min.u.i64, -3);
    assert_int_equal(facts.max.u.i64, 900);
    static const struct {
        int64_t min, max;
        bool may;
        size_t n;
    } cases[] = {{-10, -4, false, 0}, {-10, -3, true, 1},  {8, 49, false, 0},     {8, 50, true, 1},
                 {51, 899, false, 0}, {900, 900, true, 1}, {901, 9999, false, 0}, {INT64_MIN, INT64_MAX, true, 4}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fz_value min = {.type = lng, .u.i64 = cases[i].min}, max = {.type = lng, .u.i64 = cases[i].max};
        int64_t list[8];
        assert_int_equal(fz_scan_keys_may_lie_in(keys, 0, &min, &max, -1, -1), cases[i].may);
        assert_int_equal(fz_scan_keys_list(keys, 0, &min, &max, list, 8), cases[i].n);
    }
    assert_false(fz_scan_keys_may_lie_in(keys, 0, NULL, NULL, 10, 10)); // nothing but NULLs
    assert_true(fz_scan_keys_may_lie_in(keys, 0, NULL, NULL, -1, -1));
    fz_scan_keys_unref(keys);
    keys = keys_of(v, lng, true, NULL); // <=>
    assert_true(fz_scan_keys_may_lie_in(keys, 0, NULL, NULL, 10, 10));
    struct fz_value low = {.type = lng, .u.i64 = 100}, high = {.type = lng, .u.i64 = 200};
    assert_true(fz_scan_keys_may_lie_in(keys, 0, &low, &high, 10, 1));
    assert_false(fz_scan_keys_may_lie_in(keys, 0, &low, &high, 10, 0));
    fz_scan_keys_unref(keys);
    fz_free(v);
}

// Sorted rows without NULLs, as in a clustered table, batch by batch: every row has the answer it has alone.
static void sparse_keys_in_clustered_rows(void **state) {
    (void)state;
    state_of_random = 5;
    const struct fz_type *types[] = {fz_type_primitive(FZ_TYPE_LONG), fz_type_primitive(FZ_TYPE_INT)};
    for (int t = 0; t < 2; t++) {
        struct values *source = source_of(types[t], 60, 400000, -7), *rows = fz_calloc(1, sizeof *rows);
        source->numbers[3] = t == 0 ? (int64_t)1 << 50 : INT32_MAX; // a new key far away
        struct fz_scan_keys *keys = keys_of(source, types[t], t == 0, NULL);
        size_t found = 0, want = 0;
        rows->type = types[t];
        rows->n = 2000;
        for (int64_t from = -1000; from < 401000; from += 2000) {
            struct fz_arena arena = {0};
            struct fz_batch batch;
            uint8_t keep[FZ_BATCH_ROWS];
            for (size_t i = 0; i < rows->n; i++) {
                rows->numbers[i] = from + (int64_t)i;
            }
            fill(&batch, rows, 0, &arena);
            batch.columns[0].validity = NULL;
            memset(keep, 1, sizeof keep);
            found += fz_scan_keys_filter(keys, 0, &batch.columns[0], batch.n_rows, keep);
            for (size_t i = 0; i < rows->n; i++) {
                bool is_key = contains(source, rows->numbers[i], false);
                assert_int_equal(keep[i], is_key);
                want += is_key;
            }
            fz_batch_dispose(&batch);
            fz_arena_dispose(&arena);
        }
        assert_int_equal(found, want);
        assert_true(want >= 40);
        fz_scan_keys_unref(keys);
        fz_free(source);
        fz_free(rows);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(every_type_and_form),
        FZ_TEST(forms_are_chosen_by_how_the_keys_lie),
        FZ_TEST(ranges_and_lists),
        FZ_TEST(sparse_keys_in_clustered_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
