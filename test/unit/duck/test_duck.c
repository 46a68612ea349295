// duck/: rows of every type through source, engine and sink; results, errors, cancel, reopening, kernels.
#include "duck_rows.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define P(i) fz_type_primitive(FZ_TYPE_##i)

static size_t all_fields(struct fz_arena *arena, struct fz_field *f) {
    struct fz_field pair[] = {{.id = 101, .name = "a", .type = P(INT)}, {.id = 102, .name = "b", .type = P(STRING)}};
    const struct fz_type *inner = fz_type_struct(arena, pair, 2);
    struct fz_field deep[] = {{.id = 111, .name = "list", .type = fz_type_list(arena, 112, false, inner)},
                              {.id = 113, .name = "s", .type = inner},
                              {.id = 114, .name = "d", .type = fz_type_decimal(arena, 20, 4)}};
    const struct fz_type *types[] = {P(LONG),
                                     P(BOOLEAN),
                                     P(INT),
                                     P(LONG),
                                     P(FLOAT),
                                     P(DOUBLE),
                                     fz_type_decimal(arena, 4, 2),
                                     fz_type_decimal(arena, 9, 2),
                                     fz_type_decimal(arena, 18, 5),
                                     fz_type_decimal(arena, 38, 10),
                                     P(DATE),
                                     P(TIME),
                                     P(TIMESTAMP),
                                     P(TIMESTAMPTZ),
                                     P(TIMESTAMP_NS),
                                     P(TIMESTAMPTZ_NS),
                                     P(STRING),
                                     P(UUID),
                                     fz_type_fixed(arena, 5),
                                     P(BINARY),
                                     P(UNKNOWN),
                                     P(BYTE),
                                     P(SHORT),
                                     P(INTERVAL_DT),
                                     P(INTERVAL_YM),
                                     inner,
                                     fz_type_list(arena, 120, false, P(INT)),
                                     fz_type_list(arena, 121, false, P(STRING)),
                                     fz_type_map(arena, 122, P(LONG), 123, false, P(STRING)),
                                     fz_type_struct(arena, deep, 3),
                                     fz_type_list(arena, 124, false, fz_type_list(arena, 125, false, P(STRING))),
                                     fz_type_map(arena, 126, P(LONG), 127, false, inner)};
    size_t n = sizeof types / sizeof types[0];
    for (size_t i = 0; i < n; i++) {
        f[i] = (struct fz_field){.id = (int32_t)i + 1, .name = "x", .type = types[i]};
    }
    return n;
}

static void append_columns(struct fz_buf *sql, const struct fz_field *f, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fz_buf_printf(sql, "%sc%d", i ? ", " : "", f[i].id);
    }
}

static void every_type_goes_through(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_field f[64];
    size_t n = all_fields(&arena, f);
    struct rows_source source;
    rows_init(&source, f, n, 25000);
    struct rows_sink sink;
    rows_sink_init(&sink, f);
    struct fz_duck *duck = open_duck(NULL);
    int64_t id = 0, rows = 0;
    FZ_OK_OR_FAIL(fz_duck_register(duck, &source.base, &id, &err), &err);
    struct fz_buf sql = {0};
    fz_buf_puts(&sql, "SELECT ");
    append_columns(&sql, f, n);
    fz_buf_printf(&sql, " FROM fz_scan(%lld)", (long long)id);
    FZ_OK_OR_FAIL(fz_duck_run_into(duck, sql.ptr, f, n, &sink.base, &rows, &err), &err);
    assert_int_equal(rows, 25000);
    assert_int_equal(sink.rows, 25000);
    assert_int_equal(sink.wrong, 0);
    assert_int_equal(sink.row_sum, (int64_t)25000 * 24999 / 2);
    assert_int_equal(source.open_readers, 0);
    // The same through a temporary table, a sort and the pulled result.
    source.next_row = 0;
    fz_buf_clear(&sql);
    fz_buf_printf(&sql, "CREATE TEMP TABLE t AS SELECT * FROM fz_scan(%lld)", (long long)id);
    FZ_OK_OR_FAIL(fz_duck_exec(duck, sql.ptr, &err), &err);
    struct fz_duck_result *result = NULL;
    fz_buf_clear(&sql);
    fz_buf_puts(&sql, "SELECT ");
    append_columns(&sql, f, n);
    fz_buf_puts(&sql, " FROM t ORDER BY c1");
    FZ_OK_OR_FAIL(fz_duck_query(duck, sql.ptr, f, n, &result, &err), &err);
    const struct fz_batch *batch = NULL;
    int64_t expect = 0;
    for (;;) {
        FZ_OK_OR_FAIL(fz_duck_result_next(result, &batch, &err), &err);
        if (!batch) {
            break;
        }
        for (size_t r = 0; r < batch->n_rows; r++) {
            assert_int_equal(((const int64_t *)batch->columns[0].data)[r], expect++);
        }
        assert_int_equal(rows_push(&sink.base, batch, &err), FZ_OK);
    }
    assert_int_equal(expect, 25000);
    assert_int_equal(sink.wrong, 0);
    fz_duck_result_free(result);
    fz_duck_unregister(duck, id);
    assert_int_equal(source.base.refs, 1);
    fz_duck_close(duck);
    fz_buf_dispose(&sql);
    fz_arena_dispose(&arena);
}

