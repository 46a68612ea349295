// table/: creating metadata, applying updates, requirements. The nested table is one that Spark created (ids and JSON as it wrote
// them); the rest follows iceberg-facts 7.1, 7.2, 7.6, 7.8 and 10.2.
#include "table/table_fixtures.h"

#include "table/update.h"

// Spark: CREATE TABLE nested (a int, s struct<x:int, y:array<struct<p:string,q:int>>>, m map<string,struct<k:int>> comment 'mm',
//        l array<int>, z decimal(9,2) not null, `odd name-1` string) PARTITIONED BY (bucket(4,a), truncate(3,z), `odd name-1`)
static const char *const spark_schema =
    "\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":false,"
    "\"type\":\"int\"},{\"id\":2,\"name\":"
    "\"s\",\"required\":false,\"type\":{\"type\":\"struct\",\"fields\":[{\"id\":7,\"name\":\"x\",\"required\":false,"
    "\"type\":\"int\"},{\"id\":8,\"name\":"
    "\"y\",\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":9,\"element\":{\"type\":\"struct\",\"fields\":"
    "[{\"id\":10,\"name\":\"p\","
    "\"required\":false,\"type\":\"string\"},{\"id\":11,\"name\":\"q\",\"required\":false,\"type\":\"int\"}]},"
    "\"element-required\":false}}]}},{\"id\":3,"
    "\"name\":\"m\",\"required\":false,\"type\":{\"type\":\"map\",\"key-id\":12,\"key\":\"string\",\"value-id\":13,"
    "\"value\":{\"type\":\"struct\","
    "\"fields\":[{\"id\":14,\"name\":\"k\",\"required\":false,\"type\":\"int\"}]},\"value-required\":false},\"doc\":"
    "\"mm\"},{\"id\":4,\"name\":\"l\","
    "\"required\":false,\"type\":{\"type\":\"list\",\"element-id\":15,\"element\":\"int\",\"element-required\":false}},"
    "{\"id\":5,\"name\":\"z\","
    "\"required\":true,\"type\":\"decimal(9, 2)\"},{\"id\":6,\"name\":\"odd "
    "name-1\",\"required\":false,\"type\":\"string\"}]}],\"default-spec-id\":0,"
    "\"partition-specs\":[{\"spec-id\":0,\"fields\":[{\"name\":\"a_bucket\",\"transform\":\"bucket[4]\",\"source-id\":"
    "1,\"field-id\":1000},{\"name\":"
    "\"z_trunc\",\"transform\":\"truncate[3]\",\"source-id\":5,\"field-id\":1001},{\"name\":\"odd "
    "name-1\",\"transform\":\"identity\",\"source-id\":6,"
    "\"field-id\":1002}]}],\"last-partition-id\":1002,\"default-sort-order-id\":0,\"sort-orders\":[{\"order-id\":0,"
    "\"fields\":[]}],\"properties\":{"
    "\"owner\":\"root\",\"abc\":\"d\",\"write.parquet.compression-codec\":\"zstd\"},\"current-snapshot-id\":-1,"
    "\"refs\":{},\"snapshots\":[],"
    "\"statistics\":[],\"partition-statistics\":[],\"snapshot-log\":[],\"metadata-log\":[]}";

static const char *other_member(const struct fz_metadata *m, const char *key) {
    for (size_t i = 0; i < m->n_other_members; i++) {
        if (strcmp(m->other_members[i].key, key) == 0) {
            return m->other_members[i].value;
        }
    }
    return "";
}

