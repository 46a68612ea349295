// `frazil check`: what a pipeline would do, without doing it. See run.h.
#include <inttypes.h>
#include <stdio.h>

#include "cdc/encoding.h"
#include "cdc/run_priv.h"

enum { SAMPLE = 10000 };

static void print_lines(struct fz_run *run, const char *indent, const char *text) {
    while (*text != 0) {
        size_t n = strcspn(text, "\n");
        fz_run_line(run, "%s%.*s", indent, (int)n, text);
        text += n + (text[n] == '\n');
    }
}

static void print_config(struct fz_run *run) {
    const struct fz_pipeline *p = run->p->pipeline;
    fz_run_line(run, "pipeline %s (%s)", p->name, p->file);
    fz_run_line(run, "source: file %s, records: %s, format: %s", p->source_path, p->records_kafka ? "kafka" : "value",
                p->format == FZ_FORMAT_DEBEZIUM_FLAT ? "debezium-flat" : "debezium-json");
    fz_run_line(run, "commit: every %.1f s or %" PRId64 " changes", (double)p->commit_every_us / 1e6, p->commit_rows);
}

static enum fz_code read_sample(struct fz_run *run, int64_t *n_records, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (*n_records = 0; *n_records < SAMPLE; ++*n_records) {
        struct fz_cdc_record record;
        bool found;
        FZ_TRY(run->source->vtable->next(run->source, &record, &found, err));
        if (!found) {
            break;
        }
        FZ_TRY(fz_run_record(run, &record, err));
    }
out:
    return rc;
}

