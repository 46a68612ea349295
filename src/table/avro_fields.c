// Reading Avro records by Iceberg field id: names differ between writers and releases, ids do not.
#include "table/manifest_priv.h"

static enum fz_avro_shape shape_of(const char *name) {
    static const struct {
        const char *name;
        enum fz_avro_shape shape;
    } shapes[] = {{"int", FZ_AVRO_NUMBER},  {"long", FZ_AVRO_NUMBER},   {"boolean", FZ_AVRO_FLAG},
                  {"float", FZ_AVRO_FLOAT}, {"double", FZ_AVRO_DOUBLE}, {"string", FZ_AVRO_TEXT},
                  {"bytes", FZ_AVRO_TEXT},  {"fixed", FZ_AVRO_FIXED},   {"array", FZ_AVRO_ARRAY},
                  {"map", FZ_AVRO_MAP},     {"record", FZ_AVRO_RECORD}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        if (strcmp(name, shapes[i].name) == 0) {
            return shapes[i].shape;
        }
    }
    return FZ_AVRO_OTHER;
}

// The primitive or complex type's name; objects may wrap objects.
static const char *type_name(const json_t **schema) {
    for (int depth = 0; depth < 16; depth++) {
        if (json_is_string(*schema)) {
            return json_string_value(*schema);
        }
        const json_t *type = json_object_get(*schema, "type");
        if (json_is_string(type)) {
            return json_string_value(type);
        }
        *schema = type;
    }
    return "";
}

static void plan_union(struct fz_avro_field *field) {
    if (!json_is_array(field->whole)) {
        return;
    }
    field->schema = NULL;
    size_t others = 0;
    for (size_t i = 0; i < json_array_size(field->whole); i++) {
        const json_t *branch = json_array_get(field->whole, i);
        const json_t *inner = branch;
        if (!json_is_array(branch) && strcmp(type_name(&inner), "null") == 0) {
            field->null_branch = (int)i;
        } else {
            field->schema = branch;
            others++;
        }
    }
    if (others != 1 || field->null_branch < 0) { // no optional: read by skipping only
        field->schema = NULL;
    }
}

enum fz_code fz_avro_plan(struct fz_arena *arena, const json_t *record, const struct fz_name_id *names, size_t n_names,
                          struct fz_avro_field **out, size_t *n, struct fz_err *err) {
    const json_t *fields = json_object_get(record, "fields");
    size_t count = json_array_size(fields);
    if (!json_is_array(fields)) {
        return fz_fail(err, FZ_CORRUPT, "Avro schema is not a record where one is needed");
    }
    struct fz_avro_field *plan = fz_arena_array(arena, count + 1, sizeof *plan);
    if (plan == NULL) {
        return fz_fail_nomem(err, count);
    }
    for (size_t i = 0; i < count; i++) {
        const json_t *field = json_array_get(fields, i);
        const json_t *id = json_object_get(field, "field-id");
        plan[i] = (struct fz_avro_field){.id = -1, .null_branch = -1, .kind = FZ_AVRO_OTHER};
        plan[i].name = json_string_value(json_object_get(field, "name"));
        plan[i].whole = plan[i].schema = json_object_get(field, "type");
        if (json_is_integer(id) && json_integer_value(id) >= 0 && json_integer_value(id) <= INT32_MAX) {
            plan[i].id = (int32_t)json_integer_value(id);
        }
        for (size_t j = 0; plan[i].id < 0 && j < n_names; j++) {
            plan[i].id = strcmp(plan[i].name, names[j].name) == 0 ? names[j].id : -1;
        }
        plan_union(&plan[i]);
        if (plan[i].schema != NULL && !json_is_array(plan[i].schema)) {
            const json_t *inner = plan[i].schema;
            plan[i].kind = (int)shape_of(type_name(&inner));
            plan[i].schema = inner;
        }
        if (plan[i].kind == FZ_AVRO_OTHER) {
            plan[i].id = -1;
        }
        for (size_t j = 0; j < i; j++) {
            if (plan[i].id >= 0 && plan[j].id == plan[i].id) {
                return fz_fail(err, FZ_CORRUPT, "Avro record has field id %d twice", plan[i].id);
            }
        }
    }
    *out = plan;
    *n = count;
    return FZ_OK;
}

enum fz_code fz_avro_present(struct fz_avro_reader *reader, const struct fz_avro_field *field, bool *present,
                             struct fz_err *err) {
    *present = true;
    if (field->null_branch < 0) {
        return FZ_OK;
    }
    int64_t branch;
    enum fz_code rc = fz_avro_get_long(reader, &branch, err);
    if (rc == FZ_OK && (branch < 0 || branch > 1)) {
        rc = fz_fail(err, FZ_CORRUPT, "Avro union of field %s has no branch %lld", field->name, (long long)branch);
    }
    *present = branch != field->null_branch;
    return rc;
}

enum fz_code fz_avro_expect(const struct fz_avro_field *field, enum fz_avro_shape shape, struct fz_err *err) {
    return field->kind == (int)shape ? FZ_OK
                                     : fz_fail(err, FZ_CORRUPT, "manifest field %s (id %d) has an unexpected Avro type",
                                               field->name, field->id);
}
