// The writer as its callers see it: open, append rows or add complete row groups, close with page indexes and footer, metrics for
// the manifest.
#include "format/parquet/parquet_writer_priv.h"

#include <stdlib.h>

static const char MAGIC[] = "PAR1";
static const char CREATED_BY[] =
    "frazil version 0.1.0 (build release)"; // the form that parquet-mr's version parser wants

static void writer_free(struct fz_parquet_writer *w) {
    for (size_t i = 0; i < w->n_groups; i++) {
        fz_parquet_group_free(w->added[i]);
    }
    for (size_t i = 0; w->totals != NULL && i < w->encoder->n_leaves; i++) {
        fz_pw_range_dispose(&w->totals[i].range);
    }
    fz_parquet_encoder_free(w->encoder);
    fz_free(w->added);
    fz_free(w->groups);
    fz_free(w->totals);
    fz_buf_dispose(&w->body);
    fz_arena_dispose(&w->arena);
    fz_free(w);
}

static enum fz_code copy_key_values(struct fz_parquet_writer *w, const struct fz_parquet_write *options,
                                    struct fz_err *err) {
    w->key_values = fz_arena_array(&w->arena, options->n_key_values + 1, sizeof *w->key_values);
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

enum fz_code fz_parquet_writer_open(struct fz_writer *sink, const struct fz_parquet_write *options,
                                    struct fz_parquet_writer **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_writer *w = NULL;
    FZ_NEW(w, err);
    w->sink = sink;
    FZ_TRY(fz_parquet_encoder_open(options, &w->encoder, err));
    w->totals = fz_calloc(w->encoder->n_leaves, sizeof *w->totals);
    if (w->totals == NULL) {
        rc = fz_fail_nomem(err, w->encoder->n_leaves * sizeof *w->totals);
        goto out;
    }
    FZ_TRY(copy_key_values(w, options, err));
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

// One chunk at the end of the file; its offsets become the file's.
static enum fz_code write_chunk(struct fz_parquet_writer *w, struct fz_pw_chunk *chunk, const struct fz_pw_leaf *leaf,
                                struct fz_pw_total *total, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pq_column_chunk *meta = &chunk->meta;
    struct fz_pq_page_location *pages = (struct fz_pq_page_location *)(uintptr_t)chunk->index.offsets.pages;
    int64_t start = w->pos;
    meta->path = leaf->path;
    meta->n_path = leaf->n_path;
    meta->data_page_offset += start;
    if (meta->dictionary_page_offset >= 0) {
        meta->dictionary_page_offset += start;
    }
    for (size_t i = 0; i < chunk->index.offsets.n_pages; i++) {
        pages[i].offset += start;
    }
    if (chunk->copied != NULL) {
        FZ_TRY(write_raw(w, chunk->copied, chunk->copied_len, err));
    } else {
        FZ_TRY(write_raw(w, chunk->dictionary.ptr, chunk->dictionary.len, err));
        FZ_TRY(write_raw(w, chunk->pages.ptr, chunk->pages.len, err));
    }
    if (w->pos - start != meta->total_compressed_size) {
        rc = fz_fail(err, FZ_BUG, "column '%s': a chunk of %lld bytes says it has %lld", leaf->name,
                     (long long)(w->pos - start), (long long)meta->total_compressed_size);
        goto out;
    }
    total->size += meta->total_compressed_size;
    total->values += meta->num_values;
    total->nulls += chunk->nulls;
    total->nans += chunk->nans;
    fz_pw_range_merge(&total->range, leaf->kind, &chunk->range);
    rc = fz_pw_range_check(&total->range, err);
out:
    return rc;
}

enum fz_code fz_parquet_writer_add(struct fz_parquet_writer *w, struct fz_parquet_group *group, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = group->n_chunks;
    if (w->broken || n != w->encoder->n_leaves) {
        rc = fz_fail(err, FZ_BUG, "a row group does not fit the Parquet file it is added to, or comes after an error");
        goto out;
    }
    FZ_TRY(fz_grow((void **)&w->added, &w->added_cap, w->n_groups + 1, sizeof *w->added, err));
    FZ_TRY(fz_grow((void **)&w->groups, &w->groups_cap, w->n_groups + 1, sizeof *w->groups, err));
    struct fz_pq_column_chunk *columns = fz_arena_array(&group->arena, n, sizeof *columns);
    if (columns == NULL) {
        rc = fz_fail_nomem(err, n * sizeof *columns);
        goto out;
    }
    struct fz_pq_row_group entry = {.columns = columns, .n_columns = n, .num_rows = group->rows, .file_offset = w->pos};
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(write_chunk(w, &group->chunks[i], &w->encoder->leaves[i], &w->totals[i], err));
        entry.total_byte_size += group->chunks[i].meta.total_uncompressed_size;
        entry.total_compressed_size += group->chunks[i].meta.total_compressed_size;
    }
    fz_pw_group_drop_bytes(group);
    w->rows += group->rows;
    w->groups[w->n_groups] = entry;
    w->added[w->n_groups++] = group;
    group = NULL;
out:
    w->broken |= rc != FZ_OK;
    fz_parquet_group_free(group);
    return rc;
}

static enum fz_code flush_group(struct fz_parquet_writer *w, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_group *group;
    FZ_TRY(fz_parquet_encoder_finish(w->encoder, &group, err));
    if (group != NULL) {
        FZ_TRY(fz_parquet_writer_add(w, group, err));
    }
out:
    return rc;
}

int64_t fz_parquet_writer_bytes(const struct fz_parquet_writer *writer) {
    return writer->pos + fz_parquet_encoder_bytes(writer->encoder);
}

int64_t fz_parquet_writer_rows(const struct fz_parquet_writer *writer) {
    return writer->rows + writer->encoder->group_rows;
}

enum fz_code fz_parquet_writer_append(struct fz_parquet_writer *writer, const struct fz_batch *batch, size_t from,
                                      const uint32_t *selection, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (writer->broken) {
        return fz_fail(err, FZ_BUG, "rows appended to a Parquet file after an error");
    }
    for (size_t done = 0, now = 0; done < n; done += now) {
        FZ_TRY(fz_parquet_encoder_append(writer->encoder, batch, from + done,
                                         selection == NULL ? NULL : selection + done, n - done, &now, err));
        if (fz_parquet_encoder_is_full(writer->encoder)) {
            FZ_TRY(flush_group(writer, err));
        }
    }
out:
    writer->broken |= rc != FZ_OK;
    return rc;
}

// ---- close ---------------------------------------------------------------------------------------------------------------

// Behind the data of all row groups, so that a reader of the data passes over them at once.
static enum fz_code write_blooms(struct fz_parquet_writer *w, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t g = 0; g < w->n_groups; g++) {
        for (size_t i = 0; i < w->added[g]->n_chunks; i++) {
            struct fz_pw_chunk *chunk = &w->added[g]->chunks[i];
            if (chunk->bloom.len > 0) {
                chunk->meta.bloom_filter_offset = w->pos;
                chunk->meta.bloom_filter_length = (int64_t)chunk->bloom.len;
                FZ_TRY(write_raw(w, chunk->bloom.ptr, chunk->bloom.len, err));
            }
        }
    }
out:
    return rc;
}

