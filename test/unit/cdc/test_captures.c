// Recorded Debezium streams through source, decode and fold, applied to a map in memory, against the tables as they were at the end
// (final/*.csv, written by the databases). Types and encodings are those of tables.json, comparison rules those of the captures' README.
// Skipped where the captures are not installed (FRAZIL_CAPTURES, or ../shared/data/debezium beside the source tree).
#include "leak_check.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/text.h"
#include "cdc/decode/decode_debezium.h"
#include "cdc/fold/fold.h"
#include "cdc/source/source_file.h"

struct state_row {
    struct fz_value *values;
    struct fz_cdc_order order;
};
struct state_table {
    struct fz_map rows; // encoded key -> struct state_row *
};

static char folder[1024];

static bool find_folder(void) {
    const char *given = getenv("FRAZIL_CAPTURES");
    snprintf(folder, sizeof folder, "%s", given != NULL ? given : FZ_SOURCE_DIR "/../shared/data/debezium");
    return access(folder, R_OK) == 0;
}

// ---- the pipeline that tables.json describes

static void yaml_text(struct fz_buf *out, const char *text) {
    fz_json_quote(out, fz_str_of(text)); // a JSON string is a YAML double-quoted one
}

static const char *default_of(const char *capture, const json_t *column) {
    const json_t *absent = json_object_get(column, "absent");
    if (absent == NULL || strcmp(json_string_value(absent) ? json_string_value(absent) : "", "schema-default") != 0) {
        return NULL;
    }
    (void)capture; // the defaults of evolution_work.sql
    return strcmp(json_string_value(json_object_get(column, "name")), "weight") == 0 ? "7" : "{\"a\": 1}";
}

static void write_yaml(struct fz_buf *y, const char *capture, const json_t *spec) {
    const char *topic;
    json_t *table;
    bool flat = strcmp(json_string_value(json_object_get(spec, "format")), "debezium-flat") == 0;
    fz_buf_printf(y, "source: {file: {path: \"%s/%s/events.jsonl*\", records: kafka, format: %s}}\ntables:\n", folder,
                  capture, flat ? "debezium-flat" : "debezium-json");
    json_object_foreach(json_object_get((json_t *)(uintptr_t)spec, "tables"), topic, table) {
        if (json_is_null(json_object_get(table, "key")) || !json_is_null(json_object_get(table, "cannot_converge"))) {
            continue;
        }
        fz_buf_printf(y, "  \"%s\":\n    columns:\n", topic);
        size_t i;
        json_t *column;
        json_array_foreach(json_object_get(table, "columns"), i, column) {
            const char *absent = default_of(capture, column);
            fz_buf_printf(y, "      %s: {type: ", json_string_value(json_object_get(column, "name")));
            yaml_text(y, json_string_value(json_object_get(column, "iceberg")));
            fz_buf_puts(y, ", encoding: ");
            yaml_text(y, json_string_value(json_object_get(column, "debezium")));
            if (absent != NULL) {
                fz_buf_puts(y, ", default: ");
                yaml_text(y, absent);
            }
            fz_buf_puts(y, "}\n");
        }
    }
}

// ---- applying folded batches

static struct fz_arena keep;

static struct state_row *find_row(struct state_table *t, const struct fz_cdc_table *table,
                                  const struct fz_value *values, bool by_row) {
    struct fz_buf key = {0};
    struct fz_value parts[8];
    for (size_t i = 0; i < table->n_key; i++) {
        parts[i] = by_row ? values[table->key[i]] : values[i];
    }
    fz_fold_key(&key, table, parts);
    struct fz_map_entry *e = fz_map_find(&t->rows, (struct fz_str){key.ptr, key.len});
    fz_buf_dispose(&key);
    return e == NULL ? NULL : e->value.ptr;
}

static void put_row(struct state_table *t, const struct fz_cdc_table *table, struct state_row *row, bool remove) {
    struct fz_buf key = {0};
    struct fz_value parts[8];
    struct fz_map_entry *e;
    struct fz_err err = FZ_ERR_INIT;
    for (size_t i = 0; i < table->n_key; i++) {
        parts[i] = row->values[table->key[i]];
    }
    fz_fold_key(&key, table, parts);
    if (remove) {
        fz_map_remove(&t->rows, (struct fz_str){key.ptr, key.len});
    } else {
        FZ_OK_OR_FAIL(fz_map_put(&t->rows, (struct fz_str){key.ptr, key.len}, &e, NULL, &err), &err);
        e->value.ptr = row;
    }
    fz_buf_dispose(&key);
}

