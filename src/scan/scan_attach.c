// Which deletes apply to which data file (iceberg-facts 7.10): deletion vectors and position deletes by path or partition, data
// sequence number <= theirs; equality deletes by partition or everywhere, data sequence number < theirs.
#include "scan/scan_priv.h"

#include "data/value.h"

// A delete, and the next one under the same key.
struct link {
    const struct fz_manifest_entry *entry;
    size_t position_file; // index, position deletes only
    struct link *next;
};
struct index {
    struct fz_map dv_by_path, by_path, by_partition; // value.ptr = struct link *
    struct fz_map groups; // (reach, ids) → value.i64 = index of the equality group
    struct fz_map groups_by_reach; // reach → value.ptr = struct group_link *
};
struct group_link {
    size_t group;
    struct group_link *next;
};

static enum fz_code push_link(struct fz_map *map, struct fz_str key, const struct fz_manifest_entry *entry,
                              size_t position_file, struct fz_arena *arena, struct fz_err *err) {
    struct fz_map_entry *slot = NULL;
    bool added = false;
    enum fz_code rc = fz_map_put(map, key, &slot, &added, err);
    struct link *link = FZ_ARENA_NEW(arena, struct link);
    if (rc != FZ_OK || !link) {
        return rc != FZ_OK ? rc : fz_fail_nomem(err, sizeof *link);
    }
    *link = (struct link){entry, position_file, added ? NULL : slot->value.ptr};
    slot->value.ptr = link;
    return FZ_OK;
}

// Spec id and partition tuple as bytes: equal exactly when the partitions are.
static enum fz_code partition_key(const struct fz_data_file *file, struct fz_buf *key, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    fz_buf_clear(key);
    fz_buf_append(key, &file->spec_id, sizeof file->spec_id);
    for (size_t i = 0; !file->partition.is_null && i < file->partition.u.nested.n; i++) {
        const struct fz_value *value = &file->partition.u.nested.items[i];
        struct fz_buf bytes = {0};
        fz_buf_putc(key, value->is_null ? 0 : 1);
        if (!value->is_null) {
            rc = fz_value_to_bound(&bytes, value, err);
            uint32_t len = (uint32_t)bytes.len;
            fz_buf_append(key, &len, sizeof len);
            fz_buf_append(key, bytes.ptr, bytes.len);
            fz_buf_dispose(&bytes);
        }
        FZ_TRY(rc);
    }
    FZ_TRY(fz_buf_check(key, err));
out:
    return rc;
}

static bool is_partitioned(const struct fz_metadata *metadata, int32_t spec_id) {
    const struct fz_partition_spec *spec = fz_metadata_spec(metadata, spec_id);
    for (size_t i = 0; spec && i < spec->n_fields; i++) {
        if (spec->fields[i].transform.kind != FZ_TRANSFORM_VOID) {
            return true;
        }
    }
    return false;
}

// The one data file a position delete file is about, when it says so: named, or lower = upper bound of the path column.
static struct fz_str only_path(const struct fz_data_file *file) {
    if (file->referenced_data_file) {
        return fz_str_of(file->referenced_data_file);
    }
    for (size_t l = 0; l < file->n_lower_bounds; l++) {
        for (size_t u = 0; file->lower_bounds[l].id == FZ_ID_DELETE_FILE_PATH && u < file->n_upper_bounds; u++) {
            if (file->upper_bounds[u].id == FZ_ID_DELETE_FILE_PATH &&
                fz_str_eq(file->lower_bounds[l].bytes, file->upper_bounds[u].bytes)) {
                return file->lower_bounds[l].bytes; // a cut path would have different bounds
            }
        }
    }
    return (struct fz_str){0};
}