// What DuckDB itself makes of the values, so that both directions being wrong in the same way would show.
static void the_engine_reads_the_values_we_mean(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_duck *duck = open_duck(NULL);
    const struct {
        const char *sql;
        const struct fz_type *type;
        const char *text;
    } cases[] = {
        {"SELECT DATE '2024-02-29'", P(DATE), "2024-02-29"},
        {"SELECT TIMESTAMPTZ '2024-02-29 12:00:00.5+02'", P(TIMESTAMPTZ), "2024-02-29 10:00:00.5"},
        {"SELECT (-1.50)::DECIMAL(9,2)", fz_type_decimal(&arena, 9, 2), "-1.50"},
        {"SELECT '-12345678901234567890123456789012345678'::DECIMAL(38,0)", fz_type_decimal(&arena, 38, 0),
         "-12345678901234567890123456789012345678"},
        {"SELECT '00112233-4455-6677-8899-aabbccddeeff'::UUID", P(UUID), "00112233-4455-6677-8899-aabbccddeeff"},
        {"SELECT 'f0112233-4455-6677-8899-aabbccddeeff'::UUID", P(UUID), "f0112233-4455-6677-8899-aabbccddeeff"},
        {"SELECT '\\x00\\xFF'::BLOB", P(BINARY), "00ff"},
        {"SELECT true", P(BOOLEAN), "true"},
        {"SELECT 'twelve bytes or more'", P(STRING), "twelve bytes or more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fz_field field = {.id = 1, .name = "v", .type = cases[i].type};
        struct fz_value value;
        bool found = false;
        FZ_OK_OR_FAIL(fz_duck_query_row(duck, cases[i].sql, &field, 1, &arena, &value, &found, &err), &err);
        assert_true(found);
        struct fz_buf text = {0};
        fz_value_print(&text, &value);
        if (cases[i].type->id == FZ_TYPE_TIMESTAMPTZ) {
            assert_int_equal(value.u.i64, INT64_C(1709200800500000)); // date -d '2024-02-29 10:00:00.5Z'
        } else {
            assert_string_equal(text.ptr, cases[i].text);
        }
        fz_buf_dispose(&text);
    }
    bool found = true;
    struct fz_value value;
    struct fz_field field = {.id = 1, .name = "v", .type = P(INT)};
    FZ_OK_OR_FAIL(fz_duck_query_row(duck, "SELECT 1 WHERE false", &field, 1, &arena, &value, &found, &err), &err);
    assert_false(found);
    fz_duck_close(duck);
    fz_arena_dispose(&arena);
}

struct nested_sink {
    struct fz_sink base;
    _Atomic int64_t fives, rows, null_children, list_sum;
};
static enum fz_code nested_push(struct fz_sink *base, const struct fz_batch *batch, struct fz_err *err) {
    (void)err;
    struct nested_sink *sink = (struct nested_sink *)base;
    const struct fz_column *s = &batch->columns[0], *l = &batch->columns[1];
    for (size_t r = 0; r < batch->n_rows; r++) {
        if (fz_column_is_valid(s, r)) {
            sink->fives += ((const int32_t *)s->children[1].data)[r] == 5 && fz_column_is_valid(&s->children[1], r);
        } else {
            sink->null_children += !fz_column_is_valid(&s->children[0], r) && !fz_column_is_valid(&s->children[1], r);
        }
        struct fz_list_span span = ((const struct fz_list_span *)l->data)[r];
        for (size_t i = 0; i < span.length; i++) {
            sink->list_sum += ((const int32_t *)l->children[0].data)[span.offset + i];
        }
    }
    sink->rows += (int64_t)batch->n_rows;
    return FZ_OK;
}
static void constants_and_dictionaries_below_the_top_are_flattened(void **state) {
    (void)state;
    static const struct fz_sink_vtable vtable = {nested_push};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_duck *duck = open_duck(NULL);
    struct fz_field pair[] = {{.id = 2, .name = "a", .type = P(LONG)}, {.id = 3, .name = "b", .type = P(INT)}};
    struct fz_field f[] = {{.id = 1, .name = "s", .type = fz_type_struct(&arena, pair, 2)},
                           {.id = 4, .name = "l", .type = fz_type_list(&arena, 5, false, P(INT))}};
    struct nested_sink sink = {.base = {&vtable}};
    FZ_OK_OR_FAIL(fz_duck_run_into(duck,
                                   "SELECT CASE WHEN i % 10 = 0 THEN NULL ELSE struct_pack(f1 := i, f2 := 5) END, "
                                   "list_reverse([1, (i % 3)::INTEGER, 7]) FROM range(5000) r(i)",
                                   f, 2, &sink.base, NULL, &err),
                  &err);
    assert_int_equal(sink.rows, 5000);
    assert_int_equal(sink.fives, 4500);
    assert_int_equal(sink.null_children, 500);
    assert_int_equal(sink.list_sum, 5000 * 8 + 4999); // sum of i % 3 over 0..4999 is 1666 * 3 + (0 + 1)
    sink = (struct nested_sink){.base = {&vtable}};
    FZ_OK_OR_FAIL(fz_duck_run_into(duck, "SELECT struct_pack(f1 := i, f2 := 5), [4, 4] FROM range(3000) r(i)", f, 2,
                                   &sink.base, NULL, &err),
                  &err);
    assert_int_equal(sink.fives, 3000);
    assert_int_equal(sink.list_sum, 24000);
    fz_duck_close(duck);
    fz_arena_dispose(&arena);
}

static bool text_of(struct fz_duck *duck, const char *sql, struct fz_buf *out) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_field f[] = {{.id = 1, .name = "k", .type = P(STRING)}, {.id = 2, .name = "v", .type = P(STRING)}};
    struct fz_duck_result *result = NULL;
    const struct fz_batch *batch = NULL;
    FZ_OK_OR_FAIL(fz_duck_query(duck, sql, f, 2, &result, &err), &err);
    while (fz_duck_result_next(result, &batch, &err) == FZ_OK && batch) {
        for (size_t r = 0; r < batch->n_rows; r++) {
            const struct fz_string *s = &((const struct fz_string *)batch->columns[1].data)[r];
            fz_buf_append(out, fz_string_ptr(s), s->length);
        }
    }
    fz_duck_result_free(result);
    return err.code == FZ_OK;
}

