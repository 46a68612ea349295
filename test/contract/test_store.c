// One suite over every store: local files (plain path, file:/, file:///), memory, and both behind the router.
#include "unit/leak_check.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/store.h"

struct fixture {
    const char *name;
    struct fz_store *store;
    char root[128]; // location that all objects of the test are below
    char folder[64];
};

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)type;
    (void)ftw;
    return remove(path);
}

static void open_fixture(struct fixture *f, const char *kind) {
    struct fz_err err = FZ_ERR_INIT;
    *f = (struct fixture){.name = kind};
    snprintf(f->folder, sizeof f->folder, "/tmp/fz_store_test_XXXXXX");
    assert_non_null(mkdtemp(f->folder));
    struct fz_store *local = NULL, *memory = NULL;
    FZ_OK_OR_FAIL(fz_store_local_new(&local, &err), &err);
    FZ_OK_OR_FAIL(fz_store_memory_new(&memory, &err), &err);
    bool routed = strncmp(kind, "router", 6) == 0;
    if (routed) {
        struct fz_store *stores[2] = {memory, local};
        FZ_OK_OR_FAIL(fz_store_router_new(stores, 2, &f->store, &err), &err);
    }
    bool in_memory = strstr(kind, "memory") != NULL;
    if (in_memory) {
        snprintf(f->root, sizeof f->root, "memory://bucket/w");
    } else {
        const char *scheme = strstr(kind, "file:///") ? "file://" : strstr(kind, "file:/") ? "file:" : "";
        snprintf(f->root, sizeof f->root, "%s%s/w", scheme, f->folder);
    }
    if (routed) {
        fz_store_unref(local);
        fz_store_unref(memory);
    } else {
        f->store = in_memory ? memory : local;
        fz_store_unref(in_memory ? local : memory);
    }
}

static void close_fixture(struct fixture *f) {
    fz_store_unref(f->store);
    nftw(f->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static const char *at(const struct fixture *f, const char *name) {
    static char text[4][400];
    static int next;
    char *out = text[next++ % 4];
    snprintf(out, sizeof text[0], "%s/%s", f->root, name);
    return out;
}

static void expect_content(struct fixture *f, const char *name, const char *want) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf buf = {0};
    FZ_OK_OR_FAIL(fz_store_read_all(f->store, at(f, name), 1 << 20, &buf, &err), &err);
    assert_int_equal(buf.len, strlen(want));
    assert_memory_equal(buf.ptr, want, buf.len);
    fz_buf_dispose(&buf);
}

static void put_and_read(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    int64_t size = -1;
    FZ_OK_OR_FAIL(fz_store_put(f->store, at(f, "a/b/one.txt"), "hello", 5, false, &err), &err);
    expect_content(f, "a/b/one.txt", "hello");
    FZ_OK_OR_FAIL(fz_store_put(f->store, at(f, "a/b/one.txt"), "hello again", 11, false, &err), &err);
    expect_content(f, "a/b/one.txt", "hello again");
    FZ_OK_OR_FAIL(fz_store_size(f->store, at(f, "a/b/one.txt"), &size, &err), &err);
    assert_int_equal(size, 11);
    FZ_OK_OR_FAIL(fz_store_put(f->store, at(f, "empty"), NULL, 0, false, &err), &err);
    expect_content(f, "empty", "");
    // raw names: nothing is decoded
    FZ_OK_OR_FAIL(fz_store_put(f->store, at(f, "d=a%2Fb c/x#y?.bin"), "z", 1, false, &err), &err);
    expect_content(f, "d=a%2Fb c/x#y?.bin", "z");
}

static void put_if_absent_decides(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fz_store_put(f->store, at(f, "v1"), "first", 5, true, &err), &err);
    assert_int_equal(fz_store_put(f->store, at(f, "v1"), "second", 6, true, &err), FZ_EXISTS);
    expect_content(f, "v1", "first");
}

