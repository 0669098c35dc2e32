/* Opening: without nodes, with bad options, with failing parts; and how the loop thread interacts
 * with the program's signals and cancellation. */
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "blocking/crew.h"

LIVE_TEST(no_node_is_up) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    redlock_blocking *blocking = NULL;
    live_start(live, 3, NULL);
    redlock_client_options options = live_options(live);
    live_do(live, live_kill, 0, 3);
    options.error = error;
    options.error_size = sizeof error;
    LIVE_STATUS(redlock_blocking_open(&blocking, &options), REDLOCK_ERR_NO_QUORUM);
    assert_contains(error, "0 of 3 nodes up");
    assert_non_null(blocking);
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    LIVE_STATUS(redlock_mutex_try_lock(mutex), REDLOCK_ERR_NO_QUORUM);
    LIVE_STATUS(redlock_mutex_lock(mutex, 200), REDLOCK_ERR_DEADLINE);
    live_do(live, live_restart, 0, 3);
    LIVE_STATUS(redlock_mutex_lock(mutex, LIVE_PATIENCE_MS), 0); /* it went on connecting */
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    crew_end(live, blocking);
}

/* A server accepts connections and stays silent: open ends after connect_timeout_ms. */
LIVE_TEST(nodes_that_stand_still) {
    redlock_blocking *blocking = NULL;
    live_start(live, 1, NULL);
    live_pause(live, 0);
    redlock_client_options options = live_options(live);
    options.connect_timeout_ms = 300;
    uint64_t began_ns = redlock_now_ns();
    LIVE_STATUS(redlock_blocking_open(&blocking, &options), REDLOCK_ERR_NO_QUORUM);
    assert_true(redlock_now_ns() - began_ns < 5000 * LIVE_MS);
    live_resume(live, 0);
    crew_end(live, blocking);
}

LIVE_TEST(bad_options) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    const char *urls[] = {"redis://127.0.0.1:1", "http://127.0.0.1:2"};
    redlock_blocking *blocking = (redlock_blocking *)error;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.error = error;
    options.error_size = sizeof error;
    LIVE_STATUS(redlock_blocking_open(&blocking, &options), REDLOCK_ERR_INVALID);
    assert_contains(error, "no nodes");
    assert_null(blocking);
    options.nodes = urls;
    options.n_nodes = 2;
    LIVE_STATUS(redlock_blocking_open(&blocking, &options), REDLOCK_ERR_URL);
    assert_contains(error, "http");
    LIVE_STATUS(redlock_blocking_open(NULL, &options), REDLOCK_ERR_INVALID);
    LIVE_STATUS(redlock_blocking_open(&blocking, NULL), REDLOCK_ERR_INVALID);
    options.size = 8;
    LIVE_STATUS(redlock_blocking_open(&blocking, &options), REDLOCK_ERR_INVALID);
    crew_end(live, NULL);
}

/* -- Memory that fails, one allocation after the other -- */

struct purse {
    pthread_mutex_t mutex; /* several threads allocate */
    int left;              /* allocations until they fail */
    int blocks;            /* that are in use */
};

static void *purse_malloc(size_t size, void *data) {
    struct purse *purse = data;
    void *pointer = NULL;
    pthread_mutex_lock(&purse->mutex);
    if (purse->left > 0) {
        purse->left--;
        pointer = malloc(size);
        purse->blocks += pointer != NULL;
    }
    pthread_mutex_unlock(&purse->mutex);
    return pointer;
}

static void purse_free(void *pointer, void *data) {
    struct purse *purse = data;
    pthread_mutex_lock(&purse->mutex);
    purse->blocks -= pointer != NULL;
    pthread_mutex_unlock(&purse->mutex);
    free(pointer);
}

/* Returns whether everything succeeded. */
static bool try_with(const struct live *live, struct purse *purse) {
    redlock_allocator allocator = {purse_malloc, purse_free, purse};
    redlock_client_options options = live_options(live);
    redlock_blocking *blocking;
    redlock_mutex *mutex = NULL;
    options.allocator = &allocator;
    int status = redlock_blocking_open(&blocking, &options);
    if (status != 0 && status != REDLOCK_ERR_NO_QUORUM) {
        LIVE_STATUS(status, REDLOCK_ERR_NOMEM);
        assert_null(blocking);
        return false;
    }
    int second = 0;
    int made = redlock_mutex_new(blocking, "one", 3, NULL, &mutex);
    if (made != 0) {
        LIVE_STATUS(made, REDLOCK_ERR_NOMEM);
        assert_null(mutex);
    } else {
        status = redlock_mutex_lock(mutex, 0);
        if (status == 0) {
            second = crew_do(mutex, crew_lock, 20); /* a second owner needs a lock object */
            assert_true(second == REDLOCK_ERR_DEADLINE || second == REDLOCK_ERR_NOMEM);
            LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
        }
        LIVE_STATUS(redlock_mutex_free(mutex), 0);
    }
    LIVE_STATUS(redlock_blocking_close(blocking), 0);
    return made == 0 && second == REDLOCK_ERR_DEADLINE;
}

LIVE_TEST(memory_that_fails) {
    struct purse purse = {.left = 0};
    int successes = 0;
    live_start(live, 3, NULL);
    assert_int_equal(pthread_mutex_init(&purse.mutex, NULL), 0);
    for (int n = 0; successes < 5; n++) {
        assert_true(n < 200);
        purse.left = n;
        successes += try_with(live, &purse);
        assert_int_equal(purse.blocks, 0);
    }
    pthread_mutex_destroy(&purse.mutex);
    crew_end(live, NULL);
}

