/* The end of validity: reported once and in time, whatever the loop is doing. (Never after a later
 * success: the simulator.) */

#include "live/live.h"
#include "redlock/election.h"
#include "spent.h"

/* Times to live are longer than the machine's longest stall. */
#define LOCKS 100
#define TTL_MS 2000
#define BLOCKED_TTL_MS 2000 /* of a lock that ends while the loop is blocked */

/* How late after the end of validity a machine that is busy with other tests may wake us, beyond
 * the time for which it kept us from running. The guarantee is for a loop that runs when its timers
 * are due; the result of this run is printed. */
#define SLACK_NS (250 * LIVE_MS)

struct expiry {
    uint64_t valid_until_ns;
    struct live_done lost;
};

static void lost_cb(redlock_lock *lock, int status, void *data) {
    struct expiry *expiry = data;
    assert_int_equal(redlock_lock_is_valid(lock), 0);
    assert_int_equal(redlock_lock_remaining_ms(lock), 0);
    live_lock_cb(lock, status, &expiry->lost);
}

static redlock_lock *hold(struct live *live, const char *resource, int64_t ttl_ms,
                          struct expiry *expiry) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    redlock_lock *lock = live_lock(live->client, resource);
    memset(expiry, 0, sizeof(*expiry));
    options.ttl_ms = ttl_ms;
    options.on_lost = lost_cb;
    options.lost_data = expiry;
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    expiry->valid_until_ns = redlock_lock_valid_until_ns(lock);
    return lock;
}

/* -- In time -- */

LIVE_TEST_FIVE(told_before_the_end) {
    struct expiry expiry[LOCKS];
    redlock_lock *locks[LOCKS];
    for (size_t i = 0; i < LOCKS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "key %zu", i);
        locks[i] = hold(live, name, TTL_MS + 3 * (int64_t)i, &expiry[i]);
    }
    struct spent since = spent_begin();
    LIVE_UNTIL(live, live_stats(live->client).lost == LOCKS);
    int64_t slack_ns = (int64_t)(SLACK_NS + spent_kept_ns(&since));
    int64_t latest_ns = INT64_MIN;
    size_t late = 0;
    for (size_t i = 0; i < LOCKS; i++) {
        int64_t behind_ns = (int64_t)(expiry[i].lost.at_ns - expiry[i].valid_until_ns);
        assert_int_equal(expiry[i].lost.count, 1);
        LIVE_STATUS(expiry[i].lost.status, REDLOCK_ERR_EXPIRED);
        assert_true(behind_ns <= slack_ns);
        assert_true(behind_ns >= -(int64_t)(20 * LIVE_MS)); /* no loss is reported too early */
        late += behind_ns > 0;
        latest_ns = behind_ns > latest_ns ? behind_ns : latest_ns;
    }
    print_message("# on_lost came at the latest %.2f ms %s the end of validity; %zu of %d late\n",
                  (double)(latest_ns < 0 ? -latest_ns : latest_ns) / 1e6,
                  latest_ns < 0 ? "before" : "after", late, LOCKS);
    for (size_t i = 0; i < LOCKS; i++) {
        assert_int_equal(redlock_lock_is_valid(locks[i]), 0);
        LIVE_STATUS(redlock_extend(locks[i], 0, NULL, NULL), REDLOCK_ERR_NOT_HELD);
    }
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live)); /* what was left of them has been released */
}

/* -- Without a sign of life -- */

/* A watchdog that runs renews the lock every 100 ms. */
static redlock_lock *watched(struct live *live, int64_t ttl_ms, struct live_done *lost) {
    redlock_acquire_options options = live_patient(ttl_ms);
    redlock_lock *lock = live_lock(live->client, "watched");
    options.auto_extend = 1;
    options.renew_ms = 100;
    options.max_silence_ms = 1;
    options.owner = 7;
    options.on_lost = live_lock_cb;
    options.lost_data = lost;
    LIVE_STATUS(live_acquire(live, lock, &options), 0);
    return lock;
}

