// Typed access to members of JSON documents, with errors that name the member and say what it should be.
#include "table/json_priv.h"

static enum fz_code missing(const char *key, struct fz_err *err) {
    return fz_fail(err, FZ_CORRUPT, "member \"%s\" is missing", key);
}

static enum fz_code not_a(const char *key, const char *what, struct fz_err *err) {
    return fz_fail(err, FZ_CORRUPT, "member \"%s\" is not %s", key, what);
}

enum fz_code fz_metadata_json_i64(const json_t *object, const char *key, bool required, int64_t *out,
                                  struct fz_err *err) {
    const json_t *member = json_object_get(object, key);
    if (member == NULL || json_is_null(member)) {
        return required ? missing(key, err) : FZ_OK;
    }
    if (!json_is_integer(member)) {
        return not_a(key, "a whole number", err);
    }
    *out = json_integer_value(member);
    return FZ_OK;
}

enum fz_code fz_metadata_json_i32(const json_t *object, const char *key, bool required, int32_t *out,
                                  struct fz_err *err) {
    int64_t wide = *out;
    enum fz_code rc = fz_metadata_json_i64(object, key, required, &wide, err);
    if (rc == FZ_OK && (wide < INT32_MIN || wide > INT32_MAX)) {
        rc = not_a(key, "a 32-bit number", err);
    }
    if (rc == FZ_OK) {
        *out = (int32_t)wide;
    }
    return rc;
}

enum fz_code fz_metadata_json_text(struct fz_arena *arena, const json_t *object, const char *key, bool required,
                                   const char **out, struct fz_err *err) {
    const json_t *member = json_object_get(object, key);
    if (member == NULL || json_is_null(member)) {
        return required ? missing(key, err) : FZ_OK;
    }
    if (!json_is_string(member)) {
        return not_a(key, "a string", err);
    }
    *out = fz_arena_strndup(arena, json_string_value(member), json_string_length(member));
    return *out != NULL ? FZ_OK : fz_fail_nomem(err, json_string_length(member));
}

enum fz_code fz_metadata_json_array(const json_t *object, const char *key, bool required, const json_t **out,
                                    struct fz_err *err) {
    const json_t *member = json_object_get(object, key);
    *out = NULL;
    if (member == NULL || json_is_null(member)) {
        return required ? missing(key, err) : FZ_OK;
    }
    if (!json_is_array(member)) {
        return not_a(key, "an array", err);
    }
    *out = member;
    return FZ_OK;
}

enum fz_code fz_metadata_json_strings(struct fz_arena *arena, const json_t *object, const char *key, const char *skip,
                                      struct fz_property **out, size_t *n, struct fz_err *err) {
    const json_t *member = json_object_get(object, key);
    *out = NULL;
    *n = 0;
    if (member == NULL || json_is_null(member)) {
        return FZ_OK;
    }
    if (!json_is_object(member)) {
        return not_a(key, "an object of strings", err);
    }
    struct fz_property *items = fz_arena_array(arena, json_object_size(member) + 1, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(err, json_object_size(member));
    }
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)member, name, value) {
        if (skip != NULL && strcmp(name, skip) == 0) {
            continue;
        }
        if (!json_is_string(value)) {
            return fz_fail(err, FZ_CORRUPT, "member \"%s\": the value of \"%.200s\" is not a string", key, name);
        }
        items[*n].key = fz_arena_strdup(arena, name);
        items[*n].value = fz_arena_strdup(arena, json_string_value(value));
        if (items[*n].key == NULL || items[*n].value == NULL) {
            return fz_fail_nomem(err, 0);
        }
        (*n)++;
    }
    *out = items;
    return FZ_OK;
}

enum fz_code fz_metadata_json_parse(const void *data, size_t len, json_t **out, struct fz_err *err) {
    json_error_t problem;
    *out = json_loadb(len > 0 ? data : "", len, 0, &problem);
    if (*out == NULL) {
        return fz_fail(err, FZ_CORRUPT, "not valid JSON: %s (line %d, offset %d)", problem.text, problem.line,
                       problem.position);
    }
    return FZ_OK;
}
