// Columns, rows and keys of events: see decode_row_priv.h. New fields become columns here, typed by the pipeline, by the schema part or
// by what JSON shows, in that order.
#include "cdc/decode/decode_row_priv.h"

#include <stdio.h>

#include "base/text.h"
#include "cdc/encoding.h"

enum { IGNORED = -1, NOT_YET = -2 }; // NOT_YET: a null in a field whose type nothing tells

enum fz_code fz_decode_bad(struct fz_cdc_decoder *d, bool *good, const char *reason, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    d->out->outcome = FZ_CDC_BAD;
    d->out->reason = reason;
    vsnprintf(d->out->text, sizeof d->out->text, fmt, ap);
    va_end(ap);
    *good = false;
    return FZ_OK;
}

bool fz_decode_unwrap(struct fz_arena *arena, struct fz_str text, struct fz_str *schema, struct fz_str *payload) {
    struct fz_json json;
    bool first = true;
    struct fz_str name;
    int n = 0;
    *schema = *payload = (struct fz_str){NULL, 0};
    fz_json_init(&json, text, arena);
    if (fz_json_peek(&json) != FZ_JSON_OBJECT || !fz_json_enter(&json, '{')) {
        return false;
    }
    while (fz_json_next_member(&json, &first, &name)) {
        bool is_schema = fz_str_eq(name, FZ_STR_LIT("schema"));
        if (++n > 2 || (!is_schema && !fz_str_eq(name, FZ_STR_LIT("payload"))) ||
            !fz_json_skip(&json, is_schema ? schema : payload)) {
            return false;
        }
    }
    return json.error == NULL && schema->ptr != NULL && payload->ptr != NULL;
}

enum fz_code fz_decode_schema(struct fz_cdc_decoder *d, struct fz_str raw, const struct fz_connect_schema **out,
                              bool *good, struct fz_err *err) {
    struct fz_map_entry *entry = fz_map_find(&d->schemas, raw);
    const char *why = NULL;
    enum fz_code rc = FZ_OK;
    if (entry == NULL) {
        const struct fz_connect_schema *schema = fz_connect_schema_parse(d->tables->arena, raw, &why);
        if (schema == NULL) {
            return fz_decode_bad(d, good, "BAD_SCHEMA", "the schema part: %s", why);
        }
        if (d->schemas.n_live >= 100000) { // a stream that never repeats a schema
            fz_map_dispose(&d->schemas);
        }
        FZ_TRY(fz_map_put(&d->schemas, raw, &entry, NULL, err));
        entry->value.ptr = (void *)(uintptr_t)schema;
    }
    *out = entry->value.ptr;
out:
    return rc;
}

// ---- columns

static const struct fz_pipeline_column *declaration(const struct fz_cdc_table *table, const char *name) {
    for (size_t i = 0; table->config != NULL && i < table->config->n_columns; i++) {
        if (strcmp(table->config->columns[i].name, name) == 0) {
            return &table->config->columns[i];
        }
    }
    return NULL;
}

static const char *column_name(struct fz_cdc_table *table, struct fz_str field) {
    for (size_t i = 0; table->config != NULL && i < table->config->n_rename; i++) {
        if (fz_str_eq(field, fz_str_of(table->config->rename[i].key))) {
            return table->config->rename[i].value;
        }
    }
    return fz_arena_strndup(table->arena, field.ptr, field.len);
}

static enum fz_code typed_by_json(struct fz_json json /* a copy: only looked at */, struct fz_cdc_column *column) {
    struct fz_str text;
    enum fz_type_id id = FZ_TYPE_STRING;
    column->encoding.kind = FZ_ENC_PLAIN;
    switch (fz_json_peek(&json)) {
    case FZ_JSON_BOOL:
        id = FZ_TYPE_BOOLEAN;
        break;
    case FZ_JSON_NUMBER:
        id = FZ_TYPE_DOUBLE;
        if (fz_json_read_number(&json, &text) && memchr(text.ptr, '.', text.len) == NULL &&
            memchr(text.ptr, 'e', text.len) == NULL && memchr(text.ptr, 'E', text.len) == NULL) {
            id = FZ_TYPE_LONG;
        }
        column->encoding.kind = id == FZ_TYPE_LONG ? FZ_ENC_PLAIN : FZ_ENC_NUMBER;
        break;
    case FZ_JSON_ARRAY:
    case FZ_JSON_OBJECT:
        column->encoding.kind = FZ_ENC_JSON_RAW;
        break;
    case FZ_JSON_STRING:
    case FZ_JSON_NULL:
    case FZ_JSON_END:
        break;
    }
    column->type = fz_type_primitive(id);
    return FZ_OK;
}

