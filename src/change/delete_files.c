// Merge-on-read: what the match changed becomes position delete files (format version 2) or deletion vectors (version 3).
// iceberg-facts 7.10 and 7.11. A new file-scoped delete takes the positions of the older ones of the same data file over and replaces
// them; deletion vectors take over everything.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "change/change_priv.h"

enum { ID_DELETE_PATH = 2147483546, ID_DELETE_POS = 2147483545 };

static struct fz_str bound_of(const struct fz_id_bytes *bounds, size_t n, int32_t id) {
    for (size_t i = 0; i < n; i++) {
        if (bounds[i].id == id) {
            return bounds[i].bytes;
        }
    }
    return (struct fz_str){0};
}

bool fz_delete_is_file_scoped(const struct fz_data_file *file) {
    if (file->referenced_data_file != NULL) {
        return true;
    }
    struct fz_str lower = bound_of(file->lower_bounds, file->n_lower_bounds, ID_DELETE_PATH);
    struct fz_str upper = bound_of(file->upper_bounds, file->n_upper_bounds, ID_DELETE_PATH);
    return lower.len > 0 && fz_str_eq(lower, upper);
}

// Unites the older deleted positions of a data file into the new ones and marks the files that this makes superfluous as removed.
static enum fz_code absorb_older(struct fz_change *c, size_t ix, bool vectors, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_scan_file *file = &c->plan->files[ix];
    bool any = false, partition_scoped = false;
    for (size_t d = 0; d < file->n_deletes; d++) {
        const struct fz_data_file *deletes = &file->deletes[d]->file;
        if (deletes->content == FZ_CONTENT_POSITION_DELETES) {
            any = true;
            partition_scoped |= !fz_delete_is_file_scoped(deletes);
        }
    }
    if (!any || (!vectors && partition_scoped)) {
        return FZ_OK; // version 2 beside a partition-wide delete file: both stay, readers unite them
    }
    const struct fz_positions *older;
    FZ_TRY(fz_scan_deleted_positions(c->plan, ix, &older, err));
    if (older != NULL) {
        FZ_TRY(fz_positions_union(c->files[ix].changed, older, err));
    }
    for (size_t d = 0; d < file->n_deletes; d++) {
        const struct fz_data_file *deletes = &file->deletes[d]->file;
        if (deletes->content == FZ_CONTENT_POSITION_DELETES && fz_delete_is_file_scoped(deletes)) {
            FZ_TRY(fz_change_remove_file(c, deletes, err));
        }
    }
out:
    return rc;
}

static struct fz_data_file delete_file_of(const struct fz_data_file *data_file, const char *location,
                                          const char *format) {
    return (struct fz_data_file){
        .content = FZ_CONTENT_POSITION_DELETES,
        .file_path = location,
        .file_format = format,
        .spec_id = data_file->spec_id,
        .partition = data_file->partition,
        .sort_order_id = -1,
        .first_row_id = -1,
        .content_offset = -1,
        .content_size_in_bytes = -1,
    };
}

static enum fz_code new_location(struct fz_change *c, const struct fz_file_options *options,
                                 const struct fz_data_file *data_file, int number, const char *extension,
                                 const char **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf path = {0};
    char name[128], *location = NULL;
    snprintf(name, sizeof name, "00000-0-%s-%05d-deletes.%s", c->operation_id, number, extension);
    if (data_file != NULL) {
        const struct fz_partition_spec *spec = fz_metadata_spec(c->metadata, data_file->spec_id);
        if (spec != NULL && spec->n_fields > 0) {
            FZ_TRY(fz_spec_partition_path(&path, spec, &data_file->partition, err));
        }
    }
    FZ_TRY(fz_file_location(options, path.ptr ? path.ptr : "", name, &location, err));
    *out = fz_arena_strdup(&c->arena, location);
    rc = *out == NULL ? fz_fail_nomem(err, strlen(location)) : FZ_OK;
out:
    fz_free(location);
    fz_buf_dispose(&path);
    return rc;
}

// Position delete file (version 2).
struct position_writer {
    struct fz_parquet_writer *parquet;
    struct fz_batch batch;
    const char *path; // of the data file the positions belong to
};

static enum fz_code flush_positions(struct position_writer *w, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (w->batch.n_rows > 0) {
        rc = fz_parquet_writer_append(w->parquet, &w->batch, 0, NULL, w->batch.n_rows, err);
        w->batch.n_rows = 0;
    }
    return rc;
}

