// What a name means: columns of the scope (qualified, then unqualified with struct fields behind), lambda variables, aliases of the
// SELECT list, then the enclosing query. Also the names Spark gives to unnamed output columns (spark-on-duckdb section 10).
#include "sql/sql_bind_priv.h"

#include <stdlib.h>

enum fz_code fz_scope_add(fz_binder *b, struct fz_sql_scope *s, struct fz_sql_col col) {
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 16;
        struct fz_sql_col *cols = fz_arena_array(b->arena, cap, sizeof *cols);
        FZ_SOME(b, cols);
        if (s->n > 0) {
            memcpy(cols, s->cols, s->n * sizeof *cols);
        }
        s->cols = cols;
        s->cap = cap;
    }
    s->cols[s->n++] = col;
    return FZ_OK;
}

void fz_bind_mark(fz_binder *b, const struct fz_expr *e) {
    if (e->kind != FZ_EXPR_COLUMN) {
        for (size_t i = 0; i < e->n_args; i++) {
            fz_bind_mark(b, e->args[i]);
        }
        return;
    }
    for (size_t i = 0; i < b->n_uses; i++) {
        struct fz_sql_scan *scan = b->uses[i].scan;
        if (scan->relation != e->u.column.relation) {
            continue;
        }
        for (size_t k = 0; k < scan->table.n_fields + scan->table.n_hidden; k++) {
            const struct fz_field *f =
                k < scan->table.n_fields ? &scan->table.fields[k] : &scan->table.hidden[k - scan->table.n_fields];
            if (f->id == e->u.column.field_id) {
                b->uses[i].used[k] = true;
            }
        }
        return;
    }
}

const struct fz_expr *fz_bind_field_ix(fz_binder *b, const struct fz_expr *base, size_t ix) {
    struct fz_expr *e = FZ_ARENA_NEW(b->arena, struct fz_expr);
    const struct fz_expr **args = fz_arena_memdup(b->arena, &base, sizeof base);
    if (e == NULL || args == NULL) {
        return NULL;
    }
    const struct fz_field *f = &base->type->fields[ix];
    e->kind = FZ_EXPR_FIELD;
    e->type = f->type;
    e->nullable = base->nullable || !f->required;
    e->n_args = 1;
    e->args = args;
    e->u.field.index = (int32_t)ix;
    e->u.field.field_id = f->id;
    e->u.field.name = f->name;
    return e;
}

static int find_field(const struct fz_type *t, const char *name, bool *ambiguous) {
    int found = -1;
    for (size_t i = 0; i < t->n_fields; i++) {
        if (fz_strcasecmp(t->fields[i].name, name) == 0) {
            *ambiguous = found >= 0;
            found = (int)i;
        }
    }
    return found;
}

