// The rows of metadata tables, as small sets of values: snapshots, history, refs, metadata_log_entries, files and its kin, entries,
// manifests, partitions.
#include "base/text.h"
#include "engine/metadata_tables_priv.h"
#include "scan/scan.h"

// Values. All of them live in the rows' arena.
static struct fz_value v_null(const struct fz_type *type) {
    return (struct fz_value){.type = type, .is_null = true};
}
static struct fz_value v_int(const struct fz_type *type, int64_t v) {
    struct fz_value out = {.type = type};
    out.u.i64 = v;
    return out;
}
static struct fz_value v_int_or_null(const struct fz_type *type, int64_t v) {
    return v < 0 ? v_null(type) : v_int(type, v);
}
static struct fz_value v_bool(const struct fz_type *type, bool v) {
    struct fz_value out = {.type = type};
    out.u.boolean = v;
    return out;
}
static struct fz_value v_text(struct fz_arena *arena, const struct fz_type *type, const char *text) {
    if (text == NULL) {
        return v_null(type);
    }
    struct fz_value out = {.type = type};
    out.u.bytes = fz_str_of(fz_arena_strdup(arena, text));
    return out;
}
static struct fz_value v_items(const struct fz_type *type, const struct fz_value *items, size_t n) {
    struct fz_value out = {.type = type};
    out.u.nested.items = items;
    out.u.nested.n = n;
    return out;
}

static struct fz_value v_counts(struct fz_arena *arena, const struct fz_type *type, const struct fz_id_count *counts,
                                size_t n) {
    struct fz_value *items = n ? fz_arena_array(arena, 2 * n, sizeof *items) : NULL;
    if (items == NULL) {
        return v_null(type);
    }
    for (size_t i = 0; i < n; i++) {
        items[2 * i] = v_int(type->fields[0].type, counts[i].id);
        items[2 * i + 1] = v_int(type->fields[1].type, counts[i].count);
    }
    return v_items(type, items, 2 * n);
}
static struct fz_value v_bounds(struct fz_arena *arena, const struct fz_type *type, const struct fz_id_bytes *bounds,
                                size_t n) {
    struct fz_value *items = n ? fz_arena_array(arena, 2 * n, sizeof *items) : NULL;
    if (items == NULL) {
        return v_null(type);
    }
    for (size_t i = 0; i < n; i++) {
        items[2 * i] = v_int(type->fields[0].type, bounds[i].id);
        items[2 * i + 1] = (struct fz_value){.type = type->fields[1].type};
        items[2 * i + 1].u.bytes =
            (struct fz_str){fz_arena_memdup(arena, bounds[i].bytes.ptr, bounds[i].bytes.len), bounds[i].bytes.len};
    }
    return v_items(type, items, 2 * n);
}

// A spec's tuple as the union type of all specs: members by field id.
static struct fz_value v_partition(struct fz_arena *arena, const struct fz_type *type, const struct fz_value *tuple) {
    struct fz_value *items = fz_arena_array(arena, type->n_fields, sizeof *items);
    for (size_t i = 0; items != NULL && i < type->n_fields; i++) {
        items[i] = v_null(type->fields[i].type);
        for (size_t k = 0; tuple->type != NULL && k < tuple->u.nested.n; k++) {
            if (tuple->type->fields[k].id == type->fields[i].id && !tuple->u.nested.items[k].is_null) {
                const struct fz_value *copy = fz_value_copy(arena, &tuple->u.nested.items[k]);
                items[i] = copy ? *copy : items[i];
                items[i].type = type->fields[i].type;
            }
        }
    }
    return v_items(type, items, type->n_fields);
}

static int64_t count_of(const struct fz_id_count *counts, size_t n, int32_t id) {
    for (size_t i = 0; i < n; i++) {
        if (counts[i].id == id) {
            return counts[i].count;
        }
    }
    return -1;
}
static struct fz_value bound_value(struct fz_arena *arena, const struct fz_type *type, const struct fz_id_bytes *bounds,
                                   size_t n, int32_t id) {
    struct fz_value v = v_null(type);
    for (size_t i = 0; i < n; i++) {
        if (bounds[i].id == id && fz_value_from_bound(arena, type, bounds[i].bytes, &v, NULL) != FZ_OK) {
            v = v_null(type);
        }
    }
    return v;
}

