// Table writer, commit and scan together over memory: rows pushed by partition come back, files carry what the manifests say.
#include "leak_check.h"

#include <stdio.h>

#include "change/table_writer.h"
#include "commit/commit.h"
#include "format/parquet/parquet_copy.h"
#include "scan/scan.h"

struct fixture {
    struct fz_store *store;
    struct fz_catalog *catalog;
    struct fz_table_name name;
    struct fz_metadata *metadata;
    struct fz_arena arena;
};
static const char *LEVELS[] = {"db"};

static void create_table(struct fixture *f, const char *format_version) {
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_store_memory_new(&f->store, &err), &err);
    FZ_OK_OR_FAIL(fz_catalog_memory_new("m", "memory://wh", f->store, &f->catalog, &err), &err);
    f->name = (struct fz_table_name){LEVELS, 1, "t"};
    struct fz_field fields[3] = {
        {.id = 1, .name = "id", .required = true, .type = fz_type_primitive(FZ_TYPE_LONG)},
        {.id = 2, .name = "v", .type = fz_type_primitive(FZ_TYPE_STRING)},
        {.id = 3, .name = "day", .type = fz_type_primitive(FZ_TYPE_DATE)},
    };
    struct fz_partition_field day = {.source_id = 3, .name = "day_month", .transform = {.kind = FZ_TRANSFORM_MONTH}};
    struct fz_property version = {"format-version", format_version};
    struct fz_table_create create = {.schema = fz_type_struct(&f->arena, fields, 3),
                                     .partition = &day,
                                     .n_partition = 1,
                                     .location = "memory://wh/db/t",
                                     .properties = &version,
                                     .n_properties = 1};
    struct fz_metadata *initial;
    FZ_OK_OR_FAIL(fz_metadata_create(&create, fz_now_us() / 1000, &initial, &err), &err);
    FZ_OK_OR_FAIL(f->catalog->vtable->create(f->catalog, &f->name, initial, &f->metadata, &err), &err);
    fz_metadata_unref(initial);
}

static void drop_fixture(struct fixture *f) {
    fz_metadata_unref(f->metadata);
    fz_catalog_free(f->catalog);
    fz_store_unref(f->store);
    fz_arena_dispose(&f->arena);
}

