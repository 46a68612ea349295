// From Iceberg fields to the Parquet schema: elements in pre-order with field ids, logical and converted types (iceberg-facts
// 7.12), the node tree that steers shredding, and one leaf per column. Columns of type unknown are left out, as the spec says.
#include "format/parquet/parquet_writer_priv.h"

enum { MAX_DEPTH = 60, MAX_LEAVES = 100000 };

struct path {
    struct fz_str items[3 * MAX_DEPTH];
    size_t n;
};

static struct fz_pq_schema_element *add_element(struct fz_parquet_encoder *w, const char *name, int repetition,
                                                int32_t id, struct fz_err *err) {
    if (fz_grow((void **)&w->schema, &w->schema_cap, w->n_schema + 1, sizeof *w->schema, err) != FZ_OK) {
        return NULL;
    }
    struct fz_pq_schema_element *e = &w->schema[w->n_schema++];
    *e = (struct fz_pq_schema_element){
        .type = -1, .repetition = repetition, .name = name, .converted = FZ_PQ_CONV_NONE, .field_id = id};
    return e;
}

// Bytes of the smallest two's complement number that holds every value of this many decimal digits.
static int decimal_bytes(int precision) {
    __int128 limit = 1;
    for (int i = 0; i < precision; i++) {
        limit *= 10;
    }
    int bytes = 1;
    while (bytes < 16 && ((__int128)1 << (8 * bytes - 1)) < limit) {
        bytes++;
    }
    return bytes;
}

static void decimal_element(struct fz_pq_schema_element *e, struct fz_pw_leaf *leaf, const struct fz_type *type) {
    e->converted = FZ_PQ_CONV_DECIMAL;
    e->logical = FZ_PQ_LOGICAL_DECIMAL;
    e->precision = type->precision;
    e->scale = type->scale;
    if (type->precision <= 9) {
        e->type = FZ_PQ_INT32;
        leaf->kind = type->precision <= 4 ? FZ_PW_I16 : FZ_PW_I32;
    } else if (type->precision <= 18) {
        e->type = FZ_PQ_INT64;
        leaf->kind = FZ_PW_I64;
    } else {
        e->type = FZ_PQ_FIXED;
        e->type_length = decimal_bytes(type->precision);
        leaf->kind = FZ_PW_DECIMAL128;
    }
}

static void time_element(struct fz_pq_schema_element *e, struct fz_pw_leaf *leaf, enum fz_type_id id) {
    leaf->kind = FZ_PW_I64;
    e->type = FZ_PQ_INT64;
    bool nanos = id == FZ_TYPE_TIMESTAMP_NS || id == FZ_TYPE_TIMESTAMPTZ_NS;
    e->logical = id == FZ_TYPE_TIME ? FZ_PQ_LOGICAL_TIME : FZ_PQ_LOGICAL_TIMESTAMP;
    e->logical_utc = id == FZ_TYPE_TIMESTAMPTZ || id == FZ_TYPE_TIMESTAMPTZ_NS;
    e->unit = nanos ? FZ_PQ_NANOS : FZ_PQ_MICROS;
    if (!nanos && e->logical_utc) { // the converted types mean UTC; without a zone only the logical type says it right
        e->converted = FZ_PQ_CONV_TIMESTAMP_MICROS;
    }
}

