// Pipeline files: what they become, and where errors point.
#include "leak_check.h"

#include "cdc/pipeline.h"

#define SOURCE "source: {file: {path: \"x.jsonl\", records: kafka}}\n"

static void whole_file(void **state) {
    (void)state;
    static const char text[] =
        "pipeline: shop\ncatalog: lake\n"
        "source:\n  file:\n    path: \"in/*.jsonl.gz\"\n    records: kafka\n    format: debezium-json\n"
        "tables:\n  \"public.orders\":\n    into: lake.silver.orders\n    key: [order_id]\n    order_by: updated_at\n  "
        "  guard: updated_at\n"
        "    deletes: {soft: {flag: is_deleted, at: deleted_at}}\n    mode: copy-on-write\n    partition_by: "
        "[days(created_at)]\n"
        "    properties: {write.parquet.bloom-filter-enabled.column.order_id: \"true\"}\n"
        "    columns:\n      amount: {type: \"decimal(12,2)\", default: \"0\"}\n      at: {type: timestamp, encoding: "
        "epoch-micros}\n"
        "      seen: timestamp\n      tags: \"array<string>\"\n"
        "    schema_changes: ignore\n    truncate: stop\n    rename: {old: new}\n    snapshot_rows: keep-streamed\n"
        "quarantine: {table: lake.ops.bad, stop_after: 10_000}\ncommit: {every: 500ms, or_rows: 1000}\n";
    struct fz_pipeline *p = NULL;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_pipeline_parse((struct fz_str){text, sizeof text - 1}, "shop.yaml", &p, &err), &err);
    assert_string_equal(p->name, "shop");
    assert_string_equal(p->catalog, "lake");
    assert_true(p->records_kafka);
    assert_int_equal(p->n_tables, 1);
    const struct fz_pipeline_table *t = &p->tables[0];
    assert_string_equal(t->into, "lake.silver.orders");
    assert_string_equal(t->key[0], "order_id");
    assert_string_equal(t->order_by[0], "updated_at");
    assert_int_equal(t->deletes, FZ_DELETES_SOFT);
    assert_string_equal(t->soft_at, "deleted_at");
    assert_int_equal(t->mode, FZ_MODE_COPY_ON_WRITE);
    assert_int_equal(t->truncate, FZ_TRUNCATE_STOP);
    assert_int_equal(t->schema_changes, FZ_SCHEMA_IGNORE);
    assert_true(t->keep_streamed);
    assert_int_equal(t->n_columns, 4);
    assert_int_equal(t->columns[0].type->precision, 12);
    assert_string_equal(t->columns[0].default_text, "0");
    assert_int_equal(t->columns[1].type->id, FZ_TYPE_TIMESTAMP); // epoch-micros has no zone
    assert_int_equal(t->columns[2].type->id, FZ_TYPE_TIMESTAMPTZ); // Spark's TIMESTAMP
    assert_int_equal(t->columns[3].type->id, FZ_TYPE_LIST);
    assert_true(p->stop_after == 10000 && p->commit_every_us == 500000 && p->commit_rows == 1000);
    assert_ptr_equal(fz_pipeline_match(p, FZ_STR_LIT("pg.public.orders")), t);
    assert_ptr_equal(fz_pipeline_match(p, FZ_STR_LIT("public.orders")), t);
    assert_null(fz_pipeline_match(p, FZ_STR_LIT("xpublic.orders")));
    fz_pipeline_free(p);
}

static void shortest(void **state) {
    (void)state;
    struct fz_pipeline *p = NULL;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_pipeline_parse(FZ_STR_LIT(SOURCE), "dir/my orders.yaml", &p, &err), &err);
    assert_string_equal(p->name, "my_orders");
    assert_int_equal(p->n_tables, 0);
    assert_true(p->stop_after == 10000 && p->commit_rows == 500000 && p->commit_every_us == 10000000);
    fz_pipeline_free(p);
}

