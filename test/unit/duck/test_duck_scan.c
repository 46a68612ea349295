// Scans through the engine: every snapshot of the shared tables as fz_scan(id) into a sink, so that pages are decoded straight into
// the engine's vectors, deletes applied there, and the rows handed out again without a copy.
#include "duck/duck.h"
#include "scan/scan_tables.h"

struct lines_sink {
    struct fz_sink base;
    struct scan_rows *rows;
    const struct fz_field *fields;
};
static enum fz_code push_lines(struct fz_sink *base, const struct fz_batch *batch, struct fz_err *err) {
    (void)err;
    struct lines_sink *sink = (struct lines_sink *)base;
    scan_rows_add(sink->rows, batch, sink->fields);
    return FZ_OK;
}
static const struct fz_sink_vtable lines_vtable = {push_lines};

static struct fz_duck *duck;

static enum fz_code read_by_engine(const struct fz_scan_source_options *options, struct scan_rows *out) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = NULL;
    struct fz_buf sql = {0};
    int64_t id = -1, rows = 0;
    *out = (struct scan_rows){0};
    pthread_mutex_init(&out->lock, NULL);
    struct lines_sink sink = {.base = {&lines_vtable}, .rows = out, .fields = options->fields};
    FZ_TRY(fz_scan_source_new(options, &source, &out->err));
    FZ_TRY(fz_duck_register(duck, source, &id, &out->err));
    fz_buf_puts(&sql, "SELECT ");
    for (size_t i = 0; i < options->n_fields; i++) {
        fz_buf_printf(&sql, "%sc%d", i ? ", " : "", options->fields[i].id);
    }
    fz_buf_printf(&sql, " FROM fz_scan(%lld)", (long long)id);
    FZ_TRY(fz_duck_run_into(duck, sql.ptr, options->fields, options->n_fields, &sink.base, &rows, &out->err));
    assert_int_equal(rows, out->n);
out:
    fz_duck_unregister(duck, id);
    if (source) {
        assert_int_equal(source->refs, 1);
        fz_source_unref(source);
    }
    fz_buf_dispose(&sql);
    scan_rows_sort(out);
    return rc;
}

static void through_the_engine(void **state) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_duck_options options = {.memory_bytes = 512 << 20, .threads = 2};
    if (!expect_folder()) {
        skip();
    }
    FZ_OK_OR_FAIL(fz_duck_open(&options, &duck, &err), &err);
    tables_read = read_by_engine;
    every_snapshot_of_every_table(state);
    fz_duck_close(duck);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(through_the_engine)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
