// Which rows of a table a query reads: its head, a version or time, a branch, what was appended since; said in the table's name, by AS OF
// or by read options (WITH).
#include "base/text.h"
#include "engine/engine_priv.h"

static const struct fz_schema *schema_of_snapshot(const struct fz_metadata *m, const struct fz_snapshot *snapshot) {
    const struct fz_schema *schema =
        snapshot != NULL && snapshot->schema_id >= 0 ? fz_metadata_schema(m, snapshot->schema_id) : NULL;
    return schema != NULL ? schema : fz_metadata_current_schema(m);
}

enum fz_code fz_engine_use_ref(struct fz_engine_table *t, const char *ref_name, bool want_tag, struct fz_err *err) {
    const struct fz_snapshot_ref *ref = fz_metadata_find_ref(t->metadata, ref_name);
    if (ref == NULL || ref->is_tag != want_tag) {
        return fz_fail_cond(err, FZ_NOT_FOUND, "", "table %s has no %s %s", t->name.name, want_tag ? "tag" : "branch",
                            ref_name);
    }
    t->snapshot_id = ref->snapshot_id;
    if (ref->is_tag) {
        t->time_travel = true;
        t->schema = schema_of_snapshot(t->metadata, fz_metadata_snapshot(t->metadata, ref->snapshot_id));
    } else {
        t->branch = ref->name;
    }
    return FZ_OK;
}

// VERSION AS OF, TIMESTAMP AS OF.
static enum fz_code constant(struct fz_statement *s, const struct fz_ast_expr *ast, const struct fz_type *type,
                             struct fz_value *out, struct fz_err *err) {
    enum fz_code rc = fz_statement_constant(s, ast, type, out, err);
    return rc == FZ_OK && out->is_null ? fz_fail(err, FZ_INVALID_ARG, "the version or time to read at is NULL") : rc;
}

static enum fz_code travel_to_version(struct fz_statement *s, struct fz_engine_table *t, struct fz_str version,
                                      struct fz_err *err) {
    char *text = fz_arena_strndup(&s->arena, version.ptr, version.len);
    if (text == NULL) {
        return fz_fail_nomem(err, version.len);
    }
    int64_t id;
    const struct fz_snapshot *snapshot = fz_parse_i64(version, &id) ? fz_metadata_snapshot(t->metadata, id) : NULL;
    const struct fz_snapshot_ref *ref = snapshot == NULL ? fz_metadata_find_ref(t->metadata, text) : NULL;
    if (ref != NULL) {
        return fz_engine_use_ref(t, text, ref->is_tag, err);
    }
    if (snapshot == NULL) {
        return fz_fail(err, FZ_NOT_FOUND, "table %s has no snapshot, branch or tag %s", t->name.name, text);
    }
    t->snapshot_id = id;
    t->schema = schema_of_snapshot(t->metadata, snapshot);
    t->time_travel = true;
    return FZ_OK;
}

static enum fz_code travel_to_time(struct fz_statement *s, struct fz_engine_table *t, const struct fz_ast_expr *time,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_value v;
    FZ_TRY(constant(s, time, fz_type_primitive(FZ_TYPE_TIMESTAMPTZ), &v, err));
    int64_t at_ms = v.u.i64 / 1000, found = -1;
    for (size_t i = 0; i < t->metadata->n_snapshot_log; i++) { // the log, not the parents: what main showed then
        if (t->metadata->snapshot_log[i].timestamp_ms <= at_ms) {
            found = t->metadata->snapshot_log[i].snapshot_id;
        }
    }
    const struct fz_snapshot *snapshot = found < 0 ? NULL : fz_metadata_snapshot(t->metadata, found);
    if (snapshot == NULL) {
        return fz_fail(err, FZ_NOT_FOUND, "Cannot find a snapshot older than the time given in table %s", t->name.name);
    }
    t->snapshot_id = found;
    t->schema = schema_of_snapshot(t->metadata, snapshot);
    t->time_travel = true;
out:
    return rc;
}

// ---- read options

static const char *option(const struct fz_ast_rel *rel, const char *key) {
    for (size_t i = rel->n_options; i > 0; i--) {
        if (fz_strcasecmp(rel->options[i - 1].key, key) == 0) {
            return rel->options[i - 1].value;
        }
    }
    return NULL;
}

static enum fz_code snapshot_option(const struct fz_ast_rel *rel, const char *key, int64_t *out, struct fz_err *err) {
    const char *text = option(rel, key);
    if (text != NULL && !fz_parse_i64(fz_str_of(text), out)) {
        return fz_fail(err, FZ_INVALID_ARG, "the read option %s is '%s', which is no snapshot id", key, text);
    }
    return FZ_OK;
}