static void apply_truncate(struct state_table *t, const struct fz_fold *fold) {
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&t->rows, e)) != NULL;) {
        struct state_row *row = e->value.ptr;
        if (fold->truncate_order.n == 0 || row->order.n == 0 ||
            fz_cdc_order_compare(&row->order, &fold->truncate_order) <= 0) {
            struct fz_str key = e->key;
            fz_map_remove(&t->rows, key);
        }
    }
}

static void apply_fold(struct state_table *t, struct fz_fold *fold) {
    const struct fz_cdc_table *table = fold->table;
    size_t n = table->n_columns;
    // rows that moved are read before anything is changed, as apply/ does
    struct state_row **old = calloc(fold->n_rows + 1, sizeof(struct state_row *));
    for (size_t i = 0; i < fold->n_rows; i++) {
        old[i] = fold->rows[i]->origin != NULL ? find_row(t, table, fold->rows[i]->origin, false) : NULL;
    }
    if (fold->truncated) {
        apply_truncate(t, fold);
    }
    for (size_t i = 0; i < fold->n_rows; i++) {
        struct fz_fold_row *f = fold->rows[i];
        struct state_row *have = find_row(t, table, f->values, true);
        if (have != NULL && f->order.n > 0 && have->order.n > 0 && fz_cdc_order_compare(&f->order, &have->order) <= 0) {
            continue; // the guard
        }
        if (f->is_delete) {
            if (have != NULL) {
                put_row(t, table, have, true);
            }
            continue;
        }
        struct state_row *row = fz_arena_alloc(&keep, sizeof *row);
        row->values = fz_arena_array(&keep, 64, sizeof *row->values);
        row->order = f->order;
        for (size_t c = 0; c < n; c++) {
            const struct fz_value *from = NULL;
            if (c < f->n_columns && f->cells[c] == FZ_CELL_VALUE) {
                from = &f->values[c];
            } else {
                const struct state_row *source = f->origin != NULL ? old[i] : have;
                if (c < f->n_columns && f->cells[c] == FZ_CELL_UNAVAILABLE) {
                    assert_non_null(source);
                }
                from = source != NULL && source->values[c].type != NULL ? &source->values[c]
                                                                        : table->columns[c].default_value;
            }
            struct fz_value null = fz_value_null(table->columns[c].type);
            row->values[c] = *fz_value_copy(&keep, from == NULL ? &null : from);
        }
        put_row(t, table, row, false);
    }
    free(old);
}

// ---- values as text that compares

static void value_text(struct fz_buf *o, const struct fz_value *v) {
    if (v->is_null || v->type == NULL) {
        fz_buf_puts(o, "NULL");
        return;
    }
    switch (v->type->id) {
    case FZ_TYPE_BOOLEAN:
        fz_buf_puts(o, v->u.boolean ? "t" : "f");
        break;
    case FZ_TYPE_FLOAT: {
        uint32_t bits;
        memcpy(&bits, &v->u.f32, 4);
        fz_buf_printf(o, isnan(v->u.f32) ? "NaN" : "%x", bits);
        break;
    }
    case FZ_TYPE_DOUBLE: {
        uint64_t bits;
        memcpy(&bits, &v->u.f64, 8);
        fz_buf_printf(o, isnan(v->u.f64) ? "NaN" : "%llx", (unsigned long long)bits);
        break;
    }
    case FZ_TYPE_DECIMAL:
        fz_decimal_print(o, fz_i128_get(v->u.i128), v->type->scale);
        break;
    case FZ_TYPE_UUID:
        fz_value_print(o, v);
        break;
    case FZ_TYPE_STRING:
        fz_buf_append(o, v->u.bytes.ptr, v->u.bytes.len);
        break;
    case FZ_TYPE_BINARY:
        fz_hex_encode(o, v->u.bytes.ptr, v->u.bytes.len);
        break;
    case FZ_TYPE_LIST:
    case FZ_TYPE_STRUCT:
        for (size_t i = 0; i < v->u.nested.n; i++) {
            fz_buf_putc(o, i == 0 ? '[' : ',');
            value_text(o, &v->u.nested.items[i]);
        }
        fz_buf_puts(o, v->u.nested.n == 0 ? "[]" : "]");
        break;
    default:
        fz_buf_printf(o, "%lld", (long long)v->u.i64);
        break;
    }
}

