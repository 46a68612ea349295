// Rows of an Avro file into batches. What to do with each field of the writer's schema is decided once per pass (a tree of steps, in the
// order of the file); records then run through the steps. Texts are copied into an arena that lives until the next batch.
#include "base/text.h"
#include "data/value.h"
#include "data/variant.h"
#include "format/avro/avro_table_priv.h"

enum { WINDOW_BYTES = 1 << 20, MAX_HEADER_BYTES = 64 << 20, MAX_ELEMENTS = 1 << 24 };

enum op {
    OP_SKIP,
    OP_NULL,
    OP_BOOL,
    OP_I32, // int or long, checked
    OP_I64, // times factor, divided by divisor (rounded down)
    OP_F32,
    OP_F64, // of float or double
    OP_TEXT, // string or bytes
    OP_FIXED,
    OP_ENUM,
    OP_UUID,
    OP_DECIMAL,
    OP_STRUCT,
    OP_LIST,
    OP_MAP,
    OP_PAIRS,
    OP_VARIANT,
};

struct step {
    enum op op;
    const struct fz_avro_node *node;
    size_t column; // of the parent's children
    bool utf8, is_double, swapped; // swapped: the value of a variant stands before its metadata
    int64_t factor, divisor;
    struct step *children; // struct: one per field of the file; list: 1; map, pairs: key, value
    size_t n_children;
    size_t *missing; // struct: children of the column that the file does not have
    const struct fz_field **missing_fields;
    size_t n_missing;
};

struct fz_avro_table_reader {
    struct fz_avro_file *file;
    struct fz_cancel *cancel;
    struct fz_arena arena; // steps
    struct fz_avro_reader *reader;
    struct step root;
    struct fz_buf window;
    int64_t window_start; // in the file
    struct fz_arena strings;
    int64_t rows;
    size_t n_columns;
    size_t elements; // of lists, in this batch
};

// ---- files

enum fz_code fz_avro_file_open(struct fz_store *store, const char *location, int64_t size_bytes,
                               struct fz_cancel *cancel, struct fz_avro_file **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_avro_file *file = NULL;
    FZ_NEW(file, err);
    file->refs = 1;
    file->store = fz_store_ref(store);
    file->location = fz_arena_strdup(&file->arena, location);
    if (file->location == NULL) {
        rc = fz_fail_nomem(err, strlen(location));
        goto out;
    }
    if (size_bytes < 0) {
        FZ_TRY(fz_store_size(store, location, &size_bytes, err));
    }
    file->size_bytes = size_bytes;
    for (int64_t want = 64 << 10;; want *= 8) { // nearly always the first is enough
        struct fz_err inner = FZ_ERR_INIT;
        want = want < size_bytes ? want : size_bytes;
        fz_free(file->head);
        file->head_len = (size_t)want;
        file->head = fz_malloc(file->head_len + 1);
        if (file->head == NULL) {
            rc = fz_fail_nomem(err, file->head_len);
            goto out;
        }
        FZ_TRY(fz_store_read(store, location, 0, file->head_len, file->head, cancel, err));
        rc = fz_avro_reader_open(file->head, file->head_len, &file->header, &inner);
        if (rc == FZ_OK) {
            break;
        }
        if (rc != FZ_CORRUPT || want >= size_bytes || want >= MAX_HEADER_BYTES) {
            rc = fz_fail(err, rc, "%s: %s", location, inner.message);
            goto out;
        }
    }
    file->header_len = fz_avro_reader_header_len(file->header);
    FZ_TRY(fz_avro_tree_build(&file->arena, fz_avro_reader_schema(file->header), &file->root, &file->has_ids, err));
    *out = file;
    file = NULL;
out:
    if (rc != FZ_OK) {
        fz_err_context(err, "Avro file %s", location);
    }
    fz_avro_file_unref(file);
    return rc;
}

struct fz_avro_file *fz_avro_file_ref(struct fz_avro_file *file) {
    atomic_fetch_add(&file->refs, 1);
    return file;
}

