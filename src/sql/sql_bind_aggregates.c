// Aggregates whose result type or form depends on more than the types of their arguments.
#include "sql/sql_bind_special.h"

static enum fz_code bind_sum(struct special *c) {
    COUNT(c, 1, 1);
    bool try_it = is_one(c->name, "try_sum try_avg"), avg = is_one(c->name, "avg mean try_avg");
    if (fz_sql_is_string(c->args[0]->type) || fz_sql_is_null(c->args[0]->type)) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
    }
    const struct fz_type *a = c->args[0]->type, *t;
    if (!fz_type_is_numeric(a) && a->id != FZ_TYPE_INTERVAL_DT && a->id != FZ_TYPE_INTERVAL_YM) {
        return fz_bind_type_error(c->b, "DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", "`%s` takes numbers, not %s",
                                  c->name, fz_sql_type_text(c->b->arena, a));
    }
    if (avg) {
        if (a->id == FZ_TYPE_DECIMAL) {
            t = fz_type_decimal(c->b->arena, a->precision + 4 > 38 ? 38 : a->precision + 4,
                                a->scale + 4 > 38 ? 38 : a->scale + 4);
            return done(c, call(c, "op.avg_dec", t, 1));
        }
        if (a->id == FZ_TYPE_INTERVAL_DT || a->id == FZ_TYPE_INTERVAL_YM) {
            return done(c, call(c, "op.avg_interval", a, 1));
        }
        if (a->id == FZ_TYPE_FLOAT) {
            FZ_RET(cast_arg(c, 0, DOUBLE));
        }
        return done(c, fz_bind_call_node(c->b, fz_func_find("avg", NULL), DOUBLE, c->args, 1));
    }
    if (a->id == FZ_TYPE_DECIMAL) {
        t = fz_type_decimal(c->b->arena, a->precision + 10 > 38 ? 38 : a->precision + 10, a->scale);
    } else if (a->id == FZ_TYPE_FLOAT) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
        t = DOUBLE;
    } else {
        t = fz_type_is_integer(a) ? LONG : a;
    }
    return done(c, fz_bind_call_node(c->b, fz_func_find(try_it ? "try_sum" : "sum", NULL), t, c->args, 1));
}

static enum fz_code bind_percentile(struct special *c) {
    COUNT(c, 2, 3);
    bool approx = is_one(c->name, "percentile_approx approx_percentile");
    const struct fz_type *a = c->args[0]->type;
    if (!approx) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
        a = DOUBLE;
    } else if (!fz_type_is_numeric(a) && a->id != FZ_TYPE_DATE && a->id != FZ_TYPE_TIMESTAMPTZ &&
               a->id != FZ_TYPE_TIMESTAMP && a->id != FZ_TYPE_INTERVAL_DT && a->id != FZ_TYPE_INTERVAL_YM) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
        a = DOUBLE;
    }
    if (c->args[1]->type->id == FZ_TYPE_LIST) {
        const struct fz_type *fractions = fz_type_list(c->b->arena, 0, true, DOUBLE),
                             *t = fz_type_list(c->b->arena, 0, false, a);
        if (fractions == NULL || t == NULL) {
            return FZ_BIND_NOMEM(c->b);
        }
        FZ_RET(cast_arg(c, 1, fractions));
        return done(c, call(c, approx ? "op.percentile_approx_list" : "op.percentile_list", t, 2));
    }
    FZ_RET(cast_arg(c, 1, DOUBLE));
    const char *fn = approx                               ? "percentile_approx"
                     : is_one(c->name, "percentile_disc") ? "percentile_disc"
                                                          : "percentile";
    return done(c, fz_bind_call_node(c->b, fz_func_find(fn, NULL), a, c->args, 2));
}

static enum fz_code bind_listagg(struct special *c) {
    COUNT(c, 1, 2);
    for (size_t i = 0; i < c->n; i++) {
        FZ_RET(cast_arg(c, i, STRING));
    }
    return done(c, fz_bind_call_node(c->b, fz_func_find("listagg", NULL), STRING, c->args, c->n));
}

static enum fz_code
bind_mode(struct special *c) { // mode() WITHIN GROUP (ORDER BY x): the smallest of the most frequent
    COUNT(c, 1, 2);
    return done(c, fz_bind_call_node(c->b, fz_func_find("mode", NULL), c->args[0]->type, c->args, 1));
}

static enum fz_code bind_grouping(struct special *c) {
    bool id = is_one(c->name, "grouping_id");
    if (c->n == 0) {
        return fz_fail_cond(c->b->err, FZ_INVALID_ARG, "UNSUPPORTED_GROUPING_EXPRESSION",
                            "grouping_id() needs its columns here");
    }
    return done(c, fz_bind_call_node(c->b, fz_func_find(id ? "grouping_id" : "grouping", NULL),
                                     id ? LONG : fz_sql_type(FZ_TYPE_BYTE), c->args, c->n));
}

static enum fz_code bind_histogram(struct special *c) { // histogram_numeric(x, bins)
    COUNT(c, 2, 2);
    if (!fz_type_is_numeric(c->args[0]->type)) {
        FZ_RET(cast_arg(c, 0, DOUBLE));
    }
    FZ_RET(cast_arg(c, 1, INT));
    struct fz_field fields[2] = {{.name = "x", .type = c->args[0]->type}, {.name = "y", .type = DOUBLE}};
    const struct fz_type *bin = fz_type_struct(c->b->arena, fields, 2),
                         *t = bin ? fz_type_list(c->b->arena, 0, true, bin) : NULL;
    const struct fz_type *arg_types[2] = {fz_type_list(c->b->arena, 0, false, c->args[0]->type), INT};
    const char *kernel;
    if (t == NULL || arg_types[0] == NULL) {
        return FZ_BIND_NOMEM(c->b);
    }
    FZ_RET(fz_bind_kernel(c->b, "fz_histogram", fz_kernel_histogram, t, arg_types, 2, &kernel));
    const struct fz_expr *args[3] = {c->args[0], c->args[1], fz_bind_text(c->b, kernel)};
    return done(c, fz_bind_internal(c->b, "op.histogram", t, args, 3));
}

const struct special_handler fz_special_aggregates[] = {
    {"histogram_numeric", bind_histogram},
    {"sum try_sum avg mean try_avg", bind_sum},
    {"percentile percentile_cont percentile_disc percentile_approx approx_percentile", bind_percentile},
    {"listagg string_agg", bind_listagg},
    {"mode", bind_mode},
    {"grouping grouping_id", bind_grouping},
};
const size_t fz_n_special_aggregates = sizeof fz_special_aggregates / sizeof *fz_special_aggregates;
