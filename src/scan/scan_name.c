// Files without field ids: the table's name mapping (spec "Name Mapping Serialization") says which names a field id may have;
// the projected field is renamed to what the file calls it and matched by name. Without a mapping a top-level column is found
// by its position, as Java's fallback ids do.
#include <jansson.h>

#include "scan/scan_priv.h"

enum { MAX_DEPTH = 32 };

struct node {
    int32_t id; // -1: none
    const char **names;
    size_t n_names;
    struct node *fields;
    size_t n_fields;
};
struct fz_name_mapping {
    struct fz_arena arena;
    struct node root;
};

static enum fz_code read_nodes(struct fz_arena *arena, const json_t *list, int depth, struct node *parent,
                               struct fz_err *err);

static enum fz_code read_node(struct fz_arena *arena, const json_t *json, int depth, struct node *out,
                              struct fz_err *err) {
    const json_t *id = json_object_get(json, "field-id"), *names = json_object_get(json, "names"),
                 *fields = json_object_get(json, "fields");
    out->id = json_is_integer(id) ? (int32_t)json_integer_value(id) : -1;
    out->n_names = json_array_size(names);
    out->names = fz_arena_array(arena, out->n_names ? out->n_names : 1, sizeof *out->names);
    if (!out->names) {
        return fz_fail_nomem(err, out->n_names * sizeof *out->names);
    }
    for (size_t i = 0; i < out->n_names; i++) {
        const char *name = json_string_value(json_array_get(names, i));
        out->names[i] = name ? fz_arena_strdup(arena, name) : NULL;
        if (!out->names[i]) {
            return fz_fail(err, FZ_CORRUPT, "schema.name-mapping.default: a name is not a text");
        }
    }
    return fields && !json_is_null(fields) ? read_nodes(arena, fields, depth + 1, out, err) : FZ_OK;
}

static enum fz_code read_nodes(struct fz_arena *arena, const json_t *list, int depth, struct node *parent,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (!json_is_array(list) || depth > MAX_DEPTH) {
        return fz_fail(err, FZ_CORRUPT, "schema.name-mapping.default: a list of fields (at most %d deep) was expected",
                       MAX_DEPTH);
    }
    parent->n_fields = json_array_size(list);
    parent->fields = fz_arena_array(arena, parent->n_fields ? parent->n_fields : 1, sizeof *parent->fields);
    if (!parent->fields) {
        return fz_fail_nomem(err, parent->n_fields * sizeof *parent->fields);
    }
    for (size_t i = 0; i < parent->n_fields; i++) {
        FZ_TRY(read_node(arena, json_array_get(list, i), depth, &parent->fields[i], err));
    }
out:
    return rc;
}

enum fz_code fz_name_mapping_new(const char *json, struct fz_name_mapping **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_name_mapping *mapping = NULL;
    json_error_t why;
    json_t *root = json_loads(json, JSON_REJECT_DUPLICATES, &why);
    if (!root) {
        return fz_fail(err, FZ_CORRUPT, "schema.name-mapping.default is not JSON: %s", why.text);
    }
    FZ_NEW(mapping, err);
    FZ_TRY(read_nodes(&mapping->arena, root, 0, &mapping->root, err));
    *out = mapping;
    mapping = NULL;
out:
    fz_name_mapping_free(mapping);
    json_decref(root);
    return rc;
}

void fz_name_mapping_free(struct fz_name_mapping *mapping) {
    if (mapping) {
        fz_arena_dispose(&mapping->arena);
        fz_free(mapping);
    }
}

static const struct node *node_by_id(const struct node *parent, int32_t id) {
    for (size_t i = 0; parent && i < parent->n_fields; i++) {
        if (parent->fields[i].id == id) {
            return &parent->fields[i];
        }
    }
    return NULL;
}

static const struct fz_field *file_field_named(const struct fz_type *type, const char *name) {
    for (size_t i = 0; i < type->n_fields; i++) {
        if (type->fields[i].name && strcmp(type->fields[i].name, name) == 0) {
            return &type->fields[i];
        }
    }
    return NULL;
}

static const struct fz_field *file_field(const struct fz_type *type, const struct node *node) {
    const struct fz_field *found = NULL;
    for (size_t i = 0; node && !found && i < node->n_names; i++) {
        found = file_field_named(type, node->names[i]);
    }
    return found;
}

// `type` with the names of the file; what the file lacks gets a name that no file has.
static const struct fz_type *rename_type(const struct node *node, const struct fz_type *file,
                                         const struct fz_type *type, struct fz_arena *arena, int depth) {
    if (fz_type_is_primitive(type) || file->id != type->id || depth > MAX_DEPTH) {
        return type;
    }
    struct fz_type *renamed = fz_arena_memdup(arena, type, sizeof *type);
    struct fz_field *fields = fz_arena_memdup(arena, type->fields, type->n_fields * sizeof *fields);
    if (!renamed || !fields) {
        return NULL;
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct node *child = node_by_id(node, fields[i].id);
        const struct fz_field *found = type->id == FZ_TYPE_STRUCT ? file_field(file, child)
                                       : i < file->n_fields       ? &file->fields[i]
                                                                  : NULL;
        if (type->id == FZ_TYPE_STRUCT) {
            fields[i].name = found ? found->name : "\001absent";
        }
        if (found) {
            fields[i].type = rename_type(child, found->type, fields[i].type, arena, depth + 1);
            if (!fields[i].type) {
                return NULL;
            }
        }
    }
    renamed->fields = fields;
    return renamed;
}

enum fz_code fz_name_mapping_field(const struct fz_name_mapping *mapping, const struct fz_type *file_schema,
                                   const struct fz_field *field, struct fz_arena *arena, const struct fz_field **out,
                                   struct fz_err *err) {
    const struct fz_field *found = NULL;
    const struct node *node = mapping ? node_by_id(&mapping->root, field->id) : NULL;
    *out = NULL;
    if (mapping) {
        found = file_field(file_schema, node);
    } else if (field->id >= 1 && (size_t)field->id <= file_schema->n_fields) {
        found = &file_schema->fields[field->id - 1];
    }
    if (!found) {
        return FZ_OK;
    }
    struct fz_field *renamed = fz_arena_memdup(arena, field, sizeof *field);
    if (renamed) {
        renamed->name = found->name;
        renamed->type = mapping ? rename_type(node, found->type, field->type, arena, 0) : field->type;
    }
    if (!renamed || !renamed->type) {
        return fz_fail_nomem(err, sizeof *renamed);
    }
    *out = renamed;
    return FZ_OK;
}
