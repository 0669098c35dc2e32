/* The data of a lock: its states, its events and its actions. The operations and queries are
 * in lock.h. */
#ifndef RL_CORE_LOCK_DATA_H
#define RL_CORE_LOCK_DATA_H

#include <stdbool.h>
#include <stdint.h>

#include "core/fence.h"
#include "core/quorum.h"
#include "core/round.h"

#define RL_NO_LIMIT UINT32_MAX

enum rl_lock_state {
    RL_IDLE,
    RL_WAITING, /* in line: behind another lock of this client, or behind other clients */
    RL_READY,   /* waits for a token, and to know what to ask for */
    RL_TRYING,
    RL_FENCING, /* won; the fence's counters are being raised */
    RL_BACKOFF,
    RL_GRANTED, /* won, not reported to the user yet */
    RL_HELD,
    RL_EXTENDING, /* held, with an extension pending */
    RL_RELEASING,
    RL_LOST, /* ended by itself, not released or acquired again yet */
    RL_LOCK_STATES
};

/* How an operation ended, or why a lock was lost. */
enum rl_result {
    RL_RESULT_NONE = 0,
    RL_RESULT_OK,
    RL_RESULT_HELD,
    RL_RESULT_NO_QUORUM,
    RL_RESULT_EXPIRED,
    RL_RESULT_DEADLINE,
    RL_RESULT_CANCELED,
    RL_RESULT_LOST,
    RL_RESULT_UNKNOWN,
    RL_RESULT_MAX_HOLD,
    RL_RESULT_PERMITS, /* another number of permits is agreed on */
    RL_RESULT_SILENT
};

enum rl_event_type {
    RL_EV_ACQUIRE, /* idle or lost; with `acquire` */
    RL_EV_ATTEMPT, /* ready; with `token` */
    RL_EV_VOTE,    /* any state; with `vote` */
    RL_EV_TICK,    /* any state: the deadline that rl_lock_wake_ns() named has come, or may have */
    RL_EV_TELL,    /* any state: the driver is about to run the callback of a granted acquire */
    RL_EV_EXTEND,  /* held, or extending by the watchdog; with `ttl_ms`; lost: too late */
    RL_EV_RELEASE, /* held, extending or lost; idle or lost: with another client's `token` */
    RL_EV_READY,   /* ready: the driver has what it waited for; the lock asks for a token again */
    RL_EV_NONE,    /* ready: nothing to request from the nodes, since other clients have it */
    RL_EV_PERMITS, /* waiting, ready, trying (no adoption) or backoff: another number of permits is
                      agreed on */
    RL_EV_CANCEL,  /* ready to granted, waiting, or extending */
    RL_EV_ABANDON, /* any state: the user frees the lock; all its operations end as cancelled */
    RL_EV_TURN,    /* waiting: first in line now; with `pause` and `place` */
    RL_EV_NOTICE,  /* any state: a try may succeed now, before the pause is over */
    RL_EV_ADOPT,   /* idle or lost; with `adopt` */
    RL_EV_DISOWN,  /* held or extending; lost: too late, does nothing */
    RL_EV_CHANGED, /* any state: another electorate counts from now on, see lock.h, 9 */
    RL_EV_UPGRADE, /* as EXTEND, without ttl_ms: a reader wants to be the writer */
    RL_EV_ALIVE,   /* held or extending: a sign of life; lost: too late */
    RL_EVENT_TYPES
};

struct rl_acquire {
    uint32_t ttl_ms;
    uint32_t tries;   /* RL_NO_LIMIT: no limit */
    uint32_t wait_ms; /* RL_NO_LIMIT: no limit */
    uint32_t delay_ms;
    uint32_t jitter_ms;
    uint32_t min_validity_ms;
    uint32_t renew_ms;       /* the watchdog extends when so much validity is used up; 0: none */
    uint32_t max_hold_ms;    /* 0: no limit */
    uint32_t max_silence_ms; /* 0: no limit */
    bool waits;              /* not first in line */
    bool fences;
    uint8_t attempt; /* enum rl_result of the last finished attempt; NONE at first */
};

struct rl_adopt {
    struct rl_acquire acquire;
    const char *token; /* RL_TOKEN_LEN hex digits */
};

/* One node's answer to a request. */
struct rl_ballot_in {
    uint32_t round; /* the round.id when the request was sent */
    uint32_t node;
    enum rl_vote
        vote; /* NONE: the node has passed its key to the attempt, and must be asked for its vote */
    int16_t reason;      /* of a failed vote */
    uint64_t counter;    /* of a granted vote of a fenced attempt, not 0 */
    uint64_t start_ns;   /* of a granted vote: the key lives from then on; 0: the round's start */
    bool may_have_run;   /* of a failed vote: false if the node answered, with an error */
    uint32_t latency_us; /* this node's latency, if the request was sent */
};

