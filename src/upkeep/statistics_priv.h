// Shared by the two kinds of statistics files.
#ifndef FZ_UPKEEP_STATISTICS_PRIV_H
#define FZ_UPKEEP_STATISTICS_PRIV_H

#include "table/update.h"
#include "upkeep/statistics.h"

// Where a metadata file of the table goes, in the arena; NULL: out of memory.
const char *fz_statistics_path(struct fz_arena *arena, const struct fz_metadata *m, const char *file_name);
// Names the file in the table's metadata (`kind`: SET_STATISTICS or SET_PARTITION_STATISTICS); removes the file when that fails.
enum fz_code fz_statistics_publish(const struct fz_statistics_request *request, enum fz_update_kind kind,
                                   const char *json, const char *location, struct fz_err *err);

#endif