// A field that is seen for the first time.
static enum fz_code new_column(struct fz_cdc_table *table, struct fz_str field, const struct fz_connect_field *typed,
                               const struct fz_json *json, int64_t *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_cdc_column column = {.name = column_name(table, field)};
    if (column.name == NULL) {
        return fz_fail_nomem(err, field.len);
    }
    struct fz_map_entry *known = fz_map_find(&table->by_name, fz_str_of(column.name));
    if (known != NULL) {
        *out = known->value.i64;
        return FZ_OK;
    }
    const struct fz_pipeline_column *declared = declaration(table, column.name);
    enum fz_pipeline_schema_changes policy = table->config == NULL ? FZ_SCHEMA_EVOLVE : table->config->schema_changes;
    if (declared == NULL && policy != FZ_SCHEMA_EVOLVE &&
        (table->settled || (table->config != NULL && table->config->n_columns > 0))) {
        *out = IGNORED;
        return policy == FZ_SCHEMA_IGNORE ? FZ_OK
                                          : fz_fail(err, FZ_SCHEMA_MISMATCH,
                                                    "table %s: the events have a new field %s; declare it under "
                                                    "columns:, or set schema_changes: evolve or ignore",
                                                    table->match, column.name);
    }
    if (declared != NULL) {
        column.type = declared->type;
        column.type_declared = true;
        column.encoding = declared->encoding;
        column.encoding_declared = declared->encoding.kind != FZ_ENC_NONE;
        if (!column.encoding_declared) {
            FZ_TRY(fz_cdc_encoding_default(table->arena, column.type, &column.encoding, err));
        }
        if (declared->default_text != NULL) {
            FZ_TRY(fz_cdc_default_parse(table->arena, declared->default_text, column.type, &column.default_value, err));
        }
    } else if (typed != NULL) {
        column.type = fz_type_copy(table->arena, typed->type);
        column.encoding = typed->encoding;
        if (column.type == NULL) {
            return fz_fail_nomem(err, sizeof *column.type);
        }
    } else {
        if (json == NULL || fz_json_peek(&(struct fz_json){json->p, json->end, NULL, NULL}) == FZ_JSON_NULL) {
            *out = NOT_YET;
            return FZ_OK;
        }
        FZ_TRY(typed_by_json(*json, &column));
    }
    size_t index;
    FZ_TRY(fz_cdc_table_add_column(table, &column, &index, err));
    *out = (int64_t)index;
out:
    return rc;
}

static enum fz_code column_of(struct fz_cdc_table *table, struct fz_str field, const struct fz_connect_field *typed,
                              const struct fz_json *json, int64_t *out, struct fz_err *err) {
    struct fz_map_entry *entry = fz_map_find(&table->by_field, field);
    enum fz_code rc = FZ_OK;
    if (entry != NULL) {
        *out = entry->value.i64;
        return FZ_OK;
    }
    FZ_TRY(new_column(table, field, typed, json, out, err));
    if (*out != NOT_YET) {
        FZ_TRY(fz_map_put(&table->by_field, field, &entry, NULL, err));
        entry->value.i64 = *out;
    }
out:
    return rc;
}

// A wider type in the schema part widens a column whose type came from a schema as well: Iceberg's promotions.
static void promote(struct fz_cdc_column *column, const struct fz_type *to) {
    const struct fz_type *from = column->type;
    bool wider = (from->id == FZ_TYPE_INT && to->id == FZ_TYPE_LONG) ||
                 (from->id == FZ_TYPE_FLOAT && to->id == FZ_TYPE_DOUBLE) ||
                 (from->id == FZ_TYPE_DECIMAL && to->id == FZ_TYPE_DECIMAL && to->scale == from->scale &&
                  to->precision > from->precision);
    if (wider && !column->type_declared) {
        column->type = to;
    }
}

enum fz_code fz_decode_use_schema(struct fz_cdc_decoder *d, struct fz_cdc_table *table,
                                  const struct fz_connect_schema *schema, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_decode_table *state = table->decode_state;
    (void)d;
    if (state == NULL) {
        FZ_NEW(state, err);
        table->decode_state = state;
    }
    if (state->schema == schema) {
        return FZ_OK;
    }
    state->n_by_schema = 0;
    state->schema = NULL;
    table->typed_by_schema = schema != NULL;
    for (size_t i = 0; schema != NULL && i < schema->n_fields; i++) {
        const struct fz_connect_field *field = &schema->fields[i];
        int64_t ix;
        if (field->name[0] == '_' && field->name[1] == '_') {
            continue; // __op, __deleted … of flattened rows
        }
        FZ_TRY(column_of(table, fz_str_of(field->name), field, NULL, &ix, err));
        if (ix < 0) {
            continue;
        }
        FZ_TRY(fz_grow((void **)&state->by_schema, &state->cap_by_schema, table->n_columns, sizeof *state->by_schema,
                       err));
        for (; state->n_by_schema < table->n_columns; state->n_by_schema++) {
            state->by_schema[state->n_by_schema] = (struct fz_cdc_encoding){0};
        }
        promote(&table->columns[ix], field->type);
        if (fz_cdc_encoding_fits(&field->encoding, table->columns[ix].type)) {
            state->by_schema[ix] = field->encoding;
        }
    }
    state->schema = schema;
out:
    return rc;
}

