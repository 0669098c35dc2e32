/* Clients that have met another's key ask one node first: which one, what it costs the nodes, and
 * that neither a node that is down or silent nor a key that was left on it keeps them from the
 * lock. Nothing is timed: commands, attempts and votes are counted. */
#include <stdio.h>
#include <string.h>

#include "live/live.h"

#define NODES 5
#define CLIENTS 8
#define PAUSE_MS 500 /* between two attempts, so long that a test can step in */
#define TIMEOUT_MS 300
#define IN_A_ROW 3 /* attempts that ask one node first */
#define HAND_OVERS 60

static void set_on(struct live *live, size_t i, const char *key) {
    live_tell(live, i, "SET %s foreign", key);
}

static void set_on_all(struct live *live, const char *key) {
    for (size_t i = 0; i < NODES; i++) {
        set_on(live, i, key);
    }
}

static redlock_acquire_options patient(int64_t tries, int64_t pause_ms) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.tries = tries;
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.delay_ms = pause_ms;
    options.jitter_ms = 0;
    return options;
}

static void note_requests(const redlock_client *client, uint64_t *requests) {
    for (size_t i = 0; i < NODES; i++) {
        requests[i] = live_node(client, i).requests;
    }
}

/* The node of the client that is asked first: a key that all nodes have is refused in an attempt
 * that asks all of them, SET and release, and in one that asks one of them. skip: a node that is
 * down, or NODES. */
static size_t first_of(struct live *live, redlock_client *client, const char *key, size_t skip) {
    uint64_t before[NODES];
    uint64_t after[NODES];
    size_t first = NODES;
    redlock_lock *lock = live_lock(client, key);
    redlock_acquire_options options = patient(2, 1);
    note_requests(client, before);
    LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_HELD);
    note_requests(client, after);
    for (size_t i = 0; i < NODES; i++) {
        uint64_t sent = after[i] - before[i];
        if (i == skip) {
            assert_int_equal(sent, 0);
        } else if (sent == 3) {
            assert_int_equal(first, NODES);
            first = i;
        } else {
            assert_int_equal(sent, 2);
        }
    }
    assert_true(first < NODES);
    redlock_lock_free(lock);
    return first;
}

/* -- Which, and what it costs -- */

static void waiting_costs_little(void **state) {
    struct live *live = *state;
    uint64_t before[NODES];
    uint64_t after[NODES];
    redlock_lock *lock = live_lock(live->client, "key");
    set_on_all(live, "key");
    size_t first = first_of(live, live->client, "key", NODES);
    redlock_acquire_options options = patient(2 * IN_A_ROW + 3, 1);
    note_requests(live->client, before);
    LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_HELD);
    note_requests(live->client, after);
    for (size_t i = 0; i < NODES; i++) { /* three attempts asked all: SET and release */
        assert_int_equal(after[i] - before[i], i == first ? 6 + 2 * IN_A_ROW : 6);
    }
    options.tie_break = 0;
    LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_HELD);
    for (size_t i = 0; i < NODES; i++) {
        uint64_t sent = live_node(live->client, i).requests - after[i];
        assert_int_equal(sent, 2 * (2 * IN_A_ROW + 3));
    }
    live_end(live);
}

/* What the one refused is told as held; the others were not asked. */
static void one_refuses(void **state) {
    struct live *live = *state;
    redlock_lock *lock = live_lock(live->client, "key");
    redlock_acquire_options options = patient(2, 1);
    set_on_all(live, "key");
    LIVE_STATUS(live_acquire(live, lock, &options), REDLOCK_ERR_HELD);
    assert_int_equal(live_votes(lock, NODES, REDLOCK_VOTE_REFUSED), 1);
    assert_int_equal(live_votes(lock, NODES, REDLOCK_VOTE_FAILED), NODES - 1);
    live_end(live);
}

static void same_node_for_all(void **state) {
    struct live *live = *state;
    const char *reversed[NODES];
    redlock_client *other;
    redlock_client_options options = live_options(live);
    char key[16];
    for (size_t i = 0; i < NODES; i++) {
        reversed[i] = live->urls[NODES - 1 - i];
    }
    options.nodes = reversed;
    LIVE_STATUS(live_open(live, &options, &other), 0);
    LIVE_UNTIL(live, live_up(other) == NODES);
    size_t firsts[NODES] = {0};
    size_t used = 0;
    for (int i = 0; i < 30; i++) {
        snprintf(key, sizeof(key), "key%d", i);
        set_on_all(live, key);
        size_t first = first_of(live, live->client, key, NODES);
        assert_int_equal(first_of(live, other, key, NODES), NODES - 1 - first);
        firsts[first]++;
    }
    for (size_t i = 0; i < NODES; i++) {
        used += firsts[i] > 0;
    }
    assert_true(used >= 3); /* two would be a chance of one in a hundred thousand million */
    live_close(live, other);
    live_end(live);
}

