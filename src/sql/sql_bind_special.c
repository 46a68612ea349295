// Functions whose result type or form depends on more than the types of their arguments: conditions, constants of the statement, JSON
// with a schema, Iceberg's transforms; and where all of them are looked up. Everything else is a row of functions.def.
#include <stdio.h>

#include "data/transform.h"
#include "sql/sql_bind_special.h"

// ---- conditions ----
static enum fz_code bind_if(struct special *c) {
    COUNT(c, 3, 3);
    if (fz_sql_is_null(c->args[0]->type)) {
        c->args[0] = fz_bind_null(c->b, BOOLEAN);
        FZ_SOME(c->b, c->args[0]);
    }
    if (c->args[0]->type->id != FZ_TYPE_BOOLEAN) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                  "The condition of IF must be BOOLEAN, not %s",
                                  fz_sql_type_text(c->b->arena, c->args[0]->type));
    }
    const struct fz_type *t;
    FZ_RET(fz_bind_unify(c->b, "IF", c->args + 1, 2, &t));
    return done(c, fz_expr_op(c->b->arena, FZ_EXPR_CASE, t, c->args, 3));
}

static enum fz_code bind_isnull(struct special *c) {
    COUNT(c, 1, 1);
    const struct fz_expr *e = fz_expr_op(c->b->arena, FZ_EXPR_IS_NULL, BOOLEAN, c->args, 1);
    if (e != NULL && is_one(c->name, "isnotnull")) {
        e = fz_expr_op(c->b->arena, FZ_EXPR_NOT, BOOLEAN, &e, 1);
    }
    return done(c, e);
}

static enum fz_code bind_decode(struct special *c) {
    if (c->n == 2) { // (binary, charset)
        FZ_RET(cast_arg(c, 0, fz_sql_type(FZ_TYPE_BINARY)));
        FZ_RET(cast_arg(c, 1, STRING));
        return done(c, call(c, "op.decode", STRING, 2));
    }
    COUNT(c, 3, 1000);
    const struct fz_expr **parts;
    size_t k = 0;
    FZ_ALLOC(c->b, parts, const struct fz_expr *, c->n);
    const struct fz_expr **values;
    size_t n_values = 0;
    FZ_ALLOC(c->b, values, const struct fz_expr *, c->n);
    for (size_t i = 1; i < c->n; i += 2) {
        values[n_values++] = i + 1 < c->n ? c->args[i + 1] : c->args[i];
    }
    const struct fz_type *t;
    FZ_RET(fz_bind_unify(c->b, "decode", values, n_values, &t));
    for (size_t i = 1, v = 0; i < c->n; i += 2) {
        if (i + 1 < c->n) {
            FZ_RET(fz_bind_compare(c->b, "<=>", c->args[0], c->args[i], &parts[k++]));
        }
        parts[k++] = values[v++];
    }
    return done(c, fz_expr_op(c->b->arena, FZ_EXPR_CASE, t, parts, k));
}

static enum fz_code bind_elt(struct special *c) {
    COUNT(c, 2, 1000);
    const struct fz_expr **parts;
    size_t k = 0;
    size_t n_parts = 2 * c->n;
    FZ_ALLOC(c->b, parts, const struct fz_expr *, n_parts);
    FZ_RET(cast_arg(c, 0, INT));
    for (size_t i = 1; i < c->n; i++) {
        FZ_RET(cast_arg(c, i, STRING));
        FZ_RET(fz_bind_compare(c->b, "=", c->args[0], fz_bind_int(c->b, FZ_TYPE_INT, (int64_t)i), &parts[k++]));
        parts[k++] = c->args[i];
    }
    return done(c, fz_expr_op(c->b->arena, FZ_EXPR_CASE, STRING, parts, k));
}

static enum fz_code bind_greatest(struct special *c) {
    COUNT(c, 2, 1000);
    bool text = false, other = false;
    for (size_t i = 0; i < c->n; i++) {
        text |= fz_sql_is_string(c->args[i]->type);
        other |= fz_type_is_numeric(c->args[i]->type);
    }
    if (text && other) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.DATA_DIFF_TYPES", "`%s` does not mix text and numbers",
                                  c->name);
    }
    return FZ_OK; // the row of functions.def does the rest
}

