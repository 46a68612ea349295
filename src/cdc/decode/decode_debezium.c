// Envelopes: which table, which operation, which position. See decode_debezium.h; rows and columns are decode_row.c.
#include "cdc/decode/decode_debezium.h"

#include "base/text.h"
#include "cdc/decode/decode_row_priv.h"

struct fz_decode_stream { // a topic's partition
    struct fz_cdc_table *table; // NULL: not a table of the pipeline, or not known yet
    bool routed;
    int64_t applied; // next offset that the table does not have
};

struct envelope {
    struct fz_str before, after, source, op;
    bool has_op, has_source, has_other_marks; // marks of records that are no row changes
};
struct source_part {
    struct fz_str connector, sequence, file, schema, table, db, snapshot;
    int64_t ts_us, ts_ms, lsn, pos, row;
};

// ---- life

enum fz_code fz_cdc_decoder_new(const struct fz_pipeline *pipeline, struct fz_cdc_tables *tables,
                                struct fz_cdc_decoder **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_cdc_decoder *d = NULL;
    FZ_NEW(d, err);
    d->pipeline = pipeline;
    d->tables = tables;
    FZ_TRY(fz_value_decoder_init(&d->values, tables->arena, pipeline->placeholder, err));
    d->values.arena = &d->scratch;
    *out = d;
    d = NULL;
out:
    fz_cdc_decoder_free(d);
    return rc;
}

void fz_cdc_decoder_free(struct fz_cdc_decoder *d) {
    if (d == NULL) {
        return;
    }
    for (size_t i = 0; i < d->tables->n; i++) {
        struct fz_decode_table *state = d->tables->items[i]->decode_state;
        if (state != NULL) {
            fz_free(state->by_schema);
            fz_free(state);
            d->tables->items[i]->decode_state = NULL;
        }
    }
    for (int i = 0; i < 2; i++) {
        fz_free(d->rows[i].values);
        fz_free(d->rows[i].cells);
    }
    fz_free(d->old_key);
    fz_cdc_decoder_reset(d);
    fz_map_dispose(&d->schemas);
    fz_map_dispose(&d->by_name);
    fz_buf_dispose(&d->key);
    fz_value_decoder_dispose(&d->values);
    fz_arena_dispose(&d->scratch);
    fz_free(d);
}

void fz_cdc_decoder_reset(struct fz_cdc_decoder *d) {
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&d->streams, e)) != NULL;) {
        fz_free(e->value.ptr);
    }
    fz_map_dispose(&d->streams);
}

// ---- envelope and source

static bool read_envelope(struct fz_cdc_decoder *d, struct fz_str text, struct envelope *e, const char **why) {
    struct fz_json json;
    bool first = true;
    struct fz_str name;
    *e = (struct envelope){0};
    fz_json_init(&json, text, &d->scratch);
    if (!fz_json_enter(&json, '{')) {
        *why = "the value is not an object";
        return false;
    }
    while (fz_json_next_member(&json, &first, &name)) {
        struct fz_str *raw = NULL;
        if (fz_str_eq(name, FZ_STR_LIT("after"))) {
            raw = &e->after;
        } else if (fz_str_eq(name, FZ_STR_LIT("before"))) {
            raw = &e->before;
        } else if (fz_str_eq(name, FZ_STR_LIT("source"))) {
            raw = &e->source;
            e->has_source = true;
        } else if (fz_str_eq(name, FZ_STR_LIT("op")) && fz_json_peek(&json) == FZ_JSON_STRING) {
            e->has_op = fz_json_read_string(&json, &e->op);
            continue;
        } else if (fz_str_eq(name, FZ_STR_LIT("status")) || fz_str_eq(name, FZ_STR_LIT("ddl")) ||
                   fz_str_eq(name, FZ_STR_LIT("tableChanges"))) {
            e->has_other_marks = true;
        }
        if (raw == NULL ? !fz_json_skip(&json, NULL)
                        : !fz_json_pass(&json, raw)) { // the parts are checked when they are read
            break;
        }
    }
    *why = json.error != NULL ? json.error : "something stands behind the value";
    return json.error == NULL && fz_json_at_end(&json);
}

