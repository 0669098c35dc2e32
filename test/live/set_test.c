/* The configuration of a set, on real servers: clients of different lists exclude each other, and
 * follow a change of all nodes under a held lock.
 *
 * $REDLOCK_SET_TRIES: how often clients of different lists try, instead of a few times. */

#include "live/held.h"
#include "live/set_scene.h"

#define TRIES 24

/* -- Different lists -- */

/* Tries with both clients at once, or with one after the other. */
static unsigned contend(struct live *live, redlock_lock *const locks[2], unsigned order) {
    const unsigned first = order & 1;
    struct live_done done[2] = {{0}};
    const redlock_acquire_options once = live_once(30000);
    for (unsigned i = 0; i < 2; i++) {
        LIVE_STATUS(redlock_acquire(locks[first ^ i], &once, live_lock_cb, &done[i]), 0);
        if ((order & 2) != 0) {
            LIVE_UNTIL(live, done[i].count == 1);
        }
    }
    LIVE_UNTIL(live, done[0].count == 1 && done[1].count == 1);
    return (unsigned)(done[0].status == 0) + (done[1].status == 0);
}

static void end_both(struct live *live, redlock_client *const *clients,
                     redlock_lock *const *locks) {
    for (unsigned i = 0; i < 2; i++) {
        redlock_lock_free(locks[i]);
        live_close(live, clients[i]);
    }
}

static void one_try(struct live *live, unsigned number) {
    const struct set set = {ID, number + 1, 0, 0x1f, 0};
    uint32_t lists[2] = {1 + number * 7 % 31, 1 + number * 11 % 31};
    const unsigned order = number % 8;
    redlock_client *clients[2];
    redlock_lock *locks[2];
    char name[16]; /* another each time: what was released may be reserved for a moment */
    snprintf(name, sizeof name, "r%u", number);
    if ((order & 4) == 0) {
        write_all(live, &set); /* in half of the tries only while one of them is open */
    }
    for (unsigned i = 0; i < 2; i++) {
        clients[i] = open_part(live, lists[i], NULL, 0);
        locks[i] = live_lock(clients[i], name);
        if (i == 0 && (order & 4) != 0) {
            write_all(live, &set);
        }
    }
    LIVE_UNTIL(live, live_stats(clients[0]).nodes_voting == 5);
    LIVE_UNTIL(live, live_stats(clients[1]).nodes_voting == 5);
    const unsigned granted = contend(live, locks, order);
    assert_true(granted <= 1 && (granted == 1 || (order & 2) == 0));
    end_both(live, clients, locks);
}

LIVE_TEST(clients_of_different_lists_exclude_each_other) {
    const char *tries = getenv("REDLOCK_SET_TRIES");
    live_start(live, 5, NULL);
    write_all(live, &(struct set){ID, 1, 0, 0x1f, 0});
    for (unsigned i = 1; i <= (tries != NULL ? strtoul(tries, NULL, 10) : TRIES); i++) {
        one_try(live, i);
    }
}

/* What it is about: without a configuration, both would hold. */
LIVE_TEST(without_one_they_do_not) {
    live_start(live, 5, NULL);
    redlock_client *clients[] = {open_part(live, 0x07, NULL, 0), open_part(live, 0x18, NULL, 0)};
    redlock_lock *const locks[] = {live_lock(clients[0], "r"), live_lock(clients[1], "r")};
    assert_int_equal(contend(live, locks, 2), 2);
    end_both(live, clients, locks);
}

/* -- A change of all nodes -- */

/* The client has adopted it, and has renewed the hold since. */
static void await_adopted(struct held *held, const struct set *set) {
    struct live *live = held->live;
    uint64_t n = 0;
    for (size_t i = 0; i < live->n; i++) {
        n += is_in(set->old | set->nodes, i);
    }
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    LIVE_UNTIL(live, redlock_client_node(live->client, (size_t)n, &info) != 0 &&
                         redlock_client_node(live->client, (size_t)n - 1, &info) == 0 &&
                         live_stats(live->client).nodes_voting == n);
    held->renewed = 0;
    LIVE_UNTIL(live, held->renewed >= 2 || held->lost.count > 0);
    assert_int_equal(held->lost.count, 0);
}

