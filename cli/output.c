// Results as text: table, csv, tsv, json, jsonl.
#include <stdlib.h>
#include <string.h>

#include "cli.h"

bool parse_format(const char *name, enum format *out) {
    static const char *const names[] = {"table", "csv", "tsv", "json", "jsonl"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            *out = (enum format)i;
            return true;
        }
    }
    return false;
}

// NULL is an empty field, the empty text is "".
static void csv_field(FILE *out, const char *v, size_t len) {
    if (v == NULL) {
        return;
    }
    bool plain = len > 0;
    for (size_t i = 0; i < len && plain; i++) {
        plain = v[i] != '"' && v[i] != ',' && v[i] != '\r' && v[i] != '\n';
    }
    if (plain) {
        fwrite(v, 1, len, out);
        return;
    }
    fputc('"', out);
    for (size_t i = 0; i < len; i++) {
        if (v[i] == '"') {
            fputc('"', out);
        }
        fputc(v[i], out);
    }
    fputc('"', out);
}

// As PostgreSQL's COPY: NULL is \N, and tabs, line ends and backslashes are escaped.
static void tsv_field(FILE *out, const char *v, size_t len) {
    if (v == NULL) {
        fputs("\\N", out);
        return;
    }
    for (size_t i = 0; i < len; i++) {
        const char *escaped = v[i] == '\t'   ? "\\t"
                              : v[i] == '\n' ? "\\n"
                              : v[i] == '\r' ? "\\r"
                              : v[i] == '\\' ? "\\\\"
                                             : NULL;
        if (escaped != NULL) {
            fputs(escaped, out);
        } else {
            fputc(v[i], out);
        }
    }
}

static bool is_bare_json(const char *type) {
    static const char *const bare[] = {"boolean", "tinyint", "smallint", "int", "bigint",
                                       "decimal", "array",   "struct",   "map", "variant"};
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++) { // "decimal(10,2)", "array<int>", but not "interval day"
        size_t len = strlen(bare[i]);
        if (strncmp(type, bare[i], len) == 0 && strchr("(<", type[len]) != NULL) { // or its end
            return true;
        }
    }
    return false;
}

static void json_value(FILE *out, const char *type, const char *v, size_t len) {
    bool number = strcmp(type, "double") == 0 || strcmp(type, "float") == 0;
    if (v == NULL) {
        fputs("null", out);
    } else if (is_bare_json(type) || (number && strpbrk(v, "NI") == NULL)) {
        fputs(v, out);
    } else {
        put_json_text(out, v, len);
    }
}

static void json_row(fz_result *r, const char *const *values, FILE *out) {
    fputc('{', out);
    for (size_t i = 0; i < fz_result_columns(r); i++) {
        fputs(i > 0 ? ", " : "", out);
        put_json_string(out, fz_result_column_name(r, i));
        fputs(": ", out);
        json_value(out, fz_result_column_type(r, i), values[i], fz_result_text_length(r, i));
    }
    fputc('}', out);
}

static long print_lines(fz_result *r, enum format format, bool header, FILE *out, fz_error *error) {
    size_t n = fz_result_columns(r);
    const char *const *values;
    long rows = 0;
    int more;
    if (header && (format == FORMAT_CSV || format == FORMAT_TSV)) {
        for (size_t i = 0; i < n; i++) {
            fputs(i == 0 ? "" : format == FORMAT_CSV ? "," : "\t", out);
            const char *name = fz_result_column_name(r, i);
            (format == FORMAT_CSV ? csv_field : tsv_field)(out, name, strlen(name));
        }
        fputc('\n', out);
    }
    fputs(format == FORMAT_JSON ? "[" : "", out);
    while ((more = fz_result_next_text(r, &values, error)) == 1) {
        if (format == FORMAT_JSON || format == FORMAT_JSONL) {
            fputs(format == FORMAT_JSON ? (rows > 0 ? ",\n " : "\n ") : "", out);
            json_row(r, values, out);
            fputs(format == FORMAT_JSONL ? "\n" : "", out);
        } else {
            for (size_t i = 0; i < n; i++) {
                fputs(i == 0 ? "" : format == FORMAT_CSV ? "," : "\t", out);
                (format == FORMAT_CSV ? csv_field : tsv_field)(out, values[i], fz_result_text_length(r, i));
            }
            fputc('\n', out);
        }
        rows++;
        if (ferror(out)) { // nobody reads on; the caller looks
            return rows;
        }
    }
    fputs(format == FORMAT_JSON ? "\n]\n" : "", out);
    return more < 0 ? -1 : rows;
}

