// The embedded engine: the only folder that includes duckdb.h. A `fz_duck` is one database with one connection (one failure
// domain, architecture.md section 3). Not thread-safe; its callbacks run on the engine's threads. duckdb-facts.md section 0.
#ifndef FZ_DUCK_DUCK_H
#define FZ_DUCK_DUCK_H

#include "data/stream.h"
#include "data/value.h"

struct fz_duck;
struct fz_duck_options {
    int64_t memory_bytes; // engine's own limit, see architecture.md "Memory"
    const char *temp_directory; // created when missing; NULL: a private folder under $TMPDIR, removed at close
    int threads; // 0: all cores
    const char *time_zone; // "UTC"
    struct fz_cancel *cancel; // borrowed, may be NULL
    const char *const *
        read_folders; // NULL-terminated: local folders that read_parquet/read_csv may touch; NULL: files allowed everywhere
    int64_t temp_bytes; // cap on temporary files; 0: the engine's default (90 % of the free disk)
};
enum fz_code fz_duck_open(const struct fz_duck_options *options, struct fz_duck **out, struct fz_err *err);
void fz_duck_close(struct fz_duck *duck);
// The zone from now on, also after fz_duck_reopen: a region, UTC, or an offset of whole hours (+03:00, UTC+3). INVALID_ARG for others.
enum fz_code fz_duck_set_time_zone(struct fz_duck *duck, const char *name, struct fz_err *err);
// Closes and opens again after an ENGINE error; temporary tables are gone, registered sources stay.
enum fz_code fz_duck_reopen(struct fz_duck *duck, struct fz_err *err);
bool fz_duck_is_broken(const struct fz_duck *duck);
const char *fz_duck_temp_directory(const struct fz_duck *duck); // where it spills; as long as the database is open

// Makes a source readable as `fz_scan(id)`; columns are named c<field id> with types of data/batch.h's layout (struct fields f1..fn,
// by position). Takes a reference until fz_duck_unregister, which may be called while a result still reads. A source is one pass
// over its rows, shared by its readers: a statement that reads the same rows twice needs two sources (BUG otherwise).
enum fz_code fz_duck_register(struct fz_duck *duck, struct fz_source *source, int64_t *out_id, struct fz_err *err);
void fz_duck_unregister(struct fz_duck *duck, int64_t id);

// Runs SQL for its effect. Errors: the callback's own fz_err first, then CANCELLED, then DuckDB's class mapped (duckdb-facts e);
// a message that is a Spark condition given to error('COND: text') becomes condition and text. SQL of ours that does not parse or bind is BUG.
enum fz_code fz_duck_exec(struct fz_duck *duck, const char *sql, struct fz_err *err);
// Runs a query and pushes every row into the sink from all threads. `fields` gives the types of the columns the sink wants;
// the query must deliver exactly those. Rows pushed in *out_rows (may be NULL).
enum fz_code fz_duck_run_into(struct fz_duck *duck, const char *sql, const struct fz_field *fields, size_t n_fields,
                              struct fz_sink *sink, int64_t *out_rows, struct fz_err *err);
// Pulled results, for people: batches in order. One open result per fz_duck.
struct fz_duck_result;
enum fz_code fz_duck_query(struct fz_duck *duck, const char *sql, const struct fz_field *fields, size_t n_fields,
                           struct fz_duck_result **out, struct fz_err *err);
enum fz_code fz_duck_result_next(struct fz_duck_result *result, const struct fz_batch **out /* NULL at the end */,
                                 struct fz_err *err);
void fz_duck_result_free(struct fz_duck_result *result);
// A query that gives one row: its values, in `arena`.
enum fz_code fz_duck_query_row(struct fz_duck *duck, const char *sql, const struct fz_field *fields, size_t n_fields,
                               struct fz_arena *arena, struct fz_value *out_values, bool *out_found,
                               struct fz_err *err);
// Column names and types of a query as DuckDB sees them (file sources: parquet.`path`, csv, json). Types in `arena`.
enum fz_code fz_duck_describe(struct fz_duck *duck, const char *sql, struct fz_arena *arena, struct fz_field **out,
                              size_t *n, struct fz_err *err);

// DuckDB's spelling of a type ("DECIMAL(9,2)", "STRUCT(f1 INTEGER)[]").
void fz_duck_type_print(struct fz_buf *out, const struct fz_type *type);

// Own scalar functions (registered as fz_* when the database opens): pure, set NULLs themselves, never raise: NULL on failure.
// sql/kernels implements them; args and out are flat columns of n rows in batch layout, `out` has storage for n rows. Strings
// for `out` come from `strings`, valid until the function returns.
struct fz_scalar_kernel {
    const char *name;
    size_t n_args; // SIZE_MAX: varargs
    const struct fz_type *args[6]; // NULL entry = any type; varargs: args[0] for all
    const struct fz_type *result;
    bool null_in_null_out; // rows with a NULL argument are set NULL without asking the kernel about them
    enum fz_code (*run)(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                        struct fz_arena *strings, struct fz_err *err);
};
// Registers a table of kernels (idempotent per name and signature, kept over reopen).
enum fz_code fz_duck_register_kernels(struct fz_duck *duck, const struct fz_scalar_kernel *kernels, size_t n,
                                      struct fz_err *err);

#endif
