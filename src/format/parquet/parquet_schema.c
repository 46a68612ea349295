// The footer's flat list of schema elements as a tree of Iceberg shape. Lists and maps come in several historic forms; the rules are
// the "backward-compatibility rules" of the Parquet format (LogicalTypes.md, section Nested Types).
#include <stdlib.h>

#include "base/text.h"
#include "format/parquet/parquet_reader_priv.h"

struct raw {
    const struct fz_pq_schema_element *element;
    struct raw *children;
    size_t n_children, leaf, n_leaves; // index of the leaf; leaves below (1 for a leaf)
};

struct builder {
    struct fz_parquet_file *file;
    struct fz_arena scratch;
    size_t next, n_leaves;
    int32_t next_id;
    struct fz_err *err;
};

static enum fz_code bad_schema(struct builder *b, const char *what) {
    return fz_fail(b->err, FZ_CORRUPT, "%s: the schema is damaged: %s", b->file->location, what);
}

// Annotations of numbers say which physical type they need.
static enum fz_code check_annotation(struct builder *b, const struct fz_pq_schema_element *e) {
    int needs = -1;
    switch (e->converted) {
    case FZ_PQ_CONV_DATE:
    case FZ_PQ_CONV_TIME_MILLIS:
    case FZ_PQ_CONV_UINT_8:
    case FZ_PQ_CONV_UINT_16:
    case FZ_PQ_CONV_UINT_32:
    case FZ_PQ_CONV_INT_8:
    case FZ_PQ_CONV_INT_16:
    case FZ_PQ_CONV_INT_32:
        needs = FZ_PQ_INT32;
        break;
    case FZ_PQ_CONV_TIME_MICROS:
    case FZ_PQ_CONV_TIMESTAMP_MILLIS:
    case FZ_PQ_CONV_TIMESTAMP_MICROS:
    case FZ_PQ_CONV_UINT_64:
    case FZ_PQ_CONV_INT_64:
        needs = FZ_PQ_INT64;
        break;
    default:
        break;
    }
    if (needs >= 0 && e->type != needs) {
        return bad_schema(b, "the annotation of a column does not fit its physical type");
    }
    return FZ_OK;
}

static enum fz_code read_raw(struct builder *b, struct raw *out, int depth) {
    const struct fz_pq_file *meta = &b->file->meta;
    if (b->next >= meta->n_schema) {
        return bad_schema(b, "a group has fewer children than it says");
    }
    if (depth > FZ_PQR_MAX_DEPTH) {
        return fz_fail(b->err, FZ_UNSUPPORTED, "%s: the schema is nested deeper than %d groups", b->file->location,
                       FZ_PQR_MAX_DEPTH);
    }
    const struct fz_pq_schema_element *e = &meta->schema[b->next++];
    *out = (struct raw){.element = e};
    if (!fz_utf8_valid(e->name, strlen(e->name))) {
        return bad_schema(b, "a column's name is not valid UTF-8");
    }
    if (e->type >= 0 && depth > 0) {
        if (e->num_children > 0) {
            return bad_schema(b, "an element is both a column and a group");
        }
        if (e->type == FZ_PQ_FIXED && e->type_length <= 0) {
            return bad_schema(b, "a column of fixed length has no length");
        }
        out->leaf = b->n_leaves++;
        out->n_leaves = 1;
        return check_annotation(b, e);
    }
    if (e->num_children < 0 || (size_t)e->num_children > meta->n_schema - b->next) {
        return bad_schema(b, "a group has an impossible number of children");
    }
    out->n_children = (size_t)e->num_children;
    out->children = fz_arena_array(&b->scratch, out->n_children > 0 ? out->n_children : 1, sizeof *out->children);
    if (out->children == NULL) {
        return fz_fail_nomem(b->err, out->n_children * sizeof *out->children);
    }
    for (size_t i = 0; i < out->n_children; i++) {
        enum fz_code rc = read_raw(b, &out->children[i], depth + 1);
        if (rc != FZ_OK) {
            return rc;
        }
        out->n_leaves += out->children[i].n_leaves;
    }
    return FZ_OK;
}

static bool is_repeated(const struct raw *r) {
    return r->element->repetition == FZ_PQ_REPEATED;
}
static bool is_group(const struct raw *r) {
    return r->element->type < 0;
}

static bool is_list(const struct raw *r) {
    const struct fz_pq_schema_element *e = r->element;
    bool annotated =
        e->logical == FZ_PQ_LOGICAL_LIST || (e->logical == FZ_PQ_LOGICAL_NONE && e->converted == FZ_PQ_CONV_LIST);
    return annotated && r->n_children == 1 && is_repeated(&r->children[0]);
}

// A map; with `n_children` 1 it has keys only, which is a list of them.
static bool is_map(const struct raw *r, size_t n_children) {
    const struct fz_pq_schema_element *e = r->element;
    bool old = e->converted == FZ_PQ_CONV_MAP || e->converted == FZ_PQ_CONV_MAP_KEY_VALUE;
    bool annotated = e->logical == FZ_PQ_LOGICAL_MAP || (e->logical == FZ_PQ_LOGICAL_NONE && old);
    return annotated && r->n_children == 1 && is_repeated(&r->children[0]) && is_group(&r->children[0]) &&
           r->children[0].n_children == n_children && !is_repeated(&r->children[0].children[0]);
}

