// The function table, made from functions.def.
#include "base/text.h"
#include "sql/sql_bind_priv.h"

enum {
    AGG = FZ_FN_AGG,
    WIN = FZ_FN_WIN,
    NONDET = FZ_FN_NONDET,
    NULLABLE = FZ_FN_NULLABLE,
    NOTNULL = FZ_FN_NOTNULL,
    SPECIAL = FZ_FN_SPECIAL,
    INTERNAL = FZ_FN_INTERNAL,
    ORDERED = FZ_FN_ORDERED,
};
#define FN(name, flags, args, result, print) {name, (unsigned)(flags), args, result, print},
static const struct fz_func functions[] = {
#include "sql/functions.def"
};
#undef FN

size_t fz_func_count(void) {
    return sizeof functions / sizeof *functions;
}
const struct fz_func *fz_func_at(size_t ix) {
    return &functions[ix];
}

static const struct fz_func *find(const char *name, unsigned internal, size_t *n_rows) {
    size_t n = fz_func_count();
    for (size_t i = 0; i < n; i++) {
        if ((functions[i].flags & FZ_FN_INTERNAL) == internal && fz_strcasecmp(functions[i].name, name) == 0) {
            size_t end = i + 1;
            while (end < n && strcmp(functions[end].name, functions[i].name) == 0) {
                end++;
            }
            if (n_rows != NULL) {
                *n_rows = end - i;
            }
            return &functions[i];
        }
    }
    return NULL;
}

const struct fz_func *fz_func_find(const char *name, size_t *n_rows) {
    // synonyms of the same rows
    static const char *const synonyms[][2] = {{"substr", "substring"},
                                              {"ceiling", "ceil"},
                                              {"char_len", "char_length"},
                                              {"regexp_match", "rlike"},
                                              {"date_part", "extract"},
                                              {"datepart", "extract"},
                                              {"approx_distinct", "approx_count_distinct"}};
    for (size_t i = 0; i < sizeof synonyms / sizeof *synonyms; i++) {
        if (fz_strcasecmp(name, synonyms[i][0]) == 0) {
            name = synonyms[i][1];
        }
    }
    return find(name, 0, n_rows);
}

const char *fz_func_near(const char *name) {
    const char *near = NULL;
    size_t best = strlen(name) / 3 + 1;
    for (size_t i = 0; i < fz_func_count(); i++) {
        size_t d = (functions[i].flags & FZ_FN_INTERNAL) != 0
                       ? best
                       : fz_edit_distance(fz_str_of(functions[i].name), fz_str_of(name));
        if (d < best) {
            best = d;
            near = functions[i].name;
        }
    }
    return near;
}

const struct fz_func *fz_func_internal(const char *name) {
    return find(name, FZ_FN_INTERNAL, NULL);
}
