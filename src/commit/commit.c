// The commit loop (iceberg-facts 8.1): read the head, validate, plan and store manifests, swap, and again from the start when
// somebody was faster. What an attempt stored is removed when the snapshot does not list it, except when nobody knows whether
// it does.
#include "commit/commit.h"

#include "base/sys.h"
#include "commit/commit_priv.h"

struct retry {
    int64_t max_retries, wait_ms, max_wait_ms, deadline_us;
};

const char *fz_commit_metadata_path(struct fz_arena *arena, const struct fz_metadata *m, const char *file_name) {
    const char *dir = fz_metadata_property(m, "write.metadata.path", NULL);
    if (dir == NULL) {
        return fz_arena_printf(arena, "%s/metadata/%s", m->location, file_name);
    }
    size_t len = strlen(dir);
    return fz_arena_printf(arena, "%s%s%s", dir, len > 0 && dir[len - 1] == '/' ? "" : "/", file_name);
}

enum fz_code fz_commit_store(struct fz_commit *c, const char *location, const struct fz_buf *bytes,
                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(fz_grow((void **)&c->written, &c->cap_written, c->n_written + 1, sizeof *c->written, err));
    const char *kept = fz_arena_strdup(&c->arena, location);
    if (kept == NULL) {
        rc = fz_fail_nomem(err, strlen(location));
        goto out;
    }
    c->written[c->n_written++] = kept; // first: a put that fails may have left something
    rc = fz_store_put(c->request->store, location, bytes->ptr, bytes->len, true, err);
out:
    return rc;
}

static void attempt_dispose(struct fz_attempt *a) {
    fz_work_list_dispose(&a->data);
    fz_work_list_dispose(&a->deletes);
    fz_map_dispose(&a->removed);
    fz_map_dispose(&a->removed_data_paths);
    fz_map_dispose(&a->partitions);
    fz_metadata_unref(a->head);
    fz_arena_dispose(&a->arena);
}

static enum fz_code find_parent(struct fz_commit *c, struct fz_attempt *a, struct fz_err *err) {
    const struct fz_snapshot_ref *ref = fz_metadata_find_ref(a->head, c->branch);
    a->ref_snapshot_id = ref != NULL ? ref->snapshot_id : -1;
    if (ref != NULL && ref->is_tag) {
        return fz_fail(err, FZ_INVALID_ARG, "%s is a tag, not a branch. Tags cannot be targets for producing snapshots",
                       c->branch);
    }
    a->parent = ref != NULL ? fz_metadata_snapshot(a->head, ref->snapshot_id) : fz_metadata_current_snapshot(a->head);
    const char *expected = c->request->base->table_uuid, *found = a->head->table_uuid;
    if (expected != NULL && found != NULL && strcmp(expected, found) != 0) {
        return fz_fail(err, FZ_CONFLICT,
                       "table was dropped and created again since it was read: its uuid is %s, not %s", found,
                       expected);
    }
    return FZ_OK;
}

// Row ids (iceberg-facts 7.6): data manifests without a first row id get the running counter, in list order.
static int64_t assign_row_ids(const struct fz_metadata *head, struct fz_manifest_file *files, size_t n) {
    int64_t next = head->next_row_id;
    for (size_t i = 0; i < n; i++) {
        if (files[i].content == 0 && files[i].first_row_id < 0) {
            files[i].first_row_id = next;
            next += (files[i].added_rows_count > 0 ? files[i].added_rows_count : 0) +
                    (files[i].existing_rows_count > 0 ? files[i].existing_rows_count : 0);
        }
    }
    return next;
}

static struct fz_manifest_file *list_rows(struct fz_attempt *a, size_t *n) {
    *n = a->data.n + a->deletes.n;
    struct fz_manifest_file *files = fz_arena_array(&a->arena, *n + 1, sizeof *files);
    for (size_t i = 0; files != NULL && i < a->data.n; i++) {
        files[i] = a->data.items[i].file;
    }
    for (size_t i = 0; files != NULL && i < a->deletes.n; i++) {
        files[a->data.n + i] = a->deletes.items[i].file;
    }
    return files;
}