enum fz_code fz_bind_field(fz_binder *b, const struct fz_expr *base, const char *field, const struct fz_pos *pos,
                           const struct fz_expr **out) {
    const struct fz_type *t = base->type;
    bool ambiguous = false;
    if (t->id == FZ_TYPE_STRUCT) {
        int ix = find_field(t, field, &ambiguous);
        if (ix < 0) {
            fz_fail_cond(b->err, FZ_NOT_FOUND, "FIELD_NOT_FOUND", "No such struct field `%s` in %s", field,
                         fz_sql_type_text(b->arena, t));
            fz_err_at(b->err, pos->line, pos->column);
            return b->err ? b->err->code : FZ_NOT_FOUND;
        }
        if (ambiguous) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "AMBIGUOUS_REFERENCE_TO_FIELDS",
                                "Ambiguous reference to the field `%s`", field);
        }
        *out = fz_bind_field_ix(b, base, (size_t)ix);
        FZ_SOME(b, *out);
        return FZ_OK;
    }
    if (t->id == FZ_TYPE_LIST && t->fields[0].type->id == FZ_TYPE_STRUCT) { // maps over the array
        const struct fz_type *st = t->fields[0].type;
        int ix = find_field(st, field, &ambiguous);
        if (ix < 0) {
            return fz_fail_cond(b->err, FZ_NOT_FOUND, "FIELD_NOT_FOUND", "No such struct field `%s` in %s", field,
                                fz_sql_type_text(b->arena, st));
        }
        const struct fz_type *lt = fz_type_list(b->arena, 0, false, st->fields[ix].type);
        FZ_SOME(b, lt);
        const struct fz_expr *args[2] = {base, fz_bind_int(b, FZ_TYPE_INT, ix)};
        *out = fz_bind_internal(b, "op.array_fields", lt, args, 2);
        FZ_SOME(b, *out);
        return FZ_OK;
    }
    if (t->id == FZ_TYPE_MAP) {
        return fz_bind_index(b, base, fz_bind_text(b, field), out);
    }
    fz_fail_cond(b->err, FZ_SCHEMA_MISMATCH, "INVALID_EXTRACT_BASE_FIELD_TYPE",
                 "Can't extract the field `%s` from a value of type %s", field, fz_sql_type_text(b->arena, t));
    fz_err_at(b->err, pos->line, pos->column);
    return b->err ? b->err->code : FZ_SCHEMA_MISMATCH;
}

struct fz_ast_expr *fz_bind_keyword(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e) {
    struct fz_sql_scope here = *s; // neither columns of an outer query nor aliases to the left come before the function
    struct fz_err ignored = FZ_ERR_INIT;
    struct fz_err *saved = b->err;
    const struct fz_expr *column = NULL;
    here.outer = NULL;
    here.aliases = here.aliases == FZ_ALIAS_AFTER ? FZ_ALIAS_NONE : here.aliases;
    b->err = &ignored;
    enum fz_code rc = fz_bind_resolve_name(b, &here, &e->name, true, &column);
    b->err = saved;
    if (rc != FZ_OK || column != NULL) {
        return NULL;
    }
    struct fz_ast_expr *call = fz_arena_memdup(b->arena, e, sizeof *e);
    if (call != NULL) {
        call->kind = FZ_AST_CALL;
    }
    return call;
}

// Does the qualifier parts[0..k) mean this column's relation? k = 1: alias or table name; more: tail of ice.db.t.
static bool qualifier_fits(const struct fz_sql_col *c, const struct fz_ast_name *name, size_t k) {
    if (k == 1) {
        return c->qualifier != NULL && fz_strcasecmp(c->qualifier, name->parts[0]) == 0;
    }
    if (c->full == NULL) {
        return false;
    }
    const char *end = c->full + strlen(c->full);
    for (size_t i = k; i > 0; i--) {
        size_t len = strlen(name->parts[i - 1]);
        if ((size_t)(end - c->full) < len ||
            !fz_str_ieq((struct fz_str){end - len, len}, fz_str_of(name->parts[i - 1]))) {
            return false;
        }
        end -= len;
        if (i > 1) {
            if (end == c->full || end[-1] != '.') {
                return false;
            }
            end--;
        }
    }
    return end == c->full || end[-1] == '.';
}

static enum fz_code ambiguous(fz_binder *b, const struct fz_ast_name *name, const struct fz_sql_col *x,
                              const struct fz_sql_col *y) {
    fz_fail_cond(b->err, FZ_INVALID_ARG, "AMBIGUOUS_REFERENCE",
                 "Reference `%s` is ambiguous, could be: [%s%s`%s`, %s%s`%s`]", name->parts[name->n - 1],
                 x->qualifier ? x->qualifier : "", x->qualifier ? "." : "", x->name, y->qualifier ? y->qualifier : "",
                 y->qualifier ? "." : "", y->name);
    fz_err_at(b->err, name->pos.line, name->pos.column);
    return b->err ? b->err->code : FZ_INVALID_ARG;
}

