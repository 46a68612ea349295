// Expressions: every name resolved, every implicit cast made explicit, every type known. Spark's ANSI rules; the first error wins and
// carries Spark's condition and the place in the text.
#include "sql/sql_bind_priv.h"

const struct fz_expr *fz_bind_text(fz_binder *b, const char *text) {
    struct fz_value v = {.type = fz_sql_type(FZ_TYPE_STRING), .u.bytes = {text, strlen(text)}};
    return fz_sql_literal(b->arena, &v);
}
const struct fz_expr *fz_bind_int(fz_binder *b, enum fz_type_id id, int64_t i) {
    struct fz_value v = {.type = fz_sql_type(id), .u.i64 = i};
    return fz_sql_literal(b->arena, &v);
}
const struct fz_expr *fz_bind_bool(fz_binder *b, bool value) {
    struct fz_value v = {.type = fz_sql_type(FZ_TYPE_BOOLEAN), .u.boolean = value};
    return fz_sql_literal(b->arena, &v);
}
const struct fz_expr *fz_bind_null(fz_binder *b, const struct fz_type *type) {
    struct fz_value v = fz_value_null(type);
    return fz_sql_literal(b->arena, &v);
}

enum fz_code fz_bind_type_error(fz_binder *b, const char *condition, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    enum fz_code rc = fz_vfail(b->err, FZ_SCHEMA_MISMATCH, condition, fmt, ap);
    va_end(ap);
    return rc;
}

const struct fz_expr *fz_bind_call_node(fz_binder *b, const struct fz_func *fn, const struct fz_type *type,
                                        const struct fz_expr *const *args, size_t n) {
    struct fz_expr *e = FZ_ARENA_NEW(b->arena, struct fz_expr);
    const struct fz_expr **copy = fz_arena_array(b->arena, n ? n : 1, sizeof *copy);
    if (e == NULL || copy == NULL || type == NULL || fn == NULL) {
        return NULL;
    }
    bool nullable = (fn->flags & FZ_FN_NULLABLE) != 0;
    for (size_t i = 0; i < n; i++) {
        if (args[i] == NULL) {
            return NULL;
        }
        copy[i] = args[i];
        nullable |= args[i]->nullable;
    }
    e->kind = fn->flags & FZ_FN_AGG ? FZ_EXPR_AGGREGATE : fn->flags & FZ_FN_WIN ? FZ_EXPR_WINDOW : FZ_EXPR_CALL;
    e->type = type;
    e->nullable = nullable && !(fn->flags & FZ_FN_NOTNULL);
    e->n_args = n;
    e->args = copy;
    e->u.call.fn = fn;
    e->u.call.name = fn->name;
    return e;
}
const struct fz_expr *fz_bind_internal(fz_binder *b, const char *fn, const struct fz_type *type,
                                       const struct fz_expr *const *args, size_t n) {
    return fz_bind_call_node(b, fz_func_internal(fn), type, args, n);
}

static const struct fz_expr *op(fz_binder *b, enum fz_expr_kind kind, const struct fz_expr *const *args, size_t n) {
    return fz_expr_op(b->arena, kind, fz_sql_type(FZ_TYPE_BOOLEAN), args, n);
}

const struct fz_expr *fz_bind_cast(fz_binder *b, const struct fz_expr *e, const struct fz_type *type) {
    if (e == NULL || type == NULL || fz_sql_same_type(e->type, type)) {
        return e;
    }
    const struct fz_expr *cast = fz_expr_cast(b->arena, e, type, FZ_CAST_ANSI);
    return cast ? fz_sql_fold(b->arena, cast, b->env->time_zone) : NULL;
}

enum fz_code fz_bind_cast_checked(fz_binder *b, const struct fz_expr *e, const struct fz_type *type,
                                  enum fz_cast_mode mode, const struct fz_expr **out) {
    static const char *const conditions[] = {"DATATYPE_MISMATCH.CAST_WITHOUT_SUGGESTION", "",
                                             "DATATYPE_MISMATCH.CAST_WITH_FUNC_SUGGESTION",
                                             "DATATYPE_MISMATCH.CAST_WITH_CONF_SUGGESTION"};
    enum fz_cast_rule rule = fz_sql_can_cast(e->type, type);
    if (rule != FZ_CAST_OK) {
        return fz_bind_type_error(b, conditions[rule], "Cannot cast %s to %s", fz_sql_type_text(b->arena, e->type),
                                  fz_sql_type_text(b->arena, type));
    }
    if (fz_sql_same_type(e->type, type)) {
        *out = e;
        return FZ_OK;
    }
    if (!fz_sql_is_null(e->type) && (fz_sql_has_variant(e->type) || fz_sql_has_variant(type))) {
        return fz_bind_variant_cast(b, e, type, mode, out);
    }
    const struct fz_expr *cast = fz_expr_cast(b->arena, e, type, mode);
    FZ_SOME(b, cast);
    *out = fz_sql_fold(b->arena, cast, b->env->time_zone);
    return FZ_OK;
}

// An integer literal next to a decimal counts with its own digits.
static const struct fz_type *decimal_side(fz_binder *b, const struct fz_expr *e) {
    if (e->kind == FZ_EXPR_LITERAL && fz_type_is_integer(e->type) && !e->u.literal->is_null) {
        int digits = fz_decimal_digits(e->u.literal->u.i64);
        return fz_type_decimal(b->arena, digits > 0 ? digits : 1, 0);
    }
    return fz_sql_decimal_of(b->arena, e->type);
}

