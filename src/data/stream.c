// Implementation of data/stream.h.
#include "data/stream.h"

struct fz_source *fz_source_ref(struct fz_source *source) {
    if (source != NULL) {
        atomic_fetch_add_explicit(&source->refs, 1, memory_order_relaxed);
    }
    return source;
}

void fz_source_unref(struct fz_source *source) {
    if (source != NULL && atomic_fetch_sub_explicit(&source->refs, 1, memory_order_acq_rel) == 1) {
        source->vtable->free(source);
    }
}

enum fz_code fz_column_choice_open(struct fz_source *source, const size_t *columns, size_t n_columns, void **out_reader,
                                   struct fz_err *err) {
    (void)source;
    struct fz_column_choice *choice = fz_malloc(sizeof *choice + n_columns * sizeof *columns);
    if (choice == NULL) {
        return fz_fail_nomem(err, n_columns * sizeof *columns);
    }
    choice->n_columns = n_columns;
    if (n_columns > 0) {
        memcpy(choice->columns, columns, n_columns * sizeof *columns);
    }
    *out_reader = choice;
    return FZ_OK;
}

void fz_column_choice_close(struct fz_source *source, void *reader) {
    (void)source;
    fz_free(reader);
}