// Looks in one scope, without the outer ones. *used = how many parts of the name it took; 0: not found.
static enum fz_code find_in_scope(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_name *name,
                                  const struct fz_sql_col **out, size_t *used) {
    *used = 0;
    for (int hidden = 0; hidden < 2; hidden++) {
        size_t k = name->n - 1 < 3 ? name->n - 1 : 3;
        for (;; k--) {
            const struct fz_sql_col *found = NULL;
            for (size_t i = 0; i < s->n; i++) {
                const struct fz_sql_col *c = &s->cols[i];
                if (c->hidden != (hidden == 1) || (c->merged && k == 0) ||
                    fz_strcasecmp(c->name, name->parts[k]) != 0 || (k > 0 && !qualifier_fits(c, name, k))) {
                    continue;
                }
                if (found != NULL) {
                    return ambiguous(b, name, found, c);
                }
                found = c;
            }
            if (found != NULL) {
                *out = found;
                *used = k + 1;
                return FZ_OK;
            }
            if (k == 0) {
                break;
            }
        }
    }
    return FZ_OK;
}

static enum fz_code find_alias(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_name *name,
                               const struct fz_expr **out) {
    const struct fz_expr *found = NULL;
    for (size_t i = 0; i < s->n_items; i++) {
        if (s->items[i].expr == NULL || fz_strcasecmp(s->items[i].name, name->parts[0]) != 0) {
            continue;
        }
        if (found != NULL && !fz_expr_same(found, s->items[i].expr)) {
            return fz_fail_cond(b->err, FZ_INVALID_ARG, "AMBIGUOUS_REFERENCE",
                                "Reference `%s` is ambiguous: several columns of the SELECT list have this name",
                                name->parts[0]);
        }
        found = s->items[i].expr;
    }
    *out = found;
    return FZ_OK;
}

static enum fz_code with_fields(fz_binder *b, const struct fz_expr *e, const struct fz_ast_name *name, size_t from,
                                const struct fz_expr **out) {
    for (size_t i = from; i < name->n; i++) {
        FZ_RET(fz_bind_field(b, e, name->parts[i], &name->pos, &e));
    }
    *out = e;
    return FZ_OK;
}

enum fz_code fz_bind_resolve_name(fz_binder *b, struct fz_sql_scope *start, const struct fz_ast_name *name, bool quiet,
                                  const struct fz_expr **out) {
    *out = NULL;
    for (struct fz_sql_lambda *l = start->lambdas; l != NULL; l = l->outer) {
        if (fz_strcasecmp(l->name, name->parts[0]) == 0) {
            return with_fields(b, l->expr, name, 1, out);
        }
    }
    for (struct fz_sql_scope *s = start; s != NULL; s = s->outer) {
        const struct fz_expr *alias = NULL;
        if (s == start && s->aliases == FZ_ALIAS_BEFORE) {
            FZ_RET(find_alias(b, s, name, &alias));
            if (alias != NULL) {
                return with_fields(b, alias, name, 1, out);
            }
        }
        const struct fz_sql_col *col = NULL;
        size_t used = 0;
        FZ_RET(find_in_scope(b, s, name, &col, &used));
        if (used > 0) {
            fz_bind_mark(b, col->expr);
            const struct fz_expr *e = col->expr;
            if (e->kind == FZ_EXPR_COLUMN &&
                strcmp(e->u.column.name ? e->u.column.name : "", name->parts[used - 1]) != 0) {
                struct fz_expr *copy = fz_arena_memdup(b->arena, e, sizeof *e); // keeps the spelling used here
                FZ_SOME(b, copy);
                copy->u.column.name = name->parts[used - 1];
                e = copy;
            }
            return with_fields(b, e, name, used, out);
        }
        if (s == start && s->aliases == FZ_ALIAS_AFTER) {
            FZ_RET(find_alias(b, s, name, &alias));
            if (alias != NULL) {
                return with_fields(b, alias, name, 1, out);
            }
        }
    }
    return quiet ? FZ_OK : fz_bind_unresolved(b, start, name);
}

