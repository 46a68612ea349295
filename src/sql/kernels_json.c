// JSON: from_json, to_json, get_json_object and their like (spark-on-duckdb section 6).
#include "data/variant.h"
#include "sql/kernels_priv.h"

#include <math.h>
#include <stdlib.h>

#include "sql/ast.h"

#define EACH(row) for (size_t row = 0; row < n_rows; row++)

// ---- options: "key=value\n…" ----
struct options {
    struct fz_str date_format, timestamp_format, ntz_format, corrupt_column;
    const struct fz_zone *zone;
    char zone_name[64];
    bool failfast, keep_null_fields, primitives_as_string;
};
static bool is_true(struct fz_str v) {
    return fz_str_ieq(v, FZ_STR_LIT("true"));
}
static void read_options(struct fz_str text, struct options *o, struct fz_json_tree *t) {
    *o = (struct options){.corrupt_column = FZ_STR_LIT("_corrupt_record")};
    const char *p = text.ptr, *end = p + text.len;
    while (p < end) {
        const char *line = memchr(p, '\n', (size_t)(end - p)), *stop = line ? line : end,
                   *eq = memchr(p, '=', (size_t)(stop - p));
        if (eq != NULL) {
            struct fz_str k = {p, (size_t)(eq - p)}, v = {eq + 1, (size_t)(stop - eq - 1)};
#define OPT(name) fz_str_ieq(k, FZ_STR_LIT(name))
            if (OPT("zone") || OPT("timeZone")) {
                o->zone = fz_zone_find(v);
                size_t n = v.len < 63 ? v.len : 63;
                memcpy(o->zone_name, v.ptr, n);
                o->zone_name[n] = 0;
            } else if (OPT("mode")) {
                o->failfast = fz_str_ieq(v, FZ_STR_LIT("FAILFAST"));
            } else if (OPT("dateFormat")) {
                o->date_format = v;
            } else if (OPT("timestampFormat")) {
                o->timestamp_format = v;
            } else if (OPT("timestampNTZFormat")) {
                o->ntz_format = v;
            } else if (OPT("columnNameOfCorruptRecord")) {
                o->corrupt_column = v;
            } else if (OPT("ignoreNullFields")) {
                o->keep_null_fields = fz_str_ieq(v, FZ_STR_LIT("false"));
            } else if (OPT("primitivesAsString")) {
                o->primitives_as_string = is_true(v);
            } else if (t != NULL && OPT("allowSingleQuotes")) {
                t->no_single_quotes = !is_true(v);
            } else if (t != NULL && OPT("allowUnquotedFieldNames")) {
                t->unquoted_names = is_true(v);
            } else if (t != NULL && OPT("allowNumericLeadingZeros")) {
                t->leading_zeros = is_true(v);
            } else if (t != NULL && OPT("allowNonNumericNumbers")) {
                t->no_nan = !is_true(v);
            } else if (t != NULL && OPT("allowComments")) {
                t->comments = is_true(v);
            } else if (t != NULL && OPT("allowUnquotedControlChars")) {
                t->control_characters = is_true(v);
            } else if (t != NULL && OPT("allowBackslashEscapingAnyCharacter")) {
                t->any_escape = is_true(v);
            }
#undef OPT
        }
        p = stop + 1;
    }
}

// ---- from_json ----
struct filler {
    struct fz_json_tree *tree;
    struct options *o;
    struct fz_arena *strings;
    struct fz_err *err;
    struct fz_buf text;
    bool corrupt;
    enum fz_code rc;
};

static void fill(struct filler *f, struct fz_column *c, size_t row, int32_t node, int depth);

static bool fill_integer(struct fz_column *c, size_t row, const struct fz_json_node *n) {
    int64_t v;
    if (n->kind != FZ_JSON_INTEGER || !fz_parse_i64(n->text, &v)) {
        return false;
    }
    switch ((int)c->type->id) {
    case FZ_TYPE_BYTE:
        ((int8_t *)c->data)[row] = (int8_t)v;
        return v >= INT8_MIN && v <= INT8_MAX;
    case FZ_TYPE_SHORT:
        ((int16_t *)c->data)[row] = (int16_t)v;
        return v >= INT16_MIN && v <= INT16_MAX;
    case FZ_TYPE_INT:
        ((int32_t *)c->data)[row] = (int32_t)v;
        return v >= INT32_MIN && v <= INT32_MAX;
    default:
        ((int64_t *)c->data)[row] = v;
        return true;
    }
}

