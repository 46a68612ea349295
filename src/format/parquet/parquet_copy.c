// Copying column chunks. What may be copied is decided by footer alone (copy_fields); copy_group then reads the chunks in large ranges,
// walks the page headers, which gives offset index and sizes anew, and takes statistics and column index over. Files whose writer is
// known for wrong statistics are not copied from, because our name in the footer would vouch for them.
#include <stdio.h>
#include <stdlib.h>

#include "format/parquet/parquet_copy_priv.h"
#include "format/parquet/parquet_prune.h"

enum { GAP_BYTES = 64 << 10, MAX_INDEX_BYTES = 8 << 20 };

// ---- what can be copied

// PARQUET-246 and PARQUET-251 (parquet-mr before 1.8.1), chunk sizes without the dictionary's header (parquet-cpp before Arrow's).
static bool writer_is_trusted(const char *created_by) {
    int major = 0, minor = 0, patch = 0;
    if (created_by == NULL || strncmp(created_by, "parquet-cpp version", 19) == 0) {
        return false;
    }
    if (strncmp(created_by, "parquet-mr", 10) != 0) {
        return true;
    }
    return sscanf(created_by, "parquet-mr version %d.%d.%d", &major, &minor, &patch) == 3 &&
           (major > 1 || (major == 1 && (minor > 8 || (minor == 8 && patch >= 1))));
}

bool fz_pc_order_is_known(const struct fz_pq_file *meta) {
    return meta->n_column_orders > 0 || (meta->created_by != NULL && strncmp(meta->created_by, "DuckDB", 6) == 0);
}

static bool same_form(const struct fz_pw_leaf *leaf, const struct fz_pqr_node *node) {
    struct fz_pqr_conv conv;
    const struct fz_pq_schema_element *e = node->element;
    if (node->kind != FZ_PQR_LEAF || node->max_def != leaf->max_def || node->max_rep != leaf->max_rep ||
        e->type != leaf->physical || (e->type == FZ_PQ_FIXED && (size_t)e->type_length != leaf->width) ||
        !fz_pqr_conv_choose(e, leaf->type, &conv)) {
        return false;
    }
    switch (leaf->kind) { // no conversion beyond widening in memory
    case FZ_PW_BOOL:
        return conv.op == FZ_PQR_OP_BOOL;
    case FZ_PW_I16:
        return conv.op == FZ_PQR_OP_I32_I16;
    case FZ_PW_I32:
    case FZ_PW_F32:
        return conv.op == FZ_PQR_OP_COPY4;
    case FZ_PW_I64:
    case FZ_PW_F64:
        return conv.op == FZ_PQR_OP_COPY8;
    case FZ_PW_DECIMAL128:
        return conv.op == FZ_PQR_OP_DEC128;
    case FZ_PW_UUID:
        return conv.op == FZ_PQR_OP_UUID;
    case FZ_PW_BYTES:
    case FZ_PW_FIXED:
        return conv.op == FZ_PQR_OP_STRING;
    }
    return false;
}

static bool wants_counts(const struct fz_pw_leaf *leaf) {
    return leaf->max_rep == 0 && leaf->metrics != FZ_METRICS_NONE;
}
static bool wants_bounds(const struct fz_pw_leaf *leaf) {
    return wants_counts(leaf) && leaf->metrics != FZ_METRICS_COUNTS;
}

