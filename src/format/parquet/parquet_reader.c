// One thread's cursor over a row group: matches the wanted fields with the file's columns, fetches their chunks in as few requests
// as sensible, and fills batches.
#include <stdlib.h>

#include "format/parquet/parquet_reader_priv.h"

enum {
    COALESCE_GAP_BYTES = 64 << 10,
    LEAST_PIECED_BYTES = 32 << 10, // smaller chunks are fetched whole: their offset index would be one more request
    UNCOUNTED_BYTES = 100,
    MANY_ELEMENTS = 512,
    WANTED_ELEMENTS = 1 << 20
};

struct span { // bytes of one request
    int64_t start, end;
    uint8_t *bytes;
};
struct fz_parquet_reader {
    struct fz_parquet_file *file;
    struct fz_cancel *cancel;
    struct fz_arena arena;
    const struct fz_pq_row_group *group;
    size_t row_group;
    bool by_name;
    struct fz_pqr_target *targets;
    size_t n_targets;
    struct fz_pqr_leaf **leaves;
    size_t n_leaves, cap_leaves;
    struct span *spans;
    size_t n_spans;
    struct fz_ticket *ticket;
    bool submitted, ready; // bytes are asked for; are there
    int64_t rows_done;
    size_t batch_rows;
};

static int64_t chunk_start(const struct fz_pq_column_chunk *c) {
    bool has_dict = c->dictionary_page_offset > 0 && c->dictionary_page_offset < c->data_page_offset;
    return has_dict ? c->dictionary_page_offset : c->data_page_offset;
}

// Some writers left page headers out of the chunk's size; what lies behind is read along and needed only then.
static int64_t chunk_end(const struct fz_parquet_reader *r, const struct fz_pq_column_chunk *c) {
    int64_t end = chunk_start(c) + c->total_compressed_size, last = r->file->size_bytes - 8;
    return end >= last ? end : end + UNCOUNTED_BYTES < last ? end + UNCOUNTED_BYTES : last;
}

static enum fz_code check_chunk(const struct fz_parquet_reader *r, const struct fz_pqr_leaf *leaf, struct fz_err *err) {
    const struct fz_pq_column_chunk *c = leaf->chunk;
    const char *location = r->file->location, *name = leaf->node->name;
    if (c->encrypted) {
        return fz_fail(err, FZ_UNSUPPORTED, "%s: column %s is encrypted, which is not supported", location, name);
    }
    if (c->file_path != NULL && c->file_path[0] != 0) {
        return fz_fail(err, FZ_UNSUPPORTED, "%s: column %s lies in another file, which is not supported", location,
                       name);
    }
    if (c->codec == FZ_PQ_LZO || c->codec < FZ_PQ_UNCOMPRESSED || c->codec > FZ_PQ_LZ4_RAW) {
        return fz_fail(err, FZ_UNSUPPORTED, "%s: column %s: compression codec %d is not supported", location, name,
                       c->codec);
    }
    if (c->type != leaf->node->element->type) {
        return fz_pqr_corrupt(leaf, err, "the column chunk has another type than the schema");
    }
    int64_t start = chunk_start(c), end;
    if (start < 0 || __builtin_add_overflow(start, c->total_compressed_size, &end) || end > r->file->size_bytes) {
        return fz_pqr_corrupt(leaf, err, "the column chunk reaches beyond the end of the file");
    }
    int64_t rows = r->group->num_rows;
    if (leaf->node->max_rep == 0 ? c->num_values != rows : c->num_values < rows) {
        return fz_pqr_corrupt(leaf, err, "the column chunk and its row group have different numbers of rows");
    }
    return FZ_OK;
}