// Whether the repeated child of a list is the element itself (two-level forms).
static bool repeated_is_element(const struct raw *list) {
    const struct raw *r = &list->children[0];
    if (!is_group(r) || r->n_children != 1 || is_repeated(&r->children[0])) {
        return true;
    }
    size_t len = strlen(list->element->name);
    bool tuple =
        strncmp(r->element->name, list->element->name, len) == 0 && strcmp(r->element->name + len, "_tuple") == 0;
    return tuple || strcmp(r->element->name, "array") == 0;
}

static enum fz_code build(struct builder *b, const struct raw *r, int def, int rep, bool as_element,
                          struct fz_pqr_node *out);

static enum fz_code take_children(struct builder *b, struct fz_pqr_node *node, size_t n) {
    node->children = fz_arena_array(&b->file->arena, n > 0 ? n : 1, sizeof *node->children);
    node->n_children = n;
    return node->children == NULL ? fz_fail_nomem(b->err, n * sizeof *node->children) : FZ_OK;
}

static struct fz_field field_of(const struct fz_pqr_node *node) {
    return (struct fz_field){.id = node->field_id, .name = node->name, .required = node->required, .type = node->type};
}

static enum fz_code finish_nested(struct builder *b, struct fz_pqr_node *node) {
    struct fz_arena *arena = &b->file->arena;
    const struct fz_pqr_node *c = node->children;
    node->leaf = SIZE_MAX;
    for (size_t i = 0; i < node->n_children && node->leaf == SIZE_MAX; i++) {
        node->leaf = c[i].leaf;
    }
    if (node->kind == FZ_PQR_LIST) {
        node->type = fz_type_list(arena, c[0].field_id, c[0].required, c[0].type);
    } else if (node->kind == FZ_PQR_MAP) {
        node->type = fz_type_map(arena, c[0].field_id, c[0].type, c[1].field_id, c[1].required, c[1].type);
    } else {
        struct fz_field *fields =
            fz_arena_array(&b->scratch, node->n_children > 0 ? node->n_children : 1, sizeof *fields);
        if (fields == NULL) {
            return fz_fail_nomem(b->err, node->n_children * sizeof *fields);
        }
        for (size_t i = 0; i < node->n_children; i++) {
            fields[i] = field_of(&c[i]);
        }
        node->type = fz_type_struct(arena, fields, node->n_children);
    }
    return node->type == NULL ? fz_fail_nomem(b->err, sizeof *node->type) : FZ_OK;
}

static enum fz_code build_leaf(struct builder *b, const struct raw *r, int def, int rep, struct fz_pqr_node *out) {
    out->kind = FZ_PQR_LEAF;
    out->element = r->element;
    out->leaf = r->leaf;
    out->max_def = def;
    out->max_rep = rep;
    out->type = fz_pqr_leaf_type(&b->file->arena, r->element);
    b->file->leaves[r->leaf] = out;
    return out->type == NULL ? fz_fail_nomem(b->err, sizeof *out->type) : FZ_OK;
}

static int32_t id_of(struct builder *b, const struct raw *r) {
    if (b->file->has_ids && r->element->field_id >= 0) {
        return r->element->field_id;
    }
    return b->next_id < INT32_MAX ? b->next_id++ : b->next_id;
}

// Groups without any column below hold nothing, and are left out.
static enum fz_code build_struct(struct builder *b, const struct raw *r, int def, int rep, struct fz_pqr_node *out) {
    enum fz_code rc = FZ_OK;
    size_t n = 0;
    out->kind = FZ_PQR_STRUCT;
    FZ_TRY(take_children(b, out, r->n_children));
    for (size_t i = 0; i < r->n_children; i++) {
        if (r->children[i].n_leaves > 0) {
            FZ_TRY(build(b, &r->children[i], def, rep, false, &out->children[n++]));
        }
    }
    out->n_children = n;
    rc = finish_nested(b, out);
out:
    return rc;
}