static bool is_null(struct fz_str raw) {
    return raw.ptr == NULL || fz_str_eq(raw, FZ_STR_LIT("null"));
}

static bool read_source(struct fz_cdc_decoder *d, struct fz_str text, struct source_part *s) {
    struct fz_json json;
    bool first = true;
    struct fz_str name;
    *s = (struct source_part){.ts_us = INT64_MIN, .ts_ms = INT64_MIN, .lsn = -1, .pos = -1};
    if (is_null(text)) {
        return true;
    }
    struct {
        struct fz_str name;
        struct fz_str *text;
        int64_t *number;
    } members[] = {
        {FZ_STR_LIT("connector"), &s->connector, NULL},
        {FZ_STR_LIT("ts_ms"), NULL, &s->ts_ms},
        {FZ_STR_LIT("snapshot"), &s->snapshot, NULL},
        {FZ_STR_LIT("db"), &s->db, NULL},
        {FZ_STR_LIT("sequence"), &s->sequence, NULL},
        {FZ_STR_LIT("ts_us"), NULL, &s->ts_us},
        {FZ_STR_LIT("schema"), &s->schema, NULL},
        {FZ_STR_LIT("table"), &s->table, NULL},
        {FZ_STR_LIT("lsn"), NULL, &s->lsn},
        {FZ_STR_LIT("file"), &s->file, NULL},
        {FZ_STR_LIT("pos"), NULL, &s->pos},
        {FZ_STR_LIT("row"), NULL, &s->row},
    };
    fz_json_init(&json, text, &d->scratch);
    if (!fz_json_enter(&json, '{')) {
        return false;
    }
    while (fz_json_next_member(&json, &first, &name)) {
        size_t i = 0, n = sizeof members / sizeof *members;
        while (i < n && !fz_str_eq(name, members[i].name)) {
            i++;
        }
        enum fz_json_kind kind = fz_json_peek(&json);
        if (i < n && members[i].text != NULL && kind == FZ_JSON_STRING) {
            fz_json_read_string(&json, members[i].text);
        } else if (i < n && members[i].number != NULL && kind == FZ_JSON_NUMBER) {
            fz_json_read_i64(&json, members[i].number);
        } else {
            fz_json_skip(&json, NULL);
        }
    }
    return json.error == NULL;
}

// `["29312248","29318872"]`; a null becomes -1.
static bool read_sequence(struct fz_str text, int64_t out[2]) {
    struct fz_json json;
    bool first = true;
    fz_json_init(&json, text, NULL); // numbers have no escapes
    if (memchr(text.ptr, '\\', text.len) != NULL || !fz_json_enter(&json, '[')) {
        return false;
    }
    int n = 0;
    while (fz_json_next_element(&json, &first)) {
        struct fz_str number;
        if (n == 2) {
            return false;
        }
        out[n] = -1;
        if (fz_json_peek(&json) == FZ_JSON_NULL) {
            fz_json_read_null(&json);
        } else if (!fz_json_read_string(&json, &number) || !fz_parse_i64(number, &out[n]) || out[n] < 0) {
            return false;
        }
        n++;
    }
    return json.error == NULL && n == 2;
}

// "binlog.000012" -> 12
static int64_t file_number(struct fz_str file) {
    size_t at = file.len;
    while (at > 0 && file.ptr[at - 1] >= '0' && file.ptr[at - 1] <= '9') {
        at--;
    }
    int64_t n;
    return at < file.len && fz_parse_i64((struct fz_str){file.ptr + at, file.len - at}, &n) ? n : -1;
}

