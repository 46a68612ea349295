// Avro containers: all records walked by the writer's schema, then read as table data, with the columns in their own types.
#include "format/avro/avro.h"
#include "format/avro/avro_table.h"
#include "fuzz.h"

enum { MOST_ROWS = 1 << 16 };

static void walk(const uint8_t *data, size_t size) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_avro_reader *reader;
    if (fz_avro_reader_open(data, size, &reader, &err) != FZ_OK) {
        return;
    }
    bool more = true;
    for (int rows = 0; rows < MOST_ROWS && fz_avro_reader_next(reader, &more, &err) == FZ_OK && more; rows++) {
        if (fz_avro_skip(reader, fz_avro_reader_schema(reader), &err) != FZ_OK) {
            break;
        }
    }
    fz_avro_reader_close(reader);
}

static void table(const uint8_t *data, size_t size) {
    static const char place[] = "memory://fuzz/x.avro";
    struct fz_err err = FZ_ERR_INIT;
    struct fz_avro_file *file = NULL;
    struct fz_avro_table_reader *reader = NULL;
    struct fz_batch batch = {0};
    struct fz_store *store = fuzz_store(place, data, size);
    if (store != NULL && fz_avro_file_open(store, place, (int64_t)size, NULL, &file, &err) == FZ_OK) {
        const struct fz_type *schema = fz_avro_file_schema(file);
        if (fz_batch_init(&batch, schema->fields, schema->n_fields, FZ_BATCH_ROWS, &err) == FZ_OK &&
            fz_avro_table_reader_open(file, schema->fields, schema->n_fields, true, NULL, &reader, &err) == FZ_OK) {
            int64_t rows = 0;
            while (rows < MOST_ROWS && fz_avro_table_reader_next(reader, &batch, 1000, NULL, &err) == FZ_OK &&
                   batch.n_rows > 0) {
                rows += (int64_t)batch.n_rows;
            }
        }
        fz_avro_table_reader_close(reader);
        fz_batch_dispose(&batch);
        fz_avro_file_unref(file);
    }
    if (store != NULL) {
        fz_store_unref(store);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    walk(data, size);
    table(data, size);
    return 0;
}
