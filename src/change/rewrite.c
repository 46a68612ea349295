// Implementation of change/row_rewrite.h, and its use by copy-on-write. Row groups are the unit of work, shared out to all cores: one that
// loses or changes no row is copied, one that does is patched (parquet_patch.c), its missing columns, and on v3 their lineage, are encoded
// and added. Small row groups, and what cannot be copied at all, are read, changed and pushed to the writer as rows.
#include "change/row_rewrite.h"

#include <stdlib.h>

#include "change/change_priv.h"
#include "change/rewrite_priv.h"

enum { MAX_THREADS = 16, LEAST_COPY_BYTES = 32 << 20 };

// ---- copying

static bool is_copied_whole(const struct fz_rewrite *copier, const uint8_t *fields) {
    for (size_t i = 0; i < copier->n_fields; i++) {
        if (!fields[i] && copier->fields[i].type->id != FZ_TYPE_UNKNOWN) {
            return false;
        }
    }
    return true;
}

// The new values of a row group's changed rows, for the fields that are patched.
static enum fz_code gather_values(struct fz_rewrite *copier, const uint8_t *fields,
                                  const struct fz_rewrite_touched *touched, struct fz_column *values,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = touched->patch.n_rows;
    for (size_t i = 0; i < copier->n_fields && n > 0; i++) {
        if (!fields[i] || !copier->assigned[i]) {
            continue;
        }
        FZ_TRY(fz_column_init(&values[i], copier->fields[i].type, n, err));
        if (i < copier->in->schema->type->n_fields) {
            FZ_TRY(fz_held_rows_gather(copier->in->updates, copier->in->update_fields[i], touched->held, n, &values[i],
                                       err));
        } else {
            for (size_t row = 0; row < n; row++) {
                fz_column_set_null(&values[i], row);
            }
        }
    }
out:
    return rc;
}

static void add_counts(struct fz_rewrite *copier, const struct fz_parquet_copy_counts *counts,
                       const struct fz_parquet_patch *patch, int64_t rows, bool whole) {
    pthread_mutex_lock(&copier->lock);
    struct fz_row_rewrite_stats *s = &copier->stats;
    s->rows_kept += rows - (int64_t)patch->n_rows;
    *(patch->n_rows > 0 || patch->n_gone > 0 || !whole ? &s->groups_patched : &s->groups_copied) += 1;
    s->chunks_copied += counts->chunks_copied;
    s->chunks_patched += counts->chunks_patched;
    s->chunks_encoded += counts->chunks_encoded;
    s->pages_copied += counts->pages_copied;
    s->pages_encoded += counts->pages_encoded;
    s->bytes_copied += counts->bytes_copied;
    pthread_mutex_unlock(&copier->lock);
}

static enum fz_code copy_item(struct fz_rewrite *copier, const struct fz_rewrite_item *item, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_row_rewrite *in = copier->in;
    struct fz_rewrite_file *copied = &copier->copied[item->file_ix];
    const uint8_t *fields = copied->fields + item->row_group * copier->n_fields;
    struct fz_parquet_encoder *encoder = NULL;
    struct fz_parquet_group *group = NULL;
    struct fz_parquet_copy_counts counts = {0};
    struct fz_rewrite_touched touched = {0};
    struct fz_column *values = fz_calloc(copier->n_fields + 1, sizeof *values);
    if (values == NULL) {
        return fz_fail_nomem(err, copier->n_fields * sizeof *values);
    }
    int64_t n = fz_parquet_file_meta(copied->file)->row_groups[item->row_group].num_rows;
    FZ_TRY(fz_cancel_check(in->cancel, err));
    FZ_TRY(fz_rewrite_find_touched(copier, item->file_ix, item->first_row, n, &touched, err));
    FZ_TRY(gather_values(copier, fields, &touched, values, err));
    touched.patch.values = values;
    FZ_TRY(fz_table_writer_encoder(in->writer, &encoder, err));
    bool whole = is_copied_whole(copier, fields);
    if (!whole) {
        FZ_TRY(fz_rewrite_encode_rest(copier, item, fields, encoder, err));
    }
    struct fz_parquet_copy copy = {.file = copied->file,
                                   .row_group = item->row_group,
                                   .without_nans = copied->without_nans,
                                   .n_without_nans = copied->n_without_nans,
                                   .patch = &touched.patch,
                                   .counts = &counts};
    FZ_TRY(fz_parquet_copy_group(encoder, &copy, fields, in->cancel, &group, err));
    int64_t rows = fz_parquet_group_rows(group);
    FZ_TRY(fz_table_writer_add_group(in->writer, &in->plan->files[item->file_ix].entry->file.partition, group, err));
    add_counts(copier, &counts, &touched.patch, rows, whole);
out:
    for (size_t i = 0; i < copier->n_fields; i++) {
        if (values[i].type != NULL) {
            fz_column_dispose(&values[i]);
        }
    }
    fz_free(values);
    fz_rewrite_touched_dispose(&touched);
    fz_parquet_encoder_free(encoder);
    return rc;
}

