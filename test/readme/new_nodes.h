/* Included before the program of README.md, so that it succeeds on the nodes of a test: they are
 * new, and would not vote for 30 s. */
#include <redlock/blocking.h>

static inline int open_on_new_nodes(redlock_blocking **client,
                                    const redlock_client_options *options) {
    redlock_client_options without_guard = *options;
    without_guard.guard = REDLOCK_GUARD_OFF;
    return redlock_blocking_open(client, &without_guard);
}

#define redlock_blocking_open open_on_new_nodes