static void cardinality_projection_and_lifetime(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_field f[64];
    size_t n = all_fields(&arena, f);
    struct rows_source big;
    rows_init(&big, f, n, 0);
    big.base.estimated_rows = 123456789;
    struct fz_duck *duck = open_duck(NULL);
    int64_t id = 0;
    FZ_OK_OR_FAIL(fz_duck_register(duck, &big.base, &id, &err), &err);
    assert_int_equal(big.base.refs, 2);
    struct fz_buf text = {0};
    char sql[128];
    snprintf(sql, sizeof sql, "EXPLAIN SELECT c1, c3 FROM fz_scan(%lld)", (long long)id);
    assert_true(text_of(duck, sql, &text));
    assert_non_null(strstr(text.ptr, "123,456,789"));
    assert_non_null(strstr(text.ptr, "c3"));
    assert_null(strstr(text.ptr, "c4"));
    // A half-read result lets its source go when it is freed.
    struct rows_source source;
    rows_init(&source, f, n, 1000000);
    int64_t id2 = 0;
    FZ_OK_OR_FAIL(fz_duck_register(duck, &source.base, &id2, &err), &err);
    snprintf(sql, sizeof sql, "SELECT c1 FROM fz_scan(%lld)", (long long)id2);
    struct fz_duck_result *result = NULL;
    const struct fz_batch *batch = NULL;
    FZ_OK_OR_FAIL(fz_duck_query(duck, sql, f, 1, &result, &err), &err);
    FZ_OK_OR_FAIL(fz_duck_result_next(result, &batch, &err), &err);
    assert_non_null(batch);
    assert_true(source.base.refs > 1);
    fz_duck_unregister(duck, id2); // while it is being read
    FZ_OK_OR_FAIL(fz_duck_result_next(result, &batch, &err), &err);
    assert_non_null(batch);
    fz_duck_result_free(result);
    assert_int_equal(source.base.refs, 1);
    assert_int_equal(source.open_readers, 0);
    assert_true(source.next_row < 1000000);
    // Two scans of one source would share its rows.
    snprintf(sql, sizeof sql, "SELECT a.c1 FROM fz_scan(%lld) a JOIN fz_scan(%lld) b ON a.c1 = b.c1", (long long)id,
             (long long)id);
    assert_int_equal(fz_duck_exec(duck, sql, &err), FZ_BUG);
    assert_non_null(strstr(err.message, "read twice"));
    fz_err_reset(&err);
    // An unknown number is our bug.
    snprintf(sql, sizeof sql, "SELECT c1 FROM fz_scan(%lld)", (long long)id2);
    assert_int_equal(fz_duck_query(duck, sql, f, 1, &result, &err), FZ_BUG);
    assert_non_null(strstr(err.message, "no source is registered"));
    fz_duck_close(duck);
    assert_int_equal(big.base.refs, 1);
    fz_buf_dispose(&text);
    fz_arena_dispose(&arena);
}

