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

static void csv_field(FILE *out, const char *v) {
    if (v == NULL) {
        return;
    }
    if (*v != 0 && strpbrk(v, "\",\r\n") == NULL) {
        fputs(v, out);
        return;
    }
    fputc('"', out);
    for (; *v != 0; v++) {
        if (*v == '"') {
            fputc('"', out);
        }
        fputc(*v, out);
    }
    fputc('"', out);
}

static void tsv_field(FILE *out, const char *v) {
    for (v = v ? v : "\\N"; *v != 0; v++) {
        if (*v == '\t') {
            fputs("\\t", out);
        } else if (*v == '\n') {
            fputs("\\n", out);
        } else {
            fputc(*v, out);
        }
    }
}

static bool is_bare_json(const char *type) {
    static const char *const bare[] = {"boolean", "tinyint", "smallint", "int", "bigint", "decimal", "array", "struct", "map"};
    for (size_t i = 0; i < sizeof bare / sizeof *bare; i++) {
        if (strncmp(type, bare[i], strlen(bare[i])) == 0) {
            return true;
        }
    }
    return false;
}

static void json_value(FILE *out, const char *type, const char *v) {
    bool number = strcmp(type, "double") == 0 || strcmp(type, "float") == 0;
    if (v == NULL) {
        fputs("null", out);
    } else if (is_bare_json(type) || (number && strpbrk(v, "NI") == NULL)) {
        fputs(v, out);
    } else {
        json_string(out, v);
    }
}

static void json_row(fz_result *r, const char *const *values, FILE *out) {
    fputc('{', out);
    for (size_t i = 0; i < fz_result_columns(r); i++) {
        fputs(i > 0 ? ", " : "", out);
        json_string(out, fz_result_column_name(r, i));
        fputs(": ", out);
        json_value(out, fz_result_column_type(r, i), values[i]);
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
            (format == FORMAT_CSV ? csv_field : tsv_field)(out, fz_result_column_name(r, i));
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
                (format == FORMAT_CSV ? csv_field : tsv_field)(out, values[i]);
            }
            fputc('\n', out);
        }
        rows++;
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
                cells[block * n + i] = values[i] ? strdup(values[i]) : NULL;
                size_t w = width_of(values[i] ? values[i] : "NULL");
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
    }
    free(cells);
    free(widths);
    free(names);
    return more < 0 ? -1 : rows;
}

long print_result(fz_result *r, enum format format, bool header, FILE *out, fz_error *error) {
    if (fz_result_columns(r) == 0) {
        return 0;
    }
    return format == FORMAT_TABLE ? print_table(r, header, out, error) : print_lines(r, format, header, out, error);
}
