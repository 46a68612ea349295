// Implementation of base/map.h: linear probing over indexes into an entry array.
#include "base/map.h"

#include "base/hash.h"

void fz_map_dispose(struct fz_map *map) {
    fz_arena_dispose(&map->keys);
    fz_free(map->entries);
    fz_free(map->slots);
    *map = (struct fz_map){0};
}

static struct fz_map_entry *lookup(const struct fz_map *map, struct fz_str key, uint64_t hash) {
    if (map->n_slots == 0) {
        return NULL;
    }
    for (size_t i = hash & (map->n_slots - 1);; i = (i + 1) & (map->n_slots - 1)) {
        uint32_t slot = map->slots[i];
        if (slot == 0) {
            return NULL;
        }
        struct fz_map_entry *e = &map->entries[slot - 1];
        if (e->hash == hash && fz_str_eq(e->key, key)) {
            return e;
        }
    }
}

struct fz_map_entry *fz_map_find(const struct fz_map *map, struct fz_str key) {
    struct fz_map_entry *e = lookup(map, key, fz_hash64(key.ptr, key.len, 0));
    return e != NULL && !e->removed ? e : NULL;
}

static enum fz_code rehash(struct fz_map *map, size_t n_slots, struct fz_err *err) {
    uint32_t *slots = fz_calloc(n_slots, sizeof *slots);
    if (slots == NULL) {
        return fz_fail_nomem(err, n_slots * sizeof *slots);
    }
    for (size_t e = 0; e < map->n_entries; e++) {
        size_t i = map->entries[e].hash & (n_slots - 1);
        while (slots[i] != 0) {
            i = (i + 1) & (n_slots - 1);
        }
        slots[i] = (uint32_t)e + 1;
    }
    fz_free(map->slots);
    map->slots = slots;
    map->n_slots = n_slots;
    return FZ_OK;
}

enum fz_code fz_map_put(struct fz_map *map, struct fz_str key, struct fz_map_entry **out, bool *added,
                        struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    uint64_t hash = fz_hash64(key.ptr, key.len, 0);
    struct fz_map_entry *e = lookup(map, key, hash);
    bool fresh = e == NULL || e->removed;
    if (e == NULL) {
        if ((map->n_entries + 1) * 2 > map->n_slots) {
            FZ_TRY(rehash(map, map->n_slots == 0 ? 16 : map->n_slots * 2, err));
        }
        FZ_TRY(fz_grow((void **)&map->entries, &map->cap, map->n_entries + 1, sizeof *map->entries, err));
        char *copy = fz_arena_strndup(&map->keys, key.ptr, key.len);
        if (copy == NULL) {
            return fz_fail_nomem(err, key.len);
        }
        e = &map->entries[map->n_entries++];
        *e = (struct fz_map_entry){.key = {copy, key.len}, .hash = hash};
        size_t i = hash & (map->n_slots - 1);
        while (map->slots[i] != 0) {
            i = (i + 1) & (map->n_slots - 1);
        }
        map->slots[i] = (uint32_t)map->n_entries;
    } else if (fresh) {
        e->removed = false;
        e->value.i64 = 0;
    }
    map->n_live += fresh;
    *out = e;
    if (added != NULL) {
        *added = fresh;
    }
out:
    return rc;
}

bool fz_map_remove(struct fz_map *map, struct fz_str key) {
    struct fz_map_entry *e = fz_map_find(map, key);
    if (e == NULL) {
        return false;
    }
    e->removed = true;
    map->n_live--;
    return true;
}

struct fz_map_entry *fz_map_next(const struct fz_map *map, const struct fz_map_entry *after) {
    for (size_t i = after == NULL ? 0 : (size_t)(after - map->entries) + 1; i < map->n_entries; i++) {
        if (!map->entries[i].removed) {
            return &map->entries[i];
        }
    }
    return NULL;
}
