// Function calls by the rows of functions.def: which row fits, the implicit casts, the result type; aggregates and windows.
#include "sql/sql_bind_special.h"

// One parsed argument specification.
struct spec {
    char letters[24];
    size_t n, least;
    bool repeats;
};
static struct spec read_spec(const char *text) {
    struct spec s = {0};
    bool optional = false;
    for (; *text; text++) {
        if (*text == '?') {
            optional = true;
        } else if (*text == '*') {
            s.repeats = true;
        } else if (s.n < sizeof s.letters) {
            s.letters[s.n++] = *text;
            s.least = optional ? s.least : s.n;
        }
    }
    if (s.repeats && s.least > 0) {
        s.least--; // the repeated one may be missing
    }
    return s;
}
static char letter_of(const struct spec *s, size_t i) {
    return i < s->n ? s->letters[i] : s->letters[s->n - 1];
}

static const struct fz_type *letter_type(char letter) {
    static const struct {
        char letter;
        enum fz_type_id id;
    } types[] = {{'s', FZ_TYPE_STRING},    {'i', FZ_TYPE_INT},    {'l', FZ_TYPE_LONG},   {'d', FZ_TYPE_DOUBLE},
                 {'b', FZ_TYPE_BOOLEAN},   {'x', FZ_TYPE_BINARY}, {'D', FZ_TYPE_DATE},   {'T', FZ_TYPE_TIMESTAMPTZ},
                 {'N', FZ_TYPE_TIMESTAMP}, {'y', FZ_TYPE_BYTE},   {'u', FZ_TYPE_UNKNOWN}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].letter == letter) {
            return fz_sql_type(types[i].id);
        }
    }
    return NULL;
}

// 0: does not fit, 1: by an implicit cast, 2: as it is.
static int fits(char letter, const struct fz_type *t) {
    if (fz_sql_is_null(t)) {
        return 2;
    }
    const struct fz_type *want = letter_type(letter);
    switch (letter) {
    case 'a':
    case 'c':
        return 2;
    case 'n':
        return fz_type_is_numeric(t) ? 2 : fz_sql_is_string(t) ? 1 : 0;
    case 'p':
        return t->id == FZ_TYPE_DECIMAL ? 2 : fz_type_is_integer(t) ? 1 : 0;
    case 'A':
    case 'm':
        return t->id == FZ_TYPE_LIST ? 2 : 0;
    case 'M':
        return t->id == FZ_TYPE_MAP ? 2 : 0;
    case 'S':
        return t->id == FZ_TYPE_STRUCT ? 2 : 0;
    case 'U':
        return t->id == FZ_TYPE_INTERVAL_DT ? 2 : 0;
    case 'Y':
        return t->id == FZ_TYPE_INTERVAL_YM ? 2 : 0;
    case 's':
        return fz_sql_is_string(t) ? 2 : fz_sql_implicit_cast(t, want) ? 1 : 0;
    case 'x':
        return fz_sql_is_binary(t) ? 2 : fz_sql_implicit_cast(t, want) ? 1 : 0;
    case 'i':
    case 'l':
        return fz_type_is_integer(t) && fz_sql_implicit_cast(t, want) ? 2 : fz_sql_is_string(t) ? 1 : 0;
    case 'd':
        return t->id == FZ_TYPE_DOUBLE || t->id == FZ_TYPE_FLOAT ? 2 : fz_sql_implicit_cast(t, want) ? 1 : 0;
    default:
        return want == NULL ? 2 : t->id == want->id ? 2 : fz_sql_implicit_cast(t, want) ? 1 : 0;
    }
}

static const struct fz_func *choose(const struct fz_func *rows, size_t n_rows, const struct fz_expr **args, size_t n,
                                    bool *count_fits) {
    const struct fz_func *by_cast = NULL;
    for (size_t r = 0; r < n_rows; r++) {
        struct spec s = read_spec(rows[r].args);
        if (n < s.least || (n > s.n && !s.repeats)) {
            continue;
        }
        *count_fits = true;
        int worst = 2;
        for (size_t i = 0; i < n; i++) {
            int f = fits(letter_of(&s, i), args[i]->type);
            worst = f < worst ? f : worst;
        }
        if (worst == 2) {
            return &rows[r];
        }
        if (worst == 1 && by_cast == NULL) {
            by_cast = &rows[r];
        }
    }
    return by_cast;
}

