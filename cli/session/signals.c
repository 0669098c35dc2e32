/* The signals that redlock(1) acts on, as events of the loop.
 *
 * A signal that was ignored when redlock began (nohup, a job in the background of a script) stays
 * ignored, here and in the command that is run.
 *
 * Failure modes: a handle that libuv cannot start is left out: the signal then has its default
 * action. */
#include "session/room.h"

#include <assert.h>
#include <signal.h>

static void on_signal(uv_signal_t *handle, int signal_number) {
    struct rl_signals *signals = handle->data;
    signals->callback(signal_number, signals->data);
}

bool rl_signals_is_ignored(int signal_number) {
    struct sigaction now;
    return sigaction(signal_number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

/* Our parent may have blocked SIGCHLD; then we would not notice the command's end. */
static void unblock(int signal_number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void rl_signals_open(struct rl_signals *signals, uv_loop_t *loop, const int *list,
                     rl_signal_cb callback, void *data) {
    signals->count = 0;
    signals->callback = callback;
    signals->data = data;
    for (; *list != 0; list++) {
        assert(signals->count < RL_SIGNALS_MAX);
        uv_signal_t *handle = &signals->handles[signals->count];
        if ((*list != SIGCHLD && rl_signals_is_ignored(*list)) ||
            uv_signal_init(loop, handle) != 0) {
            continue;
        }
        handle->data = signals;
        uv_signal_start(handle, on_signal, *list);
        if (*list == SIGCHLD) {
            unblock(SIGCHLD);
        }
        signals->count++;
    }
}

void rl_signals_close(struct rl_signals *signals) {
    for (size_t i = 0; i < signals->count; i++) {
        uv_close((uv_handle_t *)&signals->handles[i], NULL);
    }
    signals->count = 0;
}
