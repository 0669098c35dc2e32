/* What stands on the line: locks of several resources, elections, many locks of one client beside
 * others, under which name; a lock made for each use. */
#include <string.h>

#include "live/campaign.h"
#include "live/waiters.h"

/* -- Several resources -- */

struct user {
    redlock_client *client;
    redlock_lock *lock;
    int rounds;
    redlock_acquire_options options;
};

static int users_done;

static void user_granted(redlock_lock *lock, int status, void *data);

static void user_released(redlock_lock *lock, int status, void *data) {
    struct user *user = data;
    LIVE_STATUS(status, 0);
    if (--user->rounds > 0) {
        LIVE_STATUS(redlock_acquire(lock, &user->options, user_granted, user), 0);
    } else {
        users_done++;
    }
    live_wake();
}

static void user_granted(redlock_lock *lock, int status, void *data) {
    LIVE_STATUS(status, 0);
    LIVE_STATUS(redlock_release(lock, user_released, data), 0);
    live_wake();
}

static void user_open(struct user *user, struct live *live, const char *resources) {
    redlock_bytes names[4];
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    for (size_t i = 0; resources[i] != '\0'; i++) {
        names[i] = (redlock_bytes){resources + i, 1};
        options.n_resources++;
    }
    options.resources = names;
    memset(user, 0, sizeof(*user));
    user->client = live_another(live);
    user->rounds = 20;
    user->options = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    user->options.ttl_ms = WAITERS_TTL_MS;
    user->options.tries = user->options.wait_ms = REDLOCK_NO_LIMIT;
    LIVE_STATUS(redlock_lock_new_with(user->client, &options, &user->lock, NULL, 0), 0);
}

