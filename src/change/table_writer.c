// Implementation of change/table_writer.h: rows are routed to one open Parquet file per partition (fan-out). The map of partitions
// has one lock, each partition its own. Encoding needs neither: a partition has lanes, encoders of a row group that one thread at a
// time fills; the partition's lock is held only to pick a lane and to put a complete row group into the file. Threads keep to their
// lanes, so row groups hold rows that came together. Memory is bounded in two ways: when all lanes together hold too much, one that
// holds more than its share ends its row group early; and when too many partitions are open, those that seem complete are closed, or
// rows of further partitions wait (overflow.c) until all that are open are complete.
#include "change/table_writer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "change/file_options_priv.h"
#include "change/overflow.h"
#include "format/parquet/parquet_writer.h"
#include "scan/scan.h"

enum {
    OPEN_WRITER_BYTES = 128 << 10, // what an open partition holds with few rows: encoders and their dictionaries
    LEAST_OPEN_WRITERS = 400,
    IDLE_PAUSES = 16,
    MOST_OPEN_WRITERS = 100000,
    MAX_LANES = 16,
    ROWS_A_LANE =
        50000, // a partition gets one more lane after so many rows, lest small changes make many small row groups
};

struct closed_file {
    struct closed_file *next;
    struct fz_arena arena;
    char *location;
    struct fz_data_file file;
};

struct lane {
    struct fz_parquet_encoder *encoder; // the owner's while busy
    pthread_t last_user;
    bool busy;
    int64_t bytes; // of the row group being built, as of its last rows
    int64_t memory; // of the encoder, as of its last rows
};

struct open_partition {
    pthread_mutex_t lock;
    pthread_cond_t lane_free;
    struct lane lanes[MAX_LANES];
    size_t n_lanes;
    int64_t rows; // pushed so far
    bool is_open; // rows or row groups wait for the file to be closed
    struct fz_value partition; // in the writer's arena
    const char *path; // "a=1/b=2", "" when unpartitioned
    struct fz_parquet_writer *parquet;
    char *location;
    size_t part; // of the overflow
    int64_t first_used, last_used, n_pushes; // by the writer's clock, which counts pushes
};

struct fz_table_writer {
    struct fz_store *store;
    struct fz_metadata *metadata;
    const struct fz_schema *schema;
    const struct fz_partition_spec *spec;
    const struct fz_type *partition_type;
    struct fz_file_options options;
    struct fz_arena arena; // guarded by lock
    pthread_mutex_t lock;
    struct fz_map partitions; // key bytes -> struct open_partition
    struct fz_field *fields;
    size_t n_fields;
    char operation_id[40];
    int32_t sort_order_id;
    _Atomic int64_t clock, file_counter;
    _Atomic int open_writers;
    _Atomic int64_t held_bytes, n_encoders; // of all lanes
    int64_t memory_bytes; // lanes end row groups early above it
    struct fz_overflow *overflow; // made under the lock when it is needed first
    const char *temp_directory; // of the options
    _Atomic int64_t next_look; // the clock when complete partitions are looked for again
    bool draining; // overflown rows come back
    struct fz_parquet_pool *pool;
    int max_open_writers;
    struct fz_cancel *cancel;
    struct fz_progress *progress;
    struct closed_file *closed;
    size_t n_closed;
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
    int64_t fit = w->memory_bytes / OPEN_WRITER_BYTES;
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

// The column of a field id, looking into structs.
static const struct fz_column *find_column(const struct fz_column *columns, size_t n, int32_t field_id) {
    for (size_t i = 0; i < n; i++) {
        if (columns[i].field_id == field_id) {
            return &columns[i];
        }
        if (columns[i].type->id == FZ_TYPE_STRUCT) {
            const struct fz_column *inner = find_column(columns[i].children, columns[i].n_children, field_id);
            if (inner != NULL) {
                return inner;
            }
        }
    }
    return NULL;
}

// One row's partition tuple as bytes that are equal exactly when the tuples are.
static void append_key(struct fz_buf *key, const struct fz_column *column, size_t row) {
    bool valid = fz_column_is_valid(column, row);
    fz_buf_putc(key, (char)valid);
    if (!valid) {
        return;
    }
    size_t width = fz_type_width(column->type);
    const char *at = (const char *)column->data + row * width;
    switch (column->type->id) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED: {
        struct fz_string s;
        memcpy(&s, at, sizeof s);
        fz_buf_append(key, &s.length, sizeof s.length);
        fz_buf_append(key, fz_string_ptr((const struct fz_string *)(const void *)at), s.length);
        break;
    }
    default:
        fz_buf_append(key, at, width);
    }
}

