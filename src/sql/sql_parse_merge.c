// MERGE, UPDATE, DELETE, INSERT, TRUNCATE.
#include "sql/sql_parse.h"

struct fz_ast_assignment *fz_sql_assignments(struct sql_parser *p, size_t *n) {
    struct fz_ast_assignment *items = NULL;
    size_t cap = 0;
    *n = 0;
    do {
        struct fz_ast_assignment a = {.column = fz_sql_name(p)};
        if (!fz_sql_accept(p, "==")) {
            fz_sql_expect(p, "=");
        }
        a.value = fz_sql_assigned(p);
        struct fz_ast_assignment *slot = SQL_PUSH(p, items, *n, cap);
        *slot = a;
    } while (fz_sql_accept(p, ","));
    return items;
}

// An alias without a list of columns, as the target and source of row-level changes take it.
static const char *plain_alias(struct sql_parser *p, const char *statement) {
    struct fz_ast_rel rel = {0};
    size_t first = p->at;
    fz_sql_alias(p, &rel);
    if (!p->failed && rel.n_column_aliases > 0) {
        p->at = first;
        fz_sql_fail(p, FZ_SQL_SYNTAX, "COLUMN_ALIASES_NOT_ALLOWED", "Column aliases are not allowed in %s", statement);
    }
    return rel.alias;
}

static struct fz_ast_rel *merge_source(struct sql_parser *p) {
    struct fz_ast_rel *rel = SQL_NODE(p, struct fz_ast_rel);
    rel->pos = fz_sql_pos(p);
    if (fz_sql_is(p, 0, "(") || fz_sql_peek(p, 0)->kind == SQL_END) {
        rel->kind = FZ_AST_DERIVED;
        fz_sql_expect(p, "(");
        rel->query = fz_sql_query(p);
        fz_sql_expect(p, ")");
    } else {
        rel = fz_sql_rel(p); // a table, with time travel, a path or a table function
        if (!p->failed && (rel->kind == FZ_AST_JOIN || rel->kind == FZ_AST_VALUES || rel->kind == FZ_AST_PIVOT ||
                           rel->kind == FZ_AST_UNPIVOT)) {
            fz_sql_syntax(p, "a table or a query in parentheses after USING");
        }
        if (!p->failed && rel->n_column_aliases > 0) {
            fz_sql_fail(p, FZ_SQL_SYNTAX, "COLUMN_ALIASES_NOT_ALLOWED", "Column aliases are not allowed in MERGE");
        }
        return rel;
    }
    rel->alias = plain_alias(p, "MERGE");
    fz_sql_end_pos(p, &rel->pos);
    return rel;
}

static void insert_action(struct sql_parser *p, struct fz_ast_merge_clause *c) { // after INSERT
    if (fz_sql_accept(p, "*")) {
        c->action = FZ_MERGE_INSERT_STAR;
        return;
    }
    c->action = FZ_MERGE_INSERT;
    size_t cap = 0, values = 0, first = p->at;
    fz_sql_expect(p, "(");
    do {
        struct fz_ast_name name = fz_sql_name(p);
        struct fz_ast_assignment *slot = SQL_PUSH(p, c->assignments, c->n_assignments, cap);
        slot->column = name;
    } while (fz_sql_accept(p, ","));
    fz_sql_expect(p, ")");
    fz_sql_expect(p, "VALUES");
    fz_sql_expect(p, "(");
    do {
        struct fz_ast_expr *e = fz_sql_assigned(p);
        if (!p->failed && values < c->n_assignments) {
            c->assignments[values].value = e;
        }
        values++;
    } while (fz_sql_accept(p, ","));
    fz_sql_expect(p, ")");
    if (!p->failed && values != c->n_assignments) {
        p->at = first;
        fz_sql_fail(p, FZ_SQL_SYNTAX, "_LEGACY_ERROR_TEMP_0006",
                    "The number of inserted values (%zu) is not the number of columns (%zu)", values, c->n_assignments);
    }
}

