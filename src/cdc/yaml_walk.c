// YAML by tables of keys: see yaml_walk.h.
#include "cdc/yaml_walk.h"

#include <stdio.h>

#include "base/text.h"

enum fz_code fz_yaml_fail(struct fz_yaml *yaml, const yaml_node_t *node, enum fz_code code, const char *fmt, ...) {
    int line = node == NULL ? 1 : (int)node->start_mark.line + 1,
        column = node == NULL ? 1 : (int)node->start_mark.column + 1;
    char text[1200];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    fz_fail(yaml->err, code, "%s:%d:%d: %s", yaml->file, line, column, text);
    fz_err_at(yaml->err, line, column);
    return code;
}

static const char *kind_name(const yaml_node_t *node) {
    return node == NULL                       ? "nothing"
           : node->type == YAML_SCALAR_NODE   ? "one value"
           : node->type == YAML_SEQUENCE_NODE ? "a list"
                                              : "a mapping";
}

const char *fz_yaml_nearest(const char *text, const char *const *names, size_t n) {
    const char *best = NULL;
    size_t distance = strlen(text) / 2 + 1;
    for (size_t i = 0; i < n; i++) {
        size_t d = fz_edit_distance(fz_str_of(text), fz_str_of(names[i]));
        if (d < distance) {
            distance = d;
            best = names[i];
        }
    }
    return best;
}

enum fz_code fz_yaml_text(struct fz_yaml *yaml, yaml_node_t *node, const char **out) {
    if (node == NULL || node->type != YAML_SCALAR_NODE) {
        return fz_yaml_fail(yaml, node, FZ_INVALID_ARG, "one value is wanted here, not %s", kind_name(node));
    }
    if (node->data.scalar.length == 0 ||
        (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE && strcmp((char *)node->data.scalar.value, "~") == 0)) {
        if (node->data.scalar.style == YAML_PLAIN_SCALAR_STYLE) {
            return fz_yaml_fail(yaml, node, FZ_INVALID_ARG, "the value is missing");
        }
    }
    if (memchr(node->data.scalar.value, 0, node->data.scalar.length) != NULL) {
        return fz_yaml_fail(yaml, node, FZ_INVALID_ARG, "the value holds a zero byte");
    }
    *out = fz_arena_strndup(yaml->arena, (char *)node->data.scalar.value, node->data.scalar.length);
    return *out == NULL ? fz_fail_nomem(yaml->err, node->data.scalar.length) : FZ_OK;
}

enum fz_code fz_yaml_texts(struct fz_yaml *yaml, yaml_node_t *node, const char ***out, size_t *n) {
    enum fz_code rc = FZ_OK;
    if (node->type == YAML_MAPPING_NODE) {
        return fz_yaml_fail(yaml, node, FZ_INVALID_ARG, "a list is wanted here, not a mapping");
    }
    size_t count =
        node->type == YAML_SCALAR_NODE ? 1 : (size_t)(node->data.sequence.items.top - node->data.sequence.items.start);
    const char **items = fz_arena_array(yaml->arena, count + 1, sizeof *items);
    if (items == NULL) {
        return fz_fail_nomem(yaml->err, count);
    }
    for (size_t i = 0; i < count; i++) {
        yaml_node_t *item = node->type == YAML_SCALAR_NODE
                                ? node
                                : yaml_document_get_node(yaml->document, node->data.sequence.items.start[i]);
        FZ_TRY(fz_yaml_text(yaml, item, &items[i]));
        for (size_t k = 0; k < i; k++) {
            if (strcmp(items[k], items[i]) == 0) {
                rc = fz_yaml_fail(yaml, item, FZ_INVALID_ARG, "\"%s\" is in the list twice", items[i]);
                goto out;
            }
        }
    }
    *out = items;
    *n = count;
out:
    return rc;
}

enum fz_code fz_yaml_count(struct fz_yaml *yaml, yaml_node_t *node, int64_t min, int64_t max, int64_t *out) {
    const char *text = NULL;
    enum fz_code rc = fz_yaml_text(yaml, node, &text);
    if (rc != FZ_OK) {
        return rc;
    }
    char plain[32];
    size_t len = 0;
    for (const char *p = text; *p != 0 && len < sizeof plain - 1; p++) {
        if (*p != '_') {
            plain[len++] = *p;
        }
    }
    plain[len] = 0;
    if (!fz_parse_i64((struct fz_str){plain, len}, out) || *out < min || *out > max) {
        return fz_yaml_fail(yaml, node, FZ_INVALID_ARG, "\"%s\" is not a whole number from %lld to %lld", text,
                            (long long)min, (long long)max);
    }
    return FZ_OK;
}

