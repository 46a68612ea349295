// Opening and closing a session, and its parts that others borrow.
#include "engine/session.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/text.h"
#include "engine/engine_priv.h"

enum {
    LEAST_MEMORY_BYTES = 256 << 20,
    // The budget is what the process may take. Of it the program's code and libraries (30 MB), the session and what allocators keep
    // back are nobody's to share out.
    PROCESS_BYTES = 80 << 20,
    ENGINE_EXCESS_BYTES = 100 << 20, // which the engine takes above its limit, besides a third of it
    LEAST_ENGINE_BYTES = 64 << 20,
};

static enum fz_code apply_settings(struct fz_engine *e, const struct fz_engine_options *options, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < options->n_settings; i++) {
        FZ_TRY(fz_setting_set(e, options->settings[i].key, options->settings[i].value, err));
    }
    for (struct fz_map_entry *entry = NULL; (entry = fz_map_next(&e->settings, entry)) != NULL;) {
        struct fz_map_entry *copy;
        FZ_TRY(fz_map_put(&e->initial, (struct fz_str){entry->key.ptr, entry->key.len}, &copy, NULL, err));
        copy->value.ptr = fz_strdup(entry->value.ptr);
        if (copy->value.ptr == NULL) {
            rc = fz_fail_nomem(err, strlen(entry->value.ptr));
            goto out;
        }
    }
out:
    return rc;
}

// The catalog a session starts in: spark.sql.defaultCatalog, else the only one configured, else `local`.
static char *first_catalog(struct fz_engine *e) {
    const char *named = fz_setting(e, "spark.sql.defaultCatalog", NULL), *only = NULL;
    size_t only_len = 0, n = 0;
    for (struct fz_map_entry *entry = NULL; named == NULL && (entry = fz_map_next(&e->settings, entry)) != NULL;) {
        static const char prefix[] = "spark.sql.catalog.";
        if (entry->key.len > sizeof prefix - 1 && memcmp(entry->key.ptr, prefix, sizeof prefix - 1) == 0) {
            const char *name = entry->key.ptr + sizeof prefix - 1;
            size_t len = strcspn(name, ".");
            if (only == NULL || len != only_len || memcmp(only, name, len) != 0) {
                n++;
            }
            only = name;
            only_len = len;
        }
    }
    return named != NULL ? fz_strdup(named) : n == 1 ? fz_strndup(only, only_len) : fz_strdup("local");
}

// "512MB", "2g", "1073741824".
static bool parse_bytes(const char *text, int64_t *out) {
    size_t digits = strspn(text, "0123456789");
    int64_t n;
    if (!fz_parse_i64((struct fz_str){text, digits}, &n)) {
        return false;
    }
    const char *unit = text + digits;
    static const struct {
        const char *name;
        int shift;
    } units[] = {{"", 0},     {"b", 0},  {"k", 10},  {"kb", 10},  {"kib", 10}, {"m", 20}, {"mb", 20},
                 {"mib", 20}, {"g", 30}, {"gb", 30}, {"gib", 30}, {"t", 40},   {"tb", 40}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (fz_strcasecmp(unit, units[i].name) == 0) {
            *out = n << units[i].shift;
            return n > 0 && *out >> units[i].shift == n;
        }
    }
    return false;
}

static enum fz_code thread_count(struct fz_engine *e, int64_t *out, struct fz_err *err) { // 0: all cores
    const char *text = fz_setting(e, "frazil.threads", NULL);
    *out = 0;
    if (text != NULL && (!fz_parse_i64(fz_str_of(text), out) || *out < 1 || *out > 1024)) {
        return fz_fail(err, FZ_INVALID_ARG, "frazil.threads is '%s'; it must be a number from 1 to 1024", text);
    }
    return FZ_OK;
}

enum fz_code fz_engine_open(const struct fz_engine_options *options, struct fz_engine **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_engine *e = NULL;
    struct fz_store *local = NULL, *memory = NULL;
    int64_t threads;
    FZ_NEW(e, err);
    e->log = options->log;
    fz_cancel_init(&e->cancel);
    FZ_TRY(apply_settings(e, options, err));
    e->budget.limit_bytes = fz_machine_memory_bytes() / 2;
    const char *memory_text = fz_setting(e, "frazil.memory", NULL);
    if (memory_text != NULL && !parse_bytes(memory_text, &e->budget.limit_bytes)) {
        rc = fz_fail(err, FZ_INVALID_ARG,
                     "frazil.memory is '%s'; write a number of bytes or a size such as 512MB or 4GB", memory_text);
        goto out;
    }
    if (e->budget.limit_bytes < LEAST_MEMORY_BYTES) {
        rc = fz_fail(err, FZ_INVALID_ARG, "frazil.memory is %" PRId64 " bytes; the least that works is 256MB",
                     e->budget.limit_bytes);
        goto out;
    }
    e->budget.limit_bytes -= PROCESS_BYTES;
    FZ_TRY(thread_count(e, &threads, err));
    FZ_TRY(fz_store_local_new(&local, err));
    FZ_TRY(fz_store_memory_new(&memory, err));
    FZ_TRY(fz_store_router_new((struct fz_store *[]){local, memory}, 2, &e->store, err));
    e->current_catalog = first_catalog(e);
    if (e->current_catalog == NULL) {
        rc = fz_fail_nomem(err, 16);
        goto out;
    }
    if (!fz_engine_has_catalog(e, e->current_catalog)) {
        rc =
            fz_fail_cond(err, FZ_NOT_FOUND, "CATALOG_NOT_FOUND",
                         "there is no catalog %s to start in: configure it with spark.sql.catalog.%s.type and its keys",
                         e->current_catalog, e->current_catalog);
        goto out;
    }
    *out = e;
    e = NULL;
out:
    fz_store_unref(local);
    fz_store_unref(memory);
    fz_engine_close(e);
    return rc;
}

