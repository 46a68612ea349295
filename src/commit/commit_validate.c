// Conflict validation (iceberg-facts 8.2): what the snapshots between the scan and the branch head added and removed,
// against what this commit relies on. Messages are those of Java, so that people find them.
#include "commit/commit_priv.h"
#include "table/prune.h"

enum { FIELD_FILE_PATH = 2147483546 };

enum operation { OP_APPEND = 1, OP_OVERWRITE = 2, OP_DELETE = 4, OP_REPLACE = 8, OP_OTHER = 16 };

struct change { // one entry that a snapshot of the history wrote
    int operation;
    const struct fz_manifest_entry *entry;
};

struct history {
    struct fz_commit *c;
    struct fz_attempt *a;
    struct change *items;
    size_t n, cap;
    struct fz_buf filter_text;
    struct fz_err *err;
};

static int operation_of(const struct fz_snapshot *s) {
    static const struct {
        const char *name;
        int operation;
    } names[] = {{"append", OP_APPEND}, {"overwrite", OP_OVERWRITE}, {"delete", OP_DELETE}, {"replace", OP_REPLACE}};
    for (size_t i = 0; s->operation != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(s->operation, names[i].name) == 0) {
            return names[i].operation;
        }
    }
    return OP_OTHER | OP_APPEND | OP_OVERWRITE | OP_DELETE | OP_REPLACE; // unknown: may be anything
}

static enum fz_code load_snapshot(struct history *h, const struct fz_snapshot *s) {
    enum fz_code rc = FZ_OK;
    struct fz_manifest_file *files;
    size_t n_files;
    FZ_TRY(fz_commit_read_list(h->c, &h->a->arena, s, &files, &n_files, h->err));
    for (size_t i = 0; i < n_files; i++) {
        struct fz_manifest_entry *entries;
        size_t n;
        if (files[i].added_snapshot_id != s->snapshot_id) {
            continue;
        }
        FZ_TRY(fz_cancel_check(h->c->request->cancel, h->err));
        FZ_TRY(fz_commit_read_manifest(h->c, &h->a->arena, h->a->head, &files[i], &entries, &n, h->err));
        FZ_TRY(fz_grow((void **)&h->items, &h->cap, h->n + n, sizeof *h->items, h->err));
        for (size_t j = 0; j < n; j++) {
            if (entries[j].snapshot_id == s->snapshot_id && entries[j].status != FZ_ENTRY_EXISTING) {
                h->items[h->n++] = (struct change){operation_of(s), &entries[j]};
            }
        }
    }
out:
    return rc;
}

static enum fz_code load_history(struct history *h) {
    enum fz_code rc = FZ_OK;
    int64_t start = h->c->request->scanned_snapshot_id;
    const struct fz_snapshot *at = h->a->parent;
    for (size_t steps = 0; at != NULL && at->snapshot_id != start; steps++) {
        if (steps > h->a->head->n_snapshots) {
            return fz_fail(h->err, FZ_CORRUPT, "snapshots of the table are their own ancestors");
        }
        FZ_TRY(load_snapshot(h, at));
        int64_t parent = at->parent_snapshot_id;
        const struct fz_snapshot *next = parent >= 0 ? fz_metadata_snapshot(h->a->head, parent) : NULL;
        if (start >= 0 && next == NULL) {
            rc = fz_fail(h->err, FZ_CONFLICT,
                         "Cannot determine history between starting snapshot %lld and the last known ancestor %lld",
                         (long long)start, (long long)at->snapshot_id);
            goto out;
        }
        at = next;
    }
    if (start >= 0 && h->a->parent == NULL) {
        rc = fz_fail(h->err, FZ_CONFLICT, "Cannot determine history: the branch %s has no snapshot any more",
                     h->c->branch);
    }
out:
    return rc;
}

static const char *filter_text(struct history *h) {
    if (h->filter_text.len == 0) {
        if (h->c->request->conflict_filter != NULL) {
            fz_expr_print(&h->filter_text, h->c->request->conflict_filter);
        } else {
            fz_buf_puts(&h->filter_text, "true");
        }
    }
    return h->filter_text.ptr != NULL ? h->filter_text.ptr : "?";
}

static bool is_added(const struct change *x, bool deletes) {
    return x->entry->status == FZ_ENTRY_ADDED && (x->entry->file.content != FZ_CONTENT_DATA) == deletes;
}

static bool matches(struct history *h, const struct fz_data_file *file) {
    return fz_prune_file(h->c->request->conflict_filter, h->a->head, file);
}

static enum fz_code no_conflicting_data(struct history *h) {
    for (size_t i = 0; i < h->n; i++) {
        const struct change *x = &h->items[i];
        if ((x->operation & (OP_APPEND | OP_OVERWRITE)) && is_added(x, false) && matches(h, &x->entry->file)) {
            return fz_fail(h->err, FZ_CONFLICT, "Found conflicting files that can contain records matching %s: [%s]",
                           filter_text(h), x->entry->file.file_path);
        }
    }
    return FZ_OK;
}

