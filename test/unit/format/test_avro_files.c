// format/avro: containers of many writers against the records that fastavro reads, damaged ones, and what frazil writes read back.
#include "table/table_fixtures.h"

#include "base/hash.h"
#include "base/text.h"
#include "format/avro/avro.h"

static void print_value(struct fz_avro_reader *r, const json_t *schema, struct fz_buf *out, int depth);

static void must(enum fz_code rc, const struct fz_err *err) {
    if (rc != FZ_OK) {
        print_error("%s\n", err->message);
        fail();
    }
}

static void print_number(struct fz_buf *out, double v) {
    fz_buf_printf(out, "%.17g", v);
}

static void print_hex(struct fz_buf *out, struct fz_str bytes) {
    fz_buf_putc(out, '"');
    fz_hex_encode(out, bytes.ptr, bytes.len);
    fz_buf_putc(out, '"');
}

static void print_items(struct fz_avro_reader *r, const json_t *schema, bool map, struct fz_buf *out, int depth) {
    struct fz_err err = FZ_ERR_INIT;
    bool first = true;
    int64_t n;
    fz_buf_putc(out, map ? '{' : '[');
    for (;;) {
        must(fz_avro_get_block(r, &n, &err), &err);
        if (n == 0) {
            break;
        }
        for (int64_t i = 0; i < n; i++) {
            fz_buf_puts(out, first ? "" : ",");
            first = false;
            if (map) {
                struct fz_str key;
                must(fz_avro_get_bytes(r, &key, &err), &err);
                fz_json_quote(out, key);
                fz_buf_putc(out, ':');
            }
            print_value(r, json_object_get(schema, map ? "values" : "items"), out, depth + 1);
        }
    }
    fz_buf_putc(out, map ? '}' : ']');
}

static void print_record(struct fz_avro_reader *r, const json_t *schema, struct fz_buf *out, int depth) {
    const json_t *fields = json_object_get(schema, "fields");
    fz_buf_putc(out, '{');
    for (size_t i = 0; i < json_array_size(fields); i++) {
        const json_t *field = json_array_get(fields, i);
        fz_buf_puts(out, i > 0 ? "," : "");
        fz_json_quote(out, fz_str_of(json_string_value(json_object_get(field, "name"))));
        fz_buf_putc(out, ':');
        print_value(r, json_object_get(field, "type"), out, depth + 1);
    }
    fz_buf_putc(out, '}');
}

static void print_value(struct fz_avro_reader *r, const json_t *schema, struct fz_buf *out, int depth) {
    struct fz_err err = FZ_ERR_INIT;
    int64_t n;
    struct fz_str bytes;
    assert_true(depth < 50);
    if (json_is_array(schema)) {
        must(fz_avro_get_long(r, &n, &err), &err);
        assert_true(n >= 0 && (size_t)n < json_array_size(schema));
        print_value(r, json_array_get(schema, (size_t)n), out, depth + 1);
        return;
    }
    const json_t *type = json_is_string(schema) ? schema : json_object_get(schema, "type");
    if (!json_is_string(type)) {
        print_value(r, type, out, depth + 1);
        return;
    }
    const char *name = json_string_value(type);
    bool flag;
    float f32;
    double f64;
    if (strcmp(name, "null") == 0) {
        fz_buf_puts(out, "null");
    } else if (strcmp(name, "boolean") == 0) {
        must(fz_avro_get_boolean(r, &flag, &err), &err);
        fz_buf_puts(out, flag ? "true" : "false");
    } else if (strcmp(name, "int") == 0 || strcmp(name, "long") == 0) {
        must(fz_avro_get_long(r, &n, &err), &err);
        fz_buf_printf(out, "%lld", (long long)n);
    } else if (strcmp(name, "float") == 0) {
        must(fz_avro_get_float(r, &f32, &err), &err);
        print_number(out, (double)f32);
    } else if (strcmp(name, "double") == 0) {
        must(fz_avro_get_double(r, &f64, &err), &err);
        print_number(out, f64);
    } else if (strcmp(name, "string") == 0) {
        must(fz_avro_get_bytes(r, &bytes, &err), &err);
        fz_json_quote(out, bytes);
    } else if (strcmp(name, "bytes") == 0) {
        must(fz_avro_get_bytes(r, &bytes, &err), &err);
        print_hex(out, bytes);
    } else if (strcmp(name, "fixed") == 0) {
        must(fz_avro_get_fixed(r, (size_t)json_integer_value(json_object_get(schema, "size")), &bytes, &err), &err);
        print_hex(out, bytes);
    } else if (strcmp(name, "enum") == 0) {
        must(fz_avro_get_long(r, &n, &err), &err);
        fz_json_quote(out, fz_str_of(json_string_value(json_array_get(json_object_get(schema, "symbols"), (size_t)n))));
    } else if (strcmp(name, "array") == 0 || strcmp(name, "map") == 0) {
        print_items(r, schema, strcmp(name, "map") == 0, out, depth);
    } else {
        print_record(r, schema, out, depth);
    }
}