enum fz_code fz_bind_unify(fz_binder *b, const char *what, const struct fz_expr **args, size_t n,
                           const struct fz_type **type) {
    const struct fz_type *t = n > 0 ? args[0]->type : fz_sql_type(FZ_TYPE_UNKNOWN);
    for (size_t i = 1; i < n; i++) {
        const struct fz_type *next = fz_sql_common_type(b->arena, t, args[i]->type);
        if (next == NULL) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.DATA_DIFF_TYPES",
                                      "Input to %s should all be the same type, but it's (%s, %s)", what,
                                      fz_sql_type_text(b->arena, t), fz_sql_type_text(b->arena, args[i]->type));
        }
        t = next;
    }
    for (size_t i = 0; i < n; i++) {
        args[i] = fz_bind_cast(b, args[i], t);
        FZ_SOME(b, args[i]);
    }
    if (type != NULL) {
        *type = t;
    }
    return FZ_OK;
}

static enum fz_code diff_types(fz_binder *b, const char *op_text, const struct fz_expr *l, const struct fz_expr *r) {
    return fz_bind_type_error(b, "DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES",
                              "The left and right operands of %s have incompatible types (%s and %s)", op_text,
                              fz_sql_type_text(b->arena, l->type), fz_sql_type_text(b->arena, r->type));
}

enum fz_code fz_bind_compare(fz_binder *b, const char *op_text, const struct fz_expr *l, const struct fz_expr *r,
                             const struct fz_expr **out) {
    static const struct {
        const char *op;
        enum fz_expr_kind kind;
    } kinds[] = {{"=", FZ_EXPR_EQ}, {"<>", FZ_EXPR_NE}, {"<", FZ_EXPR_LT},       {"<=", FZ_EXPR_LE},
                 {">", FZ_EXPR_GT}, {">=", FZ_EXPR_GE}, {"<=>", FZ_EXPR_NULL_EQ}};
    enum fz_expr_kind kind = FZ_EXPR_EQ;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(kinds[i].op, op_text) == 0) {
            kind = kinds[i].kind;
        }
    }
    const struct fz_type *t;
    if (l->type->id == FZ_TYPE_DECIMAL && fz_type_is_integer(r->type)) {
        t = fz_sql_common_type(b->arena, l->type, decimal_side(b, r));
    } else if (r->type->id == FZ_TYPE_DECIMAL && fz_type_is_integer(l->type)) {
        t = fz_sql_common_type(b->arena, decimal_side(b, l), r->type);
    } else {
        t = fz_sql_common_type(b->arena, l->type, r->type);
    }
    if (t == NULL) {
        return diff_types(b, op_text, l, r);
    }
    if (fz_sql_has_variant(t) || (fz_sql_has_map(t) && kind != FZ_EXPR_NULL_EQ)) {
        return fz_bind_type_error(b, "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
                                  "The %s does not support ordering on type %s", op_text,
                                  fz_sql_type_text(b->arena, t));
    }
    const struct fz_expr *args[2] = {fz_bind_cast(b, l, t), fz_bind_cast(b, r, t)};
    if (args[0] == NULL || args[1] == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    bool ordering = kind == FZ_EXPR_LT || kind == FZ_EXPR_LE || kind == FZ_EXPR_GT || kind == FZ_EXPR_GE;
    if (ordering && t->n_fields > 0) { // NULL parts sort first inside nested values: compare by key
        for (size_t i = 0; i < 2; i++) {
            args[i] = fz_bind_internal(b, "op.sort_key", fz_sql_type(FZ_TYPE_BINARY), &args[i], 1);
        }
    }
    *out = args[0] && args[1] ? op(b, kind, args, 2) : NULL;
    FZ_SOME(b, *out);
    return FZ_OK;
}

static bool is_interval(const struct fz_type *t) {
    return t->id == FZ_TYPE_INTERVAL_DT || t->id == FZ_TYPE_INTERVAL_YM || t->id == FZ_TYPE_INTERVAL_CAL;
}
static bool is_time(const struct fz_type *t) {
    return t->id == FZ_TYPE_DATE || t->id == FZ_TYPE_TIMESTAMP || t->id == FZ_TYPE_TIMESTAMPTZ ||
           t->id == FZ_TYPE_TIMESTAMP_NS || t->id == FZ_TYPE_TIMESTAMPTZ_NS;
}

static const struct fz_type *interval_type(fz_binder *b, enum fz_type_id id, int first, int last) {
    struct fz_type *t = FZ_ARENA_NEW(b->arena, struct fz_type);
    if (t != NULL) {
        t->id = id;
        t->precision = first;
        t->scale = last;
    }
    return t;
}

// Arithmetic with intervals is done in microseconds.
static const struct fz_expr *in_micros(fz_binder *b, const struct fz_expr *e) {
    bool ntz = e->type->id == FZ_TYPE_TIMESTAMP_NS, tz = e->type->id == FZ_TYPE_TIMESTAMPTZ_NS;
    return ntz || tz ? fz_bind_cast(b, e, fz_sql_type(tz ? FZ_TYPE_TIMESTAMPTZ : FZ_TYPE_TIMESTAMP)) : e;
}

