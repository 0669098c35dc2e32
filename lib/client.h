/* The inside of a client and its locks: how the pure core meets real nodes.
 *
 * One iteration of the loop, seen from here:
 *   - poll: replies arrive; votes.c turns them into votes and steps the locks' cores; what the
 *     cores ask for is appended to connections; what ended is queued. No user code runs.
 *   - the turn (loop.c): deadlines that have passed are stepped, losses first, each of which is
 *     told at once; then the other callbacks run, those of queries last; then the locks whose turn
 *     in line has come ask; then every connection that has something to write is flushed; then the
 *     one timer is armed. Before the poll there is another turn, for what was submitted outside of
 *     callbacks.
 * So a callback is never inside the call that submitted it, nor inside hiredis, and a fan-out costs
 * one write for each node and turn.
 *
 * Memory: a lock lives as long as somebody refers to it: the user until redlock_lock_free(), each
 * call that is out or owed, and the queue of callbacks.
 */
#ifndef RL_CLIENT_H
#define RL_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uv.h>

#include "core/deadline.h"
#include "core/driver.h"
#include "core/guard.h"
#include "core/lock.h"
#include "core/owed.h"
#include "core/quorum.h"
#include "core/sent.h"
#include "memory.h"
#include "notice.h"
#include "own.h"
#include "redis/node.h"
#include "redlock/redlock.h"
#include "redlock/token.h"
#include "resource.h"

static_assert(RL_TOKEN_LEN == RL_COMMAND_TOKEN_LEN, "core and redis agree on the token");
static_assert(RL_OWED_MAX <= RL_NODE_REQUESTS_MAX / 2, "what is owed fits into one sending");
static_assert(RL_NODES_MAX == REDLOCK_NODES_MAX, "core and interface agree on the nodes");

#define RL_CONTAINER(pointer, type, member) \
    ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

#define RL_CLIENT_DEADLINES 2 /* the client's own and the notices', besides all others */

enum rl_tag {
    RL_TAG_LOCK,
    RL_TAG_NODE,
    RL_TAG_CLIENT,
    RL_TAG_QUERY,
    RL_TAG_NOTICE,
    RL_TAG_ELECTION
}; /* what an rl_deadline is part of */

/* A command to one node on behalf of a lock. */
struct rl_call {
    struct rl_request request; /* while it is out */
    struct rl_sent sent;       /* what the core has to know of it; while it is owed, too */
    redlock_lock *lock;        /* a reference */
    struct rl_call *next_free;
};

/* Calls are allocated in blocks, each as large as all before it, and never given back while the
 * client lives: a load that repeats soon allocates nothing. */
struct rl_call_block {
    struct rl_call_block *next;
    struct rl_call calls[];
};

struct rl_client_node {
    struct rl_node node;
    struct rl_owed owed;
    struct rl_guard guard;
    struct rl_deadline deadline; /* of the node, of what it is owed, or of its quarantine */
    redlock_client *client;
    int16_t error;             /* the last error reply while it was up, 0: none */
    char words[RL_DETAIL_MAX]; /* ... and what it said */
    uint8_t index;
    bool is_settled; /* has been up or has failed once */
};

/* What a message says after the status. */
enum rl_words {
    RL_WORDS_ROUND, /* what the last round came to. All others had none of their own: */
    RL_WORDS_NONE,
    RL_WORDS_SHARES,         /* acquired with a hold of its owner */
    RL_WORDS_NO_FENCE,       /* could not share that */
    RL_WORDS_OWNER_LOST,     /* was about to share it */
    RL_WORDS_WAS_LOST,       /* released, but lost before for lost_status */
    RL_WORDS_STILL_HELD,     /* released, but not as often as acquired */
    RL_WORDS_HELD_BY_OTHERS, /* released, but others of the owner go on */
    RL_WORDS_IN_LINE,        /* behind another lock of the client */
    RL_WORDS_IN_LINE_IN_VAIN,
    RL_WORDS_NO_RANDOM
};

/* An operation of the user: submitted, then done, then told. */
struct rl_op {
    redlock_lock_cb callback;
    void *data;
    int status;
    bool is_active; /* submitted and not told */
    bool is_done;   /* status is known */
    uint8_t words;  /* enum rl_words */
};

struct redlock_lock {
    struct rl_lock core;
    redlock_client *client;
    redlock_lock *next; /* all locks of the client */
    redlock_lock *previous;
    redlock_lock *next_done; /* the queue of callbacks */
    redlock_lock *next_lost; /* the queue of on_lost */
    redlock_lock *next_turn; /* the queue of turns */
    struct rl_op ops[RL_OPS];
    redlock_lock_cb on_lost;
    void *lost_data;
    redlock_lock_cb on_renew;
    void *renew_data;
    int lost_status;  /* why, while on_lost is queued */
    int renew_status; /* of the watchdog's last extension, while on_renew is due */
    int last_status;  /* of the last operation, loss or renewal, for messages */
    uint32_t references;
    struct rl_deadline deadline; /* whatever the core waits for */
    struct rl_deadline end;      /* while it is held: when its loss is due */

