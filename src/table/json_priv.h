// JSON in table/: typed member access with errors that name the member, and the parsers and printers of schemas, partition
// specs and sort orders, which metadata documents and manifest headers share.
#ifndef FZ_TABLE_JSON_PRIV_H
#define FZ_TABLE_JSON_PRIV_H

#include <jansson.h>

#include "table/metadata.h"

// Member access. `required` false: absent or null leaves `*out` as it is. CORRUPT names `key`.
enum fz_code fz_metadata_json_i64(const json_t *object, const char *key, bool required, int64_t *out,
                                  struct fz_err *err);
enum fz_code fz_metadata_json_i32(const json_t *object, const char *key, bool required, int32_t *out,
                                  struct fz_err *err);
enum fz_code fz_metadata_json_text(struct fz_arena *arena, const json_t *object, const char *key, bool required,
                                   const char **out, struct fz_err *err);
// An array member; `*out` NULL when absent and not required.
enum fz_code fz_metadata_json_array(const json_t *object, const char *key, bool required, const json_t **out,
                                    struct fz_err *err);
// An object of strings, in file order; `skip` (may be NULL) is left out.
enum fz_code fz_metadata_json_strings(struct fz_arena *arena, const json_t *object, const char *key, const char *skip,
                                      struct fz_property **out, size_t *n, struct fz_err *err);
enum fz_code fz_metadata_json_parse(const void *data, size_t len, json_t **out, struct fz_err *err);

// Spec appendix C. Depth-capped, ids and names checked for being unique.
enum fz_code fz_schema_from_json(struct fz_arena *arena, const json_t *json, struct fz_schema *out, struct fz_err *err);
void fz_schema_to_json(struct fz_buf *out, const struct fz_schema *schema, struct fz_err *err);
// The fields array of a partition spec. Field ids that are not written (v1) count up from 1000.
enum fz_code fz_spec_fields_from_json(struct fz_arena *arena, const json_t *fields, struct fz_partition_spec *out,
                                      struct fz_err *err);
void fz_spec_fields_to_json(struct fz_buf *out, const struct fz_partition_spec *spec);
enum fz_code fz_sort_order_from_json(struct fz_arena *arena, const json_t *json, struct fz_sort_order *out,
                                     struct fz_err *err);
void fz_sort_order_to_json(struct fz_buf *out, const struct fz_sort_order *order);
// Spec appendix C "JSON single-value serialization". CORRUPT when the text does not fit the type.
enum fz_code fz_value_from_json(struct fz_arena *arena, const struct fz_type *type, const json_t *json, int depth,
                                struct fz_value *out, struct fz_err *err);

#endif