static enum fz_code open_leaf(struct fz_parquet_reader *r, const struct fz_pqr_node *node,
                              const struct fz_pqr_conv *conv, struct fz_pqr_leaf **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pqr_leaf *leaf = NULL;
    FZ_TRY(fz_grow((void **)&r->leaves, &r->cap_leaves, r->n_leaves + 1, sizeof(struct fz_pqr_leaf *), err));
    FZ_NEW(leaf, err);
    r->leaves[r->n_leaves++] = leaf;
    leaf->file = r->file;
    leaf->node = node;
    leaf->chunk = &r->group->columns[node->leaf];
    leaf->levels_only = conv == NULL;
    if (conv != NULL) {
        leaf->conv = *conv;
    }
    FZ_TRY(check_chunk(r, leaf, err));
    leaf->chunk_left = leaf->chunk->num_values;
    leaf->ahead_def = fz_malloc(FZ_PQR_LEVELS);
    leaf->ahead_rep = fz_malloc(FZ_PQR_LEVELS);
    if (leaf->ahead_def == NULL || leaf->ahead_rep == NULL) {
        rc = fz_fail_nomem(err, FZ_PQR_LEVELS);
        goto out;
    }
    *out = leaf;
out:
    return rc;
}

static enum fz_code mismatch(const struct fz_parquet_reader *r, const struct fz_pqr_node *node,
                             const struct fz_type *type, struct fz_err *err) {
    struct fz_buf have = {0}, want = {0};
    fz_type_print(&have, node->type);
    fz_type_print(&want, type);
    enum fz_code rc =
        fz_fail(err, FZ_SCHEMA_MISMATCH, "%s: column %s holds %s, which cannot be read as %s", r->file->location,
                node->name, have.ptr != NULL ? have.ptr : "?", want.ptr != NULL ? want.ptr : "?");
    fz_buf_dispose(&have);
    fz_buf_dispose(&want);
    return rc;
}

static enum fz_code open_target(struct fz_parquet_reader *r, const struct fz_field *field,
                                const struct fz_pqr_node *node, struct fz_pqr_target *t, struct fz_err *err);

static enum fz_code open_children(struct fz_parquet_reader *r, const struct fz_pqr_node *node, struct fz_pqr_target *t,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    t->n_children = t->type->n_fields;
    t->children = fz_arena_array(&r->arena, t->n_children > 0 ? t->n_children : 1, sizeof *t->children);
    if (t->children == NULL) {
        return fz_fail_nomem(err, t->n_children * sizeof *t->children);
    }
    for (size_t i = 0; i < t->n_children; i++) {
        const struct fz_field *f = &t->type->fields[i];
        bool own = t->type == node->type; // the file's own fields, which need not have ids
        const struct fz_pqr_node *child = own || t->fill != FZ_PQR_FILL_STRUCT ? &node->children[i]
                                          : r->by_name                         ? fz_pqr_child_by_name(node, f->name)
                                                                               : fz_pqr_child_by_id(node, f->id);
        FZ_TRY(open_target(r, f, child, &t->children[i], err));
    }
    for (size_t i = 0; i < t->n_children && t->leaf == NULL; i++) {
        t->leaf = t->children[i].leaf;
    }
    if (t->leaf == NULL &&
        node->leaf != SIZE_MAX) { // nothing below is wanted, but whether it is NULL or how long it is
        t->own_leaf = true;
        rc = open_leaf(r, r->file->leaves[node->leaf], NULL, &t->leaf, err);
    }
out:
    return rc;
}

static enum fz_code open_variant(struct fz_parquet_reader *r, const struct fz_pqr_node *node, struct fz_pqr_target *t,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (!fz_pqr_is_variant(node)) {
        return mismatch(r, node, t->type, err);
    }
    struct fz_field *group = FZ_ARENA_NEW(&r->arena, struct fz_field);
    t->children = FZ_ARENA_NEW(&r->arena, struct fz_pqr_target);
    if (group == NULL || t->children == NULL) {
        return fz_fail_nomem(err, sizeof *group);
    }
    *group = (struct fz_field){.id = node->field_id, .name = node->name, .type = node->type};
    FZ_TRY(fz_pqr_variant_new(node, &t->variant, err));
    t->fill = FZ_PQR_FILL_VARIANT;
    t->n_children = 1;
    FZ_TRY(open_target(r, group, node, &t->children[0], err));
    t->leaf = t->children[0].leaf;
out:
    return rc;
}

static void dispose_target(struct fz_pqr_target *t) {
    fz_pqr_variant_free(t->variant);
    for (size_t i = 0; i < t->n_children; i++) {
        dispose_target(&t->children[i]);
    }
}

