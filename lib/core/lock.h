/* The life of one lock: a pure step from an event to the actions that the driver has to take.
 *
 *                       +--> fencing --+
 *                       |              v
 *     idle -> ready -> trying ----> granted -> held <-> extending
 *      |      ^  ^       |             |         \        /   \
 *      v      |  +- backoff <----------+       releasing     lost
 *     waiting-+
 *
 * Happy path: ACQUIRE asks the driver to draw a token; ATTEMPT sends SET to the nodes; VOTEs come
 * in until a quorum granted; TELL, fed just before the user's callback, makes the lock held;
 * RELEASE deletes it everywhere. A lock that is not first in its client's line (turns.h) waits for
 * TURN before it asks. With a watchdog (watch.h) the lock extends itself. ADOPT begins with a token
 * that is held already, and DISOWN leaves one behind.
 *
 * Failure modes: an attempt that cannot win, comes too late or is cancelled is released on every
 * node and tried again after a pause, or given up. A held lock ends as lost at the end of its
 * validity, whatever the network does, or when an extension finds the token gone from too many
 * nodes.
 *
 * The safety argument, on paper:
 *
 *  1. Can two hold it? A lock is held from TELL to valid_until. At every instant of that window a
 *     quorum of nodes has its token: each granted vote belongs to a SET or an extension sent at or
 *     after round.sent_ns, runs at the node after that, and lives there for ttl by the node's
 *     clock, which is more than valid_until - sent (quorum.h). Two quorums share a node, which
 *     holds one token. So no. What this rests on, line by line:
 *      - only votes of the current round are counted (rl_round_vote compares the id);
 *      - validity runs from the sending (of a grant: of its first SET), never from an answer;
 *      - a node that may have forgotten what it voted for gives no vote (guard.h): it is not asked
 *        to grant, and its yes to an extension does not count;
 *      - every step first looks at the clock (lock_expire): a vote that arrives after valid_until
 *        cannot prolong anything, also when the timer has not fired yet;
 *      - an extension never shortens a key (command.c): one that runs late, after a longer one that
 *        was counted, would end the lock early. A shorter ttl shortens validity here, alone;
 *      - TELL looks at the clock again, since the loop may have been blocked after the last vote.
 *  2. Can a key be orphaned? may_hold has a bit for every node to which a SET of the present token
 *     was sent and which has not answered that it did not run. Every way out of an attempt or a
 *     hold goes through rl_lock_release_all(), which releases on all nodes that are up, but those
 *     that were to be asked later, and owes (owed.h) those of may_hold that are not up. A node that
 *     is up gets the release after the SET, on one connection.
 *  3. Can a callback be missed or run twice? Each operation is ended in exactly one place: acquire
 *     where the state leaves waiting to granted, extend where it leaves extending,
 *     release where it leaves releasing; lost is set only in rl_lock_lose(), which leaves held or
 *     extending.
 *  4. Can an adoption make two holders? For the nodes it is one holder with one token, before and
 *     after; validity comes from a round of extensions that a quorum answered, exactly as in 1. An
 *     adoption that fails releases nothing: the token may be somebody's.
 *  5. Can a repair take the lock from somebody? A repair is SET NX, so it never overwrites; it is
 *     sent only while validity lasts, after a round that a quorum renewed, and its answer is
 *     counted for nothing.
 *  6. Can one server vote twice? Nodes that say that they are one server are twins: of twins one
 *     yes counts in each round, the first (on_vote). Nothing is proved about who says so: a node
 *     that only copies what another says of itself is asked like any other, and so is the other.
 *     Whichever of them grants, the round has one vote of theirs, which is all that the honest one
 *     would have had; a copy that refuses, fails or is silent takes nothing from it; and a copy
 *     that grants first could have granted as well under an identity of its own. That a vote counts
 *     less makes no two holders: what argument 1 needs of a quorum is that so many nodes granted.
 *     Twins stay twins until no round can be open that one of them voted in as somebody else
 *     (voters.h).
 */
#ifndef RL_CORE_LOCK_H
#define RL_CORE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "core/fence.h"
#include "core/quorum.h"
#include "core/round.h"

#define RL_TOKEN_LEN 40
#define RL_NO_LIMIT UINT32_MAX

