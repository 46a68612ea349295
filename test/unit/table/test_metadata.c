// table/metadata: documents of several writers with what Iceberg Java makes of them, damaged ones, and writing back.
#include "table/table_fixtures.h"

#include "table/metadata.h"

static int mismatches;

static void compare(const char *what, const json_t *expect, const struct fz_metadata *m) {
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {
        {"format_version", m->format_version},      {"current_schema_id", m->current_schema_id},
        {"schemas", (int64_t)m->n_schemas},         {"specs", (int64_t)m->n_specs},
        {"default_spec_id", m->default_spec_id},    {"last_partition_id", m->last_partition_id},
        {"sort_orders", (int64_t)m->n_sort_orders}, {"default_sort_order_id", m->default_sort_order_id},
        {"snapshots", (int64_t)m->n_snapshots},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        const json_t *want = json_object_get(expect, numbers[i].key);
        if (json_is_integer(want) && json_integer_value(want) != numbers[i].value) {
            print_error("%s: %s is %lld, Java has %lld\n", what, numbers[i].key, (long long)numbers[i].value,
                        (long long)json_integer_value(want));
            mismatches++;
        }
    }
    const char *current = json_string_value(json_object_get(expect, "current_snapshot"));
    if (json_object_get(expect, "current_snapshot") != NULL &&
        (current != NULL ? strtoll(current, NULL, 10) : -1) != m->current_snapshot_id) {
        print_error("%s: current snapshot is %lld\n", what, (long long)m->current_snapshot_id);
        mismatches++;
    }
}

// Where we are stricter on purpose than Java, or kinder, because another writer's files need it.
static bool on_purpose(const json_t *line, enum fz_code rc);

static void check_text(const char *what, const char *text, size_t len, const json_t *expect) {
    struct fz_metadata *m = NULL;
    struct fz_err err = FZ_ERR_INIT;
    enum fz_code rc = fz_metadata_decode(text, len, "here", &m, &err);
    bool accept = json_is_true(json_object_get(expect, "accept"));
    if ((rc == FZ_OK) != accept && !on_purpose(expect, rc)) {
        print_error("%s: we say %s (%s), Java %s\n", what, fz_code_name(rc), err.message,
                    accept ? "accepts" : text_of(expect, "error"));
        mismatches++;
    }
    if (rc == FZ_OK && accept) {
        compare(what, expect, m);
        struct fz_buf again = {0};
        FZ_OK_OR_FAIL(fz_metadata_encode(m, &again, &err), &err);
        struct fz_metadata *second = NULL;
        FZ_OK_OR_FAIL(fz_metadata_decode(again.ptr, again.len, "here", &second, &err), &err);
        compare(what, expect, second);
        fz_metadata_unref(second);
        fz_buf_dispose(&again);
    }
    fz_metadata_unref(m);
}

static void check_document(const json_t *line) {
    struct fz_buf text = {0};
    char name[512];
    (void)snprintf(name, sizeof name, "metadata/%s", text_of(line, "file"));
    assert_true(read_corpus(name, &text));
    check_text(name, text.ptr, text.len, line);
    fz_buf_dispose(&text);
}

static void documents_of_other_writers(void **state) {
    (void)state;
    mismatches = 0;
    for_each_line("metadata/expect.jsonl", check_document);
    assert_int_equal(mismatches, 0);
}

static const char *path_item(const json_t *line, size_t i) {
    const char *item = json_string_value(json_array_get(json_object_get(line, "path"), i));
    return item != NULL ? item : "";
}

static bool on_purpose(const json_t *line, enum fz_code rc) {
    const char *first = path_item(line, 0);
    const char *last = path_item(line, json_array_size(json_object_get(line, "path")) - 1);
    if (rc == FZ_OK) {
        return strcmp(first, "statistics") == 0 ||
               strcmp(first, "partition-statistics") == 0 || // kept as they are, not looked into
               strcmp(first, "snapshot-log") == 0 ||
               strcmp(first, "metadata-log") == 0 || // an order that is off harms nobody
               strcmp(first, "last-updated-ms") == 0 || strcmp(last, "initial-default") == 0 ||
               strcmp(last, "write-default") == 0; // null is no default
    }
    return strcmp(first, "default-sort-order-id") == 0 ||
           strcmp(first, "default-spec-id") == 0 || // Java finds out later
           strcmp(last, "order-id") == 0 || strcmp(last, "spec-id") == 0 || //
           strcmp(first, "snapshot-log") == 0 ||
           strcmp(first, "metadata-log") == 0 || // Java takes what is no array for none
           strcmp(last, "transform") == 0; // the empty name
}

