// ALTER TABLE: each form becomes metadata updates, built against what the table is at each attempt.
#include <inttypes.h>

#include "base/text.h"
#include "commit/commit.h"
#include "engine/engine_priv.h"

struct alter {
    struct fz_statement *s;
    const struct fz_ast_stmt *a;
    bool branch_is_new; // made a moment ago by this statement
};
struct builder {
    struct fz_arena *arena;
    struct fz_metadata *m;
    struct fz_update *updates;
    size_t n;
};

static struct fz_update *add(struct builder *b, enum fz_update_kind kind) {
    b->updates[b->n] = (struct fz_update){.kind = kind};
    return &b->updates[b->n++];
}

// Properties.
static enum fz_code set_properties(struct builder *b, const struct fz_ast_stmt *a, struct fz_err *err) {
    static const char *const reserved[] = {"uuid",
                                           "snapshot-count",
                                           "current-snapshot-id",
                                           "current-snapshot-summary",
                                           "current-snapshot-timestamp-ms",
                                           "current-schema",
                                           "default-partition-spec",
                                           "default-sort-order"};
    struct fz_property *items = fz_arena_array(b->arena, a->n_properties, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, a->n_properties * sizeof *items);
    }
    size_t n = 0;
    for (size_t i = 0; i < a->n_properties; i++) {
        const struct fz_property *p = &a->properties[i];
        for (size_t r = 0; r < sizeof reserved / sizeof *reserved; r++) {
            if (strcmp(p->key, reserved[r]) == 0 || fz_property_is_clause(p->key)) {
                return fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE.SET_TABLE_PROPERTY",
                                    "the property %s is reserved", p->key);
            }
        }
        if (strcmp(p->key, "format-version") == 0) {
            int64_t version;
            if (!fz_parse_i64(fz_str_of(p->value), &version) || version < 1 || version > 3) {
                return fz_fail_cond(err, FZ_UNSUPPORTED, "", "format-version '%s' is not one of 1, 2, 3", p->value);
            }
            if (version < b->m->format_version) {
                return fz_fail_cond(err, FZ_UNSUPPORTED, "", "Cannot downgrade v%d table to v%" PRId64,
                                    b->m->format_version, version);
            }
            if (version > b->m->format_version) {
                add(b, FZ_UPDATE_UPGRADE_FORMAT_VERSION)->u.id = (int32_t)version;
            }
        } else {
            items[n++] = *p;
        }
    }
    if (n > 0) {
        struct fz_update *u = add(b, FZ_UPDATE_SET_PROPERTIES);
        u->u.properties.items = items;
        u->u.properties.n = n;
    }
    return FZ_OK;
}

static enum fz_code unset_properties(struct builder *b, const struct fz_ast_stmt *a, struct fz_err *err) {
    struct fz_property *items = fz_arena_array(b->arena, a->n_names, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, a->n_names * sizeof *items);
    }
    for (size_t i = 0; i < a->n_names; i++) {
        items[i].key = a->names[i];
    }
    struct fz_update *u = add(b, FZ_UPDATE_REMOVE_PROPERTIES);
    u->u.properties.items = items;
    u->u.properties.n = a->n_names;
    return FZ_OK;
}

// Columns. A schema is rebuilt with one field changed; `edit` sees every struct level and its fields.
enum edit_kind { EDIT_ADD, EDIT_DROP, EDIT_RENAME, EDIT_TYPE, EDIT_DOC, EDIT_REQUIRED, EDIT_MOVE };
struct edit {
    enum edit_kind kind;
    const char *const *path; // path to the field; ADD: parent path
    size_t n_path;
    struct fz_field field; // ADD
    const char *text; // RENAME, DOC
    const struct fz_type *type;
    bool required, first;
    const char *after;
    bool done;
};

static int find_index(const struct fz_field *fields, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        if (fz_strcasecmp(fields[i].name, name) == 0) {
            return (int)i;
        }
    }
    return -1;
}

static enum fz_code place(struct fz_field *fields, size_t n, size_t from, bool first, const char *after,
                          struct fz_err *err) {
    struct fz_field moved = fields[from];
    int target = first ? 0 : -1;
    memmove(fields + from, fields + from + 1, (n - from - 1) * sizeof *fields);
    if (!first) {
        target = find_index(fields, n - 1, after);
        if (target < 0) {
            return fz_fail_cond(err, FZ_NOT_FOUND, "", "there is no column %s to place it after", after);
        }
        target++;
    }
    memmove(fields + target + 1, fields + target, (n - 1 - (size_t)target) * sizeof *fields);
    fields[target] = moved;
    return FZ_OK;
}

