// New values of rows that stay where they are: what a copy-on-write change holds between its match and the rewriting of the touched files.
// Only assigned columns are held. Rows come in any order from any thread and are asked for file by file, in order of position.
#ifndef FZ_CHANGE_HELD_ROWS_H
#define FZ_CHANGE_HELD_ROWS_H

#include "base/sys.h"
#include "data/batch.h"

struct fz_held_rows;
struct fz_held_row { // where the values of one row are
    int64_t pos;
    uint32_t block, row;
};

// Fields are copied (their types are borrowed). More than max_bytes, or what the budget (may be NULL) refuses: full.
enum fz_code fz_held_rows_new(const struct fz_field *fields, size_t n_fields, size_t n_files, int64_t max_bytes,
                              struct fz_budget *budget, struct fz_held_rows **out, struct fz_err *err);
void fz_held_rows_free(struct fz_held_rows *held); // NULL is fine
// The selected rows of `columns` (one per field), which are row pos[selection[i]] of file file_ix[selection[i]]. Any thread. FZ_LIMIT when
// there is no more room: what is held is then good for nothing.
enum fz_code fz_held_rows_add(struct fz_held_rows *held, const struct fz_column *columns, const int32_t *file_ix,
                              const int64_t *pos, const uint32_t *selection, size_t n, struct fz_err *err);
bool fz_held_rows_is_full(const struct fz_held_rows *held);
// After the last add, once.
enum fz_code fz_held_rows_sort(struct fz_held_rows *held, struct fz_err *err);
// Rows of a file with first <= pos < end, ascending; borrowed.
const struct fz_held_row *fz_held_rows_find(const struct fz_held_rows *held, size_t file_ix, int64_t first, int64_t end,
                                            size_t *n);
const struct fz_column *fz_held_rows_column(const struct fz_held_rows *held, uint32_t block, size_t field);
// The values of a field for `rows`, one after the other from row 0 of `out`, an own column of the field's type; strings are borrowed.
enum fz_code fz_held_rows_gather(const struct fz_held_rows *held, size_t field, const struct fz_held_row *rows,
                                 size_t n, struct fz_column *out, struct fz_err *err);

#endif
