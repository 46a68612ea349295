// CREATE, REPLACE and DROP of tables, views, namespaces and variables.
#include "sql/sql_parse.h"

static void property_key(struct sql_parser *p, struct fz_property *out) {
    if (fz_sql_peek(p, 0)->kind == SQL_STRING) {
        out->key = fz_sql_string(p);
        return;
    }
    struct fz_buf key = {0}; // a.b-c without quotes: dots and names
    do {
        const struct sql_token *t = fz_sql_peek(p, 0);
        if (!fz_sql_is_ident(p, 0) && t->kind != SQL_NUMBER) {
            fz_sql_syntax(p, "a property key");
            break;
        }
        fz_buf_puts(&key, key.len > 0 ? "." : "");
        fz_buf_append(&key, t->value.ptr, t->value.len);
        p->at++;
    } while (fz_sql_accept(p, "."));
    out->key = fz_sql_dup(p, (struct fz_str){key.ptr, key.len});
    fz_buf_dispose(&key);
}

struct fz_property *fz_sql_properties(struct sql_parser *p, size_t *n) {
    struct fz_property *items = NULL;
    size_t cap = 0;
    *n = 0;
    fz_sql_expect(p, "(");
    do {
        struct fz_property item = {0};
        property_key(p, &item);
        bool assigned = fz_sql_accept(p, "=") || fz_sql_accept(p, "==");
        const struct sql_token *t = fz_sql_peek(p, 0);
        if (t->kind == SQL_STRING) {
            item.value = fz_sql_string(p);
        } else if (t->kind == SQL_NUMBER || fz_sql_is(p, 0, "-") || fz_sql_is(p, 0, "TRUE") ||
                   fz_sql_is(p, 0, "FALSE")) {
            size_t first = p->at;
            p->at += fz_sql_is(p, 0, "-") ? 2 : 1;
            item.value = fz_sql_dup(p, fz_sql_text_from(p, first));
        } else if (assigned) {
            fz_sql_syntax(p, "a value");
        }
        struct fz_property *slot = SQL_PUSH(p, items, *n, cap);
        *slot = item;
    } while (fz_sql_accept(p, ","));
    fz_sql_expect(p, ")");
    return items;
}
static struct fz_property *properties_with_values(struct sql_parser *p, size_t *n) {
    struct fz_property *items = fz_sql_properties(p, n);
    for (size_t i = 0; i < *n && !p->failed; i++) {
        if (items[i].value == NULL) {
            fz_sql_fail(p, FZ_SQL_SYNTAX, "_LEGACY_ERROR_TEMP_0035", "The property %s has no value", items[i].key);
        }
    }
    return items;
}

static void refuse_constraint(struct sql_parser *p, const char *what) {
    fz_sql_fail(p, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE.TABLE_OPERATION",
                "%s constraints are not supported by Iceberg tables; rows are not checked", what);
}
// A constraint here? Refused with its name.
static bool constraint(struct sql_parser *p) {
    size_t ahead = fz_sql_is(p, 0, "CONSTRAINT") && fz_sql_is_ident(p, 1) ? 2 : 0;
    if (fz_sql_is(p, ahead, "PRIMARY") && fz_sql_is(p, ahead + 1, "KEY")) {
        refuse_constraint(p, "PRIMARY KEY");
    } else if (fz_sql_is(p, ahead, "FOREIGN") && fz_sql_is(p, ahead + 1, "KEY")) {
        refuse_constraint(p, "FOREIGN KEY");
    } else if (fz_sql_is(p, ahead, "CHECK") && fz_sql_is(p, ahead + 1, "(")) {
        refuse_constraint(p, "CHECK");
    } else if (fz_sql_is(p, ahead, "UNIQUE") &&
               (fz_sql_is(p, ahead + 1, "(") || fz_sql_is(p, ahead + 1, ",") || fz_sql_is(p, ahead + 1, ")"))) {
        refuse_constraint(p, "UNIQUE");
    } else if (fz_sql_is(p, ahead, "REFERENCES")) {
        refuse_constraint(p, "REFERENCES");
    } else {
        return false;
    }
    return true;
}

