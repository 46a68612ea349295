// table/manifest over whole tables of Spark, PyIceberg, Impala, Trino, DuckDB and Polars: what Iceberg Java reads from the
// manifests of the current snapshot, and the same again after frazil has written them. The tables are where unpack.sh of the
// shared material puts them; without them the tests are skipped.
#include "table/table_fixtures.h"

#include "base/text.h"
#include "table/manifest.h"

#define UNPACKED "/tmp/frazil-data/"

static int mismatches, n_entries_seen;

static bool read_mapped(const json_t *table, const char *location, struct fz_buf *out) {
    char path[4096];
    const char *key;
    json_t *value;
    const char *whole = location;
    if (strncmp(location, "file://", 7) == 0 && json_object_size(json_object_get(table, "path_map")) > 0) {
        location += 7;
    } else if (strncmp(location, "file:", 5) == 0) {
        location += 5;
        location += strncmp(location, "//", 2) == 0 ? 2 : 0;
    }
    size_t best = 0;
    (void)snprintf(path, sizeof path, "%s", location);
    json_object_foreach(json_object_get(table, "path_map"), key, value) {
        size_t len = strlen(key);
        const char *from = strncmp(location, key, len) == 0 ? location : strncmp(whole, key, len) == 0 ? whole : NULL;
        if (len > best && from != NULL) {
            best = len;
            (void)snprintf(path, sizeof path, UNPACKED "%s%s", json_string_value(value), from + len);
        }
    }
    return read_path(path, out);
}

static void differ(const char *table, const char *what, const char *have, const char *want) {
    print_error("%s: %s: have %s, Java has %s\n", table, what, have, want);
    mismatches++;
}

static void same_number(const char *table, const char *what, int64_t have, const json_t *want) {
    int64_t expected = json_is_integer(want) ? json_integer_value(want) : -1;
    if (have != expected) {
        char a[32], b[32];
        (void)snprintf(a, sizeof a, "%lld", (long long)have);
        (void)snprintf(b, sizeof b, "%lld", (long long)expected);
        differ(table, what, a, b);
    }
}

static void same_size(const char *table, const char *what, int64_t have, size_t want) {
    json_t *number = json_integer((json_int_t)want);
    same_number(table, what, have, number);
    json_decref(number);
}

static void same_counts(const char *table, const char *what, const struct fz_id_count *items, size_t n,
                        const json_t *want) {
    if (json_object_size(want) != n) {
        same_size(table, what, (int64_t)n, json_object_size(want));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        char key[16];
        (void)snprintf(key, sizeof key, "%d", items[i].id);
        same_number(table, what, items[i].count, json_object_get(want, key));
    }
}

static void same_bounds(const char *table, const char *what, const struct fz_id_bytes *items, size_t n,
                        const json_t *want) {
    if (json_object_size(want) != n) {
        differ(table, what, "another number of bounds", "");
    }
    for (size_t i = 0; i < n; i++) {
        char key[16];
        struct fz_buf hex = {0};
        (void)snprintf(key, sizeof key, "%d", items[i].id);
        fz_hex_encode(&hex, items[i].bytes.ptr, items[i].bytes.len);
        const char *text = json_string_value(json_object_get(want, key));
        if (text == NULL || strcmp(hex.ptr != NULL ? hex.ptr : "", text) != 0) {
            differ(table, what, hex.ptr, text != NULL ? text : "nothing");
        }
        fz_buf_dispose(&hex);
    }
}

static void same_partition(const char *table, const struct fz_data_file *f, const struct fz_partition_spec *spec,
                           const json_t *want) {
    struct fz_buf text = {0};
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_spec_partition_path(&text, spec, &f->partition, &err), &err);
    bool spelled_freely =
        false; // Java spells floats, zeros of a large scale and time zones in its own way; paths are for people only
    for (size_t i = 0; i < f->partition.u.nested.n; i++) {
        enum fz_type_id id = f->partition.u.nested.items[i].type->id;
        spelled_freely = spelled_freely || id == FZ_TYPE_TIMESTAMPTZ || id == FZ_TYPE_FLOAT || id == FZ_TYPE_DOUBLE ||
                         id == FZ_TYPE_DECIMAL;
    }
    if (!spelled_freely && strcmp(text.ptr != NULL ? text.ptr : "", text_of(want, "partition_path")) != 0) {
        differ(table, "partition path", text.ptr, text_of(want, "partition_path"));
    }
    const json_t *tuple = json_object_get(want, "partition");
    for (size_t i = 0; i < f->partition.u.nested.n; i++) {
        const struct fz_value *v = &f->partition.u.nested.items[i];
        const json_t *expected = json_object_get(tuple, spec->fields[i].name);
        if (v->is_null != (expected == NULL || json_is_null(expected))) {
            differ(table, "partition value", v->is_null ? "null" : "a value", spec->fields[i].name);
        }
    }
    fz_buf_dispose(&text);
}

