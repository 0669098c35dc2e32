/* Clients that want one key are served first come, first served; one is woken at a time; and a
 * client that leaves, or loses its node, costs the others only a moment. */

#include "live/waiters.h"
#include "redlock/token.h"

#define TRIES 20 /* of what the machine must not stand still in */
#define HOLDER 0 /* of the clients that waiters_open() has made: it has the lock */

/* n clients stand in line behind another one, which holds. */
static void behind_a_holder(struct waiters *w, struct live *live, size_t n) {
    waiters_open(w, live, n + 1, "key");
    live_hold(live, w->w[HOLDER].lock, &w->options);
    waiters_line_up(w, 1, n);
}

static void let_go(struct waiters *w) {
    LIVE_STATUS(live_release(w->live, w->w[HOLDER].lock), 0);
}

/* -- In turn -- */

static bool all_are_served_as_they_came(struct live *live) {
    struct waiters w;
    behind_a_holder(&w, live, 6);
    assert_int_equal(waiters_at(w.live, waiters_home(w.live, "key"), "key"), 6);
    let_go(&w);
    LIVE_UNTIL(w.live, w.count == 6);
    bool missed = waiters_missed_a_turn(&w);
    waiters_expect(&w, "123456");
    for (size_t i = 1; i <= 6 && !missed;
         i++) { /* a SET that was refused, and the turn; the heir tries more */
        assert_in_range(live_stats(w.w[i].client).attempts, 1, 6);
        assert_int_equal(live_stats(w.w[i].client).turns, 1);
        assert_int_equal(live_stats(w.w[i].client).turns_missed, 0);
    }
    waiters_close(&w);
    return !missed;
}

LIVE_TEST_FIVE(served_as_they_came) {
    bool are_served = false;
    for (int tries = 0; !are_served && tries < TRIES; tries++) {
        are_served = all_are_served_as_they_came(live);
    }
    assert_true(are_served);
}

/* Waiting costs almost nothing, however many clients wait. */
LIVE_TEST_FIVE(waits_in_silence) {
    struct waiters w;
    uint64_t before = 0, after = 0;
    behind_a_holder(&w, live, 6);
    LIVE_UNTIL(w.live, live_is_quiet(w.w[6].client, 5));
    for (size_t i = 1; i <= 6; i++) {
        for (size_t n = 0; n < 5; n++) {
            before += live_node(w.w[i].client, n).requests;
        }
    }
    live_run_for(w.live, 1000);
    for (size_t i = 1; i <= 6; i++) {
        for (size_t n = 0; n < 5; n++) {
            after += live_node(w.w[i].client, n).requests;
        }
    }
    assert_in_range(after - before, 0, 40); /* the heir asks: 250 ms, 375, 562 ... */
    let_go(&w);
    LIVE_UNTIL(w.live, w.count == 6);
    waiters_end(&w);
}

/* -- Every way out, in every state of waiting -- */

enum way { CANCEL, FREE, CLOSE, DEADLINE, WAYS };
enum when { AT_ONCE, IN_LINE, WITH_THE_TURN, WHENS };

static void leave(struct waiters *w, size_t i, enum way way) {
    struct waiter *waiter = &w->w[i];
    switch (way) {
        case CANCEL:
            LIVE_STATUS(redlock_cancel(waiter->lock), 0);
            break;
        case FREE:
            redlock_lock_free(waiter->lock);
            waiter->lock = NULL;
            break;
        case CLOSE:
            live_close(w->live, waiter->client);
            waiter->client = NULL;
            waiter->lock = NULL;
            break;
        default: /* its deadline is near enough */
            LIVE_UNTIL(w->live, waiter->told == 1);
            break;
    }
}

/* Number 2 of three that wait leaves; the others are served in their order, without a pause. */
static void leaves(struct live *live, enum way way, enum when when) {
    struct waiters w;
    waiters_open(&w, live, 4, "key");
    live_hold(live, w.w[HOLDER].lock, &w.options);
    if (when != WITH_THE_TURN) {
        waiters_line_up(&w, 1, 1);
    }
    w.options.wait_ms = way == DEADLINE ? 1500 : REDLOCK_NO_LIMIT;
    waiters_ask(&w, 2);
    w.options.wait_ms = REDLOCK_NO_LIMIT;
    if (when != AT_ONCE) {
        LIVE_POLL(live, waiters_standing(live, "key") == (when == IN_LINE ? 2 : 1));
    }
    if (when == WITH_THE_TURN) {
        waiters_ask(&w, 3);
        LIVE_POLL(live, waiters_standing(live, "key") == 2);
        LIVE_STATUS(redlock_release(w.w[HOLDER].lock, NULL, NULL), 0);
        live_send(live, 0); /* the turn is in the socket, unread */
    }
    leave(&w, 2, way);
    if (when != WITH_THE_TURN) {
        waiters_ask(&w, 3);
        let_go(&w);
    }
    size_t others = when == WITH_THE_TURN ? 1 : 2;
    bool may_win = when == WITH_THE_TURN && way == DEADLINE;
    struct spent since = spent_begin();
    LIVE_UNTIL(live, w.count == others + (may_win && w.w[2].status == 0));
    assert_in_range(spent_ms(&since), 0, 8 * WAITERS_GRACE_MS);
    if (!may_win) {
        waiters_expect(&w, when == WITH_THE_TURN ? "3" : "13");
    }
    LIVE_POLL(live, waiters_is_over(&w));
    for (size_t i = 0; i < w.n; i++) {
        if (w.w[i].client != NULL) {
            live_close(live, w.w[i].client);
        }
    }
}

