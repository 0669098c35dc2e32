/* The cost of two of five nodes that hang (SIGSTOP): uncontested cycles, 64 at a time, alternately
 * with all nodes and with two of them stopped.
 *
 * Bound: 99 of 100 grants take less than half the node timeout. The ratio of the two p99 is
 * printed; on a quiet machine it is between 1 and 1.3.
 *
 * A node that was stopped may run an old SET so late that nobody releases it, so each pair has its
 * own resources. A slice with stopped nodes contains the moment of stopping. */

#include "cost/cost.h"

#define PAIRS 4
#define WORKERS 64
#define GRANTS 100000 /* of a slice */
#define STOPPED 2
#define TTL_MS 10000
#define P99_MAX (125 * LIVE_MS) /* half of the node timeout */

struct load {
    redlock_acquire_options acquire;
    uint64_t *grant_ns;
    size_t grants;
    size_t out; /* operations */
    struct worker {
        struct load *load;
        redlock_lock *lock;
        uint64_t asked_ns;
    } workers[WORKERS];
};

static void granted_cb(redlock_lock *lock, int status, void *data);

static void ask(struct worker *worker) {
    worker->asked_ns = redlock_now_ns();
    LIVE_STATUS(redlock_acquire(worker->lock, &worker->load->acquire, granted_cb, worker), 0);
    worker->load->out++;
}

static void released_cb(redlock_lock *lock, int status, void *data) {
    struct worker *worker = data;
    (void)lock;
    LIVE_STATUS(status, 0);
    worker->load->out--;
    if (worker->load->grants < GRANTS) {
        ask(worker);
    }
    live_wake();
}

static void granted_cb(redlock_lock *lock, int status, void *data) {
    struct worker *worker = data;
    struct load *load = worker->load;
    LIVE_STATUS(status, 0);
    if (load->grants < GRANTS) {
        load->grant_ns[load->grants++] = redlock_now_ns() - worker->asked_ns;
    }
    LIVE_STATUS(redlock_release(lock, released_cb, worker), 0);
}

/* Returns grants per second. */
static double run_slice(struct live *live, struct load *load, uint64_t *grant_ns) {
    uint64_t start_ns = redlock_now_ns();
    load->grant_ns = grant_ns;
    load->grants = 0;
    for (size_t i = 0; i < WORKERS; i++) {
        ask(&load->workers[i]);
    }
    LIVE_UNTIL(live, load->out == 0);
    return GRANTS / ((double)(redlock_now_ns() - start_ns) / 1e9);
}

static void rename_locks(struct live *live, struct load *load, int pair) {
    for (size_t i = 0; i < WORKERS; i++) {
        char name[32];
        snprintf(name, sizeof(name), "key %d %zu", pair, i);
        if (load->workers[i].lock != NULL) {
            redlock_lock_free(load->workers[i].lock);
        }
        load->workers[i] = (struct worker){load, live_lock(live->client, name), 0};
    }
}

static void measure_pair(struct live *live, struct load *load, int pair) {
    static uint64_t healthy_ns[GRANTS], stopped_ns[GRANTS];
    rename_locks(live, load, pair);
    double healthy_per_s = run_slice(live, load, healthy_ns);
    for (size_t i = 5 - STOPPED; i < 5; i++) {
        live_pause(live, i);
    }
    double stopped_per_s = run_slice(live, load, stopped_ns);
    for (size_t i = 5 - STOPPED; i < 5; i++) {
        live_resume(live, i);
    }
    LIVE_UNTIL(live, live_up(live->client) == 5 && live_is_quiet(live->client, 5));
    uint64_t healthy = cost_percentile(healthy_ns, GRANTS, 0.99);
    uint64_t stopped = cost_percentile(stopped_ns, GRANTS, 0.99);
    printf(
        "# pair %d: locks/s %.0f, with two stopped %.0f; grant p50 %.0f us, %.0f us; "
        "p99 %.0f us, %.0f us: ratio %.2f\n",
        pair, healthy_per_s, stopped_per_s, (double)cost_percentile(healthy_ns, GRANTS, 0.5) / 1e3,
        (double)cost_percentile(stopped_ns, GRANTS, 0.5) / 1e3, (double)healthy / 1e3,
        (double)stopped / 1e3, (double)stopped / (double)healthy);
    assert_true(stopped < P99_MAX);
}

LIVE_TEST_FIVE(two_stopped) {
    struct load load = {.acquire = REDLOCK_ACQUIRE_OPTIONS_INIT};
    load.acquire.ttl_ms = TTL_MS;
    for (int pair = 0; pair < PAIRS; pair++) {
        measure_pair(live, &load, pair);
    }
}
