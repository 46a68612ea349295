// sql/: the parser. Shapes follow Spark's grammar; literal types follow Spark's rules (DECIMAL(2,2) for 0.10 and so on).
#include "leak_check.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "sql/ast.h"

static struct fz_arena arena;
static struct fz_err err;
static void begin(void) {
    arena = (struct fz_arena){0};
    err = FZ_ERR_INIT;
}
static struct fz_ast_stmt *parse(const char *sql) {
    struct fz_ast_stmt *s = NULL;
    err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_sql_parse(&arena, fz_str_of(sql), &s, &err), &err);
    return s;
}
static struct fz_ast_expr *expr(const char *sql) {
    struct fz_ast_expr *e = NULL;
    err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_sql_parse_expr(&arena, fz_str_of(sql), &e, &err), &err);
    return e;
}
static void refused(const char *sql, enum fz_code code, const char *condition) {
    struct fz_ast_stmt *s = NULL;
    err = FZ_ERR_INIT;
    enum fz_code rc = fz_sql_parse(&arena, fz_str_of(sql), &s, &err);
    if (rc != code || strcmp(err.condition, condition) != 0) {
        print_error("%s: %s [%s] %s\n", sql, fz_code_name(rc), err.condition, err.message);
    }
    assert_int_equal(rc, code);
    assert_string_equal(err.condition, condition);
}

// Prefix notation of an expression, enough to see how operators bind.
static void shape(struct fz_buf *out, const struct fz_ast_expr *e) {
    switch (e->kind) {
    case FZ_AST_LITERAL:
        fz_value_print(out, e->literal);
        return;
    case FZ_AST_NAME:
        for (size_t i = 0; i < e->name.n; i++) {
            fz_buf_printf(out, "%s%s", i > 0 ? "." : "", e->name.parts[i]);
        }
        return;
    case FZ_AST_STAR:
        fz_buf_puts(out, "*");
        return;
    default:
        break;
    }
    fz_buf_puts(out, "(");
    fz_buf_puts(out, e->negated ? "not-" : "");
    fz_buf_puts(out, e->kind == FZ_AST_CALL     ? e->name.parts[0]
                     : e->kind == FZ_AST_INDEX  ? "[]"
                     : e->kind == FZ_AST_DOT    ? "."
                     : e->kind == FZ_AST_LAMBDA ? "->"
                     : e->kind == FZ_AST_ROW    ? "row"
                     : e->kind == FZ_AST_CASE   ? "case"
                                                : e->op);
    if (e->text != NULL) {
        fz_buf_printf(out, ":%s", e->text);
    }
    for (size_t i = 0; i < e->n_args; i++) {
        fz_buf_puts(out, " ");
        shape(out, e->args[i]);
    }
    fz_buf_puts(out, ")");
}
static void has_shape(const char *sql, const char *expected) {
    struct fz_buf out = {0};
    shape(&out, expr(sql));
    assert_string_equal(out.ptr, expected);
    fz_buf_dispose(&out);
}

static void operators_bind_as_in_spark(void **state) {
    (void)state;
    begin();
    has_shape("a + b * c - d", "(- (+ a (* b c)) d)");
    has_shape("NOT a = b AND c OR d", "(OR (AND (NOT (= a b)) c) d)");
    has_shape("a = b IS NULL", "(IS:NULL (= a b))");
    has_shape("a BETWEEN 1 AND 2 AND b", "(AND (BETWEEN a 1 2) b)");
    has_shape("a NOT IN (1, 2)", "(not-IN a 1 2)");
    has_shape("a >> 2 >>> 1 << 3", "(<< (>>> (>> a 2) 1) 3)");
    has_shape("a | b ^ c & d", "(| a (^ b (& c d)))");
    has_shape("a || b || 'x'", "(|| (|| a b) x)");
    has_shape("-a.b[0].c", "(- (.:c ([] a.b 0)))");
    has_shape("a <=> b != c", "(<> (<=> a b) c)");
    has_shape("x IS NOT DISTINCT FROM y + 1", "(not-IS:DISTINCT x (+ y 1))");
    has_shape("a LIKE ANY ('x', 'y')", "(LIKE:ANY a x y)");
    has_shape("a DIV b % c", "(% (DIV a b) c)");
    has_shape("transform(xs, (x, i) -> x + i)", "(transform xs (-> (+ x i)))");
    has_shape("a::int::string", "(CAST (CAST a))");
    has_shape("5 -1", "(- 5 1)");
    assert_int_equal(expr("((SELECT 1) + 1)")->args[0]->kind, FZ_AST_SUBQUERY);
    assert_int_equal(expr("((SELECT 1) UNION ALL (SELECT 2))")->kind, FZ_AST_SUBQUERY);
    fz_arena_dispose(&arena);
}

