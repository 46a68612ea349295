// Which partition a row of a table writer belongs to: tuples from columns, tuples as keys, and the map from keys to open partitions, which
// has the writer's lock.
#include "base/hash.h"
#include "base/text.h"
#include "change/table_writer_priv.h"

// The column of a field id, looking into structs.
static const struct fz_column *find_column(const struct fz_column *columns, size_t n, int32_t field_id) {
    for (size_t i = 0; i < n; i++) {
        if (columns[i].field_id == field_id) {
            return &columns[i];
        }
        if (columns[i].type->id == FZ_TYPE_STRUCT) {
            const struct fz_column *inner = find_column(columns[i].children, columns[i].n_children, field_id);
            if (inner != NULL) {
                return inner;
            }
        }
    }
    return NULL;
}

// One row's partition tuple as bytes that are equal exactly when the tuples are.
static void append_key(struct fz_buf *key, const struct fz_column *column, size_t row) {
    bool valid = fz_column_is_valid(column, row);
    fz_buf_putc(key, (char)valid);
    if (!valid) {
        return;
    }
    size_t width = fz_type_width(column->type);
    const char *at = (const char *)column->data + row * width;
    switch (column->type->id) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED: {
        struct fz_string s;
        memcpy(&s, at, sizeof s);
        fz_buf_append(key, &s.length, sizeof s.length);
        fz_buf_append(key, fz_string_ptr((const struct fz_string *)(const void *)at), s.length);
        break;
    }
    default:
        fz_buf_append(key, at, width);
    }
}

// Whether two rows have the same partition tuple; false when it takes longer to know.
static bool same_tuple(const struct fz_column *values, size_t n, size_t a, size_t b) {
    for (size_t k = 0; k < n; k++) {
        size_t width = fz_type_width(values[k].type);
        bool valid = fz_column_is_valid(&values[k], a);
        if (valid != fz_column_is_valid(&values[k], b)) {
            return false;
        }
        if (valid) { // of a text longer than 12 bytes the address is compared, which neighbours from a dictionary share
            const char *data = values[k].data;
            if (memcmp(data + a * width, data + b * width, width) != 0) {
                return false;
            }
        }
    }
    return true;
}

static enum fz_code partition_of_key(struct fz_table_writer *w, struct fz_str key, const struct fz_column *values,
                                     size_t row, struct fz_open_partition **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf path = {0};
    pthread_mutex_lock(&w->lock);
    struct fz_map_entry *entry;
    bool added;
    FZ_TRY(fz_map_put(&w->partitions, key, &entry, &added, err));
    if (added) {
        struct fz_open_partition *p = fz_arena_alloc(&w->arena, sizeof *p);
        struct fz_value *items = fz_arena_array(&w->arena, w->spec->n_fields, sizeof *items);
        if (p == NULL || items == NULL) {
            fz_map_remove(&w->partitions, key);
            rc = fz_fail_nomem(err, sizeof *p);
            goto out;
        }
        for (size_t i = 0; i < w->spec->n_fields; i++) {
            struct fz_value v = fz_value_at(&values[i], row, NULL);
            const struct fz_value *copy = fz_value_copy(&w->arena, &v);
            if (copy == NULL) {
                fz_map_remove(&w->partitions, key);
                rc = fz_fail_nomem(err, sizeof *copy);
                goto out;
            }
            items[i] = *copy;
        }
        p->partition = (struct fz_value){.type = w->partition_type};
        p->partition.u.nested.items = items;
        p->partition.u.nested.n = w->spec->n_fields;
        rc = fz_spec_partition_path(&path, w->spec, &p->partition, err);
        p->path = rc == FZ_OK ? fz_arena_strdup(&w->arena, path.ptr ? path.ptr : "") : NULL;
        if (p->path == NULL) {
            fz_map_remove(&w->partitions, key);
            rc = rc != FZ_OK ? rc : fz_fail_nomem(err, path.len);
            goto out;
        }
        pthread_mutex_init(&p->lock, NULL);
        pthread_cond_init(&p->lane_free, NULL);
        p->part = fz_hash64(key.ptr, key.len, 0) % FZ_OVERFLOW_PARTS;
        entry->value.ptr = p;
    }
    *out = entry->value.ptr;
out:
    pthread_mutex_unlock(&w->lock);
    fz_buf_dispose(&path);
    return rc;
}

enum fz_code fz_table_writer_partition(struct fz_table_writer *w, const struct fz_value *tuple,
                                       struct fz_open_partition **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = w->spec->n_fields;
    struct fz_buf key = {0};
    struct fz_column *values = fz_calloc(n + 1, sizeof *values);
    if (values == NULL) {
        rc = fz_fail_nomem(err, n * sizeof *values);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(fz_column_init(&values[i], w->partition_type->fields[i].type, 1, err));
        const struct fz_value *v = &tuple->u.nested.items[i];
        if (v->is_null) {
            fz_column_set_null(&values[i], 0);
        } else {
            FZ_TRY(fz_value_store(&values[i], 0, v, err));
        }
        append_key(&key, &values[i], 0);
    }
    FZ_TRY(fz_buf_check(&key, err));
    FZ_TRY(partition_of_key(w, (struct fz_str){key.ptr != NULL ? key.ptr : "", key.len}, values, 0, out, err));
out:
    for (size_t i = 0; values != NULL && i < n; i++) {
        fz_column_dispose(&values[i]);
    }
    fz_free(values);
    fz_buf_dispose(&key);
    return rc;
}

