// The first rows of a data file, Parquet or Avro: a table for people (row by row where it would be too wide), or one JSON document.
// Nested values and variants are JSON in both.
#include <math.h>

#include "base/text.h"
#include "data/variant.h"
#include "format/avro/avro_table.h"
#include "format/parquet/parquet_reader.h"
#include "inspect/inspect_priv.h"

enum { MAX_DEPTH = 200, CELL_CHARS = 60, WIDE_CHARS = 160, TABLE_COLUMNS = 40 };

struct rows {
    struct fz_store *store;
    const char *location;
    int64_t max_rows, row_count; // row_count -1: not said in the file
    struct fz_arena arena;
    const struct fz_field *fields;
    size_t n_fields;
    struct fz_parquet_file *parquet;
    struct fz_avro_file *avro;
    bool json, all;
    struct fz_buf *out;
    int64_t n; // rows so far
    // text
    struct fz_buf text; // the cells, one after the other
    size_t *ends, n_cells, cap_cells;
};

static void put_json(struct fz_buf *out, const struct fz_value *v, struct fz_arena *arena, int depth);

static void put_quoted(struct fz_buf *out, const struct fz_value *v) {
    struct fz_buf text = {0};
    fz_value_print(&text, v);
    fz_json_quote(out, (struct fz_str){text.ptr != NULL ? text.ptr : "", text.len});
    out->failed |= text.failed;
    fz_buf_dispose(&text);
}

static void put_nested(struct fz_buf *out, const struct fz_value *v, struct fz_arena *arena, int depth) {
    const struct fz_value *items = v->u.nested.items;
    bool map = v->type->id == FZ_TYPE_MAP, texts = map && v->type->fields[0].type->id == FZ_TYPE_STRING,
         object = v->type->id == FZ_TYPE_STRUCT || texts;
    size_t n = map ? v->u.nested.n / 2 : v->u.nested.n;
    fz_buf_putc(out, object ? '{' : '[');
    for (size_t i = 0; i < n; i++) {
        fz_buf_puts(out, i > 0 ? ", " : "");
        if (map && !texts) { // [key, value]
            fz_buf_putc(out, '[');
            put_json(out, &items[2 * i], arena, depth + 1);
            fz_buf_puts(out, ", ");
        } else if (map) {
            put_json(out, &items[2 * i], arena, depth + 1);
            fz_buf_puts(out, ": ");
        } else if (object) {
            fz_json_quote(out, fz_str_of(v->type->fields[i].name));
            fz_buf_puts(out, ": ");
        }
        put_json(out, &items[map ? 2 * i + 1 : i], arena, depth + 1);
        fz_buf_puts(out, map && !texts ? "]" : "");
    }
    fz_buf_putc(out, object ? '}' : ']');
}

static void put_json(struct fz_buf *out, const struct fz_value *v, struct fz_arena *arena, int depth) {
    if (v->is_null || depth > MAX_DEPTH) {
        fz_buf_puts(out, "null");
        return;
    }
    switch (v->type->id) {
    case FZ_TYPE_BOOLEAN:
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
    case FZ_TYPE_DECIMAL:
        fz_value_print(out, v);
        return;
    case FZ_TYPE_FLOAT:
    case FZ_TYPE_DOUBLE:
        if (isfinite(v->type->id == FZ_TYPE_FLOAT ? (double)v->u.f32 : v->u.f64)) {
            fz_value_print(out, v);
        } else {
            put_quoted(out, v);
        }
        return;
    case FZ_TYPE_VARIANT:
        if (!fz_variant_print(out, v->u.bytes, NULL, NULL)) {
            fz_buf_puts(out, "null");
        }
        return;
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        put_nested(out, v, arena, depth);
        return;
    default:
        put_quoted(out, v);
    }
}

// ---- as text ----
static void put_cell(struct fz_buf *out, const struct fz_value *v, struct fz_arena *arena) {
    if (v->is_null) {
        fz_buf_puts(out, "NULL");
    } else if (v->type->n_fields > 0 || v->type->id == FZ_TYPE_VARIANT) {
        put_json(out, v, arena, 0);
    } else {
        fz_value_print(out, v);
    }
}

