/* A child is distinguished from its parent without the pid, which may be the same in a new pid
 * namespace: by the page that is wiped on fork, or, on a kernel without that, by the count of
 * forks. */

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/fork.h"
#include "child.h"

static bool has_no_wiping; /* the kernel */
static bool only_nods;     /* an emulator: it accepts every advice, and does nothing */
static bool has_pids;      /* else every process has the pid 1 */

pid_t getpid(void) {
    return has_pids ? (pid_t)syscall(SYS_getpid) : 1;
}

int madvise(void *address, size_t size, int advice) {
    if (only_nods) {
        return 0;
    }
    if (has_no_wiping && advice == MADV_WIPEONFORK) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_madvise, address, size, advice);
}

static bool child_is_child(const struct rl_fork *fork_state, pid_t pid) {
    if (pid == 0) {
        _exit(rl_fork_is_child(fork_state) ? 0 : 1);
    }
    return child_exit_code(pid) == 0;
}

/* As fork(), but without the C library's handlers. */
static pid_t raw_clone(void) {
    return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

TEST(by_the_page) {
    struct rl_fork first, second;
    has_no_wiping = has_pids = false;
    rl_fork_begin(&first);
    assert_non_null(first.page);
    rl_fork_begin(&second);
    assert_false(rl_fork_is_child(&first));
    assert_true(child_is_child(&first, fork()));
    assert_true(child_is_child(&second, raw_clone()));
    assert_false(rl_fork_is_child(&first));
    rl_fork_end(&first);
    assert_true(child_is_child(&second, fork()));
    rl_fork_end(&second);
}

TEST(by_the_count) {
    struct rl_fork before, in_child;
    has_no_wiping = true;
    has_pids = false;
    rl_fork_begin(&before);
    assert_null(before.page);
    assert_false(rl_fork_is_child(&before));
    assert_true(child_is_child(&before, fork()));
    pid_t pid = fork();
    if (pid == 0) { /* which opens one of its own, and has a child */
        rl_fork_begin(&in_child);
        bool is_right = !rl_fork_is_child(&in_child) && rl_fork_is_child(&before);
        _exit(is_right && child_is_child(&in_child, fork()) ? 0 : 1);
    }
    child_expect_good(pid);
    assert_false(rl_fork_is_child(&before));
    rl_fork_end(&before);
}

TEST(not_by_a_page_that_stays) {
    struct rl_fork opened;
    has_no_wiping = has_pids = false;
    only_nods = true;
    rl_fork_begin(&opened);
    assert_false(rl_fork_is_child(&opened));
    assert_true(child_is_child(&opened, fork()));
    rl_fork_end(&opened);
    only_nods = false;
}

TEST(by_the_pid) {
    struct rl_fork opened;
    has_no_wiping = has_pids = true;
    rl_fork_begin(&opened);
    assert_false(rl_fork_is_child(&opened));
    assert_true(child_is_child(&opened, raw_clone()));
    rl_fork_end(&opened);
}
