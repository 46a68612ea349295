// A walk over a YAML document by tables of known keys: unknown keys, keys given twice and wrong kinds of values are errors with file,
// line, column and the nearest known key. Over libyaml's document tree; nothing outside cdc/pipeline.c uses it.
#ifndef FZ_CDC_YAML_WALK_H
#define FZ_CDC_YAML_WALK_H

#include <yaml.h>

#include "base/mem.h"

struct fz_yaml {
    yaml_document_t *document;
    const char *file;
    struct fz_arena *arena;
    struct fz_err *err;
};
typedef enum fz_code (*fz_yaml_read_fn)(struct fz_yaml *yaml, yaml_node_t *value, void *target);
struct fz_yaml_key {
    const char *name;
    fz_yaml_read_fn read; // NULL: `later` says what is not there yet
    const char *later;
};
// An error at a node.
enum fz_code fz_yaml_fail(struct fz_yaml *yaml, const yaml_node_t *node, enum fz_code code, const char *fmt, ...)
    FZ_PRINTF(4, 5);
enum fz_code fz_yaml_map(struct fz_yaml *yaml, yaml_node_t *node, const char *what, const struct fz_yaml_key *keys,
                         size_t n_keys, void *target);
// Calls `each` for every pair of a mapping whose keys are free text; keys given twice are refused.
enum fz_code fz_yaml_pairs(struct fz_yaml *yaml, yaml_node_t *node, const char *what,
                           enum fz_code (*each)(struct fz_yaml *yaml, const char *key, yaml_node_t *key_node,
                                                yaml_node_t *value, void *target),
                           void *target);
enum fz_code fz_yaml_text(struct fz_yaml *yaml, yaml_node_t *node, const char **out);
enum fz_code fz_yaml_texts(struct fz_yaml *yaml, yaml_node_t *node, const char ***out,
                           size_t *n); // a list, or one text
enum fz_code fz_yaml_count(struct fz_yaml *yaml, yaml_node_t *node, int64_t min, int64_t max,
                           int64_t *out); // 500000, 500_000, 256MB is not
enum fz_code fz_yaml_bool(struct fz_yaml *yaml, yaml_node_t *node, bool *out);
// One of `names`; *out is its index.
enum fz_code fz_yaml_choice(struct fz_yaml *yaml, yaml_node_t *node, const char *const *names, size_t n, int *out);
// The name nearest to `text`, or NULL when none is near.
const char *fz_yaml_nearest(const char *text, const char *const *names, size_t n);

#endif
