// Implementation of change/overflow.h: Parquet files of small row groups, written fast, which keep every type as it is.
#include "change/overflow.h"

#include <stdlib.h>

#include "format/parquet/parquet_reader.h"

enum { GROUP_BYTES = 256 << 10, PAGE_ROWS = 4096 };

struct part {
    pthread_mutex_t lock;
    struct fz_parquet_writer *writer; // NULL: no row so far, or read back
    char *location;
};

struct fz_overflow {
    struct fz_store *store;
    struct fz_parquet_write write;
    char *folder;
    struct part parts[FZ_OVERFLOW_PARTS];
};

enum fz_code fz_overflow_new(const struct fz_parquet_write *write, const char *temp_directory, struct fz_overflow **out,
                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_overflow *o = NULL;
    struct fz_buf folder = {0};
    char id[37];
    FZ_NEW(o, err);
    for (size_t i = 0; i < FZ_OVERFLOW_PARTS; i++) {
        pthread_mutex_init(&o->parts[i].lock, NULL);
    }
    o->write = (struct fz_parquet_write){.fields = write->fields,
                                         .n_fields = write->n_fields,
                                         .codec = FZ_PQ_LZ4_RAW,
                                         .level = -1,
                                         .encodings = FZ_ENCODINGS_PLAIN,
                                         .pool = write->pool,
                                         .row_group_size_bytes = GROUP_BYTES,
                                         .page_rows = PAGE_ROWS,
                                         .dict_size_bytes = 1, // none: they would cost more time than they save
                                         .default_metrics = FZ_METRICS_NONE};
    const char *base = temp_directory != NULL ? temp_directory : getenv("TMPDIR");
    fz_uuid_v4(id);
    fz_buf_printf(&folder, "%s/frazil-overflow-%s", base != NULL && *base != 0 ? base : "/tmp", id);
    FZ_TRY(fz_buf_check(&folder, err));
    o->folder = fz_buf_take(&folder);
    FZ_TRY(fz_store_local_new(&o->store, err));
    *out = o;
    o = NULL;
out:
    fz_overflow_free(o);
    fz_buf_dispose(&folder);
    return rc;
}

static enum fz_code open_part(struct fz_overflow *o, size_t ix, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct part *part = &o->parts[ix];
    struct fz_buf location = {0};
    struct fz_writer *sink = NULL;
    fz_buf_printf(&location, "%s/%02zu.parquet", o->folder, ix);
    FZ_TRY(fz_buf_check(&location, err));
    part->location = fz_buf_take(&location);
    FZ_TRY(fz_store_writer_open(o->store, part->location, &sink, err));
    FZ_TRY(fz_parquet_writer_open(sink, &o->write, &part->writer, err)); // takes the sink over, also on error
out:
    fz_buf_dispose(&location);
    return rc;
}

enum fz_code fz_overflow_push(struct fz_overflow *o, size_t ix, const struct fz_batch *batch, const uint32_t *rows,
                              size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct part *part = &o->parts[ix];
    pthread_mutex_lock(&part->lock);
    if (part->location == NULL) {
        FZ_TRY(open_part(o, ix, err));
    }
    if (part->writer == NULL) {
        rc = fz_fail(err, FZ_BUG, "rows overflow into a part that was read back, or failed");
        goto out;
    }
    FZ_TRY(fz_parquet_writer_append(part->writer, batch, 0, rows, n, err));
out:
    pthread_mutex_unlock(&part->lock);
    return rc;
}

static enum fz_code read_group(struct fz_overflow *o, struct fz_parquet_file *file, size_t group,
                               struct fz_batch *batch, struct fz_sink *sink, struct fz_cancel *cancel,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_reader *reader = NULL;
    struct fz_parquet_read read = {.fields = o->write.fields, .n_fields = o->write.n_fields, .row_group = group};
    FZ_TRY(fz_parquet_reader_open(file, &read, cancel, &reader, err));
    for (;;) {
        for (size_t i = 0; i < batch->n_columns; i++) {
            fz_column_reset(&batch->columns[i]);
        }
        FZ_TRY(fz_parquet_reader_next(reader, batch, NULL, err));
        if (batch->n_rows == 0) {
            break;
        }
        FZ_TRY(sink->vtable->push(sink, batch, err));
    }
out:
    if (reader != NULL) {
        fz_parquet_reader_close(reader);
    }
    return rc;
}

enum fz_code fz_overflow_read(struct fz_overflow *o, size_t ix, struct fz_sink *sink, struct fz_cancel *cancel,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct part *part = &o->parts[ix];
    struct fz_parquet_writer *writer = part->writer;
    struct fz_parquet_file *file = NULL;
    struct fz_parquet_metrics metrics;
    struct fz_arena arena = {0};
    struct fz_batch batch = {0};
    if (writer == NULL) {
        return FZ_OK;
    }
    part->writer = NULL;
    FZ_TRY(fz_parquet_writer_close(writer, &arena, &metrics, err));
    FZ_TRY(fz_parquet_file_open(o->store, part->location, -1, cancel, &file, err));
    FZ_TRY(fz_batch_init(&batch, o->write.fields, o->write.n_fields, FZ_BATCH_ROWS, err));
    for (size_t g = 0; g < fz_parquet_file_meta(file)->n_row_groups; g++) {
        FZ_TRY(read_group(o, file, g, &batch, sink, cancel, err));
    }
    FZ_TRY(fz_store_remove(o->store, part->location, err)); // its room may be wanted for the next one
out:
    fz_batch_dispose(&batch);
    fz_parquet_file_unref(file);
    fz_arena_dispose(&arena);
    return rc;
}

void fz_overflow_free(struct fz_overflow *o) {
    if (o == NULL) {
        return;
    }
    bool any = false;
    for (size_t i = 0; i < FZ_OVERFLOW_PARTS; i++) {
        any |= o->parts[i].location != NULL;
        fz_parquet_writer_abort(o->parts[i].writer);
        fz_free(o->parts[i].location);
        pthread_mutex_destroy(&o->parts[i].lock);
    }
    if (any) {
        fz_store_remove_folder(o->store, o->folder, NULL);
    }
    fz_free(o->folder);
    fz_store_unref(o->store);
    fz_free(o);
}
