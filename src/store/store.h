// Object storage behind one asynchronous vtable: memory (tests), local files, S3 later. Knows bytes and locations, nothing
// about Iceberg. A location is a URI or a path: "/a/b", "file:/a/b", "file:///a/b", "memory://x/y", "s3://bucket/key".
// Used by format/ (ranged reads, streaming writes), table/, catalog/, commit/, cdc/source/.
#ifndef FZ_STORE_STORE_H
#define FZ_STORE_STORE_H

#include "base/sys.h"

struct fz_store; // one backend, shared, thread-safe, ref-counted

// A read wanted by the caller: `length` bytes at `offset` into `dst`. All of it or an error (CORRUPT when the object is shorter).
struct fz_range {
    int64_t offset;
    size_t length;
    void *dst;
};

struct fz_ticket; // a batch of reads in flight
struct fz_writer; // one object being written; it becomes visible at close, never partly

struct fz_list_entry {
    const char *location; // full location, in the form the listing was asked in
    int64_t size_bytes;
    int64_t modified_us;
};
typedef enum fz_code (*fz_list_fn)(void *ctx, const struct fz_list_entry *entry, struct fz_err *err);

struct fz_store_vtable {
    const char *scheme;
    void (*free)(struct fz_store *store);
    enum fz_code (*size)(struct fz_store *, const char *location, int64_t *out_bytes, struct fz_err *);
    enum fz_code (*submit)(struct fz_store *, const char *location, const struct fz_range *ranges, size_t n,
                           struct fz_ticket **out, struct fz_err *);
    enum fz_code (*wait)(struct fz_ticket *ticket, struct fz_cancel *,
                         struct fz_err *); // releases the ticket, also on error
    enum fz_code (*put)(struct fz_store *, const char *location, const void *data, size_t len, bool if_absent,
                        struct fz_err *);
    enum fz_code (*writer_open)(struct fz_store *, const char *location, struct fz_writer **out, struct fz_err *);
    enum fz_code (*list)(struct fz_store *, const char *prefix, fz_list_fn fn, void *ctx, struct fz_err *);
    enum fz_code (*remove)(struct fz_store *, const char *location, struct fz_err *); // absent is OK
    // Direct children only; folders have size_bytes -1. NULL: worked out from `list`.
    enum fz_code (*list_folder)(struct fz_store *, const char *prefix, fz_list_fn fn, void *ctx, struct fz_err *);
};
struct fz_store {
    const struct fz_store_vtable *vtable;
    _Atomic int refs;
};
struct fz_ticket {
    struct fz_store *store;
};
struct fz_writer_vtable {
    enum fz_code (*append)(struct fz_writer *, const void *data, size_t len, struct fz_err *);
    enum fz_code (*close)(struct fz_writer *,
                          struct fz_err *); // makes the object durable and visible; frees the writer, also on error
    void (*abort)(struct fz_writer *); // nothing stays behind; frees the writer
};
struct fz_writer {
    const struct fz_writer_vtable *vtable;
    int64_t written_bytes;
};

// Backends.
enum fz_code fz_store_local_new(struct fz_store **out, struct fz_err *err);
// Whether close and put wait until bytes and names are on the disk (fdatasync, fsync of the directory). Off at first: a killed
// process loses nothing, a power failure may lose files of the last seconds.
void fz_store_local_set_durable(struct fz_store *store, bool durable);
enum fz_code fz_store_memory_new(struct fz_store **out, struct fz_err *err);
struct fz_store *fz_store_ref(struct fz_store *store);
void fz_store_unref(struct fz_store *store);

// The stores of a session, chosen by the scheme of a location. Itself a store, so code below sees one vtable.
// Takes a reference on each. Scheme "" and "file" go to the local store.
enum fz_code fz_store_router_new(struct fz_store *const *stores, size_t n, struct fz_store **out, struct fz_err *err);

// Calls. All take full locations. NOT_FOUND when the object does not exist; IO names the location and errno text.
enum fz_code fz_store_size(struct fz_store *store, const char *location, int64_t *out_bytes, struct fz_err *err);
enum fz_code fz_store_submit(struct fz_store *store, const char *location, const struct fz_range *ranges, size_t n,
                             struct fz_ticket **out, struct fz_err *err);
enum fz_code fz_ticket_wait(struct fz_ticket *ticket, struct fz_cancel *cancel, struct fz_err *err);
enum fz_code fz_store_read(struct fz_store *store, const char *location, int64_t offset, size_t len, void *dst,
                           struct fz_cancel *cancel, struct fz_err *err);
// Whole object appended to `out`; LIMIT when larger than max_bytes.
enum fz_code fz_store_read_all(struct fz_store *store, const char *location, size_t max_bytes, struct fz_buf *out,
                               struct fz_err *err);
// if_absent: EXISTS when there is one already, decided atomically (link(2) on local files).
enum fz_code fz_store_put(struct fz_store *store, const char *location, const void *data, size_t len, bool if_absent,
                          struct fz_err *err);
enum fz_code fz_store_writer_open(struct fz_store *store, const char *location, struct fz_writer **out,
                                  struct fz_err *err);
enum fz_code fz_writer_append(struct fz_writer *writer, const void *data, size_t len,
                              struct fz_err *err); // updates written_bytes
enum fz_code fz_writer_close(struct fz_writer *writer, struct fz_err *err);
void fz_writer_abort(struct fz_writer *writer); // NULL is fine
// All objects below the folder `prefix`, at any depth, in no order; none when it does not exist. ("…/db/t" does not list "…/db/t2/x".)
// Local files: unfinished objects of writers that died are listed after a day, so that the removal of orphans finds them.
enum fz_code fz_store_list(struct fz_store *store, const char *prefix, fz_list_fn fn, void *ctx, struct fz_err *err);
enum fz_code fz_store_remove(struct fz_store *store, const char *location, struct fz_err *err);
// What is directly in a folder: objects, and folders (size_bytes -1, no slash at the end), in no order.
enum fz_code fz_store_list_folder(struct fz_store *store, const char *folder, fz_list_fn fn, void *ctx,
                                  struct fz_err *err);
// A folder that is there although nothing is in it: a directory, or the object "<folder>/" of no bytes (listings leave that out).
enum fz_code fz_store_make_folder(struct fz_store *store, const char *folder, struct fz_err *err);
// Removes everything below a folder, and the folder.
enum fz_code fz_store_remove_folder(struct fz_store *store, const char *folder, struct fz_err *err);

// "s3" of "s3://bucket/key", "file" of "file:/a"; empty for a plain path.
struct fz_str fz_location_scheme(const char *location);

#endif
