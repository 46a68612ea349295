// frazil inspect: what a file of a table is and holds.
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

static const char HELP[] =
    "usage: frazil inspect FILE... [--json] [--all] [--rows N]\n"
    "\n"
    "Shows what a local file of a table is and holds: Parquet (schema with field ids, columns, "
    "row groups, statistics, page index,\n"
    "bloom filters), manifests and manifest lists, other Avro files, Puffin (deletion vectors, "
    "sketches), table metadata (also .gz),\n"
    "version-hint.text. The file is recognised by its bytes; no catalog is asked.\n"
    "\n"
    "  --json    one JSON document a file, with everything: every column chunk and page, every "
    "manifest entry with its bounds\n"
    "  --all     long lists are not cut\n"
    "  --rows N  the first N rows of Parquet and Avro files instead: a table, or row by row where "
    "that would be too wide; long\n"
    "            values are cut without --all; with --json a document with \"rows\"\n"
    "\n"
    "  frazil inspect frazil-warehouse/db/t/metadata/v3.metadata.json\n"
    "  frazil inspect --json data/part-0.parquet | jq '.row_groups[0].columns[0].encodings'\n"
    "  frazil inspect --rows 5 data/part-0.parquet\n"
    "\n"
    "Any rows: frazil sql -e 'SELECT * FROM parquet.`data/part-0.parquet` WHERE …'\n";

static void print(void *ctx, const char *data, size_t len) {
    *(bool *)ctx = fwrite(data, 1, len, stdout) == len;
}

static bool read_rows(const char *text, int64_t *out) {
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    *out = n;
    return text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0;
}

int cmd_inspect(int argc, char **argv) {
    int flags = 0, files = 0, status = EXIT_DONE;
    int64_t rows = -1;
    bool only_files = false;
    for (int i = 1; i < argc; i++) {
        if (!only_files && strcmp(argv[i], "--") == 0) {
            only_files = true;
        } else if (!only_files && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)) {
            fputs(HELP, stdout);
            return EXIT_DONE;
        } else if (!only_files && strcmp(argv[i], "--json") == 0) {
            flags |= FZ_INSPECT_JSON;
        } else if (!only_files && strcmp(argv[i], "--all") == 0) {
            flags |= FZ_INSPECT_ALL;
        } else if (!only_files && (strcmp(argv[i], "--rows") == 0 || strncmp(argv[i], "--rows=", 7) == 0)) {
            if (!read_rows(argv[i][6] == '=' ? argv[i] + 7 : i + 1 < argc ? argv[++i] : "", &rows)) {
                fputs("frazil inspect: --rows needs a number of rows, such as --rows 10\n", stderr);
                return EXIT_USAGE;
            }
        } else if (!only_files && argv[i][0] == '-') {
            fprintf(stderr, "frazil inspect: unknown option %s; see frazil inspect --help\n", argv[i]);
            return EXIT_USAGE;
        } else {
            argv[1 + files++] = argv[i];
        }
    }
    if (files == 0) {
        fputs("frazil inspect: which file? See frazil inspect --help\n", stderr);
        return EXIT_USAGE;
    }
    for (int i = 0; i < files; i++) {
        fz_error error;
        bool printed = false;
        if (i > 0 && (flags & FZ_INSPECT_JSON) == 0) {
            putchar('\n');
        }
        int failed = rows >= 0 ? fz_inspect_first_rows(argv[1 + i], rows, flags, print, &printed, &error)
                               : fz_inspect(argv[1 + i], flags, print, &printed, &error);
        if (failed != 0) {
            fflush(stdout);
            print_error(&error, NULL);
            status = EXIT_FAILED;
        } else if (!printed || fflush(stdout) != 0) {
            fputs("frazil inspect: the output could not be written\n", stderr);
            return EXIT_FAILED;
        }
    }
    return status;
}
