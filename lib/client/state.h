/* The data of a client and its locks: it connects the pure core with real nodes. No functions: each
 * part of the client has its own header.
 *
 * One iteration of the loop, seen from here:
 *   - poll: replies arrive; answer.c turns them into votes, step.c steps the locks' cores; the
 *     commands that the cores ask for are appended to connections (step.c, calls.c); locks that
 *     have ended something, or are to be stepped, are queued (life.c). No user code runs.
 *   - the turn (turn.c): deadlines that have passed are stepped, losses first, each of which is
 *     reported at once; then the other callbacks run, those of queries last; then the locks whose
 *     turn in line has come ask; then every connection that has something to write is flushed; then
 *     the one timer is armed. Before the poll there is another turn, for what was submitted outside
 *     of callbacks.
 * So a callback is never inside the call that submitted it, nor inside hiredis, and a fan-out
 * costs one write for each node and turn.
 *
 * Memory: a lock lives as long as there is a reference to it: the user's until redlock_lock_free(),
 * one for each call that is outstanding or pending, and the queues'.
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
#include "core/calibration.h"
#include "core/call.h"
#include "core/deadline.h"
#include "core/driver.h"
#include "core/guard.h"
#include "core/lock.h"
#include "core/pending.h"
#include "core/quorum.h"
#include "redis/listener.h"
#include "redis/node.h"
#include "redlock/redlock.h"
#include "redlock/semaphore.h"
#include "redlock/token.h"
#include "wait/resource.h"

static_assert(RL_TOKEN_LEN == RL_COMMAND_TOKEN_LEN, "core and redis agree on the token");
static_assert(RL_PENDING_MAX <= RL_NODE_REQUESTS_MAX / 2, "what is pending fits into one sending");
static_assert(RL_NODES_MAX == REDLOCK_NODES_MAX, "core and interface agree on the nodes");

/* -- Calls, see calls.h -- */

/* A command to one node on behalf of a lock. */
struct rl_lock_call {
    struct rl_request request; /* while it is outstanding */
    struct rl_call sent;       /* what the core has to know of it, also while it is pending */
    redlock_lock *lock;        /* a reference */
    struct rl_lock_call *next_free;
};

/* Calls are allocated in blocks, each as large as all before it, and kept while the client is open:
 * a repeating load soon allocates nothing. */
struct rl_lock_call_block {
    struct rl_lock_call_block *next;
    struct rl_lock_call calls[];
};

/* How a release is sent, see line.h. */
struct rl_release_plan {
    uint32_t homes;     /* nodes that keep lines of its resources, as a mask: `mode` is for them */
    uint32_t grace_ms;  /* for which others reserve the keys; 0: they delete them */
    uint32_t lease_ms;  /* for which the keys are passed to `successor` */
    uint32_t intent_ms; /* as in struct rl_request */
    uint64_t counter;   /* the least fence that suits the successor; 0: none */
    enum rl_release_mode mode;
    char successor[RL_VALUE_MAX + 1]; /* "": not known */
};

/* A command as bytes. */
struct rl_written {
    size_t length; /* 0: not yet */
    uint8_t kind;  /* enum rl_command_kind */
    bool whole_script;
};

struct rl_calls {
    struct rl_lock_call *free;
    struct rl_lock_call_block *blocks;
    uint32_t count;               /* in all blocks */
    uint32_t outstanding;         /* sent, not answered */
    struct rl_request request;    /* of a fan-out: what is the same for all nodes */
    struct rl_written written[2]; /* its bytes, for other nodes and for home */
    struct rl_release_plan plan;
};

/* -- Nodes, see nodes/eligibility.h -- */

struct rl_client_node {
    struct rl_node node;
    struct rl_pending pending_releases;
    struct rl_guard guard;
    struct rl_deadline deadline; /* of the node, of its pending releases, or of its quarantine */
    struct rl_calibration calibration;
    uint64_t secret; /* by which its messages are verified; 0: not known */
    redlock_client *client;
    int16_t error;             /* the last error reply while it was up, 0: none */
    char words[RL_DETAIL_MAX]; /* the text of that reply */
    uint8_t index;
    bool is_settled; /* has been up or has failed once */
};

/* -- TLS, see tls.h -- */

/* What nodes with the same settings share. */
struct rl_client_tls {
    struct rl_client_tls *next;
    struct rl_tls *tls;
    const char *ca, *cert, *key; /* behind the struct, or NULL */
    bool insecure;
};

/* -- Listening, see listening.h -- */

#define RL_CLIENT_ID_LEN 16
#define RL_TAIL_LEN (RL_TOKEN_LEN - 2 * RL_CLIENT_ID_LEN) /* a number of 64 bits between the two */

