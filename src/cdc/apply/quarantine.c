// The quarantine table: bad records with position, reason, text and the raw line, committed before the batch they came with, with its
// own positions; after a crash in between, rows that are there already are not written again. See apply.h.
#include "cdc/apply/apply.h"

#include "base/text.h"

enum { Q_TOPIC, Q_PARTITION, Q_OFFSET, Q_REASON, Q_TEXT, Q_RAW, Q_RAW_BYTES, Q_TABLE, Q_PIPELINE, Q_TIME, Q_COLUMNS };
static const struct {
    const char *name;
    enum fz_type_id type;
    const char *doc;
} COLUMNS[Q_COLUMNS] = {
    [Q_TOPIC] = {"topic", FZ_TYPE_STRING, "Kafka topic, or the file"},
    [Q_PARTITION] = {"partition", FZ_TYPE_INT, NULL},
    [Q_OFFSET] = {"offset", FZ_TYPE_LONG, "Kafka offset, or the byte offset of the line"},
    [Q_REASON] = {"reason", FZ_TYPE_STRING, "a code: BAD_JSON, BAD_VALUE, …"},
    [Q_TEXT] = {"text", FZ_TYPE_STRING, "the reason in words"},
    [Q_RAW] = {"raw", FZ_TYPE_STRING, "the record as it came; NULL where it is not text"},
    [Q_RAW_BYTES] = {"raw_bytes", FZ_TYPE_BINARY, "the record where it is not valid UTF-8"},
    [Q_TABLE] = {"source_table", FZ_TYPE_STRING, NULL},
    [Q_PIPELINE] = {"pipeline", FZ_TYPE_STRING, NULL},
    [Q_TIME] = {"time", FZ_TYPE_TIMESTAMPTZ, "when it was put here"},
};

// The pipeline's, or <pipeline>_quarantine in the namespace of the first table.
static const char *quarantine_name(struct fz_apply *apply, const struct fz_cdc_tables *tables) {
    const struct fz_pipeline *p = apply->pipeline;
    if (p->quarantine_table != NULL) {
        struct fz_pipeline_table config = {.into = p->quarantine_table};
        struct fz_cdc_table as_table = {.config = &config, .match = "quarantine"};
        return fz_apply_into(apply, &as_table);
    }
    char *own = fz_arena_printf(apply->arena, "%s_quarantine", p->name);
    for (char *c = own; c != NULL && *c != 0; c++) {
        *c = *c == '-' || *c == '.' ? '_' : *c;
    }
    const char *beside = NULL;
    for (size_t i = 0; i < tables->n && beside == NULL; i++) {
        const struct fz_apply_table *t = tables->items[i]->apply_state;
        beside = t == NULL ? NULL : t->dotted;
    }
    const char *dot = beside == NULL ? NULL : strrchr(beside, '.');
    if (dot != NULL) {
        return fz_arena_printf(apply->arena, "%.*s.%s", (int)(dot - beside), beside, own);
    }
    return p->catalog != NULL ? fz_arena_printf(apply->arena, "%s.default.%s", p->catalog, own)
                              : fz_arena_printf(apply->arena, "default.%s", own);
}

enum fz_code fz_quarantine_open(struct fz_apply *apply, struct fz_quarantine *q, const struct fz_cdc_tables *tables,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_err load = FZ_ERR_INIT;
    q->target.dotted = quarantine_name(apply, tables);
    if (q->target.dotted == NULL) {
        return fz_fail_nomem(err, 64);
    }
    FZ_TRY(apply->session->resolve(apply->session->ctx, apply->arena, q->target.dotted, &q->target.catalog,
                                   &q->target.name, err));
    rc = q->target.catalog->vtable->load(q->target.catalog, &q->target.name, &q->target.metadata, &load);
    if (rc == FZ_NOT_FOUND) {
        q->target.metadata = NULL;
        rc = FZ_OK;
    } else if (rc != FZ_OK) {
        *err = load;
        goto out;
    } else {
        const char *text = fz_positions_of(q->target.metadata, apply->pipeline->name);
        if (text != NULL) {
            FZ_TRY(fz_positions_parse(&q->positions, text, err));
            q->target.positions = fz_strdup(text);
            if (q->target.positions == NULL) {
                rc = fz_fail_nomem(err, strlen(text));
                goto out;
            }
        }
    }
    q->is_open = true;
out:
    return rc;
}

