// Runs the inputs of a fuzz target without a fuzzer: its corpus (test/fuzz/corpus/<target>), what the shared data has of its kind, damaged
// files included, and seeded mutations of all of these (the blows of bad/mutate.py). Every case must end within 10 s, and the program
// must stay below 512 MiB; under sanitizers nothing else may happen either. Prints the case at hand when it does not survive it.
//
// usage: test_fuzz_<target> [FILE...]     FRAZIL_MUTATIONS: how many (250), FRAZIL_SEED: which (1), FRAZIL_SHARED_DATA: the shared data
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fuzz.h"

enum { MAX_SEED_BYTES = 96 << 10, MAX_INPUT_BYTES = 1 << 20, LIMIT_MB = 512, LIMIT_SECONDS = 10 };

struct input {
    char *path;
    int prefix; // a byte put in front; -1: none
};
static struct input *inputs;
static size_t n_inputs, cap_inputs;
static char current[4300]; // the case at hand
static const uint8_t *current_data;
static size_t current_size;

// Limits of the sanitizers' own: what the code asks for counts, not what they keep.
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "quarantine_size_mb=4:max_allocation_size_mb=512:allocator_may_return_null=1";
}
void __sanitizer_set_death_callback(void (*callback)(void)) __attribute__((weak));

static void say_case(void) {
    char place[64];
    snprintf(place, sizeof place, "/tmp/fuzz-%s-case", FZ_TARGET);
    FILE *out = fopen(place, "wb");
    if (out != NULL) {
        fwrite(current_data, 1, current_size, out);
        fclose(out);
    }
    fprintf(stderr, "the case: %s (kept as %s)\n", current, place);
}

static void on_signal(int number) {
    fprintf(stderr, number == SIGALRM ? "still running after %d s\n" : "signal; limit %d s\n", LIMIT_SECONDS * 2);
    say_case();
    _exit(1);
}

static void add_input(const char *path, int prefix) {
    if (n_inputs == cap_inputs) {
        cap_inputs = cap_inputs ? cap_inputs * 2 : 256;
        inputs = realloc(inputs, cap_inputs * sizeof *inputs);
    }
    inputs[n_inputs++] = (struct input){strdup(path), prefix};
}

static int by_path(const void *a, const void *b) {
    const struct input *x = a, *y = b;
    int order = strcmp(x->path, y->path);
    return order != 0 ? order : x->prefix - y->prefix;
}

// All files below a folder whose name holds `part`; with `prefixes` > 0 once with each first byte.
static void add_folder(const char *folder, const char *part, int prefixes) {
    DIR *dir = opendir(folder);
    for (struct dirent *e; dir != NULL && (e = readdir(dir)) != NULL;) {
        char path[4096];
        struct stat st;
        if (e->d_name[0] == '.' || (size_t)snprintf(path, sizeof path, "%s/%s", folder, e->d_name) >= sizeof path ||
            stat(path, &st) != 0) {
            continue;
        }
        if (S_ISREG(st.st_mode) && st.st_size > MAX_INPUT_BYTES) { // the unit tests read those
            continue;
        }
        if (S_ISDIR(st.st_mode)) {
            add_folder(path, part, prefixes);
        } else if (strstr(e->d_name, part) != NULL && strcmp(e->d_name, "expect.jsonl") != 0) {
            for (int i = 0; i < prefixes; i++) {
                add_input(path, i);
            }
            if (prefixes == 0) {
                add_input(path, -1);
            }
        }
    }
    if (dir != NULL) {
        closedir(dir);
    }
}

static void add_shared(const char *shared) {
    static const struct {
        const char *target, *folder, *part;
        int prefixes;
    } kinds[] = {
        {"parquet_file", "parquet", ".parq", 0},  {"parquet_file", "bad/parquet", "", 0},
        {"avro", "iceberg/avro", "", 0},          {"avro", "bad/avro", "", 0},
        {"puffin", "iceberg/puffin", "", 0},      {"positions", "iceberg/dv", "", 2},
        {"positions", "bad/dv", "", 2},           {"metadata", "iceberg/metadata", "", 0},
        {"manifest", "iceberg/avro", "snap-", 2}, {"manifest", "iceberg/avro", "manifest", 2},
        {"manifest", "bad/avro", "", 2},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++) {
        if (strcmp(kinds[i].target, FZ_TARGET) == 0) {
            char folder[2048];
            snprintf(folder, sizeof folder, "%s/%s", shared, kinds[i].folder);
            add_folder(folder, kinds[i].part, kinds[i].prefixes);
        }
    }
}

static uint8_t *load(const struct input *in, size_t *size) {
    FILE *f = fopen(in->path, "rb");
    struct stat st;
    if (f == NULL || fstat(fileno(f), &st) != 0) {
        fprintf(stderr, "%s cannot be read\n", in->path);
        exit(1);
    }
    size_t extra = in->prefix >= 0;
    uint8_t *data = malloc((size_t)st.st_size + extra + 1);
    if (extra) {
        data[0] = (uint8_t)in->prefix;
    }
    *size = extra + fread(data + extra, 1, (size_t)st.st_size, f);
    fclose(f);
    return data;
}

static int slow;

static void run_case(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size > 0 ? size : 1); // its own block, so that reading behind it is seen
    struct timespec from, to;
    memcpy(copy, data, size);
    current_data = copy;
    current_size = size;
    alarm(LIMIT_SECONDS * 2);
    clock_gettime(CLOCK_MONOTONIC, &from);
    LLVMFuzzerTestOneInput(copy, size);
    clock_gettime(CLOCK_MONOTONIC, &to);
    alarm(0);
    double seconds = (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) / 1e9;
    if (seconds > LIMIT_SECONDS) {
        fprintf(stderr, "%.1f s: ", seconds);
        say_case();
        slow++;
    }
    free(copy);
}