/* -- A first node that is no help -- */

struct sendings {
    int count;
    uint64_t first_ns; /* of the last attempt */
    uint64_t last_ns;
    char token[REDLOCK_TOKEN_LENGTH + 1];
};

static void note_sending(const redlock_event *event, void *data) {
    struct sendings *sendings = data;
    if (event->type != REDLOCK_EVENT_ATTEMPT) {
        return;
    }
    sendings->count++;
    sendings->last_ns = event->now_ns;
    if (strcmp(sendings->token, redlock_lock_token(event->lock)) != 0) {
        sendings->first_ns = event->now_ns;
        snprintf(sendings->token, sizeof(sendings->token), "%s", redlock_lock_token(event->lock));
    }
}

/* Submits an acquire whose first attempt is refused, and returns in the pause after it. */
static void meet_another(struct live *live, redlock_lock *lock, struct live_done *done) {
    redlock_client *client = redlock_lock_client(lock);
    uint64_t attempts = live_stats(client).attempts;
    redlock_acquire_options options = patient(REDLOCK_NO_LIMIT, PAUSE_MS);
    LIVE_STATUS(redlock_acquire(lock, &options, live_lock_cb, done), 0);
    LIVE_UNTIL(live, live_stats(client).attempts > attempts && live_is_quiet(client, NODES));
    assert_int_equal(live_stats(client).attempts, attempts + 1);
    assert_int_equal(done->count, 0);
}

static void first_is_down(void **state) {
    struct live *live = *state;
    struct live_done done = {0};
    set_on_all(live, "key");
    size_t first = first_of(live, live->client, "key", NODES);
    live_kill(live, first);
    LIVE_UNTIL(live, live_up(live->client) == NODES - 1);
    assert_true(first_of(live, live->client, "key", first) != first);
    uint64_t attempts = live_stats(live->client).attempts;
    redlock_lock *lock = live_lock(live->client, "key");
    meet_another(live, lock, &done);
    for (size_t i = 0; i < NODES; i++) {
        if (i != first) {
            live_tell(live, i, "DEL key");
        }
    }
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    assert_int_equal(live_stats(live->client).attempts - attempts, 2);
    live_end(live);
}

/* It stops between two attempts. The attempt that asked it goes on with the others after
 * node_timeout_ms, and its validity does not begin anew. */
static void first_is_silent(void **state) {
    struct live *live = *state;
    struct live_done done = {0};
    struct sendings sendings = {0};
    live_start(live, NODES, NULL);
    redlock_client_options options = live_options(live);
    options.node_timeout_ms = TIMEOUT_MS;
    options.trace = note_sending;
    options.trace_data = &sendings;
    live_open_all(live, &options);
    set_on_all(live, "key");
    size_t first = first_of(live, live->client, "key", NODES);
    live_tell(live, first, "DEL key");
    redlock_lock *lock = live_lock(live->client, "key");
    uint64_t attempts = live_stats(live->client).attempts;
    meet_another(live, lock, &done);
    sendings.count = 0;
    live_pause(live, first);
    for (size_t i = 0; i < NODES; i++) {
        if (i != first) {
            live_tell(live, i, "DEL key");
        }
    }
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    assert_int_equal(live_stats(live->client).attempts - attempts, 2);
    assert_int_equal(sendings.count, 2); /* to one, and to the others */
    assert_true(sendings.last_ns - sendings.first_ns >= TIMEOUT_MS * LIVE_MS / 2);
    uint64_t validity_ns = (10000 - 100 - 2) * LIVE_MS;
    assert_true(redlock_lock_valid_until_ns(lock) <= sendings.first_ns + validity_ns);
    live_resume(live, first);
    LIVE_STATUS(live_release(live, lock), 0);
    live_end(live);
}

/* Somebody has left a key without an end on the first node: after some attempts that it refuses
 * alone, one asks the others. */
