// Manifest lists: one row per manifest of a snapshot (spec "Manifest Lists", iceberg-facts 7.3).
#include <stdio.h>

#include "table/manifest_priv.h"

enum { MAX_MANIFESTS = 10 * 1000 * 1000 };

// For files without field ids; the second spellings are those of old Java releases.
static const struct fz_name_id names[] = {
    {"manifest_path", 500},
    {"manifest_length", 501},
    {"partition_spec_id", 502},
    {"content", 517},
    {"sequence_number", 515},
    {"min_sequence_number", 516},
    {"added_snapshot_id", 503},
    {"added_files_count", 504},
    {"existing_files_count", 505},
    {"deleted_files_count", 506},
    {"added_data_files_count", 504},
    {"existing_data_files_count", 505},
    {"deleted_data_files_count", 506},
    {"added_rows_count", 512},
    {"existing_rows_count", 513},
    {"deleted_rows_count", 514},
    {"partitions", 507},
    {"key_metadata", 519},
    {"first_row_id", 520},
};
static const struct fz_name_id summary_names[] = {
    {"contains_null", 509}, {"contains_nan", 518}, {"lower_bound", 510}, {"upper_bound", 511}};

struct list_reader {
    struct fz_arena *arena;
    struct fz_avro_reader *avro;
    struct fz_avro_field *fields, *summary;
    size_t n_fields, n_summary;
    struct fz_field_summary *scratch; // of one row
    size_t n_scratch, cap_scratch;
    struct fz_err *err;
};

static enum fz_code copy_bytes(struct fz_arena *arena, struct fz_str in, struct fz_str *out, struct fz_err *err) {
    *out = (struct fz_str){fz_arena_strndup(arena, in.ptr, in.len), in.len};
    return out->ptr != NULL ? FZ_OK : fz_fail_nomem(err, in.len);
}

static enum fz_code read_summary(struct list_reader *r, struct fz_field_summary *s) {
    enum fz_code rc = FZ_OK;
    *s = (struct fz_field_summary){.contains_null = true, .contains_nan = -1};
    bool has_lower = false, has_upper = false, present, flag;
    for (size_t i = 0; i < r->n_summary; i++) {
        const struct fz_avro_field *f = &r->summary[i];
        struct fz_str bytes;
        if (f->id < 509 || (f->id > 511 && f->id != 518)) {
            FZ_TRY(fz_avro_skip(r->avro, f->whole, r->err));
            continue;
        }
        FZ_TRY(fz_avro_expect(f, f->id == 509 || f->id == 518 ? FZ_AVRO_FLAG : FZ_AVRO_TEXT, r->err));
        FZ_TRY(fz_avro_present(r->avro, f, &present, r->err));
        if (!present) {
            continue;
        }
        if (f->id == 509 || f->id == 518) {
            FZ_TRY(fz_avro_get_boolean(r->avro, &flag, r->err));
            s->contains_null = f->id == 509 ? flag : s->contains_null;
            s->contains_nan = f->id == 518 ? flag : s->contains_nan;
        } else {
            FZ_TRY(fz_avro_get_bytes(r->avro, &bytes, r->err));
            FZ_TRY(copy_bytes(r->arena, bytes, f->id == 510 ? &s->lower_bound : &s->upper_bound, r->err));
            has_lower = has_lower || f->id == 510;
            has_upper = has_upper || f->id == 511;
        }
    }
    s->has_bounds = has_lower && has_upper;
out:
    return rc;
}

