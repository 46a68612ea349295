// Functions and casts of variants. A value that may not fit is read by a kernel that gives NULL; the error stands around it.
#include "sql/sql_bind_special.h"

#define VARIANT fz_sql_type(FZ_TYPE_VARIANT)

static enum fz_code variant_arg(struct special *c, size_t i) {
    if (fz_sql_is_null(c->args[i]->type)) {
        c->args[i] = fz_bind_null(c->b, VARIANT);
        FZ_SOME(c->b, c->args[i]);
    }
    if (c->args[i]->type->id != FZ_TYPE_VARIANT) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                  "Argument %zu of `%s` must be VARIANT, not %s", i + 1, c->name,
                                  fz_sql_type_text(c->b->arena, c->args[i]->type));
    }
    return FZ_OK;
}
static enum fz_code text_arg(struct special *c, size_t i) {
    if (fz_sql_is_null(c->args[i]->type)) {
        c->args[i] = fz_bind_null(c->b, STRING);
        FZ_SOME(c->b, c->args[i]);
    }
    if (!fz_sql_is_string(c->args[i]->type)) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                  "Argument %zu of `%s` must be STRING, not %s", i + 1, c->name,
                                  fz_sql_type_text(c->b->arena, c->args[i]->type));
    }
    return FZ_OK;
}