static struct fz_value v_metrics(struct fz_arena *arena, const struct fz_type *type,
                                 const struct fz_metadata_leaf *leaves, const struct fz_data_file *f) {
    struct fz_value *items = fz_arena_array(arena, type->n_fields, sizeof *items);
    for (size_t i = 0; items != NULL && i < type->n_fields; i++) {
        const struct fz_type *member = type->fields[i].type, *lng = member->fields[0].type;
        int32_t id = leaves[i].field->id;
        struct fz_value *m = fz_arena_array(arena, 6, sizeof *m);
        if (m == NULL) {
            items[i] = v_null(member);
            continue;
        }
        m[0] = v_int_or_null(lng, count_of(f->column_sizes, f->n_column_sizes, id));
        m[1] = v_int_or_null(lng, count_of(f->value_counts, f->n_value_counts, id));
        m[2] = v_int_or_null(lng, count_of(f->null_value_counts, f->n_null_value_counts, id));
        m[3] = v_int_or_null(lng, count_of(f->nan_value_counts, f->n_nan_value_counts, id));
        m[4] = bound_value(arena, member->fields[4].type, f->lower_bounds, f->n_lower_bounds, id);
        m[5] = bound_value(arena, member->fields[5].type, f->upper_bounds, f->n_upper_bounds, id);
        items[i] = v_items(member, m, 6);
    }
    return v_items(type, items, type->n_fields);
}

// The values of one data file into `out`, one a column of `fields` (file_columns); returns how many.
static size_t file_values(struct fz_arena *arena, const struct fz_field *fields, size_t n_fields,
                          const struct fz_metadata_leaf *leaves, const struct fz_data_file *f, struct fz_value *out) {
    size_t i = 0;
    out[i] = v_int(fields[i].type, f->content), i++;
    out[i] = v_text(arena, fields[i].type, f->file_path), i++;
    out[i] = v_text(arena, fields[i].type, f->file_format), i++;
    out[i] = v_int(fields[i].type, f->spec_id), i++;
    if (strcmp(fields[i].name, "partition") == 0) {
        out[i] = v_partition(arena, fields[i].type, &f->partition), i++;
    }
    out[i] = v_int(fields[i].type, f->record_count), i++;
    out[i] = v_int(fields[i].type, f->file_size_in_bytes), i++;
    out[i] = v_counts(arena, fields[i].type, f->column_sizes, f->n_column_sizes), i++;
    out[i] = v_counts(arena, fields[i].type, f->value_counts, f->n_value_counts), i++;
    out[i] = v_counts(arena, fields[i].type, f->null_value_counts, f->n_null_value_counts), i++;
    out[i] = v_counts(arena, fields[i].type, f->nan_value_counts, f->n_nan_value_counts), i++;
    out[i] = v_bounds(arena, fields[i].type, f->lower_bounds, f->n_lower_bounds), i++;
    out[i] = v_bounds(arena, fields[i].type, f->upper_bounds, f->n_upper_bounds), i++;
    out[i] = v_null(fields[i].type);
    if (f->key_metadata.len > 0) {
        out[i].is_null = false;
        out[i].u.bytes =
            (struct fz_str){fz_arena_memdup(arena, f->key_metadata.ptr, f->key_metadata.len), f->key_metadata.len};
    }
    i++;
    struct fz_value *items = fz_arena_array(arena, f->n_split_offsets, sizeof *items);
    for (size_t k = 0; items != NULL && k < f->n_split_offsets; k++) {
        items[k] = v_int(fields[i].type->fields[0].type, f->split_offsets[k]);
    }
    out[i] = f->n_split_offsets ? v_items(fields[i].type, items, f->n_split_offsets) : v_null(fields[i].type), i++;
    items = fz_arena_array(arena, f->n_equality_ids, sizeof *items);
    for (size_t k = 0; items != NULL && k < f->n_equality_ids; k++) {
        items[k] = v_int(fields[i].type->fields[0].type, f->equality_ids[k]);
    }
    out[i] = f->n_equality_ids ? v_items(fields[i].type, items, f->n_equality_ids) : v_null(fields[i].type), i++;
    out[i] = v_int_or_null(fields[i].type, f->sort_order_id), i++;
    out[i] = v_int_or_null(fields[i].type, f->first_row_id), i++;
    out[i] = v_text(arena, fields[i].type, f->referenced_data_file), i++;
    out[i] = v_int_or_null(fields[i].type, f->content_offset), i++;
    out[i] = v_int_or_null(fields[i].type, f->content_size_in_bytes), i++;
    if (i < n_fields && leaves != NULL) {
        out[i] = v_metrics(arena, fields[i].type, leaves, f), i++;
    }
    return i;
}