bool fz_pc_parse_side(const struct fz_pw_leaf *leaf, struct fz_str bytes, bool upper, struct fz_pw_range *range) {
    int64_t side = 0;
    struct fz_i128 wide = {0};
    if (leaf->kind != FZ_PW_BYTES && bytes.len != leaf->width) {
        return false;
    }
    switch (leaf->kind) {
    case FZ_PW_BOOL:
        side = bytes.ptr[0] & 1;
        break;
    case FZ_PW_I16:
    case FZ_PW_I32: {
        int32_t v;
        memcpy(&v, bytes.ptr, 4);
        side = v;
        break;
    }
    case FZ_PW_I64:
        memcpy(&side, bytes.ptr, 8);
        break;
    case FZ_PW_F32: {
        float v;
        memcpy(&v, bytes.ptr, 4);
        if (v != v) {
            return false;
        }
        struct fz_pw_range one = {0};
        int64_t nans = 0;
        fz_pw_range_add(&one, FZ_PW_F32, &v, 1, &nans);
        side = one.lo;
        break;
    }
    case FZ_PW_F64: {
        double v;
        memcpy(&v, bytes.ptr, 8);
        if (v != v) {
            return false;
        }
        struct fz_pw_range one = {0};
        int64_t nans = 0;
        fz_pw_range_add(&one, FZ_PW_F64, &v, 1, &nans);
        side = one.lo;
        break;
    }
    case FZ_PW_DECIMAL128:
    case FZ_PW_UUID: {
        unsigned __int128 v =
            leaf->kind == FZ_PW_DECIMAL128 && (uint8_t)bytes.ptr[0] >= 0x80 ? ~(unsigned __int128)0 : 0;
        for (size_t i = 0; i < bytes.len; i++) {
            v = v << 8 | (uint8_t)bytes.ptr[i];
        }
        wide = fz_i128_of((__int128)v);
        wide.upper ^= leaf->kind == FZ_PW_UUID ? INT64_MIN : 0;
        break;
    }
    case FZ_PW_BYTES:
    case FZ_PW_FIXED: {
        struct fz_buf *buf = upper ? &range->bytes_hi : &range->bytes_lo;
        fz_buf_clear(buf);
        fz_buf_append(buf, bytes.ptr, bytes.len);
        return true;
    }
    }
    *(upper ? &range->hi : &range->lo) = side;
    *(upper ? &range->wide_hi : &range->wide_lo) = wide;
    return true;
}

// A cut bound serves where the manifest's is cut shorter still (in characters, of up to four bytes).
static bool side_is_exact(const struct fz_pw_leaf *leaf, bool exact, struct fz_str bytes) {
    return exact || (leaf->kind == FZ_PW_BYTES && leaf->metrics == FZ_METRICS_TRUNCATE &&
                     bytes.len >= 4 * (size_t)leaf->metrics_length + 4);
}

// Whether footer statistics give the manifest's counts and bounds for this chunk; the range (caller's, may be half filled on false).
static bool statistics_suffice(const struct fz_pw_leaf *leaf, const struct fz_pq_file *meta,
                               const struct fz_pq_column_chunk *chunk, const struct fz_parquet_copy *copy,
                               struct fz_pw_range *range) {
    const struct fz_pq_statistics *s = &chunk->statistics;
    if (!wants_counts(leaf)) {
        return true;
    }
    if ((s->null_count < 0 && leaf->max_def > 0) || s->null_count > chunk->num_values) {
        return false;
    }
    if (leaf->kind == FZ_PW_F32 || leaf->kind == FZ_PW_F64) {
        size_t i = 0;
        while (i < copy->n_without_nans && copy->without_nans[i] != leaf->field_id) {
            i++;
        }
        if (i == copy->n_without_nans) {
            return false;
        }
    }
    int64_t nulls = s->null_count < 0 ? 0 : s->null_count;
    if (!wants_bounds(leaf) || nulls == chunk->num_values) {
        return true;
    }
    range->set = s->has_min && s->has_max && !s->deprecated && fz_pc_order_is_known(meta) &&
                 side_is_exact(leaf, s->min_exact, s->min) && side_is_exact(leaf, s->max_exact, s->max) &&
                 fz_pc_parse_side(leaf, s->min, false, range) && fz_pc_parse_side(leaf, s->max, true, range);
    return range->set;
}

struct visit {
    const struct fz_parquet_encoder *encoder;
    const struct fz_parquet_copy *copy;
    const struct fz_pqr_node **sources; // per leaf of the encoder
};

