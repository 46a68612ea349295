// (Included by test_scan_tables.c and by the test of the same tables through the engine.) Whole tables by Spark, PyIceberg, Impala, Trino, DuckDB and Polars: every snapshot with its own schema and the current one with
// the current schema, compared with the rows recorded from Iceberg Java and others. The tables are not part of the repository:
// FRAZIL_SHARED_DATA names the folder of the material, else ../shared/data beside the source is tried; unpack.sh of it has put the
// tables under /tmp/frazil-data. Without either the test is skipped.
#ifndef FZ_TEST_SCAN_TABLES_H
#define FZ_TEST_SCAN_TABLES_H

#include "scan/scan_rows.h"

#include <jansson.h>
#include <unistd.h>

#define UNPACKED "/tmp/frazil-data/"

static const char *expect_folder(void) {
    static char folder[1024];
    const char *env = getenv("FRAZIL_SHARED_DATA");
    snprintf(folder, sizeof folder, "%s/iceberg/tables", env ? env : FZ_SOURCE_DIR "/../shared/data");
    return access(folder, R_OK) == 0 && access(UNPACKED "wh", R_OK) == 0 ? folder : NULL;
}

// A store that finds files where the archive was unpacked.
struct map_store {
    struct fz_store base;
    struct fz_store *local;
    json_t *prefixes;
};
static const char *mapped(struct fz_store *store, const char *location, char *out, size_t size) {
    struct map_store *map = (struct map_store *)store;
    const char *key;
    json_t *value;
    size_t best = 0;
    snprintf(out, size, "%s", location);
    json_object_foreach(map->prefixes, key, value) {
        if (strlen(key) > best && strncmp(location, key, strlen(key)) == 0) {
            best = strlen(key);
            snprintf(out, size, UNPACKED "%s%s", json_string_value(value), location + best);
        }
    }
    return out;
}
static enum fz_code map_size(struct fz_store *store, const char *location, int64_t *out, struct fz_err *err) {
    char text[2048];
    return fz_store_size(((struct map_store *)store)->local, mapped(store, location, text, sizeof text), out, err);
}
static enum fz_code map_submit(struct fz_store *store, const char *location, const struct fz_range *ranges, size_t n,
                               struct fz_ticket **out, struct fz_err *err) {
    char text[2048];
    return fz_store_submit(((struct map_store *)store)->local, mapped(store, location, text, sizeof text), ranges, n,
                           out, err);
}
static const struct fz_store_vtable map_vtable = {.scheme = "map", .size = map_size, .submit = map_submit};

static void sort_fields(struct fz_field *fields, const struct fz_type *type, size_t *n) {
    *n = type->n_fields;
    memcpy(fields, type->fields, type->n_fields * sizeof *fields);
}

static void show_difference(const char *expected_file, const struct scan_rows *rows) {
    FILE *file = fopen(expected_file, "r");
    char *line = NULL;
    size_t cap = 0, i = 0;
    ssize_t len;
    while (file && (len = getline(&line, &cap, file)) > 0) {
        line[len - 1] = 0;
        if (i >= rows->n || strcmp(line, rows->lines[i]) != 0) {
            print_error("  line %zu: want %.400s\n           have %.400s\n", i + 1, line,
                        i < rows->n ? rows->lines[i] : "(nothing)");
            break;
        }
        i++;
    }
    free(line);
    if (file) {
        fclose(file);
    }
}

// How the rows of a source are read: by scan_rows_read, or through the engine.
static enum fz_code (*tables_read)(const struct fz_scan_source_options *options, struct scan_rows *out);

struct tally {
    int same, unsupported, refused, wrong;
};

// One reading of one snapshot; `want` has rows, xxh64 and maybe file.
static void compare(const char *folder, const char *name, struct fz_store *store, struct fz_metadata *metadata,
                    int64_t snapshot_id, const struct fz_schema *schema, const json_t *want, bool lineage,
                    struct tally *tally) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_scan_plan *plan = NULL;
    struct fz_field fields[256];
    size_t n_fields = 0;
    struct fz_scan_options options = {
        .store = store, .metadata = metadata, .snapshot_id = snapshot_id, .schema = schema};
    struct scan_rows rows = {0};
    enum fz_code rc = fz_scan_plan_new(&options, &plan, &err);
    if (rc != FZ_OK) {
        print_error("%s: plan: %s %s (%s)\n", name, fz_code_name(rc), err.message, err.context);
        tally->wrong++;
        return;
    }
    sort_fields(fields, schema->type, &n_fields);
    if (lineage) {
        fields[n_fields++] =
            (struct fz_field){.id = FZ_ID_ROW_ID, .name = "_row_id", .type = fz_type_primitive(FZ_TYPE_LONG)};
        fields[n_fields++] = (struct fz_field){.id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER,
                                               .name = "_last_updated_sequence_number",
                                               .type = fz_type_primitive(FZ_TYPE_LONG)};
    }
    struct fz_scan_source_options source = {.plan = plan, .store = store, .fields = fields, .n_fields = n_fields};
    rc = tables_read(&source, &rows);
    char text[32];
    snprintf(text, sizeof text, "%016llx", (unsigned long long)scan_rows_hash(&rows));
    const json_t *count = json_object_get(want, "rows"), *hash = json_object_get(want, "xxh64"),
                 *file = json_object_get(want, "file");
    if (rc == FZ_UNSUPPORTED && strstr(rows.err.message, "ORC")) {
        assert_non_null(strstr(rows.err.message, "/"));
        tally->unsupported++;
    } else if (rc == FZ_OK &&
               (hash ? strcmp(json_string_value(hash), text) == 0 : rows.n == (size_t)json_integer_value(count))) {
        tally->same++;
    } else {
        tally->wrong++;
        print_error("%s snapshot %lld%s: %s %s (%s); %zu rows, want %lld\n", name, (long long)snapshot_id,
                    lineage ? " lineage" : "", fz_code_name(rc), rows.err.message, rows.err.context, rows.n,
                    (long long)json_integer_value(count));
        if (rc == FZ_OK && file) {
            char path[2048];
            snprintf(path, sizeof path, "%s/expect/%s/%s", folder, name, json_string_value(file));
            show_difference(path, &rows);
        }
    }
    scan_rows_dispose(&rows);
    fz_scan_plan_unref(plan);
}