static enum fz_code leaf_element(struct fz_pq_schema_element *e, struct fz_pw_leaf *leaf, const struct fz_type *type,
                                 struct fz_err *err) {
    switch (type->id) {
    case FZ_TYPE_BOOLEAN:
        e->type = FZ_PQ_BOOLEAN;
        leaf->kind = FZ_PW_BOOL;
        break;
    case FZ_TYPE_INT:
        e->type = FZ_PQ_INT32;
        leaf->kind = FZ_PW_I32;
        break;
    case FZ_TYPE_DATE:
        e->type = FZ_PQ_INT32;
        e->converted = FZ_PQ_CONV_DATE;
        e->logical = FZ_PQ_LOGICAL_DATE;
        leaf->kind = FZ_PW_I32;
        break;
    case FZ_TYPE_LONG:
        e->type = FZ_PQ_INT64;
        leaf->kind = FZ_PW_I64;
        break;
    case FZ_TYPE_FLOAT:
        e->type = FZ_PQ_FLOAT;
        leaf->kind = FZ_PW_F32;
        break;
    case FZ_TYPE_DOUBLE:
        e->type = FZ_PQ_DOUBLE;
        leaf->kind = FZ_PW_F64;
        break;
    case FZ_TYPE_DECIMAL:
        if (type->precision < 1 || type->precision > 38 || type->scale < 0 || type->scale > type->precision) {
            return fz_fail(err, FZ_INVALID_ARG, "column '%s': decimal(%d, %d) is not a valid type", leaf->name,
                           type->precision, type->scale);
        }
        decimal_element(e, leaf, type);
        break;
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        time_element(e, leaf, type->id);
        break;
    case FZ_TYPE_STRING:
        e->type = FZ_PQ_BYTE_ARRAY;
        e->converted = FZ_PQ_CONV_UTF8;
        e->logical = FZ_PQ_LOGICAL_STRING;
        leaf->kind = FZ_PW_BYTES;
        break;
    case FZ_TYPE_BINARY:
        e->type = FZ_PQ_BYTE_ARRAY;
        leaf->kind = FZ_PW_BYTES;
        break;
    case FZ_TYPE_UUID:
        e->type = FZ_PQ_FIXED;
        e->type_length = 16;
        e->logical = FZ_PQ_LOGICAL_UUID;
        leaf->kind = FZ_PW_UUID;
        break;
    case FZ_TYPE_FIXED:
        if (type->length < 1) {
            return fz_fail(err, FZ_INVALID_ARG, "column '%s': fixed[%d] cannot be written to Parquet", leaf->name,
                           type->length);
        }
        e->type = FZ_PQ_FIXED;
        e->type_length = type->length;
        leaf->kind = FZ_PW_FIXED;
        break;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
    case FZ_TYPE_UNKNOWN:
    case FZ_TYPE_VARIANT:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
    case FZ_TYPE_INTERVAL_CAL: {
        struct fz_buf text = {0};
        fz_type_print(&text, type);
        enum fz_code rc = fz_fail(err, FZ_UNSUPPORTED, "column '%s': type %s cannot be written to Parquet files",
                                  leaf->name, text.ptr != NULL ? text.ptr : "?");
        fz_buf_dispose(&text);
        return rc;
    }
    }
    leaf->width = leaf->kind == FZ_PW_BOOL                              ? 1
                  : (e->type == FZ_PQ_INT32 || e->type == FZ_PQ_FLOAT)  ? 4
                  : (e->type == FZ_PQ_INT64 || e->type == FZ_PQ_DOUBLE) ? 8
                                                                        : (size_t)e->type_length;
    leaf->physical = e->type;
    return FZ_OK;
}

static const char *dotted(struct fz_parquet_encoder *w, const struct path *path) {
    struct fz_buf text = {0};
    for (size_t i = 0; i < path->n; i++) {
        if (i > 0) {
            fz_buf_putc(&text, '.');
        }
        fz_buf_append(&text, path->items[i].ptr, path->items[i].len);
    }
    const char *copy = text.failed ? NULL : fz_arena_strndup(&w->arena, text.ptr, text.len);
    fz_buf_dispose(&text);
    return copy;
}

static void leaf_options(struct fz_pw_leaf *leaf, const struct fz_parquet_write *options) {
    leaf->metrics = options->default_metrics;
    leaf->metrics_length = options->default_metrics_length;
    for (size_t i = 0; i < options->n_columns; i++) {
        const struct fz_parquet_column_options *c = &options->columns[i];
        if (c->field_id == leaf->field_id) {
            leaf->metrics = c->metrics;
            leaf->metrics_length = c->metrics_length;
            leaf->no_dictionary = c->no_dictionary;
            leaf->bloom.options = c->bloom;
        }
    }
    struct fz_parquet_bloom_options *bloom = &leaf->bloom.options;
    bloom->enabled = bloom->enabled && leaf->type->id != FZ_TYPE_BOOLEAN;
    bloom->fpp = bloom->fpp > 0 && bloom->fpp < 1 ? bloom->fpp : 0.01;
    bloom->max_bytes = bloom->max_bytes > 0 ? bloom->max_bytes : 1 << 20;
    if (leaf->metrics == FZ_METRICS_TRUNCATE && leaf->metrics_length <= 0) {
        leaf->metrics_length = 16;
    }
}

