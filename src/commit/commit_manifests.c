// The manifests of a new snapshot: files of this commit in new manifests, manifests that hold removed files written again
// without them, delete files that apply to nothing any more dropped, small manifests merged (iceberg-facts 7.4, 7.10, 8.1).
// Everything is planned and encoded in memory; only what the snapshot lists is stored.
#include <stdlib.h>

#include "commit/commit_priv.h"

static const size_t max_manifest_bytes = (size_t)1 << 30;

void fz_work_list_dispose(struct fz_work_list *list) {
    for (size_t i = 0; i < list->n; i++) {
        fz_buf_dispose(&list->items[i].bytes);
    }
    fz_free(list->items);
    *list = (struct fz_work_list){0};
}

// Takes the manifest over, bytes included; on failure it is disposed.
static enum fz_code push(struct fz_work_list *list, struct fz_work_manifest *m, struct fz_err *err) {
    enum fz_code rc = fz_grow((void **)&list->items, &list->cap, list->n + 1, sizeof *list->items, err);
    if (rc != FZ_OK) {
        fz_buf_dispose(&m->bytes);
        return rc;
    }
    list->items[list->n++] = *m;
    return FZ_OK;
}

enum fz_code fz_commit_file_key(struct fz_arena *arena, const struct fz_data_file *file, struct fz_str *out,
                                struct fz_err *err) {
    char *key = fz_commit_is_dv(file)
                    ? fz_arena_printf(arena, "%s#%lld", file->file_path, (long long)file->content_offset)
                    : fz_arena_strdup(arena, file->file_path);
    *out = fz_str_of(key);
    return key != NULL ? FZ_OK : fz_fail_nomem(err, 0);
}

enum fz_code fz_commit_read_list(struct fz_commit *c, struct fz_arena *arena, const struct fz_snapshot *snapshot,
                                 struct fz_manifest_file **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf bytes = {0};
    if (snapshot->manifest_list != NULL) {
        FZ_TRY(fz_store_read_all(c->request->store, snapshot->manifest_list, max_manifest_bytes, &bytes, err));
        rc = fz_manifest_list_decode(arena, bytes.ptr, bytes.len, out, n, err);
        goto out;
    }
    struct fz_manifest_file *files =
        fz_arena_array(arena, snapshot->n_manifests + 1, sizeof *files); // old v1: paths only
    if (files == NULL) {
        rc = fz_fail_nomem(err, snapshot->n_manifests);
        goto out;
    }
    for (size_t i = 0; i < snapshot->n_manifests; i++) {
        files[i] = (struct fz_manifest_file){.manifest_path = snapshot->manifests[i],
                                             .added_snapshot_id = snapshot->snapshot_id};
        files[i].added_files_count = files[i].existing_files_count = files[i].deleted_files_count = -1;
        files[i].added_rows_count = files[i].existing_rows_count = files[i].deleted_rows_count = files[i].first_row_id =
            -1;
        FZ_TRY(fz_store_size(c->request->store, snapshot->manifests[i], &files[i].manifest_length, err));
    }
    *out = files;
    *n = snapshot->n_manifests;
out:
    if (rc != FZ_OK && snapshot->manifest_list != NULL) {
        fz_err_context(err, "manifest list %s", snapshot->manifest_list);
    }
    fz_buf_dispose(&bytes);
    return rc;
}

enum fz_code fz_commit_read_manifest(struct fz_commit *c, struct fz_arena *arena, const struct fz_metadata *m,
                                     const struct fz_manifest_file *file, struct fz_manifest_entry **out, size_t *n,
                                     struct fz_err *err) {
    struct fz_buf bytes = {0};
    enum fz_code rc = fz_store_read_all(c->request->store, file->manifest_path, max_manifest_bytes, &bytes, err);
    if (rc == FZ_OK) {
        rc = fz_manifest_decode(arena, bytes.ptr, bytes.len, file, m, out, n, err);
    }
    fz_buf_dispose(&bytes);
    return rc;
}

