// Bound queries as DuckDB SQL. A block prints as one SELECT; its output columns are c1..cn, cast to their bound types. Leaves of FROM are
// r<relation> with columns c<field id>.
#include "duck/duck.h"
#include "sql/sql_print_priv.h"

enum { MAX_DEPTH = 1000 };

static enum fz_code print_from(struct fz_buf *out, const struct fz_sql_rel *rel, int depth, struct fz_err *err);

static void print_name(struct fz_buf *out, const char *name) {
    fz_buf_putc(out, '"');
    for (; *name; name++) {
        fz_buf_putc(out, *name);
        if (*name == '"') {
            fz_buf_putc(out, '"');
        }
    }
    fz_buf_putc(out, '"');
}

// Whether a cast of the whole value would not do: structs, and timestamps inside.
static bool needs_parts(const struct fz_type *t) {
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct fz_type *inner = t->fields[i].type;
        if (t->id == FZ_TYPE_STRUCT || inner->id == FZ_TYPE_TIMESTAMP || needs_parts(inner)) {
            return true;
        }
    }
    return false;
}

// Nanoseconds in a file become microseconds, rounded down; DuckDB's cast rounds toward 1970. The type of the value is known when the
// statement is planned, so the CASE costs nothing.
static void print_file_timestamp(struct fz_buf *out, const char *value) {
    fz_buf_printf(
        out,
        "(CASE WHEN typeof(%s) = 'TIMESTAMP_NS' THEN make_timestamp((epoch_ns(%s) - ((epoch_ns(%s) %% 1000 + 1000) %% "
        "1000)) // 1000) ELSE CAST(%s AS TIMESTAMP) END)",
        value, value, value, value);
}

// A value of a file as our type. DuckDB casts structs by the names of their fields, and ours are called f1..fn: structs are taken
// apart and packed again.
static void print_file_value(struct fz_buf *out, const char *value, const struct fz_type *t, int depth) {
    if (t->id == FZ_TYPE_TIMESTAMP) {
        print_file_timestamp(out, value);
        return;
    }
    if (!needs_parts(t)) {
        fz_buf_printf(out, "CAST(%s AS ", value);
        fz_duck_type_print(out, t);
        fz_buf_putc(out, ')');
        return;
    }
    fz_buf_printf(out, "CASE WHEN %s IS NULL THEN NULL ELSE ", value);
    struct fz_buf inner = {0};
    if (t->id == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < t->n_fields; i++) {
            fz_buf_printf(out, "%sf%zu := ", i ? ", " : "struct_pack(", i + 1);
            inner.len = 0;
            fz_buf_printf(&inner, "struct_extract(%s, ", value);
            fz_print_string(&inner, fz_str_of(t->fields[i].name));
            fz_buf_putc(&inner, ')');
            print_file_value(out, inner.ptr, t->fields[i].type, depth + 1);
        }
        fz_buf_putc(out, ')');
    } else if (t->id == FZ_TYPE_LIST) {
        fz_buf_printf(&inner, "x%d", depth);
        fz_buf_printf(out, "list_transform(%s, lambda x%d: ", value, depth);
        print_file_value(out, inner.ptr, t->fields[0].type, depth + 1);
        fz_buf_putc(out, ')');
    } else {
        fz_buf_printf(out, "map_from_entries(list_transform(map_entries(%s), lambda x%d: struct_pack(k := ", value,
                      depth);
        fz_buf_printf(&inner, "x%d.key", depth);
        print_file_value(out, inner.ptr, t->fields[0].type, depth + 1);
        fz_buf_puts(out, ", v := ");
        inner.len = 0;
        fz_buf_printf(&inner, "x%d.value", depth);
        print_file_value(out, inner.ptr, t->fields[1].type, depth + 1);
        fz_buf_puts(out, ")))");
    }
    fz_buf_puts(out, " END");
    out->failed |= inner.failed;
    fz_buf_dispose(&inner);
}

static void print_scan(struct fz_buf *out, const struct fz_sql_scan *scan) {
    if (scan->table.duck_relation == NULL) {
        fz_buf_printf(out, "fz_scan(%lld)", (long long)scan->registered_id);
        return;
    }
    fz_buf_puts(out, "(SELECT ");
    for (size_t i = 0; i < scan->n_columns; i++) {
        const struct fz_field *f = &scan->columns[i];
        struct fz_buf name = {0};
        print_name(&name, f->name);
        fz_buf_puts(out, i ? ", " : "");
        print_file_value(out, name.ptr, f->type, 0);
        fz_buf_printf(out, " AS c%d", (int)f->id);
        fz_buf_dispose(&name);
    }
    fz_buf_printf(out, " FROM %s)", scan->table.duck_relation);
}