/* They overlap in every way, and all of them get on. */
static void several_resources(void **state) {
    static const char *const wanted[] = {"ab", "bc", "ca", "a", "b", "abc"};
    struct live *live = *state;
    struct user users[6];
    users_done = 0;
    for (size_t i = 0; i < 6; i++) {
        user_open(&users[i], live, wanted[i]);
    }
    for (size_t i = 0; i < 6; i++) {
        LIVE_STATUS(redlock_acquire(users[i].lock, &users[i].options, user_granted, &users[i]), 0);
    }
    LIVE_UNTIL(live, users_done == 6);
    for (size_t i = 0; i < 6; i++) {
        LIVE_UNTIL(live, live_is_quiet(users[i].client, 5));
        live_close(live, users[i].client);
    }
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* -- Elections -- */

/* One leads; the others are elected in the order in which they came. */
static void candidates_in_turn(void **state) {
    struct live *live = *state;
    struct candidate c[3] = {{0}};
    campaign_open_clients(live, c, 3);
    campaign_elect(live, &c[0]);
    for (size_t i = 1; i < 3; i++) {
        campaign_begin(&c[i]);
        LIVE_POLL(live, waiters_standing(live, CAMPAIGN_NAME) == i);
    }
    campaign_resign(live, &c[0], 0);
    LIVE_UNTIL(live, c[1].elected + c[2].elected > 0);
    assert_int_equal(c[1].elected, 1);
    campaign_resign(live, &c[1], 0);
    LIVE_UNTIL(live, c[2].elected == 1);
    campaign_resign(live, &c[2], 0);
    campaign_close_clients(live, c, 3);
}

/* -- Many locks of one client beside another client -- */

#define LOCAL 6
#define TIMES 30

static int local_grants, other_grants, other_since, other_waited;
static bool is_over;
static redlock_acquire_options patient;

static void one_granted(redlock_lock *lock, int status, void *data);

static void one_released(redlock_lock *lock, int status, void *data) {
    if (is_over && status == REDLOCK_ERR_CANCELED) {
        return; /* its client is closed, which cancels what is pending */
    }
    LIVE_STATUS(status, 0);
    if (!is_over) {
        LIVE_STATUS(redlock_acquire(lock, &patient, one_granted, data), 0);
    }
    live_wake();
}

static void one_granted(redlock_lock *lock, int status, void *data) {
    if (is_over && status != 0) {
        return;
    }
    LIVE_STATUS(status, 0);
    if (data == &other_grants) {
        int before = local_grants - other_since;
        other_waited = before > other_waited && other_grants > 1 ? before : other_waited;
        other_since = local_grants;
    }
    ++*(int *)data;
    LIVE_STATUS(redlock_release(lock, one_released, data), 0);
    live_wake();
}

/* Who waits alone is not behind a crowd that hands it on among itself for ever. */
static void a_crowd_and_another(void **state) {
    struct live *live = *state;
    redlock_client *crowd = live_another(live), *other = live_another(live);
    patient = (redlock_acquire_options)REDLOCK_ACQUIRE_OPTIONS_INIT;
    patient.ttl_ms = WAITERS_TTL_MS;
    patient.tries = patient.wait_ms = REDLOCK_NO_LIMIT;
    local_grants = other_grants = other_since = other_waited = 0;
    is_over = false;
    for (size_t i = 0; i < LOCAL; i++) {
        redlock_lock *lock = live_lock(crowd, "key");
        LIVE_STATUS(redlock_acquire(lock, &patient, one_granted, &local_grants), 0);
    }
    redlock_lock *lock = live_lock(other, "key");
    LIVE_STATUS(redlock_acquire(lock, &patient, one_granted, &other_grants), 0);
    LIVE_UNTIL(live, other_grants >= TIMES);
    is_over = true;
    assert_in_range(other_waited, 1, 8 * LOCAL); /* a turn is missed on a busy machine */
    live_close(live, crowd);
    live_close(live, other);
    LIVE_POLL(live, live_no_keys(live));
    live_end(live);
}

/* -- The name of a place -- */

#define HOLDER 0
#define CROWD 1 /* whose client has more locks, with names of their own */
#define OTHER 2

static redlock_lock *named(redlock_client *client, const char *name) {
    static const redlock_bytes key = {"key", 3};
    redlock_lock_options options = REDLOCK_LOCK_OPTIONS_INIT;
    redlock_lock *lock = NULL;
    options.resources = &key;
    options.n_resources = 1;
    options.holder = name;
    LIVE_STATUS(redlock_lock_new_with(client, &options, &lock, NULL, 0), 0);
    return lock;
}

static bool stands_as(const struct live *live, const char *name) {
    redisReply *reply =
        live_ask(live, waiters_home(live, "key"), "ZRANGE libredlock:line:{key} 0 0");
    assert_int_equal(reply->type, REDIS_REPLY_ARRAY);
    const char *colon = reply->elements == 1 ? strchr(reply->element[0]->str, ':') : NULL;
    bool same = colon != NULL && strcmp(colon + 1, name) == 0;
    freeReplyObject(reply);
    return same;
}

/* Its channel is lost, and confirmed anew. */
static void join_again(struct live *live, redlock_client *client) {
    size_t home = waiters_home(live, "key");
    uint64_t before = live_node(client, home).requests;
    live_tell(live, home, "CLIENT KILL TYPE pubsub");
    LIVE_UNTIL(live, live_node(client, home).requests > before && live_is_quiet(client, 5));
}

/* One lock joins, ahead of its turn, and is cancelled; another of its client goes on, with a name
 * of its own. Home writes into the key what stands in line, so that is the value of who waits. */
static void a_place_has_the_name_of_who_waits(void **state) {
    struct live *live = *state;
    struct waiters w;
    struct live_done second = {0}, third = {0};
    waiters_open(&w, live, 3, "key");
    redlock_lock *locks[] = {named(w.w[CROWD].client, "second"), named(w.w[CROWD].client, "third")};
    live_hold(live, w.w[HOLDER].lock, &w.options);
    w.keeps = true;
    waiters_line_up(&w, CROWD, 2);
    LIVE_STATUS(live_release(live, w.w[HOLDER].lock), 0);
    LIVE_UNTIL(live, w.count == 1 && live_is_quiet(w.w[CROWD].client, 5));
    waiters_expect(&w, "1"); /* by a turn, and home has said to TAKE that the other waits */
    LIVE_STATUS(redlock_acquire(locks[0], &w.options, live_lock_cb, &second), 0);
    LIVE_STATUS(redlock_acquire(locks[1], &w.options, live_lock_cb, &third), 0);
    LIVE_STATUS(redlock_release(w.w[CROWD].lock, NULL, NULL), 0);
    LIVE_STATUS(redlock_cancel(locks[0]), 0);
    LIVE_UNTIL(live, w.count == 2 && second.count == 1);
    waiters_expect(&w, "12");
    LIVE_UNTIL(live, live_is_quiet(w.w[CROWD].client, 5));
    LIVE_POLL(live, waiters_standing(live, "key") == 1);
    assert_true(stands_as(live, "third"));
    join_again(live, w.w[CROWD].client);
    assert_int_equal(waiters_standing(live, "key"), 1);
    LIVE_STATUS(redlock_cancel(locks[1]), 0);
    LIVE_UNTIL(live, third.count == 1 && live_is_quiet(w.w[CROWD].client, 5));
    assert_int_equal(waiters_standing(live, "key"), 0);
    LIVE_STATUS(live_release(live, w.w[OTHER].lock), 0);
    waiters_end(&w);
}

/* -- A lock made for each use -- */

/* What was learnt of those who wait is not forgotten with the lock that was released: its client
 * joins behind them, without asking for votes first. */
static void a_lock_for_each_use(void **state) {
    struct live *live = *state;
    struct waiters w;
    redlock_client *client = live_another(live);
    redlock_lock *lock = live_lock(client, "key");
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    waiters_open(&w, live, 1, "key");
    w.keeps = true;
    waiters_line_up(&w, 0, 1);
    LIVE_STATUS(live_release(live, lock), 0);
    redlock_lock_free(lock);
    LIVE_UNTIL(live, live_is_quiet(client, live->n) && w.count == 1);
    lock = live_lock(client, "key");
    uint64_t attempts = live_stats(client).attempts;
    struct live_done done = {0};
    LIVE_STATUS(redlock_acquire(lock, &w.options, live_lock_cb, &done), 0);
    LIVE_POLL(live, waiters_standing(live, "key") == 1);
    assert_int_equal(live_stats(client).attempts, attempts);
    redlock_lock_free(lock); /* with the acquire that waits */
    LIVE_STATUS(live_release(live, w.w[0].lock), 0);
    live_close(live, client);
    waiters_end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(several_resources),   LIVE_TEST_FIVE(candidates_in_turn),
        LIVE_TEST_FIVE(a_crowd_and_another), LIVE_TEST_FIVE(a_place_has_the_name_of_who_waits),
        LIVE_TEST_FIVE(a_lock_for_each_use),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
