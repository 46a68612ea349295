// Rows for which no file can be held open, because too many partitions are open already. They wait in temporary files, each for the
// partitions of one part of all hashes, until the open files are closed; then one part after the other is read back.
#ifndef FZ_CHANGE_OVERFLOW_H
#define FZ_CHANGE_OVERFLOW_H

#include "data/stream.h"
#include "format/parquet/parquet_writer.h"

enum { FZ_OVERFLOW_PARTS = 32 };

struct fz_overflow;
// Fields as in `write`. temp_directory NULL: $TMPDIR, or /tmp. Nothing is made on disk before the first row comes.
enum fz_code fz_overflow_new(const struct fz_parquet_write *write, const char *temp_directory, struct fz_overflow **out,
                             struct fz_err *err);
// The given rows of the batch. Any thread; rows of one part keep their order when one thread pushes them.
enum fz_code fz_overflow_push(struct fz_overflow *overflow, size_t part, const struct fz_batch *batch,
                              const uint32_t *rows, size_t n, struct fz_err *err);
// Calls `sink` with all rows of a part, in order; nothing may be pushed to the part after that. Different parts on any threads.
enum fz_code fz_overflow_read(struct fz_overflow *overflow, size_t part, struct fz_sink *sink, struct fz_cancel *cancel,
                              struct fz_err *err);
void fz_overflow_free(struct fz_overflow *overflow); // removes the files; NULL is fine

#endif