void fz_quarantine_close(struct fz_quarantine *q) {
    fz_metadata_unref(q->target.metadata);
    fz_free(q->target.positions);
    fz_map_dispose(&q->positions);
    fz_map_dispose(&q->met);
    fz_free(q->items);
    fz_arena_dispose(&q->arena);
    *q = (struct fz_quarantine){0};
}

enum fz_code fz_quarantine_add(struct fz_quarantine *q, const struct fz_bad_record *record, bool *added,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf key = {0};
    struct fz_map_entry *entry;
    bool is_new;
    *added = false;
    fz_cdc_stream_key(&key, record->position.topic, record->position.partition);
    FZ_TRY(fz_buf_check(&key, err));
    struct fz_str stream = {key.ptr, key.len};
    struct fz_map_entry *have = fz_map_find(&q->positions, stream);
    if (have != NULL && record->position.offset < have->value.i64) {
        goto out;
    }
    FZ_TRY(fz_grow((void **)&q->items, &q->cap, q->n + 1, sizeof *q->items, err));
    struct fz_bad_record *copy = &q->items[q->n];
    *copy = *record;
    copy->text = fz_arena_strdup(&q->arena, record->text == NULL ? "" : record->text);
    copy->raw.ptr = fz_arena_memdup(&q->arena, record->raw.len == 0 ? "" : record->raw.ptr,
                                    record->raw.len == 0 ? 1 : record->raw.len);
    if (copy->text == NULL || copy->raw.ptr == NULL) {
        rc = fz_fail_nomem(err, record->raw.len);
        goto out;
    }
    FZ_TRY(fz_map_put(&q->met, stream, &entry, &is_new, err));
    if (is_new || entry->value.i64 < record->position.next_offset) {
        entry->value.i64 = record->position.next_offset;
    }
    q->n++;
    *added = true;
out:
    fz_buf_dispose(&key);
    return rc;
}

static enum fz_code create(struct fz_apply *apply, struct fz_quarantine *q, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_metadata *initial = NULL;
    struct fz_field *fields = fz_arena_array(&arena, Q_COLUMNS, sizeof *fields);
    struct fz_property version = {"format-version", "2"};
    struct fz_table_create create = {.properties = &version, .n_properties = 1};
    if (fields == NULL) {
        return fz_fail_nomem(err, Q_COLUMNS * sizeof *fields);
    }
    for (int i = 0; i < Q_COLUMNS; i++) {
        fields[i] = (struct fz_field){
            .id = i + 1, .name = COLUMNS[i].name, .type = fz_type_primitive(COLUMNS[i].type), .doc = COLUMNS[i].doc};
    }
    create.schema = fz_type_struct(&arena, fields, Q_COLUMNS);
    if (create.schema == NULL) {
        rc = fz_fail_nomem(err, 64);
        goto out;
    }
    FZ_TRY(fz_apply_make_namespace(&q->target, err));
    FZ_TRY(fz_catalog_default_location(q->target.catalog, &q->target.name, &arena, &create.location, err));
    FZ_TRY(fz_metadata_create(&create, fz_now_us() / 1000, &initial, err));
    FZ_TRY(q->target.catalog->vtable->create(q->target.catalog, &q->target.name, initial, &q->target.metadata, err));
    fz_log_write(apply->session->log, 2, "created table %s", q->target.dotted);
out:
    fz_metadata_unref(initial);
    fz_arena_dispose(&arena);
    return rc;
}

static void set_text(struct fz_value *v, const char *text) {
    if (text != NULL) {
        v->is_null = false;
        v->u.bytes = fz_str_of(text);
    }
}

