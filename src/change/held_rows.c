// Implementation of change/held_rows.h: blocks of up to 2,048 rows, filled by a few lanes so that threads seldom wait for one another, and
// per file a list of positions sorted at the end.
#include "change/held_rows.h"

#include <pthread.h>

enum { N_LANES = 8, COPY_RUN = 256, RADIX_BITS = 11 };

struct block {
    struct fz_arena strings;
    struct fz_column *columns;
    int64_t *pos;
    int32_t *file_ix;
    uint32_t n;
    int64_t charged;
};
struct lane {
    pthread_mutex_t lock;
    struct block *open;
};
struct fz_held_rows {
    struct fz_field *fields;
    size_t n_fields, n_files;
    int64_t max_bytes, row_bytes;
    struct fz_budget *budget;
    _Atomic int64_t bytes;
    _Atomic bool full;
    struct lane lanes[N_LANES];
    pthread_mutex_t lock; // of the list of blocks
    struct block **blocks;
    size_t n_blocks, cap_blocks;
    struct fz_held_row *rows; // by file, then by position
    size_t *first; // n_files + 1
};

static int64_t bytes_of(const struct fz_type *type) {
    int64_t bytes = (int64_t)fz_type_width(type) + 1;
    for (size_t i = 0; type->id == FZ_TYPE_STRUCT && i < type->n_fields; i++) {
        bytes += bytes_of(type->fields[i].type);
    }
    return bytes;
}

enum fz_code fz_held_rows_new(const struct fz_field *fields, size_t n_fields, size_t n_files, int64_t max_bytes,
                              struct fz_budget *budget, struct fz_held_rows **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_held_rows *held = NULL;
    FZ_NEW(held, err);
    pthread_mutex_init(&held->lock, NULL);
    for (size_t i = 0; i < N_LANES; i++) {
        pthread_mutex_init(&held->lanes[i].lock, NULL);
    }
    held->fields = fz_calloc(n_fields + 1, sizeof *held->fields);
    held->first = fz_calloc(n_files + 2, sizeof *held->first);
    if (held->fields == NULL || held->first == NULL) {
        rc = fz_fail_nomem(err, n_files * sizeof *held->first);
        goto out;
    }
    if (n_fields > 0) {
        memcpy(held->fields, fields, n_fields * sizeof *fields);
    }
    held->n_fields = n_fields;
    held->n_files = n_files;
    held->max_bytes = max_bytes;
    held->budget = budget;
    held->row_bytes = sizeof(int64_t) + sizeof(int32_t) + sizeof(struct fz_held_row);
    for (size_t i = 0; i < n_fields; i++) {
        held->row_bytes += bytes_of(fields[i].type);
    }
    *out = held;
    held = NULL;
out:
    fz_held_rows_free(held);
    return rc;
}

static void block_free(struct fz_held_rows *held, struct block *block) {
    for (size_t i = 0; block->columns != NULL && i < held->n_fields; i++) {
        fz_column_dispose(&block->columns[i]);
    }
    fz_free(block->columns);
    fz_free(block->pos);
    fz_free(block->file_ix);
    fz_arena_dispose(&block->strings);
    fz_free(block);
}

void fz_held_rows_free(struct fz_held_rows *held) {
    if (held == NULL) {
        return;
    }
    for (size_t i = 0; i < held->n_blocks; i++) {
        block_free(held, held->blocks[i]);
    }
    fz_budget_give(held->budget, atomic_load(&held->bytes));
    for (size_t i = 0; i < N_LANES; i++) {
        pthread_mutex_destroy(&held->lanes[i].lock);
    }
    pthread_mutex_destroy(&held->lock);
    fz_free(held->blocks);
    fz_free(held->rows);
    fz_free(held->first);
    fz_free(held->fields);
    fz_free(held);
}

// Room is asked for before it is used.
static enum fz_code charge(struct fz_held_rows *held, int64_t bytes, struct fz_err *err) {
    if (bytes == 0) {
        return FZ_OK;
    }
    bool fits = fz_budget_take(held->budget, bytes);
    if (fits && atomic_fetch_add(&held->bytes, bytes) + bytes > held->max_bytes) {
        fits = false; // what was taken is given back with the rest
    }
    if (!fits) {
        atomic_store(&held->full, true);
        return fz_fail(err, FZ_LIMIT, "more changed rows than are held in memory");
    }
    return FZ_OK;
}

