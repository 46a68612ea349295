// A reader decodes only the asked columns of its morsels straight into the caller's batch, keys first where there are keys, adds what
// is not in the file and takes deleted rows out.
#include "scan/scan_source_priv.h"

// ---- reading

static void drop_morsel(struct fz_scan_reader *reader) {
    if (reader->parquet) {
        fz_parquet_reader_close(reader->parquet);
        reader->parquet = NULL;
    }
    if (reader->rest) {
        fz_parquet_reader_close(reader->rest);
        reader->rest = NULL;
    }
    if (reader->has_morsel && reader->morsel.file) {
        const struct fz_pq_file *meta = fz_parquet_file_meta(reader->morsel.file);
        fz_progress_add(reader->source->progress, 0, meta->row_groups[reader->morsel.row_group].num_rows, 0);
        fz_parquet_file_unref(reader->morsel.file);
    }
    fz_avro_table_reader_close(reader->avro);
    reader->avro = NULL;
    if (reader->has_morsel) {
        fz_avro_file_unref(reader->morsel.avro);
    }
    reader->has_morsel = false;
}

static enum fz_code open_parquet(struct fz_scan_reader *reader, const struct fz_scan_morsel *morsel,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_source *source = reader->source;
    bool has_ids = fz_parquet_file_has_ids(morsel->file);
    struct fz_parquet_read read = {.fields = reader->read_fields,
                                   .n_fields = reader->n_first,
                                   .row_group = morsel->row_group,
                                   .by_name = !has_ids};
    fz_arena_dispose(&reader->rows_arena);
    reader->rows = (struct fz_scan_rows){0};
    reader->next_range = 0;
    if (reader->n_keys > 0 && has_ids) {
        FZ_TRY(fz_scan_keys_pages(source->keys, morsel->file, morsel->row_group, source->cancel, &reader->rows_arena,
                                  &reader->rows, err));
        source->counters.pages += (int64_t)reader->rows.n_pages;
        source->counters.pages_by_keys += (int64_t)reader->rows.n_pages_out;
    }
    read.rows = reader->rows.known ? reader->rows.ranges : NULL;
    read.n_rows = reader->rows.n;
    read.deferred = reader->surveys || (reader->rows.known && reader->rows.n == 0);
    FZ_TRY(fz_parquet_reader_open(morsel->file, &read, source->cancel, &reader->parquet, err));
    source->counters.bytes += fz_parquet_reader_bytes(reader->parquet);
    source->counters.bytes_read += read.deferred ? 0 : fz_parquet_reader_bytes(reader->parquet);
    if (reader->n_first < reader->n_read) {
        read.fields = reader->read_fields + reader->n_first;
        read.n_fields = reader->n_read - reader->n_first;
        read.deferred = true;
        reader->bytes_counted = false;
        FZ_TRY(fz_parquet_reader_open(morsel->file, &read, source->cancel, &reader->rest, err));
        source->counters.bytes += fz_parquet_reader_bytes(reader->rest);
    }
out:
    return rc;
}

static enum fz_code open_avro(struct fz_scan_reader *reader, const struct fz_scan_morsel *morsel, struct fz_err *err) {
    struct fz_scan_source *source = reader->source;
    int64_t bytes = source->plan->base.files[morsel->file_ix].entry->file.file_size_in_bytes;
    source->counters.bytes += bytes;
    source->counters.bytes_read += reader->surveys ? 0 : bytes;
    return fz_avro_table_reader_open(morsel->avro, reader->read_fields, reader->n_read,
                                     !fz_avro_file_has_ids(morsel->avro), source->cancel, &reader->avro, err);
}

// Equality deletes of any file make the file needed; whether there are some is known per file.
enum fz_code fz_scan_next_morsel(struct fz_scan_reader *reader, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_source *source = reader->source;
    bool found = false;
    drop_morsel(reader);
    if (reader->needs_file) {
        FZ_TRY(fz_scan_take_morsel(source, &reader->morsel, &found, err));
    } else {
        found = fz_scan_take_counted(source, &reader->morsel);
    }
    reader->has_morsel = found;
    if (!found) {
        return FZ_OK;
    }
    struct fz_scan_morsel *morsel = &reader->morsel;
    if (morsel->file_ix != reader->file_ix) {
        FZ_TRY(fz_scan_project_file(reader, morsel, err));
    } else if (source->keys_optional) {
        fz_scan_order_by_keys(reader, morsel); // they may have turned out to be common
    }
    reader->next_pos = morsel->first_row;
    reader->end_pos =
        morsel->first_row + (morsel->file ? fz_parquet_file_meta(morsel->file)->row_groups[morsel->row_group].num_rows
                                          : source->plan->base.files[morsel->file_ix].entry->file.record_count);
    if (reader->no_key) {
        reader->next_pos = reader->end_pos; // nothing to be found
    } else if (reader->n_read > 0 && morsel->avro) {
        FZ_TRY(open_avro(reader, morsel, err));
    } else if (reader->n_read > 0) {
        FZ_TRY(open_parquet(reader, morsel, err));
    }
out:
    return rc;
}

