// What the files of duck/ share: the database object, types and vectors in both directions, error mapping. Included only here.
#ifndef FZ_DUCK_DUCK_PRIV_H
#define FZ_DUCK_DUCK_PRIV_H

#include <duckdb.h>

#include "base/map.h"
#include "duck/duck.h"

// The column batch is DuckDB's vector layout; these hold it.
_Static_assert(sizeof(struct fz_string) == sizeof(duckdb_string_t), "string size");
_Static_assert(offsetof(struct fz_string, prefix) == offsetof(duckdb_string_t, value.inlined.inlined), "string bytes");
_Static_assert(offsetof(struct fz_string, u.ptr) == offsetof(duckdb_string_t, value.pointer.ptr), "string pointer");
_Static_assert(sizeof(struct fz_i128) == sizeof(duckdb_hugeint), "hugeint size");
_Static_assert(offsetof(struct fz_i128, upper) == offsetof(duckdb_hugeint, upper), "hugeint halves");
_Static_assert(sizeof(struct fz_list_span) == sizeof(duckdb_list_entry), "list entry size");
_Static_assert(offsetof(struct fz_list_span, length) == offsetof(duckdb_list_entry, length), "list entry length");

enum { FZ_DUCK_VALIDITY_WORDS = FZ_BATCH_ROWS / 64 };

struct fz_duck_kernel { // a registered kernel; lives in duck->kernel_arena
    struct fz_duck *duck;
    struct fz_scalar_kernel def; // name and types are copies
    struct fz_duck_kernel *next;
};

struct fz_duck_temp { // where the database spills to
    char *path;
    bool is_private; // ours to remove
    int folder; // open and locked while the database is; -1: not ours
};

struct fz_duck {
    duckdb_database db;
    duckdb_connection con;
    struct fz_duck_options options; // texts are copies
    struct fz_duck_temp temp;
    bool broken; // INTERNAL or FATAL was seen: only reopen helps
    struct fz_cancel *cancel;
    struct fz_duck_result *open_result;

    pthread_mutex_t lock; // callbacks run on the engine's threads: registry and error slot
    struct fz_err slot; // first error of a callback of the running statement
    struct {
        int64_t id;
        struct fz_source *source;
        int64_t scanned_in; // number of the statement that last began to read it
    } * sources;
    size_t n_sources, sources_cap;
    int64_t next_source_id;
    int64_t statement; // counts executions

    // The sink of the running fz_duck_run_into.
    struct fz_sink *sink;
    const struct fz_field *sink_fields;
    size_t n_sink_fields;
    _Atomic int64_t sink_rows;

    struct fz_arena kernel_arena;
    struct fz_duck_kernel *kernels, *last_kernel;
    struct fz_map kernel_names; // "name(type,…)"
};

// duck_temp.c: `wanted` NULL: a private folder.
enum fz_code fz_duck_temp_make(const char *wanted, struct fz_duck_temp *out, struct fz_err *err);
void fz_duck_temp_drop(struct fz_duck_temp *temp);
// duck_type.c
duckdb_logical_type fz_duck_type_new(const struct fz_type *type); // destroy it; NULL: out of memory or no such type
bool fz_duck_type_matches(duckdb_logical_type have,
                          const struct fz_type *want); // same layout; struct field names do not count
// `widen`: types that the batch cannot hold become the next one that can (describe); else only types with a batch layout.
enum fz_code fz_duck_type_read(struct fz_arena *arena, duckdb_logical_type type, bool widen, const struct fz_type **out,
                               struct fz_err *err);

// duck_vector.c
bool fz_duck_type_is_flat(const struct fz_type *type); // one array of values, no children
// Copies `n` rows of a column into a vector. Strings keep their pointers unless copy_strings.
enum fz_code fz_duck_vector_write(duckdb_vector vector, const struct fz_column *column, size_t n, bool copy_strings,
                                  struct fz_err *err);
struct fz_duck_view { // columns that point into DuckDB's vectors
    struct fz_batch batch;
    duckdb_vector *copies; // nested columns are normalised into these first
    duckdb_logical_type *types;
    duckdb_selection_vector identity;
};
enum fz_code fz_duck_view_init(struct fz_duck_view *view, const struct fz_field *fields, size_t n, struct fz_err *err);
void fz_duck_view_set(struct fz_duck_view *view, size_t column, duckdb_vector vector, size_t n_rows);
void fz_duck_view_dispose(struct fz_duck_view *view);

// duck_error.c
void fz_duck_slot_put(struct fz_duck *duck, const struct fz_err *err); // from callbacks
// Turns DuckDB's text (JSON or plain) into *err; marks the database broken after INTERNAL and FATAL. `sql`: what was run.
enum fz_code fz_duck_raise(struct fz_duck *duck, const char *text, const char *sql, struct fz_err *err);
// Tests use this one: class and text of one message, without a database.
void fz_duck_map_message(const char *exception_type, const char *message, struct fz_err *err);

// duck_db.c
enum fz_code fz_duck_begin(struct fz_duck *duck, struct fz_err *err); // before every statement
enum fz_code fz_duck_prepare(struct fz_duck *duck, const char *sql, duckdb_prepared_statement *out, struct fz_err *err);
// Runs a prepared statement to the end (or up to the first rows when streaming).
enum fz_code fz_duck_execute(struct fz_duck *duck, duckdb_prepared_statement statement, bool streaming, const char *sql,
                             duckdb_result *out, struct fz_err *err);

// duck_scan.c, duck_sink.c, duck_kernel.c: what each database registers when it opens
enum fz_code fz_duck_scan_install(struct fz_duck *duck, struct fz_err *err);
enum fz_code fz_duck_sink_install(struct fz_duck *duck, struct fz_err *err);
enum fz_code fz_duck_kernels_install(struct fz_duck *duck, struct fz_err *err);

#endif