static enum fz_code no_conflicting_deletes(struct history *h) {
    for (size_t i = 0; i < h->n; i++) {
        const struct change *x = &h->items[i];
        if ((x->operation & (OP_OVERWRITE | OP_DELETE)) && is_added(x, true) && matches(h, &x->entry->file)) {
            return fz_fail(h->err, FZ_CONFLICT,
                           "Found new conflicting delete files that can apply to records matching %s: [%s]",
                           filter_text(h), x->entry->file.file_path);
        }
    }
    return FZ_OK;
}

static enum fz_code no_deleted_data(struct history *h) {
    for (size_t i = 0; i < h->n; i++) {
        const struct change *x = &h->items[i];
        if ((x->operation & (OP_OVERWRITE | OP_REPLACE | OP_DELETE)) && x->entry->status == FZ_ENTRY_DELETED &&
            x->entry->file.content == FZ_CONTENT_DATA && matches(h, &x->entry->file)) {
            return fz_fail(h->err, FZ_CONFLICT,
                           "Found conflicting deleted files that can contain records matching %s: [%s]", filter_text(h),
                           x->entry->file.file_path);
        }
    }
    return FZ_OK;
}

static enum fz_code referenced_files_exist(struct history *h) {
    enum fz_code rc = FZ_OK;
    const struct fz_commit_request *r = h->c->request;
    struct fz_map wanted = {0};
    int operations = OP_OVERWRITE | OP_REPLACE | (r->validate_deletes_too ? OP_DELETE : 0);
    for (size_t i = 0; i < r->n_referenced_files; i++) {
        struct fz_map_entry *entry;
        FZ_TRY(fz_map_put(&wanted, fz_str_of(r->referenced_files[i]), &entry, NULL, h->err));
    }
    for (size_t i = 0; i < h->n && r->n_referenced_files > 0; i++) {
        const struct change *x = &h->items[i];
        if ((x->operation & operations) && x->entry->status == FZ_ENTRY_DELETED &&
            x->entry->file.content == FZ_CONTENT_DATA &&
            fz_map_find(&wanted, fz_str_of(x->entry->file.file_path)) != NULL) {
            rc = fz_fail(h->err, FZ_CONFLICT, "Cannot commit, missing data files: [%s]", x->entry->file.file_path);
            goto out;
        }
    }
out:
    fz_map_dispose(&wanted);
    return rc;
}

static enum fz_code no_concurrent_vectors(struct history *h) {
    enum fz_code rc = FZ_OK;
    const struct fz_commit_request *r = h->c->request;
    struct fz_map targets = {0};
    for (size_t i = 0; i < r->n_added; i++) {
        struct fz_map_entry *entry;
        if (fz_commit_is_dv(&r->added[i]) && r->added[i].referenced_data_file != NULL) {
            FZ_TRY(fz_map_put(&targets, fz_str_of(r->added[i].referenced_data_file), &entry, NULL, h->err));
        }
    }
    for (size_t i = 0; i < h->n && targets.n_live > 0; i++) {
        const struct change *x = &h->items[i];
        const char *target = x->entry->file.referenced_data_file;
        if ((x->operation & (OP_OVERWRITE | OP_DELETE | OP_REPLACE)) && is_added(x, true) &&
            fz_commit_is_dv(&x->entry->file) && target != NULL && fz_map_find(&targets, fz_str_of(target)) != NULL) {
            rc = fz_fail(h->err, FZ_CONFLICT, "Found concurrently added DV for %s: %s", target,
                         x->entry->file.file_path);
            goto out;
        }
    }
out:
    fz_map_dispose(&targets);
    return rc;
}

static bool same_partition(const struct fz_data_file *a, const struct fz_data_file *b) {
    if (a->spec_id != b->spec_id) {
        return false;
    }
    bool empty_a = a->partition.type == NULL || a->partition.is_null,
         empty_b = b->partition.type == NULL || b->partition.is_null;
    if (empty_a || empty_b) {
        return true; // not known: assume so
    }
    if (a->partition.u.nested.n != b->partition.u.nested.n) {
        return false;
    }
    for (size_t i = 0; i < a->partition.u.nested.n; i++) {
        const struct fz_value *x = &a->partition.u.nested.items[i], *y = &b->partition.u.nested.items[i];
        if (x->is_null != y->is_null || (!x->is_null && x->type->id == y->type->id && !fz_value_equal(x, y))) {
            return false;
        }
    }
    return true;
}

static const struct fz_id_bytes *path_bound(const struct fz_id_bytes *items, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (items[i].id == FIELD_FILE_PATH) {
            return &items[i];
        }
    }
    return NULL;
}

static int order(struct fz_str a, struct fz_str b) {
    size_t n = a.len < b.len ? a.len : b.len;
    int c = n > 0 ? memcmp(a.ptr, b.ptr, n) : 0;
    return c != 0 ? c : a.len < b.len ? -1 : a.len > b.len;
}