// Whether two rows have the same partition tuple; false when it takes longer to know.
static bool same_tuple(const struct fz_column *values, size_t n, size_t a, size_t b) {
    for (size_t k = 0; k < n; k++) {
        size_t width = fz_type_width(values[k].type);
        bool valid = fz_column_is_valid(&values[k], a);
        if (valid != fz_column_is_valid(&values[k], b)) {
            return false;
        }
        if (valid) { // of a text longer than 12 bytes the address is compared, which neighbours from a dictionary share
            const char *data = values[k].data;
            if (memcmp(data + a * width, data + b * width, width) != 0) {
                return false;
            }
        }
    }
    return true;
}

static enum fz_code partition_of_key(struct fz_table_writer *w, struct fz_str key, const struct fz_column *values,
                                     size_t row, struct open_partition **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf path = {0};
    pthread_mutex_lock(&w->lock);
    struct fz_map_entry *entry;
    bool added;
    FZ_TRY(fz_map_put(&w->partitions, key, &entry, &added, err));
    if (added) {
        struct open_partition *p = fz_arena_alloc(&w->arena, sizeof *p);
        struct fz_value *items = fz_arena_array(&w->arena, w->spec->n_fields, sizeof *items);
        if (p == NULL || items == NULL) {
            fz_map_remove(&w->partitions, key);
            rc = fz_fail_nomem(err, sizeof *p);
            goto out;
        }
        for (size_t i = 0; i < w->spec->n_fields; i++) {
            struct fz_value v = fz_value_at(&values[i], row, NULL);
            const struct fz_value *copy = fz_value_copy(&w->arena, &v);
            if (copy == NULL) {
                fz_map_remove(&w->partitions, key);
                rc = fz_fail_nomem(err, sizeof *copy);
                goto out;
            }
            items[i] = *copy;
        }
        p->partition = (struct fz_value){.type = w->partition_type};
        p->partition.u.nested.items = items;
        p->partition.u.nested.n = w->spec->n_fields;
        rc = fz_spec_partition_path(&path, w->spec, &p->partition, err);
        p->path = rc == FZ_OK ? fz_arena_strdup(&w->arena, path.ptr ? path.ptr : "") : NULL;
        if (p->path == NULL) {
            fz_map_remove(&w->partitions, key);
            rc = rc != FZ_OK ? rc : fz_fail_nomem(err, path.len);
            goto out;
        }
        pthread_mutex_init(&p->lock, NULL);
        pthread_cond_init(&p->lane_free, NULL);
        p->part = fz_hash64(key.ptr, key.len, 0) % FZ_OVERFLOW_PARTS;
        entry->value.ptr = p;
    }
    *out = entry->value.ptr;
out:
    pthread_mutex_unlock(&w->lock);
    fz_buf_dispose(&path);
    return rc;
}

static struct fz_parquet_write write_options(const struct fz_table_writer *w) {
    struct fz_parquet_write write = w->options.parquet;
    write.fields = w->fields;
    write.n_fields = w->n_fields;
    write.pool = w->pool;
    return write;
}

