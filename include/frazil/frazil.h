/* frazil: change streams into Apache Iceberg tables. The public API: opaque handles, errors as values, results as Arrow C
 * streams. Compiles alone as C11, C17 and C++17. A session is used by one thread at a time; fz_session_cancel may be called from
 * any thread, and so may fz_session_progress. The library never prints, exits or installs signal handlers. */
#ifndef FRAZIL_FRAZIL_H
#define FRAZIL_FRAZIL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRAZIL_VERSION "0.1.0"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};
struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};
#endif
#ifndef ARROW_C_STREAM_INTERFACE
#define ARROW_C_STREAM_INTERFACE
struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};
#endif

/* What went wrong. `code` is 0 when nothing did; its names are in docs/errors.md ("NOT_FOUND"). */
typedef struct fz_error {
    int code;
    int line, column; /* 1-based position in the SQL or YAML text, 0 when unknown */
    char code_name[24]; /* "NOT_FOUND" */
    char condition[96]; /* Spark's condition name, empty when there is none */
    char message[2176]; /* what, where and what to do; UTF-8 */
} fz_error;

typedef struct fz_session fz_session;
typedef struct fz_result fz_result;
typedef struct fz_pipeline fz_pipeline;

/* Levels of fz_notice_fn: 0 error, 1 warning, 2 notice (the line after a write), 3 info, 4 debug. */
typedef void (*fz_notice_fn)(void *ctx, int level, const char *text);

/* Settings are "key", "value" pairs: Spark's and Iceberg's own keys (spark.sql.catalog.NAME.*), and frazil.memory,
 * frazil.threads, frazil.temp-directory. Returns 0 and a session to close, or the error's code. */
int fz_session_open(const char *const *settings, size_t n_pairs, fz_notice_fn notice, void *notice_ctx,
                    fz_session **out, fz_error *error);
void fz_session_close(fz_session *session);
void fz_session_cancel(fz_session *session);
/* How far the running statement is; any thread may ask. Rows of tables that it has still to read are in rows_to_read too, which
 * grows while the statement is planned. */
typedef struct fz_progress_counts {
    int64_t rows_to_read, rows_read, rows_written;
} fz_progress_counts;
void fz_session_progress(const fz_session *session, fz_progress_counts *out);

/* Splits a script into statements: calls `each` with the text and its first line; stops and returns when `each` returns nonzero. */
int fz_script_split(const char *sql, int (*each)(void *ctx, const char *statement, size_t len, int line), void *ctx,
                    fz_error *error);

/* Runs one statement. A statement without rows gives a result with no columns (rows without columns are rows: SELECT * of a table
 * that has none gives as many as the table). The result is closed before the next statement. */
int fz_session_execute(fz_session *session, const char *sql, fz_result **out, fz_error *error);
size_t fz_result_columns(const fz_result *result);
const char *fz_result_column_name(const fz_result *result, size_t column);
const char *fz_result_column_type(const fz_result *result, size_t column); /* Spark's spelling: "decimal(10,2)" */
/* Next row as text, one string a column in *values (NULL = SQL NULL), valid until the next call: returns 1, 0 at the end, -1 on error.
 * Rendering: as docs/rendering.md. */
int fz_result_next_text(fz_result *result, const char *const **values, fz_error *error);
/* Bytes of a column's text in the current row, for texts with NUL characters inside; 0 for SQL NULL. */
size_t fz_result_text_length(const fz_result *result, size_t column);
/* The rest of the result as an Arrow stream, which takes the result over (struct columns inside a struct array). */
int fz_result_stream(fz_result *result, struct ArrowArrayStream *out, fz_error *error);
void fz_result_close(fz_result *result);

/* Pipelines. fz_pipeline_open reads and checks the YAML file; error.line/column point into it. */
int fz_pipeline_open(fz_session *session, const char *yaml_path, fz_pipeline **out, fz_error *error);
/* What `frazil check` prints: text lines through `line`. Returns 0 when the pipeline could run. */
int fz_pipeline_check(fz_pipeline *pipeline, void (*line)(void *ctx, const char *text), void *ctx, fz_error *error);
typedef struct fz_run_stats {
    int64_t events, changes, quarantined, commits;
    double seconds;
} fz_run_stats;
/* Runs until the end of what the source holds now (once != 0) or until cancelled. `status` gets one line per commit. */
int fz_pipeline_run(fz_pipeline *pipeline, int once, void (*status)(void *ctx, const char *text), void *ctx,
                    fz_run_stats *out, fz_error *error);
void fz_pipeline_close(fz_pipeline *pipeline);

/* What a local file of a table is and holds: Parquet, Avro (manifests, manifest lists), Puffin, table metadata, version hint. `text` gets
 * all of it in one call. Needs no session. */
#define FZ_INSPECT_JSON 1 /* one JSON document */
#define FZ_INSPECT_ALL 2 /* text: no list is cut */
int fz_inspect(const char *path, int flags, void (*text)(void *ctx, const char *data, size_t len), void *ctx,
               fz_error *error);
/* The first rows of a local Parquet or Avro file, in the same way: a table, with FZ_INSPECT_JSON a document with `rows`; FZ_INSPECT_ALL: no
 * cell is cut. */
int fz_inspect_first_rows(const char *path, int64_t max_rows, int flags,
                          void (*text)(void *ctx, const char *data, size_t len), void *ctx, fz_error *error);

#ifdef __cplusplus
}
#endif
#endif
