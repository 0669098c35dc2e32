/* A password that changes while a command lasts: the file of --password-file is looked at, and what
 * is new in it goes to the nodes. Each node's answer to a new one is reported: a refusal always,
 * acceptance with --verbose; of run and elect with --json both, as events on stderr. The first
 * password is set before the loop runs, so it is as one in the URLs: a node that refuses it stays
 * down.
 *
 * Why no signal? SIGHUP is the command's, and ends the waiting. And who changes a file, as the
 * mounted secrets of a container are changed, sends none. */
#ifndef RL_CLI_ROTATION_H
#define RL_CLI_ROTATION_H

#include <stdbool.h>
#include <uv.h>

#include "args.h"
#include "redlock/redlock.h"

struct rl_rotation {
    uv_timer_t timer;
    redlock_client *client;
    struct rl_args *args;
    bool is_open;
};

/* With a client that was just opened, which has the password from now on. Returns a status. */
int rl_rotation_open(struct rl_rotation *rotation, uv_loop_t *loop, redlock_client *client,
                     struct rl_args *args);
void rl_rotation_close(struct rl_rotation *rotation);

/* From the client's trace hook. */
void rl_rotation_on_event(const struct rl_rotation *rotation, const redlock_event *event);

#endif