static enum fz_code open_file(struct fz_table_writer *w, struct open_partition *p, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf name = {0};
    struct fz_writer *sink = NULL;
    int64_t number = atomic_fetch_add(&w->file_counter, 1) + 1;
    fz_buf_printf(&name, "00000-%" PRId64 "-%s-%05" PRId64 ".parquet", number - 1, w->operation_id, number);
    FZ_TRY(fz_file_location(&w->options, p->path, name.ptr, &p->location, err));
    FZ_TRY(fz_store_writer_open(w->store, p->location, &sink, err));
    struct fz_parquet_write write = write_options(w);
    struct fz_writer *handed = sink;
    sink = NULL; // the Parquet writer takes it over, also on error
    FZ_TRY(fz_parquet_writer_open(handed, &write, &p->parquet, err));
out:
    if (rc != FZ_OK) {
        fz_free(p->location);
        p->location = NULL;
    }
    fz_buf_dispose(&name);
    fz_writer_abort(sink);
    return rc;
}

// A complete row group into the partition's file, under the partition's lock. Takes the group over.
static enum fz_code put_group(struct fz_table_writer *w, struct open_partition *p, struct fz_parquet_group *group,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (p->parquet == NULL) {
        FZ_TRY(open_file(w, p, err));
    }
    struct fz_parquet_group *handed = group;
    group = NULL;
    FZ_TRY(fz_parquet_writer_add(p->parquet, handed, err));
out:
    fz_parquet_group_free(group);
    return rc;
}

static void note_memory(struct fz_table_writer *w, struct lane *lane) {
    int64_t memory = lane->encoder != NULL ? fz_parquet_encoder_memory(lane->encoder) : 0;
    atomic_fetch_add(&w->held_bytes, memory - lane->memory);
    lane->memory = memory;
}

static enum fz_code open_encoder(struct fz_table_writer *w, struct lane *lane, struct fz_err *err) {
    struct fz_parquet_write write = write_options(w);
    enum fz_code rc = fz_parquet_encoder_open(&write, &lane->encoder, err);
    if (rc == FZ_OK) {
        atomic_fetch_add(&w->n_encoders, 1);
    }
    return rc;
}

static void free_encoder(struct fz_table_writer *w, struct lane *lane) {
    if (lane->encoder != NULL) {
        fz_parquet_encoder_free(lane->encoder);
        lane->encoder = NULL;
        lane->bytes = 0;
        note_memory(w, lane);
        atomic_fetch_sub(&w->n_encoders, 1);
    }
}

// All lanes together hold too much, and this one not less than the others. A lane that holds hardly more than an empty one goes on:
// ending it would free little and leave a tiny row group; with so many partitions the number of open ones is the bound.
static bool is_too_large(struct fz_table_writer *w, const struct lane *lane) {
    int64_t held = atomic_load(&w->held_bytes);
    return held > w->memory_bytes && lane->memory >= 2 * OPEN_WRITER_BYTES &&
           lane->memory >= held / (atomic_load(&w->n_encoders) + 1);
}

static void mark_open(struct fz_table_writer *w, struct open_partition *p, bool is_open) {
    if (p->is_open != is_open) {
        p->is_open = is_open;
        atomic_fetch_add(&w->open_writers, is_open ? 1 : -1);
    }
}

