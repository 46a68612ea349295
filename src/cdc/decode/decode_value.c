// Values by encoding: see decode_value.h. One function per encoding, chosen by a table.
#include "cdc/decode/decode_value.h"

#include <math.h>

#include "base/text.h"
#include "cdc/decode/decode_number.h"
#include "cdc/decode/iso_time.h"
#include "cdc/encoding.h"

#define DAY_US INT64_C(86400000000)
enum { MAX_ELEMENTS = 1000000 };

struct input {
    struct fz_value_decoder *d;
    struct fz_json *json;
    const struct fz_cdc_encoding *enc;
    const struct fz_type *type;
};
typedef enum fz_decoded (*decode_fn)(const struct input *in, struct fz_value *out);

static enum fz_decoded foreign(const struct input *in, const char *why) {
    in->d->why = in->json->error != NULL ? in->json->error : why;
    return FZ_DECODED_FOREIGN;
}

enum fz_code fz_value_decoder_init(struct fz_value_decoder *d, struct fz_arena *keep, const char *placeholder,
                                   struct fz_err *err) {
    struct fz_buf text = {0};
    size_t n = strlen(placeholder);
    *d = (struct fz_value_decoder){0};
    d->placeholder = (struct fz_str){fz_arena_strndup(keep, placeholder, n), n};
    fz_base64_encode(&text, placeholder, n);
    d->placeholder_base64 = (struct fz_str){fz_arena_memdup(keep, text.ptr, text.len), text.len};
    fz_buf_clear(&text);
    fz_hex_encode(&text, placeholder, n);
    d->placeholder_hex = (struct fz_str){fz_arena_memdup(keep, text.ptr, text.len), text.len};
    fz_buf_clear(&text);
    for (size_t i = 0; i < n; i++) {
        fz_buf_printf(&text, "%c%d", i == 0 ? '[' : ',', (unsigned char)placeholder[i]);
    }
    fz_buf_putc(&text, ']');
    d->placeholder_codes = (struct fz_str){fz_arena_memdup(keep, text.ptr, text.len), text.len};
    enum fz_code rc = fz_buf_check(&text, err);
    fz_buf_dispose(&text);
    return rc != FZ_OK || d->placeholder.ptr != NULL ? rc : fz_fail_nomem(err, n);
}

void fz_value_decoder_dispose(struct fz_value_decoder *d) {
    fz_buf_dispose(&d->bytes);
}

// ---- numbers

static enum fz_decoded whole(const struct input *in, int64_t *out) {
    struct fz_str text;
    if (fz_json_peek(in->json) != FZ_JSON_NUMBER || !fz_json_read_number(in->json, &text) || !fz_parse_i64(text, out)) {
        return foreign(in, "a whole number is wanted");
    }
    return FZ_DECODED_VALUE;
}

static enum fz_decoded exact(const struct input *in, enum fz_exact result, const __int128 *number,
                             struct fz_value *out) {
    __int128 v = *number;
    switch (result) {
    case FZ_EXACT_OK:
        break;
    case FZ_EXACT_INEXACT:
        return foreign(in, "the number has more fraction digits than the column");
    case FZ_EXACT_TOO_LARGE:
        return foreign(in, "the number is too large for the column");
    case FZ_EXACT_NO_NUMBER:
        return foreign(in, "not a number");
    }
    if (in->type->id == FZ_TYPE_INT || in->type->id == FZ_TYPE_LONG) {
        int64_t low = in->type->id == FZ_TYPE_INT ? INT32_MIN : INT64_MIN,
                high = in->type->id == FZ_TYPE_INT ? INT32_MAX : INT64_MAX;
        if (v < low || v > high) {
            return foreign(in, "the number is too large for the column");
        }
        out->u.i64 = (int64_t)v;
        return FZ_DECODED_VALUE;
    }
    if (fz_decimal_digits(v) > in->type->precision) {
        return foreign(in, "the number is too large for the column");
    }
    out->u.i128 = fz_i128_of(v);
    return FZ_DECODED_VALUE;
}

static enum fz_decoded real_of(const struct input *in, double v, struct fz_value *out) {
    if (in->type->id == FZ_TYPE_FLOAT) {
        out->u.f32 = (float)v;
    } else {
        out->u.f64 = v;
    }
    return FZ_DECODED_VALUE;
}