// Days since 1970 of a proleptic Gregorian date, by counting (Howard Hinnant's published formula).
static long long days_of(long long y, int m, int d) {
    y -= m <= 2;
    long long era = (y >= 0 ? y : y - 399) / 400;
    long long yoe = y - era * 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}
static long long micros_of(const char *t, char **end) {
    bool negative = *t == '-';
    long h = strtol(t + negative, end, 10), m = strtol(*end + 1, end, 10), s = strtol(*end + 1, end, 10), f = 0;
    if (**end == '.') {
        const char *from = ++*end;
        f = strtol(from, end, 10);
        for (long n = *end - from; n < 6; n++) {
            f *= 10;
        }
    }
    long long micros = ((h * 60 + m) * 60 + s) * 1000000LL + f;
    return negative ? -micros : micros;
}
// "0044-03-15 12:00:00+00 BC"
static void moment_text(struct fz_buf *o, const char *t, bool date_only) {
    char *end;
    long long y = strtol(t, &end, 10);
    int m = (int)strtol(end + 1, &end, 10), d = (int)strtol(end + 1, &end, 10);
    if (strstr(t, " BC") != NULL) {
        y = 1 - y;
    }
    long long days = days_of(y, m, d);
    fz_buf_printf(o, "%lld", date_only ? days : days * 86400000000LL + micros_of(end + 1, &end));
}

static void trim_number(struct fz_buf *o, const char *t) { // zeros at the end do not count
    size_t n = strlen(t);
    if (strchr(t, '.') != NULL) {
        while (t[n - 1] == '0') {
            n--;
        }
        n -= t[n - 1] == '.';
    }
    fz_buf_append(o, t, n);
}

static void truth(struct fz_buf *o, const char *sql, const struct fz_type *type, const char *text, bool mariadb);

static void truth_array(struct fz_buf *o, const char *sql, const struct fz_type *type, const char *text, bool mariadb) {
    char inner[64];
    snprintf(inner, sizeof inner, "%.*s", (int)(strlen(sql) - 2), sql);
    const char *p = text + 1;
    bool first = true;
    while (*p != '}' && *p != 0) {
        char cell[4096];
        size_t n = 0;
        bool quoted = *p == '"';
        if (quoted) {
            for (p++; *p != '"'; p++) {
                p += *p == '\\';
                cell[n++] = *p;
            }
            p++;
        } else {
            while (*p != ',' && *p != '}') {
                cell[n++] = *p++;
            }
        }
        cell[n] = 0;
        fz_buf_putc(o, first ? '[' : ',');
        first = false;
        truth(o, inner, type->fields[0].type, !quoted && strcmp(cell, "NULL") == 0 ? NULL : cell, mariadb);
        p += *p == ',';
    }
    fz_buf_puts(o, first ? "[]" : "]");
}

static void truth_bits(struct fz_buf *o, const char *text, bool mariadb) {
    unsigned long long v = mariadb ? strtoull(text, NULL, 10) : strtoull(text, NULL, 2);
    for (; v != 0; v >>= 8) {
        fz_buf_printf(o, "%02llx", v & 255);
    }
}

static void truth_interval(struct fz_buf *o,
                           const char *text) { // PostgreSQL's, as microseconds of months of 30.4375 days
    long long months = 0, days = 0, micros = 0;
    for (const char *p = text; *p != 0;) {
        char *end;
        if (strchr(p, ' ') == NULL && strchr(p, ':') != NULL) {
            micros = micros_of(p, &end);
            break;
        }
        long long n = strtoll(p, &end, 10);
        if (strncmp(end, " year", 5) == 0) {
            months += 12 * n;
        } else if (strncmp(end, " mon", 4) == 0) {
            months += n;
        } else {
            days += n;
        }
        p = strchr(end + 1, ' ');
        if (p == NULL) {
            break;
        }
        p++;
    }
    fz_buf_printf(o, "%lld", (long long)((__int128)months * 2629800000000 + days * 86400000000LL + micros));
}

