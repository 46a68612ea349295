// commit/: snapshots over the memory catalog and store. Expected keys and numbers are what Spark and Iceberg wrote for the same
// steps (conformance corpus, and statements asked of Spark), and the specification's own examples.
#include "commit/commit_table.h"

static struct fz_data_file dv_of(struct commit_table *t, const char *puffin, int64_t offset, const char *target,
                                 const char *cat, int64_t rows) {
    struct fz_data_file f = file_of(t, FZ_CONTENT_POSITION_DELETES, puffin, cat, rows);
    f.file_format = "PUFFIN";
    f.referenced_data_file = target;
    f.content_offset = offset;
    f.content_size_in_bytes = 40;
    f.file_size_in_bytes = 400;
    return f;
}

static size_t objects_below(struct commit_table *t, const char *prefix);
static enum fz_code count_object(void *ctx, const struct fz_list_entry *entry, struct fz_err *err) {
    (void)entry;
    (void)err;
    ++*(size_t *)ctx;
    return FZ_OK;
}
static size_t objects_below(struct commit_table *t, const char *prefix) {
    size_t n = 0;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_store_list(t->store, prefix, count_object, &n, &err), &err);
    return n;
}

static void appending(void **state) {
    (void)state;
    struct commit_table t;
    table_open(&t, true, "2", NULL, 0);
    const struct fz_data_file first[] = {file_of(&t, FZ_CONTENT_DATA, "memory://w/a", "x", 1),
                                         file_of(&t, FZ_CONTENT_DATA, "memory://w/b", "y", 1),
                                         file_of(&t, FZ_CONTENT_DATA, "memory://w/c", "x", 1)};
    const struct fz_snapshot *s = append_ok(&t, first, 3);
    summary_is(s, "operation", "append");
    summary_is(s, "added-data-files", "3");
    summary_is(s, "added-records", "3");
    summary_is(s, "added-files-size", "30");
    summary_is(s, "changed-partition-count", "2");
    summary_is(s, "manifests-created", "1");
    summary_is(s, "manifests-kept", "0");
    summary_is(s, "manifests-replaced", "0");
    summary_is(s, "total-records", "3");
    summary_is(s, "total-delete-files", "0");
    summary_is(s, "total-equality-deletes", "0");
    summary_is(s, "deleted-data-files", NULL);
    summary_is(s, "engine-name", "frazil");
    assert_int_equal(s->sequence_number, 1);
    assert_int_equal(s->parent_snapshot_id, -1);
    const struct fz_data_file second = file_of(&t, FZ_CONTENT_DATA, "memory://w/d", NULL, 5);
    s = append_ok(&t, &second, 1);
    summary_is(s, "manifests-kept", "1");
    summary_is(s, "total-data-files", "4");
    summary_is(s, "total-records", "8");
    assert_int_equal(s->sequence_number, 2);
    assert_int_equal(live_entry(&t, s, "memory://w/a")->sequence_number, 1);
    assert_int_equal(live_entry(&t, s, "memory://w/d")->sequence_number, 2);
    size_t n;
    struct fz_manifest_file *files = list_of(&t, s, &n);
    assert_int_equal(n, 2);
    assert_int_equal(files[0].sequence_number, 2); // the newest first
    assert_true(files[0].partitions[0].contains_null && !files[0].partitions[0].has_bounds);
    assert_memory_equal(files[1].partitions[0].upper_bound.ptr, "y", 1);
    assert_int_equal(files[1].min_sequence_number, 1);
    assert_int_equal(t.metadata->n_snapshot_log, 2);
    assert_int_equal(t.metadata->n_metadata_log, 2);
    table_close(&t);
}

static void nothing_is_a_snapshot_too(void **state) {
    (void)state;
    struct commit_table t;
    table_open(&t, false, "2", NULL, 0);
    const struct fz_data_file a = file_of(&t, FZ_CONTENT_DATA, "memory://w/a", NULL, 3);
    append_ok(&t, &a, 1);
    struct fz_commit_request r = request_of(&t, FZ_COMMIT_OVERWRITE);
    r.isolation = FZ_ISOLATION_SERIALIZABLE;
    const struct fz_snapshot *s = commit_ok(&t, &r);
    summary_is(s, "operation", "overwrite");
    summary_is(s, "changed-partition-count", "0");
    summary_is(s, "manifests-created", "0");
    summary_is(s, "manifests-kept", "1");
    summary_is(s, "added-data-files", NULL);
    summary_is(s, "total-records", "3");
    table_close(&t);
}