struct suggestion {
    size_t distance;
    const char *text;
};
static int by_distance(const void *x, const void *y) {
    const struct suggestion *a = x, *b = y;
    return a->distance < b->distance ? -1 : a->distance > b->distance ? 1 : strcmp(a->text, b->text);
}

enum fz_code fz_bind_unresolved(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_name *name) {
    struct fz_buf text = {0}, list = {0};
    for (size_t i = 0; i < name->n; i++) {
        fz_buf_printf(&text, "%s`%s`", i ? "." : "", name->parts[i]);
    }
    struct suggestion *found = fz_arena_array(b->arena, s->n + 1, sizeof *found);
    size_t n = 0;
    for (size_t i = 0; found != NULL && i < s->n; i++) {
        if (s->cols[i].hidden) {
            continue;
        }
        bool qualified = name->n > 1 && s->cols[i].qualifier != NULL;
        found[n].text = qualified ? fz_arena_printf(b->arena, "`%s`.`%s`", s->cols[i].qualifier, s->cols[i].name)
                                  : fz_arena_printf(b->arena, "`%s`", s->cols[i].name);
        found[n].distance = fz_edit_distance(fz_str_of(s->cols[i].name), fz_str_of(name->parts[name->n - 1]));
        n += found[n].text != NULL;
    }
    if (n > 0) {
        qsort(found, n, sizeof *found, by_distance);
    }
    for (size_t i = 0; i < n && i < 5; i++) {
        fz_buf_printf(&list, "%s%s", i ? ", " : "", found[i].text);
    }
    enum fz_code rc = n > 0 ? fz_fail_cond(b->err, FZ_NOT_FOUND, "UNRESOLVED_COLUMN.WITH_SUGGESTION",
                                           "A column, variable, or function parameter with name %s cannot be resolved. "
                                           "Did you mean one of the following? [%s]",
                                           text.ptr ? text.ptr : "", list.ptr ? list.ptr : "")
                            : fz_fail_cond(b->err, FZ_NOT_FOUND, "UNRESOLVED_COLUMN.WITHOUT_SUGGESTION",
                                           "A column, variable, or function parameter with name %s cannot be resolved",
                                           text.ptr ? text.ptr : "");
    fz_err_at(b->err, name->pos.line, name->pos.column);
    fz_buf_dispose(&text);
    fz_buf_dispose(&list);
    return rc;
}

// ---- output names ----
static void name_expr(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, struct fz_buf *out, int depth);

static void name_list(fz_binder *b, struct fz_sql_scope *s, struct fz_ast_expr *const *args, size_t n,
                      struct fz_buf *out, int depth) {
    for (size_t i = 0; i < n; i++) {
        fz_buf_puts(out, i ? ", " : "");
        name_expr(b, s, args[i], out, depth);
    }
}

static void name_name(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_name *name, struct fz_buf *out) {
    struct fz_err quiet = FZ_ERR_INIT;
    struct fz_err *saved = b->err;
    b->err = &quiet;
    for (struct fz_sql_lambda *l = s->lambdas; l != NULL; l = l->outer) {
        if (fz_strcasecmp(l->name, name->parts[0]) == 0) {
            fz_buf_puts(out, "namedlambdavariable()");
            b->err = saved;
            return;
        }
    }
    size_t used = name->n; // parts taken by qualifier and column
    for (struct fz_sql_scope *at = s; at != NULL; at = at->outer) {
        const struct fz_sql_col *col = NULL;
        size_t n = 0;
        if (find_in_scope(b, at, name, &col, &n) == FZ_OK && n > 0) {
            used = n;
            break;
        }
    }
    b->err = saved;
    for (size_t i = used - 1; i < name->n; i++) {
        fz_buf_printf(out, "%s%s", i >= used ? "." : "", name->parts[i]);
    }
}