static struct fz_metadata *create_nested(struct fz_arena *arena) {
    const struct fz_type *i = fz_type_primitive(FZ_TYPE_INT), *text = fz_type_primitive(FZ_TYPE_STRING);
    const struct fz_field pq[] = {{.id = 90, .name = "p", .type = text}, {.id = 91, .name = "q", .type = i}};
    const struct fz_field xy[] = {
        {.id = 80, .name = "x", .type = i},
        {.id = 81, .name = "y", .type = fz_type_list(arena, 82, false, fz_type_struct(arena, pq, 2))}};
    const struct fz_field k[] = {{.id = 70, .name = "k", .type = i}};
    const struct fz_field fields[] = {{.id = 11, .name = "a", .type = i},
                                      {.id = 12, .name = "s", .type = fz_type_struct(arena, xy, 2)},
                                      {.id = 13,
                                       .name = "m",
                                       .type = fz_type_map(arena, 60, text, 61, false, fz_type_struct(arena, k, 1)),
                                       .doc = "mm"},
                                      {.id = 14, .name = "l", .type = fz_type_list(arena, 50, false, i)},
                                      {.id = 15, .name = "z", .type = fz_type_decimal(arena, 9, 2), .required = true},
                                      {.id = 16, .name = "odd name-1", .type = text}};
    const struct fz_partition_field parts[] = {
        {.source_id = 11, .name = "a_bucket", .transform = {.kind = FZ_TRANSFORM_BUCKET, .param = 4}},
        {.source_id = 15, .name = "z_trunc", .transform = {.kind = FZ_TRANSFORM_TRUNCATE, .param = 3}},
        {.source_id = 16, .name = "odd name-1", .transform = {.kind = FZ_TRANSFORM_IDENTITY}}};
    const struct fz_property properties[] = {{"owner", "root"}, {"format-version", "2"}, {"abc", "d"}};
    const struct fz_table_create create = {
        fz_type_struct(arena, fields, 6), parts, 3, NULL, 0, "memory://w/t/", properties, 3};
    struct fz_metadata *m = NULL;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_metadata_create(&create, 1000, &m, &err), &err);
    return m;
}

static void ids_as_spark_gives_them(void **state) {
    (void)state;
    struct fz_arena arena = {0};
    struct fz_buf out = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_metadata *m = create_nested(&arena);
    FZ_OK_OR_FAIL(fz_metadata_encode(m, &out, &err), &err);
    assert_string_equal(strstr(out.ptr, "\"schemas\""), spark_schema);
    assert_int_equal(m->last_column_id, 15);
    assert_string_equal(m->location, "memory://w/t");
    const struct fz_schema *schema = fz_metadata_current_schema(m);
    assert_int_equal(fz_schema_find_name(schema, "s.y.element.q")->id, 11);
    assert_int_equal(fz_schema_find_name(schema, "M.VALUE.k")->id, 14);
    assert_null(fz_schema_find_name(schema, "s.nothing"));
    assert_string_equal(fz_schema_name_of(schema, 11, &arena), "s.y.element.q");
    fz_metadata_unref(m);
    fz_buf_dispose(&out);
    fz_arena_dispose(&arena);
}

static struct fz_metadata *apply(struct fz_metadata *base, const struct fz_update *u, size_t n, int64_t now) {
    struct fz_metadata *m = NULL;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_metadata_apply(base, u, n, now, &m, &err), &err);
    fz_metadata_unref(base);
    return m;
}

static enum fz_code apply_fails(struct fz_metadata *base, const struct fz_update *u, size_t n) {
    struct fz_metadata *m = NULL;
    struct fz_err err = FZ_ERR_INIT;
    enum fz_code rc = fz_metadata_apply(base, u, n, 2000, &m, &err);
    fz_metadata_unref(m);
    return rc;
}

static struct fz_snapshot snapshot(int64_t id, int64_t parent, int64_t seq, int64_t ms) {
    struct fz_snapshot s = {
        .snapshot_id = id, .parent_snapshot_id = parent, .sequence_number = seq, .timestamp_ms = ms};
    s.manifest_list = "memory://w/list";
    s.operation = "append";
    s.first_row_id = s.added_rows = -1;
    return s;
}

static struct fz_snapshot_ref branch(const char *name, int64_t id) {
    return (struct fz_snapshot_ref){name, id, false, -1, -1, -1};
}

