// The outside world behind small functions, so that tests own time and randomness: clock, sleep, random, UUIDs, cancel
// tokens, memory budget, fail points, log.
#ifndef FZ_BASE_SYS_H
#define FZ_BASE_SYS_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/mem.h"

// Time. fz_clock_set_test(now) freezes the wall clock (tests); 0 returns to the system's.
int64_t fz_now_us(void); // wall clock, microseconds since 1970
int64_t fz_monotonic_us(void);
void fz_sleep_us(int64_t us);
void fz_clock_set_test(int64_t now_us);

// Random: from the kernel. Never used for secrets that outlive the process.
uint64_t fz_random_u64(void);
int64_t fz_random_snapshot_id(void); // positive, 63 bits, never 0 (iceberg-facts 7.1)
void fz_uuid_v4(char out[37]); // lower case, NUL-terminated
void fz_uuid_v7(char out[37]);

// Cancel token. Checked before each statement, in every callback and wait. Hooks run once when the token fires
// (e.g. duckdb_interrupt); at most 8.
struct fz_cancel {
    _Atomic bool fired;
    pthread_mutex_t lock;
    struct {
        void (*fn)(void *ctx);
        void *ctx;
    } hooks[8];
    int n_hooks;
};
void fz_cancel_init(struct fz_cancel *cancel);
void fz_cancel_dispose(struct fz_cancel *cancel);
void fz_cancel_fire(struct fz_cancel *cancel); // any thread; not from a signal handler
void fz_cancel_reset(struct fz_cancel *cancel);
bool fz_cancel_hook(struct fz_cancel *cancel, void (*fn)(void *), void *ctx); // false when full
void fz_cancel_unhook(struct fz_cancel *cancel, void *ctx);
enum fz_code fz_cancel_check(struct fz_cancel *cancel,
                             struct fz_err *err); // CANCELLED when fired; NULL token is never fired

// Memory budget of a session, in bytes. Stages take tickets before they work; a refused ticket means: use the written
// fallback (architecture.md section 3). Thread-safe.
struct fz_budget {
    int64_t limit_bytes;
    _Atomic int64_t used_bytes;
};
bool fz_budget_take(struct fz_budget *budget, int64_t bytes); // false = refused; NULL budget always grants
void fz_budget_give(struct fz_budget *budget, int64_t bytes);
int64_t fz_machine_memory_bytes(void);
int fz_machine_cores(void);

// Fail points: FZ_FAIL_POINT("commit.before_swap") does nothing unless the process was started with
// FRAZIL_FAIL_POINT=name[:n] (kill -9 itself at the n-th time, default 1) and the build has FZ_FAIL_POINTS. Names are listed in
// base/fail_points.def. fz_fail_point_hit is compiled in always, the macro only in builds with fail points.
void fz_fail_point_hit(const char *name);
#ifdef FZ_FAIL_POINTS
#define FZ_FAIL_POINT(name) fz_fail_point_hit(name)
#else
#define FZ_FAIL_POINT(name) ((void)0)
#endif

// How far a statement is, for people who wait: written by the threads that work, read at any time. NULL where nobody asks.
struct fz_progress {
    _Atomic int64_t rows_to_read, rows_read, rows_written;
};
void fz_progress_reset(struct fz_progress *progress);
void fz_progress_add(struct fz_progress *progress, int64_t rows_to_read, int64_t rows_read, int64_t rows_written);

// Log and notices: the library prints nothing; a session sets a sink. Level: 0 error, 1 warning, 2 notice, 3 info, 4 debug.
struct fz_log {
    void (*fn)(void *ctx, int level, const char *text);
    void *ctx;
    int max_level;
};
void fz_log_write(const struct fz_log *log, int level, const char *fmt, ...) FZ_PRINTF(3, 4); // NULL log: dropped

#endif
