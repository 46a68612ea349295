// The folder that a database spills to: the user's, or a private one below $TMPDIR/frazil-UID that goes away with the database. A process
// that is killed leaves its folder behind; the next one finds that nobody holds it and removes it.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "duck/duck_priv.h"

enum { FRESH_SECONDS = 60 }; // a folder may not be locked yet when it is this young

static enum fz_code make_folders(const char *path, struct fz_err *err) {
    char *copy = fz_strdup(path);
    if (!copy) {
        return fz_fail_nomem(err, strlen(path) + 1);
    }
    enum fz_code rc = FZ_OK;
    for (char *p = copy + 1;; p++) {
        if (*p != '/' && *p != 0) {
            continue;
        }
        char c = *p;
        *p = 0;
        if (mkdir(copy, 0700) != 0 && errno != EEXIST) {
            rc = fz_fail(err, FZ_IO, "cannot make the folder %s for temporary files: %s", copy, strerror(errno));
        }
        *p = c;
        if (c == 0 || rc != FZ_OK) {
            break;
        }
    }
    fz_free(copy);
    return rc;
}

static void remove_files(int folder) {
    int again = dup(folder);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
            unlinkat(folder, e->d_name, 0);
        }
    }
    if (dir) {
        closedir(dir);
    } else if (again >= 0) {
        close(again);
    }
}

// Folders of processes that are no more.
static void sweep(int home) {
    int again = dup(home);
    DIR *dir = again >= 0 ? fdopendir(again) : NULL;
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;) {
        struct stat st;
        int folder =
            e->d_name[0] != '.' ? openat(home, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        if (folder >= 0 && fstat(folder, &st) == 0 && time(NULL) - st.st_mtime > FRESH_SECONDS &&
            flock(folder, LOCK_EX | LOCK_NB) == 0) {
            remove_files(folder);
            unlinkat(home, e->d_name, AT_REMOVEDIR);
        }
        if (folder >= 0) {
            close(folder);
        }
    }
    if (dir) {
        closedir(dir);
    } else if (again >= 0) {
        close(again);
    }
}

// The folder for private ones, which has to be ours alone; -1: there is none.
static int open_home(const char *path) {
    struct stat st;
    if (mkdir(path, 0700) != 0 && errno != EEXIST) {
        return -1;
    }
    int home = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (home >= 0 && (fstat(home, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 077) != 0)) {
        close(home);
        home = -1;
    }
    return home;
}

static enum fz_code make_private(struct fz_duck_temp *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf path = {0};
    const char *base = getenv("TMPDIR");
    fz_buf_printf(&path, "%s/frazil-%ld", base && *base ? base : "/tmp", (long)geteuid());
    FZ_TRY(fz_buf_check(&path, err));
    int home = open_home(path.ptr);
    if (home >= 0) {
        sweep(home);
        close(home);
    }
    fz_buf_puts(&path, home >= 0 ? "/XXXXXX" : "-XXXXXX");
    FZ_TRY(fz_buf_check(&path, err));
    if (!mkdtemp(path.ptr)) {
        rc = fz_fail(err, FZ_IO, "cannot make a private folder %s for temporary files: %s", path.ptr, strerror(errno));
        goto out;
    }
    out->folder = open(path.ptr, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (out->folder >= 0) {
        flock(out->folder, LOCK_EX | LOCK_NB); // held until the process ends; without it the folder is only less safe
    }
    out->is_private = true;
    out->path = fz_buf_take(&path);
out:
    fz_buf_dispose(&path);
    return rc;
}

enum fz_code fz_duck_temp_make(const char *wanted, struct fz_duck_temp *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf path = {0};
    *out = (struct fz_duck_temp){.folder = -1};
    if (!wanted) {
        return make_private(out, err);
    }
    fz_buf_puts(&path, wanted);
    while (path.len > 1 && path.ptr && path.ptr[path.len - 1] == '/') {
        path.ptr[--path.len] = 0;
    }
    FZ_TRY(fz_buf_check(&path, err));
    FZ_TRY(make_folders(path.ptr, err));
    out->path = fz_buf_take(&path);
out:
    fz_buf_dispose(&path);
    return rc;
}

void fz_duck_temp_drop(struct fz_duck_temp *temp) {
    if (temp->is_private) {
        if (temp->folder >= 0) {
            remove_files(temp->folder);
            close(temp->folder);
        }
        rmdir(temp->path);
    }
    fz_free(temp->path);
    *temp = (struct fz_duck_temp){.folder = -1};
}