// The position that the guard compares (interface.md "Order, by connector"). Rows of an incremental snapshot have none: they
// are true where they stand in the stream.
static struct fz_cdc_order order_of(const struct source_part *s) {
    struct fz_cdc_order order = {.n = 0};
    if (fz_str_eq(s->snapshot, FZ_STR_LIT("incremental"))) {
        return order;
    }
    if (fz_str_eq(s->connector, FZ_STR_LIT("postgresql")) && s->lsn >= 0) {
        int64_t sequence[2];
        order.n = 2;
        order.parts[0] = order.parts[1] = s->lsn;
        if (s->sequence.ptr != NULL && read_sequence(s->sequence, sequence) && sequence[1] >= 0) {
            // A snapshot row (no commit before it) holds everything that was committed up to where the snapshot began, and what
            // is streamed later begins behind it.
            order.parts[0] = sequence[0] < 0 ? sequence[1] : sequence[0];
            order.parts[1] = sequence[0] < 0 ? 0 : sequence[1];
        }
    } else if ((fz_str_eq(s->connector, FZ_STR_LIT("mysql")) || fz_str_eq(s->connector, FZ_STR_LIT("mariadb"))) &&
               s->pos >= 0) {
        int64_t file = file_number(s->file);
        if (file >= 0) {
            order = (struct fz_cdc_order){{file, s->pos, s->row}, 3};
        }
    }
    return order;
}

// ---- routing

static enum fz_code find_table(struct fz_cdc_decoder *d, const struct fz_pipeline_table *config, struct fz_str name,
                               struct fz_cdc_table **out, struct fz_err *err) {
    for (size_t i = 0; config != NULL && i < d->tables->n; i++) {
        if (d->tables->items[i]->config == config) {
            *out = d->tables->items[i];
            return FZ_OK;
        }
    }
    for (size_t i = 0; config == NULL && i < d->tables->n; i++) {
        if (fz_str_eq(name, fz_str_of(d->tables->items[i]->match))) {
            *out = d->tables->items[i];
            return FZ_OK;
        }
    }
    char *match = config != NULL ? NULL : fz_arena_strndup(&d->scratch, name.ptr, name.len);
    return fz_cdc_tables_add(d->tables, config, config != NULL ? config->match : match == NULL ? "?" : match, out, err);
}

// The name that the envelope gives: "public.orders", "shop.orders".
static struct fz_str source_name(struct fz_cdc_decoder *d, const struct source_part *s) {
    struct fz_str space = s->schema.len > 0 ? s->schema : s->db;
    if (s->table.len == 0 || space.len == 0) {
        return s->table;
    }
    char *name = fz_arena_alloc(&d->scratch, space.len + s->table.len + 2);
    if (name == NULL) {
        return s->table;
    }
    memcpy(name, space.ptr, space.len);
    name[space.len] = '.';
    memcpy(name + space.len + 1, s->table.ptr, s->table.len);
    return (struct fz_str){name, space.len + 1 + s->table.len};
}

static enum fz_code route_by_name(struct fz_cdc_decoder *d, struct fz_str name, struct fz_cdc_table **out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_map_entry *entry;
    bool added;
    FZ_TRY(fz_map_put(&d->by_name, name, &entry, &added, err));
    if (added) {
        const struct fz_pipeline_table *config = fz_pipeline_match(d->pipeline, name);
        struct fz_cdc_table *table = NULL;
        if (config != NULL || d->pipeline->n_tables == 0) {
            FZ_TRY(find_table(d, config, name, &table, err));
        }
        entry->value.ptr = table;
    }
    *out = entry->value.ptr;
out:
    return rc;
}

// Where the table stands already in the record's stream.
static enum fz_code stream_of(struct fz_cdc_decoder *d, const struct fz_cdc_record *record,
                              struct fz_decode_stream **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_map_entry *entry;
    bool added;
    fz_cdc_stream_key(&d->key, record->position.topic, record->position.partition);
    FZ_TRY(fz_buf_check(&d->key, err));
    FZ_TRY(fz_map_put(&d->streams, (struct fz_str){d->key.ptr, d->key.len}, &entry, &added, err));
    if (added) {
        entry->value.ptr = fz_calloc(1, sizeof **out);
        if (entry->value.ptr == NULL) {
            fz_map_remove(&d->streams, (struct fz_str){d->key.ptr, d->key.len});
            rc = fz_fail_nomem(err, sizeof **out);
            goto out;
        }
    }
    *out = entry->value.ptr;
out:
    return rc;
}