void fz_avro_file_unref(struct fz_avro_file *file) {
    if (file == NULL || atomic_fetch_sub(&file->refs, 1) > 1) {
        return;
    }
    fz_avro_reader_close(file->header);
    fz_free(file->head);
    fz_store_unref(file->store);
    fz_arena_dispose(&file->arena);
    fz_free(file);
}

const struct fz_type *fz_avro_file_schema(const struct fz_avro_file *file) {
    return file->root.type;
}
bool fz_avro_file_has_ids(const struct fz_avro_file *file) {
    return file->has_ids;
}
bool fz_avro_file_has_field(const struct fz_avro_file *file, int32_t field_id) {
    for (size_t i = 0; i < file->root.n_children; i++) {
        if (file->root.children[i].field_id == field_id && file->root.children[i].type != NULL) {
            return true;
        }
    }
    return false;
}

// ---- steps

struct planner {
    struct fz_avro_table_reader *r;
    bool by_name;
    struct fz_err *err;
};

static enum fz_code plan(struct planner *p, const struct fz_avro_node *node, const struct fz_type *type,
                         struct step *out);

static enum fz_code mismatch(const struct planner *p, const struct fz_avro_node *node, const struct fz_type *type) {
    struct fz_buf have = {0}, want = {0};
    if (node->type != NULL) {
        fz_type_print(&have, node->type);
    }
    fz_type_print(&want, type);
    enum fz_code rc = fz_fail(
        p->err, FZ_SCHEMA_MISMATCH, "%s: column %s holds %s, which cannot be read as %s", p->r->file->location,
        node->name, have.ptr != NULL ? have.ptr : "a union of several types", want.ptr != NULL ? want.ptr : "?");
    fz_buf_dispose(&have);
    fz_buf_dispose(&want);
    return rc;
}

static bool set(struct step *s, enum op op) {
    s->op = op;
    return true;
}
static bool set_i64(struct step *s, int64_t factor, int64_t divisor) {
    s->op = OP_I64;
    s->factor = factor;
    s->divisor = divisor;
    return true;
}

static bool plan_timestamp(const struct fz_avro_node *n, bool nanos, struct step *s) {
    if (n->date) {
        return set_i64(s, INT64_C(86400000000) * (nanos ? 1000 : 1), 1);
    }
    switch (n->timestamp) {
    case FZ_AVRO_MILLIS:
        return set_i64(s, nanos ? 1000000 : 1000, 1);
    case FZ_AVRO_MICROS:
        return set_i64(s, nanos ? 1000 : 1, 1);
    case FZ_AVRO_NANOS:
        return set_i64(s, 1, nanos ? 1 : 1000);
    case FZ_AVRO_NO_TIME:
        break;
    }
    return false;
}