// The text of a number for a column of any numeric type.
static enum fz_decoded number_text(const struct input *in, struct fz_str text, struct fz_value *out) {
    if (in->type->id == FZ_TYPE_FLOAT || in->type->id == FZ_TYPE_DOUBLE) {
        double v;
        return fz_parse_double(text, &v) ? real_of(in, v, out) : foreign(in, "not a number");
    }
    __int128 v = 0;
    return exact(in, fz_exact_from_text(text, in->type->id == FZ_TYPE_DECIMAL ? in->type->scale : 0, &v), &v, out);
}

static bool special(struct fz_str text, double *out) {
    static const struct {
        const char *name;
        double value;
    } NAMES[] = {{"NaN", NAN},
                 {"Infinity", INFINITY},
                 {"-Infinity", -INFINITY},
                 {"POSITIVE_INFINITY", INFINITY},
                 {"NEGATIVE_INFINITY", -INFINITY}};
    for (size_t i = 0; i < sizeof NAMES / sizeof *NAMES; i++) {
        if (fz_str_ieq(text, fz_str_of(NAMES[i].name))) {
            *out = NAMES[i].value;
            return true;
        }
    }
    return false;
}

static enum fz_decoded decode_number(const struct input *in, struct fz_value *out) {
    struct fz_str text;
    double v;
    if (fz_json_peek(in->json) == FZ_JSON_NUMBER) {
        return fz_json_read_number(in->json, &text) ? number_text(in, text, out) : foreign(in, "not a number");
    }
    if (fz_json_peek(in->json) != FZ_JSON_STRING || !fz_json_read_string(in->json, &text) || !special(text, &v)) {
        return foreign(in, "a number is wanted");
    }
    return in->type->id == FZ_TYPE_FLOAT || in->type->id == FZ_TYPE_DOUBLE ? real_of(in, v, out) : FZ_DECODED_BEYOND;
}

static enum fz_decoded keep_bytes(const struct input *in, struct fz_value *out) {
    if (in->d->bytes.failed) {
        return FZ_DECODED_NOMEM;
    }
    out->u.bytes.len = in->d->bytes.len;
    out->u.bytes.ptr = in->d->bytes.len == 0 ? "" : fz_arena_memdup(in->d->arena, in->d->bytes.ptr, in->d->bytes.len);
    return out->u.bytes.ptr == NULL ? FZ_DECODED_NOMEM : FZ_DECODED_VALUE;
}

static enum fz_decoded base64_bytes(const struct input *in) {
    struct fz_str text;
    if (fz_json_peek(in->json) != FZ_JSON_STRING || !fz_json_read_string(in->json, &text)) {
        return foreign(in, "base64 text is wanted");
    }
    fz_buf_clear(&in->d->bytes);
    if (!fz_base64_decode(&in->d->bytes, text)) {
        return in->d->bytes.failed ? FZ_DECODED_NOMEM : foreign(in, "not base64");
    }
    return FZ_DECODED_VALUE;
}

// The bytes in d->bytes as an unscaled number.
static enum fz_decoded unscaled(const struct input *in, int scale, struct fz_value *out) {
    struct fz_buf *bytes = &in->d->bytes;
    if (bytes->len == 0 || bytes->len > 4096) {
        return foreign(in, "no bytes of a number");
    }
    if (scale > 100000 || scale < -100000) {
        return foreign(in, "a scale that no number has");
    }
    if (in->type->id == FZ_TYPE_STRING || in->type->id == FZ_TYPE_DOUBLE) {
        struct fz_buf text = {0};
        enum fz_decoded result = FZ_DECODED_NOMEM;
        if (fz_exact_print_bytes(&text, (const uint8_t *)bytes->ptr, bytes->len, scale)) {
            if (in->type->id == FZ_TYPE_STRING) {
                fz_buf_clear(bytes);
                fz_buf_append(bytes, text.ptr, text.len);
                result = keep_bytes(in, out);
            } else {
                result = number_text(in, (struct fz_str){text.ptr, text.len}, out);
            }
        }
        fz_buf_dispose(&text);
        return result;
    }
    __int128 v;
    if (!fz_decimal_from_bytes((const uint8_t *)bytes->ptr, bytes->len, &v)) {
        return foreign(in, "the number is too large for the column");
    }
    return exact(in, fz_exact_rescale(v, scale, in->type->id == FZ_TYPE_DECIMAL ? in->type->scale : 0, &v), &v, out);
}

