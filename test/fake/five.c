/* See five.h. Happy path: every wait is a loop of five_turn() and a check of the condition. Failure
 * mode: patience ends, and the next assertion names the place. */

#include <malloc.h>

#include "client/state.h"
#include "core/home.h"
#include "fake/five.h"

#define MEMORY_CAP_DEFAULT (4u << 20)
#define STALL_MAX_NS 1000000000u

/* AddressSanitizer's allocator, if the test is built with it. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated_bytes(void) {
    if (__sanitizer_get_current_allocated_bytes != NULL) {
        return __sanitizer_get_current_allocated_bytes();
    }
#ifdef __GLIBC__
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#else
    return 0; /* other C libraries do not report it: the bound on memory is not checked there */
#endif
}

static void on_tick(uv_timer_t *tick) {
    (void)tick; /* it has ended the turn */
}

/* A turn seems to be too long: subtracts the time that the machine kept us from running since the
 * wait began. Only then, since reading that takes as long as many turns. */
static uint64_t turn_of_ours(struct five *f, uint64_t took_ns) {
    if (took_ns < STALL_MAX_NS) {
        return took_ns;
    }
    uint64_t kept_ns = spent_kept_ns(&f->waiting);
    f->waiting = spent_begin();
    return took_ns > kept_ns ? took_ns - kept_ns : 0;
}

/* One turn of the loop, measured. */
static void five_turn(struct five *f) {
    uint64_t begin_ns = uv_hrtime();
    uv_run(&f->loop, UV_RUN_ONCE);
    uint64_t took_ns = turn_of_ours(f, uv_hrtime() - begin_ns);
    size_t memory = allocated_bytes();
    f->stall_ns = took_ns > f->stall_ns ? took_ns : f->stall_ns;
    f->memory_most = memory > f->memory_most ? memory : f->memory_most;
}

bool five_run_until(struct five *f, five_condition *condition, void *data) {
    uint64_t end_ns = uv_hrtime() + FIVE_PATIENCE_MS * UINT64_C(1000000);
    f->waiting = spent_begin();
    bool holds = condition(f, data);
    while (!holds && uv_hrtime() < end_ns) {
        five_turn(f);
        holds = condition(f, data);
    }
    return holds;
}

void five_run_ms(struct five *f, uint64_t ms) {
    uint64_t end_ns = uv_hrtime() + ms * 1000000;
    f->waiting = spent_begin();
    while (uv_hrtime() < end_ns) {
        five_turn(f);
    }
}

/* -- Conditions -- */

static bool was_called(struct five *f, void *data) {
    return ((const struct five_done *)data)->calls > 0;
}

int five_wait(struct five *f, const struct five_done *done) {
    assert_true(five_run_until(f, was_called, (void *)(uintptr_t)done));
    assert_int_equal(done->calls, 1);
    return done->status;
}

static bool are_up(struct five *f, void *data) {
    return five_stats(f).nodes_up == *(const size_t *)data;
}

void five_wait_up(struct five *f, size_t count) {
    assert_true(five_run_until(f, are_up, &count));
}

struct node_wait {
    size_t index, count;
    bool up;
    const char *command;
};

static bool node_is(struct five *f, void *data) {
    const struct node_wait *wait = data;
    return five_info(f, wait->index).up == wait->up;
}

void five_wait_node(struct five *f, size_t index, bool up) {
    struct node_wait wait = {.index = index, .up = up};
    assert_true(five_run_until(f, node_is, &wait));
}

static bool has_been_down(struct five *f, void *data) {
    const struct node_wait *wait = data;
    return f->downs[wait->index].times >= wait->count;
}

void five_wait_down(struct five *f, size_t index, unsigned times, int status) {
    struct node_wait wait = {.index = index, .count = times};
    assert_true(five_run_until(f, has_been_down, &wait));
    assert_int_equal(f->downs[index].status, status);
}

