// Types between frazil and DuckDB. One table row per type without parameters; decimals and nested types by hand.
// duckdb-facts.md section a "Values" is the source of the layouts.
#include <stdio.h>

#include "duck/duck_priv.h"

enum { MAX_TYPE_DEPTH = 64 };

struct type_row {
    enum fz_type_id id;
    duckdb_type duck;
    const char *sql;
};
// The first row of a DuckDB type is the one that reading it back gives.
static const struct type_row type_rows[] = {
    {FZ_TYPE_BOOLEAN, DUCKDB_TYPE_BOOLEAN, "BOOLEAN"},
    {FZ_TYPE_BYTE, DUCKDB_TYPE_TINYINT, "TINYINT"},
    {FZ_TYPE_SHORT, DUCKDB_TYPE_SMALLINT, "SMALLINT"},
    {FZ_TYPE_INT, DUCKDB_TYPE_INTEGER, "INTEGER"},
    {FZ_TYPE_LONG, DUCKDB_TYPE_BIGINT, "BIGINT"},
    {FZ_TYPE_FLOAT, DUCKDB_TYPE_FLOAT, "FLOAT"},
    {FZ_TYPE_DOUBLE, DUCKDB_TYPE_DOUBLE, "DOUBLE"},
    {FZ_TYPE_DATE, DUCKDB_TYPE_DATE, "DATE"},
    {FZ_TYPE_TIME, DUCKDB_TYPE_TIME, "TIME"},
    {FZ_TYPE_TIMESTAMP, DUCKDB_TYPE_TIMESTAMP, "TIMESTAMP"},
    {FZ_TYPE_TIMESTAMPTZ, DUCKDB_TYPE_TIMESTAMP_TZ, "TIMESTAMPTZ"},
    {FZ_TYPE_TIMESTAMP_NS, DUCKDB_TYPE_TIMESTAMP_NS, "TIMESTAMP_NS"},
    {FZ_TYPE_TIMESTAMPTZ_NS, DUCKDB_TYPE_TIMESTAMP_NS, "TIMESTAMP_NS"}, // no type with zone and nanoseconds
    {FZ_TYPE_STRING, DUCKDB_TYPE_VARCHAR, "VARCHAR"},
    {FZ_TYPE_UUID, DUCKDB_TYPE_UUID, "UUID"},
    {FZ_TYPE_BINARY, DUCKDB_TYPE_BLOB, "BLOB"},
    {FZ_TYPE_FIXED, DUCKDB_TYPE_BLOB, "BLOB"},
    {FZ_TYPE_VARIANT, DUCKDB_TYPE_BLOB, "BLOB"},
    {FZ_TYPE_GEOMETRY, DUCKDB_TYPE_BLOB, "BLOB"},
    {FZ_TYPE_GEOGRAPHY, DUCKDB_TYPE_BLOB, "BLOB"},
    {FZ_TYPE_UNKNOWN, DUCKDB_TYPE_INTEGER, "INTEGER"}, // all NULL; DuckDB itself turns a bare NULL into INTEGER
    {FZ_TYPE_INTERVAL_DT, DUCKDB_TYPE_BIGINT, "BIGINT"},
    {FZ_TYPE_INTERVAL_YM, DUCKDB_TYPE_INTEGER, "INTEGER"},
    {FZ_TYPE_INTERVAL_CAL, DUCKDB_TYPE_INTERVAL, "INTERVAL"},
};
enum { N_TYPE_ROWS = sizeof type_rows / sizeof type_rows[0] };

static const struct type_row *find_row(enum fz_type_id id) {
    for (size_t i = 0; i < N_TYPE_ROWS; i++) {
        if (type_rows[i].id == id) {
            return &type_rows[i];
        }
    }
    return NULL;
}

void fz_duck_type_print(struct fz_buf *out, const struct fz_type *type) {
    const struct type_row *row = find_row(type->id);
    if (row) {
        fz_buf_puts(out, row->sql);
        return;
    }
    if (type->id == FZ_TYPE_DECIMAL) {
        fz_buf_printf(out, "DECIMAL(%d,%d)", type->precision, type->scale);
    } else if (type->id == FZ_TYPE_LIST) {
        fz_duck_type_print(out, type->fields[0].type);
        fz_buf_puts(out, "[]");
    } else if (type->id == FZ_TYPE_MAP) {
        fz_buf_puts(out, "MAP(");
        fz_duck_type_print(out, type->fields[0].type);
        fz_buf_puts(out, ", ");
        fz_duck_type_print(out, type->fields[1].type);
        fz_buf_puts(out, ")");
    } else {
        fz_buf_puts(out, "STRUCT(");
        for (size_t i = 0; i < type->n_fields; i++) {
            fz_buf_printf(out, "%sf%zu ", i ? ", " : "", i + 1);
            fz_duck_type_print(out, type->fields[i].type);
        }
        fz_buf_puts(out, ")");
    }
}