static bool fill_double(const struct filler *f, struct fz_column *c, size_t row, const struct fz_json_node *n) {
    double v = NAN;
    bool text = (n->kind == FZ_JSON_TEXT && !f->tree->no_nan) || n->kind == FZ_JSON_NAN;
    if (text && fz_str_eq(n->text, FZ_STR_LIT("NaN"))) {
        v = NAN;
    } else if (text && (fz_str_eq(n->text, FZ_STR_LIT("Infinity")) || fz_str_eq(n->text, FZ_STR_LIT("+Infinity")) ||
                        fz_str_eq(n->text, FZ_STR_LIT("INF")) || fz_str_eq(n->text, FZ_STR_LIT("+INF")))) {
        v = INFINITY;
    } else if (text && (fz_str_eq(n->text, FZ_STR_LIT("-Infinity")) || fz_str_eq(n->text, FZ_STR_LIT("-INF")))) {
        v = -INFINITY;
    } else if ((n->kind != FZ_JSON_INTEGER && n->kind != FZ_JSON_FLOAT) || !fz_text_to_double(n->text, &v)) {
        return false;
    }
    v = n->kind == FZ_JSON_INTEGER && v == 0 ? 0.0 : v; // -0 is an integer
    if (c->type->id == FZ_TYPE_FLOAT) {
        ((float *)c->data)[row] = (float)v;
    } else {
        ((double *)c->data)[row] = v;
    }
    return true;
}

static bool fill_decimal(struct fz_column *c, size_t row, const struct fz_json_node *n) {
    __int128 v;
    bool number;
    if ((n->kind != FZ_JSON_INTEGER && n->kind != FZ_JSON_FLOAT && n->kind != FZ_JSON_TEXT) ||
        !fz_text_to_decimal(n->text, c->type->precision, c->type->scale, &v, &number)) {
        return false;
    }
    fz_column_put_decimal(c, row, v);
    return true;
}

static bool fill_date(struct filler *f, struct fz_column *c, size_t row, const struct fz_json_node *n) {
    int32_t day = 0;
    int64_t us, days;
    if (n->kind != FZ_JSON_TEXT) {
        return false;
    }
    if (f->o->date_format.len > 0) {
        if (!fz_java_parse(n->text, f->o->date_format, NULL, true, &us)) {
            return false;
        }
        day = (int32_t)(us / 86400000000 - (us % 86400000000 < 0));
    } else if (!fz_text_to_date(n->text, &day)) {
        if (!fz_parse_i64(n->text, &days) || days < INT32_MIN || days > INT32_MAX) {
            return false;
        }
        day = (int32_t)days; // days since 1970
    }
    ((int32_t *)c->data)[row] = day;
    return true;
}

static bool fill_time(struct filler *f, struct fz_column *c, size_t row, const struct fz_json_node *n) {
    int64_t v = 0;
    bool ntz = c->type->id == FZ_TYPE_TIMESTAMP;
    if (n->kind == FZ_JSON_INTEGER && !ntz) { // seconds
        if (!fz_parse_i64(n->text, &v) || __builtin_mul_overflow(v, (int64_t)1000000, &v)) {
            return false;
        }
    } else if (n->kind != FZ_JSON_TEXT) {
        return false;
    } else if (!ntz && f->o->timestamp_format.len > 0) {
        if (!fz_java_parse(n->text, f->o->timestamp_format, f->o->zone, false, &v)) {
            return false;
        }
    } else if (ntz && f->o->ntz_format.len > 0) {
        if (!fz_java_parse(n->text, f->o->ntz_format, f->o->zone, true, &v)) {
            return false;
        }
    } else if (ntz) {
        struct fz_text_time t;
        if (!fz_text_to_time(n->text, &t) || !t.has_date || t.has_zone) {
            return false;
        }
        v = t.local_us;
    } else {
        struct fz_text_time t;
        if (!fz_text_to_time(n->text, &t) || !t.has_date || !fz_text_to_ts(n->text, f->o->zone_name, &v)) {
            return false;
        }
    }
    ((int64_t *)c->data)[row] = v;
    return true;
}

static bool fill_text(struct filler *f, struct fz_column *c, size_t row, int32_t node) {
    const struct fz_json_node *n = &f->tree->nodes[node];
    if (n->kind == FZ_JSON_TEXT) {
        f->rc = fz_col_put_str(c, row, n->text.ptr, n->text.len, f->strings, f->err);
        return true;
    }
    fz_json_print(&f->text, f->tree, node);
    f->rc = fz_col_take_buf(c, row, &f->text, f->strings, f->err);
    return true;
}

