// Implementation of upkeep/rewrite_files.h: choose files, write the rows of each group past their deletes (row_rewrite.h), commit.
#include "upkeep/rewrite_files.h"

#include <stdlib.h>

#include "base/text.h"
#include "change/change.h"
#include "change/row_rewrite.h"

struct rewriter {
    const struct fz_rewrite_request *request;
    struct fz_rewrite_options o; // defaults filled in
    struct fz_metadata *metadata;
    const struct fz_schema *schema;
    int64_t head_id, head_sequence;
    struct fz_arena arena;
    struct fz_scan_plan *plan;
    size_t *candidates; // file indexes, sorted by group
    size_t n_candidates;
    uint8_t *chosen; // per file of the plan: 0, or rewritten
    char operation_id[37];
    struct fz_table_writer *writer;
    struct fz_data_file *added, *removed;
    size_t n_added, n_removed;
    const char **referenced;
};

static void fill_defaults(struct rewriter *r) {
    struct fz_rewrite_options *o = &r->o;
    int64_t target = fz_metadata_property_i64(r->metadata, "write.target-file-size-bytes", 512 << 20);
    o->target_file_size_bytes = o->target_file_size_bytes > 0 ? o->target_file_size_bytes
                                : target > 0                  ? target
                                                              : 512 << 20;
    o->min_file_size_bytes = o->min_file_size_bytes > 0 ? o->min_file_size_bytes : o->target_file_size_bytes / 4 * 3;
    o->max_file_size_bytes = o->max_file_size_bytes > 0 ? o->max_file_size_bytes : o->target_file_size_bytes / 5 * 9;
    o->max_group_size_bytes = o->max_group_size_bytes > 0 ? o->max_group_size_bytes : (int64_t)100 << 30;
    o->min_input_files = o->min_input_files > 0 ? o->min_input_files : 5;
    o->delete_file_threshold = o->delete_file_threshold > 0 ? o->delete_file_threshold : INT32_MAX;
    o->delete_ratio_threshold = o->delete_ratio_threshold > 0 ? o->delete_ratio_threshold : 0.3;
}

static enum fz_code plan_files(struct rewriter *r, struct fz_err *err) {
    struct fz_scan_options options = {
        .store = r->request->store,
        .metadata = r->metadata,
        .snapshot_id = r->head_id,
        .schema = r->schema,
        .filter = r->o.filter,
        .cancel = r->request->cancel,
    };
    return fz_scan_plan_new(&options, &r->plan, err);
}

// Whether enough of a file is deleted to write it again: by the deletes that are known to be of this file alone.
static bool many_deletes(const struct rewriter *r, const struct fz_scan_file *file) {
    int64_t deleted = 0;
    if ((int64_t)file->n_deletes >= r->o.delete_file_threshold) {
        return true;
    }
    for (size_t i = 0; i < file->n_deletes; i++) {
        const struct fz_data_file *d = &file->deletes[i]->file;
        deleted += d->content == FZ_CONTENT_POSITION_DELETES && fz_delete_is_file_scoped(d) ? d->record_count : 0;
    }
    int64_t rows = file->entry->file.record_count;
    deleted = deleted < rows ? deleted : rows;
    return rows > 0 && (double)deleted / (double)rows >= r->o.delete_ratio_threshold;
}

static bool is_candidate(const struct rewriter *r, const struct fz_scan_file *file) {
    int64_t size = file->entry->file.file_size_in_bytes;
    return r->o.rewrite_all || size < r->o.min_file_size_bytes || size > r->o.max_file_size_bytes ||
           many_deletes(r, file);
}

// Files of one partition belong together; those of an older spec form one group.
static int compare_groups(const struct rewriter *r, size_t a, size_t b) {
    const struct fz_data_file *x = &r->plan->files[a].entry->file, *y = &r->plan->files[b].entry->file;
    bool old_x = x->spec_id != r->metadata->default_spec_id, old_y = y->spec_id != r->metadata->default_spec_id;
    if (old_x != old_y) {
        return old_x ? 1 : -1;
    }
    return old_x || x->partition.u.nested.n == 0 || fz_value_equal(&x->partition, &y->partition)
               ? 0
               : fz_value_compare(&x->partition, &y->partition);
}

