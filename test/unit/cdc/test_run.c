// Pipelines over a memory catalog: small streams written by hand, with the tables that must come out by Debezium's documentation and
// interface.md section 4.
#include "leak_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cdc/run.h"
#include "scan/scan.h"

struct world {
    struct fz_store *store, *local;
    struct fz_catalog *catalog;
    struct fz_duck *duck;
    struct fz_cdc_session session;
    struct fz_cancel cancel;
    char folder[64], events[96], yaml[96];
    struct fz_buf lines; // what the run said
};

static enum fz_code give_duck(void *ctx, struct fz_duck **out, struct fz_err *err) {
    struct world *w = ctx;
    struct fz_duck_options options = {
        .memory_bytes = 256 << 20, .threads = 2, .time_zone = "UTC", .cancel = &w->cancel};
    enum fz_code rc = w->duck == NULL ? fz_duck_open(&options, &w->duck, err) : FZ_OK;
    *out = w->duck;
    return rc;
}

static enum fz_code resolve(void *ctx, struct fz_arena *arena, const char *dotted, struct fz_catalog **catalog,
                            struct fz_table_name *name, struct fz_err *err) {
    struct world *w = ctx;
    const char **levels = fz_arena_array(arena, 8, sizeof *levels);
    size_t n = 0;
    const char *p = strncmp(dotted, "lake.", 5) == 0 ? dotted + 5 : dotted;
    for (const char *dot; (dot = strchr(p, '.')) != NULL && n < 8; p = dot + 1) {
        levels[n++] = fz_arena_strndup(arena, p, (size_t)(dot - p));
    }
    *catalog = w->catalog;
    *name = (struct fz_table_name){levels, n, fz_arena_strdup(arena, p)};
    (void)err;
    return FZ_OK;
}

static void open_world(struct world *w) {
    struct fz_err err = FZ_ERR_INIT;
    *w = (struct world){.duck = NULL};
    fz_cancel_init(&w->cancel);
    FZ_OK_OR_FAIL(fz_store_memory_new(&w->store, &err), &err);
    FZ_OK_OR_FAIL(fz_catalog_memory_new("lake", "memory://warehouse", w->store, &w->catalog, &err), &err);
    w->session = (struct fz_cdc_session){
        .ctx = w, .duck = give_duck, .resolve = resolve, .store = w->store, .cancel = &w->cancel};
    snprintf(w->folder, sizeof w->folder, "/tmp/fz_cdc_XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    snprintf(w->events, sizeof w->events, "%s/events.jsonl", w->folder);
    snprintf(w->yaml, sizeof w->yaml, "%s/p.yaml", w->folder);
}

static void close_world(struct world *w) {
    unlink(w->events);
    unlink(w->yaml);
    rmdir(w->folder);
    fz_buf_dispose(&w->lines);
    if (w->duck != NULL) {
        fz_duck_close(w->duck);
    }
    fz_catalog_free(w->catalog);
    fz_store_unref(w->store);
    fz_cancel_dispose(&w->cancel);
}

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void on_line(void *ctx, const char *text) {
    struct world *w = ctx;
    fz_buf_printf(&w->lines, "%s\n", text);
}

static enum fz_code run(struct world *w, struct fz_cdc_stats *stats, struct fz_err *err) {
    struct fz_cdc_pipeline *p = NULL;
    fz_buf_clear(&w->lines);
    enum fz_code rc = fz_cdc_pipeline_open(&w->session, w->yaml, &p, err);
    if (rc == FZ_OK) {
        rc = fz_cdc_pipeline_run(p, true, on_line, w, stats, err);
        fz_cdc_pipeline_close(p);
    }
    return rc;
}

static void run_ok(struct world *w, struct fz_cdc_stats *stats) {
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(run(w, stats, &err), &err);
}

static struct fz_metadata *load(struct world *w, const char *name) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_metadata *m = NULL;
    const char *levels[] = {"s"};
    struct fz_table_name table = {levels, 1, name};
    FZ_OK_OR_FAIL(w->catalog->vtable->load(w->catalog, &table, &m, &err), &err);
    return m;
}