static char *mutate(const json_t *line) {
    struct fz_buf text = {0};
    char name[512];
    (void)snprintf(name, sizeof name, "metadata/%s", text_of(line, "base"));
    assert_true(read_corpus(name, &text));
    json_t *root = json_loadb(text.ptr, text.len, 0, NULL);
    assert_non_null(root);
    fz_buf_dispose(&text);
    const json_t *path = json_object_get(line, "path");
    bool remove = strcmp(text_of(line, "op"), "remove") == 0;
    json_t *at = root, *value = json_object_get(line, "value");
    size_t last = json_array_size(path) - 1;
    for (size_t i = 0; i < last; i++) {
        const json_t *step = json_array_get(path, i);
        at = json_is_integer(step) ? json_array_get(at, (size_t)json_integer_value(step))
                                   : json_object_get(at, json_string_value(step));
    }
    const json_t *step = json_array_get(path, last);
    if (json_is_integer(step)) {
        size_t i = (size_t)json_integer_value(step);
        assert_int_equal(remove ? json_array_remove(at, i) : json_array_set(at, i, value), 0);
    } else {
        assert_int_equal(remove ? json_object_del(at, json_string_value(step))
                                : json_object_set(at, json_string_value(step), value),
                         0);
    }
    char *out = json_dumps(root, JSON_COMPACT);
    json_decref(root);
    return out;
}

static void check_mutation(const json_t *line) {
    char *text = mutate(line);
    char *change = json_dumps(json_object_get(line, "path"), JSON_COMPACT);
    char *value = json_dumps(json_object_get(line, "value"), JSON_COMPACT | JSON_ENCODE_ANY);
    char what[1024];
    (void)snprintf(what, sizeof what, "%s %s %s %s", text_of(line, "base"), change, text_of(line, "op"),
                   value != NULL ? value : "");
    check_text(what, text, strlen(text), line);
    free(text);
    free(change);
    free(value);
}

static void damaged_documents(void **state) {
    (void)state;
    mismatches = 0;
    for_each_line("metadata/mutations.jsonl", check_mutation);
    assert_int_equal(mismatches, 0);
}

// What Java wrote, read and written again, is the same text: members, order, blanks.
static void byte_for_byte(const char *name) {
    struct fz_buf text = {0}, again = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_metadata *m = NULL;
    if (!read_corpus(name, &text)) {
        print_message("no %s: skipped\n", name);
        skip();
    }
    FZ_OK_OR_FAIL(fz_metadata_decode(text.ptr, text.len, NULL, &m, &err), &err);
    FZ_OK_OR_FAIL(fz_metadata_encode(m, &again, &err), &err);
    assert_string_equal(again.ptr, text.ptr);
    fz_metadata_unref(m);
    fz_buf_dispose(&text);
    fz_buf_dispose(&again);
}

static void written_as_java_writes(void **state) {
    (void)state;
    byte_for_byte("metadata/own-refs.json");
    byte_for_byte("metadata/own-schema_evo.json");
    byte_for_byte("metadata/own-sort_orders.json");
    byte_for_byte("metadata/own-stats_ndv.json");
    byte_for_byte("metadata/own-v3_defaults.json");
}

static void gzip_is_detected(void **state) {
    (void)state;
    // gzip of {"format-version":9}
    static const unsigned char gz[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02, 0x03,
                                       0xab, 0x56, 0x4a, 0xcb, 0x2f, 0xca, 0x4d, 0x2c, 0xd1, 0x2d,
                                       0x4b, 0x2d, 0x2a, 0xce, 0xcc, 0xcf, 0x53, 0xb2, 0xb2, 0xac,
                                       0x05, 0x00, 0x11, 0xe8, 0xd8, 0xe8, 0x14, 0x00, 0x00, 0x00};
    struct fz_metadata *m = NULL;
    struct fz_err err = FZ_ERR_INIT;
    enum fz_code rc = fz_metadata_decode(gz, sizeof gz, "x", &m, &err);
    assert_int_equal(rc, FZ_UNSUPPORTED); // version 9 was read
    fz_err_reset(&err);
    assert_int_equal(fz_metadata_decode(gz, 20, "x", &m, &err), FZ_CORRUPT);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(documents_of_other_writers), FZ_TEST(damaged_documents),
                                       FZ_TEST(written_as_java_writes), FZ_TEST(gzip_is_detected)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
