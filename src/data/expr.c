// Implementation of data/expr.h: constructors, walking, conjuncts, text. The evaluator is expr_evaluate.c.
#include "data/expr.h"

static bool any_nullable(const struct fz_expr *const *args, size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (args[i]->nullable) {
            return true;
        }
    }
    return false;
}

const struct fz_expr *fz_expr_literal(struct fz_arena *arena, const struct fz_value *value) {
    struct fz_expr *expr = FZ_ARENA_NEW(arena, struct fz_expr);
    if (expr != NULL) {
        *expr = (struct fz_expr){
            .kind = FZ_EXPR_LITERAL, .type = value->type, .nullable = value->is_null, .u.literal = value};
    }
    return expr;
}

const struct fz_expr *fz_expr_column(struct fz_arena *arena, int32_t relation, int32_t field_id, const char *name,
                                     const struct fz_type *type, bool nullable) {
    struct fz_expr *expr = FZ_ARENA_NEW(arena, struct fz_expr);
    if (expr != NULL) {
        *expr = (struct fz_expr){.kind = FZ_EXPR_COLUMN, .type = type, .nullable = nullable};
        expr->u.column.relation = relation;
        expr->u.column.field_id = field_id;
        expr->u.column.name = name;
    }
    return expr;
}

static bool op_nullable(enum fz_expr_kind kind, const struct fz_expr *const *args, size_t n) {
    switch (kind) {
    case FZ_EXPR_IS_NULL:
    case FZ_EXPR_NULL_EQ:
        return false;
    case FZ_EXPR_AND:
    case FZ_EXPR_OR:
    case FZ_EXPR_NOT:
    case FZ_EXPR_EQ:
    case FZ_EXPR_NE:
    case FZ_EXPR_LT:
    case FZ_EXPR_LE:
    case FZ_EXPR_GT:
    case FZ_EXPR_GE:
    case FZ_EXPR_IN:
    case FZ_EXPR_STARTS_WITH:
    case FZ_EXPR_FIELD:
        return any_nullable(args, n);
    case FZ_EXPR_CASE: // the values: every second argument, and the one of ELSE
        for (size_t i = 1; i < n; i += 2) {
            if (args[i]->nullable) {
                return true;
            }
        }
        return n % 2 == 0 || args[n - 1]->nullable;
    case FZ_EXPR_LITERAL:
    case FZ_EXPR_COLUMN:
    case FZ_EXPR_CAST:
    case FZ_EXPR_CALL:
    case FZ_EXPR_LAMBDA:
    case FZ_EXPR_LAMBDA_VAR:
    case FZ_EXPR_AGGREGATE:
    case FZ_EXPR_WINDOW:
    case FZ_EXPR_SUBQUERY:
        return true;
    }
    return true;
}

const struct fz_expr *fz_expr_op(struct fz_arena *arena, enum fz_expr_kind kind, const struct fz_type *type,
                                 const struct fz_expr *const *args, size_t n) {
    struct fz_expr *expr = FZ_ARENA_NEW(arena, struct fz_expr);
    const struct fz_expr **copy = fz_arena_array(arena, n, sizeof *copy);
    if (expr == NULL || copy == NULL) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        if (args[i] == NULL) {
            return NULL; // the argument's constructor ran out of memory
        }
        copy[i] = args[i];
    }
    *expr = (struct fz_expr){.kind = kind, .type = type, .n_args = n, .args = copy};
    expr->nullable = op_nullable(kind, copy, n);
    return expr;
}

const struct fz_expr *fz_expr_and(struct fz_arena *arena, const struct fz_expr *a, const struct fz_expr *b) {
    if (a == NULL || b == NULL) {
        return a == NULL ? b : a;
    }
    const struct fz_expr *args[2] = {a, b};
    return fz_expr_op(arena, FZ_EXPR_AND, fz_type_primitive(FZ_TYPE_BOOLEAN), args, 2);
}

const struct fz_expr *fz_expr_cast(struct fz_arena *arena, const struct fz_expr *arg, const struct fz_type *type,
                                   enum fz_cast_mode mode) {
    struct fz_expr *expr = FZ_ARENA_NEW(arena, struct fz_expr);
    const struct fz_expr **args = fz_arena_array(arena, 1, sizeof *args);
    if (expr == NULL || args == NULL || arg == NULL) {
        return NULL;
    }
    args[0] = arg;
    *expr = (struct fz_expr){.kind = FZ_EXPR_CAST, .type = type, .n_args = 1, .args = args};
    expr->nullable = arg->nullable || mode == FZ_CAST_TRY;
    expr->u.cast = mode;
    return expr;
}

static size_t add_conjuncts(const struct fz_expr *condition, const struct fz_expr **out, size_t cap, size_t n) {
    if (condition->kind != FZ_EXPR_AND) {
        if (n < cap) {
            out[n] = condition;
        }
        return n + 1;
    }
    for (size_t i = 0; i < condition->n_args; i++) {
        n = add_conjuncts(condition->args[i], out, cap, n);
    }
    return n;
}

