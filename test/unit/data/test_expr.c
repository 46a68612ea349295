// data/expr.h: printing, walking, and the vector evaluator against three-valued logic worked out by hand (SQL's truth tables; -0.0
// equals 0.0 and NaN is greatest, as recorded for Spark).
#include "leak_check.h"

#include <math.h>
#include <stdio.h>

#include "data/expr.h"

static struct fz_arena arena;

static const struct fz_type *ty(enum fz_type_id id) {
    return fz_type_primitive(id);
}
static const struct fz_expr *lit(struct fz_value v) {
    return fz_expr_literal(&arena, fz_value_copy(&arena, &v));
}
static const struct fz_expr *num(enum fz_type_id id, int64_t v) {
    return lit((struct fz_value){.type = ty(id), .u.i64 = v});
}
static const struct fz_expr *str(const char *t) {
    return lit((struct fz_value){.type = ty(FZ_TYPE_STRING), .u.bytes = fz_str_of(t)});
}
static const struct fz_expr *real(double v) {
    return lit((struct fz_value){.type = ty(FZ_TYPE_DOUBLE), .u.f64 = v});
}
static const struct fz_expr *null_of(enum fz_type_id id) {
    return lit(fz_value_null(ty(id)));
}
static const struct fz_expr *col(int32_t id, const char *name, const struct fz_type *type) {
    return fz_expr_column(&arena, 0, id, name, type, true);
}
static const struct fz_expr *op(enum fz_expr_kind kind, size_t n, const struct fz_expr *a, const struct fz_expr *b,
                                const struct fz_expr *c) {
    const struct fz_expr *args[3] = {a, b, c};
    return fz_expr_op(&arena, kind, ty(FZ_TYPE_BOOLEAN), args, n);
}
static const struct fz_expr *two(enum fz_expr_kind kind, const struct fz_expr *a, const struct fz_expr *b) {
    return op(kind, 2, a, b, NULL);
}

static void printing(void **state) {
    (void)state;
    const struct fz_expr *id = col(1, "id", ty(FZ_TYPE_LONG)), *name = col(2, "name", ty(FZ_TYPE_STRING));
    const struct fz_expr *e = two(FZ_EXPR_OR,
                                  two(FZ_EXPR_AND, two(FZ_EXPR_EQ, id, num(FZ_TYPE_LONG, 5)),
                                      op(FZ_EXPR_NOT, 1, two(FZ_EXPR_LT, name, str("o'k")), NULL, NULL)),
                                  op(FZ_EXPR_IN, 3, id, num(FZ_TYPE_LONG, 1), num(FZ_TYPE_LONG, 2)));
    struct fz_buf buf = {0};
    fz_expr_print(&buf, e);
    assert_string_equal(buf.ptr, "(((id = 5) AND (NOT (name < 'o''k'))) OR (id IN (1, 2)))");
    fz_buf_clear(&buf);
    fz_expr_print(&buf,
                  fz_expr_cast(&arena, op(FZ_EXPR_IS_NULL, 1, name, NULL, NULL), ty(FZ_TYPE_STRING), FZ_CAST_TRY));
    assert_string_equal(buf.ptr, "TRY_CAST((name IS NULL) AS string)");
    fz_buf_clear(&buf);
    fz_expr_print(&buf, two(FZ_EXPR_NULL_EQ, num(FZ_TYPE_DATE, 0), null_of(FZ_TYPE_DATE)));
    assert_string_equal(buf.ptr, "(DATE '1970-01-01' <=> NULL)");
    fz_buf_dispose(&buf);
}

static void conjuncts_and_relations(void **state) {
    (void)state;
    const struct fz_expr *a = two(FZ_EXPR_EQ, col(1, "a", ty(FZ_TYPE_INT)), num(FZ_TYPE_INT, 1));
    const struct fz_expr *b =
        two(FZ_EXPR_EQ, fz_expr_column(&arena, 3, 1, "b", ty(FZ_TYPE_INT), false), num(FZ_TYPE_INT, 1));
    const struct fz_expr *all = fz_expr_and(&arena, fz_expr_and(&arena, a, b), fz_expr_and(&arena, NULL, a)), *out[2];
    assert_int_equal(fz_expr_conjuncts(all, out, 2), 3);
    assert_ptr_equal(out[0], a);
    assert_ptr_equal(out[1], b);
    assert_int_equal(fz_expr_conjuncts(NULL, out, 2), 0);
    assert_int_equal(fz_expr_relations(all), 1 | 8);
    assert_true(a->nullable && !b->nullable);
    assert_null(fz_expr_and(&arena, NULL, NULL));
    const struct fz_expr sub = {.kind = FZ_EXPR_SUBQUERY, .type = ty(FZ_TYPE_INT)};
    assert_int_equal(fz_expr_relations(two(FZ_EXPR_EQ, &sub, num(FZ_TYPE_INT, 1))), INT64_C(1) << 31);
}

