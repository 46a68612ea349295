// Memory: counted allocation (tests check that the count returns to zero), arenas for things that die together, growable
// byte buffers and vectors. Nothing here aborts: NULL or an error means out of memory.
#ifndef FZ_BASE_MEM_H
#define FZ_BASE_MEM_H

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include "base/err.h"

// Counted malloc family. Memory from these is released with fz_free only. fz_free(NULL) is fine.
void *fz_malloc(size_t bytes);
void *fz_calloc(size_t n, size_t size); // checked multiplication
void *fz_realloc(void *p, size_t bytes);
void fz_free(void *p);
char *fz_strdup(const char *text);
char *fz_strndup(const char *text, size_t len);
int64_t fz_mem_live_allocations(void); // for leak checks in tests

// Allocates zeroed memory for one object into `ptr`, or raises NOMEM and leaves through `out:`.
#define FZ_NEW(ptr, err)                                                                                               \
    do {                                                                                                               \
        (ptr) = fz_calloc(1, sizeof *(ptr));                                                                           \
        if ((ptr) == NULL) {                                                                                           \
            rc = fz_fail_nomem(err, sizeof *(ptr));                                                                    \
            goto out;                                                                                                  \
        }                                                                                                              \
    } while (0)

// Arena: bump allocation, freed as a whole. Not thread-safe. A zeroed struct is an empty arena.
struct fz_arena_block;
struct fz_arena {
    struct fz_arena_block *head;
    size_t used_bytes; // all blocks, for budgets
};
void fz_arena_dispose(struct fz_arena *arena);
void *fz_arena_alloc(struct fz_arena *arena, size_t bytes); // zeroed, 16-byte aligned; NULL when out of memory
void *fz_arena_array(struct fz_arena *arena, size_t n, size_t size); // zeroed, checked multiplication
char *fz_arena_strdup(struct fz_arena *arena, const char *text);
char *fz_arena_strndup(struct fz_arena *arena, const char *text, size_t len);
char *fz_arena_printf(struct fz_arena *arena, const char *fmt, ...) FZ_PRINTF(2, 3);
void *fz_arena_memdup(struct fz_arena *arena, const void *data, size_t len);

#define FZ_ARENA_NEW(arena, type) ((type *)fz_arena_alloc((arena), sizeof(type)))

// Borrowed text or bytes, not NUL-terminated.
struct fz_str {
    const char *ptr;
    size_t len;
};
#define FZ_STR_LIT(text) ((struct fz_str){(text), sizeof(text) - 1})
static inline struct fz_str fz_str_of(const char *text) {
    return (struct fz_str){text, text ? strlen(text) : 0};
}
static inline bool fz_str_eq(struct fz_str a, struct fz_str b) {
    return a.len == b.len && (a.len == 0 || memcmp(a.ptr, b.ptr, a.len) == 0);
}

// Growable bytes. A zeroed struct is empty. Appends are sticky on failure: `failed` is set, later appends do nothing, and
// fz_buf_check raises NOMEM once at the end. `ptr` is always NUL-terminated when not NULL (the NUL is not counted).
struct fz_buf {
    char *ptr;
    size_t len, cap;
    bool failed;
};
void fz_buf_dispose(struct fz_buf *buf);
void fz_buf_clear(struct fz_buf *buf); // keeps the memory
bool fz_buf_reserve(struct fz_buf *buf, size_t extra);
void fz_buf_append(struct fz_buf *buf, const void *data, size_t len);
void fz_buf_put_size(struct fz_buf *buf, int64_t bytes); // "812 B", "680.9 kB", "263.1 MB"
void fz_buf_puts(struct fz_buf *buf, const char *text);
void fz_buf_putc(struct fz_buf *buf, char c);
void fz_buf_printf(struct fz_buf *buf, const char *fmt, ...) FZ_PRINTF(2, 3);
enum fz_code fz_buf_check(const struct fz_buf *buf, struct fz_err *err);
char *fz_buf_take(struct fz_buf *buf); // hands the memory over (fz_free it); NULL when empty or failed

// Grows a vector: `*items` gets room for at least `need` items of `size` bytes; new memory is zeroed.
// Usage: FZ_TRY(fz_grow((void **)&v, &cap, n + 1, sizeof *v, err));
enum fz_code fz_grow(void **items, size_t *cap, size_t need, size_t size, struct fz_err *err);

// Checked size arithmetic; false on overflow.
static inline bool fz_mul_size(size_t a, size_t b, size_t *out) {
    return !__builtin_mul_overflow(a, b, out);
}
static inline bool fz_add_size(size_t a, size_t b, size_t *out) {
    return !__builtin_add_overflow(a, b, out);
}

#endif