static enum fz_code encode(struct fz_attempt *a, int32_t spec_id, bool deletes, struct fz_manifest_entry *entries,
                           size_t n, struct fz_work_manifest *out, struct fz_err *err) {
    const struct fz_manifest_encode in = {
        .metadata = a->head, .spec_id = spec_id, .deletes = deletes, .entries = entries, .n_entries = n};
    *out = (struct fz_work_manifest){.entries = entries, .n_entries = n, .is_new = true};
    enum fz_code rc = fz_manifest_encode(&a->arena, &in, &out->bytes, &out->file, err);
    if (rc != FZ_OK) {
        fz_buf_dispose(&out->bytes);
    }
    return rc;
}

// One manifest, or several when it would be larger than the target.
static enum fz_code encode_rolling(struct fz_attempt *a, struct fz_work_list *list, int32_t spec_id, bool deletes,
                                   struct fz_manifest_entry *entries, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_work_manifest m;
    int64_t target = fz_metadata_property_i64(a->head, "commit.manifest.target-size-bytes", 8 << 20);
    FZ_TRY(encode(a, spec_id, deletes, entries, n, &m, err));
    if (target < 1 || m.file.manifest_length <= target || n < 2) {
        return push(list, &m, err);
    }
    int64_t parts = m.file.manifest_length / target + 1;
    fz_buf_dispose(&m.bytes);
    size_t each = n / (size_t)parts + 1;
    for (size_t at = 0; at < n; at += each) {
        FZ_TRY(encode(a, spec_id, deletes, entries + at, n - at < each ? n - at : each, &m, err));
        FZ_TRY(push(list, &m, err));
    }
out:
    return rc;
}

static int by_id_down(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

// The added files of one content kind, a manifest per spec.
static enum fz_code add_new(struct fz_commit *c, struct fz_attempt *a, bool deletes, struct fz_work_list *list,
                            struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_commit_request *r = c->request;
    int32_t *specs = fz_arena_array(&a->arena, r->n_added + 1, sizeof *specs);
    struct fz_manifest_entry *entries = fz_arena_array(&a->arena, r->n_added + 1, sizeof *entries);
    size_t n_specs = 0, used = 0;
    if (specs == NULL || entries == NULL) {
        return fz_fail_nomem(err, r->n_added);
    }
    for (size_t i = 0; i < r->n_added; i++) {
        size_t at = 0;
        while (at < n_specs && specs[at] != r->added[i].spec_id) {
            at++;
        }
        if ((r->added[i].content != FZ_CONTENT_DATA) == deletes && at == n_specs) {
            specs[n_specs++] = r->added[i].spec_id;
        }
    }
    qsort(specs, n_specs, sizeof *specs, by_id_down);
    int64_t age = r->kind == FZ_COMMIT_REPLACE && !deletes && r->added_data_sequence_number > 0
                      ? r->added_data_sequence_number
                      : -1;
    for (size_t s = 0; s < n_specs; s++) {
        size_t first = used;
        for (size_t i = 0; i < r->n_added; i++) {
            if ((r->added[i].content != FZ_CONTENT_DATA) == deletes && r->added[i].spec_id == specs[s]) {
                entries[used] = (struct fz_manifest_entry){FZ_ENTRY_ADDED, c->snapshot_id, age, -1, r->added[i]};
                entries[used++].file.first_row_id = -1;
                FZ_TRY(fz_commit_count_file(a, &r->added[i], true, err));
            }
        }
        FZ_TRY(encode_rolling(a, list, specs[s], deletes, entries + first, used - first, err));
    }
out:
    return rc;
}

static bool bounds_hold(struct fz_arena *arena, const struct fz_field_summary *s, const struct fz_value *v) {
    struct fz_value low, high;
    struct fz_err ignored = FZ_ERR_INIT;
    if (v->is_null) {
        return s->contains_null;
    }
    bool nan = (v->type->id == FZ_TYPE_FLOAT && v->u.f32 != v->u.f32) ||
               (v->type->id == FZ_TYPE_DOUBLE && v->u.f64 != v->u.f64);
    if (nan || !s->has_bounds || v->type->id == FZ_TYPE_UUID || v->type->id == FZ_TYPE_UNKNOWN ||
        fz_value_from_bound(arena, v->type, s->lower_bound, &low, &ignored) != FZ_OK ||
        fz_value_from_bound(arena, v->type, s->upper_bound, &high, &ignored) != FZ_OK) {
        return true;
    }
    return fz_value_compare(&low, v) <= 0 && fz_value_compare(v, &high) <= 0;
}

static bool may_hold(struct fz_attempt *a, const struct fz_manifest_file *manifest, const struct fz_data_file *file) {
    if (manifest->partition_spec_id != file->spec_id) {
        return false;
    }
    if (file->partition.type == NULL || file->partition.is_null ||
        manifest->n_partitions != file->partition.u.nested.n) {
        return true;
    }
    for (size_t i = 0; i < manifest->n_partitions; i++) {
        if (!bounds_hold(&a->arena, &manifest->partitions[i], &file->partition.u.nested.items[i])) {
            return false;
        }
    }
    return true;
}

// May the manifest hold a removed file of its kind, or (delete manifests) a deletion vector of a removed data file?
static bool may_hold_removed(struct fz_attempt *a, const struct fz_manifest_file *manifest) {
    bool vectors = manifest->content == 1 && a->head->format_version >= 3;
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&a->removed, e)) != NULL;) {
        const struct fz_removed_file *removed = e->value.ptr;
        bool is_data = removed->file->content == FZ_CONTENT_DATA;
        bool wanted = (manifest->content == 0) == is_data ? !removed->found : is_data && vectors;
        if (wanted && may_hold(a, manifest, removed->file)) {
            return true;
        }
    }
    return false;
}