static enum fz_decoded decode_decimal_bytes(const struct input *in, struct fz_value *out) {
    struct fz_str text;
    if (fz_json_peek(in->json) == FZ_JSON_NUMBER &&
        in->type->id != FZ_TYPE_STRING) { // in __debezium.oldkey headers decimals are numbers
        return fz_json_read_number(in->json, &text) ? number_text(in, text, out) : foreign(in, "not a number");
    }
    if (in->enc->scale < 0) {
        return foreign(in, "the scale is not known: the record has no schema; declare encoding: decimal-bytes(scale)");
    }
    enum fz_decoded result = base64_bytes(in);
    return result == FZ_DECODED_VALUE ? unscaled(in, in->enc->scale, out) : result;
}

static enum fz_decoded string_value(struct fz_str text, struct fz_value *out) {
    out->u.bytes = text.len == 0 ? FZ_STR_LIT("") : text;
    return FZ_DECODED_VALUE;
}

static enum fz_decoded decode_decimal_string(const struct input *in, struct fz_value *out) {
    struct fz_str text;
    double v;
    if (fz_json_peek(in->json) != FZ_JSON_STRING || !fz_json_read_string(in->json, &text)) {
        return foreign(in, "a number as text is wanted");
    }
    if (special(text, &v)) {
        return in->type->id == FZ_TYPE_STRING ? string_value(v > 0   ? FZ_STR_LIT("Infinity")
                                                             : v < 0 ? FZ_STR_LIT("-Infinity")
                                                                     : FZ_STR_LIT("NaN"),
                                                             out)
               : in->type->id == FZ_TYPE_DOUBLE ? real_of(in, v, out)
                                                : FZ_DECODED_BEYOND;
    }
    if (in->type->id == FZ_TYPE_STRING) {
        __int128 any;
        return fz_exact_from_text(text, 0, &any) == FZ_EXACT_NO_NUMBER ? foreign(in, "not a number")
                                                                       : string_value(text, out);
    }
    return number_text(in, text, out);
}

static enum fz_decoded decode_struct_scale(const struct input *in, struct fz_value *out) {
    bool first = true, have_value = false;
    int64_t scale = INT64_MIN;
    struct fz_str name;
    if (fz_json_peek(in->json) != FZ_JSON_OBJECT || !fz_json_enter(in->json, '{')) {
        return foreign(in, "an object {\"scale\", \"value\"} is wanted");
    }
    while (fz_json_next_member(in->json, &first, &name)) {
        if (fz_str_eq(name, FZ_STR_LIT("scale"))) {
            if (!fz_json_read_i64(in->json, &scale)) {
                break;
            }
        } else if (fz_str_eq(name, FZ_STR_LIT("value"))) {
            enum fz_decoded result = base64_bytes(in);
            if (result != FZ_DECODED_VALUE) {
                return result;
            }
            have_value = true;
        } else if (!fz_json_skip(in->json, NULL)) {
            break;
        }
    }
    if (in->json->error != NULL || !have_value || scale < -100000 || scale > 100000) {
        return foreign(in, "an object {\"scale\", \"value\"} is wanted");
    }
    return unscaled(in, (int)scale, out);
}

static enum fz_decoded decode_unsigned64(const struct input *in, struct fz_value *out) {
    struct fz_str text;
    __int128 v = 0;
    if (fz_json_peek(in->json) != FZ_JSON_NUMBER || !fz_json_read_number(in->json, &text) ||
        fz_exact_from_text(text, 0, &v) != FZ_EXACT_OK || v < INT64_MIN || v > UINT64_MAX) {
        return foreign(in, "a whole number of 64 bits is wanted");
    }
    if (v < 0) {
        v += (__int128)1 << 64;
    }
    return exact(in, fz_exact_rescale(v, 0, in->type->scale, &v), &v, out);
}

