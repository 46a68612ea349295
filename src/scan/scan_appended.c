// What was appended between two snapshots (an incremental append scan): the data files that snapshots of the operation append have added,
// whether they are still there or not. Each such snapshot's own manifest list has the manifests it wrote.
#include "scan/scan_priv.h"

static enum fz_code added_by(const struct fz_scan_options *options, const struct fz_snapshot *snapshot,
                             struct fz_arena *arena, const struct fz_manifest_entry ***found, size_t *n, size_t *cap,
                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_manifests list = {0};
    FZ_TRY(fz_scan_manifest_list(options->store, snapshot, arena, &list, err));
    uint8_t *keep = fz_arena_alloc(arena, list.n_files + 1);
    if (!keep) {
        return fz_fail_nomem(err, list.n_files);
    }
    for (size_t i = 0; i < list.n_files; i++) {
        keep[i] = list.files[i].content == 0 && list.files[i].added_snapshot_id == snapshot->snapshot_id;
    }
    FZ_TRY(fz_scan_manifests_read(options->store, options->metadata, keep, arena, NULL, options->cancel, &list, err));
    for (size_t i = 0; i < list.n_files; i++) {
        for (size_t e = 0; e < list.n_entries[i]; e++) {
            const struct fz_manifest_entry *entry = &list.entries[i][e];
            if (entry->status == FZ_ENTRY_ADDED && entry->snapshot_id == snapshot->snapshot_id &&
                entry->file.content == FZ_CONTENT_DATA) {
                FZ_TRY(fz_grow((void **)found, cap, *n + 1, sizeof **found, err));
                (*found)[(*n)++] = entry;
            }
        }
    }
out:
    return rc;
}

enum fz_code fz_scan_appended(const struct fz_scan_options *options, const struct fz_snapshot *end,
                              struct fz_arena *arena, const struct fz_manifest_entry ***out, size_t *n,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_manifest_entry **found = NULL;
    size_t n_found = 0, cap = 0;
    const struct fz_snapshot *at = end;
    for (size_t steps = 0; at && at->snapshot_id != options->after_snapshot_id; steps++) {
        FZ_TRY(fz_cancel_check(options->cancel, err));
        if (steps > options->metadata->n_snapshots) {
            rc = fz_fail(err, FZ_CORRUPT, "snapshot %lld is its own ancestor", (long long)at->snapshot_id);
            goto out;
        }
        if (at->operation && strcmp(at->operation, "append") == 0) {
            FZ_TRY(added_by(options, at, arena, &found, &n_found, &cap, err));
        }
        at = at->parent_snapshot_id >= 0 ? fz_metadata_snapshot(options->metadata, at->parent_snapshot_id) : NULL;
    }
    *out = fz_arena_memdup(arena, found, n_found * sizeof *found);
    *n = n_found;
    rc = *out ? FZ_OK : fz_fail_nomem(err, n_found * sizeof *found);
out:
    fz_free(found);
    return rc;
}