static void copy_on_write(void **state) {
    (void)state;
    struct commit_table t;
    table_open(&t, false, "2", NULL, 0);
    const struct fz_data_file a[] = {file_of(&t, FZ_CONTENT_DATA, "memory://w/a", NULL, 3),
                                     file_of(&t, FZ_CONTENT_DATA, "memory://w/b", NULL, 4)};
    append_ok(&t, a, 2);
    const struct fz_data_file c = file_of(&t, FZ_CONTENT_DATA, "memory://w/c", NULL, 3);
    struct fz_commit_request r = request_of(&t, FZ_COMMIT_OVERWRITE);
    r.removed = a;
    r.n_removed = 1;
    r.added = &c;
    r.n_added = 1;
    r.isolation = FZ_ISOLATION_SERIALIZABLE;
    const struct fz_snapshot *s = commit_ok(&t, &r);
    summary_is(s, "operation", "overwrite");
    summary_is(s, "deleted-data-files", "1");
    summary_is(s, "deleted-records", "3");
    summary_is(s, "removed-files-size", "30");
    summary_is(s, "manifests-created", "2");
    summary_is(s, "manifests-kept", "0");
    summary_is(s, "manifests-replaced", "1");
    summary_is(s, "changed-partition-count", "1");
    assert_null(live_entry(&t, s, "memory://w/a"));
    const struct fz_manifest_entry *b = live_entry(&t, s, "memory://w/b");
    assert_int_equal(b->status, FZ_ENTRY_EXISTING);
    assert_int_equal(b->sequence_number, 1);
    assert_int_equal(b->file_sequence_number, 1);
    size_t n;
    struct fz_manifest_file *files = list_of(&t, s, &n);
    assert_int_equal(n, 2);
    assert_int_equal(files[1].deleted_files_count, 1);
    assert_int_equal(files[1].existing_rows_count, 4);
    assert_int_equal(files[1].min_sequence_number, 1);
    // Only removing is "delete"; a manifest whose last live file goes is still listed by the snapshot that emptied it.
    r = request_of(&t, FZ_COMMIT_OVERWRITE);
    const struct fz_data_file rest[] = {a[1], c};
    r.removed = rest;
    r.n_removed = 2;
    s = commit_ok(&t, &r);
    summary_is(s, "operation", "delete");
    summary_is(s, "total-records", "0");
    list_of(&t, s, &n);
    assert_int_equal(n, 2);
    const struct fz_data_file d = file_of(&t, FZ_CONTENT_DATA, "memory://w/d", NULL, 1);
    s = append_ok(&t, &d, 1);
    list_of(&t, s, &n);
    assert_int_equal(n, 1); // and not by the next one
    table_close(&t);
}

static void merge_on_read_and_old_deletes(void **state) {
    (void)state;
    struct commit_table t;
    table_open(&t, false, "2", NULL, 0);
    const struct fz_data_file a = file_of(&t, FZ_CONTENT_DATA, "memory://w/a", NULL, 3);
    append_ok(&t, &a, 1);
    struct fz_data_file d1 = file_of(&t, FZ_CONTENT_POSITION_DELETES, "memory://w/d1", NULL, 1);
    d1.referenced_data_file = "memory://w/a";
    struct fz_commit_request r = request_of(&t, FZ_COMMIT_ROW_DELTA);
    r.added = &d1;
    r.n_added = 1;
    const struct fz_snapshot *s = commit_ok(&t, &r);
    summary_is(s, "operation", "delete");
    summary_is(s, "added-delete-files", "1");
    summary_is(s, "added-position-delete-files", "1");
    summary_is(s, "added-position-deletes", "1");
    summary_is(s, "total-position-deletes", "1");
    summary_is(s, "manifests-created", "1");
    summary_is(s, "manifests-kept", "1");
    // The next delete of the same file replaces the first delete file.
    struct fz_data_file d2 = file_of(&t, FZ_CONTENT_POSITION_DELETES, "memory://w/d2", NULL, 2);
    d2.referenced_data_file = "memory://w/a";
    r = request_of(&t, FZ_COMMIT_ROW_DELTA);
    r.added = &d2;
    r.n_added = 1;
    r.removed = &d1;
    r.n_removed = 1;
    s = commit_ok(&t, &r);
    summary_is(s, "manifests-created", "2");
    summary_is(s, "manifests-kept", "1");
    summary_is(s, "manifests-replaced", "1");
    summary_is(s, "removed-delete-files", "1");
    summary_is(s, "removed-position-deletes", "1");
    summary_is(s, "total-delete-files", "1");
    summary_is(s, "total-position-deletes", "2");
    // All data gone: deletes older than anything alive go along.
    r = request_of(&t, FZ_COMMIT_OVERWRITE);
    r.removed = &a;
    r.n_removed = 1;
    s = commit_ok(&t, &r);
    const struct fz_data_file b = file_of(&t, FZ_CONTENT_DATA, "memory://w/b", NULL, 1);
    s = append_ok(&t, &b, 1);
    s = append_ok(&t, NULL, 0);
    summary_is(s, "total-delete-files", "0");
    assert_null(live_entry(&t, s, "memory://w/d2"));
    table_close(&t);
}

