/* What stands on the line: locks of several resources, elections, many locks of one client beside
 * others. */
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

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(several_resources),
        LIVE_TEST_FIVE(candidates_in_turn),
        LIVE_TEST_FIVE(a_crowd_and_another),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