// ---- constants of the statement ----
static enum fz_code constant_i64(struct special *c, enum fz_type_id id, int64_t v) {
    return done(c, fz_bind_int(c->b, id, v));
}
enum fz_code fz_special_now(struct special *c) {
    const struct fz_sql_env *env = c->b->env;
    const struct fz_zone *zone = fz_zone_find(fz_str_of(env->time_zone));
    int64_t local = env->now_us + (zone ? fz_zone_offset_us(zone, env->now_us) : 0);
    if (is_one(c->name, "current_date curdate")) {
        return constant_i64(c, FZ_TYPE_DATE, local / 86400000000 - (local % 86400000000 < 0));
    }
    if (is_one(c->name, "localtimestamp")) {
        return constant_i64(c, FZ_TYPE_TIMESTAMP, local);
    }
    if (is_one(c->name, "unix_timestamp")) {
        return constant_i64(c, FZ_TYPE_LONG, env->now_us / 1000000);
    }
    return constant_i64(c, FZ_TYPE_TIMESTAMPTZ, env->now_us);
}
static enum fz_code bind_session(struct special *c) {
    const struct fz_sql_env *env = c->b->env;
    const char *v = "";
    if (is_one(c->name, "current_catalog")) {
        v = env->current_catalog;
    } else if (is_one(c->name, "current_database current_schema")) {
        v = env->current_namespace;
    } else if (is_one(c->name, "current_user user session_user")) {
        v = env->user;
    } else if (is_one(c->name, "current_timezone")) {
        v = env->time_zone;
    } else if (is_one(c->name, "version")) {
        v = "4.1.4 frazil";
    }
    return done(c, fz_bind_text(c->b, v ? v : ""));
}
static enum fz_code bind_typeof(struct special *c) {
    COUNT(c, 1, 1);
    struct fz_buf buf = {0};
    fz_type_print_sql(&buf, c->args[0]->type);
    const char *text = buf.ptr ? fz_arena_strndup(c->b->arena, buf.ptr, buf.len) : "";
    fz_buf_dispose(&buf);
    FZ_SOME(c->b, text);
    return done(c, fz_bind_text(c->b, text));
}

// ---- casts by name: INT('5'), DATE(x) ----
static enum fz_code bind_cast_name(struct special *c) {
    static const struct {
        const char *name;
        enum fz_type_id id;
    } casts[] = {{"boolean", FZ_TYPE_BOOLEAN}, {"tinyint", FZ_TYPE_BYTE}, {"smallint", FZ_TYPE_SHORT},
                 {"int", FZ_TYPE_INT},         {"bigint", FZ_TYPE_LONG},  {"float", FZ_TYPE_FLOAT},
                 {"double", FZ_TYPE_DOUBLE},   {"date", FZ_TYPE_DATE},    {"timestamp", FZ_TYPE_TIMESTAMPTZ},
                 {"string", FZ_TYPE_STRING},   {"binary", FZ_TYPE_BINARY}};
    COUNT(c, 1, 1);
    for (size_t i = 0; i < sizeof casts / sizeof *casts; i++) {
        if (fz_strcasecmp(c->name, casts[i].name) == 0) {
            return fz_bind_cast_checked(c->b, c->args[0], fz_sql_type(casts[i].id), FZ_CAST_ANSI, c->out);
        }
    }
    const struct fz_type *t = fz_type_decimal(c->b->arena, 10, 0);
    FZ_SOME(c->b, t);
    return fz_bind_cast_checked(c->b, c->args[0], t, FZ_CAST_ANSI, c->out);
}

// ---- JSON ----
static uint64_t type_hash(const char *base, const struct fz_type *result, const struct fz_type *const *args, size_t n) {
    struct fz_buf buf = {0};
    fz_buf_puts(&buf, base);
    fz_type_print_sql(&buf, result);
    for (size_t i = 0; i < n; i++) {
        fz_buf_putc(&buf, ',');
        fz_type_print_sql(&buf, args[i]);
    }
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < buf.len; i++) {
        h = (h ^ (unsigned char)buf.ptr[i]) * 1099511628211u;
    }
    fz_buf_dispose(&buf);
    return h;
}

