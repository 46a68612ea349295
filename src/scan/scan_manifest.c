// Reading manifest lists and manifests of a snapshot. Many manifests are decoded by several threads, each into its own arena.
#include "scan/scan_priv.h"

enum { PARALLEL_FROM = 4, MAX_THREADS = 8 };

enum fz_code fz_scan_manifest_list(struct fz_store *store, const struct fz_snapshot *snapshot, struct fz_arena *arena,
                                   struct fz_scan_manifests *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf bytes = {0};
    if (!snapshot->manifest_list) { // old v1: the snapshot names its manifests itself
        out->files = fz_arena_array(arena, snapshot->n_manifests ? snapshot->n_manifests : 1, sizeof *out->files);
        if (!out->files) {
            return fz_fail_nomem(err, snapshot->n_manifests * sizeof *out->files);
        }
        for (size_t i = 0; i < snapshot->n_manifests; i++) {
            out->files[i] = (struct fz_manifest_file){.manifest_path = snapshot->manifests[i],
                                                      .manifest_length = -1,
                                                      .added_snapshot_id = snapshot->snapshot_id,
                                                      .added_files_count = -1,
                                                      .existing_files_count = -1,
                                                      .deleted_files_count = -1,
                                                      .first_row_id = -1};
        }
        out->n_files = snapshot->n_manifests;
    } else {
        FZ_TRY(fz_store_read_all(store, snapshot->manifest_list, FZ_SCAN_MAX_MANIFEST_BYTES, &bytes, err));
        FZ_TRY(fz_manifest_list_decode(arena, bytes.ptr, bytes.len, &out->files, &out->n_files, err));
    }
    size_t some = out->n_files ? out->n_files : 1;
    out->entries = fz_arena_array(arena, some, sizeof *out->entries);
    out->n_entries = fz_arena_array(arena, some, sizeof *out->n_entries);
    if (!out->entries || !out->n_entries) {
        rc = fz_fail_nomem(err, some * sizeof *out->entries);
    }
out:
    if (rc != FZ_OK && snapshot->manifest_list) {
        fz_err_context(err, "manifest list %s", snapshot->manifest_list);
    }
    fz_buf_dispose(&bytes);
    return rc;
}

struct work {
    struct fz_store *store;
    struct fz_metadata *metadata;
    const uint8_t *keep;
    struct fz_scan_manifests *list;
    struct fz_cancel *cancel;
    _Atomic size_t next;
    _Atomic bool failed;
};
struct worker {
    struct work *work;
    struct fz_arena *arena;
    struct fz_err err;
    enum fz_code rc;
    pthread_t thread;
};

static enum fz_code decode_one(struct work *work, size_t i, struct fz_arena *arena, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf bytes = {0};
    struct fz_manifest_file *file = &work->list->files[i];
    FZ_TRY(fz_cancel_check(work->cancel, err));
    FZ_TRY(fz_store_read_all(work->store, file->manifest_path, FZ_SCAN_MAX_MANIFEST_BYTES, &bytes, err));
    FZ_TRY(fz_manifest_decode(arena, bytes.ptr, bytes.len, file, work->metadata, &work->list->entries[i],
                              &work->list->n_entries[i], err));
out:
    if (rc != FZ_OK) {
        fz_err_context(err, "manifest %s", file->manifest_path);
    }
    fz_buf_dispose(&bytes);
    return rc;
}

static void *run_worker(void *ptr) {
    struct worker *worker = ptr;
    struct work *work = worker->work;
    size_t i;
    while (!work->failed && (i = atomic_fetch_add(&work->next, 1)) < work->list->n_files) {
        if (work->keep && !work->keep[i]) {
            continue;
        }
        worker->rc = decode_one(work, i, worker->arena, &worker->err);
        if (worker->rc != FZ_OK) {
            work->failed = true;
        }
    }
    return NULL;
}

enum fz_code fz_scan_manifests_read(struct fz_store *store, struct fz_metadata *metadata, const uint8_t *keep,
                                    struct fz_arena *arena, struct fz_scan_plan_impl *impl, struct fz_cancel *cancel,
                                    struct fz_scan_manifests *inout, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct work work = {.store = store, .metadata = metadata, .keep = keep, .list = inout, .cancel = cancel};
    struct worker workers[MAX_THREADS] = {{.work = &work, .arena = arena}};
    size_t n = 1;
    if (impl && inout->n_files >= PARALLEL_FROM) {
        n = (size_t)fz_machine_cores();
        n = n > MAX_THREADS ? MAX_THREADS : n < 1 ? 1 : n;
        impl->arenas = fz_calloc(n, sizeof *impl->arenas);
        if (!impl->arenas) {
            return fz_fail_nomem(err, n * sizeof *impl->arenas);
        }
        impl->n_arenas = n;
    }
    size_t started = 1;
    for (; started < n; started++) {
        workers[started] = (struct worker){.work = &work, .arena = &impl->arenas[started]};
        if (pthread_create(&workers[started].thread, NULL, run_worker, &workers[started]) != 0) {
            break; // fewer threads do it too
        }
    }
    run_worker(&workers[0]);
    for (size_t i = 1; i < started; i++) {
        pthread_join(workers[i].thread, NULL);
    }
    for (size_t i = 0; i < started && rc == FZ_OK; i++) {
        rc = workers[i].rc;
        if (rc != FZ_OK && err && err->code == FZ_OK) {
            *err = workers[i].err;
        }
    }
    return rc;
}

