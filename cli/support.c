// Small helpers of the program: settings files, texts, errors, signals.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"

static void *need(void *p) {
    if (p == NULL) {
        fputs("frazil: out of memory\n", stderr);
        exit(EXIT_FAILED);
    }
    return p;
}

void settings_add(struct settings *s, const char *key, const char *value) {
    if (s->n_pairs == s->cap) {
        s->cap = s->cap ? s->cap * 2 : 16;
        s->items = need(realloc(s->items, 2 * s->cap * sizeof *s->items));
    }
    s->items[2 * s->n_pairs] = need(strdup(key));
    s->items[2 * s->n_pairs + 1] = need(strdup(value));
    s->n_pairs++;
}

void settings_free(struct settings *s) {
    for (size_t i = 0; i < 2 * s->n_pairs; i++) {
        free(s->items[i]);
    }
    free(s->items);
}

bool settings_read_file(struct settings *s, const char *path) {
    FILE *in = fopen(path, "r");
    if (in == NULL) {
        fprintf(stderr, "frazil: cannot read the settings file %s\n", path);
        return false;
    }
    char *line = NULL;
    size_t cap = 0;
    while (getline(&line, &cap, in) >= 0) {
        char *p = line + strspn(line, " \t");
        p[strcspn(p, "\r\n")] = 0;
        if (*p == 0 || *p == '#') {
            continue;
        }
        char *value = p + strcspn(p, " \t=");
        if (*value != 0) {
            *value++ = 0;
            value += strspn(value, " \t=");
        }
        char *comment = strstr(value, " #");
        if (comment != NULL) {
            *comment = 0;
        }
        size_t len = strlen(value);
        while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t')) {
            value[--len] = 0;
        }
        settings_add(s, p, value);
    }
    free(line);
    fclose(in);
    return true;
}

bool settings_read_default(struct settings *s, const char *named) {
    if (named == NULL) {
        named = getenv("FRAZIL_CONF");
    }
    if (named != NULL) {
        return settings_read_file(s, named);
    }
    if (access("frazil.conf", R_OK) == 0) {
        return settings_read_file(s, "frazil.conf");
    }
    const char *home = getenv("HOME");
    char path[4096];
    if (home != NULL && snprintf(path, sizeof path, "%s/.config/frazil/frazil.conf", home) < (int)sizeof path &&
        access(path, R_OK) == 0) {
        return settings_read_file(s, path);
    }
    return true;
}

// "--name VALUE" or "--name=VALUE": the value, and how many arguments it took.
static const char *option_value(const char *name, int argc, char **argv, int i, int *taken) {
    size_t len = strlen(name);
    if (strncmp(argv[i], name, len) != 0) {
        return NULL;
    }
    if (argv[i][len] == '=') {
        *taken = 1;
        return argv[i] + len + 1;
    }
    if (argv[i][len] != 0) {
        return NULL;
    }
    if (i + 1 == argc) {
        fprintf(stderr, "frazil: %s wants a value\n", name);
        *taken = -1;
        return "";
    }
    *taken = 2;
    return argv[i + 1];
}

int take_common(struct common *c, int argc, char **argv, int i) {
    int taken = 0;
    const char *value;
    if (strcmp(argv[i], "-S") == 0 || strcmp(argv[i], "--quiet") == 0) {
        c->quiet = true;
        return 1;
    }
    if (strcmp(argv[i], "-v") == 0 || strcmp(argv[i], "--verbose") == 0) {
        c->verbose = true;
        return 1;
    }
    if ((value = option_value("--conf", argc, argv, i, &taken)) != NULL) {
        char *copy = need(strdup(value)), *equals = strchr(copy, '=');
        if (taken < 0 || equals == NULL) {
            if (taken > 0) {
                fprintf(stderr, "frazil: --conf wants KEY=VALUE, not '%s'\n", value);
            }
            free(copy);
            return -1;
        }
        *equals = 0;
        settings_add(&c->settings, copy, equals + 1);
        free(copy);
        return taken;
    }
    if ((value = option_value("--progress", argc, argv, i, &taken)) != NULL) {
        static const char *const when[] = {"auto", "always", "never"};
        for (int k = 0; taken > 0 && k < 3; k++) {
            if (strcmp(value, when[k]) == 0) {
                c->progress = (enum progress)k;
                return taken;
            }
        }
        if (taken > 0) {
            fprintf(stderr, "frazil: --progress is auto, always or never, not '%s'\n", value);
        }
        return -1;
    }
    if ((value = option_value("--properties-file", argc, argv, i, &taken)) != NULL) {
        c->properties_file = value;
        return taken;
    }
    if ((value = option_value("--memory", argc, argv, i, &taken)) != NULL) {
        settings_add(&c->settings, "frazil.memory", value);
        return taken;
    }
    if ((value = option_value("--threads", argc, argv, i, &taken)) != NULL) {
        settings_add(&c->settings, "frazil.threads", value);
        return taken;
    }
    if ((value = option_value("--catalog", argc, argv, i, &taken)) != NULL) {
        settings_add(&c->settings, "spark.sql.defaultCatalog", value);
        return taken;
    }
    return 0;
}