// Is this entry of the parent removed by this commit?
static enum fz_code is_removed(struct fz_attempt *a, const struct fz_manifest_entry *e, int64_t min_data_sequence,
                               bool *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_str key;
    *out = false;
    if (e->status == FZ_ENTRY_DELETED) {
        goto out;
    }
    FZ_TRY(fz_commit_file_key(&a->arena, &e->file, &key, err));
    struct fz_map_entry *found = fz_map_find(&a->removed, key);
    if (found != NULL) {
        struct fz_removed_file *removed = found->value.ptr;
        a->n_missing -= removed->found ? 0 : 1;
        removed->found = true;
        *out = true;
    } else if (e->file.content != FZ_CONTENT_DATA) {
        bool too_old = e->sequence_number > 0 && e->sequence_number < min_data_sequence;
        bool dangling = fz_commit_is_dv(&e->file) && e->file.referenced_data_file != NULL &&
                        fz_map_find(&a->removed_data_paths, fz_str_of(e->file.referenced_data_file)) != NULL;
        *out = too_old || dangling;
    }
out:
    return rc;
}

// Lists of old version 1 writers have no counts, which later versions need and row ids are numbered by: the manifest itself tells.
static bool lacks_counts(const struct fz_attempt *a, const struct fz_manifest_file *f) {
    return a->head->format_version > 1 &&
           (f->added_files_count < 0 || f->existing_files_count < 0 || f->deleted_files_count < 0 ||
            f->added_rows_count < 0 || f->existing_rows_count < 0 || f->deleted_rows_count < 0);
}

static void fill_counts(struct fz_manifest_file *file, const struct fz_manifest_entry *entries, size_t n) {
    int64_t files[3] = {0}, rows[3] = {0}; // added, existing, deleted
    for (size_t i = 0; i < n; i++) {
        int at = entries[i].status == FZ_ENTRY_ADDED ? 0 : entries[i].status == FZ_ENTRY_EXISTING ? 1 : 2;
        files[at]++;
        rows[at] += entries[i].file.record_count;
    }
    file->added_files_count = (int32_t)files[0];
    file->existing_files_count = (int32_t)files[1];
    file->deleted_files_count = (int32_t)files[2];
    file->added_rows_count = rows[0];
    file->existing_rows_count = rows[1];
    file->deleted_rows_count = rows[2];
}

