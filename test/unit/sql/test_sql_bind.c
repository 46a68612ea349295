// The binder: names, errors by condition, output names and types, what scans are asked for, row-level changes. Expected conditions and
// names come from the recorded Spark corpus (test/conformance) and spark-on-duckdb section 10.
#include "leak_check.h"

#include "sql/sql_run.h"

static const struct fake_view views[] = {
    {"s", "SELECT 1 AS id, 2 AS n"},
    {"o", "SELECT * FROM VALUES (1, 10, 5.00BD), (2, 10, 7.50BD), (3, 20, 1.25BD) AS o(oid, cid, amt)"},
    {"c", "SELECT * FROM VALUES (10, 'ann'), (20, 'bob') AS c(cid, name)"},
};
static const struct fake_table tables[] = {
    {"ice.db.t", "id INT, n INT, v STRING, d DECIMAL(5,2), ts TIMESTAMP, b BOOLEAN, l BIGINT, st STRUCT<a: INT, b: "
                 "STRUCT<x: STRING>>, m MAP<STRING, INT>, arr ARRAY<STRUCT<k: STRING>>"},
    {"ice.db.nn", "id INT NOT NULL, v STRING"},
    {"ice.db.va", "id INT, v VARIANT"},
};
static struct fake_session session = {.views = views, .n_views = 3, .tables = tables, .n_tables = 3};

static void expect_query_error(const char *sql, const char *condition) {
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_sql_query *q;
    char *text = NULL;
    fake_env(&session, "UTC");
    if (fake_print(&session, &arena, sql, &q, &text, &err) == FZ_OK || strcmp(err.condition, condition) != 0) {
        print_error("%s\n  wanted %s, got %s [%s] %s\n", sql, condition, fz_code_name(err.code), err.condition,
                    err.message);
        fail();
    }
    fz_free(text);
    fz_arena_dispose(&arena);
}