static void vectors_and_row_ids(void **state) {
    (void)state;
    struct commit_table t;
    table_open(&t, true, "3", NULL, 0);
    const struct fz_data_file files[] = {file_of(&t, FZ_CONTENT_DATA, "memory://w/a", "x", 30),
                                         file_of(&t, FZ_CONTENT_DATA, "memory://w/b", "y", 10)};
    const struct fz_snapshot *s = append_ok(&t, files, 2);
    assert_int_equal(s->first_row_id, 0);
    assert_int_equal(s->added_rows, 40);
    assert_int_equal(t.metadata->next_row_id, 40);
    assert_int_equal(live_entry(&t, s, "memory://w/a")->file.first_row_id, 0);
    assert_int_equal(live_entry(&t, s, "memory://w/b")->file.first_row_id, 30);
    const struct fz_data_file vectors[] = {dv_of(&t, "memory://w/p", 4, "memory://w/a", "x", 2),
                                           dv_of(&t, "memory://w/p", 44, "memory://w/b", "y", 3)};
    struct fz_commit_request r = request_of(&t, FZ_COMMIT_ROW_DELTA);
    r.added = vectors;
    r.n_added = 2;
    s = commit_ok(&t, &r);
    summary_is(s, "added-dvs", "2");
    summary_is(s, "added-position-delete-files", NULL);
    summary_is(s, "added-position-deletes", "5");
    summary_is(s, "added-files-size", "80"); // blobs, not the Puffin file
    assert_int_equal(s->added_rows, 0);
    // Removing a data file removes its vector and keeps the other one of the same Puffin file.
    const struct fz_data_file c = file_of(&t, FZ_CONTENT_DATA, "memory://w/c", "x", 28);
    r = request_of(&t, FZ_COMMIT_OVERWRITE);
    r.removed = files;
    r.n_removed = 1;
    r.added = &c;
    r.n_added = 1;
    s = commit_ok(&t, &r);
    summary_is(s, "removed-dvs", "1");
    summary_is(s, "removed-position-deletes", "2");
    const struct fz_manifest_entry *left = live_entry(&t, s, "memory://w/p");
    assert_string_equal(left->file.referenced_data_file, "memory://w/b");
    assert_int_equal(left->file.content_offset, 44);
    // c gets new ids; b keeps its own though its manifest was written again (the counter still grows by the manifest's rows).
    assert_int_equal(live_entry(&t, s, "memory://w/c")->file.first_row_id, 40);
    assert_int_equal(live_entry(&t, s, "memory://w/b")->file.first_row_id, 30);
    assert_int_equal(s->first_row_id, 40);
    assert_int_equal(s->added_rows, 38);
    table_close(&t);
}

