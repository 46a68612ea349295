// One suite over every catalog: memory, SQLite (JDBC layout), directory (Hadoop layout); then what only one of them has, and the
// outcomes of a swap whose answer is lost.
#include "unit/leak_check.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sqlite3.h>
#include <unistd.h>

#include "catalog/pointer.h"

enum kind { MEMORY, SQLITE, DIRECTORY, N_KINDS };

struct fixture {
    enum kind kind;
    char folder[64], warehouse[96], uri[128];
    struct fz_store *store;
    struct fz_catalog *catalog;
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static struct fz_catalog *open_catalog(struct fixture *f, const char *name) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_catalog *catalog = NULL;
    if (f->kind == MEMORY) {
        FZ_OK_OR_FAIL(fz_catalog_memory_new(name, f->warehouse, f->store, &catalog, &err), &err);
    } else if (f->kind == SQLITE) {
        FZ_OK_OR_FAIL(fz_catalog_sqlite_new(name, f->uri, f->warehouse, NULL, 0, f->store, &catalog, &err), &err);
    } else {
        FZ_OK_OR_FAIL(fz_catalog_directory_new(name, f->warehouse, NULL, 0, f->store, &catalog, &err), &err);
    }
    return catalog;
}

static void open_fixture(struct fixture *f, enum kind kind) {
    struct fz_err err = FZ_ERR_INIT;
    *f = (struct fixture){.kind = kind};
    snprintf(f->folder, sizeof f->folder, "/tmp/fz_catalog_test_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    snprintf(f->warehouse, sizeof f->warehouse, "%s/wh", f->folder);
    snprintf(f->uri, sizeof f->uri, "jdbc:sqlite:%s/catalog.db", f->folder);
    FZ_OK_OR_FAIL(fz_store_local_new(&f->store, &err), &err);
    f->catalog = open_catalog(f, "ice");
}

static void close_fixture(struct fixture *f) {
    fz_catalog_free(f->catalog);
    fz_store_unref(f->store);
    nftw(f->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *const DB[] = {"db"}, *const OTHER[] = {"other"}, *const DEEP[] = {"db", "inner"};
static const struct fz_table_name ns_db = {DB, 1, NULL}, ns_other = {OTHER, 1, NULL}, ns_deep = {DEEP, 2, NULL},
                                  root = {0};
static const struct fz_table_name table_t = {DB, 1, "t"}, table_u = {DB, 1, "u"}, table_o = {OTHER, 1, "t"},
                                  table_deep = {DEEP, 2, "t"};

#define RESULT(call) (fz_err_reset(&err), (call))

static struct fz_metadata *new_metadata(struct fz_catalog *c, const struct fz_table_name *name,
                                        const struct fz_property *properties, size_t n) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_field fields[2] = {{.id = 1, .name = "id", .required = true, .type = fz_type_primitive(FZ_TYPE_LONG)},
                                 {.id = 2, .name = "v", .type = fz_type_primitive(FZ_TYPE_STRING)}};
    struct fz_table_create create = {
        .schema = fz_type_struct(&arena, fields, 2), .properties = properties, .n_properties = n};
    struct fz_metadata *metadata = NULL;
    FZ_OK_OR_FAIL(fz_catalog_default_location(c, name, &arena, &create.location, &err), &err);
    FZ_OK_OR_FAIL(fz_metadata_create(&create, 1700000000000, &metadata, &err), &err);
    fz_arena_dispose(&arena);
    return metadata;
}

static void make_table(struct fz_catalog *c, const struct fz_table_name *name, const struct fz_property *properties,
                       size_t n) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_metadata *initial = new_metadata(c, name, properties, n), *made = NULL;
    FZ_OK_OR_FAIL(c->vtable->create(c, name, initial, &made, &err), &err);
    assert_non_null(made->metadata_location);
    fz_metadata_unref(made);
    fz_metadata_unref(initial);
}

static enum fz_code set_property(struct fz_catalog *c, const struct fz_table_name *name, const char *key,
                                 const char *value, struct fz_metadata **out, struct fz_err *err) {
    struct fz_property property = {key, value};
    struct fz_update update = {.kind = FZ_UPDATE_SET_PROPERTIES, .u.properties = {&property, 1}};
    struct fz_metadata *metadata = NULL;
    enum fz_code rc = c->vtable->commit(c, name, NULL, 0, &update, 1, &metadata, err);
    if (rc == FZ_OK && out != NULL) {
        *out = metadata;
    } else {
        fz_metadata_unref(metadata);
    }
    return rc;
}

struct names {
    size_t n;
    char text[20][64];
};
static enum fz_code note_name(void *ctx, const struct fz_table_name *name, struct fz_err *err) {
    struct names *names = ctx;
    struct fz_buf buf = {0};
    (void)err;
    fz_table_name_print(&buf, name);
    snprintf(names->text[names->n++], 64, "%s", buf.ptr);
    fz_buf_dispose(&buf);
    return FZ_OK;
}

static void tables_come_and_go(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_catalog *c = f->catalog;
    struct fz_metadata *m = NULL, *again = NULL;
    FZ_OK_OR_FAIL(c->vtable->namespace_create(c, &ns_db, NULL, 0, &err), &err);
    assert_int_equal(RESULT(c->vtable->load(c, &table_t, &m, &err)), FZ_NOT_FOUND);
    assert_string_equal(err.condition, "TABLE_OR_VIEW_NOT_FOUND");
    fz_err_reset(&err);
    make_table(c, &table_t, NULL, 0);
    make_table(c, &table_u, NULL, 0);
    m = new_metadata(c, &table_t, NULL, 0);
    assert_int_equal(RESULT(c->vtable->create(c, &table_t, m, &again, &err)), FZ_EXISTS);
    assert_string_equal(err.condition, "TABLE_OR_VIEW_ALREADY_EXISTS");
    fz_metadata_unref(m);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(c->vtable->load(c, &table_t, &m, &err), &err);
    char want[160];
    snprintf(want, sizeof want, "%s/db/t", f->warehouse);
    assert_string_equal(m->location, want);
    assert_int_equal(fz_metadata_current_schema(m)->type->n_fields, 2);
    assert_true(strncmp(m->metadata_location, want, strlen(want)) == 0);
    fz_metadata_unref(m);
    struct names names = {0};
    FZ_OK_OR_FAIL(c->vtable->list_tables(c, &ns_db, note_name, &names, &err), &err);
    assert_int_equal(names.n, 2);
    assert_string_equal(names.text[0], "db.t");
    assert_string_equal(names.text[1], "db.u");
    assert_int_equal(RESULT(c->vtable->list_tables(c, &ns_other, note_name, &names, &err)), FZ_NOT_FOUND);
    assert_string_equal(err.condition, "SCHEMA_NOT_FOUND");
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(c->vtable->drop(c, &table_t, &err), &err);
    assert_int_equal(RESULT(c->vtable->drop(c, &table_t, &err)), FZ_NOT_FOUND);
    assert_int_equal(RESULT(c->vtable->load(c, &table_t, &m, &err)), FZ_NOT_FOUND);
    fz_err_reset(&err);
    make_table(c, &table_t, (struct fz_property[]){{"second", "life"}}, 1); // the name is free again
    FZ_OK_OR_FAIL(c->vtable->load(c, &table_t, &m, &err), &err);
    assert_string_equal(fz_metadata_property(m, "second", ""), "life");
    fz_metadata_unref(m);
}

static void commits_replace_the_metadata(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_catalog *c = f->catalog;
    struct fz_metadata *first = NULL, *second = NULL, *loaded = NULL;
    make_table(c, &table_t, NULL, 0);
    FZ_OK_OR_FAIL(c->vtable->load(c, &table_t, &first, &err), &err);
    FZ_OK_OR_FAIL(set_property(c, &table_t, "a", "1", &second, &err), &err);
    assert_string_not_equal(first->metadata_location, second->metadata_location);
    assert_int_equal(second->n_metadata_log, 1);
    assert_string_equal(second->metadata_log[0].file, first->metadata_location);
    FZ_OK_OR_FAIL(c->vtable->load(c, &table_t, &loaded, &err), &err);
    assert_string_equal(loaded->metadata_location, second->metadata_location);
    assert_string_equal(fz_metadata_property(loaded, "a", ""), "1");
    const char *name = strrchr(loaded->metadata_location, '/') + 1;
    assert_true(strncmp(name, f->kind == DIRECTORY ? "v2.metadata.json" : "00001-", 6) == 0);
    fz_metadata_unref(loaded);
    // somebody else with an old idea of the table
    struct fz_requirement wrong[] = {{.kind = FZ_REQUIRE_UUID, .text = first->table_uuid},
                                     {.kind = FZ_REQUIRE_REF_SNAPSHOT, .text = "main", .id = 17}};
    struct fz_property property = {"b", "2"};
    struct fz_update update = {.kind = FZ_UPDATE_SET_PROPERTIES, .u.properties = {&property, 1}};
    assert_int_equal(RESULT(c->vtable->commit(c, &table_t, wrong, 2, &update, 1, &loaded, &err)), FZ_CONFLICT);
    wrong[1].id = -1;
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(c->vtable->commit(c, &table_t, wrong, 2, &update, 1, &loaded, &err), &err);
    assert_int_equal(loaded->n_metadata_log, 2);
    fz_metadata_unref(loaded);
    assert_int_equal(RESULT(set_property(c, &table_u, "a", "1", NULL, &err)), FZ_NOT_FOUND);
    fz_metadata_unref(first);
    fz_metadata_unref(second);
}

static void a_commit_can_create(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_catalog *c = f->catalog;
    struct fz_metadata *model = new_metadata(c, &table_t, NULL, 0), *made = NULL;
    struct fz_requirement create = {.kind = FZ_REQUIRE_CREATE};
    struct fz_update updates[] = {
        {.kind = FZ_UPDATE_ASSIGN_UUID, .u.text = model->table_uuid},
        {.kind = FZ_UPDATE_UPGRADE_FORMAT_VERSION, .u.id = 2},
        {.kind = FZ_UPDATE_ADD_SCHEMA, .u.schema = &model->schemas[0]},
        {.kind = FZ_UPDATE_SET_CURRENT_SCHEMA, .u.id = -1},
        {.kind = FZ_UPDATE_ADD_SPEC, .u.spec = &model->specs[0]},
        {.kind = FZ_UPDATE_SET_DEFAULT_SPEC, .u.id = -1},
        {.kind = FZ_UPDATE_ADD_SORT_ORDER, .u.order = &model->sort_orders[0]},
        {.kind = FZ_UPDATE_SET_DEFAULT_SORT_ORDER, .u.id = -1},
        {.kind = FZ_UPDATE_SET_LOCATION, .u.text = model->location},
    };
    FZ_OK_OR_FAIL(c->vtable->commit(c, &table_t, &create, 1, updates, sizeof updates / sizeof updates[0], &made, &err),
                  &err);
    assert_string_equal(made->table_uuid, model->table_uuid);
    fz_metadata_unref(made);
    assert_int_equal(RESULT(c->vtable->commit(c, &table_t, &create, 1, updates, 9, &made, &err)), FZ_EXISTS);
    fz_metadata_unref(model);
}

enum { THREADS = 4, COMMITS = 6 };
struct committer {
    struct fz_catalog *catalog;
    int id, conflicts;
    enum fz_code code;
};
static void *commit_many(void *ctx) {
    struct committer *c = ctx;
    for (int i = 0; i < COMMITS; i++) {
        char key[32];
        snprintf(key, sizeof key, "k.%d.%d", c->id, i);
        struct fz_err err = FZ_ERR_INIT;
        while ((c->code = set_property(c->catalog, &table_t, key, "x", NULL, &err)) == FZ_CONFLICT) {
            c->conflicts++;
            fz_err_reset(&err);
            fz_sleep_us(1000);
        }
        if (c->code != FZ_OK) {
            return NULL;
        }
    }
    return NULL;
}

static void no_commit_is_lost(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct committer committers[THREADS];
    pthread_t threads[THREADS];
    struct fz_catalog *others[THREADS] = {0};
    make_table(f->catalog, &table_t, NULL, 0);
    for (int i = 0; i < THREADS; i++) { // every thread with a catalog of its own, where two can look at the same place
        others[i] = f->kind == MEMORY ? NULL : open_catalog(f, "ice");
        committers[i] = (struct committer){.catalog = others[i] != NULL ? others[i] : f->catalog, .id = i};
        assert_int_equal(pthread_create(&threads[i], NULL, commit_many, &committers[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_int_equal(committers[i].code, FZ_OK);
        fz_catalog_free(others[i]);
    }
    struct fz_metadata *m = NULL;
    FZ_OK_OR_FAIL(f->catalog->vtable->load(f->catalog, &table_t, &m, &err), &err);
    assert_int_equal(m->n_metadata_log, THREADS * COMMITS);
    for (int i = 0; i < THREADS * COMMITS; i++) {
        char key[32];
        snprintf(key, sizeof key, "k.%d.%d", i / COMMITS, i % COMMITS);
        assert_string_equal(fz_metadata_property(m, key, ""), "x");
    }
    fz_metadata_unref(m);
}

static enum fz_code count_entry(void *ctx, const struct fz_list_entry *entry, struct fz_err *err) {
    (void)entry;
    (void)err;
    ++*(size_t *)ctx;
    return FZ_OK;
}

static void losers_leave_no_files(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    no_commit_is_lost(f);
    char folder[160];
    size_t n = 0;
    snprintf(folder, sizeof folder, "%s/db/t/metadata", f->warehouse);
    FZ_OK_OR_FAIL(fz_store_list(f->store, folder, count_entry, &n, &err), &err);
    assert_int_equal(n, THREADS * COMMITS + 1 + (f->kind == DIRECTORY)); // and the hint
}

static void compressed_metadata(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_catalog *c = f->catalog;
    struct fz_metadata *m = NULL;
    make_table(c, &table_t, (struct fz_property[]){{"write.metadata.compression-codec", "gzip"}}, 1);
    FZ_OK_OR_FAIL(set_property(c, &table_t, "a", "1", NULL, &err), &err);
    fz_catalog_free(c);
    f->catalog = c = f->kind == MEMORY ? NULL : open_catalog(f, "ice");
    if (c == NULL) {
        return; // its pointers are gone
    }
    FZ_OK_OR_FAIL(c->vtable->load(c, &table_t, &m, &err), &err);
    assert_non_null(strstr(m->metadata_location, ".gz.metadata.json"));
    uint8_t magic[2];
    FZ_OK_OR_FAIL(fz_store_read(f->store, m->metadata_location, 0, 2, magic, NULL, &err), &err);
    assert_true(magic[0] == 0x1f && magic[1] == 0x8b);
    assert_string_equal(fz_metadata_property(m, "a", ""), "1");
    fz_metadata_unref(m);
}

static void old_metadata_files_are_removed_when_asked(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_property properties[] = {{"write.metadata.delete-after-commit.enabled", "true"},
                                       {"write.metadata.previous-versions-max", "2"}};
    make_table(f->catalog, &table_t, properties, 2);
    for (int i = 0; i < 6; i++) {
        FZ_OK_OR_FAIL(set_property(f->catalog, &table_t, "a", i % 2 ? "1" : "2", NULL, &err), &err);
    }
    char folder[160];
    size_t n = 0;
    snprintf(folder, sizeof folder, "%s/db/t/metadata", f->warehouse);
    FZ_OK_OR_FAIL(fz_store_list(f->store, folder, count_entry, &n, &err), &err);
    assert_int_equal(n, 3 + (f->kind == DIRECTORY)); // the current one and two before it
    struct fz_metadata *m = NULL;
    FZ_OK_OR_FAIL(f->catalog->vtable->load(f->catalog, &table_t, &m, &err), &err);
    fz_metadata_unref(m);
}

static void expect_namespaces(struct fz_catalog *c, const struct fz_table_name *parent, const char *want) {
    struct fz_err err = FZ_ERR_INIT;
    struct names names = {0};
    char text[400] = "";
    FZ_OK_OR_FAIL(c->vtable->namespace_list(c, parent, note_name, &names, &err), &err);
    for (size_t i = 0; i < names.n; i++) {
        strcat(strcat(text, i > 0 ? " " : ""), names.text[i]);
    }
    assert_string_equal(text, want);
}

static void namespaces(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_catalog *c = f->catalog;
    bool exists = true;
    FZ_OK_OR_FAIL(c->vtable->namespace_exists(c, &ns_db, &exists, &err), &err);
    assert_false(exists);
    expect_namespaces(c, &root, "");
    FZ_OK_OR_FAIL(c->vtable->namespace_create(c, &ns_db, NULL, 0, &err), &err);
    assert_int_equal(RESULT(c->vtable->namespace_create(c, &ns_db, NULL, 0, &err)), FZ_EXISTS);
    assert_string_equal(err.condition, "SCHEMA_ALREADY_EXISTS");
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(c->vtable->namespace_exists(c, &ns_db, &exists, &err), &err);
    assert_true(exists);
    FZ_OK_OR_FAIL(c->vtable->namespace_create(c, &ns_deep, NULL, 0, &err), &err);
    make_table(c, &table_deep, NULL, 0);
    FZ_OK_OR_FAIL(c->vtable->namespace_create(c, &ns_other, NULL, 0, &err), &err);
    expect_namespaces(c, &root, "db other");
    expect_namespaces(c, &ns_db, "db.inner");
    expect_namespaces(c, &ns_deep, "");
    static const char *const NEAR[] = {"d"}, *const UPPER[] = {"DB"};
    struct fz_table_name near = {NEAR, 1, NULL}, upper = {UPPER, 1, NULL};
    FZ_OK_OR_FAIL(c->vtable->namespace_exists(c, &near, &exists, &err), &err);
    assert_false(exists);
    FZ_OK_OR_FAIL(c->vtable->namespace_exists(c, &upper, &exists, &err), &err);
    assert_false(exists);
    struct names names = {0};
    assert_int_equal(RESULT(c->vtable->namespace_list(c, &near, note_name, &names, &err)), FZ_NOT_FOUND);
    // not empty, empty, gone
    assert_int_equal(RESULT(c->vtable->namespace_drop(c, &ns_db, &err)), FZ_INVALID_ARG);
    assert_string_equal(err.condition, "SCHEMA_NOT_EMPTY");
    assert_int_equal(RESULT(c->vtable->namespace_drop(c, &ns_deep, &err)), FZ_INVALID_ARG);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(c->vtable->drop(c, &table_deep, &err), &err);
    FZ_OK_OR_FAIL(c->vtable->namespace_drop(c, &ns_deep, &err), &err);
    FZ_OK_OR_FAIL(c->vtable->namespace_drop(c, &ns_db, &err), &err);
    assert_int_equal(RESULT(c->vtable->namespace_drop(c, &ns_db, &err)), FZ_NOT_FOUND);
    assert_string_equal(err.condition, "SCHEMA_NOT_FOUND");
    expect_namespaces(c, &root, "other");
}

static const char *property_of(const struct fz_property *properties, size_t n, const char *key) {
    for (size_t i = 0; i < n; i++) {
        if (strcmp(properties[i].key, key) == 0) {
            return properties[i].value;
        }
    }
    return NULL;
}

static void namespace_properties(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_catalog *c = f->catalog;
    struct fz_property *p, first[] = {{"comment", "first"}, {"a", "1"}}, set[] = {{"a", "2"}, {"b", "3"}},
                           bad = {"x", "y"};
    const char *const removed[] = {"comment", "not there"}, *location;
    size_t n;
    if (f->kind == DIRECTORY) {
        assert_int_equal(RESULT(c->vtable->namespace_create(c, &ns_db, &bad, 1, &err)), FZ_UNSUPPORTED);
        return;
    }
    FZ_OK_OR_FAIL(c->vtable->namespace_create(c, &ns_db, first, 2, &err), &err);
    FZ_OK_OR_FAIL(c->vtable->namespace_properties(c, &ns_db, &arena, &p, &n, &err), &err);
    assert_int_equal(n, 3); // sorted, with the default location
    assert_string_equal(p[0].key, "a");
    assert_string_equal(p[1].value, "first");
    char want[160];
    snprintf(want, sizeof want, "%s/db", f->warehouse);
    assert_string_equal(p[2].value, want);
    FZ_OK_OR_FAIL(c->vtable->namespace_set_properties(c, &ns_db, set, 2, removed, 2, &err), &err);
    FZ_OK_OR_FAIL(c->vtable->namespace_properties(c, &ns_db, &arena, &p, &n, &err), &err);
    assert_int_equal(n, 3);
    assert_string_equal(property_of(p, n, "a"), "2");
    assert_string_equal(property_of(p, n, "b"), "3");
    assert_null(property_of(p, n, "exists"));
    assert_int_equal(RESULT(c->vtable->namespace_set_properties(c, &ns_other, set, 2, NULL, 0, &err)), FZ_NOT_FOUND);
    assert_int_equal(RESULT(c->vtable->namespace_properties(c, &ns_other, &arena, &p, &n, &err)), FZ_NOT_FOUND);
    fz_err_reset(&err);
    // tables go where the namespace says
    struct fz_property elsewhere = {"location", "/else/where/"};
    FZ_OK_OR_FAIL(c->vtable->namespace_create(c, &ns_other, &elsewhere, 1, &err), &err);
    FZ_OK_OR_FAIL(fz_catalog_default_location(c, &table_o, &arena, &location, &err), &err);
    assert_string_equal(location, "/else/where/t");
    fz_arena_dispose(&arena);
}

static void renaming(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_catalog *c = f->catalog;
    struct fz_metadata *m = NULL;
    make_table(c, &table_t, NULL, 0);
    make_table(c, &table_u, NULL, 0);
    if (f->kind == DIRECTORY) {
        assert_int_equal(RESULT(c->vtable->rename(c, &table_t, &table_u, &err)), FZ_UNSUPPORTED);
        return;
    }
    assert_int_equal(RESULT(c->vtable->rename(c, &table_t, &table_u, &err)), FZ_EXISTS);
    assert_int_equal(RESULT(c->vtable->rename(c, &table_t, &table_o, &err)), FZ_NOT_FOUND); // no such namespace
    assert_string_equal(err.condition, "SCHEMA_NOT_FOUND");
    assert_int_equal(RESULT(c->vtable->rename(c, &table_o, &table_t, &err)), FZ_NOT_FOUND);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(c->vtable->namespace_create(c, &ns_other, NULL, 0, &err), &err);
    FZ_OK_OR_FAIL(c->vtable->rename(c, &table_t, &table_o, &err), &err);
    assert_int_equal(RESULT(c->vtable->load(c, &table_t, &m, &err)), FZ_NOT_FOUND);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(set_property(c, &table_o, "a", "1", &m, &err), &err);
    fz_metadata_unref(m);
}

static void a_missing_metadata_file_is_not_a_missing_table(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_metadata *m = NULL;
    if (f->kind != SQLITE) {
        return; // in a directory the file is the table; memory has it in its cache
    }
    make_table(f->catalog, &table_t, NULL, 0);
    FZ_OK_OR_FAIL(f->catalog->vtable->load(f->catalog, &table_t, &m, &err), &err);
    FZ_OK_OR_FAIL(fz_store_remove(f->store, m->metadata_location, &err), &err);
    fz_metadata_unref(m);
    struct fz_catalog *fresh = open_catalog(f, "ice");
    assert_int_equal(RESULT(fresh->vtable->load(fresh, &table_t, &m, &err)), FZ_CORRUPT);
    fz_catalog_free(fresh);
}

static void run_everywhere(void (*test)(struct fixture *)) {
    for (int kind = 0; kind < N_KINDS; kind++) {
        struct fixture f;
        open_fixture(&f, (enum kind)kind);
        test(&f);
        close_fixture(&f);
    }
}
#define ON_EVERY_CATALOG(name)                                                                                         \
    static void every_##name(void **state) {                                                                           \
        (void)state;                                                                                                   \
        run_everywhere(name);                                                                                          \
    }
ON_EVERY_CATALOG(tables_come_and_go)
ON_EVERY_CATALOG(commits_replace_the_metadata)
ON_EVERY_CATALOG(a_commit_can_create)
ON_EVERY_CATALOG(no_commit_is_lost)
ON_EVERY_CATALOG(losers_leave_no_files)
ON_EVERY_CATALOG(compressed_metadata)
ON_EVERY_CATALOG(old_metadata_files_are_removed_when_asked)
ON_EVERY_CATALOG(namespaces)
ON_EVERY_CATALOG(namespace_properties)
ON_EVERY_CATALOG(renaming)
ON_EVERY_CATALOG(a_missing_metadata_file_is_not_a_missing_table)

// ---- SQLite alone

static void run_sql(struct fixture *f, const char *sql) {
    sqlite3 *db;
    char *message = NULL;
    assert_int_equal(sqlite3_open(f->uri + 12, &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s", message);
    }
    sqlite3_close(db);
}

static void ask_sql(struct fixture *f, const char *sql, char *out, size_t size) {
    sqlite3 *db;
    sqlite3_stmt *stmt;
    assert_int_equal(sqlite3_open(f->uri + 12, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
    out[0] = 0;
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(stmt); i++) {
            const char *text = (const char *)sqlite3_column_text(stmt, i);
            snprintf(out + strlen(out), size - strlen(out), "%s%s",
                     i > 0    ? "|"
                     : out[0] ? ";"
                              : "",
                     text ? text : "NULL");
        }
    }
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

static void rows_are_those_of_the_jdbc_catalog(void **state) {
    (void)state;
    struct fixture f;
    struct fz_err err = FZ_ERR_INIT;
    char text[1000];
    open_fixture(&f, SQLITE);
    FZ_OK_OR_FAIL(f.catalog->vtable->namespace_create(f.catalog, &ns_deep, NULL, 0, &err), &err);
    ask_sql(&f, "SELECT * FROM iceberg_namespace_properties", text, sizeof text);
    assert_string_equal(text, "ice|db.inner|exists|true");
    make_table(f.catalog, &table_deep, NULL, 0);
    ask_sql(&f,
            "SELECT catalog_name, table_namespace, table_name, previous_metadata_location, iceberg_type FROM "
            "iceberg_tables",
            text, sizeof text);
    assert_string_equal(text, "ice|db.inner|t|NULL|TABLE");
    FZ_OK_OR_FAIL(set_property(f.catalog, &table_deep, "a", "1", NULL, &err), &err);
    ask_sql(&f,
            "SELECT metadata_location LIKE '%/metadata/00001-%', previous_metadata_location LIKE '%/metadata/00000-%' "
            "FROM iceberg_tables",
            text, sizeof text);
    assert_string_equal(text, "1|1");
    // a view is not a table, but it has the name
    run_sql(&f, "INSERT INTO iceberg_tables VALUES ('ice','db.inner','v','x',NULL,'VIEW')");
    const struct fz_table_name view = {DEEP, 2, "v"};
    struct fz_metadata *m = NULL, *initial = new_metadata(f.catalog, &view, NULL, 0);
    assert_int_equal(RESULT(f.catalog->vtable->load(f.catalog, &view, &m, &err)), FZ_NOT_FOUND);
    assert_int_equal(RESULT(f.catalog->vtable->create(f.catalog, &view, initial, &m, &err)), FZ_EXISTS);
    fz_err_reset(&err);
    fz_metadata_unref(initial);
    struct names names = {0};
    FZ_OK_OR_FAIL(f.catalog->vtable->list_tables(f.catalog, &ns_deep, note_name, &names, &err), &err);
    assert_int_equal(names.n, 1);
    // another catalog in the same file does not see any of it
    struct fz_catalog *other = open_catalog(&f, "other");
    expect_namespaces(other, &root, "");
    assert_int_equal(RESULT(other->vtable->load(other, &table_deep, &m, &err)), FZ_NOT_FOUND);
    fz_catalog_free(other);
    close_fixture(&f);
}

static void the_old_layout_stays_unless_asked(void **state) {
    (void)state;
    struct fixture f;
    struct fz_err err = FZ_ERR_INIT;
    char text[100];
    open_fixture(&f, SQLITE);
    fz_catalog_free(f.catalog);
    run_sql(
        &f,
        "DROP TABLE iceberg_tables; CREATE TABLE iceberg_tables (catalog_name VARCHAR(255) NOT NULL, table_namespace "
        "VARCHAR(255) NOT NULL, "
        "table_name VARCHAR(255) NOT NULL, metadata_location VARCHAR(1000), previous_metadata_location VARCHAR(1000), "
        "PRIMARY KEY (catalog_name, table_namespace, table_name))");
    f.catalog = open_catalog(&f, "ice");
    make_table(f.catalog, &table_t, NULL, 0);
    FZ_OK_OR_FAIL(set_property(f.catalog, &table_t, "a", "1", NULL, &err), &err);
    ask_sql(&f, "SELECT count(*) FROM pragma_table_info('iceberg_tables')", text, sizeof text);
    assert_string_equal(text, "5");
    fz_catalog_free(f.catalog);
    struct fz_property v1 = {"jdbc.schema-version", "V1"};
    FZ_OK_OR_FAIL(fz_catalog_sqlite_new("ice", f.uri, f.warehouse, &v1, 1, f.store, &f.catalog, &err), &err);
    ask_sql(&f, "SELECT count(*) FROM pragma_table_info('iceberg_tables')", text, sizeof text);
    assert_string_equal(text, "6");
    FZ_OK_OR_FAIL(set_property(f.catalog, &table_t, "a", "2", NULL, &err), &err); // its type is NULL: a table
    close_fixture(&f);
}

static void bad_uris_and_files(void **state) {
    (void)state;
    struct fixture f;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_catalog *c = NULL;
    open_fixture(&f, SQLITE);
    assert_int_equal(RESULT(fz_catalog_sqlite_new("x", "jdbc:postgresql://h/db", "/w", NULL, 0, f.store, &c, &err)),
                     FZ_INVALID_ARG);
    assert_int_equal(RESULT(fz_catalog_sqlite_new("x", "jdbc:sqlite:", "/w", NULL, 0, f.store, &c, &err)),
                     FZ_INVALID_ARG);
    assert_int_equal(
        RESULT(fz_catalog_sqlite_new("x", "jdbc:sqlite:/no/such/folder/x.db", "/w", NULL, 0, f.store, &c, &err)),
        FZ_IO);
    char uri[200], path[160];
    snprintf(path, sizeof path, "%s/not.db", f.folder);
    snprintf(uri, sizeof uri, "jdbc:sqlite:%s", path);
    fz_err_reset(&err);
    char rubbish[4096];
    memset(rubbish, 'x', sizeof rubbish);
    FZ_OK_OR_FAIL(fz_store_put(f.store, path, rubbish, sizeof rubbish, false, &err), &err);
    assert_int_equal(RESULT(fz_catalog_sqlite_new("x", uri, "/w", NULL, 0, f.store, &c, &err)), FZ_CORRUPT);
    snprintf(uri, sizeof uri, "jdbc:sqlite:file:%s/uri.db", f.folder);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(fz_catalog_sqlite_new("x", uri, "/w", NULL, 0, f.store, &c, &err), &err);
    fz_catalog_free(c);
    close_fixture(&f);
}

// ---- directory alone

static void hints_may_be_wrong(void **state) {
    (void)state;
    struct fixture f;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_metadata *m = NULL;
    char hint[200];
    open_fixture(&f, DIRECTORY);
    make_table(f.catalog, &table_t, NULL, 0);
    for (int i = 0; i < 11; i++) {
        FZ_OK_OR_FAIL(set_property(f.catalog, &table_t, "a", i % 2 ? "1" : "2", NULL, &err), &err);
    }
    snprintf(hint, sizeof hint, "%s/db/t/metadata/version-hint.text", f.warehouse);
    static const char *const hints[] = {"12", "3", "99", "x", "", "-1", " 7\n"};
    for (size_t i = 0; i <= sizeof hints / sizeof hints[0]; i++) {
        if (i < sizeof hints / sizeof hints[0]) {
            FZ_OK_OR_FAIL(fz_store_put(f.store, hint, hints[i], strlen(hints[i]), false, &err), &err);
        } else {
            FZ_OK_OR_FAIL(fz_store_remove(f.store, hint, &err), &err);
        }
        FZ_OK_OR_FAIL(f.catalog->vtable->load(f.catalog, &table_t, &m, &err), &err);
        assert_string_equal(strrchr(m->metadata_location, '/'), "/v12.metadata.json");
        fz_metadata_unref(m);
    }
    close_fixture(&f);
}

static void directory_tables_stay_in_their_folder(void **state) {
    (void)state;
    struct fixture f;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_metadata *m = NULL;
    open_fixture(&f, DIRECTORY);
    make_table(f.catalog, &table_t, NULL, 0);
    struct fz_update move = {.kind = FZ_UPDATE_SET_LOCATION, .u.text = "/else"};
    assert_int_equal(RESULT(f.catalog->vtable->commit(f.catalog, &table_t, NULL, 0, &move, 1, &m, &err)),
                     FZ_UNSUPPORTED);
    assert_int_equal(RESULT(set_property(f.catalog, &table_t, "write.metadata.path", "/else", NULL, &err)),
                     FZ_UNSUPPORTED);
    const struct fz_table_name climbing = {DB, 1, "../../etc"};
    assert_int_equal(RESULT(f.catalog->vtable->load(f.catalog, &climbing, &m, &err)), FZ_INVALID_ARG);
    // dropping removes everything below
    char data[200];
    size_t n = 0;
    snprintf(data, sizeof data, "%s/db/t/data/p=1/a.parquet", f.warehouse);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(fz_store_put(f.store, data, "x", 1, false, &err), &err);
    FZ_OK_OR_FAIL(f.catalog->vtable->drop(f.catalog, &table_t, &err), &err);
    FZ_OK_OR_FAIL(fz_store_list_folder(f.store, f.warehouse, count_entry, &n, &err), &err);
    assert_int_equal(n, 1); // db
    snprintf(data, sizeof data, "%s/db", f.warehouse);
    n = 0;
    FZ_OK_OR_FAIL(fz_store_list_folder(f.store, data, count_entry, &n, &err), &err);
    assert_int_equal(n, 0);
    close_fixture(&f);
}

// ---- answers that get lost

struct lossy {
    struct fz_pointer_catalog pointer;
    char current[300];
    bool happens; // the swap takes place before the answer is lost
    bool then_another; // and somebody else commits on top of it
    int failing_reads; // so many reads fail first
    int reads;
};

static enum fz_code lossy_read(struct fz_pointer_catalog *base, const struct fz_table_name *name, struct fz_buf *out,
                               struct fz_err *err) {
    struct lossy *l = (struct lossy *)base;
    (void)name;
    l->reads++;
    if (l->failing_reads > 0) {
        l->failing_reads--;
        return fz_fail(err, FZ_NET, "no answer");
    }
    fz_buf_puts(out, l->current);
    return l->current[0] ? FZ_OK : fz_fail(err, FZ_NOT_FOUND, "none");
}
static enum fz_code lossy_insert(struct fz_pointer_catalog *base, const struct fz_table_name *name,
                                 const char *location, struct fz_err *err) {
    (void)name;
    (void)err;
    snprintf(((struct lossy *)base)->current, 300, "%s", location);
    return FZ_OK;
}
static enum fz_code lossy_swap(struct fz_pointer_catalog *base, const struct fz_table_name *name, const char *from,
                               const char *to, struct fz_err *err) {
    struct lossy *l = (struct lossy *)base;
    (void)name;
    assert_string_equal(l->current, from);
    if (l->happens) {
        snprintf(l->current, 300, "%s", to);
    }
    if (l->then_another) { // an ordinary commit of somebody else
        struct fz_err inner = FZ_ERR_INIT;
        l->then_another = false;
        struct fz_metadata *m = NULL, *next = NULL;
        FZ_OK_OR_FAIL(fz_metadata_file_read(base->store, l->current, &m, &inner), &inner);
        FZ_OK_OR_FAIL(fz_metadata_apply(m, NULL, 0, 1800000000000, &next, &inner), &inner);
        struct fz_buf bytes = {0};
        FZ_OK_OR_FAIL(fz_metadata_file_encode(next, false, &bytes, &inner), &inner);
        snprintf(l->current, 300, "%s-next", to);
        FZ_OK_OR_FAIL(fz_store_put(base->store, l->current, bytes.ptr, bytes.len, false, &inner), &inner);
        fz_buf_dispose(&bytes);
        fz_metadata_unref(m);
        fz_metadata_unref(next);
    }
    l->failing_reads = l->failing_reads < 0 ? -l->failing_reads : 0;
    return fz_fail(err, FZ_NET, "the connection broke");
}
static void lossy_free(struct fz_catalog *c) {
    fz_pointer_catalog_dispose((struct fz_pointer_catalog *)c);
}
static enum fz_code never(struct fz_catalog *c, const struct fz_table_name *ns, bool *out, struct fz_err *err) {
    (void)c;
    (void)ns;
    (void)err;
    *out = false;
    return FZ_OK;
}

static void lost_answers(void **state) {
    (void)state;
    static const struct {
        bool happens, then_another, synchronous;
        int failing_reads;
        enum fz_code code;
        size_t files; // metadata files that stay
    } cases[] = {
        {true, false, false, 0, FZ_OK, 2},
        {true, true, false, 0, FZ_OK, 3},
        {true, false, false, -2, FZ_OK, 2}, // asks again
        {true, false, false, -9, FZ_COMMIT_UNKNOWN, 2}, // nobody answers: nothing is removed
        {false, false, false, 0, FZ_COMMIT_UNKNOWN, 2}, // it may still be on its way
        {false, false, true, 0, FZ_NET, 1}, // it cannot be
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fixture f;
        struct fz_err err = FZ_ERR_INIT;
        open_fixture(&f, MEMORY);
        struct fz_pointer_vtable pointers = {cases[i].synchronous, lossy_read, lossy_insert, lossy_swap};
        struct fz_catalog_vtable vtable = {.type = "lossy",
                                           .free = lossy_free,
                                           .load = fz_pointer_load,
                                           .commit = fz_pointer_commit,
                                           .create = fz_pointer_create,
                                           .namespace_exists = never};
        struct lossy l = {.happens = cases[i].happens, .then_another = cases[i].then_another};
        FZ_OK_OR_FAIL(fz_pointer_catalog_init(&l.pointer, &vtable, &pointers, "lossy", f.warehouse, f.store, &err),
                      &err);
        struct fz_catalog *c = &l.pointer.base;
        make_table(c, &table_t, (struct fz_property[]){{"commit.status-check.min-wait-ms", "1"}}, 1);
        l.failing_reads = 0;
        struct fz_metadata *m = NULL;
        FZ_OK_OR_FAIL(fz_pointer_load(c, &table_t, &m, &err), &err);
        fz_metadata_unref(m);
        l.failing_reads = cases[i].failing_reads;
        assert_int_equal(RESULT(set_property(c, &table_t, "a", "1", NULL, &err)), cases[i].code);
        assert_int_equal((err.flags & FZ_ERR_STATE_UNKNOWN) != 0, cases[i].code == FZ_COMMIT_UNKNOWN);
        char folder[160];
        size_t n = 0;
        snprintf(folder, sizeof folder, "%s/db/t/metadata", f.warehouse);
        FZ_OK_OR_FAIL(fz_store_list(f.store, folder, count_entry, &n, &(struct fz_err){0}), &err);
        assert_int_equal(n, cases[i].files);
        fz_catalog_free(c);
        close_fixture(&f);
    }
}

static void names_are_quoted_when_needed(void **state) {
    (void)state;
    static const char *const levels[] = {"a b", "_x1"};
    struct fz_table_name name = {levels, 2, "t`1"};
    struct fz_buf buf = {0};
    fz_table_name_print(&buf, &name);
    assert_string_equal(buf.ptr, "`a b`._x1.`t``1`");
    fz_buf_dispose(&buf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(every_tables_come_and_go),
        FZ_TEST(every_commits_replace_the_metadata),
        FZ_TEST(every_a_commit_can_create),
        FZ_TEST(every_no_commit_is_lost),
        FZ_TEST(every_losers_leave_no_files),
        FZ_TEST(every_compressed_metadata),
        FZ_TEST(every_old_metadata_files_are_removed_when_asked),
        FZ_TEST(every_namespaces),
        FZ_TEST(every_namespace_properties),
        FZ_TEST(every_renaming),
        FZ_TEST(every_a_missing_metadata_file_is_not_a_missing_table),
        FZ_TEST(rows_are_those_of_the_jdbc_catalog),
        FZ_TEST(the_old_layout_stays_unless_asked),
        FZ_TEST(bad_uris_and_files),
        FZ_TEST(hints_may_be_wrong),
        FZ_TEST(directory_tables_stay_in_their_folder),
        FZ_TEST(lost_answers),
        FZ_TEST(names_are_quoted_when_needed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
