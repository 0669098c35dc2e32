/* See require.h. */
#include "base/require.h"

#include <stdio.h>
#include <stdlib.h>

void rl_require_failed(const char *condition, const char *file, int line) {
    fprintf(stderr, "libredlock: %s:%d: this must be true: %s\n", file, line, condition);
    abort();
}