static enum fz_code build(struct builder *b, const struct raw *r, int def, int rep, bool as_element,
                          struct fz_pqr_node *out) {
    enum fz_code rc = FZ_OK;
    *out = (struct fz_pqr_node){.name = r->element->name, .field_id = id_of(b, r), .rep = rep};
    if (is_repeated(r) &&
        !as_element) { // a repeated field without a list around it: a required list of required elements
        out->kind = FZ_PQR_LIST;
        out->required = true;
        out->def_present = def;
        out->def_element = def + 1;
        out->rep = rep + 1;
        FZ_TRY(take_children(b, out, 1));
        FZ_TRY(build(b, r, def + 1, rep + 1, true, &out->children[0]));
        rc = finish_nested(b, out);
        goto out;
    }
    if (r->element->repetition == FZ_PQ_OPTIONAL) {
        def++;
    } else {
        out->required = true;
    }
    out->def_present = def;
    if (!is_group(r)) {
        rc = build_leaf(b, r, def, rep, out);
        goto out;
    }
    if (is_list(r) || is_map(r, 1) || is_map(r, 2)) {
        const struct raw *repeated = &r->children[0];
        out->kind = is_map(r, 2) ? FZ_PQR_MAP : FZ_PQR_LIST;
        out->def_element = def + 1;
        out->rep = rep + 1;
        FZ_TRY(take_children(b, out, out->kind == FZ_PQR_MAP ? 2 : 1));
        if (out->kind == FZ_PQR_MAP) {
            FZ_TRY(build(b, &repeated->children[0], def + 1, rep + 1, false, &out->children[0]));
            FZ_TRY(build(b, &repeated->children[1], def + 1, rep + 1, false, &out->children[1]));
        } else if (is_list(r) && repeated_is_element(r)) {
            FZ_TRY(build(b, repeated, def + 1, rep + 1, true, &out->children[0]));
        } else {
            FZ_TRY(build(b, &repeated->children[0], def + 1, rep + 1, false, &out->children[0]));
        }
        rc = finish_nested(b, out);
        goto out;
    }
    out->is_variant = r->element->logical == FZ_PQ_LOGICAL_VARIANT;
    rc = build_struct(b, r, def, rep, out);
out:
    return rc;
}

static int compare_ids(const void *a, const void *b) {
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

// Whether the file has field ids that name its columns (some writers give all columns the same one, which names none), and which
// number comes after them.
static enum fz_code scan_ids(struct builder *b) {
    const struct fz_pq_file *meta = &b->file->meta;
    int32_t *ids = fz_arena_array(&b->scratch, meta->n_schema, sizeof *ids);
    size_t n = 0;
    if (ids == NULL) {
        return fz_fail_nomem(b->err, meta->n_schema * sizeof *ids);
    }
    for (size_t i = 1; i < meta->n_schema; i++) {
        if (meta->schema[i].field_id >= 0) {
            ids[n++] = meta->schema[i].field_id;
        }
    }
    qsort(ids, n, sizeof *ids, compare_ids);
    b->file->has_ids = n > 0;
    for (size_t i = 1; i < n; i++) {
        b->file->has_ids = b->file->has_ids && ids[i] != ids[i - 1];
    }
    b->next_id = b->file->has_ids && ids[n - 1] < INT32_MAX ? ids[n - 1] + 1 : 1;
    return FZ_OK;
}

enum fz_code fz_pqr_schema_build(struct fz_parquet_file *file, struct fz_err *err) {
    struct builder b = {.file = file, .err = err};
    struct raw root = {0};
    enum fz_code rc = FZ_OK;
    FZ_TRY(scan_ids(&b));
    FZ_TRY(read_raw(&b, &root, 0));
    if (b.next != file->meta.n_schema) {
        rc = bad_schema(&b, "elements are left over");
        goto out;
    }
    file->n_leaves = b.n_leaves;
    file->leaves = fz_arena_array(&file->arena, b.n_leaves > 0 ? b.n_leaves : 1, sizeof *file->leaves);
    if (file->leaves == NULL) {
        rc = fz_fail_nomem(err, b.n_leaves * sizeof *file->leaves);
        goto out;
    }
    file->root = (struct fz_pqr_node){.name = root.element->name, .required = true};
    rc = build_struct(&b, &root, 0, 0, &file->root);
out:
    fz_arena_dispose(&b.scratch);
    return rc;
}

const struct fz_pqr_node *fz_pqr_child_by_id(const struct fz_pqr_node *node, int32_t field_id) {
    for (size_t i = 0; i < node->n_children; i++) {
        if (node->children[i].field_id == field_id) {
            return &node->children[i];
        }
    }
    return NULL;
}

const struct fz_pqr_node *fz_pqr_child_by_name(const struct fz_pqr_node *node, const char *name) {
    for (size_t i = 0; i < node->n_children; i++) {
        if (strcmp(node->children[i].name, name) == 0) {
            return &node->children[i];
        }
    }
    return NULL;
}

static const struct fz_type *logical_type(struct fz_arena *arena, const struct fz_pqr_node *node) {
    if (node->is_variant && fz_pqr_is_variant(node)) {
        return fz_type_primitive(FZ_TYPE_VARIANT);
    }
    bool differs = false;
    struct fz_type *copy = fz_arena_memdup(arena, node->type, sizeof *copy);
    struct fz_field *fields = fz_arena_array(arena, node->n_children + 1, sizeof *fields);
    if (copy == NULL || fields == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < node->n_children && i < node->type->n_fields; i++) {
        fields[i] = node->type->fields[i];
        fields[i].type = logical_type(arena, &node->children[i]);
        if (fields[i].type == NULL) {
            return NULL;
        }
        differs |= fields[i].type != node->type->fields[i].type;
    }
    copy->fields = fields;
    return differs ? copy : node->type;
}

const struct fz_type *fz_parquet_file_logical_schema(const struct fz_parquet_file *file, struct fz_arena *arena) {
    return logical_type(arena, &file->root);
}
