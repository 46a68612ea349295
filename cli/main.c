// The program: picks the command.
#include <string.h>

#include "cli.h"

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
