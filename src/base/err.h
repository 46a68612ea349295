// Errors as values. A caller owns one `struct fz_err`, passes it last, and every fallible function returns its code.
// First raise wins: raising into an error that already holds a code keeps the first. No thread-local state, no aborts.
// Codes name the reaction (docs/architecture.md section 7); Spark's condition name, where there is one, is text for people
// and for the conformance classes. Called by everything.
#ifndef FZ_BASE_ERR_H
#define FZ_BASE_ERR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

enum fz_code {
    FZ_OK = 0,
    FZ_INVALID_ARG,
    FZ_NOT_FOUND,
    FZ_EXISTS,
    FZ_CORRUPT,
    FZ_UNSUPPORTED,
    FZ_SCHEMA_MISMATCH,
    FZ_CARDINALITY,
    FZ_CONSTRAINT,
    FZ_SQL_SYNTAX,
    FZ_IO,
    FZ_NET,
    FZ_TIMEOUT,
    FZ_AUTH,
    FZ_THROTTLED,
    FZ_CONFLICT,
    FZ_COMMIT_UNKNOWN,
    FZ_LIMIT,
    FZ_NOMEM,
    FZ_CANCELLED,
    FZ_ENGINE,
    FZ_BUG,
};

enum { FZ_ERR_RETRYABLE = 1, FZ_ERR_USER_FAULT = 2, FZ_ERR_STATE_UNKNOWN = 4 };

struct fz_err {
    enum fz_code code;
    unsigned flags;
    int line, column; // 1-based position in the SQL or YAML text, 0 when unknown
    char condition[96]; // Spark's condition name ("MERGE_CARDINALITY_VIOLATION"), empty when none
    char message[1536]; // one or more lines of UTF-8, no trailing newline; cut in the middle when too long
    char context[512]; // trail added on the way up: "manifest s3://… / table db.t"
};

#define FZ_ERR_INIT ((struct fz_err){0})

#if defined(__GNUC__)
#define FZ_PRINTF(fmt_ix, arg_ix) __attribute__((format(printf, fmt_ix, arg_ix)))
#else
#define FZ_PRINTF(fmt_ix, arg_ix)
#endif

// Raise: sets code and message unless an error is already set. Returns the code that is now in `err` (`code` when err is NULL).
enum fz_code fz_fail(struct fz_err *err, enum fz_code code, const char *fmt, ...) FZ_PRINTF(3, 4);
// Same, with Spark's condition name.
enum fz_code fz_fail_cond(struct fz_err *err, enum fz_code code, const char *condition, const char *fmt, ...)
    FZ_PRINTF(4, 5);
enum fz_code fz_vfail(struct fz_err *err, enum fz_code code, const char *condition, const char *fmt, va_list ap);
// Raise NOMEM for an allocation of `bytes`.
enum fz_code fz_fail_nomem(struct fz_err *err, size_t bytes);
// Adds where it happened; the innermost comes first. Does nothing when no error is set.
void fz_err_context(struct fz_err *err, const char *fmt, ...) FZ_PRINTF(2, 3);
// Position in the text the user wrote; the first one wins.
void fz_err_at(struct fz_err *err, int line, int column);
void fz_err_reset(struct fz_err *err);
const char *fz_code_name(enum fz_code code); // "NOT_FOUND"

// Leaves the function through `out:` when the call failed; `rc` must be a local `enum fz_code rc = FZ_OK`.
#define FZ_TRY(call)                                                                                                   \
    do {                                                                                                               \
        rc = (call);                                                                                                   \
        if (rc != FZ_OK) {                                                                                             \
            goto out;                                                                                                  \
        }                                                                                                              \
    } while (0)

#endif
