// Bound expressions as DuckDB SQL: full parentheses, every literal typed, every column qualified (spark-on-duckdb section 1).
// Functions print by the templates of functions.def. An argument that a template repeats is bound once when it is long.
#include "duck/duck.h"
#include "sql/sql_print_priv.h"

#include <math.h>
#include <stdlib.h>

enum { MAX_DEPTH = 1000, LET_ABOVE = 240 };

void fz_print_string(struct fz_buf *out, struct fz_str text) {
    const char *p = text.ptr, *end = p + text.len;
    if (text.len > 0 && memchr(p, 0, text.len) != NULL) { // NUL cannot stand in a literal
        fz_buf_putc(out, '(');
        for (;;) {
            const char *nul = memchr(p, 0, (size_t)(end - p));
            fz_print_string(out, (struct fz_str){p, (size_t)((nul ? nul : end) - p)});
            if (nul == NULL) {
                break;
            }
            fz_buf_puts(out, " || chr(0) || ");
            p = nul + 1;
        }
        fz_buf_putc(out, ')');
        return;
    }
    fz_buf_putc(out, '\'');
    while (p < end) {
        const char *quote = memchr(p, '\'', (size_t)(end - p));
        size_t n = (size_t)((quote ? quote : end) - p);
        fz_buf_append(out, p, n);
        p += n;
        if (quote != NULL) {
            fz_buf_puts(out, "''");
            p++;
        }
    }
    fz_buf_putc(out, '\'');
}

static void print_quoted_value(struct fz_buf *out, const struct fz_value *v, const char *suffix) {
    fz_buf_putc(out, '\'');
    fz_value_print(out, v);
    fz_buf_printf(out, "%s'::", suffix);
    fz_duck_type_print(out, v->type);
}

static void print_timestamp(struct fz_buf *out, int64_t us, bool tz) {
    // years outside 1..9999 do not read back from text
    if (us < -62135596800000000 || us > 253402300799999999) {
        fz_buf_printf(out, tz ? "make_timestamptz('%lld'::BIGINT)" : "make_timestamp('%lld'::BIGINT)", (long long)us);
        return;
    }
    fz_buf_puts(out, tz ? "TIMESTAMPTZ '" : "TIMESTAMP '");
    fz_format_timestamp(out, us, ' ');
    fz_buf_puts(out, tz ? "+00'" : "'");
}

static enum fz_code print_literal(struct fz_buf *out, const struct fz_value *v, struct fz_err *err) {
    if (v->is_null) {
        fz_buf_puts(out, "NULL::");
        fz_duck_type_print(out, v->type);
        return FZ_OK;
    }
    switch ((int)v->type->id) {
    case FZ_TYPE_BOOLEAN:
        fz_buf_puts(out, v->u.boolean ? "true" : "false");
        return FZ_OK;
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
    case FZ_TYPE_INTERVAL_DT:
    case FZ_TYPE_INTERVAL_YM:
        fz_buf_printf(out, v->u.i64 < 0 ? "'%lld'::" : "%lld::", (long long)v->u.i64);
        fz_duck_type_print(out, v->type);
        return FZ_OK;
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
    case FZ_TYPE_DECIMAL:
    case FZ_TYPE_UUID:
    case FZ_TYPE_TIME:
        print_quoted_value(out, v, "");
        return FZ_OK;
    case FZ_TYPE_DATE:
        if (v->u.i64 < -719162 || v->u.i64 > 2932896) {
            fz_buf_printf(out, "(DATE '1970-01-01' + '%lld'::INTEGER)", (long long)v->u.i64);
            return FZ_OK;
        }
        fz_buf_puts(out, "DATE '");
        fz_format_date(out, (int32_t)v->u.i64);
        fz_buf_putc(out, '\'');
        return FZ_OK;
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        print_timestamp(out, v->u.i64, v->type->id == FZ_TYPE_TIMESTAMPTZ);
        return FZ_OK;
    case FZ_TYPE_STRING:
        fz_print_string(out, v->u.bytes);
        if (v->u.bytes.len > 0 && memchr(v->u.bytes.ptr, 0, v->u.bytes.len) != NULL) {
            return FZ_OK;
        }
        return FZ_OK;
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
        fz_buf_putc(out, '\'');
        for (size_t i = 0; i < v->u.bytes.len; i++) {
            fz_buf_printf(out, "\\x%02X", (unsigned char)v->u.bytes.ptr[i]);
        }
        fz_buf_puts(out, "'::BLOB");
        return FZ_OK;
    default:
        return fz_fail(err, FZ_UNSUPPORTED, "a literal of type number %d cannot be handed to the engine",
                       (int)v->type->id);
    }
}

