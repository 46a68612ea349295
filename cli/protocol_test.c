// frazil sql --protocol=test: the line protocol of the conformance runner (test/conformance/run_frazil.py). Standard input has one JSON
// object a line, {"sql": "…"}; standard output answers with one JSON object a line: columns and rows as text, or the error.
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static void put_utf8(struct text *t, unsigned cp) {
    char b[4];
    size_t n = cp < 0x80 ? 1 : cp < 0x800 ? 2 : cp < 0x10000 ? 3 : 4;
    if (n == 1) {
        b[0] = (char)cp;
    } else {
        for (size_t i = n - 1; i > 0; i--) {
            b[i] = (char)(0x80 | (cp & 0x3F));
            cp >>= 6;
        }
        b[0] = (char)((n == 2 ? 0xC0 : n == 3 ? 0xE0 : 0xF0) | cp);
    }
    text_add(t, b, n);
}

// The string value of "sql" in a line that json.dumps wrote.
static bool read_sql(const char *line, struct text *out) {
    const char *p = strstr(line, "\"sql\"");
    p = p ? strchr(p + 5, '"') : NULL;
    if (p == NULL) {
        return false;
    }
    for (p++; *p != 0 && *p != '"'; p++) {
        if (*p != '\\') {
            text_add(out, p, 1);
            continue;
        }
        p++;
        static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        const char *at = strchr(plain, *p);
        if (*p == 'u') {
            unsigned cp = (unsigned)strtoul((char[]){p[1], p[2], p[3], p[4], 0}, NULL, 16);
            p += 4;
            if (cp >= 0xD800 && cp < 0xDC00 && p[1] == '\\' && p[2] == 'u') {
                unsigned low = (unsigned)strtoul((char[]){p[3], p[4], p[5], p[6], 0}, NULL, 16);
                cp = 0x10000 + ((cp - 0xD800) << 10) + (low - 0xDC00);
                p += 6;
            }
            put_utf8(out, cp);
        } else if (at != NULL && *p != 0) {
            text_add(out, &meant[at - plain], 1);
        }
    }
    if (out->ptr == NULL) {
        text_add(out, "", 0);
    }
    return true;
}

static void answer_error(const fz_error *e) {
    fputs("{\"ok\": false, \"code\": ", stdout);
    put_json_string(stdout, e->code_name);
    fputs(", \"condition\": ", stdout);
    put_json_string(stdout, e->condition);
    fputs(", \"message\": ", stdout);
    put_json_string(stdout, e->message);
    fputs("}\n", stdout);
}

static void answer(fz_session *session, const char *sql) {
    fz_result *r;
    fz_error error;
    if (fz_session_execute(session, sql, &r, &error) != 0) {
        answer_error(&error);
        return;
    }
    // Rows are collected first: an error in the middle makes the whole answer an error.
    char *rows = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&rows, &len);
    const char *const *values;
    int more, n = 0;
    size_t n_columns = fz_result_columns(r);
    while ((more = fz_result_next_text(r, &values, &error)) == 1) {
        fputs(n++ > 0 ? ", [" : "[", out);
        for (size_t i = 0; i < n_columns; i++) {
            fputs(i > 0 ? ", " : "", out);
            if (values[i] == NULL) {
                fputs("null", out);
            } else {
                put_json_text(out, values[i], fz_result_text_length(r, i));
            }
        }
        fputc(']', out);
    }
    fclose(out);
    if (more < 0) {
        answer_error(&error);
    } else {
        fputs("{\"ok\": true, \"columns\": [", stdout);
        for (size_t i = 0; i < n_columns; i++) {
            fputs(i > 0 ? ", {\"name\": " : "{\"name\": ", stdout);
            put_json_string(stdout, fz_result_column_name(r, i));
            fputs(", \"type\": ", stdout);
            put_json_string(stdout, fz_result_column_type(r, i));
            fputc('}', stdout);
        }
        printf("], \"rows\": [%s]}\n", rows);
    }
    free(rows);
    fz_result_close(r);
}

int protocol_test(struct common *c) {
    fz_session *session;
    c->quiet = true;
    int status = open_session(c, &session);
    if (status != EXIT_DONE) {
        return status;
    }
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, stdin) >= 0) {
        struct text sql = {0};
        if (read_sql(line, &sql)) {
            answer(session, sql.ptr);
        } else {
            puts("{\"ok\": false, \"code\": \"INVALID_ARG\", \"condition\": \"\", \"message\": \"no sql in this "
                 "line\"}");
        }
        fflush(stdout);
        text_free(&sql);
    }
    free(line);
    fz_session_close(session);
    return EXIT_DONE;
}