static void name_literal(const struct fz_value *v, struct fz_buf *out) {
    if (v->is_null) {
        fz_buf_puts(out, "NULL");
        return;
    }
    switch ((int)v->type->id) {
    case FZ_TYPE_DATE:
        fz_buf_puts(out, "DATE '");
        break;
    case FZ_TYPE_TIMESTAMPTZ:
        fz_buf_puts(out, "TIMESTAMP '");
        break;
    case FZ_TYPE_TIMESTAMP:
        fz_buf_puts(out, "TIMESTAMP_NTZ '");
        break;
    case FZ_TYPE_BINARY:
        fz_buf_puts(out, "X'");
        for (size_t i = 0; i < v->u.bytes.len; i++) {
            fz_buf_printf(out, "%02X", (unsigned char)v->u.bytes.ptr[i]);
        }
        fz_buf_putc(out, '\'');
        return;
    default:
        fz_value_print(out, v);
        return;
    }
    fz_value_print(out, v);
    fz_buf_putc(out, '\'');
}

static void name_order(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_order *order, size_t n,
                       struct fz_buf *out, int depth) {
    for (size_t i = 0; i < n; i++) {
        fz_buf_puts(out, i ? ", " : "");
        name_expr(b, s, order[i].expr, out, depth);
        bool last = order[i].nulls_set ? order[i].nulls_last : order[i].descending;
        fz_buf_printf(out, " %s NULLS %s", order[i].descending ? "DESC" : "ASC", last ? "LAST" : "FIRST");
    }
}

static void name_bound(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_bound *at, struct fz_buf *out,
                       int depth) {
    static const char *const words[] = {"UNBOUNDED PRECEDING", "PRECEDING", "CURRENT ROW", "FOLLOWING",
                                        "UNBOUNDED FOLLOWING"};
    if (at->expr != NULL) {
        name_expr(b, s, at->expr, out, depth);
        fz_buf_putc(out, ' ');
    }
    fz_buf_puts(out, words[at->kind]);
}

static void name_over(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_window *w, bool ranked,
                      struct fz_buf *out, int depth) {
    fz_buf_puts(out, " OVER (");
    const char *gap = "";
    if (w->n_partition_by > 0) {
        fz_buf_puts(out, "PARTITION BY ");
        name_list(b, s, w->partition_by, w->n_partition_by, out, depth);
        gap = " ";
    }
    if (w->n_order_by > 0) {
        fz_buf_printf(out, "%sORDER BY ", gap);
        name_order(b, s, w->order_by, w->n_order_by, out, depth);
        gap = " ";
    }
    if (w->has_frame) {
        fz_buf_printf(out, "%s%s BETWEEN ", gap, w->range ? "RANGE" : "ROWS");
        name_bound(b, s, &w->from, out, depth);
        fz_buf_puts(out, " AND ");
        name_bound(b, s, &w->to, out, depth);
    } else if (ranked) {
        fz_buf_printf(out, "%sROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", gap);
    } else if (w->n_order_by > 0) {
        fz_buf_printf(out, "%sRANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW", gap);
    } else {
        fz_buf_printf(out, "%sROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING", gap);
    }
    fz_buf_putc(out, ')');
}

// v:a.b is named b, where it stands alone; `path` is what the parser made of it.
static struct fz_str last_step(struct fz_str path) {
    size_t end = path.len;
    while (end > 1 && path.ptr[end - 1] == ']') { // ['name'] or [0]
        bool quoted = path.ptr[end - 2] == '\'';
        size_t start = end - 2;
        while (start > 0 && path.ptr[start - 1] != (quoted ? '\'' : '[')) {
            start--;
        }
        if (quoted || start == 0) {
            return (struct fz_str){path.ptr + start, end - 2 - start};
        }
        end = start - 1;
    }
    size_t start = end;
    while (start > 0 && path.ptr[start - 1] != '.') {
        start--;
    }
    return (struct fz_str){path.ptr + start, end - start};
}

