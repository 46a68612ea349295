// One DuckDB database with one connection: opening in the order that architecture.md "Failure domain" wants, closing, opening
// again after a fatal error, and running statements. duckdb-facts.md sections d and h.
#include <stdio.h>
#include <stdlib.h>

#include "duck/duck_priv.h"

static void interrupt_hook(void *ctx) {
    struct fz_duck *duck = ctx;
    duckdb_interrupt(duck->con);
}

static enum fz_code open_database(struct fz_duck *duck, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    duckdb_config config = NULL;
    char *why = NULL;
    char threads[16], memory[32], temp_limit[32];
    snprintf(threads, sizeof threads, "%d", duck->options.threads > 0 ? duck->options.threads : fz_machine_cores());
    snprintf(memory, sizeof memory, "%lldB", (long long)duck->options.memory_bytes);
    snprintf(temp_limit, sizeof temp_limit, "%lldB", (long long)duck->options.temp_bytes);
    const struct {
        const char *name, *value;
        bool use;
    } settings[] = {
        {"autoload_known_extensions", "false", true},
        {"autoinstall_known_extensions", "false", true},
        {"temp_directory", duck->temp.path, true},
        {"max_temp_directory_size", temp_limit, duck->options.temp_bytes > 0},
        {"memory_limit", memory, duck->options.memory_bytes > 0},
        {"threads", threads, true},
        {"preserve_insertion_order", "false", true},
        {"errors_as_json", "true", true},
    };
    if (duckdb_create_config(&config) != DuckDBSuccess) {
        return fz_fail(err, FZ_NOMEM, "the engine's configuration could not be made");
    }
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (settings[i].use && duckdb_set_config(config, settings[i].name, settings[i].value) != DuckDBSuccess) {
            rc =
                fz_fail(err, FZ_BUG, "the engine does not take the setting %s=%s", settings[i].name, settings[i].value);
            goto out;
        }
    }
    if (duckdb_open_ext(NULL, &duck->db, config, &why) != DuckDBSuccess) {
        rc = fz_fail(err, FZ_ENGINE, "the embedded engine could not be opened: %s", why ? why : "no reason given");
        goto out;
    }
    if (duckdb_connect(duck->db, &duck->con) != DuckDBSuccess) {
        rc = fz_fail(err, FZ_ENGINE, "the embedded engine gave no connection");
    }
out:
    duckdb_free(why);
    duckdb_destroy_config(&config);
    return rc;
}

static void put_sql_text(struct fz_buf *sql, const char *text) {
    fz_buf_putc(sql, '\'');
    for (; *text; text++) {
        if (*text == '\'') {
            fz_buf_putc(sql, '\'');
        }
        fz_buf_putc(sql, *text);
    }
    fz_buf_putc(sql, '\'');
}

// The engine knows offsets only as Etc/GMT∓h, whose sign counts the other way.
static const char *engine_zone(const char *name, char buffer[16]) {
    const char *p = strncmp(name, "UTC", 3) == 0 || strncmp(name, "GMT", 3) == 0 ? name + 3
                    : strncmp(name, "UT", 2) == 0                                ? name + 2
                                                                                 : name;
    if (strcmp(name, "Z") == 0) {
        return "UTC";
    }
    size_t digits = (*p == '+' || *p == '-') ? strspn(p + 1, "0123456789") : 0;
    int hours = digits == 1 || digits == 2 ? atoi(p + 1) : -1;
    bool whole =
        hours >= 0 && hours <= (*p == '+' ? 14 : 12) && (p[1 + digits] == 0 || strcmp(p + 1 + digits, ":00") == 0);
    if (!whole) {
        return name;
    }
    snprintf(buffer, 16, "Etc/GMT%c%d", *p == '+' ? '-' : '+', hours);
    return hours == 0 ? "UTC" : buffer;
}

