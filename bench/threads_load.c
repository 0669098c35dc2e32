/* The load of uncontested cycles by threads: see threads_load.h for purpose, use and failure
 * modes. */
#include "threads_load.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redlock/blocking.h"

/* Its counters are private until the slice's end. */
struct thread_worker {
    struct rl_bench_threads_load *load;
    redlock_mutex *mutex;
    pthread_t thread;
    uint64_t locks;
    uint64_t failed;
    struct rl_bench_hist grant;
};

struct rl_bench_threads_load {
    struct rl_bench *bench;
    redlock_blocking *client; /* NULL: not open */
    uv_async_t ended;         /* the last worker has */
    bool is_on_loop;          /* `ended` is on the loop */
    bool is_off_loop;
    uint64_t deadline_ns; /* of the slice */
    atomic_size_t active;
    atomic_bool is_given_up;
    size_t n; /* workers that have a mutex */
    struct thread_worker workers[];
};

/* -- A worker's thread -- */

static void lock_once(struct thread_worker *worker, uint64_t now_ns) {
    if (redlock_mutex_lock(worker->mutex, REDLOCK_NO_LIMIT) != 0) {
        worker->failed++;
        return;
    }
    rl_bench_hist_record(&worker->grant, rl_bench_now_ns() - now_ns);
    int status = redlock_mutex_unlock(worker->mutex);
    worker->locks += status == 0;
    worker->failed += status != 0;
}

static void *work(void *data) {
    struct thread_worker *worker = data;
    struct rl_bench_threads_load *load = worker->load;
    uint64_t now_ns = rl_bench_now_ns();
    while (now_ns < load->deadline_ns && !atomic_load(&load->is_given_up)) {
        lock_once(worker, now_ns);
        now_ns = rl_bench_now_ns();
    }
    if (atomic_fetch_sub(&load->active, 1) == 1) {
        uv_async_send(&load->ended);
    }
    return NULL;
}

/* -- Slices -- */

static void ended_cb(uv_async_t *ended) {
    const struct rl_bench_threads_load *load = ended->data;
    rl_bench_run_leave(&load->bench->run);
}

/* How many could be started. */
static size_t start(struct rl_bench_threads_load *load) {
    atomic_store(&load->active, load->n);
    for (size_t i = 0; i < load->n; i++) {
        struct thread_worker *worker = &load->workers[i];
        worker->locks = worker->failed = 0;
        rl_bench_hist_reset(&worker->grant);
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
            return i;
        }
    }
    return load->n;
}

/* Ends every blocked call. */
static void give_up(struct rl_bench_threads_load *load) {
    atomic_store(&load->is_given_up, true);
    if (load->client != NULL) {
        redlock_blocking_close(load->client);
    }
    load->client = NULL;
}

static void collect(struct rl_bench_threads_load *load, struct rl_bench_slice *slice,
                    size_t started) {
    for (size_t i = 0; i < started; i++) {
        struct thread_worker *worker = &load->workers[i];
        pthread_join(worker->thread, NULL);
        slice->locks += worker->locks;
        slice->failed += worker->failed;
        rl_bench_hist_merge(&slice->grant, &worker->grant);
    }
}

static int fail(struct rl_bench *bench, const char *what) {
    snprintf(bench->error, sizeof(bench->error), "--blocking: %s", what);
    return -1;
}