static enum fz_code write_indexes(struct fz_parquet_writer *w, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (int pass = 0; pass < 2; pass++) { // all column indexes, then all offset indexes
        for (size_t g = 0; g < w->n_groups; g++) {
            struct fz_pq_column_chunk *columns = (struct fz_pq_column_chunk *)(uintptr_t)w->groups[g].columns;
            for (size_t i = 0; i < w->added[g]->n_chunks; i++) {
                const struct fz_pw_index *index = &w->added[g]->chunks[i].index;
                if (pass == 0) {
                    columns[i] = w->added[g]->chunks[i].meta;
                    if (!index->has_columns) {
                        continue;
                    }
                }
                fz_buf_clear(&w->body);
                if (pass == 0) {
                    fz_pq_column_index_encode(&w->body, &index->columns);
                    columns[i].column_index_offset = w->pos;
                    columns[i].column_index_length = (int32_t)w->body.len;
                } else {
                    fz_pq_offset_index_encode(&w->body, &index->offsets);
                    columns[i].offset_index_offset = w->pos;
                    columns[i].offset_index_length = (int32_t)w->body.len;
                }
                FZ_TRY(fz_buf_check(&w->body, err));
                FZ_TRY(write_raw(w, w->body.ptr, w->body.len, err));
            }
        }
    }
out:
    return rc;
}