enum fz_code fz_bind_kernel(fz_binder *b, const char *base, fz_kernel_run *run, const struct fz_type *result,
                            const struct fz_type *const *arg_types, size_t n_args, const char **out_name) {
    const char *name =
        fz_arena_printf(b->arena, "%s_%016llx", base, (unsigned long long)type_hash(base, result, arg_types, n_args));
    FZ_SOME(b, name);
    *out_name = name;
    for (size_t i = 0; i < b->n_kernels; i++) {
        if (strcmp(b->kernels[i].name, name) == 0) {
            return FZ_OK;
        }
    }
    if (b->n_kernels == b->cap_kernels) {
        size_t cap = b->cap_kernels ? 2 * b->cap_kernels : 8;
        struct fz_scalar_kernel *grown = fz_arena_array(b->arena, cap, sizeof *grown);
        FZ_SOME(b, grown);
        if (b->n_kernels > 0) {
            memcpy(grown, b->kernels, b->n_kernels * sizeof *grown);
        }
        b->kernels = grown;
        b->cap_kernels = cap;
    }
    struct fz_scalar_kernel *k = &b->kernels[b->n_kernels++];
    *k = (struct fz_scalar_kernel){.name = name, .n_args = n_args, .result = result, .run = run};
    for (size_t i = 0; i < n_args; i++) {
        k->args[i] = arg_types[i];
    }
    return FZ_OK;
}

// Options of from_json and to_json as one text "key=value\n…".
static enum fz_code options_text(struct special *c, size_t i, const struct fz_expr **out) {
    struct fz_buf buf = {0};
    fz_buf_printf(&buf, "zone=%s\n", c->b->env->time_zone);
    if (i < c->n) {
        const struct fz_expr *m = c->args[i];
        if (m->kind != FZ_EXPR_CALL || strcmp(m->u.call.fn->name, "op.map") != 0) {
            fz_buf_dispose(&buf);
            return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "INVALID_OPTIONS.NON_MAP_FUNCTION",
                                "The options of %s must be map('key', 'value', …)", c->name);
        }
        const struct fz_expr *keys = m->args[0], *values = m->args[1];
        for (size_t k = 0; k < keys->n_args; k++) {
            const char *key, *value;
            enum fz_code rc = fz_bind_literal_text(c->b, keys->args[k], "option name", &key);
            rc = rc == FZ_OK ? fz_bind_literal_text(c->b, values->args[k], "option value", &value) : rc;
            if (rc != FZ_OK) {
                fz_buf_dispose(&buf);
                return rc;
            }
            fz_buf_printf(&buf, "%s=%s\n", key, value);
        }
    }
    const char *text = buf.failed ? NULL : fz_arena_strndup(c->b->arena, buf.ptr, buf.len);
    fz_buf_dispose(&buf);
    FZ_SOME(c->b, text);
    *out = fz_bind_text(c->b, text);
    FZ_SOME(c->b, *out);
    return FZ_OK;
}

static enum fz_code bind_from_json(struct special *c) {
    COUNT(c, 2, 3);
    const char *ddl, *kernel;
    const struct fz_type *type;
    FZ_RET(cast_arg(c, 0, STRING));
    FZ_RET(fz_bind_literal_text(c->b, c->args[1], "schema of from_json", &ddl));
    FZ_RET(fz_sql_parse_schema(c->b->arena, fz_str_of(ddl), &type, c->b->err));
    if (type->id != FZ_TYPE_STRUCT && type->id != FZ_TYPE_LIST && type->id != FZ_TYPE_MAP &&
        type->id != FZ_TYPE_VARIANT) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.INVALID_JSON_SCHEMA",
                                  "from_json needs a struct, array or map, not %s",
                                  fz_sql_type_text(c->b->arena, type));
    }
    const struct fz_expr *args[3] = {c->args[0], NULL, NULL};
    FZ_RET(options_text(c, 2, &args[1]));
    const struct fz_type *arg_types[2] = {STRING, STRING};
    FZ_RET(fz_bind_kernel(c->b, "fz_from_json", fz_kernel_from_json, type, arg_types, 2, &kernel));
    args[2] = fz_bind_text(c->b, kernel);
    bool failfast = strstr(args[1]->u.literal->u.bytes.ptr, "FAILFAST") != NULL;
    return done(c, fz_bind_internal(c->b, failfast ? "op.from_json_failfast" : "op.from_json", type, args, 3));
}

