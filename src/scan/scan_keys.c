// Implementation of scan/scan_keys.h. Integers (and what is stored as such) are kept as numbers: a bitmap of chunks over their range
// when keys lie close together somewhere, else a hash table; sorted besides, to ask for ranges. Everything else is kept as 64-bit hashes. When
// the budget refuses the list, a bloom filter of a fixed size takes over.
#include "scan/scan_keys.h"

#include "scan/scan_keys_priv.h"

enum {
    BLOOM_BYTES = 16 << 20,
    BLOOM_MIN_BYTES = 64 << 10,
    SMALL_BITMAP_BYTES = 4 << 20,
    MAX_KEYS = 1 << 28,
};

// ---- types

static bool is_integer_like(const struct fz_type *type) {
    switch (type->id) {
    case FZ_TYPE_BYTE:
    case FZ_TYPE_SHORT:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
    case FZ_TYPE_DATE:
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
    case FZ_TYPE_TIMESTAMP_NS:
    case FZ_TYPE_TIMESTAMPTZ_NS:
        return true;
    case FZ_TYPE_DECIMAL:
        return type->precision <= 18;
    default:
        return false;
    }
}

bool fz_scan_key_type_ok(const struct fz_type *type, const struct fz_type *value_type) {
    if (fz_type_is_integer(type) && fz_type_is_integer(value_type)) {
        return true;
    }
    bool known = is_integer_like(type) || fz_scan_key_is_text(type) || type->id == FZ_TYPE_UUID ||
                 type->id == FZ_TYPE_DECIMAL || type->id == FZ_TYPE_FLOAT || type->id == FZ_TYPE_DOUBLE;
    return known && fz_type_equal(type, value_type, false, false);
}

// ---- keys that do not fit the budget

static bool take(struct fz_scan_keys *keys, size_t bytes) {
    if (bytes > INT64_MAX / 2 || !fz_budget_take(keys->budget, (int64_t)bytes)) {
        return false;
    }
    keys->taken_bytes += (int64_t)bytes;
    return true;
}

static void give(struct fz_scan_keys *keys, size_t bytes) {
    fz_budget_give(keys->budget, (int64_t)bytes);
    keys->taken_bytes -= (int64_t)bytes;
}

// The list goes, a bloom filter comes; without room for that only the range is left.
static void fall_back(struct fz_scan_keys *keys, struct fz_scan_key *key) {
    for (size_t bytes = BLOOM_BYTES; bytes >= BLOOM_MIN_BYTES && key->bloom == NULL; bytes /= 4) {
        if (take(keys, bytes)) {
            key->bloom = fz_calloc(bytes / 4, 4);
            key->n_blocks = bytes / (4 * FZ_KEY_BLOOM_WORDS);
        }
    }
    key->form = key->bloom != NULL ? FORM_BLOOM : FORM_RANGE;
    for (size_t i = 0; key->bloom != NULL && i < key->n_list; i++) {
        fz_scan_key_bloom_add(key, key->list[i]);
    }
    give(keys, key->cap_list * sizeof *key->list);
    fz_free(key->list);
    key->list = NULL;
    key->n_list = key->cap_list = 0;
}

// ---- building

enum fz_code fz_scan_keys_new(const struct fz_scan_key_column *columns, size_t n, struct fz_budget *budget,
                              struct fz_scan_keys **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_scan_keys *keys;
    if (n == 0 || n > FZ_SCAN_MAX_KEYS) {
        return fz_fail(err, FZ_INVALID_ARG, "%zu key columns; there may be 1 to %d", n, FZ_SCAN_MAX_KEYS);
    }
    FZ_NEW(keys, err);
    keys->refs = 1;
    keys->n = n;
    keys->budget = budget;
    pthread_mutex_init(&keys->lock, NULL);
    for (size_t i = 0; i < n; i++) {
        keys->columns[i] =
            (struct fz_scan_key){.c = columns[i], .form = FORM_TABLE, .min = INT64_MAX, .max = INT64_MIN};
        keys->columns[i].is_integer = is_integer_like(columns[i].value_type);
    }
    *out = keys;
out:
    return rc;
}

struct fz_scan_keys *fz_scan_keys_ref(struct fz_scan_keys *keys) {
    atomic_fetch_add(&keys->refs, 1);
    return keys;
}

void fz_scan_keys_unref(struct fz_scan_keys *keys) {
    if (keys == NULL || atomic_fetch_sub(&keys->refs, 1) != 1) {
        return;
    }
    for (size_t i = 0; i < keys->n; i++) {
        struct fz_scan_key *key = &keys->columns[i];
        fz_buf_dispose(&key->lo);
        fz_buf_dispose(&key->hi);
        fz_free(key->list);
        fz_free(key->chunks);
        fz_free(key->bits);
        fz_free(key->slots);
        fz_free(key->marks);
        fz_free(key->bloom);
    }
    fz_budget_give(keys->budget, keys->taken_bytes);
    pthread_mutex_destroy(&keys->lock);
    fz_free(keys);
}

