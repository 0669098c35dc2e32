/* The signals that redlock(1) acts on, as events of the loop.
 *
 * A signal that was ignored when redlock began (nohup, a job in the background of a script) stays
 * ignored, here and in the command that is run.
 *
 * Failure modes: a handle that libuv cannot start is left out: the signal then has its default
 * action. */
#ifndef RL_CLI_SIGNALS_H
#define RL_CLI_SIGNALS_H

#include <stdbool.h>
#include <stddef.h>
#include <uv.h>

#define RL_SIGNALS_MAX 16

typedef void (*rl_signal_cb)(int signal_number, void *data);

struct rl_signals {
    uv_signal_t handles[RL_SIGNALS_MAX];
    size_t count;
    rl_signal_cb callback;
    void *data;
};

/* list ends with 0. */
void rl_signals_open(struct rl_signals *signals, uv_loop_t *loop, const int *list,
                     rl_signal_cb callback, void *data);
void rl_signals_close(struct rl_signals *signals);

/* Whether the signal was ignored when redlock began. */
bool rl_signals_is_ignored(int signal_number);

#endif
