// Implementation of base/sys.h on Linux.
#include "base/sys.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>
#include <unistd.h>

static _Atomic int64_t test_now_us;

int64_t fz_now_us(void) {
    int64_t frozen = atomic_load(&test_now_us);
    if (frozen != 0) {
        return frozen;
    }
    struct timespec ts;
    clock_gettime(CLOCK_REALTIME, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int64_t fz_monotonic_us(void) {
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

void fz_sleep_us(int64_t us) {
    struct timespec ts = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (nanosleep(&ts, &ts) != 0 && errno == EINTR) {
    }
}

void fz_clock_set_test(int64_t now_us) {
    atomic_store(&test_now_us, now_us);
}

uint64_t fz_random_u64(void) {
    uint64_t v = 0;
    while (getrandom(&v, sizeof v, 0) != (ssize_t)sizeof v) {
    }
    return v;
}

int64_t fz_random_snapshot_id(void) {
    int64_t id;
    do {
        id = (int64_t)((fz_random_u64() ^ fz_random_u64()) & INT64_MAX);
    } while (id == 0);
    return id;
}

static void format_uuid(uint8_t b[16], int version, char out[37]) {
    b[6] = (uint8_t)((b[6] & 0x0F) | version << 4);
    b[8] = (uint8_t)((b[8] & 0x3F) | 0x80);
    snprintf(out, 37, "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0], b[1], b[2], b[3],
             b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

void fz_uuid_v4(char out[37]) {
    uint64_t r[2] = {fz_random_u64(), fz_random_u64()};
    uint8_t b[16];
    memcpy(b, r, 16);
    format_uuid(b, 4, out);
}

void fz_uuid_v7(char out[37]) {
    uint64_t r[2] = {fz_random_u64(), fz_random_u64()}, ms = (uint64_t)(fz_now_us() / 1000);
    uint8_t b[16];
    memcpy(b, r, 16);
    for (int i = 0; i < 6; i++) {
        b[i] = (uint8_t)(ms >> (40 - 8 * i));
    }
    format_uuid(b, 7, out);
}

void fz_cancel_init(struct fz_cancel *cancel) {
    *cancel = (struct fz_cancel){0};
    pthread_mutex_init(&cancel->lock, NULL);
}

void fz_cancel_dispose(struct fz_cancel *cancel) {
    pthread_mutex_destroy(&cancel->lock);
}

void fz_cancel_fire(struct fz_cancel *cancel) {
    pthread_mutex_lock(&cancel->lock);
    if (!atomic_exchange(&cancel->fired, true)) {
        for (int i = 0; i < cancel->n_hooks; i++) {
            cancel->hooks[i].fn(cancel->hooks[i].ctx);
        }
    }
    pthread_mutex_unlock(&cancel->lock);
}

void fz_cancel_reset(struct fz_cancel *cancel) {
    atomic_store(&cancel->fired, false);
}

bool fz_cancel_hook(struct fz_cancel *cancel, void (*fn)(void *), void *ctx) {
    pthread_mutex_lock(&cancel->lock);
    bool room = cancel->n_hooks < 8;
    if (room) {
        cancel->hooks[cancel->n_hooks].fn = fn;
        cancel->hooks[cancel->n_hooks++].ctx = ctx;
    }
    pthread_mutex_unlock(&cancel->lock);
    return room;
}

void fz_cancel_unhook(struct fz_cancel *cancel, void *ctx) {
    pthread_mutex_lock(&cancel->lock);
    for (int i = 0; i < cancel->n_hooks; i++) {
        if (cancel->hooks[i].ctx == ctx) {
            cancel->hooks[i] = cancel->hooks[--cancel->n_hooks];
            break;
        }
    }
    pthread_mutex_unlock(&cancel->lock);
}

enum fz_code fz_cancel_check(struct fz_cancel *cancel, struct fz_err *err) {
    if (cancel != NULL && atomic_load_explicit(&cancel->fired, memory_order_relaxed)) {
        return fz_fail(err, FZ_CANCELLED, "cancelled; nothing was changed");
    }
    return FZ_OK;
}

void fz_progress_reset(struct fz_progress *progress) {
    if (progress != NULL) {
        atomic_store(&progress->rows_to_read, 0);
        atomic_store(&progress->rows_read, 0);
        atomic_store(&progress->rows_written, 0);
    }
}

void fz_progress_add(struct fz_progress *progress, int64_t rows_to_read, int64_t rows_read, int64_t rows_written) {
    if (progress != NULL) {
        atomic_fetch_add_explicit(&progress->rows_to_read, rows_to_read, memory_order_relaxed);
        atomic_fetch_add_explicit(&progress->rows_read, rows_read, memory_order_relaxed);
        atomic_fetch_add_explicit(&progress->rows_written, rows_written, memory_order_relaxed);
    }
}

bool fz_budget_take(struct fz_budget *budget, int64_t bytes) {
    if (budget == NULL) {
        return true;
    }
    int64_t used = atomic_load(&budget->used_bytes);
    do {
        if (bytes > budget->limit_bytes - used) {
            return false;
        }
    } while (!atomic_compare_exchange_weak(&budget->used_bytes, &used, used + bytes));
    return true;
}

void fz_budget_give(struct fz_budget *budget, int64_t bytes) {
    if (budget != NULL) {
        atomic_fetch_sub(&budget->used_bytes, bytes);
    }
}

int64_t fz_machine_memory_bytes(void) {
    return (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
}

int fz_machine_cores(void) {
    static _Atomic int known; // asking costs reading a file
    int n = atomic_load_explicit(&known, memory_order_relaxed);
    if (n == 0) {
        long online = sysconf(_SC_NPROCESSORS_ONLN);
        n = online < 1 ? 1 : (int)online;
        atomic_store_explicit(&known, n, memory_order_relaxed);
    }
    return n;
}

void fz_fail_point_hit(const char *name) {
    static _Atomic int hits;
    const char *wanted = getenv("FRAZIL_FAIL_POINT");
    size_t len = strlen(name);
    if (wanted == NULL || strncmp(wanted, name, len) != 0 || (wanted[len] != 0 && wanted[len] != ':')) {
        return;
    }
    int at = wanted[len] == ':' ? atoi(wanted + len + 1) : 1;
    if (atomic_fetch_add(&hits, 1) + 1 == at) {
        kill(getpid(), SIGKILL);
    }
}

void fz_log_write(const struct fz_log *log, int level, const char *fmt, ...) {
    if (log == NULL || log->fn == NULL || level > log->max_level) {
        return;
    }
    char text[2048];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    log->fn(log->ctx, level, text);
}