static void truth(struct fz_buf *o, const char *sql, const struct fz_type *type, const char *text, bool mariadb) {
    char *end;
    size_t n = strlen(sql);
    if (text == NULL) {
        fz_buf_puts(o, "NULL");
    } else if (n > 2 && strcmp(sql + n - 2, "[]") == 0) {
        truth_array(o, sql, type, text, mariadb);
    } else if (strncmp(sql, "bit", 3) == 0 && type->id == FZ_TYPE_BINARY) {
        truth_bits(o, text, mariadb);
    } else if (type->id == FZ_TYPE_BOOLEAN) {
        fz_buf_puts(o, *text == 't' || *text == '1' ? "t" : "f");
    } else if (type->id == FZ_TYPE_FLOAT || type->id == FZ_TYPE_DOUBLE) {
        char plain[400];
        size_t len = 0;
        for (const char *p = text; *p != 0 && len < sizeof plain - 1; p++) {
            if (*p != '$' && *p != ',') {
                plain[len++] = *p;
            }
        }
        plain[len] = 0;
        struct fz_value v = {.type = type};
        if (type->id == FZ_TYPE_FLOAT) {
            v.u.f32 = strtof(plain, NULL);
        } else {
            v.u.f64 = strtod(plain, NULL);
        }
        value_text(o, &v);
    } else if (strcmp(sql, "money") == 0) {
        for (const char *p = text; *p != 0; p++) {
            if (*p != '$' && *p != ',') {
                fz_buf_putc(o, *p);
            }
        }
    } else if (strcmp(sql, "interval") == 0) {
        truth_interval(o, text);
    } else if (strcmp(sql, "timetz") == 0) {
        long long micros = micros_of(text, &end);
        long h = strtol(end, &end, 10), m = *end == ':' ? strtol(end + 1, NULL, 10) : 0;
        micros -= (h * 60 + (h < 0 || strchr(text, '-') != NULL ? -m : m)) * 60000000LL;
        fz_buf_printf(o, "%lld", (micros + 86400000000LL) % 86400000000LL);
    } else if (strncmp(sql, "time", 4) == 0 && strncmp(sql, "timestamp", 9) != 0) {
        fz_buf_printf(o, "%lld", micros_of(text, &end));
    } else if (type->id == FZ_TYPE_DATE || type->id == FZ_TYPE_TIMESTAMP || type->id == FZ_TYPE_TIMESTAMPTZ) {
        moment_text(o, text, type->id == FZ_TYPE_DATE);
    } else if (type->id == FZ_TYPE_BINARY) {
        fz_buf_puts(o, strncmp(text, "\\x", 2) == 0 ? text + 2 : text);
        for (char *p = o->ptr; p != NULL && *p != 0; p++) {
            *p = (char)(*p >= 'A' && *p <= 'F' ? *p + 32 : *p);
        }
    } else if (strcmp(sql, "point") == 0) {
        struct fz_value parts[2] = {{.type = type->fields[0].type}, {.type = type->fields[0].type}};
        parts[0].u.f64 = strtod(text + 1, &end);
        parts[1].u.f64 = strtod(end + 1, NULL);
        struct fz_value v = {.type = type};
        v.u.nested.items = parts;
        v.u.nested.n = 2;
        value_text(o, &v);
    } else {
        fz_buf_puts(o, text);
    }
}

// Kinds whose text may differ in form for equal values (pairs in any order, ISO against PostgreSQL's interval): checked elsewhere.
static bool is_free_form(const char *sql, const char *encoding) {
    return strcmp(sql, "hstore") == 0 || strcmp(encoding, "iso-period") == 0;
}

static bool is_number_text(const char *sql, const struct fz_type *type) {
    return type->id == FZ_TYPE_STRING && (strncmp(sql, "numeric", 7) == 0 || strncmp(sql, "decimal", 7) == 0);
}

// ---- final/*.csv