static enum fz_code add_equality(struct fz_scan_plan_impl *impl, struct index *index,
                                 const struct fz_manifest_entry *entry, struct fz_buf *key, size_t *groups_cap,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_map_entry *slot = NULL;
    bool added = false;
    if (entry->file.n_equality_ids == 0) {
        return fz_fail(err, FZ_CORRUPT, "equality delete file %s names no equality ids", entry->file.file_path);
    }
    if (is_partitioned(impl->base.metadata, entry->file.spec_id)) {
        FZ_TRY(partition_key(&entry->file, key, err));
    } else {
        fz_buf_clear(key);
        fz_buf_puts(key, "everywhere");
    }
    size_t reach_len = key->len;
    fz_buf_append(key, entry->file.equality_ids, entry->file.n_equality_ids * sizeof *entry->file.equality_ids);
    FZ_TRY(fz_buf_check(key, err));
    FZ_TRY(fz_map_put(&index->groups, (struct fz_str){key->ptr, key->len}, &slot, &added, err));
    if (added) {
        FZ_TRY(fz_grow((void **)&impl->groups, groups_cap, impl->n_groups + 1, sizeof *impl->groups, err));
        struct fz_scan_equality_group *group = &impl->groups[impl->n_groups];
        *group = (struct fz_scan_equality_group){.ids = entry->file.equality_ids, .n_ids = entry->file.n_equality_ids};
        pthread_mutex_init(&group->lock, NULL);
        slot->value.i64 = (int64_t)impl->n_groups++;
        struct group_link *link = FZ_ARENA_NEW(&impl->base.arena, struct group_link);
        if (!link) {
            rc = fz_fail_nomem(err, sizeof *link);
            goto out;
        }
        link->group = impl->n_groups - 1;
        struct fz_map_entry *reach = NULL;
        FZ_TRY(fz_map_put(&index->groups_by_reach, (struct fz_str){key->ptr, reach_len}, &reach, &added, err));
        link->next = added ? NULL : reach->value.ptr;
        reach->value.ptr = link;
        slot = fz_map_find(&index->groups, (struct fz_str){key->ptr, key->len});
    }
    struct fz_scan_equality_group *group = &impl->groups[slot->value.i64];
    FZ_TRY(fz_grow((void **)&group->files, &group->files_cap, group->n_files + 1, sizeof *group->files, err));
    group->files[group->n_files++] = entry;
    if (entry->sequence_number > group->max_sequence_number) {
        group->max_sequence_number = entry->sequence_number;
    }
out:
    return rc;
}

static enum fz_code add_positions(struct fz_scan_plan_impl *impl, struct index *index,
                                  const struct fz_manifest_entry *entry, struct fz_buf *key, size_t *files_cap,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (strcmp(entry->file.file_format, "PUFFIN") == 0) {
        if (!entry->file.referenced_data_file) {
            return fz_fail(err, FZ_CORRUPT, "deletion vector in %s names no data file", entry->file.file_path);
        }
        return push_link(&index->dv_by_path, fz_str_of(entry->file.referenced_data_file), entry, 0, &impl->base.arena,
                         err);
    }
    FZ_TRY(fz_grow((void **)&impl->position_files, files_cap, impl->n_position_files + 1, sizeof *impl->position_files,
                   err));
    struct fz_scan_position_file *file = &impl->position_files[impl->n_position_files];
    *file = (struct fz_scan_position_file){.entry = entry};
    pthread_mutex_init(&file->lock, NULL);
    impl->n_position_files++;
    struct fz_str path = only_path(&entry->file);
    if (path.ptr) {
        FZ_TRY(push_link(&index->by_path, path, entry, impl->n_position_files - 1, &impl->base.arena, err));
    } else {
        FZ_TRY(partition_key(&entry->file, key, err));
        FZ_TRY(push_link(&index->by_partition, (struct fz_str){key->ptr, key->len}, entry, impl->n_position_files - 1,
                         &impl->base.arena, err));
    }
out:
    return rc;
}

struct found { // what applies to one file
    const struct fz_manifest_entry **entries;
    size_t n, cap;
    size_t *position_files, n_position_files, position_cap;
    size_t *groups, n_groups, groups_cap;
};

static enum fz_code take_entry(struct found *found, const struct fz_manifest_entry *entry, struct fz_err *err) {
    enum fz_code rc = fz_grow((void **)&found->entries, &found->cap, found->n + 1, sizeof *found->entries, err);
    if (rc == FZ_OK) {
        found->entries[found->n++] = entry;
    }
    return rc;
}

static enum fz_code take_positions(struct found *found, const struct fz_map *map, struct fz_str key,
                                   int64_t sequence_number, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_map_entry *slot = fz_map_find(map, key);
    for (struct link *link = slot ? slot->value.ptr : NULL; link; link = link->next) {
        if (link->entry->sequence_number >= sequence_number) {
            FZ_TRY(take_entry(found, link->entry, err));
            FZ_TRY(fz_grow((void **)&found->position_files, &found->position_cap, found->n_position_files + 1,
                           sizeof *found->position_files, err));
            found->position_files[found->n_position_files++] = link->position_file;
        }
    }
out:
    return rc;
}