static enum fz_code read_summaries(struct list_reader *r, struct fz_manifest_file *file) {
    enum fz_code rc = FZ_OK;
    r->n_scratch = 0;
    for (;;) {
        int64_t n;
        FZ_TRY(fz_avro_get_block(r->avro, &n, r->err));
        if (n == 0) {
            break;
        }
        FZ_TRY(fz_grow((void **)&r->scratch, &r->cap_scratch, r->n_scratch + (size_t)n, sizeof *r->scratch, r->err));
        for (int64_t i = 0; i < n; i++) {
            FZ_TRY(read_summary(r, &r->scratch[r->n_scratch++]));
        }
    }
    file->n_partitions = r->n_scratch;
    file->partitions =
        fz_arena_memdup(r->arena, r->n_scratch > 0 ? (void *)r->scratch : "", r->n_scratch * sizeof *r->scratch);
    rc = file->partitions != NULL ? FZ_OK : fz_fail_nomem(r->err, r->n_scratch);
out:
    return rc;
}

static int64_t *long_slot(struct fz_manifest_file *f, int32_t id) {
    switch (id) {
    case 501:
        return &f->manifest_length;
    case 503:
        return &f->added_snapshot_id;
    case 512:
        return &f->added_rows_count;
    case 513:
        return &f->existing_rows_count;
    case 514:
        return &f->deleted_rows_count;
    case 515:
        return &f->sequence_number;
    case 516:
        return &f->min_sequence_number;
    case 520:
        return &f->first_row_id;
    default:
        return NULL;
    }
}

static int32_t *int_slot(struct fz_manifest_file *f, int32_t id) {
    switch (id) {
    case 502:
        return &f->partition_spec_id;
    case 504:
        return &f->added_files_count;
    case 505:
        return &f->existing_files_count;
    case 506:
        return &f->deleted_files_count;
    case 517:
        return &f->content;
    default:
        return NULL;
    }
}

static enum fz_code read_number(struct list_reader *r, const struct fz_avro_field *f, struct fz_manifest_file *file) {
    int64_t v;
    enum fz_code rc = fz_avro_expect(f, FZ_AVRO_NUMBER, r->err);
    if (rc == FZ_OK) {
        rc = fz_avro_get_long(r->avro, &v, r->err);
    }
    if (rc != FZ_OK) {
        return rc;
    }
    int64_t *wide = long_slot(file, f->id);
    if (wide != NULL) {
        *wide = v;
    } else if (v < INT32_MIN || v > INT32_MAX) {
        return fz_fail(r->err, FZ_CORRUPT, "manifest list: %s is out of range", f->name);
    } else {
        *int_slot(file, f->id) = (int32_t)v;
    }
    return FZ_OK;
}

static enum fz_code read_row(struct list_reader *r, struct fz_manifest_file *file) {
    enum fz_code rc = FZ_OK;
    *file = (struct fz_manifest_file){
        .added_files_count = -1, .existing_files_count = -1, .deleted_files_count = -1, .added_snapshot_id = -1};
    file->added_rows_count = file->existing_rows_count = file->deleted_rows_count = file->first_row_id = -1;
    for (size_t i = 0; i < r->n_fields; i++) {
        const struct fz_avro_field *f = &r->fields[i];
        struct fz_str bytes;
        bool present;
        bool number = long_slot(file, f->id) != NULL || int_slot(file, f->id) != NULL;
        if (!number && f->id != 500 && f->id != 507 && f->id != 519) {
            FZ_TRY(fz_avro_skip(r->avro, f->whole, r->err));
            continue;
        }
        FZ_TRY(fz_avro_present(r->avro, f, &present, r->err));
        if (!present) {
            continue;
        }
        if (number) {
            FZ_TRY(read_number(r, f, file));
        } else if (f->id == 507) {
            FZ_TRY(fz_avro_expect(f, FZ_AVRO_ARRAY, r->err));
            FZ_TRY(read_summaries(r, file));
        } else {
            FZ_TRY(fz_avro_expect(f, FZ_AVRO_TEXT, r->err));
            FZ_TRY(fz_avro_get_bytes(r->avro, &bytes, r->err));
            struct fz_str copy;
            FZ_TRY(copy_bytes(r->arena, bytes, &copy, r->err));
            if (f->id == 500) {
                file->manifest_path = copy.ptr;
            } else {
                file->key_metadata = copy;
            }
        }
    }
    if (file->manifest_path == NULL || file->manifest_path[0] == 0 || file->manifest_length < 0 || file->content < 0 ||
        file->content > 1) {
        rc = fz_fail(r->err, FZ_CORRUPT, "manifest list row has no path, a negative length or an unknown content");
    }
out:
    return rc;
}

