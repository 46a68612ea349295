// Distinct values of columns: a scan of the snapshot by all cores, a sketch a column and thread, united at the end.
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base/text.h"
#include "format/puffin/theta.h"
#include "scan/scan.h"
#include "upkeep/statistics_priv.h"

enum { MAX_THREADS = 64, MAX_COLUMNS = 10000 };

const char *fz_statistics_path(struct fz_arena *arena, const struct fz_metadata *m, const char *file_name) {
    const char *dir = fz_metadata_property(m, "write.metadata.path", NULL);
    if (dir == NULL) {
        return fz_arena_printf(arena, "%s/metadata/%s", m->location, file_name);
    }
    size_t len = strlen(dir);
    return fz_arena_printf(arena, "%s%s%s", dir, len > 0 && dir[len - 1] == '/' ? "" : "/", file_name);
}

struct publish {
    enum fz_update_kind kind;
    int64_t snapshot_id;
    const char *json;
};

static enum fz_code build_update(void *ctx, struct fz_arena *arena, struct fz_metadata *current,
                                 struct fz_update **updates, size_t *n, struct fz_err *err) {
    const struct publish *publish = ctx;
    if (fz_metadata_snapshot(current, publish->snapshot_id) == NULL) {
        return fz_fail(err, FZ_CONFLICT, "snapshot %lld was expired while its statistics were computed",
                       (long long)publish->snapshot_id);
    }
    struct fz_update *update = FZ_ARENA_NEW(arena, struct fz_update);
    if (update == NULL) {
        return fz_fail_nomem(err, sizeof *update);
    }
    *update = (struct fz_update){.kind = publish->kind, .u.statistics = {publish->snapshot_id, publish->json}};
    *updates = update;
    *n = 1;
    return FZ_OK;
}

enum fz_code fz_statistics_publish(const struct fz_statistics_request *request, enum fz_update_kind kind,
                                   const char *json, const char *location, struct fz_err *err) {
    struct fz_metadata *done = NULL;
    struct publish publish = {kind, request->snapshot_id, json};
    enum fz_code rc = fz_commit_updates(request->catalog, request->table, build_update, &publish, &done, err);
    if (rc != FZ_OK && rc != FZ_COMMIT_UNKNOWN) {
        struct fz_err ignored = FZ_ERR_INIT;
        (void)fz_store_remove(request->store, location, &ignored);
    }
    fz_metadata_unref(done);
    return rc;
}

bool fz_statistics_can_count(const struct fz_type *type) {
    return fz_type_is_primitive(type) && type->id != FZ_TYPE_UNKNOWN && type->id != FZ_TYPE_VARIANT &&
           type->id != FZ_TYPE_GEOMETRY && type->id != FZ_TYPE_GEOGRAPHY;
}

// ---- values to hashes: the bytes of the single-value serialization ---------------------------------------------------------

static void add_decimals(struct fz_theta *theta, const struct fz_column *c, size_t row) {
    size_t width = fz_type_width(c->type);
    const char *p = (const char *)c->data + row * width;
    __int128 value = 0;
    int16_t narrow;
    int32_t middle;
    int64_t wide;
    struct fz_i128 widest;
    switch (width) {
    case 2:
        memcpy(&narrow, p, 2);
        value = narrow;
        break;
    case 4:
        memcpy(&middle, p, 4);
        value = middle;
        break;
    case 8:
        memcpy(&wide, p, 8);
        value = wide;
        break;
    default:
        memcpy(&widest, p, sizeof widest);
        value = fz_i128_get(widest);
    }
    uint8_t bytes[16];
    size_t len = fz_decimal_to_bytes(value, bytes);
    fz_theta_add(theta, bytes, len);
}

static void add_row(struct fz_theta *theta, const struct fz_column *c, size_t row) {
    switch (c->type->id) {
    case FZ_TYPE_STRING:
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED: {
        const struct fz_string *s = (const struct fz_string *)c->data + row;
        fz_theta_add(theta, fz_string_ptr(s), s->length);
        break;
    }
    case FZ_TYPE_UUID: {
        struct fz_i128 v = ((const struct fz_i128 *)c->data)[row];
        uint64_t halves[2] = {__builtin_bswap64((uint64_t)v.upper ^ (uint64_t)1 << 63), __builtin_bswap64(v.lower)};
        fz_theta_add(theta, halves, sizeof halves);
        break;
    }
    case FZ_TYPE_DECIMAL:
        add_decimals(theta, c, row);
        break;
    default: { // numbers: little-endian, as they lie
        size_t width = fz_type_width(c->type);
        fz_theta_add(theta, (const char *)c->data + row * width, width);
    }
    }
}