static bool fill_binary(struct filler *f, struct fz_column *c, size_t row, const struct fz_json_node *n) {
    if (n->kind != FZ_JSON_TEXT || !fz_base64_decode(&f->text, n->text)) {
        fz_buf_clear(&f->text);
        return false;
    }
    f->rc = fz_col_take_buf(c, row, &f->text, f->strings, f->err);
    return true;
}

static bool fill_variant(struct filler *f, struct fz_column *c, size_t row, int32_t node) {
    struct fz_variant_builder b = {0};
    bool ok = fz_variant_put_json(&b, f->tree, node);
    if (ok) {
        fz_variant_builder_finish(&b, &f->text);
        f->rc = fz_col_take_buf(c, row, &f->text, f->strings, f->err);
    }
    fz_variant_builder_dispose(&b);
    return ok;
}

static size_t list_end(const struct fz_column *c, size_t row) { // where the child of a list column goes on
    const struct fz_list_span *spans = c->data;
    for (size_t r = row; r > 0; r--) {
        if (fz_column_is_valid(c, r - 1)) {
            return (size_t)(spans[r - 1].offset + spans[r - 1].length);
        }
    }
    return 0;
}

static bool fill_list(struct filler *f, struct fz_column *c, size_t row, int32_t node, int depth) {
    const struct fz_json_node *n = &f->tree->nodes[node];
    bool map = c->type->id == FZ_TYPE_MAP;
    if (n->kind != (map ? FZ_JSON_OBJECT : FZ_JSON_ARRAY)) {
        return false;
    }
    size_t at = list_end(c, row), count = 0;
    for (int32_t k = n->child; k >= 0 && f->rc == FZ_OK; k = f->tree->nodes[k].next, count++) {
        f->rc = fz_column_reserve(&c->children[0], at + count + 1, f->err);
        if (f->rc != FZ_OK) {
            return true;
        }
        if (map) {
            struct fz_column *key = &c->children[0].children[0];
            struct fz_str text = f->tree->nodes[k].key;
            f->rc = fz_col_put_str(key, at + count, text.ptr, text.len, f->strings, f->err);
            fill(f, &c->children[0].children[1], at + count, k, depth + 1);
        } else {
            fill(f, &c->children[0], at + count, k, depth + 1);
        }
    }
    ((struct fz_list_span *)c->data)[row] = (struct fz_list_span){at, count};
    return true;
}

static bool fill_struct(struct filler *f, struct fz_column *c, size_t row, int32_t node, int depth) {
    const struct fz_json_node *n = &f->tree->nodes[node];
    if (n->kind != FZ_JSON_OBJECT) {
        return false;
    }
    for (size_t i = 0; i < c->n_children; i++) {
        struct fz_str name = fz_str_of(c->type->fields[i].name);
        int32_t found = -1;
        for (int32_t k = n->child; k >= 0; k = f->tree->nodes[k].next) { // of a repeated key the last wins
            found = fz_str_eq(f->tree->nodes[k].key, name) ? k : found;
        }
        if (found < 0) {
            fz_column_set_null(&c->children[i], row);
        } else {
            fill(f, &c->children[i], row, found, depth + 1);
        }
    }
    return true;
}

static void fill(struct filler *f, struct fz_column *c, size_t row, int32_t node, int depth) {
    const struct fz_json_node *n = &f->tree->nodes[node];
    bool ok = false;
    if (n->kind == FZ_JSON_NULL && c->type->id != FZ_TYPE_VARIANT) {
        fz_column_set_null(c, row);
        return;
    }
    if (depth < 200 && f->rc == FZ_OK) {
        switch ((int)c->type->id) {
        case FZ_TYPE_BYTE:
        case FZ_TYPE_SHORT:
        case FZ_TYPE_INT:
        case FZ_TYPE_LONG:
            ok = fill_integer(c, row, n);
            break;
        case FZ_TYPE_FLOAT:
        case FZ_TYPE_DOUBLE:
            ok = fill_double(f, c, row, n);
            break;
        case FZ_TYPE_DECIMAL:
            ok = fill_decimal(c, row, n);
            break;
        case FZ_TYPE_BOOLEAN:
            ((uint8_t *)c->data)[row] = n->kind == FZ_JSON_TRUE;
            ok = n->kind == FZ_JSON_TRUE || n->kind == FZ_JSON_FALSE;
            break;
        case FZ_TYPE_DATE:
            ok = fill_date(f, c, row, n);
            break;
        case FZ_TYPE_TIMESTAMP:
        case FZ_TYPE_TIMESTAMPTZ:
            ok = fill_time(f, c, row, n);
            break;
        case FZ_TYPE_STRING:
            ok = fill_text(f, c, row, node);
            break;
        case FZ_TYPE_BINARY:
            ok = fill_binary(f, c, row, n);
            break;
        case FZ_TYPE_VARIANT:
            ok = fill_variant(f, c, row, node);
            break;
        case FZ_TYPE_LIST:
        case FZ_TYPE_MAP:
            ok = fill_list(f, c, row, node, depth);
            break;
        case FZ_TYPE_STRUCT:
            ok = fill_struct(f, c, row, node, depth);
            break;
        default:
            break;
        }
    }
    if (!ok) {
        f->corrupt = true;
        fz_column_set_null(c, row);
    }
}

