/* The heir of a line: when it asks, and when it tries the votes without a turn; and what keeps
 * others from overtaking: the knowledge of waiting clients. */
#include "core/line.h"

#include "core/deadline.h"
#include "unit/check.h"

#define PLACE UINT64_C(7)
#define TIMEOUT_MS 250u
#define IDLE_MS 30000u
#define LIFE_MS 20000u

static uint64_t now_ns;
static struct rl_line line;

static struct rl_line_actions feed(struct rl_line_event event) {
    static const uint64_t hashes[] = {5};
    struct rl_line_actions out;
    event.now_ns = now_ns;
    event.new_place = PLACE;
    event.timeout_ns = TIMEOUT_MS * RL_NS_PER_MS;
    event.idle_ns = IDLE_MS * RL_NS_PER_MS;
    event.node_hashes = hashes;
    event.homes = event.heard = 1;
    rl_line_step(&line, &event, &out);
    return out;
}

static struct rl_line_actions answered_life(uint32_t rank, uint64_t life_ms) {
    return feed((struct rl_line_event){
        .type = RL_LINE_EV_ANSWER,
        .u.answer = {.place = PLACE, .said = RL_LINE_SAID_NO, .rank = rank, .life_ms = life_ms}});
}

static struct rl_line_actions answered(uint32_t rank) {
    return answered_life(rank, LIFE_MS);
}

static void begin(void) {
    line = (struct rl_line){0};
    now_ns = 1000 * RL_NS_PER_MS;
    struct rl_line_actions out =
        feed((struct rl_line_event){.type = RL_LINE_EV_WANT, .u.since_ns = now_ns});
    assert_true(out.join);
}

/* Until it wants something; it is answered that it is the heir of a key that others hold. */
static struct rl_line_actions wait_as_heir(void) {
    for (;;) {
        now_ns = rl_line_wake_ns(&line);
        struct rl_line_actions out = feed((struct rl_line_event){.type = RL_LINE_EV_TICK});
        assert_true(out.join);
        out = answered(0);
        if (out.turn) {
            return out;
        }
    }
}

/* A turn that is not one: refused, as long as another client holds the lock. */
static void be_refused(void) {
    feed((struct rl_line_event){.type = RL_LINE_EV_TAKE});
    struct rl_line_actions out =
        feed((struct rl_line_event){.type = RL_LINE_EV_REFUSED, .u.life_ms = LIFE_MS});
    assert_false(out.leave || out.turn);
}

/* Home's key may be a left-over while a quorum is free. */
static void tries_when_it_has_asked_in_vain(void **state) {
    (void)state;
    begin();
    uint64_t began_ns = now_ns;
    answered(0);
    wait_as_heir();
    assert_true(now_ns - began_ns >= RL_LINE_GRACE_NS);
    assert_true(now_ns - began_ns <= 4 * RL_LINE_GRACE_NS);
    be_refused();
    began_ns = now_ns;
    wait_as_heir();
    assert_true(now_ns - began_ns >= RL_LINE_GRACE_NS);
}

/* "heir" is sent with every hand-over, when the client with the turn asks the nodes. An heir that
 * tried the votes then, because it has asked often enough, would be ahead of it on the nodes
 * without reservations. */
static void lets_the_one_before_it_take(void **state) {
    (void)state;
    begin();
    answered(0); /* for a moment: one that has waited longer comes */
    wait_as_heir();
    be_refused();
    assert_true(line.asks > 0); /* two more of them, and it would try */
    struct rl_line_actions out =
        feed((struct rl_line_event){.type = RL_LINE_EV_HEIR, .u.place = PLACE});
    assert_false(out.turn || out.join);
    assert_int_equal(line.state, RL_LINE_WAITING);
    assert_true(rl_line_wake_ns(&line) == now_ns + RL_LINE_GRACE_NS);
    wait_as_heir(); /* it is still held, by a key that may be a left-over */
    assert_true(now_ns <= rl_line_wake_ns(&line));
}

/* Home's key may be reserved, for a client that got its turn and was refused elsewhere: it tries
 * again within a pause, so that a key that lives longer is a token. But it may be reserved forever,
 * if home's clock is frozen. */
static void lets_the_one_that_pauses_take(void **state) {
    (void)state;
    enum { turn_ms = (RL_LINE_PAUSE_NS_MAX + RL_LINE_GRACE_NS) / RL_NS_PER_MS };
    static const struct {
        uint32_t rank, asks, again; /* how often it asks until it tries, and once more */
        uint64_t life_ms;
    } cases[] = {{0, 12, 8, 1},         {0, 12, 8, turn_ms}, {0, 3, 2, turn_ms + 1},
                 {1, 3, 2, turn_ms},    {2, 4, 4, turn_ms},  {1, 3, 2, turn_ms + 1},
                 {2, 4, 4, turn_ms + 1}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        begin();
        for (uint32_t round = 0; round < 3; round++) {
            uint32_t asks = round == 0 ? cases[i].asks : cases[i].again;
            for (uint32_t at = 1; at <= asks; at++) {
                struct rl_line_actions out = answered_life(cases[i].rank, cases[i].life_ms);
                assert_int_equal(out.turn, at == asks);
                if (out.turn) {
                    be_refused();
                }
                now_ns = rl_line_wake_ns(&line);
                out = feed((struct rl_line_event){.type = RL_LINE_EV_TICK});
                assert_true(out.join);
            }
        }
    }
}

/* A lock that gives up has seen others wait. That is no sign that they still do. */
static void remembers_that_it_waited(void **state) {
    static const enum rl_line_event_type ends[] = {RL_LINE_EV_UNWANT, RL_LINE_EV_FAILED};
    (void)state;
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        begin();
        assert_false(rl_line_is_likely_busy(&line, now_ns));
        feed((struct rl_line_event){.type = ends[i]});
        assert_true(rl_line_is_likely_busy(&line, now_ns + RL_LINE_BUSY_NS - 1));
        assert_false(rl_line_is_likely_busy(&line, now_ns + RL_LINE_BUSY_NS));
        assert_false(rl_line_is_busy(&line, now_ns));
    }
    line = (struct rl_line){0};
    feed((struct rl_line_event){.type = RL_LINE_EV_UNWANT});
    assert_false(rl_line_is_likely_busy(&line, now_ns));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_when_it_has_asked_in_vain),
        cmocka_unit_test(lets_the_one_before_it_take),
        cmocka_unit_test(lets_the_one_that_pauses_take),
        cmocka_unit_test(remembers_that_it_waited),
    };
    return cmocka_run_group_tests_name("core_line_heir", tests, NULL, NULL);
}