/* Masks have a bit for each node. */
/* One channel on all nodes; masks have a bit for each. */
struct rl_channel {
    uint32_t asked;     /* may send messages: SUBSCRIBE is out or confirmed */
    uint32_t confirmed; /* of them */
    uint32_t leaving;   /* of them: UNSUBSCRIBE is out */
};

struct rl_listening {
    const struct rl_listening_events *events; /* NULL: nobody attends */
    const struct rl_listening_topics *topics;
    struct rl_listener *listeners;   /* one for each node; NULL before the first is needed */
    bool everywhere;                 /* subscriptions want all nodes */
    uint32_t wanted;                 /* the client's own channel is */
    uint32_t kept;                   /* wanted now, or until recently */
    struct rl_channel own;           /* the client's own */
    uint32_t reported;               /* its refusal was */
    uint32_t dirty;                  /* listeners to flush */
    uint64_t until_ns[RL_NODES_MAX]; /* when a kept node that is not wanted is given up */
    uint64_t failures[RL_NODES_MAX]; /* the listener's, when last confirmed or closed */
    uint64_t since_ns[RL_NODES_MAX]; /* when it was confirmed */
    struct rl_deadline deadline;
};

/* -- Release notifications, see nodes/notification.h -- */

/* A watcher of a resource: it is notified of releases. */
struct rl_watcher {
    struct rl_link link;                      /* in the subscription's */
    struct rl_subscription *subscription;     /* NULL: does not listen */
    uint32_t heard;                           /* nodes, since it was notified last */
    void (*told)(struct rl_watcher *watcher); /* must not run the user's code */
};

struct rl_subscription {
    struct rl_link link;          /* all subscriptions of the client */
    struct rl_resource *resource; /* a reference */
    struct rl_list watchers;
    uint64_t until_ns; /* when it is given up, without watchers */
    struct rl_channel channel;
    bool has_quorum; /* of confirmations */
    bool is_ending;
};

struct rl_notifications {
    struct rl_list subscriptions;
    uint32_t count;
    uint32_t ending;   /* of them */
    uint32_t kind;     /* of their resources: recipes watch locks of one mode only */
    uint64_t sweep_ns; /* when idle subscriptions are searched for; RL_NEVER: none are idle */
    struct rl_deadline deadline;
};

/* -- Locks -- */

/* What a message says after the status. */
enum rl_words {
    RL_WORDS_ROUND, /* the result of the last round. All others had no round: */
    RL_WORDS_NONE,
    RL_WORDS_SHARES,         /* acquired with a hold of its owner */
    RL_WORDS_NO_FENCE,       /* could not share that hold, which has no fence */
    RL_WORDS_OWNER_LOST,     /* was about to share a hold */
    RL_WORDS_WAS_LOST,       /* released, but lost before, for loss.status */
    RL_WORDS_STILL_HELD,     /* released, but not as often as acquired */
    RL_WORDS_HELD_BY_OTHERS, /* released, but others of the owner go on */
    RL_WORDS_WAITING,        /* behind another lock of the client */
    RL_WORDS_WAITED_IN_VAIN,
    RL_WORDS_QUEUED, /* behind other clients */
    RL_WORDS_NO_RANDOM,
    RL_WORDS_NO_PERMIT, /* none was free */
    RL_WORDS_PERMITS    /* the nodes keep another number of permits */
};

/* An operation of the user: submitted, then done, then delivered. */
struct rl_op {
    redlock_lock_cb callback;
    void *data;
    int status;
    bool is_active; /* submitted and not delivered */
    bool is_done;   /* status is known */
    uint8_t words;  /* enum rl_words */
};

/* The holder is notified of the loss of its hold. */
struct rl_loss {
    struct rl_queued queued; /* on_lost is due */
    redlock_lock_cb callback;
    void *data;
    int16_t status; /* why */
};

/* The holder is notified of the watchdog's extensions. */
struct rl_renewal {
    redlock_lock_cb callback;
    void *data;
    int16_t status; /* of the last extension */
    bool is_due;
};

/* Several lock objects of one owner share one hold, see hold.h and reentrancy.h. */
struct rl_sharing {
    redlock_lock *lock; /* whose this is */
    uint64_t owner;
    redlock_lock *primary;    /* the lock whose hold this one shares (a reference), or NULL */
    struct rl_list followers; /* the locks that share this one's hold */
    struct rl_link link;      /* in the primary's */
    redlock_lock *for_extend; /* whose extension of this core's hold is pending; release */
    redlock_lock *for_release;
};

/* Locks of one client take turns, see waiting.h. */
struct rl_waiting {
    bool is_in_line; /* waits, asks or holds */
    bool has_turn;   /* its turn has come, and it was not stepped yet */
    bool pauses;     /* ... and it must let others go first */
    bool takes;      /* ... and another lock of ours has its turn among all clients */
    bool shuts;      /* its turn among all clients came while writers wait */
};