size_t fz_expr_conjuncts(const struct fz_expr *condition, const struct fz_expr **out, size_t cap) {
    return condition == NULL ? 0 : add_conjuncts(condition, out, cap, 0);
}

bool fz_expr_walk(const struct fz_expr *expr, bool (*visit)(void *ctx, const struct fz_expr *expr), void *ctx) {
    if (expr == NULL) {
        return true;
    }
    if (!visit(ctx, expr)) {
        return false;
    }
    for (size_t i = 0; i < expr->n_args; i++) {
        if (!fz_expr_walk(expr->args[i], visit, ctx)) {
            return false;
        }
    }
    bool is_call = expr->kind == FZ_EXPR_AGGREGATE || expr->kind == FZ_EXPR_WINDOW;
    return !is_call || fz_expr_walk(expr->u.call.filter, visit, ctx);
}

static bool note_relation(void *ctx, const struct fz_expr *expr) {
    uint32_t *bits = ctx;
    if (expr->kind == FZ_EXPR_SUBQUERY) {
        *bits |= UINT32_C(1) << 31;
    } else if (expr->kind == FZ_EXPR_COLUMN) {
        int32_t r = expr->u.column.relation;
        *bits |= UINT32_C(1) << (r >= 0 && r < 31 ? r : 31);
    }
    return true;
}

uint32_t fz_expr_relations(const struct fz_expr *expr) {
    uint32_t bits = 0;
    fz_expr_walk(expr, note_relation, &bits);
    return bits;
}

static void print_literal(struct fz_buf *out, const struct fz_value *v) {
    if (v->is_null) {
        fz_buf_puts(out, "NULL");
        return;
    }
    switch ((int)v->type->id) {
    case FZ_TYPE_STRING:
        fz_buf_putc(out, '\'');
        for (size_t i = 0; i < v->u.bytes.len; i++) {
            fz_buf_puts(out, v->u.bytes.ptr[i] == '\'' ? "'" : "");
            fz_buf_putc(out, v->u.bytes.ptr[i]);
        }
        fz_buf_putc(out, '\'');
        return;
    case FZ_TYPE_DATE:
        fz_buf_puts(out, "DATE '");
        break;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMP_NS:
        fz_buf_puts(out, "TIMESTAMP_NTZ '");
        break;
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        fz_buf_puts(out, "TIMESTAMP '");
        break;
    case FZ_TYPE_TIME:
        fz_buf_puts(out, "TIME '");
        break;
    case FZ_TYPE_FIXED:
    case FZ_TYPE_BINARY:
        fz_buf_puts(out, "X'");
        break;
    case FZ_TYPE_UUID:
        fz_buf_puts(out, "'");
        break;
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
    case FZ_TYPE_INTERVAL_CAL:
        fz_buf_puts(out, "INTERVAL '");
        break;
    default:
        fz_value_print(out, v);
        return;
    }
    fz_value_print(out, v);
    fz_buf_putc(out, '\'');
}

static void print_list(struct fz_buf *out, const struct fz_expr *const *args, size_t n, const char *separator) {
    for (size_t i = 0; i < n; i++) {
        fz_buf_puts(out, i > 0 ? separator : "");
        fz_expr_print(out, args[i]);
    }
}

static void print_case(struct fz_buf *out, const struct fz_expr *expr) {
    fz_buf_puts(out, "CASE");
    for (size_t i = 0; i + 1 < expr->n_args; i += 2) {
        fz_buf_puts(out, " WHEN ");
        fz_expr_print(out, expr->args[i]);
        fz_buf_puts(out, " THEN ");
        fz_expr_print(out, expr->args[i + 1]);
    }
    if (expr->n_args % 2 == 1) {
        fz_buf_puts(out, " ELSE ");
        fz_expr_print(out, expr->args[expr->n_args - 1]);
    }
    fz_buf_puts(out, " END");
}

static void print_call(struct fz_buf *out, const struct fz_expr *expr) {
    fz_buf_puts(out, expr->u.call.name != NULL ? expr->u.call.name : "?");
    fz_buf_puts(out, expr->u.call.distinct ? "(DISTINCT " : "(");
    print_list(out, expr->args, expr->n_args, ", ");
    fz_buf_putc(out, ')');
    if (expr->kind != FZ_EXPR_CALL && expr->u.call.filter != NULL) {
        fz_buf_puts(out, " FILTER (WHERE ");
        fz_expr_print(out, expr->u.call.filter);
        fz_buf_putc(out, ')');
    }
    fz_buf_puts(out, expr->kind == FZ_EXPR_WINDOW ? " OVER (…)" : "");
}