static int64_t applied_offset(struct fz_cdc_decoder *d, const struct fz_cdc_table *table,
                              const struct fz_cdc_record *record) {
    fz_cdc_stream_key(&d->key, record->position.topic, record->position.partition);
    struct fz_map_entry *entry =
        d->key.failed ? NULL : fz_map_find(&table->positions, (struct fz_str){d->key.ptr, d->key.len});
    return entry == NULL ? INT64_MIN : entry->value.i64;
}

// ---- headers

static bool find_header(struct fz_cdc_decoder *d, struct fz_str headers, struct fz_str wanted, struct fz_str *out) {
    struct fz_json json;
    bool first = true;
    if (headers.ptr == NULL || memmem(headers.ptr, headers.len, wanted.ptr, wanted.len) == NULL) {
        return false;
    }
    fz_json_init(&json, headers, &d->scratch);
    if (!fz_json_enter(&json, '[')) {
        return false;
    }
    while (fz_json_next_element(&json, &first)) {
        struct fz_str name, raw;
        bool first_part = true;
        if (fz_json_peek(&json) != FZ_JSON_ARRAY) {
            return false;
        }
        fz_json_enter(&json, '[');
        if (!fz_json_next_element(&json, &first_part) || !fz_json_read_string(&json, &name) ||
            !fz_json_next_element(&json, &first_part)) {
            return false;
        }
        if (fz_str_eq(name, wanted)) {
            return fz_json_peek(&json) == FZ_JSON_STRING ? fz_json_read_string(&json, out) : fz_json_skip(&json, out);
        }
        if (!fz_json_skip(&json, &raw) || fz_json_next_element(&json, &first_part)) {
            return false;
        }
    }
    return false;
}

// ---- changes

static enum fz_code configured_key(struct fz_cdc_decoder *d, struct fz_cdc_table *table, bool *good,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = table->config == NULL ? 0 : table->config->n_key;
    size_t *key = NULL;
    if (table->key_known || n == 0) {
        return FZ_OK;
    }
    key = fz_calloc(n, sizeof *key);
    if (key == NULL) {
        return fz_fail_nomem(err, n * sizeof *key);
    }
    for (size_t i = 0; i < n; i++) {
        struct fz_map_entry *entry = fz_map_find(&table->by_name, fz_str_of(table->config->key[i]));
        if (entry == NULL) {
            rc = fz_decode_bad(d, good, "NO_KEY", "the event has no column %s, which is the table's key",
                               table->config->key[i]);
            goto out;
        }
        key[i] = (size_t)entry->value.i64;
    }
    table->key = key;
    key = NULL;
    table->n_key = n;
    table->key_known = true;
out:
    fz_free(key);
    return rc;
}

static bool key_is_whole(struct fz_cdc_decoder *d, const struct fz_cdc_table *table, const struct fz_row_buffer *row,
                         bool *good) {
    for (size_t i = 0; i < table->n_key; i++) {
        size_t ix = table->key[i];
        if (row->cells[ix] != FZ_CELL_VALUE || row->values[ix].is_null) {
            fz_decode_bad(d, good, "NO_KEY", "key column %s: %s", table->columns[ix].name,
                          row->cells[ix] == FZ_CELL_VALUE ? "it is NULL" : "the event does not have it");
            return false;
        }
    }
    return true;
}

static struct fz_cdc_change *add_change(struct fz_cdc_decoder *d, const struct fz_cdc_record *record,
                                        struct fz_cdc_table *table, enum fz_cdc_op op, const struct source_part *s,
                                        const struct fz_row_buffer *row) {
    struct fz_cdc_change *change = &d->out->changes[d->out->n_changes++];
    *change = (struct fz_cdc_change){
        .record = record,
        .table = table,
        .op = op,
        .order = order_of(s),
        .source_ts_us = s->ts_us != INT64_MIN ? s->ts_us
                        : s->ts_ms != INT64_MIN && s->ts_ms < INT64_MAX / 1000 && s->ts_ms > INT64_MIN / 1000
                            ? s->ts_ms * 1000
                            : INT64_MIN,
        .source_lsn = s->lsn,
        .n_columns = row == NULL ? 0 : table->n_columns,
        .row = row == NULL ? NULL : row->values,
        .cells = row == NULL ? NULL : row->cells,
    };
    d->out->outcome = FZ_CDC_CHANGE;
    return change;
}

