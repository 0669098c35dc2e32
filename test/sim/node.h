/* One Redis node: what our commands do to its keys, by its own clock.
 *
 * Happy path: SET NX PX, compare-and-delete and compare-and-pexpire (which never shortens a life)
 * do to the table of keys what Redis and our scripts do; a key is gone when the node's clock, in
 * whole milliseconds, has reached its end. A SET of a fenced lock counts in the same step, and a
 * raise lifts that counter where the token still is (core/fence.h).
 *
 * Locks of several resources are not simulated: each node runs their command as one step over all
 * keys, and answers with one vote, so for the core a lock of several is a lock of one, and what is
 * shown here holds for it. That it also holds for each resource by itself, against locks that share
 * only a part of them, is argued in lib/redis/command.h and tried on real nodes (live/several,
 * live/storm).
 *
 * Failure modes: the node is down (every connection is reset, nothing runs); paused (commands wait,
 * and run when it goes on, even if their connection was closed meanwhile; connections are read in
 * any order, each in its own); answering errors; restarted, with its keys or without; or a stale
 * replica has taken its place: keys and counters are those of some moment in the past. A server
 * that starts has a new run id, and what it was before is over for every connection.
 */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/clock.h"
#include "sim/options.h"

#define SIM_OLD_S 100000 /* what is old has been up for so long, or less */

struct sim_world;
struct sim_message;

enum sim_command { SIM_HELLO, SIM_SET, SIM_RAISE, SIM_EXTEND, SIM_RELEASE };

enum sim_verdict { SIM_YES, SIM_NO, SIM_ERROR };

struct sim_key {
    uint32_t token;      /* 0: there is no key */
    uint32_t conn;       /* the connection that brought its SET */
    uint64_t ran_ns;     /* true time of the SET */
    uint64_t expires_ms; /* by the node's clock */
    uint64_t expires_ns; /* the same in true time */
    bool is_stale;       /* a replica brought it back */
};

/* The fence counter of a resource. */
struct sim_counter {
    uint64_t value;
    uint64_t expires_ms; /* by the node's clock */
};

struct sim_memory {
    struct sim_key keys[SIM_RESOURCES_MAX];
    struct sim_counter counters[SIM_RESOURCES_MAX];
};

/* What a node says of itself. Ids are numbers that are never used twice. */
struct sim_identity {
    uint64_t uptime_s; /* the difference of two readings in whole seconds, as Redis tells it */
    uint32_t run_id;
    uint32_t replid;
    bool is_replica;
    bool is_loading;
};

struct sim_node {
    struct sim_clock clock;
    struct sim_memory memory;
    struct sim_memory past;      /* what a stale replica has */
    struct sim_message *waiting; /* received while paused */
    struct sim_message **waiting_tail;
    uint32_t waiting_count;
    uint32_t generation; /* of its SIM_EV_NODE */
    uint32_t life;       /* counts starts: a connection belongs to one */
    uint64_t paused_until_ns;
    uint64_t down_until_ns;
    uint64_t error_until_ns;
    uint64_t started_s; /* by its clock */
    uint32_t errors;    /* commands that are answered with an error, as a mask */
    uint32_t run_id;
    uint32_t replid;
    bool is_down;
    bool is_promoted; /* the server that will be seen next was up all the time */
    bool is_paused;
    bool is_slow; /* its clock was frozen or set back: keys may live long */
};

void sim_node_start(struct sim_world *world, uint32_t node);

/* A command arrives. */
void sim_node_receive(struct sim_world *world, uint32_t node, struct sim_message *message);

void sim_node_pause(struct sim_world *world, uint32_t node, uint64_t until_ns);
void sim_node_go_down(struct sim_world *world, uint32_t node, uint64_t until_ns);
void sim_node_errors(struct sim_world *world, uint32_t node, uint32_t commands, uint64_t until_ns);

/* SIM_EV_NODE: the end of a pause or of being down. */
void sim_node_resume(struct sim_world *world, uint32_t node);

/* The key of a resource, or NULL if there is none now. */
const struct sim_key *sim_node_key(const struct sim_world *world, uint32_t node, uint32_t resource);

/* -- memory.c: what a node knows, and forgets -- */

/* Runs a command on a node that is there: the key's end first, then what was asked for. The counter
 * of a fenced SET is left in message->fence. */
enum sim_verdict sim_memory_run(struct sim_world *world, uint32_t node,
                                struct sim_message *message);

/* A server starts, with all that it had. It is `age_s` old already. */
void sim_memory_start(struct sim_world *world, uint32_t node, uint64_t age_s);
void sim_memory_forget(struct sim_world *world, uint32_t node);
/* A stale replica takes its place; or, if same_server, it was one itself for a moment. */
void sim_memory_fail_over(struct sim_world *world, uint32_t node, bool same_server);
/* After its clock was changed. */
void sim_memory_clock_changed(struct sim_world *world, uint32_t node);
struct sim_identity sim_memory_identity(const struct sim_world *world, uint32_t node);

/* Drops what waits. */
void sim_node_free(struct sim_world *world, uint32_t node);

#endif
