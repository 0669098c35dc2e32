/* Clients that do not name the same nodes. No client can know of another one's list, so this is an
 * assumption of Safety (docs/guarantees.md): with two nodes more two hold one lock, which is shown
 * here on real nodes; with one node more they do not, so lists are changed node by node
 * (docs/operations.md). Which lists exclude each other, in all cases: unit/core_quorum. */
#include "live/live.h"

/* A client of the first n nodes. */
static redlock_client *client_of(struct live *live, size_t n) {
    redlock_client *client = NULL;
    redlock_client_options options = live_options(live);
    options.n_nodes = n;
    LIVE_STATUS(live_open(live, &options, &client), 0);
    return client;
}

/* One client names the first three nodes, and has its lock on two of them, while the third is down;
 * it comes back, and a client of the first n wants the lock. Nothing has been forgotten. */
static int second_of(struct live *live, size_t n) {
    redlock_acquire_options once = live_once(10000);
    redlock_client *three = client_of(live, 3), *other = NULL;
    redlock_lock *first = live_lock(three, "key");
    live_kill(live, 2);
    LIVE_STATUS(live_acquire(live, first, &once), 0);
    live_restart(live, 2);
    other = client_of(live, n);
    LIVE_POLL(live, live_up(other) == n);
    redlock_lock *second = live_lock(other, "key");
    int status = live_acquire(live, second, &once);
    assert_true(redlock_lock_is_valid(first));
    assert_int_equal(redlock_lock_is_valid(second), status == 0);
    live_close(live, three);
    live_close(live, other);
    return status;
}

static void three_and_five_both_hold(void **state) {
    struct live *live = *state;
    live_start(live, 5, NULL);
    LIVE_STATUS(second_of(live, 5), 0);
    live_end(live);
}

static void three_and_four_do_not(void **state) {
    struct live *live = *state;
    live_start(live, 5, NULL);
    LIVE_STATUS(second_of(live, 4), REDLOCK_ERR_HELD);
    live_end(live);
}

static void three_and_three_do_not(void **state) {
    struct live *live = *state;
    live_start(live, 5, NULL);
    LIVE_STATUS(second_of(live, 3), REDLOCK_ERR_HELD);
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST(three_and_five_both_hold),
        LIVE_TEST(three_and_four_do_not),
        LIVE_TEST(three_and_three_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
