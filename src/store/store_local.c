// Local files. An object appears whole or not at all: it is written under a hidden name in its folder and renamed (or linked,
// when it must not exist yet) at close. Reads are announced to the kernel at submit and made at wait.
#include "store/store.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct local_store {
    struct fz_store base;
    _Atomic bool durable;
};

struct local_ticket {
    struct fz_ticket base;
    int fd;
    char *location; // for messages
    size_t n;
    struct fz_range ranges[];
};

enum { WRITE_BUFFER_BYTES = 256 << 10, MAX_FOLDER_DEPTH = 256 };

struct local_writer {
    struct fz_writer base;
    int fd;
    bool durable;
    char *location; // as the caller wrote it
    char *path, *temp_path;
    char *buffer; // made at the first small append
    size_t buffered;
};

// "file:///a/b", "file:/a/b" and "/a/b" are the same path. Nothing is percent-decoded: Iceberg writes raw paths.
static enum fz_code path_of(const char *location, const char **out, struct fz_err *err) {
    struct fz_str scheme = fz_location_scheme(location);
    if (scheme.len == 0) {
        *out = location;
    } else if (scheme.len != 4 || strncmp(location, "file", 4) != 0) {
        return fz_fail(err, FZ_UNSUPPORTED, "%s is not a local file", location);
    } else if (strncmp(location, "file://localhost/", 17) == 0) {
        *out = location + 16;
    } else if (strncmp(location, "file:///", 8) == 0) {
        *out = location + 7;
    } else if (strncmp(location, "file://", 7) == 0) {
        return fz_fail(err, FZ_INVALID_ARG, "%s names a host; write file:///path", location);
    } else {
        *out = location + 5;
    }
    return **out != 0 ? FZ_OK : fz_fail(err, FZ_INVALID_ARG, "the path of a file is empty");
}

static enum fz_code fail_errno(struct fz_err *err, int number, const char *what, const char *location) {
    char text[128] = "";
    const char *reason = strerror_r(number, text, sizeof text);
    if (number == ENOENT || number == ENOTDIR) {
        return fz_fail(err, FZ_NOT_FOUND, "cannot %s %s: %s", what, location, reason);
    }
    if (number == EACCES || number == EPERM) {
        return fz_fail(err, FZ_AUTH, "cannot %s %s: %s", what, location, reason);
    }
    return fz_fail(err, FZ_IO, "cannot %s %s: %s", what, location, reason);
}

static void local_free(struct fz_store *store) {
    fz_free(store);
}

static enum fz_code local_size(struct fz_store *store, const char *location, int64_t *out_bytes, struct fz_err *err) {
    (void)store;
    enum fz_code rc = FZ_OK;
    const char *path = NULL;
    struct stat st;
    FZ_TRY(path_of(location, &path, err));
    if (stat(path, &st) != 0) {
        return fail_errno(err, errno, "look at", location);
    }
    if (S_ISDIR(st.st_mode)) {
        return fz_fail(err, FZ_NOT_FOUND, "%s is a folder, not a file", location);
    }
    *out_bytes = st.st_size;
out:
    return rc;
}

// ---- reading

static void ticket_free(struct local_ticket *ticket) {
    if (ticket->fd >= 0) {
        close(ticket->fd);
    }
    fz_free(ticket->location);
    fz_free(ticket);
}

static enum fz_code local_submit(struct fz_store *store, const char *location, const struct fz_range *ranges, size_t n,
                                 struct fz_ticket **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const char *path = NULL;
    struct local_ticket *ticket = NULL;
    FZ_TRY(path_of(location, &path, err));
    ticket = fz_calloc(1, sizeof *ticket + n * sizeof *ranges);
    if (ticket == NULL) {
        return fz_fail_nomem(err, n * sizeof *ranges);
    }
    ticket->base.store = store;
    ticket->n = n;
    ticket->location = fz_strdup(location);
    ticket->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (ticket->fd < 0) {
        rc = fail_errno(err, errno, "open", location);
        goto out;
    }
    if (ticket->location == NULL) {
        rc = fz_fail_nomem(err, strlen(location));
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        ticket->ranges[i] = ranges[i];
        if (n > 1) { // one read is waited for at once as a rule
            posix_fadvise(ticket->fd, ranges[i].offset, (off_t)ranges[i].length, POSIX_FADV_WILLNEED);
        }
    }
    *out = &ticket->base;
    ticket = NULL;
out:
    if (ticket != NULL) {
        ticket_free(ticket);
    }
    return rc;
}

