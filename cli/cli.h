// What the commands of the program share. The program uses include/frazil/frazil.h only.
#ifndef FZ_CLI_CLI_H
#define FZ_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include <frazil/frazil.h>

// Exit statuses (docs: interface).
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_CONFLICT = 3, EXIT_UNKNOWN = 4, EXIT_INTERRUPTED = 130 };

// Settings from a configuration file and --conf, in order; later ones win.
struct settings {
    char **items; // key, value, key, value …
    size_t n_pairs, cap;
};
void settings_add(struct settings *s, const char *key, const char *value);
// Reads a file in the form of spark-defaults.conf; returns false and prints why when it cannot.
bool settings_read_file(struct settings *s, const char *path);
// --properties-file, $FRAZIL_CONF, ./frazil.conf, ~/.config/frazil/frazil.conf: the first there is.
bool settings_read_default(struct settings *s, const char *named);
void settings_free(struct settings *s);

// Options that every command has. take_common returns how many arguments it took at argv[i], 0 when it is none of them, -1 on error.
struct common {
    struct settings settings;
    const char *properties_file;
    bool quiet, verbose;
    enum progress { PROGRESS_AUTO, PROGRESS_ALWAYS, PROGRESS_NEVER } progress;
};
int take_common(struct common *c, int argc, char **argv, int i);
int open_session(struct common *c, fz_session **out); // EXIT_DONE or the exit status; prints the error

void print_error(const fz_error *e, const char *sql); // with line, column and caret
int status_of(const fz_error *e);

// A growing text.
struct text {
    char *ptr;
    size_t len, cap;
};
void text_add(struct text *t, const char *data, size_t len);
void text_puts(struct text *t, const char *s);
void text_free(struct text *t);
bool text_read_file(struct text *t, FILE *in);
void put_json_string(FILE *out, const char *s);
void put_json_text(FILE *out, const char *s, size_t len); // may hold NUL characters

// Output formats of a result.
enum format { FORMAT_TABLE, FORMAT_CSV, FORMAT_TSV, FORMAT_JSON, FORMAT_JSONL };
bool parse_format(const char *name, enum format *out);
// Prints all rows; returns the number of rows, -1 on error (printed into *error).
long print_result(fz_result *r, enum format format, bool header, FILE *out, fz_error *error);

// Signals: SIGINT and SIGTERM cancel the session; taken by one thread. Call before a session is opened.
void signals_start(void);
void signals_watch(fz_session *session); // NULL: none
bool signals_interrupted(void);
void signals_idle(bool idle); // waiting for a person: SIGTERM ends the program at once

// The line that shows how far a long statement is, on a terminal unless told otherwise. What is printed to stderr meanwhile goes between hide and show.
void progress_start(const struct common *c, const fz_session *session);
void progress_hide(void);
void progress_show(void);
void progress_stop(void);

int cmd_sql(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_check(int argc, char **argv);
int cmd_inspect(int argc, char **argv);
int protocol_test(struct common *c); // frazil sql --protocol=test, for the conformance runner

#endif