static enum fz_code add_files(struct fz_engine *e, const struct fz_engine_table *t, const struct fz_field *fields,
                              size_t n, struct fz_rows *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena arena = {0};
    struct fz_manifest_entry *entries;
    size_t n_entries, n_leaves;
    struct fz_metadata_leaf *leaves;
    const struct fz_type *unused;
    struct fz_value values[32];
    const char *name = t->metadata_table;
    bool all = strncasecmp(name, "all_", 4) == 0, want_data = strcasestr(name, "delete_files") == NULL,
         want_deletes = strcasestr(name, "data_files") == NULL;
    FZ_TRY(fz_metadata_metrics_type(&out->arena, fz_metadata_current_schema(t->metadata), &leaves, &n_leaves, &unused,
                                    err));
    FZ_TRY(fz_scan_written_entries(e->store, t->metadata, t->snapshot_id, all, &arena, &entries, &n_entries, err));
    for (size_t i = 0; i < n_entries; i++) {
        const struct fz_data_file *f = &entries[i].file;
        if (entries[i].status != FZ_ENTRY_DELETED && (f->content == FZ_CONTENT_DATA ? want_data : want_deletes)) {
            file_values(&out->arena, fields, n, leaves, f, values);
            FZ_TRY(fz_rows_add(out, values, err));
        }
    }
out:
    fz_arena_dispose(&arena);
    return rc;
}

static enum fz_code add_entries(struct fz_engine *e, const struct fz_engine_table *t, const struct fz_field *fields,
                                struct fz_rows *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_manifest_entry *entries;
    size_t n_entries, n_leaves;
    struct fz_metadata_leaf *leaves;
    const struct fz_type *unused;
    FZ_TRY(fz_metadata_metrics_type(&out->arena, fz_metadata_current_schema(t->metadata), &leaves, &n_leaves, &unused,
                                    err));
    bool all = fz_strcasecmp(t->metadata_table, "all_entries") == 0;
    FZ_TRY(fz_scan_written_entries(e->store, t->metadata, t->snapshot_id, all, &out->arena, &entries, &n_entries, err));
    for (size_t i = 0; i < n_entries; i++) {
        const struct fz_type *file_type = fields[4].type;
        struct fz_value *file = fz_arena_array(&out->arena, file_type->n_fields, sizeof *file), values[6];
        if (file == NULL) {
            return fz_fail_nomem(err, file_type->n_fields * sizeof *file);
        }
        file_values(&out->arena, file_type->fields, file_type->n_fields, NULL, &entries[i].file, file);
        values[0] = v_int(fields[0].type, entries[i].status);
        values[1] = v_int_or_null(fields[1].type, entries[i].snapshot_id);
        values[2] = v_int_or_null(fields[2].type, entries[i].sequence_number);
        values[3] = v_int_or_null(fields[3].type, entries[i].file_sequence_number);
        values[4] = v_items(file_type, file, file_type->n_fields);
        values[5] = v_metrics(&out->arena, fields[5].type, leaves, &entries[i].file);
        FZ_TRY(fz_rows_add(out, values, err));
    }
out:
    return rc;
}

static enum fz_code add_snapshots(const struct fz_engine_table *t, const struct fz_field *fields, struct fz_rows *out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena *a = &out->arena;
    for (size_t i = 0; i < t->metadata->n_snapshots; i++) {
        const struct fz_snapshot *s = &t->metadata->snapshots[i];
        struct fz_value *items = fz_arena_array(a, 2 * s->n_summary, sizeof *items), values[6];
        for (size_t k = 0; items != NULL && k < s->n_summary; k++) {
            items[2 * k] = v_text(a, fields[5].type->fields[0].type, s->summary[k].key);
            items[2 * k + 1] = v_text(a, fields[5].type->fields[1].type, s->summary[k].value);
        }
        values[0] = v_int(fields[0].type, s->timestamp_ms * 1000);
        values[1] = v_int(fields[1].type, s->snapshot_id);
        values[2] = v_int_or_null(fields[2].type, s->parent_snapshot_id);
        values[3] = v_text(a, fields[3].type, s->operation);
        values[4] = v_text(a, fields[4].type, s->manifest_list);
        values[5] = v_items(fields[5].type, items, 2 * s->n_summary);
        FZ_TRY(fz_rows_add(out, values, err));
    }
out:
    return rc;
}

