// Snapshot summaries: counts of what a commit changes and the table's totals (iceberg-facts 5), keys in the order in which
// Java's maps come out in the tables it writes.

#include "base/text.h"
#include "commit/commit_priv.h"

bool fz_commit_is_dv(const struct fz_data_file *file) {
    return file->content == FZ_CONTENT_POSITION_DELETES && strcmp(file->file_format, "PUFFIN") == 0;
}

static void count(struct fz_summary_counts *c, const struct fz_data_file *f, bool added) {
    bool dv = fz_commit_is_dv(f);
    int64_t size = dv && f->content_size_in_bytes >= 0 ? f->content_size_in_bytes : f->file_size_in_bytes;
    *(added ? &c->added_files_size : &c->removed_files_size) += size > 0 ? size : 0;
    if (f->content == FZ_CONTENT_DATA) {
        ++*(added ? &c->added_data_files : &c->deleted_data_files);
        *(added ? &c->added_records : &c->deleted_records) += f->record_count;
        return;
    }
    ++*(added ? &c->added_delete_files : &c->removed_delete_files);
    if (f->content == FZ_CONTENT_EQUALITY_DELETES) {
        ++*(added ? &c->added_equality_delete_files : &c->removed_equality_delete_files);
        *(added ? &c->added_equality_deletes : &c->removed_equality_deletes) += f->record_count;
        return;
    }
    if (dv) {
        ++*(added ? &c->added_dvs : &c->removed_dvs);
    } else {
        ++*(added ? &c->added_position_delete_files : &c->removed_position_delete_files);
    }
    *(added ? &c->added_position_deletes : &c->removed_position_deletes) += f->record_count;
}

enum fz_code fz_commit_count_file(struct fz_attempt *a, const struct fz_data_file *file, bool added,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf key = {0};
    struct fz_map_entry *entry;
    bool is_new;
    count(&a->counts, file, added);
    const struct fz_partition_spec *spec = fz_metadata_spec(a->head, file->spec_id);
    if (spec == NULL) {
        rc = fz_fail(err, FZ_INVALID_ARG, "file %s has the partition spec %d, which the table does not have",
                     file->file_path, file->spec_id);
        goto out;
    }
    fz_buf_printf(&key, "%d/", file->spec_id);
    FZ_TRY(fz_spec_partition_path(&key, spec, &file->partition, err));
    FZ_TRY(fz_map_put(&a->partitions, (struct fz_str){key.ptr, key.len}, &entry, &is_new, err));
    if (is_new) {
        entry->value.ptr = FZ_ARENA_NEW(&a->arena, struct fz_summary_counts);
    }
    if (entry->value.ptr == NULL) {
        rc = fz_fail_nomem(err, sizeof(struct fz_summary_counts));
        goto out;
    }
    count(entry->value.ptr, file, added);
out:
    fz_buf_dispose(&key);
    return rc;
}

const char *fz_commit_operation(const struct fz_commit_request *request) {
    bool data_added = false, deletes_added = false, data_removed = false;
    if (request->operation != NULL) {
        return request->operation;
    }
    for (size_t i = 0; i < request->n_added; i++) {
        data_added = data_added || request->added[i].content == FZ_CONTENT_DATA;
        deletes_added = deletes_added || request->added[i].content != FZ_CONTENT_DATA;
    }
    for (size_t i = 0; i < request->n_removed; i++) {
        data_removed = data_removed || request->removed[i].content == FZ_CONTENT_DATA;
    }
    switch (request->kind) {
    case FZ_COMMIT_APPEND:
        return "append";
    case FZ_COMMIT_REPLACE:
        return "replace";
    case FZ_COMMIT_ROW_DELTA:
        return data_added && !deletes_added && !data_removed ? "append"
               : deletes_added && !data_added                ? "delete"
                                                             : "overwrite";
    case FZ_COMMIT_OVERWRITE:
        return data_removed && !data_added ? "delete" : data_added && !data_removed ? "append" : "overwrite";
    }
    return "overwrite";
}

struct summary {
    struct fz_arena *arena;
    struct fz_property *items;
    size_t n, cap;
    bool failed;
};

static void put_text(struct summary *s, const char *key, const char *value) {
    if (s->n < s->cap && key != NULL && value != NULL) {
        s->items[s->n++] = (struct fz_property){key, value};
    } else {
        s->failed = true;
    }
}

static void put_number(struct summary *s, const char *key, int64_t value) {
    put_text(s, key, fz_arena_printf(s->arena, "%lld", (long long)value));
}

struct count_row {
    const char *key;
    int64_t value;
};

enum { N_COUNTS = 18 };

static void count_rows(const struct fz_summary_counts *c, struct count_row out[N_COUNTS]) {
    const struct count_row rows[N_COUNTS] = {
        {"added-data-files", c->added_data_files},
        {"deleted-data-files", c->deleted_data_files},
        {"added-equality-delete-files", c->added_equality_delete_files},
        {"removed-equality-delete-files", c->removed_equality_delete_files},
        {"added-position-delete-files", c->added_position_delete_files},
        {"removed-position-delete-files", c->removed_position_delete_files},
        {"added-dvs", c->added_dvs},
        {"removed-dvs", c->removed_dvs},
        {"added-delete-files", c->added_delete_files},
        {"removed-delete-files", c->removed_delete_files},
        {"added-records", c->added_records},
        {"deleted-records", c->deleted_records},
        {"added-files-size", c->added_files_size},
        {"removed-files-size", c->removed_files_size},
        {"added-position-deletes", c->added_position_deletes},
        {"removed-position-deletes", c->removed_position_deletes},
        {"added-equality-deletes", c->added_equality_deletes},
        {"removed-equality-deletes", c->removed_equality_deletes},
    };
    memcpy(out, rows, sizeof rows);
}