static const struct fz_type *nth_kind(const struct spec *s, const struct fz_expr **args, size_t n,
                                      const char *letters) {
    for (size_t i = 0; i < n; i++) {
        if (strchr(letters, letter_of(s, i)) != NULL) {
            return args[i]->type;
        }
    }
    return NULL;
}

static enum fz_code unify_letter(fz_binder *b, const struct spec *s, const char *name, char letter,
                                 const struct fz_expr **args, size_t n, const struct fz_type **type) {
    const struct fz_expr **same;
    size_t k = 0;
    FZ_ALLOC(b, same, const struct fz_expr *, n);
    for (size_t i = 0; i < n; i++) {
        if (letter_of(s, i) == letter) {
            same[k++] = args[i];
        }
    }
    if (k == 0) {
        return FZ_OK;
    }
    FZ_RET(fz_bind_unify(b, name, same, k, type));
    k = 0;
    for (size_t i = 0; i < n; i++) {
        if (letter_of(s, i) == letter) {
            args[i] = same[k++];
        }
    }
    return FZ_OK;
}

static enum fz_code cast_args(fz_binder *b, const struct fz_func *fn, const struct spec *s, const struct fz_expr **args,
                              size_t n, const struct fz_type **common) {
    FZ_RET(unify_letter(b, s, fn->name, 'c', args, n, common));
    FZ_RET(unify_letter(b, s, fn->name, 'm', args, n, common));
    for (size_t i = 0; i < n; i++) {
        char letter = letter_of(s, i);
        const struct fz_type *want = letter_type(letter);
        if (letter == 's' && fz_sql_is_string(args[i]->type)) {
            want = NULL;
        }
        if (letter == 'x' && fz_sql_is_binary(args[i]->type)) {
            want = NULL;
        }
        if (letter >= '0' && letter <= '9') {
            want = args[letter - '0']->type;
        }
        if (letter == 'n' && !fz_type_is_numeric(args[i]->type)) {
            want = fz_sql_type(FZ_TYPE_DOUBLE);
        }
        if (letter == 'p') {
            want = fz_sql_decimal_of(b->arena, args[i]->type);
        }
        if (letter == 'A' && fz_sql_is_null(args[i]->type)) {
            want = fz_type_list(b->arena, 0, false, fz_sql_type(FZ_TYPE_UNKNOWN));
        }
        if (letter == 'e' || letter == 'k') {
            const struct fz_type *base = args[0]->type;
            if (base->n_fields == 0) {
                continue;
            }
            want = fz_sql_common_type(b->arena, base->fields[0].type, args[i]->type);
            if (want == NULL) {
                return fz_bind_type_error(b, "DATATYPE_MISMATCH.ARRAY_FUNCTION_DIFF_TYPES",
                                          "%s: the elements are %s, the argument is %s", fn->name,
                                          fz_sql_type_text(b->arena, base->fields[0].type),
                                          fz_sql_type_text(b->arena, args[i]->type));
            }
            if (letter == 'e' && !fz_sql_same_type(want, base->fields[0].type)) {
                args[0] = fz_bind_cast(b, args[0], fz_type_list(b->arena, 0, false, want));
                FZ_SOME(b, args[0]);
            }
            want = letter == 'k' ? base->fields[0].type : want;
        }
        if (want != NULL && want->id != FZ_TYPE_UNKNOWN) {
            args[i] = fz_bind_cast(b, args[i], want);
            FZ_SOME(b, args[i]);
        }
    }
    return FZ_OK;
}

