// Row groups of one Parquet file copied into another, byte for byte: pages are not inflated, only their headers are walked and offsets
// moved. With a patch some rows are left out or get new values: then pages that hold such a row are encoded again, the others are
// copied. docs/partial-rewrite.md section 4 has the rules.
#ifndef FZ_FORMAT_PARQUET_PARQUET_COPY_H
#define FZ_FORMAT_PARQUET_PARQUET_COPY_H

#include "format/parquet/parquet_reader.h"
#include "format/parquet/parquet_writer.h"

// What becomes of the rows of a row group. Rows are numbered within it and ascend.
struct fz_parquet_patch {
    const uint32_t *gone; // rows that are left out
    size_t n_gone;
    const uint32_t *rows; // rows that stay where they are and get new values; none of them is gone
    size_t n_rows;
    const uint8_t *assigned; // per field of the encoder: whether `rows` get new values there
    const struct fz_column *values; // per field: n_rows values of assigned fields. copy_fields does not look at them
};
struct fz_parquet_copy_counts {
    int64_t chunks_copied, chunks_patched, chunks_encoded; // patched: some pages copied, some encoded
    int64_t pages_copied, pages_encoded; // data pages of the first two, and of encoded chunks the new ones
    int64_t bytes_copied;
};
struct fz_parquet_copy {
    struct fz_parquet_file *file;
    size_t row_group;
    const int32_t *without_nans; // field ids of columns known to hold no NaN there: files do not say it
    size_t n_without_nans;
    const struct fz_parquet_patch *patch; // NULL: all rows stay as they are
    struct fz_parquet_copy_counts *counts; // added to; may be NULL
    bool like_new; // only chunks of the encoder's codec, and with a bloom filter where it makes one
};
// Sets a byte for each of the encoder's fields (in the order of its options) whose chunks can be copied: same physical form as the
// encoder would write, and statistics that give the counts and bounds a manifest needs. With a patch, columns that get new values have to be flat.
// Returns how many.
size_t fz_parquet_copy_fields(const struct fz_parquet_encoder *encoder, const struct fz_parquet_copy *copy,
                              uint8_t *fields);
// The row group with the chunks of `fields` copied, or patched. The others come from the encoder, which was told to leave `fields` out and
// took the rows that stay, as they shall be; with all fields copied it is only asked for the schema and for encoding pages.
enum fz_code fz_parquet_copy_group(struct fz_parquet_encoder *encoder, const struct fz_parquet_copy *copy,
                                   const uint8_t *fields, struct fz_cancel *cancel, struct fz_parquet_group **out,
                                   struct fz_err *err);

#endif