static void is_literal(const char *sql, const char *type, const char *text) {
    const struct fz_ast_expr *e = expr(sql);
    struct fz_buf out = {0};
    assert_int_equal(e->kind, FZ_AST_LITERAL);
    fz_type_print_sql(&out, e->literal->type);
    fz_buf_puts(&out, " ");
    fz_value_print(&out, e->literal);
    char expected[300];
    snprintf(expected, sizeof expected, "%s %s", type, text);
    assert_string_equal(out.ptr, expected);
    fz_buf_dispose(&out);
}

static void literals_are_typed_by_their_spelling(void **state) {
    (void)state;
    begin();
    is_literal("1", "int", "1");
    is_literal("-2147483648", "int", "-2147483648");
    is_literal("2147483648", "bigint", "2147483648");
    is_literal("-9223372036854775808", "bigint", "-9223372036854775808");
    is_literal("9223372036854775808", "decimal(19,0)", "9223372036854775808");
    is_literal("0.10", "decimal(2,2)", "0.10");
    is_literal("1.5", "decimal(2,1)", "1.5");
    is_literal(".5", "decimal(1,1)", "0.5");
    is_literal("0.05", "decimal(2,2)", "0.05");
    is_literal("1e3BD", "decimal(4,0)", "1000");
    is_literal("1e3", "double", "1000.0");
    is_literal("1.5D", "double", "1.5");
    is_literal("1.5f", "float", "1.5");
    is_literal("7L", "bigint", "7");
    is_literal("7S", "smallint", "7");
    is_literal("-128Y", "tinyint", "-128");
    is_literal("X'1fA'", "binary", "01fa");
    is_literal("DATE '2024-3'", "date", "2024-03-01");
    is_literal("TIMESTAMP_NTZ '2024-01-31 23:59:59.1234567'", "timestamp_ntz", "2024-01-31 23:59:59.123456");
    is_literal("TIMESTAMP '2024-01-01 00:00:00+02:00'", "timestamp", "2023-12-31 22:00:00");
    is_literal("'a' \"b\" 'c'", "string", "abc");
    is_literal("'it''s \\t\\u00e9\\101\\%'", "string",
               "it's \t\xc3\xa9"
               "A\\%");
    is_literal("r'a\\n'", "string", "a\\n");
    is_literal("TRUE", "boolean", "true");
    const struct fz_ast_expr *local = expr("TIMESTAMP '2024-01-01 00:00:00'"); // depends on the session's zone
    assert_int_equal(local->kind, FZ_AST_CAST);
    assert_int_equal(local->type->id, FZ_TYPE_TIMESTAMPTZ);
    assert_int_equal(local->args[0]->literal->u.i64, INT64_C(1704067200000000));
    fz_arena_dispose(&arena);
}

static void is_interval(const char *sql, enum fz_type_id type, int from, int to, int64_t value) {
    const struct fz_ast_expr *e = expr(sql);
    assert_int_equal(e->kind, FZ_AST_LITERAL);
    assert_int_equal(e->literal->type->id, type);
    assert_int_equal(e->literal->type->precision, from);
    assert_int_equal(e->literal->type->scale, to);
    assert_int_equal(e->literal->u.i64, value);
}
static void intervals_are_folded(void **state) {
    (void)state;
    begin();
    is_interval("INTERVAL '30' DAY", FZ_TYPE_INTERVAL_DT, 0, 0, INT64_C(2592000000000));
    is_interval("INTERVAL 1 HOUR", FZ_TYPE_INTERVAL_DT, 1, 1, INT64_C(3600000000));
    is_interval("INTERVAL '1 02:03:04.5' DAY TO SECOND", FZ_TYPE_INTERVAL_DT, 0, 3, INT64_C(93784500000));
    is_interval("INTERVAL '-1-2' YEAR TO MONTH", FZ_TYPE_INTERVAL_YM, 0, 1, -14);
    is_interval("INTERVAL 1 DAY 2 HOURS", FZ_TYPE_INTERVAL_DT, 0, 1, INT64_C(93600000000));
    is_interval("INTERVAL '1 day -2 hours'", FZ_TYPE_INTERVAL_DT, 0, 1, INT64_C(79200000000));
    is_interval("INTERVAL -3 MONTHS", FZ_TYPE_INTERVAL_YM, 1, 1, -3);
    refused("SELECT INTERVAL 1 MONTH 1 DAY", FZ_SQL_SYNTAX, "_LEGACY_ERROR_TEMP_0029");
    refused("SELECT INTERVAL 'x' DAY", FZ_SQL_SYNTAX, "INVALID_INTERVAL_FORMAT");
    fz_arena_dispose(&arena);
}