static enum fz_code print_values(struct fz_buf *out, const struct fz_sql_rel *rel, int depth, struct fz_err *err) {
    fz_buf_puts(out, "(VALUES ");
    for (size_t i = 0; i < rel->n_rows; i++) {
        fz_buf_puts(out, i ? ", (" : "(");
        for (size_t j = 0; j < rel->n_cols; j++) {
            fz_buf_puts(out, j ? ", " : "");
            FZ_RET(fz_print_expr(out, rel->cells[i * rel->n_cols + j], depth, err));
        }
        fz_buf_putc(out, ')');
    }
    fz_buf_printf(out, ") AS r%d(", (int)rel->relation);
    for (size_t j = 0; j < rel->n_cols; j++) {
        fz_buf_printf(out, "%sc%zu", j ? ", " : "", j + 1);
    }
    fz_buf_putc(out, ')');
    return FZ_OK;
}

static enum fz_code print_unnest(struct fz_buf *out, const struct fz_sql_rel *rel, int depth, struct fz_err *err) {
    fz_buf_puts(out, "(SELECT ");
    if (rel->with_position) {
        fz_buf_puts(out, "CAST(generate_subscripts(");
        FZ_RET(fz_print_expr(out, rel->cells[0], depth, err));
        fz_buf_puts(out, ", 1) - 1 AS INTEGER) AS c1, ");
    }
    fz_buf_puts(out, "unnest(");
    FZ_RET(fz_print_expr(out, rel->cells[0], depth, err));
    fz_buf_printf(out, ") AS c%d)", rel->with_position ? 2 : 1);
    return FZ_OK;
}

static enum fz_code print_leaf(struct fz_buf *out, const struct fz_sql_rel *rel, int depth, struct fz_err *err) {
    fz_buf_puts(out, rel->lateral ? "LATERAL " : "");
    switch ((int)rel->kind) {
    case FZ_REL_SCAN:
        print_scan(out, rel->scan);
        break;
    case FZ_REL_QUERY:
        fz_buf_putc(out, '(');
        FZ_RET(fz_print_query_depth(out, rel->query, depth, err));
        fz_buf_putc(out, ')');
        break;
    case FZ_REL_VALUES:
        return print_values(out, rel, depth, err);
    case FZ_REL_RANGE:
        fz_buf_puts(out, "(SELECT CAST(range AS BIGINT) AS c1 FROM range(");
        for (size_t i = 0; i < 3; i++) {
            fz_buf_puts(out, i ? ", " : "");
            FZ_RET(fz_print_expr(out, rel->cells[i], depth, err));
        }
        fz_buf_puts(out, "))");
        break;
    case FZ_REL_UNNEST:
        FZ_RET(print_unnest(out, rel, depth, err));
        break;
    case FZ_REL_SELF:
        fz_buf_printf(out, "w%d", (int)rel->self);
        break;
    default:
        return fz_fail(err, FZ_BUG, "relation kind %d is no leaf", (int)rel->kind);
    }
    fz_buf_printf(out, " AS r%d", (int)rel->relation);
    return FZ_OK;
}

static enum fz_code print_join(struct fz_buf *out, const struct fz_sql_rel *rel, int depth, struct fz_err *err) {
    FZ_RET(print_from(out, rel->left, depth, err));
    fz_buf_printf(out, " %s ", rel->join);
    bool nested = rel->right->kind == FZ_REL_JOIN;
    fz_buf_puts(out, nested ? "(" : "");
    FZ_RET(print_from(out, rel->right, depth, err));
    fz_buf_puts(out, nested ? ")" : "");
    if (rel->on != NULL) {
        fz_buf_puts(out, " ON ");
        FZ_RET(fz_print_expr(out, rel->on, depth, err));
    }
    return FZ_OK;
}

static enum fz_code print_from(struct fz_buf *out, const struct fz_sql_rel *rel, int depth, struct fz_err *err) {
    if (depth > MAX_DEPTH) {
        return fz_fail(err, FZ_LIMIT, "the statement is nested too deeply");
    }
    depth++;
    if (rel->kind == FZ_REL_JOIN) {
        return print_join(out, rel, depth, err);
    }
    if (rel->sample == NULL && rel->limit == NULL) {
        return print_leaf(out, rel, depth, err);
    }
    fz_buf_puts(out, "(SELECT * FROM "); // TABLESAMPLE
    FZ_RET(print_leaf(out, rel, depth, err));
    if (rel->sample != NULL) {
        fz_buf_puts(out, " WHERE random() * 100 < ");
        FZ_RET(fz_print_expr(out, rel->sample, depth, err));
    }
    if (rel->limit != NULL) {
        fz_buf_puts(out, " LIMIT ");
        FZ_RET(fz_print_expr(out, rel->limit, depth, err));
    }
    fz_buf_printf(out, ") AS r%d", (int)rel->relation);
    return FZ_OK;
}

static enum fz_code print_groups(struct fz_buf *out, const struct fz_sql_rel *b, int depth, struct fz_err *err) {
    if (b->sets == NULL) {
        for (size_t i = 0; i < b->n_groups; i++) {
            fz_buf_puts(out, i ? ", " : " GROUP BY ");
            FZ_RET(fz_print_expr(out, b->groups[i], depth, err));
        }
        return FZ_OK;
    }
    fz_buf_puts(out, " GROUP BY GROUPING SETS (");
    for (size_t s = 0; s < b->n_sets; s++) {
        fz_buf_puts(out, s ? ", (" : "(");
        const char *gap = "";
        for (size_t i = 0; i < b->n_groups; i++) {
            if (b->sets[s] >> i & 1) {
                fz_buf_puts(out, gap);
                FZ_RET(fz_print_expr(out, b->groups[i], depth, err));
                gap = ", ";
            }
        }
        fz_buf_putc(out, ')');
    }
    fz_buf_putc(out, ')');
    return FZ_OK;
}