static bool plan_leaf(const struct fz_avro_node *n, const struct fz_type *type, struct step *s) {
    bool whole = n->kind == AVRO_INT || n->kind == AVRO_LONG,
         plain = whole && !n->date && n->time_of_day == FZ_AVRO_NO_TIME && n->timestamp == FZ_AVRO_NO_TIME,
         text = n->kind == AVRO_STRING || (n->kind == AVRO_BYTES && !n->decimal);
    if (n->kind == AVRO_NULL || type->id == FZ_TYPE_UNKNOWN) {
        return set(s, n->kind == AVRO_NULL ? OP_NULL : OP_SKIP);
    }
    switch ((int)type->id) {
    case FZ_TYPE_BOOLEAN:
        return n->kind == AVRO_BOOLEAN && set(s, OP_BOOL);
    case FZ_TYPE_INT:
        return n->kind == AVRO_INT && plain && set(s, OP_I32);
    case FZ_TYPE_DATE:
        return n->kind == AVRO_INT && n->time_of_day == FZ_AVRO_NO_TIME && set(s, OP_I32);
    case FZ_TYPE_LONG:
        return plain && set_i64(s, 1, 1);
    case FZ_TYPE_TIME:
        return n->time_of_day == FZ_AVRO_MILLIS   ? set_i64(s, 1000, 1)
               : n->time_of_day == FZ_AVRO_MICROS ? set_i64(s, 1, 1)
                                                  : false;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        return plan_timestamp(n, false, s);
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        return plan_timestamp(n, true, s);
    case FZ_TYPE_FLOAT:
        return n->kind == AVRO_FLOAT && set(s, OP_F32);
    case FZ_TYPE_DOUBLE:
        s->is_double = n->kind == AVRO_DOUBLE;
        return (n->kind == AVRO_DOUBLE || n->kind == AVRO_FLOAT) && set(s, OP_F64);
    case FZ_TYPE_STRING:
        s->utf8 = true;
        return text ? set(s, OP_TEXT) : n->kind == AVRO_ENUM && set(s, OP_ENUM);
    case FZ_TYPE_BINARY:
    case FZ_TYPE_GEOMETRY:
    case FZ_TYPE_GEOGRAPHY:
        return text ? set(s, OP_TEXT) : n->kind == AVRO_FIXED && !n->decimal && set(s, OP_FIXED);
    case FZ_TYPE_FIXED:
        return n->kind == AVRO_FIXED && n->size == (size_t)type->length && set(s, OP_FIXED);
    case FZ_TYPE_UUID:
        return n->kind == AVRO_FIXED && n->size == 16 && set(s, OP_UUID);
    case FZ_TYPE_DECIMAL:
        return n->decimal && n->type != NULL && n->type->scale == type->scale &&
               n->type->precision <= type->precision && set(s, OP_DECIMAL);
    default:
        return false;
    }
}

static const struct fz_field *find_field(const struct planner *p, const struct fz_field *fields, size_t n,
                                         const struct fz_avro_node *node) {
    for (size_t i = 0; i < n; i++) {
        bool same = p->by_name ? strcmp(fields[i].name, node->name) == 0
                               : node->field_id >= 0 && fields[i].id == node->field_id;
        if (same && node->type != NULL) {
            return &fields[i];
        }
    }
    return NULL;
}

static enum fz_code plan_struct(struct planner *p, const struct fz_avro_node *node, const struct fz_field *fields,
                                size_t n, struct step *out) {
    enum fz_code rc = FZ_OK;
    struct fz_arena *arena = &p->r->arena;
    out->op = OP_STRUCT;
    out->node = node;
    out->n_children = node->n_children;
    out->children = fz_arena_array(arena, node->n_children + 1, sizeof *out->children);
    out->missing = fz_arena_array(arena, n + 1, sizeof *out->missing);
    out->missing_fields = fz_arena_array(arena, n + 1, sizeof *out->missing_fields);
    uint8_t *found = fz_arena_array(arena, n + 1, 1);
    if (out->children == NULL || out->missing == NULL || out->missing_fields == NULL || found == NULL) {
        return fz_fail_nomem(p->err, n * sizeof *out->children);
    }
    for (size_t i = 0; i < node->n_children; i++) {
        const struct fz_avro_node *child = &node->children[i];
        const struct fz_field *field = find_field(p, fields, n, child);
        out->children[i] = (struct step){.op = OP_SKIP, .node = child};
        if (field == NULL || found[field - fields]) {
            continue;
        }
        FZ_TRY(plan(p, child, field->type, &out->children[i]));
        if (out->children[i].op != OP_SKIP) {
            out->children[i].column = (size_t)(field - fields);
            found[field - fields] = 1;
        }
    }
    for (size_t i = 0; i < n; i++) {
        if (!found[i]) {
            out->missing_fields[out->n_missing] = &fields[i];
            out->missing[out->n_missing++] = i;
        }
    }
out:
    return rc;
}

static enum fz_code plan_elements(struct planner *p, const struct fz_avro_node *node, const struct fz_type *type,
                                  enum op op, struct step *out) {
    enum fz_code rc = FZ_OK;
    out->op = op;
    out->n_children = type->n_fields;
    out->children = fz_arena_array(&p->r->arena, type->n_fields, sizeof *out->children);
    if (out->children == NULL) {
        return fz_fail_nomem(p->err, type->n_fields * sizeof *out->children);
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        FZ_TRY(plan(p, &node->children[i], type->fields[i].type, &out->children[i]));
    }
out:
    return rc;
}

