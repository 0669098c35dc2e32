/* Runs a fuzz harness over a corpus without libFuzzer, which would also change it.
 *
 *     replay FOLDER
 *
 * Output is TAP, one case a file. A harness that finds something aborts: the case that had begun is
 * named on stderr.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INPUT_MAX 4096

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

static int run_file(const char *folder, const char *name) {
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
    return 1;
}

int main(int argc, char **argv) {
    struct dirent **entries;
    int cases = 0;
    int n = argc == 2 ? scandir(argv[1], &entries, NULL, alphasort) : -1;
    if (n < 0) {
        fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
        return 2;
    }
    for (int i = 0; i < n; i++) {
        const char *name = entries[i]->d_name;
        if (name[0] != '.') {
            int ok = run_file(argv[1], name);
            printf("%s %d - %s\n", ok ? "ok" : "not ok", ++cases, name);
        }
        free(entries[i]);
    }
    free(entries);
    printf("1..%d\n", cases);
    return cases > 0 ? 0 : 1;
}