/* A release that was sent again is no longer pending, but not answered yet. */
static bool nothing_owed(struct five *f, void *data) {
    uint64_t outstanding = 0;
    for (size_t i = 0; i < f->options.n_nodes; i++) {
        outstanding += five_info(f, i).outstanding;
    }
    return five_stats(f).pending_releases == 0 && outstanding == 0;
}

void five_wait_repaid(struct five *f) {
    assert_true(five_run_until(f, nothing_owed, NULL));
}

static bool has_come(struct five *f, void *data) {
    const struct node_wait *wait = data;
    return fake_node_count(f->nodes[wait->index], wait->command) >= wait->count;
}

void five_wait_count(struct five *f, size_t index, const char *command, size_t count) {
    struct node_wait wait = {.index = index, .count = count, .command = command};
    assert_true(five_run_until(f, has_come, &wait));
}

/* -- The lock -- */

void five_on_lock(redlock_lock *lock, int status, void *data) {
    struct five_done *done = data;
    assert_non_null(lock);
    done->calls++;
    done->status = status;
}

void five_on_client(redlock_client *client, int status, void *data) {
    struct five_done *done = data;
    assert_non_null(client);
    done->calls++;
    done->status = status;
}

redlock_acquire_options five_one_try(struct five *f) {
    redlock_acquire_options options = REDLOCK_ACQUIRE_OPTIONS_INIT;
    options.ttl_ms = 30000;
    options.tries = 1;
    options.on_lost = five_on_lock;
    options.lost_data = &f->lost;
    return options;
}

int five_acquire(struct five *f, redlock_lock *lock) {
    struct five_done done = {0, 0};
    redlock_acquire_options options = five_one_try(f);
    assert_int_equal(redlock_acquire(lock, &options, five_on_lock, &done), 0);
    assert_int_equal(done.calls, 0);
    return five_wait(f, &done);
}

int five_extend(struct five *f, redlock_lock *lock) {
    struct five_done done = {0, 0};
    assert_int_equal(redlock_extend(lock, 0, five_on_lock, &done), 0);
    assert_int_equal(done.calls, 0);
    return five_wait(f, &done);
}

int five_release(struct five *f, redlock_lock *lock) {
    struct five_done done = {0, 0};
    assert_int_equal(redlock_release(lock, five_on_lock, &done), 0);
    assert_int_equal(done.calls, 0);
    return five_wait(f, &done);
}

void five_cycle(struct five *f) {
    assert_int_equal(five_acquire(f, f->lock), 0);
    assert_true(redlock_lock_is_valid(f->lock));
    assert_int_equal(five_release(f, f->lock), 0);
}

void five_homes(struct five *f, size_t order[FIVE]) {
    const uint64_t hash = rl_ticket_resource(&f->lock->tickets[0])->home_hash;
    uint32_t left = (1u << FIVE) - 1;
    for (size_t i = 0; i < FIVE; i++) {
        order[i] = rl_home_node(hash, f->client->node_hashes, left);
        left &= ~(1u << order[i]);
    }
}

redlock_node_outcome five_outcome(struct five *f, size_t index) {
    redlock_node_outcome outcome = REDLOCK_NODE_OUTCOME_INIT;
    assert_int_equal(redlock_lock_outcome(f->lock, index, &outcome), 0);
    assert_string_equal(outcome.node, fake_node_name(f->nodes[index]));
    return outcome;
}

redlock_node_info five_info(struct five *f, size_t index) {
    redlock_node_info info = REDLOCK_NODE_INFO_INIT;
    assert_int_equal(redlock_client_node(f->client, index, &info), 0);
    return info;
}

redlock_stats five_stats(struct five *f) {
    redlock_stats stats = REDLOCK_STATS_INIT;
    assert_int_equal(redlock_client_stats(f->client, &stats), 0);
    return stats;
}

/* -- Life -- */

static void on_event(const redlock_event *event, void *data) {
    struct five *f = data;
    for (size_t i = 0; i < FIVE && event->type == REDLOCK_EVENT_NODE_DOWN; i++) {
        if (strcmp(event->node, fake_node_name(f->nodes[i])) == 0) {
            f->downs[i].times++;
            f->downs[i].status = event->status;
        }
    }
}

