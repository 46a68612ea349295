// Planning: manifest list, manifests that may matter, files that may matter, and their deletes (spec "Scan Planning").
#include "table/prune.h"

#include "scan/scan_priv.h"

struct fz_scan_plan *fz_scan_plan_ref(struct fz_scan_plan *plan) {
    atomic_fetch_add(&plan->refs, 1);
    return plan;
}

static void free_plan(struct fz_scan_plan_impl *impl) {
    for (size_t i = 0; impl->states && i < impl->base.n_files; i++) {
        fz_positions_free(impl->states[i].owned);
        fz_free(impl->states[i].sorted);
        pthread_mutex_destroy(&impl->states[i].lock);
    }
    for (size_t i = 0; i < impl->n_position_files; i++) {
        fz_scan_position_file_clear(&impl->position_files[i]);
        pthread_mutex_destroy(&impl->position_files[i].lock);
    }
    for (size_t i = 0; i < impl->n_groups; i++) {
        fz_map_dispose(&impl->groups[i].keys);
        fz_free(impl->groups[i].files);
        fz_free(impl->groups[i].slots);
        pthread_mutex_destroy(&impl->groups[i].lock);
    }
    fz_free(impl->position_files);
    fz_free(impl->groups);
    for (size_t i = 0; i < impl->n_arenas; i++) {
        fz_arena_dispose(&impl->arenas[i]);
    }
    fz_free(impl->arenas);
    fz_map_dispose(&impl->file_by_path);
    fz_name_mapping_free(impl->names);
    if (impl->base.metadata) {
        fz_metadata_unref(impl->base.metadata);
    }
    struct fz_arena arena = impl->base.arena;
    fz_arena_dispose(&arena);
    fz_free(impl);
}

void fz_scan_plan_unref(struct fz_scan_plan *plan) {
    if (plan && atomic_fetch_sub(&plan->refs, 1) == 1) {
        free_plan(fz_scan_impl(plan));
    }
}

// Which manifests to read: those with live entries that the partition summaries do not rule out.
static enum fz_code choose_manifests(struct fz_scan_plan_impl *impl, const struct fz_expr *filter,
                                     const struct fz_scan_manifests *list, uint8_t **out, struct fz_err *err) {
    uint8_t *keep = fz_arena_alloc(&impl->base.arena, list->n_files ? list->n_files : 1);
    if (!keep) {
        return fz_fail_nomem(err, list->n_files);
    }
    for (size_t i = 0; i < list->n_files; i++) {
        const struct fz_manifest_file *file = &list->files[i];
        bool live = file->added_files_count != 0 || file->existing_files_count != 0; // -1: not known
        keep[i] = live && fz_prune_manifest(filter, impl->base.metadata, file);
        impl->base.manifests_read += keep[i];
        impl->base.manifests_skipped += !keep[i];
    }
    *out = keep;
    return FZ_OK;
}

// There is room for it.
static enum fz_code choose_file(struct fz_scan_plan *plan, const struct fz_expr *filter,
                                const struct fz_manifest_entry *entry, struct fz_err *err) {
    if (!fz_prune_file(filter, plan->metadata, &entry->file)) {
        plan->files_skipped++;
        plan->bytes_skipped += entry->file.file_size_in_bytes;
        return FZ_OK;
    }
    if (plan->n_files >= INT32_MAX) {
        return fz_fail(err, FZ_LIMIT, "the snapshot has more than %d data files", INT32_MAX);
    }
    plan->files[plan->n_files] = (struct fz_scan_file){.file_ix = (int32_t)plan->n_files, .entry = entry};
    plan->n_files++;
    plan->bytes_kept += entry->file.file_size_in_bytes;
    plan->rows_kept += entry->file.record_count;
    return FZ_OK;
}

static enum fz_code choose_appended(struct fz_scan_plan *plan, const struct fz_scan_options *options,
                                    const struct fz_snapshot *end, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_manifest_entry **entries;
    size_t n;
    FZ_TRY(fz_scan_appended(options, end, &plan->arena, &entries, &n, err));
    plan->files = fz_arena_array(&plan->arena, n + 1, sizeof *plan->files);
    if (!plan->files) {
        return fz_fail_nomem(err, n * sizeof *plan->files);
    }
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(choose_file(plan, options->filter, entries[i], err));
    }
out:
    return rc;
}

// Data files that may matter become files of the plan; delete entries are collected.
static enum fz_code choose_files(struct fz_scan_plan_impl *impl, const struct fz_expr *filter,
                                 const struct fz_scan_manifests *list, const struct fz_manifest_entry ***deletes,
                                 size_t *n_deletes, struct fz_err *err) {
    struct fz_scan_plan *plan = &impl->base;
    size_t n_data = 0, n_delete = 0;
    for (size_t i = 0; i < list->n_files; i++) {
        for (size_t e = 0; e < list->n_entries[i]; e++) {
            bool data = list->entries[i][e].file.content == FZ_CONTENT_DATA;
            n_data += data;
            n_delete += !data;
        }
    }
    plan->files = fz_arena_array(&plan->arena, n_data + 1, sizeof *plan->files);
    const struct fz_manifest_entry **found = fz_arena_array(&plan->arena, n_delete + 1, sizeof *found);
    if (!plan->files || !found) {
        return fz_fail_nomem(err, (n_data + n_delete) * sizeof *plan->files);
    }
    *n_deletes = 0;
    for (size_t i = 0; i < list->n_files; i++) {
        for (size_t e = 0; e < list->n_entries[i]; e++) {
            const struct fz_manifest_entry *entry = &list->entries[i][e];
            if (entry->status == FZ_ENTRY_DELETED) {
                continue;
            }
            if (entry->file.content != FZ_CONTENT_DATA) {
                found[(*n_deletes)++] = entry;
            } else {
                enum fz_code rc = choose_file(plan, filter, entry, err);
                if (rc != FZ_OK) {
                    return rc;
                }
            }
        }
    }
    *deletes = found;
    return FZ_OK;
}

