// The open partitions of a table writer. Encoding needs no lock: a partition has lanes, encoders of a row group that one thread at a time
// fills; the partition's lock is held only to pick a lane and to put a complete row group into the file. Threads keep to their lanes,
// so row groups hold rows that came together. Memory is bounded in two ways: when all lanes together hold too much, one that holds more
// than its share ends its row group early; and when too many partitions are open, those that seem complete are closed, or rows of
// further partitions wait (overflow.c) until all that are open are complete.
#include <inttypes.h>

#include "change/table_writer_priv.h"

enum {
    IDLE_PAUSES = 16,
    ROWS_A_LANE = 50000, // a partition gets one more lane after so many rows, lest small changes make small row groups
};

static enum fz_code open_file(struct fz_table_writer *w, struct fz_open_partition *p, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf name = {0};
    struct fz_writer *sink = NULL;
    int64_t number = atomic_fetch_add(&w->file_counter, 1) + 1;
    fz_buf_printf(&name, "00000-%" PRId64 "-%s-%05" PRId64 ".parquet", number - 1, w->operation_id, number);
    FZ_TRY(fz_file_location(&w->options, p->path, name.ptr, &p->location, err));
    FZ_TRY(fz_store_writer_open(w->store, p->location, &sink, err));
    struct fz_parquet_write write = fz_table_writer_parquet(w);
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
static enum fz_code put_group(struct fz_table_writer *w, struct fz_open_partition *p, struct fz_parquet_group *group,
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

static void note_memory(struct fz_table_writer *w, struct fz_writer_lane *lane) {
    int64_t memory = lane->encoder != NULL ? fz_parquet_encoder_memory(lane->encoder) : 0;
    atomic_fetch_add(&w->held_bytes, memory - lane->memory);
    lane->memory = memory;
}

static enum fz_code open_encoder(struct fz_table_writer *w, struct fz_writer_lane *lane, struct fz_err *err) {
    struct fz_parquet_write write = fz_table_writer_parquet(w);
    enum fz_code rc = fz_parquet_encoder_open(&write, &lane->encoder, err);
    if (rc == FZ_OK) {
        atomic_fetch_add(&w->n_encoders, 1);
    }
    return rc;
}

static void free_encoder(struct fz_table_writer *w, struct fz_writer_lane *lane) {
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
static bool is_too_large(struct fz_table_writer *w, const struct fz_writer_lane *lane) {
    int64_t held = atomic_load(&w->held_bytes);
    return held > w->memory_bytes && lane->memory >= 2 * FZ_OPEN_PARTITION_BYTES &&
           lane->memory >= held / (atomic_load(&w->n_encoders) + 1);
}

static void mark_open(struct fz_table_writer *w, struct fz_open_partition *p, bool is_open) {
    if (p->is_open != is_open) {
        p->is_open = is_open;
        atomic_fetch_add(&w->open_writers, is_open ? 1 : -1);
    }
}

enum fz_code fz_open_partition_close(struct fz_table_writer *w, struct fz_open_partition *p, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_closed_file *closed = NULL;
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
static enum fz_code close_idlest(struct fz_table_writer *w, const struct fz_open_partition *except,
                                 struct fz_err *err) {
    struct fz_open_partition *idlest = NULL;
    pthread_mutex_lock(&w->lock);
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&w->partitions, e)) != NULL;) {
        struct fz_open_partition *p = e->value.ptr;
        if (p != except && p->is_open && (idlest == NULL || p->last_used < idlest->last_used)) {
            idlest = p;
        }
    }
    pthread_mutex_unlock(&w->lock);
    if (idlest == NULL || pthread_mutex_trylock(&idlest->lock) != 0) {
        return FZ_OK; // busy in another thread: not idle after all
    }
    enum fz_code rc = fz_open_partition_close(w, idlest, err);
    pthread_mutex_unlock(&idlest->lock);
    return rc;
}

// A lane for this thread: the one it used last, else a new one, else any that is free. Called and left under the partition's lock.
static struct fz_writer_lane *take_lane(struct fz_open_partition *p) {
    pthread_t self = pthread_self();
    size_t most = (size_t)fz_machine_cores();
    most = most < FZ_MAX_LANES ? most : FZ_MAX_LANES;
    for (;;) {
        struct fz_writer_lane *any = NULL;
        for (size_t i = 0; i < p->n_lanes; i++) {
            struct fz_writer_lane *lane = &p->lanes[i];
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

static int64_t partition_bytes(const struct fz_open_partition *p) {
    int64_t total = p->parquet != NULL ? fz_parquet_writer_bytes(p->parquet) : 0;
    for (size_t i = 0; i < p->n_lanes; i++) {
        total += p->lanes[i].bytes;
    }
    return total;
}

// Rows into the lane, row group after row group into the file. The lock is held when called and when left, but not while encoding.
static enum fz_code fill_lane(struct fz_table_writer *w, struct fz_open_partition *p, struct fz_writer_lane *lane,
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
static bool seems_complete(const struct fz_open_partition *p, int64_t now) {
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
    struct fz_open_partition **complete = NULL;
    size_t n = 0, cap = 0;
    pthread_mutex_lock(&w->lock);
    for (struct fz_map_entry *e = NULL; rc == FZ_OK && (e = fz_map_next(&w->partitions, e)) != NULL;) {
        struct fz_open_partition *p = e->value.ptr;
        if (p->is_open && seems_complete(p, now)) {
            rc = fz_grow((void **)&complete, &cap, n + 1, sizeof(struct fz_open_partition *), err);
            if (rc == FZ_OK) {
                complete[n++] = p;
            }
        }
    }
    pthread_mutex_unlock(&w->lock);
    for (size_t i = 0; rc == FZ_OK && i < n; i++) {
        if (pthread_mutex_trylock(&complete[i]->lock) == 0) { // else it is in use after all
            rc = fz_open_partition_close(w, complete[i], err);
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
        struct fz_parquet_write write = fz_table_writer_parquet(w);
        rc = fz_overflow_new(&write, w->temp_directory, &w->overflow, err);
    }
    pthread_mutex_unlock(&w->lock);
    return rc == FZ_OK ? fz_overflow_push(w->overflow, part, batch, selection, n, err) : rc;
}

enum fz_code fz_open_partition_append(struct fz_table_writer *w, struct fz_open_partition *p,
                                      const struct fz_batch *batch, const uint32_t *selection, size_t n,
                                      struct fz_err *err) {
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
    struct fz_writer_lane *lane = take_lane(p);
    mark_open(w, p, true);
    p->rows += (int64_t)n;
    p->last_used = atomic_fetch_add(&w->clock, 1);
    p->first_used = p->n_pushes++ == 0 ? p->last_used : p->first_used;
    rc = fill_lane(w, p, lane, batch, selection, n, err);
    lane->busy = false;
    pthread_cond_signal(&p->lane_free);
    if (rc == FZ_OK && partition_bytes(p) >= w->options.target_file_size_bytes) {
        rc = fz_open_partition_close(w, p, err);
    }
    pthread_mutex_unlock(&p->lock);
    if (rc == FZ_OK && w->draining && atomic_load(&w->open_writers) > w->max_open_writers) {
        rc = close_idlest(w, p, err); // a part of the overflow that has too many partitions again
    }
out:
    return rc;
}

enum fz_code fz_open_partition_add_group(struct fz_table_writer *w, struct fz_open_partition *p,
                                         struct fz_parquet_group *group, struct fz_err *err) {
    pthread_mutex_lock(&p->lock);
    mark_open(w, p, true);
    p->last_used = atomic_fetch_add(&w->clock, 1);
    fz_progress_add(w->progress, 0, 0, fz_parquet_group_rows(group));
    enum fz_code rc = put_group(w, p, group, err);
    if (rc == FZ_OK && partition_bytes(p) >= w->options.target_file_size_bytes) {
        rc = fz_open_partition_close(w, p, err);
    }
    pthread_mutex_unlock(&p->lock);
    if (rc == FZ_OK && atomic_load(&w->open_writers) > w->max_open_writers) {
        rc = close_idlest(w, p, err);
    }
    return rc;
}

void fz_open_partition_dispose(struct fz_table_writer *w, struct fz_open_partition *p) {
    for (size_t i = 0; i < p->n_lanes; i++) {
        free_encoder(w, &p->lanes[i]);
    }
    fz_parquet_writer_abort(p->parquet);
    fz_free(p->location);
    pthread_cond_destroy(&p->lane_free);
    pthread_mutex_destroy(&p->lock);
}