static bool is_blank(struct fz_str s) {
    for (size_t i = 0; i < s.len; i++) {
        if ((unsigned char)s.ptr[i] > ' ') {
            return false;
        }
    }
    return true;
}

// A record that does not parse: a struct of NULLs, the text in the corrupt-record column; NULL for arrays and maps.
static void fill_corrupt(struct filler *f, struct fz_column *out, size_t row) {
    if (out->type->id != FZ_TYPE_STRUCT) {
        fz_column_set_null(out, row);
        return;
    }
    for (size_t i = 0; i < out->n_children; i++) {
        fz_column_set_null(&out->children[i], row);
    }
    f->corrupt = true;
}

static void set_valid(struct fz_column *c, size_t row) {
    if (c->validity != NULL && c->validity == c->validity_storage) {
        c->validity_storage[row >> 6] |= (uint64_t)1 << (row & 63);
    }
}

enum fz_code fz_kernel_from_json(const struct fz_column *args, size_t n_args, size_t n_rows, struct fz_column *out,
                                 struct fz_arena *strings, struct fz_err *err) {
    (void)n_args;
    struct fz_json_tree tree = {0};
    struct options o;
    struct filler f = {.tree = &tree, .o = &o, .strings = strings, .err = err};
    bool have_options = false;
    for (size_t row = 0; row < n_rows && f.rc == FZ_OK; row++) {
        if (!fz_column_is_valid(&args[0], row) || is_blank(fz_col_str(&args[0], row))) {
            fz_column_set_null(out, row);
            continue;
        }
        if (!have_options) {
            read_options(fz_col_str(&args[1], row), &o, &tree);
            have_options = true;
        }
        struct fz_str text = fz_col_str(&args[0], row);
        bool parsed = fz_json_parse(&tree, text);
        f.corrupt = false;
        if (!parsed || (tree.nodes[0].kind == FZ_JSON_NULL && out->type->id != FZ_TYPE_VARIANT)) {
            fill_corrupt(&f, out, row);
        } else if (out->type->id == FZ_TYPE_LIST && tree.nodes[0].kind == FZ_JSON_OBJECT &&
                   out->type->fields[0].type->id == FZ_TYPE_STRUCT) {
            size_t at = list_end(out, row); // one record where an array is wanted
            f.rc = fz_column_reserve(&out->children[0], at + 1, err);
            if (f.rc == FZ_OK) {
                fill(&f, &out->children[0], at, 0, 0);
                ((struct fz_list_span *)out->data)[row] = (struct fz_list_span){at, 1};
            }
        } else if (out->type->id == FZ_TYPE_STRUCT && tree.nodes[0].kind != FZ_JSON_OBJECT) {
            fill_corrupt(&f, out, row);
        } else {
            fill(&f, out, row, 0, 0);
        }
        if (f.corrupt && o.failfast) {
            fz_column_set_null(out, row);
            continue;
        }
        for (size_t i = 0; out->type->id == FZ_TYPE_STRUCT && i < out->n_children && f.rc == FZ_OK; i++) {
            if (out->children[i].type->id == FZ_TYPE_STRING &&
                fz_str_eq(fz_str_of(out->type->fields[i].name), o.corrupt_column)) {
                if (f.corrupt) {
                    set_valid(&out->children[i], row);
                    f.rc = fz_col_put_str(&out->children[i], row, text.ptr, text.len, strings, err);
                } else {
                    fz_column_set_null(&out->children[i], row);
                }
            }
        }
    }
    fz_buf_dispose(&f.text);
    fz_json_dispose(&tree);
    return f.rc;
}

