// What parquet_patch.c (pages) and parquet_patch_bounds.c (counts, bounds and page index of the chunk they make) share.
#ifndef FZ_FORMAT_PARQUET_PARQUET_PATCH_PRIV_H
#define FZ_FORMAT_PARQUET_PARQUET_PATCH_PRIV_H

#include "format/parquet/parquet_copy_priv.h"

struct fz_pp {
    struct fz_pc_job *job;
    struct fz_parquet_encoder *w;
    struct fz_pw_leaf *leaf;
    const struct fz_parquet_patch *rows;
    const struct fz_column *values; // NULL: rows only go away
    const struct fz_pq_column_chunk *from;
    const struct fz_pc_piece *chunk;
    struct fz_pc_pages pages;
    uint8_t *touched; // per page
    bool whole;
    bool has_index; // entries of copied pages are known
    struct fz_pq_column_index index;
    // decoding
    struct fz_pqr_leaf cursor;
    struct fz_pqr_target target;
    struct fz_column column;
    struct fz_buf scratch;
    bool has_dict, dict_full;
    size_t next_gone, next_row; // in the patch
    bool nested;
    uint32_t *slot_rows, *lost; // of a nested column: values of the levels that stay, and those that do not
    size_t slot_rows_cap, lost_cap;
    // old rows
    bool old_lo, old_hi; // bounds of the old chunk are known, exact or not
    struct fz_pw_range old, removed, kept;
    int64_t touched_nulls, touched_values; // of pages that are encoded again, before
};

// parquet_patch.c: page `i` at hand; the values of its next `n` rows into p->column, densely in nested columns: *n_values of them.
enum fz_code fz_pp_open_page(struct fz_pp *p, size_t i, struct fz_err *err);
enum fz_code fz_pp_read(struct fz_pp *p, size_t n, size_t *n_values, struct fz_err *err);
// parquet_patch_bounds.c: the old column index, when it says something of every page that is written as it is; the old chunk's bounds.
enum fz_code fz_pp_load_index(struct fz_pp *p, const struct fz_pc_piece *piece, struct fz_err *err);
void fz_pp_take_old_bounds(struct fz_pp *p);
// Widens `range` by the valid ones among `n` rows of a column (`rows` NULL: the first n).
enum fz_code fz_pp_add_to_range(struct fz_pp *p, const struct fz_column *column, const uint32_t *rows, size_t n,
                                struct fz_pw_range *range, struct fz_err *err);
// Bounds of the whole chunk: those of the new pages are in leaf->chunk_range. *known false: there are none. A side that is only a bound
// stays one (*loose).
enum fz_code fz_pp_merge_bounds(struct fz_pp *p, int64_t copied_values, bool *known, bool loose[2], struct fz_err *err);
// The order of pages as their entries are written.
void fz_pp_order_pages(struct fz_pw_leaf *leaf);

#endif
