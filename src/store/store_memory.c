// The memory store: objects are immutable, ref-counted blocks under one lock. For tests and for tables that need not last.
#include "store/store.h"

#include <stdlib.h>

#include "base/map.h"

struct object {
    _Atomic int refs;
    size_t len;
    int64_t modified_us;
    char data[];
};

struct memory_store {
    struct fz_store base;
    pthread_mutex_t lock;
    struct fz_map objects; // location -> struct object *
};

struct memory_ticket {
    struct fz_ticket base;
    struct object *object;
    size_t n;
    struct fz_range ranges[];
};

struct memory_writer {
    struct fz_writer base;
    struct memory_store *store;
    char *location;
    struct fz_buf bytes;
};

static void object_unref(struct object *object) {
    if (object != NULL && atomic_fetch_sub_explicit(&object->refs, 1, memory_order_acq_rel) == 1) {
        fz_free(object);
    }
}

// A reference, or NULL when there is no such object.
static struct object *object_get(struct memory_store *memory, const char *location) {
    pthread_mutex_lock(&memory->lock);
    struct fz_map_entry *entry = fz_map_find(&memory->objects, fz_str_of(location));
    struct object *object = entry != NULL ? entry->value.ptr : NULL;
    if (object != NULL) {
        atomic_fetch_add_explicit(&object->refs, 1, memory_order_relaxed);
    }
    pthread_mutex_unlock(&memory->lock);
    return object;
}

static enum fz_code not_found(const char *location, struct fz_err *err) {
    return fz_fail(err, FZ_NOT_FOUND, "there is no object %s", location);
}

static void memory_free(struct fz_store *store) {
    struct memory_store *memory = (struct memory_store *)store;
    for (struct fz_map_entry *e = NULL; (e = fz_map_next(&memory->objects, e)) != NULL;) {
        object_unref(e->value.ptr);
    }
    fz_map_dispose(&memory->objects);
    pthread_mutex_destroy(&memory->lock);
    fz_free(memory);
}

static enum fz_code memory_size(struct fz_store *store, const char *location, int64_t *out_bytes, struct fz_err *err) {
    struct object *object = object_get((struct memory_store *)store, location);
    if (object == NULL) {
        return not_found(location, err);
    }
    *out_bytes = (int64_t)object->len;
    object_unref(object);
    return FZ_OK;
}

static enum fz_code memory_submit(struct fz_store *store, const char *location, const struct fz_range *ranges, size_t n,
                                  struct fz_ticket **out, struct fz_err *err) {
    struct object *object = object_get((struct memory_store *)store, location);
    if (object == NULL) {
        return not_found(location, err);
    }
    for (size_t i = 0; i < n; i++) {
        if ((uint64_t)ranges[i].offset > object->len || ranges[i].length > object->len - (size_t)ranges[i].offset) {
            fz_fail(err, FZ_CORRUPT, "%s has %zu bytes, but %zu are wanted at %lld", location, object->len,
                    ranges[i].length, (long long)ranges[i].offset);
            object_unref(object);
            return err != NULL ? err->code : FZ_CORRUPT;
        }
    }
    struct memory_ticket *ticket = fz_malloc(sizeof *ticket + n * sizeof *ranges);
    if (ticket == NULL) {
        object_unref(object);
        return fz_fail_nomem(err, n * sizeof *ranges);
    }
    ticket->base.store = store;
    ticket->object = object;
    ticket->n = n;
    if (n > 0) {
        memcpy(ticket->ranges, ranges, n * sizeof *ranges);
    }
    *out = &ticket->base;
    return FZ_OK;
}

static enum fz_code memory_wait(struct fz_ticket *base, struct fz_cancel *cancel, struct fz_err *err) {
    struct memory_ticket *ticket = (struct memory_ticket *)base;
    enum fz_code rc = fz_cancel_check(cancel, err);
    for (size_t i = 0; i < ticket->n && rc == FZ_OK; i++) {
        const struct fz_range *r = &ticket->ranges[i];
        if (r->length > 0) {
            memcpy(r->dst, ticket->object->data + r->offset, r->length);
        }
    }
    object_unref(ticket->object);
    fz_free(ticket);
    return rc;
}

