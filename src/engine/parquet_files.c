// parquet.`path` read by our own reader, where the engine's would lose something: variants (it keeps other types of number), and
// nanoseconds with a zone (it rounds them toward 1970). The types are those of the first file; timestamps are rounded down to
// microseconds, as they are in every file source; files that lack a column give NULL.
#include "engine/engine_priv.h"
#include "format/parquet/parquet_reader.h"

enum { MAX_FILES = 100000, MAX_TYPE_DEPTH = 100 };

struct fz_parquet_files {
    struct fz_arena arena;
    _Atomic int refs;
    struct fz_parquet_file **files;
    size_t *groups_before; // row groups of the files before file i; one more entry for all
    size_t n_files;
    int64_t n_rows;
    const struct fz_type *schema;
    struct fz_field *shown, *stored; // c1 … cn; as the files have them, nanoseconds too
    const char **names;
    size_t n_fields;
    struct fz_cancel *cancel;
};

void fz_parquet_files_unref(struct fz_parquet_files *p) {
    if (p == NULL || atomic_fetch_sub(&p->refs, 1) > 1) {
        return;
    }
    for (size_t i = 0; i < p->n_files; i++) {
        fz_parquet_file_unref(p->files[i]);
    }
    fz_arena_dispose(&p->arena);
    fz_free(p);
}

static bool needs_own_reader(const struct fz_type *t, bool zoned) { // `zoned`: any timestamp with a zone may need it
    bool found = t->id == FZ_TYPE_VARIANT || t->id == FZ_TYPE_TIMESTAMPTZ_NS || (zoned && t->id == FZ_TYPE_TIMESTAMPTZ);
    for (size_t i = 0; i < t->n_fields && !found; i++) {
        found = needs_own_reader(t->fields[i].type, zoned);
    }
    return found;
}

// The same type with microseconds, and with nothing required.
static const struct fz_type *in_micros(struct fz_arena *arena, const struct fz_type *t, int depth) {
    if (t->id == FZ_TYPE_TIMESTAMP_NS || t->id == FZ_TYPE_TIMESTAMPTZ_NS) {
        return fz_type_primitive(t->id == FZ_TYPE_TIMESTAMP_NS ? FZ_TYPE_TIMESTAMP : FZ_TYPE_TIMESTAMPTZ);
    }
    if (t->n_fields == 0 || depth > MAX_TYPE_DEPTH) {
        return t;
    }
    struct fz_type *copy = fz_arena_memdup(arena, t, sizeof *t);
    struct fz_field *fields = fz_arena_memdup(arena, t->fields, t->n_fields * sizeof *fields);
    if (copy == NULL || fields == NULL) {
        return NULL;
    }
    copy->fields = fields;
    for (size_t i = 0; i < t->n_fields; i++) {
        fields[i].type = in_micros(arena, t->fields[i].type, depth + 1);
        fields[i].required = t->id == FZ_TYPE_MAP && i == 0;
        if (fields[i].type == NULL) {
            return NULL;
        }
    }
    return copy;
}

static enum fz_code list_files(struct fz_duck *duck, const char *quoted, struct fz_arena *arena, const char ***out,
                               size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_duck_result *result = NULL;
    const struct fz_batch *batch;
    const struct fz_field field = {.id = 1, .name = "c1", .type = fz_type_primitive(FZ_TYPE_STRING)};
    const char **files = NULL;
    size_t cap = 0;
    const char *sql = fz_arena_printf(arena, "SELECT file_name FROM parquet_file_metadata(%s) ORDER BY 1", quoted);
    if (sql == NULL) {
        return fz_fail_nomem(err, 100);
    }
    *n = 0;
    FZ_TRY(fz_duck_query(duck, sql, &field, 1, &result, err));
    for (;;) {
        FZ_TRY(fz_duck_result_next(result, &batch, err));
        if (batch == NULL) {
            break;
        }
        for (size_t i = 0; i < batch->n_rows; i++) {
            const struct fz_string *s = (const struct fz_string *)batch->columns[0].data + i;
            FZ_TRY(fz_grow((void **)&files, &cap, *n + 1, sizeof *files, err));
            files[*n] = fz_arena_strndup(arena, fz_string_ptr(s), s->length);
            if (files[(*n)++] == NULL) {
                rc = fz_fail_nomem(err, s->length);
                goto out;
            }
        }
        if (*n > MAX_FILES) {
            rc = fz_fail(err, FZ_LIMIT, "more than %d files", MAX_FILES);
            goto out;
        }
    }
    *out = fz_arena_memdup(arena, files, *n * sizeof *files);
    rc = *out == NULL ? fz_fail_nomem(err, *n * sizeof *files) : FZ_OK;
out:
    fz_free(files);
    fz_duck_result_free(result);
    return rc;
}

