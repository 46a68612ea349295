// Constant folding of casts over literals, structural equality of bound trees, and the form in which a condition is handed to pruning:
// literals of the column's own type, casts taken off the column where that changes nothing, LIKE 'x%' as STARTS_WITH.
// Reads text with the same functions as the kernels, so folding and running agree.
#include "sql/kernels_priv.h"
#include "sql/sql_bind_priv.h"

#include <math.h>

const struct fz_expr *fz_sql_literal(struct fz_arena *arena, const struct fz_value *value) {
    const struct fz_value *copy = fz_arena_memdup(arena, value, sizeof *value);
    return copy ? fz_expr_literal(arena, copy) : NULL;
}

bool fz_expr_is_literal(const struct fz_expr *e) {
    return e->kind == FZ_EXPR_LITERAL;
}

static bool same_type_exact(const struct fz_type *a, const struct fz_type *b) {
    return a == b || fz_type_equal(a, b, true, false);
}

static bool same_subquery(const struct fz_expr *a, const struct fz_expr *b) {
    return a->u.subquery.query == b->u.subquery.query && a->u.subquery.form == b->u.subquery.form;
}

bool fz_expr_same(const struct fz_expr *a, const struct fz_expr *b) {
    if (a == b) {
        return true;
    }
    if (a->kind != b->kind || a->n_args != b->n_args || !same_type_exact(a->type, b->type)) {
        return false;
    }
    switch (a->kind) {
    case FZ_EXPR_LITERAL:
        return fz_value_equal(a->u.literal, b->u.literal);
    case FZ_EXPR_COLUMN:
        return a->u.column.relation == b->u.column.relation && a->u.column.field_id == b->u.column.field_id;
    case FZ_EXPR_FIELD:
        if (a->u.field.index != b->u.field.index) {
            return false;
        }
        break;
    case FZ_EXPR_CAST:
        if (a->u.cast != b->u.cast) {
            return false;
        }
        break;
    case FZ_EXPR_CALL:
    case FZ_EXPR_AGGREGATE:
    case FZ_EXPR_WINDOW:
        if (a->u.call.fn != b->u.call.fn || a->u.call.distinct != b->u.call.distinct ||
            a->u.call.ignore_nulls != b->u.call.ignore_nulls || a->u.call.window != b->u.call.window ||
            (a->u.call.fn->flags & FZ_FN_NONDET) || (a->u.call.filter == NULL) != (b->u.call.filter == NULL) ||
            (a->u.call.filter != NULL && !fz_expr_same(a->u.call.filter, b->u.call.filter))) {
            return false;
        }
        if (strcmp(a->u.call.name ? a->u.call.name : "", b->u.call.name ? b->u.call.name : "") != 0) {
            return false;
        }
        break;
    case FZ_EXPR_LAMBDA:
        for (size_t i = 0; i < a->u.lambda.n_params; i++) {
            if (strcmp(a->u.lambda.params[i], b->u.lambda.params[i]) != 0) {
                return false;
            }
        }
        break;
    case FZ_EXPR_LAMBDA_VAR:
        return strcmp(a->u.lambda_var.name, b->u.lambda_var.name) == 0;
    case FZ_EXPR_SUBQUERY:
        if (!same_subquery(a, b)) {
            return false;
        }
        break;
    case FZ_EXPR_AND:
    case FZ_EXPR_OR:
    case FZ_EXPR_NOT:
    case FZ_EXPR_EQ:
    case FZ_EXPR_NE:
    case FZ_EXPR_LT:
    case FZ_EXPR_LE:
    case FZ_EXPR_GT:
    case FZ_EXPR_GE:
    case FZ_EXPR_NULL_EQ:
    case FZ_EXPR_IS_NULL:
    case FZ_EXPR_IN:
    case FZ_EXPR_STARTS_WITH:
    case FZ_EXPR_CASE:
        break;
    }
    for (size_t i = 0; i < a->n_args; i++) {
        if (!fz_expr_same(a->args[i], b->args[i])) {
            return false;
        }
    }
    return true;
}

// ---- casts of literals ----
static bool in_range(enum fz_type_id id, int64_t v) {
    switch ((int)id) {
    case FZ_TYPE_BYTE:
        return v >= INT8_MIN && v <= INT8_MAX;
    case FZ_TYPE_SHORT:
        return v >= INT16_MIN && v <= INT16_MAX;
    case FZ_TYPE_INT:
        return v >= INT32_MIN && v <= INT32_MAX;
    default:
        return true;
    }
}