static enum fz_code type_text(fz_binder *b, const struct fz_type *type, const struct fz_expr **out) {
    struct fz_buf buf = {0};
    fz_type_print_sql(&buf, type);
    const char *text = buf.failed || buf.ptr == NULL ? NULL : fz_arena_strndup(b->arena, buf.ptr, buf.len);
    fz_buf_dispose(&buf);
    FZ_SOME(b, text);
    *out = fz_bind_text(b, text);
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code bind_parse_json(struct special *c) {
    COUNT(c, 1, 1);
    FZ_RET(text_arg(c, 0));
    return done(c, call(c, is_one(c->name, "try_parse_json") ? "op.try_parse_json" : "op.parse_json", VARIANT, 1));
}

bool fz_variant_readable(const struct fz_type *t) {
    switch ((int)t->id) {
    case FZ_TYPE_BOOLEAN:
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
    case FZ_TYPE_DECIMAL:
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_DATE:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_VARIANT:
        return true;
    case FZ_TYPE_MAP:
        return t->fields[0].type->id == FZ_TYPE_STRING && fz_variant_readable(t->fields[1].type);
    case FZ_TYPE_LIST:
    case FZ_TYPE_STRUCT:
        for (size_t i = 0; i < t->n_fields; i++) {
            if (!fz_variant_readable(t->fields[i].type)) {
                return false;
            }
        }
        return t->n_fields > 0;
    default:
        return false;
    }
}

bool fz_variant_writable(const struct fz_type *t, bool objects) {
    if (t->n_fields > 0 && (t->id != FZ_TYPE_LIST && !objects)) {
        return false;
    }
    if (t->id == FZ_TYPE_MAP && t->fields[0].type->id != FZ_TYPE_STRING) {
        return false;
    }
    for (size_t i = 0; i < t->n_fields; i++) {
        for (size_t k = 0; k < i && t->id == FZ_TYPE_STRUCT; k++) {
            if (strcmp(t->fields[i].name, t->fields[k].name) == 0) {
                return false; // an object has each name once
            }
        }
        if (!fz_variant_writable(t->fields[i].type, objects)) {
            return false;
        }
    }
    return t->n_fields > 0 || (t->id != FZ_TYPE_UNKNOWN && fz_variant_readable(t));
}

bool fz_variant_castable(const struct fz_type *from, const struct fz_type *to) {
    if (from->id == FZ_TYPE_VARIANT || to->id == FZ_TYPE_VARIANT) {
        return to->id == FZ_TYPE_VARIANT ? fz_variant_writable(from, false) : fz_variant_readable(to);
    }
    if (from->n_fields == 0 || from->id != to->id || from->n_fields != to->n_fields) {
        return fz_sql_same_type(from, to) && fz_variant_readable(from);
    }
    for (size_t i = 0; i < from->n_fields; i++) {
        if (!fz_variant_castable(from->fields[i].type, to->fields[i].type)) {
            return false;
        }
    }
    return fz_variant_readable(to) && fz_variant_writable(to, true);
}

// `from` with the names that `to` has: structs are cast by position.
static const struct fz_type *renamed(struct fz_arena *arena, const struct fz_type *from, const struct fz_type *to) {
    if (from->n_fields == 0 || from->id != to->id) {
        return from;
    }
    struct fz_type *copy = fz_arena_memdup(arena, from, sizeof *copy);
    struct fz_field *fields = fz_arena_memdup(arena, from->fields, from->n_fields * sizeof *fields);
    if (copy == NULL || fields == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < from->n_fields; i++) {
        fields[i].name = to->fields[i].name;
        fields[i].type = renamed(arena, from->fields[i].type, to->fields[i].type);
        if (fields[i].type == NULL) {
            return NULL;
        }
    }
    copy->fields = fields;
    return copy;
}

static enum fz_code no_cast(fz_binder *b, const struct fz_type *from, const struct fz_type *to) {
    return fz_bind_type_error(b, "DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", "Cannot cast %s to %s",
                              fz_sql_type_text(b->arena, from), fz_sql_type_text(b->arena, to));
}

// The value at `path` as `type`; `keep_parts`: what does not fit is NULL (try_variant_get, TRY_CAST).
static enum fz_code get(fz_binder *b, const struct fz_expr *variant, const struct fz_expr *path,
                        const struct fz_type *type, bool keep_parts, const struct fz_expr **out) {
    const char *kernel;
    if (!fz_variant_readable(type)) {
        return no_cast(b, VARIANT, type);
    }
    const struct fz_type *arg_types[3] = {VARIANT, STRING, STRING};
    FZ_RET(keep_parts ? fz_bind_kernel(b, "fz_try_variant_get", fz_kernel_try_variant_get, type, arg_types, 3, &kernel)
                      : fz_bind_kernel(b, "fz_variant_get", fz_kernel_variant_get, type, arg_types, 3, &kernel));
    bool literal = fz_expr_is_literal(path);
    bool fits = keep_parts || type->id == FZ_TYPE_VARIANT || type->id == FZ_TYPE_STRING;
    const struct fz_expr *args[4] = {variant, path, NULL, fz_bind_text(b, kernel)};
    FZ_SOME(b, args[3]);
    FZ_RET(type_text(b, fits ? VARIANT : type, &args[2]));
    *out = fz_bind_internal(b, fits && literal ? "op.variant_get_plain" : "op.variant_get", type, args, 4);
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code bind_variant_get(struct special *c) {
    COUNT(c, 2, 3);
    bool keep_parts = is_one(c->name, "try_variant_get");
    const struct fz_type *type = VARIANT;
    FZ_RET(variant_arg(c, 0));
    FZ_RET(text_arg(c, 1));
    if (c->n == 3) {
        const char *ddl;
        if (!fz_expr_is_literal(c->args[2]) || !fz_sql_is_string(c->args[2]->type) || c->args[2]->u.literal->is_null) {
            return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "INVALID_SCHEMA.NON_STRING_LITERAL",
                                "The type of %s must be a text literal", c->name);
        }
        FZ_RET(fz_bind_literal_text(c->b, c->args[2], "type of variant_get", &ddl));
        struct fz_err ignored = FZ_ERR_INIT;
        if (fz_sql_parse_schema(c->b->arena, fz_str_of(ddl), &type, &ignored) != FZ_OK) {
            return fz_fail_cond(c->b->err, FZ_UNSUPPORTED, "UNSUPPORTED_DATATYPE",
                                "The third argument of %s, '%s', is no type", c->name, ddl);
        }
    }
    const struct fz_expr *path = c->args[1];
    if (fz_expr_is_literal(path) && !path->u.literal->is_null && !fz_variant_path_ok(path->u.literal->u.bytes)) {
        return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "INVALID_VARIANT_GET_PATH",
                            "The path '%.*s' of `%s` is not one; paths look like $.name['name'][0]",
                            (int)path->u.literal->u.bytes.len, path->u.literal->u.bytes.ptr, c->name);
    }
    return get(c->b, c->args[0], path, type, keep_parts, c->out);
}