enum fz_code fz_scan_entries(struct fz_store *store, struct fz_metadata *metadata, int64_t snapshot_id,
                             struct fz_arena *arena, struct fz_manifest_entry **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_manifests list = {0};
    const struct fz_snapshot *snapshot =
        snapshot_id < 0 ? fz_metadata_current_snapshot(metadata) : fz_metadata_snapshot(metadata, snapshot_id);
    *out = NULL;
    *n = 0;
    if (!snapshot) {
        return snapshot_id < 0 ? FZ_OK
                               : fz_fail(err, FZ_NOT_FOUND, "the table has no snapshot %lld", (long long)snapshot_id);
    }
    FZ_TRY(fz_scan_manifest_list(store, snapshot, arena, &list, err));
    FZ_TRY(fz_scan_manifests_read(store, metadata, NULL, arena, NULL, NULL, &list, err));
    size_t total = 0;
    for (size_t i = 0; i < list.n_files; i++) {
        total += list.n_entries[i];
    }
    struct fz_manifest_entry *all = fz_arena_array(arena, total ? total : 1, sizeof *all);
    if (!all) {
        rc = fz_fail_nomem(err, total * sizeof *all);
        goto out;
    }
    size_t live = 0;
    for (size_t i = 0; i < list.n_files; i++) {
        for (size_t e = 0; e < list.n_entries[i]; e++) {
            if (list.entries[i][e].status != FZ_ENTRY_DELETED) {
                all[live++] = list.entries[i][e];
            }
        }
    }
    *out = all;
    *n = live;
out:
    return rc;
}

// Appends the manifests of one snapshot that are not listed yet.
static enum fz_code add_manifests(struct fz_store *store, const struct fz_snapshot *snapshot, struct fz_arena *arena,
                                  struct fz_map *seen, struct fz_manifest_file **files, size_t *n, size_t *cap,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_manifests list = {0};
    FZ_TRY(fz_scan_manifest_list(store, snapshot, arena, &list, err));
    for (size_t i = 0; i < list.n_files; i++) {
        struct fz_map_entry *entry;
        bool added;
        FZ_TRY(fz_map_put(seen, fz_str_of(list.files[i].manifest_path), &entry, &added, err));
        if (added) {
            FZ_TRY(fz_grow((void **)files, cap, *n + 1, sizeof **files, err));
            (*files)[(*n)++] = list.files[i];
        }
    }
out:
    return rc;
}

enum fz_code fz_scan_written_entries(struct fz_store *store, struct fz_metadata *metadata, int64_t snapshot_id,
                                     bool history, struct fz_arena *arena, struct fz_manifest_entry **out, size_t *n,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_manifests list = {0};
    struct fz_map seen = {0};
    size_t cap = 0, total = 0;
    const struct fz_snapshot *one =
        snapshot_id < 0 ? fz_metadata_current_snapshot(metadata) : fz_metadata_snapshot(metadata, snapshot_id);
    *out = NULL;
    *n = 0;
    for (size_t i = 0; history && i < metadata->n_snapshots; i++) {
        FZ_TRY(add_manifests(store, &metadata->snapshots[i], arena, &seen, &list.files, &list.n_files, &cap, err));
    }
    if (!history && one) {
        FZ_TRY(add_manifests(store, one, arena, &seen, &list.files, &list.n_files, &cap, err));
    }
    if (list.n_files == 0) {
        goto out;
    }
    list.entries = fz_arena_array(arena, list.n_files, sizeof *list.entries);
    list.n_entries = fz_arena_array(arena, list.n_files, sizeof *list.n_entries);
    if (!list.entries || !list.n_entries) {
        rc = fz_fail_nomem(err, list.n_files * sizeof *list.entries);
        goto out;
    }
    FZ_TRY(fz_scan_manifests_read(store, metadata, NULL, arena, NULL, NULL, &list, err));
    for (size_t i = 0; i < list.n_files; i++) {
        total += list.n_entries[i];
    }
    struct fz_manifest_entry *all = fz_arena_array(arena, total ? total : 1, sizeof *all);
    if (!all) {
        rc = fz_fail_nomem(err, total * sizeof *all);
        goto out;
    }
    for (size_t i = 0; i < list.n_files; i++) {
        if (list.n_entries[i] > 0) {
            memcpy(all + *n, list.entries[i], list.n_entries[i] * sizeof *all);
            *n += list.n_entries[i];
        }
    }
    *out = all;
out:
    fz_free(list.files);
    fz_map_dispose(&seen);
    return rc;
}

enum fz_code fz_scan_open_parquet(struct fz_store *store, const struct fz_data_file *data, struct fz_cancel *cancel,
                                  struct fz_parquet_file **out, struct fz_err *err) {
    struct fz_err first = FZ_ERR_INIT, ignored = FZ_ERR_INIT;
    int64_t size = 0;
    enum fz_code rc = fz_parquet_file_open(store, data->file_path, data->file_size_in_bytes, cancel, out, &first);
    bool lied = rc == FZ_CORRUPT && fz_store_size(store, data->file_path, &size, &ignored) == FZ_OK &&
                size != data->file_size_in_bytes;
    if (lied) {
        return fz_parquet_file_open(store, data->file_path, size, cancel, out, err);
    }
    if (rc != FZ_OK && err && err->code == FZ_OK) {
        *err = first;
    }
    return rc;
}
