// commit/: two writers. The second one's commit is built on what it read; the table of iceberg-facts 8.2 says when it fails.
// A catalog wrapped around the memory catalog loses races, forgets answers and breaks on order.
#include "commit/commit_table.h"

static void interfere(struct commit_table *t, enum fz_commit_kind kind, const struct fz_data_file *added,
                      size_t n_added, const struct fz_data_file *removed, size_t n_removed) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_commit_result result;
    struct fz_commit_request r = request_of(t, kind);
    r.added = added;
    r.n_added = n_added;
    r.removed = removed;
    r.n_removed = n_removed;
    FZ_OK_OR_FAIL(fz_commit_snapshot(&r, &result, &err), &err);
    fz_metadata_unref(result.metadata); // t->metadata stays behind: it is what "we" read
}

static enum fz_code commit(const struct fz_commit_request *r, struct fz_err *err) {
    struct fz_commit_result result;
    fz_err_reset(err);
    enum fz_code rc = fz_commit_snapshot(r, &result, err);
    if (rc == FZ_OK) {
        fz_metadata_unref(result.metadata);
    }
    return rc;
}

struct scene {
    struct commit_table t;
    struct fz_data_file x, y, new_x, new_y, del_x, del_y;
    const struct fz_expr *cat_is_x;
    struct fz_err err;
};

static void scene_open(struct scene *s) {
    memset(s, 0, sizeof *s);
    struct commit_table *t = &s->t;
    table_open(t, true, "2", NULL, 0);
    s->x = file_of(t, FZ_CONTENT_DATA, "memory://w/x", "x", 3);
    s->y = file_of(t, FZ_CONTENT_DATA, "memory://w/y", "y", 4);
    s->new_x = file_of(t, FZ_CONTENT_DATA, "memory://w/new_x", "x", 1);
    s->new_y = file_of(t, FZ_CONTENT_DATA, "memory://w/new_y", "y", 1);
    s->del_x = file_of(t, FZ_CONTENT_POSITION_DELETES, "memory://w/del_x", "x", 1);
    s->del_y = file_of(t, FZ_CONTENT_POSITION_DELETES, "memory://w/del_y", "y", 1);
    struct fz_data_file both[] = {s->x, s->y};
    append_ok(t, both, 2);
    struct fz_value *text = FZ_ARENA_NEW(&t->arena, struct fz_value);
    *text = (struct fz_value){.type = fz_type_primitive(FZ_TYPE_STRING), .u.bytes = FZ_STR_LIT("x")};
    const struct fz_expr *args[] = {fz_expr_column(&t->arena, 0, 2, "cat", text->type, true),
                                    fz_expr_literal(&t->arena, text)};
    s->cat_is_x = fz_expr_op(&t->arena, FZ_EXPR_EQ, fz_type_primitive(FZ_TYPE_BOOLEAN), args, 2);
}

static void new_data_conflicts_when_serializable(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        struct scene s;
        scene_open(&s);
        struct fz_commit_request r = request_of(&s.t, FZ_COMMIT_ROW_DELTA);
        r.added = &s.del_x;
        r.n_added = 1;
        r.conflict_filter = s.cat_is_x;
        r.isolation = round == 1 ? FZ_ISOLATION_SNAPSHOT : FZ_ISOLATION_SERIALIZABLE;
        bool same_partition = round != 2;
        interfere(&s.t, round == 3 ? FZ_COMMIT_REPLACE : FZ_COMMIT_APPEND, same_partition ? &s.new_x : &s.new_y, 1,
                  round == 3 ? &s.x : NULL,
                  round == 3 ? 1 : 0); // a compaction adds no rows
        enum fz_code rc = commit(&r, &s.err);
        assert_int_equal(rc, round == 0 ? FZ_CONFLICT : FZ_OK);
        if (round == 0) {
            assert_non_null(strstr(s.err.message, "Found conflicting files that can contain records matching"));
            assert_int_equal(s.err.flags & FZ_ERR_RETRYABLE, 0);
        }
        table_close(&s.t);
    }
}

