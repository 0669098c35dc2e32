/* What a step asks for, done by a driver that writes down what it is told: exhaustively over the
 * nodes that are up, silent, or cannot be sent to, for N = 1 to 5. */
#include "core/driver.h"

#include "marks.h"
#include "unit/check.h"

#define N_MAX 5u
#define NOW_NS (1000 * MS)
#define TIMEOUT_NS (50 * MS)
#define TIMEOUT_REASON (-43)
#define NOT_ASKED_REASON (-57)
#define BUSY_REASON (-9)
#define DOWN_REASON (-40)
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
    uint32_t busy; /* nodes that cannot be sent to */
    bool is_without_randomness;
    /* what the driver was told */
    uint32_t sent[RL_SENT_KINDS]; /* successfully */
    uint32_t refused[RL_SENT_KINDS];
    uint32_t owed;
    uint32_t announced; /* by fan_out, and not sent yet */
    enum rl_result results[RL_OPS];
    enum rl_result lost, renewed;
    uint32_t steps;
    bool told;
    char order[64]; /* one letter for each thing, see note() */
};

static struct scene *scene_of(struct rl_lock *lock) {
    return (struct scene *)(void *)lock; /* its first member */
}

static void note(struct scene *s, char letter) {
    size_t length = strlen(s->order);
    if (length + 1 < sizeof s->order && (length == 0 || s->order[length - 1] != letter)) {
        s->order[length] = letter;
        s->order[length + 1] = '\0';
    }
}

/* -- The driver -- */

static uint64_t oldest_ns(struct rl_lock *lock, uint32_t node) {
    return scene_of(lock)->oldest_ns[node];
}

static void stepped(struct rl_lock *lock, const struct rl_event *event,
                    const struct rl_actions *actions) {
    (void)event;
    (void)actions;
    scene_of(lock)->steps++;
}

static void fan_out(struct rl_lock *lock, enum rl_sent_kind kind, uint32_t round, uint32_t nodes) {
    struct scene *s = scene_of(lock);
    assert_int_equal(s->announced, 0); /* the one before is out */
    assert_true(nodes != 0);
    assert_true(round == 0 || round == lock->round.id);
    s->announced = nodes;
    note(s, "SRXU"[kind]);
}

static int16_t send_one(struct rl_lock *lock, enum rl_sent_kind kind, uint32_t round,
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

static void owe(struct rl_lock *lock, uint32_t node) {
    struct scene *s = scene_of(lock);
    assert_int_equal(s->owed & BIT(node), 0);
    s->owed |= BIT(node);
    note(s, 'o');
}

static void ended(struct rl_lock *lock, enum rl_op_kind op, enum rl_result result) {
    struct scene *s = scene_of(lock);
    assert_int_equal(s->results[op], RL_RESULT_NONE);
    s->results[op] = result;
    note(s, "aer"[op]);
}

static void renewed(struct rl_lock *lock, enum rl_result result) {
    scene_of(lock)->renewed = result;
    note(scene_of(lock), 'w');
}

static void lost(struct rl_lock *lock, enum rl_result why) {
    scene_of(lock)->lost = why;
    note(scene_of(lock), 'l');
}

static void tell(struct rl_lock *lock) {
    scene_of(lock)->told = true;
    note(scene_of(lock), 't');
}

static bool draw(struct rl_lock *lock, char token[RL_TOKEN_LEN], uint64_t *wall_us) {
    *wall_us = 0;
    note(scene_of(lock), 'd');
    memset(token, '7', RL_TOKEN_LEN);
    return !scene_of(lock)->is_without_randomness;
}

static void undrawn(struct rl_lock *lock) {
    note(scene_of(lock), 'n');
}

static void feed(struct rl_lock *lock, struct rl_event *event);

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
    .draw = draw,
    .undrawn = undrawn,
    .feed = feed,
};

