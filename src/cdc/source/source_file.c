// The file source: see source_file.h.
#include "cdc/source/source_file.h"

#include <glob.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cdc/json.h"
#include "cdc/source/line_reader_priv.h"

struct source_path {
    const char *path;
    int64_t done; // bytes of uncompressed text that were given out
    int64_t size_seen; // of the file when its end was reached; it is read again when it has grown
};
// The offsets of one partition that were read in this run, as ascending ranges: one, unless the topic has gaps (compaction).
struct offset_range {
    int64_t from, to;
};
struct seen_offsets {
    struct offset_range *ranges;
    size_t n, cap;
};
enum { MAX_RANGES = 1 << 20 };

struct file_source {
    struct fz_cdc_source base;
    struct fz_source_file_options options;
    struct source_path *paths;
    size_t n_paths, cap_paths, at;
    struct fz_line_reader *reader;
    int64_t size_at_open;
    struct fz_map topics; // text -> interned text
    struct fz_map seen; // stream key -> struct seen_offsets
    struct fz_arena scratch;
    struct fz_buf key;
    bool told_incomplete;
};

// Names in order, with runs of digits as numbers: part-2 before part-10.
static int compare_paths(const void *x, const void *y) {
    const char *a = *(char *const *)x, *b = *(char *const *)y;
    const char *const whole_a = a, *const whole_b = b;
    while (*a != 0 && *b != 0) {
        if (*a >= '0' && *a <= '9' && *b >= '0' && *b <= '9') {
            a += strspn(a, "0");
            b += strspn(b, "0");
            size_t n = strspn(a, "0123456789"), m = strspn(b, "0123456789");
            int c = n != m ? (n < m ? -1 : 1) : memcmp(a, b, n);
            if (c != 0) {
                return c;
            }
            a += n;
            b += m;
        } else if (*a != *b) {
            return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
        } else {
            a++;
            b++;
        }
    }
    int c = (*a != 0) - (*b != 0);
    return c != 0 ? c : strcmp(whole_a, whole_b);
}

static enum fz_code list_files(struct file_source *s, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    glob_t found = {0};
    int status = glob(s->options.pattern, GLOB_BRACE | GLOB_TILDE | GLOB_MARK, NULL, &found);
    if (status != 0 && status != GLOB_NOMATCH) {
        rc = fz_fail(err, FZ_IO, "listing %s failed", s->options.pattern);
        goto out;
    }
    if (found.gl_pathc > 1) {
        qsort(found.gl_pathv, found.gl_pathc, sizeof *found.gl_pathv, compare_paths);
    }
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        bool known = path[strlen(path) - 1] == '/'; // a folder
        for (size_t k = 0; k < s->n_paths && !known; k++) {
            known = strcmp(s->paths[k].path, path) == 0;
        }
        if (!known) {
            FZ_TRY(fz_grow((void **)&s->paths, &s->cap_paths, s->n_paths + 1, sizeof *s->paths, err));
            s->paths[s->n_paths] =
                (struct source_path){.path = fz_arena_strdup(s->options.arena, path), .size_seen = -1};
            if (s->paths[s->n_paths].path == NULL) {
                rc = fz_fail_nomem(err, strlen(path));
                goto out;
            }
            s->n_paths++;
        }
    }
    if (s->n_paths == 0) {
        rc = fz_fail(err, FZ_NOT_FOUND, "source file: no file matches %s%s", s->options.pattern,
                     found.gl_pathc > 0 ? "; it is a folder: write "
                                          "\"folder/*\""
                                        : "");
    }
out:
    globfree(&found);
    return rc;
}

static int64_t start_offset(struct file_source *s, const char *topic, int32_t partition) {
    if (s->options.start == NULL) {
        return INT64_MIN;
    }
    fz_cdc_stream_key(&s->key, topic, partition);
    struct fz_map_entry *entry =
        s->key.failed ? NULL : fz_map_find(s->options.start, (struct fz_str){s->key.ptr, s->key.len});
    return entry == NULL ? INT64_MIN : entry->value.i64;
}