// `path`: from the batch's column down through structs.
struct counted {
    int32_t field_id;
    size_t column; // of the source
    size_t path[64];
    size_t depth;
};

static void add_column(struct fz_theta *theta, const struct fz_column *top, const struct counted *counted, size_t n) {
    const struct fz_column *c = top;
    for (size_t i = 0; i < counted->depth; i++) {
        c = &c->children[counted->path[i]]; // a NULL struct's children are NULL too
    }
    bool fixed = c->type->id != FZ_TYPE_STRING && c->type->id != FZ_TYPE_BINARY && c->type->id != FZ_TYPE_FIXED &&
                 c->type->id != FZ_TYPE_UUID && c->type->id != FZ_TYPE_DECIMAL;
    if (fixed && c->validity == NULL) {
        fz_theta_add_fixed(theta, c->data, fz_type_width(c->type), n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        if (fz_column_is_valid(c, i)) {
            add_row(theta, c, i);
        }
    }
}

// ---- the scan ------------------------------------------------------------------------------------------------------------

struct counter {
    struct fz_source *source;
    const struct counted *counted;
    size_t n_counted;
    size_t *columns; // 0 .. n - 1
    pthread_mutex_t lock; // of thetas, err
    struct fz_theta **thetas;
    struct fz_err err;
    _Atomic bool stop;
};

static enum fz_code count_some(struct counter *counter, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_batch batch = {0};
    void *reader = NULL;
    struct fz_theta **mine = fz_calloc(counter->n_counted + 1, sizeof(struct fz_theta *));
    if (mine == NULL) {
        return fz_fail_nomem(err, counter->n_counted * sizeof(struct fz_theta *));
    }
    for (size_t i = 0; i < counter->n_counted; i++) {
        FZ_TRY(fz_theta_new(&mine[i], err));
    }
    FZ_TRY(fz_batch_init(&batch, counter->source->fields, counter->source->n_fields, FZ_BATCH_ROWS, err));
    FZ_TRY(counter->source->vtable->open(counter->source, counter->columns, counter->source->n_fields, &reader, err));
    while (!atomic_load(&counter->stop)) {
        FZ_TRY(counter->source->vtable->next(counter->source, reader, &batch, err));
        if (batch.n_rows == 0) {
            break;
        }
        for (size_t i = 0; i < counter->n_counted; i++) {
            add_column(mine[i], &batch.columns[counter->counted[i].column], &counter->counted[i], batch.n_rows);
        }
    }
    pthread_mutex_lock(&counter->lock);
    for (size_t i = 0; i < counter->n_counted && rc == FZ_OK; i++) {
        rc = fz_theta_union(counter->thetas[i], mine[i], err);
    }
    pthread_mutex_unlock(&counter->lock);
out:
    if (reader != NULL) {
        counter->source->vtable->close(counter->source, reader);
    }
    fz_batch_dispose(&batch);
    for (size_t i = 0; i < counter->n_counted; i++) {
        fz_theta_free(mine[i]);
    }
    fz_free(mine);
    return rc;
}

static void *run_thread(void *ctx) {
    struct counter *counter = ctx;
    struct fz_err err = FZ_ERR_INIT;
    if (count_some(counter, &err) != FZ_OK) {
        pthread_mutex_lock(&counter->lock);
        if (counter->err.code == FZ_OK) {
            counter->err = err;
        }
        pthread_mutex_unlock(&counter->lock);
        atomic_store(&counter->stop, true);
    }
    return NULL;
}

static bool find_below(const struct fz_type *type, struct counted *counted) {
    if (type->id != FZ_TYPE_STRUCT || counted->depth == sizeof counted->path / sizeof *counted->path) {
        return false;
    }
    for (size_t i = 0; i < type->n_fields; i++) {
        counted->path[counted->depth++] = i;
        if (type->fields[i].id == counted->field_id || find_below(type->fields[i].type, counted)) {
            return true;
        }
        counted->depth--;
    }
    return false;
}

// Which columns the source must give, and where in them the counted fields are.
static enum fz_code find_columns(const struct fz_statistics_request *request, const struct fz_schema *schema,
                                 struct fz_arena *arena, struct counted **out, struct fz_field **fields,
                                 size_t *n_fields, struct fz_err *err) {
    struct counted *list = fz_arena_array(arena, request->n_field_ids + 1, sizeof *list);
    *fields = fz_arena_array(arena, request->n_field_ids + 1, sizeof **fields);
    *n_fields = 0;
    if (list == NULL || *fields == NULL || request->n_field_ids > MAX_COLUMNS) {
        return fz_fail_nomem(err, request->n_field_ids * sizeof *list);
    }
    for (size_t i = 0; i < request->n_field_ids; i++) {
        const struct fz_field *top = NULL;
        list[i].field_id = request->field_ids[i];
        for (size_t f = 0; f < schema->type->n_fields && top == NULL; f++) {
            const struct fz_field *field = &schema->type->fields[f];
            top = field->id == list[i].field_id || find_below(field->type, &list[i]) ? field : NULL;
        }
        if (top == NULL) {
            return fz_fail(err, FZ_INVALID_ARG, "field %d is not in the snapshot's schema, or inside a list or map",
                           list[i].field_id);
        }
        while (list[i].column < *n_fields && (*fields)[list[i].column].id != top->id) {
            list[i].column++;
        }
        if (list[i].column == *n_fields) {
            (*fields)[(*n_fields)++] = *top;
        }
    }
    *out = list;
    return FZ_OK;
}

static enum fz_code count(const struct fz_statistics_request *request, const struct fz_schema *schema,
                          struct fz_arena *arena, struct fz_theta **thetas, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_plan *plan = NULL;
    struct fz_field *fields;
    size_t n_fields;
    struct counter counter = {.n_counted = request->n_field_ids, .thetas = thetas};
    pthread_t threads[MAX_THREADS];
    pthread_mutex_init(&counter.lock, NULL);
    struct counted *counted = NULL;
    FZ_TRY(find_columns(request, schema, arena, &counted, &fields, &n_fields, err));
    counter.counted = counted;
    counter.columns = fz_arena_array(arena, n_fields + 1, sizeof *counter.columns);
    if (counter.columns == NULL) {
        rc = fz_fail_nomem(err, n_fields);
        goto out;
    }
    for (size_t i = 0; i < n_fields; i++) {
        counter.columns[i] = i;
    }
    struct fz_scan_options options = {.store = request->store,
                                      .metadata = request->metadata,
                                      .snapshot_id = request->snapshot_id,
                                      .schema = schema,
                                      .cancel = request->cancel};
    FZ_TRY(fz_scan_plan_new(&options, &plan, err));
    int cores = fz_machine_cores();
    struct fz_scan_source_options source = {.plan = plan,
                                            .store = request->store,
                                            .fields = fields,
                                            .n_fields = n_fields,
                                            .cancel = request->cancel,
                                            .max_threads = cores};
    FZ_TRY(fz_scan_source_new(&source, &counter.source, err));
    int n = 0;
    for (; n < cores - 1 && n < MAX_THREADS && pthread_create(&threads[n], NULL, run_thread, &counter) == 0; n++) {
    }
    run_thread(&counter);
    for (int i = 0; i < n; i++) {
        pthread_join(threads[i], NULL);
    }
    rc = counter.err.code;
    if (rc != FZ_OK && err != NULL && err->code == FZ_OK) {
        *err = counter.err;
    }
out:
    fz_source_unref(counter.source);
    fz_scan_plan_unref(plan);
    pthread_mutex_destroy(&counter.lock);
    return rc;
}

// ---- the file ------------------------------------------------------------------------------------------------------------

// Writes the blobs; *json: the entry of the table metadata.
static enum fz_code write_file(const struct fz_statistics_request *request, int64_t sequence_number,
                               struct fz_theta **thetas, const char *location, struct fz_buf *json,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_writer *sink = NULL;
    struct fz_puffin_writer *writer = NULL;
    struct fz_buf bytes = {0}, blobs = {0};
    int64_t offset = 4, size = 0, end = 4;
    FZ_TRY(fz_store_writer_open(request->store, location, &sink, err));
    FZ_TRY(fz_puffin_writer_open(sink, &writer, err));
    for (size_t i = 0; i < request->n_field_ids; i++) {
        char ndv[32];
        snprintf(ndv, sizeof ndv, "%lld", (long long)fz_theta_estimate(thetas[i]));
        struct fz_puffin_property property = {"ndv", ndv};
        struct fz_puffin_blob blob = {.type = "apache-datasketches-theta-v1",
                                      .fields = &request->field_ids[i],
                                      .n_fields = 1,
                                      .snapshot_id = request->snapshot_id,
                                      .sequence_number = sequence_number,
                                      .properties = &property,
                                      .n_properties = 1};
        fz_buf_clear(&bytes);
        FZ_TRY(fz_theta_encode(thetas[i], &bytes, err));
        FZ_TRY(fz_puffin_writer_add(writer, &blob, bytes.ptr, bytes.len, &offset, err));
        end = offset + (int64_t)bytes.len;
        fz_buf_printf(&blobs,
                      "%s{\"type\":\"%s\",\"snapshot-id\":%lld,\"sequence-number\":%lld,\"fields\":[%d],\"properties\":"
                      "{\"ndv\":\"%s\"}}",
                      i > 0 ? "," : "", blob.type, (long long)request->snapshot_id, (long long)sequence_number,
                      request->field_ids[i], ndv);
    }
    struct fz_puffin_writer *closing = writer;
    writer = NULL;
    FZ_TRY(fz_puffin_writer_close(closing, &size, err));
    fz_buf_printf(json, "{\"snapshot-id\":%lld,\"statistics-path\":", (long long)request->snapshot_id);
    fz_json_quote(json, fz_str_of(location));
    fz_buf_printf(json, ",\"file-size-in-bytes\":%lld,\"file-footer-size-in-bytes\":%lld,\"blob-metadata\":[%s]}",
                  (long long)size, (long long)(size - end), blobs.ptr != NULL ? blobs.ptr : "");
    FZ_TRY(fz_buf_check(&blobs, err));
    rc = fz_buf_check(json, err);
out:
    fz_puffin_writer_abort(writer);
    fz_buf_dispose(&bytes);
    fz_buf_dispose(&blobs);
    return rc;
}

enum fz_code fz_compute_table_statistics(const struct fz_statistics_request *request, struct fz_arena *arena,
                                         const char **location, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const struct fz_snapshot *snapshot = fz_metadata_snapshot(request->metadata, request->snapshot_id);
    const struct fz_schema *schema =
        snapshot->schema_id >= 0 ? fz_metadata_schema(request->metadata, snapshot->schema_id) : NULL;
    struct fz_buf json = {0};
    struct fz_theta **thetas = fz_calloc(request->n_field_ids + 1, sizeof(struct fz_theta *));
    char uuid[37], name[96];
    if (thetas == NULL) {
        return fz_fail_nomem(err, request->n_field_ids * sizeof(struct fz_theta *));
    }
    for (size_t i = 0; i < request->n_field_ids; i++) {
        FZ_TRY(fz_theta_new(&thetas[i], err));
    }
    FZ_TRY(count(request, schema != NULL ? schema : fz_metadata_current_schema(request->metadata), arena, thetas, err));
    fz_uuid_v4(uuid);
    snprintf(name, sizeof name, "%lld-%s.stats", (long long)request->snapshot_id, uuid);
    *location = fz_statistics_path(arena, request->metadata, name);
    if (*location == NULL) {
        rc = fz_fail_nomem(err, sizeof name);
        goto out;
    }
    FZ_TRY(write_file(request, snapshot->sequence_number, thetas, *location, &json, err));
    FZ_TRY(fz_statistics_publish(request, FZ_UPDATE_SET_STATISTICS, json.ptr, *location, err));
out:
    for (size_t i = 0; i < request->n_field_ids; i++) {
        fz_theta_free(thetas[i]);
    }
    fz_free(thetas);
    fz_buf_dispose(&json);
    return rc;
}