static enum fz_code index_paths(struct fz_scan_plan_impl *impl, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_plan *plan = &impl->base;
    impl->states = fz_arena_array(&plan->arena, plan->n_files + 1, sizeof *impl->states);
    if (!impl->states) {
        return fz_fail_nomem(err, plan->n_files * sizeof *impl->states);
    }
    for (size_t i = 0; i < plan->n_files; i++) {
        pthread_mutex_init(&impl->states[i].lock, NULL);
    }
    for (size_t i = 0; i < plan->n_files; i++) {
        struct fz_map_entry *slot = NULL;
        bool added = false;
        FZ_TRY(fz_map_put(&impl->file_by_path, fz_str_of(plan->files[i].entry->file.file_path), &slot, &added, err));
        if (added) {
            slot->value.i64 = (int64_t)i;
        }
    }
out:
    return rc;
}

enum fz_code fz_scan_plan_of_files(struct fz_store *store, struct fz_metadata *metadata,
                                   const struct fz_manifest_entry *const *entries, size_t n, struct fz_scan_plan **out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_plan_impl *impl = NULL;
    FZ_NEW(impl, err);
    impl->base.refs = 1;
    impl->base.metadata = fz_metadata_ref(metadata);
    impl->base.schema = fz_metadata_current_schema(metadata);
    impl->base.snapshot_id = -1;
    impl->store = store;
    impl->base.files = fz_arena_array(&impl->base.arena, n + 1, sizeof *impl->base.files);
    if (!impl->base.files) {
        rc = fz_fail_nomem(err, n * sizeof *impl->base.files);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(choose_file(&impl->base, NULL, entries[i], err));
    }
    FZ_TRY(index_paths(impl, err));
    FZ_TRY(fz_scan_attach(impl, NULL, 0, err));
    *out = &impl->base;
    impl = NULL;
out:
    if (impl) {
        free_plan(impl);
    }
    return rc;
}

enum fz_code fz_scan_plan_new(const struct fz_scan_options *options, struct fz_scan_plan **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_plan_impl *impl = NULL;
    struct fz_scan_manifests list = {0};
    uint8_t *keep = NULL;
    const struct fz_manifest_entry **deletes = NULL;
    size_t n_deletes = 0;
    FZ_NEW(impl, err);
    impl->base.refs = 1;
    impl->base.metadata = fz_metadata_ref(options->metadata);
    impl->base.schema = options->schema ? options->schema : fz_metadata_current_schema(options->metadata);
    impl->base.snapshot_id = -1;
    impl->store = options->store;
    impl->filter = options->filter;
    if (!impl->base.schema) {
        rc = fz_fail(err, FZ_CORRUPT, "table metadata %s: the current schema is not among the schemas",
                     options->metadata->metadata_location ? options->metadata->metadata_location : "");
        goto out;
    }
    const char *mapping = fz_metadata_property(options->metadata, "schema.name-mapping.default", NULL);
    if (mapping) {
        FZ_TRY(fz_name_mapping_new(mapping, &impl->names, err));
    }
    const struct fz_snapshot *snapshot = options->snapshot_id < 0
                                             ? fz_metadata_current_snapshot(options->metadata)
                                             : fz_metadata_snapshot(options->metadata, options->snapshot_id);
    if (!snapshot && options->snapshot_id >= 0) {
        rc = fz_fail(err, FZ_NOT_FOUND, "the table has no snapshot %lld", (long long)options->snapshot_id);
        goto out;
    }
    if (snapshot && options->appended) {
        impl->base.snapshot_id = snapshot->snapshot_id;
        FZ_TRY(choose_appended(&impl->base, options, snapshot, err));
    } else if (snapshot) {
        impl->base.snapshot_id = snapshot->snapshot_id;
        FZ_TRY(fz_scan_manifest_list(options->store, snapshot, &impl->base.arena, &list, err));
        FZ_TRY(choose_manifests(impl, options->filter, &list, &keep, err));
        FZ_TRY(fz_scan_manifests_read(options->store, options->metadata, keep, &impl->base.arena, impl, options->cancel,
                                      &list, err));
        FZ_TRY(choose_files(impl, options->filter, &list, &deletes, &n_deletes, err));
    }
    FZ_TRY(index_paths(impl, err));
    FZ_TRY(fz_scan_attach(impl, deletes, n_deletes, err));
    *out = &impl->base;
    impl = NULL;
out:
    if (impl) {
        free_plan(impl);
    }
    return rc;
}