static void set_column(const struct fz_apply *apply, const struct fz_bad_record *record, int column, int64_t now_us,
                       struct fz_value *v) {
    bool is_text = fz_utf8_valid(record->raw.ptr, record->raw.len);
    switch (column) {
    case Q_TOPIC:
        set_text(v, record->position.topic);
        break;
    case Q_PARTITION:
        v->is_null = false;
        v->u.i64 = record->position.partition;
        break;
    case Q_OFFSET:
        v->is_null = false;
        v->u.i64 = record->position.offset;
        break;
    case Q_REASON:
        set_text(v, record->reason);
        break;
    case Q_TEXT:
        set_text(v, record->text);
        break;
    case Q_RAW:
    case Q_RAW_BYTES:
        if (is_text == (column == Q_RAW)) {
            v->is_null = false;
            v->u.bytes = record->raw;
        }
        break;
    case Q_TABLE:
        set_text(v, record->table);
        break;
    case Q_PIPELINE:
        set_text(v, apply->pipeline->name);
        break;
    case Q_TIME:
        v->is_null = false;
        v->u.i64 = now_us;
        break;
    default:
        break;
    }
}

// The rows in the columns of the table as it is: columns by name, others NULL.
static enum fz_code make_source(struct fz_apply *apply, struct fz_quarantine *q, struct fz_source **out,
                                struct fz_err *err) {
    const struct fz_type *schema = fz_metadata_current_schema(q->target.metadata)->type;
    struct fz_value *values = fz_arena_array(&q->arena, q->n * schema->n_fields + 1, sizeof *values);
    int64_t now_us = fz_now_us();
    if (values == NULL) {
        return fz_fail_nomem(err, q->n * schema->n_fields * sizeof *values);
    }
    for (size_t f = 0; f < schema->n_fields; f++) {
        int column = 0;
        while (column < Q_COLUMNS && (strcmp(COLUMNS[column].name, schema->fields[f].name) != 0 ||
                                      COLUMNS[column].type != schema->fields[f].type->id)) {
            column++;
        }
        for (size_t i = 0; i < q->n; i++) {
            struct fz_value *v = &values[i * schema->n_fields + f];
            *v = fz_value_null(schema->fields[f].type);
            set_column(apply, &q->items[i], column, now_us, v);
        }
    }
    return fz_rows_source_new(schema->fields, schema->n_fields, values, q->n, out, err);
}

static enum fz_code merge_positions(struct fz_quarantine *q, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&q->met, e)) != NULL;) {
        struct fz_map_entry *have;
        FZ_TRY(fz_map_put(&q->positions, e->key, &have, NULL, err));
        have->value.i64 = e->value.i64;
    }
out:
    return rc;
}

enum fz_code fz_quarantine_commit(struct fz_apply *apply, struct fz_quarantine *q, int64_t *snapshot_id,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_source *source = NULL;
    struct fz_property *summary = NULL;
    size_t n_summary = 0;
    struct fz_change_stats stats = {0};
    if (q->target.metadata == NULL) {
        FZ_TRY(create(apply, q, err));
    } else {
        FZ_TRY(fz_apply_reload(apply, &q->target, err));
    }
    FZ_TRY(merge_positions(q, err));
    FZ_TRY(fz_apply_summary(apply, &q->positions, &q->arena, &summary, &n_summary, err));
    FZ_TRY(make_source(apply, q, &source, err));
    FZ_TRY(fz_apply_append(apply, &q->target, source, summary, n_summary, &stats, err));
    fz_free(q->target.positions);
    q->target.positions = fz_strdup(summary[1].value);
    if (q->target.positions == NULL) {
        rc = fz_fail_nomem(err, strlen(summary[1].value));
        goto out;
    }
    *snapshot_id = stats.snapshot_id;
    fz_source_unref(source);
    source = NULL;
    q->n = 0;
    fz_map_dispose(&q->met);
    fz_arena_dispose(&q->arena);
out:
    fz_source_unref(source);
    if (rc != FZ_OK) {
        fz_err_context(err, "quarantine table %s", q->target.dotted);
    }
    return rc;
}