// Closes the partition's current file with what its lanes hold; the partition's lock is held, or nobody else uses it. Lanes that
// are being filled go on, for the next file.
static enum fz_code close_file(struct fz_table_writer *w, struct open_partition *p, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct closed_file *closed = NULL;
    bool lanes_left = false;
    for (size_t i = 0; i < p->n_lanes; i++) {
        struct fz_parquet_group *group = NULL;
        lanes_left |= p->lanes[i].busy;
        if (p->lanes[i].busy || p->lanes[i].encoder == NULL) {
            continue;
        }
        FZ_TRY(fz_parquet_encoder_finish(p->lanes[i].encoder, &group, err));
        free_encoder(w, &p->lanes[i]); // its memory may be wanted elsewhere
        if (group != NULL) {
            FZ_TRY(put_group(w, p, group, err));
        }
    }
    mark_open(w, p, lanes_left);
    if (p->parquet == NULL) {
        return FZ_OK;
    }
    FZ_FAIL_POINT("write.data_file");
    FZ_NEW(closed, err);
    struct fz_parquet_metrics metrics;
    struct fz_parquet_writer *parquet = p->parquet;
    p->parquet = NULL;
    FZ_TRY(fz_parquet_writer_close(parquet, &closed->arena, &metrics, err));
    closed->location = p->location;
    p->location = NULL;
    closed->file = (struct fz_data_file){
        .content = FZ_CONTENT_DATA,
        .file_path = closed->location,
        .file_format = "PARQUET",
        .spec_id = w->spec->spec_id,
        .partition = p->partition,
        .sort_order_id = w->sort_order_id,
        .first_row_id = -1,
        .content_offset = -1,
        .content_size_in_bytes = -1,
    };
    FZ_TRY(fz_file_metrics_to_data_file(&closed->arena, &metrics, &closed->file, err));
    pthread_mutex_lock(&w->lock);
    closed->next = w->closed;
    w->closed = closed;
    w->n_closed++;
    pthread_mutex_unlock(&w->lock);
    closed = NULL;
out:
    if (closed != NULL) {
        if (closed->location != NULL) { // complete on disk, but not usable
            fz_store_remove(w->store, closed->location, NULL);
            fz_free(closed->location);
        }
        fz_arena_dispose(&closed->arena);
        fz_free(closed);
    }
    return rc;
}

// Too many open writers: close the one that was idle for the longest time. Its partition may get another file later.
static enum fz_code close_idlest(struct fz_table_writer *w, const struct open_partition *except, struct fz_err *err) {
    struct open_partition *idlest = NULL;
    pthread_mutex_lock(&w->lock);
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&w->partitions, e)) != NULL;) {
        struct open_partition *p = e->value.ptr;
        if (p != except && p->is_open && (idlest == NULL || p->last_used < idlest->last_used)) {
            idlest = p;
        }
    }
    pthread_mutex_unlock(&w->lock);
    if (idlest == NULL || pthread_mutex_trylock(&idlest->lock) != 0) {
        return FZ_OK; // busy in another thread: not idle after all
    }
    enum fz_code rc = close_file(w, idlest, err);
    pthread_mutex_unlock(&idlest->lock);
    return rc;
}

// A lane for this thread: the one it used last, else a new one, else any that is free. Called and left under the partition's lock.
static struct lane *take_lane(struct open_partition *p) {
    pthread_t self = pthread_self();
    size_t most = (size_t)fz_machine_cores();
    most = most < MAX_LANES ? most : MAX_LANES;
    for (;;) {
        struct lane *any = NULL;
        for (size_t i = 0; i < p->n_lanes; i++) {
            struct lane *lane = &p->lanes[i];
            if (!lane->busy && (any == NULL || pthread_equal(lane->last_user, self))) {
                any = lane;
            }
        }
        bool mine = any != NULL && pthread_equal(any->last_user, self);
        if (!mine && p->n_lanes < most && (p->n_lanes == 0 || p->rows >= (int64_t)p->n_lanes * ROWS_A_LANE)) {
            any = &p->lanes[p->n_lanes++];
        }
        if (any != NULL) {
            any->busy = true;
            any->last_user = self;
            return any;
        }
        pthread_cond_wait(&p->lane_free, &p->lock);
    }
}

static int64_t partition_bytes(const struct open_partition *p) {
    int64_t total = p->parquet != NULL ? fz_parquet_writer_bytes(p->parquet) : 0;
    for (size_t i = 0; i < p->n_lanes; i++) {
        total += p->lanes[i].bytes;
    }
    return total;
}