static enum fz_code read_range(const struct local_ticket *ticket, const struct fz_range *range, struct fz_err *err) {
    char *to = range->dst;
    size_t left = range->length;
    int64_t at = range->offset;
    while (left > 0) {
        ssize_t got = pread(ticket->fd, to, left < SSIZE_MAX ? left : SSIZE_MAX, at);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return fail_errno(err, errno, "read", ticket->location);
        }
        if (got == 0) {
            return fz_fail(err, FZ_CORRUPT, "%s ends at byte %lld, but %zu bytes are wanted at %lld", ticket->location,
                           (long long)at, range->length, (long long)range->offset);
        }
        to += got;
        at += got;
        left -= (size_t)got;
    }
    return FZ_OK;
}

static enum fz_code local_wait(struct fz_ticket *base, struct fz_cancel *cancel, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct local_ticket *ticket = (struct local_ticket *)base;
    for (size_t i = 0; i < ticket->n; i++) {
        FZ_TRY(fz_cancel_check(cancel, err));
        FZ_TRY(read_range(ticket, &ticket->ranges[i], err));
    }
out:
    ticket_free(ticket);
    return rc;
}

// ---- writing

// Makes the folders of `path` that are missing.
static bool make_folders(char *path) {
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = 0;
        int failed = mkdir(path, 0777) != 0 && errno != EEXIST;
        *slash = '/';
        if (failed) {
            return false;
        }
    }
    return true;
}

// "<folder>/.<name>.<random>.tmp"; the name is cut so that the whole stays a valid file name.
static char *temp_path_for(const char *path) {
    const char *slash = strrchr(path, '/');
    const char *name = slash != NULL ? slash + 1 : path;
    size_t name_len = strlen(name), size = (size_t)(name - path) + 240;
    char *temp = fz_malloc(size);
    if (temp != NULL) {
        snprintf(temp, size, "%.*s.%.*s.%016llx.tmp", (int)(name - path), path, (int)(name_len < 200 ? name_len : 200),
                 name, (unsigned long long)fz_random_u64());
    }
    return temp;
}

static enum fz_code write_fully(struct local_writer *writer, const char *data, size_t len, struct fz_err *err) {
    while (len > 0) {
        ssize_t done = write(writer->fd, data, len);
        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done < 0) {
            return fail_errno(err, errno, "write", writer->location);
        }
        data += done;
        len -= (size_t)done;
    }
    return FZ_OK;
}

static enum fz_code flush_buffer(struct local_writer *writer, struct fz_err *err) {
    size_t len = writer->buffered;
    writer->buffered = 0;
    return write_fully(writer, writer->buffer, len, err);
}

static enum fz_code writer_append(struct fz_writer *base, const void *data, size_t len, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct local_writer *writer = (struct local_writer *)base;
    if (writer->buffered + len > WRITE_BUFFER_BYTES) {
        FZ_TRY(flush_buffer(writer, err));
    }
    if (len >= WRITE_BUFFER_BYTES / 2) {
        FZ_TRY(flush_buffer(writer, err));
        rc = write_fully(writer, data, len, err);
    } else if (len > 0) {
        if (writer->buffer == NULL && (writer->buffer = fz_malloc(WRITE_BUFFER_BYTES)) == NULL) {
            return fz_fail_nomem(err, WRITE_BUFFER_BYTES);
        }
        memcpy(writer->buffer + writer->buffered, data, len);
        writer->buffered += len;
    }
out:
    return rc;
}

