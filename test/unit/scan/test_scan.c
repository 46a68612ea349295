// scan/ on small tables made here in a memory store: what is skipped, kept, marked and left out, metadata columns, row-group
// pruning, files without ids, and errors. Expected values are arithmetic on the row number.
#include "scan/scan_rows.h"

#include "format/parquet/parquet_reader.h"
#include "format/parquet/parquet_writer.h"
#include "table/update.h"

#define LONG fz_type_primitive(FZ_TYPE_LONG)
#define STRING fz_type_primitive(FZ_TYPE_STRING)

struct table {
    struct fz_arena arena;
    struct fz_store *store;
    struct fz_metadata *metadata;
    struct fz_manifest_entry data[8], deletes[8];
    size_t n_data, n_deletes;
};

static int64_t page_rows; // 0: as the writer likes
static bool long_texts;

static void put_file(struct table *t, const char *path, const struct fz_field *fields, size_t n,
                     const struct fz_batch *batches, size_t n_batches, int64_t row_group_rows,
                     struct fz_data_file *out) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_writer *sink = NULL;
    struct fz_parquet_writer *writer = NULL;
    struct fz_parquet_metrics metrics;
    struct fz_parquet_write write = {.fields = fields,
                                     .n_fields = n,
                                     .codec = FZ_PQ_ZSTD,
                                     .level = -1,
                                     .row_group_rows = row_group_rows,
                                     .page_rows = page_rows,
                                     .default_metrics = FZ_METRICS_FULL};
    FZ_OK_OR_FAIL(fz_store_writer_open(t->store, path, &sink, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_writer_open(sink, &write, &writer, &err), &err);
    for (size_t i = 0; i < n_batches; i++) {
        FZ_OK_OR_FAIL(fz_parquet_writer_append(writer, &batches[i], 0, NULL, batches[i].n_rows, &err), &err);
    }
    FZ_OK_OR_FAIL(fz_parquet_writer_close(writer, &t->arena, &metrics, &err), &err);
    *out = (struct fz_data_file){.file_path = path,
                                 .file_format = "PARQUET",
                                 .record_count = metrics.record_count,
                                 .file_size_in_bytes = metrics.file_size_bytes,
                                 .partition = {.type = fz_type_struct(&t->arena, NULL, 0)},
                                 .sort_order_id = -1,
                                 .first_row_id = -1,
                                 .content_offset = -1,
                                 .content_size_in_bytes = -1};
}

// Rows from .. from + n: id = row, s = "row <id>" but NULL at every seventh, d = 1000 - id.
static void put_rows(struct table *t, const char *path, int64_t from, int64_t n, int64_t row_group_rows, bool ids,
                     struct fz_data_file *out) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_field fields[] = {{.id = ids ? 1 : 0, .name = "id", .required = true, .type = LONG},
                                {.id = ids ? 2 : 0, .name = ids ? "s" : "old_s", .type = STRING},
                                {.id = ids ? 3 : 0, .name = "d", .type = LONG}};
    struct fz_batch batches[16];
    size_t n_batches = 0;
    for (int64_t at = 0; at < n; at += FZ_BATCH_ROWS) {
        struct fz_batch *b = &batches[n_batches++];
        FZ_OK_OR_FAIL(fz_batch_init(b, fields, 3, FZ_BATCH_ROWS, &err), &err);
        b->n_rows = (size_t)(n - at < FZ_BATCH_ROWS ? n - at : FZ_BATCH_ROWS);
        for (size_t r = 0; r < b->n_rows; r++) {
            int64_t id = from + at + (int64_t)r;
            ((int64_t *)b->columns[0].data)[r] = id;
            const char *text = fz_arena_printf(
                &t->arena, long_texts ? "a text that is not kept inline: row %lld" : "row %lld", (long long)id);
            ((struct fz_string *)b->columns[1].data)[r] = fz_string_of(text, strlen(text));
            ((int64_t *)b->columns[2].data)[r] = 1000 - id;
            if (id % 7 == 0) {
                fz_column_set_null(&b->columns[1], r);
            }
        }
    }
    put_file(t, path, fields, 3, batches, n_batches, row_group_rows, out);
    for (size_t i = 0; i < n_batches; i++) {
        fz_batch_dispose(&batches[i]);
    }
}

static void table_init(struct table *t, const char *format_version, const char *mapping) {
    struct fz_err err = FZ_ERR_INIT;
    *t = (struct table){0};
    FZ_OK_OR_FAIL(fz_store_memory_new(&t->store, &err), &err);
    struct fz_field fields[] = {{.id = 1, .name = "id", .required = true, .type = LONG},
                                {.id = 2, .name = "s", .type = STRING},
                                {.id = 3, .name = "d", .type = LONG}};
    struct fz_property properties[] = {{"format-version", format_version}, {"schema.name-mapping.default", mapping}};
    struct fz_table_create create = {.schema = fz_type_struct(&t->arena, fields, 3),
                                     .location = "memory://t",
                                     .properties = properties,
                                     .n_properties = mapping ? 2 : 1};
    FZ_OK_OR_FAIL(fz_metadata_create(&create, 1, &t->metadata, &err), &err);
}

static struct fz_manifest_entry *add_entry(struct table *t, const struct fz_data_file *file, int64_t sequence_number) {
    struct fz_manifest_entry *entry =
        file->content == FZ_CONTENT_DATA ? &t->data[t->n_data++] : &t->deletes[t->n_deletes++];
    *entry = (struct fz_manifest_entry){.status = FZ_ENTRY_EXISTING,
                                        .snapshot_id = 7,
                                        .sequence_number = sequence_number,
                                        .file_sequence_number = sequence_number,
                                        .file = *file};
    return entry;
}

