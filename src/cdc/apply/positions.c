// Source positions in snapshot summaries: see apply.h.
#include "cdc/apply/apply.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/text.h"
#include "cdc/json.h"

struct entry {
    const char *topic;
    int32_t partition;
    int64_t offset;
};

static int by_name(const void *a, const void *b) {
    const struct entry *x = a, *y = b;
    int c = strcmp(x->topic, y->topic);
    return c != 0 ? c : (x->partition > y->partition) - (x->partition < y->partition);
}

// {"topic":{"0":12,"1":7}}, topics and partitions in order: equal positions are equal texts.
enum fz_code fz_positions_print(struct fz_buf *out, const struct fz_map *positions, struct fz_err *err) {
    struct entry *entries = fz_calloc(positions->n_live + 1, sizeof *entries);
    size_t n = 0;
    if (entries == NULL) {
        return fz_fail_nomem(err, positions->n_live * sizeof *entries);
    }
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(positions, e)) != NULL;) {
        entries[n] = (struct entry){.topic = e->key.ptr, .offset = e->value.i64};
        memcpy(&entries[n++].partition, e->key.ptr + e->key.len - sizeof(int32_t), sizeof(int32_t));
    }
    qsort(entries, n, sizeof *entries, by_name);
    fz_buf_putc(out, '{');
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && strcmp(entries[i].topic, entries[i - 1].topic) == 0;
        if (!same) {
            fz_buf_puts(out, i == 0 ? "" : "},");
            fz_json_quote(out, fz_str_of(entries[i].topic));
            fz_buf_puts(out, ":{");
        }
        fz_buf_printf(out, "%s\"%d\":%" PRId64, same ? "," : "", (int)entries[i].partition, entries[i].offset);
    }
    fz_buf_puts(out, n == 0 ? "}" : "}}");
    fz_free(entries);
    return fz_buf_check(out, err);
}

static enum fz_code parse_topic(struct fz_map *positions, struct fz_json *json, struct fz_str topic, struct fz_buf *key,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool first = true;
    struct fz_str name;
    char *text = fz_strndup(topic.ptr, topic.len);
    if (text == NULL) {
        return fz_fail_nomem(err, topic.len);
    }
    fz_json_enter(json, '{');
    while (fz_json_next_member(json, &first, &name)) {
        int64_t partition, offset = 0;
        struct fz_map_entry *entry;
        bool added;
        if (!fz_parse_i64(name, &partition) || partition < 0 || partition > INT32_MAX ||
            !fz_json_read_i64(json, &offset)) {
            json->error = json->error != NULL ? json->error : "a partition that is no number";
            break;
        }
        fz_cdc_stream_key(key, text, (int32_t)partition);
        FZ_TRY(fz_map_put(positions, (struct fz_str){key->ptr, key->len}, &entry, &added, err));
        if (added || entry->value.i64 < offset) {
            entry->value.i64 = offset;
        }
    }
out:
    fz_free(text);
    return rc;
}

enum fz_code fz_positions_parse(struct fz_map *positions, const char *text, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_buf key = {0};
    struct fz_json json;
    bool first = true;
    struct fz_str topic;
    fz_json_init(&json, fz_str_of(text), &arena);
    fz_json_enter(&json, '{');
    while (fz_json_next_member(&json, &first, &topic)) {
        FZ_TRY(parse_topic(positions, &json, topic, &key, err));
    }
    if (json.error != NULL || !fz_json_at_end(&json)) {
        rc = fz_fail(err, FZ_CORRUPT, "frazil.positions in the snapshot summary: %s",
                     json.error == NULL ? "something stands behind it" : json.error);
    }
out:
    fz_buf_dispose(&key);
    fz_arena_dispose(&arena);
    return rc;
}

const char *fz_positions_of(const struct fz_metadata *metadata, const char *pipeline) {
    const struct fz_snapshot *s = fz_metadata_current_snapshot(metadata);
    for (size_t steps = 0; s != NULL && steps <= metadata->n_snapshots; steps++) {
        const char *name = fz_snapshot_summary(s, "frazil.pipeline"),
                   *positions = fz_snapshot_summary(s, "frazil.positions");
        if (name != NULL && positions != NULL && strcmp(name, pipeline) == 0) {
            return positions;
        }
        s = s->parent_snapshot_id < 0 ? NULL : fz_metadata_snapshot(metadata, s->parent_snapshot_id);
    }
    return NULL;
}