static void rewritten_files_must_be_as_they_were(void **state) {
    (void)state;
    for (int round = 0; round < 4; round++) {
        struct scene s;
        scene_open(&s);
        struct fz_commit_request r = request_of(&s.t, FZ_COMMIT_OVERWRITE);
        r.removed = &s.x;
        r.n_removed = 1;
        r.added = &s.new_x;
        r.n_added = 1;
        r.isolation = FZ_ISOLATION_SNAPSHOT;
        if (round == 0) { // gone
            interfere(&s.t, FZ_COMMIT_OVERWRITE, NULL, 0, &s.x, 1);
        } else if (round == 1) { // rows of it deleted
            interfere(&s.t, FZ_COMMIT_ROW_DELTA, &s.del_x, 1, NULL, 0);
        } else if (round == 2) { // rows of another partition deleted
            interfere(&s.t, FZ_COMMIT_ROW_DELTA, &s.del_y, 1, NULL, 0);
        } else { // by a file that names another data file of the partition
            s.del_x.referenced_data_file = "memory://w/other";
            interfere(&s.t, FZ_COMMIT_ROW_DELTA, &s.del_x, 1, NULL, 0);
        }
        enum fz_code rc = commit(&r, &s.err);
        assert_int_equal(rc, round < 2 ? FZ_CONFLICT : FZ_OK);
        if (round < 2) {
            assert_non_null(strstr(s.err.message, round == 0 ? "Missing required files to delete"
                                                             : "found new delete for replaced data file"));
        }
        table_close(&s.t);
    }
}

static void referenced_files_must_exist(void **state) {
    (void)state;
    for (int round = 0; round < 3; round++) {
        struct scene s;
        scene_open(&s);
        const char *files[] = {"memory://w/x"};
        struct fz_commit_request r = request_of(&s.t, FZ_COMMIT_ROW_DELTA);
        r.added = &s.del_x;
        r.n_added = 1;
        r.referenced_files = files;
        r.n_referenced_files = 1;
        r.isolation = FZ_ISOLATION_SNAPSHOT;
        r.conflict_filter = s.cat_is_x;
        r.validate_deletes_too = round == 1; // MERGE and UPDATE mind a removal by "delete", DELETE does not
        if (round == 2) {
            interfere(&s.t, FZ_COMMIT_REPLACE, &s.new_x, 1, &s.x, 1);
        } else {
            interfere(&s.t, FZ_COMMIT_OVERWRITE, NULL, 0, &s.x, 1);
        }
        assert_int_equal(commit(&r, &s.err), round == 0 ? FZ_OK : FZ_CONFLICT);
        if (round > 0) {
            assert_non_null(strstr(s.err.message, "Cannot commit, missing data files"));
        }
        table_close(&s.t);
    }
}

static void merge_minds_new_delete_files(void **state) {
    (void)state;
    struct scene s;
    scene_open(&s);
    struct fz_commit_request r = request_of(&s.t, FZ_COMMIT_ROW_DELTA);
    r.added = &s.new_x;
    r.n_added = 1;
    r.isolation = FZ_ISOLATION_SNAPSHOT;
    r.conflict_filter = s.cat_is_x;
    r.validate_deletes_too = true;
    interfere(&s.t, FZ_COMMIT_ROW_DELTA, &s.del_x, 1, NULL, 0);
    assert_int_equal(commit(&r, &s.err), FZ_CONFLICT);
    assert_non_null(strstr(s.err.message, "Found new conflicting delete files"));
    table_close(&s.t);
}

static void history_must_be_known(void **state) {
    (void)state;
    struct scene s;
    scene_open(&s);
    struct fz_commit_request r = request_of(&s.t, FZ_COMMIT_ROW_DELTA);
    r.added = &s.del_x;
    r.n_added = 1;
    r.isolation = FZ_ISOLATION_SNAPSHOT;
    r.scanned_snapshot_id = 12345;
    assert_int_equal(commit(&r, &s.err), FZ_CONFLICT);
    assert_non_null(strstr(s.err.message, "Cannot determine history"));
    table_close(&s.t);
}

