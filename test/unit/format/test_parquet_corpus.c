// Reads every Parquet file of the shared corpus (files by many writers, values recorded from PyArrow and DuckDB) and compares
// schema, counts and hashes; then the damaged files, which must end in a clear error or a result. The corpus is not part of the
// repository: FRAZIL_SHARED_DATA names its folder, else ../shared/data beside the source is tried; without it the tests are skipped.
// (Mutations of these files: test/fuzz/replay.c.)
#include "leak_check.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <xxhash.h>

#include "format/parquet/parquet_reader_priv.h"

static char corpus[1024];

static bool find_corpus(const char *list) {
    const char *env = getenv("FRAZIL_SHARED_DATA");
    snprintf(corpus, sizeof corpus, "%s", env != NULL ? env : FZ_SOURCE_DIR "/../shared/data");
    struct stat st;
    char path[1100];
    snprintf(path, sizeof path, "%s/%s", corpus, list);
    return stat(path, &st) == 0;
}

// One leaf or one column of what we read.
struct digest {
    XXH64_state_t *state;
    int64_t values;
    bool inexact; // holds values that the batch stores in a coarser unit than the file
};

static void digest_init(struct digest *d) {
    *d = (struct digest){.state = XXH64_createState()};
    XXH64_reset(d->state, 0);
}
static void digest_add(struct digest *d, const struct fz_buf *text) {
    XXH64_update(d->state, text->ptr, text->len);
    XXH64_update(d->state, "\n", 1);
    d->values++;
}
static void digest_hex(struct digest *d, char out[17]) {
    snprintf(out, 17, "%016" PRIx64, (uint64_t)XXH64_digest(d->state));
}

static void put_hex(struct fz_buf *out, const uint8_t *p, size_t len) {
    fz_buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        fz_buf_printf(out, "%02x", p[i]);
    }
    fz_buf_putc(out, '"');
}

static void put_json(struct fz_buf *out, const char *p, size_t len) {
    fz_buf_putc(out, '"');
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)p[i];
        if (c == '"' || c == '\\') {
            fz_buf_putc(out, '\\');
            fz_buf_putc(out, (char)c);
        } else if (c < 0x20) {
            fz_buf_printf(out, "\\u%04x", c);
        } else {
            fz_buf_putc(out, (char)c);
        }
    }
    fz_buf_putc(out, '"');
}