static void put_manifest(struct table *t, bool deletes, const struct fz_manifest_entry *entries, size_t n,
                         const char *path, struct fz_manifest_file *out) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf bytes = {0};
    struct fz_manifest_encode in = {.metadata = t->metadata, .deletes = deletes, .entries = entries, .n_entries = n};
    FZ_OK_OR_FAIL(fz_manifest_encode(&t->arena, &in, &bytes, out, &err), &err);
    FZ_OK_OR_FAIL(fz_store_put(t->store, path, bytes.ptr, bytes.len, false, &err), &err);
    fz_buf_dispose(&bytes);
    out->manifest_path = path;
    out->sequence_number = 9;
    out->min_sequence_number = 1;
    out->added_snapshot_id = 7;
    out->first_row_id = deletes || t->metadata->format_version < 3 ? -1 : 0;
}

static void table_commit(struct table *t) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_manifest_file files[2];
    struct fz_buf bytes = {0};
    size_t n = 0;
    put_manifest(t, false, t->data, t->n_data, "memory://t/m0.avro", &files[n++]);
    if (t->n_deletes) {
        put_manifest(t, true, t->deletes, t->n_deletes, "memory://t/m1.avro", &files[n++]);
    }
    FZ_OK_OR_FAIL(fz_manifest_list_encode(t->metadata, files, n, 7, -1, 9, 0, &bytes, &err), &err);
    FZ_OK_OR_FAIL(fz_store_put(t->store, "memory://t/list.avro", bytes.ptr, bytes.len, false, &err), &err);
    fz_buf_dispose(&bytes);
    struct fz_snapshot snapshot = {.snapshot_id = 7,
                                   .parent_snapshot_id = -1,
                                   .sequence_number = 9,
                                   .timestamp_ms = 2,
                                   .manifest_list = "memory://t/list.avro",
                                   .operation = "append",
                                   .schema_id = 0,
                                   .first_row_id = t->metadata->format_version >= 3 ? 0 : -1,
                                   .added_rows = t->metadata->format_version >= 3 ? 100000 : -1};
    struct fz_snapshot_ref ref = {
        .name = "main", .snapshot_id = 7, .min_snapshots_to_keep = -1, .max_snapshot_age_ms = -1, .max_ref_age_ms = -1};
    struct fz_update updates[] = {{.kind = FZ_UPDATE_ADD_SNAPSHOT, .u.snapshot = &snapshot},
                                  {.kind = FZ_UPDATE_SET_SNAPSHOT_REF, .u.ref = &ref}};
    struct fz_metadata *next = NULL;
    FZ_OK_OR_FAIL(fz_metadata_apply(t->metadata, updates, 2, 3, &next, &err), &err);
    fz_metadata_unref(t->metadata);
    t->metadata = next;
}

static void table_dispose(struct table *t) {
    fz_metadata_unref(t->metadata);
    fz_store_unref(t->store);
    fz_arena_dispose(&t->arena);
}

static struct fz_scan_plan *plan_of(struct table *t, const struct fz_expr *filter) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_scan_plan *plan = NULL;
    struct fz_scan_options options = {.store = t->store, .metadata = t->metadata, .snapshot_id = -1, .filter = filter};
    FZ_OK_OR_FAIL(fz_scan_plan_new(&options, &plan, &err), &err);
    return plan;
}

static void put_dv(struct table *t, const char *path, const char *data_path, int64_t step, int64_t n, int64_t claimed,
                   int64_t sequence_number) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_positions *positions = NULL;
    struct fz_buf bytes = {0};
    FZ_OK_OR_FAIL(fz_positions_new(&positions, &err), &err);
    for (int64_t p = 0; p < n; p += step) {
        FZ_OK_OR_FAIL(fz_positions_add(positions, p, &err), &err);
    }
    fz_buf_puts(&bytes, "PFA1"); // the blob is read by its offset; the container does not matter here
    FZ_OK_OR_FAIL(fz_dv_encode(positions, &bytes, &err), &err);
    FZ_OK_OR_FAIL(fz_store_put(t->store, path, bytes.ptr, bytes.len, false, &err), &err);
    struct fz_data_file file = {.content = FZ_CONTENT_POSITION_DELETES,
                                .file_path = path,
                                .file_format = "PUFFIN",
                                .record_count = claimed < 0 ? fz_positions_count(positions) : claimed,
                                .file_size_in_bytes = (int64_t)bytes.len,
                                .partition = {.type = fz_type_struct(&t->arena, NULL, 0)},
                                .sort_order_id = -1,
                                .first_row_id = -1,
                                .referenced_data_file = data_path,
                                .content_offset = 4,
                                .content_size_in_bytes = (int64_t)bytes.len - 4};
    add_entry(t, &file, sequence_number);
    fz_positions_free(positions);
    fz_buf_dispose(&bytes);
}

static void put_equality(struct table *t, const char *path, int64_t from, int64_t n, int64_t sequence_number) {
    static const int32_t equality_ids[] = {1};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_field field = {.id = 1, .name = "id", .required = true, .type = LONG};
    struct fz_batch batch;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, &field, 1, FZ_BATCH_ROWS, &err), &err);
    batch.n_rows = (size_t)n;
    for (int64_t i = 0; i < n; i++) {
        ((int64_t *)batch.columns[0].data)[i] = from + i;
    }
    struct fz_data_file file;
    put_file(t, path, &field, 1, &batch, 1, 0, &file);
    file.content = FZ_CONTENT_EQUALITY_DELETES;
    file.equality_ids = equality_ids;
    file.n_equality_ids = 1;
    add_entry(t, &file, sequence_number);
    fz_batch_dispose(&batch);
}