LIVE_TEST_FIVE(silence) {
    struct live_done lost = {0}, other_lost = {0};
    redlock_lock *lock = watched(live, 20000, &lost), *other = watched(live, 20000, &other_lost);
    LIVE_POLL(live, redlock_lock_remaining_ms(lock) < 17000); /* the watchdog has stopped */
    const uint64_t renewed = live_stats(live->client).renewed;
    LIVE_STATUS(redlock_lock_alive(other), 0); /* both locks share the hold */
    LIVE_UNTIL(live, live_stats(live->client).renewed == renewed + 1);
    LIVE_STATUS(live_release(live, other), 0);
    LIVE_STATUS(redlock_lock_alive(other), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(live_release(live, lock), 0);
    assert_int_equal(lost.count + other_lost.count, 0);
    lock = watched(live, 6000, &lost);
    LIVE_UNTIL(live, lost.count == 1);
    LIVE_STATUS(lost.status, REDLOCK_ERR_SILENT);
    assert_int_equal(live_stats(live->client).lost_silent, 1);
    LIVE_STATUS(redlock_lock_alive(lock), REDLOCK_ERR_NOT_HELD);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_true(live_no_keys(live));
    live_end(live);
}

static void election_cb(redlock_election *election, int status, void *data) {
    live_lock_cb(NULL, status, data);
}

/* A silent leader loses its leadership in the same way, and campaigns again. */
LIVE_TEST_FIVE(silent_leader) {
    struct live_done told = {0}; /* elected, lost, elected */
    redlock_election_options options = REDLOCK_ELECTION_OPTIONS_INIT;
    redlock_election *election;
    options.name = "led";
    options.name_length = 3;
    options.ttl_ms = 6000;
    options.renew_ms = 100;
    options.max_silence_ms = 1;
    options.on_elected = options.on_lost = election_cb;
    options.data = &told;
    LIVE_STATUS(redlock_election_new(live->client, &options, &election, NULL, 0), 0);
    LIVE_STATUS(redlock_election_alive(election), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_election_campaign(election), 0);
    LIVE_UNTIL(live, told.count == 1);
    LIVE_POLL(live, redlock_election_remaining_ms(election) < 5000);
    const uint64_t renewed = live_stats(live->client).renewed;
    LIVE_STATUS(redlock_election_alive(election), 0);
    LIVE_UNTIL(live, live_stats(live->client).renewed == renewed + 1);
    LIVE_UNTIL(live, told.count == 2);
    LIVE_STATUS(told.status, REDLOCK_ERR_SILENT);
    LIVE_UNTIL(live, told.count == 3);
    LIVE_STATUS(told.status, 0);
    live_end(live);
}

/* A loss is found when its releases go out. On a busy machine an attempt may fail, and sends
 * releases too; its lock is still being acquired. */
struct found {
    const redlock_lock *acquiring;
    int waiting; /* losses detected and not yet reported */
    int waiting_max;
    int told;
};

static void found_trace(const redlock_event *event, void *data) {
    struct found *found = data;
    if (event->type == REDLOCK_EVENT_ATTEMPT) {
        found->acquiring = event->lock;
    } else if (event->type == REDLOCK_EVENT_ACQUIRED) {
        found->acquiring = NULL;
    } else if (event->type == REDLOCK_EVENT_RELEASE && event->lock != found->acquiring) {
        found->waiting++;
        found->waiting_max =
            found->waiting > found->waiting_max ? found->waiting : found->waiting_max;
    } else if (event->type == REDLOCK_EVENT_LOST) {
        found->waiting--;
        found->told++;
    }
}

/* Many losses are due at once: each is reported as soon as it is detected, before the others are,
 * and before anything else that is due (with many locks there was always more). Nor does a report
 * wait for answers in the sockets, here a slow node's: each of them detects a loss, too, and since
 * libuv 1.45 the loop polls before it runs timers. */
LIVE_TEST(told_as_found) {
    struct expiry expiry[LOCKS];
    struct found found = {0};
    live_start(live, 5, NULL);
    redlock_client_options options = live_options(live);
    options.trace = found_trace;
    options.trace_data = &found;
    live_open_all(live, &options);
    live_pause(live, 4);
    for (size_t i = 0; i < LOCKS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "key %zu", i);
        hold(live, name, BLOCKED_TTL_MS, &expiry[i]);
    }
    live_resume(live, 4);
    found.waiting_max = 0; /* on a slow machine some are lost already */
    live_block_until(expiry[LOCKS - 1].valid_until_ns);
    LIVE_UNTIL(live, found.told == LOCKS);
    assert_int_equal(found.waiting_max, 1);
    live_end(live);
}