static bool is_variant(const struct fz_avro_node *node, struct step *out) {
    if (node->shape != FZ_AVRO_STRUCT || node->n_children != 2) {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        const struct fz_avro_node *child = &node->children[i];
        if (child->shape != FZ_AVRO_LEAF || child->kind != AVRO_BYTES || child->n_branches > 0) {
            return false;
        }
    }
    out->swapped = strcmp(node->children[0].name, "value") == 0;
    return strcmp(node->children[out->swapped].name, "metadata") == 0 &&
           strcmp(node->children[!out->swapped].name, "value") == 0;
}

static enum fz_code plan(struct planner *p, const struct fz_avro_node *node, const struct fz_type *type,
                         struct step *out) {
    *out = (struct step){.op = OP_SKIP, .node = node, .factor = 1, .divisor = 1};
    switch ((int)type->id) {
    case FZ_TYPE_STRUCT:
        return node->shape == FZ_AVRO_STRUCT ? plan_struct(p, node, type->fields, type->n_fields, out)
                                             : mismatch(p, node, type);
    case FZ_TYPE_LIST:
        return node->shape == FZ_AVRO_LIST ? plan_elements(p, node, type, OP_LIST, out) : mismatch(p, node, type);
    case FZ_TYPE_MAP:
        return node->shape == FZ_AVRO_MAP     ? plan_elements(p, node, type, OP_MAP, out)
               : node->shape == FZ_AVRO_PAIRS ? plan_elements(p, node, type, OP_PAIRS, out)
                                              : mismatch(p, node, type);
    case FZ_TYPE_VARIANT:
        out->op = OP_VARIANT;
        return is_variant(node, out) ? FZ_OK : mismatch(p, node, type);
    default:
        return node->shape == FZ_AVRO_LEAF && plan_leaf(node, type, out) ? FZ_OK : mismatch(p, node, type);
    }
}

// ---- reading

static enum fz_code damaged(const struct fz_avro_table_reader *r, const struct fz_avro_node *node, const char *what,
                            struct fz_err *err) {
    return fz_fail(err, FZ_CORRUPT, "%s: column %s, row %lld: %s", r->file->location, node->name, (long long)r->rows,
                   what);
}

static enum fz_code more_bytes(void *ctx, size_t keep, size_t need, struct fz_str *window, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_avro_table_reader *r = ctx;
    FZ_TRY(fz_cancel_check(r->cancel, err));
    size_t kept = r->window.len - keep;
    if (kept > 0) {
        memmove(r->window.ptr, r->window.ptr + keep, kept);
    }
    r->window.len = kept;
    r->window_start += (int64_t)keep;
    int64_t left = r->file->size_bytes - r->window_start - (int64_t)kept;
    size_t want = need > WINDOW_BYTES ? need : WINDOW_BYTES;
    want = want > kept ? want - kept : 0;
    want = left < (int64_t)want ? (left > 0 ? (size_t)left : 0) : want;
    if (!fz_buf_reserve(&r->window, want + 1)) {
        return fz_fail_nomem(err, want);
    }
    if (want > 0) {
        FZ_TRY(fz_store_read(r->file->store, r->file->location, r->window_start + (int64_t)kept, want,
                             r->window.ptr + kept, r->cancel, err));
    }
    r->window.len = kept + want;
    *window = (struct fz_str){r->window.ptr, r->window.len};
out:
    return rc;
}