// Rows into the lane, row group after row group into the file. The lock is held when called and when left, but not while encoding.
static enum fz_code fill_lane(struct fz_table_writer *w, struct open_partition *p, struct lane *lane,
                              const struct fz_batch *batch, const uint32_t *selection, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t done = 0; rc == FZ_OK && done < n;) {
        struct fz_parquet_group *group = NULL;
        size_t now = 0;
        pthread_mutex_unlock(&p->lock);
        rc = lane->encoder == NULL ? open_encoder(w, lane, err) : FZ_OK;
        if (rc == FZ_OK) {
            rc = fz_parquet_encoder_append(lane->encoder, batch, done, selection ? selection + done : NULL, n - done,
                                           &now, err);
        }
        if (rc == FZ_OK) {
            note_memory(w, lane);
            bool full = fz_parquet_encoder_is_full(lane->encoder), too_large = !full && is_too_large(w, lane);
            rc = full || too_large ? fz_parquet_encoder_finish(lane->encoder, &group, err) : FZ_OK;
            lane->bytes = rc == FZ_OK ? fz_parquet_encoder_bytes(lane->encoder) : 0;
            if (too_large) {
                free_encoder(w, lane);
            }
        }
        pthread_mutex_lock(&p->lock);
        done += now;
        if (group != NULL) {
            rc = put_group(w, p, group, err);
        }
    }
    return rc;
}

// Idle for much longer than it ever was between two uses: rows come partition by partition, and this one is complete.
static bool seems_complete(const struct open_partition *p, int64_t now) {
    if (p->n_pushes < 4) {
        return false;
    }
    int64_t pause = (p->last_used - p->first_used) / p->n_pushes;
    return now - p->last_used > IDLE_PAUSES * (pause + 8);
}

// Closes partitions that seem complete; false: there is none, and no file can be opened for another one.
static enum fz_code make_room(struct fz_table_writer *w, bool *made, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t now = atomic_load(&w->clock);
    *made = false;
    if (now < atomic_load(&w->next_look)) {
        return FZ_OK;
    }
    struct open_partition **complete = NULL;
    size_t n = 0, cap = 0;
    pthread_mutex_lock(&w->lock);
    for (struct fz_map_entry *e = NULL; rc == FZ_OK && (e = fz_map_next(&w->partitions, e)) != NULL;) {
        struct open_partition *p = e->value.ptr;
        if (p->is_open && seems_complete(p, now)) {
            rc = fz_grow((void **)&complete, &cap, n + 1, sizeof(struct open_partition *), err);
            if (rc == FZ_OK) {
                complete[n++] = p;
            }
        }
    }
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; rc == FZ_OK && i < n; i++) {
        if (pthread_mutex_trylock(&complete[i]->lock) == 0) { // else it is in use after all
            rc = close_file(w, complete[i], err);
            *made = true;
            pthread_mutex_unlock(&complete[i]->lock);
        }
    }
    if (!*made) {
        atomic_store(&w->next_look, now + w->max_open_writers / 2);
    }
    fz_free(complete);
    return rc;
}

static enum fz_code overflow(struct fz_table_writer *w, size_t part, const struct fz_batch *batch,
                             const uint32_t *selection, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    pthread_mutex_lock(&w->lock);
    if (w->overflow == NULL) {
        struct fz_parquet_write write = write_options(w);
        rc = fz_overflow_new(&write, w->temp_directory, &w->overflow, err);
    }
    pthread_mutex_unlock(&w->lock);
    return rc == FZ_OK ? fz_overflow_push(w->overflow, part, batch, selection, n, err) : rc;
}

