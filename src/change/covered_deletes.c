// Delete files that a change of whole files takes with it: Iceberg drops not only the data files of a row filter or of replaced
// partitions but also the delete files in there, whose rows are all gone. Used by DELETE without reading, INSERT OVERWRITE, TRUNCATE.
#include "change/change_priv.h"

enum fz_code fz_change_covered_deletes(const struct fz_change_target *target,
                                       bool (*covers)(void *ctx, const struct fz_data_file *file), void *ctx,
                                       struct fz_arena *arena, struct fz_data_file **out, size_t *n,
                                       struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_manifest_entry *entries = NULL;
    size_t n_entries = 0;
    const struct fz_snapshot *head = fz_branch_head(target->metadata, target->branch);
    *out = NULL;
    *n = 0;
    if (head == NULL || target->metadata->format_version < 2) {
        return FZ_OK;
    }
    FZ_TRY(fz_scan_entries(target->store, target->metadata, head->snapshot_id, arena, &entries, &n_entries, err));
    struct fz_data_file *found = fz_arena_array(arena, n_entries ? n_entries : 1, sizeof *found);
    if (found == NULL) {
        rc = fz_fail_nomem(err, n_entries * sizeof *found);
        goto out;
    }
    for (size_t i = 0; i < n_entries; i++) {
        if (entries[i].file.content != FZ_CONTENT_DATA && covers(ctx, &entries[i].file)) {
            found[(*n)++] = entries[i].file;
        }
    }
    *out = found;
out:
    return rc;
}
