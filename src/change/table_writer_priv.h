// The inside of a table writer (change/table_writer.h), for the files it is made of: table_writer.c makes, finishes and frees it,
// partition_route.c finds the partition of each row, open_partition.c holds the rows of one partition until its file is complete.
#ifndef FZ_CHANGE_TABLE_WRITER_PRIV_H
#define FZ_CHANGE_TABLE_WRITER_PRIV_H

#include "base/map.h"
#include "change/file_options_priv.h"
#include "change/overflow.h"
#include "change/table_writer.h"
#include "format/parquet/parquet_writer.h"

enum {
    FZ_OPEN_PARTITION_BYTES = 128 << 10, // what an open partition holds with few rows: encoders and their dictionaries
    FZ_MAX_LANES = 16,
};

// A complete file, not committed yet.
struct fz_closed_file {
    struct fz_closed_file *next;
    struct fz_arena arena;
    char *location;
    struct fz_data_file file;
};

// An encoder of a row group that one thread at a time fills.
struct fz_writer_lane {
    struct fz_parquet_encoder *encoder; // the owner's while busy
    pthread_t last_user;
    bool busy;
    int64_t bytes; // of the row group being built, as of its last rows
    int64_t memory; // of the encoder, as of its last rows
};

struct fz_open_partition {
    pthread_mutex_t lock;
    pthread_cond_t lane_free;
    struct fz_writer_lane lanes[FZ_MAX_LANES];
    size_t n_lanes;
    int64_t rows; // pushed so far
    bool is_open; // rows or row groups wait for the file to be closed
    struct fz_value partition; // in the writer's arena
    const char *path; // "a=1/b=2", "" when unpartitioned
    struct fz_parquet_writer *parquet;
    char *location;
    size_t part; // of the overflow
    int64_t first_used, last_used, n_pushes; // by the writer's clock, which counts pushes
};

struct fz_table_writer {
    struct fz_store *store;
    struct fz_metadata *metadata;
    const struct fz_schema *schema;
    const struct fz_partition_spec *spec;
    const struct fz_type *partition_type;
    struct fz_file_options options;
    struct fz_arena arena; // guarded by lock
    pthread_mutex_t lock;
    struct fz_map partitions; // key bytes -> struct fz_open_partition
    struct fz_field *fields;
    size_t n_fields;
    char operation_id[40];
    int32_t sort_order_id;
    _Atomic int64_t clock, file_counter;
    _Atomic int open_writers;
    _Atomic int64_t held_bytes, n_encoders; // of all lanes
    int64_t memory_bytes; // lanes end row groups early above it
    struct fz_overflow *overflow; // made under the lock when it is needed first
    const char *temp_directory; // of the options
    _Atomic int64_t next_look; // the clock when complete partitions are looked for again
    bool draining; // overflown rows come back
    struct fz_parquet_pool *pool;
    int max_open_writers;
    struct fz_cancel *cancel;
    struct fz_progress *progress;
    struct fz_closed_file *closed;
    size_t n_closed;
};

// ---- table_writer.c
struct fz_parquet_write fz_table_writer_parquet(const struct fz_table_writer *writer); // how its files are written

// ---- partition_route.c
// The selected rows, each into its partition. Any thread.
enum fz_code fz_table_writer_route(struct fz_table_writer *writer, const struct fz_batch *batch,
                                   const uint32_t *selection, size_t n, struct fz_err *err);
// The partition of a tuple of the writer's spec, made when it is new; of a table without partitions the only one (NULL). Any thread.
enum fz_code fz_table_writer_partition(struct fz_table_writer *writer, const struct fz_value *tuple,
                                       struct fz_open_partition **out, struct fz_err *err);

// ---- open_partition.c
// Rows into the partition's lanes, or, when it is not open and no more may be, into the overflow. Any thread.
enum fz_code fz_open_partition_append(struct fz_table_writer *writer, struct fz_open_partition *partition,
                                      const struct fz_batch *batch, const uint32_t *selection, size_t n,
                                      struct fz_err *err);
// A complete row group into the partition's file. Takes the group over, also on error. Any thread.
enum fz_code fz_open_partition_add_group(struct fz_table_writer *writer, struct fz_open_partition *partition,
                                         struct fz_parquet_group *group, struct fz_err *err);
// Closes the partition's current file with what its lanes hold; the partition's lock is held, or nobody else uses it. Lanes that are
// being filled go on, for the next file.
enum fz_code fz_open_partition_close(struct fz_table_writer *writer, struct fz_open_partition *partition,
                                     struct fz_err *err);
void fz_open_partition_dispose(struct fz_table_writer *writer, struct fz_open_partition *partition);

#endif
