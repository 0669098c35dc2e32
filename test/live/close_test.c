/* Closing with everything in flight, on nodes in every condition: each callback comes exactly once,
 * nothing of ours stays on a node, and libuv has no handle left. Also refused calls: on a busy
 * lock, and on a closed client. */

#include "live/live.h"
#include "messages.h"

#define EACH 10 /* locks in each condition */
#define TTL_MS 30000

/* What the locks are doing when the client is closed. */
enum doing { IDLE, ACQUIRING, WAITING, HELD, EXTENDING, RELEASING, BOTH, GRANTED, FREED, DOINGS };

struct crowd {
    struct live *live;
    redlock_lock *locks[DOINGS][EACH];
    struct live_done acquired[DOINGS][EACH];
    struct live_done extended[DOINGS][EACH];
    struct live_done released[DOINGS][EACH];
    struct live_done lost;
    struct live_done closed;
    struct live_done opened;
};

static void acquire(struct crowd *c, enum doing doing, size_t i) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = TTL_MS;
    options.wait_ms = REDLOCK_NO_LIMIT;
    options.on_lost = live_lock_cb;
    options.lost_data = &c->lost;
    LIVE_STATUS(redlock_acquire(c->locks[doing][i], &options, live_lock_cb, &c->acquired[doing][i]),
                0);
}

static bool is_held_first(enum doing doing) {
    return doing == HELD || doing == EXTENDING || doing == RELEASING || doing == BOTH ||
           doing == FREED;
}

static void make_locks(struct crowd *c, struct live *live) {
    memset(c, 0, sizeof(*c));
    c->live = live;
    for (int doing = 0; doing < DOINGS; doing++) {
        for (size_t i = 0; i < EACH; i++) {
            char name[32];
            snprintf(name, sizeof(name), doing == WAITING ? "strange" : "key %d %zu", doing, i);
            c->locks[doing][i] = live_lock(live->client, name);
        }
    }
    for (size_t i = 0; i < live->n; i++) {
        live_tell(live, i, "SET strange stranger");
    }
}

/* Acquires the locks to be held, and waits for the stranger's key. */
static void prepare(struct crowd *c) {
    size_t held = 0;
    for (int doing = 0; doing < DOINGS; doing++) {
        for (size_t i = 0; i < EACH; i++) {
            if (is_held_first((enum doing)doing) || doing == WAITING) {
                acquire(c, (enum doing)doing, i);
                held += doing != WAITING;
            }
        }
    }
    LIVE_UNTIL(c->live, live_stats(c->live->client).held == held);
}

/* The nodes are as the test wants them now, those from `first` on run. Everything is set going. */
static void set_going(struct crowd *c, size_t first) {
    for (size_t i = 0; i < EACH; i++) {
        acquire(c, GRANTED, i);
    }
    live_send(c->live, first);
    for (size_t i = 0; i < EACH; i++) {
        acquire(c, ACQUIRING, i);
        LIVE_STATUS(
            redlock_extend(c->locks[EXTENDING][i], 0, live_lock_cb, &c->extended[EXTENDING][i]), 0);
        LIVE_STATUS(
            redlock_release(c->locks[RELEASING][i], live_lock_cb, &c->released[RELEASING][i]), 0);
        LIVE_STATUS(redlock_extend(c->locks[BOTH][i], 0, live_lock_cb, &c->extended[BOTH][i]), 0);
        LIVE_STATUS(redlock_release(c->locks[BOTH][i], live_lock_cb, &c->released[BOTH][i]), 0);
        redlock_lock_free(c->locks[FREED][i]);
    }
}

static void check_once(const struct live_done *done, int status) {
    assert_int_equal(done->count, 1);
    LIVE_STATUS(done->status, status);
}

static void check_told(const struct crowd *c) {
    for (int doing = 0; doing < DOINGS; doing++) {
        for (size_t i = 0; i < EACH; i++) {
            bool extends = doing == EXTENDING || doing == BOTH;
            bool releases = doing == RELEASING || doing == BOTH;
            if (doing == IDLE) {
                assert_int_equal(c->acquired[doing][i].count, 0);
            } else {
                bool held = is_held_first((enum doing)doing);
                check_once(&c->acquired[doing][i], held ? 0 : REDLOCK_ERR_CANCELED);
            }
            assert_int_equal(c->extended[doing][i].count, extends);
            assert_int_equal(c->released[doing][i].count, releases);
            LIVE_STATUS(c->extended[doing][i].status, extends ? REDLOCK_ERR_CANCELED : 0);
            LIVE_STATUS(c->released[doing][i].status, releases ? REDLOCK_ERR_CANCELED : 0);
        }
    }
    assert_int_equal(c->lost.count, 0);
    check_once(&c->closed, 0);
}

