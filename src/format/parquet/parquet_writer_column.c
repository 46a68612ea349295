// Values of one leaf column: rows that are there are gathered into the form Parquet stores, widen the page's range and go into the
// dictionary or, when that is full or does not pay, into PLAIN bytes. Loops are per type, over blocks that stay in the cache.
#include "format/parquet/parquet_writer_priv.h"

enum { BLOCK = 2048, SAMPLE = 4096, SMALL_SAMPLE = 1024 };

enum fz_code fz_pw_fail_null(const char *name, struct fz_err *err) {
    return fz_fail_cond(
        err, FZ_CONSTRAINT, "NOT_NULL_ASSERT_VIOLATION",
        "NULL value appeared in non-nullable field: column '%s' is required, a row to be written has NULL there", name);
}

// ---- gathering -----------------------------------------------------------------------------------------------------------

#define GATHER(ctype)                                                                                                  \
    do {                                                                                                               \
        const ctype *in = column->data;                                                                                \
        if (rows == NULL) {                                                                                            \
            return in + from;                                                                                          \
        }                                                                                                              \
        ctype *out = scratch;                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                                               \
            out[i] = in[rows[i]];                                                                                      \
        }                                                                                                              \
        return out;                                                                                                    \
    } while (0)

// The n values at `rows`, or at from.. when NULL, one after the other: in the column itself or in scratch (16 bytes a value).
static const void *gather(enum fz_pw_kind kind, const struct fz_column *column, size_t from, const uint32_t *rows,
                          size_t n, void *scratch) {
    switch (kind) {
    case FZ_PW_BOOL:
        GATHER(uint8_t);
    case FZ_PW_I16: {
        const int16_t *in = column->data;
        int32_t *out = scratch;
        for (size_t i = 0; i < n; i++) {
            out[i] = in[rows == NULL ? from + i : rows[i]];
        }
        return out;
    }
    case FZ_PW_I32:
    case FZ_PW_F32:
        GATHER(uint32_t);
    case FZ_PW_I64:
    case FZ_PW_F64:
        GATHER(uint64_t);
    case FZ_PW_DECIMAL128:
    case FZ_PW_UUID:
        GATHER(struct fz_i128);
    case FZ_PW_BYTES:
    case FZ_PW_FIXED:
        GATHER(struct fz_string);
    }
    return NULL;
}

// Big-endian bytes of long decimals and UUIDs.
static void wide_to_bytes(enum fz_pw_kind kind, const struct fz_i128 *values, size_t n, size_t width, uint8_t *out) {
    uint64_t flip = kind == FZ_PW_UUID ? (uint64_t)1 << 63 : 0;
    for (size_t i = 0; i < n; i++, out += width) {
        uint64_t halves[2] = {__builtin_bswap64((uint64_t)values[i].upper ^ flip), __builtin_bswap64(values[i].lower)};
        memcpy(out, (const uint8_t *)halves + 16 - width, width);
    }
}

// ---- dictionary and PLAIN ------------------------------------------------------------------------------------------------

static void plain_text(struct fz_buf *out, const struct fz_string *values, size_t n, size_t total) {
    if (!fz_buf_reserve(out, total + 16)) {
        return;
    }
    char *p = out->ptr + out->len;
    for (size_t i = 0; i < n; i++) {
        uint32_t length = values[i].length;
        memcpy(p, &length, 4);
        p += 4;
        if (length <= 12) {
            memcpy(p, values[i].prefix, 4); // the room behind the last value makes copying all twelve fine
            memcpy(p + 4, values[i].u.tail, 8);
        } else {
            memcpy(p, values[i].u.ptr, length);
        }
        p += length;
    }
    out->len = (size_t)(p - out->ptr);
}

static size_t text_bytes(const struct fz_string *values, size_t n) {
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += values[i].length;
    }
    return total + 4 * n;
}

// Text in the dictionary widens the page's range once a page, however often it comes. `values` has been indexed; n <= BLOCK.
static void range_of_indexed(struct fz_pw_leaf *leaf, const struct fz_string *values, const uint32_t *indexes,
                             size_t n) {
    struct fz_string fresh[64];
    size_t k = 0;
    uint32_t page = (uint32_t)leaf->n_pages + 1;
    for (size_t i = 0; i < n; i++) {
        struct fz_pw_span *span = &leaf->dict.spans[indexes[i]];
        if (span->page != page) {
            span->page = page;
            fresh[k++] = values[i];
            if (k == sizeof fresh / sizeof fresh[0]) {
                fz_pw_range_add(&leaf->page_range, leaf->kind, fresh, k, &leaf->chunk_nans);
                k = 0;
            }
        }
    }
    fz_pw_range_add(&leaf->page_range, leaf->kind, fresh, k, &leaf->chunk_nans);
}

