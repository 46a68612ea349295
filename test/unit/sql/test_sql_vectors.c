// Every test vector of test/data/sql (Spark 4.1.4's answers, measured on Spark) run through binder, printer, kernels and the engine:
// value, type and error condition. What is not supported yet is listed in vectors.skip, one start of an expression per line.
#include "sql/sql_run.h"

#include "leak_check.h"

static char *read_file(const char *path) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return NULL;
    }
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    char *text = malloc((size_t)n + 1);
    size_t got = fread(text, 1, (size_t)n, f);
    text[got] = 0;
    fclose(f);
    return text;
}

static char *next_field(char **at, char stop) {
    char *start = *at, *end = strchr(start, stop);
    if (end != NULL) {
        *end = 0;
        *at = end + 1;
    } else {
        *at = start + strlen(start);
    }
    return start;
}

static void unescape(char *s) { // \n \t \\ of the file
    char *to = s;
    for (; *s; s++) {
        if (*s == '\\' && (s[1] == 'n' || s[1] == 't' || s[1] == 'r')) {
            *to++ = s[1] == 'n' ? '\n' : s[1] == 't' ? '\t' : '\r';
            s++;
        } else {
            *to++ = *s;
        }
    }
    *to = 0;
}

static bool skipped(const char *list, const char *expr) {
    for (const char *p = list; p != NULL && *p;) {
        const char *end = strchr(p, '\n');
        size_t n = end ? (size_t)(end - p) : strlen(p);
        if (n > 0 && *p != '#' && strncmp(expr, p, n) == 0) {
            return true;
        }
        p = end ? end + 1 : p + n;
    }
    return false;
}

static bool same_number(const char *a, const char *b) { // doubles in two spellings
    char *ea, *eb;
    double x = strtod(a, &ea), y = strtod(b, &eb);
    return *a && *b && *ea == 0 && *eb == 0 && x == y;
}

struct totals {
    int good, bad, skipped;
};

static void run_one(struct fake_session *s, const char *expr, const char *type, char *value, bool show,
                    struct totals *t) {
    struct fz_arena arena = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_sql_query *q = NULL;
    struct fz_buf text = {0}, got = {0}, got_type = {0};
    fz_buf_printf(&text, "SELECT %s", expr);
    enum fz_code rc = fake_query(s, &arena, text.ptr, &q, &got, &err);
    bool ok;
    if (strcmp(type, "ERROR") == 0) {
        size_t n = strcspn(value, ".");
        ok = rc != FZ_OK && (strncmp(err.condition, value, n) == 0 || strncmp(value, "IllegalArgument", 15) == 0 ||
                             strncmp(value, "java", 4) == 0 || strncmp(value, "org.", 4) == 0);
        fz_buf_printf(&got, "%s", err.condition);
    } else {
        if (got.len > 0 && got.ptr[got.len - 1] == '\n') {
            got.ptr[--got.len] = 0;
        }
        if (rc == FZ_OK) {
            fz_type_print_sql(&got_type, q->columns[0].type);
        }
        const char *g = got.ptr ? got.ptr : "";
        if (strncmp(type, "timestamp", 9) == 0) { // the vectors print six digits
            size_t n = strlen(value);
            while (strchr(value, '.') != NULL && n > 0 && value[n - 1] == '0') {
                value[--n] = 0;
            }
        }
        if (rc == FZ_OK && strncmp(type, "interval", 8) == 0) { // the vectors hold counts
            ok = strncmp(got_type.ptr, "interval", 8) == 0;
        } else
            ok = rc == FZ_OK && strcmp(got_type.ptr ? got_type.ptr : "", type) == 0 &&
                 (strcmp(g, value) == 0 || same_number(g, value));
        if (!ok && rc == FZ_OK) { // the file writes line ends as \n, a backslash as itself
            char *plain = fz_strdup(value);
            unescape(plain);
            ok = strcmp(got_type.ptr ? got_type.ptr : "", type) == 0 && strcmp(g, plain) == 0;
            fz_free(plain);
        }
    }
    if (!ok && show) {
        printf("%s\n   Spark %s %s\n   here  %s %s  [%s] %s\n", expr, type, value, got_type.ptr ? got_type.ptr : "",
               got.ptr ? got.ptr : "", err.condition, err.message);
    }
    t->good += ok;
    t->bad += !ok;
    fz_buf_dispose(&text);
    fz_buf_dispose(&got);
    fz_buf_dispose(&got_type);
    fz_arena_dispose(&arena);
}

static void run_zone(const char *zone, const char *kind, struct totals *t) {
    char *vectors = read_file(FZ_SOURCE_DIR "/test/data/sql/spark-on-duckdb.vectors.tsv");
    char *skip = read_file(FZ_SOURCE_DIR "/test/data/sql/vectors.skip");
    struct fake_session s = {0};
    struct fz_err err = FZ_ERR_INIT;
    FZ_OK_OR_FAIL(fake_open(&s, zone, &err), &err);
    assert_non_null(vectors);
    char *at = vectors;
    next_field(&at, '\n');
    while (*at) {
        char *line = next_field(&at, '\n');
        char *k = next_field(&line, '\t'), *z = next_field(&line, '\t'), *expr = next_field(&line, '\t'),
             *type = next_field(&line, '\t'), *value = line;
        if ((kind != NULL && strcmp(kind, k) != 0) || strcmp(z, zone) != 0) {
            continue;
        }
        if (skipped(skip, expr)) {
            t->skipped++;
            continue;
        }
        run_one(&s, expr, type, value, true, t);
    }
    fz_duck_close(s.duck);
    free(vectors);
    free(skip);
}

static void vectors_utc(void **state) {
    struct totals t = {0};
    (void)state;
    run_zone("UTC", getenv("FZ_VECTOR_KIND"), &t);
    printf("UTC: %d good, %d bad, %d skipped\n", t.good, t.bad, t.skipped);
    assert_int_equal(t.bad, 0);
}
static void vectors_new_york(void **state) {
    struct totals t = {0};
    (void)state;
    run_zone("America/New_York", getenv("FZ_VECTOR_KIND"), &t);
    printf("America/New_York: %d good, %d bad, %d skipped\n", t.good, t.bad, t.skipped);
    assert_int_equal(t.bad, 0);
}

int main(int argc, char **argv) {
    if (argc > 1) { // one query, for people: test_sql_vectors "SELECT 1"
        struct fake_session s = {0};
        struct fz_err err = FZ_ERR_INIT;
        struct fz_arena arena = {0};
        struct fz_buf out = {0};
        struct fz_sql_query *q;
        setenv("FZ_SHOW_SQL", "1", 1);
        if (fake_open(&s, argc > 2 ? argv[2] : "UTC", &err) == FZ_OK &&
            fake_query(&s, &arena, argv[1], &q, &out, &err) == FZ_OK) {
            for (size_t i = 0; i < q->n_columns; i++) {
                printf("%s%s", i ? "|" : "", q->columns[i].name);
            }
            printf("\n%s", out.ptr ? out.ptr : "");
        } else {
            printf("%s [%s] %s\n", fz_code_name(err.code), err.condition, err.message);
        }
        return 0;
    }
    const struct CMUnitTest tests[] = {FZ_TEST(vectors_utc), FZ_TEST(vectors_new_york)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