static enum fz_code store_list(struct fz_commit *c, struct fz_attempt *a, struct fz_snapshot *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf bytes = {0};
    size_t n;
    struct fz_manifest_file *files = list_rows(a, &n);
    const char *name =
        fz_arena_printf(&a->arena, "snap-%lld-%d-%s.avro", (long long)s->snapshot_id, ++c->n_lists, c->uuid);
    if (files == NULL || name == NULL) {
        rc = fz_fail_nomem(err, 0);
        goto out;
    }
    if (a->head->format_version >= 3) {
        s->first_row_id = a->head->next_row_id;
        s->added_rows = assign_row_ids(a->head, files, n) - s->first_row_id;
    }
    FZ_TRY(fz_manifest_list_encode(a->head, files, n, s->snapshot_id, s->parent_snapshot_id, s->sequence_number,
                                   s->first_row_id, &bytes, err));
    s->manifest_list = fz_commit_metadata_path(&a->arena, a->head, name);
    if (s->manifest_list == NULL) {
        rc = fz_fail_nomem(err, 0);
        goto out;
    }
    FZ_TRY(fz_commit_store(c, s->manifest_list, &bytes, err));
    FZ_FAIL_POINT("commit.manifest_list");
out:
    fz_buf_dispose(&bytes);
    return rc;
}

static enum fz_code make_snapshot(struct fz_commit *c, struct fz_attempt *a, struct fz_snapshot *s,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t now_ms = fz_now_us() / 1000;
    *s = (struct fz_snapshot){.snapshot_id = c->snapshot_id, .first_row_id = -1, .added_rows = -1};
    s->parent_snapshot_id = a->parent != NULL ? a->parent->snapshot_id : -1;
    s->sequence_number = a->head->format_version > 1 ? a->head->last_sequence_number + 1 : 0;
    s->timestamp_ms =
        now_ms > a->head->last_updated_ms ? now_ms : a->head->last_updated_ms + 1; // snapshots of a table have an order
    s->schema_id = a->head->current_schema_id;
    s->operation = fz_commit_operation(c->request);
    FZ_TRY(fz_commit_summary(c, a, &s->summary, &s->n_summary, err));
    if (c->request->kind == FZ_COMMIT_REPLACE && a->counts.added_records > a->counts.deleted_records) {
        rc = fz_fail(err, FZ_BUG, "invalid REPLACE operation: %lld added records > %lld replaced records",
                     (long long)a->counts.added_records, (long long)a->counts.deleted_records);
        goto out;
    }
    FZ_TRY(store_list(c, a, s, err));
out:
    return rc;
}

static enum fz_code swap(struct fz_commit *c, struct fz_attempt *a, const struct fz_snapshot *s,
                         struct fz_metadata **out, struct fz_err *err) {
    const struct fz_snapshot_ref *old = fz_metadata_find_ref(a->head, c->branch);
    struct fz_snapshot_ref ref = {c->branch, s->snapshot_id, false, -1, -1, -1};
    if (old != NULL) {
        ref = *old;
        ref.snapshot_id = s->snapshot_id;
    }
    const struct fz_update updates[] = {{.kind = FZ_UPDATE_ADD_SNAPSHOT, .u.snapshot = s},
                                        {.kind = FZ_UPDATE_SET_SNAPSHOT_REF, .u.ref = &ref}};
    bool staged = c->request->wap_id != NULL;
    struct fz_requirement requirements[2] = {{FZ_REQUIRE_REF_SNAPSHOT, c->branch, a->ref_snapshot_id}};
    size_t n = staged ? 0 : 1;
    if (a->head->table_uuid != NULL) {
        requirements[n++] = (struct fz_requirement){FZ_REQUIRE_UUID, a->head->table_uuid, 0};
    }
    struct fz_catalog *catalog = c->request->catalog;
    // The fail points commit.metadata and commit.swapped are in the catalog.
    return catalog->vtable->commit(catalog, c->request->table, requirements, n, updates, staged ? 1 : 2, out, err);
}

// The catalog does not know whether the swap happened. A snapshot id is in the table only if it did.
static enum fz_code reconcile(struct fz_commit *c, struct fz_metadata **out, struct fz_err *err) {
    struct fz_metadata *m = NULL;
    struct fz_err inner = FZ_ERR_INIT;
    struct fz_catalog *catalog = c->request->catalog;
    enum fz_code rc = catalog->vtable->load(catalog, c->request->table, &m, &inner);
    if (rc == FZ_OK && fz_metadata_snapshot(m, c->snapshot_id) != NULL) {
        fz_log_write(c->request->log, 1, "commit of snapshot %lld was in doubt; the table has it",
                     (long long)c->snapshot_id);
        fz_err_reset(err);
        *out = m;
        return FZ_OK;
    }
    fz_metadata_unref(m);
    if (err != NULL) {
        err->flags |= FZ_ERR_STATE_UNKNOWN;
    }
    return FZ_COMMIT_UNKNOWN;
}