enum fz_code fz_duck_set_time_zone(struct fz_duck *duck, const char *name, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    char buffer[16];
    char *copy = fz_arena_strdup(&duck->kernel_arena, name);
    if (copy == NULL) {
        return fz_fail_nomem(err, strlen(name));
    }
    fz_buf_puts(&sql, "SET TimeZone=");
    put_sql_text(&sql, engine_zone(name, buffer));
    FZ_TRY(fz_buf_check(&sql, err));
    struct fz_err refused = {0};
    rc = fz_duck_exec(duck, sql.ptr, &refused);
    if (rc == FZ_CANCELLED || rc == FZ_ENGINE || rc == FZ_NOMEM) {
        fz_fail(err, rc, "%s", refused.message);
        goto out;
    }
    if (rc != FZ_OK) {
        rc = fz_fail_cond(err, FZ_INVALID_ARG, "INVALID_CONF_VALUE.TIME_ZONE",
                          "'%s' is not a time zone; give a region such as Europe/Berlin, UTC, or an offset of whole "
                          "hours such as +02:00",
                          name);
        goto out;
    }
    duck->options.time_zone = copy;
out:
    fz_buf_dispose(&sql);
    return rc;
}

// What can only be said in SQL: the zone; and, last of all, which folders files may be read from.
static enum fz_code apply_settings(struct fz_duck *duck, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf sql = {0};
    FZ_TRY(fz_duck_set_time_zone(duck, duck->options.time_zone, err));
    if (duck->options.read_folders) {
        fz_buf_puts(&sql, "SET allowed_directories=[");
        put_sql_text(&sql, duck->temp.path);
        for (const char *const *folder = duck->options.read_folders; *folder; folder++) {
            fz_buf_puts(&sql, ", ");
            put_sql_text(&sql, *folder);
        }
        fz_buf_puts(&sql, "]; SET enable_external_access=false");
        FZ_TRY(fz_buf_check(&sql, err));
        FZ_TRY(fz_duck_exec(duck, sql.ptr, err));
    }
out:
    fz_buf_dispose(&sql);
    return rc;
}

static void close_database(struct fz_duck *duck) {
    if (duck->open_result) {
        fz_duck_result_free(duck->open_result);
    }
    if (duck->cancel) {
        fz_cancel_unhook(duck->cancel, duck);
    }
    if (duck->con) {
        duckdb_disconnect(&duck->con);
    }
    if (duck->db) {
        duckdb_close(&duck->db);
    }
}

static enum fz_code start_database(struct fz_duck *duck, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    duck->broken = false;
    FZ_TRY(open_database(duck, err));
    if (duck->cancel && !fz_cancel_hook(duck->cancel, interrupt_hook, duck)) {
        rc = fz_fail(err, FZ_BUG, "the cancel token has no room for another engine");
        goto out;
    }
    FZ_TRY(fz_duck_scan_install(duck, err));
    FZ_TRY(fz_duck_sink_install(duck, err));
    FZ_TRY(fz_duck_kernels_install(duck, err));
    FZ_TRY(apply_settings(duck, err));
out:
    if (rc != FZ_OK) {
        close_database(duck);
        duck->broken = true;
    }
    return rc;
}

// The caller's list may die before a reopen.
static enum fz_code copy_folders(struct fz_duck *duck, const char *const *folders, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = 0;
    if (!folders) {
        return FZ_OK;
    }
    while (folders[n]) {
        n++;
    }
    const char **copy = fz_arena_array(&duck->kernel_arena, n + 1, sizeof *copy);
    if (!copy) {
        return fz_fail_nomem(err, (n + 1) * sizeof *copy);
    }
    for (size_t i = 0; i < n; i++) {
        copy[i] = fz_arena_strdup(&duck->kernel_arena, folders[i]);
        if (!copy[i]) {
            return fz_fail_nomem(err, strlen(folders[i]));
        }
    }
    duck->options.read_folders = copy;
    return rc;
}

enum fz_code fz_duck_open(const struct fz_duck_options *options, struct fz_duck **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_duck *duck = NULL;
    FZ_NEW(duck, err);
    pthread_mutex_init(&duck->lock, NULL);
    duck->options = *options;
    duck->options.read_folders = NULL;
    duck->cancel = options->cancel;
    duck->options.time_zone = fz_arena_strdup(&duck->kernel_arena, options->time_zone ? options->time_zone : "UTC");
    if (!duck->options.time_zone) {
        rc = fz_fail_nomem(err, 16);
        goto out;
    }
    FZ_TRY(copy_folders(duck, options->read_folders, err));
    FZ_TRY(fz_duck_temp_make(options->temp_directory, &duck->temp, err));
    FZ_TRY(start_database(duck, err));
    *out = duck;
    duck = NULL;
out:
    fz_duck_close(duck);
    return rc;
}

