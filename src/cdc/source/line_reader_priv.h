// Lines of one file, unpacked on the way. Used by source_file.c only.
#ifndef FZ_CDC_LINE_READER_PRIV_H
#define FZ_CDC_LINE_READER_PRIV_H

#include "base/mem.h"

struct fz_line_reader;
enum fz_code fz_line_reader_open(const char *path, struct fz_line_reader **out, struct fz_err *err);
void fz_line_reader_close(struct fz_line_reader *reader);
// Passes over `bytes` of the uncompressed text (a seek in a plain file). *reached false: the text is shorter.
enum fz_code fz_line_reader_skip(struct fz_line_reader *reader, int64_t bytes, bool *reached, struct fz_err *err);
// The next line without its end, borrowed until the next call. *found false at the end of the file. `terminated`: a line end was there.
// LIMIT for a line above 64 MB.
enum fz_code fz_line_reader_next(struct fz_line_reader *reader, struct fz_str *line, int64_t *offset,
                                 int64_t *next_offset, bool *terminated, bool *found, struct fz_err *err);

#endif