static void versions_refuse_what_they_cannot_hold(void **state) {
    (void)state;
    const char *const versions[] = {"1", "2", "3"};
    for (int v = 0; v < 3; v++) {
        struct commit_table t;
        struct fz_err err = FZ_ERR_INIT;
        struct fz_commit_result result;
        table_open(&t, false, versions[v], NULL, 0);
        const struct fz_data_file a = file_of(&t, FZ_CONTENT_DATA, "memory://w/a", NULL, 3);
        const struct fz_snapshot *s = append_ok(&t, &a, 1);
        assert_int_equal(s->sequence_number, v == 0 ? 0 : 1);
        struct fz_data_file del = v == 1 ? dv_of(&t, "memory://w/p", 4, "memory://w/a", NULL, 1)
                                         : file_of(&t, FZ_CONTENT_POSITION_DELETES, "memory://w/d", NULL, 1);
        struct fz_commit_request r = request_of(&t, FZ_COMMIT_ROW_DELTA);
        r.added = &del;
        r.n_added = 1;
        size_t before = objects_below(&t, "memory://w/db/t/metadata/");
        assert_int_equal(fz_commit_snapshot(&r, &result, &err), FZ_UNSUPPORTED);
        assert_int_equal(objects_below(&t, "memory://w/db/t/metadata/"), before);
        if (v == 0) { // copy-on-write works in v1
            const struct fz_data_file b = file_of(&t, FZ_CONTENT_DATA, "memory://w/b", NULL, 2);
            r = request_of(&t, FZ_COMMIT_OVERWRITE);
            r.removed = &a;
            r.n_removed = 1;
            r.added = &b;
            r.n_added = 1;
            s = commit_ok(&t, &r);
            assert_null(live_entry(&t, s, "memory://w/a"));
            assert_non_null(live_entry(&t, s, "memory://w/b"));
        }
        table_close(&t);
    }
}

static void manifests_are_merged(void **state) {
    (void)state;
    struct commit_table t;
    const struct fz_property merge = {"commit.manifest.min-count-to-merge", "4"};
    table_open(&t, false, "2", &merge, 1);
    const struct fz_snapshot *s = NULL;
    for (int i = 1; i <= 4; i++) {
        const struct fz_data_file f =
            file_of(&t, FZ_CONTENT_DATA, fz_arena_printf(&t.arena, "memory://w/%d", i), NULL, i);
        s = append_ok(&t, &f, 1);
        size_t n;
        struct fz_manifest_file *files = list_of(&t, s, &n);
        assert_int_equal(n, i < 4 ? i : 1);
        if (i == 4) {
            assert_int_equal(files[0].added_files_count, 1);
            assert_int_equal(files[0].existing_files_count, 3);
            assert_int_equal(files[0].min_sequence_number, 1);
        }
    }
    summary_is(s, "manifests-created", "1");
    summary_is(s, "manifests-kept", "0");
    summary_is(s, "manifests-replaced", "4");
    for (int i = 1; i <= 4; i++) {
        const struct fz_manifest_entry *e = live_entry(&t, s, fz_arena_printf(&t.arena, "memory://w/%d", i));
        assert_int_equal(e->sequence_number, i);
        assert_int_equal(e->file_sequence_number, i);
    }
    table_close(&t);
}

static void branches(void **state) {
    (void)state;
    struct commit_table t;
    table_open(&t, false, "2", NULL, 0);
    const struct fz_data_file a = file_of(&t, FZ_CONTENT_DATA, "memory://w/a", NULL, 3),
                              b = file_of(&t, FZ_CONTENT_DATA, "memory://w/b", NULL, 1);
    append_ok(&t, &a, 1);
    int64_t main_id = t.metadata->current_snapshot_id;
    struct fz_commit_request r = request_of(&t, FZ_COMMIT_APPEND);
    r.branch = "audit";
    r.added = &b;
    r.n_added = 1;
    const struct fz_snapshot *s = commit_ok(&t, &r);
    assert_int_equal(t.metadata->current_snapshot_id, main_id);
    assert_int_equal(s->parent_snapshot_id, main_id);
    assert_int_equal(fz_metadata_find_ref(t.metadata, "audit")->snapshot_id, s->snapshot_id);
    summary_is(s, "total-records", "4");
    const struct fz_data_file c = file_of(&t, FZ_CONTENT_DATA, "memory://w/c", NULL, 1);
    s = append_ok(&t, &c, 1);
    assert_int_equal(s->sequence_number, 3); // numbers are the table's, not the branch's
    assert_int_equal(s->parent_snapshot_id, main_id);
    table_close(&t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(appending),
        FZ_TEST(nothing_is_a_snapshot_too),
        FZ_TEST(copy_on_write),
        FZ_TEST(merge_on_read_and_old_deletes),
        FZ_TEST(vectors_and_row_ids),
        FZ_TEST(versions_refuse_what_they_cannot_hold),
        FZ_TEST(manifests_are_merged),
        FZ_TEST(branches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