struct csv {
    char *text;
    char **cells; // NULL = SQL NULL
    size_t n_cells, n_columns;
};
static struct csv read_csv(const char *capture, const char *table) {
    char path[1200];
    struct csv csv = {0};
    snprintf(path, sizeof path, "%s/%s/final/%s.csv", folder, capture, table);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    fseek(f, 0, SEEK_END);
    size_t size = (size_t)ftell(f);
    rewind(f);
    csv.text = calloc(1, size + 2);
    assert_int_equal(fread(csv.text, 1, size, f), size);
    fclose(f);
    char *p = csv.text;
    for (csv.n_columns = 1; *p != '\n'; p++) {
        csv.n_columns += *p == ',';
    }
    p++;
    csv.cells = calloc(size + 1, sizeof(char *));
    while (*p != 0) {
        char *cell = NULL;
        if (*p == '"') {
            char *o = cell = ++p;
            while (*p != '"' || p[1] == '"') {
                p += *p == '"';
                *o++ = *p++;
            }
            char *close = p++;
            csv.cells[csv.n_cells++] = cell;
            char separator = *p;
            *o = 0;
            (void)close;
            p += separator != 0;
            continue;
        }
        csv.cells[csv.n_cells++] = NULL;
        p++;
    }
    return csv;
}

// "all" or "COLUMN in 1,5..9"
static bool is_exempt(const json_t *table, const char *column, const char *const *row, const char *const *names,
                      size_t n) {
    size_t i;
    json_t *entry;
    json_array_foreach(json_object_get(table, "exempt"), i, entry) {
        const char *rows = json_string_value(json_object_get(entry, "rows"));
        if (strcmp(json_string_value(json_object_get(entry, "column")), column) != 0) {
            continue;
        }
        if (strcmp(rows, "all") == 0) {
            return true;
        }
        const char *list = strstr(rows, " in ");
        for (size_t c = 0; c < n; c++) {
            if (strncmp(rows, names[c], (size_t)(list - rows)) != 0 || names[c][list - rows] != 0) {
                continue;
            }
            char copy[2000], *save = NULL;
            snprintf(copy, sizeof copy, "%s", list + 4);
            for (char *part = strtok_r(copy, ",", &save); part != NULL; part = strtok_r(NULL, ",", &save)) {
                char *dots = strstr(part, "..");
                if (strcmp(part, row[c]) == 0 ||
                    (dots != NULL && strtoll(part, NULL, 10) <= strtoll(row[c], NULL, 10) &&
                     strtoll(row[c], NULL, 10) <= strtoll(dots + 2, NULL, 10))) {
                    return true;
                }
            }
        }
    }
    return false;
}

static size_t cells_compared;

