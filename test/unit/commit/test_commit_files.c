// commit/ into local files: a table with every partition type, for test/interop/test_table_files.py to read with PyIceberg and
// DuckDB. FRAZIL_TEST_OUT names the folder that keeps the tables; without it they go into a temporary one.
#include "commit/commit_table.h"

#include <stdlib.h>
#include <unistd.h>

struct column {
    const char *name;
    struct fz_transform transform;
    struct fz_value value;
};

static struct fz_value integer(enum fz_type_id id, int64_t v) {
    return (struct fz_value){.type = fz_type_primitive(id), .u.i64 = v};
}

static struct fz_value text(enum fz_type_id id, const char *v, size_t len) {
    return (struct fz_value){.type = fz_type_primitive(id), .u.bytes = {v, len}};
}

static size_t columns(struct fz_arena *arena, struct column out[20]) {
    const struct fz_type *decimal = fz_type_decimal(arena, 20, 3);
    const struct fz_type *small = fz_type_decimal(arena, 9, 2);
    const struct fz_type *other =
        fz_type_decimal(arena, 9, 3); // (PyIceberg cannot read a second use of the same decimal type)
    const struct fz_type *fixed = fz_type_fixed(arena, 3);
    const struct column all[] = {
        {"b", {.kind = FZ_TRANSFORM_IDENTITY}, {.type = fz_type_primitive(FZ_TYPE_BOOLEAN), .u.boolean = true}},
        {"i", {.kind = FZ_TRANSFORM_IDENTITY}, integer(FZ_TYPE_INT, -7)},
        {"l", {.kind = FZ_TRANSFORM_IDENTITY}, integer(FZ_TYPE_LONG, INT64_C(1) << 40)},
        {"f", {.kind = FZ_TRANSFORM_IDENTITY}, {.type = fz_type_primitive(FZ_TYPE_FLOAT), .u.f32 = 1.5F}},
        {"d", {.kind = FZ_TRANSFORM_IDENTITY}, {.type = fz_type_primitive(FZ_TYPE_DOUBLE), .u.f64 = -2.25}},
        {"dc", {.kind = FZ_TRANSFORM_IDENTITY}, {.type = decimal, .u.i128 = fz_i128_of(-12345)}},
        {"sm", {.kind = FZ_TRANSFORM_IDENTITY}, {.type = small, .u.i128 = fz_i128_of(199)}},
        {"sm2", {.kind = FZ_TRANSFORM_IDENTITY}, {.type = other, .u.i128 = fz_i128_of(-1)}},
        {"dt", {.kind = FZ_TRANSFORM_IDENTITY}, integer(FZ_TYPE_DATE, 19753)},
        {"tm", {.kind = FZ_TRANSFORM_IDENTITY}, integer(FZ_TYPE_TIME, 81068000000)},
        {"ts", {.kind = FZ_TRANSFORM_IDENTITY}, integer(FZ_TYPE_TIMESTAMP, 1706748303000004)},
        {"tz", {.kind = FZ_TRANSFORM_IDENTITY}, integer(FZ_TYPE_TIMESTAMPTZ, 1706748303000004)},
        {"odd name-1", {.kind = FZ_TRANSFORM_IDENTITY}, text(FZ_TYPE_STRING, "a/b c\xc3\xa4", 7)},
        {"bin", {.kind = FZ_TRANSFORM_IDENTITY}, text(FZ_TYPE_BINARY, "\x00\x01\xff", 3)},
        {"fx", {.kind = FZ_TRANSFORM_IDENTITY}, {.type = fixed, .u.bytes = {"xyz", 3}}},
        {"day", {.kind = FZ_TRANSFORM_DAY}, integer(FZ_TYPE_TIMESTAMPTZ, 1706748303000004)},
        {"bucket", {.kind = FZ_TRANSFORM_BUCKET, .param = 16}, integer(FZ_TYPE_INT, 34)},
    };
    memcpy(out, all, sizeof all);
    return sizeof all / sizeof all[0];
}