static void errors_of_callbacks_come_back_whole(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_field f[64];
    all_fields(&arena, f);
    struct rows_source source;
    rows_init(&source, f, 3, 100000);
    source.fail_at = 54321;
    struct rows_sink sink;
    rows_sink_init(&sink, f);
    struct fz_duck *duck = open_duck(NULL);
    int64_t id = 0;
    FZ_OK_OR_FAIL(fz_duck_register(duck, &source.base, &id, &err), &err);
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT c1, c2, c3 FROM fz_scan(%lld)", (long long)id);
    assert_int_equal(fz_duck_run_into(duck, sql, f, 3, &sink.base, NULL, &err), FZ_CORRUPT);
    assert_string_equal(err.condition, "TEST_CONDITION");
    assert_string_equal(err.message, "row 54321 is bad");
    fz_err_reset(&err);
    source.fail_at = -1;
    source.next_row = 0;
    sink.reject = "disk full";
    assert_int_equal(fz_duck_run_into(duck, sql, f, 3, &sink.base, NULL, &err), FZ_IO);
    assert_string_equal(err.message, "disk full");
    fz_err_reset(&err);
    // Through a pulled result too, after rows.
    source.next_row = 0;
    source.fail_at = 70000;
    struct fz_duck_result *result = NULL;
    const struct fz_batch *batch = NULL;
    enum fz_code rc = fz_duck_query(duck, sql, f, 3, &result, &err);
    while (rc == FZ_OK && (rc = fz_duck_result_next(result, &batch, &err)) == FZ_OK && batch) {
    }
    assert_int_equal(rc, FZ_CORRUPT);
    fz_duck_result_free(result);
    // Types and columns are checked.
    fz_err_reset(&err);
    sink.reject = NULL;
    assert_int_equal(fz_duck_run_into(duck, "SELECT 1, true, 'x'", f, 3, &sink.base, NULL, &err), FZ_BUG);
    assert_non_null(strstr(err.message, "wanted type"));
    fz_err_reset(&err);
    assert_int_equal(fz_duck_query(duck, "SELECT 1", f, 3, &result, &err), FZ_BUG);
    assert_false(fz_duck_is_broken(duck));
    fz_duck_close(duck);
    assert_int_equal(source.base.refs, 1);
    fz_arena_dispose(&arena);
}