/* In the middle of the change a second client begins with an old node, and waits in line. */
LIVE_TEST(three_of_three_are_replaced_under_a_hold) {
    const struct set sets[] = {{ID, 1, 0, 0x07, 0}, {ID, 2, 0x07, 0x38, 0}, {ID, 3, 0, 0x38, 0}};
    struct held held = {0};
    struct live_done granted = {0};
    redlock_acquire_options patient = live_patient(HOLD_MS);
    live_start(live, 6, NULL);
    patient.fencing = 1;
    write_all(live, &sets[0]);
    live->client = open_part(live, 0x07, NULL, 0);
    hold(live, &held, "r");
    await_adopted(&held, &sets[0]);
    redlock_client *other = open_part(live, 0x02, NULL, 0);
    redlock_lock *waiter = live_lock(other, "r");
    LIVE_STATUS(redlock_acquire(waiter, &patient, live_lock_cb, &granted), 0);
    write_all(live, &sets[1]);
    await_adopted(&held, &sets[1]);
    LIVE_POLL(live, live_count_keys(live, "r", redlock_lock_token(held.lock)) == 6);
    write_all(live, &sets[2]);
    await_adopted(&held, &sets[2]);
    check_message(CLIENT_MESSAGE(live->client), "3 of 3 nodes up");
    for (size_t i = 0; i < 3; i++) {
        check_message(live->urls[3 + i], live_node(live->client, i).node);
        live_kill(live, i);
    }
    held.renewed = 0;
    LIVE_UNTIL(live, held.renewed >= 3);
    assert_int_equal(held.lost.count, 0);
    assert_int_equal(granted.count, 0);
    const uint64_t fence = redlock_lock_fence(held.lock);
    LIVE_STATUS(live_release(live, held.lock), 0);
    LIVE_UNTIL(live, granted.count == 1);
    LIVE_STATUS(granted.status, 0);
    assert_true(redlock_lock_fence(waiter) > fence);
    redlock_lock_free(waiter);
    live_close(live, other);
    redlock_lock_free(held.lock);
}

static bool is_left(const struct live *live, uint32_t nodes) {
    bool is = true;
    for (size_t i = 0; i < live->n; i++) {
        redisReply *reply = live_ask(live, i, "CLIENT LIST");
        is = is && (!is_in(nodes, i) || strstr(reply->str, "name=redlock") == NULL);
        freeReplyObject(reply);
    }
    return is;
}

/* Nodes come and go until each of the client's places has been used again and again. */
LIVE_TEST(many_changes_in_a_row) {
    static const uint32_t masks[] = {0x07, 0x38, 0x15, 0x2a, 0x1c};
    struct held held = {0};
    struct set set = {ID, 1, 0, masks[0], 0};
    live_start(live, 6, NULL);
    write_all(live, &set);
    redlock_client_options options = live_options(live);
    options.n_nodes = 3;
    options.max_ttl_ms = 100; /* so long is a node kept that has left */
    LIVE_STATUS(live_open(live, &options, &live->client), 0);
    hold(live, &held, "r");
    for (unsigned i = 1; i <= 30; i++) {
        const uint32_t next = masks[i % COUNT(masks)];
        set = (struct set){ID, set.epoch + 1, set.nodes, next, 0};
        write_all(live, &set);
        await_adopted(&held, &set);
        set = (struct set){ID, set.epoch + 1, 0, next, 0};
        write_all(live, &set);
        await_adopted(&held, &set);
    }
    LIVE_POLL(live, is_left(live, ~set.nodes));
    LIVE_STATUS(live_release(live, held.lock), 0);
    redlock_lock_free(held.lock);
}

/* -- Nodes without a vote -- */

LIVE_TEST(no_ttl_is_above_the_sets) {
    live_start(live, 3, NULL);
    write_all(live, &(struct set){ID, 1, 0, 0x07, 5000});
    live->client = open_part(live, 0x07, NULL, 0);
    redlock_lock *lock = live_lock(live->client, "r");
    const redlock_acquire_options above = live_once(5001), within = live_once(5000);
    LIVE_STATUS(redlock_acquire(lock, &above, NULL, NULL), REDLOCK_ERR_INVALID);
    check_message(LOCK_MESSAGE(lock), "ttl_ms is 5001, above the max_ttl");
    check_message(LOCK_MESSAGE(lock), "which is 5000");
    LIVE_STATUS(live_acquire(live, lock, &within), 0);
    LIVE_STATUS(redlock_extend(lock, 5001, NULL, NULL), REDLOCK_ERR_INVALID);
    redlock_lock_free(lock);
}

/* A hold that began with a longer ttl is renewed with the set's. */
LIVE_TEST(a_hold_falls_in_with_the_sets_ttl) {
    struct held held = {0};
    const struct set set = {ID, 1, 0, 0x07, 3000};
    live_start(live, 3, NULL);
    live->client = open_part(live, 0x07, NULL, 0);
    hold(live, &held, "r");
    write_all(live, &set);
    await_adopted(&held, &set);
    for (size_t i = 0; i < 3; i++) {
        LIVE_POLL(live, live_pttl(live, i, "r") <= 3000);
    }
    assert_true(redlock_lock_remaining_ms(held.lock) <= 3000);
    LIVE_STATUS(live_release(live, held.lock), 0);
    redlock_lock_free(held.lock);
}