static bool fold_text(const struct fz_value *from, const struct fz_type *to, const char *zone, struct fz_value *out) {
    struct fz_str s = from->u.bytes;
    __int128 dec;
    bool is_number;
    int32_t day;
    switch ((int)to->id) {
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        return fz_text_to_i64(s, &out->u.i64) && in_range(to->id, out->u.i64);
    case FZ_TYPE_DOUBLE:
        return fz_text_to_double(s, &out->u.f64);
    case FZ_TYPE_BOOLEAN:
        return fz_text_to_bool(s, &out->u.boolean);
    case FZ_TYPE_DECIMAL:
        if (!fz_text_to_decimal(s, to->precision, to->scale, &dec, &is_number)) {
            return false;
        }
        out->u.i128 = fz_i128_of(dec);
        return true;
    case FZ_TYPE_DATE:
        if (s.len == 0 || strchr("0123456789+-", *s.ptr) == NULL || !fz_text_to_date(s, &day)) {
            return false; // words such as today are left to run time
        }
        out->u.i64 = day;
        return true;
    case FZ_TYPE_TIMESTAMP:
        return s.len > 0 && strchr("0123456789+-", *s.ptr) != NULL && fz_text_to_ntz(s, &out->u.i64);
    case FZ_TYPE_TIMESTAMPTZ:
        return s.len > 0 && strchr("0123456789+-", *s.ptr) != NULL && fz_text_to_ts(s, zone, &out->u.i64);
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
        out->u.bytes = s;
        return true;
    default:
        return false;
    }
}

static bool fold_integer(int64_t v, const struct fz_type *to, struct fz_value *out) {
    __int128 dec;
    switch ((int)to->id) {
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        out->u.i64 = v;
        return in_range(to->id, v);
    case FZ_TYPE_DOUBLE:
        out->u.f64 = (double)v;
        return true;
    case FZ_TYPE_FLOAT:
        out->u.f32 = (float)v;
        return true;
    case FZ_TYPE_DECIMAL:
        if (!fz_decimal_rescale(v, 0, to->scale, &dec) || fz_decimal_digits(dec) > to->precision) {
            return false;
        }
        out->u.i128 = fz_i128_of(dec);
        return true;
    default:
        return false;
    }
}

static bool fold_decimal(const struct fz_value *from, const struct fz_type *to, struct fz_value *out) {
    __int128 v = fz_i128_get(from->u.i128), dec;
    struct fz_buf text = {0};
    bool ok = false;
    switch ((int)to->id) {
    case FZ_TYPE_DECIMAL:
        if (fz_decimal_rescale(v, from->type->scale, to->scale, &dec) && fz_decimal_digits(dec) <= to->precision) {
            out->u.i128 = fz_i128_of(dec);
            return true;
        }
        return false;
    case FZ_TYPE_DOUBLE:
        fz_decimal_print(&text, v, from->type->scale);
        ok = text.ptr != NULL && fz_parse_double((struct fz_str){text.ptr, text.len}, &out->u.f64);
        fz_buf_dispose(&text);
        return ok;
    default:
        return false;
    }
}

static bool fold_value(const struct fz_value *from, const struct fz_type *to, const char *zone, struct fz_value *out) {
    *out = (struct fz_value){.type = to};
    if (from->is_null) {
        out->is_null = true;
        return true;
    }
    switch ((int)from->type->id) {
    case FZ_TYPE_STRING:
        return fold_text(from, to, zone, out);
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        return fold_integer(from->u.i64, to, out);
    case FZ_TYPE_DECIMAL:
        return fold_decimal(from, to, out);
    case FZ_TYPE_FLOAT:
        out->u.f64 = (double)from->u.f32;
        return to->id == FZ_TYPE_DOUBLE;
    case FZ_TYPE_DATE:
        if (to->id == FZ_TYPE_TIMESTAMP) {
            out->u.i64 = from->u.i64 * 86400000000;
            return true;
        }
        if (to->id == FZ_TYPE_TIMESTAMPTZ) {
            const struct fz_zone *z = fz_zone_find(fz_str_of(zone));
            out->u.i64 = z ? fz_zone_to_utc(z, from->u.i64 * 86400000000) : 0;
            return z != NULL;
        }
        return false;
    case FZ_TYPE_TIMESTAMP:
        if (to->id == FZ_TYPE_TIMESTAMPTZ) {
            const struct fz_zone *z = fz_zone_find(fz_str_of(zone));
            out->u.i64 = z ? fz_zone_to_utc(z, from->u.i64) : 0;
            return z != NULL;
        }
        return false;
    default:
        return false;
    }
}

