/* One Redis node: what our commands do to its keys, by its own clock.
 *
 * Happy path: SET NX PX, compare-and-delete and compare-and-pexpire (which never shortens a life)
 * do to the table of keys what Redis and our scripts do; a key is gone when the node's clock, in
 * whole milliseconds, has reached its end.
 *
 * Locks of several resources are not simulated: each node runs their command as one step over all
 * keys, and answers with one vote, so for the core a lock of several is a lock of one, and what is
 * shown here holds for it. That it also holds for each resource by itself, against locks that share
 * only a part of them, is argued in lib/redis/command.h and tried on real nodes (live/several,
 * live/storm).
 *
 * Failure modes: the node is down (every connection is reset, nothing runs); paused (commands wait,
 * and run when it goes on, even if their connection was closed meanwhile; connections are read in
 * any order, each in its own); answering errors; restarted, with its keys or without.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/clock.h"
#include "sim/options.h"

struct sim_world;
struct sim_message;

enum sim_command { SIM_HELLO, SIM_SET, SIM_EXTEND, SIM_RELEASE };

enum sim_verdict { SIM_YES, SIM_NO, SIM_ERROR };

struct sim_key {
    uint32_t token;      /* 0: there is no key */
    uint32_t conn;       /* the connection that brought its SET */
    uint64_t ran_ns;     /* true time of the SET */
    uint64_t expires_ms; /* by the node's clock */
    uint64_t expires_ns; /* the same in true time */
};

struct sim_node {
    struct sim_clock clock;
    struct sim_key keys[SIM_RESOURCES_MAX];
    struct sim_message *waiting; /* received while paused */
    struct sim_message **waiting_tail;
    uint32_t waiting_count;
    uint32_t generation; /* of its SIM_EV_NODE */
    uint32_t life;       /* counts starts: a connection belongs to one */
    uint64_t paused_until_ns;
    uint64_t down_until_ns;
    uint64_t error_until_ns;
    uint32_t errors; /* commands that are answered with an error, as a mask */
    bool is_down;
    bool is_paused;
    bool is_slow; /* its clock was frozen or set back: keys may live long */
};

void sim_node_start(struct sim_world *world, uint32_t node);

/* A command arrives. */
void sim_node_receive(struct sim_world *world, uint32_t node, struct sim_message *message);

void sim_node_pause(struct sim_world *world, uint32_t node, uint64_t until_ns);
void sim_node_go_down(struct sim_world *world, uint32_t node, uint64_t until_ns, bool forget);
void sim_node_errors(struct sim_world *world, uint32_t node, uint32_t commands, uint64_t until_ns);

/* SIM_EV_NODE: the end of a pause or of being down. */
void sim_node_resume(struct sim_world *world, uint32_t node);

/* After its clock was changed. */
void sim_node_clock_changed(struct sim_world *world, uint32_t node);

/* The key of a resource, or NULL if there is none now. */
const struct sim_key *sim_node_key(const struct sim_world *world, uint32_t node, uint32_t resource);

/* Drops what waits. */
void sim_node_free(struct sim_world *world, uint32_t node);

#endif
