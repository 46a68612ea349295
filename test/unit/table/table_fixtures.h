// Files of the shared corpus for tests of table/: where they are, reading them, JSON lines. Tests skip with a message without it.
#ifndef FZ_TEST_TABLE_FIXTURES_H
#define FZ_TEST_TABLE_FIXTURES_H

#include "leak_check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>

static inline const char *corpus_dir(void) {
    static char dir[1024];
    const char *env = getenv("FRAZIL_SHARED_DATA");
    (void)snprintf(dir, sizeof dir, "%s/iceberg", env != NULL ? env : FZ_SOURCE_DIR "/../shared/data");
    return dir;
}

static inline bool read_path(const char *path, struct fz_buf *out) {
    FILE *f = fopen(path, "rb");
    if (f == NULL) {
        return false;
    }
    char chunk[65536];
    size_t n;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) {
        fz_buf_append(out, chunk, n);
    }
    (void)fclose(f);
    return true;
}

static inline bool read_corpus(const char *name, struct fz_buf *out) {
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", corpus_dir(), name);
    return read_path(path, out);
}

// Calls fn for each JSON line of a corpus file; skips the test when the file is not there.
static inline void for_each_line(const char *name, void (*fn)(const json_t *line)) {
    struct fz_buf text = {0};
    if (!read_corpus(name, &text)) {
        print_message("no %s/%s: skipped\n", corpus_dir(), name);
        fz_buf_dispose(&text);
        skip();
    }
    char *save = NULL;
    for (char *line = strtok_r(text.ptr, "\n", &save); line != NULL; line = strtok_r(NULL, "\n", &save)) {
        json_t *json = json_loads(line, 0, NULL);
        assert_non_null(json);
        fn(json);
        json_decref(json);
    }
    fz_buf_dispose(&text);
}

static inline const char *text_of(const json_t *object, const char *key) {
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static inline int64_t int_of(const json_t *object, const char *key) {
    return json_integer_value(json_object_get(object, key));
}

#endif