struct sort_item {
    const struct rewriter *r;
    size_t file;
};
static int by_group(const void *a, const void *b) {
    const struct sort_item *x = a, *y = b;
    int c = compare_groups(x->r, x->file, y->file);
    return c != 0 ? c : x->file < y->file ? -1 : x->file > y->file;
}

static enum fz_code list_candidates(struct rewriter *r, struct fz_err *err) {
    struct sort_item *items = fz_arena_array(&r->arena, r->plan->n_files, sizeof *items);
    r->candidates = fz_arena_array(&r->arena, r->plan->n_files, sizeof *r->candidates);
    r->chosen = fz_arena_array(&r->arena, r->plan->n_files, 1);
    if (items == NULL || r->candidates == NULL || r->chosen == NULL) {
        return fz_fail_nomem(err, r->plan->n_files * sizeof *items);
    }
    for (size_t i = 0; i < r->plan->n_files; i++) {
        if (is_candidate(r, &r->plan->files[i])) {
            items[r->n_candidates++] = (struct sort_item){r, i};
        }
    }
    if (r->n_candidates > 0) {
        qsort(items, r->n_candidates, sizeof *items, by_group);
    }
    for (size_t i = 0; i < r->n_candidates; i++) {
        r->candidates[i] = items[i].file;
    }
    return FZ_OK;
}

// A bin of files is worth it when it has enough files, enough bytes for a full file of its own, or a file with many deletes.
static bool worth_it(const struct rewriter *r, const size_t *files, size_t n, int64_t bytes) {
    if (r->o.rewrite_all || (n > 1 && (int64_t)n >= r->o.min_input_files) ||
        (n > 1 && bytes > r->o.target_file_size_bytes)) {
        return true;
    }
    for (size_t i = 0; i < n; i++) {
        const struct fz_scan_file *file = &r->plan->files[files[i]];
        if (file->entry->file.file_size_in_bytes > r->o.max_file_size_bytes || many_deletes(r, file)) {
            return true;
        }
    }
    return false;
}

// Row groups of files without deletes are copied where they are large enough and of the form that the table asks for now.
static enum fz_code rewrite_bin(struct rewriter *r, const size_t *files, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_row_rewrite_stats stats = {0};
    uint8_t *only = fz_calloc(r->plan->n_files, 1);
    struct fz_positions **removed =
        fz_calloc(r->plan->n_files, sizeof *removed); // nothing besides the deletes there are
    if (only == NULL || removed == NULL) {
        rc = fz_fail_nomem(err, r->plan->n_files * sizeof *removed);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        only[files[i]] = 1;
        r->chosen[files[i]] = 1;
    }
    struct fz_row_rewrite rewrite = {
        .plan = r->plan,
        .store = r->request->store,
        .writer = r->writer,
        .schema = r->schema,
        .lineage = r->metadata->format_version >= 3, // rows keep their ids and the age of their last change
        .cancel = r->request->cancel,
        .files = only,
        .removed = removed,
        .like_new = true,
    };
    FZ_TRY(fz_row_rewrite_run(&rewrite, &stats, err));
    fz_log_write(r->request->log, 4, "%zu files: %lld row groups copied, %lld patched, %lld encoded again", n,
                 (long long)stats.groups_copied, (long long)stats.groups_patched, (long long)stats.groups_encoded);
out:
    fz_free(only);
    fz_free(removed);
    return rc;
}

static enum fz_code rewrite_groups(struct rewriter *r, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_table_writer_options options = {
        .store = r->request->store,
        .metadata = r->metadata,
        .with_lineage = r->metadata->format_version >= 3,
        .operation_id = r->operation_id,
        .cancel = r->request->cancel,
    };
    FZ_TRY(fz_table_writer_new(&options, &r->writer, err));
    for (size_t from = 0; from < r->n_candidates;) {
        size_t to = from;
        int64_t bytes = 0;
        while (to < r->n_candidates && compare_groups(r, r->candidates[from], r->candidates[to]) == 0) {
            int64_t size = r->plan->files[r->candidates[to]].entry->file.file_size_in_bytes;
            if (to > from && bytes + size > r->o.max_group_size_bytes) {
                break;
            }
            bytes += size;
            to++;
        }
        if (worth_it(r, r->candidates + from, to - from, bytes)) {
            FZ_TRY(rewrite_bin(r, r->candidates + from, to - from, err));
        }
        from = to;
    }
    FZ_TRY(fz_table_writer_finish(r->writer, &r->arena, &r->added, &r->n_added, err));
out:
    return rc;
}

