// What a sealed key set (scan/scan_keys.h) is asked: whether a value, a range, rows of a batch have a key.
#include "scan/scan_keys_priv.h"

size_t fz_scan_keys_count(const struct fz_scan_keys *keys) {
    return keys->n;
}

const struct fz_scan_key_column *fz_scan_keys_column(const struct fz_scan_keys *keys, size_t i) {
    return &keys->columns[i].c;
}

int64_t fz_scan_keys_rows(const struct fz_scan_keys *keys) {
    return keys->n_rows;
}

bool fz_scan_keys_are_hashes(const struct fz_scan_keys *keys, size_t i) {
    return !keys->columns[i].is_integer;
}

void fz_scan_keys_facts(const struct fz_scan_keys *keys, size_t i, struct fz_scan_key_facts *out) {
    static const char *const forms[] = {"range", "bitmap", "hash table", "bloom filter"};
    const struct fz_scan_key *key = &keys->columns[i];
    *out = (struct fz_scan_key_facts){
        .n_values = key->n_values, .n_nulls = key->n_nulls, .n_distinct = key->n_distinct, .form = forms[key->form]};
    out->min.type = out->max.type = key->c.value_type;
    if (key->n_values == 0) {
        return;
    }
    if (key->is_integer) {
        out->has_range = true;
        out->sorted = key->list;
        if (key->c.value_type->id == FZ_TYPE_DECIMAL) {
            out->min.u.i128 = fz_i128_of(key->min);
            out->max.u.i128 = fz_i128_of(key->max);
        } else {
            out->min.u.i64 = key->min;
            out->max.u.i64 = key->max;
        }
    } else if (fz_scan_key_is_text(key->c.value_type)) {
        out->has_range = true;
        out->min.u.bytes = (struct fz_str){key->lo.ptr, key->lo.len};
        out->max.u.bytes = (struct fz_str){key->hi.ptr, key->hi.len};
    }
}

static inline uint64_t bit_of(const struct fz_scan_key *key, uint64_t d) {
    return key->bits[(size_t)key->chunks[d >> FZ_KEY_CHUNK_SHIFT] * FZ_KEY_CHUNK_WORDS +
                     (d >> 6) % FZ_KEY_CHUNK_WORDS] >>
               (d & 63) &
           1;
}

static bool has(const struct fz_scan_key *key, int64_t value) {
    uint64_t v = (uint64_t)value, d = v - (uint64_t)key->min;
    switch (key->form) {
    case FORM_BITMAP:
        return d <= (uint64_t)key->max - (uint64_t)key->min && bit_of(key, d);
    case FORM_TABLE: {
        if (v == 0) {
            return key->has_zero;
        }
        size_t at = fz_scan_key_mix(v) & key->slot_mask;
        while (key->slots[at] != 0 && key->slots[at] != v) {
            at = (at + 1) & key->slot_mask;
        }
        return key->slots[at] == v;
    }
    case FORM_BLOOM:
        return fz_scan_key_bloom_has(key, value);
    case FORM_RANGE:
        break;
    }
    return key->n_values > 0 && (!key->is_integer || (value >= key->min && value <= key->max));
}

static bool null_matches(const struct fz_scan_key *key) {
    return key->c.null_matches && key->n_nulls > 0;
}

bool fz_scan_keys_has(const struct fz_scan_keys *keys, size_t i, const struct fz_value *value) {
    const struct fz_scan_key *key = &keys->columns[i];
    if (value->is_null) {
        return null_matches(key);
    }
    return has(key, fz_scan_key_canonical_value(key, value));
}