// date, timestamp and interval arithmetic. *out stays NULL when it is none.
static enum fz_code time_arith(fz_binder *b, const char *o, const struct fz_expr *l, const struct fz_expr *r,
                               const struct fz_expr **out) {
    bool plus = strcmp(o, "+") == 0, minus = strcmp(o, "-") == 0;
    if (plus && (is_interval(l->type) || fz_type_is_integer(l->type)) && is_time(r->type)) {
        return time_arith(b, o, r, l, out);
    }
    l = in_micros(b, l);
    r = in_micros(b, r);
    FZ_SOME(b, l);
    FZ_SOME(b, r);
    const struct fz_expr *args[2] = {l, r};
    const char *fn = NULL;
    const struct fz_type *type = l->type;
    if ((plus || minus) && l->type->id == FZ_TYPE_DATE && fz_type_is_integer(r->type) && r->type->id != FZ_TYPE_LONG) {
        args[1] = fz_bind_cast(b, r, fz_sql_type(FZ_TYPE_INT));
        fn = plus ? "op.date_add" : "op.date_sub";
    } else if (minus && is_time(l->type) && (is_time(r->type) || (fz_sql_is_string(r->type)))) {
        if (l->type->id == FZ_TYPE_DATE && (r->type->id == FZ_TYPE_DATE || fz_sql_is_string(r->type))) {
            args[1] = fz_bind_cast(b, r, fz_sql_type(FZ_TYPE_DATE));
            fn = "op.date_diff";
            type = interval_type(b, FZ_TYPE_INTERVAL_DT, 0, 0);
        } else {
            const struct fz_type *t = fz_sql_common_type(b->arena, l->type, r->type);
            args[0] = fz_bind_cast(b, l, t);
            args[1] = fz_bind_cast(b, r, t);
            fn = "op.ts_diff";
            type = interval_type(b, FZ_TYPE_INTERVAL_DT, 0, 3);
        }
    } else if ((plus || minus) && is_time(l->type) && is_interval(r->type)) {
        if (r->type->id == FZ_TYPE_INTERVAL_YM) {
            bool tz = l->type->id == FZ_TYPE_TIMESTAMPTZ;
            fn = l->type->id == FZ_TYPE_DATE ? (plus ? "op.date_add_ym" : "op.date_sub_ym")
                 : plus                      ? (tz ? "op.tz_add_ym" : "op.ts_add_ym")
                                             : (tz ? "op.tz_sub_ym" : "op.ts_sub_ym");
        } else if (r->type->id == FZ_TYPE_INTERVAL_DT && l->type->id == FZ_TYPE_DATE && r->type->scale == 0) {
            fn = plus ? "op.date_add_days" : "op.date_sub_days";
        } else {
            if (l->type->id == FZ_TYPE_DATE) {
                args[0] = fz_bind_cast(b, l, fz_sql_type(FZ_TYPE_TIMESTAMPTZ));
                type = fz_sql_type(FZ_TYPE_TIMESTAMPTZ);
            }
            bool cal = r->type->id == FZ_TYPE_INTERVAL_CAL;
            fn = cal ? (plus ? "op.ts_add_cal" : "op.ts_sub_cal") : plus ? "op.ts_add_dt" : "op.ts_sub_dt";
        }
    } else if ((plus || minus) && is_interval(l->type) && l->type->id == r->type->id) {
        type = fz_sql_common_type(b->arena, l->type, r->type);
        fn = plus ? "op.add" : "op.sub";
    } else if (is_interval(l->type) && fz_type_is_numeric(r->type) && (*o == '*' || *o == '/')) {
        args[1] = fz_bind_cast(b, r, fz_sql_type(FZ_TYPE_DOUBLE));
        fn = *o == '*' ? "op.interval_mul" : "op.interval_div";
        type = interval_type(b, l->type->id, 0, l->type->id == FZ_TYPE_INTERVAL_DT ? 3 : 1);
    } else if (is_interval(r->type) && fz_type_is_numeric(l->type) && *o == '*') {
        return time_arith(b, o, r, l, out);
    } else if (is_interval(l->type) || is_interval(r->type)) {
        return diff_types(b, o, l, r);
    }
    if (fn != NULL) {
        *out = fz_bind_internal(b, fn, type, args, 2);
        FZ_SOME(b, *out);
    }
    return FZ_OK;
}

static enum fz_code decimal_arith(fz_binder *b, const char *o, const struct fz_expr *l, const struct fz_expr *r,
                                  const struct fz_expr **out) {
    const struct fz_type *a = decimal_side(b, l), *c = decimal_side(b, r);
    const struct fz_expr *args[2] = {fz_bind_cast(b, l, a), fz_bind_cast(b, r, c)};
    if (args[0] == NULL || args[1] == NULL) {
        return FZ_BIND_NOMEM(b);
    }
    int p1 = a->precision, s1 = a->scale, p2 = c->precision, s2 = c->scale, p, s;
    int whole = p1 - s1 > p2 - s2 ? p1 - s1 : p2 - s2, least = p1 - s1 < p2 - s2 ? p1 - s1 : p2 - s2,
        most = s1 > s2 ? s1 : s2;
    const char *fn;
    if (strcmp(o, "DIV") == 0) {
        *out = fz_bind_internal(b, "op.dec.kidiv", fz_sql_type(FZ_TYPE_LONG), args, 2);
        FZ_SOME(b, *out);
        return FZ_OK;
    }
    switch (*o) {
    case '+':
    case '-':
        s = most;
        p = whole + s + 1;
        fn = *o == '+' ? (p > 38 ? "op.dec.kadd" : "op.dec.add") : p > 38 ? "op.dec.ksub" : "op.dec.sub";
        break;
    case '*':
        s = s1 + s2;
        p = p1 + p2 + 1;
        fn = p > 38 ? "op.dec.kmul" : "op.dec.mul";
        break;
    case '/':
        s = s1 + p2 + 1 > 6 ? s1 + p2 + 1 : 6;
        p = p1 - s1 + s2 + s;
        fn = "op.dec.kdiv";
        break;
    case 'p':
        s = most;
        p = least + s;
        fn = "op.dec.kpmod";
        break;
    default:
        s = most;
        p = least + s;
        fn = whole + s > 38 ? "op.dec.krem" : "op.dec.rem";
        break;
    }
    *out = fz_bind_internal(b, fn, fz_sql_decimal_bounded(b->arena, p < 1 ? 1 : p, s), args, 2);
    FZ_SOME(b, *out);
    return FZ_OK;
}