static const struct fz_expr *fold_negative(struct fz_arena *arena, const struct fz_expr *e) {
    struct fz_value v = *e->args[0]->u.literal;
    if (!v.is_null) {
        switch ((int)v.type->id) {
        case FZ_TYPE_BYTE:
        case FZ_TYPE_SHORT:
        case FZ_TYPE_INT:
        case FZ_TYPE_LONG:
            if (v.u.i64 == INT64_MIN || !in_range(v.type->id, -v.u.i64)) {
                return e;
            }
            v.u.i64 = -v.u.i64;
            break;
        case FZ_TYPE_DOUBLE:
            v.u.f64 = -v.u.f64;
            break;
        case FZ_TYPE_FLOAT:
            v.u.f32 = -v.u.f32;
            break;
        case FZ_TYPE_DECIMAL:
            v.u.i128 = fz_i128_of(-fz_i128_get(v.u.i128));
            break;
        default:
            return e;
        }
    }
    const struct fz_expr *lit = fz_sql_literal(arena, &v);
    return lit ? lit : e;
}

const struct fz_expr *fz_sql_fold(struct fz_arena *arena, const struct fz_expr *e, const char *zone) {
    if (e->n_args != 1 || e->args[0]->kind != FZ_EXPR_LITERAL) {
        return e;
    }
    if (e->kind == FZ_EXPR_CALL && strcmp(e->u.call.fn->name, "op.neg") == 0) {
        return fold_negative(arena, e);
    }
    struct fz_value v;
    if (e->kind != FZ_EXPR_CAST || e->type->n_fields > 0 || !fold_value(e->args[0]->u.literal, e->type, zone, &v)) {
        return e;
    }
    const struct fz_expr *lit = fz_sql_literal(arena, &v);
    return lit ? lit : e;
}

// ---- what pruning gets ----
static bool is_compare(enum fz_expr_kind kind) {
    return kind == FZ_EXPR_EQ || kind == FZ_EXPR_NE || kind == FZ_EXPR_LT || kind == FZ_EXPR_LE || kind == FZ_EXPR_GT ||
           kind == FZ_EXPR_GE || kind == FZ_EXPR_NULL_EQ;
}
// CAST(column AS wider) <op> literal -> column <op> literal, when the literal is a value of the column's type.
static bool unwrap(struct fz_arena *arena, const struct fz_expr **column, const struct fz_expr **literal) {
    const struct fz_expr *cast = *column, *inner = cast->n_args == 1 ? cast->args[0] : NULL;
    const struct fz_value *v = (*literal)->u.literal;
    if (cast->kind != FZ_EXPR_CAST || cast->u.cast == FZ_CAST_TRY ||
        (inner->kind != FZ_EXPR_COLUMN && inner->kind != FZ_EXPR_FIELD)) {
        return false;
    }
    const struct fz_type *to = inner->type;
    struct fz_value back = {.type = to};
    if (v->is_null) {
        return false;
    }
    if (fz_type_is_integer(to) && fz_type_is_integer(v->type)) {
        back.u.i64 = v->u.i64;
        if (!in_range(to->id, v->u.i64)) {
            return false;
        }
    } else if (to->id == FZ_TYPE_INT && v->type->id == FZ_TYPE_DOUBLE) {
        if (v->u.f64 != trunc(v->u.f64) || fabs(v->u.f64) > INT32_MAX) {
            return false;
        }
        back.u.i64 = (int64_t)v->u.f64;
    } else if (to->id == FZ_TYPE_DECIMAL && v->type->id == FZ_TYPE_DECIMAL) {
        __int128 shrunk, again;
        if (!fz_decimal_rescale(fz_i128_get(v->u.i128), v->type->scale, to->scale, &shrunk) ||
            fz_decimal_digits(shrunk) > to->precision ||
            !fz_decimal_rescale(shrunk, to->scale, v->type->scale, &again) || again != fz_i128_get(v->u.i128)) {
            return false;
        }
        back.u.i128 = fz_i128_of(shrunk);
    } else if (fz_type_is_integer(to) && v->type->id == FZ_TYPE_DECIMAL) {
        __int128 whole, again;
        if (!fz_decimal_rescale(fz_i128_get(v->u.i128), v->type->scale, 0, &whole) ||
            !fz_decimal_rescale(whole, 0, v->type->scale, &again) || again != fz_i128_get(v->u.i128) ||
            whole > INT64_MAX || whole < INT64_MIN || !in_range(to->id, (int64_t)whole)) {
            return false;
        }
        back.u.i64 = (int64_t)whole;
    } else {
        return false;
    }
    const struct fz_expr *lit = fz_sql_literal(arena, &back);
    if (lit == NULL) {
        return false;
    }
    *column = inner;
    *literal = lit;
    return true;
}