static enum fz_code plan_list(struct list_reader *r) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(fz_avro_plan(r->arena, fz_avro_reader_schema(r->avro), names, sizeof names / sizeof names[0], &r->fields,
                        &r->n_fields, r->err));
    for (size_t i = 0; i < r->n_fields; i++) {
        if (r->fields[i].id == 507 && r->fields[i].kind == FZ_AVRO_ARRAY) {
            FZ_TRY(fz_avro_plan(r->arena, json_object_get(r->fields[i].schema, "items"), summary_names,
                                sizeof summary_names / sizeof summary_names[0], &r->summary, &r->n_summary, r->err));
        }
    }
out:
    return rc;
}

enum fz_code fz_manifest_list_decode(struct fz_arena *arena, const void *data, size_t len,
                                     struct fz_manifest_file **out, size_t *n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct list_reader r = {.arena = arena, .err = err};
    struct fz_manifest_file *rows = NULL;
    size_t n_rows = 0, cap = 0;
    bool more = true;
    FZ_TRY(fz_avro_reader_open(data, len, &r.avro, err));
    FZ_TRY(plan_list(&r));
    for (;;) {
        FZ_TRY(fz_avro_reader_next(r.avro, &more, err));
        if (!more) {
            break;
        }
        if (n_rows >= MAX_MANIFESTS) {
            rc = fz_fail(err, FZ_LIMIT, "manifest list has more than %d rows", MAX_MANIFESTS);
            goto out;
        }
        FZ_TRY(fz_grow((void **)&rows, &cap, n_rows + 1, sizeof *rows, err));
        FZ_TRY(read_row(&r, &rows[n_rows]));
        n_rows++;
    }
    *out = fz_arena_memdup(arena, n_rows > 0 ? (void *)rows : "", n_rows * sizeof *rows);
    *n = n_rows;
    rc = *out != NULL ? FZ_OK : fz_fail_nomem(err, n_rows * sizeof *rows);
out:
    fz_free(rows);
    fz_free(r.scratch);
    fz_avro_reader_close(r.avro);
    return rc;
}

static void put_optional_bytes(struct fz_avro_writer *w, bool set, struct fz_str bytes) {
    fz_avro_put_long(w, set);
    if (set) {
        fz_avro_put_bytes(w, bytes.ptr, bytes.len);
    }
}

static void put_summaries(struct fz_avro_writer *w, const struct fz_manifest_file *f) {
    fz_avro_put_long(w, 1); // written also when there are none
    if (f->n_partitions > 0) {
        fz_avro_put_long(w, (int64_t)f->n_partitions);
        for (size_t i = 0; i < f->n_partitions; i++) {
            const struct fz_field_summary *s = &f->partitions[i];
            fz_avro_put_boolean(w, s->contains_null);
            fz_avro_put_long(w, s->contains_nan >= 0);
            if (s->contains_nan >= 0) {
                fz_avro_put_boolean(w, s->contains_nan > 0);
            }
            put_optional_bytes(w, s->has_bounds, s->lower_bound);
            put_optional_bytes(w, s->has_bounds, s->upper_bound);
        }
    }
    fz_avro_put_long(w, 0);
}

// Counts that an old list did not have are unknown, but newer versions require them: 0 would let readers skip the manifest.
static enum fz_code put_count(struct fz_avro_writer *w, bool optional, int64_t count, struct fz_err *err) {
    if (optional) {
        fz_avro_put_long(w, count >= 0);
    } else if (count < 0) {
        return fz_fail(
            err, FZ_UNSUPPORTED,
            "a manifest has no counts in its v1 manifest list; rewrite the manifests of the table before writing v2");
    }
    if (count >= 0) {
        fz_avro_put_long(w, count);
    }
    return FZ_OK;
}