static void same_entry(const char *table, const struct fz_metadata *m, const struct fz_manifest_entry *e,
                       const json_t *want) {
    const struct fz_data_file *f = &e->file;
    n_entries_seen++;
    if (strcmp(f->file_path, text_of(want, "path")) != 0) {
        differ(table, "path", f->file_path, text_of(want, "path"));
        return;
    }
    if (strcmp(f->file_format, text_of(want, "format")) != 0) {
        differ(table, "format", f->file_format, text_of(want, "format"));
    }
    same_number(table, "content", (int64_t)f->content, json_object_get(want, "content"));
    same_number(table, "records", f->record_count, json_object_get(want, "records"));
    same_number(table, "size", f->file_size_in_bytes, json_object_get(want, "size"));
    same_number(table, "data sequence number", e->sequence_number, json_object_get(want, "data_seq"));
    same_number(table, "file sequence number", e->file_sequence_number, json_object_get(want, "file_seq"));
    same_number(table, "first row id", f->first_row_id, json_object_get(want, "first_row_id"));
    same_number(table, "sort order", f->sort_order_id, json_object_get(want, "sort_order_id"));
    same_size(table, "equality ids", (int64_t)f->n_equality_ids,
              json_array_size(json_object_get(want, "equality_ids")));
    same_counts(table, "value counts", f->value_counts, f->n_value_counts, json_object_get(want, "value_counts"));
    same_counts(table, "null counts", f->null_value_counts, f->n_null_value_counts,
                json_object_get(want, "null_counts"));
    same_counts(table, "nan counts", f->nan_value_counts, f->n_nan_value_counts, json_object_get(want, "nan_counts"));
    same_bounds(table, "lower bounds", f->lower_bounds, f->n_lower_bounds, json_object_get(want, "lower"));
    same_bounds(table, "upper bounds", f->upper_bounds, f->n_upper_bounds, json_object_get(want, "upper"));
    if (json_object_get(want, "referenced") != NULL && f->referenced_data_file != NULL) {
        assert_string_equal(f->referenced_data_file, text_of(want, "referenced"));
        same_number(table, "offset", f->content_offset, json_object_get(want, "offset"));
        same_number(table, "length", f->content_size_in_bytes, json_object_get(want, "length"));
    }
    same_partition(table, f, fz_metadata_spec(m, f->spec_id), want);
}

static void same_entries(const char *table, const struct fz_metadata *m, const struct fz_manifest_entry *entries,
                         size_t n, const json_t *want) {
    size_t live = 0;
    for (size_t i = 0; i < n; i++) {
        if (entries[i].status == FZ_ENTRY_DELETED) {
            continue;
        }
        const json_t *expected = json_array_get(want, live++);
        if (expected != NULL) {
            same_entry(table, m, &entries[i], expected);
        }
    }
    same_size(table, "live entries", (int64_t)live, json_array_size(want));
}

// Written again by frazil: the entries come back as they were, and the list row says the same as the one of the other writer.
static void write_again(const char *table, struct fz_arena *arena, const struct fz_metadata *m,
                        const struct fz_manifest_file *file, struct fz_manifest_entry *entries, size_t n,
                        const json_t *want) {
    struct fz_buf out = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_manifest_file row;
    const struct fz_manifest_encode in = {m, file->partition_spec_id, file->content == 1, entries, n};
    FZ_OK_OR_FAIL(fz_manifest_encode(arena, &in, &out, &row, &err), &err);
    bool edited_by_hand =
        strstr(table, "null_delete_record") != NULL; // its list rows do not say what the manifests hold
    if (!edited_by_hand && file->added_files_count >= 0 &&
        (row.added_files_count != file->added_files_count || row.deleted_files_count != file->deleted_files_count)) {
        differ(table, "counts after writing", "", "");
    }
    if (file->n_partitions == row.n_partitions) {
        for (size_t i = 0; i < row.n_partitions; i++) {
            const struct fz_field_summary *a = &row.partitions[i], *b = &file->partitions[i];
            // (bounds of a promoted column are written with the new width)
            if (a->contains_null != b->contains_null || a->has_bounds != b->has_bounds ||
                (a->has_bounds && a->lower_bound.len == b->lower_bound.len &&
                 (!fz_str_eq(a->lower_bound, b->lower_bound) || !fz_str_eq(a->upper_bound, b->upper_bound)))) {
                differ(table, "partition summary after writing", "", "");
            }
        }
    }
    row.manifest_path = file->manifest_path;
    row.sequence_number = file->sequence_number;
    row.min_sequence_number = row.min_sequence_number < 0 ? file->min_sequence_number : row.min_sequence_number;
    row.added_snapshot_id = file->added_snapshot_id;
    row.first_row_id = file->first_row_id;
    struct fz_buf list = {0};
    struct fz_manifest_file *rows;
    size_t n_rows, n_again;
    FZ_OK_OR_FAIL(fz_manifest_list_encode(m, &row, 1, 1, -1, 7, 0, &list, &err), &err);
    FZ_OK_OR_FAIL(fz_manifest_list_decode(arena, list.ptr, list.len, &rows, &n_rows, &err), &err);
    assert_int_equal(n_rows, 1);
    struct fz_manifest_entry *again;
    FZ_OK_OR_FAIL(fz_manifest_decode(arena, out.ptr, out.len, &rows[0], m, &again, &n_again, &err), &err);
    assert_int_equal(n_again, n);
    same_entries(table, m, again, n_again, want);
    fz_buf_dispose(&out);
    fz_buf_dispose(&list);
}