static void queries_keep_their_parts(void **state) {
    (void)state;
    begin();
    struct fz_ast_query *q = parse("WITH a AS (SELECT 1 AS x), b (y) AS (VALUES (2), (3)) SELECT DISTINCT x, count(*) "
                                   "n FROM a JOIN b ON x = y LEFT ANTI JOIN c USING (x) "
                                   "LATERAL VIEW OUTER explode(z) e AS v WHERE x > 1 GROUP BY ROLLUP (x, y) HAVING n > "
                                   "1 ORDER BY x DESC NULLS LAST LIMIT 3 OFFSET 1")
                                 ->query;
    assert_int_equal(q->n_ctes, 2);
    assert_int_equal(q->ctes[1].n_columns, 1);
    assert_true(q->distinct);
    assert_int_equal(q->n_items, 2);
    assert_string_equal(q->items[1].alias, "n");
    assert_int_equal(q->from[0]->kind, FZ_AST_LATERAL_VIEW);
    assert_true(q->from[0]->outer);
    assert_string_equal(q->from[0]->left->join, "LEFT ANTI");
    assert_int_equal(q->group_by->kind, FZ_GROUP_SETS);
    assert_int_equal(q->group_by->n_sets, 3);
    assert_int_equal(q->group_by->set_sizes[0], 2);
    assert_int_equal(q->group_by->set_sizes[2], 0);
    assert_true(q->order_by[0].descending && q->order_by[0].nulls_set && q->order_by[0].nulls_last);
    assert_non_null(q->limit);
    assert_non_null(q->offset);
    assert_int_equal(parse("SELECT 1 GROUP BY CUBE (a, b)")->query->group_by->n_sets, 4);
    assert_int_equal(parse("SELECT 1 GROUP BY a, GROUPING SETS ((b), (c, d), ())")->query->group_by->n_sets, 3);
    assert_int_equal(parse("SELECT 1 GROUP BY ALL")->query->group_by->kind, FZ_GROUP_ALL);
    q = parse("SELECT 1 UNION ALL SELECT 2 INTERSECT SELECT 3 ORDER BY 1")->query;
    assert_string_equal(q->setop, "UNION");
    assert_string_equal(q->right->setop, "INTERSECT");
    assert_int_equal(q->n_order_by, 1);
    q = parse("SELECT * FROM db.t VERSION AS OF 123 x, parquet.`/a/b.parquet`, range(0, 10) AS r(i), VALUES (1, 'a'), "
              "(2, DEFAULT) AS v(a, b)")
            ->query;
    assert_non_null(q->from[0]->version_as_of);
    assert_string_equal(q->from[0]->alias, "x");
    assert_int_equal(q->from[1]->kind, FZ_AST_FILE);
    assert_int_equal(q->from[2]->kind, FZ_AST_FUNCTION);
    assert_int_equal(q->from[3]->n_rows, 2);
    assert_int_equal(q->from[3]->n_cols, 2);
    q = parse("FROM o |> WHERE cid = 10 |> AGGREGATE sum(amt) AS s GROUP BY cid |> SELECT s")->query;
    assert_int_equal(q->from[0]->kind, FZ_AST_DERIVED);
    assert_non_null(q->from[0]->query->where);
    assert_int_equal(q->from[0]->query->n_items, 2);
    q = parse("SELECT sum(x) OVER (PARTITION BY a ORDER BY b ROWS BETWEEN 1 PRECEDING AND CURRENT ROW), first(y) "
              "IGNORE NULLS OVER w FROM t WINDOW w AS (ORDER BY b)")
            ->query;
    assert_true(q->items[0].expr->over->has_frame);
    assert_true(q->items[1].expr->ignore_nulls);
    assert_string_equal(q->items[1].expr->over->name, "w");
    assert_int_equal(q->n_windows, 1);
    q = parse("SELECT * FROM t PIVOT (sum(x) AS s FOR k IN ('a' AS a, 'b')) UNPIVOT INCLUDE NULLS (v FOR n IN (a, b AS "
              "bb))")
            ->query;
    assert_int_equal(q->from[0]->kind, FZ_AST_UNPIVOT);
    assert_true(q->from[0]->outer);
    assert_int_equal(q->from[0]->left->n_pivot_values, 2);
    fz_arena_dispose(&arena);
}

