// Inside of inspect/: each kind of file becomes one JSON document (inspect_<kind>.c), which is printed as it is or laid out as text
// (inspect_text.c): members of the root as lines, lists of objects as tables.
#ifndef FZ_INSPECT_INSPECT_PRIV_H
#define FZ_INSPECT_INSPECT_PRIV_H

#include <jansson.h>

#include "data/value.h"
#include "inspect/inspect.h"

struct fz_inspect {
    struct fz_store *store;
    const char *location;
    int64_t size_bytes;
    struct fz_arena arena;
    json_t *root;
    bool nomem; // a member could not be added
    struct fz_err *err;
};

// inspect_json.c: building. `value` is taken over; a NULL one (no memory) is noted.
void fz_inspect_put(struct fz_inspect *in, json_t *object, const char *key, json_t *value);
void fz_inspect_add(struct fz_inspect *in, json_t *array, json_t *value);
json_t *fz_inspect_object(struct fz_inspect *in, json_t *parent, const char *key); // new, put into parent (borrowed)
json_t *fz_inspect_array(struct fz_inspect *in, json_t *parent, const char *key);
json_t *fz_inspect_row(struct fz_inspect *in, json_t *array); // a new object at the end of the array
json_t *fz_inspect_text(const void *bytes, size_t len); // bytes that are no UTF-8 as 0x…
json_t *fz_inspect_cstr(const char *text); // NULL: JSON null
json_t *fz_inspect_value(const struct fz_value *value);
json_t *fz_inspect_bound(struct fz_inspect *in, const struct fz_type *type, struct fz_str bytes); // hex without a type
json_t *fz_inspect_type(const struct fz_type *type);
json_t *fz_inspect_time(int64_t micros);
// The field with this id anywhere in the type, NULL: none.
const struct fz_field *fz_inspect_field(const struct fz_type *type, int32_t field_id);
// Dotted name of a field below the struct type, in the arena; NULL: none.
const char *fz_inspect_name(struct fz_inspect *in, const struct fz_type *type, int32_t field_id);

// One a kind: fill in->root.
enum fz_code fz_inspect_parquet(struct fz_inspect *in);
enum fz_code fz_inspect_avro(struct fz_inspect *in, const struct fz_buf *file);
enum fz_code fz_inspect_puffin(struct fz_inspect *in);
enum fz_code fz_inspect_metadata(struct fz_inspect *in, const struct fz_buf *file);

// inspect_rows.c: options->max_rows rows of a data file, appended.
enum fz_code fz_inspect_rows(struct fz_store *store, const char *location, int64_t size_bytes,
                             const struct fz_inspect_options *options, struct fz_buf *out, struct fz_err *err);

// inspect_layout.c
// Text that cannot move a terminal's cursor; cut after so many characters.
void fz_inspect_put_safe(struct fz_buf *out, const char *text, size_t len, size_t max_chars);
void fz_inspect_layout(const json_t *root, bool all, struct fz_buf *out);

#endif
