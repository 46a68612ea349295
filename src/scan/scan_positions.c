// Deleted positions of a data file: its deletion vector, or the position delete files that apply, each read once for all files.
#include "scan/scan_priv.h"

enum { MAX_DV_BYTES = 1 << 30, MAX_SORTED = 1 << 20 };

enum fz_code fz_scan_read_vector(struct fz_store *store, const struct fz_data_file *dv, struct fz_cancel *cancel,
                                 struct fz_positions **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    void *bytes = NULL;
    if (dv->content_offset < 0 || dv->content_size_in_bytes <= 0 || dv->content_size_in_bytes > MAX_DV_BYTES) {
        return fz_fail(err, FZ_CORRUPT, "deletion vector in %s: offset %lld, size %lld", dv->file_path,
                       (long long)dv->content_offset, (long long)dv->content_size_in_bytes);
    }
    size_t len = (size_t)dv->content_size_in_bytes;
    bytes = fz_malloc(len);
    if (!bytes) {
        return fz_fail_nomem(err, len);
    }
    FZ_TRY(fz_store_read(store, dv->file_path, dv->content_offset, len, bytes, cancel, err));
    FZ_TRY(fz_dv_decode(bytes, len, out, err));
    if (fz_positions_count(*out) != dv->record_count) {
        rc = fz_fail(err, FZ_CORRUPT, "the deletion vector has %lld positions, its manifest entry says %lld",
                     (long long)fz_positions_count(*out), (long long)dv->record_count);
        fz_positions_free(*out);
        *out = NULL;
    }
out:
    if (rc != FZ_OK) {
        fz_err_context(err, "deletion vector at %lld of %s", (long long)dv->content_offset, dv->file_path);
    }
    fz_free(bytes);
    return rc;
}

void fz_scan_position_file_clear(struct fz_scan_position_file *file) {
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&file->by_file, e)) != NULL;) {
        fz_positions_free(e->value.ptr);
    }
    fz_map_dispose(&file->by_file);
    file->by_file = (struct fz_map){0};
}

static struct fz_str ix_key(const size_t *file_ix) {
    return (struct fz_str){(const char *)file_ix, sizeof *file_ix};
}

// Paths come sorted, so the file of the last row is usually the file of this one.
struct last_file {
    struct fz_buf path;
    bool known;
    struct fz_positions *set; // NULL: a file that is not in the plan
};

static enum fz_code look_up(struct fz_scan_plan_impl *impl, struct fz_scan_position_file *file, struct fz_str path,
                            struct last_file *last, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_map_entry *slot = fz_map_find(&impl->file_by_path, path);
    last->known = true;
    last->set = NULL;
    fz_buf_clear(&last->path);
    fz_buf_append(&last->path, path.ptr, path.len);
    FZ_TRY(fz_buf_check(&last->path, err));
    if (slot) {
        size_t file_ix = (size_t)slot->value.i64;
        bool added = false;
        FZ_TRY(fz_map_put(&file->by_file, ix_key(&file_ix), &slot, &added, err));
        if (added) {
            struct fz_positions *set = NULL;
            FZ_TRY(fz_positions_new(&set, err));
            slot->value.ptr = set;
        }
        last->set = slot->value.ptr;
    }
out:
    return rc;
}

static enum fz_code add_batch(struct fz_scan_plan_impl *impl, struct fz_scan_position_file *file,
                              const struct fz_batch *batch, struct last_file *last, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_string *paths = batch->columns[0].data;
    const int64_t *positions = batch->columns[1].data;
    for (size_t r = 0; r < batch->n_rows; r++) {
        if (!fz_column_is_valid(&batch->columns[0], r) || !fz_column_is_valid(&batch->columns[1], r)) {
            continue; // deletes nothing; Impala's tests hold such rows and Java reads over them
        }
        if (positions[r] < 0) {
            return fz_fail(err, FZ_CORRUPT, "a position delete has the position %lld", (long long)positions[r]);
        }
        struct fz_str path = {fz_string_ptr(&paths[r]), paths[r].length};
        if (!last->known || !fz_str_eq(path, (struct fz_str){last->path.ptr, last->path.len})) {
            FZ_TRY(look_up(impl, file, path, last, err));
        }
        if (!last->set) {
            continue;
        }
        FZ_TRY(fz_positions_add(last->set, positions[r], err));
    }
out:
    return rc;
}

struct position_rows {
    struct fz_scan_plan_impl *impl;
    struct fz_scan_position_file *file;
    struct last_file last;
};
static enum fz_code on_positions(void *ptr, struct fz_batch *batch, struct fz_err *err) {
    struct position_rows *ctx = ptr;
    return add_batch(ctx->impl, ctx->file, batch, &ctx->last, err);
}