// ---- get_json_object ----
struct step {
    enum { STEP_NAME, STEP_INDEX, STEP_ALL } kind;
    struct fz_str name;
    int64_t index;
};
enum { MAX_STEPS = 64 };
static int read_path(struct fz_str p, struct step *steps) { // number of steps, -1: not a path
    int n = 0;
    size_t i = 1;
    if (p.len == 0 || p.ptr[0] != '$') {
        return -1;
    }
    while (i < p.len) {
        if (n == MAX_STEPS) {
            return -1;
        }
        if (p.ptr[i] == '.') {
            size_t start = ++i;
            while (i < p.len && p.ptr[i] != '.' && p.ptr[i] != '[') {
                i++;
            }
            if (i == start || (i == start + 1 && p.ptr[start] == '*')) {
                return -1;
            }
            steps[n++] = (struct step){STEP_NAME, {p.ptr + start, i - start}, 0};
        } else if (p.ptr[i] == '[' && i + 1 < p.len && p.ptr[i + 1] == '\'') {
            const char *from = p.ptr + i + 2, *end = NULL;
            for (const char *q = from; q + 1 < p.ptr + p.len; q++) {
                if (q[0] == '\'' && q[1] == ']') {
                    end = q;
                    break;
                }
            }
            if (end == NULL) {
                return -1;
            }
            steps[n++] = (struct step){STEP_NAME, {from, (size_t)(end - from)}, 0};
            i = (size_t)(end + 2 - p.ptr);
        } else if (p.ptr[i] == '[') {
            const char *end = memchr(p.ptr + i, ']', p.len - i);
            struct fz_str in = {p.ptr + i + 1, end ? (size_t)(end - p.ptr) - i - 1 : 0};
            int64_t ix = 0;
            if (end == NULL) {
                return -1;
            }
            if (fz_str_eq(in, FZ_STR_LIT("*"))) {
                steps[n++] = (struct step){.kind = STEP_ALL};
            } else if (fz_parse_i64(in, &ix) && ix >= 0) {
                steps[n++] = (struct step){.kind = STEP_INDEX, .index = ix};
            } else {
                return -1;
            }
            i = (size_t)(end + 1 - p.ptr);
        } else {
            return -1;
        }
    }
    return n;
}

struct hits {
    int32_t first;
    size_t n;
    struct fz_buf text; // the hits, joined by commas
};
static void collect(const struct fz_json_tree *t, int32_t node, const struct step *steps, int n, struct hits *h,
                    int depth) {
    const struct fz_json_node *at = &t->nodes[node];
    if (depth > MAX_STEPS + 8) {
        return;
    }
    if (n == 0) {
        if (h->n++ == 0) {
            h->first = node;
        }
        fz_buf_puts(&h->text, h->n > 1 ? "," : "");
        fz_json_print(&h->text, t, node);
        return;
    }
    if (steps->kind == STEP_NAME && at->kind == FZ_JSON_OBJECT) {
        for (int32_t k = at->child; k >= 0; k = t->nodes[k].next) { // the first of a repeated key
            if (fz_str_eq(t->nodes[k].key, steps->name) && t->nodes[k].kind != FZ_JSON_NULL) {
                collect(t, k, steps + 1, n - 1, h, depth + 1);
                return;
            }
        }
    } else if (steps->kind != STEP_NAME && at->kind == FZ_JSON_ARRAY) {
        int64_t i = 0;
        for (int32_t k = at->child; k >= 0; k = t->nodes[k].next, i++) {
            if (steps->kind == STEP_ALL || i == steps->index) {
                collect(t, k, steps + 1, n - 1, h, depth + 1);
            }
        }
    }
}

FZ_KERNEL_RUN(k_get_json_object) {
    (void)n_args;
    struct fz_json_tree tree = {0};
    struct step steps[MAX_STEPS];
    struct hits h = {0};
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        int n = read_path(fz_col_str(&args[1], i), steps);
        h.n = 0;
        fz_buf_clear(&h.text);
        if (n >= 0 && fz_json_parse(&tree, fz_col_str(&args[0], i))) {
            collect(&tree, 0, steps, n, &h, 0);
        }
        bool wild = false;
        for (int k = 0; k < n; k++) {
            wild |= steps[k].kind == STEP_ALL;
        }
        if (h.n == 0) {
            fz_column_set_null(out, i);
            continue;
        }
        const struct fz_json_node *hit = &tree.nodes[h.first];
        if (!wild && hit->kind == FZ_JSON_NULL && n > 0) {
            fz_column_set_null(out, i);
            continue;
        }
        if (!wild && hit->kind == FZ_JSON_TEXT) {
            fz_buf_append(&buf, hit->text.ptr, hit->text.len);
        } else if (wild && h.n > 1) {
            fz_buf_putc(&buf, '[');
            fz_buf_append(&buf, h.text.ptr, h.text.len);
            fz_buf_putc(&buf, ']');
        } else {
            fz_buf_append(&buf, h.text.ptr, h.text.len);
        }
        rc = fz_col_take_buf(out, i, &buf, strings, err);
    }
    fz_buf_dispose(&h.text);
    fz_buf_dispose(&buf);
    fz_json_dispose(&tree);
    return rc;
}

