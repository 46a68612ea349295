// The program: picks the command.
#include <malloc.h>
#include <string.h>

#include "cli.h"

// Buffers of a few megabytes come and go with every row group. Giving each back to the system costs a tenth of a rewrite in page
// faults, so the process keeps what it had: buffers up to 32 MB on the heap, and up to 64 MB of it free.
enum { KEPT_BUFFER_BYTES = 32 << 20, KEPT_FREE_BYTES = 64 << 20 };

static const struct {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *does;
} COMMANDS[] = {
    {"sql", cmd_sql, "run SQL on Iceberg tables: -e, -f, standard input or a prompt"},
    {"run", cmd_run, "run a CDC pipeline: a change stream into Iceberg tables"},
    {"check", cmd_check, "validate a pipeline without writing"},
    {"inspect", cmd_inspect, "show what a Parquet, Avro, Puffin or metadata file holds"},
};
enum { N_COMMANDS = sizeof COMMANDS / sizeof *COMMANDS };

static void help(FILE *out) {
    fputs("frazil turns change streams (CDC) into Apache Iceberg tables that every engine reads.\n\nusage: frazil "
          "COMMAND [options]\n\n",
          out);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        fprintf(out, "  %-8s %s\n", COMMANDS[i].name, COMMANDS[i].does);
    }
    fputs("\nfrazil COMMAND --help shows the options with examples. frazil --version prints the version.\n"
          "\nfirst steps:\n"
          "  frazil sql -e \"CREATE TABLE db.t (id BIGINT, v STRING); INSERT INTO db.t VALUES (1, 'a'); SELECT * FROM "
          "db.t\"\n"
          "  frazil run examples/orders/orders.yaml --once\n",
          out);
}

int main(int argc, char **argv) {
    mallopt(M_MMAP_THRESHOLD, KEPT_BUFFER_BYTES);
    mallopt(M_TRIM_THRESHOLD, KEPT_FREE_BYTES);
    if (argc < 2) {
        help(stderr);
        return EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        help(stdout);
        return EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        puts("frazil " FRAZIL_VERSION);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < N_COMMANDS; i++) {
        if (strcmp(argv[1], COMMANDS[i].name) == 0) {
            return COMMANDS[i].run(argc - 1, argv + 1);
        }
    }
    fprintf(stderr, "frazil: there is no command %s\n\n", argv[1]);
    help(stderr);
    return EXIT_USAGE;
}
