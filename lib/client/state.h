/* The data of a client and its locks, which connect the pure core with real nodes. No functions:
 * each part of the client has its own header, and each room its own data (data.h there).
 *
 * Replies arrive in the loop's poll: answer.c turns them into votes, step.c steps the locks' cores
 * and appends the commands that these request to connections. No user code runs there. The turn
 * that follows (turn.c) runs the callbacks, and writes once to each node. So a callback never runs
 * inside the call that submitted it, nor inside hiredis.
 *
 * Memory: a lock lives while there is a reference to it: the user's until redlock_lock_free(), one
 * for each call that is outstanding or pending, and the queues'.
 */
#ifndef RL_CLIENT_STATE_H
#define RL_CLIENT_STATE_H

#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/list.h"
#include "base/memory.h"
#include "core/deadline.h"
#include "core/guard.h"
#include "core/lock.h"
#include "core/quorum.h"
#include "lock/data.h"
#include "mode/data.h"
#include "nodes/data.h"
#include "redis/node.h"
#include "redlock/redlock.h"
#include "redlock/semaphore.h"
#include "wait/data.h"
#include "wait/resource.h"
#include "watch/data.h"

static_assert(RL_PENDING_MAX <= RL_NODE_REQUESTS_MAX / 2, "what is pending fits into one sending");
static_assert(REDLOCK_NODES_MAX <= RL_NODES_MAX, "masks have room for all nodes");

/* -- A lock -- */

struct redlock_lock {
    struct rl_lock core;
    redlock_client *client;
    struct rl_link link; /* all locks of the client */
    void *user_data;     /* redlock_lock_set_data() */
    uint32_t references;
    uint32_t depth;         /* acquires that were delivered and not released */
    uint8_t resource_count; /* the number that is referenced: all, once the lock is made */
    uint8_t ballot_count;   /* room for so many seats */
    bool owns_ballots : 1;  /* they were allocated later, when nodes joined */
    bool is_freed : 1;      /* by the user */
    bool announces : 1;     /* a release ends a hold, not a failed attempt */
    bool is_notified : 1;   /* it should try soon: RL_EV_NOTICE is due */
    bool tell : 1;          /* granted: RL_EV_TELL is due */
    bool joining : 1;       /* an acquire that shares a hold is done and not delivered */
    bool was_lost : 1;      /* its hold was lost, which the next release reports */
    struct rl_waiting waiting;
    struct rl_holding holding;

    struct rl_op ops[2];    /* an acquire or a release; an extension: see rl_op_of() */
    struct rl_queued done;  /* an operation is done, or another callback is due */
    struct rl_queued ready; /* must be stepped: it has its turn, or should try soon */
    struct rl_loss loss;
    struct rl_last last;
    uint64_t fence; /* of the last hold, since the primary may be freed */
    /* when the last acquire began to wait; 0: it has joined a hold at once, or adopted one. With
     * metrics: when the hold began, once it is held */
    uint64_t since_ns;

    struct rl_deadline deadline; /* the core's next deadline */
    struct rl_deadline end;      /* while held: when its loss is due */

    struct rl_extras *extras;         /* NULL: no acquire has used any */
    const struct rl_mode_rules *mode; /* the mode in which it was made, see mode.h */
    struct rl_lock_span span;

    struct rl_target target;    /* the resources and the holder, for commands */
    struct rl_ticket tickets[]; /* one for each resource, see waiting.h; names are behind them */
};

/* -- The client -- */

enum rl_client_phase {
    RL_CLIENT_OPEN,     /* in use */
    RL_CLIENT_CLOSING,  /* releases are outstanding */
    RL_CLIENT_TEARDOWN, /* handles are closing */
    RL_CLIENT_GONE      /* on_close runs */
};

struct rl_opening {
    redlock_client_cb callback;
    void *data;
    uint64_t until_ns;
    uint64_t quorum_ns; /* when a quorum was first connected, or RL_NEVER */
    bool is_active;
    bool has_begun; /* the loop has run since, and nodes may have been sent credentials */
};

struct rl_closing {
    redlock_client_cb callback;
    void *data;
    uint64_t until_ns;
};

/* Commands of a turn are written at its end. */
struct rl_flushing {
    rl_mask nodes;       /* to flush, as a mask */
    uint32_t count;      /* of flushes */
    uint64_t dirty_ns;   /* when the first of them was appended */
    uint64_t flushed_ns; /* commands sent since then are not flushed yet */
};

struct redlock_client {
    redlock_allocator memory;
    struct rl_io io;

    /* Options. */
    struct rl_rules rules;
    uint64_t node_hashes[RL_NODES_MAX]; /* of run IDs; until those are known, of names */
    uint32_t fence_retention_ms;
    struct rl_guard_rules guard_rules;
    uint32_t max_ttl_ms; /* without a guard, the longest possible */
    struct rl_node_options node_options;
    char client_name[65];
    char id[RL_CLIENT_ID_LEN + 1]; /* hex digits, unique among clients */

    /* Nodes. */
    struct rl_client_node *nodes[RL_NODES_MAX]; /* n_nodes of them, and those that have left */
    struct rl_membership membership;
    struct rl_client_tls *tls;
    uint32_t n_nodes;                 /* in use */
    rl_mask up;                       /* nodes that can be sent to, as a mask */
    rl_mask voters;                   /* of these, the nodes that may be asked to grant */
    bool has_duplicates;              /* or had */
    rl_mask duplicates[RL_NODES_MAX]; /* for each node, those that report the same server */
    int16_t reasons[RL_NODES_MAX];    /* why other nodes are not up, or may not vote */
    struct rl_flushing flushing;
    uint64_t pending_releases; /* of all nodes */
    struct rl_calls calls;

    /* Time and threads. */
    enum rl_client_phase phase;
    bool in_turn;
    bool has_thread;   /* in a debug build, see env.h */
    pthread_t thread;  /* that runs the loop */
    uint64_t heard_ns; /* the world's, in this turn */
    uint64_t step_ns;  /* the time of the last step of a lock */
    uint64_t until_ns; /* when that lock's validity ended, before the step */
    uint64_t random;   /* state of the jitter */
    struct rl_deadlines deadlines;
    struct rl_deadlines ends;    /* of held locks: when their losses are due */
    const rl_due_cb *due;        /* the callback for each enum rl_waits */
    struct rl_deadline deadline; /* the client's own: opening and closing */
    uint32_t user_count;         /* locks, queries and recipes: each may have a deadline */
    struct rl_opening opening;
    struct rl_closing closing;

    /* Users of the client. */
    struct rl_list locks;
    uint32_t lock_count;
    struct rl_list queries;
    struct rl_list recipes;   /* end with the client, see recipe.h */
    struct rl_queue done;     /* locks with callbacks */
    struct rl_queue lost;     /* locks with on_lost */
    struct rl_queue ready;    /* locks to step */
    struct rl_queue answered; /* queries with a callback */
    struct rl_resources resources;
    struct rl_lines lines;
    struct rl_listening listening;
    struct rl_notifications notifications;

    redlock_stats stats;
    struct rl_metrics *metrics; /* NULL: none are wanted */
    redlock_trace_cb trace;
    void *trace_data;
};

#endif
