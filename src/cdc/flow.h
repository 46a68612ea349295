// What the stages of the pipeline hand to one another: source -> decode -> fold -> apply. Stages do not include one another; they
// meet here. architecture.md section 5, interface.md section 4.
#ifndef FZ_CDC_FLOW_H
#define FZ_CDC_FLOW_H

#include "base/map.h"
#include "base/sys.h"
#include "data/stream.h"
#include "data/value.h"

struct fz_pipeline_table; // cdc/pipeline.h

// Where a record came from: total order inside (topic, partition).
struct fz_cdc_position {
    const char *topic; // Kafka topic, or the file's path
    int32_t partition;
    int64_t offset; // Kafka offset, or the byte offset of the line
    int64_t next_offset; // where reading goes on after this record
};
// A raw record as the source gives it; text is borrowed until the next record is asked for.
struct fz_cdc_record {
    struct fz_cdc_position position;
    int64_t timestamp_ms;
    struct fz_str key, value; // JSON text; ptr NULL = absent or null
    struct fz_str headers; // JSON text of [[name, value], …]; ptr NULL = none
    struct fz_str raw; // the whole line, for the quarantine
    bool has_topic; // false for bare values: the envelope alone says which table it is
    const char *bad_reason; // the line itself cannot be read: code and text; then only position and raw count
    const char *bad_text;
};

// A stream of records; file now, Kafka and others later. Implementations are in source/.
struct fz_cdc_source;
struct fz_cdc_source_vtable {
    // The next record, borrowed until the next call. *found false: nothing more for now; a later call may find more.
    enum fz_code (*next)(struct fz_cdc_source *source, struct fz_cdc_record *out, bool *found, struct fz_err *err);
    void (*free)(struct fz_cdc_source *source);
};
struct fz_cdc_source {
    const struct fz_cdc_source_vtable *vtable;
};

enum fz_cdc_op { FZ_CDC_READ, FZ_CDC_CREATE, FZ_CDC_UPDATE, FZ_CDC_DELETE, FZ_CDC_TRUNCATE };

// How a value stands in the event (shared/data/debezium README "Encodings").
enum fz_cdc_encoding_kind {
    FZ_ENC_NONE, // not known: from the schema part, or the default of the type
    FZ_ENC_PLAIN, // JSON number, string, true or false as it stands
    FZ_ENC_NUMBER, // JSON number or "NaN", "Infinity", "-Infinity"
    FZ_ENC_DECIMAL_BYTES,
    FZ_ENC_DECIMAL_STRING,
    FZ_ENC_STRUCT_SCALE,
    FZ_ENC_UNSIGNED64,
    FZ_ENC_EPOCH_DAYS,
    FZ_ENC_EPOCH_MILLIS,
    FZ_ENC_EPOCH_MICROS,
    FZ_ENC_EPOCH_NANOS,
    FZ_ENC_MILLIS_OF_DAY,
    FZ_ENC_MICROS_OF_DAY,
    FZ_ENC_NANOS_OF_DAY,
    FZ_ENC_MICROS,
    FZ_ENC_ISO_ZONED,
    FZ_ENC_ISO_TIME_ZONED,
    FZ_ENC_ISO_LOCAL,
    FZ_ENC_INTERVAL_MICROS,
    FZ_ENC_ISO_PERIOD,
    FZ_ENC_BASE64,
    FZ_ENC_HEX,
    FZ_ENC_BIT_LE,
    FZ_ENC_JSON_TEXT,
    FZ_ENC_JSON_OBJECT,
    FZ_ENC_MAP,
    FZ_ENC_LIST,
    FZ_ENC_UUID_TEXT,
    FZ_ENC_ENUM_TEXT,
    FZ_ENC_POINT, // an object of which x and y are used
    FZ_ENC_STRUCT, // an object, fields by name; `fields` has one encoding per field
    FZ_ENC_JSON_RAW, // any JSON value, kept as text (undeclared objects and arrays)
};
struct fz_cdc_encoding {
    enum fz_cdc_encoding_kind kind;
    int scale; // decimal-bytes; -1: in the record's schema
    const struct fz_cdc_encoding *element; // list, map (values)
    const struct fz_cdc_encoding *fields; // struct: one per field of the type
    size_t n_fields;
};

// A guard position that compares as a tuple of numbers (PostgreSQL: end of the last commit before, lsn; MySQL: file number,
// pos, row). n = 0: none, ordered by the stream alone.
struct fz_cdc_order {
    int64_t parts[3];
    int n;
};
int fz_cdc_order_compare(const struct fz_cdc_order *a, const struct fz_cdc_order *b); // both with n > 0
// The text in the lineage column: every part as 19 digits, joined by '/', so that text order is number order in every engine
// ("0000000000029318872/0000000000029319608"). `out` has room for FZ_CDC_ORDER_TEXT bytes; returns the length.
enum { FZ_CDC_ORDER_TEXT = 60 };
size_t fz_cdc_order_print(const struct fz_cdc_order *order, char out[FZ_CDC_ORDER_TEXT]);

