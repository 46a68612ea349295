// Finding fields of a schema by id and by dotted name. Names of list and map children are "element", "key" and "value".
#include "table/metadata.h"

#include "base/text.h"

enum { MAX_DEPTH = 64 };

static const struct fz_field *find_id(const struct fz_type *type, int32_t id, int depth) {
    for (size_t i = 0; depth < MAX_DEPTH && i < type->n_fields; i++) {
        if (type->fields[i].id == id) {
            return &type->fields[i];
        }
    }
    for (size_t i = 0; depth < MAX_DEPTH && i < type->n_fields; i++) {
        const struct fz_field *found = find_id(type->fields[i].type, id, depth + 1);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

const struct fz_field *fz_schema_find(const struct fz_schema *schema, int32_t field_id) {
    return find_id(schema->type, field_id, 0);
}

static const char *name_in(const struct fz_type *parent, size_t i) {
    return parent->id == FZ_TYPE_LIST  ? "element"
           : parent->id == FZ_TYPE_MAP ? i == 0 ? "key" : "value"
                                       : parent->fields[i].name;
}

struct name_search {
    bool by_case;
    size_t n_found;
    const struct fz_field *found;
};

// A field name may itself hold dots, so every prefix of the text that equals a name is followed.
static void find_name(struct name_search *search, const struct fz_type *type, struct fz_str text, int depth) {
    for (size_t i = 0; depth < MAX_DEPTH && i < type->n_fields; i++) {
        struct fz_str name = fz_str_of(name_in(type, i));
        if (name.len > text.len || (name.len < text.len && text.ptr[name.len] != '.')) {
            continue;
        }
        struct fz_str head = {text.ptr, name.len};
        if (search->by_case ? !fz_str_eq(head, name) : !fz_str_ieq(head, name)) {
            continue;
        }
        if (name.len == text.len) {
            search->found = &type->fields[i];
            search->n_found++;
        } else {
            struct fz_str rest = {text.ptr + name.len + 1, text.len - name.len - 1};
            find_name(search, type->fields[i].type, rest, depth + 1);
        }
    }
}

const struct fz_field *fz_schema_find_name(const struct fz_schema *schema, const char *dotted_name) {
    struct name_search exact = {.by_case = true};
    find_name(&exact, schema->type, fz_str_of(dotted_name), 0);
    if (exact.n_found == 1) {
        return exact.found;
    }
    struct name_search loose = {.by_case = false};
    find_name(&loose, schema->type, fz_str_of(dotted_name), 0);
    return loose.found;
}

static bool append_path(struct fz_buf *path, const struct fz_type *type, int32_t id, int depth) {
    for (size_t i = 0; depth < MAX_DEPTH && i < type->n_fields; i++) {
        size_t before = path->len;
        if (before > 0) {
            fz_buf_putc(path, '.');
        }
        fz_buf_puts(path, name_in(type, i));
        if (type->fields[i].id == id || append_path(path, type->fields[i].type, id, depth + 1)) {
            return true;
        }
        path->len = before;
    }
    return false;
}

const char *fz_schema_name_of(const struct fz_schema *schema, int32_t field_id, struct fz_arena *arena) {
    struct fz_buf path = {0};
    const char *name = NULL;
    if (append_path(&path, schema->type, field_id, 0) && !path.failed) {
        name = fz_arena_strndup(arena, path.ptr, path.len);
    }
    fz_buf_dispose(&path);
    return name;
}
