// Inside of the metadata tables: metadata_tables.c says which there are and their columns, metadata_rows.c makes their rows.
#ifndef FZ_ENGINE_METADATA_TABLES_PRIV_H
#define FZ_ENGINE_METADATA_TABLES_PRIV_H

#include "engine/engine_priv.h"

// A column's leaf with its dotted name (`a.element`, `m.key`, …).
struct fz_metadata_leaf {
    const char *name;
    const struct fz_field *field;
};

bool fz_metadata_is_files(const char *name); // files and its kin
bool fz_metadata_is_entries(const char *name);
// The type of readable_metrics: a member for each leaf of the schema, in name order; and the leaves.
enum fz_code fz_metadata_metrics_type(struct fz_arena *arena, const struct fz_schema *schema,
                                      struct fz_metadata_leaf **leaves, size_t *n_leaves, const struct fz_type **out,
                                      struct fz_err *err);
// The rows of any metadata table but position_deletes.
enum fz_code fz_metadata_rows(struct fz_engine *e, const struct fz_engine_table *t, const struct fz_field *fields,
                              size_t n, struct fz_rows *out, struct fz_err *err);

#endif
