/* Locks of several resources beside the lines of other clients: each resource has a home of its
 * own, and each home knows only its own waiting clients. */
#include <string.h>

#include "core/home.h"
#include "live/live.h"

#define TTL_MS 30000
#define TIMEOUT_MS 8000 /* of a node: what must not be waited for is seen to be waited for */

static redlock_lock *letters(redlock_client *client, const char *names) {
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_bytes bytes[REDLOCK_RESOURCES_MAX];
    redlock_lock *lock = NULL;
    options.resources = bytes;
    options.n_resources = strlen(names);
    for (size_t i = 0; i < options.n_resources; i++) {
        bytes[i] = (redlock_bytes){names + i, 1};
    }
    LIVE_STATUS(redlock_lock_new_with(client, &options, &lock, NULL, 0), 0);
    return lock;
}

static redlock_client *open_patient(struct live *live) {
    redlock_client_options options = live_options(live);
    redlock_client *client = NULL;
    options.node_timeout_ms = TIMEOUT_MS;
    LIVE_STATUS(live_open(live, &options, &client), 0);
    LIVE_POLL(live, live_up(client) == 5);
    return client;
}

/* Without a guard a node is known by its name. */
static size_t home_of(const redlock_client *client, char letter) {
    uint64_t nodes[5];
    for (size_t i = 0; i < 5; i++) {
        const char *name = live_node(client, i).node;
        nodes[i] = rl_home_hash(name, (uint32_t)strlen(name));
    }
    return rl_home_node(rl_home_hash(&letter, 1), nodes, 31);
}

/* Two letters with different homes. */
static void two_letters(const redlock_client *client, char names[3]) {
    memcpy(names, "ab", sizeof "ab");
    while (home_of(client, names[0]) == home_of(client, names[1])) {
        names[1]++;
        assert_in_range(names[1], 'b', 'z');
    }
}

/* -- A lock that asks again at once waits for every home's answer, and no longer -- */

static void asks_again_when_all_have_answered(void **state) {
    struct live *live = *state;
    redlock_client *client = open_patient(live);
    redlock_acquire_options options = live_patient(TTL_MS);
    struct live_done released = {0}, acquired = {0};
    char names[3];
    two_letters(client, names);
    redlock_lock *lock = letters(client, names);
    live_hold(live, lock, &options);
    for (int which = 0; which < 2; which++) { /* the one home answers last, then the other */
        size_t last = home_of(client, names[which]);
        live_pause(live, last);
        LIVE_STATUS(redlock_release(lock, live_lock_cb, &released), 0);
        LIVE_UNTIL(live, released.count == which + 1);
        LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &acquired), 0);
        live_run_for(live, 100);
        assert_int_equal(acquired.count, which);
        uint64_t began_ns = redlock_now_ns();
        live_resume(live, last);
        LIVE_UNTIL(live, acquired.count == which + 1);
        LIVE_STATUS(acquired.status, 0);
        assert_true(redlock_now_ns() - began_ns < (TIMEOUT_MS - 1000) * LIVE_MS);
    }
    live_close(live, client);
    live_end(live);
}

/* -- A lock that waited for the answers and goes into a line instead leaves nothing behind -- */

static void leaves_no_deadline(void **state) {
    struct live *live = *state;
    redlock_client *client = open_patient(live);
    redlock_acquire_options options = live_patient(TTL_MS);
    struct live_done released = {0}, acquired = {0}, waited = {0};
    char names[3];
    two_letters(client, names);
    size_t first = home_of(client, names[0]), second = home_of(client, names[1]);
    redlock_lock *lock = letters(client, names);
    redlock_lock *other = letters(live->client, names + 1);
    live_hold(live, lock, &options);
    LIVE_STATUS(redlock_acquire(other, &options, live_lock_cb, &waited), 0);
    LIVE_POLL(live, live_integer(live, second, "ZCARD libredlock:line:{%s}", names + 1) == 1);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    live_pause(live, first);
    live_pause(live, second);
    LIVE_STATUS(redlock_release(lock, live_lock_cb, &released), 0);
    LIVE_UNTIL(live, released.count == 1);
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, &acquired), 0);
    live_run_for(live, 50); /* it waits for what the homes say */
    live_resume(live, second);
    LIVE_UNTIL(live, waited.count == 1);
    LIVE_STATUS(waited.status, 0);
    live_resume(live, first);
    LIVE_POLL(live, live_integer(live, second, "ZCARD libredlock:line:{%s}", names + 1) == 1);
    LIVE_STATUS(redlock_cancel(lock), 0);
    LIVE_UNTIL(live, acquired.count == 1);
    LIVE_STATUS(acquired.status, REDLOCK_ERR_CANCELED);
    redlock_lock_free(lock); /* with its resources */
    LIVE_UNTIL(live, live_is_quiet(client, 5));
    LIVE_STATUS(live_release(live, other), 0);
    live_close(live, client);
    live_end(live);
}

/* -- A release serves at home unless the next of this client goes on in its place -- */

#define CLIENT "00000000000000ab"
#define WAITER CLIENT "000000000000000100000000"

/* Another client, unknown to this one, waits for the letter. */
static redisContext *put_in_line(struct live *live, size_t home, const char *letter) {
    redisContext *waiter = redisConnect("127.0.0.1", live_port(live, home));
    assert_non_null(waiter);
    redisReply *reply = redisCommand(waiter, "SUBSCRIBE libredlock:client:" CLIENT);
    assert_non_null(reply);
    freeReplyObject(reply);
    live_tell(live, home, "ZADD libredlock:line:{%s} 1 %s", letter, WAITER);
    return waiter;
}

static void serves_if_the_next_cannot_go_on(void **state) {
    struct live *live = *state;
    redlock_acquire_options options = live_patient(TTL_MS);
    struct live_done waited = {0};
    redlock_client *client = live->client;
    size_t home = home_of(client, 'a');
    redlock_lock *a = letters(client, "a"), *b = letters(client, "b");
    redlock_lock *both = letters(client, "ab");
    live_hold(live, a, &options);
    live_hold(live, b, &options);
    LIVE_STATUS(redlock_acquire(both, &options, live_lock_cb, &waited), 0);
    LIVE_UNTIL(live, live_is_quiet(client, 5));
    redisContext *waiter = put_in_line(live, home, "a");
    LIVE_STATUS(live_release(live, a), 0);
    LIVE_POLL(live, live_key_is(live, home, "a", WAITER));
    redisFree(waiter);
    assert_int_equal(waited.count, 0); /* b is held */
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(asks_again_when_all_have_answered),
        LIVE_TEST_FIVE(leaves_no_deadline),
        LIVE_TEST_FIVE(serves_if_the_next_cannot_go_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
