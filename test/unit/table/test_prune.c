// table/prune: what can and what must match, checked against brute force: every filter is evaluated over the rows that a file
// may hold, and pruning may never contradict a row.
#include "table/table_fixtures.h"

#include <math.h>

#include "table/prune.h"
#include "table/update.h"

static struct fz_arena arena;

static const struct fz_type *type_of(enum fz_type_id id) {
    return fz_type_primitive(id);
}
static const struct fz_expr *literal(struct fz_value v) {
    return fz_expr_literal(&arena, fz_value_copy(&arena, &v));
}
static const struct fz_expr *long_literal(int64_t v) {
    return literal((struct fz_value){.type = type_of(FZ_TYPE_LONG), .u.i64 = v});
}
static const struct fz_expr *double_literal(double v) {
    return literal((struct fz_value){.type = type_of(FZ_TYPE_DOUBLE), .u.f64 = v});
}
static const struct fz_expr *text_literal(const char *v) {
    return literal((struct fz_value){.type = type_of(FZ_TYPE_STRING), .u.bytes = fz_str_of(v)});
}
static const struct fz_expr *column(int32_t id, enum fz_type_id type) {
    return fz_expr_column(&arena, 0, id, "c", type_of(type), true);
}
static const struct fz_expr *op(enum fz_expr_kind kind, const struct fz_expr *a, const struct fz_expr *b) {
    const struct fz_expr *args[] = {a, b};
    return fz_expr_op(&arena, kind, type_of(FZ_TYPE_BOOLEAN), args, b != NULL ? 2 : 1);
}

struct range_ctx {
    struct fz_value min, max;
    bool bounds;
    int64_t values, nulls, nans;
};
static bool give_range(void *ctx, int32_t id, const struct fz_type *type, struct fz_column_range *out) {
    struct range_ctx *r = ctx;
    (void)id;
    (void)type;
    *out =
        (struct fz_column_range){r->bounds ? &r->min : NULL, r->bounds ? &r->max : NULL, r->values, r->nulls, r->nans};
    return true;
}