// ---- templates ----
struct call_text { // what a template is expanded from
    const struct fz_expr *e;
    struct fz_buf *args;
    int depth;
    struct fz_err *err;
};

static void print_type_of(struct fz_buf *out, const struct fz_type *t) {
    fz_duck_type_print(out, t);
}

static void print_ulp(struct fz_buf *out, int scale) {
    if (scale == 0) {
        fz_buf_puts(out, "1::DECIMAL(1,0)");
        return;
    }
    fz_buf_puts(out, "'0.");
    for (int i = 1; i < scale; i++) {
        fz_buf_putc(out, '0');
    }
    fz_buf_printf(out, "1'::DECIMAL(%d,%d)", scale, scale);
}

// The engine gives back sort keys with -0.0 as 0.0: keys are another expression.
static enum fz_code print_key(struct fz_buf *out, const struct fz_expr *key, int depth, struct fz_err *err) {
    bool floating = (key->type->id == FZ_TYPE_DOUBLE || key->type->id == FZ_TYPE_FLOAT) && key->kind != FZ_EXPR_LITERAL;
    fz_buf_puts(out, floating ? "(1 * " : "");
    FZ_RET(fz_print_expr(out, key, depth, err));
    fz_buf_puts(out, floating ? ")" : "");
    return FZ_OK;
}

static enum fz_code print_orders(struct fz_buf *out, const struct fz_sql_order *order, size_t n, bool ordinals,
                                 bool window, bool distinct, int depth, struct fz_err *err) {
    for (size_t i = 0; i < n; i++) {
        fz_buf_puts(out, i ? ", " : "");
        bool floating = order[i].expr->type->id == FZ_TYPE_DOUBLE || order[i].expr->type->id == FZ_TYPE_FLOAT;
        if (floating && (ordinals || window) && !distinct && order[i].expr->kind != FZ_EXPR_LITERAL) {
            FZ_RET(print_key(out, order[i].expr, depth, err));
        } else if (ordinals && order[i].ordinal > 0 && order[i].expr->type->n_fields == 0) {
            fz_buf_printf(out, "%d", order[i].ordinal);
        } else if (order[i].expr->type->n_fields > 0) { // NULL parts come first inside nested values
            fz_buf_puts(out, "fz_sort_key(");
            FZ_RET(fz_print_expr(out, order[i].expr, depth, err));
            fz_buf_putc(out, ')');
        } else {
            bool constant = order[i].expr->kind == FZ_EXPR_LITERAL;
            fz_buf_puts(out, constant ? "(NULL::INTEGER + 0)" : "");
            if (!constant) {
                FZ_RET(fz_print_expr(out, order[i].expr, depth, err));
            }
        }
        fz_buf_printf(out, " %s NULLS %s", order[i].descending ? "DESC" : "ASC",
                      order[i].nulls_last ? "LAST" : "FIRST");
    }
    return FZ_OK;
}
enum fz_code fz_print_order_list(struct fz_buf *out, const struct fz_sql_order *order, size_t n, bool distinct,
                                 int depth, struct fz_err *err) {
    return print_orders(out, order, n, true, false, distinct, depth, err);
}

static enum fz_code print_frame_bound(struct fz_buf *out, const struct fz_sql_bound_frame *at, bool range, int depth,
                                      struct fz_err *err) {
    static const char *const words[] = {"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING",
                                        "UNBOUNDED FOLLOWING"};
    if (at->expr != NULL) {
        const char *wrap = range && at->expr->type->id == FZ_TYPE_INTERVAL_DT   ? "to_microseconds"
                           : range && at->expr->type->id == FZ_TYPE_INTERVAL_YM ? "to_months"
                                                                                : "";
        fz_buf_printf(out, "%s(", wrap);
        FZ_RET(fz_print_expr(out, at->expr, depth, err));
        fz_buf_puts(out, ") ");
    }
    fz_buf_puts(out, words[at->kind]);
    return FZ_OK;
}