enum fz_code fz_bind_arith(fz_binder *b, const char *o, const struct fz_expr *l, const struct fz_expr *r,
                           const struct fz_expr **out) {
    *out = NULL;
    FZ_RET(time_arith(b, o, l, r, out));
    if (*out != NULL) {
        return FZ_OK;
    }
    const struct fz_type *lt = l->type, *rt = r->type;
    bool bits = *o == '&' || *o == '|' || *o == '^';
    if (fz_sql_is_null(lt) && fz_sql_is_null(rt)) {
        lt = rt = fz_sql_type(*o == '/' ? FZ_TYPE_DOUBLE : FZ_TYPE_INT);
    } else if (fz_sql_is_null(lt)) {
        lt = rt;
    } else if (fz_sql_is_null(rt)) {
        rt = lt;
    }
    if (fz_sql_is_string(lt) && fz_sql_is_string(rt)) {
        return fz_bind_type_error(b, "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE",
                                  "The binary operator %s requires numbers, not (%s and %s)", o,
                                  fz_sql_type_text(b->arena, l->type), fz_sql_type_text(b->arena, r->type));
    }
    if (fz_sql_is_string(lt)) {
        lt = fz_type_is_integer(rt)   ? fz_sql_type(FZ_TYPE_LONG)
             : fz_type_is_numeric(rt) ? fz_sql_type(FZ_TYPE_DOUBLE)
                                      : lt;
    } else if (fz_sql_is_string(rt)) {
        rt = fz_type_is_integer(lt)   ? fz_sql_type(FZ_TYPE_LONG)
             : fz_type_is_numeric(lt) ? fz_sql_type(FZ_TYPE_DOUBLE)
                                      : rt;
    }
    if (!fz_type_is_numeric(lt) || !fz_type_is_numeric(rt) ||
        (bits && (!fz_type_is_integer(lt) || !fz_type_is_integer(rt)))) {
        if (fz_sql_same_type(lt, rt)) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE",
                                      "The binary operator %s requires numbers, not %s", o,
                                      fz_sql_type_text(b->arena, lt));
        }
        return diff_types(b, o, l, r);
    }
    const struct fz_expr *args[2] = {fz_sql_is_null(l->type) || fz_sql_is_string(l->type) ? fz_bind_cast(b, l, lt) : l,
                                     fz_sql_is_null(r->type) || fz_sql_is_string(r->type) ? fz_bind_cast(b, r, rt) : r};
    FZ_SOME(b, args[0]);
    FZ_SOME(b, args[1]);
    bool floating =
        lt->id == FZ_TYPE_DOUBLE || lt->id == FZ_TYPE_FLOAT || rt->id == FZ_TYPE_DOUBLE || rt->id == FZ_TYPE_FLOAT;
    if (!floating && (lt->id == FZ_TYPE_DECIMAL || rt->id == FZ_TYPE_DECIMAL)) {
        return decimal_arith(b, o, args[0], args[1], out);
    }
    const struct fz_type *t = fz_sql_common_type(b->arena, lt, rt);
    FZ_SOME(b, t);
    const struct fz_type *result = t;
    const char *fn;
    if (strcmp(o, "DIV") == 0) {
        fn = "op.idiv";
        result = fz_sql_type(FZ_TYPE_LONG);
        if (floating) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE", "div does not take %s",
                                      fz_sql_type_text(b->arena, t));
        }
    } else if (*o == '/') {
        fn = "op.div";
        result = t = fz_sql_type(FZ_TYPE_DOUBLE);
    } else if (*o == '%') {
        fn = floating ? "op.frem" : "op.rem";
    } else if (*o == 'p') {
        fn = floating ? "op.fpmod" : "op.pmod";
    } else {
        fn = *o == '+'   ? "op.add"
             : *o == '-' ? "op.sub"
             : *o == '*' ? "op.mul"
             : *o == '&' ? "op.bitand"
             : *o == '|' ? "op.bitor"
                         : "op.bitxor";
    }
    for (size_t i = 0; i < 2; i++) {
        args[i] = fz_bind_cast(b, args[i], t);
        FZ_SOME(b, args[i]);
    }
    *out = fz_bind_internal(b, fn, result, args, 2);
    FZ_SOME(b, *out);
    return FZ_OK;
}

