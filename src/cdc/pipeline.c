// The pipeline file: which keys there are, what they become, and what must hold between them. See pipeline.h.
#include "cdc/pipeline.h"

#include <errno.h>
#include <stdio.h>

#include "base/text.h"
#include "cdc/encoding.h"
#include "cdc/yaml_walk.h"

#define COUNT(array) (sizeof(array) / sizeof *(array))

// ---- columns

struct column_read {
    struct fz_pipeline_column *column;
    yaml_node_t *encoding_node;
};

static enum fz_code read_type(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct column_read *c = target;
    const char *text = NULL;
    enum fz_code rc = fz_yaml_text(yaml, value, &text);
    struct fz_err inner = FZ_ERR_INIT;
    if (rc == FZ_OK && fz_cdc_type_parse(yaml->arena, fz_str_of(text), &c->column->type, &inner) != FZ_OK) {
        rc = fz_yaml_fail(yaml, value, FZ_INVALID_ARG, "%s", inner.message);
    }
    return rc;
}

static enum fz_code read_encoding(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct column_read *c = target;
    const char *text = NULL;
    enum fz_code rc = fz_yaml_text(yaml, value, &text);
    struct fz_err inner = FZ_ERR_INIT;
    if (rc == FZ_OK && fz_cdc_encoding_parse(yaml->arena, fz_str_of(text), &c->column->encoding, &inner) != FZ_OK) {
        rc = fz_yaml_fail(yaml, value, FZ_INVALID_ARG, "%s", inner.message);
    }
    c->encoding_node = value;
    return rc;
}

static enum fz_code read_default(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct column_read *c = target;
    return fz_yaml_text(yaml, value, &c->column->default_text);
}

static const struct fz_yaml_key COLUMN_KEYS[] = {
    {"type", read_type, NULL},
    {"encoding", read_encoding, NULL},
    {"default", read_default, NULL},
    {"expr", NULL, "computed columns are not there yet; the column can be computed in a view over the table"},
    {"formerly", NULL, "older names of a column are not there yet; rename: {old: new} maps one field"},
};

static enum fz_code read_column(struct fz_yaml *yaml, const char *name, yaml_node_t *key_node, yaml_node_t *value,
                                void *target) {
    struct fz_pipeline_table *table = target;
    struct fz_pipeline_column *column = &table->columns[table->n_columns];
    struct column_read c = {column, NULL};
    enum fz_code rc = FZ_OK;
    column->name = name;
    column->line = (int)key_node->start_mark.line + 1;
    column->column = (int)key_node->start_mark.column + 1;
    if (value != NULL && value->type == YAML_SCALAR_NODE) {
        FZ_TRY(read_type(yaml, value, &c));
    } else {
        FZ_TRY(fz_yaml_map(yaml, value, "a column", COLUMN_KEYS, COUNT(COLUMN_KEYS), &c));
    }
    if (column->type == NULL) {
        rc = fz_yaml_fail(yaml, key_node, FZ_INVALID_ARG, "column %s: type is missing", name);
        goto out;
    }
    column->type = fz_cdc_type_settle(yaml->arena, column->type, &column->encoding);
    if (column->type == NULL) {
        rc = fz_fail_nomem(yaml->err, 64);
        goto out;
    }
    if (column->encoding.kind != FZ_ENC_NONE && !fz_cdc_encoding_fits(&column->encoding, column->type)) {
        struct fz_buf t = {0}, e = {0};
        fz_type_print_sql(&t, column->type);
        fz_cdc_encoding_print(&e, &column->encoding);
        rc = fz_yaml_fail(yaml, c.encoding_node, FZ_INVALID_ARG, "column %s: values encoded as %s do not become %s",
                          name, e.ptr == NULL ? "?" : e.ptr, t.ptr == NULL ? "?" : t.ptr);
        fz_buf_dispose(&t);
        fz_buf_dispose(&e);
        goto out;
    }
    table->n_columns++;
out:
    return rc;
}