static enum fz_code new_block(struct fz_held_rows *held, struct block **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct block *block = NULL;
    FZ_TRY(charge(held, held->row_bytes * FZ_BATCH_ROWS, err));
    FZ_NEW(block, err);
    block->columns = fz_calloc(held->n_fields + 1, sizeof *block->columns);
    block->pos = fz_malloc(FZ_BATCH_ROWS * sizeof *block->pos);
    block->file_ix = fz_malloc(FZ_BATCH_ROWS * sizeof *block->file_ix);
    if (block->columns == NULL || block->pos == NULL || block->file_ix == NULL) {
        rc = fz_fail_nomem(err, FZ_BATCH_ROWS * sizeof *block->pos);
        goto out;
    }
    for (size_t i = 0; i < held->n_fields; i++) {
        FZ_TRY(fz_column_init(&block->columns[i], held->fields[i].type, FZ_BATCH_ROWS, err));
    }
    pthread_mutex_lock(&held->lock);
    rc = fz_grow((void **)&held->blocks, &held->cap_blocks, held->n_blocks + 1, sizeof(struct block *), err);
    if (rc == FZ_OK) {
        held->blocks[held->n_blocks++] = block;
    }
    pthread_mutex_unlock(&held->lock);
    FZ_TRY(rc);
    *out = block;
    block = NULL;
out:
    if (block != NULL) {
        block_free(held, block);
    }
    return rc;
}

// List elements of a column tree: they are not counted by the row.
static int64_t element_bytes(const struct fz_column *column) {
    bool spans = column->type->id == FZ_TYPE_LIST || column->type->id == FZ_TYPE_MAP;
    int64_t bytes = 0;
    for (size_t i = 0; i < column->n_children; i++) {
        bytes += element_bytes(&column->children[i]);
        bytes += spans ? (int64_t)column->children[i].used_rows * bytes_of(column->children[i].type) : 0;
    }
    return bytes;
}

static enum fz_code append(struct fz_held_rows *held, struct block *block, const struct fz_column *columns,
                           const int32_t *file_ix, const int64_t *pos, const uint32_t *selection, size_t n,
                           struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t extra = 0;
    for (size_t i = 0; i < held->n_fields; i++) {
        FZ_TRY(fz_column_copy(&block->columns[i], block->n, &columns[i], 0, selection, n, &block->strings, err));
        extra += element_bytes(&block->columns[i]);
    }
    for (size_t i = 0; i < n; i++) {
        block->pos[block->n + i] = pos[selection[i]];
        block->file_ix[block->n + i] = file_ix[selection[i]];
    }
    extra += (int64_t)block->strings.used_bytes;
    FZ_TRY(charge(held, extra - block->charged, err));
    block->charged = extra;
    block->n += (uint32_t)n;
out:
    return rc;
}

enum fz_code fz_held_rows_add(struct fz_held_rows *held, const struct fz_column *columns, const int32_t *file_ix,
                              const int64_t *pos, const uint32_t *selection, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct lane *lane = NULL;
    if (atomic_load(&held->full)) {
        return fz_fail(err, FZ_LIMIT, "more changed rows than are held in memory");
    }
    for (size_t i = 0; i < N_LANES && lane == NULL; i++) {
        lane = pthread_mutex_trylock(&held->lanes[i].lock) == 0 ? &held->lanes[i] : NULL;
    }
    if (lane == NULL) {
        lane = &held->lanes[0];
        pthread_mutex_lock(&lane->lock);
    }
    for (size_t done = 0; done < n;) {
        if (lane->open == NULL || lane->open->n == FZ_BATCH_ROWS) {
            FZ_TRY(new_block(held, &lane->open, err));
        }
        size_t room = FZ_BATCH_ROWS - lane->open->n, m = n - done < room ? n - done : room;
        FZ_TRY(append(held, lane->open, columns, file_ix, pos, selection + done, m, err));
        done += m;
    }
out:
    pthread_mutex_unlock(&lane->lock);
    return rc;
}

bool fz_held_rows_is_full(const struct fz_held_rows *held) {
    return atomic_load(&held->full);
}