static void error_texts_become_conditions(void **state) {
    (void)state;
    struct fz_duck *duck = open_duck(NULL);
    const struct {
        const char *sql;
        enum fz_code code;
        const char *condition, *text;
    } cases[] = {
        {"SELECT error('DIVIDE_BY_ZERO')", FZ_CONSTRAINT, "DIVIDE_BY_ZERO", "try_divide"},
        {"SELECT error('MERGE_CARDINALITY_VIOLATION: two rows for key')", FZ_CARDINALITY, "MERGE_CARDINALITY_VIOLATION",
         "two rows for key"},
        {"SELECT error('NOT_NULL_ASSERT_VIOLATION: column \"a\"\nof t')", FZ_CONSTRAINT, "NOT_NULL_ASSERT_VIOLATION",
         "column \"a\"\nof t"},
        {"SELECT error('INVALID_FORMAT.ESC_AT_THE_END: x')", FZ_CONSTRAINT, "INVALID_FORMAT.ESC_AT_THE_END", "x"},
        {"SELECT error('just words')", FZ_INVALID_ARG, "", "just words"},
        {"SELECT i + 2147483647::INTEGER FROM (SELECT 1::INTEGER i)", FZ_CONSTRAINT, "ARITHMETIC_OVERFLOW", NULL},
        {"SELECT i * i FROM (SELECT 4000000000::BIGINT i)", FZ_CONSTRAINT, "ARITHMETIC_OVERFLOW", NULL},
        {"SELECT i + i FROM (SELECT 100::TINYINT i)", FZ_CONSTRAINT, "BINARY_ARITHMETIC_OVERFLOW", NULL},
        {"SELECT -i FROM (SELECT (-2147483648)::INTEGER i)", FZ_CONSTRAINT, "ARITHMETIC_OVERFLOW", NULL},
        {"SELECT abs(i) FROM (SELECT (-2147483648)::INTEGER i)", FZ_CONSTRAINT, "ARITHMETIC_OVERFLOW", NULL},
        {"SELECT i::INTEGER FROM (SELECT 3000000000::BIGINT i)", FZ_CONSTRAINT, "CAST_OVERFLOW", NULL},
        {"SELECT i::TINYINT FROM (SELECT 300::DECIMAL(5,1) i)", FZ_CONSTRAINT, "CAST_OVERFLOW", NULL},
        {"SELECT i::INTEGER FROM (SELECT 1e20::DOUBLE i)", FZ_CONSTRAINT, "CAST_OVERFLOW", NULL},
        {"SELECT s::INTEGER FROM (SELECT 'x' s)", FZ_CONSTRAINT, "CAST_INVALID_INPUT", NULL},
        {"SELECT s::DATE FROM (SELECT 'x' s)", FZ_CONSTRAINT, "CAST_INVALID_INPUT", NULL},
        {"SELECT s::DOUBLE FROM (SELECT 'x' s)", FZ_CONSTRAINT, "CAST_INVALID_INPUT", NULL},
        {"SELECT i::DECIMAL(4,2) FROM (SELECT 1000::INTEGER i)", FZ_CONSTRAINT, "NUMERIC_VALUE_OUT_OF_RANGE", NULL},
        {"SELECT i::DECIMAL(4,2) FROM (SELECT 1000.5::DECIMAL(10,1) i)", FZ_CONSTRAINT, "NUMERIC_VALUE_OUT_OF_RANGE",
         NULL},
        {"SELECT (SELECT i FROM range(3) r(i))", FZ_CONSTRAINT, "SCALAR_SUBQUERY_TOO_MANY_ROWS", NULL},
        {"SELECT make_date(2024, 13, 1)", FZ_CONSTRAINT, "DATETIME_FIELD_OUT_OF_BOUNDS", NULL},
        {"SELECT 'ab' LIKE s ESCAPE '\\' FROM (SELECT 'a\\' s)", FZ_CONSTRAINT, "INVALID_FORMAT.ESC_AT_THE_END", NULL},
        {"SELECT strptime('x', '%Y')", FZ_CONSTRAINT, "CANNOT_PARSE_TIMESTAMP", NULL},
        {"SELECT * FROM read_parquet('/no/such/*.parquet')", FZ_NOT_FOUND, "PATH_NOT_FOUND", NULL},
        {"SELEC 1", FZ_BUG, "", "SELEC"},
        {"SELECT nope", FZ_BUG, "", "nope"},
        {"SELECT * FROM nope", FZ_BUG, "", "nope"},
        {"SET TimeZone='Nowhere/Land'", FZ_UNSUPPORTED, "", NULL},
    };
    bool ok = true;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fz_err err = FZ_ERR_INIT;
        enum fz_code rc = fz_duck_exec(duck, cases[i].sql, &err);
        if (rc != cases[i].code || strcmp(err.condition, cases[i].condition) != 0 ||
            (cases[i].text && !strstr(err.message, cases[i].text))) {
            print_error("%s: %s [%s] %s\n", cases[i].sql, fz_code_name(rc), err.condition, err.message);
            ok = false;
        }
        assert_null(strstr(err.message, "LINE 1"));
    }
    assert_true(ok);
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_duck_exec(duck, "SELECT 1; CREATE TEMP TABLE a AS SELECT 1 x; DROP TABLE a", &err), &err);
    fz_duck_close(duck);
}

static void cancel_before_and_inside(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_cancel cancel;
    fz_cancel_init(&cancel);
    struct fz_duck *duck = open_duck(&cancel);
    struct fz_field f[64];
    all_fields(&arena, f);
    struct rows_source source;
    rows_init(&source, f, 2, 100000000);
    source.fire_at_first = &cancel;
    int64_t id = 0;
    FZ_OK_OR_FAIL(fz_duck_register(duck, &source.base, &id, &err), &err);
    struct rows_sink sink;
    rows_sink_init(&sink, f);
    char sql[128];
    snprintf(sql, sizeof sql, "SELECT c1, c2 FROM fz_scan(%lld)", (long long)id);
    assert_int_equal(fz_duck_run_into(duck, sql, f, 2, &sink.base, NULL, &err), FZ_CANCELLED);
    assert_true(source.next_row < 1000000);
    fz_err_reset(&err);
    assert_int_equal(fz_duck_exec(duck, "SELECT 1", &err), FZ_CANCELLED); // before
    fz_err_reset(&err);
    assert_int_equal(fz_duck_set_time_zone(duck, "UTC", &err), FZ_CANCELLED); // not: no such zone
    fz_err_reset(&err);
    fz_cancel_reset(&cancel);
    FZ_OK_OR_FAIL(fz_duck_exec(duck, "SELECT 1", &err), &err);
    fz_duck_close(duck);
    assert_int_equal(cancel.n_hooks, 0);
    fz_cancel_dispose(&cancel);
    fz_arena_dispose(&arena);
}