static enum fz_decoded decode_plain(const struct input *in, struct fz_value *out) {
    struct fz_str text;
    switch (in->type->id) {
    case FZ_TYPE_BOOLEAN:
        return fz_json_peek(in->json) == FZ_JSON_BOOL && fz_json_read_bool(in->json, &out->u.boolean)
                   ? FZ_DECODED_VALUE
                   : foreign(in, "true or false is wanted");
    case FZ_TYPE_STRING:
        return fz_json_peek(in->json) == FZ_JSON_STRING && fz_json_read_string(in->json, &text)
                   ? string_value(text, out)
                   : foreign(in, "text is wanted");
    default: // numbers
        return fz_json_peek(in->json) == FZ_JSON_NUMBER && fz_json_read_number(in->json, &text)
                   ? number_text(in, text, out)
                   : foreign(in, "a number is wanted");
    }
}

// ---- dates and times

static enum fz_decoded decode_epoch_days(const struct input *in, struct fz_value *out) {
    static const int64_t INFINITE[] = {-2147472692, -2147472691, -622191234,
                                       -625821272}; // what the connector makes of ±infinity
    enum fz_decoded result = whole(in, &out->u.i64);
    for (size_t i = 0; result == FZ_DECODED_VALUE && i < 4; i++) {
        if (out->u.i64 == INFINITE[i]) {
            return FZ_DECODED_BEYOND;
        }
    }
    return result == FZ_DECODED_VALUE && (out->u.i64 > INT32_MAX || out->u.i64 < INT32_MIN) ? FZ_DECODED_BEYOND
                                                                                            : result;
}

static enum fz_decoded decode_epoch(const struct input *in, struct fz_value *out) {
    enum fz_decoded result = whole(in, &out->u.i64);
    if (result != FZ_DECODED_VALUE) {
        return result;
    }
    int64_t v = out->u.i64;
    if (in->enc->kind == FZ_ENC_EPOCH_NANOS) {
        out->u.i64 = v / 1000 - (v % 1000 < 0);
    } else if (in->enc->kind == FZ_ENC_EPOCH_MILLIS && __builtin_mul_overflow(v, INT64_C(1000), &out->u.i64)) {
        return FZ_DECODED_BEYOND;
    }
    // PostgreSQL's infinity, as the connector writes it
    return out->u.i64 == INT64_C(9223372036825200000) || out->u.i64 == INT64_C(-9223372036832400000) ? FZ_DECODED_BEYOND
                                                                                                     : FZ_DECODED_VALUE;
}

static enum fz_decoded decode_of_day(const struct input *in, struct fz_value *out) {
    enum fz_decoded result = whole(in, &out->u.i64);
    if (result != FZ_DECODED_VALUE || in->type->id == FZ_TYPE_LONG) {
        return result;
    }
    int64_t v = out->u.i64;
    if (in->enc->kind == FZ_ENC_NANOS_OF_DAY) {
        out->u.i64 = v / 1000;
    } else if (in->enc->kind == FZ_ENC_MILLIS_OF_DAY && __builtin_mul_overflow(v, INT64_C(1000), &out->u.i64)) {
        return FZ_DECODED_BEYOND;
    }
    return v < 0 || out->u.i64 >= DAY_US ? FZ_DECODED_BEYOND : FZ_DECODED_VALUE;
}

static enum fz_decoded decode_micros(const struct input *in, struct fz_value *out) {
    return whole(in, &out->u.i64);
}

static enum fz_decoded iso(const struct input *in, enum fz_iso result) {
    return result == FZ_ISO_OK       ? FZ_DECODED_VALUE
           : result == FZ_ISO_BEYOND ? FZ_DECODED_BEYOND
                                     : foreign(in, "not an ISO 8601 date or time of this kind");
}

static enum fz_decoded decode_iso(const struct input *in, struct fz_value *out) {
    struct fz_str text;
    if (fz_json_peek(in->json) != FZ_JSON_STRING || !fz_json_read_string(in->json, &text)) {
        return foreign(in, "a date or time as ISO 8601 text is wanted");
    }
    if (fz_str_eq(text, FZ_STR_LIT("infinity")) || fz_str_eq(text, FZ_STR_LIT("-infinity"))) {
        return FZ_DECODED_BEYOND;
    }
    int zone = in->enc->kind == FZ_ENC_ISO_LOCAL ? FZ_ISO_ZONE_IGNORED : FZ_ISO_ZONE_REQUIRED;
    switch (in->type->id) {
    case FZ_TYPE_DATE:
        return iso(in, fz_iso_date(text, &out->u.i64));
    case FZ_TYPE_TIME:
        return iso(in, fz_iso_time(text, zone, &out->u.i64));
    default: // the timestamps
        return iso(in, fz_iso_timestamp(text, zone, &out->u.i64));
    }
}