static duckdb_logical_type new_struct(const struct fz_type *type) {
    duckdb_logical_type result = NULL;
    size_t n = type->n_fields;
    duckdb_logical_type *members = fz_calloc(n ? n : 1, sizeof *members);
    char(*texts)[24] = fz_calloc(n ? n : 1, sizeof *texts);
    const char **names = fz_calloc(n ? n : 1, sizeof *names);
    bool ok = n > 0 && members && texts && names; // DuckDB has no struct without fields
    for (size_t i = 0; ok && i < n; i++) {
        snprintf(texts[i], sizeof texts[i], "f%zu", i + 1);
        names[i] = texts[i];
        members[i] = fz_duck_type_new(type->fields[i].type);
        ok = members[i] != NULL;
    }
    if (ok) {
        result = duckdb_create_struct_type(members, names, n);
    }
    for (size_t i = 0; members && i < n; i++) {
        if (members[i]) {
            duckdb_destroy_logical_type(&members[i]);
        }
    }
    fz_free(members);
    fz_free(texts);
    fz_free(names);
    return result;
}

duckdb_logical_type fz_duck_type_new(const struct fz_type *type) {
    const struct type_row *row = find_row(type->id);
    if (row) {
        return duckdb_create_logical_type(row->duck);
    }
    duckdb_logical_type result = NULL;
    if (type->id == FZ_TYPE_DECIMAL) {
        return duckdb_create_decimal_type((uint8_t)type->precision, (uint8_t)type->scale);
    }
    if (type->id == FZ_TYPE_STRUCT) {
        return new_struct(type);
    }
    duckdb_logical_type first = fz_duck_type_new(type->fields[0].type);
    if (!first) {
        return NULL;
    }
    if (type->id == FZ_TYPE_LIST) {
        result = duckdb_create_list_type(first);
    } else {
        duckdb_logical_type second = fz_duck_type_new(type->fields[1].type);
        if (second) {
            result = duckdb_create_map_type(first, second);
            duckdb_destroy_logical_type(&second);
        }
    }
    duckdb_destroy_logical_type(&first);
    return result;
}

// Compares and destroys the child.
static bool child_matches(duckdb_logical_type child, const struct fz_type *want) {
    bool same = fz_duck_type_matches(child, want);
    duckdb_destroy_logical_type(&child);
    return same;
}

bool fz_duck_type_matches(duckdb_logical_type have, const struct fz_type *want) {
    duckdb_type id = duckdb_get_type_id(have);
    const struct type_row *row = find_row(want->id);
    if (row) {
        return id == row->duck || (want->id == FZ_TYPE_UNKNOWN && id == DUCKDB_TYPE_SQLNULL);
    }
    switch (want->id) {
    case FZ_TYPE_DECIMAL:
        if (id == DUCKDB_TYPE_HUGEINT) {
            return want->precision == 38 && want->scale == 0; // same 16 bytes
        }
        return id == DUCKDB_TYPE_DECIMAL && duckdb_decimal_width(have) == want->precision &&
               duckdb_decimal_scale(have) == want->scale;
    case FZ_TYPE_LIST:
        return id == DUCKDB_TYPE_LIST && child_matches(duckdb_list_type_child_type(have), want->fields[0].type);
    case FZ_TYPE_MAP:
        return id == DUCKDB_TYPE_MAP && child_matches(duckdb_map_type_key_type(have), want->fields[0].type) &&
               child_matches(duckdb_map_type_value_type(have), want->fields[1].type);
    default:
        if (id != DUCKDB_TYPE_STRUCT || duckdb_struct_type_child_count(have) != want->n_fields) {
            return false;
        }
        for (size_t i = 0; i < want->n_fields; i++) {
            if (!child_matches(duckdb_struct_type_child_type(have, i), want->fields[i].type)) {
                return false;
            }
        }
        return true;
    }
}

static enum fz_code read_type(struct fz_arena *arena, duckdb_logical_type type, bool widen, int depth,
                              const struct fz_type **out, struct fz_err *err);

// Reads and destroys the child.
static enum fz_code read_child(struct fz_arena *arena, duckdb_logical_type child, bool widen, int depth,
                               const struct fz_type **out, struct fz_err *err) {
    enum fz_code rc = read_type(arena, child, widen, depth + 1, out, err);
    duckdb_destroy_logical_type(&child);
    return rc;
}

static enum fz_code read_struct(struct fz_arena *arena, duckdb_logical_type type, bool widen, int depth,
                                const struct fz_type **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t n = duckdb_struct_type_child_count(type);
    struct fz_field *fields = fz_arena_array(arena, n ? n : 1, sizeof *fields);
    if (!fields) {
        return fz_fail_nomem(err, n * sizeof *fields);
    }
    for (size_t i = 0; i < n; i++) {
        char *name = duckdb_struct_type_child_name(type, i);
        fields[i].name = fz_arena_strdup(arena, name ? name : "");
        duckdb_free(name);
        if (!fields[i].name) {
            return fz_fail_nomem(err, 16);
        }
        FZ_TRY(read_child(arena, duckdb_struct_type_child_type(type, i), widen, depth, &fields[i].type, err));
    }
    *out = fz_type_struct(arena, fields, n);
out:
    return rc;
}