static bool may_widen(const struct fz_type *from, const struct fz_type *to) {
    return fz_type_equal(from, to, false, false) || (from->id == FZ_TYPE_INT && to->id == FZ_TYPE_LONG) ||
           (from->id == FZ_TYPE_FLOAT && to->id == FZ_TYPE_DOUBLE) ||
           (from->id == FZ_TYPE_DECIMAL && to->id == FZ_TYPE_DECIMAL && from->scale == to->scale &&
            from->precision <= to->precision);
}

static enum fz_code apply_edit(struct fz_arena *arena, const struct fz_type *type, size_t depth, struct edit *e,
                               const struct fz_type **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = type->n_fields;
    struct fz_field *fields = fz_arena_array(arena, n + 1, sizeof *fields);
    struct fz_type *copy = fz_arena_memdup(arena, type, sizeof *type);
    if (fields == NULL || copy == NULL) {
        return fz_fail_nomem(err, (n + 1) * sizeof *fields);
    }
    memcpy(fields, type->fields, n * sizeof *fields);
    bool here = depth + (e->kind == EDIT_ADD ? 0 : 1) == e->n_path;
    if (e->kind == EDIT_ADD && here) {
        if (type->id != FZ_TYPE_STRUCT) {
            return fz_fail_cond(err, FZ_INVALID_ARG, "", "columns can be added to structs only");
        }
        if (find_index(fields, n, e->field.name) >= 0) {
            return fz_fail_cond(err, FZ_EXISTS, "FIELD_ALREADY_EXISTS", "the column %s is there already",
                                e->field.name);
        }
        fields[n++] = e->field;
        if (e->first || e->after != NULL) {
            FZ_TRY(place(fields, n, n - 1, e->first, e->after, err));
        }
    } else {
        const char *want = e->path[depth];
        int at = find_index(fields, n, want);
        if (at < 0) {
            return fz_fail_cond(err, FZ_NOT_FOUND, "FIELD_NOT_FOUND", "there is no column %s", want);
        }
        struct fz_field *f = &fields[at];
        if (here && type->id != FZ_TYPE_STRUCT && e->kind != EDIT_TYPE && e->kind != EDIT_DOC) {
            return fz_fail_cond(err, FZ_UNSUPPORTED, "", "%s is the %s of a %s: it cannot be dropped, renamed or moved",
                                want, want, type->id == FZ_TYPE_MAP ? "map" : "list");
        }
        if (!here) {
            FZ_TRY(apply_edit(arena, f->type, depth + 1, e, &f->type, err));
        } else if (e->kind == EDIT_DROP) {
            memmove(fields + at, fields + at + 1, (n - (size_t)at - 1) * sizeof *fields);
            n--;
        } else if (e->kind == EDIT_RENAME) {
            int other = find_index(fields, n, e->text);
            if (other >= 0 && other != at) {
                return fz_fail_cond(err, FZ_EXISTS, "FIELD_ALREADY_EXISTS", "the column %s is there already", e->text);
            }
            f->name = e->text;
        } else if (e->kind == EDIT_TYPE) {
            if (!may_widen(f->type, e->type)) {
                struct fz_buf a = {0}, b = {0};
                fz_type_print_sql(&a, f->type);
                fz_type_print_sql(&b, e->type);
                rc = fz_fail_cond(err, FZ_SCHEMA_MISMATCH, "NOT_SUPPORTED_CHANGE_COLUMN",
                                  "column %s cannot change from %s to %s: only int to bigint, float to double and a "
                                  "wider decimal of the same scale are allowed",
                                  f->name, a.ptr ? a.ptr : "", b.ptr ? b.ptr : "");
                fz_buf_dispose(&a);
                fz_buf_dispose(&b);
                return rc;
            }
            f->type = e->type;
        } else if (e->kind == EDIT_DOC) {
            f->doc = e->text;
        } else if (e->kind == EDIT_REQUIRED) {
            if (e->required && !f->required) {
                return fz_fail_cond(err, FZ_INVALID_ARG, "",
                                    "column %s holds NULLs as far as the table knows: it cannot become NOT NULL",
                                    f->name);
            }
            f->required = e->required;
        } else {
            FZ_TRY(place(fields, n, (size_t)at, e->first, e->after, err));
        }
    }
    copy->fields = fields;
    copy->n_fields = n;
    *out = copy;
out:
    return rc;
}