static enum fz_code take_schema(struct fz_parquet_files *p, struct fz_err *err) {
    const struct fz_type *t = p->schema;
    p->n_fields = t->n_fields;
    p->stored = fz_arena_array(&p->arena, t->n_fields + 1, sizeof *p->stored);
    p->shown = fz_arena_array(&p->arena, t->n_fields + 1, sizeof *p->shown);
    p->names = fz_arena_array(&p->arena, t->n_fields + 1, sizeof *p->names);
    if (p->stored == NULL || p->shown == NULL || p->names == NULL) {
        return fz_fail_nomem(err, t->n_fields * sizeof *p->stored);
    }
    for (size_t i = 0; i < t->n_fields; i++) {
        p->names[i] = t->fields[i].name;
        p->stored[i] = (struct fz_field){.id = (int32_t)i + 1, .name = t->fields[i].name, .type = t->fields[i].type};
        p->shown[i] = (struct fz_field){.id = (int32_t)i + 1,
                                        .name = fz_arena_printf(&p->arena, "c%zu", i + 1),
                                        .type = in_micros(&p->arena, t->fields[i].type, 0)};
        if (p->shown[i].name == NULL || p->shown[i].type == NULL) {
            return fz_fail_nomem(err, 100);
        }
    }
    return FZ_OK;
}

enum fz_code fz_parquet_files_open(struct fz_engine *engine, struct fz_duck *duck, const char *quoted,
                                   const struct fz_field *fields, size_t n_fields, struct fz_parquet_files **out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_parquet_files *p = NULL;
    const char **paths = NULL;
    size_t n = 0;
    bool maybe = false;
    *out = NULL;
    for (size_t i = 0; i < n_fields; i++) {
        maybe = maybe || needs_own_reader(fields[i].type, true);
    }
    if (!maybe) {
        return FZ_OK;
    }
    FZ_NEW(p, err);
    p->refs = 1;
    p->cancel = &engine->cancel;
    FZ_TRY(list_files(duck, quoted, &p->arena, &paths, &n, err));
    if (n == 0) {
        goto out;
    }
    p->files = fz_arena_array(&p->arena, n, sizeof(struct fz_parquet_file *));
    p->groups_before = fz_arena_array(&p->arena, n + 1, sizeof *p->groups_before);
    if (p->files == NULL || p->groups_before == NULL) {
        rc = fz_fail_nomem(err, n * sizeof *p->groups_before);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(fz_parquet_file_open(engine->store, paths[i], -1, &engine->cancel, &p->files[i], err));
        p->n_files++;
        const struct fz_pq_file *meta = fz_parquet_file_meta(p->files[i]);
        p->groups_before[i + 1] = p->groups_before[i] + meta->n_row_groups;
        p->n_rows += meta->num_rows;
        if (i > 0) {
            continue;
        }
        p->schema = fz_parquet_file_logical_schema(p->files[0], &p->arena);
        if (p->schema == NULL) {
            rc = fz_fail_nomem(err, 1000);
            goto out;
        }
        if (!needs_own_reader(p->schema, false)) {
            goto out; // the engine's reader does
        }
    }
    FZ_TRY(take_schema(p, err));
    *out = p;
    p = NULL;
out:
    fz_parquet_files_unref(p);
    return rc;
}

const struct fz_field *fz_parquet_files_fields(const struct fz_parquet_files *p, const char *const **names, size_t *n) {
    *names = p->names;
    *n = p->n_fields;
    return p->shown;
}

// ---- the source ----
struct files_source {
    struct fz_source base;
    struct fz_parquet_files *files;
    _Atomic size_t next_group;
};
struct files_reader {
    struct fz_parquet_reader *group; // NULL: the next one is to be opened
    struct fz_field *stored;
    size_t n_columns;
};

static void files_free(struct fz_source *base) {
    struct files_source *s = (struct files_source *)base;
    fz_parquet_files_unref(s->files);
    fz_free(s);
}

static void files_close(struct fz_source *base, void *reader) {
    struct files_reader *r = reader;
    (void)base;
    if (r != NULL) {
        fz_parquet_reader_close(r->group);
        fz_free(r->stored);
        fz_free(r);
    }
}

