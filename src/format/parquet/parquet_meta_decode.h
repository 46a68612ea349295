// What the decoders of the footer (parquet_meta_decode.c) and of page headers and page indexes (parquet_page_decode.c) share.
#ifndef FZ_FORMAT_PARQUET_PARQUET_META_DECODE_H
#define FZ_FORMAT_PARQUET_PARQUET_META_DECODE_H

#include "format/parquet/parquet_meta.h"
#include "format/parquet/parquet_thrift.h"

// What is being decoded: input, arena, and the first thing that went wrong.
struct fz_pq_decoder {
    struct fz_thrift_in in;
    struct fz_arena *arena;
    bool no_memory;
};

void *fz_pq_decoder_take(struct fz_pq_decoder *d, size_t n, size_t size); // zeroed; NULL is a fault already noted
struct fz_str fz_pq_decoder_keep(struct fz_pq_decoder *d, struct fz_str s); // copies into the arena
enum fz_code fz_pq_decoder_finish(struct fz_pq_decoder *d, const char *what,
                                  struct fz_err *err); // the fault as an error
void fz_pq_statistics_decode(struct fz_pq_decoder *d, struct fz_pq_statistics *out);

#endif
