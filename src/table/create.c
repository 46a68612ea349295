// Metadata of a table that does not exist yet, with ids handed out as Java does: the fields of a struct in order first, then
// what is below each of them (seen in tables that Spark created).
#include "base/sys.h"
#include "base/text.h"
#include "table/metadata_copy_priv.h"
#include "table/update.h"

enum { MAX_DEPTH = 64 };

struct numbering {
    struct fz_arena *arena;
    int32_t next;
    int32_t *from, *to; // old id -> new id
    size_t n, cap;
    struct fz_err *err;
};

static enum fz_code take_id(struct numbering *x, int32_t old, int32_t *out) {
    if (x->n == x->cap) {
        size_t cap = x->cap * 2 + 64;
        int32_t *from = fz_arena_array(x->arena, cap, sizeof *from), *to = fz_arena_array(x->arena, cap, sizeof *to);
        if (from == NULL || to == NULL) {
            return fz_fail_nomem(x->err, cap);
        }
        if (x->n > 0) {
            memcpy(from, x->from, x->n * sizeof *from);
            memcpy(to, x->to, x->n * sizeof *to);
        }
        x->from = from;
        x->to = to;
        x->cap = cap;
    }
    *out = x->next++;
    x->from[x->n] = old;
    x->to[x->n++] = *out;
    return FZ_OK;
}

static enum fz_code renumber(struct numbering *x, const struct fz_type *in, int depth, const struct fz_type **out) {
    enum fz_code rc = FZ_OK;
    if (depth > MAX_DEPTH) {
        return fz_fail(x->err, FZ_LIMIT, "schema is nested deeper than %d", MAX_DEPTH);
    }
    if (in->n_fields == 0 && in->id != FZ_TYPE_STRUCT) {
        *out = fz_type_copy(x->arena, in);
        return *out != NULL ? FZ_OK : fz_fail_nomem(x->err, 0);
    }
    struct fz_field *fields = fz_arena_array(x->arena, in->n_fields + 1, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(x->err, in->n_fields);
    }
    for (size_t i = 0; i < in->n_fields; i++) {
        fields[i] = in->fields[i];
        FZ_TRY(take_id(x, in->fields[i].id, &fields[i].id));
        FZ_TRY(fz_text_copy(x->arena, in->fields[i].name, &fields[i].name, x->err));
        FZ_TRY(fz_text_copy(x->arena, in->fields[i].doc, &fields[i].doc, x->err));
        fields[i].initial_default =
            in->fields[i].initial_default != NULL ? fz_value_copy(x->arena, in->fields[i].initial_default) : NULL;
        fields[i].write_default =
            in->fields[i].write_default != NULL ? fz_value_copy(x->arena, in->fields[i].write_default) : NULL;
        if ((in->fields[i].initial_default != NULL && fields[i].initial_default == NULL) ||
            (in->fields[i].write_default != NULL && fields[i].write_default == NULL)) {
            rc = fz_fail_nomem(x->err, 0);
            goto out;
        }
    }
    for (size_t i = 0; i < in->n_fields; i++) {
        FZ_TRY(renumber(x, in->fields[i].type, depth + 1, &fields[i].type));
    }
    *out = in->id == FZ_TYPE_LIST ? fz_type_list(x->arena, fields[0].id, fields[0].required, fields[0].type)
           : in->id == FZ_TYPE_MAP
               ? fz_type_map(x->arena, fields[0].id, fields[0].type, fields[1].id, fields[1].required, fields[1].type)
               : fz_type_struct(x->arena, fields, in->n_fields);
    rc = *out != NULL ? FZ_OK : fz_fail_nomem(x->err, 0);
out:
    return rc;
}

static enum fz_code new_id(const struct numbering *x, int32_t *id) {
    for (size_t i = 0; i < x->n; i++) {
        if (x->from[i] == *id) {
            *id = x->to[i];
            return FZ_OK;
        }
    }
    return fz_fail(x->err, FZ_INVALID_ARG, "no column has the id %d that a partition or sort field names", *id);
}

static bool is_reserved(const char *key) {
    static const char *const reserved[] = {"format-version",           "uuid",
                                           "snapshot-count",           "current-snapshot-id",
                                           "current-snapshot-summary", "current-snapshot-timestamp-ms",
                                           "current-schema",           "default-partition-spec",
                                           "default-sort-order"};
    for (size_t i = 0; i < sizeof reserved / sizeof reserved[0]; i++) {
        if (strcmp(key, reserved[i]) == 0) {
            return true;
        }
    }
    return false;
}

