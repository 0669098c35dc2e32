/* One Redis node: a server in memory (tool/server), with a clock of its own and faults.
 *
 * Happy path: connections are accepted, bytes are read, the server's answers go back. The checker
 * is notified of each change of the server's keys.
 *
 * Failure modes: the node is down (every connection is refused or reset, nothing runs); paused
 * (connections are accepted, commands wait, and run when it goes on, even if their connection was
 * closed meanwhile; connections are read in any order, each in its own); answering errors;
 * restarted, with its keys or without; a stale replica has taken its place: keys and counters are
 * those of an earlier time; or it is started with a policy that evicts keys, or gets one later. A
 * server that starts has a new run id and no scripts, and all its former connections have ended. */
#ifndef SIM_NODE_H
#define SIM_NODE_H

#include <stdbool.h>
#include <stdint.h>

#include "server/server.h"
#include "sim/clock.h"
#include "sim/options.h"

#define SIM_OLD_S 100000 /* uptime of an old server, at most */

struct sim_world;
struct sim_conn;
struct sim_event;
struct sim_piece;

enum sim_errors {
    SIM_ERRORS_FULL, /* of SETs; the others of all commands */
    SIM_ERRORS_REPLICA,
    SIM_ERRORS_LOADING,
    SIM_ERRORS_SAVE,
    SIM_ERRORS_ALONE,
    SIM_ERRORS_BUSY,
    SIM_ERRORS_KINDS
};

struct sim_node {
    struct sim_world *world;
    struct sim_clock clock;
    struct server *server;
    struct server_keys past;   /* what a stale replica has */
    struct sim_piece *waiting; /* received while paused */
    struct sim_piece **waiting_tail;
    struct server_connection *told; /* of which the output has grown, see node.c */
    uint32_t waiting_count;
    uint32_t generation; /* of its SIM_EV_NODE */
    uint32_t life;       /* counts starts: a connection belongs to one */
    uint64_t paused_until_ns;
    uint64_t down_until_ns;
    uint64_t error_until_ns;
    uint8_t index;
    bool is_down;
    bool is_promoted; /* the server that will be seen next was up all the time */
    bool is_emptied;  /* it will start without its keys */
    bool is_paused;
    bool is_slow; /* its clock was frozen or set back: keys may live long */
};

/* The next place in a resource's line there, of writers or of readers: start with *at 0; 40 hex
 * digits. False: no more. */
bool sim_node_place(const struct sim_world *world, uint32_t node, uint32_t resource, bool reads,
                    uint32_t *at, char place[40]);

/* Ends all its connections; what they have received, and did not run yet, is dropped. */
void sim_node_hang_up(struct sim_world *world, uint32_t node);

/* -- node_keys.c: the checker's view of keys -- */

/* struct server_hooks */
void sim_node_changed(void *owner, const struct server_key *key, enum server_change change,
                      const struct server_connection *by);
/* A client's id was learnt: the keys that it has just got are its own. */
void sim_node_learnt(struct sim_node *me);
/* A client asks with this token. */
void sim_node_asked(struct sim_world *world, uint32_t client, uint32_t number);
/* All keys anew. */
void sim_node_see_all(struct sim_node *me, bool is_stale);

/* A key of this resource was planted, or taken away. */
void sim_node_planted(struct sim_world *world, uint32_t node, uint32_t resource);

void sim_node_start(struct sim_world *world, uint32_t node);
void sim_node_free(struct sim_world *world, uint32_t node);

/* SIM_EV_DIAL, SIM_EV_DELIVER: a connection, or bytes of one (none: its end), arrive. */
void sim_node_accept(struct sim_conn *conn);
void sim_node_receive(struct sim_world *world, uint32_t node, struct sim_piece *piece);

void sim_node_pause(struct sim_world *world, uint32_t node, uint64_t until_ns);
void sim_node_go_down(struct sim_world *world, uint32_t node, uint64_t until_ns);
void sim_node_errors(struct sim_world *world, uint32_t node, enum sim_errors kind,
                     uint64_t until_ns);

/* Errors end; an evicting node is restarted, and no longer evicts. */
void sim_node_heal(struct sim_world *world, uint32_t node);

/* SIM_EV_NODE: the end of a pause or of being down. */
void sim_node_resume(struct sim_world *world, uint32_t node);

/* It is down, and will start without its keys; or a stale replica takes its place; or, if
 * same_server, the node itself was briefly a replica. */
void sim_node_forget(struct sim_world *world, uint32_t node);
void sim_node_fail_over(struct sim_world *world, uint32_t node, bool same_server);
/* Its keys vanish, without any sign. */
void sim_node_flush(struct sim_world *world, uint32_t node);
/* While it is down: how it treats keys from its next start on. */
void sim_node_evicts(struct sim_world *world, uint32_t node, bool evicts);
bool sim_node_is_evicting(const struct sim_world *world, uint32_t node);
/* It evicts all its keys, or no longer evicts, and is the same server; all clients reconnect. */
void sim_node_change_policy(struct sim_world *world, uint32_t node);

/* After its clock was changed. */
void sim_node_clock_changed(struct sim_world *world, uint32_t node);

#endif