// A: ids 0..4999 (row groups of 1000), B: ids 0..2 again and newer. Deleted: every tenth position of A by a DV, ids 1..5 and 4999
// by equality deletes that are older than B.
static void make_table(struct table *t) {
    struct fz_data_file a, b;
    table_init(t, "3", NULL);
    put_rows(t, "memory://t/a.parquet", 0, 5000, 1000, true, &a);
    put_rows(t, "memory://t/b.parquet", 0, 3, 0, true, &b);
    a.first_row_id = 100;
    b.first_row_id = 9000;
    add_entry(t, &a, 1);
    add_entry(t, &b, 5);
    put_dv(t, "memory://t/dv.puffin", "memory://t/a.parquet", 10, 5000, -1, 4);
    put_equality(t, "memory://t/eq1.parquet", 1, 5, 3);
    put_equality(t, "memory://t/eq2.parquet", 4999, 1, 4);
    table_commit(t);
}

enum { A_LIVE = 5000 - 500 - 6 };

static void deletes_of_all_kinds_apply(void **state) {
    (void)state;
    struct table t;
    make_table(&t);
    struct fz_scan_plan *plan = plan_of(&t, NULL);
    assert_int_equal(plan->n_files, 2);
    assert_int_equal(plan->files[0].n_deletes, 3);
    assert_int_equal(plan->files[1].n_deletes, 0);
    struct fz_field s = {.id = 2, .name = "s", .type = STRING};
    struct fz_scan_source_options options = {.plan = plan, .store = t.store, .fields = &s, .n_fields = 1};
    struct scan_rows rows;
    assert_int_equal(scan_rows_read(&options, 2, &rows), FZ_OK); // the key column is not asked for
    assert_int_equal(rows.n, A_LIVE + 3);
    size_t nulls = 0;
    for (size_t i = 0; i < rows.n; i++) {
        nulls += strcmp(rows.lines[i], "{\"s\":null}") == 0;
    }
    // Multiples of 7 below 5000: 715, of those multiples of 70 went: 72; none of 1..5; 4999 is no multiple. And id 0 of B.
    assert_int_equal(nulls, 715 - 72 + 1);
    scan_rows_dispose(&rows);
    // Only B; nothing is asked of the file.
    struct fz_field pos = {.id = FZ_ID_POS, .name = "p", .type = LONG};
    const uint8_t only[] = {0, 1};
    options.fields = &pos;
    options.only_files = only;
    assert_int_equal(scan_rows_read(&options, 1, &rows), FZ_OK);
    assert_int_equal(rows.n, 3);
    assert_string_equal(rows.lines[2], "{\"p\":2}");
    scan_rows_dispose(&rows);
    // Copy-on-write leaves out more positions.
    struct fz_positions *skip = NULL;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_positions_new(&skip, &err), &err);
    FZ_OK_OR_FAIL(fz_positions_add_range(skip, 1000, 2000, &err), &err);
    struct fz_positions *skips[] = {skip, NULL};
    options.only_files = NULL;
    options.skip = skips;
    assert_int_equal(scan_rows_read(&options, 2, &rows), FZ_OK);
    assert_int_equal(rows.n, A_LIVE - 900 + 3);
    scan_rows_dispose(&rows);
    fz_positions_free(skip);
    const struct fz_positions *deleted = NULL;
    FZ_OK_OR_FAIL(fz_scan_deleted_positions(plan, 0, &deleted, &err), &err);
    assert_int_equal(fz_positions_count(deleted), 500);
    FZ_OK_OR_FAIL(fz_scan_deleted_positions(plan, 1, &deleted, &err), &err);
    assert_null(deleted);
    fz_scan_plan_unref(plan);
    table_dispose(&t);
}

static void metadata_columns_and_marked_rows(void **state) {
    (void)state;
    struct table t;
    make_table(&t);
    struct fz_scan_plan *plan = plan_of(&t, NULL);
    struct fz_type partition = *fz_type_struct(&t.arena, NULL, 0);
    struct fz_field fields[] = {{.id = FZ_ID_POS, .name = "pos", .type = LONG},
                                {.id = FZ_ID_DELETED, .name = "del", .type = fz_type_primitive(FZ_TYPE_BOOLEAN)},
                                {.id = FZ_ID_FILE_IX, .name = "ix", .type = fz_type_primitive(FZ_TYPE_INT)},
                                {.id = FZ_ID_SPEC_ID, .name = "spec", .type = fz_type_primitive(FZ_TYPE_INT)},
                                {.id = FZ_ID_FILE, .name = "file", .type = STRING},
                                {.id = FZ_ID_ROW_ID, .name = "rid", .type = LONG},
                                {.id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER, .name = "seq", .type = LONG},
                                {.id = 1, .name = "id", .type = LONG},
                                {.id = FZ_ID_PARTITION, .name = "part", .type = &partition}};
    struct fz_scan_source_options options = {
        .plan = plan, .store = t.store, .fields = fields, .n_fields = 9, .keep_deleted = true};
    struct scan_rows rows;
    assert_int_equal(scan_rows_read(&options, 2, &rows), FZ_OK);
    assert_int_equal(rows.n, 5003);
    size_t deleted = 0;
    bool seen_a = false, seen_b = false;
    for (size_t i = 0; i < rows.n; i++) {
        deleted += strstr(rows.lines[i], "\"del\":true") != NULL;
        seen_a =
            seen_a ||
            strcmp(rows.lines[i],
                   "{\"pos\":4321,\"del\":false,\"ix\":0,\"spec\":0,\"file\":\"memory://t/a.parquet\",\"rid\":4421,"
                   "\"seq\":1,\"id\":4321,\"part\":{}}") == 0;
        seen_b = seen_b ||
                 strcmp(rows.lines[i],
                        "{\"pos\":2,\"del\":false,\"ix\":1,\"spec\":0,\"file\":\"memory://t/b.parquet\",\"rid\":9002,"
                        "\"seq\":5,\"id\":2,\"part\":{}}") == 0;
    }
    assert_int_equal(deleted, 506);
    assert_true(seen_a && seen_b);
    scan_rows_dispose(&rows);
    options.keep_deleted = false;
    assert_int_equal(scan_rows_read(&options, 2, &rows), FZ_OK);
    assert_int_equal(rows.n, A_LIVE + 3);
    for (size_t i = 0; i < rows.n; i++) {
        assert_null(strstr(rows.lines[i], "\"del\":true"));
    }
    scan_rows_dispose(&rows);
    fz_scan_plan_unref(plan);
    table_dispose(&t);
}

