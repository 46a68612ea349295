// The writer as its callers see it: open, append in pieces that end where pages and row groups end, close with page indexes and
// footer, metrics for the manifest.
#include "format/parquet/parquet_writer_priv.h"

#include <stdlib.h>

enum { PIECE_ROWS = 2048, MAX_DICT_BYTES = 1 << 30 };
static const char MAGIC[] = "PAR1";
static const char CREATED_BY[] =
    "frazil version 0.1.0 (build release)"; // the form that parquet-mr's version parser wants

static int64_t or_default(int64_t value, int64_t otherwise) {
    return value > 0 ? value : otherwise;
}

static void writer_free(struct fz_parquet_writer *w) {
    fz_pw_compressor_free(w);
    for (size_t i = 0; i < w->n_leaves; i++) {
        fz_pw_leaf_dispose(&w->leaves[i]);
    }
    for (size_t i = 0; i < w->n_roots; i++) {
        fz_pw_node_dispose(&w->roots[i]);
    }
    fz_free(w->roots);
    fz_free(w->leaves);
    fz_free(w->schema);
    fz_free(w->groups);
    fz_free(w->indexes);
    fz_free(w->present);
    fz_free(w->widened);
    fz_free(w->levels);
    fz_buf_dispose(&w->body);
    fz_buf_dispose(&w->gather);
    fz_arena_dispose(&w->arena);
    fz_free(w);
}

static enum fz_code copy_key_values(struct fz_parquet_writer *w, const struct fz_parquet_write *options,
                                    struct fz_err *err) {
    w->key_values = fz_arena_array(&w->arena, options->n_key_values, sizeof *w->key_values);
    w->n_key_values = options->n_key_values;
    for (size_t i = 0; i < options->n_key_values; i++) {
        const struct fz_key_value *kv = &options->key_values[i];
        w->key_values[i].key = fz_arena_strdup(&w->arena, kv->key);
        w->key_values[i].value = kv->value == NULL ? NULL : fz_arena_strdup(&w->arena, kv->value);
        if (w->key_values[i].key == NULL || (kv->value != NULL && w->key_values[i].value == NULL)) {
            return fz_fail_nomem(err, options->n_key_values);
        }
    }
    return FZ_OK;
}

static enum fz_code write_raw(struct fz_parquet_writer *w, const void *data, size_t len, struct fz_err *err) {
    enum fz_code rc = fz_writer_append(w->sink, data, len, err);
    w->pos += (int64_t)len;
    return rc;
}

static enum fz_code check_options(const struct fz_parquet_write *options, struct fz_err *err) {
    if (options->codec == FZ_PQ_LZO || options->codec == FZ_PQ_LZ4) {
        return fz_fail(err, FZ_UNSUPPORTED,
                       "Parquet codec lzo and the old lz4 framing are not written; use zstd, snappy, gzip, brotli, "
                       "lz4_raw or none");
    }
    return FZ_OK;
}

enum fz_code fz_parquet_writer_open(struct fz_writer *sink, const struct fz_parquet_write *options,
                                    struct fz_parquet_writer **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_writer *w = NULL;
    FZ_NEW(w, err);
    w->sink = sink;
    w->codec = options->codec;
    w->level = options->level;
    w->group_rows_max = or_default(options->row_group_rows, 100000);
    w->group_bytes_max = or_default(options->row_group_size_bytes, 128 << 20);
    w->page_rows_max = or_default(options->page_rows, 20000);
    w->page_bytes_max = (size_t)or_default(options->page_size_bytes, 1 << 20);
    w->dict_bytes_max = (size_t)or_default(options->dict_size_bytes, 2 << 20);
    w->page_bytes_max = w->page_bytes_max < INT32_MAX / 4 ? w->page_bytes_max : INT32_MAX / 4;
    w->dict_bytes_max = w->dict_bytes_max < MAX_DICT_BYTES ? w->dict_bytes_max : MAX_DICT_BYTES;
    FZ_TRY(check_options(options, err));
    FZ_TRY(fz_pw_schema_build(w, options, err));
    FZ_TRY(copy_key_values(w, options, err));
    for (size_t i = 0; i < w->n_leaves; i++) {
        FZ_TRY(fz_pw_leaf_start(w, &w->leaves[i], err));
    }
    FZ_TRY(write_raw(w, MAGIC, 4, err));
    *out = w;
    w = NULL;
    sink = NULL;
out:
    if (w != NULL) {
        writer_free(w);
    }
    if (sink != NULL) {
        fz_writer_abort(sink);
    }
    return rc;
}

