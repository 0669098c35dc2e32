/* The ten lines of README.md, with what stands around them in a program. It says how many steps it
 * has done under the lock: 3, or 0 without it.
 *
 *     ten_lines URL URL URL URL URL
 *
 * The guard is off: the nodes of a test are new, and would not vote for 30 s.
 */
#include <stdio.h>

#include <redlock/blocking.h>

static int n_steps;

static int do_one_step(void) {
    n_steps++;
    return n_steps < 3;
}

static int open_without_guard(redlock_blocking **client, redlock_client_options *options) {
    options->guard = REDLOCK_GUARD_OFF;
    return redlock_blocking_open(client, options);
}

int main(int argc, char **argv) {
    const char *const *nodes = (const char *const *)(argv + 1);
    redlock_blocking *client;
    redlock_mutex *mutex;
    if (argc != 6) {
        fprintf(stderr, "usage: ten_lines URL URL URL URL URL\n");
        return 2;
    }
#define redlock_blocking_open open_without_guard
#include "ten_lines.inc"
    redlock_mutex_free(mutex);
    redlock_blocking_close(client);
    printf("%d steps\n", n_steps);
    return 0;
}
