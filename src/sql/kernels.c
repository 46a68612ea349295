// The table of kernels for fz_duck_register_kernels, made once from the rows of the kernels_*.c files, and how kernels write results.
#include "sql/kernels_priv.h"
#include "sql/bound.h"

enum { MAX_KERNELS = 200 };
static struct fz_scalar_kernel table[MAX_KERNELS];
static size_t n_table;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct fz_field string_element;
static struct fz_type decimal38 = {.id = FZ_TYPE_DECIMAL, .precision = 38, .scale = 0},
                      string_list = {.id = FZ_TYPE_LIST, .n_fields = 1, .fields = &string_element};
static struct fz_type interval_cal = {.id = FZ_TYPE_INTERVAL_CAL};
static struct fz_field timestamp_element;
static struct fz_type timestamp_list = {.id = FZ_TYPE_LIST, .n_fields = 1, .fields = &timestamp_element};

static const struct fz_type *letter(char c) {
    static const struct {
        char letter;
        enum fz_type_id id;
    } types[] = {{'b', FZ_TYPE_BOOLEAN}, {'y', FZ_TYPE_BYTE},  {'i', FZ_TYPE_INT},         {'l', FZ_TYPE_LONG},
                 {'d', FZ_TYPE_DOUBLE},  {'f', FZ_TYPE_FLOAT}, {'s', FZ_TYPE_STRING},      {'x', FZ_TYPE_BINARY},
                 {'v', FZ_TYPE_VARIANT}, {'D', FZ_TYPE_DATE},  {'T', FZ_TYPE_TIMESTAMPTZ}, {'N', FZ_TYPE_TIMESTAMP}};
    if (c == 'h') {
        return &decimal38;
    }
    if (c == 'c') {
        return &interval_cal;
    }
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (types[i].letter == c) {
            return fz_type_primitive(types[i].id);
        }
    }
    return NULL; // any
}

static void add_rows(const struct fz_kernel_row *rows, size_t n) {
    for (size_t i = 0; i < n && n_table < MAX_KERNELS; i++) {
        struct fz_scalar_kernel *k = &table[n_table++];
        *k = (struct fz_scalar_kernel){
            .name = rows[i].name, .null_in_null_out = rows[i].null_in_null_out, .run = rows[i].run};
        k->result = strcmp(rows[i].result, "[s") == 0   ? &string_list
                    : strcmp(rows[i].result, "[N") == 0 ? &timestamp_list
                                                        : letter(*rows[i].result);
        if (strchr(rows[i].args, '*') != NULL) {
            k->n_args = SIZE_MAX;
            k->args[0] = letter(rows[i].args[0]);
            continue;
        }
        k->n_args = strlen(rows[i].args);
        for (size_t a = 0; a < k->n_args && a < 6; a++) {
            k->args[a] = letter(rows[i].args[a]);
        }
    }
}

static void make_table(void) {
    string_element = (struct fz_field){.name = "element", .type = fz_type_primitive(FZ_TYPE_STRING)};
    timestamp_element = (struct fz_field){.name = "element", .type = fz_type_primitive(FZ_TYPE_TIMESTAMP)};
    add_rows(fz_kernels_cast, fz_n_kernels_cast);
    add_rows(fz_kernels_number, fz_n_kernels_number);
    add_rows(fz_kernels_hash, fz_n_kernels_hash);
    add_rows(fz_kernels_text, fz_n_kernels_text);
    add_rows(fz_kernels_format, fz_n_kernels_format);
    add_rows(fz_kernels_json, fz_n_kernels_json);
    add_rows(fz_kernels_variant, fz_n_kernels_variant);
    add_rows(fz_kernels_variant_get, fz_n_kernels_variant_get);
    add_rows(fz_kernels_variant_schema, fz_n_kernels_variant_schema);
    add_rows(fz_kernels_regex, fz_n_kernels_regex);
    add_rows(fz_kernels_time, fz_n_kernels_time);
}

const struct fz_scalar_kernel *fz_sql_kernels(size_t *n) {
    pthread_once(&once, make_table);
    *n = n_table;
    return table;
}

enum fz_code fz_col_put_str(struct fz_column *out, size_t row, const char *ptr, size_t len, struct fz_arena *strings,
                            struct fz_err *err) {
    const char *kept = ptr;
    if (len > 12) {
        kept = fz_arena_memdup(strings, ptr, len);
        if (kept == NULL) {
            return fz_fail_nomem(err, len);
        }
    }
    ((struct fz_string *)out->data)[row] = fz_string_of(kept, len);
    return FZ_OK;
}

enum fz_code fz_col_take_buf(struct fz_column *out, size_t row, struct fz_buf *buf, struct fz_arena *strings,
                             struct fz_err *err) {
    enum fz_code rc = fz_buf_check(buf, err);
    if (rc == FZ_OK) {
        rc = fz_col_put_str(out, row, buf->ptr ? buf->ptr : "", buf->len, strings, err);
    }
    fz_buf_clear(buf);
    return rc;
}

enum fz_code fz_col_append_list(struct fz_column *out, size_t row, const struct fz_str *items, size_t n,
                                struct fz_arena *strings, struct fz_err *err) {
    struct fz_list_span *spans = out->data;
    // rows are filled in order, so the child ends where the last list does
    size_t at = 0;
    for (size_t r = row; r > 0; r--) {
        if (fz_column_is_valid(out, r - 1)) {
            at = (size_t)(spans[r - 1].offset + spans[r - 1].length);
            break;
        }
    }
    enum fz_code rc = fz_column_reserve(&out->children[0], at + n, err);
    if (rc != FZ_OK) {
        return rc;
    }
    for (size_t i = 0; i < n && rc == FZ_OK; i++) {
        if (items[i].ptr == NULL) {
            fz_column_set_null(&out->children[0], at + i);
        } else {
            rc = fz_col_put_str(&out->children[0], at + i, items[i].ptr, items[i].len, strings, err);
        }
    }
    spans[row] = (struct fz_list_span){at, n};
    return rc;
}