static enum fz_code print_item(struct fz_buf *out, const struct fz_expr *e, int depth, struct fz_err *err) {
    if (e->kind == FZ_EXPR_COLUMN || e->kind == FZ_EXPR_LITERAL) { // their type is certain
        return fz_print_expr(out, e, depth, err);
    }
    fz_buf_puts(out, "CAST(");
    FZ_RET(fz_print_expr(out, e, depth, err));
    fz_buf_puts(out, " AS ");
    fz_duck_type_print(out, e->type);
    fz_buf_putc(out, ')');
    return FZ_OK;
}

static enum fz_code print_block(struct fz_buf *out, const struct fz_sql_rel *b, int depth, struct fz_err *err) {
    fz_buf_puts(out, b->distinct ? "SELECT DISTINCT " : "SELECT ");
    for (size_t i = 0; i < b->n_items; i++) {
        fz_buf_puts(out, i ? ", " : "");
        FZ_RET(print_item(out, b->items[i].expr, depth, err));
        fz_buf_printf(out, " AS c%zu", i + 1);
    }
    if (b->n_items == 0) { // `*` of a table that lost all columns, or of nothing: only the number of rows is left
        fz_buf_puts(out, "true AS c0");
    }
    if (b->from != NULL) {
        fz_buf_puts(out, " FROM ");
        FZ_RET(print_from(out, b->from, depth, err));
    }
    if (b->where != NULL) {
        fz_buf_puts(out, " WHERE ");
        FZ_RET(fz_print_expr(out, b->where, depth, err));
    }
    if (b->grouped) {
        FZ_RET(print_groups(out, b, depth, err));
    }
    if (b->having != NULL) {
        fz_buf_puts(out, " HAVING ");
        FZ_RET(fz_print_expr(out, b->having, depth, err));
    }
    if (b->n_order_by > 0) {
        fz_buf_puts(out, " ORDER BY ");
        FZ_RET(fz_print_order_list(out, b->order_by, b->n_order_by, b->distinct, depth, err));
    }
    if (b->limit != NULL) {
        fz_buf_puts(out, " LIMIT ");
        FZ_RET(fz_print_expr(out, b->limit, depth, err));
    }
    if (b->offset != NULL) {
        fz_buf_puts(out, " OFFSET ");
        FZ_RET(fz_print_expr(out, b->offset, depth, err));
    }
    return FZ_OK;
}

static void print_columns(struct fz_buf *out, size_t n) {
    for (size_t i = 0; i < n; i++) {
        fz_buf_printf(out, "%sc%zu", i ? ", " : "", i + 1);
    }
}

static enum fz_code print_recursive(struct fz_buf *out, const struct fz_sql_query *q, int depth, struct fz_err *err) {
    const struct fz_sql_rel *r = q->root;
    fz_buf_printf(out, "WITH RECURSIVE w%d(", (int)r->relation);
    print_columns(out, q->n_columns);
    fz_buf_puts(out, ") AS ((");
    FZ_RET(fz_print_query_depth(out, r->query, depth, err));
    fz_buf_puts(out, r->all ? ") UNION ALL (" : ") UNION (");
    FZ_RET(fz_print_query_depth(out, r->query2, depth, err));
    fz_buf_puts(out, ")) SELECT ");
    print_columns(out, q->n_columns);
    fz_buf_printf(out, " FROM w%d", (int)r->relation);
    return FZ_OK;
}

enum fz_code fz_print_query_depth(struct fz_buf *out, const struct fz_sql_query *q, int depth, struct fz_err *err) {
    const struct fz_sql_rel *root = q->root;
    if (depth > MAX_DEPTH) {
        return fz_fail(err, FZ_LIMIT, "the statement is nested too deeply");
    }
    depth++;
    switch ((int)root->kind) {
    case FZ_REL_BLOCK:
        return print_block(out, root, depth, err);
    case FZ_REL_RECURSIVE:
        return print_recursive(out, q, depth, err);
    case FZ_REL_SETOP:
        fz_buf_putc(out, '(');
        FZ_RET(fz_print_query_depth(out, root->query, depth, err));
        fz_buf_printf(out, ") %s%s (", root->setop, root->all ? " ALL" : "");
        FZ_RET(fz_print_query_depth(out, root->query2, depth, err));
        fz_buf_putc(out, ')');
        return FZ_OK;
    default:
        return fz_fail(err, FZ_BUG, "relation kind %d is no query", (int)root->kind);
    }
}

enum fz_code fz_sql_print_query(struct fz_buf *out, const struct fz_sql_query *query, struct fz_err *err) {
    enum fz_code rc = fz_print_query_depth(out, query, 0, err);
    return rc != FZ_OK ? rc : fz_buf_check(out, err);
}
