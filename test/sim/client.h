/* A simulated process: the production library, its world (base/world.h), and the users of its
 * locks.
 *
 * The library sees the table and nothing else: a monotonic clock that drifts and a wall clock that
 * may show anything; random bytes out of the seed; one timer that is late; streams (net.h); names
 * that resolve late, to nothing, or not at all. Each call checks the library's obligations to the
 * table (violation "seam").
 *
 * One turn: an event (bytes, a name, the timer, a user) is delivered alone; the rest of the turn
 * (SIM_EV_TURN) follows slightly later, so anything can happen in between.
 *
 * Time inside of a call: a callback that blocks the loop, or a process that is stopped in the
 * middle of the library, moves the process's own time (at_ns) ahead of the world's. Nothing can
 * reach it meanwhile: arriving events wait until busy_until_ns. Its actions meanwhile are dated
 * ahead: bytes leave at at_ns, and its facts for the checker are applied then (SIM_EV_FACT).
 *
 * Failure modes: the process is stopped, suspended or blocked until busy_until_ns. */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/world.h"
#include "redlock/redlock.h"
#include "sim/check.h"
#include "sim/clock.h"
#include "sim/net.h"
#include "sim/options.h"
#include "sim/spans.h"
#include "sim/user.h"

struct sim_world;

/* A name that is being looked up. */
struct sim_lookup {
    struct sim_lookup *next; /* all of a process; kept until it ends */
    rl_resolved_cb done;
    void *owner;
    uint32_t node;
    bool is_over; /* answered, or forgotten */
};

enum sim_client_state { SIM_CLIENT_GONE, SIM_CLIENT_OPEN, SIM_CLIENT_CLOSING };

struct sim_client {
    struct rl_world world; /* the first member */
    struct sim_world *sim;
    struct sim_clock clock;
    struct sim_wall wall;
    uint64_t at_ns;         /* true time, as it is inside of a call */
    uint64_t busy_until_ns; /* true time */
    uint64_t heard_ns;      /* its own clock, as the next two */
    uint64_t last_now_ns;
    uint64_t stopped_ns; /* the first one in this call into the library; 0: none */
    uint64_t armed_ns;
    uint64_t wake_ns; /* true time of the SIM_EV_WAKE that counts, or RL_NEVER */
    struct sim_conn *conns;
    struct sim_lookup *lookups;
    uint32_t lookups_open;
    uint32_t generation;  /* of its life, for SIM_EV_TURN and SIM_EV_WAKE */
    uint32_t wake_number; /* of the SIM_EV_WAKE that counts */
    uint8_t index;
    uint8_t state; /* enum sim_client_state */
    bool is_turn_scheduled;
    bool is_inside; /* of a call into the library */
    bool in_turn;
    bool is_woken;
    bool world_closed;

    redlock_client *redlock;
    struct sim_user users[SIM_SLOTS_MAX];
    struct sim_spans spans;
    uint64_t allocated; /* blocks of the library that are not freed */
    uint32_t pending;   /* operations that were submitted and not completed */
    bool may_call;      /* the library may call back */
    bool comes_again;   /* after it is closed */
    bool exits;         /* once its user's action is done */
    bool is_between;    /* two lives */
    bool opened;        /* on_open came */
    bool must_probe;    /* the liveness phase has begun */
    bool knows_names;   /* of the nodes, not their addresses */
};

/* -- machine.c: the world -- */

void sim_machine_init(struct sim_world *world, uint32_t client);
uint64_t sim_client_now(struct sim_client *client);

/* Around each call into the library: enter at the world's time; leave checks for changes. */
void sim_client_enter(struct sim_client *client);
void sim_client_leave(struct sim_client *client);

/* Advances its own time by this much, inside a call. */
void sim_client_block(struct sim_client *client, uint64_t for_ns);

/* Stopped or suspended until then, from outside. */
void sim_client_busy(struct sim_client *client, uint64_t until_ns);

void sim_client_schedule_turn(struct sim_client *client);
void sim_client_closed_conn(struct sim_client *client, struct sim_conn *conn);

/* Events; false if it has to wait and was put back, or was void. */
bool sim_client_up(struct sim_world *world, const struct sim_event *event);
bool sim_client_bytes(struct sim_world *world, const struct sim_event *event);
bool sim_client_break(struct sim_world *world, const struct sim_event *event);
bool sim_client_room(struct sim_world *world, const struct sim_event *event);
bool sim_client_resolved(struct sim_world *world, const struct sim_event *event);
bool sim_client_wake(struct sim_world *world, const struct sim_event *event);
bool sim_client_turn(struct sim_world *world, const struct sim_event *event);
bool sim_client_closed(struct sim_world *world, const struct sim_event *event);

/* It waits while it is busy. */
bool sim_client_waits(struct sim_world *world, const struct sim_event *event);

void sim_machine_free(struct sim_client *client);

/* -- machine_net.c: streams and names -- */

struct rl_stream *sim_machine_dial(struct rl_world *table, const struct rl_address *to,
                                   const struct rl_stream_events *events, void *owner, int *error);
void *sim_machine_resolve(struct rl_world *table, const char *host, uint16_t port,
                          rl_resolved_cb done, void *owner, const char **error);
void sim_machine_forget(struct rl_world *table, void *resolving);

/* -- process.c: the library's client -- */

void sim_process_start(struct sim_client *client);
/* Closes the library's client, whatever is pending. */
void sim_process_close(struct sim_client *client, bool comes_again);
/* Nothing of its world is left. */
void sim_process_closed(struct sim_client *client);
/* It opens a client again. */
void sim_client_open_in(struct sim_client *client, uint64_t after_ns);
/* After an aborted history: tears the client down. */
void sim_process_end(struct sim_client *client);
/* Turns the getters' values for holds into facts. */
void sim_process_look(struct sim_client *client);
/* What its client knows of a node; false: it is none of the members that the client knows. */
bool sim_process_node(const struct sim_client *client, uint32_t node, redlock_node_info *info);

/* When everything is over, and when it has closed: nothing may be left. */
void sim_process_check_over(struct sim_client *client);

#endif