static void query_errors(void **state) {
    (void)state;
    expect_query_error("SELECT nope FROM o", "UNRESOLVED_COLUMN.WITH_SUGGESTION");
    expect_query_error("SELECT 1 + nope", "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION");
    expect_query_error("SELECT cid FROM o JOIN c", "AMBIGUOUS_REFERENCE");
    expect_query_error("SELECT oid, sum(amt) FROM o", "MISSING_GROUP_BY");
    expect_query_error("SELECT oid, sum(amt) FROM o GROUP BY cid", "MISSING_AGGREGATION");
    expect_query_error("SELECT nope(1)", "UNRESOLVED_ROUTINE");
    expect_query_error("SELECT * FROM nope", "TABLE_OR_VIEW_NOT_FOUND");
    expect_query_error("SELECT x FROM (SELECT 1 AS x, 2 AS x)", "AMBIGUOUS_REFERENCE");
    expect_query_error("SELECT explode(array(1,2)) + 1", "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS");
    expect_query_error("SELECT oid FROM o WHERE row_number() OVER (ORDER BY oid) = 1", "_LEGACY_ERROR_TEMP_1034");
    expect_query_error("SELECT row_number() OVER (PARTITION BY cid) FROM o", "_LEGACY_ERROR_TEMP_1037");
    expect_query_error("SELECT count(DISTINCT oid) OVER () FROM o", "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED");
    expect_query_error("SELECT DISTINCT cid FROM o ORDER BY amt", "UNRESOLVED_COLUMN.WITH_SUGGESTION");
    expect_query_error("SELECT cid FROM o GROUP BY cid HAVING sum(amt) > 3 ORDER BY sum(amt) DESC",
                       "UNRESOLVED_COLUMN.WITH_SUGGESTION");
    expect_query_error("SELECT map('a', 1) = map('a', 1)", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE");
    expect_query_error("SELECT CAST(DATE '2024-01-01' AS INT)", "DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION");
    expect_query_error("SELECT CAST(array(1) AS INT)", "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION");
    expect_query_error("SELECT CASE WHEN NULL THEN 1 ELSE 2 END", "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE");
    expect_query_error("SELECT DATE '2024-01-01' = 1", "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES");
    expect_query_error("SELECT 'a' LIKE 'a\\\\bc'", "INVALID_FORMAT.ESC_IN_THE_MIDDLE");
    expect_query_error("SELECT 1 UNION SELECT 1, 2", "NUM_COLUMNS_MISMATCH");
}

// Conditions as Spark 4.1 gives them.
static void variants_are_not_compared(void **state) {
    (void)state;
    expect_query_error("SELECT id FROM va WHERE v = v", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE");
    expect_query_error("SELECT id FROM va WHERE v <=> v", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE");
    expect_query_error("SELECT id FROM va WHERE v IN (v)", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE");
    expect_query_error("SELECT id FROM va ORDER BY v", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE");
    expect_query_error("SELECT max(v) FROM va", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE");
    expect_query_error("SELECT DISTINCT v FROM va", "UNSUPPORTED_FEATURE.SET_OPERATION_ON_VARIANT_TYPE");
    expect_query_error("SELECT v FROM va UNION SELECT v FROM va", "UNSUPPORTED_FEATURE.SET_OPERATION_ON_VARIANT_TYPE");
    expect_query_error("SELECT count(*) FROM va GROUP BY v", "GROUP_EXPRESSION_TYPE_IS_NOT_ORDERABLE");
    expect_query_error("SELECT hash(v) FROM va", "DATATYPE_MISMATCH.HASH_VARIANT_TYPE");
    expect_query_error("SELECT a.id FROM va a JOIN va b USING (v)", "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE");
    expect_query_error("SELECT array_distinct(array(v)) FROM va", "UNSUPPORTED_FEATURE.VARIANT"); // ours
}

// Column names and types, joined by |.
static void expect_columns(const char *sql, const char *names, const char *types) {
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_sql_query *q;
    char *text = NULL;
    struct fz_buf n = {0}, t = {0};
    fake_env(&session, "UTC");
    FZ_OK_OR_FAIL(fake_print(&session, &arena, sql, &q, &text, &err), &err);
    for (size_t i = 0; i < q->n_columns; i++) {
        fz_buf_printf(&n, "%s%s", i ? "|" : "", q->columns[i].name);
        fz_buf_puts(&t, i ? "|" : "");
        fz_type_print_sql(&t, q->columns[i].type);
    }
    assert_string_equal(n.ptr, names);
    assert_string_equal(t.ptr, types);
    fz_buf_dispose(&n);
    fz_buf_dispose(&t);
    fz_free(text);
    fz_arena_dispose(&arena);
}

static void names_and_types(void **state) {
    (void)state;
    expect_columns("SELECT 1 + 2, -oid, oid = 1, oid <=> 1, oid IS NULL, oid IN (1, 2), oid BETWEEN 1 AND 2 FROM o",
                   "(1 + 2)|(- oid)|(oid = 1)|(oid <=> 1)|(oid IS NULL)|(oid IN (1, 2))|between(oid, 1, 2)",
                   "int|int|boolean|boolean|boolean|boolean|boolean");
    expect_columns("SELECT count(*), count(DISTINCT oid), sum(oid) FILTER (WHERE oid > 0) FROM o",
                   "count(1)|count(DISTINCT oid)|sum(oid) FILTER (WHERE (oid > 0))", "bigint|bigint|bigint");
    expect_columns("SELECT CASE WHEN oid = 1 THEN 2 ELSE 3 END, if(oid = 1, 2, 3), 'a' || 'b', CAST(oid AS STRING), "
                   "OID, o.oid FROM o",
                   "CASE WHEN (oid = 1) THEN 2 ELSE 3 END|(IF((oid = 1), 2, 3))|concat(a, b)|oid|OID|oid",
                   "int|int|string|string|int|int");
    expect_columns("SELECT transform(array(1), x -> x + 1), DATE '2024-01-01', (SELECT 1), named_struct('a', 1).a",
                   "transform(array(1), lambdafunction((namedlambdavariable() + 1), namedlambdavariable()))|DATE "
                   "'2024-01-01'|scalarsubquery()|a",
                   "array<int>|date|int|int");
    expect_columns("SELECT row_number() OVER (PARTITION BY cid ORDER BY oid DESC) FROM o",
                   "row_number() OVER (PARTITION BY cid ORDER BY oid DESC NULLS LAST ROWS BETWEEN UNBOUNDED PRECEDING "
                   "AND CURRENT ROW)",
                   "int");
    expect_columns("SELECT * FROM o JOIN c USING (cid)", "cid|oid|amt|name", "int|int|decimal(3,2)|string");
    expect_columns("SELECT 1.0BD / 3, 1.10BD * 2.20BD, 1 / 2, 7 DIV 2, 1 + '2', CAST(1 AS DECIMAL(38,10)) + 1",
                   "(1.0 / 3)|(1.10 * 2.20)|(1 / 2)|(7 div 2)|(1 + 2)|(CAST(1 AS DECIMAL(38,10)) + 1)",
                   "decimal(7,6)|decimal(7,4)|double|bigint|bigint|decimal(38,9)");
    expect_columns("SELECT coalesce(1, 'x'), coalesce(1, 2.5BD), coalesce(1, 1.5F), array(1, 2.5D)",
                   "coalesce(1, x)|coalesce(1, 2.5)|coalesce(1, 1.5)|array(1, 2.5)",
                   "bigint|decimal(11,1)|double|array<double>");
}

// Scans: which columns, and the filter as text.
static void expect_scan(const char *sql, const char *columns, const char *filter) {
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_sql_query *q;
    char *text = NULL;
    struct fz_buf n = {0}, f = {0};
    fake_env(&session, "UTC");
    FZ_OK_OR_FAIL(fake_print(&session, &arena, sql, &q, &text, &err), &err);
    assert_true(q->n_scans >= 1);
    for (size_t i = 0; i < q->scans[0]->n_columns; i++) {
        fz_buf_printf(&n, "%s%s", i ? "," : "", q->scans[0]->columns[i].name);
    }
    if (q->scans[0]->filter != NULL) {
        fz_expr_print(&f, q->scans[0]->filter);
    }
    assert_string_equal(n.ptr, columns);
    assert_string_equal(f.ptr ? f.ptr : "", filter);
    fz_buf_dispose(&n);
    fz_buf_dispose(&f);
    fz_free(text);
    fz_arena_dispose(&arena);
}

static void scans(void **state) {
    (void)state;
    expect_scan("SELECT count(*) FROM t", "id", "");
    expect_scan("SELECT v FROM t WHERE id = 5L", "id,v", "(id = 5)");
    expect_scan("SELECT v FROM t WHERE l = 5 AND 7 > n", "n,v,l", "((l = 5) AND (n < 7))");
    expect_scan("SELECT v FROM t WHERE v LIKE 'ab%c'", "v", "startswith(v, 'ab')");
    expect_scan("SELECT v FROM t WHERE ts >= '2024-01-01' AND d BETWEEN 1 AND 2.5", "v,d,ts",
                "(((ts >= TIMESTAMP '2024-01-01 00:00:00') AND (d >= 1.00)) AND (d <= 2.50))");
    // through a derived table, not into the side that an outer join fills
    expect_scan("SELECT v FROM (SELECT v, id AS k FROM t) WHERE k = 1", "id,v", "(id = 1)");
    expect_scan("SELECT t.v FROM s LEFT JOIN t ON s.id = t.id WHERE t.n IS NULL", "id,n,v", "");
    expect_scan("SELECT t.v FROM s LEFT JOIN t ON s.id = t.id AND t.n = 3", "id,n,v", "(n = 3)");
    expect_scan("SELECT max(id) FROM t GROUP BY n HAVING n > 1", "id,n", "");
    expect_scan("SELECT _file FROM t", "_file", "");
}

// ---- changes ----
static enum fz_code bind_change(struct fz_arena *arena, const char *sql, struct fz_bound_change **out,
                                struct fz_err *err) {
    struct fz_ast_stmt *stmt;
    fake_env(&session, "UTC");
    enum fz_code rc = fz_sql_parse(arena, fz_str_of(sql), &stmt, err);
    return rc == FZ_OK ? fz_sql_bind_change(arena, &session.env, stmt, out, err) : rc;
}

static void expect_change_error(const char *sql, const char *condition) {
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_bound_change *c;
    if (bind_change(&arena, sql, &c, &err) == FZ_OK || strcmp(err.condition, condition) != 0) {
        print_error("%s\n  wanted %s, got %s [%s] %s\n", sql, condition, fz_code_name(err.code), err.condition,
                    err.message);
        fail();
    }
    fz_arena_dispose(&arena);
}

#define M "MERGE INTO t USING s ON t.id = s.id "
static void change_errors(void **state) {
    (void)state;
    expect_change_error("MERGE INTO t USING s ON t.id = s.id AND rand() > 0.5 WHEN MATCHED THEN DELETE",
                        "UNSUPPORTED_MERGE_CONDITION.NON_DETERMINISTIC");
    expect_change_error(M "WHEN MATCHED AND max(t.n) > 1 THEN DELETE", "UNSUPPORTED_MERGE_CONDITION.AGGREGATE");
    expect_change_error(M "WHEN MATCHED AND t.n IN (SELECT n FROM s) THEN DELETE",
                        "UNSUPPORTED_MERGE_CONDITION.SUBQUERY");
    expect_change_error(M "WHEN MATCHED AND row_number() OVER (ORDER BY t.id) = 1 THEN DELETE",
                        "UNSUPPORTED_EXPR_FOR_OPERATOR");
    expect_change_error("MERGE INTO t USING s ON t.id WHEN MATCHED THEN DELETE", "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE");
    expect_change_error("MERGE INTO t USING s ON NULL WHEN MATCHED THEN DELETE", "JOIN_CONDITION_IS_NOT_BOOLEAN_TYPE");
    expect_change_error("MERGE INTO t USING s ON id = 1 WHEN MATCHED THEN DELETE", "AMBIGUOUS_REFERENCE");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET *", "UNRESOLVED_COLUMN.WITH_SUGGESTION");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET nope = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET s.id = 1", "UNRESOLVED_COLUMN.WITH_SUGGESTION");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET n = 1, N = 2",
                        "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET st.a = 1, st = NULL",
                        "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET arr.k = 'x'",
                        "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET m.value = 1",
                        "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET st.nope = 1", "FIELD_NOT_FOUND");
    expect_change_error(M "WHEN NOT MATCHED THEN INSERT (id, st.a) VALUES (9, 1)",
                        "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS");
    expect_change_error(M "WHEN NOT MATCHED THEN INSERT (id) VALUES (t.id)", "UNRESOLVED_COLUMN.WITH_SUGGESTION");
    expect_change_error(M "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET n = s.id", "UNRESOLVED_COLUMN.WITH_SUGGESTION");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET n = '5'", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET b = 1", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET st = named_struct('a', 5)",
                        "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_FIND_DATA");
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET st = named_struct('a', 5, 'b', NULL, 'z', 1)",
                        "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_STRUCT_FIELDS");
    expect_change_error("MERGE INTO nn USING s ON nn.id = s.id WHEN NOT MATCHED THEN INSERT (v) VALUES ('x')",
                        "DATATYPE_MISMATCH.INVALID_ROW_LEVEL_OPERATION_ASSIGNMENTS");
    expect_change_error("MERGE INTO s USING t ON true WHEN MATCHED THEN DELETE", "UNSUPPORTED_FEATURE.TABLE_OPERATION");
    session.policy = "STRICT";
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET n = 5L", "INCOMPATIBLE_DATA_FOR_TABLE.CANNOT_SAFELY_CAST");
    session.policy = "LEGACY";
    expect_change_error(M "WHEN MATCHED THEN UPDATE SET n = 5", "_LEGACY_ERROR_TEMP_1000");
    session.policy = NULL;
}

static void merge_shape(void **state) {
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_bound_change *c;
    (void)state;
    FZ_OK_OR_FAIL(bind_change(&arena,
                              "MERGE INTO t USING (SELECT id, n AS x, 'unused' AS u FROM s) q ON t.id = q.id WHEN "
                              "MATCHED AND q.x > 1 THEN UPDATE SET st.a = q.x, n = DEFAULT "
                              "WHEN NOT MATCHED THEN INSERT (id) VALUES (q.id)",
                              &c, &err),
                  &err);
    assert_int_equal(c->n_clauses, 2);
    assert_true(c->check_cardinality);
    assert_true(c->clauses[0].values[0].is_unchanged);
    assert_false(c->clauses[0].values[1].is_unchanged);
    assert_true(c->clauses[0].values[1].value->u.literal->is_null);
    assert_int_equal(c->clauses[0].values[7].value->kind, FZ_EXPR_CALL); // the struct is built
    assert_int_equal(c->clauses[1].values[0].value->kind, FZ_EXPR_COLUMN);
    assert_int_equal(c->clauses[1].values[0].value->u.column.relation, 1);
    assert_int_equal(c->source->n_columns, 3);
    struct fz_buf sql = {0};
    FZ_OK_OR_FAIL(fz_sql_print_query(&sql, c->source, &err), &err);
    assert_null(strstr(sql.ptr, "FROM (SELECT 'unused'"));
    assert_non_null(strstr(sql.ptr, "NULL::VARCHAR AS c3")); // nothing reads it
    fz_buf_dispose(&sql);
    fz_arena_dispose(&arena);
    FZ_OK_OR_FAIL(
        bind_change(&arena, M "WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT (id) VALUES (s.id)", &c, &err),
        &err);
    assert_false(c->check_cardinality); // a single unconditional DELETE
    fz_arena_dispose(&arena);
    FZ_OK_OR_FAIL(bind_change(&arena, "UPDATE t SET n = n + 1 WHERE id IN (SELECT id FROM t WHERE n = 4)", &c, &err),
                  &err);
    assert_int_equal(c->n_scans, 1);
    assert_null(c->source);
    assert_int_equal(c->n_clauses, 1);
    fz_arena_dispose(&arena);
}

static void deep_nesting(void **state) {
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf sql = {0};
    struct fz_sql_query *q;
    char *text = NULL;
    (void)state;
    fake_env(&session, "UTC");
    fz_buf_puts(&sql, "WITH a0 AS (SELECT 1 AS x)"); // doubles at each step: refused, not run
    for (int i = 1; i < 40; i++) {
        fz_buf_printf(&sql, ", a%d AS (SELECT l.x FROM a%d l JOIN a%d r ON l.x = r.x)", i, i - 1, i - 1);
    }
    fz_buf_puts(&sql, " SELECT * FROM a39");
    assert_int_equal(fake_print(&session, &arena, sql.ptr, &q, &text, &err), FZ_LIMIT);
    fz_arena_dispose(&arena);
    fz_err_reset(&err);
    fz_buf_clear(&sql);
    fz_buf_puts(&sql, "SELECT "); // casts that each mention their argument twice stay linear
    for (int i = 0; i < 40; i++) {
        fz_buf_puts(&sql, "CAST(CAST(");
    }
    fz_buf_puts(&sql, "id");
    for (int i = 0; i < 40; i++) {
        fz_buf_puts(&sql, " AS STRING) AS INT)");
    }
    fz_buf_puts(&sql, " FROM s");
    FZ_OK_OR_FAIL(fake_print(&session, &arena, sql.ptr, &q, &text, &err), &err);
    assert_true(strlen(text) < 100000);
    fz_free(text);
    fz_buf_dispose(&sql);
    fz_arena_dispose(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(query_errors),    FZ_TEST(variants_are_not_compared),
                                       FZ_TEST(names_and_types), FZ_TEST(scans),
                                       FZ_TEST(change_errors),   FZ_TEST(merge_shape),
                                       FZ_TEST(deep_nesting)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
