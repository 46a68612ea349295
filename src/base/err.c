// Implementation of base/err.h.
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static const char *const CODE_NAMES[] = {
    "OK",          "INVALID_ARG", "NOT_FOUND",      "EXISTS", "CORRUPT", "UNSUPPORTED", "SCHEMA_MISMATCH",
    "CARDINALITY", "CONSTRAINT",  "SQL_SYNTAX",     "IO",     "NET",     "TIMEOUT",     "AUTH",
    "THROTTLED",   "CONFLICT",    "COMMIT_UNKNOWN", "LIMIT",  "NOMEM",   "CANCELLED",   "ENGINE",
    "BUG",
};

static unsigned flags_of(enum fz_code code) {
    switch (code) {
    case FZ_NET:
    case FZ_TIMEOUT:
    case FZ_THROTTLED:
    case FZ_CONFLICT:
        return FZ_ERR_RETRYABLE;
    case FZ_COMMIT_UNKNOWN:
        return FZ_ERR_STATE_UNKNOWN;
    case FZ_INVALID_ARG:
    case FZ_NOT_FOUND:
    case FZ_EXISTS:
    case FZ_UNSUPPORTED:
    case FZ_SCHEMA_MISMATCH:
    case FZ_CARDINALITY:
    case FZ_CONSTRAINT:
    case FZ_SQL_SYNTAX:
    case FZ_AUTH:
        return FZ_ERR_USER_FAULT;
    case FZ_OK:
    case FZ_CORRUPT:
    case FZ_IO:
    case FZ_LIMIT:
    case FZ_NOMEM:
    case FZ_CANCELLED:
    case FZ_ENGINE:
    case FZ_BUG:
        return 0;
    }
    return 0;
}

// Formats into `out`; text that does not fit loses its middle, so that both the start and the end can be read. Never ends
// inside a UTF-8 character.
static void format_cut(char *out, size_t size, const char *fmt, va_list ap) {
    char big[8192];
    int n = vsnprintf(big, sizeof big, fmt, ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof big ? (size_t)n : sizeof big - 1;
    big[len] = 0;
    if (len < size) {
        memcpy(out, big, len + 1);
        return;
    }
    static const char gap[] = " … ";
    size_t head = (size - sizeof gap) * 2 / 3, tail = size - sizeof gap - head;
    while (head > 0 && ((unsigned char)big[head] & 0xC0) == 0x80) {
        head--;
    }
    const char *end = big + len - tail;
    while (((unsigned char)*end & 0xC0) == 0x80) {
        end++;
    }
    memcpy(out, big, head);
    memcpy(out + head, gap, sizeof gap - 1);
    strcpy(out + head + sizeof gap - 1, end);
}

enum fz_code fz_vfail(struct fz_err *err, enum fz_code code, const char *condition, const char *fmt, va_list ap) {
    if (err == NULL) {
        return code;
    }
    if (err->code != FZ_OK) {
        return err->code;
    }
    err->code = code;
    err->flags = flags_of(code);
    snprintf(err->condition, sizeof err->condition, "%s", condition ? condition : "");
    format_cut(err->message, sizeof err->message, fmt, ap);
    return code;
}

enum fz_code fz_fail(struct fz_err *err, enum fz_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    code = fz_vfail(err, code, NULL, fmt, ap);
    va_end(ap);
    return code;
}

enum fz_code fz_fail_cond(struct fz_err *err, enum fz_code code, const char *condition, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    code = fz_vfail(err, code, condition, fmt, ap);
    va_end(ap);
    return code;
}

enum fz_code fz_fail_nomem(struct fz_err *err, size_t bytes) {
    return fz_fail(err, FZ_NOMEM, "out of memory: %zu bytes could not be allocated", bytes);
}

void fz_err_context(struct fz_err *err, const char *fmt, ...) {
    if (err == NULL || err->code == FZ_OK) {
        return;
    }
    size_t used = strlen(err->context);
    if (used + 4 >= sizeof err->context) {
        return;
    }
    if (used > 0) {
        strcpy(err->context + used, " / ");
        used += 3;
    }
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(err->context + used, sizeof err->context - used, fmt, ap);
    va_end(ap);
}

void fz_err_at(struct fz_err *err, int line, int column) {
    if (err != NULL && err->code != FZ_OK && err->line == 0) {
        err->line = line;
        err->column = column;
    }
}

void fz_err_reset(struct fz_err *err) {
    if (err != NULL) {
        *err = FZ_ERR_INIT;
    }
}

const char *fz_code_name(enum fz_code code) {
    return (size_t)code < sizeof CODE_NAMES / sizeof *CODE_NAMES ? CODE_NAMES[code] : "UNKNOWN";
}
