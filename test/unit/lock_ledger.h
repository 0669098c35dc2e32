/* A lock under test, beside it the model (lock_model.h) that says what it must do, and a ledger
 * that looks at both from outside and knows only what the nodes and the user would know. The
 * ledger, here, checks after each step what may never happen, whatever the model says:
 *   - a node that may have got our SET, or a key for our turn, is left without a release and
 *     without a debt;
 *   - a SET is sent to a node that may not vote, or an attempt asks one node first without need, or
 *     too often;
 *   - an attempt takes keys for another place than the one whose turn it was given, or of an
 *     earlier turn;
 *   - a fence is granted that is not in place on a majority, or a counter is raised without need;
 *   - a validity is granted that does not run from the first SET, or from the first key that was
 *     passed, or is longer than the keys live;
 *   - a reader is told that it is the writer without a majority that has converted, or for longer
 *     than these have; or an upgrade shortens the hold;
 *   - an operation ends twice, or ends without having begun, or never;
 *   - a lock is held at or after the end of its validity;
 *   - the life that a debt is given is not the longest that a key of the token may have;
 *   - a tick that was due leaves something due, so that the driver would spin.
 */
#ifndef UNIT_LOCK_LEDGER_H
#define UNIT_LOCK_LEDGER_H

#include <redlock/redlock.h>

#include "core/lock.h"
#include "core/lock_state.h"
#include "unit/check.h"
#include "unit/lock_model.h"

#define START_NS (5000 * MS)
#define TIMEOUT_REASON (-43)
#define NOT_ASKED_REASON (-57)
#define TRAIL 24u

/* How a node can answer. */
enum answer { GRANTS, REFUSES, ANSWERS_ERROR, BREAKS, ANSWERS };

struct step_note {
    uint64_t now_ns;
    uint32_t up, voters;
    uint32_t round;
    uint8_t type;
    uint8_t node;
    uint8_t answer;
    uint8_t state; /* after it */
};

struct world {
    struct rl_rules rules;
    struct rl_lock lock;
    struct rl_ballot ballots[RL_NODES_MAX];
    struct model model;
    struct rl_actions out; /* of the last step */
    /* the ledger */
    uint32_t reached;               /* nodes that may have the key with the present token */
    uint32_t asked;                 /* nodes that were sent the SET, or have voted without */
    uint32_t unanswered;            /* of those that were sent it */
    uint32_t set_round;             /* the round of that SET */
    uint64_t set_ns;                /* when it was sent, or the first key was passed */
    uint32_t set_ms;                /* the shortest life of those keys */
    uint64_t counted[RL_NODES_MAX]; /* the counters that granted in time; 0: it did not */
    uint32_t counting_round;        /* the round in which they are, or the upgrade's */
    uint32_t raised;                /* nodes that answered that their counter is the fence now */
    uint64_t fence;                 /* of the grant that was reported last */
    uint32_t life_ms;               /* the longest ttl of any key of the present token */
    bool given;                     /* the attempt was by a turn: its keys may be anywhere */
    uint64_t turn;                  /* the place whose turn it was given, for the next attempt */
    uint64_t was_valid_ns;          /* before the step */
    uint64_t upgrade_ns;            /* when the last upgrade was sent */
    uint32_t upgrade_ttl_ms;
    uint32_t upgrade_round;
    uint32_t converted; /* nodes that may vote, and said yes to it in time */
    bool upgrading;
    bool fencing;
    bool adopting, acquiring, extending, releasing, holding;
    uint64_t random;   /* that the next events bring, as these do */
    uint32_t voters;   /* of the nodes that are up */
    uint32_t lease_ms; /* of keys that the next attempt is passed; 0: it asks for them */
    uint32_t awaited;  /* nodes of which it wants to hear */
    uint64_t early_ns; /* how long before the message a node has passed its key */
    uint64_t counter;  /* of a vote */
    uint64_t floor;
    bool lines; /* there are lines to wait in */
    char token[RL_TOKEN_LEN + 1];
    /* how it came to this */
    struct step_note trail[TRAIL];
    uint32_t steps;
};