// Whether record keys say what the key is: then an update never changes it (the connector sends a delete and a create).
static bool keyed_by_record(const struct fz_cdc_table *table, const struct fz_cdc_record *record) {
    return record->key.ptr != NULL && (table->config == NULL || table->config->n_key == 0);
}

static enum fz_code no_key(const struct fz_cdc_table *table, struct fz_err *err) {
    return fz_fail(err, FZ_INVALID_ARG,
                   "table %s has no key: the events carry none. Set key: [columns] for the table, or keyless: append",
                   table->match);
}

// Decides what the key is and reads it from the record's key, the row and (deletes) the row before.
static enum fz_code read_keys(struct fz_cdc_decoder *d, const struct fz_cdc_record *record, struct fz_cdc_table *table,
                              struct fz_str row_text, int what, bool is_delete, struct fz_row_buffer *row, bool *good,
                              struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (keyed_by_record(table, record)) {
        FZ_TRY(fz_decode_key(d, table, record->key, row, good, err));
    } else if (table->config == NULL || table->config->n_key == 0) {
        if (table->config == NULL || !table->config->keyless_append) {
            rc = no_key(table, err);
            goto out;
        }
        table->key_known = true;
    }
    if (*good && !is_null(row_text) && !(is_delete && keyed_by_record(table, record))) {
        FZ_TRY(fz_row_reserve(row, table->n_columns, err));
        if (is_delete) { // the columns must be known to find the key among them; other values are made up
            FZ_TRY(configured_key(d, table, good, err));
        }
        if (*good) {
            FZ_TRY(fz_decode_row(d, table, row_text, is_delete ? FZ_ROW_KEY_ONLY : what, row, good, err));
        }
    }
    if (*good) {
        FZ_TRY(configured_key(d, table, good, err));
    }
    if (*good) {
        FZ_TRY(fz_row_reserve(row, table->n_columns, err));
        key_is_whole(d, table, row, good);
    }
out:
    return rc;
}

// A custom key may change in an update: the row before has the old one.
static enum fz_code split_key_change(struct fz_cdc_decoder *d, const struct fz_cdc_record *record,
                                     struct fz_cdc_table *table, struct fz_str before, const struct source_part *s,
                                     bool *split, bool *good, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_row_buffer *old = &d->rows[1], *row = &d->rows[0];
    *split = false;
    fz_row_clear(old);
    FZ_TRY(fz_row_reserve(old, table->n_columns, err));
    FZ_TRY(fz_decode_row(d, table, before, FZ_ROW_KEY_ONLY, old, good, err));
    for (size_t i = 0; *good && i < table->n_key; i++) {
        size_t ix = table->key[i];
        if (old->cells[ix] != FZ_CELL_VALUE || old->values[ix].is_null) {
            *split = false;
            goto out; // the row before does not have the key: it did not change
        }
        *split = *split || !fz_value_equal(&old->values[ix], &row->values[ix]);
    }
    if (*good && *split) {
        FZ_TRY(fz_row_reserve(old, table->n_columns, err));
        add_change(d, record, table, FZ_CDC_DELETE, s, old)->key_moves = true;
        FZ_TRY(fz_grow((void **)&d->old_key, &d->cap_old_key, table->n_key, sizeof *d->old_key, err));
        for (size_t i = 0; i < table->n_key; i++) {
            d->old_key[i] = old->values[table->key[i]];
        }
    }
out:
    return rc;
}