FZ_KERNEL_RUN(k_array_length) {
    FZ_KERNEL_UNUSED;
    struct fz_json_tree tree = {0};
    EACH(i) {
        if (!fz_json_parse(&tree, fz_col_str(&args[0], i)) || tree.nodes[0].kind != FZ_JSON_ARRAY) {
            fz_column_set_null(out, i);
            continue;
        }
        int32_t n = 0;
        for (int32_t k = tree.nodes[0].child; k >= 0; k = tree.nodes[k].next) {
            n++;
        }
        ((int32_t *)out->data)[i] = n;
    }
    fz_json_dispose(&tree);
    return FZ_OK;
}

FZ_KERNEL_RUN(k_object_keys) {
    (void)n_args;
    struct fz_json_tree tree = {0};
    struct fz_str *keys = NULL;
    size_t cap = 0;
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        if (!fz_column_is_valid(&args[0], i) || !fz_json_parse(&tree, fz_col_str(&args[0], i)) ||
            tree.nodes[0].kind != FZ_JSON_OBJECT) {
            fz_column_set_null(out, i);
            continue;
        }
        size_t n = 0;
        for (int32_t k = tree.nodes[0].child; k >= 0 && rc == FZ_OK; k = tree.nodes[k].next) {
            rc = fz_grow((void **)&keys, &cap, n + 1, sizeof *keys, err);
            if (rc == FZ_OK) {
                keys[n++] = tree.nodes[k].key;
            }
        }
        rc = rc == FZ_OK ? fz_col_append_list(out, i, keys, n, strings, err) : rc;
    }
    fz_free(keys);
    fz_json_dispose(&tree);
    return rc;
}

// ---- schema_of_json ----
static void print_schema(struct fz_buf *out, const struct fz_json_tree *t, int32_t node, int depth);
static int by_key(const void *a, const void *b, void *ctx) {
    const struct fz_json_tree *t = ctx;
    struct fz_str x = t->nodes[*(const int32_t *)a].key, y = t->nodes[*(const int32_t *)b].key;
    int c = memcmp(x.ptr, y.ptr, x.len < y.len ? x.len : y.len);
    return c ? c : x.len < y.len ? -1 : x.len > y.len;
}
static void print_struct_schema(struct fz_buf *out, const struct fz_json_tree *t, int32_t node, int depth) {
    size_t n = 0, at = 0;
    for (int32_t k = t->nodes[node].child; k >= 0; k = t->nodes[k].next) {
        n++;
    }
    int32_t *order = fz_calloc(n ? n : 1, sizeof *order);
    if (order == NULL) {
        out->failed = true;
        return;
    }
    for (int32_t k = t->nodes[node].child; k >= 0; k = t->nodes[k].next) {
        order[at++] = k;
    }
    qsort_r(order, n, sizeof *order, by_key, (void *)t);
    fz_buf_puts(out, "STRUCT<");
    for (size_t i = 0; i < n; i++) {
        fz_buf_printf(out, "%s%.*s: ", i ? ", " : "", (int)t->nodes[order[i]].key.len, t->nodes[order[i]].key.ptr);
        print_schema(out, t, order[i], depth + 1);
    }
    fz_buf_putc(out, '>');
    fz_free(order);
}
static void print_schema(struct fz_buf *out, const struct fz_json_tree *t, int32_t node, int depth) {
    const struct fz_json_node *n = &t->nodes[node];
    int64_t v;
    if (depth > 100) {
        fz_buf_puts(out, "STRING");
        return;
    }
    switch (n->kind) {
    case FZ_JSON_TRUE:
    case FZ_JSON_FALSE:
        fz_buf_puts(out, "BOOLEAN");
        return;
    case FZ_JSON_INTEGER:
        if (fz_parse_i64(n->text, &v)) {
            fz_buf_puts(out, "BIGINT");
        } else {
            fz_buf_printf(out, "DECIMAL(%zu,0)", n->text.len < 38 ? n->text.len : 38);
        }
        return;
    case FZ_JSON_FLOAT:
    case FZ_JSON_NAN:
        fz_buf_puts(out, "DOUBLE");
        return;
    case FZ_JSON_NULL:
    case FZ_JSON_TEXT:
        fz_buf_puts(out, "STRING");
        return;
    case FZ_JSON_ARRAY: {
        bool real = false, integer = false;
        int32_t widest = n->child;
        for (int32_t k = n->child; k >= 0; k = t->nodes[k].next) {
            real |= t->nodes[k].kind == FZ_JSON_FLOAT;
            integer |= t->nodes[k].kind == FZ_JSON_INTEGER;
            widest = t->nodes[widest].kind == FZ_JSON_NULL ? k : widest;
        }
        fz_buf_puts(out, "ARRAY<");
        if (widest < 0) {
            fz_buf_puts(out, "STRING");
        } else if (real && integer) {
            fz_buf_puts(out, "DOUBLE");
        } else {
            print_schema(out, t, widest, depth + 1);
        }
        fz_buf_putc(out, '>');
        return;
    }
    case FZ_JSON_OBJECT:
        print_struct_schema(out, t, node, depth);
        return;
    }
}
FZ_KERNEL_RUN(k_schema) {
    (void)n_args;
    struct fz_json_tree tree = {0};
    struct fz_buf buf = {0};
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        if (!fz_json_parse(&tree, fz_col_str(&args[0], i))) {
            fz_column_set_null(out, i);
            continue;
        }
        print_schema(&buf, &tree, 0, 0);
        rc = fz_col_take_buf(out, i, &buf, strings, err);
    }
    fz_buf_dispose(&buf);
    fz_json_dispose(&tree);
    return rc;
}

