// Iceberg types (spec "Schemas and Data Types") plus the few that only SQL expressions have. A type tree is immutable and
// lives in an arena owned by its schema or statement. One type system from Parquet to SQL.
#ifndef FZ_DATA_TYPE_H
#define FZ_DATA_TYPE_H

#include "base/mem.h"

enum fz_type_id {
    FZ_TYPE_BOOLEAN = 1,
    FZ_TYPE_INT, // 32 bit
    FZ_TYPE_LONG, // 64 bit
    FZ_TYPE_FLOAT,
    FZ_TYPE_DOUBLE,
    FZ_TYPE_DECIMAL, // precision, scale; precision 1..38
    FZ_TYPE_DATE,
    FZ_TYPE_TIME, // microseconds of the day
    FZ_TYPE_TIMESTAMP, // microseconds, no zone (Spark TIMESTAMP_NTZ)
    FZ_TYPE_TIMESTAMPTZ, // microseconds, UTC (Spark TIMESTAMP)
    FZ_TYPE_TIMESTAMP_NS,
    FZ_TYPE_TIMESTAMPTZ_NS,
    FZ_TYPE_STRING,
    FZ_TYPE_UUID,
    FZ_TYPE_FIXED, // length
    FZ_TYPE_BINARY,
    FZ_TYPE_STRUCT, // fields
    FZ_TYPE_LIST, // fields[0] = element
    FZ_TYPE_MAP, // fields[0] = key (required), fields[1] = value
    FZ_TYPE_UNKNOWN, // v3; also the type of a bare SQL NULL
    FZ_TYPE_VARIANT,
    FZ_TYPE_GEOMETRY,
    FZ_TYPE_GEOGRAPHY,
    // SQL expressions only, never in a table schema:
    FZ_TYPE_BYTE, // TINYINT
    FZ_TYPE_SHORT, // SMALLINT
    FZ_TYPE_INTERVAL_DT, // day-time, microseconds; precision/scale = first/last field (0 day .. 3 second)
    FZ_TYPE_INTERVAL_YM, // year-month, months; precision/scale = first/last field (0 year, 1 month)
    FZ_TYPE_INTERVAL_CAL, // make_interval(): months, days, micros; only as an operand of + and -
};

struct fz_value;
struct fz_type;

struct fz_field {
    int32_t id; // Iceberg field id; 0 where SQL made the field
    const char *name; // as written; compare with fz_strcasecmp in SQL
    bool required;
    const struct fz_type *type;
    const char *doc; // NULL when none
    const struct fz_value *initial_default; // NULL when none (data/value.h)
    const struct fz_value *write_default;
};

struct fz_type {
    enum fz_type_id id;
    int precision, scale; // decimal; intervals
    int length; // fixed
    size_t n_fields; // struct: any; list: 1; map: 2; else 0
    const struct fz_field *fields;
    const char *params; // geometry, geography: what stands in the parentheses ("srid:4326"); NULL: the defaults
};

// Shared instances for types without parameters; NULL for decimal, fixed, struct, list and map. Geometry and geography come
// with default parameters, intervals with their widest range of fields.
const struct fz_type *fz_type_primitive(enum fz_type_id id);
// Built in an arena; NULL only when out of memory.
const struct fz_type *fz_type_decimal(struct fz_arena *arena, int precision, int scale);
const struct fz_type *fz_type_fixed(struct fz_arena *arena, int length);
const struct fz_type *fz_type_struct(struct fz_arena *arena, const struct fz_field *fields,
                                     size_t n); // copies the array
const struct fz_type *fz_type_list(struct fz_arena *arena, int32_t element_id, bool element_required,
                                   const struct fz_type *element);
const struct fz_type *fz_type_map(struct fz_arena *arena, int32_t key_id, const struct fz_type *key, int32_t value_id,
                                  bool value_required, const struct fz_type *value);
const struct fz_type *fz_type_copy(struct fz_arena *arena, const struct fz_type *type); // deep

bool fz_type_is_primitive(const struct fz_type *type); // not struct, list, map
bool fz_type_is_numeric(const struct fz_type *type); // byte, short, int, long, float, double, decimal
bool fz_type_is_integer(const struct fz_type *type); // byte, short, int, long
// Structural equality; `with_names`: struct field names (case-sensitively) count, `with_ids`: field ids count. With both, it is
// equality of schemas: whether fields are required, their docs and their defaults count too.
bool fz_type_equal(const struct fz_type *a, const struct fz_type *b, bool with_names, bool with_ids);
// Iceberg's spelling: "decimal(9, 2)" as Java writes it into JSON, "fixed[16]", "timestamptz", "struct<1: a: optional int>".
void fz_type_print(struct fz_buf *out, const struct fz_type *type);
// Spark's spelling for people and DESCRIBE: "decimal(9,2)", "bigint", "timestamp", "timestamp_ntz", "array<int>", "struct<a:int>".
void fz_type_print_sql(struct fz_buf *out, const struct fz_type *type);
// Parses Iceberg's primitive spelling, blanks allowed inside parameters. SCHEMA_MISMATCH names the text when unknown.
enum fz_code fz_type_parse(struct fz_arena *arena, struct fz_str text, const struct fz_type **out, struct fz_err *err);

#endif
