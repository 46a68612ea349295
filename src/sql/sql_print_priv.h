// Shared by the printer's files.
#ifndef FZ_SQL_PRINT_PRIV_H
#define FZ_SQL_PRINT_PRIV_H

#include "sql/sql_bind_priv.h"

enum fz_code fz_print_expr(struct fz_buf *out, const struct fz_expr *e, int depth, struct fz_err *err);
enum fz_code fz_print_query_depth(struct fz_buf *out, const struct fz_sql_query *q, int depth, struct fz_err *err);
enum fz_code fz_print_order_list(struct fz_buf *out, const struct fz_sql_order *order, size_t n, bool distinct,
                                 int depth, struct fz_err *err);
// A cast of the printed text `x` (mentioned more than once: bound first when long).
enum fz_code fz_print_cast_text(struct fz_buf *out, struct fz_str x, const struct fz_type *from,
                                const struct fz_type *to, enum fz_cast_mode mode, int depth, struct fz_err *err);

#endif
