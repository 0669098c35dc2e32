/* The cost of a thousand locks of one client that want one resource: each releases as soon as it is
 * granted, and acquires again when that is done, so that the line never ends.
 *
 * Bound: a hand-over is one SET and one release on each node, however many wait, and no two hold at
 * the same time. The speed, which depends on the machine, is printed. */

#include "cost/cost.h"

#define WAITERS 1000
#define HAND_OVERS 10000
#define COMMANDS_MAX 2.01 /* per node and hand-over */
#define TTL_MS 10000

struct line {
    redlock_acquire_options acquire;
    size_t holders;
    size_t grants;
    size_t out; /* operations */
};

static bool is_over(const struct line *line) {
    return line->grants >= HAND_OVERS;
}

static void granted_cb(redlock_lock *lock, int status, void *data);

static void ask(struct line *line, redlock_lock *lock) {
    LIVE_STATUS(redlock_acquire(lock, &line->acquire, granted_cb, line), 0);
    line->out++;
}

static void released_cb(redlock_lock *lock, int status, void *data) {
    struct line *line = data;
    LIVE_STATUS(status, 0);
    line->out--;
    if (!is_over(line)) {
        ask(line, lock);
    }
    live_wake();
}

static void granted_cb(redlock_lock *lock, int status, void *data) {
    struct line *line = data;
    LIVE_STATUS(status, 0);
    assert_int_equal(line->holders, 0);
    line->holders++;
    line->grants++;
    LIVE_STATUS(redlock_release(lock, released_cb, line), 0);
    line->holders--; /* before the release: the next lock may be notified before it is done */
}

static uint64_t commands(const struct live *live) {
    return live_node(live->client, 0).requests;
}

LIVE_TEST_FIVE(hand_over) {
    struct line line = {.acquire = REDLOCK_ACQUIRE_OPTIONS_INIT};
    static redlock_lock *locks[WAITERS];
    line.acquire.ttl_ms = TTL_MS;
    line.acquire.wait_ms = REDLOCK_NO_LIMIT;
    for (size_t i = 0; i < WAITERS; i++) {
        locks[i] = live_lock(live->client, "line");
        ask(&line, locks[i]);
    }
    uint64_t commands_before = commands(live);
    uint64_t start_ns = redlock_now_ns();
    double cpu_us = cost_cpu_us();
    LIVE_UNTIL(live, is_over(&line));
    double seconds = (double)(redlock_now_ns() - start_ns) / 1e9;
    cpu_us = cost_cpu_us() - cpu_us;
    double hand_overs = (double)line.grants;
    LIVE_UNTIL(live, line.out == 0 && live_is_quiet(live->client, 5));
    double per_hand_over = (double)(commands(live) - commands_before) / (double)line.grants;
    cost_show("hand-overs per second", hand_overs / seconds);
    cost_show("client CPU, us per hand-over", cpu_us / hand_overs);
    cost_show("commands per hand-over on a node", per_hand_over);
    assert_true(per_hand_over <= COMMANDS_MAX);
}