static void set_bytes(struct fz_buf *buf, const struct fz_string *s) {
    fz_buf_clear(buf);
    fz_buf_reserve(buf, 1); // an empty text is a bound too
    fz_buf_append(buf, fz_string_ptr(s), s->length);
}

static enum fz_code widen_text(struct fz_scan_key *key, const struct fz_column *column, size_t n, struct fz_err *err) {
    const struct fz_string *s = column->data;
    for (size_t i = 0; i < n; i++) {
        if (!fz_column_is_valid(column, i)) {
            continue;
        }
        const char *p = fz_string_ptr(&s[i]);
        if (key->lo.ptr == NULL || fz_scan_key_compare_bytes(p, s[i].length, key->lo.ptr, key->lo.len) < 0) {
            set_bytes(&key->lo, &s[i]);
        }
        if (key->hi.ptr == NULL || fz_scan_key_compare_bytes(p, s[i].length, key->hi.ptr, key->hi.len) > 0) {
            set_bytes(&key->hi, &s[i]);
        }
    }
    enum fz_code rc = fz_buf_check(&key->lo, err);
    return rc == FZ_OK ? fz_buf_check(&key->hi, err) : rc;
}

// Room for `more` further entries; without it the fallback is in place afterwards.
static void make_room(struct fz_scan_keys *keys, struct fz_scan_key *key, size_t more) {
    if (key->form != FORM_TABLE || key->n_list + more <= key->cap_list) {
        return;
    }
    size_t cap = key->cap_list * 2 > 4096 ? key->cap_list * 2 : 4096;
    size_t added = (cap - key->cap_list) * sizeof *key->list;
    if (cap > MAX_KEYS || !take(keys, added)) {
        fall_back(keys, key);
        return;
    }
    int64_t *list = fz_realloc(key->list, cap * sizeof *list);
    if (list == NULL) {
        give(keys, added);
        fall_back(keys, key);
        return;
    }
    key->list = list;
    key->cap_list = cap;
}

static enum fz_code add_column(struct fz_scan_keys *keys, struct fz_scan_key *key, const struct fz_column *column,
                               size_t n, struct fz_err *err) {
    int64_t values[FZ_BATCH_ROWS];
    size_t m = 0;
    fz_scan_key_canonical(key, column, n, values);
    for (size_t i = 0; i < n; i++) {
        values[m] = values[i];
        m += fz_column_is_valid(column, i);
    }
    for (size_t i = 0; i < m && key->is_integer; i++) {
        key->min = values[i] < key->min ? values[i] : key->min;
        key->max = values[i] > key->max ? values[i] : key->max;
    }
    key->n_values += (int64_t)m;
    key->n_nulls += (int64_t)(n - m);
    make_room(keys, key, m);
    if (key->form == FORM_TABLE && m > 0) { // the list may not exist yet
        memcpy(key->list + key->n_list, values, m * sizeof *values);
        key->n_list += m;
    }
    for (size_t i = 0; i < m && key->form == FORM_BLOOM; i++) {
        fz_scan_key_bloom_add(key, values[i]);
    }
    return fz_scan_key_is_text(key->c.value_type) ? widen_text(key, column, n, err) : FZ_OK;
}

enum fz_code fz_scan_keys_add(struct fz_scan_keys *keys, const struct fz_batch *batch, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    pthread_mutex_lock(&keys->lock);
    if (keys->sealed || batch->n_columns != keys->n || batch->n_rows > FZ_BATCH_ROWS) {
        rc = fz_fail(err, FZ_BUG, "keys of %zu columns cannot be added", batch->n_columns);
    }
    for (size_t i = 0; i < keys->n && rc == FZ_OK; i++) {
        rc = add_column(keys, &keys->columns[i], &batch->columns[i], batch->n_rows, err);
    }
    keys->n_rows += (int64_t)batch->n_rows;
    pthread_mutex_unlock(&keys->lock);
    return rc;
}

// Sorts by the bytes in which the values differ, lowest first; then drops repeated ones.
static void sort_distinct(struct fz_scan_key *key, int64_t *scratch) {
    uint64_t range = (uint64_t)key->max - (uint64_t)key->min;
    int64_t *from = key->list, *to = scratch;
    for (unsigned shift = 0; shift < 64 && range >> shift > 0; shift += 8) {
        size_t starts[257] = {0};
        for (size_t i = 0; i < key->n_list; i++) {
            starts[(((uint64_t)from[i] - (uint64_t)key->min) >> shift & 255) + 1]++;
        }
        for (size_t b = 0; b < 256; b++) {
            starts[b + 1] += starts[b];
        }
        for (size_t i = 0; i < key->n_list; i++) {
            to[starts[((uint64_t)from[i] - (uint64_t)key->min) >> shift & 255]++] = from[i];
        }
        int64_t *swap = from;
        from = to;
        to = swap;
    }
    size_t n = 0;
    for (size_t i = 0; i < key->n_list; i++) { // writing never overtakes reading
        if (n == 0 || key->list[n - 1] != from[i]) {
            key->list[n++] = from[i];
        }
    }
    key->n_list = n;
}