struct fz_cdc_column {
    const char *name; // in the table
    const struct fz_type *type;
    struct fz_cdc_encoding encoding;
    bool encoding_declared; // by the pipeline; else the event's schema wins where there is one
    bool type_declared; // by the pipeline or by the existing table
    const struct fz_value *default_value; // for rows whose event has no such field; NULL: NULL
    int64_t n_beyond; // values that the type cannot hold, written as NULL
};
// A table of the pipeline while it runs. Columns only grow. Changed by decode/ (new fields) and apply/ (existing columns).
struct fz_cdc_table {
    size_t number; // its place in fz_cdc_tables
    struct fz_arena *arena; // of the run: names, types
    const struct fz_pipeline_table *config; // NULL: discovered
    const char *match; // "public.orders"
    struct fz_cdc_column *columns;
    size_t n_columns, columns_cap;
    struct fz_map by_field; // event field name -> column index, -1 = ignored
    struct fz_map by_name; // column name -> column index
    size_t *key; // column indexes
    size_t n_key;
    bool key_known; // n_key is final; 0 = a table without key
    bool settled; // its columns are known from a row or the existing table: new fields are schema changes
    bool typed_by_schema; // the last event had a schema part
    const char *connector; // "postgresql", "mysql", …; of the last event
    struct fz_map positions; // "topic\0partition" -> next offset already applied to this table
    void *decode_state; // of decode/, of apply/
    void *apply_state;
};
// All tables of a run: the configured ones and those met in the stream.
struct fz_cdc_tables {
    struct fz_arena *arena;
    struct fz_cdc_table **items;
    size_t n, cap;
    // Called for every new table before anything is decoded into it; may be NULL.
    enum fz_code (*on_add)(void *ctx, struct fz_cdc_table *table, struct fz_err *err);
    void *on_add_ctx;
};
enum fz_code fz_cdc_tables_add(struct fz_cdc_tables *tables, const struct fz_pipeline_table *config, const char *match,
                               struct fz_cdc_table **out, struct fz_err *err);
void fz_cdc_tables_dispose(struct fz_cdc_tables *tables);
// The key of the maps of positions: topic, a zero byte, the partition as 4 bytes. `out` is cleared first.
void fz_cdc_stream_key(struct fz_buf *out, const char *topic, int32_t partition);
// Adds a column; fails when there are more than 10,000.
enum fz_code fz_cdc_table_add_column(struct fz_cdc_table *table, const struct fz_cdc_column *column, size_t *out_index,
                                     struct fz_err *err);

// State of one column in a change.
enum fz_cdc_cell {
    FZ_CELL_ABSENT, // the event has no such field
    FZ_CELL_VALUE, // the value in `row` (may be NULL)
    FZ_CELL_UNAVAILABLE, // a value not sent again (TOAST): the older one counts
};
// A typed change. Arrays have n_columns entries; the table may have grown since. Borrowed until the next decode.
struct fz_cdc_change {
    const struct fz_cdc_record *record;
    struct fz_cdc_table *table;
    enum fz_cdc_op op;
    struct fz_cdc_order order;
    int64_t source_ts_us; // source.ts_us or ts_ms * 1000; INT64_MIN unknown
    int64_t source_lsn; // PostgreSQL; -1 none
    size_t n_columns;
    const struct fz_value *row;
    const uint8_t *cells; // enum fz_cdc_cell; for a delete only key columns are FZ_CELL_VALUE
    const struct fz_value
        *old_key; // of a row whose key changed (n_key values), or NULL; values not sent again are there
    bool key_moves; // a delete whose row goes on under another key
};

// A folded batch of one table (fold/fold.h), read by apply/.
struct fz_fold_row {
    bool is_delete;
    bool has_row; // values of a whole row are here (for a delete: of the row that it removed)
    bool is_snapshot;
    struct fz_cdc_order order;
    int64_t source_ts_us;
    struct fz_cdc_position position; // of the last record that counted
    struct fz_str raw; // of that record, kept while a value is unavailable
    size_t n_columns;
    struct fz_value *values;
    uint8_t *cells; // ABSENT, UNAVAILABLE: the table's own value stays
    const struct fz_value *origin; // key of the table's row that has the UNAVAILABLE values; NULL: the row's own key
};
struct fz_fold {
    struct fz_cdc_table *table;
    struct fz_arena arena;
    struct fz_map by_key; // encoded key -> struct fz_fold_row *
    struct fz_fold_row **rows;
    size_t n_rows, rows_cap;
    bool truncated; // everything in the table up to truncate_order goes (n = 0: everything)
    struct fz_cdc_order truncate_order;
    int64_t n_changes, n_stale;
    int64_t pending_moves; // rows that left one key and have not come in under another yet: do not end the batch here
    struct fz_buf key;
};

#endif