// A row group is held in memory, old and new bytes, while it is copied.
static void take_memory(struct fz_rewrite *copier, int64_t bytes) {
    int64_t limit = copier->in->memory_bytes > LEAST_COPY_BYTES ? copier->in->memory_bytes : LEAST_COPY_BYTES;
    pthread_mutex_lock(&copier->lock);
    while (copier->bytes_in_use > 0 && copier->bytes_in_use + bytes > limit) {
        pthread_cond_wait(&copier->freed, &copier->lock);
    }
    copier->bytes_in_use += bytes;
    pthread_mutex_unlock(&copier->lock);
}

static void give_memory(struct fz_rewrite *copier, int64_t bytes) {
    pthread_mutex_lock(&copier->lock);
    copier->bytes_in_use -= bytes;
    pthread_cond_broadcast(&copier->freed);
    pthread_mutex_unlock(&copier->lock);
}

// ---- threads

static void note_error(struct fz_rewrite *copier, const struct fz_err *err) {
    pthread_mutex_lock(&copier->lock);
    if (copier->err.code == FZ_OK) {
        copier->err = *err;
    }
    pthread_mutex_unlock(&copier->lock);
    atomic_store(&copier->stop, true);
}

static void *plan_some(void *ctx) {
    struct fz_rewrite *copier = ctx;
    struct fz_err err = FZ_ERR_INIT;
    for (size_t i; !atomic_load(&copier->stop) && (i = atomic_fetch_add(&copier->next_file, 1)) < copier->n_files;) {
        if (fz_rewrite_plan_file(copier, copier->files[i], &err) != FZ_OK) {
            note_error(copier, &err);
        }
    }
    return NULL;
}

static void *copy_some(void *ctx) {
    struct fz_rewrite *copier = ctx;
    struct fz_err err = FZ_ERR_INIT;
    for (size_t i; !atomic_load(&copier->stop) && (i = atomic_fetch_add(&copier->next_item, 1)) < copier->n_items;) {
        int64_t bytes = copier->items[i].bytes * 2;
        take_memory(copier, bytes);
        if (copy_item(copier, &copier->items[i], &err) != FZ_OK) {
            note_error(copier, &err);
        }
        give_memory(copier, bytes);
    }
    if (copier->source != NULL && !atomic_load(&copier->stop) && fz_rewrite_encode_rows(copier, &err) != FZ_OK) {
        note_error(copier, &err);
    }
    return NULL;
}

static enum fz_code on_all_cores(struct fz_rewrite *copier, void *(*work)(void *), struct fz_err *err) {
    pthread_t threads[MAX_THREADS];
    int n = 0, want = fz_machine_cores() - 1;
    for (; n < want && n < MAX_THREADS && pthread_create(&threads[n], NULL, work, copier) == 0; n++) {
    }
    work(copier);
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
    if (copier->err.code != FZ_OK && err != NULL && err->code == FZ_OK) {
        *err = copier->err;
    }
    return copier->err.code;
}

static int by_place(const void *a, const void *b) {
    const struct fz_rewrite_item *x = a, *y = b;
    if (x->file_ix != y->file_ix) {
        return x->file_ix < y->file_ix ? -1 : 1;
    }
    return x->row_group < y->row_group ? -1 : x->row_group > y->row_group;
}

// What plan_file found: items to copy in the order of their files, and the source of the rest.
static enum fz_code share_out(struct fz_rewrite *copier, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool any = false;
    size_t n_files = copier->in->plan->n_files;
    uint8_t *only_files = fz_arena_array(&copier->arena, n_files, 1);
    const uint8_t **only_groups = fz_arena_array(&copier->arena, n_files, sizeof(uint8_t *));
    if (only_files == NULL || only_groups == NULL) {
        return fz_fail_nomem(err, n_files * sizeof(uint8_t *));
    }
    for (size_t i = 0; i < copier->n_files; i++) {
        size_t file_ix = copier->files[i];
        const struct fz_rewrite_file *copied = &copier->copied[file_ix];
        only_groups[file_ix] = copied->encode; // NULL: all
        only_files[file_ix] = copied->file == NULL;
        for (size_t g = 0; copied->file != NULL && g < fz_parquet_file_meta(copied->file)->n_row_groups; g++) {
            only_files[file_ix] |= copied->encode[g];
            copier->stats.groups_encoded += copied->use[g] == FZ_GROUP_ENCODE;
            copier->stats.groups_removed += copied->use[g] == FZ_GROUP_GONE;
        }
        any |= only_files[file_ix] != 0;
    }
    if (copier->n_items > 0) {
        qsort(copier->items, copier->n_items, sizeof *copier->items, by_place);
    }
    if (any) {
        FZ_TRY(fz_rewrite_source(copier, only_files, only_groups, 0, &copier->source, err));
    }
out:
    return rc;
}

