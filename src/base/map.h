// Hash map from bytes to a pointer-sized value. Keys are copied into the map's arena. Iteration is in insertion order.
#ifndef FZ_BASE_MAP_H
#define FZ_BASE_MAP_H

#include "base/mem.h"

struct fz_map_entry {
    struct fz_str key;
    uint64_t hash;
    union {
        void *ptr;
        int64_t i64;
    } value;
    bool removed;
};
struct fz_map { // a zeroed struct is an empty map
    struct fz_arena keys;
    struct fz_map_entry *entries;
    size_t n_entries, cap, n_live;
    uint32_t *slots; // 0 = empty, else entry index + 1
    size_t n_slots;
};
void fz_map_dispose(struct fz_map *map);
struct fz_map_entry *fz_map_find(const struct fz_map *map, struct fz_str key); // NULL when absent
// Finds or adds; `*added` (may be NULL) says which. The returned pointer is valid until the next put.
enum fz_code fz_map_put(struct fz_map *map, struct fz_str key, struct fz_map_entry **out, bool *added,
                        struct fz_err *err);
bool fz_map_remove(struct fz_map *map, struct fz_str key);
// for (struct fz_map_entry *e = NULL; (e = fz_map_next(map, e)) != NULL;)
struct fz_map_entry *fz_map_next(const struct fz_map *map, const struct fz_map_entry *after);

#endif