static enum fz_code keep_cell(struct rows *r, size_t start,
                              struct fz_err *err) { // from what was printed behind `start`
    struct fz_buf safe = {0};
    enum fz_code rc = fz_buf_check(&r->text, err);
    if (rc == FZ_OK && r->text.len > start) {
        fz_inspect_put_safe(&safe, r->text.ptr + start, r->text.len - start, r->all ? SIZE_MAX : CELL_CHARS);
        r->text.len = start;
        fz_buf_append(&r->text, safe.ptr != NULL ? safe.ptr : "", safe.len);
    }
    rc = rc == FZ_OK ? fz_buf_check(&r->text, err) : rc;
    fz_buf_dispose(&safe);
    rc = rc == FZ_OK ? fz_grow((void **)&r->ends, &r->cap_cells, r->n_cells + 1, sizeof *r->ends, err) : rc;
    if (rc == FZ_OK) {
        r->ends[r->n_cells++] = r->text.len;
    }
    return rc;
}

static struct fz_str cell(const struct rows *r, size_t i) {
    size_t start = i > 0 ? r->ends[i - 1] : 0;
    return (struct fz_str){r->text.ptr != NULL ? r->text.ptr + start : "", r->ends[i] - start};
}

static bool is_number(const struct fz_type *t) {
    return fz_type_is_numeric(t);
}

static void put_padded(struct fz_buf *out, struct fz_str text, size_t width, bool right, bool last) {
    size_t have = fz_utf8_length(text.ptr, text.len);
    for (size_t i = have; right && i < width; i++) {
        fz_buf_putc(out, ' ');
    }
    fz_buf_append(out, text.ptr, text.len);
    for (size_t i = have; !right && !last && i < width; i++) {
        fz_buf_putc(out, ' ');
    }
    fz_buf_puts(out, last ? "\n" : "  ");
}

// The first row of cells are the names.
static enum fz_code lay_out(struct rows *r, struct fz_err *err) {
    size_t n = r->n_fields, *widths = fz_calloc(n + 1, sizeof *widths), total = 0, longest = 0;
    if (widths == NULL) {
        return fz_fail_nomem(err, n * sizeof *widths);
    }
    for (size_t i = 0; i < r->n_cells; i++) {
        struct fz_str text = cell(r, i);
        size_t width = fz_utf8_length(text.ptr, text.len);
        widths[i % n] = width > widths[i % n] ? width : widths[i % n];
        longest = i < n && width > longest ? width : longest;
    }
    for (size_t c = 0; c < n; c++) {
        total += widths[c] + 2;
    }
    bool table = total <= WIDE_CHARS && n <= TABLE_COLUMNS;
    for (size_t i = table ? 0 : n; n > 0 && i < r->n_cells; i++) {
        size_t c = i % n;
        if (table) {
            put_padded(r->out, cell(r, i), widths[c], is_number(r->fields[c].type), c + 1 == n);
        } else {
            if (c == 0) {
                fz_buf_printf(r->out, "%srow %zu\n", i > n ? "\n" : "", i / n);
            }
            fz_buf_puts(r->out, "  ");
            put_padded(r->out, cell(r, c), longest, false, false);
            put_padded(r->out, cell(r, i), 0, false, true);
        }
    }
    fz_free(widths);
    return fz_buf_check(r->out, err);
}

// ---- reading ----
static enum fz_code take_batch(struct rows *r, const struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t row = 0; row < batch->n_rows && r->n < r->max_rows; row++, r->n++) {
        struct fz_arena arena = {0};
        if (r->json) {
            fz_buf_puts(r->out, r->n > 0 ? ",\n    {" : "\n    {");
        }
        for (size_t c = 0; c < r->n_fields && rc == FZ_OK; c++) {
            struct fz_value v = fz_value_at(&batch->columns[c], row, &arena);
            if (r->json) {
                fz_buf_puts(r->out, c > 0 ? ", " : "");
                fz_json_quote(r->out, fz_str_of(r->fields[c].name));
                fz_buf_puts(r->out, ": ");
                put_json(r->out, &v, &arena, 0);
            } else {
                size_t start = r->text.len;
                put_cell(&r->text, &v, &arena);
                rc = keep_cell(r, start, err);
            }
        }
        fz_buf_puts(r->out, r->json ? "}" : "");
        fz_arena_dispose(&arena);
        FZ_TRY(rc);
    }
    rc = fz_buf_check(r->out, err);
out:
    return rc;
}

