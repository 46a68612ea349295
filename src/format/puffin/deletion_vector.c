// The deletion-vector-v1 blob (Puffin spec; iceberg-facts 7.11): length, magic, 64-bit Roaring bitmap in the portable form, CRC-32.
// Debian's CRoaring reads bitmaps without looking at them, so every container is checked here before it gets the bytes.
#include "base/hash.h"
#include "format/puffin/puffin_priv.h"

static const uint8_t DV_MAGIC[4] = {0xD1, 0xD3, 0x39, 0x64};
enum {
    COOKIE_PLAIN = 12346,
    COOKIE_RUNS = 12347,
    ARRAY_MAX = 4096,
    BITSET_BYTES = 8192,
    NO_OFFSETS_BELOW = 4,
    MAX_KEY = INT32_MAX
};

static uint32_t le16(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}
static uint32_t le32(const uint8_t *p) {
    return le16(p) | le16(p + 2) << 16;
}
static uint64_t le64(const uint8_t *p) {
    return le32(p) | (uint64_t)le32(p + 4) << 32;
}
static uint32_t be32(const uint8_t *p) {
    return __builtin_bswap32(le32(p));
}

// Bytes of a run container; 0: damaged.
static size_t check_runs(const uint8_t *data, size_t len, uint32_t cardinality) {
    if (len < 2) {
        return 0;
    }
    uint32_t n = le16(data), seen = 0, next = 0; // next: first value that may come
    size_t bytes = 2 + (size_t)n * 4;
    if (n == 0 || bytes > len) {
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        uint32_t start = le16(data + 2 + i * 4), more = le16(data + 4 + i * 4);
        if (start < next || start + more > 0xFFFF) {
            return 0;
        }
        next = start + more + 1;
        seen += more + 1;
    }
    return seen == cardinality ? bytes : 0;
}

static size_t check_array(const uint8_t *data, size_t len, uint32_t cardinality) {
    if ((size_t)cardinality * 2 > len) {
        return 0;
    }
    for (uint32_t i = 1; i < cardinality; i++) {
        if (le16(data + i * 2) <= le16(data + i * 2 - 2)) {
            return 0;
        }
    }
    return (size_t)cardinality * 2;
}

static size_t check_bitset(const uint8_t *data, size_t len, uint32_t cardinality) {
    if (len < BITSET_BYTES) {
        return 0;
    }
    uint32_t seen = 0;
    for (size_t i = 0; i < BITSET_BYTES; i += 8) {
        seen += (uint32_t)__builtin_popcountll(le64(data + i));
    }
    return seen == cardinality ? BITSET_BYTES : 0;
}

size_t fz_roaring_check(const uint8_t *data, size_t len, const char **why) {
    *why = "it ends too early";
    if (len < 8) {
        return 0;
    }
    uint32_t cookie = le32(data);
    bool runs = (cookie & 0xFFFF) == COOKIE_RUNS;
    size_t at = 4, n = (cookie >> 16) + 1;
    const uint8_t *run_flags = data + 4;
    if (runs) {
        at += (n + 7) / 8;
    } else {
        if (cookie != COOKIE_PLAIN) {
            *why = "its cookie is unknown";
            return 0;
        }
        n = le32(data + 4);
        at += 4;
        if (n > 65536) {
            *why = "it has more than 65536 containers";
            return 0;
        }
    }
    size_t header = at;
    at += n * 4;
    at += !runs || n >= NO_OFFSETS_BELOW ? n * 4 : 0; // offsets only help random access, nothing here trusts them
    if (at > len) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        const uint8_t *entry = data + header + i * 4;
        uint32_t cardinality = le16(entry + 2) + 1;
        if (i > 0 && le16(entry) <= le16(entry - 4)) {
            *why = "its containers are not in order";
            return 0;
        }
        size_t used = runs && (run_flags[i / 8] >> (i % 8) & 1) ? check_runs(data + at, len - at, cardinality)
                      : cardinality <= ARRAY_MAX                ? check_array(data + at, len - at, cardinality)
                                                                : check_bitset(data + at, len - at, cardinality);
        if (used == 0) {
            *why = "a container is damaged";
            return 0;
        }
        at += used;
    }
    return at;
}