enum fz_code fz_bind_boolean(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, const char *what,
                             const struct fz_expr **out) {
    FZ_RET(fz_bind(b, s, e, out));
    if (fz_sql_is_null((*out)->type)) {
        *out = fz_bind_null(b, fz_sql_type(FZ_TYPE_BOOLEAN));
        FZ_SOME(b, *out);
    }
    if (fz_sql_is_string((*out)->type) && strcmp(what, "operand") == 0) {
        *out = fz_bind_cast(b, *out, fz_sql_type(FZ_TYPE_BOOLEAN));
        FZ_SOME(b, *out);
    }
    if ((*out)->type->id != FZ_TYPE_BOOLEAN) {
        bool operand = strcmp(what, "operand") == 0;
        fz_fail_cond(b->err, FZ_SCHEMA_MISMATCH,
                     operand ? "DATATYPE_MISMATCH.BINARY_OP_WRONG_TYPE" : "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN",
                     operand ? "A logical %s must be BOOLEAN, not %s" : "The %s condition must be BOOLEAN, not %s",
                     what, fz_sql_type_text(b->arena, (*out)->type));
        fz_err_at(b->err, e->pos.line, e->pos.column);
        return b->err ? b->err->code : FZ_SCHEMA_MISMATCH;
    }
    return FZ_OK;
}

static enum fz_code bind_binary(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                                const struct fz_expr **out) {
    const struct fz_expr *args[2];
    const char *o = e->op;
    if (strcmp(o, "AND") == 0 || strcmp(o, "OR") == 0) {
        FZ_RET(fz_bind_boolean(b, s, e->args[0], "operand", &args[0]));
        FZ_RET(fz_bind_boolean(b, s, e->args[1], "operand", &args[1]));
        *out = op(b, *o == 'A' ? FZ_EXPR_AND : FZ_EXPR_OR, args, 2);
        FZ_SOME(b, *out);
        return FZ_OK;
    }
    FZ_RET(fz_bind(b, s, e->args[0], &args[0]));
    FZ_RET(fz_bind(b, s, e->args[1], &args[1]));
    if (strcmp(o, "||") == 0) {
        return fz_bind_function(b, "concat", args, 2, out);
    }
    if (strcmp(o, "<<") == 0 || strcmp(o, ">>") == 0 || strcmp(o, ">>>") == 0) {
        return fz_bind_function(b, *o == '<' ? "shiftleft" : o[2] ? "shiftrightunsigned" : "shiftright", args, 2, out);
    }
    if (strchr("=<>", *o) != NULL) {
        return fz_bind_compare(b, o, args[0], args[1], out);
    }
    return fz_bind_arith(b, o, args[0], args[1], out);
}

static enum fz_code bind_unary(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                               const struct fz_expr **out) {
    const struct fz_expr *arg;
    if (strcmp(e->op, "NOT") == 0) {
        FZ_RET(fz_bind_boolean(b, s, e->args[0], "operand", &arg));
        *out = op(b, FZ_EXPR_NOT, &arg, 1);
        FZ_SOME(b, *out);
        return FZ_OK;
    }
    FZ_RET(fz_bind(b, s, e->args[0], &arg));
    if (fz_sql_is_string(arg->type) || fz_sql_is_null(arg->type)) {
        arg = fz_bind_cast(b, arg, fz_sql_type(FZ_TYPE_DOUBLE));
        FZ_SOME(b, arg);
    }
    if (!fz_type_is_numeric(arg->type) && !is_interval(arg->type)) {
        return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "Unary %s needs a number, not %s",
                                  e->op, fz_sql_type_text(b->arena, arg->type));
    }
    if (*e->op == '+') {
        *out = arg;
        return FZ_OK;
    }
    *out = fz_bind_internal(b, *e->op == '~' ? "op.bitnot" : "op.neg", arg->type, &arg, 1);
    FZ_SOME(b, *out);
    *out = fz_sql_fold(b->arena, *out, b->env->time_zone);
    return FZ_OK;
}

