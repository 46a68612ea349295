// Variants: whatever the check takes can be printed and copied, and a copy is a variant that prints alike; of what it refuses nothing may be
// read out of bounds either.
#include "base/text.h"
#include "data/variant.h"
#include "fuzz.h"

static void walk(struct fz_variant_item item, int depth) {
    struct fz_variant_view v;
    struct fz_variant_item child;
    struct fz_str name = {0};
    if (depth > 8 || !fz_variant_view(item, &v) || (v.kind != FZ_VARIANT_OBJECT && v.kind != FZ_VARIANT_ARRAY)) {
        return;
    }
    for (size_t i = 0; i < v.n && i < 50; i++) {
        if (fz_variant_child(item, i, &name, &child)) {
            walk(child, depth + 1);
        }
        if (name.ptr != NULL) {
            (void)fz_variant_find(item, name, &child);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct fz_err err = FZ_ERR_INIT;
    struct fz_str variant = {(const char *)data, size};
    struct fz_variant_item item;
    struct fz_variant_builder builder = {0};
    struct fz_buf text = {0}, copy = {0}, copied_text = {0}, cast = {0};
    bool sound = fz_variant_check(variant, &err) == FZ_OK, is_null, root = fz_variant_root(variant, &item);
    if (root) {
        walk(item, 0);
    }
    // offsets may make values share their bytes, so that what is printed may be far longer than what is there
    if (sound) {
        if (!root || !fz_variant_print(&text, variant, NULL, NULL) || !fz_utf8_valid(text.ptr, text.len) ||
            !fz_variant_print_cast(&cast, variant, NULL, NULL, &is_null)) {
            abort();
        }
        if (fz_variant_builder_copy(&builder, item)) { // not when an object has a name twice
            fz_variant_builder_finish(&builder, &copy);
            struct fz_str bytes = {copy.ptr, copy.len};
            if (fz_variant_check(bytes, &err) != FZ_OK || !fz_variant_print(&copied_text, bytes, NULL, NULL)) {
                abort();
            }
        }
    }
    fz_buf_dispose(&text);
    fz_buf_dispose(&copy);
    fz_buf_dispose(&copied_text);
    fz_buf_dispose(&cast);
    fz_variant_builder_dispose(&builder);
    return 0;
}