static enum fz_code flush_group(struct fz_parquet_writer *w, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (w->group_rows == 0) {
        return FZ_OK;
    }
    FZ_TRY(fz_grow((void **)&w->groups, &w->groups_cap, w->n_groups + 1, sizeof *w->groups, err));
    FZ_TRY(fz_grow((void **)&w->indexes, &w->indexes_cap, w->n_groups + 1, sizeof *w->indexes, err));
    struct fz_pq_column_chunk *columns = fz_arena_array(&w->arena, w->n_leaves, sizeof *columns);
    struct fz_pw_index *indexes = fz_arena_array(&w->arena, w->n_leaves, sizeof *indexes);
    if (columns == NULL || indexes == NULL) {
        rc = fz_fail_nomem(err, w->n_leaves * sizeof *columns);
        goto out;
    }
    struct fz_pq_row_group group = {
        .columns = columns, .n_columns = w->n_leaves, .num_rows = w->group_rows, .file_offset = w->pos};
    for (size_t i = 0; i < w->n_leaves; i++) {
        FZ_TRY(fz_pw_leaf_flush(w, &w->leaves[i], &columns[i], &indexes[i], err));
        group.total_byte_size += columns[i].total_uncompressed_size;
        group.total_compressed_size += columns[i].total_compressed_size;
    }
    w->indexes[w->n_groups] = indexes;
    w->groups[w->n_groups++] = group;
    w->group_rows = w->page_rows = 0;
out:
    return rc;
}

// What the open row group will weigh: finished pages, and the rest at the compression seen so far.
static int64_t buffered_bytes(const struct fz_parquet_writer *w) {
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

int64_t fz_parquet_writer_bytes(const struct fz_parquet_writer *writer) {
    return writer->pos + buffered_bytes(writer);
}

int64_t fz_parquet_writer_rows(const struct fz_parquet_writer *writer) {
    return writer->rows;
}

static enum fz_code append_piece(struct fz_parquet_writer *w, const struct fz_batch *batch, size_t from,
                                 const uint32_t *selection, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < w->n_roots; i++) {
        struct fz_pw_node *node = &w->roots[i];
        FZ_TRY(fz_pw_shred(w, node, &batch->columns[node->column_ix], from, selection, n, err));
    }
    w->rows += (int64_t)n;
    w->page_rows += (int64_t)n;
    w->group_rows += (int64_t)n;
    // All columns end their pages at the same row. A group that seems full before anything was compressed gets a page early: only
    // then is it known what the rows weigh.
    bool unknown = w->leaves[0].page_in == 0 && w->codec != FZ_PQ_UNCOMPRESSED;
    if (w->page_rows >= w->page_rows_max || (unknown && buffered_bytes(w) >= w->group_bytes_max)) {
        for (size_t i = 0; i < w->n_leaves; i++) {
            FZ_TRY(fz_pw_page_cut(w, &w->leaves[i], err));
        }
        w->page_rows = 0;
    }
    if (w->group_rows >= w->group_rows_max || buffered_bytes(w) >= w->group_bytes_max) {
        FZ_TRY(flush_group(w, err));
    }
out:
    return rc;
}

enum fz_code fz_parquet_writer_append(struct fz_parquet_writer *writer, const struct fz_batch *batch, size_t from,
                                      const uint32_t *selection, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (writer->broken) {
        return fz_fail(err, FZ_BUG, "rows appended to a Parquet file after an error");
    }
    for (size_t done = 0; done < n;) {
        int64_t room = writer->page_rows_max - writer->page_rows;
        int64_t group_room = writer->group_rows_max - writer->group_rows;
        room = room < group_room ? room : group_room;
        size_t m = n - done < PIECE_ROWS ? n - done : PIECE_ROWS;
        m = (int64_t)m < room ? m : (size_t)room;
        FZ_TRY(append_piece(writer, batch, from + done, selection == NULL ? NULL : selection + done, m, err));
        done += m;
    }
out:
    writer->broken |= rc != FZ_OK;
    return rc;
}

// ---- close ---------------------------------------------------------------------------------------------------------------

static enum fz_code write_indexes(struct fz_parquet_writer *w, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (int pass = 0; pass < 2; pass++) { // all column indexes, then all offset indexes
        for (size_t g = 0; g < w->n_groups; g++) {
            for (size_t i = 0; i < w->n_leaves; i++) {
                struct fz_pw_index *index = &w->indexes[g][i];
                struct fz_pq_column_chunk *chunk = index->chunk;
                if (pass == 0 && !index->has_columns) {
                    continue;
                }
                fz_buf_clear(&w->body);
                if (pass == 0) {
                    fz_pq_column_index_encode(&w->body, &index->columns);
                    chunk->column_index_offset = w->pos;
                    chunk->column_index_length = (int32_t)w->body.len;
                } else {
                    fz_pq_offset_index_encode(&w->body, &index->offsets);
                    chunk->offset_index_offset = w->pos;
                    chunk->offset_index_length = (int32_t)w->body.len;
                }
                FZ_TRY(fz_buf_check(&w->body, err));
                FZ_TRY(write_raw(w, w->body.ptr, w->body.len, err));
            }
        }
    }
out:
    return rc;
}