static enum fz_code store_bytes(struct fz_avro_table_reader *r, struct fz_column *c, size_t row, struct fz_str s,
                                struct fz_err *err) {
    if (s.len > UINT32_MAX) {
        return fz_fail(err, FZ_LIMIT, "%s: a value is larger than 4 GB", r->file->location);
    }
    if (s.len > 12) {
        char *copy = fz_arena_memdup(&r->strings, s.ptr, s.len);
        if (copy == NULL) {
            return fz_fail_nomem(err, s.len);
        }
        s.ptr = copy;
    }
    ((struct fz_string *)c->data)[row] = fz_string_of(s.ptr, s.len);
    return FZ_OK;
}

static enum fz_code store_decimal(struct fz_avro_table_reader *r, const struct step *s, struct fz_column *c, size_t row,
                                  struct fz_str bytes, struct fz_err *err) {
    __int128 v = 0;
    if (!fz_decimal_from_bytes((const uint8_t *)bytes.ptr, bytes.len, &v) ||
        fz_decimal_digits(v) > c->type->precision) {
        return damaged(r, s->node, "a decimal has more digits than its type", err);
    }
    fz_column_put_decimal(c, row, v);
    return FZ_OK;
}

static void store_uuid(struct fz_column *c, size_t row, struct fz_str bytes) {
    uint64_t high = 0, low = 0;
    for (size_t i = 0; i < 8; i++) {
        high = high << 8 | (uint8_t)bytes.ptr[i];
        low = low << 8 | (uint8_t)bytes.ptr[8 + i];
    }
    ((struct fz_i128 *)c->data)[row] = (struct fz_i128){low, (int64_t)(high ^ UINT64_C(0x8000000000000000))};
}

static enum fz_code store_missing(const struct step *s, struct fz_column *children, size_t row, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < s->n_missing; i++) {
        struct fz_column *c = &children[s->missing[i]];
        const struct fz_value *value = s->missing_fields[i]->initial_default;
        FZ_TRY(fz_column_reserve(c, row + 1, err));
        if (value != NULL && !value->is_null) {
            FZ_TRY(fz_value_store(c, row, value, err));
        } else {
            fz_column_set_null(c, row);
        }
    }
out:
    return rc;
}

static enum fz_code read_value(struct fz_avro_table_reader *r, const struct step *s, struct fz_column *c, size_t row,
                               struct fz_err *err);

static enum fz_code read_struct(struct fz_avro_table_reader *r, const struct step *s, struct fz_column *children,
                                size_t row, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < s->n_children; i++) {
        const struct step *child = &s->children[i];
        if (child->op == OP_SKIP) {
            FZ_TRY(fz_avro_skip(r->reader, child->node->schema, err));
        } else {
            FZ_TRY(read_value(r, child, &children[child->column], row, err));
        }
    }
    rc = store_missing(s, children, row, err);
out:
    return rc;
}

// Lists and maps: elements go behind those of the rows before.
static enum fz_code read_elements(struct fz_avro_table_reader *r, const struct step *s, struct fz_column *c, size_t row,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_column *child = &c->children[0];
    size_t start = child->used_rows, n = 0;
    for (;;) {
        int64_t items = 0;
        FZ_TRY(fz_avro_get_block(r->reader, &items, err));
        if (items == 0) {
            break;
        }
        r->elements += (size_t)items;
        if (r->elements > MAX_ELEMENTS) {
            rc = fz_fail(err, FZ_LIMIT, "%s: column %s: more than %d list elements in one batch of rows",
                         r->file->location, s->node->name, MAX_ELEMENTS);
            goto out;
        }
        FZ_TRY(fz_column_reserve(child, start + n + (size_t)items, err));
        for (int64_t i = 0; i < items; i++, n++) {
            if (s->op == OP_LIST) {
                FZ_TRY(read_value(r, &s->children[0], child, start + n, err));
            } else {
                FZ_TRY(read_value(r, &s->children[0], &child->children[0], start + n, err));
                FZ_TRY(read_value(r, &s->children[1], &child->children[1], start + n, err));
            }
        }
    }
    child->used_rows = start + n;
    ((struct fz_list_span *)c->data)[row] = (struct fz_list_span){start, n};
out:
    return rc;
}