static bool is_current_ancestor(const struct fz_metadata *m, int64_t snapshot_id) {
    int64_t at = m->current_snapshot_id;
    for (size_t steps = 0; at >= 0 && steps <= m->n_snapshots; steps++) {
        if (at == snapshot_id) {
            return true;
        }
        const struct fz_snapshot *s = fz_metadata_snapshot(m, at);
        at = s ? s->parent_snapshot_id : -1;
    }
    return false;
}

static enum fz_code add_history(const struct fz_engine_table *t, const struct fz_field *fields, struct fz_rows *out,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < t->metadata->n_snapshot_log; i++) {
        const struct fz_log_entry *l = &t->metadata->snapshot_log[i];
        const struct fz_snapshot *s = fz_metadata_snapshot(t->metadata, l->snapshot_id);
        struct fz_value values[4] = {v_int(fields[0].type, l->timestamp_ms * 1000),
                                     v_int(fields[1].type, l->snapshot_id),
                                     v_int_or_null(fields[2].type, s ? s->parent_snapshot_id : -1),
                                     v_bool(fields[3].type, is_current_ancestor(t->metadata, l->snapshot_id))};
        FZ_TRY(fz_rows_add(out, values, err));
    }
out:
    return rc;
}

static enum fz_code add_refs(const struct fz_engine_table *t, const struct fz_field *fields, struct fz_rows *out,
                             struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < t->metadata->n_snapshot_refs; i++) {
        const struct fz_snapshot_ref *r = &t->metadata->snapshot_refs[i];
        struct fz_value values[6] = {v_text(&out->arena, fields[0].type, r->name),
                                     v_text(&out->arena, fields[1].type, r->is_tag ? "TAG" : "BRANCH"),
                                     v_int(fields[2].type, r->snapshot_id),
                                     v_int_or_null(fields[3].type, r->max_ref_age_ms),
                                     v_int_or_null(fields[4].type, r->min_snapshots_to_keep),
                                     v_int_or_null(fields[5].type, r->max_snapshot_age_ms)};
        FZ_TRY(fz_rows_add(out, values, err));
    }
out:
    return rc;
}

static enum fz_code add_log(const struct fz_engine_table *t, const struct fz_field *fields, struct fz_rows *out,
                            struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_metadata *m = t->metadata;
    for (size_t i = 0; i <= m->n_metadata_log; i++) {
        bool current = i == m->n_metadata_log;
        int64_t at_ms = current ? m->last_updated_ms : m->metadata_log[i].timestamp_ms;
        const struct fz_snapshot *latest = NULL; // what main showed when that file was written
        for (size_t k = 0; k < m->n_snapshot_log; k++) {
            if (m->snapshot_log[k].timestamp_ms <= at_ms) {
                latest = fz_metadata_snapshot(m, m->snapshot_log[k].snapshot_id);
            }
        }
        struct fz_value values[5] = {
            v_int(fields[0].type, at_ms * 1000),
            v_text(&out->arena, fields[1].type, current ? m->metadata_location : m->metadata_log[i].file),
            v_int_or_null(fields[2].type, latest ? latest->snapshot_id : -1),
            v_int_or_null(fields[3].type, latest ? latest->schema_id : -1),
            latest ? v_int(fields[4].type, latest->sequence_number) : v_null(fields[4].type)};
        FZ_TRY(fz_rows_add(out, values, err));
    }
out:
    return rc;
}

static struct fz_value summary_bound(struct fz_arena *arena, const struct fz_type *text, const struct fz_type *type,
                                     const struct fz_transform *transform, struct fz_str bytes) {
    struct fz_value bound, out = v_null(text);
    struct fz_buf b = {0};
    if (fz_value_from_bound(arena, type, bytes, &bound, NULL) == FZ_OK) {
        fz_transform_print_value(&b, transform, &bound);
        out = v_text(arena, text, b.ptr ? b.ptr : "");
    }
    fz_buf_dispose(&b);
    return out;
}