// One try; `*lost` when somebody was faster and another try may do better.
static enum fz_code attempt(struct fz_commit *c, struct fz_attempt *a, struct fz_metadata **out, bool *lost,
                            struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_snapshot snapshot;
    struct fz_catalog *catalog = c->request->catalog;
    FZ_TRY(fz_cancel_check(c->request->cancel, err));
    FZ_TRY(catalog->vtable->load(catalog, c->request->table, &a->head, err));
    FZ_TRY(find_parent(c, a, err));
    if (c->request->check_head != NULL) {
        FZ_TRY(c->request->check_head(c->request->check_ctx, a->head, err));
    }
    FZ_TRY(fz_commit_validate(c, a, err));
    FZ_TRY(fz_commit_plan_manifests(c, a, err));
    FZ_TRY(fz_commit_store_manifests(c, a, err));
    FZ_TRY(make_snapshot(c, a, &snapshot, err));
    FZ_TRY(fz_cancel_check(c->request->cancel, err));
    rc = swap(c, a, &snapshot, out, err);
    *lost = rc == FZ_CONFLICT;
    if (rc == FZ_COMMIT_UNKNOWN) {
        rc = reconcile(c, out, err);
    }
out:
    return rc;
}

static struct retry retry_of(const struct fz_metadata *m) {
    struct retry r = {.max_retries = fz_metadata_property_i64(m, "commit.retry.num-retries", 4)};
    r.wait_ms = fz_metadata_property_i64(m, "commit.retry.min-wait-ms", 100);
    r.max_wait_ms = fz_metadata_property_i64(m, "commit.retry.max-wait-ms", 60000);
    r.deadline_us = fz_monotonic_us() + fz_metadata_property_i64(m, "commit.retry.total-timeout-ms", 1800000) * 1000;
    return r;
}

// Sleeps the next back-off, a tenth of it at random so that two losers do not meet again; CANCELLED when told so.
static enum fz_code back_off(struct retry *r, struct fz_cancel *cancel, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t wait = r->wait_ms < r->max_wait_ms ? r->wait_ms : r->max_wait_ms;
    wait = wait < 0 ? 0 : wait;
    int64_t left_us = wait * 1000 + (wait > 0 ? (int64_t)(fz_random_u64() % ((uint64_t)wait * 100 + 1)) : 0);
    while (left_us > 0 && rc == FZ_OK) {
        int64_t slice = left_us < 50000 ? left_us : 50000;
        fz_sleep_us(slice);
        left_us -= slice;
        rc = fz_cancel_check(cancel, err);
    }
    r->wait_ms = r->wait_ms > r->max_wait_ms / 2 ? r->max_wait_ms : r->wait_ms * 2;
    return rc;
}