static enum fz_code build(struct fz_parquet_encoder *w, const struct fz_parquet_write *options,
                          const struct fz_field *field, const char *name, struct fz_pw_node *node, struct path *path,
                          int depth, struct fz_err *err);

static enum fz_code build_leaf(struct fz_parquet_encoder *w, const struct fz_parquet_write *options,
                               const struct fz_field *field, struct fz_pw_node *node, struct path *path,
                               struct fz_err *err) {
    if (w->n_leaves >= MAX_LEAVES) {
        return fz_fail(err, FZ_LIMIT, "more than %d columns in one Parquet file", MAX_LEAVES);
    }
    size_t at = w->n_schema - 1;
    enum fz_code rc = fz_grow((void **)&w->leaves, &w->leaves_cap, w->n_leaves + 1, sizeof *w->leaves, err);
    if (rc != FZ_OK) {
        return rc;
    }
    node->kind = FZ_PW_LEAF;
    node->leaf = w->n_leaves;
    struct fz_pw_leaf *leaf = &w->leaves[w->n_leaves++];
    *leaf = (struct fz_pw_leaf){.type = field->type,
                                .field_id = field->id,
                                .max_def = node->def,
                                .max_rep = node->rep,
                                .required = field->required};
    leaf->path = fz_arena_memdup(&w->arena, path->items, path->n * sizeof path->items[0]);
    leaf->n_path = path->n;
    leaf->name = dotted(w, path);
    if (leaf->path == NULL || leaf->name == NULL) {
        return fz_fail_nomem(err, path->n);
    }
    leaf_options(leaf, options);
    return leaf_element(&w->schema[at], leaf, field->type, err);
}

// Children of a struct, list or map; `parent` has def and rep, the children's base levels are given.
static enum fz_code build_children(struct fz_parquet_encoder *w, const struct fz_parquet_write *options,
                                   const struct fz_type *type, struct fz_pw_node *node, struct path *path, int depth,
                                   struct fz_err *err) {
    static const char *const map_names[] = {"key", "value"};
    bool repeated = type->id != FZ_TYPE_STRUCT;
    node->children = fz_calloc(type->n_fields + 1, sizeof *node->children);
    if (node->children == NULL) {
        return fz_fail_nomem(err, type->n_fields * sizeof *node->children);
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        const struct fz_field *field = &type->fields[i];
        if (field->type->id == FZ_TYPE_UNKNOWN && !repeated) {
            continue;
        }
        struct fz_pw_node *child = &node->children[node->n_children++];
        child->column_ix = i;
        child->def = (uint8_t)(node->def + repeated);
        child->rep = (uint8_t)(node->rep + repeated);
        const char *name = !repeated ? field->name : type->id == FZ_TYPE_LIST ? "element" : map_names[i];
        enum fz_code rc = build(w, options, field, name, child, path, depth + 1, err);
        if (rc != FZ_OK) {
            return rc;
        }
    }
    return FZ_OK;
}

// Metadata and value, not shredded; the field's id stands on the group, and its counts are those of the metadata.
static enum fz_code build_variant(struct fz_parquet_encoder *w, const struct fz_parquet_write *options,
                                  const struct fz_field *field, struct fz_pw_node *node, struct path *path, int depth,
                                  struct fz_err *err) {
    static const char *const names[] = {"metadata", "value"};
    enum fz_code rc = FZ_OK;
    node->kind = FZ_PW_STRUCT;
    node->variant = true;
    node->children = fz_calloc(2, sizeof *node->children);
    if (node->children == NULL) {
        return fz_fail_nomem(err, 2 * sizeof *node->children);
    }
    for (size_t i = 0; i < 2; i++) {
        struct fz_field part = {
            .id = -1, .name = names[i], .required = true, .type = fz_type_primitive(FZ_TYPE_BINARY)};
        struct fz_pw_node *child = &node->children[node->n_children++];
        *child = (struct fz_pw_node){.column_ix = i, .def = node->def, .rep = node->rep};
        FZ_TRY(build(w, options, &part, names[i], child, path, depth + 1, err));
        struct fz_pw_leaf *leaf = &w->leaves[child->leaf];
        leaf->field_id = i == 0 ? field->id : -1;
        leaf->metrics = options->default_metrics == FZ_METRICS_NONE ? FZ_METRICS_NONE : FZ_METRICS_COUNTS;
        leaf->bloom.options.enabled = false;
    }
out:
    return rc;
}

