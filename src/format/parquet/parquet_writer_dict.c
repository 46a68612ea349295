// Dictionaries of column chunks: value -> index in order of appearance. Tables are power-of-two, linear probing, at most half
// full. A probe sequence that gets too long counts as "full", so hostile keys cost a fallback to PLAIN and not time.
#include "format/parquet/parquet_writer_priv.h"

enum { FIRST_SLOTS = 1024, MAX_PROBES = 256 };

struct slot32 {
    uint32_t key, ix; // ix 0: empty, else index + 1
};
struct slot64 {
    uint64_t key;
    uint32_t ix, unused;
};
struct slot_hash {
    uint32_t hash, ix;
};

void fz_pw_dict_dispose(struct fz_pw_dict *dict) {
    fz_buf_dispose(&dict->values);
    fz_free(dict->spans);
    fz_free(dict->slots);
    dict->spans = NULL;
    dict->slots = NULL;
    dict->n_slots = dict->spans_cap = 0;
    dict->n = 0;
}

static size_t slot_size(const struct fz_pw_dict *dict) {
    return dict->width == 8 ? sizeof(struct slot64) : sizeof(struct slot32);
}

size_t fz_pw_dict_memory(const struct fz_pw_dict *dict) {
    return dict->values.cap + dict->spans_cap * sizeof *dict->spans + dict->n_slots * slot_size(dict);
}

void fz_pw_dict_clear(struct fz_pw_dict *dict) {
    fz_buf_clear(&dict->values);
    dict->n = 0;
    if (dict->slots != NULL) {
        memset(dict->slots, 0, dict->n_slots * slot_size(dict));
    }
}

