// SHOW, DESCRIBE, USE, SET, RESET, CALL, CACHE, REFRESH, EXECUTE IMMEDIATE.
#include "sql/sql_parse.h"

static void like_pattern(struct sql_parser *p, struct fz_ast_stmt *s) {
    if (fz_sql_accept(p, "LIKE") || fz_sql_peek(p, 0)->kind == SQL_STRING) {
        s->pattern = fz_sql_string(p);
    }
}
static void in_name(struct sql_parser *p, struct fz_ast_stmt *s) {
    if (fz_sql_accept(p, "IN") || fz_sql_accept(p, "FROM")) {
        s->name = fz_sql_object_name(p);
    }
}

static void show(struct sql_parser *p, struct fz_ast_stmt *s) { // after SHOW
    static const struct {
        const char *word, *text;
    } lists[] = {{"NAMESPACES", "NAMESPACES"}, {"DATABASES", "NAMESPACES"}, {"SCHEMAS", "NAMESPACES"},
                 {"TABLES", "TABLES"},         {"VIEWS", "VIEWS"},          {"CATALOGS", "CATALOGS"}};
    s->kind = FZ_STMT_SHOW;
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++) {
        if (fz_sql_accept(p, lists[i].word)) {
            s->text = lists[i].text;
            in_name(p, s);
            like_pattern(p, s);
            return;
        }
    }
    if (fz_sql_accept(p, "TBLPROPERTIES")) {
        s->text = "TBLPROPERTIES";
        s->name = fz_sql_object_name(p);
        if (fz_sql_is(p, 0, "(")) {
            size_t n = 0;
            struct fz_property *items = fz_sql_properties(p, &n);
            s->key = !p->failed && n > 0 ? items[0].key : NULL;
        }
    } else if (fz_sql_accept2(p, "CREATE", "TABLE")) {
        s->text = "CREATE TABLE";
        s->name = fz_sql_object_name(p);
        fz_sql_accept2(p, "AS", "SERDE");
    } else if (fz_sql_accept(p, "COLUMNS")) {
        s->text = "COLUMNS";
        if (!fz_sql_is(p, 0, "IN") && !fz_sql_is(p, 0, "FROM")) {
            fz_sql_syntax(p, "IN or FROM");
        }
        in_name(p, s);
    } else if (fz_sql_accept(p, "PARTITIONS")) {
        s->text = "PARTITIONS";
        s->name = fz_sql_object_name(p);
        if (fz_sql_accept(p, "PARTITION")) {
            fz_sql_partition_spec(p, s);
        }
    } else if (fz_sql_accept2(p, "TABLE", "EXTENDED")) {
        s->text = "TABLES";
        s->extended = true;
        in_name(p, s);
        like_pattern(p, s);
    } else if (fz_sql_is(p, 0, "FUNCTIONS") || fz_sql_is(p, 1, "FUNCTIONS")) {
        p->at += fz_sql_is(p, 0, "FUNCTIONS") ? 1 : 2;
        s->text = "FUNCTIONS";
        in_name(p, s);
        like_pattern(p, s);
    } else if (fz_sql_accept(p, "CURRENT")) {
        if (!fz_sql_accept(p, "NAMESPACE") && !fz_sql_accept(p, "DATABASE") && !fz_sql_accept(p, "SCHEMA")) {
            fz_sql_syntax(p, "NAMESPACE");
        }
        s->text = "CURRENT NAMESPACE";
    } else {
        fz_sql_syntax(p, "what to show: TABLES, NAMESPACES, VIEWS, TBLPROPERTIES, CREATE TABLE, COLUMNS, …");
    }
}