static struct fz_column *column_at(struct fz_scan_reader *reader, struct fz_batch *batch, size_t ix) {
    return ix < reader->n_fields ? &batch->columns[ix] : &reader->extra.columns[ix - reader->n_fields];
}

// Rows into the columns [from, to) of those that are read. The columns are lent to the parquet reader by value, so that it decodes
// into the caller's storage.
static enum fz_code read_columns(struct fz_scan_reader *reader, struct fz_parquet_reader *parquet, size_t from,
                                 size_t to, struct fz_batch *batch, size_t max_rows, size_t *n_rows, int64_t *first_pos,
                                 struct fz_err *err) {
    struct fz_batch lent = {.n_columns = to - from, .columns = reader->read_batch + from};
    for (size_t i = from; i < to; i++) {
        struct fz_column *column = column_at(reader, batch, reader->read_columns[i]);
        fz_column_reset(column);
        reader->read_batch[i] = *column;
    }
    enum fz_code rc = parquet ? fz_parquet_reader_next_upto(parquet, &lent, max_rows, first_pos, err)
                              : fz_avro_table_reader_next(reader->avro, &lent, max_rows, first_pos, err);
    for (size_t i = from; i < to; i++) { // also after an error: storage may have moved
        *column_at(reader, batch, reader->read_columns[i]) = reader->read_batch[i];
    }
    *n_rows = rc == FZ_OK ? lent.n_rows : 0;
    return rc;
}

// Passes over pages without keys; *most: rows to the end of the range at hand, 0 at the end of the row group.
static enum fz_code next_rows(struct fz_scan_reader *reader, size_t *most, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t at = reader->next_pos - reader->morsel.first_row;
    if (!reader->rows.known) {
        return FZ_OK;
    }
    while (reader->next_range < reader->rows.n && reader->rows.ranges[reader->next_range].end <= at) {
        reader->next_range++;
    }
    if (reader->next_range == reader->rows.n) {
        *most = 0;
        return FZ_OK;
    }
    const struct fz_parquet_row_range *range = &reader->rows.ranges[reader->next_range];
    if (range->start > at) {
        FZ_TRY(fz_parquet_reader_skip(reader->parquet, range->start - at, err));
        if (reader->rest) {
            FZ_TRY(fz_parquet_reader_skip(reader->rest, range->start - at, err));
        }
        reader->next_pos += range->start - at;
        at = range->start;
    }
    *most = range->end - at < (int64_t)*most ? (size_t)(range->end - at) : *most;
out:
    return rc;
}

// Key-first: the key columns of so many rows, then the others only when a row is left. *n_left: rows that have keys.
static enum fz_code read_by_keys(struct fz_scan_reader *reader, struct fz_batch *batch, size_t most, size_t *n_rows,
                                 size_t *n_left, int64_t *first_pos, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_source *source = reader->source;
    size_t n = 0, same = 0;
    *n_rows = *n_left = 0;
    if (reader->rest && fz_parquet_reader_batch_rows(reader->rest) < most) {
        most = fz_parquet_reader_batch_rows(reader->rest); // long lists
    }
    FZ_TRY(next_rows(reader, &most, err));
    if (most == 0) {
        return FZ_OK;
    }
    FZ_TRY(read_columns(reader, reader->parquet, 0, reader->n_first, batch, most, &n, first_pos, err));
    size_t left = n;
    memset(reader->keep, 1, n);
    for (size_t i = 0; i < reader->n_keys && left > 0; i++) {
        const struct fz_column *column = column_at(reader, batch, reader->read_columns[i]);
        left = fz_scan_keys_filter(source->keys, reader->key_of[i], column, n, reader->keep);
    }
    reader->next_pos += (int64_t)n;
    source->counters.rows += (int64_t)n;
    source->counters.rows_by_keys += (int64_t)(n - left);
    *n_rows = n;
    *n_left = left;
    if (reader->rest && left == 0) {
        FZ_TRY(fz_parquet_reader_skip(reader->rest, (int64_t)n, err));
    } else if (reader->rest) {
        source->counters.bytes_read += reader->bytes_counted ? 0 : fz_parquet_reader_bytes(reader->rest);
        reader->bytes_counted = true;
        FZ_TRY(read_columns(reader, reader->rest, reader->n_first, reader->n_read, batch, n, &same, first_pos, err));
        if (same != n) {
            rc = fz_fail(err, FZ_BUG, "%zu rows of the key columns, %zu of the others", n, same);
        }
    }
out:
    return rc;
}