static enum fz_code assign_ids(struct fz_arena *arena, struct fz_field *field, int32_t *last, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    field->id = ++*last;
    if (field->type->id == FZ_TYPE_BYTE || field->type->id == FZ_TYPE_SHORT) {
        field->type = fz_type_primitive(FZ_TYPE_INT);
    }
    if (field->type->n_fields > 0) {
        struct fz_type *copy = fz_arena_memdup(arena, field->type, sizeof *copy);
        struct fz_field *fields = copy ? fz_arena_memdup(arena, copy->fields, copy->n_fields * sizeof *fields) : NULL;
        if (fields == NULL) {
            return fz_fail_nomem(err, sizeof *copy);
        }
        for (size_t i = 0; i < copy->n_fields; i++) {
            FZ_TRY(assign_ids(arena, &fields[i], last, err));
        }
        copy->fields = fields;
        field->type = copy;
    }
out:
    return rc;
}

static bool holds(const struct fz_field *field, int32_t id) { // it, or something inside
    if (field->id == id) {
        return true;
    }
    for (size_t i = 0; i < field->type->n_fields; i++) {
        if (holds(&field->type->fields[i], id)) {
            return true;
        }
    }
    return false;
}

// What must not be dropped behind the table's back. Codes as Spark's classes for them.
static enum fz_code check_drop(const struct builder *b, const struct fz_field *field, struct fz_err *err) {
    const struct fz_schema *schema = fz_metadata_current_schema(b->m);
    const struct fz_partition_spec *spec = fz_metadata_spec(b->m, b->m->default_spec_id);
    const struct fz_sort_order *order = fz_metadata_sort_order(b->m, b->m->default_sort_order_id);
    for (size_t i = 0; i < schema->n_identifier_field_ids; i++) {
        if (holds(field, schema->identifier_field_ids[i])) {
            return fz_fail(err, FZ_UNSUPPORTED,
                           "Cannot delete identifier field %s: ALTER TABLE … DROP IDENTIFIER FIELDS first",
                           field->name);
        }
    }
    for (size_t i = 0; spec != NULL && i < spec->n_fields; i++) {
        if (holds(field, spec->fields[i].source_id) && spec->fields[i].transform.kind != FZ_TRANSFORM_VOID) {
            return fz_fail(
                err, FZ_NOT_FOUND,
                "column %s is the source of the partition field %s: ALTER TABLE … DROP PARTITION FIELD first",
                field->name, spec->fields[i].name);
        }
    }
    for (size_t i = 0; order != NULL && i < order->n_fields; i++) {
        if (holds(field, order->fields[i].source_id)) {
            return fz_fail(err, FZ_NOT_FOUND,
                           "column %s is part of the write order: ALTER TABLE … WRITE UNORDERED first", field->name);
        }
    }
    return FZ_OK;
}