static enum fz_code old_key_header(struct fz_cdc_decoder *d, const struct fz_cdc_record *record,
                                   struct fz_cdc_table *table, struct fz_cdc_change *change, bool *good,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_str header;
    struct fz_row_buffer *old = &d->rows[1];
    if (!keyed_by_record(table, record) || !find_header(d, record->headers, FZ_STR_LIT("__debezium.oldkey"), &header)) {
        return FZ_OK;
    }
    fz_row_clear(old);
    FZ_TRY(fz_decode_key(d, table, header, old, good, err));
    if (!*good ||
        !key_is_whole(d, table, old, good)) { // a header in another form than the key: the row counts all the same
        *good = true;
        d->out->outcome = FZ_CDC_CHANGE;
        return FZ_OK;
    }
    FZ_TRY(fz_grow((void **)&d->old_key, &d->cap_old_key, table->n_key, sizeof *d->old_key, err));
    for (size_t i = 0; i < table->n_key; i++) {
        d->old_key[i] = old->values[table->key[i]];
    }
    change->old_key = d->old_key;
out:
    return rc;
}

static enum fz_code row_change(struct fz_cdc_decoder *d, const struct fz_cdc_record *record, struct fz_cdc_table *table,
                               enum fz_cdc_op op, const struct envelope *e, const struct source_part *s, int what,
                               bool *good, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_row_buffer *row = &d->rows[0];
    struct fz_str header, text = op == FZ_CDC_DELETE ? e->before : e->after;
    bool split = false;
    if (op != FZ_CDC_DELETE && is_null(text)) {
        return fz_decode_bad(d, good, "BAD_ENVELOPE", "op %.*s without after", (int)e->op.len, e->op.ptr);
    }
    fz_row_clear(row);
    FZ_TRY(fz_row_reserve(row, table->n_columns, err));
    FZ_TRY(read_keys(d, record, table, text, what, op == FZ_CDC_DELETE, row, good, err));
    if (!*good) {
        goto out;
    }
    if (table->n_key == 0 && (op == FZ_CDC_UPDATE || op == FZ_CDC_DELETE)) {
        rc = fz_decode_bad(d, good, "KEYLESS_CHANGE", "the table has no key and keyless: append takes inserts only");
        goto out;
    }
    if (op == FZ_CDC_UPDATE && !keyed_by_record(table, record) && !is_null(e->before)) {
        FZ_TRY(split_key_change(d, record, table, e->before, s, &split, good, err));
        if (!*good) {
            goto out;
        }
    }
    FZ_TRY(fz_row_reserve(row, table->n_columns, err));
    struct fz_cdc_change *change = add_change(d, record, table, split ? FZ_CDC_CREATE : op, s, row);
    if (split) {
        change->old_key = d->old_key;
    } else if (op == FZ_CDC_DELETE) {
        change->key_moves = find_header(d, record->headers, FZ_STR_LIT("__debezium.newkey"), &header);
    } else if (op == FZ_CDC_CREATE) {
        FZ_TRY(old_key_header(d, record, table, change, good, err));
    }
    if (op != FZ_CDC_DELETE) {
        table->settled = true;
    }
out:
    return rc;
}

static bool parse_op(struct fz_str op, enum fz_cdc_op *out) {
    static const char letters[] = "rcudt";
    const char *at = op.len == 1 ? strchr(letters, op.ptr[0]) : NULL;
    if (at == NULL) {
        return false;
    }
    *out = (enum fz_cdc_op)(at - letters);
    return true;
}

static enum fz_code decode_envelope(struct fz_cdc_decoder *d, const struct fz_cdc_record *record,
                                    struct fz_cdc_table *table, const struct envelope *e, const struct source_part *s,
                                    struct fz_err *err) {
    enum fz_cdc_op op;
    bool good = true;
    if (fz_str_eq(e->op, FZ_STR_LIT("m"))) { // a logical message
        return FZ_OK;
    }
    if (!parse_op(e->op, &op)) {
        return fz_decode_bad(d, &good, "UNKNOWN_OP", "op \"%.*s\" is not known", (int)(e->op.len > 40 ? 40 : e->op.len),
                             e->op.ptr);
    }
    table->connector = fz_str_eq(s->connector, FZ_STR_LIT("postgresql")) ? "postgresql"
                       : s->pos >= 0                                     ? "mysql"
                                                                         : "other";
    if (op == FZ_CDC_TRUNCATE) {
        add_change(d, record, table, op, s, NULL);
        return FZ_OK;
    }
    return row_change(d, record, table, op, e, s, FZ_ROW_ALL, &good, err);
}

