// Which files, row groups and pages can hold a row with one of the keys. Exact keys are held against bounds, then, where few keys are
// left, against bloom filters.
#include "format/parquet/parquet_prune.h"
#include "scan/scan_priv.h"

enum { BLOOM_KEYS = 512, PAGES_WORTH = 8 };

static const struct fz_str *bound_of(const struct fz_id_bytes *bounds, size_t n, int32_t id) {
    for (size_t i = 0; i < n; i++) {
        if (bounds[i].id == id) {
            return &bounds[i].bytes;
        }
    }
    return NULL;
}

static int64_t count_of(const struct fz_id_count *counts, size_t n, int32_t id) {
    for (size_t i = 0; i < n; i++) {
        if (counts[i].id == id) {
            return counts[i].count;
        }
    }
    return -1;
}

bool fz_scan_keys_may_match_file(const struct fz_scan_keys *keys, const struct fz_data_file *file) {
    struct fz_arena arena = {0};
    bool may = true;
    for (size_t i = 0; i < fz_scan_keys_count(keys) && may; i++) {
        const struct fz_scan_key_column *c = fz_scan_keys_column(keys, i);
        const struct fz_str *lower = bound_of(file->lower_bounds, file->n_lower_bounds, c->field_id);
        const struct fz_str *upper = bound_of(file->upper_bounds, file->n_upper_bounds, c->field_id);
        int64_t values = count_of(file->value_counts, file->n_value_counts, c->field_id);
        int64_t nulls = count_of(file->null_value_counts, file->n_null_value_counts, c->field_id);
        struct fz_value min, max;
        struct fz_err ignored = FZ_ERR_INIT;
        bool range = lower != NULL && upper != NULL &&
                     fz_value_from_bound(&arena, c->type, *lower, &min, &ignored) == FZ_OK &&
                     fz_value_from_bound(&arena, c->type, *upper, &max, &ignored) == FZ_OK;
        // Counts that stand alone may belong to a column that the file lacks and that has a default.
        may = !range || fz_scan_keys_may_lie_in(keys, i, &min, &max, values, nulls);
    }
    fz_arena_dispose(&arena);
    return may;
}

// A damaged hint says nothing; the data themselves may be sound.
static enum fz_code unless_damaged(enum fz_code rc, const struct fz_err *inner, struct fz_err *err) {
    if (rc == FZ_OK || rc == FZ_CORRUPT) {
        return FZ_OK;
    }
    if (err != NULL && err->code == FZ_OK) {
        *err = *inner;
    }
    return rc;
}

static enum fz_code ask_bloom(const struct fz_scan_keys *keys, size_t i, struct fz_parquet_file *file, size_t row_group,
                              const struct fz_parquet_stats *stats, struct fz_cancel *cancel, struct fz_arena *arena,
                              bool *may, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_scan_key_column *c = fz_scan_keys_column(keys, i);
    struct fz_parquet_bloom bloom;
    struct fz_scan_key_facts facts;
    int64_t list[BLOOM_KEYS];
    fz_scan_keys_facts(keys, i, &facts);
    if (c->null_matches && facts.n_nulls > 0 && stats->null_count != 0) {
        return FZ_OK; // NULLs are not in the filter
    }
    if (c->type->id == FZ_TYPE_FLOAT || c->type->id == FZ_TYPE_DOUBLE) {
        return FZ_OK; // NaN and -0.0 have several forms
    }
    size_t n = fz_scan_keys_list(keys, i, stats->has_min_max ? stats->min : NULL,
                                 stats->has_min_max ? stats->max : NULL, list, BLOOM_KEYS);
    if (n > BLOOM_KEYS) {
        return FZ_OK; // some key would be found by chance
    }
    struct fz_err inner = FZ_ERR_INIT;
    rc = fz_parquet_file_bloom(file, row_group, c->field_id, c->type, cancel, arena, &bloom, &inner);
    FZ_TRY(unless_damaged(rc, &inner, err));
    bool found = bloom.n_blocks == 0;
    for (size_t k = 0; k < n && !found; k++) {
        found = fz_parquet_bloom_may_have(&bloom, list[k]);
    }
    *may = found;
out:
    return rc;
}