static enum fz_code negate(fz_binder *b, bool negated, const struct fz_expr **out) {
    if (negated) {
        *out = op(b, FZ_EXPR_NOT, out, 1);
    }
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code bind_is(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                            const struct fz_expr **out) {
    const struct fz_expr *args[2];
    FZ_RET(fz_bind(b, s, e->args[0], &args[0]));
    if (strcmp(e->text, "DISTINCT") == 0) {
        FZ_RET(fz_bind(b, s, e->args[1], &args[1]));
        FZ_RET(fz_bind_compare(b, "<=>", args[0], args[1], out));
        return negate(b, !e->negated, out);
    }
    if (strcmp(e->text, "NULL") == 0 || strcmp(e->text, "UNKNOWN") == 0) {
        *out = op(b, FZ_EXPR_IS_NULL, args, 1);
        FZ_SOME(b, *out);
        return negate(b, e->negated, out);
    }
    args[0] = fz_bind_cast(b, args[0], fz_sql_type(FZ_TYPE_BOOLEAN));
    FZ_SOME(b, args[0]);
    *out = fz_bind_internal(b, strcmp(e->text, "TRUE") == 0 ? "op.is_true" : "op.is_false",
                            fz_sql_type(FZ_TYPE_BOOLEAN), args, 1);
    FZ_SOME(b, *out);
    return negate(b, e->negated, out);
}

static enum fz_code bind_between(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                                 const struct fz_expr **out) {
    const struct fz_expr *v[3], *parts[2];
    for (size_t i = 0; i < 3; i++) {
        FZ_RET(fz_bind(b, s, e->args[i], &v[i]));
    }
    FZ_RET(fz_bind_compare(b, ">=", v[0], v[1], &parts[0]));
    FZ_RET(fz_bind_compare(b, "<=", v[0], v[2], &parts[1]));
    *out = op(b, FZ_EXPR_AND, parts, 2);
    FZ_SOME(b, *out);
    return negate(b, e->negated, out);
}

static const struct fz_expr *subquery_node(fz_binder *b, const struct fz_sql_query *q, int form,
                                           const struct fz_type *type, const struct fz_expr *const *args, size_t n) {
    struct fz_expr *e = FZ_ARENA_NEW(b->arena, struct fz_expr);
    const struct fz_expr **copy = fz_arena_array(b->arena, n ? n : 1, sizeof *copy);
    if (e == NULL || copy == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        copy[i] = args[i];
    }
    e->kind = FZ_EXPR_SUBQUERY;
    e->type = type;
    e->nullable = form != FZ_SUBQUERY_EXISTS;
    e->args = copy;
    e->n_args = n;
    e->u.subquery.query = q;
    e->u.subquery.form = form;
    return e;
}

static enum fz_code check_in_type(fz_binder *b, const struct fz_type *t) {
    return !fz_sql_has_variant(t)
               ? FZ_OK
               : fz_bind_type_error(b, "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
                                    "IN does not support ordering on type %s", fz_sql_type_text(b->arena, t));
}

static enum fz_code bind_in_query(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                                  const struct fz_expr **out) {
    const struct fz_expr **left;
    size_t n = e->args[0]->kind == FZ_AST_ROW ? e->args[0]->n_args : 1;
    FZ_ALLOC(b, left, const struct fz_expr *, n);
    for (size_t i = 0; i < n; i++) {
        FZ_RET(fz_bind(b, s, e->args[0]->kind == FZ_AST_ROW ? e->args[0]->args[i] : e->args[0], &left[i]));
    }
    struct fz_sql_query *q;
    FZ_RET(fz_bind_subquery(b, s, e->query, &q));
    if (q->n_columns != n) {
        return fz_bind_type_error(
            b, "DATATYPE_MISMATCH.IN_SUBQUERY_LENGTH_MISMATCH",
            "The number of columns on the left side of IN (%zu) differs from that of the subquery (%zu)", n,
            q->n_columns);
    }
    const struct fz_type **types;
    FZ_ALLOC(b, types, const struct fz_type *, n);
    for (size_t i = 0; i < n; i++) {
        types[i] = fz_sql_common_type(b->arena, left[i]->type, q->columns[i].type);
        if (types[i] == NULL) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.IN_SUBQUERY_DATA_TYPE_MISMATCH",
                                      "Column %zu of the subquery is %s, the left side %s", i + 1,
                                      fz_sql_type_text(b->arena, q->columns[i].type),
                                      fz_sql_type_text(b->arena, left[i]->type));
        }
        FZ_RET(check_in_type(b, types[i]));
        left[i] = fz_bind_cast(b, left[i], types[i]);
        FZ_SOME(b, left[i]);
    }
    FZ_RET(fz_bind_query_to_types(b, q, types, &q));
    *out = subquery_node(b, q, FZ_SUBQUERY_IN, fz_sql_type(FZ_TYPE_BOOLEAN), left, n);
    FZ_SOME(b, *out);
    return negate(b, e->negated, out);
}

static enum fz_code bind_in(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                            const struct fz_expr **out) {
    if (e->query != NULL) {
        return bind_in_query(b, s, e, out);
    }
    const struct fz_expr **args;
    FZ_ALLOC(b, args, const struct fz_expr *, e->n_args);
    for (size_t i = 0; i < e->n_args; i++) {
        FZ_RET(fz_bind(b, s, e->args[i], &args[i]));
    }
    FZ_RET(fz_bind_unify(b, "IN", args, e->n_args, NULL));
    FZ_RET(check_in_type(b, args[0]->type));
    *out = op(b, FZ_EXPR_IN, args, e->n_args);
    FZ_SOME(b, *out);
    return negate(b, e->negated, out);
}

// An escape before an ordinary character is an error of the statement when the pattern is a literal.
static enum fz_code check_pattern(fz_binder *b, const struct fz_expr *pattern, char escape) {
    if (pattern->kind != FZ_EXPR_LITERAL || pattern->u.literal->is_null) {
        return FZ_OK;
    }
    struct fz_str p = pattern->u.literal->u.bytes;
    for (size_t i = 0; i < p.len; i++) {
        if (p.ptr[i] != escape) {
            continue;
        }
        if (i + 1 == p.len) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "INVALID_FORMAT.ESC_AT_THE_END",
                                "The escape character must not end the pattern");
        }
        i++;
        if (p.ptr[i] != '%' && p.ptr[i] != '_' && p.ptr[i] != escape) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "INVALID_FORMAT.ESC_IN_THE_MIDDLE",
                                "The escape character is not allowed before '%c'", p.ptr[i]);
        }
    }
    return FZ_OK;
}