static enum fz_code change_columns(struct builder *b, const struct fz_ast_stmt *a, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_schema *current = fz_metadata_current_schema(b->m);
    const struct fz_type *type = current->type;
    int32_t last = b->m->last_column_id;
    if (a->alter == FZ_ALTER_ADD_COLUMNS) {
        for (size_t i = 0; i < a->n_column_defs; i++) {
            const struct fz_ast_column_def *d = &a->column_defs[i];
            if (d->default_value != NULL) {
                return fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE.TABLE_OPERATION",
                                    "column %s: column defaults cannot be declared for Iceberg tables", d->name);
            }
            if (d->not_null) {
                return fz_fail_cond(
                    err, FZ_SCHEMA_MISMATCH, "",
                    "Incompatible change: cannot add required column %s: existing rows would have no value", d->name);
            }
            struct edit e = {.kind = EDIT_ADD,
                             .path = d->path.parts,
                             .n_path = d->path.n > 0 ? d->path.n - 1 : 0,
                             .first = d->first,
                             .after = d->after};
            e.field = (struct fz_field){.name = d->name, .type = d->type, .doc = d->comment};
            FZ_TRY(assign_ids(b->arena, &e.field, &last, err));
            FZ_TRY(apply_edit(b->arena, type, 0, &e, &type, err));
        }
    } else if (a->alter == FZ_ALTER_DROP_COLUMNS) {
        for (size_t i = 0; i < a->n_names; i++) {
            const struct fz_field *field = fz_find_column(type, &a->name_paths[i]);
            if (field == NULL) {
                if (a->if_exists) {
                    continue;
                }
                return fz_fail_cond(err, FZ_NOT_FOUND, "FIELD_NOT_FOUND", "there is no column %s", a->names[i]);
            }
            FZ_TRY(check_drop(b, field, err));
            struct edit e = {.kind = EDIT_DROP, .path = a->name_paths[i].parts, .n_path = a->name_paths[i].n};
            FZ_TRY(apply_edit(b->arena, type, 0, &e, &type, err));
        }
    } else {
        struct edit e = {.path = a->column.parts, .n_path = a->column.n};
        if (a->alter == FZ_ALTER_RENAME_COLUMN) {
            e.kind = EDIT_RENAME;
            e.text = a->new_name.parts[a->new_name.n - 1];
            FZ_TRY(apply_edit(b->arena, type, 0, &e, &type, err));
        }
        if (a->default_value != NULL || a->drop_default) {
            return fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE.TABLE_OPERATION",
                                "column defaults cannot be declared for Iceberg tables");
        }
        if (a->type != NULL) {
            e.kind = EDIT_TYPE;
            e.type = a->type;
            FZ_TRY(apply_edit(b->arena, type, 0, &e, &type, err));
        }
        if (a->has_comment) {
            e.kind = EDIT_DOC;
            e.text = a->comment;
            FZ_TRY(apply_edit(b->arena, type, 0, &e, &type, err));
        }
        if (a->set_not_null != 0) {
            const struct fz_field *column = fz_find_column(type, &a->column);
            for (size_t i = 0; column != NULL && a->set_not_null != 1 && i < current->n_identifier_field_ids; i++) {
                if (current->identifier_field_ids[i] == column->id) {
                    return fz_fail(err, FZ_UNSUPPORTED,
                                   "identifier field %s must stay NOT NULL: ALTER TABLE … DROP IDENTIFIER FIELDS first",
                                   column->name);
                }
            }
            e.kind = EDIT_REQUIRED;
            e.required = a->set_not_null == 1;
            FZ_TRY(apply_edit(b->arena, type, 0, &e, &type, err));
        }
        if (a->first || a->after) {
            e.kind = EDIT_MOVE;
            e.first = a->first;
            e.after = a->after ? a->new_name.parts[a->new_name.n - 1] : NULL;
            FZ_TRY(apply_edit(b->arena, type, 0, &e, &type, err));
        }
    }
    struct fz_schema *schema = FZ_ARENA_NEW(b->arena, struct fz_schema);
    if (schema == NULL) {
        return fz_fail_nomem(err, sizeof *schema);
    }
    *schema = *current;
    schema->type = type;
    add(b, FZ_UPDATE_ADD_SCHEMA)->u.schema = schema;
    add(b, FZ_UPDATE_SET_CURRENT_SCHEMA)->u.id = -1;
out:
    return rc;
}

// Partition fields.
static bool same_transform(const struct fz_transform *a, const struct fz_transform *b) {
    return a->kind == b->kind && a->param == b->param;
}

// The name ALTER TABLE gives: id_bucket_4, s_trunc_2, ts_day.
static enum fz_code default_name(struct fz_arena *arena, struct fz_partition_field *f, struct fz_err *err) {
    if (f->transform.kind == FZ_TRANSFORM_BUCKET || f->transform.kind == FZ_TRANSFORM_TRUNCATE) {
        f->name = fz_arena_printf(arena, "%s_%d", f->name, f->transform.param);
    }
    return f->name == NULL ? fz_fail_nomem(err, 64) : FZ_OK;
}