static enum fz_code files_open(struct fz_source *base, const size_t *columns, size_t n_columns, void **out,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct files_source *s = (struct files_source *)base;
    struct files_reader *r = NULL;
    FZ_NEW(r, err);
    r->stored = fz_calloc(n_columns + 1, sizeof *r->stored);
    if (r->stored == NULL) {
        rc = fz_fail_nomem(err, n_columns * sizeof *r->stored);
        goto out;
    }
    r->n_columns = n_columns;
    for (size_t i = 0; i < n_columns; i++) {
        r->stored[i] = s->files->stored[columns[i]];
    }
    *out = r;
    r = NULL;
out:
    files_close(base, r);
    return rc;
}

static enum fz_code open_group(struct files_source *s, struct files_reader *r, bool *end, struct fz_err *err) {
    const struct fz_parquet_files *p = s->files;
    size_t group = atomic_fetch_add(&s->next_group, 1), low = 0, high = p->n_files;
    *end = group >= p->groups_before[p->n_files];
    if (*end) {
        return FZ_OK;
    }
    while (high - low > 1) { // the last file that starts at or before it
        size_t mid = (low + high) / 2;
        if (p->groups_before[mid] <= group) {
            low = mid;
        } else {
            high = mid;
        }
    }
    struct fz_parquet_read read = {
        .fields = r->stored, .n_fields = r->n_columns, .row_group = group - p->groups_before[low], .by_name = true};
    return fz_parquet_reader_open(p->files[low], &read, p->cancel, &r->group, err);
}

// Nanoseconds, as they were read, into microseconds.
static void round_down(struct fz_column *c, const struct fz_type *stored, size_t n) {
    if (stored->id == FZ_TYPE_TIMESTAMP_NS || stored->id == FZ_TYPE_TIMESTAMPTZ_NS) {
        int64_t *v = c->data;
        for (size_t i = 0; i < n; i++) {
            v[i] = v[i] / 1000 - (v[i] % 1000 < 0);
        }
        return;
    }
    if (stored->id == FZ_TYPE_STRUCT) {
        for (size_t i = 0; i < stored->n_fields; i++) {
            round_down(&c->children[i], stored->fields[i].type, n);
        }
    } else if (stored->n_fields > 0) {
        size_t end = 0;
        const struct fz_list_span *spans = c->data;
        for (size_t i = 0; i < n; i++) {
            if (fz_column_is_valid(c, i) && (size_t)(spans[i].offset + spans[i].length) > end) {
                end = (size_t)(spans[i].offset + spans[i].length);
            }
        }
        if (stored->id == FZ_TYPE_LIST) {
            round_down(&c->children[0], stored->fields[0].type, end);
        } else {
            round_down(&c->children[0].children[0], stored->fields[0].type, end);
            round_down(&c->children[0].children[1], stored->fields[1].type, end);
        }
    }
}

static enum fz_code files_next(struct fz_source *base, void *reader, struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct files_source *s = (struct files_source *)base;
    struct files_reader *r = reader;
    bool end = false;
    for (batch->n_rows = 0; batch->n_rows == 0;) {
        if (r->group == NULL) {
            FZ_TRY(open_group(s, r, &end, err));
            if (end) {
                break;
            }
        }
        FZ_TRY(fz_parquet_reader_next(r->group, batch, NULL, err));
        if (batch->n_rows == 0) {
            fz_parquet_reader_close(r->group);
            r->group = NULL;
        }
    }
    for (size_t i = 0; i < r->n_columns && batch->n_rows > 0; i++) {
        round_down(&batch->columns[i], r->stored[i].type, batch->n_rows);
    }
out:
    return rc;
}

static const struct fz_source_vtable FILES_SOURCE = {files_free, files_open, files_next, files_close};

enum fz_code fz_parquet_files_source(struct fz_parquet_files *files, int threads, struct fz_source **out,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct files_source *s;
    FZ_NEW(s, err);
    s->base = (struct fz_source){.vtable = &FILES_SOURCE,
                                 .refs = 1,
                                 .fields = files->shown,
                                 .n_fields = files->n_fields,
                                 .estimated_rows = files->n_rows,
                                 .max_threads = threads};
    atomic_fetch_add(&files->refs, 1);
    s->files = files;
    *out = &s->base;
out:
    return rc;
}