static enum fz_code take_groups(struct fz_scan_plan_impl *impl, struct found *found, const struct index *index,
                                struct fz_str reach, int64_t sequence_number, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_map_entry *slot = fz_map_find(&index->groups_by_reach, reach);
    for (struct group_link *link = slot ? slot->value.ptr : NULL; link; link = link->next) {
        const struct fz_scan_equality_group *group = &impl->groups[link->group];
        if (group->max_sequence_number <= sequence_number) {
            continue;
        }
        FZ_TRY(fz_grow((void **)&found->groups, &found->groups_cap, found->n_groups + 1, sizeof *found->groups, err));
        found->groups[found->n_groups++] = link->group;
        for (size_t i = 0; i < group->n_files; i++) {
            if (group->files[i]->sequence_number > sequence_number) {
                FZ_TRY(take_entry(found, group->files[i], err));
            }
        }
    }
out:
    return rc;
}

static enum fz_code find_for_file(struct fz_scan_plan_impl *impl, const struct index *index, struct fz_scan_file *file,
                                  struct found *found, struct fz_buf *key, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t sequence_number = file->entry->sequence_number;
    struct fz_str path = fz_str_of(file->entry->file.file_path);
    struct fz_map_entry *dv = fz_map_find(&index->dv_by_path, path);
    found->n = found->n_position_files = found->n_groups = 0;
    if (dv) {
        struct link *link = dv->value.ptr;
        if (link->next) {
            return fz_fail(err, FZ_CORRUPT, "data file %s has more than one deletion vector", path.ptr);
        }
        if (link->entry->sequence_number < sequence_number) {
            return fz_fail(err, FZ_CORRUPT, "the deletion vector of %s has sequence number %lld, the data file %lld",
                           path.ptr, (long long)link->entry->sequence_number, (long long)sequence_number);
        }
        FZ_TRY(take_entry(found, link->entry, err));
    } else if (impl->n_position_files > 0) {
        FZ_TRY(take_positions(found, &index->by_path, path, sequence_number, err));
        FZ_TRY(partition_key(&file->entry->file, key, err));
        FZ_TRY(take_positions(found, &index->by_partition, (struct fz_str){key->ptr, key->len}, sequence_number, err));
    }
    if (impl->n_groups > 0) {
        FZ_TRY(take_groups(impl, found, index, FZ_STR_LIT("everywhere"), sequence_number, err));
        FZ_TRY(partition_key(&file->entry->file, key, err));
        FZ_TRY(take_groups(impl, found, index, (struct fz_str){key->ptr, key->len}, sequence_number, err));
    }
out:
    return rc;
}

// Copies what was found into the plan.
static enum fz_code keep_found(struct fz_scan_plan_impl *impl, struct fz_scan_file *file, const struct found *found,
                               struct fz_err *err) {
    struct fz_arena *arena = &impl->base.arena;
    struct fz_scan_file_state *state = &impl->states[file->file_ix];
    if (found->n == 0) {
        return FZ_OK;
    }
    file->deletes = fz_arena_memdup(arena, found->entries, found->n * sizeof *found->entries);
    state->position_files =
        fz_arena_memdup(arena, found->position_files, found->n_position_files * sizeof *found->position_files);
    state->groups = fz_arena_memdup(arena, found->groups, found->n_groups * sizeof *found->groups);
    if (!file->deletes || !state->position_files || !state->groups) {
        return fz_fail_nomem(err, found->n * sizeof *found->entries);
    }
    file->n_deletes = found->n;
    state->n_position_files = found->n_position_files;
    state->n_groups = found->n_groups;
    return FZ_OK;
}

enum fz_code fz_scan_attach(struct fz_scan_plan_impl *impl, const struct fz_manifest_entry *const *deletes, size_t n,
                            struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct index index = {0};
    struct found found = {0};
    struct fz_buf key = {0};
    size_t groups_cap = 0, files_cap = 0;
    for (size_t i = 0; i < n; i++) {
        if (deletes[i]->file.content == FZ_CONTENT_EQUALITY_DELETES) {
            FZ_TRY(add_equality(impl, &index, deletes[i], &key, &groups_cap, err));
        } else {
            FZ_TRY(add_positions(impl, &index, deletes[i], &key, &files_cap, err));
        }
    }
    for (size_t i = 0; i < impl->n_groups; i++) {
        FZ_TRY(fz_scan_group_prepare(impl, &impl->groups[i], err));
    }
    for (size_t i = 0; n > 0 && i < impl->base.n_files; i++) {
        FZ_TRY(find_for_file(impl, &index, &impl->base.files[i], &found, &key, err));
        FZ_TRY(keep_found(impl, &impl->base.files[i], &found, err));
    }
out:
    fz_map_dispose(&index.dv_by_path);
    fz_map_dispose(&index.by_path);
    fz_map_dispose(&index.by_partition);
    fz_map_dispose(&index.groups);
    fz_map_dispose(&index.groups_by_reach);
    fz_free(found.entries);
    fz_free(found.position_files);
    fz_free(found.groups);
    fz_buf_dispose(&key);
    return rc;
}
