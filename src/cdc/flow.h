// What the stages of the pipeline hand to one another: source -> decode -> fold -> apply. Stages do not include one another; they
// meet here. architecture.md section 5, interface.md section 4.
#ifndef FZ_CDC_FLOW_H
#define FZ_CDC_FLOW_H

#include "base/sys.h"
#include "data/stream.h"
#include "data/value.h"

// Where a record came from: total order inside (stream, partition).
struct fz_cdc_position {
    const char *topic;   // Kafka topic, or the file's path
    int32_t partition;
    int64_t offset;      // Kafka offset, or the byte offset of the line
};
// A raw record as the source gives it; text is borrowed until the batch's arena dies.
struct fz_cdc_record {
    struct fz_cdc_position position;
    int64_t timestamp_ms;
    struct fz_str key, value;      // JSON text; ptr NULL = absent / tombstone
    struct fz_str raw;             // the whole line, for the quarantine
    const struct fz_property *headers_unused;
};
enum fz_cdc_op { FZ_CDC_READ, FZ_CDC_CREATE, FZ_CDC_UPDATE, FZ_CDC_DELETE, FZ_CDC_TRUNCATE };
// A guard position that compares as a tuple of numbers (Postgres: last commit end, lsn; MySQL: file number, pos, row).
struct fz_cdc_order {
    int64_t parts[4];
    int n; // 0: none (ordered by the stream alone)
};
// A typed change. Columns are those of the table's pipeline definition.
struct fz_cdc_change {
    const struct fz_cdc_record *record;
    enum fz_cdc_op op;
    uint64_t stream_seq;             // order of arrival in this run; decides ties
    struct fz_cdc_order order;
    const struct fz_value *key;      // one per key column
    const struct fz_value *row;      // one per column; for a delete only key columns count
    const uint8_t *unavailable;      // one per column: 1 = value not sent again (TOAST), keep the table's
    int64_t source_ts_us;            // source.ts_us or ts_ms*1000, -1 unknown
};

#endif