static inline uint64_t mix(uint64_t a, uint64_t b) {
    unsigned __int128 m = (unsigned __int128)a * b;
    return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static inline size_t hash32(uint32_t key) {
    return (size_t)((uint64_t)key * 0x9E3779B97F4A7C15u >> 32);
}

static inline size_t hash64(uint64_t key) {
    uint64_t h = key * 0x9E3779B97F4A7C15u;
    return (size_t)(h ^ h >> 32);
}

static inline uint32_t hash_bytes(const char *p, size_t len) {
    uint64_t h = 0x2D358DCCAA6C78A5u ^ len, word = 0;
    while (len >= 8) {
        memcpy(&word, p, 8);
        h = mix(h ^ word, 0x8BB84B93962EACC9u);
        p += 8;
        len -= 8;
    }
    if (len > 0) {
        word = 0;
        memcpy(&word, p, len);
        h = mix(h ^ word, 0x4B33A62ED433D4A3u);
    }
    return (uint32_t)(h ^ h >> 32);
}

static inline uint32_t hash_string(const struct fz_string *s) {
    if (s->length <= 12) { // the struct is the value
        uint64_t a, b;
        memcpy(&a, s, 8);
        memcpy(&b, (const char *)s + 8, 8);
        uint64_t h = mix(a ^ 0x2D358DCCAA6C78A5u, b ^ 0x8BB84B93962EACC9u);
        return (uint32_t)(h ^ h >> 32);
    }
    return hash_bytes(fz_string_ptr(s), s->length);
}

static uint32_t hash_stored(const struct fz_pw_dict *dict, uint32_t ix) {
    if (dict->width > 0) {
        return hash_bytes(dict->values.ptr + (size_t)ix * dict->width, dict->width);
    }
    struct fz_string s = fz_string_of(dict->values.ptr + dict->spans[ix].offset, dict->spans[ix].length);
    return hash_string(&s);
}

// Puts what is stored into the new, empty table.
static void rehash(struct fz_pw_dict *dict) {
    size_t mask = dict->n_slots - 1;
    for (uint32_t ix = 0; ix < dict->n; ix++) {
        if (dict->width == 4) {
            struct slot32 *slots = dict->slots;
            uint32_t key;
            memcpy(&key, dict->values.ptr + (size_t)ix * 4, 4);
            size_t at = hash32(key) & mask;
            while (slots[at].ix != 0) {
                at = (at + 1) & mask;
            }
            slots[at] = (struct slot32){key, ix + 1};
        } else if (dict->width == 8) {
            struct slot64 *slots = dict->slots;
            uint64_t key;
            memcpy(&key, dict->values.ptr + (size_t)ix * 8, 8);
            size_t at = hash64(key) & mask;
            while (slots[at].ix != 0) {
                at = (at + 1) & mask;
            }
            slots[at] = (struct slot64){key, ix + 1, 0};
        } else {
            struct slot_hash *slots = dict->slots;
            uint32_t hash = hash_stored(dict, ix);
            size_t at = hash & mask;
            while (slots[at].ix != 0) {
                at = (at + 1) & mask;
            }
            slots[at] = (struct slot_hash){hash, ix + 1};
        }
    }
}

// Room for `more` further entries in the table; false when out of memory.
static bool make_room(struct fz_pw_dict *dict, size_t more) {
    size_t want = dict->n_slots == 0 ? FIRST_SLOTS : dict->n_slots;
    while (want / 2 < dict->n + more) {
        want *= 2;
    }
    if (want == dict->n_slots) {
        return true;
    }
    void *slots = fz_calloc(want, slot_size(dict));
    if (slots == NULL) {
        dict->nomem = true;
        return false;
    }
    fz_free(dict->slots);
    dict->slots = slots;
    dict->n_slots = want;
    rehash(dict);
    return true;
}

static size_t add32(struct fz_pw_dict *dict, const uint32_t *values, size_t n, uint32_t *out) {
    struct slot32 *slots = dict->slots;
    size_t mask = dict->n_slots - 1;
    for (size_t i = 0; i < n; i++) {
        uint32_t key = values[i];
        size_t at = hash32(key) & mask, probes = 0;
        while (slots[at].ix != 0 && slots[at].key != key) {
            at = (at + 1) & mask;
            if (++probes > MAX_PROBES) {
                return i;
            }
        }
        if (slots[at].ix == 0) {
            if (dict->values.len + 4 > dict->limit_bytes) {
                return i;
            }
            fz_buf_append(&dict->values, &key, 4);
            slots[at] = (struct slot32){key, ++dict->n};
        }
        out[i] = slots[at].ix - 1;
    }
    return n;
}

static size_t add64(struct fz_pw_dict *dict, const uint64_t *values, size_t n, uint32_t *out) {
    struct slot64 *slots = dict->slots;
    size_t mask = dict->n_slots - 1;
    for (size_t i = 0; i < n; i++) {
        uint64_t key = values[i];
        size_t at = hash64(key) & mask, probes = 0;
        while (slots[at].ix != 0 && slots[at].key != key) {
            at = (at + 1) & mask;
            if (++probes > MAX_PROBES) {
                return i;
            }
        }
        if (slots[at].ix == 0) {
            if (dict->values.len + 8 > dict->limit_bytes) {
                return i;
            }
            fz_buf_append(&dict->values, &key, 8);
            slots[at] = (struct slot64){key, ++dict->n, 0};
        }
        out[i] = slots[at].ix - 1;
    }
    return n;
}

static size_t add_fixed(struct fz_pw_dict *dict, const char *values, size_t n, uint32_t *out) {
    struct slot_hash *slots = dict->slots;
    size_t mask = dict->n_slots - 1, width = dict->width;
    for (size_t i = 0; i < n; i++, values += width) {
        uint32_t hash = hash_bytes(values, width);
        size_t at = hash & mask, probes = 0;
        while (slots[at].ix != 0 &&
               (slots[at].hash != hash || memcmp(dict->values.ptr + (slots[at].ix - 1) * width, values, width) != 0)) {
            at = (at + 1) & mask;
            if (++probes > MAX_PROBES) {
                return i;
            }
        }
        if (slots[at].ix == 0) {
            if (dict->values.len + width > dict->limit_bytes) {
                return i;
            }
            fz_buf_append(&dict->values, values, width);
            if (dict->values.failed) {
                return i;
            }
            slots[at] = (struct slot_hash){hash, ++dict->n};
        }
        out[i] = slots[at].ix - 1;
    }
    return n;
}

// Text up to 12 bytes is compared as two words, longer text after its length and first bytes agreed.
static inline bool same_text(const struct fz_pw_dict *dict, const struct fz_pw_span *span, uint64_t head, uint64_t tail,
                             const struct fz_string *s) {
    if (span->head != head || span->tail != tail) {
        return false;
    }
    return s->length <= 12 || memcmp(dict->values.ptr + span->offset, s->u.ptr, s->length) == 0;
}

static size_t add_text(struct fz_pw_dict *dict, const struct fz_string *values, size_t n, uint32_t *out) {
    struct slot_hash *slots = dict->slots;
    size_t mask = dict->n_slots - 1;
    for (size_t i = 0; i < n; i++) {
        const struct fz_string *s = &values[i];
        uint32_t hash = hash_string(s), ix = 0;
        uint64_t head, tail = 0;
        memcpy(&head, s, 8);
        if (s->length <= 12) {
            memcpy(&tail, s->u.tail, 8);
        }
        size_t at = hash & mask, probes = 0;
        while ((ix = slots[at].ix) != 0) {
            if (slots[at].hash == hash && same_text(dict, &dict->spans[ix - 1], head, tail, s)) {
                break;
            }
            at = (at + 1) & mask;
            if (++probes > MAX_PROBES) {
                return i;
            }
        }
        if (ix == 0) {
            size_t need = 0;
            if (!fz_add_size(dict->values.len, (size_t)s->length + 4, &need) || need > dict->limit_bytes) {
                return i;
            }
            uint32_t length = s->length;
            fz_buf_append(&dict->values, &length, 4);
            dict->spans[dict->n] = (struct fz_pw_span){head, tail, (uint32_t)dict->values.len, length, 0};
            fz_buf_append(&dict->values, fz_string_ptr(s), length);
            if (dict->values.failed) {
                return i;
            }
            ix = ++dict->n;
            slots[at] = (struct slot_hash){hash, ix};
        }
        out[i] = ix - 1;
    }
    return n;
}

size_t fz_pw_dict_add(struct fz_pw_dict *dict, const void *values, size_t n, uint32_t *out) {
    if (!make_room(dict, n)) {
        return 0;
    }
    size_t done = 0;
    if (dict->width == 4) {
        done = add32(dict, values, n, out);
    } else if (dict->width == 8) {
        done = add64(dict, values, n, out);
    } else if (dict->width > 0) {
        done = add_fixed(dict, values, n, out);
    } else {
        struct fz_err err = FZ_ERR_INIT;
        if (fz_grow((void **)&dict->spans, &dict->spans_cap, dict->n + n, sizeof *dict->spans, &err) != FZ_OK) {
            dict->nomem = true;
            return 0;
        }
        done = add_text(dict, values, n, out);
    }
    dict->nomem |= dict->values.failed;
    return done;
}

void fz_pw_dict_expand(const struct fz_pw_dict *dict, const uint32_t *indexes, size_t n, struct fz_buf *out) {
    if (dict->width > 0) {
        size_t width = dict->width;
        if (!fz_buf_reserve(out, n * width)) {
            return;
        }
        char *p = out->ptr + out->len;
        for (size_t i = 0; i < n; i++, p += width) {
            memcpy(p, dict->values.ptr + (size_t)indexes[i] * width, width);
        }
        out->len += n * width;
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const struct fz_pw_span *span = &dict->spans[indexes[i]];
        fz_buf_append(out, dict->values.ptr + span->offset - 4, (size_t)span->length + 4);
    }
}