    /* Sharing, see share.h. */
    uint64_t owner;
    redlock_lock *via;     /* the lock whose hold this one shares (a reference), or NULL */
    redlock_lock *sharers; /* the locks that share this one's hold */
    redlock_lock *next_sharer;
    redlock_lock *for_extend; /* whose extension, or release, of this core is under way */
    redlock_lock *for_release;
    uint32_t depth;         /* acquires of this object that were told and not released */
    uint64_t fence;         /* of the hold that the last of them told of: the carrier may be gone */
    bool joins;             /* an acquire that shares a hold is done and not told */
    bool owes_lost;         /* its hold was lost; the release that follows says so */
    int16_t attempt_status; /* of the last attempt of the last acquire that ended */

    uint32_t resource_count;
    struct rl_target target; /* the resources and the holder, for commands */
    bool is_freed;           /* by the user */
    bool is_queued;          /* in the queue of callbacks */
    bool is_lost_queue;      /* in the queue of on_lost */
    bool is_turn_queue;      /* in the queue of turns */
    bool has_turn;           /* its turn in line has come, and it has not been told */
    bool turn_pauses;        /* ... and is to let others go first */
    bool is_in_line;
    bool has_asked;        /* an attempt of the last acquire has begun */
    uint8_t last_words;    /* enum rl_words, of last_status */
    bool announces;        /* a release is of what was won, not of an attempt that failed */
    bool listens;          /* its topics know it */
    bool tell;             /* granted: RL_EV_TELL is due */
    bool renew;            /* on_renew is due */
    struct rl_seat *seats; /* one for each resource; these three behind the struct */
    struct rl_resource **resources;
    struct rl_bytes *names;
    struct rl_ballot ballots[];
};

struct rl_queue {
    redlock_lock *head;
    redlock_lock *tail;
};

struct rl_query_queue {
    redlock_query *head;
    redlock_query *tail;
};

enum rl_client_phase {
    RL_CLIENT_OPEN,     /* in use */
    RL_CLIENT_CLOSING,  /* releases are out */
    RL_CLIENT_TEARDOWN, /* handles are closing */
    RL_CLIENT_GONE      /* on_close runs */
};

struct redlock_client {
    redlock_allocator memory;
    struct rl_io io;
    struct rl_rules rules;
    uint64_t node_hashes[RL_NODES_MAX]; /* of their names, for rules */
    uint32_t fence_retention_ms;
    struct rl_guard_rules guard_rules;
    uint32_t max_ttl_ms; /* without a guard the longest that there is */
    struct rl_node_options node_options;
    struct rl_client_node *nodes;
    uint32_t n_nodes;
    uint32_t up;                   /* nodes that can be sent to, as a mask */
    uint32_t voters;               /* of these, the ones that may be asked to grant */
    uint32_t twins[RL_NODES_MAX];  /* for each node, those that say they are the same server */
    int16_t reasons[RL_NODES_MAX]; /* why the others cannot, or may not */
    uint32_t dirty;                /* nodes to flush, as a mask */
    uint64_t dirty_ns;             /* since when there are any */
    uint64_t flushed_ns;           /* what is sent from then on has not been flushed */
    uint64_t poll_ns;              /* when the last poll began */
    uint64_t heard_ns;             /* what had arrived by then has been read */
    uint32_t polls_unread;         /* in a row, that left something for the next one */
    uint64_t step_ns;              /* when the last step of a lock was */
    uint64_t random;               /* state of the jitter */
    enum rl_client_phase phase;
    bool in_turn;
    bool has_thread;    /* in a debug build, see own.h */
    uv_thread_t thread; /* that runs the loop */
    bool is_woken;      /* something was submitted, or the timer has fired, since the last turn */

    struct rl_deadlines deadlines;
    struct rl_deadlines ends;    /* of the locks that are held: when their losses are due */
    struct rl_deadline deadline; /* the client's own: opening and closing */
    uint64_t armed_ns;           /* when the timer will fire */
    uv_timer_t timer;
    uv_prepare_t prepare;
    uv_check_t check;
    uv_idle_t idle; /* active: the loop must not block, callbacks are queued */

    redlock_lock *locks;
    uint32_t lock_count;
    struct redlock_election *elections;
    uint32_t election_count;
    struct rl_queue done;
    struct rl_queue lost;
    struct rl_queue turns;
    redlock_query *queries; /* see query.h */
    uint32_t query_count;
    struct rl_query_queue asked; /* those that are finished and not told */
    struct rl_resources resources;
    struct rl_notice notice;
    struct rl_call *free_calls;
    struct rl_call_block *call_blocks;
    uint32_t call_count; /* in all blocks */
    uint32_t calls_out;  /* sent, not answered */
    uint64_t owed;       /* of all nodes */

    redlock_client_cb on_open;
    void *open_data;
    bool is_opening;
    uint64_t open_until_ns;
    uint64_t quorum_ns; /* since when there is a quorum while opening, or RL_NEVER */
    redlock_client_cb on_close;
    void *close_data;
    uint64_t close_until_ns;

