/* The frame of a live test: loop, client, locks. See live.h. */
#include "live/live.h"
#include "messages.h"

#include <poll.h>

static uv_loop_t *running; /* the loop of the test that runs */
static struct live *failed;

/* -- The frame -- */

int live_setup(void **state) {
    struct live *live = calloc(1, sizeof(*live));
    if (live == NULL || uv_loop_init(&live->loop) != 0) {
        free(live);
        return -1;
    }
    uv_timer_init(&live->loop, &live->watchdog);
    uv_unref((uv_handle_t *)&live->watchdog);
    running = &live->loop;
    live->run = *state != NULL ? ((const struct live_case *)*state)->run : NULL;
    *state = live;
    return 0;
}

void live_run(void **state) {
    struct live *live = *state;
    live->run(live);
    if (!live->is_ended) {
        live_end(live);
    }
}

int live_setup_five(void **state) {
    if (live_setup(state) != 0) {
        return -1;
    }
    live_start(*state, 5, NULL);
    live_open_all(*state, NULL);
    return 0;
}

int live_setup_five_hasty(void **state) {
    if (live_setup(state) != 0) {
        return -1;
    }
    ((struct live *)*state)->is_hasty = true;
    live_start(*state, 5, NULL);
    live_open_all(*state, NULL);
    return 0;
}

int live_teardown(void **state) {
    struct live *live = *state;
    for (size_t i = 0; i < live->n_sets; i++) {
        rl_local_nodes_stop(live->sets[i]);
    }
    if (!live->is_ended) {
        live->next_failed = failed; /* keeps its client reachable for LeakSanitizer */
        failed = live;
        return -1;
    }
    free(live);
    return 0;
}

void live_end(struct live *live) {
    if (live->client != NULL) {
        live_close(live, live->client);
        live->client = NULL;
    }
    uv_close((uv_handle_t *)&live->watchdog, NULL);
    assert_int_equal(uv_run(&live->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&live->loop), 0);
    live->is_ended = true;
}

/* The timer may fire before the loop polls, and the poll would then wait for ever: hence
 * uv_stop(). */
static void late_cb(uv_timer_t *timer) {
    struct live *live = timer->data;
    live->is_late = true;
    uv_stop(timer->loop);
}

static void wake_cb(uv_timer_t *timer) {
    *(bool *)timer->data = true;
    uv_stop(timer->loop);
}

void live_watch(struct live *live, uint64_t patience_ms) {
    live->is_late = false;
    live->watchdog.data = live;
    uv_update_time(&live->loop);
    uv_timer_start(&live->watchdog, late_cb, patience_ms, 0);
}

void live_turn(struct live *live, unsigned poll_ms, const char *what, const char *file, int line) {
    if (live->is_late) {
        print_error("waited in vain for: %s\n", what);
        if (live->client != NULL) {
            print_error("%s\n", CLIENT_MESSAGE(live->client));
        }
        _fail(file, line);
    }
    if (poll_ms == 0) {
        uv_run(&live->loop, UV_RUN_ONCE);
    } else {
        live_run_for(live, poll_ms);
    }
}

void live_run_for(struct live *live, unsigned ms) {
    uv_timer_t timer;
    bool is_over = false;
    uv_timer_init(&live->loop, &timer);
    timer.data = &is_over;
    uv_update_time(&live->loop);
    uv_timer_start(&timer, wake_cb, ms, 0);
    while (!is_over) {
        uv_run(&live->loop, UV_RUN_ONCE);
    }
    uv_close((uv_handle_t *)&timer, NULL);
    uv_run(&live->loop, UV_RUN_NOWAIT); /* libuv closes the timer before this returns */
}

void live_wake(void) {
    uv_stop(running);
}

void live_block_until(uint64_t at_ns) {
    uint64_t now_ns = redlock_now_ns();
    while (now_ns < at_ns) {
        (void)poll(NULL, 0, (int)((at_ns - now_ns) / LIVE_MS));
        now_ns = redlock_now_ns();
    }
}

/* -- Clients -- */

redlock_client_options live_options(const struct live *live) {
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = live->urls;
    options.n_nodes = live->n;
    options.guard = live->guard;
    options.tls_ca = live->ca[0] != '\0' ? live->ca : NULL;
    options.reconnect_max_ms = 100; /* tests that kill nodes do not wait long */
    if (!live->is_hasty) {
        options.node_timeout_ms = options.connect_timeout_ms = LIVE_TIMEOUT_MS;
    }
    return options;
}

void live_client_cb(redlock_client *client, int status, void *data) {
    struct live_done *done = data;
    done->count++;
    done->status = status;
    done->at_ns = redlock_now_ns();
    live_wake();
}

int live_open(struct live *live, const redlock_client_options *options, redlock_client **client) {
    struct live_done done = {0};
    char error[REDLOCK_MESSAGE_MAX] = "";
    redlock_client_options full = *options;
    full.error = error;
    full.error_size = sizeof(error);
    int status = redlock_client_open(client, &live->loop, &full, live_client_cb, &done);
    if (status != 0) {
        print_error("%s\n", error);
    }
    LIVE_STATUS(status, 0);
    assert_int_equal(done.count, 0);
    LIVE_UNTIL(live, done.count > 0);
    assert_int_equal(done.count, 1);
    return done.status;
}

