// ALTER TABLE with Iceberg's extensions: partition fields, write order, identifier fields, branches and tags.
#include "sql/sql_parse.h"

static void add_name(struct sql_parser *p, struct fz_ast_stmt *s, size_t *cap, size_t *paths_cap) {
    struct fz_ast_name name = fz_sql_name(p);
    size_t n_paths = s->n_names;
    struct fz_ast_name *path = SQL_PUSH(p, s->name_paths, n_paths, *paths_cap);
    *path = name;
    const char **slot = SQL_PUSH(p, s->names, s->n_names, *cap);
    *slot = fz_sql_dotted(p, &name);
}
static void name_list(struct sql_parser *p, struct fz_ast_stmt *s, bool parens) {
    size_t cap = 0, paths_cap = 0;
    if (parens) {
        fz_sql_expect(p, "(");
    }
    do {
        add_name(p, s, &cap, &paths_cap);
    } while (fz_sql_accept(p, ","));
    if (parens) {
        fz_sql_expect(p, ")");
    }
}

static void add_transform(struct sql_parser *p, struct fz_ast_stmt *s, size_t *cap) {
    struct fz_ast_transform t = {.param = -1};
    fz_sql_transform(p, &t);
    struct fz_ast_transform *slot = SQL_PUSH(p, s->transforms, s->n_transforms, *cap);
    *slot = t;
}
static void field_name(struct sql_parser *p, struct fz_ast_stmt *s) {
    if (fz_sql_accept(p, "AS")) {
        size_t cap = 0;
        const char *name = fz_sql_ident(p), **part = SQL_PUSH(p, s->new_name.parts, s->new_name.n, cap);
        *part = name;
    }
}

// ---- branches and tags ----

static int64_t duration(struct sql_parser *p) { // n DAYS | HOURS | MINUTES
    int64_t n = fz_sql_integer(p), unit = 0, ms = 0;
    if (fz_sql_accept(p, "DAYS")) {
        unit = 86400000;
    } else if (fz_sql_accept(p, "HOURS")) {
        unit = 3600000;
    } else if (fz_sql_accept(p, "MINUTES")) {
        unit = 60000;
    } else {
        fz_sql_syntax(p, "DAYS, HOURS or MINUTES");
    }
    if (!p->failed && __builtin_mul_overflow(n, unit, &ms)) {
        fz_sql_fail(p, FZ_SQL_SYNTAX, "PARSE_SYNTAX_ERROR", "The duration is too long");
    }
    return ms;
}

static void ref_options(struct sql_parser *p, struct fz_ast_stmt *s, bool branch) {
    if (fz_sql_accept2(p, "AS", "OF")) {
        fz_sql_expect(p, "VERSION");
        s->snapshot_id = fz_sql_integer(p);
    }
    if (fz_sql_accept(p, "RETAIN")) {
        s->retain_ms = duration(p);
    }
    if (branch && fz_sql_accept(p, "WITH")) {
        fz_sql_expect(p, "SNAPSHOT");
        fz_sql_expect(p, "RETENTION");
        bool count = fz_sql_peek(p, 0)->kind == SQL_NUMBER && fz_sql_is(p, 1, "SNAPSHOTS");
        if (count) {
            s->min_snapshots = fz_sql_integer(p);
            p->at += !p->failed;
        }
        if (!count || fz_sql_peek(p, 0)->kind == SQL_NUMBER) {
            s->snapshot_retain_ms = duration(p);
        }
    }
}

static bool refs(struct sql_parser *p, struct fz_ast_stmt *s) {
    bool create = fz_sql_is(p, 0, "CREATE"), replace = fz_sql_is(p, 0, "REPLACE"), drop = fz_sql_is(p, 0, "DROP");
    size_t ahead = create && fz_sql_is(p, 1, "OR") && fz_sql_is(p, 2, "REPLACE") ? 3 : 1;
    bool branch = fz_sql_is(p, ahead, "BRANCH");
    if ((!create && !replace && !drop) || (!branch && !fz_sql_is(p, ahead, "TAG"))) {
        return false;
    }
    s->or_replace = ahead == 3;
    p->at += ahead + 1;
    s->alter = create    ? branch ? FZ_ALTER_CREATE_BRANCH : FZ_ALTER_CREATE_TAG
               : replace ? branch ? FZ_ALTER_REPLACE_BRANCH : FZ_ALTER_REPLACE_TAG
               : branch  ? FZ_ALTER_DROP_BRANCH
                         : FZ_ALTER_DROP_TAG;
    if (drop) {
        s->if_exists = fz_sql_accept2(p, "IF", "EXISTS");
    } else if (create && !s->or_replace && fz_sql_is(p, 0, "IF") && fz_sql_is(p, 1, "NOT")) {
        p->at += 2;
        fz_sql_expect(p, "EXISTS");
        s->if_not_exists = true;
    }
    s->key = fz_sql_ident(p);
    if (!drop) {
        ref_options(p, s, branch);
    }
    return true;
}

