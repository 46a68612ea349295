// sql/: every statement of the conformance corpus parses, and those that Spark refuses as syntax do not.
#include "leak_check.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "sql/ast.h"

static int n_statements, n_wrong, n_files;

// Spark's conditions that are raised while parsing although their class is another one, and refusals the parser itself makes.
static bool may_fail(const char *directive, const char *condition) {
    static const char *const conditions[] = {"DECIMAL_PRECISION_EXCEEDS_MAX_PRECISION",
                                             "_LEGACY_ERROR_TEMP_1228",
                                             "UNSUPPORTED_DATATYPE",
                                             "INVALID_NUMERIC_LITERAL_RANGE",
                                             "UNEXPECTED_POSITIONAL_ARGUMENT",
                                             "UNSUPPORTED_FEATURE.TABLE_OPERATION",
                                             "INVALID_TYPED_LITERAL"};
    for (size_t i = 0; strncmp(directive, "statement error", 15) == 0 && i < sizeof conditions / sizeof conditions[0];
         i++) {
        if (strcmp(condition, conditions[i]) == 0) {
            return true;
        }
    }
    return false;
}
// Texts inside texts: the functions and procedures parse those.
static bool is_inner_text(const char *sql) {
    return strstr(sql, "from_json(") != NULL || strncmp(sql, "CALL", 4) == 0;
}

static void check(const char *file, const char *directive, const char *sql) {
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_ast_stmt *s = NULL;
    enum fz_code rc = fz_sql_parse(&arena, fz_str_of(sql), &s, &err);
    bool syntax = strcmp(directive, "statement error SYNTAX") == 0;
    bool right = syntax ? rc == FZ_SQL_SYNTAX || is_inner_text(sql) : rc == FZ_OK || may_fail(directive, err.condition);
    n_statements++;
    if (!right) {
        n_wrong++;
        print_error("%s: %s\n%s\n[%s] %s\n", file, directive, sql, err.condition, rc == FZ_OK ? "parses" : err.message);
    }
    fz_arena_dispose(&arena);
}

// ${NAME}: a snapshot id, or a timestamp where it stands alone in quotes.
static void substitute(struct fz_buf *out, const char *line) {
    for (const char *p = line; *p != 0; p++) {
        const char *close = p[0] == '$' && p[1] == '{' ? strchr(p, '}') : NULL;
        if (close == NULL) {
            fz_buf_putc(out, *p);
            continue;
        }
        fz_buf_puts(out, p > line && p[-1] == '\'' && close[1] == '\'' ? "2024-01-01 00:00:00" : "123");
        p = close;
    }
}

static int each_file(const char *path, const struct stat *st, int type, struct FTW *ftw) {
    (void)st;
    (void)ftw;
    size_t len = strlen(path);
    if (type != FTW_F || len < 5 || strcmp(path + len - 5, ".test") != 0) {
        return 0;
    }
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    n_files++;
    char *line = NULL, directive[4096] = "";
    size_t cap = 0;
    struct fz_buf sql = {0};
    bool in_result = false;
    for (;;) {
        ssize_t n = getline(&line, &cap, f);
        if (n > 0 && line[n - 1] == '\n') {
            line[n - 1] = 0;
        }
        if (n <= 0 || line[0] == 0) { // the end of a record
            bool statement = strncmp(directive, "statement", 9) == 0 || strncmp(directive, "query", 5) == 0 ||
                             strncmp(directive, "let", 3) == 0;
            if (statement && sql.len > 0) {
                check(path, directive, sql.ptr);
            }
            directive[0] = 0;
            fz_buf_clear(&sql);
            in_result = false;
            if (n <= 0) {
                break;
            }
        } else if (in_result || (line[0] == '#' && sql.len == 0) ||
                   (directive[0] == 0 && (strncmp(line, "skipif", 6) == 0 || strncmp(line, "onlyif", 6) == 0))) {
            continue;
        } else if (directive[0] == 0) {
            snprintf(directive, sizeof directive, "%s", line);
        } else if (strcmp(line, "----") == 0) {
            in_result = true;
        } else {
            fz_buf_puts(&sql, sql.len > 0 ? "\n" : "");
            substitute(&sql, line);
        }
    }
    free(line);
    fz_buf_dispose(&sql);
    fclose(f);
    return 0;
}

static void the_corpus_parses(void **state) {
    (void)state;
    assert_int_equal(nftw(FZ_SOURCE_DIR "/test/conformance", each_file, 16, FTW_PHYS), 0);
    assert_true(n_files > 70);
    assert_true(n_statements > 1700);
    assert_int_equal(n_wrong, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(the_corpus_parses)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
