/* A program that works for longer than the node timeout: right after it has submitted something,
 * while the answers are in the sockets, before the poll or after it. No node is given up for that,
 * but validity still runs from the submission. */

#include "live/live.h"
#include "marks.h"
#include "redlock/token.h"

#define TTL_MS 30000
#define TIMEOUT_MS 200 /* node_timeout_ms and connect_timeout_ms */
#define WORK_MS 850    /* more than four timeouts: a connection would be dropped */
#define SHORT_MS 220   /* a vote comes too late */
#define MANY 10000     /* answers of 5 bytes, of which one poll reads 16 KiB */
#define LONG_MS 3300   /* sixteen timeouts: even a node that answers would be dropped */

static void work(uint64_t ms) {
    live_block_until(redlock_now_ns() + ms * LIVE_MS);
}

static void open_all(struct live *live) {
    live_start(live, 3, NULL);
    redlock_client_options options = live_options(live);
    options.node_timeout_ms = TIMEOUT_MS;
    options.connect_timeout_ms = TIMEOUT_MS;
    live_open_all(live, &options);
}

static void assert_no_failures(const struct live *live) {
    for (size_t i = 0; i < live->n; i++) {
        assert_int_equal(live_node(live->client, i).failures, 0);
    }
}

static void query_cb(redlock_query *query, int status, void *data) {
    struct live_done *done = data;
    done->count++;
    done->status = status;
    live_wake();
}

/* -- Right after submitting -- */

LIVE_TEST(after_submitting) {
    struct live_done done[4] = {{0}};
    open_all(live);
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    MARK_FROM(PUT_OFF);
    LIVE_STATUS(redlock_acquire(lock, &once, live_lock_cb, &done[0]), 0);
    uint64_t after_ns = redlock_now_ns();
    work(WORK_MS);
    LIVE_UNTIL(live, done[0].count == 1);
    LIVE_STATUS(done[0].status, 0);
    assert_true(redlock_lock_valid_until_ns(lock) < after_ns + TTL_MS * LIVE_MS);
    LIVE_STATUS(redlock_extend(lock, TTL_MS, live_lock_cb, &done[1]), 0);
    work(WORK_MS);
    LIVE_UNTIL(live, done[1].count == 1);
    LIVE_STATUS(done[1].status, 0);
    LIVE_STATUS(redlock_query_holder(live->client, "key", 3, query_cb, &done[2]), 0);
    work(WORK_MS);
    LIVE_UNTIL(live, done[2].count == 1);
    LIVE_STATUS(done[2].status, 0);
    LIVE_STATUS(redlock_release(lock, live_lock_cb, &done[3]), 0);
    work(WORK_MS);
    LIVE_UNTIL(live, done[3].count == 1);
    LIVE_STATUS(done[3].status, 0);
    MARK_TO(PUT_OFF);
    assert_no_failures(live);
}

/* -- With the answers in the sockets -- */

LIVE_TEST(answers_in_the_sockets) {
    struct live_done done = {0}, other = {0};
    open_all(live);
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    LIVE_STATUS(redlock_acquire(lock, &once, live_lock_cb, &done), 0);
    live_send(live, 0);
    assert_int_equal(done.count, 0);
    work(LONG_MS);
    /* a call on the lock reads the clock only to detect its loss */
    LIVE_STATUS(redlock_release(lock, live_lock_cb, &done), REDLOCK_ERR_BUSY);
    /* a node whose answer is unread does not count as silent */
    LIVE_STATUS(redlock_acquire(live_lock(live->client, "other"), &once, live_lock_cb, &other), 0);
    LIVE_UNTIL(live, done.count == 1 && other.count == 1);
    LIVE_STATUS(done.status, 0);
    LIVE_STATUS(other.status, 0);
    assert_no_failures(live);
}

