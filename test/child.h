/* For tests that fork. The child must not use cmocka's assertions, which would go on with the
 * parent's tests: its exit code is the line of the failed check. */
#ifndef CHILD_H
#define CHILD_H

#include <sys/wait.h>
#include <unistd.h>

#include "testing.h"

#define CHILD_CHECK(condition)         \
    do {                               \
        if (!(condition)) {            \
            _exit(1 + __LINE__ % 250); \
        }                              \
    } while (0)

/* Waits until the child has exited. */
static inline int child_exit_code(pid_t pid) {
    int status = 0;
    assert_true(pid > 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* Waits for the child, and asserts that none of its checks failed. */
static inline void child_expect_good(pid_t pid) {
    const int code = child_exit_code(pid);
    if (code != 0) {
        print_error("the child's check in a line that is %d mod 250 failed\n", code - 1);
    }
    assert_int_equal(code, 0);
}

#endif /* CHILD_H */