static void missing_objects_are_not_found(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    int64_t size;
    char byte;
    assert_int_equal(fz_store_size(f->store, at(f, "nothing"), &size, &err), FZ_NOT_FOUND);
    fz_err_reset(&err);
    assert_int_equal(fz_store_read(f->store, at(f, "nothing"), 0, 1, &byte, NULL, &err), FZ_NOT_FOUND);
    assert_non_null(strstr(err.message, "nothing"));
    fz_err_reset(&err);
    struct fz_buf buf = {0};
    assert_int_equal(fz_store_read_all(f->store, at(f, "no/thing"), 10, &buf, &err), FZ_NOT_FOUND);
    fz_buf_dispose(&buf);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(fz_store_remove(f->store, at(f, "nothing"), &err), &err);
    FZ_OK_OR_FAIL(fz_store_remove(f->store, at(f, "no/thing"), &err), &err);
}

static void ranges_come_together(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    char a[4], b[4];
    FZ_OK_OR_FAIL(fz_store_put(f->store, at(f, "r"), "0123456789", 10, false, &err), &err);
    struct fz_range ranges[3] = {{0, 3, a}, {7, 3, b}, {10, 0, NULL}};
    struct fz_ticket *ticket = NULL;
    FZ_OK_OR_FAIL(fz_store_submit(f->store, at(f, "r"), ranges, 3, &ticket, &err), &err);
    // the object may be replaced or removed while a read is in flight
    FZ_OK_OR_FAIL(fz_store_remove(f->store, at(f, "r"), &err), &err);
    FZ_OK_OR_FAIL(fz_ticket_wait(ticket, NULL, &err), &err);
    assert_memory_equal(a, "012", 3);
    assert_memory_equal(b, "789", 3);
}

static void reads_beyond_the_end_are_corrupt(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    char bytes[8];
    FZ_OK_OR_FAIL(fz_store_put(f->store, at(f, "short"), "abc", 3, false, &err), &err);
    assert_int_equal(fz_store_read(f->store, at(f, "short"), 1, 3, bytes, NULL, &err), FZ_CORRUPT);
    fz_err_reset(&err);
    assert_int_equal(fz_store_read(f->store, at(f, "short"), 100, 1, bytes, NULL, &err), FZ_CORRUPT);
    fz_err_reset(&err);
    assert_int_equal(fz_store_read(f->store, at(f, "short"), -1, 1, bytes, NULL, &err), FZ_CORRUPT);
    fz_err_reset(&err);
    assert_int_equal(fz_store_read(f->store, at(f, "short"), 1, SIZE_MAX, bytes, NULL, &err), FZ_CORRUPT);
    fz_err_reset(&err);
    struct fz_buf buf = {0};
    assert_int_equal(fz_store_read_all(f->store, at(f, "short"), 2, &buf, &err), FZ_LIMIT);
    fz_buf_dispose(&buf);
}

static void a_fired_token_stops_the_wait(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_cancel cancel;
    char byte;
    fz_cancel_init(&cancel);
    FZ_OK_OR_FAIL(fz_store_put(f->store, at(f, "c"), "abc", 3, false, &err), &err);
    fz_cancel_fire(&cancel);
    assert_int_equal(fz_store_read(f->store, at(f, "c"), 0, 1, &byte, &cancel, &err), FZ_CANCELLED);
    fz_cancel_dispose(&cancel);
}

struct seen {
    size_t n, bytes;
    char names[20][64];
    size_t skip; // length of the root
};

static enum fz_code note_entry(void *ctx, const struct fz_list_entry *entry, struct fz_err *err) {
    struct seen *seen = ctx;
    (void)err;
    assert_true(entry->modified_us > 0);
    snprintf(seen->names[seen->n++], 64, "%s", entry->location + seen->skip + 1);
    seen->bytes += (size_t)entry->size_bytes;
    return FZ_OK;
}

static enum fz_code stop_listing(void *ctx, const struct fz_list_entry *entry, struct fz_err *err) {
    (void)entry;
    ++*(int *)ctx;
    return fz_fail(err, FZ_CANCELLED, "enough");
}

