/* After fork(): the child's copy of a client answers ERR_FORKED to every call and can be closed;
 * the parent's client, its sockets and its loop are not affected. */
#include <sys/syscall.h>

#include "child.h"
#include "live/live.h"
#include "messages.h"
#include "redlock/token.h"

/* Children get their parent's pid, as the first process of a pid namespace may: no check may rely
 * on the pid. */
pid_t getpid(void) {
    static pid_t first;
    first = first != 0 ? first : (pid_t)syscall(SYS_getpid);
    return first;
}

#define TTL_MS 30000
#define SHORT_MS 200

static void never(redlock_lock *lock, int status, void *data) {
    (void)lock, (void)status, (void)data;
    _exit(251);
}

static void never_client(redlock_client *client, int status, void *data) {
    (void)client, (void)status, (void)data;
    _exit(252);
}

static void never_query(redlock_query *query, int status, void *data) {
    (void)query, (void)status, (void)data;
    _exit(253);
}

/* freed: a lock that is held as well. */
static _Noreturn void child(redlock_client *client, redlock_lock *held, redlock_lock *idle,
                            redlock_lock *freed) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    CHILD_CHECK(redlock_lock_is_valid(held) == 0);
    CHILD_CHECK(redlock_acquire(idle, NULL, never, NULL) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_acquire(held, NULL, never, NULL) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_extend(held, 0, never, NULL) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_release(held, never, NULL) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_cancel(held) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_query_holder(client, "k", 1, never_query, NULL) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_client_set_credentials(client, 0, "app", "new") == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_client_stats(client, &stats) == 0);
    CHILD_CHECK(strlen(LOCK_MESSAGE(held)) > 0);
    CHILD_CHECK(strlen(CLIENT_MESSAGE(client)) > 0);
    redlock_lock_free(idle);
    redlock_lock_free(freed);
    CHILD_CHECK(redlock_client_close(client, never_client, NULL) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_client_close(client, never_client, NULL) != 0);
    CHILD_CHECK(redlock_release(held, never, NULL) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(redlock_lock_is_valid(held) == 0);
    _exit(0);
}

static void check_parent(struct live *live, redlock_lock *held, redlock_lock *idle) {
    assert_int_equal(redlock_lock_is_valid(held), 1);
    LIVE_STATUS(live_extend(live, held, TTL_MS), 0);
    for (int i = 0; i < 20; i++) {
        LIVE_STATUS(live_acquire(live, idle, NULL), 0);
        LIVE_STATUS(live_release(live, idle), 0);
    }
    LIVE_UNTIL(live, live_is_quiet(live->client, 5));
    assert_int_equal(live_count_keys(live, "held", redlock_lock_token(held)), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(live_node(live->client, i).connects, 1); /* no socket was lost */
        assert_int_equal(live_node(live->client, i).failures, 0);
    }
}

LIVE_TEST_FIVE(parent_goes_on) {
    redlock_lock *held = live_lock(live->client, "held");
    redlock_lock *idle = live_lock(live->client, "idle");
    redlock_lock *freed = live_lock(live->client, "freed");
    redlock_acquire_options options = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, held, &options), 0);
    LIVE_STATUS(live_acquire(live, freed, &options), 0);
    for (int round = 0; round < 3; round++) {
        pid_t pid = fork();
        if (pid == 0) {
            child(live->client, held, idle, freed);
        }
        child_expect_good(pid);
        check_parent(live, held, idle);
    }
    LIVE_STATUS(live_release(live, held), 0);
    LIVE_STATUS(live_release(live, freed), 0);
    live_end(live);
    assert_true(live_no_keys(live));
}

/* Forks while requests are outstanding; the answers arrive while both processes run. */
LIVE_TEST_FIVE(in_the_middle_of_a_round) {
    struct live_done extended = {0};
    struct live_done acquired = {0};
    redlock_lock *held = live_lock(live->client, "held");
    redlock_lock *idle = live_lock(live->client, "idle");
    redlock_lock *freed = live_lock(live->client, "freed");
    redlock_acquire_options options = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, held, &options), 0);
    LIVE_STATUS(live_acquire(live, freed, &options), 0);
    LIVE_STATUS(redlock_extend(held, 0, live_lock_cb, &extended), 0);
    uv_run(&live->loop, UV_RUN_NOWAIT);
    LIVE_STATUS(redlock_acquire(idle, &options, live_lock_cb, &acquired), 0);
    pid_t pid = fork();
    if (pid == 0) {
        child(live->client, held, idle, freed);
    }
    LIVE_UNTIL(live, extended.count == 1 && acquired.count == 1);
    child_expect_good(pid);
    LIVE_STATUS(extended.status, 0);
    LIVE_STATUS(acquired.status, 0);
    LIVE_STATUS(live_release(live, idle), 0);
    check_parent(live, held, idle);
    live_end(live);
    assert_true(live_no_keys(live));
}

struct own {
    uv_loop_t loop;
    int count;
    int status;
};

