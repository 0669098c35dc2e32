/* A lock under test, beside it the model (lock_model.h) that says what it must do, and a ledger
 * that looks at both from outside and knows only what the nodes and the user would know.
 *
 * world_step() feeds one event to lock and model and compares all that can be seen of them. Then
 * the ledger is asked, which checks what may never happen, whatever the model says:
 *   - a node that may have got our SET is left without a release and without a debt;
 *   - a SET is sent to a node that may not vote, or an attempt asks one node first without need, or
 *     too often;
 *   - an attempt takes keys for another place than the one whose turn it was given, or of an
 *     earlier turn;
 *   - a fence is granted that is not in place on a majority, or a counter is raised without need;
 *   - a validity is granted that does not run from the first SET;
 *   - an operation ends twice, or ends without having begun, or never;
 *   - a lock is held at or after the end of its validity;
 *   - the life that a debt is given is not the longest that a key of the token may have;
 *   - a tick that was due leaves something due, so that the driver would spin.
 *
 * A world is a value: it is copied to try something out. world_probe() tries all that can happen
 * next, at all times at which something changes. A failure prints the events that led to it.
 */
#ifndef UNIT_LOCK_WORLD_H
#define UNIT_LOCK_WORLD_H

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
    uint32_t unanswered;            /* of those that were sent the SET */
    uint32_t set_round;             /* the round of that SET */
    uint64_t set_ns;                /* when it was sent */
    uint64_t counted[RL_NODES_MAX]; /* the counters that granted in time; 0: it did not */
    uint32_t raised;                /* nodes that answered that their counter is the fence now */
    uint64_t fence;                 /* of the grant that was told last */
    uint32_t life_ms;               /* the longest ttl of any key of the present token */
    uint64_t turn;                  /* the place whose turn it was given, for the next attempt */
    bool fencing;
    bool adopting, acquiring, extending, releasing, holding;
    uint64_t random;  /* that the next events bring, as these do */
    uint32_t voters;  /* of the nodes that are up */
    uint64_t counter; /* of a vote */
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
    w->unanswered = w->raised = 0;
    w->set_round = w->lock.round.id;
    w->set_ns = e->now_ns;
    memset(w->counted, 0, sizeof w->counted);
    CHECK(w, x->send == 0 || x->send == e->voters);
    CHECK(w, x->send == 0 || w->lock.place == w->turn);
    w->turn = 0;
}