/* -- Failing -- */

static inline void world_fail(const struct world *w, const char *what, int line) {
    static const char *const answers[] = {"yes", "no", "error", "lost"};
    uint32_t first = w->steps > TRAIL ? w->steps - TRAIL : 0;
    for (uint32_t i = first; i < w->steps; i++) {
        const struct step_note *note = &w->trail[i % TRAIL];
        bool vote = note->type == RL_EV_VOTE;
        print_error("%12.6f ms %-7s up %02x of these vote %02x", (double)note->now_ns / 1e6,
                    rl_event_name((enum rl_event_type)note->type), (unsigned)note->up,
                    (unsigned)note->voters);
        if (vote) {
            print_error(" round %u node %u %s", (unsigned)note->round, note->node,
                        answers[note->answer]);
        }
        print_error(" -> %s\n", rl_lock_state_name((enum rl_lock_state)note->state));
    }
    print_error("%u nodes: %s\n", (unsigned)w->rules.n, what);
    _fail(__FILE__, line);
}

#define CHECK(w, condition) \
    ((condition) ? (void)0 : world_fail((w), "not true: " #condition, __LINE__))

/* -- Making -- */

/* Pointers into the world are made to point into this one. */
static inline void world_adopt(struct world *w) {
    w->lock.rules = &w->rules;
    w->lock.round.ballots = w->ballots;
    w->model.rules = &w->rules;
}

static inline void world_copy(struct world *copy, const struct world *from) {
    *copy = *from;
    world_adopt(copy);
}

static inline struct rl_rules usual_rules(uint32_t n) {
    return (struct rl_rules){.n = n,
                             .drift_ppm = 10000,
                             .drift_ns = 2 * MS,
                             .node_timeout_ns = 250 * MS,
                             .lost_margin_ns = 2 * MS,
                             .not_asked_reason = NOT_ASKED_REASON};
}

static inline struct rl_acquire usual_acquire(void) {
    return (struct rl_acquire){.ttl_ms = 10000,
                               .tries = 2,
                               .wait_ms = 1000,
                               .delay_ms = 50,
                               .jitter_ms = 100,
                               .min_validity_ms = 1};
}

static inline void world_init(struct world *w, struct rl_rules rules) {
    memset(w, 0, sizeof *w);
    w->rules = rules;
    w->random = 33 * MS;
    w->voters = UINT32_MAX;
    w->counter = 7;
    w->floor = 3;
    w->model = (struct model){.now_ns = START_NS, .state = RL_IDLE};
    rl_lock_init(&w->lock, &w->rules, w->ballots, TIMEOUT_REASON);
    world_adopt(w);
}

static inline uint32_t world_all(const struct world *w) {
    return (UINT32_C(1) << w->rules.n) - 1;
}

/* -- The ledger -- */

static inline bool state_is(const struct world *w, uint32_t states) {
    return (1u << w->lock.state & states) != 0;
}

#define NOT_OUT \
    (1u << RL_IDLE | 1u << RL_WAITING | 1u << RL_READY | 1u << RL_BACKOFF | 1u << RL_LOST)
#define ACQUIRES                                                                                 \
    (1u << RL_WAITING | 1u << RL_READY | 1u << RL_TRYING | 1u << RL_FENCING | 1u << RL_BACKOFF | \
     1u << RL_GRANTED)
#define HOLDS (1u << RL_HELD | 1u << RL_EXTENDING)

/* Attempts, and how many nodes they ask. */
static inline void ledger_attempts(struct world *w, const struct rl_event *e) {
    const struct rl_actions *x = &w->out;
    if (e->type != RL_EV_ATTEMPT) {
        w->turn = e->type == RL_EV_ACQUIRE ? 0 : w->turn;
        return;
    }
    CHECK(w, w->reached == 0);
    CHECK(w, memcmp(w->lock.token, w->token, sizeof w->token) == 0);
    w->unanswered = w->asked = w->raised = 0;
    w->set_round = w->counting_round = w->lock.round.id;
    w->set_ns = e->now_ns;
    w->set_ms = w->lock.acquire.ttl_ms;
    w->set_ms = e->lease_ms > 0 && e->lease_ms < w->set_ms ? e->lease_ms : w->set_ms;
    w->given = w->turn != 0; /* home, or the former holder, has written a key */
    w->reached = w->given ? e->up : 0;
    memset(w->counted, 0, sizeof w->counted);
    CHECK(w, x->send == 0 || (x->send == e->voters && e->lease_ms == 0));
    CHECK(w, w->lock.state != RL_TRYING || w->lock.place == w->turn);
    w->turn = 0;
}

/* A fence that is granted is exactly what a majority of the nodes has in its counter. */
static inline void ledger_fence(struct world *w, const struct rl_event *e) {
    const struct rl_actions *x = &w->out;
    const struct rl_ballot_in *in = &e->u.vote;
    bool fences = w->lock.acquire.fences && !w->adopting;
    bool grants = e->type == RL_EV_VOTE && !x->late && in->vote == RL_VOTE_GRANTED;
    if (e->type == RL_EV_UPGRADE && x->send != 0 && w->fence != 0) {
        memset(w->counted, 0, sizeof w->counted);
        w->counting_round = w->lock.round.id;
        w->raised = 0;
    }
    bool all_count = w->counting_round == w->set_round; /* to an upgrade only nodes that may vote */
    if (grants && in->round == w->counting_round &&
        (all_count || (e->voters >> in->node & 1) != 0)) {
        w->counted[in->node] = in->counter;
    } else if (grants && in->round == w->counting_round + 1 && w->fencing) {
        w->raised |= UINT32_C(1) << in->node;
    }
    if (x->send != 0 && w->lock.round.kind == RL_ROUND_FENCE) {
        CHECK(w, fences && !w->fencing);
        CHECK(w, w->lock.state == RL_FENCING || w->upgrading);
        CHECK(w, w->raised == 0);
    }
    w->fencing = state_is(w, HOLDS | 1u << RL_FENCING) && w->lock.round.decision == RL_OPEN &&
                 w->lock.round.kind == RL_ROUND_FENCE;
    uint32_t placed = w->raised;
    bool upgraded = w->upgrading && x->extended == RL_RESULT_OK && w->fence != 0;
    bool tells = (x->tell && fences) || upgraded;
    for (uint32_t i = 0; i < w->rules.n && tells; i++) {
        CHECK(w, w->counted[i] <= w->lock.fence.value);
        placed |= (uint32_t)(w->counted[i] == w->lock.fence.value) << i;
    }
    CHECK(w, !tells || 2 * set_size(placed) > w->rules.n);
    if (upgraded) {
        w->fence = w->lock.fence.value;
    } else if (x->acquired == RL_RESULT_OK) {
        w->fence = fences ? w->lock.fence.value : 0;
        CHECK(w, !fences || w->fence > 0);
    } else if (e->type == RL_EV_ACQUIRE || e->type == RL_EV_ADOPT) {
        w->fence = 0;
    }
    CHECK(w, rl_lock_fence(&w->lock) == w->fence);
}

static inline void ledger_keys(struct world *w, const struct rl_event *e) {
    const struct rl_actions *x = &w->out;
    bool sent_release = w->lock.round.kind == RL_ROUND_RELEASE;
    uint32_t told = x->release | x->owe | (sent_release ? x->send : 0);
    CHECK(w, ((x->release | x->send | x->repair) & ~e->up) == 0);
    CHECK(w, (x->owe & e->up) == 0);
    if (e->type == RL_EV_VOTE && e->u.vote.round == w->set_round &&
        e->u.vote.vote != RL_VOTE_NONE) {
        uint32_t bit = UINT32_C(1) << e->u.vote.node;
        bool ran = e->u.vote.vote == RL_VOTE_GRANTED ||
                   (e->u.vote.vote == RL_VOTE_FAILED && (e->u.vote.may_have_run || w->given));
        w->reached &= (w->unanswered & bit) && !ran ? ~bit : ~UINT32_C(0);
        w->unanswered &= ~bit;
        w->asked |= bit;
        if (e->u.vote.start_ns != 0 && e->u.vote.start_ns < w->set_ns && !x->late) {
            w->set_ns = e->u.vote.start_ns;
        }
    }
    if (e->type == RL_EV_DISOWN && x->lost == RL_RESULT_NONE) {
        CHECK(w, x->release == 0 && x->owe == 0); /* others may need the keys */
        CHECK(w, x->send == 0 || w->lock.round.kind == RL_ROUND_EXTEND);
        w->reached = 0;
    } else if (state_is(w, NOT_OUT | 1u << RL_RELEASING)) {
        CHECK(w, (w->reached & ~told) == 0);
        w->reached = 0;
    }
    if (x->send != 0 && w->lock.round.kind == RL_ROUND_ACQUIRE) {
        CHECK(w, (x->send & ~e->voters) == 0); /* the others may have forgotten another's key */
        CHECK(w, (x->send & w->asked) == 0);   /* once */
        w->asked |= x->send;
        w->reached |= x->send;
        w->unanswered |= x->send;
    }
    if (x->acquired == RL_RESULT_OK && w->adopting) {
        w->reached = world_all(w); /* an adopting lock is responsible for every key of the token */
    } else if (w->adopting) {
        CHECK(w, x->release == 0 && x->owe == 0); /* it is not ours to end */
    }
    w->adopting = w->adopting && x->acquired == RL_RESULT_NONE;
    if (x->repair != 0) {
        CHECK(w, w->lock.state == RL_HELD && e->now_ns < w->lock.valid_until_ns);
        CHECK(w, (x->repair & ~w->model.no) == 0);
        w->reached |= x->repair;
    }
    CHECK(w, (w->reached & ~w->lock.may_hold) == 0);
}

static inline void ledger_life(struct world *w, const struct rl_event *e) {
    uint32_t ttl_ms = w->lock.ttl_ms;
    bool extends = e->type == RL_EV_EXTEND && w->out.extended != RL_RESULT_EXPIRED;
    CHECK(w, e->type != RL_EV_UPGRADE || ttl_ms <= w->life_ms);
    if (e->type == RL_EV_ATTEMPT || e->type == RL_EV_ADOPT) {
        w->life_ms = w->lock.acquire.ttl_ms;
        w->life_ms = e->lease_ms > w->life_ms ? e->lease_ms : w->life_ms;
    } else if (e->type == RL_EV_RELEASE && e->u.token != NULL) {
        w->life_ms = REDLOCK_TTL_MS_MAX; /* its former holder may have requested that */
    } else if (extends && ttl_ms > w->life_ms) {
        w->life_ms = ttl_ms;
    }
    CHECK(w, w->lock.life_ms == w->life_ms);
}

static inline void ledger_operations(struct world *w, const struct rl_event *e) {
    const struct rl_actions *x = &w->out;
    CHECK(w, x->acquired == RL_RESULT_NONE || w->acquiring);
    CHECK(w, x->extended == RL_RESULT_NONE || w->extending);
    CHECK(w, x->released == RL_RESULT_NONE || w->releasing);
    CHECK(w, x->lost == RL_RESULT_NONE || w->holding);
    w->acquiring = w->acquiring && x->acquired == RL_RESULT_NONE;
    w->extending = w->extending && x->extended == RL_RESULT_NONE;
    w->releasing = w->releasing && x->released == RL_RESULT_NONE;
    w->holding = w->holding || x->acquired == RL_RESULT_OK;
    if (x->lost != RL_RESULT_NONE || e->type == RL_EV_RELEASE || e->type == RL_EV_ABANDON ||
        e->type == RL_EV_DISOWN) {
        w->holding = false;
    }
    CHECK(w, w->acquiring == state_is(w, ACQUIRES));
    CHECK(w, w->acquiring == rl_lock_is_acquiring(&w->lock));
    uint32_t has_token = HOLDS | 1u << RL_TRYING | 1u << RL_FENCING | 1u << RL_GRANTED;
    CHECK(w, rl_lock_has_token(&w->lock, w->lock.token) == state_is(w, has_token));
    CHECK(w, !rl_lock_has_token(&w->lock, "cccccccccccccccccccccccccccccccccccccccc"));
    CHECK(w, rl_lock_is_in_line(&w->lock) == state_is(w, ACQUIRES | HOLDS));
    CHECK(w, rl_lock_is_holding(&w->lock) == state_is(w, HOLDS));
    CHECK(w, w->extending == (w->lock.state == RL_EXTENDING && !w->lock.renews));
    CHECK(w, w->releasing == (w->lock.state == RL_RELEASING));
    CHECK(w, w->holding == state_is(w, HOLDS));
    CHECK(w, !x->tell || w->lock.state == RL_GRANTED);
    CHECK(w, !x->generate_token || w->lock.state == RL_READY);
}

/* A lock that is reported as the writer has converted a majority, each node for as long as it
 * holds. Whatever the result, the upgrade does not shorten the hold. */
static inline void ledger_upgrade(struct world *w, const struct rl_event *e) {
    const struct rl_actions *x = &w->out;
    const struct rl_ballot_in *in = &e->u.vote;
    uint64_t until_ns = w->lock.valid_until_ns;
    if (e->type == RL_EV_UPGRADE && x->extended == RL_RESULT_NONE) {
        CHECK(w, x->send == e->voters && 2 * set_size(e->voters) > w->rules.n);
        w->upgrading = true;
        w->upgrade_ns = e->now_ns;
        w->upgrade_ttl_ms = w->lock.ttl_ms;
        w->upgrade_round = w->lock.round.id;
        w->converted = 0;
    }
    CHECK(w, x->send == 0 || w->lock.round.kind != RL_ROUND_UPGRADE || e->type == RL_EV_UPGRADE);
    if (w->upgrading && e->type == RL_EV_VOTE && in->round == w->upgrade_round && !x->late &&
        in->vote == RL_VOTE_GRANTED) {
        w->converted |= UINT32_C(1) << in->node & e->voters;
    }
    bool won = w->upgrading && x->extended == RL_RESULT_OK;
    CHECK(w, !won || 2 * set_size(w->converted) > w->rules.n);
    CHECK(w, !won || until_ns <= w->upgrade_ns + model_validity(&w->model, w->upgrade_ttl_ms));
    CHECK(w, !w->upgrading || !state_is(w, HOLDS) || until_ns >= w->was_valid_ns);
    w->upgrading = w->upgrading && x->extended == RL_RESULT_NONE;
}

static inline void ledger_validity(const struct world *w, const struct rl_event *e) {
    uint64_t until_ns = w->lock.valid_until_ns;
    CHECK(w, rl_lock_is_valid(&w->lock, e->now_ns) == w->holding);
    CHECK(w, !w->holding || rl_lock_is_valid(&w->lock, until_ns - 1));
    CHECK(w, !w->holding || w->lock.lost_at_ns <= until_ns);
    if (w->out.tell && w->lock.round.kind != RL_ROUND_EXTEND) {
        CHECK(w, until_ns <= w->set_ns + model_validity(&w->model, w->set_ms));
    }
    CHECK(w, w->lock.acquire.max_hold_ms == 0 || !w->holding || until_ns <= w->model.hold_until_ns);
    CHECK(w, !rl_lock_is_valid(&w->lock, until_ns));
    CHECK(w, !rl_lock_is_valid(&w->lock, UINT64_MAX));
}

#endif
