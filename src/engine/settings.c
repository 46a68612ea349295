// Session settings: Spark's and Iceberg's own keys. SET and RESET.
#include "base/text.h"
#include "engine/engine_priv.h"

const char *fz_setting(struct fz_engine *e, const char *key, const char *fallback) {
    struct fz_map_entry *entry = fz_map_find(&e->settings, fz_str_of(key));
    return entry != NULL ? entry->value.ptr : fallback;
}

// Settings with which Spark gives other results, and the only value that is followed here. Who has them in a configuration must hear of
// it, or takes the results for Spark's.
static void warn_of_other_rules(struct fz_engine *e, const char *key, const char *value) {
    static const struct {
        const char *key, *followed, *also;
    } rules[] = {{"spark.sql.ansi.enabled", "true", NULL},
                 {"spark.sql.ansi.doubleQuotedIdentifiers", "false", NULL},
                 {"spark.sql.ansi.enforceReservedKeywords", "false", NULL},
                 {"spark.sql.caseSensitive", "false", NULL},
                 {"spark.sql.decimalOperations.allowPrecisionLoss", "true", NULL},
                 {"spark.sql.groupByAliases", "true", NULL},
                 {"spark.sql.groupByOrdinal", "true", NULL},
                 {"spark.sql.orderByOrdinal", "true", NULL},
                 {"spark.sql.legacy.timeParserPolicy", "CORRECTED", "EXCEPTION"},
                 {"spark.sql.mapKeyDedupPolicy", "EXCEPTION", NULL},
                 {"spark.sql.parser.escapedStringLiterals", "false", NULL},
                 {"spark.sql.timestampType", "TIMESTAMP_LTZ", NULL}};
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (strcmp(key, rules[i].key) == 0 && fz_strcasecmp(value, rules[i].followed) != 0 &&
            (rules[i].also == NULL || fz_strcasecmp(value, rules[i].also) != 0)) {
            fz_log_write(&e->log, 1, "%s=%s has no effect: statements follow the rules of %s", key, value,
                         rules[i].followed);
        }
    }
}

enum fz_code fz_setting_set(struct fz_engine *e, const char *key, const char *value, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf full = {0};
    if (strncmp(key, "catalog.", 8) == 0) { // short form of spark.sql.catalog.
        fz_buf_printf(&full, "spark.sql.%s", key);
        FZ_TRY(fz_buf_check(&full, err));
        key = full.ptr;
    }
    if (value != NULL) {
        warn_of_other_rules(e, key, value);
    } else {
        struct fz_map_entry *old = fz_map_find(&e->settings, fz_str_of(key));
        if (old != NULL) {
            fz_free(old->value.ptr);
            fz_map_remove(&e->settings, fz_str_of(key));
        }
        goto out;
    }
    struct fz_map_entry *entry;
    char *copy = fz_strdup(value);
    if (copy == NULL) {
        rc = fz_fail_nomem(err, strlen(value));
        goto out;
    }
    rc = fz_map_put(&e->settings, fz_str_of(key), &entry, NULL, err);
    if (rc != FZ_OK) {
        fz_free(copy);
        goto out;
    }
    fz_free(entry->value.ptr);
    entry->value.ptr = copy;
out:
    fz_buf_dispose(&full);
    return rc;
}

bool fz_setting_is_secret(const char *key) {
    static const char *const words[] = {"password", "secret", "token", "credential", "access-key"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcasestr(key, words[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static enum fz_code add_setting(struct fz_rows *rows, const char *key, const char *value, struct fz_err *err) {
    const struct fz_type *string = fz_type_primitive(FZ_TYPE_STRING);
    const char *shown = value == NULL ? "<undefined>" : fz_setting_is_secret(key) ? "*********(redacted)" : value;
    struct fz_value row[2] = {{.type = string}, {.type = string}};
    row[0].u.bytes = fz_str_of(fz_arena_strdup(&rows->arena, key));
    row[1].u.bytes = fz_str_of(fz_arena_strdup(&rows->arena, shown));
    return fz_rows_add(rows, row, err);
}

static const char ZONE_KEY[] = "spark.sql.session.timeZone";

static enum fz_code set_zone(struct fz_engine *e, const char *zone, struct fz_err *err) { // the engine follows
    struct fz_duck *duck = fz_engine_duck(e, err);
    return duck == NULL ? FZ_ENGINE : fz_duck_set_time_zone(duck, zone, err);
}

// Brings back what the session was opened with: of one key, or (NULL) of all but the catalogs.
static enum fz_code reset(struct fz_engine *e, const char *key, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (key != NULL) {
        struct fz_map_entry *initial = fz_map_find(&e->initial, fz_str_of(key));
        const char *value = initial != NULL ? initial->value.ptr : NULL;
        if (fz_strcasecmp(key, ZONE_KEY) == 0) {
            FZ_TRY(set_zone(e, value != NULL ? value : "UTC", err));
        }
        FZ_TRY(fz_setting_set(e, key, value, err));
        goto out;
    }
    struct fz_map_entry *next = fz_map_next(&e->settings, NULL);
    while (next != NULL) {
        struct fz_map_entry *entry = next;
        next = fz_map_next(&e->settings, entry);
        if (strncmp(entry->key.ptr, "spark.sql.catalog.", 18) == 0 ||
            strcmp(entry->key.ptr, "spark.sql.defaultCatalog") == 0) {
            continue;
        }
        FZ_TRY(reset(e, entry->key.ptr, err));
    }
out:
    return rc;
}

enum fz_code fz_set_statement(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_ast_stmt *a = s->ast;
    if (a->kind == FZ_STMT_RESET) {
        return reset(s->engine, a->key, err);
    }
    struct fz_field *fields = fz_arena_array(&s->arena, 2, sizeof *fields);
    if (fields == NULL) {
        return fz_fail_nomem(err, 2 * sizeof *fields);
    }
    fields[0] = (struct fz_field){.id = 1, .name = "key", .required = true, .type = fz_type_primitive(FZ_TYPE_STRING)};
    fields[1] =
        (struct fz_field){.id = 2, .name = "value", .required = true, .type = fz_type_primitive(FZ_TYPE_STRING)};
    fz_rows_init(&answer->rows, fields, 2);
    answer->has_rows = true;
    if (a->key == NULL) {
        for (struct fz_map_entry *e = NULL; (e = fz_map_next(&s->engine->settings, e)) != NULL;) {
            FZ_TRY(add_setting(&answer->rows, e->key.ptr, e->value.ptr, err));
        }
        goto out;
    }
    if (a->value != NULL) {
        if (fz_strcasecmp(a->key, ZONE_KEY) == 0) {
            FZ_TRY(set_zone(s->engine, a->value, err));
        }
        FZ_TRY(fz_setting_set(s->engine, a->key, a->value, err));
    }
    FZ_TRY(add_setting(&answer->rows, a->key, fz_setting(s->engine, a->key, NULL), err));
out:
    return rc;
}