// ---- text and bytes

static enum fz_decoded decode_text(const struct input *in, struct fz_value *out) {
    struct fz_str text;
    if (fz_json_peek(in->json) != FZ_JSON_STRING || !fz_json_read_string(in->json, &text)) {
        return foreign(in, "text is wanted");
    }
    if (in->enc->kind == FZ_ENC_JSON_TEXT || in->enc->kind == FZ_ENC_JSON_OBJECT) {
        struct fz_json inner;
        fz_json_init(&inner, text, in->d->arena);
        if ((in->enc->kind == FZ_ENC_JSON_OBJECT && fz_json_peek(&inner) != FZ_JSON_OBJECT) ||
            !fz_json_skip(&inner, NULL) || !fz_json_at_end(&inner)) {
            return foreign(in, "the text is not JSON");
        }
    }
    return string_value(text, out);
}

static enum fz_decoded decode_base64(const struct input *in, struct fz_value *out) {
    enum fz_decoded result = base64_bytes(in);
    if (result == FZ_DECODED_VALUE && in->type->id == FZ_TYPE_FIXED && in->d->bytes.len != (size_t)in->type->length) {
        return foreign(in, "bytes of another length than the column's");
    }
    return result == FZ_DECODED_VALUE ? keep_bytes(in, out) : result;
}

static enum fz_decoded decode_hex(const struct input *in, struct fz_value *out) {
    struct fz_str text;
    if (fz_json_peek(in->json) != FZ_JSON_STRING || !fz_json_read_string(in->json, &text)) {
        return foreign(in, "bytes in hex are wanted");
    }
    fz_buf_clear(&in->d->bytes);
    if (!fz_hex_decode(&in->d->bytes, text)) {
        return in->d->bytes.failed ? FZ_DECODED_NOMEM : foreign(in, "not bytes in hex");
    }
    if (in->type->id == FZ_TYPE_FIXED && in->d->bytes.len != (size_t)in->type->length) {
        return foreign(in, "bytes of another length than the column's");
    }
    return keep_bytes(in, out);
}

static enum fz_decoded decode_uuid(const struct input *in, struct fz_value *out) {
    struct fz_str text;
    unsigned __int128 v = 0;
    if (fz_json_peek(in->json) != FZ_JSON_STRING || !fz_json_read_string(in->json, &text) || text.len != 36) {
        return foreign(in, "a UUID as text is wanted");
    }
    for (size_t i = 0; i < 36; i++) {
        char c = text.ptr[i];
        if (i == 8 || i == 13 || i == 18 || i == 23) {
            if (c != '-') {
                return foreign(in, "not a UUID");
            }
            continue;
        }
        unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
                         : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A' + 10)
                                                : 16u;
        if (digit > 15) {
            return foreign(in, "not a UUID");
        }
        v = v << 4 | digit;
    }
    if (in->type->id == FZ_TYPE_STRING) {
        return string_value(text, out);
    }
    out->u.i128 = fz_i128_of((__int128)v);
    return FZ_DECODED_VALUE;
}

static enum fz_decoded decode_json_raw(const struct input *in, struct fz_value *out) {
    struct fz_str text;
    if (fz_json_peek(in->json) == FZ_JSON_STRING) {
        return fz_json_read_string(in->json, &text) ? string_value(text, out) : foreign(in, "text is wanted");
    }
    return fz_json_skip(in->json, &text) ? string_value(text, out) : foreign(in, "JSON is wanted");
}

// ---- nested

