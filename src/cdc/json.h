// A pull reader over JSON text: no tree, no allocation but for strings with escapes, numbers stay text. The text has been
// checked as UTF-8 before. Every function returns false after an error and leaves `error` set; later calls stay false.
// Used for records, envelopes, keys, headers and the schema part of events.
#ifndef FZ_CDC_JSON_H
#define FZ_CDC_JSON_H

#include "base/mem.h"

enum { FZ_JSON_DEPTH = 128 };

struct fz_json {
    const char *p, *end;
    const char *error; // static text, NULL while all is well
    struct fz_arena *arena; // for strings with escapes
};
enum fz_json_kind {
    FZ_JSON_END,
    FZ_JSON_NULL,
    FZ_JSON_BOOL,
    FZ_JSON_NUMBER,
    FZ_JSON_STRING,
    FZ_JSON_ARRAY,
    FZ_JSON_OBJECT
};

void fz_json_init(struct fz_json *json, struct fz_str text, struct fz_arena *arena);
// Kind of the value that comes next, by its first character. END: nothing left, or a character that begins no value (error set).
enum fz_json_kind fz_json_peek(struct fz_json *json);
// Passes over one value of any kind; its text in *raw (may be NULL).
bool fz_json_skip(struct fz_json *json, struct fz_str *raw);
// The same, but of an object or array only strings and the depth of brackets are looked at: for text that is read again anyway.
bool fz_json_pass(struct fz_json *json, struct fz_str *raw);
bool fz_json_read_string(struct fz_json *json,
                         struct fz_str *out); // decoded; borrowed from the text when it has no escapes
bool fz_json_read_number(struct fz_json *json, struct fz_str *out); // checked against JSON's grammar, as text
bool fz_json_read_bool(struct fz_json *json, bool *out);
bool fz_json_read_null(struct fz_json *json);
// Objects: enter, then next until it returns false (end or error); after each next exactly one value is read or skipped.
bool fz_json_enter(struct fz_json *json, char open); // '{' or '['
bool fz_json_next_member(struct fz_json *json, bool *first, struct fz_str *name);
bool fz_json_next_element(struct fz_json *json, bool *first);
// True when only blanks are left.
bool fz_json_at_end(struct fz_json *json);
// Helpers for small members; a null leaves *out alone and returns true.
bool fz_json_read_i64(struct fz_json *json, int64_t *out);

#endif