static enum fz_code append_rows(struct fz_table_writer *w, struct open_partition *p, const struct fz_batch *batch,
                                const uint32_t *selection, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    pthread_mutex_lock(&p->lock);
    if (!p->is_open && !w->draining && atomic_load(&w->open_writers) >= w->max_open_writers) {
        pthread_mutex_unlock(&p->lock);
        bool made = false;
        FZ_TRY(make_room(w, &made, err));
        if (!made) {
            atomic_fetch_add(&w->clock, 1); // time goes on for those that are open, too
            return overflow(w, p->part, batch, selection, n, err);
        }
        pthread_mutex_lock(&p->lock);
    }
    struct lane *lane = take_lane(p);
    mark_open(w, p, true);
    p->rows += (int64_t)n;
    p->last_used = atomic_fetch_add(&w->clock, 1);
    p->first_used = p->n_pushes++ == 0 ? p->last_used : p->first_used;
    rc = fill_lane(w, p, lane, batch, selection, n, err);
    lane->busy = false;
    pthread_cond_signal(&p->lane_free);
    if (rc == FZ_OK && partition_bytes(p) >= w->options.target_file_size_bytes) {
        rc = close_file(w, p, err);
    }
    pthread_mutex_unlock(&p->lock);
    if (rc == FZ_OK && w->draining && atomic_load(&w->open_writers) > w->max_open_writers) {
        rc = close_idlest(w, p, err); // a part of the overflow that has too many partitions again
    }
out:
    return rc;
}

// Rows of one partition inside a batch.
struct routed {
    struct open_partition *partition;
    size_t n;
    uint32_t *rows;
};

// The partition tuples of all rows, a column for each field of the spec, into `values` (zeroed; the caller's, also on error).
static enum fz_code partition_columns(const struct fz_table_writer *w, const struct fz_batch *batch,
                                      struct fz_column *values, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t k = 0; k < w->spec->n_fields; k++) {
        const struct fz_partition_field *field = &w->spec->fields[k];
        const struct fz_type *type = w->partition_type->fields[k].type;
        FZ_TRY(fz_column_init(&values[k], type, batch->n_rows, err));
        const struct fz_column *source = find_column(batch->columns, batch->n_columns, field->source_id);
        if (source == NULL) { // void over a dropped column
            for (size_t i = 0; i < batch->n_rows; i++) {
                fz_column_set_null(&values[k], i);
            }
            continue;
        }
        FZ_TRY(fz_transform_apply_column(&field->transform, source, batch->n_rows, &values[k], err));
    }
out:
    return rc;
}

enum fz_code fz_table_writer_stays(const struct fz_table_writer *w, const struct fz_batch *batch, const uint32_t *rows,
                                   size_t n, const struct fz_value *const *partitions, uint8_t *out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n_keys = w->spec->n_fields;
    struct fz_column *values = fz_calloc(n_keys + 1, sizeof *values);
    if (values == NULL) {
        return fz_fail_nomem(err, n_keys * sizeof *values);
    }
    FZ_TRY(partition_columns(w, batch, values, err));
    memset(out, 1, n);
    for (size_t k = 0; k < n_keys; k++) {
        for (size_t i = 0; i < n; i++) {
            if (partitions[i] != NULL) {
                const struct fz_value *have = &partitions[i]->u.nested.items[k];
                struct fz_value v = fz_value_at(&values[k], rows[i], NULL);
                bool same = have->is_null || v.is_null ? have->is_null && v.is_null : fz_value_equal(have, &v);
                out[i] &= same;
            }
        }
    }
out:
    for (size_t k = 0; k < n_keys; k++) {
        fz_column_dispose(&values[k]);
    }
    fz_free(values);
    return rc;
}

