/* Clients of other libraries: textbook Redlock without a line, which poll.
 *
 * Happy path: SET NX PX with a token of its own to all nodes; a quorum of them in time: it holds
 * for a while, and deletes its keys. Refused: it deletes what it got, and tries again after a
 * pause. They have no process: each command is an event of its own, as late as on any wire.
 *
 * Failure modes: a node that is down or stands still is not asked; a plain client does not ask
 * again. What it holds is a hold like any other to the checker. */
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
    uint32_t number;     /* of its token, as the checker counts them */
    uint8_t resource;
    char token[40];
};

void sim_plain_start(struct sim_world *world);

/* SIM_EV_PLAIN */
bool sim_plain_event(struct sim_world *world, const struct sim_event *event);

#endif