static enum fz_code open_target(struct fz_parquet_reader *r, const struct fz_field *field,
                                const struct fz_pqr_node *node, struct fz_pqr_target *t, struct fz_err *err) {
    static const enum fz_pqr_fill nested[] = {
        [FZ_PQR_STRUCT] = FZ_PQR_FILL_STRUCT, [FZ_PQR_LIST] = FZ_PQR_FILL_LIST, [FZ_PQR_MAP] = FZ_PQR_FILL_MAP};
    *t = (struct fz_pqr_target){.fill = FZ_PQR_FILL_MISSING, .field = field, .type = field->type, .node = node};
    if (node == NULL || field->type->id == FZ_TYPE_UNKNOWN) {
        return FZ_OK;
    }
    if (field->type->id == FZ_TYPE_VARIANT) {
        return open_variant(r, node, t, err);
    }
    if (node->kind == FZ_PQR_LEAF) {
        struct fz_pqr_conv conv;
        if (!fz_pqr_conv_choose(node->element, field->type, &conv)) {
            return mismatch(r, node, field->type, err);
        }
        if (conv.op == FZ_PQR_OP_NULL) {
            return FZ_OK;
        }
        t->fill = FZ_PQR_FILL_LEAF;
        return open_leaf(r, node, &conv, &t->leaf, err);
    }
    bool fits = (node->kind == FZ_PQR_STRUCT && field->type->id == FZ_TYPE_STRUCT) ||
                (node->kind == FZ_PQR_LIST && field->type->id == FZ_TYPE_LIST) ||
                (node->kind == FZ_PQR_MAP && field->type->id == FZ_TYPE_MAP);
    if (!fits) {
        return mismatch(r, node, field->type, err);
    }
    t->fill = nested[node->kind];
    return open_children(r, node, t, err);
}

// ---- bytes

static bool is_wanted(const struct fz_parquet_read *read, size_t *next, int64_t from, int64_t to) {
    while (*next < read->n_rows && read->rows[*next].end <= from) {
        ++*next;
    }
    return *next < read->n_rows && read->rows[*next].start < to;
}

// Which pages of a flat column are fetched. None planned: the whole chunk is.
static enum fz_code plan_pieces(struct fz_parquet_reader *r, const struct fz_parquet_read *read,
                                struct fz_pqr_leaf *leaf, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pq_column_chunk *chunk = leaf->chunk;
    const struct fz_pq_page_location *pages = NULL;
    size_t n = 0, next = 0, n_wanted = 0;
    struct fz_err damage = FZ_ERR_INIT;
    if (leaf->node->max_rep > 0 || chunk->total_compressed_size < LEAST_PIECED_BYTES) {
        return FZ_OK;
    }
    rc = fz_pqr_page_locations(r->file, chunk, r->group->num_rows, r->cancel, &r->arena, &pages, &n, &damage);
    if (rc != FZ_OK && rc != FZ_CORRUPT) {
        if (err != NULL) {
            *err = damage;
        }
        return rc;
    }
    if (rc == FZ_CORRUPT || n < 2) { // a damaged index is as good as none
        return FZ_OK;
    }
    struct fz_pqr_piece *pieces = fz_arena_array(&r->arena, n + 1, sizeof *pieces);
    if (pieces == NULL) {
        return fz_fail_nomem(err, n * sizeof *pieces);
    }
    struct fz_pqr_piece piece = {.offset = chunk_start(chunk), .len = pages[0].offset - chunk_start(chunk)};
    size_t n_pieces = 0;
    bool open = piece.len > 0; // the dictionary is needed for whatever page
    for (size_t i = 0; i < n; i++) {
        int64_t to = i + 1 < n ? pages[i + 1].first_row_index : r->group->num_rows;
        if (is_wanted(read, &next, pages[i].first_row_index, to)) {
            n_wanted++;
            if (!open) {
                piece = (struct fz_pqr_piece){.offset = pages[i].offset, .first_row = pages[i].first_row_index};
                open = true;
            }
            piece.len += pages[i].compressed_page_size;
        } else if (open) {
            pieces[n_pieces++] = piece;
            open = false;
        }
    }
    if (open) {
        pieces[n_pieces++] = piece;
    }
    if (n_wanted < n) {
        leaf->pieces = pieces;
        leaf->n_pieces = n_pieces;
    }
    return FZ_OK;
}