static const struct fz_type *result_type(fz_binder *b, const char *code, const struct spec *s,
                                         const struct fz_expr **args, size_t n, const struct fz_type *common) {
    const struct fz_type *t;
    if (*code == '[') {
        const struct fz_type *element = result_type(b, code + 1, s, args, n, common);
        return element ? fz_type_list(b->arena, 0, false, element) : NULL;
    }
    if (*code >= '0' && *code <= '9') {
        return (size_t)(*code - '0') < n ? args[*code - '0']->type : NULL;
    }
    switch (*code) {
    case 'c':
        return common;
    case 'e':
        t = nth_kind(s, args, n, "Am");
        return t != NULL && t->n_fields > 0 ? t->fields[0].type : fz_sql_type(FZ_TYPE_UNKNOWN);
    case 'k':
    case 'v':
        t = nth_kind(s, args, n, "M");
        return t != NULL && t->n_fields > 1 ? t->fields[*code == 'v'].type : fz_sql_type(FZ_TYPE_UNKNOWN);
    case 'M':
        return fz_type_map(b->arena, 0, fz_sql_type(FZ_TYPE_STRING), 0, false, fz_sql_type(FZ_TYPE_STRING));
    default:
        return letter_type(*code);
    }
}

static enum fz_code unresolved(fz_binder *b, const char *name) {
    const char *near = fz_func_near(name);
    return fz_fail_cond(b->err, FZ_NOT_FOUND, "UNRESOLVED_ROUTINE",
                        "Cannot resolve routine `%s`: there is no function of this name%s%s%s", name,
                        near != NULL ? ". Did you mean `" : "", near != NULL ? near : "", near != NULL ? "`?" : "");
}

enum fz_code fz_bind_function(fz_binder *b, const char *name, const struct fz_expr **args, size_t n,
                              const struct fz_expr **out) {
    size_t n_rows = 0;
    *out = NULL;
    FZ_RET(fz_bind_special(b, NULL, NULL, name, args, n, out));
    if (*out != NULL) {
        return FZ_OK;
    }
    const struct fz_func *rows = fz_func_find(name, &n_rows);
    if (rows == NULL) {
        return unresolved(b, name);
    }
    bool count_fits = false;
    const struct fz_func *fn = choose(rows, n_rows, args, n, &count_fits);
    if (fn == NULL && !count_fits) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "WRONG_NUM_ARGS.WITHOUT_SUGGESTION",
                            "The function `%s` does not take %zu argument(s)", name, n);
    }
    if (fn == NULL) {
        struct fz_buf types = {0};
        for (size_t i = 0; i < n; i++) {
            fz_buf_printf(&types, "%s%s", i ? ", " : "", fz_sql_type_text(b->arena, args[i]->type));
        }
        enum fz_code rc = fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                             "The function `%s` does not take arguments of type (%s)", name,
                                             types.ptr ? types.ptr : "");
        fz_buf_dispose(&types);
        return rc;
    }
    struct spec s = read_spec(fn->args);
    const struct fz_type *common = NULL;
    FZ_RET(cast_args(b, fn, &s, args, n, &common));
    if (*fn->result == 'q' || (fn->flags & FZ_FN_SPECIAL && *fn->result == 'q')) {
        return fz_fail(b->err, FZ_UNSUPPORTED, "the function `%s` is not supported with these arguments", name);
    }
    const struct fz_type *type = result_type(b, fn->result, &s, args, n, common);
    FZ_SOME(b, type);
    *out = fz_bind_call_node(b, fn, type, args, n);
    FZ_SOME(b, *out);
    return FZ_OK;
}

enum fz_code fz_bind_literal_text(fz_binder *b, const struct fz_expr *e, const char *what, const char **out) {
    if (e->kind != FZ_EXPR_LITERAL || (!fz_sql_is_string(e->type) && !fz_sql_is_null(e->type))) {
        return fz_fail_cond(b->err, FZ_SCHEMA_MISMATCH, "DATATYPE_MISMATCH.NON_FOLDABLE_INPUT",
                            "The %s must be a text literal", what);
    }
    *out =
        e->u.literal->is_null ? "" : fz_arena_strndup(b->arena, e->u.literal->u.bytes.ptr, e->u.literal->u.bytes.len);
    FZ_SOME(b, *out);
    return FZ_OK;
}