// Groups the selected rows by partition tuple.
static enum fz_code route(struct fz_table_writer *w, const struct fz_batch *batch, const uint32_t *selection, size_t n,
                          struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n_keys = w->spec->n_fields, n_routes = 0, cap_routes = 0;
    struct fz_column *values = NULL;
    struct routed *routes = NULL;
    uint32_t *rows = NULL, *route_of = NULL;
    struct fz_map seen = {0};
    struct fz_buf key = {0};
    values = fz_calloc(n_keys, sizeof *values);
    rows = fz_malloc(n * sizeof *rows);
    route_of = fz_malloc(n * sizeof *route_of);
    if (values == NULL || rows == NULL || route_of == NULL) {
        rc = fz_fail_nomem(err, n * sizeof *rows);
        goto out;
    }
    FZ_TRY(partition_columns(w, batch, values, err));
    for (size_t i = 0; i < n; i++) {
        size_t row = selection ? selection[i] : i;
        if (i > 0 && same_tuple(values, n_keys, row, selection ? selection[i - 1] : i - 1)) {
            route_of[i] = route_of[i - 1];
            routes[route_of[i]].n++;
            continue;
        }
        fz_buf_clear(&key);
        for (size_t k = 0; k < n_keys; k++) {
            append_key(&key, &values[k], row);
        }
        FZ_TRY(fz_buf_check(&key, err));
        struct fz_map_entry *entry;
        bool added;
        FZ_TRY(fz_map_put(&seen, (struct fz_str){key.ptr, key.len}, &entry, &added, err));
        if (added) {
            FZ_TRY(fz_grow((void **)&routes, &cap_routes, n_routes + 1, sizeof *routes, err));
            routes[n_routes] = (struct routed){0};
            FZ_TRY(
                partition_of_key(w, (struct fz_str){key.ptr, key.len}, values, row, &routes[n_routes].partition, err));
            entry->value.i64 = (int64_t)n_routes++;
        }
        route_of[i] = (uint32_t)entry->value.i64;
        routes[route_of[i]].n++;
    }
    uint32_t *next = rows;
    for (size_t r = 0; r < n_routes; r++) {
        routes[r].rows = next;
        next += routes[r].n;
        routes[r].n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        struct routed *r = &routes[route_of[i]];
        r->rows[r->n++] = selection ? selection[i] : (uint32_t)i;
    }
    for (size_t r = 0; r < n_routes; r++) {
        FZ_TRY(append_rows(w, routes[r].partition, batch, routes[r].rows, routes[r].n, err));
    }
out:
    for (size_t k = 0; values != NULL && k < n_keys; k++) {
        fz_column_dispose(&values[k]);
    }
    fz_free(values);
    fz_free(routes);
    fz_free(rows);
    fz_free(route_of);
    fz_map_dispose(&seen);
    fz_buf_dispose(&key);
    return rc;
}

enum fz_code fz_table_writer_push(struct fz_table_writer *w, const struct fz_batch *batch, const uint32_t *selection,
                                  size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (n == 0) {
        return FZ_OK;
    }
    FZ_TRY(fz_cancel_check(w->cancel, err));
    fz_progress_add(w->progress, 0, 0, (int64_t)n);
    if (w->spec->n_fields > 0) {
        return route(w, batch, selection, n, err);
    }
    struct open_partition *only = NULL;
    FZ_TRY(partition_of_key(w, FZ_STR_LIT(""), NULL, 0, &only, err));
    FZ_TRY(append_rows(w, only, batch, selection, n, err));
out:
    return rc;
}

enum fz_code fz_table_writer_encoder(const struct fz_table_writer *w, struct fz_parquet_encoder **out,
                                     struct fz_err *err) {
    struct fz_parquet_write write = write_options(w);
    return fz_parquet_encoder_open(&write, out, err);
}

bool fz_table_writer_takes_partition(const struct fz_table_writer *w, int32_t spec_id,
                                     const struct fz_value *partition) {
    size_t n = w->spec->n_fields;
    if (spec_id != w->spec->spec_id || (n > 0 && (partition->is_null || partition->u.nested.n != n))) {
        return false;
    }
    for (size_t i = 0; i < n; i++) { // a column promoted since then: the tuple is of the narrower type
        const struct fz_value *v = &partition->u.nested.items[i];
        if (!v->is_null && !fz_type_equal(v->type, w->partition_type->fields[i].type, false, true)) {
            return false;
        }
    }
    return true;
}