// Where most rows are wanted anyway, looking for the pages costs more than it saves.
static bool wants_few(const struct fz_parquet_reader *r, const struct fz_parquet_read *read) {
    int64_t rows = 0;
    for (size_t i = 0; i < read->n_rows; i++) {
        rows += read->rows[i].end - read->rows[i].start;
    }
    return read->rows != NULL && rows <= r->group->num_rows / 2;
}

struct want { // bytes of one leaf, or of one of its pieces
    int64_t start, end;
};

static int compare_wants(const void *a, const void *b) {
    const struct want *x = a, *y = b;
    return x->start < y->start ? -1 : x->start > y->start;
}

// What is wanted in file order, neighbours with small gaps in one request.
static enum fz_code submit(struct fz_parquet_reader *r, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_range *ranges = NULL;
    struct want *wants = NULL;
    size_t n = 0;
    r->submitted = true;
    for (size_t i = 0; i < r->n_leaves; i++) {
        n += r->leaves[i]->pieces != NULL ? r->leaves[i]->n_pieces : 1;
    }
    if (n == 0) {
        r->ready = true;
        return FZ_OK;
    }
    r->spans = fz_arena_array(&r->arena, n, sizeof *r->spans);
    ranges = fz_calloc(n, sizeof *ranges);
    wants = fz_calloc(n, sizeof *wants);
    if (r->spans == NULL || ranges == NULL || wants == NULL) {
        rc = fz_fail_nomem(err, n * sizeof *ranges);
        goto out;
    }
    n = 0;
    for (size_t i = 0; i < r->n_leaves; i++) {
        const struct fz_pqr_leaf *leaf = r->leaves[i];
        if (leaf->pieces == NULL) {
            wants[n++] = (struct want){chunk_start(leaf->chunk), chunk_end(r, leaf->chunk)};
        }
        for (size_t p = 0; p < leaf->n_pieces; p++) {
            wants[n++] = (struct want){leaf->pieces[p].offset, leaf->pieces[p].offset + leaf->pieces[p].len};
        }
    }
    qsort(wants, n, sizeof *wants, compare_wants);
    for (size_t i = 0; i < n; i++) {
        struct span *last = r->n_spans > 0 ? &r->spans[r->n_spans - 1] : NULL;
        if (last != NULL && wants[i].start <= last->end + COALESCE_GAP_BYTES) {
            last->end = wants[i].end > last->end ? wants[i].end : last->end;
        } else {
            r->spans[r->n_spans++] = (struct span){.start = wants[i].start, .end = wants[i].end};
        }
    }
    for (size_t i = 0; i < r->n_spans; i++) {
        size_t len = (size_t)(r->spans[i].end - r->spans[i].start);
        r->spans[i].bytes = fz_malloc(len + FZ_PQR_SLACK);
        if (r->spans[i].bytes == NULL) {
            rc = fz_fail_nomem(err, len);
            goto out;
        }
        memset(r->spans[i].bytes + len, 0, FZ_PQR_SLACK);
        ranges[i] = (struct fz_range){.offset = r->spans[i].start, .length = len, .dst = r->spans[i].bytes};
    }
    rc = fz_store_submit(r->file->store, r->file->location, ranges, r->n_spans, &r->ticket, err);
out:
    fz_free(ranges);
    fz_free(wants);
    return rc;
}

static const uint8_t *bytes_at(const struct fz_parquet_reader *r, int64_t offset) {
    size_t low = 0, high = r->n_spans; // the last span that does not begin behind `offset`
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (r->spans[middle].start <= offset) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return r->spans[low].bytes + (offset - r->spans[low].start);
}

static enum fz_code await_bytes(struct fz_parquet_reader *r, struct fz_err *err) {
    if (r->ready) {
        return FZ_OK;
    }
    if (!r->submitted) {
        enum fz_code submit_rc = submit(r, err);
        if (submit_rc != FZ_OK || r->ready) {
            return submit_rc;
        }
    }
    if (r->ticket == NULL) {
        return fz_fail(err, FZ_BUG, "%s: read again after a failed read", r->file->location);
    }
    struct fz_ticket *ticket = r->ticket;
    r->ticket = NULL;
    enum fz_code rc = fz_ticket_wait(ticket, r->cancel, err);
    if (rc != FZ_OK) {
        return rc;
    }
    for (size_t i = 0; i < r->n_leaves; i++) {
        struct fz_pqr_leaf *leaf = r->leaves[i];
        for (size_t p = 0; p < leaf->n_pieces; p++) {
            leaf->pieces[p].bytes = bytes_at(r, leaf->pieces[p].offset);
        }
        if (leaf->pieces == NULL) {
            leaf->offset = chunk_start(leaf->chunk);
            leaf->pos = bytes_at(r, leaf->offset);
            leaf->end = leaf->pos + (chunk_end(r, leaf->chunk) - leaf->offset);
        }
    }
    r->ready = true;
    return FZ_OK;
}