static enum fz_code to_variant(fz_binder *b, const struct fz_expr *e, const struct fz_type *type,
                               const struct fz_expr **out) {
    const struct fz_expr *args[2] = {e, NULL};
    FZ_RET(type_text(b, type, &args[1]));
    *out = fz_bind_internal(b, "op.to_variant", VARIANT, args, 2);
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code bind_to_variant_object(struct special *c) {
    COUNT(c, 1, 1);
    const struct fz_type *t = c->args[0]->type;
    if (t->n_fields == 0 || !fz_variant_writable(t, true)) {
        return no_cast(c->b, t, VARIANT);
    }
    return to_variant(c->b, c->args[0], t, c->out);
}

static enum fz_code bind_is_variant_null(struct special *c) {
    COUNT(c, 1, 1);
    FZ_RET(variant_arg(c, 0));
    return done(c, call(c, "op.is_variant_null", BOOLEAN, 1));
}

static enum fz_code bind_schema(struct special *c) {
    COUNT(c, 1, 1);
    FZ_RET(variant_arg(c, 0));
    return done(c, call(c, is_one(c->name, "schema_of_variant") ? "op.schema_of_variant" : "op.schema_of_variant_agg",
                        STRING, 1));
}

enum fz_code fz_bind_variant_entries(fz_binder *b, const struct fz_expr *variant, bool outer,
                                     const struct fz_expr **out) {
    struct fz_field fields[3] = {
        {.name = "pos", .type = INT}, {.name = "key", .type = STRING}, {.name = "value", .type = VARIANT}};
    const struct fz_type *entry = fz_type_struct(b->arena, fields, 3), *arg_types[1] = {VARIANT},
                         *list = entry != NULL ? fz_type_list(b->arena, 0, false, entry) : NULL;
    const char *kernel;
    FZ_SOME(b, list);
    if (fz_sql_is_null(variant->type)) {
        variant = fz_bind_null(b, VARIANT);
        FZ_SOME(b, variant);
    }
    if (variant->type->id != FZ_TYPE_VARIANT) {
        return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                  "variant_explode takes a VARIANT, not %s", fz_sql_type_text(b->arena, variant->type));
    }
    FZ_RET(outer ? fz_bind_kernel(b, "fz_variant_explode_outer", fz_kernel_variant_explode_outer, list, arg_types, 1,
                                  &kernel)
                 : fz_bind_kernel(b, "fz_variant_explode", fz_kernel_variant_explode, list, arg_types, 1, &kernel));
    const struct fz_expr *args[2] = {variant, fz_bind_text(b, kernel)};
    FZ_SOME(b, args[1]);
    *out = fz_bind_internal(b, "op.variant_entries", list, args, 2);
    FZ_SOME(b, *out);
    return FZ_OK;
}

enum fz_code fz_bind_variant_cast(fz_binder *b, const struct fz_expr *e, const struct fz_type *type,
                                  enum fz_cast_mode mode, const struct fz_expr **out) {
    if (type->id == FZ_TYPE_VARIANT) {
        return fz_variant_writable(e->type, false) ? to_variant(b, e, e->type, out) : no_cast(b, e->type, type);
    }
    if (e->kind == FZ_EXPR_CALL && strcmp(e->u.call.fn->name, "op.variant_get_plain") == 0) { // v:a::int in one step
        return get(b, e->args[0], e->args[1], type, mode == FZ_CAST_TRY, out);
    }
    const struct fz_expr *path = fz_bind_text(b, "$");
    FZ_SOME(b, path);
    if (e->type->id != FZ_TYPE_VARIANT) { // variants inside, on one side or both: as one variant, and back
        const struct fz_type *named = renamed(b->arena, e->type, type);
        FZ_SOME(b, named);
        FZ_RET(to_variant(b, e, named, &e));
    }
    return get(b, e, path, type, mode == FZ_CAST_TRY, out);
}

const struct special_handler fz_special_variants[] = {
    {"parse_json try_parse_json", bind_parse_json},
    {"variant_get try_variant_get", bind_variant_get},
    {"to_variant_object", bind_to_variant_object},
    {"is_variant_null", bind_is_variant_null},
    {"schema_of_variant schema_of_variant_agg", bind_schema},
};
const size_t fz_n_special_variants = sizeof fz_special_variants / sizeof *fz_special_variants;