static void merge_action(struct sql_parser *p, struct fz_ast_merge_clause *c) {
    fz_sql_expect(p, "THEN");
    if (c->match == FZ_NOT_MATCHED) {
        fz_sql_expect(p, "INSERT");
        insert_action(p, c);
        return;
    }
    if (fz_sql_accept(p, "DELETE")) {
        c->action = FZ_MERGE_DELETE;
        return;
    }
    if (!fz_sql_accept(p, "UPDATE")) {
        fz_sql_syntax(p, "UPDATE or DELETE");
    }
    fz_sql_expect(p, "SET");
    if (c->match == FZ_MATCHED && fz_sql_accept(p, "*")) {
        c->action = FZ_MERGE_UPDATE_STAR;
        return;
    }
    c->action = FZ_MERGE_UPDATE;
    c->assignments = fz_sql_assignments(p, &c->n_assignments);
}

static void merge_clauses(struct sql_parser *p, struct fz_ast_stmt *s) {
    static const char *const conditions[] = {"NON_LAST_MATCHED_CLAUSE_OMIT_CONDITION",
                                             "NON_LAST_NOT_MATCHED_BY_TARGET_CLAUSE_OMIT_CONDITION",
                                             "NON_LAST_NOT_MATCHED_BY_SOURCE_CLAUSE_OMIT_CONDITION"};
    static const char *const names[] = {"MATCHED", "NOT MATCHED [BY TARGET]", "NOT MATCHED BY SOURCE"};
    size_t cap = 0, n = 0;
    struct fz_ast_merge_clause *items = NULL;
    while (fz_sql_is(p, 0, "WHEN")) {
        struct fz_ast_merge_clause c = {.pos = fz_sql_pos(p)};
        size_t first = p->at++;
        c.match = fz_sql_accept(p, "NOT") ? FZ_NOT_MATCHED : FZ_MATCHED;
        fz_sql_expect(p, "MATCHED");
        if (c.match == FZ_NOT_MATCHED && fz_sql_accept(p, "BY")) {
            c.match = fz_sql_accept(p, "SOURCE") ? FZ_NOT_MATCHED_BY_SOURCE : FZ_NOT_MATCHED;
            if (c.match == FZ_NOT_MATCHED) {
                fz_sql_expect(p, "TARGET");
            }
        }
        if (!p->failed && n > 0 && c.match < items[n - 1].match) {
            p->at = first;
            fz_sql_syntax(p, "the clauses in the order MATCHED, NOT MATCHED, NOT MATCHED BY SOURCE");
        }
        if (fz_sql_accept(p, "AND")) {
            c.condition = fz_sql_expr(p);
        }
        merge_action(p, &c);
        fz_sql_end_pos(p, &c.pos);
        if (!p->failed && n > 0 && items[n - 1].match == c.match && items[n - 1].condition == NULL) {
            p->at = first;
            fz_sql_fail(p, FZ_SQL_SYNTAX, conditions[c.match],
                        "Of several %s clauses only the last may omit its condition", names[c.match]);
        }
        struct fz_ast_merge_clause *slot = SQL_PUSH(p, items, n, cap);
        *slot = c;
    }
    s->clauses = items;
    s->n_clauses = n;
}

void fz_sql_merge(struct sql_parser *p, struct fz_ast_stmt *s) { // after MERGE
    s->kind = FZ_STMT_MERGE;
    if (fz_sql_accept(p, "WITH")) {
        fz_sql_expect(p, "SCHEMA");
        fz_sql_expect(p, "EVOLUTION");
        s->schema_evolution = true;
    }
    fz_sql_expect(p, "INTO");
    s->name = fz_sql_object_name(p);
    s->alias = plain_alias(p, "MERGE");
    fz_sql_expect(p, "USING");
    s->source = merge_source(p);
    fz_sql_expect(p, "ON");
    s->on = fz_sql_expr(p);
    merge_clauses(p, s);
    if (!p->failed && s->n_clauses == 0) {
        if (fz_sql_peek(p, 0)->kind != SQL_END && !fz_sql_is(p, 0, ";")) {
            fz_sql_syntax(p, "WHEN");
        }
        fz_sql_fail(p, FZ_SQL_SYNTAX, "MERGE_WITHOUT_WHEN",
                    "There must be at least one WHEN clause in a MERGE statement");
    }
}

