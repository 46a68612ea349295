// The sink of the match: counts, remembers changed positions file by file, checks Spark's cardinality rule, and hands new rows to
// the table writer. Pushed to by all threads of the engine at once.
#include <stdlib.h>

#include "change/change_priv.h"

struct row_sink {
    struct fz_sink base;
    struct fz_change *change;
    bool positions_only; // rows are written elsewhere (sorted tables)
};

static enum fz_code raise_cardinality(const struct fz_change *c, struct fz_err *err) {
    return fz_fail_cond(err, FZ_CARDINALITY, "MERGE_CARDINALITY_VIOLATION",
                        "the ON condition of the MERGE statement matched a single row of the target table %s with "
                        "multiple rows of the source: "
                        "it is not clear which one should win. Keep one row a key in the source (for example "
                        "ROW_NUMBER() OVER (PARTITION BY key ORDER BY "
                        "version DESC) = 1). Nothing was changed",
                        c->bound->target.name);
}

static enum fz_code add_position(struct fz_positions **set, int64_t pos, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (*set == NULL) {
        FZ_TRY(fz_positions_new(set, err));
    }
    FZ_TRY(fz_positions_add(*set, pos, err));
out:
    return rc;
}

// Positions of one batch. Consecutive rows mostly lie in one file, so the lock is kept over a run of them.
static enum fz_code note_positions(struct fz_change *c, const struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const int32_t *actions = batch->columns[FZ_SINK_ACTION].data, *file_ix = batch->columns[FZ_SINK_FILE_IX].data;
    const int64_t *pos = batch->columns[FZ_SINK_POS].data;
    const struct fz_column *pos_column = &batch->columns[FZ_SINK_POS];
    struct fz_changed_file *locked = NULL;
    for (size_t i = 0; i < batch->n_rows; i++) {
        if (!fz_column_is_valid(pos_column, i)) {
            continue; // an insert
        }
        struct fz_changed_file *file = &c->files[file_ix[i]];
        if (file != locked) {
            if (locked != NULL) {
                pthread_mutex_unlock(&locked->lock);
            }
            pthread_mutex_lock(&file->lock);
            locked = file;
        }
        const struct fz_bound_clause *clause = actions[i] > 0 ? &c->bound->clauses[actions[i] - 1] : NULL;
        bool is_match = clause == NULL || clause->match == FZ_MATCHED;
        if (c->bound->check_cardinality && is_match) {
            if (file->matched != NULL && fz_positions_contains(file->matched, pos[i])) {
                rc = raise_cardinality(c, err);
                goto out;
            }
            FZ_TRY(add_position(&file->matched, pos[i], err));
        }
        if (clause != NULL) {
            FZ_TRY(add_position(&file->changed, pos[i], err));
        }
        if (clause != NULL && c->held != NULL && clause->action == FZ_MERGE_DELETE) {
            FZ_TRY(add_position(&file->removed, pos[i], err));
        }
    }
out:
    if (locked != NULL) {
        pthread_mutex_unlock(&locked->lock);
    }
    return rc;
}

static void count_rows(struct fz_change *c, const struct fz_batch *batch) {
    const int32_t *actions = batch->columns[FZ_SINK_ACTION].data;
    struct fz_change_stats s = {0};
    for (size_t i = 0; i < batch->n_rows; i++) {
        if (actions[i] <= 0) {
            continue;
        }
        const struct fz_bound_clause *clause = &c->bound->clauses[actions[i] - 1];
        bool by_source = clause->match == FZ_NOT_MATCHED_BY_SOURCE;
        switch (clause->action) {
        case FZ_MERGE_INSERT:
        case FZ_MERGE_INSERT_STAR:
            s.rows_inserted++;
            break;
        case FZ_MERGE_UPDATE:
        case FZ_MERGE_UPDATE_STAR:
            s.rows_updated++;
            *(by_source ? &s.by_source_updated : &s.matched_updated) += 1;
            break;
        case FZ_MERGE_DELETE: // an unconditional DELETE may match a row several times: Spark counts the matches
            s.rows_deleted++;
            *(by_source ? &s.by_source_deleted : &s.matched_deleted) += 1;
            break;
        }
    }
    pthread_mutex_lock(&c->stats_lock);
    for (size_t i = 0; i < batch->n_rows; i++) {
        c->clause_rows[actions[i] > 0 ? actions[i] - 1 : 0] += actions[i] > 0;
    }
    c->stats.rows_inserted += s.rows_inserted;
    c->stats.rows_updated += s.rows_updated;
    c->stats.rows_deleted += s.rows_deleted;
    c->stats.matched_updated += s.matched_updated;
    c->stats.matched_deleted += s.matched_deleted;
    c->stats.by_source_updated += s.by_source_updated;
    c->stats.by_source_deleted += s.by_source_deleted;
    pthread_mutex_unlock(&c->stats_lock);
}