/* A fence that is granted is exactly what a majority of the nodes has in its counter. */
static inline void ledger_fence(struct world *w, const struct rl_event *e) {
    const struct rl_actions *x = &w->out;
    const struct rl_ballot_in *in = &e->u.vote;
    bool fences = w->lock.acquire.fences && !w->adopting;
    bool grants = e->type == RL_EV_VOTE && !x->late && in->vote == RL_VOTE_GRANTED;
    if (grants && in->round == w->set_round) {
        w->counted[in->node] = in->counter;
    } else if (grants && in->round == w->set_round + 1 && w->fencing) {
        w->raised |= UINT32_C(1) << in->node;
    }
    if (x->send != 0 && w->lock.round.kind == RL_ROUND_FENCE) {
        CHECK(w, fences && w->lock.state == RL_FENCING && !w->fencing);
        CHECK(w, w->raised == 0);
    }
    w->fencing = w->lock.state == RL_FENCING;
    uint32_t placed = w->raised;
    for (uint32_t i = 0; i < w->rules.n && x->tell && fences; i++) {
        CHECK(w, w->counted[i] <= w->lock.fence.value);
        placed |= (uint32_t)(w->counted[i] == w->lock.fence.value) << i;
    }
    CHECK(w, !x->tell || !fences || 2 * set_size(placed) > w->rules.n);
    if (x->acquired == RL_RESULT_OK) {
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
    if (e->type == RL_EV_VOTE && e->u.vote.round == w->set_round) {
        uint32_t bit = UINT32_C(1) << e->u.vote.node;
        bool ran = e->u.vote.vote == RL_VOTE_GRANTED ||
                   (e->u.vote.vote == RL_VOTE_FAILED && e->u.vote.may_have_run);
        w->reached &= (w->unanswered & bit) && !ran ? ~bit : ~UINT32_C(0);
        w->unanswered &= ~bit;
    }
    if (e->type == RL_EV_DISOWN && x->lost == RL_RESULT_NONE) {
        CHECK(w, x->release == 0 && x->owe == 0 && x->send == 0); /* others may need the keys */
        w->reached = 0;
    } else if (state_is(w, NOT_OUT | 1u << RL_RELEASING)) {
        CHECK(w, (w->reached & ~told) == 0);
        w->reached = 0;
    }
    if (x->send != 0 && w->lock.round.kind == RL_ROUND_ACQUIRE) {
        CHECK(w, (x->send & ~e->voters) == 0); /* the others may have forgotten another's key */
        CHECK(w, (x->send & w->reached) == 0); /* once */
        w->reached |= x->send;
        w->unanswered |= x->send;
    }
    if (x->acquired == RL_RESULT_OK && w->adopting) {
        w->reached = world_all(w); /* who adopts answers for every key of the token */
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
    if (e->type == RL_EV_ATTEMPT || e->type == RL_EV_ADOPT) {
        w->life_ms = ttl_ms;
    } else if (e->type == RL_EV_RELEASE && e->u.token != NULL) {
        w->life_ms = REDLOCK_TTL_MS_MAX; /* whoever has set it may have asked for that */
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

static inline void ledger_validity(const struct world *w, const struct rl_event *e) {
    uint64_t until_ns = w->lock.valid_until_ns;
    CHECK(w, rl_lock_is_valid(&w->lock, e->now_ns) == w->holding);
    CHECK(w, !w->holding || rl_lock_is_valid(&w->lock, until_ns - 1));
    CHECK(w, !w->holding || w->lock.lost_at_ns <= until_ns);
    if (w->out.tell && w->lock.round.kind != RL_ROUND_EXTEND) {
        CHECK(w, until_ns <= w->set_ns + model_validity(&w->model, w->lock.acquire.ttl_ms));
    }
    CHECK(w, w->lock.acquire.max_hold_ms == 0 || !w->holding || until_ns <= w->model.hold_until_ns);
    CHECK(w, !rl_lock_is_valid(&w->lock, until_ns));
    CHECK(w, !rl_lock_is_valid(&w->lock, UINT64_MAX));
}

/* -- A step -- */

/* What lock and model did must be the same. */
static inline void world_compare(const struct world *w, const struct rl_actions *wanted) {
    const struct rl_actions *x = &w->out;
    const struct rl_lock *lock = &w->lock;
    const struct model *m = &w->model;
    CHECK(w, lock->state == m->state);
    CHECK(w, x->release == wanted->release);
    CHECK(w, x->owe == wanted->owe);
    CHECK(w, x->send == wanted->send);
    CHECK(w, x->repair == wanted->repair);
    CHECK(w, x->generate_token == wanted->generate_token);
    CHECK(w, x->tell == wanted->tell);
    CHECK(w, x->late == wanted->late);
    CHECK(w, x->acquired == wanted->acquired);
    CHECK(w, x->extended == wanted->extended);
    CHECK(w, x->renewed == wanted->renewed);
    CHECK(w, x->released == wanted->released);
    CHECK(w, x->lost == wanted->lost);
    CHECK(w, lock->valid_until_ns == m->valid_until_ns);
    CHECK(w, rl_lock_wake_ns(lock) == model_wake(m));
    CHECK(w, lock->may_hold == m->may_hold);
    CHECK(w, lock->now_ns == m->now_ns);
    CHECK(w, lock->round.id == m->id);
    CHECK(w, x->send == 0 || lock->round.kind == m->kind);
    CHECK(w, (x->send | x->repair) == 0 || lock->ttl_ms == m->ttl_ms);
    bool sets = x->send != 0 && m->kind <= RL_ROUND_FENCE;
    CHECK(w, !(sets || x->repair) || lock->fence.floor == m->carried);
    CHECK(w, rl_lock_fence(lock) == m->fence);
    CHECK(w, lock->place == model_place(m));
    if (m->id != 0) {
        CHECK(w, rl_round_mask(&lock->round, RL_VOTE_GRANTED) == m->yes);
        CHECK(w, rl_round_mask(&lock->round, RL_VOTE_REFUSED) == m->no);
        CHECK(w, rl_round_mask(&lock->round, RL_VOTE_FAILED) == m->failed);
    }
}

static inline void world_note(struct world *w, const struct rl_event *e) {
    struct step_note *note = &w->trail[w->steps++ % TRAIL];
    *note = (struct step_note){.now_ns = e->now_ns,
                               .up = e->up,
                               .voters = e->voters,
                               .type = (uint8_t)e->type,
                               .state = w->lock.state};
    if (e->type == RL_EV_VOTE) {
        const struct rl_ballot_in *in = &e->u.vote;
        note->round = in->round;
        note->node = (uint8_t)in->node;
        note->answer = (uint8_t)(in->vote == RL_VOTE_GRANTED   ? GRANTS
                                 : in->vote == RL_VOTE_REFUSED ? REFUSES
                                 : in->may_have_run            ? BREAKS
                                                               : ANSWERS_ERROR);
    }
}

static inline void world_step(struct world *w, const struct rl_event *e) {
    struct rl_actions wanted;
    uint32_t before = 1u << w->lock.state;
    w->adopting = w->adopting || e->type == RL_EV_ADOPT;
    w->acquiring = w->acquiring || e->type == RL_EV_ACQUIRE || e->type == RL_EV_ADOPT;
    w->extending = w->extending || e->type == RL_EV_EXTEND;
    w->releasing = w->releasing || e->type == RL_EV_RELEASE;
    model_step(&w->model, e, &wanted);
    rl_lock_step(&w->lock, e, &w->out);
    world_note(w, e);
    if (before == 1u << RL_READY && w->out.release == 0) {
        wanted.release = 0; /* nothing was sent yet: a release is neither needed nor wrong */
    }
    world_compare(w, &wanted);
    ledger_operations(w, e);
    ledger_attempts(w, e);
    ledger_fence(w, e); /* before adoptions end, there */
    ledger_keys(w, e);
    ledger_life(w, e);
    ledger_validity(w, e);
}

/* -- Events -- */

static inline struct rl_event world_event(const struct world *w, enum rl_event_type type,
                                          uint64_t now_ns, uint32_t up) {
    static const int16_t reasons[RL_NODES_MAX] = {-40, -41, -42};
    return (struct rl_event){.type = type,
                             .now_ns = now_ns > w->model.now_ns ? now_ns : w->model.now_ns,
                             .random = w->random,
                             .up = up,
                             .voters = up & w->voters,
                             .lines = w->lines,
                             .reasons = reasons};
}

static inline void world_simple(struct world *w, enum rl_event_type type, uint64_t now_ns,
                                uint32_t up) {
    struct rl_event e = world_event(w, type, now_ns, up);
    world_step(w, &e);
}

/* place: whose turn it is in the line; 0: behind others of its client. */
static inline void world_turn(struct world *w, uint64_t place, bool pause, uint64_t now_ns,
                              uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_TURN, now_ns, up);
    e.place = place;
    e.u.pause = pause;
    w->turn = pause ? 0 : place;
    world_step(w, &e);
}

static inline void world_acquire(struct world *w, struct rl_acquire acquire, uint64_t now_ns) {
    struct rl_event e = world_event(w, RL_EV_ACQUIRE, now_ns, world_all(w));
    e.u.acquire = acquire;
    world_step(w, &e);
}

/* A token that somebody else holds, or held. */
static inline void world_take_over(struct world *w, struct rl_acquire acquire, uint64_t now_ns,
                                   uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_ADOPT, now_ns, up);
    memset(w->token, 'a', RL_TOKEN_LEN);
    e.u.adopt.acquire = acquire;
    e.u.adopt.token = w->token;
    world_step(w, &e);
    CHECK(w, memcmp(w->lock.token, w->token, sizeof w->token) == 0);
}

static inline void world_release_token(struct world *w, uint64_t now_ns, uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_RELEASE, now_ns, up);
    memset(w->token, 'b', RL_TOKEN_LEN);
    e.u.token = w->token;
    world_step(w, &e);
    CHECK(w, memcmp(w->lock.token, w->token, sizeof w->token) == 0);
}

/* With a token that was never used: the number of the round that will be begun. */
static inline void world_attempt(struct world *w, uint64_t now_ns, uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_ATTEMPT, now_ns, up);
    snprintf(w->token, sizeof w->token, "%040x", (unsigned)(w->lock.round.id + 1));
    e.floor = w->floor;
    e.u.token = w->token;
    world_step(w, &e);
}