/* The mode in which a lock is held, see mode.h. Masks have a bit for each node. */
struct rl_holding {
    uint32_t unsure; /* may run a conversion late: it is not answered yet */
    uint32_t stray;  /* ... and will not be answered: for as long as the hold lasts */
    uint8_t mode;    /* enum rl_mode, of the attempt, or the hold, now */
    bool was_shared; /* it must be released as a reader's */
    bool converts;   /* a reader whose nodes may still have the writer's key */
    bool is_upgrading;
    bool is_adopted;    /* earlier commands for its token are not known here */
    bool meets_upgrade; /* another reader is upgrading */
};

/* What home was asked, and has answered, see permit.h. */
struct rl_permit {
    struct rl_slots slots; /* of the present token, or the last */
    struct rl_slots next;  /* from home's answer to the peek; n 0: none yet, or used */
    struct rl_slots turn;  /* the same from a turn in line */
    struct rl_slots told;  /* of the last grant that was reported */
    uint64_t place;        /* of the peek, or the attempt behind it */
    uint64_t turn_place;   /* whose turn it was */
    uint32_t differ; /* nodes that keep another number of permits, as each reported last: a mask */
    uint16_t from;   /* from which slot on to look for free ones; RL_NO_SLOT: any */
    uint16_t kept;   /* that number; 0: none is known */
    uint8_t home;    /* that was asked */
    bool asks;       /* home, and its answer is waited for */
    bool is_blind;   /* home does not answer: the next attempt takes random slots */
    bool found_none; /* the last attempt: nothing was free */
    bool is_named;   /* `slots` are of a token that is to be adopted or released */
};

/* What the loop's turn must do with the first waiting lock of its client. */
enum rl_line_call {
    RL_LINE_CALL_NONE,
    RL_LINE_CALL_TURN,  /* its turn among all clients has come */
    RL_LINE_CALL_PLAIN, /* it asks without a turn: no other client is known to wait */
    RL_LINE_CALL_ALONE  /* no line can be used: it tries again after a pause */
};

/* A lock's wait among the locks of all clients, see line.h. */
struct rl_queueing {
    uint32_t refused_life_ms; /* the shortest life of the keys that refused; 0: not known */
    uint32_t lease_ms;    /* how long the keys live that its turn is passed; 0: it asks for them */
    uint8_t refused_by;   /* index of the resource that was held */
    bool refused_at_home; /* home has refused the attempt's token */
    uint8_t line;         /* the resource in whose line it is */
    uint8_t call;         /* enum rl_line_call */
    bool has_waited;      /* it was granted by a turn of its place */
    bool is_queued;       /* in line, or asks in its turn, or waits for home's answer */
    bool noted_intent;    /* it was refused, and keeps new readers off */
};

/* A place that was given up, and may still be passed a key. Masks have a bit for each node. */
struct rl_left {
    redlock_lock *lock; /* a reference, since the user may free it at once; NULL: none */
    uint64_t place;
    uint32_t gone;   /* nodes without its key when it was given up, or that get no release */
    uint32_t passed; /* nodes that have reported passing it one */
};

#define RL_LINES_LEFT 16

/* The lines that a client waits in. */
struct rl_lines {
    struct rl_list waiting; /* struct rl_wait, by `waits` */
    struct rl_list passed;  /* ... of resources that may be held after waiting, by `passed` */
    struct rl_line_request *free;
    struct rl_line_request *owed; /* LEAVEs that did not arrive */
    uint32_t owed_count;
    uint64_t number;            /* of the next place: 56 bits */
    uint32_t refused;           /* nodes that do not let the client listen, as a mask */
    uint32_t outstanding;       /* JOINs and LEAVEs, sent, not answered */
    char tail[RL_TAIL_LEN + 1]; /* of the tokens of its places */
    struct rl_left left[RL_LINES_LEFT];
    uint32_t left_next;
    uint32_t listening[REDLOCK_NODES_MAX]; /* resources for which each node is listened to */
    bool refuses; /* some of `left` were passed a key that is not released yet */
};

/* What messages are about. */
struct rl_last {
    const char *refusal; /* why the last call was refused; NULL: it was not */
    char *refusal_text;  /* allocated text for that, or NULL */
    int16_t status;      /* of the last operation, loss or renewal */
    int16_t attempt;     /* of the last attempt of the last acquire that ended */
    uint8_t words;       /* enum rl_words, of status */
    bool has_asked;      /* an attempt of the last acquire has begun */
};

/* Identifies an acquire and its hold in traces and metrics: see span.h. */
struct rl_lock_span {
    uint64_t id;      /* redlock_event.acquire_id */
    uint64_t held_ns; /* since when it is held; 0: not held, or no metrics */
    uint32_t round;   /* the last one before the acquire */
    bool joins;       /* the acquire was submitted while the object held: it has no span */
    uint8_t label;    /* of metrics */
};

