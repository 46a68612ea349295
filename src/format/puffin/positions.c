// A set of row positions: one 32-bit Roaring bitmap for each 2^32 positions, in a sorted array (nearly always one part).
#include "format/puffin/puffin_priv.h"

static const int64_t MAX_RANGE = (int64_t)1 << 38; // rows no file has; keeps a wrong range from eating all memory

enum fz_code fz_positions_new(struct fz_positions **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_NEW(*out, err);
out:
    return rc;
}

void fz_positions_free(struct fz_positions *p) {
    if (p == NULL) {
        return;
    }
    for (size_t i = 0; i < p->n_parts; i++) {
        roaring_bitmap_free(p->parts[i].bitmap);
    }
    fz_free(p->parts);
    fz_free(p);
}

// Index of the first part with a key >= `key`.
static size_t lower_part(const struct fz_positions *p, uint32_t key) {
    size_t lo = 0, hi = p->n_parts;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (p->parts[mid].key < key) {
            lo = mid + 1;
        } else {
            hi = mid;
        }
    }
    return lo;
}

static const roaring_bitmap_t *find_part(const struct fz_positions *p, uint32_t key) {
    size_t at = lower_part(p, key);
    return at < p->n_parts && p->parts[at].key == key ? p->parts[at].bitmap : NULL;
}

static enum fz_code insert_part(struct fz_positions *p, size_t at, uint32_t key, roaring_bitmap_t *bitmap,
                                struct fz_err *err) {
    if (bitmap == NULL) {
        return fz_fail_nomem(err, 64);
    }
    enum fz_code rc = fz_grow((void **)&p->parts, &p->cap, p->n_parts + 1, sizeof *p->parts, err);
    if (rc != FZ_OK) {
        roaring_bitmap_free(bitmap);
        return rc;
    }
    memmove(p->parts + at + 1, p->parts + at, (p->n_parts - at) * sizeof *p->parts);
    p->parts[at] = (struct fz_positions_part){key, bitmap};
    p->n_parts++;
    return FZ_OK;
}

enum fz_code fz_positions_append_part(struct fz_positions *p, uint32_t key, roaring_bitmap_t *bitmap,
                                      struct fz_err *err) {
    return insert_part(p, p->n_parts, key, bitmap, err);
}

static enum fz_code part_for(struct fz_positions *p, uint32_t key, roaring_bitmap_t **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (p->last >= p->n_parts || p->parts[p->last].key != key) {
        size_t at = lower_part(p, key);
        if (at == p->n_parts || p->parts[at].key != key) {
            FZ_TRY(insert_part(p, at, key, roaring_bitmap_create(), err));
        }
        p->last = at;
    }
    *out = p->parts[p->last].bitmap;
out:
    return rc;
}

enum fz_code fz_positions_add(struct fz_positions *p, int64_t pos, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    roaring_bitmap_t *bitmap = NULL;
    if (pos < 0) {
        return fz_fail(err, FZ_INVALID_ARG, "row position %lld is negative", (long long)pos);
    }
    FZ_TRY(part_for(p, (uint32_t)(pos >> 32), &bitmap, err));
    roaring_bitmap_add(bitmap, (uint32_t)pos);
out:
    return rc;
}

enum fz_code fz_positions_add_range(struct fz_positions *p, int64_t from, int64_t to_exclusive, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (from < 0 || to_exclusive < from) {
        return fz_fail(err, FZ_INVALID_ARG, "row positions %lld to %lld are no range", (long long)from,
                       (long long)to_exclusive);
    }
    if (to_exclusive - from > MAX_RANGE) {
        return fz_fail(err, FZ_LIMIT, "a range of %lld row positions is more than one file can have",
                       (long long)(to_exclusive - from));
    }
    while (from < to_exclusive) {
        roaring_bitmap_t *bitmap = NULL;
        FZ_TRY(part_for(p, (uint32_t)(from >> 32), &bitmap, err));
        int64_t last = from | UINT32_MAX; // last position of the part
        last = last < to_exclusive - 1 ? last : to_exclusive - 1;
        roaring_bitmap_add_range_closed(bitmap, (uint32_t)from, (uint32_t)last);
        if (last == INT64_MAX) {
            break;
        }
        from = last + 1;
    }
out:
    return rc;
}