// The table as text, by a SQL expression over its columns c<field id>.
static void expect_rows(struct world *w, const char *name, const char *expression, const char *want) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_metadata *m = load(w, name);
    const struct fz_type *schema = fz_metadata_current_schema(m)->type;
    struct fz_scan_plan *plan = NULL;
    struct fz_source *source = NULL;
    struct fz_duck *duck = NULL;
    int64_t id = 0;
    char sql[1000];
    struct fz_arena arena = {0};
    struct fz_value v;
    bool found = false;
    struct fz_scan_options options = {
        .store = w->store, .metadata = m, .snapshot_id = -1, .schema = fz_metadata_current_schema(m)};
    FZ_OK_OR_FAIL(fz_scan_plan_new(&options, &plan, &err), &err);
    struct fz_scan_source_options scan = {
        .plan = plan, .store = w->store, .fields = schema->fields, .n_fields = schema->n_fields, .max_threads = 2};
    FZ_OK_OR_FAIL(fz_scan_source_new(&scan, &source, &err), &err);
    FZ_OK_OR_FAIL(give_duck(w, &duck, &err), &err);
    FZ_OK_OR_FAIL(fz_duck_register(duck, source, &id, &err), &err);
    snprintf(sql, sizeof sql,
             "SELECT coalesce(string_agg(x, ' ' ORDER BY x), '') FROM (SELECT %s AS x FROM fz_scan(%lld))", expression,
             (long long)id);
    struct fz_field field = {.id = 1, .name = "x", .type = fz_type_primitive(FZ_TYPE_STRING)};
    FZ_OK_OR_FAIL(fz_duck_query_row(duck, sql, &field, 1, &arena, &v, &found, &err), &err);
    assert_true(found && !v.is_null);
    char *have = fz_strndup(v.u.bytes.ptr, v.u.bytes.len);
    assert_string_equal(have, want);
    fz_free(have);
    fz_duck_unregister(duck, id);
    fz_source_unref(source);
    fz_scan_plan_unref(plan);
    fz_metadata_unref(m);
    fz_arena_dispose(&arena);
}

static size_t n_snapshots(struct world *w, const char *name) {
    struct fz_metadata *m = load(w, name);
    size_t n = m->n_snapshots;
    fz_metadata_unref(m);
    return n;
}

#define PG(sequence, lsn)                                                                                              \
    "\"source\":{\"connector\":\"postgresql\",\"ts_ms\":1,\"snapshot\":\"false\",\"sequence\":\"" sequence             \
    "\",\"schema\":\"public\",\"table\":\"t\",\"lsn\":" lsn "}"
#define SEQ(a, b) "[\\\"" a "\\\",\\\"" b "\\\"]"
#define LINE(offset, key, value)                                                                                       \
    "{\"topic\":\"pg.public.t\",\"partition\":0,\"offset\":" offset ",\"key\":" key ",\"value\":" value "}\n"
#define PUT(offset, op, id, v, lsn)                                                                                    \
    LINE(offset, "{\"id\":" id "}",                                                                                    \
         "{\"before\":null,\"after\":{\"id\":" id ",\"v\":" v "}," PG(SEQ("1", lsn), lsn) ",\"op\":\"" op "\"}")
#define DEL(offset, id, lsn)                                                                                           \
    LINE(offset, "{\"id\":" id "}",                                                                                    \
         "{\"before\":{\"id\":" id ",\"v\":\"made up\"},\"after\":null," PG(SEQ("1", lsn), lsn) ",\"op\":\"d\"}")

#define YAML(more)                                                                                                     \
    "pipeline: p\ncatalog: lake\nsource: {file: {path: \"%s\", records: kafka}}\ntables:\n  public.t:\n    into: "     \
    "lake.s.t\n"                                                                                                       \
    "    columns: {id: long, v: string}\n" more

static void set_up(struct world *w, const char *yaml, const char *events) {
    char text[4000];
    snprintf(text, sizeof text, yaml, w->events);
    write_file(w->yaml, text);
    write_file(w->events, events);
}