redlock_client *live_another(struct live *live) {
    redlock_client *client = NULL;
    redlock_client_options options = live_options(live);
    LIVE_STATUS(live_open(live, &options, &client), 0);
    LIVE_UNTIL(live, live_up(client) == live->n);
    return client;
}

void live_close(struct live *live, redlock_client *client) {
    struct live_done done = {0};
    LIVE_STATUS(redlock_client_close(client, live_client_cb, &done), 0);
    assert_int_equal(done.count, 0);
    LIVE_UNTIL(live, done.count > 0);
    assert_int_equal(done.count, 1);
    LIVE_STATUS(done.status, 0);
}

void live_open_all(struct live *live, const redlock_client_options *options) {
    redlock_client_options defaults = live_options(live);
    assert_null(live->client);
    options = options != NULL ? options : &defaults;
    LIVE_STATUS(live_open(live, options, &live->client), 0);
    LIVE_UNTIL(live, live_up(live->client) == options->n_nodes);
}

redlock_stats live_stats(const redlock_client *client) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    LIVE_STATUS(redlock_client_stats(client, &stats), 0);
    return stats;
}

uint64_t live_up(const redlock_client *client) {
    return live_stats(client).nodes_up;
}

redlock_node_info live_node(const redlock_client *client, size_t i) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    LIVE_STATUS(redlock_client_node(client, i, &info), 0);
    return info;
}

bool live_is_quiet(const redlock_client *client, size_t n) {
    for (size_t i = 0; i < n; i++) {
        redlock_node_info info = live_node(client, i);
        if (info.outstanding != 0 || info.pending_releases != 0) {
            return false;
        }
    }
    return true;
}

/* -- Locks -- */

void live_lock_cb(redlock_lock *lock, int status, void *data) {
    live_client_cb(redlock_lock_client(lock), status, data);
}

redlock_lock *live_lock(redlock_client *client, const char *resource) {
    redlock_lock *lock = NULL;
    LIVE_STATUS(redlock_lock_new(client, resource, strlen(resource), &lock), 0);
    return lock;
}

redlock_lock *live_lock_with(redlock_client *client, const char *resource,
                             redlock_lock_options options) {
    redlock_lock *lock = NULL;
    const redlock_bytes name = {resource, strlen(resource)};
    options.size = sizeof options;
    options.take = options.take != 0 ? options.take : 1;
    options.resources = &name;
    options.n_resources = 1;
    LIVE_STATUS(redlock_lock_new_with(client, &options, &lock, NULL, 0), 0);
    return lock;
}

redlock_acquire_options live_once(int64_t ttl_ms) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = ttl_ms;
    options.tries = 1;
    return options;
}

redlock_acquire_options live_patient(int64_t ttl_ms) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = ttl_ms;
    options.tries = options.wait_ms = REDLOCK_NO_LIMIT;
    return options;
}

redlock_node_outcome live_outcome(const redlock_lock *lock, size_t i) {
    redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
    LIVE_STATUS(redlock_lock_outcome(lock, i, &outcome), 0);
    return outcome;
}

size_t live_votes(const redlock_lock *lock, size_t n, enum redlock_vote vote) {
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += live_outcome(lock, i).vote == vote;
    }
    return count;
}

static int wait_for(struct live *live, int submitted, struct live_done *done) {
    LIVE_STATUS(submitted, 0);
    assert_int_equal(done->count, 0); /* not inside the call that submitted it */
    LIVE_UNTIL(live, done->count > 0);
    assert_int_equal(done->count, 1);
    return done->status;
}

int live_acquire(struct live *live, redlock_lock *lock, const redlock_acquire_options *options) {
    struct live_done done = {0};
    return wait_for(live, redlock_acquire(lock, options, live_lock_cb, &done), &done);
}

void live_hold(struct live *live, redlock_lock *lock, const redlock_acquire_options *options) {
    LIVE_STATUS(live_acquire(live, lock, options), 0);
    LIVE_UNTIL(live, live_votes(lock, live->n, REDLOCK_VOTE_GRANTED) == live->n);
}

int live_extend(struct live *live, redlock_lock *lock, int64_t ttl_ms) {
    struct live_done done = {0};
    return wait_for(live, redlock_extend(lock, ttl_ms, live_lock_cb, &done), &done);
}

int live_release(struct live *live, redlock_lock *lock) {
    struct live_done done = {0};
    return wait_for(live, redlock_release(lock, live_lock_cb, &done), &done);
}

void live_cycle(struct live *live, redlock_client *client) {
    redlock_lock *lock = live_lock(client, "key");
    LIVE_STATUS(live_acquire(live, lock, NULL), 0);
    LIVE_STATUS(live_extend(live, lock, 0), 0);
    LIVE_STATUS(live_release(live, lock), 0);
    redlock_lock_free(lock);
}