static enum fz_code print_over(struct fz_buf *out, const struct fz_sql_window *w, int depth, struct fz_err *err) {
    fz_buf_puts(out, " OVER (");
    for (size_t i = 0; i < w->n_partition_by; i++) {
        fz_buf_puts(out, i ? ", " : "PARTITION BY ");
        FZ_RET(print_key(out, w->partition_by[i], depth, err));
    }
    if (w->n_order_by > 0) {
        fz_buf_puts(out, w->n_partition_by ? " ORDER BY " : "ORDER BY ");
        FZ_RET(print_orders(out, w->order_by, w->n_order_by, false, true, false, depth, err));
    }
    if (w->has_frame) {
        fz_buf_puts(out, w->range ? " RANGE BETWEEN " : " ROWS BETWEEN ");
        FZ_RET(print_frame_bound(out, &w->from, w->range, depth, err));
        fz_buf_puts(out, " AND ");
        FZ_RET(print_frame_bound(out, &w->to, w->range, depth, err));
    }
    fz_buf_putc(out, ')');
    return FZ_OK;
}

// FILTER and OVER behind a function.
static enum fz_code print_suffix(struct fz_buf *out, struct call_text *c, bool not_null) {
    const struct fz_expr *e = c->e;
    if (e->kind != FZ_EXPR_AGGREGATE && e->kind != FZ_EXPR_WINDOW) {
        return FZ_OK;
    }
    if (not_null || e->u.call.filter != NULL) {
        fz_buf_puts(out, " FILTER (WHERE ");
        if (not_null) {
            fz_buf_printf(out, "(%s) IS NOT NULL%s", c->args[0].ptr, e->u.call.filter ? " AND " : "");
        }
        if (e->u.call.filter != NULL) {
            FZ_RET(fz_print_expr(out, e->u.call.filter, c->depth, c->err));
        }
        fz_buf_putc(out, ')');
    }
    return e->kind == FZ_EXPR_WINDOW ? print_over(out, e->u.call.window, c->depth, c->err) : FZ_OK;
}

static void print_not_nulls(struct fz_buf *out, struct call_text *c) {
    if (c->e->n_args == 0) {
        fz_buf_puts(out, "true");
    }
    for (size_t i = 0; i < c->e->n_args; i++) {
        fz_buf_printf(out, "%s%s IS NOT NULL", i ? " AND " : "", c->args[i].ptr);
    }
}

static struct fz_str raw_text(const struct fz_expr *e) {
    return e->kind == FZ_EXPR_LITERAL && !e->u.literal->is_null ? e->u.literal->u.bytes : (struct fz_str){"", 0};
}

// The lambda's body with other names for its variables, outside quotes: {L:a:b}.
static void print_renamed(struct fz_buf *out, const struct fz_expr *lambda, const char *body, const char *names,
                          size_t names_len) {
    const char *colon = memchr(names, ':', names_len);
    struct fz_str to[2] = {{names, colon ? (size_t)(colon - names) : names_len},
                           {colon ? colon + 1 : names, colon ? names_len - (size_t)(colon + 1 - names) : names_len}};
    bool quoted = false;
    for (const char *p = body; *p; p++) {
        quoted = *p == '\'' ? !quoted : quoted;
        bool replaced = false;
        for (size_t i = 0; i < lambda->u.lambda.n_params && i < 2 && !quoted; i++) {
            size_t n = strlen(lambda->u.lambda.params[i]);
            if (strncmp(p, lambda->u.lambda.params[i], n) == 0 && !(p[n] >= '0' && p[n] <= '9')) {
                fz_buf_append(out, to[i].ptr, to[i].len);
                p += n - 1;
                replaced = true;
                break;
            }
        }
        if (!replaced) {
            fz_buf_putc(out, *p);
        }
    }
}

static void print_fields(struct fz_buf *out, struct call_text *c, size_t from) {
    for (size_t i = from; i < c->e->n_args; i++) {
        fz_buf_printf(out, "%sf%zu := %s", i > from ? ", " : "", i - from + 1, c->args[i].ptr);
    }
}

static void print_list(struct fz_buf *out, struct call_text *c, size_t from, const char *gap) {
    for (size_t i = from; i < c->e->n_args; i++) {
        fz_buf_printf(out, "%s%s", i > from ? gap : "", c->args[i].ptr);
    }
}

static enum fz_code expand(struct fz_buf *out, const char *t, struct call_text *c);

