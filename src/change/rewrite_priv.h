// Inside of fz_row_rewrite_run: rewrite.c shares out the work and copies row groups, rewrite_plan.c decides what is copied and finds what
// changes in it, rewrite_rows.c reads rows, lays new values over them and encodes them again.
#ifndef FZ_CHANGE_REWRITE_PRIV_H
#define FZ_CHANGE_REWRITE_PRIV_H

#include "change/row_rewrite.h"
#include "format/parquet/parquet_copy.h"

enum fz_rewrite_use { FZ_GROUP_ENCODE, FZ_GROUP_COPY, FZ_GROUP_GONE };

struct fz_rewrite_file { // one per file of the plan that is touched
    struct fz_parquet_file *file; // NULL: all of it is encoded again
    uint8_t *use; // per row group: enum fz_rewrite_use
    uint8_t *encode; // per row group: its rows are encoded again
    uint8_t *fields; // per row group and field: the chunks are copied
    int32_t *without_nans;
    size_t n_without_nans;
};

struct fz_rewrite_item { // one row group
    size_t file_ix, row_group;
    int64_t first_row, bytes;
};

struct fz_rewrite {
    const struct fz_row_rewrite *in;
    struct fz_arena arena;
    const struct fz_field *fields; // of the writer, then _file_ix and _pos
    size_t n_fields; // without those two
    size_t *columns; // 0..n_fields+1
    uint8_t *assigned; // per field: changed rows get a new value there
    size_t *files; // touched
    size_t n_files;
    struct fz_rewrite_file *copied; // of all files of the plan
    struct fz_rewrite_item *items;
    size_t n_items, cap_items;
    struct fz_source *source; // rows that are encoded again
    struct fz_parquet_encoder *schema; // only asked what can be copied
    _Atomic size_t next_file, next_item;
    _Atomic bool stop;
    pthread_mutex_t lock; // of what follows
    pthread_cond_t freed;
    int64_t bytes_in_use;
    struct fz_row_rewrite_stats stats;
    struct fz_err err;
};

// The rows of a row group that go away or change.
struct fz_rewrite_touched {
    struct fz_parquet_patch patch;
    uint32_t *gone, *rows; // storage
    const struct fz_held_row *held; // patch.n_rows
};

// ---- rewrite_plan.c
// Of the n rows from `first` on, a row group of the file: which go away (deleted before or now) and which get new values. Dispose it in
// any case.
enum fz_code fz_rewrite_find_touched(const struct fz_rewrite *copier, size_t file_ix, int64_t first, int64_t n,
                                     struct fz_rewrite_touched *out, struct fz_err *err);
void fz_rewrite_touched_dispose(struct fz_rewrite_touched *t);
// Opens a file and decides for each row group, and its columns, whether it is copied; adds the items that are.
enum fz_code fz_rewrite_plan_file(struct fz_rewrite *copier, size_t file_ix, struct fz_err *err);

// ---- rewrite_rows.c
// Rows of the chosen files and row groups, without those that go away, as the writer's fields with _file_ix and _pos.
enum fz_code fz_rewrite_source(struct fz_rewrite *copier, const uint8_t *only_files, const uint8_t *const *only_groups,
                               int max_threads, struct fz_source **out, struct fz_err *err);
// The columns of a row group that its file does not have in the wanted form, through the ordinary scan into the encoder.
enum fz_code fz_rewrite_encode_rest(struct fz_rewrite *copier, const struct fz_rewrite_item *item,
                                    const uint8_t *fields, struct fz_parquet_encoder *encoder, struct fz_err *err);
// Rows of row groups that are not copied, read, changed and pushed to the writer.
enum fz_code fz_rewrite_encode_rows(struct fz_rewrite *copier, struct fz_err *err);

#endif