static enum fz_code read_columns(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct fz_pipeline_table *table = target;
    if (value->type == YAML_MAPPING_NODE) {
        size_t n = (size_t)(value->data.mapping.pairs.top - value->data.mapping.pairs.start);
        table->columns = fz_arena_array(yaml->arena, n + 1, sizeof *table->columns);
        if (table->columns == NULL) {
            return fz_fail_nomem(yaml->err, n * sizeof *table->columns);
        }
    }
    return fz_yaml_pairs(yaml, value, "columns", read_column, table);
}

// ---- tables

static enum fz_code read_into(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_text(yaml, value, &((struct fz_pipeline_table *)target)->into);
}
static enum fz_code read_table_key(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct fz_pipeline_table *table = target;
    enum fz_code rc = fz_yaml_texts(yaml, value, &table->key, &table->n_key);
    return rc == FZ_OK && table->n_key == 0 ? fz_yaml_fail(yaml, value, FZ_INVALID_ARG, "key: at least one column")
                                            : rc;
}
static enum fz_code read_order_by(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct fz_pipeline_table *table = target;
    return fz_yaml_texts(yaml, value, &table->order_by, &table->n_order_by);
}
static enum fz_code read_guard(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_text(yaml, value, &((struct fz_pipeline_table *)target)->guard);
}
static enum fz_code read_partition_by(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct fz_pipeline_table *table = target;
    return fz_yaml_texts(yaml, value, &table->partition_by, &table->n_partition_by);
}

static enum fz_code read_soft_flag(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_text(yaml, value, &((struct fz_pipeline_table *)target)->soft_flag);
}
static enum fz_code read_soft_at(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_text(yaml, value, &((struct fz_pipeline_table *)target)->soft_at);
}
static const struct fz_yaml_key SOFT_KEYS[] = {{"flag", read_soft_flag, NULL}, {"at", read_soft_at, NULL}};

static enum fz_code read_soft(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct fz_pipeline_table *table = target;
    table->deletes = FZ_DELETES_SOFT;
    table->soft_flag = "is_deleted";
    return fz_yaml_map(yaml, value, "soft", SOFT_KEYS, COUNT(SOFT_KEYS), table);
}
static const struct fz_yaml_key DELETES_KEYS[] = {{"soft", read_soft, NULL}};

static enum fz_code read_deletes(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    static const char *const names[] = {"hard", "soft", "ignore"};
    struct fz_pipeline_table *table = target;
    if (value->type == YAML_MAPPING_NODE) {
        return fz_yaml_map(yaml, value, "deletes", DELETES_KEYS, COUNT(DELETES_KEYS), table);
    }
    int which = 0;
    enum fz_code rc = fz_yaml_choice(yaml, value, names, COUNT(names), &which);
    table->deletes = (enum fz_pipeline_deletes)which;
    if (table->deletes == FZ_DELETES_SOFT) {
        table->soft_flag = "is_deleted";
        table->soft_at = "deleted_at";
    }
    return rc;
}
static enum fz_code read_mode(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    static const char *const names[] = {"auto", "copy-on-write", "merge-on-read"};
    int which = 0;
    enum fz_code rc = fz_yaml_choice(yaml, value, names, COUNT(names), &which);
    ((struct fz_pipeline_table *)target)->mode = (enum fz_pipeline_mode)which;
    return rc;
}
static enum fz_code read_truncate(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    static const char *const names[] = {"apply", "ignore", "stop"};
    int which = 0;
    enum fz_code rc = fz_yaml_choice(yaml, value, names, COUNT(names), &which);
    ((struct fz_pipeline_table *)target)->truncate = (enum fz_pipeline_truncate)which;
    return rc;
}
static enum fz_code read_schema_changes(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    static const char *const names[] = {"evolve", "ignore", "stop"};
    int which = 0;
    enum fz_code rc = fz_yaml_choice(yaml, value, names, COUNT(names), &which);
    ((struct fz_pipeline_table *)target)->schema_changes = (enum fz_pipeline_schema_changes)which;
    return rc;
}
static enum fz_code read_snapshot_rows(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    static const char *const names[] = {"heal", "keep-streamed"};
    int which = 0;
    enum fz_code rc = fz_yaml_choice(yaml, value, names, COUNT(names), &which);
    ((struct fz_pipeline_table *)target)->keep_streamed = which == 1;
    return rc;
}
static enum fz_code read_keyless(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    static const char *const names[] = {"append", "match-rows"};
    int which = 0;
    enum fz_code rc = fz_yaml_choice(yaml, value, names, COUNT(names), &which);
    if (rc == FZ_OK && which == 1) {
        return fz_yaml_fail(yaml, value, FZ_UNSUPPORTED,
                            "[UNSUPPORTED] keyless: match-rows is not there yet; use append, or give the table a key");
    }
    ((struct fz_pipeline_table *)target)->keyless_append = true;
    return rc;
}

