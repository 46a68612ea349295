// EXPLAIN and EXPLAIN DRY RUN of MERGE, UPDATE and DELETE: how the target is read, joined and written, with what planning and the
// files' own statistics leave out; and what a run would do, in both write modes, without its commit. And the warning about ON
// conditions that look at a window of the target.
#include <inttypes.h>

#include "change/change_priv.h"

enum { MAX_CONJUNCTS = 64, MANY_ROWS = 100000 };

static const char *column_name(const struct fz_change *c, int32_t id) {
    for (size_t i = 0; i < c->schema->type->n_fields; i++) {
        if (c->schema->type->fields[i].id == id) {
            return c->schema->type->fields[i].name;
        }
    }
    return "?";
}

static const char *mode_name(enum fz_write_mode mode) {
    return mode == FZ_COPY_ON_WRITE ? "copy-on-write" : "merge-on-read";
}

// Equalities between target and source make the join a hash join.
static bool is_equality(const struct fz_expr *e) {
    if (e->kind != FZ_EXPR_EQ && e->kind != FZ_EXPR_NULL_EQ) {
        return false;
    }
    uint32_t a = fz_expr_relations(e->args[0]), b = fz_expr_relations(e->args[1]);
    return (a == 1 && b == 2) || (a == 2 && b == 1);
}

static bool has_equality(const struct fz_change *c) {
    const struct fz_expr *conjuncts[MAX_CONJUNCTS];
    size_t n = c->bound->on != NULL ? fz_expr_conjuncts(c->bound->on, conjuncts, MAX_CONJUNCTS) : 0;
    for (size_t i = 0; i < n && i < MAX_CONJUNCTS; i++) {
        if (is_equality(conjuncts[i])) {
            return true;
        }
    }
    return false;
}

static void put_join(const struct fz_change *c, struct fz_buf *out) {
    if (c->bound->kind != FZ_STMT_MERGE) {
        fz_buf_puts(out, "join: none, rows are filtered\n");
        return;
    }
    const char *kind = c->has_by_source     ? (c->has_not_matched ? "full outer"
                                               : c->has_matched   ? "left outer"
                                                                  : "left anti")
                       : c->has_not_matched ? (c->has_matched ? "right outer" : "right anti")
                                            : "inner";
    fz_buf_printf(out, "join: %s, %s\n", kind,
                  has_equality(c) ? "hash join on the equalities of ON"
                                  : "NESTED LOOP: ON has no equality between target and source");
}

static void put_keys(const struct fz_change *c, struct fz_buf *out) {
    if (c->keys == NULL) {
        if (c->bound->kind == FZ_STMT_MERGE) {
            fz_buf_puts(
                out,
                c->has_by_source
                    ? "keys: not used to leave rows out: WHEN NOT MATCHED BY SOURCE wants every row of the target\n"
                    : "keys: none that the target can be read by\n");
        }
        return;
    }
    for (size_t i = 0; i < fz_scan_keys_count(c->keys); i++) {
        struct fz_scan_key_facts facts;
        fz_scan_keys_facts(c->keys, i, &facts);
        fz_buf_printf(out, "key: %s, %" PRId64 " values", column_name(c, fz_scan_keys_column(c->keys, i)->field_id),
                      facts.n_values);
        if (facts.n_distinct >= 0) {
            fz_buf_printf(out, ", %" PRId64 " distinct", facts.n_distinct);
        }
        if (facts.n_nulls > 0) {
            fz_buf_printf(out, ", %" PRId64 " NULL", facts.n_nulls);
        }
        fz_buf_printf(out, ", as %s", facts.form);
        if (facts.has_range) {
            fz_buf_puts(out, ", ");
            fz_value_print(out, &facts.min);
            fz_buf_puts(out, " .. ");
            fz_value_print(out, &facts.max);
        }
        fz_buf_putc(out, '\n');
    }
}