struct redlock_lock {
    struct rl_lock core;
    redlock_client *client;
    struct rl_link link; /* all locks of the client */
    void *user_data;     /* redlock_lock_set_data() */
    uint32_t references;
    uint8_t resource_count; /* so many are referenced: all, once the lock is made */
    bool is_freed;          /* by the user */

    bool announces;   /* a release ends a hold, not a failed attempt */
    bool is_notified; /* it is to try soon: RL_EV_NOTICE is due */
    bool tell;        /* granted: RL_EV_TELL is due */

    struct rl_op ops[RL_OPS];
    struct rl_queued done;  /* an operation is done, or another callback is due */
    struct rl_queued ready; /* to be stepped: it has its turn, or must try soon */
    struct rl_loss loss;
    struct rl_renewal *renewal; /* NULL: no acquire has wanted it */
    struct rl_last last;
    uint64_t fence;        /* of the last hold: the primary may be freed */
    uint64_t submitted_ns; /* the last acquire; 0: it has joined a hold at once, or adopted one */

    struct rl_deadline deadline; /* whatever the core waits for */
    struct rl_deadline end;      /* while it is held: when its loss is due */

    struct rl_sharing *sharing; /* NULL: no acquire had an owner */
    uint32_t depth;             /* acquires that were delivered and not released */
    bool joining;               /* an acquire that shares a hold is done and not delivered */
    bool owes_lost;             /* its hold was lost; the release that follows says so */
    struct rl_waiting waiting;
    struct rl_queueing queueing;
    struct rl_holding holding;
    const struct rl_mode_rules *mode; /* that it was made with, see mode.h */
    struct rl_permit *permit;         /* behind the struct; NULL: not a semaphore's */
    struct rl_lock_span span;

    struct rl_target target;        /* the resources and the holder, for commands */
    struct rl_resource **resources; /* target.n of them; behind the struct, like the names */
    struct rl_ticket tickets[];     /* one for each resource, see waiting.h */
};

/* -- Metrics, see metrics.h -- */

#define RL_METRICS_BOUNDS 22

struct rl_histogram {
    uint64_t counts[RL_METRICS_BOUNDS + 1]; /* of each bucket alone */
    uint64_t sum_us;
};

struct rl_metrics_label {
    char name[REDLOCK_METRICS_LABEL_MAX + 1];
    struct rl_histogram wait, hold;
};

struct rl_metrics {
    redlock_metrics_label_cb label; /* NULL: all locks have the first label */
    void *label_data;
    uint32_t n_labels;                /* in use */
    struct rl_histogram *latency;     /* one for each node, behind the labels */
    struct rl_metrics_label labels[]; /* the first is for locks without another */
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
    uint64_t quorum_ns; /* since when there is a quorum, or RL_NEVER */
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
    uint32_t nodes;      /* to flush, as a mask */
    uint32_t count;      /* of flushes */
    uint64_t dirty_ns;   /* since when there are any */
    uint64_t flushed_ns; /* commands sent since then are not flushed yet */
};

struct redlock_client {
    redlock_allocator memory;
    struct rl_io io;

    /* Options. */
    struct rl_rules rules;
    uint64_t node_hashes[RL_NODES_MAX]; /* of run ids; of names until those are known */
    uint32_t fence_retention_ms;
    struct rl_guard_rules guard_rules;
    uint32_t max_ttl_ms; /* without a guard the longest possible */
    struct rl_node_options node_options;
    char client_name[65];
    char id[RL_CLIENT_ID_LEN + 1]; /* hex digits, no other client's */

    /* Nodes. */
    struct rl_client_node *nodes;
    struct rl_client_tls *tls;
    uint32_t n_nodes;
    uint32_t up;                       /* nodes that can be sent to, as a mask */
    uint32_t voters;                   /* of these, the ones that may be asked to grant */
    uint32_t duplicates[RL_NODES_MAX]; /* for each node, those that report the same server */
    int16_t reasons[RL_NODES_MAX];     /* why other nodes are not up, or may not vote */
    struct rl_flushing flushing;
    uint64_t pending_releases; /* of all nodes */
    struct rl_calls calls;

    /* Time and threads. */
    enum rl_client_phase phase;
    bool in_turn;
    bool has_thread;   /* in a debug build, see env.h */
    pthread_t thread;  /* that runs the loop */
    uint64_t heard_ns; /* the world's, in this turn */
    uint64_t step_ns;  /* when the last step of a lock was */
    uint64_t until_ns; /* ... and until when it was valid before it */
    uint64_t random;   /* state of the jitter */
    struct rl_deadlines deadlines;
    struct rl_deadlines ends;    /* of the locks that are held: when their losses are due */
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