// ---- windows ----
static enum fz_code bind_orders(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_order *in, size_t n,
                                struct fz_sql_order **out) {
    FZ_ALLOC(b, *out, struct fz_sql_order, n);
    for (size_t i = 0; i < n; i++) {
        struct fz_sql_order *o = &(*out)[i];
        FZ_RET(fz_bind(b, s, in[i].expr, &o->expr));
        if (fz_sql_is_unordered(o->expr->type)) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
                                      "Values of type %s cannot be ordered", fz_sql_type_text(b->arena, o->expr->type));
        }
        o->descending = in[i].descending;
        o->nulls_last = in[i].nulls_set ? in[i].nulls_last : in[i].descending;
    }
    return FZ_OK;
}

static const struct fz_ast_window *named_window(const struct fz_sql_scope *s, const char *name) {
    for (size_t i = 0; s->windows != NULL && i < s->windows->n_windows; i++) {
        if (fz_strcasecmp(s->windows->windows[i].name, name) == 0) {
            return s->windows->windows[i].window;
        }
    }
    return NULL;
}

enum fz_code fz_bind_window_spec(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_window *w,
                                 struct fz_sql_window **out) {
    const struct fz_ast_window *base = NULL;
    for (int hops = 0; w->name != NULL && hops < 16; hops++) {
        base = named_window(s, w->name);
        if (base == NULL) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "MISSING_WINDOW_SPECIFICATION",
                                "Window specification `%s` is not defined in the WINDOW clause", w->name);
        }
        if (w->n_partition_by > 0 || w->n_order_by > 0 || w->has_frame) {
            break;
        }
        w = base;
        base = NULL;
    }
    struct fz_sql_window *win;
    FZ_ALLOC(b, win, struct fz_sql_window, 1);
    const struct fz_ast_window *parts = base != NULL && w->n_partition_by == 0 ? base : w,
                               *orders = base != NULL && w->n_order_by == 0 ? base : w;
    win->n_partition_by = parts->n_partition_by;
    FZ_ALLOC(b, win->partition_by, const struct fz_expr *, win->n_partition_by);
    for (size_t i = 0; i < win->n_partition_by; i++) {
        FZ_RET(fz_bind(b, s, parts->partition_by[i], &win->partition_by[i]));
        if (fz_sql_has_variant(win->partition_by[i]->type)) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "EXPRESSION_TYPE_IS_NOT_ORDERABLE",
                                "Values of type %s cannot make partitions",
                                fz_sql_type_text(b->arena, win->partition_by[i]->type));
        }
    }
    win->n_order_by = orders->n_order_by;
    FZ_RET(bind_orders(b, s, orders->order_by, orders->n_order_by, &win->order_by));
    win->has_frame = w->has_frame;
    win->range = w->range;
    win->from.kind = (int)w->from.kind;
    win->to.kind = (int)w->to.kind;
    if (w->from.expr != NULL) {
        FZ_RET(fz_bind(b, s, w->from.expr, &win->from.expr));
    }
    if (w->to.expr != NULL) {
        FZ_RET(fz_bind(b, s, w->to.expr, &win->to.expr));
    }
    *out = win;
    return FZ_OK;
}

static struct fz_expr *copy_call(fz_binder *b, const struct fz_expr *e) {
    return fz_arena_memdup(b->arena, e, sizeof *e);
}

// max and min of nested values: by key, because NULL parts come first in Spark. max_by and min_by ignore rows without a key.
static enum fz_code adjust_aggregate(fz_binder *b, struct fz_expr *e) {
    const char *name = e->u.call.fn->name;
    bool max = strcmp(name, "max") == 0, min = strcmp(name, "min") == 0;
    if ((max || min) && e->args[0]->type->n_fields > 0) {
        if (fz_sql_has_map(e->args[0]->type)) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE", "%s cannot order %s", name,
                                      fz_sql_type_text(b->arena, e->args[0]->type));
        }
        const struct fz_expr **args;
        FZ_ALLOC(b, args, const struct fz_expr *, 2);
        args[0] = e->args[0];
        args[1] = fz_bind_internal(b, "op.sort_key", fz_sql_type(FZ_TYPE_BINARY), args, 1);
        FZ_SOME(b, args[1]);
        e->args = args;
        e->n_args = 2;
        e->u.call.fn = fz_func_find(max ? "max_by" : "min_by", NULL);
    }
    name = e->u.call.fn->name;
    if (strcmp(name, "max_by") == 0 || strcmp(name, "min_by") == 0) {
        const struct fz_expr *key = e->args[1];
        const struct fz_expr *is_null = fz_expr_op(b->arena, FZ_EXPR_IS_NULL, fz_sql_type(FZ_TYPE_BOOLEAN), &key, 1);
        const struct fz_expr *present =
            is_null ? fz_expr_op(b->arena, FZ_EXPR_NOT, fz_sql_type(FZ_TYPE_BOOLEAN), &is_null, 1) : NULL;
        FZ_SOME(b, present);
        e->u.call.filter = fz_expr_and(b->arena, e->u.call.filter, present);
    }
    return FZ_OK;
}