// Rows a batch, so that long lists do not make it huge.
static size_t choose_batch_rows(const struct fz_parquet_reader *r) {
    int64_t rows = FZ_BATCH_ROWS;
    for (size_t i = 0; i < r->n_leaves; i++) {
        const struct fz_pqr_leaf *leaf = r->leaves[i];
        int64_t average = r->group->num_rows > 0 ? leaf->chunk->num_values / r->group->num_rows : 0;
        if (leaf->node->max_rep > 0 && average > MANY_ELEMENTS) {
            int64_t fewer = WANTED_ELEMENTS / average > 1 ? WANTED_ELEMENTS / average : 1;
            rows = fewer < rows ? fewer : rows;
        }
    }
    return (size_t)rows;
}

enum fz_code fz_parquet_reader_open(struct fz_parquet_file *file, const struct fz_parquet_read *read,
                                    struct fz_cancel *cancel, struct fz_parquet_reader **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_reader *r = NULL;
    if (read->row_group >= file->meta.n_row_groups) {
        return fz_fail(err, FZ_INVALID_ARG, "%s: there is no row group %zu", file->location, read->row_group);
    }
    FZ_NEW(r, err);
    r->file = fz_parquet_file_ref(file);
    r->cancel = cancel;
    r->row_group = read->row_group;
    r->group = &file->meta.row_groups[read->row_group];
    r->by_name = read->by_name;
    r->n_targets = read->n_fields;
    r->targets = fz_arena_array(&r->arena, read->n_fields > 0 ? read->n_fields : 1, sizeof *r->targets);
    if (r->targets == NULL) {
        rc = fz_fail_nomem(err, read->n_fields * sizeof *r->targets);
        goto out;
    }
    for (size_t i = 0; i < read->n_fields; i++) {
        const struct fz_field *f = &read->fields[i];
        const struct fz_pqr_node *node =
            r->by_name ? fz_pqr_child_by_name(&file->root, f->name) : fz_pqr_child_by_id(&file->root, f->id);
        if (f->id == FZ_PQR_POS_ID) {
            r->targets[i] = (struct fz_pqr_target){.fill = FZ_PQR_FILL_POS, .field = f, .type = f->type};
        } else {
            FZ_TRY(open_target(r, f, node, &r->targets[i], err));
        }
    }
    bool few = wants_few(r, read);
    for (size_t i = 0; few && i < r->n_leaves; i++) {
        FZ_TRY(plan_pieces(r, read, r->leaves[i], err));
    }
    r->batch_rows = choose_batch_rows(r);
    if (!read->deferred) {
        FZ_TRY(submit(r, err));
    }
    *out = r;
out:
    if (rc != FZ_OK) {
        fz_parquet_reader_close(r);
    }
    return rc;
}

static enum fz_code fill_positions(struct fz_column *column, int64_t first, size_t n, struct fz_err *err) {
    if (fz_type_width(column->type) != 8) {
        return fz_fail(err, FZ_BUG, "the row position is read into a column that is not long");
    }
    enum fz_code rc = fz_column_reserve(column, n, err);
    if (rc == FZ_OK) {
        int64_t *to = column->data;
        for (size_t i = 0; i < n; i++) {
            to[i] = first + (int64_t)i;
        }
        column->validity = NULL;
    }
    return rc;
}

// After the last row no leaf may have levels left that begin another one.
static enum fz_code check_end(const struct fz_parquet_reader *r, struct fz_err *err) {
    for (size_t i = 0; i < r->n_leaves; i++) {
        const struct fz_pqr_leaf *leaf = r->leaves[i];
        if (leaf->node->max_rep > 0 && (leaf->ahead_at < leaf->ahead_n || leaf->page_left > 0)) {
            return fz_pqr_corrupt(leaf, err, "the column has more rows than its row group");
        }
    }
    return FZ_OK;
}