// Rows of the morsel into the columns that come from the file. `keep` is filled when the source has keys.
static enum fz_code read_rows(struct fz_scan_reader *reader, struct fz_batch *batch, size_t most, size_t *n_rows,
                              size_t *n_left, int64_t *first_pos, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (reader->parquet && reader->n_keys > 0) {
        return read_by_keys(reader, batch, most, n_rows, n_left, first_pos, err);
    }
    if (reader->parquet || reader->avro) {
        rc = read_columns(reader, reader->parquet, 0, reader->n_first, batch, most, n_rows, first_pos, err);
        *n_left = *n_rows;
        return rc;
    }
    int64_t left = reader->end_pos - reader->next_pos;
    *n_rows = *n_left = left > (int64_t)most ? most : left > 0 ? (size_t)left : 0;
    *first_pos = reader->next_pos;
    reader->next_pos += (int64_t)*n_rows;
    return FZ_OK;
}

static void mark_positions(struct fz_scan_reader *reader, const struct fz_positions *positions, size_t n,
                           int64_t first_pos, uint8_t bit, bool *any) {
    uint32_t rows[FZ_BATCH_ROWS];
    size_t found = positions ? fz_positions_within(positions, first_pos, (uint32_t)n, rows) : 0;
    for (size_t i = 0; i < found; i++) {
        reader->mark[rows[i]] |= bit;
    }
    *any = *any || found > 0;
}

static void mark_sorted(struct fz_scan_reader *reader, const struct fz_scan_file_state *state, size_t n,
                        int64_t first_pos, uint8_t bit, bool *any) {
    size_t low = 0, high = state->n_sorted; // first position not below first_pos
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (state->sorted[middle] < first_pos) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < state->n_sorted && state->sorted[low] < first_pos + (int64_t)n; low++) {
        reader->mark[state->sorted[low] - first_pos] |= bit;
        *any = true;
    }
}

enum { SPARSE_ROWS = 256 }; // of a full batch
enum { MARK_DELETED = 1, MARK_SKIPPED = 2, MARK_NO_KEY = 4 };

static enum fz_code mark_rows(struct fz_scan_reader *reader, struct fz_batch *batch, size_t n, size_t n_left,
                              int64_t first_pos, bool *any, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *any = false;
    memset(reader->mark, 0, n);
    const struct fz_scan_file_state *state = &reader->source->plan->states[reader->file_ix];
    if (state->sorted) {
        mark_sorted(reader, state, n, first_pos, MARK_DELETED, any);
    } else {
        mark_positions(reader, reader->deleted, n, first_pos, MARK_DELETED, any);
    }
    if (reader->n_groups > 0) {
        int64_t sequence_number = reader->source->plan->base.files[reader->file_ix].entry->sequence_number;
        for (size_t e = 0; e < reader->extra.n_columns; e++) {
            if (reader->extra_slots[e].kind == SLOT_CONSTANT) {
                FZ_TRY(fz_scan_fill_constant(&reader->extra.columns[e], n, &reader->extra_slots[e].constant, err));
            }
        }
        for (size_t k = 0; k < reader->n_group_columns; k++) {
            reader->group_columns[k] = column_at(reader, batch, reader->group_column_ix[k]);
        }
        const struct fz_column **columns = reader->group_columns;
        for (size_t g = 0; g < reader->n_groups; g++) {
            FZ_TRY(fz_scan_group_mark(reader->groups[g], columns, n, sequence_number, &reader->key, reader->mark, any,
                                      err));
            columns += reader->groups[g]->n_ids;
        }
    }
    mark_positions(reader, reader->skip, n, first_pos, MARK_SKIPPED, any);
    if (n_left < n) {
        *any = true;
        for (size_t r = 0; r < n; r++) {
            reader->mark[r] |= reader->keep[r] ? 0 : MARK_NO_KEY;
        }
    }
out:
    return rc;
}