// The zone of a session is still there after the database was opened again.
static void zones_survive_reopening(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_duck *duck = open_duck(NULL);
    FZ_OK_OR_FAIL(fz_duck_set_time_zone(duck, "+03:00", &err), &err);
    assert_int_equal(fz_duck_set_time_zone(duck, "Mars/X", &err), FZ_INVALID_ARG);
    fz_err_reset(&err);
    for (int i = 0; i < 2; i++) {
        FZ_OK_OR_FAIL(fz_duck_exec(duck,
                                   "SELECT CASE WHEN extract('hour' FROM TIMESTAMPTZ '2024-01-01 00:00:00+00') <> 3 "
                                   "THEN error('another zone') END",
                                   &err),
                      &err);
        FZ_OK_OR_FAIL(fz_duck_reopen(duck, &err), &err);
    }
    fz_duck_close(duck);
}

// A string that is not UTF-8 ends the database (duckdb-facts.md rule 1).
static enum fz_code bad_next(struct fz_source *base, void *ptr, struct fz_batch *batch, struct fz_err *err) {
    (void)ptr;
    (void)err;
    struct rows_source *source = (struct rows_source *)base;
    batch->n_rows = atomic_fetch_add(&source->next_row, 1) == 0;
    if (batch->n_rows && batch->n_columns) {
        ((struct fz_string *)batch->columns[0].data)[0] = fz_string_of("\xff\xfe\xc0 is not text at all", 24);
    }
    return FZ_OK;
}
static void a_poisoned_database_is_opened_again(void **state) {
    (void)state;
    static const struct fz_source_vtable vtable = {rows_free, rows_open, bad_next, rows_close};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_duck *duck = open_duck(NULL);
    struct fz_field f[2] = {{.id = 1, .name = "s", .type = P(STRING)}};
    struct rows_source source;
    rows_init(&source, f, 1, 1);
    source.base.vtable = &vtable;
    int64_t id = 0;
    FZ_OK_OR_FAIL(fz_duck_register(duck, &source.base, &id, &err), &err);
    FZ_OK_OR_FAIL(fz_duck_exec(duck, "CREATE TEMP TABLE kept AS SELECT 1 x", &err), &err);
    char sql[128];
    snprintf(sql, sizeof sql, "CREATE TEMP TABLE u AS SELECT upper(c1) s FROM fz_scan(%lld)", (long long)id);
    assert_int_equal(fz_duck_exec(duck, sql, &err), FZ_ENGINE);
    assert_true(fz_duck_is_broken(duck));
    fz_err_reset(&err);
    assert_int_equal(fz_duck_exec(duck, "SELECT 1", &err), FZ_ENGINE);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(fz_duck_reopen(duck, &err), &err);
    assert_false(fz_duck_is_broken(duck));
    FZ_OK_OR_FAIL(fz_duck_exec(duck, "SELECT 1", &err), &err);
    snprintf(sql, sizeof sql, "SELECT count(*) FROM fz_scan(%lld)", (long long)id); // the source is still there
    FZ_OK_OR_FAIL(fz_duck_exec(duck, sql, &err), &err);
    fz_duck_close(duck);
    assert_int_equal(source.base.refs, 1);
    fz_arena_dispose(&arena);
}

static void describe_and_type_names(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_duck *duck = open_duck(NULL);
    struct fz_field *fields = NULL;
    size_t n = 0;
    FZ_OK_OR_FAIL(
        fz_duck_describe(duck,
                         "SELECT 1::UTINYINT a, 1::USMALLINT, 1::UINTEGER, 1::UBIGINT, 1::HUGEINT, 'x'::ENUM('x'), "
                         "TIMESTAMP_NS '2024-01-01' t, [1, 2], {'Name': 1, 'b': ['x']}, MAP {1: 2.5}, NULL, "
                         "1.5::DECIMAL(10,3), [1, 2]::INTEGER[2]",
                         &arena, &fields, &n, &err),
        &err);
    assert_int_equal(n, 13);
    assert_string_equal(fields[0].name, "a");
    const char *want[] = {"smallint",
                          "int",
                          "bigint",
                          "decimal(20,0)",
                          "decimal(38,0)",
                          "string",
                          "timestamp_ntz",
                          "array<int>",
                          "struct<Name:int,b:array<string>>",
                          "map<int,decimal(2,1)>",
                          NULL,
                          "decimal(10,3)",
                          "array<int>"};
    for (size_t i = 0; i < n; i++) {
        struct fz_buf text = {0};
        fz_type_print_sql(&text, fields[i].type);
        if (want[i]) {
            assert_string_equal(text.ptr, want[i]);
        }
        fz_buf_dispose(&text);
    }
    struct fz_field all[64];
    size_t count = all_fields(&arena, all);
    for (size_t i = 0; i < count; i++) { // the printed type is one DuckDB knows
        struct fz_buf sql = {0};
        fz_buf_puts(&sql, "SELECT NULL::");
        fz_duck_type_print(&sql, all[i].type);
        FZ_OK_OR_FAIL(fz_duck_exec(duck, sql.ptr, &err), &err);
        fz_buf_dispose(&sql);
    }
    fz_duck_close(duck);
    fz_arena_dispose(&arena);
}

