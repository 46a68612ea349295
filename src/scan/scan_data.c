// Data and delete files by the format that their manifest entry names: Parquet and Avro are read, ORC is refused with what to do.
#include "scan/scan_priv.h"

#include "base/text.h"

static bool is_format(const struct fz_data_file *data, const char *format) {
    return fz_strcasecmp(data->file_format, format) == 0;
}

enum fz_code fz_scan_data_open(struct fz_store *store, const struct fz_data_file *data, struct fz_cancel *cancel,
                               struct fz_scan_data *out, struct fz_err *err) {
    *out = (struct fz_scan_data){0};
    if (is_format(data, "PARQUET")) {
        return fz_scan_open_parquet(store, data, cancel, &out->parquet, err);
    }
    if (is_format(data, "AVRO")) {
        struct fz_err first = FZ_ERR_INIT;
        enum fz_code rc =
            fz_avro_file_open(store, data->file_path, data->file_size_in_bytes, cancel, &out->avro, &first);
        if (rc == FZ_OK || rc == FZ_CANCELLED) {
            return rc;
        }
        return fz_avro_file_open(store, data->file_path, -1, cancel, &out->avro, err); // at the size that it has
    }
    const char *what = data->content == FZ_CONTENT_DATA ? "data file" : "delete file";
    if (is_format(data, "ORC")) {
        return fz_fail(
            err, FZ_UNSUPPORTED,
            "%s %s is in format ORC, which is not read; rewrite it as Parquet with the engine that wrote it, in "
            "Spark: ALTER TABLE t SET TBLPROPERTIES ('write.format.default'='parquet') and then CALL "
            "catalog.system.rewrite_data_files(table => 't', options => map('rewrite-all', 'true'))",
            what, data->file_path);
    }
    return fz_fail(err, FZ_UNSUPPORTED, "%s %s is in format %s, which is not read (Parquet and Avro are)", what,
                   data->file_path, data->file_format);
}

void fz_scan_data_close(struct fz_scan_data *data) {
    if (data->parquet != NULL) {
        fz_parquet_file_unref(data->parquet);
    }
    fz_avro_file_unref(data->avro);
    *data = (struct fz_scan_data){0};
}

bool fz_scan_data_has_ids(const struct fz_scan_data *data) {
    return data->avro != NULL ? fz_avro_file_has_ids(data->avro) : fz_parquet_file_has_ids(data->parquet);
}
bool fz_scan_data_has_field(const struct fz_scan_data *data, int32_t field_id) {
    return data->avro != NULL ? fz_avro_file_has_field(data->avro, field_id)
                              : fz_parquet_file_has_field(data->parquet, field_id);
}
const struct fz_type *fz_scan_data_schema(const struct fz_scan_data *data) {
    return data->avro != NULL ? fz_avro_file_schema(data->avro) : fz_parquet_file_schema(data->parquet);
}

enum fz_code fz_scan_data_rows(struct fz_store *store, const struct fz_data_file *data, const struct fz_field *fields,
                               size_t n_fields, struct fz_cancel *cancel, fz_scan_batch_fn on_batch, void *ctx,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_data file = {0};
    struct fz_parquet_reader *parquet = NULL;
    struct fz_avro_table_reader *avro = NULL;
    struct fz_batch batch = {0};
    FZ_TRY(fz_scan_data_open(store, data, cancel, &file, err));
    FZ_TRY(fz_batch_init(&batch, fields, n_fields, FZ_BATCH_ROWS, err));
    bool by_name = !fz_scan_data_has_ids(&file);
    size_t n_groups = file.avro != NULL ? 1 : fz_parquet_file_meta(file.parquet)->n_row_groups;
    for (size_t g = 0; g < n_groups; g++) {
        struct fz_parquet_read read = {.fields = fields, .n_fields = n_fields, .row_group = g, .by_name = by_name};
        if (file.avro != NULL) {
            FZ_TRY(fz_avro_table_reader_open(file.avro, fields, n_fields, by_name, cancel, &avro, err));
        } else {
            FZ_TRY(fz_parquet_reader_open(file.parquet, &read, cancel, &parquet, err));
        }
        for (;;) {
            for (size_t i = 0; i < n_fields; i++) {
                fz_column_reset(&batch.columns[i]);
            }
            FZ_TRY(avro != NULL ? fz_avro_table_reader_next(avro, &batch, FZ_BATCH_ROWS, NULL, err)
                                : fz_parquet_reader_next(parquet, &batch, NULL, err));
            if (batch.n_rows == 0) {
                break;
            }
            FZ_TRY(on_batch(ctx, &batch, err));
        }
        fz_parquet_reader_close(parquet);
        parquet = NULL;
    }
out:
    fz_parquet_reader_close(parquet);
    fz_avro_table_reader_close(avro);
    fz_batch_dispose(&batch);
    fz_scan_data_close(&file);
    return rc;
}
