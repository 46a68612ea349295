// DuckDB's errors as frazil's: the only place that reads message texts (conventions.md "Errors"). Which class means what is
// duckdb-facts.md section e; which text is which Spark condition is spark-on-duckdb.md section 11. Texts are not a stable
// interface of DuckDB, so the printer raises through error('CONDITION: text') wherever it can and these tables cover the rest.
#include <ctype.h>

#include "duck/duck_priv.h"

// First callback error of a statement wins.
void fz_duck_slot_put(struct fz_duck *duck, const struct fz_err *err) {
    pthread_mutex_lock(&duck->lock);
    if (duck->slot.code == FZ_OK) {
        duck->slot = *err;
    }
    pthread_mutex_unlock(&duck->lock);
}

struct class_row {
    const char *exception_type;
    enum fz_code code;
};
static const struct class_row class_rows[] = {
    {"Conversion", FZ_CONSTRAINT},
    {"Out of Range", FZ_CONSTRAINT},
    {"Divide by Zero", FZ_CONSTRAINT},
    {"Decimal", FZ_CONSTRAINT},
    {"Invalid Input", FZ_INVALID_ARG},
    {"Syntax", FZ_INVALID_ARG},
    {"Object Size", FZ_LIMIT},
    {"Parser", FZ_BUG},
    {"Binder", FZ_BUG},
    {"Catalog", FZ_BUG},
    {"Planner", FZ_BUG},
    {"Parameter Not Resolved", FZ_BUG},
    {"Parameter Not Allowed", FZ_BUG},
    {"Constraint", FZ_BUG},
    {"TransactionContext", FZ_BUG},
    {"Mismatch Type", FZ_BUG},
    {"Invalid type", FZ_BUG},
    {"Dependency", FZ_BUG},
    {"Not implemented", FZ_UNSUPPORTED},
    {"Missing Extension", FZ_UNSUPPORTED},
    {"Extension Autoloading", FZ_UNSUPPORTED},
    {"HTTP", FZ_NET},
    {"IO", FZ_IO},
    {"Permission", FZ_IO},
    {"Out of Memory", FZ_LIMIT},
    {"INTERRUPT", FZ_CANCELLED},
    {"INTERNAL", FZ_ENGINE},
    {"FATAL", FZ_ENGINE},
};

struct text_row {
    const char *exception_type;
    const char *start; // the message begins with this (ASCII letters of any case); NULL: anything
    const char *inside; // and holds this; NULL: anything
    const char *condition;
    enum fz_code code;
};
static const struct text_row text_rows[] = {
    {"Out of Range", "Overflow", "of INT8", "BINARY_ARITHMETIC_OVERFLOW", FZ_CONSTRAINT},
    {"Out of Range", "Overflow", "of INT16", "BINARY_ARITHMETIC_OVERFLOW", FZ_CONSTRAINT},
    {"Out of Range", "Overflow", NULL, "ARITHMETIC_OVERFLOW", FZ_CONSTRAINT},
    {"Out of Range", "SUM is out of range", NULL, "ARITHMETIC_OVERFLOW", FZ_CONSTRAINT},
    {"Out of Range", NULL, "out of range", "ARITHMETIC_OVERFLOW", FZ_CONSTRAINT},
    {"Divide by Zero", NULL, NULL, "DIVIDE_BY_ZERO", FZ_CONSTRAINT},
    {"Conversion", "Type INT128", "type INT64", "ARITHMETIC_OVERFLOW",
     FZ_CONSTRAINT}, // sums are wider than their result
    {"Conversion", "Type ", "can't be cast", "CAST_OVERFLOW", FZ_CONSTRAINT},
    {"Conversion", "Failed to cast decimal value", NULL, "CAST_OVERFLOW", FZ_CONSTRAINT},
    {"Conversion", "Casting value", "to type DECIMAL", "NUMERIC_VALUE_OUT_OF_RANGE", FZ_CONSTRAINT},
    {"Conversion", "Could not cast value", "to DECIMAL", "NUMERIC_VALUE_OUT_OF_RANGE", FZ_CONSTRAINT},
    {"Conversion", "Date out of range", NULL, "DATETIME_FIELD_OUT_OF_BOUNDS", FZ_CONSTRAINT},
    {"Conversion", "Failure in decode", NULL, "MALFORMED_CHARACTER_CODING", FZ_CONSTRAINT},
    {"Conversion", NULL, NULL, "CAST_INVALID_INPUT", FZ_CONSTRAINT},
    {"Invalid Input", "Could not parse string", "according to format specifier", "CANNOT_PARSE_TIMESTAMP",
     FZ_CONSTRAINT},
    {"Invalid Input", "More than one row returned by a subquery", NULL, "SCALAR_SUBQUERY_TOO_MANY_ROWS", FZ_CONSTRAINT},
    {"Binder", "interval cannot be 0", NULL, "FAILED_FUNCTION_CALL", FZ_INVALID_ARG},
    {"Syntax", "Like pattern must not end with escape character", NULL, "INVALID_FORMAT.ESC_AT_THE_END", FZ_CONSTRAINT},
    {"IO", "No files found that match", NULL, "PATH_NOT_FOUND", FZ_NOT_FOUND},
};