enum fz_code fz_scan_keys_may_match_group(const struct fz_scan_keys *keys, struct fz_parquet_file *file,
                                          size_t row_group, struct fz_cancel *cancel, enum fz_scan_verdict *out,
                                          struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    *out = FZ_SCAN_KEEP;
    for (size_t i = 0; i < fz_scan_keys_count(keys) && *out == FZ_SCAN_KEEP; i++) {
        const struct fz_scan_key_column *c = fz_scan_keys_column(keys, i);
        struct fz_parquet_stats stats = {.value_count = -1, .null_count = -1};
        bool may = true;
        if (!fz_parquet_file_has_field(file, c->field_id)) {
            continue;
        }
        if (fz_parquet_file_stats(file, row_group, c->field_id, c->type, &arena, &stats) &&
            !fz_scan_keys_may_lie_in(keys, i, stats.has_min_max ? stats.min : NULL,
                                     stats.has_min_max ? stats.max : NULL, stats.value_count, stats.null_count)) {
            *out = FZ_SCAN_NOT_BY_KEYS;
            break;
        }
        FZ_TRY(ask_bloom(keys, i, file, row_group, &stats, cancel, &arena, &may, err));
        *out = may ? FZ_SCAN_KEEP : FZ_SCAN_NOT_BY_BLOOM;
    }
out:
    fz_arena_dispose(&arena);
    return rc;
}

// A page index is worth its reading when the keys are few beside the pages that a row group may have.
static bool pages_worth_asking(const struct fz_scan_keys *keys, size_t i, struct fz_parquet_file *file,
                               size_t row_group, struct fz_arena *arena) {
    const struct fz_scan_key_column *c = fz_scan_keys_column(keys, i);
    struct fz_parquet_stats stats;
    int64_t first;
    if (!fz_parquet_file_stats(file, row_group, c->field_id, c->type, arena, &stats) || !stats.has_min_max) {
        return false;
    }
    size_t n = fz_scan_keys_list(keys, i, stats.min, stats.max, &first, 1);
    int64_t rows = fz_parquet_file_meta(file)->row_groups[row_group].num_rows;
    if (fz_scan_keys_are_hashes(keys, i)) { // only their range is known
        return n != SIZE_MAX;
    }
    // Keys that lie close together leave pages out however many they are.
    struct fz_scan_key_facts facts;
    fz_scan_keys_facts(keys, i, &facts);
    return n != SIZE_MAX && (n <= (size_t)(rows / 1000 + PAGES_WORTH) || facts.n_distinct < rows);
}

enum fz_code fz_scan_keys_pages(const struct fz_scan_keys *keys, struct fz_parquet_file *file, size_t row_group,
                                struct fz_cancel *cancel, struct fz_arena *arena, struct fz_scan_rows *out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    *out = (struct fz_scan_rows){0};
    for (size_t i = 0; i < fz_scan_keys_count(keys); i++) {
        const struct fz_scan_key_column *c = fz_scan_keys_column(keys, i);
        struct fz_parquet_page *pages = NULL;
        size_t n = 0;
        if (!pages_worth_asking(keys, i, file, row_group, arena)) {
            continue;
        }
        struct fz_err inner = FZ_ERR_INIT;
        rc = fz_parquet_file_pages(file, row_group, c->field_id, c->type, cancel, arena, &pages, &n, &inner);
        FZ_TRY(unless_damaged(rc, &inner, err));
        if (n == 0) {
            continue;
        }
        struct fz_parquet_row_range *ranges = fz_arena_array(arena, n, sizeof *ranges);
        if (ranges == NULL) {
            rc = fz_fail_nomem(err, n * sizeof *ranges);
            goto out;
        }
        out->n_pages = n;
        out->ranges = ranges;
        for (size_t p = 0; p < n; p++) {
            int64_t nulls = pages[p].all_null ? pages[p].n_rows : pages[p].null_count;
            if (!fz_scan_keys_may_lie_in(keys, i, pages[p].has_min_max ? pages[p].min : NULL,
                                         pages[p].has_min_max ? pages[p].max : NULL, pages[p].n_rows, nulls)) {
                out->n_pages_out++;
            } else if (out->n > 0 && ranges[out->n - 1].end == pages[p].first_row) {
                ranges[out->n - 1].end += pages[p].n_rows;
            } else {
                ranges[out->n++] =
                    (struct fz_parquet_row_range){pages[p].first_row, pages[p].first_row + pages[p].n_rows};
            }
        }
        out->known = true;
        break; // the first key column that has an index; others would have other page boundaries
    }
out:
    return rc;
}
