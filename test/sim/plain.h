/* Clients of other libraries: textbook Redlock without a line, which poll.
 *
 * Happy path: SET NX PX with a token of its own to all nodes; a quorum of them in time: it holds
 * for a while, and deletes its keys. Refused: it deletes its keys, and tries again after a pause.
 * They have no process: each command is a separate event, delayed as on any wire.
 *
 * Failure modes: a node that is down or stalled is not asked; a plain client does not ask again.
 * The checker treats its holds like any other. */
#ifndef SIM_PLAIN_H
#define SIM_PLAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/options.h"

struct sim_event;
struct sim_world;

struct sim_plain {
    uint64_t sent_ns; /* true time */
    uint64_t ttl_ns;
    uint32_t granted;
    uint32_t generation; /* of its attempt */
    uint32_t number;     /* of its token, by the checker's numbers */
    uint8_t resource;
    char token[40];
};

void sim_plain_start(struct sim_world *world);

/* SIM_EV_PLAIN */
bool sim_plain_event(struct sim_world *world, const struct sim_event *event);

#endif