// 3,000 rows on three months; every seventh value is NULL; texts are long enough not to be inlined.
static void rows_come_back_by_partition(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fixture f = {0};
    create_table(&f, "2");
    struct fz_table_writer *w;
    struct fz_table_writer_options options = {.store = f.store, .metadata = f.metadata, .operation_id = "op"};
    FZ_OK_OR_FAIL(fz_table_writer_new(&options, &w, &err), &err);
    const struct fz_schema *schema = fz_metadata_current_schema(f.metadata);
    struct fz_batch batch;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, schema->type->fields, 3, FZ_BATCH_ROWS, &err), &err);
    char texts[1000][32];
    for (int block = 0; block < 3; block++) {
        for (size_t i = 0; i < 1000; i++) {
            int64_t id = block * 1000 + (int64_t)i;
            ((int64_t *)batch.columns[0].data)[i] = id;
            snprintf(texts[i], sizeof texts[i], "a rather long text %lld", (long long)id);
            ((struct fz_string *)batch.columns[1].data)[i] = fz_string_of(texts[i], strlen(texts[i]));
            ((int32_t *)batch.columns[2].data)[i] = (int32_t)(20000 + id % 3 * 31);
        }
        fz_column_reset(&batch.columns[1]);
        for (size_t i = 0; i < 1000; i += 7) {
            fz_column_set_null(&batch.columns[1], i);
        }
        batch.n_rows = 1000;
        FZ_OK_OR_FAIL(fz_table_writer_push(w, &batch, NULL, 1000, &err), &err);
    }
    struct fz_data_file *files;
    size_t n_files;
    FZ_OK_OR_FAIL(fz_table_writer_finish(w, &f.arena, &files, &n_files, &err), &err);
    assert_int_equal(n_files, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(files[i].record_count, 1000);
        assert_int_equal(files[i].n_value_counts, 3);
        int64_t size;
        FZ_OK_OR_FAIL(fz_store_size(f.store, files[i].file_path, &size, &err), &err);
        assert_int_equal(size, files[i].file_size_in_bytes);
    }
    struct fz_commit_request request = {.catalog = f.catalog,
                                        .table = &f.name,
                                        .store = f.store,
                                        .base = f.metadata,
                                        .kind = FZ_COMMIT_APPEND,
                                        .added = files,
                                        .n_added = n_files,
                                        .scanned_snapshot_id = -1};
    struct fz_commit_result result;
    FZ_OK_OR_FAIL(fz_commit_snapshot(&request, &result, &err), &err);
    const struct fz_snapshot *head = fz_metadata_current_snapshot(result.metadata);
    assert_string_equal(head->operation, "append");
    assert_string_equal(fz_snapshot_summary(head, "added-records"), "3000");
    assert_string_equal(fz_snapshot_summary(head, "changed-partition-count"), "3");
    // Read back.
    struct fz_scan_plan *plan;
    struct fz_scan_options scan = {.store = f.store, .metadata = result.metadata, .snapshot_id = -1};
    FZ_OK_OR_FAIL(fz_scan_plan_new(&scan, &plan, &err), &err);
    assert_int_equal(plan->n_files, 3);
    struct fz_source *source;
    struct fz_scan_source_options read = {
        .plan = plan, .store = f.store, .fields = schema->type->fields, .n_fields = 3};
    FZ_OK_OR_FAIL(fz_scan_source_new(&read, &source, &err), &err);
    void *reader;
    const size_t columns[3] = {0, 1, 2};
    FZ_OK_OR_FAIL(source->vtable->open(source, columns, 3, &reader, &err), &err);
    int64_t rows = 0, sum = 0, nulls = 0;
    for (;;) {
        FZ_OK_OR_FAIL(source->vtable->next(source, reader, &batch, &err), &err);
        if (batch.n_rows == 0) {
            break;
        }
        for (size_t i = 0; i < batch.n_rows; i++) {
            int64_t id = ((int64_t *)batch.columns[0].data)[i];
            sum += id;
            rows++;
            if (!fz_column_is_valid(&batch.columns[1], i)) {
                nulls++;
                assert_int_equal(id % 1000 % 7, 0);
            } else {
                char want[32];
                snprintf(want, sizeof want, "a rather long text %lld", (long long)id);
                const struct fz_string *s = &((struct fz_string *)batch.columns[1].data)[i];
                assert_int_equal(s->length, strlen(want));
                assert_memory_equal(fz_string_ptr(s), want, s->length);
            }
        }
    }
    assert_int_equal(rows, 3000);
    assert_int_equal(sum, 2999 * 1500);
    assert_int_equal(nulls, 3 * 143);
    source->vtable->close(source, reader);
    fz_source_unref(source);
    fz_scan_plan_unref(plan);
    fz_batch_dispose(&batch);
    fz_metadata_unref(result.metadata);
    fz_table_writer_free(w);
    drop_fixture(&f);
}

static void abort_leaves_no_file(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fixture f = {0};
    create_table(&f, "2");
    struct fz_table_writer *w;
    struct fz_table_writer_options options = {.store = f.store, .metadata = f.metadata, .operation_id = "op"};
    FZ_OK_OR_FAIL(fz_table_writer_new(&options, &w, &err), &err);
    struct fz_batch batch;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, fz_metadata_current_schema(f.metadata)->type->fields, 3, 8, &err), &err);
    memset(batch.columns[0].data, 0, 8 * 8);
    memset(batch.columns[1].data, 0, 8 * 16);
    memset(batch.columns[2].data, 0, 8 * 4);
    batch.n_rows = 8;
    FZ_OK_OR_FAIL(fz_table_writer_push(w, &batch, NULL, 8, &err), &err);
    struct fz_data_file *files;
    size_t n;
    FZ_OK_OR_FAIL(fz_table_writer_finish(w, &f.arena, &files, &n, &err), &err);
    assert_int_equal(n, 1);
    char *path = fz_arena_strdup(&f.arena, files[0].file_path);
    fz_table_writer_abort(w);
    fz_table_writer_free(w);
    int64_t size;
    assert_int_equal(fz_store_size(f.store, path, &size, &err), FZ_NOT_FOUND);
    fz_batch_dispose(&batch);
    drop_fixture(&f);
}