// By position, least significant digits first; digits that are the same in all are passed over.
static void sort_file(struct fz_held_row *rows, struct fz_held_row *other, size_t n) {
    struct fz_held_row *from = rows, *to = other;
    bool sorted = true;
    uint64_t differ = 0;
    for (size_t i = 1; i < n; i++) {
        sorted = sorted && rows[i - 1].pos < rows[i].pos;
        differ |= (uint64_t)rows[i].pos ^ (uint64_t)rows[0].pos;
    }
    if (sorted) {
        return;
    }
    for (unsigned shift = 0; shift < 64; shift += RADIX_BITS) {
        size_t counts[1 << RADIX_BITS] = {0}, at = 0;
        uint64_t mask = (1 << RADIX_BITS) - 1;
        if ((differ >> shift & mask) == 0) {
            continue;
        }
        for (size_t i = 0; i < n; i++) {
            counts[(uint64_t)from[i].pos >> shift & mask]++;
        }
        for (size_t d = 0; d <= mask; d++) {
            size_t count = counts[d];
            counts[d] = at;
            at += count;
        }
        for (size_t i = 0; i < n; i++) {
            to[counts[(uint64_t)from[i].pos >> shift & mask]++] = from[i];
        }
        struct fz_held_row *swap = from;
        from = to;
        to = swap;
    }
    if (from != rows) {
        memcpy(rows, from, n * sizeof *rows);
    }
}

enum fz_code fz_held_rows_sort(struct fz_held_rows *held, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_held_row *other = NULL;
    size_t *first = held->first, most = 0;
    for (size_t b = 0; b < held->n_blocks; b++) {
        for (uint32_t i = 0; i < held->blocks[b]->n; i++) {
            first[held->blocks[b]->file_ix[i] + 1]++;
        }
    }
    for (size_t f = 1; f <= held->n_files; f++) {
        most = first[f] > most ? first[f] : most;
        first[f] += first[f - 1];
    }
    held->rows = fz_malloc((first[held->n_files] + 1) * sizeof *held->rows);
    other = fz_malloc((most + 1) * sizeof *other);
    size_t *next = fz_malloc((held->n_files + 1) * sizeof *next);
    if (held->rows == NULL || other == NULL || next == NULL) {
        rc = fz_fail_nomem(err, first[held->n_files] * sizeof *held->rows);
        goto out;
    }
    memcpy(next, first, (held->n_files + 1) * sizeof *next);
    for (size_t b = 0; b < held->n_blocks; b++) {
        const struct block *block = held->blocks[b];
        for (uint32_t i = 0; i < block->n; i++) {
            held->rows[next[block->file_ix[i]]++] = (struct fz_held_row){block->pos[i], (uint32_t)b, i};
        }
    }
    for (size_t f = 0; f < held->n_files; f++) {
        sort_file(held->rows + first[f], other, first[f + 1] - first[f]);
    }
out:
    fz_free(other);
    fz_free(next);
    return rc;
}

static size_t lower_bound(const struct fz_held_row *rows, size_t n, int64_t pos) {
    size_t low = 0;
    while (n > 0) {
        size_t half = n / 2;
        if (rows[low + half].pos < pos) {
            low += half + 1;
            n -= half + 1;
        } else {
            n = half;
        }
    }
    return low;
}

const struct fz_held_row *fz_held_rows_find(const struct fz_held_rows *held, size_t file_ix, int64_t first, int64_t end,
                                            size_t *n) {
    const struct fz_held_row *rows = held->rows + held->first[file_ix];
    size_t all = held->first[file_ix + 1] - held->first[file_ix];
    size_t from = lower_bound(rows, all, first);
    *n = lower_bound(rows + from, all - from, end);
    return rows + from;
}

const struct fz_column *fz_held_rows_column(const struct fz_held_rows *held, uint32_t block, size_t field) {
    return &held->blocks[block]->columns[field];
}

enum fz_code fz_held_rows_gather(const struct fz_held_rows *held, size_t field, const struct fz_held_row *rows,
                                 size_t n, struct fz_column *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    uint32_t selection[COPY_RUN];
    for (size_t done = 0; done < n;) {
        size_t m = 0;
        while (m < COPY_RUN && done + m < n && rows[done + m].block == rows[done].block) {
            selection[m] = rows[done + m].row;
            m++;
        }
        const struct fz_column *from = fz_held_rows_column(held, rows[done].block, field);
        FZ_TRY(fz_column_copy(out, done, from, 0, selection, m, NULL, err));
        done += m;
    }
out:
    return rc;
}