// ---- write order ----

static void write_order(struct sql_parser *p, struct fz_ast_stmt *s) { // after WRITE
    s->alter = FZ_ALTER_WRITE_ORDER;
    bool any = false;
    if (fz_sql_accept2(p, "DISTRIBUTED", "BY")) {
        fz_sql_expect(p, "PARTITION");
        s->distributed_by_partition = true;
        any = true;
    }
    if (fz_sql_accept(p, "UNORDERED")) {
        s->unordered = true;
        return;
    }
    s->ordered_locally = fz_sql_accept(p, "LOCALLY");
    if (!s->ordered_locally && any && !fz_sql_is(p, 0, "ORDERED")) {
        return;
    }
    fz_sql_expect(p, "ORDERED");
    fz_sql_expect(p, "BY");
    size_t cap = 0;
    bool parens = fz_sql_accept(p, "(");
    do {
        struct fz_ast_transform t = {.param = -1};
        fz_sql_transform(p, &t);
        t.descending = fz_sql_accept(p, "DESC");
        if (!t.descending) {
            fz_sql_accept(p, "ASC");
        }
        if (fz_sql_accept(p, "NULLS")) {
            t.nulls_set = true;
            t.nulls_last = fz_sql_accept(p, "LAST");
            if (!t.nulls_last) {
                fz_sql_expect(p, "FIRST");
            }
        }
        struct fz_ast_transform *slot = SQL_PUSH(p, s->transforms, s->n_transforms, cap);
        *slot = t;
    } while (fz_sql_accept(p, ","));
    if (parens) {
        fz_sql_expect(p, ")");
    }
}

// ---- columns ----

static void add_columns(struct sql_parser *p, struct fz_ast_stmt *s) { // after ADD [COLUMN|COLUMNS]
    s->alter = FZ_ALTER_ADD_COLUMNS;
    size_t cap = 0;
    bool parens = fz_sql_accept(p, "(");
    do {
        struct fz_ast_column_def c = {0};
        fz_sql_column_def(p, &c, true);
        struct fz_ast_column_def *slot = SQL_PUSH(p, s->column_defs, s->n_column_defs, cap);
        *slot = c;
    } while (fz_sql_accept(p, ","));
    if (parens) {
        fz_sql_expect(p, ")");
    }
}

static void alter_column(struct sql_parser *p, struct fz_ast_stmt *s, bool change) { // after ALTER|CHANGE [COLUMN]
    s->alter = FZ_ALTER_COLUMN;
    s->column = fz_sql_name(p);
    bool any = false;
    if (change && fz_sql_is_ident(p, 0) && fz_sql_is_ident(p, 1) && !fz_sql_is(p, 0, "TYPE") &&
        !fz_sql_is(p, 0, "COMMENT") && !fz_sql_is(p, 0, "SET") && !fz_sql_is(p, 0, "DROP") &&
        !fz_sql_is(p, 0, "AFTER") && !fz_sql_is(p, 0, "FIRST")) {
        const char *name = fz_sql_ident(p); // Hive's CHANGE a a TYPE
        if (!p->failed && fz_strcasecmp(name, s->column.parts[s->column.n - 1]) != 0) {
            fz_sql_unsupported(p, "Renaming by CHANGE COLUMN: use RENAME COLUMN");
        }
        s->type = fz_sql_parse_type_at(p);
        any = true;
    }
    for (;; any = true) {
        if (fz_sql_accept(p, "TYPE")) {
            s->type = fz_sql_parse_type_at(p);
        } else if (fz_sql_accept(p, "COMMENT")) {
            s->comment = fz_sql_string(p);
            s->has_comment = true;
        } else if (fz_sql_is(p, 0, "SET") && fz_sql_is(p, 1, "NOT")) {
            p->at += 2;
            fz_sql_expect(p, "NULL");
            s->set_not_null = 1;
        } else if (fz_sql_is(p, 0, "DROP") && fz_sql_is(p, 1, "NOT")) {
            p->at += 2;
            fz_sql_expect(p, "NULL");
            s->set_not_null = 2;
        } else if (fz_sql_accept2(p, "SET", "DEFAULT")) {
            s->default_value = fz_sql_expr(p);
        } else if (fz_sql_accept2(p, "DROP", "DEFAULT")) {
            s->drop_default = true;
        } else if (fz_sql_accept(p, "FIRST")) {
            s->first = true;
        } else if (fz_sql_accept(p, "AFTER")) {
            s->after = true;
            s->new_name = fz_sql_name(p);
        } else {
            break;
        }
    }
    if (!any) {
        fz_sql_syntax(p, "TYPE, COMMENT, SET NOT NULL, DROP NOT NULL, FIRST or AFTER");
    }
    if (fz_sql_is(p, 0, ",")) {
        fz_sql_unsupported(p, "ALTER COLUMN of several columns in one statement");
    }
}