// The manifest as it goes on: the same, or written again with the removed entries marked.
static enum fz_code filter_one(struct fz_commit *c, struct fz_attempt *a, const struct fz_manifest_file *file,
                               int64_t min_data_sequence, struct fz_work_list *list, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_work_manifest m = {.file = *file};
    struct fz_manifest_entry *entries;
    size_t n, used = 0, n_removed = 0;
    FZ_TRY(fz_commit_read_manifest(c, &a->arena, a->head, file, &entries, &n, err));
    bool *gone = fz_arena_array(&a->arena, n + 1, sizeof *gone);
    if (gone == NULL) {
        rc = fz_fail_nomem(err, n);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(is_removed(a, &entries[i], min_data_sequence, &gone[i], err));
        n_removed += gone[i];
    }
    m.entries = entries;
    m.n_entries = n;
    if (n_removed == 0) {
        if (lacks_counts(a, file)) {
            fill_counts(&m.file, entries, n);
        }
        return push(list, &m, err);
    }
    for (size_t i = 0; i < n; i++) {
        if (entries[i].status == FZ_ENTRY_DELETED) {
            continue; // of an older snapshot
        }
        entries[used] = entries[i];
        entries[used].status = gone[i] ? FZ_ENTRY_DELETED : FZ_ENTRY_EXISTING;
        if (gone[i]) {
            entries[used].snapshot_id = c->snapshot_id;
            FZ_TRY(fz_commit_count_file(a, &entries[used].file, false, err));
        }
        used++;
    }
    a->manifests_replaced++;
    FZ_TRY(encode(a, file->partition_spec_id, file->content == 1, entries, used, &m, err));
    rc = push(list, &m, err);
out:
    return rc;
}

static bool has_live_files(const struct fz_manifest_file *f) {
    return f->added_files_count != 0 || f->existing_files_count != 0; // unknown counts as yes
}

static enum fz_code filter_kind(struct fz_commit *c, struct fz_attempt *a, int content, int64_t min_data_sequence,
                                struct fz_work_list *list, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < a->n_old_files; i++) {
        const struct fz_manifest_file *file = &a->old_files[i];
        if (file->content != content || !has_live_files(file)) {
            continue; // without live files it is not part of the new snapshot
        }
        bool old_deletes = content == 1 && file->min_sequence_number < min_data_sequence;
        if (old_deletes || lacks_counts(a, file) || may_hold_removed(a, file)) {
            FZ_TRY(fz_cancel_check(c->request->cancel, err));
            FZ_TRY(filter_one(c, a, file, min_data_sequence, list, err));
        } else {
            struct fz_work_manifest m = {.file = *file};
            FZ_TRY(push(list, &m, err));
        }
    }
out:
    return rc;
}

// Deletes older than every live data file of the table apply to nothing.
static int64_t min_data_sequence(const struct fz_attempt *a, const struct fz_work_list *filtered, size_t from) {
    int64_t min = a->head->last_sequence_number;
    for (size_t i = from; i < filtered->n; i++) {
        int64_t number = filtered->items[i].file.min_sequence_number;
        min = number >= 0 && number < min ? number : min;
    }
    return min;
}

struct merge {
    struct fz_commit *c;
    struct fz_attempt *a;
    const struct fz_work_manifest *first;
    int64_t target, min_count;
    struct fz_work_list out;
    struct fz_err *err;
};

static enum fz_code merge_entries(struct merge *x, struct fz_work_manifest **bin, size_t n,
                                  struct fz_manifest_entry **out, size_t *n_out) {
    enum fz_code rc = FZ_OK;
    struct fz_manifest_entry *all = NULL;
    size_t used = 0, cap = 0;
    for (size_t i = 0; i < n; i++) {
        struct fz_work_manifest *m = bin[i];
        if (m->entries == NULL) {
            FZ_TRY(
                fz_commit_read_manifest(x->c, &x->a->arena, x->a->head, &m->file, &m->entries, &m->n_entries, x->err));
        }
        FZ_TRY(fz_grow((void **)&all, &cap, used + m->n_entries, sizeof *all, x->err));
        for (size_t j = 0; j < m->n_entries; j++) {
            const struct fz_manifest_entry *e = &m->entries[j];
            bool ours = e->snapshot_id == x->c->snapshot_id;
            if (e->status == FZ_ENTRY_DELETED && !ours) {
                continue;
            }
            all[used] = *e;
            all[used].status = ours ? e->status : FZ_ENTRY_EXISTING;
            used++;
        }
    }
    *out = fz_arena_memdup(&x->a->arena, used > 0 ? (void *)all : "", used * sizeof *all);
    *n_out = used;
    rc = *out != NULL ? FZ_OK : fz_fail_nomem(x->err, used);
out:
    fz_free(all);
    return rc;
}