static enum fz_code expand_token(struct fz_buf *out, const char *k, size_t n, struct call_text *c) {
    const struct fz_expr *e = c->e;
    struct fz_str key = {k, n};
#define IS(text) fz_str_eq(key, FZ_STR_LIT(text))
    if (*k >= '0' && *k <= '9') {
        size_t ix = (size_t)(*k - '0');
        if (n > 1 && k[1] == '*') {
            print_list(out, c, ix, ", ");
        } else if (ix < e->n_args) {
            fz_buf_append(out, c->args[ix].ptr, c->args[ix].len);
        } else if (n > 2 && k[1] == '|') {
            fz_buf_append(out, k + 2, n - 2);
        }
    } else if (IS("*")) {
        print_list(out, c, 0, ", ");
    } else if (IS("*||")) {
        print_list(out, c, 0, " || ");
    } else if (IS("nn")) {
        print_not_nulls(out, c);
    } else if (IS("T")) {
        print_type_of(out, e->type);
    } else if (IS("E0")) {
        print_type_of(out, e->args[0]->type->fields[0].type);
    } else if (IS("W")) {
        fz_buf_printf(out, "DECIMAL(%d,%d)", e->type->precision, e->args[0]->type->scale);
    } else if (IS("s")) {
        fz_buf_printf(out, "%d", e->type->scale);
    } else if (IS("ulp")) {
        print_ulp(out, e->type->scale);
    } else if (IS("Z")) {
        fz_buf_puts(out, "current_setting('TimeZone')");
    } else if (IS("F")) {
        const struct fz_expr *last = e->args[e->n_args - 1];
        if (fz_type_is_integer(last->type)) {
            fz_buf_printf(out, "'f%lld'", (long long)last->u.literal->u.i64 + 1);
        } else {
            fz_print_string(out, raw_text(last));
        }
    } else if (IS("R") || IS("K")) {
        struct fz_str raw = raw_text(e->args[e->n_args - 1]);
        fz_buf_append(out, raw.ptr, raw.len);
    } else if (IS("N")) { // inside quotes
        struct fz_str raw = raw_text(e->args[e->n_args - 1]);
        for (size_t i = 0; i < raw.len; i++) {
            fz_buf_putc(out, raw.ptr[i]);
            if (raw.ptr[i] == '\'') {
                fz_buf_putc(out, '\'');
            }
        }
    } else if (IS("fields") || IS("fields1")) {
        print_fields(out, c, n == 7 ? 1 : 0);
    } else if (IS("row")) {
        fz_buf_puts(out, "row(");
        print_list(out, c, 0, ", ");
        fz_buf_putc(out, ')');
    } else if (IS("d")) {
        fz_buf_puts(out, e->u.call.distinct ? "DISTINCT " : "");
    } else if (IS("i")) {
        fz_buf_puts(out, e->u.call.ignore_nulls ? " IGNORE NULLS" : "");
    } else if (IS("f") || IS("fn")) {
        return print_suffix(out, c, n == 2);
    } else if (IS("o")) {
        if (e->kind == FZ_EXPR_AGGREGATE && e->u.call.window != NULL && e->u.call.window->n_order_by > 0) {
            fz_buf_puts(out, " ORDER BY ");
            return print_orders(out, e->u.call.window->order_by, e->u.call.window->n_order_by, false, false, false,
                                c->depth, c->err);
        }
    } else if (n > 2 && k[0] == 'L' && k[1] == ':') {
        struct fz_buf body = {0};
        enum fz_code rc = fz_print_expr(&body, e->args[1]->args[0], c->depth, c->err);
        if (rc == FZ_OK && body.ptr != NULL) {
            print_renamed(out, e->args[1], body.ptr, k + 2, n - 2);
        }
        fz_buf_dispose(&body);
        return rc;
    } else {
        return fz_fail(c->err, FZ_BUG, "functions.def: unknown token {%.*s} of %s", (int)n, k, e->u.call.fn->name);
    }
#undef IS
    return FZ_OK;
}

static enum fz_code expand(struct fz_buf *out, const char *t, struct call_text *c) {
    if (*t == '@') { // @COND@x
        const char *end = strchr(t + 1, '@');
        fz_buf_puts(out, "coalesce(");
        FZ_RET(expand(out, end + 1, c));
        fz_buf_puts(out, ", CASE WHEN ");
        print_not_nulls(out, c);
        fz_buf_printf(out, " THEN error('%.*s')::", (int)(end - t - 1), t + 1);
        print_type_of(out, c->e->type);
        fz_buf_puts(out, " END)");
        return FZ_OK;
    }
    while (*t) {
        const char *brace = strchr(t, '{'), *end = brace ? strchr(brace, '}') : NULL;
        if (end == NULL) {
            fz_buf_puts(out, t);
            break;
        }
        fz_buf_append(out, t, (size_t)(brace - t));
        FZ_RET(expand_token(out, brace + 1, (size_t)(end - brace - 1), c));
        t = end + 1;
    }
    return FZ_OK;
}