static json_t *load_json(const char *folder, const char *name, const char *file) {
    char path[2048];
    snprintf(path, sizeof path, "%s/%s%s/%s", folder, name ? "expect/" : "", name ? name : "", file);
    return json_load_file(path, 0, NULL);
}

static void check_lineage(const char *folder, const char *name, struct fz_store *store, struct fz_metadata *metadata,
                          struct tally *tally) {
    char path[2048], *line = NULL;
    size_t cap = 0;
    snprintf(path, sizeof path, "%s/expect/%s/lineage.jsonl", folder, name);
    FILE *file = fopen(path, "r");
    if (!file) {
        return;
    }
    struct fz_buf all = {0};
    ssize_t len;
    int rows = 0;
    while ((len = getline(&line, &cap, file)) > 0) {
        fz_buf_append(&all, line, (size_t)len);
        rows++;
    }
    char hash[32];
    snprintf(hash, sizeof hash, "%016llx", (unsigned long long)fz_hash64(all.ptr ? all.ptr : "", all.len, 0));
    json_t *want = json_pack("{s:i, s:s, s:s}", "rows", rows, "xxh64", hash, "file", "lineage.jsonl");
    compare(folder, name, store, metadata, -1, fz_metadata_current_schema(metadata), want, true, tally);
    json_decref(want);
    fz_buf_dispose(&all);
    free(line);
    fclose(file);
}

static void check_table(const char *folder, const json_t *entry, struct tally *tally) {
    struct fz_err err = FZ_ERR_INIT;
    const char *name = json_string_value(json_object_get(entry, "name"));
    struct map_store store = {.base = {&map_vtable, 1}};
    json_t *table = load_json(folder, name, "table.json");
    if (!table) {
        return;
    }
    store.prefixes = json_object_get(table, "path_map");
    FZ_OK_OR_FAIL(fz_store_local_new(&store.local, &err), &err);
    char location[2048];
    snprintf(location, sizeof location, UNPACKED "%s", json_string_value(json_object_get(entry, "metadata")));
    struct fz_buf bytes = {0};
    struct fz_metadata *metadata = NULL;
    enum fz_code rc = fz_store_read_all(store.local, location, 64 << 20, &bytes, &err);
    rc = rc == FZ_OK ? fz_metadata_decode(bytes.ptr, bytes.len, location, &metadata, &err) : rc;
    bool refused = json_object_get(table, "load_error") != NULL; // by Java too
    if (rc != FZ_OK) {
        if (!refused) {
            print_error("%s: %s %s\n", name, fz_code_name(rc), err.message);
        }
        tally->wrong += !refused;
        tally->refused += refused;
    } else {
        size_t i;
        json_t *snapshot;
        json_array_foreach(json_object_get(table, "snapshots"), i, snapshot) {
            json_t *schema_id = json_object_get(snapshot, "schema_id");
            const struct fz_schema *schema = json_is_integer(schema_id)
                                                 ? fz_metadata_schema(metadata, (int32_t)json_integer_value(schema_id))
                                                 : fz_metadata_current_schema(metadata);
            if (json_object_get(snapshot, "rows") && schema) {
                compare(folder, name, &store.base, metadata, atoll(json_string_value(json_object_get(snapshot, "id"))),
                        schema, snapshot, false, tally);
            }
        }
        json_t *current = json_object_get(table, "current");
        if (current && json_object_get(current, "rows")) {
            compare(folder, name, &store.base, metadata, -1, fz_metadata_current_schema(metadata), current, false,
                    tally);
        }
        check_lineage(folder, name, &store.base, metadata, tally);
        fz_metadata_unref(metadata);
    }
    fz_buf_dispose(&bytes);
    fz_store_unref(store.local);
    json_decref(table);
}

static void every_snapshot_of_every_table(void **state) {
    (void)state;
    const char *folder = expect_folder(), *only = getenv("FRAZIL_TABLE");
    if (!folder) {
        skip();
    }
    json_t *tables = load_json(folder, NULL, "tables.json"), *entry;
    struct tally tally = {0};
    size_t i;
    assert_non_null(tables);
    json_array_foreach(tables, i, entry) {
        if (!only || strstr(json_string_value(json_object_get(entry, "name")), only)) {
            check_table(folder, entry, &tally);
        }
    }
    print_message("%d readings same, %d in ORC, %d tables refused, %d wrong\n", tally.same, tally.unsupported,
                  tally.refused, tally.wrong);
    json_decref(tables);
    assert_int_equal(tally.wrong, 0);
    assert_true(only || tally.same > 200);
}

#endif