static enum fz_code read_rows(struct rows *r, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_reader *parquet = NULL;
    struct fz_avro_table_reader *avro = NULL;
    struct fz_batch batch = {0};
    size_t n_groups = r->avro != NULL ? 1 : fz_parquet_file_meta(r->parquet)->n_row_groups;
    FZ_TRY(fz_batch_init(&batch, r->fields, r->n_fields, FZ_BATCH_ROWS, err));
    for (size_t g = 0; g < n_groups && r->n < r->max_rows; g++) {
        struct fz_parquet_read read = {.fields = r->fields, .n_fields = r->n_fields, .row_group = g};
        if (r->avro != NULL) {
            FZ_TRY(fz_avro_table_reader_open(r->avro, r->fields, r->n_fields, !fz_avro_file_has_ids(r->avro), NULL,
                                             &avro, err));
        } else {
            FZ_TRY(fz_parquet_reader_open(r->parquet, &read, NULL, &parquet, err));
        }
        while (r->n < r->max_rows) {
            int64_t left = r->max_rows - r->n;
            size_t most = left < FZ_BATCH_ROWS ? (size_t)left : FZ_BATCH_ROWS;
            for (size_t i = 0; i < r->n_fields; i++) {
                fz_column_reset(&batch.columns[i]);
            }
            FZ_TRY(avro != NULL ? fz_avro_table_reader_next(avro, &batch, most, NULL, err)
                                : fz_parquet_reader_next_upto(parquet, &batch, most, NULL, err));
            if (batch.n_rows == 0) {
                break;
            }
            FZ_TRY(take_batch(r, &batch, err));
        }
        fz_parquet_reader_close(parquet);
        parquet = NULL;
    }
out:
    fz_parquet_reader_close(parquet);
    fz_avro_table_reader_close(avro);
    fz_batch_dispose(&batch);
    return rc;
}

static enum fz_code open_file(struct rows *r, int64_t size_bytes, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    uint8_t head[4] = {0};
    const struct fz_type *type;
    size_t n = size_bytes < 4 ? (size_t)size_bytes : 4;
    FZ_TRY(fz_store_read(r->store, r->location, 0, n, head, NULL, err));
    if (memcmp(head, "PAR1", 4) == 0 || memcmp(head, "PARE", 4) == 0) {
        FZ_TRY(fz_parquet_file_open(r->store, r->location, size_bytes, NULL, &r->parquet, err));
        type = fz_parquet_file_logical_schema(r->parquet, &r->arena);
        r->row_count = fz_parquet_file_meta(r->parquet)->num_rows;
    } else if (memcmp(head, "Obj\1", 4) == 0) {
        FZ_TRY(fz_avro_file_open(r->store, r->location, size_bytes, NULL, &r->avro, err));
        type = fz_avro_file_schema(r->avro);
    } else {
        rc = fz_fail(err, FZ_UNSUPPORTED, "%s has no rows to show: only Parquet and Avro files have; leave --rows out",
                     r->location);
        goto out;
    }
    if (type == NULL) {
        rc = fz_fail_nomem(err, 1000);
        goto out;
    }
    r->fields = type->fields;
    r->n_fields = type->n_fields;
out:
    return rc;
}

enum fz_code fz_inspect_rows(struct fz_store *store, const char *location, int64_t size_bytes,
                             const struct fz_inspect_options *options, struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct rows r = {.store = store,
                     .location = location,
                     .max_rows = options->max_rows,
                     .row_count = -1,
                     .json = options->json,
                     .all = options->all,
                     .out = out};
    FZ_TRY(open_file(&r, size_bytes, err));
    const char *kind = r.avro != NULL ? "Avro" : "Parquet";
    if (r.json) {
        fz_buf_puts(out, "{\n  \"file\": ");
        fz_json_quote(out, fz_str_of(fz_utf8_valid(location, strlen(location)) ? location : "?"));
        fz_buf_printf(out, ",\n  \"kind\": \"%s\",\n  \"size_bytes\": %lld,\n  \"row_count\": ", kind,
                      (long long)size_bytes);
        fz_buf_printf(out, r.row_count >= 0 ? "%lld" : "null", (long long)r.row_count);
        fz_buf_puts(out, ",\n  \"rows\": [");
    } else {
        fz_inspect_put_safe(out, location, strlen(location), SIZE_MAX);
        fz_buf_printf(out, ", %s", kind);
        if (r.row_count >= 0) {
            fz_buf_printf(out, ", %lld rows", (long long)r.row_count);
        }
        fz_buf_puts(out, "\n\n");
        for (size_t c = 0; c < r.n_fields; c++) {
            size_t start = r.text.len;
            fz_buf_puts(&r.text, r.fields[c].name);
            FZ_TRY(keep_cell(&r, start, err));
        }
    }
    FZ_TRY(read_rows(&r, err));
    if (r.json) {
        fz_buf_puts(out, r.n > 0 ? "\n  ]\n}\n" : "]\n}\n");
    } else {
        FZ_TRY(lay_out(&r, err));
    }
    rc = fz_buf_check(out, err);
out:
    fz_free(r.ends);
    fz_buf_dispose(&r.text);
    fz_parquet_file_unref(r.parquet);
    fz_avro_file_unref(r.avro);
    fz_arena_dispose(&r.arena);
    return rc;
}