static const struct fz_expr *prune_compare(struct fz_arena *arena, const struct fz_expr *e) {
    const struct fz_expr *l = e->args[0], *r = e->args[1];
    enum fz_expr_kind kind = e->kind;
    if (l->kind == FZ_EXPR_LITERAL && r->kind != FZ_EXPR_LITERAL) {
        const struct fz_expr *swap = l;
        l = r;
        r = swap;
        kind = fz_expr_mirrored(kind);
    }
    if (r->kind == FZ_EXPR_LITERAL) {
        unwrap(arena, &l, &r);
    }
    const struct fz_expr *args[2] = {l, r};
    const struct fz_expr *out = fz_expr_op(arena, kind, e->type, args, 2);
    return out ? out : e;
}

// LIKE 'abc%…': the literal start.
static const struct fz_expr *prune_like(struct fz_arena *arena, const struct fz_expr *e) {
    struct fz_str p = e->args[1]->u.literal->u.bytes;
    size_t n = 0;
    while (n < p.len && p.ptr[n] != '%' && p.ptr[n] != '_' && p.ptr[n] != '\\') {
        n++;
    }
    if (n == 0) {
        return e;
    }
    struct fz_value v = {.type = fz_sql_type(FZ_TYPE_STRING), .u.bytes = {fz_arena_strndup(arena, p.ptr, n), n}};
    const struct fz_expr *args[2] = {e->args[0], fz_sql_literal(arena, &v)};
    if (v.u.bytes.ptr == NULL || args[1] == NULL) {
        return e;
    }
    const struct fz_expr *start =
        fz_expr_op(arena, n == p.len ? FZ_EXPR_EQ : FZ_EXPR_STARTS_WITH, fz_sql_type(FZ_TYPE_BOOLEAN), args, 2);
    return start ? start : e;
}

const struct fz_expr *fz_sql_prune_form(struct fz_arena *arena, const struct fz_expr *e) {
    if (is_compare(e->kind)) {
        return prune_compare(arena, e);
    }
    if (e->kind == FZ_EXPR_CALL && strcmp(e->u.call.fn->name, "op.like") == 0 && e->args[1]->kind == FZ_EXPR_LITERAL &&
        !e->args[1]->u.literal->is_null) {
        return prune_like(arena, e);
    }
    if (e->kind == FZ_EXPR_CALL && strcmp(e->u.call.fn->name, "startswith") == 0 &&
        e->args[1]->kind == FZ_EXPR_LITERAL && !e->args[1]->u.literal->is_null) {
        const struct fz_expr *out = fz_expr_op(arena, FZ_EXPR_STARTS_WITH, e->type, e->args, 2);
        return out ? out : e;
    }
    if (e->kind == FZ_EXPR_AND || e->kind == FZ_EXPR_OR || e->kind == FZ_EXPR_NOT) {
        const struct fz_expr **args = fz_arena_array(arena, e->n_args, sizeof *args);
        for (size_t i = 0; args != NULL && i < e->n_args; i++) {
            // under NOT a start of text would prune too much
            args[i] = e->kind == FZ_EXPR_NOT && !is_compare(e->args[i]->kind) ? e->args[i]
                                                                              : fz_sql_prune_form(arena, e->args[i]);
        }
        const struct fz_expr *out = args ? fz_expr_op(arena, e->kind, e->type, args, e->n_args) : NULL;
        return out ? out : e;
    }
    if (e->kind == FZ_EXPR_IN) {
        const struct fz_expr **args = fz_arena_array(arena, e->n_args, sizeof *args);
        if (args == NULL) {
            return e;
        }
        const struct fz_expr *column = e->args[0];
        for (size_t i = 1; i < e->n_args; i++) {
            const struct fz_expr *c = e->args[0], *v = e->args[i];
            if (v->kind != FZ_EXPR_LITERAL || !unwrap(arena, &c, &v)) {
                return e;
            }
            column = c;
            args[i] = v;
        }
        args[0] = column;
        const struct fz_expr *out = fz_expr_op(arena, FZ_EXPR_IN, e->type, args, e->n_args);
        return out ? out : e;
    }
    return e;
}