// 70 rows, so that more than one validity word is used. Row i has value i % 5 - 2; row i % 5 == 4 is NULL.
enum { ROWS = 70 };
static int64_t value_of(size_t i) {
    return (int64_t)(i % 5) - 2;
}
static bool null_at(size_t i) {
    return i % 5 == 4;
}

static void fill(struct fz_column *c) {
    struct fz_err err = FZ_ERR_INIT;
    for (size_t i = 0; i < ROWS; i++) {
        struct fz_value v = {.type = c->type, .is_null = null_at(i)};
        int64_t x = value_of(i);
        switch ((int)c->type->id) {
        case FZ_TYPE_FLOAT:
            v.u.f32 = (float)x;
            break;
        case FZ_TYPE_DOUBLE:
            v.u.f64 = (double)x;
            break;
        case FZ_TYPE_DECIMAL:
            v.u.i128 = fz_i128_of(x);
            break;
        case FZ_TYPE_UUID:
            v.u.i128 = fz_i128_of(x + 10);
            break;
        case FZ_TYPE_STRING:
        case FZ_TYPE_BINARY:
            v.u.bytes = fz_str_of(fz_arena_printf(&arena, "%lld", (long long)(x + 50)));
            break;
        case FZ_TYPE_BOOLEAN:
            v.u.boolean = x > 0;
            break;
        default:
            v.u.i64 = x;
        }
        FZ_OK_OR_FAIL(fz_value_store(c, i, &v, &err), &err);
    }
}

static const struct fz_expr *literal_for(const struct fz_type *type, int64_t x) {
    struct fz_value v = {.type = type, .u.i64 = x};
    if (type->id == FZ_TYPE_FLOAT) {
        v.u.f32 = (float)x;
    } else if (type->id == FZ_TYPE_DOUBLE) {
        v.u.f64 = (double)x;
    } else if (type->id == FZ_TYPE_DECIMAL) {
        v.u.i128 = fz_i128_of(x);
    } else if (type->id == FZ_TYPE_UUID) {
        v.u.i128 = fz_i128_of(x + 10);
    } else if (type->id == FZ_TYPE_STRING || type->id == FZ_TYPE_BINARY) {
        v.u.bytes = fz_str_of(fz_arena_printf(&arena, "%lld", (long long)(x + 50)));
    }
    return lit(v);
}

static uint8_t compare(enum fz_expr_kind kind, int64_t a, int64_t b) {
    switch ((int)kind) {
    case FZ_EXPR_EQ:
    case FZ_EXPR_NULL_EQ:
        return a == b;
    case FZ_EXPR_NE:
        return a != b;
    case FZ_EXPR_LT:
        return a < b;
    case FZ_EXPR_LE:
        return a <= b;
    case FZ_EXPR_GT:
        return a > b;
    default:
        return a >= b;
    }
}

static void run(const struct fz_expr *e, const struct fz_batch *batch, uint8_t *out) {
    struct fz_err err = FZ_ERR_INIT;
    assert_true(fz_expr_evaluable(e));
    memset(out, 9, ROWS);
    FZ_OK_OR_FAIL(fz_expr_evaluate(e, batch, out, &err), &err);
}