static void describe(struct sql_parser *p, struct fz_ast_stmt *s) { // after DESCRIBE
    s->kind = FZ_STMT_DESCRIBE;
    if ((fz_sql_is(p, 0, "NAMESPACE") || fz_sql_is(p, 0, "DATABASE") || fz_sql_is(p, 0, "SCHEMA")) &&
        fz_sql_is_ident(p, 1)) {
        p->at++;
        s->text = "NAMESPACE";
        s->extended = fz_sql_is(p, 0, "EXTENDED") && fz_sql_is_ident(p, 1);
        p->at += s->extended;
        s->name = fz_sql_object_name(p);
        return;
    }
    if (fz_sql_is(p, 0, "FUNCTION") && (fz_sql_is_ident(p, 1) || fz_sql_peek(p, 1)->kind == SQL_STRING)) {
        p->at++;
        s->text = "FUNCTION";
        s->extended = fz_sql_is(p, 0, "EXTENDED") && fz_sql_is_ident(p, 1);
        p->at += s->extended;
        s->name = fz_sql_object_name(p);
        return;
    }
    if ((fz_sql_is(p, 0, "QUERY") && fz_sql_starts_query(p, 1)) || fz_sql_starts_query(p, 0)) {
        bool table = fz_sql_is(p, 0, "TABLE"); // DESCRIBE TABLE t is no query
        if (!table) {
            fz_sql_accept(p, "QUERY");
            s->text = "QUERY";
            s->query = fz_sql_query(p);
            return;
        }
    }
    s->text = "TABLE";
    if (fz_sql_is(p, 0, "TABLE") && fz_sql_is_ident(p, 1)) {
        p->at++;
    }
    if (fz_sql_is_ident(p, 1)) {
        s->extended = fz_sql_accept(p, "EXTENDED");
        s->formatted = !s->extended && fz_sql_accept(p, "FORMATTED");
    }
    s->name = fz_sql_object_name(p);
    if (fz_sql_accept(p, "PARTITION")) {
        fz_sql_partition_spec(p, s);
    }
    if (fz_sql_accept2(p, "AS", "JSON")) {
        fz_sql_unsupported(p, "DESCRIBE … AS JSON");
    } else if (fz_sql_is_ident(p, 0)) {
        s->column = fz_sql_name(p);
    }
}

static void use(struct sql_parser *p, struct fz_ast_stmt *s) { // after USE
    s->kind = FZ_STMT_USE;
    if (fz_sql_is_ident(p, 1)) {
        if (fz_sql_accept(p, "CATALOG")) {
            s->text = "CATALOG";
        } else if (fz_sql_accept(p, "NAMESPACE") || fz_sql_accept(p, "DATABASE") || fz_sql_accept(p, "SCHEMA")) {
            s->text = "NAMESPACE";
        }
    }
    s->name = fz_sql_object_name(p);
}

// ---- SET: keys and values are text, not tokens ----

static struct fz_str strip(struct fz_str s) {
    while (s.len > 0 && strchr(" \t\r\n", s.ptr[0]) != NULL) {
        s.ptr++;
        s.len--;
    }
    while (s.len > 0 && strchr(" \t\r\n;", s.ptr[s.len - 1]) != NULL) {
        s.len--;
    }
    if (s.len >= 2 && s.ptr[0] == '`' && s.ptr[s.len - 1] == '`') {
        s.ptr++;
        s.len -= 2;
    }
    return s;
}
static struct fz_str rest_of_text(struct sql_parser *p) {
    size_t begin = fz_sql_peek(p, 0)->offset;
    p->at = p->n_tokens - 1;
    return (struct fz_str){p->sql.ptr + begin, p->sql.len - begin};
}

static void set_variable(struct sql_parser *p, struct fz_ast_stmt *s) { // after SET VAR
    s->kind = FZ_STMT_SET_VARIABLE;
    if (!fz_sql_accept(p, "(")) {
        s->assignments = fz_sql_assignments(p, &s->n_assignments);
        return;
    }
    size_t cap = 0;
    do {
        struct fz_ast_name name = fz_sql_name(p);
        struct fz_ast_assignment *slot = SQL_PUSH(p, s->assignments, s->n_assignments, cap);
        slot->column = name;
    } while (fz_sql_accept(p, ","));
    fz_sql_expect(p, ")");
    fz_sql_expect(p, "=");
    fz_sql_expect(p, "(");
    s->query = fz_sql_query(p);
    fz_sql_expect(p, ")");
}