static int find_partition(struct builder *b, const struct fz_partition_spec *spec, const struct fz_ast_transform *item,
                          struct fz_err *err) {
    if (item->function == NULL && item->column.n == 1) { // by the field's name
        for (size_t i = 0; i < spec->n_fields; i++) {
            if (fz_strcasecmp(spec->fields[i].name, item->column.parts[0]) == 0 &&
                spec->fields[i].transform.kind != FZ_TRANSFORM_VOID) {
                return (int)i;
            }
        }
    }
    struct fz_partition_field wanted;
    struct fz_err inner = FZ_ERR_INIT;
    if (fz_partition_field_of(b->arena, fz_metadata_current_schema(b->m)->type, item, &wanted, &inner) == FZ_OK) {
        for (size_t i = 0; i < spec->n_fields; i++) {
            if (spec->fields[i].source_id == wanted.source_id &&
                same_transform(&spec->fields[i].transform, &wanted.transform)) {
                return (int)i;
            }
        }
    }
    fz_fail_cond(err, FZ_NOT_FOUND, "", "Cannot find partition field to remove: %s",
                 item->column.n ? item->column.parts[item->column.n - 1] : "");
    return -1;
}

static enum fz_code change_partition(struct builder *b, const struct fz_ast_stmt *a, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_partition_spec *old = fz_metadata_spec(b->m, b->m->default_spec_id);
    struct fz_partition_spec *spec = FZ_ARENA_NEW(b->arena, struct fz_partition_spec);
    struct fz_partition_field *fields = fz_arena_array(b->arena, old->n_fields + 1, sizeof *fields);
    if (spec == NULL || fields == NULL) {
        return fz_fail_nomem(err, (old->n_fields + 1) * sizeof *fields);
    }
    memcpy(fields, old->fields, old->n_fields * sizeof *fields);
    size_t n = old->n_fields;
    if (a->alter != FZ_ALTER_ADD_PARTITION_FIELD) {
        int at = find_partition(b, old, &a->transforms[0], err);
        if (at < 0) {
            return err != NULL ? err->code : FZ_NOT_FOUND;
        }
        if (b->m->format_version < 2) { // v1 keeps the position as void
            fields[at].transform = (struct fz_transform){.kind = FZ_TRANSFORM_VOID};
        } else {
            memmove(fields + at, fields + at + 1, (n - (size_t)at - 1) * sizeof *fields);
            n--;
        }
    }
    if (a->alter != FZ_ALTER_DROP_PARTITION_FIELD) {
        const struct fz_ast_transform *item = &a->transforms[a->alter == FZ_ALTER_REPLACE_PARTITION_FIELD ? 1 : 0];
        struct fz_partition_field *f = &fields[n];
        FZ_TRY(fz_partition_field_of(b->arena, fz_metadata_current_schema(b->m)->type, item, f, err));
        FZ_TRY(default_name(b->arena, f, err));
        if (a->new_name.n > 0) {
            f->name = a->new_name.parts[a->new_name.n - 1];
        }
        f->field_id = -1;
        for (size_t i = 0; i < n; i++) {
            if (fields[i].source_id == f->source_id && same_transform(&fields[i].transform, &f->transform)) {
                return fz_fail_cond(err, FZ_INVALID_ARG, "",
                                    "Cannot add duplicate partition field %s: the table is partitioned by it already",
                                    f->name);
            }
            if (strcmp(fields[i].name, f->name) == 0) {
                return fz_fail_cond(err, FZ_INVALID_ARG, "",
                                    "Cannot add partition field %s: a field of that name exists already", f->name);
            }
        }
        for (size_t s = 0; s < b->m->n_specs;
             s++) { // an equivalent field of an older spec lends its id, and its name when none is given
            for (size_t i = 0; i < b->m->specs[s].n_fields; i++) {
                const struct fz_partition_field *older = &b->m->specs[s].fields[i];
                if (older->source_id == f->source_id && same_transform(&older->transform, &f->transform)) {
                    f->field_id = older->field_id;
                    f->name = a->new_name.n > 0 ? f->name : older->name;
                }
            }
        }
        if (f->field_id < 0) {
            f->field_id = b->m->last_partition_id + 1;
        }
        n++;
    }
    spec->spec_id = -1;
    spec->fields = fields;
    spec->n_fields = n;
    add(b, FZ_UPDATE_ADD_SPEC)->u.spec = spec;
    add(b, FZ_UPDATE_SET_DEFAULT_SPEC)->u.id = -1;
out:
    return rc;
}