static void first_has_a_key_for_ever(void **state) {
    struct live *live = *state;
    struct live_done done = {0};
    set_on_all(live, "key");
    size_t first = first_of(live, live->client, "key", NODES);
    redlock_lock *lock = live_lock(live->client, "key");
    uint64_t attempts = live_stats(live->client).attempts;
    meet_another(live, lock, &done);
    for (size_t i = 0; i < NODES; i++) {
        if (i != first) {
            live_tell(live, i, "DEL key");
        }
    }
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    assert_int_equal(live_stats(live->client).attempts - attempts, 1 + IN_A_ROW + 1);
    live_end(live);
}

/* -- Many clients -- */

struct crowd {
    struct live *live;
    struct rival {
        struct crowd *crowd;
        redlock_client *client;
        redlock_lock *lock;
        int grants;
        bool waits; /* for a callback */
    } rivals[CLIENTS];
    int grants;
    bool is_over;
};

static void want(struct rival *rival);

static void released_cb(redlock_lock *lock, int status, void *data) {
    struct rival *rival = data;
    (void)lock, (void)status; /* with nodes that stop a release may miss its quorum */
    rival->waits = false;
    if (!rival->crowd->is_over) {
        want(rival);
    }
    live_wake();
}

static void granted_cb(redlock_lock *lock, int status, void *data) {
    struct rival *rival = data;
    struct crowd *crowd = rival->crowd;
    int valid = 0;
    if (status != 0) {
        LIVE_STATUS(status, REDLOCK_ERR_CANCELED);
        rival->waits = false;
        live_wake();
        return;
    }
    for (int i = 0; i < CLIENTS; i++) {
        valid += redlock_lock_is_valid(crowd->rivals[i].lock);
    }
    assert_true(valid <= 1);
    rival->grants++;
    crowd->grants++;
    LIVE_STATUS(redlock_release(lock, released_cb, rival), 0);
    live_wake();
}

static void want(struct rival *rival) {
    redlock_acquire_options options = patient(REDLOCK_NO_LIMIT, 1);
    options.jitter_ms = 20;
    rival->waits = true;
    LIVE_STATUS(redlock_acquire(rival->lock, &options, granted_cb, rival), 0);
}

static bool all_idle(const struct crowd *crowd) {
    for (int i = 0; i < CLIENTS; i++) {
        if (crowd->rivals[i].waits) {
            return false;
        }
    }
    return true;
}

static void open_crowd(struct crowd *crowd, struct live *live) {
    redlock_client_options options = live_options(live);
    options.node_timeout_ms = 50;
    crowd->live = live;
    for (int i = 0; i < CLIENTS; i++) {
        struct rival *rival = &crowd->rivals[i];
        rival->crowd = crowd;
        LIVE_STATUS(live_open(live, &options, &rival->client), 0);
        LIVE_UNTIL(live, live_up(rival->client) == NODES);
        rival->lock = live_lock(rival->client, "key");
    }
}

static void close_crowd(struct crowd *crowd) {
    crowd->is_over = true;
    for (int i = 0; i < CLIENTS; i++) {
        (void)redlock_cancel(crowd->rivals[i].lock); /* those that wait */
    }
    LIVE_UNTIL(crowd->live, all_idle(crowd));
    for (int i = 0; i < CLIENTS; i++) {
        live_close(crowd->live, crowd->rivals[i].client);
    }
}

/* The first node stops and goes on, then has a key that stays: they go on, and never two hold. */
static void never_two(void **state) {
    struct live *live = *state;
    struct crowd crowd;
    memset(&crowd, 0, sizeof(crowd));
    set_on_all(live, "key");
    size_t first = first_of(live, live->client, "key", NODES);
    live_tell_all(live, "DEL key");
    open_crowd(&crowd, live);
    for (int i = 0; i < CLIENTS; i++) {
        want(&crowd.rivals[i]);
    }
    LIVE_UNTIL(live, crowd.grants >= HAND_OVERS);
    live_pause(live, first);
    int before = crowd.grants;
    LIVE_UNTIL(live, crowd.grants >= before + HAND_OVERS / 3);
    live_resume(live, first);
    live_tell(live, first, "SET key foreign");
    before = crowd.grants;
    LIVE_UNTIL(live, crowd.grants >= before + HAND_OVERS / 3);
    close_crowd(&crowd);
    live_tell(live, first, "DEL key");
    assert_true(live_no_keys(live));
    live_end(live);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        LIVE_TEST_FIVE(waiting_costs_little),
        LIVE_TEST_FIVE(one_refuses),
        LIVE_TEST_FIVE(same_node_for_all),
        LIVE_TEST_FIVE(first_is_down),
        LIVE_TEST(first_is_silent),
        LIVE_TEST_FIVE(first_has_a_key_for_ever),
        LIVE_TEST_FIVE(never_two),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