static void print_lambda(struct fz_buf *out, const struct fz_expr *expr) {
    size_t n = expr->u.lambda.n_params;
    fz_buf_puts(out, n == 1 ? "" : "(");
    for (size_t i = 0; i < n; i++) {
        fz_buf_printf(out, "%s%s", i > 0 ? ", " : "", expr->u.lambda.params[i]);
    }
    fz_buf_puts(out, n == 1 ? " -> " : ") -> ");
    print_list(out, expr->args, expr->n_args, "");
}

static void print_subquery(struct fz_buf *out, const struct fz_expr *expr) {
    if (expr->u.subquery.form == FZ_SUBQUERY_IN) {
        fz_buf_puts(out, expr->n_args > 1 ? "((" : "(");
        print_list(out, expr->args, expr->n_args, ", ");
        fz_buf_puts(out, expr->n_args > 1 ? ") IN (subquery))" : " IN (subquery))");
    } else {
        fz_buf_puts(out, expr->u.subquery.form == FZ_SUBQUERY_EXISTS ? "EXISTS (subquery)" : "(subquery)");
    }
}

static void print_infix(struct fz_buf *out, const struct fz_expr *expr, const char *op) {
    fz_buf_putc(out, '(');
    print_list(out, expr->args, expr->n_args, op);
    fz_buf_putc(out, ')');
}

void fz_expr_print(struct fz_buf *out, const struct fz_expr *expr) {
    static const char *const infix[] = {
        [FZ_EXPR_AND] = " AND ", [FZ_EXPR_OR] = " OR ", [FZ_EXPR_EQ] = " = ",
        [FZ_EXPR_NE] = " <> ",   [FZ_EXPR_LT] = " < ",  [FZ_EXPR_LE] = " <= ",
        [FZ_EXPR_GT] = " > ",    [FZ_EXPR_GE] = " >= ", [FZ_EXPR_NULL_EQ] = " <=> ",
    };
    switch (expr->kind) {
    case FZ_EXPR_LITERAL:
        print_literal(out, expr->u.literal);
        break;
    case FZ_EXPR_COLUMN:
        fz_buf_puts(out, expr->u.column.name != NULL ? expr->u.column.name : "?");
        break;
    case FZ_EXPR_FIELD:
        fz_expr_print(out, expr->args[0]);
        fz_buf_printf(out, ".%s", expr->u.field.name != NULL ? expr->u.field.name : "?");
        break;
    case FZ_EXPR_CAST:
        fz_buf_puts(out, expr->u.cast == FZ_CAST_TRY ? "TRY_CAST(" : "CAST(");
        fz_expr_print(out, expr->args[0]);
        fz_buf_puts(out, " AS ");
        fz_type_print_sql(out, expr->type);
        fz_buf_putc(out, ')');
        break;
    case FZ_EXPR_AND:
    case FZ_EXPR_OR:
    case FZ_EXPR_EQ:
    case FZ_EXPR_NE:
    case FZ_EXPR_LT:
    case FZ_EXPR_LE:
    case FZ_EXPR_GT:
    case FZ_EXPR_GE:
    case FZ_EXPR_NULL_EQ:
        print_infix(out, expr, infix[expr->kind]);
        break;
    case FZ_EXPR_NOT:
        fz_buf_puts(out, "(NOT ");
        fz_expr_print(out, expr->args[0]);
        fz_buf_putc(out, ')');
        break;
    case FZ_EXPR_IS_NULL:
        fz_buf_putc(out, '(');
        fz_expr_print(out, expr->args[0]);
        fz_buf_puts(out, " IS NULL)");
        break;
    case FZ_EXPR_IN:
        fz_buf_putc(out, '(');
        fz_expr_print(out, expr->args[0]);
        fz_buf_puts(out, " IN (");
        print_list(out, expr->args + 1, expr->n_args - 1, ", ");
        fz_buf_puts(out, "))");
        break;
    case FZ_EXPR_STARTS_WITH:
        fz_buf_puts(out, "startswith(");
        print_list(out, expr->args, expr->n_args, ", ");
        fz_buf_putc(out, ')');
        break;
    case FZ_EXPR_CASE:
        print_case(out, expr);
        break;
    case FZ_EXPR_CALL:
    case FZ_EXPR_AGGREGATE:
    case FZ_EXPR_WINDOW:
        print_call(out, expr);
        break;
    case FZ_EXPR_LAMBDA:
        print_lambda(out, expr);
        break;
    case FZ_EXPR_LAMBDA_VAR:
        fz_buf_puts(out, expr->u.lambda_var.name);
        break;
    case FZ_EXPR_SUBQUERY:
        print_subquery(out, expr);
        break;
    }
}

enum fz_expr_kind fz_expr_mirrored(enum fz_expr_kind kind) {
    switch ((int)kind) {
    case FZ_EXPR_LT:
        return FZ_EXPR_GT;
    case FZ_EXPR_LE:
        return FZ_EXPR_GE;
    case FZ_EXPR_GT:
        return FZ_EXPR_LT;
    case FZ_EXPR_GE:
        return FZ_EXPR_LE;
    default:
        return kind;
    }
}
