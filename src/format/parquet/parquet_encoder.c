// Row groups in memory: rows are appended in pieces that end where pages and row groups end, on any thread, without a file.
#include "format/parquet/parquet_writer_priv.h"

enum { PIECE_ROWS = 2048, MAX_DICT_BYTES = 1 << 30 };

static int64_t or_default(int64_t value, int64_t otherwise) {
    return value > 0 ? value : otherwise;
}

void fz_parquet_encoder_free(struct fz_parquet_encoder *w) {
    if (w == NULL) {
        return;
    }
    for (size_t i = 0; i < w->n_leaves; i++) {
        fz_pw_leaf_dispose(&w->leaves[i]);
    }
    for (size_t i = 0; i < w->n_roots; i++) {
        fz_pw_node_dispose(&w->roots[i]);
    }
    fz_free(w->roots);
    fz_free(w->leaves);
    fz_free(w->schema);
    fz_pw_scratch_dispose(&w->scratch);
    fz_arena_dispose(&w->group_arena);
    fz_arena_dispose(&w->arena);
    fz_free(w);
}

static enum fz_code check_options(const struct fz_parquet_write *options, struct fz_err *err) {
    if (options->codec == FZ_PQ_LZO || options->codec == FZ_PQ_LZ4) {
        return fz_fail(err, FZ_UNSUPPORTED,
                       "Parquet codec lzo and the old lz4 framing are not written; use zstd, snappy, gzip, brotli, "
                       "lz4_raw or none");
    }
    return FZ_OK;
}

enum fz_code fz_parquet_encoder_open(const struct fz_parquet_write *options, struct fz_parquet_encoder **out,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_encoder *w = NULL;
    FZ_NEW(w, err);
    w->codec = options->codec;
    w->level = options->level;
    w->encodings = options->encodings;
    w->pool = options->pool;
    w->group_rows_max = or_default(options->row_group_rows, 100000);
    w->group_bytes_max = or_default(options->row_group_size_bytes, 128 << 20);
    w->page_rows_max = or_default(options->page_rows, 20000);
    w->page_bytes_max = (size_t)or_default(options->page_size_bytes, 1 << 20);
    w->dict_bytes_max = (size_t)or_default(options->dict_size_bytes, 2 << 20);
    w->page_bytes_max = w->page_bytes_max < INT32_MAX / 4 ? w->page_bytes_max : INT32_MAX / 4;
    w->dict_bytes_max = w->dict_bytes_max < MAX_DICT_BYTES ? w->dict_bytes_max : MAX_DICT_BYTES;
    FZ_TRY(check_options(options, err));
    FZ_TRY(fz_pw_schema_build(w, options, err));
    for (size_t i = 0; i < w->n_leaves; i++) {
        FZ_TRY(fz_pw_leaf_start(w, &w->leaves[i], err));
    }
    *out = w;
    w = NULL;
out:
    fz_parquet_encoder_free(w);
    return rc;
}

static void leave_out_below(struct fz_parquet_encoder *w, const struct fz_pw_node *node, bool left_out) {
    if (node->kind == FZ_PW_LEAF) {
        w->leaves[node->leaf].left_out = left_out;
    }
    for (size_t i = 0; i < node->n_children; i++) {
        leave_out_below(w, &node->children[i], left_out);
    }
}

void fz_parquet_encoder_leave_out(struct fz_parquet_encoder *w, const uint8_t *fields) {
    for (size_t i = 0; i < w->n_roots; i++) {
        w->roots[i].left_out = fields[w->roots[i].column_ix] != 0;
        leave_out_below(w, &w->roots[i], w->roots[i].left_out);
    }
    w->group_rows_max = w->group_bytes_max = INT64_MAX; // its rows must be one row group: the one that is copied
}

// What the row group will weigh: finished pages, and the rest at the compression seen so far.
int64_t fz_parquet_encoder_bytes(const struct fz_parquet_encoder *w) {
    int64_t total = 0;
    for (size_t i = 0; i < w->n_leaves; i++) {
        const struct fz_pw_leaf *leaf = &w->leaves[i];
        int64_t open_page = (int64_t)leaf->page_plain_bytes;
        if (leaf->page_in > 0) {
            open_page = (int64_t)((double)open_page * (double)leaf->page_out / (double)leaf->page_in);
        }
        total += (int64_t)leaf->chunk.len + open_page + (leaf->dict_used ? (int64_t)leaf->dict.values.len : 0);
    }
    return total;
}

int64_t fz_parquet_encoder_memory(const struct fz_parquet_encoder *w) {
    size_t total = w->group_arena.used_bytes;
    for (size_t i = 0; i < w->n_leaves; i++) {
        const struct fz_pw_leaf *leaf = &w->leaves[i];
        total += leaf->chunk.cap + leaf->plain.cap + leaf->defs_cap + leaf->reps_cap + fz_pw_dict_memory(&leaf->dict) +
                 leaf->indexes_cap * sizeof *leaf->indexes + leaf->bloom.cap * sizeof *leaf->bloom.hashes;
    }
    return (int64_t)total;
}

int64_t fz_parquet_encoder_rows(const struct fz_parquet_encoder *w) {
    return w->group_rows;
}