static const struct fz_expr *id_at_least(struct fz_arena *arena, int64_t bound) {
    struct fz_value *value = fz_arena_alloc(arena, sizeof *value);
    *value = (struct fz_value){.type = LONG, .u.i64 = bound};
    const struct fz_expr *args[] = {fz_expr_column(arena, 0, 1, "id", LONG, false), fz_expr_literal(arena, value)};
    return fz_expr_op(arena, FZ_EXPR_GE, fz_type_primitive(FZ_TYPE_BOOLEAN), args, 2);
}

static void files_and_row_groups_are_pruned(void **state) {
    (void)state;
    struct table t;
    make_table(&t);
    struct fz_field s = {.id = 2, .name = "s", .type = STRING};
    struct scan_rows rows;
    struct fz_scan_plan *plan = plan_of(&t, id_at_least(&t.arena, 4200));
    struct fz_scan_source_options options = {.plan = plan, .store = t.store, .fields = &s, .n_fields = 1};
    assert_int_equal(scan_rows_read(&options, 2, &rows), FZ_OK);
    assert_true(rows.n % 1000 != 0 && rows.n >= 899 &&
                rows.n <= 899 + 3); // the last row group: 1000 - 100 - id 4999; B at most
    scan_rows_dispose(&rows);
    fz_scan_plan_unref(plan);
    plan = plan_of(&t, id_at_least(&t.arena, 5000));
    options.plan = plan;
    assert_int_equal(scan_rows_read(&options, 2, &rows), FZ_OK);
    assert_true(rows.n <= 3);
    scan_rows_dispose(&rows);
    fz_scan_plan_unref(plan);
    table_dispose(&t);
}

static void files_without_ids_are_read_by_the_name_mapping(void **state) {
    (void)state;
    struct table t;
    struct fz_data_file file;
    struct scan_rows rows;
    struct fz_field fields[] = {{.id = 1, .name = "id", .type = LONG},
                                {.id = 2, .name = "s", .type = STRING},
                                {.id = 3, .name = "d", .type = LONG}};
    const char *mappings[] = {"[{\"field-id\":1,\"names\":[\"id\"]},{\"field-id\":2,\"names\":[\"s\",\"old_s\"]},{"
                              "\"field-id\":3,\"names\":[\"gone\"]}]",
                              NULL};
    const char *want[] = {"{\"id\":5,\"s\":\"row 5\",\"d\":null}", "{\"id\":5,\"s\":\"row 5\",\"d\":995}"};
    for (int pass = 0; pass < 2; pass++) { // without a mapping: by position
        table_init(&t, "2", mappings[pass]);
        put_rows(&t, "memory://t/a.parquet", 5, 1, 0, false, &file);
        add_entry(&t, &file, 1);
        table_commit(&t);
        struct fz_scan_plan *plan = plan_of(&t, NULL);
        struct fz_scan_source_options options = {.plan = plan, .store = t.store, .fields = fields, .n_fields = 3};
        assert_int_equal(scan_rows_read(&options, 1, &rows), FZ_OK);
        assert_int_equal(rows.n, 1);
        assert_string_equal(rows.lines[0], want[pass]);
        scan_rows_dispose(&rows);
        fz_scan_plan_unref(plan);
        table_dispose(&t);
    }
}

