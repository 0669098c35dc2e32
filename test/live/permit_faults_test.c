/* Permits when nodes, connections and processes fail: while home is asked which slots are free,
 * while all are asked for these, in line, and when a turn is on its way. No slot has two holders,
 * none is lost forever, and waiting clients are served. */
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "live/permits.h"

#define TTL_MS PERMITS_TTL_MS
#define K 3
#define LONG_MS 600000
#define CHILD_TTL_MS 5000

static void hold_all(struct live *live, redlock_client *client, redlock_lock *locks[K]) {
    for (size_t i = 0; i < K; i++) {
        locks[i] = permits_lock(client, K, 1);
        permits_hold(live, locks[i], TTL_MS);
    }
}

static void release_all(struct live *live, redlock_lock *const locks[], size_t n) {
    for (size_t i = 0; i < n; i++) {
        LIVE_STATUS(live_release(live, locks[i]), 0);
    }
}

/* -- Home -- */

static void count_requests(const struct live *live, uint64_t counts[LIVE_NODES_MAX]) {
    for (size_t i = 0; i < live->n; i++) {
        counts[i] = live_node(live->client, i).requests;
    }
}

/* Home was asked since they were counted, in vain, and of the others a quorum, for slots by chance:
 * none of them was asked which are free first. (To ask the next one as home would cost a wait once
 * more where that one is silent as well.) */
static void check_went_by_chance(const struct live *live, size_t home,
                                 const uint64_t before[LIVE_NODES_MAX]) {
    uint64_t now[LIVE_NODES_MAX];
    size_t asked = 0;
    count_requests(live, now);
    assert_true(now[home] > before[home]);
    for (size_t i = 0; i < live->n; i++) {
        assert_true(i == home || now[i] - before[i] <= 1);
        asked += i != home && now[i] > before[i];
    }
    assert_true(asked >= live->n / 2 + 1);
}

/* True: it went on before home was given up as a node, which takes longer. */
static bool goes_by_chance(struct live *live, redlock_lock *lock, size_t home) {
    redlock_acquire_options once = live_once(TTL_MS);
    uint64_t before[LIVE_NODES_MAX];
    LIVE_POLL(live, live_up(live->client) == 5 && live_is_quiet(live->client, 5));
    count_requests(live, before);
    live_pause(live, home);
    const int status = live_acquire(live, lock, &once);
    const bool in_time = live_node(live->client, home).requests > before[home] + 1;
    if (status == 0) { /* on a busy machine others may be silent as well */
        check_went_by_chance(live, home, before);
        assert_int_not_equal(redlock_lock_slot(lock, 0), redlock_lock_slot(lock, 1));
        assert_in_range(redlock_lock_slot(lock, 0), 0, K - 1);
        assert_in_range(redlock_lock_slot(lock, 1), 0, K - 1);
    }
    live_resume(live, home);
    if (status == 0) {
        LIVE_STATUS(live_release(live, lock), 0);
    }
    LIVE_POLL(live, live_is_quiet(live->client, 5) && live_no_keys(live));
    return status == 0 && in_time;
}

/* Up, and silent: it is not waited for as long as its connection lasts. */
LIVE_TEST_FIVE_HASTY(home_is_silent) {
    const size_t home = permits_home(live);
    redlock_lock *lock = permits_lock(live->client, K, 2);
    size_t tries = 1;
    while (!goes_by_chance(live, lock, home)) {
        assert_true(tries++ < 20); /* one that the machine is in time for */
    }
}

/* A waiting client goes on at the next node, and is served there. */
static void waits_elsewhere(struct live *live, redlock_client *client, size_t home, bool restarts) {
    redlock_lock *locks[K];
    struct permits_asker a;
    hold_all(live, live->client, locks);
    permits_line_up(live, &a, client, K, 1);
    assert_int_equal(live_integer(live, home, "ZCARD libredlock:line:permits:{key}"), 1);
    live_kill(live, home);
    /* Before home is back: it would be asked again, name free slots, and no line would be left. */
    LIVE_POLL(live, permits_waiting(live) == 1);
    if (restarts) {
        live_restart(live, home);
    }
    assert_int_equal(a.done.count, 0);
    const int32_t freed = redlock_lock_slot(locks[1], 0);
    LIVE_STATUS(live_release(live, locks[1]), 0);
    permits_granted(live, &a);
    assert_int_equal(redlock_lock_slot(a.lock, 0), freed);
    LIVE_STATUS(live_release(live, a.lock), 0);
    LIVE_STATUS(live_release(live, locks[0]), 0);
    LIVE_STATUS(live_release(live, locks[2]), 0);
    LIVE_POLL(live, live_no_keys(live));
}

