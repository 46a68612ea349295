// What parquet_copy.c (whole chunks) and parquet_patch.c (chunks of which some pages are encoded again) share: the bytes of a row group
// that were fetched, its pages, and bounds out of statistics.
#ifndef FZ_FORMAT_PARQUET_PARQUET_COPY_PRIV_H
#define FZ_FORMAT_PARQUET_PARQUET_COPY_PRIV_H

#include "format/parquet/parquet_copy.h"
#include "format/parquet/parquet_reader_priv.h"
#include "format/parquet/parquet_writer_priv.h"

#define FZ_PC_OURS "frazil version" // how created_by of our own files begins

struct fz_pc_piece { // a range of the file wanted for one leaf
    int64_t offset;
    size_t len;
    const char *bytes; // with slack behind the last piece
};
enum { FZ_PC_CHUNK, FZ_PC_COLUMN_INDEX, FZ_PC_OFFSET_INDEX, FZ_PC_PIECES }; // pieces of a leaf

struct fz_pc_job {
    const struct fz_parquet_copy *copy;
    struct fz_cancel *cancel;
    struct fz_parquet_group *group;
    struct fz_pc_piece *pieces; // FZ_PC_PIECES per leaf
    size_t n_pieces;
    const struct fz_pqr_node **sources; // per leaf of the encoder; NULL: not from the file
};

struct fz_pc_page { // a data page
    size_t at, size; // within the chunk, header included
    int64_t first_row, n_rows; // of columns inside lists and maps: by fz_pc_pages_place
    int32_t n_values;
    int64_t raw; // header and body before compression
    int encoding;
    bool is_v2;
};
struct fz_pc_pages {
    struct fz_pc_page *items; // freed by fz_pc_pages_dispose
    size_t n;
    size_t dict_size; // the dictionary page in front, header included; 0: none
    int64_t dict_raw;
    int dict_encoding;
    size_t size; // bytes up to the end of the last page
    int64_t raw;
};

enum fz_code fz_pc_corrupt(const struct fz_pc_job *job, const struct fz_pw_leaf *leaf, const char *what,
                           struct fz_err *err);
// Headers of all pages of a chunk of `num_values` values.
enum fz_code fz_pc_pages_walk(const struct fz_pc_job *job, const struct fz_pw_leaf *leaf,
                              const struct fz_pc_piece *piece, int64_t num_values, struct fz_pc_pages *out,
                              struct fz_err *err);
// Which rows the pages of leaf `ix` hold, where values are not rows: by the offset index, which has to fit.
enum fz_code fz_pc_pages_place(const struct fz_pc_job *job, const struct fz_pw_leaf *leaf, size_t ix,
                               struct fz_pc_pages *pages, struct fz_err *err);
void fz_pc_pages_dispose(struct fz_pc_pages *pages);
// Statistics bytes as one side of a range (which is not `set` by it). False: not of the right length, or NaN.
bool fz_pc_parse_side(const struct fz_pw_leaf *leaf, struct fz_str bytes, bool upper, struct fz_pw_range *range);
// Without column orders the order of min_value and max_value is not said; DuckDB's is what everybody's is.
bool fz_pc_order_is_known(const struct fz_pq_file *meta);

// parquet_patch.c: the chunk of leaf `ix` with the job's patch applied, in group->chunks[ix]. `values` NULL: no row gets a new value; for
// a leaf of a nested column it is.
enum fz_code fz_pc_patch_leaf(struct fz_pc_job *job, struct fz_parquet_encoder *w, size_t ix,
                              const struct fz_column *values, struct fz_err *err);

#endif