struct pair_list {
    struct fz_property *items;
    size_t n;
};
static enum fz_code read_pair(struct fz_yaml *yaml, const char *key, yaml_node_t *key_node, yaml_node_t *value,
                              void *target) {
    struct pair_list *list = target;
    (void)key_node;
    list->items[list->n].key = key;
    return fz_yaml_text(yaml, value, &list->items[list->n++].value);
}
static enum fz_code read_pairs(struct fz_yaml *yaml, yaml_node_t *value, const char *what, struct fz_property **items,
                               size_t *n) {
    struct pair_list list = {0};
    if (value->type == YAML_MAPPING_NODE) {
        size_t count = (size_t)(value->data.mapping.pairs.top - value->data.mapping.pairs.start);
        list.items = fz_arena_array(yaml->arena, count + 1, sizeof *list.items);
        if (list.items == NULL) {
            return fz_fail_nomem(yaml->err, count * sizeof *list.items);
        }
    }
    enum fz_code rc = fz_yaml_pairs(yaml, value, what, read_pair, &list);
    *items = list.items;
    *n = list.n;
    return rc;
}
static enum fz_code read_properties(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct fz_pipeline_table *table = target;
    return read_pairs(yaml, value, "properties", &table->properties, &table->n_properties);
}
static enum fz_code read_rename(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct fz_pipeline_table *table = target;
    return read_pairs(yaml, value, "rename", &table->rename, &table->n_rename);
}

static const struct fz_yaml_key TABLE_KEYS[] = {
    {"into", read_into, NULL},
    {"key", read_table_key, NULL},
    {"order_by", read_order_by, NULL},
    {"guard", read_guard, NULL},
    {"deletes", read_deletes, NULL},
    {"mode", read_mode, NULL},
    {"partition_by", read_partition_by, NULL},
    {"properties", read_properties, NULL},
    {"columns", read_columns, NULL},
    {"schema_changes", read_schema_changes, NULL},
    {"truncate", read_truncate, NULL},
    {"rename", read_rename, NULL},
    {"keyless", read_keyless, NULL},
    {"snapshot_rows", read_snapshot_rows, NULL},
    {"lineage", NULL, "lineage columns are not there yet; _frazil_position is always written"},
    {"checks", NULL, "checks are not there yet; query the table after the run"},
    {"history", NULL, "history tables (SCD2) are not there yet"},
};

static enum fz_code read_table(struct fz_yaml *yaml, const char *name, yaml_node_t *key_node, yaml_node_t *value,
                               void *target) {
    struct fz_pipeline *p = target;
    struct fz_pipeline_table *table = &p->tables[p->n_tables];
    table->match = name;
    table->line = (int)key_node->start_mark.line + 1;
    table->column = (int)key_node->start_mark.column + 1;
    enum fz_code rc = FZ_OK;
    if (value == NULL || value->type != YAML_SCALAR_NODE ||
        value->data.scalar.length > 0) { // `"public.orders":` alone is fine
        FZ_TRY(fz_yaml_map(yaml, value, name, TABLE_KEYS, COUNT(TABLE_KEYS), table));
    }
    p->n_tables++;
out:
    return rc;
}

static enum fz_code read_tables(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct fz_pipeline *p = target;
    if (value->type == YAML_MAPPING_NODE) {
        size_t n = (size_t)(value->data.mapping.pairs.top - value->data.mapping.pairs.start);
        p->tables = fz_arena_array(yaml->arena, n + 1, sizeof *p->tables);
        if (p->tables == NULL) {
            return fz_fail_nomem(yaml->err, n * sizeof *p->tables);
        }
    }
    return fz_yaml_pairs(yaml, value, "tables", read_table, p);
}

