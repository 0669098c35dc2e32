/* A driver for tests that records its requests, and the world of one lock around it. */
#ifndef UNIT_DRIVER_SCENE_H
#define UNIT_DRIVER_SCENE_H

#include "core/driver.h"
#include "unit/check.h"

#define N_MAX 5u
#define NOW_NS (1000 * MS)
#define TIMEOUT_NS (50 * MS)
#define TIMEOUT_REASON (-43)
#define NOT_ASKED_REASON (-57)
#define BUSY_REASON (-9)
#define DOWN_REASON (-40)
#define WALL_US 77u
#define BIT(node) (UINT32_C(1) << (node))

/* The world of one lock. */
struct scene {
    struct rl_lock lock;
    struct rl_rules rules;
    struct rl_ballot ballots[N_MAX];
    int16_t reasons[N_MAX];
    uint64_t oldest_ns[N_MAX];
    uint64_t now_ns;
    uint32_t up;
    uint32_t voters; /* of these */
    uint32_t busy;   /* nodes that cannot be sent to */
    bool is_without_randomness;
    bool is_late;      /* it is not known yet what to ask for */
    uint64_t place;    /* to ask with */
    uint32_t lease_ms; /* that it is passed for; 0: it asks */
    /* the requests to the driver */
    uint32_t sent[RL_CALL_KINDS]; /* successfully */
    uint32_t refused[RL_CALL_KINDS];
    uint32_t pending_releases;
    uint32_t announced; /* by fan_out, and not sent yet */
    enum rl_result results[RL_OPS];
    enum rl_result lost, renewed;
    uint32_t steps;
    uint32_t attempt_up, attempt_voters; /* of the last attempt, as it was done */
    bool told;
    char order[64]; /* one letter for each thing, see note() */
};

static inline struct scene *scene_of(struct rl_lock *lock) {
    return (struct scene *)(void *)lock; /* its first member */
}

static inline void note(struct scene *s, char letter) {
    size_t length = strlen(s->order);
    if (length + 1 < sizeof s->order && (length == 0 || s->order[length - 1] != letter)) {
        s->order[length] = letter;
        s->order[length + 1] = '\0';
    }
}

/* -- The driver -- */

static inline uint64_t oldest_ns(struct rl_lock *lock, uint32_t node) {
    return scene_of(lock)->oldest_ns[node];
}

static inline void stepped(struct rl_lock *lock, const struct rl_event *event,
                           const struct rl_actions *actions) {
    (void)actions;
    scene_of(lock)->steps++;
    if (event->type == RL_EV_ATTEMPT) {
        scene_of(lock)->attempt_up = event->up;
        scene_of(lock)->attempt_voters = event->voters;
    }
}

static inline void fan_out(struct rl_lock *lock, enum rl_call_kind kind, uint32_t round,
                           uint32_t nodes) {
    struct scene *s = scene_of(lock);
    assert_int_equal(s->announced, 0); /* the one before is out */
    assert_true(nodes != 0);
    assert_true(round == 0 || round == lock->round.id);
    s->announced = nodes;
    note(s, "STRXPU"[kind]);
}

static inline int16_t send_one(struct rl_lock *lock, enum rl_call_kind kind, uint32_t round,
                               uint32_t node) {
    struct scene *s = scene_of(lock);
    (void)round;
    assert_true(s->announced & BIT(node));
    assert_true(s->up & BIT(node));
    s->announced &= ~BIT(node);
    if (s->busy & BIT(node)) {
        s->refused[kind] |= BIT(node);
        return BUSY_REASON;
    }
    assert_int_equal(s->sent[kind] & BIT(node), 0);
    s->sent[kind] |= BIT(node);
    return 0;
}

static inline void owe(struct rl_lock *lock, uint32_t node) {
    struct scene *s = scene_of(lock);
    assert_int_equal(s->pending_releases & BIT(node), 0);
    s->pending_releases |= BIT(node);
    note(s, 'o');
}

static inline void ended(struct rl_lock *lock, enum rl_op_kind op, enum rl_result result) {
    struct scene *s = scene_of(lock);
    assert_int_equal(s->results[op], RL_RESULT_NONE);
    s->results[op] = result;
    note(s, "aer"[op]);
}

static inline void renewed(struct rl_lock *lock, enum rl_result result) {
    scene_of(lock)->renewed = result;
    note(scene_of(lock), 'w');
}

static inline void lost(struct rl_lock *lock, enum rl_result why) {
    scene_of(lock)->lost = why;
    note(scene_of(lock), 'l');
}

static inline void tell(struct rl_lock *lock) {
    scene_of(lock)->told = true;
    note(scene_of(lock), 't');
}