static void name_path(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, struct fz_buf *out,
                      int depth) {
    struct fz_str path = e->args[1]->literal->u.bytes, last = last_step(path);
    if (depth > 1) {
        fz_buf_puts(out, "variant_get(");
        name_expr(b, s, e->args[0], out, depth);
        fz_buf_printf(out, ", %.*s) AS ", (int)path.len, path.ptr);
    }
    fz_buf_append(out, last.ptr, last.len);
}

static void name_call(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, struct fz_buf *out,
                      int depth) {
    const char *name = e->name.parts[e->name.n - 1];
    if (e->text != NULL && strcmp(e->text, ":") == 0 && e->args[1]->kind == FZ_AST_LITERAL) {
        name_path(b, s, e, out, depth);
        return;
    }
    struct fz_buf lower = {0};
    for (const char *p = name; *p; p++) {
        fz_buf_putc(&lower, (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p));
    }
    const char *shown = lower.ptr ? lower.ptr : "";
    if (strcmp(shown, "user") == 0 || strcmp(shown, "session_user") == 0) {
        shown = "current_user";
    }
    if (strcmp(shown, "if") == 0) {
        fz_buf_puts(out, "(IF(");
        name_list(b, s, e->args, e->n_args, out, depth);
        fz_buf_puts(out, "))");
    } else {
        fz_buf_printf(out, "%s(%s", strcmp(shown, "rlike") == 0 || strcmp(shown, "regexp") == 0 ? "RLIKE" : shown,
                      e->distinct ? "DISTINCT " : "");
        if (strcmp(shown, "count") == 0 && e->n_args == 1 && e->args[0]->kind == FZ_AST_STAR) {
            fz_buf_putc(out, '1');
        } else {
            bool typed = e->n_args == 3 && strstr(shown, "variant_get") != NULL; // Spark leaves the type out
            name_list(b, s, e->args, typed ? 2 : e->n_args, out, depth);
        }
        fz_buf_putc(out, ')');
    }
    if (e->n_within_group > 0) {
        fz_buf_puts(out, " WITHIN GROUP (ORDER BY ");
        name_order(b, s, e->within_group, e->n_within_group, out, depth);
        fz_buf_putc(out, ')');
    }
    if (e->ignore_nulls) {
        fz_buf_puts(out, " IGNORE NULLS");
    }
    if (e->filter != NULL) {
        fz_buf_puts(out, " FILTER (WHERE ");
        name_expr(b, s, e->filter, out, depth);
        fz_buf_putc(out, ')');
    }
    if (e->over != NULL) {
        const struct fz_func *fn = fz_func_find(name, NULL);
        const struct fz_ast_window *w = e->over;
        for (size_t i = 0; w->name != NULL && s->windows != NULL && i < s->windows->n_windows; i++) {
            if (fz_strcasecmp(s->windows->windows[i].name, w->name) == 0 && w->n_order_by == 0 &&
                w->n_partition_by == 0) {
                w = s->windows->windows[i].window;
                break;
            }
        }
        name_over(b, s, w, fn != NULL && fn->flags & FZ_FN_WIN, out, depth);
    }
    fz_buf_dispose(&lower);
}

