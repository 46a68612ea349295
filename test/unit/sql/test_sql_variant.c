// Variants that SQL makes, byte for byte as Spark makes them (test/data/sql/variant_bytes.tsv), and damaged ones, which no function may
// read past.
#include "leak_check.h"

#include "data/variant.h"
#include "sql_run.h"

static struct fake_session session;

static void unhex(struct fz_buf *out, const char *hex) {
    for (; hex[0] != 0 && hex[1] != 0; hex += 2) {
        char byte[3] = {hex[0], hex[1], 0};
        fz_buf_putc(out, (char)strtol(byte, NULL, 16));
    }
}

// The first column of the first row.
static void run(struct fz_arena *arena, const char *sql, struct fz_value *out) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_sql_query *q;
    char *text = NULL;
    bool found;
    FZ_OK_OR_FAIL(fake_print(&session, arena, sql, &q, &text, &err), &err);
    FZ_OK_OR_FAIL(fz_duck_register_kernels(session.duck, q->kernels, q->n_kernels, &err), &err);
    FZ_OK_OR_FAIL(fz_duck_query_row(session.duck, text, q->columns, q->n_columns, arena, out, &found, &err), &err);
    assert_true(found);
    fz_free(text);
}

static void bytes_are_those_of_spark(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    FILE *in = fopen(FZ_SOURCE_DIR "/test/data/sql/variant_bytes.tsv", "r");
    char *line = NULL;
    size_t cap = 0, n = 0, wrong = 0;
    assert_non_null(in);
    FZ_OK_OR_FAIL(fake_open(&session, "UTC", &err), &err);
    while (getline(&line, &cap, in) > 0) {
        struct fz_arena arena = {0};
        struct fz_buf want = {0}, sql = {0};
        struct fz_value got;
        char *metadata = strchr(line, '\t'), *value = metadata ? strchr(metadata + 1, '\t') : NULL;
        assert_non_null(value);
        *metadata++ = *value++ = 0;
        value[strcspn(value, "\n")] = 0;
        unhex(&want, metadata);
        unhex(&want, value);
        fz_buf_printf(&sql, "SELECT %s", line);
        run(&arena, sql.ptr, &got);
        bool same = !got.is_null && fz_str_eq(got.u.bytes, (struct fz_str){want.ptr, want.len});
        if (!same) {
            print_error("%.80s: %zu bytes, %zu wanted\n", line, got.is_null ? 0 : got.u.bytes.len, want.len);
            wrong++;
        }
        assert_int_equal(fz_variant_check(got.u.bytes, &err), FZ_OK);
        n++;
        fz_buf_dispose(&want);
        fz_buf_dispose(&sql);
        fz_arena_dispose(&arena);
    }
    free(line);
    fclose(in);
    fz_duck_close(session.duck);
    assert_int_equal(wrong, 0);
    assert_true(n >= 45);
}

static const struct fz_scalar_kernel *kernel(const char *name) {
    size_t n;
    const struct fz_scalar_kernel *all = fz_sql_kernels(&n);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(all[i].name, name) == 0) {
            return &all[i];
        }
    }
    fail_msg("%s is missing", name);
    return NULL;
}

static void put(struct fz_column *c, const char *ptr, size_t len) {
    fz_column_reset(c);
    ((struct fz_string *)c->data)[0] = fz_string_of(ptr, len);
}

// Every function over a variant with one byte changed or its end cut off, in memory that ends where the variant does.
static void read_damaged(struct fz_str variant) {
    static const char *const names[] = {"fz_variant_to_str", "fz_is_variant_null", "fz_schema_of_variant",
                                        "fz_variant_error", "fz_to_variant"};
    static const char *const args[][3] = {
        {"UTC"}, {NULL}, {NULL}, {"$.a[1]", "UTC", "array<struct<a: int, b: map<string, decimal(5,2)>>>"}, {"variant"}};
    struct fz_err err = FZ_ERR_INIT;
    struct fz_variant_builder builder = {0};
    struct fz_variant_item item;
    char *exact = malloc(variant.len);
    memcpy(exact, variant.ptr, variant.len);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        struct fz_column in[4], out;
        struct fz_arena strings = {0};
        const struct fz_scalar_kernel *def = kernel(names[k]);
        for (size_t i = 0; i < def->n_args; i++) {
            const struct fz_type *t = fz_type_primitive(i == 0 ? FZ_TYPE_VARIANT : FZ_TYPE_STRING);
            assert_int_equal(fz_column_init(&in[i], t, 1, &err), FZ_OK);
            put(&in[i], i == 0 ? exact : args[k][i - 1], i == 0 ? variant.len : strlen(args[k][i - 1]));
        }
        assert_int_equal(fz_column_init(&out, def->result, 1, &err), FZ_OK);
        assert_int_equal(def->run(in, def->n_args, 1, &out, &strings, &err), FZ_OK);
        if (def->result->id == FZ_TYPE_STRING && fz_column_is_valid(&out, 0)) {
            struct fz_string *s = out.data;
            (void)fz_utf8_valid(fz_string_ptr(s), s->length);
        }
        for (size_t i = 0; i < def->n_args; i++) {
            fz_column_dispose(&in[i]);
        }
        fz_column_dispose(&out);
        fz_arena_dispose(&strings);
    }
    if (fz_variant_root((struct fz_str){exact, variant.len}, &item)) {
        (void)fz_variant_builder_copy(&builder, item);
        (void)fz_variant_find(item, FZ_STR_LIT("a"), &item);
    }
    fz_variant_builder_dispose(&builder);
    free(exact);
}

static void damaged_variants_are_read_within_bounds(void **state) {
    (void)state;
    struct fz_err err = FZ_ERR_INIT;
    struct fz_arena arena = {0};
    struct fz_value v;
    FZ_OK_OR_FAIL(fake_open(&session, "UTC", &err), &err);
    run(&arena,
        "SELECT parse_json('{\"b\":1,\"a\":[1.5,{\"a\":12,\"b\":{\"x\":1.25}},\"long text of more "
        "bytes\",null,true]}')",
        &v);
    fz_duck_close(session.duck);
    struct fz_buf bytes = {0};
    for (size_t i = 0; i < v.u.bytes.len; i++) {
        for (int flip = 1; flip < 256; flip = flip * 2 + (flip == 4)) {
            fz_buf_clear(&bytes);
            fz_buf_append(&bytes, v.u.bytes.ptr, v.u.bytes.len);
            bytes.ptr[i] = (char)(bytes.ptr[i] ^ flip);
            struct fz_err ignored = FZ_ERR_INIT;
            if (fz_variant_check((struct fz_str){bytes.ptr, bytes.len}, &ignored) == FZ_OK) {
                read_damaged((struct fz_str){bytes.ptr, bytes.len});
            } else {
                read_damaged((struct fz_str){bytes.ptr, bytes.len - 1});
            }
        }
    }
    for (size_t cut = 1; cut < v.u.bytes.len; cut++) {
        read_damaged((struct fz_str){v.u.bytes.ptr, cut});
    }
    fz_buf_dispose(&bytes);
    fz_arena_dispose(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {FZ_TEST(bytes_are_those_of_spark),
                                       FZ_TEST(damaged_variants_are_read_within_bounds)};
    return cmocka_run_group_tests_name("sql variants", tests, NULL, NULL);
}
