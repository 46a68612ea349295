// Implementation of base/mem.h.
#include "base/mem.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static _Atomic int64_t live_allocations;

void *fz_malloc(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    if (p != NULL) {
        atomic_fetch_add_explicit(&live_allocations, 1, memory_order_relaxed);
    }
    return p;
}

void *fz_calloc(size_t n, size_t size) {
    size_t bytes;
    if (!fz_mul_size(n, size, &bytes)) {
        return NULL;
    }
    void *p = calloc(1, bytes ? bytes : 1);
    if (p != NULL) {
        atomic_fetch_add_explicit(&live_allocations, 1, memory_order_relaxed);
    }
    return p;
}

void *fz_realloc(void *p, size_t bytes) {
    if (p == NULL) {
        return fz_malloc(bytes);
    }
    return realloc(p, bytes ? bytes : 1);
}

void fz_free(void *p) {
    if (p != NULL) {
        atomic_fetch_sub_explicit(&live_allocations, 1, memory_order_relaxed);
        free(p);
    }
}

char *fz_strdup(const char *text) {
    return text == NULL ? NULL : fz_strndup(text, strlen(text));
}

char *fz_strndup(const char *text, size_t len) {
    char *copy = fz_malloc(len + 1);
    if (copy != NULL) {
        memcpy(copy, text, len);
        copy[len] = 0;
    }
    return copy;
}

int64_t fz_mem_live_allocations(void) {
    return atomic_load_explicit(&live_allocations, memory_order_relaxed);
}

struct fz_arena_block {
    struct fz_arena_block *next;
    size_t used, cap;
    _Alignas(16) char data[];
};

void fz_arena_dispose(struct fz_arena *arena) {
    for (struct fz_arena_block *b = arena->head; b != NULL;) {
        struct fz_arena_block *next = b->next;
        fz_free(b);
        b = next;
    }
    *arena = (struct fz_arena){0};
}

void *fz_arena_alloc(struct fz_arena *arena, size_t bytes) {
    size_t rounded;
    if (!fz_add_size(bytes, 15, &rounded)) {
        return NULL;
    }
    rounded &= ~(size_t)15;
    struct fz_arena_block *b = arena->head;
    if (b == NULL || b->cap - b->used < rounded) {
        size_t cap = b == NULL ? 4096 : b->cap < 1u << 20 ? b->cap * 2 : b->cap, total;
        bool own = rounded > cap; // a large object gets a block of its own, behind the current one
        cap = own ? rounded : cap;
        if (!fz_add_size(sizeof *b, cap, &total)) {
            return NULL;
        }
        struct fz_arena_block *fresh = fz_malloc(total);
        if (fresh == NULL) {
            return NULL;
        }
        fresh->used = 0;
        fresh->cap = cap;
        arena->used_bytes += total;
        if (own && b != NULL) {
            fresh->next = b->next;
            b->next = fresh;
        } else {
            fresh->next = b;
            arena->head = fresh;
        }
        b = fresh;
    }
    void *p = b->data + b->used;
    b->used += rounded;
    memset(p, 0, rounded);
    return p;
}

void *fz_arena_array(struct fz_arena *arena, size_t n, size_t size) {
    size_t bytes;
    return fz_mul_size(n, size, &bytes) ? fz_arena_alloc(arena, bytes) : NULL;
}

char *fz_arena_strdup(struct fz_arena *arena, const char *text) {
    return text == NULL ? NULL : fz_arena_strndup(arena, text, strlen(text));
}

char *fz_arena_strndup(struct fz_arena *arena, const char *text, size_t len) {
    char *copy = fz_arena_alloc(arena, len + 1);
    if (copy != NULL && len > 0) {
        memcpy(copy, text, len);
    }
    return copy;
}

void *fz_arena_memdup(struct fz_arena *arena, const void *data, size_t len) {
    void *copy = fz_arena_alloc(arena, len);
    if (copy != NULL && len > 0) {
        memcpy(copy, data, len);
    }
    return copy;
}

char *fz_arena_printf(struct fz_arena *arena, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    char *text = n < 0 ? NULL : fz_arena_alloc(arena, (size_t)n + 1);
    if (text != NULL) {
        vsnprintf(text, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    return text;
}

void fz_buf_dispose(struct fz_buf *buf) {
    fz_free(buf->ptr);
    *buf = (struct fz_buf){0};
}

void fz_buf_clear(struct fz_buf *buf) {
    buf->len = 0;
    buf->failed = false;
    if (buf->ptr != NULL) {
        buf->ptr[0] = 0;
    }
}

bool fz_buf_reserve(struct fz_buf *buf, size_t extra) {
    size_t need;
    if (buf->failed || !fz_add_size(buf->len, extra, &need) || !fz_add_size(need, 1, &need)) {
        buf->failed = true;
        return false;
    }
    if (need <= buf->cap) {
        return true;
    }
    size_t cap = buf->cap < 64 ? 64 : buf->cap;
    while (cap < need) {
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    }
    char *grown = fz_realloc(buf->ptr, cap);
    if (grown == NULL) {
        buf->failed = true;
        return false;
    }
    buf->ptr = grown;
    buf->cap = cap;
    return true;
}

void fz_buf_append(struct fz_buf *buf, const void *data, size_t len) {
    if (!fz_buf_reserve(buf, len)) {
        return;
    }
    if (len > 0) {
        memcpy(buf->ptr + buf->len, data, len);
    }
    buf->len += len;
    buf->ptr[buf->len] = 0;
}

void fz_buf_put_size(struct fz_buf *buf, int64_t bytes) {
    if (bytes < 10000) {
        fz_buf_printf(buf, "%lld B", (long long)bytes);
    } else {
        bool small = bytes < 10000000;
        fz_buf_printf(buf, "%.1f %s", (double)bytes / (small ? 1e3 : 1e6), small ? "kB" : "MB");
    }
}

void fz_buf_puts(struct fz_buf *buf, const char *text) {
    fz_buf_append(buf, text, strlen(text));
}

void fz_buf_putc(struct fz_buf *buf, char c) {
    fz_buf_append(buf, &c, 1);
}

void fz_buf_printf(struct fz_buf *buf, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    if (n < 0) {
        buf->failed = true;
    } else if (fz_buf_reserve(buf, (size_t)n)) {
        vsnprintf(buf->ptr + buf->len, (size_t)n + 1, fmt, again);
        buf->len += (size_t)n;
    }
    va_end(again);
}

enum fz_code fz_buf_check(const struct fz_buf *buf, struct fz_err *err) {
    return buf->failed ? fz_fail_nomem(err, buf->cap) : FZ_OK;
}

char *fz_buf_take(struct fz_buf *buf) {
    char *taken = buf->failed ? NULL : buf->ptr;
    if (buf->failed) {
        fz_free(buf->ptr);
    }
    *buf = (struct fz_buf){0};
    return taken;
}

enum fz_code fz_grow(void **items, size_t *cap, size_t need, size_t size, struct fz_err *err) {
    if (need <= *cap) {
        return FZ_OK;
    }
    size_t fresh = *cap < 8 ? 8 : *cap, bytes;
    while (fresh < need) {
        fresh = fresh > SIZE_MAX / 2 ? need : fresh * 2;
    }
    if (!fz_mul_size(fresh, size, &bytes)) {
        return fz_fail_nomem(err, SIZE_MAX);
    }
    char *grown = fz_realloc(*items, bytes);
    if (grown == NULL) {
        return fz_fail_nomem(err, bytes);
    }
    memset(grown + *cap * size, 0, bytes - *cap * size);
    *items = grown;
    *cap = fresh;
    return FZ_OK;
}