static enum fz_code write_order(struct builder *b, const struct fz_ast_stmt *a, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_sort_order *order = FZ_ARENA_NEW(b->arena, struct fz_sort_order);
    struct fz_sort_field *fields = fz_arena_array(b->arena, a->n_transforms, sizeof *fields);
    struct fz_property *mode = FZ_ARENA_NEW(b->arena, struct fz_property);
    if (order == NULL || fields == NULL || mode == NULL) {
        return fz_fail_nomem(err, sizeof *order);
    }
    for (size_t i = 0; i < a->n_transforms; i++) {
        struct fz_partition_field f;
        FZ_TRY(fz_partition_field_of(b->arena, fz_metadata_current_schema(b->m)->type, &a->transforms[i], &f, err));
        fields[i] = (struct fz_sort_field){
            .source_id = f.source_id, .transform = f.transform, .descending = a->transforms[i].descending};
        fields[i].nulls_last = a->transforms[i].nulls_set ? a->transforms[i].nulls_last : a->transforms[i].descending;
    }
    order->order_id = a->n_transforms == 0 ? 0 : -1;
    order->fields = fields;
    order->n_fields = a->n_transforms;
    // ORDERED BY sorts over all writers (range), DISTRIBUTED BY PARTITION hashes, UNORDERED does neither; LOCALLY leaves the mode as it is.
    const char *value = a->distributed_by_partition ? "hash" : a->unordered ? "none" : "range";
    *mode = (struct fz_property){"write.distribution-mode", value};
    add(b, FZ_UPDATE_ADD_SORT_ORDER)->u.order = order;
    add(b, FZ_UPDATE_SET_DEFAULT_SORT_ORDER)->u.id = -1;
    if (!a->ordered_locally || a->distributed_by_partition) {
        struct fz_update *u = add(b, FZ_UPDATE_SET_PROPERTIES);
        u->u.properties.items = mode;
        u->u.properties.n = 1;
    }
out:
    return rc;
}

static enum fz_code identifier_fields(struct builder *b, const struct fz_ast_stmt *a, struct fz_err *err) {
    const struct fz_schema *current = fz_metadata_current_schema(b->m);
    struct fz_schema *schema = FZ_ARENA_NEW(b->arena, struct fz_schema);
    int32_t *ids = fz_arena_array(b->arena, current->n_identifier_field_ids + a->n_names, sizeof *ids);
    if (schema == NULL || ids == NULL) {
        return fz_fail_nomem(err, sizeof *schema);
    }
    bool drop = a->alter == FZ_ALTER_DROP_IDENTIFIER;
    size_t n = drop ? current->n_identifier_field_ids : 0;
    if (n > 0) {
        memcpy(ids, current->identifier_field_ids, n * sizeof *ids);
    }
    for (size_t i = 0; i < a->n_names; i++) {
        const struct fz_field *f = fz_find_column(current->type, &a->name_paths[i]);
        if (f == NULL) {
            return fz_fail(err, FZ_INVALID_ARG,
                           drop ? "Cannot drop identifier field: there is no column %s"
                                : "Cannot add %s as an identifier field: there is no such column",
                           a->names[i]);
        }
        if (drop) {
            size_t k = 0;
            while (k < n && ids[k] != f->id) {
                k++;
            }
            if (k == n) {
                return fz_fail(err, FZ_INVALID_ARG, "%s is not an identifier field", a->names[i]);
            }
            ids[k] = ids[--n];
            continue;
        }
        bool reachable = true; // every struct above it is always there
        struct fz_ast_name above = a->name_paths[i];
        while (reachable && --above.n > 0) {
            const struct fz_field *outer = fz_find_column(current->type, &above);
            reachable = outer != NULL && outer->required && outer->type->id == FZ_TYPE_STRUCT;
        }
        if (!reachable) {
            return fz_fail(
                err, FZ_INVALID_ARG,
                "Cannot add field %s as an identifier field: it must not be inside an optional field, a list or a map",
                f->name);
        }
        if (!f->required || f->type->n_fields > 0 || f->type->id == FZ_TYPE_FLOAT || f->type->id == FZ_TYPE_DOUBLE) {
            return fz_fail(err, FZ_INVALID_ARG,
                           "Cannot add field %s as an identifier field: it must be a NOT NULL column of a plain type "
                           "other than float and double",
                           f->name);
        }
        ids[n++] = f->id;
    }
    *schema = *current;
    schema->identifier_field_ids = ids;
    schema->n_identifier_field_ids = n;
    add(b, FZ_UPDATE_ADD_SCHEMA)->u.schema = schema;
    add(b, FZ_UPDATE_SET_CURRENT_SCHEMA)->u.id = -1;
    return FZ_OK;
}