static void writer_free(struct local_writer *writer) {
    if (writer->fd >= 0) {
        close(writer->fd);
    }
    fz_free(writer->location);
    fz_free(writer->path);
    fz_free(writer->temp_path);
    fz_free(writer->buffer);
    fz_free(writer);
}

static void writer_abort(struct fz_writer *base) {
    struct local_writer *writer = (struct local_writer *)base;
    if (writer->fd >= 0) {
        unlink(writer->temp_path);
    }
    writer_free(writer);
}

// Puts the finished file in its place. 0, or the errno.
static int publish(const struct local_writer *writer, bool if_absent) {
    if (!if_absent) {
        return rename(writer->temp_path, writer->path) == 0 ? 0 : errno;
    }
    if (link(writer->temp_path, writer->path) == 0) {
        unlink(writer->temp_path);
        return 0;
    }
    if (errno != EPERM && errno != EOPNOTSUPP && errno != ENOSYS && errno != EMLINK) {
        return errno;
    }
    // a file system without hard links
    return renameat2(AT_FDCWD, writer->temp_path, AT_FDCWD, writer->path, RENAME_NOREPLACE) == 0 ? 0 : errno;
}

static void sync_folder(const char *path) {
    const char *slash = strrchr(path, '/');
    char *folder = slash == NULL ? fz_strdup(".") : fz_strndup(path, slash == path ? 1 : (size_t)(slash - path));
    int fd = folder != NULL ? open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
    fz_free(folder);
}

static enum fz_code finish(struct local_writer *writer, bool if_absent, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(flush_buffer(writer, err));
    if (writer->durable && fdatasync(writer->fd) != 0) {
        rc = fail_errno(err, errno, "write", writer->location);
        goto out;
    }
    if (close(writer->fd) != 0 && errno != EINTR) { // a full disk or quota may show only here
        writer->fd = -1;
        rc = fail_errno(err, errno, "write", writer->location);
        goto out;
    }
    writer->fd = -1;
    int failed = publish(writer, if_absent);
    if (failed == EEXIST && if_absent) {
        rc = fz_fail(err, FZ_EXISTS, "there already is a file %s", writer->location);
    } else if (failed != 0) {
        rc = fail_errno(err, failed, "make", writer->location);
    } else if (writer->durable) {
        sync_folder(writer->path);
    }
out:
    if (rc != FZ_OK) {
        unlink(writer->temp_path);
    }
    writer_free(writer);
    return rc;
}

static enum fz_code writer_close(struct fz_writer *base, struct fz_err *err) {
    return finish((struct local_writer *)base, false, err);
}

static const struct fz_writer_vtable writer_vtable = {
    .append = writer_append, .close = writer_close, .abort = writer_abort};

static enum fz_code open_writer(struct local_store *local, const char *location, struct local_writer **out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const char *path = NULL;
    struct local_writer *writer = NULL;
    FZ_TRY(path_of(location, &path, err));
    if (path[strlen(path) - 1] == '/') {
        return fz_fail(err, FZ_INVALID_ARG, "%s names a folder, not a file", location);
    }
    FZ_NEW(writer, err);
    writer->base.vtable = &writer_vtable;
    writer->fd = -1;
    writer->durable = atomic_load(&local->durable);
    writer->location = fz_strdup(location);
    writer->path = fz_strdup(path);
    writer->temp_path = temp_path_for(path);
    if (writer->location == NULL || writer->path == NULL || writer->temp_path == NULL) {
        rc = fz_fail_nomem(err, strlen(location));
        goto out;
    }
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
    writer->fd = open(writer->temp_path, flags, 0666);
    if (writer->fd < 0 && errno == ENOENT && make_folders(writer->temp_path)) {
        writer->fd = open(writer->temp_path, flags, 0666);
    }
    if (writer->fd < 0) {
        int number = errno == ENOENT || errno == ENOTDIR ? EIO : errno; // never NOT_FOUND for a file to be made
        rc = errno == ENOTDIR ? fz_fail(err, FZ_IO, "cannot make %s: a folder of the path is a file", location)
                              : fail_errno(err, number, "make", location);
        goto out;
    }
    *out = writer;
    writer = NULL;
out:
    if (writer != NULL) {
        writer_free(writer);
    }
    return rc;
}