enum fz_code fz_table_writer_add_group(struct fz_table_writer *w, const struct fz_value *partition,
                                       struct fz_parquet_group *group, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = w->spec->n_fields;
    struct fz_buf key = {0};
    struct open_partition *p = NULL;
    struct fz_column *values = fz_calloc(n + 1, sizeof *values);
    if (values == NULL) {
        rc = fz_fail_nomem(err, n * sizeof *values);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(fz_column_init(&values[i], w->partition_type->fields[i].type, 1, err));
        const struct fz_value *v = &partition->u.nested.items[i];
        if (v->is_null) {
            fz_column_set_null(&values[i], 0);
        } else {
            FZ_TRY(fz_value_store(&values[i], 0, v, err));
        }
        append_key(&key, &values[i], 0);
    }
    FZ_TRY(fz_buf_check(&key, err));
    FZ_TRY(partition_of_key(w, (struct fz_str){key.ptr != NULL ? key.ptr : "", key.len}, values, 0, &p, err));
    pthread_mutex_lock(&p->lock);
    mark_open(w, p, true);
    p->last_used = atomic_fetch_add(&w->clock, 1);
    fz_progress_add(w->progress, 0, 0, fz_parquet_group_rows(group));
    struct fz_parquet_group *handed = group;
    group = NULL;
    rc = put_group(w, p, handed, err);
    if (rc == FZ_OK && partition_bytes(p) >= w->options.target_file_size_bytes) {
        rc = close_file(w, p, err);
    }
    pthread_mutex_unlock(&p->lock);
    if (rc == FZ_OK && atomic_load(&w->open_writers) > w->max_open_writers) {
        rc = close_idlest(w, p, err);
    }
out:
    for (size_t i = 0; values != NULL && i < n; i++) {
        fz_column_dispose(&values[i]);
    }
    fz_free(values);
    fz_buf_dispose(&key);
    fz_parquet_group_free(group);
    return rc;
}

// Closing a file encodes and compresses its last row group, so partitions are closed on all cores.
struct closer {
    struct fz_table_writer *writer;
    struct open_partition **partitions;
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
            close_file(c->writer, c->partitions[i], &err) != FZ_OK) {
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
    return route(((struct drainer *)sink)->writer, batch, NULL, batch->n_rows, err);
}

static enum fz_code close_part(struct fz_table_writer *w, size_t part, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct open_partition **open = NULL;
    size_t n = 0, cap = 0;
    pthread_mutex_lock(&w->lock);
    for (struct fz_map_entry *e = NULL; rc == FZ_OK && (e = fz_map_next(&w->partitions, e)) != NULL;) {
        struct open_partition *p = e->value.ptr;
        if (p->is_open && p->part == part) {
            rc = fz_grow((void **)&open, &cap, n + 1, sizeof(struct open_partition *), err);
            if (rc == FZ_OK) {
                open[n++] = p;
            }
        }
    }
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; rc == FZ_OK && i < n; i++) { // no other thread has to do with this part's partitions
        rc = close_file(w, open[i], err);
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
    pthread_t threads[MAX_LANES];
    size_t n = 0, want = (size_t)fz_machine_cores();
    want = want < most ? want : most;
    while (n + 1 < want && n < MAX_LANES && pthread_create(&threads[n], NULL, work, ctx) == 0) {
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
        struct open_partition *p = e->value.ptr;
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
    for (struct closed_file *c = w->closed; c != NULL; c = c->next) {
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
    for (struct closed_file *c = w->closed; c != NULL; c = c->next) {
        fz_store_remove(w->store, c->location, NULL);
    }
}

void fz_table_writer_free(struct fz_table_writer *w) {
    if (w == NULL) {
        return;
    }
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&w->partitions, e)) != NULL;) {
        struct open_partition *p = e->value.ptr;
        for (size_t i = 0; i < p->n_lanes; i++) {
            free_encoder(w, &p->lanes[i]);
        }
        fz_parquet_writer_abort(p->parquet);
        fz_free(p->location);
        pthread_cond_destroy(&p->lane_free);
        pthread_mutex_destroy(&p->lock);
    }
    for (struct closed_file *c = w->closed; c != NULL;) {
        struct closed_file *next = c->next;
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
