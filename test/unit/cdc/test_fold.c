// Folding: cases that the field log of CDC mistakes names (lsn that goes down, snapshot rows that come late, swapped keys, truncates).
#include "leak_check.h"

#include <stdio.h>

#include "cdc/decode/decode_debezium.h"
#include "cdc/fold/fold.h"

struct event {
    const char *key, *op, *after, *sequence, *lsn, *snapshot, *headers;
};

static void fold_events(const char *yaml, const struct event *events, size_t n, const char *want) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_pipeline *pipeline = NULL;
    struct fz_arena arena = {0};
    struct fz_cdc_tables tables = {.arena = &arena};
    struct fz_cdc_table *table = NULL;
    struct fz_cdc_decoder *decoder = NULL;
    struct fz_fold fold;
    FZ_OK_OR_FAIL(fz_pipeline_parse(fz_str_of(yaml), "t.yaml", &pipeline, &err), &err);
    FZ_OK_OR_FAIL(fz_cdc_tables_add(&tables, &pipeline->tables[0], "public.t", &table, &err), &err);
    FZ_OK_OR_FAIL(fz_cdc_decoder_new(pipeline, &tables, &decoder, &err), &err);
    fz_fold_init(&fold, table);
    for (size_t i = 0; i < n; i++) {
        char value[1000];
        snprintf(
            value, sizeof value,
            "{\"before\":%s%s,\"after\":%s,\"op\":\"%s\",\"source\":{\"connector\":\"postgresql\",\"snapshot\":\"%s\","
            "\"sequence\":\"%s\",\"lsn\":%s,\"schema\":\"public\",\"table\":\"t\"}}",
            events[i].key, "", events[i].after, events[i].op, events[i].snapshot == NULL ? "false" : events[i].snapshot,
            events[i].sequence, events[i].lsn);
        struct fz_cdc_record record = {.position = {"pg.public.t", 0, (int64_t)i, (int64_t)i + 1}, .has_topic = true};
        record.key = fz_str_of(events[i].key);
        if (strcmp(events[i].key, "null") == 0) {
            record.key = (struct fz_str){NULL, 0};
        }
        record.value = record.raw = fz_str_of(value);
        record.headers = fz_str_of(events[i].headers);
        struct fz_cdc_decoded decoded;
        FZ_OK_OR_FAIL(fz_cdc_decode(decoder, &record, &decoded, &err), &err);
        if (decoded.outcome == FZ_CDC_BAD) {
            print_error("event %zu: %s %s\n", i, decoded.reason, decoded.text);
            fail();
        }
        for (int c = 0; c < decoded.n_changes; c++) {
            const char *reason, *text;
            FZ_OK_OR_FAIL(fz_fold_add(&fold, &decoded.changes[c], &reason, &text, &err), &err);
            assert_null(reason);
        }
    }
    struct fz_buf have = {0};
    fz_buf_puts(&have, fold.truncated ? "truncated " : "");
    for (size_t i = 0; i < fold.n_rows; i++) {
        const struct fz_fold_row *row = fold.rows[i];
        fz_value_print(&have, &row->values[table->key[0]]);
        fz_buf_putc(&have, row->is_delete ? '-' : '=');
        if (!row->is_delete) {
            fz_value_print(&have, &row->values[1]);
        }
        fz_buf_putc(&have, ' ');
    }
    assert_string_equal(have.ptr == NULL ? "" : have.ptr, want);
    assert_int_equal(fold.pending_moves, 0);
    fz_buf_dispose(&have);
    fz_fold_dispose(&fold);
    fz_cdc_decoder_free(decoder);
    fz_cdc_tables_dispose(&tables);
    fz_pipeline_free(pipeline);
    fz_arena_dispose(&arena);
}

#define YAML(more)                                                                                                     \
    "source: {file: {path: x, records: kafka}}\ntables:\n  public.t: {columns: {id: long, v: string}" more "}\n"
#define SEQ(a, b) "[\\\"" a "\\\",\\\"" b "\\\"]"
#define N(events) (sizeof(events) / sizeof *(events))
#define ID(n) "{\"id\":" n "}"
#define ROW(n, v) "{\"id\":" n ",\"v\":\"" v "\"}"

static void lsn_may_go_down(void **state) {
    (void)state;
    static const struct event overlapping[] = {
        {ID("1"), "c", ROW("1", "a"), SEQ("2", "3"), "3", NULL, NULL},
        {ID("2"), "c", ROW("2", "b"), SEQ("2", "7"), "7", NULL, NULL},
        {ID("3"), "c", ROW("3", "c"), SEQ("8", "4"), "4", NULL, NULL},
        {ID("4"), "c", ROW("4", "d"), SEQ("8", "6"), "6", NULL, NULL},
    };
    fold_events(YAML(""), overlapping, N(overlapping), "1=a 2=b 3=c 4=d ");
    static const struct event deferrable[] = {
        {ID("1"), "d", "null", SEQ("1", "3"), "3", NULL, NULL},
        {ID("1"), "c", ROW("1", "n"), SEQ("8", "2"), "2", NULL, NULL},
    };
    fold_events(YAML(""), deferrable, N(deferrable), "1=n ");
}

