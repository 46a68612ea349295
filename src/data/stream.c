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