static const struct fz_cdc_encoding *encoding_of(const struct fz_cdc_table *table, size_t ix) {
    const struct fz_decode_table *state = table->decode_state;
    const struct fz_cdc_column *column = &table->columns[ix];
    bool open =
        !column->encoding_declared || (column->encoding.kind == FZ_ENC_DECIMAL_BYTES && column->encoding.scale < 0);
    if (open && state != NULL && ix < state->n_by_schema && state->by_schema[ix].kind != FZ_ENC_NONE) {
        return &state->by_schema[ix];
    }
    return &column->encoding;
}

// ---- rows

enum fz_code fz_row_reserve(struct fz_row_buffer *row, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(fz_grow((void **)&row->values, &row->cap_values, n, sizeof *row->values, err));
    FZ_TRY(fz_grow((void **)&row->cells, &row->cap_cells, n, 1, err));
out:
    return rc;
}

void fz_row_clear(struct fz_row_buffer *row) {
    if (row->cap_cells > 0) { // all of it: tables share the buffer
        memset(row->cells, FZ_CELL_ABSENT, row->cap_cells);
    }
}

static enum fz_code cell_error(struct fz_cdc_decoder *d, bool *good, const struct fz_cdc_table *table, size_t ix) {
    const struct fz_cdc_column *column = &table->columns[ix];
    struct fz_buf text = {0};
    fz_type_print_sql(&text, column->type);
    fz_buf_puts(&text, ", encoded as ");
    fz_cdc_encoding_print(&text, encoding_of(table, ix));
    fz_decode_bad(d, good, "BAD_VALUE", "column %s (%s): %s", column->name, text.ptr == NULL ? "?" : text.ptr,
                  d->values.why);
    fz_buf_dispose(&text);
    return FZ_OK;
}

static enum fz_code decode_cell(struct fz_cdc_decoder *d, struct fz_cdc_table *table, size_t ix, struct fz_json *json,
                                struct fz_row_buffer *row, bool *good, struct fz_err *err) {
    struct fz_cdc_column *column = &table->columns[ix];
    switch (fz_cdc_decode_value(&d->values, json, encoding_of(table, ix), column->type, &row->values[ix])) {
    case FZ_DECODED_VALUE:
        row->cells[ix] = FZ_CELL_VALUE;
        if (d->values.inner_beyond) {
            d->values.inner_beyond = false;
            column->n_beyond++;
        }
        return FZ_OK;
    case FZ_DECODED_UNAVAILABLE:
        row->cells[ix] = FZ_CELL_UNAVAILABLE;
        return FZ_OK;
    case FZ_DECODED_BEYOND:
        row->cells[ix] = FZ_CELL_VALUE;
        column->n_beyond++;
        return FZ_OK;
    case FZ_DECODED_FOREIGN:
        return cell_error(d, good, table, ix);
    case FZ_DECODED_NOMEM:
        break;
    }
    return fz_fail(err, FZ_NOMEM, "out of memory while decoding a record");
}

static bool is_key_column(const struct fz_cdc_table *table, size_t ix) {
    for (size_t i = 0; i < table->n_key; i++) {
        if (table->key[i] == ix) {
            return true;
        }
    }
    return false;
}

enum fz_code fz_decode_row(struct fz_cdc_decoder *d, struct fz_cdc_table *table, struct fz_str object, int what,
                           struct fz_row_buffer *row, bool *good, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_json json;
    bool first = true;
    struct fz_str name;
    size_t hint = 0;
    fz_json_init(&json, object, &d->scratch);
    if (fz_json_peek(&json) != FZ_JSON_OBJECT) {
        return fz_decode_bad(d, good, "BAD_ENVELOPE", "a row is not an object");
    }
    fz_json_enter(&json, '{');
    while (fz_json_next_member(&json, &first, &name)) {
        int64_t ix;
        if (what == FZ_ROW_FLAT && name.len > 2 && name.ptr[0] == '_' && name.ptr[1] == '_') {
            fz_json_skip(&json, NULL);
            continue;
        }
        if (hint < table->n_columns && (table->config == NULL || table->config->n_rename == 0) &&
            fz_str_eq(name, fz_str_of(table->columns[hint].name))) {
            ix = (int64_t)hint; // fields come in the order of the last time
        } else {
            FZ_TRY(column_of(table, name, NULL, &json, &ix, err));
        }
        if (ix < 0 || (what == FZ_ROW_KEY_ONLY && !is_key_column(table, (size_t)ix))) {
            fz_json_skip(&json, NULL);
            hint = ix < 0 ? hint : (size_t)ix + 1;
            continue;
        }
        hint = (size_t)ix + 1;
        if ((size_t)ix >= row->cap_values || (size_t)ix >= row->cap_cells) {
            FZ_TRY(fz_row_reserve(row, table->n_columns, err)); // new cells are zero: absent
        }
        FZ_TRY(decode_cell(d, table, (size_t)ix, &json, row, good, err));
        if (!*good) {
            goto out;
        }
    }
    if (json.error != NULL) {
        fz_decode_bad(d, good, "BAD_JSON", "%s", json.error);
    }
out:
    return rc;
}

