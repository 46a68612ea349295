// What the files of a source over a plan share: scan_source.c hands out work, scan_project.c says how a file's columns come about,
// scan_reader.c reads.
#ifndef FZ_SCAN_SCAN_SOURCE_PRIV_H
#define FZ_SCAN_SCAN_SOURCE_PRIV_H

#include "scan/scan_priv.h"

struct fz_scan_morsel {
    size_t file_ix, row_group;
    struct fz_parquet_file *file; // a reference; of an Avro file, which is one morsel, NULL
    struct fz_avro_file *avro;
    int64_t first_row;
};

struct fz_scan_source {
    struct fz_source base;
    struct fz_arena arena;
    struct fz_scan_plan_impl *plan;
    struct fz_store *store;
    struct fz_cancel *cancel;
    struct fz_progress *progress;
    bool keep_deleted;
    const uint8_t *only_files;
    struct fz_positions *const *skip;
    const uint8_t *const *only_groups;

    pthread_mutex_t lock;
    pthread_cond_t changed;
    size_t next_file; // not yet claimed
    int opening; // threads that are opening a file
    struct fz_scan_morsel *queue;
    size_t n_queue, queue_cap; // a stack would mix files; taken from `queue_head` on
    size_t queue_head;

    struct fz_scan_keys *keys; // NULL: all rows
    bool keys_optional;
    struct { // as in struct fz_scan_counters
        _Atomic int64_t files, files_by_keys, row_groups, row_groups_by_range, row_groups_by_keys, row_groups_by_bloom;
        _Atomic int64_t pages, pages_by_keys, rows, rows_by_keys, bytes_by_groups, bytes, bytes_read;
    } counters;
};

enum fz_scan_slot_kind { SLOT_FILE, SLOT_CONSTANT, SLOT_POS, SLOT_DELETED, SLOT_ROW_ID, SLOT_SEQUENCE };
struct fz_scan_slot { // how one column comes about in the current file
    enum fz_scan_slot_kind kind;
    struct fz_value constant;
    bool in_file; // also read from the file (lineage may be stored)
};

struct fz_scan_reader {
    struct fz_scan_source *source;
    const struct fz_field **fields; // asked
    size_t n_fields;
    bool needs_file; // something that only the file or its deletes know was asked

    size_t file_ix; // SIZE_MAX: none yet
    struct fz_arena file_arena; // of the projection
    struct fz_scan_slot *slots; // per asked column
    const struct fz_positions *deleted, *skip;
    struct fz_scan_equality_group **groups;
    size_t n_groups;
    struct fz_batch extra; // key columns of equality deletes that were not asked for; own storage
    struct fz_scan_slot *extra_slots;
    const struct fz_column **group_columns; // per group and id, in order
    size_t *group_column_ix; // index of the asked column, or n_fields + index in extra
    size_t n_group_columns;

    struct fz_scan_morsel morsel;
    bool has_morsel;
    struct fz_parquet_reader *parquet; // the key columns, or all when there are no keys
    struct fz_avro_table_reader *avro; // all columns of an Avro file
    struct fz_parquet_reader *rest; // the other columns, read where a key was found; NULL: there are none
    size_t n_first; // how many of the fields are read by `parquet`; the rest by `rest`
    size_t key_of[FZ_SCAN_MAX_KEYS], n_keys; // for the first n_keys read fields: which key
    bool surveys; // nothing is read
    bool sparse; // few rows have keys: several readings are put together
    struct fz_batch own; // one such reading
    struct fz_arena strings; // texts of the batch handed out
    bool no_key; // a column that is not in the file has a value that no key has
    bool bytes_counted; // those of `rest`
    struct fz_arena rows_arena;
    struct fz_scan_rows rows; // of the row group, by its page index
    size_t next_range;
    struct fz_field *read_fields;
    size_t *read_columns; // what each read field is: asked column, or n_fields + index in extra
    size_t n_read;
    struct fz_column *read_batch;
    int64_t next_pos, end_pos; // without a parquet reader: rows still to make up

    struct fz_buf key;
    uint8_t mark[FZ_BATCH_ROWS], keep[FZ_BATCH_ROWS];
    uint32_t selection[FZ_BATCH_ROWS];
};

// scan_source.c: the next morsel; *found false when all work is handed out. A thread waits only while another one is opening a file.
enum fz_code fz_scan_take_morsel(struct fz_scan_source *source, struct fz_scan_morsel *out, bool *found,
                                 struct fz_err *err);
// Without a file to read: a whole file as one morsel of so many rows.
bool fz_scan_take_counted(struct fz_scan_source *source, struct fz_scan_morsel *out);
// scan_project.c: how the asked columns come about in the morsel's file, and what else of it must be read.
enum fz_code fz_scan_project_file(struct fz_scan_reader *reader, const struct fz_scan_morsel *morsel,
                                  struct fz_err *err);
// Which of the fields read are keys, and so come first.
void fz_scan_order_by_keys(struct fz_scan_reader *reader, const struct fz_scan_morsel *morsel);
// scan_reader.c
enum fz_code fz_scan_next_morsel(struct fz_scan_reader *reader,
                                 struct fz_err *err); // reader->has_morsel false at the end
enum fz_code fz_scan_reader_open(struct fz_source *base, const size_t *columns, size_t n_columns, void **out,
                                 struct fz_err *err);
enum fz_code fz_scan_reader_next(struct fz_source *base, void *ptr, struct fz_batch *batch, struct fz_err *err);
void fz_scan_reader_close(struct fz_source *base, void *ptr);

#endif
