// Text helpers: UTF-8, base64, hex, URL encoding, number parsing, edit distance. Locale-independent throughout.
#ifndef FZ_BASE_TEXT_H
#define FZ_BASE_TEXT_H

#include "base/mem.h"

bool fz_utf8_valid(const char *text, size_t len); // rejects overlong forms, surrogates, > U+10FFFF
size_t fz_utf8_truncate(const char *text, size_t len, size_t n_chars); // bytes of the first n code points of valid text
size_t fz_utf8_length(const char *text, size_t len); // code points of valid text
int fz_strcasecmp(const char *a, const char *b); // as Java's equalsIgnoreCase: ASCII, Latin, Greek, Cyrillic, Armenian
bool fz_str_ieq(struct fz_str a, struct fz_str b); // ASCII only
bool fz_parse_i64(struct fz_str text, int64_t *out); // optional sign, digits only, whole text, checked
bool fz_parse_double(struct fz_str text, double *out); // decimal or exponent form, whole text; no inf/nan/hex
void fz_base64_encode(struct fz_buf *out, const void *data, size_t len);
bool fz_base64_decode(struct fz_buf *out,
                      struct fz_str text); // false on any character outside the alphabet or bad padding
void fz_hex_encode(struct fz_buf *out, const void *data, size_t len); // lower case
bool fz_hex_decode(struct fz_buf *out, struct fz_str text);
void fz_url_encode(struct fz_buf *out, struct fz_str text); // as java.net.URLEncoder (UTF-8): space is +, keeps . - * _
size_t fz_edit_distance(struct fz_str a, struct fz_str b); // ASCII-case-insensitive, for "did you mean"
void fz_json_quote(struct fz_buf *out, struct fz_str text); // with the quotes; control characters as \uXXXX
void fz_json_text(struct fz_buf *out,
                  struct fz_str text); // the same as Jackson does: \b \f \n \r \t, upper-case \u00XX
void fz_format_double(struct fz_buf *out, double v); // shortest text that reads back: 0.1, 3.0, 1e+16, NaN, Infinity
void fz_format_float(struct fz_buf *out, float v);
void fz_java_double(struct fz_buf *out, double v); // Double.toString: 1.0E20
void fz_java_float(struct fz_buf *out, float v);
// Civil dates, proleptic Gregorian.
int64_t fz_days_from_civil(int64_t y, int m, int d);
void fz_civil_from_days(int64_t days, int64_t *y, int *m, int *d);
void fz_format_date(struct fz_buf *out, int32_t days); // 2024-01-31
void fz_format_timestamp(struct fz_buf *out, int64_t micros,
                         char separator); // 2024-01-31 23:59:59[.fraction without trailing zeros]

#endif