bool fz_table_writer_takes_partition(const struct fz_table_writer *w, int32_t spec_id,
                                     const struct fz_value *partition) {
    size_t n = w->spec->n_fields;
    if (spec_id != w->spec->spec_id || (n > 0 && (partition->is_null || partition->u.nested.n != n))) {
        return false;
    }
    for (size_t i = 0; i < n; i++) { // a column promoted since then: the tuple is of the narrower type
        const struct fz_value *v = &partition->u.nested.items[i];
        if (!v->is_null && !fz_type_equal(v->type, w->partition_type->fields[i].type, false, true)) {
            return false;
        }
    }
    return true;
}

// Rows of one partition inside a batch.
struct routed {
    struct fz_open_partition *partition;
    size_t n;
    uint32_t *rows;
};

// The partition tuples of all rows, a column for each field of the spec, into `values` (zeroed; the caller's, also on error).
static enum fz_code partition_columns(const struct fz_table_writer *w, const struct fz_batch *batch,
                                      struct fz_column *values, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t k = 0; k < w->spec->n_fields; k++) {
        const struct fz_partition_field *field = &w->spec->fields[k];
        const struct fz_type *type = w->partition_type->fields[k].type;
        FZ_TRY(fz_column_init(&values[k], type, batch->n_rows, err));
        const struct fz_column *source = find_column(batch->columns, batch->n_columns, field->source_id);
        if (source == NULL) { // void over a dropped column
            for (size_t i = 0; i < batch->n_rows; i++) {
                fz_column_set_null(&values[k], i);
            }
            continue;
        }
        FZ_TRY(fz_transform_apply_column(&field->transform, source, batch->n_rows, &values[k], err));
    }
out:
    return rc;
}

enum fz_code fz_table_writer_stays(const struct fz_table_writer *w, const struct fz_batch *batch, const uint32_t *rows,
                                   size_t n, const struct fz_value *const *partitions, uint8_t *out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n_keys = w->spec->n_fields;
    struct fz_column *values = fz_calloc(n_keys + 1, sizeof *values);
    if (values == NULL) {
        return fz_fail_nomem(err, n_keys * sizeof *values);
    }
    FZ_TRY(partition_columns(w, batch, values, err));
    memset(out, 1, n);
    for (size_t k = 0; k < n_keys; k++) {
        for (size_t i = 0; i < n; i++) {
            if (partitions[i] != NULL) {
                const struct fz_value *have = &partitions[i]->u.nested.items[k];
                struct fz_value v = fz_value_at(&values[k], rows[i], NULL);
                bool same = have->is_null || v.is_null ? have->is_null && v.is_null : fz_value_equal(have, &v);
                out[i] &= same;
            }
        }
    }
out:
    for (size_t k = 0; k < n_keys; k++) {
        fz_column_dispose(&values[k]);
    }
    fz_free(values);
    return rc;
}

// Groups the selected rows by partition tuple.
enum fz_code fz_table_writer_route(struct fz_table_writer *w, const struct fz_batch *batch, const uint32_t *selection,
                                   size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n_keys = w->spec->n_fields, n_routes = 0, cap_routes = 0;
    struct fz_column *values = NULL;
    struct routed *routes = NULL;
    uint32_t *rows = NULL, *route_of = NULL;
    struct fz_map seen = {0};
    struct fz_buf key = {0};
    values = fz_calloc(n_keys, sizeof *values);
    rows = fz_malloc(n * sizeof *rows);
    route_of = fz_malloc(n * sizeof *route_of);
    if (values == NULL || rows == NULL || route_of == NULL) {
        rc = fz_fail_nomem(err, n * sizeof *rows);
        goto out;
    }
    FZ_TRY(partition_columns(w, batch, values, err));
    for (size_t i = 0; i < n; i++) {
        size_t row = selection ? selection[i] : i;
        if (i > 0 && same_tuple(values, n_keys, row, selection ? selection[i - 1] : i - 1)) {
            route_of[i] = route_of[i - 1];
            routes[route_of[i]].n++;
            continue;
        }
        fz_buf_clear(&key);
        for (size_t k = 0; k < n_keys; k++) {
            append_key(&key, &values[k], row);
        }
        FZ_TRY(fz_buf_check(&key, err));
        struct fz_map_entry *entry;
        bool added;
        FZ_TRY(fz_map_put(&seen, (struct fz_str){key.ptr, key.len}, &entry, &added, err));
        if (added) {
            FZ_TRY(fz_grow((void **)&routes, &cap_routes, n_routes + 1, sizeof *routes, err));
            routes[n_routes] = (struct routed){0};
            FZ_TRY(
                partition_of_key(w, (struct fz_str){key.ptr, key.len}, values, row, &routes[n_routes].partition, err));
            entry->value.i64 = (int64_t)n_routes++;
        }
        route_of[i] = (uint32_t)entry->value.i64;
        routes[route_of[i]].n++;
    }
    uint32_t *next = rows;
    for (size_t r = 0; r < n_routes; r++) {
        routes[r].rows = next;
        next += routes[r].n;
        routes[r].n = 0;
    }
    for (size_t i = 0; i < n; i++) {
        struct routed *r = &routes[route_of[i]];
        r->rows[r->n++] = selection ? selection[i] : (uint32_t)i;
    }
    for (size_t r = 0; r < n_routes; r++) {
        FZ_TRY(fz_open_partition_append(w, routes[r].partition, batch, routes[r].rows, routes[r].n, err));
    }
out:
    for (size_t k = 0; values != NULL && k < n_keys; k++) {
        fz_column_dispose(&values[k]);
    }
    fz_free(values);
    fz_free(routes);
    fz_free(rows);
    fz_free(route_of);
    fz_map_dispose(&seen);
    fz_buf_dispose(&key);
    return rc;
}