enum fz_code fz_positions_decode_vector(const void *data, size_t len, struct fz_positions **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    const uint8_t *bytes = data;
    struct fz_positions *p = NULL;
    if (len < 8 || le64(bytes) > (len - 8) / 12) {
        return fz_fail(err, FZ_CORRUPT, "deletion vector: it cannot hold as many bitmaps as it says in %zu bytes", len);
    }
    uint64_t n = le64(bytes), key_after = 0;
    size_t at = 8;
    FZ_TRY(fz_positions_new(&p, err));
    for (uint64_t i = 0; i < n; i++) {
        if (len - at < 4) {
            rc = fz_fail(err, FZ_CORRUPT, "deletion vector: it ends in bitmap %llu", (unsigned long long)i);
            goto out;
        }
        uint32_t key = le32(bytes + at);
        if (key < key_after || key > MAX_KEY) {
            rc = fz_fail(err, FZ_CORRUPT, "deletion vector: bitmap key %u is out of order or too large", key);
            goto out;
        }
        key_after = (uint64_t)key + 1;
        at += 4;
        const char *why = NULL;
        size_t used = fz_roaring_check(bytes + at, len - at, &why);
        if (used == 0) {
            rc = fz_fail(err, FZ_CORRUPT, "deletion vector: bitmap of key %u: %s", key, why);
            goto out;
        }
        roaring_bitmap_t *bitmap = roaring_bitmap_portable_deserialize_safe((const char *)bytes + at, used);
        FZ_TRY(fz_positions_append_part(p, key, bitmap, err));
        at += used;
    }
    if (at != len) {
        rc = fz_fail(err, FZ_CORRUPT, "deletion vector: %zu bytes after the last bitmap", len - at);
        goto out;
    }
    *out = p;
    p = NULL;
out:
    fz_positions_free(p);
    return rc;
}

enum fz_code fz_dv_decode(const void *data, size_t len, struct fz_positions **out, struct fz_err *err) {
    const uint8_t *bytes = data;
    if (len < 20 || be32(bytes) != len - 8) {
        return fz_fail(err, FZ_CORRUPT, "deletion vector: its length field does not fit a blob of %zu bytes", len);
    }
    if (memcmp(bytes + 4, DV_MAGIC, 4) != 0) {
        return fz_fail(err, FZ_CORRUPT, "deletion vector: wrong magic number");
    }
    if (fz_crc32(0, bytes + 4, len - 8) != be32(bytes + len - 4)) {
        return fz_fail(err, FZ_CORRUPT, "deletion vector: the checksum does not match, the file is damaged");
    }
    return fz_positions_decode_vector(bytes + 8, len - 12, out, err);
}

static void append_be32(struct fz_buf *out, uint32_t v) {
    v = __builtin_bswap32(v);
    fz_buf_append(out, &v, 4);
}

enum fz_code fz_dv_encode(struct fz_positions *p, struct fz_buf *out, struct fz_err *err) {
    size_t total = 4 + 8;
    uint64_t n = 0;
    for (size_t i = 0; i < p->n_parts; i++) {
        roaring_bitmap_run_optimize(p->parts[i].bitmap);
        if (!roaring_bitmap_is_empty(p->parts[i].bitmap)) {
            total += 4 + roaring_bitmap_portable_size_in_bytes(p->parts[i].bitmap);
            n++;
        }
    }
    if (total > INT32_MAX - 16) {
        return fz_fail(err, FZ_LIMIT,
                       "deletion vector: %zu bytes do not fit its 4-byte length; rewrite the data file instead", total);
    }
    fz_buf_reserve(out, total + 8);
    append_be32(out, (uint32_t)total);
    size_t start = out->len;
    fz_buf_append(out, DV_MAGIC, 4);
    fz_buf_append(out, &n, 8);
    for (size_t i = 0; i < p->n_parts; i++) {
        const struct fz_positions_part *part = &p->parts[i];
        size_t bytes = roaring_bitmap_portable_size_in_bytes(part->bitmap);
        if (roaring_bitmap_is_empty(part->bitmap) || !fz_buf_reserve(out, bytes + 4)) {
            continue;
        }
        fz_buf_append(out, &part->key, 4);
        out->len += roaring_bitmap_portable_serialize(part->bitmap, out->ptr + out->len);
    }
    if (!out->failed) {
        append_be32(out, fz_crc32(0, out->ptr + start, out->len - start));
    }
    return fz_buf_check(out, err);
}