static enum fz_code bind_like(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                              const struct fz_expr **out) {
    const struct fz_expr *args[3], *any = NULL;
    bool regex = strcmp(e->op, "RLIKE") == 0, ilike = strcmp(e->op, "ILIKE") == 0;
    const struct fz_type *string = fz_sql_type(FZ_TYPE_STRING), *boolean = fz_sql_type(FZ_TYPE_BOOLEAN);
    const struct fz_expr *subject;
    FZ_RET(fz_bind(b, s, e->args[0], &subject));
    subject = fz_bind_cast(b, subject, string);
    FZ_SOME(b, subject);
    for (size_t i = 1; i < e->n_args; i++) {
        args[0] = subject;
        FZ_RET(fz_bind(b, s, e->args[i], &args[1]));
        args[1] = fz_bind_cast(b, args[1], string);
        FZ_SOME(b, args[1]);
        const struct fz_expr *one;
        if (regex) {
            one = fz_bind_internal(b, "op.rlike", boolean, args, 2);
        } else if (e->escape != NULL) {
            const char *escape = NULL;
            FZ_RET(fz_bind(b, s, e->escape, &args[2]));
            FZ_RET(fz_bind_literal_text(b, args[2], "ESCAPE", &escape));
            FZ_RET(check_pattern(b, args[1], *escape));
            one = fz_bind_internal(b, ilike ? "op.ilike_escape" : "op.like_escape", boolean, args, 3);
        } else {
            FZ_RET(check_pattern(b, args[1], '\\'));
            one = fz_bind_internal(b, ilike ? "op.ilike" : "op.like", boolean, args, 2);
        }
        FZ_SOME(b, one);
        bool all = e->text != NULL && strcmp(e->text, "ALL") == 0;
        if (e->text != NULL) {
            FZ_RET(negate(b, e->negated, &one)); // x NOT LIKE ALL (…): none of them
        }
        const struct fz_expr *two[2] = {any, one};
        any = any == NULL ? one : op(b, all ? FZ_EXPR_AND : FZ_EXPR_OR, two, 2);
        FZ_SOME(b, any);
    }
    *out = any;
    return negate(b, e->negated && e->text == NULL, out);
}

static enum fz_code bind_case(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                              const struct fz_expr **out) {
    const struct fz_expr **args, **values, *base = NULL;
    size_t n = e->n_args, n_values = 0;
    FZ_ALLOC(b, args, const struct fz_expr *, n + 1);
    FZ_ALLOC(b, values, const struct fz_expr *, n);
    if (e->base != NULL) {
        FZ_RET(fz_bind(b, s, e->base, &base));
    }
    for (size_t i = 0; i < n; i++) {
        bool when = i % 2 == 0 && i + 1 < n;
        FZ_RET(fz_bind(b, s, e->args[i], &args[i]));
        if (!when) {
            values[n_values++] = args[i];
        } else if (base != NULL) {
            FZ_RET(fz_bind_compare(b, "=", base, args[i], &args[i]));
        } else if (args[i]->type->id != FZ_TYPE_BOOLEAN) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                      "A WHEN condition must be BOOLEAN, not %s",
                                      fz_sql_type_text(b->arena, args[i]->type));
        }
    }
    const struct fz_type *type;
    FZ_RET(fz_bind_unify(b, "CASE", values, n_values, &type));
    for (size_t i = 0, k = 0; i < n; i++) {
        if (i % 2 == 1 || i + 1 == n) {
            args[i] = values[k++];
        }
    }
    *out = fz_expr_op(b->arena, FZ_EXPR_CASE, type, args, n);
    FZ_SOME(b, *out);
    return FZ_OK;
}

enum fz_code fz_bind_index(fz_binder *b, const struct fz_expr *base, const struct fz_expr *ix,
                           const struct fz_expr **out) {
    FZ_SOME(b, ix);
    const struct fz_expr *args[2] = {base, ix};
    const struct fz_type *t = base->type;
    if (t->id == FZ_TYPE_LIST) {
        if (!fz_sql_is_null(ix->type) && !fz_type_is_integer(ix->type)) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                      "An array index must be an integer, not %s",
                                      fz_sql_type_text(b->arena, ix->type));
        }
        if (fz_sql_is_null(ix->type)) {
            args[1] = fz_bind_cast(b, ix, fz_sql_type(FZ_TYPE_INT));
        }
        *out = fz_bind_internal(b, "op.array_index", t->fields[0].type, args, 2);
    } else if (t->id == FZ_TYPE_MAP) {
        if (!fz_sql_implicit_cast(ix->type, t->fields[0].type)) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "The map's key is %s, not %s",
                                      fz_sql_type_text(b->arena, t->fields[0].type),
                                      fz_sql_type_text(b->arena, ix->type));
        }
        args[1] = fz_bind_cast(b, ix, t->fields[0].type);
        FZ_SOME(b, args[1]);
        *out = fz_bind_internal(b, "op.map_index", t->fields[1].type, args, 2);
    } else if (t->id == FZ_TYPE_STRUCT && ix->kind == FZ_EXPR_LITERAL && fz_sql_is_string(ix->type) &&
               !ix->u.literal->is_null) {
        const char *name = fz_arena_strndup(b->arena, ix->u.literal->u.bytes.ptr, ix->u.literal->u.bytes.len);
        FZ_SOME(b, name);
        struct fz_pos nowhere = {0};
        return fz_bind_field(b, base, name, &nowhere, out);
    } else {
        return fz_bind_type_error(b, "INVALID_EXTRACT_BASE_FIELD_TYPE",
                                  "Can't extract a value from %s: it needs an array, map or struct",
                                  fz_sql_type_text(b->arena, t));
    }
    FZ_SOME(b, *out);
    return FZ_OK;
}

const struct fz_expr *fz_bind_struct(fz_binder *b, const char **names, const struct fz_expr *const *args, size_t n) {
    struct fz_field *fields = fz_arena_array(b->arena, n ? n : 1, sizeof *fields);
    if (fields == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        fields[i] = (struct fz_field){.name = names[i], .type = args[i]->type, .required = !args[i]->nullable};
    }
    const struct fz_type *t = fz_type_struct(b->arena, fields, n);
    return t ? fz_bind_internal(b, "op.struct", t, args, n) : NULL;
}