static void name_expr(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e, struct fz_buf *out,
                      int depth) {
    if (depth > FZ_BIND_MAX_DEPTH || out->len > 65536) {
        return;
    }
    depth++;
    switch (e->kind) {
    case FZ_AST_LITERAL:
        name_literal(e->literal, out);
        return;
    case FZ_AST_NAME: {
        const struct fz_ast_expr *call = e->text != NULL ? fz_bind_keyword(b, s, e) : NULL;
        if (call != NULL) {
            name_call(b, s, call, out, depth);
        } else {
            name_name(b, s, &e->name, out);
        }
        return;
    }
    case FZ_AST_STAR:
        fz_buf_putc(out, '*');
        return;
    case FZ_AST_UNARY:
        fz_buf_printf(out,
                      strcmp(e->op, "+") == 0 || strcmp(e->op, "-") == 0 || strcmp(e->op, "NOT") == 0 ? "(%s " : "%s",
                      e->op);
        name_expr(b, s, e->args[0], out, depth);
        if (strcmp(e->op, "~") != 0) {
            fz_buf_putc(out, ')');
        }
        return;
    case FZ_AST_BINARY:
        if (strcmp(e->op, "||") == 0) {
            fz_buf_puts(out, "concat(");
            name_list(b, s, e->args, 2, out, depth);
            fz_buf_putc(out, ')');
            return;
        }
        if (strcmp(e->op, "<>") == 0) {
            fz_buf_puts(out, "(NOT (");
            name_expr(b, s, e->args[0], out, depth);
            fz_buf_puts(out, " = ");
            name_expr(b, s, e->args[1], out, depth);
            fz_buf_puts(out, "))");
            return;
        }
        fz_buf_putc(out, '(');
        name_expr(b, s, e->args[0], out, depth);
        fz_buf_printf(out, " %s ", strcmp(e->op, "DIV") == 0 ? "div" : e->op);
        name_expr(b, s, e->args[1], out, depth);
        fz_buf_putc(out, ')');
        return;
    case FZ_AST_IS:
        if (strcmp(e->text, "DISTINCT") == 0) {
            fz_buf_puts(out, e->negated ? "(" : "(NOT (");
            name_expr(b, s, e->args[0], out, depth);
            fz_buf_puts(out, " <=> ");
            name_expr(b, s, e->args[1], out, depth);
            fz_buf_puts(out, e->negated ? ")" : "))");
            return;
        }
        fz_buf_putc(out, '(');
        name_expr(b, s, e->args[0], out, depth);
        fz_buf_printf(out, " IS %s%s)", e->negated ? "NOT " : "", e->text);
        return;
    case FZ_AST_BETWEEN:
        fz_buf_puts(out, e->negated ? "(NOT between(" : "between(");
        name_list(b, s, e->args, 3, out, depth);
        fz_buf_puts(out, e->negated ? "))" : ")");
        return;
    case FZ_AST_IN:
        fz_buf_puts(out, e->negated ? "(NOT (" : "(");
        name_expr(b, s, e->args[0], out, depth);
        fz_buf_puts(out, " IN (");
        if (e->query != NULL) {
            fz_buf_puts(out, "listquery()");
        } else {
            name_list(b, s, e->args + 1, e->n_args - 1, out, depth);
        }
        fz_buf_puts(out, e->negated ? ")))" : "))");
        return;
    case FZ_AST_LIKE:
        fz_buf_puts(out, e->negated ? "(NOT " : "");
        if (strcmp(e->op, "RLIKE") == 0) {
            fz_buf_puts(out, "RLIKE(");
            name_list(b, s, e->args, e->n_args, out, depth);
            fz_buf_putc(out, ')');
        } else {
            fz_buf_puts(out, strcmp(e->op, "ILIKE") == 0 ? "ilike(" : "");
            name_expr(b, s, e->args[0], out, depth);
            fz_buf_puts(out, strcmp(e->op, "ILIKE") == 0 ? ", " : " LIKE ");
            name_list(b, s, e->args + 1, e->n_args - 1, out, depth);
            fz_buf_puts(out, strcmp(e->op, "ILIKE") == 0 ? ")" : "");
        }
        fz_buf_puts(out, e->negated ? ")" : "");
        return;
    case FZ_AST_CASE: {
        fz_buf_puts(out, "CASE");
        for (size_t i = 0; i + 1 < e->n_args; i += 2) {
            fz_buf_puts(out, " WHEN ");
            if (e->base != NULL) {
                fz_buf_putc(out, '(');
                name_expr(b, s, e->base, out, depth);
                fz_buf_puts(out, " = ");
            }
            name_expr(b, s, e->args[i], out, depth);
            fz_buf_puts(out, e->base != NULL ? ") THEN " : " THEN ");
            name_expr(b, s, e->args[i + 1], out, depth);
        }
        if (e->n_args % 2 == 1) {
            fz_buf_puts(out, " ELSE ");
            name_expr(b, s, e->args[e->n_args - 1], out, depth);
        }
        fz_buf_puts(out, " END");
        return;
    }
    case FZ_AST_CAST:
        if (e->text != NULL && strcmp(e->text, "TIMESTAMP") == 0) { // a literal
            fz_buf_puts(out, "TIMESTAMP '");
            fz_value_print(out, e->args[0]->literal);
            fz_buf_putc(out, '\'');
            return;
        }
        if (e->args[0]->kind == FZ_AST_NAME && e->args[0]->text == NULL && depth == 1) {
            name_name(b, s, &e->args[0]->name, out);
            return;
        }
        if (e->args[0]->kind == FZ_AST_CALL && e->args[0]->text != NULL && strcmp(e->args[0]->text, ":") == 0 &&
            depth == 1) {
            name_path(b, s, e->args[0], out, depth);
            return;
        }
        fz_buf_printf(out, "%s(", e->op != NULL && strcmp(e->op, "TRY_CAST") == 0 ? "TRY_CAST" : "CAST");
        name_expr(b, s, e->args[0], out, depth);
        fz_buf_printf(out, " AS %s)", fz_sql_type_text(b->arena, e->type));
        return;
    case FZ_AST_CALL:
        name_call(b, s, e, out, depth);
        return;
    case FZ_AST_INDEX:
        name_expr(b, s, e->args[0], out, depth);
        fz_buf_putc(out, '[');
        name_expr(b, s, e->args[1], out, depth);
        fz_buf_putc(out, ']');
        return;
    case FZ_AST_DOT:
        if (depth > 1) {
            name_expr(b, s, e->args[0], out, depth);
            fz_buf_putc(out, '.');
        }
        fz_buf_puts(out, e->text);
        return;
    case FZ_AST_LAMBDA: {
        struct fz_sql_lambda *saved = s->lambdas;
        for (size_t i = 0; i < e->n_params; i++) {
            struct fz_sql_lambda *l = FZ_ARENA_NEW(b->arena, struct fz_sql_lambda);
            if (l == NULL) {
                break;
            }
            *l = (struct fz_sql_lambda){s->lambdas, e->params[i], NULL};
            s->lambdas = l;
        }
        fz_buf_puts(out, "lambdafunction(");
        name_expr(b, s, e->args[0], out, depth);
        for (size_t i = 0; i < e->n_params; i++) {
            fz_buf_puts(out, ", namedlambdavariable()");
        }
        fz_buf_putc(out, ')');
        s->lambdas = saved;
        return;
    }
    case FZ_AST_SUBQUERY:
        fz_buf_puts(out, "scalarsubquery()");
        return;
    case FZ_AST_EXISTS:
        fz_buf_puts(out, "exists()");
        return;
    case FZ_AST_ROW:
        fz_buf_puts(out, "struct(");
        name_list(b, s, e->args, e->n_args, out, depth);
        fz_buf_putc(out, ')');
        return;
    case FZ_AST_INTERVAL:
    case FZ_AST_DEFAULT:
    case FZ_AST_PARAMETER:
        fz_buf_puts(out, e->text ? e->text : e->op ? e->op : "?");
        return;
    }
}

const char *fz_bind_output_name(fz_binder *b, struct fz_sql_scope *s, const struct fz_ast_expr *e) {
    if (e->kind == FZ_AST_NAME && (e->text == NULL || fz_bind_keyword(b, s, e) == NULL)) { // `a.b.c`: the last part
        return e->name.parts[e->name.n - 1];
    }
    struct fz_buf buf = {0};
    name_expr(b, s, e, &buf, 0);
    const char *text = buf.failed ? NULL : fz_arena_strndup(b->arena, buf.ptr ? buf.ptr : "", buf.len);
    fz_buf_dispose(&buf);
    return text;
}