// What a bare condition says to people.
static const struct {
    const char *condition, *text;
} condition_texts[] = {
    {"DIVIDE_BY_ZERO", "division by zero; try_divide gives NULL instead"},
    {"REMAINDER_BY_ZERO", "remainder by zero; try_mod gives NULL instead"},
    {"ARITHMETIC_OVERFLOW",
     "a number is too large for the result type; the try_ function of the operator gives NULL instead"},
    {"CAST_OVERFLOW", "a value does not fit the type it is cast to; try_cast gives NULL instead"},
    {"INVALID_VARIANT_CAST",
     "a value in a variant cannot be cast to the wanted type; try_variant_get gives NULL instead"},
    {"INVALID_VARIANT_GET_PATH", "a path into a variant is not one; paths look like $.name['name'][0]"},
    {"MALFORMED_RECORD_IN_PARSING.WITHOUT_SUGGESTION",
     "a text is not JSON, or an object has a name twice; try_parse_json gives NULL instead"},
    {"CAST_INVALID_INPUT", "a text cannot be cast to the wanted type; try_cast gives NULL instead"},
    {"NUMERIC_VALUE_OUT_OF_RANGE", "a number does not fit the decimal type; try_cast gives NULL instead"},
    {"INVALID_ARRAY_INDEX", "an array index is out of bounds; get() or try_element_at() gives NULL instead"},
    {"MERGE_CARDINALITY_VIOLATION",
     "the ON condition matched a row of the target with more than one row of the source"},
    {"NOT_NULL_ASSERT_VIOLATION", "NULL cannot be written to a column that is NOT NULL"},
    {"SCALAR_SUBQUERY_TOO_MANY_ROWS", "a subquery used as a value returned more than one row"},
    {"CANNOT_PARSE_TIMESTAMP",
     "a text is no date or time of the pattern; the try_ function of the same name gives NULL instead"},
    {"CANNOT_DECODE_URL", "a text is not URL-encoded; try_url_decode gives NULL instead"},
    {"CONVERSION_INVALID_INPUT", "a text is not of the wanted encoding; the try_ function gives NULL instead"},
    {"DATETIME_FIELD_OUT_OF_BOUNDS", "a part of a date or time is out of its range, such as month 13"},
    {"DUPLICATED_MAP_KEY", "a map would have a key twice"},
    {"ILLEGAL_DAY_OF_WEEK", "a text is no day of the week, such as MON or Monday"},
    {"INTERVAL_DIVIDED_BY_ZERO", "an interval is divided by zero"},
    {"INVALID_ARRAY_INDEX_IN_ELEMENT_AT",
     "element_at: an index is out of the bounds of its array; try_element_at gives NULL instead"},
    {"INVALID_FORMAT.MISMATCH_INPUT", "a text does not have the wanted format; try_to_number gives NULL instead"},
    {"INVALID_INDEX_OF_ZERO", "an array index is 0; the first element has the index 1"},
    {"INVALID_PARAMETER_VALUE.PATTERN", "a pattern is not a regular expression"},
    {"INVALID_PARAMETER_VALUE.REGEX_GROUP_INDEX", "the regular expression has fewer groups than the index asks for"},
    {"INVALID_TIMEZONE", "a text is no time zone; names are like Europe/Berlin, offsets like +02:00"},
    {"NULL_MAP_KEY", "NULL cannot be the key of a map"},
    {"NUMERIC_VALUE_OUT_OF_RANGE.WITH_SUGGESTION",
     "a number does not fit the decimal type; try_cast gives NULL instead"},
    {"SEQUENCE_WRONG_STEP", "sequence: the step must lead from the start towards the end and not be 0"},
};

