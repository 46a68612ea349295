// Metadata files: reading, writing under a new name, the names themselves, and the cache of decoded documents.
#include "catalog/catalog_priv.h"

#include <inttypes.h>
#include <stdlib.h>
#include <zlib.h>

#include "base/text.h"

enum { MAX_METADATA_BYTES = 1 << 30 };

enum fz_code fz_metadata_file_read(struct fz_store *store, const char *location, struct fz_metadata **out,
                                   struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf bytes = {0};
    struct fz_err inner = FZ_ERR_INIT;
    rc = fz_store_read_all(store, location, MAX_METADATA_BYTES, &bytes, &inner);
    if (rc == FZ_NOT_FOUND) {
        rc = fz_fail(err, FZ_CORRUPT, "the metadata file %s is missing, but the catalog points to it", location);
        goto out;
    }
    if (rc != FZ_OK) {
        if (err != NULL && err->code == FZ_OK) {
            *err = inner;
        }
        goto out;
    }
    rc = fz_metadata_decode(bytes.ptr, bytes.len, location, out, err);
    if (rc != FZ_OK) {
        fz_err_context(err, "metadata file %s", location);
    }
out:
    fz_buf_dispose(&bytes);
    return rc;
}

static enum fz_code compress_gzip(const struct fz_buf *in, struct fz_buf *out, struct fz_err *err) {
    z_stream z = {0};
    if (in->len > UINT32_MAX ||
        deflateInit2(&z, Z_DEFAULT_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
        return fz_fail_nomem(err, in->len);
    }
    size_t bound = deflateBound(&z, in->len);
    enum fz_code rc = FZ_OK;
    if (!fz_buf_reserve(out, bound)) {
        rc = fz_fail_nomem(err, bound);
    } else {
        z.next_in = (Bytef *)in->ptr;
        z.avail_in = (uInt)in->len;
        z.next_out = (Bytef *)out->ptr + out->len;
        z.avail_out = (uInt)bound;
        if (deflate(&z, Z_FINISH) == Z_STREAM_END) {
            out->len += z.total_out;
        } else {
            rc = fz_fail(err, FZ_BUG, "metadata cannot be compressed");
        }
    }
    deflateEnd(&z);
    return rc;
}

bool fz_metadata_is_gzip(const struct fz_metadata *metadata) {
    return fz_strcasecmp(fz_metadata_property(metadata, "write.metadata.compression-codec", "none"), "gzip") == 0;
}

enum fz_code fz_metadata_file_encode(const struct fz_metadata *metadata, bool gzip, struct fz_buf *out,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_buf json = {0};
    if (!gzip) {
        FZ_TRY(fz_metadata_encode(metadata, out, err));
        rc = fz_buf_check(out, err);
        goto out;
    }
    FZ_TRY(fz_metadata_encode(metadata, &json, err));
    FZ_TRY(fz_buf_check(&json, err));
    FZ_TRY(compress_gzip(&json, out, err));
out:
    fz_buf_dispose(&json);
    return rc;
}

// The number before the first '-' of the file's name; -1 when there is none (a table that came from another catalog).
static int64_t version_of(const char *location) {
    const char *slash = strrchr(location, '/');
    const char *name = slash != NULL ? slash + 1 : location;
    int64_t version;
    size_t len = strcspn(name, "-");
    return name[len] == '-' && fz_parse_i64((struct fz_str){name, len}, &version) && version >= 0 &&
                   version < 1000000000
               ? version
               : -1;
}

char *fz_metadata_file_name(struct fz_arena *arena, const struct fz_metadata *metadata,
                            const struct fz_metadata *base) {
    char uuid[37];
    fz_uuid_v4(uuid);
    int64_t version = base != NULL && base->metadata_location != NULL ? version_of(base->metadata_location) + 1 : 0;
    const char *folder = fz_metadata_property(metadata, "write.metadata.path", NULL);
    const char *root = folder != NULL ? folder : metadata->location;
    size_t len = strlen(root);
    while (len > 0 && root[len - 1] == '/') {
        len--;
    }
    return fz_arena_printf(arena, "%.*s%s/%05" PRId64 "-%s%s.metadata.json", (int)len, root,
                           folder != NULL ? "" : "/metadata", version, uuid,
                           fz_metadata_is_gzip(metadata) ? ".gz" : "");
}

static bool is_logged(const struct fz_metadata *metadata, const char *file) {
    for (size_t i = 0; i < metadata->n_metadata_log; i++) {
        if (strcmp(metadata->metadata_log[i].file, file) == 0) {
            return true;
        }
    }
    return false;
}

void fz_metadata_files_expire(struct fz_store *store, const struct fz_metadata *base,
                              const struct fz_metadata *metadata) {
    if (base == NULL || !fz_metadata_property_bool(metadata, "write.metadata.delete-after-commit.enabled", false)) {
        return;
    }
    for (size_t i = 0; i < base->n_metadata_log; i++) {
        if (!is_logged(metadata, base->metadata_log[i].file)) {
            struct fz_err ignored = FZ_ERR_INIT;
            fz_store_remove(store, base->metadata_log[i].file, &ignored);
        }
    }
}

void fz_metadata_cache_init(struct fz_metadata_cache *cache) {
    *cache = (struct fz_metadata_cache){0};
    pthread_mutex_init(&cache->lock, NULL);
}

void fz_metadata_cache_dispose(struct fz_metadata_cache *cache) {
    for (size_t i = 0; i < FZ_METADATA_CACHE_SLOTS; i++) {
        fz_metadata_unref(cache->slots[i]);
    }
    pthread_mutex_destroy(&cache->lock);
}

struct fz_metadata *fz_metadata_cache_get(struct fz_metadata_cache *cache, const char *location) {
    struct fz_metadata *found = NULL;
    pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; i < FZ_METADATA_CACHE_SLOTS && found == NULL; i++) {
        struct fz_metadata *m = cache->slots[i];
        if (m != NULL && strcmp(m->metadata_location, location) == 0) {
            found = fz_metadata_ref(m);
        }
    }
    pthread_mutex_unlock(&cache->lock);
    return found;
}

void fz_metadata_cache_put(struct fz_metadata_cache *cache, struct fz_metadata *metadata) {
    pthread_mutex_lock(&cache->lock);
    struct fz_metadata *old = cache->slots[cache->next];
    cache->slots[cache->next] = fz_metadata_ref(metadata);
    cache->next = (cache->next + 1) % FZ_METADATA_CACHE_SLOTS;
    pthread_mutex_unlock(&cache->lock);
    fz_metadata_unref(old);
}