// Lineage (iceberg-facts 7.6): stored value, else first_row_id + position or the data sequence number; NULL without first_row_id.
static void fill_lineage(struct fz_scan_reader *reader, struct fz_column *column, const struct fz_scan_slot *slot,
                         size_t n, int64_t first_pos) {
    const struct fz_manifest_entry *entry = reader->source->plan->base.files[reader->file_ix].entry;
    bool known = entry->file.first_row_id >= 0;
    if (!slot->in_file) {
        struct fz_value null = fz_value_null(column->type);
        struct fz_err ignored = FZ_ERR_INIT;
        fz_scan_fill_constant(column, n, &null, &ignored); // NULLs cannot fail
    }
    if (known && slot->kind == SLOT_ROW_ID) {
        fz_scan_fill_missing(column, n, entry->file.first_row_id + first_pos, 1);
    } else if (known) {
        fz_scan_fill_missing(column, n, entry->sequence_number, 0);
    }
}

static enum fz_code finish_batch(struct fz_scan_reader *reader, struct fz_batch *batch, size_t n, int64_t first_pos,
                                 bool any, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    uint8_t out_when = reader->source->keep_deleted ? MARK_SKIPPED : MARK_DELETED | MARK_SKIPPED | MARK_NO_KEY;
    size_t live = n;
    if (any) {
        live = 0;
        for (size_t r = 0; r < n; r++) {
            reader->selection[live] = (uint32_t)r;
            live += (reader->mark[r] & out_when) == 0;
        }
    }
    for (size_t i = 0; i < reader->n_fields && live > 0; i++) {
        struct fz_column *column = &batch->columns[i];
        const struct fz_scan_slot *slot = &reader->slots[i];
        switch (slot->kind) {
        case SLOT_FILE:
            break;
        case SLOT_CONSTANT:
            fz_column_reset(column);
            FZ_TRY(fz_scan_fill_constant(column, live, &slot->constant, err));
            continue; // nothing to take out
        case SLOT_POS:
            fz_column_reset(column);
            if (live < n) {
                for (size_t r = 0; r < live; r++) {
                    ((int64_t *)column->data)[r] = first_pos + reader->selection[r];
                }
                continue;
            }
            fz_scan_fill_positions(column, n, first_pos);
            break;
        case SLOT_DELETED:
            fz_column_reset(column);
            for (size_t r = 0; r < n; r++) {
                ((uint8_t *)column->data)[r] = reader->mark[r] & MARK_DELETED;
            }
            break;
        case SLOT_ROW_ID:
        case SLOT_SEQUENCE:
            if (!slot->in_file) {
                fz_column_reset(column);
            }
            fill_lineage(reader, column, slot, n, first_pos);
            break;
        }
        if (live < n) {
            fz_scan_compact(column, reader->selection, live);
        }
    }
    batch->n_rows = live;
out:
    return rc;
}

// The next rows, at most `most`; n_rows 0 only at the end.
static enum fz_code next_rows_of(struct fz_scan_reader *reader, struct fz_batch *batch, size_t most,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    batch->n_rows = 0;
    while (batch->n_rows == 0) {
        size_t n = 0, n_left = 0;
        int64_t first_pos = 0;
        bool any = false;
        FZ_TRY(fz_cancel_check(reader->source->cancel, err));
        if (!reader->has_morsel) {
            FZ_TRY(fz_scan_next_morsel(reader, err));
            if (!reader->has_morsel) {
                return FZ_OK;
            }
        }
        FZ_TRY(read_rows(reader, batch, most, &n, &n_left, &first_pos, err));
        if (n == 0) {
            drop_morsel(reader);
        }
        if (n_left == 0) {
            continue;
        }
        FZ_TRY(mark_rows(reader, batch, n, n_left, first_pos, &any, err));
        FZ_TRY(finish_batch(reader, batch, n, first_pos, any, err));
    }
out:
    return rc;
}

