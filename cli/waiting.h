/* The reports of redlock while it waits for a lock, so that it does not seem to hang.
 *
 * Happy path: rl_waiting_begin() when an acquire begins. If it is not over after a moment, the
 * nodes are asked for the holder, which is reported once; on a terminal this is a status line that
 * is kept up to date, and cleared when the waiting is over. Meanwhile each node that goes down or
 * comes back is reported, with how many can vote and how many are needed. With --json these are
 * events. --quiet silences all of it.
 *
 * Failure modes: too few nodes answer: it reports that instead. stderr is a terminal that is too
 * narrow: the line is cut, it never wraps; resized: it is drawn anew. The cursor stands at its
 * beginning, so that what a terminal wraps when it gets narrower is behind the cursor, and cleared.
 * In the background a sentence replaces the status line. Ctrl-Z clears the line before it stops
 * us. */
#ifndef RL_CLI_WAITING_H
#define RL_CLI_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include "args.h"
#include "found.h"
#include "token.h"

struct rl_waiting {
    redlock_client *client;
    const struct rl_args *args;
    const char *label; /* of sentences: the keys, or an election */
    struct rl_keys keys;
    size_t at; /* the key that is looked at */
    struct rl_look look;
    uv_timer_t timer; /* the next look, or the next drawing */
    uv_timer_t node_timer;
    uv_signal_t stop; /* Ctrl-Z, while there is a line */
    uint64_t began_ms;
    uint64_t held_until_ms; /* by the last look */
    char who[RL_LOOK_TEXT_MAX];
    int states[REDLOCK_NODES_MAX]; /* of the nodes, as last reported */
    bool is_waiting;
    bool is_looking;
    bool is_said;
    bool is_line; /* on a terminal */
};

/* With a client that is being opened: once. */
void rl_waiting_open(struct rl_waiting *waiting, uv_loop_t *loop, const struct rl_args *args);
void rl_waiting_close(struct rl_waiting *waiting);

/* keys: "KEY[,KEY...]", whose holders are reported, besides nodes; or an election's name, of which
 * only nodes are. It must live on. */
void rl_waiting_begin(struct rl_waiting *waiting, redlock_client *client, const char *keys);
void rl_waiting_end(struct rl_waiting *waiting);

/* From the client's trace hook. */
void rl_waiting_on_event(struct rl_waiting *waiting, const redlock_event *event);
/* The terminal's size has changed. */
void rl_waiting_redraw(struct rl_waiting *waiting);

#endif
