// Implementation of change/table_writer.h: rows are routed (partition_route.c) to one open Parquet file per partition
// (open_partition.c), and at the end all are closed, on all cores, and rows that had to wait are read back (overflow.c).
#include "change/table_writer.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "change/table_writer_priv.h"
#include "scan/scan.h"

enum {
    LEAST_OPEN_WRITERS = 400,
    MOST_OPEN_WRITERS = 100000,
};

enum fz_code fz_table_writer_new(const struct fz_table_writer_options *options, struct fz_table_writer **out,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_table_writer *w = NULL;
    FZ_NEW(w, err);
    pthread_mutex_init(&w->lock, NULL);
    w->store = fz_store_ref(options->store);
    w->metadata = fz_metadata_ref(options->metadata);
    w->schema = fz_metadata_current_schema(w->metadata);
    w->spec = fz_metadata_spec(w->metadata, w->metadata->default_spec_id);
    w->cancel = options->cancel;
    w->progress = options->progress;
    w->memory_bytes = options->memory_bytes > 0 ? options->memory_bytes : fz_machine_memory_bytes() / 8;
    w->temp_directory = options->temp_directory;
    int64_t fit = w->memory_bytes / FZ_OPEN_PARTITION_BYTES;
    w->max_open_writers = fit < LEAST_OPEN_WRITERS  ? LEAST_OPEN_WRITERS
                          : fit > MOST_OPEN_WRITERS ? MOST_OPEN_WRITERS
                                                    : (int)fit;
    w->sort_order_id = options->sort_order_id;
    snprintf(w->operation_id, sizeof w->operation_id, "%s", options->operation_id);
    for (size_t i = 0; i < w->spec->n_fields; i++) {
        if (w->spec->fields[i].transform.kind == FZ_TRANSFORM_OTHER) {
            rc = fz_fail(err, FZ_UNSUPPORTED,
                         "cannot write: the table's partition field %s uses the transform %s, which is not known",
                         w->spec->fields[i].name, w->spec->fields[i].transform.name);
            goto out;
        }
    }
    FZ_TRY(fz_spec_partition_type(&w->arena, w->schema, w->spec, &w->partition_type, err));
    size_t n = w->schema->type->n_fields;
    w->n_fields = n + (options->with_lineage ? 2 : 0);
    w->fields = fz_arena_array(&w->arena, w->n_fields, sizeof *w->fields);
    if (w->fields == NULL) {
        rc = fz_fail_nomem(err, w->n_fields * sizeof *w->fields);
        goto out;
    }
    memcpy(w->fields, w->schema->type->fields, n * sizeof *w->fields);
    if (options->with_lineage) {
        const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG);
        w->fields[n] = (struct fz_field){.id = FZ_ID_ROW_ID, .name = "_row_id", .type = lng};
        w->fields[n + 1] = (struct fz_field){
            .id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER, .name = "_last_updated_sequence_number", .type = lng};
    }
    FZ_TRY(fz_parquet_pool_new(&w->pool, err));
    FZ_TRY(fz_file_options_for_data(w->metadata, w->schema, &w->arena, &w->options, err));
    *out = w;
    w = NULL;
out:
    fz_table_writer_free(w);
    return rc;
}

struct fz_parquet_write fz_table_writer_parquet(const struct fz_table_writer *w) {
    struct fz_parquet_write write = w->options.parquet;
    write.fields = w->fields;
    write.n_fields = w->n_fields;
    write.pool = w->pool;
    return write;
}

enum fz_code fz_table_writer_push(struct fz_table_writer *w, const struct fz_batch *batch, const uint32_t *selection,
                                  size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (n == 0) {
        return FZ_OK;
    }
    FZ_TRY(fz_cancel_check(w->cancel, err));
    if (w->n_fields == 0) {
        return fz_fail(
            err, FZ_INVALID_ARG,
            "a table without columns takes no rows: there are no Parquet files without columns; add a column first");
    }
    fz_progress_add(w->progress, 0, 0, (int64_t)n);
    if (w->spec->n_fields > 0) {
        return fz_table_writer_route(w, batch, selection, n, err);
    }
    struct fz_open_partition *only = NULL;
    FZ_TRY(fz_table_writer_partition(w, NULL, &only, err));
    FZ_TRY(fz_open_partition_append(w, only, batch, selection, n, err));
out:
    return rc;
}