static enum fz_code bind_to_json(struct special *c) {
    COUNT(c, 1, 2);
    const struct fz_expr *args[3] = {c->args[0], NULL, NULL};
    const struct fz_type *t = c->args[0]->type;
    if (t->n_fields == 0 && t->id != FZ_TYPE_VARIANT) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.INVALID_JSON_SCHEMA",
                                  "to_json needs a struct, array or map, not %s", fz_sql_type_text(c->b->arena, t));
    }
    struct fz_buf buf = {0};
    fz_type_print_sql(&buf, t);
    const char *ddl = buf.failed ? NULL : fz_arena_strndup(c->b->arena, buf.ptr, buf.len);
    fz_buf_dispose(&buf);
    FZ_SOME(c->b, ddl);
    args[1] = fz_bind_text(c->b, ddl);
    FZ_RET(options_text(c, 1, &args[2]));
    return done(c, fz_bind_internal(c->b, "op.to_json", STRING, args, 3));
}

static enum fz_code bind_schema_of_json(struct special *c) {
    COUNT(c, 1, 2);
    FZ_RET(cast_arg(c, 0, STRING));
    return done(c, fz_bind_call_node(c->b, fz_func_find("schema_of_json", NULL), STRING, c->args, 1));
}

static enum fz_code bind_sentences(struct special *c) {
    COUNT(c, 1, 3);
    FZ_RET(cast_arg(c, 0, STRING));
    const struct fz_type *words = fz_type_list(c->b->arena, 0, true, STRING),
                         *t = words ? fz_type_list(c->b->arena, 0, true, words) : NULL;
    FZ_SOME(c->b, t);
    return done(c, call(c, "op.sentences", t, 1));
}

// Letters that Spark 3 and later refuse in a pattern: an error of the statement when the pattern is a literal.
static enum fz_code bind_date_format(struct special *c) {
    COUNT(c, 1, 2);
    if (c->n < 2 || c->args[1]->kind != FZ_EXPR_LITERAL || c->args[1]->u.literal->is_null ||
        !fz_sql_is_string(c->args[1]->type)) {
        return FZ_OK;
    }
    struct fz_str p = c->args[1]->u.literal->u.bytes;
    bool quoted = false;
    for (size_t i = 0; i < p.len; i++) {
        size_t run = 1;
        quoted = p.ptr[i] == '\'' ? !quoted : quoted;
        while (i + run < p.len && p.ptr[i + run] == p.ptr[i]) {
            run++;
        }
        if (quoted) {
            continue;
        }
        bool text = p.ptr[i] == 'M' || p.ptr[i] == 'L' || p.ptr[i] == 'E' || p.ptr[i] == 'G' || p.ptr[i] == 'Q' ||
                    p.ptr[i] == 'q';
        if (strchr("wWuYec", p.ptr[i]) != NULL || (text && run >= 5)) {
            return fz_fail_cond(c->b->err, FZ_INVALID_ARG,
                                "INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION",
                                "The pattern '%.*s' has a letter that is not supported", (int)p.len, p.ptr);
        }
        if (strchr("nAB", p.ptr[i]) != NULL) {
            return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "INVALID_DATETIME_PATTERN.ILLEGAL_CHARACTER",
                                "Illegal character '%c' in the pattern '%.*s'", p.ptr[i], (int)p.len, p.ptr);
        }
        i += text ? run - 1 : 0;
    }
    return FZ_OK; // the row of functions.def does the rest
}

static enum fz_code bind_format_string(struct special *c) {
    COUNT(c, 1, 1000);
    FZ_RET(cast_arg(c, 0, STRING));
    return done(c, call(c, "op.format_string", STRING, c->n));
}