static bool lists(const struct fz_attempt *a, const char *location) {
    for (size_t i = 0; i < a->data.n; i++) {
        if (strcmp(a->data.items[i].file.manifest_path, location) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < a->deletes.n; i++) {
        if (strcmp(a->deletes.items[i].file.manifest_path, location) == 0) {
            return true;
        }
    }
    return false;
}

// Removes what this commit stored; `committed` (may be NULL) names what to keep.
static void clean_up(struct fz_commit *c, const struct fz_attempt *committed, const struct fz_metadata *m) {
    const struct fz_snapshot *s = m != NULL ? fz_metadata_snapshot(m, c->snapshot_id) : NULL;
    for (size_t i = 0; i < c->n_written; i++) {
        bool is_list = s != NULL && s->manifest_list != NULL && strcmp(s->manifest_list, c->written[i]) == 0;
        if (is_list || (committed != NULL && lists(committed, c->written[i]))) {
            continue;
        }
        struct fz_err ignored = FZ_ERR_INIT;
        if (fz_store_remove(c->request->store, c->written[i], &ignored) != FZ_OK) {
            fz_log_write(c->request->log, 1, "left behind: %s (%s)", c->written[i], ignored.message);
        }
    }
}

static int64_t fresh_snapshot_id(const struct fz_metadata *m) {
    int64_t id;
    do {
        id = fz_random_snapshot_id();
    } while (fz_metadata_snapshot(m, id) != NULL);
    return id;
}

enum fz_code fz_commit_snapshot(const struct fz_commit_request *request, struct fz_commit_result *out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_commit c = {.request = request, .branch = request->branch != NULL ? request->branch : "main"};
    struct retry retry = retry_of(request->base);
    struct fz_metadata *metadata = NULL;
    c.snapshot_id = fresh_snapshot_id(request->base);
    fz_uuid_v4(c.uuid);
    for (int tries = 1;; tries++) {
        struct fz_attempt a = {0};
        struct fz_err failure = FZ_ERR_INIT;
        bool lost = false;
        rc = attempt(&c, &a, &metadata, &lost, &failure);
        if (rc == FZ_OK) {
            clean_up(&c, &a, metadata);
            *out = (struct fz_commit_result){metadata, c.snapshot_id, tries};
        }
        attempt_dispose(&a);
        if (rc == FZ_OK) {
            break;
        }
        if (lost && tries <= retry.max_retries && fz_monotonic_us() < retry.deadline_us) {
            fz_log_write(request->log, 3, "commit lost a race, trying again (%d): %s", tries, failure.message);
            rc = back_off(&retry, request->cancel, &failure);
            if (rc == FZ_OK) {
                continue;
            }
            fz_err_reset(&failure);
            rc = fz_fail(&failure, FZ_CANCELLED, "cancelled while waiting to commit again");
        }
        if (err != NULL && err->code == FZ_OK) {
            *err = failure;
            err->flags = lost || rc == FZ_COMMIT_UNKNOWN ? failure.flags : failure.flags & ~(unsigned)FZ_ERR_RETRYABLE;
        }
        if (rc != FZ_COMMIT_UNKNOWN) {
            clean_up(&c, NULL, NULL);
        }
        break;
    }
    fz_free(c.written);
    fz_arena_dispose(&c.arena);
    return rc;
}

enum fz_code fz_commit_updates(struct fz_catalog *catalog, const struct fz_table_name *table, fz_build_updates_fn build,
                               void *ctx, struct fz_metadata **out, struct fz_err *err) {
    struct retry retry = {0};
    for (int tries = 1;; tries++) {
        struct fz_arena arena = {0};
        struct fz_metadata *current = NULL;
        struct fz_update *updates = NULL;
        size_t n = 0;
        struct fz_err failure = FZ_ERR_INIT;
        bool lost = false;
        enum fz_code rc = catalog->vtable->load(catalog, table, &current, &failure);
        if (rc == FZ_OK && tries == 1) {
            retry = retry_of(current);
        }
        if (rc == FZ_OK) {
            rc = build(ctx, &arena, current, &updates, &n, &failure);
        }
        if (rc == FZ_OK && n == 0) { // nothing to change
            *out = fz_metadata_ref(current);
        } else if (rc == FZ_OK) {
            // The catalog swaps only what it read itself, so schema and spec ids built on `current` are guarded explicitly.
            const struct fz_requirement requirements[] = {
                {FZ_REQUIRE_UUID, current->table_uuid, 0},
                {FZ_REQUIRE_CURRENT_SCHEMA_ID, NULL, current->current_schema_id},
                {FZ_REQUIRE_LAST_FIELD_ID, NULL, current->last_column_id},
                {FZ_REQUIRE_LAST_PARTITION_ID, NULL, current->last_partition_id},
                {FZ_REQUIRE_DEFAULT_SPEC_ID, NULL, current->default_spec_id},
                {FZ_REQUIRE_DEFAULT_SORT_ORDER_ID, NULL, current->default_sort_order_id},
            };
            size_t skip = current->table_uuid == NULL ? 1 : 0;
            rc =
                catalog->vtable->commit(catalog, table, requirements + skip,
                                        sizeof requirements / sizeof requirements[0] - skip, updates, n, out, &failure);
            lost = rc == FZ_CONFLICT;
        }
        fz_metadata_unref(current);
        fz_arena_dispose(&arena);
        if (rc == FZ_OK) {
            return FZ_OK;
        }
        if (lost && tries <= retry.max_retries && fz_monotonic_us() < retry.deadline_us &&
            back_off(&retry, NULL, &failure) == FZ_OK) {
            continue;
        }
        if (err != NULL && err->code == FZ_OK) {
            *err = failure;
        }
        return rc;
    }
}
