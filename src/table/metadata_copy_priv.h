// A new, changeable metadata document as a deep copy of another; update.c and create.c finish it.
#ifndef FZ_TABLE_METADATA_COPY_PRIV_H
#define FZ_TABLE_METADATA_COPY_PRIV_H

#include "table/metadata.h"

// `base` NULL: an empty document. Every array gets room for `extra` more items. Reference count 1, no metadata_location.
enum fz_code fz_metadata_copy(const struct fz_metadata *base, size_t extra, struct fz_metadata **out,
                              struct fz_err *err);
// Deep copies of parts into `arena`.
enum fz_code fz_schema_copy(struct fz_arena *arena, const struct fz_schema *in, struct fz_schema *out,
                            struct fz_err *err);
enum fz_code fz_spec_copy(struct fz_arena *arena, const struct fz_partition_spec *in, struct fz_partition_spec *out,
                          struct fz_err *err);
enum fz_code fz_sort_order_copy(struct fz_arena *arena, const struct fz_sort_order *in, struct fz_sort_order *out,
                                struct fz_err *err);
enum fz_code fz_snapshot_copy(struct fz_arena *arena, const struct fz_snapshot *in, struct fz_snapshot *out,
                              struct fz_err *err);
enum fz_code fz_ref_copy(struct fz_arena *arena, const struct fz_snapshot_ref *in, struct fz_snapshot_ref *out,
                         struct fz_err *err);
enum fz_code fz_text_copy(struct fz_arena *arena, const char *in, const char **out,
                          struct fz_err *err); // NULL stays NULL
int32_t fz_type_max_field_id(const struct fz_type *type); // 0 when there are none

#endif