enum rl_lock_state {
    RL_IDLE,
    RL_WAITING, /* in line behind another lock of this client */
    RL_READY,   /* a token is being drawn; the next event is ATTEMPT */
    RL_TRYING,
    RL_FENCING, /* won, the counters of the fence are being raised */
    RL_BACKOFF,
    RL_GRANTED, /* won, the user does not know yet */
    RL_HELD,
    RL_EXTENDING, /* held, with an extension under way */
    RL_RELEASING,
    RL_LOST, /* ended by itself, and not released or acquired again since */
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
    RL_RESULT_MAX_HOLD
};

enum rl_event_type {
    RL_EV_ACQUIRE, /* idle or lost; with `acquire` */
    RL_EV_ATTEMPT, /* ready; with `token` */
    RL_EV_VOTE,    /* any state; with `vote` */
    RL_EV_TICK,    /* any state: the deadline that rl_lock_wake_ns() named has come, or may have */
    RL_EV_TELL,    /* any state: the driver is about to run the callback of a granted acquire */
    RL_EV_EXTEND,  /* held, or extending by the watchdog; with `ttl_ms`; lost: it comes too late */
    RL_EV_RELEASE, /* held, extending or lost; idle or lost with `token`: of somebody else's */
    RL_EV_CANCEL,  /* ready (no token could be drawn), waiting to granted, or extending */
    RL_EV_ABANDON, /* any state: the user gives the lock up; all its operations end as cancelled */
    RL_EV_TURN,    /* waiting: first in line now; with `pause` */
    RL_EV_NOTICE,  /* any state: somebody has released, it may be worth trying at once */
    RL_EV_ADOPT,   /* idle or lost; with `adopt` */
    RL_EV_DISOWN,  /* held or extending; lost: it comes too late and does nothing */
    RL_EVENT_TYPES
};

struct rl_acquire {
    uint32_t ttl_ms;
    uint32_t tries;   /* RL_NO_LIMIT: no limit */
    uint32_t wait_ms; /* RL_NO_LIMIT: no limit */
    uint32_t delay_ms;
    uint32_t jitter_ms;
    uint32_t min_validity_ms;
    uint32_t renew_ms;    /* the watchdog extends when so much validity is used up; 0: none */
    uint32_t max_hold_ms; /* 0: no limit */
    bool waits;           /* not first in line */
    bool fences;
    bool breaks_ties; /* asks one node first once it has met another's key */
    uint8_t attempt;  /* enum rl_result: of its last attempt that ended; begins as NONE */
};

struct rl_adopt {
    struct rl_acquire acquire;
    const char *token; /* RL_TOKEN_LEN hex digits */
};

/* One node's answer to a request. */
struct rl_ballot_in {
    uint32_t round; /* the round.id when the request was sent */
    uint32_t node;
    enum rl_vote vote;
    int16_t reason;    /* of a failed vote */
    uint64_t counter;  /* of a granted vote of a fenced attempt, not 0 */
    bool may_have_run; /* of a failed vote: false if the node answered, with an error */
};

struct rl_event {
    enum rl_event_type type;
    uint64_t now_ns;        /* never goes back for one lock */
    uint64_t random;        /* fresh; used for the jitter */
    uint32_t up;            /* nodes that can be sent to now */
    uint32_t voters;        /* of these, the ones that may be asked to grant, see guard.h */
    const int16_t *reasons; /* why the others cannot or may not, one for each node */
    const uint32_t *twins;  /* for each node, those that are the same server; NULL: none are */
    uint64_t floor;         /* of an attempt: the wall clock in microseconds, see fence.h */
    union {
        struct rl_acquire acquire;
        struct rl_adopt adopt;
        const char *token; /* RL_TOKEN_LEN hex digits; of an attempt never used before */
        struct rl_ballot_in vote;
        uint32_t ttl_ms; /* 0: the ttl of the acquire */
        bool pause;      /* let others go first: ask after a pause */
    } u;
};

/* What the driver has to do, in this order. Masks have a bit for each node. The token is
 * lock->token and, for `send`, `repair` and `release`, the one of the time of this step: the driver
 * acts before it feeds the next event. */
struct rl_actions {
    uint32_t release; /* send a release; its answer belongs to no round */
    uint32_t owe;     /* not up, and may have the key: owe it a release */
    uint32_t
        may_have;    /* of all nodes, at a release: where it cannot be sent to one, owe it there */
    uint32_t send;   /* send the round's command: SET, extend or release by round.kind */
    uint32_t repair; /* send SET NX with ttl_ms; the answer belongs to no round */
    bool draw;       /* draw a token and feed RL_EV_ATTEMPT, at once */
    bool tell;       /* feed RL_EV_TELL when the acquire's callback can run, soon */
    bool late;       /* the vote was late and was not counted */
    enum rl_result acquired;
    enum rl_result extended;
    enum rl_result renewed; /* by the watchdog: OK or UNKNOWN */
    enum rl_result released;
    enum rl_result lost;
};