static int truth_of_compare(enum fz_expr_kind kind, double a, double b) { // Spark: NaN = NaN, NaN above all
    int order = isnan(a) ? (isnan(b) ? 0 : 1) : isnan(b) ? -1 : a < b ? -1 : a > b;
    switch ((int)kind) {
    case FZ_EXPR_EQ:
        return order == 0;
    case FZ_EXPR_NE:
        return order != 0;
    case FZ_EXPR_LT:
        return order < 0;
    case FZ_EXPR_LE:
        return order <= 0;
    case FZ_EXPR_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

// Doubles with NULLs and NaNs: all small files over a few values, all comparisons, and their negations.
static void comparisons_by_brute_force(void **state) {
    (void)state;
    const double domain[] = {-1, -0.0, 0.0, 2, NAN};
    const enum fz_expr_kind kinds[] = {FZ_EXPR_EQ, FZ_EXPR_NE, FZ_EXPR_LT, FZ_EXPR_LE, FZ_EXPR_GT, FZ_EXPR_GE};
    for (unsigned present = 1; present < 64; present++) { // bits 0-4: values, bit 5: NULL
        struct range_ctx r = {.min = {.type = type_of(FZ_TYPE_DOUBLE)}, .max = {.type = type_of(FZ_TYPE_DOUBLE)}};
        for (int i = 0; i < 5; i++) {
            if (!(present >> i & 1)) {
                continue;
            }
            r.values++;
            if (i == 4) {
                r.nans = 1;
                continue;
            }
            r.min.u.f64 = r.bounds ? r.min.u.f64 : domain[i]; // the domain is in order
            r.max.u.f64 = domain[i];
            r.bounds = true;
        }
        r.nulls = present >> 5 & 1;
        r.values += r.nulls;
        for (int l = 0; l < 5; l++) {
            for (int k = 0; k < 6; k++) {
                bool any_true = false, any_other = r.nulls > 0, any_false = false;
                for (int i = 0; i < 5; i++) {
                    if (present >> i & 1) {
                        bool holds = truth_of_compare(kinds[k], domain[i], domain[l]);
                        any_true = any_true || holds;
                        any_false = any_false || !holds;
                    }
                }
                any_other = any_other || any_false;
                const struct fz_expr *e = op(kinds[k], column(1, FZ_TYPE_DOUBLE), double_literal(domain[l]));
                const struct fz_expr *not_e = op(FZ_EXPR_NOT, e, NULL);
                bool may = fz_prune_may_match(e, give_range, &r), all = fz_prune_all_match(e, give_range, &r);
                assert_true(may || !any_true);
                assert_true(!all || !any_other);
                assert_true(fz_prune_may_match(not_e, give_range, &r) || !any_false);
                // Unknown counts must make it more careful, never less.
                struct range_ctx v1 = r;
                v1.values = v1.nulls = v1.nans = -1;
                assert_true(fz_prune_may_match(e, give_range, &v1) || !any_true);
                assert_true(!fz_prune_all_match(e, give_range, &v1) || !any_other);
            }
        }
    }
}

static void ranges_do_prune(void **state) {
    (void)state;
    struct range_ctx r = {.min = {.type = type_of(FZ_TYPE_LONG), .u.i64 = 10},
                          .max = {.type = type_of(FZ_TYPE_LONG), .u.i64 = 20},
                          .bounds = true};
    r.values = 5;
    const struct fz_expr *c = column(1, FZ_TYPE_LONG);
    assert_false(fz_prune_may_match(op(FZ_EXPR_EQ, c, long_literal(9)), give_range, &r));
    assert_true(fz_prune_may_match(op(FZ_EXPR_EQ, c, long_literal(10)), give_range, &r));
    assert_false(fz_prune_may_match(op(FZ_EXPR_LT, c, long_literal(10)), give_range, &r));
    assert_false(fz_prune_may_match(op(FZ_EXPR_GT, long_literal(10), c), give_range, &r)); // literal first
    assert_true(fz_prune_all_match(op(FZ_EXPR_GE, c, long_literal(10)), give_range, &r));
    assert_false(fz_prune_may_match(op(FZ_EXPR_IS_NULL, c, NULL), give_range, &r));
    const struct fz_expr *list[] = {c, long_literal(1), long_literal(30)};
    assert_false(fz_prune_may_match(fz_expr_op(&arena, FZ_EXPR_IN, type_of(FZ_TYPE_BOOLEAN), list, 3), give_range, &r));
    list[2] = long_literal(15);
    assert_true(fz_prune_may_match(fz_expr_op(&arena, FZ_EXPR_IN, type_of(FZ_TYPE_BOOLEAN), list, 3), give_range, &r));
    // A NULL among the items: NOT IN is never true.
    list[2] = literal(fz_value_null(type_of(FZ_TYPE_LONG)));
    const struct fz_expr *in = fz_expr_op(&arena, FZ_EXPR_IN, type_of(FZ_TYPE_BOOLEAN), list, 3);
    assert_false(fz_prune_may_match(op(FZ_EXPR_NOT, in, NULL), give_range, &r));
    const struct fz_expr *no = op(FZ_EXPR_EQ, c, long_literal(9)), *yes = op(FZ_EXPR_GE, c, long_literal(10));
    assert_false(fz_prune_may_match(op(FZ_EXPR_AND, yes, no), give_range, &r));
    assert_true(fz_prune_all_match(op(FZ_EXPR_OR, no, yes), give_range, &r));
    assert_false(
        fz_prune_may_match(op(FZ_EXPR_NULL_EQ, c, literal(fz_value_null(type_of(FZ_TYPE_LONG)))), give_range, &r));
    // Another type than the column, a cast column, another relation: not understood, not pruned.
    const struct fz_expr *as_int = literal((struct fz_value){.type = type_of(FZ_TYPE_INT), .u.i64 = 9});
    assert_true(fz_prune_may_match(op(FZ_EXPR_EQ, c, as_int), give_range, &r));
    const struct fz_expr *cast = fz_expr_cast(&arena, c, type_of(FZ_TYPE_LONG), FZ_CAST_ANSI);
    assert_true(fz_prune_may_match(op(FZ_EXPR_EQ, cast, long_literal(9)), give_range, &r));
    const struct fz_expr *other = fz_expr_column(&arena, 1, 1, "c", type_of(FZ_TYPE_LONG), true);
    assert_true(fz_prune_may_match(op(FZ_EXPR_EQ, other, long_literal(9)), give_range, &r));
}

static void prefixes(void **state) {
    (void)state;
    struct range_ctx r = {.min = {.type = type_of(FZ_TYPE_STRING), .u.bytes = FZ_STR_LIT("abc")},
                          .max = {.type = type_of(FZ_TYPE_STRING), .u.bytes = FZ_STR_LIT("abf")},
                          .bounds = true,
                          .values = 3};
    const struct fz_expr *c = column(1, FZ_TYPE_STRING);
    const struct {
        const char *prefix;
        bool may, all;
    } cases[] = {{"a", true, true},     {"ab", true, true},   {"abd", true, false}, {"abcx", true, false},
                 {"abg", false, false}, {"aa", false, false}, {"", true, true},     {"b", false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const struct fz_expr *e = op(FZ_EXPR_STARTS_WITH, c, text_literal(cases[i].prefix));
        assert_int_equal(fz_prune_may_match(e, give_range, &r), cases[i].may);
        assert_int_equal(fz_prune_all_match(e, give_range, &r), cases[i].all);
    }
}

// One partition field over one column; files of one value each; the filter's answer is known per value.
static void check_transform(enum fz_type_id type, struct fz_transform transform, const int64_t *values, size_t n) {
    struct fz_err err = FZ_ERR_INIT;
    const struct fz_field field = {.id = 1, .name = "c", .type = type_of(type)};
    const struct fz_partition_field part = {.source_id = 1, .name = "p", .transform = transform};
    const struct fz_table_create create = {fz_type_struct(&arena, &field, 1), &part, 1, NULL, 0, "memory://t", NULL, 0};
    struct fz_metadata *m = NULL;
    const struct fz_type *tuple;
    FZ_OK_OR_FAIL(fz_metadata_create(&create, 1, &m, &err), &err);
    FZ_OK_OR_FAIL(fz_metadata_spec_type(&arena, m, 0, &tuple, &err), &err);
    const enum fz_expr_kind kinds[] = {FZ_EXPR_EQ, FZ_EXPR_NE, FZ_EXPR_LT, FZ_EXPR_LE, FZ_EXPR_GT, FZ_EXPR_GE};
    size_t pruned = 0;
    for (size_t i = 0; i < n; i++) {
        struct fz_value *part_value = FZ_ARENA_NEW(&arena, struct fz_value);
        const struct fz_value v = {.type = field.type, .u.i64 = values[i]};
        FZ_OK_OR_FAIL(fz_transform_apply(&transform, &v, part_value, &err), &err);
        struct fz_data_file file = {.file_path = "f", .file_format = "PARQUET", .record_count = 1};
        file.partition = (struct fz_value){.type = tuple, .u.nested = {part_value, 1}};
        struct fz_buf out = {0};
        struct fz_manifest_file row;
        struct fz_manifest_entry entry = {FZ_ENTRY_ADDED, 1, -1, -1, file};
        entry.file.sort_order_id = -1;
        entry.file.first_row_id = entry.file.content_offset = entry.file.content_size_in_bytes = -1;
        const struct fz_manifest_encode in = {m, 0, false, &entry, 1};
        FZ_OK_OR_FAIL(fz_manifest_encode(&arena, &in, &out, &row, &err), &err);
        for (size_t j = 0; j < n; j++) {
            for (int k = 0; k < 6; k++) {
                const struct fz_expr *e =
                    op(kinds[k], column(1, type), literal((struct fz_value){.type = field.type, .u.i64 = values[j]}));
                bool holds = truth_of_compare(kinds[k], (double)values[i], (double)values[j]);
                assert_true(fz_prune_file(e, m, &file) || !holds);
                assert_true(fz_prune_manifest(e, m, &row) || !holds);
                assert_true(!fz_prune_file_all(e, m, &file) || holds);
                pruned += !fz_prune_file(e, m, &file);
                assert_int_equal(fz_prune_file(e, m, &file),
                                 fz_prune_manifest(e, m, &row)); // one file: the summary says the same
            }
        }
        const struct fz_expr *is_null = op(FZ_EXPR_IS_NULL, column(1, type), NULL);
        assert_false(fz_prune_file(is_null, m, &file));
        assert_false(fz_prune_manifest(is_null, m, &row));
        fz_buf_dispose(&out);
    }
    assert_true(pruned > 0);
    fz_metadata_unref(m);
}

static void partitions_through_transforms(void **state) {
    (void)state;
    const int64_t days[] = {-800, -366, -1, 0, 1, 30, 31, 364, 365, 366, 19753, 19754};
    const int64_t micros[] = {
        -86400000001,    -1, 0, 1, 3599999999, 3600000000, 86399999999, 86400000000, 2678400000000, 31536000000000,
        1706748303000004};
    const int64_t numbers[] = {-21, -20, -11, -10, -1, 0, 1, 9, 10, 11, 99, 100};
    const size_t n_days = sizeof days / sizeof days[0], n_micros = sizeof micros / sizeof micros[0],
                 n_numbers = sizeof numbers / sizeof numbers[0];
    const enum fz_transform_kind times[] = {FZ_TRANSFORM_YEAR, FZ_TRANSFORM_MONTH, FZ_TRANSFORM_DAY};
    for (int i = 0; i < 3; i++) {
        check_transform(FZ_TYPE_DATE, (struct fz_transform){.kind = times[i]}, days, n_days);
        check_transform(FZ_TYPE_TIMESTAMP, (struct fz_transform){.kind = times[i]}, micros, n_micros);
    }
    check_transform(FZ_TYPE_TIMESTAMPTZ, (struct fz_transform){.kind = FZ_TRANSFORM_HOUR}, micros, n_micros);
    check_transform(FZ_TYPE_LONG, (struct fz_transform){.kind = FZ_TRANSFORM_TRUNCATE, .param = 10}, numbers,
                    n_numbers);
    check_transform(FZ_TYPE_INT, (struct fz_transform){.kind = FZ_TRANSFORM_BUCKET, .param = 7}, numbers, n_numbers);
    check_transform(FZ_TYPE_LONG, (struct fz_transform){.kind = FZ_TRANSFORM_IDENTITY}, numbers, n_numbers);
}

static int dispose(void **state) {
    (void)state;
    fz_arena_dispose(&arena);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(comparisons_by_brute_force), cmocka_unit_test(ranges_do_prune),
                                       cmocka_unit_test(prefixes), cmocka_unit_test(partitions_through_transforms)};
    return cmocka_run_group_tests(tests, NULL, dispose);
}