// Branches and tags.
static enum fz_code change_ref(struct builder *b, const struct fz_ast_stmt *a, bool is_new, struct fz_err *err) {
    bool tag = a->alter == FZ_ALTER_CREATE_TAG || a->alter == FZ_ALTER_REPLACE_TAG || a->alter == FZ_ALTER_DROP_TAG;
    const char *what = tag ? "Tag" : "Branch";
    const struct fz_snapshot_ref *old = fz_metadata_find_ref(b->m, a->key);
    if (a->alter == FZ_ALTER_DROP_BRANCH || a->alter == FZ_ALTER_DROP_TAG) {
        if (old == NULL || old->is_tag != tag) {
            if (a->if_exists && old == NULL) {
                return FZ_OK;
            }
            return fz_fail_cond(err, old == NULL ? FZ_NOT_FOUND : FZ_INVALID_ARG, "", "%s does not exist: %s", what,
                                a->key);
        }
        if (strcmp(a->key, "main") == 0) {
            return fz_fail(err, FZ_INVALID_ARG, "Cannot remove main branch");
        }
        add(b, FZ_UPDATE_REMOVE_SNAPSHOT_REF)->u.text = a->key;
        return FZ_OK;
    }
    bool replace = a->alter == FZ_ALTER_REPLACE_BRANCH || a->alter == FZ_ALTER_REPLACE_TAG || a->or_replace || is_new;
    bool create = !(a->alter == FZ_ALTER_REPLACE_BRANCH || a->alter == FZ_ALTER_REPLACE_TAG);
    if (old != NULL && !replace) {
        return a->if_not_exists ? FZ_OK : fz_fail_cond(err, FZ_EXISTS, "", "Ref %s already exists", a->key);
    }
    if (old == NULL && !create) {
        return fz_fail_cond(err, FZ_NOT_FOUND, "", "%s does not exist: %s", what, a->key);
    }
    if (old != NULL && old->is_tag != tag) {
        return fz_fail(err, FZ_INVALID_ARG, "Ref %s is a %s, not a %s", a->key, old->is_tag ? "tag" : "branch",
                       tag ? "tag" : "branch");
    }
    int64_t id = a->snapshot_id >= 0     ? a->snapshot_id
                 : is_new && old != NULL ? old->snapshot_id
                                         : b->m->current_snapshot_id;
    if (id < 0) {
        return fz_fail_cond(err, tag ? FZ_INVALID_ARG : FZ_UNSUPPORTED, "",
                            "Cannot complete %s creation: the table has no snapshot yet", tag ? "tag" : "branch");
    }
    if (fz_metadata_snapshot(b->m, id) == NULL) {
        return fz_fail_cond(err, FZ_NOT_FOUND, "", "Cannot set %s to unknown snapshot: %" PRId64, a->key, id);
    }
    struct fz_snapshot_ref *ref = FZ_ARENA_NEW(b->arena, struct fz_snapshot_ref);
    if (ref == NULL) {
        return fz_fail_nomem(err, sizeof *ref);
    }
    // A ref that is replaced keeps the retention that the statement does not name.
    bool keep = old != NULL;
    *ref = (struct fz_snapshot_ref){.name = a->key,
                                    .snapshot_id = id,
                                    .is_tag = tag,
                                    .min_snapshots_to_keep = (int32_t)a->min_snapshots,
                                    .max_snapshot_age_ms = a->snapshot_retain_ms,
                                    .max_ref_age_ms = a->retain_ms};
    if (keep) {
        ref->min_snapshots_to_keep = a->min_snapshots < 0 ? old->min_snapshots_to_keep : ref->min_snapshots_to_keep;
        ref->max_snapshot_age_ms = a->snapshot_retain_ms < 0 ? old->max_snapshot_age_ms : ref->max_snapshot_age_ms;
        ref->max_ref_age_ms = a->retain_ms < 0 ? old->max_ref_age_ms : ref->max_ref_age_ms;
    }
    add(b, FZ_UPDATE_SET_SNAPSHOT_REF)->u.ref = ref;
    return FZ_OK;
}