struct rl_event {
    enum rl_event_type type;
    uint64_t now_ns;            /* never goes back for one lock */
    uint64_t random;            /* fresh; used for the jitter */
    uint32_t up;                /* nodes that are up */
    uint32_t voters;            /* of these, the ones that may vote, see guard.h */
    const int16_t *reasons;     /* for each node, why it is down or may not vote */
    const uint32_t *duplicates; /* for each node, those that are the same server; NULL: none */
    uint64_t since_ns;          /* of an attempt: when its token was requested; 0: now */
    uint64_t floor;             /* of an attempt or upgrade: the wall clock in microseconds, read
                                   after since_ns, see fence.h */
    /* TURN: the place that was given the turn (place.h), 0 for a turn among this client's locks.
     * ATTEMPT: the place whose token is used, if the turn named none */
    uint64_t place;
    uint32_t lease_ms; /* of an attempt: the lease of its passed keys; 0: it asks for votes */
    uint32_t awaited;  /* of an attempt that is won: nodes whose vote it awaits briefly, a mask */
    bool lines;        /* lines can be used, see place.h */
    union {
        struct rl_acquire acquire;
        struct rl_adopt adopt;
        const char *token; /* RL_TOKEN_LEN hex digits; of an attempt never used before */
        struct rl_ballot_in vote;
        /* EXTEND: the new ttl; 0 keeps the acquire's. CHANGED: the new limit; 0: none */
        uint32_t ttl_ms;
        bool pause; /* yield to other clients: ask after a pause */
    } u;
};

/* What the driver must do; lock/step.c has the order. Masks have a bit for each node. The token is
 * lock->token; for `send`, `repair`, `plant` and `release` it is the token at the time of this
 * step: the driver acts before it feeds the next event. */
struct rl_actions {
    uint32_t release;    /* send a release; its answer belongs to no round */
    uint32_t owe;        /* nodes that are down and may have the key: make a release pending */
    uint32_t may_have;   /* at a release: nodes for which it becomes pending if it cannot be sent */
    uint32_t send;       /* send the round's command: SET, extend or release by round.kind */
    uint32_t repair;     /* send SET NX with ttl_ms; the answer belongs to no round */
    uint32_t plant;      /* send SET NX that also overwrites a reservation; its answer is a vote */
    bool generate_token; /* generate a token and feed RL_EV_ATTEMPT, at once */
    bool tell;           /* feed RL_EV_TELL when the acquire's callback can run, soon */
    bool late;           /* the vote was late and was not counted */
    enum rl_result acquired;
    enum rl_result extended; /* also an upgrade: OK, HELD, UNKNOWN */
    enum rl_result renewed;  /* by the watchdog: OK or UNKNOWN */
    enum rl_result released;
    enum rl_result lost;
};

/* Times that no state needs together share their memory. */
struct rl_lock {
    const struct rl_rules *rules;
    struct rl_round round;
    uint64_t now_ns;         /* of the last event */
    uint64_t valid_until_ns; /* 0 unless granted, held or extending */
    union {
        uint64_t give_up_ns; /* until it is held: the acquire's deadline */
        uint64_t alive_ns;   /* held, extending: the last sign of life */
    };
    uint64_t round_until_ns; /* when outstanding votes count as failed */
    union {
        uint64_t retry_ns;   /* waiting: when that costs a try; ready, backoff: when it ends */
        uint64_t lost_at_ns; /* held, extending: when the loss is reported */
    };
    union {
        uint64_t collect_ns; /* trying: when an attempt with passed keys asks for the missing votes;
                                RL_NEVER: it has asked */
        uint64_t renew_ns;   /* held, extending: the watchdog's next extension; RL_NEVER: none */
    };
    union {
        uint64_t set_ns;        /* trying, fencing: when the attempt's SETs were sent */
        uint64_t hold_until_ns; /* with validity: its upper limit; RL_NEVER: none */
    };
    union {
        uint64_t place; /* ready, trying, fencing: the place whose turn the attempt uses: TAKE
                           instead of SET; else 0 */
        uint64_t reader_fence; /* extending: the fence before a pending upgrade; else 0 */
    };
    struct rl_fence fence;
    struct rl_acquire acquire;
    uint32_t asked;  /* of an attempt with passed keys: nodes that were asked, as a mask */
    uint32_t ttl_ms; /* of the present round */
    /* the longest ttl that any key of this token was given; at most what CHANGED allows */
    uint32_t life_ms;
    uint32_t absent;   /* new nodes without the key, of this round: to be planted (lock.h, 9) */
    uint32_t planted;  /* new nodes that were asked to set the key, and are no longer in `absent` */
    uint32_t may_hold; /* nodes that may have a key with the present token */
    uint8_t state;     /* enum rl_lock_state */
    /* enum rl_result: to report for the failed upgrade that the pending extension undoes */
    uint8_t reverts;
    bool adopts : 1;      /* the attempt is an adoption: it must not release what it finds */
    bool renews : 1;      /* the pending extension is the watchdog's */
    bool was_refused : 1; /* waiting in the line of all clients, after a refused attempt */
    /* nodes may have the token without having been asked, because a release passed the lock */
    bool is_given : 1;
    bool is_leased : 1;           /* its keys were passed to it and not extended yet */
    bool is_silent : 1;           /* held: the watchdog has stopped, without a sign of life */
    char token[RL_TOKEN_LEN + 1]; /* zero-terminated; "" before the first attempt */
};

#endif
