// scan/: every snapshot of the shared tables, read by two threads.
#include "scan/scan_tables.h"

static enum fz_code read_directly(const struct fz_scan_source_options *options, struct scan_rows *out) {
    return scan_rows_read(options, 2, out);
}

int main(void) {
    tables_read = read_directly;
    const struct CMUnitTest tests[] = {FZ_TEST(every_snapshot_of_every_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