static enum fz_code bind_row(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                             const struct fz_expr **out) {
    const struct fz_expr **args;
    const char **names;
    FZ_ALLOC(b, args, const struct fz_expr *, e->n_args);
    FZ_ALLOC(b, names, const char *, e->n_args);
    for (size_t i = 0; i < e->n_args; i++) {
        FZ_RET(fz_bind(b, s, e->args[i], &args[i]));
        names[i] = e->args[i]->kind == FZ_AST_NAME ? fz_bind_output_name(b, s, e->args[i])
                                                   : fz_arena_printf(b->arena, "col%zu", i + 1);
        FZ_SOME(b, names[i]);
    }
    *out = fz_bind_struct(b, names, args, e->n_args);
    FZ_SOME(b, *out);
    return FZ_OK;
}

static enum fz_code bind_kind(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                              const struct fz_expr **out) {
    const struct fz_expr *args[2];
    struct fz_sql_query *q;
    switch (e->kind) {
    case FZ_AST_LITERAL:
        *out = fz_sql_literal(b->arena, e->literal);
        FZ_SOME(b, *out);
        return FZ_OK;
    case FZ_AST_NAME:
        return fz_bind_resolve(b, s, e, out);
    case FZ_AST_STAR:
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "INVALID_USAGE_OF_STAR_OR_REGEX", "* is not allowed here");
    case FZ_AST_UNARY:
        return bind_unary(b, s, e, out);
    case FZ_AST_BINARY:
        return bind_binary(b, s, e, out);
    case FZ_AST_IS:
        return bind_is(b, s, e, out);
    case FZ_AST_BETWEEN:
        return bind_between(b, s, e, out);
    case FZ_AST_IN:
        return bind_in(b, s, e, out);
    case FZ_AST_LIKE:
        return bind_like(b, s, e, out);
    case FZ_AST_CASE:
        return bind_case(b, s, e, out);
    case FZ_AST_CAST:
        FZ_RET(fz_bind(b, s, e->args[0], &args[0]));
        return fz_bind_cast_checked(b, args[0], e->type,
                                    e->op != NULL && strcmp(e->op, "TRY_CAST") == 0 ? FZ_CAST_TRY : FZ_CAST_ANSI, out);
    case FZ_AST_CALL:
        return fz_bind_call(b, s, e, out);
    case FZ_AST_INDEX:
        FZ_RET(fz_bind(b, s, e->args[0], &args[0]));
        FZ_RET(fz_bind(b, s, e->args[1], &args[1]));
        return fz_bind_index(b, args[0], args[1], out);
    case FZ_AST_DOT:
        FZ_RET(fz_bind(b, s, e->args[0], &args[0]));
        return fz_bind_field(b, args[0], e->text, &e->pos, out);
    case FZ_AST_LAMBDA:
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "INVALID_LAMBDA_FUNCTION_CALL.NON_HIGHER_ORDER_FUNCTION",
                            "A lambda is an argument of transform, filter and the like");
    case FZ_AST_SUBQUERY:
        FZ_RET(fz_bind_subquery(b, s, e->query, &q));
        if (q->n_columns != 1) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG,
                                "INVALID_SUBQUERY_EXPRESSION.SCALAR_SUBQUERY_RETURN_MORE_THAN_ONE_OUTPUT_COLUMN",
                                "A scalar subquery must return one column, not %zu", q->n_columns);
        }
        *out = subquery_node(b, q, FZ_SUBQUERY_SCALAR, q->columns[0].type, NULL, 0);
        FZ_SOME(b, *out);
        return FZ_OK;
    case FZ_AST_EXISTS:
        FZ_RET(fz_bind_subquery(b, s, e->query, &q));
        *out = subquery_node(b, q, FZ_SUBQUERY_EXISTS, fz_sql_type(FZ_TYPE_BOOLEAN), NULL, 0);
        FZ_SOME(b, *out);
        return negate(b, e->negated, out);
    case FZ_AST_ROW:
        return bind_row(b, s, e, out);
    case FZ_AST_INTERVAL:
        return fz_fail(b->err, FZ_UNSUPPORTED,
                       "INTERVAL with an expression is not supported: use make_interval or multiply an interval");
    case FZ_AST_DEFAULT:
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "DEFAULT_PLACEMENT_INVALID",
                            "DEFAULT may only stand alone as an assigned value");
    case FZ_AST_PARAMETER:
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "UNBOUND_SQL_PARAMETER", "Found the unbound parameter: %s",
                            e->text ? e->text : "?");
    }
    return fz_fail(b->err, FZ_BUG, "unknown expression kind %d", (int)e->kind);
}

enum fz_code fz_bind_resolve(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                             const struct fz_expr **out) {
    const struct fz_ast_expr *call = e->text != NULL ? fz_bind_keyword(b, s, e) : NULL;
    return call != NULL ? fz_bind_call(b, s, call, out) : fz_bind_resolve_name(b, s, &e->name, false, out);
}

enum fz_code fz_bind(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, const struct fz_expr **out) {
    if (++b->depth > FZ_BIND_MAX_DEPTH) {
        b->depth--;
        return fz_fail(b->err, FZ_LIMIT, "the expression is nested deeper than %d levels; split it", FZ_BIND_MAX_DEPTH);
    }
    enum fz_code rc = bind_kind(b, s, e, out);
    if (rc != FZ_OK) {
        fz_err_at(b->err, e->pos.line, e->pos.column);
    }
    b->depth--;
    return rc;
}