// ---- source

static enum fz_code read_path(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_text(yaml, value, &((struct fz_pipeline *)target)->source_path);
}
static enum fz_code read_records(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    static const char *const names[] = {"value", "kafka"};
    int which = 0;
    enum fz_code rc = fz_yaml_choice(yaml, value, names, COUNT(names), &which);
    ((struct fz_pipeline *)target)->records_kafka = which == 1;
    return rc;
}
static enum fz_code read_format(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    static const char *const names[] = {"debezium-json", "debezium-flat", "debezium-avro", "maxwell", "json", "csv"};
    int which = 0;
    enum fz_code rc = fz_yaml_choice(yaml, value, names, COUNT(names), &which);
    if (rc == FZ_OK && which > 1) {
        return fz_yaml_fail(yaml, value, FZ_UNSUPPORTED,
                            "[UNSUPPORTED] format: %s is not there yet; there are debezium-json and debezium-flat",
                            names[which]);
    }
    ((struct fz_pipeline *)target)->format = which == 1 ? FZ_FORMAT_DEBEZIUM_FLAT : FZ_FORMAT_DEBEZIUM_JSON;
    return rc;
}
static enum fz_code read_placeholder(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_text(yaml, value, &((struct fz_pipeline *)target)->placeholder);
}
static const struct fz_yaml_key FILE_KEYS[] = {
    {"path", read_path, NULL},
    {"records", read_records, NULL},
    {"format", read_format, NULL},
    {"placeholder", read_placeholder, NULL},
};
static enum fz_code read_file(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct fz_pipeline *p = target;
    enum fz_code rc = fz_yaml_map(yaml, value, "file", FILE_KEYS, COUNT(FILE_KEYS), p);
    return rc == FZ_OK && p->source_path == NULL ? fz_yaml_fail(yaml, value, FZ_INVALID_ARG, "file: path is missing")
                                                 : rc;
}
static const struct fz_yaml_key SOURCE_KEYS[] = {
    {"file", read_file, NULL},
    {"kafka", NULL, "the Kafka source is not there yet; file: reads recorded topics"},
    {"postgres", NULL, "reading PostgreSQL directly is not there yet; file: reads recorded Debezium topics"},
    {"table", NULL, "an Iceberg table as source is not there yet; file: reads recorded Debezium topics"},
};
static enum fz_code read_source(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_map(yaml, value, "source", SOURCE_KEYS, COUNT(SOURCE_KEYS), target);
}

// ---- top

