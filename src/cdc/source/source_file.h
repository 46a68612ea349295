// Files of JSON lines as a stream of records: a glob of local files, plain, .gz or .zst, read in the order of their names.
//   records: kafka   {"topic","partition","offset","ts","headers","key","value"} a line, as in recorded captures; position = the record's
//   records: value   the value alone; position = (path, 0, byte offset of the line in the uncompressed text)
// A line that cannot be read comes out as a record with bad_reason and the position (path, 0, byte offset).
#ifndef FZ_CDC_SOURCE_FILE_H
#define FZ_CDC_SOURCE_FILE_H

#include "cdc/flow.h"

struct fz_source_file_options {
    const char *pattern; // glob
    bool records_kafka;
    const struct fz_map
        *start; // stream key (fz_cdc_stream_key) -> first offset wanted; NULL: all. Borrowed for the source's life
    struct fz_arena *arena; // of the run: topics and paths live there
    struct fz_cancel *cancel;
    const struct fz_log *log;
};
// NOT_FOUND when no file matches.
enum fz_code fz_cdc_source_file_open(const struct fz_source_file_options *options, struct fz_cdc_source **out,
                                     struct fz_err *err);

#endif