/* -- The program around it -- */

static atomic_int signals;

static void on_signal(int number) {
    atomic_fetch_add(&signals, 1);
}

/* A signal that this thread blocks stays pending: the loop thread does not take it, though it
 * enters the kernel many times. */
LIVE_TEST(signals_are_not_for_the_loop) {
    sigset_t one;
    sigset_t before;
    sigset_t pending;
    struct sigaction action = {.sa_handler = on_signal};
    struct sigaction old;
    live_start(live, 3, NULL);
    redlock_blocking *blocking = crew_open(live);
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    sigemptyset(&one);
    sigaddset(&one, SIGUSR1);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, &one, &before), 0);
    assert_false(sigismember(&before, SIGUSR1)); /* opening has restored the mask */
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    assert_int_equal(kill(getpid(), SIGUSR1), 0);
    for (int i = 0; i < 10; i++) {
        LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
        LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    }
    assert_int_equal(sigpending(&pending), 0);
    assert_true(sigismember(&pending, SIGUSR1));
    assert_int_equal(atomic_load(&signals), 0);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    assert_int_equal(atomic_load(&signals), 1);
    sigaction(SIGUSR1, &old, NULL);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    crew_end(live, blocking);
}

static redlock_mutex *asked; /* that the handler uses */
static volatile sig_atomic_t was_valid;

static void ask_in_handler(int number) {
    was_valid = redlock_mutex_is_valid(asked);
}

LIVE_TEST(is_valid_in_a_handler) {
    struct sigaction action = {.sa_handler = ask_in_handler};
    struct sigaction old;
    live_start(live, 3, NULL);
    redlock_blocking *blocking = crew_open(live);
    asked = crew_mutex(blocking, "one", NULL);
    LIVE_STATUS(redlock_mutex_lock(asked, 5000), 0);
    assert_int_equal(sigaction(SIGUSR1, &action, &old), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(was_valid, 1);
    LIVE_STATUS(redlock_mutex_unlock(asked), 0);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_int_equal(was_valid, 0);
    sigaction(SIGUSR1, &old, NULL);
    LIVE_STATUS(redlock_mutex_free(asked), 0);
    crew_end(live, blocking);
}

/* pthread_cancel() of a thread that waits: the call ends first, as it would have. */
static void *lock_and_be_canceled(void *data) {
    struct member *member = data;
    atomic_store(&member->stage, 1);
    member->status = redlock_mutex_lock(member->mutex, member->timeout_ms);
    member->other = redlock_mutex_unlock(member->mutex);
    atomic_store(&member->stage, 2);
    pthread_testcancel();
    atomic_store(&member->stage, 3);
    return NULL;
}

LIVE_TEST(a_thread_that_waits_is_canceled) {
    pthread_t thread;
    void *result = NULL;
    live_start(live, 3, NULL);
    redlock_blocking *blocking = crew_open(live);
    redlock_mutex *mutex = crew_mutex(blocking, "one", NULL);
    struct member member = {.mutex = mutex, .timeout_ms = LIVE_PATIENCE_MS};
    LIVE_STATUS(redlock_mutex_lock(mutex, 5000), 0);
    assert_int_equal(pthread_create(&thread, NULL, lock_and_be_canceled, &member), 0);
    LIVE_POLL(live, crew_stats(blocking).waiting == 1);
    assert_int_equal(pthread_cancel(thread), 0);
    LIVE_STATUS(redlock_mutex_unlock(mutex), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_true(result == PTHREAD_CANCELED);
    assert_int_equal(atomic_load(&member.stage), 2);
    LIVE_STATUS(member.status, 0);
    LIVE_STATUS(member.other, 0);
    LIVE_STATUS(redlock_mutex_free(mutex), 0);
    crew_end(live, blocking);
}

/* pthread_cancel() of a thread that closes or frees: the call completes first. */
static void *close_and_be_canceled(void *data) {
    struct member *member = data;
    pthread_cancel(pthread_self());
    member->status = redlock_blocking_close(member->blocking);
    atomic_store(&member->stage, 1);
    pthread_testcancel();
    return NULL;
}

static void *free_and_be_canceled(void *data) {
    struct member *member = data;
    pthread_cancel(pthread_self());
    member->status = redlock_mutex_free(member->mutex);
    atomic_store(&member->stage, 1);
    pthread_testcancel();
    return NULL;
}

static void is_canceled_after(void *(*run)(void *member), struct member *member) {
    pthread_t thread;
    void *result = NULL;
    atomic_store(&member->stage, 0);
    assert_int_equal(pthread_create(&thread, NULL, run, member), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_true(result == PTHREAD_CANCELED);
    assert_int_equal(atomic_load(&member->stage), 1);
    LIVE_STATUS(member->status, 0);
}

LIVE_TEST(a_thread_that_closes_is_canceled) {
    live_start(live, 3, NULL);
    struct member member = {.blocking = crew_open(live)};
    is_canceled_after(close_and_be_canceled, &member);
    member.blocking = crew_open(live);
    member.mutex = crew_mutex(member.blocking, "one", NULL);
    is_canceled_after(close_and_be_canceled, &member);
    is_canceled_after(free_and_be_canceled, &member); /* it has the last reference */
}