static void what_is_wrong_is_said(void **state) {
    (void)state;
    struct table t;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_data_file file;
    struct scan_rows rows;
    struct fz_scan_plan *plan = NULL;
    struct fz_field id = {.id = 1, .name = "id", .type = LONG};
    const struct {
        const char *format;
        int64_t claimed, dv_sequence_number;
        enum fz_code plan, read;
        const char *text;
    } cases[] = {
        {"ORC", -1, 4, FZ_OK, FZ_UNSUPPORTED, "memory://t/a.parquet"},
        {"PARQUET", 3, 4, FZ_OK, FZ_CORRUPT, "has 1 positions"},
        {"PARQUET", -1, 1, FZ_CORRUPT, FZ_OK, "sequence number 1"},
        {"PARQUET", -1, 4, FZ_OK, FZ_OK, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        table_init(&t, "3", NULL);
        put_rows(&t, "memory://t/a.parquet", 0, 10, 0, true, &file);
        file.file_format = cases[i].format;
        add_entry(&t, &file, 2);
        put_dv(&t, "memory://t/dv.puffin", "memory://t/a.parquet", 100, 10, cases[i].claimed,
               cases[i].dv_sequence_number);
        table_commit(&t);
        struct fz_scan_options options = {.store = t.store, .metadata = t.metadata, .snapshot_id = -1};
        fz_err_reset(&err);
        assert_int_equal(fz_scan_plan_new(&options, &plan, &err), cases[i].plan);
        if (cases[i].plan == FZ_OK) {
            struct fz_scan_source_options source = {.plan = plan, .store = t.store, .fields = &id, .n_fields = 1};
            assert_int_equal(scan_rows_read(&source, 2, &rows), cases[i].read);
            err = rows.err;
            assert_int_equal(rows.n, cases[i].read == FZ_OK ? 9 : 0);
            scan_rows_dispose(&rows);
            fz_scan_plan_unref(plan);
        }
        if (cases[i].text) {
            assert_non_null(strstr(err.message, cases[i].text));
        }
        table_dispose(&t);
    }
    make_table(&t);
    struct fz_scan_options options = {.store = t.store, .metadata = t.metadata, .snapshot_id = 8};
    fz_err_reset(&err);
    assert_int_equal(fz_scan_plan_new(&options, &plan, &err), FZ_NOT_FOUND);
    fz_err_reset(&err);
    options.snapshot_id = 7;
    FZ_OK_OR_FAIL(fz_store_remove(t.store, "memory://t/eq1.parquet", &err), &err);
    plan = plan_of(&t, NULL);
    struct fz_cancel cancel;
    fz_cancel_init(&cancel);
    struct fz_scan_source_options source = {
        .plan = plan, .store = t.store, .fields = &id, .n_fields = 1, .cancel = &cancel};
    assert_int_equal(scan_rows_read(&source, 2, &rows), FZ_NOT_FOUND);
    assert_non_null(strstr(rows.err.context, "eq1.parquet"));
    scan_rows_dispose(&rows);
    fz_cancel_fire(&cancel);
    assert_int_equal(scan_rows_read(&source, 2, &rows), FZ_CANCELLED);
    scan_rows_dispose(&rows);
    fz_cancel_dispose(&cancel);
    fz_scan_plan_unref(plan);
    struct fz_manifest_entry *entries = NULL;
    size_t n = 0;
    struct fz_arena arena = {0};
    FZ_OK_OR_FAIL(fz_scan_entries(t.store, t.metadata, -1, &arena, &entries, &n, &err), &err);
    assert_int_equal(n, 5);
    fz_arena_dispose(&arena);
    table_dispose(&t);
}

// Keys as a MERGE's source gives them.
static struct fz_scan_keys *keys_of(const int64_t *ids, size_t n) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_scan_keys *keys = NULL;
    struct fz_scan_key_column column = {.field_id = 1, .type = LONG, .value_type = LONG};
    struct fz_field field = {.id = 1, .name = "k", .type = LONG};
    struct fz_batch batch;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, &field, 1, FZ_BATCH_ROWS, &err), &err);
    memcpy(batch.columns[0].data, ids, n * sizeof *ids);
    batch.n_rows = n;
    FZ_OK_OR_FAIL(fz_scan_keys_new(&column, 1, NULL, &keys, &err), &err);
    FZ_OK_OR_FAIL(fz_scan_keys_add(keys, &batch, &err), &err);
    FZ_OK_OR_FAIL(fz_scan_keys_seal(keys, &err), &err);
    fz_batch_dispose(&batch);
    return keys;
}

static size_t drain(struct fz_source *source, int64_t *ids, int64_t *positions, char (*texts)[16]) {
    static const size_t columns[] = {0, 1, 2};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch batch;
    void *reader = NULL;
    size_t n = 0;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, source->fields, 3, FZ_BATCH_ROWS, &err), &err);
    FZ_OK_OR_FAIL(source->vtable->open(source, columns, 3, &reader, &err), &err);
    for (;;) {
        FZ_OK_OR_FAIL(source->vtable->next(source, reader, &batch, &err), &err);
        for (size_t r = 0; r < batch.n_rows; r++, n++) {
            const struct fz_string *s = &((struct fz_string *)batch.columns[1].data)[r];
            bool valid = fz_column_is_valid(&batch.columns[1], r);
            positions[n] = ((int64_t *)batch.columns[0].data)[r];
            ids[n] = ((int64_t *)batch.columns[2].data)[r];
            snprintf(texts[n], 16, "%.*s", valid ? (int)s->length : 4, valid ? fz_string_ptr(s) : "NULL");
        }
        if (batch.n_rows == 0) {
            break;
        }
    }
    source->vtable->close(source, reader);
    fz_batch_dispose(&batch);
    return n;
}

// Only rows with a key come, each with its own text and position; what can have none is not looked at.
static void rows_are_read_by_their_keys(void **state) {
    (void)state;
    struct table t;
    make_table(&t);
    struct fz_scan_plan *plan = plan_of(&t, NULL);
    // 3 and 4999 went by equality deletes, 3010 by the vector; 8 and 4000000 are in no file. 2 is deleted in A but lives in B.
    static const int64_t KEYS[] = {3, 2, 8, 3007, 3010, 3011, 4999, 4000000};
    struct fz_field fields[] = {{.id = FZ_ID_POS, .name = "p", .type = LONG},
                                {.id = 2, .name = "s", .type = STRING},
                                {.id = 1, .name = "id", .required = true, .type = LONG}};
    struct fz_scan_source_options options = {
        .plan = plan, .store = t.store, .fields = fields, .n_fields = 3, .max_threads = 1, .keys = keys_of(KEYS, 8)};
    struct fz_source *source = NULL;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_scan_source_new(&options, &source, &err), &err);
    fz_scan_keys_unref(options.keys);
    int64_t ids[16], positions[16];
    char texts[16][16];
    size_t n = drain(source, ids, positions, texts);
    struct {
        int64_t id, position;
        const char *text;
        bool seen;
    } want[] = {{8, 8, "row 8", false},
                {3007, 3007, "row 3007", false},
                {3011, 3011, "row 3011", false},
                {2, 2, "row 2", false}};
    want[1].text = 3007 % 7 == 0 ? "NULL" : want[1].text;
    assert_int_equal(n, 4);
    for (size_t i = 0; i < n; i++) {
        bool found = false;
        for (size_t k = 0; k < 4; k++) {
            if (want[k].id == ids[i]) {
                found = true;
                assert_false(want[k].seen);
                want[k].seen = true;
                assert_int_equal(positions[i], want[k].position);
                assert_string_equal(texts[i], want[k].text);
            }
        }
        assert_true(found);
    }
    struct fz_scan_counters counters;
    fz_scan_source_counters(source, &counters);
    assert_int_equal(counters.files, 2);
    assert_int_equal(counters.row_groups, 6);
    assert_int_equal(counters.row_groups_by_keys, 2); // 1000..1999 and 2000..2999
    assert_int_equal(counters.rows, 3 * 1000 + 3);
    assert_true(counters.bytes_read <= counters.bytes && counters.bytes_read > 0);
    fz_source_unref(source);
    fz_scan_plan_unref(plan);
    table_dispose(&t);
}