LIVE_TEST_FIVE(home_dies) {
    waits_elsewhere(live, live->client, permits_home(live), false);
}

/* It names one slot after the other that others hold elsewhere, and comes to the free one. */
static void home_is_wrong(struct live *live, redlock_client *client, size_t home) {
    redlock_lock *locks[K];
    struct permits_asker a;
    const uint64_t before = live_stats(client).attempts;
    hold_all(live, live->client, locks);
    for (int32_t i = 0; i < K; i++) {
        live_tell(live, home, "DEL libredlock:slot:%d:{key}", i);
    }
    permits_ask(&a, client, K, 1);
    LIVE_POLL(live, live_stats(client).attempts > before + K);
    assert_int_equal(a.done.count, 0);
    for (size_t i = 0; i < K; i++) {
        if (redlock_lock_slot(locks[i], 0) == K - 1) { /* the last one that it names */
            LIVE_STATUS(live_release(live, locks[i]), 0);
        }
    }
    permits_granted(live, &a);
    assert_int_equal(redlock_lock_slot(a.lock, 0), K - 1);
    for (size_t i = 0; i < K; i++) {
        if (redlock_lock_slot(locks[i], 0) < K - 1) {
            LIVE_STATUS(live_release(live, locks[i]), 0);
        }
    }
    LIVE_STATUS(live_release(live, a.lock), 0);
    LIVE_POLL(live, live_no_keys(live));
}

/* Home has forgotten the holders, and they do, or do not, tell it again. No guard. */
LIVE_TEST_FIVE(home_comes_back_empty) {
    redlock_client *other = live_another(live);
    const size_t home = permits_home(live);
    waits_elsewhere(live, other, home, true);
    LIVE_POLL(live, live_up(live->client) == 5 && live_up(other) == 5);
    home_is_wrong(live, other, home);
    live_close(live, other);
}

/* The same, in quarantine: it is not home as long as that lasts, and gets no vote. */
LIVE_TEST_FIVE(home_is_in_quarantine) {
    redlock_client *guarded;
    redlock_client_options options = live_options(live);
    options.guard = REDLOCK_GUARD_OBSERVED;
    options.max_ttl_ms = LONG_MS;
    LIVE_STATUS(live_open(live, &options, &guarded), 0);
    LIVE_POLL(live, live_up(guarded) == 5);
    live_close(live, live->client);
    live->client = guarded;
    waits_elsewhere(live, guarded, permits_home(live), true);
    redlock_lock *lock = permits_lock(guarded, K, K);
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_POLL(live, live_up(guarded) == 5);
    LIVE_STATUS(live_acquire(live, lock, &once), 0);
    LIVE_UNTIL(live, live_is_quiet(guarded, 5));
    for (int32_t i = 0; i < K; i++) {
        assert_int_equal(permits_count(live, i, lock), 4);
    }
    LIVE_STATUS(live_release(live, lock), 0);
}

/* -- Connections -- */

/* Home's, while it is asked: what it has reserved is nobody's, and the others grant. */
LIVE_TEST_FIVE(the_question_is_lost) {
    const size_t home = permits_home(live);
    redlock_lock *lock = permits_lock(live->client, 1, 1);
    redlock_acquire_options once = live_once(TTL_MS);
    struct live_done done = {0};
    uint64_t before[LIVE_NODES_MAX];
    count_requests(live, before);
    permits_stop(live, home, 1);
    LIVE_STATUS(redlock_acquire(lock, &once, live_lock_cb, &done), 0);
    live_run_for(live, 50);
    assert_int_equal(done.count, 0);
    permits_go_on(live, home, 1, true);
    LIVE_UNTIL(live, done.count == 1);
    LIVE_STATUS(done.status, 0);
    check_went_by_chance(live, home, before);
    LIVE_POLL(live, live_up(live->client) == 5);
    LIVE_STATUS(live_release(live, lock), 0);
    LIVE_POLL(live, live_is_quiet(live->client, 5) && live_no_keys(live));
}

/* A majority's, while it is asked for the slots: the next attempt is granted, and no other slot is
 * left behind. */
