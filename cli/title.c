/* See title.h. */
#include "title.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>

static char *area; /* the arguments, one behind the other, as the kernel laid them out */
static size_t area_size;

void rl_title_open(int argc, char **argv) {
    area = argc > 0 ? argv[0] : NULL;
    area_size = 0;
    for (int i = 0; i < argc && argv[i] == area + area_size; i++) {
        area_size += strlen(argv[i]) + 1;
    }
}

void rl_title_set(const char *comm, const char *text) {
    size_t length = strlen(text);
    assert(strlen(comm) <= 15);
    prctl(PR_SET_NAME, comm);
    if (area_size == 0) {
        return;
    }
    memset(area, 0, area_size);
    memcpy(area, text, length < area_size ? length : area_size - 1);
}