static void put_number(struct fz_buf *out, double v, const char *format) {
    if (isnan(v)) {
        fz_buf_puts(out, "\"NaN\"");
    } else if (isinf(v)) {
        fz_buf_puts(out, v < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    } else {
        char text[64];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
        snprintf(text, sizeof text, format, v);
#pragma GCC diagnostic pop
        fz_buf_puts(out, text);
    }
}

static void put_i128(struct fz_buf *out, __int128 v) {
    char text[48], *p = text + sizeof text;
    bool negative = v < 0;
    unsigned __int128 u = negative ? -(unsigned __int128)v : (unsigned __int128)v;
    *--p = 0;
    do {
        *--p = (char)('0' + (int)(u % 10));
        u /= 10;
    } while (u > 0);
    if (negative) {
        *--p = '-';
    }
    fz_buf_puts(out, p);
}

static bool is_millis(const struct fz_pq_schema_element *e) {
    bool timed = e->logical == FZ_PQ_LOGICAL_TIME || e->logical == FZ_PQ_LOGICAL_TIMESTAMP;
    return timed ? e->unit == FZ_PQ_MILLIS
                 : e->logical == FZ_PQ_LOGICAL_NONE &&
                       (e->converted == FZ_PQ_CONV_TIME_MILLIS || e->converted == FZ_PQ_CONV_TIMESTAMP_MILLIS);
}

static void put_leaf(struct fz_buf *out, const struct fz_pqr_node *node, const struct fz_column *c, size_t row) {
    const struct fz_type *t = c->type;
    switch ((int)t->id) {
    case FZ_TYPE_BOOLEAN:
        fz_buf_puts(out, ((const uint8_t *)c->data)[row] ? "true" : "false");
        break;
    case FZ_TYPE_INT:
    case FZ_TYPE_DATE:
        fz_buf_printf(out, "%d", ((const int32_t *)c->data)[row]);
        break;
    case FZ_TYPE_LONG:
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        fz_buf_printf(out, "%lld",
                      (long long)(((const int64_t *)c->data)[row] / (is_millis(node->element) ? 1000 : 1)));
        break;
    case FZ_TYPE_FLOAT:
        put_number(out, (double)((const float *)c->data)[row], "%.9g");
        break;
    case FZ_TYPE_DOUBLE:
        put_number(out, ((const double *)c->data)[row], "%.17g");
        break;
    case FZ_TYPE_DECIMAL: {
        size_t w = fz_type_width(t);
        put_i128(out, w == 2   ? ((const int16_t *)c->data)[row]
                      : w == 4 ? ((const int32_t *)c->data)[row]
                      : w == 8 ? ((const int64_t *)c->data)[row]
                               : fz_i128_get(((const struct fz_i128 *)c->data)[row]));
        break;
    }
    case FZ_TYPE_UUID: {
        struct fz_i128 v = ((const struct fz_i128 *)c->data)[row];
        uint64_t high = (uint64_t)v.upper ^ UINT64_C(0x8000000000000000);
        fz_buf_printf(out, "\"%016" PRIx64 "%016" PRIx64 "\"", high, v.lower);
        break;
    }
    default: {
        const struct fz_string *s = (const struct fz_string *)c->data + row;
        bool is_enum = node->element->logical == FZ_PQ_LOGICAL_ENUM ||
                       (node->element->logical == FZ_PQ_LOGICAL_NONE && node->element->converted == FZ_PQ_CONV_ENUM);
        if (t->id == FZ_TYPE_STRING && !is_enum) { // the recording shows enums as bytes, as PyArrow does
            put_json(out, fz_string_ptr(s), s->length);
        } else {
            put_hex(out, (const uint8_t *)fz_string_ptr(s), s->length);
        }
    }
    }
}

static void put_cell(struct fz_buf *out, const struct fz_pqr_node *node, const struct fz_column *c, size_t row) {
    if (!fz_column_is_valid(c, row)) {
        fz_buf_puts(out, "null");
        return;
    }
    const struct fz_list_span *span = (const struct fz_list_span *)c->data + row;
    switch (node->kind) {
    case FZ_PQR_LEAF:
        put_leaf(out, node, c, row);
        break;
    case FZ_PQR_STRUCT:
        fz_buf_putc(out, '{');
        for (size_t i = 0; i < node->n_children; i++) {
            fz_buf_puts(out, i > 0 ? "," : "");
            put_json(out, node->children[i].name, strlen(node->children[i].name));
            fz_buf_putc(out, ':');
            put_cell(out, &node->children[i], &c->children[i], row);
        }
        fz_buf_putc(out, '}');
        break;
    case FZ_PQR_LIST:
        fz_buf_putc(out, '[');
        for (size_t i = 0; i < span->length; i++) {
            fz_buf_puts(out, i > 0 ? "," : "");
            put_cell(out, &node->children[0], &c->children[0], span->offset + i);
        }
        fz_buf_putc(out, ']');
        break;
    case FZ_PQR_MAP:
        fz_buf_putc(out, '[');
        for (size_t i = 0; i < span->length; i++) {
            fz_buf_puts(out, i > 0 ? ",[" : "[");
            put_cell(out, &node->children[0], &c->children[0].children[0], span->offset + i);
            fz_buf_putc(out, ',');
            put_cell(out, &node->children[1], &c->children[0].children[1], span->offset + i);
            fz_buf_putc(out, ']');
        }
        fz_buf_putc(out, ']');
        break;
    }
}

// Leaf values in file order. `n`: slots of this column.
static void digest_leaves(struct digest *leaves, const struct fz_pqr_node *node, const struct fz_column *c, size_t n) {
    struct fz_buf text = {0};
    switch (node->kind) {
    case FZ_PQR_LEAF: {
        const struct fz_pq_schema_element *e = node->element;
        leaves[node->leaf].inexact = e->logical == FZ_PQ_LOGICAL_TIME && e->unit == FZ_PQ_NANOS;
        for (size_t i = 0; i < n; i++) {
            if (fz_column_is_valid(c, i)) {
                fz_buf_clear(&text);
                put_leaf(&text, node, c, i);
                digest_add(&leaves[node->leaf], &text);
            }
        }
        break;
    }
    case FZ_PQR_STRUCT:
        for (size_t i = 0; i < node->n_children; i++) {
            digest_leaves(leaves, &node->children[i], &c->children[i], n);
        }
        break;
    case FZ_PQR_LIST:
    case FZ_PQR_MAP: {
        size_t elements = 0;
        for (size_t i = 0; i < n; i++) {
            elements += ((const struct fz_list_span *)c->data)[i].length;
        }
        if (node->kind == FZ_PQR_LIST) {
            digest_leaves(leaves, &node->children[0], &c->children[0], elements);
        } else {
            digest_leaves(leaves, &node->children[0], &c->children[0].children[0], elements);
            digest_leaves(leaves, &node->children[1], &c->children[0].children[1], elements);
        }
        break;
    }
    }
    fz_buf_dispose(&text);
}

struct result {
    int64_t rows;
    size_t n_leaves, n_columns;
    struct digest *leaves, *columns;
    int64_t *nulls;
    struct fz_buf first[5];
};

// Reads the whole file by its own schema; `r` may be NULL.
static enum fz_code read_file(const char *path, struct fz_parquet_file **out, struct result *r, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_store *store = NULL;
    struct fz_parquet_file *file = NULL;
    struct fz_parquet_reader *reader = NULL;
    struct fz_batch batch = {0};
    FZ_TRY(fz_store_local_new(&store, err));
    FZ_TRY(fz_parquet_file_open(store, path, -1, NULL, &file, err));
    const struct fz_type *schema = fz_parquet_file_schema(file);
    const struct fz_pqr_node *root = &file->root;
    if (r != NULL) {
        r->leaves = calloc(file->n_leaves + 1, sizeof *r->leaves);
        r->columns = calloc(schema->n_fields + 1, sizeof *r->columns);
        r->nulls = calloc(schema->n_fields + 1, sizeof *r->nulls);
        r->n_leaves = file->n_leaves;
        r->n_columns = schema->n_fields;
        for (size_t i = 0; i < file->n_leaves; i++) {
            digest_init(&r->leaves[i]);
        }
        for (size_t i = 0; i < schema->n_fields; i++) {
            digest_init(&r->columns[i]);
        }
    }
    for (size_t g = 0; g < file->meta.n_row_groups; g++) {
        struct fz_parquet_read read = {.fields = schema->fields, .n_fields = schema->n_fields, .row_group = g};
        FZ_TRY(fz_batch_init(&batch, schema->fields, schema->n_fields, FZ_BATCH_ROWS, err));
        FZ_TRY(fz_parquet_reader_open(file, &read, NULL, &reader, err));
        for (int64_t seen = 0;;) {
            int64_t first = 0;
            FZ_TRY(fz_parquet_reader_next(reader, &batch, &first, err));
            if (batch.n_rows == 0) {
                break;
            }
            seen += (int64_t)batch.n_rows;
            if (r == NULL) {
                if (seen > (INT64_C(1) << 26)) { // enough of a hostile row count
                    break;
                }
                continue;
            }
            assert_int_equal(first, r->rows);
            for (size_t i = 0; i < schema->n_fields; i++) {
                digest_leaves(r->leaves, &root->children[i], &batch.columns[i], batch.n_rows);
                struct fz_buf text = {0};
                for (size_t row = 0; row < batch.n_rows; row++) {
                    fz_buf_clear(&text);
                    put_cell(&text, &root->children[i], &batch.columns[i], row);
                    digest_add(&r->columns[i], &text);
                    r->nulls[i] += !fz_column_is_valid(&batch.columns[i], row);
                    if (r->rows + (int64_t)row < 5) {
                        struct fz_buf *f = &r->first[r->rows + (int64_t)row];
                        fz_buf_puts(f, i > 0 ? "," : "[");
                        fz_buf_append(f, text.ptr, text.len);
                    }
                }
                fz_buf_dispose(&text);
            }
            r->rows += (int64_t)batch.n_rows;
        }
        fz_parquet_reader_close(reader);
        reader = NULL;
        fz_batch_dispose(&batch);
    }
out:
    fz_parquet_reader_close(reader);
    fz_batch_dispose(&batch);
    fz_store_unref(store);
    if (rc == FZ_OK && out != NULL) {
        *out = file;
    } else {
        fz_parquet_file_unref(file);
    }
    return rc;
}

static bool in_doubt(const json_t *line, const char *column) {
    const json_t *doubt = json_object_get(line, "doubt"), *item;
    size_t i;
    json_array_foreach(doubt, i, item) {
        if (strcmp(json_string_value(item), column) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_inexact(const struct fz_pqr_node *node) {
    if (node->kind == FZ_PQR_LEAF) {
        return node->element->logical == FZ_PQ_LOGICAL_TIME && node->element->unit == FZ_PQ_NANOS;
    }
    for (size_t i = 0; i < node->n_children; i++) {
        if (has_inexact(&node->children[i])) {
            return true;
        }
    }
    return false;
}

static const char *type_name(int type) {
    static const char *const names[] = {"BOOLEAN", "INT32",  "INT64",      "INT96",
                                        "FLOAT",   "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"};
    return type >= 0 && type < 8 ? names[type] : "?";
}

static int compare_schema(const char *name, const json_t *line, const struct fz_parquet_file *file, struct result *r) {
    const json_t *schema = json_object_get(line, "schema"), *leaf;
    int wrong = 0;
    size_t i;
    if (json_array_size(schema) != file->n_leaves) {
        print_error("%s: %zu leaves, expected %zu\n", name, file->n_leaves, json_array_size(schema));
        return 1;
    }
    json_array_foreach(schema, i, leaf) {
        const struct fz_pqr_node *n = file->leaves[i];
        const char *path = json_string_value(json_object_get(leaf, "path"));
        char hex[17];
        digest_hex(&r->leaves[i], hex);
        if (strcmp(json_string_value(json_object_get(leaf, "type")), type_name(n->element->type)) != 0 ||
            json_integer_value(json_object_get(leaf, "max_def")) != n->max_def ||
            json_integer_value(json_object_get(leaf, "max_rep")) != n->max_rep) {
            print_error("%s: leaf %s: type or levels differ (%s %d %d)\n", name, path, type_name(n->element->type),
                        n->max_def, n->max_rep);
            wrong++;
        }
        const json_t *values = json_object_get(leaf, "values");
        const char *top = path, *dot = strchr(path, '.');
        char first[256];
        snprintf(first, sizeof first, "%.*s", dot != NULL ? (int)(dot - top) : (int)strlen(top), top);
        if (values == NULL || in_doubt(line, first) || r->leaves[i].inexact) {
            continue;
        }
        if (json_integer_value(values) != r->leaves[i].values ||
            strcmp(json_string_value(json_object_get(leaf, "hash")), hex) != 0) {
            print_error("%s: leaf %s: %lld values %s, expected %lld %s\n", name, path, (long long)r->leaves[i].values,
                        hex, (long long)json_integer_value(values), json_string_value(json_object_get(leaf, "hash")));
            wrong++;
        }
    }
    return wrong;
}

static int compare_columns(const char *name, const json_t *line, const struct fz_parquet_file *file, struct result *r) {
    const json_t *columns = json_object_get(line, "columns"), *column;
    const struct fz_type *schema = fz_parquet_file_schema(file);
    int wrong = 0;
    size_t i;
    int64_t rows = json_integer_value(json_object_get(line, "num_rows"));
    if (rows != r->rows &&
        rows != file->meta.num_rows) { // one file says 0 and has a row group with one row; its hashes count that row
        print_error("%s: %lld rows, expected %lld\n", name, (long long)r->rows,
                    (long long)json_integer_value(json_object_get(line, "num_rows")));
        wrong++;
    }
    if (json_array_size(columns) != schema->n_fields) {
        print_error("%s: %zu columns, expected %zu\n", name, schema->n_fields, json_array_size(columns));
        return wrong + 1;
    }
    json_array_foreach(columns, i, column) {
        const char *want = json_string_value(json_object_get(column, "name"));
        char hex[17];
        digest_hex(&r->columns[i], hex);
        if (strcmp(want, schema->fields[i].name) != 0) {
            print_error("%s: column %zu is %s, expected %s\n", name, i, schema->fields[i].name, want);
            wrong++;
        }
        if (in_doubt(line, want) || has_inexact(&file->root.children[i])) {
            continue;
        }
        if (strcmp(json_string_value(json_object_get(column, "hash")), hex) != 0 ||
            json_integer_value(json_object_get(column, "nulls")) != r->nulls[i]) {
            print_error("%s: column %s: %lld nulls %s, expected %lld %s\n", name, want, (long long)r->nulls[i], hex,
                        (long long)json_integer_value(json_object_get(column, "nulls")),
                        json_string_value(json_object_get(column, "hash")));
            wrong++;
        }
    }
    return wrong;
}

static void show_rows(const json_t *line, struct result *r) {
    const json_t *rows = json_object_get(line, "first_rows"), *row;
    size_t i;
    json_array_foreach(rows, i, row) {
        if (i < 2 && i < (size_t)r->rows) {
            print_error("    ours     %.600s]\n    expected %.600s\n", r->first[i].ptr != NULL ? r->first[i].ptr : "",
                        json_string_value(row) ? json_string_value(row) : "null");
        }
    }
}

static int check_good(const char *folder, const json_t *line) {
    const char *name = json_string_value(json_object_get(line, "file")),
               *crc = json_string_value(json_object_get(line, "crc"));
    char path[2048];
    snprintf(path, sizeof path, "%s/parquet/%s/%s", corpus, folder, name);
    struct result r = {0};
    struct fz_parquet_file *file = NULL;
    struct fz_err err = FZ_ERR_INIT;
    int wrong = 0;
    enum fz_code rc = read_file(path, &file, &r, &err);
    if (crc != NULL && strcmp(crc, "bad") == 0) {
        if (rc != FZ_CORRUPT || strstr(err.message, "checksum") == NULL) {
            print_error("%s: a bad checksum went unnoticed\n", name);
            wrong++;
        }
    } else if (rc != FZ_OK) {
        print_error("%s: %s %s\n", name, fz_code_name(rc), err.message);
        wrong++;
    }
    if (rc == FZ_OK) {
        wrong += compare_schema(name, line, file, &r);
        wrong += compare_columns(name, line, file, &r);
        if (wrong > 0) {
            show_rows(line, &r);
        }
    }
    fz_parquet_file_unref(file);
    for (size_t i = 0; i < 5; i++) {
        fz_buf_dispose(&r.first[i]);
    }
    for (size_t i = 0; i < r.n_leaves; i++) {
        XXH64_freeState(r.leaves[i].state);
    }
    for (size_t i = 0; i < r.n_columns; i++) {
        XXH64_freeState(r.columns[i].state);
    }
    free(r.leaves);
    free(r.columns);
    free(r.nulls);
    return wrong;
}

typedef int (*line_fn)(const char *folder, const json_t *line);

static void each_line(const char *list, const char *folder, line_fn fn, int *n_files, int *n_wrong) {
    char path[1200];
    snprintf(path, sizeof path, "%s/%s", corpus, list);
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    char *text = NULL;
    size_t cap = 0;
    const char *only = getenv("FRAZIL_CORPUS_ONLY");
    while (getline(&text, &cap, in) > 0) {
        json_error_t je;
        json_t *line = json_loads(text, 0, &je);
        assert_non_null(line);
        if (only == NULL || strstr(json_string_value(json_object_get(line, "file")), only) != NULL) {
            (*n_files)++;
            *n_wrong += fn(folder, line) > 0;
        }
        json_decref(line);
    }
    free(text);
    fclose(in);
}

static void good_files_read_as_recorded(void **state) {
    (void)state;
    if (!find_corpus("parquet/expect.jsonl")) {
        print_message("skipped: no corpus at %s\n", corpus);
        skip();
    }
    int files = 0, wrong = 0;
    each_line("parquet/expect.jsonl", "good", check_good, &files, &wrong);
    print_message("%d good files, %d wrong\n", files, wrong);
    assert_int_equal(wrong, 0);
}

// A file that one reader refuses: an error, or what the other one sees.
static int check_odd(const char *folder, const json_t *line) {
    (void)folder;
    const char *name = json_string_value(json_object_get(line, "file"));
    char path[2048];
    snprintf(path, sizeof path, "%s/parquet/odd/%s", corpus, name);
    struct fz_err err = FZ_ERR_INIT;
    if (read_file(path, NULL, NULL, &err) != FZ_OK) {
        print_message("odd: %s: %s\n", name, err.message);
        return 0;
    }
    return json_object_get(line, "columns") != NULL ? check_good("odd", line) : 0;
}

static void odd_files_give_an_error_or_rows(void **state) {
    (void)state;
    if (!find_corpus("parquet/odd.jsonl")) {
        skip();
    }
    int files = 0, wrong = 0;
    each_line("parquet/odd.jsonl", "odd", check_odd, &files, &wrong);
    print_message("%d odd files, %d wrong\n", files, wrong);
    assert_int_equal(wrong, 0);
}

static int check_bad(const char *folder, const json_t *line) {
    (void)folder;
    const char *name = json_string_value(json_object_get(line, "file"));
    if (strncmp(name, "parquet/", 8) != 0) {
        return 0;
    }
    char path[2048];
    snprintf(path, sizeof path, "%s/bad/%s", corpus, name);
    struct fz_err err = FZ_ERR_INIT;
    int64_t start = fz_monotonic_us();
    enum fz_code rc = read_file(path, NULL, NULL, &err);
    int64_t ms = (fz_monotonic_us() - start) / 1000;
    bool must_fail = strcmp(json_string_value(json_object_get(line, "expect")), "error") == 0;
    if (getenv("FRAZIL_CORPUS_SHOW") != NULL) {
        print_message("%s: %s %s\n", name, fz_code_name(rc), err.message);
    }
    if (must_fail && rc == FZ_OK) {
        print_error("%s: read, though two readers refuse it\n", name);
        return 1;
    }
    if (ms > 10000 || (rc != FZ_OK && err.message[0] == 0)) {
        print_error("%s: %lld ms, %s\n", name, (long long)ms, err.message);
        return 1;
    }
    return 0;
}

static void damaged_files_are_refused(void **state) {
    (void)state;
    if (!find_corpus("bad/expect.jsonl")) {
        skip();
    }
    int files = 0, wrong = 0;
    each_line("bad/expect.jsonl", "", check_bad, &files, &wrong);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    print_message("%d bad files, %d wrong, %ld MB at most\n", files, wrong, usage.ru_maxrss / 1024);
    assert_int_equal(wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FZ_TEST(good_files_read_as_recorded),
        FZ_TEST(odd_files_give_an_error_or_rows),
        FZ_TEST(damaged_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
