// Avro schemas as JSON trees: checks the shape and puts the definition of a named type where its name is used, so that a
// walk needs no symbol table. Recursive types are refused: nothing in Iceberg has them, and a walk must end.
#include "format/avro/avro_priv.h"

#include "base/map.h"

enum { MAX_DEPTH = 48, MAX_NODES = 100000 };

static const char *const primitives[] = {"null", "boolean", "int", "long", "float", "double", "bytes", "string"};

static const char *const complexes[] = {"record", "enum", "array", "map", "fixed"};

struct resolver {
    struct fz_map names; // full name -> json_t *; NULL while the definition is open
    struct fz_err *err;
};

static int primitive_of(const char *name) {
    for (int i = 0; i < (int)(sizeof primitives / sizeof primitives[0]); i++) {
        if (strcmp(name, primitives[i]) == 0) {
            return i;
        }
    }
    return -1;
}

static int complex_of(const char *name) {
    for (int i = 0; i < (int)(sizeof complexes / sizeof complexes[0]); i++) {
        if (strcmp(name, complexes[i]) == 0) {
            return AVRO_RECORD + i;
        }
    }
    return strcmp(name, "error") == 0 ? AVRO_RECORD : AVRO_NONE;
}

int fz_avro_kind(const json_t *schema) {
    for (int depth = 0; depth < MAX_DEPTH; depth++) {
        if (json_is_array(schema)) {
            return AVRO_UNION;
        }
        const char *name = json_string_value(schema);
        if (name == NULL) {
            const json_t *type = json_object_get(schema, "type");
            name = json_string_value(type);
            if (name == NULL) { // {"type": {…}}
                schema = type;
                continue;
            }
        }
        int kind = primitive_of(name);
        return kind >= 0 ? kind : complex_of(name);
    }
    return AVRO_NONE;
}

// "ns.name" of a definition or a reference; `ns` is the enclosing namespace.
static struct fz_str full_name(struct fz_buf *scratch, const char *name, const char *ns) {
    fz_buf_clear(scratch);
    if (ns != NULL && ns[0] != 0 && strchr(name, '.') == NULL) {
        fz_buf_puts(scratch, ns);
        fz_buf_putc(scratch, '.');
    }
    fz_buf_puts(scratch, name);
    return (struct fz_str){scratch->ptr, scratch->len};
}

// Replaces `*slot` (a borrowed reference of its parent) when it is a name; `*replacement` is then a borrowed definition.
static enum fz_code resolve(struct resolver *r, json_t *schema, const char *ns, int depth, size_t *nodes,
                            json_t **replacement);

static enum fz_code lookup(struct resolver *r, const char *name, const char *ns, size_t *nodes, json_t **replacement) {
    enum fz_code rc = FZ_OK;
    struct fz_buf scratch = {0};
    struct fz_map_entry *entry = fz_map_find(&r->names, full_name(&scratch, name, ns));
    if (entry == NULL) {
        entry = fz_map_find(&r->names, fz_str_of(name));
    }
    if (entry == NULL) {
        rc = fz_fail(r->err, FZ_CORRUPT, "Avro schema uses the unknown type \"%.200s\"", name);
    } else if (entry->value.ptr == NULL) {
        rc = fz_fail(r->err, FZ_UNSUPPORTED, "Avro schema has the recursive type \"%.200s\"", name);
    } else {
        json_t *definition = entry->value.ptr;
        *nodes = (size_t)json_integer_value(json_object_get(definition, "\x01nodes"));
        *replacement = definition;
    }
    fz_buf_dispose(&scratch);
    return rc;
}

static enum fz_code resolve_fields(struct resolver *r, json_t *record, const char *ns, int depth, size_t *nodes) {
    enum fz_code rc = FZ_OK;
    json_t *fields = json_object_get(record, "fields");
    if (!json_is_array(fields)) {
        return fz_fail(r->err, FZ_CORRUPT, "Avro record type without \"fields\"");
    }
    size_t i;
    json_t *field;
    json_array_foreach(fields, i, field) {
        json_t *type = json_object_get(field, "type");
        if (type == NULL || json_string_value(json_object_get(field, "name")) == NULL) {
            return fz_fail(r->err, FZ_CORRUPT, "Avro record field %zu has no name or no type", i);
        }
        json_t *replacement = NULL;
        size_t below = 0;
        rc = resolve(r, type, ns, depth + 1, &below, &replacement);
        if (rc != FZ_OK) {
            return rc;
        }
        *nodes += below;
        if (replacement != NULL && json_object_set(field, "type", replacement) != 0) {
            return fz_fail_nomem(r->err, 0);
        }
    }
    return FZ_OK;
}

static enum fz_code resolve_child(struct resolver *r, json_t *schema, const char *key, const char *ns, int depth,
                                  size_t *nodes) {
    json_t *child = json_object_get(schema, key);
    if (child == NULL) {
        return fz_fail(r->err, FZ_CORRUPT, "Avro type without \"%s\"", key);
    }
    json_t *replacement = NULL;
    size_t below = 0;
    enum fz_code rc = resolve(r, child, ns, depth + 1, &below, &replacement);
    *nodes += below;
    if (rc == FZ_OK && replacement != NULL && json_object_set(schema, key, replacement) != 0) {
        rc = fz_fail_nomem(r->err, 0);
    }
    return rc;
}