// ---- to_json ----
static int64_t zone_offset(const void *zone, int64_t utc_us) {
    return zone != NULL ? fz_zone_offset_us(zone, utc_us) : 0;
}

static void to_json(struct fz_buf *out, const struct fz_column *c, size_t row, const struct fz_type *t,
                    const struct options *o, int depth);

static void json_time(struct fz_buf *out, int64_t us, bool tz, const struct options *o) {
    int64_t local = us + (tz && o->zone ? fz_zone_offset_us(o->zone, us) : 0);
    struct fz_str pattern = tz ? o->timestamp_format : o->ntz_format;
    if (pattern.len == 0) {
        pattern = tz ? FZ_STR_LIT("yyyy-MM-dd'T'HH:mm:ss[.SSS]XXX") : FZ_STR_LIT("yyyy-MM-dd'T'HH:mm:ss[.SSS]");
    }
    struct fz_buf text = {0};
    fz_java_format(&text, pattern, local, o->zone, us);
    fz_json_text(out, (struct fz_str){text.ptr ? text.ptr : "", text.len});
    fz_buf_dispose(&text);
}

static void json_key(struct fz_buf *out, const struct fz_column *c, size_t row, const struct fz_type *t,
                     const struct options *o) {
    if (c->type->id == FZ_TYPE_STRING) {
        fz_json_text(out, fz_col_str(c, row));
        return;
    }
    struct fz_buf text = {0};
    to_json(&text, c, row, t, o, 1);
    if (text.len > 0 && text.ptr[0] == '"') {
        fz_buf_append(out, text.ptr, text.len);
    } else {
        fz_buf_printf(out, "\"%s\"", text.ptr ? text.ptr : "");
    }
    fz_buf_dispose(&text);
}

static void json_nested(struct fz_buf *out, const struct fz_column *c, size_t row, const struct fz_type *t,
                        const struct options *o, int depth) {
    if (c->type->id == FZ_TYPE_STRUCT) {
        const char *gap = "";
        fz_buf_putc(out, '{');
        for (size_t i = 0; i < c->n_children; i++) {
            if (!fz_column_is_valid(&c->children[i], row) && !o->keep_null_fields) {
                continue;
            }
            const char *name = i < t->n_fields ? t->fields[i].name : "";
            fz_buf_puts(out, gap);
            fz_json_text(out, fz_str_of(name));
            fz_buf_putc(out, ':');
            to_json(out, &c->children[i], row, i < t->n_fields ? t->fields[i].type : c->children[i].type, o, depth + 1);
            gap = ",";
        }
        fz_buf_putc(out, '}');
        return;
    }
    struct fz_list_span span = ((const struct fz_list_span *)c->data)[row];
    bool map = c->type->id == FZ_TYPE_MAP;
    fz_buf_putc(out, map ? '{' : '[');
    for (uint64_t k = 0; k < span.length; k++) {
        size_t at = (size_t)(span.offset + k);
        fz_buf_puts(out, k ? "," : "");
        if (map) {
            json_key(out, &c->children[0].children[0], at, t->fields[0].type, o);
            fz_buf_putc(out, ':');
        }
        to_json(out, map ? &c->children[0].children[1] : &c->children[0], at, t->fields[map ? 1 : 0].type, o,
                depth + 1);
    }
    fz_buf_putc(out, map ? '}' : ']');
}

