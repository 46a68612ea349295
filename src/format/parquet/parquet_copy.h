// Row groups of one Parquet file copied into another, byte for byte: pages are not inflated, only their headers are walked and offsets
// moved. docs/partial-rewrite.md section 4 has the rules.
#ifndef FZ_FORMAT_PARQUET_PARQUET_COPY_H
#define FZ_FORMAT_PARQUET_PARQUET_COPY_H

#include "format/parquet/parquet_reader.h"
#include "format/parquet/parquet_writer.h"

struct fz_parquet_copy {
    struct fz_parquet_file *file;
    size_t row_group;
    const int32_t *without_nans; // field ids of columns known to hold no NaN there: files do not say it
    size_t n_without_nans;
};
// Sets a byte for each of the encoder's fields (in the order of its options) whose chunks can be copied: same physical form as the
// encoder would write, and statistics that give the counts and bounds a manifest needs. Returns how many.
size_t fz_parquet_copy_fields(const struct fz_parquet_encoder *encoder, const struct fz_parquet_copy *copy,
                              uint8_t *fields);
// The row group with the chunks of `fields` copied. The others come from the encoder, which was told to leave `fields` out and took the
// same rows; with all fields copied it is only asked for the schema.
enum fz_code fz_parquet_copy_group(struct fz_parquet_encoder *encoder, const struct fz_parquet_copy *copy,
                                   const uint8_t *fields, struct fz_cancel *cancel, struct fz_parquet_group **out,
                                   struct fz_err *err);

#endif