static enum fz_code read_name(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    struct fz_pipeline *p = target;
    enum fz_code rc = fz_yaml_text(yaml, value, &p->name);
    for (const char *c = p->name; rc == FZ_OK && *c != 0; c++) {
        if (!(*c == '_' || *c == '-' || *c == '.' || (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
              (*c >= 'A' && *c <= 'Z'))) {
            return fz_yaml_fail(yaml, value, FZ_INVALID_ARG,
                                "pipeline: a name is made of letters, digits, '-', '_' and '.'");
        }
    }
    return rc;
}
static enum fz_code read_catalog(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_text(yaml, value, &((struct fz_pipeline *)target)->catalog);
}
static enum fz_code read_quarantine_table(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_text(yaml, value, &((struct fz_pipeline *)target)->quarantine_table);
}
static enum fz_code read_stop_after(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_count(yaml, value, 0, INT64_MAX, &((struct fz_pipeline *)target)->stop_after);
}
static const struct fz_yaml_key QUARANTINE_KEYS[] = {{"table", read_quarantine_table, NULL},
                                                     {"stop_after", read_stop_after, NULL}};
static enum fz_code read_quarantine(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_map(yaml, value, "quarantine", QUARANTINE_KEYS, COUNT(QUARANTINE_KEYS), target);
}

static enum fz_code read_every(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    static const struct {
        const char *unit;
        int64_t us;
    } UNITS[] = {{"ms", 1000}, {"s", 1000000}, {"m", 60000000}, {"min", 60000000}, {"h", 3600000000}};
    const char *text = NULL;
    enum fz_code rc = fz_yaml_text(yaml, value, &text);
    if (rc != FZ_OK) {
        return rc;
    }
    size_t n = strspn(text, "0123456789");
    int64_t number = 0;
    if (n > 0 && n < 10 && fz_parse_i64((struct fz_str){text, n}, &number) && number > 0) {
        for (size_t i = 0; i < COUNT(UNITS); i++) {
            if (strcmp(text + n, UNITS[i].unit) == 0) {
                ((struct fz_pipeline *)target)->commit_every_us = number * UNITS[i].us;
                return FZ_OK;
            }
        }
    }
    return fz_yaml_fail(yaml, value, FZ_INVALID_ARG, "\"%s\" is no duration; write 500ms, 10s, 5m or 1h", text);
}
static enum fz_code read_or_rows(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    return fz_yaml_count(yaml, value, 1, 100000000, &((struct fz_pipeline *)target)->commit_rows);
}
static const struct fz_yaml_key COMMIT_KEYS[] = {{"every", read_every, NULL}, {"or_rows", read_or_rows, NULL}};
static enum fz_code read_commit(struct fz_yaml *yaml, yaml_node_t *value, void *target) {
    if (value->type == YAML_SCALAR_NODE && strcmp((char *)value->data.scalar.value, "transactions") == 0) {
        return fz_yaml_fail(yaml, value, FZ_UNSUPPORTED,
                            "[UNSUPPORTED] commit: transactions is not there yet; use {every: 10s, or_rows: 500000}");
    }
    return fz_yaml_map(yaml, value, "commit", COMMIT_KEYS, COUNT(COMMIT_KEYS), target);
}

static const struct fz_yaml_key TOP_KEYS[] = {
    {"pipeline", read_name, NULL},
    {"catalog", read_catalog, NULL},
    {"source", read_source, NULL},
    {"tables", read_tables, NULL},
    {"quarantine", read_quarantine, NULL},
    {"commit", read_commit, NULL},
    {"bronze", NULL, "landing raw events is not there yet"},
    {"maintain", NULL, "maintenance in the pipeline is not there yet"},
    {"http", NULL, "the web page is not there yet"},
};

// "orders.yaml" -> "orders"
static const char *name_of_file(struct fz_arena *arena, const char *file) {
    const char *slash = strrchr(file, '/'), *base = slash == NULL ? file : slash + 1, *dot = strrchr(base, '.');
    size_t len = dot == NULL || dot == base ? strlen(base) : (size_t)(dot - base);
    char *name = fz_arena_strndup(arena, base, len);
    for (char *c = name; c != NULL && *c != 0; c++) {
        if (!(*c == '_' || *c == '-' || *c == '.' || (*c >= '0' && *c <= '9') || (*c >= 'a' && *c <= 'z') ||
              (*c >= 'A' && *c <= 'Z'))) {
            *c = '_';
        }
    }
    return name;
}

static enum fz_code check_whole(struct fz_yaml *yaml, struct fz_pipeline *p) {
    if (p->source_path == NULL) {
        return fz_yaml_fail(
            yaml, NULL, FZ_INVALID_ARG,
            "source is missing; the shortest pipeline is source: {file: {path: \"events.jsonl\", records: kafka}}");
    }
    for (size_t i = 0; i < p->n_tables; i++) {
        const struct fz_pipeline_table *t = &p->tables[i];
        if (!p->records_kafka && p->format == FZ_FORMAT_DEBEZIUM_FLAT && t->n_key == 0 && !t->keyless_append) {
            fz_fail(yaml->err, FZ_INVALID_ARG, "%s:%d:%d: %s: key is missing; flattened bare values carry none",
                    yaml->file, t->line, t->column, t->match);
            fz_err_at(yaml->err, t->line, t->column);
            return FZ_INVALID_ARG;
        }
    }
    return FZ_OK;
}

static enum fz_code parse_document(yaml_document_t *document, const char *file, struct fz_pipeline *p,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_yaml yaml = {document, file, &p->arena, err};
    yaml_node_t *root = yaml_document_get_root_node(document);
    if (root == NULL) {
        return fz_yaml_fail(&yaml, NULL, FZ_INVALID_ARG, "the file is empty");
    }
    p->file = fz_arena_strdup(&p->arena, file);
    p->placeholder = "__debezium_unavailable_value";
    p->stop_after = 10000;
    p->commit_every_us = 10000000;
    p->commit_rows = 500000;
    p->commit_bytes = 512 << 20;
    FZ_TRY(fz_yaml_map(&yaml, root, "the pipeline", TOP_KEYS, COUNT(TOP_KEYS), p));
    if (p->name == NULL) {
        p->name = name_of_file(&p->arena, file);
    }
    FZ_TRY(check_whole(&yaml, p));
out:
    return rc;
}

enum fz_code fz_pipeline_parse(struct fz_str text, const char *file, struct fz_pipeline **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_pipeline *p = NULL;
    yaml_parser_t parser;
    yaml_document_t document;
    bool have_parser = false, have_document = false;
    FZ_NEW(p, err);
    if (!yaml_parser_initialize(&parser)) {
        rc = fz_fail_nomem(err, sizeof parser);
        goto out;
    }
    have_parser = true;
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.ptr, text.len);
    if (!yaml_parser_load(&parser, &document)) {
        int line = (int)parser.problem_mark.line + 1, column = (int)parser.problem_mark.column + 1;
        rc = fz_fail(err, FZ_INVALID_ARG, "%s:%d:%d: not YAML: %s", file, line, column,
                     parser.problem == NULL ? "unreadable" : parser.problem);
        fz_err_at(err, line, column);
        goto out;
    }
    have_document = true;
    FZ_TRY(parse_document(&document, file, p, err));
    *out = p;
    p = NULL;
out:
    if (have_document) {
        yaml_document_delete(&document);
    }
    if (have_parser) {
        yaml_parser_delete(&parser);
    }
    fz_pipeline_free(p);
    return rc;
}