static int mismatches;

static void check_file(const json_t *line) {
    struct fz_buf bytes = {0}, all = {0};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_avro_reader *r = NULL;
    char name[512], hash[32];
    (void)snprintf(name, sizeof name, "avro/%s", text_of(line, "file"));
    assert_true(read_corpus(name, &bytes));
    const char *codec = text_of(line, "codec");
    enum fz_code rc = fz_avro_reader_open(bytes.ptr, bytes.len, &r, &err);
    if (strcmp(codec, "xz") == 0 || strcmp(codec, "bzip2") == 0) {
        assert_int_equal(rc, FZ_UNSUPPORTED);
        fz_buf_dispose(&bytes);
        return;
    }
    must(rc, &err);
    int64_t n = 0;
    bool more;
    for (must(fz_avro_reader_next(r, &more, &err), &err); more; must(fz_avro_reader_next(r, &more, &err), &err)) {
        print_value(r, fz_avro_reader_schema(r), &all, 0);
        fz_buf_putc(&all, '\n');
        n++;
    }
    (void)snprintf(hash, sizeof hash, "%016llx",
                   (unsigned long long)fz_hash64(all.ptr != NULL ? all.ptr : "", all.len, 0));
    if (n != int_of(line, "records") || strcmp(hash, text_of(line, "xxh64")) != 0) {
        print_error("%s: %lld records, hash %s, not %s\n  %.300s\n  %.300s\n", name, (long long)n, hash,
                    text_of(line, "xxh64"), all.ptr,
                    json_string_value(json_array_get(json_object_get(line, "first"), 0)));
        mismatches++;
    }
    fz_avro_reader_close(r);
    // Skipping every record ends at the same place.
    must(fz_avro_reader_open(bytes.ptr, bytes.len, &r, &err), &err);
    for (must(fz_avro_reader_next(r, &more, &err), &err); more; must(fz_avro_reader_next(r, &more, &err), &err)) {
        must(fz_avro_skip(r, fz_avro_reader_schema(r), &err), &err);
    }
    fz_avro_reader_close(r);
    // Cut anywhere or with a byte changed: an error or other values, never a crash.
    for (size_t i = 0; i < bytes.len; i += bytes.len / 61 + 1) {
        bytes.ptr[i] = (char)(bytes.ptr[i] ^ 0x55);
        for (int cut = 0; cut < 2; cut++) {
            struct fz_err ignored = FZ_ERR_INIT;
            rc = fz_avro_reader_open(bytes.ptr, cut ? i : bytes.len, &r, &ignored);
            more = rc == FZ_OK;
            while (more && fz_avro_reader_next(r, &more, &ignored) == FZ_OK && more) {
                more = fz_avro_skip(r, fz_avro_reader_schema(r), &ignored) == FZ_OK;
            }
            if (rc == FZ_OK) {
                fz_avro_reader_close(r);
            }
        }
        bytes.ptr[i] = (char)(bytes.ptr[i] ^ 0x55);
    }
    fz_buf_dispose(&bytes);
    fz_buf_dispose(&all);
}

static void files_of_other_writers(void **state) {
    (void)state;
    mismatches = 0;
    for_each_line("avro/expect.jsonl", check_file);
    assert_int_equal(mismatches, 0);
}