static bool drive(struct scene *s, struct rl_event *event) {
    event->now_ns = s->now_ns;
    event->random = 1;
    event->up = s->up;
    event->voters = s->up;
    event->reasons = s->reasons;
    bool late = rl_drive(&s->lock, event, &driver);
    assert_ptr_equal(event->reasons, s->reasons); /* nothing that ends with the call is left */
    return late;
}

static void feed(struct rl_lock *lock, struct rl_event *event) {
    assert_int_equal(scene_of(lock)->announced, 0);
    drive(scene_of(lock), event);
}

/* -- Scenes -- */

static void begin(struct scene *s, uint32_t n) {
    *s = (struct scene){.now_ns = NOW_NS, .up = rl_all_nodes(n)};
    s->rules = (struct rl_rules){.n = n,
                                 .drift_ppm = 10000,
                                 .node_timeout_ns = TIMEOUT_NS,
                                 .lost_margin_ns = 2 * MS,
                                 .not_asked_reason = NOT_ASKED_REASON};
    for (uint32_t i = 0; i < N_MAX; i++) {
        s->oldest_ns[i] = RL_NEVER;
        s->reasons[i] = DOWN_REASON;
    }
    rl_lock_init(&s->lock, &s->rules, s->ballots, TIMEOUT_REASON, 0);
}

static void forget(struct scene *s) {
    memset(s->sent, 0, sizeof s->sent);
    memset(s->refused, 0, sizeof s->refused);
    memset(s->results, 0, sizeof s->results);
    memset(s->order, 0, sizeof s->order);
    s->owed = s->steps = 0;
}

static void feed_simple(struct scene *s, enum rl_event_type type) {
    struct rl_event event = {.type = type};
    drive(s, &event);
}

static void acquire(struct scene *s) {
    struct rl_event event = {.type = RL_EV_ACQUIRE};
    event.u.acquire =
        (struct rl_acquire){.ttl_ms = 1000, .tries = 1, .wait_ms = RL_NO_LIMIT, .renew_ms = 300};
    drive(s, &event);
}

/* The outcome of what node was sent in the present round. */
static bool answer(struct scene *s, uint32_t node, enum rl_sent_kind kind,
                   enum rl_outcome outcome) {
    struct rl_sent sent;
    struct rl_event event;
    rl_sent_init(&sent, &s->lock, kind, s->lock.round.id);
    assert_true(rl_sent_vote(&sent, node, outcome, DOWN_REASON, 0, &event));
    return drive(s, &event);
}

/* Held with a key on each of these nodes; the others have refused. */
static void hold(struct scene *s, uint32_t n, uint32_t keys) {
    begin(s, n);
    acquire(s);
    for (uint32_t i = 0; i < n; i++) {
        answer(s, i, RL_SENT_SET, keys & BIT(i) ? RL_OUTCOME_YES : RL_OUTCOME_NO);
    }
    assert_true(s->told);
    feed_simple(s, RL_EV_TELL);
    assert_int_equal(s->lock.state, RL_HELD);
    assert_int_equal(s->lock.may_hold, keys);
    forget(s);
}

static uint32_t count(uint32_t mask) {
    uint32_t bits = 0;
    for (; mask != 0; mask &= mask - 1) {
        bits++;
    }
    return bits;
}

/* -- Tests -- */

/* A node that cannot be sent to has failed at once, with the driver's reason, and nobody waits. */
static void fails_votes_that_cannot_be_sent(void **state) {
    (void)state;
    for (uint32_t n = 1; n <= N_MAX; n++) {
        const uint32_t all = rl_all_nodes(n);
        for (uint32_t busy = 0; busy <= all; busy++) {
            struct scene s;
            begin(&s, n);
            s.busy = busy;
            acquire(&s);
            assert_int_equal(s.sent[RL_SENT_SET], all & ~busy);
            for (uint32_t i = 0; i < n; i++) {
                if (busy & BIT(i)) {
                    assert_int_equal(s.ballots[i].vote, RL_VOTE_FAILED);
                    assert_int_equal(s.ballots[i].reason, BUSY_REASON);
                }
            }
            bool open = n - count(busy) >= rl_quorum(n);
            assert_int_equal(s.lock.state, open ? RL_TRYING : RL_IDLE);
            assert_int_equal(s.results[RL_OP_ACQUIRE], open ? RL_RESULT_NONE : RL_RESULT_NO_QUORUM);
            assert_string_equal(s.order, open ? "dS" : "dSUa");
            assert_int_equal(s.owed, 0); /* a SET that was not sent left nothing behind */
        }
    }
}