static int uses_of(const char *t, size_t ix, size_t n_args) {
    int n = 0;
    for (const char *p = strchr(t, '{'); p != NULL; p = strchr(p + 1, '{')) {
        n += (size_t)(p[1] - '0') == ix && p[2] != '*' ? 1 : 0;
        n += strncmp(p, "{nn}", 4) == 0 || p[1] == '*' ||
             (p[1] >= '0' && p[1] <= '9' && p[2] == '*' && (size_t)(p[1] - '0') <= ix);
    }
    return n + (*t == '@' ? 1 : 0) + (n_args == 0);
}

static uint64_t text_hash(const struct fz_buf *args, size_t n) {
    uint64_t h = 1469598103934665603u;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < args[i].len; k++) {
            h = (h ^ (unsigned char)args[i].ptr[k]) * 1099511628211u;
        }
        h = (h ^ 0xff) * 1099511628211u;
    }
    return h;
}

static bool can_be_bound(const struct fz_expr *arg) {
    return arg->kind != FZ_EXPR_LAMBDA && arg->kind != FZ_EXPR_LITERAL;
}
static bool is_volatile(const struct fz_expr *e) {
    if ((e->kind == FZ_EXPR_CALL || e->kind == FZ_EXPR_AGGREGATE) && e->u.call.fn->flags & FZ_FN_NONDET) {
        return true;
    }
    for (size_t i = 0; i < e->n_args; i++) {
        if (is_volatile(e->args[i])) {
            return true;
        }
    }
    return false;
}

// list_extract(list_transform([struct_pack(b0 := arg, …)], lambda x: template over x.b0 …), 1): each argument once.
static bool bind_once(struct fz_buf *out, struct call_text *c, const char *t) {
    bool needed = false;
    for (size_t i = 0; i < c->e->n_args; i++) {
        needed |= can_be_bound(c->e->args[i]) && uses_of(t, i, 1) > 1 &&
                  (c->args[i].len > LET_ABOVE || is_volatile(c->e->args[i]));
    }
    if (!needed || c->e->kind != FZ_EXPR_CALL) {
        return false;
    }
    unsigned long long h = (unsigned long long)text_hash(c->args, c->e->n_args);
    fz_buf_puts(out, "list_extract(list_transform([struct_pack(");
    const char *gap = "";
    for (size_t i = 0; i < c->e->n_args; i++) {
        if (can_be_bound(c->e->args[i])) {
            fz_buf_printf(out, "%sb%zu := %s", gap, i, c->args[i].ptr);
            gap = ", ";
            fz_buf_clear(&c->args[i]);
            fz_buf_printf(&c->args[i], "struct_extract(fz_b%llx, 'b%zu')", h, i);
        }
    }
    fz_buf_printf(out, ")], lambda fz_b%llx: ", h);
    return true;
}

static const char *null_skipping(const struct fz_expr *e) { // FIRST, LAST and the like with IGNORE NULLS
    const char *name = e->u.call.fn->name;
    bool last = strncmp(name, "last", 4) == 0, first = strncmp(name, "first", 5) == 0 || strcmp(name, "any_value") == 0;
    if (!e->u.call.ignore_nulls || (!first && !last)) {
        return NULL;
    }
    if (e->kind == FZ_EXPR_WINDOW) {
        return last ? "last_value({0} IGNORE NULLS)" : "first_value({0} IGNORE NULLS)";
    }
    return last ? "last({0}){fn}" : "any_value({0})";
}

static const char *window_template(const struct fz_expr *e) { // frames need the window functions proper
    const char *name = e->u.call.fn->name;
    if (e->kind != FZ_EXPR_WINDOW) {
        return NULL;
    }
    if (strncmp(name, "last", 4) == 0) {
        return "last_value({0})";
    }
    return strncmp(name, "first", 5) == 0 || strcmp(name, "any_value") == 0 ? "first_value({0})" : NULL;
}