// ---- Iceberg's transforms: ice.system.bucket(16, x) ----
static enum fz_code bind_transform(struct special *c) {
    static const char *const one_arg[][2] = {
        {"years", "year"}, {"year", "year"},  {"months", "month"}, {"month", "month"}, {"days", "day"},
        {"day", "day"},    {"hours", "hour"}, {"hour", "hour"},    {"date", "day"},    {"date_hour", "hour"}};
    struct fz_transform t = {0};
    const struct fz_type *result;
    int64_t param = 0;
    const struct fz_expr *value;
    char text[64];
    if (is_one(c->name, "bucket truncate")) {
        COUNT(c, 2, 2);
        FZ_RET(literal_int(c, 0, &param));
        value = c->args[1];
        snprintf(text, sizeof text, "%s[%lld]", is_one(c->name, "bucket") ? "bucket" : "truncate", (long long)param);
    } else {
        COUNT(c, 1, 1);
        value = c->args[0];
        text[0] = 0;
        for (size_t i = 0; i < sizeof one_arg / sizeof *one_arg; i++) {
            if (fz_strcasecmp(c->name, one_arg[i][0]) == 0) {
                snprintf(text, sizeof text, "%s", one_arg[i][1]);
            }
        }
    }
    if (value->type->id == FZ_TYPE_BYTE || value->type->id == FZ_TYPE_SHORT) {
        value = fz_bind_cast(c->b, value, INT);
        FZ_SOME(c->b, value);
    }
    FZ_RET(fz_transform_parse(c->b->arena, fz_str_of(text), &t, c->b->err));
    FZ_RET(fz_transform_result_type(&t, value->type, &result, c->b->err));
    const struct fz_type *arg_types[2] = {STRING, value->type};
    const char *kernel;
    FZ_RET(fz_bind_kernel(c->b, "fz_transform", fz_kernel_transform, result, arg_types, 2, &kernel));
    const struct fz_expr *args[3] = {fz_bind_text(c->b, fz_arena_strdup(c->b->arena, text)), value,
                                     fz_bind_text(c->b, kernel)};
    return done(c, fz_bind_internal(c->b, "op.transform_value", result, args, 3));
}

static const struct special_handler handlers[] = {
    {"if", bind_if},
    {"isnull isnotnull", bind_isnull},
    {"decode", bind_decode},
    {"greatest least", bind_greatest},
    {"elt", bind_elt},
    {"current_timestamp now current_date curdate localtimestamp", fz_special_now},
    {"current_catalog current_database current_schema current_user user session_user current_timezone version "
     "input_file_name",
     bind_session},
    {"typeof", bind_typeof},
    {"boolean tinyint smallint int bigint float double decimal date timestamp string binary", bind_cast_name},
    {"from_json", bind_from_json},
    {"to_json", bind_to_json},
    {"schema_of_json", bind_schema_of_json},
    {"format_string printf", bind_format_string},
    {"sentences", bind_sentences},
    {"date_format from_unixtime", bind_date_format},
};

// trim(chars FROM s): the parser gives (s, chars).
static enum fz_code bind_trim_from(struct special *c) {
    FZ_RET(cast_arg(c, 0, STRING));
    FZ_RET(cast_arg(c, 1, STRING));
    if (is_one(c->name, "btrim")) {
        return done(c, fz_bind_call_node(c->b, fz_func_find("btrim", NULL) + 1, STRING, c->args, 2));
    }
    return done(c, call(c, is_one(c->name, "ltrim") ? "op.ltrim" : "op.rtrim", STRING, 2));
}

// Whether a handler has the name; it has then run.
static bool bind_by_name(struct special *c, const struct special_handler *list, size_t n, enum fz_code *rc) {
    for (size_t i = 0; i < n; i++) {
        if (is_one(c->name, list[i].names)) {
            *rc = list[i].bind(c);
            return true;
        }
    }
    return false;
}

enum fz_code fz_bind_special(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, const char *name,
                             const struct fz_expr **args, size_t n, const struct fz_expr **out) {
    struct special c = {b, s, e, name, args, n, out};
    *out = NULL;
    if (e != NULL && e->text != NULL && strcmp(e->text, "FROM") == 0 && n == 2 && is_one(name, "btrim ltrim rtrim")) {
        return bind_trim_from(&c);
    }
    if (e != NULL && e->name.n >= 2 && fz_strcasecmp(e->name.parts[e->name.n - 2], "system") == 0) {
        if (is_one(name, "bucket truncate years year months month days day hours hour date date_hour")) {
            return bind_transform(&c);
        }
        if (e->name.n == 3) {
            return FZ_OK;
        }
    }
    const struct {
        const struct special_handler *list;
        size_t n;
    } tables[] = {{handlers, sizeof handlers / sizeof *handlers},
                  {fz_special_collections, fz_n_special_collections},
                  {fz_special_aggregates, fz_n_special_aggregates},
                  {fz_special_variants, fz_n_special_variants},
                  {fz_special_numbers, fz_n_special_numbers}};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (bind_by_name(&c, tables[i].list, tables[i].n, &rc)) {
            break;
        }
    }
    return rc;
}