static enum fz_code local_writer_open(struct fz_store *store, const char *location, struct fz_writer **out,
                                      struct fz_err *err) {
    struct local_writer *writer = NULL;
    enum fz_code rc = open_writer((struct local_store *)store, location, &writer, err);
    if (rc == FZ_OK) {
        *out = &writer->base;
    }
    return rc;
}

static enum fz_code make_folder(const char *location, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const char *path = NULL;
    FZ_TRY(path_of(location, &path, err));
    char *copy = fz_strdup(path); // ends with a slash, so all of it is made
    if (copy == NULL) {
        return fz_fail_nomem(err, strlen(path));
    }
    if (!make_folders(copy)) {
        rc = errno == ENOTDIR ? fz_fail(err, FZ_IO, "cannot make %s: a folder of the path is a file", location)
                              : fail_errno(err, errno, "make", location);
    }
    fz_free(copy);
out:
    return rc;
}

static enum fz_code local_put(struct fz_store *store, const char *location, const void *data, size_t len,
                              bool if_absent, struct fz_err *err) {
    struct local_writer *writer = NULL;
    if (len == 0 && location[0] != 0 && location[strlen(location) - 1] == '/') {
        return make_folder(location, err);
    }
    enum fz_code rc = open_writer((struct local_store *)store, location, &writer, err);
    if (rc != FZ_OK) {
        return rc;
    }
    rc = write_fully(writer, data, len, err);
    if (rc != FZ_OK) {
        writer_abort(&writer->base);
        return rc;
    }
    return finish(writer, if_absent, err);
}

// ---- listing and removing

struct listing {
    bool shallow; // direct children, folders too
    fz_list_fn fn;
    void *ctx;
    const char *root; // as the caller wrote it, without slashes at the end
    int64_t stale_before_us;
    struct fz_buf below; // path below the root
};

static bool is_unfinished(const char *name) {
    size_t len = strlen(name);
    return name[0] == '.' && len > 4 && strcmp(name + len - 4, ".tmp") == 0;
}

// A file, or a folder of a shallow listing.
static enum fz_code list_entry(struct listing *l, const char *name, const struct stat *st, struct fz_err *err) {
    int64_t modified_us = (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000;
    if (S_ISREG(st->st_mode) && is_unfinished(name) && modified_us >= l->stale_before_us) {
        return FZ_OK;
    }
    struct fz_buf location = {0};
    fz_buf_printf(&location, "%s%s", l->root, l->below.ptr);
    enum fz_code rc = fz_buf_check(&location, err);
    if (rc == FZ_OK) {
        struct fz_list_entry entry = {location.ptr, S_ISDIR(st->st_mode) ? -1 : st->st_size, modified_us};
        rc = l->fn(l->ctx, &entry, err);
    }
    fz_buf_dispose(&location);
    return rc;
}

static enum fz_code list_folder(struct listing *l, int fd, int depth, struct fz_err *err);

// One name of a folder: a file, a folder to go into (not through symbolic links), or something else.
static enum fz_code list_name(struct listing *l, int folder_fd, const char *name, int depth, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct stat st;
    size_t len = l->below.len;
    fz_buf_printf(&l->below, "/%s", name);
    FZ_TRY(fz_buf_check(&l->below, err));
    if (fstatat(folder_fd, name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
        goto out; // removed meanwhile
    }
    if (S_ISLNK(st.st_mode) && (fstatat(folder_fd, name, &st, 0) != 0 || S_ISDIR(st.st_mode))) {
        goto out;
    }
    if (S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && l->shallow)) {
        rc = list_entry(l, name, &st, err);
    } else if (S_ISDIR(st.st_mode)) {
        int fd = openat(folder_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (fd >= 0) {
            rc = list_folder(l, fd, depth + 1, err);
        } else if (errno != ENOENT) {
            rc = fail_errno(err, errno, "list", l->below.ptr);
        }
    }
out:
    l->below.len = len;
    if (l->below.ptr != NULL) {
        l->below.ptr[len] = 0;
    }
    return rc;
}

// Takes the descriptor.
static enum fz_code list_folder(struct listing *l, int fd, int depth, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    DIR *dir = depth < MAX_FOLDER_DEPTH ? fdopendir(fd) : NULL;
    if (dir == NULL) {
        close(fd);
        return fz_fail(err, FZ_IO, "cannot list %s%s: %s", l->root, l->below.ptr != NULL ? l->below.ptr : "",
                       depth < MAX_FOLDER_DEPTH ? "the folder cannot be opened" : "folders are nested too deeply");
    }
    for (struct dirent *entry; (entry = readdir(dir)) != NULL;) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            FZ_TRY(list_name(l, fd, entry->d_name, depth, err));
        }
    }
out:
    closedir(dir);
    return rc;
}