static void comparisons_of_every_type(void **state) {
    (void)state;
    const struct fz_type *types[] = {ty(FZ_TYPE_BYTE),
                                     ty(FZ_TYPE_SHORT),
                                     ty(FZ_TYPE_INT),
                                     ty(FZ_TYPE_LONG),
                                     ty(FZ_TYPE_DATE),
                                     ty(FZ_TYPE_TIMESTAMPTZ),
                                     ty(FZ_TYPE_FLOAT),
                                     ty(FZ_TYPE_DOUBLE),
                                     ty(FZ_TYPE_UUID),
                                     ty(FZ_TYPE_STRING),
                                     ty(FZ_TYPE_BINARY),
                                     fz_type_decimal(&arena, 4, 1),
                                     fz_type_decimal(&arena, 9, 1),
                                     fz_type_decimal(&arena, 18, 1),
                                     fz_type_decimal(&arena, 30, 1)};
    static const enum fz_expr_kind kinds[] = {FZ_EXPR_EQ, FZ_EXPR_NE, FZ_EXPR_LT,     FZ_EXPR_LE,
                                              FZ_EXPR_GT, FZ_EXPR_GE, FZ_EXPR_NULL_EQ};
    for (size_t t = 0; t < sizeof types / sizeof types[0]; t++) {
        struct fz_err err = FZ_ERR_INIT;
        struct fz_batch batch;
        struct fz_field fields[2] = {{.id = 7, .name = "a", .type = types[t]},
                                     {.id = 8, .name = "b", .type = types[t]}};
        uint8_t out[ROWS];
        FZ_OK_OR_FAIL(fz_batch_init(&batch, fields, 2, ROWS, &err), &err);
        batch.n_rows = ROWS;
        fill(&batch.columns[0]);
        for (size_t i = 0; i < ROWS; i++) { // b = a one row later
            struct fz_value v = fz_value_at(&batch.columns[0], (i + 1) % ROWS, NULL);
            FZ_OK_OR_FAIL(fz_value_store(&batch.columns[1], i, &v, &err), &err);
        }
        const struct fz_expr *a = col(7, "a", types[t]), *b = col(8, "b", types[t]);
        for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
            for (int64_t x = -3; x <= 2; x++) {
                run(two(kinds[k], a, literal_for(types[t], x)), &batch, out);
                for (size_t i = 0; i < ROWS; i++) {
                    assert_int_equal(out[i], null_at(i) ? (kinds[k] == FZ_EXPR_NULL_EQ ? 0 : 2)
                                                        : compare(kinds[k], value_of(i), x));
                }
                run(two(kinds[k], literal_for(types[t], x), a), &batch, out);
                for (size_t i = 0; i < ROWS; i++) {
                    assert_int_equal(out[i], null_at(i) ? (kinds[k] == FZ_EXPR_NULL_EQ ? 0 : 2)
                                                        : compare(kinds[k], x, value_of(i)));
                }
            }
            run(two(kinds[k], a, b), &batch, out);
            for (size_t i = 0; i < ROWS; i++) {
                size_t j = (i + 1) % ROWS;
                bool unknown = null_at(i) || null_at(j);
                uint8_t if_unknown = kinds[k] == FZ_EXPR_NULL_EQ ? null_at(i) && null_at(j) : 2;
                assert_int_equal(out[i], unknown ? if_unknown : compare(kinds[k], value_of(i), value_of(j)));
            }
            run(two(kinds[k], a, null_of(FZ_TYPE_UNKNOWN)), &batch, out);
            for (size_t i = 0; i < ROWS; i++) {
                assert_int_equal(out[i], kinds[k] == FZ_EXPR_NULL_EQ ? null_at(i) : 2);
            }
        }
        // IN with few and with many items, sorted and not, with and without NULL
        for (int many = 0; many < 2; many++) {
            for (int with_null = 0; with_null < 2; with_null++) {
                const struct fz_expr *args[40] = {a};
                size_t n = 1;
                args[n++] = literal_for(types[t], 1);
                args[n++] = literal_for(types[t], -2);
                for (int64_t x = 0; many && x < 30; x++) {
                    args[n++] = literal_for(types[t], 60 - x);
                }
                if (with_null) {
                    args[n++] = null_of(types[t]->id == FZ_TYPE_DECIMAL ? FZ_TYPE_UNKNOWN : types[t]->id);
                }
                run(fz_expr_op(&arena, FZ_EXPR_IN, ty(FZ_TYPE_BOOLEAN), args, n), &batch, out);
                for (size_t i = 0; i < ROWS; i++) {
                    bool found = value_of(i) == 1 || value_of(i) == -2;
                    assert_int_equal(out[i], null_at(i) ? 2 : found ? 1 : with_null ? 2 : 0);
                }
            }
        }
        run(op(FZ_EXPR_IS_NULL, 1, a, NULL, NULL), &batch, out);
        for (size_t i = 0; i < ROWS; i++) {
            assert_int_equal(out[i], null_at(i));
        }
        fz_batch_dispose(&batch);
        fz_arena_dispose(&arena);
        types[11] = fz_type_decimal(&arena, 4, 1); // lived in the arena
        types[12] = fz_type_decimal(&arena, 9, 1);
        types[13] = fz_type_decimal(&arena, 18, 1);
        types[14] = fz_type_decimal(&arena, 30, 1);
    }
}