static enum fz_code read_position_file(struct fz_scan_plan_impl *impl, struct fz_scan_position_file *file,
                                       struct fz_cancel *cancel, struct fz_err *err) {
    const struct fz_data_file *data = &file->entry->file;
    struct position_rows ctx = {.impl = impl, .file = file};
    const struct fz_field fields[] = {
        {.id = FZ_ID_DELETE_FILE_PATH, .name = "file_path", .type = fz_type_primitive(FZ_TYPE_STRING)},
        {.id = FZ_ID_DELETE_POS, .name = "pos", .type = fz_type_primitive(FZ_TYPE_LONG)},
    };
    enum fz_code rc = fz_scan_data_rows(impl->store, data, fields, 2, cancel, on_positions, &ctx, err);
    file->loaded = rc == FZ_OK;
    if (rc != FZ_OK) {
        fz_err_context(err, "position delete file %s", data->file_path);
        fz_scan_position_file_clear(file);
    }
    fz_buf_dispose(&ctx.last.path);
    return rc;
}

static enum fz_code positions_in(struct fz_scan_plan_impl *impl, size_t position_file, size_t file_ix,
                                 struct fz_cancel *cancel, const struct fz_positions **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_position_file *file = &impl->position_files[position_file];
    pthread_mutex_lock(&file->lock);
    if (!file->loaded) {
        rc = read_position_file(impl, file, cancel, err);
    }
    struct fz_map_entry *slot = rc == FZ_OK ? fz_map_find(&file->by_file, ix_key(&file_ix)) : NULL;
    *out = slot ? slot->value.ptr : NULL;
    pthread_mutex_unlock(&file->lock);
    return rc;
}

struct fill {
    int64_t *at, *end;
};
static enum fz_code fill_one(void *ctx, int64_t pos, struct fz_err *err) {
    struct fill *fill = ctx;
    if (fill->at == fill->end) {
        return fz_fail(err, FZ_BUG, "a position set has more members than it counts");
    }
    *fill->at++ = pos;
    return FZ_OK;
}

enum fz_code fz_scan_list_positions(const struct fz_positions *set, int64_t **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t count = (size_t)fz_positions_count(set);
    int64_t *list = fz_malloc(count * sizeof *list + 1);
    if (!list) {
        return fz_fail_nomem(err, count * sizeof *list);
    }
    struct fill fill = {list, list + count};
    FZ_TRY(fz_positions_each(set, fill_one, &fill, err));
    *n = (size_t)(fill.at - list);
    *out = list;
    list = NULL;
out:
    fz_free(list);
    return rc;
}

// Marking a batch from a sorted array costs what is deleted, not one look-up per row.
static enum fz_code sort_positions(struct fz_scan_file_state *state, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t count = state->deleted ? fz_positions_count(state->deleted) : 0;
    if (count == 0 || count > MAX_SORTED) {
        return FZ_OK;
    }
    FZ_TRY(fz_scan_list_positions(state->deleted, &state->sorted, &state->n_sorted, err));
out:
    return rc;
}

static enum fz_code load(struct fz_scan_plan_impl *impl, size_t file_ix, struct fz_cancel *cancel, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_file_state *state = &impl->states[file_ix];
    const struct fz_scan_file *file = &impl->base.files[file_ix];
    struct fz_positions *united = NULL;
    const struct fz_positions *first = NULL;
    for (size_t i = 0; i < file->n_deletes; i++) {
        const struct fz_data_file *data = &file->deletes[i]->file;
        if (data->content == FZ_CONTENT_POSITION_DELETES && strcmp(data->file_format, "PUFFIN") == 0) {
            FZ_TRY(fz_scan_read_vector(impl->store, data, cancel, &united, err));
        }
    }
    for (size_t i = 0; i < state->n_position_files; i++) {
        const struct fz_positions *some = NULL;
        FZ_TRY(positions_in(impl, state->position_files[i], file_ix, cancel, &some, err));
        if (!some) {
            continue;
        }
        if (!first && !united) {
            first = some;
            continue;
        }
        if (!united) {
            FZ_TRY(fz_positions_new(&united, err));
            FZ_TRY(fz_positions_union(united, first, err));
        }
        FZ_TRY(fz_positions_union(united, some, err));
    }
    state->owned = united;
    state->deleted = united ? united : first;
    united = NULL;
    if (state->deleted && fz_positions_count(state->deleted) == 0) {
        state->deleted = NULL;
    }
    FZ_TRY(sort_positions(state, err));
    state->loaded = true;
out:
    fz_positions_free(united);
    return rc;
}

enum fz_code fz_scan_positions_of(struct fz_scan_plan_impl *impl, size_t file_ix, struct fz_cancel *cancel,
                                  const struct fz_positions **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *out = NULL;
    if (file_ix >= impl->base.n_files) {
        return fz_fail(err, FZ_BUG, "the plan has no file %zu", file_ix);
    }
    struct fz_scan_file_state *state = &impl->states[file_ix];
    pthread_mutex_lock(&state->lock);
    if (!state->loaded) {
        rc = load(impl, file_ix, cancel, err);
    }
    if (rc == FZ_OK) {
        *out = state->deleted;
    }
    pthread_mutex_unlock(&state->lock);
    return rc;
}

enum fz_code fz_scan_deleted_positions(struct fz_scan_plan *plan, size_t file_ix, const struct fz_positions **out,
                                       struct fz_err *err) {
    return fz_scan_positions_of(fz_scan_impl(plan), file_ix, NULL, out, err);
}