static void close_and_check(struct crowd *c) {
    struct live *live = c->live;
    LIVE_STATUS(redlock_client_close(live->client, live_client_cb, &c->closed), 0);
    LIVE_STATUS(redlock_client_close(live->client, live_client_cb, &c->closed), REDLOCK_ERR_CLOSED);
    assert_int_equal(c->closed.count, 0);
    LIVE_UNTIL(live, c->closed.count > 0);
    live->client = NULL;
    check_told(c);
}

/* Nothing but the stranger's key on the nodes that run. */
static bool is_clean(const struct live *live, size_t from) {
    for (size_t i = from; i < live->n; i++) {
        if (live_keys(live, i) != 1 || !live_key_is(live, i, "strange", "stranger")) {
            return false;
        }
    }
    return true;
}

/* The first nodes, this many, are stopped, and continue when the client is gone: the commands in
 * their sockets leave nothing behind. */
static void with_stopped(struct live *live, size_t stopped) {
    struct crowd c;
    make_locks(&c, live);
    prepare(&c);
    live_do(live, live_pause, 0, stopped);
    set_going(&c, stopped);
    uint64_t before_ns = redlock_now_ns();
    close_and_check(&c);
    assert_true(c.closed.at_ns - before_ns < 5000 * LIVE_MS); /* node_timeout_ms is 250 */
    assert_true(is_clean(live, stopped));
    live_do(live, live_resume, 0, stopped);
    LIVE_POLL(live, is_clean(live, 0));
}

LIVE_TEST_FIVE_HASTY(with_two_stopped) {
    with_stopped(live, 2);
}

LIVE_TEST_FIVE_HASTY(with_all_stopped) {
    with_stopped(live, 5);
}

/* Before on_open, in each of the turns that it takes to open. */
LIVE_TEST(while_opening) {
    live_start(live, 5, NULL);
    live_kill(live, 4);
    redlock_client_options options = live_options(live);
    for (int turns = 0; turns < 20; turns++) {
        struct live_done opened = {0};
        struct live_done acquired = {0};
        redlock_client *client;
        LIVE_STATUS(redlock_client_open(&client, &live->loop, &options, live_client_cb, &opened),
                    0);
        LIVE_STATUS(redlock_acquire(live_lock(client, "key"), NULL, live_lock_cb, &acquired), 0);
        for (int i = 0; i < turns; i++) {
            uv_run(&live->loop, UV_RUN_NOWAIT);
        }
        int before = opened.count;
        live_close(live, client);
        assert_int_equal(opened.count, 1);
        LIVE_STATUS(opened.status, before == 1 ? 0 : REDLOCK_ERR_CANCELED);
        assert_int_equal(acquired.count, 1);
        assert_true(live_no_keys(live));
    }
}

/* -- What is refused -- */

LIVE_TEST_FIVE(busy) {
    struct live_done done = {0};
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(redlock_cancel(lock), REDLOCK_ERR_IDLE);
    LIVE_STATUS(redlock_release(lock, live_lock_cb, &done), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_acquire(lock, NULL, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_acquire(lock, NULL, live_lock_cb, &done), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_release(lock, live_lock_cb, &done), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_extend(lock, 0, live_lock_cb, &done), REDLOCK_ERR_NOT_HELD);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(redlock_cancel(lock), REDLOCK_ERR_IDLE);
    LIVE_STATUS(redlock_extend(lock, 0, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_extend(lock, 0, live_lock_cb, &done), REDLOCK_ERR_BUSY);
    assert_contains(LOCK_MESSAGE(lock), "in use: an extension is pending");
    LIVE_UNTIL(live, done.count == 2);
    LIVE_STATUS(redlock_acquire(lock, NULL, live_lock_cb, &done), REDLOCK_ERR_ALREADY_HELD);
    LIVE_STATUS(redlock_release(lock, live_lock_cb, &done), 0);
    LIVE_STATUS(redlock_release(lock, live_lock_cb, &done), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_acquire(lock, NULL, live_lock_cb, &done), REDLOCK_ERR_BUSY);
    LIVE_STATUS(redlock_extend(lock, 0, live_lock_cb, &done), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_cancel(lock), REDLOCK_ERR_IDLE);
    LIVE_UNTIL(live, done.count == 3);
    LIVE_STATUS(redlock_release(lock, live_lock_cb, &done), REDLOCK_ERR_NOT_HELD);
    LIVE_STATUS(redlock_client_close(live->client, live_client_cb, &done), 0);
    LIVE_STATUS(redlock_acquire(lock, NULL, NULL, NULL), REDLOCK_ERR_CLOSED);
    LIVE_STATUS(redlock_lock_new(live->client, "x", 1, &lock), REDLOCK_ERR_CLOSED);
    assert_null(lock);
    LIVE_UNTIL(live, done.count == 4);
    live->client = NULL;
}