// Columns shown on a screen: code points, good enough for text without combining marks and wide characters.
static size_t width_of(const char *s) {
    size_t n = 0;
    for (; *s != 0; s++) {
        n += ((unsigned char)*s & 0xC0) != 0x80;
    }
    return n;
}

// One line a row, whatever is in the texts: control characters are shown as \n, \t or \x00.
static char *shown(const char *v, size_t len) {
    struct text t = {0};
    text_add(&t, "", 0);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)v[i];
        char hex[8];
        if (c >= 0x20 && c != 0x7F) {
            text_add(&t, v + i, 1);
        } else if (c == '\n' || c == '\t' || c == '\r') {
            text_puts(&t, c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r");
        } else {
            snprintf(hex, sizeof hex, "\\x%02x", c);
            text_puts(&t, hex);
        }
    }
    return t.ptr;
}

static void table_line(FILE *out, const char *const *cells, const size_t *widths, size_t n) {
    for (size_t i = 0; i < n; i++) {
        const char *v = cells[i] ? cells[i] : "NULL";
        fprintf(out, "%s%s", i > 0 ? " | " : "", v);
        for (size_t w = width_of(v); w < widths[i] && i + 1 < n; w++) {
            fputc(' ', out);
        }
    }
    fputc('\n', out);
}

// A table looks at a block of rows to find its widths, so that long results still stream.
enum { BLOCK = 1000 };
static long print_table(fz_result *r, bool header, FILE *out, fz_error *error) {
    size_t n = fz_result_columns(r);
    char **cells = calloc(BLOCK * n, sizeof *cells);
    size_t *widths = calloc(n, sizeof *widths);
    const char **names = calloc(n, sizeof *names);
    long rows = 0;
    int more = 1;
    bool first = true;
    for (size_t i = 0; i < n; i++) {
        names[i] = fz_result_column_name(r, i);
        widths[i] = width_of(names[i]);
    }
    while (more == 1) {
        size_t block = 0;
        const char *const *values;
        while (block < BLOCK && (more = fz_result_next_text(r, &values, error)) == 1) {
            for (size_t i = 0; i < n; i++) {
                char *cell = values[i] ? shown(values[i], fz_result_text_length(r, i)) : NULL;
                cells[block * n + i] = cell;
                size_t w = width_of(cell ? cell : "NULL");
                widths[i] = w > widths[i] ? w : widths[i];
            }
            block++;
        }
        if (first && header && more >= 0) {
            table_line(out, names, widths, n);
            for (size_t i = 0; i < n; i++) {
                fputs(i > 0 ? "-+-" : "", out);
                for (size_t w = 0; w < widths[i]; w++) {
                    fputc('-', out);
                }
            }
            fputc('\n', out);
        }
        first = false;
        for (size_t b = 0; b < block; b++) {
            table_line(out, (const char *const *)cells + b * n, widths, n);
            for (size_t i = 0; i < n; i++) {
                free(cells[b * n + i]);
            }
        }
        rows += (long)block;
        more = more == 1 && ferror(out) ? 0 : more;
    }
    free(cells);
    free(widths);
    free(names);
    return more < 0 ? -1 : rows;
}

// Statements without a result, and rows without columns: all that there is to show is how many.
static long print_no_columns(fz_result *r, enum format format, FILE *out, fz_error *error) {
    const char *const *values;
    long rows = 0;
    int more;
    for (; (more = fz_result_next_text(r, &values, error)) == 1 && !ferror(out); rows++) {
        switch (format) {
        case FORMAT_TABLE:
            break;
        case FORMAT_CSV:
        case FORMAT_TSV:
            fputc('\n', out);
            break;
        case FORMAT_JSON:
            fputs(rows > 0 ? ",\n {}" : "[\n {}", out);
            break;
        case FORMAT_JSONL:
            fputs("{}\n", out);
            break;
        }
    }
    if (rows > 0 && format == FORMAT_JSON) {
        fputs("\n]\n", out);
    }
    if (rows > 0 && format == FORMAT_TABLE) {
        fprintf(out, "(%ld row%s without columns)\n", rows, rows == 1 ? "" : "s");
    }
    return more < 0 ? -1 : rows;
}

long print_result(fz_result *r, enum format format, bool header, FILE *out, fz_error *error) {
    if (fz_result_columns(r) == 0) {
        return print_no_columns(r, format, out, error);
    }
    return format == FORMAT_TABLE ? print_table(r, header, out, error) : print_lines(r, format, header, out, error);
}