void fz_sql_column_def(struct sql_parser *p, struct fz_ast_column_def *c, bool nested) {
    c->pos = fz_sql_pos(p);
    if (nested) {
        c->path = fz_sql_name(p);
    } else {
        size_t cap = 0;
        const char *name = fz_sql_ident(p), **part = SQL_PUSH(p, c->path.parts, c->path.n, cap);
        *part = name;
        c->path.pos = c->pos;
        fz_sql_accept(p, ":");
    }
    c->name = c->path.n > 0 ? c->path.parts[c->path.n - 1] : "";
    c->type = fz_sql_parse_type_at(p);
    for (;;) {
        if (fz_sql_accept2(p, "NOT", "NULL")) {
            c->not_null = true;
        } else if (fz_sql_accept(p, "COMMENT")) {
            c->comment = fz_sql_string(p);
        } else if (fz_sql_accept(p, "DEFAULT")) {
            c->default_value = fz_sql_expr(p);
        } else if (nested && fz_sql_accept(p, "FIRST")) {
            c->first = true;
        } else if (nested && fz_sql_accept(p, "AFTER")) {
            c->after = fz_sql_ident(p);
        } else if (fz_sql_is(p, 0, "GENERATED")) {
            fz_sql_unsupported(p, "A generated column");
        } else if (!constraint(p)) {
            break;
        }
    }
    fz_sql_end_pos(p, &c->pos);
}

static void column_defs(struct sql_parser *p, struct fz_ast_stmt *s) { // after (
    size_t cap = s->n_column_defs;
    do {
        struct fz_ast_column_def c = {0};
        if (!constraint(p)) {
            fz_sql_column_def(p, &c, false);
        }
        struct fz_ast_column_def *slot = SQL_PUSH(p, s->column_defs, s->n_column_defs, cap);
        *slot = c;
    } while (fz_sql_accept(p, ","));
    fz_sql_expect(p, ")");
}

static char *lower(struct sql_parser *p, const char *text) {
    char *copy = fz_sql_node(p, strlen(text) + 1);
    for (size_t i = 0; text[i] != 0 && !p->failed; i++) {
        copy[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] + 32 : text[i]);
    }
    return copy;
}

// bucket(16, id), truncate(id, 4), days(ts), plain column.
void fz_sql_transform(struct sql_parser *p, struct fz_ast_transform *t) {
    t->pos = fz_sql_pos(p);
    t->param = -1;
    if (!fz_sql_is_ident(p, 0) || !fz_sql_is(p, 1, "(")) {
        t->column = fz_sql_name(p);
        fz_sql_end_pos(p, &t->pos);
        return;
    }
    t->function = lower(p, fz_sql_ident(p));
    fz_sql_expect(p, "(");
    bool has_column = false;
    do {
        if (fz_sql_peek(p, 0)->kind == SQL_NUMBER || fz_sql_is(p, 0, "-")) {
            t->param = fz_sql_integer(p);
        } else {
            if (has_column) {
                fz_sql_unsupported(p, "A transform of several columns");
            }
            has_column = true;
            t->column = fz_sql_name(p);
        }
    } while (fz_sql_accept(p, ","));
    if (!has_column) {
        fz_sql_syntax(p, "a column");
    }
    fz_sql_expect(p, ")");
    fz_sql_end_pos(p, &t->pos);
}

static void partitioned_by(struct sql_parser *p, struct fz_ast_stmt *s) { // after PARTITIONED BY
    size_t cap = 0, columns_cap = s->n_column_defs;
    fz_sql_expect(p, "(");
    do {
        struct fz_ast_transform t = {.param = -1};
        if (fz_sql_is_ident(p, 0) && fz_sql_is_ident(p, 1)) { // Hive's form declares the column here
            struct fz_ast_column_def c = {0};
            fz_sql_column_def(p, &c, false);
            struct fz_ast_column_def *slot = SQL_PUSH(p, s->column_defs, s->n_column_defs, columns_cap);
            *slot = c;
            t.column = c.path;
            t.pos = c.pos;
        } else {
            fz_sql_transform(p, &t);
        }
        struct fz_ast_transform *slot = SQL_PUSH(p, s->partition_by, s->n_partition_by, cap);
        *slot = t;
    } while (fz_sql_accept(p, ","));
    fz_sql_expect(p, ")");
}