// ---- mutations

static uint64_t rng_state;
static uint64_t next(void) { // splitmix64
    uint64_t z = rng_state += UINT64_C(0x9E3779B97F4A7C15);
    z = (z ^ z >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ z >> 27) * UINT64_C(0x94D049BB133111EB);
    return z ^ z >> 31;
}
static size_t below(size_t n) {
    return n > 0 ? (size_t)(next() % n) : 0;
}

// Half of the blows fall where a reader is steered: the first 64 bytes, the last 1,024, and a Parquet footer.
static size_t place(const uint8_t *d, size_t n) {
    if (n == 0 || below(2) == 0) {
        return below(n);
    }
    size_t from = 0, to = n < 64 ? n : 64, choice = below(3);
    if (choice >= 1) {
        from = n > 1024 ? n - 1024 : 0;
        to = n;
    }
    if (choice == 2 && n > 12 && memcmp(d + n - 4, "PAR1", 4) == 0) {
        uint32_t footer;
        memcpy(&footer, d + n - 8, 4);
        from = footer < n - 8 ? n - 8 - footer : from;
    }
    return from + below(to - from);
}

static size_t mutate(uint8_t *d, size_t n) { // `d` has room for 64 bytes more
    size_t at = place(d, n), run = 1 + below(64);
    run = run < n - at ? run : n - at;
    switch (below(9)) {
    case 0:
        return below(n + 1);
    case 1:
    case 2:
        for (size_t k = 1 + below(8); k > 0 && n > 0; k--) {
            d[place(d, n)] ^= (uint8_t)(1u << below(8));
        }
        return n;
    case 3:
        memset(d + at, 0, run);
        return n;
    case 4:
        memset(d + at, 0xff, run);
        return n;
    case 5:
        for (size_t k = 0, other = place(d, n); k < 16 && at + k < n && other + k < n; k++) {
            uint8_t kept = d[at + k];
            d[at + k] = d[other + k];
            d[other + k] = kept;
        }
        return n;
    case 6:
        memmove(d + at + run, d + at, n - at);
        for (size_t k = 0; k < run; k++) {
            d[at + k] = (uint8_t)next();
        }
        return n + run;
    case 7:
        memset(d + at, 0xff, n - at < 9 ? n - at : 9);
        if (n - at > 9) {
            d[at + 9] = 1;
        }
        return n;
    default:
        for (size_t k = n > 12 ? n - 12 : 0; k < n; k++) {
            d[k] = (uint8_t)next();
        }
        return n;
    }
}

static long setting(const char *name, long otherwise) {
    const char *text = getenv(name);
    return text != NULL ? atol(text) : otherwise;
}

int main(int argc, char **argv) {
    const char *env = getenv("FRAZIL_SHARED_DATA"), *shared = env != NULL ? env : FZ_SOURCE_DIR "/../shared/data";
    struct rusage before, after;
    size_t cases = 0, own;
    signal(SIGALRM, on_signal);
    if (__sanitizer_set_death_callback != NULL) {
        __sanitizer_set_death_callback(say_case);
    }
    for (int i = 1; i < argc; i++) {
        add_input(argv[i], -1);
    }
    if (argc == 1) {
        add_folder(FZ_SOURCE_DIR "/test/fuzz/corpus/" FZ_TARGET, "", 0);
        own = n_inputs;
        add_shared(shared);
        if (n_inputs == own && access(shared, R_OK) != 0) {
            printf("no shared data at %s: only the corpus in the tree is replayed\n", shared);
        }
    }
    if (n_inputs > 1) {
        qsort(inputs, n_inputs, sizeof *inputs, by_path);
    }
    getrusage(RUSAGE_SELF, &before);
    for (size_t i = 0; i < n_inputs; i++, cases++) {
        size_t size;
        uint8_t *data = load(&inputs[i], &size);
        snprintf(current, sizeof current, "%s, first byte %d", inputs[i].path, inputs[i].prefix);
        run_case(data, size);
        free(data);
    }
    long mutations = argc == 1 && n_inputs > 0 ? setting("FRAZIL_MUTATIONS", 250) : 0, seed = setting("FRAZIL_SEED", 1),
         done = 0;
    for (size_t k = 0; done < mutations && k < (size_t)mutations * 20; k++) {
        size_t size;
        rng_state = (uint64_t)seed * UINT64_C(1000003) + k;
        const struct input *in = &inputs[below(n_inputs)];
        uint8_t *data = load(in, &size);
        if (size <= MAX_SEED_BYTES) {
            uint8_t *room = malloc(size + 256);
            memcpy(room, data, size);
            for (size_t blows = 1 + below(2); blows > 0; blows--) {
                size = mutate(room, size);
            }
            snprintf(current, sizeof current, "%s, first byte %d, seed %ld, mutation %zu", in->path, in->prefix, seed,
                     k);
            run_case(room, size);
            free(room);
            done++;
        }
        free(data);
    }
    getrusage(RUSAGE_SELF, &after);
    long mb = (after.ru_maxrss - before.ru_maxrss) / 1024;
    printf("%s: %zu inputs, %ld mutations, %ld MB\n", FZ_TARGET, cases, done, mb);
    bool failed = slow > 0 || mb > LIMIT_MB;
    if (mb > LIMIT_MB) {
        printf("more than %d MB\n", LIMIT_MB);
    }
    printf(failed ? "[  FAILED  ] 1 test(s).\n" : "[  PASSED  ] 1 test(s).\n");
    for (size_t i = 0; i < n_inputs; i++) {
        free(inputs[i].path);
    }
    free(inputs);
    return failed;
}