static enum fz_code put_position(void *ctx, int64_t pos, struct fz_err *err) {
    struct position_writer *w = ctx;
    size_t row = w->batch.n_rows++;
    ((struct fz_string *)w->batch.columns[0].data)[row] = fz_string_of(w->path, strlen(w->path));
    ((int64_t *)w->batch.columns[1].data)[row] = pos;
    return w->batch.n_rows == FZ_BATCH_ROWS ? flush_positions(w, err) : FZ_OK;
}

// One delete file for the data files `ixs`, in the order given (ascending paths).
static enum fz_code write_position_file(struct fz_change *c, const struct fz_file_options *options, const size_t *ixs,
                                        size_t n, int number, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct position_writer w = {0};
    struct fz_writer *sink = NULL;
    const struct fz_data_file *first = &c->plan->files[ixs[0]].entry->file;
    static const struct fz_key_value DELETE_TYPE = {"delete-type", "position"};
    struct fz_field fields[2] = {
        {.id = ID_DELETE_PATH, .name = "file_path", .required = true, .type = fz_type_primitive(FZ_TYPE_STRING)},
        {.id = ID_DELETE_POS, .name = "pos", .required = true, .type = fz_type_primitive(FZ_TYPE_LONG)},
    };
    const char *location;
    FZ_TRY(new_location(c, options, first, number, "parquet", &location, err));
    struct fz_parquet_write write = options->parquet;
    write.fields = fields;
    write.n_fields = 2;
    write.key_values = &DELETE_TYPE;
    write.n_key_values = 1;
    FZ_TRY(fz_batch_init(&w.batch, fields, 2, FZ_BATCH_ROWS, err));
    w.batch.n_rows = 0;
    FZ_TRY(fz_store_writer_open(c->target->store, location, &sink, err));
    FZ_TRY(fz_parquet_writer_open(sink, &write, &w.parquet, err));
    for (size_t i = 0; i < n; i++) {
        w.path = c->plan->files[ixs[i]].entry->file.file_path;
        FZ_TRY(fz_positions_each(c->files[ixs[i]].changed, put_position, &w, err));
        FZ_TRY(flush_positions(&w, err));
    }
    struct fz_parquet_metrics metrics;
    struct fz_parquet_writer *parquet = w.parquet;
    w.parquet = NULL;
    FZ_FAIL_POINT("write.data_file");
    FZ_TRY(fz_parquet_writer_close(parquet, &c->arena, &metrics, err));
    struct fz_data_file file = delete_file_of(first, location, "PARQUET");
    FZ_TRY(fz_file_metrics_to_data_file(&c->arena, &metrics, &file, err));
    file.referenced_data_file = n == 1 ? first->file_path : NULL;
    FZ_TRY(fz_change_add_file(c, &file, err));
    c->stats.delete_files_added++;
    c->stats.bytes_written += file.file_size_in_bytes;
out:
    fz_parquet_writer_abort(w.parquet);
    fz_batch_dispose(&w.batch);
    return rc;
}

// Order by spec, partition, path: files of one partition stand together, paths ascend as the spec demands.

static int by_partition(const void *a, const void *b, void *ctx) {
    const struct fz_scan_file *sort_files = ctx;
    const struct fz_data_file *x = &sort_files[*(const size_t *)a].entry->file,
                              *y = &sort_files[*(const size_t *)b].entry->file;
    if (x->spec_id != y->spec_id) {
        return x->spec_id < y->spec_id ? -1 : 1;
    }
    for (size_t i = 0; i < x->partition.u.nested.n && i < y->partition.u.nested.n; i++) {
        const struct fz_value *p = &x->partition.u.nested.items[i], *q = &y->partition.u.nested.items[i];
        int order = p->is_null || q->is_null ? q->is_null - p->is_null : fz_value_compare(p, q);
        if (order != 0) {
            return order;
        }
    }
    return strcmp(x->file_path, y->file_path);
}
static bool same_partition(const struct fz_data_file *x, const struct fz_data_file *y) {
    return x->spec_id == y->spec_id && (x->partition.u.nested.n == 0 || fz_value_equal(&x->partition, &y->partition));
}