static enum fz_code put_row(struct fz_avro_writer *w, int version, const struct fz_manifest_file *f,
                            int64_t snapshot_id, int64_t sequence_number, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool v1 = version == 1;
    const int64_t files[3] = {f->added_files_count, f->existing_files_count, f->deleted_files_count};
    const int64_t rows[3] = {f->added_rows_count, f->existing_rows_count, f->deleted_rows_count};
    fz_avro_put_bytes(w, f->manifest_path, strlen(f->manifest_path));
    fz_avro_put_long(w, f->manifest_length);
    fz_avro_put_long(w, f->partition_spec_id);
    if (!v1) {
        fz_avro_put_long(w, f->content);
        fz_avro_put_long(w, f->sequence_number < 0 ? sequence_number : f->sequence_number);
        fz_avro_put_long(w, f->min_sequence_number < 0 ? sequence_number : f->min_sequence_number);
    }
    fz_avro_put_long(w, f->added_snapshot_id < 0 ? snapshot_id : f->added_snapshot_id);
    for (size_t i = 0; i < 3; i++) {
        FZ_TRY(put_count(w, v1, files[i], err));
    }
    if (v1) {
        put_summaries(w, f);
    }
    for (size_t i = 0; i < 3; i++) {
        FZ_TRY(put_count(w, v1, rows[i], err));
    }
    if (!v1) {
        put_summaries(w, f);
    }
    put_optional_bytes(w, f->key_metadata.len > 0, f->key_metadata);
    if (version >= 3) {
        bool set = f->content == 0 && f->first_row_id >= 0;
        fz_avro_put_long(w, set);
        if (set) {
            fz_avro_put_long(w, f->first_row_id);
        }
    }
    rc = fz_avro_writer_end_record(w, err);
out:
    return rc;
}

static enum fz_code put_key(struct fz_avro_writer *w, const char *key, int64_t value, struct fz_err *err) {
    char text[32];
    int len = snprintf(text, sizeof text, "%lld", (long long)value);
    return fz_avro_writer_metadata(w, key, (struct fz_str){text, (size_t)len}, err);
}

enum fz_code fz_manifest_list_encode(const struct fz_metadata *metadata, const struct fz_manifest_file *files, size_t n,
                                     int64_t snapshot_id, int64_t parent_snapshot_id, int64_t sequence_number,
                                     int64_t first_row_id, struct fz_buf *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_avro_writer *w = NULL;
    int version = metadata->format_version;
    const struct fz_type *type = fz_manifest_list_type(&arena, version);
    if (type == NULL) {
        rc = fz_fail_nomem(err, 0);
        goto out;
    }
    FZ_TRY(fz_manifest_writer_open(metadata, type, "manifest_file", &w, err));
    FZ_TRY(put_key(w, "snapshot-id", snapshot_id, err));
    if (parent_snapshot_id < 0) {
        FZ_TRY(fz_avro_writer_metadata(w, "parent-snapshot-id", FZ_STR_LIT("null"), err));
    } else {
        FZ_TRY(put_key(w, "parent-snapshot-id", parent_snapshot_id, err));
    }
    if (version > 1) {
        FZ_TRY(put_key(w, "sequence-number", sequence_number, err));
    }
    if (version >= 3) {
        FZ_TRY(put_key(w, "first-row-id", first_row_id, err));
    }
    FZ_TRY(put_key(w, "format-version", version, err));
    for (size_t i = 0; i < n; i++) {
        FZ_TRY(put_row(w, version, &files[i], snapshot_id, sequence_number, err));
    }
    rc = fz_avro_writer_close(w, out, err);
    w = NULL;
out:
    fz_avro_writer_abort(w);
    fz_arena_dispose(&arena);
    return rc;
}