// Index of the first sorted key that is not below `value`.
static size_t lower_bound(const struct fz_scan_key *key, int64_t value) {
    size_t low = 0, high = key->n_list;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (key->list[middle] < value) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool fz_scan_keys_may_lie_in(const struct fz_scan_keys *keys, size_t i, const struct fz_value *min,
                             const struct fz_value *max, int64_t value_count, int64_t null_count) {
    const struct fz_scan_key *key = &keys->columns[i];
    bool may_have_nulls = null_count != 0;
    if (null_matches(key) && may_have_nulls) {
        return true;
    }
    if (key->n_values == 0 || (value_count >= 0 && value_count == null_count)) {
        return false; // no key, or nothing but NULLs
    }
    if (min == NULL || max == NULL) {
        return true;
    }
    if (key->is_integer) {
        int64_t low = fz_scan_key_canonical_value(key, min), high = fz_scan_key_canonical_value(key, max);
        if (low > key->max || high < key->min) {
            return false;
        }
        size_t at = key->list != NULL ? lower_bound(key, low) : 0;
        return key->list == NULL || (at < key->n_list && key->list[at] <= high);
    }
    if (fz_scan_key_is_text(key->c.type)) {
        return fz_scan_key_compare_bytes(min->u.bytes.ptr, min->u.bytes.len, key->hi.ptr, key->hi.len) <= 0 &&
               fz_scan_key_compare_bytes(max->u.bytes.ptr, max->u.bytes.len, key->lo.ptr, key->lo.len) >= 0;
    }
    return true;
}

size_t fz_scan_keys_list(const struct fz_scan_keys *keys, size_t i, const struct fz_value *min,
                         const struct fz_value *max, int64_t *out, size_t cap) {
    const struct fz_scan_key *key = &keys->columns[i];
    if (key->list == NULL) {
        return key->n_values == 0 ? 0 : SIZE_MAX;
    }
    size_t from = 0, to = key->n_list;
    if (key->is_integer && min != NULL && max != NULL) {
        int64_t high = fz_scan_key_canonical_value(key, max);
        from = lower_bound(key, fz_scan_key_canonical_value(key, min));
        to = high == INT64_MAX ? key->n_list : lower_bound(key, high + 1);
    }
    size_t n = to > from ? to - from : 0;
    memcpy(out, key->list + from, (n < cap ? n : cap) * sizeof *out);
    return n;
}

// The bits of a sorted column lie close together: no branch, hardly a cache miss.
#define FILTER_BITMAP(TYPE)                                                                                            \
    do {                                                                                                               \
        const TYPE *v = column->data;                                                                                  \
        for (size_t r = 0; r < n; r++) {                                                                               \
            uint64_t d = (uint64_t)(int64_t)v[r] - base;                                                               \
            uint64_t inside = d <= range;                                                                              \
            d = inside ? d : 0;                                                                                        \
            keep[r] &= (uint8_t)(inside & bit_of(key, d));                                                             \
        }                                                                                                              \
    } while (0)

static void filter_bitmap(const struct fz_scan_key *key, const struct fz_column *column, size_t n, uint8_t *keep) {
    uint64_t base = (uint64_t)key->min, range = (uint64_t)key->max - base;
    switch (fz_type_width(column->type)) {
    case 1:
        FILTER_BITMAP(int8_t);
        break;
    case 2:
        FILTER_BITMAP(int16_t);
        break;
    case 4:
        FILTER_BITMAP(int32_t);
        break;
    default:
        FILTER_BITMAP(int64_t);
        break;
    }
}

#define EXTREMES(TYPE)                                                                                                 \
    do {                                                                                                               \
        const TYPE *v = column->data;                                                                                  \
        TYPE lo = v[0], hi = v[0];                                                                                     \
        for (size_t r = 1; r < n; r++) {                                                                               \
            lo = v[r] < lo ? v[r] : lo;                                                                                \
            hi = v[r] > hi ? v[r] : hi;                                                                                \
        }                                                                                                              \
        min = lo;                                                                                                      \
        max = hi;                                                                                                      \
    } while (0)

// Where keys are sparse and rows are clustered by them, most batches lie between two keys: their smallest and greatest value say so
// in a fraction of the time that looking at each row takes. Rows without NULLs only.
static bool lies_between_keys(const struct fz_scan_key *key, const struct fz_column *column, size_t n) {
    int64_t min, max;
    bool sparse = key->n_list > 0 && ((uint64_t)key->max - (uint64_t)key->min) / key->n_list >= FZ_BATCH_ROWS / 2;
    if (n == 0 || !sparse || !key->is_integer || key->list == NULL) {
        return false;
    }
    switch (fz_type_width(column->type)) {
    case 4:
        EXTREMES(int32_t);
        break;
    case 8:
        EXTREMES(int64_t);
        break;
    default:
        return false;
    }
    size_t at = lower_bound(key, min);
    return at == key->n_list || key->list[at] > max;
}

size_t fz_scan_keys_filter(const struct fz_scan_keys *keys, size_t i, const struct fz_column *column, size_t n,
                           uint8_t *keep) {
    const struct fz_scan_key *key = &keys->columns[i];
    uint8_t null_keep = null_matches(key);
    size_t left = 0;
    if (column->validity == NULL && lies_between_keys(key, column, n)) {
        memset(keep, 0, n);
        return 0;
    }
    if (key->form == FORM_BITMAP && column->validity == NULL) {
        filter_bitmap(key, column, n, keep);
    } else {
        int64_t values[FZ_BATCH_ROWS];
        fz_scan_key_canonical(key, column, n, values);
        for (size_t r = 0; r < n && key->marks != NULL && column->validity == NULL; r++) {
            uint64_t m = fz_scan_key_mark(key, (uint64_t)values[r]);
            keep[r] &= (uint8_t)(key->marks[m >> 6] >> (m & 63) & 1);
        }
        for (size_t r = 0; r < n; r++) {
            if (keep[r]) {
                keep[r] = fz_column_is_valid(column, r) ? has(key, values[r]) : null_keep;
            }
        }
    }
    for (size_t r = 0; r < n; r++) {
        left += keep[r];
    }
    return left;
}