enum fz_code fz_parquet_reader_next(struct fz_parquet_reader *r, struct fz_batch *batch, int64_t *first_row_pos,
                                    struct fz_err *err) {
    return fz_parquet_reader_next_upto(r, batch, FZ_BATCH_ROWS, first_row_pos, err);
}

enum fz_code fz_parquet_reader_next_upto(struct fz_parquet_reader *r, struct fz_batch *batch, size_t max_rows,
                                         int64_t *first_row_pos, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t left = r->group->num_rows - r->rows_done, first = r->file->first_rows[r->row_group] + r->rows_done;
    size_t n = max_rows < r->batch_rows ? max_rows : r->batch_rows;
    n = left < (int64_t)n ? (size_t)left : n;
    batch->n_rows = 0;
    if (batch->n_columns != r->n_targets) {
        return fz_fail(err, FZ_BUG, "a batch of %zu columns is filled with %zu", batch->n_columns, r->n_targets);
    }
    for (size_t i = 0; i < r->n_leaves; i++) {
        fz_pqr_leaf_release(r->leaves[i]);
    }
    FZ_TRY(fz_cancel_check(r->cancel, err));
    FZ_TRY(await_bytes(r, err));
    for (size_t i = 0; i < r->n_targets && n > 0; i++) {
        if (r->targets[i].fill == FZ_PQR_FILL_POS) {
            FZ_TRY(fill_positions(&batch->columns[i], first, n, err));
        } else {
            FZ_TRY(fz_pqr_fill_column(&r->targets[i], &batch->columns[i], n, err));
        }
    }
    r->rows_done += (int64_t)n;
    if (n > 0 && r->rows_done == r->group->num_rows) {
        FZ_TRY(check_end(r, err));
    }
    batch->n_rows = n;
    if (first_row_pos != NULL) {
        *first_row_pos = first;
    }
out:
    return rc;
}

int64_t fz_parquet_reader_bytes(const struct fz_parquet_reader *r) {
    int64_t bytes = 0;
    for (size_t i = 0; i < r->n_leaves; i++) {
        const struct fz_pqr_leaf *leaf = r->leaves[i];
        bytes += leaf->pieces == NULL ? leaf->chunk->total_compressed_size : 0;
        for (size_t p = 0; p < leaf->n_pieces; p++) {
            bytes += leaf->pieces[p].len;
        }
    }
    return bytes;
}

size_t fz_parquet_reader_batch_rows(const struct fz_parquet_reader *r) {
    return r->batch_rows;
}

enum fz_code fz_parquet_reader_skip(struct fz_parquet_reader *r, int64_t rows, struct fz_err *err) {
    int64_t left = r->group->num_rows - r->rows_done;
    if (rows < 0) {
        return fz_fail(err, FZ_INVALID_ARG, "%s: %lld rows cannot be skipped", r->file->location, (long long)rows);
    }
    rows = rows < left ? rows : left;
    for (size_t i = 0; i < r->n_leaves; i++) {
        r->leaves[i]->skip += rows;
    }
    r->rows_done += rows;
    return FZ_OK;
}

void fz_parquet_reader_close(struct fz_parquet_reader *r) {
    if (r == NULL) {
        return;
    }
    if (r->ticket != NULL) { // the bytes may still be written to
        struct fz_err ignored = FZ_ERR_INIT;
        fz_ticket_wait(r->ticket, NULL, &ignored);
    }
    for (size_t i = 0; i < r->n_leaves; i++) {
        fz_pqr_leaf_dispose(r->leaves[i]);
        fz_free(r->leaves[i]);
    }
    fz_free(r->leaves);
    for (size_t i = 0; r->targets != NULL && i < r->n_targets; i++) {
        dispose_target(&r->targets[i]);
    }
    for (size_t i = 0; i < r->n_spans; i++) {
        fz_free(r->spans[i].bytes);
    }
    fz_parquet_file_unref(r->file);
    fz_arena_dispose(&r->arena);
    fz_free(r);
}