static bool was_seen(const struct seen *seen, const char *name) {
    for (size_t i = 0; i < seen->n; i++) {
        if (strcmp(seen->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static void listing_goes_down_one_folder_only(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct seen seen = {.skip = strlen(f->root)};
    static const char *const names[] = {"t/data/x=1/a", "t/data/b", "t/metadata/c", "t2/d", "tx"};
    for (size_t i = 0; i < 5; i++) {
        FZ_OK_OR_FAIL(fz_store_put(f->store, at(f, names[i]), "12345", i + 1, false, &err), &err);
    }
    FZ_OK_OR_FAIL(fz_store_list(f->store, at(f, "t"), note_entry, &seen, &err), &err);
    assert_int_equal(seen.n, 3);
    assert_int_equal(seen.bytes, 1 + 2 + 3);
    assert_true(was_seen(&seen, "t/data/x=1/a") && was_seen(&seen, "t/data/b") && was_seen(&seen, "t/metadata/c"));
    seen = (struct seen){.skip = strlen(f->root)};
    FZ_OK_OR_FAIL(fz_store_list(f->store, at(f, "t/data//"), note_entry, &seen, &err), &err);
    assert_int_equal(seen.n, 2);
    assert_true(was_seen(&seen, "t/data/b"));
    seen = (struct seen){.skip = strlen(f->root)};
    FZ_OK_OR_FAIL(fz_store_list(f->store, at(f, "no/such"), note_entry, &seen, &err), &err);
    FZ_OK_OR_FAIL(fz_store_list(f->store, at(f, "tx"), note_entry, &seen, &err), &err);
    assert_int_equal(seen.n, 0);
    int calls = 0;
    assert_int_equal(fz_store_list(f->store, at(f, "t"), stop_listing, &calls, &err), FZ_CANCELLED);
    assert_int_equal(calls, 1);
}

static void folders_can_be_empty_and_go_whole(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    static const char *const names[] = {"t/a", "t/d/x", "t/d/y", "t/d.e/z", "t/d-e", "u/v"};
    for (size_t i = 0; i < 6; i++) {
        FZ_OK_OR_FAIL(fz_store_put(f->store, at(f, names[i]), "1", 1, false, &err), &err);
    }
    FZ_OK_OR_FAIL(fz_store_make_folder(f->store, at(f, "t/empty/inner/"), &err), &err);
    FZ_OK_OR_FAIL(fz_store_make_folder(f->store, at(f, "t/empty/inner"), &err), &err); // again is fine
    struct seen seen = {.skip = strlen(f->root)};
    FZ_OK_OR_FAIL(fz_store_list_folder(f->store, at(f, "t/"), note_entry, &seen, &err), &err);
    assert_int_equal(seen.n, 5);
    assert_true(was_seen(&seen, "t/a") && was_seen(&seen, "t/d") && was_seen(&seen, "t/d.e") &&
                was_seen(&seen, "t/d-e") && was_seen(&seen, "t/empty"));
    assert_int_equal(seen.bytes, (size_t)(2 - 3)); // two files of a byte, three folders of -1
    seen = (struct seen){.skip = strlen(f->root)};
    FZ_OK_OR_FAIL(fz_store_list(f->store, at(f, "t"), note_entry, &seen, &err), &err);
    assert_int_equal(seen.n, 5); // no folders
    FZ_OK_OR_FAIL(fz_store_remove_folder(f->store, at(f, "t"), &err), &err);
    FZ_OK_OR_FAIL(fz_store_remove_folder(f->store, at(f, "t"), &err), &err);
    seen = (struct seen){.skip = strlen(f->root)};
    FZ_OK_OR_FAIL(fz_store_list_folder(f->store, f->root, note_entry, &seen, &err), &err);
    assert_int_equal(seen.n, 1);
    assert_true(was_seen(&seen, "u"));
}

static void a_writer_shows_nothing_before_close(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_writer *writer = NULL;
    int64_t size;
    struct seen seen = {.skip = strlen(f->root)};
    FZ_OK_OR_FAIL(fz_store_writer_open(f->store, at(f, "w/big"), &writer, &err), &err);
    char *chunk = malloc(300000);
    memset(chunk, 'x', 300000);
    for (int i = 0; i < 100; i++) { // small and large pieces in turn
        FZ_OK_OR_FAIL(fz_writer_append(writer, "abcdefghij", 10, &err), &err);
        if (i % 10 == 0) {
            FZ_OK_OR_FAIL(fz_writer_append(writer, chunk, 300000, &err), &err);
        }
    }
    assert_int_equal(writer->written_bytes, 100 * 10 + 10 * 300000);
    assert_int_equal(fz_store_size(f->store, at(f, "w/big"), &size, &err), FZ_NOT_FOUND);
    fz_err_reset(&err);
    FZ_OK_OR_FAIL(fz_store_list(f->store, f->root, note_entry, &seen, &err), &err);
    assert_int_equal(seen.n, 0);
    FZ_OK_OR_FAIL(fz_writer_close(writer, &err), &err);
    FZ_OK_OR_FAIL(fz_store_size(f->store, at(f, "w/big"), &size, &err), &err);
    assert_int_equal(size, 100 * 10 + 10 * 300000);
    char back[24] = "";
    FZ_OK_OR_FAIL(fz_store_read(f->store, at(f, "w/big"), 5, 8, back, NULL, &err), &err);
    assert_memory_equal(back, "fghijxxx", 8);
    FZ_OK_OR_FAIL(fz_store_read(f->store, at(f, "w/big"), 300000, 20, back, NULL, &err), &err);
    assert_memory_equal(back, "xxxxxxxxxxabcdefghij", 20); // 10 letters, 300,000 x, then letters again
    free(chunk);
}

static void an_aborted_writer_leaves_nothing(struct fixture *f) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_writer *writer = NULL;
    struct seen seen = {.skip = strlen(f->root)};
    FZ_OK_OR_FAIL(fz_store_writer_open(f->store, at(f, "w/gone"), &writer, &err), &err);
    FZ_OK_OR_FAIL(fz_writer_append(writer, "abc", 3, &err), &err);
    fz_writer_abort(writer);
    fz_writer_abort(NULL);
    FZ_OK_OR_FAIL(fz_store_list(f->store, f->root, note_entry, &seen, &err), &err);
    assert_int_equal(seen.n, 0);
}

struct racer {
    struct fz_store *store;
    char location[400];
    int value;
    enum fz_code code;
};

static void *race(void *ctx) {
    struct racer *r = ctx;
    struct fz_err err = FZ_ERR_INIT;
    char text[16];
    int len = snprintf(text, sizeof text, "%d", r->value);
    r->code = fz_store_put(r->store, r->location, text, (size_t)len, true, &err);
    return NULL;
}

static void only_one_of_many_puts_wins(struct fixture *f) {
    enum { THREADS = 8 };
    struct racer racers[THREADS];
    pthread_t threads[THREADS];
    char want[16];
    for (int i = 0; i < THREADS; i++) {
        racers[i] = (struct racer){.store = f->store, .value = i};
        snprintf(racers[i].location, sizeof racers[i].location, "%s/race", f->root);
        assert_int_equal(pthread_create(&threads[i], NULL, race, &racers[i]), 0);
    }
    int winner = -1;
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        assert_true(racers[i].code == FZ_OK || racers[i].code == FZ_EXISTS);
        if (racers[i].code == FZ_OK) {
            assert_int_equal(winner, -1);
            winner = i;
        }
    }
    assert_true(winner >= 0);
    snprintf(want, sizeof want, "%d", winner);
    expect_content(f, "race", want);
}

static void run_everywhere(void (*test)(struct fixture *)) {
    static const char *const kinds[] = {"path",          "file:/",        "file:///",   "memory",
                                        "router memory", "router file:/", "router path"};
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        struct fixture f;
        open_fixture(&f, kinds[i]);
        test(&f);
        close_fixture(&f);
    }
}

#define ON_EVERY_STORE(name)                                                                                           \
    static void every_##name(void **state) {                                                                           \
        (void)state;                                                                                                   \
        run_everywhere(name);                                                                                          \
    }