static void inserts_updates_deletes(void **state) {
    (void)state;
    struct world w;
    struct fz_cdc_stats stats;
    open_world(&w);
    set_up(&w, YAML(""),
           PUT("0", "c", "1", "\"a\"", "10") PUT("1", "c", "2", "\"b\"", "11") PUT("2", "u", "1", "null", "12")
               DEL("3", "2", "13") LINE("4", "{\"id\":2}", "null") PUT("5", "c", "3", "\"c\"", "14"));
    run_ok(&w, &stats);
    assert_true(stats.commits == 1 && stats.quarantined == 0);
    expect_rows(&w, "t", "c1 || ':' || coalesce(c2, 'NULL')", "1:NULL 3:c");
    expect_rows(&w, "t", "c1 || ':' || c3",
                "1:0000000000000000001/0000000000000000012 3:0000000000000000001/0000000000000000014");
    run_ok(&w, &stats); // nothing new
    assert_string_equal(w.lines.ptr, "0 changes\n");
    assert_int_equal(n_snapshots(&w, "t"), 1);
    // the file grows: only what is new is applied
    write_file(w.events,
               PUT("0", "c", "1", "\"x\"", "10") PUT("5", "c", "3", "\"x\"", "14") PUT("6", "u", "3", "\"d\"", "15"));
    run_ok(&w, &stats);
    assert_true(stats.events == 1 && stats.changes == 1);
    expect_rows(&w, "t", "c1 || ':' || coalesce(c2, 'NULL')", "1:NULL 3:d");
    close_world(&w);
}

// The same records under another pipeline name: positions are not known, the guard keeps every row.
static void replays_change_nothing(void **state) {
    (void)state;
    struct world w;
    struct fz_cdc_stats stats;
    open_world(&w);
    set_up(&w, YAML(""), PUT("0", "c", "1", "\"a\"", "10") PUT("1", "u", "1", "\"b\"", "11"));
    run_ok(&w, &stats);
    char text[2000];
    snprintf(text, sizeof text, YAML(""), w.events);
    text[10] = 'q'; // pipeline: q
    write_file(w.yaml, text);
    write_file(w.events, PUT("0", "c", "1", "\"a\"", "10"));
    run_ok(&w, &stats);
    assert_int_equal(stats.changes, 0);
    expect_rows(&w, "t", "c1 || ':' || c2", "1:b");
    close_world(&w);
}

static void soft_deletes_keep_the_row(void **state) {
    (void)state;
    struct world w;
    struct fz_cdc_stats stats;
    open_world(&w);
    set_up(&w, YAML("    deletes: {soft: {flag: gone}}\n"),
           PUT("0", "c", "1", "\"a\"", "10") PUT("1", "c", "2", "\"b\"", "11") DEL("2", "2", "12") DEL("3", "9", "13"));
    run_ok(&w, &stats);
    expect_rows(&w, "t", "c1 || ':' || c2 || ':' || c3", "1:a:false 2:b:true"); // 9 was never seen
    write_file(w.events, DEL("4", "1", "14") PUT("5", "c", "2", "\"c\"", "15"));
    run_ok(&w, &stats);
    expect_rows(&w, "t", "c1 || ':' || c2 || ':' || c3", "1:a:true 2:c:false");
    close_world(&w);
}

static void truncates_by_position(void **state) {
    (void)state;
    struct world w;
    struct fz_cdc_stats stats;
    open_world(&w);
    set_up(&w, YAML(""), PUT("0", "c", "1", "\"a\"", "10") PUT("1", "c", "2", "\"b\"", "11"));
    run_ok(&w, &stats);
    write_file(w.events,
               PUT("2", "c", "3", "\"c\"", "12")
                   LINE("3", "null", "{\"before\":null,\"after\":null," PG(SEQ("1", "20"), "20") ",\"op\":\"t\"}")
                       PUT("4", "c", "4", "\"d\"", "21"));
    run_ok(&w, &stats);
    expect_rows(&w, "t", "c1 || ':' || c2", "4:d");
    write_file(w.events,
               LINE("5", "null", "{\"before\":null,\"after\":null," PG(SEQ("1", "30"), "30") ",\"op\":\"t\"}"));
    run_ok(&w, &stats);
    expect_rows(&w, "t", "c1 || ':' || c2", "");
    close_world(&w);
}