static void put_counts(struct summary *s, const struct fz_summary_counts *c) {
    struct count_row rows[N_COUNTS];
    count_rows(c, rows);
    for (size_t i = 0; i < N_COUNTS; i++) {
        if (rows[i].value > 0) {
            put_number(s, rows[i].key, rows[i].value);
        }
    }
}

static void put_total(struct summary *s, const struct fz_snapshot *parent, const char *key, int64_t added,
                      int64_t removed) {
    int64_t total = 0;
    const char *before = parent != NULL ? fz_snapshot_summary(parent, key) : "0";
    if (before != NULL && fz_parse_i64(fz_str_of(before), &total) &&
        !__builtin_add_overflow(total, added - removed, &total) && total >= 0) {
        put_number(s, key, total);
    }
}

static void put_totals(struct summary *s, const struct fz_attempt *a) {
    const struct fz_summary_counts *c = &a->counts;
    put_total(s, a->parent, "total-records", c->added_records, c->deleted_records);
    put_total(s, a->parent, "total-files-size", c->added_files_size, c->removed_files_size);
    put_total(s, a->parent, "total-data-files", c->added_data_files, c->deleted_data_files);
    put_total(s, a->parent, "total-delete-files", c->added_delete_files, c->removed_delete_files);
    put_total(s, a->parent, "total-position-deletes", c->added_position_deletes, c->removed_position_deletes);
    put_total(s, a->parent, "total-equality-deletes", c->added_equality_deletes, c->removed_equality_deletes);
}

// partitions.<path> = k=v,k=v, only where there are few enough.
static enum fz_code put_partitions(struct summary *s, struct fz_attempt *a, struct fz_err *err) {
    struct fz_buf text = {0};
    put_text(s, "partition-summaries-included", "true");
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&a->partitions, e)) != NULL;) {
        const char *slash = memchr(e->key.ptr, '/', e->key.len);
        size_t at = slash != NULL ? (size_t)(slash - e->key.ptr) + 1 : 0;
        if (at == e->key.len) {
            continue; // the unpartitioned spec
        }
        struct count_row rows[N_COUNTS];
        count_rows(e->value.ptr, rows);
        fz_buf_clear(&text);
        for (size_t i = 0; i < N_COUNTS; i++) {
            if (rows[i].value > 0) {
                fz_buf_printf(&text, "%s%s=%lld", text.len > 0 ? "," : "", rows[i].key, (long long)rows[i].value);
            }
        }
        put_text(s, fz_arena_printf(s->arena, "partitions.%.*s", (int)(e->key.len - at), e->key.ptr + at),
                 fz_arena_strndup(s->arena, text.ptr != NULL ? text.ptr : "", text.len));
    }
    enum fz_code rc = fz_buf_check(&text, err);
    fz_buf_dispose(&text);
    return rc;
}

static bool is_given(const struct fz_commit_request *request, const char *key) {
    for (size_t i = 0; i < request->n_summary; i++) {
        if (strcmp(request->summary[i].key, key) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_partitioned(const struct fz_attempt *a) {
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&a->partitions, e)) != NULL;) {
        if (e->key.ptr[e->key.len - 1] != '/') {
            return true;
        }
    }
    return false;
}

enum fz_code fz_commit_summary(struct fz_commit *c, struct fz_attempt *a, const struct fz_property **out, size_t *n,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_commit_request *request = c->request;
    struct summary s = {.arena = &a->arena, .cap = request->n_summary + a->partitions.n_live + N_COUNTS + 24};
    s.items = fz_arena_array(&a->arena, s.cap, sizeof *s.items);
    if (s.items == NULL) {
        return fz_fail_nomem(err, s.cap);
    }
    for (size_t i = 0; i < request->n_summary; i++) {
        put_text(&s, request->summary[i].key, request->summary[i].value);
    }
    if (request->wap_id != NULL) {
        put_text(&s, "wap.id", request->wap_id);
    }
    if (request->replace_partitions && !is_given(request, "replace-partitions")) {
        put_text(&s, "replace-partitions", "true");
    }
    put_number(&s, "manifests-created", a->manifests_created);
    put_number(&s, "manifests-kept", a->manifests_kept);
    put_number(&s, "manifests-replaced", a->manifests_replaced);
    put_counts(&s, &a->counts);
    put_number(&s, "changed-partition-count", (int64_t)a->partitions.n_live);
    int64_t limit = fz_metadata_property_i64(a->head, "write.summary.partition-limit", 0);
    if (is_partitioned(a) && (int64_t)a->partitions.n_live <= limit) {
        FZ_TRY(put_partitions(&s, a, err));
    }
    put_totals(&s, a);
    if (!is_given(request, "engine-name")) {
        put_text(&s, "engine-name", "frazil");
    }
    if (!is_given(request, "engine-version")) {
        put_text(&s, "engine-version", "0.1.0");
    }
    if (s.failed) {
        rc = fz_fail_nomem(err, 0);
        goto out;
    }
    *out = s.items;
    *n = s.n;
out:
    return rc;
}
