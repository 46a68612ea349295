// Telling what a file is by its first bytes (the version hint by its name), and printing what was found.
#include <stdlib.h>

#include "base/text.h"
#include "inspect/inspect_priv.h"

enum { MAX_BYTES = 1 << 30 }; // of files that are read whole: Avro, metadata

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

static enum fz_code version_hint(struct fz_inspect *in, const struct fz_buf *file) {
    struct fz_str text = {file->ptr != NULL ? file->ptr : "", file->len};
    int64_t version;
    while (text.len > 0 && strchr(" \r\n\t", text.ptr[text.len - 1]) != NULL) {
        text.len--;
    }
    fz_inspect_put(in, in->root, "kind", json_string("version hint"));
    if (!fz_parse_i64(text, &version) || version < 0) {
        return fz_fail(in->err, FZ_CORRUPT, "%s: a version hint holds one number, this file does not", in->location);
    }
    fz_inspect_put(in, in->root, "version", json_integer(version));
    const char *slash = strrchr(in->location, '/');
    int folder = slash != NULL ? (int)(slash - in->location + 1) : 0;
    static const char *const suffixes[] = {"", ".gz"};
    for (int i = 0; i < 2; i++) {
        char *name = fz_arena_printf(&in->arena, "%.*sv%lld%s.metadata.json", folder, in->location, (long long)version,
                                     suffixes[i]);
        int64_t size;
        struct fz_err ignored = FZ_ERR_INIT;
        if (name != NULL && fz_store_size(in->store, name, &size, &ignored) == FZ_OK) {
            fz_inspect_put(in, in->root, "metadata_file", fz_inspect_cstr(name));
            return FZ_OK;
        }
    }
    fz_inspect_put(in, in->root, "metadata_file", json_string("none: the file of that version is not beside it"));
    return FZ_OK;
}

static enum fz_code inspect(struct fz_inspect *in) {
    enum fz_code rc = FZ_OK;
    struct fz_buf file = {0};
    uint8_t head[4] = {0};
    size_t n = in->size_bytes < 4 ? (size_t)in->size_bytes : 4;
    FZ_TRY(fz_store_read(in->store, in->location, 0, n, head, NULL, in->err));
    bool whole = false;
    if (memcmp(head, "PAR1", 4) == 0 || memcmp(head, "PARE", 4) == 0) {
        FZ_TRY(fz_inspect_parquet(in));
    } else if (memcmp(head, "PFA1", 4) == 0) {
        FZ_TRY(fz_inspect_puffin(in));
    } else if (memcmp(head, "ORC", 3) == 0) {
        rc = fz_fail(in->err, FZ_UNSUPPORTED,
                     "%s is an ORC file, which frazil does not read; rewrite it as Parquet with Spark "
                     "(CALL catalog.system.rewrite_data_files after SET 'write.format.default'='parquet')",
                     in->location);
    } else {
        whole = memcmp(head, "Obj\1", 4) == 0 || (head[0] == 0x1f && head[1] == 0x8b) ||
                strchr(" \t\r\n{", head[0]) != NULL || ends_with(in->location, "version-hint.text");
        if (!whole || n == 0) {
            rc = fz_fail(in->err, FZ_UNSUPPORTED,
                         "%s is no file of a table: it is neither Parquet, Avro, Puffin, table metadata (JSON, also "
                         "gzip) nor a version "
                         "hint",
                         in->location);
        }
    }
    if (rc == FZ_OK && whole) {
        FZ_TRY(fz_store_read_all(in->store, in->location, MAX_BYTES, &file, in->err));
        if (head[0] == 'O') {
            FZ_TRY(fz_inspect_avro(in, &file));
        } else if (ends_with(in->location, "version-hint.text")) {
            FZ_TRY(version_hint(in, &file));
        } else {
            FZ_TRY(fz_inspect_metadata(in, &file));
        }
    }
out:
    fz_buf_dispose(&file);
    return rc;
}

enum fz_code fz_inspect_file(struct fz_store *store, const char *location, const struct fz_inspect_options *options,
                             struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_inspect in = {.store = store, .location = location, .err = err, .root = json_object()};
    char *text = NULL;
    if (in.root == NULL) {
        return fz_fail_nomem(err, 64);
    }
    FZ_TRY(fz_store_size(store, location, &in.size_bytes, err));
    if (options->only_rows) {
        FZ_TRY(fz_inspect_rows(store, location, in.size_bytes, options, out, err));
        goto out;
    }
    fz_inspect_put(&in, in.root, "file", fz_inspect_cstr(location));
    fz_inspect_put(&in, in.root, "kind", json_null());
    fz_inspect_put(&in, in.root, "size_bytes", json_integer(in.size_bytes));
    FZ_TRY(inspect(&in));
    if (in.nomem) {
        rc = fz_fail_nomem(err, (size_t)in.size_bytes);
        goto out;
    }
    if (options->json) {
        text = json_dumps(in.root, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
        fz_buf_puts(out, text != NULL ? text : "");
        fz_buf_putc(out, '\n');
        rc = text == NULL ? fz_fail_nomem(err, (size_t)in.size_bytes) : fz_buf_check(out, err);
    } else {
        fz_inspect_layout(in.root, options->all, out);
        rc = fz_buf_check(out, err);
    }
out:
    free(text);
    json_decref(in.root);
    fz_arena_dispose(&in.arena);
    return rc;
}