ON_EVERY_STORE(put_and_read)
ON_EVERY_STORE(put_if_absent_decides)
ON_EVERY_STORE(missing_objects_are_not_found)
ON_EVERY_STORE(ranges_come_together)
ON_EVERY_STORE(reads_beyond_the_end_are_corrupt)
ON_EVERY_STORE(a_fired_token_stops_the_wait)
ON_EVERY_STORE(listing_goes_down_one_folder_only)
ON_EVERY_STORE(folders_can_be_empty_and_go_whole)
ON_EVERY_STORE(a_writer_shows_nothing_before_close)
ON_EVERY_STORE(an_aborted_writer_leaves_nothing)
ON_EVERY_STORE(only_one_of_many_puts_wins)

static void local_errors_say_what_and_where(void **state) {
    (void)state;
    struct fixture f;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_writer *writer = NULL;
    open_fixture(&f, "path");
    FZ_OK_OR_FAIL(fz_store_put(f.store, at(&f, "file"), "x", 1, false, &err), &err);
    // a file where a folder is needed, a folder where a file is needed, a host, another scheme
    assert_int_equal(fz_store_put(f.store, at(&f, "file/below"), "x", 1, false, &err), FZ_IO);
    fz_err_reset(&err);
    assert_int_equal(fz_store_writer_open(f.store, at(&f, "folder/"), &writer, &err), FZ_INVALID_ARG);
    fz_err_reset(&err);
    int64_t size;
    assert_int_equal(fz_store_size(f.store, f.root, &size, &err), FZ_NOT_FOUND);
    fz_err_reset(&err);
    assert_int_equal(fz_store_size(f.store, "file://host/x", &size, &err), FZ_INVALID_ARG);
    fz_err_reset(&err);
    assert_int_equal(fz_store_size(f.store, "s3://b/x", &size, &err), FZ_UNSUPPORTED);
    fz_err_reset(&err);
    close_fixture(&f);
}