static int64_t file_size(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : -1;
}

// Opens the next file that has something new; *open false when there is none.
static enum fz_code open_next(struct file_source *s, bool *is_open, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *is_open = false;
    for (; s->at < s->n_paths; s->at++) {
        struct source_path *p = &s->paths[s->at];
        int64_t from = p->done;
        bool reached = true;
        if (file_size(p->path) == p->size_seen) {
            continue;
        }
        if (from == 0 && !s->options.records_kafka) {
            int64_t start = start_offset(s, p->path, 0);
            from = start > 0 ? start : 0;
        }
        s->size_at_open = file_size(p->path);
        FZ_TRY(fz_line_reader_open(p->path, &s->reader, err));
        FZ_TRY(fz_line_reader_skip(s->reader, from, &reached, err));
        if (!reached) {
            fz_log_write(s->options.log, 1, "%s is shorter than what was read of it before; nothing is read from it",
                         p->path);
            p->size_seen = file_size(p->path);
            fz_line_reader_close(s->reader);
            s->reader = NULL;
            continue;
        }
        *is_open = true;
        return FZ_OK;
    }
out:
    return rc;
}

static const char *intern(struct file_source *s, struct fz_str topic, struct fz_err *err) {
    struct fz_map_entry *entry;
    bool added;
    if (fz_map_put(&s->topics, topic, &entry, &added, err) != FZ_OK) {
        return NULL;
    }
    if (added) {
        entry->value.ptr = fz_arena_strndup(s->options.arena, topic.ptr, topic.len);
        if (entry->value.ptr == NULL) {
            fz_map_remove(&s->topics, topic);
            fz_fail_nomem(err, topic.len);
        }
    }
    return entry->value.ptr;
}

static void set_nullable(struct fz_json *json, struct fz_str *out) {
    struct fz_str raw;
    bool is_null = fz_json_peek(json) == FZ_JSON_NULL;
    if (fz_json_pass(json, &raw) && !is_null) { // checked when it is decoded
        *out = raw;
    }
}

// A wrapped Kafka record. The position of a line that is none stays (path, 0, byte offset).
static enum fz_code read_wrapped(struct file_source *s, struct fz_str line, struct fz_cdc_record *out,
                                 struct fz_err *err) {
    struct fz_json json;
    bool first = true, has_value = false;
    struct fz_str name, topic = {NULL, 0};
    int64_t partition = 0, offset = INT64_MIN;
    fz_json_init(&json, line, &s->scratch);
    if (!fz_json_enter(&json, '{')) {
        out->bad_reason = "BAD_JSON";
        out->bad_text = "the line is not an object";
        return FZ_OK;
    }
    while (fz_json_next_member(&json, &first, &name)) {
        if (fz_str_eq(name, FZ_STR_LIT("topic"))) {
            fz_json_read_string(&json, &topic);
        } else if (fz_str_eq(name, FZ_STR_LIT("partition"))) {
            fz_json_read_i64(&json, &partition);
        } else if (fz_str_eq(name, FZ_STR_LIT("offset"))) {
            fz_json_read_i64(&json, &offset);
        } else if (fz_str_eq(name, FZ_STR_LIT("ts"))) {
            fz_json_read_i64(&json, &out->timestamp_ms);
        } else if (fz_str_eq(name, FZ_STR_LIT("headers"))) {
            set_nullable(&json, &out->headers);
        } else if (fz_str_eq(name, FZ_STR_LIT("key"))) {
            set_nullable(&json, &out->key);
        } else if (fz_str_eq(name, FZ_STR_LIT("value"))) {
            set_nullable(&json, &out->value);
            has_value = true;
        } else {
            fz_json_skip(&json, NULL);
        }
    }
    if (json.error != NULL || !fz_json_at_end(&json)) {
        out->bad_reason = "BAD_JSON";
        out->bad_text = json.error != NULL ? json.error : "something stands behind the object";
    } else if (topic.len == 0 || offset < 0 || partition < 0 || partition > INT32_MAX || !has_value ||
               memchr(topic.ptr, 0, topic.len) != NULL) {
        out->bad_reason = "BAD_RECORD";
        out->bad_text = "topic, partition, offset and value are wanted in a wrapped Kafka record";
    } else {
        const char *interned = intern(s, topic, err);
        if (interned == NULL) {
            return FZ_NOMEM;
        }
        out->position = (struct fz_cdc_position){interned, (int32_t)partition, offset, offset + 1};
        out->has_topic = true;
    }
    return FZ_OK;
}

