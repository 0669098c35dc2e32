/* The heir of a line: when it asks, and when it tries the votes without a turn. */
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

static struct rl_line_actions answered(uint32_t rank) {
    return feed((struct rl_line_event){
        .type = RL_LINE_EV_ANSWER,
        .u.answer = {.place = PLACE, .said = RL_LINE_SAID_NO, .rank = rank, .life_ms = LIFE_MS}});
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

/* Home's key may be somebody's left-over while a quorum is free. */
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

/* "heir" is said with every hand-over, at the moment in which the client whose turn it is asks the
 * nodes. Whoever tried the votes then, because it has asked often enough, would be before it on the
 * nodes where keys are reserved for nobody. */
static void lets_the_one_before_it_take(void **state) {
    (void)state;
    begin();
    answered(0); /* for a moment: one that has waited longer comes */
    wait_as_heir();
    be_refused();
    assert_true(line.asks >= 3);
    struct rl_line_actions out =
        feed((struct rl_line_event){.type = RL_LINE_EV_HEIR, .u.place = PLACE});
    assert_false(out.turn || out.join);
    assert_int_equal(line.state, RL_LINE_WAITING);
    assert_true(rl_line_wake_ns(&line) == now_ns + RL_LINE_GRACE_NS);
    wait_as_heir(); /* it is still held, by a key that may be a left-over */
    assert_true(now_ns <= rl_line_wake_ns(&line));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tries_when_it_has_asked_in_vain),
        cmocka_unit_test(lets_the_one_before_it_take),
    };
    return cmocka_run_group_tests_name("core_line_heir", tests, NULL, NULL);
}
