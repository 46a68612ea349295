// frazil sql: statements from -e, -f, standard input, or a prompt.
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <histedit.h>

#include "cli.h"

static const char HELP[] =
    "usage: frazil sql [-e SQL]... [-f FILE]... [options]\n"
    "\n"
    "Runs statements of Spark SQL on Iceberg tables. Without -e and -f: from standard input, or at a prompt on a "
    "terminal.\n"
    "\n"
    "  -e SQL                 statements, separated by ;\n"
    "  -f FILE                a file of statements\n"
    "  --format FORMAT        table (default), csv, tsv, json, jsonl\n"
    "  --no-header            rows only\n"
    "  --keep-going           go on after a failed statement (exit status 1 at the end)\n"
    "  --conf KEY=VALUE       a setting, as in frazil.conf: spark.sql.catalog.lake.type=jdbc\n"
    "  --properties-file FILE settings; default $FRAZIL_CONF, ./frazil.conf, ~/.config/frazil/frazil.conf\n"
    "  --catalog NAME         the catalog to start in\n"
    "  --memory SIZE          budget, such as 512MB (default: half of the machine)\n"
    "  --threads N            threads of the engine (default: all cores)\n"
    "  --progress WHEN        auto (default: on a terminal, after a second), always, never\n"
    "  -v, --verbose          echo statements and show what is run\n"
    "  -S, --quiet            results and errors only\n"
    "\n"
    "Without any configuration tables live in ./frazil-warehouse:\n"
    "  frazil sql -e \"CREATE TABLE db.t (id BIGINT, v STRING); INSERT INTO db.t VALUES (1, 'a'); SELECT * FROM "
    "db.t\"\n";

struct runner {
    fz_session *session;
    struct common common;
    enum format format;
    bool header, keep_going, timing, interactive;
    int status;
};