// Adds a record's offset. One below the highest so far was read already (delivered twice) or is out of order: its position can never be
// reached again once the higher one is committed, so it would be lost without a word.
static enum fz_code see_offset(struct file_source *s, const char *path, const struct fz_cdc_position *at,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_map_entry *entry;
    bool added;
    fz_cdc_stream_key(&s->key, at->topic, at->partition);
    FZ_TRY(fz_buf_check(&s->key, err));
    FZ_TRY(fz_map_put(&s->seen, (struct fz_str){s->key.ptr, s->key.len}, &entry, &added, err));
    if (added) {
        struct seen_offsets *fresh;
        entry->value.ptr = NULL;
        FZ_NEW(fresh, err);
        entry->value.ptr = fresh;
    }
    struct seen_offsets *seen = entry->value.ptr;
    struct offset_range *last = seen->n > 0 ? &seen->ranges[seen->n - 1] : NULL;
    if (last != NULL && at->offset == last->to) {
        last->to++;
        goto out;
    }
    if (last == NULL || at->offset > last->to) {
        if (seen->n == MAX_RANGES) { // the oldest half counts as read
            memmove(seen->ranges, seen->ranges + MAX_RANGES / 2, (MAX_RANGES / 2) * sizeof *seen->ranges);
            seen->n = MAX_RANGES / 2;
            seen->ranges[0].from = INT64_MIN;
        }
        FZ_TRY(fz_grow((void **)&seen->ranges, &seen->cap, seen->n + 1, sizeof *seen->ranges, err));
        seen->ranges[seen->n++] = (struct offset_range){at->offset, at->offset + 1};
        goto out;
    }
    size_t low = 0, high = seen->n; // the first range that ends behind the offset
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (seen->ranges[middle].to <= at->offset) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low < seen->n && at->offset < seen->ranges[low].from) {
        rc = fz_fail(err, FZ_INVALID_ARG,
                     "%s: topic %s, partition %d: offset %lld comes after offset %lld; the records of a partition must "
                     "be in the order of "
                     "their offsets, over all files in the order of their names (part-2 before part-10)",
                     path, at->topic, (int)at->partition, (long long)at->offset, (long long)last->to - 1);
    }
out:
    return rc;
}

static bool is_blank(struct fz_str line) {
    for (size_t i = 0; i < line.len; i++) {
        if (line.ptr[i] != ' ' && line.ptr[i] != '\t') {
            return false;
        }
    }
    return true;
}

// The last line of a file that is still being written is left for later.
static bool is_incomplete(struct file_source *s, struct fz_str line) {
    struct fz_json json;
    fz_json_init(&json, line, &s->scratch);
    return !fz_json_skip(&json, NULL);
}