static void stale_unfinished_files_are_listed(void **state) {
    (void)state;
    struct fixture f;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_writer *writer = NULL;
    open_fixture(&f, "path");
    struct seen seen = {.skip = strlen(f.root)};
    FZ_OK_OR_FAIL(fz_store_writer_open(f.store, at(&f, "a.parquet"), &writer, &err), &err);
    fz_clock_set_test(fz_now_us() + INT64_C(2) * 86400000000);
    FZ_OK_OR_FAIL(fz_store_list(f.store, f.root, note_entry, &seen, &err), &err);
    fz_clock_set_test(0);
    assert_int_equal(seen.n, 1);
    assert_non_null(strstr(seen.names[0], ".a.parquet."));
    fz_writer_abort(writer);
    close_fixture(&f);
}

static void durable_files_are_written_too(void **state) {
    (void)state;
    struct fixture f;
    open_fixture(&f, "path");
    fz_store_local_set_durable(f.store, true);
    put_and_read(&f);
    put_if_absent_decides(&f);
    close_fixture(&f);
}

static void the_router_names_an_unknown_scheme(void **state) {
    (void)state;
    struct fixture f;
    struct fz_err err = FZ_ERR_INIT;
    int64_t size;
    open_fixture(&f, "router path");
    assert_int_equal(fz_store_size(f.store, "gs://bucket/x", &size, &err), FZ_UNSUPPORTED);
    assert_non_null(strstr(err.message, "\"gs\""));
    close_fixture(&f);
}

static void schemes(void **state) {
    (void)state;
    assert_true(fz_str_eq(fz_location_scheme("s3://b/k"), FZ_STR_LIT("s3")));
    assert_true(fz_str_eq(fz_location_scheme("file:/a"), FZ_STR_LIT("file")));
    assert_true(fz_str_eq(fz_location_scheme("/a/b:c"), FZ_STR_LIT("")));
    assert_true(fz_str_eq(fz_location_scheme("a:b"), FZ_STR_LIT("")));
    assert_true(fz_str_eq(fz_location_scheme(""), FZ_STR_LIT("")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(every_put_and_read),
        FZ_TEST(every_put_if_absent_decides),
        FZ_TEST(every_missing_objects_are_not_found),
        FZ_TEST(every_ranges_come_together),
        FZ_TEST(every_reads_beyond_the_end_are_corrupt),
        FZ_TEST(every_a_fired_token_stops_the_wait),
        FZ_TEST(every_listing_goes_down_one_folder_only),
        FZ_TEST(every_folders_can_be_empty_and_go_whole),
        FZ_TEST(every_a_writer_shows_nothing_before_close),
        FZ_TEST(every_an_aborted_writer_leaves_nothing),
        FZ_TEST(every_only_one_of_many_puts_wins),
        FZ_TEST(local_errors_say_what_and_where),
        FZ_TEST(stale_unfinished_files_are_listed),
        FZ_TEST(durable_files_are_written_too),
        FZ_TEST(the_router_names_an_unknown_scheme),
        FZ_TEST(schemes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
