/* The lock of a set itself, "redlock set ID", which keeps administrators apart. This thread renews
 * it while another one works, whose questions block.
 *
 * Failure modes: another administrator has it: nothing is done, and the message names him. One who
 * has died has it for a moment. Too few nodes grant it: nothing is done, or it is done without. A
 * signal ends the work at its next step. */
#ifndef RL_CLI_SET_LOCK_H
#define RL_CLI_SET_LOCK_H

#include "args.h"
#include "set/steps.h"

struct rl_set_lock {
    const char *name; /* of the subcommand */
    const char *id;
    int64_t max_ttl_ms;
    bool is_needed; /* false: if too few nodes grant it, work without */
    struct rl_steps *steps;
};

/* Returns an exit status. */
typedef int rl_set_work(void *data);

/* Runs work(data), and returns what it returns, or why it was not run. */
int rl_set_locked(struct rl_args *args, const struct rl_set_lock *lock, rl_set_work *work,
                  void *data);

#endif
