/* A client is opened where few descriptors are left, by a process that has had no loop of libuv:
 * the first one would end it. So this program uses nothing of libuv itself. */

#include <sys/resource.h>
#include <unistd.h>

#include "child.h"
#include "redlock/blocking.h"
#include "testing.h"

#define MOST 40 /* more than a client of one node needs */

static int open_with(rlim_t limit) {
    static const char *const urls[] = {"unix:///nowhere/at/all"};
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    const struct rlimit few = {limit, limit};
    redlock_blocking *blocking = NULL;
    options.nodes = urls;
    options.n_nodes = 1;
    CHILD_CHECK(setrlimit(RLIMIT_NOFILE, &few) == 0);
    const int status = redlock_blocking_open(&blocking, &options);
    CHILD_CHECK((blocking == NULL) == (status == REDLOCK_ERR_SYSTEM));
    CHILD_CHECK(blocking != NULL || limit < MOST);
    CHILD_CHECK(blocking == NULL || redlock_blocking_close(blocking) == 0);
    return 0;
}

TEST(opens_or_says_that_it_cannot) {
    const int next = dup(STDERR_FILENO);
    close(next);
    for (int limit = next; limit <= MOST; limit++) {
        const pid_t pid = fork();
        if (pid == 0) {
            _exit(open_with((rlim_t)limit));
        }
        child_expect_good(pid);
    }
}
