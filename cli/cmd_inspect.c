// frazil inspect: what a file of a table is and holds.
#include <string.h>

#include "cli.h"

static const char HELP[] = "usage: frazil inspect FILE... [--json] [--all]\n"
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
                           "\n"
                           "  frazil inspect frazil-warehouse/db/t/metadata/v3.metadata.json\n"
                           "  frazil inspect --json data/part-0.parquet | jq '.row_groups[0].columns[0].encodings'\n"
                           "\n"
                           "Rows: frazil sql -e 'SELECT * FROM parquet.`data/part-0.parquet` LIMIT 10'\n";

static void print(void *ctx, const char *data, size_t len) {
    *(bool *)ctx = fwrite(data, 1, len, stdout) == len;
}

int cmd_inspect(int argc, char **argv) {
    int flags = 0, files = 0, status = EXIT_DONE;
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
        if (fz_inspect(argv[1 + i], flags, print, &printed, &error) != 0) {
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