/* Owed are the nodes that may have the key and could not be told, and no others: by any way out. */
static void owes_where_the_key_may_be(void **state) {
    (void)state;
    static const enum rl_event_type ways[] = {RL_EV_RELEASE, RL_EV_ABANDON};
    for (uint32_t n = 1; n <= N_MAX; n++) {
        const uint32_t all = rl_all_nodes(n);
        for (uint32_t mix = 0; mix <= all; mix++) {
            for (uint32_t down = 0; down <= all && count(mix) >= rl_quorum(n); down++) {
                for (uint32_t busy = 0; busy <= all; busy++) {
                    for (size_t way = 0; way < COUNT(ways); way++) {
                        struct scene s;
                        hold(&s, n, mix);
                        s.up = all & ~down;
                        s.busy = busy;
                        feed_simple(&s, ways[way]);
                        assert_int_equal(s.sent[RL_SENT_RELEASE], s.up & ~busy);
                        assert_int_equal(s.owed, mix & (down | busy));
                    }
                }
            }
        }
    }
}

/* At the very moment at which a vote would be given up, the node still counts as answering. */
static void leaves_out_the_silent(void **state) {
    (void)state;
    MARK_FROM(SILENT_LEFT_OUT);
    const uint64_t ages_ns[] = {0, TIMEOUT_NS - 1, TIMEOUT_NS, TIMEOUT_NS + 1, 20 * TIMEOUT_NS};
    for (uint32_t n = 1; n <= N_MAX; n++) {
        for (size_t age = 0; age < COUNT(ages_ns); age++) {
            for (uint32_t silent = 0; silent <= rl_all_nodes(n); silent++) {
                struct scene s;
                begin(&s, n);
                for (uint32_t i = 0; i < n; i++) {
                    s.oldest_ns[i] = silent & BIT(i) ? NOW_NS - ages_ns[age] : RL_NEVER;
                }
                uint32_t out = ages_ns[age] > TIMEOUT_NS ? silent : 0;
                acquire(&s);
                bool asks = n - count(out) >= rl_quorum(n);
                assert_int_equal(s.sent[RL_SENT_SET], asks ? rl_all_nodes(n) & ~out : 0);
                for (uint32_t i = 0; i < n; i++) {
                    bool is_out = out & BIT(i);
                    assert_int_equal(s.ballots[i].reason == TIMEOUT_REASON, is_out);
                }
            }
        }
    }
    MARK_TO(SILENT_LEFT_OUT);
}

static void knows_who_is_silent(void **state) {
    (void)state;
    const struct rl_rules rules = {.n = 3, .node_timeout_ns = TIMEOUT_NS};
    assert_false(rl_is_silent(&rules, RL_NEVER, UINT64_MAX - 1));
    assert_false(rl_is_silent(&rules, NOW_NS, NOW_NS));
    assert_false(rl_is_silent(&rules, NOW_NS, NOW_NS + TIMEOUT_NS));
    assert_true(rl_is_silent(&rules, NOW_NS, NOW_NS + TIMEOUT_NS + 1));
}