static void snapshots_and_logs(void **state) {
    (void)state;
    struct fz_arena arena = {0};
    struct fz_metadata *m = create_nested(&arena);
    for (int64_t i = 1; i <= 4; i++) {
        const struct fz_snapshot s = snapshot(i * 10, i > 1 ? i * 10 - 10 : -1, i, 1000 + i);
        const struct fz_snapshot_ref ref = branch("main", i * 10);
        const struct fz_update u[] = {{.kind = FZ_UPDATE_ADD_SNAPSHOT, .u.snapshot = &s},
                                      {.kind = FZ_UPDATE_SET_SNAPSHOT_REF, .u.ref = &ref}};
        m->metadata_location = fz_arena_printf(&m->arena, "memory://w/%lld", (long long)i);
        m = apply(m, u, 2, 5000 + i);
        assert_int_equal(m->last_updated_ms, 1000 + i);
        assert_int_equal(m->last_sequence_number, i);
        assert_null(m->metadata_location);
    }
    assert_int_equal(m->n_snapshot_log, 4);
    assert_int_equal(m->n_metadata_log, 4);
    assert_string_equal(m->metadata_log[3].file, "memory://w/4");
    assert_int_equal(m->metadata_log[3].timestamp_ms, 1003);
    // Rollback: a new log entry at the time of the rollback.
    const struct fz_snapshot_ref back = branch("main", 20), tag = {"t", 30, true, -1, -1, 99};
    const struct fz_update roll[] = {{.kind = FZ_UPDATE_SET_SNAPSHOT_REF, .u.ref = &back},
                                     {.kind = FZ_UPDATE_SET_SNAPSHOT_REF, .u.ref = &tag}};
    m = apply(m, roll, 2, 9000);
    assert_int_equal(m->current_snapshot_id, 20);
    assert_int_equal(m->n_snapshot_log, 5);
    assert_int_equal(m->snapshot_log[4].timestamp_ms, 9000);
    // Statistics files: one entry a snapshot, the newest; they go with their snapshot.
    const struct fz_update statistics[] = {
        {.kind = FZ_UPDATE_SET_STATISTICS, .u.statistics = {30, "{\"snapshot-id\":30,\"statistics-path\":\"a\"}"}},
        {.kind = FZ_UPDATE_SET_STATISTICS, .u.statistics = {20, "{\"snapshot-id\":20,\"statistics-path\":\"b\"}"}},
        {.kind = FZ_UPDATE_SET_STATISTICS, .u.statistics = {20, "{\"snapshot-id\":20,\"statistics-path\":\"c\"}"}},
        {.kind = FZ_UPDATE_SET_PARTITION_STATISTICS, .u.statistics = {30, "{\"snapshot-id\":30}"}},
        {.kind = FZ_UPDATE_SET_PARTITION_STATISTICS, .u.statistics = {20, "{\"snapshot-id\":20}"}},
        {.kind = FZ_UPDATE_REMOVE_PARTITION_STATISTICS, .u.statistics = {20, NULL}}};
    m = apply(m, statistics, 6, 9000);
    assert_string_equal(
        other_member(m, "statistics"),
        "[{\"snapshot-id\":30,\"statistics-path\":\"a\"},{\"snapshot-id\":20,\"statistics-path\":\"c\"}]");
    assert_string_equal(other_member(m, "partition-statistics"), "[{\"snapshot-id\":30}]");
    // Expiry cuts the log behind the gap and drops references to what is gone.
    const int64_t gone[] = {10, 30};
    const struct fz_update expire = {.kind = FZ_UPDATE_REMOVE_SNAPSHOTS, .u.snapshots = {gone, 2}};
    m = apply(m, &expire, 1, 9001);
    assert_int_equal(m->n_snapshots, 2);
    assert_int_equal(m->n_snapshot_log, 2); // 40, 20: what came before 30 is cut
    assert_null(fz_metadata_find_ref(m, "t"));
    assert_string_equal(other_member(m, "statistics"), "[{\"snapshot-id\":20,\"statistics-path\":\"c\"}]");
    assert_string_equal(other_member(m, "partition-statistics"), "[]");
    // The metadata log is capped.
    const struct fz_property cap = {"write.metadata.previous-versions-max", "2"};
    const struct fz_update set = {.kind = FZ_UPDATE_SET_PROPERTIES, .u.properties = {&cap, 1}};
    m->metadata_location = "memory://w/9";
    m = apply(m, &set, 1, 9002);
    assert_int_equal(m->n_metadata_log, 2);
    assert_string_equal(m->metadata_log[1].file, "memory://w/9");
    // What must not be.
    const struct fz_snapshot again = snapshot(20, -1, 9, 1), old = snapshot(99, 20, 3, 1);
    const struct fz_snapshot_ref nowhere = branch("b", 12345);
    const struct fz_update bad[] = {
        {.kind = FZ_UPDATE_ADD_SNAPSHOT, .u.snapshot = &again},  {.kind = FZ_UPDATE_ADD_SNAPSHOT, .u.snapshot = &old},
        {.kind = FZ_UPDATE_SET_SNAPSHOT_REF, .u.ref = &nowhere}, {.kind = FZ_UPDATE_UPGRADE_FORMAT_VERSION, .u.id = 1},
        {.kind = FZ_UPDATE_SET_CURRENT_SCHEMA, .u.id = -1},      {.kind = FZ_UPDATE_SET_DEFAULT_SPEC, .u.id = 7}};
    const enum fz_code codes[] = {FZ_INVALID_ARG, FZ_CONFLICT,    FZ_INVALID_ARG,
                                  FZ_INVALID_ARG, FZ_INVALID_ARG, FZ_INVALID_ARG};
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        assert_int_equal(apply_fails(m, &bad[i], 1), codes[i]);
    }
    fz_metadata_unref(m);
    fz_arena_dispose(&arena);
}