// ---- keys

static enum fz_code learn_key(struct fz_cdc_decoder *d, struct fz_cdc_table *table, struct fz_str object,
                              const struct fz_connect_schema *schema, bool *good, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_json json;
    bool first = true;
    struct fz_str name;
    size_t n = 0, cap = 0;
    size_t *key = NULL;
    fz_json_init(&json, object, &d->scratch);
    if (!fz_json_enter(&json, '{')) {
        return fz_decode_bad(d, good, "BAD_KEY", "the record's key is not an object; set key: for the table");
    }
    while (fz_json_next_member(&json, &first, &name)) {
        const struct fz_connect_field *typed = NULL;
        int64_t ix;
        for (size_t i = 0; schema != NULL && i < schema->n_fields; i++) {
            typed = fz_str_eq(name, fz_str_of(schema->fields[i].name)) ? &schema->fields[i] : typed;
        }
        FZ_TRY(column_of(table, name, typed, &json, &ix, err));
        if (ix < 0) {
            fz_decode_bad(d, good, "BAD_KEY", "the record's key has a column that the table does not have, or NULL");
            goto out;
        }
        FZ_TRY(fz_grow((void **)&key, &cap, n + 1, sizeof *key, err));
        key[n++] = (size_t)ix;
        fz_json_skip(&json, NULL);
    }
    if (json.error != NULL || n == 0) {
        fz_decode_bad(d, good, "BAD_KEY", "the record's key: %s", json.error == NULL ? "it is empty" : json.error);
        goto out;
    }
    table->key = key;
    key = NULL;
    table->n_key = n;
    table->key_known = true;
out:
    fz_free(key);
    return rc;
}

// The members of a key must be the key columns, all of them and no others.
static enum fz_code read_key(struct fz_cdc_decoder *d, struct fz_cdc_table *table, struct fz_str object,
                             struct fz_row_buffer *row, bool *good, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_json json;
    bool first = true;
    struct fz_str name;
    size_t n = 0;
    fz_json_init(&json, object, &d->scratch);
    if (!fz_json_enter(&json, '{')) {
        return fz_decode_bad(d, good, "BAD_KEY", "the record's key is not an object; set key: for the table");
    }
    while (fz_json_next_member(&json, &first, &name)) {
        int64_t ix;
        FZ_TRY(column_of(table, name, NULL, &json, &ix, err));
        if (ix < 0 || !is_key_column(table, (size_t)ix)) {
            fz_decode_bad(d, good, "KEY_CHANGED", "the record's key has other columns than the table's key");
            goto out;
        }
        FZ_TRY(fz_row_reserve(row, table->n_columns, err));
        FZ_TRY(decode_cell(d, table, (size_t)ix, &json, row, good, err));
        if (!*good) {
            goto out;
        }
        n++;
    }
    if (json.error != NULL || n != table->n_key) {
        fz_decode_bad(d, good, json.error != NULL ? "BAD_JSON" : "KEY_CHANGED", "the record's key: %s",
                      json.error != NULL ? json.error : "it has other columns than the table's key");
    }
out:
    return rc;
}

enum fz_code fz_decode_key(struct fz_cdc_decoder *d, struct fz_cdc_table *table, struct fz_str key,
                           struct fz_row_buffer *row, bool *good, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_str schema_text, payload;
    const struct fz_connect_schema *schema = NULL;
    if (fz_decode_unwrap(&d->scratch, key, &schema_text, &payload)) {
        key = payload;
        if (!table->key_known) {
            FZ_TRY(fz_decode_schema(d, schema_text, &schema, good, err));
        }
    }
    if (*good && !table->key_known) {
        FZ_TRY(learn_key(d, table, key, schema, good, err));
    }
    if (*good) {
        FZ_TRY(fz_row_reserve(row, table->n_columns, err));
        FZ_TRY(read_key(d, table, key, row, good, err));
    }
out:
    return rc;
}