// ---- a catalog that misbehaves
struct moody {
    struct fz_catalog base;
    struct fz_catalog *real;
    int lose; // answers CONFLICT without doing anything, this often
    int forget; // commits and answers COMMIT_UNKNOWN
    int vanish; // does nothing and answers COMMIT_UNKNOWN
    int calls;
};
static enum fz_code moody_load(struct fz_catalog *c, const struct fz_table_name *name, struct fz_metadata **out,
                               struct fz_err *err) {
    struct moody *m = (struct moody *)c;
    return m->real->vtable->load(m->real, name, out, err);
}
static enum fz_code moody_commit(struct fz_catalog *c, const struct fz_table_name *name,
                                 const struct fz_requirement *req, size_t n_req, const struct fz_update *up,
                                 size_t n_up, struct fz_metadata **out, struct fz_err *err) {
    struct moody *m = (struct moody *)c;
    m->calls++;
    if (m->lose-- > 0) {
        return fz_fail(err, FZ_CONFLICT, "lost");
    }
    if (m->vanish-- > 0) {
        return fz_fail(err, FZ_COMMIT_UNKNOWN, "no answer");
    }
    enum fz_code rc = m->real->vtable->commit(m->real, name, req, n_req, up, n_up, out, err);
    if (rc == FZ_OK && m->forget-- > 0) {
        fz_metadata_unref(*out);
        *out = NULL;
        return fz_fail(err, FZ_COMMIT_UNKNOWN, "no answer");
    }
    return rc;
}
static const struct fz_catalog_vtable moody_vtable = {.type = "moody", .load = moody_load, .commit = moody_commit};

static enum fz_code count_object(void *ctx, const struct fz_list_entry *entry, struct fz_err *err) {
    (void)err;
    *(size_t *)ctx += strstr(entry->location, ".avro") != NULL;
    return FZ_OK;
}
static size_t avro_objects(struct commit_table *t) {
    size_t n = 0;
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_store_list(t->store, "memory://w/db/t/metadata/", count_object, &n, &err), &err);
    return n;
}

static void lost_races_are_run_again(void **state) {
    (void)state;
    struct scene s;
    scene_open(&s);
    struct moody moody = {.base = {&moody_vtable, "local", "memory://w"}, .real = s.t.catalog, .lose = 2};
    struct fz_commit_request r = request_of(&s.t, FZ_COMMIT_APPEND);
    r.catalog = &moody.base;
    r.added = &s.new_x;
    r.n_added = 1;
    struct fz_commit_result result;
    size_t before = avro_objects(&s.t);
    FZ_OK_OR_FAIL(fz_commit_snapshot(&r, &result, &s.err), &s.err);
    assert_int_equal(result.attempts, 3);
    fz_metadata_unref(result.metadata);
    assert_int_equal(avro_objects(&s.t), before + 2); // one manifest, one list; those of the lost tries are gone
    moody.lose = 100;
    moody.calls = 0;
    assert_int_equal(commit(&r, &s.err), FZ_CONFLICT);
    assert_int_equal(moody.calls, 5); // commit.retry.num-retries = 4
    assert_int_equal(avro_objects(&s.t), before + 2);
    table_close(&s.t);
}

static void unknown_outcomes(void **state) {
    (void)state;
    struct scene s;
    scene_open(&s);
    struct moody moody = {.base = {&moody_vtable, "local", "memory://w"}, .real = s.t.catalog, .forget = 1};
    struct fz_commit_request r = request_of(&s.t, FZ_COMMIT_APPEND);
    r.catalog = &moody.base;
    r.added = &s.new_x;
    r.n_added = 1;
    struct fz_commit_result result;
    FZ_OK_OR_FAIL(fz_commit_snapshot(&r, &result, &s.err), &s.err); // the table has the snapshot: it happened
    assert_non_null(fz_metadata_snapshot(result.metadata, result.snapshot_id));
    fz_metadata_unref(result.metadata);
    size_t before = avro_objects(&s.t);
    moody.forget = 0;
    moody.vanish = 1;
    moody.calls = 0;
    assert_int_equal(commit(&r, &s.err), FZ_COMMIT_UNKNOWN);
    assert_true(s.err.flags & FZ_ERR_STATE_UNKNOWN);
    assert_int_equal(moody.calls, 1);
    assert_int_equal(avro_objects(&s.t), before + 2); // nothing is deleted
    table_close(&s.t);
}