static inline void world_vote_of(struct world *w, uint32_t round, uint32_t node, enum answer answer,
                                 uint64_t now_ns, uint32_t up) {
    static const enum rl_vote votes[] = {RL_VOTE_GRANTED, RL_VOTE_REFUSED, RL_VOTE_FAILED,
                                         RL_VOTE_FAILED};
    struct rl_event e = world_event(w, RL_EV_VOTE, now_ns, up);
    e.u.vote = (struct rl_ballot_in){.round = round,
                                     .node = node,
                                     .vote = votes[answer],
                                     .reason = (int16_t)(answer >= ANSWERS_ERROR ? -56 : 0),
                                     .counter = answer == GRANTS ? w->counter : 0,
                                     .may_have_run = answer == BREAKS};
    world_step(w, &e);
}

/* A vote of the present round, with all nodes up. */
static inline void world_vote(struct world *w, uint32_t node, enum answer answer, uint64_t now_ns) {
    world_vote_of(w, w->lock.round.id, node, answer, now_ns, world_all(w));
}

static inline void world_extend(struct world *w, uint32_t ttl_ms, uint64_t now_ns, uint32_t up) {
    struct rl_event e = world_event(w, RL_EV_EXTEND, now_ns, up);
    e.u.ttl_ms = ttl_ms;
    world_step(w, &e);
}

/* Held, with a grant of each node of a mask; the others have not answered. */
static inline void world_hold(struct world *w, struct rl_acquire acquire, uint32_t grants) {
    uint64_t now_ns = w->model.now_ns;
    world_acquire(w, acquire, now_ns);
    world_attempt(w, now_ns, world_all(w));
    for (uint32_t node = 0; node < w->rules.n; node++) {
        if (grants >> node & 1) {
            world_vote(w, node, GRANTS, now_ns + MS);
        }
    }
    CHECK(w, w->lock.state == RL_GRANTED);
    world_simple(w, RL_EV_TELL, now_ns + MS, world_all(w));
    CHECK(w, w->lock.state == RL_HELD);
}

/* A tick at the time that the lock named. The next one is later: otherwise the driver would spin.
 */
static inline void world_tick(struct world *w, uint32_t up) {
    uint64_t wake_ns = rl_lock_wake_ns(&w->lock);
    CHECK(w, wake_ns != UINT64_MAX);
    world_simple(w, RL_EV_TICK, wake_ns, up);
    CHECK(w, rl_lock_wake_ns(&w->lock) > w->lock.now_ns);
}

#endif
