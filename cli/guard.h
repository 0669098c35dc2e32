/* A second process that ends the command if this one cannot: if redlock itself is killed, or
 * stopped and so does not renew, the command must not outlive the lock.
 *
 * Happy path: the guard sleeps. Each renewal moves its two deadlines; when the command is done
 * it is told so and ends.
 *
 * Failure modes:
 *   - The pipe to us breaks without a word: redlock was killed. SIGTERM to the command's group, and
 *     SIGKILL at the end of the grace.
 *   - A deadline passes: redlock is stopped, or its thread does not get the processor. The same, by
 *     the deadlines. They are on the clock of the lock, which counts suspend.
 *   - The guard itself is killed: nothing is lost but the second line.
 *
 * Can it signal a stranger? While redlock lives it has not waited for the command's last
 * process before it says that all is done, so the group's number is taken. After redlock's
 * death the guard acts at once and ends as soon as the group is empty. */
#ifndef RL_CLI_GUARD_H
#define RL_CLI_GUARD_H

#include <stdint.h>
#include <sys/types.h>

#define RL_GUARD_NEVER UINT64_MAX

struct rl_guard {
    pid_t pid; /* 0: none */
    int pipe;
};

/* What it is told: when the group gets SIGTERM and SIGKILL, on redlock_now_ns(). RL_GUARD_NEVER:
 * not at all. */
struct rl_guard_word {
    uint64_t term_ns;
    uint64_t kill_ns;
};

/* grace_ms: between the two if redlock is gone. If no process can be started there is no guard. */
void rl_guard_start(struct rl_guard *guard, pid_t group, int64_t grace_ms,
                    const struct rl_guard_word *word);
void rl_guard_tell(const struct rl_guard *guard, const struct rl_guard_word *word);
/* The group is gone. Waits for the guard's end. */
void rl_guard_stop(struct rl_guard *guard);

#endif