// May the delete file apply to the data file? Sequence numbers need no look: the delete is newer.
static bool applies(struct history *h, const struct fz_data_file *del, const struct fz_data_file *data) {
    if (del->referenced_data_file != NULL) {
        return strcmp(del->referenced_data_file, data->file_path) == 0;
    }
    const struct fz_partition_spec *spec = fz_metadata_spec(h->a->head, del->spec_id);
    bool global = del->content == FZ_CONTENT_EQUALITY_DELETES && spec != NULL && spec->n_fields == 0;
    if (!global && !same_partition(del, data)) {
        return false;
    }
    if (del->content == FZ_CONTENT_EQUALITY_DELETES) {
        return true;
    }
    const struct fz_id_bytes *low = path_bound(del->lower_bounds, del->n_lower_bounds),
                             *high = path_bound(del->upper_bounds, del->n_upper_bounds);
    struct fz_str path = fz_str_of(data->file_path);
    return (low == NULL || order(low->bytes, path) <= 0) && (high == NULL || order(path, high->bytes) <= 0);
}

// `pinned`: the new files keep the age of the old ones, so equality deletes added meanwhile still apply to them.
static enum fz_code no_new_deletes_for_removed(struct history *h, bool pinned) {
    const struct fz_commit_request *r = h->c->request;
    for (size_t i = 0; i < h->n; i++) {
        const struct change *x = &h->items[i];
        if (!(x->operation & (OP_OVERWRITE | OP_DELETE)) || !is_added(x, true) ||
            (pinned && x->entry->file.content == FZ_CONTENT_EQUALITY_DELETES)) {
            continue;
        }
        for (size_t j = 0; j < r->n_removed; j++) {
            if (r->removed[j].content == FZ_CONTENT_DATA && applies(h, &x->entry->file, &r->removed[j])) {
                return fz_fail(h->err, FZ_CONFLICT, "Cannot commit, found new %sdelete for replaced data file: %s",
                               pinned ? "position " : "", r->removed[j].file_path);
            }
        }
    }
    return FZ_OK;
}

static enum fz_code check(struct history *h) {
    enum fz_code rc = FZ_OK;
    const struct fz_commit_request *r = h->c->request;
    FZ_TRY(referenced_files_exist(h));
    switch (r->kind) {
    case FZ_COMMIT_APPEND:
        break;
    case FZ_COMMIT_ROW_DELTA:
        if (r->validate_deletes_too) {
            FZ_TRY(no_conflicting_deletes(h));
        }
        FZ_TRY(no_concurrent_vectors(h));
        break;
    case FZ_COMMIT_OVERWRITE:
        if (r->replace_partitions) { // which files go was not decided by reading them
            FZ_TRY(no_conflicting_deletes(h));
            FZ_TRY(no_deleted_data(h));
        }
        FZ_TRY(no_new_deletes_for_removed(h, false));
        break;
    case FZ_COMMIT_REPLACE:
        FZ_TRY(no_new_deletes_for_removed(h, r->added_data_sequence_number > 0));
        FZ_TRY(no_concurrent_vectors(h));
        break;
    }
    if (r->isolation == FZ_ISOLATION_SERIALIZABLE && r->kind != FZ_COMMIT_REPLACE) {
        FZ_TRY(no_conflicting_data(h));
    }
out:
    return rc;
}

// What the table's format version allows (iceberg-facts 8.3); looked at on each attempt, the table may have been upgraded.
static enum fz_code check_version(struct fz_commit *c, struct fz_attempt *a, struct fz_err *err) {
    int version = a->head->format_version;
    for (size_t i = 0; i < c->request->n_added; i++) {
        const struct fz_data_file *f = &c->request->added[i];
        if (f->content == FZ_CONTENT_DATA) {
            continue;
        }
        if (version == 1) {
            return fz_fail(err, FZ_UNSUPPORTED,
                           "deletes are supported in v2 tables and above; upgrade the table with 'format-version'='2'");
        }
        if (version == 2 && fz_commit_is_dv(f)) {
            return fz_fail(err, FZ_UNSUPPORTED, "must not use deletion vectors for position deletes in a v2 table: %s",
                           f->file_path);
        }
        if (version >= 3 && f->content == FZ_CONTENT_POSITION_DELETES && !fz_commit_is_dv(f)) {
            return fz_fail(err, FZ_UNSUPPORTED, "must use deletion vectors for position deletes in a v%d table: %s",
                           version, f->file_path);
        }
    }
    return FZ_OK;
}

enum fz_code fz_commit_validate(struct fz_commit *c, struct fz_attempt *a, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct history h = {.c = c, .a = a, .err = err};
    FZ_TRY(check_version(c, a, err));
    bool rewrites = c->request->kind == FZ_COMMIT_REPLACE; // must never bring deleted rows back, whatever the level
    bool nothing_to_check = c->request->kind == FZ_COMMIT_APPEND && c->request->n_referenced_files == 0 &&
                            c->request->isolation != FZ_ISOLATION_SERIALIZABLE;
    if ((c->request->isolation == FZ_ISOLATION_NONE && !rewrites) || nothing_to_check) {
        goto out;
    }
    FZ_TRY(load_history(&h));
    FZ_TRY(check(&h));
out:
    fz_free(h.items);
    fz_buf_dispose(&h.filter_text);
    return rc;
}
