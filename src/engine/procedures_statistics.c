// CALL system.compute_table_stats and compute_partition_stats (upkeep/statistics.h). As in Spark, a table without a snapshot gives no
// row, and the columns of the table's first level are counted when none are named.
#include <inttypes.h>

#include "base/text.h"
#include "engine/call_priv.h"
#include "upkeep/statistics.h"

// Loads the table and finds the snapshot; request->snapshot_id -1: there is none.
static enum fz_code prepare(struct fz_call *call, struct fz_statistics_request *request, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m;
    FZ_TRY(call->catalog->vtable->load(call->catalog, &call->table, &m, err));
    FZ_TRY(fz_statement_keep(call->s, m, err));
    *request = (struct fz_statistics_request){.catalog = call->catalog,
                                              .table = &call->table,
                                              .store = call->s->engine->store,
                                              .metadata = m,
                                              .snapshot_id =
                                                  call->args[1].is_null ? m->current_snapshot_id : call->args[1].u.i64,
                                              .cancel = &call->s->engine->cancel};
    if (!call->args[1].is_null && fz_metadata_snapshot(m, request->snapshot_id) == NULL) {
        rc = fz_fail(err, FZ_INVALID_ARG, "Snapshot not found: %" PRId64, request->snapshot_id);
    }
out:
    return rc;
}

static enum fz_code answer(struct fz_call *call, const char *location, struct fz_err *err) {
    struct fz_value value = {.type = call->rows->fields[0].type, .u.bytes = fz_str_of(location)};
    return fz_rows_add(call->rows, &value, err);
}

static enum fz_code choose_columns(struct fz_call *call, struct fz_statistics_request *request, struct fz_err *err) {
    const struct fz_schema *schema = fz_metadata_current_schema(request->metadata);
    const struct fz_snapshot *snapshot = fz_metadata_snapshot(request->metadata, request->snapshot_id);
    if (snapshot != NULL && snapshot->schema_id >= 0 &&
        fz_metadata_schema(request->metadata, snapshot->schema_id) != NULL) {
        schema = fz_metadata_schema(request->metadata, snapshot->schema_id);
    }
    const struct fz_value *names = &call->args[2];
    size_t n = names->is_null ? schema->type->n_fields : names->u.nested.n;
    int32_t *ids = fz_arena_array(&call->s->arena, n + 1, sizeof *ids);
    if (ids == NULL) {
        return fz_fail_nomem(err, n * sizeof *ids);
    }
    if (!names->is_null && n == 0) {
        return fz_fail(err, FZ_INVALID_ARG, "Columns cannot be null/empty");
    }
    for (size_t i = 0; i < n; i++) {
        const struct fz_field *field = &schema->type->fields[i];
        if (!names->is_null) {
            const struct fz_value *v = &names->u.nested.items[i];
            const char *name = v->is_null ? NULL : fz_arena_strndup(&call->s->arena, v->u.bytes.ptr, v->u.bytes.len);
            field = name != NULL ? fz_schema_find_name(schema, name) : NULL;
            if (field == NULL) {
                return fz_fail(err, FZ_INVALID_ARG, "Can't find column %s in the table", name != NULL ? name : "NULL");
            }
            if (!fz_statistics_can_count(field->type)) {
                struct fz_buf type = {0};
                fz_type_print(&type, field->type);
                enum fz_code rc =
                    fz_fail(err, FZ_INVALID_ARG, "Can't compute stats on non-primitive type column: %s (%s)", name,
                            type.ptr != NULL ? type.ptr : "");
                fz_buf_dispose(&type);
                return rc;
            }
        } else if (!fz_statistics_can_count(field->type)) {
            continue;
        }
        bool again = false;
        for (size_t k = 0; k < request->n_field_ids; k++) {
            again |= ids[k] == field->id;
        }
        if (!again) {
            ids[request->n_field_ids++] = field->id;
        }
    }
    request->field_ids = ids;
    return FZ_OK;
}

enum fz_code fz_call_compute_table_stats(struct fz_call *call, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_statistics_request request;
    const char *location;
    FZ_TRY(prepare(call, &request, err));
    FZ_TRY(choose_columns(call, &request, err));
    if (request.snapshot_id >= 0) {
        FZ_TRY(fz_compute_table_statistics(&request, &call->s->arena, &location, err));
        FZ_TRY(answer(call, location, err));
    }
out:
    return rc;
}

enum fz_code fz_call_compute_partition_stats(struct fz_call *call, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_statistics_request request;
    const char *location;
    FZ_TRY(prepare(call, &request, err));
    if (request.snapshot_id >= 0) {
        FZ_TRY(fz_compute_partition_statistics(&request, &call->s->arena, &location, err));
        FZ_TRY(answer(call, location, err));
    }
out:
    return rc;
}