static void connectives(void **state) {
    (void)state;
    // rows: all nine pairs of false, true, NULL
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch batch;
    const struct fz_type *boolean = ty(FZ_TYPE_BOOLEAN);
    struct fz_field fields[2] = {{.id = 1, .name = "p", .type = boolean}, {.id = 2, .name = "q", .type = boolean}};
    FZ_OK_OR_FAIL(fz_batch_init(&batch, fields, 2, 9, &err), &err);
    batch.n_rows = 9;
    for (size_t i = 0; i < 9; i++) {
        size_t parts[2] = {i / 3, i % 3};
        for (size_t k = 0; k < 2; k++) {
            struct fz_value v = {.type = boolean, .is_null = parts[k] == 2, .u.boolean = parts[k] == 1};
            FZ_OK_OR_FAIL(fz_value_store(&batch.columns[k], i, &v, &err), &err);
        }
    }
    const struct fz_expr *p = col(1, "p", boolean), *q = col(2, "q", boolean);
    static const uint8_t and_want[9] = {0, 0, 0, 0, 1, 2, 0, 2, 2}, or_want[9] = {0, 1, 2, 1, 1, 1, 2, 1, 2},
                         not_want[9] = {1, 1, 1, 0, 0, 0, 2, 2, 2}, unknown_want[9] = {0, 0, 0, 0, 0, 1, 0, 1, 1};
    uint8_t out[9];
    FZ_OK_OR_FAIL(fz_expr_evaluate(two(FZ_EXPR_AND, p, q), &batch, out, &err), &err);
    assert_memory_equal(out, and_want, 9);
    FZ_OK_OR_FAIL(fz_expr_evaluate(two(FZ_EXPR_OR, p, q), &batch, out, &err), &err);
    assert_memory_equal(out, or_want, 9);
    FZ_OK_OR_FAIL(fz_expr_evaluate(op(FZ_EXPR_NOT, 1, p, NULL, NULL), &batch, out, &err), &err);
    assert_memory_equal(out, not_want, 9);
    FZ_OK_OR_FAIL(fz_expr_evaluate(op(FZ_EXPR_IS_NULL, 1, two(FZ_EXPR_AND, p, q), NULL, NULL), &batch, out, &err),
                  &err);
    assert_memory_equal(out, unknown_want, 9);
    FZ_OK_OR_FAIL(fz_expr_evaluate(null_of(FZ_TYPE_UNKNOWN), &batch, out, &err), &err);
    assert_int_equal(out[4], 2);
    FZ_OK_OR_FAIL(fz_expr_evaluate(fz_expr_op(&arena, FZ_EXPR_AND, boolean, NULL, 0), &batch, out, &err), &err);
    assert_int_equal(out[4], 1);
    batch.n_rows = 0;
    FZ_OK_OR_FAIL(fz_expr_evaluate(two(FZ_EXPR_OR, p, q), &batch, out, &err), &err);
    fz_batch_dispose(&batch);
}

static void floats_compare_as_in_sql(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch batch;
    struct fz_field field = {.id = 1, .name = "d", .type = ty(FZ_TYPE_DOUBLE)};
    FZ_OK_OR_FAIL(fz_batch_init(&batch, &field, 1, 4, &err), &err);
    batch.n_rows = 4;
    const double values[4] = {-0.0, (double)NAN, (double)INFINITY, 1.0};
    memcpy(batch.columns[0].data, values, sizeof values);
    const struct fz_expr *d = col(1, "d", field.type);
    uint8_t out[4];
    FZ_OK_OR_FAIL(fz_expr_evaluate(two(FZ_EXPR_EQ, d, real(0.0)), &batch, out, &err), &err);
    assert_memory_equal(out, ((uint8_t[]){1, 0, 0, 0}), 4);
    FZ_OK_OR_FAIL(fz_expr_evaluate(two(FZ_EXPR_EQ, d, real(-(double)NAN)), &batch, out, &err), &err);
    assert_memory_equal(out, ((uint8_t[]){0, 1, 0, 0}), 4);
    FZ_OK_OR_FAIL(fz_expr_evaluate(two(FZ_EXPR_GT, d, real((double)INFINITY)), &batch, out, &err), &err);
    assert_memory_equal(out, ((uint8_t[]){0, 1, 0, 0}), 4);
    fz_batch_dispose(&batch);
}