static enum fz_code resolve_named(struct resolver *r, json_t *schema, int kind, const char *ns, int depth,
                                  size_t *nodes) {
    enum fz_code rc = FZ_OK;
    struct fz_buf scratch = {0};
    char *own_ns = NULL;
    const char *name = json_string_value(json_object_get(schema, "name"));
    if (name == NULL) {
        rc = fz_fail(r->err, FZ_CORRUPT, "Avro %s type without a name", complexes[kind - AVRO_RECORD]);
        goto out;
    }
    const char *given = json_string_value(json_object_get(schema, "namespace"));
    const char *dot = strrchr(name, '.');
    own_ns = dot != NULL ? fz_strndup(name, (size_t)(dot - name))
                         : fz_strdup(given != NULL ? given
                                     : ns != NULL  ? ns
                                                   : "");
    if (own_ns == NULL) {
        rc = fz_fail_nomem(r->err, 0);
        goto out;
    }
    struct fz_map_entry *entry;
    bool added;
    struct fz_str key = full_name(&scratch, name, own_ns);
    FZ_TRY(fz_buf_check(&scratch, r->err));
    FZ_TRY(fz_map_put(&r->names, key, &entry, &added, r->err));
    entry->value.ptr = NULL; // a second definition of the same name shadows the first
    if (kind == AVRO_FIXED) {
        const json_t *size = json_object_get(schema, "size");
        if (!json_is_integer(size) || json_integer_value(size) < 0 || json_integer_value(size) > (1 << 20)) {
            rc = fz_fail(r->err, FZ_CORRUPT, "Avro fixed type \"%.200s\" without a sane size", name);
            goto out;
        }
    } else if (kind == AVRO_RECORD) {
        FZ_TRY(resolve_fields(r, schema, own_ns, depth, nodes));
    }
    if (json_object_set_new(schema, "\x01nodes", json_integer((json_int_t)*nodes)) != 0) {
        rc = fz_fail_nomem(r->err, 0);
        goto out;
    }
    key = full_name(&scratch, name, own_ns);
    fz_map_find(&r->names, key)->value.ptr = schema;
out:
    fz_buf_dispose(&scratch);
    fz_free(own_ns);
    return rc;
}

static enum fz_code resolve_union(struct resolver *r, json_t *schema, const char *ns, int depth, size_t *nodes) {
    size_t i;
    json_t *branch;
    json_array_foreach(schema, i, branch) {
        json_t *replacement = NULL;
        size_t below = 0;
        enum fz_code rc = resolve(r, branch, ns, depth + 1, &below, &replacement);
        if (rc != FZ_OK) {
            return rc;
        }
        *nodes += below;
        if (replacement != NULL && json_array_set(schema, i, replacement) != 0) {
            return fz_fail_nomem(r->err, 0);
        }
    }
    return FZ_OK;
}

static enum fz_code resolve(struct resolver *r, json_t *schema, const char *ns, int depth, size_t *nodes,
                            json_t **replacement) {
    enum fz_code rc = FZ_OK;
    *nodes = 1;
    if (depth > MAX_DEPTH) {
        return fz_fail(r->err, FZ_LIMIT, "Avro schema is nested deeper than %d", MAX_DEPTH);
    }
    if (json_is_string(schema)) {
        const char *name = json_string_value(schema);
        rc = primitive_of(name) >= 0 ? FZ_OK : lookup(r, name, ns, nodes, replacement);
    } else if (json_is_array(schema)) {
        rc = resolve_union(r, schema, ns, depth, nodes);
    } else if (json_is_object(schema)) {
        json_t *type = json_object_get(schema, "type");
        const char *name = json_string_value(type);
        int kind = name != NULL ? complex_of(name) : AVRO_NONE;
        if (name != NULL && primitive_of(name) >= 0) {
            rc = FZ_OK;
        } else if (kind == AVRO_RECORD || kind == AVRO_ENUM || kind == AVRO_FIXED) {
            rc = resolve_named(r, schema, kind, ns, depth, nodes);
        } else if (kind == AVRO_ARRAY) {
            rc = resolve_child(r, schema, "items", ns, depth, nodes);
        } else if (kind == AVRO_MAP) {
            rc = resolve_child(r, schema, "values", ns, depth, nodes);
        } else if (type != NULL) {
            rc = resolve_child(r, schema, "type", ns, depth, nodes);
        } else {
            rc = fz_fail(r->err, FZ_CORRUPT, "Avro type without \"type\"");
        }
    } else {
        rc = fz_fail(r->err, FZ_CORRUPT, "Avro schema holds a value that is no type");
    }
    if (rc == FZ_OK && *nodes > MAX_NODES) {
        rc = fz_fail(r->err, FZ_LIMIT, "Avro schema expands to more than %d types", MAX_NODES);
    }
    return rc;
}

enum fz_code fz_avro_schema_parse(struct fz_str text, json_t **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct resolver r = {.err = err};
    json_error_t problem;
    json_t *root = json_loadb(text.ptr != NULL ? text.ptr : "", text.len, JSON_DECODE_ANY, &problem);
    if (root == NULL) {
        return fz_fail(err, FZ_CORRUPT, "Avro schema is not JSON: %s (offset %d)", problem.text, problem.position);
    }
    json_t *replacement = NULL;
    size_t nodes = 0;
    FZ_TRY(resolve(&r, root, NULL, 0, &nodes, &replacement));
    *out = root;
    root = NULL;
out:
    json_decref(root);
    fz_map_dispose(&r.names);
    return rc;
}