static bool has_name(const struct fz_buf *names, const char *name, size_t len) {
    for (size_t at = 0; at < names->len;) {
        const char *part = names->ptr + at, *end = memchr(part, ';', names->len - at);
        size_t n = end != NULL ? (size_t)(end - part) : names->len - at;
        if (n == len && memcmp(part, name, len) == 0) {
            return true;
        }
        at += n + 2;
    }
    return false;
}

// Our name in the footer speaks for copied pages too: the key says who made them.
static enum fz_code note_writers(struct fz_parquet_writer *w, struct fz_err *err) {
    enum { MAX_LEN = 1000 };
    enum fz_code rc = FZ_OK;
    struct fz_buf names = {0};
    for (size_t g = 0; g < w->n_groups; g++) {
        for (const char *at = w->added[g]->copied_from; at != NULL && *at != '\0';) {
            size_t n = strcspn(at, ";");
            if (n > 0 && !has_name(&names, at, n) && names.len + n < MAX_LEN) {
                fz_buf_append(&names, "; ", names.len > 0 ? 2 : 0);
                fz_buf_append(&names, at, n);
                FZ_TRY(fz_buf_check(&names, err));
            }
            at += n;
            at += strspn(at, "; ");
        }
    }
    if (names.len > 0) {
        char *value = fz_arena_strndup(&w->arena, names.ptr, names.len);
        if (value == NULL) {
            rc = fz_fail_nomem(err, names.len);
            goto out;
        }
        w->key_values[w->n_key_values++] = (struct fz_key_value){FZ_PW_COPIED_FROM, value};
    }
out:
    fz_buf_dispose(&names);
    return rc;
}

static enum fz_code write_footer(struct fz_parquet_writer *w, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(note_writers(w, err));
    struct fz_pq_file file = {.version = 1,
                              .schema = w->encoder->schema,
                              .n_schema = w->encoder->n_schema,
                              .num_rows = w->rows,
                              .row_groups = w->groups,
                              .n_row_groups = w->n_groups,
                              .key_values = w->key_values,
                              .n_key_values = w->n_key_values,
                              .created_by = CREATED_BY,
                              .n_column_orders = w->encoder->n_leaves};
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
static enum fz_code make_bound(struct fz_arena *arena, const struct fz_pw_leaf *leaf, const struct fz_pw_range *range,
                               bool upper, struct fz_value *out, struct fz_err *err) {
    struct fz_value value = fz_pw_range_value(leaf, range, upper);
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
    struct fz_parquet_metrics m = {.record_count = w->rows, .file_size_bytes = w->pos, .n_split_offsets = w->n_groups};
    m.columns = fz_arena_array(arena, w->encoder->n_leaves, sizeof *m.columns);
    m.split_offsets = fz_arena_array(arena, w->n_groups + 1, sizeof *m.split_offsets);
    if (m.columns == NULL || m.split_offsets == NULL) {
        return fz_fail_nomem(err, w->encoder->n_leaves * sizeof *m.columns);
    }
    for (size_t g = 0; g < w->n_groups; g++) {
        m.split_offsets[g] = w->groups[g].file_offset;
    }
    for (size_t i = 0; i < w->encoder->n_leaves; i++) {
        const struct fz_pw_leaf *leaf = &w->encoder->leaves[i];
        const struct fz_pw_total *total = &w->totals[i];
        if (leaf->field_id < 0) { // the second part of a variant
            if (m.n_columns > 0) {
                m.columns[m.n_columns - 1].column_size += total->size;
            }
            continue;
        }
        struct fz_parquet_column_metrics *c = &m.columns[m.n_columns++];
        bool is_float = leaf->kind == FZ_PW_F32 || leaf->kind == FZ_PW_F64;
        *c =
            (struct fz_parquet_column_metrics){.field_id = leaf->field_id, .column_size = total->size, .nan_count = -1};
        c->has_counts = leaf->max_rep == 0 && leaf->metrics != FZ_METRICS_NONE;
        c->lower = c->upper = fz_value_null(leaf->type);
        if (c->has_counts) {
            c->value_count = total->values;
            c->null_count = total->nulls;
            c->nan_count = is_float ? total->nans : -1;
        }
        if (c->has_counts && leaf->metrics != FZ_METRICS_COUNTS && total->range.set) {
            c->has_bounds = true;
            FZ_TRY(make_bound(arena, leaf, &total->range, false, &c->lower, err));
            FZ_TRY(make_bound(arena, leaf, &total->range, true, &c->upper, err));
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
    FZ_TRY(write_blooms(writer, err));
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