// The rewritten files, and the deletes that are of them alone: vectors always, position deletes from version 3 on.
static enum fz_code list_removed(struct rewriter *r, struct fz_rewrite_result *result, struct fz_err *err) {
    size_t cap = 0, n_referenced = 0;
    for (size_t i = 0; i < r->plan->n_files; i++) {
        cap += r->chosen[i] ? 1 + r->plan->files[i].n_deletes : 0;
    }
    r->removed = fz_arena_array(&r->arena, cap, sizeof *r->removed);
    r->referenced = fz_arena_array(&r->arena, cap, sizeof *r->referenced);
    if (r->removed == NULL || r->referenced == NULL) {
        return fz_fail_nomem(err, cap * sizeof *r->removed);
    }
    for (size_t i = 0; i < r->plan->n_files; i++) {
        const struct fz_scan_file *file = &r->plan->files[i];
        if (!r->chosen[i]) {
            continue;
        }
        r->removed[r->n_removed++] = file->entry->file;
        r->referenced[n_referenced++] = file->entry->file.file_path;
        result->rewritten_files++;
        result->rewritten_bytes += file->entry->file.file_size_in_bytes;
        for (size_t d = 0; d < file->n_deletes; d++) {
            const struct fz_data_file *deletes = &file->deletes[d]->file;
            if (deletes->content == FZ_CONTENT_POSITION_DELETES && fz_delete_is_file_scoped(deletes) &&
                (deletes->content_offset >= 0 || r->metadata->format_version >= 3)) {
                r->removed[r->n_removed++] = *deletes;
                result->removed_delete_files++;
            }
        }
    }
    result->added_files = (int64_t)r->n_added;
    return FZ_OK;
}

static enum fz_code commit(struct rewriter *r, struct fz_rewrite_result *result, struct fz_err *err) {
    struct fz_commit_result committed = {0};
    struct fz_commit_request request = {
        .catalog = r->request->catalog,
        .table = r->request->table,
        .store = r->request->store,
        .base = r->metadata,
        .branch = r->o.branch,
        .kind = FZ_COMMIT_REPLACE,
        .added = r->added,
        .n_added = r->n_added,
        .removed = r->removed,
        .n_removed = r->n_removed,
        .isolation = FZ_ISOLATION_SNAPSHOT,
        .scanned_snapshot_id = r->head_id,
        .referenced_files = r->referenced,
        .n_referenced_files = (size_t)result->rewritten_files,
        // New files are as old as what was read, so that equality deletes of other writers still apply to them.
        .added_data_sequence_number = r->o.keep_new_sequence_number ? 0 : r->head_sequence,
        .cancel = r->request->cancel,
        .log = r->request->log,
    };
    enum fz_code rc = fz_commit_snapshot(&request, &committed, err);
    result->snapshot_id = committed.snapshot_id;
    fz_metadata_unref(committed.metadata);
    return rc;
}

enum fz_code fz_rewrite_data_files(const struct fz_rewrite_request *request, struct fz_rewrite_result *out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct rewriter r = {.request = request, .o = request->options, .metadata = request->metadata};
    struct fz_rewrite_result result = {.snapshot_id = -1};
    const struct fz_snapshot *head = fz_branch_head(r.metadata, r.o.branch);
    if (head == NULL) {
        *out = result;
        return FZ_OK;
    }
    r.schema = fz_metadata_current_schema(r.metadata);
    r.head_id = head->snapshot_id;
    r.head_sequence = head->sequence_number;
    fz_uuid_v4(r.operation_id);
    fill_defaults(&r);
    FZ_TRY(plan_files(&r, err));
    FZ_TRY(list_candidates(&r, err));
    FZ_TRY(rewrite_groups(&r, err));
    FZ_TRY(list_removed(&r, &result, err));
    if (result.rewritten_files > 0) {
        FZ_TRY(commit(&r, &result, err));
    }
    *out = result;
out:
    if (rc != FZ_OK && rc != FZ_COMMIT_UNKNOWN) {
        fz_table_writer_abort(r.writer);
    }
    fz_table_writer_free(r.writer);
    fz_scan_plan_unref(r.plan);
    fz_arena_dispose(&r.arena);
    return rc;
}