static enum fz_code print_call(struct fz_buf *out, const struct fz_expr *e, int depth, struct fz_err *err) {
    const char *t = null_skipping(e);
    if (t == NULL) {
        t = window_template(e);
    }
    if (t == NULL) {
        t = e->u.call.fn->print;
    }
    struct fz_buf *args = fz_calloc(e->n_args ? e->n_args : 1, sizeof *args);
    if (args == NULL) {
        return fz_fail_nomem(err, e->n_args * sizeof *args);
    }
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < e->n_args && rc == FZ_OK; i++) {
        rc = fz_print_expr(&args[i], e->args[i], depth, err);
        fz_buf_puts(&args[i], "");
        rc = rc == FZ_OK ? fz_buf_check(&args[i], err) : rc;
        if (rc == FZ_OK && args[i].ptr == NULL) {
            rc = fz_fail(err, FZ_BUG, "an argument of %s printed as nothing", e->u.call.fn->name);
        }
    }
    if (rc == FZ_OK) {
        struct call_text c = {e, args, depth, err};
        bool once = bind_once(out, &c, t);
        rc = expand(out, t, &c);
        if (rc == FZ_OK && strstr(t, "{f}") == NULL && strstr(t, "{fn}") == NULL) {
            rc = print_suffix(out, &c, false);
        }
        fz_buf_puts(out, once ? "), 1)" : "");
    }
    for (size_t i = 0; i < e->n_args; i++) {
        fz_buf_dispose(&args[i]);
    }
    fz_free(args);
    return rc;
}

static enum fz_code print_infix(struct fz_buf *out, const struct fz_expr *e, const char *op, int depth,
                                struct fz_err *err) {
    fz_buf_putc(out, '(');
    for (size_t i = 0; i < e->n_args; i++) {
        fz_buf_puts(out, i ? op : "");
        FZ_RET(fz_print_expr(out, e->args[i], depth, err));
    }
    fz_buf_putc(out, ')');
    return FZ_OK;
}

static enum fz_code print_case(struct fz_buf *out, const struct fz_expr *e, int depth, struct fz_err *err) {
    fz_buf_puts(out, "(CASE");
    for (size_t i = 0; i < e->n_args; i++) {
        bool last = i + 1 == e->n_args && e->n_args % 2 == 1;
        fz_buf_puts(out, last ? " ELSE " : i % 2 == 0 ? " WHEN " : " THEN ");
        FZ_RET(fz_print_expr(out, e->args[i], depth, err));
    }
    fz_buf_puts(out, " END)");
    return FZ_OK;
}

static enum fz_code print_subquery(struct fz_buf *out, const struct fz_expr *e, int depth, struct fz_err *err) {
    const struct fz_sql_query *q = e->u.subquery.query;
    if (e->u.subquery.form == FZ_SUBQUERY_IN) {
        fz_buf_puts(out, e->n_args > 1 ? "(row(" : "(");
        for (size_t i = 0; i < e->n_args; i++) {
            fz_buf_puts(out, i ? ", " : "");
            FZ_RET(fz_print_expr(out, e->args[i], depth, err));
        }
        fz_buf_puts(out, e->n_args > 1 ? ") IN (SELECT row(" : " IN (");
        for (size_t i = 0; e->n_args > 1 && i < e->n_args; i++) {
            fz_buf_printf(out, "%sfz_in.c%zu", i ? ", " : "", i + 1);
        }
        fz_buf_puts(out, e->n_args > 1 ? ") FROM (" : "");
        FZ_RET(fz_print_query_depth(out, q, depth, err));
        fz_buf_puts(out, e->n_args > 1 ? ") AS fz_in))" : "))");
        return FZ_OK;
    }
    fz_buf_puts(out, e->u.subquery.form == FZ_SUBQUERY_EXISTS ? "EXISTS (" : "(");
    FZ_RET(fz_print_query_depth(out, q, depth, err));
    fz_buf_putc(out, ')');
    return FZ_OK;
}

static enum fz_code print_cast_node(struct fz_buf *out, const struct fz_expr *e, int depth, struct fz_err *err) {
    struct fz_buf arg = {0};
    enum fz_code rc = fz_print_expr(&arg, e->args[0], depth, err);
    rc = rc == FZ_OK ? fz_buf_check(&arg, err) : rc;
    if (rc == FZ_OK) {
        rc = fz_print_cast_text(out, (struct fz_str){arg.ptr, arg.len}, e->args[0]->type, e->type, e->u.cast, depth,
                                err);
    }
    fz_buf_dispose(&arg);
    return rc;
}

