/* Runs a fuzz harness over a corpus without libFuzzer: every file as it is, every prefix of it, and
 * a number of copies with one byte changed, by a seed that is printed.
 *
 *     [REDLOCK_SEED=N] replay FOLDER [whole]     whole: every file as it is, and no more
 *
 * Output is TAP, one case a file. A harness that finds something aborts: the case that had begun is
 * named on stderr.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "seed.h"

#define INPUT_MAX 4096
#define PREFIXES_MAX 512
#define CHANGES 2000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* splitmix64 */
static uint64_t next_random(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
}

/* A buffer of exactly the input's size, so that reading past its end is seen by ASan. */
static void run(const uint8_t *data, size_t size) {
    uint8_t *exact = malloc(size > 0 ? size : 1);
    if (exact == NULL) {
        abort();
    }
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

static void run_variants(uint8_t *data, size_t size) {
    uint64_t random = random_seed() + size;
    for (size_t n = 0; n < size && n < PREFIXES_MAX; n++) {
        run(data, n);
    }
    for (int i = 0; i < CHANGES && size > 0; i++) {
        uint64_t r = next_random(&random);
        size_t at = (size_t)(r >> 8) % size;
        uint8_t kept = data[at];
        data[at] = (uint8_t)r;
        run(data, size);
        data[at] = kept;
    }
}

static int run_file(const char *folder, const char *name, bool whole) {
    static uint8_t data[INPUT_MAX];
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        perror(path);
        return 0;
    }
    size_t size = fread(data, 1, sizeof(data), file);
    fclose(file);
    fprintf(stderr, "%s\n", path);
    run(data, size);
    if (!whole) {
        run_variants(data, size);
    }
    return 1;
}

int main(int argc, char **argv) {
    struct dirent **entries;
    int cases = 0;
    bool whole = argc == 3 && strcmp(argv[2], "whole") == 0;
    int n = argc == 2 || whole ? scandir(argv[1], &entries, NULL, alphasort) : -1;
    if (n < 0) {
        fprintf(stderr, "usage: %s FOLDER [whole]\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.') {
            int ok = run_file(argv[1], name, whole);
            printf("%s %d - %s\n", ok ? "ok" : "not ok", ++cases, name);
        }
        free(entries[i]);
    }
    free(entries);
    printf("1..%d\n", cases);
    return cases > 0 ? 0 : 1;
}