// Nearly all distinct so far: stop hashing. Numbers stop sooner, as they have small forms without a dictionary too: 99 % of a
// thousand distinct are above fifty thousand distinct values, if they come at random.
static bool is_hopeless(const struct fz_pw_leaf *leaf) {
    size_t n = leaf->n_present;
    bool number = leaf->width == 4 || leaf->width == 8;
    return !leaf->dict_used &&
           ((n >= SAMPLE && leaf->dict.n > n / 4 * 3) || (number && n >= SMALL_SAMPLE && leaf->dict.n > n - n / 100));
}

static enum fz_code encode(struct fz_pw_leaf *leaf, const void *values, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    size_t bytes = leaf->width > 0 ? n * leaf->width : text_bytes(values, n), done = 0;
    leaf->page_plain_bytes += bytes;
    if (leaf->use_dict) {
        FZ_TRY(fz_grow((void **)&leaf->indexes, &leaf->indexes_cap, leaf->n_present + n, sizeof *leaf->indexes, err));
        done = fz_pw_dict_add(&leaf->dict, values, n, leaf->indexes + leaf->n_present);
        if (leaf->dict.nomem) {
            rc = fz_fail_nomem(err, leaf->dict.values.cap);
            goto out;
        }
        if (leaf->kind == FZ_PW_BYTES) {
            range_of_indexed(leaf, values, leaf->indexes + leaf->n_present, done);
        }
        leaf->n_present += done;
        if (done < n || is_hopeless(leaf)) {
            FZ_TRY(fz_pw_leaf_to_plain(leaf, err));
        }
    }
    if (!leaf->use_dict && done < n) {
        if (leaf->bloom.options.enabled) { // those before are in the dictionary, or were added when it was given up
            size_t size = leaf->width > 0 ? leaf->width : sizeof(struct fz_string);
            FZ_TRY(fz_pw_bloom_add(&leaf->bloom, leaf->width, (const char *)values + done * size, n - done, err));
        }
        if (leaf->width > 0) {
            fz_buf_append(&leaf->plain, (const char *)values + done * leaf->width, (n - done) * leaf->width);
        } else {
            const struct fz_string *rest = (const struct fz_string *)values + done;
            fz_pw_range_add(&leaf->page_range, leaf->kind, rest, n - done, &leaf->chunk_nans);
            plain_text(&leaf->plain, rest, n - done, bytes);
        }
        leaf->n_present += n - done;
        rc = fz_buf_check(&leaf->plain, err);
    }
out:
    return rc;
}

static enum fz_code fixed_to_bytes(struct fz_pw_leaf *leaf, const struct fz_string *values, size_t n, uint8_t *out,
                                   struct fz_err *err) {
    for (size_t i = 0; i < n; i++, out += leaf->width) {
        if (values[i].length != leaf->width) {
            return fz_fail(err, FZ_INVALID_ARG, "column '%s' is fixed[%zu], a value has %u bytes", leaf->name,
                           leaf->width, values[i].length);
        }
        memcpy(out, fz_string_ptr(&values[i]), leaf->width);
    }
    return FZ_OK;
}

// n present values (levels are done already).
static enum fz_code append_values(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, const struct fz_column *column,
                                  size_t from, const uint32_t *rows, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t at = 0; at < n; at += BLOCK) {
        size_t m = n - at < BLOCK ? n - at : BLOCK;
        size_t fixed_width = leaf->kind >= FZ_PW_DECIMAL128 && leaf->kind != FZ_PW_BYTES ? leaf->width : 0;
        fz_buf_clear(&w->scratch.gather);
        if (!fz_buf_reserve(&w->scratch.gather, m * (16 + fixed_width))) {
            return fz_buf_check(&w->scratch.gather, err);
        }
        const void *values =
            gather(leaf->kind, column, from + at, rows == NULL ? NULL : rows + at, m, w->scratch.gather.ptr);
        if (leaf->kind != FZ_PW_BYTES) { // text: in encode
            fz_pw_range_add(&leaf->page_range, leaf->kind, values, m, &leaf->chunk_nans);
        }
        uint8_t *bytes = (uint8_t *)w->scratch.gather.ptr + m * 16;
        if (leaf->kind == FZ_PW_FIXED) {
            FZ_TRY(fixed_to_bytes(leaf, values, m, bytes, err));
            values = bytes;
        } else if (fixed_width > 0) {
            wide_to_bytes(leaf->kind, values, m, leaf->width, bytes);
            values = bytes;
        }
        FZ_TRY(encode(leaf, values, m, err));
    }
    rc = fz_pw_range_check(&leaf->page_range, err);
