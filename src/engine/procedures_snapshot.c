// Procedures that move refs between snapshots: rollback_*, set_current_snapshot, fast_forward, cherrypick_snapshot, publish_changes;
// and ancestors_of. iceberg-facts 3.1. All but a cherry-pick onto another base only change refs.
#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "commit/commit.h"
#include "engine/call_priv.h"
#include "scan/scan.h"

static int64_t parent_of(const struct fz_metadata *m, int64_t id) {
    const struct fz_snapshot *s = fz_metadata_snapshot(m, id);
    return s != NULL ? s->parent_snapshot_id : -1;
}

// Whether `id` is `head` or before it. A chain of parents is at most as long as the list of snapshots, whatever a damaged table says.
static bool is_ancestor(const struct fz_metadata *m, int64_t head, int64_t id) {
    for (size_t i = 0; head >= 0 && i <= m->n_snapshots; i++) {
        if (head == id) {
            return true;
        }
        head = parent_of(m, head);
    }
    return false;
}

// What a procedure wants a ref to become; checked again at each attempt.
struct move {
    const char *ref;
    int64_t to;
    int64_t must_be_ancestor_of_head; // -1, or a snapshot that the current head must descend from
    bool forward; // the current head must be an ancestor of `to`
    int64_t previous; // out
};

static enum fz_code build_move(void *ctx, struct fz_arena *arena, struct fz_metadata *current,
                               struct fz_update **updates, size_t *n, struct fz_err *err) {
    struct move *move = ctx;
    const struct fz_snapshot_ref *old = fz_metadata_find_ref(current, move->ref);
    int64_t head = old != NULL ? old->snapshot_id : -1;
    move->previous = head;
    *n = 0;
    if (old != NULL && old->is_tag) {
        return fz_fail(err, FZ_INVALID_ARG, "Ref %s is a tag, not a branch", move->ref);
    }
    if (move->must_be_ancestor_of_head >= 0 && !is_ancestor(current, head, move->must_be_ancestor_of_head)) {
        return fz_fail(err, FZ_INVALID_ARG,
                       "Cannot roll back to snapshot, not an ancestor of the current state: %" PRId64, move->to);
    }
    if (move->forward && old != NULL && !is_ancestor(current, move->to, head)) {
        return fz_fail(err, FZ_INVALID_ARG, "Cannot fast-forward: %s is not an ancestor of snapshot %" PRId64,
                       move->ref, move->to);
    }
    if (head == move->to) {
        return FZ_OK;
    }
    struct fz_snapshot_ref *ref = FZ_ARENA_NEW(arena, struct fz_snapshot_ref);
    struct fz_update *update = FZ_ARENA_NEW(arena, struct fz_update);
    if (ref == NULL || update == NULL) {
        return fz_fail_nomem(err, sizeof *ref);
    }
    *ref = old != NULL
               ? *old
               : (struct fz_snapshot_ref){
                     .name = move->ref, .min_snapshots_to_keep = -1, .max_snapshot_age_ms = -1, .max_ref_age_ms = -1};
    ref->snapshot_id = move->to;
    *update = (struct fz_update){.kind = FZ_UPDATE_SET_SNAPSHOT_REF, .u.ref = ref};
    *updates = update;
    *n = 1;
    return FZ_OK;
}

static enum fz_code load(struct fz_call *call, struct fz_metadata **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(call->catalog->vtable->load(call->catalog, &call->table, out, err));
    FZ_TRY(fz_statement_keep(call->s, *out, err));
out:
    return rc;
}

static enum fz_code move_main(struct fz_call *call, struct move *move, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *done = NULL;
    move->ref = "main";
    FZ_TRY(fz_commit_updates(call->catalog, &call->table, build_move, move, &done, err));
    FZ_TRY(fz_call_add_numbers(call, (int64_t[]){move->previous, move->to}, 2, err));
out:
    fz_metadata_unref(done);
    return rc;
}

static enum fz_code require_snapshot(const struct fz_metadata *m, int64_t id, const char *what, struct fz_err *err) {
    return fz_metadata_snapshot(m, id) != NULL
               ? FZ_OK
               : fz_fail(err, FZ_NOT_FOUND, "Cannot %s unknown snapshot id: %" PRId64, what, id);
}

enum fz_code fz_call_rollback_to_snapshot(struct fz_call *call, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m;
    int64_t id = call->args[1].u.i64;
    FZ_TRY(load(call, &m, err));
    FZ_TRY(require_snapshot(m, id, "roll back to", err));
    struct move move = {.to = id, .must_be_ancestor_of_head = id};
    FZ_TRY(move_main(call, &move, err));
out:
    return rc;
}