enum fz_code fz_table_writer_encoder(const struct fz_table_writer *w, struct fz_parquet_encoder **out,
                                     struct fz_err *err) {
    struct fz_parquet_write write = fz_table_writer_parquet(w);
    return fz_parquet_encoder_open(&write, out, err);
}

enum fz_code fz_table_writer_add_group(struct fz_table_writer *w, const struct fz_value *partition,
                                       struct fz_parquet_group *group, struct fz_err *err) {
    struct fz_open_partition *p = NULL;
    enum fz_code rc = fz_table_writer_partition(w, partition, &p, err);
    if (rc != FZ_OK) {
        fz_parquet_group_free(group);
        return rc;
    }
    return fz_open_partition_add_group(w, p, group, err);
}

// Closing a file encodes and compresses its last row group, so partitions are closed on all cores.
struct closer {
    struct fz_table_writer *writer;
    struct fz_open_partition **partitions;
    size_t n;
    _Atomic size_t next;
    pthread_mutex_t lock;
    struct fz_err err;
};
static void *close_some(void *ctx) {
    struct closer *c = ctx;
    for (size_t i; (i = atomic_fetch_add(&c->next, 1)) < c->n;) {
        struct fz_err err = FZ_ERR_INIT;
        if (fz_cancel_check(c->writer->cancel, &err) != FZ_OK ||
            fz_open_partition_close(c->writer, c->partitions[i], &err) != FZ_OK) {
            pthread_mutex_lock(&c->lock);
            if (c->err.code == FZ_OK) {
                c->err = err;
            }
            pthread_mutex_unlock(&c->lock);
            break;
        }
    }
    return NULL;
}

// Reads the overflow back part by part, on all cores; the partitions of a part are closed behind it.
struct drainer {
    struct fz_sink sink;
    struct fz_table_writer *writer;
    _Atomic size_t next;
    pthread_mutex_t lock;
    struct fz_err err;
};

static enum fz_code push_back(struct fz_sink *sink, const struct fz_batch *batch, struct fz_err *err) {
    return fz_table_writer_route(((struct drainer *)sink)->writer, batch, NULL, batch->n_rows, err);
}

static enum fz_code close_part(struct fz_table_writer *w, size_t part, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_open_partition **open = NULL;
    size_t n = 0, cap = 0;
    pthread_mutex_lock(&w->lock);
    for (struct fz_map_entry *e = NULL; rc == FZ_OK && (e = fz_map_next(&w->partitions, e)) != NULL;) {
        struct fz_open_partition *p = e->value.ptr;
        if (p->is_open && p->part == part) {
            rc = fz_grow((void **)&open, &cap, n + 1, sizeof(struct fz_open_partition *), err);
            if (rc == FZ_OK) {
                open[n++] = p;
            }
        }
    }
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; rc == FZ_OK && i < n; i++) { // no other thread has to do with this part's partitions
        rc = fz_open_partition_close(w, open[i], err);
    }
    fz_free(open);
    return rc;
}

static void *drain_some(void *ctx) {
    struct drainer *d = ctx;
    for (size_t part; (part = atomic_fetch_add(&d->next, 1)) < FZ_OVERFLOW_PARTS;) {
        struct fz_err err = FZ_ERR_INIT;
        if (fz_cancel_check(d->writer->cancel, &err) != FZ_OK ||
            fz_overflow_read(d->writer->overflow, part, &d->sink, d->writer->cancel, &err) != FZ_OK ||
            close_part(d->writer, part, &err) != FZ_OK) {
            pthread_mutex_lock(&d->lock);
            d->err = d->err.code == FZ_OK ? err : d->err;
            pthread_mutex_unlock(&d->lock);
            break;
        }
    }
    return NULL;
}