static void files_are_read_only_where_allowed(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_duck *duck = open_duck(NULL);
    char dir[] = "/tmp/fz-duck-test-XXXXXX", sql[256], path[128];
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/a.parquet", dir);
    snprintf(sql, sizeof sql, "COPY (SELECT 7 x) TO '%s'", path);
    FZ_OK_OR_FAIL(fz_duck_exec(duck, sql, &err), &err);
    fz_duck_close(duck);
    const char *folders[] = {dir, NULL}, *none[] = {NULL};
    for (int pass = 0; pass < 2; pass++) {
        struct fz_duck_options options = {.threads = 1, .read_folders = pass ? none : folders};
        FZ_OK_OR_FAIL(fz_duck_open(&options, &duck, &err), &err);
        snprintf(sql, sizeof sql, "SELECT x FROM read_parquet('%s')", path);
        assert_int_equal(fz_duck_exec(duck, sql, &err), pass ? FZ_IO : FZ_OK);
        fz_err_reset(&err);
        fz_duck_close(duck);
    }
    unlink(path);
    rmdir(dir);
}

static enum fz_code run_double(const struct fz_column *args, size_t n_args, size_t n, struct fz_column *out,
                               struct fz_arena *strings, struct fz_err *err) {
    (void)n_args;
    (void)strings;
    (void)err;
    for (size_t i = 0; i < n; i++) {
        ((int64_t *)out->data)[i] = ((const int64_t *)args[0].data)[i] * 2;
        if (((const int64_t *)args[0].data)[i] == 7) {
            fz_column_set_null(out, i);
        }
    }
    return FZ_OK;
}
static enum fz_code run_wrap(const struct fz_column *args, size_t n_args, size_t n, struct fz_column *out,
                             struct fz_arena *strings, struct fz_err *err) {
    (void)err;
    for (size_t i = 0; i < n; i++) {
        struct fz_buf text = {0};
        for (size_t a = 0; a < n_args; a++) {
            struct fz_value v = fz_value_at(&args[a], i, strings);
            fz_buf_putc(&text, '<');
            if (!v.is_null) {
                fz_value_print(&text, &v);
            }
            fz_buf_putc(&text, '>');
        }
        const char *copy = fz_arena_strndup(strings, text.ptr, text.len);
        ((struct fz_string *)out->data)[i] = fz_string_of(copy, text.len);
        fz_buf_dispose(&text);
    }
    return FZ_OK;
}
static enum fz_code run_split(const struct fz_column *args, size_t n_args, size_t n, struct fz_column *out,
                              struct fz_arena *strings, struct fz_err *err) {
    (void)n_args;
    for (size_t i = 0; i < n; i++) { // one list element per byte
        struct fz_value v = fz_value_at(&args[0], i, strings), list = {.type = out->type};
        struct fz_value *items = fz_arena_array(strings, v.u.bytes.len + 1, sizeof *items);
        for (size_t c = 0; c < v.u.bytes.len; c++) {
            items[c] = (struct fz_value){.type = out->type->fields[0].type, .u.bytes = {v.u.bytes.ptr + c, 1}};
        }
        list.u.nested.items = items;
        list.u.nested.n = v.u.bytes.len;
        enum fz_code rc = fz_value_store(out, i, &list, err);
        if (rc != FZ_OK) {
            return rc;
        }
    }
    return FZ_OK;
}
static void expect_true(struct fz_duck *duck, const char *sql) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_field f = {.id = 1, .name = "ok", .type = P(BOOLEAN)};
    struct fz_value v;
    bool found = false;
    FZ_OK_OR_FAIL(fz_duck_query_row(duck, sql, &f, 1, &arena, &v, &found, &err), &err);
    if (!found || v.is_null || !v.u.boolean) {
        print_error("not true: %s\n", sql);
        fail();
    }
    fz_arena_dispose(&arena);
}
static void kernels_run_and_survive_reopening(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_duck *duck = open_duck(NULL);
    struct fz_scalar_kernel kernels[] = {
        {"fz_double", 1, {P(LONG)}, P(LONG), true, run_double},
        {"fz_wrap", SIZE_MAX, {NULL}, P(STRING), false, run_wrap},
        {"fz_chars", 1, {P(STRING)}, fz_type_list(&arena, 0, false, P(STRING)), true, run_split},
    };
    FZ_OK_OR_FAIL(fz_duck_register_kernels(duck, kernels, 3, &err), &err);
    FZ_OK_OR_FAIL(fz_duck_register_kernels(duck, kernels, 3, &err), &err);
    fz_arena_dispose(&arena); // types were copied
    for (int pass = 0; pass < 2; pass++) {
        expect_true(duck, "SELECT fz_double(21) = 42 AND fz_double(7) IS NULL AND fz_double(NULL) IS NULL");
        expect_true(duck,
                    "SELECT count(*) FILTER (WHERE d IS DISTINCT FROM CASE WHEN i % 3 = 0 OR i = 7 THEN NULL ELSE 2 * "
                    "i END) = 0 "
                    "FROM (SELECT i, fz_double(CASE WHEN i % 3 = 0 THEN NULL ELSE i END) d FROM range(5000) r(i))");
        expect_true(duck,
                    "SELECT fz_wrap(1, 'a', NULL, 2.50, DATE '2024-01-02', [1]) LIKE '<1><a><><2.50><2024-01-02>%'");
        expect_true(duck, "SELECT count(*) = 5000 FROM range(5000) r(i) WHERE fz_wrap('some longer text', i) = '<some "
                          "longer text><' || i || '>'");
        expect_true(duck, "SELECT fz_chars('abc') = ['a', 'b', 'c'] AND fz_chars(NULL) IS NULL AND fz_chars('') = []");
        expect_true(duck,
                    "SELECT count(*) = 0 FROM (SELECT CASE WHEN i % 2 = 0 THEN i::VARCHAR END s FROM range(5000) r(i)) "
                    "WHERE array_to_string(fz_chars(s), '') IS DISTINCT FROM s");
        FZ_OK_OR_FAIL(fz_duck_reopen(duck, &err), &err);
    }
    fz_duck_close(duck);
}

