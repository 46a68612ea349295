// The document as text: a line a member, a table a list of objects. Whatever stands in a file is printed without control characters.
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "inspect/inspect_priv.h"

enum { MAX_ROWS = 40, MAX_COLUMNS = 32, CELL_CHARS = 48, LIST_CHARS = 120, LINE_CHARS = 400 };

void fz_inspect_put_safe(struct fz_buf *out, const char *text, size_t len, size_t max_chars) {
    bool cut = fz_utf8_length(text, len) > max_chars;
    size_t keep = cut ? fz_utf8_truncate(text, len, max_chars - 1) : len;
    for (size_t i = 0; i < keep; i++) {
        unsigned char c = (unsigned char)text[i];
        // U+0080 to U+009F are control characters too: C2 80 .. C2 9F.
        bool c1 = c == 0xC2 && i + 1 < keep && (unsigned char)text[i + 1] < 0xA0;
        if (c < 0x20 || c == 0x7f || c1) {
            fz_buf_printf(out, "\\u%04x", c1 ? (unsigned char)text[i + 1] : c);
            i += c1;
        } else {
            fz_buf_putc(out, (char)c);
        }
    }
    if (cut) {
        fz_buf_puts(out, "…");
    }
}

static bool is_table(const json_t *value) {
    return json_is_array(value) && json_is_object(json_array_get(value, 0));
}

// A member that a line or a cell can hold.
static void put_value(struct fz_buf *out, const json_t *value, size_t max_chars) {
    if (json_is_string(value)) {
        fz_inspect_put_safe(out, json_string_value(value), json_string_length(value), max_chars);
    } else if (json_is_array(value) && !is_table(value)) {
        size_t start = out->len;
        for (size_t i = 0; i < json_array_size(value); i++) {
            if (out->len - start > LIST_CHARS) {
                fz_buf_puts(out, ", …");
                break;
            }
            fz_buf_puts(out, i > 0 ? ", " : "");
            put_value(out, json_array_get(value, i), max_chars);
        }
    } else if (!json_is_null(value)) {
        char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        if (text != NULL) {
            fz_inspect_put_safe(out, text, strlen(text), max_chars);
        }
        free(text);
    }
}

static void put_key(struct fz_buf *out, const char *key) {
    for (; *key != 0; key++) {
        fz_inspect_put_safe(out, *key == '_' ? " " : key, 1, 1);
    }
}

static size_t width_of(const struct fz_buf *buf, size_t from) {
    return fz_utf8_length(buf->ptr + from, buf->len - from);
}

static void pad(struct fz_buf *out, size_t n) {
    while (n-- > 0) {
        fz_buf_putc(out, ' ');
    }
}

// ---- tables --------------------------------------------------------------------------------------------------------------

struct column {
    const char *key;
    size_t width;
    bool number; // right-aligned
};

// Paths are there to be copied.
static size_t cell_chars(const char *key) {
    const char *const whole[] = {"path", "manifest_list", "statistics-path", "deletes_from"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        if (strcmp(key, whole[i]) == 0) {
            return LINE_CHARS;
        }
    }
    return CELL_CHARS;
}

static size_t find_columns(const json_t *rows, size_t n, struct column *columns) {
    size_t n_columns = 0;
    for (size_t r = 0; r < n; r++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_array_get(rows, r), key, value) {
            size_t c = 0;
            while (c < n_columns && strcmp(columns[c].key, key) != 0) {
                c++;
            }
            if (is_table(value) || c == MAX_COLUMNS) { // tables within tables are in the JSON form only
                continue;
            }
            if (c == n_columns) {
                columns[n_columns++] = (struct column){.key = key, .width = strlen(key), .number = true};
            }
            struct fz_buf cell = {0};
            put_value(&cell, value, cell_chars(key));
            size_t width = cell.ptr != NULL ? width_of(&cell, 0) : 0;
            fz_buf_dispose(&cell);
            columns[c].width = width > columns[c].width ? width : columns[c].width;
            columns[c].number &= json_is_number(value) || json_is_null(value);
        }
    }
    return n_columns;
}

static void put_cell(struct fz_buf *out, const struct column *column, const json_t *value, bool last) {
    struct fz_buf cell = {0};
    if (value == NULL) {
        put_key(&cell, column->key);
    } else {
        put_value(&cell, value, cell_chars(column->key));
    }
    size_t width = cell.ptr != NULL ? width_of(&cell, 0) : 0, room = column->width > width ? column->width - width : 0;
    if (column->number) {
        pad(out, room);
    }
    fz_buf_append(out, cell.ptr != NULL ? cell.ptr : "", cell.len);
    if (!last) {
        pad(out, (column->number ? 0 : room) + 2);
    }
    fz_buf_dispose(&cell);
}

static void put_table(struct fz_buf *out, const char *name, const json_t *rows, bool all) {
    size_t total = json_array_size(rows), n = all || total <= MAX_ROWS ? total : MAX_ROWS;
    struct column columns[MAX_COLUMNS];
    size_t n_columns = find_columns(rows, n, columns);
    fz_buf_putc(out, '\n');
    put_key(out, name);
    fz_buf_printf(out, " (%zu)\n", total);
    json_t *empty = json_string("");
    for (size_t r = 0; r <= n; r++) {
        fz_buf_puts(out, "  ");
        for (size_t c = 0; c < n_columns; c++) {
            const json_t *value = r == 0 ? NULL : json_object_get(json_array_get(rows, r - 1), columns[c].key);
            put_cell(out, &columns[c], r > 0 && value == NULL ? empty : value, c + 1 == n_columns);
        }
        while (out->len > 0 && out->ptr[out->len - 1] == ' ') {
            out->len--;
        }
        fz_buf_putc(out, '\n');
    }
    json_decref(empty);
    if (n < total) {
        fz_buf_printf(out, "  … %zu more: --all shows them\n", total - n);
    }
}

// ---- the document --------------------------------------------------------------------------------------------------------

static void put_lines(struct fz_buf *out, const json_t *object, const char *indent, bool raw_keys) {
    size_t widest = 0;
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        size_t width = fz_utf8_length(key, strlen(key));
        widest = !is_table(value) && !json_is_object(value) && width > widest ? width : widest;
    }
    widest = widest < CELL_CHARS ? widest : CELL_CHARS;
    json_object_foreach((json_t *)(uintptr_t)object, key, value) {
        if (is_table(value) || json_is_object(value) || json_is_null(value)) {
            continue;
        }
        fz_buf_puts(out, indent);
        size_t start = out->len;
        if (raw_keys) {
            fz_inspect_put_safe(out, key, strlen(key), LINE_CHARS);
        } else {
            put_key(out, key);
        }
        size_t width = width_of(out, start);
        pad(out, (width < widest ? widest - width : 0) + 2);
        put_value(out, value, LINE_CHARS);
        fz_buf_putc(out, '\n');
    }
}

void fz_inspect_layout(const json_t *root, bool all, struct fz_buf *out) {
    const char *key;
    json_t *value;
    put_lines(out, root, "", false);
    json_object_foreach((json_t *)(uintptr_t)root, key, value) {
        if (is_table(value)) {
            put_table(out, key, value, all);
        } else if (json_is_object(value) && json_object_size(value) > 0) {
            fz_buf_putc(out, '\n');
            put_key(out, key);
            fz_buf_putc(out, '\n');
            put_lines(out, value, "  ", true);
        }
    }
}