    redlock_stats stats;
    redlock_trace_cb trace;
    void *trace_data;
    const redlock_lock *refused; /* message is why a call on this lock was refused */
    char message[REDLOCK_MESSAGE_MAX];
    char client_name[65];
    size_t wire_length; /* of the command in io.wire, while a fan-out is under way */
};

/* -- options.c -- */

/* Checks and takes over everything but the nodes. error receives the sentence of a failure. */
int rl_options_apply(redlock_client *client, const redlock_client_options *o, char *error,
                     size_t error_size);
/* Copies the caller's options over the defaults; false, and nothing was done: their size is none
 * that they can have. */
bool rl_options_copy(void *full, size_t full_size, const void *user, size_t user_size);
/* Puts that into a sentence, where the options have a place for it (a pointer and a size_t at
 * error_at): if they were set to zero and filled in without the initializer, or have a size that
 * another version may give them. What has an incredible size may be anything, and is not looked at.
 * Returns REDLOCK_ERR_INVALID. */
int rl_options_refuse_size(const void *options, size_t expected, size_t error_at,
                           const char *initializer);
int rl_options_acquire(redlock_lock *lock, const redlock_acquire_options *user,
                       struct rl_acquire *out, redlock_acquire_options *full);
/* A ttl that is usable with min_validity_ms, or REDLOCK_ERR_INVALID and a message. */
int rl_options_ttl(redlock_lock *lock, int64_t ttl_ms, int64_t min_validity_ms);

/* Fills in a caller's struct. Returns 0, or REDLOCK_ERR_INVALID if it cannot have that size. */
int rl_options_hand_out(void *out, size_t out_size, void *full, size_t full_size);

/* -- loop.c -- */

void rl_loop_init(redlock_client *client);
void rl_loop_close(redlock_client *client);
void rl_loop_queue_done(redlock_lock *lock);
void rl_loop_queue_lost(redlock_lock *lock);
void rl_loop_queue_turn(redlock_lock *lock);
/* The first of those that were queued; its reference goes to the caller. NULL if there is none. */
redlock_lock *rl_loop_take_turn(redlock_client *client);
/* The user has submitted something: the loop must not block before the next turn. Poll callbacks
 * need not call it, a turn follows them; a prepare callback that runs after ours, or another
 * client's turn, would otherwise leave work lying. */
void rl_loop_wake(redlock_client *client);
/* Every loss that is due: before a callback that may tell a success. */
void rl_loop_tell_losses(redlock_client *client);
uint64_t rl_loop_random(redlock_client *client);

/* -- client.c -- */

void rl_client_tick(redlock_client *client, uint64_t now_ns);
void rl_client_check_open(redlock_client *client, uint64_t now_ns);
void rl_client_check_close(redlock_client *client);
void rl_client_node_deadline(struct rl_client_node *node);
/* What was sent since the last flush goes out at now_ns: it is waited for from then on. */
void rl_client_put_off(redlock_client *client, uint64_t now_ns);
/* How many nodes are in a mask. */
uint32_t rl_client_count(uint32_t nodes);
/* Room for the deadline of one more lock or query, and to write any command of target, so that
 * neither can fail later. False: no memory. */
bool rl_client_reserve_deadline(redlock_client *client);
bool rl_client_reserve_wire(redlock_client *client, const struct rl_target *target);

/* -- votes.c: the client's driver (core/driver.h) -- */

/* Steps the lock's core with an event whose type and union are filled in, and does what it asks
 * for. Returns whether it was a late vote. */
bool rl_votes_step(redlock_lock *lock, struct rl_event *event);
void rl_votes_simple(redlock_lock *lock, enum rl_event_type type);
bool rl_votes_again(struct rl_node *node, struct rl_request *request);
void rl_votes_answer(struct rl_node *node, struct rl_request *request,
                     const struct rl_answer *answer);
/* Sends a node everything that it is owed. */
void rl_votes_repay(struct rl_client_node *node);
void rl_votes_forgive(struct rl_client_node *node);
void rl_votes_free_calls(redlock_client *client);

/* -- lock.c -- */

void rl_lock_ref(redlock_lock *lock);
void rl_lock_unref(redlock_lock *lock);
/* Runs the callbacks of operations that are done. */
void rl_lock_tell(redlock_lock *lock);
void rl_lock_tell_lost(redlock_lock *lock);
void rl_lock_destroy(redlock_lock *lock);
int rl_lock_status(enum rl_result result);
/* From now on messages are about this, and not about a call that was refused before. */
void rl_lock_note(redlock_lock *lock, int status, enum rl_words words);

/* -- message.c -- */

#define RL_MESSAGE_NO_FENCE \
    "the owner's hold, which would be shared, has no fence: set fencing in his first acquire"
void rl_message_refuse(redlock_lock *lock, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void rl_trace(redlock_client *client, enum redlock_event_type type,
                            const redlock_lock *lock, const struct rl_node *node, int status,
                            uint32_t latency_us) {
    if (client->trace != NULL) {
        redlock_event event = {.type = type,
                               .status = status,
                               .now_ns = redlock_now_ns(),
                               .lock = lock,
                               .node = node != NULL ? node->url.name : NULL,
                               .latency_us = latency_us};
        client->trace(&event, client->trace_data);
    }
}

#endif