static void make_spill(const char *base, const char *name, bool old, char *folder, size_t size) {
    char file[256];
    snprintf(folder, size, "%s/frazil-%ld/%s", base, (long)geteuid(), name);
    assert_int_equal(mkdir(folder, 0700), 0);
    snprintf(file, sizeof file, "%s/spilled", folder);
    FILE *f = fopen(file, "w");
    assert_non_null(f);
    fclose(f);
    struct timespec long_ago[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(old ? utimensat(AT_FDCWD, folder, long_ago, 0) : 0, 0);
}

// What a killed process left behind goes away, what a living one holds does not.
static void leftovers_are_swept(void **state) {
    (void)state;
    char base[] = "/tmp/fz-test-sweep-XXXXXX", home[128], dead[160], held[160], young[160];
    const char *before = getenv("TMPDIR");
    char *saved = before != NULL ? strdup(before) : NULL;
    assert_non_null(mkdtemp(base));
    snprintf(home, sizeof home, "%s/frazil-%ld", base, (long)geteuid());
    assert_int_equal(mkdir(home, 0700), 0);
    make_spill(base, "dead", true, dead, sizeof dead);
    make_spill(base, "held", true, held, sizeof held);
    make_spill(base, "young", false, young, sizeof young);
    int fd = open(held, O_RDONLY | O_DIRECTORY);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    setenv("TMPDIR", base, 1);
    struct fz_duck *duck = NULL;
    struct fz_duck_options options = {.threads = 1};
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_duck_open(&options, &duck, &err), &err);
    assert_int_equal(access(dead, F_OK), -1);
    assert_int_equal(access(held, F_OK), 0);
    assert_int_equal(access(young, F_OK), 0);
    const char *own = fz_duck_temp_directory(duck);
    assert_int_equal(strncmp(own, home, strlen(home)), 0);
    assert_int_equal(flock(open(own, O_RDONLY | O_DIRECTORY), LOCK_EX | LOCK_NB), -1); // held
    fz_duck_close(duck);
    close(fd);
    char command[256]; // a folder that others may write to is not used
    assert_int_equal(chmod(home, 0777), 0);
    FZ_OK_OR_FAIL(fz_duck_open(&options, &duck, &err), &err);
    assert_int_not_equal(strncmp(fz_duck_temp_directory(duck), home, strlen(home) + 1), 0);
    fz_duck_close(duck);
    snprintf(command, sizeof command, "rm -r %s", base);
    assert_int_equal(system(command), 0);
    if (saved != NULL) {
        setenv("TMPDIR", saved, 1);
    } else {
        unsetenv("TMPDIR");
    }
    free(saved);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(every_type_goes_through),
        FZ_TEST(the_engine_reads_the_values_we_mean),
        FZ_TEST(constants_and_dictionaries_below_the_top_are_flattened),
        FZ_TEST(cardinality_projection_and_lifetime),
        FZ_TEST(errors_of_callbacks_come_back_whole),
        FZ_TEST(error_texts_become_conditions),
        FZ_TEST(cancel_before_and_inside),
        FZ_TEST(zones_survive_reopening),
        FZ_TEST(a_poisoned_database_is_opened_again),
        FZ_TEST(describe_and_type_names),
        FZ_TEST(files_are_read_only_where_allowed),
        FZ_TEST(leftovers_are_swept),
        FZ_TEST(kernels_run_and_survive_reopening),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