/* Gives each node its own identity, with the fields that a guard reads. */
static void tell_apart(struct fake_node *node, size_t number) {
    char run_id[41];
    snprintf(run_id, sizeof(run_id), "%040zx", number + 1);
    server_set_info(fake_node_server(node), "run_id", run_id);
    server_set_info(fake_node_server(node), "maxmemory", "0");
}

void five_start(struct five *f) {
    memset(f, 0, sizeof(*f));
    f->options = (redlock_client_options)REDLOCK_CLIENT_OPTIONS_INIT;
    f->options.connect_timeout_ms = FIVE_TIMEOUT_MS;
    f->options.node_timeout_ms = FIVE_TIMEOUT_MS;
    f->options.reconnect_min_ms = 2;
    f->options.reconnect_max_ms = 10;
    f->options.guard = REDLOCK_GUARD_OFF; /* guard_info_test.c turns it on */
    f->options.trace = on_event;
    f->options.trace_data = f;
    f->memory_cap = MEMORY_CAP_DEFAULT;
    assert_int_equal(uv_loop_init(&f->loop), 0);
    uv_timer_init(&f->loop, &f->tick);
    uv_timer_start(&f->tick, on_tick, 1, 1);
    for (size_t i = 0; i < FIVE; i++) {
        f->nodes[i] = fake_node_start(&f->loop);
        f->urls[i] = fake_node_url(f->nodes[i]);
        tell_apart(f->nodes[i], i);
    }
}

static bool has_settled(struct five *f, void *data) {
    size_t n = *(const size_t *)data;
    for (size_t i = 0; i < n; i++) {
        redlock_node_info info = five_info(f, i);
        if (!info.up && info.failures == 0) {
            return false;
        }
    }
    return true;
}

int five_open_n(struct five *f, size_t n) {
    char error[REDLOCK_MESSAGE_MAX] = "";
    f->options.nodes = f->urls;
    f->options.n_nodes = n;
    f->options.error = error;
    f->options.error_size = sizeof(error);
    f->memory_before = f->memory_most = allocated_bytes();
    int status = redlock_client_open(&f->client, &f->loop, &f->options, five_on_client, &f->opened);
    assert_string_equal(error, "");
    assert_int_equal(status, 0);
    f->options.error = NULL;
    f->options.error_size = 0;
    status = five_wait(f, &f->opened);
    assert_true(five_run_until(f, has_settled, &n));
    assert_int_equal(redlock_lock_new(f->client, FIVE_RESOURCE, strlen(FIVE_RESOURCE), &f->lock),
                     0);
    return status;
}

int five_open(struct five *f) {
    return five_open_n(f, FIVE);
}

void five_start_open(struct five *f) {
    five_start(f);
    assert_int_equal(five_open(f), 0);
    five_wait_up(f, FIVE);
}

static void close_nodes(struct five *f) {
    for (size_t i = 0; i < FIVE; i++) {
        assert_true(fake_node_keys(f->nodes[i]) == 0 || (f->may_keep & 1u << i));
        fake_node_close(f->nodes[i]);
    }
}

static void check_figures(struct five *f) {
    size_t grown = f->memory_most - f->memory_before;
    print_message("# longest turn %.1f ms, memory at most %zu KiB more\n",
                  (double)f->stall_ns / 1e6, grown / 1024);
    assert_true(f->stall_ns < STALL_MAX_NS);
    assert_true(grown <= f->memory_cap);
}

void five_stop(struct five *f) {
    if (f->client != NULL) {
        assert_int_equal(redlock_client_close(f->client, five_on_client, &f->closed), 0);
        assert_int_equal(five_wait(f, &f->closed), 0);
    }
    close_nodes(f);
    uv_close((uv_handle_t *)&f->tick, NULL);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f->loop), 0);
    assert_int_equal(f->closed.calls, f->client != NULL ? 1 : 0);
    check_figures(f);
}