static void write_table(const char *folder, const char *version) {
    struct commit_table t;
    struct fz_err err = FZ_ERR_INIT;
    struct column cols[20];
    memset(&t, 0, sizeof t);
    size_t n = columns(&t.arena, cols);
    struct fz_field fields[20];
    struct fz_partition_field parts[20];
    for (size_t i = 0; i < n; i++) {
        fields[i] = (struct fz_field){.id = (int32_t)i + 1, .name = cols[i].name, .type = cols[i].value.type};
        parts[i] = (struct fz_partition_field){.source_id = (int32_t)i + 1, .transform = cols[i].transform};
        parts[i].name = cols[i].transform.kind == FZ_TRANSFORM_IDENTITY
                            ? cols[i].name
                            : fz_arena_printf(&t.arena, "%s_part", cols[i].name);
    }
    t.levels[0] = "db";
    t.name = (struct fz_table_name){t.levels, 1, fz_arena_printf(&t.arena, "v%s", version)};
    const char *location = fz_arena_printf(&t.arena, "%s/v%s", folder, version);
    FZ_OK_OR_FAIL(fz_store_local_new(&t.store, &err), &err);
    FZ_OK_OR_FAIL(fz_catalog_memory_new("local", folder, t.store, &t.catalog, &err), &err);
    const struct fz_table_name ns = {t.levels, 1, NULL};
    FZ_OK_OR_FAIL(t.catalog->vtable->namespace_create(t.catalog, &ns, NULL, 0, &err), &err);
    const struct fz_property property = {"format-version", version};
    const struct fz_table_create create = {
        fz_type_struct(&t.arena, fields, n), parts, n, NULL, 0, location, &property, 1};
    struct fz_metadata *initial = NULL;
    FZ_OK_OR_FAIL(fz_metadata_create(&create, fz_now_us() / 1000, &initial, &err), &err);
    FZ_OK_OR_FAIL(t.catalog->vtable->create(t.catalog, &t.name, initial, &t.metadata, &err), &err);
    fz_metadata_unref(initial);
    FZ_OK_OR_FAIL(fz_metadata_spec_type(&t.arena, t.metadata, 0, &t.tuple, &err), &err);
    struct fz_value *tuple = fz_arena_array(&t.arena, n, sizeof *tuple),
                    *nulls = fz_arena_array(&t.arena, n, sizeof *nulls);
    for (size_t i = 0; i < n; i++) {
        FZ_OK_OR_FAIL(fz_transform_apply(&cols[i].transform, &cols[i].value, &tuple[i], &err), &err);
        nulls[i] = fz_value_null(t.tuple->fields[i].type);
    }
    struct fz_data_file files[2];
    const struct fz_id_count counts[] = {{1, 5}, {2, 5}}, no_nulls[] = {{1, 0}, {2, 0}};
    const struct fz_id_bytes bounds[] = {{2, {"\xf9\xff\xff\xff", 4}}};
    const int64_t offsets[] = {4, 1000};
    for (int i = 0; i < 2; i++) {
        const char *path = fz_arena_printf(&t.arena, "%s/data/%d.parquet", location, i);
        files[i] = (struct fz_data_file){
            .file_path = path, .file_format = "PARQUET", .record_count = 5, .file_size_in_bytes = 50};
        files[i].partition = (struct fz_value){.type = t.tuple, .u.nested = {i == 0 ? tuple : nulls, n}};
        files[i].sort_order_id = 0;
        files[i].first_row_id = files[i].content_offset = files[i].content_size_in_bytes = -1;
        files[i].column_sizes = files[i].value_counts = counts;
        files[i].null_value_counts = no_nulls;
        files[i].n_column_sizes = files[i].n_value_counts = files[i].n_null_value_counts = 2;
        files[i].lower_bounds = files[i].upper_bounds = bounds;
        files[i].n_lower_bounds = files[i].n_upper_bounds = 1;
        files[i].split_offsets = offsets;
        files[i].n_split_offsets = 2;
    }
    append_ok(&t, files, 2);
    struct fz_data_file third = files[0];
    third.file_path = fz_arena_printf(&t.arena, "%s/data/3.parquet", location);
    struct fz_commit_request r = request_of(&t, FZ_COMMIT_OVERWRITE);
    r.removed = files;
    r.n_removed = 1;
    r.added = &third;
    r.n_added = 1;
    commit_ok(&t, &r);
    if (version[0] == '2') {
        struct fz_data_file del = {.content = FZ_CONTENT_EQUALITY_DELETES,
                                   .file_format = "PARQUET",
                                   .record_count = 1,
                                   .file_size_in_bytes = 9};
        const int32_t ids[] = {2};
        del.file_path = fz_arena_printf(&t.arena, "%s/data/eq.parquet", location);
        del.partition = third.partition;
        del.equality_ids = ids;
        del.n_equality_ids = 1;
        del.first_row_id = del.content_offset = del.content_size_in_bytes = -1;
        del.sort_order_id = 0;
        r = request_of(&t, FZ_COMMIT_ROW_DELTA);
        r.added = &del;
        r.n_added = 1;
        commit_ok(&t, &r);
    }
    print_message("%s\n", t.metadata->metadata_location);
    table_close(&t);
}

static void every_partition_type(void **state) {
    (void)state;
    char temporary[] = "/tmp/frazil_commit_XXXXXX";
    const char *folder = getenv("FRAZIL_TEST_OUT");
    char command[256];
    if (folder == NULL) {
        assert_non_null(mkdtemp(temporary));
    }
    write_table(folder != NULL ? folder : temporary, "1");
    write_table(folder != NULL ? folder : temporary, "2");
    write_table(folder != NULL ? folder : temporary, "3");
    if (folder == NULL) {
        (void)snprintf(command, sizeof command, "rm -rf %s", temporary);
        assert_int_equal(system(command), 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(every_partition_type)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
