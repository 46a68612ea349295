// A catalog of one table whose schema changes together with its next snapshot (MERGE WITH SCHEMA EVOLUTION): `load` shows the table as
// it is to become, `commit` puts the schema in front of the statement's own updates. A schema that somebody else changed meanwhile is a
// conflict: the statement was bound to the old one.
#include <inttypes.h>

#include "engine/engine_priv.h"

struct evolving {
    struct fz_catalog base;
    struct fz_catalog *real;
    int32_t schema_id, last_column_id; // that the statement was bound to
    struct fz_schema schema;
    struct fz_update updates[2];
};

static enum fz_code load(struct fz_catalog *base, const struct fz_table_name *name, struct fz_metadata **out,
                         struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct evolving *c = (struct evolving *)base;
    struct fz_metadata *current = NULL;
    FZ_TRY(c->real->vtable->load(c->real, name, &current, err));
    // The statement's own commit may be in already (an unknown outcome is looked up): its schema is then the current one.
    bool done = current->current_schema_id != c->schema_id &&
                fz_type_equal(fz_metadata_current_schema(current)->type, c->schema.type, false, true);
    if (!done && (current->current_schema_id != c->schema_id || current->last_column_id != c->last_column_id)) {
        rc = fz_fail(err, FZ_CONFLICT,
                     "the schema of %s was changed since the statement began (schema %" PRId32 ", now %" PRId32 ")",
                     name->name, c->schema_id, current->current_schema_id);
        goto out;
    }
    FZ_TRY(fz_metadata_apply(current, c->updates, 2, fz_now_us() / 1000, out, err));
out:
    fz_metadata_unref(current);
    return rc;
}

static enum fz_code commit(struct fz_catalog *base, const struct fz_table_name *name,
                           const struct fz_requirement *requirements, size_t n_requirements,
                           const struct fz_update *updates, size_t n_updates, struct fz_metadata **out,
                           struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct evolving *c = (struct evolving *)base;
    struct fz_requirement *required = fz_calloc(n_requirements + 2, sizeof *required);
    struct fz_update *all = fz_calloc(n_updates + 2, sizeof *all);
    if (required == NULL || all == NULL) {
        rc = fz_fail_nomem(err, (n_updates + 2) * sizeof *all);
        goto out;
    }
    memcpy(required, requirements, n_requirements * sizeof *required);
    required[n_requirements] = (struct fz_requirement){FZ_REQUIRE_CURRENT_SCHEMA_ID, NULL, c->schema_id};
    required[n_requirements + 1] = (struct fz_requirement){FZ_REQUIRE_LAST_FIELD_ID, NULL, c->last_column_id};
    memcpy(all, c->updates, sizeof c->updates);
    memcpy(all + 2, updates, n_updates * sizeof *all);
    FZ_TRY(c->real->vtable->commit(c->real, name, required, n_requirements + 2, all, n_updates + 2, out, err));
out:
    fz_free(required);
    fz_free(all);
    return rc;
}

static const struct fz_catalog_vtable EVOLVING = {.type = "evolving", .load = load, .commit = commit};

enum fz_code fz_evolve_target(struct fz_statement *s, const struct fz_sql_table *table, struct fz_change_target *target,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *evolved = NULL;
    struct evolving *c = FZ_ARENA_NEW(&s->arena, struct evolving);
    const struct fz_type *type = fz_type_struct(&s->arena, table->fields, table->n_fields);
    if (c == NULL || type == NULL) {
        return fz_fail_nomem(err, sizeof *c);
    }
    c->base = (struct fz_catalog){
        .vtable = &EVOLVING, .name = target->catalog->name, .warehouse = target->catalog->warehouse};
    c->real = target->catalog;
    c->schema_id = target->metadata->current_schema_id;
    c->last_column_id = target->metadata->last_column_id;
    c->schema = *fz_metadata_current_schema(target->metadata);
    c->schema.type = type;
    c->updates[0] = (struct fz_update){.kind = FZ_UPDATE_ADD_SCHEMA, .u.schema = &c->schema};
    c->updates[1] = (struct fz_update){.kind = FZ_UPDATE_SET_CURRENT_SCHEMA, .u.id = -1};
    FZ_TRY(fz_metadata_apply(target->metadata, c->updates, 2, fz_now_us() / 1000, &evolved, err));
    FZ_TRY(fz_statement_keep(s, evolved, err));
    target->metadata = evolved;
    target->catalog = &c->base;
out:
    return rc;
}