static void put_levels(const struct fz_change *c, const struct fz_scan_counters *s, struct fz_buf *out) {
    const struct fz_scan_plan *p = c->plan;
    fz_buf_printf(out, "manifests: %" PRId64 " read, %" PRId64 " left out by partition\n", p->manifests_read,
                  p->manifests_skipped);
    fz_buf_printf(out, "files: %" PRId64 " kept, %" PRId64 " left out by partition and bounds (",
                  s->files - s->files_by_keys, p->files_skipped);
    fz_buf_put_size(out, p->bytes_skipped);
    fz_buf_printf(out, "), %" PRId64 " by keys\n", s->files_by_keys);
    fz_buf_printf(out,
                  "row groups: %" PRId64 " kept, %" PRId64 " left out by bounds, %" PRId64 " by keys, %" PRId64
                  " by bloom filter (",
                  s->row_groups - s->row_groups_by_range - s->row_groups_by_keys - s->row_groups_by_bloom,
                  s->row_groups_by_range, s->row_groups_by_keys, s->row_groups_by_bloom);
    fz_buf_put_size(out, s->bytes_by_groups);
    fz_buf_printf(out, ")\npages of key columns: %" PRId64 " kept, %" PRId64 " left out by keys\n",
                  s->pages - s->pages_by_keys, s->pages_by_keys);
    fz_buf_puts(out, "columns: ");
    fz_buf_put_size(out, s->bytes);
    fz_buf_puts(out, " of those that are needed, of files with ");
    fz_buf_put_size(out, p->bytes_kept);
    fz_buf_putc(out, '\n');
}

static void put_head(const struct fz_change *c, struct fz_buf *out) {
    static const char *const kinds[] = {"MERGE INTO", "UPDATE", "DELETE FROM"};
    int kind = c->bound->kind == FZ_STMT_MERGE ? 0 : c->bound->kind == FZ_STMT_UPDATE ? 1 : 2;
    fz_buf_printf(out, "%s %s\nwrite: %s, format version %d\n", kinds[kind], c->bound->target.name, mode_name(c->mode),
                  c->metadata->format_version);
}

enum fz_code fz_change_put_plan(struct fz_change *c, struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_counters counters = {0};
    put_head(c, out);
    put_join(c, out);
    if (c->bound->kind == FZ_STMT_MERGE && c->keys != NULL) {
        fz_buf_printf(out, "source: %" PRId64 " rows\n", c->source_rows);
    }
    put_keys(c, out);
    if (c->metadata_only) {
        fz_buf_printf(out, "whole files are removed, nothing is read: %zu files\n", c->plan->n_files);
    } else {
        FZ_TRY(fz_change_build_match(c, err));
        FZ_TRY(fz_scan_source_survey(c->target_source, err));
        fz_scan_source_counters(c->target_source, &counters);
    }
    if (!c->metadata_only) {
        put_levels(c, &counters, out);
    }
    rc = fz_buf_check(out, err);
out:
    return rc;
}

void fz_change_put_run(struct fz_change *c, bool first, struct fz_buf *out) {
    static const char *const matches[] = {[FZ_MATCHED] = "MATCHED",
                                          [FZ_NOT_MATCHED] = "NOT MATCHED",
                                          [FZ_NOT_MATCHED_BY_SOURCE] = "NOT MATCHED BY SOURCE"};
    const struct fz_change_stats *s = &c->stats;
    if (first && c->bound->kind == FZ_STMT_MERGE) {
        for (size_t i = 0; i < c->bound->n_clauses; i++) {
            const struct fz_bound_clause *clause = &c->bound->clauses[i];
            const char *action = clause->action == FZ_MERGE_DELETE   ? "DELETE"
                                 : clause->action == FZ_MERGE_UPDATE ? "UPDATE"
                                                                     : "INSERT";
            fz_buf_printf(out, "clause %zu: WHEN %s%s THEN %s: %" PRId64 " rows\n", i + 1, matches[clause->match],
                          clause->condition != NULL ? " AND …" : "", action, c->clause_rows[i]);
        }
    } else if (first) {
        fz_buf_printf(out, "rows: %" PRId64 " updated, %" PRId64 " deleted\n", s->rows_updated, s->rows_deleted);
    }
    if (first && c->target_source != NULL) {
        struct fz_scan_counters counters;
        fz_scan_source_counters(c->target_source, &counters);
        put_levels(c, &counters, out);
    }
    fz_buf_printf(out,
                  "%s: %" PRId64 " data files replaced, %" PRId64 " data files and %" PRId64
                  " delete files written, %" PRId64 " rows copied, ",
                  mode_name(c->mode), s->files_rewritten, s->files_added, s->delete_files_added, s->rows_copied);
    fz_buf_put_size(out, s->bytes_written);
    fz_buf_printf(out, " written, %.3f s\n", s->seconds);
    const struct fz_row_rewrite_stats *r = &c->rewritten;
    if (c->mode == FZ_COPY_ON_WRITE && s->files_rewritten > 0) {
        fz_buf_printf(out,
                      "rewritten: row groups %" PRId64 " copied, %" PRId64 " in part, %" PRId64 " not, %" PRId64
                      " dropped; of the first two, column chunks %" PRId64 " copied, %" PRId64 " in part, %" PRId64
                      " not, pages %" PRId64 " copied, %" PRId64 " encoded; ",
                      r->groups_copied, r->groups_patched, r->groups_encoded, r->groups_removed, r->chunks_copied,
                      r->chunks_patched, r->chunks_encoded, r->pages_copied, r->pages_encoded);
        fz_buf_put_size(out, r->bytes_copied);
        fz_buf_puts(out, " copied\n");
    }
}

