// What avro_table.c (files, batches) and avro_table_schema.c (the writer's schema in Iceberg's shape) share.
#ifndef FZ_FORMAT_AVRO_AVRO_TABLE_PRIV_H
#define FZ_FORMAT_AVRO_AVRO_TABLE_PRIV_H

#include "format/avro/avro_priv.h"
#include "format/avro/avro_table.h"

enum fz_avro_shape { FZ_AVRO_LEAF, FZ_AVRO_STRUCT, FZ_AVRO_LIST, FZ_AVRO_MAP, FZ_AVRO_PAIRS, FZ_AVRO_OTHER };
enum fz_avro_time { FZ_AVRO_NO_TIME, FZ_AVRO_MILLIS, FZ_AVRO_MICROS, FZ_AVRO_NANOS };

struct fz_avro_node {
    const char *name;
    int32_t field_id; // -1: none
    const json_t *schema; // with its union, for skipping
    int n_branches, null_branch; // 0: no union; -1: no null
    enum fz_avro_shape shape; // PAIRS: a map as array of key-value records; OTHER: can only be skipped
    int kind; // enum fz_avro_kind_id, of a leaf
    size_t size; // fixed
    const json_t *symbols; // enum
    bool decimal, date, uuid;
    enum fz_avro_time time_of_day, timestamp;
    const struct fz_type *type; // as Iceberg sees it; NULL for OTHER
    struct fz_avro_node *children; // struct: fields; list: element; map, pairs: key, value
    size_t n_children;
    bool required;
};

struct fz_avro_file {
    _Atomic int refs;
    struct fz_store *store;
    struct fz_arena arena;
    const char *location;
    int64_t size_bytes;
    char *head; // the first bytes, header included
    size_t head_len, header_len;
    struct fz_avro_reader *header; // keeps the schema
    struct fz_avro_node root;
    bool has_ids;
};

enum fz_code fz_avro_tree_build(struct fz_arena *arena, const json_t *schema, struct fz_avro_node *out, bool *has_ids,
                                struct fz_err *err);

// avro_reader.c: where the bytes behind the window come from. Replaces *window by bytes from `keep` on, at least `need` of them when the
// file has as many.
typedef enum fz_code (*fz_avro_more)(void *ctx, size_t keep, size_t need, struct fz_str *window, struct fz_err *err);
// A reader over blocks alone, with the schema and codec of `header`, whose header's metadata it does not have.
enum fz_code fz_avro_reader_blocks(const struct fz_avro_reader *header, fz_avro_more more, void *ctx,
                                   struct fz_avro_reader **out, struct fz_err *err);
size_t fz_avro_reader_header_len(const struct fz_avro_reader *reader);

#endif