void fz_sql_partition_spec(struct sql_parser *p, struct fz_ast_stmt *s) { // after PARTITION
    size_t cap = 0;
    fz_sql_expect(p, "(");
    do {
        struct fz_ast_name column = fz_sql_name(p);
        struct fz_ast_expr *value = fz_sql_accept(p, "=") ? fz_sql_value_expr(p) : NULL;
        size_t i = s->n_partition;
        SQL_PUSH(p, s->partition, s->n_partition, cap);
        if (s->n_partition > i) {
            s->partition[i].column = column;
            s->partition[i].value = value;
        }
    } while (fz_sql_accept(p, ","));
    fz_sql_expect(p, ")");
}

void fz_sql_insert_head(struct sql_parser *p, struct fz_ast_stmt *s) { // after INSERT
    s->kind = FZ_STMT_INSERT;
    if (fz_sql_accept2(p, "WITH", "SCHEMA")) {
        fz_sql_expect(p, "EVOLUTION");
        s->schema_evolution = true;
    }
    s->overwrite = fz_sql_accept(p, "OVERWRITE");
    if (s->overwrite && (fz_sql_is(p, 0, "DIRECTORY") || fz_sql_is(p, 0, "LOCAL"))) {
        fz_sql_unsupported(p, "INSERT OVERWRITE DIRECTORY");
    }
    if (s->overwrite) {
        fz_sql_accept(p, "INTO");
    } else {
        fz_sql_expect(p, "INTO");
    }
    if (fz_sql_is(p, 0, "TABLE") && fz_sql_is_ident(p, 1)) {
        p->at++;
    }
    s->name = fz_sql_object_name(p);
    if (fz_sql_accept2(p, "REPLACE", "WHERE")) {
        s->replace_where = fz_sql_expr(p);
        s->overwrite = true;
        return;
    }
    if (fz_sql_is(p, 0, "WITH") && fz_sql_is(p, 1, "(")) {
        p->at++;
        s->properties = fz_sql_properties(p, &s->n_properties);
    }
    if (fz_sql_is(p, 0, "PARTITION") && fz_sql_is(p, 1, "(")) {
        p->at++;
        fz_sql_partition_spec(p, s);
        if (fz_sql_accept(p, "IF")) {
            fz_sql_expect(p, "NOT");
            fz_sql_expect(p, "EXISTS");
            s->if_not_exists = true;
        }
    }
    if (fz_sql_accept2(p, "BY", "NAME")) {
        s->by_name = true;
    } else if (fz_sql_is(p, 0, "(") && fz_sql_is_ident(p, 1) && (fz_sql_is(p, 2, ",") || fz_sql_is(p, 2, ")"))) {
        p->at++;
        s->columns = fz_sql_ident_list(p, &s->n_columns);
        fz_sql_expect(p, ")");
    }
}

static void update(struct sql_parser *p, struct fz_ast_stmt *s) {
    s->kind = FZ_STMT_UPDATE;
    s->name = fz_sql_object_name(p);
    s->alias = plain_alias(p, "UPDATE");
    fz_sql_expect(p, "SET");
    s->assignments = fz_sql_assignments(p, &s->n_assignments);
    if (fz_sql_accept(p, "WHERE")) {
        s->where = fz_sql_expr(p);
    }
}

static void truncate_table(struct sql_parser *p, struct fz_ast_stmt *s) {
    s->kind = FZ_STMT_TRUNCATE;
    s->name = fz_sql_object_name(p);
    if (fz_sql_accept(p, "PARTITION")) {
        fz_sql_partition_spec(p, s);
    }
}

bool fz_sql_dml(struct sql_parser *p, struct fz_ast_stmt *s) {
    if (fz_sql_accept(p, "MERGE")) {
        fz_sql_merge(p, s);
    } else if (fz_sql_accept(p, "INSERT")) {
        fz_sql_insert_head(p, s);
        s->query = fz_sql_query(p);
    } else if (fz_sql_accept(p, "UPDATE")) {
        update(p, s);
    } else if (fz_sql_accept(p, "DELETE")) {
        s->kind = FZ_STMT_DELETE;
        fz_sql_expect(p, "FROM");
        s->name = fz_sql_object_name(p);
        s->alias = plain_alias(p, "DELETE");
        if (fz_sql_accept(p, "WHERE")) {
            s->where = fz_sql_expr(p);
        }
    } else if (fz_sql_accept2(p, "TRUNCATE", "TABLE")) {
        truncate_table(p, s);
    } else {
        return false;
    }
    return true;
}