static void merge_clauses(void **state) {
    (void)state;
    begin();
    struct fz_ast_stmt *s = parse(
        "WITH c AS (SELECT 1) MERGE WITH SCHEMA EVOLUTION INTO db.t AS t USING (SELECT * FROM x) s ON t.id = s.id "
        "WHEN MATCHED AND s.op = 'd' THEN DELETE WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED BY TARGET THEN INSERT "
        "(id, s.a) VALUES (s.id, DEFAULT) "
        "WHEN NOT MATCHED BY SOURCE THEN UPDATE SET a = 1, b.c = t.d");
    assert_int_equal(s->kind, FZ_STMT_MERGE);
    assert_true(s->schema_evolution);
    assert_int_equal(s->n_ctes, 1);
    assert_int_equal(s->n_clauses, 4);
    assert_int_equal(s->clauses[1].action, FZ_MERGE_UPDATE_STAR);
    assert_int_equal(s->clauses[2].match, FZ_NOT_MATCHED);
    assert_int_equal(s->clauses[2].assignments[1].value->kind, FZ_AST_DEFAULT);
    assert_int_equal(s->clauses[3].match, FZ_NOT_MATCHED_BY_SOURCE);
    assert_int_equal(s->clauses[3].n_assignments, 2);
    s = parse("FROM u INSERT INTO t SELECT id WHERE id = 1");
    assert_int_equal(s->kind, FZ_STMT_INSERT);
    assert_int_equal(s->query->n_from, 1);
    s = parse("INSERT OVERWRITE t PARTITION (p = 'a', q) (x, y) SELECT 1, 2");
    assert_true(s->overwrite);
    assert_int_equal(s->n_partition, 2);
    assert_null(s->partition[1].value);
    assert_int_equal(s->n_columns, 2);
    assert_non_null(parse("INSERT INTO t REPLACE WHERE p = 'a' SELECT 1")->replace_where);
    assert_true(parse("INSERT INTO t BY NAME SELECT 1 AS a")->by_name);
    fz_arena_dispose(&arena);
}

static void ddl_details(void **state) {
    (void)state;
    begin();
    struct fz_ast_stmt *s = parse(
        "CREATE TABLE IF NOT EXISTS a.b (id BIGINT NOT NULL COMMENT 'k', s STRUCT<x: INT, y: ARRAY<MAP<STRING, "
        "DECIMAL(9, 2)>>>, v VARCHAR(5)) USING ICEBERG "
        "PARTITIONED BY (days(ts), bucket(8, id), truncate(v, 3), c) COMMENT 'x' TBLPROPERTIES ('a.b'='1', c.d = 2)");
    assert_true(s->if_not_exists);
    assert_string_equal(s->provider, "iceberg");
    assert_true(s->column_defs[0].not_null);
    assert_int_equal(s->column_defs[1].type->n_fields, 2);
    assert_int_equal(s->n_partition_by, 4);
    assert_int_equal(s->partition_by[1].param, 8);
    assert_int_equal(s->partition_by[2].param, 3);
    assert_null(s->partition_by[3].function);
    assert_string_equal(s->properties[1].key, "c.d");
    assert_string_equal(s->properties[1].value, "2");
    s = parse("ALTER TABLE t CREATE OR REPLACE BRANCH `b 1` AS OF VERSION 7 RETAIN 2 DAYS WITH SNAPSHOT RETENTION 3 "
              "SNAPSHOTS 4 HOURS");
    assert_int_equal(s->alter, FZ_ALTER_CREATE_BRANCH);
    assert_string_equal(s->key, "b 1");
    assert_int_equal(s->snapshot_id, 7);
    assert_int_equal(s->retain_ms, 172800000);
    assert_int_equal(s->min_snapshots, 3);
    assert_int_equal(s->snapshot_retain_ms, 14400000);
    s = parse("ALTER TABLE t WRITE DISTRIBUTED BY PARTITION LOCALLY ORDERED BY bucket(4, id), ts DESC NULLS LAST");
    assert_true(s->distributed_by_partition && s->ordered_locally);
    assert_int_equal(s->n_transforms, 2);
    assert_true(s->transforms[1].descending && s->transforms[1].nulls_last);
    s = parse("ALTER TABLE t ADD COLUMNS (p.z STRING AFTER x, q INT FIRST)");
    assert_int_equal(s->column_defs[0].path.n, 2);
    assert_string_equal(s->column_defs[0].after, "x");
    assert_true(s->column_defs[1].first);
    s = parse("CREATE OR REPLACE VIEW v (k COMMENT 'c', l) AS SELECT a, b FROM t -- tail");
    assert_string_equal(s->value, "SELECT a, b FROM t");
    s = parse("SET spark.sql.session.timeZone = Europe/Berlin ;");
    assert_string_equal(s->key, "spark.sql.session.timeZone");
    assert_string_equal(s->value, "Europe/Berlin");
    s = parse("CALL ice.system.expire_snapshots(table => 'db.t', retain_last => 2)");
    assert_string_equal(s->arg_names[1], "retain_last");
    s = parse("SELECT * FROM IDENTIFIER('db.' || 't')");
    assert_int_equal(s->query->from[0]->name.n, 2);
    assert_true(parse("EXPLAIN DRY RUN DELETE FROM t")->dry_run);
    fz_arena_dispose(&arena);
}