static void compare_table(const char *capture, const json_t *spec, const json_t *declared, struct fz_cdc_table *table,
                          struct state_table *state) {
    const char *name = json_string_value(json_object_get(declared, "table"));
    bool mariadb = strcmp(json_string_value(json_object_get(spec, "database")), "mariadb") == 0;
    struct csv csv = read_csv(capture, name);
    json_t *columns = json_object_get(declared, "columns");
    size_t n = json_array_size(columns), n_rows = csv.n_cells / n, wrong = 0;
    const char *names[64];
    size_t index[64];
    assert_int_equal(n, csv.n_columns);
    for (size_t c = 0; c < n; c++) {
        names[c] = json_string_value(json_object_get(json_array_get(columns, c), "name"));
        struct fz_map_entry *e = fz_map_find(&table->by_name, fz_str_of(names[c]));
        index[c] = e == NULL ? SIZE_MAX : (size_t)e->value.i64;
    }
    struct fz_map want = {0}; // key as text -> row of the csv
    struct fz_err err = FZ_ERR_INIT;
    struct fz_buf key = {0}, have_text = {0}, want_text = {0};
    for (size_t r = 0; r < n_rows; r++) {
        fz_buf_clear(&key);
        for (size_t c = 0; c < n; c++) {
            for (size_t k = 0; k < table->n_key; k++) {
                if (table->key[k] == index[c]) {
                    truth(&key, json_string_value(json_object_get(json_array_get(columns, c), "sql")),
                          table->columns[index[c]].type, csv.cells[r * n + c], mariadb);
                    fz_buf_putc(&key, 1);
                }
            }
        }
        struct fz_map_entry *e;
        FZ_OK_OR_FAIL(fz_map_put(&want, (struct fz_str){key.ptr, key.len}, &e, NULL, &err), &err);
        e->value.i64 = (int64_t)r;
    }
    if (state->rows.n_live != n_rows) {
        print_error("%s.%s: %zu rows instead of %zu\n", capture, name, state->rows.n_live, n_rows);
        wrong++;
    }
    for (struct fz_map_entry *s = NULL; (s = fz_map_next(&state->rows, s)) != NULL;) {
        const struct state_row *row = s->value.ptr;
        fz_buf_clear(&key);
        for (size_t c = 0; c < n; c++) {
            for (size_t k = 0; k < table->n_key; k++) {
                if (table->key[k] == index[c]) {
                    value_text(&key, &row->values[index[c]]);
                    fz_buf_putc(&key, 1);
                }
            }
        }
        struct fz_map_entry *e = fz_map_find(&want, (struct fz_str){key.ptr, key.len});
        if (e == NULL) {
            print_error("%s.%s: row %s is not in the table\n", capture, name, key.ptr);
            wrong++;
            continue;
        }
        const char *const *cells = (const char *const *)csv.cells + (size_t)e->value.i64 * n;
        for (size_t c = 0; c < n; c++) {
            const char *sql = json_string_value(json_object_get(json_array_get(columns, c), "sql"));
            const char *encoding = json_string_value(json_object_get(json_array_get(columns, c), "debezium"));
            if (is_exempt(declared, names[c], cells, names, n)) {
                continue;
            }
            struct fz_value null = {.is_null = true};
            const struct fz_value *v = index[c] == SIZE_MAX ? &null : &row->values[index[c]];
            if (v->type == NULL && index[c] != SIZE_MAX && table->columns[index[c]].default_value != NULL) {
                v = table->columns[index[c]].default_value; // written before the column was first seen
            }
            const struct fz_type *type =
                index[c] == SIZE_MAX ? fz_type_primitive(FZ_TYPE_STRING) : table->columns[index[c]].type;
            fz_buf_clear(&have_text);
            fz_buf_clear(&want_text);
            if (is_free_form(sql, encoding)) {
                assert_int_equal(v->is_null, cells[c] == NULL);
                continue;
            }
            if (is_number_text(sql, type) && cells[c] != NULL && !v->is_null) {
                char plain[2000];
                snprintf(plain, sizeof plain, "%.*s", (int)v->u.bytes.len, v->u.bytes.ptr);
                trim_number(&have_text, plain);
                trim_number(&want_text, cells[c]);
            } else {
                value_text(&have_text, v);
                truth(&want_text, sql, type, cells[c], mariadb);
            }
            if (strncmp(sql, "bit", 3) == 0 && type->id == FZ_TYPE_BINARY &&
                !v->is_null) { // leading zero bytes are the last ones here
                while (have_text.len >= 2 && strcmp(have_text.ptr + have_text.len - 2, "00") == 0) {
                    have_text.len -= 2;
                    have_text.ptr[have_text.len] = 0;
                }
            }
            cells_compared++;
            if (strcmp(have_text.ptr == NULL ? "" : have_text.ptr, want_text.ptr == NULL ? "" : want_text.ptr) != 0 &&
                wrong++ < 10) {
                print_error("%s.%s row %s column %s: %s instead of %s\n", capture, name, key.ptr, names[c],
                            have_text.ptr, want_text.ptr);
            }
        }
    }
    fz_buf_dispose(&key);
    fz_buf_dispose(&have_text);
    fz_buf_dispose(&want_text);
    fz_map_dispose(&want);
    free(csv.cells);
    free(csv.text);
    assert_int_equal(wrong, 0);
}

// ---- one capture

static int64_t foreign_values(const json_t *spec) {
    int64_t n = 0;
    const char *topic, *note;
    json_t *table, *column, *count;
    size_t i;
    json_object_foreach(json_object_get((json_t *)(uintptr_t)spec, "tables"), topic, table) {
        json_array_foreach(json_object_get(table, "columns"), i, column) {
            json_object_foreach(json_object_get(column, "foreign"), note, count) {
                n += json_integer_value(count);
            }
        }
    }
    return n;
}

