// A table in the memory catalog and memory store, and data files that exist in manifests only: enough for commit/, which
// never opens them.
#ifndef FZ_TEST_COMMIT_TABLE_H
#define FZ_TEST_COMMIT_TABLE_H

#include "leak_check.h"

#include <stdio.h>

#include "base/sys.h"
#include "commit/commit.h"

struct commit_table {
    struct fz_store *store;
    struct fz_catalog *catalog;
    const char *levels[1];
    struct fz_table_name name;
    struct fz_metadata *metadata; // newest seen
    struct fz_arena arena;
    const struct fz_type *tuple; // partition type of the default spec
};

// Columns 1 id long required, 2 cat string; partitioned by cat when told so.
static inline void table_open(struct commit_table *t, bool partitioned, const char *version,
                              const struct fz_property *more, size_t n_more) {
    struct fz_err err = FZ_ERR_INIT;
    memset(t, 0, sizeof *t);
    t->levels[0] = "db";
    t->name = (struct fz_table_name){t->levels, 1, "t"};
    FZ_OK_OR_FAIL(fz_store_memory_new(&t->store, &err), &err);
    FZ_OK_OR_FAIL(fz_catalog_memory_new("local", "memory://w", t->store, &t->catalog, &err), &err);
    const struct fz_table_name ns = {t->levels, 1, NULL};
    FZ_OK_OR_FAIL(t->catalog->vtable->namespace_create(t->catalog, &ns, NULL, 0, &err), &err);
    const struct fz_field fields[] = {
        {.id = 1, .name = "id", .required = true, .type = fz_type_primitive(FZ_TYPE_LONG)},
        {.id = 2, .name = "cat", .type = fz_type_primitive(FZ_TYPE_STRING)}};
    const struct fz_partition_field by_cat = {
        .source_id = 2, .name = "cat", .transform = {.kind = FZ_TRANSFORM_IDENTITY}};
    struct fz_property properties[16] = {
        {"format-version", version}, {"commit.retry.min-wait-ms", "1"}, {"commit.retry.max-wait-ms", "2"}};
    for (size_t i = 0; i < n_more; i++) {
        properties[3 + i] = more[i];
    }
    const struct fz_table_create create = {.schema = fz_type_struct(&t->arena, fields, 2),
                                           .partition = &by_cat,
                                           .n_partition = partitioned ? 1 : 0,
                                           .location = "memory://w/db/t",
                                           .properties = properties,
                                           .n_properties = 3 + n_more};
    struct fz_metadata *initial = NULL;
    FZ_OK_OR_FAIL(fz_metadata_create(&create, fz_now_us() / 1000, &initial, &err), &err);
    FZ_OK_OR_FAIL(t->catalog->vtable->create(t->catalog, &t->name, initial, &t->metadata, &err), &err);
    fz_metadata_unref(initial);
    FZ_OK_OR_FAIL(fz_metadata_spec_type(&t->arena, t->metadata, 0, &t->tuple, &err), &err);
}

static inline void table_close(struct commit_table *t) {
    fz_metadata_unref(t->metadata);
    fz_arena_dispose(&t->arena);
    fz_catalog_free(t->catalog);
    fz_store_unref(t->store);
}

static inline struct fz_data_file file_of(struct commit_table *t, enum fz_content content, const char *path,
                                          const char *cat, int64_t rows) {
    struct fz_data_file f = {.content = content,
                             .file_path = path,
                             .file_format = "PARQUET",
                             .record_count = rows,
                             .file_size_in_bytes = rows * 10};
    f.sort_order_id = -1;
    f.first_row_id = f.content_offset = f.content_size_in_bytes = -1;
    f.partition = (struct fz_value){.type = t->tuple};
    if (t->tuple->n_fields == 1) {
        struct fz_value *item = FZ_ARENA_NEW(&t->arena, struct fz_value);
        *item = cat == NULL ? fz_value_null(t->tuple->fields[0].type)
                            : (struct fz_value){.type = t->tuple->fields[0].type, .u.bytes = fz_str_of(cat)};
        f.partition.u.nested.items = item;
        f.partition.u.nested.n = 1;
    }
    return f;
}