// A required column with a NULL stops the write and names the column.
static void null_in_required_column(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fixture f = {0};
    create_table(&f, "2");
    struct fz_table_writer *w;
    struct fz_table_writer_options options = {.store = f.store, .metadata = f.metadata, .operation_id = "op"};
    FZ_OK_OR_FAIL(fz_table_writer_new(&options, &w, &err), &err);
    struct fz_batch batch;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, fz_metadata_current_schema(f.metadata)->type->fields, 3, 8, &err), &err);
    memset(batch.columns[1].data, 0, 8 * 16);
    memset(batch.columns[2].data, 0, 8 * 4);
    memset(batch.columns[0].data, 0, 8 * 8);
    batch.n_rows = 8;
    fz_column_set_null(&batch.columns[0], 5);
    assert_int_equal(fz_table_writer_push(w, &batch, NULL, 8, &err), FZ_CONSTRAINT);
    assert_string_equal(err.condition, "NOT_NULL_ASSERT_VIOLATION");
    assert_non_null(strstr(err.message, "id"));
    fz_table_writer_abort(w);
    fz_table_writer_free(w);
    fz_batch_dispose(&batch);
    drop_fixture(&f);
}

enum { THREADS = 4, ROWS_A_THREAD = 120 * FZ_BATCH_ROWS };
struct pusher {
    struct fz_table_writer *writer;
    const struct fz_field *fields;
    int64_t first;
};
static void *push_many(void *ctx) {
    struct pusher *p = ctx;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_batch batch;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, p->fields, 3, FZ_BATCH_ROWS, &err), &err);
    for (int64_t at = 0; at < ROWS_A_THREAD; at += FZ_BATCH_ROWS) {
        for (size_t i = 0; i < FZ_BATCH_ROWS; i++) {
            ((int64_t *)batch.columns[0].data)[i] = p->first + at + (int64_t)i;
            ((struct fz_string *)batch.columns[1].data)[i] = fz_string_of("text", 4);
            ((int32_t *)batch.columns[2].data)[i] = 20000;
        }
        batch.n_rows = FZ_BATCH_ROWS;
        FZ_OK_OR_FAIL(fz_table_writer_push(p->writer, &batch, NULL, FZ_BATCH_ROWS, &err), &err);
    }
    fz_batch_dispose(&batch);
    return NULL;
}

// The row groups of a file, copied into a table writer; the manifest's figures are those of the file they came from.
static struct fz_data_file copy_all(struct fixture *f, const struct fz_data_file *from,
                                    struct fz_table_writer **writer) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_table_writer *w;
    struct fz_table_writer_options options = {.store = f->store, .metadata = f->metadata, .operation_id = "copy"};
    FZ_OK_OR_FAIL(fz_table_writer_new(&options, &w, &err), &err);
    assert_true(fz_table_writer_takes_partition(w, from->spec_id, &from->partition));
    assert_false(fz_table_writer_takes_partition(w, from->spec_id + 1, &from->partition));
    struct fz_parquet_encoder *encoder;
    struct fz_parquet_file *file;
    FZ_OK_OR_FAIL(fz_table_writer_encoder(w, &encoder, &err), &err);
    FZ_OK_OR_FAIL(fz_parquet_file_open(f->store, from->file_path, -1, NULL, &file, &err), &err);
    for (size_t g = 0; g < fz_parquet_file_meta(file)->n_row_groups; g++) {
        uint8_t fields[3];
        struct fz_parquet_group *group;
        struct fz_parquet_copy copy = {.file = file, .row_group = g};
        assert_int_equal(fz_parquet_copy_fields(encoder, &copy, fields), 3);
        FZ_OK_OR_FAIL(fz_parquet_copy_group(encoder, &copy, fields, NULL, &group, &err), &err);
        FZ_OK_OR_FAIL(fz_table_writer_add_group(w, &from->partition, group, &err), &err);
    }
    fz_parquet_file_unref(file);
    fz_parquet_encoder_free(encoder);
    struct fz_data_file *files;
    size_t n;
    FZ_OK_OR_FAIL(fz_table_writer_finish(w, &f->arena, &files, &n, &err), &err);
    assert_int_equal(n, 1);
    *writer = w;
    return files[0];
}

