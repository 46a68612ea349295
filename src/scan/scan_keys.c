// Implementation of scan/scan_keys.h. Integers (and what is stored as such) are kept as numbers: a bitmap of chunks over their range
// when keys lie close together somewhere, else a hash table; sorted besides, to ask for ranges. Everything else is kept as 64-bit hashes. When
// the budget refuses the list, a bloom filter of a fixed size takes over.
#include "scan/scan_keys.h"

#include <math.h>

#include "base/hash.h"

enum {
    BLOOM_WORDS = 8, // of 32 bits: one block
    BLOOM_BYTES = 16 << 20,
    BLOOM_MIN_BYTES = 64 << 10,
    CHUNK_SHIFT = 12,
    CHUNK_WORDS = (1 << CHUNK_SHIFT) / 64,
    SMALL_BITMAP_BYTES = 4 << 20,
    MAX_KEYS = 1 << 28,
};

enum form { FORM_RANGE, FORM_BITMAP, FORM_TABLE, FORM_BLOOM };

struct key_column {
    struct fz_scan_key_column c;
    bool is_integer;
    enum form form;
    int64_t n_values, n_nulls;
    int64_t min, max; // integers
    struct fz_buf lo, hi; // text and binary
    int64_t *list; // integers or hashes; sorted and distinct once sealed (integers), as added (hashes)
    size_t n_list, cap_list;
    int64_t n_distinct;
    uint32_t *chunks; // FORM_BITMAP: which chunk of `bits` holds the bit of value - min; 0: no key there
    uint64_t *bits; // chunks of 4,096 bits; the first is empty
    uint64_t *slots; // FORM_TABLE: 0 empty; zero itself apart
    size_t slot_mask;
    bool has_zero;
    uint64_t *marks; // in front of the table: a bit for the hash of each key, few of them set; NULL: none
    unsigned mark_shift;
    uint32_t *bloom; // FORM_BLOOM
    size_t n_blocks;
};