/* More answers than one poll reads: those that later polls read are in time too. */
LIVE_TEST(many_answers_in_the_sockets) {
    static redlock_lock *locks[MANY];
    static struct live_done done[MANY];
    open_all(live);
    redlock_acquire_options once = live_once(TTL_MS);
    MARK_FROM(MORE_TO_READ);
    for (size_t i = 0; i < MANY; i++) {
        char name[16];
        snprintf(name, sizeof name, "key%zu", i);
        locks[i] = live_lock(live->client, name);
        LIVE_STATUS(redlock_acquire(locks[i], &once, live_lock_cb, &done[i]), 0);
    }
    live_send(live, 0);
    for (size_t i = 0; i < live->n; i++) {
        while (live_keys(live, i) < MANY) {
        }
    }
    work(LONG_MS);
    for (size_t i = 0; i < MANY; i++) {
        LIVE_UNTIL(live, done[i].count == 1);
        LIVE_STATUS(done[i].status, 0);
    }
    MARK_TO(MORE_TO_READ);
    assert_no_failures(live);
}

/* -- Before and after the poll, in handles that run before and after the client's -- */

struct handles {
    uv_prepare_t prepare;
    uv_check_t check;
    uint64_t work_ms;
    bool in_prepare, in_check; /* where to work, once */
};

static void prepare_cb(uv_prepare_t *prepare) {
    struct handles *handles = prepare->data;
    if (handles->in_prepare) {
        handles->in_prepare = false;
        work(handles->work_ms);
    }
}

static void check_cb(uv_check_t *check) {
    struct handles *handles = check->data;
    if (handles->in_check) {
        handles->in_check = false;
        work(handles->work_ms);
    }
}

static void handles_open(struct handles *handles, uv_loop_t *loop) {
    *handles = (struct handles){.in_prepare = false};
    uv_prepare_init(loop, &handles->prepare);
    uv_check_init(loop, &handles->check);
    handles->prepare.data = handles->check.data = handles;
    uv_prepare_start(&handles->prepare, prepare_cb);
    uv_check_start(&handles->check, check_cb);
}

static void handles_close(struct handles *handles) {
    uv_close((uv_handle_t *)&handles->prepare, NULL);
    uv_close((uv_handle_t *)&handles->check, NULL);
}

LIVE_TEST(around_the_poll) {
    struct handles handles[2];
    live_start(live, 3, NULL);
    redlock_client_options options = live_options(live);
    options.node_timeout_ms = TIMEOUT_MS;
    handles_open(&handles[0], &live->loop);
    live_open_all(live, &options);
    handles_open(&handles[1], &live->loop);
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *lock = live_lock(live->client, "key");
    for (int i = 0; i < 16; i++) {
        struct live_done done = {0};
        handles[0].in_prepare = i & 1, handles[0].in_check = i & 2;
        handles[1].in_prepare = i & 4, handles[1].in_check = i & 8;
        handles[0].work_ms = handles[1].work_ms = (i & (i - 1)) == 0 ? WORK_MS : SHORT_MS;
        LIVE_STATUS(redlock_acquire(lock, &once, live_lock_cb, &done), 0);
        LIVE_UNTIL(live, done.count == 1);
        LIVE_STATUS(done.status, 0);
        LIVE_STATUS(live_release(live, lock), 0);
        live_run_for(live, 5);
    }
    assert_no_failures(live);
    handles_close(&handles[0]);
    handles_close(&handles[1]);
    live_end(live);
}

/* -- Opening and closing -- */

static void always_prepare_cb(uv_prepare_t *prepare) {
    (void)prepare;
    work(SHORT_MS);
}

/* Each turn of the loop takes longer than the connect timeout, and too long for a vote. */
LIVE_TEST(in_every_turn) {
    uv_prepare_t prepare;
    struct live_done opened = {0}, done = {0};
    live_start(live, 3, NULL);
    redlock_client_options options = live_options(live);
    options.connect_timeout_ms = TIMEOUT_MS;
    options.node_timeout_ms = TIMEOUT_MS;
    uv_prepare_init(&live->loop, &prepare);
    uv_prepare_start(&prepare, always_prepare_cb);
    LIVE_STATUS(redlock_client_open(&live->client, &live->loop, &options, live_client_cb, &opened),
                0);
    LIVE_UNTIL(live, opened.count == 1 && live_up(live->client) == 3);
    LIVE_STATUS(opened.status, 0);
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(redlock_acquire(live_lock(live->client, "key"), &once, live_lock_cb, &done), 0);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    assert_no_failures(live);
    uv_close((uv_handle_t *)&prepare, NULL);
    live_end(live);
}