static void once(struct sql_parser *p, unsigned *seen, unsigned bit, const char *clause) {
    if ((*seen & bit) != 0) {
        fz_sql_fail(p, FZ_SQL_SYNTAX, "DUPLICATE_CLAUSES", "Found duplicate clauses: %s", clause);
    }
    *seen |= bit;
}

// The clauses of CREATE TABLE, views and namespaces, in any order.
static void clauses(struct sql_parser *p, struct fz_ast_stmt *s) {
    unsigned seen = 0;
    for (;;) {
        if (fz_sql_accept(p, "USING")) {
            once(p, &seen, 1, "USING");
            s->provider =
                lower(p, fz_sql_dotted(p, &(struct fz_ast_name){.parts = (const char *[]){fz_sql_ident(p)}, .n = 1}));
        } else if (fz_sql_accept2(p, "PARTITIONED", "BY")) {
            once(p, &seen, 2, "PARTITIONED BY");
            partitioned_by(p, s);
        } else if (fz_sql_accept(p, "LOCATION")) {
            once(p, &seen, 4, "LOCATION");
            s->location = fz_sql_string(p);
        } else if (fz_sql_accept(p, "COMMENT")) {
            once(p, &seen, 8, "COMMENT");
            s->comment = fz_sql_string(p);
            s->has_comment = true;
        } else if (fz_sql_accept(p, "TBLPROPERTIES") || fz_sql_accept2(p, "WITH", "PROPERTIES") ||
                   fz_sql_accept2(p, "WITH", "DBPROPERTIES") ||
                   (fz_sql_is(p, 0, "OPTIONS") && fz_sql_is(p, 1, "(") && fz_sql_accept(p, "OPTIONS"))) {
            once(p, &seen, 16, "TBLPROPERTIES");
            s->properties = properties_with_values(p, &s->n_properties);
        } else if (fz_sql_is(p, 0, "CLUSTERED") || fz_sql_is(p, 0, "CLUSTER")) {
            fz_sql_unsupported(p, "A bucketed table (CLUSTERED BY): use PARTITIONED BY (bucket(16, id))");
        } else if (fz_sql_is(p, 0, "SKEWED") || fz_sql_is(p, 0, "STORED") ||
                   (fz_sql_is(p, 0, "ROW") && fz_sql_is(p, 1, "FORMAT"))) {
            fz_sql_unsupported(p, "A storage clause of Hive (SKEWED BY, STORED AS, ROW FORMAT): use USING iceberg");
        } else if (fz_sql_is(p, 0, "DEFAULT") && fz_sql_is(p, 1, "COLLATION")) {
            fz_sql_unsupported(p, "DEFAULT COLLATION");
        } else {
            return;
        }
    }
}

static void if_not_exists(struct sql_parser *p, struct fz_ast_stmt *s) {
    if (fz_sql_is(p, 0, "IF") && fz_sql_is(p, 1, "NOT")) {
        p->at += 2;
        fz_sql_expect(p, "EXISTS");
        s->if_not_exists = true;
    }
}
static void if_exists(struct sql_parser *p, struct fz_ast_stmt *s) {
    s->if_exists = fz_sql_accept2(p, "IF", "EXISTS");
}