static void run_capture(const char *capture, int64_t batch_records) {
    struct fz_err err = FZ_ERR_INIT;
    char path[1200];
    snprintf(path, sizeof path, "%s/%s/tables.json", folder, capture);
    json_t *spec = json_load_file(path, 0, NULL);
    assert_non_null(spec);
    struct fz_buf yaml = {0};
    write_yaml(&yaml, capture, spec);
    struct fz_pipeline *pipeline = NULL;
    FZ_OK_OR_FAIL(fz_pipeline_parse((struct fz_str){yaml.ptr, yaml.len}, "test.yaml", &pipeline, &err), &err);
    struct fz_arena arena = {0};
    struct fz_cdc_tables tables = {.arena = &arena};
    for (size_t i = 0; i < pipeline->n_tables; i++) {
        struct fz_cdc_table *table;
        FZ_OK_OR_FAIL(fz_cdc_tables_add(&tables, &pipeline->tables[i], pipeline->tables[i].match, &table, &err), &err);
    }
    struct fz_cdc_decoder *decoder = NULL;
    struct fz_cdc_source *source = NULL;
    FZ_OK_OR_FAIL(fz_cdc_decoder_new(pipeline, &tables, &decoder, &err), &err);
    struct fz_source_file_options options = {.pattern = pipeline->source_path, .records_kafka = true, .arena = &arena};
    FZ_OK_OR_FAIL(fz_cdc_source_file_open(&options, &source, &err), &err);
    struct fz_fold folds[16];
    struct state_table states[16] = {0};
    for (size_t i = 0; i < tables.n; i++) {
        fz_fold_init(&folds[i], tables.items[i]);
    }
    int64_t bad = 0, in_batch = 0, pending = 0;
    for (bool found = true; found;) {
        struct fz_cdc_record record;
        FZ_OK_OR_FAIL(source->vtable->next(source, &record, &found, &err), &err);
        if (found) {
            struct fz_cdc_decoded decoded;
            FZ_OK_OR_FAIL(fz_cdc_decode(decoder, &record, &decoded, &err), &err);
            if (decoded.outcome == FZ_CDC_BAD) {
                bad++;
                if (bad < 5 && foreign_values(spec) == 0) {
                    print_error("%s: %s %s\n", capture, decoded.reason, decoded.text);
                }
            }
            for (int i = 0; i < decoded.n_changes; i++) {
                const char *reason, *text;
                size_t t = 0;
                while (tables.items[t] != decoded.table) {
                    t++;
                }
                FZ_OK_OR_FAIL(fz_fold_add(&folds[t], &decoded.changes[i], &reason, &text, &err), &err);
                assert_null(reason);
            }
            in_batch++;
        }
        pending = 0;
        for (size_t i = 0; i < tables.n; i++) {
            pending += folds[i].pending_moves;
        }
        if (!found || (in_batch >= batch_records && pending == 0)) {
            for (size_t i = 0; i < tables.n; i++) {
                apply_fold(&states[i], &folds[i]);
                fz_fold_dispose(&folds[i]);
            }
            in_batch = 0;
        }
    }
    assert_int_equal(bad, foreign_values(spec));
    for (size_t i = 0; i < tables.n; i++) {
        compare_table(capture, spec, json_object_get(json_object_get(spec, "tables"), tables.items[i]->match),
                      tables.items[i], &states[i]);
        fz_map_dispose(&states[i].rows);
        fz_fold_dispose(&folds[i]);
    }
    source->vtable->free(source);
    fz_cdc_decoder_free(decoder);
    fz_cdc_tables_dispose(&tables);
    fz_pipeline_free(pipeline);
    fz_arena_dispose(&arena);
    fz_arena_dispose(&keep);
    fz_buf_dispose(&yaml);
    json_decref(spec);
}

static void captures_converge(void **state) {
    (void)state;
    static const char *const CAPTURES[] = {
        "pg_orders",       "pg_duplicates",       "pg_interleaved",     "mysql_orders",      "pg_orders_flat",
        "pg_customers",    "pg_customers_flat",   "pg_types_precise",   "pg_types_schema",   "pg_types_string",
        "pg_types_double", "pg_types_micros",     "pg_special_precise", "pg_special_string", "pg_special_double",
        "pg_evolution",    "pg_evolution_schema", "pg_transactions",    "pg_incremental",    "mysql",
        "mysql_schema",
    };
    static const int64_t BATCHES[] = {1, 97, 1000000};
    if (!find_folder()) {
        skip();
    }
    for (size_t i = 0; i < sizeof CAPTURES / sizeof *CAPTURES; i++) {
        for (size_t b = 0; b < 3; b++) {
            run_capture(CAPTURES[i], BATCHES[b]);
        }
    }
    assert_true(cells_compared > 100000);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(captures_converge)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