LIVE_TEST_FIVE(the_votes_are_lost) {
    const size_t home = permits_home(live);
    struct permits_asker a;
    permits_stop(live, home + 1, 3);
    permits_ask(&a, live->client, K, 2);
    LIVE_POLL(live, live_stats(live->client).attempts == 2); /* the first was permits_home()'s */
    live_run_for(live, 50);
    assert_int_equal(a.done.count, 0);
    permits_go_on(live, home + 1, 3, true);
    permits_granted(live, &a);
    LIVE_POLL(live, live_up(live->client) == 5 && live_is_quiet(live->client, 5));
    size_t keys = 0;
    for (int32_t slot = 0; slot < K; slot++) {
        const size_t count = permits_count(live, slot, a.lock);
        assert_true(count == 0 || count >= 3);
        keys += count > 0;
    }
    assert_int_equal(keys, 2);
    LIVE_STATUS(live_release(live, a.lock), 0);
    LIVE_POLL(live, live_is_quiet(live->client, 5) && live_no_keys(live));
}

/* -- Cancelled -- */

/* While home is asked: the slot that it reserves is free again at once. */
LIVE_TEST_FIVE(cancelled_while_it_asks_home) {
    redlock_client *other = live_another(live);
    const size_t home = permits_home(live);
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *next = permits_lock(other, 1, 1);
    struct permits_asker a;
    permits_stop(live, home, 1);
    permits_ask(&a, live->client, 1, 1);
    live_run_for(live, 20);
    LIVE_STATUS(redlock_cancel(a.lock), 0);
    LIVE_UNTIL(live, a.done.count == 1);
    LIVE_STATUS(a.done.status, REDLOCK_ERR_CANCELED);
    permits_go_on(live, home, 1, false);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    LIVE_STATUS(live_acquire(live, next, &once), 0);
    assert_int_equal(a.done.count, 1);
    permits_release(live, next);
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, other);
}

/* While all are asked. */
LIVE_TEST_FIVE(cancelled_while_it_asks_all) {
    redlock_client *other = live_another(live);
    const size_t home = permits_home(live);
    redlock_acquire_options once = live_once(TTL_MS);
    redlock_lock *next = permits_lock(other, 1, 1);
    struct permits_asker a;
    permits_stop(live, home + 1, 3);
    permits_ask(&a, live->client, 1, 1);
    LIVE_POLL(live, live_stats(live->client).attempts == 2 && permits_count(live, 0, a.lock) == 2);
    LIVE_STATUS(redlock_cancel(a.lock), 0);
    LIVE_UNTIL(live, a.done.count == 1);
    LIVE_STATUS(a.done.status, REDLOCK_ERR_CANCELED);
    permits_go_on(live, home + 1, 3, false);
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    LIVE_STATUS(live_acquire(live, next, &once), 0);
    assert_int_equal(a.done.count, 1);
    permits_release(live, next);
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, other);
}

/* In line, and when its turn is in the socket, unread: the slot is the next one's. */
LIVE_TEST_FIVE(cancelled_when_its_turn_is_on_the_way) {
    redlock_client *second = live_another(live), *third = live_another(live);
    redlock_client *fourth = live_another(live);
    redlock_lock *locks[K];
    struct permits_asker a, b, c;
    struct live_done released = {0};
    permits_home(live); /* which knows the script of a release then */
    hold_all(live, live->client, locks);
    permits_line_up(live, &a, second, K, 1);
    permits_line_up(live, &b, third, K, 1);
    permits_line_up(live, &c, fourth, K, 1);
    LIVE_STATUS(redlock_cancel(a.lock), 0);
    LIVE_POLL(live, permits_waiting(live) == 2);
    const int32_t freed = redlock_lock_slot(locks[2], 0);
    LIVE_STATUS(redlock_release(locks[2], live_lock_cb, &released), 0);
    live_send(live, 0);
    assert_int_equal(permits_waiting(live), 1);
    LIVE_STATUS(redlock_cancel(b.lock), 0);
    permits_granted(live, &c);
    assert_int_equal(redlock_lock_slot(c.lock, 0), freed);
    LIVE_UNTIL(live, a.done.count == 1 && b.done.count == 1 && released.count == 1);
    LIVE_STATUS(a.done.status, REDLOCK_ERR_CANCELED);
    LIVE_STATUS(b.done.status, REDLOCK_ERR_CANCELED);
    LIVE_STATUS(live_release(live, c.lock), 0);
    release_all(live, locks, 2);
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, second);
    live_close(live, third);
    live_close(live, fourth);
}

