/* What `redlock set` reports while it works: a line for each step that is done, and what it waits
 * for: on a terminal a status line that is kept up to date, otherwise a line when it begins. With
 * --json the steps are part of the one object at the end.
 *
 * SIGINT, SIGTERM and SIGHUP end the waiting; what is done so far stays, for `resume`. */
#ifndef RL_CLI_SET_STEPS_H
#define RL_CLI_SET_STEPS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rl_step {
    const char *name; /* one word */
    char *text;       /* owned */
    int64_t at_ms;    /* since 1970 */
};

struct rl_steps {
    bool json;
    struct rl_step *items; /* done */
    size_t n, room;
    bool is_waiting;   /* which was said */
    atomic_int caught; /* a signal, which another thread sets; 0: none */
};

void rl_steps_done(struct rl_steps *steps, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rl_steps_free(struct rl_steps *steps);

/* Waits so long, or until a signal has come; format: for what. */
void rl_steps_wait(struct rl_steps *steps, int64_t ms, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* RL_EXIT_SIGNAL plus the signal, or 0. */
int rl_steps_caught(struct rl_steps *steps);

#endif