static void written_files_read_back(void **state) {
    (void)state;
    const char *schema =
        "{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"a\",\"type\":\"long\",\"field-id\":7},{\"name\":"
        "\"b\","
        "\"type\":[\"null\",\"string\"]},{\"name\":\"x\",\"type\":{\"type\":\"fixed\",\"name\":\"f\",\"size\":2}},"
        "{\"name\":\"y\",\"type\":\"f\"}]}";
    for (int codec = FZ_AVRO_NULL; codec <= FZ_AVRO_ZSTD; codec++) {
        struct fz_err err = FZ_ERR_INIT;
        struct fz_avro_writer *w = NULL;
        struct fz_buf out = {0};
        must(fz_avro_writer_open(schema, (enum fz_avro_codec)codec, -1, &w, &err), &err);
        must(fz_avro_writer_metadata(w, "who", FZ_STR_LIT("me"), &err), &err);
        for (int64_t i = 0; i < 20000; i++) { // several blocks
            fz_avro_put_long(w, i % 2 ? INT64_MIN + i : INT64_MAX - i);
            fz_avro_put_long(w, i % 3 != 0);
            if (i % 3 != 0) {
                fz_avro_put_bytes(w, "text", (size_t)(i % 5));
            }
            fz_avro_put_raw(w, "abcd", 4);
            must(fz_avro_writer_end_record(w, &err), &err);
        }
        must(fz_avro_writer_close(w, &out, &err), &err);
        struct fz_avro_reader *r = NULL;
        struct fz_str text;
        bool more;
        must(fz_avro_reader_open(out.ptr, out.len, &r, &err), &err);
        assert_true(fz_avro_reader_metadata(r, "who", &text) && fz_str_eq(text, FZ_STR_LIT("me")));
        const json_t *fields = json_object_get(fz_avro_reader_schema(r), "fields");
        assert_int_equal(int_of(json_array_get(fields, 0), "field-id"), 7);
        assert_true(json_is_object(json_object_get(json_array_get(fields, 3), "type"))); // the name is resolved
        for (int64_t i = 0; i < 20000; i++) {
            int64_t v, branch;
            must(fz_avro_reader_next(r, &more, &err), &err);
            assert_true(more);
            must(fz_avro_get_long(r, &v, &err), &err);
            assert_true(v == (i % 2 ? INT64_MIN + i : INT64_MAX - i));
            must(fz_avro_get_long(r, &branch, &err), &err);
            if (branch == 1) {
                must(fz_avro_get_bytes(r, &text, &err), &err);
                assert_int_equal(text.len, i % 5);
            }
            must(fz_avro_get_fixed(r, 4, &text, &err), &err);
        }
        must(fz_avro_reader_next(r, &more, &err), &err);
        assert_false(more);
        fz_avro_reader_close(r);
        fz_buf_dispose(&out);
    }
}

static void hostile_schemas(void **state) {
    (void)state;
    const struct {
        const char *schema;
        enum fz_code code;
    } cases[] = {
        {"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"n\",\"type\":[\"null\",\"r\"]}]}",
         FZ_UNSUPPORTED},
        {"\"nothing\"", FZ_CORRUPT},
        {"{\"type\":\"fixed\",\"name\":\"f\",\"size\":-1}", FZ_CORRUPT},
        {"[", FZ_CORRUPT},
        {"{\"type\":\"array\"}", FZ_CORRUPT},
        {"{\"type\":\"record\",\"name\":\"r\",\"fields\":[{\"name\":\"n\"}]}", FZ_CORRUPT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct fz_err err = FZ_ERR_INIT;
        struct fz_avro_writer *w = NULL;
        assert_int_equal(fz_avro_writer_open(cases[i].schema, FZ_AVRO_NULL, -1, &w, &err), cases[i].code);
    }
    // Doubling types: 2^30 nodes in a few hundred bytes.
    struct fz_buf text = {0};
    fz_buf_puts(&text, "{\"type\":\"record\",\"name\":\"top\",\"fields\":[{\"name\":\"z\",\"type\":{\"type\":"
                       "\"record\",\"name\":\"r0\",\"fields\":[]}}");
    for (int i = 1; i < 31; i++) {
        fz_buf_printf(&text,
                      ",{\"name\":\"f%d\",\"type\":{\"type\":\"record\",\"name\":\"r%d\",\"fields\":[{\"name\":\"a\","
                      "\"type\":\"r%d\"},"
                      "{\"name\":\"b\",\"type\":\"r%d\"}]}}",
                      i, i, i - 1, i - 1);
    }
    fz_buf_puts(&text, "]}");
    struct fz_err err = FZ_ERR_INIT;
    struct fz_avro_writer *w = NULL;
    assert_int_equal(fz_avro_writer_open(text.ptr, FZ_AVRO_NULL, -1, &w, &err), FZ_LIMIT);
    fz_buf_dispose(&text);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(files_of_other_writers), FZ_TEST(written_files_read_back),
                                       FZ_TEST(hostile_schemas)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