static bool build_bitmap(struct fz_scan_keys *keys, struct fz_scan_key *key) {
    uint64_t base = (uint64_t)key->min, range = (uint64_t)key->max - base, n_places = (range >> FZ_KEY_CHUNK_SHIFT) + 1;
    size_t most = key->n_list * 32 > SMALL_BITMAP_BYTES ? key->n_list * 32 : SMALL_BITMAP_BYTES, n_chunks = 1;
    uint64_t last = UINT64_MAX;
    for (size_t i = 0; i < key->n_list; i++) { // sorted
        uint64_t place = ((uint64_t)key->list[i] - base) >> FZ_KEY_CHUNK_SHIFT;
        n_chunks += place != last;
        last = place;
    }
    if (n_places > most / 4 || n_chunks > most / (FZ_KEY_CHUNK_WORDS * 8) ||
        !take(keys, (size_t)n_places * 4 + n_chunks * FZ_KEY_CHUNK_WORDS * 8)) {
        return false;
    }
    key->chunks = fz_calloc((size_t)n_places, sizeof *key->chunks);
    key->bits = fz_calloc(n_chunks * FZ_KEY_CHUNK_WORDS, sizeof *key->bits);
    if (key->chunks == NULL || key->bits == NULL) { // what was taken goes back with the keys
        return false;
    }
    n_chunks = 1;
    for (size_t i = 0; i < key->n_list; i++) {
        uint64_t d = (uint64_t)key->list[i] - base;
        uint32_t *chunk = &key->chunks[d >> FZ_KEY_CHUNK_SHIFT];
        *chunk = *chunk != 0 ? *chunk : (uint32_t)n_chunks++;
        key->bits[(size_t)*chunk * FZ_KEY_CHUNK_WORDS + (d >> 6) % FZ_KEY_CHUNK_WORDS] |= (uint64_t)1 << (d & 63);
    }
    key->form = FORM_BITMAP;
    return true;
}

// Nearly all rows have no key. Probing the table for them goes wrong in its branches; one bit says it without any.
static void build_marks(struct fz_scan_keys *keys, struct fz_scan_key *key) {
    unsigned log_bits = 16;
    while (log_bits < 27 && (size_t)1 << log_bits < key->n_list * 16) {
        log_bits++;
    }
    size_t words = ((size_t)1 << log_bits) / 64;
    key->marks = take(keys, words * 8) ? fz_calloc(words, 8) : NULL;
    key->mark_shift = 64 - log_bits;
    for (size_t i = 0; key->marks != NULL && i < key->n_list; i++) {
        uint64_t m = fz_scan_key_mark(key, (uint64_t)key->list[i]);
        key->marks[m >> 6] |= (uint64_t)1 << (m & 63);
    }
}

static void build_table(struct fz_scan_keys *keys, struct fz_scan_key *key) {
    size_t slots = 64;
    while (slots < key->n_list * 2) {
        slots *= 2;
    }
    key->slots = take(keys, slots * 8) ? fz_calloc(slots, 8) : NULL;
    if (key->slots == NULL) { // what was taken goes back with the keys
        fall_back(keys, key);
        return;
    }
    key->slot_mask = slots - 1;
    key->n_distinct = 0;
    for (size_t i = 0; i < key->n_list; i++) {
        uint64_t v = (uint64_t)key->list[i];
        if (v == 0) {
            key->n_distinct += !key->has_zero;
            key->has_zero = true;
            continue;
        }
        size_t at = fz_scan_key_mix(v) & key->slot_mask;
        while (key->slots[at] != 0 && key->slots[at] != v) {
            at = (at + 1) & key->slot_mask;
        }
        key->n_distinct += key->slots[at] == 0;
        key->slots[at] = v;
    }
    build_marks(keys, key);
}

enum fz_code fz_scan_keys_seal(struct fz_scan_keys *keys, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    (void)err;
    for (size_t i = 0; i < keys->n; i++) {
        struct fz_scan_key *key = &keys->columns[i];
        key->n_distinct = -1;
        if (key->form != FORM_TABLE) {
            continue;
        }
        if (key->is_integer && key->n_list > 0) {
            size_t bytes = key->n_list * sizeof *key->list;
            int64_t *scratch = take(keys, bytes) ? fz_malloc(bytes) : NULL;
            if (scratch == NULL) {
                fall_back(keys, key);
                continue;
            }
            sort_distinct(key, scratch);
            fz_free(scratch);
            give(keys, bytes);
            key->n_distinct = (int64_t)key->n_list;
            if (build_bitmap(keys, key)) {
                continue;
            }
        }
        build_table(keys, key);
    }
    keys->sealed = true;
    return rc;
}