struct fz_scan_keys {
    _Atomic int refs;
    pthread_mutex_t lock;
    struct fz_budget *budget;
    int64_t taken_bytes;
    int64_t n_rows;
    bool sealed;
    size_t n;
    struct key_column columns[FZ_SCAN_MAX_KEYS];
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

static bool is_text(const struct fz_type *type) {
    return type->id == FZ_TYPE_STRING || type->id == FZ_TYPE_BINARY || type->id == FZ_TYPE_FIXED;
}

bool fz_scan_key_type_ok(const struct fz_type *type, const struct fz_type *value_type) {
    if (fz_type_is_integer(type) && fz_type_is_integer(value_type)) {
        return true;
    }
    bool known = is_integer_like(type) || is_text(type) || type->id == FZ_TYPE_UUID || type->id == FZ_TYPE_DECIMAL ||
                 type->id == FZ_TYPE_FLOAT || type->id == FZ_TYPE_DOUBLE;
    return known && fz_type_equal(type, value_type, false, false);
}

// ---- hashing

static inline uint64_t mix(uint64_t x) { // a permutation of 64 bits
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    x ^= x >> 32;
    x *= 0xd6e8feb86659fd93u;
    return x ^ x >> 32;
}

static uint64_t hash_wide(const struct fz_type *type, struct fz_i128 v) { // the bytes that Parquet stores, big-endian
    uint64_t flip = type->id == FZ_TYPE_UUID ? (uint64_t)1 << 63 : 0;
    uint64_t halves[2] = {__builtin_bswap64((uint64_t)v.upper ^ flip), __builtin_bswap64(v.lower)};
    return fz_hash64(halves, sizeof halves, 0);
}

// NaN equals NaN and -0.0 equals 0.0, as in SQL.
static uint64_t hash_double(double v) {
    uint64_t bits = 0x7ff8000000000000u;
    v = v == 0 ? 0.0 : v;
    if (!isnan(v)) {
        memcpy(&bits, &v, sizeof bits);
    }
    return mix(bits);
}

#define EACH_AS_INT64(TYPE)                                                                                            \
    do {                                                                                                               \
        const TYPE *v = column->data;                                                                                  \
        for (size_t i = 0; i < n; i++) {                                                                               \
            out[i] = v[i];                                                                                             \
        }                                                                                                              \
    } while (0)

// Rows [0, n) as numbers or hashes. What NULL rows get does not matter; their data are not followed.
static void canonical(const struct key_column *key, const struct fz_column *column, size_t n, int64_t *out) {
    const struct fz_type *type = column->type;
    if (key->is_integer) {
        switch (fz_type_width(type)) {
        case 1:
            EACH_AS_INT64(int8_t);
            break;
        case 2:
            EACH_AS_INT64(int16_t);
            break;
        case 4:
            EACH_AS_INT64(int32_t);
            break;
        default:
            memcpy(out, column->data, n * sizeof *out);
            break;
        }
    } else if (is_text(type)) {
        const struct fz_string *s = column->data;
        for (size_t i = 0; i < n; i++) {
            out[i] = fz_column_is_valid(column, i) ? (int64_t)fz_hash64(fz_string_ptr(&s[i]), s[i].length, 0) : 0;
        }
    } else if (type->id == FZ_TYPE_FLOAT) {
        for (size_t i = 0; i < n; i++) {
            out[i] = (int64_t)hash_double(((const float *)column->data)[i]);
        }
    } else if (type->id == FZ_TYPE_DOUBLE) {
        for (size_t i = 0; i < n; i++) {
            out[i] = (int64_t)hash_double(((const double *)column->data)[i]);
        }
    } else {
        for (size_t i = 0; i < n; i++) {
            out[i] = (int64_t)hash_wide(type, ((const struct fz_i128 *)column->data)[i]);
        }
    }
}

static int64_t canonical_value(const struct key_column *key, const struct fz_value *value) {
    const struct fz_type *type = value->type;
    if (key->is_integer) {
        return type->id == FZ_TYPE_DECIMAL ? (int64_t)fz_i128_get(value->u.i128) : value->u.i64;
    }
    if (is_text(type)) {
        return (int64_t)fz_hash64(value->u.bytes.ptr, value->u.bytes.len, 0);
    }
    if (type->id == FZ_TYPE_FLOAT || type->id == FZ_TYPE_DOUBLE) {
        return (int64_t)hash_double(type->id == FZ_TYPE_FLOAT ? (double)value->u.f32 : value->u.f64);
    }
    struct fz_i128 v = value->u.i128;
    if (type->id == FZ_TYPE_UUID) { // a value holds the plain number, a batch flips its top bit
        v.upper = (int64_t)((uint64_t)v.upper ^ (uint64_t)1 << 63);
    }
    return (int64_t)hash_wide(type, v);
}

// ---- bloom filter for keys that do not fit the budget

static const uint32_t SALT[BLOOM_WORDS] = {0x47b6137bu, 0x44974d91u, 0x8824ad5bu, 0xa2b7289du,
                                           0x705495c7u, 0x2df1424bu, 0x9efc4947u, 0x5c6bfb31u};

static uint32_t *bloom_block(const struct key_column *key, uint64_t h) {
    return key->bloom + ((h >> 32) * key->n_blocks >> 32) * BLOOM_WORDS;
}

static void bloom_add(struct key_column *key, int64_t value) {
    uint64_t h = mix((uint64_t)value);
    uint32_t *block = bloom_block(key, h);
    for (int i = 0; i < BLOOM_WORDS; i++) {
        block[i] |= (uint32_t)1 << ((uint32_t)h * SALT[i] >> 27);
    }
}

static bool bloom_has(const struct key_column *key, int64_t value) {
    uint64_t h = mix((uint64_t)value);
    const uint32_t *block = bloom_block(key, h);
    uint32_t missing = 0;
    for (int i = 0; i < BLOOM_WORDS; i++) {
        missing |= ~block[i] & (uint32_t)1 << ((uint32_t)h * SALT[i] >> 27);
    }
    return missing == 0;
}

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
static void fall_back(struct fz_scan_keys *keys, struct key_column *key) {
    for (size_t bytes = BLOOM_BYTES; bytes >= BLOOM_MIN_BYTES && key->bloom == NULL; bytes /= 4) {
        if (take(keys, bytes)) {
            key->bloom = fz_calloc(bytes / 4, 4);
            key->n_blocks = bytes / (4 * BLOOM_WORDS);
        }
    }
    key->form = key->bloom != NULL ? FORM_BLOOM : FORM_RANGE;
    for (size_t i = 0; key->bloom != NULL && i < key->n_list; i++) {
        bloom_add(key, key->list[i]);
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
        keys->columns[i] = (struct key_column){.c = columns[i], .form = FORM_TABLE, .min = INT64_MAX, .max = INT64_MIN};
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
        struct key_column *key = &keys->columns[i];
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

static int compare_bytes(const char *a, size_t a_len, const char *b, size_t b_len) {
    size_t n = a_len < b_len ? a_len : b_len;
    int order = n > 0 ? memcmp(a, b, n) : 0;
    return order != 0 ? order : (a_len > b_len) - (a_len < b_len);
}

static void set_bytes(struct fz_buf *buf, const struct fz_string *s) {
    fz_buf_clear(buf);
    fz_buf_reserve(buf, 1); // an empty text is a bound too
    fz_buf_append(buf, fz_string_ptr(s), s->length);
}

static enum fz_code widen_text(struct key_column *key, const struct fz_column *column, size_t n, struct fz_err *err) {
    const struct fz_string *s = column->data;
    for (size_t i = 0; i < n; i++) {
        if (!fz_column_is_valid(column, i)) {
            continue;
        }
        const char *p = fz_string_ptr(&s[i]);
        if (key->lo.ptr == NULL || compare_bytes(p, s[i].length, key->lo.ptr, key->lo.len) < 0) {
            set_bytes(&key->lo, &s[i]);
        }
        if (key->hi.ptr == NULL || compare_bytes(p, s[i].length, key->hi.ptr, key->hi.len) > 0) {
            set_bytes(&key->hi, &s[i]);
        }
    }
    enum fz_code rc = fz_buf_check(&key->lo, err);
    return rc == FZ_OK ? fz_buf_check(&key->hi, err) : rc;
}

// Room for `more` further entries; without it the fallback is in place afterwards.
static void make_room(struct fz_scan_keys *keys, struct key_column *key, size_t more) {
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

static enum fz_code add_column(struct fz_scan_keys *keys, struct key_column *key, const struct fz_column *column,
                               size_t n, struct fz_err *err) {
    int64_t values[FZ_BATCH_ROWS];
    size_t m = 0;
    canonical(key, column, n, values);
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
        bloom_add(key, values[i]);
    }
    return is_text(key->c.value_type) ? widen_text(key, column, n, err) : FZ_OK;
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
static void sort_distinct(struct key_column *key, int64_t *scratch) {
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

static bool build_bitmap(struct fz_scan_keys *keys, struct key_column *key) {
    uint64_t base = (uint64_t)key->min, range = (uint64_t)key->max - base, n_places = (range >> CHUNK_SHIFT) + 1;
    size_t most = key->n_list * 32 > SMALL_BITMAP_BYTES ? key->n_list * 32 : SMALL_BITMAP_BYTES, n_chunks = 1;
    uint64_t last = UINT64_MAX;
    for (size_t i = 0; i < key->n_list; i++) { // sorted
        uint64_t place = ((uint64_t)key->list[i] - base) >> CHUNK_SHIFT;
        n_chunks += place != last;
        last = place;
    }
    if (n_places > most / 4 || n_chunks > most / (CHUNK_WORDS * 8) ||
        !take(keys, (size_t)n_places * 4 + n_chunks * CHUNK_WORDS * 8)) {
        return false;
    }
    key->chunks = fz_calloc((size_t)n_places, sizeof *key->chunks);
    key->bits = fz_calloc(n_chunks * CHUNK_WORDS, sizeof *key->bits);
    if (key->chunks == NULL || key->bits == NULL) { // what was taken goes back with the keys
        return false;
    }
    n_chunks = 1;
    for (size_t i = 0; i < key->n_list; i++) {
        uint64_t d = (uint64_t)key->list[i] - base;
        uint32_t *chunk = &key->chunks[d >> CHUNK_SHIFT];
        *chunk = *chunk != 0 ? *chunk : (uint32_t)n_chunks++;
        key->bits[(size_t)*chunk * CHUNK_WORDS + (d >> 6) % CHUNK_WORDS] |= (uint64_t)1 << (d & 63);
    }
    key->form = FORM_BITMAP;
    return true;
}

static inline uint64_t mark_of(const struct key_column *key, uint64_t v) {
    return v * 0x9E3779B97F4A7C15u >> key->mark_shift;
}

// Nearly all rows have no key. Probing the table for them goes wrong in its branches; one bit says it without any.
static void build_marks(struct fz_scan_keys *keys, struct key_column *key) {
    unsigned log_bits = 16;
    while (log_bits < 27 && (size_t)1 << log_bits < key->n_list * 16) {
        log_bits++;
    }
    size_t words = ((size_t)1 << log_bits) / 64;
    key->marks = take(keys, words * 8) ? fz_calloc(words, 8) : NULL;
    key->mark_shift = 64 - log_bits;
    for (size_t i = 0; key->marks != NULL && i < key->n_list; i++) {
        uint64_t m = mark_of(key, (uint64_t)key->list[i]);
        key->marks[m >> 6] |= (uint64_t)1 << (m & 63);
    }
}

static void build_table(struct fz_scan_keys *keys, struct key_column *key) {
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
        size_t at = mix(v) & key->slot_mask;
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
        struct key_column *key = &keys->columns[i];
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

// ---- asking

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
    const struct key_column *key = &keys->columns[i];
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
    } else if (is_text(key->c.value_type)) {
        out->has_range = true;
        out->min.u.bytes = (struct fz_str){key->lo.ptr, key->lo.len};
        out->max.u.bytes = (struct fz_str){key->hi.ptr, key->hi.len};
    }
}

static inline uint64_t bit_of(const struct key_column *key, uint64_t d) {
    return key->bits[(size_t)key->chunks[d >> CHUNK_SHIFT] * CHUNK_WORDS + (d >> 6) % CHUNK_WORDS] >> (d & 63) & 1;
}

static bool has(const struct key_column *key, int64_t value) {
    uint64_t v = (uint64_t)value, d = v - (uint64_t)key->min;
    switch (key->form) {
    case FORM_BITMAP:
        return d <= (uint64_t)key->max - (uint64_t)key->min && bit_of(key, d);
    case FORM_TABLE: {
        if (v == 0) {
            return key->has_zero;
        }
        size_t at = mix(v) & key->slot_mask;
        while (key->slots[at] != 0 && key->slots[at] != v) {
            at = (at + 1) & key->slot_mask;
        }
        return key->slots[at] == v;
    }
    case FORM_BLOOM:
        return bloom_has(key, value);
    case FORM_RANGE:
        break;
    }
    return key->n_values > 0 && (!key->is_integer || (value >= key->min && value <= key->max));
}

static bool null_matches(const struct key_column *key) {
    return key->c.null_matches && key->n_nulls > 0;
}

bool fz_scan_keys_has(const struct fz_scan_keys *keys, size_t i, const struct fz_value *value) {
    const struct key_column *key = &keys->columns[i];
    if (value->is_null) {
        return null_matches(key);
    }
    return has(key, canonical_value(key, value));
}

// Index of the first sorted key that is not below `value`.
static size_t lower_bound(const struct key_column *key, int64_t value) {
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
    const struct key_column *key = &keys->columns[i];
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
        int64_t low = canonical_value(key, min), high = canonical_value(key, max);
        if (low > key->max || high < key->min) {
            return false;
        }
        size_t at = key->list != NULL ? lower_bound(key, low) : 0;
        return key->list == NULL || (at < key->n_list && key->list[at] <= high);
    }
    if (is_text(key->c.type)) {
        return compare_bytes(min->u.bytes.ptr, min->u.bytes.len, key->hi.ptr, key->hi.len) <= 0 &&
               compare_bytes(max->u.bytes.ptr, max->u.bytes.len, key->lo.ptr, key->lo.len) >= 0;
    }
    return true;
}

size_t fz_scan_keys_list(const struct fz_scan_keys *keys, size_t i, const struct fz_value *min,
                         const struct fz_value *max, int64_t *out, size_t cap) {
    const struct key_column *key = &keys->columns[i];
    if (key->list == NULL) {
        return key->n_values == 0 ? 0 : SIZE_MAX;
    }
    size_t from = 0, to = key->n_list;
    if (key->is_integer && min != NULL && max != NULL) {
        int64_t high = canonical_value(key, max);
        from = lower_bound(key, canonical_value(key, min));
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

static void filter_bitmap(const struct key_column *key, const struct fz_column *column, size_t n, uint8_t *keep) {
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
static bool lies_between_keys(const struct key_column *key, const struct fz_column *column, size_t n) {
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
    const struct key_column *key = &keys->columns[i];
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
        canonical(key, column, n, values);
        for (size_t r = 0; r < n && key->marks != NULL && column->validity == NULL; r++) {
            uint64_t m = mark_of(key, (uint64_t)values[r]);
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