static void create_table(struct sql_parser *p, struct fz_ast_stmt *s) { // after TABLE
    s->kind = FZ_STMT_CREATE_TABLE;
    if_not_exists(p, s);
    if (s->if_not_exists && (s->or_replace || s->replace)) {
        fz_sql_syntax(p, "no IF NOT EXISTS after OR REPLACE");
    }
    s->name = fz_sql_object_name(p);
    if (fz_sql_accept(p, "LIKE")) {
        s->text = "LIKE";
        s->column = fz_sql_object_name(p);
    } else if (fz_sql_is(p, 0, "(") && !fz_sql_starts_query(p, 1)) {
        p->at++;
        column_defs(p, s);
    }
    clauses(p, s);
    bool as = fz_sql_accept(p, "AS");
    if (as || fz_sql_starts_query(p, 0)) {
        if (s->n_column_defs > 0) {
            fz_sql_fail(p, FZ_SQL_SYNTAX, "_LEGACY_ERROR_TEMP_0035",
                        "Schema may not be specified in a Create Table As Select (CTAS) statement");
        }
        s->query = fz_sql_query(p);
    }
}

static void view_columns(struct sql_parser *p, struct fz_ast_stmt *s) { // after (
    size_t cap = 0;
    do {
        struct fz_ast_column_def c = {.pos = fz_sql_pos(p)};
        size_t path_cap = 0;
        c.name = fz_sql_ident(p);
        const char **part = SQL_PUSH(p, c.path.parts, c.path.n, path_cap);
        *part = c.name;
        if (fz_sql_accept(p, "COMMENT")) {
            c.comment = fz_sql_string(p);
        }
        struct fz_ast_column_def *slot = SQL_PUSH(p, s->column_defs, s->n_column_defs, cap);
        *slot = c;
    } while (fz_sql_accept(p, ","));
    fz_sql_expect(p, ")");
}

static void view_query(struct sql_parser *p, struct fz_ast_stmt *s) {
    size_t first = p->at;
    s->query = fz_sql_query(p);
    s->value = fz_sql_dup(p, fz_sql_text_from(p, first));
}

static void create_view(struct sql_parser *p, struct fz_ast_stmt *s) { // after VIEW
    s->kind = FZ_STMT_CREATE_VIEW;
    s->is_view = true;
    if_not_exists(p, s);
    s->name = fz_sql_object_name(p);
    bool files = s->temporary && fz_sql_is(p, 0, "USING");
    if (!files && fz_sql_accept(p, "(")) {
        view_columns(p, s);
    } else if (fz_sql_accept(p, "(")) {
        column_defs(p, s);
    }
    clauses(p, s);
    if (s->provider != NULL && s->temporary) {
        return; // CREATE TEMPORARY VIEW v USING parquet OPTIONS (path '…')
    }
    if (fz_sql_accept2(p, "WITH", "SCHEMA")) { // BINDING, COMPENSATION, [TYPE] EVOLUTION
        fz_sql_accept(p, "TYPE");
        if (!fz_sql_accept(p, "BINDING") && !fz_sql_accept(p, "COMPENSATION")) {
            fz_sql_expect(p, "EVOLUTION");
        }
        clauses(p, s);
    }
    fz_sql_expect(p, "AS");
    view_query(p, s);
}

static void create_namespace(struct sql_parser *p, struct fz_ast_stmt *s) {
    s->kind = FZ_STMT_CREATE_NAMESPACE;
    if_not_exists(p, s);
    s->name = fz_sql_object_name(p);
    clauses(p, s);
}

static bool accept_namespace(struct sql_parser *p) {
    return fz_sql_accept(p, "NAMESPACE") || fz_sql_accept(p, "DATABASE") || fz_sql_accept(p, "SCHEMA");
}