/* -- Holders that go -- */

/* A client is closed: waiting clients get its permits, even one that wants several. */
LIVE_TEST_FIVE(a_client_goes_with_its_permits) {
    redlock_client *other = live_another(live), *third = live_another(live);
    redlock_lock *locks[K], *free_one = permits_lock(live->client, K, 1);
    struct permits_asker all, one;
    hold_all(live, other, locks);
    permits_line_up(live, &all, live->client, K, 2);
    permits_line_up(live, &one, third, K, 1);
    permits_release(live, locks[0]); /* not enough for the first, nor for any client behind it */
    redlock_acquire_options once = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, free_one, &once), REDLOCK_ERR_HELD);
    assert_int_equal(all.done.count + one.done.count, 0);
    live_close(live, other);
    permits_granted(live, &all);
    permits_granted(live, &one);
    const int32_t sum = redlock_lock_slot(all.lock, 0) + redlock_lock_slot(all.lock, 1) +
                        redlock_lock_slot(one.lock, 0);
    assert_int_equal(sum, 0 + 1 + 2);
    LIVE_STATUS(live_release(live, all.lock), 0);
    LIVE_STATUS(live_release(live, one.lock), 0);
    LIVE_POLL(live, live_no_keys(live));
    live_close(live, third);
}

/* -- A process that is killed -- */

struct child {
    redlock_client *client;
    redlock_lock *lock;
    int fd;
};

static void child_holds(redlock_lock *lock, int status, void *data) {
    const struct child *child = data;
    const int32_t slot = status == 0 ? redlock_lock_slot(lock, 0) : -1;
    if (write(child->fd, &slot, sizeof slot) != (ssize_t)sizeof slot) {
        _exit(70);
    }
}

/* Holds, and extends it, until it is killed. */
static void child_run(const struct live *live, int fd) {
    struct child child = {.fd = fd};
    uv_loop_t loop;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    redlock_acquire_options acquire = live_patient(CHILD_TTL_MS);
    options.nodes = live->urls;
    options.n_nodes = live->n;
    options.guard = REDLOCK_GUARD_OFF;
    acquire.auto_extend = 1;
    if (uv_loop_init(&loop) == 0 &&
        redlock_client_open(&child.client, &loop, &options, NULL, NULL) == 0) {
        child.lock = permits_lock(child.client, K, 1);
        if (redlock_acquire(child.lock, &acquire, child_holds, &child) == 0) {
            uv_run(&loop, UV_RUN_DEFAULT);
        }
    }
    _exit(71);
}

/* Its key's life has become longer since this was asked before, on any node. */
static bool was_extended(const struct live *live, int32_t slot) {
    static long long before[LIVE_NODES_MAX];
    bool longer = false;
    char key[64];
    snprintf(key, sizeof key, "libredlock:slot:%d:{key}", slot);
    for (size_t i = 0; i < live->n; i++) {
        const long long left = live_pttl(live, i, key);
        longer = longer || (before[i] > 0 && left > before[i]);
        before[i] = left;
    }
    return longer;
}

/* Its permit is extended as long as it lives, and another's when its ttl is over. */
LIVE_TEST_FIVE(a_holder_is_killed) {
    redlock_lock *locks[K - 1];
    struct permits_asker next;
    int fds[2], status;
    int32_t slot = -1;
    assert_int_equal(pipe(fds), 0);
    const pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == parent) {
            child_run(live, fds[1]);
        }
        _exit(72);
    }
    close(fds[1]);
    assert_int_equal(read(fds[0], &slot, sizeof slot), sizeof slot);
    close(fds[0]);
    assert_in_range(slot, 0, K - 1);
    for (size_t i = 0; i < K - 1; i++) {
        locks[i] = permits_lock(live->client, K, 1);
        permits_hold(live, locks[i], TTL_MS);
        assert_int_not_equal(redlock_lock_slot(locks[i], 0), slot);
    }
    permits_line_up(live, &next, live->client, K, 1);
    LIVE_POLL(live, was_extended(live, slot));
    assert_int_equal(next.done.count, 0);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    permits_granted(live, &next);
    assert_int_equal(redlock_lock_slot(next.lock, 0), slot);
    LIVE_STATUS(live_release(live, next.lock), 0);
    release_all(live, locks, K - 1);
    LIVE_POLL(live, live_no_keys(live));
}