// One row group with pages of 100 rows: the page index leaves most of it out.
static void pages_without_keys_are_passed_over(void **state) {
    (void)state;
    struct table t;
    struct fz_data_file a;
    table_init(&t, "2", NULL);
    page_rows = 100;
    put_rows(&t, "memory://t/a.parquet", 0, 10000, 0, true, &a);
    page_rows = 0;
    add_entry(&t, &a, 1);
    table_commit(&t);
    struct fz_scan_plan *plan = plan_of(&t, NULL);
    static const int64_t KEYS[] = {150, 199, 200, 4444, 9999};
    struct fz_field fields[] = {{.id = FZ_ID_POS, .name = "p", .type = LONG},
                                {.id = 2, .name = "s", .type = STRING},
                                {.id = 1, .name = "id", .required = true, .type = LONG}};
    struct fz_scan_source_options options = {
        .plan = plan, .store = t.store, .fields = fields, .n_fields = 3, .max_threads = 1, .keys = keys_of(KEYS, 5)};
    struct fz_source *source = NULL;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_scan_source_new(&options, &source, &err), &err);
    fz_scan_keys_unref(options.keys);
    int64_t ids[16], positions[16];
    char texts[16][16], want[16];
    assert_int_equal(drain(source, ids, positions, texts), 5);
    for (size_t i = 0; i < 5; i++) {
        snprintf(want, sizeof want, "row %d", (int)KEYS[i]);
        assert_int_equal(ids[i], KEYS[i]);
        assert_int_equal(positions[i], KEYS[i]);
        assert_string_equal(texts[i], KEYS[i] % 7 ? want : "NULL");
    }
    struct fz_scan_counters counters;
    fz_scan_source_counters(source, &counters);
    assert_int_equal(counters.pages, 100);
    assert_int_equal(counters.pages_by_keys, 96);
    assert_int_equal(counters.rows, 400);
    fz_source_unref(source);
    fz_scan_plan_unref(plan);
    table_dispose(&t);
}

// A page index that cannot be read leaves nothing out, and the rows are there all the same.
static void a_damaged_page_index_is_passed_over(void **state) {
    (void)state;
    struct table t;
    struct fz_data_file a;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_parquet_file *file = NULL;
    struct fz_buf bytes = {0};
    table_init(&t, "2", NULL);
    page_rows = 100;
    put_rows(&t, "memory://t/a.parquet", 0, 1000, 0, true, &a);
    page_rows = 0;
    FZ_OK_OR_FAIL(fz_parquet_file_open(t.store, a.file_path, -1, NULL, &file, &err), &err);
    const struct fz_pq_column_chunk *chunk = &fz_parquet_file_meta(file)->row_groups[0].columns[0];
    FZ_OK_OR_FAIL(fz_store_read_all(t.store, a.file_path, 1 << 20, &bytes, &err), &err);
    assert_true(chunk->column_index_length > 0);
    memset(bytes.ptr + chunk->column_index_offset, 0xff, (size_t)chunk->column_index_length);
    FZ_OK_OR_FAIL(fz_store_put(t.store, a.file_path, bytes.ptr, bytes.len, false, &err), &err);
    fz_parquet_file_unref(file);
    fz_buf_dispose(&bytes);
    add_entry(&t, &a, 1);
    table_commit(&t);
    struct fz_scan_plan *plan = plan_of(&t, NULL);
    static const int64_t KEYS[] = {1, 999};
    struct fz_field fields[] = {{.id = FZ_ID_POS, .name = "p", .type = LONG},
                                {.id = 2, .name = "s", .type = STRING},
                                {.id = 1, .name = "id", .required = true, .type = LONG}};
    struct fz_scan_source_options options = {
        .plan = plan, .store = t.store, .fields = fields, .n_fields = 3, .keys = keys_of(KEYS, 2)};
    struct scan_rows rows;
    assert_int_equal(scan_rows_read(&options, 1, &rows), FZ_OK);
    assert_int_equal(rows.n, 2);
    scan_rows_dispose(&rows);
    fz_scan_keys_unref(options.keys);
    fz_scan_plan_unref(plan);
    table_dispose(&t);
}