enum fz_code fz_pipeline_load(const char *path, struct fz_pipeline **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf text = {0};
    FILE *f = fopen(path, "rbe");
    if (f == NULL) {
        return fz_fail(err, errno == ENOENT ? FZ_NOT_FOUND : FZ_IO, "pipeline file %s: %s", path, strerror(errno));
    }
    char block[8192];
    size_t n;
    while ((n = fread(block, 1, sizeof block, f)) > 0 && text.len < (16u << 20)) {
        fz_buf_append(&text, block, n);
    }
    if (ferror(f)) {
        rc = fz_fail(err, FZ_IO, "pipeline file %s: %s", path, strerror(errno));
        goto out;
    }
    if (text.len >= (16u << 20)) {
        rc = fz_fail(err, FZ_LIMIT, "pipeline file %s: larger than 16 MB", path);
        goto out;
    }
    FZ_TRY(fz_buf_check(&text, err));
    FZ_TRY(fz_pipeline_parse((struct fz_str){text.ptr == NULL ? "" : text.ptr, text.len}, path, out, err));
out:
    fclose(f);
    fz_buf_dispose(&text);
    return rc;
}

void fz_pipeline_free(struct fz_pipeline *pipeline) {
    if (pipeline != NULL) {
        struct fz_arena arena = pipeline->arena;
        fz_arena_dispose(&arena);
        fz_free(pipeline);
    }
}

const struct fz_pipeline_table *fz_pipeline_match(const struct fz_pipeline *pipeline, struct fz_str name) {
    const struct fz_pipeline_table *best = NULL;
    size_t best_len = 0;
    for (size_t i = 0; i < pipeline->n_tables; i++) {
        const char *match = pipeline->tables[i].match;
        size_t len = strlen(match);
        bool same = len == name.len && memcmp(match, name.ptr, len) == 0;
        bool ends =
            len < name.len && name.ptr[name.len - len - 1] == '.' && memcmp(name.ptr + name.len - len, match, len) == 0;
        if ((same || ends) && (best == NULL || len > best_len)) {
            best = &pipeline->tables[i];
            best_len = len;
        }
    }
    return best;
}