static enum fz_code write_position_files(struct fz_change *c, size_t *ixs, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_file_options options;
    FZ_TRY(fz_file_options_for_deletes(c->metadata, &c->arena, &options, err));
    const char *granularity = fz_metadata_property(c->metadata, "write.delete.granularity", "file");
    bool by_file = fz_strcasecmp(granularity, "file") == 0;
    if (!by_file && fz_strcasecmp(granularity, "partition") != 0) {
        rc = fz_fail(err, FZ_INVALID_ARG,
                     "table property write.delete.granularity is '%s'; it must be file or partition", granularity);
        goto out;
    }
    int number = 1;
    for (size_t i = 0; i < n;) {
        size_t end = i + 1;
        while (!by_file && end < n &&
               same_partition(&c->plan->files[ixs[i]].entry->file, &c->plan->files[ixs[end]].entry->file)) {
            end++;
        }
        FZ_TRY(write_position_file(c, &options, ixs + i, end - i, number++, err));
        i = end;
    }
out:
    return rc;
}

// Deletion vectors (version 3): one Puffin file with one blob a data file.
static enum fz_code write_vectors(struct fz_change *c, const size_t *ixs, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_file_options options;
    struct fz_puffin_writer *puffin = NULL;
    struct fz_writer *sink = NULL;
    struct fz_buf blob = {0};
    const char *location;
    size_t first_added = c->n_added;
    static const int32_t POS_FIELD = FZ_ID_POS;
    FZ_TRY(fz_file_options_for_deletes(c->metadata, &c->arena, &options, err));
    FZ_TRY(new_location(c, &options, NULL, 1, "puffin", &location, err));
    FZ_TRY(fz_store_writer_open(c->target->store, location, &sink, err));
    FZ_TRY(fz_puffin_writer_open(sink, &puffin, err));
    for (size_t i = 0; i < n; i++) {
        const struct fz_data_file *data_file = &c->plan->files[ixs[i]].entry->file;
        char cardinality[24];
        int64_t count = fz_positions_count(c->files[ixs[i]].changed), offset;
        snprintf(cardinality, sizeof cardinality, "%" PRId64, count);
        struct fz_puffin_property properties[2] = {{"referenced-data-file", data_file->file_path},
                                                   {"cardinality", cardinality}};
        struct fz_puffin_blob meta = {.type = "deletion-vector-v1",
                                      .fields = &POS_FIELD,
                                      .n_fields = 1,
                                      .snapshot_id = -1,
                                      .sequence_number = -1,
                                      .properties = properties,
                                      .n_properties = 2};
        fz_buf_clear(&blob);
        FZ_TRY(fz_dv_encode(c->files[ixs[i]].changed, &blob, err));
        FZ_TRY(fz_puffin_writer_add(puffin, &meta, blob.ptr, blob.len, &offset, err));
        struct fz_data_file file = delete_file_of(data_file, location, "PUFFIN");
        file.record_count = count;
        file.referenced_data_file = data_file->file_path;
        file.content_offset = offset;
        file.content_size_in_bytes = (int64_t)blob.len;
        FZ_TRY(fz_change_add_file(c, &file, err));
    }
    int64_t size;
    struct fz_puffin_writer *closing = puffin;
    puffin = NULL;
    FZ_FAIL_POINT("write.data_file");
    FZ_TRY(fz_puffin_writer_close(closing, &size, err));
    for (size_t i = first_added; i < c->n_added; i++) {
        c->added[i].file_size_in_bytes = size;
    }
    c->stats.delete_files_added += (int64_t)n;
    c->stats.bytes_written += size;
out:
    fz_puffin_writer_abort(puffin);
    fz_buf_dispose(&blob);
    return rc;
}

enum fz_code fz_change_write_deletes(struct fz_change *c, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool vectors = c->metadata->format_version >= 3;
    size_t n = 0, *ixs = fz_arena_array(&c->arena, c->plan->n_files, sizeof *ixs);
    if (ixs == NULL) {
        return fz_fail_nomem(err, c->plan->n_files * sizeof *ixs);
    }
    for (size_t i = 0; i < c->plan->n_files; i++) {
        if (c->files[i].changed != NULL) {
            ixs[n++] = i;
            FZ_TRY(absorb_older(c, i, vectors, err));
            FZ_TRY(fz_change_reference(c, c->plan->files[i].entry->file.file_path, err));
        }
    }
    if (n == 0) {
        return FZ_OK;
    }
    qsort_r(ixs, n, sizeof *ixs, by_partition, c->plan->files);
    FZ_TRY(vectors ? write_vectors(c, ixs, n, err) : write_position_files(c, ixs, n, err));
out:
    return rc;
}