LIVE_TEST_FIVE(leaves_in_every_way) {
    for (int way = 0; way < WAYS; way++) {
        for (int when = 0; when < WHENS; when++) {
            leaves(live, (enum way)way, (enum when)when);
        }
    }
}

/* -- Nodes -- */

LIVE_TEST_FIVE(home_dies) {
    struct waiters w;
    behind_a_holder(&w, live, 4);
    size_t home = waiters_home(live, "key");
    const redlock_client *client = w.w[HOLDER].client;
    assert_int_equal(redlock_client_home(client, "key", 3, 0), (int)home);
    assert_int_equal(redlock_client_home(client, "key", 3, 1), (int)home);
    assert_int_equal(redlock_client_home(client, "key", 0, 0), REDLOCK_ERR_INVALID);
    live_kill(live, home);
    LIVE_POLL(live, waiters_standing(live, "key") == 4); /* at the next one */
    LIVE_UNTIL(live, live_up(client) == 4);
    const int next = redlock_client_home(client, "key", 3, 0);
    assert_true(next >= 0 && next != (int)home);
    assert_int_equal(waiters_at(live, (size_t)next, "key"), 4);
    assert_int_equal(redlock_client_home(client, "key", 3, 1), (int)home);
    LIVE_STATUS(redlock_release(w.w[HOLDER].lock, NULL, NULL), 0);
    LIVE_UNTIL(live, w.count == 4);
    live_restart(live, home); /* it has pending releases */
    waiters_end(&w);
}

/* The message of the turn is lost: the lock is free, and no client is notified. */
LIVE_TEST_FIVE(home_dies_with_the_turn) {
    struct waiters w;
    behind_a_holder(&w, live, 4);
    size_t home = waiters_home(live, "key");
    LIVE_STATUS(redlock_release(w.w[HOLDER].lock, NULL, NULL), 0);
    live_send(live, 0);
    live_kill(live, home);
    struct spent since = spent_begin();
    LIVE_UNTIL(live, w.count == 4);
    assert_in_range(spent_ms(&since), 0, 6000);
    live_restart(live, home);
    waiters_end(&w);
}

/* -- Keys of others -- */

/* A plain client of another library has it: its key ends, the line goes on. */
LIVE_TEST_FIVE(a_stranger_holds) {
    struct waiters w;
    live_tell_all(live, "SET key stranger PX 700");
    waiters_open(&w, live, 3, "key");
    waiters_line_up(&w, 0, 3);
    struct spent since = spent_begin();
    LIVE_UNTIL(live, w.count == 3);
    waiters_expect(&w, "012");
    assert_in_range(spent_ms(&since), 0, 6000);
    waiters_end(&w);
}

/* -- Forbidden commands -- */

static void forbidden(struct live *live, const char *rule) {
    struct waiters w;
    live_tell_all(live, rule);
    waiters_open(&w, live, 3, "key");
    live_hold(live, w.w[HOLDER].lock, &w.options);
    waiters_ask(&w, 1);
    waiters_ask(&w, 2);
    live_run_for(live, 300);
    assert_int_equal(w.count, 0);
    let_go(&w);
    LIVE_UNTIL(live, w.count == 2);
    live_tell_all(live, "ACL SETUSER default allkeys allchannels");
    waiters_end(&w);
}

/* No channel: waiting clients poll, as if there were no line. */
LIVE_TEST_FIVE(a_channel_is_forbidden) {
    forbidden(live, "ACL SETUSER default resetchannels");
}

LIVE_TEST_FIVE(the_line_is_forbidden) {
    forbidden(live, "ACL SETUSER default resetkeys ~key ~libredlock:config");
}

/* -- A lock made for each use -- */

/* The client remembers that others wait after the lock is released: it joins behind them, without
 * asking for votes first. */
LIVE_TEST_FIVE(a_lock_for_each_use) {
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