out:
    return rc;
}

// ---- levels --------------------------------------------------------------------------------------------------------------

// n definition levels; NULL: all are max_def.
static enum fz_code append_defs(struct fz_pw_leaf *leaf, const uint8_t *defs, size_t n, struct fz_err *err) {
    if (leaf->max_def > 0 && (defs != NULL || leaf->has_defs)) {
        enum fz_code rc = fz_grow((void **)&leaf->defs, &leaf->defs_cap, leaf->n_levels + n, 1, err);
        if (rc != FZ_OK) {
            return rc;
        }
        if (!leaf->has_defs) {
            memset(leaf->defs, leaf->max_def, leaf->n_levels);
            leaf->has_defs = true;
        }
        if (defs != NULL) {
            memcpy(leaf->defs + leaf->n_levels, defs, n);
        } else {
            memset(leaf->defs + leaf->n_levels, leaf->max_def, n);
        }
    }
    leaf->n_levels += n;
    return FZ_OK;
}

static size_t row_of(size_t from, const uint32_t *selection, size_t i) {
    return selection == NULL ? from + i : selection[i];
}

// Levels into w->scratch.levels and the rows that are there into w->scratch.present; returns how many are there.
static size_t split_nulls(struct fz_parquet_encoder *w, const struct fz_column *column, size_t from,
                          const uint32_t *selection, size_t n) {
    uint32_t *present = w->scratch.present;
    uint8_t *levels = w->scratch.levels;
    const uint64_t *validity = column->validity;
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        size_t row = row_of(from, selection, i);
        uint8_t there = validity[row >> 6] >> (row & 63) & 1;
        levels[i] = there;
        present[k] = (uint32_t)row;
        k += there;
    }
    return k;
}

static enum fz_code flat_block(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, const struct fz_column *column,
                               size_t from, const uint32_t *selection, size_t n, struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    if (column->validity != NULL) {
        FZ_TRY(fz_grow((void **)&w->scratch.present, &w->scratch.present_cap, n + 1, sizeof *w->scratch.present, err));
        FZ_TRY(fz_grow((void **)&w->scratch.levels, &w->scratch.levels_cap, n, 1, err));
        size_t k = split_nulls(w, column, from, selection, n);
        if (k < n) {
            if (leaf->required) {
                return fz_pw_fail_null(leaf->name, err);
            }
            FZ_TRY(append_defs(leaf, w->scratch.levels, n, err));
            FZ_TRY(append_values(w, leaf, column, 0, w->scratch.present, k, err));
            leaf->page_rows += (int64_t)n;
            goto out;
        }
    }
    FZ_TRY(append_defs(leaf, NULL, n, err));
    FZ_TRY(append_values(w, leaf, column, from, selection, n, err));
    leaf->page_rows += (int64_t)n;
out:
    return rc;
}

static size_t column_text_bytes(const struct fz_column *column, size_t from, const uint32_t *selection, size_t n) {
    const struct fz_string *s = column->data;
    size_t total = 0;
    if (column->validity == NULL && selection == NULL) {
        return text_bytes(s + from, n);
    }
    for (size_t i = 0; i < n; i++) {
        size_t row = row_of(from, selection, i);
        total += fz_column_is_valid(column, row) ? s[row].length : 0;
    }
    return total;
}