static enum fz_decoded add_item(const struct input *in, struct fz_value **items, size_t *n, size_t *cap,
                                struct fz_value **out) {
    if (*n == *cap) {
        size_t more = *cap == 0 ? 8 : *cap * 2;
        struct fz_value *grown = more > MAX_ELEMENTS * 2 ? NULL : fz_arena_array(in->d->arena, more, sizeof *grown);
        if (grown == NULL) {
            return more > MAX_ELEMENTS * 2 ? foreign(in, "more than a million elements") : FZ_DECODED_NOMEM;
        }
        if (*n > 0) {
            memcpy(grown, *items, *n * sizeof *grown);
        }
        *items = grown;
        *cap = more;
    }
    *out = &(*items)[(*n)++];
    return FZ_DECODED_VALUE;
}

// An element: what is beyond its type is NULL inside, a placeholder among other elements is none.
static enum fz_decoded element(const struct input *in, const struct fz_cdc_encoding *enc, const struct fz_type *type,
                               struct fz_value *out) {
    enum fz_decoded result = fz_cdc_decode_value(in->d, in->json, enc, type, out);
    if (result == FZ_DECODED_BEYOND) {
        in->d->inner_beyond = true;
        *out = fz_value_null(type);
        return FZ_DECODED_VALUE;
    }
    if (result == FZ_DECODED_VALUE && !out->is_null && type->id == FZ_TYPE_STRING && out->u.bytes.len > 12 &&
        memcmp(out->u.bytes.ptr, "[Ljava.lang.", 12) == 0) { // an inner array that the connector lost
        in->d->inner_beyond = true;
        *out = fz_value_null(type);
    }
    return result;
}

static enum fz_decoded decode_list(const struct input *in, struct fz_value *out) {
    bool first = true, unavailable = false;
    struct fz_value *items = NULL, *item;
    size_t n = 0, cap = 0;
    struct fz_json *json = in->json;
    if (fz_json_peek(json) != FZ_JSON_ARRAY) {
        return foreign(in, "an array is wanted");
    }
    size_t codes = in->d->placeholder_codes.len; // int[] not sent again: the placeholder's character codes
    if ((size_t)(json->end - json->p) >= codes && memcmp(json->p, in->d->placeholder_codes.ptr, codes) == 0) {
        json->p += codes;
        return FZ_DECODED_UNAVAILABLE;
    }
    fz_json_enter(json, '[');
    while (fz_json_next_element(json, &first)) {
        enum fz_decoded result = add_item(in, &items, &n, &cap, &item);
        if (result == FZ_DECODED_VALUE) {
            result = element(in, in->enc->element, in->type->fields[0].type, item);
        }
        if (result == FZ_DECODED_UNAVAILABLE && n == 1) {
            unavailable = true;
        } else if (result != FZ_DECODED_VALUE) {
            return result == FZ_DECODED_UNAVAILABLE ? foreign(in, "a placeholder among other elements") : result;
        }
    }
    if (json->error != NULL || (unavailable && n > 1)) {
        return foreign(in, "a placeholder among other elements");
    }
    out->u.nested.items = items;
    out->u.nested.n = n;
    return unavailable ? FZ_DECODED_UNAVAILABLE : FZ_DECODED_VALUE;
}

static enum fz_decoded decode_map(const struct input *in, struct fz_value *out) {
    bool first = true, unavailable = false;
    struct fz_value *items = NULL, *key, *value;
    size_t n = 0, cap = 0;
    struct fz_str name;
    if (fz_json_peek(in->json) != FZ_JSON_OBJECT) {
        return foreign(in, "an object is wanted");
    }
    fz_json_enter(in->json, '{');
    while (fz_json_next_member(in->json, &first, &name)) {
        enum fz_decoded result = add_item(in, &items, &n, &cap, &key);
        if (result == FZ_DECODED_VALUE) {
            key->type = in->type->fields[0].type;
            string_value(name, key);
            result = add_item(in, &items, &n, &cap, &value);
        }
        if (result == FZ_DECODED_VALUE) {
            result = element(in, in->enc->element, in->type->fields[1].type, value);
        }
        unavailable = unavailable || fz_str_eq(name, in->d->placeholder);
        if (result != FZ_DECODED_VALUE && result != FZ_DECODED_UNAVAILABLE) {
            return result;
        }
    }
    if (in->json->error != NULL) {
        return foreign(in, "an object is wanted");
    }
    out->u.nested.items = items;
    out->u.nested.n = n;
    return unavailable ? FZ_DECODED_UNAVAILABLE : FZ_DECODED_VALUE;
}