static enum fz_code finish_window(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                                  struct fz_expr *call) {
    const struct fz_func *fn = call->u.call.fn;
    if (s->no_windows || s->in_window) {
        return s->in_window
                   ? fz_fail_cond(b->err, FZ_INVALID_ARG, "NESTED_WINDOW_FUNCTION", "Window functions cannot be nested")
                   : fz_fail_cond(b->err, FZ_INVALID_ARG, "_LEGACY_ERROR_TEMP_1034",
                                  "It is not allowed to use window functions inside the %s clause", s->clause);
    }
    if (e->distinct) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "DISTINCT_WINDOW_FUNCTION_UNSUPPORTED",
                            "DISTINCT is not supported in a window function");
    }
    if (e->filter != NULL) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "_LEGACY_ERROR_TEMP_1030",
                            "FILTER is not supported in a window function");
    }
    struct fz_sql_window *win;
    bool saved = s->in_window, saved_agg = s->in_aggregate;
    s->in_window = true;
    s->in_aggregate = false;
    enum fz_code rc = fz_bind_window_spec(b, s, e->over, &win);
    s->in_window = saved;
    s->in_aggregate = saved_agg;
    FZ_RET(rc);
    if (fn->flags & FZ_FN_ORDERED && win->n_order_by == 0) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "_LEGACY_ERROR_TEMP_1037",
                            "Window function %s() requires window to be ordered, please add ORDER BY clause", fn->name);
    }
    call->kind = FZ_EXPR_WINDOW;
    call->u.call.window = win;
    if (fn->flags & FZ_FN_AGG && !(fn->flags & FZ_FN_NOTNULL)) {
        call->nullable = true;
    }
    return FZ_OK;
}

static enum fz_code finish_aggregate(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                                     struct fz_expr *call) {
    if (e->over == NULL) {
        if (s->in_aggregate) {
            return fz_fail_cond(
                b->err, FZ_INVALID_ARG, "NESTED_AGGREGATE_FUNCTION",
                "It is not allowed to use an aggregate function in the argument of another aggregate function");
        }
        if (s->no_aggregates) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG,
                                strcmp(s->clause, "WHERE") == 0 ? "INVALID_WHERE_CONDITION" : "GROUP_BY_AGGREGATE",
                                "Aggregate functions are not allowed in %s", s->clause);
        }
        s->saw_aggregate = true;
    }
    call->u.call.distinct = e->distinct;
    if (e->filter != NULL && e->over == NULL) {
        bool saved = s->in_aggregate;
        s->in_aggregate = true;
        enum fz_code rc = fz_bind_boolean(b, s, e->filter, "FILTER", &call->u.call.filter);
        s->in_aggregate = saved;
        FZ_RET(rc);
    }
    if (e->n_within_group > 0 && call->u.call.window == NULL) {
        struct fz_sql_window *order;
        bool saved = s->in_aggregate;
        FZ_ALLOC(b, order, struct fz_sql_window, 1);
        s->in_aggregate = true;
        enum fz_code rc = bind_orders(b, s, e->within_group, e->n_within_group, &order->order_by);
        s->in_aggregate = saved;
        FZ_RET(rc);
        order->n_order_by = e->n_within_group;
        if (strncmp(call->u.call.fn->name, "percentile", 10) != 0 && strcmp(call->u.call.fn->name, "mode") != 0) {
            call->u.call.window = order;
        }
    }
    return adjust_aggregate(b, call);
}

