// Scratch of the encoders: buffers for a page's forms and the compressor. A writer with many open partitions has many encoders and
// few threads, so encoders may share a pool and hold scratch only while rows are appended or a row group is finished.
#include <pthread.h>
#include <zstd.h>

#include "format/parquet/parquet_writer_priv.h"

enum { MAX_KEPT = 64 }; // more threads than that make and free their own

struct fz_parquet_pool {
    pthread_mutex_t lock;
    struct fz_pw_scratch kept[MAX_KEPT];
    size_t n_kept;
};

void fz_pw_scratch_dispose(struct fz_pw_scratch *scratch) {
    fz_buf_dispose(&scratch->numbers);
    fz_buf_dispose(&scratch->suffixes);
    fz_buf_dispose(&scratch->bytes);
    fz_buf_dispose(&scratch->trial);
    fz_buf_dispose(&scratch->compressed);
    fz_buf_dispose(&scratch->body);
    fz_buf_dispose(&scratch->gather);
    fz_free(scratch->present);
    fz_free(scratch->widened);
    fz_free(scratch->levels);
    fz_free(scratch->quick);
    ZSTD_freeCCtx(scratch->compressor);
    *scratch = (struct fz_pw_scratch){0};
}

enum fz_code fz_parquet_pool_new(struct fz_parquet_pool **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_pool *pool;
    FZ_NEW(pool, err);
    pthread_mutex_init(&pool->lock, NULL);
    *out = pool;
out:
    return rc;
}

void fz_parquet_pool_free(struct fz_parquet_pool *pool) {
    if (pool != NULL) {
        for (size_t i = 0; i < pool->n_kept; i++) {
            fz_pw_scratch_dispose(&pool->kept[i]);
        }
        pthread_mutex_destroy(&pool->lock);
        fz_free(pool);
    }
}

void fz_pw_scratch_take(struct fz_parquet_encoder *w) {
    if (w->pool != NULL) {
        pthread_mutex_lock(&w->pool->lock);
        if (w->pool->n_kept > 0) {
            w->scratch = w->pool->kept[--w->pool->n_kept];
        }
        pthread_mutex_unlock(&w->pool->lock);
    }
}

void fz_pw_scratch_give(struct fz_parquet_encoder *w) {
    if (w->pool != NULL) {
        pthread_mutex_lock(&w->pool->lock);
        if (w->pool->n_kept < MAX_KEPT) {
            w->pool->kept[w->pool->n_kept++] = w->scratch;
            w->scratch = (struct fz_pw_scratch){0};
        }
        pthread_mutex_unlock(&w->pool->lock);
    }
}