static void older_events_that_come_again(void **state) {
    (void)state;
    static const struct event again[] = {
        {ID("1"), "c", ROW("1", "a"), SEQ("1", "1"), "1", NULL, NULL},
        {ID("1"), "u", ROW("1", "b"), SEQ("1", "2"), "2", NULL, NULL},
        {ID("1"), "d", "null", SEQ("1", "3"), "3", NULL, NULL},
        {ID("1"), "u", ROW("1", "b"), SEQ("1", "2"), "2", NULL, NULL},
    };
    fold_events(YAML(""), again, N(again), "1- ");
}

static void snapshot_rows(void **state) {
    (void)state;
    static const struct event late[] = {
        // a snapshot row with an older position, later in the stream
        {ID("1"), "u", ROW("1", "new"), SEQ("20", "21"), "21", NULL, NULL},
        {ID("1"), "r", ROW("1", "old"), "[null,\\\"10\\\"]", "10", "true", NULL},
        {ID("2"), "u", ROW("2", "old"), SEQ("4", "5"), "5", NULL, NULL},
        {ID("2"), "r", ROW("2", "new"), "[null,\\\"10\\\"]", "10", "true", NULL},
    };
    fold_events(YAML(""), late, N(late), "1=new 2=new ");
    static const struct event incremental[] = {
        // without a position: true where it stands
        {ID("3"), "u", ROW("3", "stale"), SEQ("4", "5"), "5", NULL, NULL},
        {ID("3"), "r", ROW("3", "healed"), SEQ("4", "4"), "null", "incremental", NULL},
    };
    fold_events(YAML(""), incremental, N(incremental), "3=healed ");
    fold_events(YAML(", snapshot_rows: keep-streamed"), incremental, N(incremental), "3=stale ");
}

#define NEWKEY(n) "[[\"__debezium.newkey\",\"{\\\"id\\\":" n "}\"]]"
#define OLDKEY(n) "[[\"__debezium.oldkey\",\"{\\\"id\\\":" n "}\"]]"
#define TOAST "__debezium_unavailable_value"
// 1 and 2 change places by way of 3; the values are not sent again.
static void swapped_keys(void **state) {
    (void)state;
    static const struct event swap[] = {
        {ID("1"), "c", ROW("1", "one"), SEQ("1", "1"), "1", NULL, NULL},
        {ID("2"), "c", ROW("2", "two"), SEQ("1", "2"), "2", NULL, NULL},
        {ID("1"), "d", "null", SEQ("2", "3"), "3", NULL, NEWKEY("3")},
        {ID("3"), "c", ROW("3", TOAST), SEQ("2", "3"), "3", NULL, OLDKEY("1")},
        {ID("2"), "d", "null", SEQ("2", "4"), "4", NULL, NEWKEY("1")},
        {ID("1"), "c", ROW("1", TOAST), SEQ("2", "4"), "4", NULL, OLDKEY("2")},
        {ID("3"), "d", "null", SEQ("2", "5"), "5", NULL, NEWKEY("2")},
        {ID("2"), "c", ROW("2", TOAST), SEQ("2", "5"), "5", NULL, OLDKEY("3")},
    };
    fold_events(YAML(""), swap, N(swap), "1=two 2=one 3- ");
}

static void truncates(void **state) {
    (void)state;
    static const struct event events[] = {
        {ID("1"), "c", ROW("1", "a"), SEQ("1", "1"), "1", NULL, NULL},
        {ID("9"), "c", ROW("9", "later"), SEQ("9", "9"), "9", NULL, NULL}, // of another partition: behind the truncate
        {"null", "t", "null", SEQ("5", "5"), "5", NULL, NULL},
        {ID("2"), "c", ROW("2", "b"), SEQ("6", "6"), "6", NULL, NULL},
        {ID("3"), "c", ROW("3", "before"), SEQ("4", "4"), "4", NULL, NULL}, // comes late
    };
    fold_events(YAML(""), events, N(events), "truncated 9=later 2=b ");
    fold_events(YAML(", truncate: ignore"), events, N(events), "1=a 9=later 2=b 3=before ");
}

static void columns_keep_what_is_not_sent(void **state) {
    (void)state;
    static const struct event events[] = {
        {ID("1"), "c", ROW("1", "D1"), SEQ("1", "1"), "1", NULL, NULL},
        {ID("1"), "u", ROW("1", TOAST), SEQ("1", "2"), "2", NULL, NULL},
        {ID("2"), "c", ROW("2", "x"), SEQ("1", "3"), "3", NULL, NULL},
        {ID("2"), "u", "{\"id\":2,\"v\":null}", SEQ("1", "4"), "4", NULL, NULL},
    };
    fold_events(YAML(""), events, N(events), "1=D1 2=NULL ");
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(lsn_may_go_down), FZ_TEST(older_events_that_come_again),
                                       FZ_TEST(snapshot_rows),   FZ_TEST(swapped_keys),
                                       FZ_TEST(truncates),       FZ_TEST(columns_keep_what_is_not_sent)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