static void time_zone(struct sql_parser *p, struct fz_ast_stmt *s) { // after SET TIME ZONE
    s->kind = FZ_STMT_SET;
    s->key = "spark.sql.session.timeZone";
    if (fz_sql_peek(p, 0)->kind == SQL_STRING) {
        s->value = fz_sql_string(p);
    } else if (fz_sql_accept(p, "LOCAL")) {
        s->value = "UTC";
    } else if (fz_sql_is(p, 0, "INTERVAL")) {
        struct fz_ast_expr *e = fz_sql_interval(p);
        int64_t us = p->failed ? 0 : e->literal->u.i64, seconds = us / 1000000;
        if (!p->failed && (e->literal->type->id != FZ_TYPE_INTERVAL_DT || seconds > 64800 || seconds < -64800)) {
            fz_sql_fail(p, FZ_SQL_SYNTAX, "_LEGACY_ERROR_TEMP_0044", "The interval must be between -18 and +18 hours");
        }
        int64_t a = seconds < 0 ? -seconds : seconds;
        char *value = fz_arena_printf(p->arena, "%c%02d:%02d", seconds < 0 ? '-' : '+', (int)(a / 3600 % 100),
                                      (int)(a / 60 % 60));
        s->value = value != NULL ? value : fz_sql_node(p, 1);
    } else {
        fz_sql_syntax(p, "a zone name, LOCAL or an interval");
    }
}

static void set(struct sql_parser *p, struct fz_ast_stmt *s) { // after SET
    s->kind = FZ_STMT_SET;
    if ((fz_sql_is(p, 0, "VAR") || fz_sql_is(p, 0, "VARIABLE")) && (fz_sql_is_ident(p, 1) || fz_sql_is(p, 1, "("))) {
        p->at++;
        set_variable(p, s);
        return;
    }
    if (fz_sql_accept2(p, "TIME", "ZONE")) {
        time_zone(p, s);
        return;
    }
    if (fz_sql_accept(p, "CATALOG")) {
        s->kind = FZ_STMT_USE;
        s->text = "CATALOG";
        s->name = fz_sql_object_name(p);
        return;
    }
    struct fz_str text = strip(rest_of_text(p));
    if (text.len == 0 || fz_str_ieq(text, FZ_STR_LIT("-v"))) {
        return;
    }
    bool quoted = text.ptr[0] == '`';
    const char *eq = memchr(text.ptr, '=', text.len);
    if (quoted) {
        const char *close = memchr(text.ptr + 1, '`', text.len - 1);
        eq = close == NULL ? NULL : memchr(close, '=', text.len - (size_t)(close - text.ptr));
    }
    struct fz_str key = strip((struct fz_str){text.ptr, eq == NULL ? text.len : (size_t)(eq - text.ptr)});
    if (key.len == 0 || (!quoted && memchr(key.ptr, ' ', key.len) != NULL)) {
        fz_sql_fail(p, FZ_SQL_SYNTAX, "INVALID_SET_SYNTAX",
                    "Expected SET, SET key or SET key=value; put a key with special characters in backquotes");
        return;
    }
    s->key = fz_sql_dup(p, key);
    if (eq != NULL) {
        s->value = fz_sql_dup(p, strip((struct fz_str){eq + 1, text.len - (size_t)(eq + 1 - text.ptr)}));
    }
}