static void row_ids_after_an_upgrade(void **state) {
    (void)state;
    struct fz_arena arena = {0};
    struct fz_metadata *m = create_nested(&arena);
    const struct fz_update upgrade = {.kind = FZ_UPDATE_UPGRADE_FORMAT_VERSION, .u.id = 3};
    m = apply(m, &upgrade, 1, 2000);
    assert_int_equal(m->next_row_id, 0);
    struct fz_snapshot s = snapshot(10, -1, 1, 2001);
    const struct fz_update add = {.kind = FZ_UPDATE_ADD_SNAPSHOT, .u.snapshot = &s};
    assert_int_equal(apply_fails(m, &add, 1), FZ_INVALID_ARG); // v3 needs first-row-id
    s.first_row_id = 0;
    s.added_rows = 375;
    m = apply(m, &add, 1, 2002);
    assert_int_equal(m->next_row_id, 375);
    s.snapshot_id = 11;
    s.sequence_number = 2;
    s.first_row_id = 374;
    assert_int_equal(apply_fails(m, &add, 1), FZ_CONFLICT); // behind next-row-id
    fz_metadata_unref(m);
    fz_arena_dispose(&arena);
}

// Spark on table ord: spec 0 (b), 1 (b, bucket a), 2 (bucket a), 3 (bucket a, b): fields keep their ids, equal specs are one.
static void specs_orders_and_schemas(void **state) {
    (void)state;
    struct fz_arena arena = {0};
    struct fz_metadata *m = create_nested(&arena);
    const struct fz_partition_field bucket = {
        .source_id = 1, .name = "a_bucket", .transform = {.kind = FZ_TRANSFORM_BUCKET, .param = 4}};
    const struct fz_partition_field odd = {
        .source_id = 6, .name = "odd name-1", .transform = {.kind = FZ_TRANSFORM_IDENTITY}};
    const struct fz_partition_field fresh = {
        .source_id = 1, .name = "a_bucket_8", .transform = {.kind = FZ_TRANSFORM_BUCKET, .param = 8}};
    const struct fz_partition_field one[] = {odd, fresh}, two[] = {bucket};
    const struct fz_partition_spec specs[] = {{0, one, 2}, {0, two, 1}, {0, one, 2}};
    struct fz_update u[2] = {{.kind = FZ_UPDATE_ADD_SPEC}, {.kind = FZ_UPDATE_SET_DEFAULT_SPEC, .u.id = -1}};
    const int32_t ids[] = {1, 2, 1};
    for (size_t i = 0; i < 3; i++) {
        u[0].u.spec = &specs[i];
        m = apply(m, u, 2, 3000);
        assert_int_equal(m->default_spec_id, ids[i]);
    }
    assert_int_equal(m->n_specs, 3);
    assert_int_equal(m->specs[1].fields[0].field_id, 1002);
    assert_int_equal(m->specs[1].fields[1].field_id, 1003);
    assert_int_equal(m->specs[2].fields[0].field_id, 1000);
    assert_int_equal(m->last_partition_id, 1003);
    const struct fz_type *all;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_metadata_partition_type(&arena, m, &all, &err), &err);
    assert_int_equal(all->n_fields, 4);
    assert_int_equal(all->fields[3].id, 1003);
    // Sort orders count from 1; the unsorted one is 0.
    const struct fz_sort_field by_a = {
        .source_id = 1, .transform = {.kind = FZ_TRANSFORM_IDENTITY}, .nulls_last = false};
    const struct fz_sort_order sorted = {0, &by_a, 1}, unsorted = {0};
    const struct fz_update order[] = {{.kind = FZ_UPDATE_ADD_SORT_ORDER, .u.order = &sorted},
                                      {.kind = FZ_UPDATE_SET_DEFAULT_SORT_ORDER, .u.id = -1}};
    const struct fz_update back[] = {{.kind = FZ_UPDATE_ADD_SORT_ORDER, .u.order = &unsorted},
                                     {.kind = FZ_UPDATE_SET_DEFAULT_SORT_ORDER, .u.id = -1}};
    m = apply(m, order, 2, 3000);
    assert_int_equal(m->default_sort_order_id, 1);
    m = apply(m, back, 2, 3000);
    assert_int_equal(m->default_sort_order_id, 0);
    // An equal schema is not added twice; a new one raises last-column-id; the default spec's source must stay.
    struct fz_schema schema = *fz_metadata_current_schema(m);
    const struct fz_update same[] = {{.kind = FZ_UPDATE_ADD_SCHEMA, .u.schema = &schema},
                                     {.kind = FZ_UPDATE_SET_CURRENT_SCHEMA, .u.id = -1}};
    m = apply(m, same, 2, 3000);
    assert_int_equal(m->n_schemas, 1);
    const struct fz_field longer[] = {{.id = 1, .name = "a", .type = fz_type_primitive(FZ_TYPE_LONG)},
                                      {.id = 6, .name = "odd name-1", .type = fz_type_primitive(FZ_TYPE_STRING)},
                                      {.id = 16, .name = "n", .type = fz_type_primitive(FZ_TYPE_STRING)}};
    schema = (struct fz_schema){.type = fz_type_struct(&arena, longer, 3)};
    const struct fz_update other[] = {{.kind = FZ_UPDATE_ADD_SCHEMA, .u.schema = &schema},
                                      {.kind = FZ_UPDATE_SET_CURRENT_SCHEMA, .u.id = -1}};
    m = apply(m, other, 2, 3000);
    assert_int_equal(m->current_schema_id, 1);
    assert_int_equal(m->last_column_id, 16);
    FZ_OK_OR_FAIL(fz_metadata_partition_type(&arena, m, &all, &err), &err);
    assert_int_equal(all->fields[1].type->id, FZ_TYPE_DECIMAL); // z is gone; an older schema tells its type
    schema = (struct fz_schema){.type = fz_type_struct(&arena, longer, 1)};
    assert_int_equal(apply_fails(m, other, 2), FZ_INVALID_ARG);
    fz_metadata_unref(m);
    fz_arena_dispose(&arena);
}