enum fz_code fz_call_rollback_to_timestamp(struct fz_call *call, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m;
    int64_t at_ms = call->args[1].u.i64 / 1000, found = -1;
    FZ_TRY(load(call, &m, err));
    int64_t id = m->current_snapshot_id;
    for (size_t i = 0; id >= 0 && found < 0 && i <= m->n_snapshots; i++, id = parent_of(m, id)) {
        const struct fz_snapshot *s = fz_metadata_snapshot(m, id);
        found = s != NULL && s->timestamp_ms < at_ms ? id : -1;
    }
    if (found < 0) {
        return fz_fail(err, FZ_NOT_FOUND, "Cannot roll back, no valid snapshot older than: %" PRId64, at_ms);
    }
    struct move move = {.to = found, .must_be_ancestor_of_head = found};
    FZ_TRY(move_main(call, &move, err));
out:
    return rc;
}

enum fz_code fz_call_set_current_snapshot(struct fz_call *call, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m;
    const char *ref_name = fz_call_text(call, 2);
    bool by_id = !call->args[1].is_null;
    if (by_id == (ref_name != NULL)) {
        return fz_fail(err, FZ_INVALID_ARG, "Either snapshot_id or ref must be provided, not both");
    }
    FZ_TRY(load(call, &m, err));
    struct move move = {.to = by_id ? call->args[1].u.i64 : -1, .must_be_ancestor_of_head = -1};
    if (!by_id) {
        const struct fz_snapshot_ref *ref = fz_metadata_find_ref(m, ref_name);
        if (ref == NULL) {
            return fz_fail(err, FZ_NOT_FOUND, "Cannot find matching snapshot ID for ref %s", ref_name);
        }
        move.to = ref->snapshot_id;
    }
    FZ_TRY(require_snapshot(m, move.to, "roll back to", err));
    FZ_TRY(move_main(call, &move, err));
out:
    return rc;
}

enum fz_code fz_call_ancestors_of(struct fz_call *call, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m;
    FZ_TRY(load(call, &m, err));
    int64_t id = call->args[1].is_null ? m->current_snapshot_id : call->args[1].u.i64;
    if (!call->args[1].is_null) {
        FZ_TRY(require_snapshot(m, id, "list ancestors of", err));
    }
    for (size_t i = 0; id >= 0 && i <= m->n_snapshots; i++, id = parent_of(m, id)) {
        const struct fz_snapshot *s = fz_metadata_snapshot(m, id);
        if (s == NULL) {
            break; // expired
        }
        FZ_TRY(fz_call_add_numbers(call, (int64_t[]){id, s->timestamp_ms}, 2, err));
    }
out:
    return rc;
}

enum fz_code fz_call_fast_forward(struct fz_call *call, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m, *done = NULL;
    const char *branch = fz_call_text(call, 1), *to = fz_call_text(call, 2);
    if (branch == NULL || to == NULL) {
        return fz_fail_nomem(err, 64);
    }
    FZ_TRY(load(call, &m, err));
    const struct fz_snapshot_ref *target = fz_metadata_find_ref(m, to);
    if (target == NULL) {
        return fz_fail(err, FZ_NOT_FOUND, "Ref does not exist: %s", to);
    }
    struct move move = {.ref = branch, .to = target->snapshot_id, .must_be_ancestor_of_head = -1, .forward = true};
    FZ_TRY(fz_commit_updates(call->catalog, &call->table, build_move, &move, &done, err));
    struct fz_value values[3] = {{.type = call->rows->fields[0].type},
                                 {.type = call->rows->fields[1].type, .is_null = move.previous < 0},
                                 {.type = call->rows->fields[2].type}};
    values[0].u.bytes = fz_str_of(fz_arena_strdup(&call->rows->arena, branch));
    values[1].u.i64 = move.previous;
    values[2].u.i64 = move.to;
    FZ_TRY(fz_rows_add(call->rows, values, err));
out:
    fz_metadata_unref(done);
    return rc;
}

// A snapshot is picked once: not when it, its copy, or its write-audit-publish id is in the history of main.
static enum fz_code check_not_picked(const struct fz_metadata *m, const struct fz_snapshot *source, const char *wap_id,
                                     struct fz_err *err) {
    char id[32];
    snprintf(id, sizeof id, "%" PRId64, source->snapshot_id);
    int64_t at = m->current_snapshot_id;
    for (size_t i = 0; at >= 0 && i <= m->n_snapshots; i++, at = parent_of(m, at)) {
        const struct fz_snapshot *s = fz_metadata_snapshot(m, at);
        if (s == NULL) {
            break;
        }
        const char *published = fz_snapshot_summary(s, "published-wap-id"), *staged = fz_snapshot_summary(s, "wap.id"),
                   *from = fz_snapshot_summary(s, "source-snapshot-id");
        if (wap_id != NULL && ((published != NULL && strcmp(published, wap_id) == 0) ||
                               (staged != NULL && strcmp(staged, wap_id) == 0))) {
            return fz_fail(err, FZ_INVALID_ARG,
                           "Duplicate request to cherry pick wap id that was published already: %s", wap_id);
        }
        if (at == source->snapshot_id || (from != NULL && strcmp(from, id) == 0)) {
            return fz_fail(err, FZ_INVALID_ARG,
                           "Cannot cherrypick snapshot %s: already picked to create ancestor %" PRId64, id, at);
        }
    }
    return FZ_OK;
}

