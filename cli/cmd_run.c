// frazil run and frazil check: CDC pipelines from a YAML file.
#include <string.h>

#include "cli.h"

static const char RUN_HELP[] =
    "usage: frazil run PIPELINE.yaml [--once] [options]\n"
    "\n"
    "Applies a change stream to Iceberg tables. Runs until SIGINT or SIGTERM, which finish the current commit and stop "
    "cleanly.\n"
    "\n"
    "  --once                 stop at the end of what the source holds now\n"
    "  --conf, --properties-file, --catalog, --memory, --threads, -v, -S   as for frazil sql\n"
    "\n"
    "  frazil run examples/orders/orders.yaml --once\n";
static const char CHECK_HELP[] =
    "usage: frazil check PIPELINE.yaml [options]\n"
    "\n"
    "Validates a pipeline without writing: configuration, keys, types, the DDL and the MERGE it would run, warnings.\n"
    "Options as for frazil run.\n";

static void print_line(void *ctx, const char *text) {
    fprintf(ctx, "%s\n", text);
    fflush(ctx);
}

static int run(int argc, char **argv, bool check) {
    struct common common = {0};
    const char *path = NULL;
    bool once = false;
    int status = EXIT_USAGE;
    fz_session *session = NULL;
    fz_pipeline *pipeline = NULL;
    fz_error error;
    for (int i = 1; i < argc;) {
        int taken = take_common(&common, argc, argv, i);
        if (taken < 0) {
            goto out;
        }
        if (taken > 0) {
            i += taken;
        } else if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(check ? CHECK_HELP : RUN_HELP, stdout);
            status = EXIT_DONE;
            goto out;
        } else if (!check && strcmp(argv[i], "--once") == 0) {
            once = true;
            i++;
        } else if (argv[i][0] != '-' && path == NULL) {
            path = argv[i++];
        } else {
            fprintf(stderr, "frazil %s: unknown argument %s; see frazil %s --help\n", argv[0], argv[i], argv[0]);
            goto out;
        }
    }
    if (path == NULL) {
        fprintf(stderr, "frazil %s: which pipeline? See frazil %s --help\n", argv[0], argv[0]);
        goto out;
    }
    signals_start();
    status = open_session(&common, &session);
    if (status != EXIT_DONE) {
        goto out;
    }
    signals_watch(session);
    if (fz_pipeline_open(session, path, &pipeline, &error) != 0) {
        if (strncmp(error.message, path, strlen(path)) != 0) { // most messages begin with the place
            fprintf(stderr, "%s: ", path);
        }
        print_error(&error, NULL);
        status = EXIT_USAGE;
        goto out;
    }
    if (check) {
        status = fz_pipeline_check(pipeline, print_line, stdout, &error) == 0 ? EXIT_DONE : EXIT_USAGE;
    } else {
        fz_run_stats stats;
        status = fz_pipeline_run(pipeline, once, print_line, common.quiet ? stderr : stdout, &stats, &error) == 0
                     ? EXIT_DONE
                     : status_of(&error);
    }
    if (status != EXIT_DONE) {
        print_error(&error, NULL);
    }
out:
    signals_watch(NULL);
    fz_pipeline_close(pipeline);
    fz_session_close(session);
    settings_free(&common.settings);
    return status;
}

int cmd_run(int argc, char **argv) {
    return run(argc, argv, false);
}
int cmd_check(int argc, char **argv) {
    return run(argc, argv, true);
}