// `node` comes with the levels of its parent; they are raised by what the field itself adds.
static enum fz_code build(struct fz_parquet_encoder *w, const struct fz_parquet_write *options,
                          const struct fz_field *field, const char *name, struct fz_pw_node *node, struct path *path,
                          int depth, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (depth > MAX_DEPTH) {
        return fz_fail(err, FZ_LIMIT, "column '%s': more than %d levels of nesting", path->items[0].ptr, MAX_DEPTH);
    }
    const char *kept = fz_arena_strdup(&w->arena, name);
    if (kept == NULL) {
        return fz_fail_nomem(err, strlen(name));
    }
    size_t path_before = path->n;
    path->items[path->n++] = fz_str_of(kept);
    node->name = kept;
    node->field_id = field->id;
    node->required = field->required;
    node->def = (uint8_t)(node->def + !field->required);
    struct fz_pq_schema_element *e =
        add_element(w, kept, field->required ? FZ_PQ_REQUIRED : FZ_PQ_OPTIONAL, field->id, err);
    if (e == NULL) {
        return err->code;
    }
    size_t at = w->n_schema - 1;
    const struct fz_type *type = field->type;
    if (type->id == FZ_TYPE_VARIANT) {
        e->logical = FZ_PQ_LOGICAL_VARIANT;
        e->num_children = 2;
        rc = build_variant(w, options, field, node, path, depth, err);
        path->n = path_before;
        return rc;
    }
    if (fz_type_is_primitive(type)) {
        rc = build_leaf(w, options, field, node, path, err);
        path->n = path_before;
        return rc;
    }
    if (type->id == FZ_TYPE_STRUCT) {
        node->kind = FZ_PW_STRUCT;
    } else {
        bool list = type->id == FZ_TYPE_LIST;
        node->kind = list ? FZ_PW_LIST : FZ_PW_MAP;
        e->converted = list ? FZ_PQ_CONV_LIST : FZ_PQ_CONV_MAP;
        e->logical = list ? FZ_PQ_LOGICAL_LIST : FZ_PQ_LOGICAL_MAP;
        e->num_children = 1;
        const char *middle = list ? "list" : "key_value";
        path->items[path->n++] = fz_str_of(middle);
        e = add_element(w, middle, FZ_PQ_REPEATED, -1, err);
        if (e == NULL) {
            return err->code;
        }
        at = w->n_schema - 1;
    }
    rc = build_children(w, options, type, node, path, depth, err);
    if (rc == FZ_OK) {
        w->schema[at].num_children = (int32_t)node->n_children;
        if (node->n_children == 0) {
            rc = fz_fail(err, FZ_UNSUPPORTED, "column '%s': a struct without fields cannot be written to Parquet files",
                         kept);
        }
    }
    path->n = path_before;
    return rc;
}

enum fz_code fz_pw_schema_build(struct fz_parquet_encoder *w, const struct fz_parquet_write *options,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct path *path = NULL;
    FZ_NEW(path, err);
    w->roots = fz_calloc(options->n_fields + 1, sizeof *w->roots);
    if (w->roots == NULL || add_element(w, "table", -1, -1, err) == NULL) {
        rc = fz_fail_nomem(err, options->n_fields * sizeof *w->roots);
        goto out;
    }
    for (size_t i = 0; i < options->n_fields; i++) {
        const struct fz_field *field = &options->fields[i];
        if (field->type->id == FZ_TYPE_UNKNOWN) {
            continue;
        }
        struct fz_pw_node *node = &w->roots[w->n_roots++];
        node->column_ix = i;
        FZ_TRY(build(w, options, field, field->name, node, path, 1, err));
    }
    if (w->n_leaves == 0) {
        rc = fz_fail(err, FZ_UNSUPPORTED, "a Parquet file needs at least one column that is not of type unknown");
        goto out;
    }
    w->schema[0].num_children = (int32_t)w->n_roots;
out:
    fz_free(path);
    return rc;
}

void fz_pw_node_dispose(struct fz_pw_node *node) {
    for (size_t i = 0; i < node->n_children; i++) {
        fz_pw_node_dispose(&node->children[i]);
    }
    fz_free(node->children);
    fz_free(node->rows);
    fz_free(node->defs);
    fz_free(node->reps);
}