static enum fz_code list_root(const char *prefix, bool shallow, fz_list_fn fn, void *ctx, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const char *path = NULL;
    struct listing l = {
        .shallow = shallow, .fn = fn, .ctx = ctx, .stale_before_us = fz_now_us() - INT64_C(86400000000)};
    size_t len = strlen(prefix);
    FZ_TRY(path_of(prefix, &path, err));
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0) {
        return errno == ENOENT || errno == ENOTDIR ? FZ_OK : fail_errno(err, errno, "list", prefix);
    }
    while (len > 0 && prefix[len - 1] == '/') {
        len--;
    }
    char *root = fz_strndup(prefix, len);
    if (root == NULL) {
        close(fd);
        return fz_fail_nomem(err, len);
    }
    l.root = root;
    rc = list_folder(&l, fd, 0, err);
    fz_free(root);
out:
    fz_buf_dispose(&l.below);
    return rc;
}

static enum fz_code local_list(struct fz_store *store, const char *prefix, fz_list_fn fn, void *ctx,
                               struct fz_err *err) {
    (void)store;
    return list_root(prefix, false, fn, ctx, err);
}

static enum fz_code local_list_folder(struct fz_store *store, const char *prefix, fz_list_fn fn, void *ctx,
                                      struct fz_err *err) {
    (void)store;
    return list_root(prefix, true, fn, ctx, err);
}

// "<path>/" is a folder; it stays when it is not empty.
static enum fz_code local_remove(struct fz_store *store, const char *location, struct fz_err *err) {
    (void)store;
    enum fz_code rc = FZ_OK;
    const char *path = NULL;
    FZ_TRY(path_of(location, &path, err));
    bool folder = path[strlen(path) - 1] == '/';
    if ((folder ? rmdir(path) : unlink(path)) != 0 && errno != ENOENT && errno != ENOTDIR &&
        !(folder && errno == ENOTEMPTY)) {
        rc = fail_errno(err, errno, "remove", location);
    }
out:
    return rc;
}

static const struct fz_store_vtable local_vtable = {
    .scheme = "file",
    .free = local_free,
    .size = local_size,
    .submit = local_submit,
    .wait = local_wait,
    .put = local_put,
    .writer_open = local_writer_open,
    .list = local_list,
    .remove = local_remove,
    .list_folder = local_list_folder,
};

enum fz_code fz_store_local_new(struct fz_store **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct local_store *local = NULL;
    FZ_NEW(local, err);
    local->base = (struct fz_store){.vtable = &local_vtable, .refs = 1};
    *out = &local->base;
out:
    return rc;
}

void fz_store_local_set_durable(struct fz_store *store, bool durable) {
    if (store->vtable == &local_vtable) {
        atomic_store(&((struct local_store *)store)->durable, durable);
    }
}
