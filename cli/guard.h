/* A second process, "lock-guard", that ends the command if this one cannot: if redlock itself is
 * killed, or stopped and so does not renew, the command must not outlive the lock.
 *
 * Happy path: rl_guard_start() returns when the guard has all that it needs: its clock, its
 * descriptors, the group that it watches. Only then may the command begin. The guard sleeps. Each
 * renewal moves its two deadlines. When the group is empty rl_guard_stop() ends it.
 *
 * It may be started while redlock still waits for the lock, so that it takes no time from the hold.
 * Until rl_guard_move() brings a token it guards nothing: it has no deadlines, and if the channel
 * breaks it ends silently, without sending a signal.
 *
 * Failure modes:
 *   - No process is available, or the guard does not become ready: rl_guard_start() says why, and
 *     the command is not started.
 *   - The channel to us breaks: redlock was killed. SIGTERM to the command's group, and SIGKILL at
 *     the end of the grace. Once no process of the group is left, and never before, the guard
 *     releases the lock (work.h), so that the next holder need not wait for the rest of the ttl.
 *     A group that never gets empty keeps the lock until its ttl is over.
 *   - A deadline passes: redlock is stopped, or its thread gets no CPU time. The guard sends the
 *     same signals, at the deadlines. They are on the clock of the lock, which counts suspend.
 *   - The guard itself is killed or stopped: SIGCHLD says so, and work.h replaces it.
 *   - Both are killed: the command's first process has its parent-death signal (child.h).
 *   - Both are stopped: no process is left to react. The command may outlive the lock.
 *
 * When is there no guard? Until the group exists there is nothing to guard; from then on until the
 * guard is ready the child waits at its gate, which only redlock opens, and ends if redlock is
 * killed. If redlock is killed while the guard gets ready, the guard finds the channel broken as
 * soon as it is ready. Between the death of a guard and its replacement there are some milliseconds
 * in which redlock alone watches.
 *
 * Can it release a lock that the command still uses, or that redlock does? It releases if the
 * channel is broken and the group is empty. redlock closes its end when it dies, and in
 * rl_guard_stop(), but it has killed the guard before that. A guard that was started before the
 * grant has the token of this grant or none: each grant has its own guard.
 *
 * Can it signal an unrelated process? While redlock lives it ends the guard before it waits for the
 * command's last process, or finds the group empty and kills it at once; reaping it later
 * (rl_guard_kill(), rl_guard_stop()) lets it do nothing more. After redlock's death the guard acts
 * at once and ends as soon as the group is empty. */
#ifndef RL_CLI_GUARD_H
#define RL_CLI_GUARD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "redlock/redlock.h"

/* The name under which ps, pkill and killall see this process: its comm, and its arguments.
 *
 * The guard process needs one of its own: `pkill -9 redlock` and `pkill -9 -f redlock` must not end
 * it along with redlock. (`killall /path/to/redlock` goes by the file that is executed, and does.)
 *
 * Failure modes: arguments that are not contiguous are left as they are. A name longer than the
 * arguments is cut. */

/* Call this first, with the arguments of main(): it notes where they are. Returns a copy of them,
 * to be used in their place: the guard's name overwrites the strings. */
char **rl_title_open(int argc, char **argv);

#define RL_GUARD_NEVER UINT64_MAX

struct rl_guard {
    pid_t pid; /* 0: none */
    int channel;
};

/* When the group gets SIGTERM and SIGKILL, on redlock_now_ns(). RL_GUARD_NEVER: not at all. */
struct rl_guard_word {
    uint64_t term_ns;
    uint64_t kill_ns;
    char token[REDLOCK_TOKEN_LENGTH + 1]; /* of the grant; "": there is none yet */
    int32_t slots[REDLOCK_TAKE_MAX];      /* of the grant, of a semaphore: as many as it takes */
};

struct rl_guard_plan {
    pid_t group;
    int64_t grace_ms; /* between the two signals if redlock is gone */

    /* Runs in the guard, once redlock is dead and the group is empty. It may take RL_GUARD_LAST_S,
     * then the guard ends in any case. */
    void (*on_orphaned)(const struct rl_guard_word *word, void *data);
    void *data;
};

#define RL_GUARD_LAST_S 10

/* Why there is none on a machine that is too busy: a later attempt may succeed. */
extern const char rl_guard_not_ready[];

/* Waits until the guard is ready. Returns NULL, or why there is none: a clause. */
const char *rl_guard_start(struct rl_guard *guard, const struct rl_guard_plan *plan,
                           const struct rl_guard_word *word);
/* False: it did not get the message. If it is dead or stopped, SIGCHLD reports that, too. */
bool rl_guard_move(const struct rl_guard *guard, const struct rl_guard_word *word);
/* Whether it runs, neither ended nor stopped. */
bool rl_guard_is_awake(const struct rl_guard *guard);
/* The first half of rl_guard_stop(), which is still to be called: does not wait for its end. */
void rl_guard_kill(const struct rl_guard *guard);
/* Ends it, also if it is stopped. Without a guard, nothing happens. */
void rl_guard_stop(struct rl_guard *guard);
/* The same for one that was waited for. */
void rl_guard_forget(struct rl_guard *guard);

#endif