enum fz_code fz_print_expr(struct fz_buf *out, const struct fz_expr *e, int depth, struct fz_err *err) {
    if (depth > MAX_DEPTH) {
        return fz_fail(err, FZ_LIMIT, "the statement is nested too deeply");
    }
    depth++;
    switch (e->kind) {
    case FZ_EXPR_LITERAL:
        return print_literal(out, e->u.literal, err);
    case FZ_EXPR_COLUMN:
        fz_buf_printf(out, "r%d.c%d", (int)e->u.column.relation, (int)e->u.column.field_id);
        return FZ_OK;
    case FZ_EXPR_FIELD:
        fz_buf_puts(out, "struct_extract(");
        FZ_RET(fz_print_expr(out, e->args[0], depth, err));
        fz_buf_printf(out, ", 'f%d')", (int)e->u.field.index + 1);
        return FZ_OK;
    case FZ_EXPR_CAST:
        return print_cast_node(out, e, depth, err);
    case FZ_EXPR_AND:
        return print_infix(out, e, " AND ", depth, err);
    case FZ_EXPR_OR:
        return print_infix(out, e, " OR ", depth, err);
    case FZ_EXPR_EQ:
        return print_infix(out, e, " = ", depth, err);
    case FZ_EXPR_NE:
        return print_infix(out, e, " <> ", depth, err);
    case FZ_EXPR_LT:
        return print_infix(out, e, " < ", depth, err);
    case FZ_EXPR_LE:
        return print_infix(out, e, " <= ", depth, err);
    case FZ_EXPR_GT:
        return print_infix(out, e, " > ", depth, err);
    case FZ_EXPR_GE:
        return print_infix(out, e, " >= ", depth, err);
    case FZ_EXPR_NULL_EQ:
        return print_infix(out, e, " IS NOT DISTINCT FROM ", depth, err);
    case FZ_EXPR_NOT:
        fz_buf_puts(out, "(NOT ");
        FZ_RET(fz_print_expr(out, e->args[0], depth, err));
        fz_buf_putc(out, ')');
        return FZ_OK;
    case FZ_EXPR_IS_NULL:
        fz_buf_putc(out, '(');
        FZ_RET(fz_print_expr(out, e->args[0], depth, err));
        fz_buf_puts(out, " IS NULL)");
        return FZ_OK;
    case FZ_EXPR_IN:
        fz_buf_putc(out, '(');
        for (size_t i = 0; i < e->n_args; i++) {
            fz_buf_puts(out, i == 0 ? "" : i == 1 ? " IN (" : ", ");
            FZ_RET(fz_print_expr(out, e->args[i], depth, err));
        }
        fz_buf_puts(out, "))");
        return FZ_OK;
    case FZ_EXPR_STARTS_WITH:
        fz_buf_puts(out, "starts_with(");
        FZ_RET(fz_print_expr(out, e->args[0], depth, err));
        fz_buf_puts(out, ", ");
        FZ_RET(fz_print_expr(out, e->args[1], depth, err));
        fz_buf_putc(out, ')');
        return FZ_OK;
    case FZ_EXPR_CASE:
        return print_case(out, e, depth, err);
    case FZ_EXPR_CALL:
    case FZ_EXPR_AGGREGATE:
    case FZ_EXPR_WINDOW:
        return print_call(out, e, depth, err);
    case FZ_EXPR_LAMBDA:
        fz_buf_puts(out, "lambda ");
        for (size_t i = 0; i < e->u.lambda.n_params; i++) {
            fz_buf_printf(out, "%s%s", i ? ", " : "", e->u.lambda.params[i]);
        }
        fz_buf_puts(out, ": ");
        return fz_print_expr(out, e->args[0], depth, err);
    case FZ_EXPR_LAMBDA_VAR:
        fz_buf_puts(out, e->u.lambda_var.name);
        return FZ_OK;
    case FZ_EXPR_SUBQUERY:
        return print_subquery(out, e, depth, err);
    }
    return fz_fail(err, FZ_BUG, "unknown expression kind %d", (int)e->kind);
}

enum fz_code fz_sql_print_expr(struct fz_buf *out, const struct fz_expr *expr, struct fz_err *err) {
    enum fz_code rc = fz_print_expr(out, expr, 0, err);
    return rc != FZ_OK ? rc : fz_buf_check(out, err);
}
