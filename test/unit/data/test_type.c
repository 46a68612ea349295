// data/type.h: spellings as Java Iceberg and Spark write them, parsing, equality, deep copies.
#include "leak_check.h"

#include "data/value.h"

static void expect_text(void (*print)(struct fz_buf *, const struct fz_type *), const struct fz_type *type,
                        const char *want) {
    struct fz_buf buf = {0};
    print(&buf, type);
    assert_string_equal(buf.ptr, want);
    fz_buf_dispose(&buf);
}

static void spellings(void **state) {
    (void)state;
    struct fz_arena a = {0};
    static const struct {
        enum fz_type_id id;
        const char *iceberg, *sql;
    } plain[] = {
        {FZ_TYPE_BOOLEAN, "boolean", "boolean"},
        {FZ_TYPE_INT, "int", "int"},
        {FZ_TYPE_LONG, "long", "bigint"},
        {FZ_TYPE_TIMESTAMP, "timestamp", "timestamp_ntz"},
        {FZ_TYPE_TIMESTAMPTZ, "timestamptz", "timestamp"},
        {FZ_TYPE_TIMESTAMP_NS, "timestamp_ns", "timestamp_ns"},
        {FZ_TYPE_UUID, "uuid", "string"},
        {FZ_TYPE_UNKNOWN, "unknown", "void"},
        {FZ_TYPE_VARIANT, "variant", "variant"},
        {FZ_TYPE_BYTE, "byte", "tinyint"},
        {FZ_TYPE_INTERVAL_DT, "interval_day_time", "interval day to second"},
        {FZ_TYPE_INTERVAL_YM, "interval_year_month", "interval year to month"},
    };
    for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++) {
        expect_text(fz_type_print, fz_type_primitive(plain[i].id), plain[i].iceberg);
        expect_text(fz_type_print_sql, fz_type_primitive(plain[i].id), plain[i].sql);
    }
    assert_null(fz_type_primitive(FZ_TYPE_DECIMAL));
    assert_null(fz_type_primitive(FZ_TYPE_STRUCT));
    assert_null(fz_type_primitive((enum fz_type_id)0));
    assert_null(fz_type_primitive((enum fz_type_id)1000));
    const struct fz_type *dec = fz_type_decimal(&a, 9, 2), *fixed = fz_type_fixed(&a, 16);
    expect_text(fz_type_print, dec, "decimal(9, 2)");
    expect_text(fz_type_print_sql, dec, "decimal(9,2)");
    expect_text(fz_type_print, fixed, "fixed[16]");
    struct fz_field fields[2] = {
        {.id = 1, .name = "a", .type = fz_type_primitive(FZ_TYPE_INT), .doc = "why"},
        {.id = 2, .name = "b", .required = true, .type = fz_type_list(&a, 3, false, dec)},
    };
    const struct fz_type *s = fz_type_struct(&a, fields, 2);
    expect_text(fz_type_print, s, "struct<1: a: optional int (why), 2: b: required list<decimal(9, 2)>>");
    expect_text(fz_type_print_sql, s, "struct<a:int,b:array<decimal(9,2)>>");
    const struct fz_type *m = fz_type_map(&a, 4, fz_type_primitive(FZ_TYPE_STRING), 5, true, s);
    expect_text(fz_type_print_sql, m, "map<string,struct<a:int,b:array<decimal(9,2)>>>");
    struct fz_type one = *fz_type_primitive(FZ_TYPE_INTERVAL_DT);
    one.precision = one.scale = 1;
    expect_text(fz_type_print_sql, &one, "interval hour");
    fz_arena_dispose(&a);
}