// "COND" or "COND: text"; condition names are upper case with digits, underscores and dots.
static bool split_condition(const char *message, char *condition, size_t size, const char **text) {
    size_t n = 0;
    while (isupper((unsigned char)message[n]) || isdigit((unsigned char)message[n]) || message[n] == '_' ||
           (message[n] == '.' && n > 0)) {
        n++;
    }
    bool name = n >= 4 && n < size && isupper((unsigned char)message[0]);
    if (!name || (message[n] != 0 && (message[n] != ':' || message[n + 1] != ' '))) {
        return false;
    }
    memcpy(condition, message, n);
    condition[n] = 0;
    *text = message[n] ? message + n + 2 : NULL;
    return true;
}

static enum fz_code condition_code(const char *condition) {
    if (strncmp(condition, "INVALID_VARIANT_", 16) == 0 || strcmp(condition, "SEQUENCE_WRONG_STEP") == 0) {
        return FZ_INVALID_ARG;
    }
    return strcmp(condition, "MERGE_CARDINALITY_VIOLATION") == 0 ? FZ_CARDINALITY : FZ_CONSTRAINT;
}

static const char *condition_text(const char *condition) {
    for (size_t i = 0; i < sizeof condition_texts / sizeof condition_texts[0]; i++) {
        if (strcmp(condition_texts[i].condition, condition) == 0) {
            return condition_texts[i].text;
        }
    }
    return "the statement raised this condition";
}

void fz_duck_map_message(const char *exception_type, const char *message, struct fz_err *err) {
    char condition[sizeof err->condition];
    const char *text = NULL;
    bool thrown = strcmp(exception_type, "Invalid Input") == 0;
    if (thrown && split_condition(message, condition, sizeof condition, &text)) {
        fz_fail_cond(err, condition_code(condition), condition, "%s", text ? text : condition_text(condition));
        err->flags |= FZ_ERR_USER_FAULT;
        return;
    }
    for (size_t i = 0; i < sizeof text_rows / sizeof text_rows[0]; i++) {
        const struct text_row *row = &text_rows[i];
        if (strcmp(row->exception_type, exception_type) == 0 &&
            (!row->start || strncasecmp(message, row->start, strlen(row->start)) == 0) &&
            (!row->inside || strcasestr(message, row->inside))) {
            bool hints = strcmp(row->condition, "SCALAR_SUBQUERY_TOO_MANY_ROWS") == 0; // at settings that are not ours
            fz_fail_cond(err, row->code, row->condition, "%s", hints ? condition_text(row->condition) : message);
            err->flags |= FZ_ERR_USER_FAULT;
            return;
        }
    }
    enum fz_code code = FZ_ENGINE;
    for (size_t i = 0; i < sizeof class_rows / sizeof class_rows[0]; i++) {
        if (strcmp(class_rows[i].exception_type, exception_type) == 0) {
            code = class_rows[i].code;
        }
    }
    fz_fail(err, code, "%s", message);
    if (code == FZ_CONSTRAINT || code == FZ_INVALID_ARG) {
        err->flags |= FZ_ERR_USER_FAULT;
    }
}

