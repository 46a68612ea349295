// include/frazil/frazil.h: sessions, statements and results as text. Argument checks and hand-over, nothing else.
#include <stdio.h>
#include <string.h>

#include "api/api_priv.h"
#include "data/value.h"
#include "sql/ast.h"

int fz_api_error(enum fz_code rc, const struct fz_err *err, fz_error *out) {
    if (out != NULL) {
        memset(out, 0, sizeof *out);
        if (rc != FZ_OK) {
            out->code = (int)rc;
            out->line = err->line;
            out->column = err->column;
            snprintf(out->code_name, sizeof out->code_name, "%s", fz_code_name(rc));
            snprintf(out->condition, sizeof out->condition, "%s", err->condition);
            snprintf(out->message, sizeof out->message, "%s%s%s%s", err->message, err->context[0] ? " (in " : "",
                     err->context, err->context[0] ? ")" : "");
        }
    }
    return (int)rc;
}

static void forward_log(void *ctx, int level, const char *text) {
    struct fz_session *s = ctx;
    if (s->notice != NULL) {
        s->notice(s->notice_ctx, level, text);
    }
}

int fz_session_open(const char *const *settings, size_t n_pairs, fz_notice_fn notice, void *notice_ctx,
                    fz_session **out, fz_error *error) {
    enum fz_code rc = FZ_OK;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_session *s = NULL;
    struct fz_property *pairs = NULL;
    if (out == NULL || (settings == NULL && n_pairs > 0)) {
        rc = fz_fail(&err, FZ_INVALID_ARG,
                     "fz_session_open needs a place for the session and the settings it was told of");
        goto out;
    }
    FZ_NEW(s, &err);
    s->notice = notice;
    s->notice_ctx = notice_ctx;
    pairs = fz_calloc(n_pairs, sizeof *pairs);
    if (pairs == NULL) {
        rc = fz_fail_nomem(&err, n_pairs * sizeof *pairs);
        goto out;
    }
    for (size_t i = 0; i < n_pairs; i++) {
        pairs[i] = (struct fz_property){settings[2 * i], settings[2 * i + 1]};
    }
    struct fz_engine_options options = {
        .settings = pairs, .n_settings = n_pairs, .log = {.fn = forward_log, .ctx = s, .max_level = 4}};
    FZ_TRY(fz_engine_open(&options, &s->engine, &err));
    *out = s;
    s = NULL;
out:
    fz_free(pairs);
    fz_free(s);
    return fz_api_error(rc, &err, error);
}

void fz_session_close(fz_session *s) {
    if (s != NULL) {
        fz_engine_close(s->engine);
        fz_free(s);
    }
}

void fz_session_cancel(fz_session *s) {
    if (s != NULL) {
        fz_engine_cancel(s->engine);
    }
}

void fz_session_progress(const fz_session *s, fz_progress_counts *out) {
    *out = (fz_progress_counts){0};
    if (s != NULL) {
        const struct fz_progress *p = fz_engine_progress(s->engine);
        out->rows_to_read = atomic_load(&p->rows_to_read);
        out->rows_read = atomic_load(&p->rows_read);
        out->rows_written = atomic_load(&p->rows_written);
    }
}

int fz_script_split(const char *sql, int (*each)(void *ctx, const char *statement, size_t len, int line), void *ctx,
                    fz_error *error) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_sql_piece *pieces;
    size_t n = 0;
    int stopped = 0;
    enum fz_code rc = fz_sql_split(&arena, fz_str_of(sql), &pieces, &n, &err);
    for (size_t i = 0; rc == FZ_OK && i < n && stopped == 0; i++) {
        stopped = each(ctx, pieces[i].text.ptr, pieces[i].text.len, pieces[i].line);
    }
    fz_arena_dispose(&arena);
    return stopped != 0 ? stopped : fz_api_error(rc, &err, error);
}

static enum fz_code describe(struct fz_result *r, struct fz_err *err) {
    r->fields = fz_engine_result_columns(r->inner, &r->n_fields);
    r->cells = fz_calloc(r->n_fields, sizeof *r->cells);
    r->values = fz_calloc(r->n_fields, sizeof *r->values);
    r->type_names = fz_calloc(r->n_fields, sizeof *r->type_names);
    if (r->cells == NULL || r->values == NULL || r->type_names == NULL) {
        return fz_fail_nomem(err, r->n_fields * sizeof *r->cells);
    }
    for (size_t i = 0; i < r->n_fields; i++) {
        struct fz_buf b = {0};
        fz_type_print_sql(&b, r->fields[i].type);
        r->type_names[i] = fz_buf_take(&b);
    }
    return FZ_OK;
}

int fz_session_execute(fz_session *session, const char *sql, fz_result **out, fz_error *error) {
    enum fz_code rc = FZ_OK;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_result *r = NULL;
    if (session == NULL || sql == NULL || out == NULL) {
        rc =
            fz_fail(&err, FZ_INVALID_ARG, "fz_session_execute needs a session, a statement and a place for the result");
        goto out;
    }
    FZ_NEW(r, &err);
    r->session = session;
    FZ_TRY(fz_engine_execute(session->engine, sql, &r->inner, &err));
    FZ_TRY(describe(r, &err));
    *out = r;
    r = NULL;
out:
    fz_result_close(r);
    return fz_api_error(rc, &err, error);
}

size_t fz_result_columns(const fz_result *r) {
    return r->n_fields;
}
const char *fz_result_column_name(const fz_result *r, size_t column) {
    return column < r->n_fields ? r->fields[column].name : NULL;
}
const char *fz_result_column_type(const fz_result *r, size_t column) {
    return column < r->n_fields ? r->type_names[column] : NULL;
}

int fz_result_next_text(fz_result *r, const char *const **values, fz_error *error) {
    struct fz_err err = FZ_ERR_INIT;
    if (r->batch == NULL || r->row >= r->batch->n_rows) {
        r->row = 0;
        enum fz_code rc = fz_engine_result_next(r->inner, &r->batch, &err);
        if (rc != FZ_OK) {
            fz_api_error(rc, &err, error);
            return -1;
        }
        if (r->batch == NULL) {
            return 0;
        }
    }
    struct fz_arena arena = {0};
    for (size_t i = 0; i < r->n_fields; i++) {
        struct fz_value v = fz_value_at(&r->batch->columns[i], r->row, &arena);
        r->values[i] = NULL;
        if (!v.is_null) {
            v.type = r->fields[i].type; // names of struct members
            fz_buf_clear(&r->cells[i]);
            fz_value_print(&r->cells[i], &v);
            r->values[i] = r->cells[i].ptr ? r->cells[i].ptr : "";
        }
    }
    fz_arena_dispose(&arena);
    r->row++;
    *values = r->values;
    return 1;
}

size_t fz_result_text_length(const fz_result *r, size_t column) {
    return column < r->n_fields && r->values[column] != NULL ? r->cells[column].len : 0;
}

void fz_result_close(fz_result *r) {
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->n_fields && r->cells != NULL && r->type_names != NULL; i++) {
        fz_buf_dispose(&r->cells[i]);
        fz_free(r->type_names[i]);
    }
    fz_free(r->cells);
    fz_free(r->values);
    fz_free(r->type_names);
    fz_engine_result_free(r->inner);
    fz_free(r);
}