static void notice(void *ctx, int level, const char *text) {
    const struct common *c = ctx;
    if (level <= (c->verbose ? 4 : c->quiet ? 0 : 2)) {
        progress_hide();
        fprintf(stderr, "%s%s\n", level == 1 ? "warning: " : "", text);
        progress_show();
    }
}

int open_session(struct common *c, fz_session **out) {
    struct settings all = {0};
    fz_error error;
    if (!settings_read_default(&all, c->properties_file)) {
        settings_free(&all);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < c->settings.n_pairs; i++) { // the command line wins
        settings_add(&all, c->settings.items[2 * i], c->settings.items[2 * i + 1]);
    }
    int rc = fz_session_open((const char *const *)all.items, all.n_pairs, notice, c, out, &error);
    settings_free(&all);
    if (rc != 0) {
        print_error(&error, NULL);
        return EXIT_USAGE;
    }
    return EXIT_DONE;
}

int status_of(const fz_error *e) {
    if (strcmp(e->code_name, "CONFLICT") == 0) {
        return EXIT_CONFLICT;
    }
    if (strcmp(e->code_name, "COMMIT_UNKNOWN") == 0) {
        return EXIT_UNKNOWN;
    }
    return strcmp(e->code_name, "CANCELLED") == 0 ? EXIT_INTERRUPTED : EXIT_FAILED;
}

void print_error(const fz_error *e, const char *sql) {
    fprintf(stderr, "frazil: [%s] %s\n", e->condition[0] ? e->condition : e->code_name, e->message);
    if (sql == NULL || e->line <= 0 || strchr(e->message, '^') != NULL) {
        return;
    }
    const char *line = sql;
    for (int i = 1; i < e->line && line != NULL; i++) {
        line = strchr(line, '\n');
        line = line ? line + 1 : NULL;
    }
    if (line != NULL) {
        fprintf(stderr, "  line %d, column %d\n  %.*s\n  %*s^\n", e->line, e->column, (int)strcspn(line, "\n"), line,
                e->column > 1 ? e->column - 1 : 0, "");
    }
}

void text_add(struct text *t, const char *data, size_t len) {
    if (t->len + len + 1 > t->cap) {
        t->cap = (t->len + len + 1) * 2;
        t->ptr = need(realloc(t->ptr, t->cap));
    }
    if (len > 0) {
        memcpy(t->ptr + t->len, data, len);
    }
    t->len += len;
    t->ptr[t->len] = 0;
}

void text_puts(struct text *t, const char *s) {
    text_add(t, s, strlen(s));
}

void text_free(struct text *t) {
    free(t->ptr);
    *t = (struct text){0};
}

bool text_read_file(struct text *t, FILE *in) {
    char block[65536];
    size_t n;
    while ((n = fread(block, 1, sizeof block, in)) > 0) {
        text_add(t, block, n);
    }
    if (t->ptr == NULL) {
        text_add(t, "", 0);
    }
    return !ferror(in);
}

void put_json_string(FILE *out, const char *s) {
    put_json_text(out, s, strlen(s));
}

void put_json_text(FILE *out, const char *s, size_t len) {
    fputc('"', out);
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)s[i];
        if (c == '"' || c == '\\') {
            fprintf(out, "\\%c", c);
        } else if (c == '\n') {
            fputs("\\n", out);
        } else if (c < 0x20) {
            fprintf(out, "\\u%04x", c);
        } else {
            fputc(c, out);
        }
    }
    fputc('"', out);
}

static pthread_mutex_t watch_lock = PTHREAD_MUTEX_INITIALIZER;
static fz_session *watched;
static atomic_bool interrupted, idle_at_prompt;

static void *wait_for_signals(void *ctx) {
    sigset_t set;
    (void)ctx;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    for (int n = 0;; n++) {
        int signal_number;
        sigwait(&set, &signal_number);
        atomic_store(&interrupted, true);
        pthread_mutex_lock(&watch_lock);
        if (watched != NULL && !(signal_number == SIGTERM && atomic_load(&idle_at_prompt))) {
            fz_session_cancel(watched);
        } else {
            _exit(EXIT_INTERRUPTED);
        }
        pthread_mutex_unlock(&watch_lock);
    }
    return NULL;
}

void signals_start(void) {
    sigset_t set;
    pthread_t thread;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &set, NULL); // inherited by all threads started later
    signal(SIGPIPE, SIG_IGN);
    if (pthread_create(&thread, NULL, wait_for_signals, NULL) == 0) {
        pthread_detach(thread);
    }
}

void signals_watch(fz_session *session) {
    pthread_mutex_lock(&watch_lock);
    watched = session;
    pthread_mutex_unlock(&watch_lock);
}

void signals_idle(bool idle) {
    atomic_store(&idle_at_prompt, idle);
}

bool signals_interrupted(void) {
    return atomic_load(&interrupted);
}