static enum fz_decoded decode_struct(const struct input *in, struct fz_value *out) {
    static const struct fz_cdc_encoding number = {.kind = FZ_ENC_NUMBER};
    size_t n = in->type->n_fields;
    struct fz_value *items = fz_arena_array(in->d->arena, n, sizeof *items);
    bool first = true;
    struct fz_str name;
    if (items == NULL) {
        return FZ_DECODED_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        items[i] = fz_value_null(in->type->fields[i].type);
    }
    if (fz_json_peek(in->json) != FZ_JSON_OBJECT) {
        return foreign(in, "an object is wanted");
    }
    fz_json_enter(in->json, '{');
    while (fz_json_next_member(in->json, &first, &name)) {
        size_t i = 0;
        while (i < n && !fz_str_eq(name, fz_str_of(in->type->fields[i].name))) {
            i++;
        }
        if (i == n) {
            if (!fz_json_skip(in->json, NULL)) {
                break;
            }
            continue;
        }
        enum fz_decoded result = element(in, in->enc->kind == FZ_ENC_POINT ? &number : &in->enc->fields[i],
                                         in->type->fields[i].type, &items[i]);
        if (result != FZ_DECODED_VALUE) {
            return result == FZ_DECODED_UNAVAILABLE ? foreign(in, "a placeholder inside an object") : result;
        }
    }
    if (in->json->error != NULL) {
        return foreign(in, "an object is wanted");
    }
    out->u.nested.items = items;
    out->u.nested.n = n;
    return FZ_DECODED_VALUE;
}

// ---- entry

static const decode_fn DECODE[] = {
    [FZ_ENC_PLAIN] = decode_plain,
    [FZ_ENC_NUMBER] = decode_number,
    [FZ_ENC_DECIMAL_BYTES] = decode_decimal_bytes,
    [FZ_ENC_DECIMAL_STRING] = decode_decimal_string,
    [FZ_ENC_STRUCT_SCALE] = decode_struct_scale,
    [FZ_ENC_UNSIGNED64] = decode_unsigned64,
    [FZ_ENC_EPOCH_DAYS] = decode_epoch_days,
    [FZ_ENC_EPOCH_MILLIS] = decode_epoch,
    [FZ_ENC_EPOCH_MICROS] = decode_epoch,
    [FZ_ENC_EPOCH_NANOS] = decode_epoch,
    [FZ_ENC_MILLIS_OF_DAY] = decode_of_day,
    [FZ_ENC_MICROS_OF_DAY] = decode_of_day,
    [FZ_ENC_NANOS_OF_DAY] = decode_of_day,
    [FZ_ENC_MICROS] = decode_micros,
    [FZ_ENC_ISO_ZONED] = decode_iso,
    [FZ_ENC_ISO_TIME_ZONED] = decode_iso,
    [FZ_ENC_ISO_LOCAL] = decode_iso,
    [FZ_ENC_INTERVAL_MICROS] = decode_micros,
    [FZ_ENC_ISO_PERIOD] = decode_text,
    [FZ_ENC_BASE64] = decode_base64,
    [FZ_ENC_HEX] = decode_hex,
    [FZ_ENC_BIT_LE] = decode_base64,
    [FZ_ENC_JSON_TEXT] = decode_text,
    [FZ_ENC_JSON_OBJECT] = decode_text,
    [FZ_ENC_MAP] = decode_map,
    [FZ_ENC_LIST] = decode_list,
    [FZ_ENC_UUID_TEXT] = decode_uuid,
    [FZ_ENC_ENUM_TEXT] = decode_text,
    [FZ_ENC_POINT] = decode_struct,
    [FZ_ENC_STRUCT] = decode_struct,
    [FZ_ENC_JSON_RAW] = decode_json_raw,
};

// A string value that is the placeholder: its opening quote stands at json->p.
static bool is_placeholder(const struct fz_value_decoder *d, const struct fz_json *json) {
    const struct fz_str *forms[] = {&d->placeholder, &d->placeholder_base64, &d->placeholder_hex};
    for (size_t i = 0; i < 3; i++) {
        size_t n = forms[i]->len;
        if ((size_t)(json->end - json->p) >= n + 2 && json->p[1] == forms[i]->ptr[0] && json->p[n + 1] == '"' &&
            memcmp(json->p + 1, forms[i]->ptr, n) == 0) {
            return true;
        }
    }
    return false;
}