// A row of ExtractNewRecordState: columns beside __op, __deleted and what add.fields added.
static enum fz_code decode_flat(struct fz_cdc_decoder *d, const struct fz_cdc_record *record,
                                struct fz_cdc_table *table, struct fz_str value, struct fz_err *err) {
    struct envelope e = {0};
    struct source_part s;
    struct fz_json json;
    bool first = true, good = true, deleted = false;
    struct fz_str name, text;
    read_source(d, (struct fz_str){NULL, 0}, &s);
    fz_json_init(&json, value, &d->scratch);
    if (!fz_json_enter(&json, '{')) {
        return fz_decode_bad(d, &good, "BAD_ENVELOPE", "the value is not an object");
    }
    while (fz_json_next_member(&json, &first, &name)) {
        enum fz_json_kind kind = fz_json_peek(&json);
        if (fz_str_eq(name, FZ_STR_LIT("__op")) && kind == FZ_JSON_STRING) {
            fz_json_read_string(&json, &e.op);
        } else if (fz_str_eq(name, FZ_STR_LIT("__deleted")) && kind == FZ_JSON_STRING) {
            fz_json_read_string(&json, &text);
            deleted = fz_str_eq(text, FZ_STR_LIT("true"));
        } else if (fz_str_eq(name, FZ_STR_LIT("__deleted")) && kind == FZ_JSON_BOOL) {
            fz_json_read_bool(&json, &deleted);
        } else if (fz_str_eq(name, FZ_STR_LIT("__source_ts_ms")) && kind == FZ_JSON_NUMBER) {
            fz_json_read_i64(&json, &s.ts_ms);
        } else {
            fz_json_skip(&json, NULL);
        }
    }
    if (json.error != NULL || !fz_json_at_end(&json)) {
        return fz_decode_bad(d, &good, "BAD_JSON", "%s",
                             json.error == NULL ? "something stands behind the value" : json.error);
    }
    enum fz_cdc_op op = FZ_CDC_UPDATE;
    if (e.op.ptr != NULL && !parse_op(e.op, &op)) {
        return fz_decode_bad(d, &good, "UNKNOWN_OP", "__op is not known");
    }
    op = deleted ? FZ_CDC_DELETE : op;
    e.after = e.before = value;
    if (op == FZ_CDC_UPDATE) {
        e.before = (struct fz_str){NULL, 0};
    }
    if (table->config != NULL && table->config->keyless_append && record->key.ptr == NULL && op == FZ_CDC_UPDATE &&
        e.op.ptr == NULL) {
        op = FZ_CDC_CREATE;
    }
    return row_change(d, record, table, op, &e, &s, FZ_ROW_FLAT, &good, err);
}

// ---- one record

static enum fz_code route(struct fz_cdc_decoder *d, const struct fz_cdc_record *record, const struct source_part *s,
                          struct fz_cdc_table **table, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_str name = record->has_topic ? fz_str_of(record->position.topic) : source_name(d, s);
    *table = NULL;
    if (name.len == 0) { // bare flattened rows: the pipeline has one table
        if (d->pipeline->n_tables != 1) {
            return FZ_OK;
        }
        return find_table(d, &d->pipeline->tables[0], name, table, err);
    }
    FZ_TRY(route_by_name(d, name, table, err));
    if (*table == NULL && record->has_topic && s->table.len > 0) { // a topic with a name of its own (routed, prefixed)
        FZ_TRY(route_by_name(d, source_name(d, s), table, err));
    }
out:
    return rc;
}