static inline enum rl_token generate_token(struct rl_lock *lock, char token[RL_TOKEN_LEN],
                                           struct rl_event *attempt) {
    attempt->floor = WALL_US;
    attempt->place = scene_of(lock)->place;
    attempt->lease_ms = scene_of(lock)->lease_ms;
    note(scene_of(lock), 'd');
    memset(token, '7', RL_TOKEN_LEN);
    return scene_of(lock)->is_late                 ? RL_TOKEN_LATER
           : scene_of(lock)->is_without_randomness ? RL_TOKEN_FAILED
                                                   : RL_TOKEN_GIVEN;
}

static inline void token_failed(struct rl_lock *lock) {
    note(scene_of(lock), 'n');
}

static inline void feed(struct rl_lock *lock, struct rl_event *event);

static const struct rl_driver driver = {
    .oldest_ns = oldest_ns,
    .stepped = stepped,
    .fan_out = fan_out,
    .send = send_one,
    .owe = owe,
    .ended = ended,
    .renewed = renewed,
    .lost = lost,
    .tell = tell,
    .generate_token = generate_token,
    .token_failed = token_failed,
    .feed = feed,
};

static inline bool drive(struct scene *s, struct rl_event *event) {
    event->now_ns = s->now_ns;
    event->random = 1;
    event->up = s->up;
    event->voters = s->up & s->voters;
    event->reasons = s->reasons;
    event->duplicates = NULL;
    bool late = rl_drive(&s->lock, event, &driver);
    assert_ptr_equal(event->reasons, s->reasons); /* nothing that ends with the call is left */
    return late;
}

static inline void feed(struct rl_lock *lock, struct rl_event *event) {
    assert_int_equal(scene_of(lock)->announced, 0);
    drive(scene_of(lock), event);
}

/* -- Scenes -- */

static inline void begin(struct scene *s, uint32_t n) {
    *s = (struct scene){.now_ns = NOW_NS, .up = rl_all_nodes(n), .voters = rl_all_nodes(n)};
    s->rules = (struct rl_rules){.electorate = rl_electorate_of(n),
                                 .drift_ppm = 10000,
                                 .node_timeout_ns = TIMEOUT_NS,
                                 .lost_margin_ns = 2 * MS,
                                 .not_asked_reason = NOT_ASKED_REASON,
                                 .timeout_reason = TIMEOUT_REASON};
    for (uint32_t i = 0; i < N_MAX; i++) {
        s->oldest_ns[i] = RL_NEVER;
        s->reasons[i] = DOWN_REASON;
    }
    rl_lock_init(&s->lock, &s->rules, s->ballots);
}

static inline void forget(struct scene *s) {
    memset(s->sent, 0, sizeof s->sent);
    memset(s->refused, 0, sizeof s->refused);
    memset(s->results, 0, sizeof s->results);
    memset(s->order, 0, sizeof s->order);
    s->pending_releases = s->steps = 0;
}

static inline void feed_simple(struct scene *s, enum rl_event_type type) {
    struct rl_event event = {.type = type};
    drive(s, &event);
}

static inline void acquire_so(struct scene *s, uint32_t tries, bool fences) {
    struct rl_event event = {.type = RL_EV_ACQUIRE};
    event.u.acquire = (struct rl_acquire){
        .ttl_ms = 1000, .tries = tries, .wait_ms = RL_NO_LIMIT, .renew_ms = 300, .fences = fences};
    drive(s, &event);
}

static inline void acquire(struct scene *s) {
    acquire_so(s, 1, false);
}

/* The outcome of what node was sent in the present round. The counter of a fenced SET is 50
 * plus the number of the node. */
static inline bool answer(struct scene *s, uint32_t node, enum rl_call_kind kind,
                          enum rl_outcome outcome) {
    struct rl_call sent;
    struct rl_event event;
    rl_call_init(&sent, &s->lock, kind, s->lock.round.id);
    assert_true(rl_call_vote(&sent, node, outcome, DOWN_REASON, 50 + node, &event));
    return drive(s, &event);
}

/* Held with a key on each of these nodes; the others have refused. */
static inline void hold(struct scene *s, uint32_t n, uint32_t keys) {
    begin(s, n);
    acquire(s);
    for (uint32_t i = 0; i < n; i++) {
        answer(s, i, RL_CALL_SET, keys & BIT(i) ? RL_OUTCOME_YES : RL_OUTCOME_NO);
    }
    assert_true(s->told);
    feed_simple(s, RL_EV_TELL);
    assert_int_equal(s->lock.state, RL_HELD);
    assert_int_equal(s->lock.may_hold, keys);
    forget(s);
}

static inline uint32_t count(uint32_t mask) {
    uint32_t bits = 0;
    for (; mask != 0; mask &= mask - 1) {
        bits++;
    }
    return bits;
}

#endif