static bool is_name(const struct fz_ast_expr *e, const char *name) {
    return fz_strcasecmp(e->name.parts[e->name.n - 1], name) == 0;
}

static enum fz_code bind_args(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                              const struct fz_func *fn, const struct fz_expr ***args, size_t *n) {
    bool aggregate = fn != NULL && fn->flags & FZ_FN_AGG && e->over == NULL;
    bool saved = s->in_aggregate;
    size_t count = e->n_args, extra = e->n_within_group > 0 ? 1 : 0;
    FZ_ALLOC(b, *args, const struct fz_expr *, count + extra);
    *n = 0;
    if (count == 1 && e->args[0]->kind == FZ_AST_STAR && e->args[0]->name.n == 0 && is_name(e, "count")) {
        return FZ_OK;
    }
    if (aggregate && s->in_aggregate) {
        return fz_fail_cond(
            b->err, FZ_INVALID_ARG, "NESTED_AGGREGATE_FUNCTION",
            "It is not allowed to use an aggregate function in the argument of another aggregate function");
    }
    s->in_aggregate |= aggregate;
    enum fz_code rc = FZ_OK;
    // percentile_cont(f) WITHIN GROUP (ORDER BY x) is percentile(x, f)
    bool ordered_set = extra && (is_name(e, "percentile_cont") || is_name(e, "percentile_disc") || is_name(e, "mode") ||
                                 is_name(e, "percentile"));
    if (ordered_set) {
        rc = fz_bind(b, s, e->within_group[0].expr, &(*args)[(*n)++]);
    }
    for (size_t i = 0; i < count && rc == FZ_OK; i++) {
        rc = fz_bind(b, s, e->args[i], &(*args)[(*n)++]);
    }
    if (rc == FZ_OK && ordered_set && e->within_group[0].descending && *n == 2) { // from the other end
        const struct fz_expr *one[2] = {fz_bind_cast(b, fz_bind_int(b, FZ_TYPE_INT, 1), fz_sql_type(FZ_TYPE_DOUBLE)),
                                        fz_bind_cast(b, (*args)[1], fz_sql_type(FZ_TYPE_DOUBLE))};
        (*args)[1] = one[0] && one[1] ? fz_bind_internal(b, "op.sub", fz_sql_type(FZ_TYPE_DOUBLE), one, 2) : NULL;
        rc = (*args)[1] ? FZ_OK : FZ_BIND_NOMEM(b);
    }
    s->in_aggregate = saved;
    return rc;
}

// Variants are byte strings to the engine, so only functions that hand values on unseen, or know variants, may have them.
static enum fz_code check_variants(fz_binder *b, const struct fz_ast_expr *e, const char *name,
                                   const struct fz_expr **args, size_t n) {
    static const char texts[] = // Spark casts variants to text for these
        "upper ucase lower lcase length char_length character_length len substring substr left right trim ltrim rtrim "
        "replace split regexp_replace regexp_extract contains startswith endswith instr lpad rpad reverse repeat "
        "initcap "
        "concat_ws translate to_date to_timestamp";
    static const char *const fine[] = {
        "count coalesce nvl ifnull nvl2 if iff isnull isnotnull typeof struct named_struct array map",
        "first last first_value last_value any_value lag lead nth_value collect_list array_agg",
        "size cardinality array_size element_at try_element_at get map_values map_keys map_entries concat to_json",
        "string int bigint smallint tinyint double float date timestamp boolean binary decimal",
        "variant_get try_variant_get is_variant_null schema_of_variant to_variant_object",
    };
    bool variant = false, ok = false;
    for (size_t i = 0; i < n; i++) {
        variant = variant || fz_sql_has_variant(args[i]->type);
    }
    for (size_t i = 0; variant && i < sizeof fine / sizeof *fine; i++) {
        ok = ok || is_one(name, fine[i]);
    }
    for (size_t i = 0; variant && i < n && is_one(name, texts); i++) {
        if (args[i]->type->id == FZ_TYPE_VARIANT) {
            args[i] = fz_bind_cast(b, args[i], STRING);
            FZ_SOME(b, args[i]);
        }
        ok = ok || i + 1 == n;
    }
    if (!variant || (ok && !e->distinct) || is_name(e, "schema_of_variant_agg")) {
        return FZ_OK;
    }
    bool hash = is_name(e, "hash") || is_name(e, "xxhash64");
    if (hash || is_name(e, "max") || is_name(e, "min") || is_name(e, "greatest") || is_name(e, "least")) {
        return fz_bind_type_error(
            b, hash ? "DATATYPE_MISMATCH.HASH_VARIANT_TYPE" : "DATATYPE_MISMATCH.INVALID_ORDERING_TYPE",
            "%s does not take values of type variant", name);
    }
    if (is_one(name, "sum avg mean try_sum try_avg abs date_add date_sub year month day md5 sha2 get_json_object")) {
        return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                  "%s does not take values of type variant; cast them, as in v:path::int", name);
    }
    return fz_fail_cond(b->err, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE.VARIANT",
                        "%s of a variant is not supported; to_json(v) and CAST(v AS STRING) give its text", name);
}