// Records that are no row changes and no mistakes: heartbeats, transaction boundaries, DDL, topics that are no table's.
static bool is_no_row(const struct fz_cdc_decoder *d, const struct fz_cdc_record *record, const struct envelope *e) {
    return e->has_other_marks || strncmp(record->position.topic, "__debezium", 10) == 0 ||
           (record->has_topic && d->pipeline->n_tables > 0 &&
            fz_pipeline_match(d->pipeline, fz_str_of(record->position.topic)) == NULL);
}

static enum fz_code decode_value(struct fz_cdc_decoder *d, const struct fz_cdc_record *record,
                                 struct fz_decode_stream *stream, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct envelope e;
    struct source_part s;
    struct fz_str schema_text = {NULL, 0}, value = record->value, payload;
    const struct fz_connect_schema *schema = NULL;
    const char *why = NULL;
    bool good = true, flat = d->pipeline->format == FZ_FORMAT_DEBEZIUM_FLAT;
    if (fz_decode_unwrap(&d->scratch, value, &schema_text, &payload)) {
        value = payload;
        if (is_null(value)) {
            return FZ_OK; // a tombstone
        }
    }
    if (!read_envelope(d, value, &e, &why)) {
        return fz_decode_bad(d, &good, "BAD_JSON", "%s", why);
    }
    if (!read_source(d, flat ? (struct fz_str){NULL, 0} : e.source, &s)) {
        return fz_decode_bad(d, &good, "BAD_ENVELOPE", "source is not an object");
    }
    if (!flat && !e.has_op) { // heartbeats, transaction and DDL records have none
        return is_no_row(d, record, &e)
                   ? FZ_OK
                   : fz_decode_bad(d, &good, "BAD_ENVELOPE", "the value has no op: it is not a Debezium envelope");
    }
    FZ_TRY(route(d, record, &s, &d->out->table, err));
    struct fz_cdc_table *table = d->out->table;
    if (record->has_topic) {
        stream->table = table;
        stream->routed = true;
        stream->applied = table == NULL ? INT64_MIN : applied_offset(d, table, record);
    }
    if (table == NULL) {
        return FZ_OK;
    }
    if (record->position.offset < applied_offset(d, table, record)) {
        d->out->outcome = FZ_CDC_APPLIED;
        return FZ_OK;
    }
    if (schema_text.ptr != NULL) {
        FZ_TRY(fz_decode_schema(d, schema_text, &schema, &good, err));
        if (!good) {
            goto out;
        }
    }
    FZ_TRY(fz_decode_use_schema(d, table, schema, err));
    if (flat) {
        FZ_TRY(decode_flat(d, record, table, value, err));
    } else {
        FZ_TRY(decode_envelope(d, record, table, &e, &s, err));
    }
out:
    return rc;
}

enum fz_code fz_cdc_decode(struct fz_cdc_decoder *d, const struct fz_cdc_record *record, struct fz_cdc_decoded *out,
                           struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_decode_stream *stream = NULL;
    bool good = true;
    if (d->scratch.used_bytes > (1u << 20)) {
        fz_arena_dispose(&d->scratch);
    }
    d->out = out;
    out->outcome = FZ_CDC_SKIP;
    out->table = NULL;
    out->n_changes = 0;
    out->reason = NULL;
    out->text[0] = 0;
    if (record->bad_reason != NULL) {
        return fz_decode_bad(d, &good, record->bad_reason, "%s", record->bad_text);
    }
    if (record->has_topic) {
        FZ_TRY(stream_of(d, record, &stream, err));
        out->table = stream->table;
        if (stream->routed && stream->table == NULL && d->pipeline->n_tables > 0) {
            return FZ_OK;
        }
        if (stream->routed && record->position.offset < stream->applied) {
            out->outcome = FZ_CDC_APPLIED;
            return FZ_OK;
        }
    }
    if (record->value.ptr == NULL) {
        return FZ_OK; // a tombstone: its delete came before
    }
    FZ_TRY(decode_value(d, record, stream, err));
    if (out->outcome == FZ_CDC_BAD) {
        out->n_changes = 0;
    }
out:
    return rc;
}