static void errors_name_condition_and_place(void **state) {
    (void)state;
    begin();
    refused("SELECT *\nFRM t WHERE", FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR");
    assert_int_equal(err.line, 2);
    assert_int_equal(err.column, 5);
    assert_non_null(strstr(err.message, "FRM t WHERE\n----^"));
    refused("SELECT 'приве́т', же +", FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR");
    assert_int_equal(err.column, 23);
    refused("SELECT 'д' FROM t же ё", FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR");
    assert_int_equal(err.column, 22);
    assert_non_null(strstr(err.message, "\n---------------------^"));
    refused("MERGE INTO t USING s ON t.id = s.id", FZ_SQL_SYNTAX, "MERGE_WITHOUT_WHEN");
    refused("MERGE INTO t USING (SELECT 1) AS s(a) ON true WHEN MATCHED THEN DELETE", FZ_SQL_SYNTAX,
            "COLUMN_ALIASES_NOT_ALLOWED");
    refused("SELECT 'x", FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR");
    refused("SELECT /* x", FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR");
    refused("SELECT '\xff'", FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR");
    refused("BEGIN SELECT 1; END", FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE");
    refused("CREATE TABLE t (a INT) CLUSTERED BY (a) INTO 4 BUCKETS", FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE");
    refused("", FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR");
    fz_arena_dispose(&arena);
}

static void deep_nesting_is_refused_and_long_chains_are_not(void **state) {
    (void)state;
    begin();
    static const char *const open[] = {"(", "-", "NOT ", "f(", "CASE WHEN ", "ARRAY<", "a[", "(SELECT ", "~", "x -> "};
    for (size_t k = 0; k < sizeof open / sizeof open[0]; k++) {
        struct fz_buf sql = {0};
        fz_buf_puts(&sql, "SELECT ");
        for (int i = 0; i < 100000; i++) {
            fz_buf_puts(&sql, open[k]);
            if (i % 2 == 0 && open[k][0] == '-') {
                fz_buf_puts(&sql, " ");
            }
        }
        struct fz_ast_stmt *s = NULL;
        err = FZ_ERR_INIT;
        assert_int_not_equal(fz_sql_parse(&arena, (struct fz_str){sql.ptr, sql.len}, &s, &err), FZ_OK);
        fz_buf_dispose(&sql);
    }
    struct fz_buf sql = {0};
    fz_buf_puts(&sql, "SELECT * FROM t WHERE a = 0");
    for (int i = 1; i < 20000; i++) {
        fz_buf_printf(&sql, " OR a = %d", i);
    }
    assert_non_null(parse(sql.ptr)->query->where);
    fz_buf_dispose(&sql);
    fz_arena_dispose(&arena);
}

static void scripts_are_split_outside_quotes_and_comments(void **state) {
    (void)state;
    begin();
    static const char script[] = "-- first; one\nSELECT ';', \"a;\", `b;` ;\n\n/* ; /* ; */ */ SELECT 'it''s;\\';' ; ; "
                                 "SELECT r'\\';\nBEGIN SELECT 1; END";
    struct fz_sql_piece *pieces = NULL;
    size_t n = 0;
    FZ_OK_OR_FAIL(fz_sql_split(&arena, fz_str_of(script), &pieces, &n, &err), &err);
    assert_int_equal(n, 4);
    assert_true(fz_str_eq(pieces[0].text, FZ_STR_LIT("SELECT ';', \"a;\", `b;`")));
    assert_int_equal(pieces[0].line, 2);
    assert_true(fz_str_eq(pieces[1].text, FZ_STR_LIT("SELECT 'it''s;\\';'")));
    assert_int_equal(pieces[1].line, 4);
    assert_true(fz_str_eq(pieces[2].text, FZ_STR_LIT("SELECT r'\\'")));
    assert_true(fz_str_eq(pieces[3].text, FZ_STR_LIT("BEGIN SELECT 1; END")));
    fz_arena_dispose(&arena);
}

static void types_and_schemas(void **state) {
    (void)state;
    begin();
    const struct fz_type *t = NULL;
    FZ_OK_OR_FAIL(fz_sql_parse_schema(&arena, FZ_STR_LIT("a INT, b: ARRAY<STRUCT<k: STRING>>"), &t, &err), &err);
    assert_int_equal(t->n_fields, 2);
    FZ_OK_OR_FAIL(fz_sql_parse_type(&arena, FZ_STR_LIT("interval day to second"), &t, &err), &err);
    assert_int_equal(t->scale, 3);
    assert_int_equal(fz_sql_parse_schema(&arena, FZ_STR_LIT("a NOPE"), &t, &err), FZ_SQL_SYNTAX);
    fz_arena_dispose(&arena);
}

// Every prefix and every single-byte change of a statement either parses or fails; nothing else may happen.
static void damaged_text_never_breaks_the_parser(void **state) {
    (void)state;
    static const char *const texts[] = {
        "WITH a AS (SELECT x -> x[1].y::int, INTERVAL '1 2:3' DAY TO MINUTE FROM t VERSION AS OF 5) SELECT CASE a WHEN "
        "1 THEN 'x' END, v:a.b[0] FROM a PIVOT (sum(b) FOR c IN (1, 2))",
        "MERGE INTO t USING (VALUES (1, X'ff', TIMESTAMP '2024-01-01 1:2:3 +1')) s ON t.a = s.a WHEN MATCHED AND s.b "
        "THEN UPDATE SET a = DEFAULT WHEN NOT MATCHED THEN INSERT (a) VALUES (1)",
        "CREATE TABLE t (a STRUCT<x: DECIMAL(3,1)>, b INT NOT NULL) PARTITIONED BY (bucket(4, b)) TBLPROPERTIES "
        "('a'='b')",
        "ALTER TABLE t CREATE BRANCH b AS OF VERSION 1 RETAIN 1 DAYS WITH SNAPSHOT RETENTION 1 SNAPSHOTS 2 DAYS"};
    for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++) {
        size_t len = strlen(texts[k]);
        for (size_t cut = 0; cut < len; cut++) {
            for (size_t c = 0; c < 12; c++) {
                begin();
                char *copy = malloc(len);
                memcpy(copy, texts[k], len);
                copy[cut] = "\"'`().,-;[<\\"[c];
                struct fz_ast_stmt *s = NULL;
                enum fz_code rc = fz_sql_parse(&arena, (struct fz_str){copy, c == 0 ? cut : len}, &s, &err);
                assert_int_equal(rc, err.code);
                fz_arena_dispose(&arena);
                free(copy);
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(operators_bind_as_in_spark),
        FZ_TEST(literals_are_typed_by_their_spelling),
        FZ_TEST(intervals_are_folded),
        FZ_TEST(queries_keep_their_parts),
        FZ_TEST(merge_clauses),
        FZ_TEST(ddl_details),
        FZ_TEST(errors_name_condition_and_place),
        FZ_TEST(deep_nesting_is_refused_and_long_chains_are_not),
        FZ_TEST(scripts_are_split_outside_quotes_and_comments),
        FZ_TEST(types_and_schemas),
        FZ_TEST(damaged_text_never_breaks_the_parser),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