struct window {
    const struct fz_change *change;
    const char *column;
};
static bool visit_date(void *ctx, const struct fz_expr *e) {
    struct window *w = ctx;
    bool date = e->type->id == FZ_TYPE_DATE || e->type->id == FZ_TYPE_TIMESTAMP || e->type->id == FZ_TYPE_TIMESTAMPTZ;
    if (e->kind == FZ_EXPR_COLUMN && e->u.column.relation == 0 && date) {
        w->column = e->u.column.name;
        return false;
    }
    return true;
}

// Every target row against every source row.
static void warn_nested_loop(const struct fz_change *c) {
    bool constant = c->bound->on == NULL || fz_expr_relations(c->bound->on) == 0;
    if (c->bound->kind == FZ_STMT_MERGE && !constant && !has_equality(c) && c->plan != NULL &&
        c->plan->rows_kept > MANY_ROWS && c->context->log != NULL) {
        fz_log_write(c->context->log, 1,
                     "ON has no equality between target and source: each of %" PRId64
                     " rows of %s is compared with every row of the source. Add the key's "
                     "columns to ON, as t.key = s.key",
                     c->plan->rows_kept, c->bound->target.name);
    }
}

// A MERGE that inserts what it does not find, and looks for it only in some days of the target.
void fz_change_warn_window(const struct fz_change *c) {
    const struct fz_expr *conjuncts[MAX_CONJUNCTS];
    warn_nested_loop(c);
    if (c->bound->kind != FZ_STMT_MERGE || !c->has_not_matched || c->bound->on == NULL || c->context->log == NULL) {
        return;
    }
    size_t n = fz_expr_conjuncts(c->bound->on, conjuncts, MAX_CONJUNCTS);
    n = n < MAX_CONJUNCTS ? n : MAX_CONJUNCTS;
    for (size_t i = 0; i < n; i++) {
        struct window w = {.change = c};
        if (is_equality(conjuncts[i])) {
            continue;
        }
        fz_expr_walk(conjuncts[i], visit_date, &w);
        bool is_key = false;
        for (size_t k = 0; w.column != NULL && k < n; k++) {
            struct window key = {.change = c};
            if (is_equality(conjuncts[k])) {
                fz_expr_walk(conjuncts[k], visit_date, &key);
            }
            is_key = is_key || (key.column != NULL && strcmp(key.column, w.column) == 0);
        }
        if (w.column != NULL && !is_key) {
            fz_log_write(c->context->log, 1,
                         "ON looks at a part of %s only, by %s, which is not part of the key: a source row whose "
                         "target row lies outside of that part is "
                         "not found there and inserted a second time. Leave %s out of ON, or make it part of the key",
                         c->bound->target.name, w.column, w.column);
            return;
        }
    }
}