// What a type outside the batch layout is read as.
static const struct fz_type *widened(struct fz_arena *arena, duckdb_type id) {
    switch ((int)id) {
    case DUCKDB_TYPE_UTINYINT:
        return fz_type_primitive(FZ_TYPE_SHORT);
    case DUCKDB_TYPE_USMALLINT:
        return fz_type_primitive(FZ_TYPE_INT);
    case DUCKDB_TYPE_UINTEGER:
        return fz_type_primitive(FZ_TYPE_LONG);
    case DUCKDB_TYPE_UBIGINT:
        return fz_type_decimal(arena, 20, 0);
    case DUCKDB_TYPE_UHUGEINT:
        return fz_type_decimal(arena, 38, 0);
    case DUCKDB_TYPE_TIMESTAMP_S:
    case DUCKDB_TYPE_TIMESTAMP_MS:
    case DUCKDB_TYPE_TIMESTAMP_NS:
        return fz_type_primitive(FZ_TYPE_TIMESTAMP);
    case DUCKDB_TYPE_TIME_TZ:
    case DUCKDB_TYPE_TIME_NS:
        return fz_type_primitive(FZ_TYPE_TIME);
    case DUCKDB_TYPE_ENUM:
    case DUCKDB_TYPE_BIT:
    case DUCKDB_TYPE_BIGNUM:
    case DUCKDB_TYPE_INTERVAL:
    case DUCKDB_TYPE_STRING_LITERAL:
        return fz_type_primitive(FZ_TYPE_STRING);
    case DUCKDB_TYPE_INTEGER_LITERAL:
        return fz_type_primitive(FZ_TYPE_INT);
    case DUCKDB_TYPE_GEOMETRY:
        return fz_type_primitive(FZ_TYPE_BINARY);
    case DUCKDB_TYPE_VARIANT:
        return fz_type_primitive(FZ_TYPE_VARIANT);
    default:
        return NULL;
    }
}

static enum fz_code read_type(struct fz_arena *arena, duckdb_logical_type type, bool widen, int depth,
                              const struct fz_type **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    duckdb_type id = duckdb_get_type_id(type);
    const struct fz_type *result = NULL, *key = NULL, *value = NULL;
    if (depth > MAX_TYPE_DEPTH) {
        return fz_fail(err, FZ_UNSUPPORTED, "the engine's type is nested deeper than %d levels", MAX_TYPE_DEPTH);
    }
    if (widen) {
        result = widened(arena, id);
    }
    for (size_t i = 0; !result && i < N_TYPE_ROWS; i++) {
        if (type_rows[i].duck == id) {
            result = fz_type_primitive(type_rows[i].id);
        }
    }
    if (result) {
        *out = result;
        return FZ_OK;
    }
    switch ((int)id) {
    case DUCKDB_TYPE_SQLNULL:
        result = fz_type_primitive(FZ_TYPE_UNKNOWN);
        break;
    case DUCKDB_TYPE_HUGEINT:
        result = fz_type_decimal(arena, 38, 0);
        break;
    case DUCKDB_TYPE_DECIMAL:
        result = fz_type_decimal(arena, duckdb_decimal_width(type), duckdb_decimal_scale(type));
        break;
    case DUCKDB_TYPE_ARRAY:
        if (!widen) {
            return fz_fail(err, FZ_BUG, "arrays of fixed size have no place in a batch; cast to a list");
        }
        FZ_TRY(read_child(arena, duckdb_array_type_child_type(type), widen, depth, &value, err));
        result = fz_type_list(arena, 0, false, value);
        break;
    case DUCKDB_TYPE_LIST:
        FZ_TRY(read_child(arena, duckdb_list_type_child_type(type), widen, depth, &value, err));
        result = fz_type_list(arena, 0, false, value);
        break;
    case DUCKDB_TYPE_MAP:
        FZ_TRY(read_child(arena, duckdb_map_type_key_type(type), widen, depth, &key, err));
        FZ_TRY(read_child(arena, duckdb_map_type_value_type(type), widen, depth, &value, err));
        result = fz_type_map(arena, 0, key, 0, false, value);
        break;
    case DUCKDB_TYPE_STRUCT:
        FZ_TRY(read_struct(arena, type, widen, depth, &result, err));
        break;
    default:
        return fz_fail(err, widen ? FZ_UNSUPPORTED : FZ_BUG, "the engine's type number %d has no counterpart", (int)id);
    }
    if (!result) {
        rc = fz_fail_nomem(err, sizeof *result);
        goto out;
    }
    *out = result;
out:
    return rc;
}

enum fz_code fz_duck_type_read(struct fz_arena *arena, duckdb_logical_type type, bool widen, const struct fz_type **out,
                               struct fz_err *err) {
    return read_type(arena, type, widen, 0, out, err);
}