#define TOAST "\"__debezium_unavailable_value\""
// A value not sent again stays; a row that moves to another key takes it along, also when the old row is only in the table.
static void values_not_sent_again(void **state) {
    (void)state;
    struct world w;
    struct fz_cdc_stats stats;
    open_world(&w);
    set_up(&w,
           "pipeline: p\ncatalog: lake\nsource: {file: {path: \"%s\", records: kafka}}\ntables:\n  public.t: {into: "
           "lake.s.t, columns: {id: long, v: string, n: int}}\n",
#define ROW(offset, op, id, v, n, lsn)                                                                                 \
    LINE(offset, "{\"id\":" id "}",                                                                                    \
         "{\"before\":null,\"after\":{\"id\":" id ",\"v\":" v ",\"n\":" n "}," PG(SEQ("1", lsn), lsn) ",\"op\":\"" op  \
                                                                                                      "\"}")
           ROW("0", "c", "1", "\"big\"", "1", "10") ROW("1", "c", "2", "\"huge\"", "1", "11")
               ROW("2", "u", "1", TOAST, "2", "12"));
    run_ok(&w, &stats);
    expect_rows(&w, "t", "c1 || ':' || c2 || ':' || c3", "1:big:2 2:huge:1");
    write_file(w.events,
               ROW("3", "u", "1", TOAST, "3",
                   "13") "{\"topic\":\"pg.public.t\",\"partition\":0,\"offset\":4,\"headers\":[[\"__debezium.newkey\","
                         "\"{\\\"id\\\":20}\"]],\"key\":{\"id\":2},"
                         "\"value\":{\"before\":{\"id\":2},\"after\":null," PG(
                             SEQ("1", "14"),
                             "14") ",\"op\":\"d\"}}\n"
                                   "{\"topic\":\"pg.public.t\",\"partition\":0,\"offset\":5,\"headers\":[[\"__debezium."
                                   "oldkey\",\"{\\\"id\\\":2}\"]],\"key\":{\"id\":20},"
                                   "\"value\":{\"before\":null,\"after\":{\"id\":20,\"v\":" TOAST ",\"n\":5}," PG(
                                       SEQ("1", "14"), "14") ",\"op\":\"c\"}}\n" ROW("6", "u", "77", TOAST, "1", "15"));
    run_ok(&w, &stats);
    expect_rows(&w, "t", "c1 || ':' || c2 || ':' || c3", "1:big:3 20:huge:5"); // 77 has no older value anywhere
    assert_int_equal(stats.quarantined, 1);
    expect_rows(&w, "p_quarantine", "c2 || ':' || c3 || ':' || c4", "0:6:UNAVAILABLE_VALUE");
    close_world(&w);
}

static void bad_records_go_to_the_quarantine(void **state) {
    (void)state;
    struct world w;
    struct fz_cdc_stats stats;
    struct fz_err err = FZ_ERR_INIT;
    open_world(&w);
    set_up(&w, YAML("quarantine: {table: lake.s.bad, stop_after: 5}\n"),
           PUT("0", "c", "1", "\"a\"", "10") PUT("1", "c", "\"x\"", "\"b\"", "11")
               PUT("2", "z", "2", "\"b\"", "12") "{\"topic\":\"pg.public.t\"\n" PUT("3", "c", "3", "7", "13")
                   PUT("4", "c", "4", "\"d\"", "14"));
    run_ok(&w, &stats);
    assert_int_equal(stats.quarantined, 4);
    expect_rows(&w, "t", "c1 || ':' || c2", "1:a 4:d");
    char want[200];
    size_t at = strlen(PUT("0", "c", "1", "\"a\"", "10") PUT("1", "c", "\"x\"", "\"b\"", "11")
                           PUT("2", "z", "2", "\"b\"", "12"));
    snprintf(want, sizeof want, "0:1:BAD_VALUE 0:2:UNKNOWN_OP 0:3:BAD_VALUE 0:%zu:BAD_JSON",
             at); // that line has no offset of its own
    expect_rows(&w, "bad", "c2 || ':' || c3 || ':' || c4", want);
    run_ok(&w, &stats);
    assert_string_equal(w.lines.ptr, "0 changes\n");
    assert_int_equal(n_snapshots(&w, "bad"), 1);
    write_file(w.events, PUT("10", "z", "1", "\"a\"", "20") PUT("11", "z", "1", "\"a\"", "20")
                             PUT("12", "z", "1", "\"a\"", "20") PUT("13", "z", "1", "\"a\"", "20")
                                 PUT("14", "z", "1", "\"a\"", "20") PUT("15", "z", "1", "\"a\"", "20"));
    assert_int_equal(run(&w, &stats, &err), FZ_LIMIT);
    close_world(&w);
}

