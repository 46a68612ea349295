// Helpers over the structures that the stages share: see flow.h.
#include "cdc/flow.h"

int fz_cdc_order_compare(const struct fz_cdc_order *a, const struct fz_cdc_order *b) {
    int n = a->n < b->n ? a->n : b->n;
    for (int i = 0; i < n; i++) {
        if (a->parts[i] != b->parts[i]) {
            return a->parts[i] < b->parts[i] ? -1 : 1;
        }
    }
    return (a->n > b->n) - (a->n < b->n);
}

size_t fz_cdc_order_print(const struct fz_cdc_order *order, char out[FZ_CDC_ORDER_TEXT]) {
    size_t len = 0;
    for (int i = 0; i < order->n; i++) {
        if (i > 0) {
            out[len++] = '/';
        }
        uint64_t v = order->parts[i] < 0 ? 0 : (uint64_t)order->parts[i];
        for (int d = 18; d >= 0; d--) {
            out[len + (size_t)d] = (char)('0' + v % 10);
            v /= 10;
        }
        len += 19;
    }
    return len;
}

static void table_dispose(struct fz_cdc_table *table) {
    fz_free(table->columns);
    fz_free(table->key);
    fz_map_dispose(&table->by_field);
    fz_map_dispose(&table->by_name);
    fz_map_dispose(&table->positions);
    fz_free(table);
}

enum fz_code fz_cdc_table_add_column(struct fz_cdc_table *table, const struct fz_cdc_column *column, size_t *out_index,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_map_entry *entry;
    bool added;
    if (table->n_columns >= 10000) {
        return fz_fail(err, FZ_LIMIT, "table %s: more than 10,000 columns; set schema_changes: ignore", table->match);
    }
    FZ_TRY(fz_map_put(&table->by_name, fz_str_of(column->name), &entry, &added, err));
    if (!added) {
        rc = fz_fail(err, FZ_BUG, "column %s twice", column->name);
        goto out;
    }
    FZ_TRY(fz_grow((void **)&table->columns, &table->columns_cap, table->n_columns + 1, sizeof *table->columns, err));
    table->columns[table->n_columns] = *column;
    entry->value.i64 = (int64_t)table->n_columns;
    *out_index = table->n_columns++;
out:
    return rc;
}

enum fz_code fz_cdc_tables_add(struct fz_cdc_tables *tables, const struct fz_pipeline_table *config, const char *match,
                               struct fz_cdc_table **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_cdc_table *table = NULL;
    if (tables->n >= 100000) {
        return fz_fail(err, FZ_LIMIT, "more than 100,000 tables in one pipeline");
    }
    FZ_TRY(fz_grow((void **)&tables->items, &tables->cap, tables->n + 1, sizeof(struct fz_cdc_table *), err));
    FZ_NEW(table, err);
    table->arena = tables->arena;
    table->config = config;
    table->match = fz_arena_strdup(tables->arena, match);
    if (table->match == NULL) {
        fz_free(table);
        rc = fz_fail_nomem(err, strlen(match));
        goto out;
    }
    table->number = tables->n;
    tables->items[tables->n++] = table;
    *out = table;
    if (tables->on_add != NULL) {
        FZ_TRY(tables->on_add(tables->on_add_ctx, table, err));
    }
out:
    return rc;
}

void fz_cdc_tables_dispose(struct fz_cdc_tables *tables) {
    for (size_t i = 0; i < tables->n; i++) {
        table_dispose(tables->items[i]);
    }
    fz_free(tables->items);
    *tables = (struct fz_cdc_tables){0};
}

void fz_cdc_stream_key(struct fz_buf *out, const char *topic, int32_t partition) {
    fz_buf_clear(out);
    fz_buf_append(out, topic, strlen(topic) + 1);
    fz_buf_append(out, &partition, sizeof partition);
}
