// Session settings: Spark's and Iceberg's own keys. SET and RESET.
#include "base/text.h"
#include "engine/engine_priv.h"

const char *fz_setting(struct fz_engine *e, const char *key, const char *fallback) {
    struct fz_map_entry *entry = fz_map_find(&e->settings, fz_str_of(key));
    return entry != NULL ? entry->value.ptr : fallback;
}

enum fz_code fz_setting_set(struct fz_engine *e, const char *key, const char *value, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf full = {0};
    if (strncmp(key, "catalog.", 8) == 0) { // short form of spark.sql.catalog.
        fz_buf_printf(&full, "spark.sql.%s", key);
        FZ_TRY(fz_buf_check(&full, err));
        key = full.ptr;
    }
    if (value == NULL) {
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

enum fz_code fz_set_statement(struct fz_statement *s, struct fz_answer *answer, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_ast_stmt *a = s->ast;
    if (a->kind == FZ_STMT_RESET) {
        if (a->key != NULL) {
            return fz_setting_set(s->engine, a->key, NULL, err);
        }
        for (struct fz_map_entry *e = NULL; (e = fz_map_next(&s->engine->settings, e)) != NULL;) {
            if (strncmp(e->key.ptr, "spark.sql.catalog.", 18) != 0 &&
                strncmp(e->key.ptr, "spark.sql.defaultCatalog", e->key.len) != 0) {
                fz_free(e->value.ptr);
                e->removed = true;
                s->engine->settings.n_live--;
            }
        }
        return FZ_OK;
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
        if (fz_strcasecmp(a->key, "spark.sql.session.timeZone") == 0) { // the engine follows
            struct fz_buf sql = {0};
            struct fz_duck *duck = fz_engine_duck(s->engine, err);
            fz_buf_puts(&sql, "SET TimeZone='");
            for (const char *p = a->value; *p != 0; p++) {
                if (*p == '\'') {
                    fz_buf_putc(&sql, '\'');
                }
                fz_buf_putc(&sql, *p);
            }
            fz_buf_putc(&sql, '\'');
            rc = duck == NULL ? FZ_ENGINE : fz_buf_check(&sql, err);
            if (rc == FZ_OK && fz_duck_exec(duck, sql.ptr, NULL) != FZ_OK) {
                rc = fz_fail_cond(err, FZ_INVALID_ARG, "INVALID_CONF_VALUE.TIME_ZONE",
                                  "'%s' is not a time zone; give a region such as Europe/Berlin or UTC", a->value);
            }
            fz_buf_dispose(&sql);
            if (rc != FZ_OK) {
                goto out;
            }
        }
        FZ_TRY(fz_setting_set(s->engine, a->key, a->value, err));
    }
    FZ_TRY(add_setting(&answer->rows, a->key, fz_setting(s->engine, a->key, NULL), err));
out:
    return rc;
}
