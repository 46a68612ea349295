// A line on the terminal for statements that take longer than a second: how much has been read and written. Drawn by a thread of
// its own, so that nothing that works has to think of it.
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli.h"

enum { FIRST_MS = 1000, EACH_MS = 200, BAR = 20 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static pthread_t thread;
static const fz_session *session; // whose statement runs; NULL: none
static struct timespec started;
static bool drawn;

static void draw(void) {
    fz_progress_counts counts;
    struct timespec now;
    char bar[BAR + 1];
    fz_session_progress(session, &counts);
    clock_gettime(CLOCK_MONOTONIC, &now);
    double part = counts.rows_to_read > 0 ? (double)counts.rows_read / (double)counts.rows_to_read : 0;
    size_t full = part >= 1 ? BAR : (size_t)(part * BAR);
    memset(bar, '.', BAR);
    memset(bar, '#', full);
    bar[BAR] = 0;
    fprintf(stderr, "\r[%s] %lld of %lld rows read, %lld written, %lld s\033[K", bar, (long long)counts.rows_read,
            (long long)counts.rows_to_read, (long long)counts.rows_written, (long long)(now.tv_sec - started.tv_sec));
    fflush(stderr);
    drawn = true;
}

static void *watch(void *ctx) {
    (void)ctx;
    int wait_ms = FIRST_MS;
    pthread_mutex_lock(&lock);
    while (session != NULL) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_sec += wait_ms / 1000;
        until.tv_nsec += wait_ms % 1000 * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000L;
        until.tv_nsec %= 1000000000L;
        if (pthread_cond_timedwait(&ended, &lock, &until) == ETIMEDOUT && session != NULL) {
            draw();
            wait_ms = EACH_MS;
        }
    }
    pthread_mutex_unlock(&lock);
    return NULL;
}

void progress_start(const struct common *c, const fz_session *of) {
    if (c->progress == PROGRESS_NEVER || (c->progress == PROGRESS_AUTO && (c->quiet || !isatty(STDERR_FILENO)))) {
        return;
    }
    session = of;
    clock_gettime(CLOCK_MONOTONIC, &started);
    if (pthread_create(&thread, NULL, watch, NULL) != 0) {
        session = NULL;
    }
}

void progress_hide(void) {
    pthread_mutex_lock(&lock);
    if (drawn) {
        fputs("\r\033[K", stderr);
        drawn = false;
    }
}

void progress_show(void) {
    pthread_mutex_unlock(&lock);
}

void progress_stop(void) {
    if (session == NULL) {
        return;
    }
    progress_hide();
    session = NULL;
    pthread_cond_signal(&ended);
    progress_show();
    pthread_join(thread, NULL);
}