// The files that `source` added, as a new append on main.
static enum fz_code append_again(struct fz_call *call, struct fz_metadata *m, const struct fz_snapshot *source,
                                 const char *wap_id, int64_t *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_manifest_entry *entries;
    struct fz_commit_result result = {0};
    size_t n, n_added = 0;
    char id[32];
    FZ_TRY(fz_scan_entries(call->s->engine->store, m, source->snapshot_id, &call->s->arena, &entries, &n, err));
    struct fz_data_file *added = fz_arena_array(&call->s->arena, n, sizeof *added);
    if (added == NULL) {
        return fz_fail_nomem(err, n * sizeof *added);
    }
    for (size_t i = 0; i < n; i++) {
        if (entries[i].status == FZ_ENTRY_ADDED && entries[i].snapshot_id == source->snapshot_id) {
            added[n_added] = entries[i].file;
            added[n_added++].first_row_id = -1;
        }
    }
    snprintf(id, sizeof id, "%" PRId64, source->snapshot_id);
    const struct fz_property summary[2] = {{"source-snapshot-id", id}, {"published-wap-id", wap_id}};
    struct fz_commit_request request = {
        .catalog = call->catalog,
        .table = &call->table,
        .store = call->s->engine->store,
        .base = m,
        .kind = FZ_COMMIT_APPEND,
        .added = added,
        .n_added = n_added,
        .scanned_snapshot_id = m->current_snapshot_id,
        .summary = summary,
        .n_summary = wap_id != NULL ? 2 : 1,
        .cancel = &call->s->engine->cancel,
        .log = &call->s->engine->log,
    };
    FZ_TRY(fz_commit_snapshot(&request, &result, err));
    *out = result.snapshot_id;
out:
    fz_metadata_unref(result.metadata);
    return rc;
}

static enum fz_code pick(struct fz_call *call, struct fz_metadata *m, const struct fz_snapshot *source,
                         struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *done = NULL;
    const char *wap_id = fz_snapshot_summary(source, "wap.id");
    int64_t current = source->snapshot_id;
    FZ_TRY(check_not_picked(m, source, wap_id, err));
    if (source->parent_snapshot_id == m->current_snapshot_id) { // on top of main as it is: the snapshot itself
        struct move move = {.ref = "main", .to = source->snapshot_id, .must_be_ancestor_of_head = -1, .forward = true};
        FZ_TRY(fz_commit_updates(call->catalog, &call->table, build_move, &move, &done, err));
    } else if (source->operation != NULL && strcmp(source->operation, "append") == 0) {
        FZ_TRY(append_again(call, m, source, wap_id, &current, err));
    } else {
        rc = fz_fail(err, FZ_INVALID_ARG,
                     "Cannot cherry-pick snapshot %" PRId64
                     ": not append or fast-forward. Its parent must be the current snapshot of main",
                     source->snapshot_id);
        goto out;
    }
    FZ_TRY(fz_call_add_numbers(call, (int64_t[]){source->snapshot_id, current}, 2, err));
out:
    fz_metadata_unref(done);
    return rc;
}

enum fz_code fz_call_cherrypick_snapshot(struct fz_call *call, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m;
    FZ_TRY(load(call, &m, err));
    const struct fz_snapshot *source = fz_metadata_snapshot(m, call->args[1].u.i64);
    if (source == NULL) {
        return fz_fail(err, FZ_NOT_FOUND, "Cannot cherry-pick unknown snapshot ID: %" PRId64, call->args[1].u.i64);
    }
    FZ_TRY(pick(call, m, source, err));
out:
    return rc;
}

enum fz_code fz_call_publish_changes(struct fz_call *call, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m;
    const char *wap_id = fz_call_text(call, 1);
    const struct fz_snapshot *source = NULL;
    if (wap_id == NULL) {
        return fz_fail_nomem(err, 64);
    }
    FZ_TRY(load(call, &m, err));
    for (size_t i = 0; i < m->n_snapshots; i++) {
        const char *id = fz_snapshot_summary(&m->snapshots[i], "wap.id");
        if (id == NULL || strcmp(id, wap_id) != 0) {
            continue;
        }
        if (source != NULL) {
            return fz_fail(err, FZ_INVALID_ARG,
                           "Cannot apply non-unique WAP ID. Found multiple snapshots with WAP ID '%s'", wap_id);
        }
        source = &m->snapshots[i];
    }
    if (source == NULL) {
        return fz_fail(err, FZ_NOT_FOUND, "Cannot apply unknown WAP ID '%s'", wap_id);
    }
    FZ_TRY(pick(call, m, source, err));
out:
    return rc;
}
