// CALL catalog.system.procedure(…): what call.c hands to a procedure. Procedures are rows of the table in call.c.
#ifndef FZ_ENGINE_CALL_PRIV_H
#define FZ_ENGINE_CALL_PRIV_H

#include "engine/engine_priv.h"

enum { FZ_CALL_MAX_PARAMS = 12 };

struct fz_call {
    struct fz_statement *s;
    struct fz_catalog *catalog; // of the table
    struct fz_table_name table; // the `table` argument
    struct fz_value args[FZ_CALL_MAX_PARAMS]; // by position of the parameter list; not given: is_null
    struct fz_rows *rows; // the answer; columns as the procedure declares them
};

struct fz_procedure {
    const char *name;
    const char *params; // "table STRING, snapshot_id BIGINT": names and types in positional order
    size_t n_required; // the first ones
    const char *columns; // of the answer
    enum fz_code (*run)(struct fz_call *call, struct fz_err *err);
};

const char *fz_call_text(struct fz_call *call,
                         size_t param); // a STRING argument, in the statement's arena; NULL when not given
// One row of integers and texts: a value per column; a negative integer is NULL.
enum fz_code fz_call_add_numbers(struct fz_call *call, const int64_t *numbers, size_t n, struct fz_err *err);

// procedures_snapshot.c
enum fz_code fz_call_rollback_to_snapshot(struct fz_call *call, struct fz_err *err);
enum fz_code fz_call_rollback_to_timestamp(struct fz_call *call, struct fz_err *err);
enum fz_code fz_call_set_current_snapshot(struct fz_call *call, struct fz_err *err);
enum fz_code fz_call_ancestors_of(struct fz_call *call, struct fz_err *err);
enum fz_code fz_call_fast_forward(struct fz_call *call, struct fz_err *err);
enum fz_code fz_call_cherrypick_snapshot(struct fz_call *call, struct fz_err *err);
enum fz_code fz_call_publish_changes(struct fz_call *call, struct fz_err *err);

// procedures_rewrite.c
enum fz_code fz_call_rewrite_data_files(struct fz_call *call, struct fz_err *err);

// procedures_statistics.c
enum fz_code fz_call_compute_table_stats(struct fz_call *call, struct fz_err *err);
enum fz_code fz_call_compute_partition_stats(struct fz_call *call, struct fz_err *err);

#endif