static void errors_point_at_the_place(void **state) {
    (void)state;
    static const struct {
        const char *yaml;
        enum fz_code code;
        int line, column;
        const char *says;
    } CASES[] = {
        {SOURCE "tabels: {}\n", FZ_INVALID_ARG, 2, 1, "did you mean tables?"},
        {SOURCE "tables:\n  a.b:\n    ky: [id]\n", FZ_INVALID_ARG, 4, 5, "did you mean key?"},
        {SOURCE "tables:\n  a.b:\n    mode: merge_on_read\n", FZ_INVALID_ARG, 4, 11, "did you mean merge-on-read?"},
        {SOURCE "tables:\n  a.b:\n    columns: [x]\n", FZ_INVALID_ARG, 4, 14, "a mapping"},
        {SOURCE "tables:\n  a.b:\n    columns: {x: {type: decimall}}\n", FZ_INVALID_ARG, 4, 25, "no such type"},
        {SOURCE "tables:\n  a.b:\n    columns: {x: {type: date, encoding: epoch-day}}\n", FZ_INVALID_ARG, 4, 41,
         "did you mean epoch-days"},
        {SOURCE "tables:\n  a.b:\n    columns: {x: {type: date, encoding: base64}}\n", FZ_INVALID_ARG, 4, 41,
         "do not become"},
        {SOURCE "tables:\n  a.b: {key: id, key: id}\n", FZ_INVALID_ARG, 3, 18, "given twice"},
        {SOURCE "commit: {every: 10}\n", FZ_INVALID_ARG, 2, 17, "no duration"},
        {SOURCE "commit: {or_rows: many}\n", FZ_INVALID_ARG, 2, 19, "whole number"},
        {SOURCE "http: 127.0.0.1:8098\n", FZ_UNSUPPORTED, 2, 1, "http"},
        {SOURCE "bronze: a.b.c\n", FZ_UNSUPPORTED, 2, 1, "bronze"},
        {SOURCE "maintain: auto\n", FZ_UNSUPPORTED, 2, 1, "maintain"},
        {SOURCE "commit: transactions\n", FZ_UNSUPPORTED, 2, 9, "transactions"},
        {SOURCE "tables:\n  a.b: {checks: []}\n", FZ_UNSUPPORTED, 3, 9, "checks"},
        {SOURCE "tables:\n  a.b: {history: {table: x}}\n", FZ_UNSUPPORTED, 3, 9, "history"},
        {"source: {kafka: {brokers: x}}\n", FZ_UNSUPPORTED, 1, 10, "kafka"},
        {"source: {file: {records: kafka}}\n", FZ_INVALID_ARG, 1, 16, "path is missing"},
        {"source: {file: {path: a, format: maxwell}}\n", FZ_UNSUPPORTED, 1, 34, "maxwell"},
        {"pipeline: a b\n", FZ_INVALID_ARG, 1, 11, "letters"},
        {"pipeline: x\n", FZ_INVALID_ARG, 1, 1, "source is missing"},
        {"a: [1,\n", FZ_INVALID_ARG, 0, 0, "not YAML"},
        {"", FZ_INVALID_ARG, 1, 1, "empty"},
    };
    for (size_t i = 0; i < sizeof CASES / sizeof *CASES; i++) {
        struct fz_pipeline *p = NULL;
        struct fz_err err = FZ_ERR_INIT;
        enum fz_code rc = fz_pipeline_parse(fz_str_of(CASES[i].yaml), "p.yaml", &p, &err);
        if (rc != CASES[i].code || strstr(err.message, CASES[i].says) == NULL ||
            (CASES[i].line != 0 && (err.line != CASES[i].line || err.column != CASES[i].column))) {
            print_error("%s: code %d at %d:%d: %s\n", CASES[i].yaml, rc, err.line, err.column, err.message);
            fail();
        }
        assert_null(p);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(whole_file), FZ_TEST(shortest), FZ_TEST(errors_point_at_the_place)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