static void to_json(struct fz_buf *out, const struct fz_column *c, size_t row, const struct fz_type *t,
                    const struct options *o, int depth) {
    if (!fz_column_is_valid(c, row) || depth > 100) {
        fz_buf_puts(out, "null");
        return;
    }
    if (t->id == FZ_TYPE_VARIANT) {
        fz_variant_print(out, fz_col_str(c, row), zone_offset, o->zone);
        return;
    }
    switch ((int)c->type->id) {
    case FZ_TYPE_STRUCT:
    case FZ_TYPE_LIST:
    case FZ_TYPE_MAP:
        json_nested(out, c, row, t, o, depth);
        return;
    case FZ_TYPE_STRING:
        fz_json_text(out, fz_col_str(c, row));
        return;
    case FZ_TYPE_BINARY: {
        struct fz_str s = fz_col_str(c, row);
        fz_buf_putc(out, '"');
        fz_base64_encode(out, s.ptr, s.len);
        fz_buf_putc(out, '"');
        return;
    }
    case FZ_TYPE_DOUBLE:
    case FZ_TYPE_FLOAT: {
        double v =
            c->type->id == FZ_TYPE_DOUBLE ? ((const double *)c->data)[row] : (double)((const float *)c->data)[row];
        bool special = isnan(v) || isinf(v);
        fz_buf_puts(out, special ? "\"" : "");
        if (c->type->id == FZ_TYPE_FLOAT) {
            fz_java_float(out, (float)v);
        } else {
            fz_java_double(out, v);
        }
        fz_buf_puts(out, special ? "\"" : "");
        return;
    }
    case FZ_TYPE_TIMESTAMP_NS: {
        struct fz_value v = fz_value_at(c, row, NULL);
        fz_value_to_json(out, &v, NULL);
        return;
    }
    case FZ_TYPE_TIMESTAMP:
    case FZ_TYPE_TIMESTAMPTZ:
        json_time(out, ((const int64_t *)c->data)[row], c->type->id == FZ_TYPE_TIMESTAMPTZ, o);
        return;
    case FZ_TYPE_DATE:
        if (o->date_format.len > 0) {
            struct fz_buf text = {0};
            int64_t us = (int64_t)((const int32_t *)c->data)[row] * 86400000000;
            fz_java_format(&text, o->date_format, us, NULL, us);
            fz_json_text(out, (struct fz_str){text.ptr ? text.ptr : "", text.len});
            fz_buf_dispose(&text);
            return;
        }
        fz_buf_putc(out, '"');
        fz_format_date(out, ((const int32_t *)c->data)[row]);
        fz_buf_putc(out, '"');
        return;
    default: {
        struct fz_value v = fz_value_at(c, row, NULL);
        fz_value_print(out, &v);
        return;
    }
    }
}

FZ_KERNEL_RUN(k_to_json) { // (value, its type as text, options)
    (void)n_args;
    struct fz_arena arena = {0};
    struct fz_buf buf = {0};
    struct options o;
    const struct fz_type *type = NULL;
    enum fz_code rc = FZ_OK;
    for (size_t i = 0; i < n_rows && rc == FZ_OK; i++) {
        if (!fz_column_is_valid(&args[0], i)) {
            fz_column_set_null(out, i);
            continue;
        }
        if (type == NULL) {
            rc = fz_sql_parse_type(&arena, fz_col_str(&args[1], i), &type, err);
            read_options(fz_col_str(&args[2], i), &o, NULL);
        }
        if (rc == FZ_OK) {
            to_json(&buf, &args[0], i, type, &o, 0);
            rc = fz_col_take_buf(out, i, &buf, strings, err);
        }
    }
    fz_buf_dispose(&buf);
    fz_arena_dispose(&arena);
    return rc;
}

const struct fz_kernel_row fz_kernels_json[] = {
    {"fz_get_json_object", "ss", "s", true, k_get_json_object},
    {"fz_json_array_length", "s", "i", true, k_array_length},
    {"fz_json_object_keys", "s", "[s", false, k_object_keys},
    {"fz_schema_of_json", "s", "s", true, k_schema},
    {"fz_to_json", "ass", "s", false, k_to_json},
};
FZ_KERNELS(kernels_json);