static enum fz_code memory_put(struct fz_store *store, const char *location, const void *data, size_t len,
                               bool if_absent, struct fz_err *err) {
    struct memory_store *memory = (struct memory_store *)store;
    struct fz_map_entry *entry = NULL;
    bool added = false;
    size_t bytes;
    struct object *object = fz_add_size(sizeof *object, len, &bytes) ? fz_malloc(bytes) : NULL;
    if (object == NULL) {
        return fz_fail_nomem(err, len);
    }
    *object = (struct object){.refs = 1, .len = len, .modified_us = fz_now_us()};
    if (len > 0) {
        memcpy(object->data, data, len);
    }
    pthread_mutex_lock(&memory->lock);
    enum fz_code rc = fz_map_put(&memory->objects, fz_str_of(location), &entry, &added, err);
    if (rc == FZ_OK && !added && if_absent) {
        rc = fz_fail(err, FZ_EXISTS, "there already is an object %s", location);
    } else if (rc == FZ_OK) {
        struct object *old = added ? NULL : entry->value.ptr;
        entry->value.ptr = object;
        object = old;
    }
    pthread_mutex_unlock(&memory->lock);
    object_unref(object); // the replaced one, or the new one after a failure
    return rc;
}

static enum fz_code writer_append(struct fz_writer *base, const void *data, size_t len, struct fz_err *err) {
    struct memory_writer *writer = (struct memory_writer *)base;
    fz_buf_append(&writer->bytes, data, len);
    return fz_buf_check(&writer->bytes, err);
}

static void writer_abort(struct fz_writer *base) {
    struct memory_writer *writer = (struct memory_writer *)base;
    fz_buf_dispose(&writer->bytes);
    fz_free(writer->location);
    fz_free(writer);
}

static enum fz_code writer_close(struct fz_writer *base, struct fz_err *err) {
    struct memory_writer *writer = (struct memory_writer *)base;
    enum fz_code rc = fz_buf_check(&writer->bytes, err);
    if (rc == FZ_OK) {
        rc = memory_put(&writer->store->base, writer->location, writer->bytes.ptr, writer->bytes.len, false, err);
    }
    writer_abort(base);
    return rc;
}

static const struct fz_writer_vtable writer_vtable = {
    .append = writer_append, .close = writer_close, .abort = writer_abort};

static enum fz_code memory_writer_open(struct fz_store *store, const char *location, struct fz_writer **out,
                                       struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct memory_writer *writer = NULL;
    FZ_NEW(writer, err);
    writer->base.vtable = &writer_vtable;
    writer->store = (struct memory_store *)store;
    writer->location = fz_strdup(location);
    if (writer->location == NULL) {
        rc = fz_fail_nomem(err, strlen(location));
        fz_free(writer);
        goto out;
    }
    *out = &writer->base;
out:
    return rc;
}

static int compare_entries(const void *a, const void *b) {
    const struct fz_list_entry *x = a, *y = b;
    return strcmp(x->location, y->location);
}