static void create(struct sql_parser *p, struct fz_ast_stmt *s) { // after CREATE
    s->or_replace = fz_sql_accept2(p, "OR", "REPLACE");
    if (fz_sql_accept(p, "TABLE")) {
        create_table(p, s);
        return;
    }
    s->global = fz_sql_accept(p, "GLOBAL");
    s->temporary = fz_sql_accept(p, "TEMPORARY") || fz_sql_accept(p, "TEMP");
    if (fz_sql_accept(p, "VIEW")) {
        create_view(p, s);
    } else if (!s->temporary && accept_namespace(p)) {
        create_namespace(p, s);
    } else if (fz_sql_is(p, 0, "FUNCTION")) {
        fz_sql_unsupported(p, "CREATE FUNCTION");
    } else if (fz_sql_is(p, 0, "EXTERNAL")) {
        fz_sql_fail(p, FZ_UNSUPPORTED, "_LEGACY_ERROR_TEMP_0035",
                    "CREATE EXTERNAL TABLE is not supported: use CREATE TABLE … LOCATION");
    } else if (s->temporary && fz_sql_is(p, 0, "TABLE")) {
        fz_sql_unsupported(p, "CREATE TEMPORARY TABLE: use CREATE TEMPORARY VIEW");
    } else if (fz_sql_is(p, 0, "INDEX") || fz_sql_is(p, 0, "ROLE") || fz_sql_is(p, 0, "MATERIALIZED") ||
               fz_sql_is(p, 0, "STREAMING") || fz_sql_is(p, 0, "FLOW")) {
        fz_sql_unsupported(p, "This CREATE statement");
    } else {
        fz_sql_syntax(p, "TABLE, VIEW or NAMESPACE");
    }
}

static void drop(struct sql_parser *p, struct fz_ast_stmt *s) { // after DROP
    if (fz_sql_accept(p, "TABLE")) {
        s->kind = FZ_STMT_DROP_TABLE;
        if_exists(p, s);
        s->name = fz_sql_object_name(p);
        s->purge = fz_sql_accept(p, "PURGE");
    } else if (fz_sql_accept(p, "VIEW")) {
        s->kind = FZ_STMT_DROP_VIEW;
        s->is_view = true;
        if_exists(p, s);
        s->name = fz_sql_object_name(p);
    } else if (accept_namespace(p)) {
        s->kind = FZ_STMT_DROP_NAMESPACE;
        if_exists(p, s);
        s->name = fz_sql_object_name(p);
        s->cascade = fz_sql_accept(p, "CASCADE");
        if (!s->cascade) {
            fz_sql_accept(p, "RESTRICT");
        }
    } else if ((fz_sql_is(p, 0, "TEMPORARY") || fz_sql_is(p, 0, "TEMP")) &&
               (fz_sql_is(p, 1, "VARIABLE") || fz_sql_is(p, 1, "VAR"))) {
        p->at += 2;
        s->kind = FZ_STMT_DROP_VARIABLE;
        if_exists(p, s);
        s->name = fz_sql_object_name(p);
    } else if (fz_sql_is(p, 0, "FUNCTION") || fz_sql_is(p, 1, "FUNCTION") || fz_sql_is(p, 0, "INDEX") ||
               fz_sql_is(p, 0, "ROLE")) {
        fz_sql_unsupported(p, "This DROP statement");
    } else {
        fz_sql_syntax(p, "TABLE, VIEW or NAMESPACE");
    }
}

static void declare(struct sql_parser *p, struct fz_ast_stmt *s) { // after DECLARE
    s->kind = FZ_STMT_DECLARE_VARIABLE;
    s->or_replace = fz_sql_accept2(p, "OR", "REPLACE");
    if ((fz_sql_is(p, 0, "VARIABLE") || fz_sql_is(p, 0, "VAR")) && fz_sql_is_ident(p, 1)) {
        p->at++;
    }
    s->name = fz_sql_object_name(p);
    if (fz_sql_is(p, 0, ",")) {
        fz_sql_unsupported(p, "DECLARE of several variables");
    }
    bool has_value = fz_sql_is(p, 0, "DEFAULT") || fz_sql_is(p, 0, "=");
    if (!has_value && fz_sql_peek(p, 0)->kind == SQL_WORD) {
        s->type = fz_sql_parse_type_at(p);
    }
    if (fz_sql_accept(p, "DEFAULT") || fz_sql_accept(p, "=")) {
        s->args = fz_sql_expr_list(p, &s->n_args);
    } else if (s->type == NULL) {
        fz_sql_syntax(p, "a type or DEFAULT");
    }
}

