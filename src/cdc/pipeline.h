// A pipeline as its YAML file says it: parsed, checked, immutable. interface.md section 4. Unknown keys and wrong types are errors
// with file, line, column and the nearest known key; keys of later features are UNSUPPORTED and named.
#ifndef FZ_CDC_PIPELINE_H
#define FZ_CDC_PIPELINE_H

#include "cdc/flow.h"
#include "table/metadata.h"

enum fz_pipeline_format { FZ_FORMAT_DEBEZIUM_JSON, FZ_FORMAT_DEBEZIUM_FLAT };
enum fz_pipeline_deletes { FZ_DELETES_HARD, FZ_DELETES_SOFT, FZ_DELETES_IGNORE };
enum fz_pipeline_truncate { FZ_TRUNCATE_APPLY, FZ_TRUNCATE_IGNORE, FZ_TRUNCATE_STOP };
enum fz_pipeline_schema_changes { FZ_SCHEMA_EVOLVE, FZ_SCHEMA_IGNORE, FZ_SCHEMA_STOP };
enum fz_pipeline_mode { FZ_MODE_AUTO, FZ_MODE_COPY_ON_WRITE, FZ_MODE_MERGE_ON_READ };

struct fz_pipeline_column {
    const char *name;
    const struct fz_type *type; // NULL: only a default is given
    struct fz_cdc_encoding encoding; // kind NONE: not declared
    const char *default_text; // NULL: none
    int line, column;
};
struct fz_pipeline_table {
    const char *match, *into; // into NULL: as for discovered tables
    int line, column;
    const char **key; // n_key 0: the event's key
    size_t n_key;
    const char **order_by;
    size_t n_order_by;
    const char *guard;
    enum fz_pipeline_deletes deletes;
    const char *soft_flag, *soft_at; // soft_at may be NULL
    enum fz_pipeline_mode mode;
    const char **partition_by; // "days(created_at)"
    size_t n_partition_by;
    struct fz_property *properties;
    size_t n_properties;
    struct fz_pipeline_column *columns;
    size_t n_columns;
    struct fz_property *rename; // old field, new column
    size_t n_rename;
    enum fz_pipeline_truncate truncate;
    enum fz_pipeline_schema_changes schema_changes;
    bool keyless_append;
    bool keep_streamed; // snapshot_rows
};
struct fz_pipeline {
    struct fz_arena arena;
    const char *file;
    const char *name, *catalog; // catalog NULL: the session's
    const char *source_path; // glob; relative to the working directory
    bool records_kafka; // else bare values
    enum fz_pipeline_format format;
    const char *placeholder; // unavailable.value.placeholder of the connector
    struct fz_pipeline_table *tables; // none: all tables are discovered
    size_t n_tables;
    struct fz_pipeline_table defaults; // what a discovered table gets
    const char *quarantine_table; // NULL: <pipeline>_quarantine beside the first table
    int64_t stop_after;
    int64_t commit_every_us, commit_rows, commit_bytes;
};
// INVALID_ARG, UNSUPPORTED with err->line and err->column; NOT_FOUND, IO for the file.
enum fz_code fz_pipeline_load(const char *path, struct fz_pipeline **out, struct fz_err *err);
enum fz_code fz_pipeline_parse(struct fz_str yaml, const char *file, struct fz_pipeline **out, struct fz_err *err);
void fz_pipeline_free(struct fz_pipeline *pipeline);
// Which table of the pipeline a topic or "schema.table" belongs to: its whole name or its end behind a '.'. NULL: none.
const struct fz_pipeline_table *fz_pipeline_match(const struct fz_pipeline *pipeline, struct fz_str name);

#endif