int rl_bench_threads_load_slice(struct rl_bench_threads_load *load, struct rl_bench_slice *slice,
                                int64_t slice_ms) {
    struct rl_bench *bench = load->bench;
    redlock_stats before = REDLOCK_STATS_INIT;
    redlock_stats after = REDLOCK_STATS_INIT;
    if (redlock_blocking_stats(load->client, &before) != 0) {
        return fail(bench, "no figures of the client");
    }
    rl_bench_run_begin(&bench->run, slice, slice_ms, 1, NULL, NULL);
    load->deadline_ns = bench->run.deadline_ns;
    size_t started = start(load);
    if (started < load->n) {
        rl_bench_run_fail(&bench->run);
    }
    int result = rl_bench_run_finish(&bench->run);
    if (result != 0) {
        give_up(load);
    }
    collect(load, slice, started);
    slice->is_by_threads = true;
    if (result != 0) {
        return fail(bench, started < load->n ? "threads cannot be started"
                                             : "calls of the blocking interface do not return");
    }
    if (slice->locks == 0 || redlock_blocking_stats(load->client, &after) != 0) {
        return fail(bench, "no lock was granted");
    }
    assert(after.attempts >= before.attempts);
    slice->attempts = after.attempts - before.attempts;
    slice->fenced = after.fenced - before.fenced;
    slice->raised = after.raised - before.raised;
    return 0;
}

/* -- Opening and closing -- */

static int open_client(struct rl_bench_threads_load *load) {
    struct rl_bench *bench = load->bench;
    redlock_client_options options = REDLOCK_CLIENT_OPTIONS_INIT;
    options.nodes = bench->nodes;
    options.n_nodes = bench->n_nodes;
    options.client_name = "redlock-bench";
    options.guard = (enum redlock_guard)bench->options.guard;
    options.max_ttl_ms = bench->options.ttl_ms;
    options.error = bench->error;
    options.error_size = sizeof(bench->error);
    int status = redlock_blocking_open(&load->client, &options);
    bench->is_bad_argument = status == REDLOCK_ERR_INVALID || status == REDLOCK_ERR_URL;
    return status == 0 ? 0 : -1;
}

static int make_mutex(struct rl_bench_threads_load *load, struct thread_worker *worker) {
    struct rl_bench *bench = load->bench;
    redlock_mutex_options options = REDLOCK_MUTEX_OPTIONS_INIT;
    char key[80];
    int length = snprintf(key, sizeof(key), "%s:thread:%zu", bench->key_prefix,
                          (size_t)(worker - load->workers));
    worker->load = load;
    options.ttl_ms = bench->options.ttl_ms;
    options.auto_extend = 0; /* as on the other side */
    options.fencing = bench->options.fencing == RL_BENCH_ON;
    options.error = bench->error;
    options.error_size = sizeof(bench->error);
    return redlock_mutex_new(load->client, key, (size_t)length, &options, &worker->mutex) == 0 ? 0
                                                                                               : -1;
}

int rl_bench_threads_load_open(struct rl_bench_threads_load **load, struct rl_bench *bench) {
    size_t n = (size_t)bench->options.in_flight;
    struct rl_bench_threads_load *made = calloc(1, sizeof(*made) + n * sizeof(made->workers[0]));
    *load = made;
    if (made == NULL) {
        return fail(bench, "out of memory");
    }
    made->bench = bench;
    made->ended.data = made;
    if (uv_async_init(&bench->loop, &made->ended, ended_cb) != 0) {
        return fail(bench, "no handle on the loop");
    }
    made->is_on_loop = true;
    if (open_client(made) != 0) {
        return -1;
    }
    for (; made->n < n; made->n++) {
        if (make_mutex(made, &made->workers[made->n]) != 0) {
            return -1;
        }
    }
    return 0;
}

static void off_loop_cb(uv_handle_t *ended) {
    struct rl_bench_threads_load *load = ended->data;
    load->is_off_loop = true;
}

void rl_bench_threads_load_close(struct rl_bench_threads_load *load) {
    if (load == NULL) {
        return;
    }
    give_up(load);
    for (size_t i = 0; i < load->n; i++) {
        redlock_mutex_free(load->workers[i].mutex); /* closing the client has released it */
    }
    if (load->is_on_loop) {
        uv_close((uv_handle_t *)&load->ended, off_loop_cb);
    }
    while (load->is_on_loop && !load->is_off_loop) {
        uv_run(&load->bench->loop, UV_RUN_ONCE);
    }
    free(load);
}