static void set_comment(struct sql_parser *p, struct fz_ast_stmt *s) { // COMMENT ON x n IS 'text'
    size_t cap = 0;
    bool table = fz_sql_accept(p, "TABLE");
    if (!table && !accept_namespace(p)) {
        fz_sql_unsupported(p, "COMMENT ON something other than a table or namespace");
    }
    s->kind = table ? FZ_STMT_ALTER_TABLE : FZ_STMT_ALTER_NAMESPACE;
    s->alter = FZ_ALTER_SET_PROPERTIES;
    s->name = fz_sql_object_name(p);
    fz_sql_expect(p, "IS");
    bool none = fz_sql_accept(p, "NULL");
    const char *text = none ? "" : fz_sql_string(p);
    struct fz_property *slot = SQL_PUSH(p, s->properties, s->n_properties, cap);
    *slot = (struct fz_property){.key = "comment", .value = text};
}

static void alter_namespace(struct sql_parser *p, struct fz_ast_stmt *s) {
    s->kind = FZ_STMT_ALTER_NAMESPACE;
    s->name = fz_sql_object_name(p);
    s->unset = fz_sql_accept(p, "UNSET");
    if (!s->unset) {
        fz_sql_expect(p, "SET");
    }
    if (!s->unset && fz_sql_accept(p, "LOCATION")) {
        s->alter = FZ_ALTER_SET_LOCATION;
        s->location = fz_sql_string(p);
        return;
    }
    if (!fz_sql_accept(p, "PROPERTIES") && !fz_sql_accept(p, "DBPROPERTIES")) {
        fz_sql_syntax(p, "PROPERTIES");
    }
    s->alter = s->unset ? FZ_ALTER_UNSET_PROPERTIES : FZ_ALTER_SET_PROPERTIES;
    s->properties = s->unset ? fz_sql_properties(p, &s->n_properties) : properties_with_values(p, &s->n_properties);
}

static void alter_view(struct sql_parser *p, struct fz_ast_stmt *s) {
    s->is_view = true;
    size_t first = p->at;
    s->name = fz_sql_object_name(p);
    if (fz_sql_accept(p, "AS") || fz_sql_starts_query(p, 0)) {
        s->kind = FZ_STMT_ALTER_VIEW;
        view_query(p, s);
        return;
    }
    if (!fz_sql_is(p, 0, "SET") && !fz_sql_is(p, 0, "UNSET") && !(fz_sql_is(p, 0, "RENAME") && fz_sql_is(p, 1, "TO"))) {
        fz_sql_syntax(p, "AS, SET TBLPROPERTIES, UNSET TBLPROPERTIES or RENAME TO");
        return;
    }
    p->at = first;
    fz_sql_alter_table(p, s);
}

bool fz_sql_ddl(struct sql_parser *p, struct fz_ast_stmt *s) {
    if (fz_sql_accept(p, "CREATE")) {
        create(p, s);
    } else if (fz_sql_accept2(p, "REPLACE", "TABLE")) {
        s->replace = true;
        create_table(p, s);
    } else if (fz_sql_accept(p, "DROP")) {
        drop(p, s);
    } else if (fz_sql_accept2(p, "ALTER", "TABLE")) {
        fz_sql_alter_table(p, s);
    } else if (fz_sql_accept2(p, "ALTER", "VIEW")) {
        alter_view(p, s);
    } else if (fz_sql_is(p, 0, "ALTER")) {
        p->at++;
        if (!accept_namespace(p)) {
            fz_sql_syntax(p, "TABLE, VIEW or NAMESPACE");
        }
        alter_namespace(p, s);
    } else if (fz_sql_accept2(p, "COMMENT", "ON")) {
        set_comment(p, s);
    } else if (fz_sql_accept(p, "DECLARE")) {
        declare(p, s);
    } else {
        return false;
    }
    return true;
}