static void requirements(void **state) {
    (void)state;
    struct fz_arena arena = {0};
    struct fz_metadata *m = create_nested(&arena);
    struct fz_err err = FZ_ERR_INIT;
    const struct fz_requirement good[] = {
        {FZ_REQUIRE_UUID, m->table_uuid, 0},        {FZ_REQUIRE_REF_SNAPSHOT, "main", -1},
        {FZ_REQUIRE_LAST_FIELD_ID, NULL, 15},       {FZ_REQUIRE_CURRENT_SCHEMA_ID, NULL, 0},
        {FZ_REQUIRE_LAST_PARTITION_ID, NULL, 1002}, {FZ_REQUIRE_DEFAULT_SPEC_ID, NULL, 0},
        {FZ_REQUIRE_DEFAULT_SORT_ORDER_ID, NULL, 0}};
    FZ_OK_OR_FAIL(fz_requirements_check(good, sizeof good / sizeof good[0], m, &err), &err);
    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        struct fz_requirement bad = good[i];
        bad.id += 5;
        bad.text = bad.kind == FZ_REQUIRE_UUID ? "00000000-0000-0000-0000-000000000000" : bad.text;
        fz_err_reset(&err);
        assert_int_equal(fz_requirements_check(&bad, 1, m, &err), FZ_CONFLICT);
    }
    const struct fz_requirement create = {FZ_REQUIRE_CREATE, NULL, 0};
    fz_err_reset(&err);
    assert_int_equal(fz_requirements_check(&create, 1, NULL, &err), FZ_OK);
    assert_int_equal(fz_requirements_check(&create, 1, m, &err), FZ_CONFLICT);
    fz_metadata_unref(m);
    fz_arena_dispose(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(ids_as_spark_gives_them), FZ_TEST(snapshots_and_logs),
                                       FZ_TEST(row_ids_after_an_upgrade), FZ_TEST(specs_orders_and_schemas),
                                       FZ_TEST(requirements)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