static enum fz_code choose_fields(struct fz_rewrite *copier, struct fz_err *err) {
    const struct fz_row_rewrite *in = copier->in;
    size_t n = in->schema->type->n_fields;
    copier->n_fields = n + (in->lineage ? 2 : 0);
    struct fz_field *fields = fz_arena_array(&copier->arena, copier->n_fields + 2, sizeof *fields);
    copier->columns = fz_arena_array(&copier->arena, copier->n_fields + 2, sizeof *copier->columns);
    copier->assigned = fz_arena_array(&copier->arena, copier->n_fields + 2, 1);
    if (fields == NULL || copier->columns == NULL || copier->assigned == NULL) {
        return fz_fail_nomem(err, copier->n_fields * sizeof *fields);
    }
    for (size_t i = 0; i < copier->n_fields + 2; i++) {
        copier->columns[i] = i;
    }
    const struct fz_type *lng = fz_type_primitive(FZ_TYPE_LONG);
    memcpy(fields, in->schema->type->fields, n * sizeof *fields);
    if (in->lineage) {
        fields[n] = (struct fz_field){.id = FZ_ID_ROW_ID, .name = "_row_id", .type = lng};
        fields[n + 1] = (struct fz_field){
            .id = FZ_ID_LAST_UPDATED_SEQUENCE_NUMBER, .name = "_last_updated_sequence_number", .type = lng};
        copier->assigned[n + 1] = in->updates != NULL; // NULL: the sequence number of the commit
    }
    fields[copier->n_fields] =
        (struct fz_field){.id = FZ_ID_FILE_IX, .name = "_file_ix", .type = fz_type_primitive(FZ_TYPE_INT)};
    fields[copier->n_fields + 1] = (struct fz_field){.id = FZ_ID_POS, .name = "_pos", .type = lng};
    for (size_t i = 0; in->updates != NULL && i < n; i++) {
        copier->assigned[i] = in->update_fields[i] != SIZE_MAX;
    }
    copier->fields = fields;
    return FZ_OK;
}

enum fz_code fz_row_rewrite_run(const struct fz_row_rewrite *rewrite, struct fz_row_rewrite_stats *out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_rewrite copier = {.in = rewrite};
    size_t n_files = rewrite->plan->n_files;
    pthread_mutex_init(&copier.lock, NULL);
    pthread_cond_init(&copier.freed, NULL);
    copier.files = fz_arena_array(&copier.arena, n_files, sizeof *copier.files);
    copier.copied = fz_arena_array(&copier.arena, n_files, sizeof *copier.copied);
    if (copier.files == NULL || copier.copied == NULL) {
        rc = fz_fail_nomem(err, n_files * sizeof *copier.copied);
        goto out;
    }
    for (size_t i = 0; i < n_files; i++) {
        if (rewrite->files[i]) {
            copier.files[copier.n_files++] = i;
        }
    }
    if (copier.n_files > 0) {
        FZ_TRY(choose_fields(&copier, err));
        FZ_TRY(fz_table_writer_encoder(rewrite->writer, &copier.schema, err));
        FZ_TRY(on_all_cores(&copier, plan_some, err));
        FZ_TRY(share_out(&copier, err));
        FZ_TRY(on_all_cores(&copier, copy_some, err));
    }
    *out = copier.stats;
out:
    for (size_t i = 0; copier.copied != NULL && i < n_files; i++) {
        fz_parquet_file_unref(copier.copied[i].file);
        fz_free(copier.copied[i].use);
        fz_free(copier.copied[i].encode);
        fz_free(copier.copied[i].fields);
        fz_free(copier.copied[i].without_nans);
    }
    fz_source_unref(copier.source);
    fz_parquet_encoder_free(copier.schema);
    fz_free(copier.items);
    fz_arena_dispose(&copier.arena);
    pthread_mutex_destroy(&copier.lock);
    pthread_cond_destroy(&copier.freed);
    return rc;
}

enum fz_code fz_change_copy_rows(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    uint8_t *files = fz_arena_array(&c->arena, c->plan->n_files, 1);
    struct fz_positions **removed = fz_arena_array(&c->arena, c->plan->n_files, sizeof *removed);
    if (files == NULL || removed == NULL) {
        return fz_fail_nomem(err, c->plan->n_files * sizeof *removed);
    }
    for (size_t i = 0; i < c->plan->n_files; i++) {
        files[i] = c->files[i].changed != NULL;
        removed[i] = c->held != NULL ? c->files[i].removed : c->files[i].changed;
    }
    struct fz_row_rewrite rewrite = {
        .plan = c->plan,
        .store = c->target->store,
        .writer = c->writer,
        .schema = c->schema,
        .lineage = c->lineage,
        .cancel = c->context->cancel,
        .files = files,
        .removed = removed,
        .updates = c->held,
        .update_fields = c->held_fields,
        .memory_bytes = c->context->budget != NULL ? c->context->budget->limit_bytes / 4 : 0,
    };
    FZ_TRY(fz_row_rewrite_run(&rewrite, &c->rewritten, err));
    c->stats.rows_copied = c->rewritten.rows_kept;
out:
    return rc;
}