// Few rows of every reading have keys: they come together in large batches, with their own texts, and twice as many threads change nothing.
static void sparse_rows_are_gathered(void **state) {
    (void)state;
    struct table t;
    struct fz_data_file a, b;
    table_init(&t, "2", NULL);
    long_texts = true;
    put_rows(&t, "memory://t/a.parquet", 0, 30000, 7000, true, &a);
    put_rows(&t, "memory://t/b.parquet", 30000, 20000, 0, true, &b);
    long_texts = false;
    add_entry(&t, &a, 1);
    add_entry(&t, &b, 1);
    table_commit(&t);
    struct fz_scan_plan *plan = plan_of(&t, NULL);
    int64_t keys[1000];
    size_t n_keys = 0;
    for (int64_t id = 5; id < 50000; id += id < 20000 ? 61 : 997) {
        keys[n_keys++] = id;
    }
    for (int64_t id = 45000; id < 45500; id++) { // and many in one place
        keys[n_keys++] = id % 997 == 20000 % 997 ? 45000 : id;
    }
    struct fz_field fields[] = {{.id = FZ_ID_POS, .name = "p", .type = LONG},
                                {.id = 2, .name = "s", .type = STRING},
                                {.id = 1, .name = "id", .required = true, .type = LONG}};
    struct fz_scan_source_options options = {
        .plan = plan, .store = t.store, .fields = fields, .n_fields = 3, .keys = keys_of(keys, n_keys)};
    for (int threads = 1; threads <= 2; threads++) {
        struct scan_rows rows;
        assert_int_equal(scan_rows_read(&options, threads, &rows), FZ_OK);
        size_t found = 0, wanted = 0;
        for (int64_t id = 0; id < 50000; id++) {
            bool is_key = false;
            for (size_t k = 0; k < n_keys && !is_key; k++) {
                is_key = keys[k] == id;
            }
            wanted += is_key;
        }
        assert_int_equal(rows.n, wanted);
        for (size_t i = 0; i < rows.n; i++) {
            long long pos, id, in_text;
            const char *id_text = strstr(rows.lines[i], "\"id\":"), *pos_text = strstr(rows.lines[i], "\"p\":"),
                       *row_text = strstr(rows.lines[i], ": row ");
            assert_true(id_text && sscanf(id_text + 5, "%lld", &id) == 1);
            assert_true(pos_text && sscanf(pos_text + 4, "%lld", &pos) == 1);
            assert_int_equal(pos, id < 30000 ? id : id - 30000);
            assert_int_equal(row_text != NULL, id % 7 != 0);
            if (row_text) {
                assert_true(sscanf(row_text + 6, "%lld", &in_text) == 1);
                assert_int_equal(in_text, id);
            }
            found++;
        }
        assert_int_equal(found, wanted);
        scan_rows_dispose(&rows);
    }
    fz_scan_keys_unref(options.keys);
    fz_scan_plan_unref(plan);
    table_dispose(&t);
}

// Deletes by a field of a struct. A NULL of its own and that of the struct around it are different keys, as Spark 4.1 with Iceberg 1.12
// reads such a table; rows as new as the delete, or newer, stay.
static void fields_of_structs_delete(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct table table = {0}, *t = &table;
    FZ_OK_OR_FAIL(fz_store_memory_new(&t->store, &err), &err);
    const struct fz_field inner[] = {{.id = 3, .name = "y", .type = STRING}, {.id = 4, .name = "x", .type = LONG}};
    const struct fz_field fields[] = {{.id = 1, .name = "id", .required = true, .type = LONG},
                                      {.id = 2, .name = "st", .type = fz_type_struct(&t->arena, inner, 2)}};
    struct fz_property property = {"format-version", "2"};
    struct fz_table_create create = {.schema = fz_type_struct(&t->arena, fields, 2),
                                     .location = "memory://t",
                                     .properties = &property,
                                     .n_properties = 1};
    FZ_OK_OR_FAIL(fz_metadata_create(&create, 1, &t->metadata, &err), &err);
    struct fz_batch rows;
    struct fz_data_file file;
    FZ_OK_OR_FAIL(fz_batch_init(&rows, fields, 2, FZ_BATCH_ROWS, &err), &err);
    rows.n_rows = 5; // x: 1, 2, NULL, (no struct), 5
    for (size_t r = 0; r < 5; r++) {
        ((int64_t *)rows.columns[0].data)[r] = (int64_t)r + 1;
        ((struct fz_string *)rows.columns[1].children[0].data)[r] = fz_string_of("y", 1);
        ((int64_t *)rows.columns[1].children[1].data)[r] = (int64_t)r + 1;
    }
    fz_column_set_null(&rows.columns[1].children[1], 2);
    fz_column_set_null(&rows.columns[1], 3);
    put_file(t, "memory://t/a.parquet", fields, 2, &rows, 1, 0, &file);
    add_entry(t, &file, 1);
    rows.n_rows = 1; // x = 1 again, in a file as new as the delete
    put_file(t, "memory://t/b.parquet", fields, 2, &rows, 1, 0, &file);
    add_entry(t, &file, 2);
    const struct fz_field only_x = {.id = 2, .name = "st", .type = fz_type_struct(&t->arena, inner + 1, 1)};
    static const int32_t equality_ids[] = {4};
    struct fz_batch keys;
    FZ_OK_OR_FAIL(fz_batch_init(&keys, &only_x, 1, FZ_BATCH_ROWS, &err), &err);
    keys.n_rows = 2; // x = 1, x = NULL in a struct that is there
    ((int64_t *)keys.columns[0].children[0].data)[0] = 1;
    fz_column_set_null(&keys.columns[0].children[0], 1);
    put_file(t, "memory://t/eq.parquet", &only_x, 1, &keys, 1, 0, &file);
    file.content = FZ_CONTENT_EQUALITY_DELETES;
    file.equality_ids = equality_ids;
    file.n_equality_ids = 1;
    add_entry(t, &file, 2);
    table_commit(t);
    struct fz_scan_plan *plan = plan_of(t, NULL);
    struct fz_scan_source_options options = {.plan = plan, .store = t->store, .fields = fields, .n_fields = 1};
    struct scan_rows have;
    assert_int_equal(scan_rows_read(&options, 2, &have), FZ_OK);
    static const char *const want[] = {"{\"id\":1}", "{\"id\":2}", "{\"id\":4}", "{\"id\":5}"};
    assert_int_equal(have.n, 4);
    for (size_t i = 0; i < 4; i++) {
        assert_string_equal(have.lines[i], want[i]);
    }
    scan_rows_dispose(&have);
    fz_scan_plan_unref(plan);
    fz_batch_dispose(&rows);
    fz_batch_dispose(&keys);
    table_dispose(t);
}