// The manifests of one snapshot; with the two columns more of all_manifests when `n_columns` says so.
static enum fz_code add_manifests(struct fz_engine *e, const struct fz_engine_table *t, const struct fz_snapshot *s,
                                  const struct fz_field *fields, size_t n_columns, struct fz_rows *out,
                                  struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena *a = &out->arena;
    struct fz_buf bytes = {0};
    struct fz_manifest_file *files;
    size_t n_files;
    if (s == NULL || s->manifest_list == NULL) {
        return FZ_OK;
    }
    FZ_TRY(fz_store_read_all(e->store, s->manifest_list, (size_t)1 << 30, &bytes, err));
    FZ_TRY(fz_manifest_list_decode(a, bytes.ptr, bytes.len, &files, &n_files, err));
    for (size_t i = 0; i < n_files; i++) {
        const struct fz_manifest_file *m = &files[i];
        const struct fz_partition_spec *spec = fz_metadata_spec(t->metadata, m->partition_spec_id);
        const struct fz_type *tuple = NULL, *summary = fields[11].type->fields[0].type;
        if (spec != NULL) {
            FZ_TRY(fz_spec_partition_type(a, fz_metadata_current_schema(t->metadata), spec, &tuple, err));
        }
        struct fz_value values[14], *items = fz_arena_array(a, m->n_partitions, sizeof *items);
        for (size_t k = 0; items != NULL && k < m->n_partitions; k++) {
            const struct fz_field_summary *p = &m->partitions[k];
            struct fz_value *member = fz_arena_array(a, 4, sizeof *member);
            if (member == NULL) {
                rc = fz_fail_nomem(err, 4 * sizeof *member);
                goto out;
            }
            const struct fz_type *text = summary->fields[2].type;
            bool bounds = p->has_bounds && tuple != NULL && k < tuple->n_fields;
            member[0] = v_bool(summary->fields[0].type, p->contains_null);
            member[1] = p->contains_nan < 0 ? v_null(summary->fields[1].type)
                                            : v_bool(summary->fields[1].type, p->contains_nan != 0);
            member[2] = bounds
                            ? summary_bound(a, text, tuple->fields[k].type, &spec->fields[k].transform, p->lower_bound)
                            : v_null(text);
            member[3] = bounds
                            ? summary_bound(a, text, tuple->fields[k].type, &spec->fields[k].transform, p->upper_bound)
                            : v_null(text);
            items[k] = v_items(summary, member, 4);
        }
        bool deletes = m->content == 1;
        const int32_t counts[3] = {m->added_files_count, m->existing_files_count, m->deleted_files_count};
        values[0] = v_int(fields[0].type, m->content);
        values[1] = v_text(a, fields[1].type, m->manifest_path);
        values[2] = v_int(fields[2].type, m->manifest_length);
        values[3] = v_int(fields[3].type, m->partition_spec_id);
        values[4] = v_int_or_null(fields[4].type, m->added_snapshot_id);
        for (size_t k = 0; k < 3; k++) {
            values[5 + k] = v_int(fields[5 + k].type, deletes || counts[k] < 0 ? 0 : counts[k]);
            values[8 + k] = v_int(fields[8 + k].type, deletes && counts[k] >= 0 ? counts[k] : 0);
        }
        values[11] = v_items(fields[11].type, items, m->n_partitions);
        if (n_columns > 12) {
            values[12] = v_int(fields[12].type, s->snapshot_id);
            values[13] = v_null(fields[13].type);
            if (m->key_metadata.len > 0) {
                values[13].is_null = false;
                values[13].u.bytes = m->key_metadata;
            }
        }
        FZ_TRY(fz_rows_add(out, values, err));
    }
out:
    fz_buf_dispose(&bytes);
    return rc;
}

struct partition_totals {
    struct fz_value partition;
    int32_t spec_id;
    int64_t records, files, bytes, pos_records, pos_files, eq_records, eq_files, updated_ms, updated_id;
};