enum fz_decoded fz_cdc_decode_value(struct fz_value_decoder *d, struct fz_json *json,
                                    const struct fz_cdc_encoding *encoding, const struct fz_type *type,
                                    struct fz_value *out) {
    struct input in = {d, json, encoding, type};
    enum fz_json_kind kind = fz_json_peek(json);
    *out = (struct fz_value){.type = type};
    if (kind == FZ_JSON_NULL) {
        out->is_null = true;
        return fz_json_read_null(json) ? FZ_DECODED_VALUE : foreign(&in, "not JSON");
    }
    if (kind == FZ_JSON_END) {
        return foreign(&in, "a value is missing");
    }
    if (kind == FZ_JSON_STRING && is_placeholder(d, json)) {
        out->is_null = true;
        return fz_json_skip(json, NULL) ? FZ_DECODED_UNAVAILABLE : foreign(&in, "not JSON");
    }
    enum fz_decoded result = DECODE[encoding->kind](&in, out);
    if (result == FZ_DECODED_BEYOND || result == FZ_DECODED_UNAVAILABLE) {
        *out = fz_value_null(type);
    }
    return result;
}

// ---- defaults

static enum fz_cdc_encoding_kind text_encoding(const struct fz_type *type) {
    switch (type->id) {
    case FZ_TYPE_DATE:
    case FZ_TYPE_TIME:
    case FZ_TYPE_TIMESTAMP:
        return FZ_ENC_ISO_LOCAL;
    case FZ_TYPE_TIMESTAMPTZ:
        return FZ_ENC_ISO_ZONED;
    case FZ_TYPE_DECIMAL:
    case FZ_TYPE_DOUBLE:
    case FZ_TYPE_INT:
    case FZ_TYPE_LONG:
        return FZ_ENC_DECIMAL_STRING;
    case FZ_TYPE_UUID:
        return FZ_ENC_UUID_TEXT;
    case FZ_TYPE_BINARY:
    case FZ_TYPE_FIXED:
        return FZ_ENC_HEX;
    default:
        return FZ_ENC_PLAIN; // string; boolean, float as they stand; nested: refused
    }
}

enum fz_code fz_cdc_default_parse(struct fz_arena *arena, const char *text, const struct fz_type *type,
                                  const struct fz_value **out, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    struct fz_value_decoder d = {.arena = arena,
                                 .placeholder = FZ_STR_LIT("\x01"),
                                 .placeholder_base64 = FZ_STR_LIT("\x01"),
                                 .placeholder_hex = FZ_STR_LIT("\x01"),
                                 .placeholder_codes = FZ_STR_LIT("\x01")};
    struct fz_buf json_text = {0};
    struct fz_cdc_encoding encoding = {.kind = text_encoding(type)};
    struct fz_value value;
    struct fz_json json;
    if (type->id == FZ_TYPE_BOOLEAN || type->id == FZ_TYPE_FLOAT) {
        fz_buf_puts(&json_text, text);
    } else {
        fz_json_quote(&json_text, fz_str_of(text));
    }
    FZ_TRY(fz_buf_check(&json_text, err));
    fz_json_init(&json, (struct fz_str){json_text.ptr, json_text.len}, arena);
    enum fz_decoded result =
        type->n_fields > 0 ? FZ_DECODED_FOREIGN : fz_cdc_decode_value(&d, &json, &encoding, type, &value);
    if (result != FZ_DECODED_VALUE || !fz_json_at_end(&json)) {
        struct fz_buf name = {0};
        fz_type_print_sql(&name, type);
        rc = fz_fail(err, FZ_INVALID_ARG, "default \"%s\" is no %s", text,
                     name.ptr == NULL ? "value of the type" : name.ptr);
        fz_buf_dispose(&name);
        goto out;
    }
    *out = fz_value_copy(arena, &value);
    rc = *out == NULL ? fz_fail_nomem(err, sizeof value) : FZ_OK;
out:
    fz_buf_dispose(&json_text);
    fz_value_decoder_dispose(&d);
    return rc;
}