static void own_cb(redlock_lock *lock, int status, void *data) {
    struct own *own = data;
    own->count++;
    own->status = status;
    uv_stop(&own->loop);
}

/* The child opens its own client on its own loop, and excludes its parent like any other client. */
static _Noreturn void child_with_its_own(struct live *live) {
    struct own own = {.count = 0};
    redlock_client *client = NULL;
    redlock_lock *lock = NULL;
    redlock_client_options options = live_options(live);
    redlock_acquire_options once = live_once(TTL_MS);
    CHILD_CHECK(redlock_client_close(live->client, never_client, NULL) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(uv_loop_init(&own.loop) == 0);
    CHILD_CHECK(redlock_client_open(&client, &own.loop, &options, NULL, NULL) == 0);
    while (live_up(client) < 5) {
        uv_run(&own.loop, UV_RUN_ONCE);
    }
    CHILD_CHECK(redlock_lock_new(client, "held", 4, &lock) == 0);
    CHILD_CHECK(redlock_acquire(lock, &once, own_cb, &own) == 0);
    while (own.count == 0) {
        uv_run(&own.loop, UV_RUN_ONCE);
    }
    CHILD_CHECK(own.count == 1 && own.status == REDLOCK_ERR_HELD);
    CHILD_CHECK(redlock_client_close(client, NULL, NULL) == 0);
    CHILD_CHECK(uv_run(&own.loop, UV_RUN_DEFAULT) == 0);
    CHILD_CHECK(uv_loop_close(&own.loop) == 0);
    _exit(0);
}

LIVE_TEST_FIVE(child_opens_its_own) {
    redlock_lock *held = live_lock(live->client, "held");
    redlock_acquire_options options = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, held, &options), 0);
    pid_t pid = fork();
    if (pid == 0) {
        child_with_its_own(live);
    }
    child_expect_good(pid);
    check_parent(live, held, live_lock(live->client, "idle"));
    live_end(live);
    assert_true(live_no_keys(live));
}

static void count_turn(uv_check_t *check) {
    int *turns = check->data;
    (*turns)++;
}

static void stop_loop(uv_timer_t *timer) {
    uv_stop(timer->loop);
}

/* A server's worker goes on using the loop that it has inherited. The timers of its parent's client
 * expire here, too, and must not keep the loop from sleeping. */
static _Noreturn void child_runs_the_loop(struct live *live) {
    uv_check_t check;
    uv_timer_t timer;
    int turns = 0;
    CHILD_CHECK(uv_loop_fork(&live->loop) == 0);
    uv_check_init(&live->loop, &check);
    check.data = &turns;
    uv_check_start(&check, count_turn);
    uv_timer_init(&live->loop, &timer);
    uv_timer_start(&timer, stop_loop, 4 * SHORT_MS, 0);
    uv_run(&live->loop, UV_RUN_DEFAULT);
    CHILD_CHECK(turns > 0 && turns < 100);
    _exit(0);
}

LIVE_TEST_FIVE(child_goes_on_with_the_loop) {
    struct live_done lost = {0};
    redlock_lock *held = live_lock(live->client, "held");
    redlock_lock *idle = live_lock(live->client, "idle");
    redlock_acquire_options options = live_once(SHORT_MS);
    options.on_lost = live_lock_cb;
    options.lost_data = &lost;
    LIVE_STATUS(live_acquire(live, idle, &options), 0);
    pid_t pid = fork();
    if (pid == 0) {
        child_runs_the_loop(live);
    }
    LIVE_UNTIL(live, lost.count == 1);
    child_expect_good(pid);
    options = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, held, &options), 0);
    check_parent(live, held, idle);
    live_end(live);
}

/* The child closes its copy of the client and then runs the loop, which still knows the sockets.
 * forks_first: uv_loop_fork() comes before the close. */
static _Noreturn void child_closes_and_runs(struct live *live, bool forks_first) {
    uv_timer_t timer;
    CHILD_CHECK(!forks_first || uv_loop_fork(&live->loop) == 0);
    CHILD_CHECK(redlock_client_close(live->client, never_client, NULL) == REDLOCK_ERR_FORKED);
    CHILD_CHECK(forks_first || uv_loop_fork(&live->loop) == 0);
    uv_timer_init(&live->loop, &timer);
    uv_timer_start(&timer, stop_loop, SHORT_MS, 0);
    uv_run(&live->loop, UV_RUN_DEFAULT);
    _exit(0);
}

LIVE_TEST_FIVE(child_closes_and_goes_on_with_the_loop) {
    redlock_lock *held = live_lock(live->client, "held");
    redlock_acquire_options options = live_once(TTL_MS);
    LIVE_STATUS(live_acquire(live, held, &options), 0);
    for (int i = 0; i < 2; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            child_closes_and_runs(live, i == 0);
        }
        child_expect_good(pid);
    }
    check_parent(live, held, live_lock(live->client, "idle"));
}