// Copies what is below the folder into `arena`, sorted; the lock is not held while the caller looks at it.
static enum fz_code snapshot_entries(struct memory_store *memory, const char *prefix, struct fz_arena *arena,
                                     struct fz_list_entry **out, size_t *n_out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t len = strlen(prefix), n = 0;
    while (len > 0 && prefix[len - 1] == '/') {
        len--;
    }
    pthread_mutex_lock(&memory->lock);
    struct fz_list_entry *entries = fz_arena_array(arena, memory->objects.n_live, sizeof *entries);
    for (struct fz_map_entry *e = NULL; entries != NULL && (e = fz_map_next(&memory->objects, e)) != NULL;) {
        if (e->key.len <= len + 1 || memcmp(e->key.ptr, prefix, len) != 0 || e->key.ptr[len] != '/') {
            continue;
        }
        const struct object *object = e->value.ptr;
        char *location = fz_arena_strndup(arena, e->key.ptr, e->key.len);
        if (location == NULL) {
            entries = NULL;
            break;
        }
        entries[n++] = (struct fz_list_entry){location, (int64_t)object->len, object->modified_us};
    }
    pthread_mutex_unlock(&memory->lock);
    if (entries == NULL) {
        return fz_fail_nomem(err, n * sizeof *entries);
    }
    if (n > 1) {
        qsort(entries, n, sizeof *entries, compare_entries);
    }
    *out = entries;
    *n_out = n;
    return rc;
}

static enum fz_code memory_list(struct fz_store *store, const char *prefix, fz_list_fn fn, void *ctx,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_list_entry *entries = NULL;
    size_t n = 0;
    FZ_TRY(snapshot_entries((struct memory_store *)store, prefix, &arena, &entries, &n, err));
    for (size_t i = 0; i < n; i++) {
        if (entries[i].location[strlen(entries[i].location) - 1] != '/') { // the marker of an empty folder
            FZ_TRY(fn(ctx, &entries[i], err));
        }
    }
out:
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code memory_list_folder(struct fz_store *store, const char *prefix, fz_list_fn fn, void *ctx,
                                       struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_list_entry *entries = NULL;
    size_t n = 0, root = strlen(prefix), last = 0;
    while (root > 0 && prefix[root - 1] == '/') {
        root--;
    }
    FZ_TRY(snapshot_entries((struct memory_store *)store, prefix, &arena, &entries, &n, err));
    for (size_t i = 0; i < n; i++) { // sorted: what is in one folder stands together
        const char *name = entries[i].location + root + 1;
        size_t len = strcspn(name, "/");
        if (name[len] == 0) {
            FZ_TRY(fn(ctx, &entries[i], err));
            continue;
        }
        const char *before = i > 0 ? entries[last].location + root + 1 : "";
        if (i == 0 || strncmp(before, name, len + 1) != 0) {
            char *folder = fz_arena_strndup(&arena, entries[i].location, root + 1 + len);
            if (folder == NULL) {
                rc = fz_fail_nomem(err, len);
                goto out;
            }
            FZ_TRY(fn(ctx, &(struct fz_list_entry){folder, -1, entries[i].modified_us}, err));
        }
        last = i;
    }
out:
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code memory_remove(struct fz_store *store, const char *location, struct fz_err *err) {
    struct memory_store *memory = (struct memory_store *)store;
    struct object *object = NULL;
    (void)err;
    pthread_mutex_lock(&memory->lock);
    struct fz_map_entry *entry = fz_map_find(&memory->objects, fz_str_of(location));
    if (entry != NULL) {
        object = entry->value.ptr;
        entry->value.ptr = NULL;
        fz_map_remove(&memory->objects, fz_str_of(location));
    }
    pthread_mutex_unlock(&memory->lock);
    object_unref(object);
    return FZ_OK;
}

static const struct fz_store_vtable memory_vtable = {
    .scheme = "memory",
    .free = memory_free,
    .size = memory_size,
    .submit = memory_submit,
    .wait = memory_wait,
    .put = memory_put,
    .writer_open = memory_writer_open,
    .list = memory_list,
    .remove = memory_remove,
    .list_folder = memory_list_folder,
};

enum fz_code fz_store_memory_new(struct fz_store **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct memory_store *memory = NULL;
    FZ_NEW(memory, err);
    memory->base = (struct fz_store){.vtable = &memory_vtable, .refs = 1};
    pthread_mutex_init(&memory->lock, NULL);
    *out = &memory->base;
out:
    return rc;
}