enum fz_code fz_yaml_choice(struct fz_yaml *yaml, yaml_node_t *node, const char *const *names, size_t n, int *out) {
    const char *text = NULL;
    enum fz_code rc = fz_yaml_text(yaml, node, &text);
    if (rc != FZ_OK) {
        return rc;
    }
    struct fz_buf list = {0};
    for (size_t i = 0; i < n; i++) {
        if (strcmp(text, names[i]) == 0) {
            *out = (int)i;
            fz_buf_dispose(&list);
            return FZ_OK;
        }
        fz_buf_printf(&list, "%s%s", i == 0 ? "" : i + 1 == n ? " or " : ", ", names[i]);
    }
    const char *nearest = fz_yaml_nearest(text, names, n);
    rc = fz_yaml_fail(yaml, node, FZ_INVALID_ARG, "\"%s\" is not one of %s%s%s%s", text,
                      list.ptr == NULL ? "" : list.ptr, nearest == NULL ? "" : "; did you mean ",
                      nearest == NULL ? "" : nearest, nearest == NULL ? "" : "?");
    fz_buf_dispose(&list);
    return rc;
}

enum fz_code fz_yaml_bool(struct fz_yaml *yaml, yaml_node_t *node, bool *out) {
    static const char *const names[] = {"false", "true"};
    int which = 0;
    enum fz_code rc = fz_yaml_choice(yaml, node, names, 2, &which);
    *out = which == 1;
    return rc;
}

enum fz_code fz_yaml_pairs(struct fz_yaml *yaml, yaml_node_t *node, const char *what,
                           enum fz_code (*each)(struct fz_yaml *yaml, const char *key, yaml_node_t *key_node,
                                                yaml_node_t *value, void *target),
                           void *target) {
    enum fz_code rc = FZ_OK;
    if (node == NULL || node->type != YAML_MAPPING_NODE) {
        return fz_yaml_fail(yaml, node, FZ_INVALID_ARG, "%s is a mapping (key: value), not %s", what, kind_name(node));
    }
    for (yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
        yaml_node_t *key = yaml_document_get_node(yaml->document, pair->key),
                    *value = yaml_document_get_node(yaml->document, pair->value);
        const char *name = NULL;
        FZ_TRY(fz_yaml_text(yaml, key, &name));
        for (yaml_node_pair_t *other = node->data.mapping.pairs.start; other < pair; other++) {
            yaml_node_t *earlier = yaml_document_get_node(yaml->document, other->key);
            if (earlier->type == YAML_SCALAR_NODE && strcmp((char *)earlier->data.scalar.value, name) == 0) {
                rc = fz_yaml_fail(yaml, key, FZ_INVALID_ARG, "%s is given twice; first in line %d", name,
                                  (int)earlier->start_mark.line + 1);
                goto out;
            }
        }
        FZ_TRY(each(yaml, name, key, value, target));
    }
out:
    return rc;
}

struct map_walk {
    const char *what;
    const struct fz_yaml_key *keys;
    size_t n_keys;
    void *target;
};

static enum fz_code read_key(struct fz_yaml *yaml, const char *name, yaml_node_t *key_node, yaml_node_t *value,
                             void *ctx) {
    struct map_walk *walk = ctx;
    for (size_t i = 0; i < walk->n_keys; i++) {
        const struct fz_yaml_key *key = &walk->keys[i];
        if (strcmp(key->name, name) == 0) {
            return key->read != NULL
                       ? key->read(yaml, value, walk->target)
                       : fz_yaml_fail(yaml, key_node, FZ_UNSUPPORTED, "[UNSUPPORTED] %s: %s", name, key->later);
        }
    }
    const char *names[64];
    size_t n = walk->n_keys < 64 ? walk->n_keys : 64;
    struct fz_buf list = {0};
    for (size_t i = 0; i < n; i++) {
        names[i] = walk->keys[i].name;
        fz_buf_printf(&list, "%s%s", i == 0 ? "" : ", ", names[i]);
    }
    const char *nearest = fz_yaml_nearest(name, names, n);
    enum fz_code rc;
    if (nearest != NULL) {
        rc = fz_yaml_fail(yaml, key_node, FZ_INVALID_ARG, "unknown key \"%s\" in %s; did you mean %s?", name,
                          walk->what, nearest);
    } else {
        rc = fz_yaml_fail(yaml, key_node, FZ_INVALID_ARG, "unknown key \"%s\" in %s; known are %s", name, walk->what,
                          list.ptr == NULL ? "none" : list.ptr);
    }
    fz_buf_dispose(&list);
    return rc;
}

enum fz_code fz_yaml_map(struct fz_yaml *yaml, yaml_node_t *node, const char *what, const struct fz_yaml_key *keys,
                         size_t n_keys, void *target) {
    struct map_walk walk = {what, keys, n_keys, target};
    return fz_yaml_pairs(yaml, node, what, read_key, &walk);
}