static enum fz_code add_partitions(struct fz_engine *e, const struct fz_engine_table *t, const struct fz_field *fields,
                                   size_t n, struct fz_rows *out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_arena *a = &out->arena;
    struct fz_manifest_entry *entries;
    struct partition_totals *totals = NULL;
    struct fz_map index = {0};
    struct fz_buf key = {0};
    size_t n_entries, n_totals = 0, cap = 0;
    bool partitioned = strcmp(fields[0].name, "partition") == 0;
    FZ_TRY(fz_scan_entries(e->store, t->metadata, t->snapshot_id, a, &entries, &n_entries, err));
    for (size_t i = 0; i < n_entries; i++) {
        const struct fz_data_file *f = &entries[i].file;
        if (entries[i].status == FZ_ENTRY_DELETED) {
            continue;
        }
        struct fz_value tuple = partitioned ? v_partition(a, fields[0].type, &f->partition) : (struct fz_value){0};
        fz_buf_clear(&key);
        // As Iceberg Java: the same tuple of two specs is one row when the specs have equally many fields.
        const struct fz_partition_spec *spec = fz_metadata_spec(t->metadata, f->spec_id);
        fz_buf_printf(&key, "%zu.", partitioned && spec != NULL ? spec->n_fields : 0);
        if (partitioned) {
            fz_value_print(&key, &tuple);
        }
        struct fz_map_entry *entry;
        bool added;
        FZ_TRY(fz_map_put(&index, (struct fz_str){key.ptr, key.len}, &entry, &added, err));
        if (added) {
            FZ_TRY(fz_grow((void **)&totals, &cap, n_totals + 1, sizeof *totals, err));
            totals[n_totals] = (struct partition_totals){.partition = tuple, .updated_ms = -1, .updated_id = -1};
            entry->value.i64 = (int64_t)n_totals++;
        }
        struct partition_totals *p = &totals[entry->value.i64];
        p->spec_id = added ? f->spec_id : p->spec_id;
        if (f->content == FZ_CONTENT_DATA) {
            p->records += f->record_count;
            p->files++;
            p->bytes += f->file_size_in_bytes;
        } else if (f->content == FZ_CONTENT_POSITION_DELETES) {
            p->pos_records += f->record_count;
            p->pos_files++;
        } else {
            p->eq_records += f->record_count;
            p->eq_files++;
        }
        const struct fz_snapshot *s = fz_metadata_snapshot(t->metadata, entries[i].snapshot_id);
        if (s != NULL && s->timestamp_ms > p->updated_ms) {
            p->updated_ms = s->timestamp_ms;
            p->updated_id = s->snapshot_id;
            p->spec_id = f->spec_id;
        }
    }
    for (size_t i = 0; i < n_totals; i++) {
        const struct partition_totals *p = &totals[i];
        struct fz_value values[11];
        size_t k = 0;
        if (partitioned) {
            values[k++] = p->partition;
            values[k] = v_int(fields[k].type, p->spec_id), k++;
        }
        const int64_t numbers[7] = {p->records,   p->files,      p->bytes,   p->pos_records,
                                    p->pos_files, p->eq_records, p->eq_files};
        for (size_t j = 0; j < 7; j++) {
            values[k] = v_int(fields[k].type, numbers[j]), k++;
        }
        values[k] = p->updated_ms < 0 ? v_null(fields[k].type) : v_int(fields[k].type, p->updated_ms * 1000), k++;
        values[k] = v_int_or_null(fields[k].type, p->updated_id), k++;
        FZ_TRY(fz_rows_add(out, values, err));
    }
out:
    (void)n;
    fz_free(totals);
    fz_map_dispose(&index);
    fz_buf_dispose(&key);
    return rc;
}

enum fz_code fz_metadata_rows(struct fz_engine *e, const struct fz_engine_table *t, const struct fz_field *fields,
                              size_t n, struct fz_rows *out, struct fz_err *err) {
    const char *name = t->metadata_table;
    if (fz_metadata_is_files(name)) {
        return add_files(e, t, fields, n, out, err);
    }
    if (fz_metadata_is_entries(name)) {
        return add_entries(e, t, fields, out, err);
    }
    if (fz_strcasecmp(name, "snapshots") == 0) {
        return add_snapshots(t, fields, out, err);
    }
    if (fz_strcasecmp(name, "history") == 0) {
        return add_history(t, fields, out, err);
    }
    if (fz_strcasecmp(name, "refs") == 0) {
        return add_refs(t, fields, out, err);
    }
    if (fz_strcasecmp(name, "metadata_log_entries") == 0) {
        return add_log(t, fields, out, err);
    }
    if (fz_strcasecmp(name, "manifests") == 0) {
        return add_manifests(e, t, t->snapshot_id >= 0 ? fz_metadata_snapshot(t->metadata, t->snapshot_id) : NULL,
                             fields, n, out, err);
    }
    if (fz_strcasecmp(name, "all_manifests") == 0) {
        for (size_t i = 0; i < t->metadata->n_snapshots; i++) {
            enum fz_code rc = add_manifests(e, t, &t->metadata->snapshots[i], fields, n, out, err);
            if (rc != FZ_OK) {
                return rc;
            }
        }
        return FZ_OK;
    }
    return add_partitions(e, t, fields, n, out, err);
}