// Iceberg says so when an ancestor of `end`, or itself, has the parent `start`, which may be expired.
static bool is_parent_ancestor(const struct fz_metadata *m, int64_t start, const struct fz_snapshot *end) {
    for (size_t steps = 0; end != NULL && steps <= m->n_snapshots; steps++) {
        if (end->parent_snapshot_id == start) {
            return true;
        }
        end = end->parent_snapshot_id >= 0 ? fz_metadata_snapshot(m, end->parent_snapshot_id) : NULL;
    }
    return false;
}

// start-snapshot-id (exclusive) and end-snapshot-id (the head without): the rows that appends between them have added.
static enum fz_code read_appended(struct fz_engine_table *t, const struct fz_ast_rel *rel, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    int64_t start = -1, end = t->snapshot_id;
    if (t->kind != FZ_TABLE_DATA) {
        return fz_fail(err, FZ_UNSUPPORTED, "a metadata table has no start-snapshot-id and end-snapshot-id");
    }
    if (t->time_travel) {
        return fz_fail(err, FZ_INVALID_ARG,
                       "Cannot use time travel together with start-snapshot-id and end-snapshot-id");
    }
    if (option(rel, "start-snapshot-id") == NULL) {
        return fz_fail(err, FZ_INVALID_ARG, "the read option end-snapshot-id needs start-snapshot-id as well");
    }
    FZ_TRY(snapshot_option(rel, "start-snapshot-id", &start, err));
    FZ_TRY(snapshot_option(rel, "end-snapshot-id", &end, err));
    const struct fz_snapshot *last = end >= 0 ? fz_metadata_snapshot(t->metadata, end) : NULL;
    if (last == NULL || !is_parent_ancestor(t->metadata, start, last)) {
        return fz_fail(err, FZ_INVALID_ARG,
                       "the snapshot of start-snapshot-id (%lld, exclusive) is no parent of the end snapshot %lld or "
                       "of one of its ancestors in table %s",
                       (long long)start, (long long)end, t->name.name);
    }
    t->snapshot_id = end;
    t->time_travel = true;
    t->appended = true;
    t->after_snapshot_id = start;
out:
    return rc;
}

// Options that choose rows; all others only say how Spark is to read them.
static enum fz_code apply_options(struct fz_statement *s, struct fz_engine_table *t, const struct fz_ast_rel *rel,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    static const char *const gone[][2] = {
        {"snapshot-id", "VERSION AS OF"}, {"tag", "VERSION AS OF"}, {"as-of-timestamp", "TIMESTAMP AS OF"}};
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++) {
        if (option(rel, gone[i][0]) != NULL) {
            return fz_fail(err, FZ_INVALID_ARG, "the time travel option %s is no longer there; write %s", gone[i][0],
                           gone[i][1]);
        }
    }
    const char *version = option(rel, "versionAsOf"), *time = option(rel, "timestampAsOf"),
               *branch = option(rel, "branch");
    if (branch != NULL) {
        FZ_TRY(fz_engine_use_ref(t, branch, false, err));
    }
    if (version != NULL) {
        FZ_TRY(travel_to_version(s, t, fz_str_of(version), err));
    } else if (time != NULL) {
        struct fz_value text = {.type = fz_type_primitive(FZ_TYPE_STRING)};
        text.u.bytes = fz_str_of(time);
        struct fz_ast_expr literal = {.kind = FZ_AST_LITERAL, .pos = rel->pos, .literal = &text};
        FZ_TRY(travel_to_time(s, t, &literal, err));
    }
    if (option(rel, "start-snapshot-id") != NULL || option(rel, "end-snapshot-id") != NULL) {
        FZ_TRY(read_appended(t, rel, err));
    }
out:
    return rc;
}

enum fz_code fz_engine_travel(struct fz_statement *s, struct fz_engine_table *t, const struct fz_ast_rel *rel,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (rel->version_as_of != NULL) {
        struct fz_value v;
        FZ_TRY(constant(s, rel->version_as_of, fz_type_primitive(FZ_TYPE_STRING), &v, err));
        FZ_TRY(travel_to_version(s, t, v.u.bytes, err));
    } else if (rel->timestamp_as_of != NULL) {
        FZ_TRY(travel_to_time(s, t, rel->timestamp_as_of, err));
    }
    if (rel->n_options > 0) {
        FZ_TRY(apply_options(s, t, rel, err));
    }
out:
    return rc;
}