static int hex_digit(char c) {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

// The JSON text after its opening quote; returns the byte after the closing one, NULL when the text is broken.
static const char *read_json_text(const char *p, struct fz_buf *out) {
    for (; *p && *p != '"'; p++) {
        if (*p != '\\') {
            fz_buf_putc(out, *p);
            continue;
        }
        p++;
        switch (*p) {
        case 'n':
            fz_buf_putc(out, '\n');
            break;
        case 't':
            fz_buf_putc(out, '\t');
            break;
        case 'r':
        case 'b':
        case 'f':
            break;
        case 'u': {
            unsigned code = 0;
            for (int i = 1; i <= 4; i++) {
                int digit = hex_digit(p[i]);
                if (digit < 0) {
                    return NULL;
                }
                code = code * 16 + (unsigned)digit;
            }
            p += 4;
            if (code < 0x80) { // the engine escapes control characters only
                fz_buf_putc(out, code >= 0x20 ? (char)code : ' ');
            } else {
                fz_buf_putc(out, '?');
            }
            break;
        }
        case 0:
            return NULL;
        default:
            fz_buf_putc(out, *p);
        }
    }
    return *p == '"' ? p + 1 : NULL;
}

// A flat JSON object with text members: what errors_as_json gives.
static bool read_json_error(const char *p, struct fz_buf *type, struct fz_buf *message) {
    struct fz_buf key = {0}, other = {0};
    bool ok = *p == '{';
    p += ok;
    while (ok) {
        while (*p == ' ' || *p == ',' || *p == '\n') {
            p++;
        }
        if (*p == '}') {
            break;
        }
        fz_buf_clear(&key);
        ok = *p == '"' && (p = read_json_text(p + 1, &key)) != NULL;
        while (ok && (*p == ' ' || *p == ':')) {
            p++;
        }
        if (!ok || *p != '"') {
            ok = false;
            break;
        }
        fz_buf_clear(&other);
        struct fz_buf *to = !key.ptr                                    ? &other
                            : strcmp(key.ptr, "exception_type") == 0    ? type
                            : strcmp(key.ptr, "exception_message") == 0 ? message
                                                                        : &other;
        fz_buf_clear(to);
        p = read_json_text(p + 1, to);
        ok = p != NULL;
    }
    fz_buf_dispose(&key);
    fz_buf_dispose(&other);
    return ok && type->len > 0 && message->ptr != NULL;
}

// "Invalid Input Error: text" → type and text.
static void read_plain_error(const char *text, struct fz_buf *type, struct fz_buf *message) {
    const char *mark = strstr(text, " Error: ");
    if (mark && mark - text < 40) {
        fz_buf_append(type, text, (size_t)(mark - text));
        fz_buf_puts(message, mark + strlen(" Error: "));
    } else {
        fz_buf_puts(type, "Invalid Input");
        fz_buf_puts(message, text);
    }
}

// The engine's own SQL is of no use to the person who wrote Spark's: the LINE block goes.
static void cut_line_block(struct fz_buf *message) {
    char *block = message->ptr ? strstr(message->ptr, "\n\nLINE ") : NULL;
    if (block) {
        *block = 0;
        message->len = (size_t)(block - message->ptr);
    }
}

enum fz_code fz_duck_raise(struct fz_duck *duck, const char *text, const char *sql, struct fz_err *err) {
    struct fz_buf type = {0}, message = {0};
    struct fz_err mine = FZ_ERR_INIT, mapped = FZ_ERR_INIT;
    text = text ? text : "Invalid Input Error: the engine gave no reason";
    if (!read_json_error(text, &type, &message)) {
        fz_buf_dispose(&type);
        fz_buf_dispose(&message);
        read_plain_error(text, &type, &message);
    }
    cut_line_block(&message);
    if (type.failed || message.failed || !type.ptr || !message.ptr) {
        fz_fail_nomem(&mapped, strlen(text));
    } else if (strcmp(type.ptr, "INTERNAL") == 0 || strcmp(type.ptr, "FATAL") == 0) {
        duck->broken = true;
        fz_fail(&mapped, FZ_ENGINE,
                "the embedded engine failed (%s); its database is opened anew before the next statement", message.ptr);
    } else {
        fz_duck_map_message(type.ptr, message.ptr, &mapped);
        if (mapped.code == FZ_BUG) {
            fz_err_reset(&mapped);
            fz_fail(&mapped, FZ_BUG, "the engine refused what frazil gave it: %s error: %s; statement: %s", type.ptr,
                    message.ptr, sql ? sql : "");
        }
    }
    pthread_mutex_lock(&duck->lock);
    mine = duck->slot;
    pthread_mutex_unlock(&duck->lock);
    if (mine.code == FZ_OK && duck->cancel) {
        fz_cancel_check(duck->cancel, &mine);
    }
    if (err && err->code == FZ_OK) {
        *err = mine.code != FZ_OK ? mine : mapped;
    }
    fz_buf_dispose(&type);
    fz_buf_dispose(&message);
    return err ? err->code : mine.code != FZ_OK ? mine.code : mapped.code;
}