// The new rows of a batch as the table writer wants them: the table's columns, then lineage.
static enum fz_code write_rows(struct fz_change *c, const struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n_columns = c->schema->type->n_fields, fixed = c->lineage ? 4 : 3;
    uint32_t selection[FZ_BATCH_ROWS], updated[FZ_BATCH_ROWS];
    size_t n = 0, n_updated = 0, n_held = 0;
    const int32_t *actions = batch->columns[FZ_SINK_ACTION].data;
    for (size_t i = 0; i < batch->n_rows; i++) {
        if (actions[i] > 0 && c->bound->clauses[actions[i] - 1].action != FZ_MERGE_DELETE) {
            if (c->held != NULL && c->bound->clauses[actions[i] - 1].action == FZ_MERGE_UPDATE) {
                updated[n_updated++] = (uint32_t)i;
            } else {
                selection[n++] = (uint32_t)i;
            }
        }
    }
    if (n + n_updated == 0) {
        return FZ_OK;
    }
    static const int64_t zeros[FZ_BATCH_ROWS];
    uint64_t no_rows[FZ_BATCH_ROWS / 64] = {0};
    struct fz_column *columns = fz_calloc(n_columns + 2, sizeof *columns);
    if (columns == NULL) {
        return fz_fail_nomem(err, (n_columns + 2) * sizeof *columns);
    }
    for (size_t i = 0; i < n_columns; i++) {
        columns[i] = batch->columns[fixed + i];
        columns[i].type = c->schema->type->fields[i].type;
        columns[i].field_id = c->schema->type->fields[i].id;
    }
    struct fz_batch view = {.n_rows = batch->n_rows, .n_columns = n_columns + (c->lineage ? 2 : 0), .columns = columns};
    if (c->lineage) { // an updated row keeps its id and gets this commit's sequence number (written as NULL)
        columns[n_columns] = batch->columns[FZ_SINK_ROW_ID];
        columns[n_columns].type = fz_type_primitive(FZ_TYPE_LONG);
        columns[n_columns].field_id = FZ_ID_ROW_ID;
        columns[n_columns + 1] = (struct fz_column){
            .type = fz_type_primitive(FZ_TYPE_LONG),
            .field_id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER,
            .validity = no_rows,
            .data = (void *)(uintptr_t)zeros,
            .capacity = FZ_BATCH_ROWS,
        };
    }
    if (n_updated > 0) {
        FZ_TRY(fz_change_hold_rows(c, &view, batch->columns[FZ_SINK_FILE_IX].data, batch->columns[FZ_SINK_POS].data,
                                   updated, n_updated, &n_held, err));
        FZ_TRY(fz_table_writer_push(c->writer, &view, updated + n_held, n_updated - n_held, err));
    }
    FZ_TRY(fz_table_writer_push(c->writer, &view, selection, n, err));
out:
    fz_free(columns);
    return rc;
}

static enum fz_code push(struct fz_sink *base, const struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct row_sink *sink = (struct row_sink *)base;
    struct fz_change *c = sink->change;
    FZ_TRY(note_positions(c, batch, err));
    count_rows(c, batch);
    if (c->produces_rows && !sink->positions_only) {
        FZ_TRY(write_rows(c, batch, err));
    }
out:
    return rc;
}

static const struct fz_sink_vtable ROW_SINK = {.push = push};

static enum fz_code drive(struct fz_change *c, const char *sql, size_t n_fields, bool positions_only,
                          struct fz_err *err) {
    struct row_sink sink = {.base = {&ROW_SINK}, .change = c, .positions_only = positions_only};
    return fz_duck_run_into(c->context->duck, sql, c->sink_fields, n_fields, &sink.base, NULL, err);
}

enum fz_code fz_change_run_match(struct fz_change *c, struct fz_err *err) {
    return drive(c, c->match_sql, c->n_sink_fields, false, err);
}

bool fz_change_is_sorted(const struct fz_change *c) {
    struct fz_buf order = {0};
    bool sorted = fz_sort_order_sql(NULL, c->metadata, "o", &order, NULL) == FZ_OK && order.len > 0;
    fz_buf_dispose(&order);
    return sorted;
}

// Touched files as a registered source without the changed rows; 0 in *out when no file is touched.
static enum fz_code register_copied(struct fz_change *c, int64_t *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = NULL;
    size_t n = c->schema->type->n_fields, n_fields = n + (c->lineage ? 2 : 0);
    uint8_t *only = fz_arena_array(&c->arena, c->plan->n_files, 1);
    struct fz_positions **skip = fz_arena_array(&c->arena, c->plan->n_files, sizeof *skip);
    struct fz_field *fields = fz_arena_array(&c->arena, n_fields, sizeof *fields);
    if (only == NULL || skip == NULL || fields == NULL) {
        return fz_fail_nomem(err, n_fields * sizeof *fields);
    }
    bool any = false;
    for (size_t i = 0; i < c->plan->n_files; i++) {
        only[i] = c->files[i].changed != NULL;
        skip[i] = c->files[i].changed;
        any |= only[i] != 0;
    }
    *out = 0;
    if (!any) {
        return FZ_OK;
    }
    memcpy(fields, c->schema->type->fields, n * sizeof *fields);
    if (c->lineage) {
        const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG);
        fields[n] = (struct fz_field){.id = FZ_ID_ROW_ID, .name = "_row_id", .type = lng};
        fields[n + 1] = (struct fz_field){
            .id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER, .name = "_last_updated_sequence_number", .type = lng};
    }
    struct fz_scan_source_options options = {.plan = c->plan,
                                             .store = c->target->store,
                                             .fields = fields,
                                             .n_fields = n_fields,
                                             .only_files = only,
                                             .skip = skip,
                                             .cancel = c->context->cancel};
    FZ_TRY(fz_scan_source_new(&options, &source, err));
    FZ_TRY(fz_duck_register(c->context->duck, source, out, err));