static void check_manifest(const char *table, const json_t *where, struct fz_arena *arena, const struct fz_metadata *m,
                           const struct fz_manifest_file *file, const json_t *want) {
    struct fz_buf bytes = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_manifest_entry *entries;
    size_t n;
    assert_true(read_mapped(where, file->manifest_path, &bytes));
    FZ_OK_OR_FAIL(fz_manifest_decode(arena, bytes.ptr, bytes.len, file, m, &entries, &n, &err), &err);
    same_number(table, "manifest content", file->content, json_object_get(want, "content"));
    same_number(table, "manifest sequence number", file->sequence_number, json_object_get(want, "seq"));
    same_number(table, "manifest min sequence number", file->min_sequence_number, json_object_get(want, "min_seq"));
    same_number(table, "manifest first row id", file->first_row_id, json_object_get(want, "first_row_id"));
    same_entries(table, m, entries, n, json_object_get(want, "entries"));
    if (!(m->format_version == 1 && file->content == 1)) {
        write_again(table, arena, m, file, entries, n, json_object_get(want, "entries"));
    }
    // Without the table's metadata the manifest's own header gives the types: no error, same paths.
    struct fz_manifest_entry *alone;
    size_t n_alone;
    FZ_OK_OR_FAIL(fz_manifest_decode(arena, bytes.ptr, bytes.len, file, NULL, &alone, &n_alone, &err), &err);
    assert_int_equal(n_alone, n);
    fz_buf_dispose(&bytes);
}

static void check_table(const json_t *where) {
    const char *name = text_of(where, "name");
    const char *slash = strchr(name, '/');
    char path[1024];
    struct fz_buf text = {0}, bytes = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_metadata *m = NULL;
    (void)snprintf(path, sizeof path, "tables/expect/%.*s/%s/files.json", (int)(slash - name), name, slash + 1);
    if (!read_corpus(path, &text)) {
        return; // no snapshot, or Java refuses the table
    }
    json_t *expect = json_loadb(text.ptr, text.len, 0, NULL);
    (void)snprintf(path, sizeof path, UNPACKED "%s", text_of(where, "metadata"));
    assert_true(read_path(path, &bytes));
    FZ_OK_OR_FAIL(fz_metadata_decode(bytes.ptr, bytes.len, path, &m, &err), &err);
    const struct fz_snapshot *s = fz_metadata_current_snapshot(m);
    assert_non_null(s);
    fz_buf_clear(&bytes);
    if (s->manifest_list != NULL) {
        if (!read_mapped(where, s->manifest_list, &bytes)) {
            differ(name, "no manifest list", s->manifest_list, "");
        }
        struct fz_manifest_file *files;
        size_t n;
        FZ_OK_OR_FAIL(fz_manifest_list_decode(&arena, bytes.ptr, bytes.len, &files, &n, &err), &err);
        if (n != json_array_size(expect)) {
            same_size(name, "manifests", (int64_t)n, json_array_size(expect));
        }
        for (size_t i = 0; i < n; i++) {
            for (size_t j = 0; j < json_array_size(expect); j++) { // Java lists data manifests first
                if (strcmp(text_of(json_array_get(expect, j), "path"), files[i].manifest_path) == 0) {
                    check_manifest(name, where, &arena, m, &files[i], json_array_get(expect, j));
                }
            }
        }
    }
    fz_metadata_unref(m);
    fz_arena_dispose(&arena);
    json_decref(expect);
    fz_buf_dispose(&text);
    fz_buf_dispose(&bytes);
}

static void manifests_of_other_writers(void **state) {
    (void)state;
    struct fz_buf text = {0};
    FILE *there = fopen(UNPACKED "wh/spark/hadoop/db/v3_dv/metadata/v7.metadata.json", "rb");
    if (there == NULL || !read_corpus("tables/tables.json", &text)) {
        print_message("tables are not unpacked: skipped\n");
        skip();
    }
    (void)fclose(there);
    json_t *tables = json_loadb(text.ptr, text.len, 0, NULL);
    size_t i;
    json_t *table;
    mismatches = n_entries_seen = 0;
    json_array_foreach(tables, i, table) {
        check_table(table);
    }
    print_message("%d entries compared\n", n_entries_seen);
    assert_int_equal(mismatches, 0);
    assert_true(n_entries_seen > 200);
    json_decref(tables);
    fz_buf_dispose(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(manifests_of_other_writers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