static void refuse_constraints(struct sql_parser *p, bool drop) {
    size_t ahead = 0;
    if (fz_sql_is(p, 0, "CONSTRAINT") || (!drop && ((fz_sql_is(p, ahead, "PRIMARY") && fz_sql_is(p, 1, "KEY")) ||
                                                    (fz_sql_is(p, 0, "CHECK") && fz_sql_is(p, 1, "(")) ||
                                                    (fz_sql_is(p, 0, "FOREIGN") && fz_sql_is(p, 1, "KEY")) ||
                                                    (fz_sql_is(p, 0, "UNIQUE") && fz_sql_is(p, 1, "("))))) {
        fz_sql_fail(p, FZ_UNSUPPORTED, "UNSUPPORTED_FEATURE.TABLE_OPERATION",
                    "Constraints are not supported by Iceberg tables");
    }
}

static void add(struct sql_parser *p, struct fz_ast_stmt *s) { // after ADD
    size_t cap = 0;
    refuse_constraints(p, false);
    if (fz_sql_accept2(p, "PARTITION", "FIELD")) {
        s->alter = FZ_ALTER_ADD_PARTITION_FIELD;
        add_transform(p, s, &cap);
        field_name(p, s);
    } else if (fz_sql_is(p, 0, "PARTITION") || fz_sql_is(p, 0, "IF")) {
        fz_sql_fail(p, FZ_INVALID_ARG, "INVALID_PARTITION_OPERATION.PARTITION_MANAGEMENT_IS_UNSUPPORTED",
                    "Partitions of an Iceberg table come and go with its rows: ADD PARTITION does not apply");
    } else {
        if (!fz_sql_accept(p, "COLUMNS") && !fz_sql_accept(p, "COLUMN") && !fz_sql_is(p, 0, "(")) {
            fz_sql_syntax(p, "COLUMN, COLUMNS or PARTITION FIELD");
        }
        add_columns(p, s);
    }
}

static void drop(struct sql_parser *p, struct fz_ast_stmt *s) { // after DROP
    size_t cap = 0;
    refuse_constraints(p, true);
    if (fz_sql_accept2(p, "PARTITION", "FIELD")) {
        s->alter = FZ_ALTER_DROP_PARTITION_FIELD;
        add_transform(p, s, &cap);
    } else if (fz_sql_accept2(p, "IDENTIFIER", "FIELDS")) {
        s->alter = FZ_ALTER_DROP_IDENTIFIER;
        name_list(p, s, false);
    } else if (fz_sql_is(p, 0, "PARTITION") || (fz_sql_is(p, 0, "IF") && fz_sql_is(p, 2, "PARTITION"))) {
        fz_sql_fail(p, FZ_INVALID_ARG, "INVALID_PARTITION_OPERATION.PARTITION_MANAGEMENT_IS_UNSUPPORTED",
                    "Partitions of an Iceberg table come and go with its rows: use DELETE instead of DROP PARTITION");
    } else {
        if (!fz_sql_accept(p, "COLUMNS") && !fz_sql_accept(p, "COLUMN")) {
            fz_sql_syntax(p, "COLUMN, COLUMNS, PARTITION FIELD, IDENTIFIER FIELDS, BRANCH or TAG");
        }
        s->alter = FZ_ALTER_DROP_COLUMNS;
        s->if_exists = fz_sql_accept2(p, "IF", "EXISTS");
        name_list(p, s, fz_sql_is(p, 0, "("));
    }
}