static enum fz_code read_line(struct file_source *s, struct source_path *p, struct fz_cdc_record *out, bool *found,
                              bool *file_end, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_str line;
    int64_t offset, next_offset;
    bool terminated, any;
    *found = *file_end = false;
    FZ_TRY(fz_line_reader_next(s->reader, &line, &offset, &next_offset, &terminated, &any, err));
    if (!any || (!terminated && is_incomplete(s, line))) {
        if (any && !s->told_incomplete) {
            fz_log_write(s->options.log, 1, "%s: the last line is not complete yet; it is read when it is", p->path);
            s->told_incomplete = true;
        }
        *file_end = true;
        return FZ_OK;
    }
    p->done = next_offset;
    if (is_blank(line)) {
        return FZ_OK;
    }
    *out = (struct fz_cdc_record){.position = {p->path, 0, offset, next_offset}, .timestamp_ms = -1, .raw = line};
    *found = true;
    if (!fz_utf8_valid(line.ptr, line.len)) {
        out->bad_reason = "BAD_TEXT";
        out->bad_text = "the line is not valid UTF-8";
    } else if (s->options.records_kafka) {
        FZ_TRY(read_wrapped(s, line, out, err));
        if (out->bad_reason == NULL &&
            out->position.offset < start_offset(s, out->position.topic, out->position.partition)) {
            *found = false;
        } else if (out->bad_reason == NULL) {
            FZ_TRY(see_offset(s, p->path, &out->position, err));
        }
    } else {
        out->value = line;
    }
    if (*found && out->bad_reason != NULL && offset < start_offset(s, p->path, 0)) {
        *found = false; // in the quarantine already
    }
out:
    return rc;
}

static enum fz_code next(struct fz_cdc_source *source, struct fz_cdc_record *out, bool *found, struct fz_err *err) {
    struct file_source *s = (struct file_source *)source;
    enum fz_code rc = FZ_OK;
    *found = false;
    if (s->scratch.used_bytes > (1u << 20)) {
        fz_arena_dispose(&s->scratch);
    }
    while (!*found) {
        bool file_end = false;
        if (s->reader == NULL) {
            bool is_open;
            FZ_TRY(fz_cancel_check(s->options.cancel, err));
            FZ_TRY(open_next(s, &is_open, err));
            if (!is_open) { // from the top the next time
                FZ_TRY(list_files(s, err));
                s->at = 0;
                return FZ_OK;
            }
        }
        FZ_TRY(read_line(s, &s->paths[s->at], out, found, &file_end, err));
        if (file_end) {
            s->paths[s->at].size_seen = s->size_at_open;
            fz_line_reader_close(s->reader);
            s->reader = NULL;
            s->at++;
        }
    }
out:
    return rc;
}

static void source_free(struct fz_cdc_source *source) {
    struct file_source *s = (struct file_source *)source;
    fz_line_reader_close(s->reader);
    fz_free(s->paths);
    fz_map_dispose(&s->topics);
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&s->seen, e)) != NULL;) {
        struct seen_offsets *seen = e->value.ptr;
        if (seen != NULL) {
            fz_free(seen->ranges);
            fz_free(seen);
        }
    }
    fz_map_dispose(&s->seen);
    fz_buf_dispose(&s->key);
    fz_arena_dispose(&s->scratch);
    fz_free(s);
}

static const struct fz_cdc_source_vtable VTABLE = {next, source_free};

enum fz_code fz_cdc_source_file_open(const struct fz_source_file_options *options, struct fz_cdc_source **out,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct file_source *s = NULL;
    const char *scheme = strstr(options->pattern, "://");
    if (scheme != NULL && strncmp(options->pattern, "file://", 7) != 0) {
        return fz_fail(err, FZ_UNSUPPORTED,
                       "[UNSUPPORTED] source file: %s: object stores are not there yet; use local files",
                       options->pattern);
    }
    FZ_NEW(s, err);
    s->base.vtable = &VTABLE;
    s->options = *options;
    if (scheme != NULL) {
        s->options.pattern = options->pattern + 7;
    }
    FZ_TRY(list_files(s, err));
    *out = &s->base;
    s = NULL;
out:
    if (s != NULL) {
        source_free(&s->base);
    }
    return rc;
}