void fz_duck_close(struct fz_duck *duck) {
    if (!duck) {
        return;
    }
    close_database(duck);
    for (size_t i = 0; i < duck->n_sources; i++) {
        fz_source_unref(duck->sources[i].source);
    }
    fz_free(duck->sources);
    fz_duck_temp_drop(&duck->temp);
    fz_map_dispose(&duck->kernel_names);
    fz_arena_dispose(&duck->kernel_arena);
    pthread_mutex_destroy(&duck->lock);
    fz_free(duck);
}

enum fz_code fz_duck_reopen(struct fz_duck *duck, struct fz_err *err) {
    close_database(duck);
    return start_database(duck, err);
}

const char *fz_duck_temp_directory(const struct fz_duck *duck) {
    return duck->temp.path;
}

bool fz_duck_is_broken(const struct fz_duck *duck) {
    return duck->broken;
}

enum fz_code fz_duck_begin(struct fz_duck *duck, struct fz_err *err) {
    if (duck->broken) {
        return fz_fail(err, FZ_ENGINE, "the embedded engine's database is no longer usable; it must be opened again");
    }
    if (duck->open_result) {
        fz_duck_result_free(duck->open_result);
    }
    pthread_mutex_lock(&duck->lock);
    fz_err_reset(&duck->slot);
    pthread_mutex_unlock(&duck->lock);
    return fz_cancel_check(duck->cancel, err);
}

enum fz_code fz_duck_prepare(struct fz_duck *duck, const char *sql, duckdb_prepared_statement *out,
                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (duckdb_prepare(duck->con, sql, out) != DuckDBSuccess) {
        rc = fz_duck_raise(duck, duckdb_prepare_error(*out), sql, err);
        duckdb_destroy_prepare(out);
    }
    return rc;
}

enum fz_code fz_duck_execute(struct fz_duck *duck, duckdb_prepared_statement statement, bool streaming, const char *sql,
                             duckdb_result *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    duckdb_pending_result pending = NULL;
    duck->statement++;
    duckdb_state state = streaming ? duckdb_pending_prepared_streaming(statement, &pending)
                                   : duckdb_pending_prepared(statement, &pending);
    if (state != DuckDBSuccess) {
        rc = fz_duck_raise(duck, duckdb_pending_error(pending), sql, err);
        goto out;
    }
    // The query has begun, so an interrupt from here on is noticed; one that came before is seen by this check.
    FZ_TRY(fz_cancel_check(duck->cancel, err));
    if (duckdb_execute_pending(pending, out) != DuckDBSuccess) {
        rc = fz_duck_raise(duck, duckdb_result_error(out), sql, err);
        duckdb_destroy_result(out);
    }
out:
    duckdb_destroy_pending(&pending);
    return rc;
}

static enum fz_code run_one(struct fz_duck *duck, duckdb_extracted_statements list, idx_t index, const char *sql,
                            struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    duckdb_prepared_statement statement = NULL;
    duckdb_result result = {0};
    if (duckdb_prepare_extracted_statement(duck->con, list, index, &statement) != DuckDBSuccess) {
        rc = fz_duck_raise(duck, duckdb_prepare_error(statement), sql, err);
        goto out;
    }
    FZ_TRY(fz_duck_execute(duck, statement, false, sql, &result, err));
    duckdb_destroy_result(&result);
out:
    duckdb_destroy_prepare(&statement);
    return rc;
}

enum fz_code fz_duck_exec(struct fz_duck *duck, const char *sql, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    duckdb_extracted_statements list = NULL;
    FZ_TRY(fz_duck_begin(duck, err));
    idx_t n = duckdb_extract_statements(duck->con, sql, &list);
    const char *why = duckdb_extract_statements_error(list);
    if (n == 0 && why) {
        rc = fz_duck_raise(duck, why, sql, err);
        goto out;
    }
    for (idx_t i = 0; i < n; i++) {
        FZ_TRY(run_one(duck, list, i, sql, err));
    }
out:
    if (list) {
        duckdb_destroy_extracted(&list);
    }
    return rc;
}