static enum fz_code take_properties(struct fz_metadata *m, const struct fz_table_create *create, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool has_codec = false;
    m->properties = fz_arena_array(&m->arena, create->n_properties + 1, sizeof *m->properties);
    if (m->properties == NULL) {
        return fz_fail_nomem(err, create->n_properties);
    }
    for (size_t i = 0; i < create->n_properties; i++) {
        const struct fz_property *property = &create->properties[i];
        int64_t version = 0;
        if (strcmp(property->key, "format-version") == 0) {
            if (!fz_parse_i64(fz_str_of(property->value), &version) || version < 1) {
                return fz_fail(err, FZ_INVALID_ARG, "format-version \"%.50s\" is not a version", property->value);
            }
            if (version > 3) {
                return fz_fail(err, FZ_UNSUPPORTED, "unsupported format version: v%lld (supported: v3)",
                               (long long)version);
            }
            m->format_version = (int)version;
        }
        if (is_reserved(property->key)) {
            continue;
        }
        has_codec = has_codec || strcmp(property->key, "write.parquet.compression-codec") == 0;
        FZ_TRY(fz_text_copy(&m->arena, property->key, &m->properties[m->n_properties].key, err));
        FZ_TRY(fz_text_copy(&m->arena, property->value, &m->properties[m->n_properties].value, err));
        m->n_properties++;
    }
    if (!has_codec) {
        m->properties[m->n_properties++] = (struct fz_property){"write.parquet.compression-codec", "zstd"};
    }
out:
    return rc;
}

static enum fz_code take_spec(struct fz_metadata *m, const struct fz_table_create *create, const struct numbering *x) {
    enum fz_code rc = FZ_OK;
    const struct fz_partition_spec given = {0, create->partition, create->n_partition};
    FZ_TRY(fz_spec_copy(&m->arena, &given, &m->specs[0], x->err));
    for (size_t i = 0; i < given.n_fields; i++) {
        struct fz_partition_field *field =
            (struct fz_partition_field *)(uintptr_t)&m->specs[0].fields[i]; // our own copy
        FZ_TRY(new_id(x, &field->source_id));
        field->field_id = ++m->last_partition_id;
        const struct fz_type *type;
        if (field->transform.kind != FZ_TRANSFORM_VOID) {
            FZ_TRY(fz_transform_result_type(&field->transform, fz_schema_find(&m->schemas[0], field->source_id)->type,
                                            &type, x->err));
        }
        for (size_t j = 0; j < i; j++) {
            if (strcmp(m->specs[0].fields[j].name, field->name) == 0) {
                return fz_fail(x->err, FZ_INVALID_ARG, "cannot use partition name more than once: %s", field->name);
            }
        }
    }
    m->n_specs = 1;
out:
    return rc;
}

static enum fz_code take_order(struct fz_metadata *m, const struct fz_table_create *create, const struct numbering *x) {
    enum fz_code rc = FZ_OK;
    const struct fz_sort_order given = {create->n_order > 0 ? 1 : 0, create->order, create->n_order};
    FZ_TRY(fz_sort_order_copy(&m->arena, &given, &m->sort_orders[0], x->err));
    for (size_t i = 0; i < given.n_fields; i++) {
        FZ_TRY(new_id(x, &((struct fz_sort_field *)(uintptr_t)&m->sort_orders[0].fields[i])->source_id));
    }
    m->n_sort_orders = 1;
    m->default_sort_order_id = given.order_id;
out:
    return rc;
}

enum fz_code fz_metadata_create(const struct fz_table_create *create, int64_t now_ms, struct fz_metadata **out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_metadata *m = NULL;
    FZ_TRY(fz_metadata_copy(NULL, 2, &m, err));
    struct numbering x = {.arena = &m->arena, .next = 1, .err = err};
    char uuid[37];
    fz_uuid_v4(uuid);
    FZ_TRY(fz_text_copy(&m->arena, uuid, &m->table_uuid, err));
    const char *location = create->location;
    size_t len = location != NULL ? strlen(location) : 0;
    while (len > 1 && location[len - 1] == '/') {
        len--;
    }
    m->location = location != NULL ? fz_arena_strndup(&m->arena, location, len) : NULL;
    if (m->location == NULL) {
        rc = fz_fail(err, FZ_INVALID_ARG, "a new table needs a location");
        goto out;
    }
    FZ_TRY(take_properties(m, create, err));
    FZ_TRY(renumber(&x, create->schema, 0, &m->schemas[0].type));
    m->n_schemas = 1;
    m->last_column_id = x.next - 1;
    FZ_TRY(take_spec(m, create, &x));
    FZ_TRY(take_order(m, create, &x));
    m->last_updated_ms = now_ms;
    *out = m;
    m = NULL;
out:
    fz_metadata_unref(m);
    return rc;
}