// Manifests of one bin, in order: merged when that is worth it, else as they are.
static enum fz_code close_bin(struct merge *x, struct fz_work_manifest **bin, size_t n) {
    enum fz_code rc = FZ_OK;
    struct fz_manifest_entry *entries;
    size_t n_entries;
    bool holds_first = false;
    for (size_t i = 0; i < n; i++) {
        holds_first = holds_first || bin[i] == x->first;
    }
    if (n < 2 || (holds_first && (int64_t)n < x->min_count)) {
        for (size_t i = 0; i < n; i++) {
            struct fz_work_manifest m = *bin[i];
            bin[i]->bytes = (struct fz_buf){0};
            FZ_TRY(push(&x->out, &m, x->err));
        }
        goto out;
    }
    struct fz_work_manifest merged;
    FZ_TRY(merge_entries(x, bin, n, &entries, &n_entries));
    FZ_TRY(
        encode(x->a, bin[0]->file.partition_spec_id, bin[0]->file.content == 1, entries, n_entries, &merged, x->err));
    x->a->manifests_replaced += (int64_t)n;
    rc = push(&x->out, &merged, x->err);
out:
    return rc;
}

// Bins are filled from the end, so that the newest manifests end up in the bin that is not full and are merged next time.
static enum fz_code merge_spec(struct merge *x, struct fz_work_list *list, int32_t spec_id) {
    enum fz_code rc = FZ_OK;
    size_t n = 0, n_starts = 0;
    struct fz_work_manifest **group = fz_arena_array(&x->a->arena, list->n + 1, sizeof(struct fz_work_manifest *));
    size_t *starts = fz_arena_array(&x->a->arena, list->n + 1, sizeof *starts);
    if (group == NULL || starts == NULL) {
        return fz_fail_nomem(x->err, list->n);
    }
    for (size_t i = 0; i < list->n; i++) {
        if (list->items[i].file.partition_spec_id == spec_id) {
            group[n++] = &list->items[i];
        }
    }
    int64_t weight = 0;
    for (size_t i = n; i-- > 0;) {
        if (i + 1 < n && weight + group[i]->file.manifest_length > x->target) {
            starts[n_starts++] = i + 1;
            weight = 0;
        }
        weight += group[i]->file.manifest_length;
    }
    starts[n_starts++] = 0;
    for (size_t i = n_starts; i-- > 0;) {
        size_t end = i > 0 ? starts[i - 1] : n;
        FZ_TRY(close_bin(x, group + starts[i], end - starts[i]));
    }
out:
    return rc;
}

static enum fz_code merge_manifests(struct fz_commit *c, struct fz_attempt *a, struct fz_work_list *list,
                                    struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (list->n < 2 || !fz_metadata_property_bool(a->head, "commit.manifest-merge.enabled", true)) {
        return FZ_OK;
    }
    struct merge x = {.c = c, .a = a, .first = &list->items[0], .err = err};
    x.target = fz_metadata_property_i64(a->head, "commit.manifest.target-size-bytes", 8 << 20);
    x.min_count = fz_metadata_property_i64(a->head, "commit.manifest.min-count-to-merge", 100);
    size_t n_specs = 0;
    int32_t *specs = fz_arena_array(&a->arena, list->n, sizeof *specs);
    if (specs == NULL) {
        return fz_fail_nomem(err, list->n);
    }
    for (size_t i = 0; i < list->n; i++) {
        size_t at = 0;
        while (at < n_specs && specs[at] != list->items[i].file.partition_spec_id) {
            at++;
        }
        if (at == n_specs) {
            specs[n_specs++] = list->items[i].file.partition_spec_id;
        }
    }
    qsort(specs, n_specs, sizeof *specs, by_id_down);
    for (size_t i = 0; i < n_specs; i++) {
        FZ_TRY(merge_spec(&x, list, specs[i]));
    }
    fz_work_list_dispose(list);
    *list = x.out;
    x.out = (struct fz_work_list){0};
out:
    fz_work_list_dispose(&x.out);
    return rc;
}