static void on_cores(void *(*work)(void *), void *ctx, size_t most) {
    pthread_t threads[FZ_MAX_LANES];
    size_t n = 0, want = (size_t)fz_machine_cores();
    want = want < most ? want : most;
    while (n + 1 < want && n < FZ_MAX_LANES && pthread_create(&threads[n], NULL, work, ctx) == 0) {
        n++;
    }
    work(ctx);
    for (size_t i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
}

static enum fz_code drain(struct fz_table_writer *w, struct fz_err *err) {
    static const struct fz_sink_vtable vtable = {.push = push_back};
    struct drainer d = {.sink = {&vtable}, .writer = w, .err = FZ_ERR_INIT};
    w->draining = true;
    pthread_mutex_init(&d.lock, NULL);
    on_cores(drain_some, &d, FZ_OVERFLOW_PARTS);
    pthread_mutex_destroy(&d.lock);
    if (d.err.code != FZ_OK && err != NULL && err->code == FZ_OK) {
        *err = d.err;
    }
    return d.err.code;
}

static int compare_files(const void *a, const void *b) {
    return strcmp(((const struct fz_data_file *)a)->file_path, ((const struct fz_data_file *)b)->file_path);
}

enum fz_code fz_table_writer_finish(struct fz_table_writer *w, struct fz_arena *arena, struct fz_data_file **out,
                                    size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct closer closer = {.writer = w};
    pthread_mutex_init(&closer.lock, NULL);
    closer.partitions = fz_calloc(w->partitions.n_live, sizeof *closer.partitions);
    if (closer.partitions == NULL) {
        rc = fz_fail_nomem(err, w->partitions.n_live * sizeof *closer.partitions);
        goto out;
    }
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&w->partitions, e)) != NULL;) {
        struct fz_open_partition *p = e->value.ptr;
        if (p->is_open) {
            closer.partitions[closer.n++] = p;
        }
    }
    on_cores(close_some, &closer, closer.n);
    if (closer.err.code != FZ_OK) {
        if (err != NULL && err->code == FZ_OK) {
            *err = closer.err;
        }
        rc = closer.err.code;
        goto out;
    }
    if (w->overflow != NULL) {
        FZ_TRY(drain(w, err));
    }
    struct fz_data_file *files = fz_arena_array(arena, w->n_closed, sizeof *files);
    if (files == NULL) {
        rc = fz_fail_nomem(err, w->n_closed * sizeof *files);
        goto out;
    }
    size_t i = 0;
    for (struct fz_closed_file *c = w->closed; c != NULL; c = c->next) {
        files[i++] = c->file;
    }
    qsort(files, i, sizeof *files, compare_files); // the same input gives manifests in the same order
    *out = files;
    *n = i;
out:
    fz_free(closer.partitions);
    pthread_mutex_destroy(&closer.lock);
    return rc;
}

void fz_table_writer_abort(struct fz_table_writer *w) {
    if (w == NULL) {
        return;
    }
    for (struct fz_closed_file *c = w->closed; c != NULL; c = c->next) {
        fz_store_remove(w->store, c->location, NULL);
    }
}

void fz_table_writer_free(struct fz_table_writer *w) {
    if (w == NULL) {
        return;
    }
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&w->partitions, e)) != NULL;) {
        fz_open_partition_dispose(w, e->value.ptr);
    }
    for (struct fz_closed_file *c = w->closed; c != NULL;) {
        struct fz_closed_file *next = c->next;
        fz_arena_dispose(&c->arena);
        fz_free(c->location);
        fz_free(c);
        c = next;
    }
    fz_map_dispose(&w->partitions);
    fz_overflow_free(w->overflow);
    fz_parquet_pool_free(w->pool);
    fz_arena_dispose(&w->arena);
    fz_metadata_unref(w->metadata);
    fz_store_unref(w->store);
    pthread_mutex_destroy(&w->lock);
    fz_free(w);
}