struct rl_lock {
    const struct rl_rules *rules;
    struct rl_round round;
    uint64_t now_ns;         /* of the last event */
    uint64_t valid_until_ns; /* 0 unless granted, held or extending */
    uint64_t lost_at_ns;     /* when a held lock is given up */
    uint64_t hold_until_ns;  /* validity never goes beyond; RL_NEVER: no limit */
    uint64_t renew_ns;       /* the watchdog's next extension, RL_NEVER if there is none */
    uint64_t give_up_ns;     /* the acquire's deadline */
    uint64_t set_ns;         /* when the attempt's first SET was sent */
    uint64_t round_until_ns; /* votes still out by then have failed */
    uint64_t retry_ns;       /* the end of a backoff, or when waiting costs a try */
    struct rl_acquire acquire;
    uint32_t ttl_ms;   /* of the present round */
    uint32_t life_ms;  /* the longest ttl that any key of this token was given */
    uint32_t may_hold; /* nodes that may have a key with the present token */
    uint32_t unasked;  /* nodes that take part in the attempt and were not sent a SET yet */
    uint64_t resource; /* a hash of it */
    struct rl_fence fence;
    int16_t timeout_reason;
    uint8_t state;                /* enum rl_lock_state */
    bool adopts;                  /* the attempt is an adoption: what it finds is not ours to end */
    bool renews;                  /* the extension under way is the watchdog's */
    bool met_another;             /* an attempt of this acquire was refused somewhere */
    uint8_t alone;                /* attempts in a row that asked one node first */
    char token[RL_TOKEN_LEN + 1]; /* with a zero, "" before the first attempt */
};

/* rules and ballots (n of them) must outlive the lock. timeout_reason marks votes that did not
 * come. resource: a hash, the same for all clients. */
void rl_lock_init(struct rl_lock *lock, const struct rl_rules *rules, struct rl_ballot *ballots,
                  int16_t timeout_reason, uint64_t resource);

/* The step. out is overwritten. */
void rl_lock_step(struct rl_lock *lock, const struct rl_event *event, struct rl_actions *out);

/* For drivers that send later than they are asked to: what was asked for since `since_ns` goes out
 * at now_ns, and its votes are waited for from then on. No more than that: validity runs from when
 * it was asked for, and an attempt that could win nothing any more is not waited for. */
void rl_lock_put_off(struct rl_lock *lock, uint64_t since_ns, uint64_t now_ns);

/* When RL_EV_TICK is due, RL_NEVER if no deadline is set. */
uint64_t rl_lock_wake_ns(const struct rl_lock *lock);

/* When the loss of a lock that is held is due, which RL_EV_TICK tells; RL_NEVER if it is not held.
 * For drivers with many locks: rl_lock_wake_ns() alone may name something less urgent. */
uint64_t rl_lock_lost_ns(const struct rl_lock *lock);

/* Held, and validity has not ended at now_ns. */
bool rl_lock_is_valid(const struct rl_lock *lock, uint64_t now_ns);

/* Held or extending, whatever the time. */
bool rl_lock_is_holding(const struct rl_lock *lock);

/* The fence of the last grant; 0 before it, or if the acquire did not ask for one. */
uint64_t rl_lock_fence(const struct rl_lock *lock);

/* Whether an attempt or a hold with this token is under way, so that no release of it was sent. */
bool rl_lock_has_token(const struct rl_lock *lock, const char *token);

/* Whether an acquire (waiting to granted) is under way. */
bool rl_lock_is_acquiring(const struct rl_lock *lock);

/* Whether the lock keeps its place in line: it asks the nodes, holds, or waits for its turn. */
bool rl_lock_is_in_line(const struct rl_lock *lock);

/* Of a lock that neither asks nor holds: its last round and token are from now on those of another
 * lock, with which it held. */
void rl_lock_copy_past(struct rl_lock *lock, const struct rl_lock *from);

const char *rl_lock_state_name(enum rl_lock_state state);
const char *rl_event_name(enum rl_event_type type);

#endif