static bool is_declared(const struct fz_cdc_table *table, const char *name) {
    for (size_t i = 0; table->config != NULL && i < table->config->n_columns; i++) {
        if (strcmp(table->config->columns[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_key(const struct fz_cdc_table *table, const char *name) {
    for (size_t i = 0; i < table->n_key; i++) {
        if (strcmp(table->columns[table->key[i]].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static void print_columns(struct fz_run *run, const struct fz_cdc_table *table, bool exists) {
    for (size_t i = 0; i < table->n_columns; i++) {
        const struct fz_cdc_column *c = &table->columns[i];
        struct fz_buf type = {0}, encoding = {0};
        fz_type_print_sql(&type, c->type);
        fz_cdc_encoding_print(&encoding, &c->encoding);
        fz_run_line(run, "  %-24s %-20s from %s (%s)%s", c->name, type.ptr == NULL ? "?" : type.ptr,
                    encoding.ptr == NULL ? "?" : encoding.ptr,
                    is_declared(table, c->name) ? "declared"
                    : exists                    ? "the table's type"
                    : table->typed_by_schema    ? "by the event's schema"
                                                : "JSON type",
                    is_key(table, c->name) ? ", key" : "");
        fz_buf_dispose(&type);
        fz_buf_dispose(&encoding);
    }
}

static void warn_columns(struct fz_run *run, const struct fz_cdc_table *table, bool exists) {
    for (size_t i = 0; i < table->n_columns && !exists && !table->typed_by_schema; i++) {
        const struct fz_cdc_column *c = &table->columns[i];
        if (!is_declared(table, c->name) && !is_key(table, c->name)) {
            fz_run_line(run,
                        "  warning: column %s is not declared and the events have no schema: it gets its JSON type",
                        c->name);
        }
    }
}

static void warn_partition(struct fz_run *run, const struct fz_cdc_table *table) {
    for (size_t i = 0; table->config != NULL && i < table->config->n_partition_by; i++) {
        const char *text = table->config->partition_by[i];
        bool in_key = false;
        for (size_t k = 0; k < table->n_key; k++) {
            in_key = in_key || strstr(text, table->columns[table->key[k]].name) != NULL;
        }
        if (!in_key) {
            fz_run_line(
                run,
                "  warning: partition_by %s is no part of the key: every commit looks for its keys in all partitions",
                text);
        }
    }
}

static void warn_table(struct fz_run *run, const struct fz_cdc_table *table, bool exists) {
    const struct fz_pipeline_table *config = table->config;
    bool order_by = config != NULL && config->n_order_by > 0;
    if (table->key_known && table->n_key == 0) {
        fz_run_line(run, "  warning: no primary key: inserts are appended, updates and deletes go to the quarantine");
    } else if (!fz_apply_has_guard(&run->apply, table) && !order_by) {
        fz_run_line(run,
                    "  warning: no guard: %s has no column " FZ_POSITION_COLUMN
                    " and order_by is not set; only the source positions in the snapshots keep "
                    "older events out",
                    ((const struct fz_apply_table *)table->apply_state)->dotted);
    }
    if (run->p->pipeline->format == FZ_FORMAT_DEBEZIUM_FLAT) {
        fz_run_line(run, "  warning: flattened events have no truncates: a TRUNCATE at the source is not seen");
    }
    if (config == NULL || config->deletes == FZ_DELETES_HARD) {
        fz_run_line(run, "  note: hard deletes keep no position; a late older event for a deleted key is kept out by "
                         "the source positions only");
    }
    warn_columns(run, table, exists);
    warn_partition(run, table);
}

static enum fz_code print_sql(struct fz_run *run, struct fz_cdc_table *table, bool exists, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    if (!exists) {
        FZ_TRY(fz_apply_print_ddl(&run->apply, table, &sql, err));
        print_lines(run, "  ", sql.ptr);
        fz_buf_clear(&sql);
        FZ_TRY(fz_apply_preview(&run->apply, table, err));
    }
    if (table->n_key > 0) {
        struct fz_fold *fold = run->folds[table->number];
        FZ_TRY(fz_apply_print_merge(&run->apply, fold, &sql, err));
        print_lines(run, "  ", sql.ptr);
    }
out:
    fz_buf_dispose(&sql);
    return rc;
}

static enum fz_code check_names(const struct fz_cdc_table *table, const char *what, const char *const *names, size_t n,
                                struct fz_err *err) {
    for (size_t i = 0; i < n; i++) {
        if (names[i] != NULL && fz_map_find(&table->by_name, fz_str_of(names[i])) == NULL) {
            fz_fail(err, FZ_INVALID_ARG, "table %s: %s names %s, which is no column of it", table->match, what,
                    names[i]);
            fz_err_at(err, table->config->line, table->config->column);
            return FZ_INVALID_ARG;
        }
    }
    return FZ_OK;
}

static enum fz_code print_table(struct fz_run *run, struct fz_cdc_table *table, struct fz_err *err) {
    static const char *const DELETES[] = {"hard", "soft", "ignore"};
    enum fz_code rc = FZ_OK;
    const struct fz_apply_table *target = table->apply_state;
    const struct fz_pipeline_table *config = table->config;
    bool exists = target->metadata != NULL;
    fz_run_line(run, "table %s -> %s (%s)", table->match, target->dotted,
                exists ? "exists" : "is created at the first commit");
    FZ_TRY(fz_apply_declare(table, err));
    if (table->n_columns == 0) {
        fz_run_line(run, "  warning: no event of it among the first %d records, and no declared columns", SAMPLE);
        goto out;
    }
    fz_run_line(run, "  deletes: %s, order: %s", DELETES[config == NULL ? 0 : config->deletes],
                config != NULL && config->n_order_by > 0 ? "by order_by"
                : fz_apply_has_guard(&run->apply, table) ? "by the connector's position, kept in " FZ_POSITION_COLUMN
                                                         : "as the events stand in the source");
    print_columns(run, table, exists);
    if (config != NULL) {
        FZ_TRY(check_names(table, "key", config->key, config->n_key, err));
        FZ_TRY(check_names(table, "order_by", config->order_by, config->n_order_by, err));
        FZ_TRY(check_names(table, "guard", &config->guard, 1, err));
    }
    FZ_TRY(print_sql(run, table, exists, err));
    warn_table(run, table, exists);
out:
    return rc;
}

enum fz_code fz_cdc_pipeline_check(struct fz_cdc_pipeline *p, fz_cdc_line_fn line, void *ctx, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_run run;
    int64_t n_records = 0;
    FZ_TRY(fz_run_open(&run, p, line, ctx, err));
    print_config(&run);
    FZ_TRY(read_sample(&run, &n_records, err));
    if (!run.quarantine.is_open) {
        FZ_TRY(fz_quarantine_open(&run.apply, &run.quarantine, &run.tables, err));
    }
    fz_run_line(&run, "quarantine: %s, stop after %" PRId64, run.quarantine.target.dotted, p->pipeline->stop_after);
    fz_run_line(&run, "read the first %" PRId64 " records: %" PRId64 " events of tables, %" PRId64 " bad", n_records,
                run.stats.events, run.stats.quarantined);
    if (run.quarantine.n > 0) {
        const struct fz_bad_record *bad = &run.quarantine.items[0];
        fz_run_line(&run,
                    "warning: bad records go to the quarantine; the first is topic %s, partition %d, offset %" PRId64
                    ": %s: %s",
                    bad->position.topic, (int)bad->position.partition, bad->position.offset, bad->reason, bad->text);
    }
    for (size_t i = 0; i < run.tables.n; i++) {
        FZ_TRY(print_table(&run, run.tables.items[i], err));
    }
out:
    fz_run_close(&run);
    return rc;
}
