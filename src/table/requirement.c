// The conditions under which a commit may go in (iceberg-facts 10.2), checked against the table as it is now.
#include "base/text.h"
#include "table/update.h"

static enum fz_code changed(struct fz_err *err, const char *what, long long expected, long long found) {
    enum fz_code rc =
        fz_fail(err, FZ_CONFLICT, "requirement failed: %s changed: expected %lld, found %lld", what, expected, found);
    if (err != NULL) {
        err->flags |= FZ_ERR_RETRYABLE;
    }
    return rc;
}

static enum fz_code check_ref(const struct fz_requirement *r, const struct fz_metadata *m, struct fz_err *err) {
    const struct fz_snapshot_ref *ref = fz_metadata_find_ref(m, r->text);
    int64_t found = ref != NULL ? ref->snapshot_id : -1;
    if (found == r->id) {
        return FZ_OK;
    }
    enum fz_code rc =
        r->id < 0 ? fz_fail(err, FZ_CONFLICT, "requirement failed: reference %s was created concurrently", r->text)
        : found < 0
            ? fz_fail(err, FZ_CONFLICT, "requirement failed: reference %s is missing, expected %lld", r->text,
                      (long long)r->id)
            : fz_fail(err, FZ_CONFLICT, "requirement failed: reference %s has changed: expected id %lld, found %lld",
                      r->text, (long long)r->id, (long long)found);
    if (err != NULL) {
        err->flags |= FZ_ERR_RETRYABLE;
    }
    return rc;
}

static enum fz_code check(const struct fz_requirement *r, const struct fz_metadata *m, struct fz_err *err) {
    if (r->kind == FZ_REQUIRE_CREATE) {
        return m == NULL ? FZ_OK : fz_fail(err, FZ_CONFLICT, "requirement failed: table already exists");
    }
    if (m == NULL) {
        return fz_fail(err, FZ_CONFLICT, "requirement failed: the table does not exist");
    }
    switch (r->kind) {
    case FZ_REQUIRE_UUID:
        return m->table_uuid != NULL && fz_strcasecmp(m->table_uuid, r->text) == 0
                   ? FZ_OK
                   : fz_fail(err, FZ_CONFLICT, "requirement failed: UUID does not match: expected %s, found %s",
                             r->text, m->table_uuid != NULL ? m->table_uuid : "none");
    case FZ_REQUIRE_REF_SNAPSHOT:
        return check_ref(r, m, err);
    case FZ_REQUIRE_LAST_FIELD_ID:
        return m->last_column_id == r->id ? FZ_OK : changed(err, "last assigned field id", r->id, m->last_column_id);
    case FZ_REQUIRE_CURRENT_SCHEMA_ID:
        return m->current_schema_id == r->id ? FZ_OK : changed(err, "current schema", r->id, m->current_schema_id);
    case FZ_REQUIRE_LAST_PARTITION_ID:
        return m->last_partition_id == r->id ? FZ_OK
                                             : changed(err, "last assigned partition id", r->id, m->last_partition_id);
    case FZ_REQUIRE_DEFAULT_SPEC_ID:
        return m->default_spec_id == r->id ? FZ_OK : changed(err, "default partition spec", r->id, m->default_spec_id);
    case FZ_REQUIRE_DEFAULT_SORT_ORDER_ID:
        return m->default_sort_order_id == r->id ? FZ_OK
                                                 : changed(err, "default sort order", r->id, m->default_sort_order_id);
    case FZ_REQUIRE_CREATE:
        break;
    }
    return fz_fail(err, FZ_BUG, "unknown requirement %d", (int)r->kind);
}

enum fz_code fz_requirements_check(const struct fz_requirement *requirements, size_t n,
                                   const struct fz_metadata *current, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; rc == FZ_OK && i < n; i++) {
        rc = check(&requirements[i], current, err);
    }
    return rc;
}
