// One statement: what kind it is, WITH and FROM in front of it, EXPLAIN around it.
#include "sql/sql_parse.h"

// FROM t INSERT INTO x SELECT … : the only form with a FROM in front that is no query.
static bool from_insert(struct sql_parser *p, struct fz_ast_stmt *s) {
    size_t first = p->at;
    if (!fz_sql_is(p, 0, "FROM")) {
        return false;
    }
    p->at++;
    size_t n = 0;
    struct fz_ast_rel **from = fz_sql_from(p, &n);
    if (p->failed || !fz_sql_accept(p, "INSERT")) {
        p->at = p->failed ? p->at : first;
        return p->failed;
    }
    fz_sql_insert_head(p, s);
    s->query = fz_sql_query_body(p, from, n);
    if (fz_sql_is(p, 0, "INSERT")) {
        fz_sql_unsupported(p, "FROM … INSERT … INSERT …");
    }
    return true;
}

static void explain(struct sql_parser *p, struct fz_ast_stmt *s) { // after EXPLAIN
    static const char *const modes[] = {"LOGICAL", "FORMATTED", "EXTENDED", "CODEGEN", "COST"};
    s->kind = FZ_STMT_EXPLAIN;
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        if (fz_sql_accept(p, modes[i])) {
            s->text = modes[i];
            s->extended = i == 2;
            s->formatted = i == 1;
            break;
        }
    }
    s->dry_run = fz_sql_accept2(p, "DRY", "RUN");
    if (!fz_sql_enter(p)) {
        p->depth--;
        return;
    }
    s->inner = fz_sql_stmt(p);
    p->depth--;
}

static const char *refused(const struct sql_parser *p) {
    static const struct {
        const char *word, *second, *feature;
    } forms[] = {
        {"ANALYZE", NULL,
         "ANALYZE TABLE: CALL system.compute_table_stats counts distinct values, the rest is in the files"},
        {"MSCK", NULL, "MSCK REPAIR TABLE"},
        {"LOAD", "DATA", "LOAD DATA"},
        {"GRANT", NULL, "GRANT"},
        {"REVOKE", NULL, "REVOKE"},
        {"LOCK", NULL, "LOCK"},
        {"UNLOCK", NULL, "UNLOCK"},
        {"ADD", NULL, "ADD JAR / FILE / ARCHIVE"},
        {"LIST", NULL, "LIST JAR / FILE / ARCHIVE"},
        {"EXPORT", NULL, "EXPORT TABLE"},
        {"IMPORT", NULL, "IMPORT TABLE"},
        {"DFS", NULL, "DFS commands"},
        {"START", "TRANSACTION", "START TRANSACTION: each statement commits by itself"},
        {"COMMIT", NULL, "COMMIT: each statement commits by itself"},
        {"ROLLBACK", NULL, "ROLLBACK: CALL system.rollback_to_snapshot goes back to a snapshot"},
        {"BEGIN", NULL, "BEGIN … END (SQL scripting)"},
        {"OPTIMIZE", NULL, "OPTIMIZE: use CALL system.rewrite_data_files"},
        {"VACUUM", NULL, "VACUUM"},
    };
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        if (fz_sql_is(p, 0, forms[i].word) && (forms[i].second == NULL || fz_sql_is(p, 1, forms[i].second))) {
            return forms[i].feature;
        }
    }
    return NULL;
}

static void with_statement(struct sql_parser *p, struct fz_ast_stmt *s) { // WITH … in front of a query or a change
    size_t first = p->at++;
    struct fz_ast_cte *ctes = fz_sql_ctes(p, &s->n_ctes, &s->recursive);
    s->ctes = ctes;
    if (!p->failed && fz_sql_dml(p, s)) {
        return;
    }
    if (!p->failed && from_insert(p, s)) {
        return;
    }
    if (!p->failed) { // a query carries its own CTEs
        p->at = first;
        s->ctes = NULL;
        s->n_ctes = 0;
        s->recursive = false;
        s->query = fz_sql_query(p);
    }
}

struct fz_ast_stmt *fz_sql_stmt(struct sql_parser *p) {
    struct fz_ast_stmt *s = SQL_NODE(p, struct fz_ast_stmt);
    size_t first = p->at;
    s->pos = fz_sql_pos(p);
    s->kind = FZ_STMT_QUERY;
    s->snapshot_id = s->retain_ms = s->min_snapshots = s->snapshot_retain_ms = -1;
    const char *feature = refused(p);
    if (feature != NULL) {
        fz_sql_unsupported(p, feature);
    } else if (fz_sql_accept(p, "EXPLAIN")) {
        explain(p, s);
    } else if (fz_sql_is(p, 0, "WITH")) {
        with_statement(p, s);
    } else if (!fz_sql_dml(p, s) && !fz_sql_ddl(p, s) && !fz_sql_session(p, s) && !from_insert(p, s)) {
        if (!fz_sql_starts_query(p, 0) && !fz_sql_is(p, 0, "(") && !fz_sql_is(p, 0, "SELECT")) {
            fz_sql_syntax(p, NULL);
        }
        s->query = fz_sql_query(p);
    }
    fz_sql_end_pos(p, &s->pos);
    s->sql = fz_sql_dup(p, fz_sql_text_from(p, first));
    return s;
}
