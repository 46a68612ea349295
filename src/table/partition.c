// Partition tuples: their struct types and the directory names that show them (spec "Partitioning", iceberg-facts 7.8).
#include <stdlib.h>

#include "base/text.h"
#include "table/metadata.h"

// The source may be gone from the current schema: then an older schema of the table that still has it tells the type.
static const struct fz_type *result_type(const struct fz_field *source, const struct fz_partition_field *field) {
    const struct fz_type *type = NULL;
    struct fz_err ignored = FZ_ERR_INIT;
    if (field->transform.kind == FZ_TRANSFORM_BUCKET) {
        return fz_type_primitive(FZ_TYPE_INT); // also where the source is unknown
    }
    if (source == NULL) {
        return NULL;
    }
    if (field->transform.kind == FZ_TRANSFORM_VOID || field->transform.kind == FZ_TRANSFORM_IDENTITY) {
        return source->type;
    }
    return fz_transform_result_type(&field->transform, source->type, &type, &ignored) == FZ_OK ? type : NULL;
}

static const struct fz_type *known_without_source(const struct fz_transform *transform) {
    switch (transform->kind) {
    case FZ_TRANSFORM_BUCKET:
    case FZ_TRANSFORM_YEAR:
    case FZ_TRANSFORM_MONTH:
    case FZ_TRANSFORM_HOUR:
        return fz_type_primitive(FZ_TYPE_INT);
    case FZ_TRANSFORM_DAY:
        return fz_type_primitive(FZ_TYPE_DATE);
    case FZ_TRANSFORM_OTHER:
        return fz_type_primitive(FZ_TYPE_STRING); // what Java takes unknown transforms to give
    case FZ_TRANSFORM_IDENTITY:
    case FZ_TRANSFORM_TRUNCATE:
    case FZ_TRANSFORM_VOID:
        break;
    }
    return fz_type_primitive(FZ_TYPE_UNKNOWN);
}

static const struct fz_type *field_type(const struct fz_schema *schema, const struct fz_partition_field *field) {
    const struct fz_type *type = result_type(fz_schema_find(schema, field->source_id), field);
    return type != NULL ? type : known_without_source(&field->transform);
}

enum fz_code fz_spec_partition_type(struct fz_arena *arena, const struct fz_schema *schema,
                                    const struct fz_partition_spec *spec, const struct fz_type **out,
                                    struct fz_err *err) {
    struct fz_field *fields = fz_arena_array(arena, spec->n_fields + 1, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, spec->n_fields);
    }
    for (size_t i = 0; i < spec->n_fields; i++) {
        fields[i] = (struct fz_field){.id = spec->fields[i].field_id, .name = spec->fields[i].name};
        fields[i].type = field_type(schema, &spec->fields[i]);
    }
    *out = fz_type_struct(arena, fields, spec->n_fields);
    return *out != NULL ? FZ_OK : fz_fail_nomem(err, 0);
}

static const struct fz_type *type_in_any_schema(const struct fz_metadata *m, const struct fz_partition_field *field) {
    const struct fz_schema *current = fz_metadata_current_schema(m);
    const struct fz_type *type = current != NULL ? result_type(fz_schema_find(current, field->source_id), field) : NULL;
    for (size_t i = m->n_schemas; type == NULL && i-- > 0;) {
        type = result_type(fz_schema_find(&m->schemas[i], field->source_id), field);
    }
    return type != NULL ? type : known_without_source(&field->transform);
}

enum fz_code fz_metadata_spec_type(struct fz_arena *arena, const struct fz_metadata *m, int32_t spec_id,
                                   const struct fz_type **out, struct fz_err *err) {
    const struct fz_partition_spec *spec = fz_metadata_spec(m, spec_id);
    if (spec == NULL) {
        return fz_fail(err, FZ_CORRUPT, "the table has no partition spec %d", spec_id);
    }
    struct fz_field *fields = fz_arena_array(arena, spec->n_fields + 1, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, spec->n_fields);
    }
    for (size_t i = 0; i < spec->n_fields; i++) {
        fields[i] = (struct fz_field){.id = spec->fields[i].field_id, .name = spec->fields[i].name};
        fields[i].type = type_in_any_schema(m, &spec->fields[i]);
    }
    *out = fz_type_struct(arena, fields, spec->n_fields);
    return *out != NULL ? FZ_OK : fz_fail_nomem(err, 0);
}

// Newest first: the name and type of the newest spec that has a field win.
static int by_spec_id_down(const void *a, const void *b) {
    int32_t x = (*(const struct fz_partition_spec *const *)a)->spec_id,
            y = (*(const struct fz_partition_spec *const *)b)->spec_id;
    return x < y ? 1 : x > y ? -1 : 0;
}

static int by_field_id(const void *a, const void *b) {
    int32_t x = ((const struct fz_field *)a)->id, y = ((const struct fz_field *)b)->id;
    return x < y ? -1 : x > y;
}

enum fz_code fz_metadata_partition_type(struct fz_arena *arena, const struct fz_metadata *m, const struct fz_type **out,
                                        struct fz_err *err) {
    size_t total = 0, n = 0;
    const struct fz_partition_spec **specs = fz_arena_array(arena, m->n_specs + 1, sizeof *specs);
    for (size_t i = 0; specs != NULL && i < m->n_specs; i++) {
        specs[i] = &m->specs[i];
        total += m->specs[i].n_fields;
    }
    struct fz_field *fields = fz_arena_array(arena, total + 1, sizeof *fields);
    bool *voids = fz_arena_array(arena, total + 1, sizeof *voids);
    if (specs == NULL || fields == NULL || voids == NULL) {
        return fz_fail_nomem(err, total);
    }
    qsort(specs, m->n_specs, sizeof(const struct fz_partition_spec *), by_spec_id_down);
    for (size_t i = 0; i < m->n_specs; i++) {
        for (size_t j = 0; j < specs[i]->n_fields; j++) {
            const struct fz_partition_field *field = &specs[i]->fields[j];
            bool is_void = field->transform.kind == FZ_TRANSFORM_VOID;
            size_t at = 0;
            while (at < n && fields[at].id != field->field_id) {
                at++;
            }
            if (at == n || (voids[at] && !is_void)) { // a v1 field that was dropped is void in newer specs
                fields[at] =
                    (struct fz_field){.id = field->field_id, .name = field->name, .type = type_in_any_schema(m, field)};
                voids[at] = is_void;
                n = at == n ? n + 1 : n;
            }
        }
    }
    qsort(fields, n, sizeof *fields, by_field_id);
    *out = fz_type_struct(arena, fields, n);
    return *out != NULL ? FZ_OK : fz_fail_nomem(err, 0);
}

enum fz_code fz_spec_partition_path(struct fz_buf *out, const struct fz_partition_spec *spec,
                                    const struct fz_value *partition, struct fz_err *err) {
    struct fz_buf text = {0};
    for (size_t i = 0; i < spec->n_fields; i++) {
        if (i > 0) {
            fz_buf_putc(out, '/');
        }
        fz_url_encode(out, fz_str_of(spec->fields[i].name));
        fz_buf_putc(out, '=');
        fz_buf_clear(&text);
        if (partition->is_null || i >= partition->u.nested.n || partition->u.nested.items[i].is_null) {
            fz_buf_puts(&text, "null");
        } else {
            fz_transform_print_value(&text, &spec->fields[i].transform, &partition->u.nested.items[i]);
        }
        fz_url_encode(out, (struct fz_str){text.ptr, text.len});
    }
    out->failed = out->failed || text.failed;
    fz_buf_dispose(&text);
    return fz_buf_check(out, err);
}