static enum fz_code write_footer(struct fz_parquet_writer *w, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pq_file file = {.version = 1,
                              .schema = w->schema,
                              .n_schema = w->n_schema,
                              .num_rows = w->rows,
                              .row_groups = w->groups,
                              .n_row_groups = w->n_groups,
                              .key_values = w->key_values,
                              .n_key_values = w->n_key_values,
                              .created_by = CREATED_BY,
                              .n_column_orders = w->n_leaves};
    fz_buf_clear(&w->body);
    fz_pq_file_encode(&w->body, &file);
    if (w->body.len > INT32_MAX) {
        return fz_fail(err, FZ_LIMIT,
                       "the footer of a Parquet file may not be larger than 2 GB; use larger row groups");
    }
    uint32_t length = (uint32_t)w->body.len;
    fz_buf_append(&w->body, &length, 4);
    fz_buf_append(&w->body, MAGIC, 4);
    FZ_TRY(fz_buf_check(&w->body, err));
    FZ_TRY(write_raw(w, w->body.ptr, w->body.len, err));
out:
    return rc;
}

// One side of the bounds, cut as the column's metrics mode says; *ok false when there is none.
static enum fz_code make_bound(struct fz_arena *arena, const struct fz_pw_leaf *leaf, bool upper, struct fz_value *out,
                               struct fz_err *err) {
    struct fz_value value = fz_pw_range_value(leaf, &leaf->file_range, upper);
    bool text = leaf->kind == FZ_PW_BYTES || leaf->kind == FZ_PW_FIXED;
    *out = fz_value_null(leaf->type);
    if (text && leaf->metrics == FZ_METRICS_TRUNCATE && value.u.bytes.len > (size_t)leaf->metrics_length) {
        struct fz_value cut;
        if (!fz_bound_truncate(arena, &value, (size_t)leaf->metrics_length, upper, &cut)) {
            return FZ_OK;
        }
        value = cut; // may still borrow from the range
    }
    const struct fz_value *copy = fz_value_copy(arena, &value);
    if (copy == NULL) {
        return fz_fail_nomem(err, sizeof value);
    }
    *out = *copy;
    return FZ_OK;
}

static int by_field_id(const void *a, const void *b) {
    const struct fz_parquet_column_metrics *x = a, *y = b;
    return (x->field_id > y->field_id) - (x->field_id < y->field_id);
}

static enum fz_code make_metrics(const struct fz_parquet_writer *w, struct fz_arena *arena,
                                 struct fz_parquet_metrics *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_metrics m = {
        .record_count = w->rows, .file_size_bytes = w->pos, .n_columns = w->n_leaves, .n_split_offsets = w->n_groups};
    m.columns = fz_arena_array(arena, w->n_leaves, sizeof *m.columns);
    m.split_offsets = fz_arena_array(arena, w->n_groups + 1, sizeof *m.split_offsets);
    if (m.columns == NULL || m.split_offsets == NULL) {
        return fz_fail_nomem(err, w->n_leaves * sizeof *m.columns);
    }
    for (size_t g = 0; g < w->n_groups; g++) {
        m.split_offsets[g] = w->groups[g].file_offset;
    }
    for (size_t i = 0; i < w->n_leaves; i++) {
        const struct fz_pw_leaf *leaf = &w->leaves[i];
        struct fz_parquet_column_metrics *c = &m.columns[i];
        bool is_float = leaf->kind == FZ_PW_F32 || leaf->kind == FZ_PW_F64;
        *c = (struct fz_parquet_column_metrics){
            .field_id = leaf->field_id, .column_size = leaf->file_size, .nan_count = -1};
        c->has_counts = leaf->max_rep == 0 && leaf->metrics != FZ_METRICS_NONE;
        c->lower = c->upper = fz_value_null(leaf->type);
        if (c->has_counts) {
            c->value_count = leaf->file_values;
            c->null_count = leaf->file_nulls;
            c->nan_count = is_float ? leaf->file_nans : -1;
        }
        if (c->has_counts && leaf->metrics != FZ_METRICS_COUNTS && leaf->file_range.set) {
            c->has_bounds = true;
            FZ_TRY(make_bound(arena, leaf, false, &c->lower, err));
            FZ_TRY(make_bound(arena, leaf, true, &c->upper, err));
        }
    }
    qsort(m.columns, m.n_columns, sizeof *m.columns, by_field_id);
    *out = m;
out:
    return rc;
}

enum fz_code fz_parquet_writer_close(struct fz_parquet_writer *writer, struct fz_arena *arena,
                                     struct fz_parquet_metrics *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (writer->broken) {
        rc = fz_fail(err, FZ_BUG, "a Parquet file is closed after an error");
        goto out;
    }
    FZ_TRY(flush_group(writer, err));
    FZ_TRY(write_indexes(writer, err));
    FZ_TRY(write_footer(writer, err));
    FZ_TRY(make_metrics(writer, arena, out, err));
    struct fz_writer *sink = writer->sink;
    writer->sink = NULL;
    FZ_TRY(fz_writer_close(sink, err));
out:
    fz_parquet_writer_abort(writer);
    return rc;
}

void fz_parquet_writer_abort(struct fz_parquet_writer *writer) {
    if (writer == NULL) {
        return;
    }
    if (writer->sink != NULL) {
        fz_writer_abort(writer->sink);
    }
    writer_free(writer);
}