/* An extension may still be answered in time; a release has to reach every node. */
static void asks_the_silent_for_what_is_held(void **state) {
    (void)state;
    static const enum rl_event_type types[] = {RL_EV_EXTEND, RL_EV_RELEASE, RL_EV_ABANDON};
    static const enum rl_sent_kind kinds[] = {RL_SENT_EXTEND, RL_SENT_RELEASE, RL_SENT_RELEASE};
    for (size_t i = 0; i < COUNT(types); i++) {
        struct scene s;
        hold(&s, 3, 7);
        s.oldest_ns[0] = s.oldest_ns[1] = s.oldest_ns[2] = 0;
        feed_simple(&s, types[i]);
        assert_int_equal(s.sent[kinds[i]], 7);
    }
}

static void needs_a_token(void **state) {
    (void)state;
    struct scene s;
    begin(&s, 3);
    s.is_without_randomness = true;
    acquire(&s);
    assert_string_equal(s.order, "dan");
    assert_int_equal(s.results[RL_OP_ACQUIRE], RL_RESULT_CANCELED);
    assert_int_equal(s.lock.state, RL_IDLE);
}

/* Releases and debts, then the ends of operations, then the loss. */
static void keeps_the_order(void **state) {
    (void)state;
    struct scene s;
    hold(&s, 3, 7);
    feed_simple(&s, RL_EV_EXTEND);
    s.up = 3;
    s.now_ns += 2000 * MS;
    feed_simple(&s, RL_EV_TICK);
    assert_string_equal(s.order, "XUoel");
    assert_int_equal(s.results[RL_OP_EXTEND], RL_RESULT_EXPIRED);
    assert_int_equal(s.lost, RL_RESULT_EXPIRED);
    forget(&s);
    feed_simple(&s, RL_EV_RELEASE);
    assert_string_equal(s.order, "r");
    assert_int_equal(s.results[RL_OP_RELEASE], RL_RESULT_LOST);
}

/* The watchdog's extension finds the key gone from one node, which is given it back. */
static void repairs_after_a_renewal(void **state) {
    (void)state;
    struct scene s;
    hold(&s, 3, 7);
    s.now_ns = s.lock.renew_ns;
    feed_simple(&s, RL_EV_TICK);
    assert_int_equal(s.sent[RL_SENT_EXTEND], 7);
    assert_false(answer(&s, 2, RL_SENT_EXTEND, RL_OUTCOME_NO));
    assert_false(answer(&s, 0, RL_SENT_EXTEND, RL_OUTCOME_YES));
    assert_false(answer(&s, 1, RL_SENT_EXTEND, RL_OUTCOME_YES));
    assert_string_equal(s.order, "XwS");
    assert_int_equal(s.renewed, RL_RESULT_OK);
    assert_int_equal(s.sent[RL_SENT_SET], 4);
    assert_true(answer(&s, 2, RL_SENT_EXTEND, RL_OUTCOME_YES)); /* it has voted already */
}

/* The last vote that cannot be sent ends an extension, and nothing is set or released for that. */
static void ends_an_extension_that_cannot_be_sent(void **state) {
    (void)state;
    struct scene s;
    hold(&s, 5, 31);
    s.busy = 7;
    feed_simple(&s, RL_EV_EXTEND);
    assert_string_equal(s.order, "Xe");
    assert_int_equal(s.results[RL_OP_EXTEND], RL_RESULT_UNKNOWN);
    assert_int_equal(s.lock.state, RL_HELD);
    assert_int_equal(s.steps, 4); /* the extension and three failed votes */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fails_votes_that_cannot_be_sent),
        cmocka_unit_test(owes_where_the_key_may_be),
        cmocka_unit_test(leaves_out_the_silent),
        cmocka_unit_test(knows_who_is_silent),
        cmocka_unit_test(asks_the_silent_for_what_is_held),
        cmocka_unit_test(needs_a_token),
        cmocka_unit_test(keeps_the_order),
        cmocka_unit_test(repairs_after_a_renewal),
        cmocka_unit_test(ends_an_extension_that_cannot_be_sent),
    };
    return cmocka_run_group_tests_name("core_driver", tests, NULL, NULL);
}
