// Shared by the readers and writers of manifests and manifest lists: their Avro schemas, and reading Avro records by field id.
#ifndef FZ_TABLE_MANIFEST_PRIV_H
#define FZ_TABLE_MANIFEST_PRIV_H

#include "format/avro/avro.h"
#include "table/manifest.h"

// The rows of both files as Iceberg struct types, fields in the order Java writes them for a table of this version.
const struct fz_type *fz_manifest_entry_type(struct fz_arena *arena, int format_version,
                                             const struct fz_type *partition);
const struct fz_type *fz_manifest_list_type(struct fz_arena *arena, int format_version);
// Avro schema of a struct type as Java's converter makes it (iceberg-facts 7.4 "Avro shape rules").
enum fz_code fz_type_to_avro(struct fz_buf *out, const struct fz_type *type, const char *record_name,
                             struct fz_err *err);
// The codec named by write.manifest.compression-codec. INVALID_ARG when unknown.
enum fz_code fz_manifest_codec(const struct fz_metadata *m, enum fz_avro_codec *codec, int *level, struct fz_err *err);
// Opens a writer with the schema of `type` and the iceberg.schema key.
enum fz_code fz_manifest_writer_open(const struct fz_metadata *m, const struct fz_type *type, const char *record_name,
                                     struct fz_avro_writer **out, struct fz_err *err);

// How one field of a record is read. `kind` is that of the value behind the optional union.
struct fz_avro_field {
    int32_t id; // field id; -1 when the file gives none and the name is unknown
    const char *name;
    const json_t *whole; // the field's schema, for skipping
    const json_t *schema; // the non-null branch
    int kind; // enum fz_avro_shape
    int null_branch; // -1: not a union
};
enum fz_avro_shape {
    FZ_AVRO_NUMBER,
    FZ_AVRO_FLAG,
    FZ_AVRO_FLOAT,
    FZ_AVRO_DOUBLE,
    FZ_AVRO_TEXT,
    FZ_AVRO_FIXED,
    FZ_AVRO_ARRAY,
    FZ_AVRO_MAP,
    FZ_AVRO_RECORD,
    FZ_AVRO_OTHER
};
// Plans a record's fields. `names` maps names to ids for files without field ids (may be NULL).
struct fz_name_id {
    const char *name;
    int32_t id;
};
enum fz_code fz_avro_plan(struct fz_arena *arena, const json_t *record, const struct fz_name_id *names, size_t n_names,
                          struct fz_avro_field **out, size_t *n, struct fz_err *err);
// False in `*present` for a null. Call before reading a value.
enum fz_code fz_avro_present(struct fz_avro_reader *reader, const struct fz_avro_field *field, bool *present,
                             struct fz_err *err);
// CORRUPT unless the field has this shape.
enum fz_code fz_avro_expect(const struct fz_avro_field *field, enum fz_avro_shape shape, struct fz_err *err);

#endif