static enum fz_code build(void *ctx, struct fz_arena *arena, struct fz_metadata *current, struct fz_update **updates,
                          size_t *n, struct fz_err *err) {
    const struct fz_ast_stmt *a = ((struct alter *)ctx)->a;
    struct builder b = {.arena = arena, .m = current};
    b.updates = fz_arena_array(arena, 8, sizeof *b.updates);
    enum fz_code rc = b.updates == NULL ? fz_fail_nomem(err, 8 * sizeof *b.updates) : FZ_OK;
    if (rc != FZ_OK) {
        return rc;
    }
    switch (a->alter) {
    case FZ_ALTER_SET_PROPERTIES:
        rc = set_properties(&b, a, err);
        break;
    case FZ_ALTER_UNSET_PROPERTIES:
        rc = unset_properties(&b, a, err);
        break;
    case FZ_ALTER_ADD_COLUMNS:
    case FZ_ALTER_DROP_COLUMNS:
    case FZ_ALTER_RENAME_COLUMN:
    case FZ_ALTER_COLUMN:
        rc = change_columns(&b, a, err);
        break;
    case FZ_ALTER_ADD_PARTITION_FIELD:
    case FZ_ALTER_DROP_PARTITION_FIELD:
    case FZ_ALTER_REPLACE_PARTITION_FIELD:
        rc = change_partition(&b, a, err);
        break;
    case FZ_ALTER_WRITE_ORDER:
        rc = write_order(&b, a, err);
        break;
    case FZ_ALTER_SET_IDENTIFIER:
    case FZ_ALTER_DROP_IDENTIFIER:
        rc = identifier_fields(&b, a, err);
        break;
    case FZ_ALTER_CREATE_BRANCH:
    case FZ_ALTER_CREATE_TAG:
    case FZ_ALTER_REPLACE_BRANCH:
    case FZ_ALTER_REPLACE_TAG:
    case FZ_ALTER_DROP_BRANCH:
    case FZ_ALTER_DROP_TAG:
        rc = change_ref(&b, a, ((struct alter *)ctx)->branch_is_new, err);
        break;
    case FZ_ALTER_SET_LOCATION:
        add(&b, FZ_UPDATE_SET_LOCATION)->u.text = a->location;
        break;
    }
    *updates = b.updates;
    *n = b.n;
    return rc;
}

// A branch of a table without snapshots begins with an empty one of its own; main stays without.
static enum fz_code create_first_branch(struct fz_statement *s, struct fz_catalog *catalog,
                                        const struct fz_table_name *name, bool *made, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_ast_stmt *a = s->ast;
    struct fz_metadata *m = NULL;
    struct fz_commit_result result = {0};
    *made = false;
    if ((a->alter != FZ_ALTER_CREATE_BRANCH && a->alter != FZ_ALTER_REPLACE_BRANCH) || a->snapshot_id >= 0) {
        return FZ_OK;
    }
    FZ_TRY(catalog->vtable->load(catalog, name, &m, err));
    if (m->current_snapshot_id >= 0 || fz_metadata_find_ref(m, a->key) != NULL || a->alter != FZ_ALTER_CREATE_BRANCH) {
        goto out;
    }
    struct fz_commit_request request = {
        .catalog = catalog,
        .table = name,
        .store = s->engine->store,
        .base = m,
        .branch = a->key,
        .kind = FZ_COMMIT_APPEND,
        .scanned_snapshot_id = -1,
        .cancel = &s->engine->cancel,
        .log = &s->engine->log,
    };
    FZ_TRY(fz_commit_snapshot(&request, &result, err));
    *made = true;
out:
    fz_metadata_unref(m);
    fz_metadata_unref(result.metadata);
    return rc;
}

enum fz_code fz_ddl_alter_table(struct fz_statement *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_catalog *catalog;
    struct fz_table_name name;
    struct fz_metadata *done = NULL;
    struct alter alter = {.s = s, .a = s->ast};
    if (s->ast->is_view) {
        return fz_fail_cond(err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE", "views in a catalog are not there yet");
    }
    FZ_TRY(fz_engine_split_name(s->engine, &s->arena, &s->ast->name, false, &catalog, &name, err));
    FZ_TRY(create_first_branch(s, catalog, &name, &alter.branch_is_new, err));
    bool more = s->ast->retain_ms >= 0 || s->ast->min_snapshots >= 0 || s->ast->snapshot_retain_ms >= 0;
    if (!alter.branch_is_new || more) {
        FZ_TRY(fz_commit_updates(catalog, &name, build, &alter, &done, err));
    }
out:
    fz_metadata_unref(done);
    return rc;
}