static int run_statement(void *ctx, const char *statement, size_t len, int line) {
    struct runner *r = ctx;
    fz_result *result = NULL;
    fz_error error;
    char *sql = strndup(statement, len);
    if (r->common.verbose) {
        fprintf(stderr, "-- line %d\n%s\n", line, sql);
    }
    if (!r->interactive && signals_interrupted()) { // between two statements
        fprintf(stderr, "frazil: [CANCELLED] interrupted; the statements from line %d on were not run\n", line);
        r->status = EXIT_INTERRUPTED;
        free(sql);
        return 1;
    }
    struct timespec from, to;
    clock_gettime(CLOCK_MONOTONIC, &from);
    progress_start(&r->common, r->session);
    int rc = fz_session_execute(r->session, sql, &result, &error);
    progress_stop();
    errno = 0;
    long rows = rc == 0 ? print_result(result, r->format, r->header, stdout, &error) : -1;
    bool lost = ferror(stdout) || fflush(stdout) != 0;
    int why = errno;
    bool has_columns = rc == 0 && fz_result_columns(result) > 0;
    fz_result_close(result);
    clock_gettime(CLOCK_MONOTONIC, &to);
    if (rc != 0 || rows < 0) {
        print_error(&error, sql);
        if (line > 1) {
            fprintf(stderr, "  (in the statement that starts at line %d of the script)\n", line);
        }
        r->status = status_of(&error);
    } else if (r->timing && has_columns) {
        fprintf(stderr, "%ld row%s (%.3f s)\n", rows, rows == 1 ? "" : "s",
                (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9);
    }
    free(sql);
    if (lost) { // nobody gets the results: the statements that follow are not run
        if (why != EPIPE) {
            fprintf(stderr, "frazil: the results cannot be written: %s\n", strerror(why));
        }
        r->status = EXIT_FAILED;
        return 1;
    }
    bool stop = (rc != 0 || rows < 0) && (!r->keep_going || r->status == EXIT_INTERRUPTED);
    return stop ? 1 : 0;
}

static bool run_script(struct runner *r, const char *sql) {
    fz_error error;
    int rc = fz_script_split(sql, run_statement, r, &error);
    if (rc != 0 && r->status == 0) { // the script itself could not be split
        print_error(&error, sql);
        r->status = status_of(&error);
    }
    return rc == 0;
}

static const char *prompt_text = "frazil> ";
static const char *prompt(EditLine *el) {
    (void)el;
    return prompt_text;
}

static const char BANG_HELP[] = "statements end with ;\n"
                                "  \\q, !quit, quit, exit   leave\n"
                                "  !help                   this text\n"
                                "  !timing                 show or hide times\n"
                                "  !format NAME            table, csv, tsv, json, jsonl\n";

// Lines that are commands of the prompt; true when it was one.
static bool prompt_command(struct runner *r, char *line, bool *leave) {
    line[strcspn(line, "\r\n")] = 0;
    if (strcmp(line, "\\q") == 0 || strcmp(line, "!quit") == 0 || strcmp(line, "quit") == 0 ||
        strcmp(line, "exit") == 0 || strcmp(line, "quit;") == 0 || strcmp(line, "exit;") == 0) {
        *leave = true;
    } else if (strcmp(line, "!help") == 0 || strcmp(line, "\\h") == 0) {
        fputs(BANG_HELP, stdout);
    } else if (strcmp(line, "!timing") == 0) {
        r->timing = !r->timing;
    } else if (strncmp(line, "!format ", 8) == 0) {
        if (!parse_format(line + 8, &r->format)) {
            fprintf(stderr, "formats are table, csv, tsv, json, jsonl\n");
        }
    } else {
        return false;
    }
    return true;
}

static int interactive(struct runner *r) {
    EditLine *el = el_init("frazil", stdin, stdout, stderr);
    History *past = history_init();
    HistEvent event;
    struct text sql = {0};
    int count;
    const char *line;
    history(past, &event, H_SETSIZE, 1000);
    el_set(el, EL_PROMPT, prompt);
    el_set(el, EL_EDITOR, "emacs");
    el_set(el, EL_HIST, history, past);
    r->interactive = true;
    r->timing = true;
    r->keep_going = true;
    fputs("frazil " FRAZIL_VERSION ": Spark SQL on Iceberg tables. !help for help.\n", stdout);
    signals_idle(true);
    for (bool leave = false; !leave && (line = el_gets(el, &count)) != NULL && count > 0;) {
        char *copy = strdup(line);
        if (sql.len == 0 && prompt_command(r, copy, &leave)) {
            free(copy);
            continue;
        }
        free(copy);
        history(past, &event, H_ENTER, line);
        text_puts(&sql, line);
        size_t end = sql.len;
        while (end > 0 && strchr(" \t\r\n", sql.ptr[end - 1]) != NULL) {
            end--;
        }
        if (end == 0) {
            text_free(&sql);
        } else if (sql.ptr[end - 1] == ';') {
            signals_idle(false);
            run_script(r, sql.ptr);
            signals_idle(true);
            r->status = 0;
            text_free(&sql);
            prompt_text = "frazil> ";
        } else {
            prompt_text = "     -> ";
        }
    }
    text_free(&sql);
    history_end(past);
    el_end(el);
    return EXIT_DONE;
}

int cmd_sql(int argc, char **argv) {
    struct runner r = {.header = true};
    struct text script = {0};
    bool given = false, protocol = false;
    int status = EXIT_USAGE;
    for (int i = 1; i < argc;) {
        int taken = take_common(&r.common, argc, argv, i);
        if (taken < 0) {
            goto out;
        }
        if (taken > 0) {
            i += taken;
            continue;
        }
        const char *a = argv[i], *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(a, "--help") == 0 || strcmp(a, "-h") == 0) {
            fputs(HELP, stdout);
            status = EXIT_DONE;
            goto out;
        }
        if (strcmp(a, "--keep-going") == 0) {
            r.keep_going = true;
            i++;
        } else if (strcmp(a, "--no-header") == 0) {
            r.header = false;
            i++;
        } else if (strcmp(a, "--protocol=test") == 0) {
            protocol = true;
            i++;
        } else if (strncmp(a, "--format=", 9) == 0) {
            value = a + 9;
            i += 1;
            if (!parse_format(value, &r.format)) {
                fprintf(stderr, "frazil sql: --format %s: there are table, csv, tsv, json, jsonl\n", value);
                goto out;
            }
        } else if ((strcmp(a, "-e") == 0 || strcmp(a, "-f") == 0 || strcmp(a, "--format") == 0) && value != NULL) {
            i += 2;
            if (a[1] == 'e') {
                text_puts(&script, value);
                text_puts(&script, "\n;\n");
                given = true;
            } else if (a[1] == 'f') {
                FILE *in = fopen(value, "r");
                if (in == NULL || !text_read_file(&script, in)) {
                    fprintf(stderr, "frazil sql: cannot read %s\n", value);
                    goto out;
                }
                fclose(in);
                text_puts(&script, "\n;\n");
                given = true;
            } else if (!parse_format(value, &r.format)) {
                fprintf(stderr, "frazil sql: --format %s: there are table, csv, tsv, json, jsonl\n", value);
                goto out;
            }
        } else {
            fprintf(stderr, "frazil sql: %s %s; see frazil sql --help\n",
                    value == NULL && (strcmp(a, "-e") == 0 || strcmp(a, "-f") == 0 || strcmp(a, "--format") == 0)
                        ? "missing value after"
                        : "unknown argument",
                    a);
            goto out;
        }
    }
    if (protocol) {
        status = protocol_test(&r.common);
        goto out;
    }
    signals_start();
    status = open_session(&r.common, &r.session);
    if (status != EXIT_DONE) {
        goto out;
    }
    signals_watch(r.session);
    if (!given && isatty(STDIN_FILENO)) {
        status = interactive(&r);
    } else {
        if (!given) {
            text_read_file(&script, stdin);
        }
        if (memchr(script.ptr, 0, script.len) != NULL) {
            fprintf(stderr, "frazil sql: the script holds a NUL character; SQL is UTF-8 text\n");
            status = EXIT_FAILED;
        } else {
            run_script(&r, script.ptr);
            status = r.status;
        }
    }
    signals_watch(NULL);
    fz_session_close(r.session);
out:
    text_free(&script);
    settings_free(&r.common.settings);
    return status;
}