// A position delete file that keeps the rows, of which it has one column of three, and a deletion vector. A row each, values where
// there are any.
static void position_deletes_as_rows(void **state) {
    (void)state;
    struct table table, *t = &table;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_data_file a, file;
    table_init(t, "3", NULL);
    put_rows(t, "memory://t/a.parquet", 0, 10, 0, true, &a);
    add_entry(t, &a, 1);
    struct fz_field id = {.id = 1, .name = "id", .type = LONG};
    struct fz_field stored[] = {
        {.id = 2147483546, .name = "file_path", .required = true, .type = STRING},
        {.id = 2147483545, .name = "pos", .required = true, .type = LONG},
        {.id = 2147483544, .name = "row", .type = fz_type_struct(&t->arena, &id, 1)},
    };
    struct fz_batch rows;
    FZ_OK_OR_FAIL(fz_batch_init(&rows, stored, 3, FZ_BATCH_ROWS, &err), &err);
    rows.n_rows = 2;
    for (size_t i = 0; i < 2; i++) {
        ((struct fz_string *)rows.columns[0].data)[i] = fz_string_of("memory://t/a.parquet", 20);
        ((int64_t *)rows.columns[1].data)[i] = 3 + (int64_t)i;
        ((int64_t *)rows.columns[2].children[0].data)[i] = 30 + (int64_t)i;
    }
    fz_column_set_null(&rows.columns[2], 1);
    put_file(t, "memory://t/pos.parquet", stored, 3, &rows, 1, 0, &file);
    file.content = FZ_CONTENT_POSITION_DELETES;
    add_entry(t, &file, 2);
    put_dv(t, "memory://t/dv.puffin", "memory://t/b.parquet", 4000, 12000, -1, 3); // 0, 4000, 8000
    table_commit(t);

    const struct fz_type *lng = LONG;
    struct fz_field fields[] = {{.id = 1, .name = "data", .type = STRING},
                                {.id = 2, .name = "pos", .type = lng},
                                {.id = 3, .name = "row", .type = fz_metadata_current_schema(t->metadata)->type},
                                {.id = 4, .name = "spec", .type = fz_type_primitive(FZ_TYPE_INT)},
                                {.id = 5, .name = "deletes", .type = STRING},
                                {.id = 6, .name = "offset", .type = lng}};
    static const enum fz_delete_column columns[] = {
        FZ_DELETE_FILE_PATH,        FZ_DELETE_POS,           FZ_DELETE_ROW, FZ_DELETE_SPEC_ID,
        FZ_DELETE_DELETE_FILE_PATH, FZ_DELETE_CONTENT_OFFSET};
    struct fz_scan_delete_options options = {.store = t->store,
                                             .metadata = t->metadata,
                                             .snapshot_id = -1,
                                             .fields = fields,
                                             .columns = columns,
                                             .n_fields = 6};
    static const char *const want[] = {
        "{\"data\":\"memory://t/a.parquet\",\"pos\":3,\"row\":{\"id\":30,\"s\":null,\"d\":null},\"spec\":0,"
        "\"deletes\":\"memory://t/pos.parquet\",\"offset\":null}",
        "{\"data\":\"memory://t/a.parquet\",\"pos\":4,\"row\":null,\"spec\":0,\"deletes\":\"memory://t/pos.parquet\","
        "\"offset\":null}",
        "{\"data\":\"memory://t/b.parquet\",\"pos\":0,\"row\":null,\"spec\":0,\"deletes\":\"memory://t/dv.puffin\","
        "\"offset\":4}",
        "{\"data\":\"memory://t/b.parquet\",\"pos\":4000,\"row\":null,\"spec\":0,\"deletes\":\"memory://t/dv.puffin\","
        "\"offset\":4}",
        "{\"data\":\"memory://t/b.parquet\",\"pos\":8000,\"row\":null,\"spec\":0,\"deletes\":\"memory://t/dv.puffin\","
        "\"offset\":4}",
    };
    for (int threads = 1; threads <= 3; threads++) {
        struct fz_source *source = NULL;
        struct scan_rows have;
        FZ_OK_OR_FAIL(fz_scan_delete_rows(&options, &source, &err), &err);
        assert_int_equal(source->estimated_rows, 5);
        assert_int_equal(scan_rows_drain(source, threads, &have), FZ_OK);
        assert_int_equal(have.n, 5);
        for (size_t i = 0; i < 5; i++) {
            assert_string_equal(have.lines[i], want[i]);
        }
        scan_rows_dispose(&have);
    }
    fz_batch_dispose(&rows);
    table_dispose(t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(deletes_of_all_kinds_apply),
        FZ_TEST(metadata_columns_and_marked_rows),
        FZ_TEST(files_and_row_groups_are_pruned),
        FZ_TEST(files_without_ids_are_read_by_the_name_mapping),
        FZ_TEST(what_is_wrong_is_said),
        FZ_TEST(rows_are_read_by_their_keys),
        FZ_TEST(pages_without_keys_are_passed_over),
        FZ_TEST(sparse_rows_are_gathered),
        FZ_TEST(a_damaged_page_index_is_passed_over),
        FZ_TEST(fields_of_structs_delete),
        FZ_TEST(position_deletes_as_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