static bool can_copy(struct visit *v, const struct fz_pw_node *node, const struct fz_pqr_node *source) {
    static const enum fz_pqr_kind kinds[] = {[FZ_PW_LEAF] = FZ_PQR_LEAF,
                                             [FZ_PW_STRUCT] = FZ_PQR_STRUCT,
                                             [FZ_PW_LIST] = FZ_PQR_LIST,
                                             [FZ_PW_MAP] = FZ_PQR_MAP};
    if (source == NULL || source->kind != kinds[node->kind] || source->field_id != node->field_id) {
        return false;
    }
    if (node->kind == FZ_PW_LEAF) {
        const struct fz_pw_leaf *leaf = &v->encoder->leaves[node->leaf];
        const struct fz_pq_file *meta = &v->copy->file->meta;
        const struct fz_pq_row_group *group = &meta->row_groups[v->copy->row_group];
        const struct fz_pq_column_chunk *chunk = &group->columns[source->leaf];
        struct fz_pw_range range = {0};
        bool ok = same_form(leaf, source) && chunk->type == leaf->physical && !chunk->encrypted &&
                  chunk->file_path == NULL && (leaf->max_rep > 0 || chunk->num_values == group->num_rows) &&
                  (leaf->max_rep == 0 || chunk->offset_index_offset > 0) && // else nobody knows which rows a page has
                  statistics_suffice(leaf, meta, chunk, v->copy, &range);
        ok = ok && (!v->copy->like_new || (chunk->codec == (int)v->encoder->codec &&
                                           (!leaf->bloom.options.enabled || chunk->bloom_filter_offset > 0)));
        ok = ok && fz_pw_range_check(&range, NULL) == FZ_OK;
        fz_pw_range_dispose(&range);
        if (v->sources != NULL) {
            v->sources[node->leaf] = source;
        }
        return ok;
    }
    if (source->def_present != node->def || (node->kind != FZ_PW_STRUCT && source->def_element != node->def + 1) ||
        (node->kind != FZ_PW_STRUCT && source->n_children != node->n_children)) {
        return false;
    }
    for (size_t i = 0; i < node->n_children; i++) {
        const struct fz_pw_node *child = &node->children[i];
        const struct fz_pqr_node *from =
            node->kind == FZ_PW_STRUCT ? fz_pqr_child_by_id(source, child->field_id) : &source->children[i];
        if (!can_copy(v, child, from)) {
            return false;
        }
    }
    return true;
}

// Whether a patch changes what a field's chunks hold.
static bool is_touched(const struct fz_parquet_patch *patch, size_t field) {
    return patch != NULL && (patch->n_gone > 0 || (patch->n_rows > 0 && patch->assigned[field]));
}

// Whether pages of all leaves below can be encoded one by one: not in the codecs that are only read.
static bool can_patch_below(const struct visit *v, const struct fz_pqr_node *source) {
    if (source->kind == FZ_PQR_LEAF) {
        int codec = v->copy->file->meta.row_groups[v->copy->row_group].columns[source->leaf].codec;
        return codec != FZ_PQ_LZO && codec != FZ_PQ_LZ4 && codec >= FZ_PQ_UNCOMPRESSED && codec <= FZ_PQ_LZ4_RAW;
    }
    for (size_t i = 0; i < source->n_children; i++) {
        if (!can_patch_below(v, &source->children[i])) {
            return false;
        }
    }
    return true;
}

// Rows go away in any column; new values come into flat ones only.
static bool can_patch(const struct visit *v, const struct fz_pw_node *root) {
    const struct fz_parquet_patch *patch = v->copy->patch;
    const struct fz_pqr_node *source = fz_pqr_child_by_id(&v->copy->file->root, root->field_id);
    bool assigned = patch->n_rows > 0 && patch->assigned[root->column_ix];
    return source != NULL && (root->kind == FZ_PW_LEAF || !assigned) &&
           v->copy->file->meta.row_groups[v->copy->row_group].num_rows <= INT32_MAX && can_patch_below(v, source);
}

size_t fz_parquet_copy_fields(const struct fz_parquet_encoder *encoder, const struct fz_parquet_copy *copy,
                              uint8_t *fields) {
    size_t n = 0;
    struct visit v = {.encoder = encoder, .copy = copy};
    const struct fz_parquet_file *file = copy->file;
    bool trusted = file->has_ids && writer_is_trusted(file->meta.created_by) &&
                   file->meta.row_groups[copy->row_group].num_rows > 0;
    for (size_t i = 0; i < encoder->n_roots; i++) {
        const struct fz_pw_node *root = &encoder->roots[i];
        fields[root->column_ix] = trusted && can_copy(&v, root, fz_pqr_child_by_id(&file->root, root->field_id)) &&
                                  (!is_touched(copy->patch, root->column_ix) || can_patch(&v, root));
        n += fields[root->column_ix];
    }
    return n;
}