static void parsing(void **state) {
    (void)state;
    struct fz_arena a = {0};
    struct fz_err err = FZ_ERR_INIT;
    static const char *const same[] = {"boolean",
                                       "int",
                                       "long",
                                       "float",
                                       "double",
                                       "date",
                                       "time",
                                       "timestamp",
                                       "timestamptz",
                                       "timestamp_ns",
                                       "timestamptz_ns",
                                       "string",
                                       "uuid",
                                       "binary",
                                       "unknown",
                                       "variant",
                                       "geometry",
                                       "geography",
                                       "decimal(9, 2)",
                                       "decimal(38, 38)",
                                       "fixed[16]",
                                       "geometry(srid:4326)",
                                       "geography(OGC:CRS84, spherical)"};
    const struct fz_type *type;
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++) {
        FZ_OK_OR_FAIL(fz_type_parse(&a, fz_str_of(same[i]), &type, &err), &err);
        expect_text(fz_type_print, type, same[i]);
    }
    static const char *const loose[][2] = {{"decimal( 10 ,0 )", "decimal(10, 0)"},
                                           {"Fixed[ 3 ]", "fixed[3]"},
                                           {" LONG ", "long"},
                                           {"decimal(1,1)", "decimal(1, 1)"}};
    for (size_t i = 0; i < sizeof loose / sizeof loose[0]; i++) {
        FZ_OK_OR_FAIL(fz_type_parse(&a, fz_str_of(loose[i][0]), &type, &err), &err);
        expect_text(fz_type_print, type, loose[i][1]);
    }
    static const char *const bad[] = {"",
                                      " ",
                                      "integer",
                                      "decimal",
                                      "decimal(39, 0)",
                                      "decimal(0, 0)",
                                      "decimal(5, 6)",
                                      "decimal(5)",
                                      "decimal(5, -1)",
                                      "decimal(5, 2",
                                      "fixed",
                                      "fixed[]",
                                      "fixed[-1]",
                                      "fixed[99999999999]",
                                      "int(3)",
                                      "struct",
                                      "list",
                                      "map",
                                      "(",
                                      "[",
                                      "byte",
                                      "geometry(",
                                      "decimal(1e1, 0)"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        assert_int_equal(fz_type_parse(&a, fz_str_of(bad[i]), &type, &err), FZ_SCHEMA_MISMATCH);
        fz_err_reset(&err);
    }
    fz_arena_dispose(&a);
}

static void equality_and_copies(void **state) {
    (void)state;
    struct fz_arena a = {0}, b = {0};
    struct fz_value seven = {.type = fz_type_primitive(FZ_TYPE_INT), .u.i64 = 7};
    char name[] = "x", doc[] = "doc";
    struct fz_field field = {
        .id = 1, .name = name, .type = fz_type_decimal(&a, 4, 1), .doc = doc, .initial_default = &seven};
    const struct fz_type *s = fz_type_struct(&a, &field, 1);
    const struct fz_type *copy = fz_type_copy(&b, s);
    assert_true(fz_type_equal(s, copy, true, true));
    fz_arena_dispose(&a);
    memset(name, 'q', 1);
    memset(doc, 'q', 3);
    assert_string_equal(copy->fields[0].name, "x");
    assert_string_equal(copy->fields[0].doc, "doc");
    assert_int_equal(copy->fields[0].initial_default->u.i64, 7);
    assert_int_equal(copy->fields[0].type->precision, 4);
    struct fz_field other = copy->fields[0];
    other.name = "y";
    const struct fz_type *renamed = fz_type_struct(&b, &other, 1);
    assert_false(fz_type_equal(copy, renamed, true, false));
    assert_true(fz_type_equal(copy, renamed, false, true));
    other.id = 2;
    const struct fz_type *renumbered = fz_type_struct(&b, &other, 1);
    assert_true(fz_type_equal(copy, renumbered, false, false));
    assert_false(fz_type_equal(copy, renumbered, false, true));
    other = copy->fields[0];
    other.required = true;
    assert_false(fz_type_equal(copy, fz_type_struct(&b, &other, 1), true, true));
    assert_true(fz_type_equal(copy, fz_type_struct(&b, &other, 1), true, false));
    assert_false(fz_type_equal(fz_type_decimal(&b, 4, 1), fz_type_decimal(&b, 4, 2), false, false));
    fz_arena_dispose(&b);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(spellings), FZ_TEST(parsing), FZ_TEST(equality_and_copies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