static void set(struct sql_parser *p, struct fz_ast_stmt *s) { // after SET
    if (fz_sql_accept(p, "TBLPROPERTIES")) {
        s->alter = FZ_ALTER_SET_PROPERTIES;
        s->properties = fz_sql_properties(p, &s->n_properties);
        for (size_t i = 0; i < s->n_properties && !p->failed; i++) {
            if (s->properties[i].value == NULL) {
                fz_sql_fail(p, FZ_SQL_SYNTAX, "_LEGACY_ERROR_TEMP_0035", "The property %s has no value",
                            s->properties[i].key);
            }
        }
    } else if (fz_sql_accept(p, "LOCATION")) {
        s->alter = FZ_ALTER_SET_LOCATION;
        s->location = fz_sql_string(p);
    } else if (fz_sql_accept2(p, "IDENTIFIER", "FIELDS")) {
        s->alter = FZ_ALTER_SET_IDENTIFIER;
        name_list(p, s, false);
    } else if (fz_sql_is(p, 0, "SERDE") || fz_sql_is(p, 0, "SERDEPROPERTIES")) {
        fz_sql_unsupported(p, "SET SERDE");
    } else {
        fz_sql_syntax(p, "TBLPROPERTIES, LOCATION or IDENTIFIER FIELDS");
    }
}

static void unset(struct sql_parser *p, struct fz_ast_stmt *s) { // after UNSET
    size_t n = 0, cap = 0;
    fz_sql_expect(p, "TBLPROPERTIES");
    s->alter = FZ_ALTER_UNSET_PROPERTIES;
    s->if_exists = fz_sql_accept2(p, "IF", "EXISTS");
    struct fz_property *items = fz_sql_properties(p, &n);
    for (size_t i = 0; i < n && !p->failed; i++) {
        const char **slot = SQL_PUSH(p, s->names, s->n_names, cap);
        *slot = items[i].key;
    }
}

static void replace(struct sql_parser *p, struct fz_ast_stmt *s) { // after REPLACE
    size_t cap = 0;
    if (fz_sql_is(p, 0, "COLUMNS")) {
        fz_sql_unsupported(p, "REPLACE COLUMNS: use ADD, DROP and ALTER COLUMN");
        return;
    }
    fz_sql_expect(p, "PARTITION");
    fz_sql_expect(p, "FIELD");
    s->alter = FZ_ALTER_REPLACE_PARTITION_FIELD;
    add_transform(p, s, &cap);
    fz_sql_expect(p, "WITH");
    add_transform(p, s, &cap);
    field_name(p, s);
}

void fz_sql_alter_table(struct sql_parser *p, struct fz_ast_stmt *s) { // after ALTER TABLE (or VIEW)
    s->kind = FZ_STMT_ALTER_TABLE;
    s->name = fz_sql_object_name(p);
    if (refs(p, s)) {
        return;
    }
    if (fz_sql_accept2(p, "RENAME", "TO")) {
        s->kind = FZ_STMT_RENAME_TABLE;
        s->new_name = fz_sql_object_name(p);
    } else if (fz_sql_accept2(p, "RENAME", "COLUMN")) {
        s->alter = FZ_ALTER_RENAME_COLUMN;
        s->column = fz_sql_name(p);
        fz_sql_expect(p, "TO");
        s->new_name = fz_sql_name(p);
    } else if (fz_sql_accept(p, "ADD")) {
        add(p, s);
    } else if (fz_sql_accept(p, "DROP")) {
        drop(p, s);
    } else if (fz_sql_accept(p, "SET")) {
        set(p, s);
    } else if (fz_sql_accept(p, "UNSET")) {
        unset(p, s);
    } else if (fz_sql_accept(p, "WRITE")) {
        write_order(p, s);
    } else if (fz_sql_accept(p, "REPLACE")) {
        replace(p, s);
    } else if (fz_sql_is(p, 0, "ALTER") || fz_sql_is(p, 0, "CHANGE")) {
        bool change = fz_sql_is(p, 0, "CHANGE");
        p->at++;
        if (fz_sql_is(p, 0, "COLUMN") && fz_sql_is_ident(p, 1)) {
            p->at++;
        }
        alter_column(p, s, change);
    } else if (fz_sql_is(p, 0, "RECOVER") || fz_sql_is(p, 0, "PARTITION") || fz_sql_is(p, 0, "RENAME") ||
               fz_sql_is(p, 0, "CLUSTER") || fz_sql_is(p, 0, "DEFAULT")) {
        fz_sql_unsupported(p, "This form of ALTER TABLE");
    } else {
        fz_sql_syntax(p, "ADD, ALTER, CREATE, DROP, RENAME, REPLACE, SET, UNSET or WRITE");
    }
}