void fz_engine_close(struct fz_engine *e) {
    if (e == NULL) {
        return;
    }
    fz_duck_close(e->duck);
    for (size_t i = 0; i < e->n_catalogs; i++) {
        fz_catalog_free(e->catalogs[i]);
    }
    fz_free(e->catalogs);
    for (size_t i = 0; i < e->n_views; i++) {
        fz_free(e->views[i].name);
        fz_free(e->views[i].query_text);
        for (size_t k = 0; k < e->views[i].n_columns; k++) {
            fz_free(e->views[i].columns[k]);
        }
        fz_free(e->views[i].columns);
    }
    fz_free(e->views);
    for (size_t i = 0; i < e->n_current_levels; i++) {
        fz_free(e->current_levels[i]);
    }
    fz_free(e->current_levels);
    fz_free(e->current_catalog);
    for (struct fz_map_entry *entry = NULL; (entry = fz_map_next(&e->settings, entry)) != NULL;) {
        fz_free(entry->value.ptr);
    }
    fz_map_dispose(&e->settings);
    for (struct fz_map_entry *entry = NULL; (entry = fz_map_next(&e->initial, entry)) != NULL;) {
        fz_free(entry->value.ptr);
    }
    fz_map_dispose(&e->initial);
    fz_store_unref(e->store);
    fz_cancel_dispose(&e->cancel);
    fz_free(e);
}

void fz_engine_cancel(struct fz_engine *e) {
    fz_cancel_fire(&e->cancel);
}

const struct fz_progress *fz_engine_progress(const struct fz_engine *e) {
    return &e->progress;
}

struct fz_duck *fz_engine_duck(struct fz_engine *e, struct fz_err *err) {
    if (e->duck != NULL) {
        if (fz_duck_is_broken(e->duck) && fz_duck_reopen(e->duck, err) != FZ_OK) {
            return NULL;
        }
        return e->duck;
    }
    int64_t threads;
    if (thread_count(e, &threads, err) != FZ_OK) {
        return NULL;
    }
    // A quarter of the budget is for our own stages.
    int64_t own = e->budget.limit_bytes / 4;
    struct fz_duck_options options = {
        .memory_bytes = (e->budget.limit_bytes - own - ENGINE_EXCESS_BYTES) * 10 / 13,
        .temp_directory = fz_setting(e, "frazil.temp-directory", NULL),
        .threads = (int)threads,
        .time_zone = fz_setting(e, "spark.sql.session.timeZone", "UTC"),
        .cancel = &e->cancel,
    };
    if (options.memory_bytes < LEAST_ENGINE_BYTES) {
        options.memory_bytes = LEAST_ENGINE_BYTES;
    }
    size_t n;
    const struct fz_scalar_kernel *kernels = fz_sql_kernels(&n);
    if (fz_duck_open(&options, &e->duck, err) != FZ_OK) {
        return NULL;
    }
    if (fz_duck_register_kernels(e->duck, kernels, n, err) != FZ_OK) {
        fz_duck_close(e->duck);
        e->duck = NULL;
    }
    return e->duck;
}

static enum fz_code cdc_duck(void *ctx, struct fz_duck **out, struct fz_err *err) {
    *out = fz_engine_duck(ctx, err);
    return *out != NULL ? FZ_OK : err != NULL ? err->code : FZ_ENGINE;
}
static enum fz_code cdc_resolve(void *ctx, struct fz_arena *arena, const char *dotted, struct fz_catalog **out_catalog,
                                struct fz_table_name *out_name, struct fz_err *err) {
    return fz_engine_resolve_name(ctx, arena, dotted, out_catalog, out_name, err);
}

struct fz_cdc_session fz_engine_cdc_session(struct fz_engine *e) {
    return (struct fz_cdc_session){
        .ctx = e,
        .duck = cdc_duck,
        .resolve = cdc_resolve,
        .store = e->store,
        .cancel = &e->cancel,
        .budget = &e->budget,
        .log = &e->log,
    };
}