static enum fz_code refuse(void *ctx, const struct fz_metadata *head, struct fz_err *err) {
    int *left = ctx;
    (void)head;
    return (*left)-- > 0 ? FZ_OK : fz_fail(err, FZ_CONFLICT, "another instance moved the positions");
}

static void head_is_checked_on_every_attempt(void **state) {
    (void)state;
    struct scene s;
    scene_open(&s);
    int good = 1;
    struct moody moody = {.base = {&moody_vtable, "local", "memory://w"}, .real = s.t.catalog, .lose = 1};
    struct fz_commit_request r = request_of(&s.t, FZ_COMMIT_APPEND);
    r.catalog = &moody.base;
    r.added = &s.new_x;
    r.n_added = 1;
    r.check_head = refuse;
    r.check_ctx = &good;
    assert_int_equal(commit(&r, &s.err), FZ_CONFLICT);
    assert_string_equal(s.err.message, "another instance moved the positions");
    assert_int_equal(moody.calls, 1);
    table_close(&s.t);
}

static void cancelled_before_the_swap(void **state) {
    (void)state;
    struct scene s;
    scene_open(&s);
    struct fz_cancel cancel;
    fz_cancel_init(&cancel);
    fz_cancel_fire(&cancel);
    size_t before = avro_objects(&s.t);
    struct fz_commit_request r = request_of(&s.t, FZ_COMMIT_APPEND);
    r.added = &s.new_x;
    r.n_added = 1;
    r.cancel = &cancel;
    assert_int_equal(commit(&r, &s.err), FZ_CANCELLED);
    assert_int_equal(avro_objects(&s.t), before);
    fz_cancel_dispose(&cancel);
    table_close(&s.t);
}

static enum fz_code set_owner(void *ctx, struct fz_arena *arena, struct fz_metadata *current,
                              struct fz_update **updates, size_t *n, struct fz_err *err) {
    (void)err;
    (void)current;
    static const struct fz_property owner = {"owner", "me"};
    ++*(int *)ctx;
    *updates = fz_arena_array(arena, 1, sizeof **updates);
    (*updates)[0] = (struct fz_update){.kind = FZ_UPDATE_SET_PROPERTIES, .u.properties = {&owner, 1}};
    *n = 1;
    return FZ_OK;
}

static void plain_updates_are_rebuilt_on_conflict(void **state) {
    (void)state;
    struct scene s;
    scene_open(&s);
    struct moody moody = {.base = {&moody_vtable, "local", "memory://w"}, .real = s.t.catalog, .lose = 2};
    int built = 0;
    struct fz_metadata *m = NULL;
    FZ_OK_OR_FAIL(fz_commit_updates(&moody.base, &s.t.name, set_owner, &built, &m, &s.err), &s.err);
    assert_int_equal(built, 3);
    assert_string_equal(fz_metadata_property(m, "owner", ""), "me");
    fz_metadata_unref(m);
    table_close(&s.t);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(new_data_conflicts_when_serializable),
        FZ_TEST(rewritten_files_must_be_as_they_were),
        FZ_TEST(referenced_files_must_exist),
        FZ_TEST(merge_minds_new_delete_files),
        FZ_TEST(history_must_be_known),
        FZ_TEST(lost_races_are_run_again),
        FZ_TEST(unknown_outcomes),
        FZ_TEST(head_is_checked_on_every_attempt),
        FZ_TEST(cancelled_before_the_swap),
        FZ_TEST(plain_updates_are_rebuilt_on_conflict),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