// Where few rows have keys, many readings make one batch: what follows costs by the batch.
static enum fz_code next_gathered(struct fz_scan_reader *reader, struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t filled = 0;
    fz_arena_dispose(&reader->strings);
    if (!reader->own.columns) {
        struct fz_field *fields = fz_calloc(reader->n_fields + 1, sizeof *fields);
        for (size_t i = 0; fields && i < reader->n_fields; i++) {
            fields[i] = *reader->fields[i];
        }
        rc = fields ? fz_batch_init(&reader->own, fields, reader->n_fields, FZ_BATCH_ROWS, err)
                    : fz_fail_nomem(err, reader->n_fields * sizeof *fields);
        fz_free(fields);
        FZ_TRY(rc);
    }
    for (size_t i = 0; i < reader->n_fields; i++) {
        fz_column_reset(&batch->columns[i]);
    }
    while (filled <= FZ_BATCH_ROWS / 2) {
        FZ_TRY(next_rows_of(reader, &reader->own, FZ_BATCH_ROWS - filled, err));
        if (reader->own.n_rows == 0) {
            break;
        }
        for (size_t i = 0; i < reader->n_fields; i++) {
            FZ_TRY(fz_column_copy(&batch->columns[i], filled, &reader->own.columns[i], 0, NULL, reader->own.n_rows,
                                  &reader->strings, err));
        }
        filled += reader->own.n_rows;
        reader->sparse = reader->own.n_rows <= SPARSE_ROWS;
        if (!reader->sparse) {
            break;
        }
    }
    batch->n_rows = filled;
out:
    return rc;
}

enum fz_code fz_scan_reader_next(struct fz_source *base, void *ptr, struct fz_batch *batch, struct fz_err *err) {
    struct fz_scan_source *source = (struct fz_scan_source *)base;
    struct fz_scan_reader *reader = ptr;
    enum fz_code rc = FZ_OK;
    if (reader->sparse) {
        rc = next_gathered(reader, batch, err);
    } else {
        rc = next_rows_of(reader, batch, FZ_BATCH_ROWS, err);
        reader->sparse = source->keys && rc == FZ_OK && batch->n_rows > 0 && batch->n_rows <= SPARSE_ROWS;
    }
    if (rc != FZ_OK && rc != FZ_CANCELLED && reader->has_morsel) {
        fz_err_context(err, "data file %s", source->plan->base.files[reader->morsel.file_ix].entry->file.file_path);
    }
    return rc;
}

// ---- opening and closing

static bool is_free(int32_t field_id) { // known without looking into the file
    return field_id == FZ_ID_FILE || field_id == FZ_ID_POS || field_id == FZ_ID_SPEC_ID ||
           field_id == FZ_ID_PARTITION || field_id == FZ_ID_FILE_IX || field_id == FZ_ID_DELETED;
}

void fz_scan_reader_close(struct fz_source *base, void *ptr) {
    (void)base;
    struct fz_scan_reader *reader = ptr;
    drop_morsel(reader);
    fz_batch_dispose(&reader->extra);
    fz_arena_dispose(&reader->file_arena);
    fz_arena_dispose(&reader->rows_arena);
    fz_arena_dispose(&reader->strings);
    fz_batch_dispose(&reader->own);
    fz_buf_dispose(&reader->key);
    fz_free(reader->fields);
    fz_free(reader);
}

enum fz_code fz_scan_reader_open(struct fz_source *base, const size_t *columns, size_t n_columns, void **out,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_source *source = (struct fz_scan_source *)base;
    struct fz_scan_reader *reader = NULL;
    FZ_NEW(reader, err);
    reader->source = source;
    reader->file_ix = SIZE_MAX;
    reader->fields = fz_calloc(n_columns ? n_columns : 1, sizeof *reader->fields);
    if (!reader->fields) {
        rc = fz_fail_nomem(err, n_columns * sizeof *reader->fields);
        goto out;
    }
    reader->n_fields = n_columns;
    reader->needs_file = source->plan->n_groups > 0;
    for (size_t i = 0; i < n_columns; i++) {
        if (columns[i] >= source->base.n_fields) {
            rc = fz_fail(err, FZ_BUG, "column %zu of a scan of %zu columns", columns[i], source->base.n_fields);
            goto out;
        }
        reader->fields[i] = &source->base.fields[columns[i]];
        reader->needs_file = reader->needs_file || !is_free(reader->fields[i]->id);
    }
    *out = reader;
    reader = NULL;
out:
    if (reader) {
        fz_scan_reader_close(base, reader);
    }
    return rc;
}