bool fz_parquet_encoder_is_full(const struct fz_parquet_encoder *w) {
    return w->group_rows > 0 &&
           (w->group_rows >= w->group_rows_max || fz_parquet_encoder_bytes(w) >= w->group_bytes_max);
}

// Whether it is unknown what rows weigh compressed.
static bool is_unweighed(const struct fz_parquet_encoder *w) {
    for (size_t i = 0; i < w->n_leaves; i++) {
        if (!w->leaves[i].left_out) {
            return w->leaves[i].page_in == 0 && w->codec != FZ_PQ_UNCOMPRESSED;
        }
    }
    return false;
}

static enum fz_code append_piece(struct fz_parquet_encoder *w, const struct fz_batch *batch, size_t from,
                                 const uint32_t *selection, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < w->n_roots; i++) {
        struct fz_pw_node *node = &w->roots[i];
        if (!node->left_out) {
            FZ_TRY(fz_pw_shred(w, node, &batch->columns[node->column_ix], from, selection, n, err));
        }
    }
    w->page_rows += (int64_t)n;
    w->group_rows += (int64_t)n;
    // All columns end their pages at the same row. A group that seems full before anything was compressed gets a page early: only
    // then is it known what the rows weigh.
    if (w->page_rows >= w->page_rows_max || (is_unweighed(w) && fz_parquet_encoder_bytes(w) >= w->group_bytes_max)) {
        for (size_t i = 0; i < w->n_leaves; i++) {
            FZ_TRY(fz_pw_page_cut(w, &w->leaves[i], err));
        }
        w->page_rows = 0;
    }
out:
    return rc;
}

enum fz_code fz_parquet_encoder_append(struct fz_parquet_encoder *w, const struct fz_batch *batch, size_t from,
                                       const uint32_t *selection, size_t n, size_t *done, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *done = 0;
    if (w->broken) {
        return fz_fail(err, FZ_BUG, "rows appended to a Parquet row group after an error");
    }
    fz_pw_scratch_take(w);
    while (*done < n && !fz_parquet_encoder_is_full(w)) {
        int64_t room = w->page_rows_max - w->page_rows;
        int64_t group_room = w->group_rows_max - w->group_rows;
        room = room < group_room ? room : group_room;
        size_t m = n - *done < PIECE_ROWS ? n - *done : PIECE_ROWS;
        m = (int64_t)m < room ? m : (size_t)room;
        FZ_TRY(append_piece(w, batch, from + *done, selection == NULL ? NULL : selection + *done, m, err));
        *done += m;
    }
out:
    fz_pw_scratch_give(w);
    w->broken |= rc != FZ_OK;
    return rc;
}

struct fz_parquet_group *fz_pw_group_new(size_t n_leaves, struct fz_err *err) {
    struct fz_parquet_group *group = fz_calloc(1, sizeof *group);
    struct fz_pw_chunk *chunks = fz_calloc(n_leaves + 1, sizeof *chunks);
    if (group == NULL || chunks == NULL) {
        fz_free(group);
        fz_free(chunks);
        fz_fail_nomem(err, n_leaves * sizeof *chunks);
        return NULL;
    }
    group->chunks = chunks;
    group->n_chunks = n_leaves;
    return group;
}

enum fz_code fz_parquet_encoder_finish(struct fz_parquet_encoder *w, struct fz_parquet_group **out,
                                       struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_group *group = NULL;
    *out = NULL;
    if (w->broken) {
        return fz_fail(err, FZ_BUG, "a Parquet row group is finished after an error");
    }
    if (w->group_rows == 0) {
        return FZ_OK;
    }
    group = fz_pw_group_new(w->n_leaves, err);
    if (group == NULL) {
        w->broken = true;
        return FZ_NOMEM;
    }
    group->rows = w->group_rows;
    fz_pw_scratch_take(w);
    for (size_t i = 0; rc == FZ_OK && i < w->n_leaves; i++) {
        rc = w->leaves[i].left_out ? FZ_OK : fz_pw_leaf_finish(w, &w->leaves[i], &group->chunks[i], err);
    }
    fz_pw_scratch_give(w);
    FZ_TRY(rc);
    group->arena = w->group_arena;
    w->group_arena = (struct fz_arena){0};
    w->group_rows = w->page_rows = 0;
    *out = group;
    group = NULL;
out:
    w->broken |= rc != FZ_OK;
    fz_parquet_group_free(group);
    return rc;
}

void fz_pw_group_drop_bytes(struct fz_parquet_group *group) {
    for (size_t i = 0; i < group->n_chunks; i++) {
        fz_buf_dispose(&group->chunks[i].dictionary);
        fz_buf_dispose(&group->chunks[i].pages);
        fz_pw_range_dispose(&group->chunks[i].range);
    }
    fz_free(group->copied);
    group->copied = NULL;
}

void fz_parquet_group_free(struct fz_parquet_group *group) {
    if (group == NULL) {
        return;
    }
    fz_pw_group_drop_bytes(group);
    fz_arena_dispose(&group->arena);
    fz_free(group->chunks);
    fz_free(group);
}

int64_t fz_parquet_group_rows(const struct fz_parquet_group *group) {
    return group->rows;
}