// ---- copying

enum fz_code fz_pc_corrupt(const struct fz_pc_job *job, const struct fz_pw_leaf *leaf, const char *what,
                           struct fz_err *err) {
    return fz_fail(err, FZ_CORRUPT, "%s: row group %zu, column %s: %s", job->copy->file->location, job->copy->row_group,
                   leaf->name, what);
}

static int by_offset(const void *a, const void *b) {
    const struct fz_pc_piece *x = *(struct fz_pc_piece *const *)a, *y = *(struct fz_pc_piece *const *)b;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

// All pieces into one block of memory, neighbours in one read.
static enum fz_code read_pieces(struct fz_pc_job *job, struct fz_cancel *cancel, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pc_piece **order = fz_calloc(job->n_pieces + 1, sizeof(struct fz_pc_piece *));
    struct fz_range *ranges = fz_calloc(job->n_pieces + 1, sizeof *ranges);
    struct fz_ticket *ticket = NULL;
    size_t n = 0, n_ranges = 0, total = 0;
    if (order == NULL || ranges == NULL) {
        rc = fz_fail_nomem(err, job->n_pieces * sizeof *ranges);
        goto out;
    }
    for (size_t i = 0; i < job->n_pieces; i++) {
        if (job->pieces[i].len > 0) {
            order[n++] = &job->pieces[i];
        }
    }
    qsort(order, n, sizeof(struct fz_pc_piece *), by_offset);
    for (size_t i = 0; i < n; i++) {
        int64_t end = order[i]->offset + (int64_t)order[i]->len;
        struct fz_range *last = n_ranges > 0 ? &ranges[n_ranges - 1] : NULL;
        if (last != NULL && order[i]->offset <= last->offset + (int64_t)last->length + GAP_BYTES) {
            int64_t have = last->offset + (int64_t)last->length;
            last->length += end > have ? (size_t)(end - have) : 0;
        } else {
            ranges[n_ranges++] = (struct fz_range){.offset = order[i]->offset, .length = order[i]->len};
        }
    }
    for (size_t i = 0; i < n_ranges; i++) {
        total += ranges[i].length;
    }
    job->group->copied = fz_calloc(total + FZ_PQR_SLACK, 1);
    if (job->group->copied == NULL) {
        rc = fz_fail_nomem(err, total);
        goto out;
    }
    char *at = job->group->copied;
    for (size_t i = 0, k = 0; i < n_ranges; i++) {
        ranges[i].dst = at;
        for (; k < n && order[k]->offset < ranges[i].offset + (int64_t)ranges[i].length; k++) {
            order[k]->bytes = at + (order[k]->offset - ranges[i].offset);
        }
        at += ranges[i].length;
    }
    FZ_TRY(fz_store_submit(job->copy->file->store, job->copy->file->location, ranges, n_ranges, &ticket, err));
    FZ_TRY(fz_ticket_wait(ticket, cancel, err));
out:
    fz_free(order);
    fz_free(ranges);
    return rc;
}

static enum fz_code set_piece(const struct fz_pc_job *job, const struct fz_pw_leaf *leaf, struct fz_pc_piece *piece,
                              int64_t offset, int64_t len, struct fz_err *err) {
    int64_t end;
    if (offset < 4 || len < 0 || __builtin_add_overflow(offset, len, &end) || end > job->copy->file->size_bytes) {
        return fz_pc_corrupt(job, leaf, "a column chunk or its page index reaches beyond the end of the file", err);
    }
    *piece = (struct fz_pc_piece){.offset = offset, .len = (size_t)len};
    return FZ_OK;
}

static enum fz_code plan_leaf(struct fz_pc_job *job, const struct fz_pw_leaf *leaf, size_t ix, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pq_column_chunk *c =
        &job->copy->file->meta.row_groups[job->copy->row_group].columns[job->sources[ix]->leaf];
    bool has_dict = c->dictionary_page_offset > 0 && c->dictionary_page_offset < c->data_page_offset;
    struct fz_pc_piece *pieces = &job->pieces[FZ_PC_PIECES * ix];
    FZ_TRY(set_piece(job, leaf, &pieces[FZ_PC_CHUNK], has_dict ? c->dictionary_page_offset : c->data_page_offset,
                     c->total_compressed_size, err));
    if (c->column_index_offset > 0 && c->column_index_length > 0 && c->column_index_length <= MAX_INDEX_BYTES) {
        FZ_TRY(set_piece(job, leaf, &pieces[FZ_PC_COLUMN_INDEX], c->column_index_offset, c->column_index_length, err));
    }
    if (leaf->max_rep > 0) { // of flat columns the page headers tell
        FZ_TRY(set_piece(job, leaf, &pieces[FZ_PC_OFFSET_INDEX], c->offset_index_offset, c->offset_index_length, err));
    }
out:
    return rc;
}

void fz_pc_pages_dispose(struct fz_pc_pages *pages) {
    fz_free(pages->items);
    *pages = (struct fz_pc_pages){0};
}

enum fz_code fz_pc_pages_walk(const struct fz_pc_job *job, const struct fz_pw_leaf *leaf,
                              const struct fz_pc_piece *piece, int64_t num_values, struct fz_pc_pages *out,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena scratch = {0};
    size_t cap = 0, at = 0;
    int64_t values = 0;
    *out = (struct fz_pc_pages){0};
    while (values < num_values) {
        struct fz_pq_page_header header;
        size_t used = 0;
        fz_arena_dispose(&scratch);
        FZ_TRY(fz_pq_page_header_decode(&scratch, piece->bytes + at, piece->len - at, &header, &used, err));
        size_t size = used + (size_t)header.compressed_page_size;
        if (header.compressed_page_size < 0 || header.uncompressed_page_size < 0 || size > piece->len - at ||
            size > INT32_MAX) {
            rc = fz_pc_corrupt(job, leaf, "a page reaches beyond its column chunk", err);
            goto out;
        }
        int64_t raw = (int64_t)used + header.uncompressed_page_size;
        if (header.type == FZ_PQ_DICTIONARY_PAGE) {
            if (at != 0) {
                rc = fz_pc_corrupt(job, leaf, "a dictionary page is not the first of its column chunk", err);
                goto out;
            }
            out->dict_size = size;
            out->dict_raw = raw;
            out->dict_encoding = header.encoding;
        } else if (header.type == FZ_PQ_DATA_PAGE || header.type == FZ_PQ_DATA_PAGE_V2) {
            if (header.num_values < 0 || (header.num_values == 0 && out->n > 0)) {
                rc = fz_pc_corrupt(job, leaf, "a page has no values", err);
                goto out;
            }
            FZ_TRY(fz_grow((void **)&out->items, &cap, out->n + 1, sizeof *out->items, err));
            out->items[out->n++] = (struct fz_pc_page){.at = at,
                                                       .size = size,
                                                       .first_row = values,
                                                       .n_rows = header.num_values,
                                                       .n_values = header.num_values,
                                                       .raw = raw,
                                                       .encoding = header.encoding,
                                                       .is_v2 = header.type == FZ_PQ_DATA_PAGE_V2};
            values += header.num_values;
        }
        out->raw += raw;
        at += size;
    }
    if (values != num_values || out->n == 0) {
        rc = fz_pc_corrupt(job, leaf, "the pages have more values than the column chunk", err);
        goto out;
    }
    out->size = at;
out:
    fz_arena_dispose(&scratch);
    if (rc != FZ_OK) {
        fz_pc_pages_dispose(out);
    }
    return rc;
}

enum fz_code fz_pc_pages_place(const struct fz_pc_job *job, const struct fz_pw_leaf *leaf, size_t ix,
                               struct fz_pc_pages *pages, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pc_piece *pieces = &job->pieces[FZ_PC_PIECES * ix], *piece = &pieces[FZ_PC_OFFSET_INDEX];
    struct fz_arena scratch = {0};
    struct fz_pq_offset_index index;
    if (leaf->max_rep == 0) {
        return FZ_OK;
    }
    FZ_TRY(fz_pq_offset_index_decode(&scratch, piece->bytes, piece->len, &index, err));
    bool fits = index.n_pages == pages->n;
    int64_t end = job->copy->file->meta.row_groups[job->copy->row_group].num_rows;
    for (size_t i = pages->n; fits && i-- > 0;) {
        struct fz_pc_page *page = &pages->items[i];
        page->first_row = index.pages[i].first_row_index;
        page->n_rows = end - page->first_row;
        fits = index.pages[i].offset - pieces[FZ_PC_CHUNK].offset == (int64_t)page->at && page->n_rows > 0 &&
               page->n_rows <= page->n_values;
        end = page->first_row;
    }
    rc = fits && end == 0 ? FZ_OK : fz_pc_corrupt(job, leaf, "the offset index does not fit the pages", err);
out:
    fz_arena_dispose(&scratch);
    return rc;
}

// Offsets, sizes and the offset index of a chunk that is copied whole.
static enum fz_code take_pages(struct fz_pc_job *job, const struct fz_pc_piece *piece, const struct fz_pc_pages *pages,
                               struct fz_pw_chunk *out, struct fz_err *err) {
    struct fz_pq_page_location *locations = fz_arena_array(&job->group->arena, pages->n, sizeof *locations);
    if (locations == NULL) {
        return fz_fail_nomem(err, pages->n * sizeof *locations);
    }
    for (size_t i = 0; i < pages->n; i++) {
        const struct fz_pc_page *page = &pages->items[i];
        locations[i] = (struct fz_pq_page_location){(int64_t)page->at, (int32_t)page->size, page->first_row};
    }
    out->meta.dictionary_page_offset = pages->dict_size > 0 ? 0 : -1;
    out->meta.data_page_offset = locations[0].offset;
    out->meta.total_compressed_size = (int64_t)pages->size;
    out->meta.total_uncompressed_size = pages->raw;
    out->copied = piece->bytes;
    out->copied_len = pages->size;
    out->index.offsets = (struct fz_pq_offset_index){.pages = locations, .n_pages = pages->n};
    return FZ_OK;
}

static enum fz_code take_encodings(struct fz_pc_job *job, const struct fz_pq_column_chunk *from,
                                   const struct fz_pc_pages *pages, struct fz_pw_chunk *out, struct fz_err *err) {
    uint32_t seen = 0;
    for (size_t i = 0; i < pages->n; i++) {
        seen |= pages->items[i].encoding >= 0 && pages->items[i].encoding < 32 ? 1u << pages->items[i].encoding : 0;
    }
    int *encodings = fz_arena_array(&job->group->arena, from->n_encodings + 32, sizeof *encodings);
    if (encodings == NULL) {
        return fz_fail_nomem(err, from->n_encodings);
    }
    size_t n = 0;
    for (size_t i = 0; i < from->n_encodings; i++) {
        encodings[n++] = from->encodings[i];
        seen &= from->encodings[i] >= 0 && from->encodings[i] < 32 ? ~(1u << from->encodings[i]) : ~0u;
    }
    for (int e = 0; e < 32; e++) { // a dictionary filter on a chunk that does not own up to PLAIN pages loses rows
        if (seen >> e & 1) {
            encodings[n++] = e;
        }
    }
    out->meta.encodings = encodings;
    out->meta.n_encodings = n;
    return FZ_OK;
}

static enum fz_code take_statistics(struct fz_pc_job *job, const struct fz_pq_column_chunk *from,
                                    struct fz_pw_chunk *out, struct fz_err *err) {
    struct fz_pq_statistics s = from->statistics;
    s.distinct_count = -1;
    if (s.deprecated || !fz_pc_order_is_known(&job->copy->file->meta)) {
        s.has_min = s.has_max = s.deprecated = false;
    }
    struct fz_str *sides[] = {&s.min, &s.max};
    for (int i = 0; i < 2; i++) {
        sides[i]->ptr = fz_arena_strndup(&job->group->arena, sides[i]->ptr != NULL ? sides[i]->ptr : "", sides[i]->len);
        if (sides[i]->ptr == NULL) {
            return fz_fail_nomem(err, sides[i]->len);
        }
    }
    out->meta.statistics = s;
    return FZ_OK;
}

static enum fz_code copy_leaf(struct fz_pc_job *job, const struct fz_pw_leaf *leaf, size_t ix, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_pq_file *meta = &job->copy->file->meta;
    const struct fz_pq_column_chunk *from = &meta->row_groups[job->copy->row_group].columns[job->sources[ix]->leaf];
    struct fz_pw_chunk *out = &job->group->chunks[ix];
    const struct fz_pc_piece *pieces = &job->pieces[FZ_PC_PIECES * ix];
    struct fz_pc_pages pages = {0};
    out->meta = (struct fz_pq_column_chunk){.type = from->type,
                                            .codec = from->codec,
                                            .num_values = from->num_values,
                                            .index_page_offset = -1,
                                            .bloom_filter_offset = -1,
                                            .bloom_filter_length = -1,
                                            .offset_index_offset = -1,
                                            .column_index_offset = -1};
    FZ_TRY(fz_pc_pages_walk(job, leaf, &pieces[FZ_PC_CHUNK], from->num_values, &pages, err));
    FZ_TRY(fz_pc_pages_place(job, leaf, ix, &pages, err));
    FZ_TRY(take_pages(job, &pieces[FZ_PC_CHUNK], &pages, out, err));
    FZ_TRY(take_encodings(job, from, &pages, out, err));
    FZ_TRY(take_statistics(job, from, out, err));
    size_t header_len;
    FZ_TRY(fz_parquet_file_bloom_bytes(job->copy->file, from, job->cancel, &job->group->arena, &out->bloom, &header_len,
                                       err));
    if (pieces[FZ_PC_COLUMN_INDEX].len > 0) {
        struct fz_pq_column_index index;
        FZ_TRY(fz_pq_column_index_decode(&job->group->arena, pieces[FZ_PC_COLUMN_INDEX].bytes,
                                         pieces[FZ_PC_COLUMN_INDEX].len, &index, err));
        out->index.has_columns = index.n_pages == out->index.offsets.n_pages && out->meta.statistics.has_min;
        out->index.columns = index;
    }
    if (!statistics_suffice(leaf, meta, from, job->copy, &out->range)) {
        rc = fz_fail(err, FZ_BUG, "column %s cannot be copied", leaf->name);
        goto out;
    }
    FZ_TRY(fz_pw_range_check(&out->range, err));
    out->nulls = from->statistics.null_count > 0 ? from->statistics.null_count : 0;
    if (job->copy->counts != NULL) {
        job->copy->counts->chunks_copied++;
        job->copy->counts->pages_copied += (int64_t)pages.n;
        job->copy->counts->bytes_copied += (int64_t)pages.size;
    }
out:
    fz_pc_pages_dispose(&pages);
    return rc;
}

// Copies or patches what is below a field.
static enum fz_code copy_node(struct fz_pc_job *job, struct fz_parquet_encoder *encoder, const struct fz_pw_node *node,
                              size_t field, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_parquet_patch *patch = job->copy->patch;
    if (node->kind == FZ_PW_LEAF && is_touched(patch, field)) {
        const struct fz_column *values = patch->n_rows > 0 && patch->assigned[field] ? &patch->values[field] : NULL;
        return fz_pc_patch_leaf(job, encoder, node->leaf, values, err);
    }
    if (node->kind == FZ_PW_LEAF) {
        return copy_leaf(job, &encoder->leaves[node->leaf], node->leaf, err);
    }
    for (size_t i = 0; i < node->n_children; i++) {
        FZ_TRY(copy_node(job, encoder, &node->children[i], field, err));
    }
out:
    return rc;
}

// Who made the pages that are copied: the file's writer, or for a file of ours what its own key says.
static enum fz_code note_writer(struct fz_pc_job *job, struct fz_err *err) {
    const struct fz_pq_file *meta = &job->copy->file->meta;
    bool ours = meta->created_by != NULL && strncmp(meta->created_by, FZ_PC_OURS, strlen(FZ_PC_OURS)) == 0;
    const char *name = ours ? NULL : meta->created_by;
    for (size_t i = 0; ours && i < meta->n_key_values; i++) {
        if (strcmp(meta->key_values[i].key, FZ_PW_COPIED_FROM) == 0) {
            name = meta->key_values[i].value;
        }
    }
    if (name == NULL) {
        return FZ_OK;
    }
    char *copy = fz_arena_strdup(&job->group->arena, name);
    if (copy == NULL) {
        return fz_fail_nomem(err, strlen(name));
    }
    for (char *p = copy; *p != '\0'; p++) { // bytes from outside
        *p = *p < ' ' || *p > '~' || (*p == ';' && !ours) ? '?' : *p;
    }
    job->group->copied_from = copy;
    return FZ_OK;
}

static void count_encoded(const struct fz_pc_job *job) {
    for (size_t i = 0; job->copy->counts != NULL && i < job->group->n_chunks; i++) {
        if (job->sources[i] == NULL) {
            job->copy->counts->chunks_encoded++;
            job->copy->counts->pages_encoded += (int64_t)job->group->chunks[i].index.offsets.n_pages;
        }
    }
}

enum fz_code fz_parquet_copy_group(struct fz_parquet_encoder *encoder, const struct fz_parquet_copy *copy,
                                   const uint8_t *fields, struct fz_cancel *cancel, struct fz_parquet_group **out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pc_job job = {.copy = copy, .cancel = cancel, .n_pieces = FZ_PC_PIECES * encoder->n_leaves};
    int64_t rows = copy->file->meta.row_groups[copy->row_group].num_rows;
    rows -= copy->patch != NULL ? (int64_t)copy->patch->n_gone : 0;
    *out = NULL;
    job.sources = fz_calloc(encoder->n_leaves, sizeof *job.sources);
    job.pieces = fz_calloc(job.n_pieces, sizeof *job.pieces);
    if (job.sources == NULL || job.pieces == NULL) {
        rc = fz_fail_nomem(err, job.n_pieces * sizeof *job.pieces);
        goto out;
    }
    struct visit v = {.encoder = encoder, .copy = copy, .sources = job.sources};
    bool all = true;
    for (size_t i = 0; i < encoder->n_roots; i++) {
        const struct fz_pw_node *root = &encoder->roots[i];
        size_t field = root->column_ix;
        all &= fields[field] != 0;
        if (fields[field] && (!can_copy(&v, root, fz_pqr_child_by_id(&copy->file->root, root->field_id)) ||
                              (is_touched(copy->patch, field) && !can_patch(&v, root)))) {
            rc = fz_fail(err, FZ_BUG, "column %s cannot be copied", root->name);
            goto out;
        }
    }
    if (!all) {
        FZ_TRY(fz_parquet_encoder_finish(encoder, &job.group, err));
    } else {
        job.group = fz_pw_group_new(encoder->n_leaves, err);
        if (job.group == NULL) {
            rc = FZ_NOMEM;
            goto out;
        }
        job.group->rows = rows;
    }
    if (job.group == NULL || job.group->rows != rows || rows <= 0) {
        rc = fz_fail(err, FZ_BUG, "%s: %lld rows were encoded for a row group of %lld that is copied",
                     copy->file->location, (long long)(job.group != NULL ? job.group->rows : 0), (long long)rows);
        goto out;
    }
    for (size_t i = 0; i < encoder->n_leaves; i++) {
        if (job.sources[i] != NULL) {
            FZ_TRY(plan_leaf(&job, &encoder->leaves[i], i, err));
        }
    }
    FZ_TRY(read_pieces(&job, cancel, err));
    fz_pw_scratch_take(encoder);
    for (size_t i = 0; rc == FZ_OK && i < encoder->n_roots; i++) {
        if (fields[encoder->roots[i].column_ix]) {
            rc = copy_node(&job, encoder, &encoder->roots[i], encoder->roots[i].column_ix, err);
        }
    }
    fz_pw_scratch_give(encoder);
    FZ_TRY(rc);
    FZ_TRY(note_writer(&job, err));
    count_encoded(&job);
    *out = job.group;
    job.group = NULL;
out:
    fz_parquet_group_free(job.group);
    fz_free(job.sources);
    fz_free(job.pieces);
    return rc;
}