static enum fz_code index_removed(struct fz_commit *c, struct fz_attempt *a, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < c->request->n_removed; i++) {
        const struct fz_data_file *file = &c->request->removed[i];
        struct fz_str key;
        struct fz_map_entry *entry;
        bool added;
        FZ_TRY(fz_commit_file_key(&a->arena, file, &key, err));
        FZ_TRY(fz_map_put(&a->removed, key, &entry, &added, err));
        if (added) {
            struct fz_removed_file *removed = FZ_ARENA_NEW(&a->arena, struct fz_removed_file);
            if (removed == NULL) {
                rc = fz_fail_nomem(err, sizeof *removed);
                goto out;
            }
            removed->file = file;
            entry->value.ptr = removed;
            a->n_missing++;
        }
        if (file->content == FZ_CONTENT_DATA) {
            FZ_TRY(fz_map_put(&a->removed_data_paths, fz_str_of(file->file_path), &entry, NULL, err));
        }
    }
    for (size_t i = 0; i < c->request->n_added; i++) {
        const char *target = c->request->added[i].referenced_data_file;
        if (target != NULL && fz_map_find(&a->removed_data_paths, fz_str_of(target)) != NULL) {
            rc = fz_fail(err, FZ_BUG, "cannot delete data file %s that is referenced by new delete files", target);
            goto out;
        }
    }
out:
    return rc;
}

static enum fz_code check_all_found(struct fz_attempt *a, struct fz_err *err) {
    for (struct fz_map_entry *e = NULL; a->n_missing > 0 && (e = fz_map_next(&a->removed, e)) != NULL;) {
        const struct fz_removed_file *removed = e->value.ptr;
        if (!removed->found) {
            return fz_fail(err, FZ_CONFLICT,
                           "Missing required files to delete: %s (%zu in total); another commit removed them",
                           removed->file->file_path, a->n_missing);
        }
    }
    return FZ_OK;
}

enum fz_code fz_commit_plan_manifests(struct fz_commit *c, struct fz_attempt *a, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(index_removed(c, a, err));
    if (a->parent != NULL) {
        FZ_TRY(fz_commit_read_list(c, &a->arena, a->parent, &a->old_files, &a->n_old_files, err));
    }
    FZ_TRY(add_new(c, a, false, &a->data, err));
    FZ_TRY(add_new(c, a, true, &a->deletes, err));
    size_t n_new = a->data.n;
    FZ_TRY(filter_kind(c, a, 0, 0, &a->data, err));
    FZ_TRY(filter_kind(c, a, 1, min_data_sequence(a, &a->data, n_new), &a->deletes, err));
    FZ_TRY(check_all_found(a, err));
    FZ_TRY(merge_manifests(c, a, &a->data, err));
    FZ_TRY(merge_manifests(c, a, &a->deletes, err));
out:
    return rc;
}

static enum fz_code store_kind(struct fz_commit *c, struct fz_attempt *a, struct fz_work_list *list,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < list->n; i++) {
        struct fz_work_manifest *m = &list->items[i];
        if (!m->is_new) {
            a->manifests_kept++;
            continue;
        }
        FZ_TRY(fz_cancel_check(c->request->cancel, err));
        const char *name = fz_arena_printf(&a->arena, "%s-m%d.avro", c->uuid, c->n_manifests++);
        m->file.manifest_path = name != NULL ? fz_commit_metadata_path(&a->arena, a->head, name) : NULL;
        if (m->file.manifest_path == NULL) {
            rc = fz_fail_nomem(err, 0);
            goto out;
        }
        FZ_TRY(fz_commit_store(c, m->file.manifest_path, &m->bytes, err));
        fz_buf_dispose(&m->bytes);
        m->file.added_snapshot_id = c->snapshot_id;
        a->manifests_created++;
    }
out:
    return rc;
}

enum fz_code fz_commit_store_manifests(struct fz_commit *c, struct fz_attempt *a, struct fz_err *err) {
    enum fz_code rc = store_kind(c, a, &a->data, err);
    if (rc == FZ_OK) {
        rc = store_kind(c, a, &a->deletes, err);
    }
    if (rc == FZ_OK) {
        FZ_FAIL_POINT("commit.manifest");
    }
    return rc;
}
