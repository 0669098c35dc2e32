/* The wait for a request that is sent late begins with the sending: rl_lock_put_off(). The model of
 * lock_world.h knows nothing of it, so these drive the lock alone. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/lock.h"

#define MS UINT64_C(1000000)
#define TIMEOUT_NS (250 * MS)
#define START_NS (1000 * MS)
#define TTL_MS 10000
#define TOKEN "0123456789abcdef0123456789abcdef01234567"

struct late {
    struct rl_rules rules;
    struct rl_lock lock;
    struct rl_ballot ballots[3];
    struct rl_actions out;
};

static void step(struct late *l, struct rl_event event, uint64_t now_ns) {
    static const int16_t reasons[3] = {0};
    event.now_ns = now_ns;
    event.up = event.voters = 7;
    event.reasons = reasons;
    rl_lock_step(&l->lock, &event, &l->out);
}

static void vote(struct late *l, uint32_t node, uint64_t now_ns) {
    struct rl_event event = {.type = RL_EV_VOTE};
    event.u.vote =
        (struct rl_ballot_in){.round = l->lock.round.id, .node = node, .vote = RL_VOTE_GRANTED};
    step(l, event, now_ns);
}

static void attempt(struct late *l, uint32_t ttl_ms) {
    memset(l, 0, sizeof *l);
    l->rules = (struct rl_rules){.n = 3, .node_timeout_ns = TIMEOUT_NS};
    rl_lock_init(&l->lock, &l->rules, l->ballots, -1);
    struct rl_event acquire = {.type = RL_EV_ACQUIRE};
    acquire.u.acquire = (struct rl_acquire){
        .ttl_ms = ttl_ms, .tries = 1, .wait_ms = RL_NO_LIMIT, .min_validity_ms = 1};
    step(l, acquire, START_NS);
    step(l, (struct rl_event){.type = RL_EV_ATTEMPT, .u.token = TOKEN}, START_NS);
}

static void waits_from_the_sending(void **state) {
    struct late l;
    (void)state;
    attempt(&l, TTL_MS);
    assert_int_equal(rl_lock_wake_ns(&l.lock), START_NS + TIMEOUT_NS);
    rl_lock_put_off(&l.lock, START_NS, START_NS + 300 * MS);
    assert_int_equal(rl_lock_wake_ns(&l.lock), START_NS + 300 * MS + TIMEOUT_NS);
    step(&l, (struct rl_event){.type = RL_EV_TICK}, START_NS + 300 * MS + TIMEOUT_NS - 1);
    assert_int_equal(l.out.acquired, RL_RESULT_NONE);
    vote(&l, 0, START_NS + 600 * MS);
    vote(&l, 1, START_NS + 600 * MS);
    assert_true(l.out.tell);
    assert_int_equal(l.lock.valid_until_ns, START_NS + TTL_MS * MS); /* as if nothing had been */
}

/* Once, and not for what went out before. */
static void waits_no_longer(void **state) {
    struct late l;
    (void)state;
    attempt(&l, TTL_MS);
    rl_lock_put_off(&l.lock, START_NS, START_NS + 10 * MS);
    rl_lock_put_off(&l.lock, START_NS + 11 * MS, START_NS + 200 * MS);
    assert_int_equal(rl_lock_wake_ns(&l.lock), START_NS + 10 * MS + TIMEOUT_NS);
    step(&l, (struct rl_event){.type = RL_EV_TICK}, START_NS + 10 * MS + TIMEOUT_NS);
    assert_int_equal(l.out.acquired, RL_RESULT_NO_QUORUM);
    uint64_t wake_ns = rl_lock_wake_ns(&l.lock);
    rl_lock_put_off(&l.lock, 0, START_NS + 900 * MS);
    assert_int_equal(rl_lock_wake_ns(&l.lock), wake_ns);
}

/* An attempt is not waited for beyond what it can win. */
static void ends_with_the_validity(void **state) {
    struct late l;
    (void)state;
    attempt(&l, 400);
    rl_lock_put_off(&l.lock, START_NS, START_NS + 300 * MS);
    assert_int_equal(rl_lock_wake_ns(&l.lock), START_NS + 400 * MS);
    step(&l, (struct rl_event){.type = RL_EV_TICK}, START_NS + 400 * MS);
    assert_int_equal(l.out.acquired, RL_RESULT_NO_QUORUM);
}

/* Nor does a hold last longer because an extension is late. */
static void loses_in_time(void **state) {
    struct late l;
    (void)state;
    attempt(&l, 1000);
    vote(&l, 0, START_NS);
    vote(&l, 1, START_NS);
    step(&l, (struct rl_event){.type = RL_EV_TELL}, START_NS);
    step(&l, (struct rl_event){.type = RL_EV_EXTEND, .u.ttl_ms = 1000}, START_NS + 900 * MS);
    rl_lock_put_off(&l.lock, START_NS + 900 * MS, START_NS + 990 * MS);
    assert_int_equal(rl_lock_wake_ns(&l.lock), START_NS + 1000 * MS);
    assert_int_equal(rl_lock_lost_ns(&l.lock), START_NS + 1000 * MS);
    vote(&l, 0, START_NS + 999 * MS);
    vote(&l, 1, START_NS + 999 * MS);
    assert_int_equal(l.out.extended, RL_RESULT_OK);
    assert_int_equal(l.lock.valid_until_ns, START_NS + 1900 * MS);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_from_the_sending),
        cmocka_unit_test(waits_no_longer),
        cmocka_unit_test(ends_with_the_validity),
        cmocka_unit_test(loses_in_time),
    };
    return cmocka_run_group_tests_name("core_lock_put_off", tests, NULL, NULL);
}