static inline struct fz_commit_request request_of(struct commit_table *t, enum fz_commit_kind kind) {
    const struct fz_snapshot *head = fz_metadata_current_snapshot(t->metadata);
    return (struct fz_commit_request){.catalog = t->catalog,
                                      .table = &t->name,
                                      .store = t->store,
                                      .base = t->metadata,
                                      .kind = kind,
                                      .scanned_snapshot_id = head != NULL ? head->snapshot_id : -1};
}

// Commits and moves t->metadata on.
static inline const struct fz_snapshot *commit_ok(struct commit_table *t, const struct fz_commit_request *request) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_commit_result result;
    FZ_OK_OR_FAIL(fz_commit_snapshot(request, &result, &err), &err);
    fz_metadata_unref(t->metadata);
    t->metadata = result.metadata;
    const struct fz_snapshot *s = fz_metadata_snapshot(t->metadata, result.snapshot_id);
    assert_non_null(s);
    return s;
}

static inline const struct fz_snapshot *append_ok(struct commit_table *t, const struct fz_data_file *files, size_t n) {
    struct fz_commit_request r = request_of(t, FZ_COMMIT_APPEND);
    r.added = files;
    r.n_added = n;
    return commit_ok(t, &r);
}

static inline void summary_is(const struct fz_snapshot *s, const char *key, const char *want) {
    const char *have = strcmp(key, "operation") == 0 ? s->operation : fz_snapshot_summary(s, key);
    if (want == NULL ? have != NULL : have == NULL || strcmp(have, want) != 0) {
        print_error("summary %s is %s, not %s\n", key, have != NULL ? have : "absent", want != NULL ? want : "absent");
        fail();
    }
}

static inline struct fz_manifest_file *list_of(struct commit_table *t, const struct fz_snapshot *s, size_t *n) {
    struct fz_buf bytes = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_manifest_file *files;
    FZ_OK_OR_FAIL(fz_store_read_all(t->store, s->manifest_list, 1 << 26, &bytes, &err), &err);
    FZ_OK_OR_FAIL(fz_manifest_list_decode(&t->arena, bytes.ptr, bytes.len, &files, n, &err), &err);
    fz_buf_dispose(&bytes);
    return files;
}

static inline struct fz_manifest_entry *entries_of(struct commit_table *t, const struct fz_manifest_file *file,
                                                   size_t *n) {
    struct fz_buf bytes = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_manifest_entry *entries;
    FZ_OK_OR_FAIL(fz_store_read_all(t->store, file->manifest_path, 1 << 26, &bytes, &err), &err);
    assert_int_equal((int64_t)bytes.len, file->manifest_length);
    FZ_OK_OR_FAIL(fz_manifest_decode(&t->arena, bytes.ptr, bytes.len, file, t->metadata, &entries, n, &err), &err);
    fz_buf_dispose(&bytes);
    return entries;
}

// The live entry of a path in the snapshot, NULL when there is none.
static inline const struct fz_manifest_entry *live_entry(struct commit_table *t, const struct fz_snapshot *s,
                                                         const char *path) {
    size_t n_files, n;
    struct fz_manifest_file *files = list_of(t, s, &n_files);
    const struct fz_manifest_entry *found = NULL;
    for (size_t i = 0; i < n_files; i++) {
        struct fz_manifest_entry *entries = entries_of(t, &files[i], &n);
        for (size_t j = 0; j < n; j++) {
            if (entries[j].status != FZ_ENTRY_DELETED && strcmp(entries[j].file.file_path, path) == 0) {
                assert_null(found); // a path is live once
                found = &entries[j];
            }
        }
    }
    return found;
}

#endif