enum fz_code fz_pw_leaf_append_flat(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf,
                                    const struct fz_column *column, size_t from, const uint32_t *selection, size_t n,
                                    struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    bool text = leaf->kind == FZ_PW_BYTES || leaf->kind == FZ_PW_FIXED;
    for (size_t done = 0; done < n;) {
        size_t m = n - done;
        const uint32_t *rows = selection == NULL ? NULL : selection + done;
        if (text) { // long values: pieces that do not overshoot the page
            while (m > 1 &&
                   leaf->page_plain_bytes + column_text_bytes(column, from + done, rows, m) > 2 * w->page_bytes_max) {
                m /= 2;
                if (leaf->use_dict && m <= 64) {
                    break; // many repeated long values; the dictionary keeps the page small
                }
            }
        }
        FZ_TRY(flat_block(w, leaf, column, from + done, rows, m, err));
        if (fz_pw_leaf_page_bytes(leaf) >= w->page_bytes_max) {
            FZ_TRY(fz_pw_page_cut(w, leaf, err));
        }
        done += m;
    }
out:
    return rc;
}

// ---- nested --------------------------------------------------------------------------------------------------------------

static enum fz_code slots_block(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf, const struct fz_column *column,
                                const uint32_t *slot_rows, const uint8_t *slot_defs, const uint8_t *slot_reps, size_t n,
                                struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    FZ_TRY(fz_grow((void **)&w->scratch.present, &w->scratch.present_cap, n + 1, sizeof *w->scratch.present, err));
    FZ_TRY(fz_grow((void **)&w->scratch.levels, &w->scratch.levels_cap, n, 1, err));
    size_t k = 0, rows = 0;
    uint8_t absent = (uint8_t)(leaf->max_def - 1);
    for (size_t i = 0; i < n; i++) {
        uint32_t row = slot_rows[i];
        rows += slot_reps[i] == 0;
        if (row == FZ_PW_NO_ROW) {
            w->scratch.levels[i] = slot_defs[i];
        } else if (fz_column_is_valid(column, row)) {
            w->scratch.levels[i] = leaf->max_def;
            w->scratch.present[k++] = row;
        } else if (leaf->required) {
            return fz_pw_fail_null(leaf->name, err);
        } else {
            w->scratch.levels[i] = absent;
        }
    }
    if (leaf->max_rep > 0) {
        FZ_TRY(fz_grow((void **)&leaf->reps, &leaf->reps_cap, leaf->n_levels + n, 1, err));
        memcpy(leaf->reps + leaf->n_levels, slot_reps, n);
    }
    FZ_TRY(append_defs(leaf, k == n ? NULL : w->scratch.levels, n, err));
    FZ_TRY(append_values(w, leaf, column, 0, w->scratch.present, k, err));
    leaf->page_rows += (int64_t)rows;
out:
    return rc;
}

static size_t slots_bytes(const struct fz_pw_leaf *leaf, const struct fz_column *column, const uint32_t *slot_rows,
                          size_t n) {
    if (leaf->width > 0) {
        return n * leaf->width;
    }
    const struct fz_string *s = column->data;
    size_t total = 0;
    for (size_t i = 0; i < n; i++) {
        total += slot_rows[i] != FZ_PW_NO_ROW && fz_column_is_valid(column, slot_rows[i])
                     ? s[slot_rows[i]].length + (size_t)4
                     : 0;
    }
    return total;
}

enum fz_code fz_pw_leaf_append_slots(struct fz_parquet_encoder *w, struct fz_pw_leaf *leaf,
                                     const struct fz_column *column, const struct fz_pw_slots *slots,
                                     struct fz_err *err) {
    enum fz_code rc = FZ_OK;
    for (size_t done = 0; done < slots->n;) {
        size_t m = slots->n - done;
        while (m > 1 &&
               leaf->page_plain_bytes + slots_bytes(leaf, column, slots->rows + done, m) > 2 * w->page_bytes_max) {
            size_t half = m / 2; // pages begin with a row: cut before one, never inside
            while (half > 0 && slots->reps[done + half] != 0) {
                half--;
            }
            if (half == 0) {
                half = m / 2 + 1;
                while (half < m && slots->reps[done + half] != 0) {
                    half++;
                }
            }
            if (half == m) {
                break; // one row
            }
            m = half;
            if (leaf->use_dict && m <= 64) {
                break;
            }
        }
        FZ_TRY(slots_block(w, leaf, column, slots->rows + done, slots->defs + done, slots->reps + done, m, err));
        if (fz_pw_leaf_page_bytes(leaf) >= w->page_bytes_max) {
            FZ_TRY(fz_pw_page_cut(w, leaf, err));
        }
        done += m;
    }
out:
    return rc;
}