static void tables_are_discovered(void **state) {
    (void)state;
    struct world w;
    struct fz_cdc_stats stats;
    open_world(&w);
    set_up(&w, "pipeline: p\ncatalog: lake\nsource: {file: {path: \"%s\"}}\n",
           "{\"schema\":{\"type\":\"struct\",\"fields\":[{\"field\":\"after\",\"type\":\"struct\",\"fields\":[{"
           "\"field\":\"id\",\"type\":\"int32\"},"
           "{\"field\":\"d\",\"type\":\"int32\",\"name\":\"io.debezium.time.Date\"}]},{\"field\":\"op\",\"type\":"
           "\"string\"}]},\"payload\":{\"before\":null,"
           "\"after\":{\"id\":1,\"d\":20526},\"source\":{\"connector\":\"postgresql\",\"lsn\":5,\"snapshot\":\"false\","
           "\"schema\":\"s\",\"table\":\"t\"},"
           "\"op\":\"c\"}}\n");
    struct fz_err err = FZ_ERR_INIT;
    assert_int_equal(run(&w, &stats, &err), FZ_INVALID_ARG); // bare values carry no key
    assert_non_null(strstr(err.message, "has no key"));
    char text[1000];
    snprintf(text, sizeof text,
             "pipeline: p\ncatalog: lake\nsource: {file: {path: \"%s\"}}\ntables: {s.t: {key: id}}\n", w.events);
    write_file(w.yaml, text);
    run_ok(&w, &stats);
    expect_rows(&w, "t", "c1 || ':' || CAST(c2 AS VARCHAR)", "1:2026-03-14");
    close_world(&w);
}

static void other_instances_are_noticed(void **state) {
    (void)state;
    struct world w;
    struct fz_cdc_stats stats;
    open_world(&w);
    set_up(&w, YAML(""), PUT("0", "c", "1", "\"a\"", "10"));
    run_ok(&w, &stats);
    struct fz_metadata *m = load(&w, "t");
    const struct fz_snapshot *s = fz_metadata_current_snapshot(m);
    assert_string_equal(fz_snapshot_summary(s, "frazil.pipeline"), "p");
    assert_string_equal(fz_snapshot_summary(s, "frazil.positions"), "{\"pg.public.t\":{\"0\":1}}");
    fz_metadata_unref(m);
    close_world(&w);
}

static void check_says_what_it_would_do(void **state) {
    (void)state;
    struct world w;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_cdc_pipeline *p = NULL;
    open_world(&w);
    set_up(&w, YAML("    partition_by: [\"bucket(4, v)\"]\n"),
           PUT("0", "c", "1", "\"a\"", "10") DEL("1", "1", "11") PUT("2", "c", "2", "\"b\"", "12"));
    FZ_OK_OR_FAIL(fz_cdc_pipeline_open(&w.session, w.yaml, &p, &err), &err);
    FZ_OK_OR_FAIL(fz_cdc_pipeline_check(p, on_line, &w, &err), &err);
    fz_cdc_pipeline_close(p);
    static const char *const SAYS[] = {"CREATE TABLE lake.s.t",
                                       "MERGE INTO lake.s.t AS t USING batch AS s ON (t.id = s.id)",
                                       "PARTITIONED BY (bucket(4, v))", "no part of the key", "_frazil_position"};
    for (size_t i = 0; i < sizeof SAYS / sizeof *SAYS; i++) {
        if (strstr(w.lines.ptr, SAYS[i]) == NULL) {
            print_error("%s\n", w.lines.ptr);
            fail();
        }
    }
    const char *levels[] = {"s"};
    struct fz_table_name name = {levels, 1, "t"};
    struct fz_metadata *m = NULL;
    assert_int_equal(w.catalog->vtable->load(w.catalog, &name, &m, &err), FZ_NOT_FOUND); // nothing was made
    close_world(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(inserts_updates_deletes),     FZ_TEST(replays_change_nothing),
        FZ_TEST(soft_deletes_keep_the_row),   FZ_TEST(truncates_by_position),
        FZ_TEST(values_not_sent_again),       FZ_TEST(bad_records_go_to_the_quarantine),
        FZ_TEST(tables_are_discovered),       FZ_TEST(other_instances_are_noticed),
        FZ_TEST(check_says_what_it_would_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
