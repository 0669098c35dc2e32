/* Shared by the unit tests: cmocka, replayable randomness, and
 * a way to check that an assertion of the library fires. */
#ifndef UNIT_CHECK_H
#define UNIT_CHECK_H

#include <sys/wait.h>
#include <unistd.h>

#include "seed.h"
#include "testing.h"

#define MS UINT64_C(1000000) /* in ns */

/* splitmix64: every seed is a good one. */
static inline uint64_t random_next(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 to limit - 1 */
static inline uint32_t random_below(uint64_t *state, uint32_t limit) {
    return (uint32_t)(random_next(state) % limit);
}

/* Whether the process is aborted by run(): it is tried in a child. Where the library is built
 * without assertions there is nothing to see, so it is taken for granted there. */
static inline bool dies(void (*run)(void *), void *data) {
#ifdef NDEBUG
    (void)run;
    return true;
#else
    int status = 0;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        /* quiet, also if a check of a test fails in the child, which would go on from there */
        if (freopen("/dev/null", "w", stderr) != NULL &&
            freopen("/dev/null", "w", stdout) != NULL) {
            run(data);
        }
        _exit(0);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
#endif
}

#endif