// Four threads write one partition: one file, nothing lost; then its row groups are copied into another.
static void threads_share_a_file(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fixture f = {0};
    create_table(&f, "2");
    struct fz_table_writer *w, *copier;
    struct fz_table_writer_options options = {.store = f.store, .metadata = f.metadata, .operation_id = "op"};
    FZ_OK_OR_FAIL(fz_table_writer_new(&options, &w, &err), &err);
    const struct fz_schema *schema = fz_metadata_current_schema(f.metadata);
    pthread_t threads[THREADS];
    struct pusher pushers[THREADS];
    for (int i = 0; i < THREADS; i++) {
        pushers[i] = (struct pusher){w, schema->type->fields, (int64_t)i * ROWS_A_THREAD};
        assert_int_equal(pthread_create(&threads[i], NULL, push_many, &pushers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    struct fz_data_file *files;
    size_t n;
    FZ_OK_OR_FAIL(fz_table_writer_finish(w, &f.arena, &files, &n, &err), &err);
    assert_int_equal(n, 1);
    assert_int_equal(files[0].record_count, THREADS * ROWS_A_THREAD);
    struct fz_data_file copied = copy_all(&f, &files[0], &copier);
    const struct fz_data_file *both[] = {&files[0], &copied};
    assert_string_not_equal(files[0].file_path, copied.file_path);
    for (int k = 0; k < 2; k++) {
        assert_int_equal(both[k]->record_count, THREADS * ROWS_A_THREAD);
        assert_int_equal(both[k]->n_lower_bounds, 3);
        int64_t lower, upper;
        memcpy(&lower, both[k]->lower_bounds[0].bytes.ptr, 8);
        memcpy(&upper, both[k]->upper_bounds[0].bytes.ptr, 8);
        assert_int_equal(lower, 0);
        assert_int_equal(upper, THREADS * ROWS_A_THREAD - 1);
        struct fz_parquet_file *file;
        FZ_OK_OR_FAIL(fz_parquet_file_open(f.store, both[k]->file_path, -1, NULL, &file, &err), &err);
        int64_t sum = 0;
        struct fz_batch batch;
        FZ_OK_OR_FAIL(fz_batch_init(&batch, schema->type->fields, 1, FZ_BATCH_ROWS, &err), &err);
        assert_int_equal(fz_parquet_file_meta(file)->n_row_groups, both[k]->n_split_offsets);
        for (size_t g = 0; g < fz_parquet_file_meta(file)->n_row_groups; g++) {
            struct fz_parquet_reader *reader;
            struct fz_parquet_read read = {.fields = schema->type->fields, .n_fields = 1, .row_group = g};
            FZ_OK_OR_FAIL(fz_parquet_reader_open(file, &read, NULL, &reader, &err), &err);
            do {
                FZ_OK_OR_FAIL(fz_parquet_reader_next(reader, &batch, NULL, &err), &err);
                for (size_t i = 0; i < batch.n_rows; i++) {
                    sum += ((int64_t *)batch.columns[0].data)[i];
                }
            } while (batch.n_rows > 0);
            fz_parquet_reader_close(reader);
        }
        int64_t rows = THREADS * ROWS_A_THREAD;
        assert_int_equal(sum, rows * (rows - 1) / 2);
        fz_batch_dispose(&batch);
        fz_parquet_file_unref(file);
    }
    fz_table_writer_free(w);
    fz_table_writer_free(copier);
    drop_fixture(&f);
}

// Forty partitions filled round and round: with little memory their row groups end early, and no row is lost.
static size_t row_groups_with(int64_t memory_bytes) {
    struct fz_err err = FZ_ERR_INIT;
    struct fixture f = {0};
    create_table(&f, "2");
    struct fz_table_writer *w;
    struct fz_table_writer_options options = {
        .store = f.store, .metadata = f.metadata, .operation_id = "op", .memory_bytes = memory_bytes};
    FZ_OK_OR_FAIL(fz_table_writer_new(&options, &w, &err), &err);
    struct fz_batch batch;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, fz_metadata_current_schema(f.metadata)->type->fields, 3, FZ_BATCH_ROWS, &err),
                  &err);
    char texts[FZ_BATCH_ROWS][64];
    for (int block = 0; block < 300; block++) {
        for (size_t i = 0; i < FZ_BATCH_ROWS; i++) {
            int64_t id = (int64_t)block * FZ_BATCH_ROWS + (int64_t)i;
            ((int64_t *)batch.columns[0].data)[i] = id;
            snprintf(texts[i], sizeof texts[i], "%016llx %016llx", (unsigned long long)id * 0x9E3779B97F4A7C15u,
                     (unsigned long long)id * 0xC2B2AE3D27D4EB4Fu);
            ((struct fz_string *)batch.columns[1].data)[i] = fz_string_of(texts[i], strlen(texts[i]));
            ((int32_t *)batch.columns[2].data)[i] = (int32_t)(id % 40 * 31);
        }
        batch.n_rows = FZ_BATCH_ROWS;
        FZ_OK_OR_FAIL(fz_table_writer_push(w, &batch, NULL, FZ_BATCH_ROWS, &err), &err);
    }
    struct fz_data_file *files;
    size_t n_files, groups = 0;
    int64_t rows = 0;
    FZ_OK_OR_FAIL(fz_table_writer_finish(w, &f.arena, &files, &n_files, &err), &err);
    assert_int_equal(n_files, 40);
    for (size_t i = 0; i < n_files; i++) {
        rows += files[i].record_count;
        groups += files[i].n_split_offsets;
    }
    assert_int_equal(rows, 300 * FZ_BATCH_ROWS);
    fz_table_writer_free(w);
    fz_batch_dispose(&batch);
    drop_fixture(&f);
    return groups;
}

static void little_memory_ends_row_groups_early(void **state) {
    (void)state;
    assert_int_equal(row_groups_with(1 << 30), 40);
    size_t groups = row_groups_with(4 << 20);
    assert_true(groups > 60 && groups < 4000); // early, but not a row group a batch
}

// More partitions than may be open (400 at least), their rows in turn, one after the other; each partition gets one file with all of its rows.
static void many_partitions(bool clustered) {
    enum { PARTITIONS = 900, EACH = 25 };
    struct fz_err err = FZ_ERR_INIT;
    struct fixture f = {0};
    create_table(&f, "2");
    struct fz_table_writer *w;
    struct fz_table_writer_options options = {
        .store = f.store, .metadata = f.metadata, .operation_id = "op", .memory_bytes = 1 << 20};
    FZ_OK_OR_FAIL(fz_table_writer_new(&options, &w, &err), &err);
    struct fz_batch batch;
    FZ_OK_OR_FAIL(fz_batch_init(&batch, fz_metadata_current_schema(f.metadata)->type->fields, 3, FZ_BATCH_ROWS, &err),
                  &err);
    for (int64_t at = 0; at < PARTITIONS * EACH;) {
        fz_column_reset(&batch.columns[1]);
        size_t n = 0;
        for (; n < 500 && at < PARTITIONS * EACH; n++, at++) {
            int64_t partition = clustered ? at / EACH : at * 7 % PARTITIONS;
            ((int64_t *)batch.columns[0].data)[n] = at;
            ((struct fz_string *)batch.columns[1].data)[n] = fz_string_of("x", 1);
            ((int32_t *)batch.columns[2].data)[n] = (int32_t)(partition * 31);
            if (at % 3 == 0) {
                fz_column_set_null(&batch.columns[1], n);
            }
        }
        batch.n_rows = n;
        FZ_OK_OR_FAIL(fz_table_writer_push(w, &batch, NULL, n, &err), &err);
    }
    struct fz_data_file *files;
    size_t n_files;
    int64_t rows = 0, sum = 0;
    FZ_OK_OR_FAIL(fz_table_writer_finish(w, &f.arena, &files, &n_files, &err), &err);
    for (size_t i = 0; i < n_files; i++) {
        rows += files[i].record_count;
        sum += files[i].null_value_counts[1].count;
    }
    assert_int_equal(rows, PARTITIONS * EACH);
    assert_int_equal(sum, (PARTITIONS * EACH + 2) / 3);
    fz_table_writer_free(w);
    fz_batch_dispose(&batch);
    drop_fixture(&f);
    assert_true(n_files >= PARTITIONS && n_files <= PARTITIONS + 40); // months of 31 days run over: a few tuples more
}

static void more_partitions_than_may_be_open(void **state) {
    (void)state;
    many_partitions(false);
    many_partitions(true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(rows_come_back_by_partition),
        FZ_TEST(abort_leaves_no_file),
        FZ_TEST(null_in_required_column),
        FZ_TEST(threads_share_a_file),
        FZ_TEST(little_memory_ends_row_groups_early),
        FZ_TEST(more_partitions_than_may_be_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
