// Pruning by bounds (spec "Scan Planning"): can a manifest, a file or a row group hold a row for which the filter is true?
// Filters are data/expr.h trees whose columns are the table's field ids (relation 0). What is not understood never prunes.
#ifndef FZ_TABLE_PRUNE_H
#define FZ_TABLE_PRUNE_H

#include "data/expr.h"
#include "table/manifest.h"

// Field ids from here on are reserved: metadata columns, and row lineage, whose NULLs in a file stand for values that depend on the file's
// manifest entry. Bounds that a file stores of them say nothing.
enum { FZ_FIRST_RESERVED_ID = 2147483447 };

// What is known of one column in one place. min/max NULL = unknown.
struct fz_column_range {
    const struct fz_value *min, *max; // non-NULL, non-NaN values lie in [min, max]
    int64_t value_count, null_count, nan_count; // -1 unknown
};
// Gives the range of a field, or false when nothing is known.
typedef bool (*fz_range_fn)(void *ctx, int32_t field_id, const struct fz_type *type, struct fz_column_range *out);

// True unless no row can satisfy the filter. NULL filter: true.
bool fz_prune_may_match(const struct fz_expr *filter, fz_range_fn range, void *ctx);
// True when every row surely satisfies the filter (metadata-only deletes, strict projection). NULL filter: true.
bool fz_prune_all_match(const struct fz_expr *filter, fz_range_fn range, void *ctx);

// The same over a partition summary of a manifest, and over a file (partition tuple through the transforms, then column bounds).
bool fz_prune_manifest(const struct fz_expr *filter, const struct fz_metadata *metadata,
                       const struct fz_manifest_file *manifest);
bool fz_prune_file(const struct fz_expr *filter, const struct fz_metadata *metadata, const struct fz_data_file *file);
bool fz_prune_file_all(const struct fz_expr *filter, const struct fz_metadata *metadata,
                       const struct fz_data_file *file);

#endif
