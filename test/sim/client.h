/* A client: it drives the locks of the production core as lib/votes.c, lib/loop.c, lib/lock.c and
 * lib/redis/node.c do, with simulated connections in place of hiredis and simulated time.
 *
 * What corresponds to what:
 *     link.c     lib/redis/node.c  connecting, requests in order, stalls, backoff; and lib/voters.c
 *     votes.c    lib/votes.c       the driver (core/driver.h); it decides nothing: what is done in
 *                                  which order, what an answer means and what becomes of a release
 *                                  is the core's
 *     loop.c     lib/loop.c        the turn: deadlines, on_lost, callbacks, flush, timer
 *     lock.c     lib/lock.c        what a user may call, and the callbacks
 *
 * One turn: a reply or a user's call (the polling) schedules the rest of the turn (SIM_EV_TURN) a
 * little later; commands leave at its end. A callback may block the loop: the turn goes on where it
 * stopped.
 *
 * Failure modes: the client is stopped, suspended or blocked until busy_until_ns. What arrives
 * waits.
 */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/deadline.h"
#include "core/driver.h"
#include "core/guard.h"
#include "core/lock.h"
#include "core/owed.h"
#include "core/quorum.h"
#include "core/sent.h"
#include "sim/clock.h"
#include "sim/net.h"
#include "sim/options.h"

struct sim_world;
struct sim_client;
struct sim_lock;

enum {
    SIM_REASON_DOWN = -1,
    SIM_REASON_TIMEOUT = -2,
    SIM_REASON_ERROR = -3,
    SIM_REASON_BUSY = -4,
    SIM_REASON_QUARANTINE = -5,
    SIM_REASON_NOT_ASKED = -6
};

/* A command to one node on behalf of a lock: rl_call and rl_request in one. */
struct sim_call {
    struct sim_call *next; /* in the node's list, or free */
    struct rl_sent sent;
    struct sim_lock *lock;
    uint64_t made_ns; /* true time */
    uint64_t sent_ns; /* the client's */
    uint64_t fence;   /* what it carries, see core/fence.h */
    uint32_t number;
    uint32_t token;
    uint32_t ttl_ms;
    uint8_t command; /* enum sim_command, of sent.kind */
    bool is_flushed;
};

enum sim_link_state { SIM_LINK_BACKOFF, SIM_LINK_CONNECTING, SIM_LINK_UP };

/* A client's view of a node. */
struct sim_link {
    struct sim_client *client;
    struct sim_conn *conn;
    struct sim_call *head; /* without an answer, oldest first */
    struct sim_call **tail;
    uint32_t waiting; /* how many */
    struct rl_owed owed;
    struct rl_guard guard;
    struct rl_deadline deadline; /* of the node, of what it is owed, or of its quarantine */
    uint64_t deadline_ns;        /* of the node */
    uint64_t pause_ns;
    uint64_t up_since_ns; /* true time, for the checker */
    uint32_t numbers;
    uint8_t node;
    uint8_t state;
};

struct sim_op {
    bool is_active;
    bool is_done;
    enum rl_result result;
};

struct sim_lock {
    struct rl_lock core;
    struct rl_ballot ballots[SIM_NODES_MAX];
    struct rl_deadline deadline;
    struct sim_client *client;
    struct sim_lock *next_done;
    struct sim_lock *next_lost;
    struct sim_op ops[RL_OPS];
    enum rl_result lost_result;
    uint64_t extend_ns;   /* true time at which the last extension was sent */
    uint32_t first_token; /* for SIM_BREAK_ONE_TOKEN */
    uint32_t user_generation;
    uint32_t probe_left; /* user.c, in the liveness phase */
    uint8_t index;
    uint8_t resource;
    uint8_t state_told; /* the last state in the trace */
    bool is_done_queue;
    bool is_lost_queue;
    bool tell;
};

struct sim_queue_of_locks {
    struct sim_lock *head;
    struct sim_lock *tail;
};

struct sim_client {
    struct sim_world *world;
    struct sim_clock clock;
    struct sim_wall wall;
    struct rl_rules rules;
    struct rl_guard_rules guard_rules;
    uint64_t node_hashes[SIM_NODES_MAX];
    struct rl_deadlines deadlines;
    struct rl_deadline *items[SIM_LOCKS_MAX + SIM_NODES_MAX];
    struct sim_link links[SIM_NODES_MAX];
    struct sim_lock locks[SIM_LOCKS_MAX];
    struct sim_call *free_calls;
    struct sim_queue_of_locks done;
    struct sim_queue_of_locks lost;
    const struct sim_lock *turn_last; /* the last callback of this turn */
    uint64_t armed_ns;                /* the client's time */
    uint64_t last_now_ns;             /* its clock never goes back */
    uint64_t busy_until_ns;           /* true time */
    uint32_t wake_generation;
    uint32_t up;
    uint32_t voters;
    uint32_t dirty;
    int16_t reasons[RL_NODES_MAX];
    uint8_t index;
    bool is_turn_scheduled;
    bool in_turn;
    bool in_callbacks; /* the turn has begun to tell */
};

void sim_client_start(struct sim_world *world, uint32_t client);
uint64_t sim_client_now(struct sim_client *client);

/* -- loop.c -- */

void sim_loop_queue_done(struct sim_lock *lock);
void sim_loop_queue_lost(struct sim_lock *lock);
/* After the polling: the rest of the turn will run soon. */
void sim_loop_schedule(struct sim_client *client);
void sim_loop_turn(struct sim_client *client);
/* Stopped, suspended or blocked until then. */
void sim_loop_busy(struct sim_client *client, uint64_t until_ns);

/* -- link.c -- */

void sim_link_start(struct sim_link *link);
bool sim_link_is_up(const struct sim_link *link);
/* 0, or why it cannot be sent. */
int16_t sim_link_send(struct sim_link *link, struct sim_call *call);
void sim_link_flush(struct sim_link *link);
void sim_link_tick(struct sim_link *link);
void sim_link_reply(struct sim_link *link, const struct sim_message *message);
void sim_link_broken(struct sim_link *link);
void sim_link_deadline(struct sim_link *link);
/* As in a new process: the connection and what is known of the node are gone. What the node is owed
 * is kept, or the checker could not tell a key that is forgotten from one that is orphaned. */
void sim_link_forget(struct sim_link *link);

/* -- votes.c: the driver (core/driver.h) -- */

void sim_votes_step(struct sim_lock *lock, struct rl_event *event);
void sim_votes_simple(struct sim_lock *lock, enum rl_event_type type);
/* counter: of a fenced SET that was answered yes. */
void sim_votes_answer(struct sim_link *link, struct sim_call *call, enum rl_outcome answer,
                      uint64_t counter);
void sim_votes_repay(struct sim_link *link);
/* Forgets what a node is owed. */
void sim_votes_forgive(struct sim_link *link);
void sim_votes_free(struct sim_client *client);

/* -- lock.c: what a user may call; false if the library would refuse it -- */

bool sim_lock_acquire(struct sim_lock *lock, const struct rl_acquire *acquire);
bool sim_lock_extend(struct sim_lock *lock, uint32_t ttl_ms);
bool sim_lock_release(struct sim_lock *lock);
bool sim_lock_cancel(struct sim_lock *lock);
void sim_lock_abandon(struct sim_lock *lock);

void sim_lock_tell(struct sim_lock *lock);
void sim_lock_tell_lost(struct sim_lock *lock);

#endif