enum fz_code fz_bind_call(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e,
                          const struct fz_expr **out) {
    const char *name = e->name.parts[e->name.n - 1];
    bool iceberg = e->name.n == 3 && fz_strcasecmp(e->name.parts[1], "system") == 0; // ice.system.bucket
    if (e->name.n > 1 && !iceberg && fz_strcasecmp(e->name.parts[0], "system") != 0 &&
        fz_strcasecmp(e->name.parts[0], "builtin") != 0) {
        return unresolved(b, name);
    }
    *out = NULL;
    if (fz_bind_is_generator(e)) {
        return fz_fail_cond(b->err, FZ_UNSUPPORTED, "UNSUPPORTED_GENERATOR.NESTED_IN_EXPRESSIONS",
                            "The generator %s may only stand alone in SELECT, in LATERAL VIEW or in FROM", name);
    }
    if (fz_bind_is_lambda_call(e)) {
        return fz_bind_lambda_call(b, s, e, name, out);
    }
    const struct fz_func *fn = fz_func_find(name, NULL);
    const struct fz_expr **args = NULL;
    size_t n = 0;
    FZ_RET(bind_args(b, s, e, fn, &args, &n));
    FZ_RET(check_variants(b, e, name, args, n));
    bool ignore_nulls = e->ignore_nulls;
    if (n == 2 && (is_name(e, "first") || is_name(e, "last") || is_name(e, "any_value") || is_name(e, "first_value") ||
                   is_name(e, "last_value"))) {
        if (args[1]->kind != FZ_EXPR_LITERAL || args[1]->type->id != FZ_TYPE_BOOLEAN) {
            return fz_bind_type_error(b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE",
                                      "The second argument of %s must be true or false", name);
        }
        ignore_nulls = args[1]->u.literal->u.boolean;
        n = 1;
    }
    if (fn != NULL && fn->flags & FZ_FN_WIN && e->over == NULL) {
        return fz_fail_cond(b->err, FZ_INVALID_ARG, "WINDOW_FUNCTION_WITHOUT_OVER_CLAUSE",
                            "Window function %s() requires an OVER clause", name);
    }
    FZ_RET(fz_bind_special(b, s, e, name, args, n, out));
    if (*out == NULL && iceberg) {
        return unresolved(b, name);
    }
    if (*out == NULL) {
        FZ_RET(fz_bind_function(b, name, args, n, out));
    }
    bool aggregate = (*out)->kind == FZ_EXPR_AGGREGATE, window = (*out)->kind == FZ_EXPR_WINDOW;
    if (!aggregate && !window) {
        if (e->over != NULL || e->filter != NULL || e->distinct) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "UNSUPPORTED_EXPR_FOR_WINDOW",
                                "%s is neither an aggregate nor a window function", name);
        }
        return FZ_OK;
    }
    struct fz_expr *call = copy_call(b, *out);
    FZ_SOME(b, call);
    call->u.call.ignore_nulls = ignore_nulls;
    if (aggregate) {
        FZ_RET(finish_aggregate(b, s, e, call));
    }
    if (e->over != NULL) {
        FZ_RET(finish_window(b, s, e, call));
    }
    *out = call;
    return FZ_OK;
}