static void execute_immediate(struct sql_parser *p, struct fz_ast_stmt *s) {
    size_t cap = 0, names_cap = 0, n_names = 0;
    const char **names = NULL;
    bool named = false;
    s->kind = FZ_STMT_EXECUTE_IMMEDIATE;
    struct fz_ast_expr *text = fz_sql_expr(p), **arg = SQL_PUSH(p, s->args, s->n_args, cap);
    *arg = text;
    const char **name = SQL_PUSH(p, names, n_names, names_cap);
    *name = NULL;
    if (fz_sql_accept(p, "INTO")) {
        s->names = fz_sql_ident_list(p, &s->n_names);
    }
    if (fz_sql_accept(p, "USING")) {
        bool parens = fz_sql_accept(p, "(");
        do {
            struct fz_ast_select_item item = fz_sql_select_item(p);
            arg = SQL_PUSH(p, s->args, s->n_args, cap);
            *arg = item.expr;
            name = SQL_PUSH(p, names, n_names, names_cap);
            *name = item.alias;
            named = named || item.alias != NULL;
        } while (fz_sql_accept(p, ","));
        if (parens) {
            fz_sql_expect(p, ")");
        }
    }
    s->arg_names = named ? names : NULL;
}

static void call(struct sql_parser *p, struct fz_ast_stmt *s) { // after CALL
    s->kind = FZ_STMT_CALL;
    s->name = fz_sql_object_name(p);
    struct fz_ast_expr *args = fz_sql_expr_new(p, FZ_AST_CALL, s->name.pos);
    fz_sql_expect(p, "(");
    fz_sql_args(p, args, false);
    s->args = args->args;
    s->arg_names = args->arg_names;
    s->n_args = args->n_args;
}

static void cache(struct sql_parser *p, struct fz_ast_stmt *s) { // after CACHE
    s->kind = FZ_STMT_CACHE;
    s->text = "CACHE";
    fz_sql_accept(p, "LAZY");
    fz_sql_expect(p, "TABLE");
    s->name = fz_sql_object_name(p);
    if (fz_sql_accept(p, "OPTIONS")) {
        s->properties = fz_sql_properties(p, &s->n_properties);
    }
    if (fz_sql_accept(p, "AS") || fz_sql_starts_query(p, 0)) {
        size_t first = p->at;
        s->query = fz_sql_query(p);
        s->value = fz_sql_dup(p, fz_sql_text_from(p, first));
    }
}

bool fz_sql_session(struct sql_parser *p, struct fz_ast_stmt *s) {
    if (fz_sql_accept(p, "SHOW")) {
        show(p, s);
    } else if (fz_sql_accept(p, "DESCRIBE") || fz_sql_accept(p, "DESC")) {
        describe(p, s);
    } else if (fz_sql_accept(p, "USE")) {
        use(p, s);
    } else if (fz_sql_accept(p, "SET")) {
        set(p, s);
    } else if (fz_sql_accept(p, "RESET")) {
        s->kind = FZ_STMT_RESET;
        struct fz_str key = strip(rest_of_text(p));
        s->key = key.len > 0 ? fz_sql_dup(p, key) : NULL;
    } else if (fz_sql_accept2(p, "EXECUTE", "IMMEDIATE")) {
        execute_immediate(p, s);
    } else if (fz_sql_accept(p, "CALL")) {
        call(p, s);
    } else if (fz_sql_accept(p, "CACHE")) {
        cache(p, s);
    } else if (fz_sql_accept(p, "UNCACHE")) {
        s->kind = FZ_STMT_CACHE;
        s->text = "UNCACHE";
        fz_sql_expect(p, "TABLE");
        s->if_exists = fz_sql_accept2(p, "IF", "EXISTS");
        s->name = fz_sql_object_name(p);
    } else if (fz_sql_accept2(p, "CLEAR", "CACHE")) {
        s->kind = FZ_STMT_CACHE;
        s->text = "CLEAR";
    } else if (fz_sql_accept(p, "REFRESH")) {
        s->kind = FZ_STMT_REFRESH;
        s->text = "TABLE";
        fz_sql_accept(p, "TABLE");
        s->name = fz_sql_object_name(p);
    } else {
        return false;
    }
    return true;
}