static enum fz_code read_variant(struct fz_avro_table_reader *r, const struct step *s, struct fz_column *c, size_t row,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_str parts[2];
    struct fz_buf whole = {0};
    FZ_TRY(fz_avro_get_bytes(r->reader, &parts[s->swapped], err));
    FZ_TRY(fz_avro_get_bytes(r->reader, &parts[!s->swapped], err));
    fz_buf_append(&whole, parts[0].ptr, parts[0].len);
    fz_buf_append(&whole, parts[1].ptr, parts[1].len);
    FZ_TRY(fz_buf_check(&whole, err));
    FZ_TRY(fz_variant_check((struct fz_str){whole.ptr, whole.len}, err));
    rc = store_bytes(r, c, row, (struct fz_str){whole.ptr, whole.len}, err);
out:
    fz_buf_dispose(&whole);
    return rc;
}

static enum fz_code read_i64(struct fz_avro_table_reader *r, const struct step *s, struct fz_column *c, size_t row,
                             struct fz_err *err) {
    int64_t v = 0;
    enum fz_code rc = fz_avro_get_long(r->reader, &v, err);
    if (rc != FZ_OK) {
        return rc;
    }
    if (s->divisor > 1) {
        v = v / s->divisor - (v % s->divisor < 0);
    } else if (__builtin_mul_overflow(v, s->factor, &v)) {
        return damaged(r, s->node, "a time is beyond the range of its type", err);
    }
    ((int64_t *)c->data)[row] = v;
    return FZ_OK;
}

static enum fz_code read_present(struct fz_avro_table_reader *r, const struct step *s, struct fz_column *c, size_t row,
                                 struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_str bytes = {0};
    int64_t v = 0;
    bool flag = false;
    float f = 0;
    switch (s->op) {
    case OP_NULL:
        fz_column_set_null(c, row);
        break;
    case OP_BOOL:
        FZ_TRY(fz_avro_get_boolean(r->reader, &flag, err));
        ((uint8_t *)c->data)[row] = flag;
        break;
    case OP_I32:
        FZ_TRY(fz_avro_get_long(r->reader, &v, err));
        if (v < INT32_MIN || v > INT32_MAX) {
            rc = damaged(r, s->node, "an int is beyond 32 bits", err);
            goto out;
        }
        ((int32_t *)c->data)[row] = (int32_t)v;
        break;
    case OP_I64:
        rc = read_i64(r, s, c, row, err);
        break;
    case OP_F32:
        rc = fz_avro_get_float(r->reader, (float *)c->data + row, err);
        break;
    case OP_F64:
        if (s->is_double) {
            rc = fz_avro_get_double(r->reader, (double *)c->data + row, err);
        } else {
            FZ_TRY(fz_avro_get_float(r->reader, &f, err));
            ((double *)c->data)[row] = (double)f;
        }
        break;
    case OP_TEXT:
    case OP_FIXED:
        FZ_TRY(s->op == OP_TEXT ? fz_avro_get_bytes(r->reader, &bytes, err)
                                : fz_avro_get_fixed(r->reader, s->node->size, &bytes, err));
        if (s->utf8 && !fz_utf8_valid(bytes.ptr, bytes.len)) {
            rc = damaged(r, s->node, "a text is not valid UTF-8", err);
            goto out;
        }
        rc = store_bytes(r, c, row, bytes, err);
        break;
    case OP_ENUM: {
        FZ_TRY(fz_avro_get_long(r->reader, &v, err));
        const char *symbol = v >= 0 ? json_string_value(json_array_get(s->node->symbols, (size_t)v)) : NULL;
        rc = symbol != NULL ? store_bytes(r, c, row, fz_str_of(symbol), err)
                            : damaged(r, s->node, "an enum has no such symbol", err);
        break;
    }
    case OP_UUID:
        FZ_TRY(fz_avro_get_fixed(r->reader, 16, &bytes, err));
        store_uuid(c, row, bytes);
        break;
    case OP_DECIMAL:
        FZ_TRY(s->node->kind == AVRO_FIXED ? fz_avro_get_fixed(r->reader, s->node->size, &bytes, err)
                                           : fz_avro_get_bytes(r->reader, &bytes, err));
        rc = store_decimal(r, s, c, row, bytes, err);
        break;
    case OP_STRUCT:
        rc = read_struct(r, s, c->children, row, err);
        break;
    case OP_LIST:
    case OP_MAP:
    case OP_PAIRS:
        rc = read_elements(r, s, c, row, err);
        break;
    case OP_VARIANT:
        rc = read_variant(r, s, c, row, err);
        break;
    case OP_SKIP: // a key or value of type unknown
        fz_column_set_null(c, row);
        break;
    }
out:
    return rc;
}