enum fz_code fz_positions_union(struct fz_positions *into, const struct fz_positions *other, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < other->n_parts; i++) {
        const struct fz_positions_part *part = &other->parts[i];
        size_t at = lower_part(into, part->key);
        if (at < into->n_parts && into->parts[at].key == part->key) {
            if (into->parts[at].bitmap != part->bitmap) {
                roaring_bitmap_or_inplace(into->parts[at].bitmap, part->bitmap);
            }
        } else {
            FZ_TRY(insert_part(into, at, part->key, roaring_bitmap_copy(part->bitmap), err));
        }
    }
out:
    return rc;
}

bool fz_positions_contains(const struct fz_positions *p, int64_t pos) {
    const roaring_bitmap_t *bitmap = pos < 0 ? NULL : find_part(p, (uint32_t)(pos >> 32));
    return bitmap != NULL && roaring_bitmap_contains(bitmap, (uint32_t)pos);
}

bool fz_positions_any(const struct fz_positions *p, int64_t from, int64_t n) {
    if (n <= 0) {
        return false;
    }
    from = from < 0 ? 0 : from;
    int64_t last;
    if (__builtin_add_overflow(from, n - 1, &last)) {
        last = INT64_MAX;
    }
    for (size_t i = lower_part(p, (uint32_t)(from >> 32)); i < p->n_parts; i++) {
        int64_t base = (int64_t)p->parts[i].key << 32;
        if (base > last) {
            return false;
        }
        uint32_t low = base < from ? (uint32_t)from : 0;
        roaring_uint32_iterator_t it;
        roaring_init_iterator(p->parts[i].bitmap, &it);
        if (it.has_value && roaring_move_uint32_iterator_equalorlarger(&it, low)) {
            return base + it.current_value <= last;
        }
    }
    return false;
}

size_t fz_positions_within(const struct fz_positions *p, int64_t from, uint32_t n, uint32_t *out) {
    size_t found = 0;
    if (n == 0 || from < 0 || from > INT64_MAX - (int64_t)(n - 1)) {
        return 0;
    }
    int64_t last = from + (int64_t)(n - 1);
    for (size_t i = lower_part(p, (uint32_t)(from >> 32)); i < p->n_parts; i++) {
        int64_t base = (int64_t)p->parts[i].key << 32;
        if (base > last) {
            break;
        }
        roaring_uint32_iterator_t it;
        roaring_init_iterator(p->parts[i].bitmap, &it);
        if (!it.has_value || !roaring_move_uint32_iterator_equalorlarger(&it, base < from ? (uint32_t)from : 0)) {
            continue;
        }
        for (; it.has_value && base + it.current_value <= last; roaring_advance_uint32_iterator(&it)) {
            out[found++] = (uint32_t)(base + it.current_value - from);
        }
    }
    return found;
}

int64_t fz_positions_count(const struct fz_positions *p) {
    uint64_t n = 0;
    for (size_t i = 0; i < p->n_parts; i++) {
        n += roaring_bitmap_get_cardinality(p->parts[i].bitmap);
    }
    return (int64_t)n;
}

enum fz_code fz_positions_each(const struct fz_positions *p,
                               enum fz_code (*fn)(void *ctx, int64_t pos, struct fz_err *err), void *ctx,
                               struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    uint32_t block[512];
    for (size_t i = 0; i < p->n_parts; i++) {
        int64_t base = (int64_t)p->parts[i].key << 32;
        roaring_uint32_iterator_t it;
        roaring_init_iterator(p->parts[i].bitmap, &it);
        uint32_t n;
        while ((n = roaring_read_uint32_iterator(&it, block, 512)) > 0) {
            for (uint32_t j = 0; j < n; j++) {
                FZ_TRY(fn(ctx, base + block[j], err));
            }
        }
    }
out:
    return rc;
}