out:
    fz_source_unref(source);
    return rc;
}

static enum fz_code pull_into_writer(struct fz_change *c, const char *sql, const struct fz_field *fields, size_t n,
                                     int64_t *rows, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_duck_result *result = NULL;
    *rows = 0;
    FZ_TRY(fz_duck_query(c->context->duck, sql, fields, n, &result, err));
    for (const struct fz_batch *batch;;) {
        FZ_TRY(fz_duck_result_next(result, &batch, err));
        if (batch == NULL) {
            break;
        }
        FZ_TRY(fz_table_writer_push(c->writer, batch, NULL, batch->n_rows, err));
        *rows += (int64_t)batch->n_rows;
    }
out:
    fz_duck_result_free(result);
    return rc;
}

// A table with a sort order: the match goes into a temporary table, then new and copied rows leave DuckDB together, in order.
enum fz_code fz_change_write_sorted(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    int64_t copied_id = 0;
    size_t n = c->schema->type->n_fields, n_fields = n + (c->lineage ? 2 : 0);
    struct fz_field *fields = fz_arena_array(&c->arena, n_fields, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, n_fields * sizeof *fields);
    }
    memcpy(fields, c->schema->type->fields, n * sizeof *fields);
    if (c->lineage) {
        fields[n] = (struct fz_field){.id = FZ_ID_ROW_ID, .name = "_row_id", .type = fz_type_primitive(FZ_TYPE_LONG)};
        fields[n + 1] = (struct fz_field){.id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER,
                                          .name = "_last_updated_sequence_number",
                                          .type = fz_type_primitive(FZ_TYPE_LONG)};
    }
    fz_buf_printf(&sql, "CREATE OR REPLACE TEMP TABLE fz_out AS %s", c->match_sql);
    FZ_TRY(fz_buf_check(&sql, err));
    FZ_TRY(fz_duck_exec(c->context->duck, sql.ptr, err));
    FZ_TRY(drive(c,
                 c->lineage ? "SELECT fz_action, fz_file, fz_pos, fz_row_id FROM fz_out"
                            : "SELECT fz_action, fz_file, fz_pos FROM fz_out",
                 c->lineage ? 4 : 3, true, err));
    if (c->mode == FZ_COPY_ON_WRITE) {
        FZ_TRY(register_copied(c, &copied_id, err));
    }
    fz_buf_clear(&sql);
    fz_buf_puts(&sql, "SELECT * FROM (SELECT ");
    for (size_t i = 0; i < n; i++) {
        fz_buf_printf(&sql, "%so%d", i > 0 ? ", " : "", fields[i].id);
    }
    if (c->lineage) {
        fz_buf_puts(&sql, ", fz_row_id, NULL::BIGINT");
    }
    fz_buf_puts(&sql, " FROM fz_out WHERE fz_action IN (0");
    for (size_t k = 0; k < c->bound->n_clauses; k++) {
        if (c->bound->clauses[k].action != FZ_MERGE_DELETE) {
            fz_buf_printf(&sql, ", %zu", k + 1);
        }
    }
    fz_buf_puts(&sql, ") AND fz_action > 0");
    if (copied_id != 0) {
        fz_buf_puts(&sql, " UNION ALL SELECT ");
        for (size_t i = 0; i < n_fields; i++) {
            fz_buf_printf(&sql, "%sc%d", i > 0 ? ", " : "", fields[i].id);
        }
        fz_buf_printf(&sql, " FROM fz_scan(%lld)", (long long)copied_id);
    }
    fz_buf_puts(&sql, ") ORDER BY ");
    FZ_TRY(fz_sort_order_sql(c->context->duck, c->metadata, "o", &sql, err));
    FZ_TRY(fz_buf_check(&sql, err));
    int64_t written;
    FZ_TRY(pull_into_writer(c, sql.ptr, fields, n_fields, &written, err));
    if (copied_id != 0) { // what position and equality deletes hold was not copied
        c->stats.rows_copied = written - c->stats.rows_updated - c->stats.rows_inserted;
    }
out:
    if (copied_id != 0) {
        fz_duck_unregister(c->context->duck, copied_id);
    }
    fz_buf_dispose(&sql);
    return rc;
}