static void struct_fields_and_prefixes(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch batch;
    struct fz_field inner = {.id = 2, .name = "s", .type = ty(FZ_TYPE_STRING)};
    struct fz_field outer = {.id = 1, .name = "o", .type = fz_type_struct(&arena, &inner, 1)};
    FZ_OK_OR_FAIL(fz_batch_init(&batch, &outer, 1, 4, &err), &err);
    batch.n_rows = 4;
    static const char *const texts[] = {"abc", "ab", "b"};
    for (size_t i = 0; i < 3; i++) {
        struct fz_value s = {.type = inner.type, .u.bytes = fz_str_of(texts[i])},
                        o = {.type = outer.type, .u.nested = {&s, 1}};
        FZ_OK_OR_FAIL(fz_value_store(&batch.columns[0], i, &o, &err), &err);
    }
    fz_column_set_null(&batch.columns[0], 3);
    const struct fz_expr *o = col(1, "o", outer.type);
    struct fz_expr *field = (struct fz_expr *)fz_expr_op(&arena, FZ_EXPR_FIELD, inner.type, &o, 1);
    field->u.field.field_id = 2;
    field->u.field.name = "s";
    uint8_t out[4];
    FZ_OK_OR_FAIL(fz_expr_evaluate(two(FZ_EXPR_STARTS_WITH, field, str("ab")), &batch, out, &err), &err);
    assert_memory_equal(out, ((uint8_t[]){1, 1, 0, 2}), 4);
    FZ_OK_OR_FAIL(fz_expr_evaluate(two(FZ_EXPR_EQ, field, str("ab")), &batch, out, &err), &err);
    assert_memory_equal(out, ((uint8_t[]){0, 1, 0, 2}), 4);
    FZ_OK_OR_FAIL(fz_expr_evaluate(op(FZ_EXPR_IS_NULL, 1, o, NULL, NULL), &batch, out, &err), &err);
    assert_memory_equal(out, ((uint8_t[]){0, 0, 0, 1}), 4);
    struct fz_buf buf = {0};
    fz_expr_print(&buf, field);
    assert_string_equal(buf.ptr, "o.s");
    fz_buf_dispose(&buf);
    fz_batch_dispose(&batch);
}

static void what_is_not_evaluable(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch none = {0};
    uint8_t out[1];
    const struct fz_expr *a = col(1, "a", ty(FZ_TYPE_INT)), *d = col(2, "d", fz_type_decimal(&arena, 9, 2));
    const struct fz_expr *call = fz_expr_op(&arena, FZ_EXPR_CALL, ty(FZ_TYPE_BOOLEAN), &a, 1);
    assert_false(fz_expr_evaluable(call));
    assert_false(fz_expr_evaluable(op(FZ_EXPR_NOT, 1, call, NULL, NULL)));
    assert_false(fz_expr_evaluable(two(FZ_EXPR_EQ, a, str("x"))));
    assert_false(fz_expr_evaluable(
        two(FZ_EXPR_EQ, fz_expr_cast(&arena, a, ty(FZ_TYPE_LONG), FZ_CAST_ANSI), num(FZ_TYPE_LONG, 1))));
    assert_false(fz_expr_evaluable(two(FZ_EXPR_EQ, d, lit((struct fz_value){.type = fz_type_decimal(&arena, 9, 1)}))));
    assert_false(fz_expr_evaluable(two(FZ_EXPR_EQ, a, num(FZ_TYPE_DATE, 1))));
    assert_false(fz_expr_evaluable(a));
    assert_true(fz_expr_evaluable(two(FZ_EXPR_EQ, a, num(FZ_TYPE_LONG, INT64_MAX)))); // integers of any width
    assert_int_equal(fz_expr_evaluate(call, &none, out, &err), FZ_BUG);
    fz_err_reset(&err);
    assert_int_equal(fz_expr_evaluate(two(FZ_EXPR_EQ, a, num(FZ_TYPE_INT, 1)), &none, out, &err),
                     FZ_BUG); // no such column
}

static int dispose_and_check(void **state) {
    fz_arena_dispose(&arena);
    return fz_test_end(state);
}
#define EXPR_TEST(fn) cmocka_unit_test_setup_teardown(fn, fz_test_begin, dispose_and_check)

int main(void) {
    const struct CMUnitTest tests[] = {
        EXPR_TEST(printing),
        EXPR_TEST(conjuncts_and_relations),
        EXPR_TEST(comparisons_of_every_type),
        EXPR_TEST(connectives),
        EXPR_TEST(floats_compare_as_in_sql),
        EXPR_TEST(struct_fields_and_prefixes),
        EXPR_TEST(what_is_not_evaluable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