static enum fz_code read_value(struct fz_avro_table_reader *r, const struct step *s, struct fz_column *c, size_t row,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (s->op == OP_SKIP) {
        fz_column_set_null(c, row);
        return fz_avro_skip(r->reader, s->node->schema, err);
    }
    if (s->node->n_branches > 0) {
        int64_t branch = 0;
        FZ_TRY(fz_avro_get_long(r->reader, &branch, err));
        if (branch < 0 || branch >= s->node->n_branches) {
            return damaged(r, s->node, "a union has no such branch", err);
        }
        if (branch == s->node->null_branch) {
            fz_column_set_null(c, row);
            return FZ_OK;
        }
    }
    rc = read_present(r, s, c, row, err);
out:
    return rc;
}

enum fz_code fz_avro_table_reader_open(struct fz_avro_file *file, const struct fz_field *fields, size_t n_fields,
                                       bool by_name, struct fz_cancel *cancel, struct fz_avro_table_reader **out,
                                       struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_avro_table_reader *r = NULL;
    FZ_NEW(r, err);
    r->file = fz_avro_file_ref(file);
    r->cancel = cancel;
    r->n_columns = n_fields;
    r->window_start = (int64_t)file->header_len;
    struct planner p = {.r = r, .by_name = by_name, .err = err};
    FZ_TRY(plan_struct(&p, &file->root, fields, n_fields, &r->root));
    FZ_TRY(fz_avro_reader_blocks(file->header, more_bytes, r, &r->reader, err));
    *out = r;
    r = NULL;
out:
    fz_avro_table_reader_close(r);
    return rc;
}

enum fz_code fz_avro_table_reader_next(struct fz_avro_table_reader *r, struct fz_batch *batch, size_t max_rows,
                                       int64_t *first_row_pos, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = 0, most = max_rows < FZ_BATCH_ROWS ? max_rows : FZ_BATCH_ROWS;
    batch->n_rows = 0;
    if (batch->n_columns != r->n_columns) {
        return fz_fail(err, FZ_BUG, "a batch of %zu columns is filled with %zu", batch->n_columns, r->n_columns);
    }
    FZ_TRY(fz_cancel_check(r->cancel, err));
    fz_arena_dispose(&r->strings);
    r->elements = 0;
    if (first_row_pos != NULL) {
        *first_row_pos = r->rows;
    }
    for (size_t i = 0; i < batch->n_columns; i++) {
        fz_column_reset(&batch->columns[i]);
        FZ_TRY(fz_column_reserve(&batch->columns[i], most, err));
    }
    // Long lists end a batch early, so that it does not become huge.
    for (bool more = true; n < most && r->elements < MAX_ELEMENTS / 16; n++) {
        FZ_TRY(fz_avro_reader_next(r->reader, &more, err));
        if (!more) {
            break;
        }
        FZ_TRY(read_struct(r, &r->root, batch->columns, n, err));
        r->rows++;
    }
    batch->n_rows = n;
out:
    return rc;
}

void fz_avro_table_reader_close(struct fz_avro_table_reader *r) {
    if (r == NULL) {
        return;
    }
    fz_avro_reader_close(r->reader);
    fz_buf_dispose(&r->window);
    fz_arena_dispose(&r->strings);
    fz_arena_dispose(&r->arena);
    fz_avro_file_unref(r->file);
    fz_free(r);
}
